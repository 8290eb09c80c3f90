/* Arbiter: finds out whether, and from which tick on, a client's states differ from the server's.
 * Reads the server's hash record and holds what each slot has been proven to agree on. Sends
 * nothing: it says what to ask. */
#ifndef LOCKSTEP_SERVER_MATCH_ARBITER_H
#define LOCKSTEP_SERVER_MATCH_ARBITER_H

#include "lockstep/server/match/tick_log.h"

typedef enum ls_agreement {
    LS_AGREEMENT_AGREES,  /* every state up to the one compared */
    LS_AGREEMENT_ASKING,  /* differs; the state hashes have been asked for */
    LS_AGREEMENT_DOUBTED, /* the answer ended too early to explain it; the next chain decides */
    LS_AGREEMENT_DIFFERS, /* the first bad tick is known */
} ls_agreement;

typedef struct ls_arbiter_slot {
    ls_agreement agreement;
    ls_tick agreed_tick; /* newest state proven equal */
    bool has_agreed;     /* false until state 0 is proven equal */
    uint64_t compared;   /* states compared, equal or not */
    ls_tick asked_first;
    ls_tick asked_last;
    uint64_t asked_hash;    /* the server's, of state asked_last */
    ls_tick expected_first; /* of the next HASHES message */
    bool is_answering;      /* more of them are to come */
    ls_tick bad_tick;       /* DIFFERS */
    uint64_t server_hash;
    uint64_t client_hash;
} ls_arbiter_slot;

typedef struct ls_arbiter {
    const ls_hash_record *record;               /* the server's; borrowed */
    ls_arbiter_slot slots[LS_PLAYERS_MAX + 1u]; /* behind the players: a spectator */
} ls_arbiter;

void ls_arbiter_init(ls_arbiter *arbiter, const ls_hash_record *record);

/* Compares the low half of a slot's chain up to state `tick`. True when the state hashes from
 * *first on, *count of them at most, have to be asked for. The caller refuses states that are not
 * due, or not there yet, with ls_hash_record_is_known. */
bool ls_arbiter_compare(ls_arbiter *arbiter, uint32_t slot, ls_tick tick, uint32_t chain,
                        ls_tick *first, uint32_t *count);

/* Takes one HASHES answer; `is_last` says that no more come. True when it settles the question:
 * then the slot's agreement is DIFFERS. False when more is needed. Sets *is_contradiction when
 * every state hash agrees although the chain did not, or when the answer is not what was asked for.
 * States that are no longer held are passed over. The question lapses until the next chain when
 * the answer shows no difference: AGREES when it is complete, or would be if more were held, else
 * DOUBTED (which state the chain covers may have been altered on its way). */
bool ls_arbiter_receive_hashes(ls_arbiter *arbiter, uint32_t slot, ls_tick first,
                               const uint64_t *state_hashes, uint32_t count, bool is_last,
                               bool *is_contradiction);

/* Settles a question that will not be answered any more, or never was in full: the newest state
 * asked for differs, and the client's state hash of it stays 0. False when nothing is open. */
bool ls_arbiter_settle_unanswered(ls_arbiter *arbiter, uint32_t slot);

/* Compares the final state hashes, which need not be due. True when they differ and nothing was
 * known or asked about the slot before: then this tick is the first that is known to be bad. */
bool ls_arbiter_compare_hash(ls_arbiter *arbiter, uint32_t slot, ls_tick tick, uint64_t server_hash,
                             uint64_t client_hash);

/* The slot's player has the server's state `tick` and its chain: what is compared from here on
 * begins there. */
void ls_arbiter_join(ls_arbiter *arbiter, uint32_t slot, ls_tick tick);

/* A slot that differed has the server's state `tick` now and goes on with the server's chain. */
void ls_arbiter_heal(ls_arbiter *arbiter, uint32_t slot, ls_tick tick);

/* ---- who is wrong: the votes of the clients that said their hash of a state ---- */

/* The slots of those who have a say. */
typedef struct ls_root_voters {
    ls_slot_set in_play;
    ls_slot_set finished; /* of them: no later state of theirs will be compared */
} ls_root_voters;

typedef struct ls_root_vote {
    uint32_t with_client; /* clients that have the same root as this slot, this one among them */
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

/* The oldest of the newest states that players in play are known to have as the server has them;
 * UINT32_MAX: of none is it known. Players that differ are not counted. */
ls_tick ls_arbiter_oldest_agreed(const ls_arbiter *arbiter, const ls_root_voters *players);

#endif
