#include "lockstep/client/view/view.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/simulations/spring/spring.h"
#include "lockstep/tests/support/kept.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    WIDTH = 320,
    HEIGHT = 180
};

#define FRAME_NS (10 * LS_NS_PER_MS)
#define RED 0xFFFF0000u

/* A small record: at tick t a red disc stands at x = t; ticks 10 to 50 at ten a second. */
typedef struct fake {
    bool is_record;
    ls_tick tick;
    uint32_t step_max; /* ticks that it goes in one call; 0: any */
    bool tells_its_way;
    ls_tick wanted;
    uint32_t draws;
    ls_fixed alpha;
    uint32_t heard;      /* ticks that it went over and gave an ear */
    bool names_a_player; /* in the second seat */
    bool waits;          /* for the match to begin */
    const char *waiting; /* the words to it */
    const char *alarm;
    bool asks_ready;
    bool game_has_enter;
} fake;

static fake source;
static ls_view *view;
static ls_scene scene;
static const ls_canvas_fonts *shown_fonts; /* of the pictures */
static uint32_t pixels[WIDTH * HEIGHT];
static ls_canvas canvas = {.pixels = pixels, .width = WIDTH, .height = HEIGHT};
static uint64_t now_ns;
static uint8_t glyphs[LS_CANVAS_GLYPHS * 4 * 8];
#define FONT                                                                                       \
    {                                                                                              \
        .width = 4, .height = 8, .coverage = glyphs                                                \
    }
static const ls_canvas_fonts fonts = {FONT, FONT, FONT, FONT};

static void fill_hud(void *user, ls_hud_model *hud)
{
    const fake *from = user;
    hud->tick = from->tick;
    hud->alpha = from->is_record ? 0 : LS_FIXED_HALF;
    hud->is_selecting = true;
    hud->asks_ready = from->asks_ready;
    hud->game_has_enter = from->game_has_enter;
    hud->owner = 1;
    hud->first_tick = 10;
    hud->last_tick = 50;
    hud->tick_rate_hz = 10;
    hud->is_on_its_way = from->tells_its_way && from->tick < from->wanted;
    hud->is_alarm = from->alarm[0] != '\0';
    ls_text_set(&hud->banner, "%s", from->alarm);
    ls_hud_model_add(hud, "a line");
    if (from->names_a_player) {
        hud->seat_count = 2;
        ls_name_copy(hud->seats[1].name, sizeof hud->seats[1].name, "ann");
    }
    if (from->waits) {
        ls_text_set(&hud->heading, "game");
        ls_text_set(&hud->waiting, "%s", from->waiting);
    }
}

static void draw(void *user, ls_fixed alpha, ls_draw_list *list)
{
    fake *from = user;
    from->draws++;
    from->alpha = alpha;
    list->view_min = (ls_vec2){0, LS_FIXED_INT(-20)};
    list->view_max = (ls_vec2){LS_FIXED_INT(60), LS_FIXED_INT(20)};
    ls_fixed x = LS_FIXED_INT(from->tick) - LS_FIXED_ONE + alpha;
    ls_draw_push(list, (ls_draw_shape){.kind = LS_DRAW_DISC,
                                       .colour = 0xFF0000FFu,
                                       .x = x,
                                       .half_width = LS_FIXED_INT(2),
                                       .owner = 2});
}

static uint32_t screen_pixels[] = {0x00FF00FFu, 0x0000FFFFu};
static const char *world_text = "WWWW";

