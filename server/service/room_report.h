/* Room report: what a worker tells of one room, as values: its players, its state, and counters
 * that only grow while the room is there. Written to JSON and read from it in one place, so that
 * workers, the HTTP listener and lockstep-admin have the same keys. Its players are on the heap: a
 * service of many rooms holds as many players as there were. */
#ifndef LOCKSTEP_SERVER_SERVICE_ROOM_REPORT_H
#define LOCKSTEP_SERVER_SERVICE_ROOM_REPORT_H

#include "lockstep/common/base/limits.h"
#include "lockstep/common/diagnosis/desync_class.h"
#include "lockstep/common/lag/lag_verdict.h"
#include "lockstep/common/program/json.h"
#include "lockstep/server/service/room_settings.h"

#include <stdbool.h>
#include <stdint.h>

#define LS_ROOM_STATE_MAP(X)                                                                       \
    X(WAITING, "waiting")   /* for players */                                                      \
    X(RESUMING, "resuming") /* for those who played before a restart */                            \
    X(RUNNING, "running")                                                                          \
    X(PAUSED, "paused")                                                                            \
    X(ENDING, "ending") /* every tick is closed; clients catch up */                               \
    X(OVER, "over")

typedef enum ls_room_state {
#define LS_ROOM_STATE_ENUM(name, word) LS_ROOM_##name,
    LS_ROOM_STATE_MAP(LS_ROOM_STATE_ENUM)
#undef LS_ROOM_STATE_ENUM
    LS_ROOM_STATE_COUNT,
} ls_room_state;

typedef struct ls_room_player {
    uint32_t slot;
    char name[LS_PLAYER_NAME_BYTES_MAX];
    char address[64]; /* "[2001:db8::1]:7300"; empty: the seat is free now */
    bool is_here;
    bool is_desynced;
    double rtt_ms;
    double slack_ms; /* how long before closing the newest inputs came; below 0: late */
    uint32_t ticks_behind;
    uint64_t inputs_late;
    uint64_t inputs_substituted;
    uint32_t lag; /* ls_lag_cause */
    uint64_t bytes_up, bytes_down;
} ls_room_player;

/* Upper edges of the bins of both latency histograms, in ms; a last bin holds what is beyond. */
#define LS_ROOM_BINS_MAP(X) X(0.25) X(0.5) X(1) X(2) X(4) X(8) X(16) X(33) X(66) X(133) X(500)
#define LS_ROOM_BIN_COUNT 12u

typedef struct ls_room_histogram {
    uint64_t count;
    double sum_ms;
    uint64_t bins[LS_ROOM_BIN_COUNT]; /* of each alone, not summed up */
} ls_room_histogram;

/* The counters of a room: X(member of the struct and key of JSON, name in the metrics without
 * "lockstep_" and "_total", its label, help). Members of one name stand together; the first has the
 * help. CMake reads the names for openapi.json. */
#define LS_ROOM_COUNTER_MAP(X)                                                                     \
    X(ticks, "ticks", "", "Ticks closed.")                                                         \
    X(inputs_on_time, "inputs", "result=\"on_time\"", "Inputs of closed ticks, by how they came.") \
    X(inputs_late, "inputs", "result=\"late\"", NULL)                                              \
    X(inputs_substituted, "inputs", "result=\"substituted\"", NULL)                                \
    X(hashes_compared, "hashes_compared", "", "State hashes of clients compared.")                 \
    X(bytes_up, "player_bytes", "direction=\"up\"", "Bytes from (up) and to players.")             \
    X(bytes_down, "player_bytes", "direction=\"down\"", NULL)                                      \
    X(packets_rejected, "packets_rejected", "",                                                    \
      "Packets of players that were malformed, stale or beyond a window.")                         \
    X(players_joined, "players_joined", "", "Players who took a seat.")                            \
    X(players_returned, "players_returned", "", "Players who returned to their seat.")             \
    X(players_left, "players_left", "", "Players who left in good order.")                         \
    X(players_lost, "players_lost", "", "Players whose link was lost, or were sent away.")         \
    X(refused_full, "clients_refused", "reason=\"full\"",                                          \
      "Clients who were not let in, by reason.")                                                   \
    X(refused_over, "clients_refused", "reason=\"over\"", NULL)                                    \
    X(refused_version, "clients_refused", "reason=\"version\"", NULL)                              \
    X(refused_not_admitted, "clients_refused", "reason=\"not_admitted\"", NULL)                    \
    X(refused_silent, "clients_refused", "reason=\"silent\"", NULL)                                \
    X(refused_malformed, "clients_refused", "reason=\"malformed\"", NULL)                          \
    X(refused_other, "clients_refused", "reason=\"other\"", NULL)                                  \
    X(heals, "heals", "", "States of clients replaced after a desync.")                            \
    X(bundles, "bundles", "", "Desync bundles written.")                                           \
    X(journal_bytes, "journal_bytes", "", "Bytes written to journals.")                            \
    X(journal_failures, "journal_failures", "", "Writes to journals that failed.")                 \
    X(journal_ticks_missing, "journal_ticks_missing", "", "Ticks that are missing in journals.")

/* Since the room was opened. */
typedef struct ls_room_counters {
#define LS_ROOM_COUNTER_MEMBER(member, name, label, help) uint64_t member;
    LS_ROOM_COUNTER_MAP(LS_ROOM_COUNTER_MEMBER)
#undef LS_ROOM_COUNTER_MEMBER
    uint64_t desyncs[LS_DESYNC_CLASS_COUNT]; /* by class, once it is known */
    ls_room_histogram lateness;              /* of ticks: from when one is due until it is closed */
    ls_room_histogram confirm; /* of players' round trips: from an input to its closed tick */
} ls_room_counters;

typedef struct ls_room_report {
    char name[LS_ROOM_NAME_BYTES_MAX];
    char group[LS_ROOM_NAME_BYTES_MAX]; /* [[rooms]] of the configuration; "": made on demand */
    uint32_t worker;
    uint32_t state; /* ls_room_state */
    char simulation[LS_NAME_BYTES_MAX];
    uint32_t seats;
    uint32_t seats_open;
    uint32_t spectator_places;
    uint32_t spectators;
    double tick_rate_hz;
    uint64_t match_id;
    uint32_t tick; /* closed so far */
    uint32_t journal_backlog_ticks;
    uint64_t opened_unix_ms;
    ls_room_counters counters;
    uint32_t player_count;   /* seats that were ever taken */
    ls_room_player *players; /* of the report's owner; NULL: there are none */
} ls_room_report;

const char *ls_room_state_word(uint32_t state);

/* Adds the members to an object. */
void ls_room_report_write(const ls_room_report *report, ls_json *object);

/* Adds the members that a list of rooms has as well: name, places, tick, state. */
void ls_room_report_write_line(const ls_room_report *report, ls_json *object);

void ls_room_counters_write(const ls_room_counters *counters, ls_json *object);

/* Reads them; what is missing is zero. To be deinitialised. MALFORMED: it is no report of a room.
 * NO_MEMORY. */
ls_status ls_room_report_read(const ls_json *object, ls_room_report *out);

/* The players are copied as well; without memory for them there are none. */
void ls_room_report_copy(ls_room_report *to, const ls_room_report *from);

/* Releases the players. */
void ls_room_report_deinit(ls_room_report *report);

/* Adds each counter of `from`: what is left of a room that is gone. */
void ls_room_counters_add(ls_room_counters *sum, const ls_room_counters *from);

#endif
