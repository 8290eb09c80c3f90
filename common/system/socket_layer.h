/* Socket layer: a datagram socket around another one: what it stands between sees a socket on
 * either side. Its kind looks at each datagram that comes, and says where each one goes that the
 * transport sends. Does no I/O but through the socket beneath it, which listens. Called by what
 * brings players by other ways than their own address: relays. */
#ifndef LOCKSTEP_COMMON_SYSTEM_SOCKET_LAYER_H
#define LOCKSTEP_COMMON_SYSTEM_SOCKET_LAYER_H

#include "lockstep/common/system/datagram_socket.h"

typedef struct ls_socket_layer ls_socket_layer;

/* A datagram of the transport on its way out. */
typedef struct ls_outgoing_datagram {
    const ls_endpoint *to;
    const uint8_t *bytes;
    size_t size;
    uint8_t *room; /* LS_UDP_DATAGRAM_BYTES_MAX for other bytes, which stay until they have left */
} ls_outgoing_datagram;

typedef enum ls_layer_fate {
    LS_LAYER_FORWARDED, /* the socket beneath sends it as it is now */
    LS_LAYER_SENT,      /* the layer has taken care of it */
    LS_LAYER_LOST,      /* there is no way to where it goes */
} ls_layer_fate;

/* The callbacks of a layer. All but `receive` and `send` may be NULL. */
typedef struct ls_socket_layer_kind {
    void (*begin_turn)(ls_socket_layer *layer, uint64_t now_ns);
    /* Whether there is a datagram that has come by a way of the layer's own, and takes it. Those
     * are received first. */
    bool (*has_own)(const ls_socket_layer *layer);
    void (*receive_own)(ls_socket_layer *layer, ls_udp_datagram *out);
    /* Whether a datagram that has come is the transport's, as which it is made. */
    bool (*receive)(ls_socket_layer *layer, ls_udp_datagram *came);
    /* As which `receive` will make one that is on its way. */
    const uint8_t *(*peek)(const uint8_t *bytes, size_t *size);
    ls_layer_fate (*send)(ls_socket_layer *layer, ls_outgoing_datagram *going);
    void (*closed)(ls_socket_layer *layer); /* the socket beneath is closed, and forgotten */
} ls_socket_layer_kind;

/* The first member of every layer. */
struct ls_socket_layer {
    ls_datagram_socket base;
    const ls_socket_layer_kind *kind;
    ls_datagram_socket *inner; /* NULL: closed */
    uint32_t waiting;          /* datagrams until the next flush */
    uint32_t passed;           /* of those, to the inner socket: of each the number among all */
    uint8_t numbers[LS_UDP_WAITING_MAX];
    uint64_t lost; /* a bit for each that had no way */
    uint8_t rooms[LS_UDP_WAITING_MAX][LS_UDP_DATAGRAM_BYTES_MAX];
};

/* A layer whose memory is the caller's. Takes the socket beneath; kind and layer outlive it. */
void ls_socket_layer_init(ls_socket_layer *layer, const ls_socket_layer_kind *kind,
                          ls_datagram_socket *inner);

/* A datagram of the layer's own through the socket beneath; dropped while the transport's wait. */
void ls_socket_layer_send_own(ls_socket_layer *layer, const ls_endpoint *to, const uint8_t *bytes,
                              size_t size);

#endif
