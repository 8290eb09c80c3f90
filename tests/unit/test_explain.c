#define _XOPEN_SOURCE 700
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/arena/arena_state.h"
#include "lockstep/tests/support/diagnosed_match.h"
#include "lockstep/tests/support/process.h"

#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BAD_TICK = 150,
    ARGUMENTS_MAX = 12,
};

static char directory[] = "/tmp/lockstep-explain-XXXXXX";
static char bundle_path[64], stem[64], html_path[64];
static ls_process process;
static cJSON *json; /* of the newest run */

static void open_directory(void)
{
    cr_assert_not_null(mkdtemp(directory));
    snprintf(bundle_path, sizeof bundle_path, "%s/desync.bundle", directory);
    snprintf(html_path, sizeof html_path, "%s/page.html", directory);
    snprintf(stem, sizeof stem, "%s/run", directory);
}

static void close_directory(void)
{
    cJSON_Delete(json);
    ls_process_stop(&process);
    remove(bundle_path);
    remove(html_path);
    remove(process.out_path);
    remove(process.err_path);
    rmdir(directory);
}

TestSuite(explain, .init = open_directory, .fini = close_directory);

/* ---- bundles ---- */

static void save_file(const char *path, const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
}

static size_t save_bundle(diagnosed_match *match)
{
    diagnosed_memory *memory = calloc(1, sizeof *memory);
    ls_desync_bundle bundle;
    uint8_t *bytes = NULL;
    size_t size = 0;
    diagnosed_match_bundle(match, memory, &bundle);
    ls_build_fingerprint_set(&bundle.client.print, LS_PRINT_CPU, "Another <CPU> \"2\"");
    cr_assert_eq(ls_desync_bundle_write(&bundle, ls_allocator_heap(), &bytes, &size), LS_OK);
    save_file(bundle_path, bytes, size);
    ls_release(ls_allocator_heap(), bytes);
    free(memory);
    return size;
}

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
    save_bundle(&match);
    diagnosed_match_close(&match);
}

static size_t save_other_build(void)
{
    diagnosed_match match;
    ls_sim_config config = ls_sim_config_default(fault_simulation());
    diagnosed_match_open(&match, fault_simulation(), &config);
    match.client.knob = (fault_knob){.kind = FAULT_BUILD, .from = BAD_TICK};
    diagnosed_match_run(&match, BAD_TICK + 20);
    size_t size = save_bundle(&match);
    diagnosed_match_close(&match);
    return size;
}

/* ---- runs ---- */

static void run(int exit_code, const char *const *arguments)
{
    ls_process_stop(&process);
    const ls_process_config config = {
        .program = LS_TEST_DESYNC, .arguments = arguments, .output_stem = stem};
    ls_process_start(&process, &config);
    cr_assert(ls_process_wait(&process, LS_PROCESS_PATIENCE_MS));
    cr_assert_eq(process.exit_code, exit_code, "exit code %d: %s", process.exit_code,
                 ls_process_errors(&process));
}

#define RUN(exit_code, ...) run(exit_code, (const char *const[]){__VA_ARGS__, NULL})

static const char *text_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItem(object, key);
    cr_assert(item, "no \"%s\"", key);
    return cJSON_IsString(item) ? item->valuestring : "(null)";
}

static int number_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItem(object, key);
    cr_assert(cJSON_IsNumber(item), "no number \"%s\"", key);
    return item->valueint;
}

static void parse_output(void)
{
    cJSON_Delete(json);
    json = cJSON_Parse(ls_process_output(&process));
    cr_assert_not_null(json, "not JSON: %s", ls_process_output(&process));
}

/* Explains the bundle into `json`. */
#define EXPLAIN(...)                                                                               \
    do {                                                                                           \
        RUN(3, "explain", bundle_path, "--json", "-", __VA_ARGS__);                                \
        parse_output();                                                                            \
    } while (0)

