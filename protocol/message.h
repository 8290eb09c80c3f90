/* Message: the reliable messages of PROTOCOL.md as structs, with one function that writes and
 * reads all of them. Owns nothing; never trusts a byte. Called by match and session; the packets
 * that carry ticks are in tick_packet.h. */
#ifndef LOCKSTEP_PROTOCOL_MESSAGE_H
#define LOCKSTEP_PROTOCOL_MESSAGE_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/simulation.h"
#include "lockstep/protocol/bit_stream.h"

LS_C_BEGIN

#define LS_PROTOCOL_MAGIC UINT32_C(0x5453434c) /* "LCST" */
#define LS_PROTOCOL_VERSION 2u
#define LS_TOKEN_BYTES_MAX 256u
#define LS_HASHES_PER_MESSAGE 128u
#define LS_HASH_INTERVAL_MAX 1024u
#define LS_INPUT_DELAY_TICKS_MAX 64u
#define LS_TIMEOUT_MS_MAX 600000u

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
    LS_MESSAGE_INPUTS = 32,
    LS_MESSAGE_TICKS = 33,
    LS_MESSAGE_TICK_PART = 34,
} ls_message_kind;

typedef enum ls_late_rule {
    LS_LATE_REPEAT, /* a missing input becomes the slot's input of the tick before */
    LS_LATE_WAIT,   /* nothing is closed until every input is there, within a bound */
} ls_late_rule;

/* How many INPUTS and TICKS are sent. */
typedef enum ls_send_rate {
    LS_SEND_AUTO,   /* one a tick; a second one half a tick later while that direction loses many */
    LS_SEND_HALF,   /* one for every two ticks */
    LS_SEND_TICK,   /* one a tick */
    LS_SEND_DOUBLE, /* one a tick, and a second one half a tick later */
    LS_SEND_RATE_COUNT,
} ls_send_rate;

/* LS_SEND_AUTO sends twice from this loss on, in packets of 256 (2 %), until it is below the
 * other (1 %). */
#define LS_SEND_TWICE_LOSS 5u
#define LS_SEND_ONCE_LOSS 3u

typedef struct ls_hello {
    uint32_t magic;
    uint32_t protocol_version;
    uint64_t arithmetic;
    char name[LS_PLAYER_NAME_BYTES_MAX];
    char token[LS_TOKEN_BYTES_MAX];
} ls_hello;

typedef struct ls_offer {
    char simulation[LS_NAME_BYTES_MAX];
    uint32_t simulation_version;
    ls_sim_config config;
    uint32_t slot;
    uint32_t hash_interval_ticks;
    uint32_t input_delay_ticks;
    uint32_t timeout_ms;
    uint32_t late_rule; /* ls_late_rule */
    uint32_t send_rate; /* ls_send_rate */
} ls_offer;

typedef struct ls_ready {
    uint32_t simulation_version;
    uint64_t parameter_digest;
    uint64_t schema_digest;
    uint64_t content_digest;
    uint64_t initial_root;
} ls_ready;

typedef struct ls_start {
    uint32_t delay_us; /* from sending until tick 0 closes */
    uint32_t players;  /* not sent; both sides know it */
    char names[LS_PLAYERS_MAX][LS_PLAYER_NAME_BYTES_MAX];
} ls_start;

/* REFUSE and GOODBYE. */
typedef struct ls_farewell {
    uint32_t negated_status;
    ls_text text;
} ls_farewell;

typedef struct ls_hash_request {
    ls_tick first;
    uint32_t count;
} ls_hash_request;

typedef struct ls_hashes {
    ls_tick first;
    uint32_t count;
    uint64_t roots[LS_HASHES_PER_MESSAGE];
} ls_hashes;

typedef struct ls_desync_notice {
    uint32_t slot;
    ls_tick tick; /* of the first state that differs */
    uint64_t server_root;
    uint64_t client_root;
} ls_desync_notice;

typedef struct ls_end {
    ls_tick final_tick;
    uint64_t final_root;
} ls_end;

typedef struct ls_finished {
    ls_tick tick;
    uint64_t root;
    ls_tick chain_tick; /* the newest hashed state, and the low half of the chain up to it */
    uint32_t chain;
    uint32_t stalled_ticks;
    uint32_t confirm_latency_p50_us;
    uint32_t confirm_latency_p99_us;
    uint32_t confirm_latency_max_us;
    uint32_t rtt_us;
    uint32_t frames;
} ls_finished;

typedef struct ls_waiting {
    ls_tick tick;
    uint32_t slot_mask;
    uint32_t waited_ms;
} ls_waiting;

typedef struct ls_message {
    ls_message_kind kind;
    union {
        ls_hello hello;
        ls_offer offer;
        ls_ready ready;
        ls_start start; /* reading: set start.players first */
        ls_farewell farewell;
        ls_hash_request hash_request;
        ls_hashes hashes;
        ls_desync_notice desync;
        ls_end end;
        ls_finished finished;
        ls_waiting waiting;
        uint32_t input_delay_ticks;
    } body;
} ls_message;

/* Writes a reliable message; returns its size in bytes. Every valid message fits. */
size_t ls_message_write(const ls_message *message, uint8_t bytes[LS_PACKET_BYTES_MAX]);

/* The kind of a packet, or 0 when there is none in it. */
uint32_t ls_message_peek(const uint8_t *bytes, size_t size);

/* Reads a reliable message. `players` is what START needs to know (0 where no START is expected).
 * MALFORMED leaves `out` undefined but harmless. */
ls_status ls_message_read(const uint8_t *bytes, size_t size, uint32_t players, ls_message *out);

LS_C_END

#endif
