/* Chunk changes: which chunks of a state differ from those of the state before, and about how much
 * their differences take. By the hashes of the chunks where those are known: reading all of a large
 * state twice would cost more than hashing it. Reads only. Called by state_history. */
#ifndef LOCKSTEP_COMMON_DIAGNOSIS_CHUNK_CHANGES_H
#define LOCKSTEP_COMMON_DIAGNOSIS_CHUNK_CHANGES_H

#include "lockstep/common/simulation/state_hash.h"

#include <stdbool.h>

#define LS_CHUNK_WORDS (LS_HASH_CHUNK_BYTES / sizeof(uint64_t))

typedef struct ls_chunk_changes {
    const uint64_t *before;
    const uint8_t *now;
    const uint8_t *hashes_before; /* of the chunks; NULL here or there: not known */
    const uint8_t *hashes_now;
    size_t bytes; /* of the state */
} ls_chunk_changes;

size_t ls_chunk_changes_chunks(size_t bytes);

bool ls_chunk_changes_is_same(const ls_chunk_changes *changes, size_t chunk);

/* Copies the chunk as it is now, with zeros behind the state's end; how many words it has. */
size_t ls_chunk_changes_read(const ls_chunk_changes *changes, size_t chunk,
                             uint64_t now[LS_CHUNK_WORDS]);

/* How many chunks differ; all of them where hashes are not known: they tell more than a sample. */
size_t ls_chunk_changes_count(const ls_chunk_changes *changes);

/* About how many words differ in those, which are `changed` in number, and as many times
 * `head_words` as there are runs of them. Every n-th chunk is looked into. */
size_t ls_chunk_changes_estimate(const ls_chunk_changes *changes, size_t changed,
                                 size_t head_words);

#endif
