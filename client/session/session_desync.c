#include "lockstep/client/session/session_state.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"

#include <string.h>

enum {
    RERUN_STEPS_PER_SECOND = 600, /* beside the match's own */
    RERUN_STEPS_MAX = 64,         /* in one frame */
};

/* ---- life ---- */

static ls_status create_parts(ls_session *session, ls_text *why)
{
    session_diagnosis *diagnosis = &session->diagnosis;
    const ls_allocator *allocator = session->allocator;
    ls_replay_window_config config =
        ls_replay_window_config_default(ls_sim_instance_state_bytes(session->instance));
    config.inputs = ls_confirmed_ticks_inputs(session->ticks);
    ls_status status = ls_sim_instance_create(session->simulation, &session->offer.config,
                                              allocator, &diagnosis->held, why);
    if (status == LS_OK) {
        status = ls_rerun_create(session->simulation, &session->offer.config, allocator,
                                 &diagnosis->rerun, why);
    }
    if (status == LS_OK) {
        status = ls_state_tree_create(ls_sim_instance_schema(diagnosis->held), allocator,
                                      &diagnosis->tree);
    }
    if (status == LS_OK) {
        status = ls_replay_window_create(&config, session->instance, allocator, &diagnosis->window);
    }
    return status;
}

ls_status ls_session_desync_init(ls_session *session)
{
    ls_text why = {{0}};
    if (!session->config.finds_causes || !ls_sim_instance_schema(session->instance)) {
        return LS_OK;
    }
    ls_status status = create_parts(session, &why);
    if (status == LS_OK) {
        uint64_t state_hash = ls_sim_instance_digests(session->instance).initial;
        ls_replay_window_start(session->diagnosis.window, session->instance, state_hash);
    }
    return status;
}

void ls_session_desync_deinit(ls_session *session)
{
    session_diagnosis *diagnosis = &session->diagnosis;
    ls_replay_window_destroy(diagnosis->window);
    ls_state_tree_destroy(diagnosis->tree);
    ls_rerun_destroy(diagnosis->rerun);
    ls_sim_instance_destroy(diagnosis->held);
}

/* ---- keeping ---- */

static ls_tick_inputs inputs_of(const ls_session *session, ls_tick tick,
                                ls_slot_input slots[LS_PLAYERS_MAX])
{
    ls_status held = ls_input_buffer_tick(ls_confirmed_ticks_inputs(session->ticks), tick, slots);
    LS_ASSERT(held == LS_OK);
    return (ls_tick_inputs){
        .tick = tick, .slot_count = session->offer.config.players, .slots = slots};
}

void ls_session_desync_record(ls_session *session, ls_tick tick, uint64_t state_hash)
{
    ls_replay_window *window = session->diagnosis.window;
    if (!window) {
        return;
    }
    ls_tick_inputs inputs = {.tick = tick - 1}; /* the window finds them where they are kept */
    if (ls_sim_instance_tick(session->instance) == tick) {
        ls_replay_window_record(window, &inputs, session->instance, state_hash);
        return;
    }
    const uint8_t *saved = ls_prediction_saved(session->prediction, tick);
    ls_replay_window_record_saved(window, &inputs, saved, state_hash);
}

/* ---- answering ---- */

/* Takes the state of a tick out of the window, so that it stays as long as it is asked about. */
static bool hold(ls_session *session, ls_tick tick)
{
    session_diagnosis *diagnosis = &session->diagnosis;
    if (!diagnosis->window) {
        return false;
    }
    if (diagnosis->is_holding && ls_sim_instance_tick(diagnosis->held) == tick) {
        return true;
    }
    const uint8_t *state = ls_replay_window_state(diagnosis->window, tick);
    if (!state || ls_sim_instance_load(diagnosis->held, state, tick) != LS_OK) {
        return false;
    }
    ls_state_tree_hash(diagnosis->tree, ls_sim_instance_view(diagnosis->held));
    diagnosis->is_holding = true;
    return true;
}

void ls_session_desync_answer(ls_session *session, const ls_wire_query *query)
{
    const session_diagnosis *diagnosis = &session->diagnosis;
    bool is_held = hold(session, query->tick);
    ls_wire_answer *answer =
        &ls_session_outbox_begin(session->outbox, LS_MESSAGE_TREE_ANSWER)->body.tree_answer;
    answer->asked = *query;
    answer->size = 0;
    if (is_held) {
        answer->size = (uint32_t)ls_state_tree_answer(
            diagnosis->tree, ls_sim_instance_view(diagnosis->held), &query->query, answer->bytes);
    }
    ls_session_outbox_send(session->outbox);
}

/* ---- evidence ---- */

static void send_fingerprint(ls_session *session)
{
    ls_wire_fingerprint *print =
        &ls_session_outbox_begin(session->outbox, LS_MESSAGE_BUILD_FINGERPRINT)
             ->body.build_fingerprint;
    print->size = 0;
    if (session->config.print) {
        print->size = (uint32_t)ls_build_fingerprint_write(session->config.print, print->bytes);
    }
    ls_session_outbox_send(session->outbox);
}

static void send_evidence(ls_session *session, bool is_known)
{
    session_diagnosis *diagnosis = &session->diagnosis;
    ls_wire_evidence *evidence =
        &ls_session_outbox_begin(session->outbox, LS_MESSAGE_EVIDENCE)->body.evidence;
    memset(evidence, 0, sizeof *evidence);
    evidence->tick = diagnosis->bad_tick;
    if (is_known) {
        const ls_pass_trace *passes = ls_rerun_passes(diagnosis->rerun);
        ls_rerun_figures_write(ls_rerun_figures_of(diagnosis->rerun), evidence->figures);
        evidence->pass_count = passes->pass_count;
        evidence->before = passes->before;
        memcpy(evidence->state_hashes, passes->state_hashes, sizeof evidence->state_hashes);
    }
    diagnosis->is_rerunning = false;
    ls_session_outbox_send(session->outbox);
}

