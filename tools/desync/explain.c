#define _GNU_SOURCE
#include "lockstep/tools/desync/explain.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/diagnosis/rerun_pipe.h"
#include "lockstep/common/loader/plugin_crash.h"
#include "lockstep/common/loader/plugin_loader.h"
#include "lockstep/common/runtime/rerun/rerun_helper.h"
#include "lockstep/common/simulation/arithmetic_check.h"
#include "lockstep/common/system/ability.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/output.h"
#include "lockstep/tools/desync/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory check ---- */

#define MEMORY_ARGUMENT "--check-memory"

enum {
    EXIT_OK = 0,
    EXIT_BAD = 1,
    LINE_BYTES_MAX = 512,
    PLACES_MAX = 200, /* bytes of the text of one */
};

/* ---- the helper ---- */

bool explain_memory_helper_is_asked(int argc, char **argv)
{
    return argc == 2 && strcmp(argv[1], MEMORY_ARGUMENT) == 0;
}

/* memcheck speaks of a value that was never set once a branch depends on it: here one does on each
 * byte. The name stands in its reports. */
__attribute__((noinline)) static void explain_memory_look(const uint8_t *state, size_t bytes)
{
    static volatile unsigned seen;
    for (size_t i = 0; i < bytes; i++) {
        if (state[i] != 0) {
            seen++;
        }
    }
}

static void run_pass(void *user, const ls_step *step, const ls_pass *pass, uint32_t index)
{
    const ls_sim_instance *instance = user;
    (void)index;
    pass->run(step);
    explain_memory_look(ls_sim_instance_view(instance), ls_sim_instance_state_bytes(instance));
}

static ls_status run_steps(const ls_rerun_order *order)
{
    ls_text why = {{0}};
    ls_loaded_simulation loaded;
    ls_sim_instance *instance = NULL;
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    ls_status status = ls_simulation_load(order->match.simulation, &loaded, &why);
    LS_THEN(status, ls_sim_instance_create(loaded.simulation, &order->match.config,
                                           ls_allocator_heap(), &instance, &why));
    LS_THEN(status, ls_replay_stretch_load(&order->stretch, instance));
    LS_THEN(status, ls_replay_stretch_run(&order->stretch, instance, order->stretch.last - 1));
    LS_THEN(status, ls_replay_stretch_inputs(&order->stretch, instance, slots, &inputs));
    if (status == LS_OK) {
        ls_sim_instance_step_watched(instance, &inputs, &(ls_step_watch){run_pass, instance});
    }
    return status;
}

int explain_memory_helper_run(void)
{
    const ls_rerun_order *order = ls_rerun_helper_begin();
    bool is_run = order && run_steps(order) == LS_OK;
    _Exit(is_run && ls_rerun_helper_write("", 1) ? EXIT_OK : EXIT_BAD);
}

/* ---- what memcheck said ---- */

/* Behind "==123==  at 0x4A5B1F0: think (game.c:30)"; NULL: no such line. */
static const char *place_in(const char *line)
{
    const char *at = strstr(line, " at 0x");
    at = at ? at : strstr(line, " by 0x");
    const char *colon = at ? strchr(at, ':') : NULL;
    return colon ? colon + 2 : NULL;
}

/* The libraries of allocation, and what looked. */
static bool is_of_tools(const char *place)
{
    static const char *const others[] = {
        "vg_replace_malloc", "vgpreload", "/lockstep-desync)", "(new_allocator.h:", "(allocator.h:",
        "(alloc_traits.h:",  "(stl_",     "(alloc.rs:",        "(raw_vec"};
    bool is_one = strncmp(place, "explain_memory_look", 19) == 0 ||
                  strncmp(place, "run_pass (memory_check", 22) == 0;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        is_one = is_one || strstr(place, others[i]);
    }
    return is_one;
}

typedef struct memory_words {
    char used[PLACES_MAX];   /* where the value was used; empty: by us alone */
    char origin[PLACES_MAX]; /* "a stack allocation", or "0 bytes after a block of size 40 alloc'd"
                              */
    char made[PLACES_MAX];   /* where */
    bool is_outside;         /* it lies in no block */
} memory_words;

