/* Tumble state: the parts of the flat state and their layout. One match header, then players, then
 * bodies, then touches; every slot has the body of its number. Holds no rules; called by the
 * simulation's passes, drawing and bot, and by tests that reach into a state. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_TUMBLE_TUMBLE_STATE_H
#define LOCKSTEP_COMMON_SIMULATIONS_TUMBLE_TUMBLE_STATE_H

#include "lockstep/common/simulations/tumble/tumble.h"
#include "lockstep/common/simulations/tumble/vec3.h"

#define LS_TUMBLE_BODIES_MAX 5000u
#define LS_TUMBLE_PLAYERS_MAX 8u

typedef enum ls_tumble_param {
    LS_TUMBLE_PARAM_BODIES,
    LS_TUMBLE_PARAM_BOXES,
    LS_TUMBLE_PARAM_FRICTION,
    LS_TUMBLE_PARAM_RESTITUTION,
    LS_TUMBLE_PARAM_GRAVITY,
    LS_TUMBLE_PARAM_ITERATIONS,
    LS_TUMBLE_PARAM_COUNT,
} ls_tumble_param;

typedef enum ls_tumble_shape {
    LS_TUMBLE_NONE, /* a slot without a player: all zeros */
    LS_TUMBLE_BOX,
    LS_TUMBLE_BALL,
} ls_tumble_shape;

/* m */
#define LS_TUMBLE_HALF_MIN LS_FIXED_RATIO(28, 100)
#define LS_TUMBLE_HALF_MAX LS_FIXED_RATIO(52, 100)
#define LS_TUMBLE_PLAYER_RADIUS LS_FIXED_HALF

typedef struct ls_tumble_match {
    ls_rng spawn_rng;
    uint32_t ticks;    /* played */
    uint32_t awake;    /* bodies that moved in the last tick */
    uint32_t contacts; /* points that the last tick found, and touches it left */
    uint32_t serial;   /* players' balls that ever came into play */
} ls_tumble_match;

typedef struct ls_tumble_player {
    uint8_t is_present;
    uint8_t is_on_ground; /* something bore its ball in the last tick */
    uint8_t buttons;      /* of the last input */
    int8_t push_x;        /* -127 .. 127, of the last input */
    int8_t push_y;
    uint8_t padding[3];
} ls_tumble_player;

typedef struct ls_tumble_body {
    ls_vec3 position;
    ls_quaternion orientation;
    ls_vec3 velocity;
    ls_vec3 spin; /* about the axes of the world */
    ls_vec3 half; /* of a box, along its own axes; the radius thrice for a ball */
    ls_fixed radius;
    ls_fixed inverse_mass;
    ls_vec3 inverse_inertia; /* about its own axes */
    uint32_t serial;         /* the match's when it came into play; 0 from the start on */
    uint16_t still_ticks;    /* how long it has hardly moved; it sleeps at the limit */
    uint8_t shape;           /* ls_tumble_shape */
    uint8_t padding;
} ls_tumble_body;

/* The result of a contact point, which the next tick begins with: a pile does not have to find out
 * anew which bodies bear it. In the order of their pairs; those beyond match.contacts are zeros. */
typedef struct ls_tumble_touch {
    uint32_t pair; /* contacts of two bodies have the same, and later pairs a larger one */
    uint32_t padding;
    ls_vec3 point;   /* m */
    ls_vec3 impulse; /* on the second body, kg m/s */
} ls_tumble_touch;

/* Byte offsets of the parts, and how many items they have. */
typedef struct ls_tumble_layout {
    uint32_t player_count;
    uint32_t body_count; /* with player_count balls in front */
    uint32_t touch_count;
    size_t players;
    size_t bodies;
    size_t touches;
    size_t bytes;
} ls_tumble_layout;

ls_tumble_layout ls_tumble_layout_of(const ls_sim_config *config);

/* From the middle to a wall, m. */
ls_fixed ls_tumble_half_size(const ls_sim_config *config);

/* A state to read: for drawing and bots. */
typedef struct ls_tumble_view {
    ls_tumble_layout layout;
    const ls_tumble_match *match;
    const ls_tumble_player *players;
    const ls_tumble_body *bodies;
} ls_tumble_view;

ls_tumble_view ls_tumble_view_of(const ls_sim_config *config, const void *state);

/* As in ls_simulation. State 0: bodies in layers above the floor, none touching another, and nobody
 * in the slots. */
uint32_t ls_tumble_fields(const ls_sim_config *config, ls_field *fields, uint32_t capacity);
ls_status ls_tumble_init(const ls_sim_config *config, void *state, ls_text *why);
void ls_tumble_draw(const ls_sim_config *config, const void *previous, const void *current,
                    ls_fixed alpha, ls_draw_list *list);
uint32_t ls_tumble_bot(const ls_sim_config *config, const void *state, uint32_t slot, ls_rng *rng,
                       uint8_t *bytes);
uint32_t ls_tumble_control(const ls_sim_config *config, const void *state, uint32_t slot,
                           const ls_controls *controls, uint8_t *bytes);

/* Where a point of the world stands in the picture. */
ls_vec2 ls_tumble_project(const ls_sim_config *config, ls_vec3 point);

/* A body at rest in the origin with the mass of its size; `density` in kg/m3. */
ls_tumble_body ls_tumble_body_make(ls_tumble_shape shape, ls_vec3 half, ls_fixed density);

#endif
