/* Faults and refusals of the real programs, and clients that come back. */
#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/maths/rng.h"
#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/tests/loopback/hosted.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ==== programs_faults ==== */

enum {
    ANN,
    BOB, /* the client that it happens to */
    CY
};

TestSuite(programs_faults, .init = hosted_open, .fini = hosted_close);

/* Ann, bob and cy play arena, and have done so for a moment. */
#define start_three(...)                                                                           \
    start_three_with(LS_ARGUMENTS("--sim", "arena", "--players", "3", __VA_ARGS__))
static void start_three_with(const char *const *arguments)
{
    static const char *const names[] = {"ann", "bob", "cy"};
    hosted_serve_with(arguments);
    for (uint32_t i = 0; i < 3; i++) {
        hosted_join("--bot", hosted_text("%u", i), "--name", names[i], "--reconnect", "0");
    }
    for (uint32_t i = 0; i < 3; i++) {
        hosted_expect_words(&hosted.clients[i], "the match starts");
    }
    hosted_pause_ms(500);
}

/* The server ends the match, and in any case it and the other two end well and agree. */
static void end_with_others_unharmed(void)
{
    hosted_end_match();
    hosted_expect_exit(&hosted.server, 0);
    hosted_expect_exit(&hosted.clients[ANN], 0);
    hosted_expect_exit(&hosted.clients[CY], 0);
    hosted_expect_agreement(ANN);
    hosted_expect_agreement(CY);
    const cJSON *server = hosted_server_summary();
    double ticks = hosted_number(server, "final_tick");
    cr_expect_gt(ticks, 0);
    cr_expect_eq(hosted_count(server, "desyncs"), 0);
    static const char *const others[] = {"ann", "cy"};
    for (size_t i = 0; i < 2; i++) {
        const cJSON *player = hosted_player(others[i]);
        cr_expect_str_eq(hosted_word(player, "status"), "OK");
        cr_expect_eq(hosted_number(player, "hashes_compared"), ticks + 1);
    }
}

static void expect_bob_left(const char *status, const char *words)
{
    const cJSON *bob = hosted_player("bob");
    cr_expect(hosted_is_null(bob, "stalled_ticks"), "it told its figures");
    hosted_expect_left("bob", status, words);
}

/* ---- clients ---- */

Test(programs_faults, a_client_that_is_killed_leaves_its_slot_after_the_timeout)
{
    start_three("--ticks", "0", "--timeout", "10000", "--keep-seat", "0");
    ls_process_stop(&hosted.clients[BOB]);
    hosted_expect_words(&hosted.server, " left at tick ");
    end_with_others_unharmed();
    expect_bob_left("TIMED_OUT", "nothing was heard within the timeout (TIMED_OUT)");
    const cJSON *bob = hosted_player("bob");
    cr_expect_gt(hosted_number(bob, "inputs_on_time"), 0);
    cr_expect_gt(hosted_number(bob, "inputs_substituted"), 0);
}

Test(programs_faults, a_client_that_is_interrupted_leaves_at_once)
{
    start_three("--ticks", "0");
    ls_process_signal(&hosted.clients[BOB], SIGINT);
    hosted_expect_exit(&hosted.clients[BOB], 0);
    hosted_expect_all(&hosted.clients[BOB], "the player left");
    hosted_expect_words(&hosted.server, " left at tick "); /* and not at the end */
    end_with_others_unharmed();
    expect_bob_left("DISCONNECTED", "the player left (DISCONNECTED)");
}

Test(programs_faults, the_match_ends_when_everybody_has_left)
{
    start_three("--ticks", "0");
    for (uint32_t i = 0; i < 3; i++) {
        ls_process_signal(&hosted.clients[i], i == BOB ? SIGINT : SIGTERM);
    }
    hosted_expect_clean_exits();
    cr_expect_gt(hosted_number(hosted_server_summary(), "final_tick"), 0);
}

Test(programs_faults, a_client_that_stands_still_is_not_waited_for_and_catches_up)
{
    start_three("--ticks", "0", "--late", "repeat");
    ls_process_signal(&hosted.clients[BOB], SIGSTOP);
    hosted_pause_ms(2000);
    ls_process_signal(&hosted.clients[BOB], SIGCONT);
    hosted_end_perfectly();
    const cJSON *bob = hosted_player("bob");
    cr_expect_gt(hosted_number(bob, "inputs_substituted"), 0);
    hosted_expect_none(&hosted.server, "waiting for bob");
}

