/* The passes that bring the players' will into the state: events and orders. */
#include "lockstep/common/simulations/units/units_state.h"

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
