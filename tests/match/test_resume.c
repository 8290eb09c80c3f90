/* A server that was killed comes back from what its journal held: nobody loses a closed tick that
 * somebody who comes back has seen, whoever lies about that gets nowhere, and the match goes on. */
#include "lockstep/common/tick_chain.h"
#include "lockstep/tests/match/match_test.h"
#include "lockstep/tests/support/moving_match.h"
#include "lockstep/tests/support/raw_peer.h"
#include "lockstep/tools/faultsim/tally_simulation.h"

#include <string.h>

enum {
    PLAYERS = 3,
    TICKS_MAX = 4096,
    INPUT_BYTES = 8,
    SNAPSHOT_TICK = 300,
};

/* ---- what a journal holds ---- */

typedef struct kept_input {
    uint32_t size;
    uint32_t events;
    uint8_t bytes[INPUT_BYTES];
} kept_input;

static struct {
    moving_match *run;
    ls_tick ticks;
    kept_input inputs[TICKS_MAX][PLAYERS];
    uint64_t chains[TICKS_MAX + 1]; /* before each tick */
    uint8_t state[sizeof(tally_state)];
    ls_match_restore snapshot; /* of the newest multiple of SNAPSHOT_TICK */
} here;

static void keep_snapshot(const ls_match *match)
{
    ls_match_restore *kept = &here.snapshot;
    *kept = (ls_match_restore){.tick = ls_match_tick(match),
                               .state = here.state,
                               .state_bytes = sizeof here.state,
                               .tick_chain = here.chains[ls_match_tick(match)],
                               .in_band_mask = (1u << PLAYERS) - 1};
    kept->root_chain = ls_match_root_chain(match, &kept->root_chain_tick);
    kept->root = ls_match_root(here.run->match);
    cr_assert_eq(ls_sim_instance_save(ls_match_instance(here.run->match), here.state), LS_OK);
}

static void keep_tick(void *user, const ls_match *match)
{
    (void)user;
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    here.ticks = ls_match_tick(match);
    cr_assert_lt(here.ticks, TICKS_MAX);
    cr_assert_eq(ls_match_closed_tick(match, here.ticks - 1, slots, &inputs), LS_OK);
    for (uint32_t slot = 0; slot < PLAYERS; slot++) {
        kept_input *kept = &here.inputs[here.ticks - 1][slot];
        *kept = (kept_input){.size = slots[slot].size, .events = slots[slot].events};
        cr_assert_leq(kept->size, INPUT_BYTES);
        memcpy(kept->bytes, slots[slot].bytes, kept->size);
    }
    here.chains[here.ticks] = ls_match_tick_chain(match, here.ticks);
    if (here.ticks % SNAPSHOT_TICK == 0) {
        keep_snapshot(match);
    }
}

static ls_tick_inputs kept_tick(ls_tick tick, ls_slot_input slots[PLAYERS])
{
    for (uint32_t slot = 0; slot < PLAYERS; slot++) {
        const kept_input *kept = &here.inputs[tick][slot];
        slots[slot] = (ls_slot_input){kept->bytes, kept->size, kept->events};
    }
    return (ls_tick_inputs){.tick = tick, .slot_count = PLAYERS, .slots = slots};
}

/* A seat of which the journal knows so many players. */
static ls_seat_turns turns_of(uint32_t newest)
{
    return (ls_seat_turns){.newest = newest, .forgotten = LS_FORGOTTEN_TURNS_MAX};
}

/* ---- killing and coming back ---- */

static ls_match_config config_of(uint32_t interval)
{
    ls_match_config config = ls_match_config_default(tally_simulation());
    config.sim.players = PLAYERS;
    config.sim.tick_rate_hz = 60;
    config.hash_interval_ticks = interval;
    config.timeout_ms = 5000;
    config.resume_wait_ms = 8000;
    return config;
}

static void start(const ls_match_config *config, ls_tick ticks)
{
    ls_session_config session = ls_session_config_default();
    session.reconnect_ms = 60000;
    ls_memory_link link = {.delay_ns = 20 * MS, .jitter_ns = 2 * MS};
    here.run = moving_match_open(config, 7);
    here.run->on_tick = keep_tick;
    here.chains[0] = LS_TICK_CHAIN_START;
    for (uint32_t i = 0; i < PLAYERS; i++) {
        moving_match_add(here.run, &session, &link);
    }
    while (ls_match_tick(here.run->match) < ticks) {
        moving_match_run(here.run, 10 * MS);
    }
}

