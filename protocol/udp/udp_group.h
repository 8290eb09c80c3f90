/* UDP group: one UDP port with a socket for each of several worker processes. The system hands each
 * datagram to the socket of the worker that it is for, as protocol/SEALED.md has it: by the
 * connection's index, or by the route of a key exchange. Owns its sockets and receives nothing: a
 * worker takes a copy of its own (ls_udp_socket_adopt), and may be started again while the group
 * stays. More than one worker: on Linux alone. */
#ifndef LOCKSTEP_PROTOCOL_UDP_UDP_GROUP_H
#define LOCKSTEP_PROTOCOL_UDP_UDP_GROUP_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/endpoint.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"
#include "lockstep/protocol/sealed/sealed_content.h"

#include <stdint.h>

LS_C_BEGIN

#define LS_UDP_GROUP_WORKERS_MAX LS_SEALED_WORKERS_MAX
/* Gets the datagrams of a relay, but for those that it carries: their content decides. */
#define LS_UDP_GROUP_RELAY_WORKER 0u

typedef struct ls_udp_group ls_udp_group;

/* Binds a socket for each of 1 .. WORKERS_MAX workers to this endpoint, as ls_udp_socket_listen
 * does; port 0: one that the system chooses. New clients come to worker 0. IO (errno says why: also
 * when another program has the port), NO_MEMORY. */
ls_status ls_udp_group_open(const ls_endpoint *endpoint, uint32_t workers,
                            const ls_allocator *allocator, ls_udp_group **out);
/* The same with sockets that somebody else has bound, one for each worker: systemd, say. Takes
 * them, also when it fails. BAD_ARGUMENT: they do not share one port (SO_REUSEPORT, set before they
 * were bound); else as ls_udp_group_open. */
ls_status ls_udp_group_adopt(const int *descriptors, uint32_t workers,
                             const ls_allocator *allocator, ls_udp_group **out);
/* The copies of workers go on. NULL is allowed. */
void ls_udp_group_close(ls_udp_group *group);

/* The socket of a worker, which stays the group's. It is closed on exec: give the worker a copy. */
int ls_udp_group_descriptor(const ls_udp_group *group, uint32_t worker);
uint16_t ls_udp_group_port(const ls_udp_group *group);
/* Where its first socket is bound. */
ls_endpoint ls_udp_group_endpoint(const ls_udp_group *group);

/* From the next datagram on this worker gets what says no worker: clients that come for the first
 * time, and whatever is not of the protocol. Key exchanges that are under way stay where they are.
 * IO, and all is as before. */
ls_status ls_udp_group_set_default(ls_udp_group *group, uint32_t worker);

LS_C_END

#endif
