/* Hash log: the hashes of the states that closed ticks led to, one for every hash interval, for as
 * long as the server may ask for them, and the chain over all of them. Never hashes a state
 * itself. */
#ifndef LOCKSTEP_CLIENT_SESSION_HASH_LOG_H
#define LOCKSTEP_CLIENT_SESSION_HASH_LOG_H

#include "lockstep/client/session/session_outbox.h"
#include "lockstep/common/base/limits.h"

typedef struct ls_hash_log {
    uint32_t interval_ticks;
    uint64_t initial;
    ls_tick first;                    /* no state before it has its hash in the log */
    ls_tick tick;                     /* the newest state that the chain covers */
    uint64_t chain;                   /* up to there */
    uint64_t hashes[LS_WINDOW_TICKS]; /* by hashed state */
} ls_hash_log;

/* Starts with this hash of state 0. */
void ls_hash_log_init(ls_hash_log *log, uint32_t interval_ticks, uint64_t initial);

/* Forgets everything and starts with state 0 again. */
void ls_hash_log_restart(ls_hash_log *log);

/* Goes on with the chain of somebody else, which covers the states up to `chain_tick`. Of those the
 * log only holds the hash of state `tick`, when that is the newest of them. */
void ls_hash_log_continue(ls_hash_log *log, ls_tick chain_tick, uint64_t chain, ls_tick tick,
                          uint64_t hash);

/* Appends the hash of the next hashed state. */
void ls_hash_log_append(ls_hash_log *log, ls_tick tick, uint64_t hash);

/* Goes back to state `tick`, whose hash and chain are these; the hashes before it stay. */
void ls_hash_log_correct(ls_hash_log *log, ls_tick tick, uint64_t hash, uint64_t chain);

/* False when the state is no hashed one, or its hash is not held. */
bool ls_hash_log_get(const ls_hash_log *log, ls_tick tick, uint64_t *hash);

/* Sends the hashes that the server asks for, as far as they are held. */
void ls_hash_log_send(const ls_hash_log *log, const ls_hash_request *request,
                      ls_session_outbox *outbox);

#endif
