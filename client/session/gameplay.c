#include "lockstep/client/session/gameplay.h"

#include "lockstep/client/session/diagnosis.h"
#include "lockstep/client/session/joiner.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/common/time/timestep.h"

#include <string.h>

/* ---- the offer ---- */

/* Finds the simulation of the offer. */
static ls_status check_offer(ls_session *session, ls_text *why)
{
    ls_offer *offer = &session->offer;
    const ls_session_config *config = &session->config;
    const ls_simulation *found = config->find_simulation(config->user, offer->simulation);
    if (!found) {
        return ls_fail(LS_SIMULATION_MISMATCH, why,
                       "simulation: the server plays '%s', which this client does not have",
                       offer->simulation);
    }
    if (found->version != offer->simulation_version) {
        return ls_fail(LS_SIMULATION_VERSION_MISMATCH, why,
                       "simulation version: client %u, server %u", found->version,
                       offer->simulation_version);
    }
    ls_status status = ls_sim_files_provide(config->files, found, &offer->config, why);
    if (status != LS_OK) {
        return status;
    }
    ls_text fault = {{0}};
    if (ls_sim_config_check(found, &offer->config, &fault) != LS_OK) {
        return ls_fail(LS_PARAMETER_MISMATCH, why,
                       "simulation parameters: the client cannot take the server's: %s",
                       fault.bytes);
    }
    session->simulation = found;
    return LS_OK;
}

static bool is_same_match(const ls_offer *left, const ls_offer *offered)
{
    return left->match_id == offered->match_id &&
           strcmp(left->simulation, offered->simulation) == 0 &&
           left->simulation_version == offered->simulation_version &&
           ls_sim_config_is_equal(&left->config, &offered->config) &&
           left->hash_interval_ticks == offered->hash_interval_ticks;
}

ls_status ls_gameplay_receive_offer(ls_session *session, const ls_offer *offer, ls_text *why)
{
    if (!is_same_match(&session->offer, offer)) {
        return ls_fail(LS_ALREADY_OVER, why,
                       "the match that was left is over: the server plays another one");
    }
    bool is_same_slot = offer->slot == session->offer.slot;
    const ls_sim_config config = session->offer.config; /* with its files */
    session->offer = *offer;
    session->offer.config = config;
    if (!is_same_slot) {
        ls_uplink_forget_inputs(session->uplink); /* they were for the other seat */
    }
    ls_tick_sync_set_input_delay(session->sync, offer->input_delay_ticks);
    return LS_OK;
}

/* ---- life ---- */

static ls_status create_parts(ls_session *session, ls_text *why)
{
    session->dt_ns = ls_timestep_config_exact(ls_sim_config_rate(&session->offer.config)).dt_ns;
    ls_tick_sync_config sync = {.dt_ns = session->dt_ns,
                                .input_delay_ticks = session->offer.input_delay_ticks,
                                .is_exact = session->config.makes_inputs_between_frames};
    ls_tick_sync_init(&session->own_sync, &sync);
    ls_hash_log_init(&session->own_hashes, session->offer.hash_interval_ticks,
                     ls_sim_instance_digests(session->instance).initial);
    session->sync = &session->own_sync;
    session->hashes = &session->own_hashes;
    ls_status status = ls_confirmed_ticks_create(session, &session->ticks);
    LS_THEN(status, ls_uplink_create(session, &session->uplink));
    LS_THEN(status, ls_stepper_create(session, &session->stepper));
    LS_THEN(status, ls_diagnosis_create(session, &session->diagnosis));
    return status == LS_OK ? LS_OK : ls_fail(status, why, "%s", ls_status_text(status));
}

ls_status ls_gameplay_create(ls_session *session, const ls_offer *offer, ls_text *why)
{
    session->offer = *offer;
    session->end.final_tick = UINT32_MAX;
    ls_status status = check_offer(session, why);
    LS_THEN(status, ls_sim_instance_create(session->simulation, &session->offer.config,
                                           session->allocator, &session->instance, why));
    if (status == LS_OK && session->offer.trusts_writes) {
        status = ls_sim_instance_trust_writes(session->instance);
    }
    LS_THEN(status, create_parts(session, why));
    session->has_gameplay = status == LS_OK;
    return status;
}

