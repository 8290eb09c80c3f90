/* Later state: a state to come that both sides of a case put aside when they get there, to see what
 * differs in it where the bad one is not held any more. Sends nothing, allocates nothing. Called by
 * investigation. */
#ifndef LOCKSTEP_SERVER_MATCH_LATER_STATE_H
#define LOCKSTEP_SERVER_MATCH_LATER_STATE_H

#include "lockstep/common/diagnosis/replay_window.h"
#include "lockstep/protocol/wire/message.h"

typedef struct ls_later_state {
    ls_tick tick;   /* 0: none was chosen */
    uint32_t count; /* chosen so far */
    bool is_asked;  /* the client was told to put it aside */
    bool is_known;  /* all that differs in it is */
} ls_later_state;

/* Nothing more is to be had of states to come. */
bool ls_later_state_is_used_up(const ls_later_state *later);

/* Chooses the next one: so far ahead that the client hears of it before it gets there, and has the
 * window record it. */
void ls_later_state_choose(ls_later_state *later, ls_replay_window *window, uint32_t tick_rate_hz,
                           uint64_t rtt_ns);

/* The window has not got there yet. */
bool ls_later_state_is_to_come(const ls_later_state *later, const ls_replay_window *window);

/* A query that makes the client put the state aside, and whose answer tells nothing else; false: it
 * was sent. */
bool ls_later_state_next_query(ls_later_state *later, ls_wire_query *out);

#endif
