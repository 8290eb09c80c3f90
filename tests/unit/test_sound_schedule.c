#include "lockstep/client/session/sound_schedule.h"

#include "lockstep/common/base/clock.h"

#include <criterion/criterion.h>

#define DT_NS (LS_NS_PER_SECOND / 60)
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
