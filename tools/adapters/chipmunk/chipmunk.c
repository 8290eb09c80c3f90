#include "lockstep/common/base/assert.h"
#include "lockstep/common/maths/fixed_trig.h"
#include "lockstep/common/maths/interpolate.h"
#include "lockstep/common/simulation/strict_double.h"
#include "lockstep/common/simulations/player_view.h"
#include "lockstep/tools/adapters/chipmunk/chipmunk_world.h"
#include "lockstep/tools/adapters/engine_scene.h"

#include <chipmunk/chipmunk.h>
#include <chipmunk/chipmunk_private.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* ---- messages ---- */

/* Stands in for functions of the C library that the engine's own copy calls under these names
 * (CMakeLists.txt renames them). It is not to print into the host's output; and qsort, which
 * leaves ties in any order, is never called: it is in an optimisation of the engine's tree that
 * nothing asks for. */

extern void *chipmunk_no_stream;
int chipmunk_no_puts(const char *text);
int chipmunk_no_printf(const char *format, ...);
int chipmunk_no_printf_chk(int flag, const char *format, ...); /* with -D_FORTIFY_SOURCE */
void chipmunk_no_qsort(void *elements, size_t count, size_t bytes,
                       int (*compare)(const void *a, const void *b));

void *chipmunk_no_stream;

int chipmunk_no_puts(const char *text)
{
    (void)text;
    return 0;
}

int chipmunk_no_printf(const char *format, ...)
{
    (void)format;
    return 0;
}

int chipmunk_no_printf_chk(int flag, const char *format, ...)
{
    (void)flag;
    (void)format;
    return 0;
}

void chipmunk_no_qsort(void *elements, size_t count, size_t bytes,
                       int (*compare)(const void *a, const void *b))
{
    (void)elements;
    (void)count;
    (void)bytes;
    (void)compare;
    LS_ASSERT(false);
}

/* A warning is not worth a line; an error is a mistake in this folder. */
void cpMessage(const char *condition, const char *file, int line, int is_error, int is_hard,
               const char *message, ...)
{
    (void)is_hard;
    (void)message;
    if (is_error) {
        ls_assert_fail(condition, file, line, "the engine");
    }
}

/* ---- the space ---- */

/* One step of the engine, from a flat state to a flat state. Keeps nothing from one step to the
 * next. */

/* A cpSpace lives for one step.
 *
 * A space of Chipmunk goes on in a way that depends on more than its bodies: on the impulses of its
 * cached arbiters and joints, and on the order in which they are solved, which comes from its
 * bounding-box tree and so from everything that ever moved. A joiner cannot have that history. So
 * every machine builds the space anew in every step: bodies, shapes and joints in the order of
 * their ids, then the cached impulses, with which the solver begins as it would in a space that
 * lived on.
 *
 * Bodies, shapes, joints and arbiters lie in the step's scratch memory; the space and its indexes
 * are made and freed within the step. */

enum {
    GROUND_SHAPES = 10,
    /* The ids of shapes: those of the bodies, one each in the same order, then the ground. */
    GROUND = CHIPMUNK_BODIES_MAX,
    SHAPES_MAX = GROUND + GROUND_SHAPES,
};

#define CATEGORY_GROUND 1u
#define CATEGORY_BRIDGE 2u
#define CATEGORY_REST 4u
#define GROUP_CARS 1u /* they drive through each other: the bridge is narrow */
#define GROUP_BRIDGE 2u

/* Beyond these a number is no part of this game: it came with a state that somebody made up. */
#define PLACE_MAX 1000.0
#define SPEED_MAX 1000.0
#define ANGLE_MAX 1000000.0
#define IMPULSE_MAX 100000.0

typedef union shape_room {
    cpCircleShape circle;
    cpSegmentShape segment;
    cpPolyShape polygon;
} shape_room;

typedef union joint_room {
    cpGrooveJoint groove;
    cpPivotJoint pivot;
    cpSimpleMotor motor;
    cpRotaryLimitJoint limit;
} joint_room;

typedef struct workshop {
    cpSpace *space;
    cpBody bodies[CHIPMUNK_BODIES_MAX];
    shape_room shapes[SHAPES_MAX];
    joint_room joints[CHIPMUNK_JOINTS_MAX];
    cpDampedSpring springs[CHIPMUNK_PLAYERS_MAX][2];
    cpArbiter arbiters[CHIPMUNK_TOUCHES_MAX];
    struct cpContact contacts[CHIPMUNK_TOUCHES_MAX][2];
    bool is_body[CHIPMUNK_BODIES_MAX];
    bool is_shape[SHAPES_MAX];
} workshop;

static size_t chipmunk_scratch_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(workshop);
}

/* A NaN compares with nothing. */
static double within(double value, double max)
{
    return value >= -max && value <= max ? value : 0;
}

/* ---- bodies and shapes ---- */

static cpBody *add_body(workshop *shop, const chipmunk_world *world, uint32_t id, double mass,
                        double moment)
{
    const chipmunk_body *from = &world->bodies[id];
    cpBody *body = cpBodyInit(&shop->bodies[id], mass, moment);
    cpBodySetPosition(body, cpv(within(from->x, PLACE_MAX), within(from->y, PLACE_MAX)));
    cpBodySetAngle(body, within(from->angle, ANGLE_MAX));
    body->v = cpv(within(from->vx, SPEED_MAX), within(from->vy, SPEED_MAX));
    body->w = within(from->spin, SPEED_MAX);
    body->v_bias = cpv(within(from->push_x, SPEED_MAX), within(from->push_y, SPEED_MAX));
    body->w_bias = within(from->push_spin, SPEED_MAX);
    cpSpaceAddBody(shop->space, body);
    shop->is_body[id] = true;
    return body;
}

