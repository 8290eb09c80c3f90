#include "lockstep/tests/lab/faultsim/scenario_draw.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/tests/lab/faultsim/test_simulation.h"
#include "lockstep/tests/lab/virtual/sealed_network.h"

#include <string.h>

enum {
    LARGE_ONE_IN = 64, /* matches of large inputs: ten times as slow */
    LARGE_BYTES_MAX = 600,
    FLOOD_DATAGRAMS_MAX = 400,
};

#define SILENCE_MS 1000 /* a fault is over by so much before anybody gives up */

/* ---- the match ---- */

static void draw_simulation(faultsim_draw *here)
{
    ls_match_config *match = &here->scenario->setup.match;
    bool is_large = faultsim_draw_one_in(here, LARGE_ONE_IN);
    uint32_t large_bytes = faultsim_draw_between(here, 1, LARGE_BYTES_MAX);
    uint32_t small_bytes =
        faultsim_draw_one_in(here, 8) ? TEST_SMALL_BYTES : faultsim_draw_between(here, 1, 3);
    const ls_simulation *simulation = here->options->simulation;
    if (!simulation) {
        simulation = is_large ? test_simulation() : test_small_simulation();
    }
    here->scenario->setup = virtual_setup_default(simulation, 0, here->options->ticks);
    here->scenario->setup.network =
        here->options->is_sealed ? virtual_network_of_datagrams : virtual_network_of_memory;
    match->sim.seed = here->scenario->seed;
    if (!here->options->simulation) {
        match->sim.params[TEST_PARAM_BYTES] = is_large ? large_bytes : small_bytes;
    }
}

static void draw_match(faultsim_draw *here)
{
    static const uint32_t tick_rates[] = {60, 60, 60, 60, 60, 30, 20, 128};
    static const uint32_t intervals[] = {1, 1, 1, 1, 2, 7, 32, 64};
    static const uint32_t delays[] = {0, 0, 0, 1, 3};
    static const uint32_t timeouts[] = {2500, 4000, 10000};
    ls_match_config *match = &here->scenario->setup.match;
    draw_simulation(here);
    here->scenario->setup.seed = here->scenario->seed;
    uint32_t players = faultsim_draw_between(here, 2, 6);
    match->sim.players = here->options->players > 0 ? here->options->players : players;
    match->sim.tick_rate_hz = faultsim_draw_pick(here, tick_rates, 8);
    bool is_large = match->simulation == test_simulation();
    if (is_large && match->sim.tick_rate_hz > 60) {
        match->sim.tick_rate_hz = 60; /* 32 ticks a round trip are all that goes out in parts */
    }
    match->hash_interval_ticks = faultsim_draw_pick(here, intervals, 8);
    match->input_delay_ticks = faultsim_draw_pick(here, delays, 5);
    match->timeout_ms = faultsim_draw_pick(here, timeouts, 3);
    match->adapts_input_delay = faultsim_draw_one_in(here, 4);
    match->send_rate = (ls_send_rate)ls_rng_below(&here->rng, LS_SEND_SAVING);
    bool is_saving = match->send_rate == LS_SEND_HALF && here->scenario->seed % 2 == 0;
    match->send_rate = is_saving ? LS_SEND_SAVING : match->send_rate;
    match->late_rule = faultsim_draw_one_in(here, 4) ? LS_LATE_WAIT : LS_LATE_REPEAT;
    if (here->options->late_rule >= 0) {
        match->late_rule = (ls_late_rule)here->options->late_rule;
    }
    match->wait_limit_ms = 2000;
    match->wait_budget_ms = 0; /* I2: the rule wait substitutes nothing */
    uint32_t policy = ls_rng_below(&here->rng, 5);
    match->on_desync = policy == 0   ? LS_ON_DESYNC_DROP
                       : policy == 1 ? LS_ON_DESYNC_STOP
                                     : LS_ON_DESYNC_REPORT;
    uint64_t length_ns = (uint64_t)match->ticks * LS_NS_PER_SECOND / match->sim.tick_rate_hz;
    here->baseline_ns = match->start_delay_ms * MS + length_ns / 10 * 6;
    here->scenario->baseline_ns = here->baseline_ns;
    uint32_t patience_ms = match->timeout_ms;
    if (match->late_rule == LS_LATE_WAIT && match->wait_limit_ms < patience_ms) {
        patience_ms = match->wait_limit_ms;
    }
    patience_ms = patience_ms < 4000 ? patience_ms : 4000; /* or it falls behind */
    here->silence_ns = (patience_ms - SILENCE_MS) * MS;
}

