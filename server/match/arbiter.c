#include "lockstep/server/match/arbiter.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/fault.h"

void ls_arbiter_init(ls_arbiter *arbiter, const ls_hash_record *record)
{
    *arbiter = (ls_arbiter){.record = record};
}

/* 0: it is not held, or was not known when the match was restored. */
static uint64_t server_hash_of(const ls_arbiter *arbiter, ls_tick tick)
{
    uint64_t state_hash = 0;
    (void)ls_hash_record_hash(arbiter->record, tick, &state_hash);
    return state_hash;
}

static bool is_comparable(const ls_arbiter_slot *slot)
{
    return slot->agreement == LS_AGREEMENT_AGREES || slot->agreement == LS_AGREEMENT_DOUBTED ||
           (slot->agreement == LS_AGREEMENT_DIFFERS && LS_FAULT(DIFFERENCE_REPEATED));
}

bool ls_arbiter_compare(ls_arbiter *arbiter, uint32_t slot, ls_tick tick, uint32_t chain,
                        ls_tick *first, uint32_t *count)
{
    LS_ASSERT(ls_hash_record_is_known(arbiter->record, tick));
    ls_arbiter_slot *compared = &arbiter->slots[slot];
    bool is_new = !compared->has_agreed || tick > compared->agreed_tick;
    if (!is_comparable(compared) || !is_new || tick < ls_hash_record_oldest(arbiter->record)) {
        return false;
    }
    ls_tick next =
        compared->has_agreed ? compared->agreed_tick + arbiter->record->interval_ticks : 0;
    uint64_t own = 0;
    (void)ls_hash_record_chain(arbiter->record, tick, &own);
    if ((uint32_t)own == chain || LS_FAULT(DIFFERENCE_UNREPORTED)) {
        compared->compared += (tick - next) / arbiter->record->interval_ticks + 1;
        compared->agreed_tick = tick;
        compared->has_agreed = true;
        compared->agreement = LS_AGREEMENT_AGREES;
        return false;
    }
    compared->agreement = LS_AGREEMENT_ASKING;
    compared->is_answering = true;
    compared->asked_first = LS_MAX(next, ls_hash_record_oldest(arbiter->record));
    compared->asked_last = tick;
    compared->asked_hash = server_hash_of(arbiter, tick);
    compared->expected_first = compared->asked_first;
    *first = compared->asked_first;
    *count = (tick - compared->asked_first) / arbiter->record->interval_ticks + 1;
    return true;
}

static void settle(ls_arbiter_slot *slot, ls_tick tick, uint64_t server_hash, uint64_t client_hash)
{
    slot->agreement = LS_AGREEMENT_DIFFERS;
    slot->bad_tick = LS_FAULT(WRONG_FIRST_TICK) ? tick + 1 : tick;
    slot->server_hash = server_hash;
    slot->client_hash = client_hash;
}

static bool is_part_of_answer(const ls_arbiter *arbiter, const ls_arbiter_slot *asked,
                              ls_tick first, uint32_t count)
{
    if (!asked->is_answering || first != asked->expected_first) {
        return false;
    }
    bool is_more_wanted = first <= asked->asked_last;
    return count <=
           (is_more_wanted ? (asked->asked_last - first) / arbiter->record->interval_ticks + 1 : 0);
}

/* Compares the next state hash of an answer. States that were forgotten while question and answer
 * travelled are passed over, and so is what follows a difference. */
static void compare_hash(const ls_arbiter *arbiter, ls_arbiter_slot *asked, uint64_t state_hash)
{
    ls_tick tick = asked->expected_first;
    asked->expected_first += arbiter->record->interval_ticks;
    if (asked->agreement == LS_AGREEMENT_DIFFERS || tick < ls_hash_record_oldest(arbiter->record)) {
        return;
    }
    uint64_t server_hash = server_hash_of(arbiter, tick);
    asked->compared++;
    if (state_hash != server_hash) {
        settle(asked, tick, server_hash, state_hash);
        return;
    }
    asked->agreed_tick = tick;
    asked->has_agreed = true;
}

