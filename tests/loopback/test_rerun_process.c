#define _DEFAULT_SOURCE /* setenv, mkdtemp */
#include "lockstep/common/runtime/rerun/rerun_process.h"

#include "lockstep/common/base/language.h"
#include "lockstep/common/diagnosis/desync_class.h"
#include "lockstep/common/loader/plugin_loader.h"
#include "lockstep/common/runtime/rerun/rerun_helper.h"
#include "lockstep/common/runtime/rerun/rerun_writes.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/tests/plugins/minimal.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    TICKS = 90,
    AGREED = 70,
    CRASH = 1,
    HANG = 2,
    CRASH_IN_INIT = 3,
    LEAVE = 4,
    PRINT = 5,
    SEED = 6,
    HEAP = 7,
    ORDER = 8,
    TIME = 9,
    UNSET_VARIABLE = 10,
    COIN = 11,
    TOGGLE = 13,
    BLINK = 14,
    GROWN = 15,
    ALIGNED = 16,
    TWINS = 17,
    PAST_END = 18,
    DEEP = 19,
    DAY = 20,
    THREADS = 21,
    LOST = 22,
    LARGE_MIB = 17,       /* of state, which helpers treat as a large one */
    TIME_MAX_MS = 600000, /* for surroundings as well, with sanitizers and on a busy machine */
};

#define TRAP LS_TEST_PLUGIN_DIR "/trap.so"

/* A match of one machine, played in this process, and the host of its re-runs. */
typedef struct fixture {
    ls_event_loop *loop;
    ls_loop_source *beat; /* polls, and keeps the loop running */
    ls_loaded_simulation loaded;
    ls_sim_instance *instance;
    ls_replay_window *window;
    ls_rerun_process *process;
    ls_rerun_host host;
    uint32_t time_max_ms; /* of a run */
    uint32_t ticket;
    const ls_rerun_outcome *outcome;
} fixture;

static void on_beat(void *user, uint64_t now_ns)
{
    fixture *here = user;
    here->outcome = here->host.poll(here->host.context, here->ticket, now_ns);
    if (here->outcome) {
        ls_event_loop_stop(here->loop);
    }
}

static void play(fixture *here)
{
    for (ls_tick tick = 0; tick < TICKS; tick++) {
        uint8_t bytes[2] = {(uint8_t)tick, (uint8_t)(tick * 7)};
        ls_slot_input slots[LS_PLAYERS_MAX] = {{NULL, 0, tick == 0 ? LS_EVENT_JOINED : 0}};
        if (here->loaded.simulation->input_bytes_max >= sizeof bytes) {
            slots[0].bytes = bytes;
            slots[0].size = sizeof bytes;
        }
        ls_tick_inputs inputs = {tick, ls_sim_instance_config(here->instance)->players, slots};
        ls_sim_instance_step(here->instance, &inputs);
        ls_replay_window_record(here->window, &inputs, here->instance,
                                ls_sim_instance_hash(here->instance));
    }
}

static void create_process(fixture *here, const char *executable, const char *name)
{
    const ls_rerun_process_config config = {executable, name};
    cr_assert_eq(ls_rerun_process_create(&config, ls_allocator_heap(), &here->process), LS_OK);
    ls_rerun_process_attach(here->process, here->loop);
    here->host = *ls_rerun_process_host(here->process);
}

static void destroy_process(fixture *here)
{
    ls_rerun_process_detach(here->process);
    ls_rerun_process_destroy(here->process);
}

static void open_match(fixture *here, ls_sim_config sim)
{
    const ls_allocator *heap = ls_allocator_heap();
    cr_assert_eq(ls_sim_instance_create(here->loaded.simulation, &sim, heap, &here->instance, NULL),
                 LS_OK);
    ls_replay_window_config window = {.window_ticks = 128,
                                      .recent_ticks = 100,
                                      .reach_ticks = 60,
                                      .snapshots = 2,
                                      .log_bytes = 1 << 16};
    cr_assert_eq(ls_replay_window_create(&window, here->instance, heap, &here->window), LS_OK);
    ls_replay_window_start(here->window, here->instance, ls_sim_instance_hash(here->instance));
    play(here);
}

