#define _POSIX_C_SOURCE 200809L
#include "lockstep/tools/schema/near_names.h"

#include <stdbool.h>
#include <string.h>

enum {
    LETTERS_MAX = 64, /* longer names are compared by their starts */
};

/* Levenshtein: letters to change, add or take away. */
static uint32_t letters_apart(const char *a, const char *b)
{
    uint32_t row[LETTERS_MAX + 1];
    size_t a_bytes = strnlen(a, LETTERS_MAX), b_bytes = strnlen(b, LETTERS_MAX);
    for (size_t j = 0; j <= b_bytes; j++) {
        row[j] = (uint32_t)j;
    }
    for (size_t i = 1; i <= a_bytes; i++) {
        uint32_t diagonal = row[0];
        row[0] = (uint32_t)i;
        for (size_t j = 1; j <= b_bytes; j++) {
            uint32_t changed = diagonal + (a[i - 1] != b[j - 1]);
            uint32_t shorter = LS_MIN(row[j], row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = LS_MIN(changed, shorter);
        }
    }
    return row[b_bytes];
}

schema_near_names schema_near_names_make(const char *wanted)
{
    return (schema_near_names){.wanted = wanted};
}

void schema_near_names_offer(schema_near_names *near, const char *name)
{
    uint32_t distance = letters_apart(near->wanted, name);
    size_t third = strlen(near->wanted) / 3;
    bool is_near = distance <= (LS_MAX(third, 2)) || strstr(name, near->wanted) != NULL;
    uint32_t place = near->count;
    while (place > 0 && near->distances[place - 1] > distance) {
        place--;
    }
    if (!is_near || place == SCHEMA_NEAR_NAMES_MAX) {
        return;
    }
    near->count += near->count < SCHEMA_NEAR_NAMES_MAX;
    for (uint32_t i = near->count - 1; i > place; i--) {
        near->names[i] = near->names[i - 1];
        near->distances[i] = near->distances[i - 1];
    }
    near->names[place] = name;
    near->distances[place] = distance;
}

void schema_near_names_say(const schema_near_names *near, ls_text *why)
{
    for (uint32_t i = 0; i < near->count; i++) {
        const char *before = i == 0 ? "; did you mean " : i + 1 < near->count ? ", " : " or ";
        ls_text_add(why, "%s%s", before, near->names[i]);
    }
    ls_text_add(why, near->count > 0 ? "?" : "");
}
