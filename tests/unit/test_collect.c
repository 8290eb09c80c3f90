/* Many bundles in a folder, grouped by cause. */
#define _XOPEN_SOURCE 700
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/arena/arena_state.h"
#include "lockstep/tests/support/explained.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BUNDLES_MAX = 8,
    PATH_BYTES = 96,
};

static char paths[BUNDLES_MAX][PATH_BYTES];
static int path_count;
static char room[PATH_BYTES]; /* a folder in the folder */

static void open_room(void)
{
    explained_open();
    path_count = 0;
    snprintf(room, sizeof room, "%s/room", explained.directory);
    cr_assert_eq(mkdir(room, 0700), 0);
}

static void close_room(void)
{
    for (int i = 0; i < path_count; i++) {
        remove(paths[i]);
    }
    rmdir(room);
    explained_close();
}

TestSuite(collect, .init = open_room, .fini = close_room);

static const char *next_path(const char *folder, const char *ending)
{
    cr_assert_lt(path_count, BUNDLES_MAX);
    snprintf(paths[path_count], PATH_BYTES, "%s/%d%s", folder, path_count, ending);
    return paths[path_count++];
}

static void keep_bundle(diagnosed_match *match, const char *folder)
{
    explained_save_bundle(match);
    cr_assert_eq(rename(explained.bundle_path, next_path(folder, ".bundle")), 0);
    diagnosed_match_close(match);
}

/* A bit of this ship's count of deaths flips on the client. */
static void save_flipped(uint32_t ship, ls_tick tick, const char *folder)
{
    diagnosed_match match;
    ls_sim_config config = ls_sim_config_default(ls_arena_simulation());
    diagnosed_match_open(&match, ls_arena_simulation(), &config);
    diagnosed_match_run(&match, tick);
    ls_arena_layout layout = ls_arena_layout_of(&config);
    uint8_t *state = ls_sim_instance_state(match.client.instance);
    ls_arena_ship *ships = (void *)(state + layout.ships);
    ships[ship].deaths ^= 64;
    diagnosed_match_run(&match, 20);
    keep_bundle(&match, folder);
}

static void save_other_build(ls_tick tick)
{
    diagnosed_match match;
    ls_sim_config config = ls_sim_config_default(fault_simulation());
    diagnosed_match_open(&match, fault_simulation(), &config);
    match.client.knob = (fault_knob){.kind = FAULT_BUILD, .from = tick};
    diagnosed_match_run(&match, tick + 20);
    keep_bundle(&match, explained.directory);
}

static void collect(int exit_code)
{
    EXPLAINED_RUN(exit_code, "collect", explained.directory, "--json", "-");
    explained_parse();
}

Test(collect, desyncs_of_one_cause_are_one_group_whatever_their_tick_and_item)
{
    save_other_build(60);
    save_flipped(0, 40, explained.directory);
    save_flipped(1, 50, room);
    save_flipped(3, 90, room);
    save_other_build(70);
    collect(3);
    cr_expect_eq(explained_number(explained.json, "desyncs"), 5);
    cr_expect_eq(explained_number(explained.json, "unreadable"), 0);
    const cJSON *causes = cJSON_GetObjectItem(explained.json, "causes");
    cr_assert_eq(cJSON_GetArraySize(causes), 2);
    const cJSON *first = cJSON_GetArrayItem(causes, 0);
    cr_expect_eq(explained_number(first, "count"), 3);
    cr_expect_str_eq(explained_text(first, "class"), "one-off");
    cr_expect_str_eq(explained_text(first, "sim"), "arena");
    cr_expect_str_eq(explained_text(first, "field"), "ships[].deaths");
    cr_expect_eq(explained_number(first, "first_tick"), 41);
    cr_expect_eq(explained_number(first, "last_tick"), 91);
    cr_expect_str_eq(explained_text(first, "example"), paths[1], "the first by its name");
    const cJSON *second = cJSON_GetArrayItem(causes, 1);
    cr_expect_eq(explained_number(second, "count"), 2);
    cr_expect_str_eq(explained_text(second, "class"), "build");
    cr_expect_str_eq(explained_text(second, "pass"), "spread");
    cr_expect_str_eq(explained_text(second, "field"), "wrong");
}

Test(collect, files_that_are_no_bundles_are_counted_and_said)
{
    const uint8_t noise[64] = {1, 2, 3};
    save_flipped(0, 40, explained.directory);
    explained_save_file(next_path(explained.directory, ".bundle"), noise, sizeof noise);
    explained_save_file(next_path(explained.directory, ".journal"), noise, sizeof noise);
    collect(3);
    cr_expect_eq(explained_number(explained.json, "desyncs"), 1);
    cr_expect_eq(explained_number(explained.json, "unreadable"), 1, "journals are passed over");
    cr_expect_not_null(strstr(ls_process_errors(&explained.process), paths[1]));
}

Test(collect, a_folder_without_bundles_is_no_desync_and_none_at_all_is_an_error)
{
    collect(0);
    cr_expect_eq(explained_number(explained.json, "desyncs"), 0);
    EXPLAINED_RUN(1, "collect", "/nowhere/at/all");
    cr_expect_not_null(strstr(ls_process_errors(&explained.process), "/nowhere/at/all"));
    EXPLAINED_RUN(2, "collect", explained.directory, "--trace", "wrong");
    EXPLAINED_RUN(2, "collect");
}

Test(collect, table_and_page_name_the_causes)
{
    save_flipped(2, 40, explained.directory);
    EXPLAINED_RUN(3, "collect", explained.directory, "--html", explained.html_path);
    const char *text = ls_process_output(&explained.process);
    cr_expect_not_null(strstr(text, "1 desync of 1 cause\n"), "%s", text);
    cr_expect_not_null(strstr(text, "ships[].deaths"));
    cr_expect_not_null(strstr(text, paths[0]));
    FILE *page = fopen(explained.html_path, "r");
    static char bytes[1 << 16];
    cr_assert_not_null(page);
    cr_assert_gt(fread(bytes, 1, sizeof bytes - 1, page), 0);
    fclose(page);
    cr_expect_not_null(strstr(bytes, "ships[].deaths"));
}
