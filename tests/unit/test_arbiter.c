#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/server/match/arbiter.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

/* ---- root_vote ---- */

enum {
    BAD = 100,
};

/* One letter a slot: what it has at the bad state. 's': the server's; 'a', 'b': another root; 'e':
 * it differed earlier; 'l': it differs later; '?': not compared; '-': not in play. The first slot
 * is asked about. */
static ls_root_vote count(const char *slots)
{
    static ls_arbiter arbiter;
    ls_root_voters voters = {{{0}}, {{0}}};
    arbiter = (ls_arbiter){0};
    for (uint32_t i = 0; slots[i]; i++) {
        ls_arbiter_slot *slot = &arbiter.slots[i];
        bool differs = slots[i] != 's' && slots[i] != '?' && slots[i] != '-';
        ls_slot_set_put(&voters.in_play, i, slots[i] != '-');
        *slot = (ls_arbiter_slot){.agreement = differs ? LS_AGREEMENT_DIFFERS : LS_AGREEMENT_AGREES,
                                  .has_agreed = true,
                                  .agreed_tick = slots[i] == 's' ? BAD : BAD - 1,
                                  .bad_tick = slots[i] == 'e'   ? BAD - 1
                                              : slots[i] == 'l' ? BAD + 1
                                                                : BAD,
                                  .client_hash = (uint64_t)slots[i]};
    }
    return ls_root_vote_count(&arbiter, voters, 0);
}

static void expect(const char *slots, bool is_decided, bool is_against_server)
{
    ls_root_vote vote = count(slots);
    cr_expect_eq(ls_root_vote_is_decided(&vote), is_decided, "%s", slots);
    if (is_decided) {
        cr_expect_eq(ls_root_vote_is_against_server(&vote), is_against_server, "%s", slots);
    }
}

Test(root_vote, several_clients_with_one_root_outvote_the_server)
{
    expect("aa", true, true);
    expect("aaaa", true, true);
    expect("aasa", true, true);
    cr_expect_eq(count("aasa").with_client, 3);
}

Test(root_vote, one_client_alone_never_does)
{
    expect("a", true, false);
    expect("as", true, false);
    expect("ab", true, false);
    expect("abb", true, false);
}

/* The server is one of the machines that have its state. */
Test(root_vote, as_many_with_the_server_are_enough_for_it)
{
    expect("aas", true, false);
    expect("aasas", true, false);
    expect("aass", true, false);
    expect("aasl", true, false);
}

Test(root_vote, clients_that_differed_before_or_have_left_have_no_say)
{
    expect("ae", true, false);
    expect("aae", true, true);
    expect("aa-", true, true);
    expect("a-", true, false);
}

Test(root_vote, clients_that_can_change_it_are_waited_for)
{
    expect("a?", false, false);
    expect("aa?", false, false);
    expect("aaa?", false, false); /* how many agree is told */
    expect("as??", false, false);
    expect("as?", true, false);
    expect("ass?", true, false);
}

/* ---- arbiter ---- */

static ls_hash_record record;
static ls_arbiter arbiter;
static const ls_arbiter_slot *const slot_0 = &arbiter.slots[0];

/* One client's states: those of the server, or other ones from `bad_tick` on. */
typedef struct player {
    uint32_t interval;
    ls_tick bad_tick;
    ls_tick tick;
    uint64_t chain;
} player;

static uint64_t server_hash(ls_tick tick)
{
    return UINT64_C(0x1234567812345678) * (tick + 1);
}

static uint64_t hash_of(const player *of, ls_tick tick)
{
    return server_hash(tick) ^ (tick >= of->bad_tick ? 0xff : 0);
}

static player make_player(uint32_t interval, ls_tick bad_tick)
{
    player made = {.interval = interval, .bad_tick = bad_tick};
    made.chain = ls_hash_chain_start(hash_of(&made, 0));
    return made;
}

static void simulate_to(player *of, ls_tick tick)
{
    while (of->tick + of->interval <= tick) {
        of->tick += of->interval;
        of->chain = ls_hash_chain_next(of->chain, hash_of(of, of->tick));
    }
}

