#include "lockstep/common/diagnosis/desync_class.h"

#include <criterion/criterion.h>
#include <string.h>

/* State hashes of the bad state: what the server had, what the client had, and two others. */
enum {
    S = 100,
    C = 200,
    X = 300,
    Y = 400,
};

/* A machine whose every re-run gives the same. */
static ls_rerun_figures figures(uint64_t live, uint64_t fresh)
{
    return (ls_rerun_figures){
        .known = LS_RERUN_LIVE | LS_RERUN_FRESH | LS_RERUN_AGAIN | LS_RERUN_RELOADED,
        .first = 10,
        .tick = 20,
        .strayed = 20,
        .live = live,
        .fresh = fresh,
        .again = fresh,
        .reloaded = fresh,
    };
}

/* Nothing but the re-runs is known. */
static const ls_desync_circumstances nothing;

static ls_desync_verdict classify_with(ls_rerun_figures server, ls_rerun_figures client,
                                       const ls_desync_circumstances *circumstances)
{
    const ls_desync_evidence s = {server, NULL};
    const ls_desync_evidence c = {client, NULL};
    ls_desync_verdict verdict;
    ls_desync_classify(&s, &c, circumstances, &verdict);
    cr_assert_neq(verdict.why.bytes[0], '\0');
    cr_assert_eq(strncmp(verdict.why.bytes, ls_desync_class_text(verdict.kind),
                         strlen(ls_desync_class_text(verdict.kind))),
                 0, "the sentence begins with the class: %s", verdict.why.bytes);
    cr_assert_gt(strlen(ls_desync_class_next(verdict.kind)), 0);
    return verdict;
}

static ls_desync_verdict classify(ls_rerun_figures server, ls_rerun_figures client)
{
    return classify_with(server, client, &nothing);
}

static void expect(ls_desync_verdict verdict, ls_desync_class kind, ls_desync_culprit culprit)
{
    cr_expect_eq(verdict.kind, kind, "%s", verdict.why.bytes);
    cr_expect_eq(verdict.culprit, culprit, "%s", verdict.why.bytes);
}

Test(desync_class, each_side_repeating_itself_means_that_builds_differ)
{
    expect(classify(figures(S, S), figures(C, C)), LS_DESYNC_CLASS_BUILD, LS_DESYNC_CULPRIT_BOTH);
}

Test(desync_class, agreeing_now_means_a_one_off_on_the_side_that_changed)
{
    expect(classify(figures(S, S), figures(C, S)), LS_DESYNC_CLASS_ONE_OFF,
           LS_DESYNC_CULPRIT_CLIENT);
    expect(classify(figures(S, C), figures(C, C)), LS_DESYNC_CLASS_ONE_OFF,
           LS_DESYNC_CULPRIT_SERVER);
    expect(classify(figures(S, C), figures(C, S)), LS_DESYNC_CLASS_UNSTABLE,
           LS_DESYNC_CULPRIT_BOTH);
}

/* A static that a re-run does not bring back looks like chance, but every machine had it. */
Test(desync_class, a_result_that_other_clients_had_as_well_is_no_one_off)
{
    const ls_desync_circumstances with_server = {.elements = 1, .with_server = 2};
    const ls_desync_circumstances with_client = {.elements = 1, .with_client = 1};
    expect(classify_with(figures(S, C), figures(C, C), &with_server), LS_DESYNC_CLASS_OUTSIDE,
           LS_DESYNC_CULPRIT_BOTH);
    expect(classify_with(figures(S, C), figures(C, C), &with_client), LS_DESYNC_CLASS_ONE_OFF,
           LS_DESYNC_CULPRIT_SERVER);
    expect(classify_with(figures(S, S), figures(C, S), &with_client), LS_DESYNC_CLASS_OUTSIDE,
           LS_DESYNC_CULPRIT_BOTH);
    expect(classify_with(figures(S, S), figures(C, S), &with_server), LS_DESYNC_CLASS_ONE_OFF,
           LS_DESYNC_CULPRIT_CLIENT);
}

