/* lockstep-replay: reads the command line, looks into the journal of a match. */
#define _DEFAULT_SOURCE
#include "lockstep/client/window/view_options.h"
#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/game/param_files.h"
#include "lockstep/common/journal/journal_index.h"
#include "lockstep/common/maths/stable_sort.h"
#include "lockstep/common/program/command_line.h"
#include "lockstep/common/program/console.h"
#include "lockstep/common/program/html.h"
#include "lockstep/common/program/json.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/common/system/child_process.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/machine.h"
#include "lockstep/common/system/output.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/tools/replay/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Batch: verifies all journals of a folder, each in a process of its own, several at a time:
 * one that crashes its simulation, or never ends, spoils no other ---- */

/* ---- Journal list: the journals in a folder and in the folders below it, by their names.
 * Reads none of them ---- */

typedef struct replay_journal_list {
    char **paths; /* sorted */
    uint32_t count;
    uint32_t capacity;
} replay_journal_list;

/* ---- the batch ---- */

#define REPLAY_JOBS_MAX 64u
#define REPLAY_TIME_LIMIT_S_MAX 86400u

typedef struct replay_batch_config {
    const char *path;               /* a folder, or one journal */
    const char *simulation;         /* NULL: the built-ins that the journals name */
    const char *const *assignments; /* of --param */
    uint32_t assignment_count;
    const char *junit_path; /* NULL: no such report; "-": standard output */
    const char *json_path;  /* likewise */
    uint32_t jobs;          /* at a time; 0: as many as there are processors */
    uint32_t time_limit_s;  /* of one journal */
    bool is_quiet;          /* prints nothing but warnings */
} replay_batch_config;

/* ---- lists of journals ---- */

enum {
    DEPTH_MAX = 16, /* of folders in folders */
    PATH_BYTES_MAX = 4096,
    FIRST_CAPACITY = 64,
};

static bool replay_is_folder(const char *path)
{
    ls_file_facts found;
    return ls_file_look(path, &found) && found.kind == LS_FILE_FOLDER;
}

static ls_status grow(replay_journal_list *list)
{
    uint32_t capacity = list->capacity == 0 ? FIRST_CAPACITY : 2 * list->capacity;
    char **paths = ls_allocate_array(ls_allocator_heap(), capacity, sizeof *paths);
    if (!paths) {
        return LS_NO_MEMORY;
    }
    memcpy(paths, list->paths ? (const void *)list->paths : "", list->count * sizeof *paths);
    ls_release(ls_allocator_heap(), list->paths);
    list->paths = paths;
    list->capacity = capacity;
    return LS_OK;
}

static ls_status add(replay_journal_list *list, const char *path)
{
    ls_status status = list->count == list->capacity ? grow(list) : LS_OK;
    size_t bytes = strlen(path) + 1;
    char *copy = status == LS_OK ? ls_allocate(ls_allocator_heap(), bytes) : NULL;
    if (!copy) {
        return LS_NO_MEMORY;
    }
    memcpy(copy, path, bytes);
    list->paths[list->count++] = copy;
    return LS_OK;
}

static ls_status fill(replay_journal_list *list, const char *folder, uint32_t depth, ls_text *why);

static ls_status look_at(replay_journal_list *list, const char *folder, const char *name,
                         uint32_t depth, ls_text *why)
{
    char path[PATH_BYTES_MAX];
    ls_file_facts found;
    int bytes = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (name[0] == '.' || bytes >= (int)sizeof path) {
        return LS_OK;
    }
    bool is_folder = ls_file_look(path, &found) && found.kind == LS_FILE_FOLDER;
    if (is_folder && !found.is_link && depth < DEPTH_MAX) {
        return fill(list, path, depth + 1, why);
    }
    return ls_journal_is_named(name) && !is_folder ? add(list, path) : LS_OK;
}

static ls_status fill(replay_journal_list *list, const char *folder, uint32_t depth, ls_text *why)
{
    ls_folder *directory = ls_folder_open(folder);
    if (!directory) {
        return ls_fail(LS_IO, why, "cannot read the folder %s: %s", folder, strerror(errno));
    }
    ls_status status = LS_OK;
    const char *name = NULL;
    while (status == LS_OK && (name = ls_folder_next(directory)) != NULL) {
        status = look_at(list, folder, name, depth, why);
    }
    ls_folder_close(directory);
    return status;
}

