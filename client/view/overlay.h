/* Overlay: what lies over the picture: lines of text, the graph of frame times, the banner, the
 * box that is being drawn and the seek bar. Paints what it is told and keeps the frame times;
 * knows no source. Called by view. */
#ifndef LOCKSTEP_CLIENT_VIEW_OVERLAY_H
#define LOCKSTEP_CLIENT_VIEW_OVERLAY_H

#include "lockstep/client/view/canvas.h"
#include "lockstep/client/view/playhead.h"
#include "lockstep/client/view/view_source.h"

#define LS_FRAME_TIMES_MAX 180u

/* The newest frame times, oldest first from `next` on. */
typedef struct ls_frame_times {
    uint32_t next;
    uint32_t count;
    float frame_ms[LS_FRAME_TIMES_MAX]; /* from one picture to the next */
    float work_ms[LS_FRAME_TIMES_MAX];  /* of it spent on the picture and the steps */
} ls_frame_times;

void ls_frame_times_add(ls_frame_times *times, float frame_ms, float work_ms);

/* The mean of both, over the newest second or as many as there are; 0 before the first. */
typedef struct ls_frame_means {
    float frame_ms;
    float work_ms;
} ls_frame_means;
ls_frame_means ls_frame_times_mean(const ls_frame_times *times);

typedef struct ls_overlay {
    ls_canvas *canvas;
    const ls_canvas_font *font;
    int32_t top; /* pixels along the upper edge that lines leave free */
} ls_overlay;

/* Lines on a panel in the upper left corner. */
void ls_overlay_lines(const ls_overlay *overlay, const ls_hud_model *hud);

/* In the lower left corner, above the seek bar's place. */
void ls_overlay_frame_times(const ls_overlay *overlay, const ls_frame_times *times);

/* One line in the lower right corner. */
void ls_overlay_hint(const ls_overlay *overlay, const char *text);

/* An alarm along the upper edge, anything else in the middle. */
void ls_overlay_banner(const ls_overlay *overlay, const char *text, bool is_alarm);

void ls_overlay_box(const ls_overlay *overlay, ls_canvas_point from, ls_canvas_point to);

/* The height at the upper edge that an alarm takes, pixels. */
int32_t ls_overlay_alarm_height(const ls_overlay *overlay);

/* Along the lower edge. */
void ls_overlay_seek_bar(const ls_overlay *overlay, const ls_playhead *playhead);

/* Whether this place is on the seek bar, and which share of the record it stands for. */
bool ls_overlay_seek_share(const ls_overlay *overlay, ls_canvas_point at, double *share);

#endif
