#include "lockstep/tests/lab/faultsim/scenario.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/tests/lab/faultsim/test_simulation.h"
#include "lockstep/tests/lab/virtual/sealed_network.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MS LS_NS_PER_MS
#define PPM_OF_PERCENT 10000u

/* The state of the drawing of a scenario. */
typedef struct faultsim_draw {
    faultsim_scenario *scenario;
    const faultsim_scenario_options *options;
    ls_rng rng;
    uint64_t baseline_ns; /* no fault lasts longer */
    uint64_t silence_ns;  /* no client is cut off for longer */
} faultsim_draw;

/* ---- drawing ---- */

static bool draw_one_in(faultsim_draw *here, uint32_t count)
{
    return ls_rng_below(&here->rng, count) == 0;
}

static uint32_t draw_between(faultsim_draw *here, uint32_t low, uint32_t high)
{
    return low + ls_rng_below(&here->rng, high - low + 1);
}

static uint64_t draw_ns_between(faultsim_draw *here, uint64_t low_ns, uint64_t high_ns)
{
    uint32_t share = ls_rng_next(&here->rng);
    return high_ns <= low_ns ? low_ns : low_ns + (high_ns - low_ns) / 65536 * (share >> 16);
}

static uint32_t draw_pick(faultsim_draw *here, const uint32_t *values, uint32_t count)
{
    return values[ls_rng_below(&here->rng, count)];
}

/* Draws in any case, so that leaving out one class changes no other. */
static bool draw_happens(faultsim_draw *here, faultsim_fault_class fault, uint32_t one_in_count)
{
    bool is_drawn = draw_one_in(here, one_in_count);
    return is_drawn && (here->options->classes >> fault & 1u);
}

static faultsim_action *draw_add_action(faultsim_draw *here, uint64_t at_ns,
                                        faultsim_action_kind kind, uint32_t client)
{
    faultsim_scenario *scenario = here->scenario;
    LS_ASSERT(scenario->action_count < FAULTSIM_ACTIONS_MAX);
    uint32_t at = scenario->action_count++;
    for (; at > 0 && scenario->actions[at - 1].at_ns > at_ns; at--) {
        scenario->actions[at] = scenario->actions[at - 1];
    }
    scenario->actions[at] = (faultsim_action){.at_ns = at_ns, .kind = kind, .client = client};
    return &scenario->actions[at];
}

static void draw_add_links(faultsim_draw *here, uint64_t at_ns, faultsim_action_kind kind,
                           uint32_t client, const ls_link_config *up, const ls_link_config *down)
{
    faultsim_action *action = draw_add_action(here, at_ns, kind, client);
    action->up = *up;
    action->down = *down;
}

/* ---- links and computers ---- */

/* The link that a player has for good. */
static ls_link_config draw_baseline_link(faultsim_draw *here)
{
    static const uint32_t delays_ms[] = {0, 1, 5, 15, 34, 50, 80, 150};
    /* The ticks of a round trip must fit into a packet, or nobody can keep up. */
    bool is_fast = here->scenario->setup.match.sim.tick_rate_hz > 60;
    return (ls_link_config){.delay_ns = draw_pick(here, delays_ms, is_fast ? 6 : 8) * MS};
}

static ls_link_config draw_impairments(faultsim_draw *here, const ls_link_config *baseline)
{
    ls_link_config link = *baseline;
    uint32_t loss_ppm = draw_between(here, 1, 30) * PPM_OF_PERCENT;
    uint32_t burst_ppm = draw_between(here, 1, 30) * PPM_OF_PERCENT;
    uint32_t burst_milli = draw_between(here, 1000, 16000);
    uint64_t jitter_ns = draw_ns_between(here, MS, 60 * MS);
    uint32_t duplicate_ppm = draw_between(here, 1, 30) * PPM_OF_PERCENT;
    if (draw_happens(here, LS_CLASS_LOSS, 3)) {
        link.loss_ppm = loss_ppm;
    }
    if (draw_happens(here, LS_CLASS_BURST, 4)) {
        link.burst_ppm = burst_ppm;
        link.burst_milli = burst_milli;
        link.burst_loss_ppm = 100 * PPM_OF_PERCENT;
    }
    if (draw_happens(here, LS_CLASS_JITTER, 3)) {
        link.jitter_ns = jitter_ns;
    }
    if (draw_happens(here, LS_CLASS_DUPLICATE, 4)) {
        link.duplicate_ppm = duplicate_ppm;
    }
    return link;
}

