#include "lockstep/common/base/clock.h"
#include "lockstep/server/match/match_state.h"

#include <inttypes.h>
#include <string.h>

/* How long a client may take for what it is asked, and what is known is reported without it. */
#define LADDER_TIMEOUT_NS (UINT64_C(5) * LS_NS_PER_SECOND)

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
    ls_ladder *ladder = match->ladder;
    ls_wire_query *query = &match->message.body.tree_query;
    ls_peer_id peer = match->seats[ladder->slot].report.peer;
    match->message.kind = LS_MESSAGE_TREE_QUERY;
    query->tick = ladder->tick;
    while (!ladder->is_compared && ls_state_descent_next_query(ladder->descent, &query->query)) {
        ls_match_send(match, peer);
    }
    ladder->is_compared = ladder->is_compared || ls_state_descent_is_done(ladder->descent);
}

static void ask_for_evidence(ls_match *match, uint32_t slot, ls_tick tick)
{
    match->ladder->evidence[slot] = (ls_ladder_evidence){.tick = tick};
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
    match->ladder->phase = LS_LADDER_IDLE;
    if (match->state == LS_MATCH_RUNNING) {
        drop(match, match->ladder->slot, why);
    }
}

static void start_healing(ls_match *match)
{
    ls_ladder *ladder = match->ladder;
    const ls_seat *seat = &match->seats[ladder->slot];
    if (match->state != LS_MATCH_RUNNING || seat->state != LS_SEAT_PLAYING) {
        return;
    }
    if (ladder->findings[ladder->slot].healed >= HEALS_MAX) {
        give_up_healing(match, "its state differs again after it was healed eight times");
        return;
    }
    if (!ls_ladder_compare(ladder, seat->chain_tick, match->now_ns)) {
        give_up_healing(match, "its state differs and is too old to be healed");
        return;
    }
    ladder->phase = LS_LADDER_COMPARING;
    send_queries(match);
}

static void send_leaf(ls_match *match, uint32_t leaf)
{
    const ls_ladder *ladder = match->ladder;
    ls_heal_leaf *sent = &match->message.body.heal_leaf;
    match->message.kind = LS_MESSAGE_HEAL_LEAF;
    sent->tick = ladder->tick;
    sent->leaf = leaf;
    sent->size = (uint32_t)ls_state_tree_leaf_bytes(ladder->tree, leaf);
    ls_state_tree_read_leaf(ladder->tree, leaf, ls_sim_instance_view(ladder->spare), sent->bytes);
    ls_match_send(match, match->seats[ladder->slot].report.peer);
}

static void send_healing(ls_match *match)
{
    ls_ladder *ladder = match->ladder;
    ls_heal *heal = &match->message.body.heal;
    uint64_t root = 0;
    uint64_t chain = 0;
    bool is_held = ls_replay_window_root(ladder->window, ladder->tick, &root) == LS_OK &&
                   ls_arbiter_chain(&match->arbiter, ladder->tick, &chain);
    if (!is_held || !ls_ladder_can_heal(ladder)) {
        give_up_healing(match, "its state differs in more than can be healed without a snapshot");
        return;
    }
    for (uint32_t i = 0; i < ls_state_descent_leaf_count(ladder->descent); i++) {
        send_leaf(match, ls_state_descent_leaf(ladder->descent, i));
    }
    match->message.kind = LS_MESSAGE_HEAL;
    *heal = (ls_heal){.tick = ladder->tick, .root = root, .chain = chain};
    ls_match_send(match, match->seats[ladder->slot].report.peer);
    ladder->phase = LS_LADDER_HEALING;
    ladder->since_ns = match->now_ns;
}

/* The report has been seen. */
static void act(ls_match *match)
{
    ls_ladder *ladder = match->ladder;
    ladder->phase = LS_LADDER_IDLE;
    if (match->config.on_desync == LS_ON_DESYNC_DROP) {
        drop(match, ladder->slot, "its state differs from the server's");
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
    ls_ladder *ladder = match->ladder;
    const ls_arbiter_slot *found = &match->arbiter.slots[ladder->slot];
    ls_desync_finding *finding =
        ls_ladder_conclude(ladder, found->server_root, found->client_root, match->config.print);
    finding->took_ns = match->now_ns - match->seats[ladder->slot].desync_ns;
    describe_inputs(match, finding->tick - 1, &finding->inputs);
    ladder->evidence[ladder->slot].tick = 0;
    ladder->phase = LS_LADDER_REPORTED;
    ladder->since_ns = match->now_ns;
    ls_match_event *event = ls_match_push_event(match, LS_MATCH_DESYNC_CAUSE);
    event->slot = ladder->slot;
    event->tick = finding->tick;
    event->text = finding->verdict.why;
    send_cause(match, ladder->slot, finding);
}

/* ---- one after another ---- */

static void start_next(ls_match *match)
{
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        ls_seat *seat = &match->seats[slot];
        if (seat->is_desync_open) {
            seat->is_desync_open = false;
            ls_tick tick = seat->report.desync_tick;
            ls_ladder_start(match->ladder, slot, agreed_before(match, tick), tick, match->now_ns);
            send_queries(match);
            return;
        }
    }
}

