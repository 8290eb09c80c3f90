#include "lockstep/server/program/server.h"

#include "lockstep/common/program/output.h"
#include "lockstep/common/program/player_name.h"
#include "lockstep/protocol/transport/endpoint.h"
#include "lockstep/server/host/host.h"
#include "lockstep/server/host/output_limits.h"
#include "lockstep/server/program/announcer.h"
#include "lockstep/server/program/journals.h"
#include "lockstep/server/program/match_summary.h"
#include "lockstep/server/program/network_summary.h"
#include "lockstep/server/program/slot_desyncs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    PROGRESS_MS = 250,
    WATCH_MS = 1000,         /* between two lines about clients that were kept out */
    PROGRESS_LINES_MAX = 16, /* that fit a terminal */
};

typedef struct server {
    const ls_server_config *config;
    ls_console *console;
    ls_host *matches;
    ls_announcer *announcer;   /* NULL: the server is not found */
    ls_journals *journals;     /* NULL: none are written */
    ls_desync_files *files;    /* of desyncs; NULL: none are written */
    ls_match *match;           /* the selected match */
    uint32_t number;           /* its number */
    ls_slot_desyncs *desyncs;  /* slots of the first match, of the second ... */
    ls_log_budget *slot_lines; /* that each of these slots causes */
    ls_log_budget peer_lines;  /* peers without a seat */
    bool is_stopping;          /* a signal has come */
    bool has_desync;
} server;

/* ---- several matches ---- */

/* Lines are about this match from now on, and begin with its number when there are several. */
static void select_match(server *host, uint32_t number)
{
    host->match = ls_match_table_match(ls_host_table(host->matches), number);
    host->number = number;
    if (host->config->matches > 1) {
        snprintf(host->console->subject, sizeof host->console->subject, "match %" PRIu32 ": ",
                 number);
    }
}

static void deselect_match(server *host)
{
    host->match = NULL;
    host->console->subject[0] = '\0';
}

/* ---- events ---- */

/* "ann (slot 0)", or "slot 0" of a player without a name. */
static ls_text player_of(const server *host, uint32_t slot)
{
    ls_text text = {{0}};
    ls_match_slot player = ls_match_slot_of(host->match, slot);
    if (player.name[0]) {
        ls_text_set(&text, "%s (slot %" PRIu32 ")", player.name, slot);
    } else {
        ls_text_set(&text, "slot %" PRIu32, slot);
    }
    return text;
}

static void log_stall(const server *host, const ls_match_event *event)
{
    ls_text names = {{0}};
    for (uint32_t slot = 0; slot < ls_match_players(host->match); slot++) {
        if (event->slot_mask >> slot & 1u) {
            ls_text_add(&names, "%s%s", names.bytes[0] ? ", " : "", player_of(host, slot).bytes);
        }
    }
    ls_log_line(&host->console->log, LS_LOG_WARNING,
                "waiting for %s: no input for tick %" PRIu32 " (%" PRIu32 " ms)", names.bytes,
                event->tick, event->waited_ms);
}

static size_t slot_index(const server *host, uint32_t slot)
{
    return (size_t)host->number * host->config->match.sim.players + slot;
}

static ls_slot_desyncs *desyncs_of(const server *host, uint32_t slot)
{
    return &host->desyncs[slot_index(host, slot)];
}

static void log_desync(server *host, const ls_match_event *event)
{
    host->has_desync = true;
    ls_slot_desyncs_notice(desyncs_of(host, event->slot), event);
    if (event->clients > 0) {
        ls_log_line(&host->console->log, LS_LOG_ERROR,
                    "DESYNC: this server differs from tick %" PRIu32 " on from %" PRIu32
                    " clients which agree: server %016" PRIx64 ", clients %016" PRIx64,
                    event->tick, event->clients, event->server_hash, event->client_hash);
        return;
    }
    ls_log_line(
        &host->console->log, LS_LOG_ERROR,
        "DESYNC: %s differs from tick %" PRIu32 " on: server %016" PRIx64 ", client %016" PRIx64,
        player_of(host, event->slot).bytes, event->tick, event->server_hash, event->client_hash);
    const char *why = ls_match_unknown_why(&host->config->match);
    if (why) {
        ls_log_line(&host->console->log, LS_LOG_ERROR, "  nothing more is known of '%s': %s",
                    host->config->match.simulation->name, why);
    }
}

