#include "lockstep/client/session/gameplay.h"

#include "lockstep/client/session/diagnosis.h"
#include "lockstep/client/session/joiner.h"
#include "lockstep/client/session/session_offer.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/simulation/tick_chain.h"
#include "lockstep/common/time/timestep.h"

#include <string.h>

struct ls_gameplay {
    ls_session_context context;
    ls_diagnosis *diagnosis;
    ls_joiner *joiner; /* NULL: the session is where the match is, or was, or has no state */
    bool is_stateless; /* nothing is held that the server could build on */
    bool has_end;
    ls_end end;
    ls_tick joined_tick;
    uint64_t played_ns;     /* up to here the time has been played */
    uint64_t frames_before; /* drawn before the match began */
};

/* ---- life ---- */

static ls_status create_parts(ls_gameplay *gameplay)
{
    ls_session_context *context = &gameplay->context;
    ls_status status = ls_hash_log_create(context->offer.hash_interval_ticks,
                                          ls_sim_instance_digests(context->instance).initial,
                                          context->allocator, &context->hashes);
    if (status == LS_OK) {
        status = ls_confirmed_ticks_create(context, &context->ticks);
    }
    if (status == LS_OK) {
        status = ls_uplink_create(context, &context->uplink);
    }
    if (status == LS_OK) {
        status = ls_stepper_create(context, &context->stepper);
    }
    if (status == LS_OK) {
        status = ls_diagnosis_create(context, &gameplay->diagnosis);
    }
    return status;
}

static ls_status fill_in(ls_gameplay *gameplay, ls_text *why)
{
    ls_session_context *context = &gameplay->context;
    ls_status status =
        ls_session_offer_check(context->config, &context->offer, &context->simulation, why);
    if (status == LS_OK) {
        status = ls_sim_instance_create(context->simulation, &context->offer.config,
                                        context->allocator, &context->instance, why);
    }
    if (status != LS_OK) {
        return status;
    }
    context->dt_ns = ls_timestep_config_default(context->offer.config.tick_rate_hz).dt_ns;
    status = create_parts(gameplay);
    if (status != LS_OK) {
        ls_text_set(why, "%s", ls_status_text(status));
    }
    return status;
}

ls_status ls_gameplay_create(const ls_session_config *config, const ls_offer *offer,
                             ls_session_outbox *outbox, const ls_allocator *allocator,
                             ls_gameplay **out, ls_text *why)
{
    ls_gameplay *gameplay = ls_allocate(allocator, sizeof *gameplay);
    if (!gameplay) {
        ls_text_set(why, "%s", ls_status_text(LS_NO_MEMORY));
        return LS_NO_MEMORY;
    }
    gameplay->context = (ls_session_context){
        .allocator = allocator, .config = config, .offer = *offer, .outbox = outbox};
    ls_status status = fill_in(gameplay, why);
    if (status != LS_OK) {
        ls_gameplay_destroy(gameplay);
        return status;
    }
    *out = gameplay;
    return LS_OK;
}

void ls_gameplay_destroy(ls_gameplay *gameplay)
{
    if (!gameplay) {
        return;
    }
    const ls_session_context *context = &gameplay->context;
    ls_joiner_destroy(gameplay->joiner);
    ls_diagnosis_destroy(gameplay->diagnosis);
    ls_stepper_destroy(context->stepper);
    ls_uplink_destroy(context->uplink);
    ls_confirmed_ticks_destroy(context->ticks);
    ls_hash_log_destroy(context->hashes);
    ls_sim_instance_destroy(context->instance);
    ls_release(context->allocator, gameplay);
}

void ls_gameplay_end(ls_gameplay *gameplay)
{
    ls_stepper_drop_guesses(gameplay->context.stepper);
}

/* ---- the link ---- */

ls_status ls_gameplay_take_offer(ls_gameplay *gameplay, const ls_offer *offer, ls_text *why)
{
    ls_session_context *context = &gameplay->context;
    ls_status status = ls_session_offer_compare(&context->offer, offer, why);
    if (status != LS_OK) {
        return status;
    }
    bool is_same_slot = offer->slot == context->offer.slot;
    context->offer = *offer;
    if (!is_same_slot) {
        ls_uplink_forget_inputs(context->uplink); /* they were for the other seat */
    }
    ls_uplink_set_input_delay(context->uplink, offer->input_delay_ticks);
    return LS_OK;
}

