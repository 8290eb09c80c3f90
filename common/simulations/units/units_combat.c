#include "lockstep/common/simulations/units/units_state.h"

#include <string.h>

/* ---- combat ---- */

/* The passes that fight: everybody strikes, then wounds take effect all at once. */

static uint16_t cooldown_ticks(const ls_units_rules *rules, const ls_units_kind_rules *kind)
{
    uint32_t ticks = kind->cooldown_ms * rules->tick_rate_hz / 1000;
    return (uint16_t)(ticks > 0 ? ticks : 1);
}

/* When several strike the same enemy in one tick, the seat is credited that comes first from one
 * that changes every tick, so that no seat is favoured and order does not matter. */
static bool is_credited_before(const ls_units_rules *rules, uint32_t tick, uint32_t a, uint32_t b)
{
    uint32_t first = tick % rules->players;
    uint32_t all = LS_UNITS_PLAYERS_MAX;
    return (a + all - first) % all < (b + all - first) % all;
}

static void strike(const ls_units_rules *rules, const ls_units_state *state,
                   const ls_units_scratch *scratch, ls_units_unit *unit)
{
    const ls_units_unit *target = ls_units_target(rules, state, unit);
    const ls_units_kind_rules *kind = ls_units_kind_rules_of(unit->kind);
    if (target == NULL || ls_units_distance_squared(unit->position, target->position) >
                              ls_fixed_mul(kind->range, kind->range)) {
        return;
    }
    unit->cooldown = cooldown_ticks(rules, kind);
    uint32_t victim = unit->target - 1;
    uint32_t owner = ls_units_owner(unit);
    scratch->wounds[victim] += kind->damage;
    uint32_t credited = scratch->strikers[victim];
    if (credited == 0 || is_credited_before(rules, state->tick, owner, credited - 1)) {
        scratch->strikers[victim] = (uint8_t)(owner + 1);
    }
}

/* A unit changes nothing but its own cooldown, which no other unit reads. */
void ls_units_pass_combat(const ls_step *step)
{
    ls_units_rules rules = ls_units_rules_of(step->config);
    ls_units_scratch scratch = ls_units_scratch_of(&rules, step->scratch);
    ls_units_state *state = step->state;
    memset(scratch.wounds, 0, rules.unit_count * sizeof *scratch.wounds);
    memset(scratch.strikers, 0, rules.unit_count * sizeof *scratch.strikers);
    for (uint32_t id = 0; id < rules.unit_count; id++) {
        ls_units_unit *unit = &state->units[id];
        if (!ls_units_is_alive(unit)) {
            continue;
        }
        if (unit->cooldown > 0) {
            unit->cooldown--;
        } else if (unit->target != 0) {
            strike(&rules, state, &scratch, unit);
        }
    }
}

static void bury(ls_units_state *state, ls_units_unit *unit, uint32_t striker)
{
    ls_units_player *victor = &state->players[striker];
    ls_units_player *loser = &state->players[ls_units_owner(unit)];
    victor->kills++;
    victor->score += ls_units_kind_rules_of(unit->kind)->worth;
    loser->losses++;
    loser->alive--;
    *unit = (ls_units_unit){0};
}

static uint32_t apply_wounds(const ls_units_rules *rules, ls_units_state *state,
                             const ls_units_scratch *scratch)
{
    uint32_t deaths = 0;
    for (uint32_t id = 0; id < rules->unit_count; id++) {
        ls_units_unit *unit = &state->units[id];
        uint32_t wound = scratch->wounds[id];
        if (wound == 0) {
            continue;
        }
        if (wound < unit->health) {
            unit->health = (uint16_t)(unit->health - wound);
            continue;
        }
        bury(state, unit, scratch->strikers[id] - 1u);
        deaths++;
    }
    return deaths;
}

/* Slots are used again, so nobody may keep the number of a dead enemy. */
static void forget_the_dead(const ls_units_rules *rules, ls_units_state *state)
{
    for (uint32_t id = 0; id < rules->unit_count; id++) {
        ls_units_unit *unit = &state->units[id];
        if (unit->target == 0 || ls_units_target(rules, state, unit) != NULL) {
            continue;
        }
        unit->target = 0;
        if (unit->verb == LS_UNITS_ATTACK) {
            ls_units_guard(unit);
        }
    }
}

void ls_units_pass_deaths(const ls_step *step)
{
    ls_units_rules rules = ls_units_rules_of(step->config);
    ls_units_scratch scratch = ls_units_scratch_of(&rules, step->scratch);
    if (apply_wounds(&rules, step->state, &scratch) > 0) {
        forget_the_dead(&rules, step->state);
    }
}

/* ---- bases ---- */

/* The passes that close a tick: recovery, reinforcement, the score. */

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
