#include "lockstep/common/simulations/arena/arena.h"

#include "lockstep/common/simulations/arena/arena_world.h"

/* In the order of LS_ARENA_PARAM_*. */
static const ls_param params[LS_ARENA_PARAM_COUNT] = {
    LS_PARAM_INTEGER_OF("bodies", "", "discs and boxes that lie about", 200, 0, 20000),
    LS_PARAM_INTEGER_OF("boxes", "/1000", "share of boxes among them", 500, 0, 1000),
    LS_PARAM_INTEGER_OF("area", "m2", "room for each body; the arena grows with it", 9, 8, 60),
    LS_PARAM_INTEGER_OF("speed", "m/s", "highest speed of a body at the start", 6, 0, 20),
    LS_PARAM_INTEGER_OF("friction", "/1000", "between bodies, and between bodies and walls", 300, 0,
                        2000),
    LS_PARAM_INTEGER_OF("restitution", "/1000", "speed kept in a collision", 600, 0, 1000),
    LS_PARAM_INTEGER_OF("drag", "/1000 per s", "speed lost to the ground", 150, 0, 5000),
    LS_PARAM_INTEGER_OF("iterations", "", "of the contact solver", 4, 1, 16),
    LS_PARAM_INTEGER_OF("shots", "", "of one ship in flight at once", 8, 1, 64),
};

static const ls_pass passes[] = {
    {"events", ls_arena_pass_events},         {"ships", ls_arena_pass_ships},
    {"broadphase", ls_arena_pass_broadphase}, {"narrowphase", ls_arena_pass_narrowphase},
    {"solve", ls_arena_pass_solve},           {"integrate", ls_arena_pass_integrate},
    {"shots", ls_arena_pass_shots},           {"spawn", ls_arena_pass_spawn},
};

static size_t state_bytes(const ls_sim_config *config)
{
    return ls_arena_layout_of(config).bytes;
}

const ls_simulation *ls_arena_simulation(void)
{
    static const ls_simulation simulation = {
        .abi = LS_SIMULATION_ABI,
        .size = sizeof(ls_simulation),
        .version = 2,
        .name = "arena",
        .summary = "ships push and shoot among rigid discs and boxes, seen from above",
        .default_tick_rate_hz = 60,
        .default_players = 4,
        .players_max = 16,
        .input_bytes_max = LS_ARENA_PAD_BYTES,
        .params = params,
        .param_count = LS_ARENA_PARAM_COUNT,
        .passes = passes,
        .pass_count = sizeof passes / sizeof passes[0],
        .state_bytes = state_bytes,
        .scratch_bytes = ls_arena_scratch_bytes,
        .fields = ls_arena_fields,
        .init = ls_arena_init,
        .draw = ls_arena_draw,
        .bot = ls_arena_bot,
        .control = ls_arena_control,
        .sounds = ls_arena_sounds,
        .input_bits = ls_buttons_in_first_byte,
    };
    return &simulation;
}
