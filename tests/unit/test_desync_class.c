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

static ls_desync_verdict classify(ls_rerun_figures server, ls_rerun_figures client)
{
    const ls_desync_evidence s = {server, NULL};
    const ls_desync_evidence c = {client, NULL};
    ls_desync_verdict verdict;
    ls_desync_classify(&s, &c, &verdict);
    cr_assert_neq(verdict.why.bytes[0], '\0');
    cr_assert_eq(strncmp(verdict.why.bytes, ls_desync_class_text(verdict.kind),
                         strlen(ls_desync_class_text(verdict.kind))),
                 0, "the sentence begins with the class: %s", verdict.why.bytes);
    return verdict;
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

Test(desync_class, the_sentence_names_what_the_fingerprints_differ_in)
{
    ls_build_fingerprint a = {{{0}}};
    ls_build_fingerprint b = {{{0}}};
    const ls_desync_evidence server = {figures(S, S), &a};
    const ls_desync_evidence client = {figures(C, C), &b};
    ls_desync_verdict verdict;
    ls_desync_classify(&server, &client, &verdict);
    cr_expect_str_eq(verdict.why.bytes,
                     "build, platform or content differs: each side repeats its own result; "
                     "nothing that is known of the two builds and machines differs");
    ls_build_fingerprint_set(&a, LS_PRINT_FLAGS, "-O2");
    ls_build_fingerprint_set(&b, LS_PRINT_FLAGS, "-O2 -mfma");
    ls_build_fingerprint_set(&a, LS_PRINT_CPU, "only the server's is known");
    ls_build_fingerprint_set(&a, LS_PRINT_LIBC, "glibc 2.36");
    ls_build_fingerprint_set(&b, LS_PRINT_LIBC, "glibc 2.41");
    ls_desync_classify(&server, &client, &verdict);
    cr_expect_str_eq(verdict.why.bytes,
                     "build, platform or content differs: each side repeats its own result; "
                     "they differ in flags, libc");
}