static int compare_paths(const void *a, const void *b, const void *user)
{
    (void)user;
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static ls_status sort(replay_journal_list *list)
{
    char **scratch = ls_allocate_array(ls_allocator_heap(), list->count + 1, sizeof *scratch);
    if (!scratch) {
        return LS_NO_MEMORY;
    }
    ls_stable_sort(list->paths, list->count, sizeof *list->paths, scratch, compare_paths, NULL);
    ls_release(ls_allocator_heap(), scratch);
    return LS_OK;
}

/* Adds the file, or each "*.journal" of the folder; links to folders are not followed. IO with the
 * reason, or NO_MEMORY: free the list all the same. */
static ls_status journal_list_fill(replay_journal_list *list, const char *path, ls_text *why)
{
    ls_status status = replay_is_folder(path) ? fill(list, path, 0, why) : add(list, path);
    status = status == LS_OK && list->count > 0 ? sort(list) : status;
    if (status == LS_NO_MEMORY) {
        ls_text_set(why, "%s", ls_status_text(status));
    }
    return status;
}

static void journal_list_free(replay_journal_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        ls_release(ls_allocator_heap(), list->paths[i]);
    }
    ls_release(ls_allocator_heap(), list->paths);
    *list = (replay_journal_list){.count = 0};
}

/* ---- the batch ---- */

typedef enum replay_verdict_kind {
    REPLAY_RIGHT,
    REPLAY_DIFFERS,    /* simulated here, a state or the inputs are not those of the journal */
    REPLAY_UNVERIFIED, /* the file, the simulation or the process failed */
} replay_verdict_kind;

typedef struct replay_verdict {
    const char *path; /* borrowed */
    replay_verdict_kind kind;
    char status[32]; /* "DESYNCED", as lockstep-replay verify gives it */
    ls_text why;     /* empty when it is right */
    uint64_t ticks;
    uint64_t state_hashes;
    uint64_t took_ns;
} replay_verdict;

enum {
    OUTPUT_BYTES_MAX = 1 << 16, /* of one process: a summary */
    ARGUMENTS_MAX = 160,
};

typedef struct batch batch;

/* One process at a time. */
typedef struct batch_process {
    batch *all;
    ls_loop_job *job;
    replay_verdict *verdict; /* that it works on */
    uint8_t output[OUTPUT_BYTES_MAX];
} batch_process;

struct batch {
    const replay_batch_config *config;
    ls_console *console;
    ls_event_loop *loop;
    ls_clock clock;
    replay_journal_list list;
    replay_verdict *verdicts; /* one for each journal */
    uint32_t begun;
    uint32_t done;
    uint32_t process_count;
    batch_process *processes;
};

/* ---- verdicts ---- */

/* The outcomes of verifying journals, as lines, as JSON, and as JUnit for those who run this as a
 * test. */

static uint32_t count_of(const replay_verdict *verdicts, uint32_t count, replay_verdict_kind kind)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        found += verdicts[i].kind == kind ? 1 : 0;
    }
    return found;
}

/* Of all of them: 0, 3 when one differs, else 1. */
static ls_exit_code replay_verdicts_exit(const replay_verdict *verdicts, uint32_t count)
{
    if (count_of(verdicts, count, REPLAY_DIFFERS) > 0) {
        return LS_EXIT_DESYNC;
    }
    return count_of(verdicts, count, REPLAY_UNVERIFIED) > 0 ? LS_EXIT_ENVIRONMENT : LS_EXIT_CLEAN;
}

/* "12 journals: 10 are right, 1 differs, 1 could not be verified". */
static void replay_verdicts_sum(const replay_verdict *verdicts, uint32_t count, ls_text *out)
{
    ls_text_set(out,
                "%" PRIu32 " journals: %" PRIu32 " right, %" PRIu32 " different, %" PRIu32
                " could not be verified",
                count, count_of(verdicts, count, REPLAY_RIGHT),
                count_of(verdicts, count, REPLAY_DIFFERS),
                count_of(verdicts, count, REPLAY_UNVERIFIED));
}

