
#include "lockstep/common/maths/fixed_trig.h"
#include "lockstep/common/maths/stable_sort.h"
#include "lockstep/common/simulations/player_view.h"
#include "lockstep/common/simulations/tumble/tumble_state.h"

#include <string.h>

/* ---- players ---- */

/* The players' part: joins and leaves, weight and the pads' effect on their balls, bots and hands.
 * All in slot order. Pads come from other machines: any bytes mean something harmless. */

#define PLAYER_DENSITY LS_FIXED_INT(30)    /* kg/m3 */
#define ACCELERATION LS_FIXED_INT(14)      /* m/s2, with the stick at its end */
#define GROUND_DRAG LS_FIXED_RATIO(16, 10) /* 1/s: holds balls below 14 / 1.6 = 9 m/s */
#define JUMP_SPEED LS_FIXED_INT(6)         /* m/s */
#define SPAWN_HEIGHT LS_FIXED_INT(4)
#define SPAWN_WALL_DISTANCE LS_FIXED_INT(1)

#define BOT_TARGET_SECONDS 3u
#define BOT_WOBBLE 40
#define BOT_JUMPS 150u /* one tick in this many */

#define STICK_MAX 127

/* ---- events ---- */

/* Bodies that lay on the ball fall once it is gone: every body looks whether it still rests. */
static void leave(ls_tumble_world *world, uint32_t slot)
{
    memset(&world->players[slot], 0, sizeof world->players[slot]);
    memset(&world->bodies[slot], 0, sizeof world->bodies[slot]);
    for (uint32_t i = 0; i < world->layout.body_count; i++) {
        world->bodies[i].still_ticks = 0;
    }
}

static void join(ls_tumble_world *world, uint32_t slot)
{
    ls_fixed room = world->half_size - SPAWN_WALL_DISTANCE;
    ls_vec3 half = {LS_TUMBLE_PLAYER_RADIUS, LS_TUMBLE_PLAYER_RADIUS, LS_TUMBLE_PLAYER_RADIUS};
    ls_tumble_body ball = ls_tumble_body_make(LS_TUMBLE_BALL, half, PLAYER_DENSITY);
    ls_fixed x = ls_rng_unit(&world->match->spawn_rng);
    ls_fixed y = ls_rng_unit(&world->match->spawn_rng);
    ball.position.x = ls_fixed_mul(2 * x - LS_FIXED_ONE, room);
    ball.position.y = ls_fixed_mul(2 * y - LS_FIXED_ONE, room);
    ball.position.z = SPAWN_HEIGHT + slot * 2 * LS_TUMBLE_PLAYER_RADIUS;
    ball.serial = ++world->match->serial;
    world->bodies[slot] = ball;
    world->players[slot].is_present = 1;
}

/* A seat that changes hands within one tick has both events: the leave comes first. */
/* The passes, in order. */
static void pass_events(const ls_step *step)
{
    ls_tumble_world world = ls_tumble_world_of(step);
    for (uint32_t slot = 0; slot < world.layout.player_count; slot++) {
        uint32_t events = world.inputs->slots[slot].events;
        if (events & LS_EVENT_LEFT) {
            leave(&world, slot);
        }
        if ((events & LS_EVENT_JOINED) && !world.players[slot].is_present) {
            join(&world, slot);
        }
    }
}

/* ---- push ---- */

static int8_t stick(const ls_slot_input *input, uint32_t place)
{
    int32_t value = input->size > place ? input->bytes[place] : 0;
    value = value < 128 ? value : value - 256;
    return (int8_t)LS_MAX(value, -STICK_MAX);
}

