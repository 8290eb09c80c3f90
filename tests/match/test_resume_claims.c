/* A server that came back is told by raw peers what it lacks: lies, contradictions, parts, ticks
 * that nobody asked for; and who gets which seat, whether the journal knew of its players or not.
 */
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/tests/match/match_test.h"
#include "lockstep/tests/support/raw_peer.h"

enum {
    CLOSED = 100, /* ticks that everybody saw */
    TURN = 3,     /* of whoever sits somewhere */
    SEATS_MAX = 3,
};

static uint32_t seats = 2; /* a test may want another number, before it begins */

/* A seat of which the journal knows so many players. */
static ls_seat_generations generations_of(uint32_t newest)
{
    return (ls_seat_generations){.newest = newest, .forgotten = LS_FORGOTTEN_GENERATIONS_MAX};
}

/* A match restored as of tick CLOSED, in which raw peers come back to its seats. */
typedef struct liars {
    virtual_match *run;
    raw_peer *peers[SEATS_MAX];
    ls_tick closed; /* in the journal */
    uint64_t chain; /* before that tick */
} liars;

/* The inputs closed at a tick; `variant` 0 is the truth. */
static ls_tick_inputs made_tick(ls_tick tick, uint32_t variant, ls_slot_input slots[SEATS_MAX])
{
    static uint8_t bytes[SEATS_MAX];
    for (uint32_t slot = 0; slot < seats; slot++) {
        bytes[slot] = (uint8_t)(tick * 7 + slot + (tick >= CLOSED ? variant : 0));
        slots[slot] = (ls_slot_input){&bytes[slot], 1, tick == 0 ? LS_EVENT_JOINED : 0};
    }
    return (ls_tick_inputs){.tick = tick, .slot_count = seats, .slots = slots};
}

/* Begun to be restored, at tick 0. */
static liars begin_stage(void)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), seats, 0);
    setup.clients = 0;
    setup.match.resume_wait_ms = 3000;
    liars stage = {.run = checked_match_create(&setup), .chain = LS_TICK_CHAIN_START};
    ls_match_restore from = {0};
    cr_assert_eq(ls_match_restore_start(stage.run->match, &from, NULL), LS_OK);
    return stage;
}

static liars open_liars(void)
{
    liars stage = begin_stage();
    check_of(stage.run)->unscheduled_until_ns = VIRTUAL_NEVER;
    ls_text why;
    ls_match *match = stage.run->match;
    stage.closed = CLOSED;
    for (ls_tick tick = 0; tick < CLOSED; tick++) {
        ls_slot_input slots[SEATS_MAX];
        ls_tick_inputs inputs = made_tick(tick, 0, slots);
        cr_assert_eq(ls_match_restore_tick(match, &inputs, 0, &why), LS_OK);
        stage.chain = ls_tick_chain_next(stage.chain, &inputs);
    }
    for (uint32_t slot = 0; slot < seats; slot++) {
        ls_restored_seat seat = {.name = "liar", .generations = generations_of(TURN)};
        ls_match_restore_seat(match, slot, &seat);
    }
    ls_match_restore_end(match, virtual_match_server_ns(stage.run));
    return stage;
}

static void close_liars(liars *stage)
{
    check_sound(stage->run);
    for (uint32_t i = 0; i < seats; i++) {
        if (stage->peers[i]) {
            raw_peer_destroy(stage->peers[i]);
        }
    }
    virtual_match_destroy(stage->run);
}

/* Of a client that has confirmed `ticks` ticks more, of a variant, and holds all of them. */
static ls_return claim_of(const liars *stage, uint32_t ticks, uint32_t variant)
{
    ls_tick end = stage->closed + ticks;
    ls_return claim = {.confirmed = end, .tick_chain = stage->chain, .held = end};
    for (ls_tick tick = stage->closed; tick < end; tick++) {
        ls_slot_input slots[SEATS_MAX];
        ls_tick_inputs inputs = made_tick(tick, variant, slots);
        claim.tick_chain = ls_tick_chain_next(claim.tick_chain, &inputs);
    }
    return claim;
}

static void secret_of(const liars *stage, uint32_t slot, uint32_t turn,
                      uint8_t secret[LS_SECRET_BYTES])
{
    const ls_match_config *config = ls_match_config_of(stage->run->match);
    ls_secret_derive(&config->key, config->match_id, slot, turn, secret);
}

