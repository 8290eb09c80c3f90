#include "lockstep/common/journal/journal.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/compress/compress.h"
#include "lockstep/common/journal/journal_index.h"
#include "lockstep/common/simulation/state_hash.h"

#include <inttypes.h>
#include <string.h>

/* ---- an index in memory ---- */

static void leave_out_every_second(ls_journal_index_list *list)
{
    for (uint32_t i = 0; i < list->count / 2; i++) {
        list->entries[i] = list->entries[2 * i];
    }
    list->count /= 2;
    list->stride *= 2;
}

static void add(ls_journal_index_list *list, ls_journal_index_entry entry)
{
    list->stride = list->stride > 0 ? list->stride : 1;
    if (list->count == LS_JOURNAL_INDEX_MAX) {
        leave_out_every_second(list);
    }
    if (list->seen++ % list->stride == 0) {
        list->entries[list->count++] = entry;
    }
}

void ls_journal_index_add(ls_journal_index *index, ls_journal_index_entry entry)
{
    add(entry.kind == LS_JOURNAL_TICKS ? &index->ticks : &index->snapshots, entry);
}

static uint8_t *put(uint8_t *at, const ls_journal_index_entry *entry)
{
    ls_store_u32(at, entry->kind);
    ls_store_u32(at + 4, entry->tick);
    ls_store_u64(at + 8, entry->offset);
    return at + LS_JOURNAL_INDEX_ENTRY_BYTES;
}

size_t ls_journal_index_write(const ls_journal_index *index,
                              uint8_t bytes[LS_JOURNAL_INDEX_BYTES_MAX])
{
    const ls_journal_index_list *ticks = &index->ticks;
    const ls_journal_index_list *snapshots = &index->snapshots;
    uint32_t t = 0;
    uint32_t s = 0;
    uint8_t *at = bytes + 4;
    ls_store_u32(bytes, ticks->count + snapshots->count);
    while (t < ticks->count || s < snapshots->count) {
        bool is_tick =
            s == snapshots->count ||
            (t < ticks->count && ticks->entries[t].offset < snapshots->entries[s].offset);
        at = put(at, is_tick ? &ticks->entries[t++] : &snapshots->entries[s++]);
    }
    return (size_t)(at - bytes);
}

uint32_t ls_journal_index_count(const uint8_t *bytes, size_t size)
{
    uint32_t count = size >= 4 ? ls_load_u32(bytes) : UINT32_MAX;
    bool is_sized = count <= 2 * LS_JOURNAL_INDEX_MAX &&
                    size == 4 + (size_t)count * LS_JOURNAL_INDEX_ENTRY_BYTES;
    return is_sized ? count : UINT32_MAX;
}

ls_journal_index_entry ls_journal_index_read(const uint8_t *bytes, uint32_t number)
{
    const uint8_t *at = bytes + 4 + (size_t)number * LS_JOURNAL_INDEX_ENTRY_BYTES;
    return (ls_journal_index_entry){
        .kind = ls_load_u32(at), .tick = ls_load_u32(at + 4), .offset = ls_load_u64(at + 8)};
}

bool ls_journal_is_named(const char *name)
{
    static const char ending[] = ".journal";
    size_t size = strlen(name);
    return size >= sizeof ending && strcmp(name + size - (sizeof ending - 1), ending) == 0;
}

const ls_record_format ls_journal_format = {
    .noun = "journal",
    .magic = "LSJOURNL",
    .version = 1,
    .mark = 0x524a534c, /* LSJR */
    .raw_bytes_max = LS_JOURNAL_RAW_BYTES_MAX,
};

struct ls_journal {
    const ls_allocator *allocator;
    const uint8_t *bytes;
    size_t size;
    ls_journal_header header;
    ls_journal_info info;
    ls_record_buffer raw; /* the payload of a record */

    /* Where blocks and snapshots begin, by offset; those of blocks by tick as well. */
    ls_journal_index_entry *entries;
    size_t entry_count;
    size_t entry_capacity;

