#include "lockstep/common/simulation/tick_chain.h"

#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/hash.h"

enum {
    HEAD_BYTES = 12,
    SLOT_BYTES = 12
};

LS_TICK_CODE uint64_t ls_tick_chain_next(uint64_t chain, const ls_tick_inputs *inputs)
{
    uint8_t bytes[HEAD_BYTES + SLOT_BYTES * LS_PLAYERS_MAX];
    ls_store_u64(bytes, chain);
    ls_store_u32(bytes + 8, inputs->tick);
    uint8_t *end = bytes + HEAD_BYTES;
    for (uint32_t slot = 0; slot < inputs->slot_count; slot++) {
        const ls_slot_input *input = &inputs->slots[slot];
        ls_store_u32(end, input->size << 8 | input->events);
        ls_store_u64(end + 4, ls_hash_bytes(input->bytes, input->size, 0));
        end += SLOT_BYTES;
    }
    return ls_hash_bytes(bytes, (size_t)(end - bytes), 0);
}
