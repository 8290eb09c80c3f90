/* Match reception: takes the packets of a match: finds out whose each one is, reads it and hands it
 * to the part that it is for. Peers that break the rules are refused. Keeps nothing itself. Called
 * by match.c. */
#ifndef LOCKSTEP_SERVER_MATCH_MATCH_RECEPTION_H
#define LOCKSTEP_SERVER_MATCH_MATCH_RECEPTION_H

#include "lockstep/server/match/match_context.h"

void ls_match_reception_receive(ls_match_context *match, ls_peer_id peer, ls_channel channel,
                                const uint8_t *bytes, size_t size);

#endif
