/* The two rules for inputs that are missing when their tick is due. `repeat` closes it all the same
 * and on time, whatever any client does; `wait` substitutes nothing, says whom it waits for, and
 * waits only so long. */
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/tests/lab/faultsim/match_check.h"
#include "lockstep/tests/match/match_test.h"

static virtual_setup setup_with(ls_late_rule rule, uint32_t players, uint32_t ticks)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), players, ticks);
    setup.match.late_rule = rule;
    return setup;
}

static uint32_t slot_of_client(const virtual_client *client)
{
    return report_of(client).slot;
}

/* ---- repeat ---- */

/* Everybody but `bad` had every input in time. (That ticks were closed on time is an invariant.) */
static void check_others_unharmed(const virtual_match *run, const virtual_client *bad)
{
    for (uint32_t slot = 0; slot < ls_match_players(run->match); slot++) {
        ls_match_slot other = slot_of(run, slot);
        if (check_of(run)->by_slot[slot]->core != bad) {
            cr_assert_eq(other.inputs_substituted, 0, "slot %u: %lu", slot,
                         (unsigned long)other.inputs_substituted);
            cr_assert_eq(other.inputs_on_time, ls_match_tick(run->match));
            cr_assert_leq(report_of(check_of(run)->by_slot[slot]->core).stalled_ticks, 3);
        }
    }
}

static void play_with_bad_link(const ls_link_config *link)
{
    virtual_setup setup = setup_with(LS_LATE_REPEAT, 4, 600);
    virtual_match *run = match_at(&setup, 100);
    virtual_client *bad = run->clients[2];
    virtual_client_set_links(bad, link);
    play_and_check(run);
    check_others_unharmed(run, bad);
    cr_assert_gt(slot_of(run, slot_of_client(bad)).inputs_substituted, 0);
    virtual_match_destroy(run);
}

Test(late, repeat_lets_no_bad_link_slow_the_others)
{
    static const ls_link_config links[] = {
        {.delay_ns = 300 * MS},
        {.delay_ns = 10 * MS, .loss_ppm = 500000},
        {.delay_ns = 20 * MS, .jitter_ns = 300 * MS, .loss_ppm = 200000, .duplicate_ppm = 300000},
    };
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        play_with_bad_link(&links[i]);
    }
}

Test(late, repeat_counts_each_input_once)
{
    virtual_setup setup = setup_with(LS_LATE_REPEAT, 2, 600);
    virtual_match *run = match_at(&setup, 100);
    uint32_t slot = slot_of_client(run->clients[0]);
    cr_assert_eq(slot_of(run, slot).inputs_on_time, 100);
    ls_link_config slow = {.delay_ns = 150 * MS};
    virtual_client_set_links(run->clients[0], &slow);
    play_and_check(run);
    ls_match_slot report = slot_of(run, slot);
    cr_assert_gt(report.inputs_late, 10);
    cr_assert_eq(report.inputs_late, report.inputs_substituted, "all came, but too late");
    cr_assert_eq(report.inputs_on_time + report.inputs_substituted, 600);
    virtual_match_destroy(run);
}

/* The input that stands in is the slot's last one, for as long as it takes. */
Test(late, repeat_repeats_the_last_input)
{
    virtual_setup setup = setup_with(LS_LATE_REPEAT, 2, 0);
    virtual_match *run = match_at(&setup, 100);
    uint32_t slot = slot_of_client(run->clients[0]);
    run->clients[0]->is_paused = true;
    virtual_match_run_to_tick(run, 160);
    const virtual_client *frozen = run->clients[0];
    ls_tick last = report_of(frozen).next_input - 1;
    cr_assert_eq(check_of(run)->ticks[last].inputs[slot], client_check_of(frozen)->made[last]);
    cr_assert_lt(last + 50, check_of(run)->tick_count);
    for (ls_tick tick = last; tick < check_of(run)->tick_count; tick++) {
        cr_assert_eq(check_of(run)->ticks[tick].inputs[slot], client_check_of(frozen)->made[last]);
    }
    close_run(run);
}

