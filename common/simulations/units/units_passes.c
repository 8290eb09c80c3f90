#include "lockstep/common/maths/fixed_trig.h"
#include "lockstep/common/simulations/units/units_state.h"

#include <string.h>

/* The passes that bring the players' will into the state: events and orders. */

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

/* ---- grid and sight ---- */

/* The passes that see: the grid of living units, and the choice of targets in it. */

/* An enemy this near is the nearest one for certain, and few cells have to be searched for it. */
#define NEAR_REACH LS_FIXED_INT(2)

/* A guard that strayed further from its post than this returns before it fights again. */
#define LEASH LS_FIXED_INT(15)

static void mark_tile(const ls_units_scratch *scratch, uint32_t cell, uint32_t owner)
{
    const ls_cell_grid *grid = scratch->grid;
    uint32_t column = cell % grid->columns / LS_UNITS_TILE_CELLS;
    uint32_t row = cell / grid->columns / LS_UNITS_TILE_CELLS;
    scratch->tiles[row * ls_units_tile_columns(grid) + column] |= (uint8_t)(1u << owner);
}

static void find_cells(const ls_units_rules *rules, const ls_units_state *state,
                       const ls_units_scratch *scratch)
{
    const ls_cell_grid *grid = scratch->grid;
    uint32_t tile_columns = ls_units_tile_columns(grid);
    memset(scratch->tiles, 0, (size_t)tile_columns * tile_columns);
    for (uint32_t id = 0; id < rules->unit_count; id++) {
        const ls_units_unit *unit = &state->units[id];
        scratch->cells[id] = LS_CELL_GRID_NONE;
        if (ls_units_is_alive(unit)) {
            scratch->cells[id] = ls_cell_grid_cell(grid, unit->position);
            mark_tile(scratch, scratch->cells[id], ls_units_owner(unit));
        }
    }
}

void ls_units_pass_grid(const ls_step *step)
{
    ls_units_rules rules = ls_units_rules_of(step->config);
    ls_units_scratch scratch = ls_units_scratch_of(&rules, step->scratch);
    const ls_units_state *state = step->state;
    ls_cell_grid_config config = ls_units_grid_config(&rules);
    *scratch.grid = ls_cell_grid_make(&config, scratch.grid_words);
    find_cells(&rules, state, &scratch);
    ls_cell_grid_build(scratch.grid, scratch.cells);
    uint32_t alive = scratch.grid->starts[scratch.grid->columns * scratch.grid->rows];
    for (uint32_t place = 0; place < alive; place++) {
        uint32_t id = scratch.grid->items[place];
        const ls_units_unit *unit = &state->units[id];
        scratch.spots[place] = (ls_units_spot){
            .x = ls_units_coarse(unit->position.x),
            .y = ls_units_coarse(unit->position.y),
            .id = id,
            .radius = (uint16_t)ls_units_coarse(ls_units_kind_rules_of(unit->kind)->radius),
            .owner = (uint8_t)ls_units_owner(unit),
        };
    }
}

/* A search for the nearest enemy; ties go to the lower slot. */
typedef struct enemy_search {
    int32_t x;
    int32_t y;
    uint32_t owner;
    int64_t best_squared; /* only what is nearer counts */
    uint32_t best;        /* slot + 1; 0: none yet */
} enemy_search;

static void search_range(const ls_units_spot *spots, ls_cell_range range, enemy_search *search)
{
    for (uint32_t place = range.begin; place < range.end; place++) {
        const ls_units_spot *spot = &spots[place];
        if (spot->owner == search->owner) {
            continue;
        }
        int64_t dx = spot->x - search->x;
        int64_t dy = spot->y - search->y;
        int64_t squared = dx * dx + dy * dy;
        if (squared < search->best_squared ||
            (squared == search->best_squared && spot->id + 1 < search->best)) {
            search->best_squared = squared;
            search->best = spot->id + 1;
        }
    }
}

/* The rows and columns of a block that lie in one tile. */
static void search_tile(const ls_units_scratch *scratch, ls_cell_block block, uint32_t column,
                        uint32_t row, enemy_search *search)
{
    uint32_t left = column * LS_UNITS_TILE_CELLS;
    uint32_t top = row * LS_UNITS_TILE_CELLS;
    uint32_t right = left + LS_UNITS_TILE_CELLS - 1;
    uint32_t bottom = top + LS_UNITS_TILE_CELLS - 1;
    block.first_column = LS_MAX(left, block.first_column);
    block.last_column = LS_MIN(right, block.last_column);
    block.first_row = LS_MAX(top, block.first_row);
    block.last_row = LS_MIN(bottom, block.last_row);
    for (uint32_t r = block.first_row; r <= block.last_row; r++) {
        search_range(scratch->spots, ls_cell_grid_range(scratch->grid, block, r), search);
    }
}

