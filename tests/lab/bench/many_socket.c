#define _GNU_SOURCE
#include "lockstep/tests/lab/bench/many_socket.h"

#include "lockstep/common/base/allocator.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FIRST_ADDRESS 0x7f010000u /* 127.1.0.0: client n has the n-th behind it */
#define BUFFER_BYTES (32 * 1024 * 1024)

#define NOTE_BYTES CMSG_SPACE(sizeof(struct in_pktinfo))

/* Datagrams of one direction. */
typedef struct batch {
    struct mmsghdr messages[BENCH_MANY_BATCH];
    struct iovec parts[BENCH_MANY_BATCH];
    _Alignas(struct cmsghdr) uint8_t notes[BENCH_MANY_BATCH][NOTE_BYTES]; /* client's address */
    uint8_t bytes[BENCH_MANY_BATCH][BENCH_MANY_BYTES_MAX];
} batch;

struct bench_many_socket {
    int descriptor;
    struct sockaddr_in server;
    uint32_t waiting; /* of `out` */
    batch out;
    batch in;
};

static void prepare(batch *all, struct sockaddr_in *server)
{
    for (uint32_t i = 0; i < BENCH_MANY_BATCH; i++) {
        all->parts[i] = (struct iovec){all->bytes[i], BENCH_MANY_BYTES_MAX};
        all->messages[i].msg_hdr = (struct msghdr){.msg_name = server,
                                                   .msg_namelen = server ? sizeof *server : 0,
                                                   .msg_iov = &all->parts[i],
                                                   .msg_iovlen = 1,
                                                   .msg_control = all->notes[i],
                                                   .msg_controllen = NOTE_BYTES};
        *CMSG_FIRSTHDR(&all->messages[i].msg_hdr) =
            (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(struct in_pktinfo)),
                             .cmsg_level = IPPROTO_IP,
                             .cmsg_type = IP_PKTINFO};
    }
}

/* A buffer larger than the system gives to everybody is root's to ask for. */
static int open_descriptor(void)
{
    const int on = 1;
    const int bytes = BUFFER_BYTES;
    const struct sockaddr_in any = {.sin_family = AF_INET};
    int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0) {
        return -1;
    }
    if (setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0) {
        (void)setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    }
    if (setsockopt(descriptor, IPPROTO_IP, IP_PKTINFO, &on, sizeof on) != 0 ||
        bind(descriptor, (const struct sockaddr *)&any, sizeof any) != 0) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}

bench_many_socket *bench_many_socket_open(uint16_t server_port)
{
    bench_many_socket *opened = ls_allocate(ls_allocator_heap(), sizeof *opened);
    int descriptor = opened ? open_descriptor() : -1;
    if (descriptor < 0) {
        ls_release(ls_allocator_heap(), opened);
        return NULL;
    }
    opened->descriptor = descriptor;
    opened->server = (struct sockaddr_in){.sin_family = AF_INET,
                                          .sin_port = htons(server_port),
                                          .sin_addr = {htonl(INADDR_LOOPBACK)}};
    prepare(&opened->out, &opened->server);
    prepare(&opened->in, NULL);
    return opened;
}

void bench_many_socket_close(bench_many_socket *many)
{
    if (many) {
        close(many->descriptor);
        ls_release(ls_allocator_heap(), many);
    }
}

/* A datagram for which there is no room is lost, as on a network. */
void bench_many_socket_flush(bench_many_socket *many)
{
    uint32_t sent = 0;
    while (sent < many->waiting) {
        int left = sendmmsg(many->descriptor, many->out.messages + sent, many->waiting - sent, 0);
        sent += left > 0 ? (uint32_t)left : 1;
    }
    many->waiting = 0;
}

uint8_t *bench_many_socket_next(bench_many_socket *many)
{
    if (many->waiting == BENCH_MANY_BATCH) {
        bench_many_socket_flush(many);
    }
    return many->out.bytes[many->waiting];
}

void bench_many_socket_send(bench_many_socket *many, uint32_t client, size_t size)
{
    uint32_t at = many->waiting++;
    const struct in_pktinfo from = {.ipi_spec_dst = {htonl(FIRST_ADDRESS + client + 1)}};
    memcpy(CMSG_DATA(CMSG_FIRSTHDR(&many->out.messages[at].msg_hdr)), &from, sizeof from);
    many->out.parts[at].iov_len = size;
}

uint32_t bench_many_socket_receive(bench_many_socket *many,
                                   bench_many_datagram out[BENCH_MANY_BATCH])
{
    int came = recvmmsg(many->descriptor, many->in.messages, BENCH_MANY_BATCH, 0, NULL);
    for (int i = 0; i < came; i++) {
        struct msghdr *message = &many->in.messages[i].msg_hdr;
        struct in_pktinfo to;
        memcpy(&to, CMSG_DATA(CMSG_FIRSTHDR(message)), sizeof to);
        out[i] = (bench_many_datagram){.client = ntohl(to.ipi_addr.s_addr) - FIRST_ADDRESS - 1,
                                       .bytes = many->in.bytes[i],
                                       .size = many->in.messages[i].msg_len};
        message->msg_controllen = NOTE_BYTES;
    }
    return came > 0 ? (uint32_t)came : 0;
}
