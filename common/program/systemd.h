/* Systemd: tells systemd how the service is: ready, still alive, stopping, and a sentence
 * for `systemctl status`. Does nothing where systemd did not start the program (NOTIFY_SOCKET is
 * not set), and must never keep a program from serving: a message that cannot be sent is lost.
 * Called by the supervisor, about once a second. */
#ifndef LOCKSTEP_COMMON_PROGRAM_SYSTEMD_H
#define LOCKSTEP_COMMON_PROGRAM_SYSTEMD_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdint.h>

/* The service serves: what waits for it may start. */
void ls_service_notify_ready(void);

/* One line for `systemctl status`, cut at 255 bytes; the end of a line becomes a blank. */
void ls_service_notify_status(const char *sentence);

/* Its way out has begun. */
void ls_service_notify_stopping(void);

/* To be called again and again: systemd takes a service that is silent for longer than its
 * WatchdogSec for hung. */
void ls_service_notify_alive(void);

/* ---- Service sockets: those that systemd has opened for the service, by a socket unit, and
 * keeps open while the service is started again. The program owns them from when they are
 * taken ---- */

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
