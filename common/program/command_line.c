#include "lockstep/common/program/command_line.h"

#include "lockstep/common/base/log.h"
#include "lockstep/common/program/console.h"
#include "lockstep/common/program/option.h"
#include "lockstep/common/system/program_start.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    SETTING_GROUP = 1,
    OUTPUT_GROUP = 8, /* behind what a program does, before what is odd */
    OWN_GROUP = 100,
    GROUP_COUNT,
    HELP_WIDTH = 79,
    HELP_COLUMN = 29, /* where the texts begin */
    OWN_PART = LS_COMMAND_LINE_PARTS_MAX,
    PART_KEYS = 64, /* rows of one part */
    KEY_COUNT = (OWN_PART + 1) * PART_KEYS,
};

/* ---- options that many programs share ---- */

static const ls_setting_row output_rows[] = {
    {LS_SETTING_IS_HEADING, .group = OUTPUT_GROUP, .help = "Output:"},
    {LS_SETTING_IS_TEXT, .offset = offsetof(ls_output_options, json_path), .flag = "json",
     .argument = "FILE|-", .group = OUTPUT_GROUP, .help = "Write a summary as JSON at the end"},
    {LS_SETTING_IS_CHOICE, .offset = offsetof(ls_output_options, level), .initial = LS_LOG_WARNING,
     .flag = "quiet", .letter = 'q', .group = OUTPUT_GROUP,
     .help = "Show warnings and errors only"},
    {LS_SETTING_IS_CHOICE, .offset = offsetof(ls_output_options, level), .initial = LS_LOG_DEBUG,
     .flag = "verbose", .letter = 'v', .group = OUTPUT_GROUP, .help = "Show more"},
};

const ls_setting_table ls_output_settings = {output_rows,
                                             sizeof output_rows / sizeof output_rows[0]};

static ls_status read_param(void *target, char *value, ls_text *why)
{
    ls_param_options *params = target;
    if (params->count == LS_PARAMS_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why, "--param may be given %u times at most",
                       LS_PARAMS_MAX);
    }
    params->assignments[params->count++] = value;
    return LS_OK;
}

static const ls_setting_row param_rows[] = {
    {LS_SETTING_IS_READ, .read = read_param, .flag = "param", .letter = 'p',
     .argument = "NAME=VALUE", .group = SETTING_GROUP,
     .help = "Set a parameter of the simulation, a file by its path; repeatable"},
};

static const ls_setting_row file_param_rows[] = {
    {LS_SETTING_IS_READ, .read = read_param, .flag = "param", .letter = 'p',
     .argument = "NAME=PATH", .group = SETTING_GROUP,
     .help = "Where the file of a file parameter lies on this machine; repeatable"},
};

const ls_setting_table ls_param_settings = {param_rows, sizeof param_rows / sizeof param_rows[0]};
const ls_setting_table ls_file_param_settings = {file_param_rows, sizeof file_param_rows /
                                                                      sizeof file_param_rows[0]};

static ls_status print_help(void *target, char *value, ls_text *why);
static ls_status print_usage(void *target, char *value, ls_text *why);
static ls_status print_version(void *target, char *value, ls_text *why);

/* Of every program; their target is its ls_command_line. */
static const ls_setting_row own_rows[] = {
    {LS_SETTING_IS_READ, .read = print_help, .flag = "help", .letter = '?', .group = OWN_GROUP,
     .help = "Give this help list; -h does as well"},
    {LS_SETTING_IS_READ, .read = print_help, .flag = "h", .letter = 'h', .is_hidden = true},
    {LS_SETTING_IS_READ, .read = print_usage, .flag = "usage", .group = OWN_GROUP,
     .help = "Give a short usage message"},
    {LS_SETTING_IS_READ, .read = print_version, .flag = "version", .letter = 'V',
     .group = OWN_GROUP, .help = "Print program version"},
};

/* ---- rows ---- */

