/* Virtual match: one match and its sessions in one process, in virtual time, over the memory
 * network. The driver moves from event to event, calls the match only when it asks to be called,
 * and judges nothing: observers see every packet, event and turn. The same setup gives the same run
 * to the bit. Called by tests/match, the benchmarks and faultsim, whose match_check observes it. */
#ifndef LOCKSTEP_TESTS_LAB_VIRTUAL_VIRTUAL_MATCH_H
#define LOCKSTEP_TESTS_LAB_VIRTUAL_VIRTUAL_MATCH_H

#include "lockstep/client/bots.h"
#include "lockstep/client/session/session.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/diagnosis/rerun_local.h"
#include "lockstep/common/diagnosis/state_difference.h"
#include "lockstep/server/journal/recorder.h"
#include "lockstep/server/match/match.h"
#include "lockstep/tests/lab/virtual/virtual_disk.h"
#include "lockstep/tests/lab/virtual/virtual_network.h"

enum {
    VIRTUAL_EVENTS_MAX = 2048,
    VIRTUAL_CLIENT_EVENTS_MAX = 256,
    VIRTUAL_CLIENTS_MAX = LS_MEMORY_ENDPOINTS_MAX - 1,
    VIRTUAL_PEERS_MAX = VIRTUAL_CLIENTS_MAX,
    VIRTUAL_OBSERVERS_MAX = 4,
};

#define VIRTUAL_NEVER UINT64_MAX

typedef struct virtual_match virtual_match;
typedef struct virtual_client virtual_client;

/* A virtual match is in one of the cores, or in the driver and the network around them. */
typedef enum virtual_work {
    VIRTUAL_WORK_AROUND,
    VIRTUAL_WORK_MATCH,
    VIRTUAL_WORK_SESSION,
} virtual_work;

/* Sees what happens in a virtual match. A callback that is NULL is not called. */
typedef struct virtual_observer {
    void *user; /* the first argument of each callback */

    /* The simulation that every machine steps in place of the given one. Asked of one observer. */
    const ls_simulation *(*simulation_for)(void *user, const ls_simulation *simulation);

    /* The server: a process has made its match, has died, has restored its match from the journal,
     * cannot restore it; its turns follow no schedule until the given moment. */
    void (*server_created)(void *user, virtual_match *run);
    void (*server_died)(void *user, virtual_match *run);
    void (*server_restored)(void *user, virtual_match *run);
    void (*server_lost)(void *user, ls_status status, const ls_text *why);
    void (*server_unscheduled)(void *user, uint64_t until_ns);
    void (*server_turned)(void *user, virtual_match *run);
    void (*match_event)(void *user, const ls_match_event *event);

    /* A client: it is added, it connects for the first time after it was to come later; before and
     * after its turn; it has drawn a frame; it has made an input. */
    void (*client_added)(void *user, virtual_client *client);
    void (*client_came)(void *user, virtual_client *client);
    void (*client_turns)(void *user, virtual_client *client);
    void (*client_turned)(void *user, virtual_client *client);
    void (*frame_drawn)(void *user, virtual_client *client);
    void (*input_made)(void *user, virtual_client *client, ls_tick tick, const uint8_t *bytes,
                       uint32_t size);
    void (*session_event)(void *user, virtual_client *client, const ls_session_event *event);

    /* Before and after the match, or a session, reads a packet. */
    void (*match_receives)(void *user, const ls_transport_event *event);
    void (*match_received)(void *user, const ls_transport_event *event);
    /* The match is about to send a packet. */
    void (*match_sends)(void *user, ls_peer_id peer, ls_channel channel, const uint8_t *bytes,
                        size_t size);
    void (*session_receives)(void *user, virtual_client *client, const ls_transport_event *event);
    void (*session_received)(void *user, virtual_client *client, const ls_transport_event *event);

    void (*run_destroyed)(void *user, virtual_match *run);
} virtual_observer;

