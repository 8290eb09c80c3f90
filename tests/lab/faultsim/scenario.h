/* Scenario: everything that happens in one match of a fault simulation, drawn from its seed before
 * the match begins: computers, links, clocks, and what goes wrong when. Knows nothing of how it is
 * played. The same seed and the same options give the same scenario. Called by play. */
#ifndef LOCKSTEP_TESTS_LAB_FAULTSIM_SCENARIO_H
#define LOCKSTEP_TESTS_LAB_FAULTSIM_SCENARIO_H

#include "lockstep/tests/lab/virtual/virtual_match.h"

/* Classes of faults: what each may be left out by, and what it does. */
#define FAULTSIM_FAULT_CLASS_MAP(X)                                                                \
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
    X(DISK, disk, "the journal's disk is slow, full or fails")                                     \
    X(MOVE, move, "a player's address or port changes (--transport udp)")                          \
    X(FLOOD, flood, "hosts send junk, forged and replayed datagrams (--transport udp)")            \
    X(VISIT, visit, "peers are let in again and again, for states, lies and seats")

typedef enum faultsim_fault_class {
#define FAULTSIM_FAULT_CLASS_ENUM(name, key, text) LS_CLASS_##name,
    FAULTSIM_FAULT_CLASS_MAP(FAULTSIM_FAULT_CLASS_ENUM)
#undef FAULTSIM_FAULT_CLASS_ENUM
    LS_CLASS_COUNT,
} faultsim_fault_class;

#define FAULTSIM_CLASS_ALL ((UINT32_C(1) << LS_CLASS_COUNT) - 1)

/* "loss" and "packets are lost one by one". */
const char *faultsim_fault_class_key(faultsim_fault_class fault);
const char *faultsim_fault_class_text(faultsim_fault_class fault);

/* How somebody breaks the rules. */
typedef enum faultsim_hostility {
    FAULTSIM_HOSTILITY_NONE,
    FAULTSIM_HOSTILITY_GARBAGE, /* random bytes beside what it should send */
    FAULTSIM_HOSTILITY_REPLAY,  /* sends old packets again */
    FAULTSIM_HOSTILITY_BEND,    /* flips bits, cuts off, appends */
    FAULTSIM_HOSTILITY_LIE, /* well-formed packets with wrong fields, other inputs for the same tick
                             */
    FAULTSIM_HOSTILITY_FLOOD,   /* far more packets than anybody needs */
    FAULTSIM_HOSTILITY_SILENCE, /* connected, and never heard again */
    FAULTSIM_HOSTILITY_COUNT,
} faultsim_hostility;

const char *faultsim_hostility_name(faultsim_hostility hostility);

/* The purpose of a peer that is let in again and again. */
typedef enum faultsim_visitor_kind {
    FAULTSIM_VISITOR_RETURNS,      /* a state: goes without a word and comes back to its seat */
    FAULTSIM_VISITOR_JOINS,        /* likewise, as a newcomer each time */
    FAULTSIM_VISITOR_WATCHES,      /* likewise, to watch */
    FAULTSIM_VISITOR_TAKES_SLOWLY, /* takes nothing of its state and stays */
    FAULTSIM_VISITOR_WATCHES_SLOWLY,
    FAULTSIM_VISITOR_IDLES,  /* never says READY */
    FAULTSIM_VISITOR_SHOUTS, /* the largest messages */
    FAULTSIM_VISITOR_LIES,   /* its states differ, it says, and then nothing to the point */
    FAULTSIM_VISITOR_KIND_COUNT,
} faultsim_visitor_kind;

const char *faultsim_visitor_name(faultsim_visitor_kind kind);

typedef struct faultsim_scenario_visitor {
    faultsim_visitor_kind kind;
    uint64_t from_ns;  /* after START */
    uint64_t end_ns;   /* likewise; from then on it comes no more */
    uint64_t pause_ns; /* between two visits */
    uint64_t delay_ns; /* of its link, each way */
} faultsim_scenario_visitor;