/* Kills the server and restores its match as of tick `end`, from a snapshot or from state 0. */
static void kill_and_restore(ls_tick end, bool has_snapshot, bool has_before)
{
    static const ls_match_restore from_start;
    ls_match_restore from = has_snapshot ? here.snapshot : from_start;
    ls_slot_input slots[PLAYERS];
    ls_text why = {{0}};
    char names[PLAYERS][LS_PLAYER_NAME_BYTES_MAX];
    for (uint32_t slot = 0; slot < PLAYERS; slot++) {
        memcpy(names[slot], ls_match_slot_of(here.run->match, slot).name, sizeof names[slot]);
    }
    moving_match_restart(here.run);
    ls_match *match = here.run->match;
    ls_slot_input slots_before[PLAYERS];
    ls_tick_inputs before = {0};
    if (has_before) {
        before = kept_tick(from.tick - 1, slots_before);
        from.before = &before;
    }
    cr_assert_eq(ls_match_restore_start(match, &from, &why), LS_OK, "%s", why.bytes);
    for (ls_tick tick = from.tick; tick < end; tick++) {
        ls_tick_inputs inputs = kept_tick(tick, slots);
        cr_assert_eq(ls_match_restore_tick(match, &inputs, here.run->roots[tick + 1], &why), LS_OK,
                     "%s", why.bytes);
    }
    for (uint32_t slot = 0; slot < PLAYERS; slot++) {
        ls_match_restore_seat(match, slot, names[slot], turns_of(1));
    }
    ls_match_restore_end(match, here.run->now_ns);
    cr_assert_eq(ls_match_state_of(match), LS_MATCH_RESUMING);
    cr_assert_eq(ls_match_tick(match), end);
    cr_assert_eq(ls_match_tick_chain(match, end), here.chains[end]);
    here.run->resumed.kind = 0;
}

/* The newest closed tick that some client holds. */
static ls_tick confirmed_by_any(void)
{
    ls_tick most = 0;
    for (uint32_t i = 0; i < PLAYERS; i++) {
        ls_tick confirmed = moving_report(here.run->clients[i]).confirmed;
        most = confirmed > most ? confirmed : most;
    }
    return most;
}

static void check_all_play(void)
{
    moving_match_run(here.run, 3 * SECOND);
    for (uint32_t i = 0; i < PLAYERS; i++) {
        moving_check_plays(here.run->clients[i]);
    }
}

static uint32_t count_events(uint32_t slot, ls_tick from, uint32_t event)
{
    uint32_t count = 0;
    for (ls_tick tick = from; tick < here.ticks; tick++) {
        count += (here.inputs[tick][slot].events & event) != 0;
    }
    return count;
}

/* All come back: nothing that any of them saw is lost, and nobody has left. */
static void lose_ticks_and_resume(ls_tick lost, bool has_snapshot, bool has_before)
{
    ls_tick seen = confirmed_by_any();
    uint64_t chain = here.chains[seen];
    kill_and_restore(here.ticks - lost, has_snapshot, has_before);
    moving_match_run(here.run, 7 * SECOND);
    cr_assert_eq(here.run->resumed.kind, LS_MATCH_RESUMED);
    cr_assert_geq(here.run->resumed.tick, seen);
    cr_assert_eq(ls_match_tick_chain(here.run->match, seen), chain);
    check_all_play();
    for (uint32_t slot = 0; slot < PLAYERS; slot++) {
        cr_assert_eq(count_events(slot, 1, LS_EVENT_LEFT | LS_EVENT_JOINED), 0);
    }
}

static void play_and_resume(ls_tick ticks, ls_tick lost, bool has_snapshot)
{
    ls_match_config config = config_of(1);
    start(&config, ticks);
    lose_ticks_and_resume(lost, has_snapshot, false);
    moving_match_close(here.run);
}

Test(resume, the_ticks_that_the_journal_lacks_come_from_the_clients)
{
    play_and_resume(500, 45, true);
}

Test(resume, a_journal_that_lacks_nothing_needs_nobody)
{
    play_and_resume(500, 0, true);
}

Test(resume, more_ticks_than_one_request_asks_for)
{
    play_and_resume(500, 190, true);
}

Test(resume, without_a_snapshot_everything_is_simulated_from_the_start)
{
    play_and_resume(200, 20, false);
}

