#define _XOPEN_SOURCE 700
#include "lockstep/common/system/posix/parts.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/system/machine.h"
#include "lockstep/common/system/program_start.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ; /* which POSIX leaves to its users to declare */

enum {
    DESCRIPTORS_MAX = 65536, /* where the system has no limit */
};

typedef struct end_watch {
    int id;
    int pipe_end;
} end_watch;

/* A byte says it: copies of this process have the pipe open as well, and closing it would not. */
static void *watch(void *user)
{
    end_watch *of = user;
    siginfo_t info;
    while (waitid(P_PID, (id_t)of->id, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
    ssize_t written = write(of->pipe_end, "", 1);
    (void)written;
    close(of->pipe_end);
    ls_release(ls_allocator_heap(), of);
    return NULL;
}

int ls_child_part_end(int id)
{
    int ends[2];
    pthread_t thread;
    end_watch *of = ls_allocate(ls_allocator_heap(), sizeof *of);
    if (!of || pipe(ends) != 0) {
        ls_release(ls_allocator_heap(), of);
        return -1;
    }
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    *of = (end_watch){.id = id, .pipe_end = ends[1]};
    if (pthread_create(&thread, NULL, watch, of) != 0) {
        close(ends[0]);
        close(ends[1]);
        ls_release(ls_allocator_heap(), of);
        return -1;
    }
    pthread_detach(thread);
    return ends[0];
}

int ls_child_part_start(int (*run)(void *user), void *user)
{
    int id = fork();
    return id == 0 ? run(user) : id;
}

void ls_child_part_execute(const char *program, char *const *arguments, char *const *environment)
{
    if (environment) {
        environ = (char **)(uintptr_t)environment;
    }
    (void)execvp(program, arguments);
}

/* A child of a process that is killed lives until it next uses what its parent gave it. */
bool ls_child_part_follow(int parent)
{
    return getppid() == parent;
}

void ls_child_part_close_from(int first)
{
    long limit = sysconf(_SC_OPEN_MAX);
    for (int i = first; i < (limit > 0 && limit < DESCRIPTORS_MAX ? limit : DESCRIPTORS_MAX); i++) {
        close(i);
    }
}

int ls_file_part_open_beneath(int folder, const char *path)
{
    (void)folder;
    (void)path;
    errno = ENOSYS;
    return -1;
}

uint32_t ls_machine_timer_slack(uint32_t slack_ns)
{
    (void)slack_ns; /* the system wakes everybody as it does */
    return 0;
}

void ls_machine_use_one_processor(void)
{
}

/* ---- this program ---- */

const char ls_program_part_path[] = "";

const char *ls_program_name(void)
{
    return "lockstep";
}

static void (*kept_at_end)(int code);

static void call_at_end(void)
{
    kept_at_end(EXIT_SUCCESS); /* POSIX tells no code here */
}

void ls_program_part_at_end(void (*at_end)(int code))
{
    kept_at_end = at_end;
    atexit(call_at_end);
}

uint64_t ls_machine_memory_bytes(void)
{
    return 0;
}

uint32_t ls_machine_threads(void)
{
    return 0;
}

bool ls_machine_program_path(char *path, size_t capacity)
{
    (void)capacity;
    path[0] = '\0';
    return false;
}
