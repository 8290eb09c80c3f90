/* The fingerprint of a build, and files of simulations. */
#define _GNU_SOURCE
#include "lockstep/common/base/build_fingerprint.h"
#include "lockstep/common/simulation/sim_files.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/common/simulation/text_file.h"
#include "lockstep/common/system/machine_fingerprint.h"
#include "lockstep/tests/support/counter_simulation.h"
#include "lockstep/tests/support/kept.h"

#include <criterion/criterion.h>
#include <fenv.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- sim_files ---- */

enum {
    SPEED,
    MAP,
    MOTTO,
    MUSIC,
    COUNT
};

static const uint8_t map_bytes[] = "M: a map";
static const uint8_t other_bytes[] = "M: another map";

/* A simulation whose parameters alone matter. */
static const ls_simulation *level(void)
{
    static const ls_param params[COUNT] = {
        [SPEED] = LS_PARAM_INTEGER_OF("speed", "m/s", "of all", 3, 1, 9),
        [MAP] = LS_PARAM_FILE_OF("map", "with an M", 1, 100),
        [MOTTO] = LS_PARAM_STRING_OF("motto", "of all", "onwards", 2, 200),
        [MUSIC] = LS_PARAM_FILE_OF("music", "of nobody", 0, 100),
    };
    static ls_simulation simulation;
    simulation = *counter_simulation();
    simulation.name = "level";
    simulation.params = params;
    simulation.param_count = COUNT;
    simulation.check = NULL;
    return &simulation;
}

static ls_sim_files files_of(const char *name, const uint8_t *bytes, size_t size)
{
    ls_sim_files files = {0};
    cr_assert_eq(ls_sim_files_add(&files, name, bytes, size, NULL), LS_OK);
    return files;
}

static ls_sim_files the_map(void)
{
    return files_of("map", map_bytes, sizeof map_bytes);
}

static ls_sim_config decided(void)
{
    ls_sim_config config = ls_sim_config_default(level());
    ls_sim_files files = the_map();
    cr_assert_eq(ls_sim_files_decide(&files, level(), &config, NULL), LS_OK);
    return config;
}

/* As it comes out of an OFFER or a file. */
static ls_sim_config offered(void)
{
    ls_sim_config config = decided();
    config.files[0].bytes = NULL;
    return config;
}

static void expect_words(const ls_text *why, const char *words)
{
    cr_expect(strstr(why->bytes, words), "no \"%s\" in: %s", words, why->bytes);
}

static void expect_unfit(const ls_sim_config *config, const char *words)
{
    ls_text why = {""};
    cr_expect_neq(ls_sim_config_check(level(), config, &why), LS_OK, "%s", words);
    expect_words(&why, words);
}

Test(sim_files, the_default_has_its_strings_and_no_files)
{
    ls_sim_config config = ls_sim_config_default(level());
    cr_assert_str_eq(ls_sim_config_string(&config, MOTTO), "onwards");
    cr_assert_eq(ls_sim_config_file(&config, MAP)->size, 0);
    cr_assert_null(ls_sim_config_file(&config, MUSIC)->bytes);
    expect_unfit(&config, "'level' needs a file: --param map=PATH (with an M)");
}

Test(sim_files, a_file_that_is_given_is_part_of_the_match)
{
    ls_sim_config config = decided();
    const ls_sim_file *map = ls_sim_config_file(&config, MAP);
    cr_assert_eq(map->bytes, map_bytes);
    cr_assert_eq(map->size, sizeof map_bytes);
    cr_assert_neq(map->digest, 0);
    cr_assert_eq(ls_sim_config_check(level(), &config, NULL), LS_OK);
    ls_sim_config other = config;
    other.files[0].bytes = NULL;
    cr_assert(ls_sim_config_is_equal(&config, &other), "where it lies is nobody's business");
    other.files[0].digest++;
    cr_assert(!ls_sim_config_is_equal(&config, &other));
}

