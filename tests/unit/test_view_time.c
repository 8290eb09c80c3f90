#include "lockstep/client/view/camera.h"
#include "lockstep/client/view/view_time.h"
#include "lockstep/common/base/clock.h"

#include <criterion/criterion.h>
#include <math.h>

/* ---- playhead ---- */

#define DT_NS UINT64_C(100000000)

static ls_playhead playhead;

/* Ticks 5 to 25 at ten a second. */
static void make(void)
{
    ls_playhead_init(&playhead);
    ls_playhead_set_range(&playhead, 5, 25, 10);
}

TestSuite(playhead, .init = make);

Test(playhead, a_record_plays_in_real_time_and_stops_at_the_end)
{
    cr_expect_eq(ls_playhead_tick(&playhead), 5);
    cr_expect_eq(ls_playhead_alpha(&playhead), LS_FIXED_ONE);
    ls_playhead_advance(&playhead, DT_NS * 5 / 2);
    cr_expect_eq(ls_playhead_tick(&playhead), 8);
    cr_expect_eq(ls_playhead_alpha(&playhead), LS_FIXED_HALF);
    ls_playhead_advance(&playhead, 100 * DT_NS);
    cr_expect_eq(ls_playhead_tick(&playhead), 25);
    cr_expect_eq(ls_playhead_alpha(&playhead), LS_FIXED_ONE);
    cr_expect_eq(ls_playhead_share(&playhead), 1.0);
    cr_expect(playhead.is_paused);
}

Test(playhead, at_the_end_of_a_record_that_grows_it_waits)
{
    playhead.is_growing = true;
    ls_playhead_advance(&playhead, 100 * DT_NS);
    cr_expect_eq(ls_playhead_tick(&playhead), 25);
    cr_expect_not(playhead.is_paused);
    ls_playhead_set_range(&playhead, 5, 30, 10);
    ls_playhead_advance(&playhead, 2 * DT_NS);
    cr_expect_eq(ls_playhead_tick(&playhead), 27);
}

Test(playhead, from_the_end_it_starts_over)
{
    ls_playhead_advance(&playhead, 100 * DT_NS);
    ls_playhead_toggle(&playhead);
    cr_expect_not(playhead.is_paused);
    cr_expect_eq(ls_playhead_tick(&playhead), 5);
}

Test(playhead, paused_it_stays_where_it_is)
{
    ls_playhead_advance(&playhead, DT_NS);
    ls_playhead_toggle(&playhead);
    ls_playhead_advance(&playhead, 7 * DT_NS);
    cr_expect_eq(ls_playhead_tick(&playhead), 6);
    ls_playhead_toggle(&playhead);
    ls_playhead_advance(&playhead, DT_NS);
    cr_expect_eq(ls_playhead_tick(&playhead), 7);
}

Test(playhead, steps_go_to_whole_ticks_within_the_record)
{
    ls_playhead_advance(&playhead, DT_NS * 5 / 2); /* between 7 and 8 */
    ls_playhead_step(&playhead, -1);
    cr_expect_eq(ls_playhead_tick(&playhead), 7);
    cr_expect(playhead.is_paused);
    ls_playhead_step(&playhead, -1);
    cr_expect_eq(ls_playhead_tick(&playhead), 6);
    ls_playhead_step(&playhead, -10);
    cr_expect_eq(ls_playhead_tick(&playhead), 5);
    ls_playhead_step(&playhead, 1);
    cr_expect_eq(ls_playhead_tick(&playhead), 6);
    ls_playhead_step(&playhead, 1000);
    cr_expect_eq(ls_playhead_tick(&playhead), 25);
}

Test(playhead, speeds_are_powers_of_two_within_bounds)
{
    ls_playhead_change_speed(&playhead, 2);
    ls_playhead_advance(&playhead, DT_NS);
    cr_expect_eq(ls_playhead_tick(&playhead), 9);
    ls_playhead_change_speed(&playhead, -3);
    ls_playhead_advance(&playhead, 4 * DT_NS);
    cr_expect_eq(ls_playhead_tick(&playhead), 11);
    ls_playhead_change_speed(&playhead, -100);
    cr_expect_eq(playhead.speed, LS_PLAYHEAD_SLOWEST);
    ls_playhead_change_speed(&playhead, 100);
    cr_expect_eq(playhead.speed, LS_PLAYHEAD_FASTEST);
}