/* Somebody, kept at stage->peers[index], says that it was the seat's `turn`-th player, with the
 * secret that it was given last. */
static raw_peer *say_back(liars *stage, uint32_t index, uint32_t slot, uint32_t turn,
                          const ls_return *claim)
{
    const raw_peer *before = stage->peers[index];
    raw_peer *peer = raw_peer_create(stage->run);
    ls_offer offer = {.match_id = ls_match_config_of(stage->run->match)->match_id};
    secret_of(stage, slot, turn, offer.secret);
    if (before && before->heard[LS_MESSAGE_OFFER] > 0 && before->offer.slot == slot) {
        memcpy(offer.secret, before->offer.secret, sizeof offer.secret);
    }
    stage->peers[index] = peer;
    virtual_match_run(stage->run, 5 * MS);
    raw_peer_say_back(peer, &offer, claim);
    virtual_match_run(stage->run, 5 * MS);
    return peer;
}

static raw_peer *come_back_with(liars *stage, uint32_t slot, const ls_return *claim)
{
    raw_peer *peer = say_back(stage, slot, slot, TURN, claim);
    cr_assert_eq(peer->offer.slot, slot);
    cr_assert(peer->offer.is_running);
    raw_peer_say_ready(peer);
    virtual_match_run(stage->run, 5 * MS);
    return peer;
}

/* Slot i comes back and says that it has confirmed `ticks` ticks more, of a variant. */
static raw_peer *come_back(liars *stage, uint32_t slot, uint32_t ticks, uint32_t variant)
{
    ls_return claim = claim_of(stage, ticks, variant);
    return come_back_with(stage, slot, &claim);
}

/* Answers what it was asked for. */
static void answer(const liars *stage, raw_peer *peer, uint32_t variant)
{
    ls_ticks_request request = peer->request;
    cr_assert_gt(request.count, 0);
    peer->request.count = 0;
    for (ls_tick tick = request.first; tick < request.first + request.count; tick++) {
        ls_slot_input slots[SEATS_MAX];
        ls_tick_inputs inputs = made_tick(tick, variant, slots);
        raw_peer_send_closed_tick(peer, &inputs);
    }
    virtual_match_run(stage->run, 5 * MS);
}

Test(resume_claims, the_furthest_is_asked_once_everybody_is_back)
{
    liars stage = open_liars();
    raw_peer *near = come_back(&stage, 0, 3, 0);
    cr_assert_eq(near->heard[LS_MESSAGE_TICKS_REQUEST], 0);
    cr_assert_gt(near->heard[LS_MESSAGE_RESUMING], 0);
    cr_assert_eq(near->resuming.slots.words[0], 2);
    cr_assert_leq(near->resuming.left_ms, 3000);
    raw_peer *far = come_back(&stage, 1, 40, 0);
    cr_assert_eq(near->heard[LS_MESSAGE_TICKS_REQUEST], 0);
    cr_assert_eq(far->request.first, CLOSED);
    cr_assert_eq(far->request.count, LS_TICKS_PER_REQUEST);
    answer(&stage, far, 0);
    cr_assert_eq(ls_match_tick(stage.run->match), CLOSED); /* nothing before all is proven */
    cr_assert_eq(far->request.count, 8);
    answer(&stage, far, 0);
    cr_assert_eq(ls_match_state_of(stage.run->match), LS_MATCH_RUNNING);
    cr_assert_eq(ls_match_tick(stage.run->match), CLOSED + 40);
    cr_assert_eq(near->join.source, LS_JOIN_HELD);
    cr_assert_eq(near->join.tick, CLOSED + 3);
    cr_assert_eq(far->join.tick, CLOSED + 40);
    close_liars(&stage);
}

Test(resume_claims, invented_ticks_are_not_taken_when_another_one_knows_better)
{
    liars stage = open_liars();
    raw_peer *honest = come_back(&stage, 0, 5, 0);
    raw_peer *liar = come_back(&stage, 1, 9, 1);
    answer(&stage, liar, 1);
    cr_assert_eq(ls_match_tick(stage.run->match), CLOSED);
    answer(&stage, honest, 0);
    cr_assert_eq(ls_match_tick(stage.run->match), CLOSED + 5);
    cr_assert_eq(liar->join.source, LS_JOIN_SNAPSHOT);
    cr_assert_eq(honest->join.source, LS_JOIN_HELD);
    cr_assert_gt(ls_match_packets_rejected(stage.run->match), 0);
    close_liars(&stage);
}

