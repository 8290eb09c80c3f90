/* Real programs: lost links, and a client whose address changes. */
#include "lockstep/tests/loopback/hosted.h"

#include <signal.h>

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
