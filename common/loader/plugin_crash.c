#define _GNU_SOURCE
#include "lockstep/common/loader/plugin_crash.h"

#include "lockstep/common/base/case_function.h"
#include "lockstep/common/base/plain_text.h"
#include "lockstep/common/base/text.h"

#include <signal.h>
#include <stdint.h>
#include <unistd.h>

enum {
    HANDLER_STACK_BYTES = 64 << 10, /* of its own: the crash may be that the other is used up */
    NAME_BYTES_MAX = 512,
    LINE_BYTES_MAX = 2048,
};

static char watched[NAME_BYTES_MAX]; /* the simulation's name */
static ls_plugin_crash_teller teller;

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

static void add_place(ls_plain_text *line, const ls_plugin_place *place)
{
    if (place->call == LS_PLUGIN_CALL_PASS) {
        ls_plain_text_add(line, "in pass '");
        ls_plain_text_add_clean(line, place->pass);
        ls_plain_text_add(line, "' of tick ");
        ls_plain_text_add_number(line, place->tick, 1);
    } else {
        ls_plain_text_add(line, call_text(place->call));
    }
}

static void add_sentence(ls_plain_text *line, const char *name, int number)
{
    ls_plain_text_add(line, "simulation '");
    ls_plain_text_add(line, name);
    ls_plain_text_add(line, "' crashed ");
    add_place(line, &ls_plugin_place_here);
    ls_plain_text_add(line, " (");
    ls_plain_text_add(line, ls_plugin_crash_text(number));
    ls_plain_text_add(line, "); lockstep-synctest ");
    ls_plain_text_add(line, name);
    ls_plain_text_add(line, " looks for the cause");
}

static void tell(int number)
{
    char bytes[LINE_BYTES_MAX];
    ls_plain_text line = {.bytes = bytes, .capacity = sizeof bytes};
    const char *name = teller.name ? teller.name(teller.user) : NULL;
    ls_plain_text_add(&line, teller.tell ? "" : "\nerror: ");
    add_sentence(&line, name ? name : watched, number);
    if (teller.tell) {
        teller.tell(teller.user, bytes);
        return;
    }
    ls_plain_text_add(&line, "\n");
    ssize_t written = write(STDERR_FILENO, bytes, line.size);
    (void)written;
}

/* A crash of our own code has no words but the system's. */
static void on_crash(int number)
{
    if (ls_plugin_place_here.call != LS_PLUGIN_CALL_NONE) {
        tell(number);
    }
    raise(number); /* the handler was for once: this ends the process */
}

void ls_plugin_crash_tell_by(const ls_plugin_crash_teller *by)
{
    teller = *by;
}

void ls_plugin_crash_watch(const char *name)
{
    static uint8_t stack[HANDLER_STACK_BYTES];
    ls_name_copy(watched, sizeof watched, name);
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
