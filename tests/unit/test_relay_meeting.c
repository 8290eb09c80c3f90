/* A server, a player and their relay in virtual time, each behind a router of one of four kinds
 * (RFC 4787: mapping and filtering). */
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/relay/relay_client.h"
#include "lockstep/protocol/relay/relay_server.h"
#include "lockstep/protocol/udp/transport_udp.h"
#include "lockstep/server/relay/relay.h"

#include <criterion/criterion.h>
#include <string.h>

#define DELAY_NS (20 * LS_NS_PER_MS)
#define STEP_NS LS_NS_PER_MS
#define FLYING_MAX 512u
#define MAPPINGS_MAX 16u
#define REACHED_MAX 16u

/* ---- the network ---- */

typedef enum router_kind {
    NO_ROUTER,
    FULL_CONE,       /* lets in all that comes to the port */
    RESTRICTED,      /* only of addresses that it has sent to */
    PORT_RESTRICTED, /* and of ports */
    SYMMETRIC,       /* likewise, and has another port for each destination */
    ROUTER_KINDS,
} router_kind;

typedef struct mapping {
    uint16_t port; /* outside; 0: free */
    ls_endpoint first;
    ls_endpoint reached[REACHED_MAX];
    uint32_t reached_count;
} mapping;

typedef struct datagram {
    ls_endpoint from, to;
    uint64_t due_ns; /* 0: none */
    size_t size;
    uint8_t bytes[LS_UDP_DATAGRAM_BYTES_MAX];
} datagram;

typedef struct node {
    ls_datagram_socket base;
    ls_endpoint public_side; /* the router's address, or its own */
    router_kind kind;
    uint16_t next_port;
    mapping mappings[MAPPINGS_MAX];
    uint16_t led_port; /* lets in all, and all leaves by it, as miniupnpd has it; 0: none */
    datagram inbox[64];
    uint32_t first, count;
    uint8_t taken[LS_UDP_DATAGRAM_BYTES_MAX];
    bool is_cut_from_other; /* nothing goes directly, from here on */
} node;

static uint64_t now_ns;
static datagram flying[FLYING_MAX];
static uint32_t flown_to_led_port;
static node relay_node, server_node, player_node;

static ls_endpoint address(uint8_t number, uint16_t port)
{
    ls_endpoint made = ls_endpoint_from_ipv4(0, port);
    made.address[12] = 203;
    made.address[14] = number;
    made.address[15] = 1;
    return made;
}

static mapping *mapping_for(node *from, const ls_endpoint *to)
{
    for (uint32_t i = 0; i < MAPPINGS_MAX; i++) {
        mapping *each = &from->mappings[i];
        if (each->port == 0) {
            *each = (mapping){.port = from->next_port++, .first = *to};
            return each;
        }
        if (from->kind != SYMMETRIC || ls_endpoint_is_equal(&each->first, to)) {
            return each;
        }
    }
    cr_assert_fail("a router has too few places");
    return NULL;
}

static bool has_reached(const mapping *through, const ls_endpoint *from, bool counts_port)
{
    for (uint32_t i = 0; i < through->reached_count; i++) {
        if (counts_port ? ls_endpoint_is_equal(&through->reached[i], from)
                        : ls_endpoint_is_same_host(&through->reached[i], from)) {
            return true;
        }
    }
    return false;
}

/* The address that a datagram has outside. */
static ls_endpoint leave(node *from, const ls_endpoint *to)
{
    ls_endpoint outside = from->public_side;
    if (from->led_port != 0) {
        outside.port = from->led_port;
    } else if (from->kind != NO_ROUTER) {
        mapping *through = mapping_for(from, to);
        if (!has_reached(through, to, true)) {
            cr_assert_lt(through->reached_count, REACHED_MAX);
            through->reached[through->reached_count++] = *to;
        }
        outside.port = through->port;
    }
    return outside;
}

