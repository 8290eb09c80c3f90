/* Web screen: the screen of client/window as a page has it: a canvas in memory, which the page
 * shows, letters that the page has drawn, and the events of the page. There is one. The page calls
 * the functions of the desk, letters, size, events and cues itself (screen.js), whatever the screen
 * shows. Texts and datagrams pass by one piece of memory, the desk. Called by web_client and by
 * tools/replay/web. */
#ifndef LOCKSTEP_CLIENT_WEB_WEB_SCREEN_H
#define LOCKSTEP_CLIENT_WEB_WEB_SCREEN_H

#include "lockstep/client/window/screen.h"

#include <stddef.h>
#include <stdint.h>

/* ---- page calls: what the module asks of the page that has loaded it, besides what it needs of a
 * system (common/system/wasm/page.h): functions that it imports. Implemented in screen.js ---- */

/* A line for the person who looks into the log, of an ls_log_level. */
void ls_page_line(uint32_t level, const char *text, size_t size);

/* Plays the cue of an id (ls_web_cue), so loud on each side. */
void ls_page_sound(uint32_t id, float left, float right);

/* Paints the letters of a line into [height][width] of 0 .. 255 with the browser's own fonts, which
 * have any script. */
void ls_page_letters(const char *text, size_t size, uint32_t width, uint32_t height,
                     uint8_t *coverage);

#define LS_WEB_DESK_BYTES 4096u

/* Texts end with NUL; of a datagram, LS_UDP_RECEIVED_BYTES_MAX at most. */
uint8_t *ls_web_desk(void);

/* Letters of so many pixels each for one of ls_canvas_fonts, in its order: the memory for their
 * coverage, to be filled before the next picture; NULL: no memory, or no such font. */
uint8_t *ls_web_font(uint32_t which, uint32_t width, uint32_t height);

/* The pictures from now on are so large. 0: no memory, and they are as large as before. */
int32_t ls_web_resize(uint32_t width, uint32_t height);

/* A person did something: an ls_view_event; `code` is its key, pad bit or button. A text is on the
 * desk. */
void ls_web_event(uint32_t kind, uint32_t code, uint32_t is_down, float x, float y);

/* The wave of a cue: LS_WEB_CUE_FRAMES pairs of left and right at LS_WEB_CUE_HZ; NULL: no memory.
 */
#define LS_WEB_CUE_HZ 48000u
#define LS_WEB_CUE_FRAMES 9600u
const int16_t *ls_web_cue(uint32_t id);

/* The newest picture, in bytes of red, green, blue and opacity. */
const uint32_t *ls_web_screen_pixels(const ls_screen *screen);

/* A report: lines of a name and what it is. */
void ls_web_add_line(ls_text *out, const char *name, const char *text);
void ls_web_add_number(ls_text *out, const char *name, uint32_t number);

/* Puts a text on the desk, and returns its bytes. */
uint32_t ls_web_put_text(const char *text);

#endif
