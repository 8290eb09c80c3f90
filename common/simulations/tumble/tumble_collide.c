#include "lockstep/common/simulations/tumble/tumble_collide.h"

/* ---- boxes ---- */

/* Two boxes are apart when one of fifteen directions separates them: the axes of either, or the
 * cross product of an edge of each. The direction in which they overlap least is the normal; then
 * either the face of one is clipped by the other's, or two edges cross in a point. */

/* Edges count only when they are better than any face by this: faces give more points, and what
 * rests must not change its mind from tick to tick. */
#define FACE_PREFERENCE LS_FIXED_RATIO(1, 100)

/* Sine of the angle below which two edges are parallel and cross nowhere. */
#define PARALLEL LS_FIXED_RATIO(5, 100)

/* How far rounding and axes that are not quite of length 1 may lead is_narrower astray, m; it is
 * less than a tenth of this for a quaternion's square that is off by UNIT_ERROR_MAX and for lengths
 * below USUAL_MAX. */
#define TRUST LS_FIXED_RATIO(1, 10000)
#define UNIT_ERROR_MAX 256u /* 2^-32 */
#define USUAL_MAX LS_FIXED_INT(4)

/* A square clipped by four planes has eight corners at most. */
#define CLIPPED_MAX 8u

typedef enum axis_kind {
    FACE_OF_A,
    FACE_OF_B,
    EDGES
} axis_kind;

typedef struct best_axis {
    axis_kind kind;
    uint32_t of_a; /* number of the axis; of EDGES both count */
    uint32_t of_b;
    ls_fixed gap; /* m; below 0 where they overlap */
    ls_vec3 normal;
} best_axis;

typedef struct box_pair {
    ls_tumble_solid a;
    ls_tumble_solid b;
    ls_vec3 offset;      /* from a's middle to b's */
    ls_fixed along_a[3]; /* the offset along the axes of each */
    ls_fixed along_b[3];
    ls_fixed cosines[3][3]; /* of the angles between a's axes and b's */
    ls_fixed dots[3][3];    /* the same, absolute */
} box_pair;

typedef struct polygon {
    uint32_t count;
    ls_vec3 corners[CLIPPED_MAX];
} polygon;

/* ---- the axis ---- */

static ls_fixed gap_of_face_a(const box_pair *pair, uint32_t axis)
{
    ls_vec3 half = pair->b.body->half;
    return ls_fixed_abs(pair->along_a[axis]) - ls_vec3_part(pair->a.body->half, axis) -
           ls_fixed_mul(half.x, pair->dots[axis][0]) - ls_fixed_mul(half.y, pair->dots[axis][1]) -
           ls_fixed_mul(half.z, pair->dots[axis][2]);
}

static ls_fixed gap_of_face_b(const box_pair *pair, uint32_t axis)
{
    ls_vec3 half = pair->a.body->half;
    return ls_fixed_abs(pair->along_b[axis]) - ls_vec3_part(pair->b.body->half, axis) -
           ls_fixed_mul(half.x, pair->dots[0][axis]) - ls_fixed_mul(half.y, pair->dots[1][axis]) -
           ls_fixed_mul(half.z, pair->dots[2][axis]);
}

static best_axis face_axis(const box_pair *pair, axis_kind kind, uint32_t axis, ls_fixed gap)
{
    bool is_a = kind == FACE_OF_A;
    ls_vec3 normal = (is_a ? pair->a : pair->b).axes->axis[axis];
    ls_fixed distance = (is_a ? pair->along_a : pair->along_b)[axis];
    return (best_axis){
        .kind = kind,
        .of_a = axis,
        .of_b = axis,
        .gap = gap,
        .normal = distance < 0 ? ls_vec3_negate(normal) : normal,
    };
}

