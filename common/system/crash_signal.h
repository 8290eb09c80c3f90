/* Crash signal: how the system tells a program that its code has crashed. Called by plugin_crash,
 * and by what plays simulations in processes of their own. */
#ifndef LOCKSTEP_COMMON_SYSTEM_CRASH_SIGNAL_H
#define LOCKSTEP_COMMON_SYSTEM_CRASH_SIGNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
