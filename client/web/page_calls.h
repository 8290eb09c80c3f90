/* Page calls: what the module asks of the page that has loaded it, besides what it needs of a
 * system (common/system/wasm/page.h): functions that it imports. Implemented in screen.js. */
#ifndef LOCKSTEP_CLIENT_WEB_PAGE_CALLS_H
#define LOCKSTEP_CLIENT_WEB_PAGE_CALLS_H

#include <stddef.h>
#include <stdint.h>

/* A line for the person who looks into the log, of an ls_log_level. */
void ls_page_line(uint32_t level, const char *text, size_t size);

/* Plays the cue of an id (ls_web_cue), so loud on each side. */
void ls_page_sound(uint32_t id, float left, float right);

/* Paints the letters of a line into [height][width] of 0 .. 255 with the browser's own fonts, which
 * have any script. */
void ls_page_letters(const char *text, size_t size, uint32_t width, uint32_t height,
                     uint8_t *coverage);

#endif
