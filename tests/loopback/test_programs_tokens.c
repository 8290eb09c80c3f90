/* Connect tokens and relays between the real programs. */
#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/program/key_file.h"
#include "lockstep/common/system/private_file.h"
#include "lockstep/protocol/sealed/connect_token.h"
#include "lockstep/protocol/sealed/token_user_data.h"
#include "lockstep/tests/loopback/hosted.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ==== programs_tokens ==== */

/* ---- programs_admission ---- */

TestSuite(programs_admission, .init = hosted_open, .fini = hosted_close);

static const char *read_line(const char *name)
{
    char line[512] = "";
    FILE *file = fopen(hosted_path(name), "r");
    cr_assert_not_null(file);
    cr_assert_not_null(fgets(line, sizeof line, file));
    fclose(file);
    line[strcspn(line, "\n")] = '\0';
    return hosted_text("%s", line);
}

static void expect_private(const char *name)
{
    struct stat status;
    cr_assert_eq(stat(hosted_path(name), &status), 0);
    cr_expect_eq(status.st_mode & 077, 0, "%s can be read by others", name);
}

static void serve_invited_only(void)
{
    hosted_serve(ARENA("1", "20"), "--identity", hosted_path("identity"), "--invite-only",
                 "--invite-file", hosted_path("invite"));
}

Test(programs_admission, the_invited_play_and_nobody_else)
{
    serve_invited_only();
    expect_private("identity");
    expect_private("invite");
    const char *errors = hosted_run(1, LS_TEST_CLIENT, hosted_address());
    cr_expect(strstr(errors, "without its whole invite"), "%s", errors);
    const char *invite = read_line("invite");
    hosted_expect_words(&hosted.server,
                        hosted_text("lockstep-client - <%s", hosted_path("invite")));
    hosted_run(0, LS_TEST_CLIENT, invite, "--bot", "1");
    hosted_expect_exit(&hosted.server, 0);
    const char *secret = strchr(invite, '#');
    cr_assert_not_null(secret);
    cr_expect_null(strstr(ls_process_errors(&hosted.server), secret), "a secret in the log");
}

Test(programs_admission, an_invite_is_read_from_standard_input)
{
    serve_invited_only();
    const char *errors = hosted_run(2, LS_TEST_CLIENT, "-");
    cr_expect(strstr(errors, "standard input has no line"), "%s", errors);
    hosted.input = hosted_path("invite");
    hosted_run(0, LS_TEST_CLIENT, "-", "--bot", "1");
    hosted_expect_exit(&hosted.server, 0);
}

/* The identity stays, and so does the invite but for the port. */
Test(programs_admission, an_invite_is_good_for_the_next_run_too)
{
    serve_invited_only();
    const char *invite = read_line("invite");
    hosted_kill();
    hosted_serve_again_with(
        LS_ARGUMENTS(ARENA("1", "20"), "--identity", hosted_path("identity"), "--invite-only"));
    hosted_run(0, LS_TEST_CLIENT, invite, "--bot", "1");
    hosted_expect_exit(&hosted.server, 0);
}

/* A server that listens where another one did is not taken for that one. */
Test(programs_admission, another_server_at_the_address_is_not_believed)
{
    serve_invited_only();
    const char *invite = read_line("invite");
    hosted_kill();
    hosted_serve_again_with(LS_ARGUMENTS(ARENA("1", "20"), "--identity", hosted_path("other"),
                                         "--invite-file", hosted_path("right")));
    hosted_run(1, LS_TEST_CLIENT, invite, "--connect-wait", "0");
    hosted_run(0, LS_TEST_CLIENT, read_line("right"), "--bot", "1");
    hosted_expect_exit(&hosted.server, 0);
}

/* Documentation's address, which is nobody's: nothing is sent there. */
Test(programs_admission, an_address_elsewhere_alone_is_refused_before_anything_is_sent)
{
    hosted_expect_refusal(2, LS_TEST_CLIENT, "does not prove who answers there", "192.0.2.1:7300");
    hosted_expect_refusal(2, LS_TEST_CLIENT, "the invite is cut short",
                          "lockstep://192.0.2.1:7300/#abc");
    hosted_expect_refusal(2, LS_TEST_SERVER, "--invite-only lets nobody in by the address",
                          "--invite-only", "--insecure");
}

