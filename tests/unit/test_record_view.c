#define _XOPEN_SOURCE 700
#include "lockstep/common/base/hash.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/tests/lab/bench/journal_maker.h"
#include "lockstep/tools/replay/record_view.h"
#include "lockstep/tools/replay/verification.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- verification ---- */

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

/* ---- record_view ---- */

enum {
    RECORD_VIEW_TICKS = 240,
    RECORD_VIEW_SNAPSHOT_TICKS = 60,
    SHAPES_MAX = 4096,
};

static char path[] = "/tmp/lockstep-record-view-XXXXXX";
static replay_playback record_view_playback;
static replay_record_view *record;
static ls_view_source source;
static ls_text record_view_why;
static uint64_t now_ns;
static uint64_t look_ns; /* how far the clock goes on at each look */

static uint64_t tick_clock(void *user)
{
    (void)user;
    now_ns += look_ns;
    return now_ns;
}

static void open_record_of(const char *simulation, ls_tick gap_first, ls_tick gap_end)
{
    bench_journal_maker_config config =
        bench_journal_maker_config_default(ls_builtin_simulation_named(simulation));
    config.ticks = RECORD_VIEW_TICKS;
    config.snapshot_ticks = RECORD_VIEW_SNAPSHOT_TICKS;
    config.gap_first = gap_first;
    config.gap_end = gap_end;
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    close(file);
    cr_assert_eq(bench_journal_make(&config, path, &record_view_why), LS_OK, "%s",
                 record_view_why.bytes);
    cr_assert_eq(
        replay_playback_open(path, LS_JOURNAL_TRUST_INDEX, &record_view_playback, &record_view_why),
        LS_OK, "%s", record_view_why.bytes);
    unlink(path);
    cr_assert_eq(replay_playback_load(&record_view_playback, NULL, NULL, &record_view_why), LS_OK,
                 "%s", record_view_why.bytes);
    replay_record_view_config view = {
        .playback = &record_view_playback, .clock = {tick_clock, NULL}, .budget_ns = 10};
    cr_assert_eq(replay_record_view_create(&view, ls_allocator_heap(), &record, &record_view_why),
                 LS_OK);
    source = replay_record_view_source(record);
    look_ns = 0;
}

static void open_record(ls_tick gap_first, ls_tick gap_end)
{
    open_record_of("spring", gap_first, gap_end);
}

static void close_record(void)
{
    replay_record_view_destroy(record);
    replay_playback_close(&record_view_playback);
}

TestSuite(record_view, .fini = close_record);

static ls_hud_model hud(void)
{
    static ls_hud_model told;
    told = (ls_hud_model){0};
    source.fill_hud(source.user, &told);
    return told;
}

/* The picture, as a number: of each shape what comes before the padding and the pointers. */
static uint64_t picture(ls_fixed alpha)
{
    static ls_draw_shape shapes[SHAPES_MAX];
    const size_t told = offsetof(ls_draw_shape, rows) + sizeof shapes[0].rows;
    uint64_t sum = 0;
    ls_draw_list list = {.shapes = shapes, .capacity = SHAPES_MAX};
    source.draw(source.user, alpha, &list);
    cr_assert_gt(list.count, 0);
    for (uint32_t i = 0; i < list.count; i++) {
        sum = ls_hash_bytes(&shapes[i], told, sum);
    }
    return sum;
}

Test(record_view, tells_what_there_is_and_that_it_is_as_recorded)
{
    open_record(0, 0);
    source.go_to(source.user, 77, NULL);
    ls_hud_model told = hud();
    cr_expect_eq(told.first_tick, 0);
    cr_expect_eq(told.last_tick, RECORD_VIEW_TICKS);
    cr_expect_eq(told.tick, 77);
    cr_expect_eq(told.tick_rate_hz, 60);
    cr_expect(!told.is_on_its_way);
    cr_expect_str_empty(told.banner.bytes);
    cr_expect_not_null(strstr(told.lines[2], "as recorded"), "%s", told.lines[2]);
    cr_expect_eq(replay_record_view_differences(record), 0);
}

Test(record_view, a_tick_looks_the_same_from_wherever_it_is_reached)
{
    open_record(0, 0);
    source.go_to(source.user, 99, NULL);
    source.go_to(source.user, 100, NULL);
    uint64_t between = picture(LS_FIXED_HALF);
    uint64_t whole = picture(LS_FIXED_ONE);
    cr_expect_neq(between, whole, "it moves");
    const ls_tick from[] = {0, 101, 180, RECORD_VIEW_TICKS, 99, 59, 60, 61};
    for (size_t i = 0; i < sizeof from / sizeof from[0]; i++) {
        source.go_to(source.user, from[i], NULL);
        cr_expect_neq(picture(LS_FIXED_ONE), whole);
        source.go_to(source.user, 100, NULL);
        cr_expect_eq(hud().tick, 100);
        cr_expect_eq(picture(LS_FIXED_HALF), between, "from %u", from[i]);
        cr_expect_eq(picture(LS_FIXED_ONE), whole, "from %u", from[i]);
    }
}

