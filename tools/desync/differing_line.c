#include "lockstep/tools/desync/differing_line.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/diagnosis/rerun_pipe.h"
#include "lockstep/common/loader/plugin_contents.h"
#include "lockstep/common/loader/plugin_loader.h"
#include "lockstep/common/maths/stable_sort.h"
#include "lockstep/common/runtime/rerun/rerun_helper.h"
#include "lockstep/common/simulation/state_schema.h"
#include "lockstep/common/system/ability.h"
#include "lockstep/common/system/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- write stream: all writes of the bad step of a bundle, made in a helper process with one
 * thing about the machine changed, and the first of them in which two such processes part. A write
 * has the code that made it when it is asked for ---- */

/* All that a helper tells. */
typedef struct write_stream {
    uint64_t state_hash; /* at the end of the step */
    uint32_t count;
    explain_stream_write *list;
} write_stream;

typedef struct stream_difference {
    uint32_t at[2];     /* the index in each stream; UINT32_MAX: it does not write it any more */
    bool is_finer_in_b; /* which writes the element more often: its line says more */
} stream_difference;

#define STREAM_ARGUMENT "--write-stream="

enum {
    EXIT_OK = 0,
    EXIT_BAD = 1,
};

/* The first bytes of what a helper writes; both ends are one build. `count` writes follow. */
typedef struct stream_head {
    uint64_t state_hash;
    uint32_t count;
    bool has_code;
    explain_stream_code code;
} stream_head;

/* ---- the helper ---- */

bool explain_stream_helper_is_asked(int argc, char **argv)
{
    return argc == 2 && strncmp(argv[1], STREAM_ARGUMENT, strlen(STREAM_ARGUMENT)) == 0;
}

/* The stack of the one write that the trace lists. */
static void read_code(const explain_write_trace *trace, const explain_write_stream *stream,
                      stream_head *head)
{
    if (trace->list_count == 0) {
        return;
    }
    explain_code_places *places = explain_code_places_open();
    const explain_field_write *write = &trace->writes[0];
    head->has_code = true;
    head->code.write = stream->list[stream->wanted];
    head->code.level_count = explain_code_places_stack(places, write->instruction, write->stack,
                                                       write->stack_count, head->code.levels);
    explain_code_places_close(places);
}

static ls_status trace(const ls_rerun_order *order, explain_write_stream *stream, stream_head *head)
{
    ls_text why = {{0}};
    ls_loaded_simulation loaded;
    explain_write_trace traced = {0};
    ls_status status = ls_simulation_load(order->match.simulation, &loaded, &why);
    if (status != LS_OK || loaded.simulation->hash || !stream->list) {
        return status == LS_OK ? LS_UNSUPPORTED : status;
    }
    ls_rerun_helper_fill_blocks();
    ls_step_noise noise = ls_rerun_first_noise(&order->stretch, loaded.simulation->pass_count,
                                               order->match.noise); /* the same result */
    noise.is_deep = true;
    stream->noise = &noise;
    const explain_write_request request = {.stream = stream,
                                           .wants_watch = true,
                                           .workers = order->match.workers,
                                           .state_hash = &head->state_hash};
    status = explain_write_trace_run(loaded.simulation, &order->match.config, &order->stretch,
                                     &request, &traced, &why);
    if (status == LS_OK && !traced.is_watched) {
        status = LS_UNSUPPORTED;
    } else if (status == LS_OK) {
        read_code(&traced, stream, head);
    }
    explain_write_trace_release(&traced);
    return status;
}

int explain_stream_helper_run(char **argv)
{
    explain_write_stream stream = {.list = calloc(EXPLAIN_STREAM_MAX, sizeof *stream.list)};
    const ls_rerun_order *order = ls_rerun_helper_begin();
    static stream_head head;
    if (!order || sscanf(argv[1] + strlen(STREAM_ARGUMENT), "%" SCNu32 ":%" SCNu32, &stream.pass,
                         &stream.wanted) != 2) {
        return EXIT_BAD;
    }
    if (trace(order, &stream, &head) == LS_OK) {
        bool wants_all = stream.wanted == UINT32_MAX;
        head.count = wants_all ? stream.count : 0;
        if (ls_rerun_helper_write(&head, sizeof head) &&
            ls_rerun_helper_write(stream.list, head.count * sizeof stream.list[0])) {
            _Exit(EXIT_OK); /* without what a plug-in does at the end */
        }
    }
    _Exit(EXIT_BAD);
}