static void draw_computer(faultsim_draw *here, uint32_t index)
{
    static const uint32_t usual[] = {60, 60, 60, 60, 72, 144};
    static const uint32_t slow[] = {10, 20, 30, 45};
    virtual_client_setup *setup = &here->scenario->clients[index].setup;
    setup->frame_hz = draw_pick(here, usual, 6);
    uint32_t slow_hz = draw_pick(here, slow, 4);
    if (draw_happens(here, LS_CLASS_SLOW, 8)) {
        setup->frame_hz = slow_hz;
    }
    uint64_t frame_ns = LS_NS_PER_SECOND / setup->frame_hz;
    uint64_t jitter_ns = draw_ns_between(here, 0, frame_ns / 2);
    setup->frame_jitter_ns = draw_happens(here, LS_CLASS_SLOW, 4) ? jitter_ns : 0;
    int32_t drift_ppm = ls_rng_between(&here->rng, -500, 500);
    setup->drift_ppm = draw_happens(here, LS_CLASS_CLOCK, 2) ? drift_ppm : 0;
    setup->session = ls_session_config_default();
    setup->session.keeps_previous_state = draw_one_in(here, 8);
    setup->session.makes_inputs_between_frames = !draw_one_in(here, 3);
    uint32_t predict_ticks = draw_between(here, 1, 12);
    setup->session.predict_ticks = draw_one_in(here, 4) ? predict_ticks : 0;
    setup->simulation = here->scenario->setup.match.simulation;
}

enum {
    RECONNECT_MS = 30000,
    CRASHES_MAX = 3,
};

/* ---- the server dies ---- */

static void draw_journal(faultsim_draw *here)
{
    virtual_setup *setup = &here->scenario->setup;
    setup->has_journal = true;
    setup->block_ms = draw_between(here, 20, 1000);
    setup->snapshot_ms = draw_between(here, 300, 10000);
    setup->disk.delay_min_ns = draw_ns_between(here, 0, 2 * MS);
    setup->disk.delay_max_ns = draw_ns_between(here, 2 * MS, 60 * MS);
}

/* Those who do not are lost with it. */
static void let_return(faultsim_draw *here, uint32_t all_but_one_in)
{
    for (uint32_t i = 0; i < here->scenario->client_count; i++) {
        bool is_stubborn = draw_one_in(here, all_but_one_in);
        if (!is_stubborn) {
            here->scenario->clients[i].setup.session.reconnect_ms = RECONNECT_MS;
        }
    }
}

static void draw_crashes(faultsim_draw *here)
{
    uint32_t crashes = draw_one_in(here, 3) ? draw_between(here, 2, CRASHES_MAX) : 1;
    uint32_t wait_ms = draw_between(here, 2000, 10000);
    if (!draw_happens(here, LS_CLASS_CRASH, 6)) {
        return;
    }
    here->scenario->setup.match.resume_wait_ms = wait_ms;
    draw_journal(here);
    let_return(here, 16);
    for (uint32_t i = 0; i < crashes; i++) {
        uint64_t at_ns = draw_ns_between(here, 0, here->baseline_ns);
        uint64_t away_ns = draw_ns_between(here, 100 * MS, 5000 * MS);
        draw_add_action(here, at_ns, FAULTSIM_ACTION_CRASH, 0)->ns = away_ns;
    }
}

static virtual_disk_state draw_disk(faultsim_draw *here)
{
    virtual_disk_state disk = here->scenario->setup.disk;
    uint32_t how = draw_between(here, 0, 2);
    uint64_t delay_ns = draw_ns_between(here, 50 * MS, 1500 * MS);
    uint32_t failing = draw_between(here, 5, 60);
    if (how == 0) {
        disk.is_full = true;
    } else if (how == 1) {
        disk.delay_max_ns = delay_ns;
    } else {
        disk.failing_ppm = failing * PPM_OF_PERCENT;
    }
    return disk;
}

static void draw_disk_faults(faultsim_draw *here)
{
    if (!draw_happens(here, LS_CLASS_DISK, 8)) {
        return;
    }
    if (!here->scenario->setup.has_journal) {
        draw_journal(here);
    }
    for (uint32_t count = draw_between(here, 1, 3); count > 0; count--) {
        uint64_t at_ns = draw_ns_between(here, 0, here->baseline_ns);
        uint64_t length_ns = draw_ns_between(here, 50 * MS, 3000 * MS);
        uint64_t end_ns = at_ns + length_ns;
        draw_add_action(here, at_ns, FAULTSIM_ACTION_SET_DISK, 0)->disk = draw_disk(here);
        draw_add_action(here, end_ns < here->baseline_ns ? end_ns : here->baseline_ns,
                        FAULTSIM_ACTION_SET_DISK, 0)
            ->disk = here->scenario->setup.disk;
    }
}

/* ---- players come late, and back ---- */

static void flip_on_entry(faultsim_draw *here, uint32_t index)
{
    if (draw_happens(here, LS_CLASS_FLIP, 8)) {
        here->scenario->clients[index].flips_on_entry = true;
        here->scenario->clients[index].is_free = true;
    }
}

