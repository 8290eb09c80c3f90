#include "lockstep/tools/synctest/synctest.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/loader/plugin_statics.h"
#include "lockstep/common/system/ability.h"
#include "lockstep/common/system/output.h"
#include "lockstep/common/system/thread.h"
#include "lockstep/tools/synctest/lint.h"
#include "lockstep/tools/synctest/process_changes.h"
#include "lockstep/tools/synctest/result.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* How long a reference run may take whose length is open. */
static const uint64_t REFERENCE_NS = LS_NS_PER_SECOND / 5;

/* Perturbations still to be run: each thread takes the next one. */
typedef struct workload {
    const synctest_runner *runner;
    uint32_t insisted;
    synctest_finding *findings;
    uint32_t count;
    ls_monitor *monitor;
    uint32_t next;
    bool is_done[SYNCTEST_PERTURBATION_COUNT];
    ls_status status; /* the first failure to run anything at all */
} workload;

static double seconds_of(uint64_t ns)
{
    return (double)ns / (double)LS_NS_PER_SECOND;
}

/* ---- lint ---- */

/* One line for all that a library calls: a step may never get there. */
static void show_item(ls_console *console, const synctest_lint_report *report, uint32_t index)
{
    ls_text line = {""};
    const synctest_lint_item *item = &report->items[index];
    bool is_all_wanted = console->log.level >= LS_LOG_DEBUG;
    if (is_all_wanted || !synctest_lint_text_fold(report, index, &line)) {
        synctest_lint_text_item(item, &line);
    }
    if (line.bytes[0] != '\0') {
        ls_log_line(&console->log, item->is_error ? LS_LOG_ERROR : LS_LOG_WARNING, "%s",
                    line.bytes);
    }
}

static ls_status lint(const synctest_config *config, synctest_result *result, ls_console *console)
{
    ls_text why = {""};
    ls_status status = synctest_lint_file(config->match.sim, &result->lint, &why);
    if (status != LS_OK) {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s", why.bytes);
        return status;
    }
    result->has_lint = true;
    return LS_OK;
}

/* The machine code of either build helps to explain what the perturbations find. */
static ls_status gather_evidence(const synctest_config *config, synctest_result *result,
                                 ls_console *console)
{
    static synctest_lint_report other; /* too big for a stack */
    synctest_evidence *evidence = &result->evidence;
    ls_text why = {{0}};
    const char *file = config->against.file;
    ls_status status = file ? synctest_lint_file(file, &other, &why) : LS_OK;
    bool has_other = file && status == LS_OK;
    if (status == LS_PLUGIN) {
        ls_log_line(&console->log, LS_LOG_ERROR, "--against: %s", why.bytes);
        return status;
    }
    evidence->uses_library_random =
        synctest_lint_has_topic(&result->lint, SYNCTEST_LINT_TOPIC_RANDOM);
    evidence->has_fused_multiply =
        synctest_lint_has_topic(&result->lint, SYNCTEST_LINT_TOPIC_FUSED) ||
        (has_other && synctest_lint_has_topic(&other, SYNCTEST_LINT_TOPIC_FUSED));
    return LS_OK;
}

static void show_lint(const synctest_result *result, ls_console *console)
{
    const synctest_lint_report *report = &result->lint;
    for (uint32_t i = 0; i < report->count; i++) {
        show_item(console, report, i);
    }
    ls_log_line(&console->log, LS_LOG_INFO,
                "  %-12s %-8s %" PRIu32 " errors, %" PRIu32 " warnings, %" PRIu64
                " instructions in %" PRIu64 " functions read, %" PRIu32 " needed libraries",
                "lint", report->errors ? "ERRORS" : "clean", report->errors, report->warnings,
                report->instructions_read, report->functions_read, report->libraries_read);
}

/* ---- perturbations ---- */

static void show_line(const synctest_finding *finding, ls_console *console)
{
    const synctest_perturbation *perturbation = synctest_perturbation_of(finding->perturbation);
    ls_log_line(&console->log, LS_LOG_INFO, "  %-12s %-8s %9" PRIu64 " hashes %7.2f s  %s",
                perturbation->name, synctest_finding_word(finding), finding->hashes_compared,
                seconds_of(finding->took_ns), perturbation->what);
}

