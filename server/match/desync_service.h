/* Desync service: compares what the players say of their states with the server's, finds the cause
 * of a difference (investigation), and heals what can be healed. It asks and reports; what becomes
 * of a player or of the match it only says, and match.c does it. */
#ifndef LOCKSTEP_SERVER_MATCH_DESYNC_SERVICE_H
#define LOCKSTEP_SERVER_MATCH_DESYNC_SERVICE_H

#include "lockstep/server/investigation/desync_finding.h"
#include "lockstep/server/match/seat_table.h"

typedef struct ls_desync_service ls_desync_service;

/* A player who has to be dropped because its state differs. */
typedef struct ls_desync_drop {
    uint32_t slot;
    const char *why; /* NULL: no player has to be dropped */
} ls_desync_drop;

/* NO_MEMORY: what there is by then is destroyed with the match. */
ls_status ls_desync_service_create(const ls_match *match, ls_desync_service **out);
void ls_desync_service_destroy(ls_desync_service *desync);

/* Takes the memory in which causes are looked for, where they are: a hundred times that of a small
 * match. Otherwise it is taken when a player first differs. NO_MEMORY. */
ls_status ls_desync_service_open(ls_desync_service *desync);

/* ---- comparing ---- */

/* The player has the server's state `tick`: what is compared from here on begins there. */
void ls_desync_service_begin(ls_desync_service *desync, uint32_t slot, ls_tick tick);

/* The low half of a player's chain up to state `tick`, which is one that is hashed: asks for hashes
 * when it differs. */
void ls_desync_service_compare(ls_desync_service *desync, uint32_t slot, ls_tick tick,
                               uint32_t chain);

/* FINISHED has come. */
void ls_desync_service_receive_finished(ls_desync_service *desync, uint32_t slot,
                                        const ls_finished *finished);

/* A player leaves: true when it differs and nobody was told; so does one that owes an answer. */
bool ls_desync_service_settle(ls_desync_service *desync, uint32_t slot);

/* The first state in which the slot differs is known, and it has not been healed. */
bool ls_desync_service_differs(const ls_desync_service *desync, uint32_t slot);

/* The player has been asked for hashes and has not answered yet. */
bool ls_desync_service_is_asking(const ls_desync_service *desync, uint32_t slot);

/* The next slot from `first` on whose player owes an answer for longer than the limit, not counting
 * the time when its link was silent; MATCH_NO_SLOT: there is none. */
uint32_t ls_desync_service_next_overdue(ls_desync_service *desync, uint32_t first,
                                        uint64_t limit_ns);

/* It owes an answer for longer than that. */
bool ls_desync_service_is_overdue(ls_desync_service *desync, uint32_t slot, uint64_t limit_ns);

/* ---- spectators: the difference of one at a time is looked into, as that of a player whose slot
 * is the number of players. It is dropped behind its report. ---- */

typedef struct ls_desync_spectator {
    ls_peer_id peer;
    const ls_peer_link *link;            /* borrowed until the slot is left */
    ls_tick agreed;                      /* the newest state that it is known to have */
    char name[LS_PLAYER_NAME_BYTES_MAX]; /* stays until the next one is looked into */
} ls_desync_spectator;

/* From here on the functions of this header may be called with its slot. False: another one is
 * looked into. */
bool ls_desync_service_watch(ls_desync_service *desync, const ls_desync_spectator *spectator);
bool ls_desync_service_watches(const ls_desync_service *desync, ls_peer_id peer);

/* ---- a slot differs ---- */

/* The next slot that is to be announced: the hashes of the other clients are known, or have been
 * waited for long enough; `is_time_up`: they are not waited for. MATCH_NO_SLOT: there is none. */
uint32_t ls_desync_service_next_settled(ls_desync_service *desync, bool is_time_up);

/* Tells everybody. True when the match has to be stopped for it. Sets *drop when the player has to
 * be dropped at once, because the cause cannot be looked for. */
bool ls_desync_service_announce(ls_desync_service *desync, uint32_t slot, ls_desync_drop *drop);

/* A player has told hashes or answered, or says how its healing went. An answer that comes too
 * late, or was never asked for, is STALE. */
ls_status ls_desync_service_receive(ls_desync_service *desync, uint32_t slot,
                                    const ls_message *message, ls_desync_drop *drop);

ls_desync_drop ls_desync_service_advance(ls_desync_service *desync);
bool ls_desync_service_is_open(const ls_desync_service *desync);

/* The slot is about to be left: it is reported once this side has run the ticks again, without more
 * of its client; and at the latest when it is forgotten, before somebody else sits there. */
void ls_desync_service_leave(ls_desync_service *desync, uint32_t slot);
void ls_desync_service_forget(ls_desync_service *desync, uint32_t slot);

/* The next slot from `first` on whose player is to be sent the whole state, because values alone do
 * not heal it; MATCH_NO_SLOT: there is none. */
uint32_t ls_desync_service_next_unsent(const ls_desync_service *desync, uint32_t first);

/* The player was told that the state `tick` comes; and whether it was, and has not said HEALED. */
void ls_desync_service_note_sent(ls_desync_service *desync, uint32_t slot, ls_tick tick);
bool ls_desync_service_is_sent(const ls_desync_service *desync, uint32_t slot);

/* No more answers are waited for. Returns a player to be dropped; is called again until there is
 * none. */
ls_desync_drop ls_desync_service_finish(ls_desync_service *desync);

/* ---- what is known ---- */

/* Fills in what the service knows of the slot. */
void ls_desync_service_report(const ls_desync_service *desync, uint32_t slot,
                              ls_match_slot *report);

void ls_desync_service_prefetch(const ls_desync_service *desync);
void ls_desync_service_prefetch_slot(const ls_desync_service *desync, uint32_t slot);

#endif
