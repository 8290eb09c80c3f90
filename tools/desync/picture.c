#define _POSIX_C_SOURCE 200809L
#include "lockstep/tools/desync/picture.h"

#include "lockstep/common/game/drawing.h"
#include "lockstep/common/maths/stable_sort.h"
#include "lockstep/common/system/child_process.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- the picture ---- */

enum {
    LIST_MAX = 20000, /* shapes of one state */
    PIXELS_OF_A_SHAPE = 100,
    TRY_SECONDS = 20, /* of a try: a damaged state may keep a step busy for ever */
};

typedef struct painter {
    explain_picture *picture;
    const ls_desync_bundle *bundle;
    ls_sim_instance *instance;
    ls_sim_instance *client; /* of the build that the client's side goes on with */
    bool has_later;          /* states after the bad one are wanted */
    ls_draw_shape *shapes;   /* LIST_MAX */
    uint32_t kept;           /* shapes of all frames */
} painter;

/* ---- frames ---- */

/* Draws the instance's state by itself: nothing of the state before it is mixed in. */
static ls_draw_list draw(painter *to, ls_sim_instance *instance)
{
    ls_draw_list list = {.shapes = to->shapes, .capacity = LIST_MAX};
    const void *state = ls_sim_instance_state(instance);
    const ls_simulation *simulation = ls_sim_instance_simulation(to->instance);
    simulation->draw(ls_sim_instance_config(instance), state, state, LS_FIXED_ONE, &list);
    return list;
}

/* A bitmap takes as much of a page as so many shapes. */
static uint32_t weight_of(const ls_draw_shape *shape)
{
    return ls_draw_is_bitmap(shape) ? shape->columns * shape->rows / PIXELS_OF_A_SHAPE : 0;
}

static uint32_t weight_of_all(const ls_draw_shape *shapes, uint32_t count)
{
    uint32_t weight = count;
    for (uint32_t i = 0; i < count; i++) {
        weight += weight_of(&shapes[i]);
    }
    return weight;
}

/* The shape gets copies of the pixels and the text that it borrows. */
static bool keep_content(ls_draw_shape *shape)
{
    const uint32_t *pixels = ls_draw_is_bitmap(shape) ? shape->pixels : NULL;
    const char *text = shape->kind == LS_DRAW_TEXT ? shape->text : NULL;
    size_t count = (size_t)shape->columns * shape->rows;
    size_t bytes = text ? strnlen(text, LS_TEXT_BYTES_MAX - 1) : 0;
    char *words = text ? calloc(bytes + 1, 1) : NULL;
    if (words) {
        memcpy(words, text, bytes);
    }
    shape->text = words;
    uint32_t *copy = pixels ? malloc(count * sizeof *copy) : NULL;
    if (copy) {
        memcpy(copy, pixels, count * sizeof *copy);
    }
    shape->pixels = copy;
    return (!pixels || copy) && (!text || shape->text);
}

static bool keep(painter *to, ls_tick tick, const ls_draw_list *list, explain_frame *frame)
{
    *frame = (explain_frame){.tick = tick,
                             .count = list->count,
                             .shapes = calloc(list->count + 1, sizeof *list->shapes),
                             .differs = calloc(list->count + 1, sizeof(bool))};
    if (!frame->shapes || !frame->differs) {
        return false;
    }
    memcpy(frame->shapes, list->shapes, list->count * sizeof *list->shapes);
    to->kept += list->count;
    bool is_whole = true;
    for (uint32_t i = 0; i < list->count; i++) {
        is_whole = keep_content(&frame->shapes[i]) && is_whole;
        to->kept += weight_of(&frame->shapes[i]);
    }
    return is_whole;
}

static void release_frame(explain_frame *frame)
{
    for (uint32_t i = 0; frame->shapes && i < frame->count; i++) {
        free((void *)(uintptr_t)frame->shapes[i].pixels);
        free((void *)(uintptr_t)frame->shapes[i].text);
    }
    free(frame->shapes);
    free(frame->differs);
}

static void drop_oldest(painter *to)
{
    explain_picture *picture = to->picture;
    to->kept -= weight_of_all(picture->frames[0].shapes, picture->frames[0].count);
    release_frame(&picture->frames[0]);
    picture->frame_count--;
    memmove(&picture->frames[0], &picture->frames[1],
            picture->frame_count * sizeof picture->frames[0]);
}