/* ---- the parent ---- */

static bool take(const explain_runs *runs, const explain_variation *run, const uint32_t which[2],
                 uint8_t *output, size_t room, ls_text *why)
{
    char argument[64];
    size_t size = 0;
    const stream_head *head = (const void *)output; /* from malloc */
    snprintf(argument, sizeof argument, "%s%" PRIu32 ":%" PRIu32, STREAM_ARGUMENT, which[0],
             which[1]);
    if (!explain_variation_run(runs, run, argument, NULL, output, room, &size, why)) {
        return false;
    }
    if (size < sizeof *head ||
        size != sizeof *head + (size_t)head->count * sizeof(explain_stream_write)) {
        ls_text_set(why, "the helper that watches the writes ended early");
        return false;
    }
    return true;
}

/* Runs a helper. `pass`: of its writes alone, or LS_NO_PASS. False, with `why`: it told nothing.
 * Release it in any case. */
static bool take_stream(const explain_runs *runs, const explain_variation *run, uint32_t pass,
                        write_stream *out, ls_text *why)
{
    const size_t room = sizeof(stream_head) + EXPLAIN_STREAM_MAX * sizeof(explain_stream_write);
    uint8_t *output = malloc(room);
    const uint32_t which[2] = {pass, UINT32_MAX};
    *out = (write_stream){.count = 0};
    if (output && take(runs, run, which, output, room, why)) {
        const stream_head *head = (const void *)output;
        size_t bytes = head->count * sizeof out->list[0];
        out->state_hash = head->state_hash;
        out->list = malloc(bytes > 0 ? bytes : 1);
        out->count = out->list ? head->count : 0;
        memcpy(out->list, output + sizeof *head, out->count * sizeof out->list[0]);
    }
    free(output);
    return out->list != NULL;
}

static void release_stream(write_stream *stream)
{
    free(stream->list);
    *stream = (write_stream){0};
}

/* The same once more, for the code of one of its writes. */
static bool read_code_of(const explain_runs *runs, const explain_variation *run, uint32_t pass,
                         uint32_t index, explain_stream_code *out, ls_text *why)
{
    stream_head *head = calloc(1, sizeof *head);
    const uint32_t which[2] = {pass, index};
    bool is_known =
        head && take(runs, run, which, (uint8_t *)head, sizeof *head, why) && head->has_code;
    if (is_known) {
        *out = head->code;
    }
    free(head);
    return is_known;
}

/* ---- where two part ---- */

/* The writes to one element in one pass, in their order. */
typedef struct write_group {
    const explain_stream_write *const *first;
    uint32_t count;
} write_group;

/* By pass, then element. */
static int compare_writes(const void *left, const void *right, const void *context)
{
    (void)context;
    const explain_stream_write *a = *(const explain_stream_write *const *)left;
    const explain_stream_write *b = *(const explain_stream_write *const *)right;
    if (a->pass != b->pass) {
        return a->pass < b->pass ? -1 : 1;
    }
    if (a->offset != b->offset) {
        return a->offset < b->offset ? -1 : 1;
    }
    return 0;
}

/* Those of one element in one pass stay in their order. */
static const explain_stream_write **sort(const write_stream *stream)
{
    const explain_stream_write **sorted = malloc((stream->count + 1u) * sizeof *sorted);
    const explain_stream_write **scratch = malloc((stream->count + 1u) * sizeof *scratch);
    for (uint32_t i = 0; sorted && i < stream->count; i++) {
        sorted[i] = &stream->list[i];
    }
    if (sorted && scratch) {
        ls_stable_sort(sorted, stream->count, sizeof *sorted, scratch, compare_writes, NULL);
    }
    free(scratch);
    return sorted;
}