/* The trap springs in helpers alone: in the last tick where chance is tossed, memory is not set or
 * the state is large, since no other tick is repeated by itself. */
static fixture open_fixture_with(const char *name, int64_t trap, int64_t ballast_mib,
                                 uint32_t time_max_ms)
{
    fixture here = {0};
    ls_text why = {{0}};
    const ls_allocator *heap = ls_allocator_heap();
    cr_assert_eq(ls_simulation_load(name, &here.loaded, &why), LS_OK, "%s", why.bytes);
    const ls_simulation *simulation = here.loaded.simulation;
    ls_sim_config sim = ls_sim_config_default(simulation);
    if (trap != 0) {
        sim.params[0] = trap;
        sim.params[1] = trap == COIN || trap >= GROWN || ballast_mib > 0 ? TICKS - 1 : AGREED + 5;
    }
    if (ballast_mib != 0) {
        sim.params[2] = ballast_mib;
    }
    open_match(&here, sim);
    cr_assert_eq(ls_event_loop_create(heap, &here.loop), LS_OK);
    create_process(&here, LS_TEST_SERVER, name);
    here.time_max_ms = time_max_ms;
    return here;
}

static fixture open_fixture(const char *name, int64_t trap, uint32_t time_max_ms)
{
    return open_fixture_with(name, trap, 0, time_max_ms);
}

static void close_fixture(fixture *here)
{
    destroy_process(here);
    ls_event_loop_destroy(here->loop);
    ls_replay_window_destroy(here->window);
    ls_sim_instance_destroy(here->instance);
    ls_simulation_unload(&here->loaded);
}

static void start_agreed(fixture *here, ls_tick agreed, uint32_t pass, bool is_single)
{
    ls_replay_stretch stretch;
    cr_assert_eq(ls_replay_window_stretch(here->window, AGREED, TICKS, &stretch), LS_OK);
    stretch.agreed = agreed;
    const ls_rerun_request request = {here->instance, &stretch, here->window,     pass,
                                      is_single,      false,    here->time_max_ms};
    cr_assert_eq(here->host.start(here->host.context, &request, &here->ticket), LS_OK);
}

static void start_as(fixture *here, uint32_t pass, bool is_single)
{
    start_agreed(here, AGREED, pass, is_single);
}

static void start(fixture *here, uint32_t pass)
{
    start_as(here, pass, false);
}

static const ls_rerun_outcome *outcome_of(fixture *here, uint32_t ticket)
{
    here->ticket = ticket;
    cr_assert_eq(
        ls_event_loop_add_timer(here->loop, 2, (ls_loop_handler){on_beat, here}, &here->beat),
        LS_OK);
    ls_event_loop_run(here->loop);
    ls_loop_source_remove(here->beat);
    return here->outcome;
}

static const ls_rerun_outcome *run(fixture *here, uint32_t pass)
{
    start(here, pass);
    return outcome_of(here, here->ticket);
}

Test(rerun_process, one_run_is_made_in_one_process_and_gives_no_state)
{
    fixture here = open_fixture("units", 0, TIME_MAX_MS);
    start_as(&here, LS_NO_PASS, true);
    const ls_rerun_outcome *outcome = outcome_of(&here, here.ticket);
    cr_expect_str_eq(outcome->failure.bytes, "");
    cr_expect_eq(outcome->figures.known, LS_RERUN_LIVE | LS_RERUN_FRESH);
    cr_expect_eq(outcome->figures.fresh, ls_sim_instance_hash(here.instance));
    cr_expect_eq(outcome->figures.tried, 0);
    cr_expect_eq(outcome->passes.pass_count, here.loaded.simulation->pass_count);
    cr_expect_null(outcome->state);
    close_fixture(&here);
}

