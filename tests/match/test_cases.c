/* Several clients differ at once, and some of them do not play along: silence, lies and healings
 * that are ignored cost nobody else a report or a healing. */
#include "lockstep/protocol/wire/message.h"
#include "lockstep/server/investigation/desync_finding.h"
#include "lockstep/tests/lab/faultsim/test_simulation.h"
#include "lockstep/tests/match/match_test.h"
#include "lockstep/tests/support/fault_simulation.h"

#include <stdio.h>

/* ---- clients that answer what they like ---- */

typedef struct unhelpful {
    uint32_t first_kind; /* of messages that it does not send, */
    uint32_t last_kind;  /* or that it alters */
    bool alters_hashes;  /* tells other state hashes than it has */
    uint32_t count;
} unhelpful;

static void send_unhelpfully(void *user, virtual_client *client, ls_channel channel,
                             const uint8_t *bytes, size_t size)
{
    unhelpful *manner = user;
    uint32_t kind = ls_message_peek(bytes, size);
    ls_message message;
    uint8_t altered[LS_PACKET_BYTES_MAX];
    bool is_meant =
        channel == LS_CHANNEL_RELIABLE && kind >= manner->first_kind && kind <= manner->last_kind;
    if (is_meant) {
        manner->count++;
    }
    if (is_meant && manner->alters_hashes) {
        cr_assert_eq(ls_message_read(bytes, size, 0, &message), LS_OK);
        for (uint32_t i = 0; i < message.body.hashes.count; i++) {
            message.body.hashes.state_hashes[i] ^= i + 1 == message.body.hashes.count;
        }
        size = ls_message_write(&message, altered);
        ls_transport_send(client->transport, client->server, channel, altered, size);
    } else if (!is_meant) {
        ls_transport_send(client->transport, client->server, channel, bytes, size);
    }
}

static unhelpful manners[4];

static void make_unhelpful(virtual_client *client, unhelpful manner)
{
    manners[client->index] = manner;
    client->tamper = (virtual_tamper){send_unhelpfully, &manners[client->index]};
}

static const unhelpful silent = {.first_kind = LS_MESSAGE_TREE_ANSWER,
                                 .last_kind = LS_MESSAGE_BUILD_FINGERPRINT};
static const unhelpful unhealable = {.first_kind = LS_MESSAGE_HEALED,
                                     .last_kind = LS_MESSAGE_HEALED};

/* ---- matches ---- */

static virtual_match *open_four(ls_on_desync policy)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 4, 700);
    setup.match.on_desync = policy;
    setup.link.delay_ns = 50 * MS;
    return checked_match_create(&setup);
}

/* Each in a value of its own, which nobody writes to anew. */
static void flip(virtual_client *client, ls_tick tick)
{
    client->flip.tick = tick;
    client->flip.byte = offsetof(test_simulation_state, slots[8].sum) +
                        client->index * sizeof(test_simulation_slot);
}

static const ls_desync_finding *finding_of(const virtual_match *run, const virtual_client *client)
{
    const ls_desync_finding *finding = ls_match_desync_of(run->match, report_of(client).slot);
    cr_assert_not_null(finding, "nothing was found out of client %u", client->index);
    return finding;
}

static void expect_named(const virtual_match *run, const virtual_client *client)
{
    char name[32];
    const ls_desync_finding *finding = finding_of(run, client);
    snprintf(name, sizeof name, "slots[%u].sum", 8 + client->index);
    cr_expect_eq(finding->elements, 1);
    cr_assert_eq(finding->place_count, 1);
    cr_expect_str_eq(finding->places[0].name, name);
    cr_expect_eq(finding->verdict.kind, LS_DESYNC_CLASS_ONE_OFF, "%s", finding->verdict.why.bytes);
    cr_expect_leq(finding->took_ns, 2 * SECOND, "took %lu ms",
                  (unsigned long)(finding->took_ns / MS));
}