static void replay_verdicts_json(const replay_verdict *verdicts, uint32_t count, ls_json *json)
{
    static const char *const words[] = {"right", "different", "unverified"};
    ls_json *list = ls_json_array(json, "journals");
    for (uint32_t i = 0; i < count; i++) {
        const replay_verdict *verdict = &verdicts[i];
        ls_json *item = ls_json_append(list);
        ls_json_text(item, "file", verdict->path);
        ls_json_text(item, "verdict", words[verdict->kind]);
        ls_json_text(item, "status", verdict->status);
        ls_json_text(item, "why", verdict->why.bytes[0] != '\0' ? verdict->why.bytes : NULL);
        ls_json_number(item, "ticks", (double)verdict->ticks);
        ls_json_number(item, "state_hashes", (double)verdict->state_hashes);
        ls_json_ms(item, "took_ms", verdict->took_ns);
    }
}

/* ---- JUnit ---- */

static void time_attribute(ls_html *xml, uint64_t ns)
{
    char text[32];
    snprintf(text, sizeof text, "%.3f", (double)ns / 1e9);
    ls_html_attribute(xml, "time", text);
}

static void counts(ls_html *xml, const replay_verdict *verdicts, uint32_t count, uint64_t took_ns)
{
    ls_html_attribute(xml, "name", "lockstep-replay verify");
    ls_html_number_attribute(xml, "tests", count);
    ls_html_number_attribute(xml, "failures", count_of(verdicts, count, REPLAY_DIFFERS));
    ls_html_number_attribute(xml, "errors", count_of(verdicts, count, REPLAY_UNVERIFIED));
    time_attribute(xml, took_ns);
}

static void write_case(ls_html *xml, const replay_verdict *verdict)
{
    ls_html_begin(xml, "testcase");
    ls_html_attribute(xml, "classname", "lockstep.journal");
    ls_html_attribute(xml, "name", verdict->path);
    time_attribute(xml, verdict->took_ns);
    if (verdict->kind == REPLAY_RIGHT) {
        ls_html_end(xml);
        return;
    }
    ls_html_begin(xml, verdict->kind == REPLAY_DIFFERS ? "failure" : "error");
    ls_html_attribute(xml, "type", verdict->status);
    ls_html_attribute(xml, "message", verdict->why.bytes);
    ls_html_text(xml, verdict->why.bytes);
    ls_html_end(xml);
    ls_html_end(xml);
}

static void write_cases(FILE *file, const replay_verdict *verdicts, uint32_t count,
                        uint64_t took_ns)
{
    ls_html xml = ls_xml_document(file);
    ls_html_begin(&xml, "testsuites");
    counts(&xml, verdicts, count, took_ns);
    ls_html_begin(&xml, "testsuite");
    counts(&xml, verdicts, count, took_ns);
    for (uint32_t i = 0; i < count; i++) {
        write_case(&xml, &verdicts[i]);
    }
    ls_html_end(&xml);
    ls_html_end(&xml);
    fputc('\n', file);
}

/* "-" is standard output. IO with the reason. */
static ls_status replay_verdicts_junit(const replay_verdict *verdicts, uint32_t count,
                                       uint64_t took_ns, const char *path, ls_text *why)
{
    FILE *file = ls_output_open(path, LS_OUTPUT_WAITS_FOR_READER);
    if (!file) {
        return ls_fail(LS_IO, why, "cannot write %s: %s", path, strerror(errno));
    }
    write_cases(file, verdicts, count, took_ns);
    return ls_output_close(file)
               ? LS_OK
               : ls_fail(LS_IO, why, "cannot write %s: %s", path, strerror(errno));
}

/* ---- one journal, in a thread of the pool ---- */

