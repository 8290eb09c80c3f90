#include "lockstep/protocol/blob/blob_sender.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/server/investigation/desync_finding.h"

#include "lockstep/tests/lab/faultsim/test_simulation.h"
#include "lockstep/tests/match/match_test.h"
#include "lockstep/tests/support/fault_simulation.h"

#include <stdio.h>

/* ==== heal ==== */

/* Healing with the whole state: a client that differs in more than single values is sent the
 * snapshot that late joiners get. It keeps its seat and makes its inputs meanwhile, and the other
 * players do not notice. */

/* ---- a state of which one build spoils a lot, once ---- */

enum {
    CELLS_SMALL = 16 << 10,
    CELLS_LARGE = 5 << 17, /* 5 MiB */
    SPOILT = 5000,
};

static uint32_t cell_count;
static ls_tick spoilt_from; /* spoilt by the other build in these ticks */
static ls_tick spoilt_until;

static size_t cells_bytes(const ls_sim_config *config)
{
    (void)config;
    return cell_count * sizeof(uint64_t);
}

static uint32_t cells_fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    if (capacity > 0) {
        out[0] = (ls_field){"cells", "", LS_FIELD_U64, cell_count, 1, 0, 0};
    }
    return 1;
}

static ls_status cells_init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    memset(state, (int)config->seed, cells_bytes(config));
    return LS_OK;
}

static void change_cells(const ls_step *step)
{
    uint64_t *cells = step->state;
    for (uint32_t slot = 0; slot < step->config->players; slot++) {
        const ls_slot_input *input = &step->inputs->slots[slot];
        cells[slot] += input->size > 0 ? input->bytes[0] : 0;
        cells[slot] += input->events;
    }
    for (uint32_t i = 0; i < 100; i++) {
        cells[8 + (step->inputs->tick + i * 37) % (cell_count - 8)] += i;
    }
}

static void spoil_cells(const ls_step *step)
{
    uint64_t *cells = step->state;
    ls_tick tick = step->inputs->tick;
    change_cells(step);
    for (uint32_t i = 0; tick >= spoilt_from && tick < spoilt_until && i < SPOILT; i++) {
        cells[8 + i * (cell_count / SPOILT)] ^= (uint64_t)(uintptr_t)cells; /* another on each */
    }
}

static uint64_t cells_hash(const ls_sim_config *config, const void *state)
{
    const uint64_t *cells = state;
    uint64_t sum = 1;
    for (uint32_t i = 0; i < cell_count; i++) {
        sum = (sum ^ cells[i]) * UINT64_C(1099511628211);
    }
    return sum + config->seed;
}

static size_t cells_save(const ls_sim_config *config, const void *state, uint8_t *bytes,
                         size_t capacity)
{
    if (capacity >= cells_bytes(config)) {
        memcpy(bytes, state, cells_bytes(config));
    }
    return cells_bytes(config);
}

static ls_status cells_load(const ls_sim_config *config, void *state, const uint8_t *bytes,
                            size_t size)
{
    if (size != cells_bytes(config)) {
        return LS_PLUGIN;
    }
    memcpy(state, bytes, size);
    return LS_OK;
}

static const ls_pass right_pass = {"change", change_cells};
static const ls_pass spoiling_pass = {"change", spoil_cells};

static ls_simulation simulation_with(const ls_pass *pass, bool has_schema)
{
    return (ls_simulation){
        .abi = LS_SIMULATION_ABI,
        .size = sizeof(ls_simulation),
        .version = 1,
        .name = "cells",
        .summary = "cells that change",
        .default_tick_rate_hz = 60,
        .default_players = 3,
        .players_max = 8,
        .input_bytes_max = 8,
        .passes = pass,
        .pass_count = 1,
        .state_bytes = cells_bytes,
        .fields = has_schema ? cells_fields : NULL,
        .init = cells_init,
        .hash = has_schema ? NULL : cells_hash,
        .save = has_schema ? NULL : cells_save,
        .load = has_schema ? NULL : cells_load,
    };
}

/* ---- matches ---- */

typedef struct heal_case {
    uint32_t cells;
    uint32_t ticks;
    uint32_t interval;
    uint32_t predict_ticks;
    uint32_t bytes_per_s; /* of the snapshot; 0: as usual */
    uint32_t bad_clients; /* the last ones */
    ls_tick spoilt_until; /* from tick 100 on */
    ls_link_config link;
    bool is_engine; /* has no schema */
    bool is_blind;  /* no causes are looked for */
} heal_case;

static ls_simulation right;
static ls_simulation wrong;

static heal_case usual_case(void)
{
    return (heal_case){.cells = CELLS_SMALL,
                       .ticks = 400,
                       .interval = 1,
                       .bytes_per_s = 4 << 20,
                       .bad_clients = 1,
                       .spoilt_until = 101,
                       .link = {.delay_ns = 50 * MS}};
}

