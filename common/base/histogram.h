/* Histogram: counts of durations in fixed memory, for percentiles without keeping the samples.
 * Linear bins of a quarter millisecond up to a second, one bin beyond, and the exact maximum. Never
 * allocates. */
#ifndef LOCKSTEP_COMMON_BASE_HISTOGRAM_H
#define LOCKSTEP_COMMON_BASE_HISTOGRAM_H

#include <stdint.h>

#define LS_HISTOGRAM_BIN_NS UINT64_C(250000)
#define LS_HISTOGRAM_BINS 4000u
#define LS_HISTOGRAM_GROUP_BINS 64u

typedef struct ls_histogram {
    uint64_t count;
    uint64_t max_ns;
    uint32_t bins[LS_HISTOGRAM_BINS + 1]; /* the last one: beyond a second */
    /* Sums of so many bins each, so that a percentile looks at few of either. */
    uint32_t groups[LS_HISTOGRAM_BINS / LS_HISTOGRAM_GROUP_BINS + 1];
} ls_histogram;

void ls_histogram_add(ls_histogram *histogram, uint64_t ns);

/* The upper edge of the bin below which `percent` (1 .. 100) of the samples lie, at most the
 * maximum; 0 without samples. */
uint64_t ls_histogram_percentile_ns(const ls_histogram *histogram, uint32_t percent);

#endif
