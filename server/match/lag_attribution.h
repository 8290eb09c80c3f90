/* Lag attribution: from figures of one slot over some stretch of a match it names the one cause
 * that costs its player most, and the input delay that is suggested against it. Pure: gathers
 * nothing, keeps nothing, reads no clock. */
#ifndef LOCKSTEP_SERVER_MATCH_LAG_ATTRIBUTION_H
#define LOCKSTEP_SERVER_MATCH_LAG_ATTRIBUTION_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/text.h"

#include <stdint.h>

LS_C_BEGIN

typedef enum ls_lag_cause {
    LS_LAG_FINE,
    LS_LAG_COMPUTER, /* frames take too long, or it steps more slowly than ticks are closed */
    LS_LAG_UPLINK,   /* inputs are lost, or their way became longer */
    LS_LAG_DOWNLINK, /* closed ticks are lost, or their way became longer */
    LS_LAG_JITTER,   /* packets are delayed unevenly */
    LS_LAG_SILENT,   /* nothing comes at all */
    LS_LAG_SERVER,   /* the server itself closes ticks too late */
    LS_LAG_CAUSE_COUNT,
} ls_lag_cause;

/* Arrivals are counted by how long before its tick's closing an input came, in halves of a tick:
 * bin b holds from LS_LAG_BIN_FIRST + b on; the first and the last bin hold what lies beyond. */
#define LS_LAG_BINS 128
#define LS_LAG_BIN_FIRST (-96)

/* Inputs that come late in more than this share call for a delay, with which all but that share
 * would be on time. In millionths. */
#define LS_LAG_LATE_PPM 5000u
#define LS_LAG_MENDED_PPM 1000u

/* Sums over one stretch. */
typedef struct ls_lag_figures {
    uint64_t dt_ns;             /* of a tick; not a sum */
    uint32_t input_delay_ticks; /* now; not a sum */
    uint32_t ticks;             /* closed */
    uint32_t late;              /* of them, without this slot's input when they were due */
    uint32_t silent;            /* of them, when nothing had come for a second */
    uint32_t hitch;             /* ticks that went by in frames that were too long */
    uint32_t stalled;           /* ticks that the client lacked when they were due there */
    uint32_t excused;           /* ticks that the match itself was behind its time */
    uint32_t overdue;           /* of them, because the server came too late to close them */
    uint32_t longest_frame_ms;  /* the longest of all */
    uint32_t backlog;           /* ticks closed while the client had many to step */
    int64_t uplink_sent;        /* packets */
    int64_t uplink_lost;
    uint64_t uplink_jitter_ns; /* sampled at every tick */
    uint32_t reports;          /* from the client; the next two are sums over them */
    uint32_t downlink_loss;    /* packets of 256 */
    uint32_t downlink_jitter;  /* quarters of a millisecond */
    uint32_t arrivals[LS_LAG_BINS];
} ls_lag_figures;

typedef struct ls_lag {
    ls_lag_cause cause;
    uint32_t late_ppm;    /* of the ticks, without this slot's input when they were due */
    uint32_t stalled_ppm; /* of the ticks, not there when they were due at the client */
    uint32_t uplink_loss_ppm;
    uint64_t uplink_jitter_ns;
    uint32_t downlink_loss_ppm;
    uint64_t downlink_jitter_ns;
    uint32_t longest_frame_ms;
    uint32_t overdue_ppm;                 /* of the ticks, closed too late by the server */
    uint32_t suggested_input_delay_ticks; /* input delay with which the inputs would come on time;
                                     0: none is needed */
} ls_lag;

/* The sum of both in `sum`. */
void ls_lag_figures_add(ls_lag_figures *sum, const ls_lag_figures *other);

/* The bin of an input that came `slack_ns` before its tick was closed. */
uint32_t ls_lag_bin(int64_t slack_ns, uint64_t dt_ns);

ls_lag ls_lag_judge(const ls_lag_figures *figures);

/* By how many ticks later all but LS_LAG_MENDED_PPM of the inputs that came might have come;
 * negative: sooner. 0 when none came. */
int32_t ls_lag_spare_ticks(const ls_lag_figures *figures);

/* One word, and a sentence with the figures and the cure, without a full stop. */
const char *ls_lag_cause_name(ls_lag_cause cause);
void ls_lag_text(const ls_lag *lag, ls_text *text);

LS_C_END

#endif
