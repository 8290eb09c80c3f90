/* Statuses: the one list of everything that can go wrong in Lockstep, with code, name and text.
 * Owns no state. Every fallible function of every layer returns an ls_status: 0 is success,
 * negative is a failure; results come through out-pointers that stay untouched on failure.
 * Never used for a programmer's mistake (that is LS_ASSERT). */
#ifndef LOCKSTEP_COMMON_BASE_STATUS_H
#define LOCKSTEP_COMMON_BASE_STATUS_H

#include "lockstep/common/base/language.h"

LS_C_BEGIN

/* Numbers never change meaning: they travel in reject messages (protocol/PROTOCOL.md). */
#define LS_STATUS_MAP(X)                                                                           \
    X(OK, 0, "ok")                                                                                 \
    X(NO_MEMORY, -1, "out of memory")                                                              \
    X(IO, -2, "input or output failed")                                                            \
    X(BAD_ARGUMENT, -3, "a value is out of its stated range")                                      \
    X(MALFORMED, -4, "bytes do not follow the format")                                             \
    X(FULL, -5, "no room left")                                                                    \
    X(NOT_FOUND, -6, "no such thing")                                                              \
    X(UNSUPPORTED, -7, "not supported by this simulation or build")                                \
    X(SCHEMA, -8, "the state schema does not cover the state")                                     \
    X(PLUGIN, -9, "the plug-in cannot be used")                                                    \
    X(STALE, -10, "too old: outside the window that is still held")                                \
    X(FUTURE, -11, "too far ahead: outside the window that can be held")                           \
    X(PROTOCOL_MISMATCH, -20, "protocol versions differ")                                          \
    X(ARITHMETIC_MISMATCH, -21, "arithmetic self-checks differ")                                   \
    X(SIMULATION_MISMATCH, -22, "simulations differ")                                              \
    X(SIMULATION_VERSION_MISMATCH, -23, "simulation versions differ")                              \
    X(PARAMETER_MISMATCH, -24, "simulation parameters differ")                                     \
    X(SCHEMA_MISMATCH, -25, "state schemas differ")                                                \
    X(CONTENT_MISMATCH, -26, "game content differs")                                               \
    X(INITIAL_STATE_MISMATCH, -27, "initial states differ")                                        \
    X(MATCH_FULL, -30, "every seat of the match is taken")                                         \
    X(ALREADY_STARTED, -31, "the match has already started")                                       \
    X(ALREADY_OVER, -32, "the match is over")                                                      \
    X(TIMED_OUT, -33, "nothing was heard in the time allowed")                                     \
    X(FELL_BEHIND, -34, "too far behind the live tick")                                            \
    X(DESYNCED, -35, "the state differs from the server's")                                        \
    X(MISBEHAVED, -36, "the peer broke the protocol")                                              \
    X(DISCONNECTED, -37, "the connection was closed")                                              \
    X(REFUSED, -38, "the connection could not be made")                                            \
    X(NOT_ADMITTED, -39, "the host of the match does not let this player in")                      \
    X(KICKED, -40, "the host of the match has sent this player away")                              \
    X(SAVED, -41, "the match was saved, and goes on another time")                                 \
    X(UNREACHABLE, -42, "no server is there")

typedef enum ls_status {
#define LS_STATUS_ENUM(name, value, text) LS_##name = (value),
    LS_STATUS_MAP(LS_STATUS_ENUM)
#undef LS_STATUS_ENUM
    LS_STATUS_WIDEST = 0x7fffffff, /* no status: as wide for a plug-in built with -fshort-enums */
} ls_status;

/* "MATCH_FULL" and "every seat of the match is taken"; for a number that is not in the list both
 * give "UNKNOWN". The strings are static. */
const char *ls_status_name(int status);
const char *ls_status_text(int status);

/* The next one of several steps: it is taken while those before went well, and gives the status. */
#define LS_THEN(status, step) ((status) = (status) == LS_OK ? (step) : (status))

LS_C_END

#endif
