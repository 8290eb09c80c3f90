/* A game with a map in a file and a motto, which every machine has to have: in a match of the real
 * programs, and in every tool that runs its ticks again. */
#define _POSIX_C_SOURCE 200809L
#include "lockstep/tests/loopback/hosted.h"

#include <stdio.h>
#include <string.h>

TestSuite(programs_files, .init = hosted_open, .fini = hosted_close);

#define LEVEL LS_PLUGIN("level")

/* The assignment of a new file with this content. */
static const char *made(const char *param, const char *name, const char *content)
{
    const char *path = hosted_path(name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert_geq(fputs(content, file), 0);
    cr_assert_eq(fclose(file), 0);
    return hosted_text("%s=%s", param, path);
}

static void serve(const char *map, const char *ticks)
{
    hosted_serve("--sim", LEVEL, "--ticks", ticks, "--players", "1", "--journal", hosted.folder,
                 "--bundle-dir", hosted.folder, "--param", map, "--param", "motto=a b = c");
}

/* The one file in the folder whose name ends so. */
static const char *found(const char *ending)
{
    const char *list = hosted_text("ls %s/*%s", hosted.folder, ending);
    FILE *output = popen(list, "r");
    char path[512] = "";
    cr_assert(output && fgets(path, sizeof path, output), "no file ends in %s", ending);
    cr_assert_eq(pclose(output), 0);
    path[strcspn(path, "\n")] = '\0';
    return hosted_text("%s", path);
}

Test(programs_files, the_same_map_at_another_path_plays_and_is_verified_again)
{
    const char *copy = made("map", "copy", "M and so on");
    const char *other = made("map", "other", "M and so forth");
    serve(made("map", "original", "M and so on"), "60");
    hosted_join("--sim", LEVEL, "--bot", "1", "--param", copy);
    hosted_expect_perfect(60);
    const char *journal = found(".journal");
    hosted_run(0, LS_TEST_REPLAY, "verify", journal, "--sim", LEVEL, "--param", copy);
    cr_expect(strstr(hosted_run(2, LS_TEST_REPLAY, "verify", journal, "--sim", LEVEL),
                     "needs the file 'map' (digest "));
    cr_expect(
        strstr(hosted_run(2, LS_TEST_REPLAY, "verify", journal, "--sim", LEVEL, "--param", other),
               "file 'map': this machine has digest "));
}

Test(programs_files, a_client_without_the_map_or_with_another_is_refused_in_words)
{
    serve(made("map", "original", "M and so on"), "30");
    const char *without = hosted_run(1, LS_TEST_CLIENT, hosted_address(), "--sim", LEVEL);
    cr_expect(strstr(without, "the match needs the file 'map' (digest "), "%s", without);
    cr_expect(strstr(without, "11 bytes): give it with --param map=PATH"), "%s", without);
    const char *other = hosted_run(1, LS_TEST_CLIENT, hosted_address(), "--sim", LEVEL, "--param",
                                   made("map", "other", "M and so forth"));
    cr_expect(strstr(other, "file 'map': this machine has digest "), "%s", other);
    hosted_expect_words(&hosted.server, "file 'map': this machine has digest ");
    hosted_join("--sim", LEVEL, "--bot", "1", "--param", made("map", "copy", "M and so on"));
    hosted_expect_perfect(30);
}

Test(programs_files, a_server_says_what_is_wrong_with_a_file)
{
    hosted_expect_refusal(2, LS_TEST_SERVER, "'level' needs a file: --param map=PATH", "--sim",
                          LEVEL);
    hosted_expect_refusal(2, LS_TEST_SERVER, "--param map: cannot read /nowhere: ", "--sim", LEVEL,
                          "--param", "map=/nowhere");
    hosted_expect_refusal(2, LS_TEST_SERVER,
                          "could not make its first state: map: byte 0 is 0x4e, and not an M",
                          "--sim", LEVEL, "--param", made("map", "bad", "No map"));
}

Test(programs_files, a_helper_that_runs_ticks_again_gets_the_map)
{
    const char *copy = made("map", "copy", "M and so on");
    serve(made("map", "original", "M and so on"), "90");
    hosted_join("--sim", LEVEL, "--bot", "1", "--param", copy, "--flip-bit", "40:3");
    hosted_expect_exits(3, 3);
    const cJSON *summary = hosted_server_summary();
    cr_expect_str_eq(hosted_word(summary, "desyncs.0.class"), "one-off");
    const char *bundle = found(".bundle");
    const char *line =
        hosted_run(3, LS_TEST_DESYNC, "explain", bundle, "--sim", LEVEL, "--param", copy);
    (void)line;
    cr_expect(strstr(hosted_run(2, LS_TEST_DESYNC, "explain", bundle, "--sim", LEVEL),
                     "needs the file 'map' (digest "));
}

Test(programs_files, synctest_plays_with_a_map)
{
    hosted_run(0, LS_TEST_SYNCTEST, LEVEL, "--ticks", "40", "--param",
               made("map", "original", "M and so on"));
}

/* Not a file, but what its journal says of the match has to come through as well. */
Test(programs_files, a_rate_that_is_no_whole_number_comes_through)
{
    const char *map = made("map", "original", "M and so on");
    hosted_serve("--sim", LEVEL, "--ticks", "120", "--players", "1", "--journal", hosted.folder,
                 "--param", map, "--tick-rate", "262144/4389");
    hosted_join("--sim", LEVEL, "--bot", "1", "--param", map);
    hosted_expect_perfect(120);
    double hz = hosted_number(hosted_server_summary(), "tick_rate_hz");
    cr_expect(hz > 59.7275 && hz < 59.7276, "%f", hz);
    cr_expect_eq(hosted_number(hosted_client_summary(0), "tick_rate_hz"), hz);
    hosted_run(0, LS_TEST_REPLAY, "verify", found(".journal"), "--sim", LEVEL, "--param", map);
    hosted_run(0, LS_TEST_SYNCTEST, LEVEL, "--ticks", "20", "--param", map, "--tick-rate",
               "59.7275", "--only", "save");
    hosted_expect_refusal(2, LS_TEST_SERVER, "--tick-rate takes 1 to 1000, as in 60, 59.7275 or",
                          "--sim", LEVEL, "--tick-rate", "59.7275000001");
}
