/* Plug-ins, and whether their maths is strict. */
#define _DEFAULT_SOURCE /* mkstemps */
#include "lockstep/common/base/language.h"
#include "lockstep/common/loader/maths_check.h"
#include "lockstep/common/loader/plugin_loader.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/common/system/library.h"
#include "lockstep/tests/support/counter_simulation.h"

#include <criterion/criterion.h>
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ==== plugin_loader ==== */

/* LS_TEST_PLUGIN_DIR is where the build put tests/plugins. */
#define PLUGIN(name) LS_TEST_PLUGIN_DIR "/" name ".so"

static ls_loaded_simulation load(const char *name)
{
    ls_loaded_simulation loaded = {.simulation = NULL};
    ls_text why = {""};
    cr_assert_eq(ls_simulation_load(name, &loaded, &why), LS_OK, "%s", why.bytes);
    cr_assert_eq(ls_simulation_check(loaded.simulation, NULL), LS_OK);
    return loaded;
}

static void expect_refused(const char *name, ls_status status, const char *words)
{
    ls_loaded_simulation untouched = {.library = &untouched};
    ls_text why = {""};
    cr_expect_eq(ls_simulation_load(name, &untouched, &why), status, "%s", name);
    cr_expect(strstr(why.bytes, words), "no \"%s\" in: %s", words, why.bytes);
    cr_expect(untouched.simulation == NULL && untouched.library == &untouched);
}

Test(plugin_loader, every_built_in_is_found_by_its_name)
{
    const ls_simulation *simulation = NULL;
    uint32_t count = 0;
    for (; (simulation = ls_builtin_simulation(count)); count++) {
        ls_loaded_simulation loaded = load(simulation->name);
        cr_assert_eq(loaded.simulation, simulation);
        cr_assert_null(loaded.library);
        ls_simulation_unload(&loaded);
        cr_assert_null(loaded.simulation);
    }
    cr_assert_geq(count, 2);
}

Test(plugin_loader, an_unknown_name_is_refused_with_the_names_there_are)
{
    expect_refused("chess", LS_NOT_FOUND,
                   "unknown simulation 'chess'; built in are: arena, units, rope, spring, "
                   "tumble; a plug-in is named by its file, as in ./game.so");
    expect_refused("", LS_NOT_FOUND, "unknown simulation ''");
    expect_refused("so", LS_NOT_FOUND, "unknown simulation 'so'");
    expect_refused("arenaso", LS_NOT_FOUND, "unknown simulation 'arenaso'");
    expect_refused("\x1b[2J", LS_NOT_FOUND, "unknown simulation '?[2J'");
}

Test(plugin_loader, a_plug_in_is_loaded_by_its_path)
{
    ls_loaded_simulation loaded = load(PLUGIN("good"));
    cr_assert_not_null(loaded.library);
    cr_assert_str_eq(loaded.simulation->name, "counter");
    cr_assert_neq(loaded.simulation, counter_simulation(), "the test's own copy was given");
    ls_simulation_unload(&loaded);
    cr_assert_null(loaded.library);
}

Test(plugin_loader, a_plug_in_with_short_enums_is_loaded)
{
    ls_loaded_simulation loaded = load(PLUGIN("short_enums"));
    ls_simulation_unload(&loaded);
}

Test(plugin_loader, a_plug_in_without_a_folder_is_one_in_this_folder)
{
    cr_assert_eq(chdir(LS_TEST_PLUGIN_DIR), 0);
    ls_loaded_simulation loaded = load("good.so");
    ls_simulation_unload(&loaded);
    cr_assert_eq(chdir("/"), 0);
    expect_refused("good.so", LS_PLUGIN, "cannot be opened");
}