typedef enum faultsim_action_kind {
    FAULTSIM_ACTION_LINKS, /* from now on `up` and `down` */
    FAULTSIM_ACTION_ALTER, /* likewise, and they alter bits */
    FAULTSIM_ACTION_PAUSE,
    FAULTSIM_ACTION_RESUME,
    FAULTSIM_ACTION_STEP_CLOCK, /* by ns */
    FAULTSIM_ACTION_VANISH,
    FAULTSIM_ACTION_LEAVE,
    FAULTSIM_ACTION_HANG_UP,
    FAULTSIM_ACTION_TURN_HOSTILE,
    FAULTSIM_ACTION_SET_DELAY,      /* by the player itself: ticks */
    FAULTSIM_ACTION_SET_SLOT_DELAY, /* by the server: ticks */
    FAULTSIM_ACTION_COME,
    FAULTSIM_ACTION_MOVE,     /* its datagrams come from another address */
    FAULTSIM_ACTION_CUT_LINK, /* likewise `up` and `down`, for so long that it is lost */
    FAULTSIM_ACTION_PAUSE_SERVER,
    FAULTSIM_ACTION_RESUME_SERVER,
    FAULTSIM_ACTION_STEP_SERVER_CLOCK, /* by ns */
    FAULTSIM_ACTION_CRASH,             /* back after ns */
    FAULTSIM_ACTION_SET_DISK,          /* to `disk` */
    FAULTSIM_ACTION_FLOOD,             /* as many datagrams as `ticks` says, at once */
} faultsim_action_kind;

const char *faultsim_action_name(faultsim_action_kind kind);

typedef struct faultsim_action {
    uint64_t at_ns; /* after START has been sent */
    faultsim_action_kind kind;
    uint32_t client;
    uint64_t ns;
    uint32_t ticks;
    ls_link_config up;
    ls_link_config down;
    virtual_disk_state disk;
} faultsim_action;

typedef struct faultsim_scenario_client {
    virtual_client_setup setup;
    ls_link_config baseline;      /* its link, both ways, when all is well */
    faultsim_hostility hostility; /* what FAULTSIM_ACTION_TURN_HOSTILE makes of it */
    ls_status end;     /* OK: it plays to the end, else what it is dropped with; see is_free */
    bool is_free;      /* it may end in any way that has a name */
    ls_tick flip_tick; /* 0: never */
    uint32_t flip_byte;
    bool flips_on_entry;
} faultsim_scenario_client;

enum {
    FAULTSIM_ACTIONS_MAX = 512,
    FAULTSIM_SCENARIO_UNKNOWN_PEERS_MAX = 3,
    FAULTSIM_SCENARIO_SPECTATORS_MAX = 4,
    FAULTSIM_SCENARIO_NEWCOMERS = 2, /* clients that come after the last fault, beside visitors */
    FAULTSIM_SCENARIO_CLIENTS_MAX =
        LS_PLAYERS_MAX + FAULTSIM_SCENARIO_SPECTATORS_MAX + FAULTSIM_SCENARIO_NEWCOMERS,
    FAULTSIM_SCENARIO_VISITORS_MAX = 6,
};

typedef struct faultsim_scenario {
    uint64_t seed;
    virtual_setup setup;  /* without memory, log and clients */
    uint64_t baseline_ns; /* after START; from then on there are no faults */
    int32_t server_drift_ppm;
    uint64_t server_loop_ns;
    uint32_t client_count; /* players, then spectators */
    faultsim_scenario_client clients[FAULTSIM_SCENARIO_CLIENTS_MAX];
    uint32_t unknown_peer_count; /* peers that connect and are no players */
    uint32_t visitor_count;
    faultsim_scenario_visitor visitors[FAULTSIM_SCENARIO_VISITORS_MAX];
    uint32_t action_count;
    faultsim_action actions[FAULTSIM_ACTIONS_MAX]; /* by time */
} faultsim_scenario;

typedef struct faultsim_scenario_options {
    const ls_simulation *simulation; /* NULL: the test simulation, small or large */
    uint32_t players;                /* 0: by the seed */
    uint32_t ticks;
    int late_rule;    /* an ls_late_rule, or -1: by the seed */
    uint32_t classes; /* bits of faultsim_fault_class */
    bool is_sealed;   /* over the programs' own transport; else the memory transport */
} faultsim_scenario_options;

void faultsim_scenario_draw(faultsim_scenario *scenario, uint64_t seed,
                            const faultsim_scenario_options *options);

/* Describes it in a few lines without a final newline. */
void faultsim_scenario_describe(const faultsim_scenario *scenario, char *text, size_t capacity);

#endif
