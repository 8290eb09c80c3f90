#include "lockstep/server/match/delay_control.h"

#include "lockstep/protocol/wire/message.h"

enum {
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
    if (lag->cause == LS_LAG_SILENT || lag->cause == LS_LAG_COMPUTER) {
        control->spare_stretches = 0; /* no delay mends that, and it says nothing about the link */
        return false;
    }
    if (lag->late_ppm >= LS_LAG_LATE_PPM) {
        return raise(control, lag->suggested_input_delay_ticks);
    }
    bool is_spare = lag->late_ppm < LS_LAG_MENDED_PPM && ls_lag_spare_ticks(recent) >= 1;
    control->spare_stretches = is_spare ? control->spare_stretches + 1 : 0;
    if (control->spare_stretches < control->patience || control->ticks == 0) {
        return false;
    }
    control->spare_stretches = 0;
    control->ticks--;
    control->has_taken_off = true;
    return true;
}
