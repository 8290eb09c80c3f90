/* Spectator table: one row for each spectator of a match, in memory that is allocated once. Finds a
 * spectator by its connection, goes round them so that each gets its turn, and names the one that
 * is next to be sent a state and the one that makes room. Sends nothing. */
#ifndef LOCKSTEP_SERVER_MATCH_SPECTATOR_TABLE_H
#define LOCKSTEP_SERVER_MATCH_SPECTATOR_TABLE_H

#include "lockstep/server/match/peer_map.h"
#include "lockstep/server/match/state_handover.h"

/* ---- what each origin owes ---- */

#define LS_ORIGIN_BUDGET_ROWS 256u

/* A state that was watched on for so long is paid for. */
#define LS_STATE_WATCHED_NS (UINT64_C(30) * LS_NS_PER_SECOND)

/* All zero: no origin owes anything. */
typedef struct ls_origin_budget {
    struct {
        uint64_t origin; /* 0: the row is free */
        uint64_t paid_ns;
    } rows[LS_ORIGIN_BUDGET_ROWS];
} ls_origin_budget;

/* Whether the origin has to wait for its next state. Never for origin 0, which is unknown. */
bool ls_origin_budget_is_spent(const ls_origin_budget *budget, uint64_t origin, uint64_t now_ns);

/* The origin was sent a state, and left soon. `now_ns` never goes back. */
void ls_origin_budget_spend(ls_origin_budget *budget, uint64_t origin, uint64_t now_ns);

/* ---- the table ---- */

typedef enum ls_spectator_state {
    LS_SPECTATOR_OFFERED, /* OFFER sent */
    LS_SPECTATOR_READY,   /* READY was good; JOIN comes when the match runs and it is its turn */
    LS_SPECTATOR_JOINING, /* JOIN sent */
    LS_SPECTATOR_SEES,    /* JOINED was good */
} ls_spectator_state;

typedef struct ls_spectator {
    ls_peer_id peer; /* 0: the row is free */
    ls_spectator_state state;
    bool is_back;          /* it said what it holds already */
    bool is_chain_doubted; /* its newest chain was not the server's */
    bool is_end_told;      /* END has been sent */
    bool has_answered;     /* since it was last sent TICKS: the next carries all that it lacks */
    ls_tick confirmed;     /* is_back: first closed tick that it did not hold ... */
    uint64_t tick_chain;   /* ... and the chain before it */
    ls_tick join_tick;     /* of its JOIN */
    ls_tick agreed_tick;   /* newest state proven equal */
    ls_tick sent_end;      /* first tick that it was never sent */
    uint64_t sent_end_ns;  /* when sent_end became what it is */
    uint64_t sent_ns;      /* when TICKS last went out; 0: never */
    ls_peer_link link;
    uint64_t origin; /* of its pass, 0: unknown */
    bool has_holder; /* likewise */
    uint64_t holder;
    uint64_t waiting_ns; /* READY: since when it waits for a stream; 0: it does not */
    uint64_t state_ns;   /* when it was sent a JOIN with a state; 0: it was not */
    char name[LS_PLAYER_NAME_BYTES_MAX];
    ls_name_look look;
} ls_spectator;

typedef struct ls_spectator_table {
    ls_spectator *rows;
    ls_peer_map places; /* connection to row */
    uint32_t rows_max;
    uint32_t end;   /* behind the last row in use */
    uint32_t count; /* rows in use */
    uint32_t turn;  /* row whose turn is next */
    uint32_t *pool; /* see init */
} ls_spectator_table;

/* rows_max: 1 .. LS_SPECTATORS_MAX. `pool`: how many more rows this table and others may have
 * together, counted down and up by them; outlives them; NULL: there is no such limit. NO_MEMORY. */
ls_status ls_spectator_table_init(ls_spectator_table *table, uint32_t rows_max, uint32_t *pool,
                                  const ls_allocator *allocator);
void ls_spectator_table_deinit(ls_spectator_table *table, const ls_allocator *allocator);

/* A new row, all zero but for the peer, which has none yet. NULL when the table is full, or the
 * pool empty. */
ls_spectator *ls_spectator_table_add(ls_spectator_table *table, ls_peer_id peer);
void ls_spectator_table_remove(ls_spectator_table *table, ls_spectator *spectator);

/* NULL when there is none. */
ls_spectator *ls_spectator_table_find(const ls_spectator_table *table, ls_peer_id peer);

/* The connection of the one whose pass has this holder; 0: it is none of them. */
ls_peer_id ls_spectator_table_holder(const ls_spectator_table *table, uint64_t holder);

/* The message of the outbox goes to all of them. */
void ls_spectator_table_send(const ls_spectator_table *table, struct ls_outbox *outbox);

/* The next one whose turn it is, or NULL when the row that is looked at is empty. `end` calls go
 * round all of them. */
ls_spectator *ls_spectator_table_next(ls_spectator_table *table);

/* A spectator whose origin is being sent the fewest states now, and of those the one that waits
 * longest: else an origin with many connections would hold up all others. NULL: none waits whose
 * origin has a share left. */
ls_spectator *ls_spectator_table_waiting(const ls_spectator_table *table,
                                         const ls_handover *handover,
                                         const ls_origin_budget *origins, uint64_t now_ns);

/* All places are taken, and more than half of them (rounded up) by one origin, which is known,
 * another one than `for_origin` and not this machine: its spectator that came last, one that does
 * not watch yet before all others. NULL: there is none. */
ls_spectator *ls_spectator_table_yielding(const ls_spectator_table *table, uint64_t for_origin);

#endif
