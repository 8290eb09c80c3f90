#include "lockstep/common/simulation/shared_copies.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/simulation/state_hash.h"

#include <string.h>

#define NO_CHUNK UINT32_MAX

/* One copy: which kept chunk stands for each of its own; NO_CHUNK behind its end. */
typedef struct copy {
    size_t size;
    uint32_t *chunks; /* [chunks_max] */
} copy;

struct ls_shared_copies {
    const ls_allocator *allocator;
    uint32_t count;
    uint32_t chunks_max;     /* of one copy */
    copy *copies;            /* [count], and one for the whole bytes */
    uint32_t *chunk_numbers; /* of all copies */
    uint32_t newest;         /* the one that was taken last */
    uint8_t *whole;          /* the one that was read last, in one piece */
    uint32_t kept_max;
    uint8_t *kept;  /* chunks */
    uint32_t *uses; /* of each: copies that have it */
    uint32_t *free; /* those without a use */
    uint32_t free_count;
};

/* ---- life ---- */

static void set_up(ls_shared_copies *copies)
{
    for (uint32_t i = 0; i <= copies->count; i++) {
        copies->copies[i].chunks = copies->chunk_numbers + (size_t)i * copies->chunks_max;
    }
    for (uint32_t i = 0; i < copies->kept_max; i++) {
        copies->chunk_numbers[i] = NO_CHUNK;
        copies->free[i] = copies->kept_max - 1 - i;
    }
    copies->free_count = copies->kept_max;
}

/* As many chunks as all copies have, when no two are the same; the whole bytes are one of them. */
ls_status ls_shared_copies_create(uint32_t count, size_t bytes_max, const ls_allocator *allocator,
                                  ls_shared_copies **out)
{
    LS_ASSERT(count >= 1 && bytes_max >= 1);
    size_t chunks_max = (bytes_max - 1) / LS_HASH_CHUNK_BYTES + 1;
    if (chunks_max >= NO_CHUNK / (count + 1u)) {
        return LS_NO_MEMORY;
    }
    ls_shared_copies *copies = ls_allocate(allocator, sizeof *copies);
    if (!copies) {
        return LS_NO_MEMORY;
    }
    copies->allocator = allocator;
    copies->count = count;
    copies->chunks_max = (uint32_t)chunks_max;
    copies->kept_max = (count + 1) * copies->chunks_max;
    uint32_t most = copies->kept_max;
    copies->copies = ls_allocate_array(allocator, count + 1u, sizeof copies->copies[0]);
    copies->chunk_numbers = ls_allocate_array(allocator, most, sizeof copies->chunk_numbers[0]);
    copies->whole = ls_allocate_array(allocator, chunks_max, LS_HASH_CHUNK_BYTES);
    copies->kept = ls_allocate_array(allocator, most, LS_HASH_CHUNK_BYTES);
    copies->uses = ls_allocate_array(allocator, most, sizeof copies->uses[0]);
    copies->free = ls_allocate_array(allocator, most, sizeof copies->free[0]);
    if (!copies->copies || !copies->chunk_numbers || !copies->whole || !copies->kept ||
        !copies->uses || !copies->free) {
        ls_shared_copies_destroy(copies);
        return LS_NO_MEMORY;
    }
    set_up(copies);
    *out = copies;
    return LS_OK;
}

void ls_shared_copies_destroy(ls_shared_copies *copies)
{
    if (!copies) {
        return;
    }
    ls_release(copies->allocator, copies->free);
    ls_release(copies->allocator, copies->uses);
    ls_release(copies->allocator, copies->kept);
    ls_release(copies->allocator, copies->whole);
    ls_release(copies->allocator, copies->chunk_numbers);
    ls_release(copies->allocator, copies->copies);
    ls_release(copies->allocator, copies);
}

/* ---- chunks ---- */

static size_t size_of_chunk(size_t size, uint32_t chunk)
{
    size_t begin = (size_t)chunk * LS_HASH_CHUNK_BYTES;
    return begin < size ? LS_MIN(size - begin, LS_HASH_CHUNK_BYTES) : 0;
}

static uint8_t *kept_bytes(const ls_shared_copies *copies, uint32_t kept)
{
    return copies->kept + (size_t)kept * LS_HASH_CHUNK_BYTES;
}

/* Gives `of` this kept chunk, or none, in place of the one that it had. */
static void set_chunk(ls_shared_copies *copies, copy *of, uint32_t chunk, uint32_t kept)
{
    uint32_t before = of->chunks[chunk];
    if (kept != NO_CHUNK) {
        copies->uses[kept]++;
    }
    of->chunks[chunk] = kept;
    if (before != NO_CHUNK && --copies->uses[before] == 0) {
        copies->free[copies->free_count++] = before;
    }
}

static uint32_t keep(ls_shared_copies *copies, const uint8_t *bytes, size_t size)
{
    LS_ASSERT(copies->free_count > 0);
    uint32_t kept = copies->free[--copies->free_count];
    memcpy(kept_bytes(copies, kept), bytes, size);
    return kept;
}

/* ---- copies ---- */

/* The chunk of the newest copy, where that has this one. */
static uint32_t find_same(const ls_shared_copies *copies, uint32_t chunk, const uint8_t *bytes,
                          size_t size)
{
    const copy *newest = &copies->copies[copies->newest];
    uint32_t kept = newest->chunks[chunk];
    bool is_same = size > 0 && size_of_chunk(newest->size, chunk) == size &&
                   memcmp(kept_bytes(copies, kept), bytes, size) == 0;
    return is_same ? kept : NO_CHUNK;
}

void ls_shared_copies_store(ls_shared_copies *copies, uint32_t place, const uint8_t *bytes,
                            size_t size)
{
    LS_ASSERT(place < copies->count);
    LS_ASSERT(size <= (size_t)copies->chunks_max * LS_HASH_CHUNK_BYTES);
    copy *taken = &copies->copies[place];
    for (uint32_t chunk = 0; chunk < copies->chunks_max; chunk++) {
        size_t chunk_bytes = size_of_chunk(size, chunk);
        const uint8_t *from = bytes + LS_MIN((size_t)chunk * LS_HASH_CHUNK_BYTES, size);
        uint32_t kept = find_same(copies, chunk, from, chunk_bytes);
        set_chunk(copies, taken, chunk, kept); /* if that is none, there is a free one then */
        if (kept == NO_CHUNK && chunk_bytes > 0) {
            set_chunk(copies, taken, chunk, keep(copies, from, chunk_bytes));
        }
    }
    taken->size = size;
    copies->newest = place;
}

const uint8_t *ls_shared_copies_read(ls_shared_copies *copies, uint32_t place)
{
    LS_ASSERT(place < copies->count);
    const copy *wanted = &copies->copies[place];
    copy *whole = &copies->copies[copies->count];
    for (uint32_t chunk = 0; chunk < copies->chunks_max; chunk++) {
        uint32_t kept = wanted->chunks[chunk];
        if (kept == whole->chunks[chunk]) {
            continue;
        }
        if (kept != NO_CHUNK) {
            memcpy(copies->whole + (size_t)chunk * LS_HASH_CHUNK_BYTES, kept_bytes(copies, kept),
                   size_of_chunk(wanted->size, chunk));
        }
        set_chunk(copies, whole, chunk, kept);
    }
    whole->size = wanted->size;
    return copies->whole;
}

size_t ls_shared_copies_chunks(const ls_shared_copies *copies)
{
    return copies->kept_max - copies->free_count;
}
