#include "lockstep/common/encoding/tick_block.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"

#include <string.h>

enum {
    FLAG_HASHED = 1,
    FLAG_CHANGED = 2,
    FLAG_EVENTS = 4,
    FLAGS = FLAG_HASHED | FLAG_CHANGED | FLAG_EVENTS,

    VARINT_BYTES_MAX = 5,
    STATE_HASH_BYTES = 8,
    EVENTS_MAX = 0xff,
};

/* ---- writing ---- */

size_t ls_tick_block_tick_bytes(uint32_t slot_count, uint32_t input_bytes_max)
{
    size_t slot = 2 + (size_t)input_bytes_max + 1; /* size, bytes, events */
    return 1 + 2 * (size_t)VARINT_BYTES_MAX * ls_slot_words(slot_count) + slot_count * slot +
           STATE_HASH_BYTES;
}

void ls_tick_block_start(ls_tick_block_writer *writer, uint8_t *bytes, size_t capacity,
                         uint32_t slot_count)
{
    LS_ASSERT(slot_count >= 1 && slot_count <= LS_PLAYERS_MAX);
    LS_ASSERT(capacity > LS_TICK_BLOCK_HEAD_BYTES);
    writer->bytes = bytes;
    writer->capacity = capacity;
    writer->end = LS_TICK_BLOCK_HEAD_BYTES;
    writer->slot_count = slot_count;
    writer->count = 0;
    writer->hash_count = 0;
    memset(writer->base.sizes, 0, sizeof writer->base.sizes);
}

static size_t varint_bytes(uint32_t value)
{
    size_t bytes = 1;
    while (value >>= 7) {
        bytes++;
    }
    return bytes;
}

static uint8_t *put_varint(uint8_t *at, uint32_t value)
{
    while (value > 0x7f) {
        *at++ = (uint8_t)(value | 0x80u);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

/* The slots of a match of `slot_count` players, 32 in a varint. */
static size_t slots_bytes(const ls_slot_set *slots, uint32_t slot_count)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < ls_slot_words(slot_count); i++) {
        bytes += varint_bytes(slots->words[i]);
    }
    return bytes;
}

static uint8_t *put_slots(uint8_t *at, const ls_slot_set *slots, uint32_t slot_count)
{
    for (uint32_t i = 0; i < ls_slot_words(slot_count); i++) {
        at = put_varint(at, slots->words[i]);
    }
    return at;
}

static const uint8_t *base_bytes(const ls_tick_block_base *base, uint32_t slot)
{
    return base->bytes[slot];
}

static bool is_same(const ls_tick_block_base *base, uint32_t slot, const ls_slot_input *input)
{
    return input->size == base->sizes[slot] &&
           (input->size == 0 || memcmp(input->bytes, base_bytes(base, slot), input->size) == 0);
}

/* Of an input that is as long as the one before: without the leading 0. */
static size_t difference_bytes(const ls_tick_block_base *base, uint32_t slot,
                               const ls_slot_input *input)
{
    size_t bytes = (input->size + 7) / 8;
    for (uint32_t i = 0; i < input->size; i++) {
        bytes += input->bytes[i] != base_bytes(base, slot)[i] ? 1 : 0;
    }
    return bytes;
}

static bool is_shorter_as_difference(const ls_tick_block_base *base, uint32_t slot,
                                     const ls_slot_input *input)
{
    return input->size == base->sizes[slot] &&
           1 + difference_bytes(base, slot, input) < varint_bytes(input->size + 1) + input->size;
}

static uint8_t *put_difference(uint8_t *at, const uint8_t *before, const ls_slot_input *input)
{
    uint8_t *mask = at;
    size_t mask_bytes = (input->size + 7) / 8;
    memset(mask, 0, mask_bytes);
    at += mask_bytes;
    for (uint32_t i = 0; i < input->size; i++) {
        uint8_t difference = (uint8_t)(input->bytes[i] ^ before[i]);
        if (difference != 0) {
            mask[i / 8] = (uint8_t)(mask[i / 8] | 1u << i % 8);
            *at++ = difference;
        }
    }
    return at;
}