static void replace_path(char path[LS_BUNDLE_PATH_BYTES_MAX], const ls_desync_file *file)
{
    if (strcmp(path, file->planned) == 0) {
        ls_name_copy(path, LS_BUNDLE_PATH_BYTES_MAX, file->status == LS_OK ? file->path : "");
    }
}

/* The report has told where the bundle is to be. */
static void on_written(void *user, const ls_desync_file *file)
{
    server *host = user;
    bool was_selected = host->match != NULL;
    uint32_t number = host->number;
    select_match(host, file->match);
    ls_slot_desyncs *desyncs = desyncs_of(host, file->slot);
    replace_path(desyncs->bundle, file);
    replace_path(desyncs->first_bundle, file);
    if (file->status != LS_OK && file->status != LS_NOT_FOUND) {
        ls_log_line(&host->console->log, LS_LOG_WARNING, "%s%s",
                    file->why[0] ? "" : "cannot write the bundle of the desync: ",
                    file->why[0] ? file->why : ls_status_text(file->status));
    } else if (file->status == LS_OK && strcmp(file->path, file->planned) != 0) {
        ls_log_line(&host->console->log, LS_LOG_INFO, "the bundle is %s", file->path);
    }
    if (was_selected) {
        select_match(host, number);
    } else {
        deselect_match(host);
    }
}

static void write_bundle(const server *host, uint32_t slot)
{
    char *path = desyncs_of(host, slot)->bundle;
    path[0] = '\0';
    if (!host->files) {
        return;
    }
    if (!ls_output_limits_take_bundle(&desyncs_of(host, slot)->bundles)) {
        ls_log_line(&host->console->log, LS_LOG_WARNING,
                    "no bundle of this desync is written: the slot has %u already",
                    LS_SLOT_BUNDLES_MAX);
        return;
    }
    ls_status status = ls_desync_files_write(host->files, host->match, host->number, slot, path);
    if (status != LS_OK && status != LS_NOT_FOUND) {
        ls_log_line(&host->console->log, LS_LOG_WARNING,
                    "cannot write the bundle of the desync: %s",
                    status == LS_FULL ? "there are as many as --bundle-limit allows"
                                      : ls_status_text(status));
    }
}

static void log_cause(const server *host, const ls_match_event *event)
{
    ls_text player = player_of(host, event->slot);
    ls_slot_desyncs *desyncs = desyncs_of(host, event->slot);
    const ls_desync_finding *finding = ls_match_desync_of(host->match, event->slot);
    write_bundle(host, event->slot);
    ls_slot_desyncs_cause(desyncs, finding);
    ls_desync_report_log(finding, player.bytes, desyncs->bundle[0] ? desyncs->bundle : NULL,
                         &host->console->log);
}

/* The whole follows, with its bundle. */
static void log_values(const server *host, const ls_match_event *event)
{
    const ls_desync_finding *finding = ls_match_desync_of(host->match, event->slot);
    if (finding->is_open) {
        ls_desync_report_log(finding, player_of(host, event->slot).bytes, NULL,
                             &host->console->log);
    }
}

static void log_player_text(const server *host, const ls_match_event *event)
{
    ls_log_line(&host->console->log, LS_LOG_INFO, "%s: %s", player_of(host, event->slot).bytes,
                event->text.bytes);
}

static void log_ready(const server *host, const ls_match_event *event)
{
    ls_log_line(&host->console->log, event->was_coming ? LS_LOG_INFO : LS_LOG_DEBUG,
                "%s (slot %" PRIu32 ") %s", event->text.bytes, event->slot,
                event->was_coming ? "joined" : "is ready");
}

static void log_left(const server *host, const ls_match_event *event)
{
    bool is_planned = event->status == LS_DISCONNECTED;
    if (event->was_coming) {
        ls_log_line(&host->console->log, is_planned ? LS_LOG_INFO : LS_LOG_WARNING,
                    "a client did not take the seat that it was offered (slot %" PRIu32
                    "): %s (%s)",
                    event->slot, event->text.bytes, ls_status_name(event->status));
        return;
    }
    ls_log_line(&host->console->log, is_planned ? LS_LOG_INFO : LS_LOG_WARNING,
                "%s left at tick %" PRIu32 ": %s (%s)", player_of(host, event->slot).bytes,
                event->tick, event->text.bytes, ls_status_name(event->status));
}

