/* Several matches in one table over one transport: each has its own players, plays to its own end,
 * and knows nothing of the others. */
#include "lockstep/client/bots.h"
#include "lockstep/client/session/session.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/time/timestep.h"
#include "lockstep/protocol/transport/transport_memory.h"
#include "lockstep/server/host/match_table.h"
#include "lockstep/tests/lab/faultsim/test_simulation.h"
#include "lockstep/tests/support/counting_allocator.h"

#include <criterion/criterion.h>
#include <string.h>

#define MS LS_NS_PER_MS
#define SECOND LS_NS_PER_SECOND
#define STEP_NS (MS / 2)
#define FRAME_STEPS 32 /* steps to a frame of a client */

enum {
    CLIENTS_MAX = 16,
    MATCHES_MAX = 8,
    EVENT_KINDS = LS_MATCH_FINISHED + 1,
};

typedef struct player {
    ls_session *session;
    ls_transport *transport;
    ls_bot bot;
    bool is_silent; /* connects and says nothing */
} player;

typedef struct hall {
    counting_allocator counting; /* of the table */
    ls_memory_network *network;
    ls_transport *transport;
    ls_match_table *table;
    uint32_t client_count;
    player clients[CLIENTS_MAX];
    uint64_t now_ns;
    uint64_t step;
    bool is_lazy; /* the server takes packets when something is due, as its host does */
    uint32_t events[MATCHES_MAX][EVENT_KINDS];
    uint64_t closing_ns[MATCHES_MAX]; /* when the newest tick was closed */
    ls_held_seats held;               /* of the match that ended last */
} hall;

static hall here;

/* ---- what the sessions ask for ---- */

static const ls_simulation *find_simulation(void *user, const char *name)
{
    (void)user;
    return strcmp(name, test_simulation()->name) == 0 ? test_simulation() : NULL;
}

static uint32_t make_input(void *user, const ls_sim_instance *instance, uint32_t slot, ls_tick tick,
                           uint8_t *bytes)
{
    player *client = user;
    (void)tick;
    return ls_bot_input(&client->bot, instance, slot, bytes);
}

/* ---- the hall ---- */

static void create_table(const ls_match_table_config *config)
{
    ls_packet_sink sink = ls_transport_sink(here.transport);
    ls_text why = {{0}};
    cr_assert_eq(ls_match_table_create(config, &sink, &here.counting.allocator, &here.table, &why),
                 LS_OK, "%s", why.bytes);
}

static void open_hall(uint32_t matches, uint32_t players, uint32_t ticks)
{
    here = (hall){.now_ns = SECOND};
    counting_allocator_init(&here.counting);
    cr_assert_eq(ls_memory_network_create(1, ls_allocator_heap(), &here.network), LS_OK);
    cr_assert_eq(ls_memory_server_create(here.network, &here.transport), LS_OK);
    ls_match_table_config config = ls_match_table_config_default(test_simulation());
    config.match.sim.players = players;
    config.match.ticks = ticks;
    config.matches = matches;
    create_table(&config);
}

static void close_hall(void)
{
    for (uint32_t i = 0; i < here.client_count; i++) {
        ls_session_destroy(here.clients[i].session);
    }
    ls_match_table_destroy(here.table);
    ls_memory_network_destroy(here.network);
    LS_ASSERT(here.counting.live_blocks == 0); /* Criterion ignores its own at this point */
}

TestSuite(several, .fini = close_hall);

/* With the seat that it had in a match before, or NULL. */
static player *add_player(const ls_session_seat *seat)
{
    cr_assert_lt(here.client_count, CLIENTS_MAX);
    player *client = &here.clients[here.client_count];
    client->bot = ls_bot_make(here.client_count++);
    cr_assert_eq(ls_memory_client_create(here.network, here.transport, &client->transport), LS_OK);
    ls_link_config link = {.delay_ns = 10 * MS};
    ls_memory_client_set_links(client->transport, &link, &link);
    ls_session_config config = ls_session_config_default();
    config.find_simulation = find_simulation;
    config.make_input = make_input;
    config.user = client;
    config.seat = seat ? *seat : config.seat;
    ls_packet_sink sink = ls_transport_sink(client->transport);
    cr_assert_eq(ls_session_create(&config, &sink, ls_allocator_heap(), &client->session, NULL),
                 LS_OK);
    return client;
}

