/* Message: the reliable messages of PROTOCOL.md as structs, with one function that writes and reads
 * all of them. Owns nothing; never trusts a byte. */
#ifndef LOCKSTEP_PROTOCOL_WIRE_MESSAGE_H
#define LOCKSTEP_PROTOCOL_WIRE_MESSAGE_H

#include "lockstep/common/base/chat.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/base/secret.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/diagnosis/state_tree.h"
#include "lockstep/common/lag/lag_verdict.h"
#include "lockstep/common/simulation/simulation.h"
#include "lockstep/protocol/wire/bit_stream.h"
#include "lockstep/protocol/wire/notices.h"
#include "lockstep/protocol/wire/tick_packet.h"

LS_C_BEGIN

#define LS_PROTOCOL_MAGIC UINT32_C(0x5453434c) /* "LCST" */
#define LS_PROTOCOL_VERSION 8u
#define LS_TOKEN_BYTES_MAX 256u
#define LS_TICKS_PER_REQUEST 32u /* LS_TICK_PARTS_AHEAD */
#define LS_HASHES_PER_MESSAGE 128u
#define LS_EVIDENCE_FIGURES_BYTES 55u /* LS_RERUN_FIGURES_BYTES */
#define LS_EVIDENCE_PRINT_BYTES_MAX 1144u
#define LS_EVIDENCE_RUN_MAX_MS 60000u

#define LS_MESSAGE_KIND_BITS 6u

/* Numbers are never reused. */
typedef enum ls_message_kind {
    LS_MESSAGE_HELLO = 1,
    LS_MESSAGE_OFFER = 2,
    LS_MESSAGE_READY = 3,
    LS_MESSAGE_START = 4,
    LS_MESSAGE_REFUSE = 5,
    LS_MESSAGE_GOODBYE = 6,
    LS_MESSAGE_HASH_REQUEST = 7,
    LS_MESSAGE_HASHES = 8,
    LS_MESSAGE_DESYNC = 9,
    LS_MESSAGE_END = 10,
    LS_MESSAGE_FINISHED = 11,
    LS_MESSAGE_WAITING = 12,
    LS_MESSAGE_INPUT_DELAY = 13,
    LS_MESSAGE_TREE_QUERY = 14,
    LS_MESSAGE_TREE_ANSWER = 15,
    LS_MESSAGE_EVIDENCE_REQUEST = 16,
    LS_MESSAGE_EVIDENCE = 17,
    LS_MESSAGE_BUILD_FINGERPRINT = 18,
    LS_MESSAGE_DESYNC_CAUSE = 19,
    LS_MESSAGE_HEAL_LEAF = 20,
    LS_MESSAGE_HEAL = 21,
    LS_MESSAGE_HEALED = 22,
    LS_MESSAGE_JOIN = 23,
    LS_MESSAGE_JOINED = 24,
    LS_MESSAGE_TICKS_REQUEST = 25,
    LS_MESSAGE_CLOSED_TICK = 26,
    LS_MESSAGE_RESUMING = 27,
    LS_MESSAGE_HEAL_SNAPSHOT = 28,
    LS_MESSAGE_NOTICE = 29,
    LS_MESSAGE_LAG = 30,
    LS_MESSAGE_CHAT = 31,
    LS_MESSAGE_INPUTS = 32,
    LS_MESSAGE_TICKS = 33,
    LS_MESSAGE_TICK_PART = 34,
    LS_MESSAGE_BLOB_PART = 36,
    LS_MESSAGE_BLOB_ACK = 37,
    LS_MESSAGE_LOBBY = 38,
    LS_MESSAGE_NAMES = 39,
} ls_message_kind;

/* The claim of a client that comes back to a seat. */
typedef struct ls_return {
    uint64_t match_id; /* 0: it does not come back */
    uint8_t secret[LS_SECRET_BYTES];
    ls_tick confirmed;   /* first closed tick that it does not hold */
    uint64_t tick_chain; /* before that tick */
    uint32_t held;       /* closed ticks that it holds before that one, 0 .. confirmed */
    bool is_desynced;    /* it was told that its states differ: its ticks may */
    ls_tick hashed_tick; /* its newest hashed state, 0 .. confirmed */
    uint32_t hash_chain; /* low half of the chain of state hashes up to that one */
    bool has_seal;
    ls_tick sealed_tick; /* 0 .. confirmed */
    uint32_t seal;       /* of that tick, as TICKS brought it */
    bool is_optional;    /* comes as a newcomer where the seat is not its own any more */
    bool is_joining;     /* it lacks some of the state that JOIN named, before the ticks it holds */
} ls_return;

typedef struct ls_hello {
    uint32_t magic;
    uint32_t protocol_version;
    uint64_t arithmetic;
    char name[LS_PLAYER_NAME_BYTES_MAX];
    char token[LS_TOKEN_BYTES_MAX];
    bool is_spectator;
    ls_return back;
} ls_hello;

typedef struct ls_ready {
    uint32_t simulation_version;
    uint64_t parameter_digest;
    uint64_t schema_digest;
    uint64_t content_digest;
    uint64_t initial_hash;
} ls_ready;

typedef struct ls_start {
    uint32_t delay_us; /* from sending until tick 0 closes */
    char names[LS_NAMES_PER_MESSAGE][LS_PLAYER_NAME_BYTES_MAX];
} ls_start;

/* NAMES: those that START, JOIN and LOBBY have no room for, before them. */
typedef struct ls_names {
    uint32_t first; /* slot, a multiple of LS_NAMES_PER_MESSAGE */
    char names[LS_NAMES_PER_MESSAGE][LS_PLAYER_NAME_BYTES_MAX];
} ls_names;

