#include "lockstep/server/service/room_picture.h"

#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/tests/support/sim_fixture.h"

#include <criterion/criterion.h>
#include <string.h>

static char *picture;
static uint32_t shapes; /* that are drawn */
static uint32_t side;   /* of the bitmaps that are drawn */
static uint32_t pixels[1024 * 1024];

static void release(void)
{
    ls_release(ls_allocator_heap(), picture);
    picture = NULL;
}

TestSuite(room_picture, .fini = release);

static void draw_discs(const ls_sim_config *config, const void *previous, const void *current,
                       ls_fixed alpha, ls_draw_list *list)
{
    (void)config;
    (void)previous;
    (void)current;
    (void)alpha;
    list->view_max = (ls_vec2){LS_FIXED_ONE, LS_FIXED_ONE};
    for (uint32_t i = 0; i < shapes; i++) {
        ls_draw_push(list, (ls_draw_shape){.kind = LS_DRAW_DISC,
                                           .colour = 0xffffffffu,
                                           .half_width = LS_FIXED_ONE / 1000});
    }
}

static void draw_bitmaps(const ls_sim_config *config, const void *previous, const void *current,
                         ls_fixed alpha, ls_draw_list *list)
{
    (void)config;
    (void)previous;
    (void)current;
    (void)alpha;
    for (uint32_t i = 0; i < shapes; i++) {
        ls_draw_push(list,
                     (ls_draw_shape){
                         .kind = LS_DRAW_BITMAP, .columns = side, .rows = side, .pixels = pixels});
    }
}

static ls_status make(const ls_simulation *simulation, ls_text *why)
{
    const sim_fixture *sim = sim_open(simulation, ls_sim_config_default(simulation));
    return ls_room_picture_make(sim->instance, &picture, why);
}

static uint32_t times(const char *words)
{
    uint32_t count = 0;
    for (const char *at = picture; (at = strstr(at, words)); at++) {
        count++;
    }
    return count;
}

Test(room_picture, is_a_document_of_what_is_drawn)
{
    cr_assert_eq(make(ls_arena_simulation(), NULL), LS_OK);
    cr_assert_eq(strncmp(picture, "<?xml ", 6), 0);
    cr_assert_eq(times("<svg "), 1);
    cr_assert_eq(times("</svg>"), 1);
    cr_assert_gt(times("<rect "), 0);
}

Test(room_picture, leaves_shapes_out_rather_than_grow)
{
    ls_simulation simulation = *ls_arena_simulation();
    simulation.draw = draw_discs;
    shapes = LS_ROOM_PICTURE_SHAPES_MAX + 1;
    cr_assert_eq(make(&simulation, NULL), LS_OK);
    cr_assert_eq(times("<circle "), LS_ROOM_PICTURE_SHAPES_MAX);
}

Test(room_picture, has_a_part_of_the_pixels_of_a_large_bitmap)
{
    ls_simulation simulation = *ls_arena_simulation();
    simulation.draw = draw_bitmaps;
    shapes = 1;
    side = 100;
    cr_assert_eq(make(&simulation, NULL), LS_OK);
    size_t small = strlen(picture);
    cr_assert_gt(small, (size_t)side * side * 4);
    release();
    side = 1024;
    cr_assert_eq(make(&simulation, NULL), LS_OK);
    cr_assert_gt(strlen(picture), small);
    cr_assert_lt(strlen(picture), LS_ROOM_PICTURE_PIXELS_MAX * 6);
}

Test(room_picture, that_is_too_large_is_refused)
{
    ls_simulation simulation = *ls_arena_simulation();
    ls_text why = {{0}};
    simulation.draw = draw_bitmaps;
    shapes = 3;
    side = 256;
    cr_assert_eq(make(&simulation, &why), LS_FULL);
    cr_assert(strstr(why.bytes, "larger than"), "%s", why.bytes);
    cr_assert_null(picture);
}

Test(room_picture, of_a_simulation_that_draws_nothing_is_none)
{
    ls_simulation simulation = *ls_arena_simulation();
    ls_text why = {{0}};
    simulation.draw = NULL;
    cr_assert_eq(make(&simulation, &why), LS_NOT_FOUND);
    cr_assert_str_eq(why.bytes, "the simulation draws nothing");
}