static void expect_failure(int64_t trap, uint32_t time_max_ms, const char *words)
{
    fixture here = open_fixture(TRAP, trap, time_max_ms);
    const ls_rerun_outcome *outcome = run(&here, LS_NO_PASS);
    cr_expect(strstr(outcome->failure.bytes, words), "'%s' is not in '%s'", words,
              outcome->failure.bytes);
    cr_expect_null(outcome->state);
    close_fixture(&here);
}

Test(rerun_process, helper_gets_what_the_match_got)
{
    static const char *const names[] = {"units", "tumble", TRAP};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        fixture here = open_fixture(names[i], 0, TIME_MAX_MS);
        const ls_rerun_outcome *outcome = run(&here, 0);
        uint64_t live = ls_sim_instance_hash(here.instance);
        const uint32_t all =
            LS_RERUN_LIVE | LS_RERUN_FRESH | LS_RERUN_AGAIN | LS_RERUN_RELOADED | LS_RERUN_APART;
        cr_expect_str_eq(outcome->failure.bytes, "");
        cr_expect_eq(outcome->figures.known & all, all);
        cr_expect_eq(outcome->figures.live, live);
        cr_expect_eq(outcome->figures.fresh, live);
        cr_expect_eq(outcome->figures.again, live);
        cr_expect_eq(outcome->figures.apart, live);
        cr_expect_eq(outcome->figures.strayed, outcome->figures.tick);
        cr_expect_eq(outcome->passes.pass_count, here.loaded.simulation->pass_count);
        cr_assert_not_null(outcome->state);
        cr_expect_not_null(outcome->pass_state);
        cr_assert_eq(ls_sim_instance_load(here.instance, outcome->state,
                                          ls_sim_instance_image_bytes(here.instance), TICKS),
                     LS_OK);
        cr_expect_eq(ls_sim_instance_hash(here.instance), live);
        close_fixture(&here);
    }
}

static void expect_left(const fixture *here, const ls_rerun_outcome *outcome)
{
    size_t bytes = ls_sim_instance_image_bytes(here->instance);
    uint64_t live = ls_sim_instance_hash(here->instance);
    uint8_t *state = ls_allocate(ls_allocator_heap(), bytes);
    cr_assert_not_null(state);
    for (ls_rerun_which which = 0; which < LS_RERUN_WHICH_COUNT; which++) {
        cr_assert(outcome->is_left[which]);
        cr_assert(outcome->copy(outcome->reader, which, state));
        cr_assert_eq(ls_sim_instance_load(here->instance, state, bytes, TICKS), LS_OK);
        cr_expect_eq(ls_sim_instance_hash(here->instance),
                     which == LS_RERUN_REACHED ? live : outcome->passes.state_hashes[0]);
    }
    ls_release(ls_allocator_heap(), state);
}

Test(rerun_process, large_states_stay_outside_this_process_until_they_are_read)
{
    fixture here = open_fixture_with(TRAP, 0, LARGE_MIB, TIME_MAX_MS);
    const ls_rerun_outcome *outcome = run(&here, 0);
    cr_expect_str_eq(outcome->failure.bytes, "");
    cr_expect_eq(outcome->figures.fresh, ls_sim_instance_hash(here.instance));
    cr_expect_eq(outcome->figures.strayed, outcome->figures.tick);
    cr_expect_null(outcome->state);
    cr_expect_null(outcome->pass_state);
    expect_left(&here, outcome);
    close_fixture(&here);
}

static void expect_race(const ls_rerun_figures *figures)
{
    cr_expect(figures->known & LS_RERUN_RACES);
    cr_expect_not(figures->known & LS_RERUN_APART);
    cr_expect(figures->apart > 0 && figures->apart < LS_RERUN_TIMES);
}

/* The last tick is, from the state before it. */
Test(rerun_process, runs_of_large_states_are_repeated_as_well)
{
    fixture here = open_fixture_with(TRAP, TIME, LARGE_MIB, TIME_MAX_MS);
    const ls_rerun_figures *figures = &run(&here, LS_NO_PASS)->figures;
    expect_race(figures);
    close_fixture(&here);
    here = open_fixture_with(TRAP, SEED, LARGE_MIB, TIME_MAX_MS);
    figures = &run(&here, LS_NO_PASS)->figures;
    cr_expect(figures->known & LS_RERUN_APART);
    cr_expect_neq(figures->apart, figures->fresh);
    cr_expect_not(figures->known & LS_RERUN_RACES);
    close_fixture(&here);
}

