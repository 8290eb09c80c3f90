/* Quantile window: of durations measured one after another, the one that nearly all of the recent
 * ones stay within. It keeps the largest of each of the last rounds: what lasts is seen after a
 * handful of samples, what has passed is forgotten with its round. Samples are numbers on any scale
 * whose differences are nanoseconds. Reads no clock. */
#ifndef LOCKSTEP_CLIENT_SESSION_QUANTILE_WINDOW_H
#define LOCKSTEP_CLIENT_SESSION_QUANTILE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

enum {
    LS_TAIL_ROUNDS = 16,
    LS_TAIL_KEPT = 12, /* largest of a round */
};

typedef struct ls_tail_round {
    uint32_t samples;
    uint32_t kept;
    int64_t least_ns;
    int64_t largest_ns[LS_TAIL_KEPT]; /* descending */
} ls_tail_round;

typedef struct ls_quantile_window {
    uint32_t one_in;    /* of so many samples one may be larger */
    uint32_t spared;    /* and so many more, however few there are: they say nothing of others */
    uint64_t begun_ns;  /* when this round began */
    uint64_t sample_ns; /* when this round's newest sample began */
    int64_t newest_ns;  /* the newest sample: joined by what comes at nearly the same time */
    uint32_t outages;   /* samples passed over in a row */
    ls_tail_round round;
    uint32_t past_count;
    uint32_t past_next;
    ls_tail_round past[LS_TAIL_ROUNDS - 1];
    ls_tail_round past_all; /* these together */
} ls_quantile_window;

void ls_quantile_window_init(ls_quantile_window *window, uint32_t one_in);
/* Forgets all samples. */
void ls_quantile_window_forget(ls_quantile_window *window);
/* A sample far off the best is passed over, as the end of an outage: to be prepared for the next
 * one would cost more than it does. When nothing else comes, everything before is forgotten. */
void ls_quantile_window_add(ls_quantile_window *window, int64_t sample_ns, uint64_t now_ns);

/* True from the first sample on. */
bool ls_quantile_window_has_samples(const ls_quantile_window *window);

/* True from the second round on: enough to expect less of than at first. */
bool ls_quantile_window_is_settled(const ls_quantile_window *window);

/* The bound that all samples but one in `one_in` and the spared ones stay within; all but the
 * spared ones while there are few, and the only one.
 * There must be samples. */
int64_t ls_quantile_window_value(const ls_quantile_window *window);

/* The least of the recent samples. There must be samples. */
int64_t ls_quantile_window_least(const ls_quantile_window *window);

#endif
