/* A person's hands on an army. A box drawn with the left button selects the own units in it, a
 * click the one under the pointer; shift adds to them. A click with the right button sends them: on
 * an enemy, to attack it; elsewhere to go there and fight what comes into sight, or with the second
 * button (left control) held without fighting. The first (space) stops them where they are. */
#include "lockstep/common/simulations/units/units_state.h"

#include <string.h>

#define CLICK_REACH LS_FIXED_INT(1) /* how far from a unit's middle a click may be */
#define MARK_PERCENT 50             /* of a selected unit's radius */
#define MARK_COLOUR 0xFFFFFFE8u
#define AREA_MARGIN LS_FIXED_RATIO(1, 2) /* what units move until the order comes to them */

/* Lives in ls_controls.memory. */
typedef struct hands {
    uint32_t is_pending; /* an order to a list is on its way, from unit `next` on */
    uint32_t next;
    uint32_t verb;
    uint32_t target;
    ls_units_point point;
    uint8_t selected[(LS_UNITS_COUNT_MAX + 7) / 8]; /* bit per unit */
} hands;

_Static_assert(sizeof(hands) <= LS_CONTROL_MEMORY_BYTES, "a viewer gives no more");

typedef struct army {
    ls_units_rules rules;
    const ls_units_state *state;
    hands *hands;
    uint32_t slot;
    uint32_t first; /* own units' slots */
    uint32_t end;
} army;

static bool is_selected(const hands *of, uint32_t id)
{
    return (of->selected[id / 8] >> id % 8 & 1u) != 0;
}

static void select_unit(hands *of, uint32_t id)
{
    of->selected[id / 8] = (uint8_t)(of->selected[id / 8] | 1u << id % 8);
}

static void deselect_unit(hands *of, uint32_t id)
{
    of->selected[id / 8] = (uint8_t)(of->selected[id / 8] & ~(1u << id % 8));
}

static bool is_own(const army *of, uint32_t id)
{
    const ls_units_unit *unit = &of->state->units[id];
    return ls_units_is_alive(unit) && unit->owner == of->slot;
}

/* ---- selecting ---- */

/* The living unit nearest to a click, own or an enemy's; unit_count for none. */
static uint32_t unit_at(const army *of, ls_vec2 place, bool wants_own)
{
    uint32_t best = of->rules.unit_count;
    ls_fixed least = ls_fixed_mul(CLICK_REACH, CLICK_REACH);
    for (uint32_t id = 0; id < of->rules.unit_count; id++) {
        const ls_units_unit *unit = &of->state->units[id];
        if (!ls_units_is_alive(unit) || is_own(of, id) != wants_own) {
            continue;
        }
        ls_fixed square = ls_units_distance_squared(unit->position, place);
        if (square < least) {
            least = square;
            best = id;
        }
    }
    return best;
}

static bool is_within(ls_vec2 place, ls_vec2 low, ls_vec2 high)
{
    return place.x >= low.x && place.x <= high.x && place.y >= low.y && place.y <= high.y;
}

static void select_gesture(army *of, const ls_controls *controls)
{
    ls_vec2 a = controls->gesture_from;
    ls_vec2 b = controls->gesture_to;
    if (!controls->is_gesture_added) {
        memset(of->hands->selected, 0, sizeof of->hands->selected);
    }
    if (a.x == b.x && a.y == b.y) {
        uint32_t id = unit_at(of, a, true);
        if (id < of->rules.unit_count) {
            select_unit(of->hands, id);
        }
        return;
    }
    ls_vec2 low = {ls_fixed_min(a.x, b.x), ls_fixed_min(a.y, b.y)};
    ls_vec2 high = {ls_fixed_max(a.x, b.x), ls_fixed_max(a.y, b.y)};
    for (uint32_t id = of->first; id < of->end; id++) {
        if (is_own(of, id) && is_within(of->state->units[id].position, low, high)) {
            select_unit(of->hands, id);
        }
    }
}

/* Another unit may rise in the slot of one that is dead. */
static void forget_dead(army *of)
{
    for (uint32_t id = of->first; id < of->end; id++) {
        if (!is_own(of, id)) {
            deselect_unit(of->hands, id);
        }
    }
}

/* ---- ordering ---- */

static void begin_order(army *of, ls_units_verb verb, ls_vec2 place, uint32_t target)
{
    of->hands->is_pending = 1;
    of->hands->next = of->first;
    of->hands->verb = (uint32_t)verb;
    of->hands->target = target;
    of->hands->point = ls_units_point_from(ls_units_inside(&of->rules, place));
}

static void order_gesture(army *of, const ls_controls *controls)
{
    uint32_t enemy = unit_at(of, controls->gesture_to, false);
    if (enemy < of->rules.unit_count) {
        begin_order(of, LS_UNITS_ATTACK, controls->gesture_to, enemy);
        return;
    }
    bool is_peaceful = (controls->held & LS_CONTROL_SECOND) != 0;
    begin_order(of, is_peaceful ? LS_UNITS_MOVE : LS_UNITS_ATTACK_MOVE, controls->gesture_to, 0);
}

