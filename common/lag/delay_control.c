#include "lockstep/common/lag/delay_control.h"

#include "lockstep/common/base/limits.h"

enum {
    PPM = LS_LAG_ALL_PPM,
    PATIENCE_MIN = 4,
    PATIENCE_MAX = 64,
};

void ls_delay_control_init(ls_delay_control *control, uint32_t ticks)
{
    *control = (ls_delay_control){.ticks = ticks, .patience = PATIENCE_MIN};
}

static bool raise(ls_delay_control *control, uint32_t wanted)
{
    control->spare_stretches = 0;
    if (control->has_taken_off && control->patience < PATIENCE_MAX) {
        control->patience *= 2;
    }
    control->has_taken_off = false;
    if (control->ticks >= LS_INPUT_DELAY_TICKS_MAX) {
        return false;
    }
    control->ticks = wanted > control->ticks ? wanted : control->ticks + 1;
    return true;
}

bool ls_delay_control_update(ls_delay_control *control, const ls_lag_figures *recent,
                             const ls_lag *lag)
{
    bool is_link =
        lag->cause == LS_LAG_FINE || lag->cause == LS_LAG_UPLINK || lag->cause == LS_LAG_DOWNLINK;
    if (!is_link) {
        control->spare_stretches = 0; /* no delay mends that, and it says nothing about the link */
        return false;
    }
    uint64_t late = (uint64_t)recent->late_way * PPM;
    if (recent->late_way > 0 && late >= (uint64_t)recent->ticks * LS_LAG_LATE_PPM) {
        return raise(control, lag->suggested_input_delay_ticks);
    }
    bool is_spare =
        late < (uint64_t)recent->ticks * LS_LAG_MENDED_PPM && ls_lag_spare_ticks(recent) >= 1;
    control->spare_stretches = is_spare ? control->spare_stretches + 1 : 0;
    if (control->spare_stretches < control->patience || control->ticks == 0) {
        return false;
    }
    control->spare_stretches = 0;
    control->ticks--;
    control->has_taken_off = true;
    return true;
}
