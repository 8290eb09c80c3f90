/* A plug-in whose fields lockstep-schema wrote; without NASTY_FIELDS only its types. */
#include "lockstep/tests/schema/nasty_state.h"

#ifdef NASTY_FIELDS
#include NASTY_FIELDS

static size_t state_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(nasty_state) + NASTY_UNITS * sizeof(nasty_unit);
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    nasty_state *nasty = state;
    nasty->serial = config->seed;
    return LS_OK;
}

static void run(const ls_step *step)
{
    nasty_state *nasty = step->state;
    nasty->serial++;
}

static const ls_pass passes[] = {{"run", run}};
static const ls_simulation simulation = {
    .abi = LS_SIMULATION_ABI,
    .size = sizeof(ls_simulation),
    .version = 1,
    .name = "nasty",
    .summary = "a state that is hard to describe",
    .default_tick_rate_hz = 60,
    .default_players = 1,
    .players_max = 1,
    .passes = passes,
    .pass_count = 1,
    .state_bytes = state_bytes,
    .fields = nasty_fields,
    .init = init,
};

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void);

const ls_simulation *lockstep_simulation(void)
{
    return &simulation;
}
#else
LS_SIMULATION_EXPORT nasty_state nasty_type;
#endif
