#include "lockstep/tests/lab/faultsim/scenario_draw.h"

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
                                    .from_ns = faultsim_draw_ns_between(here, 0, here->baseline_ns),
                                    .end_ns = here->baseline_ns + 10000 * MS,
                                    .pause_ns = faultsim_draw_ns_between(here, MS, 300 * MS),
                                    .delay_ns = faultsim_draw_pick(here, delays_ms, 4) * MS};
}

/* They come when all faults but the visitors are over, over links without any. */
static void draw_newcomer(faultsim_draw *here, bool is_spectator)
{
    faultsim_scenario *scenario = here->scenario;
    uint32_t index = scenario->client_count++;
    faultsim_scenario_client *client = &scenario->clients[index];
    uint64_t at_ns = here->baseline_ns + faultsim_draw_ns_between(here, 0, 1500 * MS);
    faultsim_draw_computer(here, index);
    client->baseline = faultsim_draw_baseline_link(here);
    client->setup.up = client->baseline;
    client->setup.down = client->baseline;
    client->setup.comes_later = true;
    client->setup.session.is_spectator = is_spectator;
    client->setup.session.predict_ticks = is_spectator ? 0 : client->setup.session.predict_ticks;
    faultsim_draw_add_action(here, at_ns, FAULTSIM_ACTION_COME, index);
}

void faultsim_draw_visitors(faultsim_draw *here)
{
    faultsim_scenario *scenario = here->scenario;
    ls_match_config *match = &scenario->setup.match;
    bool is_visited = faultsim_draw_happens(here, LS_CLASS_VISIT, 6);
    uint32_t visitors = faultsim_draw_between(here, 1, FAULTSIM_SCENARIO_VISITORS_MAX);
    uint32_t players = match->sim.players + visitors + 1;
    if (!is_visited || players > match->simulation->players_max) {
        return;
    }
    /* One who means it ill seldom comes alone. */
    bool is_alike = faultsim_draw_one_in(here, 2);
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
