/* Units rules: what a match's configuration means: the map, the clockwork, the kinds of unit.
 * Pure functions of the configuration; owns no state and keeps none between calls, so that a
 * state with damaged bytes can never move an array's bounds. Called by every part of `units`. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_UNITS_UNITS_RULES_H
#define LOCKSTEP_COMMON_SIMULATIONS_UNITS_UNITS_RULES_H

#include "lockstep/common/simulation/simulation.h"

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

/* The kind of unit `place` of an army when the match starts: five soldiers, three archers and two
 * scouts in every ten. */
ls_units_kind ls_units_kind_at(uint32_t place);

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

#endif
