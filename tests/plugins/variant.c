/* One small game, built several times: as it is, and with one thing changed by a definition, so
 * that two machines must find out that they do not play the same. */
#include "lockstep/common/simulation/simulation.h"

#ifndef VARIANT_VERSION
#define VARIANT_VERSION 1
#endif
#ifndef VARIANT_UNIT
#define VARIANT_UNIT "points"
#endif
#ifndef VARIANT_CONTENT
#define VARIANT_CONTENT 0x1111
#endif
#ifndef VARIANT_FIRST_SCORE
#define VARIANT_FIRST_SCORE 0
#endif
#ifndef VARIANT_PARAM
#define VARIANT_PARAM "bonus"
#endif
#ifndef VARIANT_PARAM_COUNT
#define VARIANT_PARAM_COUNT 1
#endif
#ifndef VARIANT_PARAM_MAX
#define VARIANT_PARAM_MAX 100
#endif

typedef struct world {
    uint64_t scores[4];
} world;

static const ls_param params[] = {
    LS_PARAM_INTEGER_OF(VARIANT_PARAM, "points", "for each byte of input", 3, 0, VARIANT_PARAM_MAX),
    LS_PARAM_INTEGER_OF("malus", "points", "not used", 0, 0, 1)};

static size_t state_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(world);
}

#ifdef VARIANT_UNSAVED
static uint64_t hash(const ls_sim_config *config, const void *state)
{
    (void)config;
    const world *w = state;
    return ((w->scores[0] * 31 + w->scores[1]) * 31 + w->scores[2]) * 31 + w->scores[3];
}
#else
static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    if (capacity > 0) {
        out[0] = LS_FIELD_ARRAY_OF(world, scores, 4, LS_FIELD_U64, VARIANT_UNIT);
    }
    return 1;
}
#endif

static uint64_t content_digest(const ls_sim_config *config)
{
    (void)config;
    return VARIANT_CONTENT;
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    (void)config;
    ((world *)state)->scores[0] = VARIANT_FIRST_SCORE;
    return LS_OK;
}

static void score(const ls_step *step)
{
    world *w = step->state;
    for (uint32_t slot = 0; slot < step->inputs->slot_count; slot++) {
        const ls_slot_input *input = &step->inputs->slots[slot];
        for (uint32_t i = 0; i < input->size; i++) {
            w->scores[slot] += input->bytes[i] + (uint64_t)step->config->params[0];
        }
    }
}

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void);

const ls_simulation *lockstep_simulation(void)
{
    static const ls_pass pass = {"score", score};
    static const ls_simulation simulation = {
        .abi = LS_SIMULATION_ABI,
        .size = sizeof(ls_simulation),
        .version = VARIANT_VERSION,
        .name = "variant",
        .summary = "points for pressing anything",
        .default_tick_rate_hz = 60,
        .default_players = 2,
        .players_max = 4,
        .input_bytes_max = 4,
        .params = params,
        .param_count = VARIANT_PARAM_COUNT,
        .passes = &pass,
        .pass_count = 1,
        .content_digest = content_digest,
        .state_bytes = state_bytes,
#ifdef VARIANT_UNSAVED
        .hash = hash,
#else
        .fields = fields,
#endif
        .init = init,
    };
    return &simulation;
}
