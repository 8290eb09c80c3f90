/* Servers are found on the local network: here on the loopback alone. */
#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/broadcast_socket.h"
#include "lockstep/protocol/discovery/discovery.h"
#include "lockstep/tests/loopback/hosted.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOOPBACK_BROADCAST "127.255.255.255"

/* A port of the system's choice: this socket keeps it, beside the servers'. */
static int holder, asker;
static uint16_t find_port;
static ls_process second, third;

static void open_find(void)
{
    struct sockaddr_in own;
    socklen_t size = sizeof own;
    ls_text why = {{0}};
    hosted_open();
    cr_assert_eq(ls_broadcast_socket_open(0, &holder, &why), LS_OK, "%s", why.bytes);
    cr_assert_eq(ls_broadcast_socket_open(0, &asker, &why), LS_OK, "%s", why.bytes);
    cr_assert_eq(getsockname(holder, (struct sockaddr *)&own, &size), 0);
    find_port = ntohs(own.sin_port);
}

static void close_find(void)
{
    close(holder);
    close(asker);
    ls_process_stop(&second);
    ls_process_stop(&third);
    hosted_close();
}

TestSuite(programs_find, .init = open_find, .fini = close_find);

static const char *port_text(void)
{
    return hosted_text("%u", find_port);
}

static void serve_beside(ls_process *process, const char *name, const char *is_found)
{
    const ls_process_config config = {
        .program = LS_TEST_SERVER,
        .arguments =
            LS_ARGUMENTS("--bind", "127.0.0.1", "--port", "0", "--sim", "units", "--players", "3",
                         "--spectators", "5", "--find", is_found, "--find-port", port_text()),
        .output_stem = hosted_path(name)};
    ls_process_start(process, &config);
    cr_assert(ls_process_wait_for_words(process, "listening on", LS_PROCESS_PATIENCE_MS));
}

static void find(int exit_code)
{
    hosted_run(exit_code, LS_TEST_CLIENT, "--find=" LOOPBACK_BROADCAST, "--find-port", port_text(),
               "--json", hosted_path("found.json"));
}

static const cJSON *server_of(const cJSON *found, const char *simulation)
{
    const cJSON *server = NULL;
    cJSON_ArrayForEach(server, hosted_item(found, "servers"))
    {
        if (strcmp(hosted_word(server, "simulation"), simulation) == 0) {
            return server;
        }
    }
    cr_assert_fail("no server of %s was found", simulation);
    return NULL;
}

Test(programs_find, client_lists_the_servers_of_a_machine_that_want_to_be_found)
{
    hosted_serve("--sim", "arena", "--players", "2", "--start-players", "1", "--find", "on",
                 "--find-port", port_text());
    hosted_join("--bot", "1");
    hosted_expect_words(&hosted.clients[0], "the match starts");
    serve_beside(&second, "second", "on");
    serve_beside(&third, "third", "off");
    find(0);
    const char *table = ls_process_output(&hosted.other);
    cr_assert_not_null(strstr(table, hosted_address()), "%s", table);
    cr_assert_not_null(strstr(table, "1 of 2"), "%s", table);
    cJSON *found = hosted_read_json(hosted_path("found.json"));
    cr_assert_eq(hosted_count(found, "servers"), 2);
    const cJSON *arena = server_of(found, "arena");
    cr_assert_str_eq(hosted_word(arena, "address"), hosted_address());
    cr_assert_str_eq(hosted_word(arena, "state"), "running");
    cr_assert_eq(hosted_number(arena, "players"), 1);
    cr_assert_gt(hosted_number(arena, "tick"), 0);
    const cJSON *units = server_of(found, "units");
    cr_assert_str_eq(hosted_word(units, "state"), "waiting");
    cr_assert_eq(hosted_number(units, "seats"), 3);
    cr_assert_eq(hosted_number(units, "spectators_max"), 5);
    cJSON_Delete(found);
    ls_process_signal(&hosted.server, SIGINT);
    hosted_expect_clean_exits();
}

Test(programs_find, client_that_finds_nobody_says_so)
{
    find(1);
    hosted_expect_all(&hosted.other, "no server has answered", port_text());
    cr_assert_str_empty(ls_process_output(&hosted.other));
}

static void send_query(const char *address, uint64_t nonce, size_t size)
{
    uint8_t bytes[LS_DISCOVERY_BYTES];
    ls_discovery_write_query(bytes, nonce);
    cr_assert_eq(ls_broadcast_socket_broadcast(asker, inet_addr(address), find_port, bytes, size),
                 1);
}

/* Counts until nothing has come for 300 ms. */
static uint32_t count_answers(uint64_t nonce)
{
    uint32_t count = 0;
    struct pollfd wait = {.fd = asker, .events = POLLIN};
    ls_broadcast_datagram datagram;
    ls_discovery_answer answer;
    while (poll(&wait, 1, 300) == 1) {
        while (ls_broadcast_socket_receive(asker, &datagram)) {
            if (ls_discovery_read_answer(datagram.bytes, datagram.size, &answer)) {
                cr_assert_eq(answer.nonce, nonce);
                cr_assert_eq(answer.port, hosted.port);
                count++;
            }
        }
    }
    return count;
}

/* A router passes no broadcast on, so what comes from afar gets no answer. */
Test(programs_find, server_answers_broadcast_queries_alone_and_only_so_many)
{
    hosted_serve(ARENA("2", "0"), "--find", "on", "--find-port", port_text());
    send_query(LOOPBACK_BROADCAST, 7, LS_DISCOVERY_BYTES - 1);
    cr_assert_eq(count_answers(7), 0);
    send_query(LOOPBACK_BROADCAST, 8, LS_DISCOVERY_BYTES);
    cr_assert_eq(count_answers(8), 1);
    for (int i = 0; i < 200; i++) {
        send_query(LOOPBACK_BROADCAST, 9, LS_DISCOVERY_BYTES);
    }
    uint32_t count = count_answers(9);
    cr_assert(count >= 32 && count < 150, "%u answers", count);
    /* Of several sockets a datagram for this address goes to the newest: the server's. */
    send_query("127.0.0.1", 10, LS_DISCOVERY_BYTES);
    cr_assert_eq(count_answers(10), 0);
    send_query(LOOPBACK_BROADCAST, 11, LS_DISCOVERY_BYTES);
    cr_assert_eq(count_answers(11), 1);
    ls_process_signal(&hosted.server, SIGINT);
    hosted_expect_clean_exits();
}

Test(programs_find, server_without_the_port_is_hosted_all_the_same)
{
    struct sockaddr_in own;
    socklen_t size = sizeof own;
    int taken = socket(AF_INET, SOCK_DGRAM, 0);
    memset(&own, 0, sizeof own);
    own.sin_family = AF_INET;
    cr_assert_eq(bind(taken, (const struct sockaddr *)&own, sizeof own), 0);
    cr_assert_eq(getsockname(taken, (struct sockaddr *)&own, &size), 0);
    hosted_serve(ARENA("1", "20"), "--find", "on", "--find-port",
                 hosted_text("%u", ntohs(own.sin_port)));
    hosted_expect_words(&hosted.server,
                        "lockstep-client --find will not find this server: UDP port");
    hosted_join("--bot", "1");
    hosted_expect_perfect(20);
    close(taken);
}
