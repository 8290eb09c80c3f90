/* Coded tick: the bits in which TICKS carries a closed tick. Each tick is coded against the one
 * before it, so they are the same for every receiver and in every repetition: a sender makes them
 * once, and a receiver passes over what it has had before without reading it again. Never
 * allocates; knows nothing of packets' headers. */
#ifndef LOCKSTEP_PROTOCOL_WIRE_CODED_TICK_H
#define LOCKSTEP_PROTOCOL_WIRE_CODED_TICK_H

#include "lockstep/common/simulation/simulation.h"
#include "lockstep/protocol/wire/bit_stream.h"

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
