#define _GNU_SOURCE
#include "lockstep/common/system/child_process.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/system/machine.h"
#include "lockstep/common/system/posix/parts.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/common/system/system_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ; /* which POSIX leaves to its users to declare */

/* A program that becomes of a child. */
typedef struct program_start {
    const ls_child_process_config *config;
    const char *const *environment;
    int report; /* where the child says why it cannot */
    pid_t parent;
} program_start;

static int become(void *user);

enum {
    WATCH_MS = 20, /* between two looks at whether a child is to be stopped */
    DESCRIPTORS_MAX = LS_CHILD_STREAMS + LS_CHILD_DESCRIPTORS_MAX,
    SIGNALS = 32,
    CANNOT_START = 127,
};

/* ---- files ---- */

bool ls_child_process_file(const char *name, char *out, size_t capacity)
{
    char path[PATH_MAX];
    bool is_file = strchr(name, '/') || strstr(name, ".so");
    const char *taken = is_file && realpath(name, path) ? path : name;
    size_t size = strlen(taken) + 1;
    if (size <= capacity) {
        memcpy(out, taken, size);
    }
    return size <= capacity;
}

/* ---- variables ---- */

static bool is_set_by(const char *variable, const char *const *changed)
{
    for (; *changed; changed++) {
        if (strncmp(variable, *changed, strcspn(*changed, "=") + 1) == 0) {
            return true;
        }
    }
    return false;
}

void ls_child_process_variables(const char *const *changed, bool (*keeps)(const char *variable),
                                const char **variables, uint32_t variables_max)
{
    uint32_t count = 0;
    for (uint32_t i = 0; changed[i] && count < variables_max; i++) {
        variables[count++] = changed[i];
    }
    for (char **own = environ; own && *own && count < variables_max; own++) {
        if (!is_set_by(*own, changed) && (!keeps || keeps(*own))) {
            variables[count++] = *own;
        }
    }
    variables[count] = NULL;
}

/* The variables with what the child's malloc is to do, which glibc is told before a process begins.
 * Of two that say the same the last one counts. In one block of the heap, which the caller gives
 * back; NULL: there is none, or there is nothing to say. */
static const char **heap_variables(const ls_child_process_config *config,
                                   const char *const *variables)
{
    static const char name[] = "GLIBC_TUNABLES=";
    const char *first = config->has_large_pages ? "glibc.malloc.hugetlb=1" : "";
    const char *last = config->has_plain_heap ? "glibc.malloc.tcache_count=0" : "";
    const char *others = "";
    size_t count = 0, kept = 0;
    for (; variables && variables[count]; count++) {
        bool is_it = strncmp(variables[count], name, sizeof name - 1) == 0;
        others = is_it ? variables[count] + sizeof name - 1 : others;
    }
    size_t text_bytes = sizeof name + strlen(first) + strlen(others) + strlen(last) + 2;
    const char **made =
        *first || *last ? ls_allocate(ls_allocator_heap(), (count + 2) * sizeof *made + text_bytes)
                        : NULL;
    if (!made) {
        return NULL;
    }
    char *text = (char *)(made + count + 2);
    snprintf(text, text_bytes, "%s%s%s%s%s%s", name, first, *first && *others ? ":" : "", others,
             *last && (*first || *others) ? ":" : "", last);
    made[kept++] = text;
    for (size_t i = 0; i < count; i++) {
        if (strncmp(variables[i], name, sizeof name - 1) != 0) {
            made[kept++] = variables[i];
        }
    }
    made[kept] = NULL;
    return made;
}

static ls_status open_channel(int ends[2], ls_text *why)
{
    return ls_socket_pair(ends) == LS_OK
               ? LS_OK
               : ls_fail(LS_IO, why, "the system gives no sockets: %s", strerror(errno));
}

/* ---- any child ---- */

/* A handler of this process's has no business in the child. Where children are not waited for, as
 * this process may have been started, none could be. */
static pid_t fork_child(program_start *start, sigset_t *before)
{
    sigset_t all;
    struct sigaction ended;
    if (sigaction(SIGCHLD, NULL, &ended) == 0 && ended.sa_handler == SIG_IGN) {
        signal(SIGCHLD, SIG_DFL);
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, before);
    bool is_copy = !start || start->config->prepare;
    pid_t id = is_copy ? fork() : ls_child_part_start(become, start);
    if (id != 0) {
        int error = errno;
        pthread_sigmask(SIG_SETMASK, before, NULL);
        errno = error;
    }
    return id;
}

