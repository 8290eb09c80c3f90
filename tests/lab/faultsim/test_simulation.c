#include "lockstep/tests/lab/faultsim/test_simulation.h"

static const ls_param params[TEST_PARAM_COUNT] = {
    [TEST_PARAM_BYTES] =
        LS_PARAM_INTEGER_OF("bytes", "", "size of a bot's input", 2, 0, LS_INPUT_BYTES_MAX),
};

static const ls_param small_params[TEST_PARAM_COUNT] = {
    [TEST_PARAM_BYTES] =
        LS_PARAM_INTEGER_OF("bytes", "", "size of a bot's input", 2, 0, TEST_SMALL_BYTES),
};

static size_t state_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(test_simulation_state);
}

#define SLOT_FIELD(member, type)                                                                   \
    LS_FIELD_EACH("slots", offsetof(test_simulation_state, slots), TEST_PLAYERS_MAX,               \
                  test_simulation_slot, member, LS_FIELD_##type, "")

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {
        LS_FIELD_OF(test_simulation_state, rng.state, LS_FIELD_U64, ""),
        LS_FIELD_OF(test_simulation_state, rng.increment, LS_FIELD_U64, ""),
        SLOT_FIELD(sum, U64),
        SLOT_FIELD(joins, U32),
        SLOT_FIELD(leaves, U32),
    };
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    test_simulation_state *test = state;
    test->rng = ls_rng_make(config->seed, 1);
    return LS_OK;
}

static void count(const ls_step *step)
{
    test_simulation_state *state = step->state;
    for (uint32_t i = 0; i < step->inputs->slot_count; i++) {
        const ls_slot_input *input = &step->inputs->slots[i];
        test_simulation_slot *slot = &state->slots[i];
        slot->joins += (input->events & LS_EVENT_JOINED) != 0;
        slot->leaves += (input->events & LS_EVENT_LEFT) != 0;
        slot->sum = slot->sum * UINT64_C(0x9e3779b97f4a7c15) + input->size;
        for (uint32_t byte = 0; byte < input->size; byte++) {
            slot->sum = (slot->sum ^ input->bytes[byte]) * UINT64_C(0x100000001b3);
        }
    }
    state->slots[0].sum += ls_rng_next(&state->rng);
}

static uint32_t bot(const ls_sim_config *config, const void *state, uint32_t slot, ls_rng *rng,
                    uint8_t *bytes)
{
    (void)state;
    (void)slot;
    uint32_t size = (uint32_t)config->params[TEST_PARAM_BYTES];
    for (uint32_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)ls_rng_next(rng);
    }
    return size;
}

static const ls_pass passes[] = {{"count", count}};

#define TEST_SIMULATION(its_name, its_bytes, its_params)                                           \
    {                                                                                              \
        .abi = LS_SIMULATION_ABI, .size = sizeof(ls_simulation), .version = 1, .name = (its_name), \
        .summary = "adds up what it is given", .default_tick_rate_hz = 60, .default_players = 4,   \
        .players_max = TEST_PLAYERS_MAX, .input_bytes_max = (its_bytes), .params = (its_params),   \
        .param_count = TEST_PARAM_COUNT, .passes = passes,                                         \
        .pass_count = sizeof passes / sizeof passes[0], .state_bytes = state_bytes,                \
        .fields = fields, .init = init, .bot = bot,                                                \
    }

static const ls_simulation simulation = TEST_SIMULATION("test", LS_INPUT_BYTES_MAX, params);
static const ls_simulation small_simulation =
    TEST_SIMULATION("test-small", TEST_SMALL_BYTES, small_params);

const ls_simulation *test_simulation(void)
{
    return &simulation;
}

const ls_simulation *test_small_simulation(void)
{
    return &small_simulation;
}
