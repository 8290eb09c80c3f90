#define _POSIX_C_SOURCE 200809L
#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/tests/loopback/hosted.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

TestSuite(programs_refusal, .init = hosted_open, .fini = hosted_close);

/* Runs a client that the server will not have; returns what it says. */
static const char *refuse(const char *flag, const char *value)
{
    const char *errors =
        hosted_run(1, LS_TEST_CLIENT, hosted_address(), "--connect-wait", "0", flag, value);
    cr_expect(!strstr(errors, "hash "), "it told a hash of no match: %s", errors);
    return errors;
}

/* ---- different games ---- */

static void serve_variant(const char *bonus)
{
    hosted_serve("--sim", LS_PLUGIN("variant"), "--players", "1", "--ticks", "20", "--param",
                 bonus);
}

/* Nothing of it disturbs the match. */
static void play_variant(void)
{
    hosted_join("--sim", LS_PLUGIN("variant"), "--bot", "1");
    hosted_expect_perfect(20);
}

#define FIELD "; the first field that differs is "

/* The client's last line is "lockstep-client: error: HOST:PORT: SENTENCE (STATUS)"; the server has
 * to have the same sentence, but for the field, which the client names. */
static void expect_same_sentence(const char *errors, const char *item)
{
    char sentence[512];
    const char *intro = hosted_text("error: %s: ", hosted_address());
    const char *found = strstr(errors, intro);
    cr_assert(found, "no \"%s\" in: %s", intro, errors);
    snprintf(sentence, sizeof sentence, "%s", found + strlen(intro));
    sentence[strcspn(sentence, "\n")] = '\0';
    cr_expect(strncmp(sentence, item, strlen(item)) == 0, "not about %s: %s", item, sentence);
    char *field = strstr(sentence, FIELD);
    if (field) {
        const char *behind = strstr(field, " here");
        cr_assert(behind, "no end of the field in: %s", sentence);
        memmove(field, behind + 5, strlen(behind + 5) + 1);
    }
    hosted_expect_words(&hosted.server, sentence);
}

/* "...: client X, server Y" with X not Y. */
static void expect_two_values(const char *errors)
{
    char client[64];
    char server[64];
    const char *values = strstr(errors, ": client ");
    cr_assert(values, "no values in: %s", errors);
    cr_assert_eq(sscanf(values, ": client %63[^,], server %63s", client, server), 2);
    cr_expect_str_neq(client, server);
}

Test(programs_refusal, a_difference_is_named_with_both_values_on_both_sides)
{
    static const struct {
        const char *file;
        const char *item;
        const char *field;
    } different[] = {
        {LS_PLUGIN("variant_version"), "simulation version: client 2, server 1 (", NULL},
        {LS_PLUGIN("variant_schema"), "state schema digest: client ", FIELD "scores here"},
        {LS_PLUGIN("variant_content"),
         "content digest: client 0000000000002222, server 0000000000001111 (CONTENT_MISMATCH)",
         NULL},
        {LS_PLUGIN("variant_initial"), "initial state: client ", FIELD "scores here"},
        {LS_PLUGIN("variant_param_name"), "parameter digest: client ", NULL},
    };
    serve_variant("bonus=1");
    for (size_t i = 0; i < sizeof different / sizeof different[0]; i++) {
        const char *errors = refuse("--sim", different[i].file);
        expect_same_sentence(errors, different[i].item);
        expect_two_values(errors);
        cr_expect(!different[i].field || strstr(errors, different[i].field), "no %s in: %s",
                  different[i].field, errors);
    }
    play_variant();
}

static cJSON *explain(const char *bundle, const char *simulation)
{
    const char *json = hosted_path("explained.json");
    hosted_run(3, LS_TEST_DESYNC, "explain", bundle, "--sim", simulation, "--json", json);
    return hosted_read_json(json);
}

/* As its machine would, with the bundle of the server: both values of what differs. */
Test(programs_refusal, a_first_state_that_differs_is_explained_by_a_bundle)
{
    static const char *const clients[] = {LS_PLUGIN("variant_initial"), LS_PLUGIN("variant")};
    const char *bundle = hosted_path("desync-variant-tick0-slot0.bundle");
    serve_variant("bonus=1");
    refuse("--sim", clients[0]);
    hosted_expect_all(&hosted.server, "next: lockstep-desync explain ", "tick0-slot0.bundle --sim ",
                      "variant.so");
    refuse("--sim", clients[0]); /* once is enough */
    play_variant();
    cJSON *said = explain(bundle, clients[0]);
    cr_expect_str_eq(hosted_word(said, "agrees_with"), "client");
    cr_expect_str_eq(hosted_word(said, "differences.0.field"), "scores[0]");
    cr_expect_str_eq(hosted_word(said, "differences.0.server"), "0 points");
    cr_expect_str_eq(hosted_word(said, "differences.0.client"), "1 points");
    cJSON_Delete(said);
    said = explain(bundle, clients[1]);
    cr_expect_str_eq(hosted_word(said, "agrees_with"), "server");
    cr_expect_not_null(strstr(hosted_word(said, "next"), "on the client's machine"));
    cJSON_Delete(said);
    cr_expect_neq(access(hosted_path("desync-variant-tick0-slot0-2.bundle"), F_OK), 0);
}