/* ---- seals ---- */

/* As TICKS would have brought it, of the tick that lies `ticks` behind the journal's end. */
static void bring_seal(const liars *stage, ls_return *claim, uint32_t ticks, uint32_t variant)
{
    const ls_match_config *config = ls_match_config_of(stage->run->match);
    ls_return there = claim_of(stage, ticks, variant);
    claim->has_seal = true;
    claim->sealed_tick = there.confirmed;
    claim->seal = ls_secret_seal(&config->key, config->match_id, there.confirmed, there.tick_chain);
}

static void answer_all(const liars *stage, raw_peer *peer, uint32_t variant)
{
    while (peer->request.count > 0) {
        answer(stage, peer, variant);
    }
}

Test(resume_claims, ticks_that_a_client_invents_are_not_taken)
{
    liars stage = open_liars();
    raw_peer *honest = come_back(&stage, 0, 5, 0);
    raw_peer *liar = come_back(&stage, 1, 300, 0);
    answer_all(&stage, liar, 0);
    cr_assert_eq(ls_match_tick(stage.run->match), CLOSED + 5, "as far as another one bears it out");
    cr_assert_eq(ls_match_state_of(stage.run->match), LS_MATCH_RUNNING);
    cr_assert_eq(honest->join.source, LS_JOIN_HELD);
    cr_assert_eq(liar->join.source, LS_JOIN_SNAPSHOT);
    close_liars(&stage);
}

Test(resume_claims, of_ticks_that_two_have_agreed_to_invent_no_more_than_a_second_is_taken)
{
    liars stage = open_liars();
    come_back(&stage, 0, 300, 0);
    raw_peer *other = come_back(&stage, 1, 300, 0);
    answer_all(&stage, stage.peers[0], 0);
    answer_all(&stage, other, 0);
    uint32_t rate_hz = ls_match_config_of(stage.run->match)->sim.tick_rate_hz;
    cr_assert_leq(ls_match_tick(stage.run->match), CLOSED + rate_hz);
    cr_assert_eq(ls_match_state_of(stage.run->match), LS_MATCH_RUNNING);
    close_liars(&stage);
}

Test(resume_claims, ticks_with_the_servers_seal_are_taken_however_many)
{
    liars stage = open_liars();
    come_back(&stage, 0, 5, 0);
    ls_return claim = claim_of(&stage, 300, 0);
    bring_seal(&stage, &claim, 290, 0);
    raw_peer *far = come_back_with(&stage, 1, &claim);
    answer_all(&stage, far, 0);
    cr_assert_eq(ls_match_tick(stage.run->match), CLOSED + 300);
    cr_assert_eq(far->join.source, LS_JOIN_HELD);
    close_liars(&stage);
}

Test(resume_claims, a_seal_of_other_ticks_proves_nothing)
{
    liars stage = open_liars();
    come_back(&stage, 0, 5, 0);
    ls_return claim = claim_of(&stage, 300, 0);
    bring_seal(&stage, &claim, 290, 1);
    raw_peer *liar = come_back_with(&stage, 1, &claim);
    answer_all(&stage, liar, 0);
    cr_assert_eq(ls_match_tick(stage.run->match), CLOSED + 5);
    close_liars(&stage);
}

Test(resume_claims, a_seal_outweighs_all_who_contradict_it)
{
    seats = 3;
    liars stage = open_liars();
    ls_return claim = claim_of(&stage, 9, 0);
    bring_seal(&stage, &claim, 8, 0);
    raw_peer *honest = come_back_with(&stage, 0, &claim);
    raw_peer *peers[] = {honest, come_back(&stage, 1, 7, 1), come_back(&stage, 2, 7, 1)};
    for (uint32_t i = 0; i < seats; i++) {
        answer_all(&stage, peers[i], i > 0 ? 1 : 0);
    }
    cr_assert_eq(ls_match_tick(stage.run->match), CLOSED + 9);
    cr_assert_eq(honest->join.source, LS_JOIN_HELD);
    cr_assert_eq(peers[1]->join.source, LS_JOIN_SNAPSHOT);
    close_liars(&stage);
}

