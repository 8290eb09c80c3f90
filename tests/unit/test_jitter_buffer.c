/* Ticks that are held back until they are due: moments, sounds and confirmed ticks. */
#include "lockstep/client/session/confirmed_ticks.h"
#include "lockstep/client/session/jitter_buffer.h"
#include "lockstep/client/session/prediction.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/tests/support/counting_allocator.h"

#include <criterion/criterion.h>
#include <string.h>

/* ==== jitter_buffer ==== */

#define DT_NS (LS_NS_PER_SECOND / 60)
#define MS LS_NS_PER_MS
#define SPEED_MAX_PPM 50000

/* ---- a client that steps what arrives ---- */

enum {
    ARRIVALS_MAX = 40000,
    WARM_TICKS = 600,
};

/* Tick t comes `arrival_ns[t]` on the server's clock, in order of ticks; the client's runs faster
 * by `drift_ppm`, and draws frames a `frame_ns` apart. */
typedef struct scene {
    uint32_t ticks;
    uint64_t frame_ns;
    int32_t drift_ppm;
    uint64_t arrival_ns[ARRIVALS_MAX];
} scene;

typedef struct outcome {
    uint32_t stalled;    /* ticks after the warm ones */
    uint64_t longest_ns; /* from a tick's arrival to its step */
    uint64_t shortest_ns;
    uint64_t delay_ns; /* as reported, while ticks came */
    uint32_t caught_up;
    int32_t fastest_ppm;
    int32_t slowest_ppm;
    uint32_t most_backlog;
} outcome;

static scene *even_scene(uint32_t ticks, uint64_t frame_ns)
{
    static scene even;
    even = (scene){.ticks = ticks, .frame_ns = frame_ns};
    for (uint32_t tick = 0; tick < ticks; tick++) {
        even.arrival_ns[tick] = LS_NS_PER_SECOND + tick * DT_NS;
    }
    return &even;
}

/* In order: a tick before which another is missing waits for it. */
static void delay_by(scene *played, uint32_t tick, uint64_t ns)
{
    uint64_t before_ns = tick > 0 ? played->arrival_ns[tick - 1] : 0;
    uint64_t at_ns = played->arrival_ns[tick] + ns;
    played->arrival_ns[tick] = at_ns > before_ns ? at_ns : before_ns;
}

static uint64_t local_ns(const scene *played, uint64_t ns)
{
    return (uint64_t)((int64_t)ns + (int64_t)(ns / 1000) * played->drift_ppm / 1000);
}

static void note_step(outcome *seen, const scene *played, uint32_t tick, uint64_t now_ns)
{
    uint64_t waited_ns = now_ns - local_ns(played, played->arrival_ns[tick]);
    if (tick >= WARM_TICKS) {
        seen->longest_ns = waited_ns > seen->longest_ns ? waited_ns : seen->longest_ns;
        seen->shortest_ns = waited_ns < seen->shortest_ns ? waited_ns : seen->shortest_ns;
    }
}

static outcome play(const scene *played)
{
    outcome seen = {.shortest_ns = UINT64_MAX};
    ls_jitter_buffer jitter_buffer;
    ls_jitter_buffer_init(&jitter_buffer, DT_NS);
    uint32_t arrived = 0;
    uint32_t stepped = 0;
    uint64_t position_ns = 0;
    uint64_t frame_ns = LS_NS_PER_SECOND + 3 * MS;
    for (; stepped < played->ticks; frame_ns += played->frame_ns) {
        uint64_t now_ns = local_ns(played, frame_ns);
        for (; arrived < played->ticks && played->arrival_ns[arrived] <= frame_ns; arrived++) {
            uint64_t at_ns = local_ns(played, played->arrival_ns[arrived]);
            ls_jitter_buffer_add_arrival(&jitter_buffer, arrived, at_ns);
        }
        if (arrived == 0) {
            continue;
        }
        uint64_t elapsed_ns = now_ns - local_ns(played, frame_ns - played->frame_ns);
        ls_jitter_buffer_frame frame = {now_ns, elapsed_ns, position_ns, arrived - stepped};
        ls_jitter_buffer_plan plan = ls_jitter_buffer_plan_frame(&jitter_buffer, &frame);
        position_ns += plan.play_ns;
        seen.stalled += stepped >= WARM_TICKS && arrived < played->ticks ? plan.stalled_ticks : 0;
        for (; position_ns / DT_NS > stepped; stepped++) {
            cr_assert_lt(stepped, arrived, "a step without its tick");
            note_step(&seen, played, stepped, now_ns);
        }
        frame = (ls_jitter_buffer_frame){now_ns, 0, position_ns, arrived - stepped};
        uint32_t extra = ls_jitter_buffer_catch_up(&jitter_buffer, &frame);
        cr_assert_leq(extra, arrived - stepped);
        seen.caught_up += extra;
        stepped += extra;
        position_ns += extra * DT_NS;
        int32_t speed_ppm = jitter_buffer.speed_ppm;
        seen.fastest_ppm = speed_ppm > seen.fastest_ppm ? speed_ppm : seen.fastest_ppm;
        seen.slowest_ppm = speed_ppm < seen.slowest_ppm ? speed_ppm : seen.slowest_ppm;
        seen.delay_ns =
            arrived < played->ticks ? ls_jitter_buffer_delay_ns(&jitter_buffer) : seen.delay_ns;
        bool is_warm = stepped >= WARM_TICKS;
        uint32_t backlog = arrived - stepped;
        seen.most_backlog = is_warm && backlog > seen.most_backlog ? backlog : seen.most_backlog;
    }
    cr_assert_leq(seen.fastest_ppm, SPEED_MAX_PPM);
    cr_assert_geq(seen.slowest_ppm, -SPEED_MAX_PPM);
    return seen;
}

