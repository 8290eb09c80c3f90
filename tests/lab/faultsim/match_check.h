/* Match check: an observer of a virtual match that holds it to the invariants I1 to I10. It
 * compares at every step what each machine really steps on, judges every packet, departure and
 * return, and at the end the reports. It changes nothing of the match. Called by tests/match and by
 * faultsim.
 */
#ifndef LOCKSTEP_TESTS_LAB_FAULTSIM_MATCH_CHECK_H
#define LOCKSTEP_TESTS_LAB_FAULTSIM_MATCH_CHECK_H

#include "lockstep/protocol/wire/tick_packet.h"
#include "lockstep/tests/lab/virtual/virtual_match.h"

enum {
    CHECK_TICKS_MAX = 16384, /* longest match that can be checked */
    CHECK_INPUTS_HELD = 1024,
    CHECK_STEPPED_TICKS = 256, /* more than a client steps in a frame, and guesses */
    CHECK_CRASHES_MAX = 8,     /* of the server, in a match with a journal */
};

#define CHECK_NO_TICK UINT32_MAX

/* The invariants of a match. */
typedef enum check_invariant {
    CHECK_I1 = 1, /* a closed tick never changes, on any machine */
    CHECK_I2,     /* an input is applied on its own tick, once, or reported late */
    CHECK_I3,     /* equal ticks give equal hashes; each difference is reported, nothing else is */
    CHECK_I4,     /* every live client reaches the live tick; no stall is silent */
    CHECK_I5,     /* no client changes another's ticks or makes memory grow */
    CHECK_I6,     /* hostile bytes end in a counted, named rejection */
    CHECK_I7,     /* a resumed match has every tick that any client saw confirmed */
    CHECK_I8,     /* an address that is not proven is sent no more bytes than came from it */
    CHECK_I9,     /* what one peer can cause is bounded: see check_bounds.h */
    CHECK_I10,    /* no newcomer is starved by another peer */
} check_invariant;

/* A tick that the server closed and stepped on, or that a predicting client stepped on. */
typedef struct check_tick {
    uint64_t closed_ns;
    uint64_t closed_local_ns; /* by the server's clock */
    uint64_t state;           /* digest, before the step */
    uint64_t inputs[LS_PLAYERS_MAX];
    uint8_t events[LS_PLAYERS_MAX];
} check_tick;

/* The ticks that one process of the server has closed. */
typedef struct check_life {
    check_tick *ticks;
    ls_tick tick_count;
    uint64_t final_state; /* digest, behind the last of them */
} check_life;

typedef struct match_check match_check;
typedef struct check_bounds check_bounds;