Test(resume, a_snapshot_at_the_very_end_needs_the_tick_before_it)
{
    ls_match_config config = config_of(1);
    start(&config, 320);
    lose_ticks_and_resume(here.ticks - SNAPSHOT_TICK, true, true);
    moving_match_close(here.run);
}

Test(resume, states_that_are_hashed_now_and_then_do)
{
    ls_match_config config = config_of(32);
    start(&config, 500);
    lose_ticks_and_resume(37, true, false);
    moving_match_close(here.run);
}

Test(resume, under_the_rule_wait_too)
{
    ls_match_config config = config_of(1);
    config.late_rule = LS_LATE_WAIT;
    start(&config, 400);
    lose_ticks_and_resume(30, true, false);
    moving_match_close(here.run);
}

Test(resume, a_match_survives_that_time_and_again)
{
    ls_match_config config = config_of(1);
    start(&config, 320);
    for (uint32_t i = 0; i < 5; i++) {
        ls_tick since = here.ticks - here.snapshot.tick;
        lose_ticks_and_resume(11 * i < since ? 11 * i : since - 1, true, false);
    }
    moving_match_close(here.run);
}

Test(resume, who_does_not_come_back_has_left_and_the_others_go_on)
{
    ls_match_config config = config_of(1);
    start(&config, 400);
    uint32_t slot = moving_report(here.run->clients[1]).slot;
    moving_client_cut(here.run->clients[1], true);
    uint64_t killed_ns = here.run->now_ns;
    kill_and_restore(380, true, false);
    while (here.run->resumed.kind == 0 && here.run->now_ns - killed_ns < 20 * SECOND) {
        moving_match_run(here.run, 10 * MS);
    }
    cr_assert_eq(here.run->resumed.kind, LS_MATCH_RESUMED);
    cr_assert_geq(here.run->now_ns - killed_ns, 8 * SECOND);
    cr_assert_lt(here.run->now_ns - killed_ns, 9 * SECOND);
    ls_tick resumed = here.run->resumed.tick;
    moving_match_run(here.run, 3 * SECOND);
    moving_check_plays(here.run->clients[0]);
    moving_check_plays(here.run->clients[2]);
    cr_assert_eq(here.inputs[resumed][slot].events, LS_EVENT_LEFT);
    /* Its seat is kept all the same. */
    moving_client_cut(here.run->clients[1], false);
    moving_match_run(here.run, 8 * SECOND);
    check_all_play();
    cr_assert_eq(count_events(slot, resumed, LS_EVENT_JOINED), 1);
    moving_match_close(here.run);
}

Test(resume, when_who_saw_the_newest_ticks_stays_away_the_others_agree_on_what_they_have)
{
    ls_match_config config = config_of(1);
    start(&config, 400);
    for (uint32_t i = 1; i < PLAYERS; i++) {
        moving_client_cut(here.run->clients[i], true);
    }
    moving_match_run(here.run, SECOND / 2);
    ls_tick seen = moving_report(here.run->clients[1]).confirmed;
    cr_assert_lt(seen, here.ticks - 20);
    moving_client_cut(here.run->clients[0], true);
    moving_client_cut(here.run->clients[1], false);
    moving_client_cut(here.run->clients[2], false);
    kill_and_restore(seen - 30, true, false);
    moving_match_run(here.run, 10 * SECOND);
    cr_assert_eq(here.run->resumed.kind, LS_MATCH_RESUMED);
    cr_assert_geq(here.run->resumed.tick, seen);
    /* Who saw more is sent the state that is now: what it saw has not happened. */
    moving_client_cut(here.run->clients[0], false);
    moving_match_run(here.run, 8 * SECOND);
    check_all_play();
    cr_assert_eq(here.run->clients[0]->join.source, LS_JOIN_SNAPSHOT);
    moving_match_close(here.run);
}

/* ---- what cannot be restored ---- */

static ls_match *bare_match(const ls_match_config *config)
{
    static const ls_packet_sink nowhere;
    ls_match *match = NULL;
    ls_text why;
    cr_assert_eq(ls_match_create(config, &nowhere, ls_allocator_heap(), &match, &why), LS_OK);
    return match;
}