/* Its player has given the link up and makes a new one, while they were on their way. */
Test(late, repeat_takes_the_inputs_of_a_link_that_was_given_up)
{
    virtual_setup setup = setup_with(LS_LATE_REPEAT, 2, 0);
    setup.clients = 1;
    virtual_match *run = checked_match_create(&setup);
    virtual_client_setup far = virtual_client_setup_default(run);
    far.up.delay_ns = 400 * MS;
    far.session.reconnect_ms = 30000;
    virtual_client *client = virtual_match_add_client(run, &far);
    virtual_match_run_to_tick(run, 100);
    uint32_t slot = slot_of_client(client);
    ls_link_config cut = {.is_cut = true};
    virtual_client_set_ways(client, &far.up, &cut);
    uint64_t end_ns = run->now_ns + 5 * SECOND;
    while (client->server != 0 && run->now_ns < end_ns) {
        virtual_match_run(run, MS);
    }
    cr_assert_eq(client->server, 0);
    uint64_t on_time = slot_of(run, slot).inputs_on_time;
    virtual_match_run(run, 80 * MS);
    cr_assert_geq(slot_of(run, slot).inputs_on_time, on_time + 4);
    close_run(run);
}

/* ---- repeat: one player's troubles are nobody else's ---- */

typedef enum trouble {
    TROUBLE_NONE,
    TROUBLE_FROZEN,
    TROUBLE_SILENT,
    TROUBLE_LOSES_ALL,
    TROUBLE_FLOODS,
    TROUBLE_COUNT,
} trouble;

/* Sends everything a hundred times over, as many packets a tick as the server lets pass. */
static void send_often(void *user, virtual_client *client, ls_channel channel, const uint8_t *bytes,
                       size_t size)
{
    (void)user;
    uint32_t times = channel == LS_CHANNEL_UNRELIABLE ? 100 : 1;
    for (uint32_t i = 0; i < times; i++) {
        ls_transport_send(client->transport, client->server, channel, bytes, size);
    }
}

static void get_into_trouble(virtual_client *client, trouble kind)
{
    ls_link_config clean = client->run->setup.link;
    ls_link_config cut = {.is_cut = true};
    client->is_paused = kind == TROUBLE_FROZEN;
    if (kind == TROUBLE_SILENT) {
        ls_memory_client_set_links(client->transport, &cut, &clean);
    } else if (kind == TROUBLE_LOSES_ALL) {
        virtual_client_set_links(client, &cut);
    } else if (kind == TROUBLE_FLOODS) {
        client->tamper.send = send_often;
    }
}

enum {
    OTHERS = 3,
    SEEN = 4 * OTHERS
};

/* `seen` is what the others have seen of it. */
static void play_with_trouble(trouble kind, uint64_t seen[SEEN])
{
    virtual_setup setup = setup_with(LS_LATE_REPEAT, 4, 1200);
    setup.match.send_rate = LS_SEND_TICK;
    setup.match.timeout_ms = 5000;
    virtual_match *run = match_at(&setup, 100);
    virtual_client *bad = run->clients[3];
    get_into_trouble(bad, kind);
    virtual_match_run_to_tick(run, 1000);
    uint32_t count = 0;
    for (uint32_t i = 0; i < OTHERS; i++) {
        ls_session_report report = report_of(run->clients[i]);
        cr_assert_eq(slot_of(run, report.slot).inputs_substituted, 0);
        seen[count++] = report.confirm_latency_p50_ns;
        seen[count++] = report.confirm_latency_p99_ns;
        seen[count++] = report.confirm_latency_max_ns;
        seen[count++] = report.stalled_ticks;
    }
    ls_match_slot slot = seat_of(bad);
    bool is_harmless = kind == TROUBLE_NONE || kind == TROUBLE_FLOODS;
    cr_assert_eq(slot.left_status, is_harmless ? LS_OK : LS_TIMED_OUT);
    cr_assert(is_harmless == (slot.inputs_substituted == 0));
    close_run(run);
}

