#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/server/investigation/desync_finding.h"
#include "lockstep/tests/match/match_test.h"
#include "lockstep/tests/support/counting_allocator.h"
#include "lockstep/tests/support/engine_simulation.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- engines ---- */

/* Engines without a schema have the same diagnosis as games with one: their ticks are run again,
 * classified, compared by what they save, and healed. */

typedef const ls_simulation *(*engine_maker)(engine_fault fault);

static virtual_match *open_engine(engine_maker make, engine_fault fault, ls_on_desync rule,
                                  uint32_t predict_ticks)
{
    const ls_simulation *right = make(ENGINE_RIGHT);
    virtual_setup setup = virtual_setup_default(right, 2, 500);
    setup.match.on_desync = rule;
    setup.predict_ticks = predict_ticks;
    setup.link = (ls_link_config){.delay_ns = 50 * MS, .loss_ppm = 50000};
    setup.clients = 1;
    virtual_match *run = checked_match_create(&setup);
    virtual_client_setup client = virtual_client_setup_default(run);
    client.simulation = make(fault);
    add_clients(run, 1, &client);
    return run;
}

static const ls_desync_finding *finding_of(const virtual_match *run)
{
    uint32_t slot = report_of(run->clients[1]).slot;
    const ls_desync_finding *finding = ls_match_desync_of(run->match, slot);
    cr_assert_not_null(finding, "nothing was found out");
    return finding;
}

static void expect_class(engine_maker make, engine_fault fault, ls_desync_class kind,
                         const char *place, const char *pass)
{
    for (uint32_t predict = 0; predict <= 16; predict += 16) {
        virtual_match *run = open_engine(make, fault, LS_ON_DESYNC_REPORT, predict);
        virtual_match_run_to_end(run);
        check_sound(run);
        const ls_desync_finding *finding = finding_of(run);
        const char *why = finding->verdict.why.bytes;
        cr_expect_eq(finding->tick, ENGINE_BAD_TICK + 1);
        cr_expect_eq(finding->verdict.kind, kind, "%s", why);
        cr_expect_leq(finding->took_ns, 2 * SECOND);
        cr_expect(strncmp(finding->places[0].name, place, strlen(place)) == 0, "%s: %s",
                  finding->places[0].name, why);
        cr_expect_not(finding->is_lower_bound);
        cr_expect_not_null(strstr(why, "of the save differ"), "%s", why);
        cr_expect_not_null(strstr(why, "the first at byte "), "%s", why);
        if (pass) {
            cr_expect_eq(finding->differing_pass, LS_PASS_AT);
            cr_expect_str_eq(finding->pass ? finding->pass : "", pass);
        }
        check_others_played(run, run->clients[1]);
        virtual_match_destroy(run);
    }
}

/* Body 7 begins at byte 148 of the save; its y is 8 bytes behind that, and 4 long. Memory that was
 * not set may hold the right byte by chance: any of the four is right then. */
Test(engines, a_fault_among_objects_on_the_heap_is_classified_with_pass_and_byte)
{
    expect_class(engine_with_objects, ENGINE_BUILD, LS_DESYNC_CLASS_BUILD, "save[156]", "move");
    expect_class(engine_with_objects, ENGINE_STATIC, LS_DESYNC_CLASS_OUTSIDE, "save[156]", NULL);
    expect_class(engine_with_objects, ENGINE_UNSET, LS_DESYNC_CLASS_UNSTABLE, "save[15", "move");
    expect_class(engine_with_objects, ENGINE_FLIP, LS_DESYNC_CLASS_ONE_OFF, "save[158]", NULL);
}

Test(engines, a_fault_in_a_save_with_named_regions_is_told_by_name)
{
    expect_class(engine_with_memory, ENGINE_BUILD, LS_DESYNC_CLASS_BUILD, "cpu.accumulator",
                 "frame");
    expect_class(engine_with_memory, ENGINE_STATIC, LS_DESYNC_CLASS_OUTSIDE, "cpu.accumulator",
                 NULL);
    expect_class(engine_with_memory, ENGINE_UNSET, LS_DESYNC_CLASS_UNSTABLE, "cpu.accumulator",
                 "frame");
    expect_class(engine_with_memory, ENGINE_FLIP, LS_DESYNC_CLASS_ONE_OFF, "cpu.accumulator", NULL);
}

