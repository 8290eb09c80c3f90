/* Frame pace: when the next picture is to be begun: just in time for the display where one is
 * followed, so that it shows what is newest; otherwise at an even rate. Time is an argument. */
#ifndef LOCKSTEP_CLIENT_VIEW_FRAME_PACE_H
#define LOCKSTEP_CLIENT_VIEW_FRAME_PACE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ls_frame_pace {
    uint64_t period_ns;
    bool follows_display;
    uint64_t due_ns;  /* of the next picture */
    uint64_t work_ns; /* what one takes before it is shown: the most of late */
} ls_frame_pace;

/* hz > 0. */
ls_frame_pace ls_frame_pace_make(uint32_t hz, bool follows_display, uint64_t now_ns);

/* A picture was begun by `now_ns`; the newest that was shown took `work_ns`, and was on the display
 * at `shown_ns`. When to begin the next one. */
uint64_t ls_frame_pace_next(ls_frame_pace *pace, uint64_t work_ns, uint64_t shown_ns,
                            uint64_t now_ns);

/* When to begin the next one where nobody looks: together with the input that is due at `input_ns`
 * if that is close, so that the machine wakes once for both. Inputs are `input_period_ns` apart.
 * The rate stays what it is. */
uint64_t ls_frame_pace_beside_input(const ls_frame_pace *pace, uint64_t input_ns,
                                    uint64_t input_period_ns);

#endif
