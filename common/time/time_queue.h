/* Time queue: numbers that each wait for a moment, given out in the order of the moments; those of
 * the same moment in the order in which they were added. A binary heap in the owner's memory: it
 * never allocates and reads no clock. Called by the owners of packets that wait: transport_memory
 * and the conditioner. */
#ifndef LOCKSTEP_COMMON_TIME_TIME_QUEUE_H
#define LOCKSTEP_COMMON_TIME_TIME_QUEUE_H

#include <stdint.h>

typedef struct ls_time_queue_entry {
    uint64_t due_ns;
    uint64_t sequence; /* ends ties */
    uint32_t item;
} ls_time_queue_entry;

typedef struct ls_time_queue {
    ls_time_queue_entry *entries; /* borrowed; those below `count` are a heap */
    uint32_t capacity;
    uint32_t count;
    uint64_t sequence;
} ls_time_queue;

/* Empty, with room for `capacity` entries. */
void ls_time_queue_init(ls_time_queue *queue, ls_time_queue_entry *entries, uint32_t capacity);

/* There must be room. */
void ls_time_queue_add(ls_time_queue *queue, uint64_t due_ns, uint32_t item);

/* The first moment, or UINT64_MAX when nothing waits. */
uint64_t ls_time_queue_next_ns(const ls_time_queue *queue);

/* Removes and returns the first entry. There must be one. */
ls_time_queue_entry ls_time_queue_take(ls_time_queue *queue);

/* Puts the entries in order again after their owner has changed when they are due. */
void ls_time_queue_restore(ls_time_queue *queue);

#endif
