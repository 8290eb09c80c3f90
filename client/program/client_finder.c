#include "lockstep/client/program/client.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/secret.h"
#include "lockstep/common/maths/stable_sort.h"
#include "lockstep/common/program/json.h"
#include "lockstep/common/program/player_name.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/common/system/broadcast_socket.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/common/system/udp_socket.h"
#include "lockstep/protocol/discovery/discovery.h"
#include "lockstep/protocol/relay/listing_json.h"
#include "lockstep/protocol/relay/relay_listing.h"
#include "lockstep/protocol/wire/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    QUERIES = 4,
    QUERY_PERIOD_MS = 250, /* and as long for the answers to the last one */
};

typedef struct finder {
    const ls_finder_config *config;
    ls_console *console;
    ls_event_loop *loop;
    int descriptor;
    uint32_t address; /* 0: all */
    uint32_t sent;    /* to so many addresses in all */
    ls_discovery_search search;
} finder;

/* ---- servers: asking ---- */

static void ask(finder *find)
{
    uint8_t bytes[LS_DISCOVERY_BYTES];
    ls_secret_key random;
    if (ls_secret_key_random(&random) != LS_OK) {
        return;
    }
    ls_discovery_search_query(&find->search, ls_secret_match_id(&random),
                              ls_event_loop_now_ns(find->loop), bytes);
    find->sent += ls_broadcast_socket_broadcast(find->descriptor, find->address,
                                                (uint16_t)find->config->port, bytes, sizeof bytes);
}

static void on_period(void *user, uint64_t now_ns)
{
    finder *find = user;
    (void)now_ns;
    if (find->search.query_count < QUERIES) {
        ask(find);
    } else {
        ls_event_loop_stop(find->loop);
    }
}

static void on_answers(void *user, uint64_t now_ns)
{
    finder *find = user;
    ls_broadcast_datagram datagram;
    while (ls_broadcast_socket_receive(find->descriptor, &datagram)) {
        ls_discovery_search_receive(&find->search, datagram.bytes, datagram.size, &datagram.from,
                                    now_ns);
    }
}

static void on_stop(void *user, uint64_t now_ns)
{
    finder *find = user;
    (void)now_ns;
    ls_event_loop_stop(find->loop);
}

/* ---- telling ---- */

static void fill_server(ls_json *json, const ls_found_server *server)
{
    char address[LS_ENDPOINT_NUMERIC_BYTES];
    const ls_discovery_answer *answer = &server->answer;
    ls_endpoint_format(&server->endpoint, address);
    ls_json_text(json, "address", address);
    ls_json_text(json, "simulation", answer->simulation);
    ls_json_number(json, "simulation_version", answer->version);
    ls_json_text(json, "state", ls_discovery_state_name(answer->state));
    ls_json_number(json, "matches", answer->matches);
    ls_json_number(json, "players", answer->players);
    ls_json_number(json, "seats", answer->seats);
    ls_json_number(json, "spectators", answer->spectators);
    ls_json_number(json, "spectators_max", answer->spectators_max);
    ls_json_number(json, "tick", answer->tick);
    ls_json_ms(json, "rtt_ms", server->rtt_ns);
    ls_json_number(json, "protocol_version", answer->protocol);
    ls_json_bool(json, "is_other_version", answer->protocol != LS_PROTOCOL_VERSION);
}

static void fill(ls_json *json, const void *report)
{
    const ls_discovery_search *search = report;
    ls_json *servers = ls_json_array(json, "servers");
    for (uint32_t i = 0; i < search->server_count; i++) {
        fill_server(ls_json_append(servers), &search->servers[i]);
    }
}

static void print_server(const ls_found_server *server)
{
    char address[LS_ENDPOINT_NUMERIC_BYTES];
    ls_text players = {{0}}, spectators = {{0}};
    const ls_discovery_answer *answer = &server->answer;
    ls_endpoint_format(&server->endpoint, address);
    ls_text_set(&players, "%" PRIu32 " of %" PRIu32, answer->players, answer->seats);
    ls_text_set(&spectators, "%" PRIu32 " of %" PRIu32, answer->spectators, answer->spectators_max);
    printf("%-21s  %-16s  %-7s  %7" PRIu32 "  %-10s  %-10s  %9" PRIu32 "  %6.1f  %8u%s\n", address,
           answer->simulation, ls_discovery_state_name(answer->state), answer->matches,
           players.bytes, spectators.bytes, answer->tick, (double)server->rtt_ns / LS_NS_PER_MS,
           answer->protocol,
           answer->protocol == LS_PROTOCOL_VERSION ? "" : "  another version: cannot be joined");
}

static void print_table(const ls_discovery_search *search)
{
    printf("%-21s  %-16s  %-7s  %7s  %-10s  %-10s  %9s  %6s  %8s\n", "server", "simulation",
           "state", "matches", "players", "spectators", "tick", "rtt ms", "protocol");
    for (uint32_t i = 0; i < search->server_count; i++) {
        print_server(&search->servers[i]);
    }
}

