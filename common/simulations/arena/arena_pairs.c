#include "lockstep/common/simulations/arena/arena_collide.h"
#include "lockstep/common/simulations/arena/arena_world.h"

#include <string.h>

/* ---- blocks ---- */

/* Four circles that are compared with one at once, in one instruction each where the compiler
 * has vectors, one after the other where it has not, with the same answers. */

_Static_assert(LS_ARENA_BLOCK == 4, "a vector is four numbers, of which two words are signs");

/* LS_FIXED_PORTABLE builds what a compiler without extensions makes, for tests. */
#if defined(__GNUC__) && !defined(LS_FIXED_PORTABLE)
#define HAS_VECTORS 1
#else
#define HAS_VECTORS 0
#endif

#if HAS_VECTORS
typedef int32_t ls_arena_four __attribute__((vector_size(LS_ARENA_BLOCK * sizeof(int32_t))));

static inline ls_arena_four four_load(const int32_t *numbers)
{
    ls_arena_four four;
    memcpy(&four, numbers, sizeof four);
    return four;
}
#endif

/* Of each circle that is compared: below 0 if the squares round it and round the one are apart. */
typedef struct arena_block {
#if HAS_VECTORS
    ls_arena_four gaps;
#else
    int32_t gaps[LS_ARENA_BLOCK];
#endif
} arena_block;

/* The difference of two places along an axis is below the sum of two radii either way unless one of
 * the sums below is negative. No number comes near the ends of 32 bits. */
static inline arena_block block_compare(const ls_arena_circles *circles, ls_arena_circle circle,
                                        uint32_t begin)
{
    arena_block block;
#if HAS_VECTORS
    ls_arena_four x = four_load(circles->x + begin) - circle.x;
    ls_arena_four y = four_load(circles->y + begin) - circle.y;
    ls_arena_four reach = four_load(circles->radius + begin) + circle.radius;
    block.gaps = (reach - x) | (reach + x) | (reach - y) | (reach + y);
#else
    for (uint32_t i = 0; i < LS_ARENA_BLOCK; i++) {
        bool is_apart = !ls_arena_grid_overlap(circle, ls_arena_circle_at(circles, begin + i));
        block.gaps[i] = is_apart ? -1 : 0;
    }
#endif
    return block;
}

/* Whether neither block has a circle that overlaps. */
static inline bool block_is_apart(arena_block a, arena_block b)
{
    const uint64_t signs = UINT64_C(0x8000000080000000);
    uint64_t words_a[2];
    uint64_t words_b[2];
    memcpy(words_a, &a, sizeof words_a);
    memcpy(words_b, &b, sizeof words_b);
    return (words_a[0] & words_a[1] & words_b[0] & words_b[1] & signs) == signs;
}

/* The pass that finds pairs: two bodies whose circles overlap and of which one is awake. The pairs
 * of a body stand by number of the other. Their order is the solver's, so it is part of the rules
 * of the game; so is what is left out when there are too many. */

/* With fewer awake than one in this many, each of them looks around for itself. */
#define FEW_AWAKE 4u

/* ---- the list of pairs ---- */

static void clear_pairs(ls_arena_world *world)
{
    world->match->pairs = 0;
    memset(world->first_pairs, 0xff, world->layout.body_count * sizeof *world->first_pairs);
}

/* There are few for one body, so a walk to the right place is quick. */
static void insert_pair(ls_arena_world *world, uint32_t a, uint32_t b)
{
    uint32_t *link = &world->first_pairs[a];
    while (*link != LS_ARENA_NO_PAIR && world->pairs[*link].b < b) {
        link = &world->pairs[*link].next;
    }
    uint32_t place = world->match->pairs++;
    world->pairs[place] = (ls_arena_pair){b, *link};
    *link = place;
}

static bool is_touching(const ls_arena_world *world, uint32_t a, uint32_t b)
{
    return ls_arena_circles_overlap(&world->bodies[a], &world->bodies[b]);
}

