/* HTTP exchange: a request and its reply, without the library that carries them. A reply may come
 * later than its request: the part that owes it and the listener each hold the exchange. Called
 * by http_listener and http_routes. */
#ifndef LOCKSTEP_SERVER_CONTROL_HTTP_EXCHANGE_H
#define LOCKSTEP_SERVER_CONTROL_HTTP_EXCHANGE_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/program/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- HTTP text: a buffer that grows while an answer is written, up to LS_HTTP_TEXT_BYTES_MAX.
 * Text that no longer fits, or finds no memory, is left out, which is remembered, so that
 * writers need not look after every line ---- */

#define LS_HTTP_TEXT_BYTES_MAX ((size_t)32 << 20)

/* All zero: an empty one. */
typedef struct ls_http_text {
    char *bytes; /* without a final NUL; NULL while it is empty */
    size_t size;
    size_t capacity;
    bool is_cut; /* something was left out */
} ls_http_text;

void ls_http_text_add(ls_http_text *text, const char *format, ...) LS_PRINTF(2, 3);
void ls_http_text_add_bytes(ls_http_text *text, const void *bytes, size_t size);

/* Takes the first bytes off it. */
void ls_http_text_drop(ls_http_text *text, size_t size);

void ls_http_text_deinit(ls_http_text *text);

/* ---- requests and their replies ---- */

#define LS_HTTP_BODY_BYTES_MAX ((size_t)64 << 10) /* of a request */

#define LS_HTTP_JSON_TYPE "application/json"
#define LS_HTTP_PLAIN_TYPE "text/plain; charset=utf-8"

/* Borrowed while the exchange is being answered; not later. */
typedef struct ls_http_request {
    const char *method;
    const char *path; /* decoded, without a query */
    const char *host; /* headers; NULL: not there */
    const char *authorization;
    const char *last_event_id;
    const char *content_type;
    const char *body; /* NULL while body_bytes is 0 */
    size_t body_bytes;
} ls_http_request;

typedef struct ls_http_reply {
    unsigned status;
    const char *type;   /* static */
    const char *policy; /* Content-Security-Policy, static; NULL: nothing is allowed */
    char allow[64];     /* "": no such header */
    char location[96];  /* likewise */
    bool asks_for_token;
    bool is_token_wrong;  /* there was one */
    bool is_last;         /* of its connection */
    bool is_event_stream; /* from this event on */
    uint64_t first_event;
    ls_http_text text;
} ls_http_reply;

typedef struct ls_http_exchange {
    ls_http_reply reply;
    bool is_answered;
    uint32_t holders;
    /* Called when an answer comes after its request was handled; NULL: nothing waits for
     * it any more. */
    void (*answered)(void *user);
    void *user;
} ls_http_exchange;

/* Held once; NULL: memory is out. */
ls_http_exchange *ls_http_exchange_create(void);
void ls_http_exchange_hold(ls_http_exchange *exchange);
void ls_http_exchange_release(ls_http_exchange *exchange);

/* The answers; the first one counts. */
void ls_http_answer_text(ls_http_exchange *exchange, unsigned status, const char *type,
                         const char *text);
void ls_http_answer_error(ls_http_exchange *exchange, unsigned status, const char *format, ...)
    LS_PRINTF(3, 4);

/* Takes the object, which may be NULL: then memory is out. */
void ls_http_answer_json_take(ls_http_exchange *exchange, unsigned status, ls_json *json);

/* The reply was filled in by the caller. */
void ls_http_answer_done(ls_http_exchange *exchange);

#endif
