#include "lockstep/tools/liblockstep/event_queue.h"

#include "lockstep/common/base/allocator.h"

#include <string.h>

enum {
    PLACES = LOCKSTEP_EVENTS_MAX + 1, /* OVER always has one */
};

bool lockstep_event_queue_open(lockstep_event_queue *queue)
{
    queue->events = ls_allocate_array(ls_allocator_heap(), PLACES, sizeof *queue->events);
    return queue->events != NULL;
}

static char *text_of(const lockstep_event_queue *queue, uint32_t index)
{
    return (char *)(uintptr_t)queue->events[(queue->first + index) % PLACES].text;
}

void lockstep_event_queue_close(lockstep_event_queue *queue)
{
    for (uint32_t i = 0; i < queue->count; i++) {
        ls_release(ls_allocator_heap(), text_of(queue, i));
    }
    ls_release(ls_allocator_heap(), queue->polled);
    ls_release(ls_allocator_heap(), queue->events);
    memset(queue, 0, sizeof *queue);
}

/* ---- lines ---- */

static void on_line(void *user, ls_log_level level, const char *line)
{
    lockstep_event_queue *queue = user;
    size_t size = strlen(line);
    (void)level;
    if (queue->said_bytes + size + 2 > sizeof queue->said) {
        return;
    }
    if (queue->said_bytes > 0) {
        queue->said[queue->said_bytes++] = '\n';
    }
    memcpy(queue->said + queue->said_bytes, line, size + 1);
    queue->said_bytes += size;
}

ls_log lockstep_event_queue_log(lockstep_event_queue *queue)
{
    return (ls_log){.level = LS_LOG_INFO, .write = on_line, .user = queue};
}

/* ---- events ---- */

void lockstep_event_queue_add(lockstep_event_queue *queue, lockstep_event event, const char *text)
{
    const char *words = text ? text : queue->said;
    size_t size = strlen(words) + 1;
    uint32_t room = event.kind == LOCKSTEP_OVER ? PLACES : LOCKSTEP_EVENTS_MAX;
    char *copy = queue->count < room ? ls_allocate(ls_allocator_heap(), size) : NULL;
    if (copy) {
        memcpy(copy, words, size);
        event.text = copy;
        queue->events[(queue->first + queue->count++) % PLACES] = event;
    }
    queue->said_bytes = 0;
    queue->said[0] = '\0';
}

void lockstep_event_queue_flush(lockstep_event_queue *queue)
{
    if (queue->said_bytes > 0) {
        lockstep_event_queue_add(
            queue, (lockstep_event){.kind = LOCKSTEP_LOG, .slot = LOCKSTEP_NO_SLOT}, NULL);
    }
}

bool lockstep_event_queue_take(lockstep_event_queue *queue, lockstep_event *event)
{
    if (queue->count == 0) {
        return false;
    }
    *event = queue->events[queue->first];
    ls_release(ls_allocator_heap(), queue->polled);
    queue->polled = text_of(queue, 0);
    queue->first = (queue->first + 1) % PLACES;
    queue->count--;
    return true;
}