static void draw_late_players(faultsim_draw *here)
{
    faultsim_scenario *scenario = here->scenario;
    ls_match_config *match = &scenario->setup.match;
    if (!draw_happens(here, LS_CLASS_JOIN, 6) || match->sim.players < 2) {
        return;
    }
    match->start_players = draw_between(here, 1, match->sim.players - 1);
    for (uint32_t i = match->start_players; i < match->sim.players; i++) {
        scenario->clients[i].setup.comes_later = true;
        uint64_t at_ns = draw_ns_between(here, 0, here->baseline_ns);
        draw_add_action(here, at_ns, FAULTSIM_ACTION_COME, i);
        flip_on_entry(here, i);
    }
}

static void cut_link(faultsim_draw *here, uint32_t index)
{
    faultsim_scenario_client *client = &here->scenario->clients[index];
    uint64_t from_ns = draw_ns_between(here, 0, here->baseline_ns);
    uint64_t end_ns = from_ns + draw_ns_between(here, 1200 * MS, 6000 * MS);
    uint32_t way = draw_between(here, 0, 2);
    ls_link_config up = client->baseline;
    ls_link_config down = client->baseline;
    up.is_cut = way != 0;
    down.is_cut = way != 1;
    end_ns = end_ns < here->baseline_ns ? end_ns : here->baseline_ns;
    client->is_free = client->is_free || client->setup.session.reconnect_ms == 0;
    draw_add_links(here, from_ns, FAULTSIM_ACTION_CUT_LINK, index, &up, &down);
    draw_add_links(here, end_ns, FAULTSIM_ACTION_LINKS, index, &client->baseline,
                   &client->baseline);
}

static void draw_lost_links(faultsim_draw *here)
{
    static const uint32_t kept_ms[] = {30000, 30000, 30000, 3000, 0};
    uint32_t keep_seat_ms = draw_pick(here, kept_ms, 5);
    if (!draw_happens(here, LS_CLASS_RECONNECT, 4)) {
        return;
    }
    here->scenario->setup.match.keep_seat_ms = keep_seat_ms;
    let_return(here, 4);
    for (uint32_t i = 0; i < here->scenario->client_count; i++) {
        if (draw_one_in(here, 2)) {
            cut_link(here, i);
            flip_on_entry(here, i);
        }
    }
}

/* ---- watching ---- */

static void draw_spectator_trouble(faultsim_draw *here, uint32_t index)
{
    faultsim_scenario_client *client = &here->scenario->clients[index];
    uint64_t at_ns = draw_ns_between(here, 0, here->baseline_ns);
    uint64_t length_ns = draw_ns_between(here, 5 * MS, 8000 * MS);
    uint64_t left_ns = here->baseline_ns - at_ns;
    uint32_t what = draw_between(here, 0, 9);
    if (what == 0) {
        draw_add_action(here, at_ns, FAULTSIM_ACTION_LEAVE, index);
        client->is_free = true;
    } else if (what == 1) {
        draw_add_action(here, at_ns, FAULTSIM_ACTION_VANISH, index);
        client->is_free = true;
    } else if (what == 2) {
        client->flip_tick = draw_between(here, 1, here->options->ticks);
        client->flip_byte = ls_rng_next(&here->rng);
        client->is_free = true;
    } else if (what < 6) {
        client->is_free = client->setup.session.reconnect_ms == 0;
        draw_add_action(here, at_ns, FAULTSIM_ACTION_PAUSE, index);
        draw_add_action(here, at_ns + (length_ns < left_ns ? length_ns : left_ns),
                        FAULTSIM_ACTION_RESUME, index);
    }
}

static void draw_spectator(faultsim_draw *here, uint32_t index)
{
    faultsim_scenario_client *client = &here->scenario->clients[index];
    draw_computer(here, index);
    client->setup.session.predict_ticks = 0;
    client->setup.session.is_spectator = true;
    client->baseline = draw_baseline_link(here);
    client->setup.up = draw_impairments(here, &client->baseline);
    client->setup.down = draw_impairments(here, &client->baseline);
    draw_add_links(here, here->baseline_ns, FAULTSIM_ACTION_LINKS, index, &client->baseline,
                   &client->baseline);
    bool is_returning = draw_one_in(here, 2) || here->scenario->setup.match.resume_wait_ms > 0;
    client->setup.session.reconnect_ms = is_returning ? RECONNECT_MS : 0;
    client->setup.comes_later = draw_one_in(here, 2);
    if (client->setup.comes_later) {
        uint64_t at_ns = draw_ns_between(here, 0, here->baseline_ns);
        draw_add_action(here, at_ns, FAULTSIM_ACTION_COME, index);
    }
    draw_spectator_trouble(here, index);
}