Test(playhead, the_seek_bar_leads_to_whole_ticks)
{
    ls_playhead_seek(&playhead, 0.5);
    cr_expect_eq(ls_playhead_tick(&playhead), 15);
    cr_expect_eq(ls_playhead_alpha(&playhead), LS_FIXED_ONE);
    ls_playhead_seek(&playhead, -3.0);
    cr_expect_eq(ls_playhead_tick(&playhead), 5);
    ls_playhead_seek(&playhead, 1e30);
    cr_expect_eq(ls_playhead_tick(&playhead), 25);
    ls_playhead_seek(&playhead, 0.0 / 0.0);
    cr_expect_eq(ls_playhead_tick(&playhead), 5);
}

Test(playhead, a_record_may_grow_or_hold_one_state_alone)
{
    ls_playhead_advance(&playhead, 100 * DT_NS);
    ls_playhead_set_range(&playhead, 5, 45, 10);
    cr_expect_eq(ls_playhead_tick(&playhead), 25);
    cr_expect_eq(ls_playhead_share(&playhead), 0.5);
    ls_playhead_set_range(&playhead, 5, 5, 10);
    cr_expect_eq(ls_playhead_tick(&playhead), 5);
    cr_expect_eq(ls_playhead_share(&playhead), 1.0);
}

Test(playhead, a_tick_is_gone_to_or_the_end_that_is_nearer)
{
    ls_playhead_go_to(&playhead, 12);
    cr_expect_eq(ls_playhead_tick(&playhead), 12);
    cr_expect_eq(ls_playhead_alpha(&playhead), LS_FIXED_ONE);
    cr_expect(!ls_playhead_is_at_end(&playhead));
    ls_playhead_go_to(&playhead, 4);
    cr_expect_eq(ls_playhead_tick(&playhead), 5);
    ls_playhead_go_to(&playhead, UINT32_MAX);
    cr_expect_eq(ls_playhead_tick(&playhead), 25);
    cr_expect(ls_playhead_is_at_end(&playhead));
}

/* ---- frame_pace ---- */

#define MS LS_NS_PER_MS

Test(frame_pace, an_even_rate_has_no_drift)
{
    ls_frame_pace pace = ls_frame_pace_make(100, false, 1000 * MS);
    uint64_t due_ns = 1000 * MS;
    for (uint32_t i = 1; i <= 1000; i++) {
        due_ns = ls_frame_pace_next(&pace, 2 * MS, 0, due_ns + 3 * MS);
        cr_assert_eq(due_ns, (1000 + 10 * (uint64_t)i) * MS);
    }
}

Test(frame_pace, frames_that_were_missed_are_not_made_up_for)
{
    ls_frame_pace pace = ls_frame_pace_make(100, false, 0);
    uint64_t due_ns = ls_frame_pace_next(&pace, 35 * MS, 0, 35 * MS);
    cr_expect_eq(due_ns, 30 * MS, "one at once");
    cr_expect_eq(ls_frame_pace_next(&pace, 2 * MS, 0, 37 * MS), 40 * MS, "and then on the beat");
}

Test(frame_pace, on_a_display_a_picture_is_begun_just_before_it_is_due)
{
    ls_frame_pace pace = ls_frame_pace_make(100, true, 0);
    uint64_t shown_ns = 50 * MS;
    uint64_t now_ns = 56 * MS; /* begun for the display's moment of 60 ms, and not yet shown */
    uint64_t due_ns = ls_frame_pace_next(&pace, 3 * MS, shown_ns, now_ns);
    cr_expect_gt(due_ns, 60 * MS, "there is time for other things");
    cr_expect_leq(due_ns + 3 * MS, 70 * MS, "and enough for the picture");
}

Test(frame_pace, one_slow_picture_makes_the_next_ones_begin_earlier_for_a_while)
{
    ls_frame_pace pace = ls_frame_pace_make(100, true, 0);
    ls_frame_pace_next(&pace, 7 * MS, 10 * MS, 10 * MS);
    uint64_t wary_ns = ls_frame_pace_next(&pace, 1 * MS, 20 * MS, 15 * MS) - 20 * MS;
    cr_expect_lt(wary_ns, 2 * MS);
    uint64_t later_ns = 0;
    for (uint64_t i = 3; i < 400; i++) {
        later_ns = ls_frame_pace_next(&pace, 1 * MS, 10 * i * MS, 10 * i * MS) - 10 * i * MS;
    }
    cr_expect_gt(later_ns, 6 * MS);
}

