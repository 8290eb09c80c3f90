/* Tick log: the authority's closed ticks and what they made: inputs, codings as they are sent,
 * chains, times of closing, the simulation's instance, the hashes of its states, and what of them
 * can be simulated again. A tick is appended once and never changes. Until it is opened it has the
 * instance at state 0 alone, which may rest, and takes no memory for ticks. It never decides what
 * is closed, and sends nothing. match.c appends; every part of the match reads. */
#ifndef LOCKSTEP_SERVER_MATCH_TICK_LOG_H
#define LOCKSTEP_SERVER_MATCH_TICK_LOG_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/diagnosis/replay_window.h"
#include "lockstep/common/simulation/input_buffer.h"
#include "lockstep/common/simulation/simulation.h"
#include "lockstep/protocol/wire/tick_packet.h"
#include "lockstep/server/match/aged_state.h"
#include "lockstep/server/match/match_context.h"

/* ---- Hash record: the hashes of the server's newest states and the chains over them, as a ring.
 * States whose tick is a multiple of the interval are hashed. It knows state 0 alone until it is
 * opened, which takes the memory for the others. Compares nothing and sends nothing. Owned by
 * tick_log; read by everything that compares a client's states with the server's ---- */

/* A state that was hashed. */
typedef struct ls_hashed_state {
    uint64_t state_hash;
    uint64_t chain; /* up to this one */
} ls_hashed_state;

typedef struct ls_hash_record {
    uint32_t interval_ticks;
    ls_tick newest_tick;
    ls_tick first_tick;      /* no chain before this is held, of a match that was restored */
    ls_tick first_hash;      /* likewise no state hash */
    ls_hashed_state *states; /* [LS_WINDOW_TICKS]; NULL before it is opened */
    ls_hashed_state state_0;
} ls_hash_record;

/* Every packet asks these. */

/* Due states fill the ring densely: state tick stands at (tick / interval) % window. */
static inline ls_hashed_state ls_hash_record_at(const ls_hash_record *record, ls_tick tick)
{
    return record->states ? record->states[tick / record->interval_ticks % LS_WINDOW_TICKS]
                          : record->state_0;
}

/* Whether state `tick` is one that is hashed. */
static inline bool ls_hash_record_is_due(const ls_hash_record *record, ls_tick tick)
{
    return tick % record->interval_ticks == 0;
}

/* Due and not in the future; it may be too old to be held. */
static inline bool ls_hash_record_is_known(const ls_hash_record *record, ls_tick tick)
{
    return ls_hash_record_is_due(record, tick) && tick <= record->newest_tick;
}

/* The oldest due state that is held. */
static inline ls_tick ls_hash_record_oldest(const ls_hash_record *record)
{
    uint64_t span = (uint64_t)(LS_WINDOW_TICKS - 1) * record->interval_ticks;
    ls_tick oldest = record->newest_tick > span ? (ls_tick)(record->newest_tick - span) : 0;
    return oldest > record->first_tick ? oldest : record->first_tick;
}

/* Due, and not too old. */
static inline bool ls_hash_record_holds(const ls_hash_record *record, ls_tick tick)
{
    return ls_hash_record_is_known(record, tick) && tick >= ls_hash_record_oldest(record);
}

/* The chain up to state `tick`, and the hash of that state; false when it is not held. */
static inline bool ls_hash_record_chain(const ls_hash_record *record, ls_tick tick, uint64_t *chain)
{
    if (!ls_hash_record_holds(record, tick)) {
        return false;
    }
    *chain = ls_hash_record_at(record, tick).chain;
    return true;
}

static inline bool ls_hash_record_hash(const ls_hash_record *record, ls_tick tick,
                                       uint64_t *state_hash)
{
    if (!ls_hash_record_holds(record, tick) || tick < record->first_hash) {
        return false;
    }
    *state_hash = ls_hash_record_at(record, tick).state_hash;
    return true;
}

/* Whether a peer's state is the server's: OK or DESYNCED. MISBEHAVED: there is none to compare it
 * with yet; FELL_BEHIND: that is not held any more. */
ls_status ls_hash_record_compare(const ls_hash_record *record, ls_tick tick, uint64_t state_hash);

/* The hash is that of state 0. interval_ticks >= 1. */
void ls_hash_record_init(ls_hash_record *record, uint32_t interval_ticks, uint64_t state_hash);
void ls_hash_record_deinit(ls_hash_record *record, const ls_allocator *allocator);

/* Takes the memory for the states after state 0; none has been added. NO_MEMORY. */
ls_status ls_hash_record_open(ls_hash_record *record, const ls_allocator *allocator);

/* One that was just opened goes on where another record stopped: `chain` is up to state `tick`,
 * whose hash is known or 0. */
void ls_hash_record_restore(ls_hash_record *record, ls_tick tick, uint64_t chain,
                            uint64_t state_hash);

/* Adds the hash of the next due state to one that is open: newest_tick + interval_ticks. */
void ls_hash_record_add(ls_hash_record *record, ls_tick tick, uint64_t state_hash);

/* Asks for the memory that the next state will need, of one that is open. */
void ls_hash_record_prefetch(const ls_hash_record *record);

/* A closed tick, but for its inputs. */
typedef struct ls_closed_tick {
    uint64_t closed_ns; /* when it was */
    uint64_t chain;     /* before it; tick `next` has one already */
} ls_closed_tick;