Test(cases, three_silent_clients_do_not_delay_an_honest_ones_report_and_healing)
{
    virtual_match *run = open_four(LS_ON_DESYNC_HEAL);
    for (uint32_t i = 0; i < 4; i++) {
        flip(run->clients[i], 100);
        if (i < 3) {
            make_unhelpful(run->clients[i], silent);
        }
    }
    virtual_client *honest = run->clients[3];
    virtual_match_run_to_end(run);
    check_sound(run);
    uint32_t slot = report_of(honest).slot;
    const virtual_event *found = virtual_match_find_slot(run, LS_MATCH_DESYNC, slot);
    const virtual_event *healed = virtual_match_find_slot(run, LS_MATCH_HEALED, slot);
    expect_named(run, honest);
    cr_assert_not_null(healed);
    cr_expect_leq(healed->at_ns - found->at_ns, 2 * SECOND);
    check_played_to_the_end(run, honest);
    for (uint32_t i = 0; i < 3; i++) {
        const ls_desync_finding *finding = finding_of(run, run->clients[i]);
        cr_expect_gt(manners[i].count, 0);
        cr_expect_eq(finding->verdict.kind, LS_DESYNC_CLASS_SILENT);
        cr_expect_eq(finding->verdict.culprit, LS_DESYNC_CULPRIT_CLIENT);
        cr_expect_leq(finding->took_ns, 5200 * MS, "each has a deadline of its own");
    }
    virtual_match_destroy(run);
}

Test(cases, four_honest_clients_are_four_reports_within_two_seconds)
{
    virtual_match *run = open_four(LS_ON_DESYNC_HEAL);
    for (uint32_t i = 0; i < 4; i++) {
        flip(run->clients[i], 100 + i % 2);
    }
    virtual_match_run_to_end(run);
    check_complete(run);
    for (uint32_t i = 0; i < 4; i++) {
        expect_named(run, run->clients[i]);
        cr_expect_eq(finding_of(run, run->clients[i])->healed, 1);
    }
    virtual_match_destroy(run);
}

Test(cases, a_root_that_contradicts_the_state_is_named_as_that)
{
    virtual_match *run = open_four(LS_ON_DESYNC_REPORT);
    virtual_client *liar = run->clients[1];
    make_unhelpful(liar, (unhelpful){.first_kind = LS_MESSAGE_HASHES,
                                     .last_kind = LS_MESSAGE_HASHES,
                                     .alters_hashes = true});
    flip(liar, 100);
    virtual_match_run_to_end(run);
    const ls_desync_finding *finding = finding_of(run, liar);
    cr_expect_gt(manners[1].count, 0);
    cr_expect_eq(finding->verdict.kind, LS_DESYNC_CLASS_CONTRADICTION, "%s",
                 finding->verdict.why.bytes);
    cr_expect_eq(finding->verdict.culprit, LS_DESYNC_CULPRIT_CLIENT);
    cr_expect_not_null(
        strstr(finding->verdict.why.bytes, "the root it told contradicts the state that it shows"));
    check_played_to_the_end(run, run->clients[0]);
    virtual_match_destroy(run);
}

Test(cases, a_root_that_is_withheld_is_named_as_that)
{
    virtual_match *run = open_four(LS_ON_DESYNC_REPORT);
    virtual_client *secretive = run->clients[1];
    make_unhelpful(secretive,
                   (unhelpful){.first_kind = LS_MESSAGE_HASHES, .last_kind = LS_MESSAGE_HASHES});
    flip(secretive, 20);
    client_check_of(secretive)->may_leave = true;
    virtual_match_run(run, 12 * SECOND);
    uint32_t slot = report_of(secretive).slot;
    const ls_desync_finding *finding = finding_of(run, secretive);
    cr_expect_eq(finding->verdict.kind, LS_DESYNC_CLASS_SILENT, "%s", finding->verdict.why.bytes);
    cr_expect_not_null(strstr(finding->verdict.why.bytes, "withheld the root"));
    cr_expect_eq(virtual_match_count(run, LS_MATCH_DESYNC_CAUSE, slot), 1);
    virtual_match_destroy(run);
}

