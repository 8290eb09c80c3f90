/* lockstep-schema: reads the command line, and the types of a file; writes the schema as code. */
#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/program/command_line.h"
#include "lockstep/common/program/console.h"
#include "lockstep/common/program/exit_code.h"
#include "lockstep/common/program/output.h"
#include "lockstep/tools/schema/code.h"

#include <stdlib.h>
#include <string.h>

enum {
    NOTES_MAX = 256,
};

enum option_key {
    KEY_LIST = 'l',
    KEY_OUTPUT = 'o',
    KEY_QUIET = 'q',
    KEY_UNIT = 'u',
    KEY_COUNT = 'c',
    KEY_UNION = 0x100,
    KEY_PADDING,
    KEY_ROWS,
    KEY_FUNCTION,
};

static const struct argp_option options[] = {
    {"list", KEY_LIST, 0, 0, "List the structs that the file has, with their sizes", 0},
    {"output", KEY_OUTPUT, "FILE", 0, "Write there; -: to standard output (-)", 0},
    {"unit", KEY_UNIT, "PATH=UNIT", 0,
     "Unit of a field, or of all whose paths end so: velocity.x=m/s", 0},
    {"count", KEY_COUNT, "PATH=EXPRESSION", 0,
     "How many items an array without a length has, as C code: units=config->params[0]", 0},
    {"union-as-bytes", KEY_UNION, "PATH", 0,
     "Take this union as bytes: its values then have no names, and only machines of one byte order "
     "can share a match",
     0},
    {"padding", KEY_PADDING, "NAME", 0,
     "Byte members of this name are padding and stay zero, like those called padding...", 0},
    {"rows", KEY_ROWS, 0, 0, "Only the fields, to include within the braces of an array", 0},
    {"function", KEY_FUNCTION, "NAME", 0, "Name of the function (fields)", 0},
    {"quiet", KEY_QUIET, 0, 0, "Do not warn of holes, and of types that differ between machines",
     0},
    {0}};

typedef struct notes {
    schema_layout_note list[NOTES_MAX];
    uint32_t count;
} notes;

typedef struct words {
    const char *list[NOTES_MAX];
    uint32_t count;
} words;

typedef struct arguments {
    const char *file;
    char *parts[SCHEMA_LAYOUT_PARTS_MAX]; /* TYPE[:NAME[:COUNT[:OFFSET]]] */
    uint32_t part_count;
    notes units, counts;
    words unions, paddings;
    const char *output, *function;
    bool is_list, is_rows, is_quiet;
} arguments;

static void add_note(struct argp_state *state, notes *all, char *text)
{
    char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || all->count == NOTES_MAX) {
        argp_error(state, "'%s' is not PATH=VALUE, or one of too many", text);
        return;
    }
    *equals = '\0';
    all->list[all->count++] = (schema_layout_note){text, equals + 1};
}

static void add_word(struct argp_state *state, words *all, const char *text)
{
    if (all->count == NOTES_MAX) {
        argp_error(state, "there are too many options like '%s'", text);
        return;
    }
    all->list[all->count++] = text;
}

static error_t add_argument(struct argp_state *state, arguments *args, char *value)
{
    if (args->file == NULL) {
        args->file = value;
    } else if (args->part_count == SCHEMA_LAYOUT_PARTS_MAX) {
        argp_error(state, "there are more than %u types", SCHEMA_LAYOUT_PARTS_MAX);
    } else {
        args->parts[args->part_count++] = value;
    }
    return 0;
}

static void check_arguments(struct argp_state *state, const arguments *args)
{
    if (args->file == NULL) {
        argp_error(state, "FILE is missing");
    } else if (!args->is_list && args->part_count == 0) {
        argp_error(state, "TYPE is missing; --list shows those that there are");
    }
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case KEY_LIST:
        args->is_list = true;
        return 0;
    case KEY_OUTPUT:
        args->output = value;
        return 0;
    case KEY_UNIT:
        add_note(state, &args->units, value);
        return 0;
    case KEY_COUNT:
        add_note(state, &args->counts, value);
        return 0;
    case KEY_UNION:
        add_word(state, &args->unions, value);
        return 0;
    case KEY_PADDING:
        add_word(state, &args->paddings, value);
        return 0;
    case KEY_ROWS:
        args->is_rows = true;
        return 0;
    case KEY_QUIET:
        args->is_quiet = true;
        return 0;
    case KEY_FUNCTION:
        args->function = value;
        return 0;
    case ARGP_KEY_ARG:
        return add_argument(state, args, value);
    case ARGP_KEY_END:
        check_arguments(state, args);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static ls_status list_structs(const schema_debug_file *file, FILE *out)
{
    uint32_t count = 0;
    const schema_debug_name *names = schema_debug_names(file, &count);
    for (uint32_t i = 0; i < count; i++) {
        fprintf(out, "%10zu  %s\n", names[i].bytes, names[i].name);
    }
    return LS_OK;
}

/* "a:b" to "a", and gives "b"; NULL without a colon. A C++ name's "::" is none. */
static char *cut(char *text)
{
    for (char *c = text; text != NULL && *c != '\0'; c++) {
        if (c[0] == ':' && c[1] == ':') {
            c++;
        } else if (c[0] == ':') {
            *c = '\0';
            return c + 1;
        }
    }
    return NULL;
}

static ls_status find_parts(schema_debug_file *file, const arguments *args,
                            schema_layout_part *parts, ls_text *why)
{
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < args->part_count; i++) {
        char *name = cut(args->parts[i]);
        char *count = cut(name);
        parts[i] = (schema_layout_part){.name = name, .count = count, .offset = cut(count)};
        status = schema_debug_find(file, args->parts[i], &parts[i].type, why);
    }
    return status;
}

