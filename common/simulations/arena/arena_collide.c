#include "lockstep/common/simulations/arena/arena_collide.h"

#include "lockstep/common/maths/fixed_trig.h"

/* Centres nearer than this have no direction between them worth the name. */
#define DISTANCE_MIN LS_FIXED_RATIO(1, 65536)

static const ls_arena_manifold no_contact = {.count = 0};

static ls_vec2 negate(ls_vec2 v)
{
    return (ls_vec2){ls_fixed_negate(v.x), ls_fixed_negate(v.y)};
}

static ls_vec2 quarter_turn(ls_vec2 v)
{
    return (ls_vec2){ls_fixed_negate(v.y), v.x};
}

/* From the world's axes to those of a frame whose x axis points along `axis`, and back. */
static ls_vec2 into_frame(ls_vec2 axis, ls_vec2 v)
{
    return (ls_vec2){ls_vec2_dot(axis, v), ls_vec2_cross(axis, v)};
}

static ls_vec2 out_of_frame(ls_vec2 axis, ls_vec2 v)
{
    return ls_vec2_add(ls_vec2_scale(axis, v.x), ls_vec2_scale(quarter_turn(axis), v.y));
}

/* The unit vector along `offset`, whose length is `distance`. */
static ls_vec2 direction_of(ls_vec2 offset, ls_fixed distance)
{
    if (distance < DISTANCE_MIN) {
        return (ls_vec2){LS_FIXED_ONE, 0};
    }
    return ls_vec2_scale(offset, ls_fixed_div(LS_FIXED_ONE, distance));
}

static ls_arena_manifold collide_discs(const ls_arena_body *a, const ls_arena_body *b)
{
    ls_vec2 offset = ls_vec2_sub(b->position, a->position);
    ls_fixed reach = ls_fixed_add(a->radius, b->radius);
    ls_fixed square = ls_vec2_dot(offset, offset);
    if (square >= ls_fixed_mul(reach, reach)) {
        return no_contact;
    }
    ls_fixed distance = ls_fixed_sqrt(square);
    ls_fixed depth = ls_fixed_sub(reach, distance);
    ls_vec2 normal = direction_of(offset, distance);
    ls_vec2 arm = ls_vec2_scale(normal, ls_fixed_sub(a->radius, depth / 2));
    return (ls_arena_manifold){
        .normal = normal,
        .count = 1,
        .points = {ls_vec2_add(a->position, arm)},
        .depths = {depth},
    };
}

/* The way out of the box for a centre inside it: through the nearest side. */
static ls_vec2 nearest_side(ls_vec2 local, ls_vec2 half, ls_fixed *distance)
{
    ls_fixed to_x = ls_fixed_sub(half.x, ls_fixed_abs(local.x));
    ls_fixed to_y = ls_fixed_sub(half.y, ls_fixed_abs(local.y));
    if (to_x <= to_y) {
        *distance = to_x;
        return (ls_vec2){local.x < 0 ? -LS_FIXED_ONE : LS_FIXED_ONE, 0};
    }
    *distance = to_y;
    return (ls_vec2){0, local.y < 0 ? -LS_FIXED_ONE : LS_FIXED_ONE};
}

static ls_vec2 clamp_to_box(ls_vec2 local, ls_vec2 half)
{
    return (ls_vec2){ls_fixed_max(ls_fixed_min(local.x, half.x), ls_fixed_negate(half.x)),
                     ls_fixed_max(ls_fixed_min(local.y, half.y), ls_fixed_negate(half.y))};
}

static ls_arena_manifold collide_box_disc(const ls_arena_body *box, const ls_arena_body *disc)
{
    ls_vec2 axis = ls_vec2_from_angle(box->angle);
    ls_vec2 local = into_frame(axis, ls_vec2_sub(disc->position, box->position));
    ls_vec2 nearest = clamp_to_box(local, box->half);
    ls_vec2 offset = ls_vec2_sub(local, nearest);
    ls_fixed square = ls_vec2_dot(offset, offset);
    if (square >= ls_fixed_mul(disc->radius, disc->radius)) {
        return no_contact;
    }
    ls_fixed distance = ls_fixed_sqrt(square);
    ls_vec2 normal = direction_of(offset, distance);
    ls_fixed depth = ls_fixed_sub(disc->radius, distance);
    if (distance < DISTANCE_MIN) {
        ls_fixed inside;
        normal = nearest_side(local, box->half, &inside);
        depth = ls_fixed_add(disc->radius, inside);
    }
    return (ls_arena_manifold){
        .normal = out_of_frame(axis, normal),
        .count = 1,
        .points = {ls_vec2_add(box->position, out_of_frame(axis, nearest))},
        .depths = {depth},
    };
}

