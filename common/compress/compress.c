#include "lockstep/common/compress/compress.h"

#include "lockstep/common/base/assert.h"

/* For contexts in memory of our own; these functions have not changed since zstd 1.3. */
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include <string.h>

enum {
    LEVEL = 1,       /* three times the time for level 3 buys a few per cent */
    WORTH_SHIFT = 4, /* compressing has to save a sixteenth to be worth undoing */
};

size_t ls_compress_bound(size_t size)
{
    return ZSTD_compressBound(size);
}

static size_t compressed_size(size_t written)
{
    return ZSTD_isError(written) ? 0 : written;
}

static ls_status decompressed_status(size_t written, size_t out_size)
{
    return !ZSTD_isError(written) && written == out_size ? LS_OK : LS_MALFORMED;
}

size_t ls_compress(const uint8_t *bytes, size_t size, uint8_t *out, size_t capacity)
{
    return compressed_size(ZSTD_compress(out, capacity, bytes, size, LEVEL));
}

size_t ls_pack(const uint8_t *bytes, size_t size, uint8_t *out, size_t capacity)
{
    size_t stored = ls_compress(bytes, size, out, capacity);
    if (stored > 0 && stored + (size >> WORTH_SHIFT) < size) {
        return stored;
    }
    LS_ASSERT(size <= capacity);
    memcpy(out, bytes, size);
    return size;
}

ls_status ls_decompress(const uint8_t *bytes, size_t size, uint8_t *out, size_t out_size)
{
    return decompressed_status(ZSTD_decompress(out, out_size, bytes, size), out_size);
}

/* zstd's context lies behind the struct, in the same memory. */
struct ls_compressor {
    const ls_allocator *allocator;
    ZSTD_CCtx *context;
    max_align_t memory[];
};

struct ls_decompressor {
    const ls_allocator *allocator;
    ZSTD_DCtx *context;
    max_align_t memory[];
};

ls_compressor *ls_compressor_create(const ls_allocator *allocator)
{
    size_t bytes = ZSTD_estimateCCtxSize(LEVEL);
    ls_compressor *compressor = ls_allocate(allocator, sizeof *compressor + bytes);
    if (!compressor) {
        return NULL;
    }
    compressor->allocator = allocator;
    compressor->context = ZSTD_initStaticCCtx(compressor->memory, bytes);
    LS_ASSERT(compressor->context);
    return compressor;
}

void ls_compressor_destroy(ls_compressor *compressor)
{
    if (compressor) {
        ls_release(compressor->allocator, compressor);
    }
}

size_t ls_compressor_run(ls_compressor *compressor, const uint8_t *bytes, size_t size, uint8_t *out,
                         size_t capacity)
{
    return compressed_size(
        ZSTD_compressCCtx(compressor->context, out, capacity, bytes, size, LEVEL));
}

ls_decompressor *ls_decompressor_create(const ls_allocator *allocator)
{
    size_t bytes = ZSTD_estimateDCtxSize();
    ls_decompressor *decompressor = ls_allocate(allocator, sizeof *decompressor + bytes);
    if (!decompressor) {
        return NULL;
    }
    decompressor->allocator = allocator;
    decompressor->context = ZSTD_initStaticDCtx(decompressor->memory, bytes);
    LS_ASSERT(decompressor->context);
    return decompressor;
}

void ls_decompressor_destroy(ls_decompressor *decompressor)
{
    if (decompressor) {
        ls_release(decompressor->allocator, decompressor);
    }
}

ls_status ls_decompressor_run(ls_decompressor *decompressor, const uint8_t *bytes, size_t size,
                              uint8_t *out, size_t out_size)
{
    return decompressed_status(
        ZSTD_decompressDCtx(decompressor->context, out, out_size, bytes, size), out_size);
}

const char *ls_compress_library(void)
{
    return "zstd " ZSTD_VERSION_STRING;
}
