#define _XOPEN_SOURCE 700
#include "lockstep/common/loader/plugin_loader.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/arena/arena_state.h"
#include "lockstep/common/system/ability.h"
#include "lockstep/tools/desync/write_trace.h"

#include "lockstep/tests/support/explained.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ==== explain ==== */

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

/* ==== explain_code ==== */

#define FURNACE LS_TEST_PLUGIN_DIR "/furnace.so"
#define FUSED LS_TEST_PLUGIN_DIR "/furnace_fused.so"
#define FAST LS_TEST_PLUGIN_DIR "/furnace_fast.so"
#define NAMED LS_TEST_PLUGIN_DIR "/furnace_named.so"
#define STRIPPED LS_TEST_PLUGIN_DIR "/furnace_stripped.so"

TestSuite(explain_code, .init = explained_open, .fini = explained_close);

static bool can_run_here(const char *client)
{
#if defined(__x86_64__)
    return ls_ability_is_there(LS_ABILITY_WRITE_TRACES, NULL) &&
           (strcmp(client, FUSED) != 0 || __builtin_cpu_supports("fma"));
#else
    (void)client;
    return false;
#endif
}

/* A match of two builds, until they differ. */
static void save_builds(const char *client)
{
    ls_loaded_simulation loaded[2];
    ls_text why = {{0}};
    diagnosed_match match;
    if (!can_run_here(client)) {
        cr_skip_test("writes cannot be watched, or this build cannot be run here");
    }
    cr_assert_eq(ls_simulation_load(FURNACE, &loaded[0], &why), LS_OK, "%s", why.bytes);
    cr_assert_eq(ls_simulation_load(client, &loaded[1], &why), LS_OK, "%s", why.bytes);
    ls_sim_config config = ls_sim_config_default(loaded[0].simulation);
    diagnosed_match_open_builds(&match, loaded[0].simulation, loaded[1].simulation, &config);
    for (uint32_t i = 0; i < 100 && match.bad == 0; i++) {
        diagnosed_match_step(&match);
    }
    explained_save_bundle(&match);
    diagnosed_match_close(&match);
    ls_simulation_unload(&loaded[1]);
    ls_simulation_unload(&loaded[0]);
}

static const cJSON *at(const cJSON *list, int index)
{
    const cJSON *item = cJSON_GetArrayItem(list, index);
    cr_assert(item, "the list has no item %d", index);
    return item;
}

static const cJSON *side_of(const char *side)
{
    const cJSON *pair = cJSON_GetObjectItem(explained.json, "first_differing_write");
    const cJSON *found = cJSON_GetObjectItem(pair, side);
    cr_assert(found, "no %s", side);
    return found;
}

static void expect_level(const cJSON *side, int index, const char *function, bool is_inlined)
{
    const cJSON *level = at(cJSON_GetObjectItem(side, "stack"), index);
    cr_expect_str_eq(explained_text(level, "function"), function);
    cr_expect_str_eq(explained_text(level, "file"), "furnace.c");
    cr_expect_gt(explained_number(level, "line"), 0);
    cr_expect_eq(cJSON_IsTrue(cJSON_GetObjectItem(level, "is_inlined")), is_inlined);
}

/* Whether an instruction of that name is in the code, and only marked ones have it. */
static bool has_marked(const cJSON *side, const char *mnemonic)
{
    const cJSON *instruction;
    bool has = false;
    cJSON_ArrayForEach(instruction, cJSON_GetObjectItem(side, "code"))
    {
        if (strstr(explained_text(instruction, "instruction"), mnemonic)) {
            has = true;
            cr_expect(cJSON_IsTrue(cJSON_GetObjectItem(instruction, "differs")), "%s is not marked",
                      mnemonic);
        }
    }
    return has;
}

static int count_writes(const cJSON *side)
{
    const cJSON *instruction;
    int count = 0;
    cJSON_ArrayForEach(instruction, cJSON_GetObjectItem(side, "code"))
    {
        count += cJSON_IsTrue(cJSON_GetObjectItem(instruction, "writes"));
    }
    return count;
}

