/* The passes that see: the grid of living units, and the choice of targets in it. */
#include "lockstep/common/simulations/units/units_state.h"

#include "lockstep/common/maths/fixed_trig.h"

#include <string.h>

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
