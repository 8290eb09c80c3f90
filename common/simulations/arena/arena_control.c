#include "lockstep/common/simulations/arena/arena_control.h"

#include "lockstep/common/simulations/arena/arena.h"

#define STICK_DRIVES LS_FIXED_RATIO(3, 10) /* how far up or down it must be pushed to drive */

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