Test(explain_code, a_fused_multiply_add_is_marked_in_the_code_of_both_builds)
{
    save_builds(FUSED);
    EXPLAINED_JSON("--sim", FURNACE, "--against", FUSED, "--trace", "flow");
    cr_expect_str_eq(explained_text(explained.json, "pass"), "pump");
    const cJSON *here = side_of("sim");
    const cJSON *other = side_of("against");
    cr_expect_not_null(strstr(explained_text(here, "by"), "blend (furnace.c:"));
    cr_expect(has_marked(other, "fmadd"));
    cr_expect_not(has_marked(here, "fmadd"));
    cr_expect_eq(count_writes(here), 1);
    cr_expect_eq(count_writes(other), 1);
}

/* Without one word of the field, the other build or the pass. */
Test(explain_code, the_report_begins_with_the_line_at_which_the_two_part)
{
    static const char *const by[][2] = {{"values", NULL}, {"builds", FUSED}};
    save_builds(FUSED);
    for (size_t i = 0; i < 2; i++) {
        EXPLAINED_JSON("--sim", FURNACE, by[i][1] ? "--against" : NULL, by[i][1]);
        const cJSON *line = cJSON_GetObjectItem(explained.json, "line");
        cr_expect_str_eq(explained_text(line, "found_by"), by[i][0]);
        cr_expect_str_eq(explained_text(line, "file"), "furnace.c");
        cr_expect_str_eq(explained_text(line, "function"), "blend");
        cr_expect_str_eq(explained_text(line, "pass"), "pump");
        cr_expect_not_null(strstr(explained_text(line, "source"), "0.9 + gain * 0.1"), "%s",
                           explained_text(line, "source"));
        expect_level(line, 1, "pump", false);
    }
    EXPLAINED_RUN(3, "explain", explained.bundle_path, "--sim", FURNACE);
    const char *text = ls_process_output(&explained.process);
    const char *line = strstr(text, "furnace.c:");
    cr_assert_not_null(line);
    cr_expect_lt(line, strstr(text, "class  "), "it comes before any table");
}

/* A stripped plug-in has no lines: the place in its file is named, and what is missing. */
Test(explain_code, of_a_stripped_build_the_place_is_named)
{
    save_builds(FUSED);
    EXPLAINED_RUN(3, "explain", explained.bundle_path, "--sim", STRIPPED);
    const char *text = ls_process_output(&explained.process);
    cr_expect_not_null(strstr(text, "(build with -g for its line)"), "%s", text);
    cr_expect_not_null(strstr(text, "furnace_stripped.so+0x"), "%s", text);
}

Test(explain_code, a_write_in_a_called_function_has_its_callers)
{
    save_builds(FUSED);
    EXPLAINED_JSON("--sim", FURNACE, "--against", FUSED, "--trace", "level");
    const cJSON *here = side_of("sim");
    expect_level(here, 0, "fill", false);
    expect_level(here, 1, "carry", false);
    cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(here, "stack")), 2,
                 "what is below the pass is Lockstep's own");
    const cJSON *writes = cJSON_GetObjectItem(explained.json, "writes");
    cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(at(writes, 3), "stack")), 2);
}

Test(explain_code, a_write_in_an_inlined_function_has_the_functions_that_it_was_put_into)
{
    save_builds(FUSED);
    EXPLAINED_JSON("--sim", FURNACE, "--against", FUSED, "--trace", "flow");
    static const char *const sides[] = {"sim", "against"};
    for (size_t i = 0; i < 2; i++) {
        const cJSON *side = side_of(sides[i]);
        expect_level(side, 0, "blend", true);
        expect_level(side, 1, "pump", false);
        cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(side, "stack")), 2);
    }
    EXPLAINED_RUN(3, "explain", explained.bundle_path, "--sim", FURNACE, "--against", FUSED);
    const char *text = ls_process_output(&explained.process);
    static const char *const expected[] = {
        "blend (furnace.c:", "  inlined into pump (furnace.c:", "Machine code of --sim",
        "<- writes it",      "Machine code of --against",       "fmadd"};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        cr_expect_not_null(strstr(text, expected[i]), "no %s in %s", expected[i], text);
    }
}

