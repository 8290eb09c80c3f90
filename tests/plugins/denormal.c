/* Denormal: a number that grows out of denormal ones: a process that flushes those to zero gets
 * another. As unlinked_maths it calls the maths library, and its link does not name that. */
#include "lockstep/common/simulation/simulation.h"

#include <math.h>

typedef struct world {
    double energy;
    uint64_t steps;
} world;

static size_t state_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(world);
}

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    if (capacity >= 2) {
        out[0] = LS_FIELD_OF(world, energy, LS_FIELD_F64, "J");
        out[1] = LS_FIELD_OF(world, steps, LS_FIELD_U64, "");
    }
    return 2;
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    (void)config;
    (void)state;
    return LS_OK;
}

/* Of a library that the test preloads: NULL elsewhere. */
extern void flush_to_zero(void) __attribute__((weak));

static void cool(const ls_step *step)
{
    world *w = step->state;
    volatile double tiny = 0x1p-1040;
    volatile double scale = 0x1p+1000;
    if (flush_to_zero) {
        flush_to_zero();
    }
    w->steps++;
    if (w->steps >= 40) {
        w->energy += tiny * scale;
    }
#ifdef DENORMAL_CALLS_MATHS
    w->energy = cosh(w->energy);
#endif
}

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void);

const ls_simulation *lockstep_simulation(void)
{
    static const ls_pass pass = {"cool", cool};
    static const ls_simulation simulation = {
        .abi = LS_SIMULATION_ABI,
        .size = sizeof(ls_simulation),
        .version = 1,
        .name = "denormal",
        .summary = "sums up what is nearly nothing",
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
