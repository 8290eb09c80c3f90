#include "lockstep/server/match/desync_service.h"

#include "lockstep/common/base/prefetch.h"
#include "lockstep/server/match/arbiter.h"
#include "lockstep/server/match/investigation.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

enum {
    HEALS_MAX = 8, /* of one slot */
    INPUT_BYTES_SHOWN = 16,
};

static const char STATE_DIFFERS[] = "the client's state differs from the server's";

/* One slot, beside what the arbiter knows of it. */
typedef struct desync_slot {
    uint64_t asked_ns; /* when its hashes were last asked for */
    uint64_t found_ns; /* when it was last found to differ */
    bool is_open;      /* the cause has not been looked for yet */
    bool is_desynced;  /* it differed once; the first tick and both hashes */
    ls_tick tick;
    uint64_t server_hash;
    uint64_t client_hash;
    ls_finished finished; /* as the player said it */
} desync_slot;

struct ls_desync_service {
    const ls_match_context *match;
    ls_investigation *investigation; /* NULL: nothing is kept to find causes with */
    ls_arbiter arbiter;
    desync_slot slots[LS_PLAYERS_MAX];
};

static const ls_desync_drop NOBODY = {0, NULL};

static ls_tick agreed_before(const ls_desync_service *desync, ls_tick tick)
{
    uint32_t interval = desync->match->config.hash_interval_ticks;
    return (tick - 1) / interval * interval;
}

/* ---- asking ---- */

/* All queries of a round at once. */
static void send_queries(ls_desync_service *desync)
{
    ls_investigation *investigation = desync->investigation;
    ls_wire_query *query =
        &ls_outbox_message(desync->match->outbox, LS_MESSAGE_TREE_QUERY)->body.tree_query;
    ls_peer_id peer = desync->match->seats->peers[investigation->slot];
    query->tick = investigation->tick;
    while (!investigation->is_compared &&
           ls_hash_tree_diff_next_query(investigation->diff, &query->query)) {
        ls_outbox_send(desync->match->outbox, peer);
    }
    investigation->is_compared =
        investigation->is_compared || ls_hash_tree_diff_is_done(investigation->diff);
}

static void ask_for_evidence(ls_desync_service *desync, uint32_t slot, ls_tick tick)
{
    desync->investigation->evidence[slot] = (ls_investigation_evidence){.tick = tick};
    ls_outbox_message(desync->match->outbox, LS_MESSAGE_EVIDENCE_REQUEST)->body.evidence_tick =
        tick;
    ls_outbox_send(desync->match->outbox, desync->match->seats->peers[slot]);
}

/* ---- what is done about it ---- */

/* Once the last tick is closed a difference matters to nobody else any more. */
static ls_desync_drop give_up_healing(ls_desync_service *desync, const char *why)
{
    desync->investigation->phase = LS_INVESTIGATION_IDLE;
    return desync->match->state == LS_MATCH_RUNNING
               ? (ls_desync_drop){desync->investigation->slot, why}
               : NOBODY;
}

static ls_desync_drop start_healing(ls_desync_service *desync)
{
    ls_investigation *investigation = desync->investigation;
    uint32_t slot = investigation->slot;
    if (desync->match->state != LS_MATCH_RUNNING ||
        desync->match->seats->rows[slot].state != LS_SEAT_PLAYING) {
        return NOBODY;
    }
    if (investigation->findings[slot].healed >= HEALS_MAX) {
        return give_up_healing(desync, "its state differs again after it was healed eight times");
    }
    if (!ls_investigation_compare(investigation, desync->match->links[slot].chain_tick,
                                  desync->match->now_ns)) {
        return give_up_healing(desync, "its state differs and is too old to be healed");
    }
    investigation->phase = LS_INVESTIGATION_COMPARING;
    send_queries(desync);
    return NOBODY;
}

static void send_leaf(ls_desync_service *desync, uint32_t leaf)
{
    const ls_investigation *investigation = desync->investigation;
    ls_heal_leaf *sent =
        &ls_outbox_message(desync->match->outbox, LS_MESSAGE_HEAL_LEAF)->body.heal_leaf;
    sent->tick = investigation->tick;
    sent->leaf = leaf;
    sent->size = (uint32_t)ls_state_tree_leaf_bytes(investigation->inspector.tree, leaf);
    ls_state_tree_read_leaf(investigation->inspector.tree, leaf, investigation->inspector.state,
                            sent->bytes);
    ls_outbox_send(desync->match->outbox, desync->match->seats->peers[investigation->slot]);
}