static void reap(int id, ls_child_process_end *end)
{
    int state = 0;
    struct rusage used = {0};
    pid_t reaped = 0;
    while ((reaped = wait4(id, &state, 0, &used)) < 0 && errno == EINTR) {
    }
    bool is_exit = reaped == id && WIFEXITED(state);
    end->exit_code = is_exit ? WEXITSTATUS(state) : -1;
    end->signal = reaped == id && WIFSIGNALED(state) ? WTERMSIG(state) : 0;
    end->worked_ns = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * LS_NS_PER_SECOND +
                     (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * LS_NS_PER_US;
}

static ls_status follow(pid_t id, const ls_child_process *made, ls_child_process *process,
                        ls_text *why)
{
    ls_child_process_end end;
    *process = *made;
    process->id = id;
    process->ended = ls_child_part_end(id);
    if (process->ended >= 0) {
        return LS_OK;
    }
    ls_fail(LS_IO, why, "a process cannot be followed: %s", strerror(errno));
    kill(id, SIGKILL);
    reap(id, &end);
    *process = (ls_child_process){0};
    return LS_IO;
}

bool ls_child_process_wait(ls_child_process *process, uint32_t wait_ms, ls_child_process_end *end)
{
    ls_child_process_end found = {0};
    uint64_t wait_ns =
        wait_ms == LS_CHILD_WAIT_FOREVER ? LS_SOCKET_FOR_EVER : wait_ms * LS_NS_PER_MS;
    bool has_ended = false;
    do {
        errno = 0;
        has_ended = ls_socket_await(process->ended, wait_ns);
    } while (!has_ended && errno == EINTR);
    if (!has_ended) {
        return false;
    }
    reap(process->id, &found);
    found.is_overdue = process->is_timed && found.signal == SIGALRM;
    close(process->ended);
    *process = (ls_child_process){0};
    if (end) {
        *end = found;
    }
    return true;
}

void ls_child_process_ask(const ls_child_process *process)
{
    (void)kill(process->has_group ? -process->id : process->id, SIGTERM);
}

void ls_child_process_strike(const ls_child_process *process)
{
    (void)kill(process->has_group ? -process->id : process->id, SIGKILL);
}

void ls_child_process_kill(ls_child_process *process)
{
    if (process->id != 0) {
        ls_child_process_strike(process);
        ls_child_process_wait(process, LS_CHILD_WAIT_FOREVER, NULL);
    }
}

/* ---- a copy ---- */

static void limit_time(uint32_t time_max_ms)
{
    sigset_t alarm_only;
    struct itimerval limit = {.it_value = {.tv_sec = time_max_ms / 1000,
                                           .tv_usec = (suseconds_t)(time_max_ms % 1000) * 1000}};
    signal(SIGALRM, SIG_DFL);
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
    setitimer(ITIMER_REAL, &limit, NULL);
}

/* A stop signal goes to a terminal's whole group, and is meant for the process alone. */
static void stand_back(void)
{
    static const int stops[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++) {
        signal(stops[i], SIG_IGN);
    }
    ls_machine_give_way(true);
}

static _Noreturn void work_in_copy(const ls_child_process_work *work, int channel, pid_t parent,
                                   const sigset_t *signals)
{
    pthread_sigmask(SIG_SETMASK, signals, NULL);
    if (work->time_max_ms > 0) {
        limit_time(work->time_max_ms);
    }
    if (work->is_background) {
        stand_back();
    }
    bool has_parent = work->outlives_parent || ls_child_part_follow(parent);
    _exit(has_parent ? work->run(work->user, channel)
                     : CANNOT_START); /* what is left of the process's own belongs to the process */
}

ls_status ls_child_process_fork(const ls_child_process_work *work, ls_child_process *process,
                                int *channel, ls_text *why)
{
    int ends[2] = {-1, -1};
    sigset_t before;
    pid_t parent = getpid();
    if (channel && open_channel(ends, why) != LS_OK) {
        return LS_IO;
    }
    pid_t id = fork_child(NULL, &before);
    if (id == 0) {
        ls_socket_close(ends[0]);
        work_in_copy(work, ends[1], parent, &before);
    }
    ls_status status = id > 0 ? LS_OK
                              : ls_fail(errno == ENOMEM ? LS_NO_MEMORY : LS_IO, why,
                                        "the system makes no process: %s", strerror(errno));
    if (status == LS_OK) {
        const ls_child_process made = {.is_timed = work->time_max_ms > 0};
        status = follow(id, &made, process, why);
    }
    ls_socket_close(ends[1]);
    if (status != LS_OK) {
        ls_socket_close(ends[0]);
    } else if (channel) {
        *channel = ends[0];
    }
    return status;
}

int ls_child_process_keep(int descriptor)
{
    const int kept = LS_CHILD_DESCRIPTOR_FIRST;
    if (descriptor != kept && dup2(descriptor, kept) < 0) {
        return -1;
    }
    fcntl(kept, F_SETFD, FD_CLOEXEC);
    ls_child_part_close_from(kept + 1);
    return kept;
}

bool ls_child_process_hush(void)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    bool is_hushed =
        nowhere >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0 && dup2(nowhere, STDERR_FILENO) >= 0;
    ls_socket_close(nowhere);
    return is_hushed;
}

