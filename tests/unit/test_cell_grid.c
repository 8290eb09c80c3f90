#include "lockstep/common/simulations/cell_grid.h"

#include "lockstep/common/maths/rng.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <string.h>

#define POINTS 300u
#define MEMORY_WORDS 4096u

typedef struct fixture {
    ls_cell_grid grid;
    ls_vec2 points[POINTS];
    uint32_t cells[POINTS];
    uint32_t memory[MEMORY_WORDS];
} fixture;

static const ls_cell_grid_config config = {
    .min = {LS_FIXED_INT(-50), LS_FIXED_INT(-20)},
    .max = {LS_FIXED_INT(50), LS_FIXED_INT(21)},
    .cell_size = LS_FIXED_RATIO(7, 2),
    .item_count = POINTS,
};

/* Random points, a few of them outside the area, every seventh in no cell. */
static void fill(fixture *f)
{
    cr_assert_leq(ls_cell_grid_bytes(&config), sizeof f->memory);
    memset(f->memory, 0xA5, sizeof f->memory);
    f->grid = ls_cell_grid_make(&config, f->memory);
    ls_rng rng = ls_rng_make(7, 1);
    for (uint32_t i = 0; i < POINTS; i++) {
        f->points[i].x = LS_FIXED_INT(ls_rng_between(&rng, -55, 55));
        f->points[i].y = LS_FIXED_INT(ls_rng_between(&rng, -25, 25));
        f->points[i].x += ls_rng_unit(&rng);
        f->points[i].y += ls_rng_unit(&rng);
        f->cells[i] = i % 7 ? ls_cell_grid_cell(&f->grid, f->points[i]) : LS_CELL_GRID_NONE;
    }
    ls_cell_grid_build(&f->grid, f->cells);
}

Test(cell_grid, every_item_with_a_cell_stands_in_it_once_in_order)
{
    static fixture f;
    fill(&f);
    uint32_t seen[POINTS] = {0};
    for (uint32_t cell = 0; cell < f.grid.columns * f.grid.rows; cell++) {
        for (uint32_t k = f.grid.starts[cell]; k < f.grid.starts[cell + 1]; k++) {
            uint32_t item = f.grid.items[k];
            cr_assert_eq(f.cells[item], cell);
            cr_assert(k == f.grid.starts[cell] || f.grid.items[k - 1] < item);
            seen[item]++;
        }
    }
    for (uint32_t i = 0; i < POINTS; i++) {
        cr_assert_eq(seen[i], i % 7 ? 1u : 0u);
    }
}

Test(cell_grid, a_block_holds_every_point_within_reach)
{
    static fixture f;
    fill(&f);
    ls_fixed reach = LS_FIXED_RATIO(9, 4);
    uint32_t found = 0;
    for (uint32_t i = 0; i < POINTS; i++) {
        bool is_near[POINTS] = {false};
        ls_cell_block block = ls_cell_grid_around(&f.grid, f.points[i], reach);
        for (uint32_t row = block.first_row; row <= block.last_row; row++) {
            ls_cell_range range = ls_cell_grid_range(&f.grid, block, row);
            for (uint32_t k = range.begin; k < range.end; k++) {
                is_near[f.grid.items[k]] = true;
            }
        }
        for (uint32_t j = 0; j < POINTS; j++) {
            bool within = ls_fixed_abs(f.points[i].x - f.points[j].x) <= reach &&
                          ls_fixed_abs(f.points[i].y - f.points[j].y) <= reach;
            cr_assert(!within || is_near[j] || j % 7 == 0);
            found += within && is_near[j] && i != j;
        }
    }
    cr_assert_gt(found, 100);
}

Test(cell_grid, far_points_fall_in_the_cells_at_the_edge)
{
    static fixture f;
    fill(&f);
    ls_vec2 low = {LS_FIXED_MIN, LS_FIXED_MIN};
    ls_vec2 high = {LS_FIXED_MAX, LS_FIXED_MAX};
    cr_assert_eq(ls_cell_grid_cell(&f.grid, low), 0);
    cr_assert_eq(ls_cell_grid_cell(&f.grid, high), f.grid.columns * f.grid.rows - 1);
}

Test(cell_grid, an_empty_grid_has_empty_rows)
{
    static fixture f;
    fill(&f);
    for (uint32_t i = 0; i < POINTS; i++) {
        f.cells[i] = LS_CELL_GRID_NONE;
    }
    ls_cell_grid_build(&f.grid, f.cells);
    ls_cell_block all = {0, f.grid.columns - 1, 0, f.grid.rows - 1};
    for (uint32_t row = 0; row <= all.last_row; row++) {
        ls_cell_range range = ls_cell_grid_range(&f.grid, all, row);
        cr_assert_eq(range.begin, 0);
        cr_assert_eq(range.end, 0);
    }
}
