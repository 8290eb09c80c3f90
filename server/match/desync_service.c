#include "lockstep/server/match/desync_service.h"

#include "lockstep/common/base/prefetch.h"
#include "lockstep/server/investigation/heal_record.h"
#include "lockstep/server/investigation/investigation.h"
#include "lockstep/server/match/arbiter.h"
#include "lockstep/server/match/finding_report.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

/* ---- the values that heal a slot ---- */

static void send_leaf(const ls_match *match, uint32_t slot, const ls_investigation *healed,
                      uint32_t leaf)
{
    const ls_state_inspector *inspector = &healed->place->held->inspector;
    ls_heal_leaf *sent = &ls_outbox_message(match->outbox, LS_MESSAGE_HEAL_LEAF)->body.heal_leaf;
    sent->tick = healed->compared.tick;
    sent->leaf = leaf;
    sent->size = (uint32_t)ls_state_tree_leaf_bytes(inspector->tree, leaf);
    ls_state_tree_read_leaf(inspector->tree, leaf, inspector->state, sent->bytes);
    ls_outbox_send(match->outbox, match->seats->peers[slot]);
}

/* The comparison of the slot's state has a place and is done. False, and nothing is sent: the
 * server does not hold the hash of that state any more, or more differs than leaves can tell. */
static bool heal_leaves_send(const ls_match *match, uint32_t slot, const ls_investigation *healed)
{
    uint64_t state_hash = 0;
    uint64_t chain = 0;
    ls_tick tick = healed->compared.tick;
    bool is_held = ls_replay_window_hash(match->log->window, tick, &state_hash) == LS_OK &&
                   ls_hash_record_chain(&match->log->hashes, tick, &chain);
    if (!is_held || !ls_investigation_can_heal(healed)) {
        return false;
    }
    const ls_hash_tree_diff *diff = healed->place->diff;
    for (uint32_t i = 0; i < ls_hash_tree_diff_leaf_count(diff); i++) {
        send_leaf(match, slot, healed, ls_hash_tree_diff_leaf(diff, i));
    }
    ls_outbox_message(match->outbox, LS_MESSAGE_HEAL)->body.heal =
        (ls_heal){.tick = tick, .state_hash = state_hash, .chain = chain};
    ls_outbox_send(match->outbox, match->seats->peers[slot]);
    return true;
}

/* ---- what the service knows ---- */

enum {
    AWAITED_EVERY = 16, /* ticks: it is looked which states may still be found to differ */
};

#define VOTE_NS LS_NS_PER_SECOND /* waited for the hashes of other clients */

static const char STATE_DIFFERS[] = "the client's state differs from the server's";

/* One slot, beside what the arbiter knows of it. */
typedef struct desync_slot {
    uint64_t asked_ns;  /* when its hashes were last asked for */
    uint64_t found_ns;  /* when it was last found to differ */
    ls_tick given_tick; /* of the state with which it came in, and which was the server's */
    bool is_desynced;   /* it differed once; the first tick and both hashes */
    ls_tick tick;
    uint64_t server_hash;
    uint64_t client_hash;
    uint32_t clients;     /* 0: the slot differs; else the server does, from so many that agree */
    bool is_unannounced;  /* found and not told yet: the clients are not compared */
    ls_finished finished; /* as the player said it */
    ls_heal_record heals;
    ls_desync_circumstances others; /* of the case, as of when its client left */
} desync_slot;

struct ls_desync_service {
    const ls_match *match;
    ls_investigations *all; /* NULL: nothing is kept to find causes with, or none was needed yet */
    ls_arbiter arbiter;
    bool has_found; /* some slot has differed: until then no tick asks what is known of slots */
    bool has_server_differed; /* from several clients, which have this root of this state */
    ls_tick server_tick;      /* of the newest such state */
    uint64_t server_other_hash;
    ls_desync_spectator spectator; /* one at a time is looked into; peer 0: none is */
    desync_slot slots[];           /* one for each player, and one behind them for the spectator */
};

static const ls_desync_drop NOBODY = {0, NULL};

/* The newest state before `tick` that was compared, or that the slot was given later. */
static ls_tick agreed_before(const ls_desync_service *desync, uint32_t slot, ls_tick tick)
{
    uint32_t interval = desync->match->config.hash_interval_ticks;
    ls_tick given = desync->slots[slot].given_tick;
    ls_tick compared = ls_sim_instance_whole_before(desync->match->log->instance, interval, tick);
    return given < tick ? LS_MAX(given, compared) : compared;
}

static ls_investigation *case_of(const ls_desync_service *desync, uint32_t slot)
{
    return &desync->all->slots[slot];
}

static bool is_spectator(const ls_desync_service *desync, uint32_t slot)
{
    return slot == desync->match->config.sim.players;
}

/* 0: of a slot that has none; `spectator_of` is 0 for a player. */
static ls_peer_id spectator_of(const ls_desync_service *desync, uint32_t slot)
{
    return is_spectator(desync, slot) ? desync->spectator.peer : 0;
}

static ls_peer_id peer_of(const ls_desync_service *desync, uint32_t slot)
{
    return is_spectator(desync, slot) ? desync->spectator.peer : desync->match->seats->peers[slot];
}

