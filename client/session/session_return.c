#include "lockstep/client/session/session_state.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"

#include <string.h>

#define SILENCE_MIN_NS LS_NS_PER_SECOND
#define PAUSE_MIN_NS (UINT64_C(250) * LS_NS_PER_MS)
#define PAUSE_MAX_NS (UINT64_C(4) * LS_NS_PER_SECOND)

enum {
    SILENCE_SHARE = 5, /* of the timeout */
};

/* ---- losing it ---- */

uint64_t ls_session_return_silence_ns(const ls_session *session)
{
    ls_session_state state = session->report.state;
    uint64_t timeout_ns = session->offer.timeout_ms * LS_NS_PER_MS;
    bool is_to_return = session->config.reconnect_ms > 0 &&
                        (state == LS_SESSION_PLAYING || state == LS_SESSION_JOINING ||
                         state == LS_SESSION_RECONNECTING);
    if (!is_to_return) {
        return timeout_ns;
    }
    uint64_t silence_ns = timeout_ns / SILENCE_SHARE;
    return silence_ns > SILENCE_MIN_NS ? silence_ns : SILENCE_MIN_NS;
}

bool ls_session_return_is_complete(const ls_session *session)
{
    return session->report.state == LS_SESSION_RECONNECTING && session->report.has_end &&
           !session->back.has_no_state &&
           ls_session_settled_tick(session) >= session->report.end.final_tick;
}

static void give_up_returning(ls_session *session)
{
    ls_text why = {{0}};
    if (ls_session_return_is_complete(session)) {
        ls_session_end(session, LS_OK, "the match is complete");
        return;
    }
    ls_text_set(&why, "the link was lost (%s) and could not be made again within %u s",
                ls_status_name(session->back.status), session->config.reconnect_ms / 1000);
    ls_session_end(session, session->back.status, why.bytes);
}

static void close_link(ls_session *session)
{
    ls_session_outbox_disconnect(session->outbox);
    session->back.is_greeted = false;
    session->back.is_seated = false;
}

static void plan_attempt(ls_session *session, ls_status status, const char *why)
{
    session_return *back = &session->back;
    back->retry_ns = session->now_ns + back->pause_ns;
    ls_session_event *event = ls_session_outbox_push_event(session->outbox, LS_SESSION_EVENT_LOST);
    event->status = status;
    event->tick = ls_confirmed_ticks_end(session->ticks);
    event->tick_chain = ls_confirmed_ticks_chain(session->ticks);
    event->retry_in_ns = back->pause_ns;
    event->away_ns = session->now_ns - back->lost_ns;
    ls_text_set(&event->text, "%s", why);
    back->pause_ns = 2 * back->pause_ns < PAUSE_MAX_NS ? 2 * back->pause_ns : PAUSE_MAX_NS;
}

/* A seat in a lobby is nobody's before START, and a claim would tell the lobby of a server that
 * came back that the match had begun. */
static bool may_claim(const ls_session *session)
{
    bool is_running = session->offer.is_running && !session->config.is_spectator;
    return !session->back.is_unstarted || is_running;
}

/* What was on its way when the link was lost comes from the beginning next time; what it leads to
 * is kept once it is there. */
static void begin_returning(ls_session *session, ls_status status)
{
    session_return *back = &session->back;
    back->status = status;
    back->pause_ns = PAUSE_MIN_NS;
    if (back->lost_ns == 0) {
        back->lost_ns = session->now_ns;
    }
    back->is_unstarted = session->report.state == LS_SESSION_SEATED;
    back->has_claim = may_claim(session);
    session->report.state = LS_SESSION_RECONNECTING;
    session->frame_ns = session->drawn_ns;
    ls_confirmed_ticks_disconnect(session->ticks);
    bool is_on_its_way = session->joining && !session->joining->has_state;
    if (is_on_its_way || ls_confirmed_ticks_lack_base(session->ticks)) {
        ls_session_join_hold_nothing(session);
    }
}

bool ls_session_return_lose(ls_session *session, ls_status status, const char *why)
{
    ls_session_state state = session->report.state;
    if (session->config.reconnect_ms == 0) {
        return false;
    }
    if (state == LS_SESSION_RECONNECTING) {
        if (session->now_ns < session->back.retry_ns) {
            return true; /* the connection that was given up already */
        }
        session->back.has_claim = session->back.has_claim && status != LS_NOT_FOUND;
    } else if (state == LS_SESSION_SEATED || state == LS_SESSION_PLAYING ||
               state == LS_SESSION_JOINING) {
        begin_returning(session, status);
    } else {
        return false;
    }
    close_link(session);
    plan_attempt(session, status, why);
    return true;
}

