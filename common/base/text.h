/* Text: a bounded sentence that explains a failure to a person. Filled by the function that
 * failed, shown by the program; never parsed. */
#ifndef LOCKSTEP_COMMON_BASE_TEXT_H
#define LOCKSTEP_COMMON_BASE_TEXT_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* ---- hex: bytes as hexadecimal digits, two for each, and numbers ---- */

/* 2 * `size` small digits and a NUL. */
void ls_hex_write(char *text, const uint8_t *bytes, size_t size);

/* Reads 2 * `size` characters, which are there, small or capital. False, with anything in `bytes`,
 * when one is no digit; it takes as long then, for what is read may be a secret. */
bool ls_hex_read(const char *text, uint8_t *bytes, size_t size);

/* Reads a number of 1 .. 16 small digits, in front of whatever follows. False, and `out` is as it
 * was, when the text has fewer. */
bool ls_hex_read_number(const char *text, uint32_t digit_count, uint64_t *out);

/* ---- plain text: a line out of words and numbers, with nothing that a handler of signals may not
 * call: no memory, no locale, no printf. Bytes that do not fit are left out ---- */

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

/* ---- name look: what a name looks like to a reader, as numbers: of two names that could be taken
 * for each other one number is the same. Made by player_name; kept and compared by a match, which
 * knows nothing of letters ---- */

#define LS_NAME_LOOK_NUMBERS 3u

/* For the number behind a name, which a server gives to one that looks like another: whatever
 * stands there stays. */
#define LS_NAME_AS_GIVEN 0u

/* All 0: like no other. */
typedef struct ls_name_look {
    uint64_t numbers[LS_NAME_LOOK_NUMBERS];
} ls_name_look;

static inline bool ls_name_look_is_like(const ls_name_look *look, const ls_name_look *other)
{
    for (uint32_t i = 0; i < LS_NAME_LOOK_NUMBERS * LS_NAME_LOOK_NUMBERS; i++) {
        uint64_t number = look->numbers[i / LS_NAME_LOOK_NUMBERS];
        if (number != 0 && number == other->numbers[i % LS_NAME_LOOK_NUMBERS]) {
            return true;
        }
    }
    return false;
}

LS_C_END

#endif