#if defined(__GLIBC__) && !LS_IS_SANITIZED
/* No run takes a day, so each copy has a clock of its own. */
Test(rerun_process, a_result_of_the_day_is_none_of_the_saved_state)
{
    fixture here = open_fixture(TRAP, DAY, TIME_MAX_MS);
    const ls_rerun_figures *figures = &run(&here, LS_NO_PASS)->figures;
    cr_expect(figures->known & LS_RERUN_APART);
    cr_expect_neq(figures->apart, figures->fresh);
    close_fixture(&here);
}

/* Of threads that do little, the one that begins first is first nearly always, until it is delayed.
 */
Test(rerun_process, an_order_of_threads_that_hardly_ever_changes_is_a_race)
{
    fixture here = open_fixture(TRAP, THREADS, TIME_MAX_MS);
    expect_race(&run(&here, LS_NO_PASS)->figures);
    close_fixture(&here);
}

/* Threads that begin one after the other and do little never meet. */
Test(rerun_process, what_is_lost_where_threads_meet_without_a_lock_is_a_race)
{
    fixture here = open_fixture(TRAP, LOST, TIME_MAX_MS);
    const ls_rerun_figures *figures = &run(&here, LS_NO_PASS)->figures;
    cr_expect(figures->known & LS_RERUN_RACES);
    close_fixture(&here);
}
#endif

Test(rerun_process, writes_outside_large_states_are_named_as_well)
{
    fixture here = open_fixture_with(TRAP, TOGGLE, LARGE_MIB, TIME_MAX_MS);
    const ls_rerun_outcome *outcome = run(&here, LS_NO_PASS);
    cr_expect_str_eq(outcome->outside.bytes, "pass spring writes to the variable calls");
    cr_expect_str_eq(outcome->harmless.bytes, "");
    cr_expect_not(outcome->figures.known & LS_RERUN_RACES, "it is the same each time");
    close_fixture(&here);
}

Test(rerun_process, what_a_process_has_of_its_own_shows_in_another_one_alone)
{
    fixture here = open_fixture(TRAP, SEED, TIME_MAX_MS);
    const ls_rerun_figures *figures = &run(&here, LS_NO_PASS)->figures;
    cr_expect_eq(figures->fresh, figures->again);
    cr_expect_eq(figures->fresh, figures->reloaded);
    cr_expect(figures->known & LS_RERUN_APART);
    cr_expect_neq(figures->fresh, figures->apart);
    close_fixture(&here);
}

Test(rerun_process, surroundings_that_change_the_result_are_told_from_those_that_do_not)
{
    fixture here = open_fixture(TRAP, 0, TIME_MAX_MS);
    const ls_rerun_figures *figures = &run(&here, LS_NO_PASS)->figures;
    cr_expect_eq(figures->tried, LS_SURROUNDINGS_ALL);
    cr_expect_eq(figures->moved, 0);
    close_fixture(&here);
    cr_assert_eq(setenv("LS_TEST_TRAP", "1", 1), 0);
    here = open_fixture(TRAP, UNSET_VARIABLE, TIME_MAX_MS);
    figures = &run(&here, LS_NO_PASS)->figures;
    unsetenv("LS_TEST_TRAP");
    cr_expect_eq(figures->fresh, ls_sim_instance_hash(here.instance));
    cr_expect_eq(figures->apart, figures->fresh);
    cr_expect_eq(figures->tried, LS_SURROUNDINGS_ALL);
    cr_expect_eq(figures->moved, LS_SURROUNDING_BIT(LS_SURROUNDING_VARIABLES));
    close_fixture(&here);
}