static bool is_of_group(const explain_stream_write *a, const explain_stream_write *b)
{
    return a->pass == b->pass && a->offset == b->offset;
}

/* The group of `key` at the front, or an empty one. */
static write_group next_group(const explain_stream_write *const *sorted, uint32_t left,
                              const explain_stream_write *key)
{
    write_group group = {sorted, 0};
    while (group.count < left && is_of_group(sorted[group.count], key)) {
        group.count++;
    }
    return group;
}

static bool is_same(const void *a, const void *b)
{
    return memcmp(a, b, sizeof((explain_stream_write *)0)->after) == 0;
}

/* The value at the end of the pass: of an element that the other one alone writes, that before. */
static const uint8_t *value_of(const write_group *own, const write_group *other)
{
    return own->count > 0 ? own->first[own->count - 1]->after : other->first[0]->before;
}

/* The first write of the group in which the two differ, in each stream. Where one writes more
 * often, as code that was compiled otherwise does, no two are known to belong together but the last
 * ones.
 */
static void find_in_group(const write_group groups[2], const explain_stream_write *out[2])
{
    uint32_t at = 0;
    if (groups[0].count > 0 && groups[1].count > 0 && groups[0].count != groups[1].count) {
        out[0] = groups[0].first[groups[0].count - 1];
        out[1] = groups[1].first[groups[1].count - 1];
        return;
    }
    while (at < groups[0].count && at < groups[1].count &&
           is_same(groups[0].first[at]->after, groups[1].first[at]->after)) {
        at++;
    }
    for (uint32_t i = 0; i < 2; i++) {
        out[i] = at < groups[i].count ? groups[i].first[at] : NULL;
    }
}

typedef struct stream_search {
    const write_stream *streams[2];
    uint32_t pass; /* of what was found; LS_NO_PASS: nothing yet */
    uint32_t order;
    stream_difference is;
} stream_search;

static uint32_t index_in(const write_stream *stream, const explain_stream_write *write)
{
    return write ? (uint32_t)(write - stream->list) : UINT32_MAX;
}

static void judge_group(stream_search *found, const write_group groups[2])
{
    const explain_stream_write *parts[2];
    uint32_t pass = (groups[0].count > 0 ? groups[0] : groups[1]).first[0]->pass;
    if (is_same(value_of(&groups[0], &groups[1]), value_of(&groups[1], &groups[0]))) {
        return;
    }
    find_in_group(groups, parts);
    const uint32_t at[2] = {index_in(found->streams[0], parts[0]),
                            index_in(found->streams[1], parts[1])};
    uint32_t order = at[0] < at[1] ? at[0] : at[1];
    if (found->pass == LS_NO_PASS || order < found->order) {
        found->pass = pass;
        found->order = order;
        found->is = (stream_difference){{at[0], at[1]}, groups[1].count > groups[0].count};
    }
}

/* Whether the search is over: what is behind the first pass that differs has followed from it. */
static bool is_behind(const stream_search *found, const explain_stream_write *next)
{
    return found->pass != LS_NO_PASS && next->pass > found->pass;
}

/* The first write to an element that has another value at the end of its pass, in the first pass
 * that has one. False: there is none, and `out` is not set. */
