/* Journal record: what stands in the records of a journal (JOURNAL.md), before they are compressed
 * and framed, each as one list of fields that measures, writes and reads; and the store, to which a
 * recorder hands records. No I/O, no allocation; bytes that are read are not trusted. */
#ifndef LOCKSTEP_COMMON_ENCODING_JOURNAL_RECORD_H
#define LOCKSTEP_COMMON_ENCODING_JOURNAL_RECORD_H

#include "lockstep/common/base/build_fingerprint.h"
#include "lockstep/common/base/byte_stream.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/secret.h"
#include "lockstep/common/simulation/sim_instance.h"

LS_C_BEGIN

/* ---- what identifies a match, as lists of fields that every format kept on disk shares:
 * configuration, digests, build fingerprint ---- */

/* The configuration as every version of the formats has it; and what later ones may have behind the
 * rest: an exact tick rate, strings, and sizes and digests of files. */
void ls_sim_config_stream(ls_byte_stream *stream, ls_sim_config *config);
void ls_sim_config_later_stream(ls_byte_stream *stream, ls_sim_config *config);

/* The same as the last list of a record, which is not there where there is nothing to tell: so that
 * records without strings and files are as they always were. */
void ls_sim_config_end_stream(ls_byte_stream *stream, ls_sim_config *config);

void ls_sim_digests_stream(ls_byte_stream *stream, ls_sim_digests *digests);
void ls_build_fingerprint_stream(ls_byte_stream *stream, ls_build_fingerprint *print);

/* X(NAME, number, what a person reads). Numbers never change their meaning. */
#define LS_JOURNAL_KIND_MAP(X)                                                                     \
    X(HEADER, 1, "header")                                                                         \
    X(TICKS, 2, "ticks")                                                                           \
    X(EVENT, 3, "events")                                                                          \
    X(SNAPSHOT, 4, "snapshots")                                                                    \
    X(INDEX, 5, "index")                                                                           \
    X(END, 6, "end")

typedef enum ls_journal_kind {
#define LS_JOURNAL_KIND_ENUM(name, number, text) LS_JOURNAL_##name = (number),
    LS_JOURNAL_KIND_MAP(LS_JOURNAL_KIND_ENUM)
#undef LS_JOURNAL_KIND_ENUM
    LS_JOURNAL_KIND_COUNT,
} ls_journal_kind;

const char *ls_journal_kind_name(ls_journal_kind kind); /* "unknown" for another number */

/* ---- HEADER ---- */

/* Everything that is needed to run the match again, or to go on with it. */
typedef struct ls_journal_header {
    uint64_t match_id;     /* unlike that of any other match */
    ls_secret_key key;     /* resume secrets are derived from it: keep it secret */
    uint32_t match_number; /* among the matches of its server */
    ls_tick first_tick;    /* 0, or where a cut begins: with a snapshot of it */
    char simulation[LS_NAME_BYTES_MAX];
    uint32_t simulation_version;
    ls_sim_config config;
    ls_sim_digests digests; /* `initial` is the state hash of state 0 */
    uint32_t input_bytes_max;
    uint64_t save_bytes; /* of a snapshot; 0: states are not saved */

    /* The match's settings as the server's command line has them. */
    uint32_t hash_interval_ticks;
    uint32_t late_rule;
    uint32_t send_rate;
    uint32_t on_desync;
    uint32_t ticks; /* asked for; 0: open end */
    uint32_t input_delay_ticks;
    bool adapts_input_delay;
    uint32_t timeout_ms;
    uint32_t wait_limit_ms;

    ls_build_fingerprint print;
} ls_journal_header;

/* Room that any header fits in. */
#define LS_JOURNAL_HEADER_BYTES_MAX 4096u

void ls_journal_header_stream(ls_byte_stream *stream, ls_journal_header *header);

/* Whether this is the simulation that was recorded: SIMULATION_MISMATCH or
 * SIMULATION_VERSION_MISMATCH, explained. The digests of its instance are compared by
 * ls_sim_digests_check. */
ls_status ls_journal_header_check_simulation(const ls_journal_header *header,
                                             const ls_simulation *simulation, ls_text *why);

/* ---- EVENT ---- */

/* X(NAME, number, what a person reads). Numbers never change their meaning. */
#define LS_JOURNAL_EVENT_MAP(X)                                                                    \
    X(SEATED, 1, "took a seat") /* slot; text: the player's name */                                \
    X(STARTED, 2, "the match started")                                                             \
    X(LEFT, 3, "left")               /* slot; text: why */                                         \
    X(STALLED, 4, "the match waits") /* text: slots, and how long */                               \
    X(DESYNC, 5, "differs")          /* slot, tick of the first state that does; state hashes */   \
    X(CAUSE, 6, "cause of a difference")    /* slot, tick; text */                                 \
    X(HEALED, 7, "healed")                  /* slot, tick from which on it agrees */               \
    X(FAILED, 8, "writing failed")          /* text: why */                                        \
    X(GAP, 9, "ticks were not recorded")    /* tick: the first of them; text: how many */          \
    X(RESUMED, 10, "the match was resumed") /* tick */                                             \
    X(ENDED, 11, "the match ended")         /* tick: final tick */                                 \
    X(RETURNED, 12, "came back")            /* slot, to a seat that was its own; text: name */     \
    X(LOST, 13, "its link was lost")        /* slot, whose seat is kept; text: why */              \
    X(RESTORED, 14, "the server came back") /* tick: where the journal ended */                    \
    X(TURNED_AWAY, 15, "was turned away")   /* slot, who was SEATED last and did not play; why */  \
    X(SECRET_PROVEN, 16, "has another secret") /* slot; text: its number in decimal */             \
    X(PUBLIC, 17, "everybody may watch")       /* before the first tick: a broadcast may show it */

