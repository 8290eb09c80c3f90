#include "lockstep/client/session/session_offer.h"

#include <string.h>

ls_status ls_session_offer_check(const ls_session_config *config, const ls_offer *offer,
                                 const ls_simulation **simulation, ls_text *why)
{
    const ls_simulation *found = config->find_simulation(config->user, offer->simulation);
    if (!found) {
        ls_text_set(why, "simulation: the server plays '%s', which this client does not have",
                    offer->simulation);
        return LS_SIMULATION_MISMATCH;
    }
    if (found->version != offer->simulation_version) {
        ls_text_set(why, "simulation version: client %u, server %u", found->version,
                    offer->simulation_version);
        return LS_SIMULATION_VERSION_MISMATCH;
    }
    ls_text fault = {{0}};
    if (ls_sim_config_check(found, &offer->config, &fault) != LS_OK) {
        ls_text_set(why, "simulation parameters: the client cannot take the server's: %s",
                    fault.bytes);
        return LS_PARAMETER_MISMATCH;
    }
    *simulation = found;
    return LS_OK;
}

ls_status ls_session_offer_compare(const ls_offer *left, const ls_offer *offered, ls_text *why)
{
    const ls_sim_config *a = &left->config;
    const ls_sim_config *b = &offered->config;
    bool is_same = left->match_id == offered->match_id &&
                   strcmp(left->simulation, offered->simulation) == 0 &&
                   left->simulation_version == offered->simulation_version && a->seed == b->seed &&
                   a->tick_rate_hz == b->tick_rate_hz && a->players == b->players &&
                   a->param_count == b->param_count &&
                   memcmp(a->params, b->params, a->param_count * sizeof a->params[0]) == 0 &&
                   left->hash_interval_ticks == offered->hash_interval_ticks;
    if (!is_same) {
        ls_text_set(why, "the match that was left is over: the server plays another one");
    }
    return is_same ? LS_OK : LS_ALREADY_OVER;
}
