/* Setting value: reads one setting from text by its row (common/base/setting_row.h), as a command
 * line, a configuration file and the administration of a service have it, and says what would have
 * been right. Called by command_line and by what opens rooms. */
#ifndef LOCKSTEP_COMMON_PROGRAM_SETTING_VALUE_H
#define LOCKSTEP_COMMON_PROGRAM_SETTING_VALUE_H

#include "lockstep/common/base/setting_row.h"

/* The value of the row's flag, NULL where it stands alone. Texts are borrowed. BAD_ARGUMENT. */
ls_status ls_setting_read(const ls_setting_row *row, void *target, char *value, ls_text *why);

/* NULL: no row has this flag. */
const ls_setting_row *ls_setting_find(const ls_setting_table *table, const char *flag);

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
