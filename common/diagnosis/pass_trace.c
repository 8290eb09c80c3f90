#include "lockstep/common/diagnosis/pass_trace.h"

#include <string.h>

typedef struct tracing {
    ls_sim_instance *instance;
    ls_step_noise *noise;
    ls_pass_trace *trace;
    ls_pass_state *kept;
} tracing;

/* A byte of writers: 1 + the first pass, whether later ones wrote too, and whether all that was in
 * the step that runs now. */
enum {
    FIRST_WRITER = 0x3f,
    LATER_WRITERS = 0x40,
    WRITTEN_NOW = 0x80,
};

_Static_assert(LS_PASSES_MAX < FIRST_WRITER, "every pass has its number among the writers");

uint32_t ls_pass_first_writer(uint8_t writers)
{
    uint32_t first = writers & FIRST_WRITER;
    return first > 0 ? first - 1 : LS_NO_PASS;
}

bool ls_pass_has_later_writers(uint8_t writers)
{
    return (writers & LATER_WRITERS) != 0;
}

static uint8_t add_writer(uint8_t writers, uint32_t pass)
{
    return (uint8_t)(writers & WRITTEN_NOW ? writers | LATER_WRITERS : WRITTEN_NOW | (pass + 1));
}

/* The writers are those of the bytes that the pass has changed, whose state is the one before the
 * next pass then. */
static void note_writer(const tracing *here, uint32_t pass)
{
    ls_pass_state *kept = here->kept;
    if (!kept->is_kept || ls_sim_instance_image(here->instance, kept->after) != LS_OK) {
        kept->is_kept = false;
        return;
    }
    size_t size = ls_sim_instance_image_bytes(here->instance);
    for (size_t i = 0; i < size; i++) {
        bool is_changed = kept->after[i] != kept->before[i];
        kept->bytes[i] = is_changed ? add_writer(kept->bytes[i], pass) : kept->bytes[i];
    }
    uint8_t *after = kept->after;
    kept->after = kept->before;
    kept->before = after;
}

static void begin_writers(const ls_sim_instance *instance, ls_pass_state *kept)
{
    size_t size = ls_sim_instance_image_bytes(instance);
    kept->is_kept = ls_sim_instance_image(instance, kept->before) == LS_OK;
    for (size_t i = 0; i < size; i++) {
        kept->bytes[i] &= (uint8_t)~WRITTEN_NOW;
    }
}

static void run_pass(void *user, const ls_step *step, const ls_pass *pass, uint32_t index)
{
    const tracing *here = user;
    ls_step_noise_run_pass(here->noise, step, pass);
    here->trace->state_hashes[index] = ls_sim_instance_hash(here->instance);
    here->trace->pass_count = index + 1;
    if (here->kept && here->kept->pass == index) {
        here->kept->is_kept = ls_sim_instance_image(here->instance, here->kept->bytes) == LS_OK;
    } else if (here->kept && here->kept->pass == LS_PASS_OF_WRITERS) {
        note_writer(here, index);
    }
}

void ls_pass_trace_step(ls_sim_instance *instance, const ls_tick_inputs *inputs,
                        ls_step_noise *noise, ls_pass_state *kept, ls_pass_trace *out)
{
    tracing here = {instance, noise, out, kept};
    const ls_step_watch watch = {run_pass, &here};
    *out = (ls_pass_trace){.tick = inputs->tick, .before = ls_sim_instance_hash(instance)};
    if (kept && kept->pass == LS_PASS_OF_WRITERS) {
        begin_writers(instance, kept);
    }
    ls_sim_instance_step_watched(instance, inputs, &watch);
}

ls_differing_pass ls_pass_trace_compare(const ls_pass_trace *a, const ls_pass_trace *b,
                                        uint32_t *pass)
{
    if (a->pass_count == 0 || a->pass_count != b->pass_count || a->tick != b->tick) {
        return LS_PASS_UNKNOWN;
    }
    if (a->before != b->before) {
        return LS_PASS_BEFORE;
    }
    for (uint32_t i = 0; i < a->pass_count; i++) {
        if (a->state_hashes[i] != b->state_hashes[i]) {
            *pass = i;
            return LS_PASS_AT;
        }
    }
    return LS_PASS_NONE;
}
