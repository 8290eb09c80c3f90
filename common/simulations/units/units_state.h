/* Units state: the flat state of a `units` match and the scratch memory of its step.
 * Every byte is named by the schema in units.c; a free unit slot is all zero. An
 * index or a counter that is read from the state is checked first: a fault injected into the state
 * may change the match, never reach outside it. Called by the passes, draw and bot of `units`. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_UNITS_UNITS_STATE_H
#define LOCKSTEP_COMMON_SIMULATIONS_UNITS_UNITS_STATE_H

#include "lockstep/common/maths/fixed.h"
#include "lockstep/common/simulation/simulation.h"
#include "lockstep/common/simulations/cell_grid.h"

#include <stdint.h>

/* A small strategy battle, the built-in simulation with variable-length inputs: up to eight armies
 * of soldiers, archers and scouts march, fight, retreat and are reinforced in waves; players give
 * orders to selections of their units.
 * Every seat's army stands at its base from state 0 and guards it. When a player leaves, the army
 * stops where it is, goes on guarding, and is neither commanded nor reinforced until somebody
 * takes the seat again; if none of it is left by then, it is raised anew. */
const ls_simulation *ls_units_simulation(void);

/* ---- Units orders: what a player may tell an army, and its bytes. Reading is safe for any bytes
 * and judges form alone; whether a unit exists and whose it is the step decides, and ignores what
 * makes no sense ---- */

/* An input is any number of orders, one after the other, up to its end. All numbers are
 * little-endian. An order that is cut short or has an unknown head ends the reading, and so does
 * the limit of LS_UNITS_ORDERS_MAX orders; what stands before counts.
 *
 *   order     = head selection argument
 *   head      = u8: verb in the low four bits, form of the selection in the high four
 *   selection = LIST: u8 count, count * u16 unit
 *               KINDS: u8 mask, bit k for every unit of kind k
 *               AREA: u8 mask, point, point: those of these kinds between two corners
 *   argument  = STOP: nothing; MOVE, ATTACK_MOVE: point; ATTACK: u16 unit
 *   point     = u16 x, u16 y in 1/64 m
 *
 * Units are named by slot. A selection takes the sender's own living units and passes over all
 * others; one without any is an order to nobody. */
#define LS_UNITS_INPUT_BYTES_MAX 512u
#define LS_UNITS_ORDERS_MAX 16u
#define LS_UNITS_LIST_MAX 240u
#define LS_UNITS_ALL_KINDS 0xffu

typedef enum ls_units_verb {
    LS_UNITS_STOP = 1,        /* guard this place: fight what comes into sight, then return */
    LS_UNITS_MOVE = 2,        /* go there without fighting, in formation, then guard */
    LS_UNITS_ATTACK = 3,      /* follow and fight this unit until it is dead, then guard */
    LS_UNITS_ATTACK_MOVE = 4, /* go there, fight what comes into sight, then guard */
} ls_units_verb;

typedef enum ls_units_select {
    LS_UNITS_SELECT_LIST = 1,
    LS_UNITS_SELECT_KINDS = 2,
    LS_UNITS_SELECT_AREA = 3,
} ls_units_select;

/* In 1/64 m: 0 to 1023.98 m. */
typedef struct ls_units_point {
    uint16_t x;
    uint16_t y;
} ls_units_point;

typedef struct ls_units_order {
    ls_units_verb verb;
    ls_units_select select;
    uint8_t kinds;             /* KINDS, AREA */
    uint8_t list_count;        /* LIST, at most LS_UNITS_LIST_MAX */
    ls_units_point corners[2]; /* AREA, any two opposite ones */
    ls_units_point point;      /* MOVE, ATTACK_MOVE */
    uint16_t target;           /* ATTACK */
    uint16_t list[LS_UNITS_LIST_MAX];
} ls_units_order;

/* Reads the order at the start of `bytes`: returns how many bytes it takes, or 0 when they do not
 * hold a whole order of known form; then `out` may be half filled. */
uint32_t ls_units_order_read(const uint8_t *bytes, uint32_t size, ls_units_order *out);

/* Returns how many bytes the order takes, or 0 when there are more than `capacity`; then nothing
 * is written. The order is one that reading could give. */
uint32_t ls_units_order_write(const ls_units_order *order, uint8_t *bytes, uint32_t capacity);

/* To the nearest point, cut to what 16 bits hold; and back, exactly. */
ls_units_point ls_units_point_from(ls_vec2 position);
ls_vec2 ls_units_point_position(ls_units_point point);

/* ---- Units rules: what a match's configuration means: the map, the clockwork, the kinds of
 * unit. Pure functions of the configuration; owns no state and keeps none between calls,
 * so that a state with damaged bytes can never move an array's bounds ---- */

#define LS_UNITS_PLAYERS_MAX 8u
#define LS_UNITS_COUNT_MIN 8
#define LS_UNITS_COUNT_MAX 20000

