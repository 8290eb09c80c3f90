#include "lockstep/protocol/udp/udp_group.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/common/system/udp_socket.h"
#include "lockstep/protocol/relay/relay_packet.h"
#include "lockstep/protocol/sealed/key_exchange.h"
#include "lockstep/protocol/sealed/sealed_packet.h"

#include <errno.h>
#include <string.h>

struct ls_udp_group {
    const ls_allocator *allocator;
    uint32_t workers;
    ls_endpoint bound;
    int descriptors[LS_UDP_GROUP_WORKERS_MAX]; /* in the order in which they were bound */
};

ls_status ls_udp_group_set_default(ls_udp_group *group, uint32_t worker)
{
    LS_ASSERT(worker < group->workers);
    const ls_udp_steering steering = {
        .sockets = group->workers,
        .default_socket = worker,
        .index_bit = LS_SEALED_PACKET_BIT << 8,
        .index_mask = LS_SEALED_INDICES - 1, /* of a packet's first two bytes */
        .routed = {LS_KEY_EXCHANGE_REQUEST, LS_KEY_EXCHANGE_CONFIRM},
        .route_flag = LS_ROUTE_ASKED,
        .carrier = LS_RELAY_CARRY,
        .carrier_bytes = LS_RELAY_CARRY_HEADER_BYTES,
        .own_first = LS_RELAY_ASK,
        .own_end = LS_RELAY_KIND_END,
        .own_socket = LS_UDP_GROUP_RELAY_WORKER,
    };
    bool is_steered =
        group->workers == 1 || ls_udp_descriptor_steer(group->descriptors[0], &steering);
    return is_steered ? LS_OK : LS_IO;
}

/* ---- Making and ending ---- */

/* The first socket wants the port for itself: so a second program that is started by mistake does
 * not become a part of this group. It shares the port once it has it. */
static bool bind_first(ls_udp_group *group, const ls_endpoint *endpoint)
{
    group->descriptors[0] = ls_udp_descriptor_listen(endpoint, false);
    return group->descriptors[0] >= 0 &&
           (group->workers == 1 || ls_udp_descriptor_share(group->descriptors[0])) &&
           ls_socket_own(group->descriptors[0], &group->bound);
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
        bool is_shared = false;
        ls_endpoint own;
        if (!ls_udp_descriptor_ready(group->descriptors[i], &own, &is_shared)) {
            return LS_IO;
        }
        group->bound = i == 0 ? own : group->bound;
        if (!ls_endpoint_is_equal(&own, &group->bound) || (group->workers > 1 && !is_shared)) {
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
        ls_socket_close(descriptors[i]);
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
        ls_socket_close(group->descriptors[i]);
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
