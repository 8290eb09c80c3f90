/* Relay search: a client's look at the games that a relay lists: which datagrams it sends, and what
 * has come of them. Bytes and times come in as arguments; knows no socket. Needs ls_cipher_init.
 * Called by game_list. */
#ifndef LOCKSTEP_PROTOCOL_RELAY_RELAY_SEARCH_H
#define LOCKSTEP_PROTOCOL_RELAY_RELAY_SEARCH_H

#include "lockstep/protocol/relay/relay_listing.h"

typedef enum ls_relay_search_state {
    LS_RELAY_SEARCHING,
    LS_RELAY_SEARCH_DONE,
    LS_RELAY_SEARCH_CUT,    /* not all has come in time */
    LS_RELAY_SEARCH_SILENT, /* nothing has */
} ls_relay_search_state;

typedef struct ls_relay_search {
    ls_relay_game *games; /* the caller's, and how many fit */
    uint32_t games_max;
    uint32_t count;
    ls_relay_search_state state;
    uint64_t rtt_ns; /* the shortest round trip to the relay; UINT64_MAX: none yet */

    ls_relay_packet sent; /* ASK or LOOK */
    uint32_t place;       /* to go on from */
    uint32_t repeats;     /* of `sent` */
    uint64_t sent_ns;
    uint64_t due_ns;
    uint64_t end_ns;  /* unless something comes */
    uint64_t last_ns; /* whatever comes */
} ls_relay_search;

void ls_relay_search_begin(ls_relay_search *search, ls_relay_game *games, uint32_t games_max,
                           uint64_t now_ns);

/* Writes the datagram that is due for the relay, and returns its size; 0: none is. */
size_t ls_relay_search_advance(ls_relay_search *search, uint64_t now_ns,
                               uint8_t bytes[LS_RELAY_PACKET_BYTES_MAX]);

/* A datagram has come of the relay. */
void ls_relay_search_receive(ls_relay_search *search, const uint8_t *bytes, size_t size,
                             uint64_t now_ns);

#endif
