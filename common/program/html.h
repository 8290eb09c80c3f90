/* HTML: pages and XML documents, written element by element; text and attributes are escaped here
 * and nowhere else. Remembers what is open, and nothing of what was written. Called by the writers
 * of reports. */
#ifndef LOCKSTEP_COMMON_PROGRAM_HTML_H
#define LOCKSTEP_COMMON_PROGRAM_HTML_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define LS_HTML_DEPTH_MAX 16u

typedef struct ls_html {
    FILE *file; /* borrowed; whether it could be written is for its owner to ask */
    const char *open[LS_HTML_DEPTH_MAX];
    uint32_t depth;
    bool is_in_tag; /* attributes may still come */
} ls_html;

/* Begins a page for browsers, with all of its style, or an XML document. `style` is a literal. */
ls_html ls_html_page(FILE *file, const char *title, const char *style);
ls_html ls_xml_document(FILE *file);

/* Begins an element; what follows is within it, until it is ended. `tag` is a literal. */
void ls_html_begin(ls_html *html, const char *tag);
void ls_html_end(ls_html *html);

/* In place of end, of an element that never has anything within it. */
void ls_html_end_empty(ls_html *html);

/* `code` is a literal, of plain JavaScript without "</". */
void ls_html_script(ls_html *html, const char *code);

/* Right after begin. `name` is a literal. */
void ls_html_attribute(ls_html *html, const char *name, const char *text);
void ls_html_number_attribute(ls_html *html, const char *name, uint64_t number);

/* Characters without a place in XML are written as '?'. */
void ls_html_text(ls_html *html, const char *text);

/* A whole element with a text; `class_name` may be NULL. */
void ls_html_element(ls_html *html, const char *tag, const char *class_name, const char *text);

#endif
