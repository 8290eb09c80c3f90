/* Cell grid: points sorted into the cells of a uniform grid, to find neighbours in linear time.
 * Rebuilt from scratch every tick by counting sort in the caller's memory: no allocation, nothing
 * carried over, so it never needs saving. Items of a cell stand by ascending number, cells of a
 * row beside each other. Called by the built-in simulations. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_CELL_GRID_H
#define LOCKSTEP_COMMON_SIMULATIONS_CELL_GRID_H

#include "lockstep/common/maths/fixed.h"

#include <stddef.h>
#include <stdint.h>

/* Marks an item that is in no cell, in the array given to build. */
#define LS_CELL_GRID_NONE UINT32_MAX

typedef struct ls_cell_grid_config {
    ls_vec2 min; /* the area covered; each side above 0 and below 2^30 */
    ls_vec2 max;
    ls_fixed cell_size;  /* > 0; at most 2^28 cells in all */
    uint32_t item_count; /* items are numbered 0 .. item_count-1 */
} ls_cell_grid_config;

typedef struct ls_cell_grid {
    ls_vec2 min;
    ls_vec2 max;
    ls_fixed cells_per_unit;
    uint32_t columns;
    uint32_t rows;
    uint32_t item_count;
    uint32_t *starts; /* columns*rows + 2: cell c holds items[starts[c] .. starts[c + 1] - 1] */
    uint32_t *items;  /* item_count */
} ls_cell_grid;

/* Cells [first_column, last_column] x [first_row, last_row], both ends included. */
typedef struct ls_cell_block {
    uint32_t first_column;
    uint32_t last_column;
    uint32_t first_row;
    uint32_t last_row;
} ls_cell_block;

/* Places [begin, end) of ls_cell_grid.items. */
typedef struct ls_cell_range {
    uint32_t begin;
    uint32_t end;
} ls_cell_range;

/* Memory that make needs, aligned for uint32_t; its content may be anything. */
size_t ls_cell_grid_bytes(const ls_cell_grid_config *config);

/* A grid without content: build it before asking. Borrows the memory. */
ls_cell_grid ls_cell_grid_make(const ls_cell_grid_config *config, void *memory);

/* Sorts the items; cells[i] is the cell of item i or LS_CELL_GRID_NONE. Linear in items and cells.
 */
void ls_cell_grid_build(ls_cell_grid *grid, const uint32_t *cells);

/* Column and row never fall as x and y rise, so a block from p - r to p + r holds every point
 * within r of p. Points outside the area belong to the cells at its edge. */
static inline uint32_t ls_cell_grid_column(const ls_cell_grid *grid, ls_fixed x)
{
    ls_fixed inside = ls_fixed_sub(ls_fixed_clamp(x, grid->min.x, grid->max.x), grid->min.x);
    uint32_t column = ls_fixed_mul_whole(inside, grid->cells_per_unit);
    return column < grid->columns ? column : grid->columns - 1;
}

static inline uint32_t ls_cell_grid_row(const ls_cell_grid *grid, ls_fixed y)
{
    ls_fixed inside = ls_fixed_sub(ls_fixed_clamp(y, grid->min.y, grid->max.y), grid->min.y);
    uint32_t row = ls_fixed_mul_whole(inside, grid->cells_per_unit);
    return row < grid->rows ? row : grid->rows - 1;
}

static inline uint32_t ls_cell_grid_cell(const ls_cell_grid *grid, ls_vec2 point)
{
    return ls_cell_grid_row(grid, point.y) * grid->columns + ls_cell_grid_column(grid, point.x);
}

/* The cells that hold every point within `reach` of `point`, measured along the axes. */
static inline ls_cell_block ls_cell_grid_around(const ls_cell_grid *grid, ls_vec2 point,
                                                ls_fixed reach)
{
    return (ls_cell_block){
        .first_column = ls_cell_grid_column(grid, ls_fixed_sub(point.x, reach)),
        .last_column = ls_cell_grid_column(grid, ls_fixed_add(point.x, reach)),
        .first_row = ls_cell_grid_row(grid, ls_fixed_sub(point.y, reach)),
        .last_row = ls_cell_grid_row(grid, ls_fixed_add(point.y, reach)),
    };
}

/* The items in one row of a block. Within it they ascend cell by cell. */
static inline ls_cell_range ls_cell_grid_range(const ls_cell_grid *grid, ls_cell_block block,
                                               uint32_t row)
{
    uint32_t first = row * grid->columns;
    return (ls_cell_range){grid->starts[first + block.first_column],
                           grid->starts[first + block.last_column + 1]};
}

#endif
