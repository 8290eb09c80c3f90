/* The small runner for Windows, where Criterion's library does not exist and no process copies
 * itself: the test files and Criterion's headers are the same. A process runs one test after
 * another; when a test has ended it, or failed, another process goes on behind that one. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

enum {
    ENDED_BY_ABORT = 3, /* as the C library has it */
    ENDED_BY_ASSERT = 101,
    ENDED_BY_SKIP = 102,
    ENDED_BY_CRASH = 139,
};

struct criterion_options criterion_options;
static const struct criterion_test *current;
static unsigned failed_asserts;

/* So that the section of suites is there. */
TestSuite(plain_tests_windows);

/* A folder for a test, which the C library here does not make. The test before, in this process,
 * may have written its name into the template already. */
char *mkdtemp(char *template);
char *mkdtemp(char *template)
{
    bool is_named = !strstr(template, "XXXXXX") || _mktemp(template);
    return is_named && CreateDirectoryA(template, NULL) ? template : NULL;
}

/* ---- what Criterion's macros put into sections of the program ---- */

typedef struct pointers {
    void **list;
    size_t count;
} pointers;

static pointers section(const char *name)
{
    uint8_t *base = (uint8_t *)GetModuleHandleA(NULL);
    const IMAGE_NT_HEADERS *head =
        (const void *)(base + ((const IMAGE_DOS_HEADER *)(void *)base)->e_lfanew);
    const IMAGE_SECTION_HEADER *each = IMAGE_FIRST_SECTION(head);
    for (unsigned i = 0; i < head->FileHeader.NumberOfSections; i++) {
        if (strncmp((const char *)each[i].Name, name, IMAGE_SIZEOF_SHORT_NAME) == 0) {
            return (pointers){(void **)(void *)(base + each[i].VirtualAddress),
                              each[i].Misc.VirtualSize / sizeof(void *)};
        }
    }
    return (pointers){NULL, 0};
}

static const struct criterion_test_extra_data *suite_of(const struct criterion_test *test)
{
    pointers suites = section("cr_sts");
    for (size_t i = 0; i < suites.count; i++) {
        const struct criterion_suite *suite = suites.list[i];
        if (suite && strcmp(suite->name, test->category) == 0) {
            return suite->data;
        }
    }
    return NULL;
}

/* ---- the functions that the macros call ---- */

