/* Web request: what a page's request says, checked: whether the handshake of a WebSocket is one of
 * our page, and which file a path names. Pure. Called by door_program. */
#ifndef LOCKSTEP_SERVER_DOOR_WEB_REQUEST_H
#define LOCKSTEP_SERVER_DOOR_WEB_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LS_WEB_PROTOCOL "lockstep" /* of our WebSockets */

/* Values of headers; NULL: there is none. */
typedef struct ls_web_handshake {
    const char *host, *origin;
    const char *upgrade, *version, *key, *protocols;
} ls_web_handshake;

typedef struct ls_web_site {
    const char *names; /* of this machine, which blanks or commas part */
    bool is_tls;       /* a browser has checked the name */
} ls_web_site;

/* Whether the request comes of a page that this machine served: the origin is the host of the
 * request or one of the names, and the host is not another one's that leads here. */
bool ls_web_origin_is_good(const ls_web_site *site, const char *host, const char *origin);

/* 0: it is right; else the status of HTTP, and the reason in `why`. */
uint32_t ls_web_handshake_check(const ls_web_site *site, const ls_web_handshake *handshake,
                                const char **why);

/* Whether this word is in a list with commas, whatever its case; parameters behind a ';' do not
 * count, but for one that says that it is not wanted (q=0). NULL: it is in none. */
bool ls_web_list_has(const char *list, const char *word);

/* The file of a path, beneath the folder of the page; NULL: none can be there. */
const char *ls_web_path_file(const char *path);

/* The Content-Type of a file of this name. */
const char *ls_web_file_type(const char *file);

/* ---- Page link: the address of the page with an invite, by which one link lets anybody in. Pure.
 * Called by door_process ---- */

#define LS_PAGE_LINK_BYTES_MAX 1024u

typedef struct ls_page_link {
    bool is_sealed;   /* https */
    const char *host; /* a name, or an address without brackets */
    uint16_t port;
    const char *invite; /* "": none is needed */
} ls_page_link;

void ls_page_link_write(const ls_page_link *link, char out[LS_PAGE_LINK_BYTES_MAX]);

#endif
