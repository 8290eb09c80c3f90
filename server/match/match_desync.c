#include "lockstep/common/base/clock.h"
#include "lockstep/server/match/match_state.h"

#include <inttypes.h>
#include <string.h>

/* How long a client may take for what it is asked, and what is known is reported without it. */
#define INVESTIGATION_TIMEOUT_NS (UINT64_C(5) * LS_NS_PER_SECOND)

enum {
    RERUN_STEPS_PER_SECOND = 600, /* beside the match's own */
    HEALS_MAX = 8,                /* of one slot */
    INPUT_BYTES_SHOWN = 16,
};

static ls_tick agreed_before(const ls_match *match, ls_tick tick)
{
    uint32_t interval = match->config.hash_interval_ticks;
    return (tick - 1) / interval * interval;
}

/* ---- asking ---- */

/* All queries of a round at once. */
static void send_queries(ls_match *match)
{
    ls_investigation *investigation = match->investigation;
    ls_wire_query *query = &match->message.body.tree_query;
    ls_peer_id peer = match->seats[investigation->slot].report.peer;
    match->message.kind = LS_MESSAGE_TREE_QUERY;
    query->tick = investigation->tick;
    while (!investigation->is_compared &&
           ls_hash_tree_diff_next_query(investigation->diff, &query->query)) {
        ls_match_send(match, peer);
    }
    investigation->is_compared =
        investigation->is_compared || ls_hash_tree_diff_is_done(investigation->diff);
}

static void ask_for_evidence(ls_match *match, uint32_t slot, ls_tick tick)
{
    match->investigation->evidence[slot] = (ls_investigation_evidence){.tick = tick};
    match->message.kind = LS_MESSAGE_EVIDENCE_REQUEST;
    match->message.body.evidence_tick = tick;
    ls_match_send(match, match->seats[slot].report.peer);
}

/* ---- what is done about it ---- */

static void drop(ls_match *match, uint32_t slot, const char *why)
{
    if (ls_seat_is_in_play(&match->seats[slot])) {
        ls_match_drop(match, slot, LS_DESYNCED, why);
    }
}

/* Once the last tick is closed it makes no difference to anybody else any more. */
static void give_up_healing(ls_match *match, const char *why)
{
    match->investigation->phase = LS_INVESTIGATION_IDLE;
    if (match->state == LS_MATCH_RUNNING) {
        drop(match, match->investigation->slot, why);
    }
}

static void start_healing(ls_match *match)
{
    ls_investigation *investigation = match->investigation;
    const ls_seat *seat = &match->seats[investigation->slot];
    if (match->state != LS_MATCH_RUNNING || seat->state != LS_SEAT_PLAYING) {
        return;
    }
    if (investigation->findings[investigation->slot].healed >= HEALS_MAX) {
        give_up_healing(match, "its state differs again after it was healed eight times");
        return;
    }
    if (!ls_investigation_compare(investigation, seat->chain_tick, match->now_ns)) {
        give_up_healing(match, "its state differs and is too old to be healed");
        return;
    }
    investigation->phase = LS_INVESTIGATION_COMPARING;
    send_queries(match);
}

static void send_leaf(ls_match *match, uint32_t leaf)
{
    const ls_investigation *investigation = match->investigation;
    ls_heal_leaf *sent = &match->message.body.heal_leaf;
    match->message.kind = LS_MESSAGE_HEAL_LEAF;
    sent->tick = investigation->tick;
    sent->leaf = leaf;
    sent->size = (uint32_t)ls_state_tree_leaf_bytes(investigation->tree, leaf);
    ls_state_tree_read_leaf(investigation->tree, leaf, ls_sim_instance_view(investigation->spare),
                            sent->bytes);
    ls_match_send(match, match->seats[investigation->slot].report.peer);
}

static void send_healing(ls_match *match)
{
    ls_investigation *investigation = match->investigation;
    ls_heal *heal = &match->message.body.heal;
    uint64_t state_hash = 0;
    uint64_t chain = 0;
    bool is_held =
        ls_replay_window_hash(investigation->window, investigation->tick, &state_hash) == LS_OK &&
        ls_arbiter_chain(&match->arbiter, investigation->tick, &chain);
    if (!is_held || !ls_investigation_can_heal(investigation)) {
        give_up_healing(match, "its state differs in more than can be healed without a snapshot");
        return;
    }
    for (uint32_t i = 0; i < ls_hash_tree_diff_leaf_count(investigation->diff); i++) {
        send_leaf(match, ls_hash_tree_diff_leaf(investigation->diff, i));
    }
    match->message.kind = LS_MESSAGE_HEAL;
    *heal = (ls_heal){.tick = investigation->tick, .state_hash = state_hash, .chain = chain};
    ls_match_send(match, match->seats[investigation->slot].report.peer);
    investigation->phase = LS_INVESTIGATION_HEALING;
    investigation->since_ns = match->now_ns;
}

