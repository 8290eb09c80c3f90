#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/protocol/wire/message.h"

#include "lockstep/tests/match/match_test.h"
#include "lockstep/tests/support/raw_peer.h"

#include <inttypes.h>
#include <stdio.h>

/* ==== handshake ==== */

/* Machines that would diverge never share a match: each difference is found before it starts, with
 * a status of its own and both values named, and the seat is free for the next. */

static virtual_match *open_lobby(void)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 1, 60);
    setup.match.sim.players = 2;
    virtual_match *run = checked_match_create(&setup);
    virtual_match_run(run, 500 * MS);
    return run;
}

/* Another client takes the free seat, and the match is played. */
static void close_lobby(virtual_match *run, const virtual_client *refused)
{
    cr_assert_eq(ls_match_state_of(run->match), LS_MATCH_LOBBY);
    add_clients(run, 1, NULL);
    virtual_match_run_to_end(run);
    check_others_played(run, refused);
    close_run(run);
}

static void check_names_both(const char *text, const char *item)
{
    cr_assert_not_null(strstr(text, item), "'%s' does not say '%s'", text, item);
    const char *client = strstr(text, "client ");
    const char *server = strstr(text, "server ");
    cr_assert(client && server, "'%s' does not name both sides", text);
    cr_assert_neq(strncmp(client + 7, server + 7, strcspn(client + 7, ",")), 0,
                  "'%s' names one value twice", text);
}

/* ---- simulations that are not the same ---- */

static void check_refused_field(const ls_simulation *simulation, ls_status status, const char *item,
                                const char *field)
{
    virtual_match *run = open_lobby();
    virtual_client_setup setup = virtual_client_setup_default(run);
    setup.simulation = simulation;
    virtual_client *client = virtual_match_add_client(run, &setup);
    virtual_match_run(run, SECOND);
    cr_assert(client->is_over);
    cr_assert_eq(report_of(client).status, status, "%s", ls_status_name(report_of(client).status));
    const virtual_client_event *over = virtual_client_find(client, LS_SESSION_EVENT_OVER);
    const virtual_event *left = virtual_match_find(run, LS_MATCH_PLAYER_LEFT);
    cr_assert_eq(over->event.status, status);
    cr_assert_eq(left->event.status, status, "the server knows it as well");
    size_t shared = strlen(left->event.text.bytes);
    cr_assert_eq(strncmp(left->event.text.bytes, over->event.text.bytes, shared), 0);
    cr_assert_str_eq(over->event.text.bytes + shared, field, "what the client alone knows");
    if (simulation) {
        check_names_both(over->event.text.bytes, item);
    } else {
        cr_assert_not_null(strstr(over->event.text.bytes, item));
    }
    close_lobby(run, client);
}

static void check_refused(const ls_simulation *simulation, ls_status status, const char *item)
{
    check_refused_field(simulation, status, item, "");
}

Test(handshake, a_client_without_the_simulation)
{
    check_refused(NULL, LS_SIMULATION_MISMATCH, "'test'");
}

Test(handshake, another_version_of_the_simulation)
{
    ls_simulation other = *test_simulation();
    other.version = 2;
    check_refused(&other, LS_SIMULATION_VERSION_MISMATCH, "client 2, server 1");
}

Test(handshake, another_meaning_of_a_parameter)
{
    ls_simulation other = *test_simulation();
    ls_param params[TEST_PARAM_COUNT];
    memcpy(params, other.params, sizeof params);
    params[TEST_PARAM_BYTES].name = "words";
    other.params = params;
    check_refused(&other, LS_PARAMETER_MISMATCH, "parameter digest");
}

static uint32_t other_fields(const ls_sim_config *config, ls_field *fields, uint32_t capacity)
{
    uint32_t count = test_simulation()->fields(config, fields, capacity);
    fields[0].path = "random.state";
    return count;
}

Test(handshake, another_schema)
{
    ls_simulation other = *test_simulation();
    other.fields = other_fields;
    check_refused_field(&other, LS_SCHEMA_MISMATCH, "schema digest",
                        "; the first field that differs is random.state here");
}

static uint64_t other_content(const ls_sim_config *config)
{
    (void)config;
    return 0x1234;
}

