#include "lockstep/client/session/diagnosis.h"

#include "lockstep/common/diagnosis/desync_class.h"
#include "lockstep/common/diagnosis/state_inspector.h"

#include <string.h>

enum {
    DEFERRED_MAX = 64, /* queries; a server has no more than these on their way */
    MARKS = 8,
};

/* The server may not know of a state yet that was settled within this time, or ask about it. Of a
 * client that keeps up that is less than the window reaches back in any case. */
#define TOLD_NS (2 * LS_NS_PER_SECOND)
#define MARKED_NS (TOLD_NS / (MARKS - 1))
#define EXPECTED_NS (10 * LS_NS_PER_SECOND) /* the question that follows the one for hashes */

/* The newest state at a time. */
typedef struct settled_mark {
    uint64_t ns;
    ls_tick tick;
} settled_mark;

struct ls_diagnosis {
    const ls_session *context;
    ls_state_inspector inspector;    /* empty: nothing is kept, and the server is told so */
    uint8_t *canonical;              /* NULL where a state is canonical as it lies in memory */
    uint32_t ticket;                 /* of the re-run that was asked for last; 0: none */
    const ls_rerun_outcome *outcome; /* of it, kept for its states; NULL: it goes on */
    ls_evidence_request request;
    settled_mark marks[MARKS]; /* a ring */
    uint32_t marked;           /* so far */
    ls_tick expected_tick;     /* the server may ask about what came after this state, */
    uint64_t expected_ns;      /* until then */
    bool is_kept;              /* the ticks that the server asks about, from this state on */
    ls_tick kept_agreed;
    uint32_t deferred_count; /* queries that wait for the states that the re-run leads to */
    ls_wire_query deferred[DEFERRED_MAX];
    uint32_t desyncs;
    uint32_t server_desyncs;
    uint32_t own_desyncs; /* of this slot */
    uint32_t healed;
    ls_desync_notice own_desync; /* the newest */
    ls_desync_notice newest;     /* of any machine */
    bool has_own_cause;
    ls_desync_cause own_cause;
};

/* ---- life ---- */

static const ls_rerun_host *host_of(const ls_diagnosis *diagnosis)
{
    return diagnosis->context->config.rerun_host;
}

static void let_go_of_ticks(ls_diagnosis *diagnosis)
{
    if (diagnosis->is_kept) {
        ls_replay_window_let_go(ls_stepper_window(diagnosis->context->stepper),
                                diagnosis->kept_agreed);
    }
    diagnosis->is_kept = false;
}

static void end_rerun(ls_diagnosis *diagnosis)
{
    if (diagnosis->ticket != 0) {
        host_of(diagnosis)->release(host_of(diagnosis)->context, diagnosis->ticket);
    }
    diagnosis->ticket = 0;
    diagnosis->outcome = NULL;
}

/* The ticks that a case is about stay until the server has told its cause. */
static void keep_ticks(ls_diagnosis *diagnosis, ls_tick agreed, ls_tick last)
{
    ls_replay_window *window = ls_stepper_window(diagnosis->context->stepper);
    if (diagnosis->is_kept && diagnosis->kept_agreed == agreed) {
        return;
    }
    let_go_of_ticks(diagnosis);
    ls_replay_window_keep(window, agreed, last);
    diagnosis->is_kept = true;
    diagnosis->kept_agreed = agreed;
}

static void end_case(ls_diagnosis *diagnosis)
{
    end_rerun(diagnosis);
    let_go_of_ticks(diagnosis);
}

static ls_status create_inspector(ls_diagnosis *diagnosis)
{
    const ls_session *context = diagnosis->context;
    const ls_replay_window *window = ls_stepper_window(context->stepper);
    if (!window) {
        return LS_OK;
    }
    if (!ls_schema_is_canonical_here()) {
        size_t bytes = ls_sim_instance_image_bytes(context->instance);
        diagnosis->canonical = ls_allocate(context->allocator, bytes);
        if (!diagnosis->canonical) {
            return LS_NO_MEMORY;
        }
    }
    return ls_state_inspector_init(&diagnosis->inspector, context->instance, window,
                                   context->allocator);
}

ls_status ls_diagnosis_create(const ls_session *context, ls_diagnosis **out)
{
    ls_diagnosis *diagnosis = ls_allocate(context->allocator, sizeof *diagnosis);
    if (!diagnosis) {
        return LS_NO_MEMORY;
    }
    diagnosis->context = context;
    ls_status status = create_inspector(diagnosis);
    if (status != LS_OK) {
        ls_diagnosis_destroy(diagnosis);
        return status;
    }
    *out = diagnosis;
    return LS_OK;
}