/* ---- arrivals of all kinds ---- */

Test(jitter_buffer, punctual_ticks_are_stepped_within_a_frame_and_two_milliseconds)
{
    static const uint32_t frame_rates_hz[] = {30, 59, 60, 61, 75, 144, 240, 1000};
    for (size_t i = 0; i < sizeof frame_rates_hz / sizeof frame_rates_hz[0]; i++) {
        uint64_t frame_ns = LS_NS_PER_SECOND / frame_rates_hz[i];
        outcome seen = play(even_scene(6000, frame_ns));
        cr_assert_leq(seen.longest_ns, frame_ns + 2 * MS, "%u fps: %lu us", frame_rates_hz[i],
                      (unsigned long)(seen.longest_ns / 1000));
        cr_assert_eq(seen.stalled, 0, "%u fps: %u", frame_rates_hz[i], seen.stalled);
        cr_assert_leq(seen.delay_ns, 2 * MS, "%u fps: %lu us", frame_rates_hz[i],
                      (unsigned long)(seen.delay_ns / 1000));
    }
}

Test(jitter_buffer, jitter_costs_its_width_and_fewer_stalls_than_one_tick_in_a_hundred)
{
    static const uint64_t widths_ms[] = {2, 10, 30, 80};
    for (size_t i = 0; i < sizeof widths_ms / sizeof widths_ms[0]; i++) {
        ls_rng rng = ls_rng_make(i, 1);
        uint64_t width_ns = widths_ms[i] * MS;
        scene *played = even_scene(12000, LS_NS_PER_SECOND / 144);
        for (uint32_t tick = 0; tick < played->ticks; tick++) {
            delay_by(played, tick, ls_rng_below(&rng, (uint32_t)width_ns));
        }
        outcome seen = play(played);
        cr_assert_lt(seen.stalled, (12000 - WARM_TICKS) / 100, "%lu ms: %u stalls",
                     (unsigned long)widths_ms[i], seen.stalled);
        cr_assert_leq(seen.delay_ns, width_ns + 3 * MS, "%lu ms: buffer of %lu us",
                      (unsigned long)widths_ms[i], (unsigned long)(seen.delay_ns / 1000));
        cr_assert_geq(seen.delay_ns, width_ns * 3 / 4);
        cr_assert_eq(seen.caught_up, 0);
    }
}

Test(jitter_buffer, a_packet_lost_in_twenty_costs_a_tick_and_few_stalls)
{
    ls_rng rng = ls_rng_make(3, 1);
    scene *played = even_scene(12000, LS_NS_PER_SECOND / 60);
    uint64_t arrival_ns = 0;
    for (uint32_t tick = played->ticks; tick-- > 0;) {
        bool is_lost = arrival_ns != 0 && ls_rng_below(&rng, 20) == 0;
        arrival_ns = is_lost ? arrival_ns : played->arrival_ns[tick];
        played->arrival_ns[tick] = arrival_ns;
    }
    outcome seen = play(played);
    cr_assert_lt(seen.stalled, (12000 - WARM_TICKS) / 100, "%u stalls", seen.stalled);
    cr_assert_leq(seen.delay_ns, 2 * DT_NS + 3 * MS);
    cr_assert_geq(seen.delay_ns, DT_NS);
}