void ls_gameplay_destroy(ls_session *session)
{
    ls_joiner_destroy(session->joiner);
    ls_diagnosis_destroy(session->diagnosis);
    ls_stepper_destroy(session->stepper);
    ls_uplink_destroy(session->uplink);
    ls_confirmed_ticks_destroy(session->ticks);
    ls_sim_instance_destroy(session->instance);
}

/* ---- the link ---- */

static void destroy_joiner(ls_session *session)
{
    ls_joiner_destroy(session->joiner);
    session->joiner = NULL;
}

/* A session that is healed plays on with the state that differs, unless it has left that already:
 * then it is on its way like one that joins. */
static void stop_healing(ls_session *session)
{
    if (session->joiner && ls_joiner_is_healing(session->joiner) &&
        !ls_joiner_has_state(session->joiner)) {
        destroy_joiner(session);
    }
}

/* A snapshot or history that was on its way comes from the beginning next time; the state that it
 * leads to is kept once it is there. Without a state, and without the inputs that the next tick is
 * coded against, nothing that is held can be built on. */
void ls_gameplay_lose_link(ls_session *session)
{
    session->played_ns = session->drawn_ns;
    ls_confirmed_ticks_disconnect(session->ticks);
    stop_healing(session);
    bool is_on_its_way = session->joiner && !ls_joiner_has_state(session->joiner);
    bool is_anew = ls_confirmed_ticks_lack_base(session->ticks);
    /* A player is sent the rest of its state, and goes on with the ticks that have come. */
    if (is_anew || (is_on_its_way && session->config.is_spectator)) {
        destroy_joiner(session);
        session->is_stateless = true;
        ls_confirmed_ticks_restart(session->ticks, 0, LS_TICK_CHAIN_START);
        ls_uplink_forget_inputs(session->uplink);
        ls_hash_log_restart(session->hashes);
        ls_stepper_end_catch_up(session->stepper);
    }
}

/* ---- getting into the match ---- */

static void begin(ls_session *session)
{
    session->played_ns = session->now_ns;
    ls_uplink_begin(session->uplink);
    ls_stepper_begin(session->stepper);
}

void ls_gameplay_start(ls_session *session, const ls_start *start)
{
    begin(session);
    session->frames_before = session->frames;
    ls_tick_sync_start(session->sync, session->now_ns + start->delay_us * LS_NS_PER_US);
    ls_session_outbox_push_event(session->outbox, LS_SESSION_EVENT_STARTED);
}

static ls_gameplay_outcome fail(ls_session *session, ls_status status, const char *why)
{
    ls_failure *failure = &session->failure;
    failure->status = ls_fail(status, &failure->why, "%s", why);
    return LS_GAMEPLAY_FAILED;
}

static ls_status start_joiner(ls_session *session, const ls_join *join)
{
    if (session->joiner && (join->source == LS_JOIN_HELD || join->source == LS_JOIN_REST)) {
        ls_joiner_resume(session->joiner, join);
        return LS_OK;
    }
    destroy_joiner(session);
    return ls_joiner_create(session, join, &session->joiner);
}

static uint64_t away_ns(const ls_session *session)
{
    return session->lost_ns > 0 ? session->now_ns - session->lost_ns : 0;
}