Test(programs_refusal, parameters_that_the_client_cannot_take_are_named)
{
    serve_variant("bonus=50");
    expect_same_sentence(refuse("--sim", LS_PLUGIN("variant_param_range")),
                         "simulation parameters: the client cannot take the server's: parameter "
                         "'bonus' of 'variant' takes 0..5 points, not 50 (PARAMETER_MISMATCH)");
    expect_same_sentence(refuse("--sim", LS_PLUGIN("variant_param_count")),
                         "simulation parameters: the client cannot take the server's: 'variant' "
                         "has 2 parameters, not 1 (PARAMETER_MISMATCH)");
    play_variant();
}

Test(programs_refusal, another_simulation_is_named_on_both_sides)
{
    static const char item[] = "simulation: the server plays 'variant', which this client does not "
                               "have (SIMULATION_MISMATCH)";
    serve_variant("bonus=1");
    const char *errors = refuse("--bot", "1");
    cr_expect(strstr(errors, "'variant' is no built-in: give its plug-in with --sim FILE.so"));
    expect_same_sentence(errors, item);
    errors = refuse("--sim", "arena");
    cr_expect(strstr(errors, "--sim gives 'arena', but the server plays 'variant'"));
    expect_same_sentence(errors, item);
    play_variant();
}

/* ---- different builds: a HELLO by hand ---- */

static void send_hello(ls_station *client, const ls_hello *hello)
{
    static ls_message message;
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    message.kind = LS_MESSAGE_HELLO;
    message.body.hello = *hello;
    ls_station_send(client, LS_CHANNEL_RELIABLE, bytes, ls_message_write(&message, bytes));
}

/* Sends the HELLO and expects a REFUSE with this status, whose words the server tells as well. */
static void expect_hello_refused(const ls_hello *hello, ls_status status, const char *item)
{
    static ls_message message;
    ls_station client = ls_station_connect(hosted.port, LS_PROCESS_PATIENCE_MS);
    LS_RUN_UNTIL(client.connected_count == 1, &client);
    send_hello(&client, hello);
    LS_RUN_UNTIL(client.disconnected_count == 1, &client);
    const ls_station_packet *packet = ls_station_newest(&client);
    cr_assert_eq(ls_message_read(packet->bytes, packet->size, 0, &message), LS_OK);
    cr_assert_eq(message.kind, LS_MESSAGE_REFUSE);
    cr_expect_eq(-(int)message.body.close_reason.negated_status, status);
    const char *words = message.body.close_reason.text.bytes;
    cr_expect(strstr(words, item), "no \"%s\" in: %s", item, words);
    hosted_expect_words(&hosted.server, words);
    ls_station_close(&client);
}

Test(programs_refusal, other_builds_and_unknown_peers_are_refused_at_the_door)
{
    hosted_serve(ARENA("1", "20"));
    ls_hello hello = ls_hello_make("newer");
    hello.protocol_version = LS_PROTOCOL_VERSION + 1;
    expect_hello_refused(&hello, LS_PROTOCOL_MISMATCH,
                         hosted_text("protocol version: client %u, server %u",
                                     LS_PROTOCOL_VERSION + 1, LS_PROTOCOL_VERSION));
    hello = ls_hello_make("other arithmetic");
    hello.arithmetic ^= 1;
    expect_hello_refused(&hello, LS_ARITHMETIC_MISMATCH, "do not compute the same numbers");
    hosted_expect_words(&hosted.server, "tick0-spectator.bundle");
    hello = ls_hello_make("unknown peer");
    hello.magic = 0x20544547; /* "GET " */
    expect_hello_refused(&hello, LS_MALFORMED, "this is not a Lockstep client");
    hosted_expect_words(&hosted.server, "warning: refused a client: ");
    hosted_join("--bot", "1");
    hosted_expect_perfect(20);
    cJSON *said = explain(hosted_path("desync-arena-tick0-spectator.bundle"), "arena");
    cr_expect_str_eq(hosted_word(said, "agrees_with"), "server");
    cr_expect_str_eq(hosted_word(said, "player"), "other arithmetic");
    cJSON_Delete(said);
}

/* ---- no room ---- */

/* A pending connection that takes a seat and never gets ready keeps the match in its lobby. */
Test(programs_refusal, a_full_match_is_told_and_stays_as_it_was)
{
    hosted_serve(ARENA("2", "30"));
    ls_station pending = ls_station_connect(hosted.port, LS_PROCESS_PATIENCE_MS);
    LS_RUN_UNTIL(pending.connected_count == 1, &pending);
    ls_hello hello = ls_hello_make("dawdler");
    send_hello(&pending, &hello);
    LS_RUN_UNTIL(pending.received_count > 0, &pending); /* OFFER */
    hosted_join("--bot", "1");
    hosted_expect_words(&hosted.clients[0], "joined");

    const char *errors = refuse("--bot", "2");
    cr_expect(strstr(errors, "every seat of the match is taken (MATCH_FULL)"), "%s", errors);
    hosted_expect_words(&hosted.server,
                        "refused a client: every seat of the match is taken (MATCH_FULL)");
    ls_station_close(&pending);
    hosted_expect_words(&hosted.server,
                        "a client did not take the seat that it was offered (slot 0)");

    hosted_join("--bot", "3");
    hosted_expect_perfect(30);
}

