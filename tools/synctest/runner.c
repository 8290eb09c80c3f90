#include "lockstep/tools/synctest/runner.h"

#include "lockstep/common/system/ability.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/float_mode.h"
#include "lockstep/common/system/shared_memory.h"
#include "lockstep/common/system/signals.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/tools/synctest/lint.h"
#include "lockstep/tools/synctest/perturbed_process.h"
#include "lockstep/tools/synctest/process_changes.h"

#include <stdio.h>
#include <string.h>

/* ---- launch: starts the program again as a perturbed process, waits for it, and ends it when it
 * stands still ---- */

typedef enum launch_end {
    LAUNCH_TOLD,  /* it got to the end of its task */
    LAUNCH_ENDED, /* it is gone without having said anything */
    LAUNCH_HUNG,
} launch_end;

enum {
    POLL_MS = 100,
};

static ls_status start(const synctest_launch *launch, ls_child_process *process)
{
    static const char *const this_program[] = {"lockstep-synctest", NULL};
    const char *const *words = launch->program ? launch->program : this_program;
    const char *arguments[SYNCTEST_PROGRAM_WORDS_MAX + 2] = {NULL};
    size_t count = 0;
    while (count < SYNCTEST_PROGRAM_WORDS_MAX && words[count]) {
        arguments[count] = words[count];
        count++;
    }
    arguments[count] = SYNCTEST_PERTURBED_ARGUMENT;
    ls_child_process_config config = {.program = launch->program ? words[0] : LS_CHILD_THIS_PROGRAM,
                                      .arguments = arguments,
                                      .streams = {0, 0, launch->words},
                                      .descriptor_count = SYNCTEST_FILE_COUNT,
                                      .dies_with_parent = true};
    synctest_process_changes_prepare(launch, &config);
    memcpy(config.descriptors, launch->files, sizeof launch->files);
    return ls_child_process_start(&config, process, NULL);
}

/* False when it stood still for too long. */
static bool wait_for_end(const synctest_launch *launch, ls_child_process *process,
                         ls_child_process_end *end)
{
    uint32_t still_ms = 0;
    uint32_t beats = launch->exchange->progress.beats;
    while (!ls_child_process_wait(process, POLL_MS, end)) {
        uint32_t now = launch->exchange->progress.beats;
        still_ms = now == beats ? still_ms + POLL_MS : 0;
        beats = now;
        if (still_ms >= launch->patience_ms) {
            ls_child_process_strike(process);
            ls_child_process_wait(process, LS_CHILD_WAIT_FOREVER, end);
            return false;
        }
    }
    return true;
}

/* As ls_child_process_start, when no process can be started. */
static ls_status launch_run(const synctest_launch *launch, launch_end *how,
                            ls_child_process_end *end)
{
    ls_child_process process;
    ls_status status = start(launch, &process);
    if (status != LS_OK) {
        return status;
    }
    bool has_ended = wait_for_end(launch, &process, end);
    bool has_told = launch->exchange->outcome.kind != SYNCTEST_OUTCOME_NONE;
    *how = !has_ended ? LAUNCH_HUNG : has_told ? LAUNCH_TOLD : LAUNCH_ENDED;
    return LS_OK;
}

static uint64_t now_ns(void)
{
    ls_clock clock = ls_clock_system();
    return ls_clock_now_ns(&clock);
}

ls_status synctest_runner_open(synctest_runner *runner, const synctest_match *match,
                               synctest_against against, uint32_t patience_ms)
{
    *runner = (synctest_runner){.match = *match,
                                .against = against,
                                .patience_ms = patience_ms,
                                .tape = ls_shared_memory_make("tape"),
                                .saves = ls_shared_memory_make("saves")};
    return runner->tape >= 0 && runner->saves >= 0 ? LS_OK : LS_IO;
}

void synctest_runner_close(synctest_runner *runner)
{
    ls_shared_memory_close(runner->tape);
    ls_shared_memory_close(runner->saves);
}

/* The tape and the saves are the runner's. */
static void close_launch(const synctest_launch *launch)
{
    ls_shared_memory_release(launch->exchange, sizeof *launch->exchange);
    ls_shared_memory_close(launch->files[SYNCTEST_FILE_EXCHANGE]);
    ls_shared_memory_close(launch->files[SYNCTEST_FILE_TRACE]);
    ls_shared_memory_close(launch->words);
}

