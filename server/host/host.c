#include "lockstep/server/host/host.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/system/memory.h"

#include <string.h>

/* While matches run, packets are taken before each tick is closed, and at least so often: the
 * transport's own repeats and acknowledgements wait for it. */
#define TAKING_NS (20 * LS_NS_PER_MS)

#define HOLDER_SEED                                                                                \
    UINT64_C(0x746f6b656e) /* of the numbers that owners of tokens have as origins */

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
    /* That no player of an open match can come to need: for more matches, and for spectators, who
     * take one as they come. */
    uint32_t places_left;
};

_Static_assert(LS_TRANSPORT_UDP_COMING_MAX <= LS_MATCH_TABLE_PACKETS_MAX,
               "the packets that come are asked for together");

/* ---- connect tokens ---- */

/* Reads the connect token of a peer that has connected. False when it has none, and `pass` is
 * as it was. `number` is that of its match, or LS_MATCH_ANY. */
static bool read_pass(const ls_transport *transport, const ls_match_table *table, ls_peer_id peer,
                      ls_match_pass *pass, uint32_t *number)
{
    static const ls_match_place places[LS_TOKEN_PLACE_COUNT] = {
        [LS_TOKEN_PLACE_ANY] = LS_MATCH_PLACE_ANY,
        [LS_TOKEN_PLACE_SEAT] = LS_MATCH_PLACE_SEAT,
        [LS_TOKEN_PLACE_SPECTATOR] = LS_MATCH_PLACE_SPECTATOR,
    };
    const ls_sealed_pass *sealed = ls_transport_udp_pass(transport, peer);
    if (!sealed) {
        return false;
    }
    const ls_token_admission *says = &sealed->admission;
    *number = LS_MATCH_ANY;
    *pass = (ls_match_pass){
        .is_return = sealed->is_return, .has_holder = true, .holder = sealed->client_id};
    pass->place = places[says->place];
    pass->slot = says->seat;
    memcpy(pass->name, says->name, sizeof pass->name);
    if (says->match[0] != '\0') {
        *number = ls_match_table_find(table, says->match);
        pass->is_for_this_match = *number != LS_MATCH_ANY;
        pass->refusal = pass->is_for_this_match ? NULL : "its connect token is for another match";
    }
    return true;
}

/* A token is used once its peer was given a seat or watches. */
static void settle_pass(ls_transport *transport, const ls_match_event *event)
{
    switch (event->kind) {
    case LS_MATCH_PLAYER_READY:
    case LS_MATCH_PLAYER_RETURNED:
    case LS_MATCH_SPECTATOR_CAME:
        ls_transport_udp_settle_pass(transport, event->peer, true);
        break;
    case LS_MATCH_PEER_REFUSED:
        ls_transport_udp_settle_pass(transport, event->peer, false);
        break;
    case LS_MATCH_PLAYER_LEFT:
        if (event->was_coming) {
            ls_transport_udp_settle_pass(transport, event->peer, false);
        }
        break;
    default:
        break;
    }
}

/* ---- the loop ---- */

static void forward_events(ls_host *host)
{
    ls_match_table_event event;
    while (ls_match_table_next_event(host->table, &event)) {
        settle_pass(host->transport, &event.event);
        if (host->config.on_event) {
            host->config.on_event(host->config.table.user, &event);
        }
    }
}