Test(jitter_buffer, clocks_that_drift_stall_nothing_and_gather_nothing_in_ten_minutes)
{
    static const int32_t drifts_ppm[] = {-500, 500};
    for (size_t i = 0; i < 2; i++) {
        scene *played = even_scene(36000, LS_NS_PER_SECOND / 60);
        played->drift_ppm = drifts_ppm[i];
        outcome seen = play(played);
        cr_assert_eq(seen.stalled, 0, "%d ppm: %u", drifts_ppm[i], seen.stalled);
        cr_assert_leq(seen.most_backlog, 1);
        cr_assert_leq(seen.longest_ns, played->frame_ns + 7 * MS, "%d ppm: %lu us", drifts_ppm[i],
                      (unsigned long)(seen.longest_ns / 1000));
    }
}

/* ---- what breaks the pace ---- */

Test(jitter_buffer, a_way_that_gets_longer_is_followed_at_five_percent)
{
    scene *played = even_scene(3000, LS_NS_PER_SECOND / 60);
    for (uint32_t tick = 1500; tick < 3000; tick++) {
        delay_by(played, tick, 60 * MS);
    }
    outcome seen = play(played);
    cr_assert_geq(seen.stalled, 3, "the time that was lost");
    cr_assert_leq(seen.stalled, 12);
    cr_assert_leq(seen.delay_ns, 2 * MS);
    cr_assert_eq(seen.caught_up, 0);
}

Test(jitter_buffer, a_way_that_gets_shorter_is_used_within_five_seconds)
{
    scene *played = even_scene(WARM_TICKS + 300, LS_NS_PER_SECOND / 60);
    for (uint32_t tick = 0; tick < WARM_TICKS; tick++) {
        delay_by(played, tick, 60 * MS);
    }
    outcome seen = play(played);
    cr_assert_leq(seen.delay_ns, 2 * MS, "%lu us", (unsigned long)(seen.delay_ns / 1000));
    cr_assert_eq(seen.stalled, 0);
    cr_assert_eq(seen.caught_up, 0);
}

Test(jitter_buffer, a_large_backlog_is_stepped_at_once)
{
    scene *played = even_scene(3000, LS_NS_PER_SECOND / 60);
    for (uint32_t tick = 1500; tick < 1560; tick++) {
        delay_by(played, tick, (1560 - tick) * DT_NS);
    }
    outcome seen = play(played);
    cr_assert_geq(seen.stalled, 58);
    cr_assert_leq(seen.stalled, 62, "a tick for each dt: %u", seen.stalled);
    cr_assert_geq(seen.caught_up, 40);
    cr_assert_leq(seen.delay_ns, 2 * MS);
}

/* Ticks that an outage kept back come in as many bursts as the way takes round trips. */
static void cut(scene *played, uint32_t from, uint32_t to, uint32_t bursts, uint64_t apart_ns)
{
    for (uint32_t tick = from; tick < to; tick++) {
        uint64_t burst = (uint64_t)(tick - from) * bursts / (to - from);
        uint64_t at_ns = LS_NS_PER_SECOND + to * DT_NS + burst * apart_ns;
        played->arrival_ns[tick] =
            at_ns > played->arrival_ns[tick] ? at_ns : played->arrival_ns[tick];
    }
    for (uint32_t tick = to; tick < played->ticks; tick++) {
        delay_by(played, tick, 0);
    }
}

Test(jitter_buffer, an_outage_leaves_no_delay_behind)
{
    static const uint32_t outages[][2] = {{0, 120}, {700, 850}, {1000, 1020}};
    for (size_t i = 0; i < sizeof outages / sizeof outages[0]; i++) {
        uint32_t end = outages[i][1];
        scene *played = even_scene(end + 180, LS_NS_PER_SECOND / 60);
        cut(played, outages[i][0], end, 8, 20 * MS);
        outcome seen = play(played);
        cr_assert_leq(seen.delay_ns, 500 * MS, "%u ticks: %lu ms three seconds later",
                      end - outages[i][0], (unsigned long)(seen.delay_ns / MS));
    }
}