Test(cases, who_ignores_its_healing_costs_nobody_else_theirs)
{
    virtual_match *run = open_four(LS_ON_DESYNC_HEAL);
    virtual_client *stubborn = run->clients[0];
    virtual_client *honest = run->clients[2];
    make_unhelpful(stubborn, unhealable);
    flip(stubborn, 100);
    flip(honest, 110);
    virtual_match_run_to_end(run);
    uint32_t slot = report_of(honest).slot;
    const virtual_event *found = virtual_match_find_slot(run, LS_MATCH_DESYNC, slot);
    const virtual_event *healed = virtual_match_find_slot(run, LS_MATCH_HEALED, slot);
    cr_assert_not_null(healed);
    cr_expect_leq(healed->at_ns - found->at_ns, 2 * SECOND);
    check_played_to_the_end(run, honest);
    cr_expect_eq(slot_of(run, report_of(stubborn).slot).left_status, LS_DESYNCED);
    check_played_to_the_end(run, run->clients[1]);
    virtual_match_destroy(run);
}

/* ---- a server that stands alone ---- */

static ls_pass other_passes[3];
static ls_simulation other_build;

static void spread_more(const ls_step *step)
{
    fault_state *state = step->state;
    fault_simulation()->passes[FAULT_PASS].run(step);
    if (step->inputs->tick >= 100) {
        state->wrong = 1;
    }
}

/* A server of another build than the first `honest` of its clients; the rest have its build. */
static virtual_match *begin_with_other_server(uint32_t honest, uint32_t clients,
                                              ls_on_desync policy)
{
    other_build = *fault_simulation();
    memcpy(other_passes, other_build.passes, sizeof other_passes);
    other_passes[FAULT_PASS].run = spread_more;
    other_build.passes = other_passes;
    virtual_setup setup = virtual_setup_default(&other_build, 0, 300);
    setup.match.sim.players = clients;
    setup.match.on_desync = policy;
    setup.link.delay_ns = 30 * MS;
    virtual_match *run = checked_match_create(&setup);
    for (uint32_t i = 0; i < clients; i++) {
        virtual_client_setup client = virtual_client_setup_default(run);
        client.simulation = i < honest ? fault_simulation() : &other_build;
        virtual_match_add_client(run, &client);
    }
    return run;
}

static virtual_match *play_with_other_server(uint32_t honest, uint32_t clients, ls_on_desync policy)
{
    virtual_match *run = begin_with_other_server(honest, clients, policy);
    virtual_match_run_to_end(run);
    cr_assert(virtual_match_is_over(run));
    return run;
}

static void expect_server_blamed(virtual_match *run, uint32_t honest)
{
    cr_assert_eq(virtual_match_count(run, LS_MATCH_DESYNC, LS_PLAYERS_MAX), 1, "it is told once");
    cr_assert_eq(virtual_match_count(run, LS_MATCH_DESYNC_CAUSE, LS_PLAYERS_MAX), 1);
    const ls_match_event *event = &virtual_match_find(run, LS_MATCH_DESYNC)->event;
    cr_expect_eq(event->tick, 101);
    cr_expect_eq(event->clients, honest);
    const ls_desync_finding *finding = ls_match_desync_of(run->match, event->slot);
    char words[96];
    snprintf(words, sizeof words, "the server's state differs from that of %u clients which agree",
             honest);
    cr_assert_not_null(finding);
    cr_expect_eq(finding->verdict.culprit, LS_DESYNC_CULPRIT_SERVER);
    cr_expect_not_null(strstr(finding->verdict.why.bytes, words), "%s", finding->verdict.why.bytes);
    cr_expect_str_eq(finding->places[0].name, "wrong");
    for (uint32_t i = 0; i < run->client_count; i++) {
        const virtual_client *client = run->clients[i];
        cr_expect_eq(report_of(client).status, LS_OK, "client %u is dropped", i);
        cr_expect_eq(report_of(client).tick, 300);
        cr_expect_eq(report_of(client).desyncs, 1);
        cr_expect_not(report_of(client).is_desynced);
        cr_expect_not(report_of(client).has_own_cause);
        cr_expect_eq(virtual_client_count(client, LS_SESSION_EVENT_HEALED), 0);
    }
}

