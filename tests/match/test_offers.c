/* Seats that are offered and not taken: those who come again and again without READY keep nobody
 * else out, and nobody else loses a seat for it. */
#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/tests/match/match_test.h"

enum {
    PEERS = 128,
    /* Where they come from. */
    HOME = 1,
    BAD,
    OTHER,
    THIRD,
};

/* A lobby of two, whose newcomers exist as packets alone. */
typedef struct lobby {
    ls_match *match;
    uint64_t now_ns;
    ls_peer_id newest;
    bool is_out[PEERS];
    ls_offer offers[PEERS];
} lobby;

static void on_send(void *user, ls_peer_id peer, ls_channel channel, const uint8_t *bytes,
                    size_t size)
{
    lobby *here = user;
    ls_message message;
    if (channel == LS_CHANNEL_RELIABLE &&
        ls_message_read(bytes, size, LS_PLAYERS_MAX, &message) == LS_OK &&
        message.kind == LS_MESSAGE_OFFER) {
        here->offers[peer] = message.body.offer;
    }
}

static void on_disconnect(void *user, ls_peer_id peer)
{
    lobby *here = user;
    here->is_out[peer] = true;
}

static void open_lobby(lobby *here)
{
    ls_match_config config = ls_match_config_default(test_simulation());
    config.sim.players = 2;
    config.start_players = 2;
    ls_packet_sink sink = {on_send, on_disconnect, here};
    *here = (lobby){.now_ns = SECOND};
    cr_assert_eq(ls_match_create(&config, &sink, ls_allocator_heap(), &here->match, NULL), LS_OK);
}

static void send_message(const lobby *here, ls_peer_id peer, const ls_message *message)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    size_t size = ls_message_write(message, bytes);
    ls_match_receive(here->match, peer, LS_CHANNEL_RELIABLE, bytes, size, here->now_ns);
}

static ls_peer_id come_as(lobby *here, uint64_t origin, const ls_return *back)
{
    ls_peer_id peer = ++here->newest;
    const ls_transport_event event = {
        .kind = LS_TRANSPORT_CONNECTED, .peer = peer, .origin = origin};
    ls_message hello = {.kind = LS_MESSAGE_HELLO, .body.hello = ls_hello_make("somebody")};
    cr_assert_lt(peer, PEERS);
    hello.body.hello.back = *back;
    ls_match_receive_event(here->match, &event, here->now_ns);
    send_message(here, peer, &hello);
    return peer;
}

static ls_peer_id come_from(lobby *here, uint64_t origin)
{
    return come_as(here, origin, &(const ls_return){.match_id = 0});
}

static void get_ready(const lobby *here, ls_peer_id peer)
{
    ls_message message = {.kind = LS_MESSAGE_READY};
    message.body.ready = ls_ready_make(ls_match_instance(here->match));
    send_message(here, peer, &message);
}

static void pass_time(lobby *here, uint64_t ns)
{
    here->now_ns += ns;
    ls_match_advance(here->match, here->now_ns);
}

static bool has_seat(const lobby *here, ls_peer_id peer)
{
    return ls_match_slot_of(here->match, 0).peer == peer ||
           ls_match_slot_of(here->match, 1).peer == peer;
}

static void lapse(lobby *here, uint64_t origin)
{
    ls_peer_id peer = come_from(here, origin);
    cr_assert(has_seat(here, peer));
    ls_match_peer_disconnected(here->match, peer, LS_DISCONNECTED, here->now_ns);
}

/* One of the two seats is taken, the other one free. */
static void open_with_one_seat(lobby *here)
{
    open_lobby(here);
    get_ready(here, come_from(here, HOME));
}

/* The finding: a HELLO every 400 ms from one address, never a READY. */
Test(offers, who_comes_again_and_again_from_one_address_keeps_nobody_else_out)
{
    lobby here;
    uint32_t refused = 0;
    open_with_one_seat(&here);
    for (uint32_t turn = 0; turn < 60; turn++) {
        (void)come_from(&here, BAD);
        pass_time(&here, 400 * MS);
        if (turn >= 6 && turn % 3 == 0) {
            ls_peer_id newcomer = come_from(&here, OTHER + turn);
            refused += !has_seat(&here, newcomer);
            (void)come_from(&here, BAD);
            refused += !has_seat(&here, newcomer);
            ls_match_peer_disconnected(here.match, newcomer, LS_DISCONNECTED, here.now_ns);
        }
    }
    cr_assert_eq(refused, 0);
    ls_match_destroy(here.match);
}