Test(sim_files, the_same_content_is_taken_wherever_it_lies)
{
    static uint8_t copy[sizeof map_bytes];
    memcpy(copy, map_bytes, sizeof copy);
    ls_sim_config config = offered();
    ls_sim_files files = files_of("map", copy, sizeof copy);
    cr_assert_eq(ls_sim_files_provide(&files, level(), &config, NULL), LS_OK);
    cr_assert_eq(ls_sim_config_file(&config, MAP)->bytes, copy);
    cr_assert_eq(ls_sim_config_check(level(), &config, NULL), LS_OK);
}

Test(sim_files, a_missing_file_is_named_with_its_digest_and_how_to_give_it)
{
    ls_sim_config config = offered();
    ls_text why = {""};
    ls_text words = {""};
    cr_assert_eq(ls_sim_files_provide(NULL, level(), &config, &why), LS_PARAMETER_MISMATCH);
    ls_text_set(&words, "needs the file 'map' (digest %016llx, 9 bytes): give it with --param map=",
                (unsigned long long)config.files[0].digest);
    expect_words(&why, words.bytes);
    expect_unfit(&config, "the file 'map' (digest ");
}

Test(sim_files, another_content_is_refused_with_both_digests)
{
    ls_sim_config config = offered();
    ls_sim_files files = files_of("map", other_bytes, sizeof other_bytes);
    ls_text why = {""};
    ls_text words = {""};
    cr_assert_eq(ls_sim_files_provide(&files, level(), &config, &why), LS_PARAMETER_MISMATCH);
    ls_text_set(&words, "file 'map': this machine has digest %016llx (15 bytes), the match %016llx",
                (unsigned long long)files.list[0].file.digest,
                (unsigned long long)config.files[0].digest);
    expect_words(&why, words.bytes);
    cr_assert_null(config.files[0].bytes);
}

Test(sim_files, a_file_for_no_parameter_is_refused_with_those_that_there_are)
{
    const char *names[] = {"mop", "speed", "motto"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        ls_sim_config config = ls_sim_config_default(level());
        ls_sim_files files = files_of(names[i], map_bytes, sizeof map_bytes);
        ls_text why = {""};
        cr_expect_eq(ls_sim_files_decide(&files, level(), &config, &why), LS_NOT_FOUND);
        expect_words(&why, "; it has: map, music");
    }
}

Test(sim_files, a_file_of_another_size_than_the_parameter_takes_is_refused)
{
    static const uint8_t large[101];
    ls_sim_config config = ls_sim_config_default(level());
    ls_sim_files files = files_of("map", large, sizeof large);
    cr_assert_eq(ls_sim_files_decide(&files, level(), &config, NULL), LS_OK);
    expect_unfit(&config, "takes a file of 1..100 bytes, not 101");
}

Test(sim_files, there_is_room_for_as_many_as_a_match_can_have)
{
    ls_sim_files files = {0};
    char name[] = "a";
    for (uint32_t i = 0; i < LS_FILE_PARAMS_MAX; i++, name[0]++) {
        cr_assert_eq(ls_sim_files_add(&files, name, map_bytes, 1, NULL), LS_OK);
    }
    cr_assert_eq(ls_sim_files_add(&files, name, map_bytes, 1, NULL), LS_FULL);
    cr_assert_eq(ls_sim_files_add(&files, "a", map_bytes, 2, NULL), LS_OK, "it is replaced");
    cr_assert_eq(files.list[0].file.size, 2);
    cr_assert_eq(ls_sim_files_add(&files, "", map_bytes, 1, NULL), LS_BAD_ARGUMENT);
    cr_assert_eq(ls_sim_files_add(&files, "b", map_bytes, LS_FILE_BYTES_MAX + 1, NULL),
                 LS_BAD_ARGUMENT);
}

Test(sim_files, strings_are_set_within_their_bytes_and_seen_as_they_are)
{
    ls_sim_config config = ls_sim_config_default(level());
    cr_assert_eq(ls_sim_config_set(level(), &config, "motto=Z\xc3\xbcrich = 1", NULL), LS_OK);
    cr_assert_str_eq(ls_sim_config_string(&config, MOTTO), "Z\xc3\xbcrich = 1");
    const char *bad[] = {"motto=", "motto=x", "motto=a\nb", "motto=\xff\xfe"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ls_text why = {""};
        cr_expect_eq(ls_sim_config_set(level(), &config, bad[i], &why), LS_BAD_ARGUMENT);
        expect_words(&why, "parameter 'motto' of 'level' takes 2..200 bytes of UTF-8");
    }
    cr_assert_str_eq(ls_sim_config_string(&config, MOTTO), "Z\xc3\xbcrich = 1");
    ls_text why = {""};
    cr_assert_eq(ls_sim_config_set(level(), &config, "map=a", &why), LS_BAD_ARGUMENT);
    expect_words(&why, "'map' of 'level' is a file");
}

