#include "lockstep/tools/netcond/profile.h"

/* One direction: it has half of the round trip that the users of such a network see. */
#define LINK(delay, jitter, loss, burst, duplicate, reorder, rate, queue)                          \
    {                                                                                              \
        [NETCOND_SETTING_DELAY] = delay, [NETCOND_SETTING_JITTER] = jitter,                        \
        [NETCOND_SETTING_LOSS] = loss, [NETCOND_SETTING_BURST] = burst,                            \
        [NETCOND_SETTING_DUPLICATE] = duplicate, [NETCOND_SETTING_REORDER] = reorder,              \
        [NETCOND_SETTING_RATE] = rate, [NETCOND_SETTING_QUEUE] = queue                             \
    }

static const netcond_profile profiles[] = {
    {"lan",
     "a wired local network: round trip below 1 ms",
     {LINK("0.2", "0.1", NULL, NULL, NULL, NULL, NULL, NULL),
      LINK("0.2", "0.1", NULL, NULL, NULL, NULL, NULL, NULL)}},
    {"wifi",
     "a busy wireless network: jitter, small bursts of loss",
     {LINK("2", "12", "0.2", "0.5:3", "0.1", NULL, "30000", "256"),
      LINK("2", "8", "0.2", "0.3:3", "0.1", NULL, "60000", "256")}},
    {"4g",
     "a mobile network: round trip of 60 to 110 ms, slower up than down",
     {LINK("32", "30", "0.3", "0.5:6", NULL, NULL, "8000", "256"),
      LINK("28", "20", "0.2", "0.3:6", NULL, NULL, "30000", "512")}},
    {"bad",
     "what a game should survive: round trip of 120 to 200 ms, 7 % lost",
     {LINK("60", "40", "5", "2:5", "1", "2:30", "512", "16"),
      LINK("60", "40", "5", "2:5", "1", "2:30", "1024", "32")}},
    {"satellite",
     "by a geostationary satellite: round trip of 560 to 600 ms",
     {LINK("280", "20", "0.5", "0.5:8", NULL, NULL, "3000", "256"),
      LINK("280", "20", "0.5", "0.5:8", NULL, NULL, "25000", "512")}},
};

_Static_assert(sizeof profiles / sizeof profiles[0] <= NETCOND_PROFILES_MAX, "profiles");

const netcond_profile *netcond_profile_at(uint32_t index)
{
    return index < sizeof profiles / sizeof profiles[0] ? &profiles[index] : NULL;
}