Test(plugin_loader, a_plug_in_steps_like_the_same_code_built_in)
{
    ls_loaded_simulation loaded = load(PLUGIN("good"));
    const ls_simulation *simulations[] = {counter_simulation(), loaded.simulation};
    uint64_t state_hashes[2];
    for (size_t i = 0; i < 2; i++) {
        ls_sim_config config = ls_sim_config_default(simulations[i]);
        ls_sim_instance *instance = NULL;
        ls_text why = {""};
        cr_assert_eq(
            ls_sim_instance_create(simulations[i], &config, ls_allocator_heap(), &instance, &why),
            LS_OK, "%s", why.bytes);
        for (ls_tick tick = 0; tick < 50; tick++) {
            const uint8_t byte = (uint8_t)tick;
            const ls_slot_input slots[] = {{&byte, 1, 0}, {NULL, 0, 0}};
            ls_sim_instance_step(instance, &(ls_tick_inputs){tick, 2, slots});
        }
        state_hashes[i] = ls_sim_instance_hash(instance);
        cr_assert_neq(state_hashes[i], ls_sim_instance_digests(instance).initial);
        ls_sim_instance_destroy(instance);
    }
    cr_assert_eq(state_hashes[0], state_hashes[1]);
    ls_simulation_unload(&loaded);
}

Test(plugin_loader, two_loads_and_one_unload_leave_the_other_usable)
{
    ls_loaded_simulation first = load(PLUGIN("good"));
    ls_loaded_simulation second = load(PLUGIN("good"));
    ls_simulation_unload(&first);
    cr_assert_str_eq(second.simulation->name, "counter");
    ls_simulation_unload(&second);
}

Test(plugin_loader, a_game_of_the_one_header_is_played_as_a_simulation)
{
    for (uint32_t is_older = 0; is_older < 2; is_older++) {
        ls_loaded_simulation loaded =
            load(is_older ? PLUGIN("own_game_older") : PLUGIN("own_game"));
        cr_assert_str_eq(loaded.simulation->name, "own-game");
        ls_sim_config config = ls_sim_config_default(loaded.simulation);
        config.seed = 5;
        ls_sim_instance *instance = NULL;
        ls_text why = {""};
        cr_assert_eq(ls_sim_instance_create(loaded.simulation, &config, ls_allocator_heap(),
                                            &instance, &why),
                     LS_OK, "%s", why.bytes);
        const uint8_t keys[] = {3};
        const ls_slot_input slot = {.bytes = keys, .size = 1};
        ls_sim_instance_step(instance, &(ls_tick_inputs){.slot_count = 1, .slots = &slot});
        cr_expect_eq(*(const uint64_t *)ls_sim_instance_state(instance), 8);
        uint8_t edges[1] = {0};
        uint8_t buttons[1] = {0};
        bool has_bits = ls_sim_instance_input_bits(instance, &(ls_input_bits){edges, buttons});
        cr_expect_eq(has_bits, !is_older);
        cr_expect_eq(edges[0], is_older ? 0 : 1);
        cr_expect_eq(buttons[0], 0);
        ls_sim_instance_destroy(instance);
        ls_simulation_unload(&loaded);
    }
}

/* Whether what such a game writes is found to be unnamed, once it is trusted. */
static bool is_found_unnamed(const char *file)
{
    ls_loaded_simulation loaded = load(file);
    ls_sim_config config = ls_sim_config_default(loaded.simulation);
    ls_sim_instance *instance = NULL;
    ls_text why = {""};
    cr_assert_eq(
        ls_sim_instance_create(loaded.simulation, &config, ls_allocator_heap(), &instance, &why),
        LS_OK, "%s", why.bytes);
    cr_assert_eq(ls_sim_instance_trust_writes(instance), LS_OK);
    const uint8_t keys[] = {3};
    const ls_slot_input slot = {.bytes = keys, .size = 1};
    for (ls_tick tick = 0; tick < 2 * config.tick_rate_hz; tick++) {
        ls_sim_instance_hash(instance);
        ls_sim_instance_step(instance, &(ls_tick_inputs){tick, 1, &slot});
    }
    ls_sim_instance_hash(instance);
    bool is_found = ls_sim_instance_unnamed_write(instance, &why);
    cr_expect_eq(ls_sim_instance_whole_ticks(instance) > 1, loaded.simulation->names_writes != 0);
    ls_sim_instance_destroy(instance);
    ls_simulation_unload(&loaded);
    return is_found;
}

