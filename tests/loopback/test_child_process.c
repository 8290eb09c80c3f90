#include "lockstep/common/runtime/child_process.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

enum {
    INPUT_BYTES = 8 << 20, /* more than a pipe holds */
    TIME_MAX_MS = 60000,   /* a machine that is busy starts a program late */
    OVERDUE_MS = 300,
};

static ls_child_process_end run(const char *const *arguments, uint32_t time_max_ms)
{
    static uint8_t input[INPUT_BYTES];
    uint8_t output[16];
    atomic_bool is_stopped = false;
    ls_text why;
    ls_child_process_end end;
    const ls_child_process_config config = {.program = arguments[0],
                                            .arguments = arguments,
                                            .input = input,
                                            .input_bytes = sizeof input,
                                            .output = output,
                                            .output_bytes_max = sizeof output,
                                            .time_max_ms = time_max_ms,
                                            .is_stopped = &is_stopped};
    signal(SIGPIPE, SIG_DFL); /* as in a program that knows nothing of pipes */
    cr_assert_eq(ls_child_process_run(&config, &end, &why), LS_OK, "%s", why.bytes);
    return end;
}

Test(child_process, child_that_reads_nothing_does_not_end_its_parent)
{
    static const char *const arguments[] = {"/bin/true", NULL};
    ls_child_process_end end = run(arguments, TIME_MAX_MS);
    cr_assert_eq(end.signal, 0);
    cr_assert_eq(end.exit_code, 0);
    cr_assert_not(end.is_overdue);
}

Test(child_process, child_that_is_killed_while_it_is_written_to_does_not_end_its_parent)
{
    static const char *const arguments[] = {"/bin/sleep", "60", NULL};
    ls_child_process_end end = run(arguments, OVERDUE_MS);
    cr_assert_eq(end.signal, SIGKILL);
    cr_assert(end.is_overdue);
}

Test(child_process, closed_pipe_leaves_no_signal_waiting_and_none_blocked)
{
    static const char *const arguments[] = {"/bin/true", NULL};
    sigset_t set;
    run(arguments, TIME_MAX_MS);
    sigpending(&set);
    cr_assert_not(sigismember(&set, SIGPIPE));
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    cr_assert_not(sigismember(&set, SIGPIPE));
}

Test(child_process, a_file_is_named_for_every_working_directory)
{
    char name[64];
    cr_assert(ls_child_process_file("/bin/../bin/./true", name, sizeof name));
    cr_expect(name[0] == '/' && !strstr(name, ".."), "%s", name);
    cr_assert(ls_child_process_file("arena", name, sizeof name));
    cr_expect_str_eq(name, "arena", "a built-in simulation is no file");
    cr_assert(ls_child_process_file("no/such.so", name, sizeof name));
    cr_expect_str_eq(name, "no/such.so");
    cr_expect_not(ls_child_process_file("arena", name, 5), "its final NUL has no room");
}