typedef struct client_check {
    match_check *check;
    virtual_client *core;

    /* Set by the test or the scenario. */
    bool is_fed_wrong;     /* an injected fault may reach its inputs */
    bool is_hostile;       /* nothing that it says of itself counts */
    bool may_leave;        /* a strict run accepts that it does not play to the end */
    ls_tick lag_max_ticks; /* from the baseline on, its state is never further behind; 0: any */

    /* Observed. */
    bool is_observed;      /* its steps are */
    uint64_t heard_at_ns;  /* when a packet of its newest connection last reached the server, */
    uint64_t heard_ns;     /* of the one over which it was seated, by the server's clock; */
    uint64_t hearing_ns;   /* when any packet of the server last reached it, by its own clock, */
    uint64_t ticks_ns;     /* and any ticks, by the server's */
    bool has_left;         /* the session has ended with another status than OK */
    bool is_dropped;       /* the server has taken its seat away */
    ls_tick tick;          /* ticks stepped, never to be stepped again */
    check_tick *stepped;   /* a ring: the last step of each; NULL: it never steps a tick twice */
    uint64_t *made;        /* by tick: digest of the input made, 0: none */
    uint64_t *made_at;     /* by tick: when, 0: never */
    uint16_t *made_size;   /* by tick: bytes of it */
    uint8_t *held;         /* a ring of CHECK_INPUTS_HELD: the bytes of inputs that have arrived */
    uint8_t *made_in;      /* by tick: the number of `entries` when it was made */
    uint8_t *arrived;      /* by tick: when the input reached the server, a CHECK_ARRIVED */
    uint32_t life;         /* the server's, whose closed ticks it steps on */
    uint32_t joining_life; /* the server's who sent it the newest JOIN, which may be on its way */
    uint8_t entries;       /* how often it was let into a running match */
    bool is_entering;      /* it is being let in */
    ls_tick entry_tick;    /* of the state with which it was let in */
    ls_tick held_from;     /* the first closed tick that it can give back to a resumed server */
    bool is_settled;       /* it plays or watches, */
    uint64_t since_ns;     /* since this moment, or does not since then */
    ls_tick acknowledged;  /* newest `next` of its INPUTS, as the server has read it */
    uint64_t late;         /* inputs that reached the server after their tick was closed */
    bool has_input_difference;
    ls_tick input_difference_tick; /* first tick that it stepped on other inputs than the server */
    bool has_run_ahead;            /* has stepped a tick that was not closed yet */
    bool has_state_difference;
    ls_tick state_difference_tick; /* first state that is not the server's */
    bool has_hashed_difference;    /* likewise, of the states that are hashed: others may heal */
    ls_tick hashed_difference_tick;
    uint32_t difference_life; /* in which that was */
    bool is_mended;           /* has been sent another state since, and was told before that */
} client_check;

/* Outcomes of crashes. */
typedef struct check_resumes {
    uint64_t crashes;
    uint64_t resumed;   /* matches that went on */
    uint64_t hopeless;  /* that could not, rightly */
    uint64_t finished;  /* that were over, so their journals say */
    uint64_t recovered; /* ticks that the journals lacked and clients had */
    uint64_t forgotten; /* closed ticks that no returned client had seen */
    uint64_t lost;      /* closed ticks that a returned client had: none */
} check_resumes;

struct match_check {
    virtual_match *run;

    /* Only clients that may leave do, and all others play to the end; the run stops at the first
     * fault. */
    bool is_strict;
    uint64_t baseline_ns;        /* from then on no faults are injected; 0: never */
    const uint64_t *allocations; /* by the match and the sessions, counted; NULL: not watched */

    client_check *clients[VIRTUAL_CLIENTS_MAX];
    client_check *by_slot[LS_PLAYERS_MAX]; /* has or last had the seat; NULL: no client */
    ls_peer_id seated_as[LS_PLAYERS_MAX];  /* the connection over which it was seated there */
    bool differed_before[LS_PLAYERS_MAX];  /* somebody who sat there before it did */
    check_tick *ticks;                     /* tick_capacity */
    ls_tick tick_capacity;
    ls_tick tick_count;
    ls_tick_cursor *cursor;
    uint64_t start_allocations;  /* counted when the match began */
    uint64_t states_sent;        /* that the match began to send since then, as its events say */
    uint64_t allocations_before; /* the turn of a client */
    uint64_t received_before;    /* allocations before the packet that is being received */
    bool has_taken_for_causes;   /* with a packet that was rejected: once a match may */
    bool was_settled;            /* that client, before its turn */
    uint64_t rejected_before;    /* before the packet that is being received */
    bool must_be_rejected;       /* that packet, which is malformed beyond doubt */
    client_check *arriving;      /* its inputs may be in that packet; NULL: none are looked at */
    ls_tick arriving_first;
    ls_tick arriving_end;
    ls_tick tick_count_before;
    uint64_t unscheduled_until_ns;     /* closings up to then follow no schedule */
    uint64_t told_ns;                  /* rule wait: of the last STALLED */
    ls_slot_set joined;                /* slots whose JOINED has been closed, and no LEFT since */
    ls_tick play_from[LS_PLAYERS_MAX]; /* first tick that may have the slot's input, or NO_TICK */
    ls_slot_set back;                  /* slots that are ready, of a match that is resumed */
    uint32_t life;                     /* servers that have died */
    check_life lives[CHECK_CRASHES_MAX];
    bool is_resumed_yet;   /* since the newest crash */
    uint32_t first_event;  /* of this server */
    uint64_t resumed_ns;   /* when it last went on */
    ls_tick restored_tick; /* where its journal ended */
    check_resumes resumes;
    check_bounds *bounds; /* of each peer */
    uint32_t fault_count;
    check_invariant broken; /* the first one */
    ls_text fault;          /* "I3 at tick 212 (3.841000 s): ..." */
};