static player *add_client(void)
{
    return add_player(NULL);
}

static void pump_server(void)
{
    bool is_due = ls_match_table_next_ns(here.table) <= here.now_ns;
    if (here.is_lazy && !is_due && !ls_match_table_is_eager(here.table)) {
        return;
    }
    ls_transport_event event;
    while (ls_transport_next_event(here.transport, &event)) {
        const ls_peer_id coming[] = {event.peer, 0, UINT32_MAX}; /* two that nobody knows */
        ls_match_table_prefetch_packets(here.table, coming, sizeof coming / sizeof coming[0]);
        ls_match_table_receive(here.table, &event, here.now_ns);
    }
    if (ls_match_table_next_ns(here.table) <= here.now_ns) {
        ls_match_table_advance(here.table, here.now_ns);
    }
    ls_match_table_event happened;
    while (ls_match_table_next_event(here.table, &happened)) {
        cr_assert_lt(happened.match, ls_match_table_count(here.table));
        here.events[happened.match][happened.event.kind]++;
        if (happened.event.kind == LS_MATCH_ENDED) {
            here.held = ls_held_seats_of(ls_match_table_match(here.table, happened.match));
        }
    }
}

static void pump_client(uint32_t index)
{
    player *client = &here.clients[index];
    ls_transport_event event;
    while (ls_transport_next_event(client->transport, &event)) {
        if (event.kind != LS_TRANSPORT_CONNECTED || !client->is_silent) {
            ls_session_receive_event(client->session, &event, here.now_ns);
        }
    }
    if ((here.step + index) % FRAME_STEPS == 0 && !client->is_silent) {
        ls_session_frame(client->session, here.now_ns);
    }
}

static ls_tick tick_of(uint32_t number)
{
    const ls_match *match = ls_match_table_match(here.table, number);
    return match ? ls_match_tick(match) : 0;
}

static void watch_closings(const ls_tick *before)
{
    for (uint32_t i = 0; i < ls_match_table_count(here.table); i++) {
        if (tick_of(i) > before[i]) {
            here.closing_ns[i] = here.now_ns;
        }
    }
}

static void run(uint64_t duration_ns)
{
    uint64_t end_ns = here.now_ns + duration_ns;
    while (here.now_ns < end_ns) {
        ls_tick before[MATCHES_MAX] = {0};
        here.now_ns += STEP_NS;
        here.step++;
        for (uint32_t i = 0; i < ls_match_table_count(here.table); i++) {
            before[i] = tick_of(i);
        }
        ls_memory_network_set_time(here.network, here.now_ns);
        pump_server();
        watch_closings(before);
        for (uint32_t i = 0; i < here.client_count; i++) {
            pump_client(i);
        }
    }
}

static ls_match *match(uint32_t number)
{
    return ls_match_table_match(here.table, number);
}

static void expect_perfect(uint32_t number, uint32_t ticks)
{
    cr_assert_eq(ls_match_state_of(match(number)), LS_MATCH_OVER, "match %u", number);
    cr_assert_eq(ls_match_tick(match(number)), ticks);
    for (uint32_t slot = 0; slot < ls_match_players(match(number)); slot++) {
        ls_match_slot seat = ls_match_slot_of(match(number), slot);
        cr_assert(seat.has_finished, "match %u, slot %u", number, slot);
        cr_assert_eq(seat.hashes_compared, ticks + 1);
        cr_assert_not(seat.is_desynced);
        cr_assert_gt(seat.inputs_on_time, ticks / 2);
    }
}

/* ---- the matches ---- */

Test(several, matches_fill_in_turn_and_all_play_to_their_end)
{
    open_hall(3, 2, 120);
    for (uint32_t i = 0; i < 6; i++) {
        add_client();
    }
    run(6 * SECOND);
    uint64_t state_hashes[3];
    for (uint32_t i = 0; i < 3; i++) {
        expect_perfect(i, 120);
        cr_assert_eq(here.events[i][LS_MATCH_PLAYER_SEATED], 2);
        cr_assert_eq(here.events[i][LS_MATCH_STARTED], 1);
        cr_assert_eq(here.events[i][LS_MATCH_FINISHED], 1);
        cr_assert_eq(here.events[i][LS_MATCH_DESYNC], 0);
        state_hashes[i] = ls_match_hash(match(i));
    }
    /* The same seed and settings, but other players: no inputs went astray. */
    cr_assert(state_hashes[0] != state_hashes[1] && state_hashes[1] != state_hashes[2] &&
              state_hashes[0] != state_hashes[2]);
    cr_assert_eq(ls_match_table_next_ns(here.table), UINT64_MAX);
}

