/* Compress: zstd, and the only place that names it. Bounded by what the caller expects: bytes from
 * outside never make it take more memory than that. Called by the formats that are kept on disk. */
#ifndef LOCKSTEP_COMMON_COMPRESS_H
#define LOCKSTEP_COMMON_COMPRESS_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"

#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

/* Room that compressing `size` bytes may need. */
size_t ls_compress_bound(size_t size);

/* Returns the compressed size, 0 when it does not fit or memory is out. */
size_t ls_compress(const uint8_t *bytes, size_t size, uint8_t *out, size_t capacity);

/* MALFORMED unless exactly `out_size` bytes come out. */
ls_status ls_decompress(const uint8_t *bytes, size_t size, uint8_t *out, size_t out_size);

/* "zstd 1.5.4" */
const char *ls_compress_library(void);

LS_C_END

#endif
