/* Fuzzes the arena's step with arbitrary inputs and parameters.
 *
 *   u8 players    less one
 *   u8 bodies, u8 percent of boxes, u8 area, u8 speed, u8 friction, u8 restitution, u8 drag,
 *   u8 iterations, u8 shots: places in their parameters' ranges, bodies few
 *   then ticks    simulation_run.h
 */
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/arena/arena_state.h"
#include "lockstep/tests/fuzz/simulation_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_input input = {bytes, size};
    const ls_simulation *arena = ls_arena_simulation();
    ls_sim_config config = ls_sim_config_default(arena);
    config.players = 1u + fuzz_take_u8(&input) % arena->players_max;
    for (uint32_t i = 0; i < LS_ARENA_PARAM_COUNT; i++) {
        const ls_param *param = &arena->params[i];
        int64_t most = i == LS_ARENA_PARAM_BODIES ? 60 : param->max;
        config.params[i] = param->min + (most - param->min) * fuzz_take_u8(&input) / 255;
    }
    simulation_run(arena, &config, &input);
    return 0;
}
