#include "lockstep/common/simulations/units/units_state.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/maths/fixed_trig.h"

#include <stdbool.h>

/* ---- rules ---- */

const ls_units_kind_rules ls_units_kinds[LS_UNITS_KIND_COUNT] = {
    [LS_UNITS_SOLDIER] = {.radius = LS_UNITS_RADIUS_MAX,
                          .speed = LS_FIXED_RATIO(7, 2),
                          .range = LS_FIXED_RATIO(13, 10),
                          .cooldown_ms = 800,
                          .health = 100,
                          .damage = 12,
                          .worth = 3},
    [LS_UNITS_ARCHER] = {.radius = LS_FIXED_RATIO(9, 20),
                         .speed = LS_FIXED_RATIO(16, 5),
                         .range = LS_FIXED_INT(8),
                         .cooldown_ms = 1200,
                         .health = 60,
                         .damage = 9,
                         .worth = 4},
    [LS_UNITS_SCOUT] = {.radius = LS_FIXED_RATIO(2, 5),
                        .speed = LS_FIXED_INT(6),
                        .range = LS_FIXED_RATIO(6, 5),
                        .cooldown_ms = 500,
                        .health = 50,
                        .damage = 5,
                        .worth = 2},
};

ls_units_rules ls_units_rules_of(const ls_sim_config *config)
{
    uint32_t hz = config->tick_rate_hz;
    ls_units_rules rules = {
        .unit_count = (uint32_t)config->params[LS_UNITS_PARAM_UNITS],
        .players = config->players,
        .tick_rate_hz = hz,
        .think_ticks = hz < 4 ? 1 : hz / 4,
        .wave_ticks = (uint32_t)config->params[LS_UNITS_PARAM_WAVE_SECONDS] * hz,
        .wave_percent = (uint32_t)config->params[LS_UNITS_PARAM_WAVE_PERCENT],
        .dt = LS_FIXED_ONE / hz,
        .velocity_gain = ls_fixed_min(LS_FIXED_INT(8) / hz, LS_FIXED_ONE),
        .arrival_rate = ls_fixed_min(LS_FIXED_INT(hz) / 2, LS_FIXED_INT(4)),
    };
    /* Ten square metres a unit: armies have room to move and are soon in contact. */
    ls_fixed side = ls_fixed_sqrt(LS_FIXED_INT(rules.unit_count * 10));
    rules.side = ls_fixed_max(side, LS_FIXED_INT(40));
    return rules;
}

/* The kind of unit `place` of an army when the match starts: five soldiers, three archers and two
 * scouts in every ten. */
static ls_units_kind units_kind_at(uint32_t place)
{
    static const uint8_t pattern[10] = {
        LS_UNITS_SOLDIER, LS_UNITS_ARCHER,  LS_UNITS_SOLDIER, LS_UNITS_SCOUT,   LS_UNITS_SOLDIER,
        LS_UNITS_ARCHER,  LS_UNITS_SOLDIER, LS_UNITS_ARCHER,  LS_UNITS_SOLDIER, LS_UNITS_SCOUT,
    };
    return (ls_units_kind)pattern[place % 10];
}

uint32_t ls_units_army_first(const ls_units_rules *rules, uint32_t player)
{
    return rules->unit_count * player / rules->players;
}

ls_vec2 ls_units_base(const ls_units_rules *rules, uint32_t player)
{
    uint64_t turn = (UINT64_C(1) << 32) * player / rules->players;
    ls_vec2 direction = ls_vec2_from_angle((ls_angle)turn + LS_ANGLE_QUARTER / 2);
    ls_fixed distance = ls_fixed_mul(rules->side, LS_FIXED_RATIO(8, 25));
    ls_vec2 middle = {rules->side / 2, rules->side / 2};
    return ls_vec2_add(middle, ls_vec2_scale(direction, distance));
}

ls_vec2 ls_units_inside(const ls_units_rules *rules, ls_vec2 point)
{
    ls_fixed low = LS_UNITS_RADIUS_MAX;
    ls_fixed high = ls_fixed_sub(rules->side, LS_UNITS_RADIUS_MAX);
    return (ls_vec2){ls_fixed_clamp(point.x, low, high), ls_fixed_clamp(point.y, low, high)};
}

static uint32_t square_root_up(uint32_t n)
{
    uint32_t root = (uint32_t)ls_fixed_floor(ls_fixed_sqrt(LS_FIXED_INT(n)));
    return root * root < n ? root + 1 : root;
}

ls_units_formation ls_units_formation_make(ls_vec2 centre, uint32_t count)
{
    uint32_t columns = square_root_up(count);
    uint32_t rows = (count + columns - 1) / columns;
    ls_vec2 half = {(int64_t)(columns - 1) * LS_UNITS_SPACING / 2,
                    (int64_t)(rows - 1) * LS_UNITS_SPACING / 2};
    return (ls_units_formation){.corner = ls_vec2_sub(centre, half), .columns = columns};
}