Test(programs_faults, a_client_that_stands_still_is_waited_for_by_the_other_rule)
{
    start_three("--ticks", "0", "--late", "wait", "--wait-limit", "60000");
    ls_process_signal(&hosted.clients[BOB], SIGSTOP);
    hosted_expect_words(&hosted.server, "waiting for bob (slot ");
    hosted_expect_words(&hosted.clients[ANN], "waiting for bob (slot ");
    ls_process_signal(&hosted.clients[BOB], SIGCONT);
    hosted_end_perfectly();
    double ticks = hosted_number(hosted_server_summary(), "final_tick");
    static const char *const names[] = {"ann", "bob", "cy"};
    for (size_t i = 0; i < 3; i++) {
        const cJSON *player = hosted_player(names[i]);
        cr_expect_eq(hosted_number(player, "inputs_on_time"), ticks);
        cr_expect_eq(hosted_number(player, "inputs_substituted"), 0);
    }
    const char *wait = hosted_text("waiting for bob (slot %.0f): no input for tick ",
                                   hosted_number(hosted_player("bob"), "slot"));
    hosted_expect_all(&hosted.server, wait);
    hosted_expect_all(&hosted.clients[ANN], wait);
    cr_expect_gt(hosted_number(hosted_client_summary(ANN), "final_tick"), 0);
}

Test(programs_faults, a_client_is_not_waited_for_longer_than_the_limit)
{
    start_three("--ticks", "0", "--late", "wait", "--wait-limit", "10000", "--timeout", "60000",
                "--keep-seat", "0");
    ls_process_signal(&hosted.clients[BOB], SIGSTOP);
    hosted_expect_words(&hosted.server, " left at tick ");
    ls_process_signal(&hosted.clients[BOB], SIGCONT);
    end_with_others_unharmed();
    expect_bob_left("TIMED_OUT", "within the longest wait of the rule 'wait' (TIMED_OUT)");
    hosted_expect_exit(&hosted.clients[BOB], 1);
    hosted_expect_all(&hosted.clients[BOB],
                      "within the longest wait of the rule 'wait' (TIMED_OUT)");
}

/* ---- the server ---- */

Test(programs_faults, a_server_that_is_stopped_ends_the_match_for_all_on_one_tick)
{
    start_three("--ticks", "0");
    ls_process_signal(&hosted.server, SIGHUP);
    hosted_expect_clean_exits();
    hosted_expect_all_agree();
    for (uint32_t i = 0; i < 3; i++) {
        hosted_expect_all(&hosted.clients[i], "the match is complete");
    }
    const cJSON *server = hosted_server_summary();
    double final_tick = hosted_number(server, "final_tick");
    cr_expect_gt(final_tick, 0);
    cr_expect_eq(hosted_number(server, "hashes_compared"), 3 * (final_tick + 1));
}

Test(programs_faults, a_server_that_is_stopped_in_its_lobby_tells_its_clients)
{
    hosted_serve("--sim", "arena", "--players", "2");
    hosted_join("--bot", "1");
    hosted_expect_words(&hosted.clients[0], "joined");
    ls_process_signal(&hosted.server, SIGINT);
    hosted_expect_exits(0, 1);
    hosted_expect_all(&hosted.clients[0], "the server stopped (ALREADY_OVER)");
    hosted_expect_all(&hosted.server, "0 ticks, 0 hashes compared, 0 differences");
    cr_expect(hosted_is_null(hosted_server_summary(), "players.0.status"), "nobody had played");
}

/* The second signal does not wait for a client that cannot finish. */
Test(programs_faults, a_second_signal_stops_the_server_at_once)
{
    start_three("--ticks", "0");
    ls_process_signal(&hosted.clients[BOB], SIGSTOP);
    ls_process_signal(&hosted.server, SIGINT);
    hosted_expect_words(&hosted.server, "press Ctrl-C again to stop at once");
    ls_process_signal(&hosted.server, SIGINT);
    hosted_expect_exit(&hosted.server, 0);
    hosted_expect_all(&hosted.server, "did not reach the end");
    hosted_expect_none(&hosted.server, "left at tick");
    for (uint32_t i = 0; i < 3; i++) {
        ls_process_stop(&hosted.clients[i]); /* no server is left to tell them the end */
    }
}