static const ls_setting_table *table_of(const ls_command_line *line, uint32_t part)
{
    static const ls_setting_table none;
    static const ls_setting_table own = {own_rows, sizeof own_rows / sizeof own_rows[0]};
    const ls_setting_table *given = part < OWN_PART ? line->parts[part].table : &own;
    return given ? given : &none;
}

static void *target_of(const ls_command_line *line, uint32_t part)
{
    return part < OWN_PART ? line->parts[part].target : (void *)(uintptr_t)line;
}

/* A row of a program's tables by its number; NULL: there is none with a flag or heading. */
static const ls_setting_row *row_at(const ls_command_line *line, uint32_t number)
{
    const ls_setting_table *table = table_of(line, number / PART_KEYS);
    const ls_setting_row *row =
        number % PART_KEYS < table->count ? &table->rows[number % PART_KEYS] : NULL;
    return row && (row->flag || row->type == LS_SETTING_IS_HEADING) ? row : NULL;
}

/* ---- help ---- */

/* The defaults of the options that the line had before --help, as text: the fields have them no
 * more. */
static struct {
    bool is_set;
    char text[80];
} replaced_defaults[KEY_COUNT];

static void add_default(const ls_setting_row *row, const void *target, ls_text *text)
{
    const char *word = NULL;
    if (row->default_text) {
        ls_text_add(text, "%s", row->default_text);
    } else if (row->type == LS_SETTING_IS_TEXT) {
        memcpy(&word, (const char *)target + row->offset, sizeof word);
        ls_text_add(text, "%s", word ? word : "");
    } else if (row->type == LS_SETTING_IS_U32 || row->type == LS_SETTING_IS_U64 ||
               row->type == LS_SETTING_IS_WORD || row->type == LS_SETTING_IS_ON_OFF) {
        ls_setting_add_value(row, target, text);
    }
}

/* "Drop a client that is silent for so long (100 to 600000, default: 10000)" */
static void describe(const ls_command_line *line, uint32_t number, ls_text *text)
{
    const ls_setting_row *row = row_at(line, number);
    bool is_number = row->type == LS_SETTING_IS_U32 || row->type == LS_SETTING_IS_U64;
    bool has_range = is_number && row->max < UINT32_MAX - 1;
    ls_text value = {{0}};
    if (replaced_defaults[number].is_set) {
        ls_text_set(&value, "%s", replaced_defaults[number].text);
    } else {
        add_default(row, target_of(line, number / PART_KEYS), &value);
    }
    bool has_default = value.bytes[0] != '\0';
    ls_text_set(text, "%s", row->help);
    if (has_range || has_default) {
        ls_text_add(text, " (");
    }
    if (has_range) {
        ls_text_add(text, "%" PRIu64 " to %" PRIu64 "%s", ls_setting_flag_min(row),
                    ls_setting_flag_max(row), has_default ? ", " : "");
    }
    if (has_default) {
        ls_text_add(text, "default: %s", value.bytes);
    }
    if (has_range || has_default) {
        ls_text_add(text, ")");
    }
}

/* Writes the words of a text behind `at` columns of its first line, in lines that begin at
 * `column`. Lines of the text that begin with a space stay as they are. */
static void wrap_behind(FILE *file, const char *text, int at, int column)
{
    bool is_first = true;
    while (*text) {
        size_t bytes = text[0] == ' ' ? strcspn(text, "\n") : strcspn(text, " \n");
        if (!is_first && at + 1 + (int)bytes > HELP_WIDTH) {
            at = fprintf(file, "\n%*s", column, "") - 1;
            is_first = true;
        }
        at += fprintf(file, "%s%.*s", is_first ? "" : " ", (int)bytes, text);
        is_first = false;
        text += bytes;
        for (; *text == '\n'; text++) {
            at = fprintf(file, "\n%*s", column, "") - 1;
            is_first = true;
        }
        text += *text == ' ' && !is_first ? 1 : 0;
    }
    fprintf(file, "\n");
}

static void wrap(FILE *file, const char *text, int column)
{
    wrap_behind(file, text, column, column);
}

void ls_command_line_print_row(FILE *file, const char *head, const char *text, int column)
{
    wrap_behind(file, text, fprintf(file, "%s", head), column);
}

