#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/program/output.h"
#include "lockstep/tools/synctest/result.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* XML knows no control characters, and gives five others a meaning. */
static void write_escaped(FILE *stream, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '&':
            fputs("&amp;", stream);
            break;
        case '<':
            fputs("&lt;", stream);
            break;
        case '>':
            fputs("&gt;", stream);
            break;
        case '"':
            fputs("&quot;", stream);
            break;
        default:
            fputc((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text, stream);
        }
    }
}

static void begin_case(FILE *stream, const char *class, const char *name, uint64_t took_ns)
{
    fprintf(stream, "  <testcase classname=\"lockstep-synctest.");
    write_escaped(stream, class);
    fprintf(stream, "\" name=\"%s\" time=\"%" PRIu64 ".%03u\">", name, took_ns / 1000000000u,
            (unsigned)(took_ns / 1000000u % 1000u));
}

static void write_failure(FILE *stream, const char *type, const char *message, const char *details)
{
    fprintf(stream, "<failure type=\"%s\" message=\"", type);
    write_escaped(stream, message);
    fprintf(stream, "\">");
    write_escaped(stream, details);
    fprintf(stream, "</failure>");
}

static void write_finding(FILE *stream, const char *class, const char *name,
                          const synctest_finding *finding, const synctest_evidence *evidence)
{
    begin_case(stream, class, name, finding->took_ns);
    if (finding->outcome.kind == SYNCTEST_OUTCOME_SKIPPED) {
        fprintf(stream, "<skipped message=\"");
        write_escaped(stream, finding->outcome.text.bytes);
        fprintf(stream, "\"/>");
    } else if (synctest_finding_is_bad(finding)) {
        ls_text where = {""};
        ls_text cause = {""};
        synctest_finding_describe(finding, evidence, &where, &cause);
        write_failure(stream, synctest_finding_word(finding), where.bytes, cause.bytes);
    }
    fprintf(stream, "</testcase>\n");
}

static void write_lint(FILE *stream, const char *class, const synctest_lint_report *report)
{
    begin_case(stream, class, "lint", 0);
    for (uint32_t i = 0; i < report->count; i++) {
        const synctest_lint_item *item = &report->items[i];
        if (item->is_error) {
            ls_text message = {""};
            ls_text_set(&message, "%s: %s", item->name, item->why);
            write_failure(stream, item->topic, message.bytes, item->instead);
        }
    }
    fprintf(stream, "</testcase>\n");
}

static void write_suite(FILE *stream, const synctest_result *result)
{
    const char *class = result->facts.name[0] != '\0' ? result->facts.name : "simulation";
    bool has_lint = result->has_lint || result->lint.count > 0;
    bool is_reference_bad = result->has_reference && synctest_finding_is_bad(&result->reference);
    uint32_t skipped = 0;
    for (uint32_t i = 0; i < result->finding_count; i++) {
        skipped += result->findings[i].outcome.kind == SYNCTEST_OUTCOME_SKIPPED;
    }
    fprintf(stream, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"");
    write_escaped(stream, class);
    fprintf(stream, "\" tests=\"%u\" failures=\"%u\" skipped=\"%u\">\n",
            result->finding_count + has_lint + result->has_reference,
            result->failed + (result->lint.errors > 0) + is_reference_bad, skipped);
    if (has_lint) {
        write_lint(stream, class, &result->lint);
    }
    if (result->has_reference) {
        write_finding(stream, class, "reference", &result->reference, &result->evidence);
    }
    for (uint32_t i = 0; i < result->finding_count; i++) {
        const synctest_finding *finding = &result->findings[i];
        write_finding(stream, class, synctest_perturbation_of(finding->perturbation)->name, finding,
                      &result->evidence);
    }
    fprintf(stream, "</testsuite>");
}

ls_status synctest_result_write_junit(const synctest_result *result, const char *path, ls_text *why)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    if (!stream) {
        return ls_fail(LS_NO_MEMORY, why, "%s", ls_status_text(LS_NO_MEMORY));
    }
    write_suite(stream, result);
    fclose(stream);
    ls_status status = ls_output_write(path, text, why);
    free(text);
    return status;
}
