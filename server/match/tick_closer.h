/* Tick closer: when ticks are due by the match's own clock, which of them may be closed, and with
 * which inputs. Under the rule `wait` a due tick waits for its inputs, and the players it waits for
 * too long are named. Drops nobody: match.c does. */
#ifndef LOCKSTEP_SERVER_MATCH_TICK_CLOSER_H
#define LOCKSTEP_SERVER_MATCH_TICK_CLOSER_H

#include "lockstep/server/match/seat_table.h"

typedef struct ls_tick_closer ls_tick_closer;

/* NO_MEMORY. */
ls_status ls_tick_closer_create(const ls_match *match, ls_tick_closer **out);
void ls_tick_closer_destroy(ls_tick_closer *closer);

/* The next tick begins to be due after start_delay_ms. Returns from now until it is closed. */
uint64_t ls_tick_closer_schedule(ls_tick_closer *closer);

/* Time has passed. */
void ls_tick_closer_advance(ls_tick_closer *closer);

typedef enum ls_closing_kind {
    LS_CLOSING_NOTHING, /* no tick is closed now */
    LS_CLOSING_DROP,    /* the match has waited too long for `slots`: their link counts as lost */
    LS_CLOSING_TICK,    /* a tick has been closed */
} ls_closing_kind;

typedef struct ls_closing {
    ls_slot_set slots;        /* DROP; TICK: those that played */
    ls_slot_set late_slots;   /* TICK: of them, those whose input was missing or waited for */
    ls_slot_set waited_slots; /* TICK: those that were waited for */
    uint32_t waited_ticks;    /* TICK: that went by while the match waited */
    bool was_behind;          /* TICK: it was closed later than due, if only a little */
    uint64_t uneven_ns;     /* TICK: how unevenly they are closed, as a link's jitter is measured */
    uint32_t overdue_ticks; /* TICK: that went by while the server was late to close this one */
} ls_closing;

/* Goes on with closing what is due; is called until it says NOTHING. */
ls_closing_kind ls_tick_closer_next(ls_tick_closer *closer, ls_closing *closing);

/* Every tick that the match has by its settings is closed. */
bool ls_tick_closer_is_last_closed(const ls_tick_closer *closer);

/* The match runs, and a due tick waits for somebody's input. */
bool ls_tick_closer_is_waiting(const ls_tick_closer *closer);

/* When there is something to do; of a running match. */
uint64_t ls_tick_closer_next_ns(const ls_tick_closer *closer);

/* Asks for the memory that the next tick will need. */
void ls_tick_closer_prefetch(const ls_tick_closer *closer);

#endif
