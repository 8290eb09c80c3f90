/* Roaming: players whose address changes in mid-match, over the transport of the programs. Nothing
 * is lost, and closed ticks come again within a round trip and two ticks. */
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/tests/lab/virtual/sealed_network.h"
#include "lockstep/tests/match/match_test.h"

#include <arpa/inet.h>

enum {
    PLAYERS = 4,
    WARM_TICKS = 180,
    MOVES = 12,
};

static const uint64_t GLANCE_NS = MS / 4;

/* Runs the match for so long; returns the longest time that no closed tick came to the client,
 * counted from *came_ns on, when the last one had come. */
static uint64_t longest_gap(virtual_match *run, const virtual_client *client, uint64_t length_ns,
                            uint64_t *came_ns)
{
    uint64_t longest_ns = 0;
    uint64_t end_ns = run->now_ns + length_ns;
    ls_tick confirmed = report_of(client).confirmed;
    while (run->now_ns < end_ns) {
        virtual_match_run(run, GLANCE_NS);
        ls_tick now = report_of(client).confirmed;
        if (now != confirmed) {
            confirmed = now;
            longest_ns = LS_MAX(longest_ns, run->now_ns - *came_ns);
            *came_ns = run->now_ns;
        }
    }
    return longest_ns;
}

typedef void move_client(virtual_network *network, ls_transport *client);

/* Runs until the server sends to where the client is; returns how long that took. */
static uint64_t reach_ns(virtual_match *run, const virtual_client *client)
{
    uint64_t start_ns = run->now_ns;
    while (!sealed_network_is_reached(run->network, client->transport)) {
        virtual_match_run(run, GLANCE_NS);
        cr_assert_lt(run->now_ns - start_ns, 10 * SECOND, "the server does not follow");
    }
    return run->now_ns - start_ns;
}

/* Moves at another moment between two ticks each time. */
static void check_moves(uint64_t rtt_ns)
{
    virtual_setup setup = virtual_setup_default(test_small_simulation(), PLAYERS, 0);
    setup.network = virtual_network_of_datagrams;
    setup.link = (ls_link_config){.delay_ns = rtt_ns / 2};
    virtual_match *run = match_at(&setup, WARM_TICKS);
    const virtual_client *client = run->clients[1];
    uint64_t late = substituted(run);
    uint64_t came_ns = run->now_ns;
    for (uint32_t i = 0; i < MOVES; i++) {
        longest_gap(run, client, SECOND + i * DT_NS / MOVES, &came_ns);
        sealed_network_move(run->network, client->transport);
        uint64_t gap_ns = longest_gap(run, client, SECOND, &came_ns);
        cr_assert_leq(gap_ns, rtt_ns + 2 * DT_NS, "round trip %u ms, move %u: %u ms",
                      (unsigned)(rtt_ns / MS), i, (unsigned)(gap_ns / MS));
    }
    cr_assert_eq(substituted(run), late);
    cr_assert_eq(client->connections, 1, "it has come back instead");
    close_run(run);
}

Test(roaming, a_player_misses_closed_ticks_for_a_round_trip_and_two_ticks)
{
    static const uint64_t round_trips_ns[] = {20 * MS, 60 * MS, 100 * MS, 200 * MS};
    for (size_t i = 0; i < sizeof round_trips_ns / sizeof *round_trips_ns; i++) {
        check_moves(round_trips_ns[i]);
    }
}

/* Several moves with a network that loses so much; the server follows each within `limit_ns`. */
static void check_following(move_client *move, uint32_t loss_ppm, uint64_t limit_ns)
{
    virtual_setup setup = virtual_setup_default(test_small_simulation(), PLAYERS, 0);
    setup.network = virtual_network_of_datagrams;
    setup.link = (ls_link_config){.delay_ns = 25 * MS, .loss_ppm = loss_ppm};
    virtual_match *run = match_at(&setup, WARM_TICKS);
    const virtual_client *client = run->clients[1];
    for (uint32_t i = 0; i < MOVES; i++) {
        virtual_match_run(run, SECOND + i * DT_NS / MOVES);
        move(run->network, client->transport);
        uint64_t took_ns = reach_ns(run, client);
        cr_assert_leq(took_ns, limit_ns, "move %u: %u ms", i, (unsigned)(took_ns / MS));
    }
    cr_assert_eq(client->connections, 1, "it has come back instead");
    check_sound(run);
    close_run(run);
}

/* The client notices after 100 ms; its first packet is answered with the challenge. */
Test(roaming, a_player_whose_machine_changes_networks_is_followed_in_two_round_trips)
{
    check_following(sealed_network_switch, 0, 100 * MS + 2 * 50 * MS + 2 * DT_NS);
    check_following(sealed_network_switch, 100000, SECOND);
}