Test(explain, a_flipped_bit_of_a_built_in_is_named)
{
    save_flipped_arena();
    RUN(3, "explain", bundle_path, "--json", "-");
    parse_output();
    cr_expect_str_eq(text_of(json, "sim"), "arena");
    cr_expect_eq(number_of(json, "tick"), BAD_TICK + 1);
    cr_expect_eq(number_of(json, "slot"), 1);
    cr_expect_str_eq(text_of(json, "class"), "one-off");
    cr_expect_str_eq(text_of(json, "culprit"), "client");
    cr_expect_str_eq(text_of(json, "agrees_with"), "server");
    cr_expect_str_eq(text_of(json, "missing"), "");
    cr_expect_str_eq(text_of(json, "pass"), "(null)");
    const cJSON *differences = cJSON_GetObjectItem(json, "differences");
    cr_assert_eq(cJSON_GetArraySize(differences), 1);
    cr_expect_eq(number_of(json, "elements"), 1);
    const cJSON *first = cJSON_GetArrayItem(differences, 0);
    cr_expect_str_eq(text_of(first, "field"), "ships[2].deaths");
    cr_expect_eq(strtoll(text_of(first, "server"), NULL, 10) ^ 64,
                 strtoll(text_of(first, "client"), NULL, 10));
}

Test(explain, another_build_is_named_with_its_pass_and_agrees_with_itself)
{
    save_other_build();
    EXPLAIN("--sim", LS_TEST_PLUGIN_DIR "/fault_none.so");
    cr_expect_str_eq(text_of(json, "class"), "build");
    cr_expect_str_eq(text_of(json, "agrees_with"), "server");
    cr_expect_str_eq(text_of(json, "pass"), "spread");
    cr_expect_str_eq(text_of(json, "player"), "Ada");
    const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "differences"), 0);
    cr_expect_str_eq(text_of(first, "field"), "wrong");
    cr_expect_str_eq(text_of(first, "server"), "0");
    cr_expect_str_eq(text_of(first, "client"), "1");
    EXPLAIN("--sim", LS_TEST_PLUGIN_DIR "/fault_build.so");
    cr_expect_str_eq(text_of(json, "agrees_with"), "client");
}

Test(explain, without_the_simulation_the_record_is_explained)
{
    save_other_build();
    RUN(3, "explain", bundle_path, "--json", "-");
    parse_output();
    cr_expect_str_eq(text_of(json, "agrees_with"), "not-run");
    cr_expect_not_null(strstr(text_of(json, "not_run"), "--sim"));
    cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(json, "differences")), 1);
    EXPLAIN("--sim", "arena");
    cr_expect_str_eq(text_of(json, "not_run"),
                     "the bundle is of simulation 'fault', this is 'arena'");
}

Test(explain, writes_to_a_field_are_traced)
{
    save_other_build();
    EXPLAIN("--sim", LS_TEST_PLUGIN_DIR "/fault_none.so", "--trace", "ticks");
    cr_expect_eq(number_of(json, "write_count"), 1);
    const cJSON *write = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "writes"), 0);
    cr_expect_str_eq(text_of(write, "pass"), "finish");
    cr_expect_str_eq(text_of(write, "before"), "150 ticks");
    cr_expect_str_eq(text_of(write, "after"), "151 ticks");
    EXPLAIN("--sim", LS_TEST_PLUGIN_DIR "/fault_none.so", "--trace", "speed");
    cr_expect_not_null(strstr(text_of(json, "not_traced"), "there are"));
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
    return load_text(html_path);
}

Test(explain, the_page_stands_by_itself_and_escapes_what_others_wrote)
{
    save_flipped_arena();
    RUN(3, "explain", bundle_path, "--html", html_path, "-q");
    char *page = load_page();
    cr_expect_str_empty(ls_process_output(&process));
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
    save_bundle(&match);
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
        "class=\"verdict\">Ada has another state than the server from state 151 on, in ",
        "<b>Next: run lockstep-synctest GAME.so --only workers,draw",
        "id=\"server-150\"",
        "id=\"server-151\"",
        "class=\"mark\"",
        "id=\"client-151\"",
        "class=\"mark\"",
        "href=\"#server-151\"",
        "href=\"#client-151\"",
        "id=\"slider\"",
        "Rings mark",
        "Where the two part",
        "First pass that differs in tick 150",
        "<code>match.pairs</code>: server ",
        "<details>\n<summary>State hashes",
        "<details>\n<summary>Fields that differ",
        "<details>\n<summary>Machines",
    };
    save_moved_body();
    RUN(3, "explain", bundle_path, "--html", html_path, "-q");
    char *page = load_page();
    expect_in_order(page, expected, sizeof expected / sizeof expected[0]);
    free(page);
}

