#include "lockstep/tests/loopback/hosted.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static ls_hosted hosted;

static void open_hosted(void)
{
    ls_hosted_open(&hosted);
}

static void close_hosted(void)
{
    ls_hosted_close(&hosted);
}

TestSuite(programs_netcond, .init = open_hosted, .fini = close_hosted);

#define NOWHERE "127.0.0.1:9"

/* ---- bad input ---- */

static void expect_end(const char *const *arguments, int exit_code, const char *words)
{
    const char *errors = ls_hosted_run(&hosted, LS_TEST_NETCOND, arguments, exit_code);
    cr_expect(strstr(errors, words), "no \"%s\" in: %s", words, errors);
    cr_expect(!strstr(errors, "listening"), "it had started: %s", errors);
    cr_expect_str_empty(ls_process_output(&hosted.other));
}

Test(programs_netcond, a_line_that_cannot_be_right_is_refused)
{
    expect_end(LS_ARGUMENTS("--delay", "5"), 2, "SERVER_HOST:PORT is missing");
    expect_end(LS_ARGUMENTS("x"), 2, "'x' is not HOST:PORT");
    expect_end(LS_ARGUMENTS("127.0.0.1:0"), 2, "the port in '127.0.0.1:0' is not");
    expect_end(LS_ARGUMENTS(NOWHERE, "y"), 2, "unexpected argument 'y'");
    expect_end(LS_ARGUMENTS(NOWHERE, "--nonsense"), 2, "unrecognized option '--nonsense'");
    expect_end(LS_ARGUMENTS(NOWHERE, "--delay"), 2, "option '--delay' requires an argument");
    expect_end(LS_ARGUMENTS(NOWHERE, "--overtake=1"), 2, "'--overtake' doesn't allow an argument");
}

Test(programs_netcond, every_value_is_checked)
{
    static const struct {
        const char *name;
        const char *value;
        const char *words;
    } wrong[] = {
        {"--delay", "-1", "--delay takes a number from 0 to 10000 with up to 3 decimals"},
        {"--jitter", "4001", "--jitter takes a number from 0 to 4000"},
        {"--loss", "5%", "--loss takes a number from 0 to 100 with up to 4 decimals, not '5%'"},
        {"--duplicate", "", "--duplicate takes a number from 0 to 100"},
        {"--reorder", "1:2:3", "--reorder takes PCT[:MS], not '1:2:3'"},
        {"--burst", "5", "--burst takes PCT:LENGTH[:LOSS], not '5'"},
        {"--rate", "1.5", "--rate takes a number from 0 to 10000000, not '1.5'"},
        {"--bucket", "65537", "--bucket takes a number from 0 to 65536"},
        {"--queue", "1", "--queue takes a number from 3 to 65536"},
        {"--partition", "5", "--partition takes START:LENGTH[:EVERY], not '5'"},
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
        expect_end(LS_ARGUMENTS(NOWHERE, wrong[i].name, wrong[i].value), 2, wrong[i].words);
    }
}

Test(programs_netcond, what_the_machine_does_not_give_is_no_wrong_usage)
{
    uint16_t port;
    int taken = ls_open_socket(&port);
    char address[32], words[80];
    snprintf(address, sizeof address, "127.0.0.1:%u", port);
    snprintf(words, sizeof words, "cannot listen on %s: Address already in use\n", address);
    expect_end(LS_ARGUMENTS(NOWHERE, "--listen", address), 1, words);
    close(taken);
    expect_end(LS_ARGUMENTS("no..host:1"), 1, "cannot find the host 'no..host'");
    expect_end(LS_ARGUMENTS(address, "--listen", address), 2, "the server is the proxy itself");
    expect_end(LS_ARGUMENTS(NOWHERE, "--port", "0", "--port-file", "/none/port"), 1,
               "cannot write the port to /none/port: No such file or directory\n");
    expect_end(LS_ARGUMENTS(NOWHERE, "--port", "0", "--json", "/none/json"), 1,
               "cannot write the summary to /none/json: No such file or directory\n");
}

Test(programs_netcond, help_lists_settings_once_and_profiles)
{
    ls_hosted_run(&hosted, LS_TEST_NETCOND, LS_ARGUMENTS("--help"), 0);
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
    const cJSON *direction = ls_hosted_object(ls_hosted_network_summary(&hosted), name);
    const cJSON *measured = ls_hosted_object(direction, "measured");
    const cJSON *delay = ls_hosted_object(measured, "delay_ms");
    cr_expect_eq(ls_hosted_number(ls_hosted_object(direction, "asked"), "delay_ms"), delay_ms);
    cr_expect_eq(ls_hosted_number(measured, "received"), 1);
    cr_expect_eq(ls_hosted_number(measured, "received_bytes"), bytes);
    cr_expect_geq(ls_hosted_number(delay, "min"), delay_ms);
    cr_expect_geq(ls_hosted_number(delay, "mean"), ls_hosted_number(delay, "min"));
    cr_expect_eq(ls_hosted_number(ls_hosted_object(measured, "lost"), "total"), 0);
}