static ls_status open_launch(const synctest_runner *runner, synctest_launch *launch)
{
    int file = ls_shared_memory_make("exchange");
    *launch = (synctest_launch){.files = {[SYNCTEST_FILE_EXCHANGE] = file,
                                          [SYNCTEST_FILE_TAPE] = runner->tape,
                                          [SYNCTEST_FILE_SAVES] = runner->saves,
                                          [SYNCTEST_FILE_TRACE] = ls_shared_memory_make("trace")},
                                .words = ls_shared_memory_make("words"),
                                .patience_ms = runner->patience_ms};
    void *block = ls_shared_memory_map(file, sizeof *launch->exchange);
    if (!block || launch->files[SYNCTEST_FILE_TRACE] < 0 || launch->words < 0) {
        ls_shared_memory_release(block, sizeof *launch->exchange);
        close_launch(launch);
        return LS_IO;
    }
    launch->exchange = block;
    launch->exchange->bytes = sizeof *launch->exchange;
    launch->exchange->match = runner->match;
    launch->exchange->facts = runner->facts;
    for (uint32_t i = 0; i < SYNCTEST_TRIED_JOINS; i++) {
        launch->exchange->join_ticks[i] = synctest_perturbation_join_tick(runner->match.ticks, i);
    }
    return LS_OK;
}

/* ---- the end of a process ---- */

static void read_last_line(int words, char *line, size_t capacity)
{
    char bytes[1024] = "";
    ls_mapped_file all = {0};
    (void)ls_mapped_file_of(words, "words", &all, NULL);
    size_t end = all.size;
    while (end > 0 && all.bytes[end - 1] == '\n') {
        end--;
    }
    size_t size = LS_MIN(end, sizeof bytes - 1);
    if (size > 0) {
        memcpy(bytes, all.bytes + end - size, size);
    }
    ls_mapped_file_close(&all);
    const char *last = strrchr(bytes, '\n');
    ls_name_copy(line, capacity, last ? last + 1 : bytes);
}

static const char *phase_name(uint32_t phase)
{
    static const char *const names[SYNCTEST_PHASE_COUNT] = {"the host",
                                                            "loading or init",
                                                            "state_bytes or fields",
                                                            "init",
                                                            "a pass",
                                                            "hash",
                                                            "save",
                                                            "draw",
                                                            "sounds",
                                                            "status",
                                                            "bot",
                                                            "deinit",
                                                            "loading",
                                                            "load"};
    return phase < SYNCTEST_PHASE_COUNT ? names[phase] : "an unknown place";
}

/* Fills in where a process that did not come to an end was, and in whose code. */
static void place_death(const synctest_exchange *exchange, synctest_outcome *outcome)
{
    const synctest_progress *progress = &exchange->progress;
    char sim[SYNCTEST_PATH_BYTES_MAX];
    ls_name_copy(sim, sizeof sim, exchange->match.sim);
    const char *slash = strrchr(sim, '/');
    ls_text_set(&outcome->text, "%s", slash ? slash + 1 : sim);
    char function[LS_NAME_BYTES_MAX];
    if (outcome->crash_address != 0 &&
        synctest_lint_function_at(sim, outcome->crash_address, function, sizeof function)) {
        ls_text_add(&outcome->text, ", in %s()", function);
    }
    outcome->tick = progress->tick;
    bool is_in_pass = progress->phase == SYNCTEST_PHASE_PASS && progress->pass < LS_PASSES_MAX;
    const char *place =
        is_in_pass ? exchange->facts.pass_names[progress->pass] : phase_name(progress->phase);
    ls_name_copy(outcome->pass, sizeof outcome->pass, place);
}

/* A plug-in may have written here: an end, and nothing that moves a terminal's cursor. */
static void clean(char *text, size_t capacity)
{
    text[capacity - 1] = '\0';
    ls_name_copy(text, capacity, text);
}

static void judge(const synctest_exchange *exchange, launch_end how, int signal_number,
                  synctest_outcome *outcome)
{
    *outcome = exchange->outcome;
    if (how == LAUNCH_HUNG) {
        outcome->kind = SYNCTEST_OUTCOME_HUNG;
    } else if (how == LAUNCH_ENDED) {
        outcome->kind = SYNCTEST_OUTCOME_CRASHED;
        outcome->signal = signal_number;
    }
    if (outcome->kind == SYNCTEST_OUTCOME_HUNG || outcome->kind == SYNCTEST_OUTCOME_CRASHED) {
        place_death(exchange, outcome);
    }
    clean(outcome->text.bytes, sizeof outcome->text.bytes);
    clean(outcome->pass, sizeof outcome->pass);
    clean(outcome->field, sizeof outcome->field);
    clean(outcome->expected, sizeof outcome->expected);
    clean(outcome->found, sizeof outcome->found);
}

