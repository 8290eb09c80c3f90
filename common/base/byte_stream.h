/* Byte stream: one list of fields for measuring, writing and reading a format kept on disk, so that
 * the three cannot differ. Little-endian. Reading checks lengths before it looks; after the first
 * failure nothing is read or written any more. Never allocates. */
#ifndef LOCKSTEP_COMMON_BASE_BYTE_STREAM_H
#define LOCKSTEP_COMMON_BASE_BYTE_STREAM_H

#include "lockstep/common/base/language.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

typedef enum ls_byte_stream_mode {
    LS_STREAM_MEASURE, /* only counts */
    LS_STREAM_WRITE,
    LS_STREAM_READ,
} ls_byte_stream_mode;

typedef struct ls_byte_stream {
    ls_byte_stream_mode mode;
    uint8_t *to;         /* WRITE */
    const uint8_t *from; /* READ */
    size_t size;         /* of either */
    size_t at;           /* bytes so far */
    bool has_failed;     /* the bytes did not suffice, or a value was out of its range */
} ls_byte_stream;

ls_byte_stream ls_byte_stream_measure(void);
ls_byte_stream ls_byte_stream_write(uint8_t *bytes, size_t size);
ls_byte_stream ls_byte_stream_read(const uint8_t *bytes, size_t size);

/* Everything was read, and nothing is left. */
static inline bool ls_byte_stream_is_at_end(const ls_byte_stream *stream)
{
    return !stream->has_failed && stream->at == stream->size;
}

/* A number in u8, u32 or u64; reading sets it to 0 when it fails. */
void ls_byte_stream_u8(ls_byte_stream *stream, uint8_t *value);
void ls_byte_stream_u32(ls_byte_stream *stream, uint32_t *value);
void ls_byte_stream_u64(ls_byte_stream *stream, uint64_t *value);

/* A u32 from min to max; anything else fails. */
void ls_byte_stream_ranged(ls_byte_stream *stream, uint32_t *value, uint32_t min, uint32_t max);

/* `size` bytes as they are. */
void ls_byte_stream_bytes(ls_byte_stream *stream, uint8_t *bytes, size_t size);
void ls_byte_stream_add(ls_byte_stream *stream, const uint8_t *bytes, size_t size); /* no reading */

/* A text in a field of `capacity` bytes (1 .. 65,536): u32 length, then its bytes. Reading
 * makes the text printable (text.h); a text that is too long fails. */
void ls_byte_stream_text(ls_byte_stream *stream, char *text, size_t capacity);

LS_C_END

#endif
