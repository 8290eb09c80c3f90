#include "lockstep/client/view/sound_mixer.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum {
    RATE_HZ = 48000,
    FRAMES = 4800, /* a tenth of a second */
    TICK_FRAMES = 800,
};

static const ls_sound_gain whole = {1.0f, 1.0f};

static ls_sound_mixer *mixer;
static int16_t mixed[2 * RATE_HZ];

static void make(void)
{
    cr_assert_eq(ls_sound_mixer_create(RATE_HZ, 1.0f, ls_allocator_heap(), &mixer), LS_OK);
}

static void destroy(void)
{
    ls_sound_mixer_destroy(mixer);
}

TestSuite(sound_mixer, .init = make, .fini = destroy);

static void play_cue(uint32_t id, ls_sound_gain gain)
{
    ls_sound cue = {.kind = LS_SOUND_CUE, .id = id, .volume = LS_FIXED_ONE};
    ls_sound_mixer_play(mixer, &cue, gain);
}

static void add_pulse(uint32_t id, int16_t left, int16_t right)
{
    const int16_t pairs[] = {left, right, left, right};
    cr_assert_eq(ls_sound_mixer_add_wave(mixer, id, pairs, 2), LS_OK);
}

/* A tick of samples that all have the same value. */
static void play_samples(int16_t value, uint32_t frames, uint32_t rate_hz)
{
    static int16_t pairs[2 * RATE_HZ];
    for (uint32_t i = 0; i < 2 * frames; i++) {
        pairs[i] = value;
    }
    ls_sound sound = {
        .kind = LS_SOUND_SAMPLES, .frames = frames, .rate_hz = rate_hz, .samples = pairs};
    ls_sound_mixer_play(mixer, &sound, whole);
}

/* The loudest of the next frames, on one side. */
static int loudest(uint32_t frames, uint32_t side)
{
    int most = 0;
    ls_sound_mixer_mix(mixer, mixed, frames);
    for (uint32_t i = 0; i < frames; i++) {
        int value = abs(mixed[2 * i + side]);
        most = value > most ? value : most;
    }
    return most;
}

/* ---- cues ---- */

Test(sound_mixer, silence_is_silent)
{
    cr_expect_eq(loudest(FRAMES, 0), 0);
}

Test(sound_mixer, a_cue_plays_its_wave_once_on_the_sides_where_it_is)
{
    add_pulse(7, 1000, 2000);
    play_cue(7, (ls_sound_gain){1.0f, 0.5f});
    ls_sound_mixer_mix(mixer, mixed, 3);
    const int16_t expected[] = {1000, 1000, 1000, 1000, 0, 0};
    cr_expect_arr_eq(mixed, expected, sizeof expected);
    cr_expect_eq(loudest(FRAMES, 0), 0);
}

Test(sound_mixer, a_cue_without_a_wave_is_a_short_tone_of_its_own)
{
    static int16_t first[2 * FRAMES];
    play_cue(1, whole);
    ls_sound_mixer_mix(mixer, first, FRAMES);
    cr_expect_gt(loudest(FRAMES, 0), 0);
    cr_expect_eq(loudest(RATE_HZ, 0), 0, "it is over");
    play_cue(2, whole);
    ls_sound_mixer_mix(mixer, mixed, FRAMES);
    cr_expect_arr_neq(mixed, first, sizeof first);
    for (uint32_t id = 0; id < 100; id++) {
        play_cue(id * 40000001u, whole);
        cr_expect_gt(loudest(FRAMES, 1), 1000);
        ls_sound_mixer_mix(mixer, mixed, RATE_HZ);
    }
}

Test(sound_mixer, sounds_add_up_and_never_wrap)
{
    add_pulse(1, 20000, -20000);
    play_cue(1, whole);
    play_cue(1, (ls_sound_gain){0.25f, 0.25f});
    ls_sound_mixer_mix(mixer, mixed, 3);
    cr_expect_eq(mixed[0], 25000);
    for (uint32_t i = 0; i < LS_SOUND_VOICES_MAX; i++) {
        play_cue(1, whole);
    }
    ls_sound_mixer_mix(mixer, mixed, 1);
    cr_expect_eq(mixed[0], 32767);
    cr_expect_eq(mixed[1], -32767);
}

Test(sound_mixer, one_cue_too_many_ends_the_oldest)
{
    static const int16_t long_wave[2 * FRAMES] = {0};
    cr_assert_eq(ls_sound_mixer_add_wave(mixer, 1, long_wave, FRAMES), LS_OK);
    add_pulse(2, 500, 500);
    for (uint32_t i = 0; i < 3 * LS_SOUND_VOICES_MAX; i++) {
        play_cue(1, whole);
    }
    play_cue(2, whole);
    cr_expect_eq(loudest(FRAMES, 0), 500);
}

Test(sound_mixer, the_volume_is_of_everything)
{
    destroy();
    cr_assert_eq(ls_sound_mixer_create(RATE_HZ, 0.5f, ls_allocator_heap(), &mixer), LS_OK);
    add_pulse(1, 1000, 1000);
    play_cue(1, whole);
    cr_expect_eq(loudest(10, 0), 500);
}

Test(sound_mixer, waves_have_a_limit_and_the_last_one_of_an_id_counts)
{
    for (uint32_t i = 0; i < LS_SOUND_WAVES_MAX; i++) {
        add_pulse(3, (int16_t)(i + 1), 0);
    }
    const int16_t pair[2] = {1, 1};
    cr_expect_eq(ls_sound_mixer_add_wave(mixer, 4, pair, 1), LS_FULL);
    play_cue(3, whole);
    cr_expect_eq(loudest(10, 0), LS_SOUND_WAVES_MAX);
}