/* How far a box reaches along `normal`, m. */
static ls_fixed reach_along(const ls_tumble_solid *solid, ls_vec3 normal)
{
    ls_fixed reach = 0;
    for (uint32_t i = 0; i < 3; i++) {
        ls_fixed dot = ls_fixed_abs(ls_vec3_dot(solid->axes->axis[i], normal));
        reach += ls_fixed_mul(ls_vec3_part(solid->body->half, i), dot);
    }
    return reach;
}

/* A gap of LS_FIXED_MIN for edges that are parallel. */
static best_axis edge_axis(const box_pair *pair, uint32_t of_a, uint32_t of_b)
{
    ls_vec3 cross = ls_vec3_cross(pair->a.axes->axis[of_a], pair->b.axes->axis[of_b]);
    if (ls_vec3_dot(cross, cross) < ls_fixed_mul(PARALLEL, PARALLEL)) {
        return (best_axis){.gap = LS_FIXED_MIN};
    }
    ls_vec3 normal = ls_vec3_normal(cross);
    ls_fixed distance = ls_vec3_dot(pair->offset, normal);
    return (best_axis){
        .kind = EDGES,
        .of_a = of_a,
        .of_b = of_b,
        .gap =
            ls_fixed_abs(distance) - reach_along(&pair->a, normal) - reach_along(&pair->b, normal),
        .normal = distance < 0 ? ls_vec3_negate(normal) : normal,
    };
}

/* The face axis with the widest gap; false when that is wider than `margin`. */
static bool find_face(const box_pair *pair, ls_fixed margin, best_axis *best)
{
    uint32_t widest = 0;
    ls_fixed gap = gap_of_face_a(pair, 0);
    for (uint32_t i = 1; i < 6 && gap <= margin; i++) {
        ls_fixed other = i < 3 ? gap_of_face_a(pair, i) : gap_of_face_b(pair, i - 3);
        widest = other > gap ? i : widest;
        gap = ls_fixed_max(gap, other);
    }
    *best = face_axis(pair, widest < 3 ? FACE_OF_A : FACE_OF_B, widest % 3, gap);
    return gap <= margin;
}

static bool is_usual_box(const ls_tumble_solid *solid)
{
    const ls_quaternion *q = &solid->body->orientation;
    ls_vec3 half = solid->body->half;
    bool is_small = ls_magnitude(q->w) < (uint64_t)USUAL_MAX && /* else the square may wrap */
                    ls_vec3_is_within((ls_vec3){q->x, q->y, q->z}, USUAL_MAX);
    ls_fixed square = ls_fixed_mul(q->w, q->w) + ls_fixed_mul(q->x, q->x) +
                      ls_fixed_mul(q->y, q->y) + ls_fixed_mul(q->z, q->z);
    return is_small && ls_magnitude(square - LS_FIXED_ONE) < UNIT_ERROR_MAX && half.x >= 0 &&
           half.y >= 0 && half.z >= 0 && ls_vec3_is_within(half, USUAL_MAX);
}

/* Whether a step can have made this pair: is_narrower reckons with unit axes and with the sizes of
 * a room, but the state may have been sent. */
static bool is_usual(const box_pair *pair)
{
    return ls_vec3_is_within(pair->offset, USUAL_MAX) && is_usual_box(&pair->a) &&
           is_usual_box(&pair->b);
}

/* Whether edge_axis would plainly find a gap of at most `limit`. How far the boxes reach along the
 * cross product of two edges follows from the cosines alone (Gottschalk), without its length. */