/* Its id is the engine's hash as well, so that contacts keep their features when others leave. */
static void add_shape(workshop *shop, uint32_t id, double friction, cpShapeFilter filter)
{
    cpShape *shape = (cpShape *)&shop->shapes[id];
    shape->u = friction;
    shape->e = 0;
    shape->filter = filter;
    shop->space->shapeIDCounter = id;
    cpSpaceAddShape(shop->space, shape);
    shop->is_shape[id] = true;
}

static cpShapeFilter filter_of(uint32_t group, uint32_t category, uint32_t without)
{
    return cpShapeFilterNew(group, category, CP_ALL_CATEGORIES & ~without);
}

static cpBody *add_box(workshop *shop, const chipmunk_world *world, uint32_t id, double mass,
                       double half_width, double half_height)
{
    double moment = cpMomentForBox(mass, 2 * half_width, 2 * half_height);
    cpBody *body = add_body(shop, world, id, mass, moment);
    cpBoxShapeInit(&shop->shapes[id].polygon, body, 2 * half_width, 2 * half_height, 0);
    return body;
}

static void add_ground(workshop *shop)
{
    static const cpVect line[] = {
        {-CHIPMUNK_ROOM_HALF, 20},
        {-CHIPMUNK_ROOM_HALF, 0},
        {-20, 0},
        {-17.5, 0.7},
        {-15.5, 0},
        {-CHIPMUNK_BANK, 0},
        {-CHIPMUNK_BANK + 0.6, CHIPMUNK_RAVINE},
        {CHIPMUNK_BANK - 0.6, CHIPMUNK_RAVINE},
        {CHIPMUNK_BANK, 0},
        {CHIPMUNK_ROOM_HALF, 0},
        {CHIPMUNK_ROOM_HALF, 20},
    };
    _Static_assert(sizeof line / sizeof *line == GROUND_SHAPES + 1, "ids of the ground");
    cpBody *ground = cpSpaceGetStaticBody(shop->space);
    for (uint32_t i = 0; i < GROUND_SHAPES; i++) {
        cpSegmentShape *segment = &shop->shapes[GROUND + i].segment;
        cpSegmentShapeInit(segment, ground, line[i], line[i + 1], 0.05);
        cpSegmentShapeSetNeighbors((cpShape *)segment, line[i > 0 ? i - 1 : 0],
                                   line[i + 2 > GROUND_SHAPES ? GROUND_SHAPES : i + 2]);
        add_shape(shop, GROUND + i, 1.0, filter_of(0, CATEGORY_GROUND, 0));
    }
}

/* ---- joints ---- */

static void add_joint(workshop *shop, void *joint)
{
    cpSpaceAddConstraint(shop->space, joint);
}

static cpVect pull_of(const chipmunk_world *world, uint32_t id)
{
    const chipmunk_joint *joint = &world->joints[id];
    return cpv(within(joint->x, IMPULSE_MAX), within(joint->y, IMPULSE_MAX));
}

static void add_pivot(workshop *shop, const chipmunk_world *world, uint32_t id, cpBody *a,
                      cpVect on_a, cpBody *b, cpVect on_b)
{
    cpPivotJoint *pivot = cpPivotJointInit(&shop->joints[id].pivot, a, b, on_a, on_b);
    pivot->jAcc = pull_of(world, id);
    pivot->constraint.collideBodies = cpFalse;
    add_joint(shop, pivot);
}

/* A wheel slides in a groove of the chassis, on a spring; the motor turns it or brakes it. */
static void add_wheel(workshop *shop, const chipmunk_world *world, uint32_t slot, uint32_t wheel,
                      double speed)
{
    uint32_t first = slot * CHIPMUNK_CAR_BODIES;
    uint32_t joint = slot * CHIPMUNK_CAR_JOINTS + 2 * wheel;
    double mass = 1, radius = CHIPMUNK_WHEEL_RADIUS;
    cpBody *chassis = &shop->bodies[first + CHIPMUNK_CHASSIS];
    uint32_t id = first + CHIPMUNK_WHEELS + wheel;
    cpBody *body = add_body(shop, world, id, mass, cpMomentForCircle(mass, 0, radius, cpvzero));
    cpCircleShapeInit(&shop->shapes[id].circle, body, radius, cpvzero);
    add_shape(shop, id, 1.5, filter_of(GROUP_CARS, CATEGORY_REST, 0));

    double along = wheel == 0 ? -CHIPMUNK_AXLE : CHIPMUNK_AXLE;
    cpGrooveJoint *groove = cpGrooveJointInit(&shop->joints[joint].groove, chassis, body,
                                              cpv(along, -0.1), cpv(along, -0.55), cpvzero);
    groove->jAcc = pull_of(world, joint);
    add_joint(shop, groove);
    add_joint(shop, cpDampedSpringInit(&shop->springs[slot][wheel], chassis, body, cpv(along, 0),
                                       cpvzero, 0.5, 160, 7));
    cpSimpleMotor *motor = cpSimpleMotorInit(&shop->joints[joint + 1].motor, chassis, body, speed);
    motor->constraint.maxForce = speed == 0 ? 1 : 7;
    motor->jAcc = pull_of(world, joint + 1).x;
    add_joint(shop, motor);
}

