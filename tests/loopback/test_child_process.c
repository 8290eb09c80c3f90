#define _POSIX_C_SOURCE 200809L

#include "lockstep/common/system/child_process.h"
#include "lockstep/common/system/socket.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    INPUT_BYTES = 8 << 20, /* more than a socket holds */
    TIME_MAX_MS = 60000,   /* a machine that is busy starts a program late */
    OVERDUE_MS = 300,
};

static const char *shell[] = {"sh", "-c", "", NULL};

static ls_child_process_end exchange(const ls_child_process_config *config,
                                     const ls_child_process_exchange *what)
{
    ls_text why;
    ls_child_process_end end;
    signal(SIGPIPE, SIG_DFL); /* as in a program that knows nothing of pipes */
    cr_assert_eq(ls_child_process_run(config, what, &end, &why), LS_OK, "%s", why.bytes);
    return end;
}

static ls_child_process_end run(const char *const *arguments, uint32_t time_max_ms)
{
    static uint8_t input[INPUT_BYTES];
    uint8_t output[16];
    const ls_child_process_config config = {.program = arguments[0], .arguments = arguments};
    const ls_child_process_exchange what = {.input = input,
                                            .input_bytes = sizeof input,
                                            .output = output,
                                            .output_bytes_max = sizeof output,
                                            .time_max_ms = time_max_ms};
    return exchange(&config, &what);
}

/* The output of a shell's command. */
static const char *words_of(const char *command, const ls_child_process_config *config)
{
    static char words[64];
    ls_child_process_config with = *config;
    const char *const arguments[] = {"sh", "-c", command, NULL};
    with.program = "sh";
    with.arguments = arguments;
    const ls_child_process_exchange what = {.output = (uint8_t *)words,
                                            .output_bytes_max = sizeof words - 1,
                                            .time_max_ms = TIME_MAX_MS};
    words[exchange(&with, &what).output_bytes] = '\0';
    return words;
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
    sigprocmask(SIG_BLOCK, NULL, &set);
    cr_assert_not(sigismember(&set, SIGPIPE));
}

Test(child_process, child_that_writes_more_than_there_is_room_for_is_ended)
{
    static const char *const arguments[] = {"sh", "-c", "exec cat /dev/zero", NULL};
    ls_child_process_end end = run(arguments, TIME_MAX_MS);
    cr_expect_eq(end.output_bytes, 16);
    cr_expect_eq(end.signal, SIGPIPE);
}

Test(child_process, child_is_killed_once_it_is_stopped)
{
    static const char *const arguments[] = {"sleep", "60", NULL};
    const atomic_bool is_stopped = true;
    uint8_t output[1];
    const ls_child_process_config config = {.program = "sleep", .arguments = arguments};
    const ls_child_process_exchange what = {.output = output,
                                            .output_bytes_max = sizeof output,
                                            .time_max_ms = TIME_MAX_MS,
                                            .is_stopped = &is_stopped};
    ls_child_process_end end = exchange(&config, &what);
    cr_expect_eq(end.signal, SIGKILL);
    cr_expect_not(end.is_overdue);
}

/* Its parent has all day. */
Test(child_process, child_is_killed_once_it_has_worked_for_so_long)
{
    static const char *const commands[] = {"while :; do :; done", "sleep 0.2"};
    for (size_t i = 0; i < 2; i++) {
        uint8_t output[1];
        const char *const arguments[] = {"sh", "-c", commands[i], NULL};
        const ls_child_process_config config = {.program = "sh", .arguments = arguments};
        const ls_child_process_exchange what = {.output = output,
                                                .output_bytes_max = sizeof output,
                                                .time_max_ms = TIME_MAX_MS,
                                                .work_max_ms = 100};
        ls_child_process_end end = exchange(&config, &what);
        cr_expect_eq(end.signal, i == 0 ? SIGKILL : 0);
        cr_expect_eq(end.is_overdue, i == 0);
    }
}

Test(child_process, child_has_the_environment_and_descriptors_that_it_is_given)
{
    static const char *const environment[] = {"PATH=/usr/bin:/bin", "COLOUR=red", NULL};
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(write(ends[1], "words", 5), 5);
    close(ends[1]);
    /* The numbers that the child gives to others. */
    const ls_child_process_config config = {
        .environment = environment, .descriptors = {STDERR_FILENO, ends[0]}, .descriptor_count = 2};
    cr_expect_str_eq(words_of("echo -n $COLOUR $HOME-; cat <&4", &config), "red -words");
    close(ends[0]);
}

