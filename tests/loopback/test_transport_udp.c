#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/tests/loopback/station.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CHILD_HEARD_ALL,
    CHILD_LACKS_SOME,
};

/* ENet's own clock, in milliseconds; it follows the wall clock. */
void enet_time_set(uint32_t now_ms);
uint32_t enet_time_get(void);

enum {
    TIMEOUT_MS = 10000,
    SHORT_TIMEOUT_MS = 300
};

static ls_station server, client;
static ls_relay relay;

static void close_stations(void)
{
    ls_station_close(&client);
    ls_station_close(&server);
    ls_relay_close(&relay);
}

TestSuite(transport_udp, .fini = close_stations);

static void assert_newest(const ls_station *station, ls_channel channel, const void *bytes,
                          size_t size)
{
    const ls_station_packet *packet = ls_station_newest(station);
    cr_assert_eq(packet->channel, channel);
    cr_assert_eq(packet->size, size);
    cr_assert_eq(memcmp(packet->bytes, bytes, size), 0);
}

Test(transport_udp, packets_of_every_size_cross_on_both_channels_in_both_directions)
{
    ls_stations_connect(&server, &client, 4);
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 7 + 3);
    }
    static const size_t sizes[] = {0, 1, 300, LS_PACKET_BYTES_MAX};
    ls_station *ends[] = {&server, &client};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (ls_channel channel = 0; channel < LS_CHANNEL_COUNT; channel++) {
            for (size_t from = 0; from < 2; from++) {
                ls_station *receiver = ends[1 - from];
                size_t before = receiver->received_count;
                ls_station_send(ends[from], channel, bytes, sizes[i]);
                LS_RUN_UNTIL(receiver->received_count > before, &server, &client);
                cr_assert_eq(receiver->received_count, before + 1);
                assert_newest(receiver, channel, bytes, sizes[i]);
                cr_assert_eq(ls_station_newest(receiver)->peer, receiver->connected[0]);
            }
        }
    }
}

Test(transport_udp, the_reliable_channel_keeps_its_order)
{
    ls_stations_connect(&server, &client, 4);
    for (uint32_t i = 0; i < 50; i++) {
        ls_station_send(&client, LS_CHANNEL_RELIABLE, &i, sizeof i);
    }
    LS_RUN_UNTIL(server.received_count == 50, &server, &client);
    for (uint32_t i = 0; i < 50; i++) {
        cr_assert_eq(memcmp(server.packets[i].bytes, &i, sizeof i), 0);
    }
}

Test(transport_udp, each_of_several_clients_is_a_peer_of_its_own)
{
    enum {
        CLIENTS = 6
    };
    server = ls_station_listen(CLIENTS);
    server.echoes = true;
    ls_station clients[CLIENTS];
    for (size_t i = 0; i < CLIENTS; i++) {
        clients[i] = ls_station_connect(ls_station_port(&server), TIMEOUT_MS);
        LS_RUN_UNTIL(clients[i].connected_count == 1, &server, &clients[i]);
    }
    LS_RUN_UNTIL(server.connected_count == CLIENTS, &server, &clients[CLIENTS - 1]);
    for (size_t i = 0; i < CLIENTS; i++) {
        cr_assert_neq(server.connected[i], 0);
        cr_assert_neq(server.origins[i], 0);
        cr_assert_eq(server.origins[i], server.origins[0], "all come from this machine");
        for (size_t j = 0; j < i; j++) {
            cr_assert_neq(server.connected[i], server.connected[j]);
        }
        ls_station_send(&clients[i], LS_CHANNEL_UNRELIABLE, &i, sizeof i);
    }
    for (size_t i = 0; i < CLIENTS; i++) {
        LS_RUN_UNTIL(clients[i].received_count == 1, &server, &clients[i]);
        assert_newest(&clients[i], LS_CHANNEL_UNRELIABLE, &i, sizeof i);
        ls_station_close(&clients[i]);
    }
    LS_RUN_UNTIL(server.disconnected_count == CLIENTS, &server);
}