Test(roaming, a_player_behind_a_router_that_changes_ports_is_followed_after_a_second)
{
    check_following(sealed_network_move, 0, SECOND + 3 * 50 * MS + 4 * DT_NS);
    check_following(sealed_network_move, 100000, 3 * SECOND);
}

static void switch_and_move(virtual_network *network, ls_transport *client)
{
    static uint32_t calls;
    (calls++ % 2 == 0 ? sealed_network_switch : sealed_network_move)(network, client);
}

Test(roaming, a_player_is_followed_whichever_way_it_moves_next)
{
    check_following(switch_and_move, 20000, 3 * SECOND);
}

/* Also when no packet is lost, so that only the copies differ from a match without him. */
static void check_copies(uint32_t loss_ppm)
{
    virtual_setup setup = virtual_setup_default(test_small_simulation(), PLAYERS, 0);
    setup.network = virtual_network_of_datagrams;
    setup.link = (ls_link_config){.delay_ns = 20 * MS, .loss_ppm = loss_ppm};
    virtual_match *run = match_at(&setup, WARM_TICKS);
    const virtual_client *client = run->clients[1];
    const ls_endpoint copier = ls_endpoint_from_ipv4(htonl(UINT32_C(0xc6336442)), 666);
    sealed_network_copy(run->network, client->transport, &copier);
    uint64_t late = substituted(run);
    uint64_t came_ns = run->now_ns;
    for (uint32_t i = 0; i < 20 * (uint32_t)(SECOND / (10 * MS)); i++) {
        uint64_t gap_ns = longest_gap(run, client, 10 * MS, &came_ns);
        cr_assert(sealed_network_is_reached(run->network, client->transport), "after %u ms",
                  i * 10);
        cr_assert(loss_ppm > 0 || gap_ns <= 2 * DT_NS, "%u ms", (unsigned)(gap_ns / MS));
    }
    sealed_network_copies copied = sealed_network_copied(run->network);
    cr_assert(copied.copies > 1000 && copied.challenges > 50, "%u copies, %u challenges",
              (unsigned)copied.copies, (unsigned)copied.challenges);
    cr_assert(loss_ppm > 0 || substituted(run) == late);
    cr_assert_eq(client->connections, 1, "it has come back instead");
    close_run(run);
}

Test(roaming, a_host_whose_copies_are_faster_does_not_become_the_players_address)
{
    check_copies(0);
    check_copies(50000);
}

static void check_moves_in_a_row(move_client *move)
{
    virtual_setup setup = virtual_setup_default(test_small_simulation(), PLAYERS, 1200);
    setup.network = virtual_network_of_datagrams;
    setup.link = (ls_link_config){.delay_ns = 50 * MS, .loss_ppm = 50000};
    virtual_match *run = match_at(&setup, WARM_TICKS);
    for (uint32_t i = 0; i < 20; i++) {
        virtual_match_run(run, 70 * MS);
        move(run->network, run->clients[0]->transport);
    }
    play_and_check(run);
    cr_assert_eq(run->clients[0]->connections, 1, "it has come back instead");
    close_run(run);
}

Test(roaming, a_player_that_moves_again_before_the_first_move_is_proven_plays_on)
{
    check_moves_in_a_row(sealed_network_move);
    check_moves_in_a_row(sealed_network_switch);
    check_moves_in_a_row(switch_and_move);
}

/* A player comes late, over a path that takes packets of at most so many bytes, headers counted.
 * Its state is large, so that packets are as long as they get. */
static bool is_let_in_over(uint32_t mtu)
{
    virtual_setup setup = virtual_setup_default(ls_arena_simulation(), PLAYERS, 0);
    setup.match.sim.params[0] = 2000; /* bodies */
    setup.match.sim.players = PLAYERS + 1;
    setup.match.start_players = PLAYERS;
    setup.network = virtual_network_of_datagrams;
    setup.link = (ls_link_config){.delay_ns = 10 * MS};
    virtual_match *run = match_at(&setup, WARM_TICKS);
    sealed_network_set_mtu(run->network, mtu);
    virtual_client_setup late = virtual_client_setup_default(run);
    virtual_client *client = virtual_match_add_client(run, &late);
    bool is_in = virtual_client_run_to_state(client, LS_SESSION_PLAYING, 5 * SECOND);
    const virtual_event *joining = virtual_match_find(run, LS_MATCH_PLAYER_JOINING);
    cr_expect(!is_in || (joining && strstr(joining->event.text.bytes, "with a snapshot")));
    ls_match_stop(run->match, virtual_match_server_ns(run));
    virtual_match_run(run, SECOND);
    close_run(run);
    return is_in;
}

Test(roaming, a_player_comes_late_over_every_path_that_takes_1228_bytes)
{
    cr_expect(is_let_in_over(1280));
    cr_expect(is_let_in_over(1228));
    cr_expect_not(is_let_in_over(1227), "the path was not that narrow");
}