Test(several, a_match_that_has_begun_is_not_disturbed_by_the_next_one)
{
    open_hall(2, 2, 180);
    add_client();
    add_client();
    run(SECOND);
    cr_assert_eq(ls_match_state_of(match(0)), LS_MATCH_RUNNING);
    cr_assert_eq(ls_match_state_of(match(1)), LS_MATCH_LOBBY);
    add_client();
    run(SECOND);
    cr_assert_eq(ls_match_state_of(match(1)), LS_MATCH_LOBBY);
    add_client();
    run(6 * SECOND);
    expect_perfect(0, 180);
    expect_perfect(1, 180);
}

Test(several, a_seat_is_promised_to_the_client_at_the_door)
{
    open_hall(2, 1, 0);
    add_client()->is_silent = true;
    run(SECOND);
    cr_assert_eq(ls_match_seats_open(match(0)), 0);
    add_client();
    run(SECOND);
    cr_assert_eq(ls_match_state_of(match(0)), LS_MATCH_LOBBY);
    cr_assert_eq(ls_match_state_of(match(1)), LS_MATCH_RUNNING);
}

Test(several, a_seat_that_somebody_left_at_the_door_is_given_to_the_next)
{
    open_hall(2, 1, 0);
    add_client()->is_silent = true;
    run(11 * SECOND);
    cr_assert_eq(here.events[0][LS_MATCH_PEER_REFUSED], 1);
    cr_assert_eq(ls_match_seats_open(match(0)), 1);
    add_client();
    run(SECOND);
    cr_assert_eq(ls_match_state_of(match(0)), LS_MATCH_RUNNING);
    cr_assert_eq(ls_match_state_of(match(1)), LS_MATCH_LOBBY);
}

Test(several, a_player_without_a_seat_is_told_so)
{
    open_hall(2, 1, 0);
    add_client();
    add_client();
    run(SECOND);
    const player *third = add_client();
    run(SECOND);
    cr_assert_eq(ls_session_report_of(third->session).status, LS_MATCH_FULL);
    cr_assert_eq(here.events[0][LS_MATCH_PEER_REFUSED] + here.events[1][LS_MATCH_PEER_REFUSED], 1);
}

Test(several, more_peers_than_the_table_holds_are_closed)
{
    open_hall(1, 1, 0);
    ls_match_table_destroy(here.table);
    ls_match_table_config config = ls_match_table_config_default(test_simulation());
    config.match.sim.players = 1;
    config.peers_max = 1;
    create_table(&config);
    add_client();
    const player *second = add_client();
    run(SECOND);
    cr_assert_eq(ls_session_report_of(here.clients[0].session).state, LS_SESSION_PLAYING);
    cr_assert_eq(ls_session_state_of(second->session), LS_SESSION_OVER);
}

Test(several, one_match_may_end_while_another_goes_on)
{
    open_hall(2, 1, 0);
    add_client();
    add_client();
    run(SECOND);
    ls_session_leave(here.clients[0].session, here.now_ns);
    run(SECOND);
    cr_assert_eq(ls_match_state_of(match(0)), LS_MATCH_OVER);
    cr_assert_eq(ls_match_state_of(match(1)), LS_MATCH_RUNNING);
    ls_tick before = ls_match_tick(match(1));
    run(SECOND);
    cr_assert_geq(ls_match_tick(match(1)), before + 59);
    ls_match_table_stop(here.table, here.now_ns);
    run(SECOND);
    cr_assert_eq(ls_match_table_next_ns(here.table), UINT64_MAX);
    cr_assert_eq(ls_session_report_of(here.clients[1].session).status, LS_OK);
}