/* NULL: of the spectator, while none is looked into. */
static const ls_peer_link *link_of(const ls_desync_service *desync, uint32_t slot)
{
    return is_spectator(desync, slot) ? desync->spectator.link : &desync->match->links[slot].peer;
}

static bool is_in_play(const ls_desync_service *desync, uint32_t slot)
{
    return is_spectator(desync, slot) ? desync->spectator.peer != 0
                                      : ls_seat_table_is_in_play(desync->match->seats, slot);
}

/* None is looked into any more. */
static void end_spectator(ls_desync_service *desync)
{
    desync->spectator.peer = 0;
    desync->spectator.link = NULL;
}

/* A spectator begins anew with the newest state when it comes back. */
static ls_on_desync rule_of(const ls_desync_service *desync, uint32_t slot)
{
    return is_spectator(desync, slot) ? LS_ON_DESYNC_DROP : desync->match->config.on_desync;
}

/* ---- asking ---- */

/* All queries of a round at once. */
static void send_queries(ls_desync_service *desync, uint32_t slot)
{
    ls_wire_query *query =
        &ls_outbox_message(desync->match->outbox, LS_MESSAGE_TREE_QUERY)->body.tree_query;
    while (ls_investigation_next_query(case_of(desync, slot), query)) {
        ls_outbox_send(desync->match->outbox, peer_of(desync, slot));
    }
}

static void send_requests(ls_desync_service *desync, uint32_t slot)
{
    ls_evidence_request *request =
        &ls_outbox_message(desync->match->outbox, LS_MESSAGE_EVIDENCE_REQUEST)
             ->body.evidence_request;
    while (ls_investigation_next_request(desync->all, slot, request)) {
        ls_outbox_send(desync->match->outbox, peer_of(desync, slot));
    }
}

/* ---- what is done about it ---- */

/* Once the last tick is closed a difference matters to nobody else any more. */
static ls_desync_drop give_up_healing(ls_desync_service *desync, uint32_t slot, const char *why)
{
    ls_heal_record_end(&desync->slots[slot].heals, desync->match->now_ns);
    if (desync->all) {
        ls_investigation_end(desync->all, slot);
    }
    return desync->match->state == LS_MATCH_RUNNING ? (ls_desync_drop){slot, why} : NOBODY;
}

/* False: the player cannot be healed now. `drop` says when it is to be dropped for that. */
static bool may_heal(ls_desync_service *desync, uint32_t slot, ls_desync_drop *drop)
{
    bool is_playing = desync->match->state == LS_MATCH_RUNNING &&
                      desync->match->seats->rows[slot].state == LS_SEAT_PLAYING;
    *drop = NOBODY;
    if (is_playing && !ls_heal_record_begin(&desync->slots[slot].heals, desync->match->now_ns)) {
        *drop = give_up_healing(desync, slot,
                                "its state differs again less than 2 s after it was healed for the "
                                "third time within 10 s");
        return false;
    }
    return is_playing;
}

/* Values alone are not enough: the player is to be sent the whole state. `why` it is dropped when
 * the simulation cannot hand one on. */
static ls_desync_drop want_snapshot(ls_desync_service *desync, uint32_t slot, const char *why)
{
    ls_desync_drop drop = NOBODY;
    if (desync->match->log->history) {
        return give_up_healing(desync, slot, why);
    }
    if (desync->all) {
        ls_investigation_end(desync->all, slot);
    }
    if (may_heal(desync, slot, &drop)) {
        desync->slots[slot].heals.phase = LS_HEAL_WANTED;
    }
    return drop;
}

static ls_desync_drop start_healing(ls_desync_service *desync, uint32_t slot)
{
    ls_desync_drop drop = NOBODY;
    ls_investigation_end(desync->all, slot);
    if (!ls_sim_instance_schema(desync->match->log->instance)) {
        return want_snapshot(desync, slot, STATE_DIFFERS); /* only its engine can write to it */
    }
    if (may_heal(desync, slot, &drop)) {
        ls_investigation_compare(desync->all, slot, desync->match->links[slot].chain_tick,
                                 desync->match->now_ns);
    }
    return drop;
}

static ls_desync_drop send_healing(ls_desync_service *desync, uint32_t slot)
{
    ls_investigation *healed = case_of(desync, slot);
    if (healed->comparison == LS_COMPARISON_CONTRADICTED) {
        return give_up_healing(desync, slot, "what it shows of its state contradicts itself");
    }
    if (!healed->place) {
        return want_snapshot(desync, slot, "its state differs and is too old to be healed");
    }
    if (!heal_leaves_send(desync->match, slot, healed)) {
        return want_snapshot(desync, slot,
                             "its state differs in more than can be healed without a snapshot");
    }
    ls_investigation_end(desync->all, slot);
    healed->phase = LS_INVESTIGATION_HEALING;
    healed->since_ns = desync->match->now_ns;
    return NOBODY;
}

