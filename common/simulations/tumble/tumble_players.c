/* The players' part: joins and leaves, weight and the pads' effect on their balls, bots and hands.
 * All in slot order. Pads come from other machines: any bytes mean something harmless. */
#include "lockstep/common/maths/fixed_trig.h"
#include "lockstep/common/simulations/player_view.h"
#include "lockstep/common/simulations/tumble/tumble_world.h"

#include <string.h>

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
void ls_tumble_pass_events(const ls_step *step)
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

void ls_tumble_pass_push(const ls_step *step)
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
uint32_t ls_tumble_bot(const ls_sim_config *config, const void *state, uint32_t slot, ls_rng *rng,
                       uint8_t *bytes)
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
uint32_t ls_tumble_control(const ls_sim_config *config, const void *state, uint32_t slot,
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
