#include "lockstep/protocol/enet/enet_ends.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/system/system_clock.h"

#include <enet/time.h>
#include <stdint.h>
#include <string.h>

enum {
    SIZE_BYTES = 2, /* before each datagram */
    RING_BYTES = ENET_HOST_SEND_BUFFER_SIZE,
};

/* An end holds what has come and was not received yet, in the order in which it came. */
struct ls_enet_end {
    ENetSocket other; /* NULL: gone, or of no wire */
    size_t first;
    size_t used;
    uint8_t ring[RING_BYTES];
};

static void put(ENetSocket end, const void *bytes, size_t size)
{
    size_t at = (end->first + end->used) % RING_BYTES;
    size_t straight = LS_MIN(size, RING_BYTES - at);
    memcpy(end->ring + at, bytes, straight);
    memcpy(end->ring, (const uint8_t *)bytes + straight, size - straight);
    end->used += size;
}

static void take(ENetSocket end, void *bytes, size_t size)
{
    size_t straight = LS_MIN(size, RING_BYTES - end->first);
    memcpy(bytes, end->ring + end->first, straight);
    memcpy((uint8_t *)bytes + straight, end->ring, size - straight);
    end->first = (end->first + size) % RING_BYTES;
    end->used -= size;
}

bool ls_enet_ends_open(ENetSocket ends[2])
{
    ends[0] = enet_socket_create(ENET_SOCKET_TYPE_DATAGRAM);
    ends[1] = enet_socket_create(ENET_SOCKET_TYPE_DATAGRAM);
    if (!ends[0] || !ends[1]) {
        enet_socket_destroy(ends[0]);
        enet_socket_destroy(ends[1]);
        return false;
    }
    ends[0]->other = ends[1];
    ends[1]->other = ends[0];
    return true;
}

/* Datagrams are from nowhere already. enet_datagram has looked at the size of each packet, and how
 * far it is ahead of a missing one. */
void ls_enet_ends_hold(ENetHost *host)
{
    (void)host;
}

/* ---- what ENet asks of a system ---- */

int enet_initialize(void)
{
    return 0;
}

/* Per thread, as transports are: steady_clock sets it before each use. */
static _Thread_local enet_uint32 time_base;

static enet_uint32 now_ms(void)
{
    const ls_clock clock = ls_clock_system();
    return (enet_uint32)(ls_clock_now_ns(&clock) / LS_NS_PER_MS);
}

enet_uint32 enet_time_get(void)
{
    return now_ms() - time_base;
}

void enet_time_set(enet_uint32 time)
{
    time_base = now_ms() - time;
}

ENetSocket enet_socket_create(ENetSocketType type)
{
    (void)type;
    return ls_allocate(ls_allocator_heap(), sizeof(struct ls_enet_end));
}

void enet_socket_destroy(ENetSocket end)
{
    if (end && end->other) {
        end->other->other = NULL;
    }
    ls_release(ls_allocator_heap(), end);
}

int enet_socket_bind(ENetSocket end, const ENetAddress *address)
{
    (void)end;
    (void)address;
    return 0;
}

int enet_socket_set_option(ENetSocket end, ENetSocketOption option, int value)
{
    (void)end;
    (void)option;
    (void)value;
    return 0;
}

int enet_socket_send(ENetSocket end, const ENetAddress *address, const ENetBuffer *buffers,
                     size_t count)
{
    uint16_t size = 0;
    (void)address;
    for (size_t i = 0; i < count; i++) {
        size = (uint16_t)(size + buffers[i].dataLength);
    }
    ENetSocket other = end->other;
    if (!other || RING_BYTES - other->used < (size_t)size + SIZE_BYTES) {
        return 0; /* there is no room: ENet repeats it */
    }
    put(other, &size, sizeof size);
    for (size_t i = 0; i < count; i++) {
        put(other, buffers[i].data, buffers[i].dataLength);
    }
    return size;
}

int enet_socket_receive(ENetSocket end, ENetAddress *address, ENetBuffer *buffers, size_t count)
{
    uint16_t size = 0;
    if (end->used == 0 || count == 0) {
        return 0;
    }
    take(end, &size, sizeof size);
    if (size > buffers[0].dataLength) {
        end->first = (end->first + size) % RING_BYTES;
        end->used -= size;
        return -1;
    }
    take(end, buffers[0].data, size);
    if (address) {
        *address = ls_enet_nowhere;
    }
    return size;
}

/* The wire is in memory: there is nothing to wait for. */
int enet_socket_wait(ENetSocket end, enet_uint32 *condition, enet_uint32 timeout)
{
    (void)timeout;
    *condition = end->used > 0 ? ENET_SOCKET_WAIT_RECEIVE : ENET_SOCKET_WAIT_NONE;
    return 0;
}
