/* A small runner in place of Criterion's library, for machines where that cannot start its children
 * (qemu-user) or does not exist (LS_PLAIN_TESTS). The test files and Criterion's headers are the
 * same; this file has the functions that their macros call, and a main. Each test runs in a forked
 * copy of the process. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    TEST_SECONDS_MAX = 600 /* of the processor: a machine that does much else is no mistake */
};

/* Criterion's macros put a pointer to each test and suite into a section; the linker names its
 * ends. */
extern struct criterion_test *__start_cr_tst[];
extern struct criterion_test *__stop_cr_tst[];
extern struct criterion_suite *__start_cr_sts[];
extern struct criterion_suite *__stop_cr_sts[];
/* So that both sections are there in executables without a suite of their own. */
TestSuite(plain_tests);

/* The copy of the process writes its result here; the runner shares the page. */
typedef struct test_outcome {
    unsigned failed_asserts;
    bool is_skipped;
} test_outcome;

struct criterion_options criterion_options;
static test_outcome *outcome;
static const struct criterion_test *current;
static FILE *redirected_stream;

static const struct criterion_test_extra_data *suite_of(const struct criterion_test *test)
{
    for (struct criterion_suite **suite = __start_cr_sts; suite < __stop_cr_sts; suite++) {
        if (strcmp((*suite)->name, test->category) == 0) {
            return (*suite)->data;
        }
    }
    return NULL;
}

/* ---- the functions that the macros call ---- */

void criterion_internal_test_setup(void)
{
    const struct criterion_test_extra_data *suite = suite_of(current);
    if (suite != NULL && suite->init != NULL) {
        suite->init();
    }
    if (current->data->init != NULL) {
        current->data->init();
    }
}

void criterion_internal_test_main(void (*test)(void))
{
    test();
}

void criterion_internal_test_teardown(void)
{
    const struct criterion_test_extra_data *suite = suite_of(current);
    if (current->data->fini != NULL) {
        current->data->fini();
    }
    if (suite != NULL && suite->fini != NULL) {
        suite->fini();
    }
}

/* Standard error may be what the test looks at, so that words of a failure go to standard output.
 */
void criterion_send_assert(struct criterion_assert_stats *stats)
{
    if (!stats->passed) {
        outcome->failed_asserts++;
        printf("[----] %s:%u: Assertion failed: %s\n", stats->file, stats->line, stats->message);
        fflush(stdout);
    }
}

void criterion_abort_test(void)
{
    fflush(NULL);
    _exit(1);
}

void criterion_continue_test(void)
{
}

void criterion_skip_test(const char *format, ...)
{
    (void)format;
    outcome->is_skipped = true;
    _exit(0);
}

void cri_asserts_passed_incr(void)
{
}

char *cr_translate_assert_msg(int kind, ...)
{
    va_list arguments;
    va_start(arguments, kind);
    char *words = strdup(va_arg(arguments, const char *));
    va_end(arguments);
    return words;
}

int cr_asprintf(char **out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    *out = malloc((size_t)length + 1);
    va_start(arguments, format);
    vsnprintf(*out, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return length;
}

void cr_asprintf_free(char *text)
{
    free(text);
}

static void redirect(int descriptor)
{
    redirected_stream = tmpfile();
    dup2(fileno(redirected_stream), descriptor);
}

void cr_redirect_stdout(void)
{
    redirect(STDOUT_FILENO);
}

void cr_redirect_stderr(void)
{
    redirect(STDERR_FILENO);
}

/* 1 if what was written is the text, as Criterion's macros expect. */
static int matches_redirected(const char *text)
{
    char written[4096] = "";
    fflush(NULL);
    rewind(redirected_stream);
    size_t length = fread(written, 1, sizeof written - 1, redirected_stream);
    return length == strlen(text) && memcmp(written, text, length) == 0;
}

int cr_stdout_match_str(const char *text)
{
    return matches_redirected(text);
}

int cr_stderr_match_str(const char *text)
{
    return matches_redirected(text);
}

/* ---- the runner ---- */

static int run_apart(const struct criterion_test *test)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CPU, &(struct rlimit){TEST_SECONDS_MAX, TEST_SECONDS_MAX});
        current = test;
        test->test();
        fflush(NULL);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("plain_tests");
        exit(1);
    }
    return status;
}

static bool ended_as_expected(const struct criterion_test *test, int status)
{
    const struct criterion_test_extra_data *suite = suite_of(test);
    int signal = test->data->signal == 0 && suite != NULL ? suite->signal : test->data->signal;
    if (WIFSIGNALED(status)) {
        return WTERMSIG(status) == signal;
    }
    return signal == 0 && WEXITSTATUS(status) == test->data->exit_code;
}

static bool passes(const struct criterion_test *test)
{
    *outcome = (test_outcome){0};
    int status = run_apart(test);
    bool is_passed = outcome->failed_asserts == 0 && ended_as_expected(test, status);
    if (outcome->is_skipped) {
        printf("[SKIP] %s::%s\n", test->category, test->name);
    } else if (!is_passed) {
        printf("[FAIL] %s::%s: status %#x, %u failed assertions\n", test->category, test->name,
               (unsigned)status, outcome->failed_asserts);
    }
    return is_passed;
}

/* --filter suite/name, of which the end may be a star. */
static bool is_chosen(const struct criterion_test *test, const char *filter)
{
    char name[256];
    snprintf(name, sizeof name, "%s/%s", test->category, test->name);
    size_t fixed = strcspn(filter, "*");
    return !test->data->disabled && strncmp(name, filter, fixed) == 0 &&
           (filter[fixed] == '*' || name[fixed] == '\0');
}

int main(int argument_count, char **arguments)
{
    bool is_filtered = argument_count == 3 && strcmp(arguments[1], "--filter") == 0;
    if (argument_count != 1 && !is_filtered) {
        fprintf(stderr, "usage: %s [--filter SUITE/NAME, where the end may be *]\n", arguments[0]);
        return 2;
    }
    outcome =
        mmap(NULL, sizeof *outcome, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (outcome == MAP_FAILED) {
        perror("plain_tests");
        return 1;
    }
    unsigned tested = 0;
    unsigned passed = 0;
    for (struct criterion_test **test = __start_cr_tst; test < __stop_cr_tst; test++) {
        if (*test != NULL && is_chosen(*test, is_filtered ? arguments[2] : "*")) {
            tested++;
            passed += passes(*test);
        }
    }
    printf("[====] Synthesis: Tested: %u | Passing: %u | Failing: %u\n", tested, passed,
           tested - passed);
    return passed == tested ? 0 : 1;
}
