#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/protocol/sealed/token_gate.h"
#include "lockstep/tests/support/counting_allocator.h"

#include <criterion/criterion.h>
#include <string.h>

typedef struct token_id {
    uint8_t bytes[LS_TOKEN_ID_BYTES];
} token_id;

static token_id id_of(uint32_t home, uint32_t number)
{
    token_id id = {{0}};
    ls_store_u32(id.bytes, home);
    ls_store_u32(id.bytes + 4, number);
    return id;
}

static ls_token_use use(ls_token_ledger *ledger, token_id id, uint64_t expire_s, uint64_t now_s)
{
    return ls_token_ledger_use(ledger, id.bytes, 7, expire_s, now_s);
}

static ls_token_ledger *make_ledger(uint32_t tokens_max)
{
    ls_token_ledger *ledger = NULL;
    cr_assert_eq(ls_token_ledger_create(tokens_max, ls_allocator_heap(), &ledger), LS_OK);
    return ledger;
}

Test(token_ledger, a_token_opens_one_connection_once)
{
    ls_token_ledger *ledger = make_ledger(4);
    const token_id id = id_of(1, 1);
    cr_assert_eq(use(ledger, id, 100, 10), LS_TOKEN_FIRST_USE);
    cr_assert_eq(use(ledger, id, 100, 10), LS_TOKEN_USED_BEFORE);
    cr_assert_eq(use(ledger, id, 100, 99), LS_TOKEN_USED_BEFORE);
    cr_assert_eq(ls_token_ledger_use(ledger, id.bytes, 8, 100, 10), LS_TOKEN_USED_BY_OTHER);
    cr_assert_eq(use(ledger, id_of(1, 2), 100, 10), LS_TOKEN_FIRST_USE);
    cr_assert_eq(ls_token_ledger_count(ledger), 2);
    ls_token_ledger_destroy(ledger);
}

Test(token_ledger, a_token_that_is_given_back_is_as_new)
{
    ls_token_ledger *ledger = make_ledger(4);
    const token_id id = id_of(1, 1);
    ls_token_ledger_give_back(ledger, id.bytes);
    cr_assert_eq(use(ledger, id, 100, 10), LS_TOKEN_FIRST_USE);
    ls_token_ledger_give_back(ledger, id.bytes);
    cr_assert_eq(ls_token_ledger_count(ledger), 0);
    cr_assert_eq(use(ledger, id, 100, 10), LS_TOKEN_FIRST_USE);
    ls_token_ledger_destroy(ledger);
}

/* A token that was noted must be refused until it has expired, whatever else comes. */
Test(token_ledger, a_full_ledger_refuses_and_forgets_nothing)
{
    enum {
        TOKENS = 100
    };
    ls_token_ledger *ledger = make_ledger(TOKENS);
    for (uint32_t i = 0; i < TOKENS; i++) {
        cr_assert_eq(use(ledger, id_of(i * 0x9e3779b9u, i), 50 + i, 10), LS_TOKEN_FIRST_USE);
    }
    const token_id late = id_of(5, 1000);
    cr_assert_eq(use(ledger, late, 500, 10), LS_TOKEN_LEDGER_FULL);
    cr_assert_eq(use(ledger, late, 500, 49), LS_TOKEN_LEDGER_FULL);
    for (uint32_t i = 0; i < TOKENS; i++) {
        cr_assert_eq(use(ledger, id_of(i * 0x9e3779b9u, i), 50 + i, 49), LS_TOKEN_USED_BEFORE);
    }
    cr_assert_eq(use(ledger, late, 500, 50), LS_TOKEN_FIRST_USE);
    cr_assert_eq(ls_token_ledger_count(ledger), TOKENS);
    cr_assert_eq(use(ledger, id_of(6, 1001), 500, 50), LS_TOKEN_LEDGER_FULL);
    ls_token_ledger_destroy(ledger);
}

/* All ids at one home, at the end of the slots: what stands behind moves up and around. */
Test(token_ledger, ids_that_meet_are_kept_apart_when_others_leave)
{
    ls_token_ledger *ledger = make_ledger(8);
    for (uint32_t round = 0; round < 8; round++) {
        for (uint32_t i = 0; i < 8; i++) {
            cr_assert_eq(use(ledger, id_of(14 + i % 3, i), 100, 1), LS_TOKEN_FIRST_USE);
        }
        ls_token_ledger_give_back(ledger, id_of(14 + round % 3, round).bytes);
        for (uint32_t i = 0; i < 8; i++) {
            cr_assert_eq(use(ledger, id_of(14 + i % 3, i), 100, 1),
                         i == round ? LS_TOKEN_FIRST_USE : LS_TOKEN_USED_BEFORE);
        }
        for (uint32_t i = 0; i < 8; i++) {
            ls_token_ledger_give_back(ledger, id_of(14 + i % 3, i).bytes);
        }
        cr_assert_eq(ls_token_ledger_count(ledger), 0);
    }
    ls_token_ledger_destroy(ledger);
}

/* Against a list of all tokens that there ever were. */
Test(token_ledger, agrees_with_a_plain_list_in_a_long_run)
{
    enum {
        STEPS = 20000,
        MAX = 64
    };
    static uint64_t expires[STEPS];
    ls_rng rng = ls_rng_make(1, 1);
    ls_token_ledger *ledger = make_ledger(MAX);
    uint32_t full = 0, fresh = 0;
    for (uint32_t step = 0; step < STEPS; step++) {
        uint64_t now_s = step / 8;
        uint32_t number = step - (step < 64 ? 0 : ls_rng_below(&rng, 64));
        uint64_t expire_s = now_s + 1 + ls_rng_below(&rng, 12);
        if (expires[number] != 0 && expires[number] <= now_s) {
            continue; /* its seal is not looked at any more */
        }
        ls_token_use got = use(ledger, id_of(number % 5 + 125, number), expire_s, now_s);
        if (expires[number] != 0) {
            cr_assert_eq(got, LS_TOKEN_USED_BEFORE);
        } else if (got == LS_TOKEN_FIRST_USE) {
            expires[number] = expire_s;
            fresh++;
        } else if (got == LS_TOKEN_LEDGER_FULL) {
            full++;
        }
        cr_assert_leq(ls_token_ledger_count(ledger), MAX);
    }
    cr_assert_gt(fresh, STEPS / 8);
    cr_assert_lt(full, STEPS / 8);
    ls_token_ledger_destroy(ledger);
}

Test(token_ledger, takes_no_memory_after_create)
{
    uint64_t before = 0;
    ls_token_ledger *ledger = make_ledger(32);
    before = heap_calls();
    for (uint32_t i = 0; i < 1000; i++) {
        (void)use(ledger, id_of(i, i), i + 5, i);
    }
    cr_assert_eq(heap_calls(), before);
    ls_token_ledger_destroy(ledger);
    ls_token_ledger_destroy(NULL);
}

Test(token_ledger, a_capacity_out_of_range_is_refused)
{
    ls_token_ledger *ledger = NULL;
    cr_assert_eq(ls_token_ledger_create(0, ls_allocator_heap(), &ledger), LS_BAD_ARGUMENT);
    cr_assert_eq(
        ls_token_ledger_create(LS_TOKEN_LEDGER_TOKENS_MAX + 1, ls_allocator_heap(), &ledger),
        LS_BAD_ARGUMENT);
    cr_assert_null(ledger);
}