static void on_connected(ls_host *host, const ls_transport_event *event, uint64_t now_ns)
{
    ls_match_pass pass = {.refusal = NULL};
    uint32_t number = LS_MATCH_ANY;
    (void)read_pass(host->transport, host->table, event->peer, &pass, &number);
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

static void receive_packets(ls_host *host, uint64_t now_ns)
{
    ls_transport_event event;
    while (ls_transport_next_event(host->transport, &event)) {
        prefetch_packets(host);
        if (event.kind == LS_TRANSPORT_CONNECTED) {
            on_connected(host, &event, now_ns);
            continue;
        }
        if (event.kind == LS_TRANSPORT_DISCONNECTED) {
            forward_events(host); /* they may say what the peer was given */
            /* A token that nothing was given for is as new. */
            ls_transport_udp_settle_pass(host->transport, event.peer, false);
            uint32_t match = ls_match_table_match_of(host->table, event.peer);
            if (host->config.on_gone && match != LS_MATCH_ANY) {
                host->config.on_gone(host->config.table.user, match, event.peer);
            }
        }
        ls_match_table_receive(host->table, &event, now_ns);
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
    if (next_ns == UINT64_MAX && ls_match_table_is_over(host->table) &&
        (!host->config.may_end || host->config.may_end(host->config.table.user))) {
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
        receive_packets(host, now_ns);
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
    receive_packets(host, now_ns); /* what is already there must not be late */
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

bool ls_host_was_called(ls_host *host, uint32_t match)
{
    return ls_match_table_was_called(host->table, match);
}

void ls_host_touch(ls_host *host, uint32_t match)
{
    ls_match_table_touch(host->table, match);
    after_turn(host, ls_event_loop_now_ns(host->loop));
}

/* ---- matches ---- */

ls_status ls_host_open_match(ls_host *host, const ls_match_opening *opening, uint32_t *number,
                             ls_text *why)
{
    ls_match_config match = *opening->match;
    if (match.sim.players > host->places_left) {
        return ls_fail(LS_FULL, why, "places for %u players are left, and not for %u",
                       host->places_left, match.sim.players);
    }
    match.spectator_pool = &host->places_left;
    ls_match_opening with_pool = *opening;
    with_pool.match = &match;
    ls_status status = ls_match_table_open(host->table, &with_pool, number, why);
    if (status == LS_OK) {
        const ls_sim_instance *instance =
            ls_match_resting_instance(ls_match_table_match(host->table, *number));
        ls_pages_enlarge(ls_sim_instance_view(instance), ls_sim_instance_state_bytes(instance));
        host->places_left -= match.sim.players;
        after_turn(host, ls_event_loop_now_ns(host->loop));
    }
    return status;
}

void ls_host_close_match(ls_host *host, uint32_t number)
{
    host->places_left += ls_match_players(ls_match_table_match(host->table, number));
    ls_match_table_close(host->table, number);
    after_turn(host, ls_event_loop_now_ns(host->loop));
}

/* ---- life ---- */

static ls_status open_network(ls_host *host, ls_text *why)
{
    ls_transport_udp_server_config network;
    ls_status status = ls_transport_udp_server_config_default(&network);
    network.bind_host = host->config.bind_host;
    network.port = host->config.port;
    network.descriptor = host->config.descriptor > 0 ? host->config.descriptor : -1;
    network.around = host->config.around;
    static const uint8_t none[LS_CIPHER_KEY_BYTES];
    ls_key_pair made = network.sealed.identity;
    bool has_identity = memcmp(host->config.sealed.identity.private_key, none, sizeof none) != 0;
    network.sealed = host->config.sealed;
    network.sealed.identity = has_identity ? network.sealed.identity : made;
    network.sealed.gives_key_to_loopback = true;
    network.sealed.connections_max = host->config.table.peers_max;
    uint32_t each = host->config.per_address_max;
    network.sealed.per_address_max = each > 0 ? each : host->config.table.peers_max;
    LS_THEN(status, ls_event_loop_create(host->allocator, &host->loop));
    if (status == LS_IO) {
        return ls_fail(status, why, LS_EVENT_LOOP_LACKS_FILES);
    }
    LS_THEN(status, ls_transport_udp_listen(&network, host->allocator, &host->transport, why));
    if (status == LS_OK) {
        ls_loop_handler on_ready = {on_packets, host};
        status = ls_transport_udp_attach(host->transport, host->loop, on_ready);
    }
    return status;
}

/* The limits that were left to the matches which are open from the start. */
static ls_status complete_limits(ls_match_table_config *table, ls_text *why)
{
    uint64_t places =
        (uint64_t)table->matches * (table->match.sim.players + table->match.spectators_max);
    table->matches_max = table->matches_max > 0 ? table->matches_max : table->matches;
    if (table->matches_max == 0 || places > LS_HOST_PLACES_MAX ||
        table->players_max > LS_HOST_PLACES_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "%u matches of %u players and %u spectators: 1 to %u fit in all",
                       table->matches, table->match.sim.players, table->match.spectators_max,
                       LS_HOST_PLACES_MAX);
    }
    table->players_max = table->players_max > 0 ? table->players_max : (uint32_t)places;
    table->peers_max = table->players_max + LS_HOST_PENDING_MAX;
    return LS_OK;
}

static ls_status create_table(ls_host *host, ls_text *why)
{
    ls_match_table_config *table = &host->config.table;
    ls_packet_sink sink = ls_transport_sink(host->transport);
    host->places_left = table->players_max - table->matches * table->match.sim.players;
    table->match.spectator_pool = &host->places_left;
    return ls_match_table_create(table, &sink, host->allocator, &host->table, why);
}

static ls_status create_parts(ls_host *host, ls_text *why)
{
    ls_status status = complete_limits(&host->config.table, why);
    LS_THEN(status, open_network(host, why));
    LS_THEN(status, create_table(host, why));
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
