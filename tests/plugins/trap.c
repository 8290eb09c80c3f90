/* Trap: counts, and does something awful when a parameter asks for it: everywhere, or in rerun
 * helpers alone. */
#define _GNU_SOURCE
#include "lockstep/tests/plugins/minimal.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    TRAP_NONE,
    TRAP_CRASH, /* in the tick of the second parameter */
    TRAP_HANG,  /* likewise */
    TRAP_CRASH_IN_INIT,
    TRAP_EXIT,         /* likewise in the tick */
    TRAP_PRINT,        /* in every tick, to standard output */
    TRAP_SEED,         /* is no trap: the state depends on the process that loaded the plug-in */
    TRAP_HEAP,         /* likewise: on bytes of the heap that were not set */
    TRAP_ORDER,        /* likewise: on the order of addresses that malloc gives */
    TRAP_TIME,         /* likewise: on the time */
    TRAP_UNSET,        /* likewise: on a variable of the environment that is not there */
    TRAP_COIN,         /* likewise: on chance, after it went well for a while */
    TRAP_CRASH_IF_SET, /* in the tick, where the environment has LS_TEST_TRAP */
    TRAP_TOGGLE,       /* is no trap: the state depends on a static that every other call turns */
    TRAP_BLINK,        /* likewise: for one tick on whether the process has loaded the plug-in */
    TRAP_GROWN,        /* likewise: on what realloc added to a block */
    TRAP_ALIGNED,      /* likewise: on bytes that were not set of a block at a page */
    TRAP_TWINS,        /* likewise: on whether two such bytes are equal */
    TRAP_PAST_END,     /* likewise: on what lies behind a block */
    TRAP_DEEP,         /* likewise: on bytes that were not set far down on the stack */
    TRAP_DAY,          /* likewise: on the day */
    TRAP_THREADS,      /* likewise: on which thread is first, most often the one that began so */
    TRAP_LOST,         /* likewise: on whether two threads meet that count without a lock */
};

#define BLOCKS 12
#define WORDS 512
#define DEEP_WORDS 50000

static const ls_param params[] = {
    LS_PARAM_INTEGER_OF("trap", "", "which one", TRAP_NONE, TRAP_NONE, TRAP_LOST),
    LS_PARAM_INTEGER_OF("tick", "ticks", "when", 0, 0, UINT32_MAX),
    LS_PARAM_INTEGER_OF("ballast", "MiB", "of state beside the ships, of which little changes", 0,
                        0, 64)};

static size_t ballast_words(const ls_sim_config *config)
{
    return ((size_t)config->params[2] << 20) / sizeof(uint64_t);
}

static size_t state_bytes(const ls_sim_config *config)
{
    return sizeof(minimal_state) + ballast_words(config) * sizeof(uint64_t);
}

static uint32_t trap_fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    uint32_t words = (uint32_t)ballast_words(config);
    const ls_field ballast = {"ballast", "", LS_FIELD_U64, words, 1, sizeof(minimal_state), 0};
    if (words > 0 && capacity >= 4) {
        out[3] = ballast;
    }
    if (capacity >= 3) {
        out[0] = MINIMAL_SHIP_FIELD(x, LS_FIELD_FIXED, "m");
        out[1] = MINIMAL_SHIP_FIELD(angle, LS_FIELD_ANGLE, "deg");
        out[2] = MINIMAL_SHIP_FIELD(fuel, LS_FIELD_U32, "kg");
    }
    return words > 0 ? 4 : 3;
}

/* A store to nowhere would be a finding of UndefinedBehaviorSanitizer and no signal. */
static void crash(void)
{
    raise(SIGSEGV);
}

#ifdef TRAP_SPRINGS_IN_HELPERS
/* A helper has the command line of its parent, and a heap of its own kind. */
static bool is_in_helper(void)
{
    const char *tunables = getenv("GLIBC_TUNABLES");
    return tunables && strstr(tunables, "glibc.malloc.tcache_count=0");
}
#endif

static int64_t trap_of(const ls_sim_config *config)
{
#ifdef TRAP_SPRINGS_IN_HELPERS
    if (!is_in_helper()) {
        return TRAP_NONE;
    }
#endif
    return config->params[0];
}

static pid_t loaded_by;

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    (void)state;
    loaded_by = loaded_by == 0 ? getpid() : loaded_by;
    if (trap_of(config) == TRAP_CRASH_IN_INIT) {
        crash();
    }
    return LS_OK;
}

/* Not inlined, so that no compiler sees that it has not been set. */
__attribute__((noinline)) static uint32_t number_in(volatile uint32_t *block)
{
    return *block;
}

static uint32_t unset_number(int64_t trap)
{
    uint32_t deep[DEEP_WORDS];
    uint32_t *block = malloc(WORDS * sizeof *block);
    uint32_t *grown = realloc(block, 2 * WORDS * sizeof *block);
    uint32_t *aligned = aligned_alloc(4096, 2 * WORDS * sizeof *block);
    uint32_t number = 0;
    if (trap == TRAP_GROWN) {
        number = number_in(&grown[WORDS + 1]);
    } else if (trap == TRAP_ALIGNED) {
        number = number_in(&aligned[WORDS]);
    } else if (trap == TRAP_TWINS) {
        number = number_in(&aligned[0]) == number_in(&aligned[1]);
    } else if (trap == TRAP_PAST_END) {
        number = number_in(&aligned[2 * WORDS]);
    } else {
        number = number_in(&deep[0]);
    }
    free(aligned);
    free(grown);
    return number;
}