Test(transport_udp, what_many_peers_have_sent_meanwhile_is_taken_in_one_turn)
{
    enum {
        CLIENTS = 40,
        EACH = 15
    };
    server = ls_station_listen(CLIENTS);
    static ls_station clients[CLIENTS];
    for (size_t i = 0; i < CLIENTS; i++) {
        clients[i] = ls_station_connect(ls_station_port(&server), TIMEOUT_MS);
        LS_RUN_UNTIL(clients[i].connected_count == 1 && server.connected_count == i + 1, &server,
                     &clients[i]);
    }
    size_t before = server.received_count;
    for (size_t i = 0; i < CLIENTS * EACH; i++) {
        ls_station *sender = &clients[i % CLIENTS];
        ls_station_send(sender, LS_CHANNEL_UNRELIABLE, &i, sizeof i);
        ls_transport_flush(sender->transport);
    }
    ls_station_turn(&server);
    cr_assert_eq(server.received_count - before, CLIENTS * EACH);
    cr_assert_not(ls_transport_udp_has_more(server.transport));
    for (size_t i = 0; i < CLIENTS; i++) {
        ls_station_close(&clients[i]);
    }
}

static ls_peer_id receive_packet(ls_station *station)
{
    ls_transport_event event;
    while (ls_transport_next_event(station->transport, &event)) {
        if (event.kind == LS_TRANSPORT_RECEIVED) {
            return event.peer;
        }
    }
    return 0;
}

Test(transport_udp, a_server_is_told_once_whose_packets_are_coming)
{
    enum {
        SENT = 5
    };
    ls_station other = {0};
    ls_stations_connect(&server, &client, 4);
    other = ls_station_connect(ls_station_port(&server), TIMEOUT_MS);
    ls_station *const all[] = {&server, &client, &other};
    LS_RUN_UNTIL(server.connected_count == 2 && other.connected_count == 1, &server, &client,
                 &other);
    ls_stations_idle(all, 3, 50);
    ls_station *const senders[SENT] = {&client, &other, NULL, &client, &other};
    uint16_t port;
    int unknown = ls_open_socket(&port);
    for (size_t i = 0; i < SENT; i++) {
        if (senders[i]) {
            ls_station_send(senders[i], LS_CHANNEL_UNRELIABLE, &i, sizeof i);
            ls_transport_flush(senders[i]->transport);
        } else {
            ls_send_datagram(unknown, ls_station_port(&server), "garbage", 7);
        }
    }
    ls_peer_id peers[LS_TRANSPORT_UDP_COMING_MAX];
    const ls_peer_id first = server.connected[0];
    const ls_peer_id second = server.connected[1];
    ls_transport_udp_service(server.transport);
    cr_assert_eq(ls_transport_udp_coming(server.transport, peers), 0, "none has been received");
    cr_assert_eq(receive_packet(&server), first);
    cr_assert_eq(ls_transport_udp_coming(server.transport, peers), SENT - 1);
    const ls_peer_id expected[] = {second, 0, first, second};
    cr_assert_arr_eq(peers, expected, sizeof expected);
    for (size_t i = 1; i < SENT; i++) {
        cr_assert_eq(ls_transport_udp_coming(server.transport, peers), 0, "they were told of");
        if (senders[i]) {
            cr_assert_eq(receive_packet(&server), expected[i - 1]);
        }
    }
    cr_assert_eq(receive_packet(&server), 0);
    cr_assert_eq(ls_transport_udp_coming(client.transport, peers), 0, "a client has one peer");
    ls_station_close(&other);
    close(unknown);
}

