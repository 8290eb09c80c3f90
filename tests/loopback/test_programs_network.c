/* The network of the real programs: addresses and ports, a bad network, and servers that are found.
 */
#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/broadcast_socket.h"
#include "lockstep/protocol/discovery/discovery.h"
#include "lockstep/tests/loopback/hosted.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* ==== programs_network ==== */

TestSuite(programs_network, .init = hosted_open, .fini = hosted_close);

/* Runs a program that gives up with exit code 1 and this sentence. */
#define expect_failure(program, sentence, ...)                                                     \
    hosted_expect_refusal(1, program, sentence, __VA_ARGS__)

/* ---- the server's end ---- */

Test(programs_network, a_port_in_use_is_told)
{
    uint16_t port;
    int descriptor = ls_open_socket(&port);
    expect_failure(
        LS_TEST_SERVER,
        hosted_text("error: cannot listen on 127.0.0.1, UDP port %u: Address already in use\n",
                    port),
        "--bind", "127.0.0.1", "--port", hosted_text("%u", port));
    close(descriptor);
}

Test(programs_network, two_servers_cannot_share_a_port)
{
    hosted_serve(ARENA("1", "10"));
    expect_failure(LS_TEST_SERVER, "Address already in use", "--bind", "127.0.0.1", "--port",
                   hosted_text("%u", hosted.port));
    hosted_join("--bot", "1");
    hosted_expect_perfect(10);
}

/* 192.0.2.0/24 is nobody's: it stands in documents. */
Test(programs_network, an_address_of_another_machine_is_told)
{
    expect_failure(LS_TEST_SERVER,
                   "error: cannot listen on 192.0.2.1, UDP port 0: Cannot assign requested",
                   "--bind", "192.0.2.1", "--port", "0");
}

static bool are_low_ports_free(void)
{
    unsigned first = 1024;
    FILE *file = fopen("/proc/sys/net/ipv4/ip_unprivileged_port_start", "r");
    if (file) {
        cr_assert_eq(fscanf(file, "%u", &first), 1);
        fclose(file);
    }
    return first <= 1;
}

Test(programs_network, a_privileged_port_is_told)
{
    enum {
        NOBODY = 65534,
        CANNOT_START = 126
    };
    if (are_low_ports_free()) {
        cr_skip("any port is free for all here");
    }
    ls_process_config config = {.program = LS_TEST_SERVER,
                                .arguments = LS_ARGUMENTS("--bind", "127.0.0.1", "--port", "1"),
                                .output_stem = hosted_path("server"),
                                .user = geteuid() == 0 ? NOBODY : 0};
    ls_process_start(&hosted.server, &config);
    cr_assert(ls_process_wait(&hosted.server, LS_PROCESS_PATIENCE_MS));
    if (hosted.server.exit_code == CANNOT_START) {
        cr_skip("the build is out of other users' reach");
    }
    hosted_expect_exit(&hosted.server, 1);
    hosted_expect_all(&hosted.server, "cannot listen on 127.0.0.1, UDP port 1: Permission denied "
                                      "(ports below 1024 are privileged)");
}

Test(programs_network, files_that_cannot_be_written_are_told_before_the_match)
{
    expect_failure(LS_TEST_SERVER,
                   "error: cannot write the port to /none/port: No such file or directory\n",
                   "--bind", "127.0.0.1", "--port", "0", "--port-file", "/none/port");
    expect_failure(LS_TEST_SERVER,
                   "error: cannot write the summary to /none/s.json: No such file or directory\n",
                   "--bind", "127.0.0.1", "--port", "0", "--json", "/none/s.json");
    expect_failure(LS_TEST_SERVER, "error: cannot write the summary to /: Is a directory\n",
                   "--port", "0", "--json", "/");
    expect_failure(LS_TEST_CLIENT,
                   "error: cannot write the summary to /none/c.json: No such file or directory\n",
                   "127.0.0.1:9", "--json", "/none/c.json");
}

Test(programs_network, a_start_that_fails_leaves_no_summary)
{
    const char *path = hosted_path("summary.json");
    expect_failure(LS_TEST_SERVER,
                   "error: cannot write the port to /none/port: No such file or directory\n",
                   "--port", "0", "--port-file", "/none/port", "--json", path);
    cr_expect_neq(access(path, F_OK), 0, "the server left one");
    expect_failure(LS_TEST_CLIENT, "error: cannot find the host 'no..host': ", "no..host:7300",
                   "--json", path);
    cr_expect_neq(access(path, F_OK), 0, "the client left one");
}

