/* The field that a report names is one that the named pass wrote, also where later passes of the
 * same tick spread the difference, or hide it. */
#include "lockstep/common/diagnosis/pass_trace.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/server/investigation/desync_finding.h"
#include "lockstep/tests/match/match_test.h"

#include <stdio.h>

/* ---- a simulation whose passes hand a value on ---- */

typedef struct relay_state {
    uint32_t copied; /* what was measured, by pass "spread" */
    uint32_t sum;    /* of all ever measured, by pass "spread" */
    uint32_t measured;
    uint32_t ticks;
} relay_state;

static bool clears; /* pass "spread" leaves nothing of what was measured */

static size_t relay_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(relay_state);
}

static uint32_t relay_fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {
        LS_FIELD_OF(relay_state, copied, LS_FIELD_U32, "m"),
        LS_FIELD_OF(relay_state, sum, LS_FIELD_U32, "m"),
        LS_FIELD_OF(relay_state, measured, LS_FIELD_U32, "m"),
        LS_FIELD_OF(relay_state, ticks, LS_FIELD_U32, "ticks"),
    };
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static ls_status relay_init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    ((relay_state *)state)->ticks = 0 * config->players;
    return LS_OK;
}

static void measure(const ls_step *step)
{
    ((relay_state *)step->state)->measured = step->inputs->tick % 7;
}

static ls_tick wrong_from;

static void measure_wrongly(const ls_step *step)
{
    measure(step);
    ((relay_state *)step->state)->measured += step->inputs->tick >= wrong_from;
}

static void spread(const ls_step *step)
{
    relay_state *state = step->state;
    state->copied = state->measured;
    state->sum += state->measured;
    state->measured = clears ? 0 : state->measured;
}

static void count(const ls_step *step)
{
    ((relay_state *)step->state)->ticks++;
}

static const ls_pass right_passes[] = {{"measure", measure}, {"spread", spread}, {"count", count}};
static const ls_pass wrong_passes[] = {
    {"measure", measure_wrongly}, {"spread", spread}, {"count", count}};

static ls_simulation relay_simulation(const ls_pass passes[3])
{
    return (ls_simulation){.abi = LS_SIMULATION_ABI,
                           .size = sizeof(ls_simulation),
                           .version = 1,
                           .name = "relay",
                           .summary = "its passes hand a value on",
                           .default_tick_rate_hz = 60,
                           .default_players = 2,
                           .players_max = 4,
                           .input_bytes_max = 8,
                           .passes = passes,
                           .pass_count = 3,
                           .state_bytes = relay_bytes,
                           .fields = relay_fields,
                           .init = relay_init};
}

/* ---- matches ---- */

static ls_simulation right_build;
static ls_simulation wrong_build;

static virtual_tamper tamper; /* of the second client */

/* The second client runs the other build. */
static virtual_match *play_relay(uint32_t interval, ls_tick from)
{
    wrong_from = from;
    right_build = relay_simulation(right_passes);
    wrong_build = relay_simulation(wrong_passes);
    virtual_setup setup = virtual_setup_default(&right_build, 2, 400);
    setup.match.hash_interval_ticks = interval;
    setup.clients = 1;
    setup.link.delay_ns = 50 * MS;
    setup.link.loss_ppm = 50000;
    virtual_match *run = checked_match_create(&setup);
    virtual_client_setup client = virtual_client_setup_default(run);
    client.simulation = &wrong_build;
    virtual_match_add_client(run, &client)->tamper = tamper;
    virtual_match_run_to_end(run);
    check_sound(run);
    return run;
}

static const ls_desync_finding *finding_of(const virtual_match *run)
{
    const ls_desync_finding *finding =
        ls_match_desync_of(run->match, report_of(run->clients[1]).slot);
    cr_assert_not_null(finding, "nothing was found out");
    cr_expect_eq(finding->differing_pass, LS_PASS_AT);
    cr_assert_str_eq(finding->pass, "measure");
    return finding;
}

static void expect_reported(const virtual_match *run)
{
    const ls_desync_finding *finding = finding_of(run);
    ls_session_report report = report_of(run->clients[1]);
    cr_assert(report.has_own_cause);
    cr_expect_str_eq(report.own_cause.field, finding->places[0].name);
    cr_expect_eq(report.own_cause.is_behind_pass, finding->is_after_pass);
}

