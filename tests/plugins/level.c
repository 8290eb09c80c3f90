/* A game with a map of its own in a file, music that nobody has to have, and a motto: walkers add
 * up the bytes of the map that they walk over. */
#include "lockstep/common/simulation/simulation.h"

enum {
    PARAM_SPEED,
    PARAM_MAP,
    PARAM_MOTTO,
    PARAM_MUSIC,
    PARAM_COUNT,
    PLAYERS_MAX = 4,
};

typedef struct level_state {
    uint64_t sums[PLAYERS_MAX];
    uint32_t places[PLAYERS_MAX];
    uint64_t motto;
} level_state;

static const ls_param params[PARAM_COUNT] = {
    [PARAM_SPEED] = LS_PARAM_INTEGER_OF("speed", "bytes", "of a step", 3, 1, 100),
    [PARAM_MAP] = LS_PARAM_FILE_OF("map", "begins with the letter M", 1, 1 << 20),
    [PARAM_MOTTO] = LS_PARAM_STRING_OF("motto", "of all players", "onwards", 0, 200),
    [PARAM_MUSIC] = LS_PARAM_FILE_OF("music", "which is not looked at", 0, 1 << 20),
};

static size_t state_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(level_state);
}

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {
        LS_FIELD_ARRAY_OF(level_state, sums, PLAYERS_MAX, LS_FIELD_U64, ""),
        LS_FIELD_ARRAY_OF(level_state, places, PLAYERS_MAX, LS_FIELD_U32, "bytes"),
        LS_FIELD_OF(level_state, motto, LS_FIELD_U64, ""),
    };
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    const ls_sim_file *map = ls_sim_config_file(config, PARAM_MAP);
    const char *motto = ls_sim_config_string(config, PARAM_MOTTO);
    if (map->bytes[0] != 'M') {
        return ls_fail(LS_BAD_ARGUMENT, why, "map: byte 0 is 0x%02x, and not an M", map->bytes[0]);
    }
    for (size_t i = 0; motto[i] != '\0'; i++) {
        ((level_state *)state)->motto = ((level_state *)state)->motto * 31 + (uint8_t)motto[i];
    }
    return LS_OK;
}

static void walk(const ls_step *step)
{
    level_state *state = (level_state *)step->state;
    const ls_sim_file *map = ls_sim_config_file(step->config, PARAM_MAP);
    for (uint32_t slot = 0; slot < step->inputs->slot_count; slot++) {
        uint32_t steps = step->inputs->slots[slot].size + 1;
        uint64_t place = state->places[slot] + steps * (uint64_t)step->config->params[PARAM_SPEED];
        state->places[slot] = (uint32_t)(place % map->size);
        state->sums[slot] += map->bytes[state->places[slot]];
    }
}

/* The plug-in's one symbol. */
LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void);

const ls_simulation *lockstep_simulation(void)
{
    static const ls_pass pass = {"walk", walk};
    static const ls_simulation simulation = {
        .abi = LS_SIMULATION_ABI,
        .size = sizeof(ls_simulation),
        .version = 1,
        .name = "level",
        .summary = "walkers on a map from a file",
        .default_tick_rate_hz = 60,
        .default_players = 2,
        .players_max = PLAYERS_MAX,
        .input_bytes_max = 4,
        .params = params,
        .param_count = PARAM_COUNT,
        .passes = &pass,
        .pass_count = 1,
        .state_bytes = state_bytes,
        .fields = fields,
        .init = init,
    };
    return &simulation;
}