/* ---- states that differ ---- */

Test(resume_claims, a_client_whose_states_differ_is_sent_a_snapshot_told_or_not)
{
    liars stage = open_liars();
    uint64_t chain = ls_match_hash_chain(stage.run->match, &(ls_tick){0});
    ls_return claims[2] = {claim_of(&stage, 0, 0), claim_of(&stage, 0, 0)};
    for (uint32_t i = 0; i < 2; i++) {
        claims[i].hashed_tick = CLOSED;
        claims[i].hash_chain = (uint32_t)chain + i;
    }
    raw_peer *same = come_back_with(&stage, 0, &claims[0]);
    raw_peer *other = come_back_with(&stage, 1, &claims[1]);
    virtual_match_run(stage.run, 10 * MS);
    cr_assert_eq(same->join.source, LS_JOIN_HELD);
    cr_assert_eq(other->join.source, LS_JOIN_SNAPSHOT);
    close_liars(&stage);
}

/* It strays between its newest hashed state and the next. */
Test(resume_claims, a_client_that_differs_later_plays_and_is_reported)
{
    liars stage = open_liars();
    raw_peer *same = come_back(&stage, 0, 0, 0);
    raw_peer *other = come_back(&stage, 1, 0, 0);
    virtual_match_run(stage.run, 10 * MS);
    cr_assert_eq(other->join.source, LS_JOIN_HELD);
    raw_peer_say_joined(same, CLOSED + 20);
    raw_peer_send_joined(other, ls_match_tick(stage.run->match), 1234, CLOSED + 20);
    virtual_match_run(stage.run, 10 * MS);
    cr_assert_not(other->is_closed);
    cr_assert(ls_match_slot_of(stage.run->match, 1).is_playing);
    close_liars(&stage);
}

/* A client that was sent a state has no tick from before it. */
Test(resume_claims, ticks_are_put_together_from_those_who_hold_a_part)
{
    seats = 3;
    liars stage = open_liars();
    ls_return late = claim_of(&stage, 20, 0);
    late.held = 12;
    ls_return latest = claim_of(&stage, 30, 0);
    latest.held = 5;
    raw_peer *near = come_back(&stage, 0, 10, 0);
    raw_peer *far = come_back_with(&stage, 1, &late);
    raw_peer *farthest = come_back_with(&stage, 2, &latest);
    cr_assert_eq(far->request.count + farthest->request.count, 0);
    answer(&stage, near, 0);
    cr_assert_eq(far->request.first, CLOSED + 10);
    cr_assert_eq(far->request.count, 10);
    answer(&stage, far, 0);
    cr_assert_eq(farthest->heard[LS_MESSAGE_TICKS_REQUEST], 0, "nobody has the ticks between");
    cr_assert_eq(ls_match_state_of(stage.run->match), LS_MATCH_RUNNING);
    cr_assert_eq(ls_match_tick(stage.run->match), CLOSED + 20);
    cr_assert_eq(near->join.source, LS_JOIN_HELD);
    cr_assert_eq(far->join.source, LS_JOIN_HELD);
    cr_assert_eq(farthest->join.source, LS_JOIN_SNAPSHOT);
    close_liars(&stage);
}

Test(resume_claims, a_client_that_was_told_it_differs_is_believed_less)
{
    liars stage = open_liars();
    ls_return told = claim_of(&stage, 5, 1);
    told.is_desynced = true;
    raw_peer *liar = come_back_with(&stage, 0, &told);
    raw_peer *honest = come_back(&stage, 1, 9, 0);
    answer(&stage, honest, 0);
    answer(&stage, liar, 1);
    if (honest->request.count > 0) {
        answer(&stage, honest, 0);
    }
    cr_assert_eq(ls_match_tick(stage.run->match), CLOSED + 9);
    cr_assert_eq(honest->join.source, LS_JOIN_HELD);
    cr_assert_eq(liar->join.source, LS_JOIN_SNAPSHOT);
    close_liars(&stage);
}