/* Another program did not even begin: what the simulation does is not known, and not to blame. */
static void blame_program(const synctest_launch *run, ls_status status,
                          const ls_child_process_end *end, synctest_outcome *outcome)
{
    *outcome = (synctest_outcome){.kind = SYNCTEST_OUTCOME_FAILED, .status = (uint32_t)-LS_IO};
    ls_text_set(&outcome->text, "the program %s ", run->program[0]);
    if (status != LS_OK) {
        ls_text_add(&outcome->text, "cannot be started: %s", ls_status_text(status));
    } else if (end->signal != 0) {
        ls_text_add(&outcome->text, "crashed before it began (signal %d)", end->signal);
    } else {
        ls_text_add(&outcome->text,
                    "ended with code %d before it began: it has to be a lockstep-synctest of this "
                    "version",
                    (int)end->exit_code);
    }
}

static ls_status send(synctest_launch *run, synctest_task task, uint32_t changes,
                      synctest_finding *out)
{
    launch_end how = LAUNCH_ENDED;
    ls_child_process_end end;
    run->exchange->task = task;
    run->exchange->progress.beats = 0;
    run->changes = changes;
    ls_status status = launch_run(run, &how, &end);
    const synctest_progress *progress = &run->exchange->progress;
    bool has_begun =
        how != LAUNCH_ENDED || progress->beats > 0 || progress->phase != SYNCTEST_PHASE_HOST;
    if (run->program && (status != LS_OK || !has_begun)) {
        blame_program(run, status, &end, &out->outcome);
        return LS_OK;
    }
    if (status != LS_OK) {
        return status;
    }
    out->worked_ns = end.worked_ns;
    judge(run->exchange, how, end.signal, &out->outcome);
    out->static_writes = run->exchange->static_writes;
    if (out->static_writes.count > SYNCTEST_STATIC_WRITES_MAX) {
        out->static_writes.count = 0; /* a plug-in has been there */
    }
    bool has_died = out->outcome.kind == SYNCTEST_OUTCOME_CRASHED;
    if (has_died) {
        read_last_line(run->words, out->words, sizeof out->words);
    }
    return LS_OK;
}

/* ---- the reference ---- */

static void clean_facts(synctest_facts *facts)
{
    clean(facts->name, sizeof facts->name);
    for (uint32_t i = 0; i < LS_PASSES_MAX; i++) {
        clean(facts->pass_names[i], sizeof facts->pass_names[i]);
    }
}

/* A file whose end is missing is no finding: it cannot be tested. */
static void note_damaged_file(const synctest_exchange *exchange, synctest_outcome *outcome)
{
    uint32_t phase = exchange->progress.phase;
    bool is_loading = phase == SYNCTEST_PHASE_LOAD || phase == SYNCTEST_PHASE_OPENING;
    if (outcome->kind == SYNCTEST_OUTCOME_CRASHED && ls_crash_signal_is_of_file(outcome->signal) &&
        is_loading) {
        outcome->kind = SYNCTEST_OUTCOME_FAILED;
        outcome->status = (uint32_t)-LS_PLUGIN;
        ls_text_add(&outcome->text, " cannot be loaded (SIGBUS): it is cut short or damaged");
    }
}

ls_status synctest_runner_record(synctest_runner *runner, synctest_finding *out)
{
    synctest_launch run;
    uint64_t start_ns = now_ns();
    *out = (synctest_finding){.perturbation = SYNCTEST_PERTURBATION_STILL};
    ls_status status = open_launch(runner, &run);
    if (status != LS_OK) {
        return status;
    }
    status = send(&run, SYNCTEST_TASK_RECORD, SYNCTEST_CHANGES_NOTHING, out);
    runner->facts = run.exchange->facts;
    clean_facts(&runner->facts);
    note_damaged_file(run.exchange, &out->outcome);
    out->took_ns = now_ns() - start_ns;
    close_launch(&run);
    return status;
}

/* ---- a perturbation ---- */

