#define _GNU_SOURCE
#include "lockstep/protocol/udp/udp_group.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/protocol/sealed/key_exchange.h"
#include "lockstep/protocol/sealed/sealed_packet.h"
#include "lockstep/protocol/udp/udp_descriptor.h"

#include <errno.h>
#include <linux/filter.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct ls_udp_group {
    const ls_allocator *allocator;
    uint32_t workers;
    ls_endpoint bound;
    int descriptors[LS_UDP_GROUP_WORKERS_MAX]; /* in the order in which they were bound */
};

/* ---- Steering ---- */

/* Places in the program below. */
enum {
    EXCHANGE = 7,
    ROUTE = 10,
    DEFAULT = 18,
    FOUND = 19,
    PROGRAM_STEPS = 20,
};

/* The distance that a jump from one place to another is written with. */
#define GO(from, to) ((uint8_t)((to) - (from)-1))

/* The program that the system runs for each datagram: it sees the payload of UDP alone, and says
 * which socket of the group gets it, in the order in which they were bound. */
static void write_program(uint32_t workers, uint32_t default_worker,
                          struct sock_filter program[PROGRAM_STEPS])
{
    const uint32_t index_mask = LS_SEALED_CONNECTIONS_MAX - 1; /* of a packet's first two bytes */
    const struct sock_filter steps[PROGRAM_STEPS] = {
        [0] = BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
        [1] = BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 2, 0, GO(1, DEFAULT)),
        [2] = BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 0),
        [3] = BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, LS_SEALED_PACKET_BIT << 8, 0, GO(3, EXCHANGE)),
        [4] = BPF_STMT(BPF_ALU | BPF_AND | BPF_K, index_mask),
        [5] = BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, workers),
        [6] = BPF_STMT(BPF_RET | BPF_A, 0),
        [EXCHANGE] = BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
        [8] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, LS_KEY_EXCHANGE_REQUEST, GO(8, ROUTE), 0),
        [9] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, LS_KEY_EXCHANGE_CONFIRM, 0, GO(9, DEFAULT)),
        [ROUTE] = BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
        [11] = BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, 1),
        [12] = BPF_STMT(BPF_MISC | BPF_TAX, 0),
        [13] = BPF_STMT(BPF_LD | BPF_B | BPF_IND, 0),  /* the last byte */
        [14] = BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, 1), /* of no route: more than any worker */
        [15] = BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 2 * LS_ROUTE_ASKED, GO(15, DEFAULT), 0),
        [16] = BPF_STMT(BPF_ALU | BPF_AND | BPF_K, LS_ROUTE_ASKED - 1), /* asked for or not */
        [17] = BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, workers, 0, GO(17, FOUND)),
        [DEFAULT] = BPF_STMT(BPF_RET | BPF_K, default_worker),
        [FOUND] = BPF_STMT(BPF_RET | BPF_A, 0),
    };
    memcpy(program, steps, sizeof steps);
}

ls_status ls_udp_group_set_default(ls_udp_group *group, uint32_t worker)
{
    LS_ASSERT(worker < group->workers);
    struct sock_filter steps[PROGRAM_STEPS];
    const struct sock_fprog program = {.len = PROGRAM_STEPS, .filter = steps};
    if (group->workers == 1) {
        return LS_OK;
    }
    write_program(group->workers, worker, steps);
    int outcome = setsockopt(group->descriptors[0], SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program,
                             sizeof program);
    return outcome == 0 ? LS_OK : LS_IO;
}

/* ---- Making and ending ---- */

/* The first socket wants the port for itself: so a second program that is started by mistake does
 * not become a part of this group. It shares the port once it has it. */
static bool bind_first(ls_udp_group *group, const ls_endpoint *endpoint)
{
    group->descriptors[0] = ls_udp_descriptor_listen(endpoint, false);
    return group->descriptors[0] >= 0 &&
           (group->workers == 1 || ls_udp_descriptor_share(group->descriptors[0])) &&
           ls_udp_descriptor_own(group->descriptors[0], &group->bound);
}

static bool bind_all(ls_udp_group *group, const ls_endpoint *endpoint)
{
    if (!bind_first(group, endpoint)) {
        return false;
    }
    for (uint32_t i = 1; i < group->workers; i++) {
        group->descriptors[i] = ls_udp_descriptor_listen(&group->bound, true);
        if (group->descriptors[i] < 0) {
            return false;
        }
    }
    return ls_udp_group_set_default(group, 0) == LS_OK;
}

/* Without sockets; NULL: memory is out. */
static ls_udp_group *create(uint32_t workers, const ls_allocator *allocator)
{
    LS_ASSERT(workers > 0 && workers <= LS_UDP_GROUP_WORKERS_MAX);
    ls_udp_group *group = ls_allocate(allocator, sizeof *group);
    if (group) {
        *group = (ls_udp_group){.allocator = allocator, .workers = workers};
    }
    for (uint32_t i = 0; group && i < workers; i++) {
        group->descriptors[i] = -1;
    }
    return group;
}

ls_status ls_udp_group_open(const ls_endpoint *endpoint, uint32_t workers,
                            const ls_allocator *allocator, ls_udp_group **out)
{
    ls_udp_group *group = create(workers, allocator);
    if (!group) {
        return LS_NO_MEMORY;
    }
    if (!bind_all(group, endpoint)) {
        int error = errno;
        ls_udp_group_close(group);
        errno = error;
        return LS_IO;
    }
    *out = group;
    return LS_OK;
}

static ls_status adopt_bound(ls_udp_group *group)
{
    for (uint32_t i = 0; i < group->workers; i++) {
        int descriptor = group->descriptors[i], family = 0, is_shared = 0;
        socklen_t bytes = sizeof is_shared;
        ls_endpoint own;
        if (!ls_udp_descriptor_ready(descriptor, &family) ||
            !ls_udp_descriptor_own(descriptor, &own) ||
            getsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &is_shared, &bytes) != 0) {
            return LS_IO;
        }
        group->bound = i == 0 ? own : group->bound;
        bool is_same = memcmp(own.address, group->bound.address, sizeof own.address) == 0 &&
                       own.port == group->bound.port;
        if (!is_same || (group->workers > 1 && !is_shared)) {
            return LS_BAD_ARGUMENT;
        }
    }
    return ls_udp_group_set_default(group, 0);
}

ls_status ls_udp_group_adopt(const int *descriptors, uint32_t workers,
                             const ls_allocator *allocator, ls_udp_group **out)
{
    ls_udp_group *group = create(workers, allocator);
    for (uint32_t i = 0; i < workers && !group; i++) {
        close(descriptors[i]);
    }
    if (!group) {
        return LS_NO_MEMORY;
    }
    memcpy(group->descriptors, descriptors, workers * sizeof *descriptors);
    ls_status status = adopt_bound(group);
    if (status != LS_OK) {
        int error = errno;
        ls_udp_group_close(group);
        errno = error;
        return status;
    }
    *out = group;
    return LS_OK;
}

void ls_udp_group_close(ls_udp_group *group)
{
    if (!group) {
        return;
    }
    for (uint32_t i = 0; i < group->workers; i++) {
        if (group->descriptors[i] >= 0) {
            close(group->descriptors[i]);
        }
    }
    ls_release(group->allocator, group);
}

int ls_udp_group_descriptor(const ls_udp_group *group, uint32_t worker)
{
    LS_ASSERT(worker < group->workers);
    return group->descriptors[worker];
}

uint16_t ls_udp_group_port(const ls_udp_group *group)
{
    return group->bound.port;
}

ls_endpoint ls_udp_group_endpoint(const ls_udp_group *group)
{
    return group->bound;
}