/* Its bytes were altered, or it lies: by itself it keeps nobody's ticks from being taken. */
Test(resume_claims, one_who_contradicts_the_others_is_outvoted)
{
    seats = 3;
    for (uint32_t far = 0; far < 2; far++) {
        liars stage = open_liars();
        raw_peer *first = come_back(&stage, 0, 9, 0);
        raw_peer *liar = come_back(&stage, 1, far == 0 ? 7 : 12, 1);
        raw_peer *second = come_back(&stage, 2, 5, 0);
        for (uint32_t i = 0; i < 2 * seats; i++) {
            raw_peer *asked = first->request.count > 0    ? first
                              : liar->request.count > 0   ? liar
                              : second->request.count > 0 ? second
                                                          : NULL;
            if (asked) {
                answer(&stage, asked, asked == liar ? 1 : 0);
            }
        }
        cr_assert_eq(ls_match_state_of(stage.run->match), LS_MATCH_RUNNING);
        cr_assert_eq(ls_match_tick(stage.run->match), CLOSED + 9);
        cr_assert_eq(first->join.source, LS_JOIN_HELD);
        cr_assert_eq(second->join.source, LS_JOIN_HELD);
        cr_assert_eq(liar->join.source, LS_JOIN_SNAPSHOT);
        close_liars(&stage);
    }
}

Test(resume_claims, ticks_that_are_not_those_of_the_chain_are_not_taken)
{
    liars stage = open_liars();
    come_back(&stage, 0, 0, 0);
    raw_peer *liar = come_back(&stage, 1, 9, 0);
    answer(&stage, liar, 1);
    cr_assert_eq(ls_match_tick(stage.run->match), CLOSED);
    cr_assert_eq(ls_match_state_of(stage.run->match), LS_MATCH_RUNNING);
    close_liars(&stage);
}

Test(resume_claims, a_client_that_does_not_answer_is_passed_over_after_five_seconds)
{
    liars stage = open_liars();
    raw_peer *honest = come_back(&stage, 0, 5, 0);
    raw_peer *mute = come_back(&stage, 1, 9, 0);
    virtual_match_run(stage.run, 4900 * MS);
    cr_assert_eq(honest->heard[LS_MESSAGE_TICKS_REQUEST], 0);
    virtual_match_run(stage.run, 200 * MS);
    cr_assert_eq(honest->heard[LS_MESSAGE_TICKS_REQUEST], 1);
    /* Its answer comes too late, and harms nobody. */
    answer(&stage, mute, 0);
    cr_assert_eq(ls_match_tick(stage.run->match), CLOSED);
    answer(&stage, honest, 0);
    cr_assert_eq(ls_match_tick(stage.run->match), CLOSED + 5);
    cr_assert_not(mute->is_closed);
    close_liars(&stage);
}

/* It may come back as long as anybody is waited for. */
Test(resume_claims, a_client_that_leaves_while_it_is_asked_is_passed_over)
{
    liars stage = open_liars();
    raw_peer *honest = come_back(&stage, 0, 5, 0);
    raw_peer *gone = come_back(&stage, 1, 9, 0);
    ls_transport_disconnect(gone->transport, gone->server);
    virtual_match_run(stage.run, 10 * MS);
    answer(&stage, honest, 0);
    cr_assert_eq(ls_match_tick(stage.run->match), CLOSED + 5);
    cr_assert_eq(ls_match_state_of(stage.run->match), LS_MATCH_RESUMING);
    virtual_match_run(stage.run, 3000 * MS);
    cr_assert_eq(ls_match_state_of(stage.run->match), LS_MATCH_RUNNING);
    close_liars(&stage);
}

Test(resume_claims, a_client_that_lost_its_link_while_it_was_asked_is_asked_again_a_few_times)
{
    liars stage = open_liars();
    uint32_t asked = 0;
    raw_peer *late[6];
    come_back(&stage, 0, 0, 0);
    for (uint32_t i = 0; i < 6; i++) {
        late[i] = come_back(&stage, 1, 9, 0);
        asked += late[i]->request.count > 0 ? 1 : 0;
        ls_transport_disconnect(late[i]->transport, late[i]->server);
        virtual_match_run(stage.run, 10 * MS);
    }
    cr_assert_eq(asked, 4, "once, and three times anew");
    for (uint32_t i = 0; i < 5; i++) {
        raw_peer_destroy(late[i]);
    }
    close_liars(&stage);
}

