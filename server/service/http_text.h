/* HTTP text: a buffer that grows while an answer is written, up to LS_HTTP_TEXT_BYTES_MAX. Text
 * that no longer fits, or finds no memory, is left out, which is remembered, so that writers need
 * not look after every line. Called by the writers of metrics, of the API and of the stream of
 * events. */
#ifndef LOCKSTEP_SERVER_SERVICE_HTTP_TEXT_H
#define LOCKSTEP_SERVER_SERVICE_HTTP_TEXT_H

#include "lockstep/common/base/language.h"

#include <stdbool.h>
#include <stddef.h>

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

#endif
