#define _POSIX_C_SOURCE 200809L
#include "lockstep/tests/loopback/hosted.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
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

TestSuite(programs_network, .init = open_hosted, .fini = close_hosted);

/* Exit code 1, and exactly this sentence on the errors. */
static void expect_failure(const char *program, const char *const *arguments, const char *sentence)
{
    const char *errors = ls_hosted_run(&hosted, program, arguments, 1);
    cr_expect(strstr(errors, sentence), "no \"%s\" in: %s", sentence, errors);
    cr_expect(!strstr(errors, "listening"), "it had started: %s", errors);
}

/* ---- the server's end ---- */

Test(programs_network, a_port_in_use_is_told)
{
    uint16_t port;
    int descriptor = ls_open_socket(&port);
    char port_text[8];
    char sentence[128];
    snprintf(port_text, sizeof port_text, "%u", port);
    snprintf(sentence, sizeof sentence,
             "error: cannot listen on 127.0.0.1, UDP port %u: Address already in use\n", port);
    expect_failure(LS_TEST_SERVER, LS_ARGUMENTS("--bind", "127.0.0.1", "--port", port_text),
                   sentence);
    close(descriptor);
}

Test(programs_network, two_servers_cannot_share_a_port)
{
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", "arena", "--players", "1", "--ticks", "10"));
    char port_text[8];
    snprintf(port_text, sizeof port_text, "%u", hosted.port);
    expect_failure(LS_TEST_SERVER, LS_ARGUMENTS("--bind", "127.0.0.1", "--port", port_text),
                   "Address already in use");
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "1"));
    ls_hosted_expect_perfect(&hosted, 10);
}

/* 192.0.2.0/24 is nobody's: it stands in documents. */
Test(programs_network, an_address_of_another_machine_is_told)
{
    expect_failure(LS_TEST_SERVER, LS_ARGUMENTS("--bind", "192.0.2.1", "--port", "0"),
                   "error: cannot listen on 192.0.2.1, UDP port 0: Cannot assign requested");
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
    char stem[96];
    snprintf(stem, sizeof stem, "%s/server", hosted.folder);
    ls_process_config config = {.program = LS_TEST_SERVER,
                                .arguments = LS_ARGUMENTS("--bind", "127.0.0.1", "--port", "1"),
                                .output_stem = stem,
                                .user = geteuid() == 0 ? NOBODY : 0};
    ls_process_start(&hosted.server, &config);
    cr_assert(ls_process_wait(&hosted.server, LS_PROCESS_PATIENCE_MS));
    if (hosted.server.exit_code == CANNOT_START) {
        cr_skip("the build is out of other users' reach");
    }
    ls_hosted_expect_exit(&hosted.server, 1);
    ls_hosted_expect_all(&hosted.server,
                         LS_ARGUMENTS("cannot listen on 127.0.0.1, UDP port 1: Permission denied "
                                      "(ports below 1024 are privileged)"));
}

Test(programs_network, files_that_cannot_be_written_are_told_before_the_match)
{
    expect_failure(LS_TEST_SERVER,
                   LS_ARGUMENTS("--bind", "127.0.0.1", "--port", "0", "--port-file", "/none/port"),
                   "error: cannot write the port to /none/port: No such file or directory\n");
    expect_failure(LS_TEST_SERVER,
                   LS_ARGUMENTS("--bind", "127.0.0.1", "--port", "0", "--json", "/none/s.json"),
                   "error: cannot write the summary to /none/s.json: No such file or directory\n");
    expect_failure(LS_TEST_SERVER, LS_ARGUMENTS("--port", "0", "--json", "/"),
                   "error: cannot write the summary to /: Is a directory\n");
    expect_failure(LS_TEST_CLIENT, LS_ARGUMENTS("127.0.0.1:9", "--json", "/none/c.json"),
                   "error: cannot write the summary to /none/c.json: No such file or directory\n");
}

Test(programs_network, a_start_that_fails_leaves_no_summary)
{
    char path[96];
    snprintf(path, sizeof path, "%s/summary.json", hosted.folder);
    expect_failure(LS_TEST_SERVER,
                   LS_ARGUMENTS("--port", "0", "--port-file", "/none/port", "--json", path),
                   "error: cannot write the port to /none/port: No such file or directory\n");
    cr_expect_neq(access(path, F_OK), 0, "the server left one");
    expect_failure(LS_TEST_CLIENT, LS_ARGUMENTS("no..host:7300", "--json", path),
                   "error: cannot find the host 'no..host': ");
    cr_expect_neq(access(path, F_OK), 0, "the client left one");
}