Test(several, a_table_is_due_when_its_matches_are)
{
    open_hall(2, 1, 0);
    add_client();
    run(SECOND);
    for (uint32_t i = 0; i < 200; i++) {
        uint64_t next_ns = UINT64_MAX;
        for (uint32_t number = 0; number < 2; number++) {
            uint64_t due_ns = ls_match_next_ns(match(number));
            next_ns = due_ns < next_ns ? due_ns : next_ns;
        }
        cr_assert_gt(next_ns, here.now_ns);
        cr_assert_eq(ls_match_table_next_ns(here.table), next_ns);
        run(STEP_NS);
    }
}

/* Round trip and slack as a server measures them that takes each packet as it comes, and as one
 * that takes them when it closes a tick: 8 ms later on the average. */
Test(several, packets_that_wait_are_measured_by_when_they_came)
{
    ls_match_slot seats[2];
    for (uint32_t lazy = 0; lazy < 2; lazy++) {
        open_hall(1, 2, 0);
        here.is_lazy = lazy == 1;
        add_client();
        add_client();
        run(5 * SECOND);
        seats[lazy] = ls_match_slot_of(match(0), 1);
        if (lazy == 0) {
            close_hall();
        }
    }
    for (uint32_t lazy = 0; lazy < 2; lazy++) {
        cr_assert_geq(seats[lazy].rtt_ns, 20 * MS);
        cr_assert_leq(seats[lazy].rtt_ns, 21 * MS, "%llu", (unsigned long long)seats[lazy].rtt_ns);
        cr_assert_gt(seats[lazy].slack_ns, 0);
        cr_assert_leq(seats[lazy].inputs_substituted, 2);
    }
    int64_t apart_ns = seats[0].slack_ns - seats[1].slack_ns;
    cr_assert_leq(apart_ns, (int64_t)(2 * MS));
    cr_assert_geq(apart_ns, -(int64_t)(2 * MS));
}

Test(several, packets_are_wanted_at_once_until_a_match_runs)
{
    open_hall(2, 1, 60);
    cr_assert(ls_match_table_is_eager(here.table));
    add_client();
    run(SECOND);
    cr_assert_not(ls_match_table_is_eager(here.table));
    run(3 * SECOND);
    expect_perfect(0, 60);
    cr_assert(ls_match_table_is_eager(here.table));
}

/* Whenever they started: their host wakes once a tick. */
Test(several, few_players_close_their_ticks_at_one_moment)
{
    open_hall(8, 1, 0);
    uint64_t dt_ns = ls_timestep_config_default(60).dt_ns;
    for (uint32_t i = 0; i < 8; i++) {
        add_client();
        run(37 * MS + i * STEP_NS);
    }
    run(3 * SECOND);
    for (uint32_t i = 0; i < 8; i++) {
        cr_assert_gt(ls_match_tick(match(i)), 100);
        /* Seen at the next step of the run. */
        uint64_t beyond_ns = here.closing_ns[i] % dt_ns;
        cr_assert_leq(beyond_ns, STEP_NS, "match %u: %llu ns", i, (unsigned long long)beyond_ns);
    }
}

/* All rooms of a service may start in the same moment: none waits for the work of many others. */
Test(several, many_players_close_their_ticks_at_as_many_moments_as_there_are_spread_evenly)
{
    enum {
        MOMENTS = 4
    };
    open_hall(8, 1, 0);
    ls_match_table_destroy(here.table);
    ls_match_table_config config = ls_match_table_config_default(test_simulation());
    config.match.sim.players = 1;
    config.matches = 8;
    config.players_max = MOMENTS * LS_MATCH_TABLE_PLAYERS_PER_MOMENT;
    create_table(&config);
    for (uint32_t i = 0; i < 8; i++) {
        add_client();
    }
    run(3 * SECOND);
    uint64_t dt_ns = ls_timestep_config_default(60).dt_ns;
    uint32_t closings[MOMENTS + 1] = {0};
    for (uint32_t i = 0; i < 8; i++) {
        cr_assert_gt(ls_match_tick(match(i)), 100);
        closings[here.closing_ns[i] % dt_ns / (dt_ns / MOMENTS)]++;
    }
    for (uint32_t i = 0; i < MOMENTS; i++) {
        cr_expect_eq(closings[i], 2, "%u matches at moment %u", closings[i], i);
    }
}

