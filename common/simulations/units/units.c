
#include "lockstep/common/maths/interpolate.h"
#include "lockstep/common/simulations/units/units_state.h"

#include <string.h>

/* ---- bot ---- */

/* A commander for tests, demos and empty seats: it gives few orders, and each has a reason. */

/* The map as the bot sees it: squares with the enemies in them. */
#define SQUARES 16u

/* A handful of enemies is not worth an army. */
#define CONCENTRATION_MIN 3u

#define GROUP_REACH LS_FIXED_INT(14) /* half the side of a group's rectangle */
#define FOCUS_REACH LS_FIXED_INT(12) /* of those who attack one enemy together */
#define FOCUS_MAX 12u
#define RETREAT_MAX 24u
#define WOUNDED_PERCENT 35u

typedef struct square_view {
    uint32_t count;  /* enemies */
    uint32_t health; /* theirs together */
    ls_fixed x;      /* sum of positions, in 1/256 m */
    ls_fixed y;
} square_view;

typedef struct bot {
    ls_units_rules rules;
    const ls_units_state *state;
    ls_rng *rng;
    uint8_t *bytes;
    uint32_t size; /* written so far */
    uint32_t slot;
    uint32_t first; /* own units' slots */
    uint32_t end;
    square_view squares[SQUARES * SQUARES];
} bot;

static void give(bot *commander, const ls_units_order *order)
{
    commander->size += ls_units_order_write(order, commander->bytes + commander->size,
                                            LS_UNITS_INPUT_BYTES_MAX - commander->size);
}

static uint32_t square_along(const bot *commander, ls_fixed coordinate)
{
    ls_fixed width = commander->rules.side / SQUARES + 1;
    return (uint32_t)(ls_fixed_clamp(coordinate, 0, commander->rules.side) / width);
}

static void look_round(bot *commander)
{
    for (uint32_t id = 0; id < commander->rules.unit_count; id++) {
        const ls_units_unit *unit = &commander->state->units[id];
        if (!ls_units_is_alive(unit) || unit->owner == commander->slot) {
            continue;
        }
        uint32_t row = square_along(commander, unit->position.y);
        uint32_t column = square_along(commander, unit->position.x);
        square_view *square = &commander->squares[row * SQUARES + column];
        square->count++;
        square->health += unit->health;
        square->x += ls_units_coarse(unit->position.x) / 256;
        square->y += ls_units_coarse(unit->position.y) / 256;
    }
}

static ls_vec2 square_centre(const square_view *square)
{
    return (ls_vec2){square->x / square->count * (LS_FIXED_ONE / 256),
                     square->y / square->count * (LS_FIXED_ONE / 256)};
}

/* Smaller is better: the distance, or with it how strong those are who stand there. */
static uint64_t square_cost(const square_view *square, ls_vec2 from, bool is_for_weakest)
{
    ls_fixed squared = ls_units_distance_squared(from, square_centre(square));
    uint64_t metres = (uint64_t)ls_fixed_floor(ls_fixed_sqrt(squared)) + 1;
    return is_for_weakest ? metres * square->health : metres;
}

/* Where the nearest, or the weakest near, enemies stand together; false when there are none. */
static bool find_concentration(bot *commander, ls_vec2 from, ls_vec2 *out)
{
    bool is_for_weakest = ls_rng_below(commander->rng, 3) == 0;
    uint64_t best = UINT64_MAX;
    for (uint32_t least = CONCENTRATION_MIN; least > 0 && best == UINT64_MAX; least--) {
        for (uint32_t i = 0; i < SQUARES * SQUARES; i++) {
            const square_view *square = &commander->squares[i];
            if (square->count < least) {
                continue;
            }
            uint64_t cost = square_cost(square, from, is_for_weakest);
            if (cost < best) {
                best = cost;
                *out = square_centre(square);
            }
        }
    }
    return best != UINT64_MAX;
}

/* One of the bot's own living units, or NULL: the first from a place drawn. */
static const ls_units_unit *pick_own(bot *commander)
{
    uint32_t army = commander->end - commander->first;
    uint32_t start = ls_rng_below(commander->rng, army);
    for (uint32_t i = 0; i < army; i++) {
        const ls_units_unit *unit = &commander->state->units[commander->first + (start + i) % army];
        if (ls_units_is_alive(unit)) {
            return unit;
        }
    }
    return NULL;
}