    /* Where next_tick goes on. */
    ls_record_buffer block; /* the payload that `reader` is in */
    ls_tick_block_reader reader;
    bool has_block;
    uint64_t place;
    ls_tick want;

    /* The last finding of find_snapshot. */
    uint64_t found_place;
    ls_tick found_tick;
};

/* How far a snapshot that is being read has come. */
typedef struct pieces_read {
    ls_journal_snapshot head;
    uint32_t next; /* 0: none is begun */
} pieces_read;

/* ---- payloads ---- */

/* For one payload at least, which was passed over. */
static bool is_out_of_memory(const ls_journal *journal)
{
    return journal->raw.is_out_of_memory || journal->block.is_out_of_memory;
}

static ls_record_walk walk_in(const ls_journal *journal, uint64_t offset)
{
    return ls_record_walk_from(&ls_journal_format, journal->bytes, journal->size, offset);
}

/* Makes journal->reader read a block; false when that cannot be. */
static bool open_block(ls_journal *journal, const ls_record *frame, const uint8_t *raw)
{
    const ls_journal_header *header = &journal->header;
    return ls_tick_block_open(&journal->reader, raw, frame->raw_bytes, header->config.players,
                              header->input_bytes_max) == LS_OK;
}

/* A piece's head, if all of it can be read. */
static bool read_piece(const uint8_t *raw, size_t size, ls_journal_snapshot *out)
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

/* Whether the snapshot is whole with this piece. */
static bool add_piece(pieces_read *sofar, const ls_journal_snapshot *head)
{
    bool is_next = head->piece == sofar->next && head->tick == sofar->head.tick &&
                   head->state_hash == sofar->head.state_hash &&
                   head->state_bytes == sofar->head.state_bytes;
    if (head->piece == 0) {
        *sofar = (pieces_read){.head = *head, .next = 1};
    } else {
        sofar->next = sofar->next > 0 && is_next ? sofar->next + 1 : 0;
    }
    return sofar->next > 0 && sofar->next == ls_journal_pieces(head->state_bytes);
}