static ls_status add_frame(painter *to)
{
    explain_picture *picture = to->picture;
    ls_draw_list list = draw(to, to->instance);
    while (picture->frame_count > 0 &&
           (picture->frame_count == EXPLAIN_FRAMES_MAX ||
            to->kept + weight_of_all(list.shapes, list.count) > EXPLAIN_SHAPES_MAX)) {
        drop_oldest(to);
    }
    if (!keep(to, ls_sim_instance_tick(to->instance), &list,
              &picture->frames[picture->frame_count++])) {
        return LS_NO_MEMORY;
    }
    picture->view_min = list.view_min;
    picture->view_max = list.view_max;
    return LS_OK;
}

/* ---- what differs ---- */

static int compare_keys(const void *a, const void *b, const void *context)
{
    (void)context;
    const ls_draw_shape *left = *(const ls_draw_shape *const *)a;
    const ls_draw_shape *right = *(const ls_draw_shape *const *)b;
    return left->kind != right->kind ? (left->kind > right->kind) - (left->kind < right->kind)
                                     : (left->id > right->id) - (left->id < right->id);
}

/* By kind and id; shapes of one id in the order in which they were drawn. */
static const ls_draw_shape **sorted(const explain_frame *frame)
{
    const ls_draw_shape **order = calloc(2u * frame->count + 1, sizeof *order);
    for (uint32_t i = 0; order && i < frame->count; i++) {
        order[i] = &frame->shapes[i];
    }
    if (order) {
        ls_stable_sort(order, frame->count, sizeof *order, order + frame->count, compare_keys,
                       NULL);
    }
    return order;
}

static bool is_same_point(ls_vec2 a, ls_vec2 b)
{
    return a.x == b.x && a.y == b.y;
}

static bool has_same_content(const ls_draw_shape *a, const ls_draw_shape *b)
{
    bool is_bitmap = ls_draw_is_bitmap(a);
    if (is_bitmap != ls_draw_is_bitmap(b) || !a->text != !b->text) {
        return false;
    }
    size_t count = (size_t)a->columns * a->rows;
    bool has_same_pixels = !is_bitmap || (a->columns == b->columns && a->rows == b->rows &&
                                          memcmp(a->pixels, b->pixels, count * 4) == 0);
    return has_same_pixels && (!a->text || strcmp(a->text, b->text) == 0);
}

static bool looks_same(const ls_draw_shape *a, const ls_draw_shape *b)
{
    bool has_same_corners = true;
    for (uint32_t i = 0; i < 3 && a->kind == LS_DRAW_TRIANGLE; i++) {
        has_same_corners = has_same_corners && is_same_point(a->corners[i], b->corners[i]);
    }
    return has_same_corners && has_same_content(a, b) && a->colour == b->colour &&
           a->angle == b->angle && a->x == b->x && a->y == b->y && a->half_width == b->half_width &&
           a->half_height == b->half_height;
}

static void mark(explain_frame *frame, const ls_draw_shape *shape, uint32_t *count)
{
    frame->differs[shape - frame->shapes] = true;
    ++*count;
}

/* Returns how many there are, in the frame that has more. */
static uint32_t mark_differences(explain_frame *a, explain_frame *b)
{
    const ls_draw_shape **left = sorted(a);
    const ls_draw_shape **right = sorted(b);
    uint32_t i = 0, j = 0, in_a = 0, in_b = 0;
    while (left && right && (i < a->count || j < b->count)) {
        int order = i == a->count   ? 1
                    : j == b->count ? -1
                                    : compare_keys(&left[i], &right[j], NULL);
        if (order != 0 || !looks_same(left[i], right[j])) {
            if (order <= 0) {
                mark(a, left[i], &in_a);
            }
            if (order >= 0) {
                mark(b, right[j], &in_b);
            }
        }
        i += order <= 0;
        j += order >= 0;
    }
    free(left);
    free(right);
    return LS_MAX(in_a, in_b);
}

/* ---- after the bad state ---- */

static ls_status step(const painter *to, ls_sim_instance *instance)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick tick = ls_sim_instance_tick(instance);
    ls_status status = ls_input_buffer_tick(to->bundle->inputs, tick, slots);
    if (status == LS_OK) {
        ls_sim_instance_step(instance, &(ls_tick_inputs){tick, to->bundle->config.players, slots});
    }
    return status;
}

