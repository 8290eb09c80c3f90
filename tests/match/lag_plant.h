/* Lag plant: a cause of lag that is planted in a virtual match: computers or the server stand
 * still, a link becomes worse; and what each side has to say of it, at all times, and of nobody
 * else. Never judges lag itself. Called by tests/match/test_lag.c. */
#ifndef LOCKSTEP_TESTS_MATCH_LAG_PLANT_H
#define LOCKSTEP_TESTS_MATCH_LAG_PLANT_H

#include "lockstep/tests/match/match_test.h"

typedef enum lag_plant_kind {
    PLANT_NOTHING,
    PLANT_CPU,         /* the victims' computers stand still for burst_ns, every every_ns */
    PLANT_SERVER_CPU,  /* the server does */
    PLANT_FRAMES,      /* the victims draw at frame_hz only */
    PLANT_LATE_INPUTS, /* their inputs are made in frames, which last up to burst_ns longer */
    PLANT_UP,          /* their uplink becomes `link`, for burst_ns every every_ns (0: it stays) */
    PLANT_DOWN,        /* their downlink does */
    PLANT_KIND_COUNT,
} lag_plant_kind;

/* One trouble of some of the machines. */
typedef struct lag_trouble {
    lag_plant_kind kind;
    uint32_t victims; /* a bit for each client */
    uint64_t burst_ns;
    uint64_t every_ns;
    uint32_t frame_hz;
    ls_link_config link; /* its delay comes on top of the usual one */
} lag_trouble;

typedef struct lag_plant {
    const char *name;
    lag_trouble trouble;
    lag_trouble lesser;    /* at the same time, and less; it may be named for nobody else either */
    uint32_t players;      /* 0: 4 */
    uint32_t rtt_ms;       /* 0: 40 */
    uint32_t tick_rate_hz; /* 0: 60 */
    uint32_t turn_ms;      /* all programs are called this often alone: their machine is busy */
    bool is_waiting;       /* rule wait, else repeat */
    uint64_t seed;         /* 0: 1 */
} lag_plant;

/* Plays a match with it; adds to `faults` what was said wrongly, by the server in its verdicts and
 * by each client. */
void lag_plant_play(const lag_plant *plant, ls_text *faults);

#endif
