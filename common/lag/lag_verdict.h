/* Lag verdict: from the figures of one player over some stretch of a match it names the one cause
 * that costs the player most, whom it concerns, how bad it is and which input delay helps; says so
 * in words; and knows when to say it anew. Pure: gathers nothing, reads no clock. */
#ifndef LOCKSTEP_COMMON_LAG_LAG_VERDICT_H
#define LOCKSTEP_COMMON_LAG_LAG_VERDICT_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stdint.h>

LS_C_BEGIN

typedef enum ls_lag_cause {
    LS_LAG_FINE,
    LS_LAG_COMPUTER, /* the player's own: it stands still at times, or draws too slowly */
    LS_LAG_UPLINK,   /* inputs are lost on their way, or delayed unevenly */
    LS_LAG_DOWNLINK, /* closed ticks are lost on their way, or delayed unevenly */
    LS_LAG_SILENT,   /* nothing comes at all: the player's link or its computer */
    LS_LAG_SERVER,   /* it closes ticks too late itself */
    LS_LAG_PLAYER,   /* the match waits for another player */
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

#define LS_LAG_ALL_PPM 1000000u

/* Sums over one stretch. Each late input and each stalled tick is counted by its cause. */
typedef struct ls_lag_figures {
    uint64_t dt_ns;             /* of a tick; not a sum */
    uint32_t input_delay_ticks; /* now; not a sum */
    uint32_t ticks;             /* closed */
    uint32_t late;              /* without this player's input when they were due; of them: */
    uint32_t late_made;         /* its computer made the input too late */
    uint32_t late_held;         /* it could not make one, since closed ticks did not come */
    uint32_t late_way;          /* the input came too late by its way */
    uint32_t late_stretches;    /* in which so many did that a delay would help */
    uint32_t silent;            /* late ones of a silence that lasts */
    uint32_t frames_late;       /* ticks that went by while its frames were late */
    uint32_t longest_frame_ms;  /* of frames that were late; the longest of all */
    uint32_t stalled;           /* ticks that the client lacked when they were due there */
    uint32_t stalled_way;       /* of them, those that nothing but their way explains */
    uint32_t overdue;           /* ticks that went by while the server was late to close them */
    uint32_t waited;            /* ticks that went by while the match waited for others alone */
    uint32_t longest_wait;      /* the longest of these waits, and for whom it was */
    uint32_t longest_wait_slot;
    uint32_t held_up;    /* ticks that went by while it waited for this player */
    int64_t uplink_sent; /* packets */
    int64_t uplink_lost;
    uint32_t uplink_samples;        /* packets that say something of jitter, and: */
    uint64_t uplink_jitter_ns;      /* a sum over them */
    uint32_t reports;               /* from the client; the next two are sums over them */
    uint32_t downlink_loss;         /* packets of 256 */
    uint64_t downlink_jitter_ns;    /* as the client measured it, with that of closing them: */
    uint64_t closing_jitter_ns;     /* sampled at every tick */
    uint32_t arrivals[LS_LAG_BINS]; /* of inputs that the computer made in time */
} ls_lag_figures;

typedef struct ls_lag {
    ls_lag_cause cause;
    uint32_t whom;        /* PLAYER: the slot that is waited for */
    uint32_t since_tick;  /* the first tick of the stretch in which this cause was first found */
    uint32_t lost_ms;     /* match time lost to this cause */
    uint32_t late_ppm;    /* of the ticks, without this player's input when they were due */
    uint32_t stalled_ppm; /* of the ticks, not there when they were due at the client */
    uint32_t uplink_loss_ppm;
    uint32_t uplink_jitter_us;
    uint32_t downlink_loss_ppm;
    uint32_t downlink_jitter_us;
    uint32_t longest_frame_ms;
    uint32_t suggested_input_delay_ticks; /* with which the inputs would come on time; 0: none is
                                             needed, or none helps */
} ls_lag;

/* The sum of both in `sum`. */
void ls_lag_figures_add(ls_lag_figures *sum, const ls_lag_figures *other);

/* A stretch is complete: notes what holds for it as a whole. */
void ls_lag_figures_end_stretch(ls_lag_figures *figures);

/* The bin of an input that came `slack_ns` before its tick was closed. */
uint32_t ls_lag_bin(int64_t slack_ns, uint64_t dt_ns);

/* The ticks that `cause` cost. */
uint32_t ls_lag_harm(const ls_lag_figures *figures, ls_lag_cause cause);

/* The verdict, but for `since_tick`. `others`: players that the match may have waited for. */
ls_lag ls_lag_judge(const ls_lag_figures *figures, uint32_t others);

/* The same figures with a cause that is known. */
ls_lag ls_lag_of_cause(const ls_lag_figures *figures, ls_lag_cause cause);

/* By how many ticks later all but LS_LAG_MENDED_PPM of the inputs that came might have come;
 * negative: sooner. 0 when none came. */
int32_t ls_lag_spare_ticks(const ls_lag_figures *figures);

/* ---- words ---- */

const char *ls_lag_cause_name(ls_lag_cause cause);

/* The speaker and its listener. */
typedef enum ls_lag_view {
    LS_LAG_TO_HOST,   /* the server, of a player: with the input delay to try */
    LS_LAG_TO_PLAYER, /* the client, to its player */
} ls_lag_view;

/* A sentence with the figures, and with the cure where there is one, without a full stop. `whom`:
 * the name of the player that is waited for. */
void ls_lag_text(const ls_lag *lag, ls_lag_view view, const char *whom, ls_text *text);

/* ---- said once ---- */

/* The verdict that was said last. One of zeros has said that all is fine. */
typedef struct ls_lag_said {
    ls_lag_cause cause;
    uint32_t whom;
    uint64_t said_ns;
    uint64_t harmed_ns; /* when that cause was last found */
} ls_lag_said;

/* True when the newest verdict is to be said: it differs from what was said, and, where that is
 * that all is fine again, has done so for a while. */
bool ls_lag_has_changed(ls_lag_said *said, const ls_lag *lag, uint64_t now_ns);

LS_C_END

#endif