static ls_status draw_later(painter *to, ls_sim_instance *instance, explain_frame *frame)
{
    ls_status status = step(to, instance);
    if (status != LS_OK) {
        return status;
    }
    ls_draw_list list = draw(to, instance);
    return keep(to, ls_sim_instance_tick(instance), &list, frame) ? LS_OK : LS_NO_MEMORY;
}

/* Both sides a tick at a time, until the inputs or the room end. The instances are at the bad
 * state.
 */
static ls_status paint_later(painter *to)
{
    explain_picture *picture = to->picture;
    ls_status status = LS_OK;
    uint32_t room = to->kept + EXPLAIN_SHAPES_MAX;
    uint32_t count = to->bundle->later_ticks;
    for (uint32_t i = 0; status == LS_OK && i < count && to->kept < room; i++) {
        status = draw_later(to, to->instance, &picture->later[i]);
        if (status == LS_OK && picture->has_client) {
            status = draw_later(to, to->client, &picture->later_client[i]);
        }
        if (status == LS_OK && picture->has_client) {
            mark_differences(&picture->later[i], &picture->later_client[i]);
        }
        picture->later_count += status == LS_OK ? 1 : 0;
    }
    return status;
}

/* ---- the whole ---- */

static ls_status paint_way(painter *to, const ls_replay_stretch *stretch)
{
    ls_status status = ls_replay_stretch_load(stretch, to->instance);
    if (status == LS_OK && stretch->last - stretch->first >= EXPLAIN_FRAMES_MAX) {
        ls_tick first = stretch->last - EXPLAIN_FRAMES_MAX + 1;
        status = ls_replay_stretch_run(stretch, to->instance, first);
    }
    while (status == LS_OK && ls_sim_instance_tick(to->instance) < stretch->last) {
        status = add_frame(to);
        LS_THEN(status, ls_replay_stretch_run(stretch, to->instance,
                                              ls_sim_instance_tick(to->instance) + 1));
    }
    return status;
}

static ls_status paint(painter *to, const ls_bundle_reading *reading)
{
    const ls_desync_bundle *bundle = to->bundle;
    explain_picture *picture = to->picture;
    ls_replay_stretch stretch;
    ls_status status = LS_OK;
    if (ls_bundle_reading_stretch(reading, &stretch) == LS_OK) {
        status = paint_way(to, &stretch);
    }
    if (status == LS_OK && bundle->server.state) {
        status = ls_sim_instance_load(to->instance, bundle->server.state, bundle->state_bytes,
                                      bundle->tick);
    }
    LS_THEN(status, add_frame(to));
    if (status == LS_OK && bundle->client.state) {
        status = ls_sim_instance_load(to->client, bundle->client.state, bundle->state_bytes,
                                      bundle->tick);
    }
    if (status == LS_OK && bundle->client.state) {
        ls_draw_list list = draw(to, to->client);
        picture->has_client = true;
        status = keep(to, bundle->tick, &list, &picture->client) ? LS_OK : LS_NO_MEMORY;
    }
    if (status == LS_OK && picture->has_client) {
        picture->differing =
            mark_differences(&picture->frames[picture->frame_count - 1], &picture->client);
    }
    bool has_both = bundle->server.state && picture->has_client;
    return status == LS_OK && has_both && to->has_later ? paint_later(to) : status;
}

static void make(explain_picture *picture, const ls_bundle_reading *reading,
                 const ls_simulation *const builds[2], bool has_later)
{
    painter to = {
        .picture = picture, .bundle = ls_bundle_reading_bundle(reading), .has_later = has_later};
    ls_status status = ls_sim_instance_create(builds[0], &to.bundle->config, ls_allocator_heap(),
                                              &to.instance, &picture->why_not);
    LS_THEN(status, ls_sim_instance_create(builds[1] ? builds[1] : builds[0], &to.bundle->config,
                                           ls_allocator_heap(), &to.client, &picture->why_not));
    picture->is_other_build = builds[1] != NULL;
    to.shapes = calloc(LIST_MAX, sizeof *to.shapes);
    LS_THEN(status, to.shapes ? paint(&to, reading) : LS_NO_MEMORY);
    if (status != LS_OK && picture->why_not.bytes[0] == '\0') {
        ls_text_set(&picture->why_not, "the states cannot be drawn: %s", ls_status_text(status));
    }
    free(to.shapes);
    ls_sim_instance_destroy(to.client);
    ls_sim_instance_destroy(to.instance);
}