Test(desync_class, more_values_than_a_flipped_bit_changes_are_no_one_off)
{
    ls_desync_circumstances known = {.elements = LS_DESYNC_ONE_OFF_ELEMENTS_MAX, .with_server = 2};
    expect(classify_with(figures(S, S), figures(C, S), &known), LS_DESYNC_CLASS_ONE_OFF,
           LS_DESYNC_CULPRIT_CLIENT);
    known.elements++;
    expect(classify_with(figures(S, S), figures(C, S), &known), LS_DESYNC_CLASS_UNKNOWN,
           LS_DESYNC_CULPRIT_CLIENT);
}

/* A static that no re-run brings back, such as a cache that the bot warms. */
Test(desync_class, many_values_and_writes_outside_the_state_mean_state_outside_the_block)
{
    ls_desync_circumstances known = {.elements = LS_DESYNC_ONE_OFF_ELEMENTS_MAX + 1,
                                     .outside = "bot writes to the variable warmed"};
    ls_desync_verdict verdict = classify_with(figures(S, S), figures(C, S), &known);
    expect(verdict, LS_DESYNC_CLASS_OUTSIDE, LS_DESYNC_CULPRIT_CLIENT);
    cr_expect(strstr(verdict.why.bytes, "outside the state, bot writes to the variable warmed"));
    known.elements = 1;
    verdict = classify_with(figures(S, S), figures(C, S), &known);
    expect(verdict, LS_DESYNC_CLASS_ONE_OFF, LS_DESYNC_CULPRIT_CLIENT);
    cr_expect(strstr(verdict.why.bytes, "variable warmed"), "as far as is known it may be that");
    verdict = classify_with(figures(S, S), figures(C, C), &known);
    expect(verdict, LS_DESYNC_CLASS_BUILD, LS_DESYNC_CULPRIT_BOTH);
    cr_expect_null(strstr(verdict.why.bytes, "warmed"), "each repeats its own");
}

/* Most games that write a file write a log, which they never read. */
/* A counter that draw keeps, and one pass reads: one value of few bits. */
Test(desync_class, a_value_that_no_flipped_bit_makes_and_a_write_outside_the_state_are_no_one_off)
{
    ls_desync_circumstances known = {.elements = 1, .is_beyond_bit = true};
    expect(classify_with(figures(S, S), figures(C, S), &known), LS_DESYNC_CLASS_ONE_OFF,
           LS_DESYNC_CULPRIT_CLIENT);
    known.outside = "draw writes to the variable frames";
    expect(classify_with(figures(S, S), figures(C, S), &known), LS_DESYNC_CLASS_OUTSIDE,
           LS_DESYNC_CULPRIT_CLIENT);
    known.is_beyond_bit = false;
    expect(classify_with(figures(S, S), figures(C, S), &known), LS_DESYNC_CLASS_ONE_OFF,
           LS_DESYNC_CULPRIT_CLIENT);
}

Test(desync_class, what_is_written_outside_without_harm_is_named_and_proves_no_class)
{
    ls_desync_circumstances known = {.elements = LS_DESYNC_ONE_OFF_ELEMENTS_MAX + 1,
                                     .harmless = "pass move writes to the file moves.log"};
    ls_desync_verdict verdict = classify_with(figures(S, S), figures(C, S), &known);
    expect(verdict, LS_DESYNC_CLASS_UNKNOWN, LS_DESYNC_CULPRIT_CLIENT);
    cr_expect(strstr(verdict.why.bytes, "; outside the state, pass move writes to the file"));
    known = (ls_desync_circumstances){.elements = 1, .is_beyond_bit = true};
    known.harmless = "pass move writes to the variable seen";
    verdict = classify_with(figures(S, S), figures(C, S), &known);
    expect(verdict, LS_DESYNC_CLASS_UNKNOWN, LS_DESYNC_CULPRIT_CLIENT);
    cr_expect(strstr(verdict.why.bytes, "a race, or something outside the saved state"));
    known.is_beyond_bit = false;
    verdict = classify_with(figures(S, S), figures(C, S), &known);
    expect(verdict, LS_DESYNC_CLASS_ONE_OFF, LS_DESYNC_CULPRIT_CLIENT);
    known.harmless = "pass move writes to the file moves.log";
    known.elements = LS_DESYNC_ONE_OFF_ELEMENTS_MAX + 1;
    known.outside = "bot writes to the variable warmed";
    verdict = classify_with(figures(S, S), figures(C, S), &known);
    expect(verdict, LS_DESYNC_CLASS_OUTSIDE, LS_DESYNC_CULPRIT_CLIENT);
    cr_expect(strstr(verdict.why.bytes, "variable warmed; outside the state, pass move writes"));
}

