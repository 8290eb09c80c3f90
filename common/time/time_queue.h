/* Time queue: items that each wait for a moment, taken in the order of the moments; those of the
 * same moment in the order in which they were added. An item is a number, such as a packet's place
 * in an array: the queue hands out one that is free, and takes it back. A binary heap in the
 * owner's memory: it never allocates and reads no clock. Called by the owners of packets that wait:
 * transport_memory and the conditioner. */
#ifndef LOCKSTEP_COMMON_TIME_TIME_QUEUE_H
#define LOCKSTEP_COMMON_TIME_TIME_QUEUE_H

#include <stdint.h>

typedef struct ls_time_queue_entry {
    uint64_t due_ns;
    uint64_t sequence; /* ends ties */
    uint32_t item;
} ls_time_queue_entry;

typedef struct ls_time_queue {
    ls_time_queue_entry *entries; /* borrowed; those below `count` are a heap, others are free */
    uint32_t capacity;
    uint32_t count;
    uint64_t sequence;
} ls_time_queue;

/* Empty, with the items 0 .. capacity - 1. */
void ls_time_queue_init(ls_time_queue *queue, ls_time_queue_entry *entries, uint32_t capacity);

/* Takes everything out. Low items are the next ones used. */
void ls_time_queue_clear(ls_time_queue *queue);

/* Returns the item that waits from now on; there must be room. The item that was taken last is the
 * next one used: so memory is touched only as far as it is needed. */
uint32_t ls_time_queue_add(ls_time_queue *queue, uint64_t due_ns);

/* The first moment, or UINT64_MAX when nothing waits. */
uint64_t ls_time_queue_next_ns(const ls_time_queue *queue);

/* Removes and returns the first entry, whose item is free now. There must be one. */
ls_time_queue_entry ls_time_queue_pop(ls_time_queue *queue);

/* Puts the entries in order again after their owner has changed when they are due. */
void ls_time_queue_restore(ls_time_queue *queue);

#endif
