#include "lockstep/protocol/wire/tick_packet.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/simulation/input_buffer.h"
#include "lockstep/protocol/wire/message.h"

#include <stddef.h>
#include <string.h>

/* Kinds of input change: so many times a 1 follows its first bit, and, but for the last, a 0. */
typedef enum change_kind {
    CHANGE_ONE_BIT,
    CHANGE_SAME_SIZE,
    CHANGE_EMPTY,
    CHANGE_RAW,
} change_kind;

enum {
    LAG_FIELDS = 6, /* of the lag report; left out where they are 0 */

    GROUP_SLOTS = 4, /* share a bit that says whether one changes, where there are more slots */
};

static void kind_bits(ls_bit_stream *stream, uint32_t kind)
{
    uint32_t value = kind;
    ls_bits_u32(stream, &value, 6);
    if (value != kind) {
        ls_bits_fail(stream);
    }
}

/* A tick sent as its distance from another that both sides know. */
static void relative_tick_bits(ls_bit_stream *stream, ls_tick *tick, ls_tick origin)
{
    int32_t distance = ls_bits_is_writing(stream) ? (int32_t)((int64_t)*tick - (int64_t)origin) : 0;
    ls_bits_svar(stream, &distance);
    if (ls_bits_is_writing(stream)) {
        return;
    }
    int64_t value = (int64_t)origin + distance;
    if (value < 0 || value > UINT32_MAX) {
        ls_bits_fail(stream);
        return;
    }
    *tick = (ls_tick)value;
}

static void sequence_bits(ls_bit_stream *stream, uint32_t *sequence)
{
    uint32_t low = *sequence & ((1u << LS_SEQUENCE_BITS) - 1);
    ls_bits_u32(stream, &low, LS_SEQUENCE_BITS);
    if (!ls_bits_is_writing(stream)) {
        *sequence = low;
    }
}

static void link_bits(ls_bit_stream *stream, ls_link_figures *link)
{
    ls_bits_u32(stream, &link->loss, 8);
    ls_bits_uvar(stream, &link->jitter, 0, LS_JITTER_MAX);
}

static void health_bits(ls_bit_stream *stream, ls_client_health *health)
{
    ls_lag_report *lag = &health->lag;
    link_bits(stream, &health->downlink);
    ls_bits_bool(stream, &health->has_lag);
    if (!health->has_lag) {
        return;
    }
    uint32_t *fields[LAG_FIELDS] = {&lag->stalled_ticks,  &lag->late_inputs,      &lag->latest_ms,
                                    &lag->frames_late_ms, &lag->longest_frame_ms, &lag->held_ticks};
    uint32_t mask = 0;
    if (!ls_bits_is_writing(stream)) {
        *lag = (ls_lag_report){0};
    }
    for (uint32_t i = 0; i < LAG_FIELDS; i++) {
        mask |= *fields[i] > 0 ? 1u << i : 0;
    }
    ls_bits_u32(stream, &mask, LAG_FIELDS);
    for (uint32_t i = 0; mask >> i > 0; i++) {
        if (mask >> i & 1u) {
            ls_bits_uvar(stream, fields[i], 1, LS_LAG_REPORT_MAX);
        }
    }
    if (lag->held_ticks > 0) {
        ls_bits_uvar(stream, &lag->held_tick, 0, LS_LAG_REPORT_MAX);
    }
}

LS_TICK_CODE void ls_inputs_header_bits(ls_bit_stream *stream, ls_inputs_header *header,
                                        ls_tick near)
{
    kind_bits(stream, LS_MESSAGE_INPUTS);
    sequence_bits(stream, &header->sequence);
    ls_bits_tick16(stream, &header->next, near);
    ls_bits_u32(stream, &header->hold, 8);
    int32_t behind = ls_bits_is_writing(stream) ? (int32_t)(header->next - header->chain_tick) : 0;
    ls_bits_svar(stream, &behind);
    if (behind < 0 || (uint32_t)behind > header->next) {
        ls_bits_fail(stream);
        behind = 0;
    }
    header->chain_tick = header->next - (uint32_t)behind;
    ls_bits_u32(stream, &header->chain, 32);
    relative_tick_bits(stream, &header->first, header->next);
    ls_bits_bool(stream, &header->has_base);
    if (header->has_base) {
        ls_bits_uvar(stream, &header->base_gap, 0, header->first);
    }
    ls_bits_bool(stream, &header->has_health);
    if (header->has_health) {
        health_bits(stream, &header->health);
    }
}

