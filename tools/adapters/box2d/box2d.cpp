/* Box2d: a plug-in over a physics engine that is not ours: players roll into a pyramid of crates.
 * It shows what an engine without save and load can do: hosted, verified by a hash over its bodies,
 * joined by replay. The state block holds a handle; the engine's world is behind it.
 *
 * The picture is between two states, and a host has only one such block: the world keeps where each
 * body was before its newest step. Blended are each of x and y with its own past, and the angle
 * along the shorter way round. */
#include "lockstep/common/maths/fixed_trig.h"
#include "lockstep/common/maths/interpolate.h"
#include "lockstep/common/simulation/simulation.h"
#include "lockstep/tools/adapters/engine_scene.h"
extern "C" {
#include "lockstep/common/base/hash.h"
#include "lockstep/common/maths/strict_math.h"
#include "lockstep/common/simulation/strict_double.h"
#include "lockstep/common/simulations/player_view.h"
}

#include <box2d/box2d.h>

#include <new>
#include <string.h>

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void);

namespace
{

/* An input is one byte of buttons; missing bytes are 0. */
enum Button : uint8_t {
    LEFT = 1,
    RIGHT = 2,
    JUMP = 4
};

enum Param {
    ROWS,
    VELOCITY_ITERATIONS,
    POSITION_ITERATIONS,
    GRAVITY,
    PARAM_COUNT
};

constexpr uint32_t PLAYERS_MAX = 8;
constexpr uint32_t ROWS_MAX = 24;
constexpr uint32_t CRATES_MAX = ROWS_MAX * (ROWS_MAX + 1) / 2;
constexpr uint32_t BODIES_MAX = PLAYERS_MAX + CRATES_MAX;

constexpr float CRATE_HALF = 0.45f;
constexpr float BALL_RADIUS = 0.5f;
constexpr float ROOM_HEIGHT = 30.0f;
constexpr float BALL_TORQUE = 180.0f;
constexpr float BALL_SPIN_MAX = 24.0f;
constexpr float JUMP_SPEED = 8.0f;
constexpr float BEARING = 0.5f; /* a normal that looks up this much bears a ball */

constexpr ls_param params[PARAM_COUNT] = {
    LS_PARAM_INTEGER_OF("rows", "", "of crates in the pyramid", 9, 0, ROWS_MAX),
    LS_PARAM_INTEGER_OF("velocity-iterations", "", "of the engine's solver", 8, 1, 50),
    LS_PARAM_INTEGER_OF("position-iterations", "", "of the engine's solver", 3, 1, 50),
    LS_PARAM_INTEGER_OF("gravity", "mm/s2", "downwards", 9810, 0, 30000),
};

struct Pose {
    ls_vec2 position;
    ls_angle angle;
};

struct Engine {
    Engine(b2Vec2 gravity) : world(gravity)
    {
    }

