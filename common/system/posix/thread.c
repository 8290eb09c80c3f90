#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/system/thread.h"

#include "lockstep/common/base/allocator.h"

#include <pthread.h>
#include <string.h>

struct ls_monitor {
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

static void *run(void *user)
{
    const ls_thread *thread = user;
    thread->run(thread->user);
    return NULL;
}

bool ls_thread_start(ls_thread *thread, void (*work)(void *user), void *user)
{
    pthread_t handle;
    thread->run = work;
    thread->user = user;
    bool is_started = pthread_create(&handle, NULL, run, thread) == 0;
    if (is_started) {
        memcpy(&thread->handle, &handle, sizeof handle);
    }
    return is_started;
}

void ls_thread_join(ls_thread *thread)
{
    pthread_t handle;
    _Static_assert(sizeof handle <= sizeof thread->handle, "a thread has room for its handle");
    memcpy(&handle, &thread->handle, sizeof handle);
    pthread_join(handle, NULL);
}

ls_monitor *ls_monitor_create(void)
{
    ls_monitor *monitor = ls_allocate(ls_allocator_heap(), sizeof *monitor);
    if (monitor) {
        pthread_mutex_init(&monitor->lock, NULL);
        pthread_cond_init(&monitor->changed, NULL);
    }
    return monitor;
}

void ls_monitor_destroy(ls_monitor *monitor)
{
    if (monitor) {
        pthread_cond_destroy(&monitor->changed);
        pthread_mutex_destroy(&monitor->lock);
        ls_release(ls_allocator_heap(), monitor);
    }
}

void ls_monitor_enter(ls_monitor *monitor)
{
    pthread_mutex_lock(&monitor->lock);
}

void ls_monitor_leave(ls_monitor *monitor)
{
    pthread_mutex_unlock(&monitor->lock);
}

void ls_monitor_wait(ls_monitor *monitor)
{
    pthread_cond_wait(&monitor->changed, &monitor->lock);
}

void ls_monitor_wake_all(ls_monitor *monitor)
{
    pthread_cond_broadcast(&monitor->changed);
}
