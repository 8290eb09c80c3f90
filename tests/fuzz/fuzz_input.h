/* Fuzz input: the bytes that drive one run of a fuzz target, taken from front to back. Missing
 * bytes read as zero, so that every byte string is a whole run. Each target defines the entry point
 * below; libFuzzer or replay_main.c calls it. */
#ifndef LOCKSTEP_TESTS_FUZZ_FUZZ_INPUT_H
#define LOCKSTEP_TESTS_FUZZ_FUZZ_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Runs the target once. Stops the program when an invariant is broken; returns 0 always. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Its head: a file may have several targets, and each program is built with the name of its own for
 * the entry point. */
#define FUZZ_TARGET(name)                                                                          \
    int fuzz_##name(const uint8_t *bytes, size_t size);                                            \
    int fuzz_##name(const uint8_t *bytes, size_t size)

typedef struct fuzz_input {
    const uint8_t *bytes;
    size_t size; /* left */
} fuzz_input;

static inline uint8_t fuzz_take_u8(fuzz_input *input)
{
    if (input->size == 0) {
        return 0;
    }
    input->size--;
    return *input->bytes++;
}

static inline uint16_t fuzz_take_u16(fuzz_input *input)
{
    unsigned low = fuzz_take_u8(input);
    return (uint16_t)(fuzz_take_u8(input) << 8 | low);
}

static inline uint32_t fuzz_take_u32(fuzz_input *input)
{
    uint32_t low = fuzz_take_u16(input);
    return (uint32_t)fuzz_take_u16(input) << 16 | low;
}

/* -128 .. 127 */
static inline int32_t fuzz_take_i8(fuzz_input *input)
{
    int32_t value = fuzz_take_u8(input);
    return value < 128 ? value : value - 256;
}

/* The bytes before the next `mark`, or all, as a text; without zeros, and what has no room. */
static inline void fuzz_take_text(fuzz_input *input, char mark, char *text, size_t capacity)
{
    size_t size = 0;
    uint8_t byte = '\0';
    while (input->size > 0 && (byte = fuzz_take_u8(input)) != (uint8_t)mark) {
        if (byte != '\0' && size + 1 < capacity) {
            text[size++] = (char)byte;
        }
    }
    text[size] = '\0';
}

/* The next `wanted` bytes, or as many as there are; *size says how many. */
static inline const uint8_t *fuzz_take_bytes(fuzz_input *input, size_t wanted, size_t *size)
{
    const uint8_t *taken = input->bytes;
    *size = wanted < input->size ? wanted : input->size;
    input->bytes += *size;
    input->size -= *size;
    return taken;
}

/* The heap with an end: a few bytes may ask for 256 MiB, which is legal, and slow. */
static inline void *fuzz_allocate_bounded(void *user, size_t bytes)
{
    (void)user;
    return bytes <= (size_t)64 << 20 ? calloc(1, bytes) : NULL;
}

static inline void fuzz_release_bounded(void *user, void *memory)
{
    (void)user;
    free(memory);
}

/* A tick some way from another, held to what a tick can be. */
static inline uint32_t fuzz_tick_near(uint32_t tick, int64_t distance)
{
    int64_t moved = (int64_t)tick + distance;
    return moved < 0 ? 0 : moved > UINT32_MAX ? UINT32_MAX : (uint32_t)moved;
}

#endif
