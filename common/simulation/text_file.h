/* Text file: the lines of a file parameter, and whole numbers in a line, for simulations that read
 * a level or a table in `init`. Every machine reads the same: no locale, no floating point. Never
 * allocates; any bytes are safe. */
#ifndef LOCKSTEP_COMMON_SIMULATION_TEXT_FILE_H
#define LOCKSTEP_COMMON_SIMULATION_TEXT_FILE_H

#include "lockstep/common/simulation/simulation.h"

#include <string.h>

LS_C_BEGIN

#define LS_TEXT_LINE_BYTES_MAX 256u

/* Begins as {.file = ls_sim_config_file(config, PARAM)}. */
typedef struct ls_text_file {
    const ls_sim_file *file;
    uint64_t next;                     /* byte at which the next line begins */
    uint32_t number;                   /* of this line; the first is 1 */
    char line[LS_TEXT_LINE_BYTES_MAX]; /* without its end (\n or \r\n); cut where it is longer */
    bool is_cut;
} ls_text_file;

/* The next line; false when there is none. */
static inline bool ls_text_file_next(ls_text_file *text)
{
    const ls_sim_file *file = text->file;
    if (!file->bytes || text->next >= file->size) {
        return false;
    }
    const char *begin = (const char *)file->bytes + text->next;
    size_t left = (size_t)(file->size - text->next);
    const char *end = (const char *)memchr(begin, '\n', left);
    size_t size = end ? (size_t)(end - begin) : left;
    text->next += size + (end ? 1 : 0);
    text->number++;
    size -= size > 0 && begin[size - 1] == '\r' ? 1 : 0;
    text->is_cut = size >= LS_TEXT_LINE_BYTES_MAX;
    size = text->is_cut ? LS_TEXT_LINE_BYTES_MAX - 1 : size;
    memcpy(text->line, begin, size);
    text->line[size] = '\0';
    return true;
}

/* One whole number at *at, with its sign; moves *at behind it and the blanks before it. */
static inline bool ls_text_read_number(const char **at, int64_t *number)
{
    const char *next = *at + strspn(*at, " \t");
    bool is_negative = *next == '-';
    next += is_negative || *next == '+' ? 1 : 0;
    int64_t value = 0;
    uint32_t digits = 0;
    for (; *next >= '0' && *next <= '9' && digits < 18; next++, digits++) {
        value = value * 10 + (*next - '0');
    }
    bool is_number = digits > 0 && (*next == '\0' || *next == ' ' || *next == '\t');
    *number = is_negative ? -value : value;
    *at = next;
    return is_number;
}

/* Whether the line is exactly `count` whole numbers of up to 18 digits, with blanks between. */
static inline bool ls_text_file_numbers(const ls_text_file *text, int64_t *numbers, uint32_t count)
{
    const char *at = text->line;
    for (uint32_t i = 0; i < count; i++) {
        if (!ls_text_read_number(&at, &numbers[i])) {
            return false;
        }
    }
    return !text->is_cut && at[strspn(at, " \t")] == '\0';
}

LS_C_END

#endif
