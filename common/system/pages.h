/* Pages: memory in whole pages, which can be closed to reading and writing, and the size of those
 * that a large block lies in. Called by synctest, to find out who touches what it must not, and by
 * the programs that step large states. */
#ifndef LOCKSTEP_COMMON_SYSTEM_PAGES_H
#define LOCKSTEP_COMMON_SYSTEM_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ls_pages_access {
    LS_PAGES_CLOSED, /* touching them is a crash */
    LS_PAGES_READ,
    LS_PAGES_WRITTEN, /* and read */
} ls_pages_access;

size_t ls_pages_size(void); /* of one, in bytes */

/* Closed pages full of zeros, at about this address if they are free there; 0: anywhere. NULL:
 * memory is out. */
void *ls_pages_acquire(uintptr_t wanted, size_t bytes);

/* Of whole pages of these. False where the system refuses it. */
bool ls_pages_allow(void *pages, size_t bytes, ls_pages_access access);

void ls_pages_release(void *pages, size_t bytes); /* all that acquire gave */

/* Moves what lies here, in any memory, into pages of 2 MiB, which the processor finds faster. Takes
 * about a millisecond for 2 MiB. No effect on less, and where the system has no such pages free. */
void ls_pages_enlarge(const void *start, size_t bytes);

#endif