Test(late, repeat_lets_nobody_feel_another_ones_trouble)
{
    uint64_t expected[SEEN];
    uint64_t seen[SEEN];
    play_with_trouble(TROUBLE_NONE, expected);
    for (uint32_t kind = TROUBLE_NONE + 1; kind < TROUBLE_COUNT; kind++) {
        play_with_trouble((trouble)kind, seen);
        for (uint32_t i = 0; i < SEEN; i++) {
            /* While anybody stands still, a run moves in steps of a millisecond, each way. */
            uint64_t more = seen[i] > expected[i] ? seen[i] - expected[i] : 0;
            cr_expect_leq(more, kind == TROUBLE_FROZEN && i % 4 < 3 ? 2 * MS : 0,
                          "trouble %u: %lu more than %lu", kind, (unsigned long)more,
                          (unsigned long)expected[i]);
        }
    }
}

/* ---- wait ---- */

static void check_nothing_substituted(const virtual_match *run)
{
    for (uint32_t slot = 0; slot < ls_match_players(run->match); slot++) {
        ls_match_slot report = slot_of(run, slot);
        cr_assert_eq(report.inputs_substituted, 0);
        cr_assert_eq(report.inputs_late, 0);
        if (report.has_finished) {
            cr_assert_eq(report.inputs_on_time, ls_match_tick(run->match));
        }
    }
}

static uint64_t time_of_match_ns(const virtual_match *run)
{
    return check_of(run)->ticks[check_of(run)->tick_count - 1].closed_ns -
           check_of(run)->ticks[0].closed_ns;
}

Test(late, wait_substitutes_nothing_on_any_network)
{
    static const ls_link_config links[] = {
        {.delay_ns = 0},
        {.delay_ns = 150 * MS},
        {.delay_ns = 10 * MS, .jitter_ns = 100 * MS},
        {.delay_ns = 30 * MS, .loss_ppm = 200000},
        {.delay_ns = 30 * MS, .loss_ppm = 500000, .duplicate_ppm = 500000},
    };
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        virtual_setup setup = setup_with(LS_LATE_WAIT, 4, 300);
        setup.link = links[i];
        virtual_match *run = checked_match_create(&setup);
        play_and_check(run);
        check_nothing_substituted(run);
        virtual_match_destroy(run);
    }
}

Test(late, wait_costs_nothing_on_a_good_network)
{
    virtual_setup setup = setup_with(LS_LATE_WAIT, 4, 1200);
    virtual_match *run = checked_match_create(&setup);
    play_and_check(run);
    check_nothing_substituted(run);
    cr_assert_leq(time_of_match_ns(run), 1199 * DT_NS + 20 * MS);
    cr_assert_null(virtual_match_find(run, LS_MATCH_STALLED));
    virtual_match_destroy(run);
}

/* Every slot that this client was told to wait for. */
static uint32_t waited_for(const virtual_client *client)
{
    uint32_t mask = 0;
    for (uint32_t i = 0; i < client->event_count; i++) {
        const ls_session_event *event = &client->events[i].event;
        mask |= event->kind == LS_SESSION_EVENT_WAITING ? event->waiting.slots.words[0] : 0;
    }
    return mask;
}

Test(late, wait_tells_everybody_whom_it_waits_for)
{
    virtual_setup setup = setup_with(LS_LATE_WAIT, 4, 600);
    virtual_match *run = match_at(&setup, 100);
    virtual_client *frozen = run->clients[2];
    uint32_t mask = UINT32_C(1) << slot_of_client(frozen);
    frozen->is_paused = true;
    virtual_match_run(run, 1500 * MS);
    ls_tick stuck = ls_match_tick(run->match);
    cr_assert_leq(stuck, 105);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_STALLED, LS_PLAYERS_MAX), 3);
    for (uint32_t i = 0; i < 4; i++) {
        if (run->clients[i] != frozen) {
            cr_assert_eq(virtual_client_count(run->clients[i], LS_SESSION_EVENT_WAITING), 3,
                         "at 100, 600 and 1,100 ms");
            cr_assert_eq(waited_for(run->clients[i]), mask);
        }
    }
    frozen->is_paused = false;
    virtual_match_run(run, 100 * MS);
    cr_assert_gt(ls_match_tick(run->match), stuck);
    cr_assert_eq(waited_for(frozen), mask, "it hears of it when it is back");
    play_and_check(run);
    check_nothing_substituted(run);
    virtual_match_destroy(run);
}

