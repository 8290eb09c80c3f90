#include "lockstep/client/session/gameplay.h"

#include "lockstep/client/session/diagnosis.h"
#include "lockstep/client/session/joiner.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/simulation/tick_chain.h"
#include "lockstep/common/time/timestep.h"

#include <string.h>

struct ls_gameplay {
    ls_session_context *context; /* the session's */
    ls_tick_sync sync;
    ls_hash_log hashes;
    ls_diagnosis *diagnosis;
    ls_joiner *joiner; /* NULL: the session is where the match is, or was, or has no state */
    bool is_stateless; /* nothing is held that the server could build on */
    ls_tick joined_tick;
    uint64_t played_ns;     /* up to here the time has been played */
    uint64_t frames_before; /* drawn before the match began */
};

/* ---- the offer ---- */

/* Finds the simulation of the offer. */
static ls_status check_offer(ls_session_context *context, ls_text *why)
{
    ls_offer *offer = &context->offer;
    const ls_session_config *config = &context->config;
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
    context->simulation = found;
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

ls_status ls_gameplay_receive_offer(ls_gameplay *gameplay, const ls_offer *offer, ls_text *why)
{
    ls_session_context *context = gameplay->context;
    if (!is_same_match(&context->offer, offer)) {
        return ls_fail(LS_ALREADY_OVER, why,
                       "the match that was left is over: the server plays another one");
    }
    bool is_same_slot = offer->slot == context->offer.slot;
    const ls_sim_config config = context->offer.config; /* with its files */
    context->offer = *offer;
    context->offer.config = config;
    if (!is_same_slot) {
        ls_uplink_forget_inputs(context->uplink); /* they were for the other seat */
    }
    ls_tick_sync_set_input_delay(context->sync, offer->input_delay_ticks);
    return LS_OK;
}

/* ---- life ---- */

static ls_status create_parts(ls_gameplay *gameplay, ls_text *why)
{
    ls_session_context *context = gameplay->context;
    context->dt_ns = ls_timestep_config_exact(ls_sim_config_rate(&context->offer.config)).dt_ns;
    ls_tick_sync_config sync = {.dt_ns = context->dt_ns,
                                .input_delay_ticks = context->offer.input_delay_ticks,
                                .is_exact = context->config.makes_inputs_between_frames};
    ls_tick_sync_init(&gameplay->sync, &sync);
    ls_hash_log_init(&gameplay->hashes, context->offer.hash_interval_ticks,
                     ls_sim_instance_digests(context->instance).initial);
    context->sync = &gameplay->sync;
    context->hashes = &gameplay->hashes;
    ls_status status = ls_confirmed_ticks_create(context, &context->ticks);
    if (status == LS_OK) {
        status = ls_uplink_create(context, &context->uplink);
    }
    if (status == LS_OK) {
        status = ls_stepper_create(context, &context->stepper);
    }
    if (status == LS_OK) {
        status = ls_diagnosis_create(context, &gameplay->diagnosis);
    }
    return status == LS_OK ? LS_OK : ls_fail(status, why, "%s", ls_status_text(status));
}

ls_status ls_gameplay_create(ls_session_context *context, const ls_offer *offer, ls_gameplay **out,
                             ls_text *why)
{
    ls_gameplay *gameplay = ls_allocate(context->allocator, sizeof *gameplay);
    if (!gameplay) {
        return ls_fail(LS_NO_MEMORY, why, "%s", ls_status_text(LS_NO_MEMORY));
    }
    gameplay->context = context;
    context->offer = *offer;
    context->end.final_tick = UINT32_MAX;
    ls_status status = check_offer(context, why);
    if (status == LS_OK) {
        status = ls_sim_instance_create(context->simulation, &context->offer.config,
                                        context->allocator, &context->instance, why);
    }
    if (status == LS_OK) {
        status = create_parts(gameplay, why);
    }
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
    const ls_session_context *context = gameplay->context;
    ls_joiner_destroy(gameplay->joiner);
    ls_diagnosis_destroy(gameplay->diagnosis);
    ls_stepper_destroy(context->stepper);
    ls_uplink_destroy(context->uplink);
    ls_confirmed_ticks_destroy(context->ticks);
    ls_sim_instance_destroy(context->instance);
    ls_release(context->allocator, gameplay);
}

/* ---- the link ---- */

static void destroy_joiner(ls_gameplay *gameplay)
{
    ls_joiner_destroy(gameplay->joiner);
    gameplay->joiner = NULL;
}

/* A session that is healed plays on with the state that differs, unless it has left that already:
 * then it is on its way like one that joins. */
static void stop_healing(ls_gameplay *gameplay)
{
    if (gameplay->joiner && ls_joiner_is_healing(gameplay->joiner) &&
        !ls_joiner_has_state(gameplay->joiner)) {
        destroy_joiner(gameplay);
    }
}

/* A snapshot or history that was on its way comes from the beginning next time; the state that it
 * leads to is kept once it is there. Without a state, and without the inputs that the next tick is
 * coded against, nothing that is held can be built on. */
void ls_gameplay_lose_link(ls_gameplay *gameplay)
{
    const ls_session_context *context = gameplay->context;
    gameplay->played_ns = context->drawn_ns;
    ls_confirmed_ticks_disconnect(context->ticks);
    stop_healing(gameplay);
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

/* ---- getting into the match ---- */

static void begin(ls_gameplay *gameplay)
{
    gameplay->played_ns = gameplay->context->now_ns;
    ls_uplink_begin(gameplay->context->uplink);
    ls_stepper_begin(gameplay->context->stepper);
}

void ls_gameplay_start(ls_gameplay *gameplay, const ls_start *start)
{
    const ls_session_context *context = gameplay->context;
    begin(gameplay);
    gameplay->frames_before = context->frames;
    ls_tick_sync_start(context->sync, context->now_ns + start->delay_us * LS_NS_PER_US);
    ls_session_outbox_push_event(context->outbox, LS_SESSION_EVENT_STARTED);
}

static ls_gameplay_outcome fail(ls_gameplay *gameplay, ls_status status, const char *why)
{
    ls_failure *failure = &gameplay->context->failure;
    failure->status = ls_fail(status, &failure->why, "%s", why);
    return LS_GAMEPLAY_FAILED;
}

static ls_status start_joiner(ls_gameplay *gameplay, const ls_join *join)
{
    if (gameplay->joiner && join->source == LS_JOIN_HELD) {
        ls_joiner_resume(gameplay->joiner, join);
        return LS_OK;
    }
    destroy_joiner(gameplay);
    return ls_joiner_create(gameplay->context, join, &gameplay->joiner);
}

static uint64_t away_ns(const ls_session_context *context)
{
    return context->lost_ns > 0 ? context->now_ns - context->lost_ns : 0;
}

ls_gameplay_outcome ls_gameplay_join(ls_gameplay *gameplay, const ls_join *join, uint64_t rtt_ns)
{
    ls_session_context *context = gameplay->context;
    const char *fault = ls_joiner_check(context, join);
    if (fault) {
        return fail(gameplay, LS_MISBEHAVED, fault);
    }
    ls_status status = start_joiner(gameplay, join);
    if (status != LS_OK) {
        return fail(gameplay, status, ls_status_text(status));
    }
    ls_tick_sync_limit_rtt(context->sync, rtt_ns);
    ls_diagnosis_reset(gameplay->diagnosis);
    gameplay->is_stateless = false;
    gameplay->played_ns = context->now_ns;
    /* The match runs. One whose server was killed before the end was on its disk has no end yet. */
    context->has_end = false;
    context->end.final_tick = UINT32_MAX;
    if (context->lost_ns == 0) {
        gameplay->frames_before = context->frames;
    }
    ls_session_event *event =
        ls_session_outbox_push_event(context->outbox, LS_SESSION_EVENT_JOINING);
    event->join = *join;
    event->away_ns = away_ns(context);
    ls_uplink_send(context->uplink);
    return LS_GAMEPLAY_GOES_ON;
}

/* The session is where the match is. */
static void arrive(ls_gameplay *gameplay)
{
    const ls_session_context *context = gameplay->context;
    ls_tick tick = ls_stepper_tick(context->stepper);
    LS_ASSERT(tick == ls_confirmed_ticks_end(context->ticks));
    ls_joiner_announce(gameplay->joiner);
    destroy_joiner(gameplay);
    ls_stepper_end_catch_up(context->stepper);
    begin(gameplay);
    ls_session_event *event =
        ls_session_outbox_push_event(context->outbox, LS_SESSION_EVENT_JOINED);
    event->tick = tick;
    event->away_ns = away_ns(context);
    gameplay->joined_tick = tick;
}

/* ---- healing ---- */

static bool is_healing(const ls_gameplay *gameplay)
{
    return gameplay->joiner && ls_joiner_is_healing(gameplay->joiner);
}

/* After the end nothing is healed: the server does not wait for it. */
static ls_status start_healing(ls_gameplay *gameplay, const ls_heal_snapshot *heal)
{
    ls_session_context *context = gameplay->context;
    if (context->state != LS_SESSION_PLAYING || context->config.is_spectator || gameplay->joiner) {
        return LS_MALFORMED;
    }
    if (context->has_end) {
        return LS_OK;
    }
    ls_status status = ls_joiner_create_healing(context, heal, &gameplay->joiner);
    if (status == LS_MALFORMED) {
        return status;
    }
    if (status != LS_OK) {
        ls_session_outbox_begin(context->outbox, LS_MESSAGE_HEALED)->body.healed =
            (ls_healed){.tick = heal->tick, .is_equal = false};
        ls_session_outbox_send(context->outbox);
    }
    return LS_OK;
}

/* The session has the server's state, and is where it was. */
static void end_healing(ls_gameplay *gameplay)
{
    const ls_session_context *context = gameplay->context;
    ls_tick tick = context->hashes->tick;
    ls_joiner_announce_healed(gameplay->joiner, true);
    destroy_joiner(gameplay);
    ls_stepper_end_catch_up(context->stepper);
    ls_stepper_begin(context->stepper);
    ls_diagnosis_reset(gameplay->diagnosis);
    ls_diagnosis_note_healed(gameplay->diagnosis, tick);
}

/* ---- receiving ---- */

ls_status ls_gameplay_receive(ls_gameplay *gameplay, const ls_message *message)
{
    ls_session_context *context = gameplay->context;
    bool is_notice = message->kind == LS_MESSAGE_DESYNC || message->kind == LS_MESSAGE_DESYNC_CAUSE;
    switch (message->kind) {
    case LS_MESSAGE_HASH_REQUEST:
        ls_hash_log_send(context->hashes, &message->body.hash_request, context->outbox);
        return LS_OK;
    case LS_MESSAGE_END:
        context->has_end = true;
        context->end = message->body.end;
        stop_healing(gameplay);
        ls_session_outbox_push_event(context->outbox, LS_SESSION_EVENT_ENDED)->end = context->end;
        return LS_OK;
    case LS_MESSAGE_INPUT_DELAY:
        context->offer.input_delay_ticks = message->body.input_delay_ticks;
        ls_tick_sync_set_input_delay(context->sync, message->body.input_delay_ticks);
        return LS_OK;
    case LS_MESSAGE_WAITING:
        ls_session_outbox_push_event(context->outbox, LS_SESSION_EVENT_WAITING)->waiting =
            message->body.waiting;
        return LS_OK;
    case LS_MESSAGE_HEAL_SNAPSHOT:
        return start_healing(gameplay, &message->body.heal_snapshot);
    default:
        if (gameplay->joiner && !is_healing(gameplay) && !is_notice) {
            return LS_MALFORMED; /* no state of this session was compared yet */
        }
        return ls_diagnosis_receive(gameplay->diagnosis, message);
    }
}

LS_TICK_CODE ls_gameplay_outcome ls_gameplay_receive_packet(ls_gameplay *gameplay, uint32_t kind,
                                                            const uint8_t *bytes, size_t size,
                                                            ls_status *status)
{
    ls_session_context *context = gameplay->context;
    ls_failure *failure = &context->failure;
    if (kind == LS_MESSAGE_BLOB_PART) {
        /* A part that comes after the session has got there is not needed any more. */
        *status =
            gameplay->joiner ? ls_joiner_receive_part(gameplay->joiner, bytes, size) : LS_STALE;
        return LS_GAMEPLAY_GOES_ON;
    }
    ls_confirmed_packet packet;
    *status = ls_confirmed_ticks_receive(context->ticks, kind, bytes, size, &packet);
    for (ls_tick tick = packet.first; tick < packet.end; tick++) {
        ls_stepper_add_arrival(context->stepper, tick);
    }
    ls_uplink_receive_packet(context->uplink, &packet);
    bool is_joining = gameplay->joiner && ls_joiner_has_state(gameplay->joiner);
    is_joining = is_joining || (gameplay->joiner && !ls_joiner_is_healing(gameplay->joiner));
    failure->status = is_joining ? ls_joiner_check_backlog(gameplay->joiner, &failure->why) : LS_OK;
    return failure->status == LS_OK ? LS_GAMEPLAY_GOES_ON : LS_GAMEPLAY_FAILED;
}

/* ---- frames ---- */

/* Every tick that this player wants to play has been stepped. */
static bool has_played_enough(const ls_gameplay *gameplay)
{
    uint32_t planned = gameplay->context->config.ticks;
    return planned > 0 && ls_stepper_tick(gameplay->context->stepper) >= planned;
}

bool ls_gameplay_is_complete(const ls_gameplay *gameplay)
{
    const ls_session_context *context = gameplay->context;
    return context->has_end && !gameplay->is_stateless &&
           ls_stepper_tick(context->stepper) >= context->end.final_tick;
}

static uint32_t microseconds(uint64_t ns)
{
    return (uint32_t)LS_MIN(ns / LS_NS_PER_US, UINT32_MAX);
}

static void send_finished(ls_gameplay *gameplay)
{
    const ls_session_context *context = gameplay->context;
    ls_session_report report = {0};
    ls_gameplay_report(gameplay, &report);
    ls_uplink_send(context->uplink);
    ls_session_outbox_begin(context->outbox, LS_MESSAGE_FINISHED)->body.finished =
        (ls_finished){.tick = report.tick,
                      .state_hash = ls_sim_instance_hash(context->instance),
                      .chain_tick = context->hashes->tick,
                      .chain = (uint32_t)context->hashes->chain,
                      .stalled_ticks = (uint32_t)report.stalled_ticks,
                      .confirm_latency_p50_us = microseconds(report.confirm_latency_p50_ns),
                      .confirm_latency_p99_us = microseconds(report.confirm_latency_p99_ns),
                      .confirm_latency_max_us = microseconds(report.confirm_latency_max_ns),
                      .rtt_us = microseconds(report.rtt_ns),
                      .frames = (uint32_t)(context->frames - gameplay->frames_before)};
    ls_session_outbox_send(context->outbox);
}

static void send_due(ls_gameplay *gameplay)
{
    ls_uplink_send_due(gameplay->context->uplink);
    ls_uplink_send_in_time(gameplay->context->uplink);
}

LS_TICK_CODE static ls_gameplay_outcome step(ls_gameplay *gameplay, uint64_t elapsed_ns)
{
    ls_status status = ls_stepper_frame(gameplay->context->stepper, elapsed_ns);
    return status == LS_OK
               ? LS_GAMEPLAY_GOES_ON
               : fail(gameplay, status, "the simulation cannot load the state that it saved");
}

static ls_gameplay_outcome step_joining(ls_gameplay *gameplay, uint64_t elapsed_ns)
{
    ls_failure *failure = &gameplay->context->failure;
    failure->status = ls_joiner_frame(gameplay->joiner, elapsed_ns, &failure->why);
    return failure->status == LS_OK ? LS_GAMEPLAY_GOES_ON : LS_GAMEPLAY_FAILED;
}

static ls_gameplay_outcome joining_frame(ls_gameplay *gameplay, uint64_t elapsed_ns)
{
    const ls_session_context *context = gameplay->context;
    if (context->lost_ns > 0) {
        ls_stepper_count_stalled(context->stepper, elapsed_ns);
    }
    if (step_joining(gameplay, elapsed_ns) == LS_GAMEPLAY_FAILED) {
        return LS_GAMEPLAY_FAILED;
    }
    if (ls_joiner_has_state(gameplay->joiner) && has_played_enough(gameplay)) {
        return LS_GAMEPLAY_ENOUGH;
    }
    if (ls_joiner_is_done(gameplay->joiner)) {
        arrive(gameplay);
        return LS_GAMEPLAY_ARRIVED;
    }
    send_due(gameplay);
    return LS_GAMEPLAY_GOES_ON;
}

/* Until the server's state is there the one that differs is played. */
static ls_gameplay_outcome healing_frame(ls_gameplay *gameplay, uint64_t elapsed_ns)
{
    ls_text why;
    if (ls_joiner_check_backlog(gameplay->joiner, &why) != LS_OK &&
        !ls_joiner_has_state(gameplay->joiner)) {
        ls_joiner_announce_healed(gameplay->joiner, false);
        destroy_joiner(gameplay);
    } else if (step_joining(gameplay, elapsed_ns) == LS_GAMEPLAY_FAILED) {
        return LS_GAMEPLAY_FAILED;
    } else if (ls_joiner_has_state(gameplay->joiner)) {
        if (ls_joiner_is_done(gameplay->joiner)) {
            end_healing(gameplay);
        }
        return LS_GAMEPLAY_GOES_ON;
    }
    return step(gameplay, elapsed_ns);
}

static ls_gameplay_outcome playing_frame(ls_gameplay *gameplay, uint64_t elapsed_ns)
{
    const ls_session_context *context = gameplay->context;
    ls_gameplay_outcome outcome = LS_GAMEPLAY_GOES_ON;
    if (!context->config.is_spectator) {
        ls_uplink_make(context->uplink);
    }
    outcome = gameplay->joiner ? healing_frame(gameplay, elapsed_ns) : step(gameplay, elapsed_ns);
    if (outcome == LS_GAMEPLAY_FAILED) {
        return outcome;
    }
    if (ls_gameplay_is_complete(gameplay)) {
        send_finished(gameplay);
        outcome = LS_GAMEPLAY_FINISHED;
    } else if (has_played_enough(gameplay)) {
        return LS_GAMEPLAY_ENOUGH;
    } else {
        send_due(gameplay);
    }
    ls_diagnosis_frame(gameplay->diagnosis);
    return outcome;
}

/* The ticks that came before the link was lost are played to their end. */
static ls_gameplay_outcome frame_without_link(ls_gameplay *gameplay, uint64_t elapsed_ns)
{
    ls_stepper *stepper = gameplay->context->stepper;
    ls_gameplay_outcome outcome = LS_GAMEPLAY_GOES_ON;
    bool is_stepped = !gameplay->joiner && !gameplay->is_stateless;
    if (!is_stepped || ls_stepper_predicts(stepper)) {
        ls_stepper_count_stalled(stepper, elapsed_ns);
    }
    if (gameplay->joiner) {
        outcome = step_joining(gameplay, elapsed_ns);
    } else if (is_stepped) {
        outcome = step(gameplay, elapsed_ns);
    }
    bool is_enough = !gameplay->is_stateless && has_played_enough(gameplay);
    return outcome == LS_GAMEPLAY_GOES_ON && is_enough ? LS_GAMEPLAY_ENOUGH : outcome;
}

ls_gameplay_outcome ls_gameplay_frame(ls_gameplay *gameplay)
{
    const ls_session_context *context = gameplay->context;
    uint64_t elapsed_ns = context->now_ns - gameplay->played_ns;
    gameplay->played_ns = context->now_ns;
    switch (context->state) {
    case LS_SESSION_JOINING:
        return joining_frame(gameplay, elapsed_ns);
    case LS_SESSION_PLAYING:
        return playing_frame(gameplay, elapsed_ns);
    case LS_SESSION_FINISHED:
        /* Packets go on until the server closes the connection: a bad moment of the link passes
         * with them. */
        ls_diagnosis_frame(gameplay->diagnosis);
        ls_uplink_send_in_time(context->uplink);
        return LS_GAMEPLAY_GOES_ON;
    default:
        return frame_without_link(gameplay, elapsed_ns);
    }
}

/* ---- between frames ---- */

void ls_gameplay_update(ls_gameplay *gameplay)
{
    if (gameplay->context->state == LS_SESSION_JOINING) {
        ls_joiner_acknowledge(gameplay->joiner);
        return;
    }
    if (gameplay->joiner) {
        ls_joiner_acknowledge(gameplay->joiner);
    }
    ls_uplink_make(gameplay->context->uplink);
    ls_uplink_send_due(gameplay->context->uplink);
}

uint64_t ls_gameplay_next_ns(const ls_gameplay *gameplay)
{
    const ls_session_context *context = gameplay->context;
    if (context->state == LS_SESSION_JOINING) {
        return ls_joiner_next_ns(gameplay->joiner);
    }
    uint64_t part_ns = gameplay->joiner ? ls_joiner_next_ns(gameplay->joiner) : UINT64_MAX;
    uint64_t input_ns =
        context->config.is_spectator ? UINT64_MAX : ls_uplink_next_ns(context->uplink);
    return LS_MIN(part_ns, input_ns);
}

bool ls_gameplay_may_packets_wait(const ls_gameplay *gameplay)
{
    const ls_session_context *context = gameplay->context;
    return !gameplay->joiner &&
           (context->config.is_spectator || ls_uplink_is_by_clock(context->uplink));
}

/* ---- reading ---- */

void ls_gameplay_claim(const ls_gameplay *gameplay, ls_return *claim)
{
    const ls_session_context *context = gameplay->context;
    claim->match_id = context->offer.match_id;
    memcpy(claim->secret, context->offer.secret, sizeof claim->secret);
    claim->confirmed = ls_confirmed_ticks_end(context->ticks);
    claim->tick_chain = ls_confirmed_ticks_chain(context->ticks);
    claim->held = ls_confirmed_ticks_held(context->ticks);
    claim->is_desynced = ls_diagnosis_is_desynced(gameplay->diagnosis);
    claim->hashed_tick = context->hashes->tick;
    claim->hash_chain = (uint32_t)context->hashes->chain;
    claim->has_seal = ls_confirmed_ticks_seal(context->ticks, &claim->sealed_tick, &claim->seal);
}

void ls_gameplay_report(const ls_gameplay *gameplay, ls_session_report *report)
{
    const ls_session_context *context = gameplay->context;
    report->slot = context->offer.slot;
    report->joined_tick = gameplay->joined_tick;
    if (context->has_end) {
        report->has_end = true;
        report->end = context->end;
    }
    report->confirmed = ls_confirmed_ticks_end(context->ticks);
    report->downlink = ls_confirmed_ticks_downlink(context->ticks);
    ls_uplink_report(context->uplink, report);
    ls_stepper_report(context->stepper, report);
    ls_diagnosis_report(gameplay->diagnosis, report);
    if (gameplay->joiner) {
        ls_joiner_report(gameplay->joiner, report);
    }
}
