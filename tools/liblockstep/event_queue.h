/* Event queue: what a handle has to say and was not polled for, with texts of its own; and the log
 * whose lines become the text of the next event. */
#ifndef LOCKSTEP_TOOLS_LIBLOCKSTEP_EVENT_QUEUE_H
#define LOCKSTEP_TOOLS_LIBLOCKSTEP_EVENT_QUEUE_H

#include "lockstep/common/base/log.h"
#include "lockstep/tools/liblockstep/lockstep.h"

#include <stdbool.h>

#define LOCKSTEP_EVENTS_MAX 1024u
#define LOCKSTEP_EVENT_TEXT_BYTES_MAX 4096u /* more lines are left out */

/* Comes zeroed. */
typedef struct lockstep_event_queue {
    lockstep_event *events; /* LOCKSTEP_EVENTS_MAX and one more, for OVER; a ring */
    uint32_t first;
    uint32_t count;
    char *polled; /* the text that the caller may still read */
    size_t said_bytes;
    char said[LOCKSTEP_EVENT_TEXT_BYTES_MAX]; /* lines since the last event */
} lockstep_event_queue;

/* False: memory is out. */
bool lockstep_event_queue_open(lockstep_event_queue *queue);
void lockstep_event_queue_close(lockstep_event_queue *queue);

/* Lines of this log are the text of the next event that has none of its own. */
ls_log lockstep_event_queue_log(lockstep_event_queue *queue);

/* Adds an event, with the text, or with NULL the lines since the last one. */
void lockstep_event_queue_add(lockstep_event_queue *queue, lockstep_event event, const char *text);

/* Lines that belong to no event become one. */
void lockstep_event_queue_flush(lockstep_event_queue *queue);

bool lockstep_event_queue_take(lockstep_event_queue *queue, lockstep_event *event);

#endif
