#include "lockstep/tools/synctest/shims_memory.h"

#include "lockstep/tools/synctest/page_memory.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* No compiler may take the loops below for the functions that they are in, or leave them out. */
#if defined(__clang__)
#define SHIM __attribute__((used, visibility("default"), no_builtin))
#else
#define SHIM                                                                                       \
    __attribute__((used, visibility("default"), optimize("no-tree-loop-distribute-patterns")))
#endif

static bool is_backward, is_scaled;

void synctest_shims_memory_set(bool are_copies_backward, bool are_comparisons_scaled)
{
    is_backward = are_copies_backward;
    is_scaled = are_comparisons_scaled;
}

/* A sanitizer has its own. */
#if !SYNCTEST_IS_SANITIZED

/* By a pointer that may change, since a compiler makes memcpy, this very function, of memmove. */
static void *(*volatile move)(void *to, const void *from, size_t byte_count) = memmove;

/* Elsewhere the order makes no difference. */
static bool is_overlapping(const void *a, const void *b, size_t byte_count)
{
    uintptr_t start = (uintptr_t)a, other = (uintptr_t)b;
    return start < other ? other - start < byte_count : start - other < byte_count;
}

SHIM void *memcpy(void *restrict to, const void *restrict from, size_t byte_count)
{
    if (!is_backward || !is_overlapping(to, from, byte_count)) {
        return move(to, from, byte_count);
    }
    volatile uint8_t *written = to;
    const volatile uint8_t *read = from;
    for (size_t i = byte_count; i > 0; i--) {
        written[i - 1] = read[i - 1];
    }
    return to;
}

/* As one C library has it, the difference of two bytes; as others have it, any number. */
static int scaled(uint8_t a, uint8_t b)
{
    int difference = (int)a - (int)b;
    return is_scaled ? 3 * difference : difference;
}

SHIM int memcmp(const void *a, const void *b, size_t byte_count)
{
    const uint8_t *left = a, *right = b;
    size_t i = 0;
    for (; i + sizeof(uint64_t) <= byte_count; i += sizeof(uint64_t)) {
        uint64_t left_word = 0, right_word = 0;
        __builtin_memcpy(&left_word, left + i, sizeof left_word);
        __builtin_memcpy(&right_word, right + i, sizeof right_word);
        if (left_word != right_word) {
            break;
        }
    }
    while (i < byte_count && left[i] == right[i]) {
        i++;
    }
    return i < byte_count ? scaled(left[i], right[i]) : 0;
}

static int compare_texts(const char *a, const char *b, size_t byte_count)
{
    size_t i = 0;
    while (i < byte_count && a[i] == b[i] && a[i] != '\0') {
        i++;
    }
    return i < byte_count ? scaled((uint8_t)a[i], (uint8_t)b[i]) : 0;
}

SHIM int strncmp(const char *a, const char *b, size_t byte_count)
{
    return compare_texts(a, b, byte_count);
}

SHIM int strcmp(const char *a, const char *b)
{
    return compare_texts(a, b, SIZE_MAX);
}

#endif