static bool lets_in(const node *at, const datagram *came)
{
    if (!ls_endpoint_is_same_host(&at->public_side, &came->to)) {
        return false;
    }
    if (at->kind == NO_ROUTER) {
        return at->public_side.port == came->to.port;
    }
    if (at->led_port != 0 && at->led_port == came->to.port) {
        return true;
    }
    for (uint32_t i = 0; i < MAPPINGS_MAX; i++) {
        const mapping *each = &at->mappings[i];
        if (each->port != 0 && each->port == came->to.port) {
            return at->kind == FULL_CONE || has_reached(each, &came->from, at->kind != RESTRICTED);
        }
    }
    return false;
}

static void fly(node *from, const ls_endpoint *to, const uint8_t *bytes, size_t size)
{
    bool goes_to_relay = ls_endpoint_is_equal(to, &relay_node.public_side);
    cr_assert_eq(to->via, 0, "no socket sends through a relay by itself");
    flown_to_led_port += to->port == 9000 ? 1 : 0;
    if (from->is_cut_from_other && !goes_to_relay) {
        return;
    }
    for (uint32_t i = 0; i < FLYING_MAX; i++) {
        if (flying[i].due_ns == 0) {
            flying[i] = (datagram){
                .from = leave(from, to), .to = *to, .due_ns = now_ns + DELAY_NS, .size = size};
            cr_assert_leq(size, sizeof flying[i].bytes);
            memcpy(flying[i].bytes, bytes, size);
            return;
        }
    }
    cr_assert_fail("too many datagrams are under way");
}

static void land(void)
{
    node *const nodes[] = {&relay_node, &server_node, &player_node};
    for (uint32_t i = 0; i < FLYING_MAX; i++) {
        if (flying[i].due_ns == 0 || flying[i].due_ns > now_ns) {
            continue;
        }
        for (uint32_t n = 0; n < 3; n++) {
            node *at = nodes[n];
            if (at->count < 64 && lets_in(at, &flying[i])) {
                at->inbox[(at->first + at->count++) % 64] = flying[i];
            }
        }
        flying[i].due_ns = 0;
    }
}

/* ---- its sockets ---- */

static void begin_turn(ls_datagram_socket *socket, uint64_t now)
{
    (void)socket;
    (void)now;
}

static ls_udp_receipt receive(ls_datagram_socket *socket, ls_udp_datagram *out)
{
    node *at = (node *)socket;
    if (at->count == 0) {
        return LS_UDP_EMPTY;
    }
    const datagram *came = &at->inbox[at->first];
    memcpy(at->taken, came->bytes, came->size);
    *out = (ls_udp_datagram){
        .from = came->from, .bytes = at->taken, .size = came->size, .arrived_ns = now_ns};
    at->first = (at->first + 1) % 64;
    at->count--;
    return LS_UDP_RECEIVED;
}

static bool has_received_any(const ls_datagram_socket *socket)
{
    (void)socket;
    return false;
}

static const uint8_t *coming(const ls_datagram_socket *socket, uint32_t others, size_t *size)
{
    (void)socket;
    (void)others;
    (void)size;
    return NULL;
}

static void send_datagram(ls_datagram_socket *socket, const ls_endpoint *to, const uint8_t *bytes,
                          size_t size)
{
    fly((node *)socket, to, bytes, size);
}

static ls_udp_sent flush(ls_datagram_socket *socket)
{
    (void)socket;
    return (ls_udp_sent){0};
}

static bool reroute(ls_datagram_socket *socket)
{
    (void)socket;
    return false;
}

static int descriptor(const ls_datagram_socket *socket)
{
    (void)socket;
    return -1;
}

static uint16_t port(const ls_datagram_socket *socket)
{
    (void)socket;
    return 1;
}

static void close_socket(ls_datagram_socket *socket)
{
    (void)socket;
}

static const ls_datagram_socket_operations operations = {
    begin_turn, receive, has_received_any, coming, send_datagram,
    flush,      reroute, descriptor,       port,   close_socket};

static uint64_t read_clock(void *user)
{
    (void)user;
    return now_ns;
}

static const ls_clock test_clock = {.now_ns = read_clock};

