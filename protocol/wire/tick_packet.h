/* Tick packet: the two unreliable packets of PROTOCOL.md, INPUTS and TICKS: their headers and the
 * delta coding of inputs. Reading goes tick by tick, so that a caller can check a packet to its end
 * before it stores anything. */
#ifndef LOCKSTEP_PROTOCOL_WIRE_TICK_PACKET_H
#define LOCKSTEP_PROTOCOL_WIRE_TICK_PACKET_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/lag/lag_notes.h"
#include "lockstep/common/simulation/simulation.h"
#include "lockstep/protocol/wire/bit_stream.h"
#include "lockstep/protocol/wire/notices.h"

LS_C_BEGIN

#define LS_HOLD_UNIT_NS UINT64_C(250000) /* hold and slack count quarters of a millisecond */
#define LS_HOLD_NONE 255u
#define LS_SLACK_NONE (-2048)
#define LS_SLACK_MAX 2047

#define LS_SEQUENCE_BITS 6u
#define LS_HEALTH_NS UINT64_C(1000000000) /* between two reports of a direction */

/* A client's report, sent about once a second, and at once when it was late itself. */
typedef struct ls_client_health {
    ls_link_figures downlink;
    bool has_lag;
    ls_lag_report lag;
} ls_client_health;

typedef struct ls_inputs_header {
    uint32_t sequence; /* counts the INPUTS sent; the low LS_SEQUENCE_BITS travel */
    ls_tick next;      /* first closed tick the sender has not received */
    uint32_t hold;
    ls_tick chain_tick; /* <= next */
    uint32_t chain;
    ls_tick first;
    bool has_base;
    uint32_t base_gap; /* inputs between the base and the first one; <= first */
    bool has_health;
    ls_client_health health;
} ls_inputs_header;

typedef struct ls_ticks_header {
    uint32_t sequence; /* counts the TICKS sent to this client */
    ls_tick first;
    uint32_t hold;
    ls_tick wanted;
    bool has_base;
    int32_t slack; /* -2047 .. LS_SLACK_MAX, or LS_SLACK_NONE */
    bool has_uplink;
    ls_link_figures uplink;
} ls_ticks_header;

/* A seal may stand behind the ticks of a TICKS. */
typedef struct ls_tick_seal {
    bool is_there;
    uint32_t value; /* of the tick behind the last one carried */
} ls_tick_seal;

/* Writes or reads the end of a TICKS, behind the mark that ends its ticks. Writing a seal that does
 * not fit: there is none. */
void ls_tick_seal_bits(ls_bit_stream *stream, ls_tick_seal *seal);

/* Both write or read the kind as well. `near` is the value of next (first) that the reader
 * expects; unused when writing. */
void ls_inputs_header_bits(ls_bit_stream *stream, ls_inputs_header *header, ls_tick near);
void ls_ticks_header_bits(ls_bit_stream *stream, ls_ticks_header *header, ls_tick near);

/* The inputs of one tick while a packet is read: each slot's bytes as they stand after the newest
 * change. 32 KiB for 32 slots, so it lives in its owner's memory and not on the stack. */
typedef struct ls_tick_cursor {
    uint32_t slot_count;
    uint32_t input_bytes_max;
    bool has_changed; /* of INPUTS: the newest input is another one than that before */
    uint32_t sizes[LS_PLAYERS_MAX];
    uint32_t events[LS_PLAYERS_MAX];
    uint8_t bytes[LS_PLAYERS_MAX][LS_INPUT_BYTES_MAX];
} ls_tick_cursor;

/* The bytes of a cursor of so many slots: the others' need not be there. */
size_t ls_tick_cursor_bytes(uint32_t slot_count);

/* Sets the tick before the first one: `base` has slot_count inputs, or is NULL for empty ones. */
void ls_tick_cursor_start(ls_tick_cursor *cursor, uint32_t slot_count, uint32_t input_bytes_max,
                          const ls_slot_input *base);

/* Writes one tick against the one before. False, with the stream as it was, when the tick and the
 * end mark no longer fit. */