static bool compare_streams(const write_stream *a, const write_stream *b, stream_difference *out)
{
    stream_search found = {.streams = {a, b}, .pass = LS_NO_PASS};
    const explain_stream_write **sorted[2] = {sort(a), sort(b)};
    uint32_t used[2] = {0, 0};
    const uint32_t counts[2] = {a->count, b->count};
    while (sorted[0] && sorted[1] && (used[0] < counts[0] || used[1] < counts[1])) {
        bool is_first = used[1] == counts[1];
        if (used[0] < counts[0] && used[1] < counts[1]) {
            const explain_stream_write *x = sorted[0][used[0]], *y = sorted[1][used[1]];
            is_first = x->pass < y->pass || (x->pass == y->pass && x->offset <= y->offset);
        }
        const explain_stream_write *key = is_first ? sorted[0][used[0]] : sorted[1][used[1]];
        if (is_behind(&found, key)) {
            break;
        }
        write_group groups[2];
        for (uint32_t i = 0; i < 2; i++) {
            groups[i] = next_group(sorted[i] + used[i], counts[i] - used[i], key);
            used[i] += groups[i].count;
        }
        judge_group(&found, groups);
    }
    free(sorted[0]);
    free(sorted[1]);
    *out = found.is;
    return found.pass != LS_NO_PASS;
}

static bool is_among(size_t offset, const size_t *offsets, uint32_t count)
{
    uint32_t i = 0;
    while (i < count && offsets[i] != offset) {
        i++;
    }
    return i < count;
}

/* Whether a later write of the same pass goes over it. */
static bool is_last(const write_stream *stream, uint32_t index)
{
    for (uint32_t i = index + 1; i < stream->count; i++) {
        if (is_of_group(&stream->list[i], &stream->list[index])) {
            return false;
        }
    }
    return true;
}

/* The earliest of the last writes, each of its pass, to any of these elements: the first that is
 * known to have left another value. UINT32_MAX: none is written. */
static uint32_t find_write(const write_stream *stream, const size_t *offsets, uint32_t count)
{
    for (uint32_t i = 0; i < stream->count; i++) {
        if (is_among(stream->list[i].offset, offsets, count) && is_last(stream, i)) {
            return i;
        }
    }
    return UINT32_MAX;
}

/* ---- value order ---- */

static int compare_elements(const void *a, const void *b, const void *context)
{
    return memcmp(a, b, *(const size_t *)context);
}

static void gather(const ls_field *field, const uint8_t *state, size_t bytes, uint8_t *out)
{
    for (uint32_t i = 0; i < field->count; i++) {
        memcpy(out + i * field->length * bytes, state + field->offset + i * field->stride,
               field->length * bytes);
    }
}

/* `room` is for three times the values. */
static bool has_same_values(const ls_field *field, const uint8_t *a, const uint8_t *b,
                            uint8_t *room)
{
    size_t bytes = ls_field_type_bytes(field->type);
    size_t count = (size_t)field->count * field->length;
    uint8_t *values[2] = {room, room + count * bytes};
    gather(field, a, bytes, values[0]);
    gather(field, b, bytes, values[1]);
    if (memcmp(values[0], values[1], count * bytes) == 0) {
        return true;
    }
    for (int i = 0; i < 2; i++) {
        ls_stable_sort(values[i], count, bytes, room + 2 * count * bytes, compare_elements, &bytes);
    }
    return memcmp(values[0], values[1], count * bytes) == 0;
}

bool explain_states_differ_in_order(const ls_schema *schema, const uint8_t *a, const uint8_t *b)
{
    size_t state_bytes = ls_schema_state_bytes(schema);
    uint8_t *room = malloc(3 * state_bytes);
    bool is_so = room && memcmp(a, b, state_bytes) != 0;
    for (uint32_t i = 0; is_so && i < ls_schema_field_count(schema); i++) {
        is_so = has_same_values(ls_schema_field(schema, i), a, b, room);
    }
    free(room);
    return is_so;
}

enum {
    PATH_BYTES_MAX = 1024,
    OFFSETS_MAX = 64,
};

/* ---- the other build ---- */

/* Whether the file is the one that the fingerprint names, by the hash that it begins with. */
static bool is_file_of(const char *path, const ls_build_fingerprint *print)
{
    char hash[20];
    ls_plugin_contents file;
    if (!ls_plugin_contents_open(path, &file)) {
        return false;
    }
    snprintf(hash, sizeof hash, "%016" PRIx64, ls_plugin_contents_hash(&file));
    ls_plugin_contents_close(&file);
    return strncmp(print->items[LS_PRINT_SIMULATION], hash, 16) == 0;
}