static void open_arbiter(uint32_t interval, ls_tick newest)
{
    ls_hash_record_deinit(&record, ls_allocator_heap());
    ls_hash_record_init(&record, interval, server_hash(0));
    cr_assert_eq(ls_hash_record_open(&record, ls_allocator_heap()), LS_OK);
    ls_arbiter_init(&arbiter, &record);
    for (ls_tick tick = interval; tick <= newest; tick += interval) {
        ls_hash_record_add(&record, tick, server_hash(tick));
    }
}

typedef struct question {
    bool is_asked;
    ls_tick first;
    uint32_t count;
} question;

static question asked;        /* by the newest comparison of a test that differs */
static bool is_contradiction; /* as the newest answer was taken */

static question compare(uint32_t slot, const player *of)
{
    question made = {0};
    made.is_asked =
        ls_arbiter_compare(&arbiter, slot, of->tick, (uint32_t)of->chain, &made.first, &made.count);
    return made;
}

/* Slot 0 answers with the player's state hashes. */
static bool answer(const player *of, ls_tick first, uint32_t count, bool is_last)
{
    uint64_t state_hashes[LS_WINDOW_TICKS] = {0};
    for (uint32_t i = 0; i < count; i++) {
        state_hashes[i] = hash_of(of, first + i * of->interval);
    }
    return ls_arbiter_receive_hashes(&arbiter, 0, first, state_hashes, count, is_last,
                                     &is_contradiction);
}

/* ---- agreement ---- */

Test(arbiter, an_equal_chain_proves_every_state_up_to_it)
{
    open_arbiter(1, 100);
    player good = make_player(1, UINT32_MAX);
    cr_assert_not(compare(2, &good).is_asked);
    cr_assert(arbiter.slots[2].has_agreed);
    cr_assert_eq(arbiter.slots[2].agreed_tick, 0);
    cr_assert_eq(arbiter.slots[2].compared, 1);
    simulate_to(&good, 60);
    cr_assert_not(compare(2, &good).is_asked);
    cr_assert_eq(arbiter.slots[2].agreed_tick, 60);
    cr_assert_eq(arbiter.slots[2].compared, 61);
    cr_assert_eq(arbiter.slots[2].agreement, LS_AGREEMENT_AGREES);
    cr_assert_not(arbiter.slots[1].has_agreed, "that was another slot");
}

Test(arbiter, an_old_or_repeated_chain_compares_nothing)
{
    open_arbiter(1, 100);
    player good = make_player(1, UINT32_MAX);
    simulate_to(&good, 50);
    compare(0, &good);
    player old = make_player(1, UINT32_MAX);
    simulate_to(&old, 20);
    cr_assert_not(compare(0, &old).is_asked);
    cr_assert_not(compare(0, &good).is_asked);
    old.chain ^= 1; /* even when it differs: what is proven is proven */
    cr_assert_not(compare(0, &old).is_asked);
    cr_assert_eq(slot_0->agreed_tick, 50);
    cr_assert_eq(slot_0->compared, 51);
}

Test(arbiter, only_multiples_of_the_interval_are_hashed)
{
    open_arbiter(7, 70);
    cr_assert(ls_hash_record_is_due(&record, 0));
    cr_assert(ls_hash_record_is_due(&record, 77));
    cr_assert_not(ls_hash_record_is_due(&record, 76));
    cr_assert(ls_hash_record_is_known(&record, 70));
    cr_assert_not(ls_hash_record_is_known(&record, 69));
    cr_assert_not(ls_hash_record_is_known(&record, 77), "the future");
    player good = make_player(7, UINT32_MAX);
    simulate_to(&good, 70);
    cr_assert_not(compare(0, &good).is_asked);
    cr_assert_eq(slot_0->compared, 11);
}

