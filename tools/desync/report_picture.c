#include "lockstep/tools/desync/report_picture.h"

#include "lockstep/common/game/drawing.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- frames ---- */

static void write_frame(const ls_drawing *on, const char *side, const explain_frame *frame)
{
    char id[32];
    snprintf(id, sizeof id, "%s-%" PRIu32, side, frame->tick);
    ls_html_begin(on->html, "g");
    ls_html_attribute(on->html, "id", id);
    for (uint32_t i = 0; i < frame->count; i++) {
        ls_drawing_shape(on, &frame->shapes[i]);
    }
    for (uint32_t i = 0; i < frame->count; i++) {
        if (frame->differs[i]) {
            ls_drawing_ring(on, &frame->shapes[i], "mark");
        }
    }
    ls_html_end(on->html);
}

/* The board shows one of the frames that stand in the page once. */
static void write_side(const ls_drawing *on, const char *side, ls_tick tick)
{
    char id[32], frame[40];
    snprintf(id, sizeof id, "%s-board", side);
    snprintf(frame, sizeof frame, "#%s-%" PRIu32, side, tick);
    ls_html_begin(on->html, "figure");
    ls_html_element(on->html, "figcaption", NULL, side);
    ls_drawing_begin(on);
    ls_html_begin(on->html, "use");
    ls_html_attribute(on->html, "id", id);
    ls_html_attribute(on->html, "href", frame);
    ls_html_end(on->html);
    ls_html_end(on->html);
    ls_html_end(on->html);
}

static void write_frames(const ls_drawing *on, const explain_picture *picture)
{
    ls_drawing_begin(on);
    ls_html_attribute(on->html, "style", "display:none");
    ls_html_begin(on->html, "defs");
    for (uint32_t i = 0; i < picture->frame_count; i++) {
        write_frame(on, "server", &picture->frames[i]);
    }
    if (picture->has_client) {
        write_frame(on, "client", &picture->client);
    }
    for (uint32_t i = 0; i < picture->later_count; i++) {
        write_frame(on, "server", &picture->later[i]);
        write_frame(on, "client", &picture->later_client[i]);
    }
    ls_html_end(on->html);
    ls_html_end(on->html);
}

/* Before the bad state both sides are the same. #140 behind the page's address shows state 140. */
static const char script[] =
    "(function(){var s=document.getElementById('slider');function show(){var t=s.value;"
    "document.getElementById('shown').textContent='state '+t;"
    "['server','client'].forEach(function(side){var b=document.getElementById(side+'-board');"
    "if(b){var own=side+'-'+t;b.setAttribute('href','#'+(document.getElementById(own)?own:"
    "'server-'+t));}});}"
    "s.addEventListener('input',show);function go(){var t=parseInt(location.hash.slice(1),10);"
    "if(t>=+s.min&&t<=+s.max){s.value=t;}show();}"
    "window.addEventListener('hashchange',go);go();})();";

static void write_slider(ls_html *html, ls_tick first, ls_tick bad, ls_tick last)
{
    char text[32];
    snprintf(text, sizeof text, "state %" PRIu32, bad);
    ls_html_begin(html, "label");
    ls_html_attribute(html, "class", "slide");
    ls_html_begin(html, "input");
    ls_html_attribute(html, "type", "range");
    ls_html_attribute(html, "id", "slider");
    ls_html_number_attribute(html, "min", first);
    ls_html_number_attribute(html, "max", last);
    ls_html_number_attribute(html, "value", bad);
    ls_html_end_empty(html);
    ls_html_begin(html, "output");
    ls_html_attribute(html, "id", "shown");
    ls_html_text(html, text);
    ls_html_end(html);
    ls_html_end(html);
    ls_html_script(html, script);
}

static void write_note(ls_html *html, const explain_picture *picture)
{
    ls_text note = {{0}};
    ls_tick bad = picture->frames[picture->frame_count - 1].tick;
    bool is_one = picture->differing == 1;
    if (!picture->has_client) {
        ls_text_set(&note, "The client's state is not in the bundle.");
    } else if (picture->differing == 0) {
        ls_text_set(&note,
                    "At state %" PRIu32 " both pictures are the same: the simulation does not draw "
                    "the values that differ.",
                    bad);
    } else {
        ls_text_set(&note, "Rings mark the %" PRIu32 " shape%s that differ%s at state %" PRIu32 ".",
                    picture->differing, is_one ? "" : "s", is_one ? "s" : "", bad);
    }
    ls_html_element(html, "p", "note", note.bytes);
}

/* The states behind the bad one, and where they come from. */
static void write_later_note(ls_html *html, const explain_picture *picture, ls_tick bad)
{
    ls_text note = {{0}};
    if (picture->later_count > 0) {
        ls_text_set(&note,
                    "From state %" PRIu32 " on each side is simulated on here from its own state, "
                    "on the match's inputs, %s.",
                    bad,
                    picture->is_other_build ? "the server's with --sim, the client's with --against"
                                            : "both with the same build");
    } else {
        ls_text_set(&note,
                    "Nothing after state %" PRIu32 " is shown: that takes both states, and inputs "
                    "of later ticks, which the bundle does not have.",
                    bad);
    }
    ls_html_element(html, "p", "note", note.bytes);
}

void explain_report_write_picture(ls_html *html, const explain_picture *picture)
{
    if (picture->frame_count == 0 || picture->why_not.bytes[0] != '\0') {
        ls_text note = {{0}};
        ls_text_set(&note, "No picture: %s.", picture->why_not.bytes);
        ls_html_element(html, "p", "note", note.bytes);
        return;
    }
    const ls_drawing on = ls_drawing_of(html, picture->view_min, picture->view_max);
    ls_tick bad = picture->frames[picture->frame_count - 1].tick;
    ls_tick last = bad + picture->later_count;
    write_frames(&on, picture);
    ls_html_begin(html, "div");
    ls_html_attribute(html, "class", "sides");
    write_side(&on, "server", bad);
    if (picture->has_client) {
        write_side(&on, "client", bad);
    }
    ls_html_end(html);
    if (picture->frames[0].tick < last) {
        write_slider(html, picture->frames[0].tick, bad, last);
    }
    write_note(html, picture);
    write_later_note(html, picture, bad);
}