void ls_ticks_header_bits(ls_bit_stream *stream, ls_ticks_header *header, ls_tick near)
{
    kind_bits(stream, LS_MESSAGE_TICKS);
    sequence_bits(stream, &header->sequence);
    ls_bits_tick16(stream, &header->first, near);
    ls_bits_u32(stream, &header->hold, 8);
    relative_tick_bits(stream, &header->wanted, header->first);
    ls_bits_bool(stream, &header->has_base);
    uint32_t slack = ls_bits_is_writing(stream) ? (uint32_t)header->slack & 0xfffu : 0;
    ls_bits_u32(stream, &slack, 12);
    header->slack = slack < 0x800u ? (int32_t)slack : (int32_t)slack - 0x1000;
    ls_bits_bool(stream, &header->has_uplink);
    if (header->has_uplink) {
        link_bits(stream, &header->uplink);
    }
}

void ls_tick_seal_bits(ls_bit_stream *stream, ls_tick_seal *seal)
{
    size_t start = (stream->position_bits + 7) / 8 * 8;
    bool has_room = !stream->is_failed && stream->capacity_bits >= start + 32;
    if (!ls_bits_is_writing(stream)) {
        seal->is_there = has_room;
    }
    seal->is_there = seal->is_there && has_room;
    if (seal->is_there) {
        while (stream->position_bits < start && !stream->is_failed) {
            ls_bits_constant(stream, 0, 1);
        }
        ls_bits_u32(stream, &seal->value, 32);
    }
}

size_t ls_tick_cursor_bytes(uint32_t slot_count)
{
    return offsetof(ls_tick_cursor, bytes) + (size_t)slot_count * LS_INPUT_BYTES_MAX;
}

void ls_tick_cursor_start(ls_tick_cursor *cursor, uint32_t slot_count, uint32_t input_bytes_max,
                          const ls_slot_input *base)
{
    LS_ASSERT(slot_count <= LS_PLAYERS_MAX && input_bytes_max <= LS_INPUT_BYTES_MAX);
    cursor->slot_count = slot_count;
    cursor->input_bytes_max = input_bytes_max;
    for (uint32_t slot = 0; slot < slot_count; slot++) {
        cursor->sizes[slot] = base ? base[slot].size : 0;
        cursor->events[slot] = 0;
        if (cursor->sizes[slot] > 0) {
            memcpy(cursor->bytes[slot], base[slot].bytes, cursor->sizes[slot]);
        }
    }
}

static size_t uvar_bits(uint32_t value)
{
    size_t bits = 5;
    while (value >>= 4) {
        bits += 5;
    }
    return bits;
}

/* Of the place of a bit in an input of so many bytes, which are not 0. */
static unsigned place_bits(uint32_t size)
{
    unsigned bits = 3;
    while (size > UINT32_C(1) << (bits - 3)) {
        bits++;
    }
    return bits;
}

/* `*place`: of the bit, of ONE_BIT. */
static change_kind shortest_change(const ls_slot_input *before, const ls_slot_input *input,
                                   uint32_t *place)
{
    if (input->size == 0) {
        return CHANGE_EMPTY;
    }
    if (input->size != before->size) {
        return CHANGE_RAW;
    }
    uint32_t differing = 0;
    uint32_t last = 0;
    for (uint32_t i = 0; i < input->size; i++) {
        bool is_other = input->bytes[i] != before->bytes[i];
        differing += is_other;
        last = is_other ? i : last;
    }
    unsigned flipped = input->bytes[last] ^ before->bytes[last];
    if (differing == 1 && (flipped & (flipped - 1)) == 0) {
        for (*place = last * 8; flipped > 1; flipped >>= 1) {
            ++*place;
        }
        return CHANGE_ONE_BIT;
    }
    size_t same_size_bits = input->size + (size_t)differing * 8;
    size_t raw_bits = 1 + uvar_bits(input->size) + (size_t)input->size * 8;
    return same_size_bits <= raw_bits ? CHANGE_SAME_SIZE : CHANGE_RAW;
}

static void write_kind(ls_bit_stream *stream, change_kind kind)
{
    for (unsigned i = 0; i < (unsigned)kind; i++) {
        ls_bits_write_bit(stream, true);
    }
    if (kind != CHANGE_RAW) {
        ls_bits_write_bit(stream, false);
    }
}

