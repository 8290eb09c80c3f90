/* Service sockets: those that systemd has opened for the service, by a socket unit, and keeps open
 * while the service is started again. The program owns them from when they are taken. Called by
 * lockstep-server. */
#ifndef LOCKSTEP_COMMON_PROGRAM_SERVICE_SOCKETS_H
#define LOCKSTEP_COMMON_PROGRAM_SERVICE_SOCKETS_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdint.h>

#define LS_SERVICE_DATAGRAM_SOCKETS_MAX 16u

typedef struct ls_service_sockets {
    uint32_t datagram_count;                        /* of UDP; 0: the service opens its own */
    int datagrams[LS_SERVICE_DATAGRAM_SOCKETS_MAX]; /* in the order of the unit */
    int stream; /* of TCP, which listens; -1: the service opens its own */
} ls_service_sockets;

/* None where systemd has opened none. BAD_ARGUMENT: there are others than those, or more, which are
 * closed then, or the environment names some that are not there; with a sentence. */
ls_status ls_service_sockets_take(ls_service_sockets *out, ls_text *why);

#endif
