#include "lockstep/common/base/compress.h"
#include "lockstep/common/journal/journal_state.h"

#include <string.h>

enum {
    BUFFER_BYTES = 64 << 10,
};

/* ---- payloads ---- */

static bool make_room(ls_journal *journal, ls_journal_buffer *memory, size_t bytes)
{
    if (bytes > memory->capacity) {
        size_t capacity = bytes > BUFFER_BYTES ? LS_JOURNAL_RAW_BYTES_MAX : BUFFER_BYTES;
        ls_release(journal->allocator, memory->bytes);
        memory->bytes = ls_allocate(journal->allocator, capacity);
        memory->capacity = memory->bytes ? capacity : 0;
        journal->is_out_of_memory = journal->is_out_of_memory || !memory->bytes;
    }
    return bytes <= memory->capacity;
}

const uint8_t *ls_journal_payload(ls_journal *journal, const ls_journal_frame *frame,
                                  ls_journal_buffer *memory)
{
    if (!frame->is_compressed) {
        return frame->payload;
    }
    if (!make_room(journal, memory, frame->raw_bytes)) {
        return NULL;
    }
    ls_status status =
        ls_decompress(frame->payload, frame->stored_bytes, memory->bytes, frame->raw_bytes);
    return status == LS_OK ? memory->bytes : NULL;
}

ls_journal_walk ls_journal_walk_in(const ls_journal *journal, uint64_t offset)
{
    return ls_journal_walk_from(journal->bytes, journal->size, offset);
}

bool ls_journal_open_block(ls_journal *journal, const ls_journal_frame *frame, const uint8_t *raw)
{
    const ls_journal_header *header = &journal->header;
    return ls_tick_block_open(&journal->reader, raw, frame->raw_bytes, header->config.players,
                              header->input_bytes_max) == LS_OK;
}

bool ls_journal_read_piece(const uint8_t *raw, size_t size, ls_journal_snapshot *out)
{
    ls_journal_snapshot head = {0};
    ls_byte_stream stream = ls_byte_stream_read(raw, size);
    ls_journal_snapshot_stream(&stream, &head);
    if (stream.has_failed || head.state_bytes == 0 || head.state_bytes > LS_STATE_BYTES_MAX ||
        head.piece >= ls_journal_pieces(head.state_bytes) ||
        size - stream.at != ls_journal_piece_size(head.state_bytes, head.piece)) {
        return false;
    }
    *out = head;
    return true;
}

bool ls_journal_add_piece(ls_journal_pieces_read *sofar, const ls_journal_snapshot *head)
{
    bool is_next = head->piece == sofar->next && head->tick == sofar->head.tick &&
                   head->state_hash == sofar->head.state_hash &&
                   head->state_bytes == sofar->head.state_bytes;
    if (head->piece == 0) {
        *sofar = (ls_journal_pieces_read){.head = *head, .next = 1};
    } else {
        sofar->next = sofar->next > 0 && is_next ? sofar->next + 1 : 0;
    }
    return sofar->next > 0 && sofar->next == ls_journal_pieces(head->state_bytes);
}

/* The next record of the kind, and its payload in journal->raw. */
static const uint8_t *next_of_kind(ls_journal *journal, ls_journal_walk *walk, uint32_t kind,
                                   ls_journal_frame *frame)
{
    while (ls_journal_walk_next(walk, frame)) {
        if (frame->kind == kind) {
            const uint8_t *raw = ls_journal_payload(journal, frame, &journal->raw);
            if (raw) {
                return raw;
            }
        }
    }
    return NULL;
}

/* ---- ticks ---- */

/* The place of the newest of a kind, among the first `count` entries, that is not behind `tick`;
 * the one behind it is *count then. */
static bool find_place(const ls_journal *journal, uint32_t kind, ls_tick tick, size_t *count,
                       uint64_t *place)
{
    while (*count > 0) {
        const ls_journal_index_entry *entry = &journal->entries[--*count];
        if (entry->kind == kind && entry->tick <= tick) {
            *place = entry->offset;
            return true;
        }
    }
    return false;
}

