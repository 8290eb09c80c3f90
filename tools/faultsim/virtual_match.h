/* Virtual match: one match and its sessions in one process, in virtual time, over the memory
 * network. Moves from event to event, calls the match only when it asks to be called, and compares
 * at every step what each machine really stepped on (virtual_check.c). The same setup gives the
 * same run to the bit. Called by tests/match and by faultsim. */
#ifndef LOCKSTEP_TOOLS_FAULTSIM_VIRTUAL_MATCH_H
#define LOCKSTEP_TOOLS_FAULTSIM_VIRTUAL_MATCH_H

#include "lockstep/client/bots.h"
#include "lockstep/client/session/session.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/diagnosis/state_difference.h"
#include "lockstep/protocol/transport/transport_memory.h"
#include "lockstep/protocol/wire/tick_packet.h"
#include "lockstep/server/journal/recorder.h"
#include "lockstep/server/match/match.h"
#include "lockstep/tools/faultsim/virtual_disk.h"

enum {
    VIRTUAL_EVENTS_MAX = 2048,
    VIRTUAL_CLIENT_EVENTS_MAX = 256,
    VIRTUAL_TICKS_MAX = 16384, /* longest match that can be checked */
    VIRTUAL_CLIENTS_MAX = LS_MEMORY_ENDPOINTS_MAX - 1,
    VIRTUAL_STRANGERS_MAX = VIRTUAL_CLIENTS_MAX,
    VIRTUAL_STEPPED_TICKS = 256, /* more than a client steps in a frame, and guesses */
    VIRTUAL_CRASHES_MAX = 8,     /* of the server, in a match with a journal */
};

/* The invariants of a match. */
typedef enum virtual_invariant {
    VIRTUAL_I1 = 1, /* a closed tick never changes, on any machine */
    VIRTUAL_I2,     /* an input is applied on its own tick, once, or reported late */
    VIRTUAL_I3,     /* equal ticks give equal hashes; every difference is reported, no other is */
    VIRTUAL_I4,     /* who is alive reaches the live tick; nobody stalls silently */
    VIRTUAL_I5,     /* nobody changes another's ticks or makes memory grow */
    VIRTUAL_I6,     /* hostile bytes end in a counted, named rejection */
    VIRTUAL_I7,     /* a resumed match has every tick that any client saw confirmed */
} virtual_invariant;

#define VIRTUAL_NEVER UINT64_MAX
#define VIRTUAL_NO_TICK UINT32_MAX

/* Who has lost its link is back so soon after everything is well again: the longest pause between
 * two attempts, an attempt that fails, and the way into the match. */
#define VIRTUAL_RETURN_MAX_NS (12 * LS_NS_PER_SECOND)

typedef struct virtual_match virtual_match;
typedef struct virtual_client virtual_client;

typedef struct virtual_client_setup {
    char name[LS_PLAYER_NAME_BYTES_MAX];
    const ls_simulation *simulation; /* what it has, whatever the server names; NULL: nothing */
    uint32_t frame_hz;
    uint64_t frame_jitter_ns;    /* a frame lasts up to so much longer */
    uint32_t ticks;              /* leaves after so many; 0: stays */
    int32_t drift_ppm;           /* of its clock */
    bool makes_inputs_in_frames; /* alone, as a game without timers */
    bool has_previous_state;     /* keeps what drawing needs */
    uint32_t predict_ticks;
    uint32_t reconnect_ms; /* as the session's; 0: it ends with its link */
    bool is_spectator;
    bool comes_later; /* connects when virtual_client_come says */
    ls_memory_link up;
    ls_memory_link down;
} virtual_client_setup;

/* Stands in a client's way to the network: what is to go out, goes through `send`, as it is,
 * altered or not at all. */
typedef struct virtual_tamper {
    void (*send)(void *user, virtual_client *client, ls_channel channel, const uint8_t *bytes,
                 size_t size);
    void *user;
} virtual_tamper;

typedef struct virtual_client_event {
    uint64_t at_ns;
    ls_session_event event;
} virtual_client_event;

