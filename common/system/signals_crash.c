#define _GNU_SOURCE
#include "lockstep/common/system/signals.h"

#include <signal.h>

typedef struct crash_signal {
    int number;
    const char *name;
    const char *text;
    bool is_other; /* nothing catches it, or it is no crash */
} crash_signal;

/* Those that the system has. */
static const crash_signal signals[] = {
    {SIGSEGV, "SIGSEGV", "segmentation fault", false},
    {SIGFPE, "SIGFPE", "arithmetic error", false},
    {SIGILL, "SIGILL", "illegal instruction", false},
    {SIGABRT, "SIGABRT", "aborted", false},
#ifdef SIGBUS
    {SIGBUS, "SIGBUS", "bus error", false},
#endif
#ifdef SIGTRAP
    {SIGTRAP, "SIGTRAP", "trap", false},
#endif
#ifdef SIGSYS
    {SIGSYS, "SIGSYS", "bad system call", false},
#endif
#ifdef SIGKILL
    {SIGKILL, "SIGKILL", "killed", true},
    {SIGALRM, "SIGALRM", "signal", true},
    {SIGPIPE, "SIGPIPE", "signal", true},
    {SIGTERM, "SIGTERM", "signal", true},
    {SIGXCPU, "SIGXCPU", "signal", true},
#endif
};

int ls_crash_signal(size_t index)
{
    bool is_one = index < sizeof signals / sizeof signals[0] && !signals[index].is_other;
    return is_one ? signals[index].number : 0;
}

bool ls_crash_signal_is_of_file(int signal_number)
{
#ifdef SIGBUS
    return signal_number == SIGBUS;
#else
    (void)signal_number;
    return false;
#endif
}

static const crash_signal *find(int number)
{
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        if (signals[i].number == number) {
            return &signals[i];
        }
    }
    return NULL;
}

const char *ls_crash_signal_name(int signal_number)
{
    const crash_signal *found = find(signal_number);
    return found ? found->name : NULL;
}

const char *ls_crash_signal_text(int signal_number)
{
    const crash_signal *found = find(signal_number);
    return found ? found->text : "signal";
}