void ls_diagnosis_destroy(ls_diagnosis *diagnosis)
{
    if (diagnosis) {
        end_rerun(diagnosis);
        ls_state_inspector_deinit(&diagnosis->inspector);
        ls_release(diagnosis->context->allocator, diagnosis->canonical);
        ls_release(diagnosis->context->allocator, diagnosis);
    }
}

void ls_diagnosis_reset(ls_diagnosis *diagnosis)
{
    diagnosis->inspector.is_holding = false;
    diagnosis->marked = 0;
    diagnosis->expected_ns = 0;
    diagnosis->deferred_count = 0; /* the link that they came by is gone */
    end_case(diagnosis);
}

/* ---- what the server may ask about ---- */

void ls_diagnosis_expect(ls_diagnosis *diagnosis, ls_tick first)
{
    uint32_t interval = diagnosis->context->offer.hash_interval_ticks;
    diagnosis->expected_tick = first > interval ? first - interval : 0;
    diagnosis->expected_ns = diagnosis->context->now_ns + EXPECTED_NS;
}

/* A client that was held up steps the ticks of seconds in one frame: what it settled then has to be
 * there when the server has compared it. */
LS_TICK_CODE static void await_questions(ls_diagnosis *diagnosis)
{
    uint64_t now_ns = diagnosis->context->now_ns;
    ls_replay_window *window = ls_stepper_window(diagnosis->context->stepper);
    uint32_t marked = diagnosis->marked;
    if (!window || (marked > 0 && now_ns - diagnosis->marks[(marked - 1) % MARKS].ns < MARKED_NS)) {
        return;
    }
    diagnosis->marks[marked % MARKS] = (settled_mark){now_ns, ls_replay_window_newest(window)};
    diagnosis->marked++;
    const settled_mark *oldest = &diagnosis->marks[marked < MARKS ? 0 : (marked + 1) % MARKS];
    bool is_expected = now_ns < diagnosis->expected_ns;
    ls_replay_window_await(window, is_expected ? LS_MIN(oldest->tick, diagnosis->expected_tick)
                                               : oldest->tick);
}

/* ---- what the server tells ---- */

static bool is_own_slot(const ls_diagnosis *diagnosis, uint32_t slot)
{
    /* Spectators are told of themselves alone. */
    return slot == diagnosis->context->offer.slot || diagnosis->context->config.is_spectator;
}

/* A notice says whether it is about the server; a cause is about what the newest notice is about,
 * if that is of its slot and tick. */
static ls_desync_subject subject_of(const ls_diagnosis *diagnosis, uint32_t slot, ls_tick tick)
{
    const ls_desync_notice *newest = &diagnosis->newest;
    if (newest->clients > 0 && newest->slot == slot && newest->tick == tick) {
        return LS_DESYNC_OF_SERVER;
    }
    return is_own_slot(diagnosis, slot) ? LS_DESYNC_OF_THIS_CLIENT : LS_DESYNC_OF_ANOTHER;
}

static void receive_notice(ls_diagnosis *diagnosis, const ls_desync_notice *notice)
{
    diagnosis->desyncs++;
    diagnosis->newest = *notice;
    ls_desync_subject subject = subject_of(diagnosis, notice->slot, notice->tick);
    diagnosis->server_desyncs += subject == LS_DESYNC_OF_SERVER;
    if (subject == LS_DESYNC_OF_THIS_CLIENT) {
        diagnosis->own_desyncs++;
        diagnosis->own_desync = *notice;
    }
    ls_session_event *event =
        ls_session_outbox_push_event(diagnosis->context->outbox, LS_SESSION_EVENT_DESYNC);
    event->desync = *notice;
    event->subject = subject;
}

static void receive_cause(ls_diagnosis *diagnosis, const ls_desync_cause *cause)
{
    ls_desync_subject subject = subject_of(diagnosis, cause->slot, cause->tick);
    if (subject == LS_DESYNC_OF_THIS_CLIENT) {
        diagnosis->has_own_cause = true;
        diagnosis->own_cause = *cause;
    }
    if (is_own_slot(diagnosis, cause->slot) && !ls_desync_cause_is_open(cause)) {
        end_case(diagnosis); /* nothing more is asked about it */
    }
    ls_session_event *event =
        ls_session_outbox_push_event(diagnosis->context->outbox, LS_SESSION_EVENT_CAUSE);
    event->cause = *cause;
    event->subject = subject;
}

