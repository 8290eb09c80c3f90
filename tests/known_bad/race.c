/* Cause 11: workers add to one sum, each as soon as it can, and the order decides. */
#include "lockstep/tests/known_bad/game.h"

#include <pthread.h>

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
