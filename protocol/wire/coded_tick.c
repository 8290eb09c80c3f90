#include "lockstep/protocol/wire/coded_tick.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/protocol/wire/tick_packet.h"

#include <string.h>

enum {
    WORD_BITS = 64
};

_Static_assert(LS_CODED_TICK_BYTES % sizeof(uint64_t) == 0, "coded ticks are handled by words");

/* The bits of the word that begins after `done` of `all`. */
static uint32_t word_bits(uint32_t all, uint32_t done)
{
    return all - done < WORD_BITS ? all - done : WORD_BITS;
}

void ls_coded_tick_make(ls_coded_tick *coded, uint32_t slot_count, const ls_slot_input *before,
                        const ls_slot_input *inputs)
{
    memset(coded, 0, sizeof *coded);
    ls_bit_stream stream = ls_bit_writer(coded->bytes, sizeof coded->bytes);
    if (ls_ticks_write_tick(&stream, slot_count, before, inputs)) {
        coded->bits = (uint32_t)stream.position_bits;
    }
}

LS_TICK_CODE void ls_coded_tick_capture(ls_coded_tick *coded, ls_bit_stream *stream,
                                        size_t start_bits)
{
    size_t bits = stream->position_bits - start_bits;
    coded->bits = bits <= LS_CODED_TICK_BYTES * 8 ? (uint32_t)bits : 0;
    stream->position_bits -= coded->bits; /* and reads them once more */
    for (uint32_t done = 0; done < coded->bits; done += WORD_BITS) {
        uint64_t word = 0;
        ls_bits_u64(stream, &word, word_bits(coded->bits, done));
        ls_store_u64(coded->bytes + done / 8, word);
    }
}

bool ls_coded_tick_write(const ls_coded_tick *coded, ls_bit_stream *stream)
{
    LS_ASSERT(coded->bits > 0);
    if (coded->bits >= stream->capacity_bits - stream->position_bits) {
        return false;
    }
    for (uint32_t done = 0; done < coded->bits; done += WORD_BITS) {
        uint64_t word = ls_load_u64(coded->bytes + done / 8);
        ls_bits_u64(stream, &word, word_bits(coded->bits, done));
    }
    return true;
}

bool ls_coded_tick_skip(const ls_coded_tick *coded, ls_bit_stream *stream)
{
    size_t start_bits = stream->position_bits;
    if (coded->bits == 0 || stream->is_failed || coded->bits > stream->capacity_bits - start_bits) {
        return false;
    }
    for (uint32_t done = 0; done < coded->bits; done += WORD_BITS) {
        uint64_t word = 0;
        ls_bits_u64(stream, &word, word_bits(coded->bits, done));
        if (word != ls_load_u64(coded->bytes + done / 8)) {
            stream->position_bits = start_bits;
            return false;
        }
    }
    return true;
}