Test(handshake, another_content)
{
    ls_simulation other = *test_simulation();
    other.content_digest = other_content;
    check_refused(&other, LS_CONTENT_MISMATCH, "content digest");
}

static ls_status other_init(const ls_sim_config *config, void *state, ls_text *why)
{
    ls_status status = test_simulation()->init(config, state, why);
    ((test_simulation_state *)state)->slots[3].sum = 1;
    return status;
}

Test(handshake, another_state_to_begin_with)
{
    ls_simulation other = *test_simulation();
    other.init = other_init;
    check_refused_field(&other, LS_INITIAL_STATE_MISMATCH, "initial state",
                        "; the first field that differs is slots.sum here");
}

/* ---- programs and machines that are not the same ---- */

static void check_hello_refused(const ls_hello *hello, ls_status status, const char *item)
{
    virtual_match *run = open_lobby();
    raw_peer *peer = raw_peer_create(run);
    virtual_match_run(run, 5 * MS);
    ls_message message = {.kind = LS_MESSAGE_HELLO, .body.hello = *hello};
    raw_peer_send_message(peer, &message);
    virtual_match_run(run, 5 * MS);
    cr_assert(peer->is_closed);
    cr_assert_eq(peer->heard[LS_MESSAGE_OFFER], 0);
    cr_assert_eq(peer->refusal.negated_status, (uint32_t)-status);
    const virtual_event *refused = virtual_match_find(run, LS_MATCH_PEER_REFUSED);
    cr_assert_eq(refused->event.status, status);
    cr_assert_str_eq(refused->event.text.bytes, peer->refusal.text.bytes);
    cr_assert_not_null(strstr(refused->event.text.bytes, item), "'%s' does not say '%s'",
                       refused->event.text.bytes, item);
    close_lobby(run, NULL);
    raw_peer_destroy(peer);
}

Test(handshake, another_protocol_version)
{
    char item[64];
    ls_hello hello = ls_hello_make("old");
    hello.protocol_version = 999;
    snprintf(item, sizeof item, "client 999, server %u", LS_PROTOCOL_VERSION);
    check_hello_refused(&hello, LS_PROTOCOL_MISMATCH, item);
}

Test(handshake, another_arithmetic)
{
    char item[64];
    ls_hello hello = ls_hello_make("odd");
    uint64_t right = hello.arithmetic;
    hello.arithmetic ^= 1;
    snprintf(item, sizeof item, "client %016" PRIx64 ", server %016" PRIx64, hello.arithmetic,
             right);
    check_hello_refused(&hello, LS_ARITHMETIC_MISMATCH, item);
}

/* Denormals that are flushed are the commonest reason, and each side knows its own. */
Test(handshake, another_arithmetic_is_told_with_what_both_sides_have)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 2, 100);
    ls_build_fingerprint server = {.items = {{0}}};
    ls_build_fingerprint client = {.items = {{0}}};
    ls_build_fingerprint_set(&server, LS_PRINT_FLOAT, "denormals kept");
    ls_build_fingerprint_set(&client, LS_PRINT_FLOAT, "denormals flushed");
    setup.match.print = &server;
    setup.match.maths_check = 1;
    setup.clients = 0;
    virtual_match *run = checked_match_create(&setup);
    virtual_client_setup odd = virtual_client_setup_default(run);
    odd.session.print = &client;
    odd.session.maths_check = 2;
    const virtual_client *refused = virtual_match_add_client(run, &odd);
    virtual_match_run_until(run, 2 * SECOND);
    const virtual_client_event *over = virtual_client_find(refused, LS_SESSION_EVENT_OVER);
    cr_assert_not_null(over);
    cr_expect_eq(over->event.status, LS_ARITHMETIC_MISMATCH);
    const char *why = over->event.text.bytes;
    cr_expect_not_null(strstr(why, "; the server has denormals kept; this client has denormals "
                                   "flushed"),
                       "%s", why);
    virtual_match_destroy(run);
}

Test(handshake, another_program_altogether)
{
    ls_hello hello = ls_hello_make("browser");
    hello.magic = 0x20544547;
    check_hello_refused(&hello, LS_MALFORMED, "20544547");
}

/* ---- no room ---- */

