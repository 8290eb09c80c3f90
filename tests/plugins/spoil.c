/* Spoil: a state of 1 MiB. With SPOIL_TICK a build that gets thousands of its values wrong in that
 * tick: far more than can be healed one by one. */
#include "lockstep/common/simulation/simulation.h"

enum {
    CELLS = 1 << 17,
};

static size_t state_bytes(const ls_sim_config *config)
{
    (void)config;
    return CELLS * sizeof(uint64_t);
}

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    if (capacity > 0) {
        out[0] = (ls_field){"cells", "", LS_FIELD_U64, CELLS, 1, 0, 0};
    }
    return 1;
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    ((uint64_t *)state)[0] = config->seed;
    return LS_OK;
}

static void change(const ls_step *step)
{
    uint64_t *cells = step->state;
    for (uint32_t i = 0; i < 100; i++) {
        cells[(step->inputs->tick * 7 + i * 37) % CELLS] += i;
    }
#ifdef SPOIL_TICK
    for (uint32_t i = 0; step->inputs->tick == SPOIL_TICK && i < CELLS; i += 16) {
        cells[i] ^= 1;
    }
#endif
}

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void);

const ls_simulation *lockstep_simulation(void)
{
    static const ls_pass pass = {"change", change};
    static const ls_simulation simulation = {
        .abi = LS_SIMULATION_ABI,
        .size = sizeof(ls_simulation),
        .version = 1,
        .name = "spoil",
        .summary = "a state of 1 MiB",
        .default_tick_rate_hz = 60,
        .default_players = 2,
        .players_max = 4,
        .input_bytes_max = 4,
        .passes = &pass,
        .pass_count = 1,
        .state_bytes = state_bytes,
        .fields = fields,
        .init = init,
    };
    return &simulation;
}