Test(programs_network, a_full_disk_is_told_after_the_match)
{
    hosted_serve(ARENA("1", "10"), "--json", "/dev/full");
    hosted_join("--bot", "1", "--json", "/dev/full");
    hosted_expect_exits(1, 1);
    ls_process *const both[] = {&hosted.server, &hosted.clients[0]};
    for (size_t i = 0; i < 2; i++) {
        hosted_expect_all(
            both[i], "error: cannot write the summary to /dev/full: No space left on device\n");
    }
}

/* ---- the client's end ---- */

Test(programs_network, a_host_that_is_not_found_is_told)
{
    expect_failure(LS_TEST_CLIENT, "error: cannot find the host 'no..host': ", "no..host:7300");
    expect_failure(LS_TEST_SERVER, "error: cannot find the host 'no..host': ", "--bind",
                   "no..host");
}

/* No program uses UDP port 1; a port that was just free may be taken by now. */
Test(programs_network, a_port_where_nobody_listens_is_told)
{
    expect_failure(LS_TEST_CLIENT,
                   "error: cannot connect to 127.0.0.1:1: no server answers there; check the "
                   "address, the port and the network (UNREACHABLE)\n",
                   "127.0.0.1:1", "--connect-wait", "0");
    hosted_expect_none(&hosted.other, "hash");
}

Test(programs_network, a_client_waits_for_a_server_that_is_being_started)
{
    hosted_serve(ARENA("1", "60"));
    hosted_kill();
    uint32_t client = hosted_join("--bot", "1");
    hosted_expect_words(&hosted.clients[client], "yet; trying for ");
    hosted_serve_again(ARENA("1", "60"));
    hosted_expect_perfect(60);
}

/* Wi-Fi comes up a moment after the client. */
Test(programs_network, a_client_waits_for_the_network_of_its_machine)
{
    hosted_serve(ARENA("1", "60"));
    hosted.preload = LS_TEST_LATE_ROUTE;
    expect_failure(LS_TEST_CLIENT, ": Network is unreachable\n", hosted_address(), "--connect-wait",
                   "0");
    uint32_t client = hosted_join("--bot", "1");
    hosted.preload = NULL;
    hosted_expect_words(&hosted.clients[client], ": Network is unreachable; trying for ");
    hosted_expect_perfect(60);
}

/* A file limit of 4 or 5 left no room for the event loop, which ended the program without a word.
 */
Test(programs_network, a_program_that_may_open_few_files_says_so)
{
    static const char line[] = "ulimit -n \"$1\"; exec \"$0\" 127.0.0.1:9 --connect-wait 0";
    for (int files = 5; files < 10; files++) {
        const char *limit = hosted_text("%d", files);
        hosted_expect_refusal(1, "/bin/sh", "files", "-c", line, LS_TEST_CLIENT, limit);
    }
}

Test(programs_network, a_client_waits_for_a_seat_of_a_full_match)
{
    hosted_serve(ARENA("2", "0"));
    hosted_join_bots(2);
    hosted_expect_words(&hosted.server, "the match starts");
    uint32_t late = hosted_join("--bot", "3", "--name", "late", "--connect-wait", "600");
    hosted_expect_words(&hosted.clients[late], "has not let this client in yet; trying for ");
    ls_process_signal(&hosted.clients[0], SIGINT);
    hosted_end_when_playing(late);
    hosted_expect_exit(&hosted.server, 0);
    hosted_expect_exit(&hosted.clients[late], 0);
    hosted_expect_agreement(late);
}

Test(programs_network, a_port_that_never_answers_is_told)
{
    int descriptor = ls_open_socket(&hosted.port);
    hosted_run(1, LS_TEST_CLIENT, hosted_address(), "--json", "-", "--connect-wait", "1");
    hosted_expect_all(&hosted.other, "no server answers there; check the address, the port "
                                     "and the network (TIMED_OUT)\n");
    cJSON *summary = cJSON_Parse(ls_process_output(&hosted.other));
    cr_expect_str_eq(hosted_word(summary, "status"), "TIMED_OUT");
    cr_expect(hosted_is_null(summary, "final_hash"));
    cr_expect_eq(hosted_count(summary, "players"), 0);
    cJSON_Delete(summary);
    close(descriptor);
}

