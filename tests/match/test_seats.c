/* Seats of a match whose server came back and has forgotten who sat down last: what the ticks that
 * others bring back tell of them. */
#include "lockstep/common/simulation/tick_chain.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/tests/match/match_test.h"
#include "lockstep/tests/support/raw_peer.h"

enum {
    SEATS = 3,
    PEERS = SEATS + 1,
    CLOSED = 5, /* ticks that the journal lacks and who sat on seat 0 has */
};

typedef struct table {
    virtual_match *run;
    raw_peer *peers[PEERS];
} table;

/* The journal knows one player of seat 0 and none of the others. */
static table open_table(void)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), SEATS, 0);
    setup.clients = 0;
    table here = {.run = checked_match_create(&setup)};
    check_of(here.run)->unscheduled_until_ns = VIRTUAL_NEVER;
    ls_match *match = here.run->match;
    ls_match_restore from = {0};
    cr_assert_eq(ls_match_restore_start(match, &from, NULL), LS_OK);
    for (uint32_t slot = 0; slot < SEATS; slot++) {
        ls_restored_seat seat = {.name = slot == 0 ? "somebody" : "",
                                 .generations = {.newest = slot == 0 ? 1 : 0,
                                                 .forgotten = LS_FORGOTTEN_GENERATIONS_MAX}};
        ls_match_restore_seat(match, slot, &seat);
    }
    ls_match_restore_end(match, virtual_match_server_ns(here.run));
    return here;
}

static void close_table(table *here)
{
    check_sound(here->run);
    for (uint32_t i = 0; i < PEERS; i++) {
        if (here->peers[i]) {
            raw_peer_destroy(here->peers[i]);
        }
    }
    virtual_match_destroy(here->run);
}

static raw_peer *connect(table *here, uint32_t index)
{
    here->peers[index] = raw_peer_create(here->run);
    virtual_match_run(here->run, 5 * MS);
    return here->peers[index];
}

/* peers[index] is somebody new. */
static raw_peer *come(table *here, uint32_t index)
{
    raw_peer *peer = connect(here, index);
    raw_peer_say_hello(peer);
    virtual_match_run(here->run, 5 * MS);
    return peer;
}

/* peers[slot] says that it is the seat's `turn`-th player. */
static raw_peer *come_back(table *here, uint32_t slot, uint32_t turn, ls_tick confirmed,
                           uint64_t chain)
{
    raw_peer *peer = connect(here, slot);
    const ls_match_config *config = ls_match_config_of(here->run->match);
    ls_offer offer = {.match_id = config->match_id};
    ls_secret_derive(&config->key, config->match_id, slot, turn, offer.secret);
    ls_return claim = {.confirmed = confirmed, .tick_chain = chain, .held = confirmed};
    raw_peer_say_back(peer, &offer, &claim);
    virtual_match_run(here->run, 5 * MS);
    return peer;
}

static void say_ready(table *here, raw_peer *peer, uint32_t slot)
{
    cr_assert_gt(peer->heard[LS_MESSAGE_OFFER], 0);
    cr_assert_eq(peer->offer.slot, slot);
    raw_peer_say_ready(peer);
    virtual_match_run(here->run, 5 * MS);
}

/* Seats 0 and 1 join in tick 0, and nobody ever makes an input. */
static ls_tick_inputs made_tick(ls_tick tick, ls_slot_input slots[SEATS])
{
    for (uint32_t slot = 0; slot < SEATS; slot++) {
        slots[slot] = (ls_slot_input){.events = tick == 0 && slot < 2 ? LS_EVENT_JOINED : 0};
    }
    return (ls_tick_inputs){.tick = tick, .slot_count = SEATS, .slots = slots};
}

/* The player of seat 0 comes back with the ticks that the journal lacks: somebody plays on seat 1.
 */
static void bring_ticks(table *here)
{
    ls_slot_input slots[SEATS];
    uint64_t chain = LS_TICK_CHAIN_START;
    for (ls_tick tick = 0; tick < CLOSED; tick++) {
        ls_tick_inputs inputs = made_tick(tick, slots);
        chain = ls_tick_chain_next(chain, &inputs);
    }
    raw_peer *peer = come_back(here, 0, 1, CLOSED, chain);
    say_ready(here, peer, 0);
    cr_assert_eq(peer->request.count, CLOSED);
    for (ls_tick tick = 0; tick < CLOSED; tick++) {
        ls_tick_inputs inputs = made_tick(tick, slots);
        raw_peer_send_closed_tick(peer, &inputs);
    }
    virtual_match_run(here->run, 5 * MS);
    cr_assert_eq(ls_match_state_of(here->run->match), LS_MATCH_RUNNING);
    cr_assert_eq(ls_match_tick(here->run->match), CLOSED);
}

Test(seats, one_on_which_somebody_played_as_the_others_know_is_kept)
{
    table here = open_table();
    bring_ticks(&here);
    const raw_peer *newcomer = come(&here, 2);
    cr_assert_eq(newcomer->offer.slot, 2);
    const raw_peer *other = come(&here, 3);
    cr_assert_eq(other->refusal.negated_status, (uint32_t)-LS_MATCH_FULL);
    raw_peer *forgotten = come_back(&here, 1, 1, 0, LS_TICK_CHAIN_START);
    say_ready(&here, forgotten, 1);
    close_table(&here);
}

/* It must not be taken for the player whom the simulation knows on that seat. */
Test(seats, a_player_given_the_seat_of_a_forgotten_one_joins_anew)
{
    table here = open_table();
    come(&here, 2);
    raw_peer *newcomer = come(&here, 1);
    say_ready(&here, newcomer, 1);
    bring_ticks(&here);
    raw_peer_say_joined(here.peers[0], CLOSED + 1);
    virtual_match_run(here.run, SECOND / 2);
    cr_assert_gt(ls_match_tick(here.run->match), CLOSED);
    cr_assert_eq(check_of(here.run)->ticks[CLOSED].events[1], LS_EVENT_LEFT);
    close_table(&here);
}