static void search_block(const ls_units_scratch *scratch, ls_vec2 position, ls_fixed reach,
                         enemy_search *search)
{
    const ls_cell_grid *grid = scratch->grid;
    ls_cell_block block = ls_cell_grid_around(grid, position, reach);
    uint32_t tile_columns = ls_units_tile_columns(grid);
    uint32_t last_row = block.last_row / LS_UNITS_TILE_CELLS;
    uint32_t last_column = block.last_column / LS_UNITS_TILE_CELLS;
    for (uint32_t row = block.first_row / LS_UNITS_TILE_CELLS; row <= last_row; row++) {
        uint32_t column = block.first_column / LS_UNITS_TILE_CELLS;
        for (; column <= last_column; column++) {
            if (scratch->tiles[row * tile_columns + column] & ~(1u << search->owner)) {
                search_tile(scratch, block, column, row, search);
            }
        }
    }
}

/* Slot + 1 of the nearest enemy in sight, or 0. */
static uint32_t nearest_enemy(const ls_units_scratch *scratch, const ls_units_unit *unit)
{
    enemy_search search = {
        .x = ls_units_coarse(unit->position.x),
        .y = ls_units_coarse(unit->position.y),
        .owner = ls_units_owner(unit),
        .best_squared = ls_fixed_mul(NEAR_REACH, NEAR_REACH),
    };
    search_block(scratch, unit->position, NEAR_REACH, &search);
    if (search.best == 0) {
        search.best_squared = ls_fixed_mul(LS_UNITS_SIGHT, LS_UNITS_SIGHT);
        search_block(scratch, unit->position, LS_UNITS_SIGHT, &search);
    }
    return search.best;
}

static uint32_t choose_target(const ls_units_scratch *scratch, const ls_units_unit *unit)
{
    switch (unit->verb) {
    case LS_UNITS_MOVE:
        return 0;
    case LS_UNITS_ATTACK:
        return unit->target;
    case LS_UNITS_ATTACK_MOVE:
        return nearest_enemy(scratch, unit);
    default:
        break;
    }
    bool is_astray =
        ls_units_distance_squared(unit->position, unit->goal) > ls_fixed_mul(LEASH, LEASH);
    return is_astray ? 0 : nearest_enemy(scratch, unit);
}

static void face(const ls_units_rules *rules, const ls_units_state *state, ls_units_unit *unit)
{
    const ls_units_unit *target = ls_units_target(rules, state, unit);
    ls_vec2 ahead = target != NULL ? ls_vec2_sub(target->position, unit->position) : unit->velocity;
    if (ahead.x != 0 || ahead.y != 0) {
        unit->facing = ls_fixed_atan2(ahead.y, ahead.x);
    }
}

void ls_units_pass_sight(const ls_step *step)
{
    ls_units_rules rules = ls_units_rules_of(step->config);
    ls_units_scratch scratch = ls_units_scratch_of(&rules, step->scratch);
    ls_units_state *state = step->state;
    uint32_t turn = rules.think_ticks - 1 - state->tick % rules.think_ticks;
    for (uint32_t id = turn; id < rules.unit_count; id += rules.think_ticks) {
        ls_units_unit *unit = &state->units[id];
        if (ls_units_is_alive(unit)) {
            unit->target = choose_target(&scratch, unit);
            face(&rules, state, unit);
        }
    }
}

/* ---- steering ---- */

/* The passes that move: steering round each other, and the step itself. */

/* This near its goal a unit has arrived. */
#define ARRIVED LS_FIXED_RATIO(1, 4)

/* A unit that cannot get on settles where it stands: this near its goal at once, further off when
 * it has been stuck for so long. Without it a crowd on one point presses for ever. */
#define SETTLE LS_FIXED_INT(3)
#define SETTLE_LATER LS_FIXED_INT(20)
#define STUCK_SECONDS 2u

/* A guard pushed further from its post than this walks back. */
#define POST LS_FIXED_INT(4)

/* Steps below this are rest, so that a standing unit stands still. */
#define REST_SPEED LS_FIXED_RATIO(1, 64)

/* Of a push, the share that moves the unit at once. It undoes about a third of a small overlap
 * from each side in a tick; more makes packed crowds shake, less lets them sink into each other. */