/* ---- a program: in the child, where only what may follow a fork is called ---- */

/* A descriptor may have the number that another one is to get: first all of them are above. */
static bool place_descriptors(const ls_child_process_config *config)
{
    int placed[DESCRIPTORS_MAX];
    int count = LS_CHILD_STREAMS + (int)config->descriptor_count;
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i < count; i++) {
        bool is_stream = i < LS_CHILD_STREAMS;
        int wanted = is_stream ? config->streams[i] : config->descriptors[i - LS_CHILD_STREAMS];
        placed[i] = fcntl(is_stream && wanted == 0 ? nowhere : wanted, F_DUPFD_CLOEXEC, count);
        if (placed[i] < 0) {
            return false;
        }
    }
    for (int i = 0; i < count; i++) {
        if (dup2(placed[i], i) < 0) {
            return false;
        }
    }
    return true;
}

static const char *program_of(const ls_child_process_config *config)
{
    return config->program[0] ? config->program : ls_program_part_path;
}

static void reset_signals(void)
{
    sigset_t none;
    for (int i = 1; i < SIGNALS; i++) {
        signal(i, SIG_DFL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Writes to nothing that outlives it: the memory may be the parent's. */
static int become(void *user)
{
    const program_start *start = user;
    const ls_child_process_config *config = start->config;
    int report = fcntl(start->report, F_DUPFD_CLOEXEC, DESCRIPTORS_MAX);
    reset_signals();
    if (config->has_group) {
        setsid();
    }
    if (place_descriptors(config) &&
        (!config->dies_with_parent || ls_child_part_follow(start->parent))) {
        if (config->prepare) {
            config->prepare(config->user);
        }
        ls_child_part_execute(program_of(config), (char *const *)(uintptr_t)config->arguments,
                              (char *const *)(uintptr_t)start->environment);
    }
    const int error = errno;
    (void)ls_socket_send_all(report, &error, sizeof error);
    _exit(CANNOT_START);
}

ls_status ls_child_process_start(const ls_child_process_config *config, ls_child_process *process,
                                 ls_text *why)
{
    int report[2];
    int error = 0;
    sigset_t before;
    ls_child_process_end end;
    const ls_child_process made = {.has_group = config->has_group};
    if (open_channel(report, why) != LS_OK) {
        return LS_IO;
    }
    const char *const *own = (const char *const *)(uintptr_t)environ;
    const char *const *environment = config->environment ? config->environment : own;
    const char **changed = heap_variables(config, environment);
    program_start start = {config, changed ? changed : environment, report[1], getpid()};
    pid_t id = fork_child(&start, &before);
    if (id == 0) {
        become(&start);
    }
    error = id < 0 ? errno : 0;
    close(report[1]);
    if (id > 0 &&
        ls_socket_receive_all(report[0], &error, sizeof error, LS_CHILD_WAIT_FOREVER) == LS_OK) {
        reap(id, &end);
    }
    close(report[0]);
    ls_release(ls_allocator_heap(), changed);
    if (error != 0) {
        return ls_fail(error == ENOENT ? LS_NOT_FOUND : LS_IO, why, "cannot start %s: %s",
                       program_of(config), strerror(error));
    }
    return follow(id, &made, process, why);
}

/* ---- a program that is waited for ---- */

typedef struct child_run {
    const ls_child_process_exchange *exchange;
    ls_child_process process;
    int input;  /* -1: all was written, or it reads no more */
    int output; /* -1: it has closed it, or there is no room */
    size_t written;
    size_t read;
} child_run;

static void close_once(int *channel)
{
    ls_socket_close(*channel);
    *channel = -1;
}

/* A child that ends before it has read everything is judged by its end, not by this. */
static void write_some(child_run *run)
{
    size_t left = run->exchange->input_bytes - run->written;
    ptrdiff_t size = ls_socket_send_some(run->input, run->exchange->input + run->written, left);
    run->written += size > 0 ? (size_t)size : 0;
    if (size < 0 || run->written == run->exchange->input_bytes) {
        close_once(&run->input);
    }
}

/* True: there may be more. Once the room is used up the child meets a closed socket. */
static bool read_some(child_run *run)
{
    size_t room = run->exchange->output_bytes_max - run->read;
    ptrdiff_t size = ls_socket_receive_some(run->output, run->exchange->output + run->read, room);
    run->read += size > 0 ? (size_t)size : 0;
    if (size < 0) {
        close_once(&run->output);
    }
    return size > 0;
}

static bool find_clock(pid_t id, clockid_t *clock)
{
#if defined(__APPLE__) /* has no clock of another process */
    (void)id;
    (void)clock;
    return false;
#else
    return clock_getcpuclockid(id, clock) == 0;
#endif
}

/* A process that waits for a processor has all the time that it is given. */
static bool has_worked_enough(const child_run *run)
{
    clockid_t clock;
    struct timespec worked = {0};
    bool is_known = run->exchange->work_max_ms > 0 && find_clock(run->process.id, &clock) &&
                    clock_gettime(clock, &worked) == 0;
    return is_known && (uint64_t)worked.tv_sec * 1000 + (uint64_t)worked.tv_nsec / LS_NS_PER_MS >=
                           run->exchange->work_max_ms;
}

static void attend(child_run *run, ls_child_process_end *end)
{
    const ls_clock clock = ls_clock_system();
    uint64_t end_ns = ls_clock_now_ns(&clock) + run->exchange->time_max_ms * LS_NS_PER_MS;
    bool is_overdue = false;
    bool is_killed = false;
    while (!ls_child_process_wait(&run->process, 0, end)) {
        struct pollfd waiting[] = {{.fd = run->process.ended, .events = POLLIN},
                                   {.fd = run->output, .events = POLLIN},
                                   {.fd = run->input, .events = POLLOUT}};
        (void)poll(waiting, sizeof waiting / sizeof waiting[0], WATCH_MS);
        if (waiting[1].revents != 0) {
            (void)read_some(run);
        }
        if (waiting[2].revents != 0) {
            write_some(run);
        }
        bool is_stopped = run->exchange->is_stopped && atomic_load(run->exchange->is_stopped);
        if (!is_killed) {
            is_overdue = ls_clock_now_ns(&clock) >= end_ns || has_worked_enough(run);
            is_killed = is_overdue || is_stopped;
            if (is_killed) {
                ls_child_process_strike(&run->process);
            }
        }
    }
    while (run->output >= 0 && read_some(run)) {
    }
    end->is_overdue = is_overdue;
    end->output_bytes = run->read;
}

ls_status ls_child_process_run(const ls_child_process_config *config,
                               const ls_child_process_exchange *exchange, ls_child_process_end *end,
                               ls_text *why)
{
    int input[2] = {-1, -1};
    int output[2] = {-1, -1};
    child_run run = {.exchange = exchange};
    ls_child_process_config piped = *config;
    piped.dies_with_parent = true;
    ls_status status = exchange->input ? open_channel(input, why) : LS_OK;
    if (status == LS_OK) {
        status = open_channel(output, why);
    }
    if (status == LS_OK) {
        piped.streams[0] = exchange->input ? input[1] : config->streams[0];
        piped.streams[1] = output[1];
        status = ls_child_process_start(&piped, &run.process, why);
    }
    ls_socket_close(input[1]);
    ls_socket_close(output[1]);
    run.input = input[0];
    run.output = output[0];
    if (status == LS_OK) {
        attend(&run, end);
    }
    ls_socket_close(run.input);
    ls_socket_close(run.output);
    return status;
}