bool ls_session_return_outlives(const ls_session *session, ls_status refusal)
{
    bool is_attempt = session->report.state == LS_SESSION_RECONNECTING;
    bool is_newcomer = is_attempt && session->back.is_unstarted && session->back.has_claim;
    return refusal == LS_TIMED_OUT || (is_attempt && refusal == LS_MATCH_FULL) ||
           (is_newcomer && refusal == LS_NOT_FOUND) || /* it may come anew all the same */
           (session->config.is_spectator && refusal == LS_FELL_BEHIND);
}

/* ---- coming back ---- */

uint64_t ls_session_reconnect_ns(const ls_session *session)
{
    bool is_waiting = session->report.state == LS_SESSION_RECONNECTING &&
                      !ls_session_outbox_is_connected(session->outbox);
    return is_waiting ? session->back.retry_ns : UINT64_MAX;
}

ls_return ls_session_return_claim(const ls_session *session)
{
    ls_return claim = {0};
    if (session->report.state == LS_SESSION_RECONNECTING && session->back.has_claim) {
        claim.match_id = session->offer.match_id;
        memcpy(claim.secret, session->offer.secret, sizeof claim.secret);
        claim.confirmed = ls_confirmed_ticks_end(session->ticks);
        claim.tick_chain = ls_confirmed_ticks_chain(session->ticks);
        claim.held = ls_confirmed_ticks_held(session->ticks);
        claim.is_desynced = session->report.is_desynced;
    }
    return claim;
}

static bool is_same_match(const ls_offer *left, const ls_offer *offered)
{
    const ls_sim_config *a = &left->config;
    const ls_sim_config *b = &offered->config;
    return left->match_id == offered->match_id &&
           strcmp(left->simulation, offered->simulation) == 0 &&
           left->simulation_version == offered->simulation_version && a->seed == b->seed &&
           a->tick_rate_hz == b->tick_rate_hz && a->players == b->players &&
           a->param_count == b->param_count &&
           memcmp(a->params, b->params, a->param_count * sizeof a->params[0]) == 0 &&
           left->hash_interval_ticks == offered->hash_interval_ticks;
}

ls_status ls_session_return_take_offer(ls_session *session, const ls_offer *offer, ls_text *why)
{
    if (!is_same_match(&session->offer, offer)) {
        ls_text_set(why, "the match that was left is over: the server plays another one");
        return LS_ALREADY_OVER;
    }
    bool is_same_slot = offer->slot == session->offer.slot;
    session->offer = *offer;
    session->report.slot = offer->slot;
    if (!is_same_slot) {
        /* Nobody waits for the other seat's inputs. */
        ls_uplink_forget_inputs(session->uplink);
    }
    ls_uplink_set_input_delay(session->uplink, offer->input_delay_ticks);
    session->back.has_claim = may_claim(session);
    return LS_OK;
}

/* ---- meanwhile ---- */

void ls_session_return_count_stalled(ls_session *session, uint64_t elapsed_ns)
{
    session_return *back = &session->back;
    back->unplayed_ns += elapsed_ns;
    session->report.stalled_ticks += back->unplayed_ns / session->terms.dt_ns;
    back->unplayed_ns %= session->terms.dt_ns;
}

/* What has come before the link was lost is played to its end. */
static void play_what_is_there(ls_session *session)
{
    uint64_t elapsed_ns = session->now_ns - session->frame_ns;
    if (!session->joining && !session->back.has_no_state && !session->prediction) {
        ls_session_step_due(session); /* counts what is stalled itself */
        return;
    }
    session->frame_ns = session->now_ns;
    ls_session_return_count_stalled(session, elapsed_ns);
    if (session->joining) {
        ls_session_join_step(session, elapsed_ns);
    } else if (!session->back.has_no_state) {
        ls_session_predict(session);
    }
}

static void fail_when_silent(ls_session *session)
{
    uint64_t silent_ns = session->now_ns - session->heard_ns;
    if (ls_session_outbox_is_connected(session->outbox) &&
        silent_ns >= ls_session_return_silence_ns(session)) {
        ls_session_return_lose(session, LS_TIMED_OUT, "the server does not answer");
    }
}

void ls_session_return_frame(ls_session *session)
{
    const session_return *back = &session->back;
    if (!back->is_unstarted) {
        play_what_is_there(session);
    }
    if (session->report.state != LS_SESSION_RECONNECTING) {
        return;
    }
    uint32_t planned = session->config.ticks;
    if (planned > 0 && !back->has_no_state && ls_session_settled_tick(session) >= planned) {
        ls_session_leave_as_planned(session, "the player has played as long as planned");
        return;
    }
    if (session->now_ns - back->lost_ns >= session->config.reconnect_ms * LS_NS_PER_MS) {
        give_up_returning(session);
        return;
    }
    fail_when_silent(session);
    if (ls_session_outbox_is_connected(session->outbox) && back->is_seated) {
        ls_session_play_send_in_time(session);
    }
}
