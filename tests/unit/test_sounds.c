#include "lockstep/common/simulation/sim_instance.h"

#include "lockstep/tests/support/counter_simulation.h"
#include "lockstep/tests/support/kept.h"

#include <criterion/criterion.h>

TestSuite(sounds, .fini = destroy_kept);

static void step(ls_sim_instance *instance)
{
    static const ls_slot_input slots[COUNTER_PLAYERS_MAX];
    uint32_t players = ls_sim_instance_config(instance)->players;
    ls_sim_instance_step(instance, &(ls_tick_inputs){0, players, slots});
}

static const void *heard_previous;
static const void *heard_current;

static void sound_step(const ls_sim_config *config, const void *previous, const void *current,
                       ls_sound_list *list)
{
    heard_previous = previous;
    heard_current = current;
    ls_sound_push(list, (ls_sound){.id = config->players});
}

static ls_sim_instance *make_audible(void)
{
    static ls_simulation simulation;
    simulation = *counter_simulation();
    simulation.sounds = sound_step;
    return keep_instance(&simulation, NULL);
}

Test(sounds, sounds_of_a_step_follow_from_the_states_before_and_after_it)
{
    static const uint8_t before[1];
    ls_sound sounds[1];
    ls_sound_list list = {.sounds = sounds, .capacity = 1};
    ls_sim_instance *instance = make_audible();
    step(instance);
    ls_sim_instance_sounds(instance, before, &list);
    cr_expect_eq(heard_previous, before);
    cr_expect_eq(heard_current, ls_sim_instance_view(instance));
    cr_expect_eq(list.count, 1);
    cr_expect_eq(sounds[0].id, 2);
    ls_sim_instance_sounds(instance, NULL, &list);
    cr_expect_eq(heard_previous, heard_current, "there is no copy of the state before");
    cr_expect_eq(list.count, 1, "a sound without room is left out");
}

Test(sounds, nothing_is_heard_before_the_first_step_or_without_sounds)
{
    ls_sound sounds[1];
    ls_sound_list list = {.sounds = sounds, .capacity = 1};
    ls_sim_instance_sounds(make_audible(), NULL, &list);
    cr_expect_eq(list.count, 0);
    ls_sim_instance *silent = keep_instance(counter_simulation(), NULL);
    step(silent);
    ls_sim_instance_sounds(silent, NULL, &list);
    cr_expect_eq(list.count, 0);
}

Test(sounds, samples_that_cannot_be_are_told_apart)
{
    static const int16_t pair[2];
    ls_sound good = {
        .kind = LS_SOUND_SAMPLES, .frames = 1, .rate_hz = LS_SOUND_RATE_MIN_HZ, .samples = pair};
    cr_expect(ls_sound_is_samples(&good));
    ls_sound bad[] = {good, good, good, good, good, good};
    bad[0].kind = LS_SOUND_CUE;
    bad[1].samples = NULL;
    bad[2].frames = 0;
    bad[3].frames = LS_SOUND_FRAMES_MAX + 1;
    bad[4].rate_hz = LS_SOUND_RATE_MIN_HZ - 1;
    bad[5].rate_hz = LS_SOUND_RATE_MAX_HZ + 1;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_expect_not(ls_sound_is_samples(&bad[i]), "%zu", i);
    }
}
