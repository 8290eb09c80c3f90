#define _XOPEN_SOURCE 700
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/arena/arena_state.h"
#include "lockstep/tests/support/explained.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BAD_TICK = 150,
};

TestSuite(explain, .init = explained_open, .fini = explained_close);

/* ---- bundles ---- */

/* A bit of a ship's health flips on the client. */
static void save_flipped_arena(void)
{
    diagnosed_match match;
    ls_sim_config config = ls_sim_config_default(ls_arena_simulation());
    diagnosed_match_open(&match, ls_arena_simulation(), &config);
    diagnosed_match_run(&match, BAD_TICK);
    ls_arena_layout layout = ls_arena_layout_of(&config);
    uint8_t *state = ls_sim_instance_state(match.client.instance);
    ls_arena_ship *ships = (void *)(state + layout.ships);
    ships[2].deaths ^= 64;
    diagnosed_match_run(&match, 20);
    explained_save_bundle(&match);
    diagnosed_match_close(&match);
}

static size_t save_other_build(void)
{
    diagnosed_match match;
    ls_sim_config config = ls_sim_config_default(fault_simulation());
    diagnosed_match_open(&match, fault_simulation(), &config);
    match.client.knob = (fault_knob){.kind = FAULT_BUILD, .from = BAD_TICK};
    diagnosed_match_run(&match, BAD_TICK + 20);
    size_t size = explained_save_bundle(&match);
    diagnosed_match_close(&match);
    return size;
}

Test(explain, a_flipped_bit_of_a_built_in_is_named)
{
    save_flipped_arena();
    EXPLAINED_RUN(3, "explain", explained.bundle_path, "--json", "-");
    explained_parse();
    cr_expect_str_eq(explained_text(explained.json, "sim"), "arena");
    cr_expect_eq(explained_number(explained.json, "tick"), BAD_TICK + 1);
    cr_expect_eq(explained_number(explained.json, "slot"), 1);
    cr_expect_str_eq(explained_text(explained.json, "class"), "one-off");
    cr_expect_str_eq(explained_text(explained.json, "culprit"), "client");
    cr_expect_str_eq(explained_text(explained.json, "agrees_with"), "server");
    cr_expect_str_eq(explained_text(explained.json, "missing"), "");
    cr_expect_str_eq(explained_text(explained.json, "pass"), "(null)");
    const cJSON *differences = cJSON_GetObjectItem(explained.json, "differences");
    cr_assert_eq(cJSON_GetArraySize(differences), 1);
    cr_expect_eq(explained_number(explained.json, "elements"), 1);
    const cJSON *first = cJSON_GetArrayItem(differences, 0);
    cr_expect_str_eq(explained_text(first, "field"), "ships[2].deaths");
    cr_expect_eq(strtoll(explained_text(first, "server"), NULL, 10) ^ 64,
                 strtoll(explained_text(first, "client"), NULL, 10));
}

Test(explain, another_build_is_named_with_its_pass_and_agrees_with_itself)
{
    save_other_build();
    EXPLAINED_JSON("--sim", LS_TEST_PLUGIN_DIR "/fault_none.so");
    cr_expect_str_eq(explained_text(explained.json, "class"), "build");
    cr_expect_str_eq(explained_text(explained.json, "agrees_with"), "server");
    cr_expect_str_eq(explained_text(explained.json, "pass"), "spread");
    cr_expect_str_eq(explained_text(explained.json, "player"), "Ada");
    const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(explained.json, "differences"), 0);
    cr_expect_str_eq(explained_text(first, "field"), "wrong");
    cr_expect_str_eq(explained_text(first, "server"), "0");
    cr_expect_str_eq(explained_text(first, "client"), "1");
    EXPLAINED_JSON("--sim", LS_TEST_PLUGIN_DIR "/fault_build.so");
    cr_expect_str_eq(explained_text(explained.json, "agrees_with"), "client");
}

Test(explain, without_the_simulation_the_record_is_explained)
{
    save_other_build();
    EXPLAINED_RUN(3, "explain", explained.bundle_path, "--json", "-");
    explained_parse();
    cr_expect_str_eq(explained_text(explained.json, "agrees_with"), "not-run");
    cr_expect_not_null(strstr(explained_text(explained.json, "not_run"), "--sim"));
    cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(explained.json, "differences")), 1);
    EXPLAINED_JSON("--sim", "arena");
    cr_expect_str_eq(explained_text(explained.json, "not_run"),
                     "the bundle is of simulation 'fault', this is 'arena'");
}

