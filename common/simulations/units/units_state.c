#include "lockstep/common/simulations/units/units_state.h"

#include "lockstep/common/maths/fixed_trig.h"

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
        raise_unit(rules, state, &state->units[id], player, ls_units_kind_at(id - first), place);
        quota--;
    }
}