Test(child_process, child_has_nothing_on_the_streams_that_it_is_not_given)
{
    const ls_child_process_config config = {.program = NULL};
    cr_expect_str_eq(words_of("cat; readlink /proc/self/fd/0 /proc/self/fd/2", &config),
                     "/dev/null\n/dev/null\n");
}

static void go_to_root(const void *user)
{
    cr_expect_eq(*(const int *)user, 7);
    chdir("/");
}

Test(child_process, child_is_prepared_and_starts_without_the_handlers_of_its_parent)
{
    const int seven = 7;
    const ls_child_process_config config = {.prepare = go_to_root, .user = &seven};
    signal(SIGTERM, SIG_IGN);
    cr_expect_str_eq(words_of("pwd; kill -TERM $$; echo lives", &config), "/\n");
}

Test(child_process, program_that_is_not_there_is_not_found)
{
    ls_text why = {{0}};
    ls_child_process process = {0};
    const ls_child_process_config config = {.program = "/no/such", .arguments = shell};
    cr_expect_eq(ls_child_process_start(&config, &process, &why), LS_NOT_FOUND);
    cr_expect_str_eq(why.bytes, "cannot start /no/such: No such file or directory");
    cr_expect_eq(process.id, 0);
}

Test(child_process, signals_reach_the_whole_group)
{
    int ends[2];
    char byte = 0;
    ls_child_process process;
    ls_child_process_end end;
    cr_assert_eq(pipe(ends), 0);
    const char *const arguments[] = {"sh", "-c", "sleep 60 & echo >&3; wait", NULL};
    const ls_child_process_config config = {.program = "sh",
                                            .arguments = arguments,
                                            .descriptors = {ends[1]},
                                            .descriptor_count = 1,
                                            .has_group = true};
    cr_assert_eq(ls_child_process_start(&config, &process, NULL), LS_OK);
    close(ends[1]);
    cr_assert_eq(read(ends[0], &byte, 1), 1);
    cr_expect_not(ls_child_process_wait(&process, 0, &end));
    ls_child_process_ask(&process);
    cr_assert(ls_child_process_wait(&process, TIME_MAX_MS, &end));
    cr_expect_eq(end.signal, SIGTERM);
    cr_expect_eq(read(ends[0], &byte, 1), 0, "its own child has the pipe no more");
    close(ends[0]);
}

Test(child_process, end_is_known_where_children_are_not_waited_for)
{
    signal(SIGCHLD, SIG_IGN);
    const char *const arguments[] = {"sh", "-c", "exit 3", NULL};
    cr_expect_eq(run(arguments, TIME_MAX_MS).exit_code, 3);
}

/* ---- copies ---- */

static int answer(const void *user, int channel)
{
    uint32_t sum = *(const uint32_t *)user;
    uint32_t number = 0;
    while (ls_socket_receive_all(channel, &number, sizeof number, TIME_MAX_MS) == LS_OK &&
           number != 0) {
        sum += number;
    }
    return ls_socket_send_all(channel, &sum, sizeof sum) == LS_OK ? 5 : 1;
}

Test(child_process, copy_has_the_memory_as_it_was_and_talks_both_ways)
{
    uint32_t number = 40;
    uint32_t sum = 0;
    int channel = -1;
    ls_child_process copy;
    ls_child_process_end end;
    const ls_child_process_work work = {.run = answer, .user = &number};
    cr_assert_eq(ls_child_process_fork(&work, &copy, &channel, NULL), LS_OK);
    number = 2;
    cr_assert_eq(ls_socket_send_all(channel, &number, sizeof number), LS_OK);
    cr_expect_eq(ls_socket_receive_all(channel, &sum, sizeof sum, 0), LS_TIMED_OUT);
    number = 0;
    cr_assert_eq(ls_socket_send_all(channel, &number, sizeof number), LS_OK);
    cr_assert_eq(ls_socket_receive_all(channel, &sum, sizeof sum, TIME_MAX_MS), LS_OK);
    cr_expect_eq(sum, 42);
    cr_assert(ls_child_process_wait(&copy, TIME_MAX_MS, &end));
    cr_expect_eq(end.exit_code, 5);
    cr_expect_eq(ls_socket_receive_all(channel, &sum, sizeof sum, 0), LS_IO);
    cr_expect_eq(ls_socket_send_all(channel, &sum, sizeof sum), LS_IO);
    ls_socket_close(channel);
}

static int work_for_ever(const void *user, int channel)
{
    (void)user;
    (void)channel;
    while (true) {
        pause();
    }
    return 0;
}