Test(resume, a_damaged_state_is_refused)
{
    ls_match_config config = config_of(1);
    start(&config, 310);
    ls_text why = {{0}};
    ls_match_restore from = here.snapshot;
    ls_match *match = bare_match(&config);
    here.state[0] ^= 1;
    cr_assert_eq(ls_match_restore_start(match, &from, &why), LS_DESYNCED);
    cr_assert(strstr(why.bytes, "state of tick 300"), "%s", why.bytes);
    ls_match_destroy(match);
    here.state[0] ^= 1;
    from.state_bytes--;
    match = bare_match(&config);
    cr_assert_eq(ls_match_restore_start(match, &from, &why), LS_MALFORMED);
    ls_match_destroy(match);
    moving_match_close(here.run);
}

Test(resume, ticks_that_do_not_follow_or_lead_elsewhere_are_refused)
{
    ls_match_config config = config_of(1);
    start(&config, 310);
    ls_text why = {{0}};
    ls_slot_input slots[PLAYERS];
    ls_match *match = bare_match(&config);
    cr_assert_eq(ls_match_restore_start(match, &here.snapshot, &why), LS_OK);
    ls_tick_inputs inputs = kept_tick(302, slots);
    cr_assert_eq(ls_match_restore_tick(match, &inputs, 0, &why), LS_MALFORMED);
    inputs = kept_tick(300, slots);
    cr_assert_eq(ls_match_restore_tick(match, &inputs, here.run->roots[301], &why), LS_OK);
    inputs = kept_tick(301, slots);
    cr_assert_eq(ls_match_restore_tick(match, &inputs, here.run->roots[302] + 1, &why),
                 LS_DESYNCED);
    cr_assert(strstr(why.bytes, "state 302"), "%s", why.bytes);
    ls_match_destroy(match);
    moving_match_close(here.run);
}

/* ---- lies ---- */

enum {
    CLOSED = 100, /* ticks in the journal */
    SEATS_MAX = 3,
};

static uint32_t seats = 2; /* a test may want another number, before it begins */

/* A match restored as of tick CLOSED, in which raw peers come back to its seats. */
typedef struct liars {
    virtual_match *run;
    raw_peer *peers[SEATS_MAX];
    uint64_t chain; /* before tick CLOSED */
} liars;

/* What was closed at a tick; `variant` 0 is the truth. */
static ls_tick_inputs made_tick(ls_tick tick, uint32_t variant, ls_slot_input slots[SEATS_MAX])
{
    static uint8_t bytes[SEATS_MAX];
    for (uint32_t slot = 0; slot < seats; slot++) {
        bytes[slot] = (uint8_t)(tick * 7 + slot + (tick >= CLOSED ? variant : 0));
        slots[slot] = (ls_slot_input){&bytes[slot], 1, tick == 0 ? LS_EVENT_JOINED : 0};
    }
    return (ls_tick_inputs){.tick = tick, .slot_count = seats, .slots = slots};
}

static liars open_liars(void)
{
    virtual_setup setup = virtual_setup_default(tally_simulation(), seats, 0);
    setup.clients = 0;
    setup.match.resume_wait_ms = 3000;
    liars stage = {.run = virtual_match_create(&setup), .chain = LS_TICK_CHAIN_START};
    stage.run->unscheduled_until_ns = VIRTUAL_NEVER;
    ls_match_restore from = {0};
    ls_text why;
    ls_match *match = stage.run->match;
    cr_assert_eq(ls_match_restore_start(match, &from, &why), LS_OK);
    for (ls_tick tick = 0; tick < CLOSED; tick++) {
        ls_slot_input slots[SEATS_MAX];
        ls_tick_inputs inputs = made_tick(tick, 0, slots);
        cr_assert_eq(ls_match_restore_tick(match, &inputs, 0, &why), LS_OK);
        stage.chain = ls_tick_chain_next(stage.chain, &inputs);
    }
    for (uint32_t slot = 0; slot < seats; slot++) {
        ls_match_restore_seat(match, slot, "liar", turns_of(3));
    }
    ls_match_restore_end(match, virtual_match_server_ns(stage.run));
    return stage;
}

static void close_liars(liars *stage)
{
    cr_assert(virtual_match_is_sound(stage->run), "%s", stage->run->fault.bytes);
    for (uint32_t i = 0; i < seats; i++) {
        if (stage->peers[i]) {
            raw_peer_destroy(stage->peers[i]);
        }
    }
    virtual_match_destroy(stage->run);
}

