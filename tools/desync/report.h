/* Report: evidence as text for a terminal, as one JSON object for programs and as a page for a
 * browser. Reads evidence, decides nothing. Texts that came with a bundle are escaped: they are
 * another machine's. Called by explain. */
#ifndef LOCKSTEP_TOOLS_DESYNC_REPORT_H
#define LOCKSTEP_TOOLS_DESYNC_REPORT_H

#include "lockstep/common/program/html.h"
#include "lockstep/tools/desync/difference_chain.h"
#include "lockstep/tools/desync/differing_line.h"
#include "lockstep/tools/desync/evidence.h"
#include "lockstep/tools/desync/machine_code.h"
#include "lockstep/tools/desync/reproduce.h"

#include <stdio.h>

/* Sheet: headings, tables and notes, as text for a terminal or as a page for a browser. The one who
 * fills it need not know which. */
typedef struct explain_column {
    const char *name; /* "": its empty cells stay empty; elsewhere they show as "-" */
    int width;        /* as text; 0 in the last column */
} explain_column;

typedef struct explain_sheet {
    FILE *file;
    ls_html *html; /* NULL: text */
    const explain_column *columns;
    bool has_rows; /* the names of the columns come with the first row */
    bool is_open;  /* on a page: the table is not folded */
} explain_sheet;

/* On a page the table is folded under its heading. `heading` may be NULL. `columns` end with one
 * without a name (NULL), and are borrowed. */
void explain_sheet_begin(explain_sheet *sheet, const char *heading, const explain_column *columns);

/* A cell for each column. A bad row is red, or has a "*" before it. */
void explain_sheet_row(explain_sheet *sheet, bool is_bad, const char *const *cells);

/* Ends the table, with a sentence below it; `note` may be NULL. */
void explain_sheet_end(explain_sheet *sheet, const char *note);

typedef struct explain_report {
    const explain_evidence *evidence;
    const char *bundle_path;
    const explain_code_places *places; /* NULL: instructions are shown as addresses */
    const explain_reproductions *reproductions;
    const explain_chain *chain;
    const explain_line *line;
} explain_report;

const char *explain_report_style(void); /* of a page */
void explain_report_write_text(FILE *file, const explain_report *report);
void explain_report_write_html(FILE *file, const explain_report *report);

/* To a file, or standard output for "-". IO or NO_MEMORY. */
ls_status explain_report_write_json(const explain_report *report, const char *path, ls_text *why);

/* ---- what the three share ---- */

/* All but what the text and the page begin with. */
void explain_report_fill(explain_sheet *sheet, const explain_report *report);

/* The rest of a sentence about the client, which says what happened; and what to do next. */
ls_text explain_report_began(const ls_desync_bundle *bundle);
const char *explain_report_next(const explain_evidence *evidence);

/* A write, as a person reads it. */
typedef struct explain_write_text {
    const char *pass;
    char field[LS_PLACE_NAME_BYTES_MAX];
    char before[LS_PLACE_VALUE_BYTES_MAX];
    char after[LS_PLACE_VALUE_BYTES_MAX];
    char by[176]; /* the instruction; empty: not known */
} explain_write_text;

explain_write_text explain_report_write_of(const explain_report *report,
                                           const explain_field_write *write);

/* An element that was read, as a person reads it. */
typedef struct explain_read_text {
    char field[LS_PLACE_NAME_BYTES_MAX];
    char here[LS_PLACE_VALUE_BYTES_MAX];
    char other[LS_PLACE_VALUE_BYTES_MAX];
} explain_read_text;

explain_read_text explain_report_read_of(const explain_read *read);

/* The call stack of a write, from the inside out, with what the compiler put into each function. */
uint32_t explain_report_levels(const explain_report *report, const explain_field_write *write,
                               explain_code_level levels[EXPLAIN_LEVELS_MAX]);

/* An input's bytes in hexadecimal, cut with "..." when they are too many; "empty" for none. */
#define EXPLAIN_REPORT_INPUT_BYTES 32u
#define EXPLAIN_REPORT_INPUT_TEXT_BYTES (2u * EXPLAIN_REPORT_INPUT_BYTES + 8u)
void explain_report_input_text(const ls_slot_input *input,
                               char text[EXPLAIN_REPORT_INPUT_TEXT_BYTES]);

/* "joined", "left", both or "". */
const char *explain_report_events_text(uint32_t events);

/* Every slot's input at the bad tick; false when the bundle has none. */
bool explain_report_inputs(const explain_evidence *evidence, ls_slot_input slots[LS_PLAYERS_MAX]);

/* The machine code around two writes, each marked where the other has another instruction; of one
 * that is NULL the list is empty. */
void explain_report_listings(const explain_report *report, const explain_field_write *here,
                             const explain_field_write *other, explain_listing listings[2]);

/* "1 of 1,200 elements ..." how many elements differ, in how many fields. */
void explain_report_count_text(const explain_evidence *evidence, ls_text *out);

#endif
