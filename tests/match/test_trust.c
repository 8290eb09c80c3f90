/* Matches that trust what their simulation says it writes (--trust-writes): nothing is different
 * as long as that is true. A write that is not named is found within a second by the machine that
 * makes it, and where it makes a state differ, the report says between which ticks. */
#include "lockstep/common/diagnosis/desync_class.h"
#include "lockstep/server/investigation/desync_finding.h"
#include "lockstep/tests/lab/bench/pad_simulation.h"
#include "lockstep/tests/match/match_test.h"

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

static virtual_setup setup_of(bool server_forgets)
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
        virtual_setup setup = setup_of(false);
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
    virtual_setup setup = setup_of(false);
    virtual_client *bad = play_flipped(&setup, FORGOTTEN, WORD * 8);
    check_sound(bad->run);
    cr_assert_eq(virtual_match_find(bad->run, LS_MATCH_DESYNC)->event.tick, FORGOTTEN);
    virtual_match_destroy(bad->run);
}

/* All machines write the same: they agree, and each says what was forgotten. */
Test(trust, a_forgotten_write_is_found_within_a_second)
{
    virtual_setup setup = setup_of(true);
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
    virtual_setup setup = setup_of(false);
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