#define SHOVE_SHARE LS_FIXED_RATIO(1, 5)
#define SHOVE_MAX LS_FIXED_RATIO(1, 4)

/* Below this a push has no direction. */
#define PUSH_SQUARED_MIN (LS_FIXED_ONE / (1 << 20))

static ls_fixed square(ls_fixed a)
{
    return ls_fixed_mul(a, a);
}

/* Sums the pushes of all neighbours that touch. Each points away from the neighbour and is
 * d*(R*R - d*d) long, in m^3, for distance d and sum of radii R, with more below half of R: no
 * root and no division for each neighbour. */
static void add_pushes(const ls_units_spot *me, const ls_units_spot *spots, ls_cell_range range,
                       ls_vec2 *push)
{
    for (uint32_t place = range.begin; place < range.end; place++) {
        const ls_units_spot *other = &spots[place];
        int64_t dx = me->x - other->x;
        int64_t dy = me->y - other->y;
        int64_t touch = (int64_t)me->radius + other->radius;
        int64_t squared = dx * dx + dy * dy;
        int64_t weight = touch * touch - squared;
        if (weight <= 0 || other == me) {
            continue;
        }
        if (dx == 0 && dy == 0) {
            dx = me->id < other->id ? touch / 4 : -(touch / 4);
        }
        int64_t deep = touch * touch / 4 - squared;
        weight = (deep > 0 ? weight + 8 * deep : weight) / 65536;
        push->x += dx * weight;
        push->y += dy * weight;
    }
}

static ls_vec2 push_of_neighbours(const ls_units_scratch *scratch, const ls_units_spot *me,
                                  ls_vec2 position)
{
    ls_cell_block block = ls_cell_grid_around(scratch->grid, position, 2 * LS_UNITS_RADIUS_MAX);
    ls_vec2 push = {0, 0};
    for (uint32_t row = block.first_row; row <= block.last_row; row++) {
        add_pushes(me, scratch->spots, ls_cell_grid_range(scratch->grid, block, row), &push);
    }
    return push;
}

/* Towards a point at full speed, slower over the last metre or so. */
static ls_vec2 seek(const ls_units_rules *rules, const ls_units_unit *unit, ls_vec2 to)
{
    ls_fixed distance = ls_fixed_sqrt(ls_units_distance_squared(unit->position, to));
    ls_fixed speed = ls_units_kind_rules_of(unit->kind)->speed;
    ls_fixed per_metre = ls_fixed_min(ls_fixed_div(speed, distance), rules->arrival_rate);
    return ls_vec2_scale(ls_vec2_sub(to, unit->position), per_metre);
}

static bool is_within(ls_vec2 a, ls_vec2 b, ls_fixed reach)
{
    return ls_units_distance_squared(a, b) <= square(reach);
}

/* Stays a little inside its range, so that it need not follow every step of the other. */
static ls_vec2 pursue(const ls_units_rules *rules, const ls_units_unit *unit, ls_vec2 target)
{
    ls_fixed range = ls_units_kind_rules_of(unit->kind)->range;
    if (is_within(unit->position, target, range - range / 8)) {
        return (ls_vec2){0, 0};
    }
    return seek(rules, unit, target);
}

static ls_vec2 march(const ls_units_rules *rules, ls_units_unit *unit)
{
    if (is_within(unit->position, unit->goal, ARRIVED)) {
        ls_units_guard(unit);
        return (ls_vec2){0, 0};
    }
    return seek(rules, unit, unit->goal);
}

static ls_vec2 wanted_velocity(const ls_units_rules *rules, const ls_units_state *state,
                               ls_units_unit *unit)
{
    const ls_units_unit *target = ls_units_target(rules, state, unit);
    if (target != NULL) {
        return pursue(rules, unit, target->position);
    }
    if (unit->verb == LS_UNITS_MOVE || unit->verb == LS_UNITS_ATTACK_MOVE) {
        return march(rules, unit);
    }
    if (is_within(unit->position, unit->goal, POST)) {
        return (ls_vec2){0, 0};
    }
    return seek(rules, unit, unit->goal);
}

/* Takes from the wanted velocity what runs into the neighbours and turns half of it sideways, to
 * the side it leans to already: so units flow round each other instead of pressing. */
