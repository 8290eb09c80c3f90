/* A save omits what a step depends on (cause 9). A plug-in is built of each part, which its
 * name selects. */
#include "lockstep/tests/known_bad/game.h"

/* ==== save_omits ==== */

/* Cause 9: steps read a value that is kept beside the state: init resets it, but no save holds it.
 */
#ifdef GAME_IS_SAVE_OMITS

#if GAME_FAULTY
static uint32_t momentum;
#endif

static ls_status init(const ls_sim_config *config, void *block, ls_text *why)
{
#if GAME_FAULTY
    momentum = 0;
#endif
    return game_init(config, block, why);
}

static void drift(const ls_step *step)
{
    game_state *state = step->state;
#if GAME_FAULTY
    momentum += state->inputs % 3;
    state->bonus = momentum;
#else
    state->bonus += state->inputs % 3;
#endif
}

GAME_PASSES("drift", drift);
GAME_PLUGIN("save_omits", .fields = game_fields, .init = init)

#endif

/* ==== thread_cache ==== */

/* Cause 9: a cache that belongs to the thread: no static variable, and in no save. */
#ifdef GAME_IS_THREAD_CACHE

static void find_path(const ls_step *step)
{
    game_state *state = step->state;
#if GAME_FAULTY
    static _Thread_local uint32_t cached_path;
    if (state->inputs % 8 == 0) {
        cached_path = state->inputs;
    }
    state->bonus += cached_path;
#else
    state->bonus += state->inputs;
#endif
}

GAME_PASSES("path", find_path);
GAME_PLUGIN("thread_cache", .fields = game_fields, .init = game_init)

#endif

/* ==== round_trip ==== */

/* Cause 9: the load of an engine behind callbacks cuts off a number that has become too big. */
#ifdef GAME_IS_ROUND_TRIP

static uint64_t hash(const ls_sim_config *config, const void *block)
{
    (void)config;
    const game_state *state = block;
    return (uint64_t)state->inputs << 32 | (state->bonus + state->units[3].order);
}

static size_t save(const ls_sim_config *config, const void *block, uint8_t *bytes, size_t capacity)
{
    (void)config;
    if (capacity >= sizeof(game_state)) {
        memcpy(bytes, block, sizeof(game_state));
    }
    return sizeof(game_state);
}

static ls_status load(const ls_sim_config *config, void *block, const uint8_t *bytes, size_t size)
{
    (void)config;
    if (size != sizeof(game_state)) {
        return LS_MALFORMED;
    }
    game_state *state = block;
    memcpy(state, bytes, size);
    if (GAME_FAULTY) {
        state->units[3].order &= 0xff;
    }
    return LS_OK;
}

static void grow(const ls_step *step)
{
    game_state *state = step->state;
    state->units[3].order += 20;
}

GAME_PASSES("grow", grow);
GAME_PLUGIN("round_trip", .init = game_init, .hash = hash, .save = save, .load = load)

#endif

/* ==== rare ==== */

/* Cause 9 on a path that is rarely taken: not in the first 900 ticks. */
#ifdef GAME_IS_RARE

static void celebrate(const ls_step *step)
{
    game_state *state = step->state;
    static ls_tick last_feast;
    if (step->inputs->tick >= 900 && step->inputs->tick % 100 == 7) {
        state->bonus += GAME_FAULTY && last_feast >= step->inputs->tick ? 2 : 1;
        last_feast = step->inputs->tick;
    }
}

GAME_PASSES("celebrate", celebrate);
GAME_PLUGIN("rare", .fields = game_fields, .init = game_init)

#endif

/* ==== rare_input ==== */

/* Cause 9 on a path that the game's own bot never takes: a code that it does not send. */
#ifdef GAME_IS_RARE_INPUT

enum {
    RARE_CODE = 160,
    BOT_CODES = 4,
};

static uint32_t send_usual_codes(const ls_sim_config *config, const void *state, uint32_t slot,
                                 ls_rng *rng, uint8_t *bytes)
{
    (void)config;
    (void)state;
    (void)slot;
    bytes[0] = (uint8_t)ls_rng_below(rng, BOT_CODES);
    return 1;
}

static void build(const ls_step *step)
{
    game_state *state = step->state;
    static uint32_t built;
    for (uint32_t slot = 0; slot < step->inputs->slot_count; slot++) {
        const ls_slot_input *input = &step->inputs->slots[slot];
        if (input->size > 0 && input->bytes[0] >= RARE_CODE) {
            built++;
            state->bonus += GAME_FAULTY ? built : 1;
        }
    }
}

GAME_PASSES("build", build);
GAME_PLUGIN("rare_input", .fields = game_fields, .init = game_init, .bot = send_usual_codes)

#endif