Test(cases, a_server_that_differs_from_all_is_the_one_that_differs)
{
    static const ls_on_desync policies[] = {LS_ON_DESYNC_REPORT, LS_ON_DESYNC_DROP,
                                            LS_ON_DESYNC_STOP, LS_ON_DESYNC_HEAL};
    for (uint32_t i = 0; i < 4; i++) {
        virtual_match *run = play_with_other_server(4, 4, policies[i]);
        expect_server_blamed(run, 4);
        virtual_match_destroy(run);
    }
}

Test(cases, a_server_that_most_clients_differ_from_is_the_one_that_differs)
{
    virtual_match *run = play_with_other_server(3, 4, LS_ON_DESYNC_DROP);
    expect_server_blamed(run, 3);
    virtual_match_destroy(run);
}

/* The client is slow, and hears of the server's cause while it runs its own ticks again. */
Test(cases, client_with_a_fault_of_its_own_is_classed_beside_a_server_that_differs)
{
    virtual_match *run = begin_with_other_server(3, 4, LS_ON_DESYNC_REPORT);
    flip(run->clients[3], 97);
    virtual_match_run_to_tick(run, 103);
    run->clients[3]->is_paused = true;
    virtual_match_run_to_tick(run, 190);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_DESYNC_CAUSE, LS_PLAYERS_MAX), 1);
    run->clients[3]->is_paused = false;
    virtual_match_run_to_end(run);
    uint32_t slot = report_of(run->clients[3]).slot;
    const ls_desync_finding *finding = ls_match_desync_of(run->match, slot);
    cr_assert_not_null(finding);
    cr_expect_eq(finding->tick, 97);
    cr_expect_eq(finding->verdict.kind, LS_DESYNC_CLASS_ONE_OFF, "%s", finding->verdict.why.bytes);
    virtual_match_destroy(run);
}

static void expect_first_two_blamed(uint32_t clients)
{
    virtual_match *run = play_with_other_server(2, clients, LS_ON_DESYNC_DROP);
    cr_expect_eq(virtual_match_count(run, LS_MATCH_DESYNC, LS_PLAYERS_MAX), 2);
    for (uint32_t i = 0; i < clients; i++) {
        cr_expect_eq(report_of(run->clients[i]).status, i < 2 ? LS_DESYNCED : LS_OK);
    }
    virtual_match_destroy(run);
}

Test(cases, a_server_that_as_many_agree_with_is_right)
{
    expect_first_two_blamed(4);
    expect_first_two_blamed(3); /* two machines against two, the server being one of them */
}

/* A client that has not got to the state yet is waited for, but not for long. */
Test(cases, a_client_that_stands_still_delays_a_notice_by_a_second_at_most)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 2, 500);
    virtual_match *run = checked_match_create(&setup);
    flip(run->clients[0], 100);
    virtual_match_run_to_tick(run, 90);
    run->clients[1]->is_paused = true;
    virtual_match_run_to_tick(run, 110);
    cr_expect_null(virtual_match_find(run, LS_MATCH_DESYNC), "the other one may have the same");
    virtual_match_run_to_tick(run, 170);
    const virtual_event *found = virtual_match_find(run, LS_MATCH_DESYNC);
    cr_assert_not_null(found);
    cr_expect_eq(found->event.clients, 0);
    run->clients[1]->is_paused = false;
    virtual_match_destroy(run);
}
