/* Option: reads the values of command-line options, strictly and without a locale, and says what
 * would have been right. Called by mains. */
#ifndef LOCKSTEP_COMMON_PROGRAM_OPTION_H
#define LOCKSTEP_COMMON_PROGRAM_OPTION_H

#include "lockstep/common/base/setting_row.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct ls_option_range {
    uint64_t min;
    uint64_t max;
} ls_option_range;

/* A decimal number in the range, or BAD_ARGUMENT with "--name takes 1 to 32, not 'x'". */
ls_status ls_option_number(const char *name, const char *value, ls_option_range range,
                           uint64_t *out, ls_text *why);

/* Any number of 64 bits, in decimal or behind "0x" in hexadecimal. */
ls_status ls_option_id(const char *name, const char *value, uint64_t *out, ls_text *why);

/* As ls_option_number, with up to `places` (0 to 9) decimals after a point. The range is of whole
 * units, the result, which must fit 64 bits, in units of 10^-places: "12.5" with 3 places gives
 * 12500. */
ls_status ls_option_decimal(const char *name, const char *value, uint32_t places,
                            ls_option_range range, uint64_t *out, ls_text *why);

/* The index of the value among `count` words, or BAD_ARGUMENT with the words. */
ls_status ls_option_word(const char *name, const char *value, const char *const *words,
                         uint32_t count, uint32_t *out, ls_text *why);

/* Bit i for word i of a list with commas; BAD_ARGUMENT with the words that there are. Up to 32. */
ls_status ls_option_list(const char *name, const char *list, const char *const *words,
                         uint32_t count, uint32_t *out, ls_text *why);

/* ---- Setting value: reads one setting from text by its row (common/base/setting_row.h), as a
 * command line, a configuration file and the administration of a service have it, and says
 * what would have been right ---- */

/* Whether a flag is spelled almost so: hyphens apart, one letter is missing, too many or another,
 * or two neighbours are swapped. */
bool ls_flag_is_near(const char *flag, const char *spelled);

/* The value of the row's flag, NULL where it stands alone. Texts are borrowed. BAD_ARGUMENT. */
ls_status ls_setting_read(const ls_setting_row *row, void *target, char *value, ls_text *why);

/* "players" "4"; a switch is "on" or "off". */
typedef struct ls_setting_text {
    const char *flag;
    char *value;
} ls_setting_text;

typedef struct ls_setting_target {
    void *fields;   /* the struct that the rows describe */
    uint64_t given; /* gets the bit of the row */
} ls_setting_target;

/* NOT_FOUND: the table has no such flag; BAD_ARGUMENT. */
ls_status ls_setting_read_text(const ls_setting_table *table, ls_setting_target *target,
                               const ls_setting_text *text, ls_text *why);

#endif