Test(resume_claims, a_client_that_leaves_for_good_is_not_waited_for)
{
    seats = 3;
    liars stage = open_liars();
    raw_peer *first = come_back(&stage, 0, 5, 0);
    cr_assert_eq(first->resuming.slots.words[0], 6);
    raw_peer *second = come_back(&stage, 1, 0, 0);
    raw_peer_send_kind(second, LS_MESSAGE_GOODBYE);
    virtual_match_run(stage.run, 600 * MS);
    cr_assert_eq(first->resuming.slots.words[0], 4);
    close_liars(&stage);
}

Test(resume_claims, ticks_out_of_order_or_without_sense_end_the_asking)
{
    for (uint32_t i = 0; i < 3; i++) {
        liars stage = open_liars();
        come_back(&stage, 0, 0, 0);
        raw_peer *liar = come_back(&stage, 1, 9, 0);
        ls_message message = {.kind = LS_MESSAGE_CLOSED_TICK};
        ls_tick_part *part = &message.body.closed_tick;
        *part = (ls_tick_part){.tick = CLOSED, .total_bytes = 3, .size = 3};
        memset(part->bytes, 0xff, 3);
        part->tick += i == 0 ? 1 : 0;
        if (i == 1) {
            part->total_bytes = 2 * LS_TICK_PART_BYTES;
            part->index = 1;
            part->size = LS_TICK_PART_BYTES;
        }
        raw_peer_send_message(liar, &message);
        virtual_match_run(stage.run, 5 * MS);
        cr_assert_eq(ls_match_state_of(stage.run->match), LS_MATCH_RUNNING);
        cr_assert_eq(ls_match_tick(stage.run->match), CLOSED);
        cr_assert_not(liar->is_closed);
        close_liars(&stage);
    }
}

Test(resume_claims, closed_ticks_that_nobody_asked_for_are_misbehaviour)
{
    liars stage = open_liars();
    raw_peer *eager = come_back(&stage, 0, 5, 0);
    eager->request = (ls_ticks_request){.first = CLOSED, .count = 1};
    answer(&stage, eager, 0);
    cr_assert_eq(eager->refusal.negated_status, (uint32_t)-LS_MISBEHAVED);
    cr_assert_eq(ls_match_tick(stage.run->match), CLOSED);
    close_liars(&stage);
}

Test(resume_claims, more_ticks_than_anybody_holds_are_not_asked_for)
{
    liars stage = open_liars();
    come_back(&stage, 0, 0, 0);
    raw_peer *liar = come_back(&stage, 1, 100000, 0);
    cr_assert_eq(liar->heard[LS_MESSAGE_TICKS_REQUEST], 0);
    cr_assert_eq(ls_match_state_of(stage.run->match), LS_MATCH_RUNNING);
    const virtual_event *event = virtual_match_find(stage.run, LS_MATCH_RESUMED);
    cr_assert_not_null(event);
    cr_assert(strstr(event->event.text.bytes, "up to 100000 more"), "%s", event->event.text.bytes);
    cr_assert(strstr(event->event.text.bytes, "are lost"), "%s", event->event.text.bytes);
    close_liars(&stage);
}

/* A match whose journal ends before its first tick; slot 1 is free, and so are those above it. */
static liars open_young(ls_seat_generations generations)
{
    liars stage = begin_stage();
    ls_match *match = stage.run->match;
    ls_restored_seat seat = {.name = "somebody", .generations = generations_of(1)};
    ls_match_restore_seat(match, 0, &seat);
    seat.generations = generations;
    seat.has_left = generations.newest > 0;
    for (uint32_t slot = 1; slot < seats; slot++) {
        ls_match_restore_seat(match, slot, &seat);
    }
    ls_match_restore_end(match, virtual_match_server_ns(stage.run));
    return stage;
}

static raw_peer *come_anew(liars *stage, uint32_t index)
{
    raw_peer *peer = raw_peer_create(stage->run);
    stage->peers[index] = peer;
    virtual_match_run(stage->run, 5 * MS);
    raw_peer_say_hello(peer);
    virtual_match_run(stage->run, 5 * MS);
    cr_assert_gt(peer->heard[LS_MESSAGE_OFFER], 0);
    return peer;
}

