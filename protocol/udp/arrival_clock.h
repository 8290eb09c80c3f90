/* Arrival clock: when a datagram that was read from a socket reached this machine, by the kernel's
 * stamp, on the monotonic clock: so that a socket may be read now and then without losing when
 * things came. Never trusts the stamp, which is by the wall clock, beyond the time since the
 * socket was last looked at. Linux; elsewhere a datagram arrives when it is read. Called by
 * udp_socket. */
#ifndef LOCKSTEP_PROTOCOL_UDP_ARRIVAL_CLOCK_H
#define LOCKSTEP_PROTOCOL_UDP_ARRIVAL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct msghdr;

/* Of a message's control data, for the stamp. */
#define LS_ARRIVAL_CONTROL_BYTES 64u

typedef struct ls_arrival_clock {
    bool has_stamps;      /* as it is made: a datagram arrives when it is read */
    uint64_t turn_ns;     /* when the turn began in which datagrams are read */
    uint64_t previous_ns; /* when the turn before did: what is read now came later */
    uint64_t wall_ns;     /* what the wall clock showed at turn_ns */
} ls_arrival_clock;

/* Asks the kernel for stamps from now on. */
void ls_arrival_clock_init(ls_arrival_clock *clock, int socket);

/* Before all that has come is read; times are CLOCK_MONOTONIC. */
void ls_arrival_clock_begin_turn(ls_arrival_clock *clock, uint64_t now_ns);

/* When a datagram that was read in this turn arrived, or when the turn began when that is not
 * known: from the beginning of the turn before on, and little later than that of this one. */
uint64_t ls_arrival_clock_read(const ls_arrival_clock *clock, const struct msghdr *message);

#endif