Test(several, nothing_is_allocated_while_matches_run)
{
    open_hall(2, 2, 120);
    for (uint32_t i = 0; i < 4; i++) {
        add_client();
    }
    run(1 * SECOND); /* each match takes its memory for ticks when the first one comes to it */
    uint64_t before = here.counting.allocations;
    run(4 * SECOND);
    expect_perfect(0, 120);
    cr_assert_eq(here.counting.allocations, before);
}

/* ---- configuration ---- */

/* ---- matches that come and go ---- */

static void open_empty_hall(uint32_t matches_max)
{
    open_hall(1, 1, 0);
    ls_match_table_destroy(here.table);
    const ls_match_table_config config = {.matches_max = matches_max, .peers_max = 64};
    create_table(&config);
}

static ls_status open_match_for(uint32_t players, const char *name, bool is_for_invited,
                                uint32_t *number)
{
    static uint64_t ids = 0;
    ls_match_config config = ls_match_config_default(test_simulation());
    config.sim.players = players;
    config.ticks = 120;
    config.match_id = ++ids;
    const ls_match_opening opening = {
        .match = &config, .name = name, .is_for_invited = is_for_invited};
    ls_text why = {{0}};
    return ls_match_table_open(here.table, &opening, number, &why);
}

static ls_status open_match(const char *name, bool is_for_invited, uint32_t *number)
{
    return open_match_for(1, name, is_for_invited, number);
}

Test(several, a_match_that_is_opened_while_another_one_plays_is_played_to_its_end)
{
    open_empty_hall(4);
    uint32_t first = 0;
    uint32_t second = 0;
    cr_assert_eq(open_match("first", false, &first), LS_OK);
    add_client();
    run(SECOND);
    cr_assert_eq(open_match("second", false, &second), LS_OK);
    add_client();
    run(4 * SECOND);
    expect_perfect(first, 120);
    expect_perfect(second, 120);
    cr_assert_eq(ls_match_table_find(here.table, "second"), second);
    cr_assert_eq(ls_match_table_find(here.table, "third"), LS_MATCH_ANY);
}

Test(several, closing_a_match_sends_its_players_away_and_leaves_the_others_alone)
{
    open_empty_hall(4);
    uint32_t numbers[2] = {0};
    cr_assert_eq(open_match("a", false, &numbers[0]), LS_OK);
    cr_assert_eq(open_match("b", false, &numbers[1]), LS_OK);
    const player *closed = add_client();
    add_client();
    run(SECOND);
    ls_match_table_close(here.table, numbers[0]);
    run(4 * SECOND);
    cr_assert_null(match(numbers[0]));
    cr_assert_eq(ls_session_state_of(closed->session), LS_SESSION_OVER);
    expect_perfect(numbers[1], 120);
}

Test(several, a_table_holds_so_many_matches_and_again_as_many_once_they_are_closed)
{
    open_empty_hall(2);
    uint32_t numbers[3] = {0};
    for (uint32_t round = 0; round < 100; round++) {
        cr_assert_eq(open_match("a", false, &numbers[0]), LS_OK);
        cr_assert_eq(open_match("b", false, &numbers[1]), LS_OK);
        cr_assert_eq(open_match("c", false, &numbers[2]), LS_FULL);
        ls_match_table_close(here.table, numbers[round % 2]);
        ls_match_table_close(here.table, numbers[1 - round % 2]);
        cr_assert_eq(ls_match_table_count(here.table), 0);
    }
}

Test(several, newcomers_are_given_to_no_match_that_is_for_the_invited)
{
    open_empty_hall(2);
    uint32_t number = 0;
    cr_assert_eq(open_match("private", true, &number), LS_OK);
    const player *visitor = add_client();
    run(SECOND);
    cr_assert_eq(ls_session_state_of(visitor->session), LS_SESSION_OVER);
    cr_assert_eq(ls_match_state_of(match(number)), LS_MATCH_LOBBY);
    cr_assert_not(ls_match_table_has_seat(here.table));
}