static void draw_server(faultsim_draw *here)
{
    faultsim_scenario *scenario = here->scenario;
    int32_t drift_ppm = ls_rng_between(&here->rng, -500, 500);
    scenario->server_drift_ppm = faultsim_draw_happens(here, LS_CLASS_CLOCK, 2) ? drift_ppm : 0;
    uint64_t loop_ns = faultsim_draw_ns_between(here, MS, 5 * MS);
    scenario->server_loop_ns = faultsim_draw_one_in(here, 6) ? loop_ns : 0;
    uint64_t at_ns = faultsim_draw_ns_between(here, 0, here->baseline_ns);
    uint64_t pause_ns = faultsim_draw_ns_between(here, 5 * MS, 600 * MS);
    pause_ns = pause_ns < here->baseline_ns - at_ns ? pause_ns : here->baseline_ns - at_ns;
    if (faultsim_draw_happens(here, LS_CLASS_SLOW, 6)) {
        faultsim_draw_add_action(here, at_ns, FAULTSIM_ACTION_PAUSE_SERVER, 0);
        faultsim_draw_add_action(here, at_ns + pause_ns, FAULTSIM_ACTION_RESUME_SERVER, 0);
    }
    at_ns = faultsim_draw_ns_between(here, 0, here->baseline_ns);
    uint64_t step_ns = faultsim_draw_ns_between(here, 5 * MS, 600 * MS);
    if (faultsim_draw_happens(here, LS_CLASS_CLOCK, 8)) {
        faultsim_draw_add_action(here, at_ns, FAULTSIM_ACTION_STEP_SERVER_CLOCK, 0)->ns = step_ns;
    }
}

/* ---- links ---- */

static void draw_links(faultsim_draw *here, uint32_t index)
{
    faultsim_scenario_client *client = &here->scenario->clients[index];
    client->baseline = faultsim_draw_baseline_link(here);
    ls_link_config first_up = faultsim_draw_impairments(here, &client->baseline);
    ls_link_config first_down = faultsim_draw_impairments(here, &client->baseline);
    faultsim_draw_add_links(here, 0, FAULTSIM_ACTION_LINKS, index, &first_up, &first_down);
    /* Bursts could keep somebody from taking a seat for so long that the server gives up. */
    client->setup.up = first_up;
    client->setup.down = first_down;
    client->setup.up.burst_ppm = 0;
    client->setup.down.burst_ppm = 0;
    uint64_t change_ns = faultsim_draw_ns_between(here, 0, here->baseline_ns);
    ls_link_config up = faultsim_draw_impairments(here, &client->baseline);
    ls_link_config down = faultsim_draw_impairments(here, &client->baseline);
    if (faultsim_draw_one_in(here, 3)) {
        faultsim_draw_add_links(here, change_ns, FAULTSIM_ACTION_LINKS, index, &up, &down);
    }
    faultsim_draw_add_links(here, here->baseline_ns, FAULTSIM_ACTION_LINKS, index,
                            &client->baseline, &client->baseline);
}

static void draw_altering(faultsim_draw *here, uint32_t index)
{
    faultsim_scenario_client *client = &here->scenario->clients[index];
    uint64_t at_ns = faultsim_draw_ns_between(here, 0, here->baseline_ns);
    uint32_t corrupt_ppm = faultsim_draw_between(here, 1, 40) * PPM_OF_PERCENT / 10;
    bool is_up = faultsim_draw_one_in(here, 2);
    bool is_both = faultsim_draw_one_in(here, 3);
    if (!faultsim_draw_happens(here, LS_CLASS_ALTER, 12)) {
        return;
    }
    ls_link_config up = client->baseline;
    ls_link_config down = client->baseline;
    up.corrupt_ppm = is_up || is_both ? corrupt_ppm : 0;
    down.corrupt_ppm = !is_up || is_both ? corrupt_ppm : 0;
    faultsim_draw_add_links(here, at_ns, FAULTSIM_ACTION_ALTER, index, &up, &down);
}

