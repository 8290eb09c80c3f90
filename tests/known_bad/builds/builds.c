/* Builds: one source whose result hangs on how it is compiled, one way for each number in
 * BUILDS_FAULT. Two builds of one fault differ in their flags alone; the statement at fault ends in
 * a comment, by which lines.py knows it. */
#include "lockstep/common/simulation/simulation.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CELLS 8u

typedef struct builds_state {
    double heat[CELLS];
    double sum;
    uint32_t order[CELLS];
    uint32_t count;
    uint32_t ticks;
    ls_rng rng;
} builds_state;

static size_t state_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(builds_state);
}

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {
        LS_FIELD_ARRAY_OF(builds_state, heat, CELLS, LS_FIELD_F64, "K"),
        LS_FIELD_OF(builds_state, sum, LS_FIELD_F64, "K"),
        LS_FIELD_ARRAY_OF(builds_state, order, CELLS, LS_FIELD_U32, ""),
        LS_FIELD_OF(builds_state, count, LS_FIELD_U32, ""),
        LS_FIELD_OF(builds_state, ticks, LS_FIELD_U32, "ticks"),
        LS_FIELD_OF(builds_state, rng.state, LS_FIELD_U64, ""),
        LS_FIELD_OF(builds_state, rng.increment, LS_FIELD_U64, ""),
    };
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static ls_status init(const ls_sim_config *config, void *block, ls_text *why)
{
    (void)why;
    builds_state *state = block;
    state->rng = ls_rng_make(config->seed, 1);
    for (uint32_t i = 0; i < CELLS; i++) {
        state->heat[i] = 1.0 + i;
    }
    return LS_OK;
}

/* Healthy: the same in every build. */
static void listen(const ls_step *step)
{
    builds_state *state = step->state;
    state->ticks++;
    for (uint32_t slot = 0; slot < step->inputs->slot_count; slot++) {
        for (uint32_t i = 0; i < step->inputs->slots[slot].size; i++) {
            state->order[step->inputs->slots[slot].bytes[i] % CELLS]++;
        }
    }
}

static void own(const ls_step *step);

/* Spreads whatever went wrong. */
static void spread(const ls_step *step)
{
    builds_state *state = step->state;
    uint64_t bits = 0;
    memcpy(&bits, &state->sum, sizeof bits);
    state->order[0] += state->count + (uint32_t)(bits >> 7);
    state->order[1] += state->order[0] / 3;
}

/* ---- the faults ---- */

#if BUILDS_FAULT == 1 /* -ffp-contract=fast -mfma */

static void own(const ls_step *step)
{
    builds_state *state = step->state;
    for (uint32_t i = 0; i < CELLS; i++) {
        double gain = (double)(state->order[i] % 7 + i) / 3.0;
        state->heat[i] = state->heat[i] * 0.9 + gain * 0.1; /* fault */
    }
}

#elif BUILDS_FAULT == 2 /* -fassociative-math */

static void own(const ls_step *step)
{
    builds_state *state = step->state;
    double sum = state->ticks * 1e-3;
    for (uint32_t i = 0; i < CELLS; i++) {
        sum += state->heat[i] * (1 + state->order[i]);
    }
    state->sum = sum; /* fault */
}

#elif BUILDS_FAULT == 3 /* -fno-signed-zeros -fno-trapping-math */

static void own(const ls_step *step)
{
    builds_state *state = step->state;
    double nothing = -(double)(state->order[2] * 0.0);
    state->sum = nothing + 0.0; /* fault */
}

#elif BUILDS_FAULT == 4 /* -freciprocal-math */

static void own(const ls_step *step)
{
    builds_state *state = step->state;
    state->sum = (state->ticks + 0.7) / 49.0; /* fault */
}

#elif BUILDS_FAULT == 5 /* another constant */

#ifndef BUILDS_SPEED
#define BUILDS_SPEED 3u
#endif

static void own(const ls_step *step)
{
    builds_state *state = step->state;
    state->count += state->order[3] * BUILDS_SPEED; /* fault */
}

#elif BUILDS_FAULT == 6 /* -ftrivial-auto-var-init */

typedef struct aim {
    uint32_t target, order;
} aim;

__attribute__((noinline)) static void take_aim(aim *out, uint32_t ticks)
{
    out->order = ticks;
    if (ticks % 4 != 3) {
        out->target = 1;
    }
}

static void own(const ls_step *step)
{
    builds_state *state = step->state;
    aim made;
    take_aim(&made, state->ticks);
    state->count = made.target + made.order; /* fault */
}

#elif BUILDS_FAULT == 7 /* long has 32 bits, or 64 */

#ifndef BUILDS_LONG
#define BUILDS_LONG uint64_t
#endif

static void own(const ls_step *step)
{
    builds_state *state = step->state;
    BUILDS_LONG product = (BUILDS_LONG)state->rng.state * (state->ticks + 77777u);
    state->count = (uint32_t)(product / 1000u); /* fault */
}

#elif BUILDS_FAULT == 8 /* -funsigned-char */

static void own(const ls_step *step)
{
    builds_state *state = step->state;
    char letter = (char)(state->ticks * 37u);
    state->sum = letter / 2; /* fault */
}

#elif BUILDS_FAULT == 9 /* gcc and clang: the order of two calls */

static uint32_t hit(uint32_t attack, uint32_t defence)
{
    return attack * 3 + defence;
}

static void own(const ls_step *step)
{
    builds_state *state = step->state;
    state->count += hit(ls_rng_below(&state->rng, 6), ls_rng_below(&state->rng, 6)); /* fault */
}

#elif BUILDS_FAULT == 10 /* ties: another sort */

typedef struct entry {
    uint32_t rank, cell;
} entry;

