/* Door process: opens a door for pages beside a server or a relay: its ports, and the process that
 * answers there, which is started again when it ends. The server goes on without one. Called by
 * server.c, the supervisor and relay_program. */
#ifndef LOCKSTEP_SERVER_DOOR_DOOR_PROCESS_H
#define LOCKSTEP_SERVER_DOOR_DOOR_PROCESS_H

#include "lockstep/common/base/log.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/protocol/door/door_socket.h"
#include "lockstep/server/door/web_request.h"
#include "lockstep/server/service/service_view.h"

typedef struct ls_door_config {
    const char *program; /* the name of this one, which is the door's too: with --door */
    bool is_relay;       /* a relay's: its pages are told so */
    const char *place;   /* ADDRESS:PORT to listen on */
    const char *files;   /* the folder of the page; NULL: where it is installed */
    const char *hosts;   /* names of this machine, parted by blanks or commas; NULL: none */
    const char *certificate, *certificate_key; /* of TLS; NULL: none */
    const char *journals;                      /* their folder, for broadcasts; NULL: none */
    uint32_t broadcast_delay_s;                /* 0: nothing is shown to everybody */
    const char *bind_host;                     /* that the server listens on */
    bool has_codes;                            /* for phones, on a terminal */
    uint32_t log_format;                       /* an ls_log_format */
    const ls_log *log;                         /* outlives the door */
} ls_door_config;

typedef struct ls_door ls_door;

/* Listens, and answers nobody yet. The texts are copied. BAD_ARGUMENT, NOT_FOUND, IO, NO_MEMORY;
 * UNSUPPORTED: this system has no doors; with `why`. */
ls_status ls_door_open(const ls_door_config *config, ls_door **out, ls_text *why);
/* The loop does not run any more, or is gone. Lets the door deliver what is on its way. NULL is
 * allowed. */
void ls_door_close(ls_door *door);

/* For the server's socket. */
const ls_door_link *ls_door_link_of(const ls_door *door);

/* The server is at this port: pages are answered from now on. IO, NO_MEMORY, with `why`. */
ls_status ls_door_start(ls_door *door, uint16_t server_port, ls_event_loop *loop, ls_text *why);

/* Where pages find it. */
ls_endpoint ls_door_endpoint(const ls_door *door);

/* The address of the page, for players who come by this invite; "": they need none. */
void ls_door_write_link(const ls_door *door, const char *invite, char out[LS_PAGE_LINK_BYTES_MAX]);
/* The same without an invite, for everybody to see: "" unless the operator has named the host, as
 * another one may be out of reach. NULL is allowed. */
void ls_door_write_public_link(const ls_door *door, char out[LS_PAGE_LINK_BYTES_MAX]);

/* Says how players get in; on a terminal with a code for phones, where the door has them. A link
 * with a secret is for the person at the terminal and for no log. */
void ls_door_log(const ls_door *door, const char *invite, bool has_secret);

/* Its figures so far. */
void ls_door_look(const ls_door *door, ls_door_report *out);

#endif