/* What the server closed and stepped on; of a client that predicts: what it stepped on. */
typedef struct virtual_tick {
    uint64_t closed_ns;
    uint64_t closed_local_ns; /* by the server's clock */
    uint64_t state;           /* digest, before the step */
    uint64_t inputs[LS_PLAYERS_MAX];
    uint8_t events[LS_PLAYERS_MAX];
} virtual_tick;

/* What a server had closed when it died. */
typedef struct virtual_life {
    virtual_tick *ticks;
    ls_tick tick_count;
    uint64_t final_state; /* digest, behind the last of them */
} virtual_life;

struct virtual_client {
    virtual_match *run;
    const ls_simulation *simulation;
    ls_session *session;
    ls_transport *transport;
    ls_peer_id server; /* as its transport calls it; 0 before it sends anything */
    ls_memory_link up;
    ls_memory_link down;
    bool is_connecting;
    uint64_t connecting_ns; /* since when */
    ls_bot bot;
    uint32_t index;
    uint64_t frame_ns;
    uint64_t frame_jitter_ns;
    uint64_t next_frame_ns; /* all times are the run's, but what the session is told */
    uint64_t epoch_ns;      /* its clock shows this when the run's shows 0 */
    int32_t drift_ppm;
    uint64_t due_ns;   /* its next frame or update */
    bool is_paused;    /* draws no frames and reads no packets: a frozen process */
    bool is_fed_wrong; /* an injected fault may reach its inputs: see virtual_check.c */
    bool is_hostile;   /* nothing that it says of itself counts */
    bool may_leave;    /* a strict run accepts that it does not play to the end */
    bool is_gone;      /* its process has ended: it is never called again */
    bool is_absent;    /* it has not come yet */
    bool is_spectator;
    bool returns; /* makes a lost link anew */
    virtual_tamper tamper;
    ls_tick lag_max_ticks; /* in calm, its state is never further behind the server's; 0: any */
    ls_tick flip_tick;     /* flips a bit of the state after the step to this tick; 0: never */
    bool flips_on_entry;   /* in the first step after it was let into a running match, once */
    size_t flip_byte;
    uint32_t flip_bit; /* of that byte: 0 .. 7 */

    /* What it did. */
    bool is_watched;
    uint64_t heard_at_ns; /* when anything of its newest connection last reached the server */
    uint64_t heard_ns;    /* ... of the one over which it sat down, by the server's clock, */
    uint64_t hearing_ns;  /* ... anything of the server's it, by its own, */
    uint64_t ticks_ns;    /* ... and any ticks it, by the server's */
    bool is_flipped;
    size_t flipped_byte;        /* flip_byte, or the next one that the state hash depends on */
    uint64_t flipped_ns;        /* when */
    ls_difference_text flipped; /* the element; a: before, b: after */
    bool is_over;
    bool has_left;         /* the session has ended with another status than OK */
    bool is_dropped;       /* the server has taken its seat away */
    ls_tick tick;          /* ticks stepped, never to be stepped again */
    virtual_tick *stepped; /* a ring: the last step of each; NULL: it never steps a tick twice */
    uint64_t *made;        /* by tick: digest of the input made, 0: none */
    uint64_t *made_at;     /* by tick: when, 0: never */
    uint16_t *made_size;   /* by tick: bytes of it */
    uint8_t *made_in;      /* by tick: how often it had come in when it made that */
    uint8_t *arrived;      /* by tick: when the input reached the server: see virtual_wire.c */
    uint32_t life;         /* the server's, whose closed ticks it steps on */
    uint32_t joining_life; /* ... and who sent it the newest JOIN, which may still be on its way */
    uint8_t entries;       /* how often it was let into a running match */
    bool is_entering;      /* it is being */
    ls_tick entry_tick;    /* of the state with which it was ... */
    ls_tick held_from;     /* ... and the first closed tick that it can tell of */
    bool is_settled;       /* it plays, or watches ... */
    uint64_t since_ns;     /* ... since then, or does not */
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
    uint32_t waiting_count;   /* WAITING notices */
    uint32_t waiting_mask;    /* of all of them */
    uint32_t event_count;
    virtual_client_event events[VIRTUAL_CLIENT_EVENTS_MAX];
};

typedef struct virtual_event {
    uint64_t at_ns;
    ls_match_event event;
} virtual_event;