/* The same, with nothing. */
static raw_peer *claim(liars *stage, uint32_t index, uint32_t slot, uint32_t turn)
{
    const ls_return nothing = {.tick_chain = LS_TICK_CHAIN_START};
    return say_back(stage, index, slot, turn, &nothing);
}

Test(resume_claims, a_seat_that_was_free_is_free_again)
{
    liars stage = open_young(generations_of(1));
    const raw_peer *peer = come_anew(&stage, 1);
    cr_assert_eq(peer->offer.slot, 1);
    cr_assert_eq(ls_match_state_of(stage.run->match), LS_MATCH_RESUMING,
                 "the others are waited for");
    close_liars(&stage);
}

/* The server does not know of those who sat down after its journal's end, and gave them secrets. */
Test(resume_claims, a_newcomer_is_given_no_secret_of_a_forgotten_player)
{
    liars stage = open_young(generations_of(1));
    const raw_peer *newcomer = come_anew(&stage, 1);
    cr_assert_eq(newcomer->offer.slot, 1);
    for (uint32_t turn = 1; turn <= 1 + LS_FORGOTTEN_GENERATIONS_MAX; turn++) {
        uint8_t secret[LS_SECRET_BYTES];
        secret_of(&stage, 1, turn, secret);
        cr_assert_neq(memcmp(secret, newcomer->offer.secret, sizeof secret), 0, "turn %u", turn);
    }
    const raw_peer *forgotten = claim(&stage, 0, 1, 2);
    cr_assert_eq(forgotten->refusal.negated_status, (uint32_t)-LS_NOT_FOUND);
    cr_assert_not(newcomer->is_closed);
    close_liars(&stage);
}

/* Seats are given out from the first on: the last is the least likely to be a forgotten player's.
 */
Test(resume_claims, a_forgotten_player_has_its_seat_while_another_one_is_free)
{
    seats = 3;
    liars stage = open_young(generations_of(0));
    const raw_peer *newcomer = come_anew(&stage, 2);
    cr_assert_eq(newcomer->offer.slot, 2);
    const raw_peer *forgotten = claim(&stage, 1, 1, 1);
    cr_assert_eq(forgotten->heard[LS_MESSAGE_REFUSE], 0);
    cr_assert_eq(forgotten->offer.slot, 1);
    cr_assert_not(newcomer->is_closed);
    close_liars(&stage);
}

Test(resume_claims, a_player_seated_after_the_journals_end_gets_its_seat_as_well)
{
    liars stage = open_liars();
    uint8_t secret[LS_SECRET_BYTES];
    secret_of(&stage, 1, TURN + 1, secret);
    ls_secret_renew(&ls_match_config_of(stage.run->match)->key, secret, 1, secret);
    ls_return claim = claim_of(&stage, 0, 0);
    const raw_peer *peer = say_back(&stage, 1, 1, TURN + 1, &claim);
    cr_assert_eq(peer->offer.slot, 1);
    cr_assert_arr_eq(peer->offer.secret, secret, LS_SECRET_BYTES, "the next one of that player");
    close_liars(&stage);
}

/* The journal says that the player of a seat had its third secret: later ones may be lost with the
 * journal's end, earlier ones are good for nothing. */