Test(programs_admission, a_server_without_loopbacks_protection_warns_of_insecure)
{
    hosted_serve(ARENA("1", "20"), "--bind", "0.0.0.0", "--insecure");
    hosted_expect_words(&hosted.server, "warning: --insecure: ");
    hosted_run(0, LS_TEST_CLIENT, hosted_address(), "--insecure", "--bot", "1");
    hosted_expect_exit(&hosted.server, 0);
}

static bool has_ipv6(void)
{
    FILE *file = fopen("/proc/net/if_inet6", "r");
    bool has_line = file && fgetc(file) != EOF;
    if (file) {
        fclose(file);
    }
    return has_line;
}

Test(programs_admission, one_port_is_for_both_families)
{
    if (!has_ipv6()) {
        cr_skip_test("this machine has no IPv6");
    }
    hosted_serve(ARENA("2", "20"), "--bind", "::", "--insecure");
    hosted_join("--bot", "1");
    hosted_run(0, LS_TEST_CLIENT, hosted_text("[::1]:%u", (unsigned)hosted.port), "--bot", "2");
    hosted_expect_clean_exits();
}

/* ---- programs_tokens ---- */

/* Real programs: connect tokens let players in, once, and nobody else. */

/* In the private part, behind what is open to read. */
#define PRIVATE_PLACE 100

static void open_with_key(void)
{
    hosted_open();
    cr_assert_eq(ls_token_key_make(hosted_path("key"), NULL, NULL), LS_OK);
}

TestSuite(programs_tokens, .init = open_with_key, .fini = hosted_close);

/* ---- tokens ---- */

static ls_token_config token_for(uint64_t client_id, ls_token_admission admission)
{
    ls_token_config config = ls_token_config_default();
    config.create_s = (uint64_t)time(NULL);
    config.expire_s = config.create_s + 300;
    config.claims.client_id = client_id;
    config.claims.list.count = 1;
    cr_assert_eq(ls_endpoint_parse(hosted_address(), &config.claims.list.servers[0], NULL), LS_OK);
    cr_assert_eq(ls_token_user_data_write(&admission, config.claims.user_data, NULL), LS_OK);
    return config;
}

static const char *seal_token(const char *name, ls_token_config config, const char *key_name)
{
    ls_token_key key;
    uint8_t token[LS_TOKEN_BYTES];
    ls_text why = {{0}};
    const char *path = hosted_path(name);
    cr_assert_eq(ls_token_key_read(hosted_path(key_name), &key, NULL), LS_OK);
    cr_assert_eq(ls_token_make(&config, key.keys[0], token, &why), LS_OK, "%s", why.bytes);
    cr_assert_eq(ls_private_file_make(path, "token", token, sizeof token, &why), LS_OK, "%s",
                 why.bytes);
    return path;
}

static const char *any_token(const char *name, uint64_t client_id)
{
    return seal_token(name, token_for(client_id, (ls_token_admission){.name = ""}), "key");
}

static void serve(const char *players, const char *ticks)
{
    hosted_serve(ARENA(players, ticks), "--token-key", hosted_path("key"));
}

/* ---- coming in ---- */

Test(programs_tokens, a_token_opens_its_seat_under_its_name)
{
    serve("2", "40");
    const ls_token_admission ann = {.place = LS_TOKEN_PLACE_SEAT, .seat = 1, .name = "Ann"};
    const char *token = seal_token("ann", token_for(4711, ann), "key");
    hosted_join("--token", any_token("bob", 4712), "--bot", "1", "--name", "bob");
    /* The token alone says where the server is. */
    hosted_run(0, LS_TEST_CLIENT, "--token", token, "--bot", "2", "--name", "mallory");
    hosted_expect_exits(0, 0);
    cr_expect_eq(hosted_number(hosted_player("Ann"), "slot"), 1);
    cr_expect_eq(hosted_number(hosted_player("bob"), "slot"), 0);
}

