#include "lockstep/tests/lab/faultsim/scenario_draw.h"

#include <stdio.h>

enum {
    RECONNECT_MS = 30000,
    CRASHES_MAX = 3,
};

/* ---- the server dies ---- */

static void draw_journal(faultsim_draw *here)
{
    virtual_setup *setup = &here->scenario->setup;
    setup->has_journal = true;
    setup->block_ms = faultsim_draw_between(here, 20, 1000);
    setup->snapshot_ms = faultsim_draw_between(here, 300, 10000);
    setup->disk.delay_min_ns = faultsim_draw_ns_between(here, 0, 2 * MS);
    setup->disk.delay_max_ns = faultsim_draw_ns_between(here, 2 * MS, 60 * MS);
}

/* Those who do not are lost with it. */
static void let_return(faultsim_draw *here, uint32_t all_but_one_in)
{
    for (uint32_t i = 0; i < here->scenario->client_count; i++) {
        bool is_stubborn = faultsim_draw_one_in(here, all_but_one_in);
        if (!is_stubborn) {
            here->scenario->clients[i].setup.session.reconnect_ms = RECONNECT_MS;
        }
    }
}

static void draw_crashes(faultsim_draw *here)
{
    uint32_t crashes =
        faultsim_draw_one_in(here, 3) ? faultsim_draw_between(here, 2, CRASHES_MAX) : 1;
    uint32_t wait_ms = faultsim_draw_between(here, 2000, 10000);
    if (!faultsim_draw_happens(here, LS_CLASS_CRASH, 6)) {
        return;
    }
    here->scenario->setup.match.resume_wait_ms = wait_ms;
    draw_journal(here);
    let_return(here, 16);
    for (uint32_t i = 0; i < crashes; i++) {
        uint64_t at_ns = faultsim_draw_ns_between(here, 0, here->baseline_ns);
        uint64_t away_ns = faultsim_draw_ns_between(here, 100 * MS, 5000 * MS);
        faultsim_draw_add_action(here, at_ns, FAULTSIM_ACTION_CRASH, 0)->ns = away_ns;
    }
}

static virtual_disk_state draw_disk(faultsim_draw *here)
{
    virtual_disk_state disk = here->scenario->setup.disk;
    uint32_t how = faultsim_draw_between(here, 0, 2);
    uint64_t delay_ns = faultsim_draw_ns_between(here, 50 * MS, 1500 * MS);
    uint32_t failing = faultsim_draw_between(here, 5, 60);
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
    if (!faultsim_draw_happens(here, LS_CLASS_DISK, 8)) {
        return;
    }
    if (!here->scenario->setup.has_journal) {
        draw_journal(here);
    }
    for (uint32_t count = faultsim_draw_between(here, 1, 3); count > 0; count--) {
        uint64_t at_ns = faultsim_draw_ns_between(here, 0, here->baseline_ns);
        uint64_t length_ns = faultsim_draw_ns_between(here, 50 * MS, 3000 * MS);
        uint64_t end_ns = at_ns + length_ns;
        faultsim_draw_add_action(here, at_ns, FAULTSIM_ACTION_SET_DISK, 0)->disk = draw_disk(here);
        faultsim_draw_add_action(here, end_ns < here->baseline_ns ? end_ns : here->baseline_ns,
                                 FAULTSIM_ACTION_SET_DISK, 0)
            ->disk = here->scenario->setup.disk;
    }
}

/* ---- players come late, and back ---- */

static void flip_on_entry(faultsim_draw *here, uint32_t index)
{
    if (faultsim_draw_happens(here, LS_CLASS_FLIP, 8)) {
        here->scenario->clients[index].flips_on_entry = true;
        here->scenario->clients[index].is_free = true;
    }
}

static void draw_late_players(faultsim_draw *here)
{
    faultsim_scenario *scenario = here->scenario;
    ls_match_config *match = &scenario->setup.match;
    if (!faultsim_draw_happens(here, LS_CLASS_JOIN, 6) || match->sim.players < 2) {
        return;
    }
    match->start_players = faultsim_draw_between(here, 1, match->sim.players - 1);
    for (uint32_t i = match->start_players; i < match->sim.players; i++) {
        scenario->clients[i].setup.comes_later = true;
        uint64_t at_ns = faultsim_draw_ns_between(here, 0, here->baseline_ns);
        faultsim_draw_add_action(here, at_ns, FAULTSIM_ACTION_COME, i);
        flip_on_entry(here, i);
    }
}