static uint8_t *put_input(uint8_t *at, const ls_tick_block_base *base, uint32_t slot,
                          const ls_slot_input *input)
{
    if (is_shorter_as_difference(base, slot, input)) {
        *at++ = 0;
        return put_difference(at, base_bytes(base, slot), input);
    }
    at = put_varint(at, input->size + 1);
    if (input->size > 0) {
        memcpy(at, input->bytes, input->size);
    }
    return at + input->size;
}

/* The size of a coded tick, and which slots have a changed input or an event. */
typedef struct tick_plan {
    ls_slot_set changed;
    ls_slot_set events;
    bool has_changes;
    bool has_events;
    size_t bytes;
} tick_plan;

static tick_plan plan_tick(const ls_tick_block_writer *writer, const ls_tick_inputs *inputs)
{
    tick_plan plan = {.bytes = 1};
    for (uint32_t slot = 0; slot < writer->slot_count; slot++) {
        const ls_slot_input *input = &inputs->slots[slot];
        LS_ASSERT(input->size <= LS_INPUT_BYTES_MAX && input->events <= EVENTS_MAX);
        if (!is_same(&writer->base, slot, input)) {
            ls_slot_set_add(&plan.changed, slot);
            plan.bytes += is_shorter_as_difference(&writer->base, slot, input)
                              ? 1 + difference_bytes(&writer->base, slot, input)
                              : varint_bytes(input->size + 1) + input->size;
        }
        if (input->events != 0) {
            ls_slot_set_add(&plan.events, slot);
            plan.bytes++;
        }
    }
    plan.has_changes = !ls_slot_set_is_empty(plan.changed);
    plan.has_events = !ls_slot_set_is_empty(plan.events);
    plan.bytes += plan.has_changes ? slots_bytes(&plan.changed, writer->slot_count) : 0;
    plan.bytes += plan.has_events ? slots_bytes(&plan.events, writer->slot_count) : 0;
    return plan;
}

static uint8_t *put_changes(uint8_t *at, ls_tick_block_writer *writer, const ls_slot_input *slots,
                            const ls_slot_set *changed)
{
    at = put_slots(at, changed, writer->slot_count);
    LS_EACH_SLOT (slot, *changed) {
        at = put_input(at, &writer->base, slot, &slots[slot]);
        writer->base.sizes[slot] = slots[slot].size;
        if (slots[slot].size > 0) {
            memcpy(writer->base.bytes[slot], slots[slot].bytes, slots[slot].size);
        }
    }
    return at;
}

static uint8_t *put_events(uint8_t *at, const ls_slot_input *slots, uint32_t count,
                           const ls_slot_set *having)
{
    at = put_slots(at, having, count);
    LS_EACH_SLOT (slot, *having) {
        *at++ = (uint8_t)slots[slot].events;
    }
    return at;
}

bool ls_tick_block_add(ls_tick_block_writer *writer, const ls_tick_inputs *inputs,
                       uint64_t state_hash)
{
    LS_ASSERT(inputs->slot_count == writer->slot_count);
    LS_ASSERT(writer->count == 0 || inputs->tick == writer->first + writer->count);
    tick_plan plan = plan_tick(writer, inputs);
    size_t state_hashes =
        ((size_t)writer->hash_count + (state_hash != 0 ? 1 : 0)) * STATE_HASH_BYTES;
    if (plan.bytes + state_hashes > writer->capacity - writer->end) {
        return false;
    }
    uint8_t *at = writer->bytes + writer->end;
    *at++ = (uint8_t)((state_hash != 0 ? FLAG_HASHED : 0) | (plan.has_changes ? FLAG_CHANGED : 0) |
                      (plan.has_events ? FLAG_EVENTS : 0));
    if (plan.has_changes) {
        at = put_changes(at, writer, inputs->slots, &plan.changed);
    }
    if (plan.has_events) {
        at = put_events(at, inputs->slots, writer->slot_count, &plan.events);
    }
    LS_ASSERT((size_t)(at - writer->bytes) == writer->end + plan.bytes);
    writer->end += plan.bytes;
    if (state_hash != 0) {
        writer->hash_count++;
        ls_store_u64(writer->bytes + writer->capacity - state_hashes, state_hash);
    }
    writer->first = writer->count == 0 ? inputs->tick : writer->first;
    writer->count++;
    return true;
}