/* ---- questions about a state ---- */

static bool hold(ls_diagnosis *diagnosis, ls_tick tick)
{
    return diagnosis->inspector.window && ls_state_inspector_hold(&diagnosis->inspector, tick);
}

/* The state that is meant, out of the window or out of the re-run. */
static bool hold_meant(ls_diagnosis *diagnosis, const ls_wire_query *query)
{
    ls_state_inspector *inspector = &diagnosis->inspector;
    const ls_rerun_outcome *outcome =
        query->tick == diagnosis->request.tick ? diagnosis->outcome : NULL;
    if (ls_state_inspector_has(inspector, query->tick, query->pass)) {
        return true;
    }
    if (query->pass == LS_NO_PASS) {
        return hold(diagnosis, query->tick) ||
               (outcome && ls_state_inspector_hold_rerun(inspector, outcome));
    }
    return outcome && query->pass == diagnosis->request.pass &&
           ls_state_inspector_hold_pass(inspector, outcome, query->pass);
}

/* The re-run that goes on leads there. */
static bool may_come(const ls_diagnosis *diagnosis, const ls_wire_query *query)
{
    bool is_running = diagnosis->ticket != 0 && !diagnosis->outcome;
    return is_running && query->tick == diagnosis->request.tick &&
           (query->pass == LS_NO_PASS || query->pass == diagnosis->request.pass);
}

static void answer(ls_diagnosis *diagnosis, const ls_wire_query *query)
{
    const ls_state_inspector *inspector = &diagnosis->inspector;
    ls_wire_answer *wire =
        &ls_session_outbox_begin(diagnosis->context->outbox, LS_MESSAGE_TREE_ANSWER)
             ->body.tree_answer;
    wire->asked = *query;
    wire->size = 0;
    if (hold_meant(diagnosis, query)) {
        ls_state_inspector_finish(&diagnosis->inspector);
        wire->size = (uint32_t)ls_state_tree_answer(inspector->tree, inspector->state,
                                                    &query->query, wire->bytes);
    }
    ls_session_outbox_send(diagnosis->context->outbox);
}

/* A state to come, which is put aside once it is there. */
static bool is_ahead(const ls_diagnosis *diagnosis, const ls_wire_query *query)
{
    const ls_replay_window *window = diagnosis->inspector.window;
    uint32_t rate_hz = ls_sim_instance_config(diagnosis->context->instance)->tick_rate_hz;
    return window && query->pass == LS_NO_PASS && query->tick > ls_replay_window_newest(window) &&
           query->tick - ls_replay_window_newest(window) <= ls_replay_late_ticks(rate_hz);
}

static bool is_waited_for(ls_diagnosis *diagnosis, const ls_wire_query *query)
{
    if (is_ahead(diagnosis, query)) {
        return true;
    }
    return hold_meant(diagnosis, query) ? !ls_state_inspector_is_ready(&diagnosis->inspector)
                                        : may_come(diagnosis, query);
}

static void answer_first(ls_diagnosis *diagnosis, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        answer(diagnosis, &diagnosis->deferred[i]);
    }
    diagnosis->deferred_count -= count;
    memmove(diagnosis->deferred, diagnosis->deferred + count,
            diagnosis->deferred_count * sizeof diagnosis->deferred[0]);
}

/* Those before the first that has to wait on. */
LS_TICK_CODE static void answer_deferred(ls_diagnosis *diagnosis)
{
    uint32_t count = 0;
    while (count < diagnosis->deferred_count &&
           !is_waited_for(diagnosis, &diagnosis->deferred[count])) {
        count++;
    }
    answer_first(diagnosis, count);
}

/* A state behind a pass, or one that the window does not hold any more, comes out of the re-run
 * that goes on. Answers keep their order: behind one that waits all do. */
static void receive_query(ls_diagnosis *diagnosis, const ls_wire_query *query)
{
    if (is_ahead(diagnosis, query)) {
        ls_replay_window_want(ls_stepper_window(diagnosis->context->stepper), query->tick);
    }
    bool waits = diagnosis->deferred_count > 0 || is_waited_for(diagnosis, query);
    if (waits && diagnosis->deferred_count < DEFERRED_MAX) {
        diagnosis->deferred[diagnosis->deferred_count++] = *query;
        return;
    }
    answer_first(diagnosis, diagnosis->deferred_count);
    answer(diagnosis, query);
}

