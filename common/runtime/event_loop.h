/* Event loop: waits, in one thread, for descriptors, ticks, timers and stop signals, and calls
 * their handlers; and has work done by other threads. The only module that knows libuv, but for
 * line_channel. It owns no match and decides nothing: a handler stores what happened or calls its
 * owner's update. Owned by programs, which lend it to transports; the cores never see it. */
#ifndef LOCKSTEP_COMMON_RUNTIME_EVENT_LOOP_H
#define LOCKSTEP_COMMON_RUNTIME_EVENT_LOOP_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stdint.h>

LS_C_BEGIN

typedef struct ls_event_loop ls_event_loop;

/* One thing that a loop waits for. Lives until it is removed or its loop is destroyed. */
typedef struct ls_loop_source ls_loop_source;

typedef struct ls_loop_handler {
    /* now_ns: the loop's time at this call. May add and remove sources, its own too, and may stop
     * the loop, but not destroy it. */
    void (*call)(void *user, uint64_t now_ns);
    void *user;
} ls_loop_handler;

#define LS_EVENT_LOOP_LACKS_FILES "this process may open too few files at a time (ulimit -n)"

/* NO_MEMORY or IO (no descriptors left). The allocator must outlive the loop. */
ls_status ls_event_loop_create(const ls_allocator *allocator, ls_event_loop **loop);

/* Removes what is still there. Not from within a handler. NULL is allowed. */
void ls_event_loop_destroy(ls_event_loop *loop);

/* Calls handlers until the loop is stopped or nothing but stop signals is left to wait for. The
 * system wakes this thread as punctually as it can meanwhile (a timer slack of 1 ns). */
void ls_event_loop_run(ls_event_loop *loop);

/* As run, for a loop of the caller's own: does what is due, and returns at `until_ns` at the
 * latest; a time that has passed means at once. */
void ls_event_loop_run_until(ls_event_loop *loop, uint64_t until_ns);

/* Another thread may use what the handlers use while the loop waits: `leave` is called before it
 * waits and `enter` behind that, by the loop's thread. */
void ls_event_loop_share(ls_event_loop *loop, ls_loop_handler leave, ls_loop_handler enter);

/* Makes run return once the current round of handlers is done; before run, makes the next run
 * return without waiting. From the loop's own thread only. */
void ls_event_loop_stop(ls_event_loop *loop);

/* CLOCK_MONOTONIC, read anew at each call. */
uint64_t ls_event_loop_now_ns(const ls_event_loop *loop);

/* How long the loop has waited so far, with nothing to do: the rest of its time, handlers worked,
 * slept or were kept from a processor. */
uint64_t ls_event_loop_idle_ns(const ls_event_loop *loop);

/* How often it has waited so far: each wakes a processor that had nothing else to do. */
uint64_t ls_event_loop_wakes(const ls_event_loop *loop);

/* The functions below give NO_MEMORY or IO. `source` may be NULL when it is never to be removed. */

/* Calls the handler whenever `descriptor` can be read, and again until all was read. A pending
 * error counts as readable: the owner learns of it by reading. The descriptor stays the caller's,
 * becomes non-blocking, and may be closed as soon as the source was removed. */
ls_status ls_event_loop_watch(ls_event_loop *loop, int descriptor, ls_loop_handler handler,
                              ls_loop_source **source);

/* Of a watch: from now on its handler is called when the descriptor can be read, or written to, or
 * both; which of them it learns by trying. */
void ls_loop_watch_for(ls_loop_source *watch, bool reads, bool writes);

/* An alarm: an absolute timer, about 0.1 ms late where add_timer is 0.6, for one moment at a time,
 * as a queue of deadlines needs it. Made without a moment set: the handler is not called before
 * set_alarm. */
ls_status ls_event_loop_add_alarm(ls_event_loop *loop, ls_loop_handler handler,
                                  ls_loop_source **source);

/* Calls the alarm's handler once at `due_ns`, in place of the moment set before, if that is still
 * to come. A moment that has passed means at once; UINT64_MAX means never. */
void ls_loop_alarm_set(ls_loop_source *alarm, uint64_t due_ns);

/* A coarse timer of whole milliseconds, which drifts: for retransmission and progress lines. */
ls_status ls_event_loop_add_timer(ls_event_loop *loop, uint32_t period_ms, ls_loop_handler handler,
                                  ls_loop_source **source);

/* Calls the handler at each SIGINT, SIGTERM or SIGHUP instead of letting it end the program; for
 * the loop's life, and without keeping run from returning. A SIGHUP that is ignored, as under
 * nohup, stays so. From the loop's destroy on these signals do nothing: a program that is ending
 * keeps its own exit code and finishes its files. */
ls_status ls_event_loop_add_stop_signals(ls_event_loop *loop, ls_loop_handler handler);

/* The same with a handler of its own for SIGHUP, at which a program reads its files again. */
ls_status ls_event_loop_add_signals(ls_event_loop *loop, ls_loop_handler stop,
                                    ls_loop_handler hangup);

/* Work that another thread does, over and over: one run at a time. */
typedef struct ls_loop_job ls_loop_job;

/* `work` runs in a thread of the loop's pool and touches nothing that the loop's thread may touch
 * meanwhile; `done` runs in the loop's thread behind it. NO_MEMORY. */
ls_status ls_loop_job_create(ls_event_loop *loop, void (*work)(void *user), ls_loop_handler done,
                             ls_loop_job **job);

/* Starts a run; it is not running. The loop keeps running until it is done. Allocates nothing. */
void ls_loop_job_start(ls_loop_job *job);
bool ls_loop_job_is_running(const ls_loop_job *job);

/* Waits until `work` has returned; `done` is not called any more. From the loop's own thread. NULL
 * is allowed. */
void ls_loop_job_destroy(ls_loop_job *job);

/* Of a watch or a coarse timer, which are active when they are made: an inactive one calls nobody
 * and costs nothing. */
void ls_loop_source_set_active(ls_loop_source *source, bool is_active);

/* No further call of its handler. NULL is allowed. */
void ls_loop_source_remove(ls_loop_source *source);

/* ---- The libuv loop itself, for the modules of this folder that have handles of their own: they
 * close them before the loop is destroyed. For no other folder ---- */

struct uv_loop_s *ls_event_loop_uv(ls_event_loop *loop);

/* ---- files: the few calls of files that a job of the event loop makes, through libuv. They wait
 * for the disk: never called in the loop's own thread while a match runs, but of a file in memory.
 * Called by stores and by rerun_process ---- */

typedef enum ls_loop_file_mode {
    LS_LOOP_FILE_NEW,     /* must not be there yet; mode 0600 */
    LS_LOOP_FILE_PRESENT, /* must be there */
} ls_loop_file_mode;

/* IO, with the reason of the system in `why`: here and below. The file is this process's until it
 * is closed: ALREADY_STARTED while another one, or another opening of it, has it. */
ls_status ls_loop_file_open(const char *path, ls_loop_file_mode mode, int *file, ls_text *why);
void ls_loop_file_close(int file);

/* All of the bytes, or IO: then some of them may be there. */
ls_status ls_loop_file_write(int file, const uint8_t *bytes, size_t size, uint64_t offset,
                             ls_text *why);

/* Everything written so far survives the loss of power. */
ls_status ls_loop_file_synchronise(int file, ls_text *why);

/* Whether the open file has no name any more: it was deleted, and ends with its closing. False when
 * the system does not say. */
bool ls_loop_file_is_deleted(int file);

/* Cuts the file, or leaves it as it is. */
ls_status ls_loop_file_cut(int file, uint64_t size, ls_text *why);

LS_C_END

#endif