bool ls_arbiter_receive_hashes(ls_arbiter *arbiter, uint32_t slot, ls_tick first,
                               const uint64_t *state_hashes, uint32_t count, bool is_last,
                               bool *is_contradiction)
{
    ls_arbiter_slot *asked = &arbiter->slots[slot];
    bool was_known = asked->agreement == LS_AGREEMENT_DIFFERS;
    *is_contradiction = !is_part_of_answer(arbiter, asked, first, count);
    if (*is_contradiction) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        compare_hash(arbiter, asked, state_hashes[i]);
    }
    asked->is_answering = !is_last;
    if (asked->agreement == LS_AGREEMENT_DIFFERS) {
        return !was_known;
    }
    bool is_forgotten = asked->asked_first < ls_hash_record_oldest(arbiter->record);
    bool is_complete = asked->expected_first > asked->asked_last;
    if (is_last) {
        /* The next chain raises the question anew. */
        asked->agreement = is_forgotten || is_complete ? LS_AGREEMENT_AGREES : LS_AGREEMENT_DOUBTED;
    }
    *is_contradiction = is_last && !is_forgotten;
    return false;
}

bool ls_arbiter_settle_unanswered(ls_arbiter *arbiter, uint32_t slot)
{
    ls_arbiter_slot *asked = &arbiter->slots[slot];
    if (asked->agreement != LS_AGREEMENT_ASKING && asked->agreement != LS_AGREEMENT_DOUBTED) {
        return false;
    }
    settle(asked, asked->asked_last, asked->asked_hash, 0);
    return true;
}

bool ls_arbiter_compare_hash(ls_arbiter *arbiter, uint32_t slot, ls_tick tick, uint64_t server_hash,
                             uint64_t client_hash)
{
    ls_arbiter_slot *compared = &arbiter->slots[slot];
    if (!is_comparable(compared) || server_hash == client_hash) {
        return false;
    }
    settle(compared, tick, server_hash, client_hash);
    return true;
}

void ls_arbiter_join(ls_arbiter *arbiter, uint32_t slot, ls_tick tick)
{
    ls_arbiter_slot *joined = &arbiter->slots[slot];
    uint64_t compared = joined->compared;
    *joined = (ls_arbiter_slot){.agreement = LS_AGREEMENT_AGREES,
                                .agreed_tick = tick,
                                .has_agreed = true,
                                .compared = compared};
}

void ls_arbiter_heal(ls_arbiter *arbiter, uint32_t slot, ls_tick tick)
{
    LS_ASSERT(arbiter->slots[slot].agreement == LS_AGREEMENT_DIFFERS);
    ls_arbiter_join(arbiter, slot, tick);
}

/* ---- who is wrong: the votes of the clients that said their hash of a state ---- */

static void count_slot(const ls_arbiter_slot *first, const ls_arbiter_slot *other,
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
    }
}

ls_root_vote ls_root_vote_count(const ls_arbiter *arbiter, ls_root_voters voters, uint32_t slot)
{
    ls_root_vote vote = {.with_client = 1};
    LS_EACH_SLOT (i, voters.in_play) {
        if (i != slot) {
            count_slot(&arbiter->slots[slot], &arbiter->slots[i],
                       ls_slot_set_has(&voters.finished, i), &vote);
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

ls_tick ls_arbiter_oldest_agreed(const ls_arbiter *arbiter, const ls_root_voters *players)
{
    ls_tick oldest = UINT32_MAX;
    for (uint32_t slot = 0; slot < LS_PLAYERS_MAX; slot++) {
        const ls_arbiter_slot *known = &arbiter->slots[slot];
        bool may_differ = known->has_agreed && known->agreement != LS_AGREEMENT_DIFFERS;
        if (may_differ && ls_slot_set_has(&players->in_play, slot)) {
            oldest = LS_MIN(oldest, known->agreed_tick);
        }
    }
    return oldest;
}
