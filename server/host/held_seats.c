#include "lockstep/server/host/held_seats.h"

ls_held_seats ls_held_seats_of(const ls_match *match)
{
    ls_held_seats held = {.match_id = ls_match_config_of(match)->match_id};
    for (uint32_t slot = 0; slot < ls_match_players(match); slot++) {
        if (ls_match_slot_of(match, slot).peer != 0) {
            ls_slot_set_add(&held.slots, slot);
            ls_match_secret_of(match, slot, held.secrets[slot]);
        }
    }
    return held;
}

ls_held_answer ls_held_seats_ask(const ls_held_seats *held, const ls_match *next,
                                 const ls_hello *hello, bool are_held, uint32_t *slot, bool *is_own)
{
    bool is_back = hello->back.match_id == held->match_id;
    ls_held_answer answer = LS_HELD_NOTHING;
    *is_own = false;
    if (held->match_id == 0 || hello->is_spectator || ls_match_state_of(next) != LS_MATCH_LOBBY) {
        return LS_HELD_NOTHING;
    }
    for (uint32_t i = ls_match_players(next); i-- > 0;) {
        bool is_free = ls_match_slot_of(next, i).peer == 0;
        bool is_held = ls_slot_set_has(&held->slots, i);
        if (is_free && is_held && is_back &&
            ls_secret_is_equal(held->secrets[i], hello->back.secret)) {
            *slot = i;
            *is_own = true;
            return LS_HELD_SEAT;
        }
        if (is_free && are_held && !is_held) {
            *slot = i;
            answer = LS_HELD_SEAT;
        } else if (is_free && are_held && answer == LS_HELD_NOTHING) {
            answer = LS_HELD_WAIT;
        }
    }
    return answer;
}
