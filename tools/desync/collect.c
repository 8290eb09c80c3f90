#include "lockstep/tools/desync/collect.h"

#include "lockstep/common/maths/stable_sort.h"
#include "lockstep/common/program/json.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/output.h"
#include "lockstep/tools/desync/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    PATH_BYTES_MAX = 4096,
    DEPTH_MAX = 8,
    CAUSES_AT_FIRST = 16,
};

/* Two desyncs have one cause when all of these are equal. */
typedef struct cause_key {
    char simulation[LS_NAME_BYTES_MAX];
    uint32_t version;
    ls_desync_class kind;
    char pass[LS_NAME_BYTES_MAX];        /* empty: not known */
    char field[LS_PLACE_NAME_BYTES_MAX]; /* "units[].heat"; empty: not known */
    ls_text differing;                   /* items of the fingerprints that differ, if they matter */
    char client_file[LS_PRINT_TEXT_BYTES_MAX]; /* with another file than the server's */
} cause_key;

typedef struct cause {
    cause_key key;
    uint32_t count;
    ls_tick first_tick;
    ls_tick last_tick;
    uint32_t example_worth;
    char example[PATH_BYTES_MAX];
    ls_text why; /* of the example */
} cause;

typedef struct collection {
    const collect_config *config;
    const ls_log *log;
    uint32_t bundles;
    uint32_t agreeing; /* of these: both sides have one state hash */
    uint32_t unreadable;
    uint32_t count;
    uint32_t capacity;
    cause *causes;
} collection;

/* ---- the cause of one bundle ---- */

/* "units[3].heat" becomes "units[].heat". */
static void strip_numbers(const char *name, char *out, size_t capacity)
{
    size_t at = 0;
    bool is_inside = false;
    for (; *name && at + 1 < capacity; name++) {
        is_inside = is_inside && *name != ']';
        if (!is_inside) {
            out[at++] = *name;
        }
        is_inside = is_inside || *name == '[';
    }
    out[at] = '\0';
}

static void find_field(const explain_evidence *evidence, char *out, size_t capacity)
{
    const ls_bundle_pass_places *after = &evidence->bundle->after_pass;
    const ls_state_difference *found = &evidence->difference;
    if (after->count > 0) {
        strip_numbers(after->places[0].name, out, capacity);
    } else if (found->place_count > 0) {
        ls_difference_text first = ls_state_difference_text(
            &found->places[0], evidence->server_state, evidence->client_state);
        strip_numbers(first.name, out, capacity);
    }
}

/* Differences between the two machines belong to the cause where the class says so. */
static void find_machines(const ls_desync_bundle *bundle, cause_key *key)
{
    const ls_build_fingerprint *server = &bundle->server.print;
    const ls_build_fingerprint *client = &bundle->client.print;
    bool is_build = key->kind == LS_DESYNC_CLASS_BUILD;
    ls_fingerprint_kind wanted = is_build ? LS_FINGERPRINT_OF_BUILD : LS_FINGERPRINT_OF_ENVIRONMENT;
    if (!is_build && key->kind != LS_DESYNC_CLASS_ENVIRONMENT) {
        return;
    }
    for (uint32_t i = 0; i < LS_PRINT_ITEM_COUNT; i++) {
        ls_fingerprint_item item = (ls_fingerprint_item)i;
        if (ls_fingerprint_item_kind(item) == wanted &&
            ls_build_fingerprint_differs(server, client, item)) {
            ls_text_add(&key->differing, "%s%s", key->differing.bytes[0] ? ", " : "",
                        ls_fingerprint_item_name(item));
        }
    }
    if (is_build && ls_build_fingerprint_differs(server, client, LS_PRINT_SIMULATION)) {
        ls_name_copy(key->client_file, sizeof key->client_file, client->items[LS_PRINT_SIMULATION]);
    }
}