Test(desync_class, what_was_not_repeated_has_no_name)
{
    const ls_rerun_figures silent = {.known = LS_RERUN_LIVE, .live = C};
    ls_rerun_figures cut = figures(S, S);
    cut.known = LS_RERUN_LIVE | LS_RERUN_FRESH;
    cut.strayed = 15;
    ls_desync_verdict verdict = classify(cut, figures(C, C));
    expect(verdict, LS_DESYNC_CLASS_UNKNOWN, LS_DESYNC_CULPRIT_SERVER);
    cr_expect(strstr(verdict.why.bytes, "no time to run it more often: a race"));
    expect(classify(cut, silent), LS_DESYNC_CLASS_UNKNOWN, LS_DESYNC_CULPRIT_SERVER);
    cut.strayed = 20;
    cut.fresh = X;
    expect(classify(cut, figures(C, C)), LS_DESYNC_CLASS_UNKNOWN, LS_DESYNC_CULPRIT_SERVER);
    cut.known |= LS_RERUN_AGAIN;
    cut.again = Y;
    expect(classify(cut, silent), LS_DESYNC_CLASS_UNKNOWN, LS_DESYNC_CULPRIT_SERVER);
    cut.known |= LS_RERUN_RACES;
    cut.apart = 1;
    expect(classify(cut, silent), LS_DESYNC_CLASS_RACE, LS_DESYNC_CULPRIT_SERVER);
}

/* Of the client the hash alone is known that it had in the match. */
Test(desync_class, one_side_alone_concludes_as_far_as_it_can)
{
    const ls_rerun_figures silent = {.known = LS_RERUN_LIVE, .live = C};
    ls_rerun_figures server = figures(S, X);
    expect(classify(server, silent), LS_DESYNC_CLASS_OUTSIDE, LS_DESYNC_CULPRIT_SERVER);
    expect(classify(figures(S, C), silent), LS_DESYNC_CLASS_ONE_OFF, LS_DESYNC_CULPRIT_SERVER);
    expect(classify(figures(S, S), silent), LS_DESYNC_CLASS_UNKNOWN, LS_DESYNC_CULPRIT_UNKNOWN);
    server.strayed = 15;
    expect(classify(server, silent), LS_DESYNC_CLASS_OUTSIDE, LS_DESYNC_CULPRIT_SERVER);
    /* Here not even the hash of the server's state is known, nor which state it was. */
    expect(classify((ls_rerun_figures){0}, figures(C, X)), LS_DESYNC_CLASS_UNKNOWN,
           LS_DESYNC_CULPRIT_CLIENT);
    ls_rerun_figures client = figures(C, C);
    client.again = X;
    expect(classify((ls_rerun_figures){0}, client), LS_DESYNC_CLASS_UNSTABLE,
           LS_DESYNC_CULPRIT_CLIENT);
    cr_expect_not_null(
        strstr(classify(server, silent).why.bytes, "; the client could not run the ticks again"));
}

