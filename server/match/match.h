/* Match: the server's side of one match, as a state machine without I/O. Time and packets come in
 * as arguments; packets leave through the sink, events through ls_match_next_event.
 * It owns the authority's simulation, closes ticks on its own accumulator and compares every hash.
 * Never reads a clock, a socket or a file; allocates nothing once it is created, unless its
 * simulation cannot save its state, or saves it in different sizes (aged_state.h).
 * One belongs to one thread at a time. docs/embedding.md shows a game with one. */
#ifndef LOCKSTEP_SERVER_MATCH_MATCH_H
#define LOCKSTEP_SERVER_MATCH_MATCH_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/secret.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/lag/lag_verdict.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/protocol/transport/transport.h"
#include "lockstep/protocol/wire/notices.h"

LS_C_BEGIN

struct ls_build_fingerprint;   /* build_fingerprint.h */
struct ls_desync_evidence_set; /* desync_finding.h */
struct ls_desync_finding;      /* desync_finding.h */
struct ls_rerun_host;          /* rerun_host.h */

#define LS_SPECTATORS_MAX 1000u
#define LS_SPECTATOR_DELAY_TICKS_MAX 512u

/* ---- the place for which a peer was let in, by a connect token, before it says anything: it
 * counts in place of what the peer's HELLO asks for ---- */

typedef enum ls_match_place {
    LS_MATCH_PLACE_ANY, /* a free seat, or to watch: as HELLO asks */
    LS_MATCH_PLACE_SEAT,
    LS_MATCH_PLACE_SPECTATOR,
} ls_match_place;

/* All zero: HELLO alone counts, and its origin is not known. */
typedef struct ls_match_pass {
    ls_match_place place;
    uint32_t slot;                       /* SEAT */
    char name[LS_PLAYER_NAME_BYTES_MAX]; /* the player's; "": as HELLO says */
    bool is_for_this_match;              /* and for no other one of the same server */
    /* It was used before: the peer may come back to its own seat, with the seat's secret, or to its
     * own place to watch from, and gets nothing else. */
    bool is_return;
    bool has_holder;
    uint64_t holder; /* its owner, as a number of the one who gave it */
    /* Where the peer comes from, whatever else it was let in for: the same number for connections
     * that may be one person's, as ls_transport_event's. States to watch from, and offers of seats,
     * are limited by it; 0: not known, and not limited. */
    uint64_t origin;
    const char *refusal; /* why it is good for nothing here, for the log; NULL: it is good */
} ls_match_pass;

/* ---- settings ---- */

typedef enum ls_on_desync {
    LS_ON_DESYNC_REPORT, /* say so and go on */
    LS_ON_DESYNC_DROP,   /* drop the slot that differs */
    LS_ON_DESYNC_STOP,   /* end the match */
    LS_ON_DESYNC_HEAL,   /* send the slot the values that differ, or the whole state */
} ls_on_desync;

/* Somebody who asks to come in, and said a right HELLO. */
typedef struct ls_match_newcomer {
    ls_peer_id peer;   /* its transport knows its address (ls_transport_udp_address) */
    const char *name;  /* as the others would see it */
    const char *token; /* the connect token as it came; "" when there was none */
    bool is_spectator;
    bool is_returning; /* has proved that the slot was its own: after a lost link, or a kick */
    uint32_t slot;     /* that it would get; nothing of a spectator */
} ls_match_newcomer;

