/* Directory HTTP: GET /v1/games, for pages and programs, and the page that shows it, in the event
 * loop's thread. The list is made once a second at most, whoever asks. Called by relay_program. */
#ifndef LOCKSTEP_SERVER_DIRECTORY_DIRECTORY_HTTP_H
#define LOCKSTEP_SERVER_DIRECTORY_DIRECTORY_HTTP_H

#include "lockstep/common/base/text.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/server/directory/directory.h"

typedef struct ls_directory_http ls_directory_http;

/* At ADDRESS:PORT, where port 0 is one of the system's choice; players reach the relay at its UDP
 * port. The directory and the loop outlive it. BAD_ARGUMENT, IO, NO_MEMORY, or UNSUPPORTED by this
 * build, with a sentence. */
ls_status ls_directory_http_open(const char *place, uint16_t relay_port,
                                 const ls_directory *directory, ls_event_loop *loop,
                                 ls_directory_http **out, ls_text *why);
void ls_directory_http_close(ls_directory_http *http); /* NULL is allowed */

uint16_t ls_directory_http_port(const ls_directory_http *http);

#endif