ls_vec2 ls_units_formation_place(const ls_units_formation *formation, uint32_t place)
{
    int64_t column = place % formation->columns;
    int64_t row = place / formation->columns;
    ls_vec2 offset = {column * LS_UNITS_SPACING, row * LS_UNITS_SPACING};
    return ls_vec2_add(formation->corner, offset);
}

/* ---- the state ---- */

/* Hands out aligned parts of a block, or only counts when there is none. */
typedef struct part_maker {
    uint8_t *memory;
    size_t bytes;
} part_maker;

static void *carve_part(part_maker *maker, size_t count, size_t element_bytes)
{
    void *part = maker->memory == NULL ? NULL : maker->memory + maker->bytes;
    maker->bytes += (count * element_bytes + 15) / 16 * 16;
    return part;
}

ls_cell_grid_config ls_units_grid_config(const ls_units_rules *rules)
{
    return (ls_cell_grid_config){
        .min = {0, 0},
        .max = {rules->side, rules->side},
        .cell_size = 2 * LS_UNITS_RADIUS_MAX,
        .item_count = rules->unit_count,
    };
}

uint32_t ls_units_tile_columns(const ls_cell_grid *grid)
{
    return (grid->columns + LS_UNITS_TILE_CELLS - 1) / LS_UNITS_TILE_CELLS;
}

/* Tiles of a square map of whole metres and a part. */
static size_t tile_count(const ls_units_rules *rules)
{
    ls_cell_grid_config config = ls_units_grid_config(rules);
    size_t cells = (size_t)((rules->side + config.cell_size - 1) / config.cell_size);
    size_t tiles = (cells + LS_UNITS_TILE_CELLS - 1) / LS_UNITS_TILE_CELLS;
    return tiles * tiles;
}

ls_units_scratch ls_units_scratch_of(const ls_units_rules *rules, void *memory)
{
    uint32_t count = rules->unit_count;
    ls_cell_grid_config config = ls_units_grid_config(rules);
    part_maker maker = {.memory = memory};
    ls_units_scratch scratch = {0};
    scratch.grid = carve_part(&maker, 1, sizeof *scratch.grid);
    scratch.spots = carve_part(&maker, count, sizeof *scratch.spots);
    scratch.shoves = carve_part(&maker, count, sizeof *scratch.shoves);
    scratch.grid_words = carve_part(&maker, 1, ls_cell_grid_bytes(&config));
    scratch.cells = carve_part(&maker, count, sizeof *scratch.cells);
    scratch.chosen = carve_part(&maker, LS_UNITS_LIST_MAX + count, sizeof *scratch.chosen);
    scratch.wounds = carve_part(&maker, count, sizeof *scratch.wounds);
    scratch.strikers = carve_part(&maker, count, sizeof *scratch.strikers);
    scratch.tiles = carve_part(&maker, tile_count(rules), sizeof *scratch.tiles);
    scratch.bytes = maker.bytes;
    return scratch;
}

static ls_fixed jitter(ls_rng *rng)
{
    return (ls_rng_unit(rng) - LS_FIXED_HALF) / 2;
}

static void raise_unit(const ls_units_rules *rules, ls_units_state *state, ls_units_unit *unit,
                       uint32_t player, ls_units_kind kind, ls_vec2 place)
{
    ls_vec2 post = ls_units_inside(rules, place);
    ls_vec2 middle = {rules->side / 2, rules->side / 2};
    ls_vec2 ahead = ls_vec2_sub(middle, post);
    *unit = (ls_units_unit){
        .position = post,
        .goal = post,
        .facing = ls_fixed_atan2(ahead.y, ahead.x),
        .born = state->tick + 1,
        .health = ls_units_kind_rules_of(kind)->health,
        .owner = (uint8_t)player,
        .kind = (uint8_t)kind,
        .verb = LS_UNITS_STOP,
    };
    state->players[player].alive++;
}

void ls_units_muster(const ls_units_rules *rules, ls_units_state *state, uint32_t player,
                     uint32_t quota)
{
    uint32_t first = ls_units_army_first(rules, player);
    uint32_t end = ls_units_army_first(rules, player + 1);
    ls_units_formation block = ls_units_formation_make(state->players[player].base, end - first);
    for (uint32_t id = first; id < end && quota > 0; id++) {
        if (ls_units_is_alive(&state->units[id])) {
            continue;
        }
        ls_vec2 place = ls_units_formation_place(&block, id - first);
        place.x = ls_fixed_add(place.x, jitter(&state->muster_rng));
        place.y = ls_fixed_add(place.y, jitter(&state->muster_rng));
        raise_unit(rules, state, &state->units[id], player, units_kind_at(id - first), place);
        quota--;
    }
}

/* ---- units orders ---- */

#define POINT_BYTES 4u
#define ID_BYTES 2u
#define RAW_PER_STEP (LS_FIXED_ONE / 64)

ls_units_point ls_units_point_from(ls_vec2 position)
{
    ls_fixed high = UINT16_MAX * RAW_PER_STEP;
    ls_fixed x = ls_fixed_clamp(position.x, 0, high) + RAW_PER_STEP / 2;
    ls_fixed y = ls_fixed_clamp(position.y, 0, high) + RAW_PER_STEP / 2;
    return (ls_units_point){(uint16_t)(x / RAW_PER_STEP), (uint16_t)(y / RAW_PER_STEP)};
}

