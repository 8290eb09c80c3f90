/* Sealed peer: a client in a test that has its keys and says with them whatever the test likes.
 * Used by the loopback tests of hostile peers. */
#ifndef LOCKSTEP_TESTS_LOOPBACK_SEALED_PEER_H
#define LOCKSTEP_TESTS_LOOPBACK_SEALED_PEER_H

#include "lockstep/protocol/sealed/sealed_client.h"
#include "lockstep/tests/loopback/station.h"

typedef struct sealed_peer {
    ls_sealed_client *client;
    int descriptor;
    uint16_t server_port;
    uint8_t last[LS_SEALED_DATAGRAM_BYTES_MAX]; /* the newest datagram that it sent */
    size_t last_size;
    uint32_t received; /* datagrams that opened */
} sealed_peer;

/* Exchanges keys with a server, which is turned meanwhile. */
sealed_peer sealed_peer_join(ls_station *server);
void sealed_peer_leave(sealed_peer *peer);

/* Seals content and sends it; returns the size of the datagram. */
size_t sealed_peer_send(sealed_peer *peer, ls_sealed_content content, const void *bytes,
                        size_t size);

/* Takes what the server has sent, and answers as a client must. */
void sealed_peer_receive(sealed_peer *peer);

/* From now on it is at another address. */
void sealed_peer_move(sealed_peer *peer);

#endif
