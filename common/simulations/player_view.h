/* Player view: what every simulation makes of a player in the same way: the colour of a slot's
 * things in the picture, and what a person's hands mean. Never reaches a state. Called by draw and
 * control functions. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_PLAYER_VIEW_H
#define LOCKSTEP_COMMON_SIMULATIONS_PLAYER_VIEW_H

#include "lockstep/common/simulation/simulation.h"

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

/* The status of a game without scores: a line for each seat with its colour alone, and the keys for
 * the person at `slot`, when one sits there. */
static inline void ls_status_push_players(ls_status_list *list, uint32_t players, uint32_t slot,
                                          const char *keys)
{
    ls_status_line line;
    line.kind = LS_STATUS_SEAT;
    line.text.bytes[0] = '\0';
    for (uint32_t seat = 0; seat < players; seat++) {
        line.owner = seat + 1;
        line.colour = ls_player_colour(seat);
        ls_status_push(list, line);
    }
    if (slot < players) {
        line.kind = LS_STATUS_KEYS;
        line.owner = 0;
        line.colour = 0;
        ls_text_set(&line.text, "%s", keys);
        ls_status_push(list, line);
    }
}

/* Where arrow keys and stick point together; -LS_FIXED_ONE .. LS_FIXED_ONE, y up. */
static inline ls_vec2 ls_controls_direction(const ls_controls *controls)
{
    ls_vec2 way = controls->stick;
    way.x += controls->held & LS_CONTROL_RIGHT ? LS_FIXED_ONE : 0;
    way.x -= controls->held & LS_CONTROL_LEFT ? LS_FIXED_ONE : 0;
    way.y += controls->held & LS_CONTROL_UP ? LS_FIXED_ONE : 0;
    way.y -= controls->held & LS_CONTROL_DOWN ? LS_FIXED_ONE : 0;
    way.x = ls_fixed_clamp(way.x, -LS_FIXED_ONE, LS_FIXED_ONE);
    way.y = ls_fixed_clamp(way.y, -LS_FIXED_ONE, LS_FIXED_ONE);
    return way;
}

#endif