    b2World world;
    /* Slots' balls, then crates; NULL for a slot without a player. The order of all loops. */
    b2Body *bodies[BODIES_MAX] = {};
    Pose before[BODIES_MAX] = {}; /* the newest step */
    uint32_t count = 0;
    bool is_jump_held[PLAYERS_MAX] = {};
};

struct State {
    Engine *engine;
};

Engine *engine_of(const void *state)
{
    return static_cast<const State *>(state)->engine;
}

/* From the middle to a wall: room beside the pyramid for the players. */
float room_half(const ls_sim_config *config)
{
    return static_cast<float>(config->params[ROWS]) * CRATE_HALF * 1.2f + 8.0f;
}

Pose pose_of(const b2Body *body)
{
    b2Vec2 at = body->GetPosition();
    ls_fixed angle = ls_fixed_from_double(static_cast<double>(body->GetAngle()));
    return {{ls_fixed_from_double(static_cast<double>(at.x)),
             ls_fixed_from_double(static_cast<double>(at.y))},
            ls_angle_from_radians(angle)};
}

/* ---- state 0 ---- */

void add_wall(Engine *engine, b2Vec2 from, b2Vec2 to)
{
    b2BodyDef definition;
    b2EdgeShape edge;
    edge.SetTwoSided(from, to);
    engine->world.CreateBody(&definition)->CreateFixture(&edge, 0.0f);
}

b2Body *add_body(Engine *engine, const b2Shape &shape, float density, b2Vec2 at)
{
    b2BodyDef definition;
    definition.type = b2_dynamicBody;
    definition.position = at;
    b2FixtureDef fixture;
    fixture.shape = &shape;
    fixture.density = density;
    fixture.friction = 0.7f;
    fixture.restitution = 0.1f;
    b2Body *body = engine->world.CreateBody(&definition);
    body->CreateFixture(&fixture);
    return body;
}

ls_status build(const ls_sim_config *config, void *state, ls_text *)
{
    float gravity = static_cast<float>(config->params[GRAVITY]) / 1000.0f;
    auto *engine = new (std::nothrow) Engine(b2Vec2(0.0f, -gravity));
    static_cast<State *>(state)->engine = engine;
    if (engine == nullptr) {
        return LS_NO_MEMORY;
    }
    float half = room_half(config);
    add_wall(engine, b2Vec2(-half, 0.0f), b2Vec2(half, 0.0f));
    add_wall(engine, b2Vec2(-half, 0.0f), b2Vec2(-half, ROOM_HEIGHT));
    add_wall(engine, b2Vec2(half, 0.0f), b2Vec2(half, ROOM_HEIGHT));
    b2PolygonShape crate;
    crate.SetAsBox(CRATE_HALF, CRATE_HALF);
    engine->count = config->players;
    auto rows = static_cast<uint32_t>(config->params[ROWS]);
    for (uint32_t row = 0; row < rows; row++) {
        for (uint32_t i = 0; i < rows - row; i++) {
            float x = (static_cast<float>(i) - static_cast<float>(rows - row - 1) / 2.0f) * 2.1f;
            float y = static_cast<float>(row) * 2.0f + 1.0f;
            b2Vec2 at(x * CRATE_HALF, y * CRATE_HALF);
            b2Body *body = add_body(engine, crate, 0.6f, at);
            engine->before[engine->count] = pose_of(body);
            engine->bodies[engine->count++] = body;
        }
    }
    return LS_OK;
}

ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    return ls_strict_double_init(build, config, state, why);
}

void deinit(const ls_sim_config *, void *state)
{
    delete engine_of(state);
}

size_t state_bytes(const ls_sim_config *)
{
    return sizeof(State);
}

/* ---- the step ---- */

void leave(Engine *engine, uint32_t slot)
{
    if (engine->bodies[slot] != nullptr) {
        engine->world.DestroyBody(engine->bodies[slot]);
        engine->bodies[slot] = nullptr;
    }
}

/* To the left and right of the pyramid by turns. */
void join(Engine *engine, const ls_sim_config *config, uint32_t slot)
{
    if (engine->bodies[slot] != nullptr) {
        return;
    }
    b2CircleShape circle;
    circle.m_radius = BALL_RADIUS;
    float x = room_half(config) - 1.0f - static_cast<float>(slot / 2) * 1.2f;
    b2Body *ball = add_body(engine, circle, 8.0f, b2Vec2(slot % 2 == 0 ? -x : x, 1.0f));
    ball->SetAngularDamping(0.5f);
    ball->SetSleepingAllowed(false);
    engine->bodies[slot] = ball;
    engine->before[slot] = pose_of(ball);
}

/* A seat that changes hands within one tick has both events: the leave comes first. */
void run_events(const ls_step *step)
{
    Engine *engine = engine_of(step->state);
    for (uint32_t slot = 0; slot < step->config->players; slot++) {
        uint32_t events = step->inputs->slots[slot].events;
        if (events & LS_EVENT_LEFT) {
            leave(engine, slot);
        }
        if (events & LS_EVENT_JOINED) {
            join(engine, step->config, slot);
        }
    }
}