static void log_spectator_left(const server *host, const ls_match_event *event)
{
    bool is_planned = event->status == LS_OK || event->status == LS_DISCONNECTED;
    ls_log_line(&host->console->log, is_planned ? LS_LOG_INFO : LS_LOG_WARNING,
                "spectator %s (%s, at tick %" PRIu32 ")", event->text.bytes,
                ls_status_name(event->status), event->tick);
}

static void log_lost(const server *host, const ls_match_event *event)
{
    ls_log_line(&host->console->log, LS_LOG_WARNING,
                "lost the link to %s at tick %" PRIu32 ": %s (%s); its seat is kept for %" PRIu32
                " s",
                player_of(host, event->slot).bytes, event->tick, event->text.bytes,
                ls_status_name(event->status), host->config->match.keep_seat_ms / 1000);
}

static void log_healing(const server *host, const ls_match_event *event)
{
    const ls_text player = player_of(host, event->slot);
    if (event->kind == LS_MATCH_HEALED) {
        ls_log_line(&host->console->log, LS_LOG_WARNING,
                    "%s was healed and agrees from tick %" PRIu32 " on", player.bytes, event->tick);
        return;
    }
    ls_log_line(&host->console->log, LS_LOG_WARNING,
                "%s is healed %s from tick %" PRIu32
                " on (no more than 3 healings in 10 s, then one in 2 s)",
                player.bytes, event->text.bytes, event->tick);
}

static void log_event(server *host, const ls_match_event *event)
{
    const ls_log *log = &host->console->log;
    switch (event->kind) {
    case LS_MATCH_PLAYER_SEATED:
        ls_log_line(log, LS_LOG_DEBUG, "slot %" PRIu32 " is offered to %s", event->slot,
                    event->text.bytes);
        break;
    case LS_MATCH_PLAYER_RETURNED:
        ls_log_line(log, LS_LOG_INFO, "%s (slot %" PRIu32 ") is back", event->text.bytes,
                    event->slot);
        break;
    case LS_MATCH_PLAYER_READY:
        log_ready(host, event);
        break;
    case LS_MATCH_PLAYER_LOST:
        log_lost(host, event);
        break;
    case LS_MATCH_PLAYER_JOINING:
        ls_log_line(log, LS_LOG_INFO, "slot %" PRIu32 " is joining at tick %" PRIu32 ": %s",
                    event->slot, event->tick, event->text.bytes);
        break;
    case LS_MATCH_PLAYER_JOINED:
        ls_log_line(log, LS_LOG_INFO, "%s plays from tick %" PRIu32 " on",
                    player_of(host, event->slot).bytes, event->tick);
        break;
    case LS_MATCH_PLAYER_LEFT:
        log_left(host, event);
        break;
    case LS_MATCH_PLAYER_FINISHED:
        ls_log_line(log, LS_LOG_DEBUG, "%s has reached the final tick",
                    player_of(host, event->slot).bytes);
        break;
    case LS_MATCH_PEER_REFUSED:
        ls_log_line(log, LS_LOG_WARNING, "refused a client: %s (%s)", event->text.bytes,
                    ls_status_name(event->status));
        break;
    case LS_MATCH_STARTED:
        ls_log_line(log, LS_LOG_INFO, "the match starts");
        break;
    case LS_MATCH_RESUMED:
        ls_log_line(log, LS_LOG_INFO, "the match continues at tick %" PRIu32 ": %s", event->tick,
                    event->text.bytes);
        break;
    case LS_MATCH_STALLED:
        log_stall(host, event);
        break;
    case LS_MATCH_DESYNC:
        log_desync(host, event);
        break;
    case LS_MATCH_DESYNC_VALUES:
        log_values(host, event);
        break;
    case LS_MATCH_DESYNC_CAUSE:
        log_cause(host, event);
        break;
    case LS_MATCH_HEALING:
    case LS_MATCH_HEALED:
        log_healing(host, event);
        break;
    case LS_MATCH_LAG:
    case LS_MATCH_DELAYED:
        log_player_text(host, event);
        break;
    case LS_MATCH_ENDED:
        ls_log_line(log, LS_LOG_INFO, "the match has ended: its final tick is %" PRIu32,
                    event->tick);
        break;
    case LS_MATCH_SPECTATOR_CAME:
        ls_log_line(log, LS_LOG_INFO, "spectator %s, is sent the ticks from %" PRIu32 " on",
                    event->text.bytes, event->tick);
        break;
    case LS_MATCH_SPECTATOR_LEFT:
        log_spectator_left(host, event);
        break;
    case LS_MATCH_SECRET_PROVEN:
    case LS_MATCH_FINISHED:
        break;
    }
}

