#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/program/html.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static char *text;
static size_t bytes;
static FILE *file;

static void open_text(void)
{
    file = open_memstream(&text, &bytes);
    cr_assert_not_null(file);
}

static void free_text(void)
{
    free(text);
}

TestSuite(html, .init = open_text, .fini = free_text);

Test(html, text_and_attributes_cannot_leave_their_element)
{
    ls_html xml = ls_xml_document(file);
    ls_html_begin(&xml, "a");
    ls_html_attribute(&xml, "b", "\"><c d='&'>");
    ls_html_number_attribute(&xml, "n", UINT64_MAX);
    ls_html_text(&xml, "</a><script>\x01\x1b[2J\x7f");
    ls_html_end(&xml);
    fclose(file);
    cr_expect_str_eq(text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\n"
                           "<a b=\"&quot;&gt;&lt;c d='&amp;'&gt;\" n=\"18446744073709551615\">"
                           "&lt;/a&gt;&lt;script&gt;??[2J?</a>");
}

Test(html, elements_end_in_order)
{
    ls_html html = ls_html_page(file, "a < b", "p{color:red}");
    ls_html_begin(&html, "table");
    ls_html_begin(&html, "tr");
    ls_html_element(&html, "td", "v", "1");
    ls_html_element(&html, "td", NULL, "");
    ls_html_end(&html);
    ls_html_end(&html);
    ls_html_end(&html);
    fclose(file);
    cr_expect_eq(html.depth, 0u);
    cr_expect(strstr(text, "<title>a &lt; b</title><style>p{color:red}</style>"), "%s", text);
    cr_expect(
        strstr(text, "\n<table>\n<tr>\n<td class=\"v\">1</td>\n<td></td></tr></table></html>"),
        "%s", text);
}