void criterion_internal_test_setup(void)
{
    const struct criterion_test_extra_data *suite = suite_of(current);
    if (suite && suite->init) {
        suite->init();
    }
    if (current->data->init) {
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
    if (current->data->fini) {
        current->data->fini();
    }
    if (suite && suite->fini) {
        suite->fini();
    }
}

void criterion_send_assert(struct criterion_assert_stats *stats)
{
    if (!stats->passed) {
        failed_asserts++;
        printf("[----] %s:%u: Assertion failed: %s\n", stats->file, stats->line, stats->message);
        fflush(stdout);
    }
}

void criterion_abort_test(void)
{
    fflush(NULL);
    _exit(ENDED_BY_ASSERT);
}

void criterion_continue_test(void)
{
}

void criterion_skip_test(const char *format, ...)
{
    (void)format;
    fflush(NULL);
    _exit(ENDED_BY_SKIP);
}

/* Counted by counting_allocator, and called by nobody here: the C library has none. */
void *aligned_alloc(size_t alignment, size_t bytes);
void *aligned_alloc(size_t alignment, size_t bytes)
{
    (void)alignment;
    (void)bytes;
    abort();
}

void cri_asserts_passed_incr(void)
{
}

char *cr_translate_assert_msg(int kind, ...)
{
    va_list arguments;
    va_start(arguments, kind);
    char *words = _strdup(va_arg(arguments, const char *));
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

static int redirected = -1;
static int redirected_stream = -1; /* and what it was before, until the test ends */
static int stream_before = -1;

/* The file goes with the process, and line ends in it are kept. */
static void redirect(int descriptor)
{
    char folder[MAX_PATH + 1];
    char path[MAX_PATH + 1];
    GetTempPathA(sizeof folder, folder);
    GetTempFileNameA(folder, "ls", 0, path);
    redirected = _open(path, _O_RDWR | _O_BINARY | _O_TEMPORARY);
    fflush(NULL);
    redirected_stream = descriptor;
    stream_before = _dup(descriptor);
    _dup2(redirected, descriptor);
}

static void end_redirection(void)
{
    if (redirected_stream >= 0) {
        fflush(NULL);
        _dup2(stream_before, redirected_stream);
        _close(stream_before);
        _close(redirected);
        redirected_stream = -1;
    }
}

void cr_redirect_stdout(void)
{
    redirect(1);
}

void cr_redirect_stderr(void)
{
    redirect(2);
}

/* 1 if what was written is the text, as Criterion's macros expect. */
static int matches_redirected(const char *text)
{
    char written[4096];
    fflush(NULL);
    _lseek(redirected, 0, SEEK_SET);
    int length = _read(redirected, written, sizeof written);
    return length == (int)strlen(text) && memcmp(written, text, (size_t)length) == 0;
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

/* In the process that runs tests: from this one on to the last one, until one ends it or fails.
 * Each says when it begins, so that the other process knows which it was. */
static int run_span(pointers tests, size_t first, size_t last, const char *progress)
{
    for (size_t i = first; i <= last; i++) {
        current = tests.list[i];
        if (!current || current->data->disabled) {
            continue;
        }
        FILE *file = fopen(progress, "w");
        fprintf(file, "%zu", i);
        fclose(file);
        failed_asserts = 0;
        current->test();
        end_redirection();
        fflush(NULL);
        if (failed_asserts > 0 || current->data->signal != 0) {
            return ENDED_BY_ASSERT;
        }
        if (first < last) {
            printf("[PASS] %s::%s\n", current->category, current->name);
        }
    }
    return 0;
}

static bool ended_as_expected(const struct criterion_test *test, intptr_t code)
{
    const struct criterion_test_extra_data *suite = suite_of(test);
    int expected = test->data->signal == 0 && suite ? suite->signal : test->data->signal;
    return expected == SIGABRT   ? code == ENDED_BY_ABORT
           : expected == SIGSEGV ? code == ENDED_BY_CRASH
                                 : code == test->data->exit_code;
}

/* Where the process that was ended had come to. */
static size_t read_progress(const char *progress, size_t none)
{
    size_t at = none;
    FILE *file = fopen(progress, "r");
    if (!file || fscanf(file, "%zu", &at) != 1) {
        at = none;
    }
    if (file) {
        fclose(file);
    }
    return at;
}

static intptr_t run_apart(const char *program, size_t first, size_t last, const char *progress)
{
    char words[2][24];
    snprintf(words[0], sizeof words[0], "%zu", first);
    snprintf(words[1], sizeof words[1], "%zu", last);
    fflush(NULL);
    return _spawnl(_P_WAIT, program, program, words[0], words[1], progress, NULL);
}

/* A test may count on a process of its own, as Criterion gives it: one that did not end well behind
 * others is run alone, and that is what counts. */
static void judge(const char *program, const char *progress, pointers tests, size_t at,
                  intptr_t code)
{
    const struct criterion_test *test = tests.list[at];
    if (code != ENDED_BY_SKIP && !ended_as_expected(test, code)) {
        code = run_apart(program, at, at, progress);
    }
    const char *result = code == ENDED_BY_SKIP           ? "[SKIP]"
                         : ended_as_expected(test, code) ? "[PASS]"
                                                         : "[FAIL]";
    printf("%s %s::%s (ended with %ld)\n", result, test->category, test->name, (long)code);
}

static int run_all(const char *program, const char *progress, pointers tests)
{
    size_t next = 0;
    while (next < tests.count) {
        remove(progress);
        intptr_t code = run_apart(program, next, tests.count - 1, progress);
        if (code == 0) {
            return 0;
        }
        size_t at = read_progress(progress, tests.count);
        if (at == tests.count) {
            printf("[FAIL] no test has begun: %ld\n", (long)code);
            return 1;
        }
        judge(program, progress, tests, at, code);
        next = at + 1;
    }
    return 0;
}

/* Without the debugger of wine, which takes ten seconds to show what has crashed. */
static LONG WINAPI end_by_crash(EXCEPTION_POINTERS *unused)
{
    (void)unused;
    TerminateProcess(GetCurrentProcess(), ENDED_BY_CRASH);
    return EXCEPTION_EXECUTE_HANDLER;
}

int main(int argument_count, char **arguments)
{
    pointers tests = section("cr_tst");
    if (argument_count == 4) {
        SetUnhandledExceptionFilter(end_by_crash);
        SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX);
        return run_span(tests, strtoul(arguments[1], NULL, 10), strtoul(arguments[2], NULL, 10),
                        arguments[3]);
    }
    char program[MAX_PATH];
    char progress[MAX_PATH + 16];
    GetModuleFileNameA(NULL, program, sizeof program);
    snprintf(progress, sizeof progress, "%s.progress", program);
    return run_all(program, progress, tests);
}