static void draw_spectators(faultsim_draw *here)
{
    static const uint32_t delays[] = {0, 6, 60, 60, 200};
    faultsim_scenario *scenario = here->scenario;
    uint32_t spectators = draw_between(here, 1, FAULTSIM_SCENARIO_SPECTATORS_MAX);
    uint32_t delay_ticks = draw_pick(here, delays, 5);
    if (!draw_happens(here, LS_CLASS_WATCH, 5)) {
        return;
    }
    scenario->setup.match.spectators_max = FAULTSIM_SCENARIO_SPECTATORS_MAX;
    scenario->setup.match.spectator_delay_ticks = delay_ticks;
    for (uint32_t i = 0; i < spectators; i++) {
        draw_spectator(here, scenario->client_count++);
    }
}

static void draw_reconnects(faultsim_draw *here)
{
    draw_spectators(here);
    draw_late_players(here);
    draw_lost_links(here);
    draw_crashes(here);
    draw_disk_faults(here);
}

/* ---- visitors ---- */

enum {
    VISITED_SPECTATORS_MAX = 64, /* places, of which each visitor may hold some for a while */
};

static faultsim_visitor_kind draw_kind(faultsim_draw *here)
{
    const ls_match_config *match = &here->scenario->setup.match;
    faultsim_visitor_kind kind =
        (faultsim_visitor_kind)ls_rng_below(&here->rng, FAULTSIM_VISITOR_KIND_COUNT);
    /* Its player would hold up the match, or the match would end with its first lie. */
    bool may_play = match->late_rule == LS_LATE_REPEAT && match->on_desync != LS_ON_DESYNC_STOP;
    return kind == FAULTSIM_VISITOR_LIES && !may_play ? FAULTSIM_VISITOR_RETURNS : kind;
}

static void draw_visitor(faultsim_draw *here, faultsim_visitor_kind kind)
{
    static const uint32_t delays_ms[] = {0, 1, 10, 50};
    faultsim_scenario *scenario = here->scenario;
    scenario->visitors[scenario->visitor_count++] =
        (faultsim_scenario_visitor){.kind = kind,
                                    .from_ns = draw_ns_between(here, 0, here->baseline_ns),
                                    .end_ns = here->baseline_ns + 10000 * MS,
                                    .pause_ns = draw_ns_between(here, MS, 300 * MS),
                                    .delay_ns = draw_pick(here, delays_ms, 4) * MS};
}

/* They come when all faults but the visitors are over, over links without any. */
static void draw_newcomer(faultsim_draw *here, bool is_spectator)
{
    faultsim_scenario *scenario = here->scenario;
    uint32_t index = scenario->client_count++;
    faultsim_scenario_client *client = &scenario->clients[index];
    uint64_t at_ns = here->baseline_ns + draw_ns_between(here, 0, 1500 * MS);
    draw_computer(here, index);
    client->baseline = draw_baseline_link(here);
    client->setup.up = client->baseline;
    client->setup.down = client->baseline;
    client->setup.comes_later = true;
    client->setup.session.is_spectator = is_spectator;
    client->setup.session.predict_ticks = is_spectator ? 0 : client->setup.session.predict_ticks;
    draw_add_action(here, at_ns, FAULTSIM_ACTION_COME, index);
}