/* A virtual match with a check as its first observer; the check is destroyed with the run. */
virtual_match *checked_match_create(const virtual_setup *setup);

/* The check of a run, or of a client, that was created so. */
match_check *check_of(const virtual_match *run);
client_check *client_check_of(const virtual_client *client);

/* Notes that an invariant is broken: the first one counts. */
void match_check_note(match_check *check, check_invariant invariant, ls_tick tick,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));

/* True when nothing broke so far and the reports fit what was seen; `fault` says what does not.
 * Asks that a client whose state differs has been reported, with the right tick, and no other. */
bool match_check_is_sound(match_check *check);

/* ==== what the files of the check share: match_check.c forwards what it observes ==== */

/* A client that has lost its link is back this soon after the last fault: the longest pause between
 * two attempts, an attempt that fails, and the way into the match. */
#define CHECK_RETURN_MAX_NS (12 * LS_NS_PER_SECOND)

/* When an input reached the server. */
enum {
    CHECK_ARRIVED_NOT,
    CHECK_ARRIVED_IN_TIME,
    CHECK_ARRIVED_LATE,
    CHECK_ARRIVING, /* in the packet that the match is just looking at */
};

/* ---- check_common.c: faults, closed ticks and the lives of the server ---- */

uint64_t match_check_dt_ns(const match_check *check);

/* The client whose newest connection this is; NULL: it belongs to no client. */
client_check *match_check_client_of(const match_check *check, ls_peer_id peer);

void match_check_record_tick(check_tick *taken, const ls_tick_inputs *inputs,
                             uint64_t state_digest);
bool match_check_is_as_closed(const check_tick *closed, const ls_tick_inputs *inputs);

/* The client's state before `tick` is not the server's. */
void client_check_note_difference(client_check *client, ls_tick tick);

/* The ticks of the server that the client steps on; the digest of the state behind them. */
check_life client_check_life_of(const client_check *client);
uint64_t client_check_end_state_of(const client_check *client);

/* ---- check_clients.c ---- */

void client_check_input(client_check *client, ls_tick tick, const uint8_t *bytes, uint32_t size);
void client_check_observe_steps(client_check *client);
void client_check_frame(client_check *client);
void client_check_event(client_check *client, const ls_session_event *event);

/* The state that the client shows now, before it gets another one or the run ends. */
void client_check_last_state(client_check *client);

/* Departures, ends and absences. */
void match_check_leaving(match_check *check, const ls_match_event *event);
void client_check_over(client_check *client, const ls_session_event *event);
void match_check_absence(match_check *check, ls_tick tick);

/* ---- check_server.c ---- */

void match_check_observe_steps(match_check *check);
void match_check_event(match_check *check, const ls_match_event *event);
void match_check_silence(match_check *check);
void match_check_server_died(void *user, virtual_match *run);
void match_check_server_restored(void *user, virtual_match *run);
void match_check_server_lost(void *user, ls_status status, const ls_text *why);

/* Around ls_match_receive, and around ls_session_receive. */
void match_check_receives(void *user, const ls_transport_event *event);
void match_check_received(void *user, const ls_transport_event *event);
void client_check_receives(client_check *client, const ls_transport_event *event);
void client_check_received(client_check *client);

#endif
