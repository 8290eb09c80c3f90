#define _GNU_SOURCE
#include "lockstep/common/system/signals.h"

#include "lockstep/common/base/clock.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const int stops[] = {SIGINT, SIGTERM, SIGHUP};

void ls_signals_ignore_broken_pipes(void)
{
    signal(SIGPIPE, SIG_IGN);
}

void ls_signals_ignore_file_limits(void)
{
    signal(SIGXFSZ, SIG_IGN);
}

static bool is_ignored(int number)
{
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

bool ls_signals_outlive_terminal(void)
{
    return is_ignored(SIGHUP);
}

static void do_nothing(int number)
{
    (void)number;
}

void ls_signals_hold_stops(ls_held_signals *held)
{
    sigset_t blocked;
    sigset_t before;
    _Static_assert(sizeof before <= sizeof held->before, "a set of signals has room");
    sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++) {
        sigaddset(&blocked, stops[i]);
    }
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    memcpy(held->before, &before, sizeof before);
}

/* A handler in place of SIG_IGN lets a program that is started later have its own. */
void ls_signals_drop_stops(const ls_held_signals *held)
{
    sigset_t before;
    memcpy(&before, held->before, sizeof before);
    for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++) {
        if (!is_ignored(stops[i])) {
            signal(stops[i], do_nothing);
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- unanswered signals ---- */

static const uint64_t UNANSWERED_NS = 2 * LS_NS_PER_SECOND;
static void (*answers)(int); /* the handler of stops that was there before */
static void (*ends)(void);
static _Atomic uint64_t asked_ns; /* 0: no signal waits for an answer */

static void on_stop(int number)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t now_ns = (uint64_t)now.tv_sec * LS_NS_PER_SECOND + (uint64_t)now.tv_nsec;
    if (asked_ns == 0 || now_ns - asked_ns < UNANSWERED_NS) {
        asked_ns = asked_ns == 0 ? now_ns : asked_ns;
        answers(number);
        return;
    }
    if (ends) {
        ends();
    }
    signal(number, SIG_DFL);
    raise(number);
}

void ls_signals_end_unanswered(void)
{
    for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++) {
        struct sigaction action;
        bool is_other = sigaction(stops[i], NULL, &action) == 0 && action.sa_handler != on_stop;
        if (is_other && action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN) {
            answers = action.sa_handler;
            action.sa_handler = on_stop;
            sigaction(stops[i], &action, NULL);
        }
    }
}

void ls_signals_answer(void)
{
    asked_ns = 0;
}

void ls_signals_watch_unanswered(void (*before_end)(void))
{
    ends = before_end;
}

/* ---- crash signal ---- */

enum {
    HANDLER_STACK_BYTES = 64 << 10, /* of its own: the crash may be that the other is used up */
};

static void (*caller)(const ls_crash *crash);

static const void *instruction_of(const ucontext_t *context)
{
#if defined(__linux__) && defined(__x86_64__)
    return (const void *)(uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__linux__) && defined(__aarch64__)
    return (const void *)(uintptr_t)context->uc_mcontext.pc;
#else
    (void)context;
    return NULL;
#endif
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    const ls_crash crash = {.signal_number = number,
                            .instruction = instruction_of(context),
                            .is_access = number == SIGSEGV || number == SIGBUS,
                            .touched = (uintptr_t)info->si_addr};
    caller(&crash);
    raise(number); /* the handler was for once: this ends the process */
}

void ls_crash_signal_watch(void (*on_crash)(const ls_crash *crash), bool in_place_of_others)
{
    static uint8_t stack[HANDLER_STACK_BYTES];
    caller = on_crash;
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    struct sigaction ours = {.sa_sigaction = on_signal,
                             .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND};
    int number = 0;
    for (size_t i = 0; (number = ls_crash_signal(i)) != 0; i++) {
        struct sigaction before;
        bool is_free = sigaction(number, NULL, &before) == 0 && !(before.sa_flags & SA_SIGINFO) &&
                       before.sa_handler == SIG_DFL;
        if (is_free || in_place_of_others) {
            sigaction(number, &ours, NULL);
        }
    }
}

void ls_crash_signal_write(const char *bytes, size_t size)
{
    ssize_t written = write(STDERR_FILENO, bytes, size);
    (void)written;
}