Test(programs_refusal, a_match_that_is_full_is_told_and_stays_as_it_was)
{
    hosted_serve(ARENA("2", "0"));
    hosted_join_bots(2);
    hosted_expect_words(&hosted.server, "the match starts");
    const char *errors = refuse("--bot", "3");
    cr_expect(strstr(errors, "every seat of the match is taken (MATCH_FULL)"), "%s", errors);
    hosted_end_perfectly();
    hosted_expect_all(&hosted.server, "refused a client: every seat of the match is taken");
}

/* ---- seats that become free again before the start ---- */

static void fill_both_seats(void)
{
    hosted.client_count = 0;
    hosted_join_bots(2);
    hosted_expect_perfect(30);
}

Test(programs_refusal, a_player_that_leaves_the_lobby_frees_the_seat)
{
    hosted_serve(ARENA("2", "30"));
    hosted_join("--name", "fickle");
    hosted_expect_words(&hosted.clients[0], "joined");
    ls_process_signal(&hosted.clients[0], SIGINT);
    hosted_expect_exit(&hosted.clients[0], 0);
    hosted_expect_words(&hosted.server, "left at tick 0: the player left (DISCONNECTED)");
    fill_both_seats();
}

Test(programs_refusal, a_player_that_vanishes_from_the_lobby_frees_the_seat)
{
    hosted_serve(ARENA("2", "30"), "--timeout", "4000");
    hosted_join("--name", "ghost");
    hosted_expect_words(&hosted.clients[0], "joined");
    ls_process_stop(&hosted.clients[0]);
    hosted_expect_words(&hosted.server, "nothing was heard within the timeout (TIMED_OUT)");
    fill_both_seats();
}

/* The client crashes in the same pass: the same tick is played on both sides. */
Test(programs_refusal, a_plug_in_that_crashes_is_named_with_pass_and_tick)
{
    hosted_serve("--sim", LS_PLUGIN("live_trap"), "--ticks", "60", "--param", "trap=1", "--param",
                 "tick=5");
    hosted_join("--sim", LS_PLUGIN("live_trap"), "--bot", "1");
    static const char words[] = "live_trap.so' crashed in pass 'spring' of tick 5 "
                                "(segmentation fault); lockstep-synctest ";
    cr_assert(ls_process_wait(&hosted.server, LS_PROCESS_PATIENCE_MS));
    cr_expect(strstr(ls_process_errors(&hosted.server), words), "%s",
              ls_process_errors(&hosted.server));
    cr_expect_eq(hosted.server.ending_signal, SIGSEGV);
}

/* In hundredths of a second; 0 of one that has ended. */
static unsigned long processor_time_of(const ls_process *process)
{
    unsigned long user = 0;
    FILE *file = fopen(hosted_text("/proc/%d/stat", (int)process->pid), "r");
    cr_assert(file);
    cr_assert_eq(fscanf(file, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu", &user), 1);
    fclose(file);
    return user;
}

/* It is in the pass for ever. The first signal waits for an answer; one that comes later does not.
 */
Test(programs_refusal, a_plug_in_that_hangs_is_named_and_ended_by_a_second_signal)
{
    hosted_serve("--sim", LS_PLUGIN("live_trap"), "--ticks", "60", "--param", "trap=2", "--param",
                 "tick=5");
    hosted_join("--sim", LS_PLUGIN("live_trap"), "--bot", "1");
    while (processor_time_of(&hosted.server) < 100) {
        ls_process_pause();
    }
    while (!ls_process_has_ended(&hosted.server)) {
        ls_process_signal(&hosted.server, SIGTERM);
        ls_process_pause();
    }
    static const char words[] = "live_trap.so' hangs in pass 'spring' of tick 5 (a second signal "
                                "ended the program); lockstep-synctest ";
    cr_expect(strstr(ls_process_errors(&hosted.server), words), "%s",
              ls_process_errors(&hosted.server));
    cr_expect_eq(hosted.server.ending_signal, SIGTERM);
}

Test(programs_refusal, a_plug_in_that_crashes_in_init_is_named)
{
    static const char *const arguments[] = {
        "--sim", LS_PLUGIN("live_trap"), "--param", "trap=3", "--port", "0", "--bind", "127.0.0.1",
        NULL};
    ls_process_start(&hosted.other, &(ls_process_config){.program = LS_TEST_SERVER,
                                                         .arguments = arguments,
                                                         .output_stem = hosted_path("crashing")});
    cr_assert(ls_process_wait(&hosted.other, LS_PROCESS_PATIENCE_MS));
    cr_expect(strstr(ls_process_errors(&hosted.other), "crashed in init (segmentation fault)"),
              "%s", ls_process_errors(&hosted.other));
    cr_expect_eq(hosted.other.ending_signal, SIGSEGV);
}
