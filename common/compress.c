#include "lockstep/common/compress.h"

#include <zstd.h>

enum {
    LEVEL = 1, /* three times the time for level 3 buys a few per cent */
};

size_t ls_compress_bound(size_t size)
{
    return ZSTD_compressBound(size);
}

size_t ls_compress(const uint8_t *bytes, size_t size, uint8_t *out, size_t capacity)
{
    size_t written = ZSTD_compress(out, capacity, bytes, size, LEVEL);
    return ZSTD_isError(written) ? 0 : written;
}

ls_status ls_decompress(const uint8_t *bytes, size_t size, uint8_t *out, size_t out_size)
{
    size_t written = ZSTD_decompress(out, out_size, bytes, size);
    return !ZSTD_isError(written) && written == out_size ? LS_OK : LS_MALFORMED;
}

const char *ls_compress_library(void)
{
    return "zstd " ZSTD_VERSION_STRING;
}