typedef struct virtual_client_setup {
    ls_session_config session; /* its callbacks are the run's own */
    const ls_simulation
        *simulation; /* the client's, whatever the server names; NULL: it has none */
    uint32_t frame_hz;
    uint64_t frame_jitter_ns; /* a frame lasts up to this much longer */
    int32_t drift_ppm;        /* of its clock */
    bool comes_later;         /* connects when virtual_client_come is called */
    ls_link_config up;
    ls_link_config down;
    /* Its player in place of a bot; NULL: a bot. */
    uint32_t (*make_input)(void *user, const ls_sim_instance *instance, uint32_t slot,
                           uint8_t *bytes);
    void *player;
} virtual_client_setup;

/* Stands between a client and the network: whatever the client sends is handed to `send`, which
 * passes it on unchanged, altered or not at all. */
typedef struct virtual_tamper {
    void (*send)(void *user, virtual_client *client, ls_channel channel, const uint8_t *bytes,
                 size_t size);
    void *user;
} virtual_tamper;

typedef struct virtual_client_event {
    uint64_t at_ns;
    ls_session_event event;
} virtual_client_event;

/* One bit of a client's state is flipped after the step to `tick`; 0: never. */
typedef struct virtual_flip {
    ls_tick tick;
    size_t byte;
    uint32_t bit; /* of that byte: 0 .. 7 */

    bool is_done;
    size_t flipped_byte;     /* `byte`, or the next one that the state hash depends on */
    uint64_t at_ns;          /* when */
    ls_difference_text text; /* the element; a: before, b: after */
} virtual_flip;

struct virtual_client {
    virtual_match *run;
    const ls_simulation *simulation;
    ls_session *session;
    ls_rerun_local *reruns;
    ls_transport *transport;
    ls_peer_id
        server; /* the server's number on the transport; 0 before the client sends anything */
    ls_link_config up;
    ls_link_config down;
    bool is_connecting;
    uint64_t connecting_ns; /* since when */
    uint32_t connections;   /* attempts to connect */
    ls_bot bot;
    uint32_t (*make_input)(void *user, const ls_sim_instance *instance, uint32_t slot,
                           uint8_t *bytes);
    void *player;
    uint32_t index;
    uint64_t frame_ns;
    uint64_t frame_jitter_ns;
    uint64_t next_frame_ns; /* all times are the run's, except those that the session is told */
    uint64_t epoch_ns;      /* its clock shows this when the run's shows 0 */
    int32_t drift_ppm;
    uint64_t due_ns; /* its next frame or update */
    bool is_paused;  /* a frozen process: it draws no frames and reads no packets */
    bool is_gone;    /* its process has ended and is never called again */
    bool is_absent;  /* it has not come yet */
    bool is_over;    /* its session is */
    bool is_spectator;
    bool reconnects; /* its session makes a lost link anew */
    uint32_t predict_ticks;
    virtual_tamper tamper;
    virtual_flip flip;
    uint32_t event_count;
    virtual_client_event events[VIRTUAL_CLIENT_EVENTS_MAX];
};

typedef struct virtual_event {
    uint64_t at_ns;
    ls_match_event event;
} virtual_event;

/* A peer on the network that is no client of the run (raw_peer.h): pumped after every step. */
typedef struct virtual_peer {
    void (*pump)(void *user);
    void *user;
} virtual_peer;

typedef struct virtual_setup {
    ls_match_config match;
    uint32_t clients;       /* that connect at the start, at 60 frames a second */
    uint32_t predict_ticks; /* of all clients, unless their own setup says otherwise */
    uint64_t seed;
    ls_link_config link;            /* in both directions */
    uint64_t resend_ns;             /* of the reliable channel, as ENet's; 0: a round trip */
    virtual_network_maker *network; /* NULL: of the memory transport */
    const ls_allocator *allocator;  /* of the match and of the sessions */
    const ls_allocator *storage;    /* of everything else */

    bool has_journal; /* the match is recorded, and outlives its server */
    virtual_disk_state disk;
    uint32_t block_ms; /* of the recorder; 0: its default */
    uint32_t snapshot_ms;

    bool runs_nothing_again; /* no machine has a rerun host, but for those of the configs */

    uint64_t step_ns;     /* all machines look at their packets this often; 0: when one comes */
    bool keeps_no_events; /* observers see them all the same */

    virtual_observer observer; /* all zero: none */

    /* Called when the run begins to do something else; NULL: not called. A clock that it reads can
     * tell what the cores take. */
    void (*on_work)(void *user, virtual_work work);
    void *work_user;

    /* Receives what happens, in words; NULL: nothing is written. */
    void (*log)(void *user, const char *line);
    void *log_user;
} virtual_setup;

