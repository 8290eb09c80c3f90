/* From a desync to its cause, live: while the match goes on, the server names the field with both
 * values, the pass and the class of the fault, or heals it. */
#include "lockstep/common/simulation/state_schema.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/server/investigation/desync_finding.h"
#include "lockstep/tests/match/match_test.h"
#include "lockstep/tests/support/fault_simulation.h"

#include <stdio.h>

static virtual_setup setup_with(uint32_t interval, ls_on_desync policy, uint32_t ticks)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 3, ticks);
    setup.match.hash_interval_ticks = interval;
    setup.match.on_desync = policy;
    setup.link.delay_ns = 50 * MS;
    return setup;
}

static const ls_desync_finding *finding_of(const virtual_match *run, const virtual_client *client)
{
    const ls_desync_finding *finding = ls_match_desync_of(run->match, report_of(client).slot);
    cr_assert_not_null(finding, "nothing was found out");
    return finding;
}

/* Everybody was told of it once. */
static void check_reported(const virtual_match *run, const virtual_client *bad)
{
    uint32_t slot = report_of(bad).slot;
    const ls_desync_finding *finding = finding_of(run, bad);
    cr_assert_not_null(virtual_match_find_slot(run, LS_MATCH_DESYNC_CAUSE, slot));
    for (uint32_t i = 0; i < run->client_count; i++) {
        cr_assert_geq(virtual_client_count(run->clients[i], LS_SESSION_EVENT_CAUSE), 1);
    }
    ls_session_report report = report_of(bad);
    cr_assert(report.has_own_cause);
    cr_assert_eq(report.own_cause.tick, finding->tick);
    cr_assert_eq(report.own_cause.kind, (uint32_t)finding->verdict.kind);
    cr_assert_str_eq(report.own_cause.why.bytes, finding->verdict.why.bytes);
}

/* ---- one flipped bit ---- */

static void flip_and_check(virtual_setup *setup, ls_tick tick, size_t byte)
{
    const virtual_client *bad = play_flipped(setup, tick, byte);
    virtual_match *run = bad->run;
    cr_assert(virtual_match_is_over(run));
    check_sound(run);
    check_reported(run, bad);
    const ls_desync_finding *finding = finding_of(run, bad);
    cr_assert_eq(finding->tick, tick);
    cr_assert_eq(finding->elements, 1, "%lu differ", (unsigned long)finding->elements);
    cr_assert_eq(finding->place_count, 1);
    cr_assert_not(finding->is_lower_bound);
    ls_schema_place place =
        ls_schema_at(ls_sim_instance_schema(ls_match_instance(run->match)), byte);
    char name[LS_PLACE_NAME_BYTES_MAX];
    ls_schema_place_name(&place, name, sizeof name);
    cr_assert_str_eq(finding->places[0].name, name);
    cr_assert_str_neq(finding->places[0].a, finding->places[0].b);
    cr_assert_eq(finding->verdict.kind, LS_DESYNC_CLASS_ONE_OFF, "%s", finding->verdict.why.bytes);
    cr_assert_eq(finding->verdict.culprit, LS_DESYNC_CULPRIT_CLIENT);
    cr_assert(finding->differing_pass == LS_PASS_NONE || finding->differing_pass == LS_PASS_WRITES,
              "run again, no pass does other work");
    cr_assert_leq(finding->took_ns, 2 * SECOND, "took %lu ms",
                  (unsigned long)(finding->took_ns / MS));
    cr_assert_eq(virtual_match_count(run, LS_MATCH_DESYNC_VALUES, LS_PLAYERS_MAX),
                 finding->took_ns > finding->values_ns, "nothing comes ahead of what is quick");
    check_others_played(run, bad);
    virtual_match_destroy(run);
}

Test(cause, a_flipped_bit_is_named_with_its_field_and_its_class)
{
    ls_rng rng = ls_rng_make(4, 1);
    for (uint64_t seed = 1; seed <= 30; seed++) {
        virtual_setup setup = setup_with(1, LS_ON_DESYNC_REPORT, 400);
        setup.seed = seed;
        setup.link.loss_ppm = 50000;
        /* Bytes of fields that nobody writes to anew. */
        flip_and_check(&setup, 2 + ls_rng_below(&rng, 250),
                       offsetof(test_simulation_state, slots) +
                           ls_rng_below(&rng, 8 * sizeof(test_simulation_slot)));
    }
}

/* A difference that does not come back shows in no pass, but one may write what differs. */
Test(cause, a_flipped_bit_is_told_with_the_pass_that_writes_its_field)
{
    virtual_setup setup = setup_with(1, LS_ON_DESYNC_REPORT, 300);
    const virtual_client *bad =
        play_flipped(&setup, 90, offsetof(test_simulation_state, slots[0].sum));
    virtual_match *run = bad->run;
    const ls_desync_finding *finding = finding_of(run, bad);
    cr_assert_str_eq(finding->places[0].name, "slots[0].sum");
    cr_assert_eq(finding->verdict.kind, LS_DESYNC_CLASS_ONE_OFF);
    cr_assert_eq(finding->differing_pass, LS_PASS_WRITES);
    cr_assert_not_null(finding->pass);
    cr_assert_leq(finding->took_ns, 2 * SECOND);
    virtual_match_destroy(run);
}