/* None of it may be asserted: it comes from other machines. */
Test(sim_files, a_config_that_was_made_up_is_refused_in_words)
{
    ls_sim_config config = decided();
    config.params[MOTTO] = 7;
    expect_unfit(&config, "parameter 'motto' of 'level' is in another place");
    config = decided();
    config.params[MUSIC] = -1;
    expect_unfit(&config, "parameter 'music' of 'level' is in another place");
    config = decided();
    config.string_count = 0;
    expect_unfit(&config, "has 1 strings and 2 files, not 0 and 2");
    config = decided();
    config.file_count = 3;
    expect_unfit(&config, "has 1 strings and 2 files, not 1 and 3");
    config = decided();
    memset(config.strings[0], 'a', sizeof config.strings[0]);
    expect_unfit(&config, "takes 2..200 bytes of UTF-8");
    config = decided();
    config.tick_rate = (ls_rate){UINT32_MAX, 0};
    expect_unfit(&config, "the tick rate 4294967295/0 is no fraction in lowest terms");
    config.tick_rate = (ls_rate){30, 7};
    expect_unfit(&config, "whose nearest whole number is ");
    config = decided();
    config.files[0].size = UINT64_MAX;
    expect_unfit(&config, "takes a file of 1..100 bytes, not 18446744073709551615");
}

/* ---- text_file ---- */

static ls_sim_file file_of(const char *text, size_t size)
{
    return (ls_sim_file){.bytes = (const uint8_t *)text, .size = size};
}

Test(text_file, lines_are_counted_and_have_no_ends)
{
    static const char bytes[] = "one\r\n\ntwo\nthree";
    const ls_sim_file file = file_of(bytes, sizeof bytes - 1);
    ls_text_file text = {.file = &file};
    static const char *const lines[] = {"one", "", "two", "three"};
    for (uint32_t i = 0; i < 4; i++) {
        cr_assert(ls_text_file_next(&text));
        cr_assert_str_eq(text.line, lines[i]);
        cr_assert_eq(text.number, i + 1);
        cr_assert_not(text.is_cut);
    }
    cr_assert_not(ls_text_file_next(&text));
}

Test(text_file, a_file_that_is_not_there_has_no_line)
{
    const ls_sim_file file = {0};
    ls_text_file text = {.file = &file};
    cr_assert_not(ls_text_file_next(&text));
}

Test(text_file, a_line_that_is_too_long_is_cut_and_no_numbers)
{
    char bytes[2 * LS_TEXT_LINE_BYTES_MAX + 1];
    memset(bytes, ' ', sizeof bytes);
    bytes[0] = '7';
    bytes[sizeof bytes - 1] = '\n';
    const ls_sim_file file = file_of(bytes, sizeof bytes);
    ls_text_file text = {.file = &file};
    int64_t number = 0;
    cr_assert(ls_text_file_next(&text));
    cr_assert(text.is_cut);
    cr_assert_eq(strlen(text.line), LS_TEXT_LINE_BYTES_MAX - 1);
    cr_assert_not(ls_text_file_numbers(&text, &number, 1));
    cr_assert_not(ls_text_file_next(&text));
}

static bool reads(const char *line, const int64_t *expected, uint32_t count)
{
    const ls_sim_file file = file_of(line, strlen(line));
    ls_text_file text = {.file = &file};
    int64_t numbers[4] = {0};
    cr_assert(ls_text_file_next(&text));
    bool is_read = ls_text_file_numbers(&text, numbers, count);
    return is_read && memcmp(numbers, expected, count * sizeof *numbers) == 0;
}

