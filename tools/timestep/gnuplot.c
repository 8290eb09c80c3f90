#define _GNU_SOURCE
#include "lockstep/tools/timestep/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static ls_status fail(const char *path, const char *reason, ls_text *why)
{
    return ls_fail(LS_IO, why, "cannot draw %s: %s", path, reason);
}

/* -d: gnuplot reads no ~/.gnuplot. */
static int start(int script, int output, pid_t *pid)
{
    char name[] = "gnuplot", option[] = "-d";
    char *arguments[] = {name, option, NULL};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, script, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    int error = posix_spawnp(pid, name, &files, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

static ls_status draw(FILE *script, const char *path, int output, ls_text *why)
{
    pid_t pid = 0;
    int state = 0;
    if (fflush(script) != 0 || lseek(fileno(script), 0, SEEK_SET) != 0) {
        return fail(path, strerror(errno), why);
    }
    int error = start(fileno(script), output, &pid);
    if (error == ENOENT) {
        return fail(path,
                    "there is no gnuplot here; in Debian it comes with "
                    "apt-get install gnuplot-nox",
                    why);
    }
    if (error != 0) {
        return fail(path, strerror(error), why);
    }
    while (waitpid(pid, &state, 0) < 0 && errno == EINTR) {
    }
    bool is_drawn = WIFEXITED(state) && WEXITSTATUS(state) == 0;
    return is_drawn ? LS_OK : fail(path, "gnuplot failed; what it says is above", why);
}

ls_status stepping_gnuplot_run(FILE *script, const char *path, ls_text *why)
{
    bool was_there = access(path, F_OK) == 0;
    int output = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_TRUNC, 0666);
    if (output < 0) {
        return fail(path, strerror(errno), why);
    }
    ls_status status = draw(script, path, output, why);
    if (close(output) != 0 && status == LS_OK) {
        status = fail(path, strerror(errno), why);
    }
    if (status != LS_OK && !was_there) {
        unlink(path);
    }
    return status;
}