static void expect_healed(engine_maker make, uint32_t predict_ticks)
{
    virtual_match *run = open_engine(make, ENGINE_FLIP, LS_ON_DESYNC_HEAL, predict_ticks);
    virtual_match_run_to_end(run);
    check_complete(run);
    uint32_t slot = report_of(run->clients[1]).slot;
    cr_expect_eq(virtual_match_count(run, LS_MATCH_HEALING, slot), 1);
    cr_expect_eq(virtual_match_count(run, LS_MATCH_HEALED, slot), 1);
    cr_expect_eq(finding_of(run)->verdict.kind, LS_DESYNC_CLASS_ONE_OFF);
    virtual_match_destroy(run);
}

Test(engines, a_classified_engine_is_healed_with_a_snapshot)
{
    expect_healed(engine_with_objects, 0);
    expect_healed(engine_with_objects, 16);
    expect_healed(engine_with_memory, 0);
    expect_healed(engine_with_memory, 16);
}

/* Its save is longer at times than that of state 0. */
Test(engines, spectators_and_late_players_of_a_save_that_grows_agree)
{
    virtual_setup setup = virtual_setup_default(engine_with_memory(ENGINE_RIGHT), 2, 700);
    setup.match.spectators_max = 2;
    setup.match.spectator_delay_ticks = 30;
    setup.clients = 1;
    virtual_match *run = match_at(&setup, 0);
    virtual_client_setup late = virtual_client_setup_default(run);
    virtual_client_setup spectator = late;
    spectator.session.is_spectator = true;
    add_clients(run, 1, &late);
    virtual_match_run_to_tick(run, 333);
    add_clients(run, 1, &spectator);
    virtual_match_run_to_end(run);
    check_sound(run);
    check_played_to_the_end(run, run->clients[0]);
    check_played_to_the_end(run, run->clients[1]);
    cr_expect_eq(report_of(run->clients[2]).status, LS_OK);
    cr_expect_eq(report_of(run->clients[2]).tick, 700);
    virtual_match_destroy(run);
}

/* ---- saves that do not hold the state ---- */

static const ls_simulation *leaky_of;

/* The number of pushes, which is hashed, is not in it. */
static size_t save_without_pushes(const ls_sim_config *config, const void *state, uint8_t *bytes,
                                  size_t capacity)
{
    size_t size = leaky_of->save(config, state, bytes, capacity);
    if (capacity >= size) {
        memset(bytes + 4, 0, 4);
    }
    return size;
}

static ls_simulation leaky_engine(void)
{
    leaky_of = engine_with_objects(ENGINE_RIGHT);
    ls_simulation leaky = *leaky_of;
    leaky.save = save_without_pushes;
    return leaky;
}

static void expect_reported(const char *text)
{
    cr_expect_not_null(strstr(text, "the simulation's save leaves out what its hash reads"), "%s",
                       text);
    cr_expect_not_null(strstr(text, "lockstep-synctest GAME.so --only save,join"), "%s", text);
}

Test(engines, a_late_player_of_a_save_that_leaves_something_out_is_told_so_on_both_sides)
{
    ls_simulation leaky = leaky_engine();
    virtual_setup setup = virtual_setup_default(&leaky, 2, 400);
    setup.clients = 1;
    setup.match.start_players = 1;
    virtual_match *run = match_at(&setup, 0);
    virtual_client_setup late = virtual_client_setup_default(run);
    virtual_match_run_to_tick(run, 200);
    add_clients(run, 1, &late);
    virtual_match_run_to_end(run);
    ls_session_report report = report_of(run->clients[1]);
    cr_expect_eq(report.status, LS_DESYNCED);
    const virtual_client_event *over = virtual_client_find(run->clients[1], LS_SESSION_EVENT_OVER);
    cr_assert_not_null(over);
    expect_reported(over->event.text.bytes);
    const virtual_event *left = virtual_match_find_slot(run, LS_MATCH_PLAYER_LEFT, 1);
    cr_assert_not_null(left);
    expect_reported(left->event.text.bytes);
    expect_reported(ls_match_slot_of(run->match, 1).left_why);
    virtual_match_destroy(run);
}