static void list_arguments(const batch_process *process, const char *list[ARGUMENTS_MAX])
{
    const replay_batch_config *config = process->all->config;
    uint32_t count = 0;
    list[count++] = "lockstep-replay";
    list[count++] = "verify";
    list[count++] = "--quiet";
    list[count++] = "--json";
    list[count++] = "-";
    if (config->simulation) {
        list[count++] = "--sim";
        list[count++] = config->simulation;
    }
    for (uint32_t i = 0; i < config->assignment_count && count + 4 < ARGUMENTS_MAX; i++) {
        list[count++] = "--param";
        list[count++] = config->assignments[i];
    }
    list[count++] = "--";
    list[count++] = process->verdict->path;
    list[count] = NULL;
}

static void fail(replay_verdict *verdict, const char *status, const char *why)
{
    verdict->kind = REPLAY_UNVERIFIED;
    ls_name_copy(verdict->status, sizeof verdict->status, status);
    ls_text_set(&verdict->why, "%s", why);
}

static void describe_difference(replay_verdict *verdict, const ls_json *summary)
{
    uint64_t tick = 0;
    uint64_t recorded = 0;
    uint64_t here = 0;
    const ls_json *difference = ls_json_read_object(summary, "difference");
    if (difference && ls_json_read_u64(difference, "tick", &tick) &&
        ls_json_read_hash(difference, "journal_root", &recorded) &&
        ls_json_read_hash(difference, "root_here", &here)) {
        ls_text_set(&verdict->why,
                    "state %" PRIu64 " differs: the journal has hash %016" PRIx64
                    ", simulated here it is %016" PRIx64,
                    tick, recorded, here);
    }
}

static void read_summary(replay_verdict *verdict, const ls_json *summary, int64_t exit_code)
{
    const char *status = ls_json_read_text(summary, "status");
    const char *why = ls_json_read_text(summary, "why");
    if (!status) {
        fail(verdict, "INTERNAL", "the process that verified it said nothing");
        return;
    }
    (void)ls_json_read_u64(summary, "ticks", &verdict->ticks);
    (void)ls_json_read_u64(summary, "state_hashes", &verdict->state_hashes);
    if (exit_code == LS_EXIT_CLEAN) {
        verdict->kind = REPLAY_RIGHT;
        ls_name_copy(verdict->status, sizeof verdict->status, status);
        return;
    }
    fail(verdict, status, why ? why : "it could not be verified");
    if (exit_code == LS_EXIT_DESYNC) {
        verdict->kind = REPLAY_DIFFERS;
        describe_difference(verdict, summary);
    }
}

static void on_end(batch_process *process, const ls_child_process_end *end)
{
    replay_verdict *verdict = process->verdict;
    ls_text why = {{0}};
    if (end->is_overdue) {
        ls_text_set(&why, "it was not verified within %" PRIu32 " s",
                    process->all->config->time_limit_s);
        fail(verdict, ls_status_name(LS_TIMED_OUT), why.bytes);
    } else if (end->signal != 0) {
        ls_text_set(&why, "the process that simulated it was ended by signal %d", end->signal);
        fail(verdict, "CRASHED", why.bytes);
    } else {
        ls_json *summary = ls_json_parse((const char *)process->output, end->output_bytes);
        read_summary(verdict, summary, end->exit_code);
        ls_json_destroy(summary);
    }
}

static void verify(void *user)
{
    batch_process *process = user;
    const char *arguments[ARGUMENTS_MAX];
    list_arguments(process, arguments);
    const ls_child_process_config config = {.program = LS_CHILD_THIS_PROGRAM,
                                            .arguments = arguments};
    const ls_child_process_exchange exchange = {.output = process->output,
                                                .output_bytes_max = sizeof process->output,
                                                .time_max_ms =
                                                    process->all->config->time_limit_s * 1000};
    ls_child_process_end end = {.exit_code = 0};
    ls_text why = {{0}};
    uint64_t begun_ns = ls_clock_now_ns(&process->all->clock);
    if (ls_child_process_run(&config, &exchange, &end, &why) == LS_OK) {
        on_end(process, &end);
    } else {
        fail(process->verdict, ls_status_name(LS_IO), why.bytes);
    }
    process->verdict->took_ns = ls_clock_now_ns(&process->all->clock) - begun_ns;
}

/* ---- all of them ---- */

