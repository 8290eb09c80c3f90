#include "lockstep/client/link/client_link.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/system/private_file.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/common/system/udp_socket.h"
#include "lockstep/protocol/relay/relay_packet.h"
#include "lockstep/protocol/sealed/invite.h"
#include "lockstep/protocol/udp/transport_udp.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Of one attempt to come back: while the network is away, ENet asks after 0.5, 1.5 and 3.5 s. */
#define ATTEMPT_NS (5 * LS_NS_PER_SECOND)
/* Of one attempt where there are other addresses. */
#define ATTEMPT_OF_SEVERAL_NS (2 * LS_NS_PER_SECOND)

/* Before the first connection: between two attempts, and between two lines that say so. */
#define CONNECT_PAUSE_NS (LS_NS_PER_SECOND / 4)
#define CONNECT_LINE_NS LS_NS_PER_SECOND

/* So long after a reliable message packets do not wait. */
#define PROMPT_NS LS_NS_PER_SECOND

struct ls_client_link {
    ls_client_link_config config;
    ls_transport *transport; /* NULL until an address of the server could be reached */
    ls_relay_client *relay;  /* below it, when it goes by a code; else NULL */
    bool was_direct;         /* the way that the log has, if any */
    bool has_logged_way;
    ls_text unreached;    /* why that was not so at the last attempt; empty: it was */
    bool is_in_transport; /* the call comes from the transport, which must stay */
    uint32_t at;          /* the address that the transport is for */
    uint64_t match;       /* see set_match */
    uint32_t next;        /* the one to try next */
    bool is_round_final;  /* every address of this round refused for good */
    ls_sealed_refusal refusal;
    ls_peer_id server;
    bool has_connected;
    bool lets_wait;                    /* packets do not wake the loop */
    uint64_t told_ns;                  /* when the session was told something last */
    uint64_t prompt_ns;                /* until then packets do not wait */
    bool is_connecting;                /* anew */
    bool was_turned_away;              /* by a match that may let it in later, or another may */
    uint64_t connect_end_ns;           /* when the first connection is given up */
    uint64_t connect_again_ns;         /* when to try once more to make it; UINT64_MAX: not */
    uint64_t connect_line_ns;          /* when to say next that nobody answers */
    ls_transport_traffic traffic;      /* of this connection */
    ls_transport_traffic past_traffic; /* of those before it */
};

/* ---- opening ---- */

static void on_ready(void *user, uint64_t now_ns)
{
    ls_client_link *link = user;
    link->is_in_transport = true;
    link->config.on_ready.call(link->config.on_ready.user, now_ns);
    link->is_in_transport = false;
}

static uint64_t attempt_ns(const ls_client_link *link)
{
    bool has_others = !link->has_connected && link->config.place->server_count > 1;
    return has_others ? ATTEMPT_OF_SEVERAL_NS : ATTEMPT_NS;
}

ls_status ls_client_link_begin_meeting(const ls_client_place *to, uint32_t at,
                                       ls_relay_client **out, ls_text *why)
{
    ls_relay_client_config config = {.has_server_key = to->sealed.has_server_key,
                                     .avoids_direct = to->avoids_direct};
    ls_datagram_socket *inner = NULL;
    const ls_endpoint any = {.port = 0};
    const char *place = NULL;
    ls_status status = ls_relay_code_parse(to->servers[at], &config.code, &place, why);
    LS_THEN(status, ls_relay_find(place, &config.relay, why));
    LS_THEN(status, ls_cipher_init());
    LS_THEN(status, ls_udp_socket_listen(&any, ls_allocator_heap(), &inner));
    LS_THEN(status, ls_relay_client_create(&config, inner, ls_allocator_heap(), out));
    return status;
}

/* Reaches a server by its code, directly or through the relay. */
static ls_status meet(ls_client_link *link, uint32_t at, ls_relay_client **out, ls_text *why)
{
    const ls_clock clock = ls_clock_system();
    ls_relay_client *relay = link->config.met;
    link->config.met = NULL;
    if (relay) {
        *out = relay;
        return LS_OK;
    }
    ls_status status = ls_client_link_begin_meeting(link->config.place, at, &relay, why);
    if (status != LS_OK) {
        return status;
    }
    status = ls_relay_client_meet(relay, &clock, why);
    if (status != LS_OK) {
        ls_datagram_socket_close(ls_relay_client_socket(relay));
        return status;
    }
    *out = relay;
    return LS_OK;
}