static void draw_visitors(faultsim_draw *here)
{
    faultsim_scenario *scenario = here->scenario;
    ls_match_config *match = &scenario->setup.match;
    bool is_visited = draw_happens(here, LS_CLASS_VISIT, 6);
    uint32_t visitors = draw_between(here, 1, FAULTSIM_SCENARIO_VISITORS_MAX);
    uint32_t players = match->sim.players + visitors + 1;
    if (!is_visited || players > match->simulation->players_max) {
        return;
    }
    /* One who means it ill seldom comes alone. */
    bool is_alike = draw_one_in(here, 2);
    faultsim_visitor_kind kind = draw_kind(here);
    for (uint32_t i = 0; i < visitors; i++) {
        faultsim_visitor_kind other = draw_kind(here);
        draw_visitor(here, is_alike ? kind : other);
    }
    match->start_players = match->start_players > 0 ? match->start_players : match->sim.players;
    match->sim.players = players;
    match->spectators_max = VISITED_SPECTATORS_MAX;
    match->ticks += match->ticks / 2;
    draw_newcomer(here, false);
    draw_newcomer(here, true);
}

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
    bool is_large = draw_one_in(here, LARGE_ONE_IN);
    uint32_t large_bytes = draw_between(here, 1, LARGE_BYTES_MAX);
    uint32_t small_bytes = draw_one_in(here, 8) ? TEST_SMALL_BYTES : draw_between(here, 1, 3);
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
    uint32_t players = draw_between(here, 2, 6);
    match->sim.players = here->options->players > 0 ? here->options->players : players;
    match->sim.tick_rate_hz = draw_pick(here, tick_rates, 8);
    bool is_large = match->simulation == test_simulation();
    if (is_large && match->sim.tick_rate_hz > 60) {
        match->sim.tick_rate_hz = 60; /* 32 ticks a round trip are all that goes out in parts */
    }
    match->hash_interval_ticks = draw_pick(here, intervals, 8);
    match->input_delay_ticks = draw_pick(here, delays, 5);
    match->timeout_ms = draw_pick(here, timeouts, 3);
    match->adapts_input_delay = draw_one_in(here, 4);
    match->send_rate = (ls_send_rate)ls_rng_below(&here->rng, LS_SEND_SAVING);
    bool is_saving = match->send_rate == LS_SEND_HALF && here->scenario->seed % 2 == 0;
    match->send_rate = is_saving ? LS_SEND_SAVING : match->send_rate;
    match->late_rule = draw_one_in(here, 4) ? LS_LATE_WAIT : LS_LATE_REPEAT;
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
    scenario->server_drift_ppm = draw_happens(here, LS_CLASS_CLOCK, 2) ? drift_ppm : 0;
    uint64_t loop_ns = draw_ns_between(here, MS, 5 * MS);
    scenario->server_loop_ns = draw_one_in(here, 6) ? loop_ns : 0;
    uint64_t at_ns = draw_ns_between(here, 0, here->baseline_ns);
    uint64_t pause_ns = draw_ns_between(here, 5 * MS, 600 * MS);
    pause_ns = pause_ns < here->baseline_ns - at_ns ? pause_ns : here->baseline_ns - at_ns;
    if (draw_happens(here, LS_CLASS_SLOW, 6)) {
        draw_add_action(here, at_ns, FAULTSIM_ACTION_PAUSE_SERVER, 0);
        draw_add_action(here, at_ns + pause_ns, FAULTSIM_ACTION_RESUME_SERVER, 0);
    }
    at_ns = draw_ns_between(here, 0, here->baseline_ns);
    uint64_t step_ns = draw_ns_between(here, 5 * MS, 600 * MS);
    if (draw_happens(here, LS_CLASS_CLOCK, 8)) {
        draw_add_action(here, at_ns, FAULTSIM_ACTION_STEP_SERVER_CLOCK, 0)->ns = step_ns;
    }
}

/* ---- links ---- */

static void draw_links(faultsim_draw *here, uint32_t index)
{
    faultsim_scenario_client *client = &here->scenario->clients[index];
    client->baseline = draw_baseline_link(here);
    ls_link_config first_up = draw_impairments(here, &client->baseline);
    ls_link_config first_down = draw_impairments(here, &client->baseline);
    draw_add_links(here, 0, FAULTSIM_ACTION_LINKS, index, &first_up, &first_down);
    /* Bursts could keep somebody from taking a seat for so long that the server gives up. */
    client->setup.up = first_up;
    client->setup.down = first_down;
    client->setup.up.burst_ppm = 0;
    client->setup.down.burst_ppm = 0;
    uint64_t change_ns = draw_ns_between(here, 0, here->baseline_ns);
    ls_link_config up = draw_impairments(here, &client->baseline);
    ls_link_config down = draw_impairments(here, &client->baseline);
    if (draw_one_in(here, 3)) {
        draw_add_links(here, change_ns, FAULTSIM_ACTION_LINKS, index, &up, &down);
    }
    draw_add_links(here, here->baseline_ns, FAULTSIM_ACTION_LINKS, index, &client->baseline,
                   &client->baseline);
}

static void draw_altering(faultsim_draw *here, uint32_t index)
{
    faultsim_scenario_client *client = &here->scenario->clients[index];
    uint64_t at_ns = draw_ns_between(here, 0, here->baseline_ns);
    uint32_t corrupt_ppm = draw_between(here, 1, 40) * PPM_OF_PERCENT / 10;
    bool is_up = draw_one_in(here, 2);
    bool is_both = draw_one_in(here, 3);
    if (!draw_happens(here, LS_CLASS_ALTER, 12)) {
        return;
    }
    ls_link_config up = client->baseline;
    ls_link_config down = client->baseline;
    up.corrupt_ppm = is_up || is_both ? corrupt_ppm : 0;
    down.corrupt_ppm = !is_up || is_both ? corrupt_ppm : 0;
    draw_add_links(here, at_ns, FAULTSIM_ACTION_ALTER, index, &up, &down);
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
    draw_add_links(here, from_ns, FAULTSIM_ACTION_LINKS, index, &up, &down);
    draw_add_links(here, from_ns + length_ns, FAULTSIM_ACTION_LINKS, index, &client->baseline,
                   &client->baseline);
}