#if defined(__x86_64__)
/* A plug-in that asks the processor itself gets the same answers with features off. */
Test(rerun_process, features_that_a_plug_in_finds_out_itself_are_not_made_equal)
{
    static const struct {
        const char *plugin;
        bool is_made_equal;
    } cases[] = {
        {LS_TEST_PLUGIN_DIR "/own_cpuid.so", false},
#if defined(__GNUC__) && !defined(__clang__)
        {LS_TEST_PLUGIN_DIR "/clones.so", true},
        {LS_TEST_PLUGIN_DIR "/clones_stripped.so", false},
#endif
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture here = open_fixture(cases[i].plugin, 0, TIME_MAX_MS);
        uint32_t tried = run(&here, LS_NO_PASS)->figures.tried;
        uint32_t features = LS_SURROUNDING_BIT(LS_SURROUNDING_CPU_FEATURES);
        cr_expect_eq(tried,
                     cases[i].is_made_equal ? LS_SURROUNDINGS_ALL : LS_SURROUNDINGS_ALL & ~features,
                     "%s", cases[i].plugin);
        close_fixture(&here);
    }
}
#endif

#if defined(__GLIBC__) && !LS_HAS_ADDRESS_SANITIZER
Test(rerun_process, bytes_of_the_heap_differ_from_run_to_run)
{
    fixture here = open_fixture(TRAP, HEAP, TIME_MAX_MS);
    const ls_rerun_figures *figures = &run(&here, LS_NO_PASS)->figures;
    cr_expect_neq(figures->fresh, figures->again);
    cr_expect(figures->known & LS_RERUN_REPEATED);
    cr_expect_eq(figures->fresh, figures->apart);
    close_fixture(&here);
}
#endif

#if !LS_HAS_ADDRESS_SANITIZER
static void expect_unset(int64_t trap)
{
    fixture here = open_fixture(TRAP, trap, TIME_MAX_MS);
    const ls_rerun_outcome *outcome = run(&here, LS_NO_PASS);
    const ls_rerun_figures *figures = &outcome->figures;
    cr_expect_neq(figures->fresh, figures->again, "trap %d", (int)trap);
    cr_expect(figures->known & LS_RERUN_REPEATED, "trap %d", (int)trap);
    cr_expect_eq(figures->fresh, figures->apart, "trap %d", (int)trap);
    cr_expect_eq(outcome->unstable_pass, 1, "trap %d", (int)trap);
    close_fixture(&here);
}

Test(rerun_process, bytes_far_down_on_the_stack_differ_from_run_to_run)
{
    expect_unset(DEEP);
}
#endif

#if defined(__GLIBC__) && !LS_IS_SANITIZED
/* The C library fills nothing of what realloc adds to a block in its place. */
Test(rerun_process, bytes_of_any_block_that_were_not_set_differ_from_run_to_run)
{
    expect_unset(GROWN);
    expect_unset(ALIGNED);
    expect_unset(TWINS);
    expect_unset(PAST_END);
}
#endif

#if defined(__GLIBC__) && !LS_HAS_ADDRESS_SANITIZER && !LS_HAS_THREAD_SANITIZER
Test(rerun_process, order_of_addresses_from_the_heap_is_another_in_another_process)
{
    fixture here = open_fixture(TRAP, ORDER, TIME_MAX_MS);
    const ls_rerun_figures *figures = &run(&here, LS_NO_PASS)->figures;
    cr_expect(figures->known & LS_RERUN_APART);
    cr_expect_neq(figures->fresh, figures->apart);
    close_fixture(&here);
}
#endif

/* In one process the second run differs and the third does not, as with memory that is not set. */
Test(rerun_process, a_static_that_comes_back_is_told_from_memory_that_is_not_set)
{
    fixture here = open_fixture(TRAP, TOGGLE, TIME_MAX_MS);
    const ls_rerun_figures *figures = &run(&here, LS_NO_PASS)->figures;
    cr_expect_neq(figures->fresh, figures->again);
    cr_expect(figures->known & LS_RERUN_CHANGED);
    cr_expect_not(figures->known & (LS_RERUN_REPEATED | LS_RERUN_RACES));
    close_fixture(&here);
}

/* A run that strays on the way and comes to the same end is repeated like all that show something.
 */
