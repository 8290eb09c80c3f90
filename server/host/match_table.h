/* Match table: several matches over one transport, as a state machine without I/O: it hands each
 * connection to a match, each packet to the match of its peer, and what is due to whom it is due.
 * Matches can be opened and closed while others play. Decides nothing that a match decides. Time
 * and packets come in as arguments, packets leave through the sink, events through
 * ls_match_table_next_event. Allocates nothing but what its matches do. Called by host.c, by tests
 * in virtual time, and by games that embed a server. */
#ifndef LOCKSTEP_SERVER_HOST_MATCH_TABLE_H
#define LOCKSTEP_SERVER_HOST_MATCH_TABLE_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/language.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/server/match/match.h"

LS_C_BEGIN

/* ---- Held seats: of a match that follows another one in the same room, the seats of those who
 * played that one: a player comes back to its own by the secret that it had there, and others are
 * given the rest for a while. Called by match_table ---- */

#define LS_HELD_SEATS_NS (UINT64_C(20) * 1000000000) /* from the opening of the next match on */

typedef struct ls_held_seats {
    uint64_t match_id; /* of the match before; 0: no seat is held */
    ls_slot_set slots; /* of those who were there when it ended */
    uint8_t secrets[LS_PLAYERS_MAX][LS_SECRET_BYTES];
} ls_held_seats;

/* The seats of those who are connected to a match now: LS_MATCH_ENDED is the time to call it. */
ls_held_seats ls_held_seats_of(const ls_match *match);

#define LS_MATCHES_MAX 16384u
#define LS_MATCH_NAME_BYTES_MAX 48u
#define LS_MATCH_ANY UINT32_MAX /* in place of the number of a match */

/* Several matches close their ticks at a few moments of a tick, one for each so many players: their
 * host wakes for those and not for each match, and nobody waits long for the others' work. */
#define LS_MATCH_TABLE_PLAYERS_PER_MOMENT 64u
#define LS_MATCH_TABLE_MOMENTS_MAX 16u

/* A client that asks for no match which is open here. */
typedef struct ls_match_asker {
    ls_peer_id peer;
    uint32_t match;    /* that it was given for the time being */
    uint64_t match_id; /* of the one that it comes back to; 0: to none */
    const char *name;  /* of the one that it asks for; "": any */
    bool is_spectator;
} ls_match_asker;

typedef struct ls_match_table_config {
    /* So many are open from the start, all of these settings; of several each has a key and an id
     * made from theirs. */
    ls_match_config match;
    uint32_t matches;     /* 0 .. matches_max; with 0 `match` is not looked at */
    uint32_t matches_max; /* open at a time; .. LS_MATCHES_MAX; 0: as `matches`, 1 or more */
    /* Of all matches, by which they are spread over the moments of a tick; 0: of those that are
     * open from the start. */
    uint32_t players_max;
    uint32_t peers_max; /* connections at a time, as many as the transport holds; 1 .. 2^20 */

    /* Called after each ls_match_advance of a match that was due at `due_ns`, for a recorder of
     * closed ticks; NULL: no callback. */
    void (*on_advanced)(void *user, uint32_t match, uint64_t due_ns, uint64_t now_ns);
    /* Why a client is to ask again in a moment, as when its match is not open now and will be: it
     * is refused with FULL. NULL: it stays. NULL for the callback: all stay, and names that clients
     * say are not those of matches. */
    const char *(*put_off)(void *user, const ls_match_asker *asker);
    void *user;
    /* Gets the number of a match plus 1 before the match takes something or advances, and 0 after
     * it, so that another process knows in which match this one ended. NULL: nothing is written. */
    uint32_t *at_work;
} ls_match_table_config;

/* A match that is to be opened. */
typedef struct ls_match_opening {
    const ls_match_config *match; /* with a key and an id of its own */
    const char *name;             /* tokens may call it so; NULL: by its number or id alone */
    bool is_for_invited;          /* takes only peers that were let in for it */
    const ls_held_seats *held;    /* of the match that it follows; copied; NULL: of none */
} ls_match_opening;

typedef struct ls_match_table_event {
    uint32_t match; /* its number, from 0 */
    ls_match_event event;
} ls_match_table_event;

