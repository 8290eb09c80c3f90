#include "lockstep/server/relay/relay_options.h"

#include "lockstep/common/program/json.h"
#include "lockstep/common/program/key_file.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/common/system/output.h"
#include "lockstep/common/system/udp_socket.h"
#include "lockstep/protocol/relay/relay_keys.h"
#include "lockstep/server/directory/directory_http.h"
#include "lockstep/server/door/door_process.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
enum {
    EXPIRE_MS = 1000,
    PER_TURN_MAX = 512, /* before the loop looks at timers and signals */
};

typedef struct relay_program {
    const ls_relay_program_config *config;
    ls_console *console;
    ls_event_loop *loop;
    ls_datagram_socket *socket;
    ls_relay_service *relay;
    ls_directory_http *http; /* NULL: the list is served to nobody by HTTP */
    ls_door *door;           /* NULL: there is none for pages */
    ls_door_socket *door_socket;
    uint32_t waiting;
    uint8_t bytes[LS_UDP_WAITING_MAX][LS_UDP_DATAGRAM_BYTES_MAX];
    uint64_t unsent;
} relay_program;

/* ---- datagrams ---- */

static void flush(relay_program *program)
{
    if (program->waiting > 0) {
        ls_udp_sent sent = ls_datagram_socket_flush(program->socket);
        for (uint64_t lost = sent.lost; lost != 0; lost &= lost - 1) {
            program->unsent++;
        }
        program->waiting = 0;
    }
}

/* Many leave with one call of the system, so each is kept until then. */
static void send_later(void *user, const ls_endpoint *to, const uint8_t *bytes, size_t size)
{
    relay_program *program = user;
    if (program->waiting == LS_UDP_WAITING_MAX) {
        flush(program);
    }
    uint8_t *kept = program->bytes[program->waiting++];
    memcpy(kept, bytes, size);
    ls_datagram_socket_send(program->socket, to, kept, size);
}

static void on_datagrams(void *user, uint64_t now_ns)
{
    relay_program *program = user;
    ls_udp_datagram came;
    ls_udp_receipt receipt = LS_UDP_RECEIVED;
    ls_datagram_socket_begin_turn(program->socket, now_ns);
    for (uint32_t i = 0; receipt != LS_UDP_EMPTY &&
                         (i < PER_TURN_MAX || ls_datagram_socket_has_received(program->socket));
         i++) {
        receipt = ls_datagram_socket_receive(program->socket, &came);
        if (receipt == LS_UDP_RECEIVED) {
            ls_relay_receive(program->relay, &came.from, came.bytes, came.size, now_ns);
        }
    }
    flush(program);
}

static void on_timer(void *user, uint64_t now_ns)
{
    relay_program *program = user;
    ls_relay_expire(program->relay, now_ns);
    ls_console_flush(program->console);
}

static void on_signal(void *user, uint64_t now_ns)
{
    relay_program *program = user;
    (void)now_ns;
    ls_event_loop_stop(program->loop);
}

/* ---- the run ---- */

static ls_status read_key(const ls_relay_program_config *config, ls_relay_config *relay,
                          ls_text *why)
{
    ls_token_key key;
    if (!config->key_path) {
        return LS_OK;
    }
    ls_status status = ls_token_key_read(config->key_path, &key, why);
    if (status == LS_OK) {
        relay->has_access_key = true;
        ls_relay_access_key(key.keys[0], relay->access_key);
    }
    ls_cipher_wipe(&key, sizeof key);
    return status;
}

static ls_status open_socket(relay_program *program, ls_text *why)
{
    const ls_relay_program_config *config = program->config;
    ls_endpoint at;
    ls_status status = ls_endpoint_resolve(config->bind_host, (uint16_t)config->port, &at, why);
    if (status != LS_OK) {
        return status;
    }
    status = ls_udp_socket_listen(&at, ls_allocator_heap(), &program->socket);
    if (status != LS_OK) {
        return ls_fail(status, why, "cannot listen on %s, UDP port %" PRIu32 ": %s",
                       config->bind_host, config->port,
                       status == LS_IO ? strerror(errno) : ls_status_text(status));
    }
    program->socket = ls_door_socket_around(program->door_socket, program->socket);
    return LS_OK;
}

/* Players in pages come by the relay's own socket, each with an address of its own. */
static ls_status open_door(relay_program *program, ls_relay_config *relay, ls_text *why)
{
    const ls_relay_program_config *config = program->config;
    const ls_door_config door = {.program = "lockstep-relay",
                                 .is_relay = true,
                                 .place = config->web,
                                 .files = config->web_files,
                                 .hosts = config->web_hosts,
                                 .certificate = config->web_certificate,
                                 .certificate_key = config->web_key,
                                 .bind_host = config->bind_host,
                                 .log_format = (uint32_t)config->log_format,
                                 .log = &program->console->log};
    if (!config->web) {
        return LS_OK;
    }
    ls_status status = ls_door_open(&door, &program->door, why);
    if (status == LS_OK) {
        relay->page = (ls_relay_page){.port = ls_door_endpoint(program->door).port,
                                      .is_sealed = config->web_certificate != NULL};
        status = ls_door_socket_create(ls_door_link_of(program->door), ls_allocator_heap(),
                                       &program->door_socket);
    }
    return status;
}

