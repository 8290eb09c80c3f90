/* The pads of an arena match: of bots, who aim ahead of their target and fire when lined up, and of
 * people. */
#include "lockstep/common/maths/fixed_trig.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/arena/arena_state.h"

#define SIGHT LS_FIXED_INT(60)              /* m: ships further off are left alone */
#define FIRE_RANGE LS_FIXED_INT(35)         /* m */
#define NEAR LS_FIXED_INT(5)                /* m: closer than this it brakes */
#define AIMED LS_FIXED_RATIO(12, 100)       /* rad */
#define WELL_TURNED LS_FIXED_RATIO(60, 100) /* rad */
#define STICK_PER_RADIAN LS_FIXED_INT(160)
#define STICK_PER_SPIN LS_FIXED_INT(16)
#define WOBBLE 12   /* of the stick, either way */
#define HESITATE 8u /* one tick in this many it does not thrust, and another not fire */

#define STICK_DRIVES LS_FIXED_RATIO(3, 10) /* how far up or down it must be pushed to drive */

/* Squares of lengths within the arena stay far below the limit of ls_fixed. */
static ls_fixed distance_square(ls_vec2 a, ls_vec2 b)
{
    ls_vec2 offset = ls_vec2_sub(b, a);
    return ls_vec2_dot(offset, offset);
}

/* The nearest body in first .. end-1 but `self`, nearer than the root of `limit`; NULL for none. */
static const ls_arena_body *nearest(const ls_arena_view *view, uint32_t first, uint32_t end,
                                    const ls_arena_body *self, ls_fixed limit)
{
    const ls_arena_body *best = NULL;
    for (uint32_t i = first; i < end; i++) {
        const ls_arena_body *body = &view->bodies[i];
        if (body == self || body->shape == LS_ARENA_NONE) {
            continue;
        }
        ls_fixed square = distance_square(self->position, body->position);
        if (square < limit) {
            limit = square;
            best = body;
        }
    }
    return best;
}

static const ls_arena_body *choose_target(const ls_arena_view *view, const ls_arena_body *self)
{
    uint32_t players = view->layout.player_count;
    ls_fixed sight = ls_fixed_mul(SIGHT, SIGHT);
    const ls_arena_body *ship = nearest(view, 0, players, self, sight);
    if (ship != NULL) {
        return ship;
    }
    return nearest(view, players, view->layout.body_count, self, LS_FIXED_MAX);
}

/* Where the target will be when a shot gets there. */
static ls_vec2 aim_at(const ls_arena_body *self, const ls_arena_body *target, ls_fixed distance)
{
    ls_fixed flight = ls_fixed_div(distance, LS_ARENA_SHOT_SPEED);
    ls_vec2 ahead = ls_vec2_add(target->position, ls_vec2_scale(target->velocity, flight));
    return ls_vec2_sub(ahead, self->position);
}

static int32_t choose_stick(ls_fixed error, ls_fixed spin, ls_rng *rng)
{
    ls_fixed stick =
        ls_fixed_sub(ls_fixed_mul(error, STICK_PER_RADIAN), ls_fixed_mul(spin, STICK_PER_SPIN));
    int32_t wobble = ls_rng_between(rng, -WOBBLE, WOBBLE);
    ls_fixed shaken = ls_fixed_add(stick, LS_FIXED_INT(wobble));
    return ls_fixed_floor(ls_fixed_clamp(shaken, LS_FIXED_INT(-127), LS_FIXED_INT(127)));
}

static uint8_t choose_buttons(ls_fixed error, ls_fixed distance, ls_rng *rng)
{
    uint8_t buttons = 0;
    bool thrusts = ls_rng_below(rng, HESITATE) != 0;
    bool fires = ls_rng_below(rng, HESITATE) != 0;
    if (distance < NEAR || ls_fixed_abs(error) > 2 * WELL_TURNED) {
        buttons |= LS_ARENA_BRAKE;
    } else if (thrusts && ls_fixed_abs(error) < WELL_TURNED) {
        buttons |= LS_ARENA_THRUST;
    }
    if (fires && ls_fixed_abs(error) < AIMED && distance < FIRE_RANGE) {
        buttons |= LS_ARENA_FIRE;
    }
    return buttons;
}

uint32_t ls_arena_bot(const ls_sim_config *config, const void *state, uint32_t slot, ls_rng *rng,
                      uint8_t *bytes)
{
    ls_arena_view view = ls_arena_view_of(config, state);
    const ls_arena_body *self = &view.bodies[slot];
    bytes[0] = 0;
    bytes[1] = 0;
    const ls_arena_body *target = self->shape == LS_ARENA_NONE ? NULL : choose_target(&view, self);
    if (target == NULL) {
        return LS_ARENA_PAD_BYTES;
    }
    ls_fixed distance = ls_vec2_length(ls_vec2_sub(target->position, self->position));
    ls_vec2 aim = aim_at(self, target, distance);
    ls_fixed error = ls_radians_from_angle(ls_fixed_atan2(aim.y, aim.x) - self->angle);
    bytes[0] = choose_buttons(error, distance, rng);
    bytes[1] = (uint8_t)choose_stick(error, self->spin, rng);
    return LS_ARENA_PAD_BYTES;
}

/* Up and down drive, left and right turn, the first button fires, the second brakes. */
uint32_t ls_arena_control(const ls_sim_config *config, const void *state, uint32_t slot,
                          const ls_controls *controls, uint8_t *bytes)
{
    static const struct {
        uint32_t control;
        uint8_t button;
    } buttons[] = {
        {LS_CONTROL_UP, LS_ARENA_THRUST},  {LS_CONTROL_DOWN, LS_ARENA_REVERSE},
        {LS_CONTROL_LEFT, LS_ARENA_LEFT},  {LS_CONTROL_RIGHT, LS_ARENA_RIGHT},
        {LS_CONTROL_FIRST, LS_ARENA_FIRE}, {LS_CONTROL_SECOND, LS_ARENA_BRAKE},
    };
    (void)config;
    (void)state;
    (void)slot;
    uint32_t down = controls->held | controls->pressed;
    uint8_t pad = 0;
    for (uint32_t i = 0; i < sizeof buttons / sizeof buttons[0]; i++) {
        pad |= down & buttons[i].control ? buttons[i].button : 0;
    }
    pad |= controls->stick.y > STICK_DRIVES ? LS_ARENA_THRUST : 0;
    pad |= controls->stick.y < -STICK_DRIVES ? LS_ARENA_REVERSE : 0;
    ls_fixed right = ls_fixed_clamp(controls->stick.x, -LS_FIXED_ONE, LS_FIXED_ONE);
    bytes[0] = pad;
    bytes[1] = (uint8_t)(-right * 127 / LS_FIXED_ONE); /* the arena's stick counts to the left */
    return LS_ARENA_PAD_BYTES;
}