static void find_key(const explain_evidence *evidence, cause_key *key)
{
    const ls_desync_bundle *bundle = evidence->bundle;
    memset(key, 0, sizeof *key); /* keys are compared as bytes */
    ls_name_copy(key->simulation, sizeof key->simulation, bundle->simulation);
    key->version = bundle->simulation_version;
    key->kind = bundle->verdict.kind;
    if (bundle->after_pass.count > 0 && bundle->after_pass.pass < bundle->pass_count) {
        ls_name_copy(key->pass, sizeof key->pass, bundle->passes[bundle->after_pass.pass]);
    } else if (evidence->differing_pass == LS_PASS_AT && evidence->pass < bundle->pass_count) {
        ls_name_copy(key->pass, sizeof key->pass, bundle->passes[evidence->pass]);
    }
    find_field(evidence, key->field, sizeof key->field);
    find_machines(bundle, key);
}

/* How much an engineer can do with it. */
static uint32_t worth_of(const explain_evidence *evidence)
{
    const ls_desync_bundle *bundle = evidence->bundle;
    uint32_t can_run = bundle->snapshot && bundle->inputs ? 4 : 0;
    uint32_t has_pass = bundle->after_pass.count > 0 ? 2 : 0;
    return can_run + has_pass + (evidence->has_difference ? 1 : 0);
}

/* ---- grouping ---- */

static cause *find_cause(collection *all, const cause_key *key)
{
    for (uint32_t i = 0; i < all->count; i++) {
        if (memcmp(&all->causes[i].key, key, sizeof *key) == 0) {
            return &all->causes[i];
        }
    }
    if (all->count == all->capacity) {
        uint32_t capacity = LS_MAX(2 * all->capacity, (uint32_t)CAUSES_AT_FIRST);
        cause *causes = realloc(all->causes, capacity * sizeof *causes);
        if (!causes) {
            return NULL;
        }
        all->causes = causes;
        all->capacity = capacity;
    }
    cause *made = &all->causes[all->count++];
    *made = (cause){.key = *key, .first_tick = UINT32_MAX};
    return made;
}

static ls_status add_evidence(collection *all, const explain_evidence *evidence, const char *path)
{
    const ls_desync_bundle *bundle = evidence->bundle;
    cause_key key;
    if (bundle->server_hash == bundle->client_hash) {
        all->agreeing++;
        return LS_OK;
    }
    find_key(evidence, &key);
    cause *of = find_cause(all, &key);
    if (!of) {
        return LS_NO_MEMORY;
    }
    uint32_t worth = worth_of(evidence);
    if (of->count == 0 || worth > of->example_worth ||
        (worth == of->example_worth && strcmp(path, of->example) < 0)) {
        of->example_worth = worth;
        snprintf(of->example, sizeof of->example, "%s", path);
        of->why = bundle->verdict.why;
    }
    of->count++;
    of->first_tick = LS_MIN(of->first_tick, bundle->tick);
    of->last_tick = LS_MAX(of->last_tick, bundle->tick);
    return LS_OK;
}

static ls_status read_bundle(collection *all, const char *path, ls_text *why)
{
    ls_mapped_file file;
    ls_bundle_reading *reading = NULL;
    ls_text missing = {{0}};
    ls_status status = ls_mapped_file_open(path, &file, why);
    if (status != LS_OK) {
        return status;
    }
    status = ls_bundle_reading_open(file.bytes, file.size, ls_allocator_heap(), &reading, &missing);
    if (status == LS_OK) {
        explain_evidence evidence;
        status = explain_evidence_init(&evidence, reading, &missing);
        LS_THEN(status, add_evidence(all, &evidence, path));
        explain_evidence_release(&evidence);
    } else {
        ls_text_set(why, "%s: %s", path, missing.bytes);
    }
    ls_bundle_reading_close(reading);
    ls_mapped_file_close(&file);
    return status;
}

static ls_status add_bundle(collection *all, const char *path, ls_text *why)
{
    ls_status status = read_bundle(all, path, why);
    if (status == LS_NO_MEMORY) {
        return ls_fail(status, why, "%s", ls_status_text(status));
    }
    all->bundles += status == LS_OK;
    if (status != LS_OK) {
        all->unreadable++;
        ls_log_line(all->log, LS_LOG_WARNING, "%s", why->bytes);
    }
    return LS_OK;
}

