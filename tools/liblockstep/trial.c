#include "lockstep/common/diagnosis/state_difference.h"
#include "lockstep/common/diagnosis/step_noise.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/tools/liblockstep/handle.h"

#include <inttypes.h>
#include <string.h>

enum {
    HELD_TICKS = 8, /* an input is held for about so many */
};

/* So far apart are two addresses of one heap or one stack. Where these lie below it, as in a
 * program that is not position-independent, any number might be one. */
#define ADDRESSES_NEAR (UINT64_C(1) << 32)

/* One game twice: `b` gets every state of `a` by a save, and where nothing is set it finds the
 * bytes of `a` with every bit turned. */
typedef struct trial {
    ls_sim_instance *a;
    ls_sim_instance *b;
    ls_step_noise noise_a;
    ls_step_noise noise_b;
    uint8_t *save; /* NULL: of an engine that cannot save; `b` goes on from its own state */
    size_t save_room;
    uint8_t *inputs; /* of all slots */
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_rng rng;
} trial;

/* ---- what differs ---- */

/* The aligned eight bytes that an element lies in, if a pointer can be there. */
static uint64_t word_at(const ls_sim_instance *instance, const ls_schema_place *place)
{
    uint64_t word = 0;
    size_t offset = place->offset / sizeof word * sizeof word;
    bool is_wide = ls_field_type_bytes(place->field->type) == sizeof word;
    if ((is_wide || place->field->type == LS_FIELD_U8) &&
        offset + sizeof word <= ls_sim_instance_state_bytes(instance)) {
        memcpy(&word, (const uint8_t *)ls_sim_instance_view(instance) + offset, sizeof word);
    }
    return word;
}

static bool is_near(uint64_t word, const void *known)
{
    uint64_t address = (uint64_t)(uintptr_t)known;
    uint64_t apart = word > address ? word - address : address - word;
    return address >= ADDRESSES_NEAR && apart < ADDRESSES_NEAR;
}

/* Of the heap, where the blocks lie as well, or of the stack. */
static bool is_address(const trial *self, uint64_t word)
{
    return is_near(word, ls_sim_instance_view(self->a)) || is_near(word, self->inputs) ||
           is_near(word, &word);
}

static bool is_place_of_address(const trial *self, const ls_schema_place *place)
{
    uint64_t a = word_at(self->a, place), b = word_at(self->b, place);
    return a != b && is_address(self, a) && is_address(self, b);
}

static const char *cause_of(const trial *self, bool is_init, const ls_state_difference *difference)
{
    const uint8_t *a = ls_sim_instance_view(self->a), *b = ls_sim_instance_view(self->b);
    bool is_noise = difference->place_count > 0;
    for (uint32_t i = 0; i < difference->place_count; i++) {
        size_t offset = difference->places[i].offset;
        if (is_place_of_address(self, &difference->places[i])) {
            return "an address: a state holds no pointers, so no std::string, no std::vector and "
                   "no object of a garbage collector; use indices, and arrays of a fixed size";
        }
        is_noise = is_noise && (a[offset] ^ b[offset]) == UINT8_MAX;
    }
    return is_noise  ? "memory that was never set: a local variable, or a gap between the members "
                       "of a struct that is copied"
           : is_init ? "init must make the same state whenever it is called: no time, no random "
                       "number but of the seed, no variable that is kept, no memory that is not set"
                     : "a step must depend on the state and the inputs alone: no time, no random "
                       "number but of the state, no variable that is kept, no memory that is not "
                       "set, no order of addresses or of a hash table";
}

static ls_status name_difference(const trial *self, bool is_init, ls_text *why)
{
    const ls_schema *schema = ls_sim_instance_schema(self->a);
    ls_state_difference difference = {0};
    if (schema) {
        const void *a = ls_sim_instance_view(self->a), *b = ls_sim_instance_view(self->b);
        ls_state_difference_find(schema, a, b, &difference);
        ls_difference_text text = ls_state_difference_text(&difference.places[0], a, b);
        ls_text_add(why, "%s is %s, then %s", text.name, text.a, text.b);
    }
    if (difference.elements > 1) {
        ls_text_add(why, " (and %" PRIu64 " more)", difference.elements - 1);
    }
    ls_text_add(why, "%s%s", schema ? "; " : "", cause_of(self, is_init, &difference));
    return LS_DESYNCED;
}

static bool is_equal(trial *self)
{
    return ls_sim_instance_hash(self->a) == ls_sim_instance_hash(self->b);
}

/* ---- the two runs ---- */

typedef struct first_state {
    ls_sim_instance *instance;
    ls_status status;
} first_state;

static void make_first(const ls_step *step)
{
    first_state *first = step->state;
    first->status = ls_sim_instance_restart(first->instance);
}

