#include "lockstep/common/simulations/tumble/tumble.h"

#include "lockstep/common/simulations/tumble/tumble_world.h"

static const ls_param params[LS_TUMBLE_PARAM_COUNT] = {
    [LS_TUMBLE_PARAM_BODIES] = LS_PARAM_INTEGER_OF(
        "bodies", "", "boxes and balls that fall into the room", 32, 0, LS_TUMBLE_BODIES_MAX),
    [LS_TUMBLE_PARAM_BOXES] =
        LS_PARAM_INTEGER_OF("boxes", "/1000", "share of boxes among them", 750, 0, 1000),
    [LS_TUMBLE_PARAM_FRICTION] =
        LS_PARAM_INTEGER_OF("friction", "/1000", "between all surfaces", 600, 0, 2000),
    [LS_TUMBLE_PARAM_RESTITUTION] =
        LS_PARAM_INTEGER_OF("restitution", "/1000", "speed kept in a collision", 250, 0, 1000),
    [LS_TUMBLE_PARAM_GRAVITY] =
        LS_PARAM_INTEGER_OF("gravity", "mm/s2", "downwards", 9810, 0, 30000),
    [LS_TUMBLE_PARAM_ITERATIONS] =
        LS_PARAM_INTEGER_OF("iterations", "", "of the contact solver", 12, 1, 64),
};

static const ls_pass passes[] = {
    {"events", ls_tumble_pass_events}, {"push", ls_tumble_pass_push},
    {"wake", ls_tumble_pass_wake},     {"contacts", ls_tumble_pass_contacts},
    {"solve", ls_tumble_pass_solve},   {"integrate", ls_tumble_pass_integrate},
};

static size_t state_bytes(const ls_sim_config *config)
{
    return ls_tumble_layout_of(config).bytes;
}

const ls_simulation *ls_tumble_simulation(void)
{
    static const ls_simulation simulation = {
        .abi = LS_SIMULATION_ABI,
        .size = sizeof(ls_simulation),
        .version = 1,
        .name = "tumble",
        .summary = "rigid boxes and balls in space that pile up, and players who push them",
        .default_tick_rate_hz = 60,
        .default_players = 2,
        .players_max = LS_TUMBLE_PLAYERS_MAX,
        .input_bytes_max = LS_TUMBLE_PAD_BYTES,
        .params = params,
        .param_count = LS_TUMBLE_PARAM_COUNT,
        .passes = passes,
        .pass_count = sizeof passes / sizeof passes[0],
        .state_bytes = state_bytes,
        .scratch_bytes = ls_tumble_scratch_bytes,
        .fields = ls_tumble_fields,
        .init = ls_tumble_init,
        .draw = ls_tumble_draw,
        .bot = ls_tumble_bot,
        .control = ls_tumble_control,
        .input_bits = ls_buttons_in_first_byte,
    };
    return &simulation;
}