/* ---- folders ---- */

static bool is_bundle_name(const char *name)
{
    static const char ending[] = ".bundle";
    size_t bytes = strlen(name);
    return bytes > sizeof ending - 1 && strcmp(name + bytes - (sizeof ending - 1), ending) == 0;
}

static ls_status add_folder(collection *all, const char *path, uint32_t depth, ls_text *why);

/* Links are not followed out of the folder: they could lead around in circles. */
static ls_status add_entry(collection *all, const char *path, uint32_t depth, ls_text *why)
{
    ls_file_facts facts;
    if (!ls_file_look(path, &facts)) {
        return LS_OK; /* it is gone by now */
    }
    if (facts.kind == LS_FILE_FOLDER && !facts.is_link && depth < DEPTH_MAX) {
        return add_folder(all, path, depth + 1, why);
    }
    return facts.kind == LS_FILE_PLAIN && is_bundle_name(path) ? add_bundle(all, path, why) : LS_OK;
}

static ls_status add_folder(collection *all, const char *path, uint32_t depth, ls_text *why)
{
    ls_status status = LS_OK;
    const char *name = NULL;
    ls_folder *folder = ls_folder_open(path);
    if (!folder) {
        return ls_fail(LS_IO, why, "%s: %s", path, strerror(errno));
    }
    while (status == LS_OK && (name = ls_folder_next(folder))) {
        char *entry = malloc(PATH_BYTES_MAX);
        int bytes = entry ? snprintf(entry, PATH_BYTES_MAX, "%s/%s", path, name) : 0;
        if (!entry) {
            status = ls_fail(LS_NO_MEMORY, why, "%s", ls_status_text(LS_NO_MEMORY));
        } else if (bytes < PATH_BYTES_MAX) {
            status = add_entry(all, entry, depth, why);
        }
        free(entry);
    }
    ls_folder_close(folder);
    return status;
}

static int compare_causes(const void *a, const void *b, const void *context)
{
    (void)context;
    const cause *first = a;
    const cause *second = b;
    if (first->count != second->count) {
        return first->count > second->count ? -1 : 1;
    }
    return strcmp(first->example, second->example);
}

static ls_status sort_causes(collection *all, ls_text *why)
{
    cause *scratch = malloc((all->count + 1) * sizeof *scratch);
    if (!scratch) {
        return ls_fail(LS_NO_MEMORY, why, "%s", ls_status_text(LS_NO_MEMORY));
    }
    ls_stable_sort(all->causes, all->count, sizeof *scratch, scratch, compare_causes, NULL);
    free(scratch);
    return LS_OK;
}

/* ---- reports ---- */

static ls_text headline_of(const collection *all)
{
    ls_text text = {{0}};
    ls_text_set(&text, "%" PRIu32 " desync%s of %" PRIu32 " cause%s", all->bundles - all->agreeing,
                all->bundles - all->agreeing == 1 ? "" : "s", all->count,
                all->count == 1 ? "" : "s");
    if (all->agreeing > 0) {
        ls_text_add(&text, "; in %" PRIu32 " more the two sides agree", all->agreeing);
    }
    if (all->unreadable > 0) {
        ls_text_add(&text, "; %" PRIu32 " could not be read", all->unreadable);
    }
    return text;
}

static void add_row(explain_sheet *sheet, const cause *of)
{
    ls_text count = {{0}}, game = {{0}}, ticks = {{0}}, differing = {{0}};
    ls_text_set(&count, "%" PRIu32, of->count);
    ls_text_set(&game, "%s %" PRIu32, of->key.simulation, of->key.version);
    ls_text_set(&ticks, "%" PRIu32 "-%" PRIu32, of->first_tick, of->last_tick);
    ls_text_set(&differing, "%s%s%s", of->key.differing.bytes, of->key.client_file[0] ? ": " : "",
                of->key.client_file);
    const char *const cells[] = {count.bytes,     ls_desync_class_word(of->key.kind),
                                 game.bytes,      of->key.pass,
                                 of->key.field,   ticks.bytes,
                                 differing.bytes, of->example};
    explain_sheet_row(sheet, false, cells);
}

