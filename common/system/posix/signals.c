#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/system/signals.h"

#include <signal.h>
#include <string.h>

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
