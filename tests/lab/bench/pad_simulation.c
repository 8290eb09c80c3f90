#include "lockstep/tests/lab/bench/pad_simulation.h"

#include "lockstep/common/base/byte_io.h"

#define STREAM 1u
#define CHANGE_ONE_IN_TICKS 8u
#define WORDS_APART 4057333u /* a prime */

static const ls_param params[] = {
    LS_PARAM_INTEGER_OF("bytes", "bytes", "size of the state; a multiple of 8", 256,
                        BENCH_PAD_STATE_BYTES_MIN, 1 << 26),
    LS_PARAM_INTEGER_OF("noise", "", "1: no half of a word is zero", 0, 0, 1),
    LS_PARAM_INTEGER_OF("scattered", "words", "that each step changes, far apart", 0, 0, 1 << 16),
};

static size_t state_bytes(const ls_sim_config *config)
{
    return (size_t)config->params[0];
}

static uint32_t word_count(const ls_sim_config *config)
{
    return (uint32_t)(config->params[0] / (int64_t)sizeof(uint64_t));
}

static ls_status check(const ls_sim_config *config, ls_text *why)
{
    if (config->params[0] % (int64_t)sizeof(uint64_t) != 0) {
        return ls_fail(LS_BAD_ARGUMENT, why, "bytes must be a multiple of 8");
    }
    return LS_OK;
}

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    if (capacity > 0) {
        out[0] = (ls_field){"words", "", LS_FIELD_U64, word_count(config), 1, 0, 0};
    }
    return 1;
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    uint64_t *words = state;
    ls_rng rng = ls_rng_make(config->seed, STREAM);
    for (uint32_t i = 0; i < word_count(config); i++) {
        words[i] = ls_rng_next(&rng);
        words[i] |= config->params[1] ? (uint64_t)ls_rng_next(&rng) << 32 : 0;
    }
    return LS_OK;
}

static void change(const ls_step *step, uint32_t word, uint32_t by)
{
    ((uint64_t *)step->state)[word] += by;
    ls_step_wrote(step, word * sizeof(uint64_t), sizeof(uint64_t));
}

static void add_pads(const ls_step *step)
{
    uint32_t count = word_count(step->config);
    uint32_t scattered = (uint32_t)step->config->params[BENCH_PAD_CHANGED_WORDS];
    for (uint32_t slot = 0; slot < step->inputs->slot_count; slot++) {
        const ls_slot_input *input = &step->inputs->slots[slot];
        if (input->size == BENCH_PAD_INPUT_BYTES) {
            change(step, slot % count, ls_load_u32(input->bytes));
        }
    }
    for (uint32_t i = 0; i < scattered; i++) {
        change(step, (step->inputs->tick * scattered + i) * WORDS_APART % count, 1);
    }
}

static const ls_pass passes[] = {{"add", add_pads}};

const ls_simulation *bench_pad_simulation(void)
{
    static const ls_simulation simulation = {
        .abi = LS_SIMULATION_ABI,
        .size = sizeof(ls_simulation),
        .version = 1,
        .name = "pad",
        .summary = "adds up what the players press",
        .default_tick_rate_hz = 60,
        .default_players = 4,
        .players_max = LS_PLAYERS_MAX,
        .input_bytes_max = BENCH_PAD_INPUT_BYTES,
        .params = params,
        .param_count = sizeof params / sizeof params[0],
        .passes = passes,
        .pass_count = 1,
        .check = check,
        .state_bytes = state_bytes,
        .fields = fields,
        .init = init,
        .names_writes = 1,
    };
    return &simulation;
}

ls_sim_config bench_pad_config(uint32_t state_bytes_wanted, uint32_t players)
{
    ls_sim_config config = ls_sim_config_default(bench_pad_simulation());
    config.params[0] = state_bytes_wanted;
    config.players = players;
    return config;
}

bench_pad_player bench_pad_player_make(uint64_t seed, uint64_t stream)
{
    return (bench_pad_player){.rng = ls_rng_make(seed, stream)};
}

uint32_t bench_pad_player_input(bench_pad_player *player, uint8_t *bytes)
{
    if (ls_rng_below(&player->rng, CHANGE_ONE_IN_TICKS) == 0) {
        player->pad ^= UINT32_C(1) << ls_rng_below(&player->rng, 32);
    }
    ls_store_u32(bytes, player->pad);
    return BENCH_PAD_INPUT_BYTES;
}
