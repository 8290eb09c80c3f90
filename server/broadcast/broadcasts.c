#include "lockstep/server/broadcast/broadcasts.h"

#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/journal/journal_index.h"
#include "lockstep/common/program/json.h"
#include "lockstep/common/system/file.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* ---- segments ---- */

enum {
    SEGMENT_S = 2, /* of ticks, before the next one begins */
    SEGMENTS_MAX = 1 << 17,
    FIRST_ROOM = 64,
};

typedef struct list {
    void *items;
    uint32_t count, capacity;
} list;

struct ls_segments {
    const ls_allocator *allocator;
    uint64_t offset; /* of what has not been read */
    bool has_header, is_public, is_over;
    ls_journal_header header;
    ls_record_buffer raw; /* the payload of a record */
    list closed;          /* segments */
    list runs;            /* of all segments, in their order */
    ls_segment open;      /* the newest one, which grows */
    ls_journal_snapshot snapshot;
    uint32_t pieces; /* of it that the open segment has; 0: none is begun */
    ls_tick_block_reader block;
};

ls_status ls_segments_create(const ls_allocator *allocator, ls_segments **out)
{
    ls_segments *made = ls_allocate(allocator, sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    made->allocator = allocator;
    made->raw.allocator = allocator;
    *out = made;
    return LS_OK;
}

void ls_segments_destroy(ls_segments *segments)
{
    if (segments) {
        const ls_allocator *allocator = segments->allocator;
        ls_release(allocator, segments->raw.bytes);
        ls_release(allocator, segments->closed.items);
        ls_release(allocator, segments->runs.items);
        ls_release(allocator, segments);
    }
}

/* ---- lists ---- */

/* Room for one more behind the others; NULL: memory is out, or there are too many. */
static void *append(ls_segments *segments, list *to, size_t item_bytes)
{
    if (to->count == to->capacity) {
        uint32_t capacity = to->capacity > 0 ? 2 * to->capacity : FIRST_ROOM;
        void *items = capacity <= 4 * SEGMENTS_MAX
                          ? ls_allocate(segments->allocator, capacity * item_bytes)
                          : NULL;
        if (!items) {
            segments->is_over = true;
            return NULL;
        }
        if (to->count > 0) {
            memcpy(items, to->items, to->count * item_bytes);
        }
        ls_release(segments->allocator, to->items);
        to->items = items;
        to->capacity = capacity;
    }
    return (uint8_t *)to->items + item_bytes * to->count++;
}

/* Records that stand behind one another are one run. */
static void add_record(ls_segments *segments, uint64_t offset, uint64_t bytes)
{
    ls_segment *open = &segments->open;
    ls_segment_run *last = open->run_count > 0
                               ? (ls_segment_run *)segments->runs.items + segments->runs.count - 1
                               : NULL;
    open->bytes += bytes;
    if (last && last->offset + last->bytes == offset) {
        last->bytes += bytes;
        return;
    }
    ls_segment_run *run = append(segments, &segments->runs, sizeof *run);
    if (run) {
        *run = (ls_segment_run){offset, bytes};
        open->run_count++;
    }
}

/* ---- where one ends ---- */

static void begin(ls_segments *segments, ls_tick first_tick)
{
    segments->open = (ls_segment){
        .first_tick = first_tick, .end_tick = first_tick, .first_run = segments->runs.count};
    segments->pieces = 0;
}

static void close_open(ls_segments *segments, ls_tick next_tick, uint64_t now_ns)
{
    if (segments->open.run_count > 0) {
        ls_segment *kept = append(segments, &segments->closed, sizeof *kept);
        if (kept) {
            *kept = segments->open;
            kept->came_ns = now_ns;
        }
    }
    begin(segments, next_tick);
}

static bool is_long_enough(const ls_segments *segments, ls_tick first)
{
    const ls_segment *open = &segments->open;
    bool is_in_snapshot = segments->pieces > 0 && !open->is_key;
    uint32_t ticks = SEGMENT_S * segments->header.config.tick_rate_hz;
    return !is_in_snapshot && open->end_tick - open->first_tick >= ticks && first >= open->end_tick;
}

static void on_ticks(ls_segments *segments, const uint8_t *raw, size_t size, uint64_t now_ns)
{
    const ls_journal_header *header = &segments->header;
    if (ls_tick_block_open(&segments->block, raw, size, header->config.players,
                           header->input_bytes_max) != LS_OK) {
        return;
    }
    const ls_tick_block_head *head = &segments->block.head;
    if (is_long_enough(segments, head->first)) {
        close_open(segments, head->first, now_ns);
    }
    segments->open.end_tick = head->first + head->count;
}

static void on_piece(ls_segments *segments, const uint8_t *raw, size_t size, uint64_t now_ns)
{
    ls_journal_snapshot head = {0};
    ls_byte_stream stream = ls_byte_stream_read(raw, size);
    ls_journal_snapshot_stream(&stream, &head);
    if (stream.has_failed) {
        return;
    }
    if (head.piece == 0) {
        close_open(segments, head.tick, now_ns);
        segments->snapshot = head;
    } else if (segments->pieces != head.piece || head.tick != segments->snapshot.tick) {
        segments->pieces = 0; /* of another one: the segment is of no use without those before */
        return;
    }
    segments->pieces = head.piece + 1;
    segments->open.is_key = segments->pieces == ls_journal_pieces(segments->snapshot.state_bytes);
}

/* ---- records ---- */

static void on_header(ls_segments *segments, const uint8_t *raw, size_t size)
{
    ls_journal_header *header = &segments->header;
    ls_byte_stream stream = ls_byte_stream_read(raw, size);
    ls_journal_header_stream(&stream, header);
    segments->has_header = ls_byte_stream_is_at_end(&stream) && header->config.tick_rate_hz > 0;
    segments->is_over = !segments->has_header;
    ls_cipher_wipe(&header->key, sizeof header->key);
    header->print = (ls_build_fingerprint){0};
    begin(segments, header->first_tick);
    segments->open.is_key = header->first_tick == 0;
}

static void on_event(ls_segments *segments, const uint8_t *raw, size_t size)
{
    ls_journal_event event = {0};
    ls_byte_stream stream = ls_byte_stream_read(raw, size);
    ls_journal_event_stream(&stream, &event);
    segments->is_public =
        segments->is_public || (!stream.has_failed && event.kind == LS_JOURNAL_EVENT_PUBLIC);
}

/* Names and reasons of people stand in events, places of the file in INDEX: both stay here. */
static void on_record(ls_segments *segments, const ls_record *record, uint64_t offset,
                      uint64_t now_ns)
{
    const uint8_t *raw = ls_record_payload(record, &segments->raw);
    size_t size = (size_t)record->raw_bytes;
    bool is_shown = record->kind == LS_JOURNAL_TICKS || record->kind == LS_JOURNAL_SNAPSHOT ||
                    record->kind == LS_JOURNAL_END;
    segments->is_over = !raw || (record->kind == LS_JOURNAL_HEADER) == segments->has_header ||
                        (is_shown && !segments->is_public);
    if (segments->is_over) {
        return;
    }
    switch (record->kind) {
    case LS_JOURNAL_HEADER:
        on_header(segments, raw, size);
        return;
    case LS_JOURNAL_EVENT:
        on_event(segments, raw, size);
        return;
    case LS_JOURNAL_TICKS:
        on_ticks(segments, raw, size, now_ns);
        break;
    case LS_JOURNAL_SNAPSHOT:
        on_piece(segments, raw, size, now_ns);
        break;
    case LS_JOURNAL_END:
        break;
    default:
        return;
    }
    add_record(segments, offset, ls_record_end(record, &ls_journal_format) - record->offset);
    if (record->kind == LS_JOURNAL_END) {
        close_open(segments, segments->open.end_tick, now_ns);
        segments->is_over = true;
    }
}

/* The size of what was read; 0: the rest of it is still to come. */
static size_t read_one(ls_segments *segments, const uint8_t *bytes, size_t size, uint64_t now_ns)
{
    ls_record record;
    ls_text why;
    if (segments->offset == 0) {
        if (size < LS_RECORD_FILE_HEAD_BYTES) {
            return 0;
        }
        segments->is_over = ls_record_file_check(&ls_journal_format, bytes, size, &why) != LS_OK;
        return LS_RECORD_FILE_HEAD_BYTES;
    }
    if (!ls_record_read(&ls_journal_format, bytes, size, 0, &record)) {
        segments->is_over = size >= LS_SEGMENTS_READ_BYTES;
        return 0;
    }
    on_record(segments, &record, segments->offset, now_ns);
    return (size_t)ls_record_end(&record, &ls_journal_format);
}

void ls_segments_read(ls_segments *segments, const uint8_t *bytes, size_t size, uint64_t now_ns)
{
    size_t read = 1;
    for (size_t at = 0; read > 0 && !segments->is_over; at += read) {
        read = read_one(segments, bytes + at, size - at, now_ns);
        segments->offset += read;
    }
}

/* ---- questions ---- */

uint64_t ls_segments_offset(const ls_segments *segments)
{
    return segments->offset;
}

bool ls_segments_are_public(const ls_segments *segments)
{
    return segments->is_public;
}

bool ls_segments_are_over(const ls_segments *segments)
{
    return segments->is_over;
}

uint32_t ls_segments_count(const ls_segments *segments)
{
    return segments->closed.count;
}

const ls_segment *ls_segments_at(const ls_segments *segments, uint32_t number)
{
    return (const ls_segment *)segments->closed.items + number;
}

const ls_segment_run *ls_segments_runs(const ls_segments *segments, const ls_segment *segment)
{
    return (const ls_segment_run *)segments->runs.items + segment->first_run;
}

/* Without its key and build. NULL until it has been read. */
static const ls_journal_header *header_of(const ls_segments *segments)
{
    return segments->has_header ? &segments->header : NULL;
}

size_t ls_segments_write_head(const ls_segments *segments, const ls_segment *segment,
                              uint8_t out[LS_SEGMENT_HEAD_BYTES_MAX])
{
    ls_journal_header header = segments->header;
    uint8_t *place = out + LS_RECORD_FILE_HEAD_BYTES;
    header.first_tick = segment->first_tick;
    ls_record_file_begin(&ls_journal_format, out);
    ls_byte_stream stream =
        ls_byte_stream_write(place + LS_RECORD_MARKED_BYTES, LS_JOURNAL_HEADER_BYTES_MAX);
    ls_journal_header_stream(&stream, &header);
    const ls_record record = {
        .kind = LS_JOURNAL_HEADER, .stored_bytes = stream.at, .raw_bytes = stream.at};
    ls_record_seal(&ls_journal_format, place, &record);
    return LS_RECORD_FILE_HEAD_BYTES + LS_RECORD_MARKED_BYTES + stream.at;
}

enum {
    NAME_BYTES_MAX = 256,
    PATH_BYTES_MAX = 4096 + NAME_BYTES_MAX,
    READS_PER_TURN = 4, /* of one journal */
    ID_TEXT_BYTES = 17,
};

/* Between two looks at the folder; so old a journal was written last by a match that is played; and
 * so long one is shown that is over, or was never closed. */
#define LOOK_NS (UINT64_C(2) * LS_NS_PER_SECOND)
#define FRESH_NS (UINT64_C(60) * LS_NS_PER_SECOND)
#define AFTER_END_NS (UINT64_C(300) * LS_NS_PER_SECOND)
#define SILENT_NS (UINT64_C(900) * LS_NS_PER_SECOND)

struct ls_broadcast {
    ls_broadcast *next;
    char name[NAME_BYTES_MAX]; /* of the journal in the folder */
    FILE *file;
    ls_segments *segments;
    uint64_t came_ns; /* when the last bytes of it came */
};

struct ls_broadcasts {
    const ls_allocator *allocator;
    const char *folder;
    uint64_t delay_ns;
    uint64_t looked_ns;
    bool has_looked;
    uint32_t count;
    ls_broadcast *first;
    uint8_t *bytes; /* LS_SEGMENTS_READ_BYTES */
};

ls_status ls_broadcasts_create(const char *folder, uint32_t delay_s, const ls_allocator *allocator,
                               ls_broadcasts **out)
{
    ls_broadcasts *made = ls_allocate(allocator, sizeof *made);
    uint8_t *bytes = made ? ls_allocate(allocator, LS_SEGMENTS_READ_BYTES) : NULL;
    if (!bytes) {
        ls_release(allocator, made);
        return LS_NO_MEMORY;
    }
    *made = (ls_broadcasts){.allocator = allocator,
                            .folder = folder,
                            .delay_ns = delay_s * LS_NS_PER_SECOND,
                            .bytes = bytes};
    *out = made;
    return LS_OK;
}

static void close_one(const ls_broadcasts *broadcasts, ls_broadcast *broadcast)
{
    ls_segments_destroy(broadcast->segments);
    fclose(broadcast->file);
    ls_release(broadcasts->allocator, broadcast);
}

void ls_broadcasts_destroy(ls_broadcasts *broadcasts)
{
    if (!broadcasts) {
        return;
    }
    while (broadcasts->first) {
        ls_broadcast *first = broadcasts->first;
        broadcasts->first = first->next;
        close_one(broadcasts, first);
    }
    ls_release(broadcasts->allocator, broadcasts->bytes);
    ls_release(broadcasts->allocator, broadcasts);
}

/* ---- the folder ---- */

static bool is_followed(const ls_broadcasts *broadcasts, const char *name)
{
    const ls_broadcast *at = broadcasts->first;
    while (at && strcmp(at->name, name) != 0) {
        at = at->next;
    }
    return at != NULL;
}

static bool look_at(const ls_broadcasts *broadcasts, const char *name, ls_file_facts *facts)
{
    char path[PATH_BYTES_MAX];
    int size = snprintf(path, sizeof path, "%s/%s", broadcasts->folder, name);
    return size > 0 && (size_t)size < sizeof path && ls_file_look(path, facts);
}

static void follow(ls_broadcasts *broadcasts, const char *name, uint64_t now_ns)
{
    char path[PATH_BYTES_MAX];
    snprintf(path, sizeof path, "%s/%s", broadcasts->folder, name);
    ls_broadcast *made = ls_allocate(broadcasts->allocator, sizeof *made);
    FILE *file = made ? fopen(path, "rb") : NULL;
    if (!file || ls_segments_create(broadcasts->allocator, &made->segments) != LS_OK) {
        if (file) {
            fclose(file);
        }
        ls_release(broadcasts->allocator, made);
        return;
    }
    made->file = file;
    made->came_ns = now_ns;
    made->next = broadcasts->first;
    ls_name_copy(made->name, sizeof made->name, name);
    broadcasts->first = made;
    broadcasts->count++;
}

static void look(ls_broadcasts *broadcasts, uint64_t now_ns, int64_t wall_ns)
{
    ls_folder *folder = ls_folder_open(broadcasts->folder);
    const char *name = NULL;
    ls_file_facts facts;
    while (folder && broadcasts->count < LS_BROADCASTS_MAX &&
           (name = ls_folder_next(folder)) != NULL) {
        if (ls_journal_is_named(name) && strlen(name) < NAME_BYTES_MAX &&
            !is_followed(broadcasts, name) && look_at(broadcasts, name, &facts) &&
            facts.kind == LS_FILE_PLAIN && wall_ns - facts.changed_ns < (int64_t)FRESH_NS) {
            follow(broadcasts, name, now_ns);
        }
    }
    ls_folder_close(folder);
}

/* ---- one journal ---- */

/* A server that came back has cut off what it takes for torn, and may write something else there.
 */
static void begin_anew_if_cut(const ls_broadcasts *broadcasts, ls_broadcast *broadcast)
{
    ls_segments *anew = NULL;
    bool is_cut = fseek(broadcast->file, 0, SEEK_END) == 0 &&
                  ftell(broadcast->file) < (long)ls_segments_offset(broadcast->segments);
    if (is_cut && ls_segments_create(broadcasts->allocator, &anew) == LS_OK) {
        ls_segments_destroy(broadcast->segments);
        broadcast->segments = anew;
    }
}

static void read_on(const ls_broadcasts *broadcasts, ls_broadcast *broadcast, uint64_t now_ns)
{
    ls_segments *segments = broadcast->segments;
    for (uint32_t i = 0; i < READS_PER_TURN && !ls_segments_are_over(segments); i++) {
        uint64_t offset = ls_segments_offset(segments);
        if (fseek(broadcast->file, (long)offset, SEEK_SET) != 0) {
            return;
        }
        size_t size = fread(broadcasts->bytes, 1, LS_SEGMENTS_READ_BYTES, broadcast->file);
        ls_segments_read(segments, broadcasts->bytes, size, now_ns);
        if (ls_segments_offset(segments) == offset) {
            return;
        }
        broadcast->came_ns = now_ns;
    }
}

static bool is_gone(const ls_broadcasts *broadcasts, const ls_broadcast *broadcast, uint64_t now_ns)
{
    ls_file_facts facts;
    bool is_over = ls_segments_are_over(broadcast->segments);
    uint64_t silent_ns = now_ns - broadcast->came_ns;
    return silent_ns > (is_over ? broadcasts->delay_ns + AFTER_END_NS : SILENT_NS) ||
           (!is_over && !look_at(broadcasts, broadcast->name, &facts));
}

void ls_broadcasts_keep_up(ls_broadcasts *broadcasts, uint64_t now_ns, int64_t wall_ns)
{
    bool is_due = !broadcasts->has_looked || now_ns - broadcasts->looked_ns >= LOOK_NS;
    if (is_due) {
        look(broadcasts, now_ns, wall_ns);
        broadcasts->looked_ns = now_ns;
        broadcasts->has_looked = true;
    }
    for (ls_broadcast **at = &broadcasts->first; *at;) {
        ls_broadcast *broadcast = *at;
        begin_anew_if_cut(broadcasts, broadcast);
        read_on(broadcasts, broadcast, now_ns);
        if (is_due && is_gone(broadcasts, broadcast, now_ns)) {
            *at = broadcast->next;
            close_one(broadcasts, broadcast);
            broadcasts->count--;
        } else {
            at = &broadcast->next;
        }
    }
}

/* ---- what can be seen ---- */

static uint32_t count_shown(const ls_broadcasts *broadcasts, const ls_broadcast *broadcast,
                            uint64_t now_ns)
{
    uint32_t count = ls_segments_count(broadcast->segments);
    while (count > 0 && now_ns < ls_segments_at(broadcast->segments, count - 1)->came_ns +
                                     broadcasts->delay_ns) {
        count--;
    }
    return ls_segments_are_public(broadcast->segments) ? count : 0;
}

/* Where a newcomer begins. */
static uint32_t newest_key(const ls_broadcast *broadcast, uint32_t shown)
{
    uint32_t key = shown - 1;
    while (key > 0 && !ls_segments_at(broadcast->segments, key)->is_key) {
        key--;
    }
    return key;
}

static void write_id(const ls_broadcast *broadcast, char out[ID_TEXT_BYTES])
{
    snprintf(out, ID_TEXT_BYTES, "%016" PRIx64, header_of(broadcast->segments)->match_id);
}

static void fill_index(const ls_broadcasts *broadcasts, const ls_broadcast *broadcast,
                       uint32_t shown, ls_json *json)
{
    const ls_segments *segments = broadcast->segments;
    const ls_journal_header *header = header_of(segments);
    bool has_all = shown == ls_segments_count(segments) && ls_segments_are_over(segments);
    char id[ID_TEXT_BYTES];
    write_id(broadcast, id);
    ls_json_text(json, "match", id);
    ls_json_text(json, "simulation", header->simulation);
    ls_json_number(json, "simulation_version", header->simulation_version);
    ls_json_number(json, "players", header->config.players);
    ls_json_number(json, "tick_rate_hz", header->config.tick_rate_hz);
    ls_json_number(json, "segments", shown);
    ls_json_number(json, "key", newest_key(broadcast, shown));
    ls_json_number(json, "tick", ls_segments_at(segments, shown - 1)->end_tick);
    ls_json_number(json, "delay_s", (double)(broadcasts->delay_ns / LS_NS_PER_SECOND));
    ls_json_bool(json, "is_over", has_all);
}

static char *print(ls_json *json)
{
    char *line = ls_json_print_line(json);
    ls_json_destroy(json);
    return line;
}

char *ls_broadcasts_list(const ls_broadcasts *broadcasts, uint64_t now_ns)
{
    ls_json *json = ls_json_create();
    ls_json *matches = ls_json_array(json, "matches");
    for (const ls_broadcast *at = broadcasts->first; at; at = at->next) {
        uint32_t shown = count_shown(broadcasts, at, now_ns);
        if (shown > 0) {
            fill_index(broadcasts, at, shown, ls_json_append(matches));
        }
    }
    return print(json);
}

ls_broadcast *ls_broadcasts_find(const ls_broadcasts *broadcasts, uint64_t match_id,
                                 uint64_t now_ns)
{
    for (ls_broadcast *at = broadcasts->first; at; at = at->next) {
        const ls_journal_header *header = header_of(at->segments);
        if (header && header->match_id == match_id && count_shown(broadcasts, at, now_ns) > 0) {
            return at;
        }
    }
    return NULL;
}

char *ls_broadcast_index(const ls_broadcasts *broadcasts, const ls_broadcast *broadcast,
                         uint64_t now_ns)
{
    ls_json *json = ls_json_create();
    fill_index(broadcasts, broadcast, count_shown(broadcasts, broadcast, now_ns), json);
    return print(json);
}

static ls_status read_runs(ls_broadcast *broadcast, const ls_segment *segment, uint8_t *to)
{
    const ls_segment_run *runs = ls_segments_runs(broadcast->segments, segment);
    for (uint32_t i = 0; i < segment->run_count; i++) {
        if (fseek(broadcast->file, (long)runs[i].offset, SEEK_SET) != 0 ||
            fread(to, 1, (size_t)runs[i].bytes, broadcast->file) != runs[i].bytes) {
            return LS_IO;
        }
        to += runs[i].bytes;
    }
    return LS_OK;
}

ls_status ls_broadcast_segment(const ls_broadcasts *broadcasts, ls_broadcast *broadcast,
                               uint32_t number, uint64_t now_ns, uint8_t **out, size_t *size)
{
    if (number >= count_shown(broadcasts, broadcast, now_ns)) {
        return LS_NOT_FOUND;
    }
    const ls_segment *segment = ls_segments_at(broadcast->segments, number);
    if (segment->bytes > LS_BROADCAST_SEGMENT_BYTES_MAX) {
        return LS_FULL;
    }
    size_t room = LS_SEGMENT_HEAD_BYTES_MAX + (size_t)segment->bytes;
    uint8_t *bytes = ls_allocate(ls_allocator_heap(), room);
    if (!bytes) {
        return LS_NO_MEMORY;
    }
    size_t head = ls_segments_write_head(broadcast->segments, segment, bytes);
    if (read_runs(broadcast, segment, bytes + head) != LS_OK) {
        ls_release(ls_allocator_heap(), bytes);
        return LS_IO;
    }
    *out = bytes;
    *size = head + (size_t)segment->bytes;
    return LS_OK;
}

/* ---- broadcast path ---- */

enum {
    ID_DIGITS = 16,
    NUMBER_DIGITS_MAX = 8,
};

/* Behind the digits; NULL: they are not there. */
static const char *read_id(const char *text, uint64_t *out)
{
    return ls_hex_read_number(text, ID_DIGITS, out) ? text + ID_DIGITS : NULL;
}

/* Without zeros before it. */
static const char *read_number(const char *text, uint32_t *out)
{
    size_t size = strspn(text, "0123456789");
    *out = 0;
    if (size == 0 || size > NUMBER_DIGITS_MAX || (size > 1 && text[0] == '0')) {
        return NULL;
    }
    for (size_t i = 0; i < size; i++) {
        *out = *out * 10 + (uint32_t)(text[i] - '0');
    }
    return text + size;
}

bool ls_broadcast_path_read(const char *path, ls_broadcast_path *out)
{
    ls_broadcast_path read = {LS_BROADCAST_PATH_LIST, 0, 0};
    size_t root = sizeof LS_BROADCAST_ROOT - 1;
    if (strncmp(path, LS_BROADCAST_ROOT, root) != 0) {
        return false;
    }
    const char *at = path + root;
    if (*at != '\0') {
        at = *at == '/' ? read_id(at + 1, &read.match_id) : NULL;
        read.kind = LS_BROADCAST_PATH_INDEX;
    }
    if (at && *at != '\0') {
        at = *at == '/' ? read_number(at + 1, &read.segment) : NULL;
        read.kind = LS_BROADCAST_PATH_SEGMENT;
    }
    if (!at || *at != '\0') {
        return false;
    }
    *out = read;
    return true;
}
