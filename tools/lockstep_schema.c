/* lockstep-schema: reads the command line, and the types of a file; writes the schema as code. */
#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/program/command_line.h"
#include "lockstep/common/program/console.h"
#include "lockstep/common/program/exit_code.h"
#include "lockstep/common/system/output.h"
#include "lockstep/tools/schema/code.h"

#include <stdlib.h>
#include <string.h>

typedef struct arguments {
    const char *file;
    char *parts[SCHEMA_LAYOUT_PARTS_MAX]; /* TYPE[:NAME[:COUNT[:OFFSET]]] */
    uint32_t part_count;
    schema_layout_options layout;
    const char *output, *function;
    bool is_list, is_rows, is_quiet;
} arguments;

static ls_status add_note(schema_layout_notes *all, const char *path, const char *text,
                          ls_text *why)
{
    if (all->count == SCHEMA_LAYOUT_NOTES_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why, "there are too many options like '%s'", path);
    }
    all->list[all->count++] = (schema_layout_note){path, text};
    return LS_OK;
}

static ls_status add_value(schema_layout_notes *all, char *text, ls_text *why)
{
    char *equals = strchr(text, '=');
    if (equals == NULL || equals == text) {
        return ls_fail(LS_BAD_ARGUMENT, why, "'%s' is not PATH=VALUE", text);
    }
    *equals = '\0';
    return add_note(all, text, equals + 1, why);
}

static ls_status read_unit(void *target, char *text, ls_text *why)
{
    return add_value(&((arguments *)target)->layout.units, text, why);
}

static ls_status read_count(void *target, char *text, ls_text *why)
{
    return add_value(&((arguments *)target)->layout.counts, text, why);
}

static ls_status read_union(void *target, char *text, ls_text *why)
{
    return add_note(&((arguments *)target)->layout.unions, text, "", why);
}

static ls_status read_padding(void *target, char *text, ls_text *why)
{
    return add_note(&((arguments *)target)->layout.paddings, text, "", why);
}

#define FIELD(member) .offset = offsetof(arguments, member)

static const ls_setting_row rows[] = {
    {LS_SETTING_IS_SWITCH, FIELD(is_list), .flag = "list", .letter = 'l',
     .help = "List the structs that the file has, with their sizes"},
    {LS_SETTING_IS_TEXT, FIELD(output), .flag = "output", .letter = 'o', .argument = "FILE",
     .help = "Write there; -: to standard output"},
    {LS_SETTING_IS_READ, .read = read_unit, .flag = "unit", .letter = 'u', .argument = "PATH=UNIT",
     .help = "Unit of a field, or of all whose paths end so: velocity.x=m/s"},
    {LS_SETTING_IS_READ, .read = read_count, .flag = "count", .letter = 'c',
     .argument = "PATH=EXPRESSION",
     .help = "How many items an array without a length has, as C code: units=config->params[0]"},
    {LS_SETTING_IS_READ, .read = read_union, .flag = "union-as-bytes", .argument = "PATH",
     .help = "Take this union as bytes: its values then have no names, and only machines of one "
             "byte order can share a match"},
    {LS_SETTING_IS_READ, .read = read_padding, .flag = "padding", .argument = "NAME",
     .help = "Byte members of this name are padding and stay zero, like those called padding..."},
    {LS_SETTING_IS_SWITCH, FIELD(is_rows), .flag = "rows",
     .help = "Only the fields, to include within the braces of an array"},
    {LS_SETTING_IS_TEXT, FIELD(function), .flag = "function", .argument = "NAME",
     .help = "Name of the function"},
    {LS_SETTING_IS_SWITCH, FIELD(is_quiet), .flag = "quiet", .letter = 'q',
     .help = "Do not warn of holes, and of types that differ between machines"},
};

static const ls_setting_table table = {rows, sizeof rows / sizeof rows[0]};

static ls_status read_argument(void *user, char *value, ls_text *why)
{
    arguments *args = user;
    if (args->file == NULL) {
        args->file = value;
    } else if (args->part_count == SCHEMA_LAYOUT_PARTS_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why, "there are more than %u types",
                       SCHEMA_LAYOUT_PARTS_MAX);
    } else {
        args->parts[args->part_count++] = value;
    }
    return LS_OK;
}

static ls_status check(void *user, ls_text *why)
{
    const arguments *args = user;
    if (args->file == NULL) {
        return ls_fail(LS_BAD_ARGUMENT, why, "FILE is missing");
    }
    if (!args->is_list && args->part_count == 0) {
        return ls_fail(LS_BAD_ARGUMENT, why, "TYPE is missing; --list shows those that there are");
    }
    return LS_OK;
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

static ls_status write_schema(schema_debug_file *file, const arguments *args, FILE *out,
                              ls_text *why)
{
    static schema_layout layout;
    schema_layout_part parts[SCHEMA_LAYOUT_PARTS_MAX];
    ls_status status = find_parts(file, args, parts, why);
    LS_THEN(status, schema_layout_make(parts, args->part_count, &args->layout, &layout, why));
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
static ls_status run(const arguments *args, ls_text *why)
{
    schema_debug_file *file = NULL;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    ls_status status = out == NULL ? LS_NO_MEMORY : schema_debug_open(args->file, &file, why);
    LS_THEN(status, args->is_list ? list_structs(file, out) : write_schema(file, args, out, why));
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
    static arguments args = {.output = "-", .function = "fields"};
    const ls_command_line line = {
        .summary = "Writes the schema of a simulation's state as C code, from the debug "
                   "information of its .so (compiled with -g), so that nobody has to by hand.",
        .words = "FILE TYPE[:NAME[:COUNT[:OFFSET]]]...\nFILE --list",
        .ending =
            "TYPE is the state's struct. A state that is laid out by hand has parts: each is a "
            "struct with the NAME of its items, how many there are, and where the first one is, "
            "as C code in which config is the ls_sim_config:\n\n"
            "  lockstep-schema game.so head:match 'ship:ships:config->players:sizeof(head)'\n\n"
            "Exit codes: 0 written, 1 the file cannot be read or has no such struct, 2 usage, "
            "a file that is no ELF or has no debug information, or a type that no schema "
            "describes, 4 internal.",
        .parts = {{&table, &args, NULL}},
        .read_word = read_argument,
        .check = check,
        .user = &args,
    };
    ls_command_line_read(&line, argc, argv);
    ls_console console;
    ls_console_init(&console, "lockstep-schema", args.is_quiet ? LS_LOG_ERROR : LS_LOG_INFO);
    ls_text why = {{0}};
    args.layout.warn = warn;
    args.layout.user = &console;
    ls_status status = run(&args, &why);
    return ls_exit_report(&console.log, status, &why);
}
