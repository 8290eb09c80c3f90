#include "lockstep/tools/desync/differing_line.h"

#include "lockstep/common/base/text.h"
#include "lockstep/common/loader/plugin_contents.h"
#include "lockstep/common/simulation/state_schema.h"
#include "lockstep/common/system/ability.h"
#include "lockstep/common/system/file.h"
#include "lockstep/tools/desync/value_order.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
        index != UINT32_MAX &&
        explain_stream_code_of(runs, run, pass, index, &out->code[side], &out->why);
    return out->has_code[side];
}

/* Of one pass, or all: the first write in which they differ. */
static bool compare_runs(const explain_runs *runs, const explain_variation variations[2],
                         uint32_t pass, explain_line *out)
{
    explain_stream streams[2] = {{0}, {0}};
    explain_stream_difference difference = {{UINT32_MAX, UINT32_MAX}, false};
    bool is_found = explain_stream_take(runs, &variations[0], pass, &streams[0], &out->why) &&
                    explain_stream_take(runs, &variations[1], pass, &streams[1], &out->why) &&
                    explain_stream_compare(&streams[0], &streams[1], &difference);
    explain_stream_release(&streams[0]);
    explain_stream_release(&streams[1]);
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
    explain_stream stream;
    const explain_variation plain = {.name = runs->builds->name};
    uint32_t count = find_offsets(runs->evidence, offsets);
    uint32_t pass = pass_of(runs->evidence);
    if (count == 0 || !explain_stream_take(runs, &plain, pass, &stream, &out->why)) {
        return false;
    }
    uint32_t at = explain_stream_find(&stream, offsets, count);
    explain_stream_release(&stream);
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