/* Why this simulation has nothing to perturb, or NULL. */
static const char *reason_to_skip(const synctest_runner *runner,
                                  const synctest_perturbation *perturbation)
{
    bool needs_save = perturbation->mode == SYNCTEST_MODE_SAVE ||
                      perturbation->mode == SYNCTEST_MODE_JOIN ||
                      perturbation->mode == SYNCTEST_MODE_ROLLBACK;
    if (needs_save && runner->facts.save_bytes == 0) {
        return "the simulation cannot be saved";
    }
    if (perturbation->changes & SYNCTEST_CHANGES_SCRATCH && runner->facts.scratch_bytes == 0) {
        return "the simulation asks for no scratch memory";
    }
    if (perturbation->changes & SYNCTEST_CHANGES_WORKERS && runner->facts.workers_max < 2) {
        return "the simulation declares no workers";
    }
    if (perturbation->changes & SYNCTEST_CHANGES_CPU &&
        !synctest_process_changes_can_change_cpu()) {
        return "this processor has no FMA that the C library could do without";
    }
    if (perturbation->changes & SYNCTEST_CHANGES_FLUSH && !ls_float_mode_can_flush()) {
        return "how this processor flushes denormals is not known";
    }
    if (perturbation->changes & SYNCTEST_CHANGES_BUILD && !runner->against.file &&
        !runner->against.program) {
        return "no other build was given (--against)";
    }
    return NULL;
}

/* A difference is looked into by a process that plays the reference up to it. */
static ls_status explain(const synctest_runner *runner, synctest_launch *run, synctest_finding *out)
{
    run->exchange->until = out->outcome.tick;
    run->exchange->match = runner->match; /* not the other build */
    run->program = NULL;
    const synctest_outcome kept = out->outcome;
    ls_status status = send(run, SYNCTEST_TASK_EXPLAIN, SYNCTEST_CHANGES_NOTHING, out);
    out->outcome.kind = kept.kind; /* whatever became of the process that explains */
    out->outcome.tick = kept.tick;
    return status;
}

static ls_status play_variant(const synctest_runner *runner, synctest_perturbation_id id,
                              uint32_t variant, synctest_finding *out)
{
    synctest_launch run;
    ls_status status = open_launch(runner, &run);
    if (status != LS_OK) {
        return status;
    }
    const synctest_perturbation *perturbation = synctest_perturbation_of(id);
    run.exchange->perturbation = id;
    run.exchange->variant = variant;
    if (perturbation->changes & SYNCTEST_CHANGES_BUILD && runner->against.file) {
        snprintf(run.exchange->match.sim, sizeof run.exchange->match.sim, "%s",
                 runner->against.file);
    } else if (perturbation->changes & SYNCTEST_CHANGES_BUILD) {
        run.program = runner->against.program;
    }
    out->variant = variant;
    status = send(&run, SYNCTEST_TASK_PLAY, perturbation->changes, out);
    if (status == LS_OK && out->outcome.kind == SYNCTEST_OUTCOME_DIFFERS) {
        status = explain(runner, &run, out);
    }
    out->hashes_compared += out->outcome.hashes_compared;
    close_launch(&run);
    return status;
}

/* Which part of what `library` changes made the difference; as it is when none does so alone. */
static ls_status narrow(const synctest_runner *runner, synctest_finding *out)
{
    ls_status status = LS_OK;
    for (uint32_t part = 1; part < SYNCTEST_LIBRARY_PARTS && status == LS_OK; part++) {
        synctest_finding one = *out;
        status = play_variant(runner, SYNCTEST_PERTURBATION_LIBRARY, part, &one);
        if (status == LS_OK && one.outcome.kind == out->outcome.kind) {
            *out = one;
            out->outcome.part = part;
            break;
        }
    }
    return status;
}

ls_status synctest_runner_play(const synctest_runner *runner, synctest_perturbation_id id,
                               synctest_finding *out)
{
    const synctest_perturbation *perturbation = synctest_perturbation_of(id);
    uint64_t start_ns = now_ns();
    *out = (synctest_finding){.perturbation = id};
    if (perturbation->changes & SYNCTEST_CHANGES_OF_PROCESSES &&
        !ls_ability_is_there(LS_ABILITY_PERTURBED_PROCESSES, &out->outcome.text)) {
        out->outcome.kind = SYNCTEST_OUTCOME_SKIPPED;
        return LS_OK;
    }
    const char *reason = reason_to_skip(runner, perturbation);
    if (reason) {
        out->outcome.kind = SYNCTEST_OUTCOME_SKIPPED;
        return ls_fail(LS_OK, &out->outcome.text, "%s", reason);
    }
    ls_status status = LS_OK;
    out->outcome.kind = SYNCTEST_OUTCOME_SAME;
    for (uint32_t i = 0; i < perturbation->variants && status == LS_OK; i++) {
        status = play_variant(runner, id, i, out);
        if (out->outcome.kind != SYNCTEST_OUTCOME_SAME) {
            break;
        }
    }
    bool is_different = out->outcome.kind == SYNCTEST_OUTCOME_DIFFERS;
    if (status == LS_OK && id == SYNCTEST_PERTURBATION_LIBRARY && is_different) {
        status = narrow(runner, out);
    }
    out->took_ns = now_ns() - start_ns;
    return status;
}