static void set_node(node *at, uint8_t number, router_kind kind)
{
    memset(at, 0, sizeof *at);
    at->base.operations = &operations;
    at->public_side = address(number, 7310);
    at->kind = kind;
    at->next_port = (uint16_t)(20000 + 1000 * number);
}

/* ---- the three ---- */

static ls_relay_service *relay;
static ls_relay_server *registered;
static ls_datagram_socket *server_socket;
static ls_relay_client *player;
static ls_key_pair identity;
static ls_transport *server_transport, *player_transport;

static ls_relay_packet newest_of_relay;

static void on_send(void *user, const ls_endpoint *to, const uint8_t *bytes, size_t size)
{
    (void)user;
    (void)ls_relay_packet_read(bytes, size, &newest_of_relay);
    fly(&relay_node, to, bytes, size);
}

static void start_relay(void)
{
    const ls_relay_config config = ls_relay_config_default();
    const ls_relay_sink sink = {on_send, NULL};
    cr_assert_eq(ls_relay_create(&config, &sink, ls_allocator_heap(), &relay), LS_OK);
}

static void start(router_kind of_server, router_kind of_player)
{
    const ls_relay_server_config config = {.relay = address(1, 7310), .identity = identity};
    memset(flying, 0, sizeof flying);
    set_node(&relay_node, 1, NO_ROUTER);
    set_node(&server_node, 2, of_server);
    set_node(&player_node, 3, of_player);
    start_relay();
    cr_assert_eq(ls_relay_server_create(&config, ls_allocator_heap(), &registered), LS_OK);
    server_socket = ls_relay_server_socket(registered, &server_node.base);
}

static void begin(void)
{
    cr_assert_eq(ls_cipher_init(), LS_OK);
    ls_key_pair_random(&identity);
    now_ns = 1000 * LS_NS_PER_SECOND;
}

static void end(void)
{
    if (player_transport) {
        ls_transport_destroy(player_transport);
    } else if (player) {
        ls_datagram_socket_close(ls_relay_client_socket(player));
    }
    if (server_transport) {
        ls_transport_destroy(server_transport);
    } else {
        ls_datagram_socket_close(server_socket);
    }
    ls_relay_server_destroy(registered);
    ls_relay_destroy(relay);
    player = NULL;
    player_transport = server_transport = NULL;
}

TestSuite(relay_meeting, .init = begin);

static uint32_t heard_by_server, heard_by_player, disconnects;
static uint64_t origin;
static ls_peer_id server_peer, player_peer; /* of each one's transport: the other one */

static void take_events(ls_transport *transport, uint32_t *heard)
{
    ls_transport_event event;
    ls_transport_udp_service(transport);
    while (ls_transport_next_event(transport, &event)) {
        disconnects += event.kind == LS_TRANSPORT_DISCONNECTED ? 1 : 0;
        *heard += event.kind == LS_TRANSPORT_RECEIVED ? 1 : 0;
        if (event.kind == LS_TRANSPORT_CONNECTED && transport == server_transport) {
            origin = event.origin;
            server_peer = event.peer;
        } else if (event.kind == LS_TRANSPORT_CONNECTED) {
            player_peer = event.peer;
        }
    }
    ls_transport_flush(transport);
}

static void turn(void)
{
    ls_udp_datagram came;
    now_ns += STEP_NS;
    land();
    while (relay && receive(&relay_node.base, &came) == LS_UDP_RECEIVED) {
        ls_relay_receive(relay, &came.from, came.bytes, came.size, now_ns);
    }
    relay_node.count = 0;
    if (server_transport) {
        take_events(server_transport, &heard_by_server);
    } else {
        while (ls_datagram_socket_receive(server_socket, &came) == LS_UDP_RECEIVED) {
        }
    }
    if (now_ns / STEP_NS % LS_RELAY_SERVER_PERIOD_MS == 0) {
        ls_relay_server_advance(registered, now_ns);
    }
    if (player_transport) {
        take_events(player_transport, &heard_by_player);
    } else if (player) {
        ls_relay_client_turn(player, now_ns);
    }
}

