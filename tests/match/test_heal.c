/* Healing with the whole state: a client that differs in more than single values is sent the
 * snapshot that late joiners get. It keeps its seat and makes its inputs meanwhile, and the other
 * players do not notice. */
#include "lockstep/protocol/blob/blob_sender.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/tests/match/match_test.h"

#include <stdio.h>

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
