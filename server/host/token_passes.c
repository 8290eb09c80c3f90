#include "lockstep/server/host/token_passes.h"

#include "lockstep/protocol/udp/transport_udp.h"

#include <string.h>

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
        *number = ls_match_table_find(table, says->match);
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