Test(jitter_buffer, a_stall_holds_the_edge_of_the_tick_that_is_missing)
{
    ls_jitter_buffer jitter_buffer;
    ls_jitter_buffer_init(&jitter_buffer, DT_NS);
    ls_jitter_buffer_add_arrival(&jitter_buffer, 0, 5 * DT_NS);
    ls_jitter_buffer_frame frame = {5 * DT_NS, DT_NS, 0, 1};
    uint64_t position_ns = ls_jitter_buffer_plan_frame(&jitter_buffer, &frame).play_ns;
    cr_assert_eq(position_ns, DT_NS - MS, "its first tick is due soon");
    frame = (ls_jitter_buffer_frame){6 * DT_NS, DT_NS, position_ns, 1};
    ls_jitter_buffer_plan plan = ls_jitter_buffer_plan_frame(&jitter_buffer, &frame);
    position_ns += plan.play_ns;
    cr_assert_not(plan.is_stalled);
    cr_assert_eq(position_ns, 2 * DT_NS - MS);
    frame = (ls_jitter_buffer_frame){7 * DT_NS, DT_NS, position_ns, 0};
    plan = ls_jitter_buffer_plan_frame(&jitter_buffer, &frame);
    position_ns += plan.play_ns;
    cr_assert(plan.is_stalled);
    cr_assert_eq(plan.stalled_ticks, 1);
    cr_assert_eq(position_ns, 2 * DT_NS - 1);
    frame = (ls_jitter_buffer_frame){7 * DT_NS + MS / 2, MS / 2, position_ns, 0};
    plan = ls_jitter_buffer_plan_frame(&jitter_buffer, &frame);
    cr_assert(plan.is_stalled);
    cr_assert_eq(plan.stalled_ticks, 0, "the same tick counts once");
    cr_assert_eq(plan.play_ns, 0);
    ls_jitter_buffer_add_arrival(&jitter_buffer, 1, 7 * DT_NS + 2 * MS);
    frame = (ls_jitter_buffer_frame){7 * DT_NS + 2 * MS, MS, position_ns, 1};
    plan = ls_jitter_buffer_plan_frame(&jitter_buffer, &frame);
    cr_assert_not(plan.is_stalled);
    cr_assert_geq(position_ns + plan.play_ns, 2 * DT_NS, "it is stepped in the next frame");
}

/* ==== sound_schedule ==== */

#define LATE_NS (LS_NS_PER_SECOND / 2)

static ls_sound_schedule *schedule;

static void make(void)
{
    cr_assert_eq(ls_sound_schedule_create(LATE_NS, DT_NS, ls_allocator_heap(), &schedule), LS_OK);
}

static void destroy(void)
{
    ls_sound_schedule_destroy(schedule);
}

TestSuite(sound_schedule, .init = make, .fini = destroy);

static ls_sound cue(uint32_t id, uint32_t owner)
{
    return (ls_sound){.kind = LS_SOUND_CUE, .id = id, .owner = owner};
}

static ls_sound samples(uint32_t frames)
{
    static const int16_t pairs[64];
    return (ls_sound){
        .kind = LS_SOUND_SAMPLES, .frames = frames, .rate_hz = 48000, .samples = pairs};
}

/* How many of these are new when the tick is stepped; `sounds` keeps the new ones. */
static uint32_t step(ls_tick tick, ls_sound *sounds, uint32_t count)
{
    ls_sound_list list = {.sounds = sounds, .capacity = LS_SOUNDS_MAX, .count = count};
    ls_sound_schedule_filter(schedule, tick, &list);
    return list.count;
}

static uint32_t step_cue(ls_tick tick, uint32_t id, uint32_t owner)
{
    ls_sound sound = cue(id, owner);
    return step(tick, &sound, 1);
}

Test(sound_schedule, a_cue_is_given_out_once_however_often_its_tick_is_stepped)
{
    cr_expect_eq(step_cue(10, 1, 0), 1);
    cr_expect_eq(step_cue(10, 1, 0), 0);
    cr_expect_eq(step_cue(11, 1, 0), 1);
    cr_expect_eq(step_cue(10, 1, 0), 0);
    cr_expect_eq(step_cue(11, 1, 0), 0);
}

Test(sound_schedule, a_cue_that_only_the_later_step_has_is_given_out_then)
{
    cr_expect_eq(step(10, NULL, 0), 0);
    cr_expect_eq(step_cue(10, 1, 0), 1);
    ls_sound both[] = {cue(1, 0), cue(2, 0)};
    cr_expect_eq(step(10, both, 2), 1);
    cr_expect_eq(both[0].id, 2);
}

Test(sound_schedule, the_same_cue_of_another_player_is_another_one)
{
    cr_expect_eq(step_cue(10, 1, 2), 1);
    ls_sound both[] = {cue(1, 1), cue(1, 2)};
    cr_expect_eq(step(10, both, 2), 1);
    cr_expect_eq(both[0].owner, 1);
}

