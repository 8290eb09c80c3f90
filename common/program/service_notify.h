/* Service notify: tells systemd how the service is: ready, still alive, stopping, and a sentence
 * for `systemctl status`. Does nothing where systemd did not start the program (NOTIFY_SOCKET is
 * not set), and must never keep a program from serving: a message that cannot be sent is lost.
 * Called by the supervisor, about once a second. */
#ifndef LOCKSTEP_COMMON_PROGRAM_SERVICE_NOTIFY_H
#define LOCKSTEP_COMMON_PROGRAM_SERVICE_NOTIFY_H

#include <stdint.h>

/* The service serves: what waits for it may start. */
void ls_service_notify_ready(void);

/* One line for `systemctl status`, cut at 255 bytes; the end of a line becomes a blank. */
void ls_service_notify_status(const char *sentence);

/* Its way out has begun. */
void ls_service_notify_stopping(void);

/* Within this time after the last alive, systemd takes the program for hung; 0: it does not look,
 * or looks after another process. */
uint64_t ls_service_notify_watchdog_ns(void);
void ls_service_notify_alive(void);

#endif