/* Comes from ls_match_config_default; the row of a field in match_config.c has its range. */
typedef struct ls_match_config {
    uint32_t cookie;                 /* of ls_match_config_default: leave it as it is */
    const ls_simulation *simulation; /* borrowed for the match's life */
    ls_sim_config sim;               /* players: seats */
    /* The number of a match, which no other has, never 0; and the key from which the secrets of its
     * seats are derived: anybody can come back to the seats of a match that keeps the default, 1
     * and all zeros. See ls_secret_key_random and ls_secret_match_id. */
    uint64_t match_id;
    ls_secret_key key;
    bool draws_seed; /* the host of the match draws sim.seed when it opens it */
    ls_late_rule late_rule;
    ls_send_rate send_rate; /* of TICKS, and of the clients' INPUTS */
    ls_on_desync on_desync;
    uint32_t ticks;               /* closes this many, then ends; 0: until stopped */
    uint32_t hash_interval_ticks; /* 1 .. LS_HASH_INTERVAL_MAX */
    bool trusts_writes;           /* see ls_sim_instance_trust_writes */
    uint32_t input_delay_ticks;   /* 0 .. LS_INPUT_DELAY_TICKS_MAX, beyond what the network needs */
    bool adapts_input_delay;      /* from there on each slot's own follows its link */
    uint32_t timeout_ms;          /* silence after which a slot is dropped; 100 .. 600,000 */
    uint32_t wait_limit_ms;       /* rule wait: longest wait for a slot; 1 .. 600,000 */
    uint32_t wait_budget_ms;      /* likewise: a slot may hold up the match for so long, and for a
                                   * tenth of the time; 0 (no limit) .. 600,000 */
    uint32_t ready_ms;       /* a seat is held for READY, though others want it; 100 .. 10,000 */
    uint32_t start_delay_ms; /* from START until tick 0 closes; 0 .. 60,000 */
    uint32_t start_players;  /* READY for START; 0: all seats. The others can be taken later */
    bool has_lobby;          /* START waits until all players who are there say that they are ready,
                              * too */
    bool has_chat;           /* players' lines are passed on */
    uint32_t keep_seat_ms;   /* for whose link was lost; 0 (not at all) .. 600,000 */
    /* Players that are sent the state of a running match at a time, others wait; 0: no newcomer can
     * join it; .. 32. */
    uint32_t joiners_max;
    uint32_t join_bytes_per_s; /* of one joiner's blob; LS_BLOB_RATE_MIN .. LS_BLOB_RATE_MAX */
    uint32_t resume_wait_ms;   /* for those who played before a restart; 0 .. 600,000 */
    /* Tick 0 closes later by so much that ticks are due so long after a whole number of them, on
     * the clock that `now_ns` is of: matches of one host take turns. 1 .. a tick; 0: at once. */
    uint32_t phase_ns;

    /* Whether somebody may come in. False: it is refused (NOT_ADMITTED) with the sentence in `why`,
     * which the person reads. Only looks: nothing of the match may be called from here. NULL:
     * everybody may. */
    bool (*may_join)(void *user, const ls_match_newcomer *newcomer, ls_text *why);
    void *may_join_user;
    /* Makes a name of what somebody asks to be called, in its place, and returns what it looks like
     * (common/program/player_name.h has one). One that looks like another here gets a number behind
     * it, "Ann (2)", which it alone can get: 1 for none, and LS_NAME_AS_GIVEN for a name that was
     * given before. NULL: names are as they are asked for, and two may be the same. */
    ls_name_look (*clean_name)(char name[LS_PLAYER_NAME_BYTES_MAX], uint32_t number);
    /* Other matches are played here: a player who finds no seat, and asked for no match by its name
     * or its pass, is refused with FULL and not MATCH_FULL, so that its client asks again. And
     * until somebody comes the match gives back the memory of its first state, which is made again
     * then: there may be thousands. */
    bool has_others;

    /* Keeps the newest states and inputs, so that the cause of a desync can be found:
     * ls_replay_window_bytes says in how much memory; without effect where the simulation hashes by
     * callback. */
    bool finds_causes;
    uint32_t investigation_timeout_ms; /* for a client's answers, a phase; 100 .. 60,000 */

    /* Where ticks are simulated again for a diagnosis, borrowed for the match's life. NULL:
     * nowhere, so that a desync has fields and no class (common/diagnosis/rerun_host.h). */
    const struct ls_rerun_host *rerun_host;
    /* Of this program (ls_build_fingerprint_here), borrowed for the match's life; NULL: unknown. */
    const struct ls_build_fingerprint *print;
    uint64_t maths_check; /* ls_simulation_maths: clients need the same; 0: none is used */

    /* Room for so many spectators: a kilobyte each and three copies of the state, or one of all
     * ticks where it cannot be saved; 0 (no room) .. LS_SPECTATORS_MAX. */
    uint32_t spectators_max;
    uint32_t *spectator_pool; /* see ls_spectator_table_init; NULL: none is shared */
    uint32_t
        spectator_delay_ticks; /* by which they are behind; 0 .. LS_SPECTATOR_DELAY_TICKS_MAX */
    uint32_t spectator_bytes_per_s; /* to all of them together; 65,536 .. 2^30 */
} ls_match_config;