static virtual_match *open_case(const heal_case *with)
{
    cell_count = with->cells;
    spoilt_from = 100;
    spoilt_until = with->spoilt_until;
    right = simulation_with(&right_pass, !with->is_engine);
    wrong = simulation_with(&spoiling_pass, !with->is_engine);
    virtual_setup setup = virtual_setup_default(&right, 4, with->ticks);
    setup.match.on_desync = LS_ON_DESYNC_HEAL;
    setup.match.hash_interval_ticks = with->interval;
    setup.match.finds_causes = !with->is_blind;
    setup.match.join_bytes_per_s = with->bytes_per_s;
    setup.predict_ticks = with->predict_ticks;
    setup.link = with->link;
    setup.clients = 4 - with->bad_clients;
    virtual_match *run = checked_match_create(&setup);
    virtual_client_setup client = virtual_client_setup_default(run);
    client.simulation = &wrong;
    client.session.finds_causes = !with->is_blind;
    client.session.reconnect_ms = 60000;
    add_clients(run, with->bad_clients, &client);
    return run;
}

static void expect_healed(virtual_match *run, const virtual_client *client)
{
    uint32_t slot = report_of(client).slot;
    uint32_t interval = run->setup.match.hash_interval_ticks;
    cr_expect_eq(virtual_match_count(run, LS_MATCH_HEALING, slot), 1);
    cr_expect_eq(virtual_match_count(run, LS_MATCH_HEALED, slot), 1);
    cr_expect_eq(virtual_client_count(client, LS_SESSION_EVENT_HEALED), 1);
    cr_expect_eq(virtual_client_count(client, LS_SESSION_EVENT_JOINING), 0, "it keeps its link");
    cr_expect_eq(slot_of(run, slot).agreed_tick, ls_match_tick(run->match) / interval * interval,
                 "from the healed state on every state agreed");
    check_played_to_the_end(run, client);
}

static void heal_and_check(const heal_case *with)
{
    virtual_match *run = open_case(with);
    virtual_match_run_to_end(run);
    check_sound(run);
    check_complete(run);
    for (uint32_t i = 4 - with->bad_clients; i < 4; i++) {
        expect_healed(run, run->clients[i]);
    }
    const ls_link_config *link = &with->link;
    bool is_perfect = link->loss_ppm == 0 && link->burst_ppm == 0 && link->rate_bps == 0;
    cr_expect(!is_perfect || substituted(run) == 0, "%lu inputs did not count",
              (unsigned long)substituted(run));
    virtual_match_destroy(run);
}

Test(heal, much_that_differs_is_healed_with_a_snapshot)
{
    heal_case with = usual_case();
    heal_and_check(&with);
    with.interval = 8;
    heal_and_check(&with);
    with.interval = 30;
    heal_and_check(&with);
}

Test(heal, a_client_that_guesses_ahead_is_healed_with_a_snapshot)
{
    heal_case with = usual_case();
    with.predict_ticks = 16;
    heal_and_check(&with);
    with.interval = 8;
    for (uint64_t delay_ms = 30; delay_ms <= 70; delay_ms += 10) {
        with.link.delay_ns = delay_ms * MS; /* the state may be newer than the client's own */
        heal_and_check(&with);
    }
}

Test(heal, a_large_state_is_healed_with_a_snapshot)
{
    heal_case with = usual_case();
    with.cells = CELLS_LARGE;
    with.bytes_per_s = CELLS_LARGE * 16;
    with.ticks = 400;
    heal_and_check(&with);
}

Test(heal, several_are_healed_with_one_snapshot_or_one_after_another)
{
    heal_case with = usual_case();
    with.bad_clients = 3;
    heal_and_check(&with);
    with.bytes_per_s = LS_BLOB_RATE_MIN; /* many ticks are closed meanwhile */
    with.ticks = 900;
    heal_and_check(&with);
}

Test(heal, bad_links_are_no_hindrance)
{
    static const ls_link_config links[] = {
        {.delay_ns = 50 * MS, .loss_ppm = 50000, .jitter_ns = 20 * MS},
        {.delay_ns = 100 * MS, .loss_ppm = 200000},
        {.delay_ns = 20 * MS,
         .burst_ppm = 100000,
         .burst_milli = 8000,
         .burst_loss_ppm = 800000,
         .duplicate_ppm = 100000,
         .reorder_ppm = 100000,
         .reorder_ns = 30 * MS},
        {.delay_ns = 40 * MS, .rate_bps = 2000000, .bucket_bytes = 4000, .queue_bytes = 60000},
    };
    for (uint32_t i = 0; i < 4; i++) {
        heal_case with = usual_case();
        with.link = links[i];
        with.predict_ticks = i % 2 * 16;
        with.ticks = 1200;
        heal_and_check(&with);
    }
}

