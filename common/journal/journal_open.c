#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/journal/journal_state.h"
#include "lockstep/common/simulation/tick_chain.h"

#include <inttypes.h>
#include <string.h>

/* ---- the index ---- */

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
static bool read_end(const ls_journal *journal, uint64_t *offset, ls_journal_end *out)
{
    ls_journal_frame frame;
    size_t bytes = LS_JOURNAL_FRAME_BYTES + LS_JOURNAL_END_BYTES;
    if (journal->size < bytes ||
        !ls_journal_frame_read(journal->bytes, journal->size, journal->size - bytes, &frame) ||
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
static bool take_index(ls_journal *journal, uint64_t first)
{
    uint64_t end_offset = 0;
    ls_journal_end end;
    ls_journal_frame frame;
    if (!read_end(journal, &end_offset, &end) ||
        !ls_journal_frame_read(journal->bytes, journal->size, end.index_offset, &frame) ||
        frame.kind != LS_JOURNAL_INDEX || ls_journal_frame_end(&frame) != end_offset) {
        return false;
    }
    const uint8_t *raw = ls_journal_payload(journal, &frame, &journal->raw);
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
    ls_journal_walk walk;
    ls_journal_frame frame;
    uint64_t lost_before; /* how much had been lost when the last block was read */
    uint64_t whole_end;   /* behind the last record before which nothing was, since that block */
    ls_journal_pieces_read pieces;
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
    if (!ls_journal_open_block(journal, &count->frame, raw) || head->first < info->end_tick) {
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
    if (!ls_journal_read_piece(raw, count->frame.raw_bytes, &head)) {
        return LS_OK;
    }
    if (ls_journal_add_piece(&count->pieces, &head)) {
        count->journal->info.snapshots++;
    }
    return head.piece > 0
               ? LS_OK
               : add_entry(count->journal, (ls_journal_index_entry){LS_JOURNAL_SNAPSHOT, head.tick,
                                                                    count->frame.offset});
}

static ls_status count_record(counting *count)
{
    const ls_journal_frame *frame = &count->frame;
    ls_journal_info *info = &count->journal->info;
    uint32_t kind = frame->kind < LS_JOURNAL_KIND_COUNT ? frame->kind : 0;
    info->records[kind]++;
    info->stored_bytes[kind] += LS_JOURNAL_FRAME_BYTES + (uint64_t)frame->stored_bytes;
    info->raw_bytes[kind] += frame->raw_bytes;
    if (kind != LS_JOURNAL_INDEX && kind != LS_JOURNAL_END) {
        info->append_offset = ls_journal_frame_end(frame);
    }
    if (kind != LS_JOURNAL_TICKS && kind != LS_JOURNAL_SNAPSHOT) {
        return LS_OK;
    }
    const uint8_t *raw = ls_journal_payload(count->journal, frame, &count->journal->raw);
    if (!raw) {
        return LS_OK;
    }
    return kind == LS_JOURNAL_TICKS ? count_block(count, raw) : count_piece(count, raw);
}

static ls_status count_all(ls_journal *journal)
{
    ls_journal_info *info = &journal->info;
    counting count = {.journal = journal,
                      .walk = ls_journal_walk_in(journal, LS_JOURNAL_FILE_HEAD_BYTES)};
    uint64_t end_offset = 0;
    while (ls_journal_walk_next(&count.walk, &count.frame)) {
        ls_status status = count_record(&count);
        if (status != LS_OK) {
            return status;
        }
        if (count.walk.lost_bytes == count.lost_before) {
            count.whole_end = ls_journal_frame_end(&count.frame);
        }
    }
    note_lost(&count); /* behind the last block */
    info->is_counted = true;
    info->lost_bytes = count.walk.lost_bytes;
    info->lost_offset = count.walk.lost_offset;
    info->is_complete = read_end(journal, &end_offset, &info->end);
    if (info->is_complete && info->end.final_tick > info->end_tick) {
        note_gap(&count, info->end_tick, info->end.final_tick);
    }
    return LS_OK;
}

/* ---- opening ---- */

/* The header's record; `first` is where the others begin. */
static ls_status read_header(ls_journal *journal, uint64_t *first, ls_text *why)
{
    ls_journal_frame frame;
    if (journal->size < LS_JOURNAL_FILE_HEAD_BYTES ||
        memcmp(journal->bytes, LS_JOURNAL_MAGIC, sizeof LS_JOURNAL_MAGIC - 1) != 0) {
        return ls_fail(LS_MALFORMED, why, "this is no journal");
    }
    uint32_t version = ls_load_u32(journal->bytes + 8);
    if (version != LS_JOURNAL_VERSION) {
        return ls_fail(LS_MALFORMED, why,
                       "this is a journal of format %" PRIu32 ", and this build reads %u", version,
                       LS_JOURNAL_VERSION);
    }
    if (!ls_journal_frame_read(journal->bytes, journal->size, LS_JOURNAL_FILE_HEAD_BYTES, &frame) ||
        frame.kind != LS_JOURNAL_HEADER) {
        return ls_fail(LS_MALFORMED, why, "the journal's header is damaged");
    }
    const uint8_t *raw = ls_journal_payload(journal, &frame, &journal->raw);
    ls_byte_stream stream = ls_byte_stream_read(raw, raw ? frame.raw_bytes : 0);
    ls_journal_header_stream(&stream, &journal->header);
    if (!ls_byte_stream_is_at_end(&stream)) {
        return ls_fail(LS_MALFORMED, why, "the journal's header makes no sense");
    }
    *first = ls_journal_frame_end(&frame);
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
    if (trust == LS_JOURNAL_CHECK_ALL || !take_index(journal, first)) {
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
    journal->bytes = bytes;
    journal->size = size;
    ls_status status = read_all(journal, trust, why);
    status = journal->is_out_of_memory ? LS_NO_MEMORY : status;
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