static ls_desync_drop send_healing(ls_desync_service *desync)
{
    ls_investigation *investigation = desync->investigation;
    uint64_t state_hash = 0;
    uint64_t chain = 0;
    bool is_held = ls_replay_window_hash(investigation->inspector.window, investigation->tick,
                                         &state_hash) == LS_OK &&
                   ls_hash_record_chain(&desync->match->log->hashes, investigation->tick, &chain);
    if (!is_held || !ls_investigation_can_heal(investigation)) {
        return give_up_healing(desync,
                               "its state differs in more than can be healed without a snapshot");
    }
    for (uint32_t i = 0; i < ls_hash_tree_diff_leaf_count(investigation->diff); i++) {
        send_leaf(desync, ls_hash_tree_diff_leaf(investigation->diff, i));
    }
    ls_outbox_message(desync->match->outbox, LS_MESSAGE_HEAL)->body.heal =
        (ls_heal){.tick = investigation->tick, .state_hash = state_hash, .chain = chain};
    ls_outbox_send(desync->match->outbox, desync->match->seats->peers[investigation->slot]);
    investigation->phase = LS_INVESTIGATION_HEALING;
    investigation->since_ns = desync->match->now_ns;
    return NOBODY;
}

/* Everybody could see the report: the match's rule is applied. */
static ls_desync_drop act(ls_desync_service *desync)
{
    ls_on_desync rule = desync->match->config.on_desync;
    desync->investigation->phase = LS_INVESTIGATION_IDLE;
    if (rule == LS_ON_DESYNC_DROP) {
        return (ls_desync_drop){desync->investigation->slot, STATE_DIFFERS};
    }
    return rule == LS_ON_DESYNC_HEAL ? start_healing(desync) : NOBODY;
}

/* ---- the report ---- */

static void send_cause(ls_desync_service *desync, uint32_t slot, const ls_desync_finding *finding)
{
    ls_desync_cause *cause =
        &ls_outbox_message(desync->match->outbox, LS_MESSAGE_DESYNC_CAUSE)->body.cause;
    memset(cause, 0, sizeof *cause);
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
    ls_seat_table_send_all(desync->match->seats);
}

/* One slot's input as a person reads it: "slot 0: 2 bytes 01e8". */
static void describe_input(const ls_slot_input *input, uint32_t slot, ls_text *out)
{
    uint32_t shown = LS_MIN(input->size, INPUT_BYTES_SHOWN);
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

static void describe_inputs(const ls_desync_service *desync, ls_tick tick, ls_text *out)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    ls_text_set(out, "%s", "");
    if (ls_tick_log_at(desync->match->log, tick, slots, &inputs) != LS_OK) {
        return;
    }
    for (uint32_t slot = 0; slot < inputs.slot_count; slot++) {
        describe_input(&slots[slot], slot, out);
    }
}

static void conclude(ls_desync_service *desync)
{
    ls_investigation *investigation = desync->investigation;
    const ls_arbiter_slot *found = &desync->arbiter.slots[investigation->slot];
    ls_desync_finding *finding = ls_investigation_conclude(
        investigation, found->server_hash, found->client_hash, desync->match->config.print);
    finding->took_ns = desync->match->now_ns - desync->slots[investigation->slot].found_ns;
    describe_inputs(desync, finding->tick - 1, &finding->inputs);
    investigation->evidence[investigation->slot].tick = 0;
    investigation->phase = LS_INVESTIGATION_REPORTED;
    investigation->since_ns = desync->match->now_ns;
    ls_match_event *event = ls_outbox_push_event(desync->match->outbox, LS_MATCH_DESYNC_CAUSE,
                                                 investigation->slot, finding->tick);
    event->text = finding->verdict.why;
    send_cause(desync, investigation->slot, finding);
}

/* ---- one after another ---- */

