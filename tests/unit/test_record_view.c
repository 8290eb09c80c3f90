/* Journals that are verified and viewed, and files that version 0.1.0 wrote. */
#define _XOPEN_SOURCE 700
#include "lockstep/common/base/hash.h"
#include "lockstep/common/journal/desync_bundle.h"
#include "lockstep/common/journal/journal.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/common/system/file.h"
#include "lockstep/tests/lab/bench/journal_maker.h"
#include "lockstep/tools/replay/playback.h"
#include "lockstep/tools/replay/record_view.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ==== old_records ==== */

/* Files that version 0.1.0 wrote stay readable: tests/samples holds three journals and a bundle,
 * and these tests compare them with what that version printed. Version 1 of the arena, which two of
 * them and the bundle played, is not played any more. */

typedef struct sample {
    ls_mapped_file file;
    ls_journal *journal;
    ls_sim_instance *instance;
} sample;

static sample here;

static void read_sample(const char *name)
{
    ls_text path = {{0}}, why = {{0}};
    ls_text_set(&path, "%s/%s", LS_TEST_SAMPLES, name);
    cr_assert_eq(ls_mapped_file_open(path.bytes, &here.file, &why), LS_OK, "%s", why.bytes);
}

static const ls_journal_info *open_journal(const char *name, ls_journal_trust trust, ls_text *why)
{
    read_sample(name);
    cr_assert_eq(ls_journal_open(here.file.bytes, here.file.size, trust, ls_allocator_heap(),
                                 &here.journal, why),
                 LS_OK, "%s: %s", name, why->bytes);
    return ls_journal_info_of(here.journal);
}

static void make_instance(const char *simulation)
{
    const ls_journal_header *header = ls_journal_header_of(here.journal);
    cr_assert_str_eq(header->simulation, simulation);
    cr_assert_eq(ls_sim_instance_create(ls_builtin_simulation_named(simulation), &header->config,
                                        ls_allocator_heap(), &here.instance, NULL),
                 LS_OK);
}

static void close_sample(void)
{
    ls_sim_instance_destroy(here.instance);
    ls_journal_close(here.journal);
    ls_mapped_file_close(&here.file);
}

TestSuite(old_records, .fini = close_sample);

static void expect_refused(const char *simulation, const char *reason)
{
    ls_text why = {{0}};
    cr_expect_eq(ls_journal_header_check_simulation(ls_journal_header_of(here.journal),
                                                    ls_builtin_simulation_named(simulation), &why),
                 LS_SIMULATION_VERSION_MISMATCH);
    cr_expect_str_eq(why.bytes, reason);
}

#define OLD_ARENA "the journal is of version 1 of 'arena', here is version 2"

/* Reads every recorded tick. If there is an instance it steps, and each state has to have the hash
 * that stands in the journal. Returns the bytes of all inputs. */
static uint64_t read_ticks(ls_tick first, ls_tick end)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    uint64_t state_hash = 0, input_bytes = 0;
    for (ls_tick tick = first; tick < end; tick++) {
        cr_assert_eq(ls_journal_next_tick(here.journal, slots, &inputs, &state_hash), LS_OK);
        cr_assert_eq(inputs.tick, tick);
        if (here.instance) {
            ls_sim_instance_step(here.instance, &inputs);
            cr_assert_eq(ls_sim_instance_hash(here.instance), state_hash, "after tick %u", tick);
        }
        input_bytes += slots[0].size + slots[1].size;
    }
    cr_assert_eq(ls_journal_next_tick(here.journal, slots, &inputs, &state_hash), LS_NOT_FOUND);
    return input_bytes;
}

static void expect_closed(const ls_journal_info *info, const ls_text *why)
{
    cr_expect_str_empty(why->bytes);
    cr_expect(info->is_complete);
    cr_expect_eq(info->end_tick, 120u);
    cr_expect_eq(info->end.final_tick, 120u);
    cr_expect_eq(info->end.final_hash, UINT64_C(0xd1bda2873a9ce58b));
    cr_expect_eq(info->tick_chain, UINT64_C(0x6a77605c7abbed1e));
}

Test(old_records, closed_journal_is_read_record_by_record)
{
    ls_text why = {{0}};
    const ls_journal_info *info = open_journal("closed.journal", LS_JOURNAL_CHECK_ALL, &why);
    static const uint64_t records[] = {0, 1, 5, 7, 0, 1, 1};
    static const uint64_t stored_bytes[] = {0, 436, 2135, 411, 0, 91, 60};
    expect_closed(info, &why);
    cr_expect_eq(memcmp(info->records, records, sizeof records), 0);
    cr_expect_eq(memcmp(info->stored_bytes, stored_bytes, sizeof stored_bytes), 0);
    cr_expect_eq(ls_journal_header_of(here.journal)->match_id, UINT64_C(0x015c26bd8080a371));
    cr_expect_str_eq(ls_journal_header_of(here.journal)->print.items[LS_PRINT_LOCKSTEP], "0.1.0");
    expect_refused("arena", OLD_ARENA);
    cr_expect_eq(read_ticks(0, 120), 480u);
}

