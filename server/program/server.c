#include "lockstep/server/program/server.h"

#include "lockstep/common/base/secret.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/program/console.h"
#include "lockstep/common/program/player_name.h"
#include "lockstep/common/system/broadcast_socket.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/common/system/output.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/protocol/discovery/discovery.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/server/door/door_process.h"
#include "lockstep/server/host/host.h"
#include "lockstep/server/host/publisher.h"
#include "lockstep/server/match/match.h"
#include "lockstep/server/rooms/crash_log.h"
#include "lockstep/server/rooms/rooms.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- being found ---- */

/* Answers the queries of clients that look for servers on the local network. A server without
 * one is only not found. */

typedef struct announcer_config {
    const ls_host *host; /* that outlives the announcer */
    const char *bind_host;
    uint32_t matches;
    uint16_t find_port; /* UDP, for queries */
} announcer_config;

typedef struct ls_announcer ls_announcer;

static void announcer_destroy(ls_announcer *announcer);

enum {
    READS_MAX = 64 /* in one turn of the loop: a flood must not hold up the matches */
};

struct ls_announcer {
    announcer_config config;
    const ls_allocator *allocator;
    ls_loop_source *source;
    int descriptor;
    uint32_t address; /* where the server listens, in network byte order; 0: everywhere */
    uint64_t id;
    ls_discovery_budget budget;
};

static uint32_t state_of(ls_match_state state)
{
    switch (state) {
    case LS_MATCH_LOBBY:
    case LS_MATCH_RESUMING:
        return LS_DISCOVERY_WAITING;
    case LS_MATCH_RUNNING:
        return LS_DISCOVERY_RUNNING;
    case LS_MATCH_ENDING:
    case LS_MATCH_OVER:
        break;
    }
    return LS_DISCOVERY_ENDING;
}

/* The server's state is that of the match that is least far. */
static void add_match(ls_discovery_answer *answer, const ls_match *match)
{
    const ls_match_config *config = ls_match_config_of(match);
    answer->seats += config->sim.players;
    answer->spectators += ls_match_spectating_of(match).now;
    answer->spectators_max += config->spectators_max;
    answer->tick = LS_MAX(answer->tick, ls_match_tick(match));
    answer->state = LS_MIN(answer->state, state_of(ls_match_state_of(match)));
    for (uint32_t slot = 0; slot < config->sim.players; slot++) {
        answer->players += ls_match_slot_of(match, slot).peer != 0 ? 1 : 0;
    }
}

static ls_discovery_answer answer_of(const ls_announcer *announcer, uint64_t nonce)
{
    const ls_host *host = announcer->config.host;
    const ls_match_table *table = ls_host_table(host);
    const ls_simulation *simulation =
        ls_match_config_of(ls_match_table_match(table, 0))->simulation;
    ls_discovery_answer answer = {.nonce = nonce,
                                  .server = announcer->id,
                                  .port = ls_host_port(host),
                                  .protocol = LS_PROTOCOL_VERSION,
                                  .version = simulation->version,
                                  .state = LS_DISCOVERY_ENDING,
                                  .matches = announcer->config.matches};
    ls_name_copy(answer.simulation, sizeof answer.simulation, simulation->name);
    for (uint32_t i = 0; i < announcer->config.matches; i++) {
        add_match(&answer, ls_match_table_match(table, i));
    }
    answer.seats = LS_MIN(answer.seats, LS_DISCOVERY_COUNT_MAX);
    answer.players = LS_MIN(answer.players, LS_DISCOVERY_COUNT_MAX);
    answer.spectators = LS_MIN(answer.spectators, LS_DISCOVERY_COUNT_MAX);
    answer.spectators_max = LS_MIN(answer.spectators_max, LS_DISCOVERY_COUNT_MAX);
    return answer;
}

/* Only a broadcast is answered: no router passes one on, so that nobody outside of the local
 * network learns of this server. */
static bool is_asked(const ls_announcer *announcer, const ls_broadcast_datagram *datagram,
                     uint64_t *nonce)
{
    return datagram->is_broadcast && datagram->from.port != 0 &&
           (announcer->address == 0 || announcer->address == datagram->local) &&
           ls_discovery_read_query(datagram->bytes, datagram->size, nonce);
}

