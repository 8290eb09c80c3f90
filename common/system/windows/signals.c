#include "lockstep/common/system/signals.h"

#include <io.h>
#include <signal.h>
#include <windows.h>

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

/* Nothing asks a process of Windows in the midst of its work. */
void ls_signals_end_unanswered(void)
{
}

void ls_signals_answer(void)
{
}

void ls_signals_watch_unanswered(void (*before_end)(void))
{
    (void)before_end;
}

/* ---- crash signal ---- */

static void (*caller)(const ls_crash *crash);
static _Thread_local ls_crash newest; /* what the system has said, before the C library does */

/* Others, which may be what C++ throws, go their way. */
static LONG WINAPI note(EXCEPTION_POINTERS *all)
{
    const EXCEPTION_RECORD *told = all->ExceptionRecord;
    newest.instruction = told->ExceptionAddress;
    newest.is_access = told->ExceptionCode == EXCEPTION_ACCESS_VIOLATION;
    newest.touched = newest.is_access ? (uintptr_t)told->ExceptionInformation[1] : 0;
    return EXCEPTION_CONTINUE_SEARCH;
}

/* The C library has put the default back before it calls this: the second time ends the process. */
static void on_signal(int number)
{
    newest.signal_number = number;
    caller(&newest);
    raise(number);
}

void ls_crash_signal_watch(void (*on_crash)(const ls_crash *crash), bool in_place_of_others)
{
    static void *noting;
    noting = noting ? noting : AddVectoredExceptionHandler(1, note);
    caller = on_crash;
    int number = 0;
    for (size_t i = 0; (number = ls_crash_signal(i)) != 0; i++) {
        void (*before)(int) = signal(number, on_signal);
        if (before != SIG_DFL && !in_place_of_others) {
            signal(number, before);
        }
    }
}

void ls_crash_signal_write(const char *bytes, size_t size)
{
    int written = _write(2, bytes, (unsigned)size);
    (void)written;
}