static void add_car(workshop *shop, const chipmunk_world *world, uint32_t slot)
{
    uint32_t id = slot * CHIPMUNK_CAR_BODIES + CHIPMUNK_CHASSIS;
    uint32_t buttons = world->drivers[slot].buttons;
    double speed = (buttons & CHIPMUNK_RIGHT ? 32 : 0) - (buttons & CHIPMUNK_LEFT ? 32 : 0);
    add_box(shop, world, id, 3, CHIPMUNK_CHASSIS_HALF_WIDTH, CHIPMUNK_CHASSIS_HALF_HEIGHT);
    add_shape(shop, id, 0.5, filter_of(GROUP_CARS, CATEGORY_REST, 0));
    for (uint32_t wheel = 0; wheel < 2; wheel++) {
        add_wheel(shop, world, slot, wheel, speed);
    }
}

/* Planks hang between the banks; only what rolls and falls on them touches them. */
static void add_bridge(workshop *shop, const chipmunk_world *world)
{
    cpBody *ground = cpSpaceGetStaticBody(shop->space);
    cpBody *before = ground;
    cpVect end = cpv(CHIPMUNK_PLANK_HALF_WIDTH, 0);
    for (uint32_t i = 0; i < CHIPMUNK_PLANK_COUNT; i++) {
        uint32_t id = CHIPMUNK_PLANKS + i;
        cpBody *plank =
            add_box(shop, world, id, 1.5, CHIPMUNK_PLANK_HALF_WIDTH, CHIPMUNK_PLANK_HALF_HEIGHT);
        add_shape(shop, id, 1.0, filter_of(GROUP_BRIDGE, CATEGORY_BRIDGE, CATEGORY_GROUND));
        cpVect on_before = i == 0 ? cpv(-CHIPMUNK_BANK, -CHIPMUNK_PLANK_HALF_HEIGHT) : end;
        add_pivot(shop, world, CHIPMUNK_HINGES + i, before, on_before, plank, cpvneg(end));
        before = plank;
    }
    cpVect bank = cpv(CHIPMUNK_BANK, -CHIPMUNK_PLANK_HALF_HEIGHT);
    add_pivot(shop, world, CHIPMUNK_HINGES + CHIPMUNK_PLANK_COUNT, before, end, ground, bank);
}

static void add_seesaw(workshop *shop, const chipmunk_world *world)
{
    cpBody *ground = cpSpaceGetStaticBody(shop->space);
    cpBody *board = add_box(shop, world, CHIPMUNK_SEESAW, 4, CHIPMUNK_SEESAW_HALF_WIDTH,
                            CHIPMUNK_PLANK_HALF_HEIGHT);
    add_shape(shop, CHIPMUNK_SEESAW, 1.0, filter_of(0, CATEGORY_REST, 0));
    add_pivot(shop, world, CHIPMUNK_SEESAW_PIVOT, ground, cpv(CHIPMUNK_SEESAW_X, CHIPMUNK_SEESAW_Y),
              board, cpvzero);
    ((cpConstraint *)&shop->joints[CHIPMUNK_SEESAW_PIVOT])->collideBodies = cpTrue;
    cpRotaryLimitJoint *limit = cpRotaryLimitJointInit(&shop->joints[CHIPMUNK_SEESAW_LIMIT].limit,
                                                       ground, board, -0.1, 0.1);
    limit->jAcc = pull_of(world, CHIPMUNK_SEESAW_LIMIT).x;
    add_joint(shop, limit);
}

static void add_crates(workshop *shop, const chipmunk_world *world, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id = CHIPMUNK_CRATES + i;
        add_box(shop, world, id, 0.2, CHIPMUNK_CRATE_HALF, CHIPMUNK_CRATE_HALF);
        add_shape(shop, id, 0.4, filter_of(0, CATEGORY_REST, 0));
    }
}

/* ---- contacts ---- */

static void *make_arbiter(const void *pair, void *arbiter)
{
    cpShape *const *shapes = pair;
    return cpArbiterInit(arbiter, shapes[0], shapes[1]);
}

/* Hands the engine what two shapes pushed with, as if it had met them in a step before. Its pool
 * may take the arbiter, but frees only what it has made itself. */
static void add_touch(workshop *shop, const chipmunk_touch *touch, uint32_t i)
{
    if (touch->a >= SHAPES_MAX || touch->b >= SHAPES_MAX || touch->a == touch->b ||
        !shop->is_shape[touch->a] || !shop->is_shape[touch->b] || touch->points > 2) {
        return;
    }
    cpShape *pair[2] = {(cpShape *)&shop->shapes[touch->a], (cpShape *)&shop->shapes[touch->b]};
    cpHashValue hash = CP_HASH_PAIR((cpHashValue)pair[0], (cpHashValue)pair[1]);
    if (cpHashSetFind(shop->space->cachedArbiters, hash, pair)) {
        return;
    }
    cpArbiter *arbiter = &shop->arbiters[i];
    cpHashSetInsert(shop->space->cachedArbiters, hash, pair, make_arbiter, arbiter);
    arbiter->handler = &shop->space->defaultHandler;
    arbiter->state = CP_ARBITER_STATE_NORMAL;
    arbiter->contacts = shop->contacts[i];
    arbiter->count = (int)touch->points;
    for (uint32_t point = 0; point < touch->points; point++) {
        struct cpContact *contact = &shop->contacts[i][point];
        contact->hash = (cpHashValue)touch->feature[point];
        contact->jnAcc = within(touch->normal[point], IMPULSE_MAX);
        contact->jtAcc = within(touch->friction[point], IMPULSE_MAX);
    }
}