struct virtual_match {
    virtual_setup setup;
    uint32_t observer_count;
    virtual_observer observers[VIRTUAL_OBSERVERS_MAX];
    virtual_network *network;
    ls_match *match;
    ls_rerun_local *reruns; /* of the server */
    ls_rng rng;
    uint64_t now_ns;
    virtual_work work;
    bool is_stopped; /* by an observer: the run goes no further */
    uint64_t server_epoch_ns;
    int32_t server_drift_ppm;
    uint64_t server_loop_ns; /* the server's loop turns at multiples of this; 0: when asked to */
    uint64_t server_due_ns;  /* the next turn of its loop */
    bool is_server_paused;

    virtual_disk *disk; /* NULL: no journal */
    ls_recorder *recorder;
    bool is_server_dead;
    bool is_restoring;   /* the match is brought to where its journal ends */
    bool is_server_lost; /* the server cannot come back: see virtual_server.c */
    uint64_t restart_ns;

    uint32_t client_count;
    virtual_client *clients[VIRTUAL_CLIENTS_MAX];
    uint32_t peer_count;
    virtual_peer peers[VIRTUAL_PEERS_MAX];
    uint32_t event_count;
    virtual_event *events;
};

/* All players present, perfect links of 10 ms, seed 1, tick rate 60. */
virtual_setup virtual_setup_default(const ls_simulation *simulation, uint32_t players,
                                    uint32_t ticks);
virtual_client_setup virtual_client_setup_default(const virtual_match *run);

virtual_match *virtual_match_create(const virtual_setup *setup);
void virtual_match_destroy(virtual_match *run);

/* Adds an observer, which sees what happens from now on. */
void virtual_match_observe(virtual_match *run, const virtual_observer *observer);

/* Calls a callback of every observer that has it. */
#define VIRTUAL_OBSERVE(run, callback, ...)                                                        \
    for (const virtual_observer *its = (run)->observers;                                           \
         its < (run)->observers + (run)->observer_count; its++) {                                  \
        if (its->callback) {                                                                       \
            its->callback(its->user, __VA_ARGS__);                                                 \
        }                                                                                          \
    }

void virtual_match_add_peer(virtual_match *run, virtual_peer peer);

/* Runs until the run's clock shows `end_ns`; for `ns`; or until the match and every session are
 * over; or until the server has closed `tick` ticks, two minutes at most. */
void virtual_match_run_until(virtual_match *run, uint64_t end_ns);
void virtual_match_run(virtual_match *run, uint64_t ns);
void virtual_match_run_to_end(virtual_match *run);
void virtual_match_run_to_tick(virtual_match *run, ls_tick tick);
bool virtual_match_is_over(const virtual_match *run);

/* Runs until the client's session is in this state; false when it is not after `ns`. */
bool virtual_client_run_to_state(virtual_client *client, ls_session_state state, uint64_t ns);

/* Lets the server's process stand still for `ns`, then go on. */
void virtual_match_suspend_server(virtual_match *run, uint64_t ns);

/* ---- virtual_clock.c ---- */

/* The time that the clock of the server, or of a client, shows. */
uint64_t virtual_match_server_ns(const virtual_match *run);
uint64_t virtual_client_ns(const virtual_client *client);

/* When the server's loop turns next, in the run's time. */
uint64_t virtual_match_find_server_due_ns(const virtual_match *run);

/* When a client draws its next frame or asks to be updated, in the run's time. */
uint64_t virtual_client_find_due_ns(const virtual_client *client);