bool ls_inputs_write_tick(ls_bit_stream *stream, const ls_slot_input *before,
                          const ls_slot_input *input);
bool ls_ticks_write_tick(ls_bit_stream *stream, uint32_t slot_count, const ls_slot_input *before,
                         const ls_slot_input *inputs);
void ls_tick_packet_write_end(ls_bit_stream *stream);

/* The bytes in which ls_ticks_write_tick always writes a tick: 1 .. LS_TICK_BYTES_MAX. */
size_t ls_ticks_tick_bytes_max(uint32_t slot_count, uint32_t input_bytes_max);

/* Moves the cursor to the next tick of the packet. False at the end mark and on malformed bits
 * (then the stream has failed). */
bool ls_inputs_read_tick(ls_bit_stream *stream, ls_tick_cursor *cursor);
bool ls_ticks_read_tick(ls_bit_stream *stream, ls_tick_cursor *cursor);

/* A closed tick that does not fit into TICKS beside those before it travels in parts. */
#define LS_TICK_PART_BYTES 1100u
#define LS_TICK_PARTS_MAX 32u
#define LS_TICK_PARTS_AHEAD 32u /* ticks that may be on their way in parts at once */
#define LS_TICK_BYTES_MAX (LS_TICK_PART_BYTES * LS_TICK_PARTS_MAX)

typedef struct ls_tick_part {
    ls_tick tick;
    uint32_t total_bytes; /* of the whole tick: 1 .. LS_TICK_BYTES_MAX */
    uint32_t index;
    uint32_t size; /* LS_TICK_PART_BYTES, or what is left for the last one */
    uint8_t bytes[LS_TICK_PART_BYTES];
} ls_tick_part;

/* The parts of a tick of `total_bytes`, and the bytes of one of them. */
uint32_t ls_tick_part_count(uint32_t total_bytes);
uint32_t ls_tick_part_size(uint32_t total_bytes, uint32_t index);

/* Writes or reads TICK_PART, or what follows its kind; `size` follows from the other fields. */
void ls_tick_part_fields(ls_bit_stream *stream, ls_tick_part *part);
void ls_tick_part_bits(ls_bit_stream *stream, ls_tick_part *part);

/* The cursor's tick as slot_count inputs, borrowed until it moves. */
void ls_tick_cursor_inputs(const ls_tick_cursor *cursor, ls_slot_input *inputs);

/* Nanoseconds to the unit of hold, LS_HOLD_NONE when longer; to the unit of slack, clamped. */
uint32_t ls_hold_from_ns(uint64_t ns);
int32_t ls_slack_from_ns(int64_t ns);

LS_C_END

/* ---- Coded tick: the bits in which TICKS carries a closed tick. Each tick is coded against the
 * one before it, so they are the same for every receiver and in every repetition: a sender makes
 * them once, and a receiver passes over what it has had before without reading it again. Never
 * allocates; knows nothing of packets' headers. */

#define LS_CODED_TICK_BYTES 120u

typedef struct ls_coded_tick {
    uint32_t bits; /* 0: none, or too many to be kept */
    uint8_t bytes[LS_CODED_TICK_BYTES];
} ls_coded_tick;

/* Codes a tick's slot_count inputs against those of the tick before it. */
void ls_coded_tick_make(ls_coded_tick *coded, uint32_t slot_count, const ls_slot_input *before,
                        const ls_slot_input *inputs);

/* Takes the bits that a reader has passed since it stood at `start_bits`. Copies no stream: a copy
 * of what was just written is slow. */
void ls_coded_tick_capture(ls_coded_tick *coded, ls_bit_stream *stream, size_t start_bits);

/* Writes the tick, which has bits. False, with the stream as it was: no room for it and the end. */
bool ls_coded_tick_write(const ls_coded_tick *coded, ls_bit_stream *stream);

/* Passes over the reader's next bits when the tick has bits and they are these; else false, with
 * the stream as it was. */
bool ls_coded_tick_skip(const ls_coded_tick *coded, ls_bit_stream *stream);

#endif