Test(rerun_process, chance_that_is_gone_at_the_end_is_no_state_outside)
{
    fixture here = open_fixture(TRAP, BLINK, TIME_MAX_MS);
    start_agreed(&here, AGREED + 10, LS_NO_PASS, false);
    const ls_rerun_figures *figures = &outcome_of(&here, here.ticket)->figures;
    cr_expect_lt(figures->strayed, figures->tick);
    cr_expect_eq(figures->fresh, ls_sim_instance_hash(here.instance));
    expect_race(figures);
    close_fixture(&here);
}

typedef struct writing_plugin {
    const char *plugin;
    int64_t trap;
    const char *outside;
    const char *harmless;
} writing_plugin;

static void expect_writes(const writing_plugin *plugin)
{
    fixture here = open_fixture(plugin->plugin, plugin->trap, TIME_MAX_MS);
    const ls_rerun_outcome *outcome = run(&here, LS_NO_PASS);
    cr_expect_str_eq(outcome->outside.bytes, plugin->outside);
    cr_expect_str_eq(outcome->harmless.bytes, plugin->harmless);
    close_fixture(&here);
}

Test(rerun_process, writes_outside_the_state_are_named_with_what_makes_them)
{
    static const writing_plugin cases[] = {
        {TRAP, TOGGLE, "pass spring writes to the variable calls", ""},
        {TRAP, 0, "", ""},
        {"units", 0, "", ""},
        {LS_TEST_PLUGIN_DIR "/borrowed.so", 0, "pass lend writes to the variable turns",
         "pass lend writes to the variable current"},
        {LS_TEST_PLUGIN_DIR "/warmed.so", 0, "",
         "pass count writes to the thread-local variable counted, bot writes to the variable "
         "warmed, control writes to the variable keys, draw_control writes to the variable marks, "
         "status writes to the variable lines, draw writes to the variable frames, sounds writes "
         "to the variable cues"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_writes(&cases[i]);
    }
}

#if !LS_HAS_ADDRESS_SANITIZER /* such a program is too large */
static volatile uint32_t sway_so_far, between[64], swayed_last;

static void sway(const ls_step *step)
{
    (void)between[0]; /* neighbours are one write */
    swayed_last = step->inputs->tick;
    sway_so_far = sway_so_far * 3 + swayed_last;
    ((minimal_state *)step->state)->ships[1].fuel = sway_so_far;
}

static uint32_t sway_fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field all[] = {MINIMAL_SHIP_FIELD(x, LS_FIELD_FIXED, "m"),
                            MINIMAL_SHIP_FIELD(angle, LS_FIELD_ANGLE, "deg"),
                            MINIMAL_SHIP_FIELD(fuel, LS_FIELD_U32, "kg")};
    return ls_fields_copy(all, 3, out, capacity);
}

static ls_rerun_writes found;
static uint32_t found_times;

static bool keep_found(const ls_rerun_writes *writes)
{
    found = *writes;
    found_times++;
    return true;
}

/* As of a program that has its simulation linked into it. */
Test(rerun_process, variables_of_the_program_itself_are_named)
{
    static const ls_pass passes[] = {{"sway", sway}};
    ls_simulation simulation = minimal_simulation("sway", sway_fields);
    simulation.passes = passes;
    fixture here = {.loaded = {.simulation = &simulation}};
    open_match(&here, ls_sim_config_default(&simulation));
    ls_replay_stretch stretch;
    cr_assert_eq(ls_replay_window_stretch(here.window, AGREED, TICKS, &stretch), LS_OK);
    const ls_rerun_match match = {.config = *ls_sim_instance_config(here.instance)};
    cr_assert(ls_rerun_writes_find(&simulation, &match, &stretch, keep_found));
    cr_expect_eq(found_times, 2);
    cr_expect_str_eq(found.outside.bytes, "pass sway writes to the variable sway_so_far");
    cr_expect_str_eq(found.harmless.bytes, "pass sway writes to the variable swayed_last");
    ls_replay_window_destroy(here.window);
    ls_sim_instance_destroy(here.instance);
}
#endif