static void report(const batch *all, const replay_verdict *verdict)
{
    static const char *const words[] = {"right", "different", "not verified"};
    if (all->config->is_quiet) {
        return;
    }
    if (verdict->kind == REPLAY_RIGHT) {
        printf("%s: right: %" PRIu64 " ticks simulated, %" PRIu64 " state hashes compared\n",
               verdict->path, verdict->ticks, verdict->state_hashes);
    } else {
        printf("%s: %s: %s (%s)\n", verdict->path, words[verdict->kind], verdict->why.bytes,
               verdict->status);
    }
    fflush(stdout);
}

static void begin_next(batch_process *process)
{
    batch *all = process->all;
    if (all->begun < all->list.count) {
        process->verdict = &all->verdicts[all->begun];
        process->verdict->path = all->list.paths[all->begun++];
        ls_loop_job_start(process->job);
    }
}

static void on_verified(void *user, uint64_t now_ns)
{
    batch_process *process = user;
    (void)now_ns;
    report(process->all, process->verdict);
    if (++process->all->done == process->all->list.count) {
        ls_event_loop_stop(process->all->loop);
    }
    begin_next(process);
}

static uint32_t processes_for(const batch *all)
{
    uint32_t jobs = all->config->jobs > 0 ? all->config->jobs : ls_machine_processors();
    jobs = LS_MIN(jobs, REPLAY_JOBS_MAX);
    return LS_MIN(jobs, all->list.count);
}

/* Each holds a thread of the loop's pool while it runs. */
static ls_status create_processes(batch *all)
{
    char threads[16];
    all->process_count = processes_for(all);
    snprintf(threads, sizeof threads, "%" PRIu32, all->process_count);
    ls_machine_set_variable("UV_THREADPOOL_SIZE", threads);
    all->processes =
        ls_allocate_array(ls_allocator_heap(), all->process_count, sizeof *all->processes);
    all->verdicts = ls_allocate_array(ls_allocator_heap(), all->list.count, sizeof *all->verdicts);
    ls_status status = all->processes && all->verdicts ? LS_OK : LS_NO_MEMORY;
    LS_THEN(status, ls_event_loop_create(ls_allocator_heap(), &all->loop));
    for (uint32_t i = 0; status == LS_OK && i < all->process_count; i++) {
        batch_process *process = &all->processes[i];
        process->all = all;
        ls_loop_handler done = {on_verified, process};
        status = ls_loop_job_create(all->loop, verify, done, &process->job);
    }
    return status;
}

static void destroy(batch *all)
{
    for (uint32_t i = 0; all->processes && i < all->process_count; i++) {
        ls_loop_job_destroy(all->processes[i].job);
    }
    ls_event_loop_destroy(all->loop);
    ls_release(ls_allocator_heap(), all->processes);
    ls_release(ls_allocator_heap(), all->verdicts);
    journal_list_free(&all->list);
}

static ls_status list_journals(batch *all, ls_text *why)
{
    const replay_batch_config *config = all->config;
    ls_status status = LS_OK;
    if (config->junit_path) {
        status = ls_output_check_path(config->junit_path, why);
    }
    if (status == LS_OK && config->json_path) {
        status = ls_output_check_path(config->json_path, why);
    }
    LS_THEN(status, journal_list_fill(&all->list, config->path, why));
    if (status == LS_OK && all->list.count == 0) {
        status = ls_fail(LS_IO, why, "there is no journal (*.journal) in %s", config->path);
    }
    return status;
}

static ls_status status_of(ls_exit_code code)
{
    return code == LS_EXIT_CLEAN ? LS_OK : code == LS_EXIT_DESYNC ? LS_DESYNCED : LS_IO;
}

/* `failure` is empty when each journal was looked at. */
static ls_status write_summary(const batch *all, ls_status status, const ls_text *failure,
                               ls_text *why)
{
    if (!all->config->json_path) {
        return LS_OK;
    }
    ls_json *json = ls_json_create();
    ls_json_text(json, "program", "lockstep-replay");
    ls_json_text(json, "command", "verify");
    ls_json_text(json, "status", ls_status_name(status));
    ls_json_text(json, "why", failure->bytes[0] != '\0' ? failure->bytes : NULL);
    replay_verdicts_json(all->verdicts, all->done, json);
    ls_status written = ls_json_write(json, all->config->json_path, why);
    ls_json_destroy(json);
    return written;
}

