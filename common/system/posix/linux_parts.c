#define _GNU_SOURCE
#include "lockstep/common/system/posix/parts.h"

#include "lockstep/common/system/machine.h"

#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
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