/* ---- samples ---- */

/* So many ticks of 1/60 s come, each just before the loudspeaker takes as much. */
static uint32_t count_played(uint32_t ticks, uint32_t source_hz)
{
    uint32_t heard = 0;
    for (uint32_t tick = 0; tick < ticks; tick++) {
        play_samples(1000, source_hz / 60, source_hz);
        ls_sound_mixer_mix(mixer, mixed, TICK_FRAMES);
        for (uint32_t i = 0; i < TICK_FRAMES; i++) {
            heard += mixed[2 * i] == 1000;
        }
    }
    return heard;
}

Test(sound_mixer, samples_of_any_rate_play_without_a_gap_after_a_moment)
{
    static const uint32_t rates_hz[] = {8000, 32040, 44100, 48000, 96000};
    for (size_t i = 0; i < sizeof rates_hz / sizeof rates_hz[0]; i++) {
        count_played(10, rates_hz[i]);
        cr_expect_eq(count_played(600, rates_hz[i]), 600 * TICK_FRAMES, "%u Hz", rates_hz[i]);
    }
}

Test(sound_mixer, samples_that_stop_are_silence_until_there_are_some_again)
{
    count_played(10, RATE_HZ);
    ls_sound_mixer_mix(mixer, mixed, RATE_HZ / 2);
    cr_expect_eq(loudest(FRAMES, 0), 0);
    cr_expect_gt(count_played(20, RATE_HZ), 14 * TICK_FRAMES);
}

Test(sound_mixer, too_many_samples_are_dropped_and_do_not_add_up)
{
    for (uint32_t tick = 0; tick < 600; tick++) {
        play_samples(1000, TICK_FRAMES, RATE_HZ);
    }
    play_samples(77, TICK_FRAMES, RATE_HZ);
    ls_sound_mixer_mix(mixer, mixed, RATE_HZ / 4);
    bool has_newest = false;
    for (uint32_t i = 0; i < RATE_HZ / 4; i++) {
        has_newest = has_newest || mixed[2 * i] == 77;
    }
    cr_expect(has_newest, "what comes now is heard within a quarter of a second");
}

Test(sound_mixer, the_longest_ticks_fit)
{
    static int16_t pairs[2 * LS_SOUND_FRAMES_MAX];
    ls_sound sound = {.kind = LS_SOUND_SAMPLES,
                      .frames = LS_SOUND_FRAMES_MAX,
                      .rate_hz = LS_SOUND_RATE_MAX_HZ,
                      .samples = pairs};
    for (uint32_t i = 0; i < 2 * LS_SOUND_FRAMES_MAX; i++) {
        pairs[i] = 300;
    }
    uint32_t heard = 0;
    for (uint32_t tick = 0; tick < 10; tick++) {
        ls_sound_mixer_play(mixer, &sound, whole);
        ls_sound_mixer_mix(mixer, mixed, RATE_HZ);
        for (uint32_t i = 0; i < RATE_HZ; i++) {
            heard += mixed[2 * i] == 300;
        }
    }
    cr_expect_gt(heard, 8 * RATE_HZ);
}

/* ---- places ---- */

static ls_sound_gain gain_at(double x, double y)
{
    static const ls_camera camera = {.pixels_per_m = 10, .width = 200, .height = 100};
    ls_sound cue = {.kind = LS_SOUND_CUE,
                    .volume = LS_FIXED_HALF,
                    .has_place = true,
                    .x = ls_fixed_from_double(x),
                    .y = ls_fixed_from_double(y)};
    return ls_sound_gain_of(&cue, &camera);
}

Test(sound_mixer, a_cue_is_heard_from_its_side_of_the_picture)
{
    ls_sound_gain middle = gain_at(0, 0);
    cr_expect(middle.left == 0.5f && middle.right == 0.5f);
    ls_sound_gain left = gain_at(-10, 0);
    cr_expect(left.left == 0.5f && left.right == 0.0f);
    ls_sound_gain right = gain_at(5, -5);
    cr_expect(right.left == 0.25f && right.right == 0.5f);
}

Test(sound_mixer, beyond_the_picture_a_cue_grows_softer_until_it_is_gone)
{
    cr_expect(gain_at(0, 10).left == 0.125f);
    cr_expect(gain_at(0, 1000).left == 0.0f);
    cr_expect(gain_at(-1000, 0).left == 0.0f);
}

Test(sound_mixer, volumes_out_of_range_are_cut_and_cues_without_a_place_are_everywhere)
{
    ls_camera camera = ls_camera_make();
    ls_sound cue = {.kind = LS_SOUND_CUE, .volume = LS_FIXED_INT(1000)};
    ls_sound_gain gain = ls_sound_gain_of(&cue, &camera);
    cr_expect(gain.left == 1.0f && gain.right == 1.0f);
    cue.volume = -LS_FIXED_ONE;
    cr_expect(ls_sound_gain_of(&cue, &camera).left == 0.0f);
    cue.has_place = true;
    cue.x = INT64_MIN;
    cue.y = INT64_MAX;
    cue.volume = LS_FIXED_ONE;
    cr_expect(ls_sound_gain_of(&cue, &camera).left == 0.0f);
}