static virtual_client *add_and_run(virtual_match *run)
{
    virtual_client_setup setup = virtual_client_setup_default(run);
    virtual_client *client = virtual_match_add_client(run, &setup);
    virtual_match_run(run, SECOND);
    return client;
}

Test(handshake, a_full_match_takes_nobody_else)
{
    virtual_match *run = open_lobby();
    raw_peer *slow = raw_peer_create(run); /* has a seat and is not ready */
    virtual_match_run(run, 5 * MS);
    raw_peer_say_hello(slow);
    virtual_match_run(run, 5 * MS);
    virtual_client *late = add_and_run(run);
    cr_assert(late->is_over);
    cr_assert_eq(report_of(late).status, LS_MATCH_FULL);
    cr_assert_eq(virtual_match_find(run, LS_MATCH_PEER_REFUSED)->event.status, LS_MATCH_FULL);
    cr_assert_eq(ls_match_state_of(run->match), LS_MATCH_LOBBY);
    raw_peer_destroy(slow);
    virtual_match_destroy(run);
}

static raw_peer *say_hello(virtual_match *run)
{
    raw_peer *peer = raw_peer_create(run);
    virtual_match_run(run, 5 * MS);
    raw_peer_say_hello(peer);
    virtual_match_run(run, 5 * MS);
    return peer;
}

/* HELLO alone keeps nobody out. */
Test(handshake, a_newcomer_that_is_not_ready_makes_room_after_its_time)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 0, 60);
    setup.match.sim.players = 2;
    virtual_match *run = checked_match_create(&setup);
    raw_peer *idle[] = {say_hello(run), say_hello(run)};
    raw_peer *early = say_hello(run);
    cr_assert_eq(early->refusal.negated_status, (uint32_t)-LS_MATCH_FULL);
    virtual_match_run(run, 2 * SECOND);
    raw_peer *late[] = {say_hello(run), say_hello(run)};
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert_eq(late[i]->offer.slot, i);
        cr_assert_eq(idle[i]->refusal.negated_status, (uint32_t)-LS_TIMED_OUT);
        raw_peer_destroy(idle[i]);
        raw_peer_destroy(late[i]);
    }
    raw_peer_destroy(early);
    virtual_match_destroy(run);
}

Test(handshake, a_running_match_whose_seats_are_taken_takes_nobody_else)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 2, 300);
    virtual_match *run = match_at(&setup, 50);
    virtual_client *late = add_and_run(run);
    cr_assert(late->is_over);
    cr_assert_eq(report_of(late).status, LS_MATCH_FULL);
    virtual_match_run_to_end(run);
    check_others_played(run, late);
    close_run(run);
}

Test(handshake, nobody_is_refused_who_is_the_same)
{
    ls_simulation same = *test_simulation();
    virtual_match *run = open_lobby();
    virtual_client_setup setup = virtual_client_setup_default(run);
    setup.simulation = &same;
    virtual_match_add_client(run, &setup);
    play_and_check(run);
    cr_assert_null(virtual_match_find(run, LS_MATCH_PLAYER_LEFT));
    virtual_match_destroy(run);
}

/* ---- whom the host of the match lets in ---- */

typedef struct doorkeeper {
    uint32_t asked;
    bool is_open;
    ls_match_newcomer newest;
    char name[LS_PLAYER_NAME_BYTES_MAX];
} doorkeeper;

static bool may_join(void *user, const ls_match_newcomer *newcomer, ls_text *why)
{
    doorkeeper *door = user;
    door->asked++;
    door->newest = *newcomer;
    ls_name_copy(door->name, sizeof door->name, newcomer->name);
    ls_text_set(why, "%s is not on the list", newcomer->name);
    return door->is_open;
}

static virtual_match *open_door(doorkeeper *door, uint32_t players)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), players, 60);
    setup.match.may_join = may_join;
    setup.match.may_join_user = door;
    setup.match.spectators_max = 1;
    return checked_match_create(&setup);
}