/* Slot i comes back and says that it has confirmed `ticks` ticks more, of a variant. */
static raw_peer *come_back(liars *stage, uint32_t slot, uint32_t ticks, uint32_t variant)
{
    raw_peer *peer = raw_peer_create(stage->run);
    const ls_match_config *config = ls_match_config_of(stage->run->match);
    ls_offer offer = {.match_id = config->match_id};
    ls_secret_derive(&config->key, config->match_id, slot, 3, offer.secret);
    uint64_t chain = stage->chain;
    for (ls_tick tick = CLOSED; tick < CLOSED + ticks; tick++) {
        ls_slot_input slots[SEATS_MAX];
        ls_tick_inputs inputs = made_tick(tick, variant, slots);
        chain = ls_tick_chain_next(chain, &inputs);
    }
    stage->peers[slot] = peer;
    virtual_match_run(stage->run, 5 * MS);
    raw_peer_say_back(peer, &offer, CLOSED + ticks, chain);
    virtual_match_run(stage->run, 5 * MS);
    cr_assert_eq(peer->offer.slot, slot);
    cr_assert(peer->offer.is_running);
    raw_peer_say_ready(peer);
    virtual_match_run(stage->run, 5 * MS);
    return peer;
}

/* Answers what it was asked for. */
static void answer(const liars *stage, raw_peer *peer, uint32_t variant)
{
    ls_ticks_request request = peer->request;
    cr_assert_gt(request.count, 0);
    peer->request.count = 0;
    for (ls_tick tick = request.first; tick < request.first + request.count; tick++) {
        ls_slot_input before[SEATS_MAX];
        ls_slot_input slots[SEATS_MAX];
        uint8_t kept[SEATS_MAX];
        ls_message message = {.kind = LS_MESSAGE_CLOSED_TICK, .body.closed_tick = {.tick = tick}};
        made_tick(tick - 1, variant, before);
        for (uint32_t slot = 0; slot < seats; slot++) {
            kept[slot] = before[slot].bytes[0];
            before[slot].bytes = &kept[slot];
        }
        made_tick(tick, variant, slots);
        ls_tick_part *part = &message.body.closed_tick;
        ls_bit_stream stream = ls_bit_writer(part->bytes, sizeof part->bytes);
        cr_assert(ls_ticks_write_tick(&stream, seats, before, slots));
        part->size = (uint32_t)ls_bits_size_bytes(&stream);
        part->total_bytes = part->size;
        raw_peer_send_message(peer, &message);
    }
    virtual_match_run(stage->run, 5 * MS);
}

Test(resume, the_furthest_is_asked_once_everybody_is_back)
{
    liars stage = open_liars();
    raw_peer *near = come_back(&stage, 0, 3, 0);
    cr_assert_eq(near->heard[LS_MESSAGE_TICKS_REQUEST], 0);
    cr_assert_gt(near->heard[LS_MESSAGE_RESUMING], 0);
    cr_assert_eq(near->resuming.slot_mask, 2);
    cr_assert_leq(near->resuming.left_ms, 3000);
    raw_peer *far = come_back(&stage, 1, 40, 0);
    cr_assert_eq(near->heard[LS_MESSAGE_TICKS_REQUEST], 0);
    cr_assert_eq(far->request.first, CLOSED);
    cr_assert_eq(far->request.count, LS_TICKS_PER_REQUEST);
    answer(&stage, far, 0);
    cr_assert_eq(ls_match_tick(stage.run->match), CLOSED); /* nothing before all is proven */
    cr_assert_eq(far->request.count, 8);
    answer(&stage, far, 0);
    cr_assert_eq(ls_match_state_of(stage.run->match), LS_MATCH_RUNNING);
    cr_assert_eq(ls_match_tick(stage.run->match), CLOSED + 40);
    cr_assert_eq(near->join.source, LS_JOIN_HELD);
    cr_assert_eq(near->join.tick, CLOSED + 3);
    cr_assert_eq(far->join.tick, CLOSED + 40);
    close_liars(&stage);
}

Test(resume, invented_ticks_are_not_taken_when_another_one_knows_better)
{
    liars stage = open_liars();
    raw_peer *honest = come_back(&stage, 0, 5, 0);
    raw_peer *liar = come_back(&stage, 1, 9, 1);
    answer(&stage, liar, 1);
    cr_assert_eq(ls_match_tick(stage.run->match), CLOSED);
    answer(&stage, honest, 0);
    cr_assert_eq(ls_match_tick(stage.run->match), CLOSED + 5);
    cr_assert_eq(liar->join.source, LS_JOIN_SNAPSHOT);
    cr_assert_eq(honest->join.source, LS_JOIN_HELD);
    cr_assert_gt(ls_match_packets_rejected(stage.run->match), 0);
    close_liars(&stage);
}