/* Once all perturbations have been tried: what one finds explains what others do. */
static void show_bad(const char *name, const synctest_finding *finding,
                     const synctest_evidence *evidence, ls_console *console)
{
    ls_text where = {""};
    ls_text cause = {""};
    synctest_finding_describe(finding, evidence, &where, &cause);
    ls_log_level level = finding->is_warning ? LS_LOG_WARNING : LS_LOG_ERROR;
    ls_log_line(&console->log, level, "%s %s: %s", name,
                finding->is_warning ? "differs" : synctest_finding_word(finding), where.bytes);
    if (cause.bytes[0] != '\0') {
        ls_log_line(&console->log, level, "  likely cause (%s): %s",
                    synctest_finding_class(finding, evidence), cause.bytes);
    }
}

static void show_same(const synctest_result *result, const synctest_finding *lead,
                      ls_console *console)
{
    ls_text names = {""};
    for (uint32_t i = 0; i < result->finding_count; i++) {
        if (result->findings[i].lead == lead) {
            ls_text_add(&names, "%s%s", names.bytes[0] != '\0' ? ", " : "",
                        synctest_perturbation_of(result->findings[i].perturbation)->name);
        }
    }
    if (names.bytes[0] != '\0') {
        ls_log_line(&console->log, LS_LOG_ERROR, "  the same shows with: %s", names.bytes);
    }
}

static void show_all_bad(const synctest_result *result, ls_console *console)
{
    for (uint32_t i = 0; i < result->finding_count; i++) {
        const synctest_finding *finding = &result->findings[i];
        if (!finding->lead && (synctest_finding_is_bad(finding) || finding->is_warning)) {
            show_bad(synctest_perturbation_of(finding->perturbation)->name, finding,
                     &result->evidence, console);
            show_same(result, finding, console);
        }
    }
}

/* Right as long as no library in the process leaves another floating-point mode. The handshake
 * refuses a machine where one has. */
static bool is_about_modes(synctest_perturbation_id perturbation)
{
    return perturbation == SYNCTEST_PERTURBATION_ROUNDING ||
           perturbation == SYNCTEST_PERTURBATION_FLUSH;
}

static void work_on(void *user)
{
    workload *work = user;
    ls_monitor_enter(work->monitor);
    while (work->next < work->count) {
        uint32_t index = work->next++;
        synctest_finding *finding = &work->findings[index];
        ls_monitor_leave(work->monitor);
        ls_status status = synctest_runner_play(work->runner, finding->perturbation, finding);
        finding->is_warning = is_about_modes(finding->perturbation) &&
                              finding->outcome.kind == SYNCTEST_OUTCOME_DIFFERS &&
                              !(work->insisted >> finding->perturbation & 1);
        ls_monitor_enter(work->monitor);
        work->is_done[index] = true;
        work->status = work->status == LS_OK ? status : work->status;
        ls_monitor_wake_all(work->monitor);
    }
    ls_monitor_leave(work->monitor);
}

static void note_variable(synctest_result *result, const synctest_static_write *write,
                          const char *variable, ls_console *console)
{
    synctest_evidence *evidence = &result->evidence;
    const char *pass = result->facts.pass_names[write->pass];
    bool is_threads = write->address & LS_PLUGIN_STATICS_THREAD_LOCAL;
    ls_log_line(&console->log, LS_LOG_WARNING,
                "pass %s writes to the %svariable %s, outside the state, at tick %" PRIu32, pass,
                is_threads ? "thread-local " : "", variable, write->tick);
    if (evidence->written_variable[0] == '\0') {
        evidence->is_written_thread_local = is_threads;
        ls_name_copy(evidence->written_variable, sizeof evidence->written_variable, variable);
        ls_name_copy(evidence->writing_pass, sizeof evidence->writing_pass, pass);
    }
}