/* Instructions that only one of the two has. */
static int count_marked(const cJSON *side)
{
    const cJSON *instruction;
    int count = 0;
    cJSON_ArrayForEach(instruction, cJSON_GetObjectItem(side, "code"))
    {
        count += cJSON_IsTrue(cJSON_GetObjectItem(instruction, "differs"));
    }
    return count;
}

Test(explain_code, a_sum_in_another_order_is_marked_in_the_code_of_both_builds)
{
    save_builds(FAST);
    EXPLAINED_JSON("--sim", FURNACE, "--against", FAST);
    cr_expect_str_eq(explained_text(explained.json, "pass"), "add");
    expect_level(side_of("sim"), 0, "add", false);
    cr_expect_gt(count_marked(side_of("sim")) + count_marked(side_of("against")), 0);
    cr_expect_eq(count_writes(side_of("sim")), 1);
    cr_expect_eq(count_writes(side_of("against")), 1);
}

Test(explain_code, without_debug_information_the_file_and_offset_are_told)
{
    save_builds(FUSED);
    EXPLAINED_JSON("--sim", STRIPPED, "--against", FUSED, "--trace", "flow");
    const cJSON *here = side_of("sim");
    cr_expect_not_null(strstr(explained_text(here, "by"), "furnace_stripped.so+0x"), "%s",
                       explained_text(here, "by"));
    cr_expect_eq(count_writes(here), 1);
    cr_expect_gt(cJSON_GetArraySize(cJSON_GetObjectItem(here, "code")), 8);
    cr_expect(has_marked(side_of("against"), "fmadd"));
}

Test(explain_code, without_debug_information_a_function_of_cpp_has_its_name_of_the_source)
{
#if !defined(LS_HAS_LIBIBERTY)
    cr_skip_test("libiberty was not there when this was built");
#endif
    save_builds(FUSED);
    EXPLAINED_JSON("--sim", NAMED, "--against", FUSED, "--trace", "flow");
    const char *by = explained_text(side_of("sim"), "by");
    cr_expect_eq(strncmp(by, "furnace::pump+0x", 16), 0, "%s", by);
}

/* ---- why a field differs ---- */

static const cJSON *link_at(int index)
{
    const cJSON *origin = cJSON_GetObjectItem(explained.json, "origin");
    return at(cJSON_GetObjectItem(origin, "links"), index);
}

static int count_links(void)
{
    const cJSON *origin = cJSON_GetObjectItem(explained.json, "origin");
    return cJSON_GetArraySize(cJSON_GetObjectItem(origin, "links"));
}

static const char *end_of_chain(void)
{
    return explained_text(cJSON_GetObjectItem(explained.json, "origin"), "end");
}

/* The element among those that a statement read; NULL: it is not. */
static const cJSON *read_of(const cJSON *link, const char *field)
{
    const cJSON *read;
    cJSON_ArrayForEach(read, cJSON_GetObjectItem(link, "reads"))
    {
        if (strcmp(explained_text(read, "field"), field) == 0) {
            return read;
        }
    }
    return NULL;
}

static bool is_true(const cJSON *object, const char *key)
{
    return cJSON_IsTrue(cJSON_GetObjectItem(object, key));
}

static void expect_read(const cJSON *link, const char *field, bool differs)
{
    const cJSON *read = read_of(link, field);
    cr_assert(read, "%s was not read", field);
    cr_expect_eq(is_true(read, "differs"), differs, "%s", field);
}

/* The level that differs first is made of the flow that does. */
static void expect_level_from_flow(void)
{
    char level[32], flow[32];
    const cJSON *link = link_at(0);
    snprintf(level, sizeof level, "%s", explained_text(cJSON_GetObjectItem(link, "sim"), "field"));
    snprintf(flow, sizeof flow, "flow%s", level + strlen("level"));
    cr_assert_eq(count_links(), 2);
    expect_read(link, flow, true);
    cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(link, "reads")), 1);
    link = link_at(1);
    cr_expect_str_eq(explained_text(cJSON_GetObjectItem(link, "sim"), "field"), flow);
    cr_expect_str_eq(explained_text(cJSON_GetObjectItem(link, "sim"), "pass"), "pump");
    expect_level(cJSON_GetObjectItem(link, "sim"), 0, "blend", true);
    expect_read(link, flow, false);
    expect_read(link, "ticks", false);
    cr_expect_null(read_of(link, "quiet"));
    cr_expect_not(is_true(link, "reads_inputs"));
}

