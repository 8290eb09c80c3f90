#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/maths/rng.h"
#include "lockstep/tests/loopback/hosted.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