static void cut_link(faultsim_draw *here, uint32_t index)
{
    faultsim_scenario_client *client = &here->scenario->clients[index];
    uint64_t from_ns = faultsim_draw_ns_between(here, 0, here->baseline_ns);
    uint64_t end_ns = from_ns + faultsim_draw_ns_between(here, 1200 * MS, 6000 * MS);
    uint32_t way = faultsim_draw_between(here, 0, 2);
    ls_link_config up = client->baseline;
    ls_link_config down = client->baseline;
    up.is_cut = way != 0;
    down.is_cut = way != 1;
    end_ns = end_ns < here->baseline_ns ? end_ns : here->baseline_ns;
    client->is_free = client->is_free || client->setup.session.reconnect_ms == 0;
    faultsim_draw_add_links(here, from_ns, FAULTSIM_ACTION_CUT_LINK, index, &up, &down);
    faultsim_draw_add_links(here, end_ns, FAULTSIM_ACTION_LINKS, index, &client->baseline,
                            &client->baseline);
}

static void draw_lost_links(faultsim_draw *here)
{
    static const uint32_t kept_ms[] = {30000, 30000, 30000, 3000, 0};
    uint32_t keep_seat_ms = faultsim_draw_pick(here, kept_ms, 5);
    if (!faultsim_draw_happens(here, LS_CLASS_RECONNECT, 4)) {
        return;
    }
    here->scenario->setup.match.keep_seat_ms = keep_seat_ms;
    let_return(here, 4);
    for (uint32_t i = 0; i < here->scenario->client_count; i++) {
        if (faultsim_draw_one_in(here, 2)) {
            cut_link(here, i);
            flip_on_entry(here, i);
        }
    }
}

/* ---- watching ---- */

static void draw_spectator_trouble(faultsim_draw *here, uint32_t index)
{
    faultsim_scenario_client *client = &here->scenario->clients[index];
    uint64_t at_ns = faultsim_draw_ns_between(here, 0, here->baseline_ns);
    uint64_t length_ns = faultsim_draw_ns_between(here, 5 * MS, 8000 * MS);
    uint64_t left_ns = here->baseline_ns - at_ns;
    uint32_t what = faultsim_draw_between(here, 0, 9);
    if (what == 0) {
        faultsim_draw_add_action(here, at_ns, FAULTSIM_ACTION_LEAVE, index);
        client->is_free = true;
    } else if (what == 1) {
        faultsim_draw_add_action(here, at_ns, FAULTSIM_ACTION_VANISH, index);
        client->is_free = true;
    } else if (what == 2) {
        client->flip_tick = faultsim_draw_between(here, 1, here->options->ticks);
        client->flip_byte = ls_rng_next(&here->rng);
        client->is_free = true;
    } else if (what < 6) {
        client->is_free = client->setup.session.reconnect_ms == 0;
        faultsim_draw_add_action(here, at_ns, FAULTSIM_ACTION_PAUSE, index);
        faultsim_draw_add_action(here, at_ns + (length_ns < left_ns ? length_ns : left_ns),
                                 FAULTSIM_ACTION_RESUME, index);
    }
}

static void draw_spectator(faultsim_draw *here, uint32_t index)
{
    faultsim_scenario_client *client = &here->scenario->clients[index];
    faultsim_draw_computer(here, index);
    client->setup.session.predict_ticks = 0;
    client->setup.session.is_spectator = true;
    client->baseline = faultsim_draw_baseline_link(here);
    client->setup.up = faultsim_draw_impairments(here, &client->baseline);
    client->setup.down = faultsim_draw_impairments(here, &client->baseline);
    faultsim_draw_add_links(here, here->baseline_ns, FAULTSIM_ACTION_LINKS, index,
                            &client->baseline, &client->baseline);
    bool is_returning =
        faultsim_draw_one_in(here, 2) || here->scenario->setup.match.resume_wait_ms > 0;
    client->setup.session.reconnect_ms = is_returning ? RECONNECT_MS : 0;
    client->setup.comes_later = faultsim_draw_one_in(here, 2);
    if (client->setup.comes_later) {
        uint64_t at_ns = faultsim_draw_ns_between(here, 0, here->baseline_ns);
        faultsim_draw_add_action(here, at_ns, FAULTSIM_ACTION_COME, index);
    }
    draw_spectator_trouble(here, index);
}

static void draw_spectators(faultsim_draw *here)
{
    static const uint32_t delays[] = {0, 6, 60, 60, 200};
    faultsim_scenario *scenario = here->scenario;
    uint32_t spectators = faultsim_draw_between(here, 1, FAULTSIM_SCENARIO_SPECTATORS_MAX);
    uint32_t delay_ticks = faultsim_draw_pick(here, delays, 5);
    if (!faultsim_draw_happens(here, LS_CLASS_WATCH, 5)) {
        return;
    }
    scenario->setup.match.spectators_max = FAULTSIM_SCENARIO_SPECTATORS_MAX;
    scenario->setup.match.spectator_delay_ticks = delay_ticks;
    for (uint32_t i = 0; i < spectators; i++) {
        draw_spectator(here, scenario->client_count++);
    }
}

void faultsim_draw_reconnects(faultsim_draw *here)
{
    draw_spectators(here);
    draw_late_players(here);
    draw_lost_links(here);
    draw_crashes(here);
    draw_disk_faults(here);
}
