#include "lockstep/client/session/quantile_window.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"

#include <string.h>

enum {
    ROUND_SAMPLES_MIN = 32,
    SETTLED_ROUNDS = 2, /* of half a second: they find what comes once a second */
};

static const uint64_t ROUND_NS = LS_NS_PER_SECOND / 2;

/* Samples closer together than this are one event: otherwise a high tick rate would fill the window
 * with a single one. */
static const uint64_t APART_NS = 10 * LS_NS_PER_MS;

/* Less is a clock that drifts: 500 parts per million are 4 ms in all the rounds. */
static const int64_t BETTER_NS = 5 * (int64_t)LS_NS_PER_MS;

static const int64_t OUTAGE_NS = 250 * (int64_t)LS_NS_PER_MS;

LS_TICK_CODE static void keep_largest(ls_tail_round *round, int64_t sample_ns)
{
    if (round->kept == LS_TAIL_KEPT && sample_ns <= round->largest_ns[LS_TAIL_KEPT - 1]) {
        return;
    }
    uint32_t place = round->kept < LS_TAIL_KEPT ? round->kept++ : LS_TAIL_KEPT - 1;
    for (; place > 0 && round->largest_ns[place - 1] < sample_ns; place--) {
        round->largest_ns[place] = round->largest_ns[place - 1];
    }
    round->largest_ns[place] = sample_ns;
}

static void add_to_round(ls_tail_round *round, int64_t sample_ns)
{
    round->least_ns =
        round->samples == 0 || sample_ns < round->least_ns ? sample_ns : round->least_ns;
    round->samples++;
    keep_largest(round, sample_ns);
}

void ls_quantile_window_init(ls_quantile_window *window, uint32_t one_in)
{
    memset(window, 0, sizeof *window);
    window->one_in = one_in;
}

void ls_quantile_window_forget(ls_quantile_window *window)
{
    uint32_t spared = window->spared;
    ls_quantile_window_init(window, window->one_in);
    window->spared = spared;
}

/* The past round `age` rounds ago, 0: the newest. */
static uint32_t past_index(const ls_quantile_window *window, uint32_t age)
{
    return (window->past_next + LS_TAIL_ROUNDS - 2 - age) % (LS_TAIL_ROUNDS - 1);
}

static void sum_up_past(ls_quantile_window *window)
{
    memset(&window->past_all, 0, sizeof window->past_all);
    window->past_all.least_ns = INT64_MAX;
    for (uint32_t age = 0; age < window->past_count; age++) {
        const ls_tail_round *round = &window->past[past_index(window, age)];
        window->past_all.samples += round->samples;
        if (round->least_ns < window->past_all.least_ns) {
            window->past_all.least_ns = round->least_ns;
        }
        for (uint32_t i = 0; i < round->kept; i++) {
            keep_largest(&window->past_all, round->largest_ns[i]);
        }
    }
}

/* Rounds whose best is clearly worse than the worst of the one that ends are of another network,
 * and the one after them is partly so. */
static void forget_what_is_over(ls_quantile_window *window)
{
    for (uint32_t age = 0; age < window->past_count; age++) {
        int64_t least_ns = window->past[past_index(window, age)].least_ns;
        if (least_ns - window->round.largest_ns[0] > BETTER_NS) {
            window->past_count = age > 0 ? age - 1 : 0;
        }
    }
}

static void end_round(ls_quantile_window *window)
{
    forget_what_is_over(window);
    window->past[window->past_next] = window->round;
    window->past_next = (window->past_next + 1) % (LS_TAIL_ROUNDS - 1);
    window->past_count += window->past_count < LS_TAIL_ROUNDS - 1;
    memset(&window->round, 0, sizeof window->round);
    sum_up_past(window);
}