static ls_status write_reports(const batch *all, uint64_t took_ns, ls_exit_code code, ls_text *why)
{
    const ls_text no_failure = {{0}};
    ls_status status = write_summary(all, status_of(code), &no_failure, why);
    if (status == LS_OK && all->config->junit_path) {
        status = replay_verdicts_junit(all->verdicts, all->list.count, took_ns,
                                       all->config->junit_path, why);
    }
    return status;
}

static ls_exit_code run(batch *all, ls_text *why)
{
    uint64_t begun_ns = ls_clock_now_ns(&all->clock);
    for (uint32_t i = 0; i < all->process_count; i++) {
        begin_next(&all->processes[i]);
    }
    ls_event_loop_run(all->loop);
    uint64_t took_ns = ls_clock_now_ns(&all->clock) - begun_ns;
    ls_text sum = {{0}};
    replay_verdicts_sum(all->verdicts, all->list.count, &sum);
    if (!all->config->is_quiet) {
        printf("%s (%.1f s)\n", sum.bytes, (double)took_ns / 1e9);
    }
    ls_exit_code code = replay_verdicts_exit(all->verdicts, all->list.count);
    bool is_written = write_reports(all, took_ns, code, why) == LS_OK;
    return is_written || code != LS_EXIT_CLEAN ? code : LS_EXIT_ENVIRONMENT;
}

static ls_exit_code replay_batch_run(const replay_batch_config *config, ls_console *console)
{
    batch all = {.config = config, .console = console, .clock = ls_clock_system()};
    ls_text why = {{0}};
    ls_status status = list_journals(&all, &why);
    LS_THEN(status, create_processes(&all));
    ls_exit_code code = status == LS_OK ? run(&all, &why) : ls_exit_code_of(status);
    if (status != LS_OK) {
        (void)write_summary(&all, status, &why, NULL);
    }
    if (status != LS_OK || why.bytes[0] != '\0') {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s",
                    why.bytes[0] != '\0' ? why.bytes : ls_status_text(status));
    }
    destroy(&all);
    return code;
}

/* ---- the program ---- */

static const replay_command commands[] = {
    {"info", 1, 0, "FILE: what is in the journal, and whether all of it is there",
     LS_JOURNAL_CHECK_ALL, replay_info},
    {"verify", 1, 0, "FILE|FOLDER|URL: simulate it again and compare every recorded state",
     LS_JOURNAL_CHECK_ALL, replay_verify},
    {"seek", 1, 1, "FILE TICK: the state at a tick, from the nearest snapshot",
     LS_JOURNAL_TRUST_INDEX, replay_seek},
    {"diff", 2, 0, "FILE FILE: the first tick at which two journals differ, and in what",
     LS_JOURNAL_CHECK_ALL, replay_diff},
    {"export", 1, 0, "FILE: everything as JSON lines, to --output", LS_JOURNAL_CHECK_ALL,
     replay_export},
    {"view", 1, 0, "FILE|URL: watch it", LS_JOURNAL_TRUST_INDEX, replay_view},
    {"cut", 1, 2, "FILE FROM TO: a journal of ticks FROM to TO - 1, to --output",
     LS_JOURNAL_CHECK_ALL, replay_cut},
};

enum {
    COMMAND_COUNT = sizeof commands / sizeof commands[0]
};

typedef struct arguments {
    replay_config config;
    ls_output_options output;
    ls_param_options params;
    ls_param_files files;
    uint32_t words; /* behind the command */
    replay_batch_config batch;
} arguments;

static ls_status read_command(arguments *args, const char *word, ls_text *why)
{
    ls_text names = {{0}};
    for (uint32_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(word, commands[i].name) == 0) {
            args->config.command = &commands[i];
            return LS_OK;
        }
        ls_text_add(&names, "%s%s", i > 0 ? ", " : "", commands[i].name);
    }
    return ls_fail(LS_BAD_ARGUMENT, why, "'%s' is no command: %s", word, names.bytes);
}

