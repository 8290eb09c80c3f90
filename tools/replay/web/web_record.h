/* Web record: what a page calls to show the file of a recorded match: a journal, which is played,
 * sought and checked, also while its match goes on, or a desync bundle, which is told in words. One
 * file; its bytes come from anywhere, and are not trusted. Called by record.js and broadcast.js. */
#ifndef LOCKSTEP_TOOLS_REPLAY_WEB_WEB_RECORD_H
#define LOCKSTEP_TOOLS_REPLAY_WEB_WEB_RECORD_H

#include <stdint.h>

/* Memory for so many bytes behind those that the file has, to be filled and then added; NULL: no
 * memory. */
uint8_t *replay_web_room(uint32_t bytes);

/* Of a file, or of a broadcast, whose segments are journals: of all but the first the records alone
 * are added. */
enum {
    REPLAY_WEB_FILE,
    REPLAY_WEB_FIRST_SEGMENT,
    REPLAY_WEB_NEXT_SEGMENT,
};

/* The bytes in the room become the file's: before it is opened, or before replay_web_read_on.
 * MALFORMED: they are no segment, and the file is as it was. */
int32_t replay_web_add(uint32_t part);

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