/* The report has been seen. */
static void act(ls_match *match)
{
    ls_investigation *investigation = match->investigation;
    investigation->phase = LS_INVESTIGATION_IDLE;
    if (match->config.on_desync == LS_ON_DESYNC_DROP) {
        drop(match, investigation->slot, "its state differs from the server's");
    } else if (match->config.on_desync == LS_ON_DESYNC_HEAL) {
        start_healing(match);
    }
}

/* ---- the report ---- */

static void send_cause(ls_match *match, uint32_t slot, const ls_desync_finding *finding)
{
    ls_desync_cause *cause = &match->message.body.cause;
    memset(cause, 0, sizeof *cause);
    match->message.kind = LS_MESSAGE_DESYNC_CAUSE;
    cause->slot = slot;
    cause->tick = finding->tick;
    cause->kind = finding->verdict.kind;
    cause->culprit = finding->verdict.culprit;
    cause->fields = finding->fields;
    cause->elements = finding->elements < UINT32_MAX ? (uint32_t)finding->elements : UINT32_MAX;
    cause->is_lower_bound = finding->is_lower_bound;
    cause->why = finding->verdict.why;
    if (finding->place_count > 0) {
        const ls_difference_text *first = &finding->places[0];
        ls_name_copy(cause->field, sizeof cause->field, first->name);
        ls_name_copy(cause->server_value, sizeof cause->server_value, first->a);
        ls_name_copy(cause->client_value, sizeof cause->client_value, first->b);
    }
    if (finding->pass) {
        ls_name_copy(cause->pass, sizeof cause->pass, finding->pass);
    }
    ls_match_send_all(match);
}

/* One slot's input as a person reads it: "slot 0: 2 bytes 01e8". */
static void describe_input(const ls_slot_input *input, uint32_t slot, ls_text *out)
{
    uint32_t shown = input->size < INPUT_BYTES_SHOWN ? input->size : INPUT_BYTES_SHOWN;
    ls_text_add(out, "%sslot %" PRIu32 ": ", slot > 0 ? "; " : "", slot);
    if (input->size == 0) {
        ls_text_add(out, "nothing");
    } else {
        ls_text_add(out, "%" PRIu32 " byte%s ", input->size, input->size == 1 ? "" : "s");
    }
    for (uint32_t i = 0; i < shown; i++) {
        ls_text_add(out, "%02x", input->bytes[i]);
    }
    ls_text_add(out, "%s%s%s", shown < input->size ? "..." : "",
                input->events & LS_EVENT_JOINED ? " joined" : "",
                input->events & LS_EVENT_LEFT ? " left" : "");
}

static void describe_inputs(const ls_match *match, ls_tick tick, ls_text *out)
{
    ls_slot_input inputs[LS_PLAYERS_MAX];
    ls_text_set(out, "%s", "");
    if (ls_input_buffer_tick(match->closed, tick, inputs) != LS_OK) {
        return;
    }
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        describe_input(&inputs[slot], slot, out);
    }
}

static void conclude(ls_match *match)
{
    ls_investigation *investigation = match->investigation;
    const ls_arbiter_slot *found = &match->arbiter.slots[investigation->slot];
    ls_desync_finding *finding = ls_investigation_conclude(investigation, found->server_hash,
                                                           found->client_hash, match->config.print);
    finding->took_ns = match->now_ns - match->seats[investigation->slot].desync_ns;
    describe_inputs(match, finding->tick - 1, &finding->inputs);
    investigation->evidence[investigation->slot].tick = 0;
    investigation->phase = LS_INVESTIGATION_REPORTED;
    investigation->since_ns = match->now_ns;
    ls_match_event *event = ls_match_push_event(match, LS_MATCH_DESYNC_CAUSE);
    event->slot = investigation->slot;
    event->tick = finding->tick;
    event->text = finding->verdict.why;
    send_cause(match, investigation->slot, finding);
}

/* ---- one after another ---- */