static void copy(const char *text, char out[PLACES_MAX])
{
    snprintf(out, PLACES_MAX, "%.*s", (int)strcspn(text, "\n"), text);
}

/* Behind the words from which on the line says where the value is from; NULL: it does not. */
static const char *origin_in(const char *line, bool is_outside)
{
    static const char created[] = "Uninitialised value was created by ";
    const char *found = strstr(line, created);
    const char *outside = is_outside && strstr(line, " Address 0x") ? strstr(line, " is ") : NULL;
    return found ? found + sizeof created - 1 : outside ? outside + strlen(" is ") : NULL;
}

/* Of the first value that was never set, or lies in no block. */
static bool read_words(FILE *file, memory_words *out)
{
    char line[LINE_BYTES_MAX];
    bool has_begun = false;
    while (out->made[0] == '\0' && fgets(line, sizeof line, file)) {
        out->is_outside = out->is_outside || strstr(line, "Invalid read of size");
        const char *origin = origin_in(line, out->is_outside);
        const char *place = place_in(line);
        has_begun = has_begun || out->is_outside || strstr(line, "uninitialised value");
        if (origin) {
            copy(origin, out->origin);
        } else if (place && out->origin[0] != '\0' && !is_of_tools(place)) {
            copy(place, out->made);
        } else if (place && has_begun && out->used[0] == '\0') {
            copy(is_of_tools(place) ? "" : place, out->used);
            has_begun = false; /* the frame on top alone */
        }
    }
    return out->made[0] != '\0';
}

/* One build, in a helper under memcheck; false: it could not be run. */
static bool check_build(const explain_runs *runs, const char *build, memory_words *found,
                        ls_text *why)
{
    static const char *const words[] = {"valgrind", "-q", "--tool=memcheck", "--track-origins=yes",
                                        NULL};
    const explain_variation run = {.name = build};
    uint8_t byte = 0;
    size_t size = 0;
    FILE *file = tmpfile();
    const explain_wrapper wrapper = {words, file ? fileno(file) : 0};
    bool is_run =
        file && explain_variation_run(runs, &run, MEMORY_ARGUMENT, &wrapper, &byte, 1, &size, why);
    if (file) {
        rewind(file);
        (void)read_words(file, found);
        fclose(file);
    }
    return is_run && size == 1;
}

/* A sentence: what memcheck says, or why it says nothing. */
static void check_memory(const explain_runs *runs, ls_text *out)
{
    const char *const builds[] = {runs->builds->name, runs->builds->other};
    memory_words found = {.is_outside = false};
    bool is_run = true;
    ls_text why = {{0}};
    for (size_t i = 0; i < 2 && builds[i] && is_run && found.made[0] == '\0'; i++) {
        is_run = check_build(runs, builds[i], &found, &why);
    }
    if (found.made[0] != '\0' && found.is_outside) {
        ls_text_set(out, "memcheck: %s reads %s in %s", found.used, found.origin, found.made);
    } else if (found.made[0] != '\0') {
        ls_text_set(out,
                    "memcheck: a value that was never set reaches the state%s%s; it is from %s "
                    "in %s",
                    found.used[0] ? ", used in " : "", found.used, found.origin, found.made);
    } else if (!is_run) {
        ls_text_set(out,
                    "memcheck did not run here (%s): where valgrind is installed, this "
                    "command names the variable",
                    why.bytes[0] ? why.bytes : "it ended early");
    } else {
        ls_text_set(out, "memcheck finds nothing unset that reaches the state in this tick");
    }
}

/* A bundle holds three states, compressed or not, and little else. */

typedef struct explanation {
    const explain_config *config;
    const ls_log *log;
    ls_mapped_file file;
    ls_bundle_reading *reading;
    ls_loaded_simulation loaded;
    ls_loaded_simulation other; /* the build to compare with */
    explain_evidence evidence;
    explain_reproductions reproductions;
    explain_chain chain;
    explain_line line;
    char found_build[1024]; /* the other side's, where nobody named one */
} explanation;

