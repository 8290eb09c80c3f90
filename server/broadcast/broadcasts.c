#include "lockstep/server/broadcast/broadcasts.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/journal/journal_index.h"
#include "lockstep/common/program/json.h"
#include "lockstep/common/system/file.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

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
    snprintf(out, ID_TEXT_BYTES, "%016" PRIx64, ls_segments_header(broadcast->segments)->match_id);
}

static void fill_index(const ls_broadcasts *broadcasts, const ls_broadcast *broadcast,
                       uint32_t shown, ls_json *json)
{
    const ls_segments *segments = broadcast->segments;
    const ls_journal_header *header = ls_segments_header(segments);
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
        const ls_journal_header *header = ls_segments_header(at->segments);
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
