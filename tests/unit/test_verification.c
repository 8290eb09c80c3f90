#define _XOPEN_SOURCE 700
#include "lockstep/tools/replay/verification.h"

#include "lockstep/common/simulations/builtin.h"
#include "lockstep/tests/lab/bench/journal_maker.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TICKS = 240,
    SNAPSHOT_TICKS = 60,
};

static replay_playback playback;
static replay_verification work;
static ls_text why;
static uint32_t lines;

static void count_line(void *user, ls_log_level level, const char *line)
{
    (void)user;
    (void)level;
    (void)line;
    lines++;
}

static const ls_log counting = {LS_LOG_INFO, count_line, NULL};

/* A recorded match that lacks the ticks of a gap, at its first tick. */
static void begin(ls_tick gap_first, ls_tick gap_end)
{
    char path[] = "/tmp/lockstep-verification-XXXXXX";
    bench_journal_maker_config config =
        bench_journal_maker_config_default(ls_builtin_simulation_named("spring"));
    config.ticks = TICKS;
    config.snapshot_ticks = SNAPSHOT_TICKS;
    config.gap_first = gap_first;
    config.gap_end = gap_end;
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    close(file);
    cr_assert_eq(bench_journal_make(&config, path, &why), LS_OK, "%s", why.bytes);
    cr_assert_eq(replay_playback_open(path, LS_JOURNAL_CHECK_ALL, &playback, &why), LS_OK);
    unlink(path);
    cr_assert_eq(replay_playback_load(&playback, NULL, NULL, &why), LS_OK, "%s", why.bytes);
    lines = 0;
    cr_assert_eq(replay_verification_begin(&playback, &counting, &work, &why), LS_OK);
}

static void end(void)
{
    replay_playback_close(&playback);
}

TestSuite(verification, .fini = end);

static ls_status go_to_end(uint32_t part_ticks, uint32_t *parts)
{
    ls_status status = LS_OK;
    for (*parts = 0; status == LS_OK && !work.is_done; ++*parts) {
        status = replay_verification_go_on(&work, part_ticks, &why);
    }
    return status;
}

Test(verification, a_match_is_compared_whole_in_parts_of_any_size)
{
    const uint32_t sizes[] = {1, 7, TICKS, TICKS + 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint32_t parts = 0;
        begin(0, 0);
        cr_expect_eq(go_to_end(sizes[i], &parts), LS_OK, "%s", why.bytes);
        cr_expect_eq(parts, sizes[i] > TICKS ? 1 : TICKS / sizes[i] + 1);
        cr_expect_eq(work.ticks, TICKS);
        cr_expect_eq(work.ticks_skipped, 0);
        cr_expect_geq(work.state_hashes, TICKS + 1);
        cr_expect_gt(work.chains, 0);
        cr_expect_eq(replay_verification_judge(&work, &why), LS_OK);
        end();
    }
}

Test(verification, the_first_state_that_differs_is_named)
{
    begin(0, 0);
    cr_assert_eq(replay_verification_go_on(&work, 30, &why), LS_OK);
    uint8_t *state = ls_sim_instance_state(playback.instance);
    state[0] ^= 1;
    uint32_t parts = 0;
    cr_expect_eq(go_to_end(7, &parts), LS_DESYNCED);
    cr_expect_eq(work.differing_tick, 31);
    cr_expect_neq(work.here, work.recorded);
    cr_expect_eq(work.ticks, 31);
    cr_expect(!work.is_done);
}

Test(verification, ticks_that_are_missing_are_told_and_judged)
{
    uint32_t parts = 0;
    begin(100, 120);
    cr_expect_eq(go_to_end(7, &parts), LS_OK, "%s", why.bytes);
    cr_expect_eq(lines, 1);
    cr_expect_eq(work.ticks_skipped, 20);
    cr_expect_eq(work.ticks, TICKS - 20);
    cr_expect_eq(replay_verification_judge(&work, &why), LS_MALFORMED);
    cr_expect_not_null(strstr(why.bytes, "ticks are missing, from 100 on"), "%s", why.bytes);
}