static bool find_in_folder(const char *folder, const ls_build_fingerprint *print, char *path,
                           size_t capacity)
{
    ls_folder *opened = ls_folder_open(folder);
    const char *name = NULL;
    bool is_found = false;
    while (opened && !is_found && (name = ls_folder_next(opened)) != NULL) {
        size_t size = strlen(name);
        bool is_plugin = size > 3 && strcmp(name + size - 3, ".so") == 0;
        int bytes = snprintf(path, capacity, "%s/%s", folder, name);
        is_found = is_plugin && bytes > 0 && (size_t)bytes < capacity && is_file_of(path, print);
    }
    ls_folder_close(opened);
    return is_found;
}

/* "." for a name without one. */
static void folder_of(const char *path, char *out, size_t capacity)
{
    const char *slash = strrchr(path, '/');
    snprintf(out, capacity, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
}

bool explain_line_find_build(const explain_evidence *evidence, const char *simulation, char *path,
                             size_t capacity)
{
    char folder[PATH_BYTES_MAX];
    const ls_build_fingerprint *server = &evidence->bundle->server.print;
    const ls_build_fingerprint *client = &evidence->bundle->client.print;
    bool is_client = !ls_build_fingerprint_differs(client, &evidence->here, LS_PRINT_SIMULATION);
    const ls_build_fingerprint *wanted = is_client ? server : client;
    if (!strchr(simulation, '/') ||
        !ls_build_fingerprint_differs(server, client, LS_PRINT_SIMULATION)) {
        return false;
    }
    folder_of(simulation, folder, sizeof folder);
    return find_in_folder(folder, wanted, path, capacity);
}

/* ---- the two runs ---- */

/* The pass that is known to differ first, or all. */
static uint32_t pass_of(const explain_evidence *evidence)
{
    bool is_known =
        evidence->differing_pass == LS_PASS_AT || evidence->differing_pass == LS_PASS_UNSTABLE;
    return is_known ? evidence->pass : LS_NO_PASS;
}

static bool take_code(const explain_runs *runs, const explain_variation *run, uint32_t pass,
                      uint32_t index, uint32_t side, explain_line *out)
{
    out->has_code[side] =
        index != UINT32_MAX && read_code_of(runs, run, pass, index, &out->code[side], &out->why);
    return out->has_code[side];
}

/* Of one pass, or all: the first write in which they differ. */
static bool compare_runs(const explain_runs *runs, const explain_variation variations[2],
                         uint32_t pass, explain_line *out)
{
    write_stream streams[2] = {{0}, {0}};
    stream_difference difference = {{UINT32_MAX, UINT32_MAX}, false};
    bool is_found = take_stream(runs, &variations[0], pass, &streams[0], &out->why) &&
                    take_stream(runs, &variations[1], pass, &streams[1], &out->why) &&
                    compare_streams(&streams[0], &streams[1], &difference);
    release_stream(&streams[0]);
    release_stream(&streams[1]);
    if (!is_found) {
        return false;
    }
    bool is_here = take_code(runs, &variations[0], pass, difference.at[0], 0, out);
    bool is_there = take_code(runs, &variations[1], pass, difference.at[1], 1, out);
    out->shown = difference.is_finer_in_b ? 1 : 0;
    return is_here || is_there;
}

static bool find_by_change(const explain_runs *runs, const explain_variation *changed,
                           explain_line_kind kind, const char *change, explain_line *out)
{
    const explain_variation variations[2] = {{.name = runs->builds->name}, *changed};
    uint32_t pass = pass_of(runs->evidence);
    bool is_found = changed->name && compare_runs(runs, variations, pass, out);
    if (!is_found && changed->name && pass != LS_NO_PASS) {
        is_found = compare_runs(runs, variations, LS_NO_PASS, out);
    }
    if (is_found) {
        out->kind = kind;
        snprintf(out->change, sizeof out->change, "%s", change);
    }
    return is_found;
}

/* ---- the values ---- */

static void add_offset(size_t offsets[OFFSETS_MAX], uint32_t *count, size_t offset)
{
    if (*count < OFFSETS_MAX) {
        offsets[(*count)++] = offset;
    }
}

static size_t offset_of(const explain_field_choice *choice)
{
    uint32_t item = choice->item == UINT32_MAX ? 0 : choice->item;
    uint32_t element = choice->element == UINT32_MAX ? 0 : choice->element;
    return choice->field->offset + item * choice->field->stride +
           element * ls_field_type_bytes(choice->field->type);
}

/* Of the elements that differ behind the first pass that does, else at the end of the tick. */
static uint32_t find_offsets(const explain_evidence *evidence, size_t offsets[OFFSETS_MAX])
{
    const ls_bundle_pass_places *after = &evidence->bundle->after_pass;
    uint32_t count = 0;
    for (uint32_t i = 0; i < after->count; i++) {
        explain_field_choice choice;
        if (explain_field_choice_parse(evidence->schema, after->places[i].name, &choice, NULL) ==
            LS_OK) {
            add_offset(offsets, &count, offset_of(&choice));
        }
    }
    for (uint32_t i = 0; count == 0 && i < evidence->difference.place_count; i++) {
        add_offset(offsets, &count, evidence->difference.places[i].offset);
    }
    return count;
}

static bool find_by_values(const explain_runs *runs, explain_line *out)
{
    size_t offsets[OFFSETS_MAX];
    write_stream stream;
    const explain_variation plain = {.name = runs->builds->name};
    uint32_t count = find_offsets(runs->evidence, offsets);
    uint32_t pass = pass_of(runs->evidence);
    if (count == 0 || !take_stream(runs, &plain, pass, &stream, &out->why)) {
        return false;
    }
    uint32_t at = find_write(&stream, offsets, count);
    release_stream(&stream);
    if (!take_code(runs, &plain, pass, at, 0, out)) {
        return false;
    }
    out->kind = EXPLAIN_LINE_VALUES;
    return true;
}

/* ---- the line ---- */

const explain_stream_code *explain_line_code(const explain_line *line)
{
    return line->has_code[line->shown] ? &line->code[line->shown] : NULL;
}

const explain_code_level *explain_line_level(const explain_line *line)
{
    const explain_stream_code *code = explain_line_code(line);
    return code && line->level < code->level_count ? &code->levels[line->level] : NULL;
}

/* The innermost one of the simulation's own source, else of any. */
static uint32_t choose_level(const explain_stream_code *code)
{
    for (uint32_t i = 0; i < code->level_count; i++) {
        if (!explain_code_level_is_of_library(&code->levels[i])) {
            return i;
        }
    }
    return 0;
}

static bool read_line(const char *path, int number, char *out, size_t capacity)
{
    FILE *file = fopen(path, "r");
    bool is_there = file != NULL;
    char text[1024];
    for (int line = 0; is_there && line < number;) {
        is_there = fgets(text, sizeof text, file) != NULL;
        line += is_there && strchr(text, '\n') ? 1 : 0;
    }
    if (file) {
        fclose(file);
    }
    if (is_there) {
        const char *begin = text + strspn(text, " \t");
        snprintf(out, capacity, "%.*s", (int)strcspn(begin, "\r\n"), begin);
    }
    return is_there && out[0] != '\0';
}

/* The file may lie where it was compiled, beside the plug-in, or here. One that was changed since
 * tells another line. */
static void read_source(const char *plugin, explain_line *out)
{
    const explain_code_level *level = explain_line_level(out);
    char folder[PATH_BYTES_MAX], beside[PATH_BYTES_MAX + 80];
    ls_file_facts source, built;
    if (!level || level->file[0] == '\0') {
        return;
    }
    folder_of(plugin, folder, sizeof folder);
    snprintf(beside, sizeof beside, "%s/%s", folder, level->file);
    const char *const paths[] = {level->path, beside, level->file};
    bool has_built = ls_file_look(plugin, &built);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        if (ls_file_look(paths[i], &source) &&
            read_line(paths[i], level->line, out->source, sizeof out->source - 40)) {
            bool is_newer = has_built && source.changed_ns > built.changed_ns;
            size_t size = strlen(out->source);
            snprintf(out->source + size, sizeof out->source - size, "%s",
                     is_newer ? "   (changed since it was built)" : "");
            return;
        }
    }
}

