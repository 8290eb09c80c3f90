/* Send budget: how many bytes may be sent so that a rate is kept on average. Time is an argument.
 * Sends nothing and refuses nothing: its owner asks before it sends and says what it sent. */
#ifndef LOCKSTEP_SERVER_MATCH_SEND_BUDGET_H
#define LOCKSTEP_SERVER_MATCH_SEND_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ls_send_budget {
    uint64_t bytes_per_s;
    int64_t left; /* may be overdrawn by what was sent last */
    uint64_t filled_ns;
} ls_send_budget;

/* bytes_per_s: 1 .. 2^40. Full at first: what is due for half a second. */
ls_send_budget ls_send_budget_make(uint64_t bytes_per_s, uint64_t now_ns);

/* Adds what is due for the time since the last call; `now_ns` never goes back. */
void ls_send_budget_fill(ls_send_budget *budget, uint64_t now_ns);

bool ls_send_budget_is_spent(const ls_send_budget *budget);
void ls_send_budget_spend(ls_send_budget *budget, size_t bytes);

#endif
