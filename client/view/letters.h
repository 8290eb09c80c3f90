/* Letters: how a text is cut into letters, and how many columns each takes in type of even width,
 * in a window and on a terminal alike. A letter is a character with the marks that stand on it, or
 * several that are joined into one. Any bytes may come: a text ends at its NUL. */
#ifndef LOCKSTEP_CLIENT_VIEW_LETTERS_H
#define LOCKSTEP_CLIENT_VIEW_LETTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ls_letter {
    size_t bytes;     /* > 0, but at the end of the text */
    uint32_t columns; /* 1; 2 for letters of East Asia and for emoji; 0 for marks alone */
    uint32_t code;    /* the first character's number in Unicode */
    bool is_alone;    /* it is one character, without marks */
} ls_letter;

/* The first letter of a text in UTF-8. */
ls_letter ls_letter_first(const char *text);

/* Columns of all letters. */
uint32_t ls_letters_columns(const char *text);

/* Bytes of the letters that fit into so many columns, from the first one on. */
size_t ls_letters_fit(const char *text, size_t columns);

#endif
