#include "lockstep/common/program/html.h"

#include "lockstep/common/base/assert.h"

#include <inttypes.h>

static void escape(FILE *file, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<':
            fputs("&lt;", file);
            break;
        case '>':
            fputs("&gt;", file);
            break;
        case '&':
            fputs("&amp;", file);
            break;
        case '"':
            fputs("&quot;", file);
            break;
        default:
            fputc((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text, file);
        }
    }
}

static void close_tag(ls_html *html)
{
    fputs(html->is_in_tag ? ">" : "", html->file);
    html->is_in_tag = false;
}

ls_html ls_html_page(FILE *file, const char *title, const char *style)
{
    ls_html html = {.file = file};
    fputs("<!doctype html>\n<html lang=en><meta charset=utf-8>"
          "<meta name=viewport content=\"width=device-width\">",
          file);
    html.open[html.depth++] = "html";
    ls_html_element(&html, "title", NULL, title);
    fprintf(file, "<style>%s</style>\n", style);
    return html;
}

ls_html ls_xml_document(FILE *file)
{
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", file);
    return (ls_html){.file = file};
}

void ls_html_begin(ls_html *html, const char *tag)
{
    LS_ASSERT(html->depth < LS_HTML_DEPTH_MAX);
    close_tag(html);
    html->open[html->depth++] = tag;
    html->is_in_tag = true;
    fprintf(html->file, "\n<%s", tag);
}

void ls_html_end(ls_html *html)
{
    LS_ASSERT(html->depth > 0);
    close_tag(html);
    fprintf(html->file, "</%s>", html->open[--html->depth]);
}

void ls_html_end_empty(ls_html *html)
{
    LS_ASSERT(html->depth > 0 && html->is_in_tag);
    fputs(">", html->file);
    html->is_in_tag = false;
    html->depth--;
}

void ls_html_script(ls_html *html, const char *code)
{
    close_tag(html);
    fprintf(html->file, "\n<script>%s</script>", code);
}

void ls_html_attribute(ls_html *html, const char *name, const char *text)
{
    LS_ASSERT(html->is_in_tag);
    fprintf(html->file, " %s=\"", name);
    escape(html->file, text);
    fputs("\"", html->file);
}

void ls_html_number_attribute(ls_html *html, const char *name, uint64_t number)
{
    LS_ASSERT(html->is_in_tag);
    fprintf(html->file, " %s=\"%" PRIu64 "\"", name, number);
}

void ls_html_text(ls_html *html, const char *text)
{
    close_tag(html);
    escape(html->file, text);
}

void ls_html_element(ls_html *html, const char *tag, const char *class_name, const char *text)
{
    ls_html_begin(html, tag);
    if (class_name) {
        ls_html_attribute(html, "class", class_name);
    }
    ls_html_text(html, text);
    ls_html_end(html);
}
