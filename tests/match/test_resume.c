/* A server that was killed comes back from what its journal held: no closed tick is lost that a
 * client which comes back has seen, and the match goes on. */
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/tests/match/match_test.h"

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
    virtual_match *run;
    ls_tick ticks;
    kept_input inputs[TICKS_MAX][PLAYERS];
    uint64_t chains[TICKS_MAX + 1];       /* before each tick */
    uint64_t state_hashes[TICKS_MAX + 1]; /* of the states that are hashed */
    uint8_t state[sizeof(test_simulation_state)];
    ls_match_restore snapshot; /* of the newest multiple of SNAPSHOT_TICK */
} here;

static void keep_snapshot(const ls_match *match)
{
    ls_match_restore *kept = &here.snapshot;
    *kept = (ls_match_restore){.tick = ls_match_tick(match),
                               .state = here.state,
                               .state_bytes = sizeof here.state,
                               .tick_chain = here.chains[ls_match_tick(match)],
                               .in_band = {{(1u << PLAYERS) - 1}}};
    kept->hash_chain = ls_match_hash_chain(match, &kept->hash_chain_tick);
    kept->state_hash = ls_match_hash(here.run->match);
    cr_assert_eq(ls_sim_instance_save(ls_match_instance(here.run->match), here.state), LS_OK);
}

/* Keeps the newest closed tick. */
static void keep_tick(void *user, virtual_match *run)
{
    ls_match *match = run->match;
    (void)user;
    if (ls_match_tick(match) == here.ticks || ls_match_state_of(match) == LS_MATCH_RESUMING) {
        return;
    }
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    here.ticks = ls_match_tick(match);
    cr_assert_lt(here.ticks, TICKS_MAX);
    cr_assert_eq(ls_match_closed_tick(match, here.ticks - 1, slots, &inputs), LS_OK);
    if (here.ticks % run->setup.match.hash_interval_ticks == 0) {
        here.state_hashes[here.ticks] = ls_match_hash(match);
    }
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

/* ---- killing and coming back ---- */

static ls_match_config config_of(uint32_t interval)
{
    ls_match_config config = ls_match_config_default(test_simulation());
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
    ls_link_config link = {.delay_ns = 20 * MS, .jitter_ns = 2 * MS};
    here.run = open_match(config, 7);
    virtual_observer keeper = {.server_turned = keep_tick};
    virtual_match_observe(here.run, &keeper);
    here.chains[0] = LS_TICK_CHAIN_START;
    for (uint32_t i = 0; i < PLAYERS; i++) {
        add_client_session(here.run, &session, &link);
    }
    while (ls_match_tick(here.run->match) < ticks) {
        virtual_match_run(here.run, 10 * MS);
    }
}

static ls_match_config start_usual(ls_tick ticks)
{
    ls_match_config config = config_of(1);
    start(&config, ticks);
    return config;
}

/* Kills the server and restores its match as of tick `end`, from a snapshot or from state 0. */
static void kill_and_restore(ls_tick end, bool has_snapshot, bool has_before)
{
    static const ls_match_restore from_start;
    ls_match_restore from = has_snapshot ? here.snapshot : from_start;
    ls_slot_input slots[PLAYERS];
    ls_text why = {{0}};
    char names[PLAYERS][LS_PLAYER_NAME_BYTES_MAX];
    uint32_t secrets[PLAYERS];
    for (uint32_t slot = 0; slot < PLAYERS; slot++) {
        memcpy(names[slot], ls_match_slot_of(here.run->match, slot).name, sizeof names[slot]);
        secrets[slot] = virtual_match_count(here.run, LS_MATCH_SECRET_PROVEN, slot);
    }
    virtual_match_replace_server(here.run);
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
        cr_assert_eq(ls_match_restore_tick(match, &inputs, here.state_hashes[tick + 1], &why),
                     LS_OK, "%s", why.bytes);
    }
    for (uint32_t slot = 0; slot < PLAYERS; slot++) {
        ls_restored_seat seat = {.name = names[slot],
                                 .generations = {.newest = 1, .secret = secrets[slot]},
                                 .joined_tick = end > 0 ? 0 : UINT32_MAX};
        ls_match_restore_seat(match, slot, &seat);
    }
    ls_match_restore_end(match, virtual_match_server_ns(here.run));
    virtual_match_server_restored(here.run);
    cr_assert_eq(ls_match_state_of(match), LS_MATCH_RESUMING);
    cr_assert_eq(ls_match_tick(match), end);
    cr_assert_eq(ls_match_tick_chain(match, end), here.chains[end]);
}