static change_kind read_kind(ls_bit_stream *stream)
{
    unsigned kind = CHANGE_ONE_BIT;
    while (kind != CHANGE_RAW && ls_bits_read_bit(stream)) {
        kind++;
    }
    return (change_kind)kind;
}

LS_TICK_CODE static void write_change(ls_bit_stream *stream, const ls_slot_input *before,
                                      const ls_slot_input *input)
{
    if (ls_slot_input_is_same(before, input)) {
        ls_bits_write_bit(stream, false);
        return;
    }
    uint32_t place = 0;
    uint32_t size = input->size;
    change_kind kind = shortest_change(before, input, &place);
    ls_bits_write_bit(stream, true);
    write_kind(stream, kind);
    if (kind == CHANGE_ONE_BIT) {
        ls_bits_u32(stream, &place, place_bits(size));
    } else if (kind == CHANGE_RAW) {
        ls_bits_uvar(stream, &size, 0, LS_INPUT_BYTES_MAX);
        ls_bits_write_bytes(stream, input->bytes, size);
    }
    for (uint32_t i = 0; kind == CHANGE_SAME_SIZE && i < size; i++) {
        uint32_t byte = (uint32_t)(input->bytes[i] ^ before->bytes[i]);
        ls_bits_write_bit(stream, byte != 0);
        if (byte != 0) {
            ls_bits_u32(stream, &byte, 8);
        }
    }
}

static void read_one_bit(ls_bit_stream *stream, uint8_t *bytes, uint32_t size)
{
    uint32_t place = 0;
    if (size == 0) {
        ls_bits_fail(stream);
        return;
    }
    ls_bits_u32(stream, &place, place_bits(size));
    if (place / 8 >= size) {
        ls_bits_fail(stream);
        return;
    }
    bytes[place / 8] ^= (uint8_t)(1u << place % 8);
}

static void read_same_size(ls_bit_stream *stream, uint8_t *bytes, uint32_t size)
{
    for (uint32_t i = 0; i < size && !stream->is_failed; i++) {
        if (ls_bits_read_bit(stream)) {
            uint32_t byte = 0;
            ls_bits_u32(stream, &byte, 8);
            bytes[i] ^= (uint8_t)byte;
        }
    }
}

/* False: it stays as it is. */
static bool read_change(ls_bit_stream *stream, ls_tick_cursor *cursor, uint32_t slot)
{
    if (!ls_bits_read_bit(stream)) {
        return false;
    }
    switch (read_kind(stream)) {
    case CHANGE_ONE_BIT:
        read_one_bit(stream, cursor->bytes[slot], cursor->sizes[slot]);
        break;
    case CHANGE_SAME_SIZE:
        read_same_size(stream, cursor->bytes[slot], cursor->sizes[slot]);
        break;
    case CHANGE_EMPTY:
        cursor->sizes[slot] = 0;
        break;
    case CHANGE_RAW:
        ls_bits_uvar(stream, &cursor->sizes[slot], 0, cursor->input_bytes_max);
        ls_bits_read_bytes(stream, cursor->bytes[slot], cursor->sizes[slot]);
        break;
    }
    return true;
}

/* Takes back a tick that did not fit; a bit stays free for the end mark. */
static bool keep_if_it_fits(ls_bit_stream *stream, size_t position_before)
{
    if (!stream->is_failed && stream->position_bits < stream->capacity_bits) {
        return true;
    }
    stream->is_failed = false;
    stream->position_bits = position_before;
    return false;
}

bool ls_inputs_write_tick(ls_bit_stream *stream, const ls_slot_input *before,
                          const ls_slot_input *input)
{
    size_t position = stream->position_bits;
    ls_bits_write_bit(stream, true);
    write_change(stream, before, input);
    return keep_if_it_fits(stream, position);
}

/* Behind the last slot of the group that begins with this one; 0: none begins here. */
static uint32_t group_end(uint32_t slot, uint32_t slot_count)
{
    bool is_first = slot_count > GROUP_SLOTS && slot % GROUP_SLOTS == 0;
    return is_first ? LS_MIN(slot + GROUP_SLOTS, slot_count) : 0;
}

