/* These tests read what lockstep-desync says of the code of real plug-ins, built from one source.
 */
#include "lockstep/common/loader/plugin_loader.h"
#include "lockstep/common/system/ability.h"
#include "lockstep/tests/support/explained.h"
#include "lockstep/tools/desync/write_trace.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
