#include "lockstep/common/maths/stable_sort.h"

#include "lockstep/common/base/assert.h"

#include <stdint.h>
#include <string.h>

typedef struct merge {
    size_t element_bytes;
    ls_compare compare;
    const void *context;
} merge;

/* Merges from[0, left) and from[left, count) into `to`; on a tie the left one goes first. */
static void merge_runs(const merge *job, const uint8_t *from, size_t left, size_t count,
                       uint8_t *to)
{
    size_t bytes = job->element_bytes;
    const uint8_t *a = from, *a_end = from + left * bytes;
    const uint8_t *b = a_end, *b_end = from + count * bytes;
    while (a < a_end && b < b_end) {
        const uint8_t **first = job->compare(a, b, job->context) <= 0 ? &a : &b;
        memcpy(to, *first, bytes);
        *first += bytes;
        to += bytes;
    }
    memcpy(to, a, (size_t)(a_end - a));
    memcpy(to + (a_end - a), b, (size_t)(b_end - b));
}

void ls_stable_sort(void *elements, size_t count, size_t element_bytes, void *scratch,
                    ls_compare compare, const void *context)
{
    LS_ASSERT(element_bytes > 0);
    merge job = {element_bytes, compare, context};
    uint8_t *from = elements, *to = scratch;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t start = 0; start < count; start += 2 * width) {
            size_t left = count - start < width ? count - start : width;
            size_t both = count - start < 2 * width ? count - start : 2 * width;
            merge_runs(&job, from + start * element_bytes, left, both, to + start * element_bytes);
        }
        uint8_t *merged = to;
        to = from;
        from = merged;
    }
    if (from != elements) {
        memcpy(elements, from, count * element_bytes);
    }
}

#define DIGIT_COUNT 4
#define DIGIT_VALUES 256

static unsigned digit_of(uint32_t key, int digit)
{
    return key >> (8 * digit) & 0xffu;
}

/* Moves every pair to its place by one digit. `next` holds how many pairs have each value. */
static void scatter(const ls_key_index *from, size_t count, int digit, size_t *next,
                    ls_key_index *to)
{
    size_t start = 0;
    for (size_t value = 0; value < DIGIT_VALUES; value++) {
        size_t here = next[value];
        next[value] = start;
        start += here;
    }
    for (size_t i = 0; i < count; i++) {
        to[next[digit_of(from[i].key, digit)]++] = from[i];
    }
}

void ls_stable_sort_keys(ls_key_index *pairs, size_t count, ls_key_index *scratch)
{
    size_t counts[DIGIT_COUNT][DIGIT_VALUES] = {{0}};
    for (size_t i = 0; i < count; i++) {
        for (int digit = 0; digit < DIGIT_COUNT; digit++) {
            counts[digit][digit_of(pairs[i].key, digit)]++;
        }
    }
    ls_key_index *from = pairs, *to = scratch;
    for (int digit = 0; digit < DIGIT_COUNT && count > 0; digit++) {
        if (counts[digit][digit_of(pairs[0].key, digit)] == count) {
            continue; /* all keys have the same digit here */
        }
        scatter(from, count, digit, counts[digit], to);
        ls_key_index *sorted = to;
        to = from;
        from = sorted;
    }
    if (from != pairs) {
        memcpy(pairs, from, count * sizeof *pairs);
    }
}