/* Something else lives on the port and answers with what is no ENet. */
Test(programs_network, a_port_of_another_service_is_told)
{
    int descriptor = ls_open_socket(&hosted.port);
    uint32_t client = hosted_join("--bot", "1", "--connect-wait", "1");
    while (!ls_process_has_ended(&hosted.clients[client])) {
        uint8_t bytes[2048];
        struct sockaddr_storage from;
        socklen_t size = sizeof from;
        ssize_t count = recvfrom(descriptor, bytes, sizeof bytes, MSG_DONTWAIT,
                                 (struct sockaddr *)&from, &size);
        if (count >= 0) {
            sendto(descriptor, "SSH-2.0-none\r\n", 14, 0, (struct sockaddr *)&from, size);
        }
        ls_process_pause();
    }
    hosted_expect_exit(&hosted.clients[client], 1);
    hosted_expect_all(&hosted.clients[client], "cannot connect to 127.0.0.1:");
    close(descriptor);
}

/* Started first, as scripts do; the server comes a moment later. Packets that the client sent until
 * then are lost. */
Test(programs_network, a_client_that_is_early_gets_in)
{
    ls_relay relay = ls_relay_open(0);
    hosted.port = relay.port;
    hosted_join("--bot", "1");
    uint8_t lost[2048];
    while (recv(relay.client_side, lost, sizeof lost, MSG_DONTWAIT) < 0) {
        cr_assert(!ls_process_has_ended(&hosted.clients[0]));
        ls_process_pause();
    }
    hosted_serve(ARENA("1", "10"));
    relay.server_port = hosted.port;
    hosted_relay(&relay);
    hosted_expect_perfect(10);
    ls_relay_close(&relay);
}

Test(programs_network, a_failed_assertion_is_an_internal_error)
{
    hosted_serve("--sim", "arena", "--players", "2");
    hosted_join("--bot", "1");
    hosted_expect_words(&hosted.clients[0], "joined");
    ls_process_signal(&hosted.server, SIGABRT);
    ls_process_signal(&hosted.clients[0], SIGABRT);
    hosted_expect_exits(4, 4);
}

/* The server's only place is taken: not by a player, but a client cannot tell. */
Test(programs_network, a_client_says_that_the_server_is_full_while_it_tries)
{
    ls_station server = ls_station_listen(1);
    ls_station first = ls_station_connect(ls_station_port(&server), LS_PROCESS_PATIENCE_MS);
    LS_RUN_UNTIL(server.connected_count == 1 && first.connected_count == 1, &server, &first);
    hosted.port = ls_station_port(&server);
    ls_process *client = &hosted.clients[hosted_join("--connect-wait", "600")];
    LS_RUN_UNTIL(strstr(ls_process_errors(client),
                        "the server is full: it has no room for another connection") &&
                     strstr(ls_process_errors(client), "; trying for "),
                 &server, &first);
    ls_process_stop(client);
    ls_station_close(&first);
    ls_station_close(&server);
}

Test(programs_network, dropped_datagrams_are_counted_by_reason)
{
    uint16_t port = 0;
    hosted_serve(ARENA("1", "20"));
    int junk = ls_open_socket(&port);
    ls_send_datagram(junk, hosted.port, "junk", 4);
    ls_send_datagram(junk, hosted.port, "\x80\x07\x00\x00of no connection", 20);
    hosted_join_bots(1);
    hosted_expect_clean_exits();
    close(junk);
    const cJSON *network = hosted_item(hosted_server_summary(), "network");
    cr_expect_eq(hosted_number(network, "datagrams_dropped.malformed"), 1);
    cr_expect_eq(hosted_number(network, "datagrams_dropped.unknown_peer"), 1);
    cr_expect_eq(hosted_number(network, "datagrams_dropped.forged"), 0);
    cr_expect_eq(hosted_number(network, "datagrams_dropped.enet_malformed"), 0);
    cr_expect_eq(hosted_number(network, "clients_refused.full"), 0);
    cr_expect(hosted_is_null(network, "tokens_refused"));
    cr_expect(hosted_is_null(hosted_client_summary(0), "network"));
}

/* ==== programs_netcond ==== */

TestSuite(programs_netcond, .init = hosted_open, .fini = hosted_close);

/* ---- bad input ---- */

#define expect_end(exit_code, words, ...)                                                          \
    hosted_expect_refusal(exit_code, LS_TEST_NETCOND, words, __VA_ARGS__)