Test(heal, without_a_cause_a_snapshot_heals)
{
    heal_case with = usual_case();
    with.is_blind = true;
    heal_and_check(&with);
}

Test(heal, an_engine_that_saves_and_loads_is_healed)
{
    heal_case with = usual_case();
    with.is_engine = true;
    heal_and_check(&with);
    with.predict_ticks = 16;
    heal_and_check(&with);
}

/* ---- limits ---- */

Test(heal, a_build_that_differs_again_and_again_is_dropped)
{
    heal_case with = usual_case();
    with.spoilt_until = UINT32_MAX;
    with.ticks = 900;
    virtual_match *run = open_case(&with);
    const virtual_client *bad = run->clients[3];
    client_check_of(run->clients[3])->may_leave = true;
    virtual_match_run_to_end(run);
    uint32_t slot = report_of(bad).slot;
    cr_expect_eq(virtual_match_count(run, LS_MATCH_HEALED, slot), 3);
    cr_expect_eq(slot_of(run, slot).left_status, LS_DESYNCED);
    check_others_played(run, bad);
    virtual_match_destroy(run);
}

static void spoil_again(virtual_match *run, ls_tick tick)
{
    spoilt_from = tick;
    spoilt_until = tick + 1;
    virtual_match_run_to_tick(run, tick + 240);
}

Test(heal, healings_are_limited_by_rate_and_not_for_life)
{
    heal_case with = usual_case();
    with.ticks = 4200;
    virtual_match *run = open_case(&with);
    virtual_match_run_to_tick(run, 340);
    for (uint32_t i = 1; i < 15; i++) {
        spoil_again(run, 120 + i * 260);
    }
    virtual_match_run_to_end(run);
    uint32_t slot = report_of(run->clients[3]).slot;
    check_others_played(run, NULL);
    cr_expect_eq(virtual_match_count(run, LS_MATCH_HEALED, slot), 15);
    virtual_match_destroy(run);
}

/* ---- what comes between ---- */

Test(heal, a_match_that_ends_meanwhile_ends_as_ever)
{
    for (ls_tick ticks = 104; ticks < 200; ticks += 8) {
        heal_case with = usual_case();
        with.ticks = ticks;
        virtual_match *run = open_case(&with);
        virtual_match_run_to_end(run);
        check_sound(run);
        cr_assert(virtual_match_is_over(run));
        check_others_played(run, run->clients[3]);
        cr_expect(slot_of(run, report_of(run->clients[3]).slot).has_finished, "%u ticks", ticks);
        virtual_match_destroy(run);
    }
}

Test(heal, a_link_that_is_lost_meanwhile_is_made_anew)
{
    for (ls_tick lost = 105; lost < 160; lost += 10) {
        heal_case with = usual_case();
        with.ticks = 900;
        virtual_match *run = open_case(&with);
        virtual_client *bad = run->clients[3];
        virtual_match_run_to_tick(run, lost);
        ls_link_config usual = bad->up;
        ls_link_config cut = {.is_cut = true};
        ls_memory_client_set_links(bad->transport, &cut, &cut);
        virtual_match_run(run, 4 * SECOND);
        ls_memory_client_set_links(bad->transport, &usual, &usual);
        virtual_match_run_to_end(run);
        check_complete(run);
        virtual_match_destroy(run);
    }
}

static void send_but_healed(void *user, virtual_client *client, ls_channel channel,
                            const uint8_t *bytes, size_t size)
{
    (void)user;
    if (channel != LS_CHANNEL_RELIABLE || ls_message_peek(bytes, size) != LS_MESSAGE_HEALED) {
        ls_transport_send(client->transport, client->server, channel, bytes, size);
    }
}

Test(heal, a_client_that_does_not_say_how_it_went_is_dropped)
{
    heal_case with = usual_case();
    with.ticks = 2400;
    virtual_match *run = open_case(&with);
    virtual_client *bad = run->clients[3];
    bad->tamper = (virtual_tamper){send_but_healed, NULL};
    client_check_of(bad)->may_leave = true;
    client_check_of(bad)->is_hostile = true;
    virtual_match_run_to_end(run);
    uint32_t slot = report_of(bad).slot;
    cr_expect_eq(virtual_match_count(run, LS_MATCH_HEALING, slot), 1);
    cr_expect_eq(slot_of(run, slot).left_status, LS_DESYNCED);
    check_others_played(run, bad);
    virtual_match_destroy(run);
}

/* ==== cases ==== */

/* Several clients differ at once, and some of them do not play along: silence, lies and healings
 * that are ignored cost nobody else a report or a healing. */

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