static void destroy_joiner(ls_gameplay *gameplay)
{
    ls_joiner_destroy(gameplay->joiner);
    gameplay->joiner = NULL;
}

/* A snapshot or history that was on its way comes from the beginning next time; the state that it
 * leads to is kept once it is there. Without a state, and without the inputs that the next tick is
 * coded against, nothing that is held can be built on. */
void ls_gameplay_lose_link(ls_gameplay *gameplay, const ls_session_moment *moment)
{
    const ls_session_context *context = &gameplay->context;
    gameplay->played_ns = moment->drawn_ns;
    ls_confirmed_ticks_disconnect(context->ticks);
    bool is_on_its_way = gameplay->joiner && !ls_joiner_has_state(gameplay->joiner);
    if (is_on_its_way || ls_confirmed_ticks_lack_base(context->ticks)) {
        destroy_joiner(gameplay);
        gameplay->is_stateless = true;
        ls_confirmed_ticks_restart(context->ticks, 0, LS_TICK_CHAIN_START);
        ls_uplink_forget_inputs(context->uplink);
        ls_hash_log_restart(context->hashes);
        ls_stepper_end_catch_up(context->stepper);
    }
}

void ls_gameplay_connect(ls_gameplay *gameplay)
{
    ls_uplink_connect(gameplay->context.uplink);
    ls_confirmed_ticks_connect(gameplay->context.ticks);
}

/* ---- sending ---- */

static bool is_spectator(const ls_gameplay *gameplay)
{
    return gameplay->context.config->is_spectator;
}

static ls_tick final_tick(const ls_gameplay *gameplay)
{
    return gameplay->has_end ? gameplay->end.final_tick : UINT32_MAX;
}

static ls_uplink_moment uplink_moment(const ls_gameplay *gameplay, const ls_session_moment *moment)
{
    bool is_playing = moment->state == LS_SESSION_PLAYING;
    return (ls_uplink_moment){.now_ns = moment->now_ns,
                              .drawn_ns = moment->drawn_ns,
                              .is_in_match = is_playing || moment->state == LS_SESSION_JOINING ||
                                             moment->state == LS_SESSION_FINISHED,
                              .is_playing = is_playing && !is_spectator(gameplay),
                              .end = final_tick(gameplay),
                              .stalled_ticks = ls_stepper_stalled_ticks(gameplay->context.stepper)};
}

static void send_inputs(ls_gameplay *gameplay, const ls_session_moment *moment)
{
    ls_uplink_moment now = uplink_moment(gameplay, moment);
    ls_uplink_send(gameplay->context.uplink, &now);
}

static void send_due(ls_gameplay *gameplay, const ls_session_moment *moment)
{
    ls_uplink_moment now = uplink_moment(gameplay, moment);
    ls_uplink_send_due(gameplay->context.uplink, &now);
    ls_uplink_send_in_time(gameplay->context.uplink, &now);
}

void ls_gameplay_send_in_time(ls_gameplay *gameplay, const ls_session_moment *moment)
{
    ls_uplink_moment now = uplink_moment(gameplay, moment);
    ls_uplink_send_in_time(gameplay->context.uplink, &now);
}

void ls_gameplay_send_ticks(const ls_gameplay *gameplay, const ls_ticks_request *request)
{
    ls_confirmed_ticks_send(gameplay->context.ticks, request, gameplay->context.outbox);
}

/* ---- getting into the match ---- */

void ls_gameplay_add_rtt(ls_gameplay *gameplay, uint64_t rtt_ns)
{
    ls_uplink_add_rtt(gameplay->context.uplink, rtt_ns);
}

static void begin(ls_gameplay *gameplay, uint64_t now_ns)
{
    gameplay->played_ns = now_ns;
    ls_uplink_begin(gameplay->context.uplink);
    ls_stepper_begin(gameplay->context.stepper);
}

