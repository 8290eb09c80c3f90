#include "lockstep/protocol/enet/enet_datagram.h"

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/limits.h"

/* Format of ENet 1.3: a header, then 1 to 32 commands, each with its own header of four bytes:
 * command and flags, channel, sequence number. All numbers are big-endian. */
enum {
    HEADER_BYTES = 2,
    HEADER_WITH_TIME_BYTES = 4,
    HEADER_HAS_TIME = 0x8000,

    COMMANDS_MAX = 32,
    COMMAND_HEADER_BYTES = 4,
    WANTS_ACKNOWLEDGEMENT = 0x80,
    CONTROL_CHANNEL = 0xff,
    DATA_CHANNEL = 0,
};

/* The command bytes that our ENet sends: number and flags together. */
enum {
    ACKNOWLEDGE = 0x01,
    DISCONNECT = 0x84,
    DISCONNECT_AT_ONCE = 0x44,
    SEND_RELIABLE = 0x86,
};

static uint16_t load_u16(const uint8_t *bytes)
{
    return (uint16_t)((bytes[0] << 8) | bytes[1]);
}

#define CASE_NAME(name, text) LS_CASE(LS_DATAGRAM_##name, #name)
LS_CASE_FUNCTION(const char *, ls_datagram_rejection_name, ls_datagram_rejection,
                 LS_DATAGRAM_REJECTION_MAP, CASE_NAME, "ACCEPTED")

/* Size of a command without its packet; 0 for one that we never send. */
static size_t command_bytes(uint8_t command)
{
    switch (command) {
    case ACKNOWLEDGE:
    case DISCONNECT:
    case DISCONNECT_AT_ONCE:
        return 8;
    case SEND_RELIABLE:
        return 6;
    default:
        return 0;
    }
}

static bool is_channel_right(uint8_t command, uint8_t channel)
{
    switch (command) {
    case ACKNOWLEDGE:
        return channel == CONTROL_CHANNEL || channel == DATA_CHANNEL;
    case SEND_RELIABLE:
        return channel == DATA_CHANNEL;
    default:
        return channel == CONTROL_CHANNEL;
    }
}

/* Packets behind `reliable_received` are repeats, which ENet acknowledges and drops. */
static bool is_too_far_ahead(uint16_t sequence, uint16_t reliable_received)
{
    uint16_t ahead = (uint16_t)(sequence - reliable_received);
    return ahead > LS_RELIABLE_AHEAD_MAX && ahead < 0x8000;
}

/* Checks one whole command whose fixed part lies within the datagram; adds the size of the packet
 * that follows it to `size`. */
static ls_datagram_rejection check_command(const uint8_t *command, size_t *size,
                                           uint16_t reliable_received)
{
    if (command[0] != SEND_RELIABLE) {
        return LS_DATAGRAM_ACCEPTED;
    }
    size_t packet_bytes = load_u16(command + 4);
    if (is_too_far_ahead(load_u16(command + 2), reliable_received)) {
        return LS_DATAGRAM_TOO_FAR_AHEAD;
    }
    *size += packet_bytes;
    return packet_bytes > LS_PACKET_BYTES_MAX ? LS_DATAGRAM_OVERSIZE : LS_DATAGRAM_ACCEPTED;
}

static ls_datagram_rejection check_commands(const uint8_t *bytes, size_t size, bool has_time,
                                            uint16_t reliable_received)
{
    size_t at = 0;
    for (int count = 0; at < size; count++) {
        const uint8_t *command = bytes + at;
        size_t left = size - at;
        if (count == COMMANDS_MAX || left < COMMAND_HEADER_BYTES) {
            return LS_DATAGRAM_MALFORMED;
        }
        size_t needed = command_bytes(command[0]);
        if (needed == 0 || !is_channel_right(command[0], command[1])) {
            return LS_DATAGRAM_UNSUPPORTED;
        }
        if (left < needed || ((command[0] & WANTS_ACKNOWLEDGEMENT) && !has_time)) {
            return LS_DATAGRAM_MALFORMED;
        }
        ls_datagram_rejection rejection = check_command(command, &needed, reliable_received);
        if (rejection != LS_DATAGRAM_ACCEPTED) {
            return rejection;
        }
        if (left < needed) {
            return LS_DATAGRAM_MALFORMED;
        }
        at += needed;
    }
    return at == 0 ? LS_DATAGRAM_MALFORMED : LS_DATAGRAM_ACCEPTED;
}

ls_datagram_rejection ls_enet_datagram_check(const uint8_t *bytes, size_t size,
                                             uint16_t reliable_received)
{
    if (size < HEADER_BYTES || size > LS_ENET_DATAGRAM_BYTES_MAX) {
        return LS_DATAGRAM_MALFORMED;
    }
    uint16_t field = load_u16(bytes);
    if ((field & ~HEADER_HAS_TIME) != 0) {
        return LS_DATAGRAM_UNSUPPORTED;
    }
    bool has_time = field != 0;
    size_t header_bytes = has_time ? HEADER_WITH_TIME_BYTES : HEADER_BYTES;
    return size < header_bytes ? LS_DATAGRAM_MALFORMED
                               : check_commands(bytes + header_bytes, size - header_bytes, has_time,
                                                reliable_received);
}