/* Moves a clock forward: what a machine that was suspended sees when it goes on. */
void virtual_client_step_clock(virtual_client *client, uint64_t ns);
void virtual_match_step_clock(virtual_match *run, uint64_t ns);

/* Says what is done from here on; returns what was done before. Called around what a core does, and
 * around what it sends. */
virtual_work virtual_match_set_work(virtual_match *run, virtual_work work);

/* The server's process stands still, or goes on. */
void virtual_match_pause_server(virtual_match *run);
void virtual_match_resume_server(virtual_match *run);

/* ---- virtual_events.c ---- */

/* Events of the match: the first of a kind or NULL; how many of a kind concern a slot (any slot:
 * LS_PLAYERS_MAX). Events of a client: the first, the newest or NULL. */
const virtual_event *virtual_match_find(const virtual_match *run, ls_match_event_kind kind);
const virtual_event *virtual_match_find_slot(const virtual_match *run, ls_match_event_kind kind,
                                             uint32_t slot);
uint32_t virtual_match_count(const virtual_match *run, ls_match_event_kind kind, uint32_t slot);
const virtual_client_event *virtual_client_find(const virtual_client *client,
                                                ls_session_event_kind kind);
const virtual_client_event *virtual_client_find_newest(const virtual_client *client,
                                                       ls_session_event_kind kind);
uint32_t virtual_client_count(const virtual_client *client, ls_session_event_kind kind);

/* The client whose newest connection this is; NULL: it belongs to no client. */
virtual_client *virtual_match_client_of(const virtual_match *run, ls_peer_id peer);

/* A digest of every event with its time and of every report: equal for equal runs. */
uint64_t virtual_match_digest(const virtual_match *run);

/* Writes a line to the log of a run, if the run has one. */
void virtual_log(virtual_match *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
void virtual_log_match_event(virtual_match *run, const ls_match_event *event);
void virtual_log_session_event(virtual_client *client, const ls_session_event *event);

/* ---- virtual_client.c ---- */

/* A rerun host for one machine of the run; NULL when the setup wants none. */
ls_rerun_local *virtual_match_make_reruns(const virtual_match *run);

/* Adds one more client, which connects at once unless its setup says that it comes later. */
virtual_client *virtual_match_add_client(virtual_match *run, const virtual_client_setup *setup);

/* A client that was to come later connects. */
void virtual_client_come(virtual_client *client);

/* The same link in both directions for every client; for one client; one for each direction; no
 * link at all. */
void virtual_match_set_links(virtual_match *run, const ls_link_config *link);
void virtual_client_set_links(virtual_client *client, const ls_link_config *link);
void virtual_client_set_ways(virtual_client *client, const ls_link_config *up,
                             const ls_link_config *down);
void virtual_client_cut(virtual_client *client);

/* The player leaves and tells the server. */
void virtual_client_leave(virtual_client *client);

/* The player's program ends its connection without a word of the match, and does not make it anew
 * by itself. */
void virtual_client_hang_up(virtual_client *client);

/* A client's process ends without telling the server. */
void virtual_client_vanish(virtual_client *client);

/* Packets, connections, updates and frames that are due; called by the driver. */
void virtual_client_pump(virtual_client *client);
void virtual_client_destroy(virtual_client *client);

/* ---- virtual_server.c: the server's process, its journal, its death and its return ---- */

void virtual_server_create(virtual_match *run);
void virtual_server_destroy(virtual_match *run);
void virtual_server_pump(virtual_match *run);

/* When something happens on its disk, or it comes back. */
uint64_t virtual_server_next_ns(const virtual_match *run);

/* The server's process dies; after `ns` another one takes its place and goes on from the journal.
 * Nothing happens when it is dead, when the match is over or has no journal. */
void virtual_match_crash(virtual_match *run, uint64_t ns);

/* The server's process dies and another one takes its place at once, with a new match by the same
 * config, which the caller brings to where it wants it before it calls the second function. */
void virtual_match_replace_server(virtual_match *run);
void virtual_match_server_restored(virtual_match *run);

#endif