Test(arbiter, state_0_is_known_before_there_is_memory_for_others)
{
    uint64_t state_hash = 0;
    uint64_t chain = 0;
    ls_hash_record_deinit(&record, ls_allocator_heap());
    ls_hash_record_init(&record, 3, server_hash(0));
    cr_assert(ls_hash_record_hash(&record, 0, &state_hash));
    cr_assert(ls_hash_record_chain(&record, 0, &chain));
    cr_assert_eq(state_hash, server_hash(0));
    cr_assert_eq(chain, ls_hash_chain_start(server_hash(0)));
    cr_assert_not(ls_hash_record_chain(&record, 3, &chain));
    ls_arbiter_init(&arbiter, &record);
    player good = make_player(3, UINT32_MAX);
    cr_assert_not(compare(0, &good).is_asked);
    cr_assert(slot_0->has_agreed);
}

Test(arbiter, a_chain_of_an_unknown_state_is_a_mistake, .signal = SIGABRT)
{
    open_arbiter(1, 10);
    player ahead = make_player(1, UINT32_MAX);
    simulate_to(&ahead, 11);
    compare(0, &ahead);
}

Test(arbiter, states_are_recorded_one_after_the_other, .signal = SIGABRT)
{
    open_arbiter(2, 10);
    ls_hash_record_add(&record, 14, 1);
}

Test(arbiter, agreement_goes_on_for_ever)
{
    open_arbiter(3, 0);
    player good = make_player(3, UINT32_MAX);
    for (ls_tick tick = 3; tick < 30000; tick += 3) {
        ls_hash_record_add(&record, tick, server_hash(tick));
        simulate_to(&good, tick);
        if (tick % 5 == 0) {
            cr_assert_not(compare(0, &good).is_asked);
        }
    }
    cr_assert_eq(slot_0->agreed_tick, 29985);
    cr_assert_eq(slot_0->compared, 9996);
}

/* ---- difference ---- */

/* Agrees up to `agreed`, then differs from bad on, and is compared at `tick`. */
static player differ(uint32_t interval, ls_tick agreed, ls_tick bad, ls_tick tick)
{
    player liar = make_player(interval, bad);
    simulate_to(&liar, agreed);
    cr_assert_not(compare(0, &liar).is_asked);
    simulate_to(&liar, tick);
    asked = compare(0, &liar);
    return liar;
}

/* Agrees up to state 10, differs from 20 on and is compared at 30; the server is at 100. */
static player differ_from_20(void)
{
    open_arbiter(1, 100);
    return differ(1, 10, 20, 30);
}

Test(arbiter, the_first_bad_state_is_found_wherever_it_is)
{
    for (ls_tick bad = 31; bad <= 60; bad++) {
        open_arbiter(1, 100);
        player liar = differ(1, 30, bad, 60);
        cr_assert(asked.is_asked);
        cr_assert_eq(asked.first, 31);
        cr_assert_eq(asked.count, 30);
        cr_assert_eq(slot_0->agreement, LS_AGREEMENT_ASKING);
        cr_assert(answer(&liar, asked.first, asked.count, true));
        cr_assert_not(is_contradiction);
        const ls_arbiter_slot *found = slot_0;
        cr_assert_eq(found->agreement, LS_AGREEMENT_DIFFERS);
        cr_assert_eq(found->bad_tick, bad);
        cr_assert_eq(found->server_hash, server_hash(bad));
        cr_assert_eq(found->client_hash, server_hash(bad) ^ 0xff);
        cr_assert_eq(found->agreed_tick, bad - 1);
        cr_assert_eq(found->compared, bad + 1);
    }
}

Test(arbiter, the_first_bad_state_is_found_at_any_interval)
{
    open_arbiter(10, 1000);
    player liar = differ(10, 300, 405, 900);
    cr_assert_eq(asked.first, 310);
    cr_assert_eq(asked.count, 60);
    cr_assert(answer(&liar, 310, 60, true));
    cr_assert_eq(slot_0->bad_tick, 410);
}

Test(arbiter, a_bad_state_0_is_found)
{
    open_arbiter(1, 10);
    player liar = make_player(1, 0);
    simulate_to(&liar, 5);
    asked = compare(0, &liar);
    cr_assert(asked.is_asked);
    cr_assert(asked.first == 0 && asked.count == 6);
    cr_assert(answer(&liar, 0, 6, true));
    cr_assert_eq(slot_0->bad_tick, 0);
    cr_assert_not(slot_0->has_agreed);
}

