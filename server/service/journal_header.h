/* Journal header: whether a file has the header without which nothing of a journal can be read. It
 * lacks one when the disk was full, or the process was killed, while the file began. Never changes
 * the file. Called by whoever keeps or hands over the journals of a service. */
#ifndef LOCKSTEP_SERVER_SERVICE_JOURNAL_HEADER_H
#define LOCKSTEP_SERVER_SERVICE_JOURNAL_HEADER_H

#include <stdbool.h>

/* False of a file that is not there or cannot be read, too: nothing is known of it. */
bool ls_journal_header_is_missing(const char *path);

#endif