/* A screen of two colours, a text, and what a plug-in with a mistake might draw. */
static void draw_screen(void *user, ls_fixed alpha, ls_draw_list *list)
{
    (void)alpha;
    ((fake *)user)->draws++;
    list->view_min = (ls_vec2){LS_FIXED_INT(-16), LS_FIXED_INT(-9)};
    list->view_max = (ls_vec2){LS_FIXED_INT(16), LS_FIXED_INT(9)};
    ls_draw_shape bitmap = {.kind = LS_DRAW_BITMAP,
                            .y = LS_FIXED_INT(4),
                            .half_width = LS_FIXED_INT(8),
                            .half_height = LS_FIXED_INT(4),
                            .columns = 2,
                            .rows = 1,
                            .pixels = screen_pixels};
    ls_draw_push(list, bitmap);
    ls_draw_push(list, (ls_draw_shape){.kind = LS_DRAW_TEXT,
                                       .colour = 0xFF0000FFu,
                                       .x = LS_FIXED_INT(-8),
                                       .y = LS_FIXED_INT(-4),
                                       .half_height = LS_FIXED_INT(2),
                                       .text = world_text});
    ls_draw_push(list, (ls_draw_shape){.kind = LS_DRAW_TEXT, .half_height = LS_FIXED_ONE});
    bitmap.columns = LS_DRAW_SIDE_MAX + 1;
    ls_draw_push(list, bitmap);
    bitmap.columns = 0;
    ls_draw_push(list, bitmap);
    bitmap = (ls_draw_shape){.kind = LS_DRAW_BITMAP, .columns = 1, .rows = 1};
    ls_draw_push(list, bitmap);
}

static void go_to(void *user, ls_tick tick, const ls_view_ear *ear)
{
    fake *from = user;
    from->wanted = tick;
    from->heard += ear && tick > from->tick ? tick - from->tick : 0;
    bool is_far = from->step_max > 0 && tick > from->tick + from->step_max;
    from->tick = is_far ? from->tick + from->step_max : tick;
}

static void play_nothing(void *user, const ls_sound *sound)
{
    (void)user;
    (void)sound;
}

static void open_view(bool is_record)
{
    source = (fake){.is_record = is_record, .tick = 10, .waiting = "", .alarm = ""};
    ls_view_config config = {.source = {&source, fill_hud, draw, is_record ? go_to : NULL},
                             .interpolates = true,
                             .has_chat = !is_record,
                             .ear = {.on_sound = play_nothing}};
    cr_assert_eq(ls_view_create(&config, ls_allocator_heap(), &view), LS_OK);
    cr_assert_eq(ls_scene_init(&scene, ls_allocator_heap()), LS_OK);
    shown_fonts = &fonts;
    now_ns = LS_NS_PER_SECOND;
}

static void close_view(void)
{
    ls_view_destroy(view);
    ls_scene_deinit(&scene);
    view = NULL;
}

TestSuite(view, .fini = close_view);

static void frame(uint64_t elapsed_ns)
{
    now_ns += elapsed_ns;
    ls_view_frame frame = {now_ns, LS_NS_PER_MS, WIDTH, HEIGHT, shown_fonts};
    ls_view_compose(view, &frame, &scene);
    ls_scene_paint(&scene, shown_fonts, &canvas);
}

/* Opens it and paints the first frame. */
static void show(bool is_record)
{
    open_view(is_record);
    frame(0);
}

static void frames(uint32_t count)
{
    for (; count > 0; count--) {
        frame(FRAME_NS);
    }
}

static void press(uint32_t key)
{
    ls_view_event event = {.kind = LS_VIEW_EVENT_KEY, .key = key, .is_down = true};
    ls_view_receive(view, &event);
    event.is_down = false;
    ls_view_receive(view, &event);
}

static void button(ls_view_button which, bool is_down, float x, float y)
{
    ls_view_receive(
        view, &(ls_view_event){
                  .kind = LS_VIEW_EVENT_BUTTON, .button = which, .is_down = is_down, .at = {x, y}});
}

/* The middle of the red disc, in pixels; -1 when it is not to be seen. */
static double red_x(void)
{
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++) {
        bool is_red = (pixels[i] & 0xFFFFFFu) == (RED & 0xFFFFFFu);
        sum += is_red ? i % WIDTH + 0.5 : 0;
        count += is_red;
    }
    return count > 0 ? sum / count : -1;
}

