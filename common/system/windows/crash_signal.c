#include "lockstep/common/system/crash_signal.h"

#include <io.h>
#include <signal.h>

static const struct {
    int number;
    const char *text;
} crashes[] = {
    {SIGSEGV, "segmentation fault"},
    {SIGFPE, "arithmetic error"},
    {SIGILL, "illegal instruction"},
    {SIGABRT, "aborted"},
};

int ls_crash_signal(size_t index)
{
    return index < sizeof crashes / sizeof crashes[0] ? crashes[index].number : 0;
}

bool ls_crash_signal_is_of_file(int signal_number)
{
    (void)signal_number;
    return false;
}

const char *ls_crash_signal_text(int signal_number)
{
    for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++) {
        if (crashes[i].number == signal_number) {
            return crashes[i].text;
        }
    }
    return "signal";
}

static void (*caller)(int signal_number);

/* The C library has put the default back before it calls this: the second time ends the process. */
static void on_signal(int number)
{
    caller(number);
    raise(number);
}

void ls_crash_signal_watch(void (*on_crash)(int signal_number), bool in_place_of_others)
{
    caller = on_crash;
    for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++) {
        void (*before)(int) = signal(crashes[i].number, on_signal);
        if (before != SIG_DFL && !in_place_of_others) {
            signal(crashes[i].number, before);
        }
    }
}

void ls_crash_signal_write(const char *bytes, size_t size)
{
    int written = _write(2, bytes, (unsigned)size);
    (void)written;
}