/* ---- one player's bad luck: at most one long silence each ---- */

static void draw_partition(faultsim_draw *here, uint32_t index, uint64_t from_ns,
                           uint64_t length_ns)
{
    faultsim_scenario_client *client = &here->scenario->clients[index];
    uint32_t way = ls_rng_below(&here->rng, 3);
    ls_link_config up = client->baseline;
    ls_link_config down = client->baseline;
    up.is_cut = way != 0;
    down.is_cut = way != 1;
    faultsim_draw_add_links(here, from_ns, FAULTSIM_ACTION_LINKS, index, &up, &down);
    faultsim_draw_add_links(here, from_ns + length_ns, FAULTSIM_ACTION_LINKS, index,
                            &client->baseline, &client->baseline);
}

static void draw_silence(faultsim_draw *here, uint32_t index)
{
    uint64_t from_ns = faultsim_draw_ns_between(here, 0, here->baseline_ns);
    uint64_t length_ns = faultsim_draw_ns_between(here, 5 * MS, here->silence_ns);
    uint64_t left_ns = here->baseline_ns - from_ns;
    length_ns = length_ns < left_ns ? length_ns : left_ns;
    bool is_cut = faultsim_draw_happens(here, LS_CLASS_PARTITION, 4);
    bool is_paused = faultsim_draw_happens(here, LS_CLASS_SLOW, 6);
    bool is_stepped = faultsim_draw_happens(here, LS_CLASS_CLOCK, 8);
    if (is_cut) {
        draw_partition(here, index, from_ns, length_ns);
    } else if (is_paused) {
        faultsim_draw_add_action(here, from_ns, FAULTSIM_ACTION_PAUSE, index);
        faultsim_draw_add_action(here, from_ns + length_ns, FAULTSIM_ACTION_RESUME, index);
    } else if (is_stepped) {
        faultsim_draw_add_action(here, from_ns, FAULTSIM_ACTION_STEP_CLOCK, index)->ns = length_ns;
    }
}

static void draw_departure(faultsim_draw *here, uint32_t index)
{
    faultsim_scenario_client *client = &here->scenario->clients[index];
    uint64_t at_ns = faultsim_draw_ns_between(here, 0, here->baseline_ns);
    uint32_t how = ls_rng_below(&here->rng, 4);
    if (!faultsim_draw_happens(here, LS_CLASS_VANISH, 14)) {
        return;
    }
    static const faultsim_action_kind kinds[] = {FAULTSIM_ACTION_VANISH, FAULTSIM_ACTION_LEAVE,
                                                 FAULTSIM_ACTION_HANG_UP};
    if (how < 3) {
        faultsim_draw_add_action(here, at_ns, kinds[how], index);
    } else {
        client->setup.session.ticks = faultsim_draw_between(here, 1, here->options->ticks);
    }
    client->is_free = how != 0;
    client->end = how == 0 ? LS_TIMED_OUT : LS_OK;
}

static void draw_flip(faultsim_draw *here, uint32_t index)
{
    faultsim_scenario_client *client = &here->scenario->clients[index];
    uint32_t ticks = here->options->ticks;
    uint32_t tick = faultsim_draw_between(here, 1, ticks);
    client->flip_byte = ls_rng_next(&here->rng);
    if (faultsim_draw_happens(here, LS_CLASS_FLIP, 20)) {
        client->flip_tick = tick;
        client->is_free =
            client->is_free || here->scenario->setup.match.on_desync == LS_ON_DESYNC_DROP;
    }
}

