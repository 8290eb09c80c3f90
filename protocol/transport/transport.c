#include "lockstep/protocol/transport/transport.h"

static void sink_send(void *user, ls_peer_id peer, ls_channel channel, const uint8_t *bytes,
                      size_t size)
{
    ls_transport_send(user, peer, channel, bytes, size);
}

static void sink_disconnect(void *user, ls_peer_id peer)
{
    ls_transport_disconnect(user, peer);
}

ls_packet_sink ls_transport_sink(ls_transport *transport)
{
    return (ls_packet_sink){sink_send, sink_disconnect, transport};
}