void ls_gameplay_start(ls_gameplay *gameplay, const ls_start *start,
                       const ls_session_moment *moment)
{
    begin(gameplay, moment->now_ns);
    gameplay->frames_before = moment->frames;
    ls_uplink_start(gameplay->context.uplink, moment->now_ns + start->delay_us * LS_NS_PER_US);
    ls_session_outbox_push_event(gameplay->context.outbox, LS_SESSION_EVENT_STARTED);
}

static ls_gameplay_outcome fail(ls_failure *failure, ls_status status, const char *why)
{
    failure->status = status;
    ls_text_set(&failure->why, "%s", why);
    return LS_GAMEPLAY_FAILED;
}

static ls_status start_joiner(ls_gameplay *gameplay, const ls_join *join, uint64_t now_ns)
{
    if (gameplay->joiner && join->source == LS_JOIN_HELD) {
        ls_joiner_resume(gameplay->joiner, join, now_ns);
        return LS_OK;
    }
    destroy_joiner(gameplay);
    return ls_joiner_create(&gameplay->context, join, now_ns, &gameplay->joiner);
}

static uint64_t away_ns(const ls_session_moment *moment)
{
    return moment->lost_ns > 0 ? moment->now_ns - moment->lost_ns : 0;
}

ls_gameplay_outcome ls_gameplay_join(ls_gameplay *gameplay, const ls_join *join, uint64_t rtt_ns,
                                     const ls_session_moment *moment, ls_failure *failure)
{
    const ls_session_context *context = &gameplay->context;
    const char *fault = ls_joiner_check(context, join);
    if (fault) {
        return fail(failure, LS_MISBEHAVED, fault);
    }
    ls_status status = start_joiner(gameplay, join, moment->now_ns);
    if (status != LS_OK) {
        return fail(failure, status, ls_status_text(status));
    }
    ls_uplink_limit_rtt(context->uplink, rtt_ns);
    ls_diagnosis_reset(gameplay->diagnosis);
    gameplay->is_stateless = false;
    gameplay->played_ns = moment->now_ns;
    /* The match runs. One whose server was killed before the end was on its disk has no end yet. */
    gameplay->has_end = false;
    if (moment->lost_ns == 0) {
        gameplay->frames_before = moment->frames;
    }
    ls_session_event *event =
        ls_session_outbox_push_event(context->outbox, LS_SESSION_EVENT_JOINING);
    event->join = *join;
    event->away_ns = away_ns(moment);
    send_inputs(gameplay, moment);
    return LS_GAMEPLAY_GOES_ON;
}

/* The session is where the match is. */
static void arrive(ls_gameplay *gameplay, const ls_session_moment *moment)
{
    const ls_session_context *context = &gameplay->context;
    ls_tick tick = ls_stepper_tick(context->stepper);
    LS_ASSERT(tick == ls_confirmed_ticks_end(context->ticks));
    ls_joiner_announce(gameplay->joiner, moment->lost_ns > 0, moment->now_ns);
    destroy_joiner(gameplay);
    ls_stepper_end_catch_up(context->stepper);
    begin(gameplay, moment->now_ns);
    ls_session_event *event =
        ls_session_outbox_push_event(context->outbox, LS_SESSION_EVENT_JOINED);
    event->tick = tick;
    event->away_ns = away_ns(moment);
    gameplay->joined_tick = tick;
}

/* ---- receiving ---- */

ls_status ls_gameplay_receive(ls_gameplay *gameplay, const ls_message *message,
                              const ls_session_moment *moment)
{
    ls_session_context *context = &gameplay->context;
    bool is_notice = message->kind == LS_MESSAGE_DESYNC || message->kind == LS_MESSAGE_DESYNC_CAUSE;
    switch (message->kind) {
    case LS_MESSAGE_HASH_REQUEST:
        ls_hash_log_send(context->hashes, &message->body.hash_request, context->outbox);
        return LS_OK;
    case LS_MESSAGE_END:
        gameplay->has_end = true;
        gameplay->end = message->body.end;
        ls_session_outbox_push_event(context->outbox, LS_SESSION_EVENT_ENDED)->end = gameplay->end;
        return LS_OK;
    case LS_MESSAGE_INPUT_DELAY:
        context->offer.input_delay_ticks = message->body.input_delay_ticks;
        ls_gameplay_set_input_delay(gameplay, message->body.input_delay_ticks);
        return LS_OK;
    case LS_MESSAGE_WAITING:
        ls_session_outbox_push_event(context->outbox, LS_SESSION_EVENT_WAITING)->waiting =
            message->body.waiting;
        return LS_OK;
    default:
        if (gameplay->joiner && !is_notice) {
            return LS_MALFORMED; /* no state of this session was compared yet */
        }
        return ls_diagnosis_receive(gameplay->diagnosis, message,
                                    moment->state == LS_SESSION_PLAYING, moment->now_ns);
    }
}

