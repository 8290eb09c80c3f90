#include "lockstep/server/host/host.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/server/host/token_passes.h"

#include <string.h>

/* While matches run, packets are taken before each tick is closed, and at least so often: the
 * transport's own repeats and acknowledgements wait for it. */
#define TAKING_NS (20 * LS_NS_PER_MS)

#define HOLDER_SEED                                                                                \
    UINT64_C(0x746f6b656e) /* of the numbers that owners of tokens have as origins */

/* A seat's connection and what it has carried. */
typedef struct host_seat {
    ls_peer_id peer; /* 0: the connection is gone */
    ls_transport_traffic traffic;
} host_seat;

/* The seats of one match. */
typedef struct host_seats {
    uint32_t count;
    uint32_t places; /* of players and spectators */
    host_seat *seats;
} host_seats;

struct ls_host {
    ls_host_config config;
    const ls_allocator *allocator;
    ls_event_loop *loop;
    ls_transport *transport;
    ls_match_table *table;
    ls_loop_source *alarm;
    uint64_t alarm_ns; /* what it is set to; UINT64_MAX: not set */
    bool is_eager;     /* packets are taken as they come */
    bool is_frozen;
    uint32_t places;   /* of the matches that are open */
    host_seats *seats; /* by the numbers of their matches */
};

_Static_assert(LS_TRANSPORT_UDP_COMING_MAX <= LS_MATCH_TABLE_PACKETS_MAX,
               "the packets that come are asked for together");

/* ---- traffic ---- */

static void note_seated(ls_host *host, const ls_match_table_event *event)
{
    host->seats[event->match].seats[event->event.slot] = (host_seat){.peer = event->event.peer};
}

/* The transport forgets a peer once it has told that it is gone. */
static void keep_traffic(ls_host *host, ls_peer_id peer)
{
    for (uint32_t match = 0; match < ls_match_table_count(host->table); match++) {
        for (uint32_t slot = 0; slot < host->seats[match].count; slot++) {
            host_seat *seat = &host->seats[match].seats[slot];
            if (seat->peer == peer) {
                seat->traffic = ls_transport_traffic_of(host->transport, peer);
                seat->peer = 0;
            }
        }
    }
}

void ls_host_traffic(const ls_host *host, uint32_t match, ls_transport_traffic *traffic)
{
    for (uint32_t slot = 0; slot < host->seats[match].count; slot++) {
        const host_seat *seat = &host->seats[match].seats[slot];
        traffic[slot] =
            seat->peer != 0 ? ls_transport_traffic_of(host->transport, seat->peer) : seat->traffic;
    }
}

/* ---- the loop ---- */

static void forward_events(ls_host *host)
{
    ls_match_table_event event;
    while (ls_match_table_next_event(host->table, &event)) {
        ls_token_pass_take_event(host->transport, &event.event);
        bool is_newcomer = event.event.kind == LS_MATCH_PLAYER_READY && event.event.was_coming;
        if (is_newcomer || event.event.kind == LS_MATCH_PLAYER_RETURNED) {
            note_seated(host, &event);
        }
        if (host->config.on_event) {
            host->config.on_event(host->config.user, &event);
        }
    }
}

static void take_connected(ls_host *host, const ls_transport_event *event, uint64_t now_ns)
{
    ls_match_pass pass = {.refusal = NULL};
    uint32_t number = LS_MATCH_ANY;
    (void)ls_token_pass_of(host->transport, host->table, event->peer, &pass, &number);
    pass.origin = pass.has_holder ? ls_hash_bytes(&pass.holder, sizeof pass.holder, HOLDER_SEED) | 1
                                  : event->origin;
    ls_match_table_admit(host->table, event->peer, &pass, number, now_ns);
}

/* The packets that come together are of many matches, and the memory of those is in no cache. */
static void prefetch_packets(ls_host *host)
{
    ls_peer_id peers[LS_TRANSPORT_UDP_COMING_MAX];
    uint32_t count = ls_transport_udp_coming(host->transport, peers);
    ls_match_table_prefetch_packets(host->table, peers, count);
}

static void take_packets(ls_host *host, uint64_t now_ns)
{
    ls_transport_event event;
    while (ls_transport_next_event(host->transport, &event)) {
        prefetch_packets(host);
        if (event.kind == LS_TRANSPORT_CONNECTED) {
            take_connected(host, &event, now_ns);
            continue;
        }
        if (event.kind == LS_TRANSPORT_DISCONNECTED) {
            forward_events(host); /* they may say what the peer was given */
            ls_token_pass_take_end(host->transport, event.peer);
            keep_traffic(host, event.peer);
        }
        ls_match_table_take(host->table, &event, now_ns);
    }
}

