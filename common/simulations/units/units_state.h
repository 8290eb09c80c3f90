/* Units state: the flat state of a `units` match and the scratch memory of its step.
 * Every byte is named by the schema in units.c; a free unit slot is all zero. An
 * index or a counter that is read from the state is checked first: a fault injected into the state
 * may change the match, never reach outside it. Called by the passes, draw and bot of `units`. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_UNITS_UNITS_STATE_H
#define LOCKSTEP_COMMON_SIMULATIONS_UNITS_UNITS_STATE_H

#include "lockstep/common/simulations/cell_grid.h"
#include "lockstep/common/simulations/units/units_orders.h"
#include "lockstep/common/simulations/units/units_rules.h"

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

/* The rest of the contract. */
void ls_units_draw(const ls_sim_config *config, const void *previous, const void *current,
                   ls_fixed alpha, ls_draw_list *list);
uint32_t ls_units_bot(const ls_sim_config *config, const void *state, uint32_t slot, ls_rng *rng,
                      uint8_t *bytes);
uint32_t ls_units_control(const ls_sim_config *config, const void *state, uint32_t slot,
                          const ls_controls *controls, uint8_t *bytes);
void ls_units_input_bits(const ls_sim_config *config, const void *state, const ls_input_bits *bits);
void ls_units_draw_control(const ls_sim_config *config, const void *state, uint32_t slot,
                           const ls_controls *controls, ls_draw_list *list);

#endif
