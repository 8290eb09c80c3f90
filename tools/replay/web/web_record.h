/* Web record: what a page calls to show the file of a recorded match: a journal, which is played,
 * sought and checked, also while its match goes on, or a desync bundle, which is told in words. One
 * file; its bytes come from anywhere, and are not trusted. Called by record.js and broadcast.js. */
#ifndef LOCKSTEP_TOOLS_REPLAY_WEB_WEB_RECORD_H
#define LOCKSTEP_TOOLS_REPLAY_WEB_WEB_RECORD_H

#include <stdint.h>

/* Memory for so many bytes of the file, to be filled before it is opened, or behind those that it
 * has by then, before replay_web_read_on; NULL: no memory. */
uint8_t *replay_web_room(uint32_t bytes);

/* Opens the file. An ls_status. When it is LS_OK the desk is empty for a journal, and has the words
 * about a bundle else; when it is another one the desk has the reason. Once. */
int32_t replay_web_open(void);

/* The journal of a match that goes on has more bytes, or it is over. An ls_status, with the reason
 * on the desk. */
int32_t replay_web_read_on(uint32_t is_over);

/* Checks the journal for some milliseconds more. 0: there is nothing left to check. */
uint32_t replay_web_check(void);

/* The next picture; its pixels, NULL without a size. */
const uint32_t *replay_web_frame(void);

/* Puts on the desk how it stands, in lines of a name and what it is, and returns its bytes. */
uint32_t replay_web_report(void);

#endif