static double expected_x(double world)
{
    ls_vec2 place = {ls_fixed_from_double(world), 0};
    return (double)ls_camera_to_canvas(ls_view_camera(view), place).x;
}

static void move_to(float x, float y)
{
    ls_view_receive(view, &(ls_view_event){.kind = LS_VIEW_EVENT_MOTION, .at = {x, y}});
}

Test(view, a_match_is_painted_at_its_alpha_and_a_key_takes_the_blend_away)
{
    show(false);
    cr_expect_eq(source.alpha, LS_FIXED_HALF);
    cr_expect_float_eq(red_x(), expected_x(9.5), 0.6);
    press(LS_KEY_N);
    frame(FRAME_NS);
    cr_expect_eq(source.alpha, LS_FIXED_ONE);
    cr_expect_float_eq(red_x(), expected_x(10), 0.6);
    cr_expect_eq(source.draws, 2, "once a frame");
}

Test(view, a_record_plays_in_real_time)
{
    show(true);
    frames(25); /* two and a half ticks */
    cr_expect_eq(source.tick, 13);
    cr_expect_float_eq(ls_fixed_to_double(source.alpha), 0.5, 1e-6);
    cr_expect_float_eq(red_x(), expected_x(12.5), 0.6);
}

Test(view, space_pauses_and_arrows_step_a_record)
{
    show(true);
    frames(25);
    press(LS_KEY_SPACE);
    frames(50);
    cr_expect_eq(source.tick, 13);
    press(LS_KEY_RIGHT);
    frame(FRAME_NS);
    cr_expect_eq(source.tick, 13);
    cr_expect_eq(source.alpha, LS_FIXED_ONE);
    press(LS_KEY_LEFT);
    press(LS_KEY_LEFT);
    frame(FRAME_NS);
    cr_expect_eq(source.tick, 11);
    press(LS_KEY_SPACE);
    press(LS_KEY_UP);
    frames(10);
    cr_expect_eq(source.tick, 13, "twice as fast: %u", source.tick);
}

Test(view, a_record_is_heard_where_it_is_played_and_silent_where_it_is_sought)
{
    show(true);
    frames(25);
    cr_expect_eq(source.heard, 3);
    button(LS_BUTTON_LEFT, true, WIDTH - 40, HEIGHT - 27);
    button(LS_BUTTON_LEFT, false, WIDTH - 40, HEIGHT - 27);
    frame(FRAME_NS);
    ls_tick sought = source.tick;
    cr_expect_gt(sought, 20);
    cr_expect_eq(source.heard, 3, "it was sought");
    frames(20);
    cr_expect_eq(source.heard, 3 + source.tick - sought);
    press(LS_KEY_LEFT);
    press(LS_KEY_RIGHT);
    frame(FRAME_NS);
    press(LS_KEY_RIGHT);
    uint32_t heard = source.heard;
    frame(FRAME_NS);
    cr_expect_eq(source.heard, heard, "single steps are silent");
}

Test(view, a_record_that_plays_fast_is_silent)
{
    show(true);
    press(LS_KEY_UP);
    frames(10);
    cr_expect_eq(source.heard, source.tick - 10);
    uint32_t heard = source.heard;
    press(LS_KEY_UP);
    frames(20);
    cr_expect_eq(source.heard, heard);
}

Test(view, the_seek_bar_is_clicked_and_dragged)
{
    show(true);
    press(LS_KEY_SPACE);
    button(LS_BUTTON_LEFT, true, WIDTH - 19, HEIGHT - 27);
    frame(FRAME_NS);
    cr_expect_eq(source.tick, 50);
    move_to(0, 0);
    frame(FRAME_NS);
    cr_expect_eq(source.tick, 10, "beyond its end is its end");
    button(LS_BUTTON_LEFT, false, 0, 0);
    move_to(WIDTH, HEIGHT - 27);
    frame(FRAME_NS);
    cr_expect_eq(source.tick, 10, "let go");
    button(LS_BUTTON_LEFT, true, WIDTH - 19, HEIGHT / 2);
    frame(FRAME_NS);
    cr_expect_eq(source.tick, 10, "beside the bar");
}

