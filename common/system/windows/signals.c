#include "lockstep/common/system/signals.h"

#include <signal.h>

/* Writing where nobody reads is an error like another here, and a file may always grow. */
void ls_signals_ignore_broken_pipes(void)
{
}

void ls_signals_ignore_file_limits(void)
{
}

bool ls_signals_outlive_terminal(void)
{
    return false;
}

void ls_signals_hold_stops(ls_held_signals *held)
{
    (void)held;
}

void ls_signals_drop_stops(const ls_held_signals *held)
{
    (void)held;
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
}
