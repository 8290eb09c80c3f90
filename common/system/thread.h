/* Thread: threads of a program, and what they wait on for each other. Called by programs; the work
 * of an event loop has the loop's own threads. */
#ifndef LOCKSTEP_COMMON_SYSTEM_THREAD_H
#define LOCKSTEP_COMMON_SYSTEM_THREAD_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ls_thread {
    void (*run)(void *user);
    void *user;
    uint64_t handle; /* the system's */
} ls_thread;

/* False when it cannot be started. `thread` stays where it is until join, which waits for its end.
 */
bool ls_thread_start(ls_thread *thread, void (*run)(void *user), void *user);
void ls_thread_join(ls_thread *thread);

/* A lock, and waiting until another thread that had it wakes all who wait: look again whether what
 * was waited for is true. */
typedef struct ls_monitor ls_monitor;
ls_monitor *ls_monitor_create(void); /* NULL: memory is out */
void ls_monitor_destroy(ls_monitor *monitor);
void ls_monitor_enter(ls_monitor *monitor);
void ls_monitor_leave(ls_monitor *monitor);
void ls_monitor_wait(ls_monitor *monitor);
void ls_monitor_wake_all(ls_monitor *monitor);

#endif