static bool is_asleep(const ls_arena_world *world, uint32_t body)
{
    return ls_arena_is_asleep(world, &world->bodies[body]);
}

/* ---- with many awake: all circles in the order of their cells ---- */

/* The lower number keeps the pair, unless it is asleep. False when there is no room. */
static bool add_pair(ls_arena_world *world, uint32_t body, uint32_t other)
{
    uint32_t a = LS_MIN(body, other);
    uint32_t b = LS_MAX(body, other);
    if (is_asleep(world, a)) {
        a = b;
        b = LS_MIN(body, other);
    }
    if (is_asleep(world, a) || !is_touching(world, a, b)) {
        return true;
    }
    if (world->match->pairs >= world->pair_capacity) {
        return false;
    }
    insert_pair(world, a, b);
    return true;
}

static bool meet(ls_arena_world *world, uint32_t place, ls_arena_range range)
{
    const ls_arena_circles *circles = &world->grid.sorted;
    ls_arena_circle circle = ls_arena_circle_at(circles, place);
    for (uint32_t k = range.begin; k < range.end; k += LS_ARENA_BLOCK) {
        arena_block block = block_compare(circles, circle, k);
        if (block_is_apart(block, block)) {
            continue;
        }
        uint32_t count = LS_MIN(range.end - k, LS_ARENA_BLOCK);
        for (uint32_t i = 0; i < count; i++) {
            if (block.gaps[i] >= 0 &&
                ls_arena_grid_touch(circle, ls_arena_circle_at(circles, k + i)) &&
                !add_pair(world, circles->tags[place], circles->tags[k + i])) {
                return false;
            }
        }
    }
    return true;
}

/* Each circle meets those behind it in its cell and in the next one, and those of the three cells
 * above, so that two meet once. Mostly either is a block or less and none of them overlaps, which
 * is told in one jump: what jumps now this way and now that way costs more than it saves. False
 * when there are more pairs than there is room. */
static bool sweep(ls_arena_world *world)
{
    const ls_arena_grid *grid = &world->grid;
    uint32_t count = ls_arena_grid_count(grid);
    for (uint32_t k = 0; k < count; k++) {
        ls_arena_circle circle = ls_arena_circle_at(&grid->sorted, k);
        uint32_t cell = ls_arena_grid_cell(grid, circle.x, ls_arena_grid_row(grid, circle.y));
        const uint32_t *above = &grid->starts[cell + grid->stride];
        ls_arena_range beside = {k + 1, grid->starts[cell + 2]};
        ls_arena_range over = {above[-1], above[2]};
        uint32_t longest = LS_MAX(beside.end - beside.begin, over.end - over.begin);
        if (longest <= LS_ARENA_BLOCK &&
            block_is_apart(block_compare(&grid->sorted, circle, beside.begin),
                           block_compare(&grid->sorted, circle, over.begin))) {
            continue;
        }
        if (!meet(world, k, beside) || !meet(world, k, over)) {
            return false;
        }
    }
    return true;
}

/* ---- with few awake, or with too many pairs: around one body after the other ---- */

/* Orders the pairs of one body for the case that not all of them find room: by square, then by
 * number. */
static uint64_t rank_of(const ls_arena_world *world, uint32_t other)
{
    ls_arena_circle circle = ls_arena_circle_at(&world->grid.unsorted, other);
    return (uint64_t)ls_arena_grid_square(&world->grid, circle) << 32 | other;
}

static bool is_pair(const ls_arena_world *world, uint32_t a, uint32_t b)
{
    return (b > a || (b < a && is_asleep(world, b))) && is_touching(world, a, b);
}

/* How many pairs `a` has of which the other ranks no higher than `rank_max`; adds them while there
 * is room if it is told to. */
