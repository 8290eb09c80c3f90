#include "lockstep/server/match/arbiter.h"

#include <criterion/criterion.h>

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
