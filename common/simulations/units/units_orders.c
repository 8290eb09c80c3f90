/* The passes that bring the players' will into the state: events and orders. */
#include "lockstep/common/simulations/units/units_state.h"

#include <string.h>

/* The units that an order goes to; a list may name one twice. */
typedef struct selection {
    uint32_t *ids;
    uint32_t count;
} selection;

static uint32_t seats(const ls_step *step, const ls_units_rules *rules)
{
    return LS_MIN(step->inputs->slot_count, rules->players);
}

static bool is_commanded_by(const ls_units_unit *unit, uint32_t player)
{
    return ls_units_is_alive(unit) && unit->owner == player;
}

static void leave(const ls_units_rules *rules, ls_units_state *state, uint32_t player)
{
    state->players[player].is_away = 1;
    uint32_t end = ls_units_army_first(rules, player + 1);
    for (uint32_t id = ls_units_army_first(rules, player); id < end; id++) {
        if (is_commanded_by(&state->units[id], player)) {
            ls_units_guard(&state->units[id]);
        }
    }
}

static void join(const ls_units_rules *rules, ls_units_state *state, uint32_t player)
{
    state->players[player].is_away = 0;
    if (state->players[player].alive == 0) {
        ls_units_muster(rules, state, player, rules->unit_count);
    }
}

void ls_units_pass_events(const ls_step *step)
{
    ls_units_rules rules = ls_units_rules_of(step->config);
    ls_units_state *state = step->state;
    for (uint32_t slot = 0; slot < seats(step, &rules); slot++) {
        uint32_t events = step->inputs->slots[slot].events;
        if (events & LS_EVENT_LEFT) {
            leave(&rules, state, slot);
        }
        if (events & LS_EVENT_JOINED) {
            join(&rules, state, slot);
        }
    }
}

static bool is_between(ls_fixed value, ls_fixed a, ls_fixed b)
{
    return value >= ls_fixed_min(a, b) && value <= ls_fixed_max(a, b);
}

static bool is_in_area(ls_vec2 position, ls_vec2 a, ls_vec2 b)
{
    return is_between(position.x, a.x, b.x) && is_between(position.y, a.y, b.y);
}

static void select_listed(const ls_units_rules *rules, const ls_units_state *state, uint32_t player,
                          const ls_units_order *order, selection *out)
{
    for (uint32_t i = 0; i < order->list_count; i++) {
        uint32_t id = order->list[i];
        if (id < rules->unit_count && is_commanded_by(&state->units[id], player)) {
            out->ids[out->count++] = id;
        }
    }
}

static void select_matching(const ls_units_rules *rules, const ls_units_state *state,
                            uint32_t player, const ls_units_order *order, selection *out)
{
    bool is_anywhere = order->select == LS_UNITS_SELECT_KINDS;
    ls_vec2 a = ls_units_point_position(order->corners[0]);
    ls_vec2 b = ls_units_point_position(order->corners[1]);
    uint32_t end = ls_units_army_first(rules, player + 1);
    for (uint32_t id = ls_units_army_first(rules, player); id < end; id++) {
        const ls_units_unit *unit = &state->units[id];
        if (is_commanded_by(unit, player) && ((uint32_t)order->kinds >> (unit->kind & 7u) & 1u) &&
            (is_anywhere || is_in_area(unit->position, a, b))) {
            out->ids[out->count++] = id;
        }
    }
}

static void order_march(const ls_units_rules *rules, ls_units_state *state,
                        const ls_units_order *order, const selection *chosen)
{
    ls_vec2 centre = ls_units_inside(rules, ls_units_point_position(order->point));
    ls_units_formation block = ls_units_formation_make(centre, chosen->count);
    for (uint32_t i = 0; i < chosen->count; i++) {
        ls_units_unit *unit = &state->units[chosen->ids[i]];
        unit->verb = (uint8_t)order->verb;
        unit->goal = ls_units_inside(rules, ls_units_formation_place(&block, i));
        unit->target = 0;
        unit->stuck = 0;
    }
}

static void order_attack(const ls_units_rules *rules, ls_units_state *state, uint32_t player,
                         const ls_units_order *order, const selection *chosen)
{
    if (order->target >= rules->unit_count) {
        return;
    }
    const ls_units_unit *target = &state->units[order->target];
    if (!ls_units_is_alive(target) || target->owner == player) {
        return;
    }
    for (uint32_t i = 0; i < chosen->count; i++) {
        ls_units_unit *unit = &state->units[chosen->ids[i]];
        unit->verb = LS_UNITS_ATTACK;
        unit->target = order->target + 1u;
    }
}

static void obey(const ls_units_rules *rules, ls_units_state *state, uint32_t player,
                 const ls_units_order *order, uint32_t *memory)
{
    selection chosen = {.ids = memory};
    if (order->select == LS_UNITS_SELECT_LIST) {
        select_listed(rules, state, player, order, &chosen);
    } else {
        select_matching(rules, state, player, order, &chosen);
    }
    if (chosen.count == 0) {
        return;
    }
    switch (order->verb) {
    case LS_UNITS_STOP:
        for (uint32_t i = 0; i < chosen.count; i++) {
            ls_units_guard(&state->units[chosen.ids[i]]);
        }
        break;
    case LS_UNITS_MOVE:
    case LS_UNITS_ATTACK_MOVE:
        order_march(rules, state, order, &chosen);
        break;
    case LS_UNITS_ATTACK:
        order_attack(rules, state, player, order, &chosen);
        break;
    }
}

void ls_units_pass_orders(const ls_step *step)
{
    ls_units_rules rules = ls_units_rules_of(step->config);
    ls_units_scratch scratch = ls_units_scratch_of(&rules, step->scratch);
    ls_units_state *state = step->state;
    ls_units_order order = {0};
    for (uint32_t slot = 0; slot < seats(step, &rules); slot++) {
        const ls_slot_input *input = &step->inputs->slots[slot];
        uint32_t offset = 0;
        for (uint32_t n = 0; n < LS_UNITS_ORDERS_MAX && !state->players[slot].is_away; n++) {
            if (input->size - offset == 0) {
                break;
            }
            uint32_t used =
                ls_units_order_read(input->bytes + offset, input->size - offset, &order);
            if (used == 0) {
                break;
            }
            obey(&rules, state, slot, &order, scratch.chosen);
            offset += used;
        }
    }
}

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
