#define _GNU_SOURCE
#include "lockstep/common/system/posix/parts.h"

#include "lockstep/common/system/machine.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int ls_child_part_end(int id)
{
    return pidfd_open(id, 0);
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