/* Everybody could see the report: the match's rule is applied. */
static ls_desync_drop act(ls_desync_service *desync, uint32_t slot)
{
    ls_on_desync rule = rule_of(desync, slot);
    ls_investigation_end(desync->all, slot);
    if (desync->slots[slot].clients > 0 || case_of(desync, slot)->is_client_gone) {
        return NOBODY; /* the server differs, not the slot; or it came back with another state */
    }
    if (rule == LS_ON_DESYNC_DROP) {
        return (ls_desync_drop){slot, STATE_DIFFERS};
    }
    return rule == LS_ON_DESYNC_HEAL ? start_healing(desync, slot) : NOBODY;
}

/* The cause cannot be looked for: the match's rule is applied at once. */
static ls_desync_drop act_unseen(ls_desync_service *desync, uint32_t slot)
{
    ls_on_desync rule = rule_of(desync, slot);
    bool is_told = desync->slots[slot].client_hash != 0; /* it is no player that leaves */
    if (rule == LS_ON_DESYNC_HEAL && is_told) {
        return want_snapshot(desync, slot, STATE_DIFFERS);
    }
    return rule == LS_ON_DESYNC_DROP || rule == LS_ON_DESYNC_HEAL
               ? (ls_desync_drop){slot, STATE_DIFFERS}
               : NOBODY;
}

static void blame_finding(ls_desync_finding *finding, uint32_t clients)
{
    ls_text why = finding->verdict.why;
    finding->verdict.culprit = LS_DESYNC_CULPRIT_SERVER;
    ls_text_set(&finding->verdict.why,
                "the server's state differs from that of %" PRIu32 " clients which agree; %s",
                clients, why.bytes);
}

static ls_root_voters voters_of(const ls_desync_service *desync)
{
    const ls_seat_table *seats = desync->match->seats;
    ls_root_voters voters = {{{0}}, {{0}}};
    for (uint32_t slot = 0; slot < desync->match->config.sim.players; slot++) {
        bool is_asking = desync->arbiter.slots[slot].agreement == LS_AGREEMENT_ASKING;
        bool has_finished = seats->rows[slot].state == LS_SEAT_FINISHED && !is_asking;
        ls_slot_set_put(&voters.in_play, slot, ls_seat_table_is_in_play(seats, slot));
        ls_slot_set_put(&voters.finished, slot, has_finished);
    }
    return voters;
}

/* Which other machines had which of the two states, and how this one came to its own. */
static void describe_circumstances(ls_desync_service *desync, uint32_t slot)
{
    desync_slot *known = &desync->slots[slot];
    ls_desync_finding *finding = &case_of(desync, slot)->finding;
    ls_root_vote vote = ls_root_vote_count(&desync->arbiter, voters_of(desync), slot);
    known->others = (ls_desync_circumstances){.with_server = vote.with_server,
                                              .with_client = vote.with_client - 1}; /* itself */
    ls_text *out = &finding->circumstances;
    ls_text_set(out,
                "other clients with the server's state: %" PRIu32 ", with this one's: %" PRIu32,
                known->others.with_server, known->others.with_client);
    if (is_spectator(desync, slot)) {
        ls_text_add(out, "; it is a spectator, %" PRIu32 " ticks behind",
                    desync->match->config.spectator_delay_ticks);
    } else if (known->given_tick > 0 && known->given_tick < known->tick) {
        ls_text_add(out, "; it joined with the server's state %" PRIu32, known->given_tick);
    }
    if (finding->healed > 0) {
        ls_text_add(out, "; it was healed %" PRIu32 " times before", finding->healed);
    }
}

static void conclude(ls_desync_service *desync, uint32_t slot)
{
    if (!case_of(desync, slot)->is_client_gone) {
        describe_circumstances(desync, slot);
    }
    ls_desync_finding *finding = ls_conclusion_draw(desync->all, slot, desync->match->config.print,
                                                    desync->slots[slot].others);
    if (desync->slots[slot].clients > 0) {
        blame_finding(finding, desync->slots[slot].clients);
    }
    finding->is_open = false;
    finding->took_ns = desync->match->now_ns - desync->slots[slot].found_ns;
    if (finding->values_ns == 0 && finding->place_count > 0) {
        finding->values_ns = finding->took_ns;
    }
    ls_finding_report_add_inputs(desync->match, finding);
    case_of(desync, slot)->phase = LS_INVESTIGATION_REPORTED;
    case_of(desync, slot)->since_ns = desync->match->now_ns;
    ls_finding_report_send(desync->match, slot, spectator_of(desync, slot), finding);
}

/* ---- a slot differs ---- */

/* Without memory the difference is reported alone, as where no causes are looked for. */
ls_status ls_desync_service_open(ls_desync_service *desync)
{
    const ls_match *match = desync->match;
    if (desync->all || !match->log->window) {
        return LS_OK;
    }
    return ls_investigations_create(
        match->log->instance, match->log->window, match->config.rerun_host,
        match->config.investigation_timeout_ms, match->allocator, &desync->all);
}