static void draw_silence(faultsim_draw *here, uint32_t index)
{
    uint64_t from_ns = draw_ns_between(here, 0, here->baseline_ns);
    uint64_t length_ns = draw_ns_between(here, 5 * MS, here->silence_ns);
    uint64_t left_ns = here->baseline_ns - from_ns;
    length_ns = length_ns < left_ns ? length_ns : left_ns;
    bool is_cut = draw_happens(here, LS_CLASS_PARTITION, 4);
    bool is_paused = draw_happens(here, LS_CLASS_SLOW, 6);
    bool is_stepped = draw_happens(here, LS_CLASS_CLOCK, 8);
    if (is_cut) {
        draw_partition(here, index, from_ns, length_ns);
    } else if (is_paused) {
        draw_add_action(here, from_ns, FAULTSIM_ACTION_PAUSE, index);
        draw_add_action(here, from_ns + length_ns, FAULTSIM_ACTION_RESUME, index);
    } else if (is_stepped) {
        draw_add_action(here, from_ns, FAULTSIM_ACTION_STEP_CLOCK, index)->ns = length_ns;
    }
}

static void draw_departure(faultsim_draw *here, uint32_t index)
{
    faultsim_scenario_client *client = &here->scenario->clients[index];
    uint64_t at_ns = draw_ns_between(here, 0, here->baseline_ns);
    uint32_t how = ls_rng_below(&here->rng, 4);
    if (!draw_happens(here, LS_CLASS_VANISH, 14)) {
        return;
    }
    static const faultsim_action_kind kinds[] = {FAULTSIM_ACTION_VANISH, FAULTSIM_ACTION_LEAVE,
                                                 FAULTSIM_ACTION_HANG_UP};
    if (how < 3) {
        draw_add_action(here, at_ns, kinds[how], index);
    } else {
        client->setup.session.ticks = draw_between(here, 1, here->options->ticks);
    }
    client->is_free = how != 0;
    client->end = how == 0 ? LS_TIMED_OUT : LS_OK;
}

static void draw_flip(faultsim_draw *here, uint32_t index)
{
    faultsim_scenario_client *client = &here->scenario->clients[index];
    uint32_t ticks = here->options->ticks;
    uint32_t tick = draw_between(here, 1, ticks);
    client->flip_byte = ls_rng_next(&here->rng);
    if (draw_happens(here, LS_CLASS_FLIP, 20)) {
        client->flip_tick = tick;
        client->is_free =
            client->is_free || here->scenario->setup.match.on_desync == LS_ON_DESYNC_DROP;
    }
}

static void draw_hostility(faultsim_draw *here, uint32_t index)
{
    faultsim_scenario_client *client = &here->scenario->clients[index];
    uint64_t at_ns = draw_ns_between(here, 0, here->baseline_ns);
    uint32_t hostility = draw_between(here, 1, FAULTSIM_HOSTILITY_COUNT - 1);
    if (draw_happens(here, LS_CLASS_HOSTILE, 10)) {
        client->hostility = (faultsim_hostility)hostility;
        client->is_free = true;
        draw_add_action(here, at_ns, FAULTSIM_ACTION_TURN_HOSTILE, index);
    }
}

/* No fault: what players and hosts do in the middle of a match. */
static void draw_input_delays(faultsim_draw *here, uint32_t index)
{
    uint64_t at_ns = draw_ns_between(here, 0, here->baseline_ns);
    uint32_t delay_ticks = draw_between(here, 0, 12);
    faultsim_action_kind kind =
        draw_one_in(here, 2) ? FAULTSIM_ACTION_SET_DELAY : FAULTSIM_ACTION_SET_SLOT_DELAY;
    if (draw_one_in(here, 6)) {
        draw_add_action(here, at_ns, kind, index)->ticks = delay_ticks;
    }
}

static void draw_client(faultsim_draw *here, uint32_t index)
{
    draw_computer(here, index);
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
    for (uint32_t left = draw_between(here, 1, 4); left > 0; left--) {
        uint64_t at_ns = draw_ns_between(here, 0, here->baseline_ns);
        if (draw_happens(here, LS_CLASS_MOVE, 4)) {
            draw_add_action(here, at_ns, FAULTSIM_ACTION_MOVE, index);
        }
    }
}