/* The next record of the kind, and its payload in journal->raw. */
static const uint8_t *next_of_kind(ls_journal *journal, ls_record_walk *walk, uint32_t kind,
                                   ls_record *frame)
{
    while (ls_record_walk_next(walk, frame)) {
        if (frame->kind == kind) {
            const uint8_t *raw = ls_record_payload(frame, &journal->raw);
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
    journal->place = LS_RECORD_FILE_HEAD_BYTES;
    find_place(journal, LS_JOURNAL_TICKS, tick, &count, &journal->place);
}

static bool next_block(ls_journal *journal)
{
    ls_record_walk walk = walk_in(journal, journal->place);
    ls_record frame;
    while (ls_record_walk_next(&walk, &frame)) {
        journal->place = walk.at;
        const uint8_t *raw =
            frame.kind == LS_JOURNAL_TICKS ? ls_record_payload(&frame, &journal->block) : NULL;
        if (raw && open_block(journal, &frame, raw) &&
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
    return is_out_of_memory(journal) ? LS_NO_MEMORY : LS_NOT_FOUND;
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
    ls_record_walk walk = walk_in(journal, place);
    ls_record frame;
    pieces_read sofar = {0};
    const uint8_t *raw = NULL;
    while ((raw = next_of_kind(journal, &walk, LS_JOURNAL_SNAPSHOT, &frame)) != NULL) {
        ls_journal_snapshot head;
        bool is_first = sofar.next == 0;
        if (!read_piece(raw, frame.raw_bytes, &head) || is_first != (head.piece == 0) ||
            (state && (head.tick != out->tick || head.state_bytes != out->state_bytes))) {
            return false;
        }
        bool is_whole = add_piece(&sofar, &head);
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
    ls_record_walk walk = walk_in(journal, *place);
    ls_record frame;
    const uint8_t *raw = NULL;
    while ((raw = next_of_kind(journal, &walk, LS_JOURNAL_SNAPSHOT, &frame)) != NULL) {
        ls_journal_snapshot head;
        if (frame.offset == *place || !read_piece(raw, frame.raw_bytes, &head) || head.piece > 0) {
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
    uint64_t from = *offset > LS_RECORD_FILE_HEAD_BYTES ? *offset : LS_RECORD_FILE_HEAD_BYTES;
    ls_record_walk walk = walk_in(journal, from);
    ls_record frame;
    while (ls_record_walk_next(&walk, &frame)) {
        const uint8_t *raw = ls_record_payload(&frame, &journal->raw);
        *offset = walk.at;
        if (raw) {
            *out = (ls_journal_record){.kind = frame.kind,
                                       .offset = frame.offset,
                                       .stored_bytes =
                                           LS_RECORD_MARKED_BYTES + (size_t)frame.stored_bytes,
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

/* ---- the index of a file ---- */

static ls_status add_entry(ls_journal *journal, ls_journal_index_entry entry)
{
    if (journal->entry_count == journal->entry_capacity) {
        size_t capacity = journal->entry_capacity > 0 ? journal->entry_capacity * 2 : 256;
        ls_journal_index_entry *entries =
            ls_allocate_array(journal->allocator, capacity, sizeof *entries);
        if (!entries) {
            return LS_NO_MEMORY;
        }
        if (journal->entry_count > 0) {
            memcpy(entries, journal->entries, journal->entry_count * sizeof *entries);
        }
        ls_release(journal->allocator, journal->entries);
        journal->entries = entries;
        journal->entry_capacity = capacity;
    }
    journal->entries[journal->entry_count++] = entry;
    return LS_OK;
}

/* END is the last record and never compressed. */
static bool read_end(const ls_journal *journal, uint64_t size, uint64_t *offset,
                     ls_journal_end *out)
{
    ls_record frame;
    size_t bytes = LS_RECORD_MARKED_BYTES + LS_JOURNAL_END_BYTES;
    if (size < bytes ||
        !ls_record_read(&ls_journal_format, journal->bytes, journal->size, size - bytes, &frame) ||
        frame.kind != LS_JOURNAL_END || frame.is_compressed) {
        return false;
    }
    ls_journal_end end = {0};
    ls_byte_stream stream = ls_byte_stream_read(frame.payload, frame.stored_bytes);
    ls_journal_end_stream(&stream, &end);
    if (!ls_byte_stream_is_at_end(&stream) || end.final_tick < journal->header.first_tick) {
        return false;
    }
    *offset = frame.offset;
    *out = end;
    return true;
}

static bool is_entry_possible(const ls_journal *journal, ls_journal_index_entry entry,
                              uint64_t first, uint64_t end)
{
    bool is_kind = entry.kind == LS_JOURNAL_TICKS || entry.kind == LS_JOURNAL_SNAPSHOT;
    bool is_behind = journal->entry_count == 0 ||
                     entry.offset > journal->entries[journal->entry_count - 1].offset;
    return is_kind && is_behind && entry.offset >= first && entry.offset < end;
}

/* True when the journal was closed cleanly and its index makes sense. */
static bool read_index(ls_journal *journal, uint64_t first)
{
    uint64_t end_offset = 0;
    ls_journal_end end;
    ls_record frame;
    if (!read_end(journal, journal->size, &end_offset, &end) ||
        !ls_record_read(&ls_journal_format, journal->bytes, journal->size, end.index_offset,
                        &frame) ||
        frame.kind != LS_JOURNAL_INDEX || ls_record_end(&frame, &ls_journal_format) != end_offset) {
        return false;
    }
    const uint8_t *raw = ls_record_payload(&frame, &journal->raw);
    uint32_t count = raw ? ls_journal_index_count(raw, frame.raw_bytes) : UINT32_MAX;
    bool is_good = count != UINT32_MAX;
    for (uint32_t i = 0; is_good && i < count; i++) {
        ls_journal_index_entry entry = ls_journal_index_read(raw, i);
        is_good = is_entry_possible(journal, entry, first, end.index_offset) &&
                  add_entry(journal, entry) == LS_OK;
    }
    if (!is_good) {
        journal->entry_count = 0;
        return false;
    }
    journal->info.is_complete = true;
    journal->info.end = end;
    journal->info.end_tick = end.final_tick;
    journal->info.tick_chain = end.tick_chain;
    journal->info.append_offset = end.index_offset;
    return true;
}

/* ---- every record ---- */

typedef struct counting {
    ls_journal *journal;
    ls_record_walk walk;
    ls_record frame;
    uint64_t lost_before; /* how much had been lost when the last block was read */
    uint64_t whole_end;   /* behind the last record before which nothing was, since that block */
    pieces_read pieces;
} counting;

static void note_gap(counting *count, ls_tick from, ls_tick to)
{
    ls_journal_info *info = &count->journal->info;
    if (info->gaps++ == 0) {
        info->gap_tick = from;
        info->gap_offset = count->whole_end;
    }
    info->ticks_missing += to - from;
}

static void note_lost(const counting *count)
{
    ls_journal_info *info = &count->journal->info;
    if (count->walk.lost_bytes > count->lost_before && info->lost_tick == UINT32_MAX) {
        info->lost_tick = info->end_tick;
    }
}

static ls_status count_block(counting *count, const uint8_t *raw)
{
    ls_journal *journal = count->journal;
    ls_journal_info *info = &journal->info;
    const ls_tick_block_head *head = &journal->reader.head;
    if (!open_block(journal, &count->frame, raw) || head->first < info->end_tick) {
        return LS_OK; /* intact, but not what a recorder writes */
    }
    if (head->first > info->end_tick) {
        note_lost(count);
        note_gap(count, info->end_tick, head->first);
    }
    count->lost_before = count->walk.lost_bytes;
    info->end_tick = head->first + head->count;
    info->ticks += head->count;
    info->state_hashes += ls_tick_block_hashes(&journal->reader);
    info->tick_chain = head->chain;
    return add_entry(journal,
                     (ls_journal_index_entry){LS_JOURNAL_TICKS, head->first, count->frame.offset});
}

static ls_status count_piece(counting *count, const uint8_t *raw)
{
    ls_journal_snapshot head;
    if (!read_piece(raw, count->frame.raw_bytes, &head)) {
        return LS_OK;
    }
    if (add_piece(&count->pieces, &head)) {
        count->journal->info.snapshots++;
    }
    return head.piece > 0
               ? LS_OK
               : add_entry(count->journal, (ls_journal_index_entry){LS_JOURNAL_SNAPSHOT, head.tick,
                                                                    count->frame.offset});
}

static ls_status count_record(counting *count)
{
    const ls_record *frame = &count->frame;
    ls_journal_info *info = &count->journal->info;
    uint32_t kind = frame->kind < LS_JOURNAL_KIND_COUNT ? frame->kind : 0;
    info->records[kind]++;
    info->stored_bytes[kind] += LS_RECORD_MARKED_BYTES + (uint64_t)frame->stored_bytes;
    info->raw_bytes[kind] += frame->raw_bytes;
    if (kind != LS_JOURNAL_INDEX && kind != LS_JOURNAL_END) {
        info->append_offset = ls_record_end(frame, &ls_journal_format);
    }
    if (kind != LS_JOURNAL_TICKS && kind != LS_JOURNAL_SNAPSHOT) {
        return LS_OK;
    }
    const uint8_t *raw = ls_record_payload(frame, &count->journal->raw);
    if (!raw) {
        return LS_OK;
    }
    return kind == LS_JOURNAL_TICKS ? count_block(count, raw) : count_piece(count, raw);
}

static ls_status count_all(ls_journal *journal)
{
    ls_journal_info *info = &journal->info;
    counting count = {.journal = journal, .walk = walk_in(journal, LS_RECORD_FILE_HEAD_BYTES)};
    uint64_t end_offset = 0;
    uint64_t behind = 0; /* the last record */
    while (ls_record_walk_next(&count.walk, &count.frame)) {
        ls_status status = count_record(&count);
        if (status != LS_OK) {
            return status;
        }
        behind = ls_record_end(&count.frame, &ls_journal_format);
        if (count.walk.lost_bytes == count.lost_before) {
            count.whole_end = behind;
        }
    }
    bool is_surplus = count.walk.lost_bytes > 0 && count.walk.lost_offset >= behind;
    info->is_counted = true;
    info->is_complete =
        read_end(journal, is_surplus ? behind : journal->size, &end_offset, &info->end);
    if (info->is_complete && is_surplus) {
        info->surplus_bytes = count.walk.lost_bytes;
    } else {
        note_lost(&count); /* behind the last block */
        info->lost_bytes = count.walk.lost_bytes;
        info->lost_offset = count.walk.lost_offset;
    }
    if (info->is_complete && info->end.final_tick > info->end_tick) {
        note_gap(&count, info->end_tick, info->end.final_tick);
    }
    return LS_OK;
}

/* ---- opening ---- */

/* The header's record; `first` is where the others begin. */
static ls_status read_header(ls_journal *journal, uint64_t *first, ls_text *why)
{
    ls_record frame;
    ls_status status = ls_record_file_check(&ls_journal_format, journal->bytes, journal->size, why);
    if (status != LS_OK) {
        return status;
    }
    if (!ls_record_read(&ls_journal_format, journal->bytes, journal->size,
                        LS_RECORD_FILE_HEAD_BYTES, &frame) ||
        frame.kind != LS_JOURNAL_HEADER) {
        return ls_fail(LS_MALFORMED, why, "the journal's header is damaged");
    }
    const uint8_t *raw = ls_record_payload(&frame, &journal->raw);
    ls_byte_stream stream = ls_byte_stream_read(raw, raw ? frame.raw_bytes : 0);
    ls_journal_header_stream(&stream, &journal->header);
    if (!ls_byte_stream_is_at_end(&stream)) {
        return ls_fail(LS_MALFORMED, why, "the journal's header makes no sense");
    }
    *first = ls_record_end(&frame, &ls_journal_format);
    return LS_OK;
}

static void describe_loss(const ls_journal_info *info, ls_text *why)
{
    ls_text_set(why, "%s", "");
    if (info->lost_bytes > 0) {
        ls_text_set(why, "%" PRIu64 " bytes are damaged, from byte %" PRIu64 " on",
                    info->lost_bytes, info->lost_offset);
        if (info->lost_tick != UINT32_MAX) {
            ls_text_add(why, "; ticks from %" PRIu32 " on were lost with them", info->lost_tick);
        }
    } else if (info->surplus_bytes > 0) {
        ls_text_set(
            why, "%" PRIu64 " bytes behind the journal's end belong to no record; nothing is lost",
            info->surplus_bytes);
    } else if (!info->is_complete) {
        ls_text_set(why,
                    "it was not closed: what came after its last record, of tick %" PRIu32
                    ", is not in it",
                    info->end_tick);
    }
}

static ls_status read_all(ls_journal *journal, ls_journal_trust trust, ls_text *why)
{
    uint64_t first = 0;
    ls_journal_info *info = &journal->info;
    ls_status status = read_header(journal, &first, why);
    if (status != LS_OK) {
        return status;
    }
    *info = (ls_journal_info){.first_tick = journal->header.first_tick,
                              .end_tick = journal->header.first_tick,
                              .bytes = journal->size,
                              .append_offset = first,
                              .lost_tick = UINT32_MAX,
                              .tick_chain = LS_TICK_CHAIN_START};
    if (trust == LS_JOURNAL_CHECK_ALL || !read_index(journal, first)) {
        status = count_all(journal);
    }
    describe_loss(info, why);
    return status;
}

ls_status ls_journal_open(const uint8_t *bytes, size_t size, ls_journal_trust trust,
                          const ls_allocator *allocator, ls_journal **out, ls_text *why)
{
    ls_journal *journal = ls_allocate(allocator, sizeof *journal);
    if (!journal) {
        return LS_NO_MEMORY;
    }
    journal->allocator = allocator;
    journal->raw.allocator = allocator;
    journal->block.allocator = allocator;
    journal->bytes = bytes;
    journal->size = size;
    ls_status status = read_all(journal, trust, why);
    status = is_out_of_memory(journal) ? LS_NO_MEMORY : status;
    if (status != LS_OK) {
        ls_journal_close(journal);
        return status;
    }
    ls_journal_seek(journal, journal->info.first_tick);
    *out = journal;
    return LS_OK;
}

void ls_journal_close(ls_journal *journal)
{
    if (!journal) {
        return;
    }
    ls_release(journal->allocator, journal->entries);
    ls_release(journal->allocator, journal->block.bytes);
    ls_release(journal->allocator, journal->raw.bytes);
    ls_release(journal->allocator, journal);
}

const ls_journal_header *ls_journal_header_of(const ls_journal *journal)
{
    return &journal->header;
}

const ls_journal_info *ls_journal_info_of(const ls_journal *journal)
{
    return &journal->info;
}

bool ls_journal_next_place(ls_journal *journal, uint64_t *number, ls_journal_index_entry *out)
{
    if (*number >= journal->entry_count) {
        return false;
    }
    *out = journal->entries[(*number)++];
    return true;
}

/* ---- a writer ---- */

struct ls_journal_writer {
    const ls_allocator *allocator;
    size_t raw_bytes_max;
    uint8_t *raw; /* a payload in one piece */
    uint8_t *out;
    size_t out_capacity;
    uint64_t offset; /* of the file's end */
    ls_journal_index index;

    /* The newest framed record, until the store has kept it. */
    size_t pending_bytes;
    ls_journal_index_entry pending; /* kind 0: none */
};

/* Takes over the entries that a continued journal's index would name. */
static void adopt_index(ls_journal_writer *writer, ls_journal *continued)
{
    uint64_t place = 0;
    ls_journal_index_entry entry;
    writer->offset = ls_journal_info_of(continued)->append_offset;
    while (ls_journal_next_place(continued, &place, &entry)) {
        if (entry.offset < writer->offset) {
            ls_journal_index_add(&writer->index, entry);
        }
    }
}

ls_status ls_journal_writer_create(size_t raw_bytes_max, ls_journal *continued,
                                   const ls_allocator *allocator, ls_journal_writer **out)
{
    LS_ASSERT(raw_bytes_max <= LS_JOURNAL_RAW_BYTES_MAX);
    size_t index_bytes = LS_JOURNAL_INDEX_BYTES_MAX;
    size_t largest = LS_MAX(raw_bytes_max, index_bytes);
    ls_journal_writer *writer = ls_allocate(allocator, sizeof *writer);
    if (!writer) {
        return LS_NO_MEMORY;
    }
    writer->allocator = allocator;
    writer->raw_bytes_max = largest;
    writer->out_capacity = LS_RECORD_FILE_HEAD_BYTES + 2 * LS_RECORD_MARKED_BYTES +
                           LS_JOURNAL_END_BYTES + ls_compress_bound(largest);
    writer->raw = ls_allocate(allocator, largest);
    writer->out = ls_allocate(allocator, writer->out_capacity);
    if (!writer->raw || !writer->out) {
        ls_journal_writer_destroy(writer);
        return LS_NO_MEMORY;
    }
    if (continued) {
        adopt_index(writer, continued);
    }
    *out = writer;
    return LS_OK;
}

void ls_journal_writer_destroy(ls_journal_writer *writer)
{
    if (!writer) {
        return;
    }
    ls_release(writer->allocator, writer->out);
    ls_release(writer->allocator, writer->raw);
    ls_release(writer->allocator, writer);
}

/* ---- framing ---- */

static void put_frame(ls_journal_writer *writer, ls_journal_kind kind, size_t size)
{
    writer->pending_bytes +=
        ls_record_pack(&ls_journal_format, writer->out + writer->pending_bytes,
                       writer->out_capacity - writer->pending_bytes, kind, writer->raw, size);
}

/* The index, and the END that says where it is. That one is found from the end of the file, so it
 * always has the same size: it is not compressed. */
static void put_end(ls_journal_writer *writer, size_t size)
{
    ls_journal_end end = {0};
    ls_byte_stream told = ls_byte_stream_read(writer->raw, size);
    ls_journal_end_stream(&told, &end);
    LS_ASSERT(!told.has_failed);
    end.index_offset = writer->offset + writer->pending_bytes;
    put_frame(writer, LS_JOURNAL_INDEX, ls_journal_index_write(&writer->index, writer->raw));
    uint8_t *place = writer->out + writer->pending_bytes;
    ls_byte_stream stream =
        ls_byte_stream_write(place + LS_RECORD_MARKED_BYTES, LS_JOURNAL_END_BYTES);
    ls_journal_end_stream(&stream, &end);
    ls_record_seal(
        &ls_journal_format, place,
        &(ls_record){.kind = LS_JOURNAL_END, .stored_bytes = stream.at, .raw_bytes = stream.at});
    writer->pending_bytes += LS_RECORD_MARKED_BYTES + stream.at;
}

static ls_journal_index_entry entry_of(const ls_journal_writer *writer, const ls_journal_raw *raw)
{
    ls_journal_index_entry entry = {
        .kind = raw->kind, .tick = raw->tick, .offset = writer->offset + writer->pending_bytes};
    if (raw->kind == LS_JOURNAL_SNAPSHOT) {
        ls_journal_snapshot snapshot = {0};
        ls_byte_stream stream = ls_byte_stream_read(raw->head, raw->head_bytes);
        ls_journal_snapshot_stream(&stream, &snapshot);
        entry.kind = snapshot.piece == 0 ? LS_JOURNAL_SNAPSHOT : 0;
    } else if (raw->kind != LS_JOURNAL_TICKS) {
        entry.kind = 0;
    }
    return entry;
}

ls_journal_framed ls_journal_writer_frame(ls_journal_writer *writer, const ls_journal_raw *raw)
{
    size_t raw_bytes = raw->head_bytes + raw->size;
    LS_ASSERT(raw->head_bytes <= sizeof raw->head && raw_bytes <= writer->raw_bytes_max);
    writer->pending_bytes = 0;
    if (writer->offset == 0) {
        ls_record_file_begin(&ls_journal_format, writer->out);
        writer->pending_bytes = LS_RECORD_FILE_HEAD_BYTES;
    }
    memcpy(writer->raw, raw->head, raw->head_bytes);
    if (raw->size > 0) {
        memcpy(writer->raw + raw->head_bytes, raw->bytes, raw->size);
    }
    writer->pending = entry_of(writer, raw);
    if (raw->kind == LS_JOURNAL_END) {
        put_end(writer, raw_bytes);
    } else {
        put_frame(writer, raw->kind, raw_bytes);
    }
    return (ls_journal_framed){writer->out, writer->pending_bytes, writer->offset};
}

void ls_journal_writer_keep(ls_journal_writer *writer)
{
    LS_ASSERT(writer->pending_bytes > 0);
    writer->offset += writer->pending_bytes;
    writer->pending_bytes = 0;
    if (writer->pending.kind != 0) {
        ls_journal_index_add(&writer->index, writer->pending);
    }
}
