/* Resume vote: after a restart it waits for the players who were there, and finds out from what
 * they hold which ticks were closed that the journal does not have. It believes the players who
 * agree. Closes no tick: match.c takes the ticks that are decided. Only in a restored match. */
#ifndef LOCKSTEP_SERVER_MATCH_RESUME_VOTE_H
#define LOCKSTEP_SERVER_MATCH_RESUME_VOTE_H

#include "lockstep/server/match/seat_table.h"

typedef struct ls_resume_vote ls_resume_vote;

/* NO_MEMORY: what there is by then is destroyed with the match. */
ls_status ls_resume_vote_create(const ls_match *match, ls_resume_vote **out);
void ls_resume_vote_destroy(ls_resume_vote *vote);

/* The players of these slots are waited for from now on. */
void ls_resume_vote_begin(ls_resume_vote *vote, ls_slot_set waited);
ls_slot_set ls_resume_vote_waited(const ls_resume_vote *vote);

/* The players who are there have changed: all of them are told anew. */
void ls_resume_vote_renotify(ls_resume_vote *vote);

/* A player has sent a part of a tick. `link`: its own. `cursor` is working memory. */
ls_status ls_resume_vote_receive_part(ls_resume_vote *vote, uint32_t slot, const ls_tick_part *part,
                                      ls_peer_link *link, ls_tick_cursor *cursor);

/* The next tick that has been decided on and is not closed yet, borrowed until the next part comes;
 * false when there is none. */
bool ls_resume_vote_next_tick(ls_resume_vote *vote, ls_slot_input slots[LS_PLAYERS_MAX],
                              ls_tick_inputs *out);

/* The player is gone, for good or not. */
void ls_resume_vote_leave(ls_resume_vote *vote, uint32_t slot, bool is_kept);

/* Asks and tells what is due. True: nothing more is waited for, and the match goes on. */
bool ls_resume_vote_advance(ls_resume_vote *vote);
uint64_t ls_resume_vote_next_ns(const ls_resume_vote *vote);

/* The result as a sentence, when `back` of the players are there. */
void ls_resume_vote_describe(const ls_resume_vote *vote, uint32_t back, ls_text *text);

#endif
