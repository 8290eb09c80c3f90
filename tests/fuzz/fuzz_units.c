/* Fuzzes the step of the strategy battle with arbitrary orders.
 *
 *   u8 players    less one
 *   u8 units      twice as many, at least the least
 *   u8 wave       seconds: lowest two bits; percent: the rest
 *   then ticks    simulation_run.h
 */
#include "lockstep/common/simulations/units/units.h"
#include "lockstep/common/simulations/units/units_state.h"
#include "lockstep/tests/fuzz/simulation_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_input input = {bytes, size};
    const ls_simulation *units = ls_units_simulation();
    ls_sim_config config = ls_sim_config_default(units);
    config.players = 1u + fuzz_take_u8(&input) % units->players_max;
    int64_t count = 2 * fuzz_take_u8(&input);
    const ls_param *param = &units->params[LS_UNITS_PARAM_UNITS];
    config.params[LS_UNITS_PARAM_UNITS] = count > param->min ? count : param->min;
    uint8_t wave = fuzz_take_u8(&input);
    config.params[LS_UNITS_PARAM_WAVE_SECONDS] = wave & 3u;
    config.params[LS_UNITS_PARAM_WAVE_PERCENT] = wave >> 2;
    simulation_run(units, &config, &input);
    return 0;
}
