#include "lockstep/protocol/sealed/sealed_server.h"

#include "sealed_pair.h"

#define NOW SEALED_START_NS

static ls_sealed_server_config config;
static ls_sealed_server *server;
static ls_sealed_client *client;
static ls_endpoint home;

static void begin(void)
{
    config = sealed_usual_config();
    server = sealed_server_with(&config);
    ls_sealed_client_config client_config = sealed_client_of(&config);
    client = sealed_client_with(&client_config, NOW);
    home = sealed_address(1, 4000);
}

static void end(void)
{
    ls_sealed_client_destroy(client);
    ls_sealed_server_destroy(server);
}

TestSuite(sealed_server, .init = begin, .fini = end);

Test(sealed_server, client_and_server_exchange_keys_and_packets)
{
    uint32_t index = sealed_connect(server, client, home, NOW);
    cr_assert_eq(ls_sealed_client_state_of(client), LS_SEALED_CLIENT_OPEN);
    sealed_datagram up = sealed_by_client(client, LS_SEALED_ENET, "up", 2);
    ls_sealed_received received;
    ls_sealed_server_receive(server, &home, up.bytes, up.size, NOW, &received);
    cr_assert(received.has_content);
    cr_assert_not(received.is_opened);
    cr_assert_eq(received.index, index);
    cr_assert_eq(received.content, LS_SEALED_ENET);
    cr_assert_eq(received.size, 2);
    cr_assert_arr_eq(received.bytes, "up", 2);
    cr_assert_eq(received.answer_bytes, 0);

    sealed_datagram down = sealed_by_server(server, index, "down", 4);
    ls_sealed_client_received got;
    ls_sealed_client_receive(client, down.bytes, down.size, NOW, &got);
    cr_assert(got.has_content);
    cr_assert_eq(got.content, LS_SEALED_PACKET);
    cr_assert_eq(got.size, 4);
    cr_assert_arr_eq(got.bytes, "down", 4);
}

Test(sealed_server, cookie_is_of_one_address_and_port)
{
    const ls_endpoint others[] = {sealed_address(2, 4000), sealed_address(1, 4001)};
    ls_sealed_received received;
    sealed_datagram challenge =
        sealed_to_server(server, home, sealed_take(client, NOW), NOW, &received);
    cr_assert_eq(sealed_to_client(client, challenge, NOW).rejection, LS_SEALED_ACCEPTED);
    sealed_datagram confirm = sealed_take(client, NOW);
    for (size_t i = 0; i < 2; i++) {
        sealed_to_server(server, others[i], confirm, NOW, &received);
        cr_assert_eq(received.rejection, LS_SEALED_REJECT_COOKIE);
        cr_assert_eq(received.answer_bytes, 0);
    }
    sealed_to_server(server, home, confirm, NOW, &received);
    cr_assert_eq(received.rejection, LS_SEALED_ACCEPTED);
}
