/* Fault: places where the code can be broken on purpose, so that a test can show that the breach is
 * noticed (tests/faultsim). They exist only where LS_FAULTS is defined, which no library of ours
 * is built with: everywhere else each is the constant false. Never a switch for users. */
#ifndef LOCKSTEP_COMMON_BASE_FAULT_H
#define LOCKSTEP_COMMON_BASE_FAULT_H

#include <stdbool.h>

/* Name, the invariant of the design that it breaks, and how. */
#define LS_FAULT_MAP(X)                                                                            \
    X(CLOSED_TICK_CHANGES, 1, "every 100th tick is sent with other inputs than it was closed")     \
    X(INPUT_ON_WRONG_TICK, 2, "a tick is closed with the input of the next")                       \
    X(LATE_INPUT_UNREPORTED, 2, "inputs that come late are not counted")                           \
    X(DIFFERENCE_UNREPORTED, 3, "a chain that differs is taken for an equal one")                  \
    X(WRONG_FIRST_TICK, 3, "a difference is reported one state too late")                          \
    X(FALSE_ALARM, 3, "a client hashes state 64 of each 128 wrongly")                              \
    X(NEVER_CATCHES_UP, 4, "a client that is behind stays behind")                                 \
    X(SILENT_STALL, 4, "a match that waits does not say whom for")                                 \
    X(SILENCE_STALLS, 5, "the rule 'repeat' waits for who is silent")                              \
    X(REJECTION_ALLOCATES, 5, "each packet that is rejected takes memory")                         \
    X(REJECTION_UNCOUNTED, 6, "packets that are rejected are not counted")                         \
    X(CHAIN_UNCHECKED, 6, "a chain up to a state that cannot be is compared: that is a crash")     \
    X(JOIN_UNCHECKED, 3, "the state hash of a joining client is not compared")                     \
    X(JOIN_WRONG_TICK, 1, "a state goes to who joins as that of the next tick")                    \
    X(CLOSED_TICK_LOST_ON_RESUME, 7, "a server that comes back asks no client for closed ticks")   \
    X(SHORT_REQUEST_ANSWERED, 8, "a REQUEST that is shorter than its answer is answered")          \
    X(STATES_UNLIMITED, 9, "a slot is sent a state as often as its player comes back")             \
    X(SPECTATING_UNLIMITED, 9, "a spectator is sent a state as often as it comes")                 \
    X(BUNDLES_UNLIMITED, 9, "each difference of a slot is written to a bundle")                    \
    X(LINES_UNLIMITED, 9, "what one slot causes may fill the log")                                 \
    X(STATE_REPEATED, 9, "who takes nothing of its state is sent it over and over")                \
    X(TICKS_UNPACED, 9, "closed ticks are sent again at every turn of the server")                 \
    X(WAITING_REPEATED, 9, "players are told of a wait at every turn of the server")               \
    X(FLOOD_READ, 9, "a peer's packets are read however many come")                                \
    X(DIFFERENCE_REPEATED, 9, "a state that is known to differ is looked into again")              \
    X(CONNECTION_KEPT, 9, "the memory of a connection outlives it")                                \
    X(JOINERS_REFUSED, 10, "a newcomer is refused while another one joins")                        \
    X(SLOW_JOINER_KEPT, 10, "who takes its state at a trickle keeps its stream")                   \
    X(SLOW_SPECTATOR_KEPT, 10, "who takes its state to watch at a trickle keeps its stream")

#ifdef LS_FAULTS
typedef enum ls_fault {
    LS_FAULT_NONE,
#define LS_FAULT_ENUM(name, invariant, text) LS_FAULT_##name,
    LS_FAULT_MAP(LS_FAULT_ENUM)
#undef LS_FAULT_ENUM
} ls_fault;

/* Defined by the program that chooses. */
extern ls_fault ls_fault_chosen;

#define LS_FAULT(name) (ls_fault_chosen == LS_FAULT_##name)
#else
#define LS_FAULT(name) false
#endif

#endif