void ls_match_desync_found(ls_match *match, uint32_t slot)
{
    ls_seat *seat = &match->seats[slot];
    seat->desync_ns = match->now_ns;
    bool can_ask = match->ladder && seat->report.desync_tick > 0 && ls_seat_is_in_play(seat) &&
                   match->arbiter.slots[slot].client_root != 0;
    if (!can_ask) {
        if (match->config.on_desync == LS_ON_DESYNC_DROP ||
            match->config.on_desync == LS_ON_DESYNC_HEAL) {
            drop(match, slot, "its state differs from the server's");
        }
        return;
    }
    seat->is_desync_open = true;
    ask_for_evidence(match, slot, seat->report.desync_tick);
    if (match->ladder->phase == LS_LADDER_IDLE) {
        start_next(match);
    }
}

static bool is_late(const ls_match *match)
{
    return match->now_ns - match->ladder->since_ns >= LADDER_TIMEOUT_NS;
}

static void look(ls_match *match)
{
    ls_ladder *ladder = match->ladder;
    uint64_t dt_ns = match->timestep.config.dt_ns;
    if (match->now_ns - ladder->ran_ns >= dt_ns) {
        uint32_t rate_hz = match->config.sim.tick_rate_hz;
        bool was_comparing = ladder->is_comparing;
        ladder->ran_ns = match->now_ns;
        ls_ladder_run(ladder, (RERUN_STEPS_PER_SECOND + rate_hz - 1) / rate_hz);
        if (ladder->is_comparing && !was_comparing) {
            send_queries(match);
        }
    }
    if (ls_ladder_is_through(ladder) || is_late(match)) {
        conclude(match);
    }
}

void ls_match_desync_advance(ls_match *match)
{
    if (!match->ladder) {
        return;
    }
    switch (match->ladder->phase) {
    case LS_LADDER_LOOKING:
        look(match);
        return;
    case LS_LADDER_REPORTED:
        if (match->now_ns > match->ladder->since_ns) {
            act(match);
        }
        return;
    case LS_LADDER_COMPARING:
    case LS_LADDER_HEALING:
        if (is_late(match)) {
            give_up_healing(match, "its state differs, and it did not answer while it was healed");
        }
        return;
    case LS_LADDER_IDLE:
        start_next(match);
        return;
    }
}

bool ls_match_desync_is_open(const ls_match *match)
{
    bool is_open = match->ladder && match->ladder->phase != LS_LADDER_IDLE;
    for (uint32_t slot = 0; match->ladder && slot < match->config.sim.players; slot++) {
        is_open = is_open || match->seats[slot].is_desync_open;
    }
    return is_open;
}

/* ---- a client leaves, or time is up ---- */

static bool is_about(const ls_match *match, uint32_t slot)
{
    return match->ladder && match->ladder->phase != LS_LADDER_IDLE && match->ladder->slot == slot;
}

void ls_match_desync_leave(ls_match *match, uint32_t slot)
{
    match->seats[slot].is_desync_open = false;
    if (!is_about(match, slot)) {
        return;
    }
    if (match->ladder->phase == LS_LADDER_LOOKING) {
        conclude(match);
    } else if (match->ladder->phase != LS_LADDER_REPORTED) {
        match->ladder->phase = LS_LADDER_IDLE;
    }
}

void ls_match_desync_finish(ls_match *match)
{
    while (ls_match_desync_is_open(match)) {
        switch (match->ladder->phase) {
        case LS_LADDER_IDLE:
            start_next(match);
            break;
        case LS_LADDER_LOOKING:
            conclude(match);
            break;
        default:
            act(match);
            match->ladder->phase = LS_LADDER_IDLE;
            break;
        }
    }
}

/* ---- what comes in ---- */

