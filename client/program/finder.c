#include "lockstep/client/program/finder.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/secret.h"
#include "lockstep/common/program/json.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/common/system/broadcast_socket.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/protocol/discovery/discovery.h"
#include "lockstep/protocol/wire/message.h"

#include <inttypes.h>
#include <stdio.h>

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

/* ---- asking ---- */

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