ls_gameplay_outcome ls_gameplay_receive_packet(ls_gameplay *gameplay, uint32_t kind,
                                               const uint8_t *bytes, size_t size,
                                               const ls_session_moment *moment, ls_status *status,
                                               ls_failure *failure)
{
    const ls_session_context *context = &gameplay->context;
    uint64_t now_ns = moment->now_ns;
    if (kind == LS_MESSAGE_BLOB_PART) {
        /* A part that comes after the session has got there is not needed any more. */
        *status = gameplay->joiner ? ls_joiner_take_part(gameplay->joiner, bytes, size, now_ns)
                                   : LS_STALE;
        return LS_GAMEPLAY_GOES_ON;
    }
    ls_confirmed_packet packet;
    *status = kind == LS_MESSAGE_TICKS
                  ? ls_confirmed_ticks_receive(context->ticks, bytes, size, now_ns, &packet)
                  : ls_confirmed_ticks_receive_part(context->ticks, bytes, size, now_ns, &packet);
    for (ls_tick tick = packet.first; tick < packet.end; tick++) {
        ls_stepper_add_arrival(context->stepper, tick, now_ns);
    }
    ls_uplink_moment now = uplink_moment(gameplay, moment);
    ls_uplink_take_packet(context->uplink, &packet, &now);
    failure->status =
        gameplay->joiner ? ls_joiner_check_queue(gameplay->joiner, &failure->why) : LS_OK;
    return failure->status == LS_OK ? LS_GAMEPLAY_GOES_ON : LS_GAMEPLAY_FAILED;
}

/* ---- frames ---- */

/* Every tick that this player wants to play has been stepped. */
static bool has_played_enough(const ls_gameplay *gameplay)
{
    uint32_t planned = gameplay->context.config->ticks;
    return planned > 0 && ls_stepper_tick(gameplay->context.stepper) >= planned;
}

bool ls_gameplay_is_complete(const ls_gameplay *gameplay)
{
    return gameplay->has_end && !gameplay->is_stateless &&
           ls_stepper_tick(gameplay->context.stepper) >= gameplay->end.final_tick;
}

