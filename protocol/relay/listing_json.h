/* Listing JSON: what a server says of itself in the directory of its relay, as JSON: the members
 * that the list of a directory and that of a client share. Called by the directory and by the
 * client's list of games. */
#ifndef LOCKSTEP_PROTOCOL_RELAY_LISTING_JSON_H
#define LOCKSTEP_PROTOCOL_RELAY_LISTING_JSON_H

#include "lockstep/common/program/json.h"
#include "lockstep/protocol/relay/relay_listing.h"

/* Adds them to an object, but for the code, the page and the protocol. */
void ls_relay_listing_fill_json(ls_json *json, const ls_relay_listing *listing);

#endif