static void start_next(ls_match *match)
{
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        ls_seat *seat = &match->seats[slot];
        if (seat->is_desync_open) {
            seat->is_desync_open = false;
            ls_tick tick = seat->report.desync_tick;
            ls_investigation_start(match->investigation, slot, agreed_before(match, tick), tick,
                                   match->now_ns);
            send_queries(match);
            return;
        }
    }
}

void ls_match_desync_found(ls_match *match, uint32_t slot)
{
    ls_seat *seat = &match->seats[slot];
    seat->desync_ns = match->now_ns;
    bool can_ask = match->investigation && seat->report.desync_tick > 0 &&
                   ls_seat_is_in_play(seat) && match->arbiter.slots[slot].client_hash != 0;
    if (!can_ask) {
        if (match->config.on_desync == LS_ON_DESYNC_DROP ||
            match->config.on_desync == LS_ON_DESYNC_HEAL) {
            drop(match, slot, "its state differs from the server's");
        }
        return;
    }
    seat->is_desync_open = true;
    ask_for_evidence(match, slot, seat->report.desync_tick);
    if (match->investigation->phase == LS_INVESTIGATION_IDLE) {
        start_next(match);
    }
}

static bool is_late(const ls_match *match)
{
    return match->now_ns - match->investigation->since_ns >= INVESTIGATION_TIMEOUT_NS;
}

static void look(ls_match *match)
{
    ls_investigation *investigation = match->investigation;
    uint64_t dt_ns = match->timestep.config.dt_ns;
    if (match->now_ns - investigation->ran_ns >= dt_ns) {
        uint32_t rate_hz = match->config.sim.tick_rate_hz;
        bool was_comparing = investigation->is_comparing;
        investigation->ran_ns = match->now_ns;
        ls_investigation_run(investigation, (RERUN_STEPS_PER_SECOND + rate_hz - 1) / rate_hz);
        if (investigation->is_comparing && !was_comparing) {
            send_queries(match);
        }
    }
    if (ls_investigation_is_done(investigation) || is_late(match)) {
        conclude(match);
    }
}

void ls_match_desync_advance(ls_match *match)
{
    if (!match->investigation) {
        return;
    }
    switch (match->investigation->phase) {
    case LS_INVESTIGATION_LOOKING:
        look(match);
        return;
    case LS_INVESTIGATION_REPORTED:
        if (match->now_ns > match->investigation->since_ns) {
            act(match);
        }
        return;
    case LS_INVESTIGATION_COMPARING:
    case LS_INVESTIGATION_HEALING:
        if (is_late(match)) {
            give_up_healing(match, "its state differs, and it did not answer while it was healed");
        }
        return;
    case LS_INVESTIGATION_IDLE:
        start_next(match);
        return;
    }
}

bool ls_match_desync_is_open(const ls_match *match)
{
    bool is_open = match->investigation && match->investigation->phase != LS_INVESTIGATION_IDLE;
    for (uint32_t slot = 0; match->investigation && slot < match->config.sim.players; slot++) {
        is_open = is_open || match->seats[slot].is_desync_open;
    }
    return is_open;
}

/* ---- a client leaves, or time is up ---- */

static bool is_about(const ls_match *match, uint32_t slot)
{
    return match->investigation && match->investigation->phase != LS_INVESTIGATION_IDLE &&
           match->investigation->slot == slot;
}

void ls_match_desync_leave(ls_match *match, uint32_t slot)
{
    match->seats[slot].is_desync_open = false;
    if (!is_about(match, slot)) {
        return;
    }
    if (match->investigation->phase == LS_INVESTIGATION_LOOKING) {
        conclude(match);
    } else if (match->investigation->phase != LS_INVESTIGATION_REPORTED) {
        match->investigation->phase = LS_INVESTIGATION_IDLE;
    }
}

void ls_match_desync_finish(ls_match *match)
{
    while (ls_match_desync_is_open(match)) {
        switch (match->investigation->phase) {
        case LS_INVESTIGATION_IDLE:
            start_next(match);
            break;
        case LS_INVESTIGATION_LOOKING:
            conclude(match);
            break;
        default:
            act(match);
            match->investigation->phase = LS_INVESTIGATION_IDLE;
            break;
        }
    }
}

/* ---- what comes in ---- */

