/* The server's process in a virtual match: the match, its recorder and its disk; it can die at any
 * moment, and comes back from the bytes on the disk as lockstep-server --resume does. */
#include "lockstep/common/base/assert.h"
#include "lockstep/server/journal/resume.h"
#include "lockstep/tools/faultsim/virtual_match.h"
#include "lockstep/tools/faultsim/witness.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- a process begins ---- */

static void create_match(virtual_match *run, const ls_match_config *config)
{
    ls_packet_sink sink = ls_transport_sink(run->server_transport);
    ls_text why = {{0}};
    ls_status status = ls_match_create(config, &sink, run->setup.allocator, &run->match, &why);
    if (status != LS_OK) {
        fprintf(stderr, "%s\n", why.bytes);
    }
    LS_ASSERT(status == LS_OK);
    virtual_check_watch_server(run);
}

static void create_recorder(virtual_match *run, ls_journal *continued)
{
    ls_recorder_config config = ls_recorder_config_default();
    config.block_ms = run->setup.block_ms > 0 ? run->setup.block_ms : config.block_ms;
    config.snapshot_ms = run->setup.snapshot_ms > 0 ? run->setup.snapshot_ms : config.snapshot_ms;
    config.is_continued = continued != NULL;
    size_t raw_bytes_max = ls_recorder_raw_bytes_max(&config, run->match);
    ls_status status = virtual_disk_open(run->disk, raw_bytes_max, continued, run->now_ns);
    ls_journal_store store = virtual_disk_store(run->disk);
    if (status == LS_OK) {
        status =
            ls_recorder_create(&config, run->match, &store, run->setup.allocator, &run->recorder);
    }
    LS_ASSERT(status == LS_OK);
}

void virtual_server_create(virtual_match *run)
{
    ls_match_config config = run->setup.match;
    config.simulation = witness_simulation(config.simulation);
    create_match(run, &config);
    if (!run->setup.has_journal) {
        return;
    }
    run->disk = ls_allocate(run->setup.storage, sizeof *run->disk);
    LS_ASSERT(run->disk != NULL);
    virtual_disk_init(run->disk, run->setup.seed, run->setup.storage);
    run->disk->state = run->setup.disk;
    create_recorder(run, NULL);
}

static void end_process(virtual_match *run)
{
    witness_forget(run);
    ls_recorder_destroy(run->recorder);
    run->recorder = NULL;
    ls_match_destroy(run->match);
    run->match = NULL;
}

void virtual_server_destroy(virtual_match *run)
{
    end_process(run);
    if (run->disk) {
        virtual_disk_deinit(run->disk);
        ls_release(run->setup.storage, run->disk);
    }
}

/* ---- it lives ---- */

void virtual_server_record(virtual_match *run)
{
    if (run->recorder) {
        run->disk->now_ns = run->now_ns;
        ls_recorder_pull(run->recorder, virtual_match_server_ns(run));
    }
}

void virtual_server_take_events(virtual_match *run)
{
    ls_match_event event;
    while (ls_match_next_event(run->match, &event)) {
        LS_ASSERT(run->event_count < VIRTUAL_EVENTS_MAX);
        run->events[run->event_count++] = (virtual_event){run->now_ns, event};
        virtual_log_match_event(run, &event);
        virtual_return_match_event(run, &event);
        virtual_check_event(run, &event);
        if (run->recorder) {
            ls_recorder_take_event(run->recorder, &event);
            virtual_server_record(run);
        }
    }
}

uint64_t virtual_server_next_ns(const virtual_match *run)
{
    if (run->is_server_dead) {
        return run->is_beyond_help ? VIRTUAL_NEVER : run->restart_ns;
    }
    bool is_heard = run->recorder && !run->is_server_paused;
    return is_heard ? virtual_disk_next_ns(run->disk) : VIRTUAL_NEVER;
}

void virtual_server_pump_disk(virtual_match *run)
{
    ls_journal_completion completion;
    while (run->recorder && virtual_disk_advance(run->disk, run->now_ns, &completion)) {
        if (completion.status != LS_OK) {
            virtual_log(run, "disk: %s", completion.why);
        }
        ls_recorder_complete(run->recorder, &completion, virtual_match_server_ns(run));
    }
}

/* ---- it dies ---- */