static void start_investigating(ls_desync_service *desync, uint32_t slot)
{
    const desync_slot *known = &desync->slots[slot];
    bool can_ask =
        desync->all && known->tick > 0 && known->client_hash != 0 && is_in_play(desync, slot);
    if (!can_ask) {
        return;
    }
    const ls_investigation_subject subject = {.interval_ticks =
                                                  desync->match->config.hash_interval_ticks,
                                              .agreed = agreed_before(desync, slot, known->tick),
                                              .tick = known->tick,
                                              .server_hash = known->server_hash,
                                              .client_hash = known->client_hash};
    desync->all->is_at_end = desync->match->state == LS_MATCH_ENDING;
    case_of(desync, slot)->rtt_ns = link_of(desync, slot)->downlink.rtt_ns;
    ls_investigation_start(desync->all, slot, &subject, desync->match->now_ns);
    send_requests(desync, slot); /* first: the client puts the state aside */
    send_queries(desync, slot);
}

/* No player is told yet: the server may be the one that differs. */
static void find_cause(ls_desync_service *desync, uint32_t slot)
{
    const ls_arbiter_slot *found = &desync->arbiter.slots[slot];
    desync_slot *known = &desync->slots[slot];
    ls_desync_service_forget(desync, slot);
    known->found_ns = desync->match->now_ns;
    known->tick = found->bad_tick;
    known->server_hash = found->server_hash;
    known->client_hash = found->client_hash;
    known->clients = 0;
    known->is_unannounced = true;
    desync->has_found = true;
    (void)ls_desync_service_open(desync);
    start_investigating(desync, slot);
}

/* ---- who is wrong ---- */

/* The slot has the root against which the server has lost a vote: it is no desync of its own. */
static bool is_excused(const ls_desync_service *desync, uint32_t slot)
{
    const desync_slot *known = &desync->slots[slot];
    return desync->has_server_differed && known->client_hash != 0 &&
           known->tick == desync->server_tick && known->client_hash == desync->server_other_hash;
}

static void excuse(ls_desync_service *desync, uint32_t slot)
{
    desync->slots[slot].is_unannounced = false;
    if (desync->all) {
        ls_investigation_end(desync->all, slot);
    }
}

/* The server is the one that differs, from these clients; the first of them stands for all. */
static void blame_server(ls_desync_service *desync, uint32_t slot, const ls_root_vote *vote)
{
    desync_slot *known = &desync->slots[slot];
    known->clients = vote->with_client;
    desync->has_server_differed = true;
    desync->server_tick = known->tick;
    desync->server_other_hash = known->client_hash;
    for (uint32_t other = 0; other < desync->match->config.sim.players; other++) {
        if (other != slot && desync->slots[other].is_unannounced && is_excused(desync, other)) {
            excuse(desync, other);
        }
    }
}

static bool is_settled(ls_desync_service *desync, uint32_t slot, bool is_time_up)
{
    const desync_slot *known = &desync->slots[slot];
    if (known->client_hash == 0) {
        return true;
    }
    ls_root_vote vote = ls_root_vote_count(&desync->arbiter, voters_of(desync), slot);
    bool is_over = is_time_up || desync->match->now_ns - known->found_ns >= VOTE_NS;
    if (!is_over && !ls_root_vote_is_decided(&vote)) {
        return false;
    }
    if (ls_root_vote_is_against_server(&vote)) {
        blame_server(desync, slot, &vote);
    }
    return true;
}

uint32_t ls_desync_service_next_settled(ls_desync_service *desync, bool is_time_up)
{
    uint32_t cases = desync->has_found ? desync->match->config.sim.players + 1 : 0;
    for (uint32_t slot = 0; slot < cases; slot++) {
        if (!desync->slots[slot].is_unannounced) {
            continue;
        }
        if (is_excused(desync, slot)) {
            excuse(desync, slot);
        } else if (is_settled(desync, slot, is_time_up)) {
            return slot;
        }
    }
    return MATCH_NO_SLOT;
}

/* ---- telling ---- */

static void send_notice(ls_desync_service *desync, uint32_t slot)
{
    const desync_slot *known = &desync->slots[slot];
    ls_outbox_message(desync->match->outbox, LS_MESSAGE_DESYNC)->body.desync =
        (ls_desync_notice){.slot = is_spectator(desync, slot) ? 0 : slot,
                           .tick = known->tick,
                           .server_hash = known->server_hash,
                           .client_hash = known->client_hash,
                           .clients = known->clients};
    ls_finding_report_send_to(desync->match, spectator_of(desync, slot));
    ls_match_event *event =
        ls_outbox_push_event(desync->match->outbox, LS_MATCH_DESYNC, slot, known->tick);
    event->server_hash = known->server_hash;
    event->client_hash = known->client_hash;
    event->clients = known->clients;
}

/* A slot's chain differs and it never told the hash of the state: all that will be found. */
static void note_withheld(ls_desync_finding *finding, ls_tick tick)
{
    *finding = (ls_desync_finding){
        .tick = tick,
        .times = finding->times + 1,
        .healed = finding->healed,
        .is_lower_bound = true,
        .verdict = {.kind = LS_DESYNC_CLASS_SILENT, .culprit = LS_DESYNC_CULPRIT_CLIENT}};
    ls_text_set(&finding->verdict.why,
                "%s: it withheld the root of the state from which on it differs",
                ls_desync_class_text(finding->verdict.kind));
}