/* No peer can fill the log. */
static void log_bounded(server *host, const ls_match_event *event)
{
    ls_log *log = &host->console->log;
    ls_log_budget *lines =
        ls_output_limits_lines(&host->slot_lines[slot_index(host, 0)], &host->peer_lines, event);
    uint64_t now_ns = ls_event_loop_now_ns(ls_host_loop(host->matches));
    const ls_log before = lines ? ls_log_budget_begin(lines, log, now_ns) : *log;
    log_event(host, event);
    *log = before;
}

static void on_event(void *user, const ls_match_table_event *event)
{
    server *host = user;
    select_match(host, event->match);
    log_bounded(host, &event->event);
    deselect_match(host);
    if (host->journals) {
        ls_journals_take_event(host->journals, event);
    }
}

static void on_advanced(void *user, uint32_t match, uint64_t now_ns)
{
    server *host = user;
    if (host->journals) {
        ls_journals_pull(host->journals, match, now_ns);
    }
}

static bool may_end(void *user)
{
    server *host = user;
    return !host->journals || ls_journals_are_closed(host->journals);
}

/* ---- live lines ---- */

static void draw_player(const server *host, uint32_t slot)
{
    ls_match_slot player = ls_match_slot_of(host->match, slot);
    if (player.peer == 0) {
        ls_console_line(host->console, "  %2" PRIu32 "  %-*s %s", slot,
                        ls_player_name_width(player.name), player.name,
                        player.has_played ? ls_status_text(player.left_status) : "free");
        return;
    }
    ls_console_line(host->console,
                    "  %2" PRIu32 "  %-*s rtt %6.1f ms  slack %6.1f ms  behind %3" PRIu32
                    "  late %" PRIu64 "  %s %" PRIu32,
                    slot, ls_player_name_width(player.name), player.name,
                    (double)player.rtt_ns / 1e6, (double)player.slack_ns / 1e6, player.ticks_behind,
                    player.inputs_late, player.is_desynced ? "DESYNC at" : "agrees to",
                    player.is_desynced ? player.desync_tick : player.agreed_tick);
    if (player.lag.cause != LS_LAG_FINE) {
        ls_text lag = {{0}};
        ls_lag_text(&player.lag, &lag);
        ls_console_line(host->console, "      %s", lag.bytes);
    }
}

static void draw_players(const server *host)
{
    uint32_t players = ls_match_players(host->match);
    for (uint32_t slot = 0; slot < players && slot < PROGRESS_LINES_MAX; slot++) {
        draw_player(host, slot);
    }
    ls_match_spectating spectating = ls_match_spectating_of(host->match);
    if (spectating.ever > 0) {
        ls_console_line(host->console,
                        "  spectators %" PRIu32 " of %" PRIu32 ", states compared %" PRIu64
                        ", differed %" PRIu64,
                        spectating.now, host->config->match.spectators_max,
                        spectating.hashes_compared, spectating.desynced);
    }
}

static void draw_match(const server *host, uint32_t number)
{
    static const char *const states[] = {"waiting for players", "waiting for players to return",
                                         "running", "ending", "over"};
    ls_match_state state = ls_match_state_of(host->match);
    uint32_t present = 0;
    uint32_t desyncs = 0;
    if (host->config->matches == 1) {
        ls_console_line(host->console, "tick %" PRIu32 "  %s", ls_match_tick(host->match),
                        states[state]);
        draw_players(host);
        return;
    }
    for (uint32_t slot = 0; slot < ls_match_players(host->match); slot++) {
        ls_match_slot player = ls_match_slot_of(host->match, slot);
        present += player.peer != 0 ? 1 : 0;
        desyncs += player.is_desynced ? 1 : 0;
    }
    ls_console_line(host->console,
                    "match %3" PRIu32 "  tick %" PRIu32 "  %s  players %" PRIu32 " of %" PRIu32
                    "  desyncs %" PRIu32,
                    number, ls_match_tick(host->match), states[state], present,
                    ls_match_players(host->match), desyncs);
}