static ls_status open_bundle(explanation *made, ls_text *why)
{
    ls_text missing = {{0}};
    ls_status status = ls_mapped_file_open(made->config->bundle_path, &made->file, why);
    if (status != LS_OK) {
        return status;
    }
    status = ls_bundle_reading_open(made->file.bytes, made->file.size, ls_allocator_heap(),
                                    &made->reading, &missing);
    if (status != LS_OK) {
        ls_text_set(why, "%s: %s", made->config->bundle_path, missing.bytes);
        return status;
    }
    status = explain_evidence_init(&made->evidence, made->reading, &missing);
    if (status != LS_OK) {
        ls_text_set(why, "no memory for the states of the bundle");
    }
    return status;
}

/* A simulation that was asked for must be there; a built-in may be missing. */
static ls_status find_simulation(explanation *made, ls_text *why)
{
    const char *asked = made->config->simulation;
    const char *name = asked ? asked : ls_bundle_reading_bundle(made->reading)->simulation;
    ls_plugin_crash_watch(name);
    ls_status status = ls_simulation_load(name, &made->loaded, why);
    if (status != LS_OK && !asked) {
        return ls_fail(LS_OK, &made->evidence.not_run,
                       "no built-in simulation is called '%s': name its file with --sim", name);
    }
    if (status == LS_OK) {
        status = ls_bundle_reading_provide(made->reading, made->config->files,
                                           made->loaded.simulation, why);
        status = status == LS_PARAMETER_MISMATCH ? LS_BAD_ARGUMENT : status;
    }
    if (status == LS_OK && made->config->against) {
        ls_plugin_crash_watch(made->config->against);
        status = ls_simulation_load(made->config->against, &made->other, why);
    }
    return status == LS_NOT_FOUND ? LS_BAD_ARGUMENT : status; /* the command line's fault */
}

/* The trace's field is the one that is asked about, when no other is. */
static const char *traced_field(const explain_config *config)
{
    return config->trace ? config->trace : config->why;
}

static void find_chain(explanation *made)
{
    const ls_simulation *const builds[2] = {made->loaded.simulation, made->other.simulation};
    if (made->config->why && builds[0]) {
        explain_chain_find(&made->evidence, made->reading, builds, made->config->why, &made->chain);
    } else if (made->config->why) {
        made->chain = (explain_chain){.field = made->config->why, .end = made->evidence.not_run};
    }
}

/* Whether memory that is not set is what it looks like. */
static bool is_about_memory(const explanation *made)
{
    const explain_reproduction *cause = explain_reproductions_cause(&made->reproductions);
    const explain_reproduction *suspect = explain_reproductions_suspect(&made->reproductions);
    cause = cause ? cause : suspect;
    return made->evidence.bundle->verdict.kind == LS_DESYNC_CLASS_UNSTABLE ||
           (cause && strcmp(cause->word, "noise") == 0);
}

/* In helper processes. The other side's build is run as well where it lies about here. */
static void run_again(explanation *made, const char *name)
{
    const explain_config *config = made->config;
    explain_evidence *evidence = &made->evidence;
    bool is_found = !config->against && explain_line_find_build(evidence, name, made->found_build,
                                                                sizeof made->found_build);
    const explain_builds builds = {.name = name,
                                   .workers_max = made->loaded.simulation->workers_max,
                                   .other = is_found ? made->found_build : config->against,
                                   .sanitized = config->sanitized,
                                   .helper = config->helper};
    const explain_runs runs = {evidence, made->reading, &builds};
    explain_reproduce(&runs, &made->reproductions);
    explain_line_find(&runs, &made->reproductions, &made->line);
    if (is_about_memory(made)) {
        check_memory(&runs, &made->reproductions.memory);
    }
}

/* Where the system has no copies of a process there are none to compare. */
static void try_run_again(explanation *made, const char *name)
{
    ls_text why = {{0}};
    if (ls_ability_is_there(LS_ABILITY_PERTURBED_PROCESSES, &why)) {
        run_again(made, name);
    } else {
        made->reproductions.not_run = why;
        made->line.why = why;
    }
}