Test(rerun_process, variables_of_cpp_and_rust_are_named_as_in_the_source)
{
#if !defined(LS_HAS_LIBIBERTY)
    cr_skip_test("libiberty was not there when this was built");
#endif
    expect_writes(&(writing_plugin){
        .plugin = LS_TEST_PLUGIN_DIR "/warmed_named.so",
        .outside = "",
        .harmless = "pass count writes to the thread-local variable light::counted, bot writes to "
                    "the variable light::bot()::warmed, control writes to the variable keys, "
                    "draw_control writes to the variable marks, status writes to the variable "
                    "lines, draw writes to the variable light::show::frames, sounds writes to the "
                    "variable cues"});
}

#if defined(__linux__) && defined(__x86_64__) && !LS_HAS_THREAD_SANITIZER
/* Those of the pass that were closed, and that of the bot, whose stream keeps what it is given. */
Test(rerun_process, files_that_are_written_are_named_with_what_writes_them)
{
    static const char *const names[] = {"notes.log", "bot.log"};
    char folder[] = "/tmp/lockstep-scribe-XXXXXX";
    char path[64];
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(setenv("SCRIBE_FOLDER", folder, 1), 0);
    fixture here = open_fixture(LS_TEST_PLUGIN_DIR "/scribe.so", 0, TIME_MAX_MS);
    cr_expect_str_eq(run(&here, LS_NO_PASS)->harmless.bytes,
                     "pass note writes to the file notes.log, bot writes to the variable file, bot "
                     "writes to the file bot.log");
    close_fixture(&here);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        struct stat file;
        cr_expect(i == 0 || (stat(path, &file) == 0 && file.st_size == 0), "it is refused");
        unlink(path);
    }
    rmdir(folder);
}
#endif

Test(rerun_process, time_shows_when_runs_are_repeated)
{
    fixture here = open_fixture(TRAP, TIME, TIME_MAX_MS);
    const ls_rerun_outcome *outcome = run(&here, LS_NO_PASS);
    expect_race(&outcome->figures);
    cr_expect_eq(outcome->unstable_pass, LS_NO_PASS, "it was not in the last tick");
    close_fixture(&here);
}

Test(rerun_process, chance_that_spares_whole_runs_shows_when_the_last_step_is_repeated)
{
    fixture here = open_fixture(TRAP, COIN, TIME_MAX_MS);
    const ls_rerun_outcome *outcome = run(&here, LS_NO_PASS);
    cr_expect_eq(outcome->figures.fresh, outcome->figures.again);
    expect_race(&outcome->figures);
    cr_expect_eq(outcome->unstable_pass, 1);
    close_fixture(&here);
}

Test(rerun_process, a_plugin_that_prints_does_not_spoil_the_outcome)
{
    fixture here = open_fixture(TRAP, PRINT, TIME_MAX_MS);
    const ls_rerun_outcome *outcome = run(&here, LS_NO_PASS);
    cr_expect_str_eq(outcome->failure.bytes, "");
    cr_expect_not_null(outcome->state);
    close_fixture(&here);
}

Test(rerun_process, crashes_and_hangs_are_told_and_cost_the_helper_alone)
{
    expect_failure(CRASH, TIME_MAX_MS, "crashed in tick 75 (segmentation fault)");
    expect_failure(CRASH_IN_INIT, TIME_MAX_MS, "crashed while it was started (segmentation fault)");
    expect_failure(LEAVE, TIME_MAX_MS, "its process ended early");
    expect_failure(HANG, 300, "took longer than ");
}

Test(rerun_process, time_that_a_helper_waits_for_a_processor_is_not_spent)
{
    cr_expect_eq(ls_rerun_spent_ns(3 * LS_NS_PER_SECOND, 3 * LS_NS_PER_SECOND),
                 3 * LS_NS_PER_SECOND);
    cr_expect_eq(ls_rerun_spent_ns(3 * LS_NS_PER_SECOND, 2 * LS_NS_PER_SECOND),
                 2 * LS_NS_PER_SECOND);
    cr_expect_eq(ls_rerun_spent_ns(3 * LS_NS_PER_SECOND, 9 * LS_NS_PER_SECOND),
                 3 * LS_NS_PER_SECOND, "of several threads");
}