static void warn(void *user, const char *text)
{
    ls_console *console = user;
    ls_log_line(&console->log, LS_LOG_WARNING, "%s", text);
}

static ls_status write_schema(schema_debug_file *file, const arguments *args, ls_console *console,
                              FILE *out, ls_text *why)
{
    static schema_layout layout;
    schema_layout_part parts[SCHEMA_LAYOUT_PARTS_MAX];
    const schema_layout_options layout_options = {.units = args->units.list,
                                                  .unit_count = args->units.count,
                                                  .counts = args->counts.list,
                                                  .count_count = args->counts.count,
                                                  .byte_unions = args->unions.list,
                                                  .byte_union_count = args->unions.count,
                                                  .paddings = args->paddings.list,
                                                  .padding_count = args->paddings.count,
                                                  .warn = warn,
                                                  .user = console};
    ls_status status = find_parts(file, args, parts, why);
    if (status == LS_OK) {
        status = schema_layout_make(parts, args->part_count, &layout_options, &layout, why);
    }
    if (status != LS_OK) {
        return status;
    }
    if (args->is_rows) {
        schema_code_rows(out, &layout);
    } else {
        const char *slash = strrchr(args->file, '/');
        schema_code_function(out, &layout, parts, args->part_count, args->function,
                             slash == NULL ? args->file : slash + 1);
    }
    return LS_OK;
}

/* Into memory first: a file is written whole or not at all. */
static ls_status run(const arguments *args, ls_console *console, ls_text *why)
{
    schema_debug_file *file = NULL;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    ls_status status = out == NULL ? LS_NO_MEMORY : schema_debug_open(args->file, &file, why);
    if (status == LS_OK) {
        status =
            args->is_list ? list_structs(file, out) : write_schema(file, args, console, out, why);
    }
    if (out != NULL && fclose(out) != 0 && status == LS_OK) {
        status = LS_NO_MEMORY;
    }
    if (status == LS_OK && bytes > 0) {
        text[bytes - 1] = '\0'; /* the last line's end comes with the writing */
        status = ls_output_write(args->output, text, why);
    }
    free(text);
    schema_debug_close(file);
    return status;
}

int main(int argc, char **argv)
{
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "FILE TYPE[:NAME[:COUNT[:OFFSET]]]...\nFILE --list",
        .doc = "Writes the schema of a simulation's state as C code, from the debug information of "
               "its .so (compiled with -g), so that nobody has to by hand.\v"
               "TYPE is the state's struct. A state that is laid out by hand has parts: each is a "
               "struct with the NAME of its items, how many there are, and where the first one is, "
               "as C code in which config is the ls_sim_config:\n\n"
               "  lockstep-schema game.so head:match 'ship:ships:config->players:sizeof(head)'\n\n"
               "Exit codes: 0 written, 1 the file cannot be read or has no such struct, 2 usage, "
               "a file that is no ELF or has no debug information, or a type that no schema "
               "describes, 4 internal.",
    };
    arguments args = {.output = "-", .function = "fields"};
    ls_command_line_parse(&argp, argc, argv, &args);
    ls_console console;
    ls_console_init(&console, "lockstep-schema", args.is_quiet ? LS_LOG_ERROR : LS_LOG_INFO);
    ls_text why = {{0}};
    ls_status status = run(&args, &console, &why);
    if (status == LS_OK) {
        return LS_EXIT_CLEAN;
    }
    ls_log_line(&console.log, LS_LOG_ERROR, "%s",
                why.bytes[0] != '\0' ? why.bytes : ls_status_text(status));
    return ls_exit_code_of(status);
}