/* Places in ls_sim_config.params. */
typedef enum ls_units_param {
    LS_UNITS_PARAM_UNITS,
    LS_UNITS_PARAM_WAVE_SECONDS,
    LS_UNITS_PARAM_WAVE_PERCENT,
    LS_UNITS_PARAM_COUNT,
} ls_units_param;

typedef enum ls_units_kind {
    LS_UNITS_SOLDIER,
    LS_UNITS_ARCHER,
    LS_UNITS_SCOUT,
    LS_UNITS_KIND_COUNT,
} ls_units_kind;

typedef struct ls_units_kind_rules {
    ls_fixed radius; /* m, at most LS_UNITS_RADIUS_MAX */
    ls_fixed speed;  /* m/s */
    ls_fixed range;  /* m, between centres */
    uint32_t cooldown_ms;
    uint16_t health;
    uint16_t damage; /* a hit */
    uint16_t worth;  /* score for killing one */
} ls_units_kind_rules;

#define LS_UNITS_RADIUS_MAX LS_FIXED_RATIO(1, 2)

/* How far a unit looks for enemies when it is free to choose; above every range. */
#define LS_UNITS_SIGHT LS_FIXED_INT(10)

/* Between neighbours of a formation, on both axes. */
#define LS_UNITS_SPACING LS_FIXED_RATIO(6, 5)

/* Around its base a player's units recover. */
#define LS_UNITS_BASE_RADIUS LS_FIXED_INT(10)

typedef struct ls_units_rules {
    uint32_t unit_count;    /* slots 0 .. unit_count-1 */
    uint32_t players;       /* 1 .. LS_UNITS_PLAYERS_MAX */
    uint32_t tick_rate_hz;  /* steps in a second */
    uint32_t think_ticks;   /* a unit looks round once in so many; >= 1 */
    uint32_t wave_ticks;    /* between reinforcements; 0 for never */
    uint32_t wave_percent;  /* of an army, the most that one wave brings back */
    ls_fixed side;          /* m, of the square map with a corner at (0, 0) */
    ls_fixed dt;            /* s */
    ls_fixed velocity_gain; /* share of the wanted change of velocity made in a tick */
    ls_fixed arrival_rate;  /* 1/s; near its goal a unit goes this times the distance */
} ls_units_rules;

/* The config has passed ls_sim_config_check. */
ls_units_rules ls_units_rules_of(const ls_sim_config *config);

extern const ls_units_kind_rules ls_units_kinds[LS_UNITS_KIND_COUNT];

/* A number that is no kind gives the soldier's rules. */
static inline const ls_units_kind_rules *ls_units_kind_rules_of(uint32_t kind)
{
    return &ls_units_kinds[kind < LS_UNITS_KIND_COUNT ? kind : LS_UNITS_SOLDIER];
}

/* Player p's army has slots first(p) .. first(p + 1)-1; p <= players. Armies differ by one unit
 * at most. */
uint32_t ls_units_army_first(const ls_units_rules *rules, uint32_t player);

/* Bases stand on a circle round the middle of the map, an equal turn apart. */
ls_vec2 ls_units_base(const ls_units_rules *rules, uint32_t player);

/* A point moved to the nearest place where a unit may stand. */
ls_vec2 ls_units_inside(const ls_units_rules *rules, ls_vec2 point);

/* A square block of `count` (> 0) units round a centre, filled row by row. */
typedef struct ls_units_formation {
    ls_vec2 corner; /* of place 0 */
    uint32_t columns;
} ls_units_formation;

ls_units_formation ls_units_formation_make(ls_vec2 centre, uint32_t count);
ls_vec2 ls_units_formation_place(const ls_units_formation *formation, uint32_t place);

/* A coordinate in 1/65536 m for fast comparisons, cut to 0 .. 1024 m: the difference of two fits
 * 27 bits and the square of a distance 54. */
static inline int32_t ls_units_coarse(ls_fixed coordinate)
{
    return (int32_t)(ls_fixed_clamp(coordinate, 0, LS_FIXED_INT(1024)) / 65536);
}

/* The square of the distance, in m*m as ls_fixed, from coarse coordinates. */
static inline ls_fixed ls_units_distance_squared(ls_vec2 a, ls_vec2 b)
{
    int64_t dx = ls_units_coarse(a.x) - ls_units_coarse(b.x);
    int64_t dy = ls_units_coarse(a.y) - ls_units_coarse(b.y);
    return dx * dx + dy * dy;
}

/* ---- the state ---- */

typedef struct ls_units_unit {
    ls_vec2 position; /* m */
    ls_vec2 velocity; /* m/s */
    ls_vec2 goal;     /* m; where MOVE and ATTACK_MOVE end, and the post that STOP guards */
    ls_angle facing;  /* for the picture; renewed when the unit thinks */
    uint32_t born;    /* 1 + the tick that raised it; 0: the slot is free */
    uint32_t target;  /* enemy's slot + 1; 0: none */
    uint16_t health;
    uint16_t cooldown; /* ticks until it can strike again */
    uint16_t stuck;    /* ticks that others stood in the way, less those they did not */
    uint8_t owner;     /* player */
    uint8_t kind;      /* ls_units_kind */
    uint8_t verb;      /* ls_units_verb */
    uint8_t padding[3];
} ls_units_unit;

