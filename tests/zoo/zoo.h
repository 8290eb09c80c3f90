/* Zoo: what the faulty plug-ins share: a small game that is right in everything, to which each adds
 * one pass or function of its own. Every file is built twice: with its fault, and with ZOO_HEALTHY
 * without it. Included by the plug-ins of this folder alone. */
#ifndef LOCKSTEP_TESTS_ZOO_ZOO_H
#define LOCKSTEP_TESTS_ZOO_ZOO_H

#include "lockstep/common/simulation/simulation.h"

#include <fenv.h>
#include <string.h>

#if defined(ZOO_HEALTHY)
#define ZOO_FAULTY 0
#else
#define ZOO_FAULTY 1
#endif

#define ZOO_UNITS 16u

typedef struct zoo_unit {
    ls_fixed position;
    ls_fixed speed;
    double heat; /* only some animals touch it */
    uint32_t target;
    uint32_t order;
} zoo_unit;

typedef struct zoo_state {
    ls_rng rng;
    uint64_t score;
    uint32_t inputs;
    uint32_t bonus;
    zoo_unit units[ZOO_UNITS];
} zoo_state;

#define ZOO_UNIT_FIELD(member, type, unit)                                                         \
    LS_FIELD_EACH("units", offsetof(zoo_state, units), ZOO_UNITS, zoo_unit, member,                \
                  LS_FIELD_##type, unit)

static inline size_t zoo_state_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(zoo_state);
}

static inline uint32_t zoo_fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {
        LS_FIELD_OF(zoo_state, rng.state, LS_FIELD_U64, ""),
        LS_FIELD_OF(zoo_state, rng.increment, LS_FIELD_U64, ""),
        LS_FIELD_OF(zoo_state, score, LS_FIELD_U64, "points"),
        LS_FIELD_OF(zoo_state, inputs, LS_FIELD_U32, "bytes"),
        LS_FIELD_OF(zoo_state, bonus, LS_FIELD_U32, "points"),
        ZOO_UNIT_FIELD(position, FIXED, "m"),
        ZOO_UNIT_FIELD(speed, FIXED, "m/s"),
        ZOO_UNIT_FIELD(heat, F64, "K"),
        ZOO_UNIT_FIELD(target, U32, ""),
        ZOO_UNIT_FIELD(order, U32, ""),
    };
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static inline ls_status zoo_init(const ls_sim_config *config, void *block)
{
    zoo_state *state = block;
    state->rng = ls_rng_make(config->seed, 1);
    for (uint32_t i = 0; i < ZOO_UNITS; i++) {
        state->units[i].position = LS_FIXED_INT(i);
        state->units[i].heat = 1.0 + i;
    }
    return LS_OK;
}

/* ---- the healthy passes ---- */

static inline void zoo_listen(const ls_step *step)
{
    zoo_state *state = step->state;
    for (uint32_t slot = 0; slot < step->inputs->slot_count; slot++) {
        const ls_slot_input *input = &step->inputs->slots[slot];
        state->inputs += input->size;
        for (uint32_t i = 0; i < input->size; i++) {
            zoo_unit *unit = &state->units[input->bytes[i] % ZOO_UNITS];
            unit->speed = ls_fixed_add(unit->speed, LS_FIXED_ONE / 16);
            unit->target = (unit->target + 1) % ZOO_UNITS;
        }
    }
}

static inline void zoo_move(const ls_step *step)
{
    zoo_state *state = step->state;
    uint32_t pushed = ls_rng_below(&state->rng, ZOO_UNITS);
    state->units[pushed].speed = ls_fixed_sub(0, state->units[pushed].speed);
    for (uint32_t i = 0; i < ZOO_UNITS; i++) {
        zoo_unit *unit = &state->units[i];
        unit->position = ls_fixed_add(unit->position, unit->speed / step->config->tick_rate_hz);
    }
    state->score += state->inputs;
}

/* ---- floating point, as a step should compute with it ---- */

static inline fenv_t zoo_round_as_usual(void)
{
    fenv_t kept;
    fegetenv(&kept);
    fesetenv(FE_DFL_ENV);
    return kept;
}

/* ---- the plug-in ---- */

/* The passes of every animal: `own` stands between the healthy ones. */
#define ZOO_PASSES(own_name, own)                                                                  \
    static const ls_pass passes[] = {{"listen", zoo_listen}, {own_name, own}, {"move", zoo_move}}

/* The entry point. What follows the name are members of ls_simulation: fields and init at least. */
#define ZOO_PLUGIN(animal, ...)                                                                    \
    static const ls_simulation zoo_simulation = {.abi = LS_SIMULATION_ABI,                         \
                                                 .version = 1,                                     \
                                                 .name = animal,                                   \
                                                 .summary = "one of the zoo",                      \
                                                 .default_tick_rate_hz = 60,                       \
                                                 .default_players = 2,                             \
                                                 .players_max = 4,                                 \
                                                 .input_bytes_max = 4,                             \
                                                 .passes = passes,                                 \
                                                 .pass_count = sizeof passes / sizeof passes[0],   \
                                                 .state_bytes = zoo_state_bytes,                   \
                                                 __VA_ARGS__};                                     \
    LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void);                           \
    const ls_simulation *lockstep_simulation(void)                                                 \
    {                                                                                              \
        return &zoo_simulation;                                                                    \
    }

#endif
