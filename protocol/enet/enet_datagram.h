/* ENet datagram: decides whether a datagram is one that an enet_channel itself would send, before
 * ENet sees it. ENet accepts more than we use, and some of that lets one peer hold memory without
 * limit. Looks at bytes only: knows no connection and no header of ENet's, and never looks past
 * `size`. Called by enet_channel; pure, so that it can be tested and fuzzed alone. */
#ifndef LOCKSTEP_PROTOCOL_ENET_ENET_DATAGRAM_H
#define LOCKSTEP_PROTOCOL_ENET_ENET_DATAGRAM_H

#include "lockstep/common/base/language.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

/* Largest datagram that a channel makes or takes. */
#define LS_ENET_DATAGRAM_BYTES_MAX 1180u

/* Why a datagram was dropped: name and text. */
#define LS_DATAGRAM_REJECTION_MAP(X)                                                               \
    X(MALFORMED, "not ENet's format, or cut short")                                                \
    X(UNSUPPORTED, "holds a command or option that this transport never uses")                     \
    X(OVERSIZE, "carries a packet above the size limit")                                           \
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

/* `reliable_received`: sequence number of the newest reliable packet that the receiver has taken in
 * order from this sender. */
ls_datagram_rejection ls_enet_datagram_check(const uint8_t *bytes, size_t size,
                                             uint16_t reliable_received);

LS_C_END

#endif