/* Cuts the edge at y = limit * side, keeping what lies inside; false when nothing does. */
static bool clip_edge(ls_vec2 edge[2], ls_fixed limit, int side)
{
    ls_fixed over[2];
    for (int i = 0; i < 2; i++) {
        ls_fixed y = side < 0 ? ls_fixed_negate(edge[i].y) : edge[i].y;
        over[i] = ls_fixed_sub(y, limit);
    }
    if (over[0] > 0 && over[1] > 0) {
        return false;
    }
    if (over[0] <= 0 && over[1] <= 0) {
        return true;
    }
    int outer = over[0] > 0 ? 0 : 1;
    ls_fixed share = ls_fixed_div(over[outer], ls_fixed_sub(over[outer], over[1 - outer]));
    ls_vec2 along = ls_vec2_sub(edge[1 - outer], edge[outer]);
    edge[outer] = ls_vec2_add(edge[outer], ls_vec2_scale(along, share));
    return true;
}

/* The side of a box that looks most against the frame's x axis. `axis` is the box's own x axis,
 * all in the frame. */
static void incident_edge(ls_vec2 centre, ls_vec2 axis, ls_vec2 half, ls_vec2 edge[2])
{
    ls_vec2 outward = axis;
    ls_fixed height = half.x;
    ls_fixed width = half.y;
    if (ls_fixed_abs(axis.x) < ls_fixed_abs(axis.y)) {
        outward = quarter_turn(axis);
        height = half.y;
        width = half.x;
    }
    if (outward.x > 0) {
        outward = negate(outward);
    }
    ls_vec2 middle = ls_vec2_add(centre, ls_vec2_scale(outward, height));
    ls_vec2 along = ls_vec2_scale(quarter_turn(outward), width);
    edge[0] = ls_vec2_sub(middle, along);
    edge[1] = ls_vec2_add(middle, along);
}

typedef struct turned_box {
    const ls_arena_body *body;
    ls_vec2 axis; /* its own x axis in the world */
} turned_box;

/* Contact on the face of `reference` that looks towards `incident` along its x or y axis, in a
 * frame whose x axis is that face's normal. */
static ls_arena_manifold collide_face(turned_box reference, turned_box incident, bool is_along_y)
{
    ls_vec2 half = reference.body->half;
    ls_vec2 offset = ls_vec2_sub(incident.body->position, reference.body->position);
    ls_vec2 normal = is_along_y ? quarter_turn(reference.axis) : reference.axis;
    if (ls_vec2_dot(normal, offset) < 0) {
        normal = negate(normal);
    }
    ls_vec2 edge[2];
    incident_edge(into_frame(normal, offset), into_frame(normal, incident.axis),
                  incident.body->half, edge);
    ls_arena_manifold manifold = {.normal = normal};
    ls_fixed width = is_along_y ? half.x : half.y;
    if (!clip_edge(edge, width, 1) || !clip_edge(edge, width, -1)) {
        return no_contact;
    }
    for (int i = 0; i < 2; i++) {
        ls_fixed depth = ls_fixed_sub(is_along_y ? half.y : half.x, edge[i].x);
        if (depth > ls_fixed_negate(LS_ARENA_SLOP)) {
            ls_vec2 arm = out_of_frame(normal, edge[i]);
            manifold.points[manifold.count] = ls_vec2_add(reference.body->position, arm);
            manifold.depths[manifold.count++] = depth;
        }
    }
    return manifold;
}

/* How far two boxes are apart along x and y of `box`; negative is overlap. `cosine` and `sine` are
 * the amounts of those of the angle between the boxes. */
static ls_vec2 gaps_along(turned_box box, turned_box other, ls_fixed cosine, ls_fixed sine)
{
    ls_vec2 offset = ls_vec2_sub(other.body->position, box.body->position);
    ls_vec2 local = into_frame(box.axis, offset);
    ls_vec2 half = other.body->half;
    ls_vec2 extent = {
        ls_fixed_add(ls_fixed_mul(cosine, half.x), ls_fixed_mul(sine, half.y)),
        ls_fixed_add(ls_fixed_mul(sine, half.x), ls_fixed_mul(cosine, half.y)),
    };
    ls_vec2 distance = {ls_fixed_abs(local.x), ls_fixed_abs(local.y)};
    return ls_vec2_sub(distance, ls_vec2_add(box.body->half, extent));
}