static void start_next(ls_desync_service *desync)
{
    for (uint32_t slot = 0; slot < desync->match->config.sim.players; slot++) {
        desync_slot *known = &desync->slots[slot];
        if (known->is_open) {
            known->is_open = false;
            ls_investigation_start(desync->investigation, slot, agreed_before(desync, known->tick),
                                   known->tick, desync->match->now_ns);
            send_queries(desync);
            return;
        }
    }
}

bool ls_desync_service_announce(ls_desync_service *desync, uint32_t slot)
{
    const ls_arbiter_slot *found = &desync->arbiter.slots[slot];
    desync_slot *known = &desync->slots[slot];
    known->is_desynced = true;
    known->tick = found->bad_tick;
    known->server_hash = found->server_hash;
    known->client_hash = found->client_hash;
    ls_outbox_message(desync->match->outbox, LS_MESSAGE_DESYNC)->body.desync =
        (ls_desync_notice){.slot = slot,
                           .tick = found->bad_tick,
                           .server_hash = found->server_hash,
                           .client_hash = found->client_hash};
    ls_seat_table_send_all(desync->match->seats);
    ls_match_event *event =
        ls_outbox_push_event(desync->match->outbox, LS_MATCH_DESYNC, slot, found->bad_tick);
    event->server_hash = found->server_hash;
    event->client_hash = found->client_hash;
    return desync->match->config.on_desync == LS_ON_DESYNC_STOP &&
           desync->match->state == LS_MATCH_RUNNING;
}

ls_desync_drop ls_desync_service_investigate(ls_desync_service *desync, uint32_t slot)
{
    desync_slot *known = &desync->slots[slot];
    known->found_ns = desync->match->now_ns;
    bool can_ask = desync->investigation && known->tick > 0 &&
                   ls_seat_table_is_in_play(desync->match->seats, slot) &&
                   desync->arbiter.slots[slot].client_hash != 0;
    if (!can_ask) {
        ls_on_desync rule = desync->match->config.on_desync;
        bool is_dropped = rule == LS_ON_DESYNC_DROP || rule == LS_ON_DESYNC_HEAL;
        return is_dropped ? (ls_desync_drop){slot, STATE_DIFFERS} : NOBODY;
    }
    known->is_open = true;
    ask_for_evidence(desync, slot, known->tick);
    if (desync->investigation->phase == LS_INVESTIGATION_IDLE) {
        start_next(desync);
    }
    return NOBODY;
}

static bool is_late(const ls_desync_service *desync)
{
    uint64_t timeout_ns = desync->match->config.investigation_timeout_ms * LS_NS_PER_MS;
    return desync->match->now_ns - desync->investigation->since_ns >= timeout_ns;
}

static void look(ls_desync_service *desync)
{
    ls_investigation *investigation = desync->investigation;
    uint64_t dt_ns = desync->match->dt_ns;
    if (desync->match->now_ns - investigation->ran_ns >= dt_ns) {
        bool was_comparing = investigation->is_comparing;
        investigation->ran_ns = desync->match->now_ns;
        ls_investigation_run(investigation, desync->match->now_ns);
        if (investigation->is_comparing && !was_comparing) {
            send_queries(desync);
        }
    }
    if (ls_investigation_is_done(investigation) || is_late(desync)) {
        conclude(desync);
    }
}

ls_desync_drop ls_desync_service_advance(ls_desync_service *desync)
{
    if (!desync->investigation) {
        return NOBODY;
    }
    switch (desync->investigation->phase) {
    case LS_INVESTIGATION_LOOKING:
        look(desync);
        break;
    case LS_INVESTIGATION_REPORTED:
        if (desync->match->now_ns > desync->investigation->since_ns) {
            return act(desync);
        }
        break;
    case LS_INVESTIGATION_COMPARING:
    case LS_INVESTIGATION_HEALING:
        if (is_late(desync)) {
            return give_up_healing(desync,
                                   "its state differs, and it did not answer while it was healed");
        }
        break;
    case LS_INVESTIGATION_IDLE:
        start_next(desync);
        break;
    }
    return NOBODY;
}

bool ls_desync_service_is_open(const ls_desync_service *desync)
{
    bool is_open = desync->investigation && desync->investigation->phase != LS_INVESTIGATION_IDLE;
    for (uint32_t slot = 0; slot < desync->match->config.sim.players; slot++) {
        is_open = is_open || desync->slots[slot].is_open;
    }
    return is_open;
}

