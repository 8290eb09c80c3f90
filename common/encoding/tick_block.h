/* Tick block: a run of consecutive closed ticks in few bytes: inputs and events of every slot, each
 * coded against the tick before, then the hashes of the states, where taken. The first tick is
 * coded against nothing, so that a block is read without any other. A reader does not trust its
 * bytes. Never allocates and never compresses.
 *
 * Little-endian: u32 first tick, u32 ticks, u32 bytes of the coded inputs, u32 slots, u64 tick
 * chain behind the last tick; the coded inputs; the state hashes, u64 each, in the order of their
 * ticks. A tick: u8 flags: 1 the state that it makes was hashed, 2 inputs differ from the tick
 * before, 4 there are events. On 2: mask of the slots that differ, then for each, from slot 0:
 * varint 0 and a difference, or varint size + 1 and the bytes. On 4: mask of slots, u8 events each.
 * A mask: a varint for each 32 slots of the block, slot s being bit s % 32. A difference, of inputs
 * that are as long as before: a bit for each byte, lowest first, eight to a byte; then for each bit
 * that is set the XOR of the two bytes, which is not 0. A varint has seven bits a byte, lowest
 * first; the eighth says that more follow. */
#ifndef LOCKSTEP_COMMON_ENCODING_TICK_BLOCK_H
#define LOCKSTEP_COMMON_ENCODING_TICK_BLOCK_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/simulation/simulation.h"

LS_C_BEGIN

#define LS_TICK_BLOCK_HEAD_BYTES 24u

/* The inputs of a tick as the next one is coded against it; events are not. */
typedef struct ls_tick_block_base {
    uint32_t sizes[LS_PLAYERS_MAX];
    uint8_t bytes[LS_PLAYERS_MAX][LS_INPUT_BYTES_MAX];
} ls_tick_block_base;

typedef struct ls_tick_block_writer {
    uint8_t *bytes; /* the caller's */
    size_t capacity;
    size_t end; /* of the coded inputs; state hashes stand at the end of the memory until finish */
    uint32_t slot_count;
    ls_tick first;
    uint32_t count; /* ticks so far */
    uint32_t hash_count;
    ls_tick_block_base base;
} ls_tick_block_writer;

/* The size limit of one tick: memory for one block holds LS_TICK_BLOCK_HEAD_BYTES and this at
 * least. slot_count 1 .. LS_PLAYERS_MAX, input_bytes_max 0 .. LS_INPUT_BYTES_MAX. */
size_t ls_tick_block_tick_bytes(uint32_t slot_count, uint32_t input_bytes_max);

/* Begins a block in `capacity` bytes of the caller's. */
void ls_tick_block_start(ls_tick_block_writer *writer, uint8_t *bytes, size_t capacity,
                         uint32_t slot_count);

/* Adds the next tick; the first one may be any. `state hash` is that of the state that it makes, of
 * tick inputs->tick + 1; 0: not hashed. False when it does not fit: nothing has changed, the block
 * is full. Sizes up to LS_INPUT_BYTES_MAX, events below 256. */
bool ls_tick_block_add(ls_tick_block_writer *writer, const ls_tick_inputs *inputs,
                       uint64_t state_hash);

/* Completes the block: returns its size. `chain` is the tick chain (state_hash.h) behind its last
 * tick. One tick or more has been added. */
size_t ls_tick_block_finish(ls_tick_block_writer *writer, uint64_t chain);

/* The head of a block. */
typedef struct ls_tick_block_head {
    ls_tick first;
    uint32_t count; /* 1 or more; first + count does not wrap */
    uint32_t slot_count;
    uint64_t chain;
} ls_tick_block_head;

typedef struct ls_tick_block_reader {
    ls_tick_block_head head;
    uint32_t input_bytes_max;
    ls_tick next;
    const uint8_t *at;           /* in the coded inputs */
    const uint8_t *end;          /* of them */
    const uint8_t *state_hashes; /* not yet read */
    const uint8_t *hashes_end;
    uint32_t events[LS_PLAYERS_MAX];
    ls_tick_block_base base;
} ls_tick_block_reader;

/* Opens a block that is borrowed while it is read. MALFORMED when its head cannot be, or when it is
 * of other than `slot_count` slots. */
ls_status ls_tick_block_open(ls_tick_block_reader *reader, const uint8_t *bytes, size_t size,
                             uint32_t slot_count, uint32_t input_bytes_max);

/* State hashes that have not been read yet. */
static inline uint64_t ls_tick_block_hashes(const ls_tick_block_reader *reader)
{
    return (uint64_t)(reader->hashes_end - reader->state_hashes) / 8;
}

/* The next tick, in order: its inputs in slots[], borrowed until the next call, and its state hash
 * or 0. NOT_FOUND behind the last one, if by then every byte was read; MALFORMED otherwise, and
 * from then on. */
ls_status ls_tick_block_next(ls_tick_block_reader *reader, ls_slot_input slots[LS_PLAYERS_MAX],
                             ls_tick_inputs *out, uint64_t *state_hash);

LS_C_END

#endif