Test(sound_schedule, equal_cues_of_a_tick_are_counted)
{
    ls_sound two[] = {cue(1, 1), cue(1, 1)};
    ls_sound three[] = {cue(1, 1), cue(1, 1), cue(1, 1)};
    cr_expect_eq(step(10, two, 2), 2);
    cr_expect_eq(step_cue(10, 1, 1), 0);
    cr_expect_eq(step(10, three, 3), 1);
    cr_expect_eq(step(10, two, 2), 0);
}

Test(sound_schedule, samples_of_a_tick_are_given_out_once_whatever_is_in_them)
{
    ls_sound first = samples(16);
    ls_sound again = samples(17);
    cr_expect_eq(step(10, &first, 1), 1);
    cr_expect_eq(step(10, &again, 1), 0);
    cr_expect_eq(step(11, &again, 1), 1);
}

Test(sound_schedule, samples_that_cannot_be_are_left_out)
{
    ls_sound sounds[] = {samples(0), samples(8), {.kind = 77}};
    cr_expect_eq(step(10, sounds, 3), 1);
    cr_expect_eq(sounds[0].frames, 8);
}

Test(sound_schedule, sounds_are_due_for_half_a_second)
{
    ls_sound_schedule_set_now(schedule, 1000);
    cr_expect(ls_sound_schedule_is_due(schedule, 999));
    cr_expect(ls_sound_schedule_is_due(schedule, 970));
    cr_expect_not(ls_sound_schedule_is_due(schedule, 969));
    cr_expect(ls_sound_schedule_is_due(schedule, 1200));
    ls_sound_schedule_set_now(schedule, 3);
    cr_expect(ls_sound_schedule_is_due(schedule, 0));
}

Test(sound_schedule, what_is_due_is_remembered_at_any_tick_rate)
{
    static const uint32_t rates_hz[] = {1, 60, 240, 1000};
    for (size_t i = 0; i < sizeof rates_hz / sizeof rates_hz[0]; i++) {
        destroy();
        ls_status status = ls_sound_schedule_create(LATE_NS, LS_NS_PER_SECOND / rates_hz[i],
                                                    ls_allocator_heap(), &schedule);
        cr_assert_eq(status, LS_OK);
        for (ls_tick tick = 5000; tick < 5300; tick++) {
            ls_sound_schedule_set_now(schedule, tick + 1);
            cr_assert_eq(step_cue(tick, 1, 0), 1);
        }
        uint32_t due = 0;
        for (ls_tick tick = 5000; tick < 5300; tick++) {
            if (ls_sound_schedule_is_due(schedule, tick)) {
                cr_expect_eq(step_cue(tick, 1, 0), 0, "tick %u at %u Hz", tick, rates_hz[i]);
                due++;
            }
        }
        cr_expect_geq(due, 1);
        cr_expect_leq(due, LS_SOUND_SCHEDULE_TICKS);
    }
}

Test(sound_schedule, a_tick_has_room_for_as_many_as_a_list)
{
    ls_sound many[LS_SOUNDS_MAX];
    ls_sound others[LS_SOUNDS_MAX];
    for (uint32_t i = 0; i < LS_SOUNDS_MAX; i++) {
        many[i] = cue(i, 1);
        others[i] = cue(i, 2);
    }
    cr_expect_eq(step(10, many, LS_SOUNDS_MAX), LS_SOUNDS_MAX);
    cr_expect_eq(step(10, others, LS_SOUNDS_MAX), 0, "there is no room to remember them");
}

/* ---- tick_parts ---- */

enum {
    SLOTS = 8,
    INPUT_BYTES = 1000
};

static counting_allocator counting;
static ls_tick_parts parts;

static void open_parts(void)
{
    counting_allocator_init(&counting);
    memset(&parts, 0, sizeof parts);
    ls_status status = ls_tick_parts_init(&parts, SLOTS, INPUT_BYTES, &counting.allocator);
    cr_assert_eq(status, LS_OK);
}

static void close_parts(void)
{
    ls_tick_parts_deinit(&parts);
    cr_assert_eq(counting.live_blocks, 0);
}

TestSuite(tick_parts, .fini = close_parts);

/* Part `index` of a tick of `total_bytes`, every byte of which tells its place and its tick. */
static ls_tick_part make_part(ls_tick tick, uint32_t total_bytes, uint32_t index)
{
    ls_tick_part part = {.tick = tick, .total_bytes = total_bytes, .index = index};
    part.size = ls_tick_part_size(total_bytes, index);
    for (uint32_t i = 0; i < part.size; i++) {
        part.bytes[i] = (uint8_t)(tick * 31 + (index * LS_TICK_PART_BYTES + i) * 7);
    }
    return part;
}

