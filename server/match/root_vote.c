#include "lockstep/server/match/root_vote.h"

static void count_slot(const ls_arbiter_slot *first, const ls_arbiter_slot *other, uint32_t bit,
                       bool has_finished, ls_root_vote *vote)
{
    bool is_differing = other->agreement == LS_AGREEMENT_DIFFERS;
    bool agrees = (is_differing && other->bad_tick > first->bad_tick) ||
                  (!is_differing && other->has_agreed && other->agreed_tick >= first->bad_tick) ||
                  (other->agreement == LS_AGREEMENT_AGREES && has_finished);
    if (agrees) {
        vote->with_server++;
    } else if (!is_differing) {
        vote->unknown++;
    } else if (other->bad_tick == first->bad_tick && other->client_hash == first->client_hash) {
        vote->with_client++;
        vote->slots |= bit;
    }
}

ls_root_vote ls_root_vote_count(const ls_arbiter *arbiter, ls_root_voters voters, uint32_t slot)
{
    ls_root_vote vote = {.slots = 1u << slot, .with_client = 1};
    for (uint32_t i = 0; i < LS_PLAYERS_MAX; i++) {
        uint32_t bit = 1u << i;
        if (i != slot && (voters.in_play & bit)) {
            count_slot(&arbiter->slots[slot], &arbiter->slots[i], bit, (voters.finished & bit) != 0,
                       &vote);
        }
    }
    return vote;
}

bool ls_root_vote_is_against_server(const ls_root_vote *vote)
{
    uint32_t machines_with_server = vote->with_server + 1; /* it is one of them */
    return vote->with_client > machines_with_server;
}

bool ls_root_vote_is_decided(const ls_root_vote *vote)
{
    ls_root_vote most = *vote;
    most.with_client += vote->unknown;
    return vote->unknown == 0 || !ls_root_vote_is_against_server(&most);
}