Test(view, the_words_beside_the_seek_bar_pause_and_play)
{
    show(true);
    button(LS_BUTTON_LEFT, true, 30, HEIGHT - 27);
    button(LS_BUTTON_LEFT, false, 30, HEIGHT - 27);
    frames(50);
    cr_expect_eq(source.tick, 10, "a tap pauses");
    move_to(WIDTH - 19, HEIGHT - 27);
    frame(FRAME_NS);
    cr_expect_eq(source.tick, 10, "and seeks nowhere");
    button(LS_BUTTON_LEFT, true, 30, HEIGHT - 27);
    frames(11);
    cr_expect_eq(source.tick, 12, "another one plays on");
}

/* As on a phone. */
Test(view, large_letters_have_the_seek_bar_below_its_words_as_high_as_two_of_them)
{
    static uint8_t large_glyphs[LS_CANVAS_GLYPHS * 8 * 24];
    const ls_canvas_font font = {.width = 8, .height = 24, .coverage = large_glyphs};
    const ls_canvas_fonts large = {font, font, font, font};
    open_view(true);
    shown_fonts = &large;
    frame(0);
    press(LS_KEY_SPACE);
    button(LS_BUTTON_LEFT, true, WIDTH - 19, HEIGHT - 10 - 44);
    frame(FRAME_NS);
    cr_expect_eq(source.tick, 50, "the upper edge");
    move_to(19, HEIGHT - 12);
    frame(FRAME_NS);
    cr_expect_eq(source.tick, 10, "below the words as well");
    button(LS_BUTTON_LEFT, false, 19, HEIGHT - 12);
    button(LS_BUTTON_LEFT, true, WIDTH / 2, HEIGHT - 10 - 60);
    frames(11);
    cr_expect_eq(source.tick, 12, "the words play");
}

Test(view, a_source_may_take_several_frames_to_get_there)
{
    show(true);
    press(LS_KEY_SPACE);
    source.step_max = 7;
    button(LS_BUTTON_LEFT, true, WIDTH - 19, HEIGHT - 27);
    frame(FRAME_NS);
    cr_expect_eq(source.tick, 17);
    cr_expect_eq(source.alpha, LS_FIXED_ONE);
    frames(5);
    cr_expect_eq(source.tick, 50);
}

Test(view, requests_are_told_once)
{
    open_view(false);
    press(LS_KEY_F12);
    cr_expect(ls_view_pop_requests(view).wants_picture);
    cr_expect_not(ls_view_pop_requests(view).wants_picture);
    press(LS_KEY_ESCAPE);
    cr_expect(ls_view_pop_requests(view).wants_close);
    ls_view_receive(view, &(ls_view_event){.kind = LS_VIEW_EVENT_CLOSE});
    cr_expect(ls_view_pop_requests(view).wants_close);
}

Test(view, the_middle_button_drags_the_picture)
{
    show(false);
    double before = red_x();
    move_to(100, 100);
    button(LS_BUTTON_MIDDLE, true, 100, 100);
    move_to(140, 90);
    button(LS_BUTTON_MIDDLE, false, 140, 90);
    frame(FRAME_NS);
    cr_expect_float_eq(red_x(), before + 40, 0.6);
}