Test(programs_network, a_full_disk_is_told_after_the_match)
{
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", "arena", "--players", "1", "--ticks", "10",
                                          "--json", "/dev/full"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "1", "--json", "/dev/full"));
    ls_hosted_expect_exit(&hosted.server, 1);
    ls_hosted_expect_exit(&hosted.clients[0], 1);
    const char *const *sentence =
        LS_ARGUMENTS("error: cannot write the summary to /dev/full: No space left on device\n");
    ls_hosted_expect_all(&hosted.server, sentence);
    ls_hosted_expect_all(&hosted.clients[0], sentence);
}

/* ---- the client's end ---- */

Test(programs_network, a_host_that_is_not_found_is_told)
{
    expect_failure(LS_TEST_CLIENT, LS_ARGUMENTS("no..host:7300"),
                   "error: cannot find the host 'no..host': ");
    expect_failure(LS_TEST_SERVER, LS_ARGUMENTS("--bind", "no..host"),
                   "error: cannot find the host 'no..host': ");
}

/* No program uses UDP port 1; a port that was just free may be taken by now. */
Test(programs_network, a_port_where_nobody_listens_is_told)
{
    expect_failure(LS_TEST_CLIENT, LS_ARGUMENTS("127.0.0.1:1"),
                   "error: cannot connect to 127.0.0.1:1: no server answers there; check the "
                   "address, the port and the network (REFUSED)\n");
    ls_hosted_expect_none(&hosted.other, LS_ARGUMENTS("hash"));
}

Test(programs_network, a_port_that_never_answers_is_told)
{
    uint16_t port;
    int descriptor = ls_open_socket(&port);
    char server[32];
    snprintf(server, sizeof server, "127.0.0.1:%u", port);
    expect_failure(LS_TEST_CLIENT, LS_ARGUMENTS(server, "--json", "-"),
                   "nothing was heard in the time allowed (TIMED_OUT)\n");
    cJSON *summary = cJSON_Parse(ls_process_output(&hosted.other));
    cr_expect_str_eq(ls_hosted_word(summary, "status"), "TIMED_OUT");
    cr_expect(cJSON_IsNull(cJSON_GetObjectItem(summary, "final_hash")));
    cr_expect_eq(ls_hosted_count(summary, "players"), 0);
    cJSON_Delete(summary);
    close(descriptor);
}

/* Something else lives on the port and answers with what is no ENet. */
Test(programs_network, a_port_of_another_service_is_told)
{
    uint16_t port;
    int descriptor = ls_open_socket(&port);
    hosted.port = port;
    uint32_t client = ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "1"));
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
    ls_hosted_expect_exit(&hosted.clients[client], 1);
    ls_hosted_expect_all(&hosted.clients[client], LS_ARGUMENTS("cannot connect to 127.0.0.1:"));
    close(descriptor);
}

/* Started first, as scripts do; the server comes a moment later. Packets that the client sent until
 * then are lost. */
Test(programs_network, a_client_that_is_early_gets_in)
{
    ls_relay relay = ls_relay_open(0);
    hosted.port = relay.port;
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "1"));
    uint8_t lost[2048];
    while (recv(relay.client_side, lost, sizeof lost, MSG_DONTWAIT) < 0) {
        cr_assert(!ls_process_has_ended(&hosted.clients[0]));
        ls_process_pause();
    }
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", "arena", "--players", "1", "--ticks", "10"));
    relay.server_port = hosted.port;
    ls_hosted_relay(&hosted, &relay);
    ls_hosted_expect_perfect(&hosted, 10);
    ls_relay_close(&relay);
}

Test(programs_network, a_failed_assertion_is_an_internal_error)
{
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", "arena", "--players", "2"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "1"));
    ls_hosted_expect_words(&hosted.clients[0], "joined");
    ls_process_signal(&hosted.server, SIGABRT);
    ls_process_signal(&hosted.clients[0], SIGABRT);
    ls_hosted_expect_exit(&hosted.server, 4);
    ls_hosted_expect_exit(&hosted.clients[0], 4);
}