bool ls_desync_service_announce(ls_desync_service *desync, uint32_t slot, ls_desync_drop *drop)
{
    desync_slot *known = &desync->slots[slot];
    ls_on_desync rule = rule_of(desync, slot);
    known->is_unannounced = false;
    known->is_desynced = true;
    send_notice(desync, slot);
    if (desync->all && known->client_hash == 0) {
        note_withheld(&case_of(desync, slot)->finding, known->tick);
        ls_finding_report_send(desync->match, slot, spectator_of(desync, slot),
                               &case_of(desync, slot)->finding);
    }
    bool is_looked_into = desync->all && case_of(desync, slot)->phase != LS_INVESTIGATION_IDLE;
    if (known->clients == 0 && !is_looked_into) {
        *drop = act_unseen(desync, slot);
    }
    return known->clients == 0 && rule == LS_ON_DESYNC_STOP &&
           desync->match->state == LS_MATCH_RUNNING;
}

/* ---- looking for the cause ---- */

/* Machines that are busy get on slowly: a case that gets on has longer. A client that has not said
 * a word is not waited for. */
static bool is_late(const ls_desync_service *desync, uint32_t slot)
{
    const ls_investigation *open = case_of(desync, slot);
    uint64_t timeout_ns = desync->match->config.investigation_timeout_ms * LS_NS_PER_MS;
    bool gets_on = open->has_answered || open->is_client_gone;
    uint64_t moved_ns = gets_on ? LS_MAX(open->moved_ns, open->since_ns) : open->since_ns;
    return desync->match->now_ns - moved_ns >= timeout_ns ||
           desync->match->now_ns - open->since_ns >= LS_INVESTIGATION_TIMES_MAX * timeout_ns;
}

static ls_desync_drop go_on_healing(ls_desync_service *desync, uint32_t slot)
{
    const ls_investigation *healed = case_of(desync, slot);
    bool is_compared =
        healed->phase == LS_INVESTIGATION_COMPARING && healed->comparison >= LS_COMPARISON_ENDED;
    if (is_compared) {
        return send_healing(desync, slot);
    }
    return is_late(desync, slot)
               ? give_up_healing(desync, slot,
                                 "its state differs, and it did not answer while it was healed")
               : NOBODY;
}

static ls_desync_drop go_on(ls_desync_service *desync, uint32_t slot)
{
    ls_investigation *investigation = case_of(desync, slot);
    switch (investigation->phase) {
    case LS_INVESTIGATION_LOOKING:
        investigation->is_overdue = is_late(desync, slot);
        if (desync->slots[slot].is_unannounced) {
            return NOBODY;
        }
        if (investigation->is_overdue || ls_investigation_is_done(investigation)) {
            conclude(desync, slot);
        } else if (desync->slots[slot].clients == 0) {
            ls_finding_report_send_values(desync->match, slot, spectator_of(desync, slot),
                                          investigation, desync->slots[slot].found_ns);
        }
        return NOBODY;
    case LS_INVESTIGATION_REPORTED:
        return desync->match->now_ns > investigation->since_ns ? act(desync, slot) : NOBODY;
    case LS_INVESTIGATION_COMPARING:
    case LS_INVESTIGATION_HEALING:
        return go_on_healing(desync, slot);
    case LS_INVESTIGATION_IDLE:
        return NOBODY;
    }
    return NOBODY;
}

static bool is_slot_open(const ls_desync_service *desync, uint32_t slot)
{
    return desync->slots[slot].is_unannounced ||
           (desync->all && case_of(desync, slot)->phase != LS_INVESTIGATION_IDLE);
}

/* A slow player has yet to tell of states that may turn out to differ. */
static void await_slowest(const ls_desync_service *desync)
{
    const ls_tick_log *log = desync->match->log;
    if (log->window && log->next % AWAITED_EVERY == 0) {
        const ls_root_voters voters = voters_of(desync);
        ls_replay_window_await(log->window, ls_arbiter_oldest_agreed(&desync->arbiter, &voters));
    }
}

/* The first of those that are to be dropped; the next one comes with the next call. */
ls_desync_drop ls_desync_service_advance(ls_desync_service *desync)
{
    ls_desync_drop drop = NOBODY;
    await_slowest(desync);
    if (!desync->all || !(ls_desync_service_is_open(desync) ||
                          is_slot_open(desync, desync->match->config.sim.players))) {
        return NOBODY;
    }
    desync->all->is_at_end = desync->match->state == LS_MATCH_ENDING;
    for (uint32_t slot = 0; slot < desync->all->count; slot++) {
        const ls_peer_link *link = link_of(desync, slot);
        case_of(desync, slot)->rtt_ns = link ? link->downlink.rtt_ns : 0;
    }
    ls_investigations_advance(desync->all, desync->match->now_ns);
    for (uint32_t slot = 0; slot < desync->all->count && !drop.why; slot++) {
        send_queries(desync, slot);
        send_requests(desync, slot);
        drop = go_on(desync, slot);
        send_queries(desync, slot);
    }
    return drop;
}

