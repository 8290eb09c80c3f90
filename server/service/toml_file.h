/* TOML file: reads a file of TOML and gives its values one by one, with their places. Knows nothing
 * of what they mean. The only module that knows toml++, in C++, whose exceptions and types stay
 * inside. Called by service_config. */
#ifndef LOCKSTEP_SERVER_SERVICE_TOML_FILE_H
#define LOCKSTEP_SERVER_SERVICE_TOML_FILE_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

typedef enum ls_toml_type {
    LS_TOML_TABLE, /* begins: [table], or one more [[table]] */
    LS_TOML_TEXT,
    LS_TOML_NUMBER,
    LS_TOML_BOOL,  /* "on" or "off" */
    LS_TOML_LIST,  /* of texts without newlines: each with a newline behind it */
    LS_TOML_OTHER, /* a date, another list, a table in a table: nothing that is expected */
} ls_toml_type;

/* Both from 1; the column in characters. */
typedef struct ls_toml_place {
    uint32_t line;
    uint32_t column;
} ls_toml_place;

/* A value. The texts are good for the call. */
typedef struct ls_toml_value {
    ls_toml_type type;
    const char *table;    /* "": at the top of the file */
    bool is_listed;       /* of one of several [[table]] */
    const char *group;    /* "params" of `params = {size = 3}`; "": of no table within the table */
    const char *key;      /* "" of TABLE */
    const char *text;     /* the value as text */
    ls_toml_place at;     /* of the value, or of a TABLE */
    ls_toml_place key_at; /* of the key, and of a TABLE its own */
} ls_toml_value;

typedef struct ls_toml_reader {
    void (*on_value)(void *user, const ls_toml_value *value);
    void *user;
} ls_toml_reader;

/* `bytes` end with a NUL that is not counted. BAD_ARGUMENT with `why` and `at` when they are no
 * TOML; NO_MEMORY. */
ls_status ls_toml_file_read(const char *bytes, size_t size, const ls_toml_reader *reader,
                            ls_toml_place *at, ls_text *why);

LS_C_END

#endif