static void print_option(const ls_command_line *line, uint32_t number)
{
    const ls_setting_row *row = row_at(line, number);
    ls_text name = {{0}};
    ls_text text = {{0}};
    ls_text_set(&name, row->letter ? "  -%c, " : "      ", row->letter);
    ls_text_add(&name, "--%s%s%s%s%s", row->flag, row->has_optional_argument ? "[" : "",
                row->argument ? "=" : "", row->argument ? row->argument : "",
                row->has_optional_argument ? "]" : "");
    int column = printf("%s", name.bytes);
    if (column + 2 > HELP_COLUMN) {
        printf("\n");
        column = 0;
    }
    describe(line, number, &text);
    printf("%*s", HELP_COLUMN - column, "");
    wrap(stdout, text.bytes, HELP_COLUMN);
}

/* The options of a group, below its heading, if one of the tables has it. */
static void print_group(const ls_command_line *line, uint32_t group)
{
    uint32_t numbers[KEY_COUNT];
    uint32_t count = 0;
    const char *heading = "";
    for (uint32_t number = 0; number < KEY_COUNT; number++) {
        const ls_setting_row *row = row_at(line, number);
        if (!row || row->group != group || row->is_hidden) {
            continue;
        }
        if (row->type == LS_SETTING_IS_HEADING) {
            heading = row->help;
        } else {
            numbers[count++] = number;
        }
    }
    if (count == 0) {
        return;
    }
    printf("%s", heading[0] ? "\n " : "");
    wrap(stdout, heading, 1);
    for (uint32_t i = 0; i < count; i++) {
        print_option(line, numbers[i]);
    }
}

static void print_usage_lines(const ls_command_line *line)
{
    const char *words = line->words ? line->words : "";
    const char *head = "Usage:";
    do {
        size_t bytes = strcspn(words, "\n");
        printf("%s %s [OPTION...]%s%.*s\n", head, ls_program_name(), bytes > 0 ? " " : "",
               (int)bytes, words);
        head = "  or: ";
        words += bytes;
    } while (*words++ == '\n');
}

static ls_status print_help(void *target, char *value, ls_text *why)
{
    const ls_command_line *line = target;
    (void)value;
    (void)why;
    print_usage_lines(line);
    wrap(stdout, line->summary, 0);
    for (uint32_t group = 0; group < GROUP_COUNT; group++) {
        print_group(line, group);
    }
    printf("\nA short option takes the same argument as its long form.\n\n");
    if (line->print_lists) {
        line->print_lists(stdout);
        printf("\n");
    }
    wrap(stdout, line->ending, 0);
    exit(LS_EXIT_CLEAN);
}

static ls_status print_usage(void *target, char *value, ls_text *why)
{
    const ls_command_line *line = target;
    (void)value;
    (void)why;
    print_usage_lines(line);
    for (uint32_t number = 0; number < KEY_COUNT; number++) {
        const ls_setting_row *row = row_at(line, number);
        if (row && row->flag && !row->is_hidden) {
            printf("  --%s%s%s\n", row->flag, row->argument ? "=" : "",
                   row->argument ? row->argument : "");
        }
    }
    exit(LS_EXIT_CLEAN);
}

static ls_status print_version(void *target, char *value, ls_text *why)
{
    (void)target;
    (void)value;
    (void)why;
    printf("%s %s\n", ls_program_name(), LS_VERSION);
    exit(LS_EXIT_CLEAN);
}

/* ---- the line ---- */

static void refuse(ls_text *sentence)
{
    ls_hidden_secret_apply(sentence->bytes);
    fprintf(stderr, "%s: error: %s\n", ls_program_name(), sentence->bytes);
    exit(LS_EXIT_USAGE);
}

static ls_status read_word(const ls_command_line *line, char *word, ls_text *why)
{
    if (line->read_word) {
        return line->read_word(line->user, word, why);
    }
    if (!line->word || *line->word) {
        return ls_fail(LS_BAD_ARGUMENT, why, "unexpected argument '%s'", word);
    }
    *line->word = word;
    return LS_OK;
}