typedef enum ls_match_state {
    LS_MATCH_LOBBY,
    LS_MATCH_RESUMING, /* restored, and was played already; its players are waited for */
    LS_MATCH_RUNNING,
    LS_MATCH_ENDING, /* every tick is closed; clients catch up */
    LS_MATCH_OVER,
} ls_match_state;

typedef enum ls_match_event_kind {
    LS_MATCH_PLAYER_SEATED, /* slot, peer, text: name; a newcomer, each has the seat's next turn */
    LS_MATCH_PLAYER_RETURNED, /* slot, peer, text: name; sits on its seat again */
    LS_MATCH_PLAYER_READY,    /* slot, peer, text: name, was_coming */
    LS_MATCH_PLAYER_LOST,     /* slot, tick, status, text: why; the seat is kept */
    LS_MATCH_PLAYER_JOINING,  /* slot, tick, text: name, and how the state comes */
    LS_MATCH_PLAYER_JOINED,   /* slot, tick: the first that may have its input */
    LS_MATCH_PLAYER_LEFT,     /* slot, tick, status, text: why, was_coming */
    LS_MATCH_PLAYER_FINISHED, /* slot, tick */
    LS_MATCH_PEER_REFUSED,    /* peer, status, text: why */
    LS_MATCH_STARTED,
    LS_MATCH_RESUMED, /* tick: the next that is closed; text: how many are back, what was recovered
                       */
    LS_MATCH_STALLED, /* rule wait: slots, tick, waited_ms */
    LS_MATCH_DESYNC,  /* slot, tick, server_hash, client_hash, clients */
    /* slot, tick: what differs is known, and looking for the rest takes longer; see
     * ls_match_desync_of. LS_MATCH_DESYNC_CAUSE follows. Left out where that is quick. */
    LS_MATCH_DESYNC_VALUES,
    /* slot, tick, text: why. All that will be known of it: see ls_match_desync_of; what a bundle
     * holds is there until the match is called again. */
    LS_MATCH_DESYNC_CAUSE,
    LS_MATCH_HEALED,         /* slot, tick: from this state on it agrees again */
    LS_MATCH_LAG,            /* slot, text: what this player's match suffers from has changed */
    LS_MATCH_DELAYED,        /* slot, text: its input delay has changed, by itself */
    LS_MATCH_ENDED,          /* tick: final tick; every tick is closed */
    LS_MATCH_FINISHED,       /* nothing more will happen */
    LS_MATCH_SPECTATOR_CAME, /* peer, tick: the first that it is sent, text: name and how */
    LS_MATCH_SPECTATOR_LEFT, /* peer, tick, status (LS_OK: watched to the end), text: name and why
                              */
    LS_MATCH_SECRET_PROVEN,  /* slot, number: its player has this secret of the seat, and the older
                                ones are good for nothing */
    LS_MATCH_PAUSED,         /* tick: the next that is closed, text: why */
    LS_MATCH_UNPAUSED,       /* likewise */
    LS_MATCH_SUSPENDED,      /* likewise: FINISHED follows, and the match can be gone on with */
    LS_MATCH_HEALING,   /* slot, tick: it differs in more than single values and is sent this state;
                           text: how large it is */
    LS_MATCH_ENDS_SOON, /* tick, text: when; the numbers of ticks end there (LS_MATCH_TICKS_MAX) */
    LS_MATCH_CHAT,      /* slot, text: what its player said to all */
    LS_MATCH_UNNAMED_WRITE, /* tick, text: what the server's simulation wrote unnamed */
} ls_match_event_kind;

typedef struct ls_match_event {
    ls_match_event_kind kind;
    uint32_t slot;
    ls_peer_id peer;
    ls_tick tick;
    ls_status status;
    /* A newcomer: READY makes it a player; when it LEFT before, it is as if it had not come. */
    bool was_coming;
    ls_slot_set slots;
    uint32_t waited_ms;
    uint32_t number;
    uint64_t server_hash;
    uint64_t client_hash;
    bool is_for_another; /* PEER_REFUSED: it asked for another match, which is not there */
    uint32_t clients;    /* 0: the slot differs; else the server does, from so many that agree */
    ls_text text;
} ls_match_event;

