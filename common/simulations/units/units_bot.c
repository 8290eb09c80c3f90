/* A commander for tests, demos and empty seats: it gives few orders, and each has a reason. */
#include "lockstep/common/simulations/units/units_state.h"

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

uint32_t ls_units_bot(const ls_sim_config *config, const void *state, uint32_t slot, ls_rng *rng,
                      uint8_t *bytes)
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