static ls_status read_option(const ls_command_line *line, uint32_t number, char *value,
                             ls_text *why)
{
    uint32_t part = number / PART_KEYS;
    const ls_setting_row *row = row_at(line, number);
    if (!replaced_defaults[number].is_set) {
        ls_text text = {{0}};
        add_default(row, target_of(line, part), &text);
        replaced_defaults[number].is_set = true;
        ls_name_copy(replaced_defaults[number].text, sizeof replaced_defaults[number].text,
                     text.bytes);
    }
    if (part < OWN_PART && line->parts[part].given) {
        *line->parts[part].given |= UINT64_C(1) << number % PART_KEYS;
    }
    return ls_setting_read(row, target_of(line, part), value, why);
}

static void list_options(const ls_command_line *line, ls_program_words *words)
{
    for (uint32_t number = 0; number < KEY_COUNT; number++) {
        const ls_setting_row *row = row_at(line, number);
        if (row && row->flag) {
            words->options[words->option_count++] =
                (ls_program_option){.flag = row->flag,
                                    .letter = row->letter,
                                    .has_argument = row->argument != NULL,
                                    .may_lack_it = row->has_optional_argument,
                                    .number = number};
        }
    }
}

/* The beginning of a flag would be taken for the flag, until another flag begins so. */
static void check_spelling(const ls_command_line *line, const ls_program_words *words)
{
    const char *flag = row_at(line, words->number)->flag;
    size_t length = strcspn(words->word + 2, "=");
    if (strlen(flag) != length) {
        ls_text why = {{0}};
        ls_text_set(&why, "there is no --%.*s; is --%s meant?", (int)length, words->word + 2, flag);
        refuse(&why);
    }
}

/* Behind the line about an unknown flag. */
static void suggest(const ls_command_line *line, const char *word)
{
    char spelled[64] = "";
    if (word && strncmp(word, "--", 2) == 0) {
        snprintf(spelled, sizeof spelled, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    }
    for (uint32_t number = 0; number < KEY_COUNT && spelled[0] != '\0'; number++) {
        const ls_setting_row *row = row_at(line, number);
        if (row && row->flag && ls_flag_is_near(row->flag, spelled)) {
            fprintf(stderr, "%s: error: is --%s meant?\n", ls_program_name(), row->flag);
        }
    }
}

static ls_status read_next(const ls_command_line *line, const ls_program_words *words, ls_text *why)
{
    if (words->kind == LS_PROGRAM_UNKNOWN) {
        suggest(line, words->word);
        exit(LS_EXIT_USAGE);
    }
    if (words->kind == LS_PROGRAM_FLAG) {
        check_spelling(line, words);
    }
    return words->kind == LS_PROGRAM_WORD ? read_word(line, words->value, why)
                                          : read_option(line, words->number, words->value, why);
}

/* An answer that did not get out is no answer: --help and results alike. Any other failure has been
 * reported already. */
static void check_output(int code)
{
    errno = 0;
    bool has_failed = fflush(stdout) != 0 || ferror(stdout);
    if (has_failed && code == LS_EXIT_CLEAN) {
        fprintf(stderr, "%s: error: cannot write to standard output%s%s\n", ls_program_name(),
                errno ? ": " : "", errno ? strerror(errno) : "");
        _Exit(LS_EXIT_ENVIRONMENT);
    }
}

void ls_command_line_read(const ls_command_line *line, int argc, char **argv)
{
    static ls_program_words words;
    ls_text why = {{0}};
    ls_status status = LS_OK;
    words.argc = argc;
    words.argv = argv;
    ls_program_begin(LS_EXIT_INTERNAL, check_output);
    list_options(line, &words);
    while (status == LS_OK && ls_program_words_next(&words)) {
        status = read_next(line, &words, &why);
    }
    if (status == LS_OK && line->check) {
        status = line->check(line->user, &why);
    }
    if (status != LS_OK) {
        refuse(&why);
    }
}