static ls_status read_tick(const char *word, ls_tick *tick, ls_text *why)
{
    uint64_t number = 0;
    ls_option_range range = {0, UINT32_MAX - 1};
    if (ls_option_number("tick", word, range, &number, NULL) != LS_OK) {
        return ls_fail(LS_BAD_ARGUMENT, why, "a tick is a number from 0 to %u, not '%s'",
                       UINT32_MAX - 1, word);
    }
    *tick = (ls_tick)number;
    return LS_OK;
}

static ls_status read_from(void *target, char *word, ls_text *why)
{
    return read_tick(word, &((arguments *)target)->config.from, why);
}

static ls_status read_speed(void *target, char *word, ls_text *why)
{
    enum {
        POWERS = 11
    };
    static const char *const words[] = {"1/16",  "1/8",  "1/4", "1/2", "1",  "2",
                                        "4",     "8",    "16",  "32",  "64", /* again: */ "0.0625",
                                        "0.125", "0.25", "0.5"};
    uint32_t index = 0;
    ls_status status =
        ls_option_word("speed", word, words, sizeof words / sizeof words[0], &index, why);
    ((arguments *)target)->config.speed = (int32_t)(index % POWERS) + LS_PLAYHEAD_SLOWEST;
    return status;
}

#define FIELD(member) .offset = offsetof(arguments, member)

static const ls_setting_row rows[] = {
    {LS_SETTING_IS_TEXT, FIELD(config.simulation), .flag = "sim", .letter = 's',
     .argument = "NAME|FILE.so", .default_text = "the built-in that the journal names",
     .help = "Simulate with this one"},
    {LS_SETTING_IS_TEXT, FIELD(config.output), .flag = "output", .letter = 'o',
     .argument = "FILE|-",
     .help = "Where export (standard output) and cut (a new file; needed) write"},
    {LS_SETTING_IS_TEXT, FIELD(config.fields), .flag = "fields", .letter = 'f', .argument = "NAME",
     .has_optional_argument = true,
     .help = "With seek: print every value whose name begins with NAME, or all"},
    {LS_SETTING_IS_READ, .read = read_from, .flag = "from", .argument = "TICK",
     .default_text = "the first one", .help = "With view: begin there"},
    {LS_SETTING_IS_READ, .read = read_speed, .flag = "speed", .argument = "X", .default_text = "1",
     .help = "With view: begin so many times as fast as it was, a power of two from 1/16 to 64"},
    {LS_SETTING_IS_TEXT, FIELD(batch.junit_path), .flag = "junit", .argument = "FILE|-",
     .help = "With verify: write a JUnit report, a test case a journal"},
    {LS_SETTING_IS_U32, FIELD(batch.jobs), .max = REPLAY_JOBS_MAX, .flag = "jobs", .letter = 'j',
     .argument = "N", .default_text = "one a processor",
     .help = "With verify of a folder: so many journals at a time"},
    {LS_SETTING_IS_U32, FIELD(batch.time_limit_s), .min = 1, .max = REPLAY_TIME_LIMIT_S_MAX,
     .flag = "time-limit", .argument = "SECONDS",
     .help = "With verify of a folder: then a journal counts as not verified"},
};

static const ls_setting_table table = {rows, sizeof rows / sizeof rows[0]};

static ls_status read_word(void *user, char *word, ls_text *why)
{
    arguments *args = user;
    const replay_command *command = args->config.command;
    if (!command) {
        return read_command(args, word, why);
    }
    uint32_t journals = command->journals;
    uint32_t index = args->words++;
    if (index < journals) {
        args->config.paths[index] = word;
        return LS_OK;
    }
    if (index < journals + command->numbers) {
        return read_tick(word, index == journals ? &args->config.from : &args->config.to, why);
    }
    return ls_fail(LS_BAD_ARGUMENT, why, "unexpected argument '%s'", word);
}