/* In the order in which the engine has solved them; what there is no room for begins at 0. */
static void read_touches(const cpSpace *space, chipmunk_world *world)
{
    memset(world->touches, 0, sizeof world->touches);
    world->touch_count = 0;
    for (int i = 0; i < space->arbiters->num && world->touch_count < CHIPMUNK_TOUCHES_MAX; i++) {
        const cpArbiter *arbiter = space->arbiters->arr[i];
        chipmunk_touch *touch = &world->touches[world->touch_count++];
        touch->a = (uint16_t)arbiter->a->hashid;
        touch->b = (uint16_t)arbiter->b->hashid;
        touch->points = (uint32_t)arbiter->count;
        for (int point = 0; point < arbiter->count; point++) {
            const struct cpContact *contact = &arbiter->contacts[point];
            touch->feature[point] = contact->hash;
            touch->normal[point] = within(contact->jnAcc, IMPULSE_MAX);
            touch->friction[point] = within(contact->jtAcc, IMPULSE_MAX);
        }
    }
}

/* ---- the step ---- */

static void build(workshop *shop, const ls_sim_config *config, const chipmunk_world *world)
{
    cpSpace *space = shop->space;
    space->iterations = (int)config->params[CHIPMUNK_PARAM_ITERATIONS];
    space->gravity = cpv(0, -(double)config->params[CHIPMUNK_PARAM_GRAVITY] / 1000);
    space->collisionSlop = 0.01;
    add_ground(shop);
    for (uint32_t slot = 0; slot < config->players; slot++) {
        if (world->drivers[slot].is_here) {
            add_car(shop, world, slot);
        }
    }
    add_bridge(shop, world);
    add_seesaw(shop, world);
    add_crates(shop, world, chipmunk_crates(config));
    for (uint32_t i = 0; i < world->touch_count && i < CHIPMUNK_TOUCHES_MAX; i++) {
        add_touch(shop, &world->touches[i], i);
    }
}

static void read_bodies(const workshop *shop, chipmunk_world *world)
{
    for (uint32_t i = 0; i < CHIPMUNK_BODIES_MAX; i++) {
        const cpBody *body = &shop->bodies[i];
        if (shop->is_body[i]) {
            world->bodies[i] = (chipmunk_body){
                .x = within(body->p.x, PLACE_MAX),
                .y = within(body->p.y, PLACE_MAX),
                .angle = within(body->a, ANGLE_MAX),
                .vx = within(body->v.x, SPEED_MAX),
                .vy = within(body->v.y, SPEED_MAX),
                .spin = within(body->w, SPEED_MAX),
                .push_x = within(body->v_bias.x, SPEED_MAX),
                .push_y = within(body->v_bias.y, SPEED_MAX),
                .push_spin = within(body->w_bias, SPEED_MAX),
            };
        }
    }
}

static cpVect pull_in(const joint_room *room)
{
    const cpConstraint *joint = (const cpConstraint *)room;
    return cpConstraintIsGrooveJoint(joint)        ? room->groove.jAcc
           : cpConstraintIsPivotJoint(joint)       ? room->pivot.jAcc
           : cpConstraintIsSimpleMotor(joint)      ? cpv(room->motor.jAcc, 0)
           : cpConstraintIsRotaryLimitJoint(joint) ? cpv(room->limit.jAcc, 0)
                                                   : cpvzero;
}

static void read_joints(const workshop *shop, chipmunk_world *world)
{
    for (uint32_t i = 0; i < CHIPMUNK_JOINTS_MAX; i++) {
        cpVect pull = pull_in(&shop->joints[i]);
        world->joints[i].x = within(pull.x, IMPULSE_MAX);
        world->joints[i].y = within(pull.y, IMPULSE_MAX);
    }
}

/* Safe with any bytes as state: numbers that are none or too large are replaced, what is out of
 * range is left out. */
static void run_space(const ls_step *step)
{
    workshop *shop = step->scratch;
    chipmunk_world *world = step->state;
    ls_rate rate = ls_sim_config_rate(step->config);
    double seconds = (double)rate.denominator / (double)rate.numerator;
    memset(shop, 0, sizeof *shop);
    shop->space = cpSpaceNew();
    build(shop, step->config, world);
    shop->space->curr_dt = seconds; /* what was cached is of a step as long as this one */
    cpSpaceStep(shop->space, seconds);
    read_bodies(shop, world);
    read_joints(shop, world);
    read_touches(shop->space, world);
    cpSpaceFree(shop->space);
}

/* ---- the view ---- */

/* The picture, the bot and the keys of the buggies' game. Only reads the state. Called through
 * the simulation's struct. */

#define GROUND_COLOUR 0x55606eFFu
#define WOOD_COLOUR 0xb98f5cFFu
#define WHEEL_COLOUR 0x3a3f47FFu
#define FLAG_IDS 1000u
#define GROUND_IDS 2000u

static const uint32_t crate_colours[] = {0xc8a06aFFu, 0xb98f5cFFu, 0xd6b27fFFu};