Test(explain, the_page_names_the_statement)
{
    save_other_build();
    RUN(3, "explain", bundle_path, "--html", html_path, "-q", "--sim",
        LS_TEST_PLUGIN_DIR "/fault_build.so");
    static const char *const expected[] = {"No picture: the simulation draws nothing.",
                                           "spread, pass 2 of 3", "<code>wrong</code>: server 0"};
    char *page = load_page();
    expect_in_order(page, expected, sizeof expected / sizeof expected[0]);
#if defined(__x86_64__) && defined(__linux__)
    expect_in_order(
        page, (const char *const[]){"Statement here, pass spread: ", " wrote wrong, from "}, 2);
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
    snprintf(address, sizeof address, "file://%s%s", html_path, fragment);
    const char *const arguments[] = {"--headless", "--no-sandbox", "--disable-gpu",
                                     "--dump-dom", address,        NULL};
    const ls_process_config config = {
        .program = find_browser(), .arguments = arguments, .output_stem = stem};
    ls_process_stop(&process);
    ls_process_start(&process, &config);
    cr_assert(ls_process_wait(&process, LS_PROCESS_PATIENCE_MS));
    cr_assert_eq(process.exit_code, 0, "%s", ls_process_errors(&process));
    return load_text(process.out_path);
}

Test(explain, a_browser_shows_both_sides_and_moves_the_slider)
{
    if (!find_browser()) {
        cr_skip_test("no browser is installed: apt-get install chromium-headless-shell");
    }
    save_moved_body();
    RUN(3, "explain", bundle_path, "--html", html_path, "-q");
    static const char *const at_the_end[] = {"id=\"server-board\" href=\"#server-151\"",
                                             "id=\"client-board\" href=\"#client-151\"",
                                             ">state 151</output>"};
    static const char *const before[] = {"id=\"server-board\" href=\"#server-140\"",
                                         "id=\"client-board\" href=\"#server-140\"",
                                         ">state 140</output>"};
    char *page = browse("");
    expect_in_order(page, at_the_end, 3);
    free(page);
    page = browse("#140");
    expect_in_order(page, before, 3);
    free(page);
}

Test(explain, the_text_tells_what_matters)
{
    save_other_build();
    RUN(3, "explain", bundle_path, "--sim", LS_TEST_PLUGIN_DIR "/fault_none.so");
    const char *text = ls_process_output(&process);
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
    cr_assert_eq(truncate(bundle_path, (off_t)(size - 60)), 0);
    EXPLAIN("--sim", LS_TEST_PLUGIN_DIR "/fault_none.so");
    cr_expect_str_eq(text_of(json, "missing"),
                     "the bundle is cut or damaged; missing from it: client's state");
    cr_expect_str_eq(text_of(json, "agrees_with"), "server");
}

Test(explain, an_impossible_command_is_refused)
{
    RUN(2, "explain");
    RUN(2, "describe", "x");
    RUN(2, "explain", "a", "b");
    RUN(1, "explain", "/nowhere/desync.bundle");
    cr_expect_not_null(strstr(ls_process_errors(&process), "/nowhere/desync.bundle"));
    RUN(1, "explain", directory);
    save_file(bundle_path, (const uint8_t *)"nothing", 7);
    RUN(1, "explain", bundle_path);
    cr_expect_not_null(strstr(ls_process_errors(&process), "this is no desync bundle"));
    save_file(bundle_path, (const uint8_t *)"", 0);
    RUN(1, "explain", bundle_path);
    save_other_build();
    RUN(2, "explain", bundle_path, "--sim", "nothing");
    RUN(1, "explain", bundle_path, "--html", "/nowhere/page.html", "-q");
}