Test(rerun_process, a_helper_that_waits_for_ever_has_four_times_as_long)
{
    cr_expect_eq(ls_rerun_spent_ns(12 * LS_NS_PER_SECOND, 0), 3 * LS_NS_PER_SECOND);
    cr_expect_eq(ls_rerun_spent_ns(12 * LS_NS_PER_SECOND, 2 * LS_NS_PER_SECOND),
                 3 * LS_NS_PER_SECOND);
}

Test(rerun_process, more_runs_than_helpers_wait_for_one_another)
{
    fixture here = open_fixture("units", 0, TIME_MAX_MS);
    uint32_t tickets[5];
    for (size_t i = 0; i < 5; i++) {
        start(&here, LS_NO_PASS);
        tickets[i] = here.ticket;
    }
    here.host.release(here.host.context, tickets[1]); /* runs */
    here.host.release(here.host.context, tickets[3]); /* waits */
    const ls_rerun_outcome *last = run(&here, LS_NO_PASS);
    cr_expect_eq(last->figures.fresh, ls_sim_instance_hash(here.instance));
    cr_expect_not_null(outcome_of(&here, tickets[0]));
    cr_expect_not_null(outcome_of(&here, tickets[2]));
    cr_expect_null(here.host.poll(here.host.context, tickets[1], 0));
    cr_expect_null(here.host.poll(here.host.context, tickets[3], 0));
    close_fixture(&here);
}

Test(rerun_process, a_host_that_is_destroyed_ends_its_helpers)
{
    enum {
        HOUR_MS = 3600 * 1000 /* longer than the test may take */
    };
    fixture here = open_fixture(TRAP, HANG, HOUR_MS);
    start(&here, LS_NO_PASS);
    start(&here, LS_NO_PASS);
    start(&here, LS_NO_PASS);
    close_fixture(&here);
    cr_expect(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "a helper is left");
}

Test(rerun_process, a_program_that_cannot_be_started_is_an_outcome)
{
    fixture here = open_fixture("units", 0, TIME_MAX_MS);
    destroy_process(&here);
    create_process(&here, "/nonexistent/lockstep-server", "units");
    cr_expect(strstr(run(&here, LS_NO_PASS)->failure.bytes, "No such file or directory"));
    close_fixture(&here);
}

/* A server whose helpers inherit these files: a plug-in, or who has started the program, has opened
 * them and lets every child have them. */
static void write_script(const char *path, const char *opened)
{
    FILE *script = fopen(path, "w");
    cr_assert_not_null(script);
    fprintf(script, "#!/bin/sh\nexec %s\nexec %s \"$@\"\n", opened, LS_TEST_SERVER);
    cr_assert_eq(fclose(script), 0);
    cr_assert_eq(chmod(path, S_IRWXU), 0);
}

static void expect_outcome_with(const char *opened)
{
    char folder[] = "/tmp/lockstep-inherited-XXXXXX";
    char path[sizeof folder + sizeof "/server"];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/server", folder);
    write_script(path, opened);
    fixture here = open_fixture("units", 0, TIME_MAX_MS);
    destroy_process(&here);
    create_process(&here, path, "units");
    const ls_rerun_outcome *outcome = run(&here, LS_NO_PASS);
    cr_expect_str_eq(outcome->failure.bytes, "", "%s: %s", opened, outcome->failure.bytes);
    cr_expect_eq(outcome->figures.fresh, ls_sim_instance_hash(here.instance), "%s", opened);
    close_fixture(&here);
    unlink(path);
    rmdir(folder);
}

Test(rerun_process, files_that_the_helper_inherits_do_no_harm)
{
    expect_outcome_with("3</dev/null");
    expect_outcome_with("3</dev/null 4>/dev/null 5</dev/null");
    expect_outcome_with("4</dev/null");
}