/* Its bytes were altered, or it lies: by itself it keeps nobody's ticks from being taken. */
Test(resume, one_who_contradicts_the_others_is_outvoted)
{
    seats = 3;
    for (uint32_t far = 0; far < 2; far++) {
        liars stage = open_liars();
        raw_peer *first = come_back(&stage, 0, 9, 0);
        raw_peer *liar = come_back(&stage, 1, far == 0 ? 7 : 12, 1);
        raw_peer *second = come_back(&stage, 2, 5, 0);
        for (uint32_t i = 0; i < 2 * seats; i++) {
            raw_peer *asked = first->request.count > 0    ? first
                              : liar->request.count > 0   ? liar
                              : second->request.count > 0 ? second
                                                          : NULL;
            if (asked) {
                answer(&stage, asked, asked == liar ? 1 : 0);
            }
        }
        cr_assert_eq(ls_match_state_of(stage.run->match), LS_MATCH_RUNNING);
        cr_assert_eq(ls_match_tick(stage.run->match), CLOSED + 9);
        cr_assert_eq(first->join.source, LS_JOIN_HELD);
        cr_assert_eq(second->join.source, LS_JOIN_HELD);
        cr_assert_eq(liar->join.source, LS_JOIN_SNAPSHOT);
        close_liars(&stage);
    }
}

Test(resume, ticks_that_are_not_those_of_the_chain_are_not_taken)
{
    liars stage = open_liars();
    come_back(&stage, 0, 0, 0);
    raw_peer *liar = come_back(&stage, 1, 9, 0);
    answer(&stage, liar, 1);
    cr_assert_eq(ls_match_tick(stage.run->match), CLOSED);
    cr_assert_eq(ls_match_state_of(stage.run->match), LS_MATCH_RUNNING);
    close_liars(&stage);
}

Test(resume, who_does_not_answer_is_passed_over_after_five_seconds)
{
    liars stage = open_liars();
    raw_peer *honest = come_back(&stage, 0, 5, 0);
    raw_peer *mute = come_back(&stage, 1, 9, 0);
    virtual_match_run(stage.run, 4900 * MS);
    cr_assert_eq(honest->heard[LS_MESSAGE_TICKS_REQUEST], 0);
    virtual_match_run(stage.run, 200 * MS);
    cr_assert_eq(honest->heard[LS_MESSAGE_TICKS_REQUEST], 1);
    /* Its answer comes too late, and harms nobody. */
    answer(&stage, mute, 0);
    cr_assert_eq(ls_match_tick(stage.run->match), CLOSED);
    answer(&stage, honest, 0);
    cr_assert_eq(ls_match_tick(stage.run->match), CLOSED + 5);
    cr_assert_not(mute->is_closed);
    close_liars(&stage);
}

Test(resume, who_leaves_while_it_is_asked_is_passed_over)
{
    liars stage = open_liars();
    raw_peer *honest = come_back(&stage, 0, 5, 0);
    raw_peer *gone = come_back(&stage, 1, 9, 0);
    ls_transport_disconnect(gone->transport, gone->server);
    virtual_match_run(stage.run, 10 * MS);
    answer(&stage, honest, 0);
    cr_assert_eq(ls_match_tick(stage.run->match), CLOSED + 5);
    cr_assert_eq(ls_match_state_of(stage.run->match), LS_MATCH_RUNNING);
    close_liars(&stage);
}

Test(resume, ticks_out_of_order_or_without_sense_end_the_asking)
{
    for (uint32_t i = 0; i < 3; i++) {
        liars stage = open_liars();
        come_back(&stage, 0, 0, 0);
        raw_peer *liar = come_back(&stage, 1, 9, 0);
        ls_message message = {.kind = LS_MESSAGE_CLOSED_TICK};
        ls_tick_part *part = &message.body.closed_tick;
        *part = (ls_tick_part){.tick = CLOSED, .total_bytes = 3, .size = 3};
        memset(part->bytes, 0xff, 3);
        part->tick += i == 0 ? 1 : 0;
        if (i == 1) {
            part->total_bytes = 2 * LS_TICK_PART_BYTES;
            part->index = 1;
            part->size = LS_TICK_PART_BYTES;
        }
        raw_peer_send_message(liar, &message);
        virtual_match_run(stage.run, 5 * MS);
        cr_assert_eq(ls_match_state_of(stage.run->match), LS_MATCH_RUNNING);
        cr_assert_eq(ls_match_tick(stage.run->match), CLOSED);
        cr_assert_not(liar->is_closed);
        close_liars(&stage);
    }
}

