#define _GNU_SOURCE
#include "lockstep/tools/synctest/foreign_locale.h"

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PATH_BYTES = 96,
};

/* A compiled LC_NUMERIC of the GNU C library, as localedef writes it: a number that tells the
 * category, the count of entries, and where each lies. */
typedef struct numeric_file {
    uint32_t kind;
    uint32_t count;
    uint32_t starts[6];
    uint32_t wide_point;
    uint32_t wide_separator;
    char point[4];
    char separator[4];
    char grouping[4];
    char codeset[8];
} numeric_file;

#define START(member) ((uint32_t)offsetof(numeric_file, member))

static bool write_numeric(const char *path)
{
    const numeric_file content = {.kind = UINT32_C(0x20031115) ^ LC_NUMERIC,
                                  .count = 6,
                                  .starts = {START(point), START(separator), START(grouping),
                                             START(wide_point), START(wide_separator),
                                             START(codeset)},
                                  .wide_point = ',',
                                  .wide_separator = '.',
                                  .point = ",",
                                  .separator = ".",
                                  .grouping = "\3\3",
                                  .codeset = "UTF-8"};
    FILE *file = fopen(path, "wb");
    bool is_written = file && fwrite(&content, sizeof content, 1, file) == 1;
    return file && fclose(file) == 0 && is_written;
}

static bool has_comma(void)
{
    return strcmp(localeconv()->decimal_point, ",") == 0;
}

void synctest_foreign_locale_enter(void)
{
    char folder[] = "/tmp/lockstep-synctest-XXXXXX";
    char name[PATH_BYTES / 2], path[PATH_BYTES];
    if (has_comma() || !mkdtemp(folder)) {
        return;
    }
    snprintf(name, sizeof name, "%s/foreign", folder);
    snprintf(path, sizeof path, "%s/LC_NUMERIC", name);
    if (mkdir(name, 0700) == 0 && write_numeric(path)) {
        setenv("LOCPATH", folder, 1); /* read by the next call alone */
        setlocale(LC_NUMERIC, "foreign");
        unsetenv("LOCPATH");
    }
    unlink(path);
    rmdir(name);
    rmdir(folder);
}