/* Somebody on the network who is no client of ours (raw_peer.h): called after every step. */
typedef struct virtual_stranger {
    void (*pump)(void *user);
    void *user;
} virtual_stranger;

typedef struct virtual_setup {
    ls_match_config match;
    uint32_t clients;       /* that connect at the start, at 60 frames a second */
    uint32_t predict_ticks; /* of all clients, unless their own setup says otherwise */
    uint64_t seed;
    ls_memory_link link;           /* in both directions */
    const ls_allocator *allocator; /* of the match and of the sessions */
    const ls_allocator *storage;   /* of everything else */
    const uint64_t *allocations;   /* by `allocator`, counted; NULL: not watched */

    bool has_journal; /* the match is recorded, and outlives its server */
    virtual_disk_state disk;
    uint32_t block_ms; /* of the recorder; 0: its default */
    uint32_t snapshot_ms;

    /* Nobody leaves but who may, and everybody else plays to the end. */
    bool is_strict;
    uint64_t calm_ns; /* from then on all is well for whoever has a lag_max_ticks; 0: never */

    /* What happens, in words; NULL: nobody reads it. */
    void (*log)(void *user, const char *line);
    void *log_user;
} virtual_setup;

/* What came of crashes. */
typedef struct virtual_resumes {
    uint64_t crashes;
    uint64_t resumed;   /* matches that went on */
    uint64_t hopeless;  /* that could not, rightly */
    uint64_t finished;  /* that were over, so their journals say */
    uint64_t recovered; /* ticks that the journals lacked and clients had */
    uint64_t forgotten; /* closed ticks that nobody who came back had seen */
    uint64_t lost;      /* closed ticks that somebody who came back had: none */
} virtual_resumes;

struct virtual_match {
    virtual_setup setup;
    ls_memory_network *network;
    ls_transport *server_transport;
    ls_match *match;
    ls_rng rng;
    uint64_t now_ns;
    uint64_t server_epoch_ns;
    int32_t server_drift_ppm;
    uint64_t server_loop_ns; /* the server's loop turns at multiples of this; 0: when asked to */
    uint64_t server_due_ns;  /* the next turn of its loop */
    bool is_server_paused;

    /* virtual_server.c */
    virtual_disk *disk; /* NULL: no journal */
    ls_recorder *recorder;
    bool is_server_dead;
    bool is_restoring;   /* the match is brought to where its journal ends */
    bool is_resumed_yet; /* since the newest crash */
    bool is_beyond_help; /* the server cannot come back: see virtual_server.c */
    uint64_t restart_ns;
    virtual_resumes resumes;
    uint32_t client_count;
    virtual_client *clients[VIRTUAL_CLIENTS_MAX];
    virtual_client *by_slot[LS_PLAYERS_MAX]; /* who sits there or sat there last; NULL: nobody */
    ls_peer_id seated_as[LS_PLAYERS_MAX];    /* the connection over which it sat down there */
    uint32_t stranger_count;
    virtual_stranger strangers[VIRTUAL_STRANGERS_MAX];
    uint32_t event_count;
    virtual_event *events;

    /* virtual_check.c, virtual_wire.c, virtual_end.c */
    virtual_tick *ticks; /* tick_capacity */
    ls_tick tick_capacity;
    ls_tick tick_count;
    ls_tick_cursor *cursor;
    uint64_t start_allocations; /* counted when the match began */
    uint64_t rejected_before;   /* before the packet that is being received */
    bool must_be_rejected;      /* and it is malformed beyond doubt */
    virtual_client *arriving;   /* whose inputs it may carry: NULL: none that are looked at */
    ls_tick arriving_first;
    ls_tick arriving_end;
    ls_tick tick_count_before;
    uint64_t unscheduled_until_ns;     /* closings up to then follow no schedule */
    uint64_t told_ns;                  /* rule wait: when whom it waits for was last told */
    uint32_t joined_mask;              /* slots whose JOINED has been closed, and no LEFT since */
    ls_tick play_from[LS_PLAYERS_MAX]; /* first tick that may have the slot's input, or NO_TICK */
    uint32_t back_mask;                /* slots that are ready, of a match that is resumed */
    uint32_t life;                     /* servers that have died */
    virtual_life lives[VIRTUAL_CRASHES_MAX];
    uint32_t first_event;  /* of this server */
    uint64_t resumed_ns;   /* when it last went on */
    ls_tick restored_tick; /* where its journal ended */
    uint32_t fault_count;
    virtual_invariant broken; /* the first one */
    ls_text fault;            /* "I3 at tick 212 (3.841000 s): ..." */
};

