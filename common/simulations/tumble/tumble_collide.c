#include "lockstep/common/simulations/tumble/tumble_collide.h"

static const ls_tumble_manifold apart;

static ls_tumble_manifold one_point(ls_vec3 normal, ls_vec3 point, ls_fixed depth)
{
    return (ls_tumble_manifold){.normal = normal, .count = 1, .points = {point}, .depths = {depth}};
}

static ls_tumble_manifold collide_balls(const ls_tumble_body *a, const ls_tumble_body *b,
                                        ls_fixed margin)
{
    ls_vec3 offset = ls_vec3_sub(b->position, a->position);
    ls_fixed depth = a->radius + b->radius - ls_vec3_length(offset);
    if (depth < -margin) {
        return apart;
    }
    ls_vec3 normal = ls_vec3_normal(offset);
    ls_vec3 point = ls_vec3_along(a->position, normal, a->radius - depth / 2);
    return one_point(normal, point, depth);
}

static ls_vec3 clamp_into(ls_vec3 point, ls_vec3 half)
{
    return (ls_vec3){ls_fixed_clamp(point.x, -half.x, half.x),
                     ls_fixed_clamp(point.y, -half.y, half.y),
                     ls_fixed_clamp(point.z, -half.z, half.z)};
}

/* The way out of a box for a point inside it: through the nearest face. In the box's directions. */
static ls_vec3 way_out(ls_vec3 point, ls_vec3 half, ls_fixed *distance)
{
    ls_vec3 room = {half.x - ls_fixed_abs(point.x), half.y - ls_fixed_abs(point.y),
                    half.z - ls_fixed_abs(point.z)};
    *distance = ls_fixed_min(room.x, ls_fixed_min(room.y, room.z));
    ls_vec3 out = {0, 0, 0};
    if (room.x == *distance) {
        out.x = point.x < 0 ? -LS_FIXED_ONE : LS_FIXED_ONE;
    } else if (room.y == *distance) {
        out.y = point.y < 0 ? -LS_FIXED_ONE : LS_FIXED_ONE;
    } else {
        out.z = point.z < 0 ? -LS_FIXED_ONE : LS_FIXED_ONE;
    }
    return out;
}

static ls_tumble_manifold collide_box_ball(ls_tumble_solid box, const ls_tumble_body *ball,
                                           ls_fixed margin)
{
    ls_vec3 offset = ls_vec3_sub(ball->position, box.body->position);
    ls_vec3 centre = ls_axes_to_body(box.axes, offset);
    ls_vec3 nearest = clamp_into(centre, box.body->half);
    ls_vec3 way = ls_vec3_sub(centre, nearest);
    ls_fixed distance = ls_vec3_length(way);
    if (distance - ball->radius > margin) {
        return apart;
    }
    if (distance == 0) {
        way = way_out(centre, box.body->half, &distance);
        distance = ls_fixed_negate(distance);
    }
    ls_vec3 normal = ls_axes_to_world(box.axes, ls_vec3_normal(way));
    ls_vec3 point = ls_vec3_add(box.body->position, ls_axes_to_world(box.axes, nearest));
    return one_point(normal, point, ball->radius - distance);
}

ls_tumble_manifold ls_tumble_collide(ls_tumble_solid a, ls_tumble_solid b, ls_fixed margin)
{
    bool is_box_a = a.body->shape == LS_TUMBLE_BOX;
    bool is_box_b = b.body->shape == LS_TUMBLE_BOX;
    if (is_box_a && is_box_b) {
        return ls_tumble_collide_boxes(a, b, margin);
    }
    if (is_box_a) {
        return collide_box_ball(a, b.body, margin);
    }
    if (is_box_b) {
        ls_tumble_manifold manifold = collide_box_ball(b, a.body, margin);
        manifold.normal = ls_vec3_negate(manifold.normal);
        return manifold;
    }
    return collide_balls(a.body, b.body, margin);
}

/* A fifth corner takes the place of the one that is least deep. */
static void keep_deepest(ls_tumble_manifold *manifold, ls_vec3 point, ls_fixed depth)
{
    if (manifold->count < LS_TUMBLE_POINTS_MAX) {
        manifold->points[manifold->count] = point;
        manifold->depths[manifold->count++] = depth;
        return;
    }
    uint32_t least = 0;
    for (uint32_t i = 1; i < LS_TUMBLE_POINTS_MAX; i++) {
        least = manifold->depths[i] < manifold->depths[least] ? i : least;
    }
    if (depth > manifold->depths[least]) {
        manifold->points[least] = point;
        manifold->depths[least] = depth;
    }
}

ls_tumble_manifold ls_tumble_collide_plane(ls_tumble_solid a, ls_vec3 up, ls_fixed height,
                                           ls_fixed margin)
{
    const ls_tumble_body *body = a.body;
    ls_tumble_manifold manifold = {.normal = ls_vec3_negate(up)};
    ls_fixed above = ls_vec3_dot(body->position, up) - height;
    if (!ls_tumble_is_near_plane(body, up, height, margin)) {
        return apart;
    }
    if (body->shape == LS_TUMBLE_BALL) {
        ls_vec3 point = ls_vec3_along(body->position, up, -body->radius);
        return one_point(manifold.normal, point, body->radius - above);
    }
    ls_vec3 sides[3][2]; /* of either sign: a rounded product turned round is another one */
    for (uint32_t i = 0; i < 3; i++) {
        ls_fixed half = ls_vec3_part(body->half, i);
        sides[i][0] = ls_vec3_scale(a.axes->axis[i], -half);
        sides[i][1] = ls_vec3_scale(a.axes->axis[i], half);
    }
    for (uint32_t corner = 0; corner < 8; corner++) {
        ls_vec3 flat = ls_vec3_add(sides[0][corner & 1], sides[1][corner >> 1 & 1]);
        ls_vec3 arm = ls_vec3_add(flat, sides[2][corner >> 2]);
        ls_fixed depth = -(above + ls_vec3_dot(arm, up));
        if (depth >= -margin) {
            keep_deepest(&manifold, ls_vec3_add(body->position, arm), depth);
        }
    }
    return manifold;
}