/* REFUSE and GOODBYE. */
typedef struct ls_close_reason {
    uint32_t negated_status;
    ls_text text;
} ls_close_reason;

typedef struct ls_hash_request {
    ls_tick first;
    uint32_t count;
} ls_hash_request;

typedef struct ls_hashes {
    ls_tick first;
    uint32_t count;
    uint64_t state_hashes[LS_HASHES_PER_MESSAGE];
} ls_hashes;

/* TREE_QUERY. */
typedef struct ls_wire_query {
    ls_tick tick;  /* of the state that is meant */
    uint32_t pass; /* LS_NO_PASS, or: the state behind this pass of the step that led to it */
    ls_tree_query query;
} ls_wire_query;

typedef struct ls_wire_answer {
    ls_wire_query asked;
    uint32_t size; /* 0: this state is not held any more */
    uint8_t bytes[LS_TREE_ANSWER_BYTES_MAX];
} ls_wire_answer;

typedef struct ls_evidence_request {
    ls_tick tick;         /* of the state that is meant */
    uint32_t pass;        /* LS_NO_PASS, or: the state behind this pass is wanted too */
    bool is_single;       /* what one run gives is enough, and without a pass no state is wanted */
    uint32_t time_max_ms; /* that the run may take; 1 .. LS_EVIDENCE_RUN_MAX_MS */
} ls_evidence_request;

/* EVIDENCE: what came out when the client simulated its ticks up to the bad state again. */
typedef struct ls_wire_evidence {
    ls_tick tick;                               /* of the bad state, as in the request */
    uint32_t pass;                              /* likewise */
    uint8_t figures[LS_EVIDENCE_FIGURES_BYTES]; /* ls_rerun_figures_write */
    uint32_t pass_count;                        /* of the step to it; 0: not known */
    uint64_t before;                            /* state hash before the first pass */
    uint64_t state_hashes[LS_PASSES_MAX];       /* after each */
} ls_wire_evidence;

typedef struct ls_wire_fingerprint {
    uint32_t size;
    uint8_t bytes[LS_EVIDENCE_PRINT_BYTES_MAX]; /* ls_build_fingerprint_write */
} ls_wire_fingerprint;

/* HEAL_LEAF: a leaf of the server's state. */
typedef struct ls_heal_leaf {
    ls_tick tick;
    uint32_t leaf;
    uint32_t size;
    uint8_t bytes[LS_TREE_LEAF_BYTES];
} ls_heal_leaf;

/* HEAL: with these leaves the client's state is the server's. */
typedef struct ls_heal {
    ls_tick tick;
    uint64_t state_hash;
    uint64_t chain; /* of the server's state hashes up to there */
} ls_heal;

/* HEAL_SNAPSHOT: with the blob that is announced the client's state is the server's. */
typedef struct ls_heal_snapshot {
    ls_tick tick;
    uint64_t state_hash;
    ls_tick chain_tick; /* the newest hashed state up to there */
    uint64_t chain;     /* of the server's state hashes up to that one */
    uint32_t blob;      /* its number, 0 .. 255 */
    uint32_t blob_bytes;
    uint64_t blob_hash;
} ls_heal_snapshot;

typedef struct ls_healed {
    ls_tick tick;
    bool is_equal; /* false: the state did not get this state hash, and nothing was changed */
} ls_healed;

typedef struct ls_joined {
    ls_tick tick; /* of a hashed state */
    uint64_t state_hash;
    ls_tick first_input; /* the first one that it will make */
} ls_joined;

typedef struct ls_ticks_request {
    ls_tick first;
    uint32_t count; /* 1 .. LS_TICKS_PER_REQUEST */
} ls_ticks_request;

typedef struct ls_message {
    ls_message_kind kind;
    uint32_t players; /* of the match: not sent, both sides know it; 0: not yet */
    union {
        ls_hello hello;
        ls_offer offer;
        ls_ready ready;
        ls_start start;
        ls_names names;
        ls_close_reason close_reason;
        ls_hash_request hash_request;
        ls_hashes hashes;
        ls_desync_notice desync;
        ls_end end;
        ls_finished finished;
        ls_waiting waiting;
        uint32_t input_delay_ticks;
        ls_wire_query tree_query;
        ls_wire_answer tree_answer;
        ls_evidence_request evidence_request;
        ls_wire_evidence evidence;
        ls_wire_fingerprint build_fingerprint;
        ls_desync_cause cause;
        ls_heal_leaf heal_leaf;
        ls_heal heal;
        ls_heal_snapshot heal_snapshot;
        ls_healed healed;
        ls_join join;
        ls_joined joined;
        ls_ticks_request ticks_request;
        ls_tick_part closed_tick;
        ls_resuming resuming;
        ls_notice notice;
        ls_lag lag;
        ls_chat chat;
        ls_lobby lobby;
    } body;
} ls_message;

/* Writes a reliable message; returns its size in bytes. Every valid message fits. */
size_t ls_message_write(const ls_message *message, uint8_t bytes[LS_PACKET_BYTES_MAX]);

/* The kind of a packet, or 0 when there is none in it. */
uint32_t ls_message_peek(const uint8_t *bytes, size_t size);

/* Reads a reliable message. `players` is what START and JOIN need to know (0 where none is
 * expected). MALFORMED leaves `out` undefined but harmless. */
ls_status ls_message_read(const uint8_t *bytes, size_t size, uint32_t players, ls_message *out);

LS_C_END

#endif