/* Every part may read it; tick_log.c alone writes it, but for `next_due_ns`. */
typedef struct ls_tick_log {
    /* Every packet needs what stands before `large`. */
    ls_tick next; /* the first tick that is not closed */
    uint32_t players;
    uint32_t input_bytes_max;
    uint32_t coded_count; /* a power of two */
    uint64_t closed_ns;   /* when the newest one was; 0: none was */
    uint64_t next_due_ns; /* when tick `next` is due, as tick_closer says */
    ls_sim_instance *instance;
    ls_input_buffer *closed;  /* NULL before it is opened, and so are the next three */
    ls_closed_tick *ticks;    /* [LS_WINDOW_TICKS], by tick */
    ls_coded_tick *coded;     /* [coded_count], by tick: older ones are coded anew */
    ls_replay_window *window; /* NULL: nothing is kept to find causes of desyncs with */
    ls_tick_history *history; /* of a simulation whose state cannot be saved; else NULL */
    const ls_allocator *allocator;
    ls_hash_record hashes;
    /* Every slot's input of the newest closed tick, on which the next one is coded; empty inputs
     * where that tick is not known. */
    ls_slot_input newest[LS_PLAYERS_MAX];

    /* The tick that was coded last to be sent in parts. */
    uint32_t large_bytes; /* 0: none yet */
    ls_tick large_tick;
    bool is_large_keyframe;
    uint8_t *large; /* as large as a tick of the match can get */
} ls_tick_log;

/* NO_MEMORY, or what creating the simulation says, with `why`: what there is by then is destroyed
 * with the match. */
ls_status ls_tick_log_create(const ls_match *match, ls_tick_log **out, ls_text *why);
void ls_tick_log_destroy(ls_tick_log *log);

/* Takes the memory for ticks, of a log that is not open, and wakes the instance. NO_MEMORY, or what
 * that says: it is as it was. */
ls_status ls_tick_log_open(ls_tick_log *log, const ls_match_config *config);

static inline bool ls_tick_log_is_open(const ls_tick_log *log)
{
    return log->closed != NULL;
}

/* ---- closing ---- */

/* Closes tick `next` of an open log with these inputs, one a slot, and steps the instance. */
void ls_tick_log_append(ls_tick_log *log, const ls_slot_input *inputs, uint64_t now_ns);

/* The open log becomes what it was before a snapshot. Only before the first tick. MALFORMED,
 * DESYNCED or what loading says, with `why`: then the log can only be destroyed. */
ls_status ls_tick_log_restore(ls_tick_log *log, const ls_match_restore *from, ls_text *why);

/* ---- what there is ---- */

/* When a tick was closed, which is one of the newest LS_WINDOW_TICKS. */
static inline uint64_t ls_tick_log_closed_at(const ls_tick_log *log, ls_tick tick)
{
    return log->ticks[tick % LS_WINDOW_TICKS].closed_ns;
}

/* The bits of a tick as it is sent behind the one before it; NULL: it is not held coded. */
static inline const ls_coded_tick *ls_tick_log_coded(const ls_tick_log *log, ls_tick tick)
{
    const ls_coded_tick *coded = &log->coded[tick & (log->coded_count - 1)];
    bool is_held = log->next - tick <= log->coded_count && coded->bits > 0;
    return is_held ? coded : NULL;
}

bool ls_tick_log_holds(const ls_tick_log *log, ls_tick tick); /* the tick's inputs */

/* Every slot's input of a closed tick, borrowed until the next tick is closed. STALE when it is not
 * held any more, FUTURE when it is not closed yet. */
ls_status ls_tick_log_at(const ls_tick_log *log, ls_tick tick, ls_slot_input slots[LS_PLAYERS_MAX],
                         ls_tick_inputs *out);

/* The tick chain before `tick`, which is one of the newest LS_WINDOW_TICKS or the next one. */
uint64_t ls_tick_log_chain(const ls_tick_log *log, ls_tick tick);

/* Of the live state, also of an instance that rests. */
uint64_t ls_tick_log_state_hash(const ls_tick_log *log);

/* The newest hashed state's chain, and its tick. */
uint64_t ls_tick_log_hash_chain(const ls_tick_log *log, ls_tick *tick);

/* The live state with its tick and chains, but without its hash and bytes. */
ls_state_copy ls_tick_log_live(const ls_tick_log *log);

/* ---- sending ---- */

/* Codes a held tick; `is_keyframe`: against empty inputs, and not against the tick before it. False
 * when it does not fit. */
bool ls_tick_log_write_tick(const ls_tick_log *log, ls_tick tick, bool is_keyframe,
                            ls_bit_stream *stream);

/* A held tick as it is sent in parts, coded once for all peers that are sent it one after another.
 * Returns the size; the bytes are borrowed until the next call. */
uint32_t ls_tick_log_large_tick(ls_tick_log *log, ls_tick tick, bool is_keyframe,
                                const uint8_t **bytes);

/* Asks for the memory that the next tick will need, in two steps. */
void ls_tick_log_prefetch(const ls_tick_log *log);
void ls_tick_log_prefetch_more(const ls_tick_log *log);
/* And what an open log's next packet will. */
void ls_tick_log_prefetch_packet(const ls_tick_log *log);

#endif
