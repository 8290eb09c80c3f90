/* Report sheet: headings, tables and notes, as text for a terminal or as a page for a browser. The
 * one who fills it need not know which. Called by the reports. */
#ifndef LOCKSTEP_TOOLS_DESYNC_REPORT_SHEET_H
#define LOCKSTEP_TOOLS_DESYNC_REPORT_SHEET_H

#include "lockstep/common/program/html.h"

typedef struct explain_column {
    const char *name; /* "": its empty cells stay empty; elsewhere they show as "-" */
    int width;        /* as text; 0 in the last column */
} explain_column;

typedef struct explain_sheet {
    FILE *file;
    ls_html *html; /* NULL: text */
    const explain_column *columns;
    bool has_rows; /* the names of the columns come with the first row */
} explain_sheet;

/* On a page the table is folded under its heading. `heading` may be NULL. `columns` end with one
 * without a name (NULL), and are borrowed. */
void explain_sheet_begin(explain_sheet *sheet, const char *heading, const explain_column *columns);

/* A cell for each column. A bad row is red, or has a "*" before it. */
void explain_sheet_row(explain_sheet *sheet, bool is_bad, const char *const *cells);

/* Ends the table, with a sentence below it; `note` may be NULL. */
void explain_sheet_end(explain_sheet *sheet, const char *note);

#endif
