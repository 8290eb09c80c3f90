#define _GNU_SOURCE
#include "lockstep/protocol/enet/enet_batch.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/limits.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

enum {
    BATCH_BYTES = 16 << 10, /* a tick's packets, which are small, stay in a cache */
};

#ifdef __linux__
typedef struct mmsghdr batch_message;

static int send_messages(int socket, batch_message *messages, unsigned count)
{
    return sendmmsg(socket, messages, count, MSG_NOSIGNAL);
}
#else
typedef struct batch_message {
    struct msghdr msg_hdr;
} batch_message;

static int send_messages(int socket, batch_message *messages, unsigned count)
{
    (void)count;
    return sendmsg(socket, &messages->msg_hdr, MSG_NOSIGNAL) < 0 ? -1 : 1;
}
#endif

struct ls_enet_batch {
    const ls_allocator *allocator;
    unsigned count; /* of datagrams */
    unsigned newest_packets;
    size_t used_bytes;
    ls_enet_receiver newest_to;
    batch_message messages[LS_ENET_BATCH_DATAGRAMS_MAX];
    struct iovec pieces[LS_ENET_BATCH_DATAGRAMS_MAX];
    struct sockaddr_in addresses[LS_ENET_BATCH_DATAGRAMS_MAX];
    uint8_t bytes[BATCH_BYTES];
};

ls_status ls_enet_batch_create(const ls_allocator *allocator, ls_enet_batch **batch)
{
    ls_enet_batch *made = ls_allocate(allocator, sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    made->allocator = allocator;
    for (unsigned i = 0; i < LS_ENET_BATCH_DATAGRAMS_MAX; i++) {
        made->addresses[i].sin_family = AF_INET;
        struct msghdr *header = &made->messages[i].msg_hdr;
        header->msg_name = &made->addresses[i];
        header->msg_namelen = sizeof made->addresses[i];
        header->msg_iov = &made->pieces[i];
        header->msg_iovlen = 1;
    }
    *batch = made;
    return LS_OK;
}

void ls_enet_batch_destroy(ls_enet_batch *batch)
{
    if (batch) {
        ls_release(batch->allocator, batch);
    }
}

bool ls_enet_batch_has_room(const ls_enet_batch *batch)
{
    return batch->count < LS_ENET_BATCH_DATAGRAMS_MAX &&
           BATCH_BYTES - batch->used_bytes >= LS_ENET_MTU_BYTES;
}

static bool is_same_receiver(const ls_enet_receiver *a, const ls_enet_receiver *b)
{
    return a->host == b->host && a->port == b->port && a->seat == b->seat &&
           a->session == b->session;
}

static void begin_datagram(ls_enet_batch *batch, const ls_enet_receiver *to)
{
    uint8_t *start = batch->bytes + batch->used_bytes;
    batch->addresses[batch->count].sin_addr.s_addr = to->host;
    batch->addresses[batch->count].sin_port = htons(to->port);
    batch->pieces[batch->count] =
        (struct iovec){start, ls_enet_datagram_write_header(start, to->seat, to->session)};
    batch->newest_to = *to;
    batch->newest_packets = 0;
    batch->count++;
}

size_t ls_enet_batch_add(ls_enet_batch *batch, const ls_enet_receiver *to, uint16_t group,
                         const uint8_t *bytes, size_t size, bool *is_new_datagram)
{
    LS_ASSERT(size <= LS_PACKET_BYTES_MAX && ls_enet_batch_has_room(batch));
    bool is_joined = batch->count > 0 && is_same_receiver(&batch->newest_to, to) &&
                     batch->newest_packets < LS_ENET_COMMANDS_MAX &&
                     batch->pieces[batch->count - 1].iov_len + LS_ENET_UNSEQUENCED_BYTES + size <=
                         LS_ENET_MTU_BYTES;
    *is_new_datagram = !is_joined;
    if (!is_joined) {
        begin_datagram(batch, to);
    }
    struct iovec *piece = &batch->pieces[batch->count - 1];
    uint8_t *end = (uint8_t *)piece->iov_base + piece->iov_len;
    size_t written = ls_enet_datagram_write_unsequenced(end, group, bytes, size);
    size_t before = is_joined ? piece->iov_len : 0;
    piece->iov_len += written;
    batch->newest_packets++;
    size_t added = piece->iov_len - before;
    batch->used_bytes += added;
    return added;
}

int ls_enet_batch_send(ls_enet_batch *batch, int socket)
{
    int failure = 0;
    unsigned next = 0;
    while (next < batch->count) {
        int sent = send_messages(socket, batch->messages + next, batch->count - next);
        if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
            failure = errno;
        }
        next += sent > 0 ? (unsigned)sent : 1;
    }
    batch->count = 0;
    batch->used_bytes = 0;
    return failure;
}