static uint32_t look_around(ls_arena_world *world, uint32_t a, uint64_t rank_max, bool adds)
{
    const ls_arena_grid *grid = &world->grid;
    ls_arena_circle circle = ls_arena_circle_at(&grid->unsorted, a);
    ls_arena_region region = ls_arena_grid_around(circle);
    uint32_t found = 0;
    uint32_t last_row = ls_arena_grid_row(grid, region.last_y);
    for (uint32_t row = ls_arena_grid_row(grid, region.first_y); row <= last_row; row++) {
        ls_arena_range range = ls_arena_grid_range(grid, &region, row);
        for (uint32_t k = range.begin; k < range.end; k++) {
            uint32_t other = grid->sorted.tags[k];
            if (!ls_arena_grid_overlap(circle, ls_arena_circle_at(&grid->sorted, k)) ||
                !is_pair(world, a, other) ||
                (rank_max != UINT64_MAX && rank_of(world, other) > rank_max)) {
                continue;
            }
            found++;
            if (adds && world->match->pairs < world->pair_capacity) {
                insert_pair(world, a, other);
            }
        }
    }
    return found;
}

/* Adds as many pairs of `a` as there is room for, those that rank lowest. */
static void add_lowest(ls_arena_world *world, uint32_t a)
{
    uint32_t room = world->pair_capacity - world->match->pairs;
    uint64_t low = 0; /* the rank of the last that is added lies between */
    uint64_t high = UINT64_MAX - 1;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (look_around(world, a, middle, false) < room) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    look_around(world, a, low, true);
}

static void look_around_each(ls_arena_world *world)
{
    for (uint32_t a = 0; a < world->layout.body_count; a++) {
        const ls_arena_body *body = &world->bodies[a];
        if (body->shape == LS_ARENA_NONE || ls_arena_is_asleep(world, body)) {
            continue;
        }
        uint32_t pairs = world->match->pairs;
        uint32_t found = look_around(world, a, UINT64_MAX, true);
        if (found > world->pair_capacity - pairs) {
            world->match->pairs = pairs;
            world->first_pairs[a] = LS_ARENA_NO_PAIR;
            add_lowest(world, a);
            return;
        }
    }
}

/* ---- the pass ---- */

/* Near enough to a wall to touch it. */
static bool is_near_wall(const ls_arena_world *world, const ls_arena_body *body)
{
    ls_fixed reach = ls_fixed_add(body->radius, LS_ARENA_SLOP);
    ls_fixed room = ls_fixed_sub(world->half_size, reach);
    return ls_fixed_abs(body->position.x) >= room || ls_fixed_abs(body->position.y) >= room;
}

/* One walk along the bodies, which are large: what later passes want to know of all is noted. */
static void look_at_bodies(ls_arena_world *world)
{
    uint32_t awake = 0;
    uint32_t *near_wall = world->near_wall;
    ls_arena_grid_begin(&world->grid);
    for (uint32_t i = 0; i < world->layout.body_count; i++) {
        const ls_arena_body *body = &world->bodies[i];
        if (body->shape == LS_ARENA_NONE) {
            ls_arena_grid_leave_out(&world->grid, i);
            continue;
        }
        ls_arena_grid_put(&world->grid, i, body->position, body->radius);
        bool is_awake = !ls_arena_is_asleep(world, body);
        awake += is_awake;
        if (is_awake && is_near_wall(world, body)) {
            *near_wall++ = i;
        }
    }
    *near_wall = LS_ARENA_WALL;
    ls_arena_grid_finish(&world->grid);
    world->match->awake = awake;
}

void ls_arena_pass_broadphase(const ls_step *step)
{
    ls_arena_world world = ls_arena_world_of(step);
    look_at_bodies(&world);
    clear_pairs(&world);
    if (world.match->awake < world.layout.body_count / FEW_AWAKE) {
        look_around_each(&world);
    } else if (!sweep(&world)) {
        clear_pairs(&world);
        look_around_each(&world);
    }
}
