/* Door page: what a door is told by the server that starts it, and what it counts: one page of
 * memory that both see. Both are the same program. Called by door_process and the door. */
#ifndef LOCKSTEP_SERVER_DOOR_DOOR_PAGE_H
#define LOCKSTEP_SERVER_DOOR_DOOR_PAGE_H

#include "lockstep/common/base/endpoint.h"
#include "lockstep/protocol/door/door_socket.h"

#include <stdatomic.h>
#include <stdbool.h>

#define LS_DOOR_PATH_BYTES_MAX 4096u
#define LS_DOOR_HOSTS_BYTES_MAX 1024u

/* Descriptors in a door. */
#define LS_DOOR_UDP_DESCRIPTOR 3
#define LS_DOOR_LISTEN_DESCRIPTOR 4
#define LS_DOOR_PAGE_DESCRIPTOR 5
#define LS_DOOR_RTC_DESCRIPTOR 6 /* if it has one */

typedef struct ls_door_page {
    ls_endpoint server; /* of its UDP socket, as the door reaches it */
    uint8_t secret[LS_DOOR_SECRET_BYTES];
    bool is_relay; /* the server is a relay, to which pages name the code of a game */
    bool has_rtc;
    atomic_bool is_over;                 /* the server ends: set before the door is asked to end */
    uint32_t log_level, log_format;      /* as the server's */
    char files[LS_DOOR_PATH_BYTES_MAX];  /* the folder of the page */
    char hosts[LS_DOOR_HOSTS_BYTES_MAX]; /* names of this machine, or "" */
    char journals[LS_DOOR_PATH_BYTES_MAX];        /* of the matches that it shows to everybody */
    uint32_t broadcast_delay_s;                   /* 0: none */
    char certificate[LS_DOOR_PATH_BYTES_MAX];     /* of TLS, or "" */
    char certificate_key[LS_DOOR_PATH_BYTES_MAX]; /* likewise */
    /* Counts of the door. */
    atomic_uint_fast64_t opened;   /* connections of players, ever */
    atomic_uint_fast64_t refused;  /* handshakes */
    atomic_uint_fast64_t wrong;    /* connections that were closed for what came by them */
    atomic_uint_fast64_t received; /* datagrams of players, forwarded */
    atomic_uint_fast64_t dropped;  /* likewise, too many or too long */
    atomic_uint_fast64_t sent;     /* datagrams to players */
    atomic_uint_fast64_t stale;    /* likewise, dropped for those behind them */
    atomic_uint_fast64_t players;  /* now */
} ls_door_page;

static inline void ls_door_count(atomic_uint_fast64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

#endif