typedef struct pose {
    ls_vec2 at;
    ls_angle angle;
} pose;

static pose pose_of(const chipmunk_body *body)
{
    return (pose){{ls_fixed_from_double(body->x), ls_fixed_from_double(body->y)},
                  ls_angle_from_radians(ls_fixed_from_double(body->angle))};
}

typedef struct blend {
    const chipmunk_world *past;
    const chipmunk_world *now;
    ls_fixed alpha;
    ls_draw_list *list;
} blend;

static void draw_body(const blend *blended, uint32_t id, ls_draw_shape shape, double half_width,
                      double half_height)
{
    pose from = pose_of(&blended->past->bodies[id]);
    pose to = pose_of(&blended->now->bodies[id]);
    ls_vec2 at = ls_lerp_vec2(from.at, to.at, blended->alpha);
    shape.id = id;
    shape.x = at.x;
    shape.y = at.y;
    shape.angle = ls_lerp_angle(from.angle, to.angle, blended->alpha);
    shape.half_width = ls_fixed_from_double(half_width);
    shape.half_height = ls_fixed_from_double(half_height);
    ls_draw_push(blended->list, shape);
}

/* A car that has just joined or was taken back to its start is drawn where it is. */
static bool is_moved(const blend *blended, uint32_t slot)
{
    const chipmunk_body *from = &blended->past->bodies[slot * CHIPMUNK_CAR_BODIES];
    const chipmunk_body *to = &blended->now->bodies[slot * CHIPMUNK_CAR_BODIES];
    double x = to->x - from->x, y = to->y - from->y;
    return !blended->past->drivers[slot].is_here || x * x + y * y > 4;
}

static void draw_car(const blend *both, uint32_t slot)
{
    blend blended = *both;
    uint32_t first = slot * CHIPMUNK_CAR_BODIES;
    if (is_moved(both, slot)) {
        blended.past = blended.now;
    }
    ls_draw_shape wheel = {.kind = LS_DRAW_WHEEL, .colour = WHEEL_COLOUR};
    ls_draw_shape chassis = {
        .kind = LS_DRAW_BOX, .colour = ls_player_colour(slot), .owner = slot + 1};
    for (uint32_t i = 0; i < 2; i++) {
        draw_body(&blended, first + CHIPMUNK_WHEELS + i, wheel, CHIPMUNK_WHEEL_RADIUS,
                  CHIPMUNK_WHEEL_RADIUS);
    }
    draw_body(&blended, first + CHIPMUNK_CHASSIS, chassis, CHIPMUNK_CHASSIS_HALF_WIDTH,
              CHIPMUNK_CHASSIS_HALF_HEIGHT);
}

/* ---- what does not move ---- */

static void draw_block(ls_draw_list *list, uint32_t id, double left, double right, double bottom,
                       double top)
{
    ls_draw_push(list, (ls_draw_shape){
                           .kind = LS_DRAW_BOX,
                           .id = id,
                           .colour = GROUND_COLOUR,
                           .x = ls_fixed_from_double((left + right) / 2),
                           .y = ls_fixed_from_double((bottom + top) / 2),
                           .half_width = ls_fixed_from_double((right - left) / 2),
                           .half_height = ls_fixed_from_double((top - bottom) / 2),
                       });
}

static ls_vec2 point(double x, double y)
{
    return (ls_vec2){ls_fixed_from_double(x), ls_fixed_from_double(y)};
}

static void draw_wedge(ls_draw_list *list, uint32_t id, ls_vec2 a, ls_vec2 b, ls_vec2 c)
{
    ls_draw_push(list, (ls_draw_shape){.kind = LS_DRAW_TRIANGLE,
                                       .id = id,
                                       .colour = GROUND_COLOUR,
                                       .x = a.x,
                                       .y = a.y,
                                       .corners = {a, b, c}});
}

static void draw_ground(ls_draw_list *list)
{
    double bottom = CHIPMUNK_RAVINE - 1, foot = CHIPMUNK_BANK - 0.6;
    draw_block(list, GROUND_IDS, -CHIPMUNK_ROOM_HALF - 1, -CHIPMUNK_BANK, bottom, 0);
    draw_block(list, GROUND_IDS + 1, CHIPMUNK_BANK, CHIPMUNK_ROOM_HALF + 1, bottom, 0);
    draw_block(list, GROUND_IDS + 2, -CHIPMUNK_BANK, CHIPMUNK_BANK, bottom, CHIPMUNK_RAVINE);
    draw_wedge(list, GROUND_IDS + 3, point(-20, 0), point(-17.5, 0.7), point(-15.5, 0));
    draw_wedge(list, GROUND_IDS + 4, point(-CHIPMUNK_BANK, 0),
               point(-CHIPMUNK_BANK, CHIPMUNK_RAVINE), point(-foot, CHIPMUNK_RAVINE));
    draw_wedge(list, GROUND_IDS + 5, point(CHIPMUNK_BANK, 0), point(CHIPMUNK_BANK, CHIPMUNK_RAVINE),
               point(foot, CHIPMUNK_RAVINE));
    draw_wedge(list, GROUND_IDS + 6, point(CHIPMUNK_SEESAW_X, CHIPMUNK_SEESAW_Y),
               point(CHIPMUNK_SEESAW_X - 0.3, 0), point(CHIPMUNK_SEESAW_X + 0.3, 0));
}