Test(programs_netcond, a_line_that_cannot_be_right_is_refused)
{
    expect_end(2, "SERVER_HOST[:PORT] is missing", "--delay", "5");
    expect_end(2, "':9' is not HOST[:PORT]", ":9");
    expect_end(2, "the port in '127.0.0.1:0' is not", "127.0.0.1:0");
    expect_end(2, "unexpected argument 'y'", NOWHERE, "y");
    expect_end(2, "unrecognized option '--nonsense'", NOWHERE, "--nonsense");
    expect_end(2, "option '--delay' requires an argument", NOWHERE, "--delay");
    expect_end(2, "'--overtake' doesn't allow an argument", NOWHERE, "--overtake=1");
}

Test(programs_netcond, every_value_is_checked)
{
    static const struct {
        const char *name;
        const char *value;
        const char *words;
    } wrong[] = {
        {"--delay", "-1", "--delay takes a number from 0 to 10000 with up to 3 decimals"},
        {"--loss", "5%", "--loss takes a number from 0 to 100 with up to 4 decimals, not '5%'"},
        {"--partition", "0:9:9", "partition: it comes again before it has ended"},
        {"--profile", "best", "--profile takes lan or wifi or 4g or bad or satellite, not 'best'"},
        {"--up-profile", "x", "--up-profile takes lan"},
        {"--up-loss", "101", "--up-loss takes a number from 0 to 100"},
        {"--down-delay", "x", "--down-delay takes a number from 0 to 10000"},
        {"--seed", "18446744073709551616", "--seed takes a number from 0 to"},
        {"--port", "65536", "--port takes a number from 0 to 65535"},
        {"--listen", "", "--listen takes ADDR or ADDR:PORT, not ''"},
        {"--listen", "127.0.0.1:", "--listen PORT takes a number from 0 to 65535, not ''"},
        {"--clients", "513", "--clients takes a number from 1 to 512"},
        {"--idle", "0", "--idle takes a number from 1 to 86400"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        expect_end(2, wrong[i].words, NOWHERE, wrong[i].name, wrong[i].value);
    }
}

Test(programs_netcond, a_lack_of_the_machine_is_no_wrong_usage)
{
    uint16_t port;
    int taken = ls_open_socket(&port);
    const char *address = hosted_text("127.0.0.1:%u", port);
    expect_end(1, hosted_text("cannot listen on %s: Address already in use\n", address), NOWHERE,
               "--listen", address);
    close(taken);
    expect_end(1, "cannot find the host 'no..host'", "no..host:1");
    expect_end(2, "the server is the proxy itself", address, "--listen", address);
    expect_end(1, "cannot write the port to /none/port: No such file or directory\n", NOWHERE,
               "--port", "0", "--port-file", "/none/port");
    expect_end(1, "cannot write the summary to /none/json: No such file or directory\n", NOWHERE,
               "--port", "0", "--json", "/none/json");
}

Test(programs_netcond, help_lists_settings_once_and_profiles)
{
    hosted_run(0, LS_TEST_NETCOND, "--help");
    const char *help = ls_process_output(&hosted.other);
    static const char *const words[] = {"--delay=MS", "--burst=PCT:LENGTH[:LOSS]", "--up-NAME",
                                        "bad: what a game should survive", "satellite: "};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        cr_expect(strstr(help, words[i]), "no %s in: %s", words[i], help);
    }
    cr_expect(!strstr(help, "--up-delay"));
}

/* ---- figures ---- */

/* The packet that comes to the socket; fails the test when none does. */
static void expect_datagram(int descriptor, const char *text, struct sockaddr_in *from)
{
    struct timeval patience = {.tv_sec = LS_PROCESS_PATIENCE_MS / 1000};
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    char bytes[64] = "";
    socklen_t size = sizeof *from;
    ssize_t count =
        recvfrom(descriptor, bytes, sizeof bytes - 1, 0, (struct sockaddr *)from, &size);
    cr_assert_eq(count, (ssize_t)strlen(text));
    cr_assert_str_eq(bytes, text);
}

static void expect_direction(const char *name, double delay_ms, double bytes)
{
    const cJSON *direction = hosted_item(hosted_network_summary(), "%s", name);
    double min_ms = hosted_number(direction, "measured.delay_ms.min");
    cr_expect_eq(hosted_number(direction, "asked.delay_ms"), delay_ms);
    cr_expect_eq(hosted_number(direction, "measured.received"), 1);
    cr_expect_eq(hosted_number(direction, "measured.received_bytes"), bytes);
    cr_expect_geq(min_ms, delay_ms);
    cr_expect_geq(hosted_number(direction, "measured.delay_ms.mean"), min_ms);
    cr_expect_eq(hosted_number(direction, "measured.lost.total"), 0);
}