/* ---- a client leaves, or time is up ---- */

static bool is_about(const ls_desync_service *desync, uint32_t slot)
{
    return desync->investigation && desync->investigation->phase != LS_INVESTIGATION_IDLE &&
           desync->investigation->slot == slot;
}

void ls_desync_service_leave(ls_desync_service *desync, uint32_t slot)
{
    desync->slots[slot].is_open = false;
    if (!is_about(desync, slot)) {
        return;
    }
    if (desync->investigation->phase == LS_INVESTIGATION_LOOKING) {
        conclude(desync);
    } else if (desync->investigation->phase != LS_INVESTIGATION_REPORTED) {
        desync->investigation->phase = LS_INVESTIGATION_IDLE;
    }
}

ls_desync_drop ls_desync_service_finish(ls_desync_service *desync)
{
    ls_desync_drop drop = NOBODY;
    while (!drop.why && ls_desync_service_is_open(desync)) {
        switch (desync->investigation->phase) {
        case LS_INVESTIGATION_IDLE:
            start_next(desync);
            break;
        case LS_INVESTIGATION_LOOKING:
            conclude(desync);
            break;
        default:
            drop = act(desync);
            desync->investigation->phase = LS_INVESTIGATION_IDLE;
            break;
        }
    }
    return drop;
}

/* ---- what comes in ---- */

static ls_status take_answer(ls_desync_service *desync, uint32_t slot, const ls_wire_answer *answer,
                             ls_desync_drop *drop)
{
    ls_investigation *investigation = desync->investigation;
    bool is_asked = is_about(desync, slot) && investigation->is_comparing &&
                    !investigation->is_compared && answer->asked.tick == investigation->tick &&
                    (investigation->phase == LS_INVESTIGATION_LOOKING ||
                     investigation->phase == LS_INVESTIGATION_COMPARING);
    if (!is_asked) {
        return LS_STALE;
    }
    bool is_fitting = ls_investigation_take_answer(investigation, answer);
    send_queries(desync);
    if (!investigation->is_compared) {
        return LS_OK;
    }
    if (investigation->phase == LS_INVESTIGATION_COMPARING) {
        *drop = send_healing(desync);
    } else if (ls_investigation_is_done(investigation)) {
        conclude(desync);
    }
    return is_fitting ? LS_OK : LS_MALFORMED;
}

static bool is_evidence_open(const ls_desync_service *desync, uint32_t slot)
{
    return desync->investigation && desync->investigation->evidence[slot].tick != 0;
}

static void conclude_when_through(ls_desync_service *desync, uint32_t slot)
{
    if (is_about(desync, slot) && desync->investigation->phase == LS_INVESTIGATION_LOOKING &&
        ls_investigation_is_done(desync->investigation)) {
        conclude(desync);
    }
}

static ls_status take_evidence(ls_desync_service *desync, uint32_t slot,
                               const ls_wire_evidence *evidence)
{
    if (!is_evidence_open(desync, slot) || desync->investigation->evidence[slot].has_figures ||
        evidence->tick != desync->investigation->evidence[slot].tick) {
        return LS_STALE;
    }
    ls_status status = ls_investigation_take_evidence(desync->investigation, slot, evidence);
    conclude_when_through(desync, slot);
    return status;
}

static ls_status take_fingerprint(ls_desync_service *desync, uint32_t slot,
                                  const ls_wire_fingerprint *print)
{
    if (!is_evidence_open(desync, slot)) {
        return LS_STALE;
    }
    ls_investigation_take_fingerprint(desync->investigation, slot, print);
    conclude_when_through(desync, slot);
    return LS_OK;
}

static ls_status take_healed(ls_desync_service *desync, uint32_t slot, const ls_healed *healed,
                             ls_desync_drop *drop)
{
    ls_investigation *investigation = desync->investigation;
    if (!is_about(desync, slot) || investigation->phase != LS_INVESTIGATION_HEALING ||
        healed->tick != investigation->tick) {
        return LS_STALE;
    }
    if (!healed->is_equal) {
        *drop = give_up_healing(desync, "its state differs even with the server's values in it");
        return LS_OK;
    }
    investigation->phase = LS_INVESTIGATION_IDLE;
    investigation->findings[slot].healed++;
    ls_arbiter_heal(&desync->arbiter, slot, healed->tick);
    ls_outbox_push_event(desync->match->outbox, LS_MATCH_HEALED, slot, healed->tick);
    return LS_OK;
}