Test(explain_code, a_field_is_followed_back_to_the_first_difference)
{
    save_builds(FUSED);
    EXPLAINED_JSON("--sim", FURNACE, "--against", FUSED, "--why", "level");
    expect_level_from_flow();
    cr_expect_not_null(strstr(end_of_chain(), "this is where the two builds part"));
    EXPLAINED_RUN(3, "explain", explained.bundle_path, "--sim", FURNACE, "--against", FUSED,
                  "--why", "level");
    const char *text = ls_process_output(&explained.process);
    cr_expect_not_null(strstr(text, "Why level differs in tick "));
    cr_expect_not_null(strstr(text, "<- differs before it"));
}

Test(explain_code, one_build_follows_what_differs_after_the_tick)
{
    save_builds(FUSED);
    EXPLAINED_JSON("--sim", FURNACE, "--why", "level");
    cr_expect_geq(count_links(), 1);
    EXPLAINED_JSON("--sim", STRIPPED, "--against", FUSED, "--why", "level");
    cr_expect_eq(count_links(), 2, "without debug information as well");
}

Test(explain_code, the_statement_that_sums_differs_although_nothing_that_it_reads_does)
{
    save_builds(FAST);
    EXPLAINED_JSON("--sim", FURNACE, "--against", FAST, "--why", "total");
    cr_assert_eq(count_links(), 1);
    expect_read(link_at(0), "level[0]", false);
    expect_read(link_at(0), "level[3]", false);
    expect_read(link_at(0), "quiet", false);
    cr_expect_null(read_of(link_at(0), "flow[0]"), "the level's own origin");
    cr_expect_not(is_true(link_at(0), "is_decided_by_reads"));
}

Test(explain_code, a_write_of_one_build_alone_is_followed_to_what_decided_it)
{
    save_builds(FAST);
    EXPLAINED_JSON("--sim", FURNACE, "--against", FAST, "--why", "alarms");
    cr_assert_eq(count_links(), 2);
    cr_expect_null(cJSON_GetObjectItem(link_at(0), "sim"), "it raised no alarm");
    cr_expect(is_true(link_at(0), "is_decided_by_reads"));
    expect_read(link_at(0), "total", true);
    cr_expect_str_eq(explained_text(cJSON_GetObjectItem(link_at(1), "sim"), "field"), "total");
}

Test(explain_code, a_field_that_does_not_differ_is_said_not_to)
{
    save_builds(FUSED);
    EXPLAINED_JSON("--sim", FURNACE, "--against", FUSED, "--why", "ticks");
    cr_expect_eq(count_links(), 0);
    cr_expect_not_null(strstr(end_of_chain(), "Both builds write the same values"));
    EXPLAINED_JSON("--sim", FURNACE, "--against", FUSED, "--why", "nothing");
    cr_expect_not_null(strstr(end_of_chain(), "there are"), "%s", end_of_chain());
}

/* ---- under changes ---- */

static const cJSON *run_of(const char *change)
{
    const cJSON *run;
    cJSON_ArrayForEach(run, cJSON_GetObjectItem(explained.json, "under_changes"))
    {
        if (strcmp(explained_text(run, "change"), change) == 0) {
            break;
        }
    }
    cr_assert(run, "no %s", change);
    return run;
}

/* The text says so, and names the next steps that have not been taken. */
Test(explain_code, what_was_tried_is_told_when_nothing_gets_the_clients_result)
{
    save_builds(FUSED);
    EXPLAINED_JSON("--sim", FURNACE);
    const char *text = explained_text(explained.json, "under_changes_text");
    static const char *const tried[] = {"no-fma", "one-core",  "noise", "reloaded",
                                        "apart",  "directory", "locale"};
    for (size_t i = 0; i < sizeof tried / sizeof tried[0]; i++) {
        cr_expect_str_eq(explained_text(run_of(tried[i]), "agrees_with"), "server", "%s", tried[i]);
        cr_expect_eq(explained_number(run_of(tried[i]), "other_results"), 0);
    }
    cr_expect_gt(explained_number(run_of("noise"), "results"), 4);
    cr_expect_not_null(strstr(text, "none gets the client's result"), "%s", text);
    cr_expect_not_null(strstr(text, "--against FILE.so"));
    cr_expect_not_null(strstr(text, "--sanitized FILE.so"));
    EXPLAINED_RUN(3, "explain", explained.bundle_path);
    cr_expect_not_null(strstr(ls_process_output(&explained.process),
                              "The ticks were not run again here under changes: no built-in"));
}