static void turn_for(uint64_t ms)
{
    for (uint64_t i = 0; i < ms; i++) {
        turn();
    }
}

static void await_registration(void)
{
    for (uint32_t i = 0; i < 1000; i++) {
        if (ls_relay_server_state_of(registered) == LS_RELAY_SERVER_REGISTERED) {
            return;
        }
        turn();
    }
    cr_assert_fail("the server is not registered");
}

static ls_relay_client_config config_of_player(void)
{
    return (ls_relay_client_config){.relay = address(1, 7310),
                                    .code = *ls_relay_server_code(registered)};
}

/* Until the player has reached the server, or was refused. */
static uint64_t meet(const ls_relay_client_config *config)
{
    uint64_t begun_ns = now_ns;
    cr_assert_eq(ls_relay_client_create(config, &player_node.base, ls_allocator_heap(), &player),
                 LS_OK);
    while (ls_relay_client_state_of(player) == LS_RELAY_CLIENT_MEETING) {
        cr_assert_lt(now_ns, begun_ns + 20 * LS_NS_PER_SECOND);
        turn();
    }
    return now_ns - begun_ns;
}

/* A player of whom nothing more is heard. */
static void join_from(const ls_endpoint *from, const ls_relay_code *code)
{
    uint8_t bytes[LS_RELAY_PACKET_BYTES_MAX];
    ls_relay_packet packet = {.kind = LS_RELAY_ASK};
    ls_relay_receive(relay, from, bytes, ls_relay_packet_write(&packet, bytes), now_ns);
    packet = newest_of_relay;
    cr_assert_eq(packet.kind, LS_RELAY_COOKIE);
    packet.kind = LS_RELAY_JOIN;
    memcpy(packet.name, code->name, sizeof packet.name);
    ls_relay_receive(relay, from, bytes, ls_relay_packet_write(&packet, bytes), now_ns);
}

/* ---- sealed connections ---- */

static void connect_player(void)
{
    const ls_sealed_server_config sealed = {
        .identity = identity, .connections_max = 8, .per_address_max = 8};
    ls_transport_udp_client_config config = ls_transport_udp_client_config_default();
    const ls_transport_udp_ground of_server = {server_socket, test_clock};
    const ls_transport_udp_ground of_player = {ls_relay_client_socket(player), test_clock};
    const uint8_t *key = ls_relay_client_server_key(player);
    cr_assert(key);
    config.sealed.has_server_key = true;
    memcpy(config.sealed.server_key, key, sizeof config.sealed.server_key);
    cr_assert_eq(
        ls_transport_udp_listen_on(&of_server, &sealed, ls_allocator_heap(), &server_transport),
        LS_OK);
    cr_assert_eq(ls_transport_udp_connect_on(&of_player, ls_relay_client_server(player), &config,
                                             ls_allocator_heap(), &player_transport),
                 LS_OK);
    heard_by_server = heard_by_player = disconnects = 0;
    server_peer = player_peer = 0;
    turn_for(1000);
    cr_assert(server_peer != 0 && player_peer != 0);
}

/* Both send so many packets, one each 20 ms, as in a match. */
static void talk(uint32_t packets)
{
    for (uint32_t i = 0; i < packets; i++) {
        ls_transport_send(player_transport, player_peer, LS_CHANNEL_UNRELIABLE,
                          (const uint8_t *)"a", 1);
        ls_transport_send(server_transport, server_peer, LS_CHANNEL_UNRELIABLE,
                          (const uint8_t *)"b", 1);
        turn_for(20);
    }
}

/* ---- the claims ---- */

static bool has_direct_way(router_kind a, router_kind b)
{
    return !((a == SYMMETRIC && b >= PORT_RESTRICTED) || (b == SYMMETRIC && a >= PORT_RESTRICTED));
}

