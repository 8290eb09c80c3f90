#include "lockstep/client/view/camera.h"

#include <math.h>
#include <stdbool.h>

#define FIT_SHARE 0.97
#define PIXELS_PER_M_MIN 1e-3
#define PIXELS_PER_M_MAX 1e4
#define FOLLOW_RATE 8.0       /* 1/s: how fast it goes to where its shapes are */
#define ZOOM_PER_NOTCH 0.1398 /* grow() makes 1.15 of it */

ls_camera ls_camera_make(void)
{
    return (ls_camera){.mode = LS_CAMERA_FIT, .pixels_per_m = 1.0, .width = 1.0, .height = 1.0};
}

static void fit(ls_camera *camera, const ls_draw_list *list)
{
    double width = ls_fixed_to_double(list->view_max.x) - ls_fixed_to_double(list->view_min.x);
    double height = ls_fixed_to_double(list->view_max.y) - ls_fixed_to_double(list->view_min.y);
    if (!(width > 0.0 && height > 0.0)) {
        return;
    }
    double room = LS_MAX(camera->height - camera->top - camera->bottom, 1.0);
    double scale = LS_MIN(camera->width / width, room / height) * FIT_SHARE;
    camera->pixels_per_m = LS_MIN(LS_MAX(scale, PIXELS_PER_M_MIN), PIXELS_PER_M_MAX);
    double down = (camera->top - camera->bottom) / 2.0 / camera->pixels_per_m;
    camera->x = ls_fixed_to_double(list->view_min.x) + width / 2.0;
    camera->y = ls_fixed_to_double(list->view_min.y) + height / 2.0 + down;
}

/* The middle of the person's own shapes, larger ones counting more; false when there are none. */
static bool find_own(const ls_draw_list *list, uint32_t owner, double *x, double *y)
{
    double weight = 0.0;
    *x = 0.0;
    *y = 0.0;
    for (uint32_t i = 0; owner > 0 && i < list->count; i++) {
        const ls_draw_shape *shape = &list->shapes[i];
        if (shape->owner != owner || shape->kind == LS_DRAW_LINE) {
            continue;
        }
        double size = ls_fixed_to_double(shape->half_width);
        double share = size * size + 1e-9;
        *x += share * ls_fixed_to_double(shape->x);
        *y += share * ls_fixed_to_double(shape->y);
        weight += share;
    }
    if (weight > 0.0) {
        *x /= weight;
        *y /= weight;
    }
    return weight > 0.0;
}

/* Near e to the x, as (1 + x/256)^256: that of libm has tables of kilobytes, which a page loads. */
static double grow(double x)
{
    double power = LS_MAX(1.0 + x / 256.0, 0.0);
    for (int i = 0; i < 8; i++) {
        power *= power;
    }
    return power;
}

static void follow(ls_camera *camera, const ls_draw_list *list, uint32_t owner, double elapsed_s)
{
    double x;
    double y;
    if (find_own(list, owner, &x, &y)) {
        double share = 1.0 - grow(-FOLLOW_RATE * elapsed_s);
        camera->x += (x - camera->x) * share;
        camera->y += (y - camera->y) * share;
    }
}

void ls_camera_update(ls_camera *camera, const ls_canvas *canvas, const ls_draw_list *list,
                      uint32_t owner, double elapsed_s)
{
    camera->width = canvas->width;
    camera->height = canvas->height;
    if (camera->mode == LS_CAMERA_FIT) {
        fit(camera, list);
    } else if (camera->mode == LS_CAMERA_FOLLOW) {
        follow(camera, list, owner, elapsed_s);
    }
}

void ls_camera_zoom(ls_camera *camera, ls_canvas_point at, double notches)
{
    double before = camera->pixels_per_m;
    double wanted = before * grow(ZOOM_PER_NOTCH * notches);
    double after = LS_MIN(LS_MAX(wanted, PIXELS_PER_M_MIN), PIXELS_PER_M_MAX);
    bool is_following = camera->mode == LS_CAMERA_FOLLOW;
    double right = is_following ? 0.0 : (double)at.x - camera->width / 2.0;
    double down = is_following ? 0.0 : (double)at.y - camera->height / 2.0;
    camera->x += right / before - right / after;
    camera->y -= down / before - down / after;
    camera->pixels_per_m = after;
    camera->mode = is_following ? LS_CAMERA_FOLLOW : LS_CAMERA_FREE;
}

void ls_camera_pan(ls_camera *camera, double right, double down)
{
    camera->mode = LS_CAMERA_FREE;
    camera->x -= right / camera->pixels_per_m;
    camera->y += down / camera->pixels_per_m;
}

ls_canvas_point ls_camera_to_canvas(const ls_camera *camera, ls_vec2 world)
{
    double right = (ls_fixed_to_double(world.x) - camera->x) * camera->pixels_per_m;
    double up = (ls_fixed_to_double(world.y) - camera->y) * camera->pixels_per_m;
    return (ls_canvas_point){(float)(camera->width / 2.0 + right),
                             (float)(camera->height / 2.0 - up)};
}

ls_vec2 ls_camera_to_world(const ls_camera *camera, ls_canvas_point place)
{
    double right = ((double)place.x - camera->width / 2.0) / camera->pixels_per_m;
    double up = (camera->height / 2.0 - (double)place.y) / camera->pixels_per_m;
    return (ls_vec2){ls_fixed_from_double(camera->x + right), ls_fixed_from_double(camera->y + up)};
}
