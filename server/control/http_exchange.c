#include "lockstep/server/control/http_exchange.h"

#include "lockstep/common/base/allocator.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- text of a reply ---- */

enum {
    FIRST_CAPACITY = 1024
};

/* Whether so many bytes more have a place. */
static bool make_room(ls_http_text *text, size_t size)
{
    if (text->is_cut || size > LS_HTTP_TEXT_BYTES_MAX - text->size) {
        text->is_cut = true;
        return false;
    }
    size_t needed = text->size + size;
    if (needed <= text->capacity) {
        return true;
    }
    size_t capacity = text->capacity ? text->capacity : FIRST_CAPACITY;
    while (capacity < needed) {
        capacity *= 2;
    }
    char *bytes = ls_allocate(ls_allocator_heap(), capacity);
    if (!bytes) {
        text->is_cut = true;
        return false;
    }
    memcpy(bytes, text->size > 0 ? text->bytes : "", text->size);
    ls_release(ls_allocator_heap(), text->bytes);
    text->bytes = bytes;
    text->capacity = capacity;
    return true;
}

void ls_http_text_add_bytes(ls_http_text *text, const void *bytes, size_t size)
{
    if (size > 0 && make_room(text, size)) {
        memcpy(text->bytes + text->size, bytes, size);
        text->size += size;
    }
}

void ls_http_text_add(ls_http_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    /* vsnprintf ends with a NUL, which is written over by what follows. */
    if (size < 0 || !make_room(text, (size_t)size + 1)) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(text->bytes + text->size, (size_t)size + 1, format, arguments);
    va_end(arguments);
    text->size += (size_t)size;
}

void ls_http_text_drop(ls_http_text *text, size_t size)
{
    size = LS_MIN(size, text->size);
    if (size > 0) {
        memmove(text->bytes, text->bytes + size, text->size - size);
        text->size -= size;
    }
}

void ls_http_text_deinit(ls_http_text *text)
{
    ls_release(ls_allocator_heap(), text->bytes);
    memset(text, 0, sizeof *text);
}

/* ---- exchanges ---- */

ls_http_exchange *ls_http_exchange_create(void)
{
    ls_http_exchange *exchange = ls_allocate(ls_allocator_heap(), sizeof *exchange);
    if (exchange) {
        exchange->holders = 1;
    }
    return exchange;
}

void ls_http_exchange_hold(ls_http_exchange *exchange)
{
    exchange->holders++;
}

void ls_http_exchange_release(ls_http_exchange *exchange)
{
    if (exchange && --exchange->holders == 0) {
        ls_http_text_deinit(&exchange->reply.text);
        ls_release(ls_allocator_heap(), exchange);
    }
}

void ls_http_answer_done(ls_http_exchange *exchange)
{
    if (exchange->is_answered) {
        return;
    }
    exchange->is_answered = true;
    if (exchange->answered) {
        exchange->answered(exchange->user);
    }
}

static void set_reply(ls_http_exchange *exchange, unsigned status, const char *type,
                      const char *text)
{
    ls_http_reply *reply = &exchange->reply;
    reply->status = status;
    reply->type = type;
    reply->text.size = 0;
    ls_http_text_add_bytes(&reply->text, text, strlen(text));
    ls_http_answer_done(exchange);
}

void ls_http_answer_text(ls_http_exchange *exchange, unsigned status, const char *type,
                         const char *text)
{
    if (!exchange->is_answered) {
        set_reply(exchange, status, type, text);
    }
}

void ls_http_answer_json_take(ls_http_exchange *exchange, unsigned status, ls_json *json)
{
    char *line = json ? ls_json_print_line(json) : NULL;
    ls_json_destroy(json);
    if (!exchange->is_answered && line) {
        set_reply(exchange, status, LS_HTTP_JSON_TYPE, line);
    } else if (!exchange->is_answered) {
        set_reply(exchange, 500, LS_HTTP_PLAIN_TYPE, ls_status_text(LS_NO_MEMORY));
    }
    ls_release(ls_allocator_heap(), line);
}

void ls_http_answer_error(ls_http_exchange *exchange, unsigned status, const char *format, ...)
{
    ls_text why;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why.bytes, sizeof why.bytes, format, arguments);
    va_end(arguments);
    ls_text_make_printable(why.bytes, strlen(why.bytes));
    ls_json *json = ls_json_create();
    ls_json_text(json, "error", why.bytes);
    ls_http_answer_json_take(exchange, status, json);
}