typedef struct ls_units_player {
    ls_vec2 base;    /* m */
    uint32_t alive;  /* units */
    uint32_t kills;  /* enemies killed */
    uint32_t losses; /* own units killed */
    uint32_t score;  /* what the killed were worth */
    uint32_t is_away;
    uint8_t padding[4];
} ls_units_player;

typedef struct ls_units_state {
    uint32_t tick;
    uint32_t leader;   /* player with the highest score + 1; 0: no player has scored */
    ls_rng muster_rng; /* where exactly units appear */
    uint32_t waves;    /* of reinforcement so far */
    uint8_t padding[4];
    ls_units_player players[LS_UNITS_PLAYERS_MAX];
    ls_units_unit units[]; /* rules.unit_count */
} ls_units_state;

/* One living unit, in the order of the grid: what its neighbours need to know. */
typedef struct ls_units_spot {
    int32_t x; /* coarse */
    int32_t y;
    uint32_t id;
    uint16_t radius; /* coarse */
    uint8_t owner;
    uint8_t padding;
} ls_units_spot;

/* Neighbouring cells that share a mask of the players who have a unit in them. */
#define LS_UNITS_TILE_CELLS 4u

/* Working memory, laid out by ls_units_scratch_of. Valid from the pass that writes it to the end
 * of the same step. */
typedef struct ls_units_scratch {
    ls_cell_grid *grid;   /* 1; by grid, like spots and tiles */
    ls_units_spot *spots; /* unit_count; spots[i] is unit grid->items[i] */
    ls_vec2 *shoves;      /* unit_count; m, by steer for move */
    uint32_t *grid_words; /* the grid's own memory */
    uint32_t *cells;      /* unit_count; cell of each unit, within grid */
    uint32_t *chosen;     /* LS_UNITS_LIST_MAX + unit_count; a selection, within orders */
    uint32_t *wounds;     /* unit_count; health lost in this tick, by combat for deaths */
    uint8_t *strikers;    /* unit_count; player credited with a death + 1 */
    uint8_t *tiles;       /* bit p: player p has a unit in the tile */
    size_t bytes;         /* of all of them */
} ls_units_scratch;

/* `memory` may be NULL to learn the size. */
ls_units_scratch ls_units_scratch_of(const ls_units_rules *rules, void *memory);

/* The grid over the map. Cells are as wide as the widest pair of units. */
ls_cell_grid_config ls_units_grid_config(const ls_units_rules *rules);
uint32_t ls_units_tile_columns(const ls_cell_grid *grid);

static inline bool ls_units_is_alive(const ls_units_unit *unit)
{
    return unit->born != 0;
}

/* The player's row; a damaged owner wraps round. */
static inline uint32_t ls_units_owner(const ls_units_unit *unit)
{
    return unit->owner % LS_UNITS_PLAYERS_MAX;
}

/* The living enemy that the unit is after, or NULL. */
static inline const ls_units_unit *
ls_units_target(const ls_units_rules *rules, const ls_units_state *state, const ls_units_unit *unit)
{
    if (unit->target == 0 || unit->target > rules->unit_count) {
        return NULL;
    }
    const ls_units_unit *target = &state->units[unit->target - 1];
    return ls_units_is_alive(target) ? target : NULL;
}

/* The unit forgets what it was told and guards the place where it stands. */
static inline void ls_units_guard(ls_units_unit *unit)
{
    unit->verb = LS_UNITS_STOP;
    unit->goal = unit->position;
    unit->target = 0;
    unit->stuck = 0;
}

/* ---- the passes, in their order ---- */

/* Sends away and brings back the armies of players who left and joined. */
void ls_units_pass_events(const ls_step *step);
/* Decodes the inputs and gives the orders to the units. */
void ls_units_pass_orders(const ls_step *step);
/* Sorts living units into the grid; changes no state. */
void ls_units_pass_grid(const ls_step *step);
/* Units whose turn it is look round and choose targets. */
void ls_units_pass_sight(const ls_step *step);
/* Velocities, from goals, targets and neighbours; arrivals. */
void ls_units_pass_steer(const ls_step *step);
/* Positions. */
void ls_units_pass_move(const ls_step *step);
/* Every unit decides and strikes; wounds are only noted. */
void ls_units_pass_combat(const ls_step *step);
/* Wounds take effect; the dead are counted and their slots zeroed. */
void ls_units_pass_deaths(const ls_step *step);
/* Recovery near bases, waves of reinforcement. */
void ls_units_pass_bases(const ls_step *step);
/* The leader; the number of the next tick. */
void ls_units_pass_leader(const ls_step *step);

/* Fills the free slots of an army, at most `quota` of them, near its base. */
void ls_units_muster(const ls_units_rules *rules, ls_units_state *state, uint32_t player,
                     uint32_t quota);

#endif