static ls_exit_code report(const finder *find)
{
    const ls_finder_config *config = find->config;
    const ls_discovery_search *search = &find->search;
    const ls_log *log = &find->console->log;
    ls_text why = {{0}};
    if (config->json_path && ls_json_save(fill, search, config->json_path, &why) != LS_OK) {
        ls_log_line(log, LS_LOG_ERROR, "%s", why.bytes);
        return LS_EXIT_ENVIRONMENT;
    }
    bool is_json_shown = config->json_path && config->json_path[0] == '-' && !config->json_path[1];
    if (search->server_count > 0 && !is_json_shown) {
        print_table(search);
    }
    ls_log_line(log, LS_LOG_DEBUG, "%" PRIu32 " queries sent, %" PRIu64 " datagrams ignored",
                find->sent, search->ignored);
    if (find->sent == 0) {
        ls_log_line(log, LS_LOG_ERROR, "no network to ask: no query could be sent");
    } else if (search->server_count == 0) {
        ls_log_line(log, LS_LOG_WARNING,
                    "no server has answered on UDP port %" PRIu32
                    "; name the server as HOST[:PORT] if you know it",
                    config->port);
    }
    return search->server_count > 0 ? LS_EXIT_CLEAN : LS_EXIT_ENVIRONMENT;
}

/* ---- building it ---- */

static ls_status open_finder(finder *find, ls_text *why)
{
    ls_endpoint only = {0};
    ls_status status = LS_OK;
    if (find->config->address) {
        status = ls_endpoint_resolve(find->config->address, 0, &only, why);
        find->address = ls_endpoint_ipv4(&only);
    }
    if (status == LS_OK) {
        status = ls_broadcast_socket_open(0, &find->descriptor, why);
    }
    if (status == LS_OK) {
        status = ls_event_loop_create(ls_allocator_heap(), &find->loop);
    }
    const ls_loop_handler answers = {on_answers, find};
    const ls_loop_handler period = {on_period, find};
    const ls_loop_handler stop = {on_stop, find};
    if (status == LS_OK) {
        status = ls_event_loop_watch(find->loop, find->descriptor, answers, NULL);
    }
    if (status == LS_OK) {
        status = ls_event_loop_add_timer(find->loop, QUERY_PERIOD_MS, period, NULL);
    }
    return status == LS_OK ? ls_event_loop_add_stop_signals(find->loop, stop) : status;
}

ls_exit_code ls_finder_run(const ls_finder_config *config, ls_console *console)
{
    finder find = {.config = config, .console = console, .descriptor = -1};
    ls_text why = {{0}};
    ls_status status = open_finder(&find, &why);
    ls_exit_code code = ls_exit_code_of(status);
    if (status == LS_OK) {
        ask(&find);
        ls_event_loop_run(find.loop);
        code = report(&find);
    } else {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s",
                    why.bytes[0] ? why.bytes : ls_status_text(status));
    }
    ls_event_loop_destroy(find.loop);
    if (find.descriptor >= 0) {
        ls_socket_close(find.descriptor);
    }
    return code;
}

enum {
    GAMES_MAX = 4096, /* as many as a relay lists at most */
    TURN_MS = 10,
};

typedef struct game_list {
    const char *relay;
    ls_datagram_socket *socket;
    ls_relay_search search;
    ls_relay_game games[GAMES_MAX];
    ls_relay_game scratch[GAMES_MAX];
} game_list;

/* ---- games: asking ---- */

static void turn(game_list *list, uint64_t now_ns)
{
    ls_udp_datagram came;
    ls_udp_receipt receipt = LS_UDP_RECEIVED;
    uint8_t bytes[LS_RELAY_PACKET_BYTES_MAX];
    ls_datagram_socket_begin_turn(list->socket, now_ns);
    while (receipt != LS_UDP_EMPTY) {
        receipt = ls_datagram_socket_receive(list->socket, &came);
        if (receipt == LS_UDP_RECEIVED) {
            ls_relay_search_receive(&list->search, came.bytes, came.size, came.arrived_ns);
        }
    }
    size_t size = ls_relay_search_advance(&list->search, now_ns, bytes);
    if (size > 0) {
        ls_datagram_socket_send(list->socket, NULL, bytes, size);
        (void)ls_datagram_socket_flush(list->socket);
    }
}

static void search(game_list *list)
{
    const ls_clock system_clock = ls_clock_system();
    ls_relay_search_begin(&list->search, list->games, GAMES_MAX, ls_clock_now_ns(&system_clock));
    while (list->search.state == LS_RELAY_SEARCHING) {
        turn(list, ls_clock_now_ns(&system_clock));
        if (list->search.due_ns > ls_clock_now_ns(&system_clock)) {
            (void)ls_socket_await(ls_datagram_socket_descriptor(list->socket),
                                  TURN_MS * LS_NS_PER_MS);
        }
    }
}

