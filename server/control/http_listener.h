/* HTTP listener: a port on which the service answers HTTP, in the event loop's thread.
 * Bounded: connections, as http_daemon has it, the size of a request, how long one may take, and
 * those who follow the events. Knows no path: http_routes answers. Called by
 * the supervisor. */
#ifndef LOCKSTEP_SERVER_CONTROL_HTTP_LISTENER_H
#define LOCKSTEP_SERVER_CONTROL_HTTP_LISTENER_H

#include "lockstep/common/base/endpoint.h"
#include "lockstep/common/base/log.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/server/control/operators.h"
#include "lockstep/server/service/service_view.h"

typedef struct ls_http_listener ls_http_listener;

typedef struct ls_http_listener_config {
    const char *host;              /* an address or name; "::" is all addresses of both kinds */
    uint16_t port;                 /* 0: the system chooses */
    int descriptor;                /* one that listens already, and is taken; -1: host and port */
    const char *hosts;             /* names in a Host header, borrowed; NULL: none */
    bool is_tls;                   /* with the ls_tls_files that are open */
    const ls_log *log;             /* of wrong tokens, borrowed; NULL: none */
    const ls_operators *operators; /* of the API, borrowed, may change between two turns of the
                                    * loop; NULL: the API answers nobody */
    ls_audit_log *audit;           /* of what they ask; outlives the view's answers */
    const ls_service_view *view;   /* borrowed */
    uint32_t connections_max;
    uint32_t connections_per_address;
    uint32_t streams_max;        /* that follow the events */
    uint64_t reply_bytes_max;    /* of all replies that their clients have not yet read */
    uint32_t idle_timeout_s;     /* without a byte either way */
    uint32_t request_timeout_ms; /* from its first byte, or the end of the one before, to its end */
    uint32_t answer_timeout_ms;  /* of the service; then of the client that reads it */
    uint32_t wrong_token_ms;     /* until one is answered */
    uint32_t heartbeat_ms;       /* of a stream of events; below the idle timeout */
} ls_http_listener_config;

/* 127.0.0.1 and a port of the system's choice, with the limits as they are in service. */
ls_http_listener_config ls_http_listener_config_default(void);

/* IO, NO_MEMORY, or BAD_ARGUMENT: no such host; with a sentence. The loop must outlive it. */
ls_status ls_http_listener_create(const ls_http_listener_config *config, ls_event_loop *loop,
                                  ls_http_listener **out, ls_text *why);

/* Closes every connection. Answers that the view still owes may come later, as long as the view is
 * there. Not from within a call of the view. NULL is allowed. */
void ls_http_listener_destroy(ls_http_listener *listener);

/* Where it is bound. */
ls_endpoint ls_http_listener_endpoint(const ls_http_listener *listener);

#endif
