#define _GNU_SOURCE
#include "lockstep/tools/new/new_game.h"

#include "lockstep/common/system/file.h"

#include "lockstep/common/base/limits.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void enter_new_directory(void)
{
    char place[] = "/tmp/test_new_game.XXXXXX";
    cr_assert_not_null(mkdtemp(place));
    cr_assert_eq(chdir(place), 0);
}

/* The file's text, from the heap. */
static char *text_of(const char *path)
{
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    char *text = calloc(1, 65536);
    cr_assert_not_null(text);
    cr_assert_gt(fread(text, 1, 65535, file), 0u);
    fclose(file);
    return text;
}

Test(new_game, names_are_small_letters_digits_and_dashes)
{
    static const char *const good[] = {"tag", "a", "x-wing_2"};
    static const char *const bad[] = {"",      "Tag", "2tag", "-tag", "tag game", "../tag",
                                      "tag/x", "t.g", "tág",  "_tag", "arena",    "units"};
    ls_text why = {{0}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        cr_expect_eq(new_game_check_name(good[i], &why), LS_OK, "%s: %s", good[i], why.bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        why.bytes[0] = '\0';
        cr_expect_eq(new_game_check_name(bad[i], &why), LS_BAD_ARGUMENT, "%s", bad[i]);
        cr_expect_neq(why.bytes[0], '\0', "%s", bad[i]);
    }
}

Test(new_game, names_are_as_long_as_those_of_simulations)
{
    char name[LS_NAME_BYTES_MAX + 1] = {0};
    ls_text why = {{0}};
    memset(name, 'a', LS_NAME_BYTES_MAX - 1);
    cr_expect_eq(new_game_check_name(name, &why), LS_OK);
    name[LS_NAME_BYTES_MAX - 1] = 'a';
    cr_expect_eq(new_game_check_name(name, &why), LS_BAD_ARGUMENT);
}

Test(new_game, every_file_has_the_name_of_the_game)
{
    static const char *const files[] = {"CMakeLists.txt", "README.md", "x-wing.c",  "check",
                                        "page",           "play",      ".gitignore"};
    ls_text why = {{0}};
    enter_new_directory();
    cr_assert_eq(new_game_make("x-wing", &why), LS_OK, "%s", why.bytes);
    cr_assert_eq(chdir("x-wing"), 0);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char *text = text_of(files[i]);
        cr_expect_null(strstr(text, "newgame"), "%s", files[i]);
        free(text);
        struct stat status;
        cr_assert_eq(stat(files[i], &status), 0);
        bool is_script = strcmp(files[i], "check") == 0 || strcmp(files[i], "page") == 0 ||
                         strcmp(files[i], "play") == 0;
        cr_expect_eq((status.st_mode & S_IXUSR) != 0, is_script, "%s", files[i]);
    }
    char *source = text_of("x-wing.c");
    cr_expect_not_null(strstr(source, ".name = \"x-wing\","));
    free(source);
}

Test(new_game, what_is_there_already_is_left_alone)
{
    ls_text why = {{0}};
    enter_new_directory();
    cr_assert(ls_folder_make("tag", false));
    cr_assert_eq(new_game_make("tag", &why), LS_IO);
    cr_expect_not_null(strstr(why.bytes, "there already"), "%s", why.bytes);
    cr_expect_eq(rmdir("tag"), 0, "it is empty as before");
    FILE *file = fopen("tag", "w");
    cr_assert_not_null(file);
    fclose(file);
    cr_assert_eq(new_game_make("tag", &why), LS_IO);
}

Test(new_game, a_bad_name_makes_nothing)
{
    ls_text why = {{0}};
    enter_new_directory();
    cr_assert_eq(new_game_make("Tag", &why), LS_BAD_ARGUMENT);
    cr_expect_neq(access("Tag", F_OK), 0);
}
