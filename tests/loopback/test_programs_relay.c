/* A server, its players and a relay, as programs. Which way opens behind which router is claimed by
 * unit.relay_meeting, and by tests/relay with real ones. */
#include "lockstep/common/program/key_file.h"
#include "lockstep/tests/loopback/hosted.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

TestSuite(programs_relay, .init = hosted_open, .fini = hosted_close);

static uint32_t relays; /* that were started */
static uint16_t relay_port;

/* In the place of the conditioner, so that it is stopped with the others. On the port that the one
 * before had, if any. */
static void start_relay(const char *option, const char *value)
{
    const char *path = hosted_path(hosted_text("relay%u", ++relays));
    const char *arguments[] = {"--bind",      "127.0.0.1", "--port", hosted_text("%u", relay_port),
                               "--port-file", path,        option,   value,
                               NULL};
    const ls_process_config config = {
        .program = LS_TEST_RELAY, .arguments = arguments, .output_stem = path};
    ls_process_start(&hosted.network, &config);
    cr_assert(ls_process_wait_for_words(&hosted.network, "listening on", LS_PROCESS_PATIENCE_MS));
    FILE *file = fopen(path, "r");
    unsigned port = 0;
    cr_assert(file && fscanf(file, "%u", &port) == 1);
    fclose(file);
    relay_port = (uint16_t)port;
}

static void kill_relay(void)
{
    ls_process_signal(&hosted.network, SIGKILL);
    cr_assert(ls_process_wait(&hosted.network, LS_PROCESS_PATIENCE_MS));
    ls_process_stop(&hosted.network);
}

static const char *relay_address(void)
{
    return hosted_text("127.0.0.1:%u", relay_port);
}

/* The text behind these words in what the server logs once it is published. */
static const char *word_behind(const char *words)
{
    hosted_expect_words(&hosted.server, "published at");
    const char *at = strstr(ls_process_errors(&hosted.server), "published at");
    at = strstr(at, words);
    cr_assert(at);
    at += strlen(words);
    return hosted_text("%.*s", (int)strcspn(at, "'\n"), at);
}

static const char *code(void)
{
    return word_behind("join with lockstep-client ");
}

static void serve_published(const char *ticks, const char *option)
{
    hosted_serve(ARENA("2", ticks), "--identity", hosted_path("identity"), "--publish",
                 relay_address(), option);
}

Test(programs_relay, a_match_goes_on_through_a_relay_that_is_killed_and_started_again)
{
    start_relay(NULL, NULL);
    serve_published("240", NULL);
    const char *join = code();
    hosted_join_to(join, LS_ARGUMENTS("--through-relay", "--bot", "1", "--name", "1"));
    hosted_join_to(join, LS_ARGUMENTS("--through-relay", "--bot", "2", "--name", "2"));
    hosted_expect_words(&hosted.server, "the match starts");
    kill_relay();
    start_relay(NULL, NULL);
    hosted_expect_perfect(240);
    hosted_expect_all(&hosted.clients[0], "the relay carries");
    hosted_expect_all(&hosted.network, "registered: a server at 127.0.0.1",
                      "through the relay: a player at 127.0.0.1");
    ls_process_signal(&hosted.network, SIGTERM);
    hosted_expect_exit(&hosted.network, 0);
    hosted_expect_none(&hosted.network, " 0 datagrams carried");
}

Test(programs_relay, players_come_directly_by_the_code_and_by_the_invite_with_it)
{
    start_relay(NULL, NULL);
    serve_published("60", NULL);
    const char *join = code();
    hosted_join_to(join, LS_ARGUMENTS("--bot", "1", "--name", "1"));
    const char *invite = hosted_text("'lockstep://%.8s", join);
    hosted_expect_words(&hosted.server, invite);
    invite = hosted_text("%s%s", invite + 1, word_behind(invite));
    hosted_join_to(invite, LS_ARGUMENTS("--bot", "2", "--name", "2"));
    hosted_expect_perfect(60);
    hosted_expect_all(&hosted.clients[0], "the way to the server is direct");
    hosted_expect_all(&hosted.network, "directly: a player at 127.0.0.1");
}

static void expect_refusal(const char *place, const char *words)
{
    hosted_expect_refusal(1, LS_TEST_CLIENT, words, place, "--connect-wait", "0");
}

Test(programs_relay, a_code_does_not_stand_for_the_secret_of_an_invite)
{
    start_relay(NULL, NULL);
    serve_published("60", "--invite-only");
    const char *join = code();
    expect_refusal(join, "lets nobody in without its whole invite");
    expect_refusal(hosted_text("%.7s%c%s", join, join[7] == '2' ? '3' : '2', join + 8),
                   "does not prove that it knows the end of the code");
    expect_refusal(hosted_text("%c%s", join[0] == '2' ? '3' : '2', join + 1),
                   "the relay has no server of this code");
}

Test(programs_relay, a_relay_with_a_key_file_takes_servers_with_it_alone)
{
    const char *key = hosted_path("key");
    ls_text why = {{0}};
    cr_assert_eq(ls_token_key_make(key, NULL, &why), LS_OK, "%s", why.bytes);
    start_relay("--key-file", key);
    hosted_serve(ARENA("2", "240"), "--identity", hosted_path("identity"), "--publish",
                 relay_address());
    hosted_expect_words(&hosted.server, "takes only servers with its key");
    hosted_kill();
    hosted_serve_again(ARENA("2", "240"), "--identity", hosted_path("identity"), "--publish",
                       relay_address(), "--publish-key", key);
    hosted_expect_words(&hosted.server, "published at");
}

