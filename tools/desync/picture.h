/* Picture: what the simulation itself draws of the states of a bundle: the server's on the way to
 * the bad tick, simulated again from the snapshot, then both sides' at it and after it, with the
 * shapes that differ marked. A draw that crashes on a damaged state crashes a child process, not
 * the caller. Writes no file. Called by explain; read by the page. */
#ifndef LOCKSTEP_TOOLS_DESYNC_PICTURE_H
#define LOCKSTEP_TOOLS_DESYNC_PICTURE_H

#include "lockstep/common/journal/desync_bundle.h"
#include "lockstep/common/program/html.h"

/* States before the bad one; fewer when they have so many shapes that a page would be too large. */
#define EXPLAIN_FRAMES_MAX 32u
#define EXPLAIN_SHAPES_MAX 40000u

typedef struct explain_frame {
    ls_tick tick;
    uint32_t count;
    ls_draw_shape *shapes;
    bool *differs; /* [count]: the other side has no such shape, or another; NULL: not compared */
} explain_frame;

typedef struct explain_picture {
    ls_text why_not; /* empty: there is a picture */
    ls_vec2 view_min;
    ls_vec2 view_max;
    uint32_t frame_count; /* of the server, from the oldest on; the last is of the bad state */
    explain_frame frames[EXPLAIN_FRAMES_MAX];
    bool has_client;
    explain_frame client; /* of the bad state */
    uint32_t differing;   /* shapes that differ, of the side that has more of them */

    /* After the bad state, each side simulated on from its own, as far as the bundle has inputs. */
    uint32_t later_count;
    explain_frame later[LS_BUNDLE_LATER_MAX];        /* of the server */
    explain_frame later_client[LS_BUNDLE_LATER_MAX]; /* as many, with has_client */
    bool is_other_build;                             /* the client's side ran another build */
} explain_picture;

/* The client's side goes on with the first build, or with the second one if it is there.
 * `why_not` says it when nothing can be drawn. Release it in any case. */
void explain_picture_make(explain_picture *picture, const ls_bundle_reading *reading,
                          const ls_simulation *const builds[2]);
void explain_picture_release(explain_picture *picture);

/* ---- Report picture: a picture of the states of both sides for the page: drawings that a
 * browser scales (SVG), a slider over the ticks, and the little script that moves it.
 * Escapes through the HTML writer ---- */

/* Belongs into the page's style. */
#define EXPLAIN_PICTURE_STYLE                                                                      \
    ".sides{display:grid;grid-template-columns:repeat(auto-fit,minmax(20rem,1fr));gap:1rem}"       \
    "figure{margin:0}figcaption{font-weight:600}.sides svg{width:100%;height:auto;"                \
    "max-height:70vh;background:#161b22;border-radius:.3rem}.mark{fill:none;stroke:#ff3b5c;"       \
    "stroke-width:5;stroke-dasharray:14 8}.slide{display:flex;gap:1rem;align-items:center}"        \
    ".slide input{flex:1}output{min-width:8rem}"

void explain_report_write_picture(ls_html *html, const explain_picture *picture);

#endif
