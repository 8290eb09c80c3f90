#define _GNU_SOURCE
#include "lockstep/common/system/udp_socket.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/common/system/socket_address.h"
#include "lockstep/common/system/udp_parts.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum {
    SMALL_BYTES_MAX = 512,  /* with the headers of IPv4 below the 576 that every path carries */
    BUFFER_BYTES = 4 << 20, /* the system's default of 208 KiB holds 500 small datagrams */
    LISTENING_BATCH = 32,
    CONNECTED_BATCH = 4,
};

/* Of a message's control data, for the stamp. */
#define ARRIVAL_CONTROL_BYTES 64u

/* When a datagram reached this machine, by the kernel's stamp, on the monotonic clock: so that a
 * socket may be read now and then without losing when things came. The stamp is by the wall clock:
 * it is never trusted beyond the time since the socket was last looked at. Linux; elsewhere a
 * datagram arrives when it is read. */
typedef struct arrival_clock {
    bool has_stamps;      /* as it is made: a datagram arrives when it is read */
    uint64_t turn_ns;     /* when the turn began in which datagrams are read */
    uint64_t previous_ns; /* when the turn before did: what is read now came later */
    uint64_t wall_ns;     /* what the wall clock showed at turn_ns */
} arrival_clock;

/* A datagram that has come, with what the system says about it. */
typedef struct udp_arrival {
    ls_socket_address from;
    struct iovec piece;
    uint64_t control[ARRIVAL_CONTROL_BYTES / 8];
    uint8_t bytes[LS_UDP_RECEIVED_BYTES_MAX];
} udp_arrival;

typedef struct udp_socket {
    ls_datagram_socket base;
    const ls_allocator *allocator;
    int descriptor;
    int family;
    uint16_t port;
    bool is_connected;
    ls_endpoint server; /* connected */
    arrival_clock arrivals;

    uint32_t batch;    /* so many may come with one call */
    uint32_t received; /* came with the last one */
    uint32_t taken;    /* of these */
    bool is_drained;   /* it brought fewer than it might have */
    udp_arrival *arrived;
    ls_udp_message *arrived_messages;

    uint32_t waiting;
    bool is_large_waiting; /* one of them is */
    bool is_small;         /* as ls_udp_part_set_small was told */
    ls_socket_address addresses[LS_UDP_WAITING_MAX];
    struct iovec pieces[LS_UDP_WAITING_MAX];
    ls_udp_message messages[LS_UDP_WAITING_MAX];
} udp_socket;

static const ls_datagram_socket_operations operations;

static udp_socket *from_base(ls_datagram_socket *base)
{
    LS_ASSERT(base->operations == &operations);
    return (udp_socket *)base;
}

static const udp_socket *from_const_base(const ls_datagram_socket *base)
{
    LS_ASSERT(base->operations == &operations);
    return (const udp_socket *)base;
}

/* ---- Times of arrival ---- */

#define TURN_NS_MAX (50 * LS_NS_PER_MS)

/* Asks the kernel for stamps from now on. */
static void arrival_clock_init(arrival_clock *clock, int socket)
{
    *clock = (arrival_clock){0};
#ifdef SO_TIMESTAMPNS
    clock->has_stamps = ls_socket_set(socket, SOL_SOCKET, SO_TIMESTAMPNS, 1);
#else
    (void)socket;
#endif
}

/* False when there is no stamp. */
static bool read_stamp(const struct msghdr *message, struct timespec *stamp)
{
#ifdef SO_TIMESTAMPNS
    struct cmsghdr *each = CMSG_FIRSTHDR(message);
    if (each && each->cmsg_level == SOL_SOCKET && each->cmsg_type == SO_TIMESTAMPNS &&
        each->cmsg_len >= CMSG_LEN(sizeof *stamp)) {
        memcpy(stamp, CMSG_DATA(each), sizeof *stamp);
        return true;
    }
#else
    (void)message;
    (void)stamp;
#endif
    return false;
}

static uint64_t ns_of(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * LS_NS_PER_SECOND + (uint64_t)time->tv_nsec;
}

/* Before all that has come is read; times are CLOCK_MONOTONIC. */
static void arrival_clock_begin_turn(arrival_clock *clock, uint64_t now_ns)
{
    struct timespec wall = {0};
    if (clock->has_stamps) {
        clock_gettime(CLOCK_REALTIME, &wall);
    }
    clock->previous_ns = clock->turn_ns;
    clock->turn_ns = now_ns;
    clock->wall_ns = ns_of(&wall);
}