static void fill(explain_sheet *sheet, const collection *all)
{
    static const explain_column columns[] = {{"count", 6},
                                             {"class", 13},
                                             {"game", 16},
                                             {"pass", 14},
                                             {"field", 24},
                                             {"ticks", 13},
                                             {"machines differ in", 24},
                                             {"best example", 0},
                                             {NULL, 0}};
    explain_sheet_begin(sheet, NULL, columns);
    for (uint32_t i = 0; i < all->count; i++) {
        add_row(sheet, &all->causes[i]);
    }
    explain_sheet_end(sheet, all->count > 0
                                 ? "Read one with: lockstep-desync explain EXAMPLE --sim GAME.so"
                                 : NULL);
}

static void write_text(FILE *file, const void *content)
{
    const collection *all = content;
    explain_sheet sheet = {.file = file};
    fprintf(file, "%s\n", headline_of(all).bytes);
    fill(&sheet, all);
}

static void write_html(FILE *file, const void *content)
{
    const collection *all = content;
    ls_text headline = headline_of(all);
    ls_html html = ls_html_page(file, "Desyncs by cause", explain_report_style());
    explain_sheet sheet = {.file = file, .html = &html, .is_open = true};
    ls_html_element(&html, "h1", NULL, headline.bytes);
    fill(&sheet, all);
    ls_html_end(&html);
    fputs("\n", file);
}

static void fill_json(ls_json *json, const void *report)
{
    const collection *all = report;
    ls_json_text(json, "folder", all->config->folder);
    ls_json_number(json, "desyncs", all->bundles - all->agreeing);
    ls_json_number(json, "agreeing", all->agreeing);
    ls_json_number(json, "unreadable", all->unreadable);
    ls_json *causes = ls_json_array(json, "causes");
    for (uint32_t i = 0; i < all->count; i++) {
        const cause *of = &all->causes[i];
        ls_json *object = ls_json_append(causes);
        ls_json_number(object, "count", of->count);
        ls_json_text(object, "class", ls_desync_class_word(of->key.kind));
        ls_json_text(object, "sim", of->key.simulation);
        ls_json_number(object, "version", of->key.version);
        ls_json_text(object, "pass", of->key.pass[0] ? of->key.pass : NULL);
        ls_json_text(object, "field", of->key.field[0] ? of->key.field : NULL);
        ls_json_text(object, "machines_differ_in",
                     of->key.differing.bytes[0] ? of->key.differing.bytes : NULL);
        ls_json_text(object, "client_file", of->key.client_file[0] ? of->key.client_file : NULL);
        ls_json_number(object, "first_tick", of->first_tick);
        ls_json_number(object, "last_tick", of->last_tick);
        ls_json_text(object, "why", of->why.bytes);
        ls_json_text(object, "next", ls_desync_class_next(of->key.kind));
        ls_json_text(object, "example", of->example);
    }
}

static ls_status write_all(const collection *all, ls_text *why)
{
    const collect_config *config = all->config;
    ls_status status = LS_OK;
    if (!config->is_quiet) {
        status = ls_output_write_by("-", "report", write_text, all, why);
    }
    if (status == LS_OK && config->html_path) {
        status = ls_output_write_by(config->html_path, "report", write_html, all, why);
    }
    if (status == LS_OK && config->json_path) {
        status = ls_json_save(fill_json, all, config->json_path, why);
    }
    return status;
}

ls_exit_code collect_run(const collect_config *config, const ls_log *log)
{
    collection all = {.config = config, .log = log};
    ls_text why = {{0}};
    ls_status status = config->json_path ? ls_output_check_path(config->json_path, &why) : LS_OK;
    LS_THEN(status, add_folder(&all, config->folder, 0, &why));
    LS_THEN(status, sort_causes(&all, &why));
    LS_THEN(status, write_all(&all, &why));
    if (status != LS_OK) {
        ls_log_line(log, LS_LOG_ERROR, "%s", why.bytes);
    }
    free(all.causes);
    return ls_exit_code_of(status == LS_OK && all.count > 0 ? LS_DESYNCED : status);
}