/* Chance may have made all else that the figures of such a machine show. */
Test(desync_class, repetitions_that_differ_mean_a_race_and_say_how_often)
{
    ls_rerun_figures client = figures(C, X);
    client.known |= LS_RERUN_RACES | LS_RERUN_REPEATED;
    client.again = Y;
    client.strayed = 15;
    client.apart = 2;
    ls_desync_verdict verdict = classify(figures(S, S), client);
    expect(verdict, LS_DESYNC_CLASS_RACE, LS_DESYNC_CULPRIT_CLIENT);
    cr_expect(strstr(verdict.why.bytes, "on the client, "), "%s", verdict.why.bytes);
    cr_expect(strstr(verdict.why.bytes, "seen 2 of 4 times"), "%s", verdict.why.bytes);
    ls_rerun_figures server = figures(S, S);
    server.again = X;
    verdict = classify(server, client);
    expect(verdict, LS_DESYNC_CLASS_RACE, LS_DESYNC_CULPRIT_BOTH);
    verdict = classify(client, server);
    expect(verdict, LS_DESYNC_CLASS_RACE, LS_DESYNC_CULPRIT_BOTH);
    cr_expect(strstr(verdict.why.bytes, "seen 2 of 4 times"), "%s", verdict.why.bytes);
}

Test(desync_class, a_third_result_means_state_outside_the_block)
{
    expect(classify(figures(S, S), figures(C, X)), LS_DESYNC_CLASS_OUTSIDE,
           LS_DESYNC_CULPRIT_CLIENT);
    expect(classify(figures(S, X), figures(C, C)), LS_DESYNC_CLASS_OUTSIDE,
           LS_DESYNC_CULPRIT_SERVER);
}

Test(desync_class, differing_from_run_to_run_comes_before_what_it_came_to)
{
    ls_rerun_figures client = figures(C, C);
    client.again = X;
    client.reloaded = Y;
    expect(classify(figures(S, S), client), LS_DESYNC_CLASS_UNSTABLE, LS_DESYNC_CULPRIT_CLIENT);
    ls_rerun_figures server = figures(S, S);
    server.again = X;
    expect(classify(server, figures(C, C)), LS_DESYNC_CLASS_UNSTABLE, LS_DESYNC_CULPRIT_SERVER);
    expect(classify(server, client), LS_DESYNC_CLASS_UNSTABLE, LS_DESYNC_CULPRIT_BOTH);
}

Test(desync_class, differing_after_save_and_load_means_state_outside_the_block)
{
    ls_rerun_figures client = figures(C, S);
    client.reloaded = X;
    expect(classify(figures(S, S), client), LS_DESYNC_CLASS_OUTSIDE, LS_DESYNC_CULPRIT_CLIENT);
    client = figures(C, C);
    expect(classify(figures(S, S), client), LS_DESYNC_CLASS_BUILD, LS_DESYNC_CULPRIT_BOTH);
}

Test(desync_class, straying_on_agreed_ticks_means_state_outside_the_block)
{
    ls_rerun_figures client = figures(C, X);
    client.strayed = 19;
    client.again = Y;
    expect(classify(figures(S, S), client), LS_DESYNC_CLASS_OUTSIDE, LS_DESYNC_CULPRIT_CLIENT);
}

Test(desync_class, runs_that_were_not_made_conclude_nothing)
{
    ls_rerun_figures client = figures(C, C);
    client.known = LS_RERUN_LIVE | LS_RERUN_FRESH;
    client.again = X;
    client.reloaded = Y;
    expect(classify(figures(S, S), client), LS_DESYNC_CLASS_BUILD, LS_DESYNC_CULPRIT_BOTH);
    client.known = LS_RERUN_LIVE;
    expect(classify(figures(S, S), client), LS_DESYNC_CLASS_UNKNOWN, LS_DESYNC_CULPRIT_UNKNOWN);
    const ls_rerun_figures none = {0};
    expect(classify(none, none), LS_DESYNC_CLASS_UNKNOWN, LS_DESYNC_CULPRIT_UNKNOWN);
    client = figures(C, C);
    client.tick = 21;
    expect(classify(figures(S, S), client), LS_DESYNC_CLASS_UNKNOWN, LS_DESYNC_CULPRIT_UNKNOWN);
    expect(classify(figures(S, S), figures(S, S)), LS_DESYNC_CLASS_UNKNOWN,
           LS_DESYNC_CULPRIT_UNKNOWN);
}