static ls_arena_manifold collide_boxes(const ls_arena_body *a, const ls_arena_body *b)
{
    turned_box box_a = {a, ls_vec2_from_angle(a->angle)};
    turned_box box_b = {b, ls_vec2_from_angle(b->angle)};
    ls_vec2 turn = into_frame(box_a.axis, box_b.axis);
    ls_fixed cosine = ls_fixed_abs(turn.x);
    ls_fixed sine = ls_fixed_abs(turn.y);
    ls_vec2 gap_a = gaps_along(box_a, box_b, cosine, sine);
    ls_vec2 gap_b = gaps_along(box_b, box_a, cosine, sine);
    ls_fixed most_a = ls_fixed_max(gap_a.x, gap_a.y);
    ls_fixed most_b = ls_fixed_max(gap_b.x, gap_b.y);
    if (most_a >= 0 || most_b >= 0) {
        return no_contact;
    }
    if (most_a >= most_b) {
        return collide_face(box_a, box_b, gap_a.y > gap_a.x);
    }
    ls_arena_manifold manifold = collide_face(box_b, box_a, gap_b.y > gap_b.x);
    manifold.normal = negate(manifold.normal);
    return manifold;
}

ls_arena_manifold ls_arena_collide(const ls_arena_body *a, const ls_arena_body *b)
{
    if (a->shape == LS_ARENA_DISC && b->shape == LS_ARENA_DISC) {
        return collide_discs(a, b);
    }
    if (a->shape == LS_ARENA_BOX && b->shape == LS_ARENA_BOX) {
        return collide_boxes(a, b);
    }
    if (a->shape == LS_ARENA_BOX && b->shape == LS_ARENA_DISC) {
        return collide_box_disc(a, b);
    }
    if (a->shape == LS_ARENA_DISC && b->shape == LS_ARENA_BOX) {
        ls_arena_manifold manifold = collide_box_disc(b, a);
        manifold.normal = negate(manifold.normal);
        return manifold;
    }
    return no_contact;
}

static void add_wall_point(ls_arena_manifold *manifold, const ls_arena_body *body, ls_vec2 arm,
                           ls_fixed wall_distance, ls_fixed margin)
{
    ls_fixed depth = ls_fixed_sub(ls_vec2_dot(manifold->normal, arm), wall_distance);
    if (depth > ls_fixed_negate(margin) && manifold->count < 2) {
        manifold->points[manifold->count] = ls_vec2_add(body->position, arm);
        manifold->depths[manifold->count++] = depth;
    }
}

ls_arena_manifold ls_arena_collide_wall(const ls_arena_body *body, uint32_t wall,
                                        ls_fixed half_size, ls_fixed margin)
{
    ls_arena_manifold manifold = {.normal = ls_vec2_from_angle(wall * LS_ANGLE_QUARTER)};
    ls_fixed distance = ls_fixed_sub(half_size, ls_vec2_dot(manifold.normal, body->position));
    if (distance >= ls_fixed_add(body->radius, margin)) {
        return no_contact;
    }
    if (body->shape == LS_ARENA_DISC) {
        ls_vec2 arm = ls_vec2_scale(manifold.normal, body->radius);
        add_wall_point(&manifold, body, arm, distance, margin);
    } else if (body->shape == LS_ARENA_BOX) {
        ls_vec2 axis = ls_vec2_from_angle(body->angle);
        ls_vec2 x = ls_vec2_scale(axis, body->half.x);
        ls_vec2 y = ls_vec2_scale(quarter_turn(axis), body->half.y);
        add_wall_point(&manifold, body, ls_vec2_add(x, y), distance, margin);
        add_wall_point(&manifold, body, ls_vec2_sub(x, y), distance, margin);
        add_wall_point(&manifold, body, ls_vec2_sub(y, x), distance, margin);
        add_wall_point(&manifold, body, negate(ls_vec2_add(x, y)), distance, margin);
    }
    return manifold;
}

ls_vec2 ls_arena_extent(const ls_arena_body *body)
{
    if (body->shape != LS_ARENA_BOX) {
        return (ls_vec2){body->radius, body->radius};
    }
    ls_vec2 axis = ls_vec2_from_angle(body->angle);
    ls_fixed cosine = ls_fixed_abs(axis.x);
    ls_fixed sine = ls_fixed_abs(axis.y);
    return (ls_vec2){
        ls_fixed_add(ls_fixed_mul(cosine, body->half.x), ls_fixed_mul(sine, body->half.y)),
        ls_fixed_add(ls_fixed_mul(sine, body->half.x), ls_fixed_mul(cosine, body->half.y)),
    };
}