Test(programs_tokens, without_a_token_nobody_comes_in)
{
    serve("1", "20");
    const char *errors = hosted_run(1, LS_TEST_CLIENT, hosted_address());
    cr_expect(strstr(errors, "without its whole invite or a connect token"), "%s", errors);
    hosted_expect_words(&hosted.server, "refused a client: without the invite's secret");
    hosted_run(0, LS_TEST_CLIENT, "--token", any_token("token", 1), "--bot", "1");
    hosted_expect_exit(&hosted.server, 0);
    cr_expect_geq(hosted_number(hosted_server_summary(), "network.clients_refused.credential"), 1);
}

Test(programs_tokens, a_token_to_watch_watches_and_takes_no_seat)
{
    serve("1", "60");
    const ls_token_admission watch = {.place = LS_TOKEN_PLACE_SPECTATOR, .name = "Eve"};
    const char *token = seal_token("eve", token_for(9, watch), "key");
    const char *errors = hosted_run(1, LS_TEST_CLIENT, "--token", token, "--bot", "1");
    cr_expect(strstr(errors, "it is let in to watch"), "%s", errors);
    uint32_t spectator = hosted_join("--token", token, "--spectate"); /* it was not used up */
    hosted_expect_words(&hosted.clients[spectator], "as a spectator");
    hosted_join("--token", any_token("player", 1), "--bot", "1");
    hosted_expect_words(&hosted.server, "spectator Eve");
    hosted_expect_clean_exits();
}

Test(programs_tokens, the_addresses_of_a_token_are_tried_in_their_order)
{
    serve("1", "20");
    ls_token_config config = token_for(1, (ls_token_admission){.name = ""});
    ls_token_server_list *list = &config.claims.list;
    list->servers[list->count++] = list->servers[0];
    cr_assert_eq(ls_endpoint_parse(NOWHERE, &list->servers[0], NULL), LS_OK);
    const char *errors =
        hosted_run(0, LS_TEST_CLIENT, "--token", seal_token("token", config, "key"), "--bot", "1",
                   "--connect-wait", "0");
    cr_expect(strstr(errors, hosted_text("joined %s", hosted_address())), "%s", errors);
    hosted_expect_exit(&hosted.server, 0);
}

Test(programs_tokens, the_invite_lets_in_beside_tokens_when_told_so)
{
    hosted_serve(ARENA("2", "20"), "--token-key", hosted_path("key"), "--invite-only", "--identity",
                 hosted_path("identity"), "--invite-file", hosted_path("invite"));
    char invite[512] = "";
    FILE *file = fopen(hosted_path("invite"), "r");
    cr_assert_not_null(file);
    cr_assert_not_null(fgets(invite, sizeof invite, file));
    fclose(file);
    invite[strcspn(invite, "\n")] = '\0';
    hosted_join("--token", any_token("token", 1), "--bot", "1");
    hosted_run(0, LS_TEST_CLIENT, invite, "--bot", "2");
    hosted_expect_clean_exits();
}

/* ---- kept out ---- */

static void join_in_vain(const char *token)
{
    hosted_join("--token", token, "--bot", "1", "--connect-wait", "0");
}

static void expect_refused(const char *why)
{
    hosted_expect_words(&hosted.server, hosted_text("refused a connect token: %s", why));
}

Test(programs_tokens, what_is_wrong_with_a_token_is_in_the_servers_log_alone)
{
    hosted_serve(ARENA("2", "20"), "--token-key", hosted_path("key"), "--token-server",
                 "192.0.2.7:7300,127.0.0.1:9");
    ls_token_config own = token_for(1, (ls_token_admission){.name = ""});
    ls_token_config config = own;
    join_in_vain(seal_token("elsewhere", config, "key")); /* it names the real port */
    config.expire_s = config.create_s - 1;
    config.create_s -= 60;
    join_in_vain(seal_token("expired", config, "key"));
    config = own;
    config.protocol_id++;
    join_in_vain(seal_token("game", config, "key"));
    join_in_vain(any_token("altered", 2));
    hosted_flip_bits(hosted_path("altered"), PRIVATE_PLACE, 1);
    config = own;
    config.claims.user_data[0] = 99;
    cr_assert_eq(ls_endpoint_parse("192.0.2.7:7300", &config.claims.list.servers[0], NULL), LS_OK);
    join_in_vain(seal_token("layout", config, "key"));
    expect_refused("it is for another server");
    expect_refused("it has expired");
    expect_refused("it is for another game");
    expect_refused("its user data is not laid out");
    for (uint32_t i = 0; i < hosted.client_count; i++) {
        hosted_expect_exit(&hosted.clients[i], 1);
        cr_expect(strstr(ls_process_errors(&hosted.clients[i]), "none takes this token"));
    }
    hosted_kill();
}

