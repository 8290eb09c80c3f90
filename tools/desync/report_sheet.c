#include "lockstep/tools/desync/report_sheet.h"

static void write_cell(explain_sheet *sheet, const char *tag, const explain_column *column,
                       const char *text)
{
    if (sheet->html) {
        ls_html_element(sheet->html, tag, "v", text);
    } else if (column[1].name) {
        fprintf(sheet->file, "%-*s  ", column->width, text);
    } else {
        fprintf(sheet->file, "%s\n", text);
    }
}

static void begin_row(explain_sheet *sheet, bool is_bad)
{
    if (!sheet->html) {
        fputs(is_bad ? "* " : "  ", sheet->file);
        return;
    }
    ls_html_begin(sheet->html, "tr");
    if (is_bad) {
        ls_html_attribute(sheet->html, "class", "bad");
    }
}

static void end_row(explain_sheet *sheet)
{
    if (sheet->html) {
        ls_html_end(sheet->html);
    }
}

static void write_names(explain_sheet *sheet)
{
    begin_row(sheet, false);
    for (const explain_column *column = sheet->columns; column->name; column++) {
        write_cell(sheet, "th", column, column->name);
    }
    end_row(sheet);
}

void explain_sheet_begin(explain_sheet *sheet, const char *heading, const explain_column *columns)
{
    sheet->columns = columns;
    sheet->has_rows = columns[0].name[0] == '\0' && columns[1].name[0] == '\0'; /* no names */
    if (sheet->html) {
        ls_html_begin(sheet->html, "details");
        ls_html_element(sheet->html, "summary", NULL, heading ? heading : "Summary");
        ls_html_begin(sheet->html, "table");
    } else if (heading) {
        fprintf(sheet->file, "%s\n", heading);
    }
}

void explain_sheet_row(explain_sheet *sheet, bool is_bad, const char *const *cells)
{
    if (!sheet->has_rows) {
        write_names(sheet);
        sheet->has_rows = true;
    }
    begin_row(sheet, is_bad);
    for (const explain_column *column = sheet->columns; column->name; column++, cells++) {
        bool is_missing = **cells == '\0' && column->name[0] != '\0';
        write_cell(sheet, "td", column, is_missing ? "-" : *cells);
    }
    end_row(sheet);
}

void explain_sheet_end(explain_sheet *sheet, const char *note)
{
    if (sheet->html) {
        ls_html_end(sheet->html);
        if (note) {
            ls_html_element(sheet->html, "p", "note", note);
        }
        ls_html_end(sheet->html);
    } else {
        fprintf(sheet->file, "%s%s%s\n", note ? "  " : "", note ? note : "", note ? "\n" : "");
    }
}