static ls_status add(ls_tick tick, uint32_t total_bytes, uint32_t index, ls_tick next)
{
    ls_tick_part part = make_part(tick, total_bytes, index);
    return ls_tick_parts_add(&parts, &part, next);
}

static bool is_whole(ls_tick tick, uint32_t total_bytes)
{
    uint32_t size = 0;
    const uint8_t *bytes = ls_tick_parts_pop(&parts, tick, &size);
    if (!bytes) {
        return false;
    }
    cr_assert_eq(size, total_bytes);
    for (uint32_t i = 0; i < size; i++) {
        cr_assert_eq(bytes[i], (uint8_t)(tick * 31 + i * 7));
    }
    return true;
}

/* Of the most players that there may be, with the largest inputs that these may have. */
Test(tick_parts, the_largest_tick_of_a_match_finds_room)
{
    enum {
        MOST_BYTES = 256
    };
    counting_allocator_init(&counting);
    ls_status status = ls_tick_parts_init(&parts, LS_PLAYERS_MAX, MOST_BYTES, &counting.allocator);
    cr_assert_eq(status, LS_OK);
    size_t most = ls_ticks_tick_bytes_max(LS_PLAYERS_MAX, MOST_BYTES);
    ls_tick_part part = make_part(0, (uint32_t)most, 0);
    cr_assert_eq(ls_tick_parts_add(&parts, &part, 0), LS_OK);
}

Test(tick_parts, a_tick_is_whole_with_its_last_part_in_any_order, .init = open_parts)
{
    static const uint32_t sizes[] = {1, 1100, 1101, 5000, 8000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint32_t count = ls_tick_part_count(sizes[i]);
        for (uint32_t index = count; index-- > 0;) {
            cr_assert_not(is_whole(7, sizes[i]));
            cr_assert_eq(add(7, sizes[i], index, 7), LS_OK);
            cr_assert_eq(add(7, sizes[i], index, 7), LS_OK, "twice is no harm");
        }
        cr_assert(is_whole(7, sizes[i]));
        cr_assert_not(is_whole(7, sizes[i]), "it is taken once");
    }
}

Test(tick_parts, several_ticks_come_at_once, .init = open_parts)
{
    for (uint32_t index = 0; index < 3; index++) {
        for (ls_tick tick = 100; tick < 100 + LS_TICK_PARTS_AHEAD; tick++) {
            cr_assert_eq(add(tick, 3000, index, 100), LS_OK);
        }
    }
    for (ls_tick tick = 100; tick < 100 + LS_TICK_PARTS_AHEAD; tick++) {
        cr_assert(is_whole(tick, 3000));
    }
}

Test(tick_parts, ticks_outside_the_window_are_ignored, .init = open_parts)
{
    cr_assert_eq(add(100, 50, 0, 100), LS_OK);
    cr_assert_eq(add(99, 50, 0, 100), LS_OK);
    cr_assert_eq(add(100 + LS_TICK_PARTS_AHEAD, 50, 0, 100), LS_OK);
    cr_assert_eq(add(UINT32_MAX, 50, 0, 100), LS_OK);
    cr_assert_not(is_whole(99, 50));
    cr_assert_not(is_whole(100 + LS_TICK_PARTS_AHEAD, 50));
    cr_assert(is_whole(100, 50), "and displace nothing");
}

Test(tick_parts, another_size_begins_anew, .init = open_parts)
{
    add(5, 2200, 0, 5);
    add(5, 2300, 1, 5);
    cr_assert_not(is_whole(5, 2300));
    add(5, 2300, 0, 5);
    add(5, 2300, 2, 5);
    cr_assert(is_whole(5, 2300));
}

Test(tick_parts, a_tick_larger_than_any_can_be_is_malformed, .init = open_parts)
{
    uint32_t largest = (uint32_t)ls_ticks_tick_bytes_max(SLOTS, INPUT_BYTES);
    cr_assert_eq(add(1, largest, 0, 1), LS_OK);
    cr_assert_eq(add(1, largest + 1, 0, 1), LS_MALFORMED);
    cr_assert_eq(add(1, LS_TICK_BYTES_MAX, 0, 1), LS_MALFORMED);
}

Test(tick_parts, nothing_is_allocated_after_init, .init = open_parts)
{
    uint64_t allocations = counting.allocations;
    for (ls_tick tick = 0; tick < 1000; tick++) {
        add(tick, 2000, 0, tick);
        add(tick, 2000, 1, tick);
        cr_assert(is_whole(tick, 2000));
    }
    cr_assert_eq(counting.allocations, allocations);
}