Test(relay_meeting, players_and_servers_behind_routers_of_every_kind_meet_in_two_seconds)
{
    uint32_t direct = 0, all = 0;
    for (router_kind a = FULL_CONE; a < ROUTER_KINDS; a++) {
        for (router_kind b = FULL_CONE; b < ROUTER_KINDS; b++) {
            start(a, b);
            await_registration();
            const ls_relay_client_config config = config_of_player();
            uint64_t took_ns = meet(&config);
            cr_assert_eq(ls_relay_client_state_of(player), LS_RELAY_CLIENT_READY, "%d %d", a, b);
            cr_assert_eq(ls_relay_client_is_direct(player), has_direct_way(a, b), "%d %d", a, b);
            cr_assert_leq(took_ns, 2 * LS_NS_PER_SECOND, "%d %d", a, b);
            cr_assert_arr_eq(ls_relay_client_server_key(player), identity.public_key,
                             LS_CIPHER_KEY_BYTES);
            direct += ls_relay_client_is_direct(player) ? 1 : 0;
            all++;
            connect_player();
            const ls_endpoint from = address(3, 1);
            cr_assert_eq(origin, ls_endpoint_origin(&from),
                         "limits of an address are the player's");
            uint64_t carried = ls_relay_counts_of(relay)->carried;
            talk(10);
            turn_for(100);
            cr_assert_eq(heard_by_server, 10, "%d %d", a, b);
            cr_assert_eq(heard_by_player, 10, "%d %d", a, b);
            cr_assert_eq(ls_relay_counts_of(relay)->carried > carried, !has_direct_way(a, b));
            end();
        }
    }
    cr_assert_eq(all, 16);
    cr_assert_eq(direct, 13);
}

/* The router of the server leads a port to it, and no kind of router is in the way any more. */
Test(relay_meeting, a_port_that_a_router_leads_in_opens_a_direct_way_to_all)
{
    for (router_kind of_player = FULL_CONE; of_player < ROUTER_KINDS; of_player++) {
        start(SYMMETRIC, of_player);
        server_node.led_port = 9000;
        const ls_endpoint outside = address(2, 9000);
        ls_relay_server_set_outside(registered, &outside);
        await_registration();
        const ls_relay_client_config config = config_of_player();
        (void)meet(&config);
        cr_assert(ls_relay_client_is_direct(player), "%d", of_player);
        connect_player();
        talk(10);
        turn_for(100);
        cr_assert_eq(heard_by_server, 10);
        cr_assert_eq(heard_by_player, 10);
        end();
    }
}

/* Players send to the server's own address alone, whatever a router says. */
Test(relay_meeting, a_port_that_leads_nowhere_is_not_used)
{
    static const uint8_t networks[] = {2, 4};
    for (size_t i = 0; i < sizeof networks; i++) {
        start(SYMMETRIC, SYMMETRIC);
        const ls_endpoint outside = address(networks[i], 9000);
        ls_relay_server_set_outside(registered, &outside);
        await_registration();
        const ls_relay_client_config config = config_of_player();
        (void)meet(&config);
        cr_assert_eq(ls_relay_client_state_of(player), LS_RELAY_CLIENT_READY);
        cr_assert_not(ls_relay_client_is_direct(player));
        cr_assert_eq(flown_to_led_port > 0, networks[i] == 2);
        end();
        flown_to_led_port = 0;
    }
}

Test(relay_meeting, a_match_goes_on_when_a_router_forgets_its_mappings)
{
    node *const forgetful[] = {&player_node, &server_node};
    for (size_t i = 0; i < 2; i++) {
        start(PORT_RESTRICTED, PORT_RESTRICTED);
        await_registration();
        const ls_relay_client_config config = config_of_player();
        (void)meet(&config);
        cr_assert(ls_relay_client_is_direct(player));
        connect_player();
        memset(forgetful[i]->mappings, 0, sizeof forgetful[i]->mappings);
        forgetful[i]->next_port += 100;
        talk(400);
        heard_by_player = heard_by_server = 0;
        talk(50);
        cr_assert_geq(heard_by_player, 45, "%zu: %u", i, heard_by_player);
        cr_assert_geq(heard_by_server, 45, "%zu: %u", i, heard_by_server);
        cr_assert_eq(disconnects, 0);
        end();
    }
}