Test(programs_netcond, a_signal_ends_it_with_figures_of_what_passed)
{
    uint16_t client_port;
    int server = ls_open_socket(&hosted.port);
    int client = ls_open_socket(&client_port);
    uint16_t server_port = hosted.port;
    ls_hosted_condition(&hosted, LS_ARGUMENTS("--delay", "12.5", "--down-delay", "20",
                                              "--up-duplicate", "100", "--seed", "9"));
    struct sockaddr_in from;
    uint64_t start_ns = ls_station_now_ns();
    ls_send_datagram(client, hosted.port, "ping", 4);
    expect_datagram(server, "ping", &from);
    expect_datagram(server, "ping", &from);
    ls_send_datagram(server, ntohs(from.sin_port), "pong!", 5);
    expect_datagram(client, "pong!", &from);
    cr_expect_geq(ls_station_now_ns() - start_ns, 32500000);
    cr_expect_eq(ntohs(from.sin_port), hosted.port);
    ls_hosted_end_condition(&hosted, SIGTERM);
    close(server);
    close(client);
    const cJSON *summary = ls_hosted_network_summary(&hosted);
    char address[32];
    snprintf(address, sizeof address, "127.0.0.1:%u", server_port);
    cr_expect_str_eq(ls_hosted_word(summary, "program"), "lockstep-netcond");
    cr_expect_str_eq(ls_hosted_word(summary, "server"), address);
    cr_expect_str_eq(ls_hosted_word(summary, "seed"), "9");
    cr_expect_eq(ls_hosted_number(summary, "port"), hosted.port);
    cr_expect_eq(ls_hosted_number(ls_hosted_object(summary, "clients"), "seen"), 1);
    expect_direction("up", 12.5, 32);
    expect_direction("down", 20, 33);
    ls_hosted_expect_all(&hosted.network, LS_ARGUMENTS("joined, 1 now", "up    1 in, 2 out",
                                                       "1 twice", "down  1 in, 1 out"));
}

Test(programs_netcond, without_a_packet_there_are_figures_too)
{
    hosted.port = 9;
    ls_hosted_condition(&hosted, LS_ARGUMENTS("--quiet"));
    ls_hosted_end_condition(&hosted, SIGINT);
    cr_expect_str_empty(ls_process_errors(&hosted.network));
    const cJSON *up = ls_hosted_object(ls_hosted_network_summary(&hosted), "up");
    const cJSON *measured = ls_hosted_object(up, "measured");
    cr_expect_eq(ls_hosted_number(measured, "received"), 0);
    cr_expect_eq(ls_hosted_number(measured, "loss_percent"), 0);
    cr_expect_eq(ls_hosted_number(ls_hosted_object(measured, "delay_ms"), "min"), 0);
}

Test(programs_netcond, a_full_disk_is_told_at_the_end)
{
    hosted.port = 9;
    ls_hosted_condition(&hosted, LS_ARGUMENTS("--json", "/dev/full"));
    ls_process_signal(&hosted.network, SIGTERM);
    ls_hosted_expect_exit(&hosted.network, 1);
    ls_hosted_expect_all(&hosted.network, LS_ARGUMENTS("cannot write the summary to /dev/full"));
}

Test(programs_netcond, on_a_terminal_it_shows_what_passes)
{
    hosted.port = 9;
    hosted.terminal_columns = 100;
    ls_hosted_condition(&hosted, LS_ARGUMENTS("--profile", "4g"));
    ls_hosted_expect_words(&hosted.network, "s, 0 clients");
    ls_hosted_expect_words(&hosted.network, "down  0 in, 0 out");
    ls_hosted_end_condition(&hosted, SIGTERM);
}

/* ---- a match ---- */

/* The match went through the bad network, and not around it. */
static void expect_bad_network(const char *direction, uint32_t ticks)
{
    const cJSON *measured = ls_hosted_object(
        ls_hosted_object(ls_hosted_network_summary(&hosted), direction), "measured");
    cr_expect_gt(ls_hosted_number(measured, "received"), ticks);
    cr_expect_gt(ls_hosted_number(ls_hosted_object(measured, "lost"), "random"), 0);
    cr_expect_gt(ls_hosted_number(measured, "reordered"), 0);
    cr_expect_geq(ls_hosted_number(ls_hosted_object(measured, "delay_ms"), "min"), 60);
}

Test(programs_netcond, a_match_over_a_bad_network_ends_with_equal_hashes)
{
    enum {
        TICKS = 180
    };
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", "arena", "--players", "2", "--ticks", "180"));
    ls_hosted_condition(&hosted, LS_ARGUMENTS("--profile", "bad", "--seed", "3"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "1"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "2"));
    ls_hosted_expect_perfect(&hosted, TICKS);
    ls_hosted_end_condition(&hosted, SIGTERM);
    expect_bad_network("up", TICKS);
    expect_bad_network("down", TICKS);
    cr_expect_eq(
        ls_hosted_number(ls_hosted_object(ls_hosted_network_summary(&hosted), "clients"), "seen"),
        2);
    for (uint32_t i = 0; i < 2; i++) {
        const cJSON *player = ls_hosted_item(ls_hosted_client_summary(&hosted, i), "players", 0);
        cr_expect_geq(ls_hosted_number(player, "rtt_ms"), 120);
    }
}
