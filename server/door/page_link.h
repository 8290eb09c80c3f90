/* Page link: the address of the page with an invite, by which one link lets anybody in.
 * Pure. Called by door_process. */
#ifndef LOCKSTEP_SERVER_DOOR_PAGE_LINK_H
#define LOCKSTEP_SERVER_DOOR_PAGE_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LS_PAGE_LINK_BYTES_MAX 1024u

typedef struct ls_page_link {
    bool is_sealed;   /* https */
    const char *host; /* a name, or an address without brackets */
    uint16_t port;
    const char *invite; /* "": none is needed */
} ls_page_link;

void ls_page_link_write(const ls_page_link *link, char out[LS_PAGE_LINK_BYTES_MAX]);

#endif