void virtual_match_crash(virtual_match *run, uint64_t ns)
{
    bool is_possible = run->disk && !run->is_server_dead && run->life < VIRTUAL_CRASHES_MAX &&
                       ls_match_state_of(run->match) != LS_MATCH_LOBBY &&
                       ls_match_state_of(run->match) != LS_MATCH_OVER;
    if (!is_possible) {
        return;
    }
    virtual_log(run, "the server dies");
    run->resumes.crashes++;
    run->is_server_dead = true;
    run->restart_ns = run->now_ns + ns;
    run->unscheduled_until_ns = VIRTUAL_NEVER;
    virtual_return_crashed(run);
    virtual_disk_crash(run->disk);
    ls_memory_server_forget(run->server_transport);
}

/* ---- it comes back ---- */

/* What the command line says again, since a journal does not hold it. */
static void add_flags(const virtual_match *run, ls_match_config *config)
{
    const ls_match_config *flags = &run->setup.match;
    config->start_delay_ms = flags->start_delay_ms;
    config->start_players = flags->start_players;
    config->keep_seat_ms = flags->keep_seat_ms;
    config->joiners_max = flags->joiners_max;
    config->join_bytes_per_s = flags->join_bytes_per_s;
    config->resume_wait_ms = flags->resume_wait_ms;
    config->finds_causes = flags->finds_causes;
    config->spectators_max = flags->spectators_max;
    config->spectator_delay_ticks = flags->spectator_delay_ticks;
    config->spectator_bytes_per_s = flags->spectator_bytes_per_s;
}

static ls_status restore(virtual_match *run, ls_resume *resume, ls_text *why)
{
    ls_match_config config;
    ls_resume_report report = {0};
    ls_status status =
        ls_resume_configure(resume, witness_simulation(run->setup.match.simulation), &config, why);
    if (status != LS_OK) {
        return status;
    }
    add_flags(run, &config);
    status = ls_resume_check(resume, &config, why);
    if (status != LS_OK) {
        return status;
    }
    end_process(run);
    create_match(run, &config);
    run->is_restoring = true;
    run->tick_count = VIRTUAL_NO_TICK;
    status = ls_resume_restore(resume, run->match, virtual_match_server_ns(run), &report, why);
    run->is_restoring = false;
    if (status == LS_OK) {
        create_recorder(run, ls_resume_journal(resume));
        virtual_log(run, "the server is back at tick %u, from tick %u on%s", report.tick,
                    report.from_tick, report.has_begun ? "" : ": the lobby is open");
    }
    return status;
}

/* Where a disk lost its beginning, or what no snapshot makes up for, the match is lost; and one
 * whose end is written is over. */
static void judge_failure(virtual_match *run, ls_status status, const ls_text *why)
{
    bool is_young = run->disk->synchronised == 0;
    bool is_gap = status == LS_NOT_FOUND && run->disk->has_failed;
    virtual_log(run, "the server does not come back: %s (%s)", ls_status_name(status), why->bytes);
    run->is_beyond_help = true;
    if (status == LS_ALREADY_OVER) {
        run->resumes.finished++;
        return;
    }
    run->resumes.hopeless++;
    bool is_lost = is_young && (status == LS_MALFORMED || status == LS_NOT_FOUND);
    if (!is_lost && !is_gap && !(is_young && run->disk->has_failed)) {
        virtual_check_note(run, VIRTUAL_I7, run->lives[run->life - 1].tick_count,
                           "the match cannot be resumed: %s", why->bytes);
    }
}

static void come_back(virtual_match *run)
{
    ls_resume *resume = NULL;
    ls_text why = {{0}};
    ls_status status =
        ls_resume_open(run->disk->bytes, run->disk->size, run->setup.storage, &resume, &why);
    if (status == LS_OK) {
        status = restore(run, resume, &why);
        ls_resume_close(resume);
    }
    if (status != LS_OK) {
        judge_failure(run, status, &why);
        return;
    }
    run->is_server_dead = false;
    run->is_server_paused = false;
    virtual_return_restored(run);
}

void virtual_server_pump_death(virtual_match *run)
{
    if (run->is_server_dead && !run->is_beyond_help && run->now_ns >= run->restart_ns) {
        come_back(run);
    }
}
