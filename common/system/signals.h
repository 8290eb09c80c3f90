/* Signals: what the system tells a process in the midst of its work, beside what the event loop
 * hands on to its owner, and that its code has crashed. Called by the event loop, by what writes
 * and by what runs foreign code. */
#ifndef LOCKSTEP_COMMON_SYSTEM_SIGNALS_H
#define LOCKSTEP_COMMON_SYSTEM_SIGNALS_H

#include <stdbool.h>
#include <stddef.h>
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

/* From now on a signal that asks to stop ends the process when one before it has waited for 2 s
 * without an answer: code that hangs answers none. For those that have a handler by now. */
void ls_signals_end_unanswered(void);
void ls_signals_answer(void);
/* Called in the handler before that. */
void ls_signals_watch_unanswered(void (*before_end)(void));

/* ---- Crash signal: how the system tells a program that its code has crashed ---- */

/* The signals that a crash can be caught by, one after the other from index 0; 0: no more. The one
 * list of them. */
int ls_crash_signal(size_t index);

/* Code has met a part of a mapped file that is not there. */
bool ls_crash_signal_is_of_file(int signal_number);

/* "SIGSEGV"; NULL: of one that is not known. */
const char *ls_crash_signal_name(int signal_number);

/* "segmentation fault"; "signal" for one that is no crash. */
const char *ls_crash_signal_text(int signal_number);

typedef struct ls_crash {
    int signal_number;
    const void *instruction; /* NULL: it is not known */
    bool is_access;          /* of memory that must not be touched so, and `touched` is where */
    uintptr_t touched;
} ls_crash;

/* Calls `on_crash` in the handler of each signal that has no other handler, such as a sanitizer's,
 * or, `in_place_of_others`, of each one; when it returns the process ends with the signal. */
void ls_crash_signal_watch(void (*on_crash)(const ls_crash *crash), bool in_place_of_others);

/* Writes to standard error, in a handler. */
void ls_crash_signal_write(const char *bytes, size_t size);

#endif
