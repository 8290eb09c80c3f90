#define _GNU_SOURCE
#include "lockstep/common/simulation/plugin_crash.h"

#include "lockstep/common/base/case_function.h"

#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

enum {
    HANDLER_STACK_BYTES = 64 << 10, /* of its own: the crash may be that the other is used up */
    LINE_BYTES_MAX = 2048,
};

static const char *watched; /* the simulation's name */

#define CASE_TEXT(name, text) LS_CASE(LS_PLUGIN_CALL_##name, text)

static LS_CASE_FUNCTION(const char *, call_text, ls_plugin_call, LS_PLUGIN_CALL_MAP, CASE_TEXT,
                        "outside of the simulation")

    static const struct {
    int number;
    const char *text;
} crashes[] = {
    {SIGSEGV, "segmentation fault"}, {SIGBUS, "bus error"}, {SIGFPE, "arithmetic error"},
    {SIGILL, "illegal instruction"}, {SIGABRT, "aborted"},  {SIGTRAP, "trap"},
    {SIGSYS, "bad system call"},     {SIGKILL, "killed"}, /* the last: nothing catches it */
};

int ls_plugin_crash_signal(size_t index)
{
    size_t count = sizeof crashes / sizeof crashes[0];
    return index < count && crashes[index].number != SIGKILL ? crashes[index].number : 0;
}

const char *ls_plugin_crash_text(int signal_number)
{
    for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++) {
        if (crashes[i].number == signal_number) {
            return crashes[i].text;
        }
    }
    return "signal";
}

/* Formatting is more than a handler may do by the book; the process is lost anyway, and these
 * formats take no memory. */
static int format_line(int number, char line[LINE_BYTES_MAX])
{
    const ls_plugin_place *place = &ls_plugin_place_here;
    const char *why = ls_plugin_crash_text(number);
    if (place->call == LS_PLUGIN_CALL_PASS) {
        return snprintf(line, LINE_BYTES_MAX,
                        "\nerror: simulation '%s' crashed in pass '%s' of tick %" PRIu32
                        " (%s); lockstep-synctest --sim %s looks for the cause\n",
                        watched, place->pass, place->tick, why, watched);
    }
    return snprintf(line, LINE_BYTES_MAX,
                    "\nerror: simulation '%s' crashed %s (%s); lockstep-synctest --sim %s looks "
                    "for the cause\n",
                    watched, call_text(place->call), why, watched);
}

/* A crash of our own code has no words but the system's. */
static void on_crash(int number)
{
    char line[LINE_BYTES_MAX];
    if (ls_plugin_place_here.call != LS_PLUGIN_CALL_NONE) {
        int size = format_line(number, line);
        size = size < LINE_BYTES_MAX ? size : LINE_BYTES_MAX - 1;
        ssize_t written = size > 0 ? write(STDERR_FILENO, line, (size_t)size) : 0;
        (void)written;
    }
    raise(number); /* the handler was for once: this ends the process */
}

void ls_plugin_crash_watch(const char *name)
{
    static uint8_t stack[HANDLER_STACK_BYTES];
    watched = name;
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    struct sigaction ours = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK | SA_RESETHAND};
    int number = 0;
    for (size_t i = 0; (number = ls_plugin_crash_signal(i)) != 0; i++) {
        struct sigaction before;
        bool is_free = sigaction(number, NULL, &before) == 0 && !(before.sa_flags & SA_SIGINFO) &&
                       before.sa_handler == SIG_DFL;
        if (is_free) {
            sigaction(number, &ours, NULL);
        }
    }
}