/* The report of one slot; final once the match is over. Spectators have no slot. The newest of them
 * whose difference was looked into counts as one behind those of the players: in events about
 * desyncs, with its name and its desync here, and wherever a finding is asked for. */
typedef struct ls_match_slot {
    char name[LS_PLAYER_NAME_BYTES_MAX];
    ls_peer_id peer; /* 0 when nobody sits there now */
    bool is_playing;
    bool has_played;
    bool has_finished;
    uint64_t inputs_on_time; /* closed with what the player made, or repeated and the same */
    uint64_t inputs_late;    /* arrived after their tick was closed with another one, never used */
    uint64_t inputs_substituted; /* ticks closed without an input of this slot, or with another */
    uint64_t packets_rejected;   /* malformed, stale or beyond a window */
    uint64_t hashes_compared;
    ls_tick agreed_tick; /* newest state proven equal */
    bool is_desynced;
    ls_tick desync_tick;
    uint64_t desync_server_hash;
    uint64_t desync_client_hash;
    uint32_t desync_clients; /* 0, or: the server differs from so many clients, this one first */
    uint32_t ticks_behind;   /* closed ticks that the client has not acknowledged */
    int64_t slack_ns;        /* newest: how long before closing inputs came; negative: late */
    uint64_t rtt_ns;         /* smoothed; 0 until measured */
    ls_lag lag;              /* of the last five seconds; renewed every 2.5 */
    uint32_t input_delay_ticks;
    ls_status left_status; /* why it left, or was lost; LS_OK while it is here */
    const char *left_why;  /* the same as a sentence, borrowed; empty while it is here */
    ls_tick joined_tick;   /* the first tick that could have its input */
    ls_tick here_tick;     /* likewise, since it came back the last time */
    uint32_t rejoins;      /* how often it came back */
    ls_finished finished;  /* the client's own figures; zero until FINISHED */
} ls_match_slot;

/* The report of all spectators. */
typedef struct ls_match_spectating {
    uint32_t now;         /* connected, whether they see anything yet or not */
    uint64_t ever;        /* came and were sent a JOIN; one that comes back is not counted again */
    uint64_t finished;    /* watched to the end */
    uint64_t desynced;    /* let go, because their state was not the server's */
    uint64_t fell_behind; /* let go for that */
    uint64_t hashes_compared; /* states of all of them, equal */
    uint64_t
        throttled_rounds; /* in which not all who were due were sent something: too many bytes */
} ls_match_spectating;

struct ls_match; /* match_context.h */
typedef struct ls_match ls_match;

/* Rule repeat, send rate auto, report, finds causes, hashes every tick, timeout 10 s, wait 2 s,
 * start after 250 ms with all seats taken, seats kept for 30 s, four joiners of 1 MiB/s; no
 * room for spectators; if there is, they are 60 ticks late and get 8 MiB/s. */
ls_match_config ls_match_config_default(const ls_simulation *simulation);

/* BAD_ARGUMENT, or what the simulation's own check says; `why` names the field and its range. A
 * config that did not come from ls_match_config_default is refused. */
ls_status ls_match_config_check(const ls_match_config *config, ls_text *why);

/* As the check, what init of the simulation says, or NO_MEMORY, with `why`. The config and the sink
 * are copied; the sink's user and the allocator must outlive the match. A match of up to 16 KiB of
 * state takes most of its memory later: that for ticks when the first peer says HELLO, which is
 * refused with NO_MEMORY when there is none; that for a state while it is sent to somebody; and
 * once that in which the causes of desyncs are looked for. No tick and no packet takes any. */
ls_status ls_match_create(const ls_match_config *config, const ls_packet_sink *sink,
                          const ls_allocator *allocator, ls_match **out, ls_text *why);
void ls_match_destroy(ls_match *match);

/* The match is about to take packets and to be advanced: asks for the memory that it will use, in
 * two steps, the first for all matches that are about to. Changes nothing. */