/* A run whose line is known is shown before one of which it is not. */
static bool has_line(const explain_line *line, uint32_t side)
{
    const explain_stream_code *code = &line->code[side];
    return line->has_code[side] && code->level_count > 0 &&
           code->levels[choose_level(code)].file[0] != '\0';
}

/* Behind the first pass that differs, where that is known to the last value. */
static bool differs_in_order(const explain_evidence *evidence)
{
    const ls_bundle_pass_places *after = &evidence->bundle->after_pass;
    if (after->count > 0 && !after->is_lower_bound && after->count == after->elements) {
        return ls_state_difference_is_of_order(after->places, after->count, after->elements, false);
    }
    return evidence->server_state && evidence->client_state && evidence->is_server_state_proved &&
           evidence->is_client_state_proved &&
           explain_states_differ_in_order(evidence->schema, evidence->server_state,
                                          evidence->client_state);
}

/* A sort leaves ties in another order as well. */
static uint32_t find_container(const explain_stream_code *code)
{
    uint32_t found = UINT32_MAX;
    for (uint32_t i = 0; i < code->level_count; i++) {
        if (strstr(code->levels[i].function, "sort")) {
            return UINT32_MAX;
        }
        if (found == UINT32_MAX && code->levels[i].container[0] != '\0' &&
            !explain_code_level_is_of_library(&code->levels[i])) {
            found = i;
        }
    }
    return found;
}