/* A server that is woken by every packet spends more on waking than on the packets. When each came
 * is known all the same, from the kernel: so while nobody waits for them they are taken when a tick
 * is to be closed. */
static void choose_eagerness(ls_host *host)
{
    bool is_eager = ls_match_table_is_eager(host->table);
    if (is_eager != host->is_eager) {
        host->is_eager = is_eager;
        ls_transport_udp_set_eager(host->transport, is_eager);
    }
}

static void set_alarm(ls_host *host, uint64_t due_ns)
{
    if (due_ns != host->alarm_ns) {
        host->alarm_ns = due_ns;
        ls_loop_alarm_set(host->alarm, due_ns);
    }
}

static void after_turn(ls_host *host, uint64_t now_ns)
{
    forward_events(host);
    ls_transport_flush(host->transport);
    uint64_t next_ns = ls_match_table_next_ns(host->table);
    if (next_ns == UINT64_MAX &&
        (!host->config.may_end || host->config.may_end(host->config.user))) {
        ls_event_loop_stop(host->loop);
        return;
    }
    choose_eagerness(host);
    if (!host->is_eager) {
        uint64_t taking_ns =
            ls_transport_udp_has_more(host->transport) ? now_ns : now_ns + TAKING_NS;
        next_ns = LS_MIN(taking_ns, next_ns);
    }
    set_alarm(host, next_ns);
}

static void on_packets(void *user, uint64_t now_ns)
{
    ls_host *host = user;
    if (!host->is_frozen) {
        take_packets(host, now_ns);
        after_turn(host, now_ns);
    }
}

static void on_alarm(void *user, uint64_t now_ns)
{
    ls_host *host = user;
    host->alarm_ns = UINT64_MAX;
    if (host->is_frozen) {
        return;
    }
    ls_match_table_prefetch(host->table, now_ns);
    ls_transport_udp_service(host->transport);
    take_packets(host, now_ns); /* what is already there must not be late */
    ls_match_table_advance(host->table, now_ns);
    after_turn(host, now_ns);
}

void ls_host_run(ls_host *host)
{
    ls_event_loop_run(host->loop);
}

void ls_host_freeze(ls_host *host)
{
    host->is_frozen = true;
    ls_transport_udp_set_eager(host->transport, false);
}

void ls_host_end_matches(ls_host *host)
{
    uint64_t now_ns = ls_event_loop_now_ns(host->loop);
    ls_match_table_stop(host->table, now_ns);
    after_turn(host, now_ns);
}

void ls_host_touch(ls_host *host, uint32_t match)
{
    ls_match_table_touch(host->table, match);
    after_turn(host, ls_event_loop_now_ns(host->loop));
}

/* ---- matches ---- */

static uint32_t places_of(const ls_match_config *match)
{
    return match->sim.players + match->spectators_max;
}

static ls_status add_seats(ls_host *host, uint32_t number)
{
    const ls_match_config *match = ls_match_config_of(ls_match_table_match(host->table, number));
    host_seats *row = &host->seats[number];
    row->seats = ls_allocate_array(host->allocator, match->sim.players, sizeof *row->seats);
    if (!row->seats) {
        return LS_NO_MEMORY;
    }
    row->count = match->sim.players;
    row->places = places_of(match);
    host->places += row->places;
    return LS_OK;
}

ls_status ls_host_open_match(ls_host *host, const ls_match_opening *opening, uint32_t *number,
                             ls_text *why)
{
    uint32_t left = host->config.places_max - host->places;
    if (places_of(opening->match) > left) {
        return ls_fail(LS_FULL, why,
                       "places for %u players and spectators are left, and not for %u", left,
                       places_of(opening->match));
    }
    ls_status status = ls_match_table_open(host->table, opening, number, why);
    if (status == LS_OK) {
        status = add_seats(host, *number);
        if (status != LS_OK) {
            ls_match_table_close(host->table, *number);
            return status;
        }
        after_turn(host, ls_event_loop_now_ns(host->loop));
    }
    return status;
}

void ls_host_close_match(ls_host *host, uint32_t number)
{
    host_seats *row = &host->seats[number];
    ls_match_table_close(host->table, number);
    host->places -= row->places;
    ls_release(host->allocator, row->seats);
    *row = (host_seats){.seats = NULL};
    after_turn(host, ls_event_loop_now_ns(host->loop));
}

/* ---- life ---- */

