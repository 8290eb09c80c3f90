/* Fuzz peer: what the targets with hostile peers share: messages to fill, packets and flipped bits
 * out of the bytes, and which messages a client may send at all. Called by fuzz_join, fuzz_match,
 * fuzz_resume and fuzz_session. */
#ifndef LOCKSTEP_TESTS_FUZZ_FUZZ_PEER_H
#define LOCKSTEP_TESTS_FUZZ_FUZZ_PEER_H

#include "lockstep/protocol/wire/message.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <string.h>

/* How many frames a session draws in one run, or as much other work. libFuzzer's runs end early,
 * for there are many of them; a file is replayed to its end. */
#ifdef LS_FUZZ_PROGRAM
#define FUZZ_WORK_MAX 60u
#else
#define FUZZ_WORK_MAX UINT32_MAX
#endif

/* A message whose fields are all zero; good until the next one. */
static inline ls_message *fuzz_message_of(ls_message_kind kind)
{
    static ls_message message;
    memset(&message, 0, sizeof message);
    message.kind = kind;
    return &message;
}

/* A packet of any bytes: u16 size, then as many, or what is left. */
static inline const uint8_t *fuzz_take_packet(fuzz_input *input, size_t *size)
{
    size_t wanted = fuzz_take_u16(input) % (LS_PACKET_BYTES_MAX + 1);
    return fuzz_take_bytes(input, wanted, size);
}

/* u16 place of each bit that is flipped. */
static inline void fuzz_flip_bits(fuzz_input *input, uint32_t count, uint8_t *bytes, size_t size)
{
    for (; count > 0 && size > 0; count--) {
        size_t bit = fuzz_take_u16(input) % (size * 8);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

/* Whether a client that is asked for it may send this reliable message. */
static inline bool fuzz_is_client_message(ls_message_kind kind)
{
    switch (kind) {
    case LS_MESSAGE_HELLO:
    case LS_MESSAGE_READY:
    case LS_MESSAGE_GOODBYE:
    case LS_MESSAGE_HASHES:
    case LS_MESSAGE_FINISHED:
    case LS_MESSAGE_TREE_ANSWER:
    case LS_MESSAGE_EVIDENCE:
    case LS_MESSAGE_BUILD_FINGERPRINT:
    case LS_MESSAGE_HEALED:
        return true;
    default:
        return false;
    }
}

#endif