Test(late, wait_says_how_long_and_for_which_tick)
{
    static const uint32_t waited_ms[] = {100, 600, 1100, 1600};
    virtual_setup setup = setup_with(LS_LATE_WAIT, 2, 0);
    virtual_match *run = match_at(&setup, 100);
    run->clients[0]->is_paused = true;
    virtual_match_run(run, 1900 * MS);
    uint32_t seen = 0;
    for (uint32_t i = 0; i < run->clients[1]->event_count; i++) {
        const ls_session_event *event = &run->clients[1]->events[i].event;
        if (event->kind == LS_SESSION_EVENT_WAITING) {
            cr_assert_lt(seen, 4);
            cr_assert_eq(event->waiting.waited_ms, waited_ms[seen]);
            cr_assert_eq(event->waiting.tick, ls_match_tick(run->match));
            seen++;
        }
    }
    cr_assert_eq(seen, 4);
    virtual_match_destroy(run);
}

static virtual_match *start_without(const virtual_setup *setup, uint32_t absent_count)
{
    virtual_match *run = checked_match_create(setup);
    while (!virtual_match_find(run, LS_MATCH_STARTED)) {
        virtual_match_run(run, MS);
    }
    for (uint32_t i = 0; i < absent_count; i++) {
        run->clients[i]->is_paused = true;
    }
    return run;
}

Test(late, wait_names_all_it_waits_for_and_no_others)
{
    virtual_setup setup = setup_with(LS_LATE_WAIT, 4, 400);
    virtual_match *run = start_without(&setup, 2);
    uint32_t first = UINT32_C(1) << slot_of_client(run->clients[0]);
    uint32_t second = UINT32_C(1) << slot_of_client(run->clients[1]);
    virtual_match_run(run, SECOND);
    const virtual_client *player = run->clients[3];
    cr_assert_eq(waited_for(player), first | second);
    run->clients[1]->is_paused = false;
    virtual_match_run(run, 600 * MS);
    const virtual_client_event *last = &player->events[player->event_count - 1];
    cr_assert_eq(last->event.kind, LS_SESSION_EVENT_WAITING);
    cr_assert_eq(last->event.waiting.slots.words[0], first);
    run->clients[0]->is_paused = false;
    play_and_check(run);
    check_nothing_substituted(run);
    virtual_match_destroy(run);
}

/* However often and however many players stand still: from one closing to the next it is never more
 * than a tick and the limit, and nothing that is said about it is wrong. */
static void wait_with_pauses(uint64_t seed, uint32_t limit_ms)
{
    virtual_setup setup = setup_with(LS_LATE_WAIT, 4, 0);
    setup.match.wait_limit_ms = limit_ms;
    setup.seed = seed;
    virtual_match *run = match_at(&setup, 100);
    ls_rng rng = ls_rng_make(seed, 9);
    for (uint32_t turn = 0; turn < 40; turn++) {
        virtual_client *client = run->clients[ls_rng_below(&rng, 3)]; /* the last one never */
        client->is_paused = !client->is_paused;
        virtual_match_run(run, ls_rng_below(&rng, 400) * MS);
    }
    for (uint32_t i = 0; i < 3; i++) {
        run->clients[i]->is_paused = false;
    }
    virtual_match_run(run, 500 * MS); /* what was said has come */
    uint64_t longest_ns = 0;
    for (ls_tick tick = 101; tick < check_of(run)->tick_count; tick++) {
        uint64_t between_ns =
            check_of(run)->ticks[tick].closed_ns - check_of(run)->ticks[tick - 1].closed_ns;
        longest_ns = between_ns > longest_ns ? between_ns : longest_ns;
    }
    cr_assert_leq(longest_ns, limit_ms * MS + DT_NS + 1, "seed %lu: %lu ms", (unsigned long)seed,
                  (unsigned long)(longest_ns / MS));
    cr_assert_geq(longest_ns, 200 * MS, "nobody was waited for");
    const virtual_client *player = run->clients[3];
    uint32_t notices = 0;
    for (uint32_t i = 0; i < player->event_count; i++) {
        const ls_waiting *waiting = &player->events[i].event.waiting;
        if (player->events[i].event.kind == LS_SESSION_EVENT_WAITING) {
            cr_assert_lt(waiting->waited_ms, limit_ms);
            cr_assert_eq(waiting->slots.words[0] >> report_of(player).slot & 1u, 0, "it was there");
            cr_assert_leq(waiting->tick, check_of(run)->tick_count);
            notices++;
        }
    }
    cr_assert_eq(notices, virtual_match_count(run, LS_MATCH_STALLED, LS_PLAYERS_MAX));
    cr_assert_gt(notices, 0);
    close_run(run);
}