/* Above the places of the players nothing is written, so that what is flipped stays flipped. */
Test(cause, hashing_seldom_names_the_field_too)
{
    virtual_setup setup = setup_with(16, LS_ON_DESYNC_REPORT, 300);
    const virtual_client *bad =
        play_flipped(&setup, 90, offsetof(test_simulation_state, slots[7].joins));
    virtual_match *run = bad->run;
    check_sound(run);
    check_reported(run, bad);
    const ls_desync_finding *finding = finding_of(run, bad);
    cr_assert_eq(finding->tick, 96);
    cr_assert_eq(finding->elements, 1);
    cr_assert_str_eq(finding->places[0].name, "slots[7].joins");
    cr_assert_str_eq(finding->places[0].a, "0");
    cr_assert_str_eq(finding->places[0].b, "1");
    cr_assert_eq(finding->verdict.kind, LS_DESYNC_CLASS_ONE_OFF);
    cr_assert_eq(finding->differing_pass, LS_PASS_NONE, "no pass writes that value");
    cr_assert_str_eq(finding->circumstances.bytes,
                     "other clients with the server's state: 2, with this one's: 0");
    virtual_match_destroy(run);
}

Test(cause, two_clients_that_differ_at_once_are_two_findings)
{
    virtual_setup setup = setup_with(1, LS_ON_DESYNC_REPORT, 300);
    virtual_match *run = checked_match_create(&setup);
    for (uint32_t i = 0; i < 3; i += 2) {
        run->clients[i]->flip.tick = 100;
        run->clients[i]->flip.byte =
            offsetof(test_simulation_state, slots) + (8 + i) * sizeof(test_simulation_slot);
    }
    virtual_match_run_to_end(run);
    check_sound(run);
    for (uint32_t i = 0; i < 3; i += 2) {
        const ls_desync_finding *finding = finding_of(run, run->clients[i]);
        cr_assert_eq(finding->tick, 100);
        cr_assert_eq(finding->elements, 1);
        cr_assert_str_eq(finding->places[0].name, i == 0 ? "slots[8].sum" : "slots[10].sum");
        cr_assert_eq(finding->verdict.kind, LS_DESYNC_CLASS_ONE_OFF);
        cr_assert_leq(finding->took_ns, 2 * SECOND);
    }
    check_played_to_the_end(run, run->clients[1]);
    virtual_match_destroy(run);
}

Test(cause, the_last_step_of_a_match_is_looked_into)
{
    virtual_setup setup = setup_with(7, LS_ON_DESYNC_REPORT, 100);
    const virtual_client *bad =
        play_flipped(&setup, 100, offsetof(test_simulation_state, slots[9].sum));
    virtual_match *run = bad->run;
    check_sound(run);
    check_reported(run, bad);
    cr_assert_str_eq(finding_of(run, bad)->places[0].name, "slots[9].sum");
    cr_assert_eq(finding_of(run, bad)->verdict.kind, LS_DESYNC_CLASS_ONE_OFF);
    virtual_match_destroy(run);
}

Test(cause, a_match_that_keeps_nothing_still_says_who_differs)
{
    virtual_setup setup = setup_with(1, LS_ON_DESYNC_REPORT, 200);
    setup.match.finds_causes = false;
    const virtual_client *bad = play_flipped(&setup, 100, 20);
    virtual_match *run = bad->run;
    check_sound(run);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_DESYNC, LS_PLAYERS_MAX), 1);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_DESYNC_CAUSE, LS_PLAYERS_MAX), 0);
    cr_assert_null(ls_match_desync_of(run->match, report_of(bad).slot));
    virtual_match_destroy(run);
}

/* ---- clients that compute otherwise ---- */

/* One client runs another build of the simulation, whose middle pass is another one. */
static ls_pass other_passes[3];
static ls_simulation other_build;
static uint32_t calls;     /* of the static kind */
static ls_tick wrong_from; /* the first tick that goes wrong */

static void spread_more(const ls_step *step)
{
    fault_state *state = step->state;
    fault_simulation()->passes[FAULT_PASS].run(step);
    if (step->inputs->tick >= wrong_from) {
        state->wrong = 1;
    }
}

static void spread_with_a_static(const ls_step *step)
{
    fault_state *state = step->state;
    fault_simulation()->passes[FAULT_PASS].run(step);
    calls++;
    if (step->inputs->tick >= wrong_from) {
        state->wrong = calls;
    }
}

typedef struct other_build_setup {
    void (*pass)(const ls_step *);
    ls_on_desync policy;
    uint32_t interval;
    ls_tick wrong_from;
} other_build_setup;

static void build_otherwise(void (*pass)(const ls_step *))
{
    other_build = *fault_simulation();
    memcpy(other_passes, other_build.passes, sizeof other_passes);
    other_passes[FAULT_PASS].run = pass;
    other_build.passes = other_passes;
}

static virtual_match *play_other_build(const other_build_setup *other)
{
    virtual_setup setup = virtual_setup_default(fault_simulation(), 2, 500);
    setup.match.on_desync = other->policy;
    setup.match.hash_interval_ticks = other->interval;
    setup.clients = 1;
    setup.link.delay_ns = 50 * MS;
    calls = 0;
    wrong_from = other->wrong_from;
    build_otherwise(other->pass);
    virtual_match *run = checked_match_create(&setup);
    virtual_client_setup client = virtual_client_setup_default(run);
    client.simulation = &other_build;
    virtual_match_add_client(run, &client);
    virtual_match_run_to_end(run);
    return run;
}

