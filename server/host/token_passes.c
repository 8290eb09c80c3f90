#include "lockstep/server/host/token_passes.h"

#include "lockstep/protocol/udp/transport_udp.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    NAME_BYTES = 17, /* an id, or a number */
};

/* A match is called by its number among the server's, as the log has it, and by its id. */
static bool is_called(const ls_match_table *table, uint32_t number, const char *name)
{
    char own[NAME_BYTES];
    snprintf(own, sizeof own, "%" PRIu32, number);
    if (strcmp(own, name) == 0) {
        return true;
    }
    snprintf(own, sizeof own, "%016" PRIx64,
             ls_match_config_of(ls_match_table_match(table, number))->match_id);
    return strcmp(own, name) == 0;
}

static uint32_t find_match(const ls_match_table *table, const char *name)
{
    uint32_t number = 0;
    while (number < ls_match_table_count(table) && !is_called(table, number, name)) {
        number++;
    }
    return number < ls_match_table_count(table) ? number : LS_MATCH_ANY;
}

bool ls_token_pass_of(const ls_transport *transport, const ls_match_table *table, ls_peer_id peer,
                      ls_match_pass *pass, uint32_t *number)
{
    static const ls_match_place places[LS_TOKEN_PLACE_COUNT] = {
        [LS_TOKEN_PLACE_ANY] = LS_MATCH_PLACE_ANY,
        [LS_TOKEN_PLACE_SEAT] = LS_MATCH_PLACE_SEAT,
        [LS_TOKEN_PLACE_SPECTATOR] = LS_MATCH_PLACE_SPECTATOR,
    };
    const ls_sealed_pass *sealed = ls_transport_udp_pass(transport, peer);
    if (!sealed) {
        return false;
    }
    const ls_token_admission *says = &sealed->admission;
    *number = LS_MATCH_ANY;
    *pass = (ls_match_pass){
        .is_return = sealed->is_return, .has_holder = true, .holder = sealed->client_id};
    pass->place = places[says->place];
    pass->slot = says->seat;
    memcpy(pass->name, says->name, sizeof pass->name);
    if (says->match[0] != '\0') {
        *number = find_match(table, says->match);
        pass->is_for_this_match = *number != LS_MATCH_ANY;
        pass->refusal = pass->is_for_this_match ? NULL : "its connect token is for another match";
    }
    return true;
}

void ls_token_pass_take_event(ls_transport *transport, const ls_match_event *event)
{
    switch (event->kind) {
    case LS_MATCH_PLAYER_READY:
    case LS_MATCH_PLAYER_RETURNED:
    case LS_MATCH_SPECTATOR_CAME:
        ls_transport_udp_settle_pass(transport, event->peer, true);
        break;
    case LS_MATCH_PEER_REFUSED:
        ls_transport_udp_settle_pass(transport, event->peer, false);
        break;
    case LS_MATCH_PLAYER_LEFT:
        if (event->was_coming) {
            ls_transport_udp_settle_pass(transport, event->peer, false);
        }
        break;
    default:
        break;
    }
}

void ls_token_pass_take_end(ls_transport *transport, ls_peer_id peer)
{
    ls_transport_udp_settle_pass(transport, peer, false);
}