/* The event with which this server resumed the match; NULL: it has not yet. */
static const ls_match_event *resumed(void)
{
    for (uint32_t i = check_of(here.run)->first_event; i < here.run->event_count; i++) {
        if (here.run->events[i].event.kind == LS_MATCH_RESUMED) {
            return &here.run->events[i].event;
        }
    }
    return NULL;
}

/* The newest closed tick that some client holds. */
static ls_tick confirmed_by_any(void)
{
    ls_tick most = 0;
    for (uint32_t i = 0; i < PLAYERS; i++) {
        ls_tick confirmed = report_of(here.run->clients[i]).confirmed;
        most = confirmed > most ? confirmed : most;
    }
    return most;
}

static void check_all_play(void)
{
    virtual_match_run(here.run, 3 * SECOND);
    for (uint32_t i = 0; i < PLAYERS; i++) {
        check_plays(here.run->clients[i]);
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
    virtual_match_run(here.run, 7 * SECOND);
    cr_assert(resumed() != NULL);
    cr_assert_geq(resumed()->tick, seen);
    cr_assert_eq(ls_match_tick_chain(here.run->match, seen), chain);
    check_all_play();
    for (uint32_t slot = 0; slot < PLAYERS; slot++) {
        cr_assert_eq(count_events(slot, 1, LS_EVENT_LEFT | LS_EVENT_JOINED), 0);
    }
}

static void play_and_resume(ls_tick ticks, ls_tick lost, bool has_snapshot)
{
    start_usual(ticks);
    lose_ticks_and_resume(lost, has_snapshot, false);
    close_match(here.run);
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
    start_usual(320);
    lose_ticks_and_resume(here.ticks - SNAPSHOT_TICK, true, true);
    close_match(here.run);
}

Test(resume, the_tick_of_a_join_is_known_from_the_clients_too)
{
    start_usual(100);
    lose_ticks_and_resume(here.ticks, false, false);
    for (uint32_t slot = 0; slot < PLAYERS; slot++) {
        cr_assert_eq(ls_match_slot_of(here.run->match, slot).joined_tick, 0);
        cr_assert_eq(ls_match_slot_of(here.run->match, slot).rejoins, 1);
    }
    close_match(here.run);
}

Test(resume, states_that_are_hashed_now_and_then_do)
{
    ls_match_config config = config_of(32);
    start(&config, 500);
    lose_ticks_and_resume(37, true, false);
    close_match(here.run);
}

Test(resume, under_the_rule_wait_too)
{
    ls_match_config config = config_of(1);
    config.late_rule = LS_LATE_WAIT;
    start(&config, 400);
    lose_ticks_and_resume(30, true, false);
    close_match(here.run);
}

Test(resume, a_match_survives_that_time_and_again)
{
    start_usual(320);
    for (uint32_t i = 0; i < 5; i++) {
        ls_tick since = here.ticks - here.snapshot.tick;
        lose_ticks_and_resume(11 * i < since ? 11 * i : since - 1, true, false);
    }
    close_match(here.run);
}

Test(resume, a_server_killed_between_the_start_and_the_first_tick_goes_on)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 2, 60);
    setup.clients = 0;
    setup.has_journal = true;
    virtual_match *run = checked_match_create(&setup);
    virtual_client_setup player = virtual_client_setup_default(run);
    player.session.reconnect_ms = 30000;
    add_clients(run, 2, &player);
    while (!virtual_match_find(run, LS_MATCH_STARTED)) {
        virtual_match_run(run, MS);
    }
    virtual_match_run(run, 20 * MS);
    cr_assert_eq(check_of(run)->tick_count, 0);
    virtual_match_crash(run, SECOND);
    play_and_check(run);
    cr_assert_eq(check_of(run)->resumes.resumed, 1);
    virtual_match_destroy(run);
}

