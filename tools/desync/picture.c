#define _POSIX_C_SOURCE 200809L
#include "lockstep/tools/desync/picture.h"

#include "lockstep/common/maths/stable_sort.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LIST_MAX = 20000, /* shapes of one state */
};

typedef struct painter {
    explain_picture *picture;
    const ls_desync_bundle *bundle;
    ls_sim_instance *instance;
    ls_draw_shape *shapes; /* LIST_MAX */
    uint32_t kept;         /* shapes of all frames */
} painter;

/* ---- frames ---- */

/* Draws the instance's state by itself: nothing of the state before it is mixed in. */
static ls_draw_list draw(painter *to)
{
    ls_draw_list list = {.shapes = to->shapes, .capacity = LIST_MAX};
    const void *state = ls_sim_instance_state(to->instance);
    const ls_simulation *simulation = ls_sim_instance_simulation(to->instance);
    simulation->draw(ls_sim_instance_config(to->instance), state, state, LS_FIXED_ONE, &list);
    return list;
}

static bool keep(painter *to, const ls_draw_list *list, explain_frame *frame)
{
    *frame = (explain_frame){.tick = ls_sim_instance_tick(to->instance),
                             .count = list->count,
                             .shapes = calloc(list->count + 1, sizeof *list->shapes),
                             .differs = calloc(list->count + 1, sizeof(bool))};
    if (!frame->shapes || !frame->differs) {
        return false;
    }
    memcpy(frame->shapes, list->shapes, list->count * sizeof *list->shapes);
    to->kept += list->count;
    return true;
}

static void release_frame(explain_frame *frame)
{
    free(frame->shapes);
    free(frame->differs);
}

static void drop_oldest(painter *to)
{
    explain_picture *picture = to->picture;
    to->kept -= picture->frames[0].count;
    release_frame(&picture->frames[0]);
    picture->frame_count--;
    memmove(&picture->frames[0], &picture->frames[1],
            picture->frame_count * sizeof picture->frames[0]);
}

static ls_status add_frame(painter *to)
{
    explain_picture *picture = to->picture;
    ls_draw_list list = draw(to);
    while (picture->frame_count > 0 && (picture->frame_count == EXPLAIN_FRAMES_MAX ||
                                        to->kept + list.count > EXPLAIN_SHAPES_MAX)) {
        drop_oldest(to);
    }
    if (!keep(to, &list, &picture->frames[picture->frame_count++])) {
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

static bool looks_same(const ls_draw_shape *a, const ls_draw_shape *b)
{
    bool has_same_corners = true;
    for (uint32_t i = 0; i < 3 && a->kind == LS_DRAW_TRIANGLE; i++) {
        has_same_corners = has_same_corners && is_same_point(a->corners[i], b->corners[i]);
    }
    return has_same_corners && a->colour == b->colour && a->angle == b->angle && a->x == b->x &&
           a->y == b->y && a->half_width == b->half_width && a->half_height == b->half_height;
}

static void mark(explain_frame *frame, const ls_draw_shape *shape, uint32_t *count)
{
    frame->differs[shape - frame->shapes] = true;
    ++*count;
}

static void mark_differences(explain_picture *picture, explain_frame *a, explain_frame *b)
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
    picture->differing = LS_MAX(in_a, in_b);
    free(left);
    free(right);
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
        if (status == LS_OK) {
            status = ls_replay_stretch_run(stretch, to->instance,
                                           ls_sim_instance_tick(to->instance) + 1);
        }
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
        status = ls_sim_instance_load(to->instance, bundle->server.state, bundle->tick);
    }
    if (status == LS_OK) {
        status = add_frame(to);
    }
    if (status == LS_OK && bundle->client.state) {
        status = ls_sim_instance_load(to->instance, bundle->client.state, bundle->tick);
    }
    if (status == LS_OK && bundle->client.state) {
        ls_draw_list list = draw(to);
        picture->has_client = true;
        status = keep(to, &list, &picture->client) ? LS_OK : LS_NO_MEMORY;
    }
    if (status == LS_OK && picture->has_client) {
        mark_differences(picture, &picture->frames[picture->frame_count - 1], &picture->client);
    }
    return status;
}

static void make(explain_picture *picture, const ls_bundle_reading *reading,
                 const ls_simulation *simulation)
{
    painter to = {.picture = picture, .bundle = ls_bundle_reading_bundle(reading)};
    ls_status status = ls_sim_instance_create(simulation, &to.bundle->config, ls_allocator_heap(),
                                              &to.instance, &picture->why_not);
    to.shapes = calloc(LIST_MAX, sizeof *to.shapes);
    if (status == LS_OK) {
        status = to.shapes ? paint(&to, reading) : LS_NO_MEMORY;
    }
    if (status != LS_OK && picture->why_not.bytes[0] == '\0') {
        ls_text_set(&picture->why_not, "the states cannot be drawn: %s", ls_status_text(status));
    }
    free(to.shapes);
    ls_sim_instance_destroy(to.instance);
}

/* Draws everything once in a child: a state from another machine may be one that no draw expects.
 */
static bool survives(const ls_bundle_reading *reading, const ls_simulation *simulation,
                     ls_text *why_not)
{
    int outcome = 0;
    pid_t child = fork();
    if (child == 0) {
        explain_picture dry = {0};
        make(&dry, reading, simulation);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &outcome, 0) != child) {
        ls_text_set(why_not, "no process could be made to try the drawing in");
        return false;
    }
    if (WIFSIGNALED(outcome)) {
        ls_text_set(why_not, "the simulation crashed when it drew these states (signal %d)",
                    WTERMSIG(outcome));
    }
    return !WIFSIGNALED(outcome);
}

void explain_picture_make(explain_picture *picture, const ls_bundle_reading *reading,
                          const ls_simulation *simulation)
{
    const ls_desync_bundle *bundle = ls_bundle_reading_bundle(reading);
    *picture = (explain_picture){0};
    if (!simulation->draw) {
        ls_text_set(&picture->why_not, "the simulation draws nothing");
    } else if (simulation->hash) {
        ls_text_set(&picture->why_not, "states of an engine without a schema are not drawn");
    } else if (!ls_bundle_reading_schema(reading) || (!bundle->server.state && !bundle->snapshot)) {
        ls_text_set(&picture->why_not, "the bundle has no states to draw");
    } else if (survives(reading, simulation, &picture->why_not)) {
        make(picture, reading, simulation);
    }
}

void explain_picture_release(explain_picture *picture)
{
    for (uint32_t i = 0; i < picture->frame_count; i++) {
        release_frame(&picture->frames[i]);
    }
    release_frame(&picture->client);
    *picture = (explain_picture){0};
}