Test(frame_pace, pictures_keep_the_displays_rate_however_slow_they_are_or_how_long_none_is_shown)
{
    for (uint64_t work_ns = MS; work_ns < 40 * MS; work_ns += MS) {
        ls_frame_pace pace = ls_frame_pace_make(100, true, 0);
        uint64_t due_ns = ls_frame_pace_next(&pace, work_ns, 5 * MS, 1000 * MS);
        for (uint32_t i = 0; i < 20; i++) {
            uint64_t next_ns = ls_frame_pace_next(&pace, work_ns, 5 * MS, due_ns + MS / 4);
            cr_assert_eq(next_ns - due_ns, 10 * MS, "%u ms of work", (unsigned)(work_ns / MS));
            due_ns = next_ns;
        }
    }
}

/* ---- frames that nobody sees ---- */

typedef struct beat {
    uint32_t frames;
    uint32_t shared; /* of them, with an input */
} beat;

/* A minute of inputs whose first is due at `phase_ns`, each of them late or early by a bit. */
static beat play_minute(uint32_t frames_hz, uint32_t inputs_hz, uint64_t phase_ns)
{
    beat seen = {0};
    uint64_t input_period_ns = LS_NS_PER_SECOND / inputs_hz;
    ls_frame_pace pace = ls_frame_pace_make(frames_hz, false, 1000 * MS);
    uint64_t inputs = 0;
    uint64_t input_ns = 0;
    uint64_t now_ns = 0;
    while (now_ns < 61000 * MS) {
        input_ns = 1000 * MS + phase_ns + inputs * input_period_ns + inputs % 3 * MS / 4;
        uint64_t frame_ns = ls_frame_pace_beside_input(&pace, input_ns, input_period_ns);
        now_ns = frame_ns < input_ns ? frame_ns : input_ns;
        if (now_ns == frame_ns) {
            seen.frames++;
            seen.shared += now_ns == input_ns ? 1 : 0;
            (void)ls_frame_pace_next(&pace, 0, now_ns, now_ns);
        }
        inputs += now_ns == input_ns ? 1 : 0;
    }
    return seen;
}

Test(frame_pace, unseen_frames_keep_their_rate_beside_inputs_of_any_other)
{
    static const uint32_t rates_hz[] = {5, 10, 20, 24, 30, 40, 50, 59, 60, 61, 144, 1000};
    static const uint32_t inputs_hz[] = {1, 20, 30, 60, 128};
    for (size_t i = 0; i < sizeof rates_hz / sizeof rates_hz[0]; i++) {
        for (size_t j = 0; j < sizeof inputs_hz / sizeof inputs_hz[0]; j++) {
            uint32_t frames = play_minute(rates_hz[i], inputs_hz[j], 3 * MS).frames;
            cr_expect_geq(frames + 2, 60 * rates_hz[i], "%u Hz", rates_hz[i]);
            cr_expect_leq(frames, 60 * rates_hz[i] + 2, "%u Hz", rates_hz[i]);
        }
    }
}

Test(frame_pace, unseen_frames_come_with_inputs_of_the_same_rate)
{
    for (uint64_t phase_ns = 0; phase_ns < 17 * MS; phase_ns += MS / 2) {
        beat seen = play_minute(60, 60, phase_ns);
        cr_expect_geq(seen.shared + 3, seen.frames, "phase %u us", (unsigned)(phase_ns / 1000));
    }
}

/* ---- camera ---- */

static ls_draw_shape shapes[4];
static ls_draw_list list;
static ls_canvas canvas;
static ls_camera camera;

static void camera_make(void)
{
    canvas = (ls_canvas){.width = 800, .height = 400};
    list = (ls_draw_list){.shapes = shapes,
                          .capacity = 4,
                          .view_min = {LS_FIXED_INT(-10), LS_FIXED_INT(0)},
                          .view_max = {LS_FIXED_INT(30), LS_FIXED_INT(10)}};
    camera = ls_camera_make();
    ls_camera_update(&camera, &canvas, &list, 0, 0.016);
}

TestSuite(camera, .init = camera_make);

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