Test(resume, closed_ticks_that_nobody_asked_for_are_misbehaviour)
{
    liars stage = open_liars();
    raw_peer *eager = come_back(&stage, 0, 5, 0);
    eager->request = (ls_ticks_request){.first = CLOSED, .count = 1};
    answer(&stage, eager, 0);
    cr_assert_eq(eager->refusal.negated_status, (uint32_t)-LS_MISBEHAVED);
    cr_assert_eq(ls_match_tick(stage.run->match), CLOSED);
    close_liars(&stage);
}

Test(resume, more_ticks_than_anybody_holds_are_not_asked_for)
{
    liars stage = open_liars();
    come_back(&stage, 0, 0, 0);
    raw_peer *liar = come_back(&stage, 1, 100000, 0);
    cr_assert_eq(liar->heard[LS_MESSAGE_TICKS_REQUEST], 0);
    cr_assert_eq(ls_match_state_of(stage.run->match), LS_MATCH_RUNNING);
    const virtual_event *news = virtual_match_find(stage.run, LS_MATCH_RESUMED);
    cr_assert_not_null(news);
    cr_assert(strstr(news->event.text.bytes, "up to 100000 more"), "%s", news->event.text.bytes);
    cr_assert(strstr(news->event.text.bytes, "are lost"), "%s", news->event.text.bytes);
    close_liars(&stage);
}

/* A match whose journal ends before its first tick; slot 1 is free, and so are those above it. */
static liars open_young(ls_seat_turns turns)
{
    virtual_setup setup = virtual_setup_default(tally_simulation(), seats, 0);
    setup.clients = 0;
    setup.match.resume_wait_ms = 3000;
    liars stage = {.run = virtual_match_create(&setup)};
    ls_match *match = stage.run->match;
    ls_match_restore from = {0};
    cr_assert_eq(ls_match_restore_start(match, &from, NULL), LS_OK);
    ls_match_restore_seat(match, 0, "somebody", turns_of(1));
    for (uint32_t slot = 1; slot < seats; slot++) {
        ls_match_restore_seat(match, slot, "somebody", turns);
        if (turns.newest > 0) {
            ls_match_restore_vacancy(match, slot);
        }
    }
    ls_match_restore_end(match, virtual_match_server_ns(stage.run));
    return stage;
}

static raw_peer *come_anew(liars *stage, uint32_t index)
{
    raw_peer *peer = raw_peer_create(stage->run);
    stage->peers[index] = peer;
    virtual_match_run(stage->run, 5 * MS);
    raw_peer_say_hello(peer);
    virtual_match_run(stage->run, 5 * MS);
    cr_assert_gt(peer->heard[LS_MESSAGE_OFFER], 0);
    return peer;
}

/* Somebody says that it was the seat's `turn`-th player. */
static raw_peer *claim(liars *stage, uint32_t index, uint32_t slot, uint32_t turn)
{
    raw_peer *peer = raw_peer_create(stage->run);
    const ls_match_config *config = ls_match_config_of(stage->run->match);
    ls_offer offer = {.match_id = config->match_id};
    ls_secret_derive(&config->key, config->match_id, slot, turn, offer.secret);
    stage->peers[index] = peer;
    virtual_match_run(stage->run, 5 * MS);
    raw_peer_say_back(peer, &offer, 0, LS_TICK_CHAIN_START);
    virtual_match_run(stage->run, 5 * MS);
    return peer;
}

Test(resume, a_seat_that_was_free_is_free_again)
{
    liars stage = open_young(turns_of(1));
    const raw_peer *peer = come_anew(&stage, 1);
    cr_assert_eq(peer->offer.slot, 1);
    cr_assert_eq(ls_match_state_of(stage.run->match), LS_MATCH_RESUMING,
                 "the others are waited for");
    close_liars(&stage);
}