Test(relay_meeting, a_match_goes_on_when_its_relay_is_started_anew)
{
    start(SYMMETRIC, SYMMETRIC);
    await_registration();
    const ls_relay_client_config config = config_of_player();
    const ls_relay_code code = *ls_relay_server_code(registered);
    (void)meet(&config);
    cr_assert_not(ls_relay_client_is_direct(player));
    connect_player();
    ls_relay_destroy(relay);
    relay = NULL;
    talk(50);
    cr_assert_leq(heard_by_player, 3, "nothing comes while there is no relay");
    start_relay();
    talk(150);
    cr_assert_geq(heard_by_player, 60, "%u", heard_by_player);
    cr_assert_eq(disconnects, 0);
    cr_assert_arr_eq(ls_relay_server_code(registered)->name, code.name, sizeof code.name);
    end();
}

Test(relay_meeting, the_relay_carries_when_a_direct_way_fails)
{
    start(PORT_RESTRICTED, PORT_RESTRICTED);
    await_registration();
    const ls_relay_client_config config = config_of_player();
    (void)meet(&config);
    cr_assert(ls_relay_client_is_direct(player));
    connect_player();
    server_node.is_cut_from_other = player_node.is_cut_from_other = true;
    talk(250);
    uint32_t before = heard_by_player;
    talk(50);
    cr_assert_not(ls_relay_client_is_direct(player));
    cr_assert_geq(heard_by_player - before, 45);
    cr_assert_eq(disconnects, 0);
    end();
}

/* The server follows by the sealed layer's challenges, and no packet is lost on the way. */
Test(relay_meeting, a_match_through_the_relay_goes_directly_as_soon_as_that_is_possible)
{
    start(PORT_RESTRICTED, PORT_RESTRICTED);
    await_registration();
    server_node.is_cut_from_other = player_node.is_cut_from_other = true;
    const ls_relay_client_config config = config_of_player();
    (void)meet(&config);
    cr_assert_not(ls_relay_client_is_direct(player));
    connect_player();
    talk(50);
    server_node.is_cut_from_other = player_node.is_cut_from_other = false;
    server_node.mappings[0].reached[server_node.mappings[0].reached_count++] =
        address(3, player_node.mappings[0].port);
    talk(100);
    cr_assert(ls_relay_client_is_direct(player));
    uint64_t carried = ls_relay_counts_of(relay)->carried;
    talk(50);
    turn_for(100);
    cr_assert_eq(ls_relay_counts_of(relay)->carried, carried);
    cr_assert_eq(heard_by_player, 200);
    cr_assert_eq(heard_by_server, 200);
    cr_assert_eq(disconnects, 0);
    end();
}

Test(relay_meeting, a_server_whose_router_changes_its_port_is_registered_anew)
{
    start(PORT_RESTRICTED, SYMMETRIC);
    await_registration();
    const ls_relay_client_config config = config_of_player();
    (void)meet(&config);
    connect_player();
    memset(server_node.mappings, 0, sizeof server_node.mappings);
    talk(100);
    uint32_t before = heard_by_player;
    talk(50);
    cr_assert_geq(heard_by_player - before, 45);
    cr_assert_eq(disconnects, 0);
    end();
}

Test(relay_meeting, a_player_whose_router_changes_its_port_joins_anew_with_the_same_connection)
{
    start(PORT_RESTRICTED, SYMMETRIC);
    await_registration();
    const ls_relay_client_config config = config_of_player();
    (void)meet(&config);
    connect_player();
    uint64_t introduced = ls_relay_counts_of(relay)->introduced;
    memset(player_node.mappings, 0, sizeof player_node.mappings);
    talk(100);
    uint32_t before = heard_by_player;
    talk(50);
    cr_assert_geq(heard_by_player - before, 45);
    cr_assert_eq(ls_relay_counts_of(relay)->introduced, introduced + 1);
    cr_assert_eq(disconnects, 0);
    end();
}

