#include "lockstep/server/match/heal_leaves.h"

static void send_leaf(const ls_match_context *match, uint32_t slot, const ls_investigation *healed,
                      uint32_t leaf)
{
    const ls_state_inspector *inspector = &healed->place->held->inspector;
    ls_heal_leaf *sent = &ls_outbox_message(match->outbox, LS_MESSAGE_HEAL_LEAF)->body.heal_leaf;
    sent->tick = healed->compared.tick;
    sent->leaf = leaf;
    sent->size = (uint32_t)ls_state_tree_leaf_bytes(inspector->tree, leaf);
    ls_state_tree_read_leaf(inspector->tree, leaf, inspector->state, sent->bytes);
    ls_outbox_send(match->outbox, match->seats->peers[slot]);
}

bool ls_heal_leaves_send(const ls_match_context *match, uint32_t slot,
                         const ls_investigation *healed)
{
    uint64_t state_hash = 0;
    uint64_t chain = 0;
    ls_tick tick = healed->compared.tick;
    bool is_held = ls_replay_window_hash(match->log->window, tick, &state_hash) == LS_OK &&
                   ls_hash_record_chain(&match->log->hashes, tick, &chain);
    if (!is_held || !ls_investigation_can_heal(healed)) {
        return false;
    }
    const ls_hash_tree_diff *diff = healed->place->diff;
    for (uint32_t i = 0; i < ls_hash_tree_diff_leaf_count(diff); i++) {
        send_leaf(match, slot, healed, ls_hash_tree_diff_leaf(diff, i));
    }
    ls_outbox_message(match->outbox, LS_MESSAGE_HEAL)->body.heal =
        (ls_heal){.tick = tick, .state_hash = state_hash, .chain = chain};
    ls_outbox_send(match->outbox, match->seats->peers[slot]);
    return true;
}
