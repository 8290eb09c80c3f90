/* The server's process in a virtual match: the match, its recorder and its disk. It can die at any
 * moment, and comes back from the bytes on the disk as lockstep-server --resume does. */
#include "lockstep/common/base/assert.h"
#include "lockstep/server/journal/resume.h"
#include "lockstep/tests/lab/virtual/virtual_match.h"

#include <stdio.h>

/* ---- start and end of a process ---- */

/* The simulation that the server steps. */
static const ls_simulation *simulation_of(const virtual_match *run)
{
    const ls_simulation *simulation = run->setup.match.simulation;
    const virtual_observer *observer = &run->setup.observer;
    return observer->simulation_for ? observer->simulation_for(observer->user, simulation)
                                    : simulation;
}

static void send_packet(void *user, ls_peer_id peer, ls_channel channel, const uint8_t *bytes,
                        size_t size)
{
    virtual_match *run = user;
    virtual_work work = virtual_match_set_work(run, VIRTUAL_WORK_AROUND);
    VIRTUAL_OBSERVE(run, match_sends, peer, channel, bytes, size);
    ls_transport_send(run->network->server, peer, channel, bytes, size);
    virtual_match_set_work(run, work);
}

static void disconnect(void *user, ls_peer_id peer)
{
    const virtual_match *run = user;
    ls_transport_disconnect(run->network->server, peer);
}

static void create_match(virtual_match *run, const ls_match_config *from)
{
    const ls_packet_sink sink = {.send = send_packet, .disconnect = disconnect, .user = run};
    ls_text why = {{0}};
    ls_match_config config = *from;
    if (run->reruns && !config.rerun_host) {
        config.rerun_host = ls_rerun_local_host(run->reruns);
    }
    ls_status status = ls_match_create(&config, &sink, run->setup.allocator, &run->match, &why);
    if (status != LS_OK) {
        fprintf(stderr, "%s\n", why.bytes);
    }
    LS_ASSERT(status == LS_OK);
    VIRTUAL_OBSERVE(run, server_created, run);
}

/* A match by the config of the setup. */
static void create_own_match(virtual_match *run)
{
    ls_match_config config = run->setup.match;
    config.simulation = simulation_of(run);
    create_match(run, &config);
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
    create_own_match(run);
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

/* ---- turns ---- */

static void record(virtual_match *run)
{
    if (run->recorder) {
        run->disk->now_ns = run->now_ns;
        ls_recorder_pull(run->recorder, virtual_match_server_ns(run));
    }
}

static void receive_events(virtual_match *run)
{
    ls_match_event event;
    while (ls_match_next_event(run->match, &event)) {
        if (!run->setup.keeps_no_events) {
            LS_ASSERT(run->event_count < VIRTUAL_EVENTS_MAX);
            run->events[run->event_count++] = (virtual_event){run->now_ns, event};
        }
        virtual_log_match_event(run, &event);
        VIRTUAL_OBSERVE(run, match_event, &event);
        if (run->recorder) {
            ls_recorder_receive_event(run->recorder, &event);
            record(run);
        }
    }
}

uint64_t virtual_server_next_ns(const virtual_match *run)
{
    if (run->is_server_dead) {
        return run->is_server_lost ? VIRTUAL_NEVER : run->restart_ns;
    }
    bool is_disk_read = run->recorder && !run->is_server_paused;
    return is_disk_read ? virtual_disk_next_ns(run->disk) : VIRTUAL_NEVER;
}

static void pump_disk(virtual_match *run)
{
    ls_journal_completion completion;
    while (run->recorder && virtual_disk_advance(run->disk, run->now_ns, &completion)) {
        if (completion.status != LS_OK) {
            virtual_log(run, "disk: %s", completion.why);
        }
        ls_recorder_complete(run->recorder, &completion, virtual_match_server_ns(run));
    }
}

static void admit(virtual_match *run, ls_peer_id peer, uint64_t local_ns)
{
    virtual_network *network = run->network;
    if (network->operations->note_connected) {
        network->operations->note_connected(network, peer);
    }
    const ls_match_pass pass = {.origin = network->operations->origin_of(network, peer)};
    ls_match_peer_admitted(run->match, peer, &pass, local_ns);
}

static void receive_event(virtual_match *run, ls_transport_event *event)
{
    uint64_t local_ns = virtual_match_server_ns(run);
    bool is_packet = event->kind == LS_TRANSPORT_RECEIVED;
    event->arrived_ns = local_ns; /* the network's clock is not the server's */
    if (event->kind == LS_TRANSPORT_CONNECTED) {
        admit(run, event->peer, local_ns);
        return;
    }
    if (is_packet) {
        VIRTUAL_OBSERVE(run, match_receives, event);
    }
    virtual_match_set_work(run, VIRTUAL_WORK_MATCH);
    ls_match_receive_event(run->match, event, local_ns);
    virtual_match_set_work(run, VIRTUAL_WORK_AROUND);
    if (is_packet) {
        VIRTUAL_OBSERVE(run, match_received, event);
    }
}

static void receive_packets(virtual_match *run)
{
    virtual_network *network = run->network;
    ls_transport_event event;
    network->operations->begin_turn(network, network->server);
    while (ls_transport_next_event(network->server, &event)) {
        receive_event(run, &event);
        receive_events(run);
    }
}

/* ---- death ---- */

void virtual_match_crash(virtual_match *run, uint64_t ns)
{
    bool is_possible = run->disk && !run->is_server_dead &&
                       ls_match_state_of(run->match) != LS_MATCH_LOBBY &&
                       ls_match_state_of(run->match) != LS_MATCH_OVER;
    if (!is_possible) {
        return;
    }
    virtual_log(run, "the server dies");
    run->is_server_dead = true;
    run->restart_ns = run->now_ns + ns;
    VIRTUAL_OBSERVE(run, server_died, run);
    virtual_disk_crash(run->disk);
    run->network->operations->forget_server(run->network);
}

/* ---- return ---- */

/* The settings that a command line repeats, since a journal does not hold them. */
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
    config->clean_name = flags->clean_name;
}

