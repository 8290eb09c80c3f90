/* Chance decides which of two threads is first (cause 11). A plug-in is built of each part, which
 * its name selects. */
#define _DEFAULT_SOURCE
#include "lockstep/tests/known_bad/game.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ==== race ==== */

/* Cause 11: workers add to one sum, each as soon as it can, and the order decides. */
#ifdef GAME_IS_RACE

enum {
    WORKERS_MAX = 8
};

typedef struct worker {
    pthread_t thread;
    game_state *state;
    pthread_mutex_t *lock;
    uint32_t first;
    uint32_t stride;
} worker;

/* Not the same in any order: that is the fault. */
static void add(uint64_t *sum, const game_unit *unit)
{
    *sum = GAME_FAULTY ? *sum * 31 + unit->target : *sum + unit->target;
}

static void *work(void *user)
{
    worker *self = user;
    for (uint32_t i = self->first; i < GAME_UNITS; i += self->stride) {
        pthread_mutex_lock(self->lock);
        add(&self->state->score, &self->state->units[i]);
        pthread_mutex_unlock(self->lock);
    }
    return NULL;
}

static void count(const ls_step *step)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    worker workers[WORKERS_MAX] = {{0}};
    uint32_t started = step->tuning->workers;
    for (uint32_t i = 0; i < started; i++) {
        workers[i] = (worker){.state = step->state, .lock = &lock, .first = i, .stride = started};
        if (i > 0 && pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            workers[i].stride = 0;
            work(&(worker){.state = step->state, .lock = &lock, .first = i, .stride = started});
        }
    }
    work(&workers[0]);
    for (uint32_t i = 1; i < started; i++) {
        if (workers[i].stride > 0) {
            pthread_join(workers[i].thread, NULL);
        }
    }
}

GAME_PASSES("count", count);
GAME_PLUGIN("race", .fields = game_fields, .init = game_init, .workers_max = WORKERS_MAX)

#endif

/* ==== rare_race ==== */

/* Cause 11, at a rate: on one tick of GAME_ONE_IN the bonus is another one. Which tick it is, real
 * chance decides, as who is first of two threads does: the system's random bytes stand for that. */
#ifdef GAME_IS_RARE_RACE

static void settle(const ls_step *step)
{
    game_state *state = step->state;
    uint64_t chance = 1;
    if (getentropy(&chance, sizeof chance) == 0 && chance % GAME_ONE_IN == 0) {
        state->bonus += GAME_FAULTY * (uint32_t)(1 + chance / GAME_ONE_IN % 1000);
    }
    state->bonus += 2;
}

GAME_PASSES("settle", settle);
GAME_PLUGIN("rare_race", .fields = game_fields, .init = game_init)

#endif

/* ==== odd_run ==== */

/* Cause 11, planted: the run of one number, counted in the file that ODD_RUNS names, comes out
 * otherwise at tick 7, and no other one does. */
#ifdef GAME_IS_ODD_RUN

static bool is_odd;

/* A byte more in the file with each init, of which every run begins with two: run 2 is the
 * reference, run 4 the next one. */
static ls_status count_run(const ls_sim_config *config, void *block, ls_text *why)
{
    const char *path = getenv("ODD_RUNS");
    const char *odd = getenv("ODD_RUN");
    struct stat runs = {0};
    int file = path ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
    if (file >= 0 && write(file, "+", 1) == 1 && fstat(file, &runs) == 0) {
        is_odd = odd && runs.st_size == strtol(odd, NULL, 10);
    }
    if (file >= 0) {
        close(file);
    }
    return game_init(config, block, why);
}

static void settle(const ls_step *step)
{
    game_state *state = step->state;
    state->bonus += GAME_FAULTY && is_odd && step->inputs->tick == 7 ? 2 : 1;
}

GAME_PASSES("settle", settle);
GAME_PLUGIN("odd_run", .fields = game_fields, .init = count_run)

#endif
