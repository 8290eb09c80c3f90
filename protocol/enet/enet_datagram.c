#include "lockstep/protocol/enet/enet_datagram.h"

#include "lockstep/common/base/case_function.h"
#include "lockstep/common/base/limits.h"

#include <string.h>

/* Format of ENet 1.3: a header, then 1 to 32 commands, each with its own header of four bytes:
 * command and flags, channel, sequence number. All numbers are big-endian. */
enum {
    HEADER_BYTES = LS_ENET_HEADER_BYTES,
    HEADER_WITH_TIME_BYTES = 4,
    HEADER_HAS_TIME = 0x8000,
    HEADER_IS_COMPRESSED = 0x4000,
    HEADER_SESSION = 0x3000,
    HEADER_SESSION_SHIFT = 12,
    HEADER_SEAT = 0x0fff,
    NO_SEAT = 0x0fff,

    COMMANDS_MAX = LS_ENET_COMMANDS_MAX,
    COMMAND_HEADER_BYTES = 4,
    CONNECT_BYTES = LS_ENET_CONNECT_BYTES - HEADER_WITH_TIME_BYTES,
    WANTS_ACKNOWLEDGEMENT = 0x80,
    CONTROL_CHANNEL = 0xff,
    DATA_CHANNEL = 0,
};

/* The command bytes that our ENet sends: number and flags together. */
enum {
    ACKNOWLEDGE = 0x01,
    CONNECT = 0x82,
    VERIFY_CONNECT = 0x83,
    DISCONNECT = 0x84,
    DISCONNECT_AT_ONCE = 0x44,
    PING = 0x85,
    SEND_RELIABLE = 0x86,
    SEND_UNSEQUENCED = 0x49,
    BANDWIDTH_LIMIT = 0x8a,
    THROTTLE_CONFIGURE = 0x8b,
};

static uint16_t load_u16(const uint8_t *bytes)
{
    return (uint16_t)((bytes[0] << 8) | bytes[1]);
}

static uint32_t load_u32(const uint8_t *bytes)
{
    return ((uint32_t)load_u16(bytes) << 16) | load_u16(bytes + 2);
}

static void store_u16(uint8_t *bytes, uint32_t value)
{
    bytes[0] = (uint8_t)(value >> 8);
    bytes[1] = (uint8_t)value;
}

#define CASE_NAME(name, text) LS_CASE(LS_DATAGRAM_##name, #name)
LS_CASE_FUNCTION(const char *, ls_datagram_rejection_name, ls_datagram_rejection,
                 LS_DATAGRAM_REJECTION_MAP, CASE_NAME, "ACCEPTED")

ls_datagram_rejection ls_enet_datagram_read(const uint8_t *bytes, size_t size,
                                            ls_enet_header *header)
{
    if (size < HEADER_BYTES || size > LS_ENET_DATAGRAM_BYTES_MAX) {
        return LS_DATAGRAM_MALFORMED;
    }
    uint16_t field = load_u16(bytes);
    if (field & HEADER_IS_COMPRESSED) {
        return LS_DATAGRAM_UNSUPPORTED;
    }
    bool has_time = (field & HEADER_HAS_TIME) != 0;
    if (has_time && size < HEADER_WITH_TIME_BYTES) {
        return LS_DATAGRAM_MALFORMED;
    }
    header->seat = field & HEADER_SEAT;
    header->session = (uint8_t)((field & HEADER_SESSION) >> HEADER_SESSION_SHIFT);
    header->is_connect = header->seat == NO_SEAT;
    header->has_time = has_time;
    header->bytes = has_time ? HEADER_WITH_TIME_BYTES : HEADER_BYTES;
    return LS_DATAGRAM_ACCEPTED;
}

