#include "lockstep/protocol/udp/transport_udp_state.h"

#include "lockstep/common/base/fault.h"

ls_status ls_udp_connection_open(udp_connection *connection, uint64_t rtt_ns, uint64_t now_ns)
{
    transport_udp *transport = connection->transport;
    ls_enet_channel_config config = {
        .rtt_ns = rtt_ns, .on_datagram = ls_udp_out_enet, .user = connection};
    return ls_enet_channel_create(transport->wire, &config, now_ns, transport->allocator,
                                  &connection->channel);
}

void ls_udp_connection_set_busy(udp_connection *connection, bool is_busy)
{
    if (is_busy != connection->is_busy) {
        connection->is_busy = is_busy;
        connection->transport->busy_count += is_busy ? 1u : (uint32_t)-1;
    }
}

void ls_udp_connection_queue(udp_connection *connection)
{
    connection->transport->queued_count += connection->has_queued ? 0 : 1;
    connection->has_queued = true;
}

void ls_udp_connection_drop(udp_connection *connection)
{
    transport_udp *transport = connection->transport;
    ls_udp_out_flush(transport); /* what was sent to it needs its keys */
    ls_udp_connection_set_busy(connection, false);
    transport->queued_count -= connection->has_queued ? 1 : 0;
    connection->has_queued = false;
    transport->draining = transport->draining == connection ? NULL : transport->draining;
    transport->has_left = transport->has_left && transport->heard != seat_of(connection);
    if (!LS_FAULT(CONNECTION_KEPT)) {
        ls_enet_channel_destroy(connection->channel);
    }
    connection->channel = NULL;
}
