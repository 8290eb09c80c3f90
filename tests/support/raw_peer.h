/* Raw peer: somebody who speaks to a virtual match in packets of his own making: a client without a
 * session, honest only as far as the test wants. Keeps what it is told. For tests only. */
#ifndef LOCKSTEP_TESTS_SUPPORT_RAW_PEER_H
#define LOCKSTEP_TESTS_SUPPORT_RAW_PEER_H

#include "lockstep/common/simulation/input_buffer.h"
#include "lockstep/protocol/blob/blob_receiver.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/protocol/wire/tick_packet.h"
#include "lockstep/tests/lab/virtual/virtual_match.h"

enum {
    RAW_KINDS = 64
};

/* Calls to the owner of a peer that does more than keep what it is told; NULL: no call. */
typedef struct raw_peer_owner {
    void (*connected)(void *user);
    void (*message)(void *user, const ls_message *message);
    void (*ticks)(void *user, const uint8_t *bytes, size_t size); /* in place of the peer's own */
    void (*turned)(void *user);                                   /* after each turn */
    void *user;
    uint64_t origin; /* where it connects from; 0: unknown */
} raw_peer_owner;

typedef struct raw_peer {
    raw_peer_owner owner;
    virtual_match *run;
    ls_transport *transport;
    ls_peer_id server; /* 0 until connected */
    bool is_closed;
    uint32_t heard[RAW_KINDS]; /* packets, by kind */
    ls_offer offer;
    ls_close_reason refusal;
    uint32_t sequence; /* of the next INPUTS */
    ls_tick confirmed; /* where a TICKS says its packet begins */

    /* Joining a running match. */
    ls_join join;
    ls_blob_receiver *blob; /* NULL until a JOIN brings one */
    bool takes_no_parts;    /* of the blob, from now on */
    ls_ticks_request request;
    ls_resuming resuming;
    ls_tick first_tick; /* of the first TICKS with a tick in it since JOIN; 0: none */
} raw_peer;

/* Connects over a link of 1 ms, or over the given one and for an owner. The memory is the run's: it
 * goes with the run's network. */
raw_peer *raw_peer_create(virtual_match *run);
raw_peer *raw_peer_create_for(virtual_match *run, const ls_link_config *link,
                              const raw_peer_owner *owner);
void raw_peer_destroy(raw_peer *peer);

void raw_peer_send(raw_peer *peer, ls_channel channel, const uint8_t *bytes, size_t size);
void raw_peer_send_message(raw_peer *peer, const ls_message *message);
void raw_peer_send_kind(raw_peer *peer, ls_message_kind kind); /* all its fields zero */
void raw_peer_say_hello(raw_peer *peer);

/* HELLO and an honest READY, in a few milliseconds of the run. */
void raw_peer_join(raw_peer *peer);

/* HELLO of a player that comes back to the seat of this OFFER; match and secret are the OFFER's. */
void raw_peer_say_back(raw_peer *peer, const ls_offer *offer, const ls_return *claim);

/* An honest READY. */
void raw_peer_say_ready(raw_peer *peer);

/* An honest JOINED, as far as the match is, or another. */
void raw_peer_say_joined(raw_peer *peer, ls_tick first_input);
void raw_peer_send_joined(raw_peer *peer, ls_tick tick, uint64_t state_hash, ls_tick first_input);

/* A whole tick in one message, to a server that asked for it. */
void raw_peer_send_closed_tick(raw_peer *peer, const ls_tick_inputs *inputs);

/* INPUTS of an honest player who has received all ticks and makes no inputs, to be changed. */
ls_inputs_header raw_peer_inputs_header(raw_peer *peer);

/* Writes INPUTS with `count` inputs of one byte each; returns the size. */
size_t raw_peer_write_inputs(const ls_inputs_header *header, uint32_t count,
                             uint8_t bytes[LS_PACKET_BYTES_MAX]);
void raw_peer_send_inputs(raw_peer *peer, const ls_inputs_header *header, uint32_t count);

/* Raw spectator: a spectator of a virtual match without a session: it takes JOIN, the blob
 * and the closed ticks, steps the simulation on them and says what came out; honest only as far as
 * the test wants. */
typedef struct raw_spectator {
    virtual_match *run;
    raw_peer *peer; /* its packets, and the messages that it keeps */

    /* Set by the test. */
    bool is_wrong;      /* its chains are not those of its states */
    bool is_altered;    /* the next one alone */
    bool is_silent;     /* says nothing any more */
    bool is_stuck;      /* acknowledges nothing new */
    bool is_lazy;       /* never says that it has joined, and steps nothing */
    ls_tick leave_tick; /* closes its connection once it has stepped so many; 0: stays */

    /* Received. */
    bool has_join;
    ls_end end;
    bool has_end;
    uint32_t ticks_heard; /* TICKS since JOIN */
    uint32_t most_heard;  /* TICKS in the same instant */
    uint64_t heard_ns;
    uint64_t last_heard_ns;
    uint64_t longest_pause_ns; /* between two TICKS after JOIN */
    uint32_t same_heard;
    ls_tick least_delay; /* the server had closed at least so many more than it was sent */

    /* Its own state. */
    ls_sim_instance *instance;
    ls_input_buffer *received;
    ls_tick_cursor *cursor;
    bool has_state;
    bool has_finished;
    ls_tick next; /* first closed tick that it does not have */
    ls_tick chain_tick;
    uint64_t chain;
    ls_tick first_chain_tick; /* as they were when it joined */
    uint64_t first_chain;
    uint64_t tick_chain; /* before the tick that it steps next */
    uint64_t sent_ns;
    uint64_t state_hash; /* of its newest state */
} raw_spectator;

/* Connects over this link, and says HELLO: new, or as who comes back with all that `before` has,
 * which is taken from it. */
raw_spectator *raw_spectator_create(virtual_match *run, const ls_link_config *link,
                                    raw_spectator *before);
void raw_spectator_destroy(raw_spectator *spectator);

/* Ticks stepped. */
ls_tick raw_spectator_tick(const raw_spectator *spectator);

#endif