/* Names the variables outside the state that passes were seen to write to, from the file: each one
 * once for a pass, however many of its elements were written. */
static void note_variables(synctest_result *result, const synctest_finding *finding,
                           ls_console *console)
{
    const synctest_static_writes *writes = &finding->static_writes;
    char names[SYNCTEST_STATIC_WRITES_MAX][LS_NAME_BYTES_MAX] = {""};
    for (uint32_t i = 0; i < writes->count; i++) {
        const synctest_static_write *write = &writes->list[i];
        bool is_new = write->pass < LS_PASSES_MAX &&
                      synctest_lint_variable_at(result->match->sim, write->address, names[i],
                                                sizeof names[i]);
        for (uint32_t k = 0; k < i && is_new; k++) {
            is_new = writes->list[k].pass != write->pass || strcmp(names[k], names[i]) != 0;
        }
        if (is_new) {
            note_variable(result, write, names[i], console);
        }
    }
}

static void note_words(synctest_result *result, const synctest_finding *finding)
{
    if (strstr(finding->words, "runtime error:") || strstr(finding->words, "Sanitizer")) {
        result->evidence.has_sanitizer_words = true;
    }
}

/* Shows the findings in the perturbations' order while they come in. */
static void show_as_they_come(workload *work, synctest_result *result, ls_console *console)
{
    for (uint32_t i = 0; i < work->count; i++) {
        ls_monitor_enter(work->monitor);
        while (!work->is_done[i]) {
            ls_monitor_wait(work->monitor);
        }
        ls_monitor_leave(work->monitor);
        const synctest_finding *finding = &result->findings[i];
        bool is_bad = synctest_finding_is_bad(finding);
        result->hashes_compared += finding->hashes_compared;
        result->failed += is_bad;
        note_words(result, finding);
        note_variables(result, finding, console);
        result->evidence.failed |= is_bad && !synctest_diagnosis_is_race(&finding->outcome)
                                       ? UINT32_C(1) << finding->perturbation
                                       : 0;
        show_line(finding, console);
    }
}

static ls_status play_perturbations(const synctest_config *config, const synctest_runner *runner,
                                    synctest_result *result, ls_console *console)
{
    workload work = {.runner = runner,
                     .insisted = config->insisted,
                     .findings = result->findings,
                     .monitor = ls_monitor_create()};
    ls_thread threads[SYNCTEST_PERTURBATION_COUNT];
    uint32_t started = 0;
    if (!work.monitor) {
        return LS_NO_MEMORY;
    }
    for (uint32_t id = 0; id < SYNCTEST_PERTURBATION_COUNT; id++) {
        if (config->perturbations >> id & 1) {
            result->findings[work.count++].perturbation = (synctest_perturbation_id)id;
        }
    }
    result->finding_count = work.count;
    while (started < config->jobs && started < work.count &&
           ls_thread_start(&threads[started], work_on, &work)) {
        started++;
    }
    if (started == 0) {
        work_on(&work);
    }
    show_as_they_come(&work, result, console);
    for (uint32_t i = 0; i < started; i++) {
        ls_thread_join(&threads[i]);
    }
    ls_monitor_destroy(work.monitor);
    return work.status;
}

/* ---- the reference ---- */

static void show_simulation(const synctest_result *result, ls_console *console)
{
    const synctest_facts *facts = &result->facts;
    ls_log_line(&console->log, LS_LOG_INFO,
                "%s: %" PRIu32 " ticks at %" PRIu32 " Hz, %" PRIu32 " players, %" PRIu64
                " inputs, seed %" PRIu64 ", %" PRIu32 " passes, %" PRIu64 " bytes of state%s",
                facts->name, result->match->ticks, facts->tick_rate_hz, facts->players,
                facts->inputs_played, result->match->seed, facts->pass_count, facts->state_bytes,
                facts->has_schema ? "" : " behind a callback");
    if (facts->tapped.times > 0) {
        ls_text tapped = {""};
        synctest_tapped_describe(&facts->tapped, &tapped);
        ls_log_line(&console->log, LS_LOG_WARNING, "%s", tapped.bytes);
    }
}

