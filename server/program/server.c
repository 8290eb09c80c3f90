#include "lockstep/server/program/server.h"

#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/common/system/output.h"
#include "lockstep/server/program/announcer.h"
#include "lockstep/server/rooms/crash_log.h"
#include "lockstep/server/rooms/room_progress.h"
#include "lockstep/server/rooms/rooms.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    PROGRESS_MS = 250,
    WATCH_MS = 1000, /* between two lines about clients that were kept out */
    TITLE_BYTES_MAX = 24,
};

typedef struct server {
    const ls_server_config *config;
    const ls_server_options *options;
    ls_console *console;
    ls_rooms *rooms;
    ls_announcer *announcer; /* NULL: the server is not found */
    bool is_stopping;        /* a signal has come */
} server;

static ls_event_loop *loop_of(const server *host)
{
    return ls_host_loop(ls_rooms_host(host->rooms));
}

/* ---- live lines ---- */

static void draw_progress(void *user, uint64_t now_ns)
{
    server *host = user;
    uint32_t count = host->options->matches;
    (void)now_ns;
    ls_console_begin(host->console);
    for (uint32_t i = 0; i < count && i < LS_ROOM_PROGRESS_LINES_MAX; i++) {
        const ls_room *room = ls_rooms_room(host->rooms, i);
        if (count == 1) {
            ls_room_progress_draw(host->console, ls_room_match(room));
        } else {
            ls_room_progress_draw_short(host->console, ls_room_title(room), ls_room_match(room));
        }
    }
    if (count > LS_ROOM_PROGRESS_LINES_MAX) {
        ls_console_line(host->console, "and %" PRIu32 " more", count - LS_ROOM_PROGRESS_LINES_MAX);
    }
    ls_console_end(host->console);
}

static void watch_admission(void *user, uint64_t now_ns)
{
    server *host = user;
    ls_admission_watch(host->config->admission, ls_host_transport(ls_rooms_host(host->rooms)),
                       &host->console->log, now_ns);
    ls_console_flush(host->console);
}

static void on_signal(void *user, uint64_t now_ns)
{
    server *host = user;
    (void)now_ns;
    if (host->is_stopping) {
        ls_event_loop_stop(loop_of(host));
        return;
    }
    host->is_stopping = true;
    ls_log_line(&host->console->log, LS_LOG_INFO,
                "stopping and waiting for the clients; press Ctrl-C again to stop at once");
    ls_host_end_matches(ls_rooms_host(host->rooms));
}

/* ---- the end ---- */

#define NAME_OF(name, text) #name,

static const char *const sealed_names[LS_SEALED_REJECTION_COUNT] = {
    LS_SEALED_REJECTION_MAP(NAME_OF)};
static const char *const enet_names[LS_DATAGRAM_REJECTION_COUNT] = {
    LS_DATAGRAM_REJECTION_MAP(NAME_OF)};
static const char *const denial_names[LS_DENIAL_END] = {"NONE", LS_DENIAL_MAP(NAME_OF)};

static void add_count(ls_summary_counts *counts, const char *prefix, const char *name,
                      uint64_t count)
{
    ls_summary_count *row = &counts->rows[counts->count++];
    snprintf(row->name, sizeof row->name, "%s%s", prefix, name);
    for (char *at = row->name; *at != '\0'; at++) {
        *at = (char)tolower((unsigned char)*at);
    }
    row->number = count;
}

/* Counts of the network as a whole, and of clients that were kept out. */
static void summarize_network(const ls_transport *transport, const ls_token_gate *gate,
                              ls_summary_network *out)
{
    *out = (ls_summary_network){.has_tokens = gate != NULL};
    for (int i = 0; i < LS_SEALED_REJECTION_COUNT; i++) {
        add_count(&out->dropped, "", sealed_names[i],
                  ls_transport_udp_rejections(transport, (ls_sealed_rejection)i));
    }
    for (int i = 0; i < LS_DATAGRAM_REJECTION_COUNT; i++) {
        add_count(&out->dropped, "enet_", enet_names[i],
                  ls_transport_udp_enet_rejections(transport, (ls_datagram_rejection)i));
    }
    for (int i = LS_DENIAL_NONE + 1; i < LS_DENIAL_END; i++) {
        add_count(&out->clients_refused, "", denial_names[i],
                  ls_transport_udp_denials(transport, (ls_denial)i));
    }
    for (int i = LS_TOKEN_REFUSAL_NONE + 1; gate && i < LS_TOKEN_REFUSAL_COUNT; i++) {
        add_count(&out->tokens_refused, "", ls_token_refusal_name((ls_token_refusal)i),
                  ls_token_gate_count(gate, (ls_token_refusal)i));
    }
}