Test(view, a_box_being_drawn_is_seen)
{
    show(false);
    button(LS_BUTTON_LEFT, true, 200, 40);
    move_to(260, 90);
    frame(FRAME_NS);
    cr_expect_eq(pixels[40 * WIDTH + 230] & 0xFFFFFFu, 0x9BE38Bu);
    cr_expect_eq(pixels[90 * WIDTH + 230] & 0xFFFFFFu, 0x9BE38Bu);
    cr_expect_eq(pixels[60 * WIDTH + 200] & 0xFFFFFFu, 0x9BE38Bu);
    button(LS_BUTTON_LEFT, false, 260, 90);
    frame(FRAME_NS);
    cr_expect_neq(pixels[40 * WIDTH + 230] & 0xFFFFFFu, 0x9BE38Bu);
    cr_expect_eq(ls_view_next_controls(view)->gesture, LS_GESTURE_SELECT);
}

Test(view, without_a_font_nothing_but_shapes_is_painted)
{
    open_view(true);
    shown_fonts = NULL;
    frame(0);
    button(LS_BUTTON_LEFT, true, WIDTH - 19, HEIGHT - 27);
    frame(FRAME_NS);
    cr_expect_eq(pixels[(HEIGHT - 27) * WIDTH + WIDTH - 19], pixels[(HEIGHT - 5) * WIDTH + 5]);
    cr_expect_eq(source.tick, 11, "there is no bar to click on");
}

Test(view, a_record_begins_where_and_as_fast_as_it_is_told)
{
    open_view(true);
    ls_view_start_at(view, 30, 2);
    frame(0);
    cr_expect_eq(source.tick, 30);
    cr_expect_eq(source.alpha, LS_FIXED_ONE, "that state and no blend");
    frames(10); /* a tenth of a second, four times as fast: four ticks */
    cr_expect_eq(source.tick, 34);
}

Test(view, playing_waits_for_a_record_that_is_on_its_way)
{
    open_view(true);
    source.step_max = 1;
    source.tells_its_way = true;
    ls_view_start_at(view, 30, 0);
    frames(20);
    cr_expect_eq(source.tick, 30);
    frame(FRAME_NS);
    cr_expect_eq(source.alpha, ls_fixed_div(LS_FIXED_ONE, LS_FIXED_INT(10)), "and no further");
}

Test(view, the_end_of_a_record_is_reached_when_it_was_painted)
{
    open_view(true);
    ls_view_start_at(view, 50, 0);
    cr_expect(!ls_view_is_at_end(view));
    frame(0);
    cr_expect(ls_view_is_at_end(view));
    press(LS_KEY_LEFT);
    frame(FRAME_NS);
    cr_expect(!ls_view_is_at_end(view));
    close_view();
    show(false);
    cr_expect(!ls_view_is_at_end(view), "a match is no record");
}

static uint32_t count_colour(uint32_t colour)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++) {
        count += pixels[i] == colour;
    }
    return count;
}

Test(view, a_simulations_bitmap_and_text_are_painted)
{
    source = (fake){.tick = 10, .waiting = "", .alarm = ""};
    ls_view_config config = {.source = {&source, fill_hud, draw_screen, NULL}};
    cr_assert_eq(ls_view_create(&config, ls_allocator_heap(), &view), LS_OK);
    cr_assert_eq(ls_scene_init(&scene, ls_allocator_heap()), LS_OK);
    memset(glyphs + ('W' - 32) * 32, 255, 32);
    shown_fonts = &fonts;
    frame(0);
    uint32_t green = count_colour(0xFF00FF00u);
    uint32_t blue = count_colour(0xFF0000FFu);
    cr_expect_gt(green, WIDTH * HEIGHT / 14);
    cr_expect_eq(green, blue, "half of it each");
    uint32_t red = count_colour(RED);
    cr_expect_gt(red, 100);
    world_text = "WW";
    frame(0);
    cr_expect_lt(count_colour(RED), red * 3 / 5, "half as many letters");
    cr_expect_gt(count_colour(RED), red * 2 / 5);
}

