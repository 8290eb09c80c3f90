/* Fuzz socket: a datagram socket without a network, for one datagram each way, and its clock; and
 * the moves of a peer that sends to it. Called by fuzz_transport and fuzz_transport_client. */
#ifndef LOCKSTEP_TESTS_FUZZ_FUZZ_SOCKET_H
#define LOCKSTEP_TESTS_FUZZ_FUZZ_SOCKET_H

#include "lockstep/protocol/sealed/sealed_content.h"
#include "lockstep/protocol/udp/transport_udp.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

typedef struct fuzz_socket {
    ls_datagram_socket socket;
    uint64_t now_ns;
    ls_endpoint peer;   /* what is sent there is kept, what goes elsewhere is lost */
    ls_udp_datagram in; /* the datagram that has come; size 0: none */
    uint8_t in_bytes[LS_UDP_DATAGRAM_BYTES_MAX];
    uint8_t out_bytes[LS_UDP_DATAGRAM_BYTES_MAX]; /* the newest that was sent to the peer */
    size_t out_size;                              /* 0: none since this was set to 0 */
} fuzz_socket;

void fuzz_socket_open(fuzz_socket *made, const ls_endpoint *peer);

/* Borrows the socket for as long as the transport lives. */
ls_transport_udp_ground fuzz_socket_ground(fuzz_socket *socket);

/* A datagram has come. The bytes are copied. */
void fuzz_socket_give(fuzz_socket *socket, const ls_endpoint *from, const uint8_t *bytes,
                      size_t size);

/* One move, in bytes:
 *   u8 what    low 2 bits: PACKET, PACKETS, ENET, or a datagram that is not sealed; bit 2: from
 *              another address; bit 3: 100 ms pass first; the others are the target's
 *   u8 size    of the content, in steps of 5 bytes
 *   ...        the content */
typedef struct fuzz_move {
    uint8_t what;
    bool is_sealed;
    ls_sealed_content content; /* is_sealed */
    bool is_elsewhere;
    bool lets_pass;
    const uint8_t *bytes; /* borrowed from the input */
    size_t size;          /* 0 .. LS_SEALED_CONTENT_BYTES_MAX */
} fuzz_move;

fuzz_move fuzz_take_move(fuzz_input *input);

#endif
