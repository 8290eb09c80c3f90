#include "lockstep/client/view/camera.h"

#include <criterion/criterion.h>
#include <math.h>

static ls_draw_shape shapes[4];
static ls_draw_list list;
static ls_canvas canvas;
static ls_camera camera;

static void make(void)
{
    canvas = (ls_canvas){.width = 800, .height = 400};
    list = (ls_draw_list){.shapes = shapes,
                          .capacity = 4,
                          .view_min = {LS_FIXED_INT(-10), LS_FIXED_INT(0)},
                          .view_max = {LS_FIXED_INT(30), LS_FIXED_INT(10)}};
    camera = ls_camera_make();
    ls_camera_update(&camera, &canvas, &list, 0, 0.016);
}

TestSuite(camera, .init = make);

static ls_vec2 world(double x, double y)
{
    return (ls_vec2){ls_fixed_from_double(x), ls_fixed_from_double(y)};
}

static void expect_at(ls_vec2 place, double x, double y)
{
    ls_canvas_point found = ls_camera_to_canvas(&camera, place);
    cr_expect_lt(fabs((double)found.x - x), 0.01, "%f, expected %f", (double)found.x, x);
    cr_expect_lt(fabs((double)found.y - y), 0.01, "%f, expected %f", (double)found.y, y);
}

Test(camera, all_of_the_view_fits_with_y_up)
{
    expect_at(world(10, 5), 400, 200);
    ls_canvas_point low = ls_camera_to_canvas(&camera, list.view_min);
    ls_canvas_point high = ls_camera_to_canvas(&camera, list.view_max);
    cr_expect(low.x > 0 && low.x < 20 && high.x > 780 && high.x < 800);
    cr_expect_gt(low.y, high.y);
}

Test(camera, a_view_without_size_moves_nothing)
{
    ls_camera before = camera;
    list.view_max = list.view_min;
    ls_camera_update(&camera, &canvas, &list, 0, 0.016);
    cr_expect_eq(camera.pixels_per_m, before.pixels_per_m);
    cr_expect_eq(camera.x, before.x);
}

Test(camera, places_go_to_the_canvas_and_back)
{
    ls_camera_zoom(&camera, (ls_canvas_point){123, 45}, 7.0);
    for (double x = -9; x < 30; x += 3.1) {
        ls_vec2 back = ls_camera_to_world(&camera, ls_camera_to_canvas(&camera, world(x, x / 3)));
        cr_expect_lt(fabs(ls_fixed_to_double(back.x) - x), 1e-4);
        cr_expect_lt(fabs(ls_fixed_to_double(back.y) - x / 3), 1e-4);
    }
}

Test(camera, the_place_under_the_pointer_stays_there)
{
    ls_canvas_point pointer = {700, 30};
    ls_vec2 place = ls_camera_to_world(&camera, pointer);
    for (uint32_t i = 0; i < 5; i++) {
        ls_camera_zoom(&camera, pointer, 2.0);
        expect_at(place, 700, 30);
    }
    cr_expect_eq(camera.mode, LS_CAMERA_FREE);
    for (uint32_t i = 0; i < 1000; i++) {
        ls_camera_zoom(&camera, pointer, 2.0);
    }
    cr_expect(isfinite(camera.pixels_per_m) && isfinite(camera.x));
    for (uint32_t i = 0; i < 2000; i++) {
        ls_camera_zoom(&camera, pointer, -2.5);
    }
    cr_expect_gt(camera.pixels_per_m, 0);
}

Test(camera, a_drag_moves_the_picture_with_the_pointer)
{
    ls_vec2 place = world(3, 4);
    ls_canvas_point before = ls_camera_to_canvas(&camera, place);
    ls_camera_pan(&camera, 50, -20);
    expect_at(place, (double)before.x + 50, (double)before.y - 20);
}

Test(camera, the_camera_follows_the_own_shapes_and_stays_without_any)
{
    list.count = 3;
    shapes[0] = (ls_draw_shape){.x = LS_FIXED_INT(25), .half_width = LS_FIXED_ONE, .owner = 2};
    shapes[1] = (ls_draw_shape){.x = LS_FIXED_INT(-9), .half_width = LS_FIXED_INT(3), .owner = 1};
    shapes[2] = (ls_draw_shape){.x = LS_FIXED_INT(-9), .half_width = LS_FIXED_ONE, .owner = 0};
    camera.mode = LS_CAMERA_FOLLOW;
    for (uint32_t i = 0; i < 200; i++) {
        ls_camera_update(&camera, &canvas, &list, 2, 0.016);
    }
    expect_at(world(25, 0), 400, 200);
    shapes[0].owner = 3; /* it is lost */
    ls_camera_update(&camera, &canvas, &list, 2, 10.0);
    expect_at(world(25, 0), 400, 200);
}