bool ls_desync_service_is_open(const ls_desync_service *desync)
{
    bool is_open = false;
    for (uint32_t slot = 0; slot < desync->match->config.sim.players; slot++) {
        is_open = is_open || is_slot_open(desync, slot);
    }
    return is_open;
}

/* ---- healing with the whole state ---- */

uint32_t ls_desync_service_next_unsent(const ls_desync_service *desync, uint32_t first)
{
    uint32_t slot = first;
    uint32_t players = desync->has_found ? desync->match->config.sim.players : 0;
    while (slot < players && desync->slots[slot].heals.phase != LS_HEAL_WANTED) {
        slot++;
    }
    return slot < players ? slot : MATCH_NO_SLOT;
}

void ls_desync_service_note_sent(ls_desync_service *desync, uint32_t slot, ls_tick tick)
{
    desync->slots[slot].heals.phase = LS_HEAL_SENT;
    desync->slots[slot].heals.tick = tick;
}

bool ls_desync_service_is_sent(const ls_desync_service *desync, uint32_t slot)
{
    return desync->has_found && desync->slots[slot].heals.phase == LS_HEAL_SENT;
}

/* ---- a client leaves, or time is up ---- */

static bool is_in(const ls_desync_service *desync, uint32_t slot, ls_investigation_phase phase)
{
    return desync->all && case_of(desync, slot)->phase == phase;
}

static void conclude_when_done(ls_desync_service *desync, uint32_t slot)
{
    if (is_in(desync, slot, LS_INVESTIGATION_LOOKING) && !desync->slots[slot].is_unannounced &&
        ls_investigation_is_done(case_of(desync, slot))) {
        conclude(desync, slot);
    }
}

void ls_desync_service_leave(ls_desync_service *desync, uint32_t slot)
{
    ls_heal_record_end(&desync->slots[slot].heals, desync->match->now_ns);
    if (is_in(desync, slot, LS_INVESTIGATION_LOOKING)) {
        describe_circumstances(desync, slot);
    } else if (desync->all && !is_in(desync, slot, LS_INVESTIGATION_REPORTED)) {
        ls_investigation_end(desync->all, slot);
    }
    if (desync->all) {
        ls_investigation_forget_client(case_of(desync, slot));
    }
    if (is_spectator(desync, slot)) {
        ls_desync_service_forget(desync, slot);
        end_spectator(desync);
    } else {
        conclude_when_done(desync, slot);
    }
}

void ls_desync_service_forget(ls_desync_service *desync, uint32_t slot)
{
    if (is_in(desync, slot, LS_INVESTIGATION_LOOKING) && case_of(desync, slot)->is_client_gone) {
        conclude(desync, slot);
    }
}

ls_desync_drop ls_desync_service_finish(ls_desync_service *desync)
{
    ls_desync_drop drop = NOBODY;
    uint32_t players = desync->all ? desync->match->config.sim.players : 0;
    for (uint32_t slot = 0; slot < players && !drop.why; slot++) {
        if (is_in(desync, slot, LS_INVESTIGATION_LOOKING)) {
            conclude(desync, slot);
        }
        if (!is_in(desync, slot, LS_INVESTIGATION_IDLE)) {
            drop = act(desync, slot);
            ls_investigation_end(desync->all, slot);
        }
    }
    return drop;
}

/* ---- what comes in ---- */

static ls_status receive_answer(ls_desync_service *desync, uint32_t slot,
                                const ls_wire_answer *answer, ls_desync_drop *drop)
{
    uint64_t now_ns = desync->match->now_ns;
    ls_status status = ls_investigation_receive_answer(desync->all, slot, answer, now_ns);
    send_queries(desync, slot);
    conclude_when_done(desync, slot);
    if (is_in(desync, slot, LS_INVESTIGATION_COMPARING)) {
        *drop = go_on_healing(desync, slot);
    }
    return status;
}

static ls_status note_healed(ls_desync_service *desync, uint32_t slot, ls_tick tick)
{
    if (desync->all) {
        ls_investigation_end(desync->all, slot);
        case_of(desync, slot)->finding.healed++;
    }
    ls_heal_record_succeed(&desync->slots[slot].heals, desync->match->now_ns);
    ls_arbiter_heal(&desync->arbiter, slot, tick);
    ls_outbox_push_event(desync->match->outbox, LS_MATCH_HEALED, slot, tick);
    return LS_OK;
}

/* The player has got to a state after the one that it was sent. */
static ls_status receive_restored(ls_desync_service *desync, uint32_t slot, const ls_healed *healed,
                                  ls_desync_drop *drop)
{
    uint32_t interval = desync->match->config.hash_interval_ticks;
    ls_tick first = desync->slots[slot].heals.tick / interval * interval;
    if (!healed->is_equal) {
        *drop = give_up_healing(desync, slot, "it could not take the server's state");
        return LS_OK;
    }
    if (healed->tick < first ||
        !ls_hash_record_is_known(&desync->match->log->hashes, healed->tick)) {
        return LS_MISBEHAVED;
    }
    return note_healed(desync, slot, healed->tick);
}