Test(programs_faults, clients_notice_that_the_server_was_killed)
{
    start_three("--timeout", "10000");
    ls_process_stop(&hosted.server);
    for (uint32_t i = 0; i < 3; i++) {
        hosted_expect_exit(&hosted.clients[i], 1);
        hosted_expect_all(&hosted.clients[i],
                          "nothing came from the server for 10.0 s (TIMED_OUT)");
        const cJSON *client = hosted_client_summary(i);
        cr_expect_str_eq(hosted_word(client, "status"), "TIMED_OUT");
        cr_expect_gt(hosted_number(client, "final_tick"), 0);
    }
}

/* ---- hostile packets ---- */

static void throw_garbage(int descriptor, ls_rng *rng)
{
    uint8_t bytes[1500];
    size_t size = ls_rng_below(rng, sizeof bytes);
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)ls_rng_next(rng);
    }
    ls_send_datagram(descriptor, hosted.port, bytes, size);
}

Test(programs_faults, garbage_from_unknown_peers_changes_nothing)
{
    enum {
        SOCKETS = 4
    };
    int descriptors[SOCKETS];
    uint16_t port;
    for (size_t i = 0; i < SOCKETS; i++) {
        descriptors[i] = ls_open_socket(&port);
    }
    ls_rng rng = ls_rng_make(7, 1);
    start_three("--ticks", "0");
    for (uint32_t thrown = 0; thrown < 4000;) {
        for (size_t i = 0; i < SOCKETS; i++, thrown++) {
            throw_garbage(descriptors[i], &rng);
        }
        ls_process_pause();
    }
    hosted_end_perfectly();
    for (size_t i = 0; i < SOCKETS; i++) {
        close(descriptors[i]);
    }
}

typedef struct damage {
    ls_rng rng;
    ls_relay *relay;
    uint32_t seen;
    uint32_t cut;
} damage;

/* Every fourth datagram is cut off somewhere, and every fourth is followed by its own beginning. */
static size_t cut(void *user, uint8_t *bytes, size_t size)
{
    damage *done = user;
    uint32_t turn = done->seen++ % 4;
    size_t shorter = ls_rng_below(&done->rng, (uint32_t)size);
    if (turn == 1) {
        ls_relay_send_up(done->relay, bytes, shorter);
        done->cut++;
    }
    done->cut += turn == 3;
    return turn == 3 ? shorter : size;
}

Test(programs_faults, packets_that_are_cut_off_on_their_way_change_nothing)
{
    hosted_serve(ARENA("2", "180"));
    hosted_join("--bot", "1");
    ls_relay relay = ls_relay_open(hosted.port);
    damage done = {.rng = ls_rng_make(7, 2), .relay = &relay};
    relay.alter = cut;
    relay.user = &done;
    hosted.port = relay.port;
    hosted_join("--bot", "2");
    hosted_relay(&relay);
    hosted_expect_perfect(180);
    cr_expect_gt(done.cut, 50);
    ls_relay_close(&relay);
}

/* A whole conversation of a client's comes a second time, from somebody else's address. */
static size_t repeat_from_elsewhere(void *user, uint8_t *bytes, size_t size)
{
    const int *elsewhere = user;
    ls_send_datagram(*elsewhere, hosted.port, bytes, size);
    return size;
}

Test(programs_faults, a_conversation_repeated_by_an_unknown_peer_changes_nothing)
{
    uint16_t port;
    int elsewhere = ls_open_socket(&port);
    hosted_serve(ARENA("1", "120"));
    ls_relay relay = ls_relay_open(hosted.port);
    relay.alter = repeat_from_elsewhere;
    relay.user = &elsewhere;
    uint16_t server_port = hosted.port;
    hosted.port = relay.port;
    hosted_join("--bot", "1");
    hosted.port = server_port; /* where the unknown peer sends to */
    hosted_relay(&relay);
    hosted_expect_perfect(120);
    ls_relay_close(&relay);
    close(elsewhere);
}

/* ==== programs_return ==== */

/* Real programs: lost links, and a client whose address changes. */

TestSuite(programs_return, .init = hosted_open, .fini = hosted_close);

enum {
    SOME_PACKETS = 60 /* a client has sent them when it has played for a while */
};

static ls_relay relay;