/* The state is put aside at once: the window will not keep it for long. */
void ls_session_desync_look(ls_session *session, ls_tick tick)
{
    session_diagnosis *diagnosis = &session->diagnosis;
    uint32_t interval = session->offer.hash_interval_ticks;
    ls_replay_stretch stretch;
    send_fingerprint(session);
    diagnosis->bad_tick = tick;
    (void)hold(session, tick); /* what is not held any more is answered with nothing */
    if (!diagnosis->window || tick == 0 ||
        ls_replay_window_stretch(diagnosis->window, (tick - 1) / interval * interval, tick,
                                 &stretch) != LS_OK) {
        send_evidence(session, false);
        return;
    }
    ls_rerun_start(diagnosis->rerun, &stretch);
    diagnosis->is_rerunning = true;
    diagnosis->ran_ns = session->now_ns;
}

void ls_session_desync_advance(ls_session *session)
{
    session_diagnosis *diagnosis = &session->diagnosis;
    if (!diagnosis->is_rerunning) {
        return;
    }
    uint64_t elapsed_ns = session->now_ns - diagnosis->ran_ns;
    elapsed_ns = elapsed_ns < LS_NS_PER_SECOND ? elapsed_ns : LS_NS_PER_SECOND;
    uint32_t steps = (uint32_t)(elapsed_ns * RERUN_STEPS_PER_SECOND / LS_NS_PER_SECOND) + 1;
    diagnosis->ran_ns = session->now_ns;
    if (ls_rerun_advance(diagnosis->rerun, steps < RERUN_STEPS_MAX ? steps : RERUN_STEPS_MAX)) {
        send_evidence(session, true);
    }
}

/* ---- healing ---- */

ls_status ls_session_desync_take_leaf(ls_session *session, const ls_heal_leaf *leaf)
{
    session_diagnosis *diagnosis = &session->diagnosis;
    if (!hold(session, leaf->tick) || leaf->size == 0 ||
        leaf->leaf >= ls_state_tree_node_count(diagnosis->tree) ||
        ls_state_tree_leaf_bytes(diagnosis->tree, leaf->leaf) != leaf->size) {
        return LS_MALFORMED;
    }
    ls_state_tree_write_leaf(diagnosis->tree, leaf->leaf, leaf->bytes,
                             ls_sim_instance_state(diagnosis->held));
    return LS_OK;
}

/* Steps the healed state up to the newest settled one, on the same closed ticks. */
static void replay(ls_session *session, ls_tick settled)
{
    session_diagnosis *diagnosis = &session->diagnosis;
    ls_sim_instance *healed = diagnosis->held;
    for (ls_tick tick = ls_sim_instance_tick(healed); tick < settled; tick++) {
        ls_slot_input slots[LS_PLAYERS_MAX];
        ls_tick_inputs inputs = inputs_of(session, tick, slots);
        ls_sim_instance_step(healed, &inputs);
        uint64_t state_hash = 0;
        if ((tick + 1) % session->offer.hash_interval_ticks == 0) {
            state_hash = ls_sim_instance_hash(healed);
            ls_hash_log_append(session->hashes, tick + 1, state_hash);
        }
        ls_replay_window_record(diagnosis->window, &inputs, healed, state_hash);
    }
}

/* The guesses of a client that plays ahead rest on the wrong state: they are thrown away. */
static void make_live(ls_session *session)
{
    const ls_sim_instance *healed = session->diagnosis.held;
    ls_session_predict_end(session);
    LS_ASSERT(ls_sim_instance_tick(session->instance) == ls_sim_instance_tick(healed));
    size_t bytes = ls_sim_instance_state_bytes(healed);
    memcpy(ls_sim_instance_state(session->instance), ls_sim_instance_view(healed), bytes);
    if (session->previous) {
        memcpy(session->previous, ls_sim_instance_view(healed), bytes);
    }
}

static bool can_replay(const ls_session *session, const ls_heal *heal, ls_tick settled)
{
    return heal->tick % session->offer.hash_interval_ticks == 0 && heal->tick <= settled &&
           (heal->tick == settled ||
            ls_input_buffer_has(ls_confirmed_ticks_inputs(session->ticks), heal->tick, 0));
}

static bool apply(ls_session *session, const ls_heal *heal)
{
    session_diagnosis *diagnosis = &session->diagnosis;
    ls_tick settled = ls_session_settled_tick(session);
    if (session->report.state != LS_SESSION_PLAYING) {
        return false; /* what was told of the end stays as it was told */
    }
    if (!hold(session, heal->tick) || !can_replay(session, heal, settled) ||
        ls_sim_instance_hash(diagnosis->held) != heal->state_hash) {
        return false;
    }
    ls_replay_window_start(diagnosis->window, diagnosis->held, heal->state_hash);
    ls_hash_log_correct(session->hashes, heal->tick, heal->state_hash, heal->chain);
    replay(session, settled);
    make_live(session);
    return true;
}

void ls_session_desync_heal(ls_session *session, const ls_heal *heal)
{
    ls_healed healed = {.tick = heal->tick, .is_equal = apply(session, heal)};
    session->diagnosis.is_holding = false;
    ls_session_outbox_begin(session->outbox, LS_MESSAGE_HEALED)->body.healed = healed;
    ls_session_outbox_send(session->outbox);
    if (healed.is_equal) {
        session->report.healed++;
        ls_session_outbox_push_event(session->outbox, LS_SESSION_EVENT_HEALED)->tick = heal->tick;
    }
}