void ls_match_prefetch(const ls_match *match);
void ls_match_prefetch_more(const ls_match *match);

/* A packet of `peer` is about to be taken: asks for the memory that taking it needs, in steps 0 to
 * LS_MATCH_PACKET_STEPS - 1, each of them for all packets. Changes nothing. */
#define LS_MATCH_PACKET_STEPS 5u
void ls_match_prefetch_packet(const ls_match *match, ls_peer_id peer, uint32_t step);

/* The transport says so. `now_ns` never goes back. */
void ls_match_peer_connected(ls_match *match, ls_peer_id peer, uint64_t now_ns);
void ls_match_peer_disconnected(ls_match *match, ls_peer_id peer, ls_status reason,
                                uint64_t now_ns);
/* Connected, and has no seat yet. */
bool ls_match_is_pending(const ls_match *match, ls_peer_id peer);
/* Refuses one that is pending, with FULL and this sentence: its client asks again. */
void ls_match_put_off(ls_match *match, ls_peer_id peer, const char *why, uint64_t now_ns);

/* Refuses one that is pending and asks for a match that there is not (NOT_ADMITTED). */
void ls_match_disown(ls_match *match, ls_peer_id peer, const char *why, uint64_t now_ns);

/* As ls_match_peer_connected, for a peer that was let in for something. The pass is copied. A peer
 * whose pass is not good is sent away without a word, and PEER_REFUSED says why. */
void ls_match_peer_admitted(ls_match *match, ls_peer_id peer, const ls_match_pass *pass,
                            uint64_t now_ns);
/* The pass of a pending peer; all zero of another. */
ls_match_pass ls_match_pass_of(const ls_match *match, ls_peer_id peer);

void ls_match_receive(ls_match *match, ls_peer_id peer, ls_channel channel, const uint8_t *bytes,
                      size_t size, uint64_t now_ns);

/* The same for an event that the transport has given, of any kind. A packet may have waited to be
 * taken: what is measured by it (round trip, slack, hold) goes by when it arrived. */
void ls_match_receive_event(ls_match *match, const ls_transport_event *event, uint64_t now_ns);

/* Closes what is due, sends what is due, drops who is silent. Call it at least once a tick. */
void ls_match_advance(ls_match *match, uint64_t now_ns);

/* Sets one slot's input delay, 0 .. LS_INPUT_DELAY_TICKS_MAX. Without effect while nobody plays
 * there. */
void ls_match_set_input_delay(ls_match *match, uint32_t slot, uint32_t ticks);

/* Sends the player of a slot away, now and with a sentence that it reads (KICKED): as when it had
 * left by itself. Its client does not come back by itself; whether the person may is for may_join.
 * NOT_FOUND when nobody is there. */
ls_status ls_match_kick(ls_match *match, uint32_t slot, const char *why, uint64_t now_ns);

/* Halts a match that runs, with a reason that its players and spectators read ("": none): no tick
 * is closed before it is told to go on. Players may come and go meanwhile. One that is resumed can
 * be halted before its players are back, and stays so when they are: a restored match does not know
 * that it was. NOT_FOUND when it does not run, or not anymore. */
ls_status ls_match_pause(ls_match *match, const char *why, uint64_t now_ns);
ls_status ls_match_unpause(ls_match *match, const char *why, uint64_t now_ns);
bool ls_match_is_paused(const ls_match *match);

/* The sentence for a player who asks for any match (see has_others) and finds no seat here; "": the
 * usual one. */
void ls_match_set_full_text(ls_match *match, const char *text);

/* Says something to a player of the match, or with LS_PLAYERS_MAX to all of them and to spectators.
 * NOT_FOUND when the seat is empty. */
ls_status ls_match_say(ls_match *match, uint32_t slot, const char *text, uint64_t now_ns);

/* Tells all of them, when the match has ended, that another one follows: "ROOM: WHAT". */
void ls_match_say_next(ls_match *match, const char *what, uint64_t now_ns);

/* That with which the player of a slot comes back to it. */
void ls_match_secret_of(const ls_match *match, uint32_t slot, uint8_t out[LS_SECRET_BYTES]);