Test(programs_tokens, an_altered_token_is_refused_and_so_is_one_of_another_key)
{
    serve("1", "20");
    const char *altered = any_token("altered", 1);
    hosted_flip_bits(altered, PRIVATE_PLACE, 1);
    join_in_vain(altered);
    hosted_expect_words(&hosted.server, "it was altered, or sealed with another key");
    cr_assert_eq(ls_token_key_make(hosted_path("wrong-key"), NULL, NULL), LS_OK);
    const ls_token_config config = token_for(2, (ls_token_admission){.name = ""});
    const char *other = seal_token("other", config, "wrong-key");
    hosted_run(1, LS_TEST_CLIENT, "--token", other, "--connect-wait", "0");
    hosted_expect_exit(&hosted.clients[0], 1);
    hosted_run(0, LS_TEST_CLIENT, "--token", any_token("good", 3), "--bot", "1");
    hosted_expect_exit(&hosted.server, 0);
    const cJSON *network = hosted_item(hosted_server_summary(), "network");
    cr_expect_geq(hosted_number(network, "tokens_refused.forged"), 2);
    cr_expect_eq(hosted_number(network, "tokens_refused.expired"), 0);
    cr_expect_geq(hosted_number(network, "datagrams_dropped.credential"), 2);
}

Test(programs_tokens, a_used_token_opens_no_second_seat)
{
    serve("2", "20");
    const char *token = any_token("token", 1);
    hosted_join("--token", token, "--bot", "1");
    hosted_expect_words(&hosted.clients[0], "joined 127.0.0.1");
    const char *errors = hosted_run(1, LS_TEST_CLIENT, "--token", token, "--bot", "2");
    cr_expect(strstr(errors, "which may have been used before"), "%s", errors);
    cr_expect_null(strstr(errors, "comes back to no place"), "%s", errors);
    hosted_expect_words(&hosted.server, "its connect token was used before");
    hosted_join("--token", any_token("second", 2), "--bot", "2");
    hosted_expect_clean_exits();
}

/* ---- coming back ---- */

Test(programs_tokens, a_crashed_player_comes_back_with_the_same_token)
{
    hosted_serve("--sim", "arena", "--players", "2", "--token-key", hosted_path("key"));
    const char *token = any_token("token", 1);
    const char *seat = hosted_path("seat");
    uint32_t first = hosted_join("--token", token, "--seat-file", seat, "--bot", "1");
    uint32_t other = hosted_join("--token", any_token("second", 2), "--bot", "2");
    hosted_expect_words(&hosted.clients[first], "the match starts");
    ls_process_signal(&hosted.clients[first], SIGKILL);
    cr_assert(ls_process_wait(&hosted.clients[first], LS_PROCESS_PATIENCE_MS));
    /* Without the seat's secret the token is worth nothing. */
    hosted_run(1, LS_TEST_CLIENT, "--token", token, "--bot", "1");
    const char *copy = hosted_path("copy");
    cr_assert_eq(link(seat, copy), 0); /* of the file, which is replaced */
    uint32_t again = hosted_join("--token", token, "--seat-file", seat, "--bot", "1");
    hosted_expect_words(&hosted.server, "is back");
    hosted_expect_words(&hosted.clients[again], "playing from tick");
    const char *errors =
        hosted_run(1, LS_TEST_CLIENT, "--token", token, "--seat-file", copy, "--bot", "1");
    cr_expect(strstr(errors, "no seat is kept for this player"), "%s", errors);
    ls_process_signal(&hosted.clients[again], SIGKILL);
    cr_assert(ls_process_wait(&hosted.clients[again], LS_PROCESS_PATIENCE_MS));
    again = hosted_join("--token", token, "--seat-file", seat, "--bot", "1");
    hosted_expect_words(&hosted.clients[again], "playing from tick");
    ls_process_signal(&hosted.server, SIGINT);
    hosted_expect_exit(&hosted.server, 0);
    hosted_expect_exit(&hosted.clients[again], 0);
    hosted_expect_exit(&hosted.clients[other], 0);
    hosted_expect_agreement(again);
}

