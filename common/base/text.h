/* Text: a bounded sentence that explains a failure to a person. Filled by the function that
 * failed, shown by the program; never parsed. */
#ifndef LOCKSTEP_COMMON_BASE_TEXT_H
#define LOCKSTEP_COMMON_BASE_TEXT_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/base/status.h"

#include <stddef.h>

LS_C_BEGIN

typedef struct ls_text {
    char bytes[LS_TEXT_BYTES_MAX]; /* ends with NUL, cut when it does not fit */
} ls_text;

/* Replaces, or adds to the end of, the sentence. `text` may be NULL: then nothing happens. */
void ls_text_set(ls_text *text, const char *format, ...) LS_PRINTF(2, 3);
void ls_text_add(ls_text *text, const char *format, ...) LS_PRINTF(2, 3);

/* Sets `why`, which may be NULL, and returns the status: the last line of a function that fails. */
ls_status ls_fail(ls_status status, ls_text *why, const char *format, ...) LS_PRINTF(3, 4);

/* Bytes before the first one that belongs to no well-formed character of UTF-8. */
size_t ls_text_utf8_bytes(const char *text, size_t size);

/* Puts '?' in the place of every byte that belongs to no well-formed character of UTF-8, or to one
 * that a reader cannot see (control characters, marks that turn the direction of writing, private
 * use), so that a hostile text can neither move a terminal's cursor nor make a line read as
 * another. Joiners of letters and emoji stay behind a character beyond ASCII. The size stays. */
void ls_text_make_printable(char *text, size_t size);

/* Copies a NUL-terminated name into a field of `capacity` bytes (> 0), cut at a character if it is
 * too long, and makes it printable. */
void ls_name_copy(char *field, size_t capacity, const char *name);

LS_C_END

#endif
