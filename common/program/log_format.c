#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/program/log_format.h"

#include "lockstep/common/base/text.h"
#include "lockstep/common/program/json.h"
#include "lockstep/common/program/option.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <utf8proc.h>

enum {
    MS_PER_S = 1000,
};

#define YEAR_9999_END_S UINT64_C(253402300799)

static const char *const level_names[] = {"error", "warning", "info", "debug"};
static const int priorities[] = {3, 4, 6, 7}; /* of syslog.h, which journald reads */

ls_status ls_log_format_read(const char *word, ls_log_format *out, ls_text *why)
{
    static const char *const words[] = {"text", "json", "journald"};
    uint32_t index = 0;
    ls_status status = ls_option_word("log-format", word, words, 3, &index, why);
    if (status == LS_OK) {
        *out = (ls_log_format)index;
    }
    return status;
}

void ls_log_format_time(uint64_t unix_ms, char out[LS_LOG_TIME_BYTES])
{
    uint64_t seconds = unix_ms / MS_PER_S;
    uint32_t ms = (uint32_t)(unix_ms % MS_PER_S);
    if (seconds > YEAR_9999_END_S) {
        seconds = YEAR_9999_END_S;
        ms = MS_PER_S - 1;
    }
    time_t when = (time_t)seconds;
    struct tm utc = {0};
    gmtime_r(&when, &utc);
    size_t length = strftime(out, LS_LOG_TIME_BYTES, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(out + length, LS_LOG_TIME_BYTES - length, ".%03uZ", (unsigned)ms % MS_PER_S);
}

void ls_log_format_clean(const char *message, char *out, size_t capacity)
{
    size_t used = 0;
    while (*message != '\0') {
        utf8proc_int32_t point = 0;
        utf8proc_ssize_t bytes = utf8proc_iterate((const utf8proc_uint8_t *)message, -1, &point);
        bool is_valid = bytes > 0;
        size_t step = is_valid ? (size_t)bytes : 1;
        bool is_blank = is_valid && (point == '\t' || point == '\n' || point == '\r');
        /* U+2028 and U+2029 end lines for some readers. */
        bool is_seen = is_valid && point >= ' ' && (point < 0x7f || point > 0x9f) &&
                       point != 0x2028 && point != 0x2029;
        if (used + (is_seen ? step : 1) + 1 > capacity) {
            break;
        }
        if (is_seen) {
            memcpy(out + used, message, step);
            used += step;
        } else {
            out[used++] = is_blank ? ' ' : '?';
        }
        message += step;
    }
    out[used] = '\0';
}

static const char *kind_of(ls_log_level level)
{
    return level == LS_LOG_ERROR ? "error: " : level == LS_LOG_WARNING ? "warning: " : "";
}

/* Of "match 3: " what is before the colon. */
static void clean_subject(const char *subject, char *out, size_t capacity)
{
    ls_log_format_clean(subject, out, capacity);
    size_t length = strlen(out);
    while (length > 0 && (out[length - 1] == ' ' || out[length - 1] == ':')) {
        out[--length] = '\0';
    }
}

static int write_json(const ls_log_entry *entry, char *out, size_t capacity)
{
    char when[LS_LOG_TIME_BYTES];
    char subject[256];
    char message[LS_LOG_LINE_BYTES_MAX];
    ls_json *json = ls_json_create();
    ls_log_format_time(entry->unix_ms, when);
    clean_subject(entry->subject, subject, sizeof subject);
    ls_log_format_clean(entry->message, message, sizeof message);
    ls_json_text(json, "time", when);
    ls_json_text(json, "level", level_names[entry->level]);
    ls_json_text(json, "program", entry->program);
    if (subject[0] != '\0') {
        ls_json_text(json, "subject", subject);
    }
    ls_json_text(json, "message", message);
    char *line = ls_json_print_line(json);
    int size = line ? snprintf(out, capacity, "%s\n", line) : 0;
    ls_json_release_line(line);
    ls_json_destroy(json);
    return size;
}

static int write_words(ls_log_format format, const ls_log_entry *entry, char *out, size_t capacity)
{
    char subject[256];
    char message[LS_LOG_LINE_BYTES_MAX];
    ls_log_format_clean(entry->subject, subject, sizeof subject);
    ls_log_format_clean(entry->message, message, sizeof message);
    return format == LS_LOG_FORMAT_JOURNALD
               ? snprintf(out, capacity, "<%d>%s%s\n", priorities[entry->level], subject, message)
               : snprintf(out, capacity, "%s: %s%s%s\n", entry->program, kind_of(entry->level),
                          subject, message);
}

/* ---- in a handler of signals ---- */

/* Proleptic Gregorian, after Howard Hinnant's civil_from_days. */
static void add_date(uint64_t days, ls_plain_text *out)
{
    uint64_t shifted = days + 719468; /* days from 0000-03-01 */
    uint64_t era = shifted / 146097;
    uint64_t day = shifted % 146097;
    uint64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    uint64_t day_of_year = day - (365 * year + year / 4 - year / 100);
    uint64_t month = (5 * day_of_year + 2) / 153; /* from March on */
    ls_plain_text_add_number(out, era * 400 + year + (month >= 10 ? 1 : 0), 4);
    ls_plain_text_add(out, "-");
    ls_plain_text_add_number(out, month < 10 ? month + 3 : month - 9, 2);
    ls_plain_text_add(out, "-");
    ls_plain_text_add_number(out, day_of_year - (153 * month + 2) / 5 + 1, 2);
}

static void add_time(uint64_t unix_ms, ls_plain_text *out)
{
    uint64_t seconds = unix_ms / MS_PER_S;
    add_date(seconds / 86400, out);
    ls_plain_text_add(out, "T");
    ls_plain_text_add_number(out, seconds / 3600 % 24, 2);
    ls_plain_text_add(out, ":");
    ls_plain_text_add_number(out, seconds / 60 % 60, 2);
    ls_plain_text_add(out, ":");
    ls_plain_text_add_number(out, seconds % 60, 2);
    ls_plain_text_add(out, ".");
    ls_plain_text_add_number(out, unix_ms % MS_PER_S, 3);
    ls_plain_text_add(out, "Z");
}

static void add_json(const ls_log_entry *entry, ls_plain_text *out)
{
    char bytes[LS_LOG_TIME_BYTES];
    ls_plain_text when = {.bytes = bytes, .capacity = sizeof bytes};
    add_time(entry->unix_ms, &when);
    ls_json_plain_begin(out);
    ls_json_plain_text(out, "time", bytes);
    ls_json_plain_text(out, "level", level_names[entry->level]);
    ls_json_plain_text(out, "program", entry->program);
    if (entry->subject[0] != '\0') {
        ls_json_plain_text(out, "subject", entry->subject);
    }
    ls_json_plain_text(out, "message", entry->message);
    ls_json_plain_end(out);
}

static void add_words(ls_log_format format, const ls_log_entry *entry, ls_plain_text *out)
{
    if (format == LS_LOG_FORMAT_JOURNALD) {
        ls_plain_text_add(out, "<");
        ls_plain_text_add_number(out, (uint64_t)priorities[entry->level], 1);
        ls_plain_text_add(out, ">");
    } else {
        ls_plain_text_add(out, entry->program);
        ls_plain_text_add(out, ": ");
        ls_plain_text_add(out, kind_of(entry->level));
    }
    ls_plain_text_add_clean(out, entry->subject);
    ls_plain_text_add(out, entry->subject[0] != '\0' ? ": " : "");
    ls_plain_text_add_clean(out, entry->message);
}

void ls_log_format_add(ls_log_format format, const ls_log_entry *entry, ls_plain_text *out)
{
    if (format == LS_LOG_FORMAT_JSON) {
        add_json(entry, out);
    } else {
        add_words(format, entry, out);
    }
    ls_plain_text_add(out, "\n");
}

/* ---- writing ---- */

size_t ls_log_format_write(ls_log_format format, const ls_log_entry *entry, char *out,
                           size_t capacity)
{
    int size = format == LS_LOG_FORMAT_JSON ? write_json(entry, out, capacity)
                                            : write_words(format, entry, out, capacity);
    return size > 0 && (size_t)size < capacity ? (size_t)size : 0;
}