Test(handshake, somebody_whom_the_host_does_not_let_in_reads_why)
{
    doorkeeper door = {0};
    virtual_match *run = open_door(&door, 1);
    virtual_match_run(run, SECOND);
    ls_session_report report = ls_session_report_of(run->clients[0]->session);
    cr_assert_eq(report.state, LS_SESSION_OVER);
    cr_assert_eq(report.status, LS_NOT_ADMITTED);
    cr_assert_eq(door.asked, 1);
    cr_assert_eq(door.newest.slot, 0);
    cr_assert(!door.newest.is_spectator && !door.newest.is_returning);
    const virtual_event *refused = virtual_match_find(run, LS_MATCH_PEER_REFUSED);
    ls_text words = {""};
    ls_text_set(&words, "%s is not on the list", door.name);
    cr_assert_str_eq(refused->event.text.bytes, words.bytes);
    cr_assert_eq(refused->event.peer, door.newest.peer);
    cr_assert_eq(ls_match_seats_open(run->match), 1, "the seat is free");
    virtual_match_destroy(run);
}

Test(handshake, everybody_whom_the_host_lets_in_plays)
{
    doorkeeper door = {.is_open = true};
    virtual_match *run = open_door(&door, 3);
    play_and_check(run);
    cr_assert_eq(door.asked, 3);
    virtual_match_destroy(run);
}

/* ==== leaving ==== */

/* Coming and going: the step is told once of each player that joins, and of each that leaves, in
 * whichever way; the match goes on with the rest and ends when nobody is left, when it is stopped,
 * or after its last tick, and everybody who is there then has the same final state. */

static virtual_match *start(uint32_t players, uint32_t ticks)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), players, ticks);
    setup.match.timeout_ms = 2000;
    setup.match.keep_seat_ms = 0;
    return checked_match_create(&setup);
}

static const test_simulation_slot *counts_of(const virtual_match *run, uint32_t slot)
{
    const test_simulation_state *state = ls_sim_instance_view(ls_match_instance(run->match));
    return &state->slots[slot];
}

/* ---- joining ---- */

Test(leaving, everybody_joins_once_in_tick_0)
{
    virtual_match *run = start(5, 120);
    play_and_check(run);
    for (uint32_t slot = 0; slot < 5; slot++) {
        cr_assert_eq(check_of(run)->ticks[0].events[slot], LS_EVENT_JOINED);
        cr_assert_eq(counts_of(run, slot)->joins, 1);
        cr_assert_eq(counts_of(run, slot)->leaves, 0);
        for (ls_tick tick = 1; tick < check_of(run)->tick_count; tick++) {
            cr_assert_eq(check_of(run)->ticks[tick].events[slot], 0);
        }
    }
    virtual_match_destroy(run);
}

Test(leaving, the_match_starts_when_the_last_seat_is_taken)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 2, 60);
    setup.match.sim.players = 3;
    virtual_match *run = checked_match_create(&setup);
    virtual_match_run(run, 30 * SECOND);
    cr_assert_eq(ls_match_state_of(run->match), LS_MATCH_LOBBY);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_PLAYER_LEFT, LS_PLAYERS_MAX), 0);
    add_clients(run, 1, NULL);
    play_and_check(run);
    const virtual_event *started = virtual_match_find(run, LS_MATCH_STARTED);
    uint64_t start_delay_ns = setup.match.start_delay_ms * MS;
    cr_assert_leq(check_of(run)->ticks[0].closed_ns - (started->at_ns + start_delay_ns + DT_NS), 1);
    virtual_match_destroy(run);
}

Test(leaving, a_seat_left_in_the_lobby_is_taken_by_the_next)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 2, 60);
    setup.match.sim.players = 3;
    virtual_match *run = checked_match_create(&setup);
    virtual_match_run(run, SECOND);
    virtual_client *gone = run->clients[0];
    uint32_t slot = report_of(gone).slot;
    virtual_client_leave(gone);
    virtual_match_run(run, SECOND);
    cr_assert(gone->is_over);
    cr_assert_eq(slot_of(run, slot).peer, 0);
    cr_assert_eq(virtual_match_find_slot(run, LS_MATCH_PLAYER_LEFT, slot)->event.status,
                 LS_DISCONNECTED);
    add_clients(run, 2, NULL);
    virtual_match_run_to_end(run);
    cr_assert_eq(check_of(run)->by_slot[slot]->core, run->clients[2]);
    for (uint32_t i = 1; i < 4; i++) {
        check_played_to_the_end(run, run->clients[i]);
    }
    close_run(run);
}