static ls_status receive_healed(ls_desync_service *desync, uint32_t slot, const ls_healed *healed,
                                ls_desync_drop *drop)
{
    if (desync->slots[slot].heals.phase == LS_HEAL_SENT) {
        return receive_restored(desync, slot, healed, drop);
    }
    if (!is_in(desync, slot, LS_INVESTIGATION_HEALING) ||
        healed->tick != case_of(desync, slot)->compared.tick) {
        return LS_STALE;
    }
    if (!healed->is_equal) {
        *drop =
            want_snapshot(desync, slot, "its state differs even with the server's values in it");
        return LS_OK;
    }
    return note_healed(desync, slot, healed->tick);
}

static ls_status receive_evidence(ls_desync_service *desync, uint32_t slot,
                                  const ls_message *message)
{
    ls_investigation *investigation = case_of(desync, slot);
    uint64_t now_ns = desync->match->now_ns;
    ls_status status =
        message->kind == LS_MESSAGE_EVIDENCE
            ? ls_investigation_receive_evidence(investigation, &message->body.evidence, now_ns)
            : ls_investigation_receive_fingerprint(investigation, &message->body.build_fingerprint,
                                                   now_ns);
    conclude_when_done(desync, slot);
    return status;
}

/* ---- comparing ---- */

void ls_desync_service_begin(ls_desync_service *desync, uint32_t slot, ls_tick tick)
{
    uint32_t interval = desync->match->config.hash_interval_ticks;
    desync->slots[slot].given_tick = tick;
    ls_arbiter_join(&desync->arbiter, slot, tick / interval * interval);
}

void ls_desync_service_compare(ls_desync_service *desync, uint32_t slot, ls_tick tick,
                               uint32_t chain)
{
    ls_tick first = 0;
    uint32_t count = 0;
    if (!ls_arbiter_compare(&desync->arbiter, slot, tick, chain, &first, &count)) {
        bool agrees = desync->arbiter.slots[slot].agreement == LS_AGREEMENT_AGREES &&
                      desync->slots[slot].finished.tick == 0; /* its final state is compared too */
        if (is_spectator(desync, slot) && agrees) {
            end_spectator(desync); /* the chains that differed were altered on their way */
        }
        return;
    }
    desync->slots[slot].asked_ns = desync->match->now_ns;
    ls_outbox_message(desync->match->outbox, LS_MESSAGE_HASH_REQUEST)->body.hash_request =
        (ls_hash_request){.first = first, .count = count};
    ls_outbox_send(desync->match->outbox, peer_of(desync, slot));
}

static void compare_finished(ls_desync_service *desync, uint32_t slot)
{
    const ls_finished *finished = &desync->slots[slot].finished;
    ls_desync_service_compare(desync, slot, finished->chain_tick, finished->chain);
    if (ls_arbiter_compare_hash(&desync->arbiter, slot, finished->tick, desync->match->final_hash,
                                finished->state_hash)) {
        find_cause(desync, slot);
    }
}

void ls_desync_service_receive_finished(ls_desync_service *desync, uint32_t slot,
                                        const ls_finished *finished)
{
    desync->slots[slot].finished = *finished;
    compare_finished(desync, slot);
}

static ls_status receive_hashes(ls_desync_service *desync, uint32_t slot, const ls_hashes *hashes)
{
    bool was_asked = ls_desync_service_is_asking(desync, slot);
    bool is_contradiction = false;
    bool is_last = hashes->count < LS_HASHES_PER_MESSAGE;
    if (ls_arbiter_receive_hashes(&desync->arbiter, slot, hashes->first, hashes->state_hashes,
                                  hashes->count, is_last, &is_contradiction)) {
        find_cause(desync, slot);
        return LS_OK;
    }
    bool is_lapsed = was_asked && !ls_desync_service_is_asking(desync, slot);
    bool has_finished = is_spectator(desync, slot)
                            ? desync->slots[slot].finished.tick != 0
                            : desync->match->seats->rows[slot].state == LS_SEAT_FINISHED;
    if (is_lapsed && has_finished) {
        compare_finished(desync, slot); /* the question kept it from being compared */
    }
    if (is_contradiction && is_lapsed) {
        return LS_MALFORMED; /* only the chain or its tick was wrong: altered on its way, perhaps */
    }
    return is_contradiction ? LS_MISBEHAVED : LS_OK;
}

ls_status ls_desync_service_receive(ls_desync_service *desync, uint32_t slot,
                                    const ls_message *message, ls_desync_drop *drop)
{
    if (message->kind == LS_MESSAGE_HASHES) {
        return receive_hashes(desync, slot, &message->body.hashes);
    }
    if (message->kind == LS_MESSAGE_HEALED) {
        return receive_healed(desync, slot, &message->body.healed, drop);
    }
    if (!desync->all) {
        return LS_STALE;
    }
    switch (message->kind) {
    case LS_MESSAGE_TREE_ANSWER:
        return receive_answer(desync, slot, &message->body.tree_answer, drop);
    case LS_MESSAGE_EVIDENCE:
    case LS_MESSAGE_BUILD_FINGERPRINT:
        return receive_evidence(desync, slot, message);
    default:
        return LS_MISBEHAVED;
    }
}