ls_gameplay_outcome ls_gameplay_join(ls_session *session, const ls_join *join, uint64_t rtt_ns)
{
    const char *fault = ls_joiner_check(session, join);
    if (fault) {
        return fail(session, LS_MISBEHAVED, fault);
    }
    ls_status status = start_joiner(session, join);
    if (status != LS_OK) {
        return fail(session, status, ls_status_text(status));
    }
    ls_tick_sync_limit_rtt(session->sync, rtt_ns);
    ls_diagnosis_reset(session->diagnosis);
    session->is_stateless = false;
    session->played_ns = session->now_ns;
    /* The match runs. One whose server was killed before the end was on its disk has no end yet. */
    session->has_end = false;
    session->end.final_tick = UINT32_MAX;
    session->frames_before = session->frames;
    ls_session_event *event =
        ls_session_outbox_push_event(session->outbox, LS_SESSION_EVENT_JOINING);
    event->join = *join;
    event->away_ns = away_ns(session);
    ls_uplink_send(session->uplink);
    return LS_GAMEPLAY_GOES_ON;
}

/* The session is where the match is. */
static void arrive(ls_session *session)
{
    ls_tick tick = ls_stepper_tick(session->stepper);
    LS_ASSERT(tick == ls_confirmed_ticks_end(session->ticks));
    ls_joiner_announce(session->joiner);
    destroy_joiner(session);
    ls_stepper_end_catch_up(session->stepper);
    begin(session);
    ls_session_event *event =
        ls_session_outbox_push_event(session->outbox, LS_SESSION_EVENT_JOINED);
    event->tick = tick;
    event->away_ns = away_ns(session);
    session->joined_tick = tick;
}

/* ---- healing ---- */

static bool is_healing(const ls_session *session)
{
    return session->joiner && ls_joiner_is_healing(session->joiner);
}

/* After the end nothing is healed: the server does not wait for it. */
static ls_status start_healing(ls_session *session, const ls_heal_snapshot *heal)
{
    if (session->state != LS_SESSION_PLAYING || session->config.is_spectator || session->joiner) {
        return LS_MALFORMED;
    }
    if (session->has_end) {
        return LS_OK;
    }
    ls_status status = ls_joiner_create_healing(session, heal, &session->joiner);
    if (status == LS_MALFORMED) {
        return status;
    }
    if (status != LS_OK) {
        ls_session_outbox_begin(session->outbox, LS_MESSAGE_HEALED)->body.healed =
            (ls_healed){.tick = heal->tick, .is_equal = false};
        ls_session_outbox_send(session->outbox);
    }
    return LS_OK;
}

/* The session has the server's state, and is where it was. */
static void end_healing(ls_session *session)
{
    ls_tick tick = session->hashes->tick;
    ls_joiner_announce_healed(session->joiner, true);
    destroy_joiner(session);
    ls_stepper_end_catch_up(session->stepper);
    ls_stepper_begin(session->stepper);
    ls_diagnosis_reset(session->diagnosis);
    ls_diagnosis_note_healed(session->diagnosis, tick);
}

/* ---- receiving ---- */

ls_status ls_gameplay_receive(ls_session *session, const ls_message *message)
{
    bool is_notice = message->kind == LS_MESSAGE_DESYNC || message->kind == LS_MESSAGE_DESYNC_CAUSE;
    switch (message->kind) {
    case LS_MESSAGE_HASH_REQUEST:
        ls_diagnosis_expect(session->diagnosis, message->body.hash_request.first);
        ls_hash_log_send(session->hashes, &message->body.hash_request, session->outbox);
        return LS_OK;
    case LS_MESSAGE_END:
        session->has_end = true;
        session->end = message->body.end;
        stop_healing(session);
        ls_session_outbox_push_event(session->outbox, LS_SESSION_EVENT_ENDED)->end = session->end;
        return LS_OK;
    case LS_MESSAGE_INPUT_DELAY:
        session->offer.input_delay_ticks = message->body.input_delay_ticks;
        ls_tick_sync_set_input_delay(session->sync, message->body.input_delay_ticks);
        return LS_OK;
    case LS_MESSAGE_WAITING:
        ls_session_outbox_push_event(session->outbox, LS_SESSION_EVENT_WAITING)->waiting =
            message->body.waiting;
        return LS_OK;
    case LS_MESSAGE_LAG:
        session->lag = message->body.lag;
        ls_session_outbox_push_event(session->outbox, LS_SESSION_EVENT_LAG)->lag = session->lag;
        return LS_OK;
    case LS_MESSAGE_HEAL_SNAPSHOT:
        return start_healing(session, &message->body.heal_snapshot);
    default:
        if (session->joiner && !is_healing(session) && !is_notice) {
            return LS_MALFORMED; /* no state of this session was compared yet */
        }
        return ls_diagnosis_receive(session->diagnosis, message);
    }
}

