#include "lockstep/common/simulations/cell_grid.h"

#include "lockstep/common/base/assert.h"

#include <string.h>

static uint32_t cells_along(ls_fixed low, ls_fixed high, ls_fixed cell_size)
{
    LS_ASSERT(cell_size > 0 && high > low);
    return (uint32_t)((ls_fixed_sub(high, low) + cell_size - 1) / cell_size);
}

static size_t starts_count(uint32_t columns, uint32_t rows)
{
    return (size_t)columns * rows + 2;
}

size_t ls_cell_grid_bytes(const ls_cell_grid_config *config)
{
    uint32_t columns = cells_along(config->min.x, config->max.x, config->cell_size);
    uint32_t rows = cells_along(config->min.y, config->max.y, config->cell_size);
    return (starts_count(columns, rows) + config->item_count) * sizeof(uint32_t);
}

ls_cell_grid ls_cell_grid_make(const ls_cell_grid_config *config, void *memory)
{
    ls_cell_grid grid = {
        .min = config->min,
        .max = config->max,
        .cells_per_unit = ls_fixed_div(LS_FIXED_ONE, config->cell_size),
        .columns = cells_along(config->min.x, config->max.x, config->cell_size),
        .rows = cells_along(config->min.y, config->max.y, config->cell_size),
        .item_count = config->item_count,
        .starts = memory,
    };
    grid.items = grid.starts + starts_count(grid.columns, grid.rows);
    return grid;
}

/* Counts stand two places on while they are summed, so that after the sum starts[c + 1] is where
 * cell c begins, and after every item has moved it on by one, where cell c ends and c + 1 begins.
 */
void ls_cell_grid_build(ls_cell_grid *grid, const uint32_t *cells)
{
    uint32_t *starts = grid->starts;
    size_t cell_count = (size_t)grid->columns * grid->rows;
    memset(starts, 0, starts_count(grid->columns, grid->rows) * sizeof *starts);
    for (uint32_t i = 0; i < grid->item_count; i++) {
        if (cells[i] != LS_CELL_GRID_NONE) {
            starts[cells[i] + 2]++;
        }
    }
    for (size_t c = 2; c < cell_count + 2; c++) {
        starts[c] += starts[c - 1];
    }
    for (uint32_t i = 0; i < grid->item_count; i++) {
        if (cells[i] != LS_CELL_GRID_NONE) {
            grid->items[starts[cells[i] + 1]++] = i;
        }
    }
}
