/* Game: the part that the faulty plug-ins share: a small game that is right in everything, to which
 * each adds one pass or function of its own. Every file is built twice: with its fault, and with
 * GAME_HEALTHY without it. Included by the plug-ins of this folder alone. */
#ifndef LOCKSTEP_TESTS_KNOWN_BAD_GAME_H
#define LOCKSTEP_TESTS_KNOWN_BAD_GAME_H

#include "lockstep/common/simulation/simulation.h"

#include <fenv.h>
#include <string.h>

#if defined(GAME_HEALTHY)
#define GAME_FAULTY 0
#else
#define GAME_FAULTY 1
#endif

#define GAME_UNITS 16u

typedef struct game_unit {
    ls_fixed position;
    ls_fixed speed;
    double heat; /* only some simulations touch it */
    uint32_t target;
    uint32_t order;
} game_unit;

typedef struct game_state {
    ls_rng rng;
    uint64_t score;
    uint32_t inputs;
    uint32_t bonus;
    game_unit units[GAME_UNITS];
} game_state;

#define GAME_UNIT_FIELD(member, type, unit)                                                        \
    LS_FIELD_EACH("units", offsetof(game_state, units), GAME_UNITS, game_unit, member,             \
                  LS_FIELD_##type, unit)

static inline size_t game_state_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(game_state);
}

static inline uint32_t game_fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {
        LS_FIELD_OF(game_state, rng.state, LS_FIELD_U64, ""),
        LS_FIELD_OF(game_state, rng.increment, LS_FIELD_U64, ""),
        LS_FIELD_OF(game_state, score, LS_FIELD_U64, "points"),
        LS_FIELD_OF(game_state, inputs, LS_FIELD_U32, "bytes"),
        LS_FIELD_OF(game_state, bonus, LS_FIELD_U32, "points"),
        GAME_UNIT_FIELD(position, FIXED, "m"),
        GAME_UNIT_FIELD(speed, FIXED, "m/s"),
        GAME_UNIT_FIELD(heat, F64, "K"),
        GAME_UNIT_FIELD(target, U32, ""),
        GAME_UNIT_FIELD(order, U32, ""),
    };
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static inline ls_status game_init(const ls_sim_config *config, void *block, ls_text *why)
{
    (void)why;
    game_state *state = block;
    state->rng = ls_rng_make(config->seed, 1);
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        state->units[i].position = LS_FIXED_INT(i);
        state->units[i].heat = 1.0 + i;
    }
    return LS_OK;
}

/* ---- the healthy passes ---- */

static inline void game_listen(const ls_step *step)
{
    game_state *state = step->state;
    for (uint32_t slot = 0; slot < step->inputs->slot_count; slot++) {
        const ls_slot_input *input = &step->inputs->slots[slot];
        state->inputs += input->size;
        for (uint32_t i = 0; i < input->size; i++) {
            game_unit *unit = &state->units[input->bytes[i] % GAME_UNITS];
            unit->speed = ls_fixed_add(unit->speed, LS_FIXED_ONE / 16);
            unit->target = (unit->target + 1) % GAME_UNITS;
        }
    }
}

static inline void game_move(const ls_step *step)
{
    game_state *state = step->state;
    uint32_t pushed = ls_rng_below(&state->rng, GAME_UNITS);
    state->units[pushed].speed = ls_fixed_sub(0, state->units[pushed].speed);
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        game_unit *unit = &state->units[i];
        unit->position = ls_fixed_add(unit->position, unit->speed / step->config->tick_rate_hz);
    }
    state->score += state->inputs;
}

/* ---- floating point, as a step should compute with it ---- */

static inline fenv_t game_round_as_usual(void)
{
    fenv_t kept;
    fegetenv(&kept);
    fesetenv(FE_DFL_ENV);
    return kept;
}

/* ---- the plug-in ---- */

/* The passes of every simulation: `own` stands between the healthy ones. */
#define GAME_PASSES(own_name, own)                                                                 \
    static const ls_pass passes[] = {{"listen", game_listen}, {own_name, own}, {"move", game_move}}

#ifndef GAME_STATE_BYTES /* of a state that is more than the shared one */
#define GAME_STATE_BYTES game_state_bytes
#endif

/* The entry point. The other arguments are members of ls_simulation: fields and init at least. */
#define GAME_PLUGIN(plugin_name, ...)                                                              \
    static const ls_simulation game_simulation = {.abi = LS_SIMULATION_ABI,                        \
                                                  .size = sizeof(ls_simulation),                   \
                                                  .version = 1,                                    \
                                                  .name = plugin_name,                             \
                                                  .summary =                                       \
                                                      "a known-bad simulation or its sound twin",  \
                                                  .default_tick_rate_hz = 60,                      \
                                                  .default_players = 2,                            \
                                                  .players_max = 4,                                \
                                                  .input_bytes_max = 4,                            \
                                                  .passes = passes,                                \
                                                  .pass_count = sizeof passes / sizeof passes[0],  \
                                                  .state_bytes = GAME_STATE_BYTES,                 \
                                                  __VA_ARGS__};                                    \
    LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void);                           \
    const ls_simulation *lockstep_simulation(void)                                                 \
    {                                                                                              \
        return &game_simulation;                                                                   \
    }

#endif