/* A build that no match was played with: its result depends on what it must not depend on. */
static void expect_suspect(const char *plugin, const char *change, const char *cause)
{
    EXPLAINED_JSON("--sim", plugin);
    const char *text = explained_text(explained.json, "under_changes_text");
    cr_expect_gt(explained_number(run_of(change), "other_results"), 0, "%s", change);
    cr_expect_not_null(strstr(text, "the result changes with this, as it never should"), "%s",
                       text);
    cr_expect_not_null(strstr(text, cause), "%s", text);
}

/* Where memcheck is not installed the report says what it would tell. */
static void expect_memory(const char *plugin, const char *words)
{
    static const char *const places[] = {"/usr/bin/valgrind", "/usr/local/bin/valgrind"};
    bool is_there = access(places[0], X_OK) == 0 || access(places[1], X_OK) == 0;
    save_builds(FUSED);
    EXPLAINED_JSON("--sim", plugin);
    const char *memory = explained_text(explained.json, "memory");
    const char *text = explained_text(explained.json, "under_changes_text");
    cr_expect_null(strstr(text, "-fsanitize"), "no sanitizer of these sees it: %s", text);
    if (!is_there) {
        cr_expect_not_null(strstr(memory, "where valgrind is installed"), "%s", memory);
        cr_skip_test("valgrind is not installed");
    }
    cr_expect_not_null(strstr(memory, words), "%s", memory);
    cr_expect_not_null(strstr(memory, " in read_what_is_not_set (furnace.c:"), "%s", memory);
}

Test(explain_code, of_memory_that_is_not_set_memcheck_says_where_it_was_made)
{
    expect_memory(LS_TEST_PLUGIN_DIR "/furnace_unset.so", "reaches the state; it is from a ");
}

Test(explain_code, of_memory_behind_a_block_memcheck_says_what_reads_it)
{
    expect_memory(LS_TEST_PLUGIN_DIR "/furnace_past_end.so",
                  ") reads 0 bytes after a block of size 64 alloc'd in ");
}

Test(explain_code, a_result_that_changes_with_noise_or_workers_is_told)
{
    save_builds(FUSED);
    expect_suspect(LS_TEST_PLUGIN_DIR "/furnace_unset.so", "noise",
                   "So a step reads memory that it has not set");
    expect_suspect(LS_TEST_PLUGIN_DIR "/furnace_workers.so", "workers",
                   "So results depend on the number of workers");
}

Test(explain_code, a_report_of_a_sanitizer_is_quoted_with_file_and_line)
{
    static const char *const files[] = {LS_TEST_PLUGIN_DIR "/furnace_address.so",
                                        LS_TEST_PLUGIN_DIR "/furnace_undefined.so"};
    static const char *const said[] = {"heap-buffer-overflow", "runtime error: shift exponent"};
    if (access(files[0], R_OK) != 0) {
        cr_skip_test("this build has no plug-ins with a sanitizer of their own");
    }
    save_builds(FUSED);
    for (size_t i = 0; i < 2; i++) {
        EXPLAINED_JSON("--sim", FURNACE, "--sanitized", files[i]);
        const char *why = explained_text(run_of("sanitized"), "why");
        cr_expect_not_null(strstr(why, said[i]), "%s", why);
        cr_expect_not_null(strstr(why, "furnace.c:"), "%s", why);
        cr_expect_not_null(strstr(explained_text(explained.json, "under_changes_text"), why));
    }
}

/* ==== collect ==== */

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

static void collect_save_other_build(ls_tick tick)
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
    collect_save_other_build(60);
    save_flipped(0, 40, explained.directory);
    save_flipped(1, 50, room);
    save_flipped(3, 90, room);
    collect_save_other_build(70);
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
