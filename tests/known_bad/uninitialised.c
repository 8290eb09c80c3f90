/* Cause 3: a struct on the stack is filled in only sometimes, and copied always. With GAME_REGISTER
 * the value that was not set is in a register, where compilers keep a small struct; with GAME_DEEP
 * it lies far down, behind a large array. */
#include "lockstep/tests/known_bad/game.h"

#if defined(GAME_REGISTER) && defined(__x86_64__)
__attribute__((noinline)) static uint32_t unset_value(void)
{
    uint32_t value;
    __asm__ volatile("" : "=a"(value));
    return value;
}

static void think(const ls_step *step)
{
    uint32_t unset = unset_value();
    game_state *state = step->state;
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        state->units[i].order = !GAME_FAULTY || state->inputs < 100 ? state->inputs % 5 : unset;
    }
}
#elif defined(GAME_DEEP)
#define DEEP_WORDS 60000

/* A game reaches as far down between two steps. */
__attribute__((noinline)) static void leave_words(volatile uint32_t *words, uint32_t value)
{
    for (uint32_t i = 0; i < DEEP_WORDS; i++) {
        words[i] = value;
    }
}

static uint32_t deep_bot(const ls_sim_config *config, const void *state, uint32_t slot, ls_rng *rng,
                         uint8_t *out)
{
    (void)config;
    (void)state;
    uint32_t words[DEEP_WORDS + 4096];
    leave_words(words + 2048, 1000 + slot);
    out[0] = (uint8_t)ls_rng_below(rng, 256);
    return 1;
}

__attribute__((noinline)) static uint32_t last_word(volatile uint32_t *words, bool is_set)
{
    if (is_set) {
        words[0] = 1;
    }
    return words[0];
}

static void think(const ls_step *step)
{
    uint32_t words[DEEP_WORDS];
    game_state *state = step->state;
    state->units[0].order = last_word(words, !GAME_FAULTY || state->inputs < 100);
}
#else
typedef struct plan {
    uint32_t target;
    uint32_t order;
    uint32_t way[8];
} plan;

/* Not inlined, as in a game where it stands in another file. */
__attribute__((noinline)) static void make_plan(const game_state *state, uint32_t index, plan *out)
{
    out->target = (state->units[index].target + 1) % GAME_UNITS;
    out->way[0] = out->way[7] = index;
    if (!GAME_FAULTY || state->inputs < 100) {
        out->order = state->inputs % 5;
    }
}

static void think(const ls_step *step)
{
    game_state *state = step->state;
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        plan made;
        make_plan(state, i, &made);
        state->units[i].target = made.target;
        state->units[i].order = made.order;
    }
}
#endif

GAME_PASSES("think", think);
#if defined(GAME_DEEP)
GAME_PLUGIN("uninitialised", .fields = game_fields, .init = game_init, .bot = deep_bot)
#else
GAME_PLUGIN("uninitialised", .fields = game_fields, .init = game_init)
#endif