/* The rectangle round the selected units; false when it holds others of the army as well. */
static bool find_area(const army *of, uint32_t *count, ls_vec2 *low, ls_vec2 *high)
{
    *low = (ls_vec2){LS_FIXED_MAX / 2, LS_FIXED_MAX / 2};
    *high = (ls_vec2){LS_FIXED_MIN / 2, LS_FIXED_MIN / 2};
    *count = 0;
    for (uint32_t id = of->first; id < of->end; id++) {
        if (is_selected(of->hands, id)) {
            ls_vec2 place = of->state->units[id].position;
            *low = (ls_vec2){ls_fixed_min(low->x, place.x - AREA_MARGIN),
                             ls_fixed_min(low->y, place.y - AREA_MARGIN)};
            *high = (ls_vec2){ls_fixed_max(high->x, place.x + AREA_MARGIN),
                              ls_fixed_max(high->y, place.y + AREA_MARGIN)};
            (*count)++;
        }
    }
    for (uint32_t id = of->first; id < of->end; id++) {
        if (is_own(of, id) && !is_selected(of->hands, id) &&
            is_within(of->state->units[id].position, *low, *high)) {
            return false;
        }
    }
    return true;
}

static void list_selected(army *of, ls_units_order *order)
{
    uint32_t id = of->hands->next;
    order->select = LS_UNITS_SELECT_LIST;
    for (; id < of->end && order->list_count < LS_UNITS_LIST_MAX; id++) {
        if (is_selected(of->hands, id)) {
            order->list[order->list_count++] = (uint16_t)id;
        }
    }
    of->hands->next = id;
    of->hands->is_pending = id < of->end;
}

/* One order for one input. More units than a list holds are ordered by the rectangle they stand
 * in, so that they form up together; where that takes others along, by list after list. */
static uint32_t give_order(army *of, uint8_t *bytes)
{
    const hands *given = of->hands;
    ls_units_order order = {.verb = (ls_units_verb)given->verb,
                            .point = given->point,
                            .target = (uint16_t)given->target};
    uint32_t count;
    ls_vec2 low;
    ls_vec2 high;
    bool is_area =
        find_area(of, &count, &low, &high) && count > LS_UNITS_LIST_MAX && given->next == of->first;
    if (is_area) {
        order.select = LS_UNITS_SELECT_AREA;
        order.kinds = LS_UNITS_ALL_KINDS;
        order.corners[0] = ls_units_point_from(low);
        order.corners[1] = ls_units_point_from(high);
        of->hands->is_pending = 0;
    } else {
        list_selected(of, &order);
    }
    return count > 0 ? ls_units_order_write(&order, bytes, LS_UNITS_INPUT_BYTES_MAX) : 0;
}

/* An order is given once. */
void ls_units_input_bits(const ls_sim_config *config, const void *state, const ls_input_bits *bits)
{
    (void)config;
    (void)state;
    memset(bits->edges, 0xFF, LS_UNITS_INPUT_BYTES_MAX);
}

uint32_t ls_units_control(const ls_sim_config *config, const void *state, uint32_t slot,
                          const ls_controls *controls, uint8_t *bytes)
{
    army of = {.rules = ls_units_rules_of(config),
               .state = state,
               .hands = (void *)controls->memory,
               .slot = slot};
    if (slot >= config->players) {
        return 0;
    }
    of.first = ls_units_army_first(&of.rules, slot);
    of.end = ls_units_army_first(&of.rules, slot + 1);
    forget_dead(&of);
    if (controls->gesture == LS_GESTURE_SELECT) {
        select_gesture(&of, controls);
    } else if (controls->gesture == LS_GESTURE_ORDER) {
        order_gesture(&of, controls);
    } else if (controls->pressed & LS_CONTROL_FIRST) {
        begin_order(&of, LS_UNITS_STOP, (ls_vec2){0, 0}, 0);
    }
    return of.hands->is_pending ? give_order(&of, bytes) : 0;
}

/* A light dot on each selected unit where the picture has it: that of the list is blended. */
void ls_units_draw_control(const ls_sim_config *config, const void *state, uint32_t slot,
                           const ls_controls *controls, ls_draw_list *list)
{
    ls_units_rules rules = ls_units_rules_of(config);
    const hands *own = (const void *)controls->memory;
    uint32_t count = list->count;
    (void)state;
    (void)slot;
    for (uint32_t i = 0; i < count; i++) {
        ls_draw_shape shape = list->shapes[i];
        if (shape.kind != LS_DRAW_DISC || shape.id >= rules.unit_count ||
            !is_selected(own, shape.id)) {
            continue;
        }
        shape.half_width = shape.half_width * MARK_PERCENT / 100;
        shape.colour = MARK_COLOUR;
        shape.owner = 0;
        ls_draw_push(list, shape);
    }
}
