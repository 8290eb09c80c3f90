/* The passes that close a tick: recovery, reinforcement, the score. */
#include "lockstep/common/simulations/units/units_state.h"

/* Health regained near the base each time a unit thinks: four points a second. */
#define RECOVERY 1u

static void recover(const ls_units_rules *rules, ls_units_state *state)
{
    uint32_t turn = rules->think_ticks - 1 - state->tick % rules->think_ticks;
    for (uint32_t id = turn; id < rules->unit_count; id += rules->think_ticks) {
        ls_units_unit *unit = &state->units[id];
        uint32_t full = ls_units_kind_rules_of(unit->kind)->health;
        if (!ls_units_is_alive(unit) || unit->health >= full) {
            continue;
        }
        ls_vec2 base = state->players[ls_units_owner(unit)].base;
        if (ls_units_distance_squared(unit->position, base) <=
            ls_fixed_mul(LS_UNITS_BASE_RADIUS, LS_UNITS_BASE_RADIUS)) {
            unit->health = (uint16_t)(unit->health + RECOVERY);
        }
    }
}

static void reinforce(const ls_units_rules *rules, ls_units_state *state)
{
    for (uint32_t player = 0; player < rules->players; player++) {
        uint32_t army = ls_units_army_first(rules, player + 1) - ls_units_army_first(rules, player);
        if (!state->players[player].is_away) {
            ls_units_muster(rules, state, player, (army * rules->wave_percent + 99) / 100);
        }
    }
    state->waves++;
}

void ls_units_pass_bases(const ls_step *step)
{
    ls_units_rules rules = ls_units_rules_of(step->config);
    ls_units_state *state = step->state;
    recover(&rules, state);
    if (rules.wave_ticks > 0 && (state->tick + 1) % rules.wave_ticks == 0) {
        reinforce(&rules, state);
    }
}

void ls_units_pass_leader(const ls_step *step)
{
    ls_units_rules rules = ls_units_rules_of(step->config);
    ls_units_state *state = step->state;
    uint32_t best = 0;
    state->leader = 0;
    for (uint32_t player = 0; player < rules.players; player++) {
        if (state->players[player].score > best) {
            best = state->players[player].score;
            state->leader = player + 1;
        }
    }
    state->tick++;
}