/* When a datagram that was read in this turn arrived, or when the turn began when that is not
 * known: from the beginning of the turn before on, and little later than that of this one. */
static uint64_t arrival_clock_read(const arrival_clock *clock, const struct msghdr *message)
{
    struct timespec stamp;
    if (!clock->has_stamps || !read_stamp(message, &stamp)) {
        return clock->turn_ns;
    }
    uint64_t arrived_ns = clock->turn_ns + (ns_of(&stamp) - clock->wall_ns); /* or before it */
    bool is_likely =
        arrived_ns - clock->previous_ns <= clock->turn_ns - clock->previous_ns + TURN_NS_MAX;
    return is_likely ? arrived_ns : clock->turn_ns;
}

/* ---- Descriptors ---- */

static void widen_buffers(int descriptor)
{
    (void)ls_socket_set(descriptor, SOL_SOCKET, SO_RCVBUF, BUFFER_BYTES);
    (void)ls_socket_set(descriptor, SOL_SOCKET, SO_SNDBUF, BUFFER_BYTES);
}

static int open_descriptor(const ls_endpoint *like)
{
    int descriptor = ls_socket_open(like, SOCK_DGRAM);
    if (descriptor >= 0) {
        widen_buffers(descriptor);
    }
    return descriptor;
}

int ls_udp_descriptor_listen(const ls_endpoint *endpoint, bool shares_port)
{
    int descriptor = open_descriptor(endpoint);
    if (descriptor < 0 && errno == EAFNOSUPPORT && !ls_endpoint_is_ipv4(endpoint) &&
        ls_endpoint_is_any(endpoint)) {
        ls_endpoint all = ls_endpoint_from_ipv4(INADDR_ANY, endpoint->port);
        return ls_udp_descriptor_listen(&all, shares_port);
    }
    if (descriptor >= 0) {
        ls_udp_part_prepare(descriptor, true);
    }
    bool is_bound = descriptor >= 0 && (!shares_port || ls_udp_descriptor_share(descriptor)) &&
                    ls_socket_bind(descriptor, endpoint);
    return is_bound ? descriptor : ls_socket_give_up(descriptor);
}

bool ls_udp_descriptor_ready(int descriptor, ls_endpoint *own, bool *is_shared)
{
    if (ls_socket_kind_of(descriptor) != LS_SOCKET_DATAGRAMS || !ls_socket_own(descriptor, own) ||
        !ls_udp_part_is_shared(descriptor, is_shared)) {
        return false;
    }
    if (own->port == 0) {
        errno = EADDRNOTAVAIL;
        return false;
    }
    widen_buffers(descriptor);
    return ls_socket_make_ready(descriptor);
}

/* ---- Making and ending ---- */

static void close_socket(ls_datagram_socket *base)
{
    udp_socket *socket = from_base(base);
    ls_socket_close(socket->descriptor);
    ls_release(socket->allocator, socket->arrived);
    ls_release(socket->allocator, socket->arrived_messages);
    ls_release(socket->allocator, socket);
}

static bool allocate_batch(udp_socket *made)
{
    made->arrived = ls_allocate_array(made->allocator, made->batch, sizeof *made->arrived);
    made->arrived_messages =
        ls_allocate_array(made->allocator, made->batch, sizeof *made->arrived_messages);
    if (!made->arrived || !made->arrived_messages) {
        return false;
    }
    for (uint32_t i = 0; i < made->batch; i++) {
        made->arrived[i].piece =
            (struct iovec){made->arrived[i].bytes, sizeof made->arrived[i].bytes};
    }
    return true;
}

/* Takes the descriptor, also on failure. */
static ls_status make(int descriptor, uint32_t batch, const ls_allocator *allocator,
                      udp_socket **out)
{
    udp_socket *made = ls_allocate(allocator, sizeof *made);
    if (!made) {
        ls_socket_close(descriptor);
        return LS_NO_MEMORY;
    }
    made->base.operations = &operations;
    made->allocator = allocator;
    made->batch = batch;
    made->descriptor = descriptor;
    if (!allocate_batch(made)) {
        close_socket(&made->base);
        return LS_NO_MEMORY;
    }
    *out = made;
    return LS_OK;
}

static ls_status fail(udp_socket *made)
{
    int error = errno;
    close_socket(&made->base);
    errno = error;
    return LS_IO;
}

