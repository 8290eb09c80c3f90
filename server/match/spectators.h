/* Watchers: a table of those who watch a match and do not play, in memory that is allocated once.
 * Finds a watcher by its connection, and goes round them so that each gets its turn. Sends nothing
 * and decides nothing. Called by match_watch. */
#ifndef LOCKSTEP_SERVER_MATCH_SPECTATORS_H
#define LOCKSTEP_SERVER_MATCH_SPECTATORS_H

#include "lockstep/protocol/wire/message.h"
#include "lockstep/server/host/peer_map.h"
#include "lockstep/server/match/downlink.h"

typedef enum ls_watcher_state {
    LS_WATCHER_OFFERED,  /* OFFER sent */
    LS_WATCHER_READY,    /* READY was good; JOIN comes when the match runs and it is its turn */
    LS_WATCHER_JOINING,  /* JOIN sent */
    LS_WATCHER_WATCHING, /* JOINED was good */
} ls_watcher_state;

typedef struct ls_watcher {
    ls_peer_id peer; /* 0: nobody */
    ls_watcher_state state;
    bool is_back;          /* it said what it holds already */
    bool is_chain_doubted; /* its newest chain was not the server's */
    bool is_end_told;
    uint32_t malformed;
    uint32_t packets;     /* since it was last sent TICKS */
    ls_tick confirmed;    /* is_back: first closed tick that it did not hold ... */
    uint64_t tick_chain;  /* ... and the chain before it */
    ls_tick join_tick;    /* of its JOIN */
    ls_tick agreed_tick;  /* newest state proven equal */
    ls_tick sent_end;     /* first tick that it was never sent */
    uint64_t sent_end_ns; /* when sent_end became what it is */
    uint64_t sent_ns;     /* when TICKS last went out; 0: never */
    uint64_t heard_ns;    /* when anything well-formed last came */
    uint64_t progress_ns; /* when it last got further towards watching */
    uint32_t parts_held;  /* of the blob, acknowledged */
    ls_downlink downlink;
    char name[LS_PLAYER_NAME_BYTES_MAX];
} ls_watcher;

typedef struct ls_watchers {
    ls_watcher *rows;
    ls_peer_map places; /* connection to row */
    uint32_t rows_max;
    uint32_t end;   /* behind the last row in use */
    uint32_t count; /* rows in use */
    uint32_t turn;  /* row whose turn is next */
} ls_watchers;

/* rows_max: 1 .. LS_WATCHERS_MAX. NO_MEMORY. */
ls_status ls_watchers_init(ls_watchers *watchers, uint32_t rows_max, const ls_allocator *allocator);
void ls_watchers_deinit(ls_watchers *watchers, const ls_allocator *allocator);

/* A new row, all zero but for the peer, which has none yet. NULL when the table is full. */
ls_watcher *ls_watchers_add(ls_watchers *watchers, ls_peer_id peer);
void ls_watchers_remove(ls_watchers *watchers, ls_watcher *watcher);

/* NULL when there is none. */
ls_watcher *ls_watchers_find(const ls_watchers *watchers, ls_peer_id peer);

/* The next one whose turn it is, or NULL when the row that is looked at is empty. `end` calls go
 * round all of them. */
ls_watcher *ls_watchers_next(ls_watchers *watchers);

#endif