static bool is_narrower(const box_pair *pair, uint32_t of_a, uint32_t of_b, ls_fixed limit)
{
    uint32_t a1 = (of_a + 1) % 3;
    uint32_t a2 = (of_a + 2) % 3;
    uint32_t b1 = (of_b + 1) % 3;
    uint32_t b2 = (of_b + 2) % 3;
    ls_vec3 half_a = pair->a.body->half;
    ls_vec3 half_b = pair->b.body->half;
    ls_fixed distance = ls_fixed_mul(pair->along_a[a2], pair->cosines[a1][of_b]) -
                        ls_fixed_mul(pair->along_a[a1], pair->cosines[a2][of_b]);
    ls_fixed reach = ls_fixed_mul(ls_vec3_part(half_a, a1), pair->dots[a2][of_b]) +
                     ls_fixed_mul(ls_vec3_part(half_a, a2), pair->dots[a1][of_b]) +
                     ls_fixed_mul(ls_vec3_part(half_b, b1), pair->dots[of_a][b2]) +
                     ls_fixed_mul(ls_vec3_part(half_b, b2), pair->dots[of_a][b1]);
    /* Both are too short by the sine of the angle, which lies between its square and 1. */
    ls_fixed cosine = pair->dots[of_a][of_b];
    ls_fixed square = LS_FIXED_ONE - ls_fixed_mul(cosine, cosine);
    ls_fixed shortened = limit > 0 ? ls_fixed_mul(limit, square) : limit;
    return ls_fixed_abs(distance) - reach + TRUST < shortened;
}

/* False when some axis has a gap wider than `margin`. */
static bool find_axis(const box_pair *pair, ls_fixed margin, best_axis *best)
{
    if (!find_face(pair, margin, best)) {
        return false;
    }
    ls_fixed needed = best->gap + FACE_PREFERENCE;
    bool is_quick = is_usual(pair);
    for (uint32_t i = 0; i < 9; i++) {
        if (is_quick && is_narrower(pair, i / 3, i % 3, ls_fixed_min(needed, margin))) {
            continue;
        }
        best_axis edges = edge_axis(pair, i / 3, i % 3);
        if (edges.gap > margin) {
            return false;
        }
        if (edges.gap > needed) {
            needed = edges.gap;
            *best = edges;
        }
    }
    return true;
}

/* ---- edges ---- */

/* The middle of the edge along `axis` that lies furthest towards `way`. */
static ls_vec3 edge_middle(const ls_tumble_solid *solid, uint32_t axis, ls_vec3 way)
{
    ls_vec3 point = solid->body->position;
    for (uint32_t i = 0; i < 3; i++) {
        ls_fixed half = ls_vec3_part(solid->body->half, i);
        bool is_backward = ls_vec3_dot(solid->axes->axis[i], way) < 0;
        if (i != axis) {
            point = ls_vec3_along(point, solid->axes->axis[i], is_backward ? -half : half);
        }
    }
    return point;
}

/* Half way between the nearest points of the two lines (Ericson, "Real-Time Collision Detection",
 * 2004, 5.1.8). They are not parallel: find_axis has seen to that. */
static ls_tumble_manifold cross_edges(const box_pair *pair, const best_axis *axis)
{
    ls_vec3 along_a = pair->a.axes->axis[axis->of_a];
    ls_vec3 along_b = pair->b.axes->axis[axis->of_b];
    ls_vec3 from_a = edge_middle(&pair->a, axis->of_a, axis->normal);
    ls_vec3 from_b = edge_middle(&pair->b, axis->of_b, ls_vec3_negate(axis->normal));
    ls_vec3 between = ls_vec3_sub(from_a, from_b);
    ls_fixed both = ls_vec3_dot(along_a, along_b);
    ls_fixed on_a = ls_vec3_dot(along_a, between);
    ls_fixed on_b = ls_vec3_dot(along_b, between);
    ls_fixed slant = LS_FIXED_ONE - ls_fixed_mul(both, both);
    ls_fixed way_a = ls_fixed_div(ls_fixed_mul(both, on_b) - on_a, slant);
    ls_fixed way_b = ls_fixed_div(on_b - ls_fixed_mul(both, on_a), slant);
    ls_vec3 point_a = ls_vec3_along(from_a, along_a, way_a);
    ls_vec3 point_b = ls_vec3_along(from_b, along_b, way_b);
    ls_vec3 half_way = ls_vec3_scale(ls_vec3_sub(point_b, point_a), LS_FIXED_HALF);
    return (ls_tumble_manifold){
        .normal = axis->normal,
        .count = 1,
        .points = {ls_vec3_add(point_a, half_way)},
        .depths = {ls_fixed_negate(axis->gap)},
    };
}

