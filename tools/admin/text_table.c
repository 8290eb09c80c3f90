#include "lockstep/tools/admin/text_table.h"

#include "lockstep/common/base/text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLUMNS_MAX = 16
};

struct text_table {
    const char *headers[COLUMNS_MAX];
    size_t column_count;
    ls_text *cells;
    size_t cell_count;
    size_t capacity;
};

text_table *text_table_create(const char *const *headers)
{
    text_table *made = calloc(1, sizeof *made);
    while (made && made->column_count < COLUMNS_MAX && headers[made->column_count]) {
        made->headers[made->column_count] = headers[made->column_count];
        made->column_count++;
    }
    return made;
}

void text_table_destroy(text_table *table)
{
    if (table) {
        free(table->cells);
        free(table);
    }
}

void text_table_add(text_table *table, const char *format, ...)
{
    if (table->cell_count == table->capacity) {
        size_t capacity = table->capacity ? 2 * table->capacity : 64;
        ls_text *cells = realloc(table->cells, capacity * sizeof *cells);
        if (!cells) {
            return;
        }
        table->cells = cells;
        table->capacity = capacity;
    }
    ls_text *cell = &table->cells[table->cell_count++];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(cell->bytes, sizeof cell->bytes, format, arguments);
    va_end(arguments);
    ls_text_make_printable(cell->bytes, strlen(cell->bytes));
}

/* Characters of UTF-8. */
static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text; text++) {
        width += ((unsigned char)*text & 0xc0u) != 0x80;
    }
    return width;
}

static void print_cell(const char *text, size_t width, bool is_right, bool is_last, FILE *file)
{
    int space = (int)(width - LS_MIN(width, width_of(text)));
    if (is_right) {
        fprintf(file, "%*s%s", space, "", text);
    } else {
        fprintf(file, "%s%*s", text, is_last ? 0 : space, "");
    }
    fputs(is_last ? "\n" : "  ", file);
}

void text_table_print(const text_table *table, FILE *file)
{
    size_t columns = table->column_count;
    size_t widths[COLUMNS_MAX] = {0};
    for (size_t i = 0; i < columns; i++) {
        widths[i] = width_of(table->headers[i] + (table->headers[i][0] == '>'));
    }
    for (size_t i = 0; i < table->cell_count; i++) {
        widths[i % columns] = LS_MAX(widths[i % columns], width_of(table->cells[i].bytes));
    }
    for (size_t i = 0; i < columns + table->cell_count; i++) {
        size_t column = i % columns;
        const char *header = table->headers[column];
        bool is_right = header[0] == '>';
        const char *text = i < columns ? header + is_right : table->cells[i - columns].bytes;
        print_cell(text, widths[column], is_right, column + 1 == columns, file);
    }
}