void ls_journal_seek(ls_journal *journal, ls_tick tick)
{
    size_t count = journal->entry_count;
    journal->has_block = false;
    journal->want = tick;
    journal->place = LS_JOURNAL_FILE_HEAD_BYTES;
    find_place(journal, LS_JOURNAL_TICKS, tick, &count, &journal->place);
}

static bool next_block(ls_journal *journal)
{
    ls_journal_walk walk = ls_journal_walk_in(journal, journal->place);
    ls_journal_frame frame;
    while (ls_journal_walk_next(&walk, &frame)) {
        journal->place = walk.at;
        const uint8_t *raw = frame.kind == LS_JOURNAL_TICKS
                                 ? ls_journal_payload(journal, &frame, &journal->block)
                                 : NULL;
        if (raw && ls_journal_open_block(journal, &frame, raw) &&
            journal->reader.head.first + journal->reader.head.count > journal->want) {
            journal->has_block = true;
            return true;
        }
    }
    journal->place = walk.at;
    return false;
}

ls_status ls_journal_next_tick(ls_journal *journal, ls_slot_input slots[LS_PLAYERS_MAX],
                               ls_tick_inputs *out, uint64_t *state_hash)
{
    while (journal->has_block || next_block(journal)) {
        ls_tick_inputs inputs;
        uint64_t read_hash = 0;
        if (ls_tick_block_next(&journal->reader, slots, &inputs, &read_hash) != LS_OK) {
            journal->has_block = false;
            continue;
        }
        if (inputs.tick >= journal->want) {
            journal->want = inputs.tick + 1;
            *out = inputs;
            *state_hash = read_hash;
            return LS_OK;
        }
    }
    return journal->is_out_of_memory ? LS_NO_MEMORY : LS_NOT_FOUND;
}

uint64_t ls_journal_block_chain(const ls_journal *journal, ls_tick *behind)
{
    const ls_tick_block_head *head = &journal->reader.head;
    *behind = head->first + head->count;
    return head->chain;
}

/* ---- snapshots ---- */

/* Reads the snapshot whose first piece is at `place`, into `state` unless that is NULL. */
static bool read_snapshot_at(ls_journal *journal, uint64_t place, uint8_t *state,
                             ls_journal_snapshot *out)
{
    ls_journal_walk walk = ls_journal_walk_in(journal, place);
    ls_journal_frame frame;
    ls_journal_pieces_read sofar = {0};
    const uint8_t *raw = NULL;
    while ((raw = next_of_kind(journal, &walk, LS_JOURNAL_SNAPSHOT, &frame)) != NULL) {
        ls_journal_snapshot head;
        bool is_first = sofar.next == 0;
        if (!ls_journal_read_piece(raw, frame.raw_bytes, &head) || is_first != (head.piece == 0) ||
            (state && (head.tick != out->tick || head.state_bytes != out->state_bytes))) {
            return false;
        }
        bool is_whole = ls_journal_add_piece(&sofar, &head);
        if (sofar.next == 0) {
            return false;
        }
        if (state) {
            memcpy(state + (size_t)head.piece * LS_JOURNAL_PIECE_BYTES,
                   raw + LS_JOURNAL_SNAPSHOT_HEAD_BYTES,
                   frame.raw_bytes - LS_JOURNAL_SNAPSHOT_HEAD_BYTES);
        }
        if (is_whole) {
            *out = sofar.head;
            return true;
        }
    }
    return false;
}

/* The first piece of the snapshot that follows the one at `place`, if it is not behind `tick`: what
 * the index leaves out. */
static bool find_later(ls_journal *journal, uint64_t *place, ls_tick tick)
{
    ls_journal_walk walk = ls_journal_walk_in(journal, *place);
    ls_journal_frame frame;
    const uint8_t *raw = NULL;
    while ((raw = next_of_kind(journal, &walk, LS_JOURNAL_SNAPSHOT, &frame)) != NULL) {
        ls_journal_snapshot head;
        if (frame.offset == *place || !ls_journal_read_piece(raw, frame.raw_bytes, &head) ||
            head.piece > 0) {
            continue;
        }
        if (head.tick > tick) {
            return false;
        }
        *place = frame.offset;
        return true;
    }
    return false;
}

