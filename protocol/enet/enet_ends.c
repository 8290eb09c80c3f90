#include "lockstep/protocol/enet/enet_ends.h"

#include "lockstep/common/base/limits.h"
#include "lockstep/common/system/socket.h"

/* Of messages, which ignore the address that ENet gives. */
bool ls_enet_ends_open(ENetSocket ends[2])
{
    int sockets[2];
    if (ls_socket_message_pair(sockets, ENET_HOST_SEND_BUFFER_SIZE) != LS_OK) {
        return false;
    }
    ends[0] = sockets[0];
    ends[1] = sockets[1];
    return true;
}

static int ENET_CALLBACK on_receiving(ENetHost *host, ENetEvent *event)
{
    (void)event;
    host->receivedAddress = ls_enet_nowhere;
    return 0;
}

void ls_enet_ends_hold(ENetHost *host)
{
    host->intercept = on_receiving;
    host->maximumPacketSize = LS_PACKET_BYTES_MAX;
    host->maximumWaitingData = LS_WAITING_BYTES_MAX;
}