/* Everybody agrees about the match that was ended, and nobody differed. */
static void expect_agreement(void)
{
    hosted_expect_clean_exits();
    hosted_expect_all_agree();
    cr_expect_eq(hosted_count(hosted_server_summary(), "desyncs"), 0);
}

/* A client that has played for a while when its link ends. */
static ls_process *play_and_lose(const char *const *arguments)
{
    relay = ls_relay_open(hosted.port);
    hosted.port = relay.port;
    ls_process *client = &hosted.clients[hosted_join_with(arguments)];
    hosted_relay_until(&relay, client, "the match starts");
    for (uint64_t end = relay.up_packets + SOME_PACKETS; relay.up_packets < end;) {
        cr_assert(!ls_process_has_ended(client), "%s", ls_process_errors(client));
        ls_relay_turn(&relay);
        ls_process_pause();
    }
    return client;
}

Test(programs_return, a_client_that_loses_its_link_comes_back)
{
    hosted_serve("--sim", "arena", "--players", "2", "--timeout", "4000");
    hosted_join("--bot", "1", "--name", "anna");
    ls_process *client = play_and_lose(LS_ARGUMENTS("--bot", "2", "--name", "bert"));
    hosted_expect_words(client, "lost the link");
    hosted_relay_until(&relay, client, "back in the match after");
    hosted_relay_until(&relay, client, "playing from tick");
    hosted_relay_until(&relay, &hosted.server, "plays from tick");
    hosted_end_match();
    hosted_relay(&relay);
    expect_agreement();
    ls_relay_close(&relay);
    hosted_expect_none(&hosted.clients[0], "lost the link");
}

/* A client whose link is gone for good, and that ends with it in these words, after some seconds of
 * trying. */
static void lose_for_good(const char *seconds, const char *words)
{
    hosted_serve("--sim", "arena", "--players", "1", "--timeout", "4000");
    play_and_lose(LS_ARGUMENTS("--bot", "1", "--reconnect", seconds));
    hosted_expect_exit(&hosted.clients[0], 1);
    ls_relay_close(&relay);
    hosted_expect_all(&hosted.clients[0], words);
    ls_process_signal(&hosted.server, SIGINT);
    hosted_expect_exit(&hosted.server, 0);
}

Test(programs_return, a_client_that_does_not_want_to_return_ends_with_the_link)
{
    lose_for_good("0", "TIMED_OUT");
    hosted_expect_none(&hosted.clients[0], "lost the link");
}

Test(programs_return, a_client_that_cannot_return_gives_up_in_time)
{
    lose_for_good("2", "could not be made again within 2 s");
    hosted_expect_all(&hosted.clients[0], "lost the link");
}

Test(programs_return, a_late_player_plays_with_the_others)
{
    hosted_serve("--sim", "units", "--players", "2");
    hosted_join("--bot", "1");
    uint32_t first = hosted_join("--bot", "2", "--ticks", "60");
    hosted_expect_exit(&hosted.clients[first], 0);
    uint32_t late = hosted_join("--bot", "3", "--predict", "6");
    hosted_expect_words(&hosted.clients[late], " with a snapshot of");
    hosted_expect_words(&hosted.clients[late], "playing from tick");
    hosted_expect_words(&hosted.server, "plays from tick");
    ls_process_signal(&hosted.server, SIGINT);
    hosted_expect_clean_exits();
    hosted_expect_agreement(0);
    hosted_expect_agreement(late);
}

Test(programs_return, a_spectator_sees_the_gameplay)
{
    hosted_serve("--sim", "arena", "--players", "1", "--spectators", "2", "--spectator-delay",
                 "10");
    hosted_join("--bot", "1");
    hosted_expect_words(&hosted.clients[0], "the match starts");
    uint32_t spectator = hosted_join("--spectate");
    hosted_expect_words(&hosted.clients[spectator], "as a spectator: arena");
    hosted_expect_words(&hosted.clients[spectator], "watching from tick");
    hosted_end_match();
    expect_agreement();
}

/* ---- a client at another address ---- */

/* A client whose address changes, and one whose datagrams are altered on the way. In
 * both matches each tick has the inputs that the players gave, and nobody has to come back. */

enum {
    TICKS = 180,
    MOVE_COUNT = 2,
    FIRST_MOVE = 70, /* by the client's datagrams, of which there is one a tick */
    SECOND_MOVE = 120,
    UNHEARD_MAX = 30, /* half a second's */
    ALTERED_EVERY = 20
};

