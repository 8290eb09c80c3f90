#include "lockstep/common/simulation/save_fault.h"

#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/simulation/save_image.h"

/* " (cpu.accumulator)", where the engine names its regions. */
static void add_region(const ls_sim_instance *instance, size_t byte, ls_text *out)
{
    char name[2 * LS_NAME_BYTES_MAX];
    const ls_schema *schema = ls_sim_instance_image_schema(instance);
    size_t at = LS_SAVE_HEAD_BYTES + byte;
    if (ls_simulation_names_saves(ls_sim_instance_simulation(instance)) && schema &&
        at < ls_schema_state_bytes(schema)) {
        ls_schema_place place = ls_schema_at(schema, at);
        ls_schema_place_name(&place, name, sizeof name);
        ls_text_add(out, " (%s)", name);
    }
}

void ls_save_fault_describe(const ls_sim_instance *instance, const ls_save_pair *pair, ls_text *out)
{
    static const char returns[] = "the simulation's save does not come back as it was loaded";
    size_t head = ls_sim_instance_save_head_bytes(instance);
    size_t size = pair->saved_bytes - head;
    size_t shared = LS_MIN(pair->saved_bytes, pair->again_bytes);
    size_t first = head;
    while (first < shared && pair->saved[first] == pair->again[first]) {
        first++;
    }
    if (first < shared) {
        ls_text_set(out, "%s: first differing byte %zu of %zu", returns, first - head, size);
        add_region(instance, first - head, out);
        ls_text_add(out, " was %u, and is %u", pair->saved[first], pair->again[first]);
    } else if (pair->saved_bytes != pair->again_bytes) {
        ls_text_set(out, "%s: it had %zu bytes, and has %zu", returns, size,
                    pair->again_bytes - head);
    } else {
        ls_text_set(out,
                    "the simulation's save leaves out what its hash reads: loaded and saved again, "
                    "it is the same %zu bytes",
                    size);
    }
}

void ls_save_fault_add(const ls_sim_instance *instance, const uint8_t *saved,
                       const ls_allocator *allocator, ls_text *why)
{
    ls_text fault;
    size_t again_bytes = ls_sim_instance_save_bytes(instance);
    uint8_t *again = ls_sim_instance_schema(instance) ? NULL : ls_allocate(allocator, again_bytes);
    if (again && ls_sim_instance_save(instance, again) == LS_OK) {
        size_t saved_bytes = ls_sim_instance_save_head_bytes(instance) + (size_t)ls_load_u64(saved);
        const ls_save_pair pair = {saved, saved_bytes, again, again_bytes};
        ls_save_fault_describe(instance, &pair, &fault);
        ls_text_add(why, "; %s; next: run lockstep-synctest GAME.so --only save,join", fault.bytes);
    }
    ls_release(allocator, again);
}
