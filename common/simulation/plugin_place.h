/* Plug-in place: which function of a simulation the calling thread is in, so that a crash can name
 * it. Noted by every caller of a simulation, at the cost of a few stores; read by plugin_crash. */
#ifndef LOCKSTEP_COMMON_SIMULATION_PLUGIN_PLACE_H
#define LOCKSTEP_COMMON_SIMULATION_PLUGIN_PLACE_H

#include "lockstep/common/simulation/simulation.h"

/* X(NAME, how a sentence goes on after "crashed") */
#define LS_PLUGIN_CALL_MAP(X)                                                                      \
    X(NONE, "outside of the simulation")                                                           \
    X(OPEN, "while it was loaded")                                                                 \
    X(INIT, "in init")                                                                             \
    X(PASS, "in a pass")                                                                           \
    X(HASH, "in hash")                                                                             \
    X(SAVE, "in save")                                                                             \
    X(LOAD, "in load")                                                                             \
    X(DRAW, "in draw")                                                                             \
    X(BOT, "in bot")                                                                               \
    X(SOUNDS, "in sounds")                                                                         \
    X(INPUT_BITS, "in input_bits")                                                                 \
    X(STATUS, "in status")                                                                         \
    X(CONTROL, "in control")                                                                       \
    X(DEINIT, "in deinit")

typedef enum ls_plugin_call {
#define LS_PLUGIN_CALL_ENUM(name, text) LS_PLUGIN_CALL_##name,
    LS_PLUGIN_CALL_MAP(LS_PLUGIN_CALL_ENUM)
#undef LS_PLUGIN_CALL_ENUM
    LS_PLUGIN_CALL_COUNT,
} ls_plugin_call;

typedef struct ls_plugin_place {
    ls_plugin_call call;
    ls_tick tick;     /* of a PASS */
    const char *pass; /* likewise: its name */
} ls_plugin_place;

extern _Thread_local ls_plugin_place ls_plugin_place_here;

static inline void ls_plugin_place_enter(ls_plugin_call call)
{
    ls_plugin_place_here.call = call;
}

static inline void ls_plugin_place_leave(void)
{
    ls_plugin_place_here.call = LS_PLUGIN_CALL_NONE;
}

#endif
