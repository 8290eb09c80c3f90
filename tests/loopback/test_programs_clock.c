#define _GNU_SOURCE
#include "lockstep/tests/loopback/hosted.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

static void open_on_stepping_clock(void)
{
    hosted_open();
    hosted.preload = LS_TEST_STEPPING_CLOCK;
}

TestSuite(programs_clock, .init = open_on_stepping_clock, .fini = hosted_close);

enum {
    WATCH_MS = 1100,
    HOUR_MS = 3600 * 1000,
};

typedef int time_function(struct timeval *restrict now, void *restrict zone);

static int64_t wall_ms(time_function *read_wall)
{
    struct timeval now;
    cr_assert_eq(read_wall(&now, NULL), 0);
    return (int64_t)now.tv_sec * 1000 + now.tv_usec / 1000;
}

/* Of the helper itself: steps that did not happen would prove nothing. */
Test(programs_clock, the_clock_of_these_tests_steps_by_hours)
{
    void *library = dlopen(LS_TEST_STEPPING_CLOCK, RTLD_NOW | RTLD_LOCAL);
    cr_assert_not_null(library, "%s", dlerror());
    void *symbol = dlsym(library, "gettimeofday");
    time_function *read_wall = NULL;
    memcpy(&read_wall, &symbol, sizeof read_wall);
    cr_assert_not_null(read_wall);
    uint32_t steps = 0;
    uint64_t end_ms = ls_process_now_ms() + WATCH_MS;
    int64_t before_ms = wall_ms(read_wall);
    while (ls_process_now_ms() < end_ms || steps == 0) {
        int64_t now_ms = wall_ms(read_wall);
        int64_t step_ms = now_ms - before_ms;
        steps += step_ms > HOUR_MS / 2 || step_ms < -HOUR_MS / 2 ? 1 : 0;
        before_ms = now_ms;
        ls_process_pause();
    }
    dlclose(library);
}

static void expect_loaded(const ls_process *process)
{
    char line[512];
    bool is_loaded = false;
    FILE *maps = fopen(hosted_text("/proc/%d/maps", (int)process->pid), "r");
    cr_assert_not_null(maps);
    while (fgets(line, sizeof line, maps)) {
        is_loaded = is_loaded || strstr(line, LS_TEST_STEPPING_CLOCK);
    }
    fclose(maps);
    cr_assert(is_loaded, "%s is not loaded", LS_TEST_STEPPING_CLOCK);
}

static void play(const char *late_rule)
{
    hosted_serve(ARENA("2", "300"), "--late", late_rule);
    expect_loaded(&hosted.server);
    hosted_join_bots(2);
    hosted_expect_words(&hosted.clients[0], "the match starts");
    expect_loaded(&hosted.clients[0]);
    hosted_expect_perfect(300); /* five seconds: nine steps or more */
    /* A wait of hours would have dropped a player; a short one a busy machine may have. */
    hosted_expect_none(&hosted.server, "left at tick");
}

Test(programs_clock, a_wall_clock_that_steps_by_hours_makes_nobody_wait_for_long)
{
    play("wait");
}

Test(programs_clock, a_wall_clock_that_steps_by_hours_drops_nobody)
{
    play("repeat");
}