static ls_status restart(ls_sim_instance *instance, ls_step_noise *noise)
{
    static const ls_pass init = {"init", make_first};
    first_state first = {.instance = instance};
    ls_step_noise_run_pass(noise, &(ls_step){.state = &first}, &init);
    return first.status;
}

static ls_status compare_first(trial *self, ls_text *why)
{
    ls_status status = restart(self->a, &self->noise_a);
    LS_THEN(status, restart(self->b, &self->noise_b));
    if (status == LS_OK && !is_equal(self)) {
        (void)ls_fail(status, why, "init makes another state when it is called again: ");
        return name_difference(self, true, why);
    }
    return status;
}

/* Any bytes of any size, as another machine may send them, each held for some ticks. */
static void choose_inputs(trial *self, ls_tick tick)
{
    uint32_t max = ls_sim_instance_simulation(self->a)->input_bytes_max;
    for (uint32_t slot = 0; slot < ls_sim_instance_config(self->a)->players; slot++) {
        uint8_t *bytes = self->inputs + (size_t)slot * max;
        ls_slot_input *input = &self->slots[slot];
        input->events = tick == 0 ? LS_EVENT_JOINED : 0;
        if (tick > 0 && ls_rng_below(&self->rng, HELD_TICKS) > 0) {
            continue;
        }
        bool is_whole = ls_rng_below(&self->rng, 4) > 0;
        input->bytes = bytes;
        input->size = is_whole ? max : ls_rng_below(&self->rng, max + 1);
        for (uint32_t i = 0; i < input->size; i++) {
            bytes[i] = (uint8_t)ls_rng_next(&self->rng);
        }
    }
}

/* The save of an engine may grow from tick to tick. */
static ls_status copy_state(trial *self, ls_tick tick)
{
    size_t bytes = ls_sim_instance_save_bytes(self->a);
    if (bytes > self->save_room) {
        ls_release(ls_allocator_heap(), self->save);
        self->save = ls_allocate(ls_allocator_heap(), bytes);
        self->save_room = self->save ? bytes : 0;
    }
    if (bytes == 0 || !self->save) {
        return bytes == 0 ? LS_OK : LS_NO_MEMORY;
    }
    ls_status status = ls_sim_instance_save(self->a, self->save);
    LS_THEN(status, ls_sim_instance_load(self->b, self->save, bytes, tick));
    return status;
}

static ls_status step_both(trial *self, ls_text *why)
{
    ls_tick tick = ls_sim_instance_tick(self->a);
    ls_status status = copy_state(self, tick);
    if (status != LS_OK) {
        return ls_fail(status, why, "state %u is saved, and cannot be loaded", tick);
    }
    choose_inputs(self, tick);
    const ls_tick_inputs inputs = {
        .tick = tick, .slot_count = ls_sim_instance_config(self->a)->players, .slots = self->slots};
    ls_step_noise_step(&self->noise_a, self->a, &inputs);
    ls_step_noise_step(&self->noise_b, self->b, &inputs);
    if (!is_equal(self)) {
        (void)ls_fail(status, why,
                      "the step of tick %u makes another state when it is called again: ", tick);
        return name_difference(self, false, why);
    }
    return LS_OK;
}

static ls_status open_trial(trial *self, const ls_simulation *simulation,
                            const ls_sim_config *config, ls_text *why)
{
    const ls_allocator *heap = ls_allocator_heap();
    ls_status status = ls_sim_instance_create(simulation, config, heap, &self->a, why);
    LS_THEN(status, ls_sim_instance_create(simulation, config, heap, &self->b, why));
    if (status == LS_OK) {
        self->inputs = ls_allocate(heap, (size_t)config->players * simulation->input_bytes_max + 1);
        status = self->inputs ? LS_OK : LS_NO_MEMORY;
    }
    return status;
}

ls_status lockstep_trial(const ls_simulation *simulation, const ls_sim_config *config,
                         uint32_t ticks, ls_text *why)
{
    trial self = {.noise_a = {.kind = LS_NOISE_RANDOM},
                  .noise_b = {.kind = LS_NOISE_OPPOSITE},
                  .rng = ls_rng_make(config->seed, 1)};
    ls_status status = open_trial(&self, simulation, config, why);
    LS_THEN(status, compare_first(&self, why));
    for (uint32_t i = 0; status == LS_OK && i < ticks; i++) {
        status = step_both(&self, why);
    }
    ls_sim_instance_destroy(self.a);
    ls_sim_instance_destroy(self.b);
    ls_release(ls_allocator_heap(), self.save);
    ls_release(ls_allocator_heap(), self.inputs);
    return status;
}
