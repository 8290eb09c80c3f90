#include "lockstep/common/maths/rng.h"
#include "lockstep/common/time/time_queue.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdbool.h>

enum {
    CAPACITY = 300
};

static ls_time_queue_entry entries[CAPACITY];

static ls_time_queue make_queue(void)
{
    ls_time_queue queue;
    ls_time_queue_init(&queue, entries, CAPACITY);
    return queue;
}

Test(time_queue, an_empty_queue_is_due_never)
{
    ls_time_queue queue = make_queue();
    cr_assert_eq(queue.count, 0);
    cr_assert_eq(ls_time_queue_next_ns(&queue), UINT64_MAX);
}

Test(time_queue, gives_out_in_the_order_of_the_moments)
{
    static const uint64_t moments[] = {50, 10, UINT64_MAX, 0, 30, 20, 40};
    static const uint32_t order[] = {3, 1, 5, 4, 6, 0, 2};
    ls_time_queue queue = make_queue();
    for (uint32_t i = 0; i < 7; i++) {
        cr_assert_eq(ls_time_queue_add(&queue, moments[i]), i);
    }
    for (uint32_t i = 0; i < 7; i++) {
        cr_assert_eq(ls_time_queue_next_ns(&queue), moments[order[i]]);
        ls_time_queue_entry taken = ls_time_queue_pop(&queue);
        cr_assert_eq(taken.item, order[i]);
        cr_assert_eq(taken.due_ns, moments[order[i]]);
    }
    cr_assert_eq(queue.count, 0);
}

Test(time_queue, the_same_moment_keeps_the_order_of_adding)
{
    ls_time_queue queue = make_queue();
    for (uint32_t i = 0; i < CAPACITY; i++) {
        cr_assert_eq(ls_time_queue_add(&queue, i % 3), i);
    }
    for (uint32_t moment = 0; moment < 3; moment++) {
        for (uint32_t i = moment; i < CAPACITY; i += 3) {
            cr_assert_eq(ls_time_queue_pop(&queue).item, i);
        }
    }
}

/* Held against the plainest queue there is: search for the least, first come first. */
Test(time_queue, adding_and_taking_in_any_order_equals_a_search)
{
    ls_rng rng = ls_rng_make(7, 0);
    ls_time_queue queue = make_queue();
    static uint64_t moments[20000];
    static uint32_t numbers[CAPACITY]; /* by item: which of the moments it waits for */
    uint32_t added = 0, taken = 0, fullest = 0;
    while (taken < 10000) {
        bool adds = queue.count == 0 || (queue.count < CAPACITY && ls_rng_below(&rng, 100) < 51);
        if (adds) {
            moments[added] = ls_rng_below(&rng, 1000);
            uint32_t item = ls_time_queue_add(&queue, moments[added]);
            numbers[item] = added++;
            fullest = queue.count > fullest ? queue.count : fullest;
            continue;
        }
        uint32_t least = 0;
        while (moments[least] == UINT64_MAX) {
            least++;
        }
        for (uint32_t i = least; i < added; i++) {
            least = moments[i] < moments[least] ? i : least;
        }
        ls_time_queue_entry entry = ls_time_queue_pop(&queue);
        cr_assert_eq(numbers[entry.item], least);
        cr_assert_eq(entry.due_ns, moments[least]);
        moments[least] = UINT64_MAX; /* taken */
        taken++;
    }
    cr_assert_eq(fullest, CAPACITY);
}

Test(time_queue, no_item_waits_twice_and_one_that_is_taken_is_the_next)
{
    ls_rng rng = ls_rng_make(8, 0);
    ls_time_queue queue = make_queue();
    bool waits[CAPACITY] = {false};
    for (uint32_t i = 0; i < 10000; i++) {
        while (queue.count < CAPACITY) {
            uint32_t item = ls_time_queue_add(&queue, ls_rng_below(&rng, 1000));
            cr_assert_not(waits[item]);
            waits[item] = true;
        }
        uint32_t taken = ls_time_queue_pop(&queue).item;
        cr_assert_eq(ls_time_queue_add(&queue, 0), taken);
        ls_time_queue_pop(&queue);
        waits[taken] = false;
    }
    ls_time_queue_clear(&queue);
    cr_assert_eq(queue.count, 0);
    cr_assert_eq(ls_time_queue_add(&queue, 0), 0);
}

Test(time_queue, adding_beyond_its_room_is_a_programmers_mistake, .signal = SIGABRT)
{
    ls_time_queue queue = make_queue();
    for (uint32_t i = 0; i <= CAPACITY; i++) {
        ls_time_queue_add(&queue, i);
    }
}

Test(time_queue, taking_from_an_empty_one_is_a_programmers_mistake, .signal = SIGABRT)
{
    ls_time_queue queue = make_queue();
    ls_time_queue_pop(&queue);
}