Test(tick_parts, without_memory_there_is_nothing_to_give_back)
{
    counting_allocator_init(&counting);
    counting.allowed = 0;
    memset(&parts, 0, sizeof parts);
    cr_assert_eq(ls_tick_parts_init(&parts, SLOTS, INPUT_BYTES, &counting.allocator), LS_NO_MEMORY);
    ls_tick_parts_deinit(&parts);
}

/* ---- tick_backlog ---- */

enum {
    TICK_BACKLOG_SLOTS = 4,
    CHUNKS = 4,
};

static ls_tick_backlog *backlog;
static uint8_t bytes[LS_PLAYERS_MAX][LS_INPUT_BYTES_MAX];

static void open_for(uint32_t slots, uint32_t input_bytes_max)
{
    ls_tick_backlog_config config = {.slot_count = slots,
                                     .input_bytes_max = input_bytes_max,
                                     .bytes_max = CHUNKS * LS_TICK_BACKLOG_CHUNK_BYTES};
    cr_assert_eq(ls_tick_backlog_create(&config, ls_allocator_heap(), &backlog), LS_OK);
}

static void setup(void)
{
    open_for(TICK_BACKLOG_SLOTS, LS_INPUT_BYTES_MAX);
}

static void teardown(void)
{
    ls_tick_backlog_destroy(backlog);
}

TestSuite(tick_backlog, .fini = teardown);

/* A tick's inputs, made of its number: noise of different sizes, so that nothing shrinks. */
static ls_tick_inputs make_tick(ls_tick tick, uint32_t slot_count,
                                ls_slot_input slots[LS_PLAYERS_MAX], uint32_t size_max)
{
    ls_rng rng = ls_rng_make(tick, 7);
    for (uint32_t slot = 0; slot < slot_count; slot++) {
        uint32_t size = ls_rng_below(&rng, size_max + 1);
        for (uint32_t i = 0; i < size; i++) {
            bytes[slot][i] = (uint8_t)ls_rng_next(&rng);
        }
        slots[slot] = (ls_slot_input){bytes[slot], size, ls_rng_below(&rng, 3)};
    }
    return (ls_tick_inputs){.tick = tick, .slot_count = slot_count, .slots = slots};
}

static ls_status tick_backlog_add(ls_tick tick, uint32_t size_max)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs = make_tick(tick, TICK_BACKLOG_SLOTS, slots, size_max);
    return ls_tick_backlog_add(backlog, &inputs);
}

static void check_pop(ls_tick tick, uint32_t size_max)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_slot_input expected[LS_PLAYERS_MAX];
    ls_tick_inputs taken = {0};
    cr_assert_eq(ls_tick_backlog_pop(backlog, slots, &taken), LS_OK);
    cr_assert_eq(taken.tick, tick);
    cr_assert_eq(taken.slot_count, TICK_BACKLOG_SLOTS);
    make_tick(tick, TICK_BACKLOG_SLOTS, expected, size_max);
    for (uint32_t slot = 0; slot < TICK_BACKLOG_SLOTS; slot++) {
        cr_assert_eq(slots[slot].size, expected[slot].size);
        cr_assert_eq(slots[slot].events, expected[slot].events);
        cr_assert_eq(memcmp(slots[slot].bytes, expected[slot].bytes, expected[slot].size), 0);
    }
}

Test(tick_backlog, gives_nothing_when_it_holds_nothing, .init = setup)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs taken = {.tick = 77};
    cr_assert_eq(ls_tick_backlog_pop(backlog, slots, &taken), LS_NOT_FOUND);
    cr_assert_eq(taken.tick, 77);
    cr_assert_eq(ls_tick_backlog_count(backlog), 0);
    cr_assert_eq(ls_tick_backlog_bytes(backlog), 0);
}

Test(tick_backlog, gives_ticks_in_the_order_they_came, .init = setup)
{
    for (ls_tick tick = 1000; tick < 1400; tick++) {
        cr_assert_eq(tick_backlog_add(tick, 40), LS_OK);
    }
    cr_assert_eq(ls_tick_backlog_count(backlog), 400);
    for (ls_tick tick = 1000; tick < 1400; tick++) {
        check_pop(tick, 40);
    }
    cr_assert_eq(ls_tick_backlog_count(backlog), 0);
}

