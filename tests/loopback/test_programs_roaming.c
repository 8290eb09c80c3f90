/* Real programs: a client whose address changes, and one whose datagrams are altered on the way. In
 * both matches each tick has the inputs that the players gave, and nobody has to come back. */
#include "lockstep/tests/loopback/hosted.h"

TestSuite(programs_roaming, .init = hosted_open, .fini = hosted_close);

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

Test(programs_roaming, a_client_whose_port_changes_plays_on)
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

Test(programs_roaming, altered_datagrams_cost_no_more_than_lost_ones)
{
    play(alter_up, alter_down);
    expect_undisturbed();
    cr_expect_geq(path.altered_count, 2 * (TICKS / 2 / ALTERED_EVERY));
}
