/* Summary: the one JSON object that a program writes at its end, the same keys for server and
 * client; what a program cannot know is null. 64-bit values travel as strings: hashes as 16 hex
 * digits, seeds in decimal. */
#ifndef LOCKSTEP_COMMON_PROGRAM_SUMMARY_H
#define LOCKSTEP_COMMON_PROGRAM_SUMMARY_H

#include "lockstep/common/base/limits.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* The cost of playing ahead of the confirmed ticks. */
typedef struct ls_summary_prediction {
    uint32_t ticks; /* guessed ahead at most; 0: no prediction, the rest means nothing */
    uint64_t rollbacks;
    double rollbacks_per_s; /* of match time */
    double depth_mean;      /* guessed ticks thrown away by a rollback */
    uint32_t depth_p99;
    uint32_t depth_max;
    uint64_t resimulated_ticks; /* thrown away by all of them */
    double steps_per_tick;      /* 1 without prediction */
} ls_summary_prediction;

/* Why a player's match lagged. */
typedef struct ls_summary_lag {
    const char *cause;  /* one word; NULL: not known, the rest means nothing */
    ls_text text;       /* a sentence with the cure */
    uint32_t lost_ms;   /* match time that it cost */
    double late_share;  /* of the ticks, 0 .. 1: their input was not there when they were due */
    double uplink_loss; /* of the packets, 0 .. 1 */
    double uplink_jitter_ms;
    double downlink_loss;
    double downlink_jitter_ms;
    uint32_t longest_frame_ms;
    uint32_t suggested_input_delay_ticks;
} ls_summary_lag;

typedef struct ls_summary_player {
    bool is_spectator; /* has no slot */
    uint32_t slot;
    char name[LS_PLAYER_NAME_BYTES_MAX];
    const char *status;      /* why the player left, or "OK"; NULL: the seat was never taken */
    const char *why;         /* the same as a sentence; NULL: it did not leave */
    bool has_server_figures; /* the next nine are known */
    uint64_t hashes_compared;
    uint64_t inputs_on_time;
    uint64_t inputs_late;
    uint64_t inputs_substituted;
    uint32_t input_delay_ticks; /* at the end */
    uint32_t joined_tick;       /* the first that could have its input */
    uint32_t here_tick;         /* likewise, of its last connection, which the bytes are of */
    uint32_t rejoins;           /* how often it came back */
    ls_summary_lag lag;
    bool has_client_figures; /* the next eight are known */
    uint64_t stalled_ticks;
    double rtt_ms;
    double confirm_latency_p50_ms;
    double confirm_latency_p99_ms;
    double confirm_latency_max_ms;
    uint64_t frames;    /* drawn by the client */
    double wakes_per_s; /* of its main thread, since it was seated last */
    ls_summary_prediction prediction;
    uint64_t bytes_up; /* client to server, every header counted */
    uint64_t bytes_down;
} ls_summary_player;

#define LS_SUMMARY_PLACES_MAX 32u

/* One value that differs; texts are borrowed. */
typedef struct ls_summary_place {
    char part[LS_NAME_BYTES_MAX]; /* what stands before the first dot of the field's path */
    const char *field;            /* with its indices */
    const char *server_value;
    const char *client_value;
    const char *unit;
} ls_summary_place;

typedef struct ls_summary_desync {
    uint32_t tick;
    uint32_t slot;
    bool is_spectator; /* it has no slot */
    uint64_t server_hash;
    uint64_t client_hash;
    ls_text since;       /* "from tick 120 on": for the lines of a match alone */
    uint32_t clients;    /* 0: the slot differs; else the server does, from so many that agree */
    uint32_t times;      /* that this slot differed so far, this one included; 0: not known */
    bool has_cause;      /* else the rest means nothing */
    uint32_t first_tick; /* of the first state that differs, compared or not; 0: not known */
    uint32_t first_tick_min;       /* it lies from here */
    uint32_t first_tick_max;       /* to here; 0: not known */
    uint32_t healed;               /* of those times, how many were healed */
    uint64_t elements;             /* that differ */
    bool is_lower_bound;           /* at least so many */
    const char *pass;              /* NULL: not known */
    const char *values_after_pass; /* that the values are those after; NULL: the end of the tick */
    const char *class_word;
    const char *culprit;
    const char *why;
    const char *inputs;        /* of the tick that made the state, in words */
    const char *circumstances; /* the other clients' states, and how the player came in */
    double values_ms;          /* from the notice to the values */
    double found_ms;           /* from the notice to the whole */
    const char *bundle;        /* path; NULL: none was written */
    ls_text next;              /* the command that names the line of code; empty: none */
    uint32_t place_count;      /* 0 .. LS_SUMMARY_PLACES_MAX */
    ls_summary_place places[LS_SUMMARY_PLACES_MAX];
} ls_summary_desync;

/* How writing the match down went. */
typedef struct ls_summary_journal {
    const char *file; /* NULL: no journal was written, the rest means nothing */
    uint64_t bytes;
    uint64_t records;
    uint64_t failures; /* of writes */
    uint64_t ticks_missing;
} ls_summary_journal;

/* Counts with their names, in lower case. */
#define LS_SUMMARY_COUNTS_MAX 16u

typedef struct ls_summary_count {
    char name[32];
    uint64_t number;
} ls_summary_count;

typedef struct ls_summary_counts {
    uint32_t count;
    ls_summary_count rows[LS_SUMMARY_COUNTS_MAX];
} ls_summary_counts;

/* Of a server's network, whatever the match. */
typedef struct ls_summary_network {
    ls_summary_counts dropped;         /* datagrams */
    ls_summary_counts clients_refused; /* that were told so */
    bool has_tokens;                   /* the next one is known */
    ls_summary_counts tokens_refused;
} ls_summary_network;

typedef struct ls_summary {
    const char *program;
    const char *status; /* a status name: "OK" after a complete match */
    uint32_t ticks;     /* asked for; 0: open end */
    const char *sim;    /* NULL: no match was joined, the next four are unknown */
    uint64_t seed;
    double tick_rate_hz;
    uint32_t final_tick;
    uint64_t final_hash; /* of the state at final_tick */
    bool has_comparison; /* the next one is known */
    uint64_t hashes_compared;
    uint64_t packets_rejected;
    bool has_spectators; /* the next one is known */
    uint64_t spectators; /* that ever watched */
    ls_summary_journal journal;
    const ls_summary_network *network; /* NULL: not known, or told elsewhere */
    uint32_t player_count;
    ls_summary_player players[LS_PLAYERS_MAX];
    uint32_t desync_count;
    ls_summary_desync desyncs[LS_PLAYERS_MAX + 1]; /* the newest one of each slot that differed */
    ls_summary_desync
        firsts[LS_PLAYERS_MAX + 1]; /* the first one, of those that came several times */
} ls_summary;

/* Writes to the file, or to standard output when `path` is "-". NO_MEMORY, or IO with the reason.
 */
ls_status ls_summary_write(const ls_summary *summary, const char *path, ls_text *why);

/* Several matches of one server, 1 or more: an object with "program", "status" (the first that is
 * not OK), "network" and "matches": an array of what ls_summary_write writes. Failures as there. */
ls_status ls_summary_write_matches(const ls_summary *summaries, uint32_t count,
                                   const ls_summary_network *network, const char *path,
                                   ls_text *why);

#endif
