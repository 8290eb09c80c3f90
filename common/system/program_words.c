#define _GNU_SOURCE
#include "lockstep/common/system/program_start.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

enum {
    KEY_WORD = 1,    /* what getopt calls a word that is no option */
    KEY_FLAGS = 256, /* plus the option's index */
};

/* The options as getopt takes them. */
static struct {
    struct option flags[LS_PROGRAM_OPTIONS_MAX + 1];
    char letters[4 * LS_PROGRAM_OPTIONS_MAX + 2];
    bool is_over;   /* "--" has come, or the end */
    char *first;    /* word of the line */
    char name[128]; /* getopt begins its complaints with the first word of the line */
} list;

static void list_options(ls_program_words *words)
{
    char *letter = list.letters;
    *letter++ = '-'; /* words are taken where they stand */
    for (uint32_t i = 0; i < words->option_count; i++) {
        const ls_program_option *option = &words->options[i];
        int takes = option->may_lack_it    ? optional_argument
                    : option->has_argument ? required_argument
                                           : no_argument;
        list.flags[i] = (struct option){option->flag, takes, NULL, (int)(KEY_FLAGS + i)};
        if (option->letter) {
            *letter++ = option->letter;
            memset(letter, ':', (size_t)takes);
            letter += takes;
        }
    }
    snprintf(list.name, sizeof list.name, "%s: error", ls_program_name());
    list.first = words->argv[0];
    words->argv[0] = list.name;
}

/* Whether getopt has complained of an option, and not found -?, for which it returns the same. */
static bool is_unknown(int key, char **argv)
{
    return key == '?' && (optopt != 0 || strncmp(argv[optind - 1], "--", 2) == 0);
}

static uint32_t index_of(const ls_program_words *words, int key)
{
    uint32_t index = key >= KEY_FLAGS ? (uint32_t)(key - KEY_FLAGS) : 0;
    while (key < KEY_FLAGS && words->options[index].letter != (char)key) {
        index++;
    }
    return index;
}

bool ls_program_words_next(ls_program_words *words)
{
    if (list.name[0] == '\0') {
        list_options(words);
    }
    words->word = words->argv[optind]; /* that getopt looks at; none is moved */
    optopt = 0;
    int key =
        list.is_over ? -1 : getopt_long(words->argc, words->argv, list.letters, list.flags, NULL);
    list.is_over = key == -1;
    if (list.is_over && optind >= words->argc) {
        words->argv[0] = list.first;
        return false;
    }
    words->value = list.is_over ? words->argv[optind++] : optarg;
    words->kind = list.is_over || key == KEY_WORD ? LS_PROGRAM_WORD
                  : is_unknown(key, words->argv)  ? LS_PROGRAM_UNKNOWN
                  : key >= KEY_FLAGS              ? LS_PROGRAM_FLAG
                                                  : LS_PROGRAM_LETTER;
    if (words->kind == LS_PROGRAM_FLAG || words->kind == LS_PROGRAM_LETTER) {
        words->number = words->options[index_of(words, key)].number;
    }
    return true;
}