static void send_area(bot *commander, ls_vec2 centre, ls_fixed reach, uint8_t kinds)
{
    ls_vec2 goal;
    if (!find_concentration(commander, centre, &goal)) {
        return;
    }
    ls_vec2 half = {reach, reach};
    ls_units_order order = {
        .verb = LS_UNITS_ATTACK_MOVE,
        .select = LS_UNITS_SELECT_AREA,
        .kinds = kinds,
        .corners = {ls_units_point_from(ls_vec2_sub(centre, half)),
                    ls_units_point_from(ls_vec2_add(centre, half))},
        .point = ls_units_point_from(goal),
    };
    give(commander, &order);
}

/* Those who wait at the base go to war. */
static void sortie(bot *commander)
{
    ls_units_formation block = ls_units_formation_make(
        commander->state->players[commander->slot].base, commander->end - commander->first);
    ls_fixed reach = (int64_t)block.columns * LS_UNITS_SPACING / 2 + LS_FIXED_INT(2);
    send_area(commander, commander->state->players[commander->slot].base, reach,
              LS_UNITS_ALL_KINDS);
}

/* A group somewhere on the map turns on the nearest enemies; sometimes one kind of it alone. */
static void assault(bot *commander)
{
    const ls_units_unit *seed = pick_own(commander);
    if (seed == NULL) {
        return;
    }
    bool is_one_kind = ls_rng_below(commander->rng, 4) == 0;
    uint8_t kinds = is_one_kind ? (uint8_t)(1u << (seed->kind & 7u)) : LS_UNITS_ALL_KINDS;
    send_area(commander, seed->position, GROUP_REACH, kinds);
}

/* All of one kind, wherever they are. */
static void raid(bot *commander)
{
    const ls_units_unit *seed = pick_own(commander);
    ls_vec2 goal;
    if (seed == NULL || !find_concentration(commander, seed->position, &goal)) {
        return;
    }
    ls_units_order order = {
        .verb = LS_UNITS_ATTACK_MOVE,
        .select = LS_UNITS_SELECT_KINDS,
        .kinds = (uint8_t)(1u << (seed->kind & 7u)),
        .point = ls_units_point_from(goal),
    };
    give(commander, &order);
}

static bool is_near(const ls_units_unit *unit, ls_vec2 place, ls_fixed reach)
{
    return ls_units_distance_squared(unit->position, place) <= ls_fixed_mul(reach, reach);
}

/* A few units together on one enemy in their reach. */
static void focus(bot *commander)
{
    const ls_units_unit *seed = pick_own(commander);
    if (seed == NULL || ls_units_target(&commander->rules, commander->state, seed) == NULL) {
        return;
    }
    ls_units_order order = {
        .verb = LS_UNITS_ATTACK,
        .select = LS_UNITS_SELECT_LIST,
        .target = (uint16_t)(seed->target - 1),
    };
    for (uint32_t id = commander->first; id < commander->end; id++) {
        const ls_units_unit *unit = &commander->state->units[id];
        if (order.list_count < FOCUS_MAX && ls_units_is_alive(unit) &&
            is_near(unit, seed->position, FOCUS_REACH)) {
            order.list[order.list_count++] = (uint16_t)id;
        }
    }
    give(commander, &order);
}

static bool is_wounded(const ls_units_unit *unit)
{
    uint32_t full = ls_units_kind_rules_of(unit->kind)->health;
    return ls_units_is_alive(unit) && unit->health * 100u < full * WOUNDED_PERCENT;
}

/* The wounded go back to the base, where they recover. */
static void retreat(bot *commander)
{
    ls_vec2 base = commander->state->players[commander->slot].base;
    ls_units_order order = {
        .verb = LS_UNITS_MOVE,
        .select = LS_UNITS_SELECT_LIST,
        .point = ls_units_point_from(base),
    };
    for (uint32_t id = commander->first; id < commander->end; id++) {
        const ls_units_unit *unit = &commander->state->units[id];
        if (order.list_count < RETREAT_MAX && is_wounded(unit) && unit->verb != LS_UNITS_MOVE &&
            !is_near(unit, base, LS_UNITS_BASE_RADIUS)) {
            order.list[order.list_count++] = (uint16_t)id;
        }
    }
    if (order.list_count > 0) {
        give(commander, &order);
    }
}

