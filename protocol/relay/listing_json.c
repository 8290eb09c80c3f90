#include "lockstep/protocol/relay/listing_json.h"

void ls_relay_listing_fill_json(ls_json *json, const ls_relay_listing *listing)
{
    ls_json_text(json, "name", listing->name);
    ls_json_text(json, "region", listing->region);
    ls_json_text(json, "simulation", listing->simulation);
    ls_json_number(json, "simulation_version", listing->simulation_version);
    ls_json_hash(json, "digest", listing->digest);
    ls_json_number(json, "players", listing->players);
    ls_json_number(json, "seats", listing->seats);
    ls_json_number(json, "spectators", listing->spectators);
    ls_json_bool(json, "needs_token", listing->needs_token);
    ls_json_text(json, "version", listing->version);
}
