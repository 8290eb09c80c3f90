/* Arena: a built-in simulation of rigid bodies and player ships, seen from above.
 * Discs and boxes collide with rotation, friction and restitution between four walls; ships push
 * them and shoot. There is no gravity: drag brings everything to rest. Fixed point throughout.
 * Called through its ls_simulation; views and tests use the pad below to make inputs. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_ARENA_ARENA_H
#define LOCKSTEP_COMMON_SIMULATIONS_ARENA_ARENA_H

#include "lockstep/common/simulation/simulation.h"

/* An input is a pad of two bytes. Byte 0: the buttons below; other bits mean nothing. Byte 1: the
 * stick as i8, -127 (right, clockwise) to 127 (left); -128 counts as -127. Bytes that are missing
 * are 0. LEFT and RIGHT turn at full rate and overrule the stick unless both are held. */
#define LS_ARENA_PAD_BYTES 2u
#define LS_ARENA_THRUST 0x01u
#define LS_ARENA_REVERSE 0x02u
#define LS_ARENA_LEFT 0x04u
#define LS_ARENA_RIGHT 0x08u
#define LS_ARENA_BRAKE 0x10u
#define LS_ARENA_FIRE 0x20u

/* The ids of its cues. Each belongs to a player and is heard from a place. */
typedef enum ls_arena_cue {
    LS_ARENA_CUE_SHOT = 1, /* the player fired */
    LS_ARENA_CUE_HIT,      /* a shot of the player's met a ship or a body */
    LS_ARENA_CUE_LOST,     /* the player's ship was destroyed */
    LS_ARENA_CUE_SPAWN,    /* the player's ship came into play */
} ls_arena_cue;

const ls_simulation *ls_arena_simulation(void);

#endif