/* The empty lobby has the lower number: it is found first. */
Test(several, a_newcomer_comes_to_the_player_who_waits_and_not_to_an_empty_lobby)
{
    open_empty_hall(2);
    uint32_t closed = 0;
    uint32_t awaited = 0;
    uint32_t empty = 0;
    cr_assert_eq(open_match("closed", true, &closed), LS_OK);
    cr_assert_eq(open_match_for(2, "awaited", false, &awaited), LS_OK);
    add_client();
    run(SECOND);
    ls_match_table_close(here.table, closed);
    cr_assert_eq(open_match_for(2, "empty", false, &empty), LS_OK);
    cr_assert_lt(empty, awaited);
    add_client();
    run(SECOND);
    cr_assert_eq(ls_match_state_of(match(awaited)), LS_MATCH_RUNNING);
    cr_assert_eq(ls_match_state_of(match(empty)), LS_MATCH_LOBBY);
}

Test(several, a_newcomer_is_disconnected_while_no_match_is_open)
{
    open_empty_hall(2);
    const player *early = add_client();
    run(SECOND);
    cr_assert_eq(ls_session_state_of(early->session), LS_SESSION_OVER);
}

static void expect_refused(ls_match_table_config config, const char *word)
{
    ls_text why = {{0}};
    ls_match_table *table = NULL;
    ls_packet_sink sink = ls_transport_sink(here.transport);
    cr_assert_eq(ls_match_table_create(&config, &sink, ls_allocator_heap(), &table, &why),
                 LS_BAD_ARGUMENT);
    cr_assert_null(table);
    cr_assert(strstr(why.bytes, word), "no \"%s\" in: %s", word, why.bytes);
}

Test(several, a_bad_config_is_refused_by_name)
{
    open_hall(1, 1, 0);
    ls_match_table_config good = ls_match_table_config_default(test_simulation());
    ls_match_table_config config = good;
    config.matches = 0;
    expect_refused(config, "matches");
    config.matches = LS_MATCHES_MAX + 1;
    expect_refused(config, "matches");
    config = good;
    config.peers_max = 0;
    expect_refused(config, "peers_max");
    config = good;
    config.match.timeout_ms = 1;
    expect_refused(config, "timeout_ms");
}

Test(several, a_table_that_cannot_be_made_leaves_nothing_behind)
{
    open_hall(1, 1, 0);
    ls_match_table_config config = ls_match_table_config_default(test_simulation());
    config.matches = 3;
    ls_packet_sink sink = ls_transport_sink(here.transport);
    bool is_made = false;
    for (uint64_t limit = 0; !is_made; limit++) {
        counting_allocator counting;
        counting_allocator_init(&counting);
        counting.allowed = limit;
        ls_match_table *table = NULL;
        ls_status status = ls_match_table_create(&config, &sink, &counting.allocator, &table, NULL);
        is_made = status == LS_OK;
        cr_assert(is_made || (status == LS_NO_MEMORY && !table));
        ls_match_table_destroy(table);
        cr_assert_eq(counting.live_blocks, 0);
    }
}

/* ---- a match that follows another one ---- */

/* Two players play to the end; the seats are held for them in the match that is opened then. Their
 * own ones go to `seats`. */
static void play_and_open_next(ls_session_seat seats[2])
{
    ls_match_table_config config = ls_match_table_config_default(test_simulation());
    ls_text why = {{0}};
    open_hall(1, 2, 60);
    ls_match_table_destroy(here.table);
    config.match.sim.players = 2;
    config.match.ticks = 60;
    config.matches_max = 2;
    create_table(&config);
    for (uint32_t i = 0; i < 2; i++) {
        add_client();
        run(SECOND / 4);
    }
    run(3 * SECOND);
    expect_perfect(0, 60);
    for (uint32_t i = 0; i < 2; i++) {
        const ls_offer *offer = ls_session_offer(here.clients[i].session);
        cr_assert_eq(offer->slot, i);
        seats[i].match_id = offer->match_id;
        memcpy(seats[i].secret, offer->secret, sizeof seats[i].secret);
    }
    ls_match_table_close(here.table, 0);
    config.match.match_id = 2;
    const ls_match_opening next = {.match = &config.match, .held = &here.held};
    uint32_t number = 0;
    cr_assert_eq(ls_match_table_open(here.table, &next, &number, &why), LS_OK, "%s", why.bytes);
    cr_assert_eq(number, 1);
}