Test(child_process, copy_whose_time_is_up_is_ended)
{
    sigset_t all;
    ls_child_process copy;
    ls_child_process_end end;
    const ls_child_process_work work = {.run = work_for_ever, .time_max_ms = OVERDUE_MS};
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL); /* whatever the process does about signals itself */
    cr_assert_eq(ls_child_process_fork(&work, &copy, NULL, NULL), LS_OK);
    cr_assert(ls_child_process_wait(&copy, TIME_MAX_MS, &end));
    cr_expect(end.is_overdue);
}

static int keep_one(const void *user, int channel)
{
    int kept = ls_child_process_keep(channel);
    const bool is_closed = fcntl(*(const int *)user, F_GETFD) < 0;
    return ls_socket_send_all(kept, &is_closed, sizeof is_closed);
}

Test(child_process, copy_keeps_what_it_needs_and_nothing_else)
{
    int channel = -1;
    int other = fcntl(STDERR_FILENO, F_DUPFD, 64); /* not where the copy moves its channel to */
    bool is_closed = false;
    ls_child_process copy;
    const ls_child_process_work work = {.run = keep_one, .user = &other};
    cr_assert_eq(ls_child_process_fork(&work, &copy, &channel, NULL), LS_OK);
    cr_assert_eq(ls_socket_receive_all(channel, &is_closed, sizeof is_closed, TIME_MAX_MS), LS_OK);
    cr_expect(is_closed);
    ls_child_process_kill(&copy);
    cr_expect_eq(copy.id, 0);
    ls_child_process_kill(&copy);
    ls_socket_close(channel);
    close(other);
}

/* A copy that makes one itself, and is killed. */
static int leave_orphan(const void *user, int channel)
{
    ls_child_process orphan;
    const ls_child_process_work work = {.run = work_for_ever};
    (void)user;
    (void)ls_child_process_fork(&work, &orphan, NULL, NULL);
    (void)ls_socket_send_all(channel, "", 1);
    return work_for_ever(NULL, channel);
}

Test(child_process, copy_dies_with_its_parent)
{
    int channel = -1;
    char byte = 0;
    ls_child_process parent;
    const ls_child_process_work work = {.run = leave_orphan};
    cr_assert_eq(ls_child_process_fork(&work, &parent, &channel, NULL), LS_OK);
    cr_assert_eq(ls_socket_receive_all(channel, &byte, 1, TIME_MAX_MS), LS_OK);
    ls_child_process_kill(&parent);
    cr_expect_eq(ls_socket_receive_all(channel, &byte, 1, TIME_MAX_MS), LS_IO,
                 "nobody has the other end any more");
    ls_socket_close(channel);
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

/* glibc's own setting: the words that a program of its is started with. */
Test(child_process, plain_heap_is_asked_for_beside_the_settings_of_others)
{
    static const char *const given[] = {"A=1", "GLIBC_TUNABLES=glibc.malloc.perturb=7", NULL};
    const ls_child_process_config plain = {.environment = given, .has_plain_heap = true};
    const ls_child_process_config other = {.environment = given};
    const ls_child_process_config own = {.has_plain_heap = true};
    setenv("OWN", "2", 1);
    unsetenv("GLIBC_TUNABLES");
    cr_assert_str_eq(words_of("echo $A ${GLIBC_TUNABLES#glibc.malloc.}", &plain),
                     "1 perturb=7:glibc.malloc.tcache_count=0\n");
    cr_assert_str_eq(words_of("echo $A ${GLIBC_TUNABLES#glibc.malloc.}", &other), "1 perturb=7\n");
    cr_assert_str_eq(words_of("echo $OWN $GLIBC_TUNABLES", &own),
                     "2 glibc.malloc.tcache_count=0\n");
}

/* The last word counts, which is that of who has set the variable. */
Test(child_process, large_pages_are_asked_for_before_the_settings_of_others)
{
    static const char *const given[] = {"GLIBC_TUNABLES=glibc.malloc.hugetlb=0", NULL};
    const ls_child_process_config refused = {.environment = given, .has_large_pages = true};
    const ls_child_process_config both = {.has_large_pages = true, .has_plain_heap = true};
    const ls_child_process_config large = {.has_large_pages = true};
    unsetenv("GLIBC_TUNABLES");
    cr_assert_str_eq(words_of("echo $GLIBC_TUNABLES", &refused),
                     "glibc.malloc.hugetlb=1:glibc.malloc.hugetlb=0\n");
    cr_assert_str_eq(words_of("echo $GLIBC_TUNABLES", &both),
                     "glibc.malloc.hugetlb=1:glibc.malloc.tcache_count=0\n");
    cr_assert_str_eq(words_of("echo $GLIBC_TUNABLES", &large), "glibc.malloc.hugetlb=1\n");
}