Test(resume, frames_are_counted_from_when_a_player_is_back)
{
    start_usual(400);
    lose_ticks_and_resume(10, true, false);
    ls_match_stop(here.run->match, virtual_match_server_ns(here.run));
    virtual_match_run_to_end(here.run);
    for (uint32_t slot = 0; slot < PLAYERS; slot++) {
        ls_match_slot seat = ls_match_slot_of(here.run->match, slot);
        cr_assert(seat.has_finished);
        double ticks = ls_match_tick(here.run->match) - seat.here_tick;
        cr_expect_gt(ticks, 60);
        cr_expect_float_eq(seat.finished.frames, ticks, 30); /* 60 of each in a second */
    }
    close_match(here.run);
}

Test(resume, a_player_whose_build_was_refused_is_waited_for)
{
    ls_simulation other = *test_simulation();
    start_usual(400);
    other.version++;
    virtual_client *crashed = here.run->clients[1];
    crashed->is_paused = true;
    kill_and_restore(380, true, false);
    virtual_client *refused = start_again(crashed, &other);
    cr_assert(virtual_client_run_to_state(refused, LS_SESSION_OVER, 2 * SECOND));
    cr_assert_eq(report_of(refused).status, LS_SIMULATION_VERSION_MISMATCH);
    virtual_match_run(here.run, 2 * SECOND);
    cr_assert_null(resumed());
    virtual_client *again = start_again(crashed, test_simulation());
    cr_assert(virtual_client_run_to_state(again, LS_SESSION_PLAYING, 4 * SECOND));
    cr_expect_eq(report_of(again).slot, report_of(crashed).slot);
    cr_assert_not_null(resumed());
    virtual_match_destroy(here.run);
}

Test(resume, a_player_that_does_not_come_back_has_left_and_the_others_go_on)
{
    start_usual(400);
    uint32_t slot = report_of(here.run->clients[1]).slot;
    cut_link(here.run->clients[1], true);
    uint64_t killed_ns = here.run->now_ns;
    kill_and_restore(380, true, false);
    while (!resumed() && here.run->now_ns - killed_ns < 20 * SECOND) {
        virtual_match_run(here.run, 10 * MS);
    }
    cr_assert(resumed() != NULL);
    cr_assert_geq(here.run->now_ns - killed_ns, 8 * SECOND);
    cr_assert_lt(here.run->now_ns - killed_ns, 9 * SECOND);
    ls_tick resumed_tick = resumed()->tick;
    virtual_match_run(here.run, 3 * SECOND);
    check_plays(here.run->clients[0]);
    check_plays(here.run->clients[2]);
    cr_assert_eq(here.inputs[resumed_tick][slot].events, LS_EVENT_LEFT);
    /* Its seat is kept all the same. */
    cut_link(here.run->clients[1], false);
    virtual_match_run(here.run, 8 * SECOND);
    check_all_play();
    cr_assert_eq(count_events(slot, resumed_tick, LS_EVENT_JOINED), 1);
    close_match(here.run);
}

/* It can be gone on with another time: its journal is not that of a match which is over. */
Test(resume, a_match_to_which_nobody_comes_back_stays_in_its_journal)
{
    start_usual(400);
    for (uint32_t i = 0; i < PLAYERS; i++) {
        cut_link(here.run->clients[i], true);
    }
    kill_and_restore(380, true, false);
    virtual_match_run(here.run, 20 * SECOND);
    cr_assert_null(resumed());
    cr_assert_eq(ls_match_state_of(here.run->match), LS_MATCH_OVER);
    cr_assert_eq(ls_match_tick(here.run->match), 380);
    cr_assert_eq(virtual_match_count(here.run, LS_MATCH_SUSPENDED, 0), 1);
    cr_assert_eq(virtual_match_count(here.run, LS_MATCH_ENDED, 0), 0);
}