Test(arbiter, an_answer_may_come_in_pieces)
{
    open_arbiter(1, 1000);
    player liar = differ(1, 0, 600, 900);
    cr_assert(asked.first == 1 && asked.count == 900);
    ls_tick first = 1;
    for (; first + 128 <= 600; first += 128) {
        cr_assert_not(answer(&liar, first, 128, false));
        cr_assert_not(is_contradiction);
    }
    cr_assert(answer(&liar, first, 128, false));
    cr_assert_eq(slot_0->bad_tick, 600);
}

Test(arbiter, the_rest_of_an_answer_is_no_contradiction)
{
    open_arbiter(1, 1000);
    player liar = differ(1, 0, 5, 300);
    cr_assert(answer(&liar, 1, 128, false));
    for (ls_tick first = 129; first <= 257; first += 128) {
        cr_assert_not(answer(&liar, first, first == 257 ? 44 : 128, first == 257));
        cr_assert_not(is_contradiction, "it was on its way already");
    }
    cr_assert_eq(slot_0->bad_tick, 5);
    cr_assert_eq(slot_0->agreed_tick, 4);
    cr_assert_not(answer(&liar, 301, 1, true));
    cr_assert(is_contradiction, "that was all that was asked for");
}

Test(arbiter, a_difference_is_asked_and_reported_once)
{
    player liar = differ_from_20();
    simulate_to(&liar, 40);
    cr_assert_not(compare(0, &liar).is_asked, "the question stands");
    cr_assert(answer(&liar, asked.first, asked.count, true));
    simulate_to(&liar, 50);
    cr_assert_not(compare(0, &liar).is_asked, "it is known");
    cr_assert_not(answer(&liar, asked.first, asked.count, true));
    cr_assert(is_contradiction);
    cr_assert_eq(slot_0->bad_tick, 20);
}

/* ---- answers that make no sense ---- */

Test(arbiter, hashes_that_nobody_asked_for_are_a_contradiction)
{
    open_arbiter(1, 100);
    player good = make_player(1, UINT32_MAX);
    cr_assert_not(answer(&good, 0, 5, true));
    cr_assert(is_contradiction);
    cr_assert_not(slot_0->has_agreed);
}

Test(arbiter, hashes_of_other_states_than_asked_for_are_a_contradiction)
{
    for (ls_tick first = 10; first <= 12; first += 2) {
        player liar = differ_from_20();
        cr_assert_not(answer(&liar, first, 20, true));
        cr_assert(is_contradiction);
        cr_assert_eq(slot_0->agreement, LS_AGREEMENT_ASKING);
    }
}

Test(arbiter, hashes_that_all_agree_contradict_a_chain_that_does_not)
{
    differ_from_20();
    player good = make_player(1, UINT32_MAX);
    cr_assert_not(answer(&good, asked.first, asked.count, true));
    cr_assert(is_contradiction);
    cr_assert_eq(slot_0->agreement, LS_AGREEMENT_AGREES, "the states do agree");
    cr_assert_eq(slot_0->agreed_tick, 30);
}

Test(arbiter, hashes_that_agree_as_far_as_they_go_settle_nothing)
{
    differ_from_20();
    player good = make_player(1, UINT32_MAX);
    cr_assert_not(answer(&good, asked.first, asked.count - 1, true));
    cr_assert(is_contradiction);
    cr_assert_eq(slot_0->agreement, LS_AGREEMENT_DOUBTED);
}

/* Which state a chain covers may be altered on its way as well as the chain. */
Test(arbiter, after_an_answer_that_ends_too_early_the_next_chain_decides)
{
    player liar = differ_from_20();
    answer(&liar, asked.first, 5, true);
    simulate_to(&liar, 31);
    asked = compare(0, &liar);
    cr_assert(asked.is_asked);
    cr_assert(answer(&liar, asked.first, asked.count, true));
    cr_assert_eq(slot_0->bad_tick, 20);

    open_arbiter(1, 100);
    player good = make_player(1, UINT32_MAX);
    differ(1, 10, 20, 30);
    answer(&good, asked.first, 5, true);
    simulate_to(&good, 16);
    cr_assert_not(compare(0, &good).is_asked);
    cr_assert_eq(slot_0->agreement, LS_AGREEMENT_AGREES);
    cr_assert_not(ls_arbiter_settle_unanswered(&arbiter, 0));
}

