/* Compress: zstd, and the only place that names it. Bounded by what the caller expects: bytes from
 * outside never make it take more memory than that. Called by the formats that are kept on disk and
 * by blobs on the wire. */
#ifndef LOCKSTEP_COMMON_COMPRESS_COMPRESS_H
#define LOCKSTEP_COMMON_COMPRESS_COMPRESS_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"

#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

/* Room that compressing `size` bytes may need. */
size_t ls_compress_bound(size_t size);

/* Returns the compressed size, 0 when it does not fit or memory is out. */
size_t ls_compress(const uint8_t *bytes, size_t size, uint8_t *out, size_t capacity);

/* Compresses as above, or copies the bytes as they are when compressing saves less than a sixteenth
 * of them: then it returns `size`. `capacity` is at least ls_compress_bound(size). */
size_t ls_pack(const uint8_t *bytes, size_t size, uint8_t *out, size_t capacity);

/* MALFORMED unless exactly `out_size` bytes come out. */
ls_status ls_decompress(const uint8_t *bytes, size_t size, uint8_t *out, size_t out_size);

/* The same two in memory that is taken once, at create: 0.6 MiB and 0.1 MiB. NULL when memory is
 * out. */
typedef struct ls_compressor ls_compressor;
typedef struct ls_decompressor ls_decompressor;

ls_compressor *ls_compressor_create(const ls_allocator *allocator);
void ls_compressor_destroy(ls_compressor *compressor);
size_t ls_compressor_run(ls_compressor *compressor, const uint8_t *bytes, size_t size, uint8_t *out,
                         size_t capacity);

ls_decompressor *ls_decompressor_create(const ls_allocator *allocator);
void ls_decompressor_destroy(ls_decompressor *decompressor);
ls_status ls_decompressor_run(ls_decompressor *decompressor, const uint8_t *bytes, size_t size,
                              uint8_t *out, size_t out_size);

/* "zstd 1.5.4" */
const char *ls_compress_library(void);

LS_C_END

#endif
