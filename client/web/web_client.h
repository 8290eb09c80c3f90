/* Web client: what a page calls: one client of one match, and the simulations that it has. Texts
 * and datagrams pass by one piece of memory, the desk. A page can do nothing that ends otherwise
 * than in a status, or in nothing. Called by worker.js. */
#ifndef LOCKSTEP_CLIENT_WEB_WEB_CLIENT_H
#define LOCKSTEP_CLIENT_WEB_WEB_CLIENT_H

#include <stdint.h>

#define LS_WEB_DESK_BYTES 4096u

/* Bits of ls_web_open. */
#define LS_WEB_WATCHES 1u  /* comes as a spectator */
#define LS_WEB_BELIEVES 2u /* the desk has no invite but HOST: the page's own server */
#define LS_WEB_IS_BOT 4u   /* plays by itself */

/* Texts end with NUL; of a datagram, LS_UDP_RECEIVED_BYTES_MAX at most. */
uint8_t *ls_web_desk(void);

/* Connects by the invite on the desk, and the name behind its NUL. An ls_status; when it is none of
 * LS_OK the desk has the reason. Once. */
int32_t ls_web_open(uint32_t flags);

/* A datagram of so many bytes has come: it is on the desk. */
void ls_web_receive(uint32_t size);

/* Does what is due; to be called after datagrams, and when it says: in so many milliseconds at the
 * latest. */
uint32_t ls_web_turn(void);

/* The next picture; its pixels, NULL without a size. */
const uint32_t *ls_web_frame(void);
int32_t ls_web_resize(uint32_t width, uint32_t height);
uint8_t *ls_web_font(uint32_t which, uint32_t width, uint32_t height);

/* A person did something: an ls_view_event; `code` is its key, pad bit or button. A text is on the
 * desk. */
void ls_web_event(uint32_t kind, uint32_t code, uint32_t is_down, float x, float y);

/* Says the line on the desk, or carries out its command. */
void ls_web_say(void);
void ls_web_leave(void);

/* Puts on the desk how it stands, in lines of a name and what it is, and returns its bytes. */
uint32_t ls_web_report(void);

/* The wave of a cue: LS_WEB_CUE_FRAMES pairs of left and right at LS_WEB_CUE_HZ; NULL: no memory.
 */
#define LS_WEB_CUE_HZ 48000u
#define LS_WEB_CUE_FRAMES 9600u
const int16_t *ls_web_cue(uint32_t id);

/* The name of a built-in simulation; NULL behind the last. */
const char *ls_web_simulation(uint32_t index);

#endif