Test(transport_udp, a_peer_that_is_sent_away_hears_the_last_reliable_word_first)
{
    ls_stations_connect(&server, &client, 4);
    ls_station_send(&server, LS_CHANNEL_RELIABLE, "match full", 10);
    ls_transport_disconnect(server.transport, server.connected[0]);
    LS_RUN_UNTIL(client.disconnected_count == 1 && server.disconnected_count == 1, &server,
                 &client);
    cr_assert_eq(client.received_count, 1);
    assert_newest(&client, LS_CHANNEL_RELIABLE, "match full", 10);
    cr_assert_eq(client.reasons[0], LS_DISCONNECTED);
    cr_assert_eq(server.reasons[0], LS_DISCONNECTED);
    cr_assert_eq(server.disconnected[0], server.connected[0]);
}

Test(transport_udp, ids_are_never_used_again)
{
    enum {
        ROUNDS = 5
    };
    server = ls_station_listen(1); /* every client gets the same seat */
    for (size_t i = 0; i < ROUNDS; i++) {
        client = ls_station_connect(ls_station_port(&server), TIMEOUT_MS);
        LS_RUN_UNTIL(server.connected_count == i + 1 && client.connected_count == 1, &server,
                     &client);
        ls_station_close(&client);
        LS_RUN_UNTIL(server.disconnected_count == i + 1, &server);
        cr_assert_eq(server.disconnected[i], server.connected[i]);
        cr_assert_eq(server.reasons[i], LS_DISCONNECTED);
        for (size_t j = 0; j < i; j++) {
            cr_assert_neq(server.connected[i], server.connected[j]);
        }
    }
}

/* ---- a client that connects anew ---- */

static void reconnect(void)
{
    cr_assert_eq(ls_transport_udp_reconnect(client.transport, TIMEOUT_MS * LS_NS_PER_MS), LS_OK);
}

Test(transport_udp, a_client_that_connects_anew_is_another_peer)
{
    ls_stations_connect(&server, &client, 4);
    for (size_t i = 1; i < 4; i++) {
        reconnect(); /* while it is connected */
        LS_RUN_UNTIL(server.connected_count == i + 1 && client.connected_count == i + 1, &server,
                     &client);
        cr_assert_neq(client.connected[i], client.connected[i - 1]);
        cr_assert_neq(server.connected[i], server.connected[i - 1]);
    }
    LS_RUN_UNTIL(server.disconnected_count == 3, &server, &client);
    cr_assert_eq(client.disconnected_count, 0,
                 "no event tells of a connection that it has given up itself");
    ls_transport_send(client.transport, client.connected[3], LS_CHANNEL_RELIABLE,
                      (const uint8_t *)"x", 1);
    LS_RUN_UNTIL(server.received_count == 1, &server, &client);
    cr_assert_eq(ls_station_newest(&server)->peer, server.connected[3]);
}

Test(transport_udp, a_server_knows_where_its_peers_are)
{
    char text[LS_TRANSPORT_UDP_ADDRESS_BYTES] = "";
    ls_stations_connect(&server, &client, 4);
    cr_assert_eq(ls_transport_udp_address(server.transport, server.connected[0], text), LS_OK);
    cr_expect(strncmp(text, "127.0.0.1:", 10) == 0, "%s", text);
    cr_assert_eq(ls_transport_udp_address(server.transport, 12345, text), LS_NOT_FOUND);
}

Test(transport_udp, a_client_connects_anew_to_a_server_that_was_started_again)
{
    server = ls_station_listen(4);
    uint16_t port = ls_station_port(&server);
    client = ls_station_connect(port, TIMEOUT_MS);
    LS_RUN_UNTIL(client.connected_count == 1 && server.connected_count == 1, &server, &client);
    ls_station_close(&server);
    LS_RUN_UNTIL(client.disconnected_count == 1, &client);
    reconnect();
    LS_RUN_UNTIL(client.disconnected_count == 2, &client);
    cr_assert_eq(client.reasons[1], LS_UNREACHABLE, "nobody listens there");
    ls_transport_udp_server_config config = ls_station_server_config(64);
    config.port = port;
    ls_station again = {0};
    cr_assert_eq(ls_transport_udp_listen(&config, ls_allocator_heap(), &again.transport, NULL),
                 LS_OK);
    reconnect();
    LS_RUN_UNTIL(client.connected_count == 2 && again.connected_count == 1, &again, &client);
    ls_station_close(&client);
    ls_station_close(&again);
}

