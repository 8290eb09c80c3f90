#include "lockstep/common/diagnosis/desync_class.h"
#include "lockstep/common/program/player_name.h"
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/server/investigation/desync_finding.h"
#include "lockstep/tests/lab/bench/pad_simulation.h"
#include "lockstep/tests/match/match_test.h"
#include "lockstep/tests/support/raw_peer.h"

#include <stdio.h>

/* ---- seats ---- */

/* Seats of a match whose server came back and has forgotten who sat down last: what the ticks that
 * others bring back tell of them. */

enum {
    SEATS = 3,
    PEERS = SEATS + 1,
    CLOSED = 5, /* ticks that the journal lacks and who sat on seat 0 has */
};

typedef struct table {
    virtual_match *run;
    raw_peer *peers[PEERS];
} table;

/* The journal knows one player of seat 0 and none of the others. */
static table open_table(void)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), SEATS, 0);
    setup.clients = 0;
    table here = {.run = checked_match_create(&setup)};
    check_of(here.run)->unscheduled_until_ns = VIRTUAL_NEVER;
    ls_match *match = here.run->match;
    ls_match_restore from = {0};
    cr_assert_eq(ls_match_restore_start(match, &from, NULL), LS_OK);
    for (uint32_t slot = 0; slot < SEATS; slot++) {
        ls_restored_seat seat = {.name = slot == 0 ? "somebody" : "",
                                 .generations = {.newest = slot == 0 ? 1 : 0,
                                                 .forgotten = LS_FORGOTTEN_GENERATIONS_MAX}};
        ls_match_restore_seat(match, slot, &seat);
    }
    ls_match_restore_end(match, virtual_match_server_ns(here.run));
    return here;
}

static void close_table(table *here)
{
    check_sound(here->run);
    for (uint32_t i = 0; i < PEERS; i++) {
        if (here->peers[i]) {
            raw_peer_destroy(here->peers[i]);
        }
    }
    virtual_match_destroy(here->run);
}

static raw_peer *connect(table *here, uint32_t index)
{
    here->peers[index] = raw_peer_create(here->run);
    virtual_match_run(here->run, 5 * MS);
    return here->peers[index];
}

/* peers[index] is somebody new. */
static raw_peer *come(table *here, uint32_t index)
{
    raw_peer *peer = connect(here, index);
    raw_peer_say_hello(peer);
    virtual_match_run(here->run, 5 * MS);
    return peer;
}

/* peers[slot] says that it is the seat's `turn`-th player. */
static raw_peer *come_back(table *here, uint32_t slot, uint32_t turn, ls_tick confirmed,
                           uint64_t chain)
{
    raw_peer *peer = connect(here, slot);
    const ls_match_config *config = ls_match_config_of(here->run->match);
    ls_offer offer = {.match_id = config->match_id};
    ls_secret_derive(&config->key, config->match_id, slot, turn, offer.secret);
    ls_return claim = {.confirmed = confirmed, .tick_chain = chain, .held = confirmed};
    raw_peer_say_back(peer, &offer, &claim);
    virtual_match_run(here->run, 5 * MS);
    return peer;
}

static void say_ready(table *here, raw_peer *peer, uint32_t slot)
{
    cr_assert_gt(peer->heard[LS_MESSAGE_OFFER], 0);
    cr_assert_eq(peer->offer.slot, slot);
    raw_peer_say_ready(peer);
    virtual_match_run(here->run, 5 * MS);
}

/* Seats 0 and 1 join in tick 0, and nobody ever makes an input. */
static ls_tick_inputs made_tick(ls_tick tick, ls_slot_input slots[SEATS])
{
    for (uint32_t slot = 0; slot < SEATS; slot++) {
        slots[slot] = (ls_slot_input){.events = tick == 0 && slot < 2 ? LS_EVENT_JOINED : 0};
    }
    return (ls_tick_inputs){.tick = tick, .slot_count = SEATS, .slots = slots};
}

/* The player of seat 0 comes back with the ticks that the journal lacks: somebody plays on seat 1.
 */