ls_status ls_desync_service_receive(ls_desync_service *desync, uint32_t slot,
                                    const ls_message *message, ls_desync_drop *drop)
{
    switch (message->kind) {
    case LS_MESSAGE_TREE_ANSWER:
        return take_answer(desync, slot, &message->body.tree_answer, drop);
    case LS_MESSAGE_EVIDENCE:
        return take_evidence(desync, slot, &message->body.evidence);
    case LS_MESSAGE_BUILD_FINGERPRINT:
        return take_fingerprint(desync, slot, &message->body.build_fingerprint);
    case LS_MESSAGE_HEALED:
        return take_healed(desync, slot, &message->body.healed, drop);
    default:
        return LS_MISBEHAVED;
    }
}

/* ---- comparing ---- */

void ls_desync_service_begin(ls_desync_service *desync, uint32_t slot, ls_tick tick)
{
    ls_arbiter_join(&desync->arbiter, slot, tick);
}

void ls_desync_service_compare(ls_desync_service *desync, uint32_t slot, ls_tick tick,
                               uint32_t chain)
{
    ls_tick first = 0;
    uint32_t count = 0;
    if (!ls_arbiter_compare(&desync->arbiter, slot, tick, chain, &first, &count)) {
        return;
    }
    desync->slots[slot].asked_ns = desync->match->now_ns;
    ls_outbox_message(desync->match->outbox, LS_MESSAGE_HASH_REQUEST)->body.hash_request =
        (ls_hash_request){.first = first, .count = count};
    ls_outbox_send(desync->match->outbox, desync->match->seats->peers[slot]);
}

static void compare_finished(ls_desync_service *desync, uint32_t slot, bool *is_found)
{
    const ls_finished *finished = &desync->slots[slot].finished;
    ls_desync_service_compare(desync, slot, finished->chain_tick, finished->chain);
    *is_found = ls_arbiter_compare_hash(&desync->arbiter, slot, finished->tick,
                                        desync->match->final_hash, finished->state_hash);
}

void ls_desync_service_take_finished(ls_desync_service *desync, uint32_t slot,
                                     const ls_finished *finished, bool *is_found)
{
    desync->slots[slot].finished = *finished;
    compare_finished(desync, slot, is_found);
}

ls_status ls_desync_service_take_hashes(ls_desync_service *desync, uint32_t slot,
                                        const ls_hashes *hashes, bool *is_found)
{
    bool was_asked = ls_desync_service_is_asking(desync, slot);
    bool is_contradiction = false;
    bool is_last = hashes->count < LS_HASHES_PER_MESSAGE;
    *is_found = ls_arbiter_take_hashes(&desync->arbiter, slot, hashes->first, hashes->state_hashes,
                                       hashes->count, is_last, &is_contradiction);
    if (*is_found) {
        return LS_OK;
    }
    bool is_lapsed = was_asked && !ls_desync_service_is_asking(desync, slot);
    if (is_lapsed && desync->match->seats->rows[slot].state == LS_SEAT_FINISHED) {
        compare_finished(desync, slot, is_found); /* the question kept it from being compared */
    }
    if (is_contradiction && is_lapsed) {
        return LS_MALFORMED; /* only the chain or its tick was wrong: altered on its way, perhaps */
    }
    return is_contradiction ? LS_MISBEHAVED : LS_OK;
}

bool ls_desync_service_settle(ls_desync_service *desync, uint32_t slot)
{
    return ls_arbiter_settle_unanswered(&desync->arbiter, slot);
}

bool ls_desync_service_differs(const ls_desync_service *desync, uint32_t slot)
{
    return desync->arbiter.slots[slot].agreement == LS_AGREEMENT_DIFFERS;
}

bool ls_desync_service_is_asking(const ls_desync_service *desync, uint32_t slot)
{
    return desync->arbiter.slots[slot].agreement == LS_AGREEMENT_ASKING;
}

/* A client whose chain differs and who does not say from where on must not get away with silence;
 * but the link may be what keeps the answer. */