Test(text_file, numbers_are_whole_and_as_many_as_asked_for)
{
    const int64_t three[] = {-12, 0, 999999999999999999};
    cr_assert(reads("-12 +0 999999999999999999", three, 3));
    cr_assert(reads("\t-12   0\t999999999999999999  ", three, 3));
    cr_assert_not(reads("-12 0", three, 3));
    cr_assert_not(reads("-12 0 999999999999999999 1", three, 3));
    cr_assert_not(reads("-12 0 9999999999999999999", three, 3));
    cr_assert_not(reads("-12 0 1.5", three, 3));
    cr_assert_not(reads("-12 0x0 1", three, 3));
    cr_assert_not(reads("- 12 0 1", three, 3));
    cr_assert_not(reads(" ", three, 3));
}

/* ---- sounds ---- */

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

/* ==== build_fingerprint ==== */

#ifndef _WIN32
#include <sched.h>
#endif

Test(build_fingerprint, this_machine_knows_itself)
{
    ls_build_fingerprint print;
    ls_build_fingerprint_here(&print);
    const ls_fingerprint_item known[] = {
        LS_PRINT_LOCKSTEP, LS_PRINT_COMPILER,  LS_PRINT_FLAGS,  LS_PRINT_ARCHITECTURE,
        LS_PRINT_FLOAT,    LS_PRINT_SYSTEM,    LS_PRINT_LOCALE, LS_PRINT_CPU_FEATURES,
        LS_PRINT_CORES,    LS_PRINT_DIRECTORY,
#ifndef _WIN32
        LS_PRINT_PRELOADS,
#endif
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        cr_expect_neq(print.items[known[i]][0], '\0', "%s", ls_fingerprint_item_name(known[i]));
    }
    cr_expect_not_null(strstr(print.items[LS_PRINT_FLAGS], "-ffp-contract=off"));
    cr_expect_not_null(strstr(print.items[LS_PRINT_FLOAT], "rounding to nearest, denormals kept"));
    ls_build_fingerprint again;
    ls_build_fingerprint_here(&again);
    cr_expect_eq(memcmp(&print, &again, sizeof print), 0);
}

/* Names the one item that is not what it was at `before`. */
static void expect_only(const ls_build_fingerprint *before, ls_fingerprint_item changed)
{
    ls_build_fingerprint now;
    ls_build_fingerprint_here(&now);
    for (uint32_t i = 0; i < LS_PRINT_ITEM_COUNT; i++) {
        ls_fingerprint_item item = (ls_fingerprint_item)i;
        cr_expect_eq(ls_build_fingerprint_differs(before, &now, item), item == changed, "%s: %s",
                     ls_fingerprint_item_name(item), now.items[i]);
    }
}

#ifndef _WIN32
static void print_in_zone(const char *zone, ls_build_fingerprint *out)
{
    cr_assert_eq(setenv("TZ", zone, 1), 0);
    tzset();
    ls_build_fingerprint_here(out);
}

Test(build_fingerprint, time_zones_of_one_name_differ_by_offset_and_rules)
{
    static const char *const zones[] = {"UTC", "UTC-9", "UTC0DST,M3.5.0,M10.5.0"};
    ls_build_fingerprint first, other;
    print_in_zone(zones[0], &first);
    for (size_t i = 0; i < sizeof zones / sizeof zones[0]; i++) {
        print_in_zone(zones[i], &other);
        cr_expect_eq(ls_build_fingerprint_differs(&first, &other, LS_PRINT_LOCALE), i > 0, "%s",
                     other.items[LS_PRINT_LOCALE]);
    }
}
#endif

Test(build_fingerprint, another_directory_is_seen)
{
    ls_build_fingerprint before;
    ls_build_fingerprint_here(&before);
    cr_assert_eq(chdir("/"), 0);
    expect_only(&before, LS_PRINT_DIRECTORY);
}

#ifndef _WIN32
Test(build_fingerprint, fewer_cores_are_seen)
{
    ls_build_fingerprint before;
    cpu_set_t all;
    cpu_set_t one;
    cr_assert_eq(sched_getaffinity(0, sizeof all, &all), 0);
    if (CPU_COUNT(&all) == 1) {
        cr_skip_test("this machine has one core");
    }
    ls_build_fingerprint_here(&before);
    CPU_ZERO(&one);
    for (int core = 0; CPU_COUNT(&one) == 0; core++) {
        if (CPU_ISSET(core, &all)) {
            CPU_SET(core, &one);
        }
    }
    cr_assert_eq(sched_setaffinity(0, sizeof one, &one), 0);
    expect_only(&before, LS_PRINT_CORES);
}
#endif

