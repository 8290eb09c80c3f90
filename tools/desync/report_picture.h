/* Report picture: a picture of the states of both sides for the page: drawings that a browser
 * scales (SVG), a slider over the ticks, and the little script that moves it. Escapes through the
 * HTML writer. Called by the page. */
#ifndef LOCKSTEP_TOOLS_DESYNC_REPORT_PICTURE_H
#define LOCKSTEP_TOOLS_DESYNC_REPORT_PICTURE_H

#include "lockstep/common/program/html.h"
#include "lockstep/tools/desync/picture.h"

/* Belongs into the page's style. */
#define EXPLAIN_PICTURE_STYLE                                                                      \
    ".sides{display:grid;grid-template-columns:repeat(auto-fit,minmax(20rem,1fr));gap:1rem}"       \
    "figure{margin:0}figcaption{font-weight:600}.sides svg{width:100%;height:auto;"                \
    "max-height:70vh;background:#161b22;border-radius:.3rem}.mark{fill:none;stroke:#ff3b5c;"       \
    "stroke-width:5;stroke-dasharray:14 8}.slide{display:flex;gap:1rem;align-items:center}"        \
    ".slide input{flex:1}output{min-width:8rem}"

void explain_report_write_picture(ls_html *html, const explain_picture *picture);

#endif