/* `relay` is what the transport stands on, or NULL. */
static ls_status connect_to(ls_client_link *link, uint32_t at,
                            ls_transport_udp_client_config *network, ls_transport **out,
                            ls_relay_client **relay, ls_text *why)
{
    ls_transport_udp_ground ground = {.clock = ls_clock_system()};
    network->server = link->config.place->servers[at];
    *relay = NULL;
    if (!ls_relay_code_is_meant(network->server)) {
        return ls_transport_udp_connect(network, ls_allocator_heap(), out, why);
    }
    ls_status status = meet(link, at, relay, why);
    if (status != LS_OK) {
        return status;
    }
    const uint8_t *key = ls_relay_client_server_key(*relay);
    if (key) {
        network->sealed.has_server_key = true;
        memcpy(network->sealed.server_key, key, sizeof network->sealed.server_key);
    }
    ground.socket = ls_relay_client_socket(*relay);
    return ls_transport_udp_connect_on(&ground, ls_relay_client_server(*relay), network,
                                       ls_allocator_heap(), out);
}

/* Begins to connect to an address with a transport of its own; one that was there before goes. */
static ls_status open_transport(ls_client_link *link, uint32_t at, ls_text *why)
{
    ls_transport_udp_client_config network = ls_transport_udp_client_config_default();
    ls_transport *made = NULL;
    ls_relay_client *relay = NULL;
    network.sealed = link->config.place->sealed;
    network.connect_timeout_ns = attempt_ns(link);
    ls_status status = connect_to(link, at, &network, &made, &relay, why);
    ls_cipher_wipe(&network.sealed, sizeof network.sealed);
    if (status == LS_OK) {
        ls_loop_handler ready = {on_ready, link};
        status = ls_transport_udp_attach(made, link->config.loop, ready);
    }
    if (status != LS_OK) {
        ls_transport_destroy(made);
        return status;
    }
    ls_transport_destroy(link->transport);
    ls_transport_udp_set_match(made, link->match);
    link->transport = made;
    link->relay = relay;
    link->has_logged_way = false;
    link->unreached.bytes[0] = '\0';
    link->lets_wait = false;
    link->at = at;
    link->next = at;
    return LS_OK;
}

ls_status ls_client_link_open(const ls_client_link_config *config, ls_client_link **out,
                              ls_text *why)
{
    uint64_t now_ns = ls_event_loop_now_ns(config->loop);
    ls_client_link *link = ls_allocate(ls_allocator_heap(), sizeof *link);
    if (!link) {
        return LS_NO_MEMORY;
    }
    *link = (ls_client_link){.config = *config,
                             .is_round_final = true,
                             .connect_end_ns = now_ns + config->connect_wait_ms * LS_NS_PER_MS,
                             .connect_again_ns = UINT64_MAX,
                             .connect_line_ns = now_ns + CONNECT_LINE_NS};
    ls_status status = LS_NOT_FOUND;
    ls_text reason = {{0}};
    for (uint32_t at = 0; status != LS_OK && at < config->place->server_count; at++) {
        status = open_transport(link, at, &reason);
    }
    bool may_wait = config->connect_wait_ms > 0 && (status == LS_IO || status == LS_TIMED_OUT);
    if (status != LS_OK && !may_wait) {
        ls_client_link_close(link);
        return ls_fail(status, why, "%s", reason.bytes);
    }
    if (status != LS_OK) { /* the network of this machine may not be up yet */
        link->unreached = reason;
        link->connect_again_ns = now_ns + CONNECT_PAUSE_NS;
    }
    *out = link;
    return LS_OK;
}

void ls_client_link_close(ls_client_link *link)
{
    if (link) {
        ls_transport_destroy(link->transport);
        ls_release(ls_allocator_heap(), link);
    }
}

/* ---- sending ---- */

LS_TICK_CODE static void send_packet(void *user, ls_peer_id peer, ls_channel channel,
                                     const uint8_t *bytes, size_t size)
{
    const ls_client_link *link = user;
    ls_transport_send(link->transport, peer, channel, bytes, size);
}

static void disconnect(void *user, ls_peer_id peer)
{
    const ls_client_link *link = user;
    ls_transport_disconnect(link->transport, peer);
}