#if defined(__SSE2__)
Test(build_fingerprint, denormals_that_are_zero_are_seen)
{
    ls_build_fingerprint before;
    ls_build_fingerprint_here(&before);
    const char *const texts[] = {"flushed to zero", "read as zero", "flushed to and read as zero"};
    const unsigned modes[] = {0x8000, 0x0040, 0x8040};
    const unsigned usual = __builtin_ia32_stmxcsr();
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        ls_build_fingerprint now;
        __builtin_ia32_ldmxcsr(usual | modes[i]);
        ls_build_fingerprint_here(&now);
        __builtin_ia32_ldmxcsr(usual);
        cr_expect_not_null(strstr(now.items[LS_PRINT_FLOAT], texts[i]), "%s",
                           now.items[LS_PRINT_FLOAT]);
        cr_expect(ls_build_fingerprint_differs(&before, &now, LS_PRINT_FLOAT));
    }
}
#endif

Test(build_fingerprint, equal_bytes_in_another_file_are_the_same_simulation)
{
    ls_build_fingerprint a = {{{0}}};
    ls_build_fingerprint b = {{{0}}};
    ls_build_fingerprint_set(&a, LS_PRINT_SIMULATION, "0123, 456 bytes, game.so");
    ls_build_fingerprint_set(&b, LS_PRINT_SIMULATION, "0123, 456 bytes, copy.so");
    cr_expect_not(ls_build_fingerprint_differs(&a, &b, LS_PRINT_SIMULATION));
    ls_build_fingerprint_set(&b, LS_PRINT_SIMULATION, "0123, 45 bytes, game.so");
    cr_expect(ls_build_fingerprint_differs(&a, &b, LS_PRINT_SIMULATION));
    ls_build_fingerprint_set(&b, LS_PRINT_SIMULATION, "built in");
    cr_expect(ls_build_fingerprint_differs(&a, &b, LS_PRINT_SIMULATION));
}

Test(build_fingerprint, texts_that_are_too_many_for_a_message_are_cut_and_still_compared)
{
    ls_build_fingerprint print = {{{0}}};
    ls_build_fingerprint read;
    uint8_t bytes[LS_PRINT_BYTES_MAX];
    char longest[LS_PRINT_TEXT_BYTES_MAX + 1];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    for (uint32_t item = 1; item < LS_PRINT_ITEM_COUNT; item++) {
        ls_build_fingerprint_set(&print, (ls_fingerprint_item)item, longest);
    }
    ls_build_fingerprint_set(&print, LS_PRINT_LOCKSTEP, "short");
    size_t size = ls_build_fingerprint_write(&print, bytes);
    cr_expect_leq(size, LS_PRINT_BYTES_MAX);
    cr_expect_gt(size, LS_PRINT_BYTES_MAX - LS_PRINT_ITEM_COUNT);
    ls_build_fingerprint_read(bytes, size, &read);
    cr_expect_str_eq(read.items[LS_PRINT_LOCKSTEP], "short");
    for (uint32_t item = 0; item < LS_PRINT_ITEM_COUNT; item++) {
        cr_expect_not(ls_build_fingerprint_differs(&print, &read, (ls_fingerprint_item)item));
    }
    size_t kept = strlen(read.items[LS_PRINT_CPU]);
    cr_expect_eq(read.items[LS_PRINT_CPU][kept - 1], '~');
    cr_expect_lt(kept, LS_PRINT_TEXT_BYTES_MAX - 1);
    read.items[LS_PRINT_CPU][kept - 2] = 'y';
    cr_expect(ls_build_fingerprint_differs(&print, &read, LS_PRINT_CPU));
    ls_build_fingerprint_set(&print, LS_PRINT_CPU, "xxx");
    cr_expect(ls_build_fingerprint_differs(&print, &read, LS_PRINT_CPU));
}

