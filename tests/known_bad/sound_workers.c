/* Worker threads, each with a place of its own by index; the sums are added up in their order. */
#include "lockstep/tests/known_bad/sound.h"

#include <pthread.h>

#define PARTS 8u
#define CELLS 512u

typedef struct field_state {
    double heat[CELLS];
    double sums[PARTS];
    double sum;
} field_state;

typedef struct part {
    pthread_t thread;
    field_state *state;
    uint32_t first; /* of the parts, and in steps of `stride` */
    uint32_t stride;
    uint32_t inputs;
} part;

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {LS_FIELD_ARRAY_OF(field_state, heat, CELLS, LS_FIELD_F64, "K"),
                             LS_FIELD_ARRAY_OF(field_state, sums, PARTS, LS_FIELD_F64, "K"),
                             LS_FIELD_OF(field_state, sum, LS_FIELD_F64, "K")};
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    (void)config;
    (void)state;
    return LS_OK;
}

static void *work(void *user)
{
    const part *self = user;
    for (uint32_t p = self->first; p < PARTS; p += self->stride) {
        double sum = 0.0;
        for (uint32_t i = p * (CELLS / PARTS); i < (p + 1) * (CELLS / PARTS); i++) {
            self->state->heat[i] = self->state->heat[i] * 0.75 + (self->inputs + i) % 100 / 3.0;
            sum += self->state->heat[i];
        }
        self->state->sums[p] = sum;
    }
    return NULL;
}

static void warm(const ls_step *step)
{
    field_state *state = step->state;
    part parts[PARTS] = {{0}};
    bool is_started[PARTS] = {false};
    uint32_t count = step->tuning->workers;
    for (uint32_t i = 0; i < count; i++) {
        parts[i] = (part){
            .state = state, .first = i, .stride = count, .inputs = sound_inputs(step) % 1000};
        is_started[i] = i > 0 && pthread_create(&parts[i].thread, NULL, work, &parts[i]) == 0;
        if (!is_started[i]) {
            work(&parts[i]);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (is_started[i]) {
            pthread_join(parts[i].thread, NULL);
        }
    }
    state->sum = 0.0;
    for (uint32_t p = 0; p < PARTS; p++) {
        state->sum += state->sums[p];
    }
}

SOUND_PLUGIN("sound_workers", warm, sizeof(field_state), .fields = fields, .init = init,
             .workers_max = PARTS)
