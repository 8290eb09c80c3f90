#include "lockstep/common/simulation/sim_files.h"

#include "lockstep/tests/support/counter_simulation.h"

#include <criterion/criterion.h>
#include <string.h>

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