static ls_status check(void *user, ls_text *why)
{
    arguments *args = user;
    const replay_command *command = args->config.command;
    if (!command) {
        return ls_fail(LS_BAD_ARGUMENT, why, "the command is missing");
    }
    if (args->words < command->journals + command->numbers) {
        static const char *const missing[] = {"FILE", "FILE FILE"};
        static const char *const ticks[] = {"", " TICK", " FROM TO"};
        return ls_fail(LS_BAD_ARGUMENT, why, "%s takes %s%s", command->name,
                       missing[command->journals - 1], ticks[command->numbers]);
    }
    if (args->batch.junit_path && command->work != replay_verify) {
        return ls_fail(LS_BAD_ARGUMENT, why, "--junit goes with verify");
    }
    if (replay_broadcast_is(args->config.paths[0]) && command->work != replay_verify &&
        command->work != replay_view) {
        return ls_fail(LS_BAD_ARGUMENT, why, "a broadcast goes with view and verify");
    }
    bool is_cut = command->work == replay_cut;
    if (is_cut && (!args->config.output || strcmp(args->config.output, "-") == 0)) {
        return ls_fail(LS_BAD_ARGUMENT, why, "cut takes --output FILE");
    }
    args->config.output = args->config.output ? args->config.output : "-";
    return ls_view_options_check(&args->config.screen, &args->output, why);
}

static void print_commands(FILE *file)
{
    fprintf(file, "Commands:\n");
    for (uint32_t i = 0; i < COMMAND_COUNT; i++) {
        fprintf(file, "  %s %s\n", commands[i].name, commands[i].help);
    }
}

/* Many journals, or a report that is for many. */
static bool is_batch(const arguments *args)
{
    return args->config.command->work == replay_verify &&
           (args->batch.junit_path || replay_is_folder(args->config.paths[0]));
}

static ls_exit_code run_batch(arguments *args, ls_console *console)
{
    args->batch.path = args->config.paths[0];
    args->batch.simulation = args->config.simulation;
    args->batch.assignments = args->params.assignments;
    args->batch.assignment_count = args->params.count;
    args->batch.json_path = args->config.json_path;
    args->batch.is_quiet = args->config.is_quiet ||
                           (args->batch.junit_path && strcmp(args->batch.junit_path, "-") == 0);
    return replay_batch_run(&args->batch, console);
}

int main(int argc, char **argv)
{
    arguments args = {.config = {.screen = ls_screen_config_default()},
                      .batch = {.time_limit_s = 3600},
                      .output = {.level = LS_LOG_INFO}};
    const ls_command_line line = {
        .summary = "Looks into the journal of a match that a server wrote with --journal.",
        .words = "COMMAND FILE...",
        .print_lists = print_commands,
        .ending = "The journal's snapshots are run by the simulation here: open journals from "
                  "those whose saved games you would open.\n\n"
                  "Exit codes: 0 clean, 1 the journal cannot be read, or is damaged, or something "
                  "cannot be written, 2 usage, or a simulation that cannot be used, 3 a difference "
                  "was found, 4 internal.",
        .parts = {{&table, &args, NULL},
                  {&ls_view_settings, &args.config.screen, NULL},
                  {&ls_file_param_settings, &args.params, NULL},
                  {&ls_output_settings, &args.output, NULL}},
        .read_word = read_word,
        .check = check,
        .user = &args,
    };
    ls_command_line_read(&line, argc, argv);
    args.config.screen.is_terminal_live = ls_console_can_redraw_output();
    args.config.screen.has_true_colour = ls_console_has_true_colour();

    ls_console console;
    ls_console_init(&console, "lockstep-replay", args.output.level);
    const char *json_path = args.output.json_path;
    args.config.json_path = json_path;
    args.config.is_quiet =
        args.output.level == LS_LOG_WARNING || (json_path && strcmp(json_path, "-") == 0);
    ls_text why = {""};
    if (ls_param_files_read(&args.files, args.params.assignments, args.params.count, &why) !=
        LS_OK) {
        ls_log_line(&console.log, LS_LOG_ERROR, "%s", why.bytes);
        return LS_EXIT_USAGE;
    }
    args.config.files = args.files.files;
    ls_exit_code code =
        is_batch(&args) ? run_batch(&args, &console) : replay_run_command(&args.config, &console);
    ls_param_files_release(&args.files);
    return code;
}