/* A schema that leaves bytes out is a finding; what else keeps a simulation from starting is the
 * user's or the machine's. */
static ls_exit_code end_without_reference(synctest_result *result, ls_console *console)
{
    const synctest_outcome *outcome = &result->reference.outcome;
    result->status = outcome->kind == SYNCTEST_OUTCOME_FAILED ? "failed" : "differs";
    if (outcome->kind == SYNCTEST_OUTCOME_FAILED) {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s", outcome->text.bytes);
    } else {
        show_bad("the reference run", &result->reference, &result->evidence, console);
    }
    if (outcome->kind != SYNCTEST_OUTCOME_FAILED || outcome->status == (uint32_t)-LS_SCHEMA) {
        return LS_EXIT_DESYNC;
    }
    ls_status status = (ls_status) - (int32_t)outcome->status;
    return status == LS_NOT_FOUND ? LS_EXIT_USAGE : ls_exit_code_of(status); /* no such name */
}

static void note_schema(synctest_result *result)
{
    const synctest_outcome *outcome = &result->reference.outcome;
    if (outcome->kind != SYNCTEST_OUTCOME_FAILED || outcome->status != (uint32_t)-LS_SCHEMA) {
        return;
    }
    synctest_lint_add(&result->lint, &(synctest_lint_item){.kind = SYNCTEST_LINT_SCHEMA,
                                                           .is_error = true,
                                                           .name = "schema",
                                                           .topic = "uncovered bytes",
                                                           .why = outcome->text.bytes,
                                                           .instead = ""});
}

/* A state behind a callback is no block of memory that has a struct. */
static void lint_types(synctest_result *result)
{
    const synctest_facts *facts = &result->facts;
    size_t items[SYNCTEST_ITEM_SIZES_MAX];
    uint32_t count = 0;
    while (count < SYNCTEST_ITEM_SIZES_MAX && facts->item_bytes[count] != 0) {
        items[count] = (size_t)facts->item_bytes[count];
        count++;
    }
    if (result->has_lint && facts->has_schema) {
        synctest_lint_types(result->match->sim, (size_t)facts->state_bytes, items, count,
                            &result->lint);
    }
}

/* Nothing but the program of --against, which did not play. */
static bool has_program_failed(const synctest_result *result)
{
    uint32_t failed = 0;
    for (uint32_t i = 0; i < result->finding_count; i++) {
        const synctest_outcome *outcome = &result->findings[i].outcome;
        failed += outcome->kind == SYNCTEST_OUTCOME_FAILED && outcome->status == (uint32_t)-LS_IO;
    }
    return failed > 0 && failed == result->failed && result->lint.errors == 0;
}

static ls_exit_code verdict(synctest_result *result, bool is_lint_only, ls_console *console)
{
    uint32_t errors = result->lint.errors;
    bool is_bad = result->failed > 0 || errors > 0;
    bool is_empty = is_lint_only ? !result->has_lint : result->hashes_compared == 0;
    result->status = is_bad ? "differs" : is_empty ? "nothing compared" : "clean";
    if (!is_lint_only) {
        ls_log_line(&console->log, LS_LOG_INFO,
                    "%" PRIu64 " state hashes compared in %" PRIu32 " perturbations, %" PRIu32
                    " of which found something; %" PRIu32 " errors by lint",
                    result->hashes_compared, result->finding_count, result->failed, errors);
    }
    if (is_empty) {
        ls_log_line(&console->log, LS_LOG_ERROR, "nothing was compared: this tests nothing");
    }
    if (!is_bad && !is_empty && !is_lint_only) {
        ls_log_line(&console->log, LS_LOG_INFO,
                    "a race that shows less often than once in these %" PRIu64
                    " ticks may not have been seen",
                    result->hashes_compared);
    }
    if (has_program_failed(result)) {
        result->status = "failed";
        return LS_EXIT_ENVIRONMENT;
    }
    return is_bad || is_empty ? LS_EXIT_DESYNC : LS_EXIT_CLEAN;
}