static void bring_ticks(table *here)
{
    ls_slot_input slots[SEATS];
    uint64_t chain = LS_TICK_CHAIN_START;
    for (ls_tick tick = 0; tick < CLOSED; tick++) {
        ls_tick_inputs inputs = made_tick(tick, slots);
        chain = ls_tick_chain_next(chain, &inputs);
    }
    raw_peer *peer = come_back(here, 0, 1, CLOSED, chain);
    say_ready(here, peer, 0);
    cr_assert_eq(peer->request.count, CLOSED);
    for (ls_tick tick = 0; tick < CLOSED; tick++) {
        ls_tick_inputs inputs = made_tick(tick, slots);
        raw_peer_send_closed_tick(peer, &inputs);
    }
    virtual_match_run(here->run, 5 * MS);
    cr_assert_eq(ls_match_state_of(here->run->match), LS_MATCH_RUNNING);
    cr_assert_eq(ls_match_tick(here->run->match), CLOSED);
}

Test(seats, one_on_which_somebody_played_as_the_others_know_is_kept)
{
    table here = open_table();
    bring_ticks(&here);
    const raw_peer *newcomer = come(&here, 2);
    cr_assert_eq(newcomer->offer.slot, 2);
    const raw_peer *other = come(&here, 3);
    cr_assert_eq(other->refusal.negated_status, (uint32_t)-LS_MATCH_FULL);
    raw_peer *forgotten = come_back(&here, 1, 1, 0, LS_TICK_CHAIN_START);
    say_ready(&here, forgotten, 1);
    close_table(&here);
}

/* It must not be taken for the player whom the simulation knows on that seat. */
Test(seats, a_player_given_the_seat_of_a_forgotten_one_joins_anew)
{
    table here = open_table();
    come(&here, 2);
    raw_peer *newcomer = come(&here, 1);
    say_ready(&here, newcomer, 1);
    bring_ticks(&here);
    raw_peer_say_joined(here.peers[0], CLOSED + 1);
    virtual_match_run(here.run, SECOND / 2);
    cr_assert_gt(ls_match_tick(here.run->match), CLOSED);
    cr_assert_eq(check_of(here.run)->ticks[CLOSED].events[1], LS_EVENT_LEFT);
    close_table(&here);
}

/* ---- names ---- */

/* Names: whatever clients ask to be called, nobody in a match can be taken for another. */

static virtual_setup setup_of(uint32_t players, uint32_t spectators)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 0, 0);
    setup.match.sim.players = players;
    setup.match.spectators_max = spectators;
    setup.match.spectator_delay_ticks = 10;
    setup.match.clean_name = ls_player_name_clean;
    return setup;
}

static virtual_client *names_come(virtual_match *run, const char *name, bool is_spectator)
{
    virtual_client_setup setup = virtual_client_setup_default(run);
    snprintf(setup.session.name, sizeof setup.session.name, "%s", name);
    setup.session.is_spectator = is_spectator;
    setup.session.reconnect_ms = 60000;
    virtual_client *client = virtual_match_add_client(run, &setup);
    virtual_match_run(run, SECOND);
    return client;
}

static const char *name_of(const virtual_client *client)
{
    static char names[4][LS_PLAYER_NAME_BYTES_MAX];
    static uint32_t next;
    char *name = names[next++ % 4];
    ls_match_slot slot = ls_match_slot_of(client->run->match, report_of(client).slot);
    memcpy(name, slot.name, LS_PLAYER_NAME_BYTES_MAX);
    return name;
}

static void check_names(const char *const names[][2], uint32_t count)
{
    const virtual_setup setup = setup_of(count, 0);
    virtual_match *run = checked_match_create(&setup);
    for (uint32_t i = 0; i < count; i++) {
        names_come(run, names[i][0], false);
    }
    for (uint32_t i = 0; i < count; i++) {
        cr_expect_str_eq(name_of(run->clients[i]), names[i][1]);
        uint32_t slot = report_of(run->clients[i]).slot;
        cr_expect_str_eq(ls_session_player_name(run->clients[0]->session, slot), names[i][1]);
    }
    check_plays(run->clients[0]);
    close_run(run);
}

Test(names, equal_names_get_numbers)
{
    static const char *const names[][2] = {
        {"Ann", "Ann"},          {"Ann", "Ann (2)"}, {"ANN", "ANN (3)"},
        {"\uff21nn", "Ann (4)"}, {"Zoe", "Zoe"},
    };
    check_names(names, sizeof names / sizeof names[0]);
}