ls_vec2 ls_units_point_position(ls_units_point point)
{
    return (ls_vec2){point.x * RAW_PER_STEP, point.y * RAW_PER_STEP};
}

/* The bytes that follow the head and, for a list, its count; false for an unknown form. */
static bool selection_bytes(uint32_t select, uint32_t list_count, uint32_t *out)
{
    switch (select) {
    case LS_UNITS_SELECT_LIST:
        *out = 1 + list_count * ID_BYTES;
        return true;
    case LS_UNITS_SELECT_KINDS:
        *out = 1;
        return true;
    case LS_UNITS_SELECT_AREA:
        *out = 1 + 2 * POINT_BYTES;
        return true;
    default:
        return false;
    }
}

static bool argument_bytes(uint32_t verb, uint32_t *out)
{
    switch (verb) {
    case LS_UNITS_STOP:
        *out = 0;
        return true;
    case LS_UNITS_ATTACK:
        *out = ID_BYTES;
        return true;
    case LS_UNITS_MOVE:
    case LS_UNITS_ATTACK_MOVE:
        *out = POINT_BYTES;
        return true;
    default:
        return false;
    }
}

static ls_units_point load_point(const uint8_t *bytes)
{
    return (ls_units_point){ls_load_u16(bytes), ls_load_u16(bytes + 2)};
}

static void store_point(uint8_t *bytes, ls_units_point point)
{
    ls_store_u16(bytes, point.x);
    ls_store_u16(bytes + 2, point.y);
}

/* `bytes` begin behind the head and are as many as selection_bytes said. */
static void read_selection(const uint8_t *bytes, ls_units_order *out)
{
    if (out->select != LS_UNITS_SELECT_LIST) {
        out->kinds = bytes[0];
    }
    if (out->select == LS_UNITS_SELECT_AREA) {
        out->corners[0] = load_point(bytes + 1);
        out->corners[1] = load_point(bytes + 1 + POINT_BYTES);
    }
    for (uint32_t i = 0; i < out->list_count; i++) {
        out->list[i] = ls_load_u16(bytes + 1 + i * ID_BYTES);
    }
}

static void write_selection(const ls_units_order *order, uint8_t *bytes)
{
    bool is_list = order->select == LS_UNITS_SELECT_LIST;
    bytes[0] = is_list ? order->list_count : order->kinds;
    if (order->select == LS_UNITS_SELECT_AREA) {
        store_point(bytes + 1, order->corners[0]);
        store_point(bytes + 1 + POINT_BYTES, order->corners[1]);
    }
    for (uint32_t i = 0; is_list && i < order->list_count; i++) {
        ls_store_u16(bytes + 1 + i * ID_BYTES, order->list[i]);
    }
}

static void read_argument(const uint8_t *bytes, ls_units_order *out)
{
    if (out->verb == LS_UNITS_ATTACK) {
        out->target = ls_load_u16(bytes);
    } else if (out->verb != LS_UNITS_STOP) {
        out->point = load_point(bytes);
    }
}

static void write_argument(const ls_units_order *order, uint8_t *bytes)
{
    if (order->verb == LS_UNITS_ATTACK) {
        ls_store_u16(bytes, order->target);
    } else if (order->verb != LS_UNITS_STOP) {
        store_point(bytes, order->point);
    }
}

uint32_t ls_units_order_read(const uint8_t *bytes, uint32_t size, ls_units_order *out)
{
    if (size < 2) {
        return 0;
    }
    uint32_t verb = bytes[0] & 0x0fu;
    uint32_t select = bytes[0] >> 4;
    uint32_t list_count = select == LS_UNITS_SELECT_LIST ? bytes[1] : 0;
    uint32_t selection = 0;
    uint32_t argument = 0;
    if (list_count > LS_UNITS_LIST_MAX || !selection_bytes(select, list_count, &selection) ||
        !argument_bytes(verb, &argument) || size < 1 + selection + argument) {
        return 0;
    }
    out->verb = (ls_units_verb)verb;
    out->select = (ls_units_select)select;
    out->list_count = (uint8_t)list_count;
    read_selection(bytes + 1, out);
    read_argument(bytes + 1 + selection, out);
    return 1 + selection + argument;
}

uint32_t ls_units_order_write(const ls_units_order *order, uint8_t *bytes, uint32_t capacity)
{
    bool is_list = order->select == LS_UNITS_SELECT_LIST;
    uint32_t list_count = is_list ? order->list_count : 0;
    uint32_t selection = 0;
    uint32_t argument = 0;
    bool is_known = selection_bytes(order->select, list_count, &selection) &&
                    argument_bytes(order->verb, &argument);
    LS_ASSERT(is_known && list_count <= LS_UNITS_LIST_MAX);
    if (capacity < 1 + selection + argument) {
        return 0;
    }
    bytes[0] = (uint8_t)((uint32_t)order->verb | (uint32_t)order->select << 4);
    write_selection(order, bytes + 1);
    write_argument(order, bytes + 1 + selection);
    return 1 + selection + argument;
}
