/* ENet datagram: decides whether a datagram is one that transport_enet itself would send, before
 * ENet sees it. ENet accepts more than we use, and some of that lets one peer hold memory without
 * limit. Looks at bytes only: knows no socket, no connection and no header of ENet's, and never
 * looks past `size`. Called by transport_enet; pure, so that it can be tested and fuzzed alone. */
#ifndef LOCKSTEP_PROTOCOL_ENET_ENET_DATAGRAM_H
#define LOCKSTEP_PROTOCOL_ENET_ENET_DATAGRAM_H

#include "lockstep/common/base/language.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

/* Why a datagram was dropped: name and text. */
#define LS_DATAGRAM_REJECTION_MAP(X)                                                               \
    X(MALFORMED, "not ENet's format, or cut short")                                                \
    X(UNSUPPORTED, "holds a command or option that this transport never uses")                     \
    X(OVERSIZE, "carries a packet above the size limit")                                           \
    X(UNKNOWN_PEER, "comes from an unknown peer")                                                  \
    X(TOO_FAR_AHEAD, "reliable packet too far ahead of a missing one")

typedef enum ls_datagram_rejection {
#define LS_DATAGRAM_REJECTION_ENUM(name, text) LS_DATAGRAM_##name,
    LS_DATAGRAM_REJECTION_MAP(LS_DATAGRAM_REJECTION_ENUM)
#undef LS_DATAGRAM_REJECTION_ENUM
    LS_DATAGRAM_REJECTION_COUNT,
    LS_DATAGRAM_ACCEPTED = -1,
} ls_datagram_rejection;

/* "MALFORMED" and so on; "ACCEPTED" for a datagram that is fine. */
const char *ls_datagram_rejection_name(ls_datagram_rejection rejection);

/* Largest UDP payload that a transport sends: a 1,280 byte path without IPv4 and UDP headers. */
#define LS_ENET_MTU_BYTES 1252u

/* Largest UDP payload that ENet can receive at all. */
#define LS_ENET_DATAGRAM_BYTES_MAX 4096u

/* UDP payload of the datagram that opens a connection. */
#define LS_ENET_CONNECT_BYTES 52u

typedef struct ls_enet_header {
    uint16_t seat;   /* index of the sender's place at the receiver, 0 .. 4,094 */
    uint8_t session; /* tells connections of one seat apart, 0 .. 3 */
    bool is_connect; /* asks for a connection: has no seat yet */
    bool has_time;
    uint8_t bytes; /* the header's size: 2 or 4 */
} ls_enet_header;

/* Reads the datagram's header. Fills `header` only when ACCEPTED. */
ls_datagram_rejection ls_enet_datagram_read(const uint8_t *bytes, size_t size,
                                            ls_enet_header *header);

/* Checks everything behind the header that ls_enet_datagram_read gave for the same bytes.
 * `reliable_received`: sequence number of the newest reliable packet that the receiver has taken
 * in order from this sender. */
ls_datagram_rejection ls_enet_datagram_check(const uint8_t *bytes, size_t size,
                                             const ls_enet_header *header,
                                             uint16_t reliable_received);

/* A datagram that holds one unsequenced packet and nothing else, as most do. */
typedef struct ls_enet_plain {
    uint16_t group; /* number of the packet, by which repeats of it are known */
    const uint8_t *bytes;
    size_t size; /* 0 .. LS_PACKET_BYTES_MAX */
} ls_enet_plain;

/* Whether it is one; it passes ls_enet_datagram_check as well then. Fills `plain` only if so. */
bool ls_enet_datagram_is_plain(const uint8_t *bytes, size_t size, const ls_enet_header *header,
                               ls_enet_plain *plain);

/* Writes what ENet would: the header of a datagram that tells no time, and an unsequenced packet
 * behind it. Return how many bytes that takes: HEADER, and UNSEQUENCED more than the packet. */
#define LS_ENET_HEADER_BYTES 2u
#define LS_ENET_UNSEQUENCED_BYTES 8u
#define LS_ENET_COMMANDS_MAX 32u /* in a datagram */

size_t ls_enet_datagram_write_header(uint8_t *bytes, uint16_t seat, uint8_t session);
size_t ls_enet_datagram_write_unsequenced(uint8_t *bytes, uint16_t group, const uint8_t *packet,
                                          size_t size);

LS_C_END

#endif
