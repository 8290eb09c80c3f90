/* Heal leaves: sends the values in which a client's state differs from the server's, as the leaves
 * of the hash tree that hold them, and HEAL behind them. Decides nothing and keeps nothing. Called
 * by desync_service alone. */
#ifndef LOCKSTEP_SERVER_MATCH_HEAL_LEAVES_H
#define LOCKSTEP_SERVER_MATCH_HEAL_LEAVES_H

#include "lockstep/server/match/investigation.h"
#include "lockstep/server/match/seat_table.h"

/* The comparison of the slot's state has a place and is done. False, and nothing is sent: the
 * server does not hold the hash of that state any more, or more differs than leaves can tell. */
bool ls_heal_leaves_send(const ls_match_context *match, uint32_t slot,
                         const ls_investigation *healed);

#endif