static uint32_t order_of_blocks(void)
{
    uint32_t order = 0;
    char *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(48);
        order = order * 2 + (i > 0 && (uintptr_t)blocks[i - 1] < (uintptr_t)blocks[i]);
    }
    for (int i = 0; i < BLOCKS; i++) {
        free(blocks[i]);
    }
    return order;
}

static uint32_t arrived;
static pthread_mutex_t arrival = PTHREAD_MUTEX_INITIALIZER;

static void *arrive(void *user)
{
    pthread_mutex_lock(&arrival);
    arrived = arrived * 4 + *(uint32_t *)user;
    pthread_mutex_unlock(&arrival);
    return NULL;
}

static uint32_t order_of_threads(void)
{
    uint32_t numbers[3] = {1, 2, 3};
    pthread_t threads[3];
    arrived = 0;
    for (uint32_t i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, arrive, &numbers[i]);
    }
    for (uint32_t i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    return arrived;
}

static atomic_uint counted;

static void *count_some(void *user)
{
    for (uint32_t i = 0; i < 20; i++) {
        uint32_t before = atomic_load_explicit(&counted, memory_order_relaxed);
        sched_yield();
        atomic_store_explicit(&counted, before + 1, memory_order_relaxed);
    }
    return user;
}

static uint32_t count_in_threads(void)
{
    pthread_t threads[2];
    counted = 0;
    for (uint32_t i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, count_some, NULL);
    }
    for (uint32_t i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    return counted;
}

static uint32_t time_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)now.tv_nsec;
}

/* Three calls are the runs from the snapshot that come first. */
static uint32_t toss(void)
{
    static uint32_t calls;
    return ++calls <= 3 ? 0 : (uint32_t)getpid() * 2654435761u >> calls % 8;
}

static uint32_t toggle(void)
{
    static uint32_t calls;
    return ++calls % 2;
}

static void shift_ballast(const ls_step *step)
{
    size_t words = ballast_words(step->config);
    uint64_t *ballast = (uint64_t *)((minimal_state *)step->state + 1);
    if (words > 0) {
        ballast[step->inputs->tick * 5003u % words] += step->inputs->tick;
    }
}

static void spring(const ls_step *step)
{
    shift_ballast(step);
    int64_t trap = trap_of(step->config);
    if (trap == TRAP_PRINT) {
        printf("tick %u\n", step->inputs->tick);
    }
    if (trap == TRAP_BLINK) {
        ((minimal_state *)step->state)->ships[1].fuel =
            step->inputs->tick == step->config->params[1] && getpid() == loaded_by;
    }
    if (step->inputs->tick != step->config->params[1]) {
        return;
    }
    if (trap == TRAP_SEED) {
        ((minimal_state *)step->state)->ships[1].fuel = (uint32_t)getpid();
    }
    if (trap == TRAP_UNSET && !getenv("LS_TEST_TRAP")) {
        ((minimal_state *)step->state)->ships[1].fuel = 77;
    }
    if (trap == TRAP_HEAP) {
        uint32_t *block = malloc(3 * sizeof *block);
        ((minimal_state *)step->state)->ships[1].fuel = block ? number_in(block) : 0;
        free(block);
    }
    if (trap == TRAP_DAY) {
        ((minimal_state *)step->state)->ships[1].fuel = (uint32_t)(time(NULL) / 86400);
    }
    if (trap == TRAP_THREADS) {
        ((minimal_state *)step->state)->ships[1].fuel = order_of_threads();
    }
    if (trap == TRAP_LOST) {
        ((minimal_state *)step->state)->ships[1].fuel = count_in_threads();
    }
    if (trap >= TRAP_GROWN && trap <= TRAP_DEEP) {
        ((minimal_state *)step->state)->ships[1].fuel = unset_number(trap);
    }
    if (trap == TRAP_ORDER || trap == TRAP_TIME) {
        ((minimal_state *)step->state)->ships[1].fuel =
            trap == TRAP_ORDER ? order_of_blocks() : time_now();
    }
    if (trap == TRAP_TOGGLE) {
        ((minimal_state *)step->state)->ships[1].fuel = toggle();
    }
    if (trap == TRAP_COIN) {
        ((minimal_state *)step->state)->ships[1].fuel = toss();
    }
    if (trap == TRAP_CRASH || (trap == TRAP_CRASH_IF_SET && getenv("LS_TEST_TRAP"))) {
        crash();
    }
    if (trap == TRAP_EXIT) {
        exit(3);
    }
    for (volatile int i = 1; trap == TRAP_HANG && i;) {
    }
}

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void)
{
    static const ls_pass passes[] = {{"count", minimal_run}, {"spring", spring}};
    static ls_simulation simulation;
    simulation = minimal_simulation("trap", trap_fields);
    simulation.params = params;
    simulation.param_count = 3;
    simulation.state_bytes = state_bytes;
    simulation.passes = passes;
    simulation.pass_count = 2;
    simulation.init = init;
    return &simulation;
}