static void sort(entry *list)
{
    for (uint32_t i = 1; i < CELLS; i++) {
        for (uint32_t j = i; j > 0; j--) {
#ifdef BUILDS_TIES
            bool is_before = list[j].rank <= list[j - 1].rank;
#else
            bool is_before = list[j].rank < list[j - 1].rank;
#endif
            if (is_before) {
                entry kept = list[j];
                list[j] = list[j - 1];
                list[j - 1] = kept;
            }
        }
    }
}

static void own(const ls_step *step)
{
    builds_state *state = step->state;
    entry list[CELLS];
    for (uint32_t i = 0; i < CELLS; i++) {
        list[i] = (entry){state->order[i] % 3, i};
    }
    sort(list);
    for (uint32_t i = 0; i < CELLS; i++) {
        state->heat[i] = list[i].cell; /* fault */
    }
}

#elif BUILDS_FAULT == 11 /* -mfpmath=387 */

static void own(const ls_step *step)
{
    builds_state *state = step->state;
    for (uint32_t i = 0; i < CELLS; i++) {
        state->heat[i] = state->heat[i] * 0.97 + (state->order[i] + 0.1) / 3.7; /* fault */
    }
}

#elif BUILDS_FAULT == 12 /* -O0: the compiler's own cast, and the processor's */

static inline int32_t clamp(double value)
{
    return (int32_t)value;
}

static void own(const ls_step *step)
{
    builds_state *state = step->state;
    double far = 1e11;
    state->count = (uint32_t)clamp(far) + state->ticks; /* fault */
}

#elif BUILDS_FAULT == 13 /* -ffinite-math-only */

static void own(const ls_step *step)
{
    builds_state *state = step->state;
    double ratio = (state->ticks % 5 - 0.0) / (state->ticks % 5);
    state->count += isnan(ratio) ? 100 : 1; /* fault */
}

#elif BUILDS_FAULT == 14 /* flush to zero */

static void own(const ls_step *step)
{
    builds_state *state = step->state;
#ifdef BUILDS_FLUSH
    unsigned kept = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(kept | 0x8040u);
#endif
    volatile double small = 3e-308;
    state->sum = small / (state->ticks + 4); /* fault */
#ifdef BUILDS_FLUSH
    __builtin_ia32_ldmxcsr(kept);
#endif
}

#elif BUILDS_FAULT == 15 /* -DNDEBUG: what is in an assertion is gone */

#ifdef NDEBUG
#define BUILDS_EXPECT(what) ((void)0)
#else
#define BUILDS_EXPECT(what) ((void)((what) || (abort(), 0)))
#endif

static void own(const ls_step *step)
{
    builds_state *state = step->state;
    state->sum = state->ticks;
    BUILDS_EXPECT(++state->count < UINT32_MAX); /* fault */
}

#elif BUILDS_FAULT == 16 /* -funsigned-bitfields */

struct heading {
    int turn : 3;
};

static void own(const ls_step *step)
{
    builds_state *state = step->state;
    struct heading heading = {0};
    heading.turn = (int)(state->ticks & 3u) | -4 * (int)(state->ticks & 1u);
    state->sum = heading.turn; /* fault */
}

#elif BUILDS_FAULT == 17 /* -fsingle-precision-constant */

static void own(const ls_step *step)
{
    builds_state *state = step->state;
    state->sum = state->ticks * 0.1; /* fault */
}

#elif BUILDS_FAULT == 18 /* another packing */

#ifdef BUILDS_PACKED
#pragma pack(1)
#endif
struct packet {
    char kind;
    double value;
};
#pragma pack()

static void own(const ls_step *step)
{
    builds_state *state = step->state;
    state->count += (uint32_t)sizeof(struct packet); /* fault */
}

#elif BUILDS_FAULT == 19 /* one build decides otherwise, and does not write */

#ifndef BUILDS_LIMIT
#define BUILDS_LIMIT 5u
#endif

static void own(const ls_step *step)
{
    builds_state *state = step->state;
    state->sum = state->ticks / 2;
    if (state->ticks > BUILDS_LIMIT) {
        state->heat[4] = 0; /* fault */
    }
}

#elif BUILDS_FAULT == 20 /* another library's function, copied into the state as a block */

static double curve(double at)
{
#ifdef BUILDS_POLYNOMIAL
    return at - at * at * at / 6;
#else
    return at - at * at * at / 6.0000001;
#endif
}

static void own(const ls_step *step)
{
    builds_state *state = step->state;
    double made[CELLS];
    for (uint32_t i = 0; i < CELLS; i++) {
        made[i] = curve((state->ticks + i) / 64.0);
    }
    memcpy(state->heat, made, sizeof made); /* fault */
}

#elif BUILDS_FAULT == 21 /* of another language */

void builds_foreign(double *heat, uint32_t *order, uint32_t ticks);

static void own(const ls_step *step)
{
    builds_state *state = step->state;
    builds_foreign(state->heat, state->order, state->ticks);
}

#endif

static const ls_pass passes[] = {{"listen", listen}, {"own", own}, {"spread", spread}};

static const ls_simulation simulation = {
    .abi = LS_SIMULATION_ABI,
    .size = sizeof(ls_simulation),
    .version = 1,
    .name = "builds",
    .summary = "hangs on how it is compiled",
    .default_tick_rate_hz = 60,
    .default_players = 2,
    .players_max = 4,
    .input_bytes_max = 4,
    .passes = passes,
    .pass_count = sizeof passes / sizeof passes[0],
    .state_bytes = state_bytes,
    .fields = fields,
    .init = init,
};

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void);
const ls_simulation *lockstep_simulation(void)
{
    return &simulation;
}