/* A jump pushes off whatever bears the ball; both buttons at once are one jump. */
static void push_ball(const ls_tumble_rules *rules, ls_tumble_player *player, ls_tumble_body *ball)
{
    ls_fixed gain = ls_fixed_mul(ACCELERATION, rules->dt);
    ls_fixed keep = LS_FIXED_ONE - ls_fixed_min(ls_fixed_mul(GROUND_DRAG, rules->dt), LS_FIXED_ONE);
    ball->velocity.x = ls_fixed_mul(ball->velocity.x, keep) +
                       ls_fixed_mul(gain, LS_FIXED_RATIO(player->push_x, STICK_MAX));
    ball->velocity.y = ls_fixed_mul(ball->velocity.y, keep) +
                       ls_fixed_mul(gain, LS_FIXED_RATIO(player->push_y, STICK_MAX));
    bool jumps = (player->buttons & LS_TUMBLE_JUMP) && player->is_on_ground;
    if (jumps) {
        ball->velocity.z = ls_fixed_max(ball->velocity.z, JUMP_SPEED);
    }
    if (jumps || player->push_x != 0 || player->push_y != 0) {
        ball->still_ticks = 0;
    }
}

static void pass_push(const ls_step *step)
{
    ls_tumble_world world = ls_tumble_world_of(step);
    for (uint32_t slot = 0; slot < world.layout.player_count; slot++) {
        const ls_slot_input *input = &world.inputs->slots[slot];
        ls_tumble_player *player = &world.players[slot];
        if (player->is_present) {
            player->buttons = input->size > 0 ? input->bytes[0] : 0;
            player->push_x = stick(input, 1);
            player->push_y = stick(input, 2);
            push_ball(&world.rules, player, &world.bodies[slot]);
        }
    }
    ls_fixed fall = ls_fixed_mul(world.rules.gravity, world.rules.dt);
    for (uint32_t i = 0; i < world.layout.body_count; i++) {
        ls_tumble_body *body = &world.bodies[i];
        if (body->shape != LS_TUMBLE_NONE && !ls_tumble_is_asleep(&world, body)) {
            body->velocity.z -= fall;
        }
    }
}

/* ---- who plays ---- */

static uint32_t write_pad(bool jumps, ls_fixed x, ls_fixed y, uint8_t *bytes)
{
    ls_fixed most = LS_FIXED_INT(STICK_MAX);
    bytes[0] = jumps ? LS_TUMBLE_JUMP : 0;
    bytes[1] = (uint8_t)ls_fixed_floor(ls_fixed_clamp(x * STICK_MAX, -most, most));
    bytes[2] = (uint8_t)ls_fixed_floor(ls_fixed_clamp(y * STICK_MAX, -most, most));
    return LS_TUMBLE_PAD_BYTES;
}

/* Goes for one body after another, a few seconds each, and jumps now and then. */
static uint32_t tumble_bot(const ls_sim_config *config, const void *state, uint32_t slot,
                           ls_rng *rng, uint8_t *bytes)
{
    ls_tumble_view view = ls_tumble_view_of(config, state);
    uint32_t turn = view.match->ticks / (config->tick_rate_hz * BOT_TARGET_SECONDS);
    ls_rng choice = ls_rng_make(config->seed + slot, turn);
    const ls_tumble_body *target = &view.bodies[ls_rng_below(&choice, view.layout.body_count)];
    const ls_tumble_body *ball = &view.bodies[slot];
    bool jumps = ls_rng_below(rng, BOT_JUMPS) == 0;
    int32_t wobble = ls_rng_between(rng, -BOT_WOBBLE, BOT_WOBBLE);
    if (target == ball || target->shape == LS_TUMBLE_NONE) {
        return write_pad(jumps, 0, LS_FIXED_RATIO(wobble, STICK_MAX), bytes);
    }
    ls_vec3 way = ls_vec3_sub(target->position, ball->position);
    ls_angle course = ls_fixed_atan2(way.y, way.x);
    ls_vec2 push = ls_vec2_from_angle(course + (ls_angle)wobble * (LS_ANGLE_QUARTER / STICK_MAX));
    return write_pad(jumps, push.x, push.y, bytes);
}

/* Arrow keys and stick push in the picture's directions, FIRST jumps; while its button is held the
 * ball goes after the pointer. */