bool ls_desync_service_settle(ls_desync_service *desync, uint32_t slot)
{
    if (ls_arbiter_settle_unanswered(&desync->arbiter, slot)) {
        find_cause(desync, slot);
    }
    return desync->slots[slot].is_unannounced && !is_excused(desync, slot);
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
bool ls_desync_service_is_overdue(ls_desync_service *desync, uint32_t slot, uint64_t limit_ns)
{
    if (desync->arbiter.slots[slot].agreement != LS_AGREEMENT_ASKING || !is_in_play(desync, slot)) {
        return false;
    }
    uint64_t now_ns = desync->match->now_ns;
    if (limit_ns > 0 && now_ns - link_of(desync, slot)->heard_ns >= limit_ns / 4) {
        desync->slots[slot].asked_ns = now_ns;
    }
    return now_ns - desync->slots[slot].asked_ns >= limit_ns;
}

uint32_t ls_desync_service_next_overdue(ls_desync_service *desync, uint32_t first,
                                        uint64_t limit_ns)
{
    uint32_t players = desync->match->config.sim.players;
    for (uint32_t slot = first; slot < players; slot++) {
        if (ls_desync_service_is_overdue(desync, slot, limit_ns)) {
            return slot;
        }
    }
    return MATCH_NO_SLOT;
}

/* ---- spectators ---- */

bool ls_desync_service_watch(ls_desync_service *desync, const ls_desync_spectator *spectator)
{
    uint32_t slot = desync->match->config.sim.players;
    if (desync->spectator.peer != 0 || is_slot_open(desync, slot)) {
        return false;
    }
    desync->slots[slot] = (desync_slot){0};
    desync->spectator = *spectator;
    ls_desync_service_begin(desync, slot, spectator->agreed);
    return true;
}

bool ls_desync_service_watches(const ls_desync_service *desync, ls_peer_id peer)
{
    return peer != 0 && desync->spectator.peer == peer;
}

/* ---- what is known ---- */

void ls_desync_service_report(const ls_desync_service *desync, uint32_t slot, ls_match_slot *report)
{
    const desync_slot *known = &desync->slots[slot];
    if (is_spectator(desync, slot)) {
        memcpy(report->name, desync->spectator.name, sizeof report->name);
    }
    report->hashes_compared = desync->arbiter.slots[slot].compared;
    report->agreed_tick = desync->arbiter.slots[slot].agreed_tick;
    report->is_desynced = known->is_desynced;
    report->desync_tick = known->tick;
    report->desync_server_hash = known->server_hash;
    report->desync_client_hash = known->client_hash;
    report->desync_clients = known->clients;
}

const ls_desync_finding *ls_match_desync_of(const ls_match *match, uint32_t slot)
{
    const ls_desync_service *desync = match->desync;
    const ls_desync_finding *finding = desync->all ? &case_of(desync, slot)->finding : NULL;
    return finding && (finding->is_open || finding->verdict.why.bytes[0]) ? finding : NULL;
}

bool ls_match_bundle_tick_of(const ls_match *match, uint32_t slot, ls_tick *tick)
{
    if (!is_in(match->desync, slot, LS_INVESTIGATION_REPORTED)) {
        return false;
    }
    *tick = ls_investigation_main_study(case_of(match->desync, slot))->subject.tick;
    return true;
}

bool ls_match_desync_evidence_of(const ls_match *match, uint32_t slot, ls_desync_evidence_set *out)
{
    const ls_desync_service *desync = match->desync;
    if (!is_in(desync, slot, LS_INVESTIGATION_REPORTED)) {
        return false;
    }
    ls_conclusion_evidence(desync->all, slot, out);
    out->has_stretch = ls_replay_window_stretch(desync->all->window, out->agreed, out->tick,
                                                &out->stretch) == LS_OK;
    return true;
}

void ls_desync_service_prefetch(const ls_desync_service *desync)
{
    uint32_t players = desync->match->config.sim.players;
    ls_prefetch(desync, offsetof(ls_desync_service, arbiter) + offsetof(ls_arbiter, slots) +
                            players * sizeof desync->arbiter.slots[0]);
}

void ls_desync_service_prefetch_slot(const ls_desync_service *desync, uint32_t slot)
{
    ls_prefetch(&desync->arbiter.slots[slot], sizeof desync->arbiter.slots[slot]);
}

/* ---- life ---- */

ls_status ls_desync_service_create(const ls_match *match, ls_desync_service **out)
{
    uint32_t players = match->config.sim.players;
    ls_desync_service *desync =
        ls_allocate(match->allocator, sizeof *desync + (players + 1) * sizeof desync->slots[0]);
    if (!desync) {
        return LS_NO_MEMORY;
    }
    desync->match = match;
    ls_arbiter_init(&desync->arbiter, &match->log->hashes);
    *out = desync;
    return LS_OK;
}

void ls_desync_service_destroy(ls_desync_service *desync)
{
    if (desync) {
        ls_investigations_destroy(desync->all);
        ls_release(desync->match->allocator, desync);
    }
}
