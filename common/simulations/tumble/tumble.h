/* Tumble: a built-in simulation of rigid boxes and balls in space, with orientations as
 * quaternions. They fall into a room with a floor and four walls, pile up and come to rest; players
 * are balls that push them about. Fixed point throughout; z is up. Called through its
 * ls_simulation; views and tests use the pad below to make inputs. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_TUMBLE_TUMBLE_H
#define LOCKSTEP_COMMON_SIMULATIONS_TUMBLE_TUMBLE_H

#include "lockstep/common/simulation/simulation.h"

/* An input is a pad of three bytes: buttons; how hard to push along x and along y, i8, -127 .. 127
 * (-128 counts as -127). Along x is right in the picture, along y is away. Missing bytes are 0. */
#define LS_TUMBLE_PAD_BYTES 3u
#define LS_TUMBLE_JUMP 0x01u

const ls_simulation *ls_tumble_simulation(void);

#endif