/* The relay between the second client and the server, and what it has done. */
typedef struct test_path {
    ls_relay relay;
    uint32_t up_count;
    uint32_t down_count;
    uint32_t altered_count;
    uint32_t random;
    uint32_t moves;
    uint32_t unheard; /* datagrams that went up since the last move; 0: the server has answered */
} test_path;

static test_path path;

/* A match of two bots, the second behind the relay. The server waits for inputs, but not for as
 * long as an attack on an unsealed transport could hold them up. */
static void play(size_t (*alter)(void *, uint8_t *, size_t),
                 size_t (*alter_down)(void *, uint8_t *, size_t))
{
    hosted_serve(ARENA("2", "180"), "--late", "wait", "--wait-limit", "10000");
    hosted_join("--bot", "1", "--name", "anna");
    hosted_expect_words(&hosted.clients[0], "joined");
    path = (test_path){.relay = ls_relay_open(hosted.port), .random = 1};
    path.relay.alter = alter;
    path.relay.alter_down = alter_down;
    hosted.port = path.relay.port;
    hosted_join("--bot", "2", "--name", "bert");
    hosted_relay(&path.relay);
    ls_relay_close(&path.relay);
    hosted_expect_perfect(TICKS);
}

/* The match went on as if nothing were: no player left, came back, or was given an input. */
static void expect_undisturbed(void)
{
    static const char *const names[] = {"anna", "bert"};
    for (size_t i = 0; i < 2; i++) {
        const cJSON *player = hosted_player(names[i]);
        cr_expect_eq(hosted_number(player, "inputs_on_time"), TICKS);
        cr_expect_eq(hosted_number(player, "inputs_substituted"), 0);
        cr_expect_eq(hosted_number(player, "rejoins"), 0);
        cr_expect_eq(hosted_number(player, "slot"), (double)i);
        cr_expect_eq(hosted_number(hosted_client_summary((uint32_t)i), "packets_rejected"), 0);
        hosted_expect_none(&hosted.clients[i], "lost the link", "back in the match");
    }
    hosted_expect_none(&hosted.server, "lost the link", "left at tick", "plays from tick");
    cr_expect_eq(hosted_number(hosted_server_summary(), "packets_rejected"), 0);
}

/* ---- another address ---- */

/* The server has to answer at a new port soon, or never: later datagrams are lost. */
static size_t move_now_and_then(void *user, uint8_t *bytes, size_t size)
{
    (void)user;
    (void)bytes;
    path.up_count++;
    if (path.up_count == FIRST_MOVE || path.up_count == SECOND_MOVE) {
        ls_relay_move(&path.relay);
        path.moves++;
        path.unheard = 1;
    } else if (path.unheard > 0) {
        path.unheard++;
    }
    return path.unheard > UNHEARD_MAX ? LS_RELAY_LOST : size;
}

static size_t note_answer(void *user, uint8_t *bytes, size_t size)
{
    (void)user;
    (void)bytes;
    path.unheard = 0;
    return size;
}

Test(programs_return, a_client_whose_port_changes_plays_on)
{
    play(move_now_and_then, note_answer);
    expect_undisturbed();
    cr_expect_eq(path.moves, MOVE_COUNT);
    cr_expect_eq(path.unheard, 0, "the server never answered at the last port");
}

/* ---- altered bits ---- */

static size_t flip_bit_now_and_then(uint32_t *count, uint8_t *bytes, size_t size)
{
    if (++*count % ALTERED_EVERY == 0 && size > 0) {
        path.random = path.random * 1664525u + 1013904223u;
        size_t bit = (path.random >> 8) % (8 * size);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        path.altered_count++;
    }
    return size;
}

static size_t alter_up(void *user, uint8_t *bytes, size_t size)
{
    (void)user;
    return flip_bit_now_and_then(&path.up_count, bytes, size);
}

static size_t alter_down(void *user, uint8_t *bytes, size_t size)
{
    (void)user;
    return flip_bit_now_and_then(&path.down_count, bytes, size);
}

Test(programs_return, altered_datagrams_cost_no_more_than_lost_ones)
{
    play(alter_up, alter_down);
    expect_undisturbed();
    cr_expect_geq(path.altered_count, 2 * (TICKS / 2 / ALTERED_EVERY));
}

/* ==== programs_refusal ==== */

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