const char *explain_line_cause(const explain_line *line)
{
    return explain_line_code(line) && line->container != UINT32_MAX
               ? "iteration order of an unordered container"
               : "";
}

/* The source is that of the build that wrote it. */
static void finish(const explain_runs *runs, explain_line *out)
{
    uint32_t wanted = out->shown;
    out->shown = has_line(out, wanted) || (!has_line(out, !wanted) && out->has_code[wanted])
                     ? wanted
                     : !wanted;
    const explain_stream_code *code = explain_line_code(out);
    bool is_other = out->shown == 1 && out->kind == EXPLAIN_LINE_BUILDS;
    out->place = ls_schema_at(runs->evidence->schema, (size_t)code->write.offset);
    out->level = choose_level(code);
    out->container = differs_in_order(runs->evidence) ? find_container(code) : UINT32_MAX;
    read_source(is_other ? runs->builds->other : runs->builds->name, out);
}

static bool find(const explain_runs *runs, const explain_reproductions *reproductions,
                 explain_line *out)
{
    const explain_builds *builds = runs->builds;
    const explain_variation other = {.name = builds->other};
    const explain_reproduction *cause = explain_reproductions_cause(reproductions);
    const explain_reproduction *suspect = explain_reproductions_suspect(reproductions);
    return (builds->other &&
            find_by_change(runs, &other, EXPLAIN_LINE_BUILDS, builds->other, out)) ||
           (cause && find_by_change(runs, &cause->run, EXPLAIN_LINE_CAUSE, cause->change, out)) ||
           (suspect &&
            find_by_change(runs, &suspect->run, EXPLAIN_LINE_SUSPECT, suspect->change, out)) ||
           find_by_values(runs, out);
}

void explain_line_find(const explain_runs *runs, const explain_reproductions *reproductions,
                       explain_line *out)
{
    *out = (explain_line){.kind = EXPLAIN_LINE_UNKNOWN, .container = UINT32_MAX};
    if (!runs->evidence->schema || ls_desync_bundle_is_of_saves(runs->evidence->bundle)) {
        ls_text_set(&out->why, "the bundle has no schema of the state");
    } else if (!ls_ability_is_there(LS_ABILITY_WRITE_TRACES, &out->why)) {
        return;
    } else if (find(runs, reproductions, out)) {
        finish(runs, out);
    } else if (out->why.bytes[0] == '\0') {
        ls_text_set(&out->why, "the step writes none of the values that differ");
    }
}