bool is_borne(b2Body *ball)
{
    for (b2ContactEdge *edge = ball->GetContactList(); edge != nullptr; edge = edge->next) {
        if (!edge->contact->IsTouching()) {
            continue;
        }
        b2WorldManifold manifold;
        edge->contact->GetWorldManifold(&manifold);
        bool is_first = edge->contact->GetFixtureA()->GetBody() == ball;
        if ((is_first ? -manifold.normal.y : manifold.normal.y) > BEARING) {
            return true;
        }
    }
    return false;
}

/* A torque acts in every step that its button is held; a jump is one impulse for each press. */
void run_push(const ls_step *step)
{
    Engine *engine = engine_of(step->state);
    for (uint32_t slot = 0; slot < step->config->players; slot++) {
        const ls_slot_input *input = &step->inputs->slots[slot];
        uint32_t buttons = input->size > 0 ? input->bytes[0] : 0;
        b2Body *ball = engine->bodies[slot];
        bool is_pressed = (buttons & JUMP) && !engine->is_jump_held[slot];
        engine->is_jump_held[slot] = (buttons & JUMP) != 0;
        if (ball == nullptr) {
            continue;
        }
        float spin = ball->GetAngularVelocity();
        if ((buttons & LEFT) && spin < BALL_SPIN_MAX) {
            ball->ApplyTorque(BALL_TORQUE, true);
        }
        if ((buttons & RIGHT) && spin > -BALL_SPIN_MAX) {
            ball->ApplyTorque(-BALL_TORQUE, true);
        }
        if (is_pressed && is_borne(ball)) {
            b2Vec2 impulse(0.0f, JUMP_SPEED * ball->GetMass());
            ball->ApplyLinearImpulseToCenter(impulse, true);
        }
    }
}

void run_world(const ls_step *step)
{
    Engine *engine = engine_of(step->state);
    for (uint32_t i = 0; i < engine->count; i++) {
        if (engine->bodies[i] != nullptr) {
            engine->before[i] = pose_of(engine->bodies[i]);
        }
    }
    float dt = 1.0f / static_cast<float>(step->config->tick_rate_hz);
    engine->world.Step(dt, static_cast<int32>(step->config->params[VELOCITY_ITERATIONS]),
                       static_cast<int32>(step->config->params[POSITION_ITERATIONS]));
}

/* The engine rounds as the process does, so the process rounds as it should. */
void pass_events(const ls_step *step)
{
    ls_strict_double_pass(run_events, step);
}

void pass_push(const ls_step *step)
{
    ls_strict_double_pass(run_push, step);
}

void pass_world(const ls_step *step)
{
    ls_strict_double_pass(run_world, step);
}

constexpr ls_pass passes[] = {{"events", pass_events}, {"push", pass_push}, {"world", pass_world}};

/* ---- hash ---- */

uint64_t fold(uint64_t sum, float value)
{
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return ls_hash_pair(sum, bits);
}

uint64_t hash(const ls_sim_config *, const void *state)
{
    const Engine *engine = engine_of(state);
    uint64_t sum = ls_hash_pair(engine->count, 0);
    for (uint32_t i = 0; i < engine->count; i++) {
        const b2Body *body = engine->bodies[i];
        sum = ls_hash_pair(sum, body != nullptr ? 1 + body->IsAwake() : 0);
        if (body == nullptr) {
            continue;
        }
        b2Vec2 position = body->GetPosition();
        b2Vec2 velocity = body->GetLinearVelocity();
        sum = fold(fold(sum, position.x), position.y);
        sum = fold(sum, body->GetAngle());
        sum = fold(fold(sum, velocity.x), velocity.y);
        sum = fold(sum, body->GetAngularVelocity());
    }
    for (uint32_t slot = 0; slot < PLAYERS_MAX; slot++) {
        sum = ls_hash_pair(sum, engine->is_jump_held[slot]);
    }
    return sum;
}