/* A run with the noise of the first tells whether the noise, or the run before, made it differ. */
Test(desync_class, a_second_run_that_differs_is_told_from_bytes_that_were_not_set)
{
    ls_rerun_figures client = figures(C, C);
    client.again = X;
    client.known |= LS_RERUN_REPEATED;
    client.strayed = 15;
    expect(classify(figures(S, S), client), LS_DESYNC_CLASS_UNSTABLE, LS_DESYNC_CULPRIT_CLIENT);
    client.known ^= LS_RERUN_REPEATED | LS_RERUN_CHANGED;
    expect(classify(figures(S, S), client), LS_DESYNC_CLASS_OUTSIDE, LS_DESYNC_CULPRIT_CLIENT);
    client.strayed = client.tick;
    expect(classify(figures(S, S), client), LS_DESYNC_CLASS_OUTSIDE, LS_DESYNC_CULPRIT_CLIENT);
}

Test(desync_class, two_processes_that_differ_mean_the_process)
{
    ls_rerun_figures client = figures(C, C);
    client.apart = X;
    expect(classify(figures(S, S), client), LS_DESYNC_CLASS_BUILD, LS_DESYNC_CULPRIT_BOTH);
    client.known |= LS_RERUN_APART;
    expect(classify(figures(S, S), client), LS_DESYNC_CLASS_PROCESS, LS_DESYNC_CULPRIT_CLIENT);
    client.apart = C;
    expect(classify(figures(S, S), client), LS_DESYNC_CLASS_BUILD, LS_DESYNC_CULPRIT_BOTH);
}

/* Threads, the time and addresses may by chance repeat the first run and not the second. */
Test(desync_class, two_processes_that_differ_count_more_than_bytes_that_were_not_set)
{
    ls_rerun_figures client = figures(C, C);
    client.again = client.apart = X;
    client.known |= LS_RERUN_APART | LS_RERUN_REPEATED;
    expect(classify(figures(S, S), client), LS_DESYNC_CLASS_PROCESS, LS_DESYNC_CULPRIT_CLIENT);
    client.known ^= LS_RERUN_REPEATED | LS_RERUN_CHANGED;
    client.strayed = 15;
    expect(classify(figures(S, S), client), LS_DESYNC_CLASS_PROCESS, LS_DESYNC_CULPRIT_CLIENT);
}

/* ---- machines of which each repeats its own result ---- */

typedef struct two_machines {
    ls_build_fingerprint a;
    ls_build_fingerprint b;
} two_machines;

static void set_both(two_machines *machines, ls_fingerprint_item item, const char *a, const char *b)
{
    ls_build_fingerprint_set(&machines->a, item, a);
    ls_build_fingerprint_set(&machines->b, item, b);
}

static two_machines same_machines(void)
{
    two_machines machines = {.a = {{{0}}}};
    for (uint32_t item = 0; item < LS_PRINT_ITEM_COUNT; item++) {
        set_both(&machines, (ls_fingerprint_item)item, "as everywhere", "as everywhere");
    }
    set_both(&machines, LS_PRINT_SIMULATION, "12, 3 bytes, game.so", "12, 3 bytes, copy.so");
    return machines;
}

static void expect_named(const two_machines *machines, ls_desync_class kind, const char *words)
{
    const ls_desync_evidence server = {figures(S, S), &machines->a};
    const ls_desync_evidence client = {figures(C, C), &machines->b};
    ls_desync_verdict verdict;
    ls_text expected;
    ls_desync_classify(&server, &client, &nothing, &verdict);
    expect(verdict, kind, LS_DESYNC_CULPRIT_BOTH);
    ls_text_set(&expected, "%s: each side repeats its own result%s", ls_desync_class_text(kind),
                words);
    cr_expect_str_eq(verdict.why.bytes, expected.bytes);
}

Test(desync_class, equal_files_on_equal_machines_are_never_another_build)
{
    two_machines machines = same_machines();
    expect_named(&machines, LS_DESYNC_CLASS_PROCESS,
                 ", with the same file on the same kind of machine");
}

Test(desync_class, equal_files_on_other_machines_are_the_environment)
{
    two_machines machines = same_machines();
    set_both(&machines, LS_PRINT_CPU_FEATURES, "avx2 fma", "neither");
    set_both(&machines, LS_PRINT_CORES, "8 online, 8 usable", "8 online, 1 usable");
    expect_named(&machines, LS_DESYNC_CLASS_ENVIRONMENT,
                 "; they differ in cpu features, number of cores");
}

