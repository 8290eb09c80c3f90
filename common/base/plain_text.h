/* Plain text: puts a line together out of words and numbers, with nothing that a handler of signals
 * may not call: no memory, no locale, no printf. Bytes that do not fit are left out. */
#ifndef LOCKSTEP_COMMON_BASE_PLAIN_TEXT_H
#define LOCKSTEP_COMMON_BASE_PLAIN_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* The bytes end with a NUL from the first call on. */
typedef struct ls_plain_text {
    char *bytes;
    size_t capacity; /* 1 or more */
    size_t size;
} ls_plain_text;

void ls_plain_text_add(ls_plain_text *text, const char *words);
/* With '?' in place of each byte that is no printable ASCII, or is '"' or '\'. */
void ls_plain_text_add_clean(ls_plain_text *text, const char *words);
/* With zeros before it up to so many digits. */
void ls_plain_text_add_number(ls_plain_text *text, uint64_t number, uint32_t digits_min);
void ls_plain_text_add_hash(ls_plain_text *text, uint64_t hash); /* 16 hex digits */

#endif