static ls_status open_network(ls_host *host, uint32_t peers_max, ls_text *why)
{
    ls_transport_udp_server_config network;
    ls_status status = ls_transport_udp_server_config_default(&network);
    network.bind_host = host->config.bind_host;
    network.port = host->config.port;
    network.descriptor = host->config.descriptor > 0 ? host->config.descriptor : -1;
    static const uint8_t none[LS_CIPHER_KEY_BYTES];
    ls_key_pair made = network.sealed.identity;
    bool has_identity = memcmp(host->config.sealed.identity.private_key, none, sizeof none) != 0;
    network.sealed = host->config.sealed;
    network.sealed.identity = has_identity ? network.sealed.identity : made;
    network.sealed.gives_key_to_loopback = true;
    network.sealed.connections_max = peers_max;
    network.sealed.per_address_max = peers_max;
    if (status == LS_OK) {
        status = ls_event_loop_create(host->allocator, &host->loop);
    }
    if (status == LS_OK) {
        status = ls_transport_udp_listen(&network, host->allocator, &host->transport, why);
    }
    if (status == LS_OK) {
        ls_loop_handler on_ready = {on_packets, host};
        status = ls_transport_udp_attach(host->transport, host->loop, on_ready);
    }
    return status;
}

/* The limits that were left to the matches which are open from the start. */
static ls_status complete_limits(ls_host_config *config, ls_text *why)
{
    uint64_t places = (uint64_t)config->matches * places_of(&config->match);
    config->matches_max = config->matches_max > 0 ? config->matches_max : config->matches;
    if (config->matches_max == 0 || places > LS_HOST_PLACES_MAX ||
        config->places_max > LS_HOST_PLACES_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "%u matches of %u players and %u spectators: 1 to %u fit in all",
                       config->matches, config->match.sim.players, config->match.spectators_max,
                       LS_HOST_PLACES_MAX);
    }
    config->places_max = config->places_max > 0 ? config->places_max : (uint32_t)places;
    return LS_OK;
}

static ls_status create_table(ls_host *host, ls_text *why)
{
    const ls_host_config *config = &host->config;
    ls_match_table_config table = {.match = config->match,
                                   .matches = config->matches,
                                   .matches_max = config->matches_max,
                                   .players_max = config->places_max,
                                   .peers_max = config->places_max + LS_HOST_PENDING_MAX,
                                   .on_advanced = config->on_advanced,
                                   .is_expected = config->is_expected,
                                   .at_work = config->at_work,
                                   .user = config->user};
    ls_packet_sink sink = ls_transport_sink(host->transport);
    ls_status status = ls_match_table_create(&table, &sink, host->allocator, &host->table, why);
    host->seats = ls_allocate_array(host->allocator, config->matches_max, sizeof *host->seats);
    status = status == LS_OK && !host->seats ? LS_NO_MEMORY : status;
    for (uint32_t i = 0; status == LS_OK && i < config->matches; i++) {
        status = add_seats(host, i);
    }
    return status;
}

static ls_status create_parts(ls_host *host, ls_text *why)
{
    ls_status status = complete_limits(&host->config, why);
    if (status == LS_OK) {
        status = open_network(host, host->config.places_max + LS_HOST_PENDING_MAX, why);
    }
    if (status == LS_OK) {
        status = create_table(host, why);
    }
    ls_loop_handler alarm = {on_alarm, host};
    return status == LS_OK ? ls_event_loop_add_alarm(host->loop, alarm, &host->alarm) : status;
}

ls_status ls_host_create(const ls_host_config *config, const ls_allocator *allocator, ls_host **out,
                         ls_text *why)
{
    ls_host *host = ls_allocate(allocator, sizeof *host);
    if (!host) {
        return LS_NO_MEMORY;
    }
    host->config = *config;
    host->allocator = allocator;
    ls_status status = create_parts(host, why);
    if (status != LS_OK) {
        ls_host_destroy(host);
        return status;
    }
    host->is_eager = true;
    host->alarm_ns = UINT64_MAX;
    after_turn(host, ls_event_loop_now_ns(host->loop));
    *out = host;
    return LS_OK;
}

void ls_host_destroy(ls_host *host)
{
    if (!host) {
        return;
    }
    ls_match_table_destroy(host->table);
    ls_transport_destroy(host->transport);
    ls_event_loop_destroy(host->loop);
    for (uint32_t i = 0; host->seats && i < host->config.matches_max; i++) {
        ls_release(host->allocator, host->seats[i].seats);
    }
    ls_release(host->allocator, host->seats);
    ls_release(host->allocator, host);
}

ls_event_loop *ls_host_loop(const ls_host *host)
{
    return host->loop;
}

const ls_match_table *ls_host_table(const ls_host *host)
{
    return host->table;
}

uint16_t ls_host_port(const ls_host *host)
{
    return ls_transport_udp_port(host->transport);
}

const ls_transport *ls_host_transport(const ls_host *host)
{
    return host->transport;
}

ls_transport_traffic ls_host_total(const ls_host *host)
{
    return ls_transport_udp_total(host->transport);
}
