#include "lockstep/common/simulations/tumble/tumble_near.h"

#include <string.h>

/* Beyond these a body is a stray: no sum of them comes near an overflow. */
#define PLACE_MAX LS_FIXED_INT(1 << 20)
#define REACH_MAX LS_FIXED_INT(4)

static ls_fixed reach_of(const ls_tumble_world *world, uint32_t index)
{
    return ls_fixed_add(world->bodies[index].radius, world->movers[index].travel);
}

static bool is_within(ls_fixed value, ls_fixed most)
{
    return value >= -most && value <= most;
}

static bool is_stray(const ls_tumble_body *body, ls_fixed reach)
{
    return reach < 0 || reach > REACH_MAX || !is_within(body->position.x, PLACE_MAX) ||
           !is_within(body->position.y, PLACE_MAX);
}

static ls_tumble_spot spot_of(const ls_tumble_world *world, uint32_t index)
{
    const ls_tumble_body *body = &world->bodies[index];
    return (ls_tumble_spot){
        .position = body->position,
        .reach = reach_of(world, index),
        .index = index,
        .is_asleep = ls_tumble_is_asleep(world, body),
    };
}

void ls_tumble_near_build(const ls_tumble_world *world, ls_tumble_near *near)
{
    memset(near, 0, sizeof *near);
    near->grid = world->grid;
    near->spots = world->spots;
    uint32_t strays = 0;
    uint32_t count = world->layout.body_count;
    for (uint32_t i = 0; i < count; i++) {
        const ls_tumble_body *body = &world->bodies[i];
        ls_fixed reach = reach_of(world, i);
        world->cells[i] = LS_CELL_GRID_NONE;
        if (body->shape == LS_TUMBLE_NONE) {
            continue;
        }
        if (is_stray(body, reach)) {
            near->spots[count - ++strays] = spot_of(world, i);
            continue;
        }
        ls_vec2 place = {body->position.x, body->position.y};
        world->cells[i] = ls_cell_grid_cell(&near->grid, place);
        near->reach_max = ls_fixed_max(near->reach_max, reach);
        near->grid_count++;
    }
    ls_cell_grid_build(&near->grid, world->cells);
    for (uint32_t i = 0; i < near->grid_count; i++) {
        near->spots[i] = spot_of(world, near->grid.items[i]);
    }
    memmove(near->spots + near->grid_count, near->spots + count - strays,
            strays * sizeof near->spots[0]);
    near->spot_count = near->grid_count + strays;
}

static bool is_near(ls_vec3 offset, ls_fixed reach)
{
    if (ls_fixed_abs(offset.x) > reach || ls_fixed_abs(offset.y) > reach ||
        ls_fixed_abs(offset.z) > reach) {
        return false;
    }
    return ls_vec3_dot(offset, offset) <= ls_fixed_mul(reach, reach);
}

static void mark(ls_tumble_near *near, uint32_t index)
{
    uint32_t word = index / 64;
    near->marks[word] |= UINT64_C(1) << index % 64;
    near->marked_words[word / 64] |= UINT64_C(1) << word % 64;
}

static void search_spots(ls_tumble_near *near, const ls_tumble_search *search, ls_vec3 position,
                         ls_fixed reach, ls_cell_range range)
{
    for (uint32_t i = range.begin; i < range.end; i++) {
        const ls_tumble_spot *spot = &near->spots[i];
        bool is_asked_for = spot->is_asleep || spot->index > search->awake_after;
        if (is_asked_for && spot->index != search->index &&
            is_near(ls_vec3_sub(spot->position, position), ls_fixed_add(reach, spot->reach))) {
            mark(near, spot->index);
        }
    }
}

void ls_tumble_near_find(const ls_tumble_world *world, ls_tumble_near *near,
                         const ls_tumble_search *search)
{
    const ls_tumble_body *body = &world->bodies[search->index];
    ls_fixed own = reach_of(world, search->index);
    ls_fixed reach = ls_fixed_add(own, search->margin);
    if (is_stray(body, own)) {
        search_spots(near, search, body->position, reach, (ls_cell_range){0, near->spot_count});
        return;
    }
    ls_vec2 place = {body->position.x, body->position.y};
    ls_cell_block block = ls_cell_grid_around(&near->grid, place, reach + near->reach_max);
    for (uint32_t row = block.first_row; row <= block.last_row; row++) {
        ls_cell_range range = ls_cell_grid_range(&near->grid, block, row);
        search_spots(near, search, body->position, reach, range);
    }
    search_spots(near, search, body->position, reach,
                 (ls_cell_range){near->grid_count, near->spot_count});
}

static uint32_t lowest_bit(uint64_t bits)
{
    return 63u - (uint32_t)ls_leading_zeros(bits & (0u - bits));
}

bool ls_tumble_near_pop(ls_tumble_near *near, uint32_t *index)
{
    for (uint32_t i = 0; i < sizeof near->marked_words / sizeof near->marked_words[0]; i++) {
        if (near->marked_words[i] != 0) {
            uint32_t word = i * 64 + lowest_bit(near->marked_words[i]);
            *index = word * 64 + lowest_bit(near->marks[word]);
            near->marks[word] &= near->marks[word] - 1;
            if (near->marks[word] == 0) {
                near->marked_words[i] &= near->marked_words[i] - 1;
            }
            return true;
        }
    }
    return false;
}