Test(names, a_player_cannot_type_a_number_that_the_server_gives)
{
    static const char *const names[][2] = {
        {"admin", "admin"},          {"Admin (1)", "Admin (2)"}, {"Admin (2)", "Admin (3)"},
        {"admin (lO)", "admin (4)"}, {"Bob (2)", "Bob"},         {"(3)", "player"},
    };
    check_names(names, sizeof names / sizeof names[0]);
}

Test(names, letters_that_nobody_sees_make_no_other_name)
{
    static const char *const names[][2] = {
        {"admin", "admin"},
        {"admin\u3164", "admin (2)"},
        {"\u00a0admin", "admin (3)"},
        {"ad\u2800min", "admin (4)"},
        {"\u115f\u1160admin", "admin (5)"},
        {"a\u17b4dmin", "admin (6)"},
        {"admin\u034f", "admin (7)"},
        {"\u3164", "player"},
        {"", "player (2)"},
    };
    check_names(names, sizeof names / sizeof names[0]);
}

Test(names, look_alikes_get_numbers)
{
    static const char *const names[][2] = {
        {"\u0430dmin", "\u0430dmin"}, /* Cyrillic */
        {"admin", "admin (2)"},
        {"ADMlN", "ADMlN (3)"},
        {"adrnin", "adrnin (4)"},
    };
    check_names(names, sizeof names / sizeof names[0]);
}

Test(names, what_joins_letters_and_emoji_reaches_the_others)
{
    static const char *const names[][2] = {
        {"\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
         "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"},
        {"\U0001f468\u200d\U0001f469\u200d\U0001f467",
         "\U0001f468\u200d\U0001f469\u200d\U0001f467"},
        {"\U0001f468\U0001f469\U0001f467", "\U0001f468\U0001f469\U0001f467 (2)"},
        {"\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
         "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"},
    };
    check_names(names, sizeof names / sizeof names[0]);
}

Test(names, one_with_a_number_fits)
{
    static const char *const names[][2] = {
        {"1234567890123456789012345678901", "1234567890123456789012345678901"},
        {"1234567890123456789012345678901", "123456789012345678901234567 (2)"},
        {"\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d",
         "\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d"},
        {"\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d",
         "\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d (2)"},
    };
    check_names(names, sizeof names / sizeof names[0]);
}

Test(names, returning_player_keeps_its_name_and_its_seat_keeps_it_from_others)
{
    virtual_setup setup = setup_of(3, 0);
    setup.match.start_players = 2;
    setup.match.keep_seat_ms = 60000;
    virtual_match *run = checked_match_create(&setup);
    names_come(run, "Ann", false);
    virtual_client *second = names_come(run, "Ann", false);
    virtual_match_run(run, SECOND);
    cut_link(second, true);
    virtual_match_run(run, 15 * SECOND);
    virtual_client *third = names_come(run, "Ann", false);
    cr_assert_str_eq(name_of(third), "Ann (3)");
    cut_link(second, false);
    cr_assert(virtual_client_run_to_state(second, LS_SESSION_PLAYING, 15 * SECOND));
    virtual_match_run(run, SECOND);
    check_plays(second);
    cr_assert_str_eq(name_of(second), "Ann (2)");
    close_run(run);
}

Test(names, seats_keep_theirs_when_their_server_was_replaced)
{
    virtual_setup setup = setup_of(3, 0);
    setup.match.start_players = 2;
    setup.match.keep_seat_ms = 60000;
    setup.match.resume_wait_ms = 3000;
    setup.has_journal = true;
    virtual_match *run = checked_match_create(&setup);
    virtual_client *first = names_come(run, "Ann", false);
    virtual_client *second = names_come(run, "Ann", false);
    virtual_match_run(run, SECOND);
    virtual_match_crash(run, SECOND);
    cut_link(second, true);
    virtual_match_run(run, 10 * SECOND);
    cr_assert_eq(check_of(run)->resumes.resumed, 1);
    cr_assert_str_eq(name_of(first), "Ann");
    cr_assert_str_eq(name_of(second), "Ann (2)");
    cr_assert_str_eq(name_of(names_come(run, "ann", false)), "ann (3)");
    close_run(run);
}