Test(plugin_loader, a_game_of_the_one_header_names_what_it_writes)
{
    cr_expect_not(is_found_unnamed(PLUGIN("own_game")));
    cr_expect(is_found_unnamed(PLUGIN("own_game_forgetting")));
    cr_expect_not(is_found_unnamed(PLUGIN("own_game_nameless_writes")), "it is not trusted");
}

Test(plugin_loader, a_game_that_is_none_is_refused)
{
    expect_refused(PLUGIN("own_game_none"), LS_PLUGIN, "cannot be used: there is no game");
    expect_refused(PLUGIN("own_game_sized"), LS_PLUGIN, "lockstep_game.size is not set");
    expect_refused(PLUGIN("own_game_nameless"), LS_BAD_ARGUMENT, "lockstep_game.name is missing");
}

Test(plugin_loader, a_file_that_does_not_exist_is_refused_in_the_linkers_words)
{
    expect_refused(PLUGIN("missing"), LS_PLUGIN, "No such file or directory");
    expect_refused("./missing", LS_PLUGIN, "No such file or directory");
    expect_refused("missing.so", LS_PLUGIN, "plug-in 'missing.so' cannot be opened");
    expect_refused(".so", LS_PLUGIN, "plug-in '.so' cannot be opened");
}

Test(plugin_loader, a_file_that_is_no_shared_object_is_refused)
{
    expect_refused("/dev/null", LS_PLUGIN, "plug-in '/dev/null' cannot be opened: ");
    expect_refused("/", LS_PLUGIN, "plug-in '/' cannot be opened: ");
}

Test(plugin_loader, a_plug_in_without_the_symbol_is_refused)
{
    expect_refused(PLUGIN("no_symbol"), LS_PLUGIN,
                   "does not export lockstep_simulation(), or lockstep_plugin()");
}

Test(plugin_loader, a_plug_in_that_gives_no_simulation_is_refused)
{
    expect_refused(PLUGIN("no_simulation"), LS_PLUGIN, "cannot be used: there is no simulation");
}

Test(plugin_loader, a_plug_in_of_another_abi_is_refused_with_both_numbers)
{
    ls_text words;
    ls_text_set(&words,
                "cannot be used: the simulation was built for abi %u, this program has "
                "abi %u",
                LS_SIMULATION_ABI + 1, LS_SIMULATION_ABI);
    expect_refused(PLUGIN("bad_abi"), LS_PLUGIN, words.bytes);
}

Test(plugin_loader, a_later_plug_in_that_uses_nothing_unknown_is_taken_in_this_programs_size)
{
    ls_loaded_simulation loaded = load(PLUGIN("sized_later"));
    cr_assert_eq(loaded.simulation->size, sizeof(ls_simulation));
    cr_assert_str_eq(loaded.simulation->name, "sized_later");
    ls_simulation_unload(&loaded);
    cr_assert_null(loaded.simulation);
}

Test(plugin_loader, members_beyond_the_size_of_an_older_plug_in_are_absent)
{
    ls_loaded_simulation loaded = load(PLUGIN("sized_older"));
    cr_assert_eq(loaded.simulation->default_tick_rate.denominator, 0);
    cr_assert_not_null(loaded.simulation->init);
    ls_simulation_unload(&loaded);
}

Test(plugin_loader, a_later_plug_in_that_uses_what_is_unknown_here_is_refused)
{
    expect_refused(PLUGIN("sized_beyond"), LS_PLUGIN,
                   "cannot be used: the simulation was built for a later version of Lockstep, and "
                   "uses what this one does not have");
}

Test(plugin_loader, a_plug_in_that_does_not_say_its_size_is_refused)
{
    expect_refused(PLUGIN("sized_none"), LS_PLUGIN,
                   "cannot be used: the simulation's size is 0; it has to be");
}

Test(plugin_loader, a_plug_in_with_an_incomplete_schema_is_refused_with_the_bytes)
{
    expect_refused(
        PLUGIN("incomplete_schema"), LS_SCHEMA,
        "cannot be used: 2 byte ranges are not covered exactly once: bytes 8..11 (4 bytes) "
        "between \"ships.x\" and \"ships.fuel\" are covered by no field, so are "
        "24..27");
}

