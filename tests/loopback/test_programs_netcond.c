#include "lockstep/tests/loopback/hosted.h"

#include <arpa/inet.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

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
