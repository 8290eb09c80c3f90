/* Scenario: everything that happens in one match of a fault simulation, drawn from its seed before
 * the match begins: computers, links, clocks, and what goes wrong when. Knows nothing of how it is
 * played. The same seed and the same options give the same scenario. Called by play. */
#ifndef LOCKSTEP_TOOLS_FAULTSIM_SCENARIO_H
#define LOCKSTEP_TOOLS_FAULTSIM_SCENARIO_H

#include "lockstep/tools/virtual/virtual_match.h"

/* Classes of faults: what each may be left out by, and what it does. */
#define LS_FAULT_CLASS_MAP(X)                                                                      \
    X(LOSS, loss, "packets are lost one by one")                                                   \
    X(BURST, burst, "packets are lost many in a row")                                              \
    X(JITTER, jitter, "packets overtake each other")                                               \
    X(DUPLICATE, duplicate, "packets come twice")                                                  \
    X(ALTER, alter, "a bit of a packet is flipped")                                                \
    X(PARTITION, partition, "nothing passes for a while, in one direction or both")                \
    X(SLOW, slow, "computers draw few frames, unevenly, or stand still")                           \
    X(CLOCK, clock, "clocks drift by up to 500 ppm and jump forward")                              \
    X(VANISH, vanish, "players leave, hang up or are never heard of again")                        \
    X(HOSTILE, hostile, "players and unknown peers break the rules")                               \
    X(FLIP, flip, "a bit of a player's state is flipped")                                          \
    X(CRASH, crash, "the server dies, and comes back from what its disk kept")                     \
    X(JOIN, join, "players come after the match has started")                                      \
    X(RECONNECT, reconnect, "links are lost, and sessions make them anew")                         \
    X(WATCH, watch, "spectators come, go and stand still")                                         \
    X(DISK, disk, "the journal's disk is slow, full or fails")

typedef enum ls_fault_class {
#define LS_FAULT_CLASS_ENUM(name, key, text) LS_CLASS_##name,
    LS_FAULT_CLASS_MAP(LS_FAULT_CLASS_ENUM)
#undef LS_FAULT_CLASS_ENUM
    LS_CLASS_COUNT,
} ls_fault_class;

#define LS_CLASS_ALL ((UINT32_C(1) << LS_CLASS_COUNT) - 1)

/* "loss" and "packets are lost one by one". */
const char *ls_fault_class_key(ls_fault_class fault);
const char *ls_fault_class_text(ls_fault_class fault);

/* How somebody breaks the rules. */
typedef enum ls_hostility {
    LS_HOSTILITY_NONE,
    LS_HOSTILITY_GARBAGE, /* random bytes beside what it should send */
    LS_HOSTILITY_REPLAY,  /* sends old packets again */
    LS_HOSTILITY_BEND,    /* flips bits, cuts off, appends */
    LS_HOSTILITY_LIE,   /* well-formed packets with wrong fields, other inputs for the same tick */
    LS_HOSTILITY_FLOOD, /* far more packets than anybody needs */
    LS_HOSTILITY_SILENCE, /* connected, and never heard again */
    LS_HOSTILITY_COUNT,
} ls_hostility;

const char *ls_hostility_name(ls_hostility hostility);

typedef enum ls_action_kind {
    LS_ACTION_LINKS, /* from now on `up` and `down` */
    LS_ACTION_ALTER, /* likewise, and they alter bits */
    LS_ACTION_PAUSE,
    LS_ACTION_RESUME,
    LS_ACTION_STEP_CLOCK, /* by ns */
    LS_ACTION_VANISH,
    LS_ACTION_LEAVE,
    LS_ACTION_HANG_UP,
    LS_ACTION_TURN_HOSTILE,
    LS_ACTION_SET_DELAY,      /* by the player itself: ticks */
    LS_ACTION_SET_SLOT_DELAY, /* by the server: ticks */
    LS_ACTION_COME,
    LS_ACTION_CUT_LINK, /* likewise `up` and `down`, for so long that it is lost */
    LS_ACTION_PAUSE_SERVER,
    LS_ACTION_RESUME_SERVER,
    LS_ACTION_STEP_SERVER_CLOCK, /* by ns */
    LS_ACTION_CRASH,             /* back after ns */
    LS_ACTION_SET_DISK,          /* to `disk` */
} ls_action_kind;

const char *ls_action_name(ls_action_kind kind);

typedef struct ls_action {
    uint64_t at_ns; /* after START has been sent */
    ls_action_kind kind;
    uint32_t client;
    uint64_t ns;
    uint32_t ticks;
    ls_memory_link up;
    ls_memory_link down;
    virtual_disk_state disk;
} ls_action;

typedef struct ls_scenario_client {
    virtual_client_setup setup;
    ls_memory_link baseline; /* its link, both ways, when all is well */
    ls_hostility hostility;  /* what LS_ACTION_TURN_HOSTILE makes of it */
    ls_status end;     /* OK: it plays to the end, else what it is dropped with; see is_free */
    bool is_free;      /* it may end in any way that has a name */
    ls_tick flip_tick; /* 0: never */
    uint32_t flip_byte;
    bool flips_on_entry;
} ls_scenario_client;

enum {
    LS_ACTIONS_MAX = 512,
    LS_SCENARIO_UNKNOWN_PEERS_MAX = 3,
    LS_SCENARIO_SPECTATORS_MAX = 4,
    LS_SCENARIO_CLIENTS_MAX = LS_PLAYERS_MAX + LS_SCENARIO_SPECTATORS_MAX,
};

typedef struct ls_scenario {
    uint64_t seed;
    virtual_setup setup;  /* without memory, log and clients */
    uint64_t baseline_ns; /* after START; from then on there are no faults */
    int32_t server_drift_ppm;
    uint64_t server_loop_ns;
    uint32_t client_count; /* players, then spectators */
    ls_scenario_client clients[LS_SCENARIO_CLIENTS_MAX];
    uint32_t unknown_peer_count; /* peers that connect and are no players */
    uint32_t action_count;
    ls_action actions[LS_ACTIONS_MAX]; /* by time */
} ls_scenario;

typedef struct ls_scenario_options {
    const ls_simulation *simulation; /* NULL: the test simulation, small or large */
    uint32_t players;                /* 0: by the seed */
    uint32_t ticks;
    int late_rule;    /* an ls_late_rule, or -1: by the seed */
    uint32_t classes; /* bits of ls_fault_class */
} ls_scenario_options;

void ls_scenario_draw(ls_scenario *scenario, uint64_t seed, const ls_scenario_options *options);

/* Describes it in a few lines without a final newline. */
void ls_scenario_describe(const ls_scenario *scenario, char *text, size_t capacity);

#endif