/* Older versions knew eleven items. */
Test(build_fingerprint, a_shorter_list_leaves_the_new_items_unknown)
{
    ls_build_fingerprint print;
    ls_build_fingerprint read;
    uint8_t bytes[LS_PRINT_BYTES_MAX];
    ls_build_fingerprint_here(&print);
    (void)ls_build_fingerprint_write(&print, bytes);
    size_t size = 0;
    for (uint32_t item = 0; item <= LS_PRINT_LOCALE; item++) {
        size += strlen(print.items[item]) + 1;
    }
    ls_build_fingerprint_read(bytes, size, &read);
    cr_expect_str_eq(read.items[LS_PRINT_LOCALE], print.items[LS_PRINT_LOCALE]);
    for (uint32_t item = LS_PRINT_LOCALE + 1; item < LS_PRINT_ITEM_COUNT; item++) {
        cr_expect_str_eq(read.items[item], "");
        cr_expect_not(ls_build_fingerprint_differs(&print, &read, (ls_fingerprint_item)item));
    }
}

Test(build_fingerprint, items_differ_when_both_are_known_and_not_the_same)
{
    ls_build_fingerprint a = {{{0}}};
    ls_build_fingerprint b = {{{0}}};
    cr_expect_not(ls_build_fingerprint_differs(&a, &b, LS_PRINT_CPU));
    ls_build_fingerprint_set(&a, LS_PRINT_CPU, "one");
    cr_expect_not(ls_build_fingerprint_differs(&a, &b, LS_PRINT_CPU));
    ls_build_fingerprint_set(&b, LS_PRINT_CPU, "two");
    cr_expect(ls_build_fingerprint_differs(&a, &b, LS_PRINT_CPU));
    cr_expect_not(ls_build_fingerprint_differs(&a, &b, LS_PRINT_FLAGS));
    ls_build_fingerprint_set(&b, LS_PRINT_CPU, "one");
    cr_expect_not(ls_build_fingerprint_differs(&a, &b, LS_PRINT_CPU));
}

Test(build_fingerprint, texts_are_cut_and_cleaned)
{
    char text[LS_PRINT_TEXT_BYTES_MAX + 9];
    ls_build_fingerprint print = {{{0}}};
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    text[3] = '\x1b';
    ls_build_fingerprint_set(&print, LS_PRINT_CPU, text);
    cr_expect_eq(strlen(print.items[LS_PRINT_CPU]), LS_PRINT_TEXT_BYTES_MAX - 1);
    cr_expect_eq(print.items[LS_PRINT_CPU][3], '?');
}

Test(build_fingerprint, reads_as_it_was_written)
{
    ls_build_fingerprint print;
    ls_build_fingerprint read;
    uint8_t bytes[LS_PRINT_BYTES_MAX];
    ls_build_fingerprint_here(&print);
    size_t size = ls_build_fingerprint_write(&print, bytes);
    ls_build_fingerprint_read(bytes, size, &read);
    cr_expect_eq(memcmp(&print, &read, sizeof print), 0);
}

Test(build_fingerprint, reading_takes_what_is_there_and_no_more)
{
    ls_build_fingerprint read;
    ls_build_fingerprint_read(NULL, 0, &read);
    cr_expect_eq(read.items[0][0], '\0');
    const uint8_t open[] = {'1', 0, 'g', 'c', 'c'};
    ls_build_fingerprint_read(open, sizeof open, &read);
    cr_expect_str_eq(read.items[LS_PRINT_LOCKSTEP], "1");
    cr_expect_str_eq(read.items[LS_PRINT_COMPILER], "gcc");
    cr_expect_str_eq(read.items[LS_PRINT_FLAGS], "");
    uint8_t zeros[LS_PRINT_BYTES_MAX + 50] = {0};
    ls_build_fingerprint_read(zeros, sizeof zeros, &read);
    uint8_t longer[300];
    memset(longer, 0xff, sizeof longer);
    ls_build_fingerprint_read(longer, sizeof longer, &read);
    cr_expect_eq(strlen(read.items[0]), LS_PRINT_TEXT_BYTES_MAX - 1);
    cr_expect_eq(read.items[0][0], '?');
}
