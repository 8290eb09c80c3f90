#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/base/hash.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/arena/arena_state.h"
#include "lockstep/server/service/room_picture.h"
#include "lockstep/tools/desync/picture.h"

#include "lockstep/tests/support/diagnosed_match.h"
#include "lockstep/tests/support/sim_fixture.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== picture ==== */

enum {
    BAD_TICK = 60
};

static explain_picture picture;
static uint8_t *bytes;
static ls_bundle_reading *reading;

typedef void (*damage)(const ls_arena_layout *layout, uint8_t *state);

/* A bundle of an arena, of which the client's state was damaged. */
static void open_bundle(damage damage_client)
{
    diagnosed_match match;
    diagnosed_memory *memory = calloc(1, sizeof *memory);
    ls_desync_bundle bundle;
    size_t size = 0;
    ls_text why = {{0}};
    ls_sim_config config = ls_sim_config_default(ls_arena_simulation());
    ls_arena_layout layout = ls_arena_layout_of(&config);
    diagnosed_match_open(&match, ls_arena_simulation(), &config);
    diagnosed_match_run(&match, BAD_TICK);
    damage_client(&layout, ls_sim_instance_state(match.client.instance));
    diagnosed_match_run(&match, 5);
    diagnosed_match_bundle(&match, memory, &bundle);
    cr_assert_eq(ls_desync_bundle_write(&bundle, ls_allocator_heap(), &bytes, &size), LS_OK);
    diagnosed_match_close(&match);
    free(memory);
    cr_assert_eq(ls_bundle_reading_open(bytes, size, ls_allocator_heap(), &reading, &why), LS_OK);
}

static void release(void)
{
    explain_picture_release(&picture);
    ls_bundle_reading_close(reading);
    ls_release(ls_allocator_heap(), bytes);
}

TestSuite(picture, .fini = release);

static void move_a_body(const ls_arena_layout *layout, uint8_t *state)
{
    ls_arena_body *bodies = (void *)(state + layout->bodies);
    bodies[7].position.x += LS_FIXED_ONE;
}

static void count_a_death(const ls_arena_layout *layout, uint8_t *state)
{
    ls_arena_ship *ships = (void *)(state + layout->ships);
    ships[1].deaths ^= 64;
}

static void make_picture(const ls_bundle_reading *of, const ls_simulation *simulation)
{
    const ls_simulation *const builds[2] = {simulation, NULL};
    explain_picture_make(&picture, of, builds);
}

static uint32_t count_marks(const explain_frame *frame)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < frame->count; i++) {
        count += frame->differs[i];
    }
    return count;
}

Test(picture, shows_the_way_to_the_bad_state_and_marks_what_moved)
{
    open_bundle(move_a_body);
    make_picture(reading, ls_arena_simulation());
    cr_assert_str_empty(picture.why_not.bytes);
    cr_assert_gt(picture.frame_count, 10);
    cr_assert(picture.has_client);
    const explain_frame *server = &picture.frames[picture.frame_count - 1];
    cr_expect_eq(server->tick, BAD_TICK + 1);
    cr_expect_eq(picture.client.tick, BAD_TICK + 1);
    cr_expect_gt(picture.client.count, 50);
    cr_expect_eq(count_marks(server), picture.differing);
    cr_expect_eq(count_marks(&picture.client), picture.differing);
    cr_expect(picture.differing >= 1 && picture.differing < 20, "%u", picture.differing);
    for (uint32_t i = 0; i + 1 < picture.frame_count; i++) {
        cr_expect_eq(picture.frames[i].tick + 1, picture.frames[i + 1].tick);
        cr_expect_eq(count_marks(&picture.frames[i]), 0);
    }
}

Test(picture, shows_both_sides_after_the_bad_state)
{
    open_bundle(move_a_body);
    make_picture(reading, ls_arena_simulation());
    cr_assert_eq(picture.later_count, 4, "the match went on for five ticks");
    for (uint32_t i = 0; i < picture.later_count; i++) {
        cr_expect_eq(picture.later[i].tick, BAD_TICK + 2 + i);
        cr_expect_eq(picture.later_client[i].tick, BAD_TICK + 2 + i);
        cr_expect_gt(count_marks(&picture.later[i]), 0, "the body is still elsewhere");
        cr_expect_gt(count_marks(&picture.later_client[i]), 0);
    }
}

static const ls_pass *first_pass;

static void crash_later(const ls_step *step)
{
    if (step->inputs->tick > BAD_TICK) {
        raise(SIGKILL);
    }
    first_pass->run(step);
}

Test(picture, a_step_that_crashes_after_the_bad_state_costs_what_is_after_it)
{
    ls_simulation crashing = *ls_arena_simulation();
    ls_pass passes[LS_PASSES_MAX];
    memcpy(passes, crashing.passes, crashing.pass_count * sizeof passes[0]);
    first_pass = &crashing.passes[0];
    passes[0].run = crash_later;
    crashing.passes = passes;
    open_bundle(move_a_body);
    make_picture(reading, &crashing);
    cr_expect_str_empty(picture.why_not.bytes);
    cr_expect_gt(picture.frame_count, 10);
    cr_expect(picture.has_client);
    cr_expect_eq(picture.later_count, 0);
}

Test(picture, what_is_not_drawn_is_not_marked)
{
    open_bundle(count_a_death);
    make_picture(reading, ls_arena_simulation());
    cr_assert(picture.has_client);
    cr_expect_eq(picture.differing, 0);
}

static void draw_nothing_and_crash(const ls_sim_config *config, const void *previous,
                                   const void *current, ls_fixed alpha, ls_draw_list *list)
{
    (void)config, (void)previous, (void)current, (void)alpha, (void)list;
    raise(SIGKILL);
}