static uint32_t microseconds(uint64_t ns)
{
    uint64_t us = ns / LS_NS_PER_US;
    return us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

static void send_finished(ls_gameplay *gameplay, const ls_session_moment *moment)
{
    const ls_session_context *context = &gameplay->context;
    ls_session_report report = {0};
    ls_gameplay_report(gameplay, &report);
    send_inputs(gameplay, moment);
    ls_session_outbox_begin(context->outbox, LS_MESSAGE_FINISHED)->body.finished =
        (ls_finished){.tick = report.tick,
                      .state_hash = ls_stepper_hash(context->stepper),
                      .chain_tick = ls_hash_log_tick(context->hashes),
                      .chain = (uint32_t)ls_hash_log_chain(context->hashes),
                      .stalled_ticks = (uint32_t)report.stalled_ticks,
                      .confirm_latency_p50_us = microseconds(report.confirm_latency_p50_ns),
                      .confirm_latency_p99_us = microseconds(report.confirm_latency_p99_ns),
                      .confirm_latency_max_us = microseconds(report.confirm_latency_max_ns),
                      .rtt_us = microseconds(report.rtt_ns),
                      .frames = (uint32_t)(moment->frames - gameplay->frames_before)};
    ls_session_outbox_send(context->outbox);
}

static ls_gameplay_outcome step(ls_gameplay *gameplay, uint64_t now_ns, uint64_t elapsed_ns,
                                ls_failure *failure)
{
    ls_status status =
        ls_stepper_frame(gameplay->context.stepper, now_ns, elapsed_ns, final_tick(gameplay));
    return status == LS_OK
               ? LS_GAMEPLAY_GOES_ON
               : fail(failure, status, "the simulation cannot load the state that it saved");
}

static ls_gameplay_outcome step_joining(ls_gameplay *gameplay, uint64_t now_ns, uint64_t elapsed_ns,
                                        ls_failure *failure)
{
    failure->status = ls_joiner_frame(gameplay->joiner, now_ns, elapsed_ns, &failure->why);
    return failure->status == LS_OK ? LS_GAMEPLAY_GOES_ON : LS_GAMEPLAY_FAILED;
}

static ls_gameplay_outcome joining_frame(ls_gameplay *gameplay, const ls_session_moment *moment,
                                         uint64_t elapsed_ns, ls_failure *failure)
{
    if (moment->lost_ns > 0) {
        ls_stepper_count_stalled(gameplay->context.stepper, elapsed_ns);
    }
    if (step_joining(gameplay, moment->now_ns, elapsed_ns, failure) == LS_GAMEPLAY_FAILED) {
        return LS_GAMEPLAY_FAILED;
    }
    if (ls_joiner_has_state(gameplay->joiner) && has_played_enough(gameplay)) {
        return LS_GAMEPLAY_ENOUGH;
    }
    if (!ls_joiner_is_done(gameplay->joiner)) {
        send_due(gameplay, moment);
        return LS_GAMEPLAY_GOES_ON;
    }
    ls_session_moment playing = *moment;
    playing.state = LS_SESSION_PLAYING;
    arrive(gameplay, moment);
    send_due(gameplay, &playing);
    return LS_GAMEPLAY_ARRIVED;
}

static ls_gameplay_outcome playing_frame(ls_gameplay *gameplay, const ls_session_moment *moment,
                                         uint64_t elapsed_ns, ls_failure *failure)
{
    ls_uplink_moment now = uplink_moment(gameplay, moment);
    ls_gameplay_outcome outcome = LS_GAMEPLAY_GOES_ON;
    if (!is_spectator(gameplay)) {
        ls_uplink_make(gameplay->context.uplink, &now);
    }
    if (step(gameplay, moment->now_ns, elapsed_ns, failure) == LS_GAMEPLAY_FAILED) {
        return LS_GAMEPLAY_FAILED;
    }
    if (ls_gameplay_is_complete(gameplay)) {
        send_finished(gameplay, moment);
        outcome = LS_GAMEPLAY_FINISHED;
    } else if (has_played_enough(gameplay)) {
        return LS_GAMEPLAY_ENOUGH;
    } else {
        send_due(gameplay, moment);
    }
    ls_diagnosis_frame(gameplay->diagnosis, moment->now_ns);
    return outcome;
}

/* The ticks that came before the link was lost are played to their end. */
static ls_gameplay_outcome frame_without_link(ls_gameplay *gameplay,
                                              const ls_session_moment *moment, uint64_t elapsed_ns,
                                              ls_failure *failure)
{
    ls_stepper *stepper = gameplay->context.stepper;
    ls_gameplay_outcome outcome = LS_GAMEPLAY_GOES_ON;
    bool is_stepped = !gameplay->joiner && !gameplay->is_stateless;
    if (!is_stepped || ls_stepper_predicts(stepper)) {
        ls_stepper_count_stalled(stepper, elapsed_ns);
    }
    if (gameplay->joiner) {
        outcome = step_joining(gameplay, moment->now_ns, elapsed_ns, failure);
    } else if (is_stepped) {
        outcome = step(gameplay, moment->now_ns, elapsed_ns, failure);
    }
    bool is_enough = !gameplay->is_stateless && has_played_enough(gameplay);
    return outcome == LS_GAMEPLAY_GOES_ON && is_enough ? LS_GAMEPLAY_ENOUGH : outcome;
}

ls_gameplay_outcome ls_gameplay_frame(ls_gameplay *gameplay, const ls_session_moment *moment,
                                      ls_failure *failure)
{
    uint64_t elapsed_ns = moment->now_ns - gameplay->played_ns;
    gameplay->played_ns = moment->now_ns;
    switch (moment->state) {
    case LS_SESSION_JOINING:
        return joining_frame(gameplay, moment, elapsed_ns, failure);
    case LS_SESSION_PLAYING:
        return playing_frame(gameplay, moment, elapsed_ns, failure);
    case LS_SESSION_FINISHED:
        /* Packets go on until the server closes the connection: a bad moment of the link passes
         * with them. */
        ls_diagnosis_frame(gameplay->diagnosis, moment->now_ns);
        ls_gameplay_send_in_time(gameplay, moment);
        return LS_GAMEPLAY_GOES_ON;
    default:
        return frame_without_link(gameplay, moment, elapsed_ns, failure);
    }
}

/* ---- between frames ---- */

void ls_gameplay_add_frame(ls_gameplay *gameplay, uint64_t frame_ns)
{
    ls_uplink_add_frame(gameplay->context.uplink, frame_ns);
}

void ls_gameplay_update(ls_gameplay *gameplay, const ls_session_moment *moment)
{
    if (moment->state == LS_SESSION_JOINING) {
        ls_joiner_acknowledge(gameplay->joiner, moment->now_ns);
        return;
    }
    ls_uplink_moment now = uplink_moment(gameplay, moment);
    ls_uplink_make(gameplay->context.uplink, &now);
    ls_uplink_send_due(gameplay->context.uplink, &now);
}

uint64_t ls_gameplay_next_ns(const ls_gameplay *gameplay, const ls_session_moment *moment)
{
    if (moment->state == LS_SESSION_JOINING) {
        return ls_joiner_next_ns(gameplay->joiner);
    }
    return is_spectator(gameplay)
               ? UINT64_MAX
               : ls_uplink_next_ns(gameplay->context.uplink, final_tick(gameplay));
}

void ls_gameplay_set_input_delay(ls_gameplay *gameplay, uint32_t ticks)
{
    ls_uplink_set_input_delay(gameplay->context.uplink, ticks);
}

/* ---- reading ---- */

void ls_gameplay_claim(const ls_gameplay *gameplay, ls_return *claim)
{
    const ls_session_context *context = &gameplay->context;
    claim->match_id = context->offer.match_id;
    memcpy(claim->secret, context->offer.secret, sizeof claim->secret);
    claim->confirmed = ls_confirmed_ticks_end(context->ticks);
    claim->tick_chain = ls_confirmed_ticks_chain(context->ticks);
    claim->held = ls_confirmed_ticks_held(context->ticks);
    claim->is_desynced = ls_diagnosis_is_desynced(gameplay->diagnosis);
}

const ls_offer *ls_gameplay_offer(const ls_gameplay *gameplay)
{
    return &gameplay->context.offer;
}

ls_sim_instance *ls_gameplay_instance(ls_gameplay *gameplay)
{
    return gameplay->context.instance;
}

ls_tick ls_gameplay_tick(const ls_gameplay *gameplay)
{
    return ls_stepper_tick(gameplay->context.stepper);
}

ls_fixed ls_gameplay_alpha(const ls_gameplay *gameplay)
{
    return ls_stepper_alpha(gameplay->context.stepper);
}

void ls_gameplay_draw(const ls_gameplay *gameplay, ls_fixed alpha, ls_draw_list *list)
{
    ls_stepper_draw(gameplay->context.stepper, alpha, list);
}

void ls_gameplay_report(const ls_gameplay *gameplay, ls_session_report *report)
{
    const ls_session_context *context = &gameplay->context;
    report->slot = context->offer.slot;
    report->joined_tick = gameplay->joined_tick;
    report->has_end = gameplay->has_end;
    report->end = gameplay->end;
    report->confirmed = ls_confirmed_ticks_end(context->ticks);
    report->downlink = ls_confirmed_ticks_downlink(context->ticks);
    ls_uplink_report(context->uplink, report);
    ls_stepper_report(context->stepper, report);
    ls_diagnosis_report(gameplay->diagnosis, report);
    if (gameplay->joiner) {
        ls_joiner_report(gameplay->joiner, report);
    }
}