Test(transport_udp, nothing_happens_to_a_peer_that_is_gone)
{
    ls_stations_connect(&server, &client, 1);
    cr_assert_gt(ls_station_traffic(&server).bytes_received, 0);
    ls_station_close(&client);
    LS_RUN_UNTIL(server.disconnected_count == 1, &server);
    ls_station newcomer = ls_station_connect(ls_station_port(&server), TIMEOUT_MS);
    LS_RUN_UNTIL(server.connected_count == 2 && newcomer.connected_count == 1, &server, &newcomer);
    ls_station_send(&server, LS_CHANNEL_RELIABLE, "for the dead", 12);
    ls_transport_disconnect(server.transport, server.connected[0]);
    const uint8_t letter = 'x';
    ls_transport_send(server.transport, 0, LS_CHANNEL_RELIABLE, &letter, 1);
    ls_transport_send(server.transport, server.connected[1], LS_CHANNEL_RELIABLE, &letter, 1);
    LS_RUN_UNTIL(newcomer.received_count == 1, &server, &newcomer);
    assert_newest(&newcomer, LS_CHANNEL_RELIABLE, &letter, 1);
    cr_assert_eq(newcomer.disconnected_count, 0);
    cr_assert_eq(ls_station_traffic(&server).bytes_sent, 0);
    ls_station_close(&newcomer);
}

/* Long before the time is over, which is longer than the test's patience. */
Test(transport_udp, a_closed_port_is_known_at_once)
{
    uint16_t port;
    close(ls_open_socket(&port));
    client = ls_station_connect(port, 2 * LS_STATION_PATIENCE_NS / LS_NS_PER_MS);
    LS_RUN_UNTIL(client.disconnected_count == 1, &client);
    cr_assert_eq(client.reasons[0], LS_UNREACHABLE);
    cr_assert_eq(client.connected_count, 0);
}

Test(transport_udp, a_silent_host_times_out)
{
    uint16_t port;
    int silent = ls_open_socket(&port);
    client = ls_station_connect(port, SHORT_TIMEOUT_MS);
    LS_RUN_UNTIL(client.disconnected_count == 1, &client);
    cr_assert_eq(client.reasons[0], LS_TIMED_OUT);
    ls_station_close(&client);
    close(silent);
}

Test(transport_udp, a_client_can_give_up_connecting)
{
    uint16_t port;
    int silent = ls_open_socket(&port);
    client = ls_station_connect(port, TIMEOUT_MS);
    ls_transport_disconnect(client.transport, 1);
    LS_RUN_UNTIL(client.disconnected_count == 1, &client);
    cr_assert_eq(client.reasons[0], LS_DISCONNECTED);
    cr_assert_eq(client.disconnected[0], 1);
    ls_station_close(&client);
    close(silent);
}

Test(transport_udp, a_full_server_lets_nobody_in_and_keeps_whom_it_has)
{
    server = ls_station_listen(1);
    ls_station first = ls_station_connect(ls_station_port(&server), TIMEOUT_MS);
    LS_RUN_UNTIL(server.connected_count == 1 && first.connected_count == 1, &server, &first);
    ls_station second = ls_station_connect(ls_station_port(&server), SHORT_TIMEOUT_MS);
    LS_RUN_UNTIL(second.disconnected_count == 1, &server, &first, &second);
    cr_assert_eq(second.reasons[0], LS_REFUSED);
    cr_assert_eq(ls_transport_udp_refusal(second.transport), LS_SEALED_REFUSAL_FULL);
    cr_assert_geq(ls_transport_udp_denials(server.transport, LS_DENIAL_FULL), 1);
    cr_assert_eq(ls_transport_udp_denials(server.transport, LS_DENIAL_TOO_MANY), 0);
    cr_assert_eq(server.connected_count, 1);
    cr_assert_eq(server.disconnected_count, 0);
    ls_station_close(&second);
    ls_station_close(&first);
}