Test(explain, writes_to_a_field_are_traced)
{
    save_other_build();
    EXPLAINED_JSON("--sim", LS_TEST_PLUGIN_DIR "/fault_none.so", "--trace", "ticks");
    cr_expect_eq(explained_number(explained.json, "write_count"), 1);
    const cJSON *write = cJSON_GetArrayItem(cJSON_GetObjectItem(explained.json, "writes"), 0);
    cr_expect_str_eq(explained_text(write, "pass"), "finish");
    cr_expect_str_eq(explained_text(write, "before"), "150 ticks");
    cr_expect_str_eq(explained_text(write, "after"), "151 ticks");
    EXPLAINED_JSON("--sim", LS_TEST_PLUGIN_DIR "/fault_none.so", "--trace", "speed");
    cr_expect_not_null(strstr(explained_text(explained.json, "not_traced"), "there are"));
}

static char *load_text(const char *path)
{
    enum {
        BYTES_MAX = 4 << 20
    };
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file);
    char *text = calloc(1, BYTES_MAX);
    cr_assert_gt(fread(text, 1, BYTES_MAX - 1, file), 0);
    fclose(file);
    return text;
}

static char *load_page(void)
{
    return load_text(explained.html_path);
}

Test(explain, the_page_stands_by_itself_and_escapes_what_others_wrote)
{
    save_flipped_arena();
    EXPLAINED_RUN(3, "explain", explained.bundle_path, "--html", explained.html_path, "-q");
    char *page = load_page();
    cr_expect_str_empty(ls_process_output(&explained.process));
    const char *const expected[] = {"<svg", "ships[2].deaths", "Another &lt;CPU&gt; &quot;2&quot;",
                                    "one-off", "</html>"};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        cr_expect_not_null(strstr(page, expected[i]), "no %s", expected[i]);
    }
    cr_expect_null(strstr(page, "http"));
    cr_expect_null(strstr(page, "src="));
    cr_expect_null(strstr(page, "<CPU>"));
    free(page);
}

/* ---- what a person sees ---- */

static void save_moved_body(void)
{
    diagnosed_match match;
    ls_sim_config config = ls_sim_config_default(ls_arena_simulation());
    diagnosed_match_open(&match, ls_arena_simulation(), &config);
    diagnosed_match_run(&match, BAD_TICK);
    ls_arena_layout layout = ls_arena_layout_of(&config);
    ls_arena_body *bodies =
        (void *)((uint8_t *)ls_sim_instance_state(match.client.instance) + layout.bodies);
    bodies[7].position.x += LS_FIXED_ONE;
    diagnosed_match_run(&match, 5);
    explained_save_bundle(&match);
    diagnosed_match_close(&match);
}

static void expect_in_order(const char *page, const char *const *expected, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *found = strstr(page, expected[i]);
        cr_assert_not_null(found, "no %s", expected[i]);
        page = found + strlen(expected[i]);
    }
}

Test(explain, the_page_begins_with_the_verdict_and_a_picture_and_folds_the_tables)
{
    static const char *const expected[] = {
        "<h1>Desync of slot 1 (Ada) at state 151",
        ("class=\"verdict\">Ada differs from the server from state 151 on, which tick 150 made. "
         "They"),
        "<b>Next: run lockstep-synctest GAME.so --only still,workers,draw",
        "id=\"server-150\"",
        "id=\"server-151\"",
        "class=\"mark\"",
        "id=\"client-151\"",
        "class=\"mark\"",
        "href=\"#server-151\"",
        "href=\"#client-151\"",
        "id=\"slider\"",
        "Rings mark",
        "From state 151 on each side is simulated on here from its own state",
        "Where the two part",
        "First pass that differs in tick 150",
        "<code>match.pairs</code>: server ",
        "The tick was run again here under ",
        "<details>\n<summary>State hashes",
        "<details>\n<summary>Fields that differ",
        "<details>\n<summary>Machines",
    };
    save_moved_body();
    EXPLAINED_RUN(3, "explain", explained.bundle_path, "--html", explained.html_path, "-q");
    char *page = load_page();
    expect_in_order(page, expected, sizeof expected / sizeof expected[0]);
    free(page);
}

Test(explain, the_page_names_the_statement)
{
    save_other_build();
    EXPLAINED_RUN(3, "explain", explained.bundle_path, "--html", explained.html_path, "-q", "--sim",
                  LS_TEST_PLUGIN_DIR "/fault_build.so");
    static const char *const expected[] = {"No picture: the simulation draws nothing.",
                                           "spread, pass 2 of 3", "<code>wrong</code>: server 0"};
    char *page = load_page();
    expect_in_order(page, expected, sizeof expected / sizeof expected[0]);
#if defined(__x86_64__) && defined(__linux__)
    expect_in_order(
        page, (const char *const[]){", pass spread: the first write to a value", "wrong: "}, 2);
#endif
    free(page);
}

/* NULL: none is installed. */
static const char *find_browser(void)
{
    static const char *const browsers[] = {"/usr/bin/chromium-headless-shell", "/usr/bin/chromium",
                                           "/usr/bin/google-chrome"};
    for (size_t i = 0; i < sizeof browsers / sizeof browsers[0]; i++) {
        if (access(browsers[i], X_OK) == 0) {
            return browsers[i];
        }
    }
    return NULL;
}

