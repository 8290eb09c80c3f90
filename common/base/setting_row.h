/* Setting row: all that is known of one setting, in one place: the field that holds it, its range,
 * its default, its flag on a command line and the text of its help. A table of rows gives a struct
 * its defaults, checks it, and says what is wrong in the words of an embedder or of a person at a
 * shell. Parses nothing; the command line does (common/program/command_line.h). */
#ifndef LOCKSTEP_COMMON_BASE_SETTING_ROW_H
#define LOCKSTEP_COMMON_BASE_SETTING_ROW_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stdint.h>

LS_C_BEGIN

/* The type of the field that a row describes, and the form of its value on a command line. */
typedef enum ls_setting_type {
    LS_SETTING_IS_HEADING, /* no field: `help` stands above the options of `group` */
    LS_SETTING_IS_U32,
    LS_SETTING_IS_U64,
    LS_SETTING_IS_RATE,   /* uint32_t, whole Hz; the ls_rate at `other_offset` has the rest */
    LS_SETTING_IS_WORD,   /* uint32_t, or an enumeration from 0 on: one of `words` */
    LS_SETTING_IS_ON_OFF, /* bool: "on" or "off" */
    LS_SETTING_IS_SWITCH, /* bool: the flag alone makes it the other than `initial` */
    LS_SETTING_IS_CHOICE, /* uint32_t: the flag alone makes it `initial` */
    LS_SETTING_IS_TEXT,   /* const char *, as given, which is not ""; left out: "" */
    LS_SETTING_IS_READ,   /* whatever `take` makes of the value */
} ls_setting_type;

typedef struct ls_setting_row {
    ls_setting_type type;
    const char *name; /* of the field */
    size_t offset;    /* of the field in its struct */

    /* Numbers only: the range, in the field's unit, both ends included. */
    uint64_t min, max;
    size_t limit;             /* offset of a uint32_t that the field must not exceed; 0: none */
    uint64_t initial;         /* the default, for ls_setting_table_reset */
    bool is_reset_by_hand;    /* the default is none of the table's business */
    const char *const *words; /* ends with NULL */

    /* The command line. */
    const char *flag;     /* without its dashes; NULL: it has none */
    char letter;          /* its short form; 0: none */
    const char *argument; /* what --help calls the value; NULL: the flag stands alone */
    bool has_optional_argument;
    bool is_hidden;           /* from --help */
    uint32_t unit;            /* a flag's number is so many of the field's unit; 0: one */
    uint64_t flag_min;        /* the least that the flag takes, when that is above `min` */
    const char *other;        /* a word in place of the number: the field is then 0 and ... */
    size_t other_offset;      /* ... this bool is true, else false; of a RATE the ls_rate, which is
                                 zero where the number is exact */
    const char *default_text; /* in --help; NULL: the value of the field; "": none */
    uint32_t group;           /* of --help */
    const char *help;

    /* Reads the value, NULL where it was left out; `why` is the whole sentence on failure. */
    ls_status (*read)(void *target, char *value, ls_text *why);

    size_t recorded; /* offset in ls_journal_header; 0: the journal does not keep it */
} ls_setting_row;

typedef struct ls_setting_table {
    const ls_setting_row *rows;
    uint32_t count; /* 0 .. 64 */
} ls_setting_table;

/* The field that the row describes (U32, U64, WORD, ON_OFF, SWITCH), as a number. */
uint64_t ls_setting_value(const ls_setting_row *row, const void *target);
void ls_setting_store(const ls_setting_row *row, void *target, uint64_t value);

/* Adds the value as the command line has it: "30" seconds, "repeat", "on". */
void ls_setting_add_value(const ls_setting_row *row, const void *target, ls_text *text);

/* The numbers that the row's flag takes. */
uint64_t ls_setting_flag_min(const ls_setting_row *row);
uint64_t ls_setting_flag_max(const ls_setting_row *row);

/* Whether the bit of the row with this flag is set. */
bool ls_setting_is_given(const ls_setting_table *table, uint64_t given, const char *flag);

/* Gives every field of the struct its default. */
void ls_setting_table_reset(const ls_setting_table *table, void *target);

/* BAD_ARGUMENT when a field is out of its range: `why` names the field, or its flag where
 * `names_flags` is true and it has one. */
ls_status ls_setting_table_check(const ls_setting_table *table, const void *target,
                                 bool names_flags, ls_text *why);

/* Copies the fields whose bits are set in `given`, by the numbers of their rows. */
void ls_setting_table_copy(const ls_setting_table *table, uint64_t given, const void *from,
                           void *to);

LS_C_END

#endif