ls_status ls_udp_socket_adopt(int descriptor, const ls_allocator *allocator,
                              ls_datagram_socket **out)
{
    udp_socket *made = NULL;
    ls_endpoint own;
    ls_socket_address address;
    bool is_shared = false;
    ls_status status = make(descriptor, LISTENING_BATCH, allocator, &made);
    if (status != LS_OK) {
        return status;
    }
    if (!ls_udp_descriptor_ready(descriptor, &own, &is_shared) ||
        !ls_socket_address_own(descriptor, &address)) {
        return fail(made);
    }
    made->family = address.any.sa_family;
    made->port = own.port;
    arrival_clock_init(&made->arrivals, made->descriptor);
    *out = &made->base;
    return LS_OK;
}

ls_status ls_udp_socket_listen(const ls_endpoint *endpoint, const ls_allocator *allocator,
                               ls_datagram_socket **out)
{
    int descriptor = ls_udp_descriptor_listen(endpoint, false);
    return descriptor >= 0 ? ls_udp_socket_adopt(descriptor, allocator, out) : LS_IO;
}

static bool connect_to(int descriptor, const ls_endpoint *endpoint)
{
    ls_socket_address address;
    socklen_t bytes = ls_socket_address_of(endpoint, ls_socket_family_of(endpoint), &address);
    return connect(ls_socket_handle_of(descriptor), &address.any, bytes) == 0 || ls_socket_fail();
}

/* Asked of another socket: this one goes on as it is unless there is something to gain. */
static bool reroute(ls_datagram_socket *base)
{
    udp_socket *socket = from_base(base);
    LS_ASSERT(socket->is_connected);
    ls_endpoint present, best;
    int probe = open_descriptor(&socket->server);
    bool is_other = probe >= 0 && connect_to(probe, &socket->server) &&
                    ls_socket_own(probe, &best) && ls_socket_own(socket->descriptor, &present) &&
                    memcmp(present.address, best.address, sizeof best.address) != 0;
    ls_socket_close(probe);
    if (is_other) {
        ls_socket_address none = {.any.sa_family = AF_UNSPEC};
        (void)connect(ls_socket_handle_of(socket->descriptor), &none.any, sizeof none);
        (void)connect_to(socket->descriptor, &socket->server);
    }
    return is_other;
}

ls_status ls_udp_socket_connect(const ls_endpoint *endpoint, const ls_allocator *allocator,
                                ls_datagram_socket **out)
{
    udp_socket *made = NULL;
    int descriptor = open_descriptor(endpoint);
    if (descriptor < 0) {
        return LS_IO;
    }
    ls_status status = make(descriptor, CONNECTED_BATCH, allocator, &made);
    if (status != LS_OK) {
        return status;
    }
    made->family = ls_socket_family_of(endpoint);
    made->is_connected = true;
    made->server = *endpoint;
    ls_udp_part_prepare(descriptor, false);
    arrival_clock_init(&made->arrivals, made->descriptor);
    ls_endpoint own;
    if (!connect_to(made->descriptor, endpoint) || !ls_socket_own(made->descriptor, &own)) {
        return fail(made);
    }
    made->port = own.port;
    *out = &made->base;
    return LS_OK;
}

static int descriptor_of(const ls_datagram_socket *base)
{
    return from_const_base(base)->descriptor;
}

static uint16_t port_of(const ls_datagram_socket *base)
{
    return from_const_base(base)->port;
}

bool ls_udp_own_address(ls_endpoint *out)
{
    const uint32_t documentation = UINT32_C(0xc0000201); /* 192.0.2.1, which is nobody's */
    ls_endpoint outside = ls_endpoint_from_ipv4(htonl(documentation), 9);
    int probe = open_descriptor(&outside);
    bool is_found = probe >= 0 && connect_to(probe, &outside) && ls_socket_own(probe, out);
    ls_socket_close(probe);
    out->port = 0;
    return is_found;
}

/* ---- Receiving ---- */

LS_TICK_CODE static void begin_turn(ls_datagram_socket *base, uint64_t now_ns)
{
    udp_socket *socket = from_base(base);
    arrival_clock_begin_turn(&socket->arrivals, now_ns);
    socket->is_drained = false;
}