Test(plugin_loader, a_plug_in_with_an_overlapping_schema_is_refused_with_both_fields)
{
    expect_refused(
        PLUGIN("overlapping_schema"), LS_SCHEMA,
        "cannot be used: 2 byte ranges are not covered exactly once: bytes 12..15 (4 bytes) are "
        "covered by both \"ships.angle\" and \"ships.fuel\", so are 28..31");
}

Test(plugin_loader, a_build_fingerprint_tells_one_file_from_another)
{
    ls_build_fingerprint built_in = {{{0}}}, good = {{{0}}}, again = {{{0}}}, variant = {{{0}}};
    ls_loaded_simulation loaded = load("arena");
    ls_simulation_print(&loaded, "arena", &built_in);
    ls_simulation_unload(&loaded);
    cr_expect_str_eq(built_in.items[LS_PRINT_SIMULATION], "built in");
    loaded = load(PLUGIN("good"));
    ls_simulation_print(&loaded, PLUGIN("good"), &good);
    ls_simulation_print(&loaded, PLUGIN("good"), &again);
    ls_simulation_unload(&loaded);
    loaded = load(PLUGIN("variant"));
    ls_simulation_print(&loaded, PLUGIN("variant"), &variant);
    ls_simulation_unload(&loaded);
    cr_expect_not_null(strstr(good.items[LS_PRINT_SIMULATION], " bytes, good.so"));
    cr_expect_not(ls_build_fingerprint_differs(&good, &again, LS_PRINT_SIMULATION));
    cr_expect(ls_build_fingerprint_differs(&good, &variant, LS_PRINT_SIMULATION));
    cr_expect(ls_build_fingerprint_differs(&good, &built_in, LS_PRINT_SIMULATION));
}

static size_t read_whole(const char *path, uint8_t *bytes, size_t capacity)
{
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file);
    size_t size = fread(bytes, 1, capacity, file);
    fclose(file);
    cr_assert_lt(size, capacity);
    return size;
}

static void write_whole(const char *path, const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
}

/* The dynamic linker dies of a bus error on most of these. It needs nothing behind the last
 * segment. */
Test(plugin_loader, plug_ins_that_were_cut_off_are_refused)
{
    static uint8_t bytes[8 << 20];
    char path[] = "/tmp/lockstep-cut-XXXXXX.so";
    int made = mkstemps(path, 3);
    cr_assert_geq(made, 0);
    close(made);
    size_t size = read_whole(PLUGIN("good"), bytes, sizeof bytes);
    uint32_t cut_off = 0;
    for (size_t kept = 0; kept < size; kept += kept < 4096 ? 61 : 997) {
        ls_loaded_simulation loaded = {.simulation = NULL};
        ls_text why = {""};
        write_whole(path, bytes, kept);
        if (ls_simulation_load(path, &loaded, &why) == LS_OK) {
            ls_simulation_unload(&loaded);
        } else {
            cr_expect(strstr(why.bytes, "cannot be opened: "), "%s", why.bytes);
            cut_off += strstr(why.bytes, "it is cut off: ") != NULL;
        }
    }
    cr_expect_gt(cut_off, 10);
    unlink(path);
}

/* That a needed library counts as well is for the live matches of tests/known_bad. */
Test(plugin_loader, maths_is_compared_of_those_alone_that_call_for_it)
{
    ls_loaded_simulation built_in = load("arena");
    cr_expect_eq(ls_simulation_maths(&built_in, "arena"), 0);
    ls_loaded_simulation good = load(PLUGIN("good"));
    cr_expect_eq(ls_simulation_maths(&good, PLUGIN("good")), 0);
    ls_loaded_simulation variant = load(PLUGIN("denormal"));
    cr_expect_eq(ls_simulation_maths(&variant, PLUGIN("no_such_file")), 0);
    ls_simulation_unload(&variant);
    ls_simulation_unload(&good);
}