static uint32_t tumble_control(const ls_sim_config *config, const void *state, uint32_t slot,
                               const ls_controls *controls, uint8_t *bytes)
{
    ls_vec2 push = ls_controls_direction(controls);
    bool jumps = ((controls->held | controls->pressed) & LS_CONTROL_FIRST) != 0;
    if (controls->is_pointer_held) {
        ls_tumble_view view = ls_tumble_view_of(config, state);
        ls_vec2 ball = ls_tumble_project(config, view.bodies[slot].position);
        push = ls_vec2_sub(controls->pointer, ball);
        push.x = ls_fixed_clamp(push.x, -LS_FIXED_ONE, LS_FIXED_ONE);
        push.y = ls_fixed_clamp(push.y, -LS_FIXED_ONE, LS_FIXED_ONE);
    }
    return write_pad(jumps, push.x, push.y, bytes);
}

/* ---- status ---- */

static void tumble_status(const ls_sim_config *config, const void *state, uint32_t slot,
                          ls_status_list *list)
{
    (void)state;
    ls_status_push_players(list, config->players, slot,
                           "arrows or WASD roll the ball, or hold the left button   space jumps");
}

/* ---- drawing ---- */

/* The picture of a tumble match: the faces of bodies, seen by a camera that stands still, as shaded
 * triangles from far to near. Bodies are convex: within one, the faces that look at the camera
 * never hide each other, so only bodies need an order. */

#define DRAWN_MAX (LS_TUMBLE_BODIES_MAX + LS_TUMBLE_PLAYERS_MAX)

/* The camera, in half sizes of the room. It looks along +y and down, and is as far away as
 * magnifies the middle of the room by one. */
#define EYE_Y LS_FIXED_RATIO(-22, 10)
#define EYE_Z LS_FIXED_RATIO(17, 10)
#define LOOK_Z LS_FIXED_RATIO(1, 10)
#define DEPTH_MIN LS_FIXED_HALF /* m: nearer than this is drawn as if it were there */

/* Where the light comes from, unit length; what looks away from it keeps the ambient share. */
static const ls_vec3 light = {-LS_FIXED_RATIO(36, 100), -LS_FIXED_RATIO(48, 100),
                              LS_FIXED_RATIO(80, 100)};
#define AMBIENT LS_FIXED_RATIO(45, 100)

#define FLOOR_TILES 6u /* on a side */
#define FLOOR_COLOUR 0x39424eFFu
#define FLOOR_SHADE 0x414b58FFu
#define WALL_COLOUR 0x55606e60u
#define WALL_HEIGHT LS_FIXED_RATIO(15, 10)
#define SHADOW_COLOUR 0x00000060u
#define SHADOW_HEIGHT LS_FIXED_RATIO(1, 1000)

/* Ids: the room's triangles, then 64 for each body's faces, then 64 for its shadow. */
#define ROOM_IDS 128u
#define BODY_IDS 64u

#define FACES_MAX 20u

/* ---- camera ---- */

typedef struct camera {
    ls_vec3 eye;
    ls_vec3 forward; /* unit length, without x: right is +x */
    ls_vec3 up;
    ls_fixed focal; /* m */
} camera;

static camera make_camera(const ls_sim_config *config)
{
    ls_fixed half = ls_tumble_half_size(config);
    ls_vec3 eye = {0, ls_fixed_mul(EYE_Y, half), ls_fixed_mul(EYE_Z, half)};
    ls_vec3 way = ls_vec3_sub((ls_vec3){0, 0, ls_fixed_mul(LOOK_Z, half)}, eye);
    camera view = {.eye = eye, .forward = ls_vec3_normal(way), .focal = ls_vec3_length(way)};
    view.up = (ls_vec3){0, ls_fixed_negate(view.forward.z), view.forward.y};
    return view;
}

static ls_fixed depth_of(const camera *view, ls_vec3 point)
{
    return ls_vec3_dot(view->forward, ls_vec3_sub(point, view->eye));
}

