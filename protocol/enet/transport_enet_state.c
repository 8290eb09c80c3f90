#define _POSIX_C_SOURCE 200809L
#include "lockstep/protocol/enet/transport_enet_state.h"

#include <errno.h>
#include <string.h>

bool ls_enet_is_would_block(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK;
}

void ls_enet_note_failure(transport_enet *transport, int error)
{
    if (error == 0 || ls_enet_is_would_block(error)) {
        /* ENet sets no error for a datagram longer than it can receive. */
        transport->rejections[LS_DATAGRAM_OVERSIZE]++;
    } else if (error == ECONNREFUSED || error == EHOSTUNREACH || error == ENETUNREACH) {
        transport->is_refused = true;
    }
    ls_peer_seat *own = &transport->seats.seats[CLIENT_SEAT];
    if (error == ECONNREFUSED && own->state == LS_SEAT_CONNECTING) {
        own->deadline_ns = 0; /* the machine is there and says no: nothing to wait for */
    }
}

void ls_enet_count_sent(transport_enet *transport, ls_peer_seat *seat, size_t payload_bytes,
                        bool is_datagram)
{
    size_t bytes = payload_bytes + (is_datagram ? IP_UDP_HEADER_BYTES : 0);
    transport->total.bytes_sent += bytes;
    transport->total.packets_sent += is_datagram ? 1 : 0;
    seat->traffic.bytes_sent += bytes;
    seat->traffic.packets_sent += is_datagram ? 1 : 0;
}

uint32_t ls_enet_queued_words(uint32_t seats)
{
    return seats / 64 + 1;
}

void ls_enet_note_queued(transport_enet *transport, const ls_peer_seat *seat)
{
    size_t index = index_of(transport, seat);
    transport->queued[index / 64] |= UINT64_C(1) << index % 64;
}

bool ls_enet_is_queued(const transport_enet *transport, const ls_peer_seat *seat)
{
    size_t index = index_of(transport, seat);
    return (transport->queued[index / 64] >> index % 64 & 1u) != 0;
}

void ls_enet_forget_queued(transport_enet *transport)
{
    memset(transport->queued, 0,
           ls_enet_queued_words(transport->seats.count) * sizeof *transport->queued);
}