/* ---- telling ---- */

static int compare_games(const void *left, const void *right, const void *context)
{
    const ls_relay_game *a = left;
    const ls_relay_game *b = right;
    (void)context;
    return (int)a->ping_ms - (int)b->ping_ms;
}

/* Names come from anybody: they become texts that a terminal may be shown. */
static void tidy(game_list *list)
{
    for (uint32_t i = 0; i < list->search.count; i++) {
        (void)ls_player_name_clean(list->games[i].listing.name, LS_NAME_AS_GIVEN);
    }
    ls_stable_sort(list->games, list->search.count, sizeof list->games[0], list->scratch,
                   compare_games, NULL);
}

static void join_text(const game_list *list, const ls_relay_game *game, ls_text *out)
{
    char text[LS_RELAY_CODE_BYTES];
    ls_relay_game_code(game, text);
    ls_text_set(out, "%s@%s", text, list->relay);
}

static double ping_ms(const game_list *list, const ls_relay_game *game)
{
    return (double)list->search.rtt_ns / LS_NS_PER_MS + game->ping_ms;
}

static void fill_game(ls_json *json, const game_list *list, const ls_relay_game *game)
{
    const ls_relay_listing *listing = &game->listing;
    ls_text join = {{0}};
    join_text(list, game, &join);
    ls_json_text(json, "join", join.bytes);
    ls_relay_listing_fill_json(json, listing);
    ls_json_number(json, "protocol_version", listing->protocol);
    ls_json_bool(json, "is_other_version", listing->protocol != LS_PROTOCOL_VERSION);
    ls_json_number(json, "ping_ms", ping_ms(list, game));
}

static void fill_games(ls_json *json, const void *report)
{
    const game_list *list = report;
    ls_json *games = ls_json_array(json, "games");
    for (uint32_t i = 0; i < list->search.count; i++) {
        fill_game(ls_json_append(games), list, &list->games[i]);
    }
}

static void print_games(const game_list *list)
{
    printf("%-16s  %-16s  %-9s  %-12s  %-10s  %7s  %s\n", "game", "simulation", "players", "region",
           "version", "ping ms", "join with lockstep-client");
    for (uint32_t i = 0; i < list->search.count; i++) {
        const ls_relay_game *game = &list->games[i];
        const ls_relay_listing *listing = &game->listing;
        ls_text join = {{0}}, players = {{0}};
        join_text(list, game, &join);
        ls_text_set(&players, "%u of %u", listing->players, listing->seats);
        printf(
            "%-*s  %-16s  %-9s  %-12s  %-10s  %7.1f  %s%s%s\n", ls_player_name_width(listing->name),
            listing->name, listing->simulation, players.bytes, listing->region, listing->version,
            ping_ms(list, game), join.bytes, listing->needs_token ? "  needs a token" : "",
            listing->protocol == LS_PROTOCOL_VERSION ? "" : "  another version: cannot be joined");
    }
}

static ls_exit_code report_games(const game_list *list, const char *json_path, const ls_log *log)
{
    ls_text why = {{0}};
    if (json_path && ls_json_save(fill_games, list, json_path, &why) != LS_OK) {
        ls_log_line(log, LS_LOG_ERROR, "%s", why.bytes);
        return LS_EXIT_ENVIRONMENT;
    }
    bool is_json_shown = json_path && strcmp(json_path, "-") == 0;
    if (list->search.count > 0 && !is_json_shown) {
        print_games(list);
    }
    if (list->search.state == LS_RELAY_SEARCH_SILENT) {
        ls_log_line(log, LS_LOG_ERROR, "no relay answers at %s: check its address and the network",
                    list->relay);
    } else if (list->search.state == LS_RELAY_SEARCH_CUT) {
        ls_log_line(log, LS_LOG_WARNING, "the list of %s is not whole: the relay fell silent",
                    list->relay);
    } else if (list->search.count == 0) {
        ls_log_line(log, LS_LOG_WARNING, "no game is listed at %s", list->relay);
    }
    return list->search.count > 0 ? LS_EXIT_CLEAN : LS_EXIT_ENVIRONMENT;
}

ls_exit_code ls_game_list_run(const char *relay, const char *json_path, ls_console *console)
{
    static game_list list;
    ls_endpoint at;
    ls_text why = {{0}};
    list = (game_list){.relay = relay};
    ls_status status = ls_cipher_init();
    LS_THEN(status, ls_relay_find(relay, &at, &why));
    LS_THEN(status, ls_udp_socket_connect(&at, ls_allocator_heap(), &list.socket));
    if (status != LS_OK) {
        return ls_exit_report(&console->log, status, &why);
    }
    search(&list);
    tidy(&list);
    ls_datagram_socket_close(list.socket);
    return report_games(&list, json_path, &console->log);
}