static ls_status write_summaries(const server *host, ls_summary *summaries, ls_text *why)
{
    const char *path = host->options->output.json_path;
    uint32_t count = host->options->matches;
    ls_summary_network network;
    if (!path) {
        return LS_OK;
    }
    summarize_network(ls_host_transport(ls_rooms_host(host->rooms)), host->config->admission->gate,
                      &network);
    if (count > 1) {
        return ls_summary_write_matches(summaries, count, &network, path, why);
    }
    summaries->network = &network;
    return ls_summary_write(summaries, path, why);
}

static bool has_desync(const server *host)
{
    bool is_found = false;
    for (uint32_t i = 0; i < host->options->matches; i++) {
        is_found = is_found || ls_room_has_desync(ls_rooms_room(host->rooms, i));
    }
    return is_found;
}

static ls_exit_code finish(server *host)
{
    ls_exit_code code = has_desync(host) ? LS_EXIT_DESYNC : LS_EXIT_CLEAN;
    uint32_t count = host->options->matches;
    ls_summary *summaries = ls_allocate_array(ls_allocator_heap(), count, sizeof *summaries);
    ls_text why = {{0}};
    ls_console_clear(host->console);
    for (uint32_t i = 0; summaries && i < count; i++) {
        ls_room_summarize(ls_rooms_room(host->rooms, i), &summaries[i]);
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

static ls_status create_rooms(server *host, ls_text *why)
{
    const ls_server_config *config = host->config;
    const ls_match_config *match = ls_room_game_match(config->game);
    uint64_t places =
        (uint64_t)host->options->matches * (match->sim.players + match->spectators_max);
    if (places > LS_HOST_PLACES_MAX) {
        return ls_fail(
            LS_BAD_ARGUMENT, why, "%u matches of %u players and %u spectators: 1 to %u fit in all",
            host->options->matches, match->sim.players, match->spectators_max, LS_HOST_PLACES_MAX);
    }
    bool has_bundles = strcmp(host->options->bundle_dir, "none") != 0;
    const ls_rooms_config rooms = {.console = host->console,
                                   .host = {.bind_host = host->options->bind_host,
                                            .port = (uint16_t)host->options->port,
                                            .sealed = config->admission->sealed,
                                            .matches_max = host->options->matches,
                                            .places_max = (uint32_t)places,
                                            .at_work = ls_crash_log_place()},
                                   .bundle_dir = has_bundles ? host->options->bundle_dir : NULL,
                                   .bundle_mib_max = host->options->bundle_limit};
    ls_status status = ls_rooms_create(&rooms, &host->rooms, why);
    if (status == LS_OK) {
        ls_room_game_attach(config->game, loop_of(host));
    }
    return status;
}

static void log_restored(const server *host, const ls_resume_report *report)
{
    const ls_log *log = &host->console->log;
    const char *path = host->options->resume_path;
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

/* Lines and files of several are told apart by the match's number. */
static ls_status open_room(server *host, uint32_t index, ls_text *why)
{
    const ls_server_config *config = host->config;
    bool is_only = host->options->matches == 1;
    char title[TITLE_BYTES_MAX];
    char label[TITLE_BYTES_MAX];
    snprintf(title, sizeof title, "match %" PRIu32, index);
    snprintf(label, sizeof label, "match%" PRIu32, index);
    ls_resume *resume = ls_room_game_resume(config->game);
    ls_room_opening opening = {.match = *ls_room_game_match(config->game),
                               .title = is_only ? NULL : title,
                               .label = is_only ? NULL : label,
                               .journal_dir = host->options->journal_dir,
                               .resume = resume,
                               .resume_path = host->options->resume_path};
    ls_status status = resume ? LS_OK : ls_rooms_give_identity(&opening.match, why);
    ls_resume_report report;
    ls_room *room = NULL;
    if (status == LS_OK) {
        status = ls_rooms_open(host->rooms, &opening, &room, &report, why);
    }
    if (status == LS_OK) {
        const ls_crash_log_match about = {.title = opening.title,
                                          .match_id = opening.match.match_id,
                                          .simulation = ls_room_game_simulation(config->game)};
        ls_crash_log_note(ls_room_number(room), &about);
    }
    if (status == LS_OK && resume) {
        log_restored(host, &report);
    }
    return status;
}

static ls_status open_rooms(server *host, ls_text *why)
{
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < host->options->matches; i++) {
        status = open_room(host, i, why);
    }
    return status;
}

/* The invite first: scripts wait for the port. */
static ls_status write_port_file(const server *host, ls_text *why)
{
    const ls_server_config *config = host->config;
    uint16_t port = ls_host_port(ls_rooms_host(host->rooms));
    ls_status status = ls_admission_write_invite(config->admission, port, why);
    return status == LS_OK && host->options->port_file
               ? ls_output_write_port(host->options->port_file, port, why)
               : status;
}

static ls_status add_handlers(server *host)
{
    ls_event_loop *loop = loop_of(host);
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

/* A server that is not found can be joined all the same. */
static void create_announcer(server *host)
{
    const ls_announcer_config announcer = {.host = ls_rooms_host(host->rooms),
                                           .bind_host = host->options->bind_host,
                                           .matches = host->options->matches,
                                           .find_port = (uint16_t)host->options->find_port};
    ls_text why = {{0}};
    if (host->options->is_found &&
        ls_announcer_create(&announcer, ls_allocator_heap(), &host->announcer, &why) != LS_OK) {
        ls_log_line(&host->console->log, LS_LOG_WARNING,
                    "lockstep-client --find will not find this server: %s", why.bytes);
    }
}

static ls_status build(server *host, ls_text *why)
{
    const char *json_path = host->options->output.json_path;
    ls_status status = json_path ? ls_output_check_path(json_path, why) : LS_OK;
    if (status == LS_OK) {
        status = create_rooms(host, why);
    }
    if (status == LS_OK) {
        status = open_rooms(host, why);
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
    const ls_match_config *match = ls_room_game_match(config->game);
    ls_text what = {{0}};
    if (host->options->matches > 1) {
        ls_text_set(&what, "%" PRIu32 " matches of ", host->options->matches);
    }
    char place[LS_ENDPOINT_JOINED_BYTES];
    ls_endpoint_join(host->options->bind_host, ls_host_port(ls_rooms_host(host->rooms)), place);
    ls_log_line(&host->console->log, LS_LOG_INFO, "listening on %s, %s%s for %" PRIu32 " players",
                place, what.bytes, match->simulation->name, match->sim.players);
    ls_admission_log(config->admission, ls_host_port(ls_rooms_host(host->rooms)),
                     &host->console->log);
}

ls_exit_code ls_server_run(const ls_server_config *config, ls_console *console)
{
    server host = {.config = config, .options = config->options, .console = console};
    ls_text why = {{0}};
    ls_status status = build(&host, &why);
    ls_exit_code code = ls_exit_code_of(status);
    if (status != LS_OK) {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s",
                    why.bytes[0] ? why.bytes : ls_status_text(status));
    } else {
        log_listening(&host);
        ls_host_run(ls_rooms_host(host.rooms));
        watch_admission(&host, ls_event_loop_now_ns(loop_of(&host)));
        ls_rooms_finish_bundles(host.rooms);
        code = finish(&host);
    }
    ls_room_game_detach(config->game);
    ls_announcer_destroy(host.announcer);
    ls_rooms_destroy(host.rooms);
    return code;
}