Test(picture, a_draw_that_crashes_costs_the_picture_and_no_more)
{
    ls_simulation crashing = *ls_arena_simulation();
    crashing.draw = draw_nothing_and_crash;
    open_bundle(count_a_death);
    make_picture(reading, &crashing);
    cr_expect_str_eq(picture.why_not.bytes,
                     "the simulation crashed when it drew these states (signal 9)");
    cr_expect_eq(picture.frame_count, 0);
    crashing.draw = NULL;
    make_picture(reading, &crashing);
    cr_expect_str_eq(picture.why_not.bytes, "the simulation draws nothing");
}

static void draw_many(const ls_sim_config *config, const void *previous, const void *current,
                      ls_fixed alpha, ls_draw_list *list)
{
    (void)config, (void)previous, (void)current, (void)alpha;
    while (list->count < 15000 && list->count < list->capacity) {
        ls_draw_push(list, (ls_draw_shape){.kind = LS_DRAW_DISC, .id = list->count % 7});
    }
}

/* Fewer frames, rather than a page that no browser opens. */
Test(picture, has_room_for_so_many_shapes_and_no_more)
{
    ls_simulation large = *ls_arena_simulation();
    large.draw = draw_many;
    open_bundle(count_a_death);
    make_picture(reading, &large);
    cr_assert_eq(picture.frame_count, 2);
    cr_expect_eq(picture.frames[1].tick, BAD_TICK + 1);
    cr_expect_eq(picture.frames[1].count, 15000);
    cr_expect_eq(picture.client.count, 15000);
    cr_expect_eq(picture.differing, 0);
}

/* An engine keeps its picture where it likes, and paints over it. */
static void draw_screen(const ls_sim_config *config, const void *previous, const void *current,
                        ls_fixed alpha, ls_draw_list *list)
{
    static uint32_t screen[4];
    static char text[32];
    (void)previous, (void)alpha;
    uint64_t first = ls_hash_bytes(current, ls_arena_simulation()->state_bytes(config), 0);
    screen[3] = (uint32_t)first | 0xffu;
    snprintf(text, sizeof text, "<%08x>", (uint32_t)first);
    list->view_max = (ls_vec2){LS_FIXED_INT(4), LS_FIXED_INT(4)};
    ls_draw_push(list, (ls_draw_shape){.kind = LS_DRAW_BITMAP,
                                       .half_width = LS_FIXED_ONE,
                                       .half_height = LS_FIXED_ONE,
                                       .columns = 2,
                                       .rows = 2,
                                       .pixels = screen});
    ls_draw_push(list, (ls_draw_shape){.kind = LS_DRAW_TEXT,
                                       .id = 1,
                                       .colour = 0xffffffffu,
                                       .half_height = LS_FIXED_ONE,
                                       .text = text});
}

Test(picture, what_a_shape_borrows_is_kept_compared_and_written)
{
    ls_simulation drawn = *ls_arena_simulation();
    drawn.draw = draw_screen;
    open_bundle(move_a_body);
    make_picture(reading, &drawn);
    cr_assert_str_empty(picture.why_not.bytes);
    const explain_frame *server = &picture.frames[picture.frame_count - 1];
    cr_assert_eq(server->count, 2);
    cr_expect_neq(server->shapes[0].pixels, picture.client.shapes[0].pixels);
    cr_expect_eq(picture.frames[0].shapes[0].pixels[0], 0);
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    ls_html html = ls_html_page(file, "page", "");
    explain_report_write_picture(&html, &picture);
    fclose(file);
    cr_expect(strstr(text, "href=\"data:image/bmp;base64,Qk"), "a picture in the page");
    char words[64];
    snprintf(words, sizeof words, "&lt;%.8s&gt;</text>", server->shapes[1].text + 1);
    cr_expect(strstr(text, words), "no %s", words);
    free(text);
}

/* ==== room_picture ==== */

static char *room_picture;
static uint32_t shapes; /* that are drawn */
static uint32_t side;   /* of the bitmaps that are drawn */
static uint32_t pixels[1024 * 1024];

static void room_release(void)
{
    ls_release(ls_allocator_heap(), room_picture);
    room_picture = NULL;
}

TestSuite(room_picture, .fini = room_release);

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
    return ls_room_picture_make(sim->instance, &room_picture, why);
}

static uint32_t times(const char *words)
{
    uint32_t count = 0;
    for (const char *at = room_picture; (at = strstr(at, words)); at++) {
        count++;
    }
    return count;
}

Test(room_picture, is_a_document_of_what_is_drawn)
{
    cr_assert_eq(make(ls_arena_simulation(), NULL), LS_OK);
    cr_assert_eq(strncmp(room_picture, "<?xml ", 6), 0);
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
    size_t small = strlen(room_picture);
    cr_assert_gt(small, (size_t)side * side * 4);
    room_release();
    side = 1024;
    cr_assert_eq(make(&simulation, NULL), LS_OK);
    cr_assert_gt(strlen(room_picture), small);
    cr_assert_lt(strlen(room_picture), LS_ROOM_PICTURE_PIXELS_MAX * 6);
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
    cr_assert_null(room_picture);
}

Test(room_picture, of_a_simulation_that_draws_nothing_is_none)
{
    ls_simulation simulation = *ls_arena_simulation();
    ls_text why = {{0}};
    simulation.draw = NULL;
    cr_assert_eq(make(&simulation, &why), LS_NOT_FOUND);
    cr_assert_str_eq(why.bytes, "the simulation draws nothing");
}
