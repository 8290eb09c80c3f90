#include "lockstep/tools/desync/explain.h"

#include "lockstep/common/loader/plugin_crash.h"
#include "lockstep/common/loader/plugin_loader.h"
#include "lockstep/common/simulation/arithmetic_check.h"
#include "lockstep/common/system/ability.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/output.h"
#include "lockstep/tools/desync/memory_check.h"
#include "lockstep/tools/desync/report.h"

#include <stdio.h>
#include <string.h>

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
        explain_memory_check(&runs, &made->reproductions.memory);
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