Test(names, a_name_is_free_when_its_player_has_left)
{
    virtual_setup setup = setup_of(3, 0);
    setup.match.start_players = 2;
    setup.match.keep_seat_ms = 0;
    virtual_match *run = checked_match_create(&setup);
    names_come(run, "Bob", false);
    virtual_client *left = names_come(run, "Ann", false);
    cut_link(left, true);
    virtual_match_run(run, 15 * SECOND);
    cr_assert_str_eq(name_of(names_come(run, "Ann", false)), "Ann");
    close_run(run);
}

static const virtual_event *newest_spectator(const virtual_match *run)
{
    for (uint32_t i = run->event_count; i > 0; i--) {
        if (run->events[i - 1].event.kind == LS_MATCH_SPECTATOR_CAME) {
            return &run->events[i - 1];
        }
    }
    return NULL;
}

Test(names, spectators_and_players_are_told_from_each_other)
{
    virtual_setup setup = setup_of(2, 40);
    setup.match.start_players = 1;
    virtual_match *run = checked_match_create(&setup);
    names_come(run, "Ann", false);
    for (uint32_t i = 2; i < 40; i++) {
        char expected[64];
        names_come(run, "ann", true);
        snprintf(expected, sizeof expected, "ann (%u)", i);
        const virtual_event *came = newest_spectator(run);
        cr_assert(came && strncmp(came->event.text.bytes, expected, strlen(expected)) == 0,
                  "%s: %s", expected, came ? came->event.text.bytes : "nobody came");
    }
    cr_assert_str_eq(name_of(names_come(run, "\u0430nn", false)), "\u0430nn (40)");
    close_run(run);
}

/* An owner of a match that says nothing about names has them as they come. */
Test(names, are_as_they_are_asked_for_where_nothing_cleans_them)
{
    virtual_setup setup = setup_of(2, 0);
    setup.match.clean_name = NULL;
    virtual_match *run = checked_match_create(&setup);
    names_come(run, " Ann ", false);
    names_come(run, "Ann", false);
    cr_assert_str_eq(name_of(run->clients[0]), "Ann");
    cr_assert_str_eq(name_of(run->clients[1]), "Ann");
    close_run(run);
}

/* ---- trust ---- */

/* Matches that trust what their simulation says it writes (--trust-writes): nothing is different
 * as long as that is true. A write that is not named is found within a second by the machine that
 * makes it, and where it makes a state differ, the report says between which ticks. */

enum {
    STATE_BYTES = 10 * 4096,
    TICKS = 300,
    FORGOTTEN = 70, /* the tick in which a word is written and not named */
    FOUND = 120,
    WORD = 7 * 512 + 3, /* which nothing else writes to */
};

static void forget(const ls_step *step)
{
    if (step->inputs->tick == FORGOTTEN) {
        ((uint64_t *)step->state)[WORD]++;
    }
}

/* The pad; one that forgets has one more pass, which writes without naming it. */
static const ls_simulation *pad_that(bool forgets)
{
    static ls_pass passes[2][2];
    static ls_simulation simulations[2];
    simulations[forgets] = *bench_pad_simulation();
    passes[forgets][0] = simulations[forgets].passes[0];
    passes[forgets][1] = (ls_pass){"forget", forget};
    simulations[forgets].passes = passes[forgets];
    simulations[forgets].pass_count = forgets ? 2 : 1;
    return &simulations[forgets];
}

static virtual_setup trust_setup_of(bool server_forgets)
{
    virtual_setup setup = virtual_setup_default(pad_that(server_forgets), 2, TICKS);
    setup.match.sim.params[0] = STATE_BYTES;
    setup.match.trusts_writes = true;
    return setup;
}

static uint32_t found_by(const virtual_client *client)
{
    return virtual_client_count(client, LS_SESSION_EVENT_UNNAMED_WRITE);
}

