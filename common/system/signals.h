/* Signals: what the system tells a process in the midst of its work, beside what the event loop
 * hands on to its owner. Called by the event loop and by what writes. */
#ifndef LOCKSTEP_COMMON_SYSTEM_SIGNALS_H
#define LOCKSTEP_COMMON_SYSTEM_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

/* From now on writing to a socket or pipe whose other end is gone is an error like another. */
void ls_signals_ignore_broken_pipes(void);
/* The same of a file that may not grow. */
void ls_signals_ignore_file_limits(void);

/* Whether the process goes on when its terminal is closed, as under nohup. */
bool ls_signals_outlive_terminal(void);

/* Signals that ask a process to stop (Ctrl-C, its terminal has gone, SIGTERM) wait between hold and
 * drop, and do nothing from drop on. */
typedef struct ls_held_signals {
    uint64_t before[16];
} ls_held_signals;
void ls_signals_hold_stops(ls_held_signals *held);
void ls_signals_drop_stops(const ls_held_signals *held);

#endif
