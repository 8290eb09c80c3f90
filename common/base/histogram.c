#include "lockstep/common/base/histogram.h"

#include "lockstep/common/base/language.h"

void ls_histogram_add(ls_histogram *histogram, uint64_t ns)
{
    uint64_t bin = ns / LS_HISTOGRAM_BIN_NS;
    bin = LS_MIN(bin, (uint64_t)LS_HISTOGRAM_BINS);
    histogram->bins[bin]++;
    histogram->groups[bin / LS_HISTOGRAM_GROUP_BINS]++;
    histogram->count++;
    if (ns > histogram->max_ns) {
        histogram->max_ns = ns;
    }
}

uint64_t ls_histogram_percentile_ns(const ls_histogram *histogram, uint32_t percent)
{
    uint64_t below = 0;
    uint64_t wanted = (histogram->count * percent + 99) / 100;
    uint32_t bin = 0;
    while (bin < LS_HISTOGRAM_BINS &&
           below + histogram->groups[bin / LS_HISTOGRAM_GROUP_BINS] < wanted) {
        below += histogram->groups[bin / LS_HISTOGRAM_GROUP_BINS];
        bin += LS_HISTOGRAM_GROUP_BINS;
    }
    for (; bin < LS_HISTOGRAM_BINS && wanted > 0; bin++) {
        below += histogram->bins[bin];
        if (below >= wanted) {
            uint64_t edge_ns = (bin + 1) * LS_HISTOGRAM_BIN_NS;
            return LS_MIN(edge_ns, histogram->max_ns);
        }
    }
    return histogram->max_ns;
}
