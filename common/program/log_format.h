/* Log format: how a line of a program's log is written: for people, as JSON for collectors, or with
 * the priority that systemd-journald reads. One line of the log is one line of the output: what is
 * in a message can break none. Opens nothing and keeps no state. Called by console. */
#ifndef LOCKSTEP_COMMON_PROGRAM_LOG_FORMAT_H
#define LOCKSTEP_COMMON_PROGRAM_LOG_FORMAT_H

#include "lockstep/common/base/log.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stddef.h>
#include <stdint.h>

typedef enum ls_log_format {
    LS_LOG_FORMAT_TEXT,     /* program: warning: subject: message */
    LS_LOG_FORMAT_JSON,     /* an object with time, level, program, subject and message */
    LS_LOG_FORMAT_JOURNALD, /* <4>subject: message */
} ls_log_format;

#define LS_LOG_TIME_BYTES sizeof "9999-12-31T23:59:59.999Z"
#define LS_LOG_LINE_BYTES_MAX 2048u /* of a message; what is longer is cut */

typedef struct ls_log_entry {
    uint64_t unix_ms; /* when, since 1970 */
    ls_log_level level;
    const char *program;
    const char *subject; /* of whom the line is: "" or "match 3: " */
    const char *message;
} ls_log_entry;

/* "text", "json" or "journald"; BAD_ARGUMENT with the words that there are. */
ls_status ls_log_format_read(const char *word, ls_log_format *out, ls_text *why);

/* RFC 3339 in UTC with milliseconds; times beyond the year 9999 are its end. */
void ls_log_format_time(uint64_t unix_ms, char out[LS_LOG_TIME_BYTES]);

/* The message as one line of valid UTF-8: a control character or a byte that is of no character
 * becomes '?', a tab or the end of a line a blank. */
void ls_log_format_clean(const char *message, char *out, size_t capacity);

/* Writes it with its newline; returns the bytes of that, or 0 when it does not fit. Text is written
 * as it is: people see several lines of a message as several lines. */
size_t ls_log_format_write(ls_log_format format, const ls_log_entry *entry, char *out,
                           size_t capacity);

/* The same for a handler of signals: of the message and the subject only what is plain ASCII. */
void ls_log_format_add(ls_log_format format, const ls_log_entry *entry, ls_plain_text *out);

#endif