/* Each player's flag stands at the end that the player has to reach next. */
static void draw_flag(ls_draw_list *list, const chipmunk_driver *driver, uint32_t slot)
{
    double x = (driver->goal ? 1 : -1) * (CHIPMUNK_GOAL + 0.5 * slot);
    double y = 2.2 + 0.45 * slot;
    draw_wedge(list, FLAG_IDS + slot, point(x, y), point(x, y + 0.4), point(x + 0.7, y + 0.2));
    list->shapes[list->count - 1].colour = ls_player_colour(slot);
}

static void chipmunk_draw(const ls_sim_config *config, const void *previous, const void *current,
                          ls_fixed alpha, ls_draw_list *list)
{
    blend blended = {previous, current, alpha, list};
    list->view_min = point(-CHIPMUNK_ROOM_HALF - 1, CHIPMUNK_RAVINE - 1);
    list->view_max = point(CHIPMUNK_ROOM_HALF + 1, 14);
    draw_ground(list);
    ls_draw_shape wood = {.kind = LS_DRAW_BOX, .colour = WOOD_COLOUR};
    for (uint32_t i = 0; i < CHIPMUNK_PLANK_COUNT; i++) {
        draw_body(&blended, CHIPMUNK_PLANKS + i, wood, CHIPMUNK_PLANK_HALF_WIDTH,
                  CHIPMUNK_PLANK_HALF_HEIGHT);
    }
    draw_body(&blended, CHIPMUNK_SEESAW, wood, CHIPMUNK_SEESAW_HALF_WIDTH,
              CHIPMUNK_PLANK_HALF_HEIGHT);
    for (uint32_t i = 0; i < chipmunk_crates(config); i++) {
        ls_draw_shape crate = {.kind = LS_DRAW_BOX, .colour = crate_colours[i % 3]};
        draw_body(&blended, CHIPMUNK_CRATES + i, crate, CHIPMUNK_CRATE_HALF, CHIPMUNK_CRATE_HALF);
    }
    for (uint32_t slot = 0; slot < config->players; slot++) {
        const chipmunk_driver *driver = &blended.now->drivers[slot];
        if (driver->is_here) {
            draw_flag(list, driver, slot);
            draw_car(&blended, slot);
        }
    }
}

/* How often each car has reached its flag. */
static void chipmunk_status(const ls_sim_config *config, const void *state, uint32_t slot,
                            ls_status_list *list)
{
    const chipmunk_world *world = state;
    for (uint32_t i = 0; i < config->players; i++) {
        ls_status_line score = {
            .kind = LS_STATUS_SEAT, .owner = i + 1, .colour = ls_player_colour(i)};
        ls_text_set(&score.text, "%u", world->drivers[i].crossings);
        ls_status_push(list, score);
    }
    if (slot < config->players) {
        ls_status_push(list, (ls_status_line){.kind = LS_STATUS_KEYS,
                                              .text = {"left and right or A and D drive   "
                                                       "space puts the car back"}});
    }
}

/* ---- who plays ---- */

/* Drives to its flag, hesitates now and then, and asks for help where it does not get on. */
static uint32_t chipmunk_bot(const ls_sim_config *config, const void *state, uint32_t slot,
                             ls_rng *rng, uint8_t *bytes)
{
    (void)config;
    const chipmunk_world *world = state;
    const chipmunk_body *car = &world->bodies[slot * CHIPMUNK_CAR_BODIES];
    bool hesitates = ls_rng_below(rng, 6) == 0;
    bool turns_back = ls_rng_below(rng, 40) == 0;
    bool despairs = ls_rng_below(rng, 240) == 0;
    bool is_stuck = car->vx * car->vx < 0.04;
    uint32_t way = world->drivers[slot].goal != 0 ? CHIPMUNK_RIGHT : CHIPMUNK_LEFT;
    way = turns_back ? way ^ (CHIPMUNK_LEFT | CHIPMUNK_RIGHT) : way;
    bytes[0] = (uint8_t)((hesitates ? 0 : way) | (is_stuck && despairs ? CHIPMUNK_RESCUE : 0));
    return 1;
}

static uint32_t chipmunk_control(const ls_sim_config *config, const void *state, uint32_t slot,
                                 const ls_controls *controls, uint8_t *bytes)
{
    (void)config;
    (void)state;
    (void)slot;
    ls_vec2 way = ls_controls_direction(controls);
    uint32_t down = controls->held | controls->pressed;
    bytes[0] = (uint8_t)((way.x < -LS_FIXED_HALF ? CHIPMUNK_LEFT : 0) |
                         (way.x > LS_FIXED_HALF ? CHIPMUNK_RIGHT : 0) |
                         (down & LS_CONTROL_FIRST ? CHIPMUNK_RESCUE : 0));
    return 1;
}

/* ---- the simulation ---- */

/* Chipmunk: a plug-in over a physics engine that is not ours, in C, with a state that can be saved:
 * buggies cross a rope bridge and a seesaw from end to end. Chipmunk's space cannot be saved, so it
 * lives for one step: each step builds it from the flat state and copies the result back. */

static const ls_param params[CHIPMUNK_PARAM_COUNT] = {
    [CHIPMUNK_PARAM_ROWS] =
        LS_PARAM_INTEGER_OF("rows", "", "of crates in the pile", 3, 0, CHIPMUNK_ROWS_MAX),
    [CHIPMUNK_PARAM_ITERATIONS] =
        LS_PARAM_INTEGER_OF("iterations", "", "of the engine's solver", 12, 1, 100),
    [CHIPMUNK_PARAM_GRAVITY] = LS_PARAM_INTEGER_OF("gravity", "mm/s2", "downwards", 9810, 0, 30000),
};

