/* RTC peers: the data channels of pages, each of which is the pipe of a player: an offer is
 * answered over HTTP, and all else comes by one UDP port. An address gets memory of its own once it
 * has proven to have the answer. Called by door_program. */
#ifndef LOCKSTEP_SERVER_DOOR_RTC_PEERS_H
#define LOCKSTEP_SERVER_DOOR_RTC_PEERS_H

#include "lockstep/server/door/door_switch.h"
#include "lockstep/server/door/rtc_formats.h"

#include <stddef.h>

/* Offers that are answered at a time, and of one address. */
#define LS_RTC_PEERS_MAX 1024u
#define LS_RTC_PER_ADDRESS_MAX 64u
/* A channel has so long to open; then it is closed when it is silent, or the server does not
 * answer. */
#define LS_RTC_OPENING_S 10u
#define LS_RTC_SILENT_S 30u

typedef struct ls_rtc_peers ls_rtc_peers;

/* Takes the descriptor of a bound UDP socket. UNSUPPORTED: it was built without; IO, NO_MEMORY. */
ls_status ls_rtc_peers_create(int descriptor, ls_door_switch *to, ls_door_page *page,
                              ls_event_loop *loop, ls_rtc_peers **out);
void ls_rtc_peers_destroy(ls_rtc_peers *peers); /* NULL is allowed */

typedef struct ls_rtc_offer {
    const char *text;
    size_t size;
    const ls_endpoint *from; /* over HTTP */
    const ls_endpoint *own;  /* where it came to: pages reach the UDP port there too */
} ls_rtc_offer;

/* The size of the answer; 0: there is none, with the status of HTTP and a reason. */
size_t ls_rtc_peers_answer(ls_rtc_peers *peers, const ls_rtc_offer *offer,
                           char answer[LS_SDP_ANSWER_BYTES_MAX], uint32_t *status,
                           const char **why);

#endif
