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
#include "lockstep/tools/adapters/chipmunk/chipmunk_space.h"

#include <chipmunk/chipmunk_private.h>

#include <string.h>

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

size_t chipmunk_scratch_bytes(const ls_sim_config *config)
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

void chipmunk_run_space(const ls_step *step)
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
