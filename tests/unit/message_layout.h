/* Message layout: holds a message against its bits in the notation of protocol/PROTOCOL.md. Never
 * encodes by the product's own writer. Called by test_message.c and test_message_join.c. */
#ifndef LOCKSTEP_TESTS_UNIT_MESSAGE_LAYOUT_H
#define LOCKSTEP_TESTS_UNIT_MESSAGE_LAYOUT_H

#include "lockstep/protocol/wire/message.h"
#include "lockstep/tests/unit/wire_bits.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    LAYOUT_PLAYERS = 3 /* of a match, but where a test says another number */
};

static inline ls_status read_wire(const wire_bits *wire)
{
    ls_message message;
    return ls_message_read(wire->bytes, wire_size(wire), LAYOUT_PLAYERS, &message);
}

static inline void expect_read(wire_bits wire, ls_status status)
{
    cr_assert_eq(read_wire(&wire), status);
}

/* A message of zeros, padding included, so that whole messages can be compared: its body is filled
 * field by field, since a structure that is assigned may bring padding of its own. */
static inline ls_message message_of(ls_message_kind kind)
{
    ls_message message;
    memset(&message, 0, sizeof message);
    message.kind = kind;
    message.players = LAYOUT_PLAYERS;
    return message;
}

/* The message is written as these bits, and these bits are read as the message; nothing shorter
 * and nothing longer is. */
static inline void expect_layout(const ls_message *message, wire_bits wire)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    memset(bytes, 0xff, sizeof bytes);
    size_t size = ls_message_write(message, bytes);
    cr_assert_eq(size, wire_size(&wire), "kind %d: %zu bytes", message->kind, size);
    cr_assert_arr_eq(bytes, wire.bytes, size);
    cr_assert_eq(ls_message_peek(bytes, size), (uint32_t)message->kind);

    ls_message read;
    memset(&read, 0xee, sizeof read);
    cr_assert_eq(ls_message_read(wire.bytes, size, message->players, &read), LS_OK);
    cr_assert_eq(memcmp(&read, message, sizeof read), 0, "kind %d reads back", message->kind);

    for (size_t cut = 0; cut < size; cut++) {
        cr_assert_eq(ls_message_read(wire.bytes, cut, message->players, &read), LS_MALFORMED,
                     "kind %d cut to %zu bytes", message->kind, cut);
    }
    cr_assert_eq(ls_message_read(wire.bytes, size + 1, message->players, &read), LS_MALFORMED,
                 "kind %d with a byte too many", message->kind);
    for (size_t bit = wire.count; bit < size * 8; bit++) {
        wire_bits dirty = wire;
        dirty.bytes[bit / 8] |= (uint8_t)(1u << bit % 8);
        cr_assert_eq(read_wire(&dirty), LS_MALFORMED, "kind %d, padding", message->kind);
    }
}

#endif