Test(resume_claims, after_a_restart_newer_secrets_than_the_known_one_are_taken_and_no_older)
{
    static const struct {
        uint32_t number;
        bool is_taken;
    } cases[] = {{1, false}, {2, true}, {3, true}, {2 + 1 + 8, true}, {2 + 2 + 8, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ls_seat_generations generations = generations_of(1);
        generations.secret = 2;
        liars stage = open_young(generations);
        const ls_match_config *config = ls_match_config_of(stage.run->match);
        ls_offer offer = {.match_id = config->match_id};
        secret_of(&stage, 1, 1, offer.secret);
        ls_secret_renew(&config->key, offer.secret, cases[i].number, offer.secret);
        raw_peer *peer = raw_peer_create(stage.run);
        stage.peers[1] = peer;
        virtual_match_run(stage.run, 5 * MS);
        ls_return claim = claim_of(&stage, 0, 0);
        raw_peer_say_back(peer, &offer, &claim);
        virtual_match_run(stage.run, 5 * MS);
        cr_assert_eq(peer->heard[LS_MESSAGE_OFFER] > 0, cases[i].is_taken, "%u", cases[i].number);
        close_liars(&stage);
    }
}

/* ---- a match of which not even the beginning was written down ---- */

/* It is told who sat there last, `turn`-th of all. */
static liars open_lobby(uint32_t turn)
{
    liars stage = begin_stage();
    check_of(stage.run)->unscheduled_until_ns = VIRTUAL_NEVER;
    ls_seat_generations generations[LS_PLAYERS_MAX];
    for (uint32_t slot = 0; slot < LS_PLAYERS_MAX; slot++) {
        generations[slot] = generations_of(turn);
    }
    ls_match_restore_lobby(stage.run->match, generations);
    return stage;
}

/* TURN - 2: the newest who sat down are not in the journal either. */
Test(resume_claims, a_client_that_saw_ticks_of_a_match_brings_its_beginning_back)
{
    for (uint32_t turn = TURN - 2; turn <= TURN; turn++) {
        liars stage = open_lobby(turn);
        const ls_match *match = stage.run->match;
        cr_assert_eq(ls_match_state_of(match), LS_MATCH_LOBBY);
        raw_peer *far = come_back(&stage, 1, 5, 0);
        cr_assert_eq(ls_match_state_of(match), LS_MATCH_RESUMING);
        cr_assert_eq(far->resuming.slots.words[0], 1, "everybody is waited for");
        raw_peer *near = come_back(&stage, 0, 0, 0);
        cr_assert_eq(far->request.first, 0);
        cr_assert_eq(far->request.count, 5);
        answer(&stage, far, 0);
        cr_assert_eq(ls_match_state_of(match), LS_MATCH_RUNNING);
        cr_assert_eq(ls_match_tick(match), 5);
        cr_assert_eq(far->join.source, LS_JOIN_HELD);
        cr_assert_eq(near->join.source, LS_JOIN_HELD);
        cr_assert_eq(near->join.tick, 0);
        close_liars(&stage);
    }
}

Test(resume_claims, a_lobby_that_is_open_again_begins_with_whom_it_has)
{
    liars stage = open_lobby(0);
    for (uint32_t i = 0; i < seats; i++) {
        raw_peer *peer = come_anew(&stage, i);
        cr_assert_not(peer->offer.is_running);
        cr_assert_eq(peer->offer.slot, seats - 1 - i, "the first seats are for who was forgotten");
        raw_peer_say_ready(peer);
        virtual_match_run(stage.run, 5 * MS);
    }
    cr_assert_eq(ls_match_state_of(stage.run->match), LS_MATCH_RUNNING);
    cr_assert_eq(stage.peers[0]->heard[LS_MESSAGE_START], 1);
    close_liars(&stage);
}

/* The run itself stands still once the match is over. */
static void deliver_last_words(virtual_match *run)
{
    run->now_ns += 20 * MS;
    run->network->operations->set_time(run->network, run->now_ns);
    for (uint32_t i = 0; i < run->peer_count; i++) {
        run->peers[i].pump(run->peers[i].user);
    }
}

Test(resume_claims, a_client_that_is_back_when_the_server_stops_is_not_told_an_end)
{
    liars stage = open_liars();
    ls_match *match = stage.run->match;
    raw_peer *back = come_back(&stage, 0, 5, 0);
    raw_peer *pending = raw_peer_create(stage.run);
    stage.peers[1] = pending;
    virtual_match_run(stage.run, 5 * MS);
    cr_assert_eq(ls_match_state_of(match), LS_MATCH_RESUMING);
    ls_match_stop(match, virtual_match_server_ns(stage.run));
    deliver_last_words(stage.run);
    cr_assert_eq(ls_match_state_of(match), LS_MATCH_OVER);
    cr_assert(back->is_closed);
    cr_assert(pending->is_closed);
    cr_assert_eq(back->heard[LS_MESSAGE_REFUSE] + pending->heard[LS_MESSAGE_REFUSE], 0);
    close_liars(&stage);
}

Test(resume_claims, a_secret_of_the_player_before_is_none)
{
    liars stage = open_liars();
    ls_return claim = claim_of(&stage, 0, 0);
    const raw_peer *peer = say_back(&stage, 1, 1, TURN - 1, &claim);
    cr_assert_eq(peer->refusal.negated_status, (uint32_t)-LS_NOT_FOUND);
    close_liars(&stage);
}