static ls_build_fingerprint fingerprint_of(const char *file)
{
    ls_build_fingerprint print = {{{0}}};
    ls_build_fingerprint_set(&print, LS_PRINT_COMPILER, "the program's");
    ls_build_fingerprint_set(&print, LS_PRINT_FLAGS, "the program's");
    ls_loaded_simulation loaded = load(file);
    ls_simulation_print(&loaded, file, &print);
    ls_simulation_unload(&loaded);
    return print;
}

static void expect_starts(const char *text, const char *start)
{
    cr_expect_eq(strncmp(text, start, strlen(start)), 0, "'%s' begins with '%s'", text, start);
}

static void go_to_new_folder(char folder[32])
{
    snprintf(folder, 32, "/tmp/lockstep-reader-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
}

static void write_file(const char *path, const char *bytes)
{
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_geq(fputs(bytes, file), 0);
    cr_assert_eq(fclose(file), 0);
}

Test(plugin_loader, compiler_and_flags_are_those_of_the_plug_in)
{
    ls_build_fingerprint reader = fingerprint_of(PLUGIN("reader"));
    const char *compiler = reader.items[LS_PRINT_COMPILER];
    cr_expect(strstr(compiler, "GCC") || strstr(compiler, "clang"), "%s", compiler);
    cr_expect_not_null(strstr(reader.items[LS_PRINT_FLAGS], "-O1"));
#if !LS_HAS_ADDRESS_SANITIZER /* the flags of sanitizers come first, and the text is cut */
    cr_expect_not_null(strstr(reader.items[LS_PRINT_FLAGS], "-fwrapv"));
#endif
    cr_expect_null(strstr(reader.items[LS_PRINT_FLAGS], "program"));
    ls_build_fingerprint silent = fingerprint_of(PLUGIN("good"));
    cr_expect_null(strstr(silent.items[LS_PRINT_FLAGS], "program"));
}

Test(plugin_loader, variables_that_the_plug_in_names_are_told_without_their_values)
{
    ls_build_fingerprint unset = fingerprint_of(PLUGIN("reader"));
    cr_expect_str_eq(unset.items[LS_PRINT_VARIABLES], "none");
    setenv("LOCKSTEP_READER_DIFFICULTY", "hard", 1);
    setenv("READER_DIFFICULTY", "a part of the name only", 1);
    ls_build_fingerprint hard = fingerprint_of(PLUGIN("reader"));
    setenv("LOCKSTEP_READER_DIFFICULTY", "easy", 1);
    ls_build_fingerprint easy = fingerprint_of(PLUGIN("reader"));
    expect_starts(hard.items[LS_PRINT_VARIABLES], "LOCKSTEP_READER_DIFFICULTY ");
    cr_expect_null(strstr(hard.items[LS_PRINT_VARIABLES], "hard"));
    cr_expect_null(strstr(hard.items[LS_PRINT_VARIABLES], ","));
    cr_expect(ls_build_fingerprint_differs(&unset, &hard, LS_PRINT_VARIABLES));
    cr_expect(ls_build_fingerprint_differs(&easy, &hard, LS_PRINT_VARIABLES));
}

Test(plugin_loader, data_files_that_the_plug_in_names_are_told_with_their_bytes)
{
    char folder[32];
    go_to_new_folder(folder);
    ls_build_fingerprint without = fingerprint_of(PLUGIN("reader"));
    write_file("lockstep_reader.rules", "one");
    ls_build_fingerprint one = fingerprint_of(PLUGIN("reader"));
    write_file("lockstep_reader.rules", "two");
    ls_build_fingerprint two = fingerprint_of(PLUGIN("reader"));
    cr_expect_str_eq(without.items[LS_PRINT_FILES], "none");
    expect_starts(one.items[LS_PRINT_FILES], "lockstep_reader.rules ");
    cr_expect(ls_build_fingerprint_differs(&one, &two, LS_PRINT_FILES));
    cr_expect(ls_build_fingerprint_differs(&one, &without, LS_PRINT_FILES));
    cr_expect_eq(remove("lockstep_reader.rules"), 0);
    cr_expect_eq(rmdir(folder), 0);
}

Test(plugin_loader, equal_bytes_in_another_file_are_the_same_simulation)
{
    char folder[32];
    char command[256];
    go_to_new_folder(folder);
    snprintf(command, sizeof command, "cp %s ./copy.so", PLUGIN("good"));
    cr_assert_eq(system(command), 0);
    ls_build_fingerprint good = fingerprint_of(PLUGIN("good"));
    ls_build_fingerprint copy = fingerprint_of("./copy.so");
    cr_expect_neq(strcmp(good.items[LS_PRINT_SIMULATION], copy.items[LS_PRINT_SIMULATION]), 0);
    for (uint32_t i = 0; i < LS_PRINT_ITEM_COUNT; i++) {
        cr_expect_not(ls_build_fingerprint_differs(&good, &copy, (ls_fingerprint_item)i));
    }
    cr_expect_eq(remove("copy.so"), 0);
    cr_expect_eq(rmdir(folder), 0);
}

/* ==== maths_check ==== */

static void *maths;

/* Elsewhere it is a part of the C library, and found without it. */
static void open_maths(void)
{
    maths = ls_library_open_installed("libm.so.6");
}

static void close_maths(void)
{
    ls_library_close(maths);
}

TestSuite(maths_check, .init = open_maths, .fini = close_maths);

Test(maths_check, a_function_is_known_by_each_form_of_its_name)
{
    uint64_t sin_bit = ls_maths_functions_named("sin");
    uint64_t cos_bit = ls_maths_functions_named("cos");
    cr_assert_neq(sin_bit, 0);
    cr_expect_neq(sin_bit, cos_bit);
    cr_expect_eq(ls_maths_functions_named("sincos"), sin_bit | cos_bit);
    cr_expect_eq(ls_maths_functions_named("sinl"), sin_bit);
    cr_expect_eq(ls_maths_functions_named("_ZGVdN4v_sin"), sin_bit);
    cr_expect_eq(ls_maths_functions_named("__pow_finite"), ls_maths_functions_named("pow"));
    cr_expect_eq(ls_maths_functions_named("lgamma_r"), ls_maths_functions_named("lgamma"));
    cr_expect_neq(ls_maths_functions_named("sinf"), sin_bit);
    cr_expect_eq(ls_maths_functions_named("sincosf"),
                 ls_maths_functions_named("sinf") | ls_maths_functions_named("cosf"));
}

Test(maths_check, what_is_exact_and_what_is_no_maths_is_left_out)
{
    static const char *const names[] = {"",     "f",     "sqrt",  "sqrtf",    "floor",
                                        "fma",  "si",    "since", "sin_",     "_ZGV",
                                        "fmod", "powf_", "l",     "__finite", "memcpy"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cr_expect_eq(ls_maths_functions_named(names[i]), 0, "%s", names[i]);
    }
}

Test(maths_check, a_simulation_that_calls_none_is_not_compared)
{
    cr_expect_eq(ls_maths_check(0, maths), 0);
    cr_expect_neq(ls_maths_check(ls_maths_functions_named("sin"), maths), 0);
}

Test(maths_check, every_function_is_part_of_it_and_gives_the_same_again)
{
    uint64_t all = ls_maths_check(UINT64_MAX, maths);
    cr_expect_eq(ls_maths_check(UINT64_MAX, maths), all);
    for (uint32_t bit = 0; bit < 64; bit++) {
        cr_expect_neq(ls_maths_check(~(UINT64_C(1) << bit), maths), all, "bit %u", bit);
    }
}

/* As another processor or another version of the library would. */
Test(maths_check, other_last_bits_are_found)
{
    uint64_t used = ls_maths_functions_named("pow");
    uint64_t usual = ls_maths_check(used, maths);
    cr_assert_eq(fesetround(FE_UPWARD), 0);
    uint64_t upward = ls_maths_check(used, maths);
    fesetround(FE_TONEAREST);
    cr_expect_neq(upward, usual);
}
