#define _GNU_SOURCE
#include "lockstep/tests/lab/bench/child.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/tests/lab/bench/timing.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define GLANCE_MS 10u

static _Noreturn void become(bench_child_work work, const void *user, int pipe_end, pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent) {
        work(user, pipe_end);
    }
    _exit(0);
}

ls_status bench_child_start(bench_child *child, bench_child_work work, const void *user,
                            ls_text *why)
{
    int ends[2];
    pid_t parent = getpid();
    if (pipe(ends) != 0) {
        return ls_fail(LS_IO, why, "cannot make a pipe: %s", strerror(errno));
    }
    fflush(NULL); /* or both would write what waits */
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        become(work, user, ends[1], parent);
    }
    close(ends[1]);
    if (pid < 0) {
        ls_text_set(why, "cannot start a process: %s", strerror(errno));
        close(ends[0]);
        return LS_IO;
    }
    *child = (bench_child){.pid = pid, .pipe = ends[0]};
    return LS_OK;
}

ls_status bench_child_hear(const bench_child *child, void *bytes, size_t size, int patience_ms,
                           ls_text *why)
{
    size_t heard = 0;
    while (heard < size) {
        struct pollfd waiting = {.fd = child->pipe, .events = POLLIN};
        int ready = poll(&waiting, 1, patience_ms);
        ssize_t more = ready > 0 ? read(child->pipe, (uint8_t *)bytes + heard, size - heard) : 0;
        if (more <= 0) {
            return ls_fail(LS_IO, why, "a process of the benchmark %s",
                           ready > 0 ? "ended before its time" : "took too long");
        }
        heard += (size_t)more;
    }
    return LS_OK;
}

void bench_child_tell(int pipe_end, const void *bytes, size_t size)
{
    if (write(pipe_end, bytes, size) != (ssize_t)size) {
        _exit(1); /* the parent does not listen any more */
    }
}

ls_status bench_child_find_program(const char *name, char path[BENCH_PATH_BYTES_MAX], ls_text *why)
{
    char self[BENCH_PATH_BYTES_MAX] = "";
    ssize_t bytes = readlink("/proc/self/exe", self, sizeof self - 1);
    if (bytes <= 0) {
        return ls_fail(LS_IO, why, "cannot tell where this program is");
    }
    char *own_name = strrchr(self, '/');
    *(own_name ? own_name : self) = '\0';
    int length = snprintf(path, BENCH_PATH_BYTES_MAX, "%s/%s", self, name);
    return length < BENCH_PATH_BYTES_MAX && access(path, X_OK) == 0
               ? LS_OK
               : ls_fail(LS_NOT_FOUND, why, "there is no %s", path);
}

void bench_child_become_program(const char *const *arguments)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing >= 0 && dup2(nothing, STDOUT_FILENO) >= 0 && dup2(nothing, STDERR_FILENO) >= 0) {
        (void)execv(arguments[0], (char *const *)(uintptr_t)arguments);
    }
}

void bench_child_ask_to_stop(bench_child *child, uint32_t patience_ms)
{
    bool has_ended = child->pid == 0 || kill(child->pid, SIGTERM) != 0;
    for (uint32_t ms = 0; !has_ended && ms < patience_ms; ms += GLANCE_MS) {
        bench_pause_ns(GLANCE_MS * LS_NS_PER_MS);
        siginfo_t info = {.si_pid = 0};
        has_ended = waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
                    info.si_pid != 0;
    }
    bench_child_stop(child);
}

void bench_child_stop(bench_child *child)
{
    if (child->pid > 0) {
        kill(child->pid, SIGKILL);
        waitpid(child->pid, NULL, 0);
        close(child->pipe);
        child->pid = 0;
    }
}

void bench_child_stay_on(unsigned core)
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    sched_setaffinity(0, sizeof cores,
                      &cores); /* fails where there is no such core: then anywhere */
}
