/* Text table: rows of texts with aligned columns, for a terminal. Every cell is made printable:
 * names come from players. Called by the commands of lockstep-admin. */
#ifndef LOCKSTEP_TOOLS_ADMIN_TEXT_TABLE_H
#define LOCKSTEP_TOOLS_ADMIN_TEXT_TABLE_H

#include "lockstep/common/base/language.h"

#include <stdio.h>

typedef struct text_table text_table;

/* The headers end with NULL; one that begins with '>' has its column to the right. NULL: memory is
 * out. */
text_table *text_table_create(const char *const *headers);
void text_table_destroy(text_table *table);

/* Row by row. Cells that find no memory are left out. */
void text_table_add(text_table *table, const char *format, ...) LS_PRINTF(2, 3);

void text_table_print(const text_table *table, FILE *file);

#endif
