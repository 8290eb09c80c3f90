/* Web screen: the screen of client/window as a page has it: a canvas in memory, which the page
 * shows, letters that the page has drawn, and the events of the page. Called by web_client. */
#ifndef LOCKSTEP_CLIENT_WEB_WEB_SCREEN_H
#define LOCKSTEP_CLIENT_WEB_WEB_SCREEN_H

#include "lockstep/client/window/screen.h"

/* Letters of so many pixels each for one of ls_canvas_fonts, in its order: the memory for their
 * coverage, to be filled before the next picture; NULL: no memory, or no such font. */
uint8_t *ls_web_screen_font(ls_screen *screen, uint32_t which, uint32_t width, uint32_t height);

/* The pictures from now on are so large. False: no memory, and they are as large as before. */
bool ls_web_screen_resize(ls_screen *screen, uint32_t width, uint32_t height);

/* The newest picture, in bytes of red, green, blue and opacity. */
const uint32_t *ls_web_screen_pixels(const ls_screen *screen);

void ls_web_screen_receive(ls_screen *screen, const ls_view_event *event);

#endif