/* The shortest timeout that may be set is one that honest clients keep, in the lobby too. */
Test(leaving, no_honest_client_is_taken_for_silent)
{
    static const uint32_t tick_rates[] = {1, 5, 60};
    for (size_t i = 0; i < sizeof tick_rates / sizeof tick_rates[0]; i++) {
        virtual_setup setup = virtual_setup_default(test_simulation(), 2, 5 * tick_rates[i]);
        setup.match.sim.players = 3;
        setup.match.sim.tick_rate_hz = tick_rates[i];
        setup.match.timeout_ms = 100;
        virtual_match *run = checked_match_create(&setup);
        virtual_match_run(run, 3 * SECOND);
        add_clients(run, 1, NULL);
        play_out(run);
    }
}

/* ---- leaving ---- */

/* `slot` was left by tick `at` or soon after: LEFT once, in the tick that the event names, nothing
 * of it afterwards, and the others play on to the end. */
static void check_left(virtual_match *run, uint32_t slot, ls_status status)
{
    cr_assert_eq(virtual_match_count(run, LS_MATCH_PLAYER_LEFT, slot), 1);
    const virtual_event *left = virtual_match_find_slot(run, LS_MATCH_PLAYER_LEFT, slot);
    cr_assert_eq(left->event.status, status);
    cr_assert_neq(left->event.text.bytes[0], 0);
    for (ls_tick tick = 1; tick < check_of(run)->tick_count; tick++) {
        uint32_t expected = tick == left->event.tick ? LS_EVENT_LEFT : 0;
        cr_assert_eq(check_of(run)->ticks[tick].events[slot], expected);
    }
    cr_assert_eq(counts_of(run, slot)->leaves, 1);
    ls_match_slot report = slot_of(run, slot);
    cr_assert_eq(report.left_status, status);
    cr_assert_not(report.is_playing);
    cr_assert_not(report.has_finished);
    cr_assert_eq(report.inputs_on_time + report.inputs_substituted, left->event.tick);
}

/* Ends the run. */
static void check_rest(virtual_match *run, const virtual_client *gone)
{
    cr_assert_eq(ls_match_tick(run->match), run->setup.match.ticks);
    check_others_played(run, gone);
    close_run(run);
}

/* A match of four, of which the second client is about to leave. */
static virtual_client *start_with_leaver(uint32_t ticks)
{
    virtual_match *run = start(4, ticks);
    virtual_match_run_to_tick(run, 100);
    return run->clients[1];
}

Test(leaving, a_player_that_says_goodbye_has_left)
{
    virtual_client *gone = start_with_leaver(300);
    virtual_match *run = gone->run;
    virtual_client_leave(gone);
    virtual_match_run_to_end(run);
    check_left(run, report_of(gone).slot, LS_DISCONNECTED);
    cr_assert_leq(virtual_match_find(run, LS_MATCH_PLAYER_LEFT)->event.tick, 102);
    cr_assert_eq(report_of(gone).status, LS_OK);
    check_rest(run, gone);
}

Test(leaving, a_player_whose_connection_breaks_has_left)
{
    virtual_client *gone = start_with_leaver(300);
    virtual_client_hang_up(gone);
    virtual_match_run_to_end(gone->run);
    check_left(gone->run, report_of(gone).slot, LS_DISCONNECTED);
    check_rest(gone->run, gone);
}

Test(leaving, a_player_that_vanishes_has_left_after_the_timeout)
{
    virtual_client *gone = start_with_leaver(600);
    virtual_match *run = gone->run;
    uint64_t cut_ns = run->now_ns;
    virtual_client_cut(gone);
    virtual_match_run_to_end(run);
    check_left(run, report_of(gone).slot, LS_TIMED_OUT);
    uint64_t after_ns = virtual_match_find(run, LS_MATCH_PLAYER_LEFT)->at_ns - cut_ns;
    cr_assert_geq(after_ns, 2000 * MS);
    cr_assert_leq(after_ns, 2000 * MS + 20 * MS);
    cr_assert_eq(report_of(gone).status, LS_TIMED_OUT, "it knows as well");
    check_rest(run, gone);
}