typedef enum ls_journal_event_kind {
#define LS_JOURNAL_EVENT_ENUM(name, number, text) LS_JOURNAL_EVENT_##name = (number),
    LS_JOURNAL_EVENT_MAP(LS_JOURNAL_EVENT_ENUM)
#undef LS_JOURNAL_EVENT_ENUM
    LS_JOURNAL_EVENT_COUNT,
} ls_journal_event_kind;

const char *ls_journal_event_name(uint32_t kind); /* "STARTED"; "UNKNOWN" for another number */
const char *ls_journal_event_text(uint32_t kind);

#define LS_JOURNAL_NO_SLOT UINT32_MAX

/* A kind that is not in the list is read all the same: a later build wrote it. */
typedef struct ls_journal_event {
    uint32_t kind; /* ls_journal_event_kind */
    ls_tick tick;  /* what it is about; if nothing, ticks closed when it happened */
    uint32_t slot; /* or LS_JOURNAL_NO_SLOT */
    ls_text text;
} ls_journal_event;

#define LS_JOURNAL_EVENT_BYTES_MAX (16u + LS_TEXT_BYTES_MAX)

void ls_journal_event_stream(ls_byte_stream *stream, ls_journal_event *event);

/* ---- SNAPSHOT ---- */

/* A state is written in pieces of this many bytes, the last one shorter. */
#define LS_JOURNAL_PIECE_BYTES (1u << 20)

/* The head before the bytes of a piece, the same in each but for its index. */
typedef struct ls_journal_snapshot {
    ls_tick tick;
    uint64_t state_hash;     /* of the state */
    uint64_t hash_chain;     /* of the states hashed up to hash_chain_tick */
    ls_tick hash_chain_tick; /* the newest hashed one that is not behind `tick` */
    uint64_t tick_chain;     /* of the ticks before `tick` */
    uint64_t state_bytes;    /* of all pieces: what ls_sim_instance_load takes */
    uint32_t piece;          /* from 0 */
} ls_journal_snapshot;

#define LS_JOURNAL_SNAPSHOT_HEAD_BYTES 44u

void ls_journal_snapshot_stream(ls_byte_stream *stream, ls_journal_snapshot *snapshot);

uint32_t ls_journal_pieces(uint64_t state_bytes);                   /* 1 or more */
size_t ls_journal_piece_size(uint64_t state_bytes, uint32_t piece); /* piece < the count */

/* ---- END ---- */

typedef struct ls_journal_end {
    ls_tick final_tick;
    uint64_t final_hash;
    uint64_t tick_chain;   /* behind the last closed tick */
    uint64_t ticks;        /* recorded */
    uint64_t index_offset; /* of the INDEX record's frame, from the start of the file */
} ls_journal_end;

#define LS_JOURNAL_END_BYTES 36u

void ls_journal_end_stream(ls_byte_stream *stream, ls_journal_end *end);

/* ---- records ---- */

/* A record that is to be written: its payload is `head`, then `bytes`. */
typedef struct ls_journal_raw {
    ls_journal_kind kind;
    ls_tick tick;     /* TICKS: its first; SNAPSHOT: its own; otherwise nothing */
    bool is_pressing; /* it, and all before it, is to survive a crash from now on */
    uint8_t head[64];
    uint32_t head_bytes;
    const uint8_t *bytes; /* borrowed until its completion */
    size_t size;
} ls_journal_raw;

/* The record of each; `bytes` holds the payload. */
ls_journal_raw ls_journal_header_record(const ls_journal_header *header,
                                        uint8_t bytes[LS_JOURNAL_HEADER_BYTES_MAX]);
ls_journal_raw ls_journal_event_record(const ls_journal_event *event,
                                       uint8_t bytes[LS_JOURNAL_EVENT_BYTES_MAX]);
ls_journal_raw ls_journal_end_record(const ls_journal_end *end);

/* The piece that the head names, of the whole state. */
ls_journal_raw ls_journal_piece_record(const ls_journal_snapshot *head, const uint8_t *state);

/* ---- the store ---- */

/* Where records go, one at a time: they are compressed, framed and written elsewhere. A record that
 * fails leaves nothing behind: the next one is written in its place. */
typedef struct ls_journal_store {
    /* Takes a record (`raw` itself is copied), or returns false: not now, ask again later. Its
     * completion is told to the recorder before another one is taken. END comes without its
     * index_offset: the store adds the index before it. */
    bool (*submit)(void *user, const ls_journal_raw *raw);
    void *user;
} ls_journal_store;

/* How a record fared; told to the recorder in its own thread, after submit has returned. */
typedef struct ls_journal_completion {
    ls_status status;       /* OK, or IO: it is not in the file */
    uint64_t written_bytes; /* with its frame; 0 when it failed */
    const char *why;        /* a sentence, borrowed for the call; "" when it did not fail */
} ls_journal_completion;

LS_C_END

#endif
