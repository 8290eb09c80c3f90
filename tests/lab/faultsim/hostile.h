/* Hostile: somebody who breaks the rules of the protocol: a player, between whose session and the
 * network it stands, an unknown peer at the server's door, or hosts from all over the world. Draws
 * what it does from a stream of its own. Never touches what anybody else sends. Called by play. */
#ifndef LOCKSTEP_TESTS_LAB_FAULTSIM_HOSTILE_H
#define LOCKSTEP_TESTS_LAB_FAULTSIM_HOSTILE_H

#include "lockstep/protocol/wire/message.h"
#include "lockstep/tests/lab/faultsim/scenario.h"

enum {
    FAULTSIM_HOSTILE_KEPT = 16, /* packets for replay */
};

typedef struct faultsim_hostile_packet {
    ls_channel channel;
    uint32_t size;
    uint8_t bytes[LS_PACKET_BYTES_MAX];
} faultsim_hostile_packet;

typedef struct faultsim_hostile {
    faultsim_hostility hostility;
    ls_rng rng;
    uint64_t sent; /* packets that no honest player would have sent */
    uint32_t kept_count;
    faultsim_hostile_packet kept[FAULTSIM_HOSTILE_KEPT];
    ls_message message; /* that it makes a lie of */

    /* An unknown peer's. */
    virtual_match *run;
    ls_transport *transport;
    ls_peer_id server; /* 0: not connected */
    uint64_t next_ns;
} faultsim_hostile;

/* From now on the client's packets go through the hostile's hands. */
void faultsim_hostile_turn(faultsim_hostile *hostile, virtual_client *client,
                           faultsim_hostility hostility, uint64_t seed);

/* Somebody who connects and never takes a seat: says nothing, or nonsense, or hangs up. */
void faultsim_hostile_knock(faultsim_hostile *hostile, virtual_match *run, uint64_t seed);

/* So many datagrams come to the server at once: junk, key exchanges that lead nowhere, and what
 * clients have sent, again or altered, from other addresses and from their own. The network is one
 * of datagrams. */
void faultsim_hostile_flood(virtual_match *run, ls_rng *rng, uint32_t datagrams);

#endif
