#include "lockstep/common/diagnosis/chunk_changes.h"

#include "lockstep/common/diagnosis/word_changes.h"

#include <string.h>

enum {
    WORD_BYTES = 8,
    HASH_BYTES = 8,
    SAMPLES = 64, /* chunks that are looked into */
};

size_t ls_chunk_changes_chunks(size_t bytes)
{
    return (bytes + LS_HASH_CHUNK_BYTES - 1) / LS_HASH_CHUNK_BYTES;
}

static size_t size_of_chunk(const ls_chunk_changes *changes, size_t chunk)
{
    return LS_MIN(changes->bytes - chunk * LS_HASH_CHUNK_BYTES, LS_HASH_CHUNK_BYTES);
}

static bool has_hashes(const ls_chunk_changes *changes)
{
    return changes->hashes_before && changes->hashes_now;
}

bool ls_chunk_changes_is_same(const ls_chunk_changes *changes, size_t chunk)
{
    if (!has_hashes(changes)) {
        return memcmp(changes->before + chunk * LS_CHUNK_WORDS,
                      changes->now + chunk * LS_HASH_CHUNK_BYTES,
                      size_of_chunk(changes, chunk)) == 0;
    }
    return memcmp(changes->hashes_before + chunk * HASH_BYTES,
                  changes->hashes_now + chunk * HASH_BYTES, HASH_BYTES) == 0;
}

size_t ls_chunk_changes_read(const ls_chunk_changes *changes, size_t chunk,
                             uint64_t now[LS_CHUNK_WORDS])
{
    size_t size = size_of_chunk(changes, chunk);
    size_t words = (size + WORD_BYTES - 1) / WORD_BYTES;
    now[words - 1] = 0;
    memcpy(now, changes->now + chunk * LS_HASH_CHUNK_BYTES, size);
    return words;
}

size_t ls_chunk_changes_count(const ls_chunk_changes *changes)
{
    size_t chunks = ls_chunk_changes_chunks(changes->bytes);
    size_t count = 0;
    if (!has_hashes(changes)) {
        return chunks;
    }
    for (size_t chunk = 0; chunk < chunks; chunk++) {
        count += !ls_chunk_changes_is_same(changes, chunk);
    }
    return count;
}

static size_t count_words(const ls_chunk_changes *changes, size_t chunk, size_t head_words)
{
    uint64_t now[LS_CHUNK_WORDS];
    const uint64_t *before = changes->before + chunk * LS_CHUNK_WORDS;
    const ls_word_blocks blocks = {before, now, ls_chunk_changes_read(changes, chunk, now)};
    ls_word_figures figures = ls_word_changes_count(&blocks);
    return figures.words + figures.groups * head_words;
}

size_t ls_chunk_changes_estimate(const ls_chunk_changes *changes, size_t changed, size_t head_words)
{
    size_t chunks = ls_chunk_changes_chunks(changes->bytes);
    size_t every = (changed + SAMPLES - 1) / SAMPLES;
    size_t seen = 0;
    size_t words = 0;
    for (size_t chunk = 0; chunk < chunks && seen < changed; chunk++) {
        if (changed < chunks && ls_chunk_changes_is_same(changes, chunk)) {
            continue;
        }
        words += seen % every == 0 ? count_words(changes, chunk, head_words) : 0;
        seen++;
    }
    return words * every;
}