Test(transport_udp, one_address_cannot_take_every_seat)
{
    ls_transport_udp_server_config config = ls_station_server_config(64);
    config.sealed.per_address_max = 1;
    cr_assert_eq(ls_transport_udp_listen(&config, ls_allocator_heap(), &server.transport, NULL),
                 LS_OK);
    ls_station first = ls_station_connect(ls_station_port(&server), TIMEOUT_MS);
    LS_RUN_UNTIL(server.connected_count == 1 && first.connected_count == 1, &server, &first);
    ls_station second = ls_station_connect(ls_station_port(&server), SHORT_TIMEOUT_MS);
    LS_RUN_UNTIL(second.disconnected_count == 1, &server, &first, &second);
    cr_assert_eq(server.connected_count, 1);
    ls_station_close(&second);
    ls_station_close(&first);
}

Test(transport_udp, an_address_that_cannot_be_used_is_explained)
{
    static const struct {
        const char *server;
        ls_status status;
        const char *text;
    } cases[] = {
        {"no..such..host:7777", LS_NOT_FOUND, "cannot find the host 'no..such..host'"},
        {"::1:7777", LS_BAD_ARGUMENT, "brackets"},
        {":7300", LS_BAD_ARGUMENT, "HOST[:PORT]"},
        {"127.0.0.1:0", LS_BAD_ARGUMENT, "1 to 65535"},
        {"lockstep://127.0.0.1:7300/#short", LS_BAD_ARGUMENT, "invite"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ls_transport_udp_client_config config = ls_transport_udp_client_config_default();
        config.server = cases[i].server;
        ls_transport *transport = NULL;
        ls_text error = {""};
        ls_status status =
            ls_transport_udp_connect(&config, ls_allocator_heap(), &transport, &error);
        cr_assert_eq(status, cases[i].status);
        cr_assert_null(transport);
        cr_assert(strstr(error.bytes, cases[i].text), "%s", error.bytes);
    }
}

/* The server's key is given to nobody: the client has it from its invite, and needs the secret. */
Test(transport_udp, an_invite_brings_the_key_that_proves_the_server)
{
    ls_transport_udp_server_config config = ls_station_server_config(2);
    config.sealed.gives_key_to_loopback = false;
    config.sealed.needs_secret = true;
    memset(config.sealed.secret, 7, sizeof config.sealed.secret);
    ls_text error = {""};
    cr_assert_eq(ls_transport_udp_listen(&config, ls_allocator_heap(), &server.transport, &error),
                 LS_OK);
    char text[LS_INVITE_TEXT_BYTES_MAX];
    ls_transport_udp_invite(server.transport, "127.0.0.1", text);
    ls_transport_udp_client_config joining = ls_transport_udp_client_config_default();
    joining.server = text;
    cr_assert_eq(ls_transport_udp_connect(&joining, ls_allocator_heap(), &client.transport, &error),
                 LS_OK);
    LS_RUN_UNTIL(server.connected_count == 1 && client.connected_count == 1, &server, &client);
    ls_station_close(&client);

    char address[LS_ENDPOINT_JOINED_BYTES];
    ls_endpoint_join("127.0.0.1", ls_station_port(&server), address);
    joining.server = address;
    cr_assert_eq(ls_transport_udp_connect(&joining, ls_allocator_heap(), &client.transport, &error),
                 LS_OK);
    client.disconnected_count = 0;
    LS_RUN_UNTIL(client.disconnected_count == 1, &server, &client);
    cr_assert_eq(ls_transport_udp_refusal(client.transport), LS_SEALED_REFUSAL_KEY_WITHHELD);
    ls_station_close(&client);
}

static void assert_cannot_listen(const ls_transport_udp_server_config *config, ls_status expected,
                                 const char *expected_text)
{
    ls_transport *transport = NULL;
    ls_text error = {""};
    ls_status status = ls_transport_udp_listen(config, ls_allocator_heap(), &transport, &error);
    cr_assert_eq(status, expected, "%s", error.bytes);
    cr_assert_null(transport);
    cr_assert(strstr(error.bytes, expected_text), "%s", error.bytes);
}

Test(transport_udp, a_port_in_use_is_named_with_the_reason)
{
    server = ls_station_listen(1);
    ls_transport_udp_server_config config = ls_station_server_config(64);
    config.port = ls_station_port(&server);
    assert_cannot_listen(&config, LS_IO, strerror(EADDRINUSE));
}

Test(transport_udp, a_bad_server_config_is_explained)
{
    ls_transport_udp_server_config config = ls_station_server_config(64);
    config.bind_host = "no..such..host";
    assert_cannot_listen(&config, LS_NOT_FOUND, "no..such..host");
    config.bind_host = "192.0.2.1"; /* documentation's, nobody's interface */
    assert_cannot_listen(&config, LS_IO, "192.0.2.1");
    config.bind_host = "127.0.0.1";
    config.sealed.connections_max = LS_TRANSPORT_UDP_PEERS_MAX + 1;
    assert_cannot_listen(&config, LS_BAD_ARGUMENT, "32767");
    config.sealed.connections_max = 0;
    assert_cannot_listen(&config, LS_BAD_ARGUMENT, "32767");
}

Test(transport_udp, a_packet_above_the_limit_is_a_programmers_mistake, .signal = SIGABRT)
{
    server = ls_station_listen(1);
    static const uint8_t bytes[LS_PACKET_BYTES_MAX + 1];
    ls_transport_send(server.transport, 1, LS_CHANNEL_UNRELIABLE, bytes, sizeof bytes);
}

Test(transport_udp, a_peer_that_acknowledges_nothing_is_lost_before_memory_is)
{
    ls_stations_connect(&server, &client, 1);
    static const uint8_t bytes[LS_PACKET_BYTES_MAX];
    for (size_t sent = 0; sent < LS_BACKLOG_BYTES_MAX; sent += sizeof bytes) {
        ls_station_send(&server, LS_CHANNEL_RELIABLE, bytes, sizeof bytes);
    }
    ls_station_turn(&server);
    cr_assert_eq(server.disconnected_count, 1);
    cr_assert_eq(server.reasons[0], LS_TIMED_OUT);
}

Test(transport_udp, closing_a_dead_connection_ends_in_time)
{
    ls_stations_connect(&server, &client, 1);
    ls_station_send(&server, LS_CHANNEL_RELIABLE, "anybody there?", 14);
    ls_transport_disconnect(server.transport, server.connected[0]);
    uint64_t start = ls_station_now_ns();
    LS_RUN_UNTIL(server.disconnected_count == 1, &server); /* the client never turns again */
    cr_assert_geq(ls_station_now_ns() - start, LS_TRANSPORT_UDP_CLOSE_MS * LS_NS_PER_MS);
    cr_assert_eq(server.reasons[0], LS_DISCONNECTED);
}

Test(transport_udp, setting_the_wall_clock_loses_no_connection)
{
    ls_stations_connect(&server, &client, 1);
    static const int32_t jumps_ms[] = {3600 * 1000, -2 * 3600 * 1000};
    for (size_t i = 0; i < 2; i++) {
        ls_station_send(&server, LS_CHANNEL_RELIABLE, "before", 6);
        ls_transport_flush(server.transport);
        enet_time_set(enet_time_get() + (uint32_t)jumps_ms[i]);
        size_t before = client.received_count;
        LS_RUN_UNTIL(client.received_count == before + 1, &server, &client);
        ls_station_send(&server, LS_CHANNEL_RELIABLE, "after", 5);
        LS_RUN_UNTIL(client.received_count == before + 2, &server, &client);
    }
    cr_assert_eq(server.disconnected_count + client.disconnected_count, 0);
}

/* Connects, listens until it is sent away, and ends the process. */
static void run_listening_child(uint16_t port, size_t packets_wanted)
{
    client = ls_station_connect(port, TIMEOUT_MS);
    LS_RUN_UNTIL(client.disconnected_count == 1, &client);
    _exit(client.received_count == packets_wanted ? CHILD_HEARD_ALL : CHILD_LACKS_SOME);
}

Test(transport_udp, destroy_lets_what_was_sent_reliably_arrive)
{
    enum {
        PACKETS = 100 /* more than ENet sends without an answer */
    };
    server = ls_station_listen(1);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        run_listening_child(ls_station_port(&server), PACKETS);
    }
    LS_RUN_UNTIL(server.connected_count == 1, &server);
    static const uint8_t bytes[LS_PACKET_BYTES_MAX];
    for (size_t i = 0; i < PACKETS; i++) {
        ls_station_send(&server, LS_CHANNEL_RELIABLE, bytes, sizeof bytes);
    }
    ls_station_close(&server);
    int status = -1;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status));
    cr_assert_eq(WEXITSTATUS(status), CHILD_HEARD_ALL);
}

