/* Drawing: what a simulation draws, as an SVG that a browser scales: within a page, or as a
 * document of its own. Keeps no shape. Called by reports and the service. */
#ifndef LOCKSTEP_COMMON_GAME_DRAWING_H
#define LOCKSTEP_COMMON_GAME_DRAWING_H

#include "lockstep/common/program/html.h"
#include "lockstep/common/simulation/simulation.h"

typedef struct ls_drawing {
    ls_html *html; /* borrowed */
    double left;   /* of the world, m */
    double top;
    double scale; /* units of the drawing a m */
    double width;
    double height;
} ls_drawing;

/* Of the part of the world that is worth showing; an empty one is as wide as 1,000 m. */
ls_drawing ls_drawing_of(ls_html *html, ls_vec2 view_min, ls_vec2 view_max);

/* Begins the element; further attributes may follow, then shapes, and ls_html_end. */
void ls_drawing_begin(const ls_drawing *on);

/* A kind that is not known is left out. */
void ls_drawing_shape(const ls_drawing *on, const ls_draw_shape *shape);

/* Around the shape, wide enough to be seen around the smallest; the class is that of a style. */
void ls_drawing_ring(const ls_drawing *on, const ls_draw_shape *shape, const char *class_name);

#endif
