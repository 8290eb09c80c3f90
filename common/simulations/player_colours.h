/* Player colours: what a slot's things look like in every simulation's picture. For drawing only;
 * never reaches a state. Called by draw functions. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_PLAYER_COLOURS_H
#define LOCKSTEP_COMMON_SIMULATIONS_PLAYER_COLOURS_H

#include <stdint.h>

/* 0xRRGGBBAA; a slot beyond the sixteenth shares one. */
static inline uint32_t ls_player_colour(uint32_t slot)
{
    static const uint32_t colours[16] = {
        0xe6194bFFu, 0x3cb44bFFu, 0x4363d8FFu, 0xf58231FFu, 0x911eb4FFu, 0x42d4f4FFu,
        0xf032e6FFu, 0xbfef45FFu, 0xfabed4FFu, 0x469990FFu, 0xdcbeffFFu, 0x9a6324FFu,
        0xfffac8FFu, 0x800000FFu, 0xaaffc3FFu, 0x808000FFu,
    };
    return colours[slot % 16];
}

#endif