/* Everybody present, perfect links of 10 ms, seed 1, tick rate 60. */
virtual_setup virtual_setup_default(const ls_simulation *simulation, uint32_t players,
                                    uint32_t ticks);
virtual_client_setup virtual_client_setup_default(const virtual_match *run);

/* The match's simulation and the clients' are made witnesses (witness.h). */
virtual_match *virtual_match_create(const virtual_setup *setup);
void virtual_match_destroy(virtual_match *run);

/* Adds one more client, which connects at once. */
virtual_client *virtual_match_add_client(virtual_match *run, const virtual_client_setup *setup);

void virtual_match_add_stranger(virtual_match *run, virtual_stranger stranger);

/* The process of the server dies; after `ns` another one takes its place, and goes on from the
 * journal. Nothing happens when it is dead, when the match is over or has no journal. */
void virtual_match_crash(virtual_match *run, uint64_t ns);

/* Somebody who was to come later connects. */
void virtual_client_come(virtual_client *client);

/* The same link in both directions for every client; for one; none at all for one. */
void virtual_match_set_links(virtual_match *run, const ls_memory_link *link);
void virtual_client_set_links(virtual_client *client, const ls_memory_link *link);
void virtual_client_set_ways(virtual_client *client, const ls_memory_link *up,
                             const ls_memory_link *down);
void virtual_client_cut(virtual_client *client);

/* The player leaves, with a word. */
void virtual_client_leave(virtual_client *client);

/* A client's process ends without a word. */
void virtual_client_vanish(virtual_client *client);

/* Moves a clock forward: what a machine that was suspended sees when it goes on. */
void virtual_client_step_clock(virtual_client *client, uint64_t ns);
void virtual_match_step_clock(virtual_match *run, uint64_t ns);

/* The server's process stands still, or goes on. */
void virtual_match_pause_server(virtual_match *run);
void virtual_match_resume_server(virtual_match *run);

/* Lets the server's process stand still for `ns`, then go on. */
void virtual_match_suspend_server(virtual_match *run, uint64_t ns);

/* Runs until the run's clock shows `end_ns`; for `ns`; or until the match and every session are
 * over; or until the server has closed `tick` ticks, two minutes at most. */
void virtual_match_run_until(virtual_match *run, uint64_t end_ns);
void virtual_match_run(virtual_match *run, uint64_t ns);
void virtual_match_run_to_end(virtual_match *run);
void virtual_match_run_to_tick(virtual_match *run, ls_tick tick);
bool virtual_match_is_over(const virtual_match *run);

/* Whose connection it is now: a player or one who watches; NULL: nobody's. */
virtual_client *virtual_match_client_of(const virtual_match *run, ls_peer_id peer);

/* What a clock shows: the server's, a client's. */
uint64_t virtual_match_server_ns(const virtual_match *run);
uint64_t virtual_client_ns(const virtual_client *client);

/* Events of the match: the first of a kind or NULL; how many of a kind there are of a slot (any:
 * LS_PLAYERS_MAX). */
const virtual_event *virtual_match_find(const virtual_match *run, ls_match_event_kind kind);
const virtual_event *virtual_match_find_slot(const virtual_match *run, ls_match_event_kind kind,
                                             uint32_t slot);
uint32_t virtual_match_count(const virtual_match *run, ls_match_event_kind kind, uint32_t slot);
const virtual_client_event *virtual_client_find(const virtual_client *client,
                                                ls_session_event_kind kind);
uint32_t virtual_client_count(const virtual_client *client, ls_session_event_kind kind);

/* A digest of every event with its time and of every report: equal for equal runs. */
uint64_t virtual_match_digest(const virtual_match *run);

/* ---- virtual_server.c: the server's process, its journal, its death and its return ---- */