/* ---- evidence ---- */

static void send_fingerprint(ls_diagnosis *diagnosis)
{
    const ls_build_fingerprint *own = diagnosis->context->config.print;
    ls_wire_fingerprint *wire =
        &ls_session_outbox_begin(diagnosis->context->outbox, LS_MESSAGE_BUILD_FINGERPRINT)
             ->body.build_fingerprint;
    wire->size = own ? (uint32_t)ls_build_fingerprint_write(own, wire->bytes) : 0;
    ls_session_outbox_send(diagnosis->context->outbox);
}

/* `outcome` is NULL: the ticks cannot be run again. */
static void send_evidence(ls_diagnosis *diagnosis, const ls_rerun_outcome *outcome)
{
    ls_wire_evidence *wire =
        &ls_session_outbox_begin(diagnosis->context->outbox, LS_MESSAGE_EVIDENCE)->body.evidence;
    memset(wire, 0, sizeof *wire);
    wire->tick = diagnosis->request.tick;
    wire->pass = diagnosis->request.pass;
    if (outcome) {
        const ls_pass_trace *passes = &outcome->passes;
        ls_rerun_figures_write(&outcome->figures, wire->figures);
        wire->pass_count = passes->pass_count;
        wire->before = passes->before;
        memcpy(wire->state_hashes, passes->state_hashes, sizeof wire->state_hashes);
    }
    ls_session_outbox_send(diagnosis->context->outbox);
}

/* The newest state before `tick` that was compared, or the one that was given later: a player that
 * has just come holds none before it. */
static ls_tick agreed_before(const ls_diagnosis *diagnosis, ls_tick tick)
{
    uint32_t interval = diagnosis->context->offer.hash_interval_ticks;
    const ls_replay_window *window = diagnosis->inspector.window;
    ls_tick oldest = window ? ls_replay_window_oldest(window) : 0;
    ls_tick compared = (tick - 1) / interval * interval;
    return oldest < tick ? LS_MAX(oldest, compared) : compared;
}

/* Begins to simulate again the ticks that led to the state. It is held at once: the window will not
 * keep it for long. One that is gone already may come out of the re-run. */
static void start_rerun(ls_diagnosis *diagnosis, const ls_evidence_request *request)
{
    end_rerun(diagnosis);
    ls_state_inspector_finish(&diagnosis->inspector);
    answer_deferred(diagnosis);
    send_fingerprint(diagnosis);
    diagnosis->request = *request;
    diagnosis->inspector.is_holding = hold(diagnosis, request->tick);
    bool can_run = diagnosis->inspector.window && host_of(diagnosis) && request->tick > 0;
    const ls_rerun_subject subject = {.agreed =
                                          can_run ? agreed_before(diagnosis, request->tick) : 0,
                                      .tick = request->tick,
                                      .pass = request->pass,
                                      .is_single = request->is_single};
    if (can_run) {
        keep_ticks(diagnosis, subject.agreed, subject.tick);
    }
    if (!can_run ||
        ls_state_inspector_start_rerun(&diagnosis->inspector, host_of(diagnosis), &subject,
                                       request->time_max_ms, &diagnosis->ticket) != LS_OK) {
        send_evidence(diagnosis, NULL);
    }
}

LS_TICK_CODE void ls_diagnosis_frame(ls_diagnosis *diagnosis)
{
    if (diagnosis->ticket != 0 && !diagnosis->outcome) {
        const ls_rerun_host *host = host_of(diagnosis);
        diagnosis->outcome =
            host->poll(host->context, diagnosis->ticket, diagnosis->context->now_ns);
        if (diagnosis->outcome) {
            send_evidence(diagnosis, diagnosis->outcome);
        }
    }
    ls_state_inspector_advance(&diagnosis->inspector);
    answer_deferred(diagnosis);
    await_questions(diagnosis);
}

/* ---- healing ---- */

static ls_status receive_leaf(ls_diagnosis *diagnosis, const ls_heal_leaf *leaf)
{
    const ls_state_inspector *inspector = &diagnosis->inspector;
    if (!ls_sim_instance_schema(diagnosis->context->instance) || !hold(diagnosis, leaf->tick) ||
        leaf->size == 0 || leaf->leaf >= ls_state_tree_node_count(inspector->tree) ||
        ls_state_tree_leaf_bytes(inspector->tree, leaf->leaf) != leaf->size) {
        return LS_MALFORMED;
    }
    ls_state_tree_write_leaf(inspector->tree, leaf->leaf, leaf->bytes, inspector->state);
    return LS_OK;
}