/* It comes into a match of two that runs, with what it does otherwise in each of its steps. The
 * state that it was given is the last that is the same on both sides, whichever are compared. Where
 * a part of it is lost, ticks have come by the time it is there, and are stepped at once. */
static void join_late_and_check(uint32_t interval, uint64_t seed)
{
    virtual_setup setup = virtual_setup_default(fault_simulation(), 3, 500);
    setup.seed = seed;
    setup.match.start_players = 2;
    setup.match.hash_interval_ticks = interval;
    setup.clients = 2;
    setup.link.delay_ns = 50 * MS;
    virtual_match *run = match_at(&setup, 203);
    wrong_from = 0;
    build_otherwise(spread_more);
    virtual_client_setup client = virtual_client_setup_default(run);
    client.simulation = &other_build;
    client.down.loss_ppm = 300000;
    const virtual_client *bad = virtual_match_add_client(run, &client);
    virtual_match_run_to_end(run);
    check_sound(run);
    const ls_desync_finding *finding = finding_of(run, bad);
    const virtual_event *joining =
        virtual_match_find_slot(run, LS_MATCH_PLAYER_JOINING, report_of(bad).slot);
    cr_assert_not_null(joining);
    cr_expect_eq(finding->first_tick, joining->event.tick + 1, "%u", finding->first_tick);
    cr_expect_str_eq(finding->places[0].name, "wrong");
    cr_expect_eq(finding->differing_pass, LS_PASS_AT);
    cr_assert_not_null(finding->pass, "%s", finding->verdict.why.bytes);
    cr_expect_str_eq(finding->pass, "spread");
    cr_expect_eq(finding->verdict.kind, LS_DESYNC_CLASS_BUILD, "%s", finding->verdict.why.bytes);
    check_others_played(run, bad);
    virtual_match_destroy(run);
}

Test(cause, a_late_joiner_that_strays_in_its_first_step_is_looked_into)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        join_late_and_check(1, seed);
    }
}

Test(cause, a_late_joiner_that_strays_between_compared_states_is_looked_into)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        join_late_and_check(8, seed);
        join_late_and_check(64, seed);
    }
}

static virtual_match *play_with_other_build(void (*pass)(const ls_step *), ls_on_desync policy)
{
    return play_other_build(
        &(other_build_setup){.pass = pass, .policy = policy, .interval = 1, .wrong_from = 100});
}

Test(cause, another_build_is_told_with_its_pass)
{
    virtual_match *run = play_with_other_build(spread_more, LS_ON_DESYNC_REPORT);
    check_sound(run);
    const ls_desync_finding *finding = finding_of(run, run->clients[1]);
    cr_assert_eq(finding->tick, 101);
    cr_assert_eq(finding->elements, 1);
    cr_assert_str_eq(finding->places[0].name, "wrong");
    cr_assert_eq(finding->differing_pass, LS_PASS_AT);
    cr_assert_str_eq(finding->pass, "spread");
    cr_assert_eq(finding->verdict.kind, LS_DESYNC_CLASS_BUILD, "%s", finding->verdict.why.bytes);
    cr_assert_leq(finding->took_ns, 2 * SECOND);
    cr_assert_str_eq(report_of(run->clients[1]).own_cause.pass, "spread");
    virtual_match_destroy(run);
}

Test(cause, a_static_variable_is_state_outside)
{
    virtual_match *run = play_with_other_build(spread_with_a_static, LS_ON_DESYNC_REPORT);
    const ls_desync_finding *finding = finding_of(run, run->clients[1]);
    cr_assert_eq(finding->tick, 101);
    cr_assert_str_eq(finding->places[0].name, "wrong");
    cr_assert(finding->verdict.kind == LS_DESYNC_CLASS_OUTSIDE ||
                  finding->verdict.kind == LS_DESYNC_CLASS_UNSTABLE,
              "%s", finding->verdict.why.bytes);
    cr_assert_eq(finding->verdict.culprit, LS_DESYNC_CULPRIT_CLIENT);
    virtual_match_destroy(run);
}

/* ---- re-runs that go another way ---- */

/* Sends what a client says; of its evidence what `change` makes of it. */
static void send_changed(virtual_client *client, ls_channel channel, const uint8_t *bytes,
                         size_t size,
                         void (*change)(ls_wire_evidence *evidence, ls_rerun_figures *figures))
{
    ls_message message;
    uint8_t altered[LS_PACKET_BYTES_MAX];
    if (channel == LS_CHANNEL_RELIABLE && ls_message_peek(bytes, size) == LS_MESSAGE_EVIDENCE) {
        ls_rerun_figures figures;
        cr_assert_eq(ls_message_read(bytes, size, 0, &message), LS_OK);
        ls_wire_evidence *evidence = &message.body.evidence;
        cr_assert_eq(ls_rerun_figures_read(evidence->figures, sizeof evidence->figures, &figures),
                     LS_OK);
        change(evidence, &figures);
        ls_rerun_figures_write(&figures, evidence->figures);
        size = ls_message_write(&message, altered);
        bytes = altered;
    }
    ls_transport_send(client->transport, client->server, channel, bytes, size);
}

/* The re-run of the client begins its last step with another state, as it says. */
static void stray(ls_wire_evidence *evidence, ls_rerun_figures *figures)
{
    figures->strayed = figures->tick - 1;
    evidence->before ^= 1;
}