Test(arbiter, a_player_leaving_after_an_answer_that_ends_too_early_differs)
{
    player liar = differ_from_20();
    answer(&liar, asked.first, 0, true);
    cr_assert(ls_arbiter_settle_unanswered(&arbiter, 0));
    cr_assert_eq(slot_0->bad_tick, 30);
    cr_assert_eq(slot_0->client_hash, 0);
}

Test(arbiter, more_hashes_than_asked_for_are_a_contradiction)
{
    differ_from_20();
    player good = make_player(1, UINT32_MAX);
    cr_assert_not(answer(&good, asked.first, asked.count + 1, false));
    cr_assert(is_contradiction);
    cr_assert_eq(slot_0->agreed_tick, 10, "nothing of it is taken");
    player liar = make_player(1, 20);
    cr_assert_not(answer(&liar, asked.first, asked.count + 1, false));
    cr_assert_eq(slot_0->agreement, LS_AGREEMENT_ASKING);
}

Test(arbiter, an_empty_last_answer_is_a_contradiction)
{
    player liar = differ_from_20();
    cr_assert_not(answer(&liar, asked.first, 0, true));
    cr_assert(is_contradiction);
}

/* ---- the window ---- */

Test(arbiter, a_chain_too_old_to_be_held_is_ignored)
{
    open_arbiter(1, 2000);
    player liar = make_player(1, 5);
    simulate_to(&liar, 2000 - LS_WINDOW_TICKS);
    cr_assert_not(compare(0, &liar).is_asked);
    cr_assert_eq(slot_0->agreement, LS_AGREEMENT_AGREES);
    simulate_to(&liar, 2000 - LS_WINDOW_TICKS + 1);
    asked = compare(0, &liar);
    cr_assert(asked.is_asked);
    cr_assert_eq(asked.first, 2000 - LS_WINDOW_TICKS + 1, "what is not held cannot be compared");
    cr_assert_eq(asked.count, 1);
}

Test(arbiter, no_more_is_asked_than_is_held)
{
    open_arbiter(4, 8000);
    player liar = make_player(4, 4);
    simulate_to(&liar, 8000);
    asked = compare(0, &liar);
    cr_assert_eq(asked.count, LS_WINDOW_TICKS);
    cr_assert_eq(asked.first, 8000 - 4 * (LS_WINDOW_TICKS - 1));
}

Test(arbiter, states_forgotten_while_the_answer_travelled_are_passed_over)
{
    open_arbiter(1, 1000);
    player liar = differ(1, 10, 20, 200);
    for (ls_tick tick = 1001; tick <= 1150; tick++) {
        ls_hash_record_add(&record, tick, server_hash(tick));
    }
    cr_assert(answer(&liar, asked.first, asked.count, true));
    cr_assert_not(is_contradiction, "the player is late, but no liar");
    cr_assert_eq(slot_0->bad_tick, 1150 - LS_WINDOW_TICKS + 1);
    cr_assert_eq(slot_0->agreement, LS_AGREEMENT_DIFFERS);
}

Test(arbiter, an_answer_that_came_too_late_to_compare_anything_is_asked_for_anew)
{
    open_arbiter(1, 1000);
    player liar = differ(1, 10, 20, 200);
    for (ls_tick tick = 1001; tick <= 1500; tick++) {
        ls_hash_record_add(&record, tick, server_hash(tick));
    }
    cr_assert_not(answer(&liar, asked.first, asked.count, true));
    cr_assert_not(is_contradiction);
    simulate_to(&liar, 1400);
    asked = compare(0, &liar);
    cr_assert(asked.is_asked);
    cr_assert(answer(&liar, asked.first, asked.count, true));
    cr_assert_eq(slot_0->bad_tick, 1500 - LS_WINDOW_TICKS + 1);
}