static bool is_overdue(ls_desync_service *desync, uint32_t slot, uint64_t limit_ns)
{
    uint64_t now_ns = desync->match->now_ns;
    if (limit_ns > 0 && now_ns - desync->match->links[slot].peer.heard_ns >= limit_ns / 4) {
        desync->slots[slot].asked_ns = now_ns;
    }
    return now_ns - desync->slots[slot].asked_ns >= limit_ns;
}

uint32_t ls_desync_service_next_overdue(ls_desync_service *desync, uint32_t first,
                                        uint64_t limit_ns)
{
    uint32_t players = desync->match->config.sim.players;
    for (uint32_t slot = first; slot < players; slot++) {
        if (desync->arbiter.slots[slot].agreement == LS_AGREEMENT_ASKING &&
            ls_seat_table_is_in_play(desync->match->seats, slot) &&
            is_overdue(desync, slot, limit_ns)) {
            return slot;
        }
    }
    return MATCH_NO_SLOT;
}

/* ---- what is known ---- */

void ls_desync_service_report(const ls_desync_service *desync, uint32_t slot, ls_match_slot *report)
{
    const desync_slot *known = &desync->slots[slot];
    report->hashes_compared = desync->arbiter.slots[slot].compared;
    report->agreed_tick = desync->arbiter.slots[slot].agreed_tick;
    report->is_desynced = known->is_desynced;
    report->desync_tick = known->tick;
    report->desync_server_hash = known->server_hash;
    report->desync_client_hash = known->client_hash;
}

const ls_desync_finding *ls_desync_service_finding(const ls_desync_service *desync, uint32_t slot)
{
    bool is_known = desync->investigation && desync->investigation->findings[slot].times > 0;
    return is_known ? &desync->investigation->findings[slot] : NULL;
}

bool ls_desync_service_evidence(const ls_desync_service *desync, uint32_t slot,
                                ls_desync_evidence_set *out)
{
    const ls_investigation *investigation = desync->investigation;
    if (!is_about(desync, slot) || investigation->phase != LS_INVESTIGATION_REPORTED) {
        return false;
    }
    const ls_investigation_evidence *kept = &investigation->evidence[slot];
    const ls_rerun_outcome *outcome = investigation->outcome;
    *out = (ls_desync_evidence_set){
        .server_hash = desync->arbiter.slots[slot].server_hash,
        .client_hash = desync->arbiter.slots[slot].client_hash,
        .window = investigation->inspector.window,
        .server_figures = &investigation->figures,
        .server_passes = outcome ? &outcome->passes : NULL,
        .client_figures = kept->has_figures ? &kept->figures : NULL,
        .client_passes = kept->has_figures ? &kept->passes : NULL,
        .client_fingerprint = kept->has_fingerprint ? &kept->print : NULL,
        .server_state = investigation->is_comparing ? investigation->inspector.state : NULL,
        .client_state = investigation->is_comparing
                            ? ls_hash_tree_diff_other_state(investigation->diff)
                            : NULL};
    out->has_stretch = ls_replay_window_stretch(investigation->inspector.window,
                                                agreed_before(desync, investigation->bad_tick),
                                                investigation->bad_tick, &out->stretch) == LS_OK;
    return true;
}

void ls_desync_service_prefetch(const ls_desync_service *desync)
{
    uint32_t players = desync->match->config.sim.players;
    ls_prefetch(desync, offsetof(ls_desync_service, arbiter) + offsetof(ls_arbiter, slots) +
                            players * sizeof desync->arbiter.slots[0]);
}

/* ---- life ---- */

ls_status ls_desync_service_create(const ls_match_context *match, ls_desync_service **out)
{
    ls_desync_service *desync = ls_allocate(match->allocator, sizeof *desync);
    if (!desync) {
        return LS_NO_MEMORY;
    }
    desync->match = match;
    ls_arbiter_init(&desync->arbiter, &match->log->hashes);
    *out = desync;
    return match->log->window ? ls_investigation_create(match->log->instance, match->log->window,
                                                        match->config.rerun_host, match->allocator,
                                                        &desync->investigation)
                              : LS_OK;
}

void ls_desync_service_destroy(ls_desync_service *desync)
{
    if (desync) {
        ls_investigation_destroy(desync->investigation);
        ls_release(desync->match->allocator, desync);
    }
}
