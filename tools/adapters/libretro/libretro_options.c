#include "lockstep/tools/adapters/libretro/libretro_options.h"

#include <string.h>

/* A piece of a longer text. */
typedef struct piece {
    const char *start;
    size_t size;
} piece;

static piece piece_until(const char *text, const char *ends)
{
    return (piece){text, strcspn(text, ends)};
}

static bool is_text(piece p, const char *text)
{
    return strlen(text) == p.size && memcmp(text, p.start, p.size) == 0;
}

/* Returns what stands behind the assignment; *is_good: there is a '=' in it. */
static const char *read_assignment(const char *text, piece *key, piece *value)
{
    *key = piece_until(text, "=,");
    const char *rest = text + key->size;
    *value = (piece){rest, 0};
    if (*rest == '=') {
        *value = piece_until(rest + 1, ",");
        rest = value->start + value->size;
    }
    return *rest == ',' ? rest + 1 : rest;
}

static bool find_wanted(const libretro_options *options, const char *key, piece *value)
{
    bool is_found = false;
    for (const char *rest = options->wanted; *rest;) {
        piece name, wanted;
        rest = read_assignment(rest, &name, &wanted);
        if (is_text(name, key)) {
            *value = wanted;
            is_found = true;
        }
    }
    return is_found;
}

/* "Description; default|another": where the values begin. */
static const char *values_of(const char *declared)
{
    const char *end = declared ? strchr(declared, ';') : NULL;
    if (!end) {
        return "";
    }
    end++;
    return end + strspn(end, " ");
}

static bool is_among(const char *values, piece wanted)
{
    for (;;) {
        piece value = piece_until(values, "|");
        if (value.size == wanted.size && memcmp(value.start, wanted.start, value.size) == 0) {
            return true;
        }
        if (value.start[value.size] == '\0') {
            return false;
        }
        values = value.start + value.size + 1;
    }
}

static void declare(libretro_options *options, const libretro_variable *variable)
{
    const char *values = values_of(variable->value);
    piece value = piece_until(values, "|"), wanted;
    if (find_wanted(options, variable->key, &wanted)) {
        if (is_among(values, wanted)) {
            value = wanted;
        } else {
            ls_text_set(&options->fault, "options: %s cannot be '%.*s'; it can be %s",
                        variable->key, (int)wanted.size, wanted.start, values);
        }
    }
    libretro_option *option = &options->list[options->count];
    if (strlen(variable->key) < sizeof option->key && value.size < sizeof option->value) {
        memset(option, 0, sizeof *option);
        memcpy(option->key, variable->key, strlen(variable->key));
        memcpy(option->value, value.start, value.size);
        options->count++;
    }
}

void libretro_options_declare(libretro_options *options, const libretro_variable *variables)
{
    options->count = 0;
    options->fault.bytes[0] = '\0';
    for (; variables && variables->key && options->count < LIBRETRO_OPTIONS_MAX; variables++) {
        declare(options, variables);
    }
}

const char *libretro_options_value(const libretro_options *options, const char *key)
{
    for (uint32_t i = 0; i < options->count; i++) {
        if (strcmp(options->list[i].key, key) == 0) {
            return options->list[i].value;
        }
    }
    return NULL;
}

static bool has(const libretro_options *options, piece key)
{
    for (uint32_t i = 0; i < options->count; i++) {
        if (is_text(key, options->list[i].key)) {
            return true;
        }
    }
    return false;
}

ls_status libretro_options_check(const libretro_options *options, ls_text *why)
{
    for (const char *rest = options->wanted; *rest;) {
        piece key, value;
        rest = read_assignment(rest, &key, &value);
        if (has(options, key)) {
            continue;
        }
        ls_text_set(why, "options: the core has no '%.*s'; it has", (int)key.size, key.start);
        for (uint32_t i = 0; i < options->count; i++) {
            ls_text_add(why, "%s %s", i > 0 ? "," : "", options->list[i].key);
        }
        return LS_BAD_ARGUMENT;
    }
    return options->fault.bytes[0] ? ls_fail(LS_BAD_ARGUMENT, why, "%s", options->fault.bytes)
                                   : LS_OK;
}