ls_packet_sink ls_client_link_sink(ls_client_link *link)
{
    return (ls_packet_sink){.send = send_packet, .disconnect = disconnect, .user = link};
}

void ls_client_link_flush(ls_client_link *link)
{
    if (link->transport) {
        ls_transport_flush(link->transport);
    }
}

/* ---- connecting ---- */

void ls_client_link_set_match(ls_client_link *link, uint64_t match)
{
    link->match = match;
    if (link->transport) {
        ls_transport_udp_set_match(link->transport, match);
    }
}

void ls_client_link_return_to(ls_client_link *link, uint64_t match, uint32_t wait_ms)
{
    uint64_t end_ns = ls_event_loop_now_ns(link->config.loop) + wait_ms * LS_NS_PER_MS;
    ls_client_link_set_match(link, match);
    link->connect_end_ns = match != 0 ? LS_MAX(link->connect_end_ns, end_ns) : link->connect_end_ns;
}

static void add_traffic(ls_transport_traffic *sum, const ls_transport_traffic *more)
{
    sum->bytes_sent += more->bytes_sent;
    sum->bytes_received += more->bytes_received;
    sum->packets_sent += more->packets_sent;
    sum->packets_received += more->packets_received;
}

/* The server will say the same whenever it is asked. */
static bool is_final(ls_sealed_refusal refusal)
{
    return refusal == LS_SEALED_REFUSAL_CREDENTIAL || refusal == LS_SEALED_REFUSAL_KEY_WITHHELD ||
           refusal == LS_SEALED_REFUSAL_VERSION;
}

/* The server may still be starting, or the network may have lost every request; or another address
 * of its may be the one. */
static bool may_try_again(ls_client_link *link, const ls_session *session, uint64_t now_ns)
{
    link->connect_again_ns = UINT64_MAX;
    if (link->has_connected || ls_session_state_of(session) != LS_SESSION_CONNECTING) {
        return false;
    }
    bool is_round_over = link->at + 1 >= link->config.place->server_count;
    link->is_round_final = link->is_round_final && is_final(link->refusal);
    if (is_round_over &&
        (link->is_round_final || now_ns + CONNECT_PAUSE_NS >= link->connect_end_ns)) {
        return false;
    }
    link->next = is_round_over ? 0 : link->at + 1;
    link->is_round_final = link->is_round_final || is_round_over;
    link->connect_again_ns = is_round_over ? now_ns + CONNECT_PAUSE_NS : now_ns;
    return true;
}

/* To another address, which needs another socket. */
static void try_next(ls_client_link *link, ls_session *session, uint64_t now_ns)
{
    uint32_t next = link->next;
    link->connect_again_ns = UINT64_MAX;
    ls_text why = {{0}};
    if (open_transport(link, next, &why) == LS_OK) {
        link->is_connecting = true;
        return;
    }
    link->unreached = why;
    link->at = next;
    link->refusal = LS_SEALED_REFUSAL_NONE;
    if (!may_try_again(link, session, now_ns)) {
        ls_session_disconnected(session, LS_UNREACHABLE, now_ns);
    }
}

/* One attempt at a time; how it went is told by the transport. */
static void reconnect(ls_client_link *link, ls_session *session, uint64_t now_ns)
{
    uint64_t due_ns = LS_MIN(ls_session_reconnect_ns(session), link->connect_again_ns);
    bool is_anew = !link->transport || (link->was_turned_away && !link->has_connected);
    bool is_elsewhere = link->next != link->at || is_anew;
    if (link->is_connecting || now_ns < due_ns || (is_elsewhere && link->is_in_transport)) {
        return;
    }
    link->connect_again_ns = UINT64_MAX;
    add_traffic(&link->past_traffic, &link->traffic);
    link->traffic = (ls_transport_traffic){0};
    link->server = 0;
    if (is_elsewhere) {
        try_next(link, session, now_ns);
        return;
    }
    ls_status status = ls_transport_udp_reconnect(link->transport, attempt_ns(link));
    link->is_connecting = status == LS_OK;
    if (status != LS_OK) {
        ls_session_disconnected(session, status, now_ns);
    }
}