static void decide(bot *commander)
{
    uint32_t chance = ls_rng_below(commander->rng, 10);
    if (chance < 3) {
        sortie(commander);
    } else if (chance < 7) {
        assault(commander);
    } else if (chance < 8) {
        raid(commander);
    } else {
        focus(commander);
    }
    if (ls_rng_below(commander->rng, 2) == 0) {
        retreat(commander);
    }
}

static uint32_t units_bot(const ls_sim_config *config, const void *state, uint32_t slot,
                          ls_rng *rng, uint8_t *bytes)
{
    /* About three decisions in two seconds, as a person would give. */
    uint32_t ticks_between = config->tick_rate_hz * 2 / 3;
    if (slot >= config->players || (ticks_between > 1 && ls_rng_below(rng, ticks_between) != 0)) {
        return 0;
    }
    bot commander = {.rules = ls_units_rules_of(config),
                     .state = state,
                     .rng = rng,
                     .bytes = bytes,
                     .slot = slot};
    commander.first = ls_units_army_first(&commander.rules, slot);
    commander.end = ls_units_army_first(&commander.rules, slot + 1);
    look_round(&commander);
    decide(&commander);
    return commander.size;
}

/* ---- controls ---- */

/* A person's hands on an army. A box drawn with the left button selects the own units in it, a
 * click the one under the pointer; shift adds to them. A click with the right button sends them: on
 * an enemy, to attack it; elsewhere to go there and fight what comes into sight, or with the second
 * button (left control) held without fighting. The first (space) stops them where they are. */

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
static void units_input_bits(const ls_sim_config *config, const void *state,
                             const ls_input_bits *bits)
{
    (void)config;
    (void)state;
    memset(bits->edges, 0xFF, LS_UNITS_INPUT_BYTES_MAX);
}