static bool has_change(const ls_slot_input *before, const ls_slot_input *inputs, uint32_t slot,
                       uint32_t end)
{
    while (slot < end && ls_slot_input_is_same(&before[slot], &inputs[slot])) {
        slot++;
    }
    return slot < end;
}

static void write_changes(ls_bit_stream *stream, uint32_t slot_count, const ls_slot_input *before,
                          const ls_slot_input *inputs)
{
    for (uint32_t slot = 0; slot < slot_count; slot++) {
        uint32_t end = group_end(slot, slot_count);
        bool is_left_out = end > 0 && !has_change(before, inputs, slot, end);
        if (end > 0) {
            ls_bits_write_bit(stream, !is_left_out);
        }
        if (is_left_out) {
            slot = end - 1;
        } else {
            write_change(stream, &before[slot], &inputs[slot]);
        }
    }
}

bool ls_ticks_write_tick(ls_bit_stream *stream, uint32_t slot_count, const ls_slot_input *before,
                         const ls_slot_input *inputs)
{
    size_t position = stream->position_bits;
    bool has_events = false;
    bool has_changes = has_change(before, inputs, 0, slot_count);
    for (uint32_t slot = 0; slot < slot_count; slot++) {
        has_events = has_events || inputs[slot].events != 0;
    }
    ls_bits_write_bit(stream, true);
    ls_bits_write_bit(stream, has_events);
    for (uint32_t slot = 0; has_events && slot < slot_count; slot++) {
        uint32_t events = inputs[slot].events;
        ls_bits_u32(stream, &events, 2);
    }
    ls_bits_write_bit(stream, has_changes);
    if (has_changes) {
        write_changes(stream, slot_count, before, inputs);
    }
    return keep_if_it_fits(stream, position);
}

size_t ls_ticks_tick_bytes_max(uint32_t slot_count, uint32_t input_bytes_max)
{
    /* Events are two bits; a change says that it is one, and raw, and its size. */
    size_t slot_bits = 2 + 4 + uvar_bits(input_bytes_max) + (size_t)input_bytes_max * 8;
    size_t groups = slot_count > GROUP_SLOTS ? slot_count / GROUP_SLOTS + 1 : 0;
    size_t bits = 3 + groups + slot_count * slot_bits + 1; /* and the end mark */
    return (bits + 7) / 8;
}

void ls_tick_packet_write_end(ls_bit_stream *stream)
{
    ls_bits_write_bit(stream, false);
    LS_ASSERT(!stream->is_failed);
}

bool ls_inputs_read_tick(ls_bit_stream *stream, ls_tick_cursor *cursor)
{
    if (!ls_bits_read_bit(stream)) {
        return false;
    }
    cursor->has_changed = read_change(stream, cursor, 0);
    return !stream->is_failed;
}

LS_TICK_CODE bool ls_ticks_read_tick(ls_bit_stream *stream, ls_tick_cursor *cursor)
{
    if (!ls_bits_read_bit(stream)) {
        return false;
    }
    bool has_events = ls_bits_read_bit(stream);
    for (uint32_t slot = 0; slot < cursor->slot_count; slot++) {
        cursor->events[slot] = 0;
        if (has_events) {
            ls_bits_u32(stream, &cursor->events[slot], 2);
        }
    }
    if (ls_bits_read_bit(stream)) {
        for (uint32_t slot = 0; slot < cursor->slot_count; slot++) {
            uint32_t end = group_end(slot, cursor->slot_count);
            if (end > 0 && !ls_bits_read_bit(stream)) {
                slot = end - 1;
            } else {
                (void)read_change(stream, cursor, slot);
            }
        }
    }
    return !stream->is_failed;
}

void ls_tick_cursor_inputs(const ls_tick_cursor *cursor, ls_slot_input *inputs)
{
    for (uint32_t slot = 0; slot < cursor->slot_count; slot++) {
        inputs[slot] =
            (ls_slot_input){cursor->bytes[slot], cursor->sizes[slot], cursor->events[slot]};
    }
}

uint32_t ls_tick_part_count(uint32_t total_bytes)
{
    return (total_bytes + LS_TICK_PART_BYTES - 1) / LS_TICK_PART_BYTES;
}

uint32_t ls_tick_part_size(uint32_t total_bytes, uint32_t index)
{
    uint32_t start = index * LS_TICK_PART_BYTES;
    LS_ASSERT(start < total_bytes);
    uint32_t left = total_bytes - start;
    return LS_MIN(left, LS_TICK_PART_BYTES);
}

