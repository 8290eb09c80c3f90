#define _GNU_SOURCE
#include "lockstep/common/system/machine.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

extern char **environ; /* which POSIX leaves to its users to declare */

enum {
    LOW_PRIORITY = 5,
    LOWEST_PRIORITY = 19,
};

uint32_t ls_machine_processors(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors > 0 ? (uint32_t)processors : 1;
}

uint64_t ls_machine_cpu_ns(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    int64_t us = (int64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
                 used.ru_utime.tv_usec + used.ru_stime.tv_usec;
    return (uint64_t)us * 1000;
}

const char *const *ls_machine_variables(void)
{
    static const char *const none = NULL;
    return environ ? (const char *const *)environ : &none;
}

void ls_machine_set_variable(const char *name, const char *value)
{
    (void)setenv(name, value, 1);
}

void ls_machine_give_way(bool is_last)
{
    (void)setpriority(PRIO_PROCESS, 0, is_last ? LOWEST_PRIORITY : LOW_PRIORITY);
}