static size_t state_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(chipmunk_world);
}

#define BODIES(member, unit)                                                                       \
    LS_FIELD_EACH("bodies", offsetof(chipmunk_world, bodies), CHIPMUNK_BODIES_MAX, chipmunk_body,  \
                  member, LS_FIELD_F64, unit)
#define JOINTS(member)                                                                             \
    LS_FIELD_EACH("joints", offsetof(chipmunk_world, joints), CHIPMUNK_JOINTS_MAX, chipmunk_joint, \
                  member, LS_FIELD_F64, "N s")
#define TOUCHES(member, type, unit)                                                                \
    LS_FIELD_EACH("touches", offsetof(chipmunk_world, touches), CHIPMUNK_TOUCHES_MAX,              \
                  chipmunk_touch, member, type, unit)
#define DRIVERS(member)                                                                            \
    LS_FIELD_EACH("drivers", offsetof(chipmunk_world, drivers), CHIPMUNK_PLAYERS_MAX,              \
                  chipmunk_driver, member, LS_FIELD_U32, "")

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {
        BODIES(x, "m"),
        BODIES(y, "m"),
        BODIES(angle, "rad"),
        BODIES(vx, "m/s"),
        BODIES(vy, "m/s"),
        BODIES(spin, "rad/s"),
        BODIES(push_x, "m/s"),
        BODIES(push_y, "m/s"),
        BODIES(push_spin, "rad/s"),
        JOINTS(x),
        JOINTS(y),
        TOUCHES(a, LS_FIELD_U16, ""),
        TOUCHES(b, LS_FIELD_U16, ""),
        TOUCHES(points, LS_FIELD_U32, ""),
        ls_field_long(TOUCHES(feature, LS_FIELD_U64, ""), 2),
        ls_field_long(TOUCHES(normal, LS_FIELD_F64, "N s"), 2),
        ls_field_long(TOUCHES(friction, LS_FIELD_F64, "N s"), 2),
        DRIVERS(is_here),
        DRIVERS(goal),
        DRIVERS(crossings),
        DRIVERS(is_rescue_held),
        DRIVERS(buttons),
        LS_FIELD_OF(chipmunk_world, touch_count, LS_FIELD_U32, ""),
        LS_FIELD_OF(chipmunk_world, reserved, LS_FIELD_U32, ""),
    };
    return ls_fields_copy(list, sizeof list / sizeof *list, out, capacity);
}

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void);

/* Another engine is another game, even of the same release: Debian's for aarch64 has fused
 * multiply-adds, and the one for x86-64 has none. Machines with different ones never share a match.
 */
static uint64_t content_digest(const ls_sim_config *config)
{
    (void)config;
    const engine_release release = {CP_VERSION_MAJOR, CP_VERSION_MINOR, CP_VERSION_RELEASE};
    return engine_scene_digest(lockstep_simulation(), release);
}

static void explain_content(uint64_t client, uint64_t server, ls_text *out)
{
    engine_scene_explain("Chipmunk", client, server, out);
}

/* ---- state 0 ---- */

static void lay_bridge(chipmunk_world *world)
{
    double pace = 2 * CHIPMUNK_BANK / CHIPMUNK_PLANK_COUNT;
    for (uint32_t i = 0; i < CHIPMUNK_PLANK_COUNT; i++) {
        chipmunk_body *plank = &world->bodies[CHIPMUNK_PLANKS + i];
        double side = (i + 0.5) * pace - CHIPMUNK_BANK;
        plank->x = side;
        plank->y = -1.1 + 1.0 * side * side / (CHIPMUNK_BANK * CHIPMUNK_BANK);
    }
}

static void pile_crates(chipmunk_world *world, uint32_t rows)
{
    chipmunk_body *crate = &world->bodies[CHIPMUNK_CRATES];
    for (uint32_t row = 0; row < rows; row++) {
        for (uint32_t i = 0; i < rows - row; i++) {
            crate->x = -12.0 + (i - (rows - row - 1) / 2.0) * 2.1 * CHIPMUNK_CRATE_HALF;
            crate->y = (2 * row + 1) * CHIPMUNK_CRATE_HALF;
            crate++;
        }
    }
}

static ls_status lay_out(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    chipmunk_world *world = state;
    lay_bridge(world);
    world->bodies[CHIPMUNK_SEESAW].x = CHIPMUNK_SEESAW_X;
    world->bodies[CHIPMUNK_SEESAW].y = CHIPMUNK_SEESAW_Y;
    pile_crates(world, (uint32_t)config->params[CHIPMUNK_PARAM_ROWS]);
    return LS_OK;
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    return ls_strict_double_init(lay_out, config, state, why);
}

/* ---- the step ---- */