static void send_strayed(void *user, virtual_client *client, ls_channel channel,
                         const uint8_t *bytes, size_t size)
{
    (void)user;
    send_changed(client, channel, bytes, size, stray);
}

static void spread_one_cell_more(const ls_step *step)
{
    fault_simulation()->passes[FAULT_PASS].run(step);
    ((fault_state *)step->state)->cells[3] += step->inputs->tick == wrong_from;
}

static void finish_twice(const ls_step *step)
{
    fault_simulation()->passes[FAULT_PASS + 1].run(step);
    ((fault_state *)step->state)->ticks += step->inputs->tick == wrong_from;
}

Test(cause, of_passes_that_cannot_be_compared_the_first_that_writes_a_value_is_named)
{
    virtual_setup setup = virtual_setup_default(fault_simulation(), 2, 300);
    setup.clients = 1;
    setup.link.delay_ns = 50 * MS;
    wrong_from = 100;
    build_otherwise(spread_one_cell_more);
    other_passes[FAULT_PASS + 1].run = finish_twice;
    virtual_match *run = checked_match_create(&setup);
    virtual_client_setup client = virtual_client_setup_default(run);
    client.simulation = &other_build;
    virtual_match_add_client(run, &client)->tamper = (virtual_tamper){send_strayed, NULL};
    virtual_match_run_to_end(run);
    const ls_desync_finding *finding = finding_of(run, run->clients[1]);
    cr_expect_eq(finding->first_tick, 101);
    cr_expect_eq(finding->elements, 2);
    cr_expect_eq(finding->differing_pass, LS_PASS_WRITES);
    cr_expect_str_eq(finding->pass, "spread");
    cr_expect_str_eq(finding->places[0].name, "cells[3]");
    cr_expect_str_eq(finding->places[1].name, "ticks");
    cr_expect_eq(finding->verdict.kind, LS_DESYNC_CLASS_OUTSIDE, "%s", finding->verdict.why.bytes);
    cr_expect_str_eq(report_of(run->clients[1]).own_cause.field, "cells[3]");
    virtual_match_destroy(run);
}

/* Another process has got another result. */
static void part(ls_wire_evidence *evidence, ls_rerun_figures *figures)
{
    (void)evidence;
    figures->known |= LS_RERUN_APART;
    figures->apart = figures->fresh ^ 1;
}

static void send_unsteady(void *user, virtual_client *client, ls_channel channel,
                          const uint8_t *bytes, size_t size)
{
    (void)user;
    send_changed(client, channel, bytes, size, part);
}

Test(cause, of_passes_that_are_equal_this_time_the_first_that_writes_a_value_is_named)
{
    virtual_setup setup = virtual_setup_default(fault_simulation(), 2, 300);
    virtual_match *run = checked_match_create(&setup);
    virtual_client *bad = run->clients[1];
    flip_bit(bad, 100, offsetof(fault_state, cells[3]) + 7);
    bad->tamper = (virtual_tamper){send_unsteady, NULL};
    virtual_match_run_to_end(run);
    const ls_desync_finding *finding = finding_of(run, bad);
    cr_expect_eq(finding->first_tick, 100);
    cr_expect_eq(finding->verdict.kind, LS_DESYNC_CLASS_PROCESS, "%s", finding->verdict.why.bytes);
    cr_expect_str_eq(finding->places[0].name, "cells[3]");
    cr_expect_eq(finding->differing_pass, LS_PASS_WRITES);
    cr_assert_not_null(finding->pass);
    cr_expect_str_eq(finding->pass, "spread");
    virtual_match_destroy(run);
}

/* ---- ticks that were not compared ---- */

static void expect_first_tick(uint32_t interval, ls_tick from)
{
    virtual_match *run = play_other_build(&(other_build_setup){.pass = spread_more,
                                                               .policy = LS_ON_DESYNC_REPORT,
                                                               .interval = interval,
                                                               .wrong_from = from});
    check_sound(run);
    check_reported(run, run->clients[1]);
    const ls_desync_finding *finding = finding_of(run, run->clients[1]);
    char expected[LS_TEXT_BYTES_MAX];
    snprintf(expected, sizeof expected,
             "; tick %u made state %u, the first that differs; hashes are compared every %u ticks",
             from, from + 1, interval);
    cr_assert_eq(finding->tick, from / interval * interval + interval);
    cr_assert_eq(finding->first_tick, from + 1, "interval %u: %u for %u", interval,
                 finding->first_tick, from + 1);
    cr_assert_eq(finding->differing_pass, LS_PASS_AT);
    cr_assert_str_eq(finding->pass, "spread");
    cr_assert_str_eq(finding->places[0].name, "wrong");
    cr_assert_eq(finding->verdict.kind, LS_DESYNC_CLASS_BUILD, "%s", finding->verdict.why.bytes);
    cr_assert_not_null(strstr(finding->verdict.why.bytes, expected), "%s",
                       finding->verdict.why.bytes);
    cr_assert_leq(finding->took_ns, 5 * SECOND);
    virtual_match_destroy(run);
}

Test(cause, the_first_tick_that_differs_is_found_between_those_compared)
{
    static const ls_tick before_30[] = {90, 91, 104, 118, 119};
    static const ls_tick before_7[] = {98, 99, 101, 103, 104};
    for (uint32_t i = 0; i < 5; i++) {
        expect_first_tick(30, before_30[i]);
        expect_first_tick(7, before_7[i]);
    }
}