Test(programs_relay, a_line_that_cannot_be_right_is_refused)
{
    hosted_expect_refusal(2, LS_TEST_CLIENT, "a code is like K7QM-29F", "KOQM-29F@" NOWHERE);
    hosted_expect_refusal(2, LS_TEST_CLIENT, "a code has seven characters", "K7QM-29@" NOWHERE);
    hosted_expect_refusal(2, LS_TEST_SERVER, "--publish-key needs --publish", "--publish-key", "k");
    hosted_expect_refusal(2, LS_TEST_SERVER, "--public needs --publish", "--public", "Friday");
    hosted_expect_refusal(2, LS_TEST_SERVER, "--region needs --public", "--publish", NOWHERE,
                          "--region", "eu");
    hosted_expect_refusal(2, LS_TEST_SERVER, "--region takes up to 15", "--publish", NOWHERE,
                          "--public", "Friday", "--region", "eu west");
    hosted_expect_refusal(2, LS_TEST_SERVER, "--public and --invite-only exclude each other",
                          "--publish", NOWHERE, "--public", "Friday", "--invite-only");
    hosted_expect_refusal(2, LS_TEST_CLIENT, "--list looks for servers: without --find", "--list",
                          NOWHERE, "--find");
    hosted_expect_refusal(2, LS_TEST_RELAY, "--http-port-file needs --http", "--http-port-file",
                          "port");
    hosted_expect_refusal(2, LS_TEST_RELAY, "the port in '127.0.0.1:x' is not a number", "--port",
                          "0", "--http", "127.0.0.1:x");
    hosted_expect_refusal(2, LS_TEST_RELAY, "--hosts takes a number from 1 to 4096", "--hosts",
                          "0");
    hosted_expect_refusal(1, LS_TEST_RELAY, "cannot read", "--key-file", hosted_path("none"));
}

static const char *service_file(const char *rows)
{
    const char *path = hosted_path("lockstep.toml");
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fprintf(file,
            "%s\n[server]\nidentity = \"%s\"\npublish = \"%s\"\npublic = \"Friday\"\n[http]\nport "
            "= 0\n",
            rows, hosted_path("identity"), relay_address());
    fprintf(file, "[[rooms]]\nname = \"pair\"\nopen = 2\nsim = \"arena\"\nplayers = 2\n");
    cr_assert_eq(fclose(file), 0);
    return path;
}

Test(programs_relay, rooms_of_a_service_are_joined_by_its_code)
{
    start_relay(NULL, NULL);
    hosted_serve("--config", service_file("drain-timeout = 0"));
    const char *join = code();
    hosted_expect_words(&hosted.server, "listed as 'Friday'");
    for (uint32_t i = 0; i < 4; i++) {
        const char *number = hosted_text("%u", i);
        hosted_join_to(join, LS_ARGUMENTS("--bot", number, "--name", number, "--ticks", "60",
                                          i % 2 == 0 ? "--through-relay" : NULL));
    }
    for (uint32_t i = 0; i < 4; i++) {
        hosted_expect_exit(&hosted.clients[i], 0);
    }
    hosted_expect_all(&hosted.network, "through the relay: a player at 127.0.0.1",
                      "directly: a player at 127.0.0.1");
    ls_process_signal(&hosted.server, SIGTERM);
    hosted_expect_exit(&hosted.server, 0);
}

/* Those of all workers, who tell each other of them within seconds. */
static void expect_listed_seats(double seats)
{
    const char *path = hosted_path("games");
    uint64_t end_ms = ls_process_now_ms() + LS_PROCESS_PATIENCE_MS;
    double listed = 0;
    while (listed < seats && ls_process_now_ms() < end_ms) {
        hosted_run(0, LS_TEST_CLIENT, "--list", relay_address(), "--json", path);
        cJSON *games = hosted_read_json(path);
        listed = hosted_number(games, "games.0.seats");
        cJSON_Delete(games);
        hosted_pause_ms(100);
    }
    cr_assert_eq(listed, seats);
}

/* Two rooms are open, one at each worker; what the relay carries comes to both. */
Test(programs_relay, rooms_of_many_workers_are_joined_by_its_code)
{
    start_relay(NULL, NULL);
    hosted_serve("--config", service_file("workers = 2\ndrain-timeout = 0"));
    const char *join = code();
    hosted_expect_words(&hosted.server, "listed as 'Friday'");
    expect_listed_seats(4);
    for (uint32_t i = 0; i < 4; i++) {
        const char *number = hosted_text("%u", i);
        hosted_join_to(join, LS_ARGUMENTS("--bot", number, "--name", number, "--ticks", "60",
                                          i != 3 ? "--through-relay" : NULL));
    }
    for (uint32_t i = 0; i < 4; i++) {
        hosted_expect_exit(&hosted.clients[i], 0);
    }
    ls_process_signal(&hosted.server, SIGTERM);
    hosted_expect_exit(&hosted.server, 0);
    hosted_expect_all(&hosted.server, "pair-1: the match starts", "pair-2: the match starts");
}