static void log_connecting(ls_client_link *link, const ls_session *session, const ls_log *log,
                           uint64_t now_ns)
{
    if (link->has_connected || now_ns < link->connect_line_ns ||
        ls_session_state_of(session) != LS_SESSION_CONNECTING) {
        return;
    }
    link->connect_line_ns = now_ns + CONNECT_LINE_NS;
    uint64_t left_ns = link->connect_end_ns > now_ns ? link->connect_end_ns - now_ns : 0;
    uint64_t left_s = (left_ns + LS_NS_PER_SECOND - 1) / LS_NS_PER_SECOND;
    if (link->was_turned_away) {
        ls_log_line(log, LS_LOG_INFO,
                    "%s has not let this client in yet; trying for %" PRIu64 " s more",
                    ls_client_link_server(link), left_s);
        return;
    }
    if (link->unreached.bytes[0] != '\0') {
        ls_log_line(log, LS_LOG_INFO, "%s; trying for %" PRIu64 " s more", link->unreached.bytes,
                    left_s);
        return;
    }
    if (link->refusal != LS_SEALED_REFUSAL_NONE) {
        ls_log_line(log, LS_LOG_INFO, "%s: %s; trying for %" PRIu64 " s more",
                    ls_client_link_server(link), ls_client_link_failure(link), left_s);
        return;
    }
    ls_log_line(log, LS_LOG_INFO, "no server answers at %s yet; trying for %" PRIu64 " s more",
                ls_client_link_server(link), left_s);
}

/* A way may change while a match runs. */
static void log_way(ls_client_link *link, const ls_log *log)
{
    bool is_direct = ls_relay_client_is_direct(link->relay);
    if (link->has_logged_way && is_direct == link->was_direct) {
        return;
    }
    link->has_logged_way = true;
    link->was_direct = is_direct;
    ls_log_line(log, LS_LOG_INFO, "%s: %s", ls_client_link_server(link),
                is_direct ? "the way to the server is direct" : "the relay carries");
}

static void note_turned_away(ls_client_link *link, const ls_session *session)
{
    if (link->has_connected && ls_session_state_of(session) == LS_SESSION_CONNECTING) {
        link->was_turned_away = true;
        link->has_connected = false;
    }
}

/* Of a connection that the session has given up it wants to hear nothing. */
static void on_disconnect(ls_client_link *link, ls_session *session,
                          const ls_transport_event *event, uint64_t now_ns)
{
    bool is_given_up = !link->is_connecting && ls_session_reconnect_ns(session) != UINT64_MAX;
    note_turned_away(link, session);
    link->server = 0;
    link->is_connecting = false;
    link->refusal = ls_transport_udp_refusal(link->transport);
    if (!is_given_up && !may_try_again(link, session, now_ns)) {
        ls_session_receive_event(session, event, now_ns);
    }
}

LS_TICK_CODE static void receive_event(ls_client_link *link, ls_session *session,
                                       const ls_transport_event *event, uint64_t now_ns)
{
    link->told_ns = now_ns;
    if (event->kind == LS_TRANSPORT_DISCONNECTED) {
        on_disconnect(link, session, event, now_ns);
        return;
    }
    if (event->kind == LS_TRANSPORT_CONNECTED) {
        link->server = event->peer;
        link->has_connected = true;
        link->is_connecting = false;
    } else if (event->channel == LS_CHANNEL_RELIABLE) {
        link->prompt_ns = now_ns + PROMPT_NS;
    }
    ls_session_receive_event(session, event, now_ns);
    note_turned_away(link, session);
}

void ls_client_link_receive(ls_client_link *link, ls_session *session, uint64_t now_ns)
{
    ls_transport_event event;
    while (link->transport && ls_transport_next_event(link->transport, &event)) {
        receive_event(link, session, &event, now_ns);
    }
}

/* ---- packets that wait ---- */

/* For a session time never goes back. */
static uint64_t moment_of(const ls_client_link *link, const ls_transport_event *event,
                          uint64_t now_ns)
{
    bool has_waited = event->kind == LS_TRANSPORT_RECEIVED && event->arrived_ns < now_ns;
    return has_waited ? LS_MAX(event->arrived_ns, link->told_ns) : now_ns;
}

void ls_client_link_receive_waiting(ls_client_link *link, ls_session *session, uint64_t now_ns)
{
    ls_transport_event event;
    if (!link->transport) {
        return;
    }
    ls_transport_udp_service(link->transport);
    while (ls_transport_next_event(link->transport, &event)) {
        receive_event(link, session, &event, moment_of(link, &event, now_ns));
    }
}

