/* HTTP guard: what makes a request suspicious: a host that is another one's (DNS rebinding), a head
 * that a proxy in front could read in another way, wrong tokens. Decides; never answers. Time is an
 * argument. Called by http_listener and http_routes. */
#ifndef LOCKSTEP_SERVER_CONTROL_HTTP_GUARD_H
#define LOCKSTEP_SERVER_CONTROL_HTTP_GUARD_H

#include "lockstep/common/base/endpoint.h"
#include "lockstep/common/base/log.h"
#include "lockstep/protocol/sealed/address_limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the value of a Host header, a host and maybe a port, is an address, localhost or one of
 * these names, which blanks or commas part. A page of another site has its own name there, even
 * where that leads to this machine. */
bool ls_http_host_is_known(const char *host, const char *names);

/* The head of a request, as it is read: its parts are where libmicrohttpd read them, in one piece
 * with NULs over what parts them. It ends texts at a NUL, takes an LF alone for the end of a line,
 * and joins a line that begins with a blank to the one before; others do not. All that shows of it
 * are gaps that are too small or too large. Where a part was moved, its gaps tell nothing. No path
 * of ours needs a '%', which a proxy that guards some of them may leave as it is. */
typedef struct ls_http_head {
    uint32_t lengths, encodings;
    uint32_t seen;      /* a bit for each header that may stand there once */
    const char *target; /* as it came */
    const char *end;    /* of the part before */
    bool is_old;        /* HTTP/1.0 */
    bool is_odd;
} ls_http_head;

ls_http_head ls_http_head_of(const char *target); /* not yet decoded */
void ls_http_head_begin(ls_http_head *head, const char *method, const char *version);
void ls_http_head_add(ls_http_head *head, const char *name, size_t name_size, const char *value,
                      size_t value_size);
/* Whether two who read it could take it for two requests, or for two different ones. */
bool ls_http_head_is_ambiguous(const ls_http_head *head, const char *end);

#define LS_HTTP_GUARD_ADDRESSES 64u

/* Wrong tokens of addresses. Zeroed: there were none. When it is full, the address whose last one
 * is the longest ago is forgotten. */
typedef struct ls_http_guard {
    struct {
        uint64_t origin;
        ls_rate_use use;
    } addresses[LS_HTTP_GUARD_ADDRESSES];
    uint64_t count; /* since the last line about them */
    ls_endpoint last;
    uint64_t line_ns; /* of that line; 0: there was none */
} ls_http_guard;

/* Counts a wrong token; false: the address gave more than ten, and then one a second. */
bool ls_http_guard_count(ls_http_guard *guard, const ls_endpoint *address, uint64_t now_ns);

/* Tells of wrong tokens that came since the last time: a line a minute at most. */
void ls_http_guard_log(ls_http_guard *guard, const ls_log *log, uint64_t now_ns);

#endif
