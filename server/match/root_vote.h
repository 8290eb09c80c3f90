/* Root vote: decides whether a client or the server is wrong when their states differ: the clients'
 * state hashes are compared with each other, too. A server that most machines differ from, all in
 * the same root, is the one that differs. Only counts. */
#ifndef LOCKSTEP_SERVER_MATCH_ROOT_VOTE_H
#define LOCKSTEP_SERVER_MATCH_ROOT_VOTE_H

#include "lockstep/server/match/arbiter.h"

/* The slots of those who have a say, as bits. */
typedef struct ls_root_voters {
    uint32_t in_play;
    uint32_t finished; /* of them: no later state of theirs will be compared */
} ls_root_voters;

typedef struct ls_root_vote {
    uint32_t slots; /* that have the same root as this slot, as bits; this one is among them */
    uint32_t with_client; /* how many they are */
    uint32_t with_server; /* clients that have the server's */
    uint32_t unknown;     /* that have not been compared so far */
} ls_root_vote;

/* About the first state in which a slot differs from the server. Slots that differed before have no
 * say. */
ls_root_vote ls_root_vote_count(const ls_arbiter *arbiter, ls_root_voters voters, uint32_t slot);

/* More machines share another root than the server's, the server itself being one: a tie says
 * nothing, and two clients that have the same fault are no reason to doubt the others. */
bool ls_root_vote_is_against_server(const ls_root_vote *vote);

/* Those that have not been compared cannot change what follows: the server is not outvoted, or it
 * is known how many agree against it. */
bool ls_root_vote_is_decided(const ls_root_vote *vote);

#endif