/* As a page that goes on by another pipe: it knows that, and asks for a way from there at once. */
static void move_player(void)
{
    memset(player_node.mappings, 0, sizeof player_node.mappings);
    player_node.base.has_moved = true;
}

Test(relay_meeting, a_player_who_knows_that_it_moved_joins_anew_before_the_relay_says_so)
{
    start(PORT_RESTRICTED, SYMMETRIC);
    await_registration();
    ls_relay_client_config config = config_of_player();
    config.avoids_direct = true;
    (void)meet(&config);
    connect_player();
    talk(50);
    uint64_t introduced = ls_relay_counts_of(relay)->introduced;
    move_player();
    talk(25);
    uint32_t before = heard_by_player;
    talk(50);
    cr_assert_geq(heard_by_player - before, 45);
    cr_assert_eq(ls_relay_counts_of(relay)->introduced, introduced + 1);
    cr_assert_eq(disconnects, 0);
    end();
}

Test(relay_meeting, a_player_who_moves_at_any_moment_of_the_meeting_meets_the_server)
{
    for (uint32_t moment_ms = 1; moment_ms < 240; moment_ms += 13) {
        start(PORT_RESTRICTED, SYMMETRIC);
        await_registration();
        ls_relay_client_config config = config_of_player();
        config.avoids_direct = true;
        cr_assert_eq(
            ls_relay_client_create(&config, &player_node.base, ls_allocator_heap(), &player),
            LS_OK);
        turn_for(moment_ms);
        move_player();
        turn_for(800);
        cr_assert_eq(ls_relay_client_state_of(player), LS_RELAY_CLIENT_READY, "moved after %u ms",
                     moment_ms);
        connect_player();
        talk(10);
        cr_assert_eq(disconnects, 0);
        end();
    }
}

/* A player of another kind of address than the server's can be reached by the relay alone. */
Test(relay_meeting, a_player_of_ipv6_plays_with_a_server_of_ipv4)
{
    start(FULL_CONE, NO_ROUTER);
    player_node.public_side.address[0] = 0x20;
    await_registration();
    const ls_relay_client_config config = config_of_player();
    (void)meet(&config);
    cr_assert_not(ls_relay_client_is_direct(player));
    connect_player();
    talk(20);
    turn_for(100);
    cr_assert_eq(heard_by_player, 20);
    cr_assert_eq(origin, ls_endpoint_origin(&player_node.public_side));
    end();
}

static ls_relay_refusal refusal_of(const ls_relay_client_config *config)
{
    (void)meet(config);
    cr_assert_eq(ls_relay_client_state_of(player), LS_RELAY_CLIENT_REFUSED);
    ls_relay_refusal refusal = ls_relay_client_refusal_of(player);
    cr_assert_null(ls_relay_client_server_key(player));
    ls_datagram_socket_close(ls_relay_client_socket(player));
    player = NULL;
    return refusal;
}

Test(relay_meeting, a_player_is_told_why_a_code_does_not_join)
{
    start(FULL_CONE, FULL_CONE);
    await_registration();
    ls_relay_client_config config = config_of_player();
    config.code.secret[2] = config.code.secret[2] == '2' ? '3' : '2';
    cr_assert_eq(refusal_of(&config), LS_RELAY_REFUSAL_PROOF);
    config = config_of_player();
    config.code.name[0] = config.code.name[0] == '2' ? '3' : '2';
    cr_assert_eq(refusal_of(&config), LS_RELAY_REFUSAL_CODE);
    config = config_of_player();
    config.relay.port++;
    cr_assert_eq(refusal_of(&config), LS_RELAY_REFUSAL_SILENCE);
    end();
}