ls_status ls_match_desync_answer(ls_match *match, uint32_t slot, const ls_wire_answer *answer)
{
    ls_ladder *ladder = match->ladder;
    bool is_asked = is_about(match, slot) && ladder->is_comparing && !ladder->is_compared &&
                    answer->asked.tick == ladder->tick &&
                    (ladder->phase == LS_LADDER_LOOKING || ladder->phase == LS_LADDER_COMPARING);
    if (!is_asked) {
        return LS_STALE;
    }
    bool is_fitting = ls_ladder_take_answer(ladder, answer);
    send_queries(match);
    if (!ladder->is_compared) {
        return LS_OK;
    }
    if (ladder->phase == LS_LADDER_COMPARING) {
        send_healing(match);
    } else if (ls_ladder_is_through(ladder)) {
        conclude(match);
    }
    return is_fitting ? LS_OK : LS_MALFORMED;
}

static bool is_evidence_open(const ls_match *match, uint32_t slot)
{
    return match->ladder && match->ladder->evidence[slot].tick != 0;
}

static void conclude_when_through(ls_match *match, uint32_t slot)
{
    if (is_about(match, slot) && match->ladder->phase == LS_LADDER_LOOKING &&
        ls_ladder_is_through(match->ladder)) {
        conclude(match);
    }
}

ls_status ls_match_desync_evidence(ls_match *match, uint32_t slot, const ls_wire_evidence *evidence)
{
    if (!is_evidence_open(match, slot) || match->ladder->evidence[slot].has_figures ||
        evidence->tick != match->ladder->evidence[slot].tick) {
        return LS_STALE;
    }
    ls_status status = ls_ladder_take_evidence(match->ladder, slot, evidence);
    conclude_when_through(match, slot);
    return status;
}

ls_status ls_match_desync_print(ls_match *match, uint32_t slot, const ls_wire_print *print)
{
    if (!is_evidence_open(match, slot)) {
        return LS_STALE;
    }
    ls_ladder_take_print(match->ladder, slot, print);
    conclude_when_through(match, slot);
    return LS_OK;
}

ls_status ls_match_desync_healed(ls_match *match, uint32_t slot, const ls_healed *healed)
{
    ls_ladder *ladder = match->ladder;
    if (!is_about(match, slot) || ladder->phase != LS_LADDER_HEALING ||
        healed->tick != ladder->tick) {
        return LS_STALE;
    }
    if (!healed->is_equal) {
        give_up_healing(match, "its state differs even with the server's values in it");
        return LS_OK;
    }
    ladder->phase = LS_LADDER_IDLE;
    ladder->findings[slot].healed++;
    ls_arbiter_heal(&match->arbiter, slot, healed->tick);
    ls_match_event *event = ls_match_push_event(match, LS_MATCH_HEALED);
    event->slot = slot;
    event->tick = healed->tick;
    return LS_OK;
}

/* ---- what can be seen from outside ---- */

const ls_desync_finding *ls_match_desync_of(const ls_match *match, uint32_t slot)
{
    bool is_known = match->ladder && match->ladder->findings[slot].times > 0;
    return is_known ? &match->ladder->findings[slot] : NULL;
}

bool ls_match_desync_evidence_of(const ls_match *match, uint32_t slot, ls_desync_evidence_set *out)
{
    const ls_ladder *ladder = match->ladder;
    if (!is_about(match, slot) || ladder->phase != LS_LADDER_REPORTED) {
        return false;
    }
    const ls_ladder_evidence *kept = &ladder->evidence[slot];
    bool is_rerun = ls_rerun_figures_of(ladder->rerun)->tick == ladder->bad_tick;
    *out = (ls_desync_evidence_set){
        .server_root = match->arbiter.slots[slot].server_root,
        .client_root = match->arbiter.slots[slot].client_root,
        .window = ladder->window,
        .server_figures = &ladder->figures,
        .server_passes = is_rerun ? ls_rerun_passes(ladder->rerun) : NULL,
        .client_figures = kept->has_figures ? &kept->figures : NULL,
        .client_passes = kept->has_figures ? &kept->passes : NULL,
        .client_print = kept->has_print ? &kept->print : NULL,
        .server_state = ladder->is_comparing ? ls_sim_instance_view(ladder->spare) : NULL,
        .client_state =
            ladder->is_comparing ? ls_state_descent_other_state(ladder->descent) : NULL};
    out->has_stretch =
        ls_replay_window_stretch(ladder->window, agreed_before(match, ladder->bad_tick),
                                 ladder->bad_tick, &out->stretch) == LS_OK;
    return true;
}