Test(cause, the_first_tick_is_found_of_what_re_runs_do_not_repeat)
{
    for (ls_tick tick = 81; tick <= 96; tick += 5) {
        virtual_setup setup = setup_with(16, LS_ON_DESYNC_REPORT, 300);
        const virtual_client *bad =
            play_flipped(&setup, tick, offsetof(test_simulation_state, slots[7].joins));
        const ls_desync_finding *finding = finding_of(bad->run, bad);
        check_sound(bad->run);
        cr_expect_eq(finding->tick, 96);
        cr_expect_eq(finding->first_tick, tick, "%u for %u", finding->first_tick, tick);
        cr_expect_eq(finding->values_tick, tick);
        cr_expect_eq(finding->elements, 1);
        cr_expect_str_eq(finding->places[0].name, "slots[7].joins");
        cr_expect_eq(finding->verdict.kind, LS_DESYNC_CLASS_ONE_OFF, "%s",
                     finding->verdict.why.bytes);
        cr_expect_eq(finding->verdict.culprit, LS_DESYNC_CULPRIT_CLIENT);
        cr_expect_leq(finding->took_ns, 2 * SECOND);
        virtual_match_destroy(bad->run);
    }
}

/* The client says that it holds no state but the bad one. */
static void send_forgetfully(void *user, virtual_client *client, ls_channel channel,
                             const uint8_t *bytes, size_t size)
{
    const ls_tick *bad_tick = user;
    ls_message message;
    uint8_t altered[LS_PACKET_BYTES_MAX];
    if (channel == LS_CHANNEL_RELIABLE && ls_message_peek(bytes, size) == LS_MESSAGE_TREE_ANSWER) {
        cr_assert_eq(ls_message_read(bytes, size, 0, &message), LS_OK);
        bool is_bad = message.body.tree_answer.asked.tick == *bad_tick;
        message.body.tree_answer.size = is_bad ? message.body.tree_answer.size : 0;
        size = ls_message_write(&message, altered);
        bytes = altered;
    }
    ls_transport_send(client->transport, client->server, channel, bytes, size);
}

Test(cause, a_tick_that_cannot_be_found_is_said_to_lie_between_those_compared)
{
    virtual_setup setup = setup_with(16, LS_ON_DESYNC_REPORT, 300);
    ls_tick bad_tick = 96;
    virtual_match *run = checked_match_create(&setup);
    virtual_client *bad = run->clients[1];
    flip_bit(bad, 90, offsetof(test_simulation_state, slots[7].joins));
    bad->tamper = (virtual_tamper){send_forgetfully, &bad_tick};
    virtual_match_run_to_end(run);
    const ls_desync_finding *finding = finding_of(run, bad);
    cr_assert_eq(finding->tick, 96);
    cr_assert_eq(finding->first_tick, 0);
    cr_assert_eq(finding->first_tick_min, 81);
    cr_assert_eq(finding->first_tick_max, 96);
    cr_assert_eq(finding->values_tick, 96);
    cr_assert_str_eq(finding->places[0].name, "slots[7].joins");
    cr_assert_eq(finding->verdict.kind, LS_DESYNC_CLASS_ONE_OFF, "%s", finding->verdict.why.bytes);
    cr_assert_not_null(strstr(finding->verdict.why.bytes,
                              "; the first state that differs lies between 81 and 96: hashes are "
                              "compared every 16 ticks"),
                       "%s", finding->verdict.why.bytes);
    virtual_match_destroy(run);
}

/* Then both sides run the ticks between again. */
Test(cause, the_first_tick_is_found_of_states_that_are_not_held)
{
    virtual_setup setup = virtual_setup_default(fault_simulation(), 2, 500);
    ls_tick bad_tick = 120;
    setup.match.hash_interval_ticks = 30;
    setup.clients = 1;
    setup.link.delay_ns = 50 * MS;
    wrong_from = 104;
    other_build = *fault_simulation();
    memcpy(other_passes, other_build.passes, sizeof other_passes);
    other_passes[FAULT_PASS].run = spread_more;
    other_build.passes = other_passes;
    virtual_match *run = checked_match_create(&setup);
    virtual_client_setup client = virtual_client_setup_default(run);
    client.simulation = &other_build;
    virtual_match_add_client(run, &client)->tamper = (virtual_tamper){send_forgetfully, &bad_tick};
    virtual_match_run_to_end(run);
    const ls_desync_finding *finding = finding_of(run, run->clients[1]);
    cr_expect_eq(finding->tick, bad_tick);
    cr_expect_eq(finding->first_tick, 105);
    cr_expect_leq(finding->took_ns, 5 * SECOND / 2, "took %lu ms",
                  (unsigned long)(finding->took_ns / MS));
    cr_expect_eq(finding->values_tick, bad_tick, "the client shows no other state");
    cr_expect_not(finding->is_after_pass);
    cr_expect_eq(finding->differing_pass, LS_PASS_AT);
    cr_expect_str_eq(finding->pass, "spread");
    cr_expect_eq(finding->verdict.kind, LS_DESYNC_CLASS_BUILD, "%s", finding->verdict.why.bytes);
    virtual_match_destroy(run);
}

/* ---- states that are not kept ---- */

#define LARGE_CELLS 65536u

typedef struct large_state {
    uint64_t cells[LARGE_CELLS]; /* all change at every tick, so that hardly any state is kept */
    uint32_t wrong;
    uint32_t ticks;
} large_state;