static ls_status start_door(relay_program *program, ls_text *why)
{
    const char *port_file = program->config->web_port_file;
    if (!program->door) {
        return LS_OK;
    }
    ls_status status =
        ls_door_start(program->door, ls_datagram_socket_port(program->socket), program->loop, why);
    return status == LS_OK && port_file
               ? ls_output_write_port(port_file, ls_door_endpoint(program->door).port, why)
               : status;
}

static ls_status add_handlers(relay_program *program)
{
    ls_loop_handler datagrams = {on_datagrams, program};
    ls_loop_handler timer = {on_timer, program};
    ls_loop_handler signal_handler = {on_signal, program};
    int descriptor = ls_datagram_socket_descriptor(program->socket);
    ls_status status = ls_event_loop_watch(program->loop, descriptor, datagrams, NULL);
    LS_THEN(status, ls_event_loop_add_timer(program->loop, EXPIRE_MS, timer, NULL));
    LS_THEN(status, ls_event_loop_add_stop_signals(program->loop, signal_handler));
    return status;
}

static ls_status open_http(relay_program *program, ls_text *why)
{
    const ls_relay_program_config *config = program->config;
    if (!config->http) {
        return LS_OK;
    }
    ls_status status = ls_directory_http_open(
        config->http, ls_datagram_socket_port(program->socket), ls_relay_directory(program->relay),
        program->loop, &program->http, why);
    return status == LS_OK && config->http_port_file
               ? ls_output_write_port(config->http_port_file, ls_directory_http_port(program->http),
                                      why)
               : status;
}

static ls_status open_all(relay_program *program, ls_text *why)
{
    ls_relay_config relay = program->config->relay;
    const ls_relay_sink sink = {send_later, program};
    ls_status status = ls_cipher_init();
    relay.log = &program->console->log;
    LS_THEN(status, read_key(program->config, &relay, why));
    LS_THEN(status, ls_event_loop_create(ls_allocator_heap(), &program->loop));
    LS_THEN(status, open_door(program, &relay, why));
    LS_THEN(status, open_socket(program, why));
    LS_THEN(status, ls_relay_create(&relay, &sink, ls_allocator_heap(), &program->relay));
    LS_THEN(status, add_handlers(program));
    LS_THEN(status, open_http(program, why));
    LS_THEN(status, start_door(program, why));
    if (status == LS_OK && program->config->port_file) {
        status = ls_output_write_port(program->config->port_file,
                                      ls_datagram_socket_port(program->socket), why);
    }
    ls_cipher_wipe(&relay, sizeof relay);
    return status;
}

static void fill_json(ls_json *json, const void *of)
{
#define FIELD(member) LS_JSON_FIELD(ls_relay_counts, member)
    static const ls_json_field fields[] = {
        FIELD(hosts),   FIELD(players),       FIELD(introduced), FIELD(went_directly),
        FIELD(carried), FIELD(carried_bytes), FIELD(limited),    FIELD(refused)};
#undef FIELD
    const relay_program *program = of;
    ls_json_text(json, "program", "lockstep-relay");
    LS_JSON_ADD(json, fields, ls_relay_counts_of(program->relay));
    ls_json_number(json, "games", ls_directory_count(ls_relay_directory(program->relay)));
    ls_json_number(json, "unsent", (double)program->unsent);
}

static ls_exit_code run(relay_program *program)
{
    const char *json_path = program->config->json_path;
    const ls_log *log = &program->console->log;
    char place[LS_ENDPOINT_JOINED_BYTES];
    ls_text why = {{0}};
    ls_endpoint_join(program->config->bind_host, ls_datagram_socket_port(program->socket), place);
    ls_log_line(log, LS_LOG_INFO, "listening on %s", place);
    if (program->http) {
        const char *http = program->config->http;
        ls_log_line(log, LS_LOG_INFO, "a page with the list of games: http://%.*s:%u/",
                    (int)(strrchr(http, ':') - http), http, ls_directory_http_port(program->http));
    }
    if (program->door) {
        ls_door_log(program->door, "", false);
    }
    ls_event_loop_run(program->loop);
    const ls_relay_counts *counts = ls_relay_counts_of(program->relay);
    ls_log_line(log, LS_LOG_INFO,
                "stopped: %" PRIu64 " players introduced, %" PRIu64 " went directly, %" PRIu64
                " datagrams carried, %" PRIu64 " dropped by a limit",
                counts->introduced, counts->went_directly, counts->carried, counts->limited);
    return ls_exit_report(
        log, json_path ? ls_json_save(fill_json, program, json_path, &why) : LS_OK, &why);
}

ls_exit_code ls_relay_program_run(const ls_relay_program_config *config, ls_console *console)
{
    static relay_program program;
    ls_text why = {{0}};
    program = (relay_program){.config = config, .console = console};
    ls_status status = config->json_path ? ls_output_check_path(config->json_path, &why) : LS_OK;
    LS_THEN(status, open_all(&program, &why));
    ls_exit_code code =
        status == LS_OK ? run(&program) : ls_exit_report(&console->log, status, &why);
    ls_directory_http_close(program.http);
    ls_door_close(program.door);
    ls_event_loop_destroy(program.loop);
    ls_relay_destroy(program.relay);
    ls_datagram_socket_close(program.socket);
    ls_door_socket_destroy(program.door_socket);
    return code;
}
