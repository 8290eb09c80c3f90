/* Program start: the name of a program, the words of its command line, and what it prepares before
 * it does anything else. Called by command_line. */
#ifndef LOCKSTEP_COMMON_SYSTEM_PROGRAM_START_H
#define LOCKSTEP_COMMON_SYSTEM_PROGRAM_START_H

#include <stdbool.h>
#include <stdint.h>

/* Without its folder. */
const char *ls_program_name(void);

/* Standard streams that the caller has closed lead nowhere from now on; an abort exits with
 * `abort_code`; `at_end` is called with the code of any other exit. */
void ls_program_begin(int abort_code, void (*at_end)(int code));

#define LS_PROGRAM_OPTIONS_MAX 512u

typedef struct ls_program_option {
    const char *flag;
    char letter; /* '\0': none */
    bool has_argument;
    bool may_lack_it; /* the argument */
    uint32_t number;  /* the caller's */
} ls_program_option;

typedef enum ls_program_word_kind {
    LS_PROGRAM_WORD,    /* no option */
    LS_PROGRAM_FLAG,    /* --flag, or as much of it as no other begins with */
    LS_PROGRAM_LETTER,  /* -l */
    LS_PROGRAM_UNKNOWN, /* has been said on standard error */
} ls_program_word_kind;

typedef struct ls_program_words {
    int argc;
    char **argv;
    ls_program_option options[LS_PROGRAM_OPTIONS_MAX];
    uint32_t option_count;
    /* The newest word, as ls_program_words_next has read it. */
    ls_program_word_kind kind;
    const char *word; /* as it stands in the line */
    uint32_t number;  /* of an option */
    char *value;      /* the word itself, or an option's argument; NULL: it has none */
} ls_program_words;

/* One by one in the order of the line; false: there are no more. There is one line a program. */
bool ls_program_words_next(ls_program_words *words);

#endif