/* ---- faces ---- */

/* The face of a box that looks most against `normal`. */
static polygon facing(const ls_tumble_solid *solid, ls_vec3 normal)
{
    uint32_t axis = 0;
    for (uint32_t i = 1; i < 3; i++) {
        ls_fixed dot = ls_fixed_abs(ls_vec3_dot(solid->axes->axis[i], normal));
        axis = dot > ls_fixed_abs(ls_vec3_dot(solid->axes->axis[axis], normal)) ? i : axis;
    }
    ls_vec3 half = solid->body->half;
    ls_vec3 out = solid->axes->axis[axis];
    bool is_along = ls_vec3_dot(out, normal) > 0;
    ls_fixed reach = ls_vec3_part(half, axis);
    ls_vec3 middle = ls_vec3_along(solid->body->position, out, is_along ? -reach : reach);
    uint32_t u = (axis + 1) % 3;
    uint32_t v = (axis + 2) % 3;
    ls_vec3 side_u = ls_vec3_scale(solid->axes->axis[u], ls_vec3_part(half, u));
    ls_vec3 side_v = ls_vec3_scale(solid->axes->axis[v], ls_vec3_part(half, v));
    ls_vec3 sum = ls_vec3_add(side_u, side_v);
    ls_vec3 difference = ls_vec3_sub(side_u, side_v);
    return (polygon){4,
                     {ls_vec3_add(middle, sum), ls_vec3_add(middle, difference),
                      ls_vec3_sub(middle, sum), ls_vec3_sub(middle, difference)}};
}

/* The part of the polygon where dot(p, way) <= limit. */
static polygon clip(const polygon *from, ls_vec3 way, ls_fixed limit)
{
    polygon out;
    out.count = 0;
    if (from->count == 0) {
        return out;
    }
    ls_fixed over_first = ls_vec3_dot(from->corners[0], way) - limit;
    ls_fixed over_q = over_first;
    for (uint32_t i = 0; i < from->count; i++) {
        bool is_last = i + 1 == from->count;
        ls_vec3 p = from->corners[i];
        ls_vec3 q = from->corners[is_last ? 0 : i + 1];
        ls_fixed over_p = over_q;
        over_q = is_last ? over_first : ls_vec3_dot(q, way) - limit;
        if (over_p <= 0 && out.count < CLIPPED_MAX) {
            out.corners[out.count++] = p;
        }
        bool is_crossing = (over_p < 0 && over_q > 0) || (over_p > 0 && over_q < 0);
        if (is_crossing && out.count < CLIPPED_MAX) {
            ls_fixed share = ls_fixed_div(over_p, over_p - over_q);
            out.corners[out.count++] = ls_vec3_along(p, ls_vec3_sub(q, p), share);
        }
    }
    return out;
}

typedef struct clipped_points {
    uint32_t count;
    ls_vec3 points[CLIPPED_MAX];
    ls_fixed depths[CLIPPED_MAX];
} clipped_points;

/* Chooses the four that hold a body best: the deepest, the one furthest from it, and those that lie
 * furthest to either side of the line between. */