/* Stops the match where it is, to be gone on with from its journal: a recorder leaves that without
 * an end, and notes nobody's leaving. Players and spectators are refused with SAVED, and their
 * clients stay away. Nothing happens once every tick is closed. */
void ls_match_suspend(ls_match *match, const char *why, uint64_t now_ns);

/* Ends the match after the newest closed tick. One that is resumed and still waits for its players
 * closes their connections without a REFUSE: they may come back when it is resumed again. */
void ls_match_stop(ls_match *match, uint64_t now_ns);

/* The oldest event not yet taken, or false. At most 256 wait; more are lost and counted. */
bool ls_match_next_event(ls_match *match, ls_match_event *event);

ls_match_state ls_match_state_of(const ls_match *match);
ls_tick ls_match_tick(const ls_match *match); /* ticks closed so far */
uint64_t ls_match_hash(ls_match *match);      /* of the state at ls_match_tick */
uint32_t ls_match_players(const ls_match *match);
uint32_t ls_match_players_here(const ls_match *match);     /* of them, those with a link */
uint64_t ls_match_packets_rejected(const ls_match *match); /* of all peers, seated or not */
ls_match_slot ls_match_slot_of(const ls_match *match, uint32_t slot);

/* The finding about the slot's newest desync; NULL before LS_MATCH_DESYNC_VALUES, or else
 * LS_MATCH_DESYNC_CAUSE. */
const struct ls_desync_finding *ls_match_desync_of(const ls_match *match, uint32_t slot);

/* A client that was not let in because its first state or its arithmetic is another. */
typedef struct ls_match_refusal {
    ls_status status; /* INITIAL_STATE_MISMATCH, ARITHMETIC_MISMATCH; OK: there was none */
    uint32_t slot;    /* that a player would have had; the number of players: none yet */
    char name[LS_PLAYER_NAME_BYTES_MAX];
    uint64_t server_hash; /* of the first state, or of the arithmetic check */
    uint64_t client_hash;
} ls_match_refusal;

static inline bool ls_match_is_of_refusal(ls_status status)
{
    return status == LS_INITIAL_STATE_MISMATCH || status == LS_ARITHMETIC_MISMATCH;
}

/* The newest: that of an event of its status, until the match is called again. */
const ls_match_refusal *ls_match_refusal_of(const ls_match *match);

/* The tick of its bundle, and the contents; false unless LS_MATCH_DESYNC_CAUSE of the slot is the
 * newest event. */
bool ls_match_bundle_tick_of(const ls_match *match, uint32_t slot, ls_tick *tick);
bool ls_match_desync_evidence_of(const ls_match *match, uint32_t slot,
                                 struct ls_desync_evidence_set *out);

/* The lag of the slot over the match as a whole, and the words for one, as the event has them. */
ls_lag ls_match_lag_of(const ls_match *match, uint32_t slot);
void ls_match_lag_text(const ls_match *match, const ls_lag *lag, ls_text *text);
/* Seats that are free and that no pending connection may still ask for; 0 once the match ends. */
uint32_t ls_match_seats_open(const ls_match *match);
/* Whether it has not started, and others wait there for one more. */
bool ls_match_is_awaited(const ls_match *match);
/* NULL: it rests (below), and there is no memory or no state for it. */
ls_sim_instance *ls_match_instance(ls_match *match);
/* The same, for what it knows without a state: until the first client comes, or somebody calls
 * ls_match_instance, that of a match which has others rests (see ls_sim_instance_rest). */
const ls_sim_instance *ls_match_resting_instance(const ls_match *match);

ls_match_spectating ls_match_spectating_of(const ls_match *match);

/* Whether a tick that is due waits for somebody's input: then a driver that takes packets only now
 * and then takes them as they come. */
bool ls_match_is_waiting(const ls_match *match);

/* ---- what a recorder takes: the newest LS_WINDOW_TICKS closed ticks are held ---- */

const ls_match_config *ls_match_config_of(const ls_match *match);

/* Every slot's input of a closed tick, borrowed until the next tick is closed. STALE when it is not
 * held any more, FUTURE when it is not closed yet. */
ls_status ls_match_closed_tick(const ls_match *match, ls_tick tick,
                               ls_slot_input slots[LS_PLAYERS_MAX], ls_tick_inputs *out);

