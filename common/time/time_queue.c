#include "lockstep/common/time/time_queue.h"

#include "lockstep/common/base/assert.h"

#include <stdbool.h>

static bool comes_before(const ls_time_queue_entry *a, const ls_time_queue_entry *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->sequence < b->sequence;
}

void ls_time_queue_init(ls_time_queue *queue, ls_time_queue_entry *entries, uint32_t capacity)
{
    *queue = (ls_time_queue){.entries = entries, .capacity = capacity};
    ls_time_queue_clear(queue);
}

void ls_time_queue_clear(ls_time_queue *queue)
{
    queue->count = 0;
    for (uint32_t i = 0; i < queue->capacity; i++) {
        queue->entries[i].item = i;
    }
}

uint32_t ls_time_queue_add(ls_time_queue *queue, uint64_t due_ns)
{
    LS_ASSERT(queue->count < queue->capacity);
    ls_time_queue_entry added = {due_ns, queue->sequence++, queue->entries[queue->count].item};
    uint32_t at = queue->count++;
    while (at > 0 && comes_before(&added, &queue->entries[(at - 1) / 2])) {
        queue->entries[at] = queue->entries[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    queue->entries[at] = added;
    return added.item;
}

uint64_t ls_time_queue_next_ns(const ls_time_queue *queue)
{
    return queue->count > 0 ? queue->entries[0].due_ns : UINT64_MAX;
}

/* Puts the entry in the place of the one at `at`, or below it. */
static void sink(ls_time_queue *queue, uint32_t at, ls_time_queue_entry entry)
{
    ls_time_queue_entry *entries = queue->entries;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child + 1 < queue->count && comes_before(&entries[child + 1], &entries[child])) {
            child++;
        }
        if (child >= queue->count || !comes_before(&entries[child], &entry)) {
            break;
        }
        entries[at] = entries[child];
        at = child;
    }
    entries[at] = entry;
}

ls_time_queue_entry ls_time_queue_pop(ls_time_queue *queue)
{
    LS_ASSERT(queue->count > 0);
    ls_time_queue_entry first = queue->entries[0];
    ls_time_queue_entry last = queue->entries[--queue->count];
    sink(queue, 0, last);
    queue->entries[queue->count].item = first.item;
    return first;
}

void ls_time_queue_restore(ls_time_queue *queue)
{
    for (uint32_t i = queue->count / 2; i-- > 0;) {
        sink(queue, i, queue->entries[i]);
    }
}
