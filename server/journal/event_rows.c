#include "lockstep/server/journal/event_rows.h"

#include "lockstep/common/base/fault.h"

#define WORD(word_) .word = (word_)
#define RECORD(kind) .record = LS_JOURNAL_EVENT_##kind
#define RECORD_OF_TICK(kind) .record = LS_JOURNAL_EVENT_##kind, .is_of_its_tick = true
#define LINE(level_, line_) .level = LS_LOG_##level_, .line = (line_)
#define SLOT .scope = LS_EVENT_OF_SLOT
#define PEER .scope = LS_EVENT_OF_PEER
#define MATCH .scope = LS_EVENT_OF_MATCH
#define MILD .is_mild_when_planned = true

static const ls_event_row rows[] = {
    [LS_MATCH_PLAYER_SEATED] = {SLOT, RECORD(SEATED),
                                LINE(DEBUG, "slot {slot} is offered to {text}")},
    [LS_MATCH_PLAYER_RETURNED] = {SLOT, WORD("player-returned"), RECORD(RETURNED),
                                  LINE(INFO, "{text} (slot {slot}) is back")},
    [LS_MATCH_PLAYER_READY] = {SLOT, LINE(DEBUG, "{text} (slot {slot}) is ready")},
    [LS_MATCH_PLAYER_LOST] =
        {SLOT, WORD("player-lost"), RECORD(LOST),
         LINE(WARNING, "lost the link to {player} at tick {tick}: {text} ({status}); its seat is "
                       "kept for {keep_s} s")},
    [LS_MATCH_PLAYER_JOINING] = {SLOT, LINE(INFO, "slot {slot} is joining at tick {tick}: {text}")},
    [LS_MATCH_PLAYER_JOINED] = {SLOT, LINE(INFO, "{player} plays from tick {tick} on")},
    [LS_MATCH_PLAYER_LEFT] = {SLOT, WORD("player-left"), RECORD(LEFT), MILD,
                              LINE(WARNING, "{player} left at tick {tick}: {text} ({status})")},
    [LS_MATCH_PLAYER_FINISHED] = {SLOT, LINE(DEBUG, "{player} has reached the final tick")},
    [LS_MATCH_PEER_REFUSED] = {PEER, WORD("client-refused"),
                               LINE(WARNING, "refused a client: {text} ({status})")},
    [LS_MATCH_STARTED] = {MATCH, WORD("match-started"), RECORD(STARTED),
                          LINE(INFO, "the match starts")},
    [LS_MATCH_RESUMED] = {MATCH, WORD("match-resumed"), RECORD_OF_TICK(RESUMED),
                          LINE(INFO, "the match continues at tick {tick}{: text}")},
    [LS_MATCH_STALLED] = {MATCH, RECORD_OF_TICK(STALLED),
                          LINE(WARNING, "waiting for {waited for}: no input for tick {tick} "
                                        "({waited_ms} ms)")},
    [LS_MATCH_DESYNC] = {SLOT, WORD("desync"), RECORD_OF_TICK(DESYNC)},
    [LS_MATCH_DESYNC_VALUES] = {SLOT},
    [LS_MATCH_DESYNC_CAUSE] = {SLOT, WORD("desync-cause"), RECORD_OF_TICK(CAUSE)},
    [LS_MATCH_HEALED] = {SLOT, WORD("player-healed"), RECORD_OF_TICK(HEALED),
                         LINE(WARNING, "{player} was healed and agrees from tick {tick} on")},
    [LS_MATCH_LAG] = {SLOT, LINE(INFO, "{player}: {text}")},
    [LS_MATCH_DELAYED] = {SLOT, LINE(INFO, "{player}: {text}")},
    [LS_MATCH_ENDED] = {MATCH, WORD("match-ended"), RECORD_OF_TICK(ENDED),
                        LINE(INFO, "the match has ended: its final tick is {tick}")},
    [LS_MATCH_FINISHED] = {MATCH},
    [LS_MATCH_SPECTATOR_CAME] = {PEER, LINE(INFO, "spectator {text}, is sent the ticks from {tick} "
                                                  "on")},
    [LS_MATCH_SPECTATOR_LEFT] = {PEER, MILD,
                                 LINE(WARNING, "spectator {text} ({status}, at tick {tick})")},
    [LS_MATCH_SECRET_PROVEN] = {SLOT, RECORD(SECRET_PROVEN)},
    [LS_MATCH_PAUSED] = {MATCH, WORD("match-paused"),
                         LINE(INFO, "the match is paused at tick {tick}{: text}")},
    [LS_MATCH_UNPAUSED] = {MATCH, WORD("match-unpaused"),
                           LINE(INFO, "the match goes on at tick {tick}{: text}")},
    [LS_MATCH_SUSPENDED] = {MATCH, WORD("match-saved"),
                            LINE(INFO, "the match is saved at tick {tick}{: text}")},
    [LS_MATCH_HEALING] = {SLOT,
                          LINE(WARNING,
                               "{player} is healed {text} from tick {tick} on (no more than 3 "
                               "healings in 10 s, then one in 2 s)")},
    [LS_MATCH_ENDS_SOON] = {MATCH, WORD("match-ends-soon"),
                            LINE(WARNING, "the match ends at {text}, since no tick has a higher "
                                          "number; start another one before")},
    [LS_MATCH_UNNAMED_WRITE] = {MATCH, WORD("unnamed-write"), LINE(WARNING, "{text}")},
    [LS_MATCH_CHAT] = {MATCH}, /* what players say is not written down */
};

static const ls_event_row newcomer_is_ready = {SLOT, WORD("player-joined"),
                                               LINE(INFO, "{text} (slot {slot}) joined")};

static const ls_event_row newcomer_has_left = {
    SLOT, RECORD(TURNED_AWAY), MILD,
    LINE(WARNING, "a client did not take the seat that it was offered (slot {slot}): {text} "
                  "({status})")};

const ls_event_row *ls_event_row_of(const ls_match_event *event)
{
    if (event->was_coming && event->kind == LS_MATCH_PLAYER_READY) {
        return &newcomer_is_ready;
    }
    if (event->was_coming && event->kind == LS_MATCH_PLAYER_LEFT) {
        return &newcomer_has_left;
    }
    return &rows[event->kind];
}

ls_log_budget *ls_output_limits_lines(ls_log_budget *slots, ls_log_budget *peers,
                                      const ls_match_event *event)
{
    ls_event_scope scope = ls_event_row_of(event)->scope;
    bool is_limited = scope == LS_EVENT_OF_SLOT && !LS_FAULT(LINES_UNLIMITED);
    return scope == LS_EVENT_OF_PEER ? peers : is_limited ? &slots[event->slot] : NULL;
}

bool ls_output_limits_reserve_bundle(uint32_t *bundles)
{
    bool may_be = *bundles < LS_SLOT_BUNDLES_MAX || LS_FAULT(BUNDLES_UNLIMITED);
    *bundles += may_be ? 1 : 0;
    return may_be;
}