static void draw_progress(void *user, uint64_t now_ns)
{
    server *host = user;
    (void)now_ns;
    ls_console_begin(host->console);
    for (uint32_t i = 0; i < host->config->matches && i < PROGRESS_LINES_MAX; i++) {
        select_match(host, i);
        draw_match(host, i);
    }
    deselect_match(host);
    if (host->config->matches > PROGRESS_LINES_MAX) {
        ls_console_line(host->console, "and %" PRIu32 " more",
                        host->config->matches - PROGRESS_LINES_MAX);
    }
    ls_console_end(host->console);
}

static void watch_admission(void *user, uint64_t now_ns)
{
    server *host = user;
    ls_admission_watch(host->config->admission, ls_host_transport(host->matches),
                       &host->console->log, now_ns);
}

static void on_signal(void *user, uint64_t now_ns)
{
    server *host = user;
    (void)now_ns;
    if (host->is_stopping) {
        ls_event_loop_stop(ls_host_loop(host->matches));
        return;
    }
    host->is_stopping = true;
    ls_log_line(&host->console->log, LS_LOG_INFO,
                "stopping and waiting for the clients; press Ctrl-C again to stop at once");
    ls_host_end_matches(host->matches);
}

/* ---- the end ---- */

static void summarize(server *host, uint32_t number, ls_summary *summary)
{
    ls_transport_traffic traffic[LS_PLAYERS_MAX];
    select_match(host, number);
    ls_host_traffic(host->matches, number, traffic);
    ls_match_summarize(host->match, &host->config->match, traffic, summary);
    if (host->journals) {
        ls_journals_summarize(host->journals, number, &summary->journal);
    }
    for (uint32_t i = 0; i < summary->desync_count; i++) {
        ls_slot_desyncs_summarize(desyncs_of(host, summary->desyncs[i].slot), &summary->desyncs[i],
                                  &summary->firsts[i]);
    }
    ls_match_summary_log(summary, &host->console->log);
    deselect_match(host);
}

static ls_status write_summaries(const server *host, ls_summary *summaries, ls_text *why)
{
    const char *path = host->config->json_path;
    uint32_t count = host->config->matches;
    ls_summary_network network;
    if (!path) {
        return LS_OK;
    }
    ls_network_summarize(ls_host_transport(host->matches), host->config->admission->gate, &network);
    if (count > 1) {
        return ls_summary_write_matches(summaries, count, &network, path, why);
    }
    summaries->network = &network;
    return ls_summary_write(summaries, path, why);
}

static ls_exit_code finish(server *host)
{
    ls_exit_code code = host->has_desync ? LS_EXIT_DESYNC : LS_EXIT_CLEAN;
    uint32_t count = host->config->matches;
    ls_summary *summaries = ls_allocate_array(ls_allocator_heap(), count, sizeof *summaries);
    ls_text why = {{0}};
    ls_console_clear(host->console);
    for (uint32_t i = 0; summaries && i < count; i++) {
        summarize(host, i, &summaries[i]);
    }
    ls_status status = summaries ? write_summaries(host, summaries, &why) : LS_NO_MEMORY;
    if (status != LS_OK) {
        ls_log_line(&host->console->log, LS_LOG_ERROR, "%s",
                    why.bytes[0] ? why.bytes : ls_status_text(status));
        code = code == LS_EXIT_CLEAN ? LS_EXIT_ENVIRONMENT : code;
    }
    ls_release(ls_allocator_heap(), summaries);
    return code;
}

/* ---- building it ---- */

static ls_status give_identity(ls_match_config *match, ls_text *why)
{
    if (ls_secret_key_random(&match->key) != LS_OK) {
        return ls_fail(LS_IO, why, "the system has no random numbers to give");
    }
    match->match_id = ls_secret_match_id(&match->key);
    return LS_OK;
}

static void release_desyncs(const server *host)
{
    size_t seats = (size_t)host->config->matches * host->config->match.sim.players;
    for (size_t i = 0; host->desyncs && i < seats; i++) {
        ls_slot_desyncs_deinit(&host->desyncs[i]);
    }
    ls_release(ls_allocator_heap(), host->desyncs);
    ls_release(ls_allocator_heap(), host->slot_lines);
}

