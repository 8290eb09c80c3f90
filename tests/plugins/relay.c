/* A small game whose first pass computes in floating point, and whose second pass hands the result
 * on to fields that stand before it, and leaves nothing of it. Built several times with other
 * flags. */
#include "lockstep/common/simulation/simulation.h"

typedef struct relay_state {
    double total; /* by pass "gather" */
    double newest;
    double share; /* by pass "divide" */
    uint64_t ticks;
} relay_state;

static size_t state_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(relay_state);
}

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {
        LS_FIELD_OF(relay_state, total, LS_FIELD_F64, "m"),
        LS_FIELD_OF(relay_state, newest, LS_FIELD_F64, "m"),
        LS_FIELD_OF(relay_state, share, LS_FIELD_F64, "m"),
        LS_FIELD_OF(relay_state, ticks, LS_FIELD_U64, "ticks"),
    };
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static ls_status init(const ls_sim_config *config, void *block, ls_text *why)
{
    (void)why;
    relay_state *state = block;
    state->total = config->players;
    return LS_OK;
}

static void divide(const ls_step *step)
{
    relay_state *state = step->state;
    double length = (double)(state->ticks % 89) * 0.1;
    state->share = (length * 0.9 + 0.1) / 7.0 / 3.0;
}

static void gather(const ls_step *step)
{
    relay_state *state = step->state;
    state->newest = state->share;
    state->total += state->share;
    state->share = 0;
}

static void count(const ls_step *step)
{
    ((relay_state *)step->state)->ticks++;
}

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void);

const ls_simulation *lockstep_simulation(void)
{
    static const ls_pass passes[] = {{"divide", divide}, {"gather", gather}, {"count", count}};
    static const ls_simulation simulation = {.abi = LS_SIMULATION_ABI,
                                             .size = sizeof(ls_simulation),
                                             .version = 1,
                                             .name = "relay",
                                             .summary = "hands a result on within a tick",
                                             .default_tick_rate_hz = 60,
                                             .default_players = 1,
                                             .players_max = 2,
                                             .input_bytes_max = 2,
                                             .passes = passes,
                                             .pass_count = sizeof passes / sizeof passes[0],
                                             .state_bytes = state_bytes,
                                             .init = init,
                                             .fields = fields};
    return &simulation;
}
