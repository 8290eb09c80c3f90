#define _GNU_SOURCE
#include "lockstep/tools/synctest/crash.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    HANDLER_STACK_BYTES = 64 << 10, /* of its own: the crash may be that the other is used up */
    ENDED = 70,
};

static synctest_exchange *told;
static sigjmp_buf way_back;
static volatile sig_atomic_t is_guarded;
static uintptr_t touched;

_Noreturn void synctest_crash_end(int signal_number)
{
    told->outcome.kind = SYNCTEST_OUTCOME_CRASHED;
    told->outcome.signal = signal_number;
    _exit(ENDED);
}

static void on_signal(int signal_number, siginfo_t *info, void *context)
{
    (void)context;
    bool is_access = signal_number == SIGSEGV || signal_number == SIGBUS;
    if (is_guarded && is_access) {
        touched = (uintptr_t)info->si_addr;
        siglongjmp(way_back, 1);
    }
    synctest_crash_end(signal_number);
}

void synctest_crash_watch(synctest_exchange *exchange)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    static uint8_t stack[HANDLER_STACK_BYTES];
    told = exchange;
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        sigaction(signals[i], &action, NULL);
    }
}

bool synctest_crash_guard(void (*run)(void *user), void *user, uintptr_t *address)
{
    if (sigsetjmp(way_back, 1) != 0) {
        is_guarded = 0;
        *address = touched;
        return false;
    }
    is_guarded = 1;
    run(user);
    is_guarded = 0;
    return true;
}