static ls_status create_host(server *host, ls_text *why)
{
    const ls_server_config *config = host->config;
    size_t seats = (size_t)config->matches * config->match.sim.players;
    host->desyncs = ls_allocate_array(ls_allocator_heap(), seats, sizeof *host->desyncs);
    host->slot_lines = ls_allocate_array(ls_allocator_heap(), seats, sizeof *host->slot_lines);
    if (!host->desyncs || !host->slot_lines) {
        return LS_NO_MEMORY;
    }
    ls_match_config match = config->match;
    ls_status status = config->resume ? LS_OK : give_identity(&match, why);
    if (status != LS_OK) {
        return status;
    }
    ls_host_config matches = {.match = match,
                              .matches = config->matches,
                              .bind_host = config->bind_host,
                              .port = config->port,
                              .sealed = config->admission->sealed,
                              .on_event = on_event,
                              .on_advanced = on_advanced,
                              .may_end = may_end,
                              .user = host};
    status = ls_host_create(&matches, ls_allocator_heap(), &host->matches, why);
    if (status == LS_OK && host->config->reruns) {
        ls_rerun_process_attach(host->config->reruns, ls_host_loop(host->matches));
    }
    return status;
}

/* The invite first: scripts wait for the port. */
static ls_status write_port_file(const server *host, ls_text *why)
{
    const ls_server_config *config = host->config;
    uint16_t port = ls_host_port(host->matches);
    ls_status status = ls_admission_write_invite(config->admission, port, why);
    return status == LS_OK && config->port_file ? ls_output_write_port(config->port_file, port, why)
                                                : status;
}

static ls_status add_handlers(server *host)
{
    ls_event_loop *loop = ls_host_loop(host->matches);
    ls_loop_handler signal_handler = {on_signal, host};
    ls_loop_handler watch = {watch_admission, host};
    ls_status status = ls_event_loop_add_stop_signals(loop, signal_handler);
    if (status == LS_OK) {
        status = ls_event_loop_add_timer(loop, WATCH_MS, watch, NULL);
    }
    if (status == LS_OK && host->console->is_live) {
        ls_loop_handler progress = {draw_progress, host};
        status = ls_event_loop_add_timer(loop, PROGRESS_MS, progress, NULL);
    }
    return status;
}

static void log_restored(const server *host, const ls_resume_report *report)
{
    const ls_log *log = &host->console->log;
    const char *path = host->config->resume_path;
    if (report->loss.bytes[0]) {
        ls_log_line(log, LS_LOG_WARNING, "%s: %s", path, report->loss.bytes);
    }
    if (report->is_cut_at_gap) {
        ls_log_line(log, LS_LOG_WARNING,
                    "%s: ticks are missing from tick %" PRIu32
                    " on, and there is no snapshot after them: the match is resumed at that tick, "
                    "and its players send the ticks that they hold",
                    path, report->tick);
    }
    if (report->cut_bytes > 0) {
        ls_log_line(log, LS_LOG_WARNING,
                    "%s: the last %" PRIu64 " bytes cannot be used and are cut off", path,
                    report->cut_bytes);
    }
    if (report->missing_tick != UINT32_MAX) {
        ls_log_line(log, LS_LOG_WARNING, "%s: ticks are missing, from tick %" PRIu32 " on", path,
                    report->missing_tick);
    }
    if (!report->has_begun) {
        ls_log_line(log, LS_LOG_INFO,
                    "%s does not say that its match had begun: waiting for players", path);
        return;
    }
    ls_log_line(log, LS_LOG_INFO,
                "%s: the match is restored up to tick %" PRIu32 " (simulated from tick %" PRIu32
                ", %" PRIu64 " states compared); waiting for its players to return",
                path, report->tick, report->from_tick, report->state_hashes);
}

static ls_status restore(server *host, ls_text *why)
{
    ls_resume_report report;
    if (!host->config->resume) {
        return LS_OK;
    }
    ls_status status = ls_resume_restore(
        host->config->resume, ls_match_table_match(ls_host_table(host->matches), 0),
        ls_event_loop_now_ns(ls_host_loop(host->matches)), &report, why);
    if (status == LS_OK) {
        ls_host_touch(host->matches, 0);
        log_restored(host, &report);
    }
    return status;
}

