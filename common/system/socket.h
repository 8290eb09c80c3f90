/* Socket: connected pairs of sockets, what every socket needs, and waiting for one. Called by what
 * talks to other processes, by transports and by programs. */
#ifndef LOCKSTEP_COMMON_SYSTEM_SOCKET_H
#define LOCKSTEP_COMMON_SYSTEM_SOCKET_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

#define LS_SOCKET_FOR_EVER UINT64_MAX

/* Two connected sockets of streams, which children do not inherit. IO with errno. */
ls_status ls_socket_pair(int sockets[2]);
void ls_socket_close(int socket); /* -1 is allowed */

/* All of the bytes to the other end, or from it. IO: that is gone; TIMED_OUT: for so long nothing
 * has come (UINT32_MAX: it waits for ever). */
ls_status ls_socket_send_all(int socket, const void *bytes, size_t size);
ls_status ls_socket_receive_all(int socket, void *bytes, size_t size, uint32_t wait_ms);

/* As much as there is room for, or as has come, without waiting: -1 when the other end is gone or
 * has nothing more to say, else the bytes, which may be none. */
ptrdiff_t ls_socket_send_some(int socket, const uint8_t *bytes, size_t size);
ptrdiff_t ls_socket_receive_some(int socket, uint8_t *bytes, size_t size);

/* Waits until the descriptor can be read, and says whether it can. A signal ends the waiting too.
 */
bool ls_socket_await(int descriptor, uint64_t wait_ns);

LS_C_END

#endif
