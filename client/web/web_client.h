/* Web client: what a page calls: one client of one match, and the simulations that it has. Texts
 * and datagrams pass by the desk (web_screen.h). A page can do nothing that ends otherwise
 * than in a status, or in nothing. Called by worker.js. */
#ifndef LOCKSTEP_CLIENT_WEB_WEB_CLIENT_H
#define LOCKSTEP_CLIENT_WEB_WEB_CLIENT_H

#include <stdint.h>

/* Bits of ls_web_open. */
#define LS_WEB_WATCHES 1u  /* comes as a spectator */
#define LS_WEB_BELIEVES 2u /* the desk has no invite but HOST: the page's own server */
#define LS_WEB_IS_BOT 4u   /* plays by itself */
#define LS_WEB_AT_RELAY 8u /* the page is of a relay, which the pipe leads to, and no server */

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

/* Says the line on the desk, or carries out its command. */
void ls_web_say(void);

/* Puts on the desk how it stands, in lines of a name and what it is, and returns its bytes. */
uint32_t ls_web_report(void);

#endif