/* By itself ENet takes a longer way for congestion and drops unreliable packets in silence. */
Test(transport_udp, a_longer_way_drops_no_unreliable_packet)
{
    enum {
        PACKETS = 40
    };
    server = ls_station_listen(1);
    uint64_t end = ls_station_now_ns() + LS_STATION_PATIENCE_NS;
    ls_stations_connect_through(&server, &client, &relay);
    relay.delay_ns = 10 * LS_NS_PER_MS;
    for (size_t i = 0; i < 50; i++) {
        ls_stations_turn_through(&server, &client, &relay);
    }
    relay.delay_ns = 100 * LS_NS_PER_MS;
    for (size_t i = 0; i < PACKETS; i++) {
        ls_station_send(&client, LS_CHANNEL_RELIABLE, &i, sizeof i);
        ls_stations_turn_through(&server, &client, &relay);
    }
    while (server.received_count < PACKETS || relay.held_count > 0) {
        cr_assert_lt(ls_station_now_ns(), end);
        ls_stations_turn_through(&server, &client, &relay);
    }
    for (size_t i = 0; i < PACKETS; i++) {
        ls_station_send(&client, LS_CHANNEL_UNRELIABLE, &i, sizeof i);
        ls_stations_turn_through(&server, &client, &relay);
    }
    while (server.received_count < 2 * PACKETS) {
        cr_assert_lt(ls_station_now_ns(), end, "%zu received", server.received_count);
        ls_stations_turn_through(&server, &client, &relay);
    }
}

static void *allocate_some(void *user, size_t bytes)
{
    size_t *left = user;
    if (*left == 0) {
        return NULL;
    }
    (*left)--;
    return ls_allocate(ls_allocator_heap(), bytes);
}

static void release_some(void *user, void *memory)
{
    (void)user;
    ls_release(ls_allocator_heap(), memory);
}

Test(transport_udp, lack_of_memory_is_a_status)
{
    enum {
        ALLOCATIONS_MIN = 6,
        ALLOCATIONS_MAX = 40
    };
    ls_status status = LS_NO_MEMORY;
    size_t allowed = 0;
    for (; status != LS_OK; allowed++) {
        cr_assert_leq(allowed, ALLOCATIONS_MAX);
        size_t left = allowed;
        ls_allocator allocator = {allocate_some, release_some, &left, NULL};
        ls_transport_udp_server_config config = ls_station_server_config(64);
        ls_transport *transport = NULL;
        ls_text error = {""};
        status = ls_transport_udp_listen(&config, &allocator, &transport, &error);
        cr_assert(status == LS_OK || status == LS_NO_MEMORY, "%s", error.bytes);
        ls_transport_destroy(transport);
    }
    cr_assert_gt(allowed, ALLOCATIONS_MIN);
}