static void simulate(explanation *made)
{
    const ls_simulation *simulation = made->loaded.simulation;
    explain_evidence *evidence = &made->evidence;
    if (simulation) {
        const char *asked = made->config->simulation;
        ls_simulation_print(&made->loaded, asked ? asked : simulation->name, &evidence->here);
        evidence->arithmetic_here = ls_arithmetic_check_with(
            ls_simulation_maths(&made->loaded, asked ? asked : simulation->name));
        explain_evidence_rerun(evidence, made->reading, simulation);
        bool is_run = evidence->agreement != EXPLAIN_AGREES_NOT_RUN && evidence->bundle->tick > 0;
        if (made->config->helper && is_run) {
            try_run_again(made, asked ? asked : simulation->name);
        }
    }
    if (evidence->agreement == EXPLAIN_AGREES_NOT_RUN || evidence->bundle->tick == 0) {
        made->reproductions.not_run = evidence->not_run;
        made->line.why = evidence->not_run;
    }
    const char *field = traced_field(made->config);
    if (simulation && (field || made->other.simulation)) {
        explain_evidence_trace(evidence, made->reading, simulation, field);
    }
    if (made->other.simulation) {
        explain_evidence_trace_other(evidence, made->reading, made->other.simulation);
    }
    if (!simulation && field) {
        evidence->trace_name = field;
        evidence->not_traced = evidence->not_run;
    }
    find_chain(made);
    if (simulation && made->config->html_path) {
        const ls_simulation *const builds[2] = {simulation, made->other.simulation};
        explain_evidence_draw(evidence, made->reading, builds);
    } else {
        evidence->picture.why_not = evidence->not_run;
    }
}

/* ---- reports ---- */

static void write_text(FILE *file, const void *report)
{
    explain_report_write_text(file, report);
}

static void write_html(FILE *file, const void *report)
{
    explain_report_write_html(file, report);
}

static ls_status write_reports(const explanation *made, const explain_code_places *places,
                               ls_text *why)
{
    const explain_config *config = made->config;
    const explain_report report = {&made->evidence,      config->bundle_path, places,
                                   &made->reproductions, &made->chain,        &made->line};
    ls_status status = LS_OK;
    if (!config->is_quiet) {
        status = ls_output_write_by("-", "report", write_text, &report, why);
    }
    if (status == LS_OK && config->html_path) {
        status = ls_output_write_by(config->html_path, "report", write_html, &report, why);
    }
    if (status == LS_OK && config->json_path) {
        status = explain_report_write_json(&report, config->json_path, why);
    }
    return status;
}

static ls_status explain(explanation *made, ls_text *why)
{
    const char *json_path = made->config->json_path;
    ls_status status = json_path ? ls_output_check_path(json_path, why) : LS_OK;
    LS_THEN(status, open_bundle(made, why));
    LS_THEN(status, find_simulation(made, why));
    if (status != LS_OK) {
        return status;
    }
    simulate(made);
    bool has_writes = made->evidence.trace.list_count > 0 ||
                      made->evidence.other_trace.list_count > 0 || made->chain.count > 0;
    explain_code_places *places = has_writes ? explain_code_places_open() : NULL;
    status = write_reports(made, places, why);
    explain_code_places_close(places);
    const ls_desync_bundle *bundle = made->evidence.bundle;
    bool is_desync = bundle->server_hash != bundle->client_hash;
    return status == LS_OK && is_desync ? LS_DESYNCED : status;
}

ls_exit_code explain_run(const explain_config *config, const ls_log *log)
{
    explanation made = {.config = config, .log = log};
    ls_text why = {{0}};
    ls_status status = explain(&made, &why);
    if (status != LS_DESYNCED && status != LS_OK) {
        ls_log_line(log, LS_LOG_ERROR, "%s", why.bytes);
    }
    explain_chain_release(&made.chain);
    explain_evidence_release(&made.evidence);
    if (made.loaded.simulation) {
        ls_simulation_unload(&made.loaded);
    }
    if (made.other.simulation) {
        ls_simulation_unload(&made.other);
    }
    ls_bundle_reading_close(made.reading);
    ls_mapped_file_close(&made.file);
    return ls_exit_code_of(status);
}