Test(late, wait_never_takes_longer_than_its_limit)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        wait_with_pauses(seed, 250);
        wait_with_pauses(seed, 1000);
    }
}

Test(late, wait_drops_whom_it_waits_for_too_long)
{
    static const uint32_t limits_ms[] = {50, 700, 2000};
    for (size_t i = 0; i < sizeof limits_ms / sizeof limits_ms[0]; i++) {
        virtual_setup setup = setup_with(LS_LATE_WAIT, 3, 400);
        setup.match.wait_limit_ms = limits_ms[i];
        virtual_match *run = match_at(&setup, 100);
        virtual_client *gone = run->clients[1];
        uint32_t slot = slot_of_client(gone);
        gone->is_paused = true;
        virtual_match_run(run, limits_ms[i] * MS + 10 * SECOND);
        gone->is_paused = false;
        virtual_match_run_to_end(run);

        const virtual_event *left = virtual_match_find_slot(run, LS_MATCH_PLAYER_LOST, slot);
        cr_assert_not_null(left);
        cr_assert_eq(left->event.status, LS_TIMED_OUT);
        uint64_t waited_ns =
            left->at_ns - check_of(run)->ticks[left->event.tick - 1].closed_ns - DT_NS;
        cr_assert_eq(waited_ns / MS, limits_ms[i]);
        cr_assert_eq(check_of(run)->ticks[left->event.tick].events[slot], LS_EVENT_LEFT);
        cr_assert_eq(report_of(gone).status, LS_TIMED_OUT);
        check_others_played(run, gone);
        check_nothing_substituted(run);
        check_sound(run);
        cr_assert_leq(time_of_match_ns(run), 400 * DT_NS + limits_ms[i] * MS + 20 * MS);
        virtual_match_destroy(run);
    }
}

Test(late, wait_waits_once_for_a_link_that_became_slower)
{
    virtual_setup setup = setup_with(LS_LATE_WAIT, 3, 900);
    virtual_match *run = match_at(&setup, 100);
    ls_link_config slow = {.delay_ns = 200 * MS};
    virtual_client_set_links(run->clients[0], &slow);
    play_and_check(run);
    check_nothing_substituted(run);
    /* The way is 190 ms longer; the lead follows it instead of stalling at every tick. */
    cr_assert_leq(time_of_match_ns(run), 899 * DT_NS + 700 * MS, "%lu ms instead of %lu",
                  (unsigned long)(time_of_match_ns(run) / MS), (unsigned long)(899 * DT_NS / MS));
    virtual_match_destroy(run);
}

/* A client that keeps a tick waiting learns by how much it was late, and is on time from then on:
 * ticks are closed by the server's clock again, not by the arrival of that client's packets. */
Test(late, wait_closes_ticks_evenly_once_everybody_knows_when)
{
    virtual_setup setup = setup_with(LS_LATE_WAIT, 2, 0);
    setup.match.sim.players = 3;
    virtual_match *run = checked_match_create(&setup);
    virtual_client_setup uneven = virtual_client_setup_default(run);
    uneven.frame_jitter_ns = 8 * MS;
    virtual_client *slow = virtual_match_add_client(run, &uneven);
    virtual_match_run_to_tick(run, 100);
    ls_link_config link = {.delay_ns = 75 * MS};
    virtual_client_set_links(slow, &link);
    virtual_match_run_to_tick(run, 900);
    uint32_t uneven_ticks = 0;
    for (ls_tick tick = 300; tick < 900; tick++) {
        uint64_t between_ns =
            check_of(run)->ticks[tick].closed_ns - check_of(run)->ticks[tick - 1].closed_ns;
        uneven_ticks += between_ns < DT_NS || between_ns > DT_NS + 1;
    }
    cr_assert_leq(uneven_ticks, 30, "%u of 600", uneven_ticks);
    close_run(run);
}