static void expect_measured(const virtual_match *run)
{
    const ls_desync_finding *finding = finding_of(run);
    cr_expect_eq(finding->elements, 1);
    cr_expect_not(finding->is_lower_bound);
    cr_expect(finding->is_after_pass);
    cr_assert_eq(finding->place_count, 1);
    cr_expect_str_eq(finding->places[0].name, "measured");
    cr_expect_str_eq(finding->places[0].a, "2 m");
    cr_expect_str_eq(finding->places[0].b, "3 m");
    cr_expect_eq(finding->verdict.kind, LS_DESYNC_CLASS_BUILD, "%s", finding->verdict.why.bytes);
    cr_expect_leq(finding->took_ns, 2 * SECOND, "took %lu ms",
                  (unsigned long)(finding->took_ns / MS));
    expect_reported(run);
}

Test(pass_fields, the_field_is_one_that_the_named_pass_wrote)
{
    clears = false;
    virtual_match *run = play_relay(1, 100);
    expect_measured(run);
    virtual_match_destroy(run);
}

Test(pass_fields, a_field_that_is_equal_again_at_the_end_of_the_tick_is_named)
{
    clears = true;
    virtual_match *run = play_relay(1, 100);
    expect_measured(run);
    virtual_match_destroy(run);
}

/* ---- ticks that were not compared ---- */

static void expect_measured_between(uint32_t interval, ls_tick from)
{
    virtual_match *run = play_relay(interval, from);
    const ls_desync_finding *finding = finding_of(run);
    char right[16], wrong[16];
    snprintf(right, sizeof right, "%u m", from % 7);
    snprintf(wrong, sizeof wrong, "%u m", from % 7 + 1);
    cr_expect_eq(finding->tick, from / interval * interval + interval);
    cr_expect_eq(finding->first_tick, from + 1);
    cr_expect_eq(finding->first_tick_min, from + 1);
    cr_expect_eq(finding->first_tick_max, from + 1);
    cr_expect_eq(finding->values_tick, from + 1);
    cr_expect(finding->is_after_pass);
    cr_expect_eq(finding->elements, 1);
    cr_assert_eq(finding->place_count, 1);
    cr_expect_str_eq(finding->places[0].name, "measured");
    cr_expect_str_eq(finding->places[0].a, right);
    cr_expect_str_eq(finding->places[0].b, wrong);
    cr_expect_eq(finding->verdict.kind, LS_DESYNC_CLASS_BUILD, "%s", finding->verdict.why.bytes);
    cr_expect_leq(finding->took_ns, 3 * SECOND, "took %lu ms",
                  (unsigned long)(finding->took_ns / MS));
    expect_reported(run);
    virtual_match_destroy(run);
}

Test(pass_fields, between_compared_states_the_field_is_of_the_pass_of_the_exact_tick)
{
    for (ls_tick from = 90; from <= 96; from++) {
        clears = from % 2;
        expect_measured_between(30, from + from % 2 * 20);
        expect_measured_between(7, from);
    }
}

/* ---- clients that do not show it ---- */

typedef enum manner {
    WITHOUT_STATE,    /* says that it does not hold the state behind the pass */
    WITHOUT_EVIDENCE, /* does not answer when it is to simulate the step once more */
    WITH_LIES,        /* shows other values behind the pass */
} manner;

static uint32_t altered_count;

static void send_altered(void *user, virtual_client *client, ls_channel channel,
                         const uint8_t *bytes, size_t size)
{
    manner *how = user;
    ls_message message;
    uint8_t altered[LS_PACKET_BYTES_MAX];
    uint32_t kind = channel == LS_CHANNEL_RELIABLE ? ls_message_peek(bytes, size) : 0;
    bool is_answer = kind == LS_MESSAGE_TREE_ANSWER, is_evidence = kind == LS_MESSAGE_EVIDENCE;
    if (is_answer || is_evidence) {
        cr_assert_eq(ls_message_read(bytes, size, 0, &message), LS_OK);
    }
    bool is_meant = *how == WITHOUT_EVIDENCE
                        ? is_evidence && message.body.evidence.pass != LS_NO_PASS
                        : is_answer && message.body.tree_answer.asked.pass != LS_NO_PASS;
    altered_count += is_meant;
    if (is_meant && *how == WITHOUT_EVIDENCE) {
        return;
    }
    if (is_meant && *how == WITHOUT_STATE) {
        message.body.tree_answer.size = 0;
    } else if (is_meant) {
        message.body.tree_answer.bytes[0] ^= 1;
    }
    if (is_meant) {
        size = ls_message_write(&message, altered);
    }
    ls_transport_send(client->transport, client->server, channel, is_meant ? altered : bytes, size);
}