/* Two numbers on the heap. The first is saved; the second is hashed alone, and moves nothing. */
typedef struct counts {
    uint32_t saved;
    uint32_t forgotten;
} counts;

static counts *counts_of(const void *state)
{
    return *(counts *const *)state;
}

static size_t counts_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(counts *);
}

static ls_status counts_init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)config;
    (void)why;
    counts *made = calloc(1, sizeof *made);
    *(counts **)state = made;
    return made ? LS_OK : LS_NO_MEMORY;
}

static void counts_deinit(const ls_sim_config *config, void *state)
{
    (void)config;
    free(counts_of(state));
}

static void count(const ls_step *step)
{
    counts *now = counts_of(step->state);
    for (uint32_t slot = 0; slot < step->inputs->slot_count; slot++) {
        now->saved += step->inputs->slots[slot].size;
    }
    now->forgotten += now->saved + 1;
}

static uint64_t counts_hash(const ls_sim_config *config, const void *state)
{
    (void)config;
    const counts *now = counts_of(state);
    return (uint64_t)now->saved << 32 | now->forgotten;
}

static size_t counts_save(const ls_sim_config *config, const void *state, uint8_t *bytes,
                          size_t capacity)
{
    (void)config;
    if (capacity >= sizeof(uint32_t)) {
        ls_store_u32(bytes, counts_of(state)->saved);
    }
    return sizeof(uint32_t);
}

static ls_status counts_load(const ls_sim_config *config, void *state, const uint8_t *bytes,
                             size_t size)
{
    (void)config;
    if (size != sizeof(uint32_t)) {
        return LS_MALFORMED;
    }
    *counts_of(state) = (counts){ls_load_u32(bytes), 0};
    return LS_OK;
}

static ls_simulation forgetful_engine(void)
{
    static const ls_pass passes[] = {{"count", count}};
    ls_simulation forgetful = *engine_with_objects(ENGINE_RIGHT);
    forgetful.name = "forgetful";
    forgetful.passes = passes;
    forgetful.pass_count = 1;
    forgetful.state_bytes = counts_bytes;
    forgetful.init = counts_init;
    forgetful.deinit = counts_deinit;
    forgetful.hash = counts_hash;
    forgetful.save = counts_save;
    forgetful.load = counts_load;
    return forgetful;
}

/* A player ahead loads what was saved, and has another hash from then on, of the same save. */
Test(engines, a_player_ahead_of_a_save_that_leaves_something_out_is_no_liar)
{
    ls_simulation forgetful = forgetful_engine();
    virtual_setup setup = virtual_setup_default(&forgetful, 2, 400);
    setup.clients = 1;
    setup.link = (ls_link_config){.delay_ns = 50 * MS};
    virtual_match *run = checked_match_create(&setup);
    virtual_client_setup ahead = virtual_client_setup_default(run);
    ahead.session.predict_ticks = 16;
    add_clients(run, 1, &ahead);
    virtual_match_run_to_end(run);
    const ls_desync_finding *finding = finding_of(run);
    const char *why = finding->verdict.why.bytes;
    cr_expect_eq(finding->verdict.kind, LS_DESYNC_CLASS_OUTSIDE, "%s", why);
    cr_expect_not_null(strstr(why, " do not differ: what the engine hashes is not in them"), "%s",
                       why);
    check_others_played(run, run->clients[1]);
    virtual_match_destroy(run);
}

/* ---- sounds ---- */

/* Players that listen: whatever was guessed and taken back, a sound of the match is heard once, and
 * at the right machine. */

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