/* The server does not know of those who sat down after its journal's end, and gave them secrets. */
Test(resume, who_comes_meanwhile_is_given_no_secret_of_who_was_forgotten)
{
    liars stage = open_young(turns_of(1));
    const raw_peer *newcomer = come_anew(&stage, 1);
    cr_assert_eq(newcomer->offer.slot, 1);
    const ls_match_config *config = ls_match_config_of(stage.run->match);
    for (uint32_t turn = 1; turn <= 1 + LS_FORGOTTEN_TURNS_MAX; turn++) {
        uint8_t secret[LS_SECRET_BYTES];
        ls_secret_derive(&config->key, config->match_id, 1, turn, secret);
        cr_assert_neq(memcmp(secret, newcomer->offer.secret, sizeof secret), 0, "turn %u", turn);
    }
    const raw_peer *forgotten = claim(&stage, 0, 1, 2);
    cr_assert_eq(forgotten->refusal.negated_status, (uint32_t)-LS_NOT_FOUND);
    cr_assert_not(newcomer->is_closed);
    close_liars(&stage);
}

/* Seats are given out from the first on: the last is the least likely to be a forgotten player's.
 */
Test(resume, who_was_forgotten_has_its_seat_while_another_one_is_free)
{
    seats = 3;
    liars stage = open_young(turns_of(0));
    const raw_peer *newcomer = come_anew(&stage, 2);
    cr_assert_eq(newcomer->offer.slot, 2);
    const raw_peer *forgotten = claim(&stage, 1, 1, 1);
    cr_assert_eq(forgotten->heard[LS_MESSAGE_REFUSE], 0);
    cr_assert_eq(forgotten->offer.slot, 1);
    cr_assert_not(newcomer->is_closed);
    close_liars(&stage);
}

Test(resume, who_sat_down_after_the_journals_end_gets_its_seat_as_well)
{
    liars stage = open_liars();
    const ls_match_config *config = ls_match_config_of(stage.run->match);
    raw_peer *peer = raw_peer_create(stage.run);
    stage.peers[1] = peer;
    ls_offer offer = {.match_id = config->match_id};
    ls_secret_derive(&config->key, config->match_id, 1, 4, offer.secret);
    virtual_match_run(stage.run, 5 * MS);
    raw_peer_say_back(peer, &offer, CLOSED, stage.chain);
    virtual_match_run(stage.run, 5 * MS);
    cr_assert_eq(peer->offer.slot, 1);
    cr_assert_arr_eq(peer->offer.secret, offer.secret, LS_SECRET_BYTES);
    close_liars(&stage);
}

/* The run itself stands still once the match is over. */
static void deliver_last_words(virtual_match *run)
{
    run->now_ns += 20 * MS;
    ls_memory_network_set_time(run->network, run->now_ns);
    for (uint32_t i = 0; i < run->stranger_count; i++) {
        run->strangers[i].pump(run->strangers[i].user);
    }
}

Test(resume, who_is_back_when_the_server_stops_is_not_told_an_end)
{
    liars stage = open_liars();
    ls_match *match = stage.run->match;
    raw_peer *back = come_back(&stage, 0, 5, 0);
    raw_peer *guest = raw_peer_create(stage.run);
    stage.peers[1] = guest;
    virtual_match_run(stage.run, 5 * MS);
    cr_assert_eq(ls_match_state_of(match), LS_MATCH_RESUMING);
    ls_match_stop(match, virtual_match_server_ns(stage.run));
    deliver_last_words(stage.run);
    cr_assert_eq(ls_match_state_of(match), LS_MATCH_OVER);
    cr_assert(back->is_closed);
    cr_assert(guest->is_closed);
    cr_assert_eq(back->heard[LS_MESSAGE_REFUSE] + guest->heard[LS_MESSAGE_REFUSE], 0);
    close_liars(&stage);
}

Test(resume, a_secret_of_who_sat_there_before_is_none)
{
    liars stage = open_liars();
    const ls_match_config *config = ls_match_config_of(stage.run->match);
    raw_peer *peer = raw_peer_create(stage.run);
    stage.peers[1] = peer;
    ls_offer offer = {.match_id = config->match_id};
    ls_secret_derive(&config->key, config->match_id, 1, 2, offer.secret);
    virtual_match_run(stage.run, 5 * MS);
    raw_peer_say_back(peer, &offer, CLOSED, stage.chain);
    virtual_match_run(stage.run, 5 * MS);
    cr_assert_eq(peer->refusal.negated_status, (uint32_t)-LS_NOT_FOUND);
    close_liars(&stage);
}