static virtual_match *play_with(manner *how)
{
    altered_count = 0;
    clears = true;
    tamper = (virtual_tamper){send_altered, how};
    virtual_match *run = play_relay(1, 100);
    cr_assert_gt(altered_count, 0);
    check_played_to_the_end(run, run->clients[0]);
    return run;
}

/* The report says what differs at the end of the tick then, and that it is that. */
static void expect_sum(const virtual_match *run, uint64_t took_ns_max)
{
    const ls_desync_finding *finding = finding_of(run);
    cr_expect_not(finding->is_after_pass);
    cr_expect_eq(finding->elements, 2);
    cr_assert_eq(finding->place_count, 2);
    cr_expect_str_eq(finding->places[0].name, "copied");
    cr_expect_str_eq(finding->places[1].name, "sum");
    cr_expect_eq(finding->verdict.kind, LS_DESYNC_CLASS_BUILD, "%s", finding->verdict.why.bytes);
    cr_expect_leq(finding->took_ns, took_ns_max);
    expect_reported(run);
}

Test(pass_fields, without_the_state_after_the_pass_the_end_of_the_tick_is_reported)
{
    manner how = WITHOUT_STATE;
    virtual_match *run = play_with(&how);
    expect_sum(run, 2 * SECOND);
    virtual_match_destroy(run);
}

/* "spread" has made two values of the one that "measure" wrote. */
Test(pass_fields, without_that_state_values_that_only_later_passes_write_come_last)
{
    manner how = WITHOUT_STATE;
    clears = false;
    tamper = (virtual_tamper){send_altered, &how};
    virtual_match *run = play_relay(1, 100);
    const ls_desync_finding *finding = finding_of(run);
    cr_expect_not(finding->is_after_pass);
    cr_assert_eq(finding->place_count, 3);
    cr_expect_str_eq(finding->places[0].name, "measured");
    cr_expect_str_eq(finding->places[1].name, "copied");
    cr_expect_str_eq(finding->places[2].name, "sum");
    expect_reported(run);
    virtual_match_destroy(run);
}

/* From when it last answered something, or the server's own re-run ended, and not from each step.
 */
Test(pass_fields, a_client_that_does_not_run_the_pass_again_is_waited_for_until_the_one_deadline)
{
    manner how = WITHOUT_EVIDENCE;
    virtual_match *run = play_with(&how);
    expect_sum(run, 6 * SECOND);
    cr_expect_geq(finding_of(run)->took_ns, 5 * SECOND);
    virtual_match_destroy(run);
}

static const virtual_event *newest_of(const virtual_match *run, ls_match_event_kind kind)
{
    const virtual_event *event = virtual_match_find(run, kind);
    cr_assert_not_null(event);
    cr_assert_eq(virtual_match_count(run, kind, LS_PLAYERS_MAX), 1);
    return event;
}

Test(pass_fields, values_are_told_ahead_of_what_takes_longer_than_a_second)
{
    manner how = WITHOUT_EVIDENCE;
    virtual_match *run = play_with(&how);
    uint64_t notice_ns = newest_of(run, LS_MATCH_DESYNC)->at_ns;
    uint64_t values_ns = newest_of(run, LS_MATCH_DESYNC_VALUES)->at_ns;
    cr_expect_leq(values_ns, notice_ns + SECOND + 100 * MS);
    cr_expect_geq(newest_of(run, LS_MATCH_DESYNC_CAUSE)->at_ns, values_ns + 3 * SECOND);
    const virtual_client *bad = run->clients[1];
    cr_assert_eq(virtual_client_count(bad, LS_SESSION_EVENT_CAUSE), 2);
    ls_session_report report = report_of(bad);
    const ls_desync_cause *ahead = &virtual_client_find(bad, LS_SESSION_EVENT_CAUSE)->event.cause;
    cr_expect(ls_desync_cause_is_open(ahead));
    cr_expect_str_eq(ahead->field, "copied");
    cr_expect_eq(ahead->elements, 2);
    cr_expect_not(ls_desync_cause_is_open(&report.own_cause));
    const ls_desync_finding *finding = finding_of(run);
    cr_expect_not(finding->is_open);
    cr_expect_leq(finding->values_ns, SECOND + 100 * MS);
    virtual_match_destroy(run);
}

Test(pass_fields, lies_about_the_state_after_the_pass_are_a_contradiction)
{
    manner how = WITH_LIES;
    virtual_match *run = play_with(&how);
    const ls_desync_finding *finding = finding_of(run);
    cr_expect_eq(finding->verdict.kind, LS_DESYNC_CLASS_CONTRADICTION, "%s",
                 finding->verdict.why.bytes);
    cr_expect_not(finding->is_after_pass);
    virtual_match_destroy(run);
}
