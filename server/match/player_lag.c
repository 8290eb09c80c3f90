#include "lockstep/server/match/player_lag.h"

#include "lockstep/server/match/tick_log.h"

#include <inttypes.h>

void ls_player_lag_begin(ls_player_lag *lag, const ls_match *match, bool has_played)
{
    uint32_t input_delay_ticks = match->config.input_delay_ticks;
    /* Ticks that come from clients after a restart may tell of a player whose seat somebody else
     * has taken since: that one has no meter yet. */
    if (has_played && lag->meter.dt_ns > 0) {
        ls_lag_meter_forget_recent(&lag->meter);
    } else {
        ls_lag_meter_init(&lag->meter, match->dt_ns);
    }
    ls_delay_control_init(&lag->delay, input_delay_ticks);
    lag->input_delay_ticks = input_delay_ticks;
}

static void judge(ls_player_lag *lag, const ls_match *match, const ls_lag_figures *recent)
{
    ls_lag before = lag->lag;
    lag->lag = ls_lag_judge(recent, match->config.sim.players - 1);
    bool is_same = lag->lag.cause == before.cause && lag->lag.whom == before.whom;
    ls_tick ticks = (ls_tick)(LS_LAG_STRETCH_NS / match->dt_ns);
    ls_tick first = match->log->next > ticks ? match->log->next - ticks : 0;
    lag->lag.since_tick = is_same ? before.since_tick : first;
    ls_lag_meter_note_verdict(&lag->meter, lag->lag.cause);
}

void ls_player_lag_set_delay(ls_player_lag *lag, const ls_match *match, ls_peer_id peer,
                             uint32_t ticks)
{
    lag->delay.ticks = ticks;
    lag->input_delay_ticks = ticks;
    ls_lag_meter_forget_recent(&lag->meter);
    ls_outbox_message(match->outbox, LS_MESSAGE_INPUT_DELAY)->body.input_delay_ticks = ticks;
    ls_outbox_send(match->outbox, peer);
}

static void adapt_delay(ls_player_lag *lag, const ls_match *match, ls_player_name who,
                        const ls_lag_figures *recent)
{
    uint32_t before = lag->delay.ticks;
    if (!ls_delay_control_update(&lag->delay, recent, &lag->lag)) {
        return;
    }
    ls_player_lag_set_delay(lag, match, who.peer, lag->delay.ticks);
    ls_match_event *event = ls_outbox_push_event(match->outbox, LS_MATCH_DELAYED, who.slot, 0);
    ls_text_set(&event->text, "input delay %" PRIu32 " ticks instead of %" PRIu32, lag->delay.ticks,
                before);
}

bool ls_player_lag_count(ls_player_lag *lag, const ls_match *match, ls_player_name who,
                         ls_lag_tick *tick)
{
    ls_lag_figures recent;
    tick->input_delay_ticks = lag->delay.ticks;
    if (!ls_lag_meter_add_tick(&lag->meter, tick, &recent)) {
        return false;
    }
    judge(lag, match, &recent);
    if (match->config.adapts_input_delay) {
        adapt_delay(lag, match, who, &recent);
    }
    return ls_lag_has_changed(&lag->said, &lag->lag, match->now_ns);
}

void ls_player_lag_forget_connection(ls_player_lag *lag)
{
    lag->delay = (ls_delay_control){0};
    lag->said = (ls_lag_said){0};
    ls_lag_meter_forget_connection(&lag->meter);
}