LS_TICK_CODE ls_gameplay_outcome ls_gameplay_receive_packet(ls_session *session, uint32_t kind,
                                                            const uint8_t *bytes, size_t size,
                                                            ls_status *status)
{
    ls_failure *failure = &session->failure;
    if (kind == LS_MESSAGE_BLOB_PART) {
        /* A part that comes after the session has got there is not needed any more. */
        *status = session->joiner ? ls_joiner_receive_part(session->joiner, bytes, size) : LS_STALE;
        return LS_GAMEPLAY_GOES_ON;
    }
    ls_confirmed_packet packet;
    *status = ls_confirmed_ticks_receive(session->ticks, kind, bytes, size, &packet);
    for (ls_tick tick = packet.first; tick < packet.end; tick++) {
        ls_stepper_add_arrival(session->stepper, tick);
    }
    ls_uplink_receive_packet(session->uplink, &packet);
    bool is_joining = session->joiner && ls_joiner_has_state(session->joiner);
    is_joining = is_joining || (session->joiner && !ls_joiner_is_healing(session->joiner));
    failure->status = is_joining ? ls_joiner_check_backlog(session->joiner, &failure->why) : LS_OK;
    return failure->status == LS_OK ? LS_GAMEPLAY_GOES_ON : LS_GAMEPLAY_FAILED;
}

/* ---- frames ---- */

/* Every tick that this player wants to play has been stepped. */
static bool has_played_enough(const ls_session *session)
{
    uint32_t planned = session->config.ticks;
    return planned > 0 && ls_stepper_tick(session->stepper) >= planned;
}

bool ls_gameplay_is_complete(const ls_session *session)
{
    return session->has_end && !session->is_stateless &&
           ls_stepper_tick(session->stepper) >= session->end.final_tick;
}

static uint32_t microseconds(uint64_t ns)
{
    return (uint32_t)LS_MIN(ns / LS_NS_PER_US, UINT32_MAX);
}

static void send_finished(ls_session *session)
{
    ls_session_report report = {0};
    ls_gameplay_report(session, &report);
    ls_uplink_send(session->uplink);
    ls_session_outbox_begin(session->outbox, LS_MESSAGE_FINISHED)->body.finished =
        (ls_finished){.tick = report.tick,
                      .state_hash = ls_sim_instance_hash(session->instance),
                      .chain_tick = session->hashes->tick,
                      .chain = (uint32_t)session->hashes->chain,
                      .stalled_ticks = (uint32_t)report.stalled_ticks,
                      .confirm_latency_p50_us = microseconds(report.confirm_latency_p50_ns),
                      .confirm_latency_p99_us = microseconds(report.confirm_latency_p99_ns),
                      .confirm_latency_max_us = microseconds(report.confirm_latency_max_ns),
                      .rtt_us = microseconds(report.rtt_ns),
                      .frames = (uint32_t)(session->frames - session->frames_before)};
    ls_session_outbox_send(session->outbox);
}

static void send_due(ls_session *session)
{
    ls_uplink_send_due(session->uplink);
    ls_uplink_send_in_time(session->uplink);
}

LS_TICK_CODE static ls_gameplay_outcome step(ls_session *session, uint64_t elapsed_ns)
{
    ls_status status = ls_stepper_frame(session->stepper, elapsed_ns);
    return status == LS_OK
               ? LS_GAMEPLAY_GOES_ON
               : fail(session, status, "the simulation cannot load the state that it saved");
}