/* ---- the final state ---- */

Test(arbiter, a_final_hash_that_differs_is_a_difference_at_that_tick)
{
    open_arbiter(10, 100);
    player good = make_player(10, UINT32_MAX);
    simulate_to(&good, 100);
    compare(0, &good);
    cr_assert_not(ls_arbiter_compare_hash(&arbiter, 0, 105, 7, 7));
    cr_assert(ls_arbiter_compare_hash(&arbiter, 0, 105, 7, 8));
    cr_assert_eq(slot_0->agreement, LS_AGREEMENT_DIFFERS);
    cr_assert_eq(slot_0->bad_tick, 105);
    cr_assert(slot_0->server_hash == 7 && slot_0->client_hash == 8);
    cr_assert_not(ls_arbiter_compare_hash(&arbiter, 0, 105, 7, 9), "once is enough");
}

Test(arbiter, a_final_hash_adds_nothing_to_an_open_question)
{
    differ_from_20();
    cr_assert_not(ls_arbiter_compare_hash(&arbiter, 0, 100, 7, 8));
    cr_assert_eq(slot_0->agreement, LS_AGREEMENT_ASKING);
}

/* ---- healing ---- */

Test(arbiter, a_healed_slot_goes_on_with_the_servers_chain)
{
    player bad = differ_from_20();
    cr_assert(answer(&bad, asked.first, asked.count, true));
    cr_assert_not(compare(0, &bad).is_asked, "what differs is not compared");
    player healed = make_player(1, UINT32_MAX);
    healed.tick = 40;
    cr_assert(ls_hash_record_chain(&record, 40, &healed.chain));
    ls_arbiter_heal(&arbiter, 0, 40);
    simulate_to(&healed, 70);
    cr_assert_not(compare(0, &healed).is_asked);
    cr_assert_eq(slot_0->agreed_tick, 70);
    healed.bad_tick = 80;
    simulate_to(&healed, 90);
    asked = compare(0, &healed);
    cr_assert(asked.is_asked && asked.first == 71, "a healed slot may differ again");
}

Test(arbiter, chains_are_told_of_states_that_are_held_only)
{
    uint64_t chain = 0;
    open_arbiter(4, 8 * LS_WINDOW_TICKS);
    cr_assert(ls_hash_record_chain(&record, 8 * LS_WINDOW_TICKS, &chain));
    cr_assert_not(ls_hash_record_chain(&record, 8 * LS_WINDOW_TICKS + 4, &chain), "yet to come");
    cr_assert_not(ls_hash_record_chain(&record, 8 * LS_WINDOW_TICKS - 1, &chain), "not hashed");
    cr_assert_not(ls_hash_record_chain(&record, 4 * LS_WINDOW_TICKS, &chain), "forgotten");
    cr_assert(ls_hash_record_chain(&record, 4 * LS_WINDOW_TICKS + 4, &chain));
}

Test(arbiter, the_oldest_state_that_is_awaited_is_that_of_the_slowest_player_who_agrees)
{
    arbiter = (ls_arbiter){0};
    ls_root_voters players = {.in_play = ls_slot_set_first(4)};
    cr_expect_eq(ls_arbiter_oldest_agreed(&arbiter, &players), UINT32_MAX);
    for (uint32_t slot = 0; slot < 6; slot++) {
        arbiter.slots[slot] = (ls_arbiter_slot){.has_agreed = true, .agreed_tick = 100 - 10 * slot};
    }
    arbiter.slots[3].agreement = LS_AGREEMENT_DIFFERS;
    arbiter.slots[2].agreement = LS_AGREEMENT_ASKING;
    cr_expect_eq(ls_arbiter_oldest_agreed(&arbiter, &players), 80, "slots 4 and 5 do not play");
    arbiter.slots[2].has_agreed = false;
    cr_expect_eq(ls_arbiter_oldest_agreed(&arbiter, &players), 90);
}