void ls_tick_part_fields(ls_bit_stream *stream, ls_tick_part *part)
{
    ls_bits_u32(stream, &part->tick, 32);
    ls_bits_uvar(stream, &part->total_bytes, 1, LS_TICK_BYTES_MAX);
    ls_bits_u32(stream, &part->index, 5);
    if (part->index >= ls_tick_part_count(part->total_bytes)) {
        ls_bits_fail(stream);
        return;
    }
    part->size = ls_tick_part_size(part->total_bytes, part->index);
    if (ls_bits_is_writing(stream)) {
        ls_bits_write_bytes(stream, part->bytes, part->size);
    } else {
        ls_bits_read_bytes(stream, part->bytes, part->size);
    }
}

void ls_tick_part_bits(ls_bit_stream *stream, ls_tick_part *part)
{
    ls_bits_constant(stream, LS_MESSAGE_TICK_PART, LS_MESSAGE_KIND_BITS);
    ls_tick_part_fields(stream, part);
}

uint32_t ls_hold_from_ns(uint64_t ns)
{
    uint64_t hold = ns / LS_HOLD_UNIT_NS;
    return hold < LS_HOLD_NONE ? (uint32_t)hold : LS_HOLD_NONE;
}

int32_t ls_slack_from_ns(int64_t ns)
{
    int64_t slack = ns / (int64_t)LS_HOLD_UNIT_NS;
    if (slack > LS_SLACK_MAX) {
        return LS_SLACK_MAX;
    }
    return slack < -LS_SLACK_MAX ? -LS_SLACK_MAX : (int32_t)slack;
}

/* ---- coded tick ---- */

enum {
    WORD_BITS = 64
};

_Static_assert(LS_CODED_TICK_BYTES % sizeof(uint64_t) == 0, "coded ticks are handled by words");

/* The bits of the word that begins after `done` of `all`. */
static uint32_t word_bits(uint32_t all, uint32_t done)
{
    return all - done < WORD_BITS ? all - done : WORD_BITS;
}

void ls_coded_tick_make(ls_coded_tick *coded, uint32_t slot_count, const ls_slot_input *before,
                        const ls_slot_input *inputs)
{
    memset(coded, 0, sizeof *coded);
    ls_bit_stream stream = ls_bit_writer(coded->bytes, sizeof coded->bytes);
    if (ls_ticks_write_tick(&stream, slot_count, before, inputs)) {
        coded->bits = (uint32_t)stream.position_bits;
    }
}

LS_TICK_CODE void ls_coded_tick_capture(ls_coded_tick *coded, ls_bit_stream *stream,
                                        size_t start_bits)
{
    size_t bits = stream->position_bits - start_bits;
    coded->bits = bits <= LS_CODED_TICK_BYTES * 8 ? (uint32_t)bits : 0;
    stream->position_bits -= coded->bits; /* and reads them once more */
    for (uint32_t done = 0; done < coded->bits; done += WORD_BITS) {
        uint64_t word = 0;
        ls_bits_u64(stream, &word, word_bits(coded->bits, done));
        ls_store_u64(coded->bytes + done / 8, word);
    }
}

bool ls_coded_tick_write(const ls_coded_tick *coded, ls_bit_stream *stream)
{
    LS_ASSERT(coded->bits > 0);
    if (coded->bits >= stream->capacity_bits - stream->position_bits) {
        return false;
    }
    for (uint32_t done = 0; done < coded->bits; done += WORD_BITS) {
        uint64_t word = ls_load_u64(coded->bytes + done / 8);
        ls_bits_u64(stream, &word, word_bits(coded->bits, done));
    }
    return true;
}

bool ls_coded_tick_skip(const ls_coded_tick *coded, ls_bit_stream *stream)
{
    size_t start_bits = stream->position_bits;
    if (coded->bits == 0 || stream->is_failed || coded->bits > stream->capacity_bits - start_bits) {
        return false;
    }
    for (uint32_t done = 0; done < coded->bits; done += WORD_BITS) {
        uint64_t word = 0;
        ls_bits_u64(stream, &word, word_bits(coded->bits, done));
        if (word != ls_load_u64(coded->bytes + done / 8)) {
            stream->position_bits = start_bits;
            return false;
        }
    }
    return true;
}