Test(trust, a_simulation_that_names_its_writes_plays_the_same_match)
{
    uint64_t hashes[2];
    for (uint32_t trusts = 0; trusts < 2; trusts++) {
        virtual_setup setup = trust_setup_of(false);
        setup.match.trusts_writes = trusts == 1;
        setup.predict_ticks = 3;
        setup.link = (ls_link_config){.delay_ns = 40 * MS, .jitter_ns = 5 * MS, .loss_ppm = 20000};
        virtual_match *run = checked_match_create(&setup);
        play_and_check(run);
        hashes[trusts] = ls_match_hash(run->match);
        cr_assert_eq(virtual_match_count(run, LS_MATCH_UNNAMED_WRITE, LS_PLAYERS_MAX), 0);
        cr_assert_gt(slot_of(run, 0).hashes_compared, 200);
        virtual_match_destroy(run);
    }
    cr_assert_eq(hashes[0], hashes[1]);
}

Test(trust, a_write_between_steps_is_found_at_its_tick)
{
    virtual_setup setup = trust_setup_of(false);
    virtual_client *bad = play_flipped(&setup, FORGOTTEN, WORD * 8);
    check_sound(bad->run);
    cr_assert_eq(virtual_match_find(bad->run, LS_MATCH_DESYNC)->event.tick, FORGOTTEN);
    virtual_match_destroy(bad->run);
}

/* All machines write the same: they agree, and each says what was forgotten. */
Test(trust, a_forgotten_write_is_found_within_a_second)
{
    virtual_setup setup = trust_setup_of(true);
    virtual_match *run = checked_match_create(&setup);
    play_and_check(run);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_UNNAMED_WRITE, LS_PLAYERS_MAX), 1);
    const ls_match_event *event = &virtual_match_find(run, LS_MATCH_UNNAMED_WRITE)->event;
    cr_assert_eq(event->tick, FOUND);
    cr_assert_str_eq(event->text.bytes,
                     "between tick 60 and tick 120 simulation 'pad' wrote to bytes 28672 to 32767 "
                     "of its state (from \"words\" on) and did not name them: all bytes are hashed "
                     "every time from now on");
    for (uint32_t i = 0; i < run->client_count; i++) {
        cr_assert_eq(found_by(run->clients[i]), 1);
    }
    cr_assert_eq(virtual_match_count(run, LS_MATCH_DESYNC, LS_PLAYERS_MAX), 0);
    virtual_match_destroy(run);
}

/* One machine alone writes it: its state differs long before that is seen. */
Test(trust, a_report_says_between_which_ticks_a_state_began_to_differ)
{
    virtual_setup setup = trust_setup_of(false);
    setup.clients = 1;
    virtual_match *run = virtual_match_create(&setup);
    virtual_client_setup other = virtual_client_setup_default(run);
    other.simulation = pad_that(true);
    const virtual_client *bad = virtual_match_add_client(run, &other);
    virtual_match_run_to_end(run);
    cr_assert_eq(found_by(bad), 1);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_UNNAMED_WRITE, LS_PLAYERS_MAX), 0);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_DESYNC, LS_PLAYERS_MAX), 1);
    const ls_match_event *event = &virtual_match_find(run, LS_MATCH_DESYNC)->event;
    cr_assert_eq(event->tick, FOUND);
    cr_assert_str_eq(ls_desync_since(ls_match_instance(run->match), 1, event->tick).bytes,
                     "between tick 60 and tick 120");
    cr_assert_not_null(virtual_match_find(run, LS_MATCH_DESYNC_CAUSE));
    const ls_desync_finding *finding = ls_match_desync_of(run->match, event->slot);
    cr_assert_eq(finding->first_tick, 0, "it is not known");
    cr_assert_eq(finding->first_tick_min, 61);
    cr_assert_eq(finding->first_tick_max, FOUND);
    cr_assert(strstr(finding->verdict.why.bytes, "lies between 61 and 120"), "%s",
              finding->verdict.why.bytes);
    cr_assert_str_eq(finding->places[0].name, "words[3587]");
    virtual_match_destroy(run);
}

/* ---- offers ---- */

/* Seats that are offered and not taken: those who come again and again without READY keep nobody
 * else out, and nobody else loses a seat for it. */

enum {
    OFFERS_PEERS = 128,
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
    bool is_out[OFFERS_PEERS];
    ls_offer offers[OFFERS_PEERS];
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
    cr_assert_lt(peer, OFFERS_PEERS);
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