/* Size of a command without its packet; 0 for one that we never send. */
static size_t command_bytes(uint8_t command)
{
    switch (command) {
    case ACKNOWLEDGE:
        return 8;
    case VERIFY_CONNECT:
        return 44;
    case DISCONNECT:
    case DISCONNECT_AT_ONCE:
        return 8;
    case PING:
        return 4;
    case SEND_RELIABLE:
        return 6;
    case SEND_UNSEQUENCED:
        return LS_ENET_UNSEQUENCED_BYTES;
    case BANDWIDTH_LIMIT:
        return 12;
    case THROTTLE_CONFIGURE:
        return 16;
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
    case SEND_UNSEQUENCED:
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

/* Of CONNECT and VERIFY_CONNECT alike. Below our limit ENet would cut our packets into fragments;
 * from a seat that no header can name on, it checks no session and writes its bits over others. */
static bool is_handshake_right(const uint8_t *command)
{
    return load_u16(command + 4) < NO_SEAT && load_u32(command + 8) >= LS_ENET_MTU_BYTES;
}

/* Checks one whole command whose fixed part lies within the datagram; adds the size of the packet
 * that follows it to `size`. */
static ls_datagram_rejection check_command(const uint8_t *command, size_t *size,
                                           uint16_t reliable_received)
{
    size_t packet_bytes = 0;
    switch (command[0]) {
    case SEND_RELIABLE:
        packet_bytes = load_u16(command + 4);
        if (is_too_far_ahead(load_u16(command + 2), reliable_received)) {
            return LS_DATAGRAM_TOO_FAR_AHEAD;
        }
        break;
    case SEND_UNSEQUENCED:
        packet_bytes = load_u16(command + 6);
        break;
    case VERIFY_CONNECT:
        if (!is_handshake_right(command)) {
            return LS_DATAGRAM_UNSUPPORTED;
        }
        break;
    default:
        break;
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

/* A connect request is alone in its datagram. */
static ls_datagram_rejection check_connect(const uint8_t *command, size_t size, bool has_time)
{
    if (size != CONNECT_BYTES || !has_time) {
        return LS_DATAGRAM_MALFORMED;
    }
    bool is_supported =
        command[0] == CONNECT && command[1] == CONTROL_CHANNEL && is_handshake_right(command);
    return is_supported ? LS_DATAGRAM_ACCEPTED : LS_DATAGRAM_UNSUPPORTED;
}

ls_datagram_rejection ls_enet_datagram_check(const uint8_t *bytes, size_t size,
                                             const ls_enet_header *header,
                                             uint16_t reliable_received)
{
    const uint8_t *commands = bytes + header->bytes;
    size_t commands_size = size - header->bytes;
    if (header->is_connect) {
        return check_connect(commands, commands_size, header->has_time);
    }
    return check_commands(commands, commands_size, header->has_time, reliable_received);
}

/* ---- the datagrams that most are ---- */

bool ls_enet_datagram_is_plain(const uint8_t *bytes, size_t size, const ls_enet_header *header,
                               ls_enet_plain *plain)
{
    const uint8_t *command = bytes + header->bytes;
    size_t left = size - header->bytes;
    if (header->is_connect || left < LS_ENET_UNSEQUENCED_BYTES || command[0] != SEND_UNSEQUENCED ||
        command[1] != DATA_CHANNEL) {
        return false;
    }
    size_t packet_bytes = load_u16(command + 6);
    if (packet_bytes > LS_PACKET_BYTES_MAX || left != LS_ENET_UNSEQUENCED_BYTES + packet_bytes) {
        return false;
    }
    *plain = (ls_enet_plain){.group = load_u16(command + 4),
                             .bytes = command + LS_ENET_UNSEQUENCED_BYTES,
                             .size = packet_bytes};
    return true;
}

size_t ls_enet_datagram_write_header(uint8_t *bytes, uint16_t seat, uint8_t session)
{
    store_u16(bytes, (uint32_t)seat | (uint32_t)session << HEADER_SESSION_SHIFT);
    return LS_ENET_HEADER_BYTES;
}

size_t ls_enet_datagram_write_unsequenced(uint8_t *bytes, uint16_t group, const uint8_t *packet,
                                          size_t size)
{
    bytes[0] = SEND_UNSEQUENCED;
    bytes[1] = DATA_CHANNEL;
    store_u16(bytes + 2, 0); /* no sequence */
    store_u16(bytes + 4, group);
    store_u16(bytes + 6, (uint32_t)size);
    if (size > 0) {
        memcpy(bytes + LS_ENET_UNSEQUENCED_BYTES, packet, size);
    }
    return LS_ENET_UNSEQUENCED_BYTES + size;
}