/* Another engine is another game, even of the same release: Debian's for aarch64 has fused
 * multiply-adds. Machines with different ones never share a match. */
uint64_t content_digest(const ls_sim_config *)
{
    const engine_release release = {static_cast<uint8_t>(b2_version.major),
                                    static_cast<uint8_t>(b2_version.minor),
                                    static_cast<uint8_t>(b2_version.revision)};
    return engine_scene_digest(lockstep_simulation(), release);
}

void explain_content(uint64_t client, uint64_t server, ls_text *out)
{
    engine_scene_explain("Box2D", client, server, out);
}

/* ---- drawing ---- */

constexpr uint32_t WALL_IDS = BODIES_MAX;
constexpr uint32_t WALL_COLOUR = 0x55606eFFu;
constexpr uint32_t CRATE_COLOURS[] = {0xc8a06aFFu, 0xb98f5cFFu, 0xd6b27fFFu};
constexpr ls_fixed WALL_HALF = LS_FIXED_ONE / 4;

void draw_walls(ls_fixed half, ls_draw_list *list)
{
    ls_fixed top = LS_FIXED_INT(6);
    for (uint32_t i = 0; i < 3; i++) {
        ls_draw_shape wall = {};
        wall.kind = LS_DRAW_BOX;
        wall.id = WALL_IDS + i;
        wall.colour = WALL_COLOUR;
        wall.x = i == 0 ? 0 : i == 1 ? -half - WALL_HALF : half + WALL_HALF;
        wall.y = i == 0 ? -WALL_HALF : top - WALL_HALF;
        wall.half_width = i == 0 ? half : WALL_HALF;
        wall.half_height = i == 0 ? WALL_HALF : top + WALL_HALF;
        ls_draw_push(list, wall);
    }
}

/* The host that keeps two worlds shows between them; the one that has one shows its past. */
Pose past_pose(const Engine *past, const Engine *now, uint32_t i)
{
    if (past == now) {
        return now->before[i];
    }
    return pose_of(past->bodies[i] != nullptr ? past->bodies[i] : now->bodies[i]);
}

void draw_body(const Engine *past, const Engine *now, uint32_t i, uint32_t players, ls_fixed alpha,
               ls_draw_list *list)
{
    Pose from = past_pose(past, now, i);
    Pose to = pose_of(now->bodies[i]);
    bool is_ball = i < players;
    ls_vec2 at = ls_lerp_vec2(from.position, to.position, alpha);
    ls_draw_shape shape = {};
    shape.kind = is_ball ? LS_DRAW_DISC : LS_DRAW_BOX;
    shape.id = i;
    shape.colour = is_ball ? ls_player_colour(i) : CRATE_COLOURS[i % 3];
    shape.angle = ls_lerp_angle(from.angle, to.angle, alpha);
    shape.x = at.x;
    shape.y = at.y;
    shape.half_width =
        ls_fixed_from_double(static_cast<double>(is_ball ? BALL_RADIUS : CRATE_HALF));
    shape.half_height = shape.half_width;
    shape.owner = is_ball ? i + 1 : 0;
    ls_draw_push(list, shape);
}

void draw(const ls_sim_config *config, const void *previous, const void *current, ls_fixed alpha,
          ls_draw_list *list)
{
    const Engine *past = engine_of(previous);
    const Engine *now = engine_of(current);
    ls_fixed half = ls_fixed_from_double(static_cast<double>(room_half(config)));
    list->view_min = {-half - LS_FIXED_ONE, -LS_FIXED_ONE};
    list->view_max = {half + LS_FIXED_ONE, half};
    draw_walls(half, list);
    for (uint32_t i = 0; i < now->count; i++) {
        if (now->bodies[i] != nullptr) {
            draw_body(past, now, i, config->players, alpha, list);
        }
    }
}