static uint64_t packets_to(const virtual_client *client, ls_peer_id peer)
{
    return ls_transport_traffic_of(client->run->network->server, peer).packets_sent;
}

Test(leaving, a_player_that_nothing_is_heard_of_is_sent_ten_packets_a_second)
{
    virtual_client *gone = start_with_leaver(600);
    virtual_match *run = gone->run;
    ls_peer_id peer = slot_of(run, report_of(gone).slot).peer;
    ls_link_config link = run->setup.link;
    virtual_client_cut(gone);
    virtual_match_run(run, 600 * MS);
    uint64_t before = packets_to(gone, peer);
    virtual_match_run(run, 1000 * MS);
    uint64_t sent = packets_to(gone, peer) - before;
    cr_expect(sent >= 8 && sent <= 11, "%u packets", (unsigned)sent);
    virtual_client_set_links(gone, &link);
    virtual_match_run(run, 100 * MS);
    uint32_t behind = ls_match_tick(run->match) - report_of(gone).confirmed;
    cr_expect_leq(behind, 8, "still %u ticks behind when its link is back", behind);
    play_out(run);
}

Test(leaving, a_partition_shorter_than_the_timeout_is_made_up_for)
{
    virtual_match *run = start(4, 600);
    ls_link_config link = run->setup.link;
    virtual_match_run_to_tick(run, 100);
    virtual_client_cut(run->clients[2]);
    virtual_match_run(run, 1800 * MS);
    virtual_client_set_links(run->clients[2], &link);
    virtual_match_run(run, 500 * MS);
    uint32_t behind = ls_match_tick(run->match) - report_of(run->clients[2]).tick;
    cr_assert_leq(behind, 8, "still %u ticks behind after half a second", behind);
    play_out(run);
}

Test(leaving, a_partition_longer_than_the_window_is_not)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 3, 4000);
    setup.match.sim.tick_rate_hz = 1000;
    setup.match.keep_seat_ms = 0;
    virtual_match *run = checked_match_create(&setup);
    ls_link_config link = setup.link;
    virtual_match_run_to_tick(run, 500);
    virtual_client *gone = run->clients[0];
    virtual_client_cut(gone);
    virtual_match_run(run, 1500 * MS);
    virtual_client_set_links(gone, &link);
    virtual_match_run_to_end(run);
    check_left(run, report_of(gone).slot, LS_FELL_BEHIND);
    cr_assert_eq(report_of(gone).status, LS_FELL_BEHIND);
    check_rest(run, gone);
}

Test(leaving, several_leave_at_once_and_one_after_the_other)
{
    virtual_match *run = start(8, 400);
    virtual_match_run_to_tick(run, 100);
    for (uint32_t i = 0; i < 3; i++) {
        virtual_client_leave(run->clients[i]);
    }
    virtual_match_run_to_tick(run, 200);
    virtual_client_leave(run->clients[3]);
    virtual_match_run_to_end(run);
    for (uint32_t i = 0; i < 4; i++) {
        check_left(run, report_of(run->clients[i]).slot, LS_DISCONNECTED);
    }
    for (uint32_t i = 4; i < 8; i++) {
        check_played_to_the_end(run, run->clients[i]);
    }
    close_run(run);
}

/* Players who stay for so many ticks have played exactly those. */
static void play_for(uint32_t frame_hz, uint32_t ticks)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 1, 400);
    setup.match.sim.players = 2;
    virtual_match *run = checked_match_create(&setup);
    virtual_client_setup pending = virtual_client_setup_default(run);
    pending.frame_hz = frame_hz;
    pending.session.ticks = ticks;
    virtual_client *brief = virtual_match_add_client(run, &pending);
    virtual_match_run_to_end(run);
    check_left(run, report_of(brief).slot, LS_DISCONNECTED);
    cr_assert_eq(report_of(brief).status, LS_OK);
    cr_assert_eq(report_of(brief).tick, ticks, "%u frames a second: %u ticks instead of %u",
                 frame_hz, report_of(brief).tick, ticks);
    check_rest(run, brief);
}