static ls_vec2 project(const camera *view, ls_vec3 point)
{
    ls_vec3 way = ls_vec3_sub(point, view->eye);
    ls_fixed depth = ls_fixed_max(ls_vec3_dot(view->forward, way), DEPTH_MIN);
    return (ls_vec2){ls_mul_div(way.x, view->focal, depth),
                     ls_mul_div(ls_vec3_dot(view->up, way), view->focal, depth)};
}

ls_vec2 ls_tumble_project(const ls_sim_config *config, ls_vec3 point)
{
    camera view = make_camera(config);
    return project(&view, point);
}

/* ---- faces ---- */

typedef struct face {
    uint32_t count; /* 3 or 4 */
    ls_vec3 corners[4];
} face;

/* Of an icosahedron: corners on three golden rectangles, unit length, and its triangles, all
 * counter-clockwise from outside. */
#define ICO_A LS_FIXED_RATIO(525731, 1000000)
#define ICO_B LS_FIXED_RATIO(850651, 1000000)

static const ls_vec3 ico_corners[12] = {
    {-ICO_A, ICO_B, 0}, {ICO_A, ICO_B, 0}, {-ICO_A, -ICO_B, 0}, {ICO_A, -ICO_B, 0},
    {0, -ICO_A, ICO_B}, {0, ICO_A, ICO_B}, {0, -ICO_A, -ICO_B}, {0, ICO_A, -ICO_B},
    {ICO_B, 0, -ICO_A}, {ICO_B, 0, ICO_A}, {-ICO_B, 0, -ICO_A}, {-ICO_B, 0, ICO_A},
};

static const uint8_t ico_faces[FACES_MAX][3] = {
    {0, 11, 5},  {0, 5, 1},  {0, 1, 7},  {0, 7, 10}, {0, 10, 11}, {1, 5, 9}, {5, 11, 4},
    {11, 10, 2}, {10, 7, 6}, {7, 1, 8},  {3, 9, 4},  {3, 4, 2},   {3, 2, 6}, {3, 6, 8},
    {3, 8, 9},   {4, 9, 5},  {2, 4, 11}, {6, 2, 10}, {8, 6, 7},   {9, 8, 1},
};

static uint32_t face_count(const ls_tumble_body *body)
{
    return body->shape == LS_TUMBLE_BOX ? 6 : FACES_MAX;
}

/* The ball's corners stand out a little, so that the solid is as large as the ball on the whole. */
static face ball_face(ls_fixed radius, uint32_t index)
{
    ls_fixed size = ls_fixed_mul(radius, LS_FIXED_RATIO(107, 100));
    face out = {.count = 3};
    for (uint32_t i = 0; i < 3; i++) {
        out.corners[i] = ls_vec3_scale(ico_corners[ico_faces[index][i]], size);
    }
    return out;
}

/* Faces 0 to 5: -x, +x, -y, +y, -z, +z; counter-clockwise from outside. */
static face box_face(ls_vec3 half, uint32_t index)
{
    static const int8_t sides_u[4] = {-1, 1, 1, -1};
    static const int8_t sides_v[4] = {-1, -1, 1, 1};
    int32_t out_way = index % 2 ? 1 : -1;
    face out = {.count = 4};
    for (uint32_t i = 0; i < 4; i++) {
        ls_fixed parts[3] = {0};
        uint32_t axis = index / 2;
        parts[axis] = out_way * ls_vec3_part(half, axis);
        parts[(axis + 1) % 3] = out_way * sides_u[i] * ls_vec3_part(half, (axis + 1) % 3);
        parts[(axis + 2) % 3] = sides_v[i] * ls_vec3_part(half, (axis + 2) % 3);
        out.corners[i] = (ls_vec3){parts[0], parts[1], parts[2]};
    }
    return out;
}

/* In the world. */
static face face_of(const ls_tumble_body *body, const ls_axes *axes, uint32_t index)
{
    bool is_box = body->shape == LS_TUMBLE_BOX;
    face out = is_box ? box_face(body->half, index) : ball_face(body->radius, index);
    for (uint32_t i = 0; i < out.count; i++) {
        out.corners[i] = ls_vec3_add(body->position, ls_axes_to_world(axes, out.corners[i]));
    }
    return out;
}

