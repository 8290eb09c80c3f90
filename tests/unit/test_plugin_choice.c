#define _POSIX_C_SOURCE 200809L
#include "lockstep/server/service/plugin_choice.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of the three bytes "abc", as FIPS 180-4 has it. */
#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static char directory[] = "/tmp/lockstep-plugin-choice-XXXXXX";
static char file[64];
static char path[128];
static ls_text why;

static void make_folder(void)
{
    cr_assert_not_null(mkdtemp(directory));
    snprintf(file, sizeof file, "%s/game.so", directory);
    FILE *out = fopen(file, "w");
    cr_assert_not_null(out);
    fputs("abc", out);
    fclose(out);
}

static void remove_folder(void)
{
    unlink(file);
    rmdir(directory);
}

TestSuite(plugin_choice, .init = make_folder, .fini = remove_folder);

static ls_status find(const char *name, const char *sha256)
{
    const ls_plugin_choice choice = {.directory = directory, .name = name, .sha256 = sha256};
    return ls_plugin_choice_find(&choice, path, sizeof path, &why);
}

Test(plugin_choice, file_is_one_of_the_folder)
{
    cr_assert_eq(find("game.so", NULL), LS_OK);
    cr_assert_str_eq(path, file);
    cr_assert_eq(find("arena", NULL), LS_OK);
    cr_assert_str_eq(path, "arena");
    cr_assert_eq(find("../game.so", NULL), LS_BAD_ARGUMENT);
    cr_assert_eq(find("/tmp/game.so", NULL), LS_BAD_ARGUMENT);
    cr_assert_eq(find("/tmp/game", NULL), LS_BAD_ARGUMENT, "the loader takes it for a file");
    cr_assert_eq(find("../game", NULL), LS_BAD_ARGUMENT);
    cr_assert_eq(find("../game", ABC), LS_BAD_ARGUMENT);
    const ls_plugin_choice without = {.name = "game.so"};
    cr_assert_eq(ls_plugin_choice_find(&without, path, sizeof path, &why), LS_BAD_ARGUMENT);
    cr_assert_eq(ls_plugin_choice_find(&without, path, 4, &why), LS_BAD_ARGUMENT);
}

Test(plugin_choice, file_is_of_the_digest_that_is_asked_for)
{
    cr_assert_eq(find("game.so", ABC), LS_OK);
    char other[] = ABC;
    other[63] = '0';
    cr_assert_eq(find("game.so", other), LS_BAD_ARGUMENT);
    cr_assert(strstr(why.bytes, "its SHA-256 is " ABC), "%s", why.bytes);
    other[63] = 'D';
    cr_assert_eq(find("game.so", other), LS_OK, "digits of either case");
    cr_assert_eq(find("gone.so", ABC), LS_BAD_ARGUMENT);
}

Test(plugin_choice, digest_that_cannot_be_is_refused)
{
    cr_assert_eq(find("game.so", ""), LS_BAD_ARGUMENT);
    cr_assert_eq(find("game.so", "ba78"), LS_BAD_ARGUMENT);
    cr_assert_eq(find("game.so", ABC "00"), LS_BAD_ARGUMENT);
    cr_assert_eq(find("arena", ABC), LS_BAD_ARGUMENT);
    cr_assert_eq(find(NULL, ABC), LS_BAD_ARGUMENT);
}
