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

/* Copies a NUL-terminated name into a field of `capacity` bytes (> 0), cutting it if it is too
 * long and replacing bytes outside printable ASCII by '?', so that a hostile name cannot move a
 * terminal's cursor. */
void ls_name_copy(char *field, size_t capacity, const char *name);

LS_C_END

#endif
