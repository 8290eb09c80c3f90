/* Arena state: the flat block of a match and where its parts lie. One match header, a ship per
 * slot, the bodies (each slot's ship first, then what lies about), the shots of every slot and what
 * the contacts of every body remember.
 * A slot without a ship in play has a body of zeros; a free shot is zeros. Nothing here steps.
 * Called by the arena's own files and by its tests. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_ARENA_ARENA_STATE_H
#define LOCKSTEP_COMMON_SIMULATIONS_ARENA_ARENA_STATE_H

#include "lockstep/common/simulation/simulation.h"

/* Places in ls_sim_config.params, in the order of ls_arena_params. */
enum {
    LS_ARENA_PARAM_BODIES,
    LS_ARENA_PARAM_BOXES,
    LS_ARENA_PARAM_AREA,
    LS_ARENA_PARAM_SPEED,
    LS_ARENA_PARAM_FRICTION,
    LS_ARENA_PARAM_RESTITUTION,
    LS_ARENA_PARAM_DRAG,
    LS_ARENA_PARAM_ITERATIONS,
    LS_ARENA_PARAM_SHOTS,
    LS_ARENA_PARAM_COUNT,
};

typedef enum ls_arena_shape {
    LS_ARENA_NONE, /* no body here */
    LS_ARENA_DISC,
    LS_ARENA_BOX,
} ls_arena_shape;

/* Sizes of bodies. A body's radius is that of the circle round it. */
#define LS_ARENA_DISC_RADIUS_MIN LS_FIXED_RATIO(50, 100)
#define LS_ARENA_DISC_RADIUS_MAX LS_FIXED_RATIO(85, 100)
#define LS_ARENA_BOX_HALF_MIN LS_FIXED_RATIO(45, 100)
#define LS_ARENA_BOX_HALF_MAX LS_FIXED_RATIO(85, 100)
#define LS_ARENA_RADIUS_MAX LS_FIXED_RATIO(1203, 1000) /* > BOX_HALF_MAX * sqrt(2) */
#define LS_ARENA_SHIP_RADIUS LS_FIXED_RATIO(60, 100)
#define LS_ARENA_SHOT_RADIUS LS_FIXED_RATIO(12, 100)
#define LS_ARENA_SHIP_HEALTH 100u
#define LS_ARENA_SHOT_SPEED LS_FIXED_INT(40) /* m/s, less at low tick rates */

/* How deep bodies may overlap without being moved apart, and how near to a wall they touch it. */
#define LS_ARENA_SLOP LS_FIXED_RATIO(1, 100)

typedef struct ls_arena_match {
    ls_rng spawn_rng;
    uint32_t serial;   /* ships and shots that ever came into play */
    uint32_t awake;    /* bodies that moved in the last tick */
    uint32_t pairs;    /* that the last broadphase found */
    uint32_t contacts; /* that the last narrowphase found */
} ls_arena_match;

typedef struct ls_arena_ship {
    uint32_t score;
    uint32_t kills;
    uint32_t deaths;
    uint32_t hits; /* shots that met a ship or a body */
    uint32_t health;
    uint32_t cooldown_ticks; /* until it can fire */
    uint32_t respawn_ticks;  /* until it comes into play */
    uint8_t is_present;      /* the slot has a player */
    uint8_t buttons;         /* of the last input */
    int8_t steer;            /* -127 .. 127, of the last input */
    uint8_t padding;
} ls_arena_ship;

/* The members that the search for neighbours reads come first, in one cache line. */
typedef struct ls_arena_body {
    ls_vec2 position;
    ls_fixed radius;
    ls_angle angle;
    uint16_t serial;     /* low bits of the match's when it came into play; 0 from the start on */
    uint8_t still_ticks; /* how long it has hardly moved; it sleeps at the limit */
    uint8_t shape;       /* ls_arena_shape */
    ls_vec2 velocity;
    ls_fixed spin;
    ls_fixed inverse_mass;
    ls_fixed inverse_inertia;
    ls_vec2 half; /* half width and height; the radius twice for a disc */
} ls_arena_body;

typedef struct ls_arena_shot {
    ls_vec2 position;
    ls_vec2 velocity;
    uint32_t serial; /* the match's when it was fired */
    uint32_t ticks_left;
} ls_arena_shot;

/* The impulses that it took to keep two bodies apart, packed by arena_touches.c, from which the
 * next tick begins. */
typedef struct ls_arena_touch {
    uint16_t other;   /* number of the other body + 1, or LS_ARENA_TOUCH_WALLS + wall; 0: free */
    uint16_t first;   /* along the normal, at the first point */
    uint16_t second;  /* along the normal, at the second point if there is one */
    uint16_t tangent; /* along the surface */
    uint8_t first_fine;
    uint8_t second_fine;
} ls_arena_touch;

#define LS_ARENA_TOUCHES_EACH 3u
#define LS_ARENA_TOUCH_WALLS 0xfffcu

/* Byte offsets of the parts, and how many items they have. */
typedef struct ls_arena_layout {
    uint32_t player_count;
    uint32_t body_count; /* with player_count ships in front */
    uint32_t shots_each; /* slot s owns shots s*shots_each and on */
    uint32_t shot_count;
    uint32_t touch_count; /* body b owns touches b*LS_ARENA_TOUCHES_EACH and on */
    size_t ships;
    size_t bodies;
    size_t shots;
    size_t touches;
    size_t bytes;
} ls_arena_layout;

ls_arena_layout ls_arena_layout_of(const ls_sim_config *config);

/* From the middle to a wall, m: the bodies' area together, and room for a duel at least. */
ls_fixed ls_arena_half_size(const ls_sim_config *config);

/* A state to read: for drawing and bots. */
typedef struct ls_arena_view {
    ls_arena_layout layout;
    const ls_arena_match *match;
    const ls_arena_ship *ships;
    const ls_arena_body *bodies;
    const ls_arena_shot *shots;
} ls_arena_view;

ls_arena_view ls_arena_view_of(const ls_sim_config *config, const void *state);

/* As in ls_simulation. State 0: bodies on a jittered lattice, none touching another, and nobody in
 * the slots. The bot goes for the nearest ship, or for a body while there is none. */
uint32_t ls_arena_fields(const ls_sim_config *config, ls_field *fields, uint32_t capacity);
ls_status ls_arena_init(const ls_sim_config *config, void *state, ls_text *why);

/* A body at rest in the origin with the mass of its size; `density` in kg/m2. */
ls_arena_body ls_arena_body_make(ls_arena_shape shape, ls_vec2 half, ls_fixed density);

#endif