static void draw_hostility(faultsim_draw *here, uint32_t index)
{
    faultsim_scenario_client *client = &here->scenario->clients[index];
    uint64_t at_ns = faultsim_draw_ns_between(here, 0, here->baseline_ns);
    uint32_t hostility = faultsim_draw_between(here, 1, FAULTSIM_HOSTILITY_COUNT - 1);
    if (faultsim_draw_happens(here, LS_CLASS_HOSTILE, 10)) {
        client->hostility = (faultsim_hostility)hostility;
        client->is_free = true;
        faultsim_draw_add_action(here, at_ns, FAULTSIM_ACTION_TURN_HOSTILE, index);
    }
}

/* No fault: what players and hosts do in the middle of a match. */
static void draw_input_delays(faultsim_draw *here, uint32_t index)
{
    uint64_t at_ns = faultsim_draw_ns_between(here, 0, here->baseline_ns);
    uint32_t delay_ticks = faultsim_draw_between(here, 0, 12);
    faultsim_action_kind kind =
        faultsim_draw_one_in(here, 2) ? FAULTSIM_ACTION_SET_DELAY : FAULTSIM_ACTION_SET_SLOT_DELAY;
    if (faultsim_draw_one_in(here, 6)) {
        faultsim_draw_add_action(here, at_ns, kind, index)->ticks = delay_ticks;
    }
}

static void draw_client(faultsim_draw *here, uint32_t index)
{
    faultsim_draw_computer(here, index);
    draw_links(here, index);
    draw_silence(here, index);
    draw_altering(here, index);
    draw_departure(here, index);
    draw_flip(here, index);
    draw_hostility(here, index);
    draw_input_delays(here, index);
}

/* ---- what only datagrams know ---- */

static void draw_moves(faultsim_draw *here, uint32_t index)
{
    for (uint32_t left = faultsim_draw_between(here, 1, 4); left > 0; left--) {
        uint64_t at_ns = faultsim_draw_ns_between(here, 0, here->baseline_ns);
        if (faultsim_draw_happens(here, LS_CLASS_MOVE, 4)) {
            faultsim_draw_add_action(here, at_ns, FAULTSIM_ACTION_MOVE, index);
        }
    }
}

static void draw_floods(faultsim_draw *here)
{
    bool is_flooded = faultsim_draw_happens(here, LS_CLASS_FLOOD, 3);
    for (uint32_t left = faultsim_draw_between(here, 1, 8); left > 0; left--) {
        uint64_t at_ns = faultsim_draw_ns_between(here, 0, here->baseline_ns);
        uint32_t datagrams = faultsim_draw_between(here, 1, FLOOD_DATAGRAMS_MAX);
        if (is_flooded) {
            faultsim_draw_add_action(here, at_ns, FAULTSIM_ACTION_FLOOD, 0)->ticks = datagrams;
        }
    }
}

static void draw_datagrams(faultsim_draw *here)
{
    here->rng = ls_rng_make(here->scenario->seed, 0x646772);
    draw_floods(here);
    for (uint32_t i = 0; i < here->scenario->client_count; i++) {
        draw_moves(here, i);
    }
}

void faultsim_scenario_draw(faultsim_scenario *scenario, uint64_t seed,
                            const faultsim_scenario_options *options)
{
    memset(scenario, 0, sizeof *scenario);
    scenario->seed = seed;
    faultsim_draw here = {
        .scenario = scenario, .options = options, .rng = ls_rng_make(seed, 0x736365)};
    draw_match(&here);
    draw_server(&here);
    uint32_t peers = faultsim_draw_between(&here, 1, FAULTSIM_SCENARIO_UNKNOWN_PEERS_MAX);
    scenario->unknown_peer_count = faultsim_draw_happens(&here, LS_CLASS_HOSTILE, 8) ? peers : 0;
    scenario->client_count = scenario->setup.match.sim.players;
    for (uint32_t i = 0; i < scenario->client_count; i++) {
        draw_client(&here, i);
    }
    here.rng = ls_rng_make(seed, 0x726574); /* what was drawn before stays as it was */
    faultsim_draw_reconnects(&here);
    if (options->is_sealed) {
        draw_datagrams(&here);
    }
    here.rng = ls_rng_make(seed, 0x766973);
    faultsim_draw_visitors(&here);
}
