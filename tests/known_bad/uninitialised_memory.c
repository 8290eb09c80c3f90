/* Memory that no one has set, and bytes behind an end (cause 3). A plug-in is built of each part,
 * which its name selects. */
#include "lockstep/tests/known_bad/game.h"

#include <stdlib.h>

/* ==== uninitialised ==== */

/* Cause 3: a struct on the stack is filled in only sometimes, and copied always. With GAME_REGISTER
 * the value that was not set is in a register, where compilers keep a small struct; with GAME_DEEP
 * it lies far down, behind a large array. */
#ifdef GAME_IS_UNINITIALISED

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

#endif

/* ==== heap ==== */

/* Cause 3 on the heap: a block from malloc is summed up before all of it has been written. */
#ifdef GAME_IS_HEAP

/* Not inlined, as in a game where it stands in another file. */
__attribute__((noinline)) static void fill(const game_state *state, uint32_t count, uint8_t *block)
{
    for (uint32_t i = 0; i < count; i++) {
        block[i] = (uint8_t)state->units[i].target;
    }
}

static void gather(const ls_step *step)
{
    game_state *state = step->state;
    uint32_t filled = GAME_FAULTY && state->inputs > 200 ? GAME_UNITS - 1 : GAME_UNITS;
    uint8_t *block = malloc(GAME_UNITS);
    if (!block) {
        return;
    }
    fill(state, filled, block);
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        state->bonus += block[i];
    }
    free(block);
}

GAME_PASSES("gather", gather);
GAME_PLUGIN("heap", .fields = game_fields, .init = game_init)

#endif

/* ==== scratch ==== */

/* Cause 3 in the scratch memory: a sum is carried on from the step before. */
#ifdef GAME_IS_SCRATCH

static size_t scratch_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(uint32_t);
}

static void carry(const ls_step *step)
{
    game_state *state = step->state;
    uint32_t *sum = step->scratch;
    if (!GAME_FAULTY || step->inputs->tick != 40) {
        *sum = 0;
    }
    *sum += state->inputs;
    state->bonus = *sum;
}

GAME_PASSES("carry", carry);
GAME_PLUGIN("scratch", .fields = game_fields, .init = game_init, .scratch_bytes = scratch_bytes)

#endif

/* ==== padding_sort ==== */

/* Cause 3: structs with padding between their members are sorted by memcmp. The padding holds what
 * the stack held, and decides. */
#ifdef GAME_IS_PADDING_SORT

typedef struct rank {
    uint8_t team;
    uint32_t unit;
} rank;

static int compare(const rank *a, const rank *b)
{
#if GAME_FAULTY
    return memcmp(a, b, sizeof *a);
#else
    return a->team != b->team ? (a->team < b->team ? -1 : 1) : (a->unit < b->unit ? -1 : 1);
#endif
}

/* Not inlined, as in a game where it stands in another file. */
__attribute__((noinline)) static void set_rank(rank *out, uint8_t team, uint32_t unit)
{
    out->team = team;
    out->unit = unit;
}

static void rank_units(const ls_step *step)
{
    game_state *state = step->state;
    rank ranks[GAME_UNITS];
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        set_rank(&ranks[i], (uint8_t)(state->units[i].target % 3), i);
        for (uint32_t k = i; k > 0 && compare(&ranks[k], &ranks[k - 1]) < 0; k--) {
            rank kept = ranks[k];
            memcpy(&ranks[k], &ranks[k - 1], sizeof kept);
            memcpy(&ranks[k - 1], &kept, sizeof kept);
        }
    }
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        state->units[ranks[i].unit].order = i;
    }
}

GAME_PASSES("rank", rank_units);
GAME_PLUGIN("padding_sort", .fields = game_fields, .init = game_init)

#endif

/* ==== past_end ==== */

/* Cause 3: now and then one unit more is read than there are, past the end of the state. */
#ifdef GAME_IS_PAST_END

/* Not inlined, as in a game where it stands in another file. */
__attribute__((noinline)) static uint32_t order_of(const game_unit *units, uint32_t index)
{
    return units[index].order;
}

static void look_around(const ls_step *step)
{
    game_state *state = step->state;
    uint32_t count = GAME_FAULTY && state->inputs / 4 % 16 == 15 ? GAME_UNITS + 1 : GAME_UNITS;
    for (uint32_t i = 0; i < count; i++) {
        state->bonus += order_of(state->units, i);
    }
}

GAME_PASSES("look", look_around);
GAME_PLUGIN("past_end", .fields = game_fields, .init = game_init)

#endif

/* ==== input_end ==== */

/* Cause 3: an input's second byte is read, and there may be but one. With GAME_SLOT the slot behind
 * the last one is looked at. */
#ifdef GAME_IS_INPUT_END

static void read_on(const ls_step *step)
{
    game_state *state = step->state;
    const ls_tick_inputs *inputs = step->inputs;
    uint32_t count = inputs->slot_count;
#if defined(GAME_SLOT)
    count++;
#endif
    for (uint32_t slot = 0; slot < count; slot++) {
        const ls_slot_input *input = &inputs->slots[slot];
        state->bonus += input->events;
#if !defined(GAME_SLOT)
        if (input->size > (GAME_FAULTY ? 0 : 1)) {
            state->bonus += input->bytes[1];
        }
#endif
    }
}

GAME_PASSES("read", read_on);
GAME_PLUGIN("input_end", .fields = game_fields, .init = game_init)

#endif
