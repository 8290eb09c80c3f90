#define _POSIX_C_SOURCE 200809L
#include "lockstep/tools/timestep/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static ls_status fail(const char *path, const char *reason, ls_text *why)
{
    ls_text_set(why, "cannot draw %s: %s", path, reason);
    return LS_IO;
}

/* Its input is the pipe, its output the file; it reads nobody's ~/.gnuplot. 0 or an error number.
 */
static int start(pid_t *pid, int input, int output, int unused)
{
    static char name[] = "gnuplot", plain[] = "-d";
    char *const arguments[] = {name, plain, NULL};
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0) {
        return error;
    }
    error = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    error = error ? error : posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    error = error ? error : posix_spawn_file_actions_addclose(&actions, unused);
    error = error ? error : posix_spawnp(pid, name, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static bool write_all(int pipe_end, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(pipe_end, bytes, size);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        bytes += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

/* Waits for the end; true when it drew all. */
static bool has_drawn(pid_t pid)
{
    int state = 0;
    while (waitpid(pid, &state, 0) < 0) {
        if (errno != EINTR) {
            return false;
        }
    }
    return WIFEXITED(state) && WEXITSTATUS(state) == 0;
}

static ls_status draw(const char *script, size_t size, const char *path, int output, ls_text *why)
{
    int ends[2];
    if (pipe(ends) != 0) {
        return fail(path, strerror(errno), why);
    }
    pid_t pid = 0;
    int error = start(&pid, ends[0], output, ends[1]);
    close(ends[0]);
    if (error != 0) {
        close(ends[1]);
        return fail(path,
                    error == ENOENT ? "there is no gnuplot here; in Debian it comes with "
                                      "apt-get install gnuplot-nox"
                                    : strerror(error),
                    why);
    }
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    sigaction(SIGPIPE, &ignore, &before); /* it may end before it has read all */
    bool is_written = write_all(ends[1], script, size);
    close(ends[1]);
    bool is_drawn = has_drawn(pid);
    sigaction(SIGPIPE, &before, NULL);
    if (!is_written || !is_drawn) {
        return fail(path, "gnuplot failed; what it says is above", why);
    }
    return LS_OK;
}

static int open_output(const char *path, int flags)
{
    return open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
}

ls_status stepping_gnuplot_check_path(const char *path, ls_text *why)
{
    bool was_there = access(path, F_OK) == 0;
    int output = open_output(path, O_APPEND);
    if (output < 0) {
        return fail(path, strerror(errno), why);
    }
    close(output);
    if (!was_there) {
        unlink(path);
    }
    return LS_OK;
}

ls_status stepping_gnuplot_run(const char *script, size_t size, const char *path, ls_text *why)
{
    bool was_there = access(path, F_OK) == 0;
    int output = open_output(path, O_TRUNC);
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
