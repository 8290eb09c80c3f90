/* A thread that is started when the plug-in is loaded and works for every step, as the runtimes of
 * Go and .NET have them: a copy of a process that has loaded it has no such thread. */
#include "lockstep/tests/known_bad/sound.h"

#include <pthread.h>

typedef struct sums_state {
    uint64_t sum;
} sums_state;

/* Of all blocks; a step has the whole of it for itself. */
static struct desk {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_asked;
    uint64_t value;
} desk = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *serve(void *user)
{
    (void)user;
    pthread_mutex_lock(&desk.lock);
    for (;;) {
        while (!desk.is_asked) {
            pthread_cond_wait(&desk.changed, &desk.lock);
        }
        desk.value = desk.value * 31 + 7;
        desk.is_asked = false;
        pthread_cond_broadcast(&desk.changed);
    }
    return NULL;
}

__attribute__((constructor)) static void start(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, serve, NULL) == 0) {
        pthread_detach(thread);
    }
}

static void add(const ls_step *step)
{
    sums_state *state = step->state;
    pthread_mutex_lock(&desk.lock);
    desk.value = state->sum + sound_inputs(step);
    desk.is_asked = true;
    pthread_cond_broadcast(&desk.changed);
    while (desk.is_asked) {
        pthread_cond_wait(&desk.changed, &desk.lock);
    }
    state->sum = desk.value;
    pthread_mutex_unlock(&desk.lock);
}

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    return ls_fields_copy(&LS_FIELD_OF(sums_state, sum, LS_FIELD_U64, ""), 1, out, capacity);
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    (void)config;
    (void)state;
    return LS_OK;
}

SOUND_PLUGIN("sound_thread", add, sizeof(sums_state), .fields = fields, .init = init)