Test(programs_netcond, a_signal_ends_it_with_figures_of_what_passed)
{
    uint16_t client_port;
    int server = ls_open_socket(&hosted.port);
    int client = ls_open_socket(&client_port);
    uint16_t server_port = hosted.port;
    hosted_condition("--delay", "12.5", "--down-delay", "20", "--up-duplicate", "100", "--seed",
                     "9");
    struct sockaddr_in from;
    uint64_t start_ns = ls_station_now_ns();
    ls_send_datagram(client, hosted.port, "ping", 4);
    expect_datagram(server, "ping", &from);
    expect_datagram(server, "ping", &from);
    ls_send_datagram(server, ntohs(from.sin_port), "pong!", 5);
    expect_datagram(client, "pong!", &from);
    cr_expect_geq(ls_station_now_ns() - start_ns, 32500000);
    cr_expect_eq(ntohs(from.sin_port), hosted.port);
    hosted_end_condition(SIGTERM);
    close(server);
    close(client);
    const cJSON *summary = hosted_network_summary();
    cr_expect_str_eq(hosted_word(summary, "program"), "lockstep-netcond");
    cr_expect_str_eq(hosted_word(summary, "server"), hosted_text("127.0.0.1:%u", server_port));
    cr_expect_str_eq(hosted_word(summary, "seed"), "9");
    cr_expect_eq(hosted_number(summary, "port"), hosted.port);
    cr_expect_eq(hosted_number(summary, "clients.seen"), 1);
    expect_direction("up", 12.5, 32);
    expect_direction("down", 20, 33);
    hosted_expect_all(&hosted.network, "joined, 1 now", "up    1 in, 2 out", "1 twice",
                      "down  1 in, 1 out");
}

Test(programs_netcond, without_a_packet_there_are_figures_too)
{
    hosted.port = 9;
    hosted_condition("--quiet");
    hosted_end_condition(SIGINT);
    cr_expect_str_empty(ls_process_errors(&hosted.network));
    const cJSON *measured = hosted_item(hosted_network_summary(), "up.measured");
    cr_expect_eq(hosted_number(measured, "received"), 0);
    cr_expect_eq(hosted_number(measured, "loss_percent"), 0);
    cr_expect_eq(hosted_number(measured, "delay_ms.min"), 0);
}

Test(programs_netcond, a_full_disk_is_told_at_the_end)
{
    hosted.port = 9;
    hosted_condition("--json", "/dev/full");
    ls_process_signal(&hosted.network, SIGTERM);
    hosted_expect_exit(&hosted.network, 1);
    hosted_expect_all(&hosted.network, "cannot write the summary to /dev/full");
}

Test(programs_netcond, on_a_terminal_it_shows_what_passes)
{
    hosted.port = 9;
    hosted.terminal_columns = 100;
    hosted_condition("--profile", "4g");
    hosted_expect_words(&hosted.network, "s, 0 clients");
    hosted_expect_words(&hosted.network, "down  0 in, 0 out");
    hosted_end_condition(SIGTERM);
}

/* ---- a match ---- */

/* The match went through the bad network, and not around it. */
static void expect_bad_network(const char *direction, uint32_t ticks)
{
    const cJSON *measured = hosted_item(hosted_network_summary(), "%s.measured", direction);
    cr_expect_gt(hosted_number(measured, "received"), ticks);
    cr_expect_gt(hosted_number(measured, "lost.random"), 0);
    cr_expect_gt(hosted_number(measured, "reordered"), 0);
    cr_expect_geq(hosted_number(measured, "delay_ms.min"), 60);
}

Test(programs_netcond, a_match_over_a_bad_network_ends_with_equal_hashes)
{
    enum {
        TICKS = 180
    };
    hosted_serve(ARENA("2", "180"));
    hosted_condition("--profile", "bad", "--seed", "3");
    hosted_join_bots(2);
    hosted_expect_perfect(TICKS);
    hosted_end_condition(SIGTERM);
    expect_bad_network("up", TICKS);
    expect_bad_network("down", TICKS);
    cr_expect_eq(hosted_number(hosted_network_summary(), "clients.seen"), 2);
    for (uint32_t i = 0; i < 2; i++) {
        cr_expect_geq(hosted_number(hosted_client_summary(i), "players.0.rtt_ms"), 120);
    }
}

/* ==== programs_find ==== */

/* Servers are found on the local network: here on the loopback alone. */

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