/* ---- words ---- */

static void value_text(const explain_line *line, const uint8_t value[8], char *text,
                       size_t capacity)
{
    explain_field_write write = {.place = line->place};
    memcpy(write.after, value, sizeof write.after);
    explain_field_write_value(&write, true, text, capacity);
}

/* The value that one of the two runs leaves: what it writes, or what was there. */
static void side_text(const explain_line *line, uint32_t side, char *text, size_t capacity)
{
    if (line->has_code[side]) {
        value_text(line, line->code[side].write.after, text, capacity);
    } else {
        snprintf(text, capacity, "not written");
    }
}

static void add_values(const explain_line *line, const explain_evidence *evidence, ls_text *out)
{
    char field[LS_PLACE_NAME_BYTES_MAX], here[LS_PLACE_VALUE_BYTES_MAX];
    char other[LS_PLACE_VALUE_BYTES_MAX];
    explain_field_write write = {.place = line->place};
    explain_field_write_name(&write, field, sizeof field);
    side_text(line, 0, here, sizeof here);
    side_text(line, 1, other, sizeof other);
    ls_text_set(out, "%s: %s here", field, here);
    if (line->kind == EXPLAIN_LINE_VALUES) {
        ls_text_add(out, "; %s",
                    evidence->agreement == EXPLAIN_AGREES_SERVER   ? "the client has another value"
                    : evidence->agreement == EXPLAIN_AGREES_CLIENT ? "the server has another value"
                                                                   : "the two sides differ in it");
    } else {
        ls_text_add(out, ", %s with %s", other, line->change);
    }
}

static const char *sentence_of(explain_line_kind kind)
{
    switch (kind) {
    case EXPLAIN_LINE_BUILDS:
        return "the first write whose value differs between the two builds";
    case EXPLAIN_LINE_CAUSE:
        return "the first write whose value differs under the change that gives the other side's "
               "result";
    case EXPLAIN_LINE_SUSPECT:
        return "the first write whose value differs under a change that should not matter";
    case EXPLAIN_LINE_VALUES:
        return "the first write to a value that differs";
    case EXPLAIN_LINE_UNKNOWN:
        break;
    }
    return "";
}

uint32_t explain_line_text(const explain_line *line, const explain_evidence *evidence,
                           ls_text lines[EXPLAIN_LINE_TEXTS])
{
    const explain_stream_code *code = explain_line_code(line);
    const explain_code_level *level = explain_line_level(line);
    const ls_desync_bundle *bundle = evidence->bundle;
    uint32_t count = 0;
    if (!code || !level) {
        ls_text_set(&lines[count++], "No line of code can be named: %s.", line->why.bytes);
        return count;
    }
    const char *pass =
        code->write.pass < bundle->pass_count ? bundle->passes[code->write.pass] : "?";
    if (level->file[0] != '\0') {
        ls_text_set(&lines[count++], "%s:%d, in %s, pass %s: %s", level->file, level->line,
                    level->function, pass, sentence_of(line->kind));
    } else {
        ls_text_set(&lines[count++], "%s, pass %s: %s (build with -g for its line)",
                    level->function, pass, sentence_of(line->kind));
    }
    if (line->source[0] != '\0') {
        ls_text_set(&lines[count++], "    %s", line->source);
    }
    if (explain_line_cause(line)[0] != '\0') {
        const explain_code_level *uses = &code->levels[line->container];
        ls_text_set(
            &lines[count++],
            "%s: the values differ in their order alone, and %s goes through %s, whose order "
            "hangs on library, buckets and addresses; take sorted keys or a vector",
            explain_line_cause(line), uses->function, uses->container);
    }
    add_values(line, evidence, &lines[count++]);
    return count;
}