void ls_client_link_let_wait(ls_client_link *link, bool may_wait, uint64_t now_ns)
{
    bool lets_wait = link->transport && may_wait && now_ns >= link->prompt_ns &&
                     !ls_transport_udp_has_more(link->transport) &&
                     ls_transport_udp_next_ns(link->transport) == UINT64_MAX;
    if (lets_wait != link->lets_wait) {
        link->lets_wait = lets_wait;
        ls_transport_udp_set_eager(link->transport, !lets_wait);
    }
}

LS_TICK_CODE void ls_client_link_advance(ls_client_link *link, ls_session *session,
                                         const ls_log *log, uint64_t now_ns)
{
    link->told_ns = now_ns;
    note_turned_away(link, session);
    reconnect(link, session, now_ns);
    log_connecting(link, session, log, now_ns);
    if (link->relay) {
        ls_relay_client_advance(link->relay, now_ns);
        log_way(link, log);
    }
    if (link->server != 0) {
        link->traffic = ls_transport_traffic_of(link->transport, link->server);
    }
}

uint64_t ls_client_link_next_ns(const ls_client_link *link)
{
    return link->has_connected ? UINT64_MAX : LS_MIN(link->connect_again_ns, link->connect_line_ns);
}

/* ---- questions ---- */

const char *ls_client_link_server(const ls_client_link *link)
{
    return link->config.place->servers[link->at];
}

bool ls_client_link_has_connected(const ls_client_link *link)
{
    return link->has_connected;
}

/* Why a client did not get in, and what its player can do about it. NONE: there was no answer. */
static const char *refusal_text(ls_sealed_refusal refusal, const ls_sealed_client_config *sealed)
{
    switch (refusal) {
    case LS_SEALED_REFUSAL_FULL:
        return "the server is full: it has no room for another connection, or none for newcomers: "
               "private rooms take connect tokens that name them";
    case LS_SEALED_REFUSAL_CREDENTIAL:
        return "the server lets nobody in without its whole invite or a connect token: ask whoever "
               "runs it";
    case LS_SEALED_REFUSAL_TOO_MANY:
        return "the server has too many connections from your address";
    case LS_SEALED_REFUSAL_KEY_WITHHELD:
        return "the server gives its key to nobody who has only the address: ask for its invite, "
               "or start it with --insecure in a network that you trust";
    case LS_SEALED_REFUSAL_VERSION:
        return "the server speaks another version of sealed datagrams: use programs of the same "
               "version";
    case LS_SEALED_REFUSAL_PATH:
        return "the server is there, but the longer datagrams of the handshake do not get through: "
               "the path has to take packets of 1,228 bytes (IPv6: 1,248), and its MTU, of a VPN "
               "or "
               "a tunnel perhaps, is below that";
    default:
        return sealed->has_token
                   ? "no server answers there, or none takes this token: it may have been used, "
                     "have expired, or be for another server; the server's log says which"
               : sealed->has_server_key
                   ? "no server answers there; check the address, the port and the network, or ask "
                     "for a new invite: a server that was started again may have another key"
                   : "no server answers there; check the address, the port and the network";
    }
}

const char *ls_client_link_failure(const ls_client_link *link)
{
    return link->unreached.bytes[0] != '\0'
               ? link->unreached.bytes
               : refusal_text(link->refusal, &link->config.place->sealed);
}

ls_transport_traffic ls_client_link_traffic(const ls_client_link *link)
{
    ls_transport_traffic sum = link->past_traffic;
    add_traffic(&sum, &link->traffic);
    return sum;
}

/* ---- place ---- */

static ls_status read_invite(const char *word, ls_client_place *out, ls_text *why)
{
    ls_invite invite;
    ls_status status = ls_invite_parse(word, &invite, why);
    if (status != LS_OK) {
        return status;
    }
    char place[LS_ENDPOINT_JOINED_BYTES];
    const char *at = strchr(invite.host, '@');
    const char *host = at ? at + 1 : invite.host;
    out->server_count = 1;
    ls_endpoint_join(host, invite.port, place);
    int size = snprintf(out->servers[0], sizeof out->servers[0], "%.*s%s",
                        (int)(host - invite.host), invite.host, place);
    LS_ASSERT(size > 0 && (size_t)size < sizeof out->servers[0]); /* as long as without a code */
    memcpy(out->room, invite.room, sizeof out->room);
    ls_sealed_client_config_set_invite(&out->sealed, &invite);
    ls_cipher_wipe(&invite, sizeof invite);
    return LS_OK;
}