/* A long match reaches rare paths, and a fast simulation has time for one. */
static ls_status record(const synctest_config *config, synctest_runner *runner,
                        synctest_finding *reference)
{
    ls_status status = synctest_runner_record(runner, reference);
    bool is_done = status != LS_OK || reference->outcome.kind != SYNCTEST_OUTCOME_SAME ||
                   !config->is_length_open || config->is_only_lint || reference->worked_ns == 0;
    uint64_t ticks = is_done ? 0 : runner->match.ticks * REFERENCE_NS / reference->worked_ns;
    ticks = LS_MIN(ticks, SYNCTEST_OPEN_TICKS_MAX);
    if (ticks <= runner->match.ticks) {
        return status;
    }
    runner->match.ticks = (uint32_t)ticks;
    memset(&runner->facts, 0, sizeof runner->facts);
    return synctest_runner_record(runner, reference);
}

static ls_exit_code run_perturbations(const synctest_config *config, synctest_runner *runner,
                                      synctest_result *result, ls_console *console)
{
    ls_status status = record(config, runner, &result->reference);
    result->match = &runner->match;
    result->has_reference = true;
    result->facts = runner->facts;
    result->evidence.is_engine = runner->facts.has_schema == 0;
    note_schema(result);
    lint_types(result);
    note_words(result, &result->reference);
    if (status == LS_OK && result->has_lint) {
        show_lint(result, console);
    }
    if (status == LS_OK && result->reference.outcome.kind != SYNCTEST_OUTCOME_SAME) {
        return end_without_reference(result, console);
    }
    if (status == LS_OK && config->is_only_lint) {
        return verdict(result, true, console);
    }
    if (status == LS_OK) {
        show_simulation(result, console);
        status = play_perturbations(config, runner, result, console);
    }
    if (status != LS_OK) {
        ls_log_line(&console->log, LS_LOG_ERROR, "no process can be started: %s",
                    ls_status_text(status));
        return LS_EXIT_ENVIRONMENT;
    }
    synctest_result_merge(result);
    show_all_bad(result, console);
    return verdict(result, false, console);
}

static ls_status write_reports(const synctest_config *config, const synctest_result *result,
                               ls_console *console)
{
    ls_text why = {""};
    ls_status status =
        config->json_path ? synctest_result_write_json(result, config->json_path, &why) : LS_OK;
    if (status == LS_OK && config->junit_path) {
        status = synctest_result_write_junit(result, config->junit_path, &why);
    }
    if (status != LS_OK) {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s", why.bytes);
    }
    return status;
}

ls_exit_code synctest_run(const synctest_config *config, ls_console *console)
{
    static synctest_result result; /* too big for a stack */
    synctest_runner runner;
    result.match = &config->match;
    result.status = "failed";
    ls_text why = {{0}};
    bool is_whole = ls_ability_is_there(LS_ABILITY_PERTURBED_PROCESSES, &why);
    bool is_linted = config->is_lint_wanted && (is_whole || config->is_only_lint);
    if (!is_whole && !config->is_only_lint) {
        ls_log_line(&console->log, LS_LOG_WARNING, "%s", why.bytes);
    }
    ls_status status = is_linted ? lint(config, &result, console) : LS_OK;
    LS_THEN(status, gather_evidence(config, &result, console));
    if (status != LS_OK) {
        return ls_exit_code_of(status);
    }
    if (is_whole && !synctest_process_changes_can_fix_addresses()) {
        ls_log_line(&console->log, LS_LOG_WARNING,
                    "this system gives every process other addresses: what depends on them will "
                    "seem to differ with every perturbation");
    }
    status = synctest_runner_open(&runner, &config->match, config->against, config->patience_ms);
    if (status != LS_OK) {
        ls_log_line(&console->log, LS_LOG_ERROR, "no memory to share with other processes");
        return LS_EXIT_ENVIRONMENT;
    }
    ls_exit_code code = run_perturbations(config, &runner, &result, console);
    synctest_runner_close(&runner);
    status = write_reports(config, &result, console);
    return status == LS_OK ? code : ls_exit_code_of(status);
}