/* The state hash of state `tick`; false when that was not hashed or is not held. */
bool ls_match_hash_of_tick(const ls_match *match, ls_tick tick, uint64_t *state_hash);

/* The tick chain (common/simulation/state_hash.h) before `tick`, which is one of the newest
 * LS_WINDOW_TICKS, counting from ls_match_tick. */
uint64_t ls_match_tick_chain(const ls_match *match, ls_tick tick);

/* The chain of state hashes up to the newest state that was hashed, whose tick it sets. */
uint64_t ls_match_hash_chain(const ls_match *match, ls_tick *tick);

/* ---- going on with a match that was stopped without its end, from its journal ---- */

typedef struct ls_match_restore {
    ls_tick tick; /* of the state; 0 with `state` NULL: state 0, nothing else is read then */
    const uint8_t *state; /* as ls_sim_instance_save gave it; borrowed for the call */
    size_t state_bytes;
    uint64_t state_hash;          /* of it */
    ls_tick hash_chain_tick;      /* newest hashed state up to `tick` */
    uint64_t hash_chain;          /* up to there */
    uint64_t tick_chain;          /* before `tick` */
    ls_slot_set in_band;          /* slots that the state was told JOINED of, and not LEFT since */
    const ls_tick_inputs *before; /* of tick - 1: a client that has only got as far as `tick` can be
                                   * sent what follows; NULL: not known */
} ls_match_restore;

/* Begins to make a match that was just created what it was. A snapshot some LS_WINDOW_TICKS before
 * the journal's end fills every ring. MALFORMED, DESYNCED (another state hash), NO_MEMORY, or what
 * load says, with `why`: then nothing but destroy may follow. */
ls_status ls_match_restore_start(ls_match *match, const ls_match_restore *from, ls_text *why);

/* The next closed tick, from `tick` on; state hash is that of the state that it makes, 0: not
 * known. MALFORMED: it is not the next one; DESYNCED: this program makes another state of it. */
ls_status ls_match_restore_tick(ls_match *match, const ls_tick_inputs *inputs, uint64_t state_hash,
                                ls_text *why);

/* Each time that a server comes back it may have forgotten so many players of a seat, who sat down
 * after what of its journal was kept. */
#define LS_FORGOTTEN_GENERATIONS_MAX 8u

/* Which turns of a seat there have been: each player that LS_MATCH_PLAYER_SEATED told of has one,
 * from 1 on. */
typedef struct ls_seat_generations {
    uint32_t newest;    /* that is known of; 0: no player sat there yet */
    uint32_t spent;     /* so many after it were given to players who did not stay */
    uint32_t forgotten; /* so many more may have been given out: no newcomer gets them */
    /* Each return gives the player another secret. The number of the newest one that the player of
     * `newest` is known to have: older ones are good for nothing, the next one may be on its way.
     */
    uint32_t secret;
} ls_seat_generations;

/* A player sits down who has not sat there before. */
void ls_seat_generations_next(ls_seat_generations *generations);

/* It has left again before it counted: all is as it was, but that its turn is spent. */
void ls_seat_generations_revert(ls_seat_generations *generations, ls_seat_generations before);

/* The player who sat on a seat last. */
typedef struct ls_restored_seat {
    const char *name;
    ls_seat_generations generations;
    ls_tick joined_tick; /* the first that could have its input; UINT32_MAX: not told yet, it is
                          * then the next one in which the simulation is told JOINED */
    bool has_left;       /* the seat is free, unless the simulation has not been told so */
} ls_restored_seat;

void ls_match_restore_seat(ls_match *match, uint32_t slot, const ls_restored_seat *seat);

/* It is all there: the match is RESUMING from now on. */
void ls_match_restore_end(ls_match *match, uint64_t now_ns);

/* Instead of that, when the journal does not say that the match had begun: its lobby is open again,
 * until somebody comes back who knows better. */
void ls_match_restore_lobby(ls_match *match, const ls_seat_generations generations[LS_PLAYERS_MAX]);

/* When ls_match_advance has something to do next, for a driver that sleeps; UINT64_MAX once the
 * match is over. Packets that arrive may make it earlier. */
uint64_t ls_match_next_ns(const ls_match *match);

LS_C_END

#endif