/* The newest sample takes the place of the one that it joins. */
static void join_newest(ls_quantile_window *window, int64_t sample_ns)
{
    if (sample_ns <= window->newest_ns) {
        return;
    }
    ls_tail_round *round = &window->round;
    for (uint32_t i = 0; i < round->kept; i++) {
        if (round->largest_ns[i] == window->newest_ns) {
            memmove(&round->largest_ns[i], &round->largest_ns[i + 1],
                    (round->kept - i - 1) * sizeof round->largest_ns[0]);
            round->kept--;
            break;
        }
    }
    keep_largest(round, sample_ns);
    window->newest_ns = sample_ns;
}

/* There must be samples. */
static int64_t largest_of(const ls_quantile_window *window)
{
    const ls_tail_round *round = &window->round;
    const ls_tail_round *past = &window->past_all;
    if (round->kept == 0 || (past->kept > 0 && past->largest_ns[0] > round->largest_ns[0])) {
        return past->largest_ns[0];
    }
    return round->largest_ns[0];
}

/* Whether the sample is too far off to count. False when it is one of many in a row: then it is no
 * outage, and what was before has passed. */
static bool is_passed_over(ls_quantile_window *window, int64_t sample_ns, uint64_t now_ns)
{
    if (sample_ns - ls_quantile_window_least(window) <= OUTAGE_NS) {
        window->outages = 0;
        return false;
    }
    if (now_ns - window->sample_ns >= APART_NS) {
        window->outages++;
        window->sample_ns = now_ns;
    }
    if (window->outages < ROUND_SAMPLES_MIN) {
        return true;
    }
    ls_quantile_window_forget(window);
    return false;
}

LS_TICK_CODE void ls_quantile_window_add(ls_quantile_window *window, int64_t sample_ns,
                                         uint64_t now_ns)
{
    if (ls_quantile_window_has_samples(window) && is_passed_over(window, sample_ns, now_ns)) {
        return;
    }
    if (ls_quantile_window_has_samples(window) && largest_of(window) - sample_ns > OUTAGE_NS) {
        /* An outage is over that began before anything was known. */
        ls_quantile_window_forget(window);
    }
    if (window->round.samples > 0 && now_ns - window->sample_ns < APART_NS) {
        join_newest(window, sample_ns);
        return;
    }
    if (window->round.samples >= ROUND_SAMPLES_MIN && now_ns - window->begun_ns >= ROUND_NS) {
        end_round(window);
    }
    if (window->round.samples == 0) {
        window->begun_ns = now_ns;
    }
    window->sample_ns = now_ns;
    window->newest_ns = sample_ns;
    add_to_round(&window->round, sample_ns);
}

bool ls_quantile_window_has_samples(const ls_quantile_window *window)
{
    return window->round.samples > 0 || window->past_count > 0;
}

bool ls_quantile_window_is_settled(const ls_quantile_window *window)
{
    return window->past_count >= SETTLED_ROUNDS;
}

LS_TICK_CODE int64_t ls_quantile_window_value(const ls_quantile_window *window)
{
    const ls_tail_round *round = &window->round;
    const ls_tail_round *past = &window->past_all;
    uint32_t samples = round->samples + past->samples;
    uint32_t larger = samples / window->one_in + window->spared;
    larger = LS_MIN(larger, LS_MIN(samples, LS_TAIL_KEPT) - 1);
    uint32_t i = 0;
    uint32_t j = 0;
    for (;; larger--) {
        LS_ASSERT(i < round->kept || j < past->kept);
        bool is_of_round =
            j >= past->kept || (i < round->kept && round->largest_ns[i] >= past->largest_ns[j]);
        int64_t value_ns = is_of_round ? round->largest_ns[i++] : past->largest_ns[j++];
        if (larger == 0) {
            return value_ns;
        }
    }
}

int64_t ls_quantile_window_least(const ls_quantile_window *window)
{
    LS_ASSERT(ls_quantile_window_has_samples(window));
    int64_t past_ns = window->past_count > 0 ? window->past_all.least_ns : INT64_MAX;
    int64_t round_ns = window->round.samples > 0 ? window->round.least_ns : INT64_MAX;
    return LS_MIN(past_ns, round_ns);
}
