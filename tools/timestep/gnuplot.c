#define _GNU_SOURCE
#include "lockstep/tools/timestep/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    NOT_FOUND = 127, /* the exit code of a shell that finds no such program */
};

static ls_status fail(const char *path, const char *reason, ls_text *why)
{
    return ls_fail(LS_IO, why, "cannot draw %s: %s", path, reason);
}

/* -d: gnuplot reads no ~/.gnuplot. Everything else that is open closes itself. */
static _Noreturn void become_gnuplot(int input, int output)
{
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    execlp("gnuplot", "gnuplot", "-d", (char *)NULL);
    _exit(errno == ENOENT ? NOT_FOUND : 1);
}

/* Gnuplot may end before it has read everything, so SIGPIPE is ignored meanwhile. */
static bool write_script(int input, const char *script, size_t size)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    sigaction(SIGPIPE, &ignore, &before);
    while (size > 0) {
        ssize_t written = write(input, script, size);
        if (written < 0 && errno != EINTR) {
            break;
        }
        script += LS_MAX(written, 0);
        size -= written > 0 ? (size_t)written : 0;
    }
    close(input);
    sigaction(SIGPIPE, &before, NULL);
    return size == 0;
}

static ls_status draw(const char *script, size_t size, const char *path, int output, ls_text *why)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return fail(path, strerror(errno), why);
    }
    pid_t pid = fork();
    if (pid == 0) {
        become_gnuplot(ends[0], output);
    }
    int error = errno;
    close(ends[0]);
    bool is_written = write_script(ends[1], script, size);
    int state = 0;
    if (pid < 0) {
        return fail(path, strerror(error), why);
    }
    while (waitpid(pid, &state, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(state) && WEXITSTATUS(state) == NOT_FOUND) {
        return fail(path,
                    "there is no gnuplot here; in Debian it comes with "
                    "apt-get install gnuplot-nox",
                    why);
    }
    bool is_drawn = is_written && WIFEXITED(state) && WEXITSTATUS(state) == 0;
    return is_drawn ? LS_OK : fail(path, "gnuplot failed; what it says is above", why);
}

ls_status stepping_gnuplot_run(const char *script, size_t size, const char *path, ls_text *why)
{
    bool was_there = access(path, F_OK) == 0;
    int output = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_TRUNC, 0666);
    if (output < 0) {
        return fail(path, strerror(errno), why);
    }
    ls_status status = draw(script, size, path, output, why);
    if (close(output) != 0 && status == LS_OK) {
        status = fail(path, strerror(errno), why);
    }
    if (status != LS_OK && !was_there) {
        unlink(path);
    }
    return status;
}
