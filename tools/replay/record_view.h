/* Record view: a playback as something that a view can show: goes to the tick that the view asks
 * for, in parts when it is far, keeps the state before it for the blend, and says what the journal
 * knows of the state that is shown. Opens no window. Called by the command view. */
#ifndef LOCKSTEP_TOOLS_REPLAY_RECORD_VIEW_H
#define LOCKSTEP_TOOLS_REPLAY_RECORD_VIEW_H

#include "lockstep/client/view/view_source.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/tools/replay/playback.h"

typedef struct replay_record_view_config {
    replay_playback *playback; /* loaded; borrowed, and nobody else moves it */
    ls_clock clock;
    uint64_t budget_ns; /* of steps in a frame; it makes one at least */
} replay_record_view_config;

typedef struct replay_record_view replay_record_view;

/* UNSUPPORTED for a simulation that draws nothing, with the reason in `why`; NO_MEMORY. */
ls_status replay_record_view_create(const replay_record_view_config *config,
                                    const ls_allocator *allocator, replay_record_view **out,
                                    ls_text *why);
void replay_record_view_destroy(replay_record_view *record);

/* Borrowed from the record view. */
ls_view_source replay_record_view_source(replay_record_view *record);

/* Whether more of the journal is to come: then playing waits for it at the end. */
void replay_record_view_set_growing(replay_record_view *record, bool is_growing);

/* States that were shown and are not those that were recorded. */
uint64_t replay_record_view_differences(const replay_record_view *record);

#endif