static size_t large_state_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(large_state);
}

static uint32_t large_fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {
        LS_FIELD_ARRAY_OF(large_state, cells, LARGE_CELLS, LS_FIELD_U64, ""),
        LS_FIELD_OF(large_state, wrong, LS_FIELD_U32, ""),
        LS_FIELD_OF(large_state, ticks, LS_FIELD_U32, "ticks"),
    };
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static ls_status large_init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    ((large_state *)state)->wrong = 0 * config->players;
    return LS_OK;
}

static void churn(const ls_step *step)
{
    large_state *state = step->state;
    state->ticks++;
    for (uint32_t i = 0; i < LARGE_CELLS; i++) {
        state->cells[i] += i | 1u;
    }
}

static void churn_wrongly(const ls_step *step)
{
    churn(step);
    ((large_state *)step->state)->wrong |= step->inputs->tick >= wrong_from;
}

static ls_simulation large_simulation(const ls_pass *pass)
{
    ls_simulation simulation = *fault_simulation();
    simulation.state_bytes = large_state_bytes;
    simulation.scratch_bytes = NULL;
    simulation.fields = large_fields;
    simulation.init = large_init;
    simulation.passes = pass;
    simulation.pass_count = 1;
    return simulation;
}

/* The report says which states were kept, and what was compared. */
static void expect_limit(const ls_desync_finding *finding, const char *compared)
{
    ls_text limit;
    ls_text_set(&limit,
                "; state 101 was not kept: of states of %zu KiB in which this much changes only "
                "some are, up to 73 ticks apart%s",
                sizeof(large_state) / 1024, compared);
    cr_expect_not_null(strstr(finding->verdict.why.bytes, limit.bytes), "%s",
                       finding->verdict.why.bytes);
}

Test(cause, states_that_are_kept_nowhere_are_compared_as_re_runs_give_them)
{
    static const ls_pass right = {"churn", churn}, wrong = {"churn", churn_wrongly};
    ls_simulation large = large_simulation(&right);
    other_build = large_simulation(&wrong);
    wrong_from = 100;
    virtual_setup setup = virtual_setup_default(&large, 2, 300);
    setup.clients = 1;
    setup.link.delay_ns = 50 * MS;
    virtual_match *run = checked_match_create(&setup);
    virtual_client_setup client = virtual_client_setup_default(run);
    client.simulation = &other_build;
    virtual_match_add_client(run, &client);
    virtual_match_run_to_end(run);
    check_sound(run);
    const ls_desync_finding *finding = finding_of(run, run->clients[1]);
    cr_assert_eq(finding->tick, 101);
    cr_assert_eq(finding->elements, 1);
    cr_assert_not(finding->is_lower_bound);
    cr_assert_str_eq(finding->places[0].name, "wrong");
    cr_assert_str_eq(finding->places[0].a, "0");
    cr_assert_str_eq(finding->places[0].b, "1");
    cr_assert_eq(finding->verdict.kind, LS_DESYNC_CLASS_BUILD, "%s", finding->verdict.why.bytes);
    cr_assert_leq(finding->took_ns, 2 * SECOND);
    expect_limit(finding, ", and it was compared as simulated again");
    virtual_match_destroy(run);
}

/* Without re-runs there is no class, and a later state is compared, on both sides the same. */
Test(cause, a_state_that_is_not_kept_gives_way_to_a_later_one_and_the_report_says_why)
{
    static const ls_pass right = {"churn", churn}, wrong = {"churn", churn_wrongly};
    ls_simulation large = large_simulation(&right);
    other_build = large_simulation(&wrong);
    wrong_from = 100;
    virtual_setup setup = virtual_setup_default(&large, 2, 300);
    setup.clients = 1;
    setup.runs_nothing_again = true;
    setup.link.delay_ns = 50 * MS;
    virtual_match *run = checked_match_create(&setup);
    virtual_client_setup client = virtual_client_setup_default(run);
    client.simulation = &other_build;
    virtual_match_add_client(run, &client);
    virtual_match_run_to_end(run);
    check_sound(run);
    const ls_desync_finding *finding = finding_of(run, run->clients[1]);
    ls_text instead;
    cr_assert_eq(finding->first_tick, 101);
    cr_assert_gt(finding->values_tick, 101);
    cr_assert_str_eq(finding->places[0].name, "wrong");
    ls_text_set(&instead, ", and state %u was compared in its place", finding->values_tick);
    expect_limit(finding, instead.bytes);
    virtual_match_destroy(run);
}

/* ---- healing ---- */

static void heal_and_check(uint64_t seed, uint32_t predict_ticks, uint32_t interval)
{
    virtual_setup setup = setup_with(interval, LS_ON_DESYNC_HEAL, 400);
    setup.seed = seed;
    setup.predict_ticks = predict_ticks;
    setup.link.loss_ppm = 50000;
    const virtual_client *bad =
        play_flipped(&setup, 100, offsetof(test_simulation_state, slots) + seed * 13);
    virtual_match *run = bad->run;
    check_sound(run);
    check_reported(run, bad);
    check_complete(run);
    uint32_t slot = report_of(bad).slot;
    cr_assert_eq(virtual_match_count(run, LS_MATCH_HEALED, slot), 1);
    cr_assert_eq(virtual_client_count(bad, LS_SESSION_EVENT_HEALED), 1);
    cr_assert_eq(ls_match_desync_of(run->match, slot)->healed, 1);
    cr_assert_eq(slot_of(run, slot).agreed_tick, 400 / interval * interval,
                 "from the healed state on every state agreed");
    virtual_match_destroy(run);
}