static ls_vec3 normal_of(const face *shown)
{
    ls_vec3 u = ls_vec3_sub(shown->corners[1], shown->corners[0]);
    ls_vec3 v = ls_vec3_sub(shown->corners[2], shown->corners[0]);
    return ls_vec3_normal(ls_vec3_cross(u, v));
}

/* One or two triangles; the camera follows `middle`. */
static void push_face(const camera *view, const face *shown, ls_vec3 middle, ls_draw_shape look,
                      ls_draw_list *list)
{
    ls_vec2 at = project(view, middle);
    look.kind = LS_DRAW_TRIANGLE;
    look.x = at.x;
    look.y = at.y;
    look.corners[0] = project(view, shown->corners[0]);
    for (uint32_t i = 2; i < shown->count; i++) {
        look.corners[1] = project(view, shown->corners[i - 1]);
        look.corners[2] = project(view, shown->corners[i]);
        ls_draw_push(list, look);
        look.id++;
    }
}

/* ---- colours ---- */

static const uint32_t box_colours[] = {0xc8a06aFFu, 0xa9b4c2FFu, 0x8fb996FFu, 0xc98f8aFFu};
#define BALL_COLOUR 0xd8d3c4FFu

static uint32_t colour_of(const ls_tumble_view *view, uint32_t index)
{
    if (index < view->layout.player_count) {
        return ls_player_colour(index);
    }
    bool is_ball = view->bodies[index].shape == LS_TUMBLE_BALL;
    return is_ball ? BALL_COLOUR : box_colours[index * UINT32_C(2654435761) >> 30];
}

/* Every channel but alpha times `share` (0 .. 1). */
static uint32_t dimmed(uint32_t colour, ls_fixed share)
{
    uint32_t out = colour & 0xFFu;
    for (uint32_t place = 8; place < 32; place += 8) {
        int64_t channel = colour >> place & 0xFFu;
        out |= (uint32_t)ls_fixed_floor(channel * share) << place;
    }
    return out;
}

static ls_fixed brightness(ls_vec3 normal)
{
    ls_fixed lit = ls_fixed_max(ls_vec3_dot(normal, light), 0);
    ls_fixed share = AMBIENT + ls_fixed_mul(LS_FIXED_ONE - AMBIENT, lit);
    return ls_fixed_min(share, LS_FIXED_ONE);
}

/* ---- room ---- */

static void draw_floor(const camera *view, ls_fixed half, ls_draw_list *list)
{
    ls_fixed tile = 2 * half / FLOOR_TILES;
    for (uint32_t i = 0; i < FLOOR_TILES * FLOOR_TILES; i++) {
        ls_vec3 corner = {i % FLOOR_TILES * tile - half, i / FLOOR_TILES * tile - half, 0};
        face shown = {4,
                      {corner,
                       {corner.x + tile, corner.y, 0},
                       {corner.x + tile, corner.y + tile, 0},
                       {corner.x, corner.y + tile, 0}}};
        bool is_dark = (i % FLOOR_TILES + i / FLOOR_TILES) % 2 == 0;
        ls_draw_shape look = {.id = 2 * i, .colour = is_dark ? FLOOR_SHADE : FLOOR_COLOUR};
        push_face(view, &shown, corner, look, list);
    }
}

static void draw_wall(const camera *view, ls_vec2 from, ls_vec2 to, uint32_t id, ls_draw_list *list)
{
    face shown = {4,
                  {{from.x, from.y, 0},
                   {to.x, to.y, 0},
                   {to.x, to.y, WALL_HEIGHT},
                   {from.x, from.y, WALL_HEIGHT}}};
    ls_draw_shape look = {.id = id, .colour = WALL_COLOUR};
    push_face(view, &shown, shown.corners[0], look, list);
}