/* A simulation may use its memory anew while another thread still paints. */
Test(view, a_scene_keeps_what_a_simulation_lends)
{
    static char text[] = "WW";
    world_text = text;
    source = (fake){.tick = 10, .waiting = "", .alarm = ""};
    ls_view_config config = {.source = {&source, fill_hud, draw_screen, NULL}};
    cr_assert_eq(ls_view_create(&config, ls_allocator_heap(), &view), LS_OK);
    cr_assert_eq(ls_scene_init(&scene, ls_allocator_heap()), LS_OK);
    memset(glyphs + ('W' - 32) * 32, 255, 32);
    shown_fonts = &fonts;
    frame(0);
    uint32_t red = count_colour(RED);
    uint32_t green = count_colour(0xFF00FF00u);
    text[1] = '\0';
    screen_pixels[0] = 0;
    ls_scene_paint(&scene, &fonts, &canvas);
    cr_expect_eq(count_colour(RED), red);
    cr_expect_eq(count_colour(0xFF00FF00u), green);
    cr_expect_gt(green, 0);
}

/* ---- what stands beside the picture ---- */

static uint32_t font_rows(uint32_t lines)
{
    return lines * fonts.text.height;
}

/* Rows above the floor of the picture; `low` rows below it. */
static uint32_t rows_above(uint32_t *low)
{
    double top = (double)ls_camera_to_canvas(ls_view_camera(view), scene.list.view_max).y;
    double bottom = (double)ls_camera_to_canvas(ls_view_camera(view), scene.list.view_min).y;
    *low = (uint32_t)(HEIGHT - bottom);
    return (uint32_t)top;
}

Test(view, keys_are_shown_for_ten_seconds_and_when_asked_for)
{
    show(false);
    uint32_t low;
    rows_above(&low);
    uint32_t with_keys = low;
    cr_expect_geq(low, font_rows(3),
                  "two rows and what is round them: they are longer than the picture is wide");
    frames(990);
    rows_above(&low);
    cr_expect_eq(low, with_keys);
    frames(20);
    rows_above(&low);
    cr_expect_lt(low, with_keys, "the picture has their place");
    press(LS_KEY_F1);
    frame(FRAME_NS);
    rows_above(&low);
    cr_expect_eq(low, with_keys);
    press(LS_KEY_F1);
    frame(FRAME_NS);
    rows_above(&low);
    cr_expect_lt(low, with_keys);
}

Test(view, figures_stand_below_the_picture_and_not_on_it)
{
    show(false);
    uint32_t keys;
    uint32_t low;
    rows_above(&keys);
    press(LS_KEY_F3);
    frame(FRAME_NS);
    rows_above(&low);
    cr_expect_geq(low, keys + font_rows(2), "two lines: the source's and the view's own");
    press(LS_KEY_F3);
    frame(FRAME_NS);
    rows_above(&low);
    cr_expect_eq(low, keys);
}

Test(view, the_players_stand_above_the_picture_and_h_shows_it_alone)
{
    open_view(false);
    source.names_a_player = true;
    frame(0);
    uint32_t low;
    cr_expect_geq(rows_above(&low), font_rows(1));
    cr_expect_eq(scene.hud.seats[1].colour, 0xFF0000FFu, "the colour of their disc");
    press(LS_KEY_H);
    frame(FRAME_NS);
    uint32_t top = rows_above(&low);
    cr_expect_leq(top, low + 1);
    cr_expect_leq(low, top + 1);
}

Test(view, a_heading_stands_alone_before_the_match)
{
    open_view(false);
    source.names_a_player = true;
    source.waits = true;
    frames(2000);
    uint32_t keys;
    uint32_t top = rows_above(&keys);
    cr_expect_gt(keys, top, "the keys are there for as long as it waits, and no players");
    source.waits = false;
    frame(FRAME_NS);
    uint32_t low;
    cr_expect_gt(rows_above(&low), top);
    cr_expect_geq(low, font_rows(1), "they stay for ten seconds more");
    uint32_t with_keys = low;
    frames(1010);
    rows_above(&low);
    cr_expect_lt(low, with_keys);
}

