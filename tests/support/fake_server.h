/* Fake server: the other end of one session, played by a test: it closes ticks of a match of the
 * counter simulation by itself, sends what the test asks for, right or altered, and keeps what the
 * session sends. There is no network: what is sent has come. Stops the test when the session sends
 * what it must not. Called by tests of the session. */
#ifndef LOCKSTEP_TESTS_SUPPORT_FAKE_SERVER_H
#define LOCKSTEP_TESTS_SUPPORT_FAKE_SERVER_H

#include "lockstep/client/session/session.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/blob/blob.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/tests/support/counter_simulation.h"

enum {
    FAKE_SLOTS = 2,
    FAKE_TICKS_MAX = 4096,
    FAKE_CLOSED_MAX = 64, /* CLOSED_TICKs kept */
};

#define FAKE_DT_NS (10 * LS_NS_PER_MS)
#define FAKE_MATCH_ID UINT64_C(0x1234567890abcdef)

typedef struct fake_server {
    ls_session *session;
    ls_simulation simulation; /* the counter; a test may take its save away before the offer */
    ls_offer offer;
    uint64_t now_ns;
    ls_peer_id peer;         /* of the newest connection */
    uint64_t connect_rtt_ns; /* that the transport tells with the next one */
    ls_tick keyframe_tick;   /* is coded against nothing */
    uint32_t sequence;       /* of TICKS */
    ls_tick sends_from;      /* TICKS begin there at the earliest: what was before was lost */
    bool acknowledges_nothing;
    bool has_slack; /* TICKS say how early the newest input has come: */
    int32_t slack;  /* in LS_HOLD_UNIT_NS */

    /* The match, by tick. */
    ls_sim_instance *instance;
    ls_tick closed;
    uint64_t state_hashes[FAKE_TICKS_MAX + 1];
    uint64_t chains[FAKE_TICKS_MAX + 1];
    uint64_t tick_chains[FAKE_TICKS_MAX + 1];
    ls_blob *blob;
    uint8_t *raw; /* what is in it */

    /* Packets of the session. */
    uint32_t connections;
    uint32_t disconnections;
    uint32_t packets;
    uint32_t blob_acks;
    uint32_t inputs_sent;    /* INPUTS */
    uint32_t inputs_carried; /* by the newest of them */
    ls_inputs_header inputs;
    ls_hello hello;
    uint32_t ready_count;
    uint32_t joined_count;
    ls_joined joined;
    bool has_goodbye;
    ls_close_reason goodbye;
    ls_chat chat; /* the newest */
    uint32_t finished_count;
    uint32_t closed_tick_count;
    ls_tick_part closed_ticks[FAKE_CLOSED_MAX];
} fake_server;

/* A match of FAKE_SLOTS players at 100 Hz whose every state is hashed, and a session that plays it
 * if `config` finds no other simulation. */
void fake_server_open(fake_server *fake, const ls_session_config *config);
void fake_server_close(fake_server *fake);

/* A new connection; the session says HELLO. */
void fake_server_connect(fake_server *fake);

/* OFFER of the match that runs; a new one starts with it. */
void fake_server_send_offer(fake_server *fake);
void fake_server_send_start(fake_server *fake);

/* Closes more ticks. */
void fake_server_close_ticks(fake_server *fake, uint32_t count);

/* The inputs of a tick; the bytes are the caller's. */
void fake_server_inputs(ls_tick tick, uint8_t bytes[FAKE_SLOTS][COUNTER_INPUT_BYTES_MAX],
                        ls_slot_input slots[FAKE_SLOTS]);

/* The JOIN that a server would send: HELD by the claims of HELLO; the others of the newest state,
 * with the blob made. */
ls_join fake_server_make_join(fake_server *fake, ls_join_source source);

/* Another string for the blob, and the JOIN told of it. */
void fake_server_set_blob(fake_server *fake, ls_join *join, const uint8_t *bytes, uint32_t size);

void fake_server_send_join(fake_server *fake, const ls_join *join);
void fake_server_send_blob(fake_server *fake, const ls_join *join);
void fake_server_send(fake_server *fake, const ls_message *message);

/* Every closed tick that the session has not acknowledged, before `end`. */
void fake_server_send_ticks_to(fake_server *fake, ls_tick end);
void fake_server_send_ticks(fake_server *fake);

/* A closed tick, whatever it is, coded against the inputs of the one before it. */
void fake_server_send_tick_in_parts(fake_server *fake, ls_tick tick,
                                    const ls_slot_input before[FAKE_SLOTS],
                                    const ls_slot_input now[FAKE_SLOTS]);

/* FAKE_DT_NS passes, and a frame; `frame_on`: so often, with a tick closed and sent before each. */
void fake_server_frame(fake_server *fake);
void fake_server_frame_on(fake_server *fake, uint32_t frames);

/* The newest event of this kind among those not yet taken, all of which are taken. */
bool fake_server_find_event(fake_server *fake, ls_session_event_kind kind, ls_session_event *event);

static inline ls_session_report fake_server_report(const fake_server *fake)
{
    return ls_session_report_of(fake->session);
}

#endif