/* The page as a browser has it when its script has run. */
static char *browse(const char *fragment)
{
    char address[128];
    snprintf(address, sizeof address, "file://%s%s", explained.html_path, fragment);
    const char *const arguments[] = {"--headless", "--no-sandbox", "--disable-gpu",
                                     "--dump-dom", address,        NULL};
    const ls_process_config config = {
        .program = find_browser(), .arguments = arguments, .output_stem = explained.stem};
    ls_process_stop(&explained.process);
    ls_process_start(&explained.process, &config);
    cr_assert(ls_process_wait(&explained.process, LS_PROCESS_PATIENCE_MS));
    cr_assert_eq(explained.process.exit_code, 0, "%s", ls_process_errors(&explained.process));
    return load_text(explained.process.out_path);
}

Test(explain, a_browser_shows_both_sides_and_moves_the_slider)
{
    if (!find_browser()) {
        cr_skip_test("no browser is installed: apt-get install chromium-headless-shell");
    }
    save_moved_body();
    EXPLAINED_RUN(3, "explain", explained.bundle_path, "--html", explained.html_path, "-q");
    static const char *const at_the_end[] = {"id=\"server-board\" href=\"#server-151\"",
                                             "id=\"client-board\" href=\"#client-151\"",
                                             ">state 151</output>"};
    static const char *const before[] = {"id=\"server-board\" href=\"#server-140\"",
                                         "id=\"client-board\" href=\"#server-140\"",
                                         ">state 140</output>"};
    static const char *const after[] = {"id=\"server-board\" href=\"#server-153\"",
                                        "id=\"client-board\" href=\"#client-153\"",
                                        ">state 153</output>"};
    char *page = browse("");
    expect_in_order(page, at_the_end, 3);
    free(page);
    page = browse("#140");
    expect_in_order(page, before, 3);
    free(page);
    page = browse("#153");
    expect_in_order(page, after, 3);
    free(page);
}

Test(explain, the_text_tells_what_matters)
{
    save_other_build();
    EXPLAINED_RUN(3, "explain", explained.bundle_path, "--sim",
                  LS_TEST_PLUGIN_DIR "/fault_none.so");
    const char *text = ls_process_output(&explained.process);
    const char *const expected[] = {"Slot 1 (Ada) differs from the server from state 151",
                                    "class       build",
                                    "first pass  spread, pass 2 of 3",
                                    "next        give both sides the same file",
                                    "this machine agrees with the server",
                                    "wrong",
                                    "<- differs first",
                                    "Inputs of tick 150",
                                    "* cpu             client  Another <CPU>"};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        cr_expect_not_null(strstr(text, expected[i]), "no \"%s\" in %s", expected[i], text);
    }
}

Test(explain, a_cut_bundle_is_explained_as_far_as_it_goes)
{
    size_t size = save_other_build();
    /* behind the client's state is only what a bundle may lack */
    for (size_t cut = 60; cut < 500; cut += 60) {
        cr_assert_eq(truncate(explained.bundle_path, (off_t)(size - cut)), 0);
        EXPLAINED_JSON("--sim", LS_TEST_PLUGIN_DIR "/fault_none.so");
        if (strstr(explained_text(explained.json, "missing"), "client's state")) {
            break;
        }
        cr_expect_str_eq(explained_text(explained.json, "missing"), "the bundle is cut or damaged");
    }
    cr_expect_str_eq(explained_text(explained.json, "missing"),
                     "the bundle is cut or damaged; missing from it: client's state");
    cr_expect_str_eq(explained_text(explained.json, "agrees_with"), "server");
}

Test(explain, an_impossible_command_is_refused)
{
    EXPLAINED_RUN(2, "explain");
    EXPLAINED_RUN(2, "describe", "x");
    EXPLAINED_RUN(2, "explain", "a", "b");
    EXPLAINED_RUN(1, "explain", "/nowhere/desync.bundle");
    cr_expect_not_null(strstr(ls_process_errors(&explained.process), "/nowhere/desync.bundle"));
    EXPLAINED_RUN(1, "explain", explained.directory);
    explained_save_file(explained.bundle_path, (const uint8_t *)"nothing", 7);
    EXPLAINED_RUN(1, "explain", explained.bundle_path);
    cr_expect_not_null(strstr(ls_process_errors(&explained.process), "this is no desync bundle"));
    explained_save_file(explained.bundle_path, (const uint8_t *)"", 0);
    EXPLAINED_RUN(1, "explain", explained.bundle_path);
    save_other_build();
    EXPLAINED_RUN(2, "explain", explained.bundle_path, "--sim", "nothing");
    EXPLAINED_RUN(1, "explain", explained.bundle_path, "--html", "/nowhere/page.html", "-q");
}