static uint32_t units_control(const ls_sim_config *config, const void *state, uint32_t slot,
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
static void units_draw_control(const ls_sim_config *config, const void *state, uint32_t slot,
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

/* ---- drawing ---- */

/* The picture of a units match: bases, units, and a bar over every wounded one. */

/* Shape ids: units by slot, the rest behind them. */
#define BAR_IDS 0x10000u
#define BASE_IDS 0x20000u

static const uint32_t player_colours[LS_UNITS_PLAYERS_MAX] = {
    0x4C8BF5FF, 0xE5533DFF, 0x4CAF50FF, 0xF2B134FF, 0x9C6ADEFF, 0x2BB5B8FF, 0xE66FA8FF, 0x9AA5B1FF,
};

static void draw_base(const ls_units_state *state, uint32_t player, ls_draw_list *list)
{
    const ls_units_player *row = &state->players[player];
    ls_draw_push(list, (ls_draw_shape){
                           .kind = LS_DRAW_BOX,
                           .id = BASE_IDS + player,
                           .colour = (player_colours[player] & 0xFFFFFF00u) | 0x50u,
                           .x = row->base.x,
                           .y = row->base.y,
                           .half_width = LS_FIXED_INT(3),
                           .half_height = LS_FIXED_INT(3),
                           .owner = player + 1,
                       });
}

/* As wide as the unit when it is whole; green, then amber, then red. */
static void draw_health(const ls_units_unit *unit, uint32_t id, ls_vec2 position,
                        ls_draw_list *list)
{
    const ls_units_kind_rules *kind = ls_units_kind_rules_of(unit->kind);
    if (unit->health >= kind->health) {
        return;
    }
    uint32_t percent = unit->health * 100u / kind->health;
    uint32_t colour = percent > 60 ? 0x7CFC60FF : percent > 30 ? 0xFFC83CFF : 0xFF4040FF;
    ls_draw_push(list, (ls_draw_shape){
                           .kind = LS_DRAW_BOX,
                           .id = BAR_IDS + id,
                           .colour = colour,
                           .x = position.x,
                           .y = ls_fixed_add(position.y, kind->radius + LS_FIXED_RATIO(1, 5)),
                           .half_width = kind->radius * unit->health / kind->health,
                           .half_height = LS_FIXED_RATIO(2, 25),
                       });
}

/* A slot that was taken over by another unit since the previous state is not blended. */
static void draw_unit(const ls_units_unit *from, const ls_units_unit *to, uint32_t id,
                      ls_fixed alpha, ls_draw_list *list)
{
    ls_fixed share = from->born == to->born ? alpha : LS_FIXED_ONE;
    ls_vec2 position = ls_lerp_vec2(from->position, to->position, share);
    ls_fixed radius = ls_units_kind_rules_of(to->kind)->radius;
    ls_draw_push(list, (ls_draw_shape){
                           .kind = LS_DRAW_DISC,
                           .id = id,
                           .colour = player_colours[ls_units_owner(to)],
                           .angle = ls_lerp_angle(from->facing, to->facing, share),
                           .x = position.x,
                           .y = position.y,
                           .half_width = radius,
                           .half_height = radius,
                           .owner = ls_units_owner(to) + 1,
                       });
    draw_health(to, id, position, list);
}

/* The rest of the contract. */
static void units_draw(const ls_sim_config *config, const void *previous, const void *current,
                       ls_fixed alpha, ls_draw_list *list)
{
    ls_units_rules rules = ls_units_rules_of(config);
    const ls_units_state *from = previous;
    const ls_units_state *to = current;
    list->view_min = (ls_vec2){0, 0};
    list->view_max = (ls_vec2){rules.side, rules.side};
    for (uint32_t player = 0; player < rules.players; player++) {
        draw_base(to, player, list);
    }
    for (uint32_t id = 0; id < rules.unit_count; id++) {
        if (ls_units_is_alive(&to->units[id])) {
            draw_unit(&from->units[id], &to->units[id], id, alpha, list);
        }
    }
}

/* The scores, and how many units each has. */
static void units_status(const ls_sim_config *config, const void *state, uint32_t slot,
                         ls_status_list *list)
{
    const ls_units_state *units = state;
    for (uint32_t i = 0; i < config->players; i++) {
        ls_status_line score = {
            .kind = LS_STATUS_SEAT, .owner = i + 1, .colour = player_colours[i]};
        ls_text_set(&score.text, "%u (%u units)", units->players[i].score, units->players[i].alive);
        ls_status_push(list, score);
    }
    if (slot < config->players) {
        ls_status_push(list, (ls_status_line){.kind = LS_STATUS_KEYS,
                                              .text = {"left drag selects   right click attacks, "
                                                       "with control goes   space stops"}});
    }
}

/* ---- the simulation ---- */

/* No hole that the compiler might leave unset: the schema names every byte. */
_Static_assert(sizeof(ls_units_unit) == 72, "units are 72 bytes");
_Static_assert(sizeof(ls_units_player) == 40, "players are 40 bytes");
_Static_assert(sizeof(ls_units_state) == 32 + 40 * LS_UNITS_PLAYERS_MAX, "the head has no holes");

#define MUSTER_STREAM 1u

static const ls_param params[LS_UNITS_PARAM_COUNT] = {
    [LS_UNITS_PARAM_UNITS] = LS_PARAM_INTEGER_OF("units", "", "units of all armies together", 1500,
                                                 LS_UNITS_COUNT_MIN, LS_UNITS_COUNT_MAX),
    [LS_UNITS_PARAM_WAVE_SECONDS] = LS_PARAM_INTEGER_OF(
        "wave-seconds", "s", "time between reinforcements; 0 for none", 8, 0, 3600),
    [LS_UNITS_PARAM_WAVE_PERCENT] = LS_PARAM_INTEGER_OF(
        "wave-percent", "%", "the most of an army that one wave brings back", 25, 1, 100),
};

static const ls_pass passes[] = {
    {"events", ls_units_pass_events}, {"orders", ls_units_pass_orders},
    {"grid", ls_units_pass_grid},     {"sight", ls_units_pass_sight},
    {"steer", ls_units_pass_steer},   {"move", ls_units_pass_move},
    {"combat", ls_units_pass_combat}, {"deaths", ls_units_pass_deaths},
    {"bases", ls_units_pass_bases},   {"leader", ls_units_pass_leader},
};

static size_t state_bytes(const ls_sim_config *config)
{
    return sizeof(ls_units_state) + ls_units_rules_of(config).unit_count * sizeof(ls_units_unit);
}

static size_t scratch_bytes(const ls_sim_config *config)
{
    ls_units_rules rules = ls_units_rules_of(config);
    return ls_units_scratch_of(&rules, NULL).bytes;
}

#define HEAD(member, type, unit) LS_FIELD_OF(ls_units_state, member, LS_FIELD_##type, unit)
#define PLAYER(member, type, unit)                                                                 \
    LS_FIELD_EACH("players", offsetof(ls_units_state, players), LS_UNITS_PLAYERS_MAX,              \
                  ls_units_player, member, LS_FIELD_##type, unit)
#define UNIT(member, type, unit)                                                                   \
    LS_FIELD_EACH("units", offsetof(ls_units_state, units), unit_count, ls_units_unit, member,     \
                  LS_FIELD_##type, unit)

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    uint32_t unit_count = ls_units_rules_of(config).unit_count;
    const ls_field all[] = {
        HEAD(tick, U32, "ticks"),
        HEAD(leader, U32, ""),
        HEAD(muster_rng.state, U64, ""),
        HEAD(muster_rng.increment, U64, ""),
        HEAD(waves, U32, ""),
        LS_FIELD_ARRAY_OF(ls_units_state, padding, 4, LS_FIELD_PADDING, ""),
        PLAYER(base.x, FIXED, "m"),
        PLAYER(base.y, FIXED, "m"),
        PLAYER(alive, U32, "units"),
        PLAYER(kills, U32, "units"),
        PLAYER(losses, U32, "units"),
        PLAYER(score, U32, ""),
        PLAYER(is_away, U32, ""),
        ls_field_long(PLAYER(padding, PADDING, ""), 4),
        UNIT(position.x, FIXED, "m"),
        UNIT(position.y, FIXED, "m"),
        UNIT(velocity.x, FIXED, "m/s"),
        UNIT(velocity.y, FIXED, "m/s"),
        UNIT(goal.x, FIXED, "m"),
        UNIT(goal.y, FIXED, "m"),
        UNIT(facing, ANGLE, ""),
        UNIT(born, U32, "ticks"),
        UNIT(target, U32, ""),
        UNIT(health, U16, ""),
        UNIT(cooldown, U16, "ticks"),
        UNIT(stuck, U16, "ticks"),
        UNIT(owner, U8, ""),
        UNIT(kind, U8, ""),
        UNIT(verb, U8, ""),
        ls_field_long(UNIT(padding, PADDING, ""), 3),
    };
    return ls_fields_copy(all, sizeof all / sizeof all[0], out, capacity);
}

static ls_status init(const ls_sim_config *config, void *block, ls_text *why)
{
    (void)why;
    ls_units_rules rules = ls_units_rules_of(config);
    ls_units_state *state = block;
    state->muster_rng = ls_rng_make(config->seed, MUSTER_STREAM);
    for (uint32_t player = 0; player < rules.players; player++) {
        state->players[player].base = ls_units_base(&rules, player);
        ls_units_muster(&rules, state, player, rules.unit_count);
    }
    return LS_OK;
}

const ls_simulation *ls_units_simulation(void)
{
    static const ls_simulation simulation = {
        .abi = LS_SIMULATION_ABI,
        .size = sizeof(ls_simulation),
        .version = 1,
        .name = "units",
        .summary = "a strategy battle of up to 8 armies and 20,000 units",
        .default_tick_rate_hz = 30,
        .default_players = 4,
        .players_max = LS_UNITS_PLAYERS_MAX,
        .input_bytes_max = LS_UNITS_INPUT_BYTES_MAX,
        .params = params,
        .param_count = LS_UNITS_PARAM_COUNT,
        .passes = passes,
        .pass_count = sizeof passes / sizeof passes[0],
        .state_bytes = state_bytes,
        .scratch_bytes = scratch_bytes,
        .fields = fields,
        .init = init,
        .draw = units_draw,
        .bot = units_bot,
        .control = units_control,
        .draw_control = units_draw_control,
        .input_bits = units_input_bits,
        .status = units_status,
    };
    return &simulation;
}