/* They were written downwards from the end of the memory: the last one stands first. */
static void turn_hashes(uint8_t *state_hashes, uint32_t count)
{
    for (uint32_t i = 0; i < count / 2; i++) {
        uint8_t *low = state_hashes + (size_t)i * STATE_HASH_BYTES;
        uint8_t *high = state_hashes + (size_t)(count - 1 - i) * STATE_HASH_BYTES;
        uint64_t state_hash = ls_load_u64(low);
        ls_store_u64(low, ls_load_u64(high));
        ls_store_u64(high, state_hash);
    }
}

size_t ls_tick_block_finish(ls_tick_block_writer *writer, uint64_t chain)
{
    LS_ASSERT(writer->count > 0);
    size_t bytes = (size_t)writer->hash_count * STATE_HASH_BYTES;
    uint8_t *state_hashes = writer->bytes + writer->capacity - bytes;
    turn_hashes(state_hashes, writer->hash_count);
    memmove(writer->bytes + writer->end, state_hashes, bytes);
    ls_store_u32(writer->bytes, writer->first);
    ls_store_u32(writer->bytes + 4, writer->count);
    ls_store_u32(writer->bytes + 8, (uint32_t)(writer->end - LS_TICK_BLOCK_HEAD_BYTES));
    ls_store_u32(writer->bytes + 12, writer->slot_count);
    ls_store_u64(writer->bytes + 16, chain);
    return writer->end + bytes;
}

/* ---- reading ---- */

ls_status ls_tick_block_open(ls_tick_block_reader *reader, const uint8_t *bytes, size_t size,
                             uint32_t slot_count, uint32_t input_bytes_max)
{
    LS_ASSERT(slot_count <= LS_PLAYERS_MAX && input_bytes_max <= LS_INPUT_BYTES_MAX);
    if (size < LS_TICK_BLOCK_HEAD_BYTES) {
        return LS_MALFORMED;
    }
    ls_tick_block_head head = {.first = ls_load_u32(bytes),
                               .count = ls_load_u32(bytes + 4),
                               .slot_count = ls_load_u32(bytes + 12),
                               .chain = ls_load_u64(bytes + 16)};
    size_t inputs = ls_load_u32(bytes + 8);
    size_t rest = size - LS_TICK_BLOCK_HEAD_BYTES;
    bool is_possible = head.count > 0 && head.count <= UINT32_MAX - head.first &&
                       head.slot_count == slot_count && inputs <= rest && head.count <= inputs &&
                       (rest - inputs) % STATE_HASH_BYTES == 0;
    if (!is_possible) {
        return LS_MALFORMED;
    }
    reader->head = head;
    reader->input_bytes_max = input_bytes_max;
    reader->next = head.first;
    reader->at = bytes + LS_TICK_BLOCK_HEAD_BYTES;
    reader->end = reader->at + inputs;
    reader->state_hashes = reader->end;
    reader->hashes_end = bytes + size;
    memset(reader->base.sizes, 0, sizeof reader->base.sizes);
    return LS_OK;
}

/* Every function below returns false when the bytes do not suffice or cannot be. */
static bool read_u8(ls_tick_block_reader *reader, uint8_t *out)
{
    if (reader->at == reader->end) {
        return false;
    }
    *out = *reader->at++;
    return true;
}

static bool read_varint(ls_tick_block_reader *reader, uint32_t *out)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < VARINT_BYTES_MAX; i++) {
        uint8_t byte = 0;
        if (!read_u8(reader, &byte)) {
            return false;
        }
        value |= (uint64_t)(byte & 0x7fu) << 7 * i;
        if (byte < 0x80) {
            *out = (uint32_t)value;
            return value <= UINT32_MAX;
        }
    }
    return false;
}

/* Never none. */
static bool read_slots(ls_tick_block_reader *reader, ls_slot_set *slots)
{
    *slots = (ls_slot_set){{0}};
    for (uint32_t i = 0; i < ls_slot_words(reader->head.slot_count); i++) {
        if (!read_varint(reader, &slots->words[i])) {
            return false;
        }
    }
    return !ls_slot_set_is_empty(*slots) &&
           ls_slot_set_next(*slots, reader->head.slot_count) == LS_PLAYERS_MAX;
}