ls_status ls_journal_find_snapshot(ls_journal *journal, ls_tick tick, ls_journal_snapshot *out)
{
    size_t count = journal->entry_count;
    uint64_t place = 0;
    while (find_place(journal, LS_JOURNAL_SNAPSHOT, tick, &count, &place)) {
        ls_journal_snapshot found;
        bool has_found = read_snapshot_at(journal, place, NULL, &found);
        journal->found_place = place;
        while (!journal->info.is_counted && find_later(journal, &place, tick)) {
            if (read_snapshot_at(journal, place, NULL, &found)) {
                has_found = true;
                journal->found_place = place;
            }
        }
        if (has_found) {
            journal->found_tick = found.tick;
            *out = found;
            return LS_OK;
        }
    }
    return LS_NOT_FOUND;
}

ls_status ls_journal_next_snapshot(ls_journal *journal, ls_tick tick, ls_journal_snapshot *out)
{
    for (size_t i = 0; i < journal->entry_count; i++) {
        const ls_journal_index_entry *entry = &journal->entries[i];
        if (entry->kind == LS_JOURNAL_SNAPSHOT && entry->tick >= tick &&
            read_snapshot_at(journal, entry->offset, NULL, out)) {
            journal->found_place = entry->offset;
            journal->found_tick = out->tick;
            return LS_OK;
        }
    }
    return LS_NOT_FOUND;
}

ls_status ls_journal_read_snapshot(ls_journal *journal, const ls_journal_snapshot *snapshot,
                                   uint8_t *state)
{
    ls_journal_snapshot found = *snapshot;
    if (journal->found_place == 0 || journal->found_tick != snapshot->tick) {
        ls_status status = ls_journal_find_snapshot(journal, snapshot->tick, &found);
        if (status != LS_OK || found.tick != snapshot->tick) {
            return LS_MALFORMED;
        }
    }
    found = *snapshot;
    return read_snapshot_at(journal, journal->found_place, state, &found) ? LS_OK : LS_MALFORMED;
}

/* ---- records ---- */

ls_status ls_journal_next_record(ls_journal *journal, uint64_t *offset, ls_journal_record *out)
{
    uint64_t from = *offset > LS_JOURNAL_FILE_HEAD_BYTES ? *offset : LS_JOURNAL_FILE_HEAD_BYTES;
    ls_journal_walk walk = ls_journal_walk_in(journal, from);
    ls_journal_frame frame;
    while (ls_journal_walk_next(&walk, &frame)) {
        const uint8_t *raw = ls_journal_payload(journal, &frame, &journal->raw);
        *offset = walk.at;
        if (raw) {
            *out = (ls_journal_record){.kind = frame.kind,
                                       .offset = frame.offset,
                                       .stored_bytes =
                                           LS_JOURNAL_FRAME_BYTES + (size_t)frame.stored_bytes,
                                       .raw = raw,
                                       .raw_bytes = frame.raw_bytes};
            return LS_OK;
        }
    }
    *offset = walk.at;
    return LS_NOT_FOUND;
}

ls_status ls_journal_next_event(ls_journal *journal, uint64_t *offset, ls_journal_event *out)
{
    ls_journal_record record;
    while (ls_journal_next_record(journal, offset, &record) == LS_OK) {
        ls_journal_event event = {0};
        ls_byte_stream stream = ls_byte_stream_read(record.raw, record.raw_bytes);
        if (record.kind != LS_JOURNAL_EVENT) {
            continue;
        }
        ls_journal_event_stream(&stream, &event);
        if (ls_byte_stream_is_at_end(&stream)) {
            *out = event;
            return LS_OK;
        }
    }
    return LS_NOT_FOUND;
}