Test(resume, the_others_agree_on_what_they_have_without_the_player_of_the_newest_ticks)
{
    start_usual(400);
    for (uint32_t i = 1; i < PLAYERS; i++) {
        cut_link(here.run->clients[i], true);
    }
    virtual_match_run(here.run, SECOND / 2);
    ls_tick seen = report_of(here.run->clients[1]).confirmed;
    cr_assert_lt(seen, here.ticks - 20);
    cut_link(here.run->clients[0], true);
    cut_link(here.run->clients[1], false);
    cut_link(here.run->clients[2], false);
    kill_and_restore(seen - 30, true, false);
    virtual_match_run(here.run, 10 * SECOND);
    cr_assert(resumed() != NULL);
    cr_assert_geq(resumed()->tick, seen);
    /* The client that saw more is sent the present state: the rest has not happened. */
    cut_link(here.run->clients[0], false);
    virtual_match_run(here.run, 8 * SECOND);
    check_all_play();
    cr_assert_eq(newest_join(here.run->clients[0]).source, LS_JOIN_SNAPSHOT);
    close_match(here.run);
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
    ls_match_config config = start_usual(310);
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
    close_match(here.run);
}

Test(resume, ticks_that_do_not_follow_or_lead_elsewhere_are_refused)
{
    ls_match_config config = start_usual(310);
    ls_text why = {{0}};
    ls_slot_input slots[PLAYERS];
    ls_match *match = bare_match(&config);
    cr_assert_eq(ls_match_restore_start(match, &here.snapshot, &why), LS_OK);
    ls_tick_inputs inputs = kept_tick(302, slots);
    cr_assert_eq(ls_match_restore_tick(match, &inputs, 0, &why), LS_MALFORMED);
    inputs = kept_tick(300, slots);
    cr_assert_eq(ls_match_restore_tick(match, &inputs, here.state_hashes[301], &why), LS_OK);
    inputs = kept_tick(301, slots);
    cr_assert_eq(ls_match_restore_tick(match, &inputs, here.state_hashes[302] + 1, &why),
                 LS_DESYNCED);
    cr_assert(strstr(why.bytes, "state 302"), "%s", why.bytes);
    ls_match_destroy(match);
    close_match(here.run);
}

/* The host's pause is no accident of the server that died: the players who come back wait in it. */
Test(resume, a_match_that_was_paused_comes_back_paused)
{
    start_usual(300);
    cr_assert_eq(ls_match_pause(here.run->match, "lunch", here.run->now_ns), LS_OK);
    virtual_match_run(here.run, SECOND);
    ls_tick paused_at = here.ticks;
    kill_and_restore(here.ticks, true, false);
    cr_assert_eq(ls_match_pause(here.run->match, "lunch", here.run->now_ns), LS_OK);
    cr_assert(ls_match_is_paused(here.run->match), "before its players are back");
    virtual_match_run(here.run, 20 * SECOND);
    cr_assert(resumed() != NULL);
    cr_assert_eq(ls_match_state_of(here.run->match), LS_MATCH_RUNNING);
    cr_assert(ls_match_is_paused(here.run->match));
    cr_assert_leq(ls_match_tick(here.run->match), paused_at + 1);
    cr_assert_eq(virtual_match_count(here.run, LS_MATCH_PLAYER_LOST, LS_PLAYERS_MAX), 0);
    for (uint32_t i = 0; i < PLAYERS; i++) {
        const ls_notice *notice = newest_notice(here.run->clients[i]);
        cr_assert(notice && notice->kind == LS_NOTICE_PAUSED, "client %u", i);
        cr_assert_str_eq(notice->text.bytes, "lunch");
    }
    cr_assert_eq(ls_match_unpause(here.run->match, "", here.run->now_ns), LS_OK);
    check_all_play();
    cr_assert_gt(ls_match_tick(here.run->match), paused_at + 100);
    close_match(here.run);
}

/* A host may think better of it before anybody is back. */
Test(resume, a_pause_can_end_while_players_are_waited_for)
{
    start_usual(300);
    kill_and_restore(here.ticks, true, false);
    cr_assert_eq(ls_match_unpause(here.run->match, "", here.run->now_ns), LS_NOT_FOUND);
    cr_assert_eq(ls_match_pause(here.run->match, "", here.run->now_ns), LS_OK);
    cr_assert_eq(ls_match_unpause(here.run->match, "", here.run->now_ns), LS_OK);
    virtual_match_run(here.run, 7 * SECOND);
    cr_assert(resumed() != NULL);
    check_all_play();
    close_match(here.run);
}
