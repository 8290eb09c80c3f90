/* Players that listen: whatever was guessed and taken back, a sound of the match is heard once, and
 * at the right machine. */
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/tests/match/match_test.h"
#include "lockstep/tests/support/counting_allocator.h"

enum {
    PREDICT_TICKS = 12,
    LISTENERS_MAX = 8,
    HEARD_MAX = 20000,
    TICKS = 900,
};

typedef struct heard_cue {
    ls_tick tick;
    uint32_t id;
    uint32_t owner;
} heard_cue;

typedef struct heard_list {
    uint32_t count;
    heard_cue cues[HEARD_MAX];
} heard_list;

static heard_list heard[LISTENERS_MAX];

static void on_sound(void *user, ls_tick tick, const ls_sound *sound)
{
    const virtual_client *client = user;
    cr_assert_lt(client->index, LISTENERS_MAX);
    heard_list *list = &heard[client->index];
    cr_assert_lt(list->count, HEARD_MAX);
    list->cues[list->count++] = (heard_cue){tick, sound->id, sound->owner};
}

static virtual_client *add_listener(virtual_match *run, uint32_t predict_ticks, bool is_spectator)
{
    virtual_client_setup client = virtual_client_setup_default(run);
    client.session.on_sound = on_sound;
    client.session.predict_ticks = predict_ticks;
    client.session.is_spectator = is_spectator;
    return virtual_match_add_client(run, &client);
}

static virtual_setup bad_network(const ls_simulation *simulation, uint32_t players)
{
    virtual_setup setup = virtual_setup_default(simulation, 0, TICKS);
    setup.match.sim.players = players;
    setup.link = (ls_link_config){.delay_ns = 50 * MS, .jitter_ns = 20 * MS, .loss_ppm = 50000};
    return setup;
}

static uint32_t times_played(const heard_list *list, heard_cue cue)
{
    uint32_t times = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        times += list->cues[i].tick == cue.tick && list->cues[i].id == cue.id &&
                 list->cues[i].owner == cue.owner;
    }
    return times;
}

/* ---- with prediction ---- */

/* In a tick a ship fires once, is lost once and comes into play once. */
static bool comes_once(heard_cue cue)
{
    return cue.id != LS_ARENA_CUE_HIT;
}

static void check_none_twice(const heard_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        heard_cue cue = list->cues[i];
        cr_assert(!comes_once(cue) || times_played(list, cue) == 1,
                  "cue %u of %u in tick %u was heard %u times", cue.id, cue.owner, cue.tick,
                  times_played(list, cue));
    }
}

static void check_none_lost(const heard_list *list, const heard_list *truth)
{
    for (uint32_t i = 0; i < truth->count; i++) {
        heard_cue cue = truth->cues[i];
        cr_assert_geq(times_played(list, cue), times_played(truth, cue),
                      "cue %u of %u in tick %u was not heard", cue.id, cue.owner, cue.tick);
    }
}

Test(sounds, of_guessed_ticks_none_is_heard_twice_and_none_is_lost)
{
    virtual_setup setup = bad_network(ls_arena_simulation(), 4);
    set_param(&setup, "bodies=20");
    virtual_match *run = checked_match_create(&setup);
    for (uint32_t i = 0; i < 3; i++) {
        add_listener(run, PREDICT_TICKS, false);
    }
    add_listener(run, 0, false);
    play_and_check(run);
    const heard_list *truth = &heard[3];
    cr_assert_gt(truth->count, 100);
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_gt(report_of(run->clients[i]).rollbacks, 100);
        check_none_twice(&heard[i]);
        check_none_lost(&heard[i], truth);
        cr_expect_gt(heard[i].count, truth->count, "some guesses were wrong");
    }
    virtual_match_destroy(run);
}

/* ---- without ---- */

Test(sounds, every_listener_hears_the_same_and_a_spectator_as_well)
{
    virtual_setup setup = bad_network(ls_arena_simulation(), 2);
    setup.match.spectators_max = 1;
    set_param(&setup, "bodies=20");
    virtual_match *run = checked_match_create(&setup);
    add_listener(run, 0, false);
    add_listener(run, 0, false);
    add_listener(run, 0, true);
    play_and_check(run);
    cr_assert_gt(heard[0].count, 50);
    for (uint32_t i = 1; i < 3; i++) {
        cr_assert_eq(heard[i].count, heard[0].count, "%u, %u", heard[i].count, heard[0].count);
        cr_expect_arr_eq(heard[i].cues, heard[0].cues, heard[0].count * sizeof heard[0].cues[0]);
    }
    virtual_match_destroy(run);
}

