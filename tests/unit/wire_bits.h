/* Wire bits: a second, slow encoder of the notation in protocol/PROTOCOL.md, one bit at a time,
 * written from that page alone. Tests hold the product's packets against it and make packets with
 * it that the product would never send. Must never use bit_stream. */
#ifndef LOCKSTEP_TESTS_UNIT_WIRE_BITS_H
#define LOCKSTEP_TESTS_UNIT_WIRE_BITS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    WIRE_BYTES_MAX = 4096
};

/* Start it as {0}. */
typedef struct wire_bits {
    uint8_t bytes[WIRE_BYTES_MAX];
    size_t count;
} wire_bits;

/* uN */
static inline void wire_u(wire_bits *wire, uint64_t value, unsigned bits)
{
    for (unsigned i = 0; i < bits; i++) {
        unsigned bit = (unsigned)(value >> i & 1u);
        wire->bytes[wire->count / 8] |= (uint8_t)(bit << (wire->count % 8));
        wire->count++;
    }
}

/* uvar */
static inline void wire_uvar(wire_bits *wire, uint64_t value)
{
    while (value > 15) {
        wire_u(wire, value & 15u, 4);
        wire_u(wire, 1, 1);
        value /= 16;
    }
    wire_u(wire, value, 4);
    wire_u(wire, 0, 1);
}

/* svar */
static inline void wire_svar(wire_bits *wire, int64_t value)
{
    wire_uvar(wire, value >= 0 ? (uint64_t)value * 2 : (uint64_t)-value * 2 - 1);
}

/* text */
static inline void wire_text(wire_bits *wire, const char *text)
{
    size_t size = strlen(text);
    wire_uvar(wire, size);
    for (size_t i = 0; i < size; i++) {
        wire_u(wire, (uint8_t)text[i], 8);
    }
}

static inline void wire_bytes(wire_bits *wire, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        wire_u(wire, bytes[i], 8);
    }
}

/* One part of a layout, to be written as U(value, bits), UVAR(value) or TEXT(text). */
typedef struct wire_part {
    uint64_t value;
    unsigned bits; /* WIRE_IS_*: another notation */
    const char *text;
} wire_part;

enum {
    WIRE_IS_UVAR = 100,
    WIRE_IS_TEXT,
    WIRE_IS_END,
};

#define U(value, bits)                                                                             \
    {                                                                                              \
        value, bits, NULL                                                                          \
    }
#define UVAR(value)                                                                                \
    {                                                                                              \
        value, WIRE_IS_UVAR, NULL                                                                  \
    }
#define TEXT(text)                                                                                 \
    {                                                                                              \
        0, WIRE_IS_TEXT, text                                                                      \
    }

/* The parts one after another; a message begins with its kind in six bits. */
#define WIRE(...) wire_make((const wire_part[]){__VA_ARGS__, {0, WIRE_IS_END, NULL}})
#define WIRE_MESSAGE(kind, ...) WIRE(U(kind, 6), __VA_ARGS__)

static inline wire_bits wire_make(const wire_part *parts)
{
    wire_bits wire = {{0}, 0};
    for (; parts->bits != WIRE_IS_END; parts++) {
        if (parts->bits == WIRE_IS_TEXT) {
            wire_text(&wire, parts->text);
        } else if (parts->bits == WIRE_IS_UVAR) {
            wire_uvar(&wire, parts->value);
        } else {
            wire_u(&wire, parts->value, parts->bits);
        }
    }
    return wire;
}

/* Whole bytes, padded. */
static inline size_t wire_size(const wire_bits *wire)
{
    return (wire->count + 7) / 8;
}

#endif
