/* A small game whose results depend on how floating point is compiled, with an inlined function, a
 * call and values that pass a difference on: flow, then level, then total. Built several times with
 * other flags, so that a difference can be followed back to the first statement that makes one. */
#include "lockstep/common/simulation/simulation.h"

#include <stdlib.h>

#define CELLS 4u

#ifdef FURNACE_COUNTS_WORKERS
#define WORKERS 4
#else
#define WORKERS 0
#endif

#ifdef FURNACE_READS_TOO_FAR
static void read_too_far(void)
{
    volatile uint32_t cell = CELLS;
    double *copy = calloc(CELLS, sizeof *copy);
    if (copy) {
        volatile double beyond = copy[cell];
        (void)beyond;
    }
    free(copy);
}
#endif

#ifdef FURNACE_SHIFTS_TOO_FAR
static void shift_too_far(void)
{
    volatile uint32_t by = 32;
    volatile int shifted = 1 << by;
    (void)shifted;
}
#endif

typedef struct furnace_state {
    double flow[CELLS];  /* where the builds differ first */
    double level[CELLS]; /* made of flow */
    double total;        /* made of level */
    double quiet;        /* made of nothing that differs */
    uint64_t ticks;
    uint64_t alarms; /* counted when the total is above a limit */
} furnace_state;

static size_t state_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(furnace_state);
}

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {
        LS_FIELD_ARRAY_OF(furnace_state, flow, CELLS, LS_FIELD_F64, "m3/s"),
        LS_FIELD_ARRAY_OF(furnace_state, level, CELLS, LS_FIELD_F64, "m"),
        LS_FIELD_OF(furnace_state, total, LS_FIELD_F64, "m"),
        LS_FIELD_OF(furnace_state, quiet, LS_FIELD_F64, "m"),
        LS_FIELD_OF(furnace_state, ticks, LS_FIELD_U64, "ticks"),
        LS_FIELD_OF(furnace_state, alarms, LS_FIELD_U64, ""),
    };
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static ls_status init(const ls_sim_config *config, void *block, ls_text *why)
{
    (void)why;
    furnace_state *state = block;
    (void)config;
    for (uint32_t i = 0; i < CELLS; i++) {
        state->flow[i] = 1.0 + i;
    }
    return LS_OK;
}

static inline __attribute__((always_inline)) void blend(double *value, double gain)
{
    *value = *value * 0.9 + gain * 0.1;
}

static void pump(const ls_step *step)
{
    furnace_state *state = step->state;
    for (uint32_t i = 0; i < CELLS; i++) {
        double gain = (double)(state->ticks % 7 + i) / 3.0;
        blend(&state->flow[i], gain);
    }
}

static __attribute__((noinline)) void fill(furnace_state *state, uint32_t cell, double by)
{
    state->level[cell] = by + 2.0;
}

static void carry(const ls_step *step)
{
    furnace_state *state = step->state;
    state->quiet = (double)state->ticks;
    for (uint32_t i = 0; i < CELLS; i++) {
        fill(state, i, state->flow[i]);
    }
}

static void add(const ls_step *step)
{
    furnace_state *state = step->state;
    double total = state->quiet;
    for (uint32_t i = 0; i < CELLS; i++) {
        total += state->level[i];
    }
    state->total = total;
    state->ticks++;
}

static __attribute__((noinline)) void count_alarm(furnace_state *state)
{
    state->alarms += 1;
}

/* The total after the first tick is 17.2, more or less. */
static void watch(const ls_step *step)
{
    furnace_state *state = step->state;
    if (state->total > 17.2) {
        count_alarm(state);
    }
}

#ifdef FURNACE_READS_BYTE
static __attribute__((noinline)) double read_what_is_not_set(void)
{
    uint8_t bytes[64];
    uint8_t *volatile block = malloc(64);
    __asm__ __volatile__("" : "=m"(bytes)); /* for the compiler they are set */
    double value = block ? block[FURNACE_READS_BYTE] : 0;
    value += FURNACE_READS_BYTE < 64 ? bytes[FURNACE_READS_BYTE % 64] : 0;
    free(block);
    return value;
}
#endif

/* Where nothing else has been asked for, nothing that a right build does not do. */
static void spoil(const ls_step *step)
{
    furnace_state *state = step->state;
    (void)state;
#ifdef FURNACE_READS_TOO_FAR
    read_too_far();
#endif
#ifdef FURNACE_SHIFTS_TOO_FAR
    shift_too_far();
#endif
#ifdef FURNACE_READS_BYTE
    state->quiet += read_what_is_not_set();
#endif
#ifdef FURNACE_COUNTS_WORKERS
    state->quiet += step->tuning->workers - 1;
#endif
}

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void);

const ls_simulation *lockstep_simulation(void)
{
    static const ls_pass passes[] = {
        {"pump", pump}, {"carry", carry}, {"add", add}, {"watch", watch}, {"spoil", spoil}};
    static const ls_simulation simulation = {.abi = LS_SIMULATION_ABI,
                                             .size = sizeof(ls_simulation),
                                             .version = 1,
                                             .name = "furnace",
                                             .summary = "floating point, in several builds",
                                             .default_tick_rate_hz = 60,
                                             .default_players = 2,
                                             .players_max = 2,
                                             .input_bytes_max = 2,
                                             .workers_max = WORKERS,
                                             .passes = passes,
                                             .pass_count = sizeof passes / sizeof passes[0],
                                             .state_bytes = state_bytes,
                                             .init = init,
                                             .fields = fields};
    return &simulation;
}