void virtual_server_create(virtual_match *run);
void virtual_server_destroy(virtual_match *run);

/* Takes what the match has to say, hands on to the recorder what is closed. */
void virtual_server_take_events(virtual_match *run);
void virtual_server_record(virtual_match *run);

/* When something happens on its disk, or it comes back. */
uint64_t virtual_server_next_ns(const virtual_match *run);
void virtual_server_pump_disk(virtual_match *run);
void virtual_server_pump_death(virtual_match *run);

/* ---- virtual_link.c: connections of clients ---- */

void virtual_link_connect(virtual_client *client);
void virtual_link_take_disconnect(virtual_client *client, ls_status reason);
void virtual_link_pump(virtual_client *client);

/* ---- virtual_log.c: a line for the log of a run, if anybody reads it ---- */

void virtual_log(virtual_match *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

void virtual_log_match_event(virtual_match *run, const ls_match_event *event);
void virtual_log_session_event(virtual_client *client, const ls_session_event *event);

/* ---- virtual_check.c: the invariants, noted in `fault` as soon as they break ---- */

void virtual_check_note(virtual_match *run, virtual_invariant invariant, ls_tick tick,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));
void virtual_check_watch_server(virtual_match *run);
void virtual_check_watch_client(virtual_client *client);
void virtual_check_frame(virtual_client *client);
void virtual_check_input_made(virtual_client *client, ls_tick tick, const uint8_t *bytes,
                              uint32_t size);
/* The client's state before `tick` is not the server's. */
void virtual_check_difference(virtual_client *client, ls_tick tick);

/* The state that the client shows now, before it gets another one or the run ends. */
void virtual_check_last_state(virtual_client *client);

void virtual_check_event(virtual_match *run, const ls_match_event *event);
void virtual_check_session_event(virtual_client *client, const ls_session_event *event);
void virtual_check_silence(virtual_match *run);

void virtual_check_take_tick(virtual_tick *taken, const ls_tick_inputs *inputs,
                             uint64_t state_digest);
bool virtual_check_is_as_closed(const virtual_tick *closed, const ls_tick_inputs *inputs);

/* ---- virtual_return.c: who comes late, comes back, and a server that does (I7) ---- */

/* What the server closed whose ticks the client steps on; the digest of the state behind it. */
virtual_life virtual_return_life_of(const virtual_client *client);
uint64_t virtual_return_end_of(const virtual_client *client);

/* The server has died; it is back, and its match not yet. */
void virtual_return_crashed(virtual_match *run);
void virtual_return_restored(virtual_match *run);

/* A tick that was closed before, or that players told of. */
void virtual_return_step(virtual_match *run, const ls_tick_inputs *inputs, uint64_t state_digest);

void virtual_return_match_event(virtual_match *run, const ls_match_event *event);
void virtual_return_session_event(virtual_client *client, const ls_session_event *event);

/* Finds out whether a slot that is lost or left, or a session that ends, was to be expected. */
void virtual_return_check_leave(virtual_client *client, const ls_match_event *event);
bool virtual_return_is_shut_out(const virtual_client *client, ls_status status);

/* Once all is well, whoever is to come in or back does, before long. */
void virtual_return_check_away(virtual_match *run, ls_tick tick);

/* ---- virtual_wire.c: what comes out of a packet that is received ---- */

/* Around ls_match_receive; and around ls_session_receive. */
void virtual_wire_before_match(virtual_match *run, const ls_transport_event *event);
void virtual_wire_after_match(virtual_match *run, const ls_transport_event *event);
void virtual_wire_before_session(virtual_client *client, const ls_transport_event *event);
void virtual_wire_after_session(virtual_client *client, const ls_transport_event *event);

enum {
    VIRTUAL_ARRIVED_NOT,
    VIRTUAL_ARRIVED_IN_TIME,
    VIRTUAL_ARRIVED_LATE,
    VIRTUAL_ARRIVING, /* in the packet that the match is just looking at */
};

/* ---- virtual_end.c: what shows only at the end ---- */

/* True when nothing broke so far and the reports fit what was seen; `fault` says what does not.
 * Asks that a client whose state differs has been reported, with the right tick, and no other. */
bool virtual_match_is_sound(virtual_match *run);

#endif