static void on_queries(void *user, uint64_t now_ns)
{
    ls_announcer *announcer = user;
    ls_broadcast_datagram datagram;
    uint8_t bytes[LS_DISCOVERY_BYTES];
    uint64_t nonce = 0;
    for (int i = 0; i < READS_MAX && ls_broadcast_socket_receive(announcer->descriptor, &datagram);
         i++) {
        if (is_asked(announcer, &datagram, &nonce) &&
            ls_discovery_budget_spend(&announcer->budget, now_ns)) {
            const ls_discovery_answer answer = answer_of(announcer, nonce);
            size_t size = ls_discovery_write_answer(bytes, &answer);
            ls_broadcast_socket_answer(announcer->descriptor, &datagram, bytes, size);
        }
    }
}

static ls_status open_announcer(ls_announcer *announcer, ls_text *why)
{
    ls_endpoint own = {0};
    ls_secret_key random;
    ls_status status = ls_endpoint_resolve(announcer->config.bind_host, 0, &own, why);
    announcer->address = ls_endpoint_ipv4(&own);
    if (status == LS_OK && ls_secret_key_random(&random) != LS_OK) {
        status = ls_fail(LS_IO, why, "the system has no random numbers to give");
    }
    if (status == LS_OK) {
        announcer->id = ls_secret_match_id(&random);
        status = ls_broadcast_socket_open(announcer->config.find_port, &announcer->descriptor, why);
    }
    if (status == LS_OK) {
        const ls_loop_handler handler = {on_queries, announcer};
        status = ls_event_loop_watch(ls_host_loop(announcer->config.host), announcer->descriptor,
                                     handler, &announcer->source);
    }
    return status;
}