/* The server has not noticed yet that the one before it is gone. */
Test(programs_tokens, a_spectator_comes_back_with_the_same_token_in_its_own_place)
{
    hosted_serve("--sim", "arena", "--players", "1", "--token-key", hosted_path("key"));
    const ls_token_admission watch = {.place = LS_TOKEN_PLACE_SPECTATOR, .name = "Eve"};
    const char *token = seal_token("eve", token_for(9, watch), "key");
    uint32_t player = hosted_join("--token", any_token("player", 1), "--bot", "1");
    uint32_t first = hosted_join("--token", token, "--spectate");
    hosted_expect_words(&hosted.clients[first], "watching from tick");
    ls_process_signal(&hosted.clients[first], SIGKILL);
    cr_assert(ls_process_wait(&hosted.clients[first], LS_PROCESS_PATIENCE_MS));
    uint32_t again = hosted_join("--token", token, "--spectate");
    hosted_expect_words(&hosted.clients[again], "watching from tick");
    hosted_expect_words(&hosted.server, "spectator Eve: has come back on another connection");
    ls_process_signal(&hosted.server, SIGINT);
    hosted_expect_exit(&hosted.server, 0);
    hosted_expect_exit(&hosted.clients[player], 0);
    hosted_expect_exit(&hosted.clients[again], 0);
}

/* ---- another key ---- */

Test(programs_tokens, a_key_gives_way_to_another_while_the_server_runs)
{
    ls_token_key old;
    hosted_serve(ARENA("3", "20"), "--token-key", hosted_path("key"));
    hosted_join("--token", any_token("first", 1), "--bot", "1");
    hosted_expect_words(&hosted.clients[0], "joined 127.0.0.1");
    const char *late = any_token("late", 2); /* made with the old key, used after the change */
    cr_assert_eq(ls_token_key_read(hosted_path("key"), &old, NULL), LS_OK);
    cr_assert_eq(ls_token_key_make(hosted_path("new"), &old, NULL), LS_OK);
    cr_assert_eq(rename(hosted_path("new"), hosted_path("key")), 0);
    hosted_expect_words(&hosted.server, "has changed: tokens are taken by its keys");
    hosted_join("--token", late, "--bot", "2");
    hosted_join("--token", any_token("newest", 3), "--bot", "3");
    hosted_expect_clean_exits();
}

Test(programs_tokens, options_that_cannot_be_meant_are_refused)
{
    const char *key = hosted_path("key");
    hosted_expect_refusal(2, LS_TEST_SERVER, "--token-server needs --token-key", "--token-server",
                          "127.0.0.1:7300");
    hosted_expect_refusal(2, LS_TEST_SERVER, "lets nobody in by the address alone", "--token-key",
                          key, "--insecure");
    hosted_expect_refusal(2, LS_TEST_SERVER, "an invite lets nobody in", "--token-key", key,
                          "--invite-file", hosted_path("invite"));
    hosted_expect_refusal(2, LS_TEST_SERVER, "hexadecimal digits", "--token-key", key,
                          "--token-protocol-id", "0xgame");
    hosted_expect_refusal(1, LS_TEST_CLIENT, "there is no token", "--token", hosted_path("none"));
    hosted_expect_refusal(2, LS_TEST_CLIENT, "no connect token of netcode", "--token", key);
}

/* ==== programs_relay ==== */

/* A server, its players and a relay, as programs. Which way opens behind which router is claimed by
 * unit.relay_meeting, and by tests/relay with real ones. */

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