void virtual_match_server_restored(virtual_match *run)
{
    run->is_restoring = false;
    VIRTUAL_OBSERVE(run, server_restored, run);
}

static ls_status restore(virtual_match *run, ls_resume *resume, ls_text *why)
{
    ls_match_config config;
    ls_resume_report report = {0};
    ls_status status = ls_resume_configure(resume, simulation_of(run), &config, why);
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
    status = ls_resume_restore(resume, run->match, virtual_match_server_ns(run), &report, why);
    run->is_restoring = false;
    if (status == LS_OK) {
        create_recorder(run, ls_resume_journal(resume));
        virtual_log(run, "the server is back at tick %u, from tick %u on%s", report.tick,
                    report.from_tick, report.has_begun ? "" : ": the lobby is open");
    }
    return status;
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
        virtual_log(run, "the server does not come back: %s (%s)", ls_status_name(status),
                    why.bytes);
        run->is_server_lost = true;
        VIRTUAL_OBSERVE(run, server_lost, status, &why);
        return;
    }
    run->is_server_dead = false;
    run->is_server_paused = false;
    virtual_match_server_restored(run);
}

void virtual_match_replace_server(virtual_match *run)
{
    VIRTUAL_OBSERVE(run, server_died, run);
    run->network->operations->forget_server(run->network);
    end_process(run);
    create_own_match(run);
    run->is_restoring = true;
}

/* ---- the loop ---- */

void virtual_server_pump(virtual_match *run)
{
    if (run->is_server_dead && !run->is_server_lost && run->now_ns >= run->restart_ns) {
        come_back(run);
    }
    if (run->is_server_paused || run->is_server_dead) {
        return;
    }
    receive_packets(run);
    pump_disk(run);
    run->server_due_ns = virtual_match_find_server_due_ns(run);
    if (run->now_ns >= run->server_due_ns) {
        virtual_match_set_work(run, VIRTUAL_WORK_MATCH);
        ls_match_advance(run->match, virtual_match_server_ns(run));
        virtual_match_set_work(run, VIRTUAL_WORK_AROUND);
        receive_events(run);
        run->server_due_ns = virtual_match_find_server_due_ns(run);
        record(run);
    }
    run->network->operations->end_turn(run->network, run->network->server);
    VIRTUAL_OBSERVE(run, server_turned, run);
}
