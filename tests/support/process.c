#define _GNU_SOURCE
#include "lockstep/tests/support/process.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    ARGUMENTS_MAX = 64,
    VARIABLES_MAX = 256,
    PAUSE_NS = 2000000,
    CANNOT_START = 126,
};

void ls_process_pause(void)
{
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

uint64_t ls_process_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- starting ---- */

typedef struct child_plan {
    const ls_process_config *config;
    const char *arguments[ARGUMENTS_MAX + 3]; /* the first is the emulator's name, or NULL */
    const char *variables[VARIABLES_MAX + 3];
    char preload[LS_PROCESS_PATH_BYTES_MAX];
    pid_t parent;
    int out;
    int err;
} child_plan;

/* In the child: only what may be called between fork and exec. fork instead of posix_spawn, which
 * cannot ask for the signal at the parent's death, and a test that crashes or is killed must not
 * leave a server behind. */
static void become(const child_plan *plan)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGINT, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    int input = open(plan->config->input ? plan->config->input : "/dev/null", O_RDONLY);
    bool is_set = input >= 0 && dup2(input, STDIN_FILENO) >= 0 &&
                  dup2(plan->out, STDOUT_FILENO) >= 0 && dup2(plan->err, STDERR_FILENO) >= 0;
    uid_t user = plan->config->user;
    if (user != 0) {
        is_set = is_set && setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0;
    }
    is_set = is_set && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == plan->parent;
    if (is_set) {
        char *const *arguments = (char *const *)(uintptr_t)plan->arguments;
        char *const *variables = (char *const *)(uintptr_t)plan->variables;
        execve(plan->config->program, arguments + 1, variables);
        if (errno == ENOEXEC && arguments[0]) { /* a program of another processor */
            execve(arguments[0], arguments, variables);
        }
    }
    _exit(CANNOT_START);
}

static int create_file(const char *path)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    cr_assert_geq(file, 0, "%s: %s", path, strerror(errno));
    return file;
}

static int open_terminal(ls_process *process, uint16_t columns)
{
    struct winsize size = {.ws_row = 40, .ws_col = columns};
    int programs_end = -1;
    cr_assert_eq(openpty(&process->terminal, &programs_end, NULL, NULL, &size), 0);
    fcntl(process->terminal, F_SETFL, O_NONBLOCK);
    fcntl(process->terminal, F_SETFD, FD_CLOEXEC);
    fcntl(programs_end, F_SETFD, FD_CLOEXEC);
    return programs_end;
}

static void fill_arguments(child_plan *plan)
{
    size_t count = 0;
    plan->arguments[0] = getenv("LS_TEST_EMULATOR");
    plan->arguments[1] = plan->config->program;
    for (; plan->config->arguments[count]; count++) {
        cr_assert_lt(count, ARGUMENTS_MAX);
        plan->arguments[count + 2] = plan->config->arguments[count];
    }
    plan->arguments[count + 2] = NULL;
}

/* The test's own, and what loads a library first. AddressSanitizer wants to be the first itself,
 * which does not matter to a library that takes no memory. */
static void fill_variables(child_plan *plan)
{
    static const char sanitizer[] = "ASAN_OPTIONS=";
    size_t count = 0;
    for (char **variable = environ; *variable; variable++) {
        cr_assert_lt(count, VARIABLES_MAX);
        bool is_replaced =
            plan->config->preload && strncmp(*variable, sanitizer, sizeof sanitizer - 1) == 0;
        if (!is_replaced) {
            plan->variables[count++] = *variable;
        }
    }
    if (plan->config->preload) {
        snprintf(plan->preload, sizeof plan->preload, "LD_PRELOAD=%s", plan->config->preload);
        plan->variables[count++] = plan->preload;
        plan->variables[count++] = "ASAN_OPTIONS=verify_asan_link_order=0";
    }
    plan->variables[count] = NULL;
}

void ls_process_start(ls_process *process, const ls_process_config *config)
{
    memset(process, 0, sizeof *process);
    process->terminal = -1;
    snprintf(process->out_path, sizeof process->out_path, "%s.out", config->output_stem);
    snprintf(process->err_path, sizeof process->err_path, "%s.err", config->output_stem);
    child_plan plan = {.config = config, .parent = getpid()};
    fill_arguments(&plan);
    fill_variables(&plan);
    plan.out = create_file(process->out_path);
    plan.err = config->terminal_columns > 0 ? open_terminal(process, config->terminal_columns)
                                            : create_file(process->err_path);
    if (config->errors > 0) {
        cr_assert_eq(dup3(config->errors, plan.err, O_CLOEXEC), plan.err);
    }
    process->pid = fork();
    cr_assert_geq(process->pid, 0);
    if (process->pid == 0) {
        become(&plan);
    }
    close(plan.out);
    close(plan.err);
}

/* ---- ending ---- */

bool ls_process_has_ended(ls_process *process)
{
    if (process->pid == 0) {
        return true;
    }
    int status = 0;
    pid_t ended = waitpid(process->pid, &status, WNOHANG);
    if (ended != process->pid) {
        return false;
    }
    process->pid = 0;
    process->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    process->ending_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return true;
}

/* A terminal holds little: its writer must be read. One read gives a part of what is there.
 */
static void read_terminal(ls_process *process)
{
    size_t size = strlen(process->text);
    ssize_t more = process->terminal < 0 ? 0 : 1;
    while (more > 0 && size < sizeof process->text - 1) {
        more = read(process->terminal, process->text + size, sizeof process->text - 1 - size);
        size += more > 0 ? (size_t)more : 0;
        process->text[size] = '\0';
    }
}

bool ls_process_wait(ls_process *process, uint32_t patience_ms)
{
    uint64_t end_ms = ls_process_now_ms() + patience_ms;
    while (!ls_process_has_ended(process)) {
        if (ls_process_now_ms() >= end_ms) {
            return false;
        }
        read_terminal(process);
        ls_process_pause();
    }
    read_terminal(process);
    return true;
}

void ls_process_signal(const ls_process *process, int signal_number)
{
    cr_assert_gt(process->pid, 0, "nobody to signal");
    kill(process->pid, signal_number);
}

void ls_process_stop(ls_process *process)
{
    if (process->pid > 0) {
        kill(process->pid, SIGKILL);
        waitpid(process->pid, NULL, 0);
        process->pid = 0;
    }
    if (process->terminal > 0) {
        close(process->terminal);
        process->terminal = -1;
    }
}

/* ---- what it writes ---- */

static const char *read_file(ls_process *process, const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    cr_assert_geq(file, 0, "%s: %s", path, strerror(errno));
    ssize_t size = read(file, process->text, sizeof process->text - 1);
    close(file);
    process->text[size > 0 ? size : 0] = '\0';
    return process->text;
}

const char *ls_process_output(ls_process *process)
{
    return read_file(process, process->out_path);
}

const char *ls_process_errors(ls_process *process)
{
    if (process->terminal < 0) {
        return read_file(process, process->err_path);
    }
    read_terminal(process);
    return process->text;
}

bool ls_process_wait_for_words(ls_process *process, const char *words, uint32_t patience_ms)
{
    uint64_t end_ms = ls_process_now_ms() + patience_ms;
    for (;;) {
        bool has_ended = ls_process_has_ended(process);
        if (strstr(ls_process_errors(process), words)) {
            return true;
        }
        if (has_ended || ls_process_now_ms() >= end_ms) {
            return false;
        }
        ls_process_pause();
    }
}
