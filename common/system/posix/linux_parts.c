#define _GNU_SOURCE
#include "lockstep/common/system/posix/parts.h"

#include "lockstep/common/base/language.h"
#include "lockstep/common/system/machine.h"
#include "lockstep/common/system/memory.h"
#include "lockstep/common/system/program_start.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int ls_child_part_end(int id)
{
    return pidfd_open(id, 0);
}

int ls_child_part_start(int (*run)(void *user), void *user)
{
    const size_t stack_bytes = 64 << 10;
    if (LS_IS_SANITIZED) { /* what it knows of stacks does not hold there */
        int id = fork();
        return id == 0 ? run(user) : id;
    }
    uint8_t *stack = ls_allocate(ls_allocator_heap(), stack_bytes);
    int id = stack ? clone(run, stack + stack_bytes, CLONE_VM | CLONE_VFORK | SIGCHLD, user) : -1;
    ls_release(ls_allocator_heap(), stack);
    return id;
}

void ls_child_part_execute(const char *program, char *const *arguments, char *const *environment)
{
    (void)execvpe(program, arguments, environment ? environment : environ);
}

bool ls_child_part_follow(int parent)
{
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent;
}

void ls_child_part_close_from(int first)
{
    close_range((unsigned)first, UINT_MAX, 0);
}

int ls_file_part_open_beneath(int folder, const char *path)
{
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    return (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
}

uint32_t ls_machine_timer_slack(uint32_t slack_ns)
{
    int before_ns = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    (void)prctl(PR_SET_TIMERSLACK, (unsigned long)slack_ns, 0, 0, 0);
    return before_ns > 0 ? (uint32_t)before_ns : 0;
}

void ls_machine_use_one_processor(void)
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(sched_getcpu() < 0 ? 0 : sched_getcpu(), &cores);
    (void)sched_setaffinity(0, sizeof cores, &cores);
}

/* ---- this program ---- */

const char ls_program_part_path[] = "/proc/self/exe";

const char *ls_program_name(void)
{
    return program_invocation_short_name;
}

static void call_at_end(int code, void *user)
{
    void (*at_end)(int code) = NULL;
    memcpy(&at_end, user, sizeof at_end);
    at_end(code);
}

void ls_program_part_at_end(void (*at_end)(int code))
{
    static void (*kept)(int code);
    kept = at_end;
    on_exit(call_at_end, (void *)&kept);
}

uint64_t ls_machine_memory_bytes(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*u %llu", &pages) != 1) {
        pages = 0;
    }
    if (file) {
        fclose(file);
    }
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint32_t ls_machine_threads(void)
{
    struct stat tasks; /* a link for each thread, and two as every folder */
    return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink > 2
               ? (uint32_t)(tasks.st_nlink - 2)
               : 0;
}

bool ls_machine_program_path(char *path, size_t capacity)
{
    ssize_t bytes = readlink(ls_program_part_path, path, capacity - 1);
    path[bytes > 0 ? bytes : 0] = '\0';
    return bytes > 0 && (size_t)bytes < capacity - 1;
}