Test(tick_backlog, holds_what_spans_several_chunks, .init = setup)
{
    ls_tick end = 0;
    while (ls_tick_backlog_bytes(backlog) < 3 * LS_TICK_BACKLOG_CHUNK_BYTES) {
        cr_assert_eq(tick_backlog_add(end++, 500), LS_OK);
    }
    cr_assert_gt(end, 2 * 65536 / (TICK_BACKLOG_SLOTS * 500));
    for (ls_tick tick = 0; tick < end; tick++) {
        check_pop(tick, 500);
    }
    cr_assert_eq(ls_tick_backlog_bytes(backlog), 0);
}

Test(tick_backlog, ticks_are_added_while_others_are_taken, .init = setup)
{
    ls_rng rng = ls_rng_make(5, 5);
    ls_tick added = 0;
    ls_tick taken = 0;
    while (taken < 5000) {
        for (uint32_t n = ls_rng_below(&rng, 20); n > 0; n--) {
            cr_assert_eq(tick_backlog_add(added++, 100), LS_OK);
        }
        for (uint32_t n = ls_rng_below(&rng, 21); n > 0 && taken < added; n--) {
            check_pop(taken++, 100);
        }
        cr_assert_eq(ls_tick_backlog_count(backlog), added - taken);
    }
}

Test(tick_backlog, quiet_ticks_take_few_bytes, .init = setup)
{
    ls_slot_input slots[TICK_BACKLOG_SLOTS] = {{0}};
    for (ls_tick tick = 0; tick < 60000; tick++) {
        ls_tick_inputs inputs = {.tick = tick, .slot_count = TICK_BACKLOG_SLOTS, .slots = slots};
        cr_assert_eq(ls_tick_backlog_add(backlog, &inputs), LS_OK);
    }
    cr_assert_eq(ls_tick_backlog_bytes(backlog), LS_TICK_BACKLOG_CHUNK_BYTES);
}

Test(tick_backlog, beyond_its_limit_nothing_is_added_and_nothing_lost, .init = setup)
{
    ls_tick end = 0;
    while (tick_backlog_add(end, LS_INPUT_BYTES_MAX) == LS_OK) {
        end++;
    }
    cr_assert_eq(tick_backlog_add(end, LS_INPUT_BYTES_MAX), LS_FULL);
    cr_assert_eq(ls_tick_backlog_count(backlog), end);
    cr_assert_eq(ls_tick_backlog_bytes(backlog), CHUNKS * LS_TICK_BACKLOG_CHUNK_BYTES);

    /* A tick that is taken makes room, and the order is whole. */
    for (ls_tick tick = 0; tick < end; tick++) {
        check_pop(tick, LS_INPUT_BYTES_MAX);
    }
    cr_assert_eq(tick_backlog_add(end, LS_INPUT_BYTES_MAX), LS_OK);
    check_pop(end, LS_INPUT_BYTES_MAX);
}

Test(tick_backlog, the_largest_tick_there_is_fits)
{
    enum {
        LARGE_SLOTS = LS_INPUTS_BYTES_MAX / LS_INPUT_BYTES_MAX
    };
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_slot_input taken_slots[LS_PLAYERS_MAX];
    ls_tick_inputs taken;
    open_for(LARGE_SLOTS, LS_INPUT_BYTES_MAX);
    for (uint32_t slot = 0; slot < LARGE_SLOTS; slot++) {
        memset(bytes[slot], (int)slot + 1, LS_INPUT_BYTES_MAX);
        slots[slot] = (ls_slot_input){bytes[slot], LS_INPUT_BYTES_MAX, 3};
    }
    ls_tick_inputs inputs = {.tick = 9, .slot_count = LARGE_SLOTS, .slots = slots};
    cr_assert_eq(ls_tick_backlog_add(backlog, &inputs), LS_OK);
    cr_assert_eq(ls_tick_backlog_pop(backlog, taken_slots, &taken), LS_OK);
    cr_assert_eq(memcmp(taken_slots[31].bytes, bytes[31], LS_INPUT_BYTES_MAX), 0);
}

Test(tick_backlog, ticks_taken_one_by_one_take_no_memory_each_time, .init = setup)
{
    cr_assert_eq(tick_backlog_add(0, 20), LS_OK);
    check_pop(0, 20);
    uint64_t before = heap_calls();
    for (ls_tick tick = 1; tick < 1000; tick++) {
        cr_assert_eq(tick_backlog_add(tick, 20), LS_OK);
        check_pop(tick, 20);
    }
    cr_assert_eq(heap_calls(), before);
}

Test(tick_backlog, is_destroyed_with_ticks_in_it, .init = setup)
{
    for (ls_tick tick = 0; tick < 300; tick++) {
        cr_assert_eq(tick_backlog_add(tick, 300), LS_OK);
    }
    check_pop(0, 300);
}