static bool read_bytes(ls_tick_block_reader *reader, uint32_t slot, uint32_t size)
{
    if (size > reader->input_bytes_max || size > (size_t)(reader->end - reader->at)) {
        return false;
    }
    memcpy(reader->base.bytes[slot], reader->at, size);
    reader->base.sizes[slot] = size;
    reader->at += size;
    return true;
}

static bool read_difference(ls_tick_block_reader *reader, uint32_t slot)
{
    uint32_t size = reader->base.sizes[slot];
    size_t mask_bytes = (size + 7) / 8;
    if (mask_bytes > (size_t)(reader->end - reader->at)) {
        return false;
    }
    const uint8_t *mask = reader->at;
    reader->at += mask_bytes;
    for (uint32_t i = 0; i < size; i++) {
        uint8_t difference = 0;
        if ((mask[i / 8] >> i % 8 & 1u) == 0) {
            continue;
        }
        if (!read_u8(reader, &difference)) {
            return false;
        }
        reader->base.bytes[slot][i] = (uint8_t)(reader->base.bytes[slot][i] ^ difference);
    }
    return true;
}

static bool read_changes(ls_tick_block_reader *reader)
{
    ls_slot_set changed;
    if (!read_slots(reader, &changed)) {
        return false;
    }
    LS_EACH_SLOT (slot, changed) {
        uint32_t code = 0;
        if (!read_varint(reader, &code)) {
            return false;
        }
        if (code == 0 ? !read_difference(reader, slot) : !read_bytes(reader, slot, code - 1)) {
            return false;
        }
    }
    return true;
}

static bool read_events(ls_tick_block_reader *reader)
{
    ls_slot_set having;
    if (!read_slots(reader, &having)) {
        return false;
    }
    LS_EACH_SLOT (slot, having) {
        uint8_t events = 0;
        if (!read_u8(reader, &events)) {
            return false;
        }
        reader->events[slot] = events;
    }
    return true;
}

static bool read_tick_hash(ls_tick_block_reader *reader, uint64_t *state_hash)
{
    if (reader->hashes_end - reader->state_hashes < STATE_HASH_BYTES) {
        return false;
    }
    *state_hash = ls_load_u64(reader->state_hashes);
    reader->state_hashes += STATE_HASH_BYTES;
    return true;
}

static bool read_tick(ls_tick_block_reader *reader, uint64_t *state_hash)
{
    uint8_t flags = 0;
    *state_hash = 0;
    memset(reader->events, 0, sizeof reader->events);
    if (!read_u8(reader, &flags) || (flags & ~(unsigned)FLAGS) != 0) {
        return false;
    }
    return ((flags & FLAG_CHANGED) == 0 || read_changes(reader)) &&
           ((flags & FLAG_EVENTS) == 0 || read_events(reader)) &&
           ((flags & FLAG_HASHED) == 0 || read_tick_hash(reader, state_hash));
}

static bool is_at_end(const ls_tick_block_reader *reader)
{
    return reader->at == reader->end && reader->state_hashes == reader->hashes_end;
}

/* Nothing more can be read. */
static ls_status give_up(ls_tick_block_reader *reader)
{
    reader->next = reader->head.first;
    reader->at = reader->end;
    return LS_MALFORMED;
}

ls_status ls_tick_block_next(ls_tick_block_reader *reader, ls_slot_input slots[LS_PLAYERS_MAX],
                             ls_tick_inputs *out, uint64_t *state_hash)
{
    uint64_t read_hash = 0;
    if (reader->next == reader->head.first + reader->head.count) {
        return is_at_end(reader) ? LS_NOT_FOUND : LS_MALFORMED;
    }
    if (!read_tick(reader, &read_hash)) {
        return give_up(reader);
    }
    for (uint32_t slot = 0; slot < reader->head.slot_count; slot++) {
        slots[slot] = (ls_slot_input){.bytes = reader->base.bytes[slot],
                                      .size = reader->base.sizes[slot],
                                      .events = reader->events[slot]};
    }
    *out = (ls_tick_inputs){
        .tick = reader->next++, .slot_count = reader->head.slot_count, .slots = slots};
    *state_hash = read_hash;
    return LS_OK;
}