static ls_vec2 slide_past(ls_vec2 wanted, ls_vec2 push, ls_fixed into)
{
    ls_fixed squared = ls_vec2_dot(push, push);
    if (squared < PUSH_SQUARED_MIN) {
        return wanted;
    }
    ls_fixed share = ls_fixed_div(into, squared);
    ls_vec2 along = ls_vec2_scale(push, share);
    ls_vec2 aside = {ls_fixed_negate(along.y / 2), along.x / 2};
    if (ls_vec2_dot(aside, wanted) < 0) {
        aside = (ls_vec2){ls_fixed_negate(aside.x), ls_fixed_negate(aside.y)};
    }
    return ls_vec2_add(ls_vec2_sub(wanted, along), aside);
}

static ls_vec2 blend(ls_vec2 velocity, ls_vec2 wanted, ls_fixed gain)
{
    ls_vec2 change = ls_vec2_scale(ls_vec2_sub(wanted, velocity), gain);
    ls_vec2 next = ls_vec2_add(velocity, change);
    bool is_resting = wanted.x == 0 && wanted.y == 0 && ls_fixed_abs(next.x) < REST_SPEED &&
                      ls_fixed_abs(next.y) < REST_SPEED;
    return is_resting ? (ls_vec2){0, 0} : next;
}

static ls_vec2 shove_of(ls_vec2 push)
{
    ls_vec2 shove = ls_vec2_scale(push, SHOVE_SHARE);
    return (ls_vec2){ls_fixed_clamp(shove.x, -SHOVE_MAX, SHOVE_MAX),
                     ls_fixed_clamp(shove.y, -SHOVE_MAX, SHOVE_MAX)};
}

/* Only a unit on its way to its goal gives up, not one after an enemy, and not one that follows
 * slower ones. */
static void notice_obstacle(const ls_units_rules *rules, ls_units_unit *unit, bool is_blocked)
{
    ls_fixed half_speed = ls_units_kind_rules_of(unit->kind)->speed / 2;
    bool is_under_way = ls_vec2_dot(unit->velocity, unit->velocity) > square(half_speed);
    if (!is_blocked || is_under_way || unit->target != 0) {
        unit->stuck = unit->stuck > 0 ? (uint16_t)(unit->stuck - 1) : 0;
        return;
    }
    unit->stuck = unit->stuck < UINT16_MAX ? (uint16_t)(unit->stuck + 1) : UINT16_MAX;
    bool is_patient = unit->stuck < STUCK_SECONDS * rules->tick_rate_hz;
    if (is_within(unit->position, unit->goal, is_patient ? SETTLE : SETTLE_LATER)) {
        ls_units_guard(unit);
    }
}

static void steer_unit(const ls_units_rules *rules, const ls_units_scratch *scratch,
                       ls_units_state *state, const ls_units_spot *spot)
{
    ls_units_unit *unit = &state->units[spot->id];
    ls_vec2 push = push_of_neighbours(scratch, spot, unit->position);
    ls_vec2 wanted = wanted_velocity(rules, state, unit);
    ls_fixed into = ls_vec2_dot(wanted, push);
    notice_obstacle(rules, unit, into < 0);
    if (into < 0) {
        wanted = slide_past(wanted, push, into);
    }
    unit->velocity = blend(unit->velocity, wanted, rules->velocity_gain);
    scratch->shoves[spot->id] = shove_of(push);
}

/* Neighbours are seen through the grid, which keeps where they stood: the order in which units
 * are steered has no effect on where they go. */
void ls_units_pass_steer(const ls_step *step)
{
    ls_units_rules rules = ls_units_rules_of(step->config);
    ls_units_scratch scratch = ls_units_scratch_of(&rules, step->scratch);
    uint32_t alive = scratch.grid->starts[scratch.grid->columns * scratch.grid->rows];
    for (uint32_t place = 0; place < alive; place++) {
        steer_unit(&rules, &scratch, step->state, &scratch.spots[place]);
    }
}

void ls_units_pass_move(const ls_step *step)
{
    ls_units_rules rules = ls_units_rules_of(step->config);
    ls_units_scratch scratch = ls_units_scratch_of(&rules, step->scratch);
    ls_units_state *state = step->state;
    for (uint32_t id = 0; id < rules.unit_count; id++) {
        ls_units_unit *unit = &state->units[id];
        if (ls_units_is_alive(unit)) {
            ls_vec2 stride = ls_vec2_scale(unit->velocity, rules.dt);
            ls_vec2 moved = ls_vec2_add(unit->position, ls_vec2_add(stride, scratch.shoves[id]));
            unit->position = ls_units_inside(&rules, moved);
        }
    }
}