/* The wall in front would stand in the way. */
static void draw_room(const camera *view, ls_fixed half, ls_draw_list *list)
{
    uint32_t walls = 2 * FLOOR_TILES * FLOOR_TILES;
    draw_floor(view, half, list);
    draw_wall(view, (ls_vec2){-half, half}, (ls_vec2){half, half}, walls, list);
    draw_wall(view, (ls_vec2){-half, -half}, (ls_vec2){-half, half}, walls + 2, list);
    draw_wall(view, (ls_vec2){half, -half}, (ls_vec2){half, half}, walls + 4, list);
}

/* ---- bodies ---- */

/* Blended unless the body came into play in between. */
static ls_tumble_body blend(const ls_tumble_body *from, const ls_tumble_body *to, ls_fixed alpha)
{
    ls_tumble_body body = *to;
    if (from->shape == to->shape && from->serial == to->serial) {
        body.position.x = ls_lerp(from->position.x, to->position.x, alpha);
        body.position.y = ls_lerp(from->position.y, to->position.y, alpha);
        body.position.z = ls_lerp(from->position.z, to->position.z, alpha);
        body.orientation = ls_slerp(from->orientation, to->orientation, alpha);
    }
    return body;
}

/* Straight down onto the floor: the faces that look up cover the outline once, so that the shadow
 * is of one darkness. */
static void draw_shadow(const camera *view, const ls_tumble_body *body, uint32_t id,
                        ls_draw_list *list)
{
    ls_axes axes = ls_axes_of(body->orientation);
    for (uint32_t i = 0; i < face_count(body); i++) {
        face shown = face_of(body, &axes, i);
        if (normal_of(&shown).z <= 0) {
            continue;
        }
        for (uint32_t k = 0; k < shown.count; k++) {
            shown.corners[k].z = SHADOW_HEIGHT;
        }
        ls_draw_shape look = {.id = id + 2 * i, .colour = SHADOW_COLOUR};
        push_face(view, &shown, body->position, look, list);
    }
}

static void draw_body(const camera *view, const ls_tumble_body *body, ls_draw_shape look,
                      ls_draw_list *list)
{
    ls_axes axes = ls_axes_of(body->orientation);
    uint32_t colour = look.colour;
    uint32_t id = look.id;
    for (uint32_t i = 0; i < face_count(body); i++) {
        face shown = face_of(body, &axes, i);
        ls_vec3 normal = normal_of(&shown);
        if (ls_vec3_dot(normal, ls_vec3_sub(view->eye, shown.corners[0])) <= 0) {
            continue;
        }
        bool is_patch = body->shape == LS_TUMBLE_BALL && i % 3 == 0; /* shows how a ball rolls */
        ls_fixed share = brightness(normal);
        look.colour = dimmed(colour, is_patch ? share / 4 * 3 : share);
        look.id = id + 2 * i;
        push_face(view, &shown, body->position, look, list);
    }
}

typedef struct lookout {
    const camera *view;
    const ls_tumble_body *bodies;
} lookout;

static int compare_depths(const void *a, const void *b, const void *context)
{
    const lookout *from = context;
    ls_fixed depth_a = depth_of(from->view, from->bodies[*(const uint16_t *)a].position);
    ls_fixed depth_b = depth_of(from->view, from->bodies[*(const uint16_t *)b].position);
    return (depth_a < depth_b) - (depth_a > depth_b);
}

/* From far to near. Returns how many there are. Keeps numbers alone: stacks may be small. */
static uint32_t order_bodies(const camera *view, const ls_tumble_view *current,
                             uint16_t order[DRAWN_MAX])
{
    uint16_t scratch[DRAWN_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < current->layout.body_count; i++) {
        if (current->bodies[i].shape != LS_TUMBLE_NONE) {
            order[count++] = (uint16_t)i;
        }
    }
    lookout from = {view, current->bodies};
    ls_stable_sort(order, count, sizeof order[0], scratch, compare_depths, &from);
    return count;
}