Test(desync_class, features_that_could_not_be_made_equal_are_no_process_of_its_own)
{
    two_machines machines = same_machines();
    ls_desync_evidence server = {figures(S, S), &machines.a};
    ls_desync_evidence client = {figures(C, C), &machines.b};
    ls_desync_verdict verdict;
    set_both(&machines, LS_PRINT_CPU_FEATURES, "avx2 fma", "neither");
    server.figures.tried = LS_SURROUNDINGS_ALL;
    client.figures.tried = LS_SURROUNDINGS_ALL & ~LS_SURROUNDING_BIT(LS_SURROUNDING_CPU_FEATURES);
    ls_desync_classify(&server, &client, &nothing, &verdict);
    expect(verdict, LS_DESYNC_CLASS_ENVIRONMENT, LS_DESYNC_CULPRIT_BOTH);
    cr_expect_str_eq(verdict.why.bytes,
                     "the machines or their settings differ: each side repeats its own result; "
                     "they differ in cpu features, which could not be made equal: its code goes by "
                     "the processor in a way of its own (cpuid), or its names were stripped");
    server.figures.tried = client.figures.tried;
    set_both(&machines, LS_PRINT_CPU_FEATURES, "avx2 fma", "avx2 fma");
    ls_desync_classify(&server, &client, &nothing, &verdict);
    expect(verdict, LS_DESYNC_CLASS_PROCESS, LS_DESYNC_CULPRIT_BOTH);
}

/* A user's number, a limit, the host's name: processes of one machine have the same. */
Test(desync_class, what_other_processes_of_each_machine_repeat_is_of_the_machines)
{
    two_machines machines = same_machines();
    ls_desync_evidence server = {figures(S, S), &machines.a};
    ls_desync_evidence client = {figures(C, C), &machines.b};
    ls_desync_verdict verdict;
    server.figures.known |= LS_RERUN_APART;
    server.figures.apart = S;
    ls_desync_classify(&server, &client, &nothing, &verdict);
    expect(verdict, LS_DESYNC_CLASS_PROCESS, LS_DESYNC_CULPRIT_BOTH);
    client.figures.known |= LS_RERUN_APART;
    client.figures.apart = C;
    ls_desync_classify(&server, &client, &(ls_desync_circumstances){.with_server = 2}, &verdict);
    expect(verdict, LS_DESYNC_CLASS_ENVIRONMENT, LS_DESYNC_CULPRIT_CLIENT);
    cr_expect(strstr(verdict.why.bytes, "look for what is not compared"), "%s", verdict.why.bytes);
}