/* At the end where its slot starts, upright and at rest. */
static void place_car(chipmunk_world *world, uint32_t slot)
{
    double side = slot % 2 == 0 ? -1 : 1;
    chipmunk_body *car = &world->bodies[slot * CHIPMUNK_CAR_BODIES];
    memset(car, 0, CHIPMUNK_CAR_BODIES * sizeof *car);
    memset(&world->joints[slot * CHIPMUNK_CAR_JOINTS], 0,
           CHIPMUNK_CAR_JOINTS * sizeof *world->joints);
    car[CHIPMUNK_CHASSIS].x = side * (26.5 - slot / 2 * 2.2);
    car[CHIPMUNK_CHASSIS].y = CHIPMUNK_WHEEL_RADIUS + CHIPMUNK_AXLE_DEPTH + 0.1;
    for (uint32_t wheel = 0; wheel < 2; wheel++) {
        chipmunk_body *at = &car[CHIPMUNK_WHEELS + wheel];
        at->x = car->x + (wheel == 0 ? -CHIPMUNK_AXLE : CHIPMUNK_AXLE);
        at->y = car->y - CHIPMUNK_AXLE_DEPTH;
    }
}

static void leave(chipmunk_world *world, uint32_t slot)
{
    memset(&world->drivers[slot], 0, sizeof world->drivers[slot]);
    memset(&world->bodies[slot * CHIPMUNK_CAR_BODIES], 0,
           CHIPMUNK_CAR_BODIES * sizeof *world->bodies);
    memset(&world->joints[slot * CHIPMUNK_CAR_JOINTS], 0,
           CHIPMUNK_CAR_JOINTS * sizeof *world->joints);
}

/* A seat that changes hands within one tick has both events: the leave comes first. */
static void run_events(const ls_step *step)
{
    chipmunk_world *world = step->state;
    for (uint32_t slot = 0; slot < step->config->players; slot++) {
        uint32_t events = step->inputs->slots[slot].events;
        if (events & LS_EVENT_LEFT) {
            leave(world, slot);
        }
        if (events & LS_EVENT_JOINED) {
            world->drivers[slot] = (chipmunk_driver){.is_here = 1, .goal = 1 - slot % 2};
            place_car(world, slot);
        }
    }
}

/* Back to the start at the press of a button, or out of the ravine. */
static void run_drive(const ls_step *step)
{
    chipmunk_world *world = step->state;
    for (uint32_t slot = 0; slot < step->config->players; slot++) {
        chipmunk_driver *driver = &world->drivers[slot];
        const ls_slot_input *input = &step->inputs->slots[slot];
        if (!driver->is_here) {
            continue;
        }
        driver->buttons = input->size > 0 ? input->bytes[0] : 0;
        bool is_rescue = (driver->buttons & CHIPMUNK_RESCUE) != 0;
        bool is_pressed = is_rescue && !driver->is_rescue_held;
        driver->is_rescue_held = is_rescue;
        if (is_pressed || world->bodies[slot * CHIPMUNK_CAR_BODIES].y < CHIPMUNK_FALLEN) {
            place_car(world, slot);
        }
    }
}

/* A crate that was squeezed or thrown out of the room falls in again from above. */
static void return_crates(chipmunk_world *world, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        chipmunk_body *crate = &world->bodies[CHIPMUNK_CRATES + i];
        if (crate->x < -CHIPMUNK_ROOM_HALF || crate->x > CHIPMUNK_ROOM_HALF ||
            crate->y < CHIPMUNK_RAVINE - 1) {
            *crate = (chipmunk_body){.x = -12.0, .y = 10.0};
        }
    }
}

static void run_score(const ls_step *step)
{
    chipmunk_world *world = step->state;
    return_crates(world, chipmunk_crates(step->config));
    for (uint32_t slot = 0; slot < step->config->players; slot++) {
        chipmunk_driver *driver = &world->drivers[slot];
        double x = world->bodies[slot * CHIPMUNK_CAR_BODIES].x;
        if (driver->is_here && (driver->goal != 0 ? x > CHIPMUNK_GOAL : x < -CHIPMUNK_GOAL)) {
            driver->goal = driver->goal == 0;
            driver->crossings++;
        }
    }
}

/* The engine rounds as the process does, so the process rounds as it should. */
static void pass_events(const ls_step *step)
{
    ls_strict_double_pass(run_events, step);
}

static void pass_drive(const ls_step *step)
{
    ls_strict_double_pass(run_drive, step);
}

static void pass_score(const ls_step *step)
{
    ls_strict_double_pass(run_score, step);
}

static void pass_engine(const ls_step *step)
{
    ls_strict_double_pass(run_space, step);
}

static const ls_pass passes[] = {
    {"events", pass_events}, {"drive", pass_drive}, {"engine", pass_engine}, {"score", pass_score}};

static const ls_simulation chipmunk = {
    .abi = LS_SIMULATION_ABI,
    .size = sizeof(ls_simulation),
    .version = 1,
    .name = "chipmunk",
    .summary = "buggies cross a rope bridge and a seesaw, by the Chipmunk engine",
    .default_tick_rate_hz = 60,
    .default_players = 2,
    .players_max = CHIPMUNK_PLAYERS_MAX,
    .input_bytes_max = 1,
    .params = params,
    .param_count = CHIPMUNK_PARAM_COUNT,
    .passes = passes,
    .pass_count = sizeof passes / sizeof *passes,
    .content_digest = content_digest,
    .explain_content = explain_content,
    .state_bytes = state_bytes,
    .scratch_bytes = chipmunk_scratch_bytes,
    .fields = fields,
    .init = init,
    .draw = chipmunk_draw,
    .bot = chipmunk_bot,
    .control = chipmunk_control,
    .input_bits = ls_buttons_in_first_byte,
    .status = chipmunk_status,
};

const ls_simulation *lockstep_simulation(void)
{
    return &chipmunk;
}