static void choose_points(const clipped_points *all, ls_vec3 normal, ls_tumble_manifold *out)
{
    uint32_t first = 0;
    for (uint32_t i = 1; i < all->count; i++) {
        first = all->depths[i] > all->depths[first] ? i : first;
    }
    uint32_t second = first;
    ls_fixed furthest = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        ls_vec3 way = ls_vec3_sub(all->points[i], all->points[first]);
        ls_fixed square = ls_vec3_dot(way, way);
        second = square > furthest ? i : second;
        furthest = ls_fixed_max(furthest, square);
    }
    ls_vec3 line = ls_vec3_sub(all->points[second], all->points[first]);
    ls_vec3 side = ls_vec3_cross(normal, line);
    uint32_t chosen[LS_TUMBLE_POINTS_MAX] = {first, second, first, first};
    ls_fixed most[2] = {0, 0};
    for (uint32_t i = 0; i < all->count; i++) {
        ls_fixed off = ls_vec3_dot(ls_vec3_sub(all->points[i], all->points[first]), side);
        uint32_t which = off < 0;
        if (ls_fixed_abs(off) > most[which]) {
            most[which] = ls_fixed_abs(off);
            chosen[2 + which] = i;
        }
    }
    for (uint32_t i = 0; i < LS_TUMBLE_POINTS_MAX; i++) {
        if (i == 0 || chosen[i] != first) {
            out->points[out->count] = all->points[chosen[i]];
            out->depths[out->count++] = all->depths[chosen[i]];
        }
    }
}

/* `normal` looks out of the reference box. Points lie half way between the two surfaces. */
static void clip_faces(const ls_tumble_solid *reference, uint32_t axis,
                       const ls_tumble_solid *incident, ls_vec3 normal, ls_fixed margin,
                       ls_tumble_manifold *out)
{
    const ls_tumble_body *body = reference->body;
    polygon face = facing(incident, normal);
    for (uint32_t i = 1; i < 3; i++) {
        uint32_t side = (axis + i) % 3;
        ls_vec3 way = reference->axes->axis[side];
        ls_fixed middle = ls_vec3_dot(body->position, way);
        ls_fixed half = ls_vec3_part(body->half, side);
        face = clip(&face, way, middle + half);
        face = clip(&face, ls_vec3_negate(way), half - middle);
    }
    ls_fixed surface = ls_vec3_dot(body->position, normal) + ls_vec3_part(body->half, axis);
    clipped_points all;
    all.count = 0;
    for (uint32_t i = 0; i < face.count; i++) {
        ls_fixed depth = surface - ls_vec3_dot(face.corners[i], normal);
        if (depth >= -margin) {
            all.points[all.count] = ls_vec3_along(face.corners[i], normal, depth / 2);
            all.depths[all.count++] = depth;
        }
    }
    if (all.count > 0) {
        choose_points(&all, normal, out);
    }
}

static ls_tumble_manifold collide_boxes(ls_tumble_solid a, ls_tumble_solid b, ls_fixed margin)
{
    box_pair pair = {.a = a, .b = b, .offset = ls_vec3_sub(b.body->position, a.body->position)};
    for (uint32_t i = 0; i < 3; i++) {
        pair.along_a[i] = ls_vec3_dot(pair.offset, a.axes->axis[i]);
        pair.along_b[i] = ls_vec3_dot(pair.offset, b.axes->axis[i]);
        for (uint32_t k = 0; k < 3; k++) {
            pair.cosines[i][k] = ls_vec3_dot(a.axes->axis[i], b.axes->axis[k]);
            pair.dots[i][k] = ls_fixed_abs(pair.cosines[i][k]);
        }
    }
    best_axis axis;
    if (!find_axis(&pair, margin, &axis)) {
        return (ls_tumble_manifold){.count = 0};
    }
    if (axis.kind == EDGES) {
        return cross_edges(&pair, &axis);
    }
    ls_tumble_manifold manifold = {.normal = axis.normal};
    if (axis.kind == FACE_OF_A) {
        clip_faces(&a, axis.of_a, &b, axis.normal, margin, &manifold);
    } else {
        clip_faces(&b, axis.of_b, &a, ls_vec3_negate(axis.normal), margin, &manifold);
    }
    return manifold;
}

/* ---- all shapes ---- */

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
        return collide_boxes(a, b, margin);
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
