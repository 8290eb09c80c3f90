#define _POSIX_C_SOURCE 200809L
#include "lockstep/tests/loopback/hosted.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

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
    hosted_expect_words(&hosted.clients[late], "has no place yet; trying for ");
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
