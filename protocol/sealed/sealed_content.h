/* Sealed content: what a sealed packet holds, and how much fits. The layouts stand in
 * protocol/SEALED.md. */
#ifndef LOCKSTEP_PROTOCOL_SEALED_SEALED_CONTENT_H
#define LOCKSTEP_PROTOCOL_SEALED_SEALED_CONTENT_H

#include "lockstep/common/base/language.h"

LS_C_BEGIN

typedef enum ls_sealed_content {
    LS_SEALED_PACKET,
    LS_SEALED_PACKETS,
    LS_SEALED_ENET,
    LS_SEALED_PATH_CHALLENGE,
    LS_SEALED_PATH_RESPONSE,
    LS_SEALED_PATH_MOVED,
    LS_SEALED_CONTENT_COUNT,
} ls_sealed_content;

/* Largest UDP payload: with the headers of IPv4 and UDP 1,228 bytes, with IPv6's 1,248. */
#define LS_SEALED_DATAGRAM_BYTES_MAX 1200u

/* Bytes before the content, of either direction, and behind it. A client whose connection has an
 * index of LS_SEALED_INDICES or more needs one byte more. */
#define LS_SEALED_CLIENT_HEADER_BYTES 4u
#define LS_SEALED_CLIENT_HEADER_BYTES_MAX 5u
#define LS_SEALED_SERVER_HEADER_BYTES 3u
#define LS_SEALED_TAG_BYTES 16u
#define LS_SEALED_CONTENT_BYTES_MAX                                                                \
    (LS_SEALED_DATAGRAM_BYTES_MAX - LS_SEALED_CLIENT_HEADER_BYTES_MAX - LS_SEALED_TAG_BYTES)

/* The number in a PATH_CHALLENGE; and the most addresses of a connection that are sent one at once:
 * where it is, where it may have moved to, and where it was. */
#define LS_PATH_NUMBER_BYTES 8u
#define LS_PATH_CHALLENGES_MAX 3u

#define LS_SEALED_REQUEST_BYTES 1200u
#define LS_SEALED_REQUEST_BYTES_MIN 256u /* of one that asks whether smaller datagrams pass */

#define LS_SEALED_WORKERS_MAX 16u /* of one port */

/* The index of a connection: its lowest 12 bits say which of several workers has it, and stand in
 * the first two bytes of a client's packet. With 4 more an index has 16 bits. */
#define LS_SEALED_INDICES 4096u
#define LS_SEALED_INDEX_ROUNDS 16u

/* The most connections of each of so many workers. */
#define LS_SEALED_CONNECTIONS_MAX(workers) (LS_SEALED_INDICES / (workers)*LS_SEALED_INDEX_ROUNDS)

/* Why a datagram was dropped: name and text. */
#define LS_SEALED_REJECTION_MAP(X)                                                                 \
    X(MALFORMED, "not a packet of this protocol, or cut short")                                    \
    X(UNKNOWN_PEER, "of no connection that there is")                                              \
    X(FORGED, "its seal does not open")                                                            \
    X(REPEATED, "came before, or is too old to tell")                                              \
    X(COOKIE, "a key exchange with a wrong or an old cookie")                                      \
    X(CREDENTIAL, "a key exchange whose invite or token is missing or not good")                   \
    X(LIMITED, "above a limit of its address or of all")                                           \
    X(OUT_OF_PLACE, "not expected now")

typedef enum ls_sealed_rejection {
#define LS_SEALED_REJECTION_ENUM(name, text) LS_SEALED_REJECT_##name,
    LS_SEALED_REJECTION_MAP(LS_SEALED_REJECTION_ENUM)
#undef LS_SEALED_REJECTION_ENUM
    LS_SEALED_REJECTION_COUNT,
    LS_SEALED_ACCEPTED = -1,
} ls_sealed_rejection;

/* Why a client is told that it does not get in, or not here: DENIED's reason, from 1 on (but
 * REDIRECTED has one for each worker, and NO_SEAT that of FULL: the client asks again), and how a
 * log says it. X(NAME, text) */
#define LS_DENIAL_MAP(X)                                                                           \
    X(FULL, "every connection is taken: the server is full")                                       \
    X(CREDENTIAL, "without the invite's secret, or without a connect token")                       \
    X(TOO_MANY, "too many connections from its address")                                           \
    X(REDIRECTED, "it belongs to another worker of this port, and was told which")                 \
    X(NO_SEAT, "no room has a seat for it now, or its own room is not open again yet")

typedef enum ls_denial {
    LS_DENIAL_NONE,
#define LS_DENIAL_ENUM(name, text) LS_DENIAL_##name,
    LS_DENIAL_MAP(LS_DENIAL_ENUM)
#undef LS_DENIAL_ENUM
    LS_DENIAL_END,
} ls_denial;

LS_C_END

#endif
