#include "lockstep/protocol/sealed/counter_window.h"

#include <string.h>

static uint64_t *word_of(ls_counter_window *window, uint64_t counter)
{
    return &window->seen[counter % LS_COUNTER_WINDOW_PACKETS / 64];
}

bool ls_counter_window_find(const ls_counter_window *window, uint16_t low, uint64_t *counter)
{
    uint16_t ahead = (uint16_t)(low - window->next);
    if (ahead < 0x8000u) {
        *counter = window->next + ahead;
        return true;
    }
    uint64_t behind = 0x10000u - ahead; /* of next: 1 is the newest */
    if (behind > window->next || behind > LS_COUNTER_WINDOW_PACKETS) {
        return false;
    }
    uint64_t found = window->next - behind;
    if (window->seen[found % LS_COUNTER_WINDOW_PACKETS / 64] >> found % 64 & 1u) {
        return false;
    }
    *counter = found;
    return true;
}

/* The counters between the newest and `counter` have not come yet. */
static void advance(ls_counter_window *window, uint64_t counter)
{
    if (counter - window->next >= LS_COUNTER_WINDOW_PACKETS) {
        memset(window->seen, 0, sizeof window->seen);
    } else {
        for (uint64_t skipped = window->next; skipped < counter; skipped++) {
            *word_of(window, skipped) &= ~(UINT64_C(1) << skipped % 64);
        }
    }
    window->next = counter + 1;
}

bool ls_counter_window_mark(ls_counter_window *window, uint64_t counter)
{
    bool is_newest = counter >= window->next;
    if (is_newest) {
        advance(window, counter);
    }
    *word_of(window, counter) |= UINT64_C(1) << counter % 64;
    return is_newest;
}
