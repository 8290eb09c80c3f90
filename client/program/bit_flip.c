#include "lockstep/client/program/bit_flip.h"

#include <inttypes.h>

/* A block with a schema is all of the state; of an engine's block, which holds pointers, nothing
 * may be changed but what its save has. False: it cannot save, or refuses what was changed. */
static bool flip_saved_bit(ls_sim_instance *instance, uint64_t *bit)
{
    size_t head = ls_sim_instance_save_head_bytes(instance);
    size_t size = ls_sim_instance_save_bytes(instance);
    uint8_t *saved = size > head ? ls_allocate(ls_allocator_heap(), size) : NULL;
    bool is_flipped = saved && ls_sim_instance_save(instance, saved) == LS_OK;
    if (is_flipped) {
        *bit %= 8 * (size - head);
        saved[head + *bit / 8] ^= (uint8_t)(1u << *bit % 8);
        is_flipped =
            ls_sim_instance_load(instance, saved, size, ls_sim_instance_tick(instance)) == LS_OK;
    }
    ls_release(ls_allocator_heap(), saved);
    return is_flipped;
}

void ls_bit_flip_apply(ls_bit_flip *flip, ls_sim_instance *instance, const ls_log *log)
{
    if (flip->tick == 0 || ls_sim_instance_tick(instance) != flip->tick) {
        return;
    }
    uint64_t bit = flip->bit;
    bool is_flipped = flip_saved_bit(instance, &bit);
    if (flip->has_told) {
        return; /* a step that was guessed is made again, and the bit with it */
    }
    flip->has_told = true;
    if (is_flipped) {
        ls_log_line(log, LS_LOG_WARNING,
                    "flipped bit %" PRIu64 " of the state at tick %" PRIu32 ", as asked", bit,
                    flip->tick);
    } else {
        ls_log_line(log, LS_LOG_WARNING,
                    "--flip-bit: the simulation cannot save its state, or does not load the state "
                    "with bit %" PRIu64 " flipped; nothing was changed",
                    bit);
    }
}