Test(record_view, a_tick_with_a_snapshot_is_blended_with_the_one_before)
{
    open_record(0, 0);
    for (ls_tick tick = 58; tick <= RECORD_VIEW_SNAPSHOT_TICKS; tick++) {
        source.go_to(source.user, tick, NULL);
    }
    uint64_t between = picture(LS_FIXED_HALF);
    source.go_to(source.user, 0, NULL);
    source.go_to(source.user, RECORD_VIEW_SNAPSHOT_TICKS, NULL);
    cr_expect_eq(picture(LS_FIXED_HALF), between);
}

Test(record_view, the_first_tick_has_none_before_it)
{
    open_record(0, 0);
    source.go_to(source.user, 5, NULL);
    source.go_to(source.user, 0, NULL);
    cr_expect_eq(hud().tick, 0);
    cr_expect_eq(picture(LS_FIXED_HALF), picture(LS_FIXED_ONE));
}

Test(record_view, a_far_tick_takes_several_frames)
{
    open_record(0, 0);
    source.go_to(source.user, 60, NULL);
    look_ns = 1; /* ten steps a frame, the look before the first one not counted */
    uint32_t frames = 0;
    do {
        ls_tick before = hud().tick;
        source.go_to(source.user, 119, NULL);
        frames++;
        cr_assert_leq(hud().tick - before, 10);
        cr_assert_gt(hud().tick, before);
        cr_assert_eq(hud().is_on_its_way, hud().tick < 119);
    } while (hud().is_on_its_way);
    cr_expect_eq(frames, 6);
    uint64_t between = picture(LS_FIXED_HALF);
    look_ns = 0;
    source.go_to(source.user, 118, NULL);
    source.go_to(source.user, 119, NULL);
    cr_expect_eq(picture(LS_FIXED_HALF), between);
}

Test(record_view, a_frame_makes_a_step_however_slow_it_is)
{
    open_record(0, 0);
    look_ns = 1000;
    for (ls_tick tick = 1; tick <= 3; tick++) {
        source.go_to(source.user, 3, NULL);
        cr_expect_eq(hud().tick, tick);
    }
    cr_expect(!hud().is_on_its_way);
}

Test(record_view, missing_ticks_are_told_and_what_follows_is_shown)
{
    open_record(100, 120);
    source.go_to(source.user, 100, NULL);
    cr_expect_str_empty(hud().banner.bytes);
    source.go_to(source.user, 110, NULL);
    cr_expect_eq(hud().tick, 100);
    cr_expect(hud().is_alarm);
    cr_expect_not_null(strstr(hud().banner.bytes, "lacks ticks from 100 on"));
    cr_expect(!hud().is_on_its_way, "nothing is coming");
    source.go_to(source.user, 119, NULL);
    cr_expect_eq(hud().tick, 100);
    source.go_to(source.user, 130, NULL);
    cr_expect_eq(hud().tick, 130);
    cr_expect_str_empty(hud().banner.bytes);
    cr_expect_not_null(strstr(hud().lines[2], "as recorded"));
}

Test(record_view, a_snapshot_behind_missing_ticks_is_shown_unblended)
{
    open_record(100, 120); /* nothing leads to state 119 */
    source.go_to(source.user, 120, NULL);
    cr_expect_eq(hud().tick, 120);
    cr_expect_str_empty(hud().banner.bytes);
    cr_expect_eq(picture(LS_FIXED_HALF), picture(LS_FIXED_ONE));
}

Test(record_view, a_state_that_is_not_the_recorded_one_raises_an_alarm)
{
    open_record(0, 0);
    source.go_to(source.user, 10, NULL);
    uint8_t *state = ls_sim_instance_state(record_view_playback.instance);
    state[0] ^= 1;
    source.go_to(source.user, 11, NULL);
    cr_expect(hud().is_alarm);
    cr_expect_not_null(strstr(hud().banner.bytes, "not the one that was recorded"));
    cr_expect_eq(replay_record_view_differences(record), 1);
}

/* ---- sounds ---- */

static void count_cue(void *user, const ls_sound *sound)
{
    uint32_t *count = user;
    cr_expect_eq(sound->kind, LS_SOUND_CUE);
    ++*count;
}

Test(record_view, ticks_that_are_played_are_heard_alike_each_time)
{
    uint32_t heard[3] = {0};
    open_record_of("arena", 0, 0);
    for (uint32_t time = 0; time < 2; time++) {
        const ls_view_ear ear = {count_cue, &heard[time]};
        source.go_to(source.user, 0, NULL);
        for (ls_tick tick = 1; tick <= RECORD_VIEW_TICKS;
             tick += 1 + time) { /* one a frame, then two */
            source.go_to(source.user, tick, &ear);
        }
        source.go_to(source.user, RECORD_VIEW_TICKS, &ear);
    }
    cr_expect_gt(heard[0], 10);
    cr_expect_eq(heard[1], heard[0]);
}

Test(record_view, the_way_to_a_tick_that_is_far_is_silent)
{
    uint32_t heard = 0;
    const ls_view_ear ear = {count_cue, &heard};
    open_record_of("arena", 0, 0);
    source.go_to(source.user, RECORD_VIEW_TICKS, &ear);
    source.go_to(source.user, 10, &ear);
    cr_expect_eq(heard, 0);
}