static ls_gameplay_outcome step_joining(ls_session *session, uint64_t elapsed_ns)
{
    ls_failure *failure = &session->failure;
    failure->status = ls_joiner_frame(session->joiner, elapsed_ns, &failure->why);
    return failure->status == LS_OK ? LS_GAMEPLAY_GOES_ON : LS_GAMEPLAY_FAILED;
}

static ls_gameplay_outcome joining_frame(ls_session *session, uint64_t elapsed_ns)
{
    if (session->lost_ns > 0) {
        ls_stepper_count_stalled(session->stepper, elapsed_ns);
    }
    if (step_joining(session, elapsed_ns) == LS_GAMEPLAY_FAILED) {
        return LS_GAMEPLAY_FAILED;
    }
    if (ls_joiner_has_state(session->joiner) && has_played_enough(session)) {
        return LS_GAMEPLAY_ENOUGH;
    }
    if (ls_joiner_is_done(session->joiner)) {
        arrive(session);
        return LS_GAMEPLAY_ARRIVED;
    }
    send_due(session);
    return LS_GAMEPLAY_GOES_ON;
}

/* Until the server's state is there the one that differs is played. */
static ls_gameplay_outcome healing_frame(ls_session *session, uint64_t elapsed_ns)
{
    ls_text why;
    if (ls_joiner_check_backlog(session->joiner, &why) != LS_OK &&
        !ls_joiner_has_state(session->joiner)) {
        ls_joiner_announce_healed(session->joiner, false);
        destroy_joiner(session);
    } else if (step_joining(session, elapsed_ns) == LS_GAMEPLAY_FAILED) {
        return LS_GAMEPLAY_FAILED;
    } else if (ls_joiner_has_state(session->joiner)) {
        if (ls_joiner_is_done(session->joiner)) {
            end_healing(session);
        }
        return LS_GAMEPLAY_GOES_ON;
    }
    return step(session, elapsed_ns);
}

static ls_gameplay_outcome playing_frame(ls_session *session, uint64_t elapsed_ns)
{
    ls_gameplay_outcome outcome = LS_GAMEPLAY_GOES_ON;
    if (!session->config.is_spectator) {
        ls_uplink_make(session->uplink);
    }
    outcome = session->joiner ? healing_frame(session, elapsed_ns) : step(session, elapsed_ns);
    if (outcome == LS_GAMEPLAY_FAILED) {
        return outcome;
    }
    if (ls_gameplay_is_complete(session)) {
        send_finished(session);
        outcome = LS_GAMEPLAY_FINISHED;
    } else if (has_played_enough(session)) {
        return LS_GAMEPLAY_ENOUGH;
    } else {
        send_due(session);
    }
    ls_diagnosis_frame(session->diagnosis);
    return outcome;
}

/* The ticks that came before the link was lost are played to their end. */
static ls_gameplay_outcome frame_without_link(ls_session *session, uint64_t elapsed_ns)
{
    ls_stepper *stepper = session->stepper;
    ls_gameplay_outcome outcome = LS_GAMEPLAY_GOES_ON;
    bool is_stepped = !session->joiner && !session->is_stateless;
    if (!is_stepped || ls_stepper_predicts(stepper)) {
        ls_stepper_count_stalled(stepper, elapsed_ns);
    }
    if (session->joiner) {
        outcome = step_joining(session, elapsed_ns);
    } else if (is_stepped) {
        outcome = step(session, elapsed_ns);
    }
    bool is_enough = !session->is_stateless && has_played_enough(session);
    return outcome == LS_GAMEPLAY_GOES_ON && is_enough ? LS_GAMEPLAY_ENOUGH : outcome;
}