ls_status ls_match_desync_answer(ls_match *match, uint32_t slot, const ls_wire_answer *answer)
{
    ls_investigation *investigation = match->investigation;
    bool is_asked = is_about(match, slot) && investigation->is_comparing &&
                    !investigation->is_compared && answer->asked.tick == investigation->tick &&
                    (investigation->phase == LS_INVESTIGATION_LOOKING ||
                     investigation->phase == LS_INVESTIGATION_COMPARING);
    if (!is_asked) {
        return LS_STALE;
    }
    bool is_fitting = ls_investigation_take_answer(investigation, answer);
    send_queries(match);
    if (!investigation->is_compared) {
        return LS_OK;
    }
    if (investigation->phase == LS_INVESTIGATION_COMPARING) {
        send_healing(match);
    } else if (ls_investigation_is_done(investigation)) {
        conclude(match);
    }
    return is_fitting ? LS_OK : LS_MALFORMED;
}

static bool is_evidence_open(const ls_match *match, uint32_t slot)
{
    return match->investigation && match->investigation->evidence[slot].tick != 0;
}

static void conclude_when_through(ls_match *match, uint32_t slot)
{
    if (is_about(match, slot) && match->investigation->phase == LS_INVESTIGATION_LOOKING &&
        ls_investigation_is_done(match->investigation)) {
        conclude(match);
    }
}

ls_status ls_match_desync_evidence(ls_match *match, uint32_t slot, const ls_wire_evidence *evidence)
{
    if (!is_evidence_open(match, slot) || match->investigation->evidence[slot].has_figures ||
        evidence->tick != match->investigation->evidence[slot].tick) {
        return LS_STALE;
    }
    ls_status status = ls_investigation_take_evidence(match->investigation, slot, evidence);
    conclude_when_through(match, slot);
    return status;
}

ls_status ls_match_desync_fingerprint(ls_match *match, uint32_t slot,
                                      const ls_wire_fingerprint *print)
{
    if (!is_evidence_open(match, slot)) {
        return LS_STALE;
    }
    ls_investigation_take_fingerprint(match->investigation, slot, print);
    conclude_when_through(match, slot);
    return LS_OK;
}

ls_status ls_match_desync_healed(ls_match *match, uint32_t slot, const ls_healed *healed)
{
    ls_investigation *investigation = match->investigation;
    if (!is_about(match, slot) || investigation->phase != LS_INVESTIGATION_HEALING ||
        healed->tick != investigation->tick) {
        return LS_STALE;
    }
    if (!healed->is_equal) {
        give_up_healing(match, "its state differs even with the server's values in it");
        return LS_OK;
    }
    investigation->phase = LS_INVESTIGATION_IDLE;
    investigation->findings[slot].healed++;
    ls_arbiter_heal(&match->arbiter, slot, healed->tick);
    ls_match_event *event = ls_match_push_event(match, LS_MATCH_HEALED);
    event->slot = slot;
    event->tick = healed->tick;
    return LS_OK;
}

/* ---- what can be seen from outside ---- */

const ls_desync_finding *ls_match_desync_of(const ls_match *match, uint32_t slot)
{
    bool is_known = match->investigation && match->investigation->findings[slot].times > 0;
    return is_known ? &match->investigation->findings[slot] : NULL;
}

bool ls_match_desync_evidence_of(const ls_match *match, uint32_t slot, ls_desync_evidence_set *out)
{
    const ls_investigation *investigation = match->investigation;
    if (!is_about(match, slot) || investigation->phase != LS_INVESTIGATION_REPORTED) {
        return false;
    }
    const ls_investigation_evidence *kept = &investigation->evidence[slot];
    bool is_rerun = ls_rerun_figures_of(investigation->rerun)->tick == investigation->bad_tick;
    *out = (ls_desync_evidence_set){
        .server_hash = match->arbiter.slots[slot].server_hash,
        .client_hash = match->arbiter.slots[slot].client_hash,
        .window = investigation->window,
        .server_figures = &investigation->figures,
        .server_passes = is_rerun ? ls_rerun_passes(investigation->rerun) : NULL,
        .client_figures = kept->has_figures ? &kept->figures : NULL,
        .client_passes = kept->has_figures ? &kept->passes : NULL,
        .client_fingerprint = kept->has_fingerprint ? &kept->print : NULL,
        .server_state =
            investigation->is_comparing ? ls_sim_instance_view(investigation->spare) : NULL,
        .client_state = investigation->is_comparing
                            ? ls_hash_tree_diff_other_state(investigation->diff)
                            : NULL};
    out->has_stretch = ls_replay_window_stretch(investigation->window,
                                                agreed_before(match, investigation->bad_tick),
                                                investigation->bad_tick, &out->stretch) == LS_OK;
    return true;
}