void status(const ls_sim_config *config, const void *, uint32_t slot, ls_status_list *list)
{
    ls_status_push_players(list, config->players, slot,
                           "left and right or A and D roll   space or up jumps");
}

/* ---- who plays ---- */

/* Runs from wall to wall, and jumps as it comes to the crates. */
uint32_t bot(const ls_sim_config *config, const void *state, uint32_t slot, ls_rng *rng,
             uint8_t *bytes)
{
    const b2Body *ball = engine_of(state)->bodies[slot];
    bool jumps = ls_rng_below(rng, 45) == 0;
    bool hesitates = ls_rng_below(rng, 8) == 0;
    bytes[0] = jumps ? JUMP : 0;
    if (ball == nullptr || hesitates) {
        return 1;
    }
    float x = ball->GetPosition().x;
    float turn = room_half(config) - 2.0f;
    bool is_right = x < -turn || (x < turn && ball->GetLinearVelocity().x > 0.0f);
    bytes[0] = static_cast<uint8_t>(bytes[0] | (is_right ? RIGHT : LEFT));
    return 1;
}

uint32_t control(const ls_sim_config *, const void *, uint32_t, const ls_controls *controls,
                 uint8_t *bytes)
{
    uint32_t down = controls->held | controls->pressed;
    bool is_left = (down & LS_CONTROL_LEFT) || controls->stick.x < -LS_FIXED_HALF;
    bool is_right = (down & LS_CONTROL_RIGHT) || controls->stick.x > LS_FIXED_HALF;
    bool jumps = (down & (LS_CONTROL_FIRST | LS_CONTROL_UP)) != 0;
    bytes[0] =
        static_cast<uint8_t>((is_left ? LEFT : 0) | (is_right ? RIGHT : 0) | (jumps ? JUMP : 0));
    return 1;
}

constexpr ls_simulation make()
{
    ls_simulation game = {};
    game.abi = LS_SIMULATION_ABI;
    game.size = sizeof game;
    game.version = 1;
    game.name = "box2d";
    game.summary = "balls roll into a pyramid of crates, by the Box2D engine";
    game.default_tick_rate_hz = 60;
    game.default_players = 2;
    game.players_max = PLAYERS_MAX;
    game.input_bytes_max = 1;
    game.params = params;
    game.param_count = PARAM_COUNT;
    game.passes = passes;
    game.pass_count = sizeof passes / sizeof passes[0];
    game.content_digest = content_digest;
    game.explain_content = explain_content;
    game.state_bytes = state_bytes;
    game.init = init;
    game.draw = draw;
    game.bot = bot;
    game.control = control;
    game.input_bits = ls_buttons_in_first_byte;
    game.status = status;
    game.hash = hash;
    game.deinit = deinit;
    return game;
}

constexpr ls_simulation simulation = make();

} // namespace

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void)
{
    return &simulation;
}

/* What the engine calls in place of the C library's, where it is built along (CMakeLists.txt). */
extern "C" {
float box2d_sinf(float x);
float box2d_cosf(float x);
float box2d_atan2f(float y, float x);
float box2d_expf(float x);
void box2d_sincosf(float x, float *sine, float *cosine);

float box2d_sinf(float x)
{
    return static_cast<float>(ls_strict_sin(static_cast<double>(x)));
}

float box2d_cosf(float x)
{
    return static_cast<float>(ls_strict_cos(static_cast<double>(x)));
}

float box2d_atan2f(float y, float x)
{
    return static_cast<float>(ls_strict_atan2(static_cast<double>(y), static_cast<double>(x)));
}

float box2d_expf(float x)
{
    return static_cast<float>(ls_strict_exp(static_cast<double>(x)));
}

void box2d_sincosf(float x, float *sine, float *cosine)
{
    *sine = box2d_sinf(x);
    *cosine = box2d_cosf(x);
}
}