typedef struct trial {
    const ls_bundle_reading *reading;
    const ls_simulation *const *builds; /* 2 */
    bool has_later;
} trial;

static int draw_all(const void *user, int channel)
{
    const trial *of = user;
    explain_picture dry = {0};
    (void)channel;
    make(&dry, of->reading, of->builds, of->has_later);
    return 0;
}

/* Draws everything once in a child: a state from another machine may be one that no draw expects.
 */
static bool survives(const ls_bundle_reading *reading, const ls_simulation *const builds[2],
                     bool has_later, ls_text *why_not)
{
    const trial of = {reading, builds, has_later};
    const ls_child_process_work work = {
        .run = draw_all, .user = &of, .time_max_ms = TRY_SECONDS * 1000};
    ls_child_process child;
    ls_child_process_end end;
    if (ls_child_process_fork(&work, &child, NULL, NULL) != LS_OK) {
        ls_text_set(why_not, "no process could be made to try the drawing in");
        return false;
    }
    ls_child_process_wait(&child, LS_CHILD_WAIT_FOREVER, &end);
    if (end.signal != 0) {
        ls_text_set(why_not, "the simulation crashed when it drew these states (signal %d)",
                    end.signal);
    }
    return end.signal == 0;
}

void explain_picture_make(explain_picture *picture, const ls_bundle_reading *reading,
                          const ls_simulation *const builds[2])
{
    const ls_desync_bundle *bundle = ls_bundle_reading_bundle(reading);
    *picture = (explain_picture){0};
    if (!builds[0]->draw) {
        ls_text_set(&picture->why_not, "the simulation draws nothing");
    } else if (builds[0]->hash) {
        ls_text_set(&picture->why_not, "states of an engine without a schema are not drawn");
    } else if (!ls_bundle_reading_schema(reading) || (!bundle->server.state && !bundle->snapshot)) {
        ls_text_set(&picture->why_not, "the bundle has no states to draw");
    } else if (survives(reading, builds, true, &picture->why_not)) {
        make(picture, reading, builds, true);
    } else if (survives(reading, builds, false, &picture->why_not)) {
        ls_text_set(&picture->why_not, "%s", "");
        make(picture, reading, builds, false);
    }
}

void explain_picture_release(explain_picture *picture)
{
    for (uint32_t i = 0; i < picture->frame_count; i++) {
        release_frame(&picture->frames[i]);
    }
    for (uint32_t i = 0; i < LS_BUNDLE_LATER_MAX; i++) {
        release_frame(&picture->later[i]);
        release_frame(&picture->later_client[i]);
    }
    release_frame(&picture->client);
    *picture = (explain_picture){0};
}

/* ---- frames ---- */

static void write_frame(const ls_drawing *on, const char *side, const explain_frame *frame)
{
    char id[32];
    snprintf(id, sizeof id, "%s-%" PRIu32, side, frame->tick);
    ls_html_begin(on->html, "g");
    ls_html_attribute(on->html, "id", id);
    for (uint32_t i = 0; i < frame->count; i++) {
        ls_drawing_shape(on, &frame->shapes[i]);
    }
    for (uint32_t i = 0; i < frame->count; i++) {
        if (frame->differs[i]) {
            ls_drawing_ring(on, &frame->shapes[i], "mark");
        }
    }
    ls_html_end(on->html);
}

/* The board shows one of the frames that stand in the page once. */
static void write_side(const ls_drawing *on, const char *side, ls_tick tick)
{
    char id[32], frame[40];
    snprintf(id, sizeof id, "%s-board", side);
    snprintf(frame, sizeof frame, "#%s-%" PRIu32, side, tick);
    ls_html_begin(on->html, "figure");
    ls_html_element(on->html, "figcaption", NULL, side);
    ls_drawing_begin(on);
    ls_html_begin(on->html, "use");
    ls_html_attribute(on->html, "id", id);
    ls_html_attribute(on->html, "href", frame);
    ls_html_end(on->html);
    ls_html_end(on->html);
    ls_html_end(on->html);
}

static void write_frames(const ls_drawing *on, const explain_picture *picture)
{
    ls_drawing_begin(on);
    ls_html_attribute(on->html, "style", "display:none");
    ls_html_begin(on->html, "defs");
    for (uint32_t i = 0; i < picture->frame_count; i++) {
        write_frame(on, "server", &picture->frames[i]);
    }
    if (picture->has_client) {
        write_frame(on, "client", &picture->client);
    }
    for (uint32_t i = 0; i < picture->later_count; i++) {
        write_frame(on, "server", &picture->later[i]);
        write_frame(on, "client", &picture->later_client[i]);
    }
    ls_html_end(on->html);
    ls_html_end(on->html);
}

