/* HTTP daemon: libmicrohttpd in the event loop's thread, and its connections, which are bounded in
 * all and for one address. A new connection always gets in: the slowest of those that are there
 * goes. Answers no request: its owner does. Called by http_listener and door_program, which alone
 * know libmicrohttpd beside it. */
#ifndef LOCKSTEP_SERVER_CONTROL_HTTP_DAEMON_H
#define LOCKSTEP_SERVER_CONTROL_HTTP_DAEMON_H

#include "lockstep/common/base/endpoint.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/server/control/http_guard.h"

#include <microhttpd.h>

#define LS_HTTP_NEVER_NS UINT64_MAX

/* Lists whose items have links, next and previous. */
#define LS_HTTP_LIST_ADD(head, item)                                                               \
    do {                                                                                           \
        (item)->next = (head);                                                                     \
        if (head) {                                                                                \
            (head)->previous = (item);                                                             \
        }                                                                                          \
        (head) = (item);                                                                           \
    } while (0)

#define LS_HTTP_LIST_REMOVE(head, item)                                                            \
    do {                                                                                           \
        if ((item)->previous) {                                                                    \
            (item)->previous->next = (item)->next;                                                 \
        } else {                                                                                   \
            (head) = (item)->next;                                                                 \
        }                                                                                          \
        if ((item)->next) {                                                                        \
            (item)->next->previous = (item)->previous;                                             \
        }                                                                                          \
    } while (0)

/* A connection: when it is to be closed, unless it got further. One that is shut, or waits for its
 * owner, has no such time: nothing is gained by closing it. */
typedef struct ls_http_client {
    struct ls_http_client *next, *previous;
    int descriptor; /* the library's */
    bool is_shut;
    ls_endpoint from;
    uint64_t origin;
    uint64_t since_ns; /* its last request was over, or it came */
    uint64_t due_ns;
    uint64_t reply_bytes; /* that it has its share of the daemon's for */
} ls_http_client;

typedef struct ls_http_daemon_config {
    const char *host; /* an address or name; "::" is all addresses of both kinds */
    uint16_t port;    /* 0: the system chooses */
    int descriptor;   /* one that listens already, and is taken; -1: host and port */
    bool is_tls;      /* with the ls_tls_files that are open */
    unsigned flags;   /* of the library, beside those of its loop and of TLS */
    uint32_t connections_max;
    uint32_t connections_per_address;
    uint32_t idle_timeout_s;     /* without a byte either way */
    uint32_t request_timeout_ms; /* from its first byte, or the end of the one before, to its end */
    /* As the library calls them, with `user`; `begin` with the target as it came, and `completed`
     * may be NULL. */
    MHD_AccessHandlerCallback on_request;
    void *(*begin)(void *user, const char *target, struct MHD_Connection *connection);
    MHD_RequestCompletedCallback completed;
    void *user;
} ls_http_daemon_config;

typedef struct ls_http_daemon {
    ls_http_daemon_config config;
    ls_event_loop *loop;
    struct MHD_Daemon *library;
    ls_loop_source *watch;
    ls_loop_source *alarm;
    ls_endpoint endpoint; /* where it is bound */
    uint64_t reply_bytes; /* of all clients */
    ls_http_client *clients;
} ls_http_daemon;

/* The daemon is zeroed before; the config is copied. IO, NO_MEMORY, or BAD_ARGUMENT: no such host;
 * with a sentence. Close it also when it could not be opened. */
ls_status ls_http_daemon_open(ls_http_daemon *daemon, const ls_http_daemon_config *config,
                              ls_event_loop *loop, ls_text *why);
/* Closes every connection. */
void ls_http_daemon_close(ls_http_daemon *daemon);

/* Gives the library its turns, and closes clients whose time is up: to be called a few times a
 * second. */
void ls_http_daemon_keep_up(ls_http_daemon *daemon);

/* The library has work that nothing else wakes it for: it has its turn at once. */
void ls_http_daemon_wake(const ls_http_daemon *daemon);

/* NULL: the request has no such header. */
const char *ls_http_header_of(struct MHD_Connection *connection, const char *name);

/* Whether the request, whose headers are there, can be read in two ways; `head`, which had its
 * target alone, has all of it then. */
bool ls_http_request_is_ambiguous(struct MHD_Connection *connection, const char *method,
                                  const char *version, ls_http_head *head);

/* NULL: memory was out when it came. */
ls_http_client *ls_http_client_of(struct MHD_Connection *connection);

/* From now on it has so long; LS_HTTP_NEVER_NS: any time. NULL is allowed. */
void ls_http_client_give_time(const ls_http_daemon *daemon, ls_http_client *client,
                              uint64_t timeout_ms);
/* Its request is over. NULL is allowed. */
void ls_http_client_end_request(ls_http_daemon *daemon, ls_http_client *client);

/* The library sees an end of the connection, as if the client had closed it. */
void ls_http_client_shut(ls_http_daemon *daemon, ls_http_client *client);

/* Of those that keep bytes of a reply, the one that goes on longest; NULL: none does. */
ls_http_client *ls_http_daemon_slowest_reader(const ls_http_daemon *daemon);

#endif