Test(offers, the_first_time_a_newcomer_has_its_two_seconds)
{
    lobby here;
    open_with_one_seat(&here);
    ls_peer_id slow = come_from(&here, BAD);
    pass_time(&here, 1999 * MS);
    cr_assert(here.is_out[come_from(&here, OTHER)]);
    cr_assert(has_seat(&here, slow));
    pass_time(&here, 1 * MS);
    ls_peer_id next = come_from(&here, OTHER);
    cr_assert(has_seat(&here, next));
    cr_assert(here.is_out[slow]);
    ls_match_destroy(here.match);
}

Test(offers, an_origin_that_let_an_offer_lapse_still_gets_a_free_seat_and_puts_nobody_out_early)
{
    lobby here;
    open_with_one_seat(&here);
    lapse(&here, BAD);
    lapse(&here, OTHER);
    ls_peer_id again = come_from(&here, BAD);
    cr_assert(has_seat(&here, again));
    cr_assert_not(has_seat(&here, come_from(&here, OTHER)), "it is no better");
    cr_assert_not(has_seat(&here, come_from(&here, BAD)));
    ls_peer_id first = come_from(&here, THIRD);
    cr_assert(has_seat(&here, first));
    cr_assert_not(has_seat(&here, come_from(&here, BAD)));
    cr_assert(has_seat(&here, first));
    pass_time(&here, 2 * SECOND);
    ls_peer_id late = come_from(&here, BAD);
    cr_assert(has_seat(&here, late), "the two seconds are over");
    get_ready(&here, late);
    cr_assert_eq(ls_match_state_of(here.match), LS_MATCH_RUNNING);
    ls_match_destroy(here.match);
}

Test(offers, an_origin_with_two_offers_makes_room_at_once_for_another_and_not_for_its_own)
{
    lobby here;
    open_lobby(&here);
    ls_peer_id one = come_from(&here, BAD);
    ls_peer_id two = come_from(&here, BAD);
    cr_assert_not(has_seat(&here, come_from(&here, BAD)));
    ls_peer_id other = come_from(&here, OTHER);
    cr_assert(has_seat(&here, other));
    cr_assert_neq(has_seat(&here, one), has_seat(&here, two));
    cr_assert_not(has_seat(&here, come_from(&here, THIRD)), "one is left, which has its time");
    ls_match_destroy(here.match);
}

/* Two of a household come at the same moment as somebody else. */
Test(offers, making_room_because_two_came_at_once_is_not_held_against_them)
{
    lobby here;
    open_lobby(&here);
    (void)come_from(&here, HOME);
    (void)come_from(&here, HOME);
    ls_peer_id other = come_from(&here, OTHER);
    cr_assert(has_seat(&here, other));
    cr_assert_not(has_seat(&here, come_from(&here, THIRD)));
    ls_match_destroy(here.match);
}

Test(offers, peers_of_unknown_origin_have_the_two_seconds)
{
    lobby here;
    open_lobby(&here);
    lapse(&here, 0);
    ls_peer_id one = come_from(&here, 0);
    ls_peer_id two = come_from(&here, 0);
    cr_assert_not(has_seat(&here, come_from(&here, OTHER)));
    cr_assert(has_seat(&here, one) && has_seat(&here, two));
    ls_match_destroy(here.match);
}

/* OFFER holds the seat's secret: coming back with it is not READY. */
Test(offers, coming_back_with_the_secret_of_an_offer_holds_the_seat_no_longer)
{
    lobby here;
    open_with_one_seat(&here);
    ls_peer_id first = come_from(&here, BAD);
    ls_return back = {.match_id = ls_match_config_of(here.match)->match_id};
    memcpy(back.secret, here.offers[first].secret, sizeof back.secret);
    ls_peer_id again = come_as(&here, BAD, &back);
    cr_assert(has_seat(&here, again), "its READY may have been lost");
    ls_peer_id other = come_from(&here, OTHER);
    cr_assert(has_seat(&here, other));
    cr_assert(here.is_out[again]);
    get_ready(&here, other);
    cr_assert_eq(ls_match_state_of(here.match), LS_MATCH_RUNNING);
    ls_match_destroy(here.match);
}
