#include "lockstep/common/base/log.h"

#include <criterion/criterion.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

static uint32_t lines;
static char newest[256];

static void count_line(void *user, ls_log_level level, const char *line)
{
    (void)user;
    (void)level;
    lines++;
    strncpy(newest, line, sizeof newest - 1);
}

/* A peer has its say so many times at once; returns the lines that came of it. */
static uint32_t say(ls_log_budget *budget, uint32_t times, uint64_t now_ns)
{
    ls_log log = {.level = LS_LOG_INFO, .write = count_line};
    lines = 0;
    for (uint32_t i = 0; i < times; i++) {
        ls_log before = ls_log_budget_begin(budget, &log, now_ns);
        ls_log_line(&log, LS_LOG_INFO, "it differs");
        log = before;
    }
    return lines;
}

Test(log_budget, so_many_events_are_shown_at_once_and_two_a_second_after_that)
{
    ls_log_budget budget = {0};
    uint64_t now_ns = 100 * SECOND;
    cr_assert_eq(say(&budget, 20000, now_ns), LS_LOG_BUDGET_EVENTS);
    uint32_t shown = 0;
    for (uint32_t i = 1; i <= 100; i++) {
        shown += say(&budget, 200, now_ns + i * SECOND / 10);
    }
    cr_assert(shown >= 36 && shown <= 40, "20 in 10 s, each behind a line that counts: %u", shown);
}

Test(log_budget, the_next_one_that_is_shown_says_how_many_were_not)
{
    ls_log_budget budget = {0};
    say(&budget, LS_LOG_BUDGET_EVENTS + 7, SECOND);
    ls_log log = {.level = LS_LOG_INFO, .write = count_line};
    ls_log_budget_begin(&budget, &log, 2 * SECOND);
    cr_assert_not_null(strstr(newest, "7 events"), "%s", newest);
    cr_assert_eq(say(&budget, 1, 2 * SECOND), 1);
}

Test(log_budget, who_says_little_is_never_cut_short)
{
    ls_log_budget budget = {0};
    for (uint32_t i = 0; i < 1000; i++) {
        cr_assert_eq(say(&budget, 1, i * SECOND / 2), 1);
    }
}