/* One guess in 4 s, whoever asks. */
Test(relay_meeting, a_server_answers_few_who_want_its_key_by_the_code)
{
    uint32_t proven = 0;
    start(FULL_CONE, FULL_CONE);
    await_registration();
    ls_relay_client_config config = config_of_player();
    config.avoids_direct = true;
    uint64_t begun_ns = now_ns;
    for (uint32_t i = 0; i < 20; i++) {
        (void)meet(&config);
        bool is_ready = ls_relay_client_state_of(player) == LS_RELAY_CLIENT_READY;
        proven += is_ready ? 1 : 0;
        cr_assert(is_ready || ls_relay_client_refusal_of(player) == LS_RELAY_REFUSAL_SERVER);
        ls_datagram_socket_close(ls_relay_client_socket(player));
        player = NULL;
    }
    cr_assert_geq(proven, 8);
    cr_assert_lt(proven, 20);
    cr_assert_leq(proven, 8 + (now_ns - begun_ns) / (4 * LS_NS_PER_SECOND));
    config.has_server_key = true; /* from an invite: it needs no answer */
    (void)meet(&config);
    cr_assert_eq(ls_relay_client_state_of(player), LS_RELAY_CLIENT_READY);
    end();
}

/* More come than the server knows at a time; the one that was silent longest makes room, and is
 * there again when it sends. */
Test(relay_meeting, a_player_who_made_room_for_others_goes_on)
{
    start(NO_ROUTER, SYMMETRIC);
    await_registration();
    ls_relay_client_config config = config_of_player();
    config.avoids_direct = true;
    (void)meet(&config);
    connect_player();
    uint32_t introduced = (uint32_t)ls_relay_counts_of(relay)->introduced;
    for (uint32_t i = 0; i < 2 * LS_RELAY_SERVER_PLAYERS_MAX; i++) {
        const ls_endpoint other = address((uint8_t)(10 + i % 200), (uint16_t)(1000 + i));
        join_from(&other, &config.code);
        turn_for(2);
    }
    cr_assert_eq(ls_relay_counts_of(relay)->introduced - introduced,
                 2 * LS_RELAY_SERVER_PLAYERS_MAX);
    talk(100); /* the sealed layer follows to the new number in a second */
    turn_for(200);
    heard_by_player = heard_by_server = 0;
    talk(20);
    turn_for(200);
    cr_assert_eq(heard_by_server, 20);
    cr_assert_eq(heard_by_player, 20);
    cr_assert_eq(disconnects, 0);
    end();
}

/* As by somebody who forges the relay's address but knows neither flow nor key. */
Test(relay_meeting, forged_packets_of_the_relay_change_nothing)
{
    start(FULL_CONE, FULL_CONE);
    await_registration();
    const ls_relay_client_config config = config_of_player();
    (void)meet(&config);
    connect_player();
    uint64_t carried = ls_relay_counts_of(relay)->carried;
    for (uint32_t kind = LS_RELAY_ASK; kind < LS_RELAY_KIND_END; kind++) {
        for (size_t size = 1; size <= 128; size++) {
            uint8_t bytes[128] = {(uint8_t)kind, 1, 2, 3, 4, 5, 6, 7, 8};
            datagram *forged = &server_node.inbox[(server_node.first + server_node.count++) % 64];
            *forged = (datagram){.from = relay_node.public_side, .size = size};
            memcpy(forged->bytes, bytes, size);
            turn();
        }
    }
    cr_assert_eq(ls_relay_server_state_of(registered), LS_RELAY_SERVER_REGISTERED);
    heard_by_player = 0;
    talk(10);
    turn_for(100);
    cr_assert_eq(heard_by_player, 10);
    cr_assert_eq(disconnects, 0);
    cr_assert_eq(ls_relay_counts_of(relay)->carried, carried);
    end();
}

/* A relay elsewhere that says a player is on the server's own machine. */
Test(relay_meeting, no_relay_elsewhere_makes_a_player_one_of_this_machine)
{
    start(NO_ROUTER, NO_ROUTER);
    player_node.public_side.address[12] = 127;
    await_registration();
    const ls_relay_client_config config = config_of_player();
    cr_assert_eq(refusal_of(&config), LS_RELAY_REFUSAL_SERVER);
    end();
}