static void tumble_draw(const ls_sim_config *config, const void *previous, const void *current,
                        ls_fixed alpha, ls_draw_list *list)
{
    ls_tumble_view from = ls_tumble_view_of(config, previous);
    ls_tumble_view to = ls_tumble_view_of(config, current);
    ls_fixed half = ls_tumble_half_size(config);
    camera view = make_camera(config);
    list->view_min = project(&view, (ls_vec3){-half, -half, 0});
    list->view_max = project(&view, (ls_vec3){half, half, 3 * WALL_HEIGHT});
    list->view_max.x = ls_fixed_negate(list->view_min.x);
    draw_room(&view, half, list);

    uint16_t order[DRAWN_MAX];
    uint32_t count = order_bodies(&view, &to, order);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = order[i];
        uint32_t id = ROOM_IDS + (to.layout.body_count + index) * BODY_IDS;
        ls_tumble_body body = blend(&from.bodies[index], &to.bodies[index], alpha);
        draw_shadow(&view, &body, id, list);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = order[i];
        ls_tumble_body body = blend(&from.bodies[index], &to.bodies[index], alpha);
        ls_draw_shape look = {
            .id = ROOM_IDS + index * BODY_IDS,
            .colour = colour_of(&to, index),
            .owner = index < to.layout.player_count ? index + 1 : 0,
        };
        draw_body(&view, &body, look, list);
    }
}

/* ---- the simulation ---- */

static const ls_param params[LS_TUMBLE_PARAM_COUNT] = {
    [LS_TUMBLE_PARAM_BODIES] = LS_PARAM_INTEGER_OF(
        "bodies", "", "boxes and balls that fall into the room", 32, 0, LS_TUMBLE_BODIES_MAX),
    [LS_TUMBLE_PARAM_BOXES] =
        LS_PARAM_INTEGER_OF("boxes", "/1000", "share of boxes among them", 750, 0, 1000),
    [LS_TUMBLE_PARAM_FRICTION] =
        LS_PARAM_INTEGER_OF("friction", "/1000", "between all surfaces", 600, 0, 2000),
    [LS_TUMBLE_PARAM_RESTITUTION] =
        LS_PARAM_INTEGER_OF("restitution", "/1000", "speed kept in a collision", 250, 0, 1000),
    [LS_TUMBLE_PARAM_GRAVITY] =
        LS_PARAM_INTEGER_OF("gravity", "mm/s2", "downwards", 9810, 0, 30000),
    [LS_TUMBLE_PARAM_ITERATIONS] =
        LS_PARAM_INTEGER_OF("iterations", "", "of the contact solver", 12, 1, 64),
};

static const ls_pass passes[] = {
    {"events", pass_events},         {"push", pass_push},
    {"wake", ls_tumble_pass_wake},   {"contacts", ls_tumble_pass_contacts},
    {"solve", ls_tumble_pass_solve}, {"integrate", ls_tumble_pass_integrate},
};

static size_t state_bytes(const ls_sim_config *config)
{
    return ls_tumble_layout_of(config).bytes;
}

const ls_simulation *ls_tumble_simulation(void)
{
    static const ls_simulation simulation = {
        .abi = LS_SIMULATION_ABI,
        .size = sizeof(ls_simulation),
        .version = 1,
        .name = "tumble",
        .summary = "rigid boxes and balls in space that pile up, and players who push them",
        .default_tick_rate_hz = 60,
        .default_players = 2,
        .players_max = LS_TUMBLE_PLAYERS_MAX,
        .input_bytes_max = LS_TUMBLE_PAD_BYTES,
        .params = params,
        .param_count = LS_TUMBLE_PARAM_COUNT,
        .passes = passes,
        .pass_count = sizeof passes / sizeof passes[0],
        .state_bytes = state_bytes,
        .scratch_bytes = ls_tumble_scratch_bytes,
        .fields = ls_tumble_fields,
        .init = ls_tumble_init,
        .draw = tumble_draw,
        .bot = tumble_bot,
        .control = tumble_control,
        .input_bits = ls_buttons_in_first_byte,
        .status = tumble_status,
    };
    return &simulation;
}