Test(desync_class, of_two_processes_the_one_that_has_no_company_is_at_fault)
{
    two_machines machines = same_machines();
    const ls_desync_evidence server = {figures(S, S), &machines.a};
    const ls_desync_evidence client = {figures(C, C), &machines.b};
    static const struct {
        ls_desync_circumstances circumstances;
        ls_desync_culprit culprit;
        const char *words;
    } cases[] = {
        {{.with_server = 2},
         LS_DESYNC_CULPRIT_CLIENT,
         "; the client differs from 2 other clients, which have the server's"},
        {{.with_client = 1},
         LS_DESYNC_CULPRIT_SERVER,
         "; the server differs from 1 other client, which has the client's"},
        {{.with_server = 1, .with_client = 1}, LS_DESYNC_CULPRIT_BOTH, "with the same file"},
        {{.with_server = 0}, LS_DESYNC_CULPRIT_BOTH, "with the same file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ls_desync_verdict verdict;
        ls_desync_classify(&server, &client, &cases[i].circumstances, &verdict);
        expect(verdict, LS_DESYNC_CLASS_PROCESS, cases[i].culprit);
        cr_expect(strstr(verdict.why.bytes, cases[i].words), "%s", verdict.why.bytes);
    }
}

/* Each machine repeats its result, and has tried all surroundings. */
static void expect_around(two_machines *machines, uint32_t server_moved, uint32_t client_moved,
                          ls_desync_class kind, const char *words)
{
    ls_desync_evidence server = {figures(S, S), &machines->a};
    ls_desync_evidence client = {figures(C, C), &machines->b};
    ls_desync_verdict verdict;
    server.figures.tried = LS_SURROUNDINGS_ALL;
    client.figures.tried = LS_SURROUNDINGS_ALL;
    server.figures.moved = server_moved;
    client.figures.moved = client_moved;
    ls_desync_classify(&server, &client, &nothing, &verdict);
    expect(verdict, kind, LS_DESYNC_CULPRIT_BOTH);
    cr_expect(strstr(verdict.why.bytes, words), "'%s' is not in '%s'", words, verdict.why.bytes);
}

Test(desync_class, a_folder_that_makes_no_difference_is_not_to_blame)
{
    two_machines machines = same_machines();
    set_both(&machines, LS_PRINT_DIRECTORY, "here", "there");
    expect_around(&machines, 0, 0, LS_DESYNC_CLASS_PROCESS,
                  "they differ in working directory, but making that equal changes nothing");
    const uint32_t cores = LS_SURROUNDING_BIT(LS_SURROUNDING_CORES);
    expect_around(&machines, cores, cores, LS_DESYNC_CLASS_PROCESS, "changes nothing");
}

Test(desync_class, what_changes_the_result_is_named_alone)
{
    two_machines machines = same_machines();
    set_both(&machines, LS_PRINT_DIRECTORY, "here", "there");
    set_both(&machines, LS_PRINT_CORES, "2 online, 2 usable", "2 online, 1 usable");
    set_both(&machines, LS_PRINT_CPU, "one", "another");
    const uint32_t cores = LS_SURROUNDING_BIT(LS_SURROUNDING_CORES);
    expect_around(&machines, cores, 0, LS_DESYNC_CLASS_ENVIRONMENT,
                  "they differ in number of cores, and making that equal changes the result");
    expect_around(&machines, 0, cores, LS_DESYNC_CLASS_ENVIRONMENT, "in number of cores, and");
}

/* The fingerprint does not have everything that a surrounding is made of. */
Test(desync_class, a_surrounding_that_matters_on_one_machine_alone_differs_between_the_two)
{
    two_machines machines = same_machines();
    const uint32_t locale = LS_SURROUNDING_BIT(LS_SURROUNDING_LOCALE);
    expect_around(&machines, 0, locale, LS_DESYNC_CLASS_ENVIRONMENT,
                  "; on one of them alone the result changes with its locale");
    expect_around(&machines, locale, locale, LS_DESYNC_CLASS_PROCESS, "with the same file");
    expect_around(&machines, 0, 0, LS_DESYNC_CLASS_PROCESS, "with the same file");
}

/* A plug-in that reads LC_ALL itself: no program has set a locale, so that item is equal. */
Test(desync_class, variable_that_sets_the_language_is_to_blame_when_the_language_matters)
{
    two_machines machines = same_machines();
    set_both(&machines, LS_PRINT_VARIABLES, "LC_ALL 1", "LC_ALL 2");
    expect_around(&machines, 0, LS_SURROUNDING_BIT(LS_SURROUNDING_LOCALE),
                  LS_DESYNC_CLASS_ENVIRONMENT, "they differ in environment variables, and making");
}

Test(desync_class, what_could_not_be_made_equal_stays_suspect)
{
    two_machines machines = same_machines();
    set_both(&machines, LS_PRINT_DIRECTORY, "here", "there");
    set_both(&machines, LS_PRINT_LIBC, "glibc 2.36", "glibc 2.41");
    expect_around(&machines, 0, 0, LS_DESYNC_CLASS_ENVIRONMENT, "they differ in libc");
    ls_desync_evidence server = {figures(S, S), &machines.a};
    const ls_desync_evidence client = {figures(C, C), &machines.b};
    ls_desync_verdict verdict;
    server.figures.tried = LS_SURROUNDINGS_ALL; /* and the client none */
    ls_desync_classify(&server, &client, &nothing, &verdict);
    expect(verdict, LS_DESYNC_CLASS_ENVIRONMENT, LS_DESYNC_CULPRIT_BOTH);
    cr_expect(strstr(verdict.why.bytes, "libc, working directory"), "%s", verdict.why.bytes);
}

Test(desync_class, other_files_are_another_build_wherever_they_run)
{
    two_machines machines = same_machines();
    set_both(&machines, LS_PRINT_FLAGS, "-O2", "-O2 -mfma");
    set_both(&machines, LS_PRINT_SIMULATION, "12, 3 bytes, game.so", "13, 3 bytes, game.so");
    set_both(&machines, LS_PRINT_CPU, "only the server's is known", "");
    set_both(&machines, LS_PRINT_LIBC, "glibc 2.36", "glibc 2.41");
    expect_named(&machines, LS_DESYNC_CLASS_BUILD, "; they differ in flags, libc, simulation");
}

Test(desync_class, machines_that_are_not_known_may_be_anything)
{
    ls_desync_verdict verdict = classify(figures(S, S), figures(C, C));
    expect(verdict, LS_DESYNC_CLASS_BUILD, LS_DESYNC_CULPRIT_BOTH);
    cr_expect_not_null(strstr(verdict.why.bytes, "what the two machines are is not known"));
}

/* As of a game whose code was made at run time. */
Test(desync_class, machines_whose_simulations_are_not_known_may_have_other_builds)
{
    two_machines machines = same_machines();
    set_both(&machines, LS_PRINT_SIMULATION, "12, 3 bytes, game.so", "");
    expect_named(&machines, LS_DESYNC_CLASS_UNKNOWN,
                 "; whether both have the same build is not known");
}

Test(desync_class, every_sentence_has_room_for_all_that_can_differ)
{
    two_machines machines = same_machines();
    for (uint32_t item = 0; item < LS_PRINT_ITEM_COUNT; item++) {
        set_both(&machines, (ls_fingerprint_item)item, "one", "another");
    }
    const ls_desync_evidence server = {figures(S, S), &machines.a};
    const ls_desync_evidence client = {figures(C, C), &machines.b};
    ls_desync_verdict verdict;
    ls_desync_classify(&server, &client, &nothing, &verdict);
    cr_expect_lt(strlen(verdict.why.bytes), sizeof verdict.why.bytes - 1);
    for (uint32_t item = 0; item < LS_PRINT_ITEM_COUNT; item++) {
        const char *name = ls_fingerprint_item_name((ls_fingerprint_item)item);
        cr_expect_not_null(strstr(verdict.why.bytes, name), "%s", name);
    }
}

Test(desync_class, a_bundle_is_named_by_room_simulation_tick_and_whose_state_it_is)
{
    const ls_simulation game = {.name = "game"};
    cr_expect_str_eq(ls_desync_bundle_name("", &game, 70, 1, false).bytes,
                     "desync-game-tick70-slot1.bundle");
    cr_expect_str_eq(ls_desync_bundle_name("pair-3", &game, 70, 0, true).bytes,
                     "desync-pair-3-game-tick70-spectator.bundle");
}

Test(desync_class, the_command_is_one_that_a_shell_takes_as_it_stands)
{
    static const ls_param params[] = {{.name = "speed", .kind = LS_PARAM_INTEGER},
                                      {.name = "map", .kind = LS_PARAM_FILE}};
    const ls_simulation plain = {.name = "game"};
    const ls_simulation with_file = {.name = "game", .params = params, .param_count = 2};
    char path[LS_TEXT_BYTES_MAX];
    cr_expect_str_eq(ls_desync_command("b/a.bundle", NULL, &plain).bytes,
                     "lockstep-desync explain b/a.bundle");
    cr_expect_str_eq(ls_desync_command("my b/it's.bundle", "./game.so", &with_file).bytes,
                     "lockstep-desync explain 'my b/it'\\''s.bundle' --sim ./game.so "
                     "--param map=FILE");
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    cr_expect_str_eq(ls_desync_command(path, NULL, &plain).bytes, "", "a part of one is none");
}