Test(cause, a_healed_client_agrees_to_the_end)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        heal_and_check(seed, 0, seed % 3 == 0 ? 8 : 1);
        heal_and_check(seed, 16, seed % 3 == 0 ? 8 : 1); /* one that guesses ahead */
    }
}

Test(cause, a_client_that_differs_again_and_again_is_dropped_at_last)
{
    virtual_match *run = play_with_other_build(spread_more, LS_ON_DESYNC_HEAL);
    const virtual_client *bad = run->clients[1];
    uint32_t slot = report_of(bad).slot;
    cr_assert_gt(virtual_match_count(run, LS_MATCH_DESYNC, slot), 1);
    cr_assert_leq(virtual_match_count(run, LS_MATCH_HEALED, slot), 8);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_DESYNC, slot),
                 virtual_match_count(run, LS_MATCH_DESYNC_CAUSE, slot));
    virtual_match_destroy(run);
}

/* ---- clients that do not play along ---- */

typedef struct liar {
    uint32_t answers;
    bool is_silent;
} liar;

/* Answers are dropped, or altered in what they say. */
static void send_lies(void *user, virtual_client *client, ls_channel channel, const uint8_t *bytes,
                      size_t size)
{
    liar *lying = user;
    uint8_t altered[LS_PACKET_BYTES_MAX];
    memcpy(altered, bytes, size);
    uint32_t kind = ls_message_peek(bytes, size);
    if (channel == LS_CHANNEL_RELIABLE && kind == LS_MESSAGE_TREE_ANSWER) {
        lying->answers++;
        altered[size / 2] ^= (uint8_t)(lying->answers * 37u | 1u);
        altered[size - 3] ^= 0x10;
    }
    bool is_evidence = kind >= LS_MESSAGE_TREE_ANSWER && kind <= LS_MESSAGE_BUILD_FINGERPRINT;
    if (!lying->is_silent || channel != LS_CHANNEL_RELIABLE || !is_evidence) {
        ls_transport_send(client->transport, client->server, channel, altered, size);
    }
}

static virtual_match *create_with_liar(const virtual_setup *setup, bool is_silent, liar *lying)
{
    *lying = (liar){.is_silent = is_silent};
    virtual_match *run = checked_match_create(setup);
    virtual_client *bad = run->clients[1];
    flip_bit(bad, 100, offsetof(test_simulation_state, slots) + setup->seed * 11);
    bad->tamper = (virtual_tamper){send_lies, lying};
    return run;
}

static virtual_match *play_with_liar(uint64_t seed, bool is_silent, uint32_t timeout_ms,
                                     liar *lying)
{
    virtual_setup setup = setup_with(1, LS_ON_DESYNC_REPORT, 600);
    setup.seed = seed;
    setup.match.investigation_timeout_ms = timeout_ms;
    virtual_match *run = create_with_liar(&setup, is_silent, lying);
    virtual_match_run_to_end(run);
    return run;
}

Test(cause, lies_end_the_investigation_and_nothing_else)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        liar lying;
        virtual_match *run = play_with_liar(seed, false, 5000, &lying);
        cr_assert_gt(lying.answers, 0);
        cr_assert(virtual_match_is_over(run));
        uint32_t slot = report_of(run->clients[1]).slot;
        cr_assert_eq(virtual_match_count(run, LS_MATCH_DESYNC_CAUSE, slot), 1);
        check_others_played(run, run->clients[1]);
        virtual_match_destroy(run);
    }
}

static void expect_given_up(uint32_t timeout_ms)
{
    liar lying;
    virtual_match *run = play_with_liar(1, true, timeout_ms, &lying);
    check_sound(run);
    const ls_desync_finding *finding = finding_of(run, run->clients[1]);
    cr_assert_eq(finding->verdict.kind, LS_DESYNC_CLASS_SILENT, "%s", finding->verdict.why.bytes);
    cr_assert_eq(finding->verdict.culprit, LS_DESYNC_CULPRIT_CLIENT);
    cr_assert(finding->is_lower_bound);
    cr_assert_geq(finding->took_ns, timeout_ms * MS);
    cr_assert_leq(finding->took_ns, timeout_ms * MS + SECOND);
    check_played_to_the_end(run, run->clients[0]);
    virtual_match_destroy(run);
}

Test(cause, a_client_that_does_not_answer_is_reported_with_what_is_known)
{
    expect_given_up(5000);
}

Test(cause, a_server_waits_for_answers_as_long_as_it_was_told_to)
{
    expect_given_up(1500);
}

typedef struct evidence_watch {
    const virtual_match *run;
    uint32_t causes;
    uint32_t stretches; /* from a state that agrees to the one that differs */
} evidence_watch;

static void watch_evidence(void *user, const ls_match_event *event)
{
    evidence_watch *watch = user;
    ls_desync_evidence_set evidence;
    if (event->kind == LS_MATCH_DESYNC_CAUSE) {
        watch->causes++;
        bool is_there = ls_match_desync_evidence_of(watch->run->match, event->slot, &evidence);
        watch->stretches += is_there && evidence.has_stretch && evidence.stretch.snapshot;
    }
}