/* NO_MEMORY or IO, with the reason. */
static ls_status announcer_create(const announcer_config *config, const ls_allocator *allocator,
                                  ls_announcer **out, ls_text *why)
{
    ls_announcer *made = ls_allocate(allocator, sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    *made = (ls_announcer){.config = *config, .allocator = allocator, .descriptor = -1};
    ls_status status = open_announcer(made, why);
    if (status != LS_OK) {
        announcer_destroy(made);
        return status;
    }
    *out = made;
    return LS_OK;
}

static void announcer_destroy(ls_announcer *announcer)
{
    if (!announcer) {
        return;
    }
    ls_loop_source_remove(announcer->source);
    if (announcer->descriptor >= 0) {
        ls_socket_close(announcer->descriptor);
    }
    ls_release(announcer->allocator, announcer);
}

/* ---- live lines ---- */

/* Live lines about a match on a terminal. Reads the match only. */

#define ROOM_PROGRESS_LINES_MAX 16u /* of players or of rooms, that fit a terminal */

static const char *const states[] = {"waiting for players", "waiting for players to return",
                                     "running", "ending", "over"};

static void draw_player(ls_console *console, const ls_match *match, uint32_t slot)
{
    ls_match_slot player = ls_match_slot_of(match, slot);
    if (player.peer == 0) {
        ls_console_line(console, "  %2" PRIu32 "  %-*s %s", slot, ls_player_name_width(player.name),
                        player.name,
                        player.has_played ? ls_status_text(player.left_status) : "free");
        return;
    }
    ls_console_line(console,
                    "  %2" PRIu32 "  %-*s rtt %6.1f ms  slack %6.1f ms  behind %3" PRIu32
                    "  late %" PRIu64 "  %s %" PRIu32,
                    slot, ls_player_name_width(player.name), player.name,
                    (double)player.rtt_ns / 1e6, (double)player.slack_ns / 1e6, player.ticks_behind,
                    player.inputs_late, player.is_desynced ? "DESYNC at" : "agrees to",
                    player.is_desynced ? player.desync_tick : player.agreed_tick);
    if (player.lag.cause != LS_LAG_FINE) {
        ls_text lag = {{0}};
        ls_match_lag_text(match, &player.lag, &lag);
        ls_console_line(console, "      %s", lag.bytes);
    }
}

static void draw_players(ls_console *console, const ls_match *match)
{
    uint32_t players = ls_match_players(match);
    for (uint32_t slot = 0; slot < players && slot < ROOM_PROGRESS_LINES_MAX; slot++) {
        draw_player(console, match, slot);
    }
    ls_match_spectating spectating = ls_match_spectating_of(match);
    if (spectating.ever > 0) {
        ls_console_line(console,
                        "  spectators %" PRIu32 " of %" PRIu32 ", states compared %" PRIu64
                        ", differed %" PRIu64,
                        spectating.now, ls_match_config_of(match)->spectators_max,
                        spectating.hashes_compared, spectating.desynced);
    }
}

/* The only room of a server, with its players; one of several, in a line. */
static void room_progress_draw(ls_console *console, const ls_match *match)
{
    ls_console_line(console, "tick %" PRIu32 "  %s", ls_match_tick(match),
                    states[ls_match_state_of(match)]);
    draw_players(console, match);
}

static void room_progress_draw_short(ls_console *console, const char *title, const ls_match *match)
{
    uint32_t present = 0;
    uint32_t desyncs = 0;
    for (uint32_t slot = 0; slot < ls_match_players(match); slot++) {
        ls_match_slot player = ls_match_slot_of(match, slot);
        present += player.peer != 0 ? 1 : 0;
        desyncs += player.is_desynced ? 1 : 0;
    }
    ls_console_line(console,
                    "%-10s  tick %" PRIu32 "  %s  players %" PRIu32 " of %" PRIu32
                    "  desyncs %" PRIu32,
                    title, ls_match_tick(match), states[ls_match_state_of(match)], present,
                    ls_match_players(match), desyncs);
}

/* ---- the server ---- */

enum {
    PROGRESS_MS = 250,
    SHOW_END_S = 15, /* of a broadcast, beyond its delay */
    WATCH_MS = 1000, /* between two lines about clients that were kept out */
    PATH_BYTES_MAX = 4096,
    TITLE_BYTES_MAX = 24,
};

typedef struct server {
    const ls_server_config *config;
    const ls_server_options *options;
    ls_console *console;
    ls_rooms *rooms;
    ls_announcer *announcer; /* NULL: the server is not found */
    ls_publisher *publisher; /* NULL: it is at no relay */
    ls_port_keeper *ports;   /* NULL: no router is asked */
    ls_door *door;           /* NULL: it has none for pages */
    ls_door_socket *door_socket;
    char page[LS_PAGE_LINK_BYTES_MAX]; /* its link without an invite; "": a relay lists none */
    ls_invite linked; /* the place, without a key, that the page's link in the log leads to */
    bool is_stopping; /* a signal has come */
    bool is_stopped;  /* at once, by a second signal */
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
    for (uint32_t i = 0; i < count && i < ROOM_PROGRESS_LINES_MAX; i++) {
        const ls_room *room = ls_rooms_room(host->rooms, i);
        if (count == 1) {
            room_progress_draw(host->console, ls_room_match(room));
        } else {
            room_progress_draw_short(host->console, ls_room_title(room), ls_room_match(room));
        }
    }
    if (count > ROOM_PROGRESS_LINES_MAX) {
        ls_console_line(host->console, "and %" PRIu32 " more", count - ROOM_PROGRESS_LINES_MAX);
    }
    ls_console_end(host->console);
}

static void log_page(server *host)
{
    const ls_admission *admission = host->config->admission;
    const ls_invite to = {.port = ls_host_port(ls_rooms_host(host->rooms))};
    char invite[LS_INVITE_TEXT_BYTES_MAX];
    ls_admission_invite(admission, &to, invite, sizeof invite);
    ls_door_log(host->door, invite, admission->sealed.needs_secret);
    ls_cipher_wipe(invite, sizeof invite);
    host->linked = admission->published;
}

/* A relay's code, or the port of a router, is in the invite and so in the link. */
static bool is_page_elsewhere(const server *host)
{
    const ls_invite *now = &host->config->admission->published;
    return host->door &&
           (now->port != host->linked.port || strcmp(now->host, host->linked.host) != 0);
}

static void watch_admission(void *user, uint64_t now_ns)
{
    server *host = user;
    if (is_page_elsewhere(host)) {
        log_page(host);
    }
    ls_admission_watch(host->config->admission, ls_host_transport(ls_rooms_host(host->rooms)),
                       &host->console->log, now_ns);
    ls_console_flush(host->console);
}

static void on_signal(void *user, uint64_t now_ns)
{
    server *host = user;
    (void)now_ns;
    if (host->is_stopping) {
        host->is_stopped = true;
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

/* The folder of the journals: that of the one which is gone on with, or where new ones are written.
 */
static void write_journals(const ls_hosting *hosting, char out[PATH_BYTES_MAX])
{
    const char *resumed = hosting->resume_path;
    const char *last = resumed ? strrchr(resumed, '/') : NULL;
    const char *folder = last ? resumed : resumed ? "." : hosting->journal_dir;
    int size = last && last > resumed ? (int)(last - resumed) : last ? 1 : PATH_BYTES_MAX;
    snprintf(out, PATH_BYTES_MAX, "%.*s", size, folder ? folder : "");
}

static ls_status open_door(server *host, ls_text *why)
{
    const ls_server_options *options = host->options;
    char journals[PATH_BYTES_MAX];
    write_journals(&options->hosting, journals);
    const ls_door_config door = {.program = "lockstep-server",
                                 .place = options->web,
                                 .files = options->web_files,
                                 .hosts = options->web_hosts,
                                 .certificate = options->web_certificate,
                                 .certificate_key = options->web_key,
                                 .journals = journals,
                                 .broadcast_delay_s = options->broadcast_delay_s,
                                 .bind_host = options->hosting.bind_host,
                                 .has_codes = options->has_web_codes &&
                                              options->log_format == LS_LOG_FORMAT_TEXT,
                                 .log_format = (uint32_t)options->log_format,
                                 .log = &host->console->log};
    ls_status status = options->web ? ls_door_open(&door, &host->door, why) : LS_OK;
    if (status == LS_OK && host->door) {
        status = ls_door_socket_create(ls_door_link_of(host->door), ls_allocator_heap(),
                                       &host->door_socket);
    }
    return status;
}

static ls_status create_publisher(server *host, ls_text *why)
{
    const ls_server_options *options = host->options;
    ls_door_write_public_link(host->door, host->page);
    const ls_publisher_config publisher = {.relay = options->publish,
                                           .key_path = options->publish_key_path,
                                           .public_name = options->public_name,
                                           .region = options->region,
                                           .page = host->page[0] != '\0' ? host->page : NULL,
                                           .admission = host->config->admission,
                                           .log = &host->console->log};
    return options->publish ? ls_publisher_create(&publisher, &host->publisher, why) : LS_OK;
}

/* The relay's layer is above, and lets players of the door through. */
static ls_datagram_socket *wrap_socket(void *user, ls_datagram_socket *inner)
{
    const server *host = user;
    inner = ls_door_socket_around(host->door_socket, inner);
    return ls_publisher_socket_around(host->publisher, inner);
}

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
    bool has_bundles = strcmp(host->options->hosting.bundle_dir, "none") != 0;
    ls_status status = open_door(host, why);
    LS_THEN(status, create_publisher(host, why));
    if (status != LS_OK) {
        return status;
    }
    const ls_rooms_config rooms = {.console = host->console,
                                   .host = {.bind_host = host->options->hosting.bind_host,
                                            .port = (uint16_t)host->options->hosting.port,
                                            .sealed = config->admission->sealed,
                                            .around = {wrap_socket, host},
                                            .table.matches_max = host->options->matches,
                                            .table.players_max = (uint32_t)places,
                                            .table.at_work = ls_crash_log_place()},
                                   .bundle_dir =
                                       has_bundles ? host->options->hosting.bundle_dir : NULL,
                                   .bundle_mib_max = host->options->hosting.bundle_limit};
    status = ls_rooms_create(&rooms, &host->rooms, why);
    if (status == LS_OK) {
        ls_room_game_attach(config->game, loop_of(host));
    }
    return status;
}

static void log_restored(const server *host, const ls_resume_report *report)
{
    const ls_log *log = &host->console->log;
    const char *path = host->options->hosting.resume_path;
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
                               .journal_dir = host->options->hosting.journal_dir,
                               .is_public = host->options->broadcast_delay_s > 0,
                               .resume = resume,
                               .resume_path = host->options->hosting.resume_path};
    ls_status status = resume ? LS_OK : ls_rooms_give_identity(&opening.match, why);
    ls_resume_report report;
    ls_room *room = NULL;
    LS_THEN(status, ls_rooms_open(host->rooms, &opening, &room, &report, why));
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
    LS_THEN(status, ls_event_loop_add_timer(loop, WATCH_MS, watch, NULL));
    if (status == LS_OK && host->console->is_live) {
        ls_loop_handler progress = {draw_progress, host};
        status = ls_event_loop_add_timer(loop, PROGRESS_MS, progress, NULL);
    }
    return status;
}

/* A server that is not found can be joined all the same. */
static void create_announcer(server *host)
{
    const announcer_config announcer = {.host = ls_rooms_host(host->rooms),
                                        .bind_host = host->options->hosting.bind_host,
                                        .matches = host->options->matches,
                                        .find_port = (uint16_t)host->options->find_port};
    ls_text why = {{0}};
    if (host->options->is_found &&
        announcer_create(&announcer, ls_allocator_heap(), &host->announcer, &why) != LS_OK) {
        ls_log_line(&host->console->log, LS_LOG_WARNING,
                    "lockstep-client --find will not find this server: %s", why.bytes);
    }
}

static ls_status start_door(server *host, ls_text *why)
{
    const char *port_file = host->options->web_port_file;
    if (!host->door) {
        return LS_OK;
    }
    uint16_t port = ls_host_port(ls_rooms_host(host->rooms));
    ls_status status = ls_door_start(host->door, port, loop_of(host), why);
    return status == LS_OK && port_file
               ? ls_output_write_port(port_file, ls_door_endpoint(host->door).port, why)
               : status;
}

/* Players of a relay prove the way before they take it; of an invite it is all that they have. */
static void on_mapped(void *user, const ls_endpoint *outside)
{
    server *host = user;
    if (host->publisher) {
        ls_publisher_set_outside(host->publisher, outside);
    } else {
        ls_admission_map(host->config->admission, outside, ls_host_port(ls_rooms_host(host->rooms)),
                         &host->console->log);
    }
}

static ls_status begin_mapping(server *host)
{
    bool is_told = ls_setting_is_given(&ls_server_settings, host->options->own_given, "map-port");
    if (host->publisher && ls_publisher_is_local(host->publisher) && !is_told) {
        ls_port_keeper_destroy(host->ports);
        host->ports = NULL;
    }
    const ls_port_keeper_site site = {.loop = loop_of(host),
                                      .port = ls_host_port(ls_rooms_host(host->rooms)),
                                      .on_mapped = on_mapped,
                                      .user = host};
    return ls_port_keeper_attach(host->ports, &site);
}

static ls_status build(server *host, ls_text *why)
{
    const char *json_path = host->options->output.json_path;
    ls_status status = json_path ? ls_output_check_path(json_path, why) : LS_OK;
    LS_THEN(status, create_rooms(host, why));
    LS_THEN(status, open_rooms(host, why));
    LS_THEN(status, add_handlers(host));
    LS_THEN(status, ls_publisher_attach(host->publisher, ls_rooms_host(host->rooms)));
    LS_THEN(status, begin_mapping(host));
    LS_THEN(status, start_door(host, why));
    if (status == LS_OK) {
        create_announcer(host);
    }
    return status == LS_OK ? write_port_file(host, why) : status;
}

static void log_listening(server *host)
{
    const ls_server_config *config = host->config;
    const ls_match_config *match = ls_room_game_match(config->game);
    ls_text what = {{0}};
    if (host->options->matches > 1) {
        ls_text_set(&what, "%" PRIu32 " matches of ", host->options->matches);
    }
    char place[LS_ENDPOINT_JOINED_BYTES];
    ls_endpoint_join(host->options->hosting.bind_host, ls_host_port(ls_rooms_host(host->rooms)),
                     place);
    ls_log_line(&host->console->log, LS_LOG_INFO, "listening on %s, %s%s for %" PRIu32 " players",
                place, what.bytes, match->simulation->name, match->sim.players);
    ls_admission_log(config->admission, ls_host_port(ls_rooms_host(host->rooms)),
                     &host->console->log);
    if (host->door) {
        log_page(host);
    }
}

/* The door shows the end of a broadcast as late as all that came before it. */
static void show_end(server *host)
{
    uint32_t rest_s = host->options->broadcast_delay_s + SHOW_END_S;
    if (!host->door || host->options->broadcast_delay_s == 0) {
        return;
    }
    ls_log_line(&host->console->log, LS_LOG_INFO,
                "the end of the broadcast is shown for %" PRIu32 " s; press Ctrl-C to stop at once",
                rest_s);
    ls_console_flush(host->console);
    host->is_stopping = true;
    uint64_t end_ns = ls_event_loop_now_ns(loop_of(host)) + rest_s * LS_NS_PER_SECOND;
    while (!host->is_stopped && ls_event_loop_now_ns(loop_of(host)) < end_ns) {
        ls_event_loop_run_until(loop_of(host), end_ns); /* the match may have left a stop */
    }
}

ls_exit_code ls_server_run(const ls_server_config *config, ls_console *console)
{
    server host = {
        .config = config, .options = config->options, .console = console, .ports = config->ports};
    ls_text why = {{0}};
    ls_status status = build(&host, &why);
    ls_exit_code code = ls_exit_report(&console->log, status, &why);
    if (status == LS_OK) {
        log_listening(&host);
        ls_host_run(ls_rooms_host(host.rooms));
        watch_admission(&host, ls_event_loop_now_ns(loop_of(&host)));
        ls_rooms_finish_bundles(host.rooms);
        code = finish(&host);
        show_end(&host);
    }
    ls_room_game_detach(config->game);
    announcer_destroy(host.announcer);
    ls_port_keeper_destroy(host.ports);
    ls_publisher_withdraw(host.publisher);
    ls_rooms_destroy(host.rooms);
    ls_publisher_destroy(host.publisher);
    ls_door_close(host.door); /* which has delivered what clients were told last */
    ls_door_socket_destroy(host.door_socket);
    return code;
}