ls_gameplay_outcome ls_gameplay_frame(ls_session *session)
{
    uint64_t elapsed_ns = session->now_ns - session->played_ns;
    session->played_ns = session->now_ns;
    switch (session->state) {
    case LS_SESSION_JOINING:
        return joining_frame(session, elapsed_ns);
    case LS_SESSION_PLAYING:
        return playing_frame(session, elapsed_ns);
    case LS_SESSION_FINISHED:
        /* Packets go on until the server closes the connection: a bad moment of the link passes
         * with them. */
        ls_diagnosis_frame(session->diagnosis);
        ls_uplink_send_in_time(session->uplink);
        return LS_GAMEPLAY_GOES_ON;
    default:
        return frame_without_link(session, elapsed_ns);
    }
}

/* ---- between frames ---- */

void ls_gameplay_update(ls_session *session)
{
    if (session->state == LS_SESSION_JOINING) {
        ls_joiner_acknowledge(session->joiner);
        return;
    }
    if (session->joiner) {
        ls_joiner_acknowledge(session->joiner);
    }
    ls_uplink_make(session->uplink);
    ls_uplink_send_due(session->uplink);
}

uint64_t ls_gameplay_next_ns(const ls_session *session)
{
    if (session->state == LS_SESSION_JOINING) {
        return ls_joiner_next_ns(session->joiner);
    }
    uint64_t part_ns = session->joiner ? ls_joiner_next_ns(session->joiner) : UINT64_MAX;
    uint64_t input_ns =
        session->config.is_spectator ? UINT64_MAX : ls_uplink_next_ns(session->uplink);
    return LS_MIN(part_ns, input_ns);
}

bool ls_gameplay_may_packets_wait(const ls_session *session)
{
    return !session->joiner &&
           (session->config.is_spectator || ls_uplink_is_by_clock(session->uplink));
}

/* ---- reading ---- */

void ls_gameplay_claim(const ls_session *session, ls_return *claim)
{
    claim->match_id = session->offer.match_id;
    memcpy(claim->secret, session->offer.secret, sizeof claim->secret);
    claim->confirmed = ls_confirmed_ticks_end(session->ticks);
    claim->tick_chain = ls_confirmed_ticks_chain(session->ticks);
    claim->held = ls_confirmed_ticks_held(session->ticks);
    claim->is_joining = session->joiner && !ls_joiner_has_state(session->joiner);
    claim->is_desynced = ls_diagnosis_is_desynced(session->diagnosis);
    claim->hashed_tick = session->hashes->tick;
    claim->hash_chain = (uint32_t)session->hashes->chain;
    claim->has_seal = ls_confirmed_ticks_seal(session->ticks, &claim->sealed_tick, &claim->seal);
}

/* Where half of the inputs are confirmed later than guesses reach: as many as for 99 of 100. */
static uint32_t suggest_predict_ticks(const ls_session *session, const ls_session_report *report)
{
    uint64_t usual_ticks = report->confirm_latency_p50_ns / session->dt_ns + 1;
    uint64_t ticks = report->confirm_latency_p99_ns / session->dt_ns + 1;
    bool is_short = report->has_prediction && usual_ticks > session->config.predict_ticks &&
                    session->config.predict_ticks < LS_PREDICT_TICKS_MAX;
    return is_short ? (uint32_t)LS_MIN(ticks, LS_PREDICT_TICKS_MAX) : 0;
}

void ls_gameplay_report(const ls_session *session, ls_session_report *report)
{
    report->slot = session->offer.slot;
    report->lag = session->lag;
    report->joined_tick = session->joined_tick;
    if (session->has_end) {
        report->has_end = true;
        report->end = session->end;
    }
    report->confirmed = ls_confirmed_ticks_end(session->ticks);
    report->downlink = ls_link_meter_figures(ls_confirmed_ticks_downlink(session->ticks));
    ls_uplink_report(session->uplink, report);
    ls_stepper_report(session->stepper, report);
    report->suggested_predict_ticks = suggest_predict_ticks(session, report);
    ls_diagnosis_report(session->diagnosis, report);
    if (session->joiner) {
        ls_joiner_report(session->joiner, report);
    }
}