Test(late, wait_leaves_no_lead_behind)
{
    virtual_setup setup = setup_with(LS_LATE_WAIT, 3, 0);
    virtual_match *run = match_at(&setup, 100);
    run->clients[0]->is_paused = true;
    virtual_match_run(run, 1800 * MS);
    run->clients[0]->is_paused = false;
    virtual_match_run(run, 4 * SECOND);
    for (uint32_t slot = 0; slot < 3; slot++) {
        cr_assert_gt(slot_of(run, slot).slack_ns, 0);
        cr_assert_leq(slot_of(run, slot).slack_ns, (int64_t)(2 * MS + 3 * DT_NS));
    }
    close_run(run);
}

/* No player has joined before tick 0 is closed, so none leaves in it either. */
Test(late, wait_drops_a_player_that_never_begins)
{
    virtual_setup setup = setup_with(LS_LATE_WAIT, 3, 200);
    virtual_match *run = start_without(&setup, 1);
    virtual_match_run(run, 10 * SECOND);
    run->clients[0]->is_paused = false;
    virtual_match_run_to_end(run);
    uint32_t slot = slot_of_client(run->clients[0]);
    cr_assert_eq(slot_of(run, slot).left_status, LS_TIMED_OUT);
    for (ls_tick tick = 0; tick < check_of(run)->tick_count; tick++) {
        cr_assert_eq(check_of(run)->ticks[tick].events[slot], 0);
    }
    check_others_played(run, run->clients[0]);
    close_run(run);
}

/* The check for silence is one that can fail. */
/* How often the log says of the client's slot that it is not waited for, or is again. */
static uint32_t count_said(const virtual_client *client, const char *words)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < client->run->event_count; i++) {
        const ls_match_event *event = &client->run->events[i].event;
        count += event->kind == LS_MATCH_LAG && event->slot == slot_of_client(client) &&
                 strstr(event->text.bytes, words);
    }
    return count;
}

/* Its inputs always come, and always just before it would be dropped. */
static void hold_up(virtual_client *client, uint32_t times)
{
    for (uint32_t i = 0; i < times; i++) {
        client->is_paused = true;
        virtual_match_run(client->run, 900 * MS);
        client->is_paused = false;
        virtual_match_run(client->run, 100 * MS);
    }
}

Test(late, wait_backs_off_from_a_slot_that_abuses_it)
{
    virtual_setup setup = setup_with(LS_LATE_WAIT, 3, 0);
    setup.match.wait_budget_ms = 3000;
    virtual_match *run = match_at(&setup, 100);
    virtual_client *bad = run->clients[2];
    hold_up(bad, 5);
    cr_assert_eq(count_said(bad, "it is not waited for"), 1);
    ls_tick tick = ls_match_tick(run->match);
    hold_up(bad, 5);
    cr_assert_gt(ls_match_tick(run->match) - tick, 270, "5 s of ticks: nobody waits any more");
    cr_assert(ls_match_slot_of(run->match, slot_of_client(bad)).is_playing);
    virtual_match_run(run, 20 * SECOND);
    cr_assert_eq(count_said(bad, "it is waited for again"), 1);
    cr_assert_eq(count_said(run->clients[0], "waited for"), 0);
    virtual_match_destroy(run);
}

Test(late, a_stall_that_nobody_explains_is_noticed)
{
    virtual_setup setup = setup_with(LS_LATE_WAIT, 2, 0);
    virtual_match *run = match_at(&setup, 100);
    run->clients[0]->is_paused = true;
    virtual_match_run(run, 300 * MS);
    cr_assert(match_check_is_sound(check_of(run)));
    run->server_loop_ns = 1; /* asked for the truth, the match turns at any time ... */
    run->is_server_paused = true;
    virtual_match_run(run, 700 * MS);
    match_check_silence(check_of(run)); /* ... and says nothing while it stands still */
    cr_assert_not(match_check_is_sound(check_of(run)));
    virtual_match_destroy(run);
}