/* Has the system hand over what has come, as much as there is room for; false when that failed. */
static bool receive_batch(udp_socket *socket)
{
    for (uint32_t i = 0; i < socket->batch; i++) {
        udp_arrival *each = &socket->arrived[i];
        struct msghdr *message = &socket->arrived_messages[i].msg_hdr;
        *message = (struct msghdr){.msg_iov = &each->piece,
                                   .msg_iovlen = 1,
                                   .msg_control = each->control,
                                   .msg_controllen = sizeof each->control};
        if (!socket->is_connected) {
            message->msg_name = &each->from;
            message->msg_namelen = sizeof each->from;
        }
    }
    int count = -1;
    do {
        count = ls_udp_part_receive(socket->descriptor, socket->arrived_messages, socket->batch);
    } while (count < 0 && errno == EINTR);
    socket->taken = 0;
    socket->received = count > 0 ? (uint32_t)count : 0;
    socket->is_drained =
        count >= 0 ? socket->received < socket->batch : errno == EAGAIN || errno == EWOULDBLOCK;
    return count >= 0 || socket->is_drained;
}

static bool has_received(const ls_datagram_socket *base)
{
    const udp_socket *socket = from_const_base(base);
    return socket->taken < socket->received;
}

static const uint8_t *coming(const ls_datagram_socket *base, uint32_t others, size_t *size)
{
    const udp_socket *socket = from_const_base(base);
    if (others >= socket->received - socket->taken) {
        return NULL;
    }
    *size = socket->arrived_messages[socket->taken + others].msg_len;
    return socket->arrived[socket->taken + others].bytes;
}

LS_TICK_CODE static ls_udp_receipt receive(ls_datagram_socket *base, ls_udp_datagram *out)
{
    udp_socket *socket = from_base(base);
    if (!has_received(base)) {
        if (!socket->is_drained && !receive_batch(socket)) {
            out->error = errno;
            return LS_UDP_ERROR;
        }
        if (!has_received(base)) {
            return LS_UDP_EMPTY;
        }
    }
    udp_arrival *taken = &socket->arrived[socket->taken];
    const ls_udp_message *message = &socket->arrived_messages[socket->taken];
    socket->taken++;
    *out = (ls_udp_datagram){
        .from = socket->is_connected ? socket->server : ls_socket_address_endpoint(&taken->from),
        .bytes = taken->bytes,
        .size = message->msg_len,
        .arrived_ns = arrival_clock_read(&socket->arrivals, &message->msg_hdr)};
    return LS_UDP_RECEIVED;
}

/* ---- Sending ---- */

LS_TICK_CODE static void send_datagram(ls_datagram_socket *base, const ls_endpoint *to,
                                       const uint8_t *bytes, size_t size)
{
    udp_socket *socket = from_base(base);
    LS_ASSERT(socket->waiting < LS_UDP_WAITING_MAX);
    uint32_t at = socket->waiting++;
    struct msghdr *message = &socket->messages[at].msg_hdr;
    memset(message, 0, sizeof *message);
    if (!socket->is_connected) {
        message->msg_namelen = ls_socket_address_of(to, socket->family, &socket->addresses[at]);
        message->msg_name = &socket->addresses[at];
    }
    socket->pieces[at] = (struct iovec){(void *)(uintptr_t)bytes, size};
    socket->is_large_waiting |= size > SMALL_BYTES_MAX;
    message->msg_iov = &socket->pieces[at];
    message->msg_iovlen = 1;
}

/* A client is connected, and its datagrams are few. */
static void note_sizes(udp_socket *socket)
{
    if (socket->waiting > 0 && !socket->is_connected &&
        socket->is_small == socket->is_large_waiting) {
        socket->is_small = !socket->is_large_waiting;
        ls_udp_part_set_small(socket->descriptor, socket->is_small);
    }
    socket->is_large_waiting = false;
}

LS_TICK_CODE static ls_udp_sent flush(ls_datagram_socket *base)
{
    udp_socket *socket = from_base(base);
    ls_udp_sent outcome = {0};
    uint32_t next = 0;
    note_sizes(socket);
    while (next < socket->waiting) {
        int sent =
            ls_udp_part_send(socket->descriptor, socket->messages + next, socket->waiting - next);
        if (sent > 0) {
            next += (uint32_t)sent;
            continue;
        }
        if (errno == EINTR) {
            continue;
        }
        bool is_full = errno == EAGAIN || errno == EWOULDBLOCK;
        outcome.error = is_full ? outcome.error : errno;
        outcome.lost |= UINT64_C(1) << next++;
    }
    socket->waiting = 0;
    return outcome;
}

static const ls_datagram_socket_operations operations = {
    .begin_turn = begin_turn,
    .receive = receive,
    .has_received = has_received,
    .coming = coming,
    .send = send_datagram,
    .flush = flush,
    .reroute = reroute,
    .descriptor = descriptor_of,
    .port = port_of,
    .close = close_socket,
};