/* The window alone reaches back for three seconds, and its inputs for seventeen. */
Test(cause, the_ticks_to_run_again_are_there_however_long_a_client_takes_to_answer)
{
    for (uint32_t i = 0; i < 2; i++) {
        virtual_setup setup = setup_with(1, LS_ON_DESYNC_REPORT, 2000);
        setup.match.investigation_timeout_ms = 25000;
        setup.runs_nothing_again = i > 0;
        liar lying;
        virtual_match *run = create_with_liar(&setup, true, &lying);
        evidence_watch watch = {.run = run};
        const virtual_observer observer = {.user = &watch, .match_event = watch_evidence};
        virtual_match_observe(run, &observer);
        virtual_match_run_to_end(run);
        cr_assert_geq(finding_of(run, run->clients[1])->took_ns, 20 * SECOND);
        cr_assert_eq(watch.causes, 1);
        cr_expect_eq(watch.stretches, 1, "%s re-runs", i > 0 ? "without" : "with");
        virtual_match_destroy(run);
    }
}

/* The client hears nothing for five seconds, steps all of their ticks at once, and only then do the
 * two sides know that they differ, from a state of five seconds ago on. */
Test(cause, a_client_that_was_held_up_can_run_again_what_it_tells_of_late)
{
    const uint32_t intervals[] = {1, 8};
    for (uint32_t i = 0; i < 2; i++) {
        wrong_from = 100;
        build_otherwise(spread_more);
        virtual_setup setup = virtual_setup_default(fault_simulation(), 2, 900);
        setup.match.hash_interval_ticks = intervals[i];
        setup.clients = 1;
        setup.link.delay_ns = 50 * MS;
        virtual_match *run = checked_match_create(&setup);
        virtual_client_setup client = virtual_client_setup_default(run);
        client.simulation = &other_build;
        virtual_client *other = virtual_match_add_client(run, &client);
        evidence_watch watch = {.run = run};
        const virtual_observer observer = {.user = &watch, .match_event = watch_evidence};
        virtual_match_observe(run, &observer);
        virtual_match_run_to_tick(run, 90);
        virtual_client_cut(other);
        virtual_match_run_to_tick(run, 390);
        virtual_client_set_links(other, &setup.link);
        virtual_match_run_to_end(run);
        const ls_desync_finding *finding = finding_of(run, other);
        cr_expect_eq(watch.causes, 1);
        cr_expect_eq(watch.stretches, 1);
        cr_expect_eq(finding->first_tick, 101);
        cr_expect_eq(finding->verdict.kind, LS_DESYNC_CLASS_BUILD, "%s",
                     finding->verdict.why.bytes);
        virtual_match_destroy(run);
    }
}

Test(cause, a_client_that_leaves_in_the_middle_is_reported_with_what_is_known)
{
    virtual_setup setup = setup_with(1, LS_ON_DESYNC_REPORT, 300);
    virtual_match *run = checked_match_create(&setup);
    virtual_client *bad = run->clients[1];
    flip_bit(bad, 100, offsetof(test_simulation_state, slots[9].sum));
    while (!virtual_match_find(run, LS_MATCH_DESYNC)) {
        virtual_match_run(run, 5 * MS);
    }
    ls_session_leave(bad->session, virtual_client_ns(bad));
    client_check_of(bad)->may_leave = true;
    virtual_match_run_to_end(run);
    check_sound(run);
    uint32_t slot = report_of(bad).slot;
    cr_assert_eq(virtual_match_count(run, LS_MATCH_DESYNC_CAUSE, slot), 1);
    cr_assert_eq(finding_of(run, bad)->verdict.kind, LS_DESYNC_CLASS_UNKNOWN);
    check_played_to_the_end(run, run->clients[0]);
    virtual_match_destroy(run);
}

/* The server has the fault, and its own re-run shows it. */
Test(cause, a_server_looks_on_by_itself_when_the_client_has_left)
{
    build_otherwise(spread_with_a_static);
    calls = 0;
    wrong_from = 100;
    virtual_setup setup = virtual_setup_default(&other_build, 2, 300);
    setup.match.start_players = 1;
    setup.clients = 0;
    setup.link.delay_ns = 50 * MS;
    virtual_match *run = checked_match_create(&setup);
    virtual_client_setup client = virtual_client_setup_default(run);
    client.simulation = fault_simulation();
    virtual_client *other = virtual_match_add_client(run, &client);
    while (!virtual_match_find(run, LS_MATCH_DESYNC)) {
        virtual_match_run(run, 1 * MS);
    }
    ls_session_leave(other->session, virtual_client_ns(other));
    client_check_of(other)->may_leave = true;
    virtual_match_run_to_end(run);
    const ls_desync_finding *finding = finding_of(run, other);
    cr_expect_eq(virtual_match_count(run, LS_MATCH_DESYNC_CAUSE, LS_PLAYERS_MAX), 1);
    cr_expect(finding->verdict.kind == LS_DESYNC_CLASS_OUTSIDE ||
                  finding->verdict.kind == LS_DESYNC_CLASS_UNSTABLE,
              "%s", finding->verdict.why.bytes);
    cr_expect_eq(finding->verdict.culprit, LS_DESYNC_CULPRIT_SERVER);
    cr_expect_str_eq(finding->circumstances.bytes,
                     "other clients with the server's state: 0, with this one's: 0");
    virtual_match_destroy(run);
}
