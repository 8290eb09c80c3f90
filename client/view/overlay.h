/* Overlay: what is shown beside the picture and over it: the bar of seats, keys, figures with the
 * graph of frame times, the seek bar; heading and banner, the box that is being drawn. Paints what
 * it is told and keeps the frame times; knows no source. */
#ifndef LOCKSTEP_CLIENT_VIEW_OVERLAY_H
#define LOCKSTEP_CLIENT_VIEW_OVERLAY_H

#include "lockstep/client/view/canvas.h"
#include "lockstep/client/view/view_source.h"
#include "lockstep/client/view/view_time.h"

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
    const ls_canvas_fonts *fonts;
    const ls_hud_model *hud;
    const ls_frame_times *times; /* NULL: no figures */
    const ls_playhead *playhead; /* NULL: there is no record, and no seek bar */
    bool has_bar;                /* of seats, and with it what the game says */
    bool has_keys;
} ls_overlay;

/* Pixels of the canvas that it takes above the picture and below it. The canvas's size alone
 * counts. */
typedef struct ls_overlay_margins {
    int32_t top;
    int32_t bottom;
} ls_overlay_margins;
ls_overlay_margins ls_overlay_measure(const ls_overlay *overlay);

void ls_overlay_paint(const ls_overlay *overlay);

/* Columns that a row of the chat has room for; fonts NULL: on a terminal, a column a pixel. */
uint32_t ls_overlay_chat_columns(const ls_canvas_fonts *fonts, uint32_t width);

void ls_overlay_box(ls_canvas *canvas, ls_canvas_point from, ls_canvas_point to);

/* The name of a seat, its middle at `x` and its lower edge at `y`. */
void ls_overlay_name(ls_canvas *canvas, const ls_canvas_fonts *fonts, const ls_hud_seat *seat,
                     ls_canvas_point at);

typedef enum ls_overlay_place {
    LS_OVERLAY_PICTURE,
    LS_OVERLAY_SEEK_BAR,
    LS_OVERLAY_SEEK_WORDS, /* beside it: whether it plays, and how fast */
} ls_overlay_place;

/* The part of a record's picture at this place, and the share of the record that it stands for.
 * Looks at canvas and fonts alone. */
ls_overlay_place ls_overlay_place_at(const ls_overlay *overlay, ls_canvas_point at, double *share);

#endif