/* Pixels of this colour, all of them at least 10 from both sides. */
static uint32_t count_inside(uint32_t colour)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++) {
        bool is_there = (pixels[i] & 0xFFFFFFu) == colour;
        cr_assert(!is_there || (i % WIDTH >= 10 && i % WIDTH < WIDTH - 10), "at x = %u", i % WIDTH);
        count += is_there;
    }
    return count;
}

/* With letters that are solid, each of them is 4 x 8 pixels. */
Test(view, long_words_are_broken_into_rows_that_fit)
{
    static const char words[] =
        "waiting for the others at 127.0.0.1:7300: 2 of 4 players are here; "
        "not ready: ann, averyveryverylongnameofaplayerwithoutanyspaceinit, "
        "and somebody else";
    uint32_t letters = 0;
    for (const char *at = words; *at; at++) {
        letters += *at != ' ';
    }
    memset(glyphs, 255, sizeof glyphs);
    memset(glyphs, 0, 4 * 8); /* the space */
    open_view(false);
    source.waits = true;
    source.waiting = words;
    frame(FRAME_NS);
    cr_expect_eq(count_inside(0xD6DEE8), letters * 32);
    source.waits = false;
    source.alarm = words;
    frame(FRAME_NS);
    cr_expect_eq(count_inside(0xFFFFFF), letters * 32);
    memset(glyphs, 0, sizeof glyphs);
}

/* ---- chat ---- */

static void type_letter(const char *letter, uint32_t key)
{
    ls_view_event event = {.kind = LS_VIEW_EVENT_TEXT};
    ls_name_copy(event.text, sizeof event.text, letter);
    press(key);
    ls_view_receive(view, &event);
}

Test(view, keys_of_a_line_do_not_reach_the_game_and_it_is_shown)
{
    show(false);
    ls_view_receive(view,
                    &(ls_view_event){.kind = LS_VIEW_EVENT_KEY, .key = LS_KEY_W, .is_down = true});
    cr_assert(ls_key_is_in(ls_view_next_controls(view)->keys_held, LS_KEY_W));
    press(LS_KEY_ENTER);
    const ls_controls *controls = ls_view_next_controls(view);
    cr_expect_not(ls_key_is_in(controls->keys_held, LS_KEY_W), "it is let go");
    type_letter("h", LS_KEY_H);
    type_letter("i", LS_KEY_I);
    controls = ls_view_next_controls(view);
    cr_expect_not(ls_key_is_in(controls->keys_pressed, LS_KEY_I));
    cr_expect_not(ls_key_is_in(controls->keys_pressed, LS_KEY_ENTER));
    frame(FRAME_NS);
    cr_assert_eq(scene.hud.chat_count, 1);
    cr_expect(scene.hud.is_typing);
    cr_expect_str_eq(scene.hud.chat[0], "say: hi_");
    press(LS_KEY_ESCAPE);
    cr_expect_not(ls_view_pop_requests(view).wants_close, "Escape closes the line alone");
    frame(FRAME_NS);
    cr_expect_eq(scene.hud.chat_count, 0);
}

static uint32_t start_on_enter(const ls_sim_config *config, const void *state, uint32_t slot,
                               const ls_controls *controls, uint8_t *bytes)
{
    (void)config;
    (void)state;
    (void)slot;
    bytes[0] = ls_key_is_in(controls->keys_held, LS_KEY_ENTER) ? 8 : 0;
    controls->memory[0]++;
    bytes[1] = controls->memory[0];
    return 2;
}