typedef struct ls_match_table ls_match_table;

/* One match and as many peers as its players and 64 more. */
ls_match_table_config ls_match_table_config_default(const ls_simulation *simulation);

/* The config and the sink are copied; the sink's user and the allocator must outlive the table. */
ls_status ls_match_table_create(const ls_match_table_config *config, const ls_packet_sink *sink,
                                const ls_allocator *allocator, ls_match_table **out, ls_text *why);
void ls_match_table_destroy(ls_match_table *table);

/* Opens a match under a number that is free, and was not used of late. FULL, or what the match's
 * own check says, with `why`. */
ls_status ls_match_table_open(ls_match_table *table, const ls_match_opening *opening,
                              uint32_t *number, ls_text *why);

/* Forgets a match, over or not; peers that are still connected to it are disconnected. Its events
 * have been taken. */
void ls_match_table_close(ls_match_table *table, uint32_t number);

/* Takes an event of the transport. `now_ns` never goes back. A new peer goes to the first match
 * that has a seat for it; when there is none, to one that will tell it why; when there is no match,
 * it is disconnected. */
void ls_match_table_receive(ls_match_table *table, const ls_transport_event *event,
                            uint64_t now_ns);

/* In place of the CONNECTED of a peer that was let in for something: to this match, or to any. */
void ls_match_table_admit(ls_match_table *table, ls_peer_id peer, const ls_match_pass *pass,
                          uint32_t number, uint64_t now_ns);

/* To be called before the packets for ls_match_table_advance are taken: asks for the memory of the
 * matches that it will advance. Between two ticks it falls out of every cache. */
void ls_match_table_prefetch(const ls_match_table *table, uint64_t now_ns);

/* To be called before packets of these peers are taken: asks for the memory of their matches. At
 * most LS_MATCH_TABLE_PACKETS_MAX peers; 0 is nobody. */
#define LS_MATCH_TABLE_PACKETS_MAX 16u
void ls_match_table_prefetch_packets(const ls_match_table *table, const ls_peer_id *peers,
                                     uint32_t count);

/* Advances the matches that have something to do by now. */
void ls_match_table_advance(ls_match_table *table, uint64_t now_ns);

/* A match was called past the table: what is due when has changed. */
void ls_match_table_touch(ls_match_table *table, uint32_t number);

/* Whether a match was opened, closed or called since this was asked of its number last: else all
 * that it says of itself is as before. */
bool ls_match_table_was_called(ls_match_table *table, uint32_t number);

/* Ends every match after its newest closed tick. */
void ls_match_table_stop(ls_match_table *table, uint64_t now_ns);

/* The oldest event of some match, or false. */
bool ls_match_table_next_event(ls_match_table *table, ls_match_table_event *event);

/* When ls_match_table_advance has something to do next; UINT64_MAX while every match is over.
 * Packets that arrive may make it earlier. */
uint64_t ls_match_table_next_ns(ls_match_table *table);

/* Whether packets have to be taken as they come: while no match runs, and while one waits for an
 * input. Otherwise it is enough to take them before each ls_match_table_advance. */
bool ls_match_table_is_eager(ls_match_table *table);

/* No match has a tick to close any more: one without players has nothing to do, and is not over. */
bool ls_match_table_is_over(const ls_match_table *table);

/* The numbers of all matches are below it. */
uint32_t ls_match_table_count(const ls_match_table *table);

/* NULL: there is none of this number. */
ls_match *ls_match_table_match(const ls_match_table *table, uint32_t number);

/* Whether a match takes only peers that were let in for it. */
bool ls_match_table_is_for_invited(const ls_match_table *table, uint32_t number);

/* The number of the match that a token names, by its number, its id or its name; LS_MATCH_ANY:
 * there is none. */
uint32_t ls_match_table_find(const ls_match_table *table, const char *name);

/* The number of the match that a connection is of; LS_MATCH_ANY: of none, or not any more. */
uint32_t ls_match_table_match_of(const ls_match_table *table, ls_peer_id peer);

/* Whether somebody who was not let in for a match would be given a seat. */
bool ls_match_table_has_seat(const ls_match_table *table);

LS_C_END

#endif