static uint32_t seat_of(const player *client)
{
    const ls_offer *offer = ls_session_offer(client->session);
    return offer ? offer->slot : UINT32_MAX;
}

Test(several, players_get_their_seats_again_in_the_match_that_follows)
{
    ls_session_seat seats[2];
    play_and_open_next(seats);
    const player *second = add_player(&seats[1]);
    run(SECOND / 4);
    const player *first = add_player(&seats[0]);
    run(SECOND / 2);
    cr_assert_eq(seat_of(second), 1);
    cr_assert_eq(seat_of(first), 0);
    cr_assert_eq(ls_match_state_of(match(1)), LS_MATCH_RUNNING);
    run(3 * SECOND);
    expect_perfect(1, 60);
}

Test(several, nobody_else_gets_a_seat_that_is_held)
{
    ls_session_seat seats[2];
    play_and_open_next(seats);
    ls_session_seat forged = seats[0];
    forged.secret[0] ^= 1;
    const player *newcomer = add_client();
    const player *liar = add_player(&forged);
    run(SECOND / 2);
    cr_assert_eq(seat_of(newcomer), UINT32_MAX);
    cr_assert_eq(seat_of(liar), UINT32_MAX);
    cr_assert_eq(ls_match_seats_open(match(1)), 2);
    const player *first = add_player(&seats[0]);
    run(SECOND / 2);
    cr_assert_eq(seat_of(first), 0);
}

Test(several, a_seat_that_was_held_long_enough_is_anybodys)
{
    ls_session_seat seats[2];
    play_and_open_next(seats);
    add_client();
    run(LS_HELD_SEATS_NS + SECOND);
    const player *late = add_client();
    run(SECOND / 2);
    cr_assert_neq(seat_of(late), UINT32_MAX);
}

Test(several, a_newcomer_gets_the_seat_of_one_who_was_not_there_at_the_end)
{
    ls_session_seat seats[2];
    play_and_open_next(seats);
    ls_match_table_close(here.table, 1);
    ls_match_table_config config = ls_match_table_config_default(test_simulation());
    config.match.sim.players = 2;
    config.match.match_id = 3;
    here.held.slots = ls_slot_set_of(1); /* of the second alone */
    const ls_match_opening next = {.match = &config.match, .held = &here.held};
    uint32_t number = 0;
    cr_assert_eq(ls_match_table_open(here.table, &next, &number, NULL), LS_OK);
    const player *newcomer = add_client();
    run(SECOND / 4);
    const player *second = add_player(&seats[1]);
    run(SECOND / 2);
    cr_assert_eq(seat_of(newcomer), 0);
    cr_assert_eq(seat_of(second), 1);
}

/* ---- matches for the invited ---- */

static void expect_sent_away(const player *client, const char *words)
{
    ls_session_event event = {.kind = LS_SESSION_EVENT_SEATED};
    cr_assert_eq(ls_session_state_of(client->session), LS_SESSION_OVER);
    cr_assert_null(ls_session_offer(client->session));
    while (event.kind != LS_SESSION_EVENT_OVER) {
        cr_assert(ls_session_next_event(client->session, &event));
    }
    cr_assert(strstr(event.text.bytes, words), "%s", event.text.bytes);
}

Test(several, a_newcomer_is_told_why_it_gets_into_no_match_for_the_invited)
{
    uint32_t number = 0;
    open_empty_hall(2);
    cr_assert_eq(open_match("closed", true, &number), LS_OK);
    const player *newcomer = add_client();
    run(SECOND);
    expect_sent_away(newcomer, "this server has private rooms alone");
    cr_assert_eq(ls_match_seats_open(match(number)), 1);
}

Test(several, the_id_of_a_match_for_the_invited_is_no_way_in)
{
    uint32_t number = 0;
    open_empty_hall(2);
    cr_assert_eq(open_match("closed", true, &number), LS_OK);
    const ls_session_seat guess = {.match_id = ls_match_config_of(match(number))->match_id};
    const player *liar = add_player(&guess);
    run(SECOND);
    expect_sent_away(liar, "no seat is kept for this player");
    cr_assert_eq(ls_match_seats_open(match(number)), 1);
}