Test(leaving, a_client_stays_for_as_many_ticks_as_it_was_told_to)
{
    static const uint32_t frame_rates[] = {20, 60, 240};
    for (size_t i = 0; i < sizeof frame_rates / sizeof frame_rates[0]; i++) {
        play_for(frame_rates[i], 1);
        play_for(frame_rates[i], 100);
        play_for(frame_rates[i], 101);
    }
}

/* ---- the end ---- */

Test(leaving, the_match_ends_when_all_have_left)
{
    virtual_match *run = start(3, 0);
    virtual_match_run_to_tick(run, 100);
    for (uint32_t i = 0; i < 3; i++) {
        virtual_client_leave(run->clients[i]);
    }
    virtual_match_run(run, SECOND);
    cr_assert(virtual_match_is_over(run));
    cr_assert_leq(ls_match_tick(run->match), 103);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_ENDED, LS_PLAYERS_MAX), 1);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_FINISHED, LS_PLAYERS_MAX), 1);
    close_run(run);
}

Test(leaving, the_match_ends_when_all_have_vanished)
{
    virtual_match *run = start(3, 0);
    virtual_match_run_to_tick(run, 100);
    for (uint32_t i = 0; i < 3; i++) {
        virtual_client_cut(run->clients[i]);
    }
    virtual_match_run(run, 3 * SECOND);
    cr_assert(virtual_match_is_over(run));
    close_run(run);
}

static void stop_and_check(virtual_match *run)
{
    ls_match_stop(run->match, virtual_match_server_ns(run));
    ls_tick final_tick = ls_match_tick(run->match);
    virtual_match_run(run, 6 * SECOND);
    check_complete(run);
    cr_assert_eq(ls_match_tick(run->match), final_tick, "nothing is closed after the stop");
    for (uint32_t i = 0; i < run->client_count; i++) {
        ls_session_report report = report_of(run->clients[i]);
        cr_assert(report.has_end);
        cr_assert_eq(report.end.final_tick, final_tick);
        cr_assert_eq(report.end.final_hash, ls_match_hash(run->match));
    }
}

Test(leaving, a_stopped_match_ends_in_the_same_state_for_all)
{
    static const ls_link_config links[] = {
        {.delay_ns = 10 * MS},
        {.delay_ns = 250 * MS, .jitter_ns = 50 * MS},
        {.delay_ns = 30 * MS, .loss_ppm = 300000, .duplicate_ppm = 100000},
    };
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        virtual_match *run = start(4, 0);
        virtual_match_set_links(run, &links[i]);
        virtual_match_run_to_tick(run, 137);
        stop_and_check(run);
        virtual_match_destroy(run);
    }
}

Test(leaving, a_match_stopped_before_its_first_tick_is_complete_too)
{
    virtual_match *run = start(2, 0);
    while (!virtual_match_find(run, LS_MATCH_STARTED)) {
        virtual_match_run(run, MS);
    }
    stop_and_check(run);
    cr_assert_eq(ls_match_tick(run->match), 0);
    virtual_match_destroy(run);
}

Test(leaving, a_lobby_that_is_stopped_sends_everybody_home)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 2, 60);
    setup.match.sim.players = 3;
    virtual_match *run = checked_match_create(&setup);
    raw_peer *pending = raw_peer_create(run);
    virtual_match_run(run, SECOND);
    ls_match_stop(run->match, virtual_match_server_ns(run));
    virtual_match_run(run, SECOND);
    cr_assert(virtual_match_is_over(run));
    cr_assert_eq(report_of(run->clients[0]).status, LS_ALREADY_OVER);
    cr_assert_eq(report_of(run->clients[1]).status, LS_ALREADY_OVER);
    cr_assert(pending->is_closed, "who has not said HELLO is told as well");
    cr_assert_eq(pending->refusal.negated_status, (uint32_t)-LS_ALREADY_OVER);
    raw_peer_destroy(pending);
    virtual_match_destroy(run);
}

/* A client that has finished is finished, even when the server's last word is lost. */
Test(leaving, a_finished_client_needs_no_last_word)
{
    virtual_match *run = start(2, 120);
    virtual_client *finished = run->clients[0];
    while (report_of(finished).state != LS_SESSION_FINISHED) {
        virtual_match_run(run, MS);
    }
    virtual_match_run(run, 15 * MS); /* FINISHED arrives */
    virtual_client_cut(finished);
    virtual_match_run(run, 10 * SECOND);
    check_complete(run);
    virtual_match_destroy(run);
}