Test(view, enter_reaches_a_game_that_has_a_use_for_it)
{
    ls_simulation game = *ls_spring_simulation();
    ls_sim_config config = ls_sim_config_default(&game);
    cr_expect_not(ls_game_uses_key(keep_instance(&game, &config), 0, LS_KEY_ENTER));
    game.control = start_on_enter;
    cr_expect(ls_game_uses_key(keep_instance(&game, &config), 0, LS_KEY_ENTER));
    cr_expect_not(ls_game_uses_key(keep_instance(&game, &config), 0, LS_KEY_X));
    game.control = NULL;
    cr_expect_not(ls_game_uses_key(keep_instance(&game, &config), 0, LS_KEY_ENTER));
    show(false);
    source.game_has_enter = true;
    frame(FRAME_NS);
    press(LS_KEY_ENTER);
    cr_expect(ls_key_is_in(ls_view_next_controls(view)->keys_pressed, LS_KEY_ENTER));
    cr_expect_not(ls_view_is_typing(view));
    press(LS_KEY_F4);
    cr_expect(ls_view_is_typing(view));
}

Test(view, what_was_said_stands_above_the_keys_for_a_while)
{
    static uint32_t before[WIDTH * HEIGHT];
    show(false);
    memcpy(before, pixels, sizeof pixels);
    ls_view_add_chat(view, "[2] Ann: hello");
    frame(FRAME_NS);
    cr_assert_eq(scene.hud.chat_count, 1);
    cr_expect_str_eq(scene.hud.chat[0], "[2] Ann: hello");
    uint32_t first = 0;
    while (first < WIDTH * HEIGHT && pixels[first] == before[first]) {
        first++;
    }
    cr_expect_gt(first / WIDTH, HEIGHT / 2, "it stands in the lower half");
    cr_expect_lt(first / WIDTH, HEIGHT - 16, "above the keys");
    frames(1300);
    cr_expect_eq(scene.hud.chat_count, 0);
}

Test(view, the_key_for_being_ready_counts_where_it_is_asked_for)
{
    show(false);
    press(LS_KEY_R);
    cr_expect_not(ls_view_pop_ready(view));
    source.asks_ready = true;
    frame(FRAME_NS);
    press(LS_KEY_R);
    cr_expect(ls_view_pop_ready(view));
    cr_expect_not(ls_view_pop_ready(view));
}

static void say(const ls_sim_config *config, const void *state, uint32_t slot, ls_status_list *list)
{
    (void)state;
    cr_expect_geq(list->capacity, config->players + 8);
    ls_status_line lines[] = {{LS_STATUS_SEAT, 1, 0x112233FFu, {"7"}},
                              {LS_STATUS_SEAT, 0, 0x445566FFu, {"nobody"}},
                              {LS_STATUS_SEAT, 9, 0x445566FFu, {"nobody"}},
                              {LS_STATUS_MATCH, 0, 0, {"half-time\033"}},
                              {LS_STATUS_MATCH, 0, 0, {"another"}},
                              {LS_STATUS_PERSON, slot, 0, {"wait"}},
                              {99, 0, 0, {"of a newer game"}}};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        ls_status_push(list, lines[i]);
    }
}

Test(view, what_a_game_says_has_its_place_beside_the_picture)
{
    ls_simulation simulation = *ls_spring_simulation();
    simulation.status = say;
    ls_sim_config config = ls_sim_config_default(&simulation);
    ls_sim_instance *instance = NULL;
    cr_assert_eq(ls_sim_instance_create(&simulation, &config, ls_allocator_heap(), &instance, NULL),
                 LS_OK);
    ls_hud_model hud = {.seat_count = 1};
    ls_hud_model_add_status(&hud, instance, 0);
    cr_expect_str_eq(hud.seats[0].text, "7");
    cr_expect_eq(hud.seats[0].colour, 0x112233FFu);
    cr_expect_str_eq(hud.match.text.bytes, "half-time?", "the first, and nothing for a terminal");
    cr_expect_str_eq(hud.person.text.bytes, "wait");
    cr_expect_str_empty(hud.keys.text.bytes);
    ls_sim_instance_destroy(instance);
}