/* Before the bad state both sides are the same. #140 behind the page's address shows state 140. */
static const char script[] =
    "(function(){var s=document.getElementById('slider');function show(){var t=s.value;"
    "document.getElementById('shown').textContent='state '+t;"
    "['server','client'].forEach(function(side){var b=document.getElementById(side+'-board');"
    "if(b){var own=side+'-'+t;b.setAttribute('href','#'+(document.getElementById(own)?own:"
    "'server-'+t));}});}"
    "s.addEventListener('input',show);function go(){var t=parseInt(location.hash.slice(1),10);"
    "if(t>=+s.min&&t<=+s.max){s.value=t;}show();}"
    "window.addEventListener('hashchange',go);go();})();";

static void write_slider(ls_html *html, ls_tick first, ls_tick bad, ls_tick last)
{
    char text[32];
    snprintf(text, sizeof text, "state %" PRIu32, bad);
    ls_html_begin(html, "label");
    ls_html_attribute(html, "class", "slide");
    ls_html_begin(html, "input");
    ls_html_attribute(html, "type", "range");
    ls_html_attribute(html, "id", "slider");
    ls_html_number_attribute(html, "min", first);
    ls_html_number_attribute(html, "max", last);
    ls_html_number_attribute(html, "value", bad);
    ls_html_end_empty(html);
    ls_html_begin(html, "output");
    ls_html_attribute(html, "id", "shown");
    ls_html_text(html, text);
    ls_html_end(html);
    ls_html_end(html);
    ls_html_script(html, script);
}

static void write_note(ls_html *html, const explain_picture *picture)
{
    ls_text note = {{0}};
    ls_tick bad = picture->frames[picture->frame_count - 1].tick;
    bool is_one = picture->differing == 1;
    if (!picture->has_client) {
        ls_text_set(&note, "The client's state is not in the bundle.");
    } else if (picture->differing == 0) {
        ls_text_set(&note,
                    "At state %" PRIu32 " both pictures are the same: the simulation does not draw "
                    "the values that differ.",
                    bad);
    } else {
        ls_text_set(&note, "Rings mark the %" PRIu32 " shape%s that differ%s at state %" PRIu32 ".",
                    picture->differing, is_one ? "" : "s", is_one ? "s" : "", bad);
    }
    ls_html_element(html, "p", "note", note.bytes);
}

/* The states behind the bad one, and where they come from. */
static void write_later_note(ls_html *html, const explain_picture *picture, ls_tick bad)
{
    ls_text note = {{0}};
    if (picture->later_count > 0) {
        ls_text_set(&note,
                    "From state %" PRIu32 " on each side is simulated on here from its own state, "
                    "on the match's inputs, %s.",
                    bad,
                    picture->is_other_build ? "the server's with --sim, the client's with --against"
                                            : "both with the same build");
    } else {
        ls_text_set(&note,
                    "Nothing after state %" PRIu32 " is shown: that takes both states, and inputs "
                    "of later ticks, which the bundle does not have.",
                    bad);
    }
    ls_html_element(html, "p", "note", note.bytes);
}

void explain_report_write_picture(ls_html *html, const explain_picture *picture)
{
    if (picture->frame_count == 0 || picture->why_not.bytes[0] != '\0') {
        ls_text note = {{0}};
        ls_text_set(&note, "No picture: %s.", picture->why_not.bytes);
        ls_html_element(html, "p", "note", note.bytes);
        return;
    }
    const ls_drawing on = ls_drawing_of(html, picture->view_min, picture->view_max);
    ls_tick bad = picture->frames[picture->frame_count - 1].tick;
    ls_tick last = bad + picture->later_count;
    write_frames(&on, picture);
    ls_html_begin(html, "div");
    ls_html_attribute(html, "class", "sides");
    write_side(&on, "server", bad);
    if (picture->has_client) {
        write_side(&on, "client", bad);
    }
    ls_html_end(html);
    if (picture->frames[0].tick < last) {
        write_slider(html, picture->frames[0].tick, bad, last);
    }
    write_note(html, picture);
    write_later_note(html, picture, bad);
}