Test(old_records, closed_journal_is_read_by_its_index)
{
    ls_text why = {{0}};
    expect_closed(open_journal("closed.journal", LS_JOURNAL_TRUST_INDEX, &why), &why);
    cr_expect(!ls_journal_info_of(here.journal)->is_counted);
    static const ls_journal_event_kind kinds[] = {LS_JOURNAL_EVENT_SEATED,  LS_JOURNAL_EVENT_SEATED,
                                                  LS_JOURNAL_EVENT_STARTED, LS_JOURNAL_EVENT_DESYNC,
                                                  LS_JOURNAL_EVENT_CAUSE,   LS_JOURNAL_EVENT_HEALED,
                                                  LS_JOURNAL_EVENT_ENDED};
    uint64_t offset = 0;
    ls_journal_event event;
    for (uint32_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        cr_assert_eq(ls_journal_next_event(here.journal, &offset, &event), LS_OK);
        cr_expect_eq(event.kind, kinds[i]);
    }
    cr_expect_eq(ls_journal_next_event(here.journal, &offset, &event), LS_NOT_FOUND);
}

Test(old_records, journal_of_a_crashed_server_is_read_to_its_last_record)
{
    ls_text why = {{0}};
    const ls_journal_info *info = open_journal("unclosed.journal", LS_JOURNAL_CHECK_ALL, &why);
    cr_expect(!info->is_complete);
    cr_expect_eq(info->lost_bytes, 0u);
    cr_expect_eq(info->append_offset, here.file.size);
    cr_expect_eq(info->tick_chain, UINT64_C(0xecc8069416d73af0));
    make_instance("units");
    cr_expect_gt(read_ticks(0, 372), 0u);
}

Test(old_records, cut_journal_has_its_snapshot_and_the_ticks_behind_it)
{
    ls_text why = {{0}};
    expect_closed(open_journal("cut.journal", LS_JOURNAL_CHECK_ALL, &why), &why);
    ls_journal_snapshot snapshot;
    static uint8_t state[1 << 16];
    cr_assert_eq(ls_journal_find_snapshot(here.journal, 60, &snapshot), LS_OK);
    cr_assert_leq(snapshot.state_bytes, sizeof state);
    cr_assert_eq(ls_journal_read_snapshot(here.journal, &snapshot, state), LS_OK);
    cr_expect_eq(snapshot.tick, 60u);
    cr_expect_eq(ls_hash_bytes(state, snapshot.state_bytes, 0), UINT64_C(0x71feb4810cc07e26));
    cr_expect_gt(read_ticks(60, 120), 0u);
    expect_refused("arena", OLD_ARENA);
}

Test(old_records, bundle_has_its_verdict_values_and_ticks)
{
    ls_text why = {{0}};
    ls_bundle_reading *reading = NULL;
    read_sample("desync.bundle");
    cr_assert_eq(ls_bundle_reading_open(here.file.bytes, here.file.size, ls_allocator_heap(),
                                        &reading, &why),
                 LS_OK, "%s", why.bytes);
    cr_expect_str_empty(why.bytes);
    const ls_desync_bundle *bundle = ls_bundle_reading_bundle(reading);
    cr_expect_str_eq(bundle->player, "two");
    cr_expect_eq(bundle->tick, 60u);
    cr_expect_eq(bundle->server_hash, UINT64_C(0x84b12113368b2c02));
    cr_expect_eq(bundle->client_hash, UINT64_C(0x1cfc75479fd325ce));
    cr_expect_eq(bundle->verdict.kind, LS_DESYNC_CLASS_ONE_OFF);
    cr_expect_eq(bundle->verdict.culprit, LS_DESYNC_CULPRIT_CLIENT);
    cr_expect_str_eq(bundle->passes[8], "spawn");
    cr_expect_eq(bundle->server.passes.state_hashes[6], UINT64_C(0x84b12113368b2c02));
    size_t differing = 0;
    for (size_t i = 0; i < bundle->state_bytes; i++) {
        differing += bundle->server.state[i] != bundle->client.state[i];
    }
    cr_expect_eq(differing, 1u);
    ls_replay_stretch stretch;
    cr_assert_eq(ls_bundle_reading_stretch(reading, &stretch), LS_OK);
    cr_expect_eq(stretch.last - stretch.first, 60u);
    ls_bundle_reading_close(reading);
}

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