/* ---- samples, one of each tick ---- */

static uint32_t sounds_calls;

static void play_tick(const ls_sim_config *config, const void *previous, const void *current,
                      ls_sound_list *list)
{
    static const int16_t pair[2];
    (void)config;
    cr_assert_neq(previous, current);
    sounds_calls++;
    ls_sound_push(list, (ls_sound){.kind = LS_SOUND_SAMPLES,
                                   .frames = 1,
                                   .rate_hz = LS_SOUND_RATE_MAX_HZ,
                                   .samples = pair});
}

static const ls_simulation *playing_simulation(void)
{
    static ls_simulation simulation;
    simulation = *test_simulation();
    simulation.sounds = play_tick;
    return &simulation;
}

Test(sounds, samples_of_a_tick_are_heard_once)
{
    virtual_setup setup = bad_network(playing_simulation(), 2);
    virtual_match *run = checked_match_create(&setup);
    add_listener(run, PREDICT_TICKS, false);
    add_listener(run, PREDICT_TICKS, false);
    play_and_check(run);
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert_gt(report_of(run->clients[i]).rollbacks, 100);
        for (ls_tick tick = 0; tick < TICKS; tick++) {
            cr_assert_eq(times_played(&heard[i], (heard_cue){.tick = tick}), 1, "tick %u", tick);
        }
    }
    virtual_match_destroy(run);
}

Test(sounds, where_nobody_listens_the_simulation_is_not_asked)
{
    virtual_setup setup = bad_network(playing_simulation(), 2);
    virtual_match *run = checked_match_create(&setup);
    add_clients(run, 2, NULL);
    play_and_check(run);
    cr_expect_eq(sounds_calls, 0);
    virtual_match_destroy(run);
}

Test(sounds, listening_allocates_nothing_once_the_match_runs)
{
    counting_allocator counting;
    counting_allocator_init(&counting);
    virtual_setup setup = bad_network(ls_arena_simulation(), 2);
    setup.allocator = &counting.allocator;
    virtual_match *run = checked_match_create(&setup);
    add_listener(run, PREDICT_TICKS, false);
    add_listener(run, 0, false);
    virtual_match_run_to_tick(run, 1);
    uint64_t allocations = counting.allocations;
    play_and_check(run);
    cr_expect_eq(counting.allocations, allocations);
    cr_expect_gt(heard[0].count, 0);
    virtual_match_destroy(run);
    cr_expect_eq(counting.live_blocks, 0);
}

/* ---- not what is over ---- */

Test(sounds, a_machine_that_stood_still_hears_the_newest_half_second)
{
    for (uint32_t predict_ticks = 0; predict_ticks <= PREDICT_TICKS;
         predict_ticks += PREDICT_TICKS) {
        virtual_setup setup = bad_network(playing_simulation(), 2);
        virtual_match *run = checked_match_create(&setup);
        add_listener(run, predict_ticks, false);
        add_listener(run, predict_ticks, false);
        virtual_match_run_to_tick(run, 200);
        run->clients[0]->is_paused = true;
        virtual_match_run(run, 4 * SECOND);
        uint32_t before = heard[0].count;
        run->clients[0]->is_paused = false;
        virtual_match_run(run, SECOND);
        cr_expect_gt(heard[0].count, before + 30);
        cr_expect_lt(heard[0].count, before + 30 + 120,
                     "%u of 300 ticks were played at once with %u guessed", heard[0].count - before,
                     predict_ticks);
        play_out(run);
        heard[0].count = 0;
        heard[1].count = 0;
    }
}

Test(sounds, a_player_who_comes_late_hears_nothing_of_what_was_before)
{
    virtual_setup setup = bad_network(playing_simulation(), 3);
    setup.match.start_players = 2;
    virtual_match *run = checked_match_create(&setup);
    add_listener(run, 0, false);
    add_listener(run, 0, false);
    virtual_match_run_to_tick(run, 400);
    virtual_client *late = add_listener(run, PREDICT_TICKS, false);
    play_and_check(run);
    const heard_list *list = &heard[late->index];
    ls_tick joined = report_of(late).joined_tick;
    cr_assert_gt(joined, 400);
    cr_assert_gt(list->count, 0);
    cr_expect_geq(list->cues[0].tick, joined - 30);
    virtual_match_destroy(run);
}