static ls_status create_journals(server *host, ls_text *why)
{
    const ls_server_config *config = host->config;
    ls_journals_config journals = {
        .directory = config->journal_dir, .print = config->match.print, .log = &host->console->log};
    if (config->resume) {
        journals.continued_path = config->resume_path;
        journals.continued = ls_resume_journal(config->resume);
    } else if (!config->journal_dir) {
        return LS_OK;
    }
    return ls_journals_create(&journals, host->matches, ls_allocator_heap(), &host->journals, why);
}

/* A match without bundles is still a match: the operator is warned before the match begins. */
static ls_status create_files(server *host)
{
    ls_text why = {{0}};
    const char *directory = host->config->bundle_dir;
    if (!directory) {
        return LS_OK;
    }
    if (ls_output_check_directory(directory, "bundles of desyncs", &why) != LS_OK) {
        ls_log_line(&host->console->log, LS_LOG_WARNING, "%s", why.bytes);
    }
    const ls_desync_files_config files = {.directory = directory,
                                          .bytes_max = (uint64_t)host->config->bundle_mib_max << 20,
                                          .matches = host->config->matches,
                                          .print = host->config->match.print,
                                          .loop = ls_host_loop(host->matches),
                                          .on_written = on_written,
                                          .user = host};
    return ls_desync_files_create(&files, &host->files);
}

/* A server that is not found can be joined all the same. */
static void create_announcer(server *host)
{
    const ls_server_config *config = host->config;
    const ls_announcer_config announcer = {.host = host->matches,
                                           .bind_host = config->bind_host,
                                           .matches = config->matches,
                                           .find_port = config->find_port};
    ls_text why = {{0}};
    if (config->is_found &&
        ls_announcer_create(&announcer, ls_allocator_heap(), &host->announcer, &why) != LS_OK) {
        ls_log_line(&host->console->log, LS_LOG_WARNING,
                    "lockstep-client --find will not find this server: %s", why.bytes);
    }
}

static ls_status build(server *host, ls_text *why)
{
    const char *json_path = host->config->json_path;
    ls_status status = json_path ? ls_output_check_path(json_path, why) : LS_OK;
    if (status == LS_OK) {
        status = create_host(host, why);
    }
    if (status == LS_OK) {
        status = restore(host, why);
    }
    if (status == LS_OK) {
        status = create_journals(host, why);
    }
    if (status == LS_OK) {
        status = create_files(host);
    }
    if (status == LS_OK) {
        status = add_handlers(host);
    }
    if (status == LS_OK) {
        create_announcer(host);
    }
    return status == LS_OK ? write_port_file(host, why) : status;
}

static void log_listening(const server *host)
{
    const ls_server_config *config = host->config;
    ls_text what = {{0}};
    if (config->matches > 1) {
        ls_text_set(&what, "%" PRIu32 " matches of ", config->matches);
    }
    char place[LS_ENDPOINT_JOINED_BYTES];
    ls_endpoint_join(config->bind_host, ls_host_port(host->matches), place);
    ls_log_line(&host->console->log, LS_LOG_INFO, "listening on %s, %s%s for %" PRIu32 " players",
                place, what.bytes, config->match.simulation->name, config->match.sim.players);
    ls_admission_log(config->admission, ls_host_port(host->matches), &host->console->log);
}

ls_exit_code ls_server_run(const ls_server_config *config, ls_console *console)
{
    server host = {.config = config, .console = console};
    ls_text why = {{0}};
    ls_status status = build(&host, &why);
    ls_exit_code code = ls_exit_code_of(status);
    if (status != LS_OK) {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s",
                    why.bytes[0] ? why.bytes : ls_status_text(status));
    } else {
        log_listening(&host);
        ls_host_run(host.matches);
        watch_admission(&host, ls_event_loop_now_ns(ls_host_loop(host.matches)));
        ls_desync_files_destroy(host.files);
        host.files = NULL;
        code = finish(&host);
    }
    ls_desync_files_destroy(host.files);
    ls_journals_destroy(host.journals);
    ls_rerun_process_detach(config->reruns);
    ls_announcer_destroy(host.announcer);
    ls_host_destroy(host.matches);
    release_desyncs(&host);
    return code;
}