/* The held state is the server's now, and the ticks since then can be stepped again. */
static bool can_replay(ls_diagnosis *diagnosis, const ls_heal *heal, ls_tick settled)
{
    const ls_input_buffer *inputs = ls_confirmed_ticks_inputs(diagnosis->context->ticks);
    return ls_sim_instance_schema(diagnosis->context->instance) && hold(diagnosis, heal->tick) &&
           heal->tick % diagnosis->context->offer.hash_interval_ticks == 0 &&
           heal->tick <= settled &&
           (heal->tick == settled || ls_input_buffer_has(inputs, heal->tick, 0)) &&
           ls_state_inspector_hash(&diagnosis->inspector) == heal->state_hash;
}

/* The held state as the simulation would have saved it. */
static const uint8_t *saved_form(const ls_diagnosis *diagnosis)
{
    const ls_state_inspector *inspector = &diagnosis->inspector;
    if (!diagnosis->canonical) {
        return inspector->state;
    }
    ls_schema_to_canonical(ls_state_tree_schema(inspector->tree), inspector->state,
                           diagnosis->canonical);
    return diagnosis->canonical;
}

static bool apply(ls_diagnosis *diagnosis, const ls_heal *heal)
{
    ls_stepper *stepper = diagnosis->context->stepper;
    if (!can_replay(diagnosis, heal, ls_stepper_tick(stepper))) {
        return false;
    }
    ls_hash_log_correct(diagnosis->context->hashes, heal->tick, heal->state_hash, heal->chain);
    ls_stepper_go_back(stepper, saved_form(diagnosis), heal->tick, heal->state_hash);
    return true;
}

/* After the end nothing is healed: the server was told of the final state, and that stays as it is.
 */
static void heal_state(ls_diagnosis *diagnosis, const ls_heal *heal)
{
    bool is_playing = diagnosis->context->state == LS_SESSION_PLAYING;
    ls_healed healed = {.tick = heal->tick, .is_equal = is_playing && apply(diagnosis, heal)};
    diagnosis->inspector.is_holding = false;
    ls_session_outbox_begin(diagnosis->context->outbox, LS_MESSAGE_HEALED)->body.healed = healed;
    ls_session_outbox_send(diagnosis->context->outbox);
    if (healed.is_equal) {
        ls_diagnosis_note_healed(diagnosis, heal->tick);
    }
}

void ls_diagnosis_note_healed(ls_diagnosis *diagnosis, ls_tick tick)
{
    diagnosis->healed++;
    ls_session_outbox_push_event(diagnosis->context->outbox, LS_SESSION_EVENT_HEALED)->tick = tick;
}

/* ---- dispatch ---- */

ls_status ls_diagnosis_receive(ls_diagnosis *diagnosis, const ls_message *message)
{
    switch (message->kind) {
    case LS_MESSAGE_DESYNC:
        receive_notice(diagnosis, &message->body.desync);
        return LS_OK;
    case LS_MESSAGE_DESYNC_CAUSE:
        receive_cause(diagnosis, &message->body.cause);
        return LS_OK;
    case LS_MESSAGE_TREE_QUERY:
        receive_query(diagnosis, &message->body.tree_query);
        return LS_OK;
    case LS_MESSAGE_EVIDENCE_REQUEST:
        start_rerun(diagnosis, &message->body.evidence_request);
        return LS_OK;
    case LS_MESSAGE_HEAL_LEAF:
        return receive_leaf(diagnosis, &message->body.heal_leaf);
    case LS_MESSAGE_HEAL:
        heal_state(diagnosis, &message->body.heal);
        return LS_OK;
    default:
        return LS_MALFORMED;
    }
}

/* ---- reading ---- */

bool ls_diagnosis_is_desynced(const ls_diagnosis *diagnosis)
{
    return diagnosis->own_desyncs > 0;
}

void ls_diagnosis_report(const ls_diagnosis *diagnosis, ls_session_report *report)
{
    report->desyncs = diagnosis->desyncs;
    report->server_desyncs = diagnosis->server_desyncs;
    report->is_desynced = ls_diagnosis_is_desynced(diagnosis);
    report->own_desync = diagnosis->own_desync;
    report->own_desyncs = diagnosis->own_desyncs;
    report->healed = diagnosis->healed;
    report->has_own_cause = diagnosis->has_own_cause;
    report->own_cause = diagnosis->own_cause;
}