static void draw_floods(faultsim_draw *here)
{
    bool is_flooded = draw_happens(here, LS_CLASS_FLOOD, 3);
    for (uint32_t left = draw_between(here, 1, 8); left > 0; left--) {
        uint64_t at_ns = draw_ns_between(here, 0, here->baseline_ns);
        uint32_t datagrams = draw_between(here, 1, FLOOD_DATAGRAMS_MAX);
        if (is_flooded) {
            draw_add_action(here, at_ns, FAULTSIM_ACTION_FLOOD, 0)->ticks = datagrams;
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
    uint32_t peers = draw_between(&here, 1, FAULTSIM_SCENARIO_UNKNOWN_PEERS_MAX);
    scenario->unknown_peer_count = draw_happens(&here, LS_CLASS_HOSTILE, 8) ? peers : 0;
    scenario->client_count = scenario->setup.match.sim.players;
    for (uint32_t i = 0; i < scenario->client_count; i++) {
        draw_client(&here, i);
    }
    here.rng = ls_rng_make(seed, 0x726574); /* what was drawn before stays as it was */
    draw_reconnects(&here);
    if (options->is_sealed) {
        draw_datagrams(&here);
    }
    here.rng = ls_rng_make(seed, 0x766973);
    draw_visitors(&here);
}

/* ---- in words ---- */

const char *faultsim_fault_class_key(faultsim_fault_class fault)
{
    static const char *const keys[] = {
#define KEY(name, key, text) #key,
        FAULTSIM_FAULT_CLASS_MAP(KEY)
#undef KEY
    };
    return keys[fault];
}

const char *faultsim_fault_class_text(faultsim_fault_class fault)
{
    static const char *const texts[] = {
#define TEXT(name, key, text) text,
        FAULTSIM_FAULT_CLASS_MAP(TEXT)
#undef TEXT
    };
    return texts[fault];
}

const char *faultsim_hostility_name(faultsim_hostility hostility)
{
    static const char *const names[FAULTSIM_HOSTILITY_COUNT] = {
        "nothing", "garbage", "replayed packets", "bent packets", "lies", "a flood", "silence"};
    return names[hostility];
}

const char *faultsim_visitor_name(faultsim_visitor_kind kind)
{
    static const char *const names[FAULTSIM_VISITOR_KIND_COUNT] = {
        "comes back for a state",
        "comes anew for a state",
        "comes to watch for a state",
        "takes nothing of its state",
        "watches and takes nothing of its state",
        "takes a seat without a word",
        "sends large messages",
        "lies about its states"};
    return names[kind];
}

const char *faultsim_action_name(faultsim_action_kind kind)
{
    static const char *const names[] = {"the links change",
                                        "the links alter bits",
                                        "stands still",
                                        "goes on",
                                        "its clock jumps",
                                        "vanishes",
                                        "leaves",
                                        "hangs up",
                                        "turns hostile",
                                        "wants another input delay",
                                        "is given another input delay",
                                        "comes",
                                        "comes from another address",
                                        "its link is cut",
                                        "the server stands still",
                                        "the server goes on",
                                        "the server's clock jumps",
                                        "the server dies",
                                        "the disk changes",
                                        "hostile datagrams come"};
    return names[kind];
}

/* Text that grows until its room is used up. */
typedef struct writer {
    char *text;
    size_t capacity;
    size_t size;
} writer;

static void add(writer *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(writer *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(out->text + out->size, out->capacity - out->size, format, arguments);
    va_end(arguments);
    out->size += size > 0 ? (size_t)size : 0;
    out->size = out->size < out->capacity ? out->size : out->capacity - 1;
}

static void add_link(writer *out, const char *way, const ls_link_config *link)
{
    add(out, " %s %.0f", way, (double)link->delay_ns / 1e6);
    if (link->jitter_ns > 0) {
        add(out, "+%.0f", (double)link->jitter_ns / 1e6);
    }
    add(out, " ms");
    if (link->loss_ppm > 0) {
        add(out, " loss %u %%", link->loss_ppm / 10000);
    }
    if (link->burst_ppm > 0) {
        add(out, " bursts %.1f %% of %.1f packets", link->burst_ppm / 1e4, link->burst_milli / 1e3);
    }
    if (link->duplicate_ppm > 0) {
        add(out, " twice %u %%", link->duplicate_ppm / 10000);
    }
    if (link->corrupt_ppm > 0) {
        add(out, " altered %.1f %%", link->corrupt_ppm / 1e4);
    }
    add(out, "%s", link->is_cut ? " cut" : "");
}

static void describe_client(writer *out, const faultsim_scenario *scenario, uint32_t index)
{
    const faultsim_scenario_client *client = &scenario->clients[index];
    add(out, "\nclient %u: %u Hz", index, client->setup.frame_hz);
    if (client->setup.frame_jitter_ns > 0) {
        add(out, " uneven");
    }
    add(out, ", drift %d ppm,", client->setup.drift_ppm);
    add_link(out, "up", &client->setup.up);
    add_link(out, ", down", &client->setup.down);
    if (client->setup.session.ticks > 0) {
        add(out, ", leaves after %u ticks", client->setup.session.ticks);
    }
    if (client->setup.session.predict_ticks > 0) {
        add(out, ", predicts %u ticks", client->setup.session.predict_ticks);
    }
    if (!client->setup.session.makes_inputs_between_frames) {
        add(out, ", inputs in frames");
    }
    if (client->flip_tick > 0) {
        add(out, ", a bit flips in state %u", client->flip_tick);
    }
    add(out, "%s%s", client->setup.session.is_spectator ? ", watches" : "",
        client->setup.comes_later ? ", comes later" : "");
    if (client->setup.session.reconnect_ms > 0) {
        add(out, ", comes back within %u ms", client->setup.session.reconnect_ms);
    }
    if (client->hostility != FAULTSIM_HOSTILITY_NONE) {
        add(out, ", turns to %s", faultsim_hostility_name(client->hostility));
    }
}

static void add_disk(writer *out, const virtual_disk_state *disk)
{
    add(out, ": %.0f to %.0f ms", (double)disk->delay_min_ns / 1e6,
        (double)disk->delay_max_ns / 1e6);
    if (disk->failing_ppm > 0) {
        add(out, ", %.0f %% of writes fail", disk->failing_ppm / 1e4);
    }
    add(out, "%s", disk->is_full ? ", full" : "");
}

static void describe_action(writer *out, const faultsim_action *action)
{
    bool is_servers = action->kind >= FAULTSIM_ACTION_PAUSE_SERVER;
    add(out, "\n%.3f s: ", (double)action->at_ns / 1e9);
    if (!is_servers) {
        add(out, "client %u ", action->client);
    }
    add(out, "%s", faultsim_action_name(action->kind));
    if (action->kind == FAULTSIM_ACTION_LINKS || action->kind == FAULTSIM_ACTION_ALTER ||
        action->kind == FAULTSIM_ACTION_CUT_LINK) {
        add_link(out, ": up", &action->up);
        add_link(out, ", down", &action->down);
    } else if (action->kind == FAULTSIM_ACTION_SET_DISK) {
        add_disk(out, &action->disk);
    } else if (action->kind == FAULTSIM_ACTION_FLOOD) {
        add(out, ": %u", action->ticks);
    } else if (action->ticks > 0) {
        add(out, ": %u ticks", action->ticks);
    } else if (action->ns > 0) {
        add(out, action->kind == FAULTSIM_ACTION_CRASH ? ", for %.0f ms" : " by %.0f ms",
            (double)action->ns / 1e6);
    }
}

void faultsim_scenario_describe(const faultsim_scenario *scenario, char *text, size_t capacity)
{
    static const char *const policies[] = {"report", "drop", "stop"};
    static const char *const rates[LS_SEND_RATE_COUNT] = {"", ", a packet every two ticks",
                                                          ", a packet a tick",
                                                          ", two packets a tick", ", few packets"};
    const ls_match_config *match = &scenario->setup.match;
    writer out = {text, capacity, 0};
    add(&out,
        "seed %" PRIu64 ": %s, %u players, %u ticks at %u Hz, rule %s, on desync %s, hashes every "
        "%u, input delay %u, timeout %u ms",
        scenario->seed, match->simulation->name, match->sim.players, match->ticks,
        match->sim.tick_rate_hz, match->late_rule == LS_LATE_WAIT ? "wait" : "repeat",
        policies[match->on_desync], match->hash_interval_ticks, match->input_delay_ticks,
        match->timeout_ms);
    add(&out, "%s%s", match->adapts_input_delay ? ", adapts the input delay" : "",
        rates[match->send_rate]);
    add(&out, "\nserver: drift %d ppm, loop %.1f ms, unknown peers %u", scenario->server_drift_ppm,
        (double)scenario->server_loop_ns / 1e6, scenario->unknown_peer_count);
    if (match->start_players > 0) {
        add(&out, ", starts with %u players", match->start_players);
    }
    add(&out, ", seats kept for %u ms", match->keep_seat_ms);
    if (scenario->setup.has_journal) {
        add(&out,
            "\njournal: blocks of %u ms, snapshots every %u ms, waits %u ms for who comes back",
            scenario->setup.block_ms, scenario->setup.snapshot_ms, match->resume_wait_ms);
        add_disk(&out, &scenario->setup.disk);
    }
    for (uint32_t i = 0; i < scenario->client_count; i++) {
        describe_client(&out, scenario, i);
    }
    for (uint32_t i = 0; i < scenario->visitor_count; i++) {
        const faultsim_scenario_visitor *visitor = &scenario->visitors[i];
        add(&out, "\nvisitor %u: %s, from %.3f s on, away for %.0f ms, link of %.0f ms", i,
            faultsim_visitor_name(visitor->kind), (double)visitor->from_ns / 1e9,
            (double)visitor->pause_ns / 1e6, (double)visitor->delay_ns / 1e6);
    }
    for (uint32_t i = 0; i < scenario->action_count; i++) {
        describe_action(&out, &scenario->actions[i]);
    }
}