static ls_status read_word(const ls_client_place_source *from, ls_client_place *out, ls_text *why)
{
    if (ls_invite_is_meant(from->word)) {
        return read_invite(from->word, out, why);
    }
    if (ls_relay_code_is_meant(from->word)) {
        ls_relay_code code;
        const char *relay = NULL;
        out->server_count = 1;
        snprintf(out->servers[0], sizeof out->servers[0], "%s", from->word);
        return ls_relay_code_parse(from->word, &code, &relay, why);
    }
    /* A token proves the server as well. */
    bool is_trusted = from->is_insecure || from->token_path;
    ls_endpoint endpoint; /* resolved here only where it decides: the transport does it again */
    ls_status status = is_trusted ? LS_OK : ls_endpoint_parse(from->word, &endpoint, why);
    if (status == LS_OK && !is_trusted && !ls_endpoint_is_loopback(&endpoint)) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "%s is an address, which does not prove who answers there: give the invite "
                       "that the server prints (lockstep://...), or --insecure, on both sides, in "
                       "a network that you trust",
                       from->word);
    }
    out->server_count = 1;
    snprintf(out->servers[0], sizeof out->servers[0], "%s", from->word);
    return status;
}

static void apply_token(const ls_token *token, ls_client_place *out)
{
    ls_sealed_client_config *sealed = &out->sealed;
    sealed->has_secret = false;
    ls_cipher_wipe(sealed->secret, sizeof sealed->secret);
    sealed->has_token = true;
    ls_token_write_envelope(token, sealed->token);
    sealed->token_keys = token->keys;
    if (out->server_count > 0) {
        return;
    }
    out->server_count = token->list.count;
    for (uint32_t i = 0; i < token->list.count; i++) {
        char text[LS_ENDPOINT_NUMERIC_BYTES];
        ls_endpoint_format(&token->list.servers[i], text);
        memcpy(out->servers[i], text, sizeof text);
    }
}

static ls_status read_token(const ls_client_place_source *from, ls_client_place *out, ls_text *why)
{
    uint8_t bytes[LS_TOKEN_BYTES];
    ls_token token;
    size_t size = 0;
    ls_status status = ls_private_file_read(from->token_path, bytes, sizeof bytes, &size, why);
    if (status != LS_OK) {
        return status == LS_NOT_FOUND
                   ? ls_fail(status, why, "there is no token %s", from->token_path)
                   : status;
    }
    ls_token_refusal refusal = ls_token_read(bytes, size, from->now_s, &token);
    if (refusal == LS_TOKEN_REFUSAL_NONE || refusal == LS_TOKEN_REFUSAL_EXPIRED) {
        out->is_token_expired = refusal == LS_TOKEN_REFUSAL_EXPIRED;
        apply_token(&token, out);
        ls_token_wipe(&token, sizeof token);
    } else {
        status = ls_fail(LS_BAD_ARGUMENT, why, "%s: %s", from->token_path,
                         ls_token_refusal_text(refusal));
    }
    ls_token_wipe(bytes, sizeof bytes);
    return status;
}

static void name_servers(ls_client_place *place)
{
    size_t size = 0;
    for (uint32_t i = 0; i < place->server_count && size < sizeof place->name; i++) {
        size += (size_t)snprintf(place->name + size, sizeof place->name - size, "%s%s",
                                 i > 0 ? "," : "", place->servers[i]);
    }
}

/* A server that moves to another address keeps its key, and the seats with it. */
static void identify(ls_client_place *place)
{
    if (!place->sealed.has_server_key) {
        memcpy(place->identity, place->name, sizeof place->identity);
        return;
    }
    char digits[2 * sizeof place->sealed.server_key + 1];
    ls_hex_write(digits, place->sealed.server_key, sizeof place->sealed.server_key);
    snprintf(place->identity, sizeof place->identity, "key %s", digits);
}

ls_status ls_client_place_read(const ls_client_place_source *from, ls_client_place *out,
                               ls_text *why)
{
    *out = (ls_client_place){.avoids_direct = from->avoids_direct};
    ls_status status = from->word ? read_word(from, out, why) : LS_OK;
    if (status == LS_OK && from->token_path) {
        status = read_token(from, out, why);
    }
    name_servers(out);
    identify(out);
    return status;
}