/* A client that cannot keep up with the end is told so, and the match does not wait for ever. */
Test(leaving, a_client_that_does_not_reach_the_end_is_dropped_five_seconds_later)
{
    virtual_match *run = start(2, 120);
    run->setup.match.timeout_ms = 2000;
    virtual_match_run_to_tick(run, 110);
    virtual_client *frozen = run->clients[0];
    frozen->is_paused = true;
    virtual_match_run(run, 8 * SECOND);
    cr_assert_eq(ls_match_state_of(run->match), LS_MATCH_OVER);
    cr_assert_eq(seat_of(frozen).left_status, LS_TIMED_OUT);
    check_played_to_the_end(run, run->clients[1]);
    close_run(run);
}

Test(leaving, a_client_that_comes_after_the_end_is_told_so)
{
    virtual_match *run = start(2, 60);
    play_and_check(run);
    virtual_client_setup setup = virtual_client_setup_default(run);
    virtual_client *late = virtual_match_add_client(run, &setup);
    virtual_match_run(run, SECOND);
    cr_assert(late->is_over);
    cr_assert_eq(report_of(late).status, LS_ALREADY_OVER);
    virtual_match_destroy(run);
}

Test(leaving, leaving_before_the_connection_stands_is_no_mistake)
{
    virtual_match *run = start(2, 60);
    virtual_client_setup setup = virtual_client_setup_default(run);
    setup.up.delay_ns = 500 * MS;
    setup.down.delay_ns = 500 * MS;
    virtual_client *brief = virtual_match_add_client(run, &setup);
    virtual_client_leave(brief);
    virtual_match_run_to_end(run);
    cr_assert_eq(report_of(brief).status, LS_OK);
    check_played_to_the_end(run, run->clients[0]);
    check_played_to_the_end(run, run->clients[1]);
    virtual_match_destroy(run);
}

/* That the match asks to be called again at once is noted as a fault. */
Test(leaving, a_match_that_waits_for_who_is_lost_stands_still_until_it_is_back)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 1, 600);
    setup.match.late_rule = LS_LATE_WAIT;
    setup.match.wait_limit_ms = 5000;
    virtual_match *run = match_at(&setup, 60);
    virtual_client_vanish(run->clients[0]);
    virtual_match_run(run, SECOND / 2);
    cr_assert(virtual_match_find(run, LS_MATCH_STALLED));
    virtual_client_set_links(run->clients[0], &setup.link);
    virtual_client_hang_up(run->clients[0]);
    virtual_match_run(run, SECOND / 2);
    cr_assert(virtual_match_find(run, LS_MATCH_PLAYER_LOST));
    virtual_match_run(run, SECOND);
    close_run(run);
}

/* ---- sent away ---- */

Test(leaving, a_player_that_is_kicked_reads_why_and_the_match_goes_on)
{
    virtual_match *run = start(3, 120);
    virtual_match_run_to_tick(run, 40);
    uint32_t slot = ls_session_report_of(run->clients[1]->session).slot;
    cr_assert_eq(ls_match_kick(run->match, slot, "no chatting", virtual_match_server_ns(run)),
                 LS_OK);
    cr_assert_eq(ls_match_kick(run->match, slot, "twice", virtual_match_server_ns(run)),
                 LS_NOT_FOUND);
    virtual_match_run_to_end(run);
    ls_session_report kicked = ls_session_report_of(run->clients[1]->session);
    cr_assert_eq(kicked.state, LS_SESSION_OVER);
    cr_assert_eq(kicked.status, LS_KICKED);
    const virtual_event *left = virtual_match_find_slot(run, LS_MATCH_PLAYER_LEFT, slot);
    cr_assert_eq(left->event.status, LS_KICKED);
    cr_assert_str_eq(left->event.text.bytes, "no chatting");
    cr_assert_eq(counts_of(run, slot)->leaves, 1, "the step was told");
    cr_assert_eq(ls_match_tick(run->match), 120);
    check_played_to_the_end(run, run->clients[0]);
    check_played_to_the_end(run, run->clients[2]);
    virtual_match_destroy(run);
}
