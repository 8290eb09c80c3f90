#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/program/html.h"
#include "lockstep/common/system/output.h"
#include "lockstep/tools/synctest/result.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void begin_case(ls_html *xml, const char *class, const char *name, uint64_t took_ns)
{
    ls_text text = {""};
    ls_html_begin(xml, "testcase");
    ls_text_set(&text, "lockstep-synctest.%s", class);
    ls_html_attribute(xml, "classname", text.bytes);
    ls_html_attribute(xml, "name", name);
    ls_text_set(&text, "%" PRIu64 ".%03u", took_ns / 1000000000u,
                (unsigned)(took_ns / 1000000u % 1000u));
    ls_html_attribute(xml, "time", text.bytes);
}

static void write_failure(ls_html *xml, const char *type, const char *message, const char *details)
{
    ls_html_begin(xml, "failure");
    ls_html_attribute(xml, "type", type);
    ls_html_attribute(xml, "message", message);
    ls_html_text(xml, details);
    ls_html_end(xml);
}

static void write_finding(ls_html *xml, const char *class, const char *name,
                          const synctest_finding *finding, const synctest_evidence *evidence)
{
    begin_case(xml, class, name, finding->took_ns);
    if (finding->outcome.kind == SYNCTEST_OUTCOME_SKIPPED) {
        ls_html_begin(xml, "skipped");
        ls_html_attribute(xml, "message", finding->outcome.text.bytes);
        ls_html_end(xml);
    } else if (synctest_finding_is_bad(finding)) {
        ls_text where = {""};
        ls_text cause = {""};
        synctest_finding_describe(finding, evidence, &where, &cause);
        write_failure(xml, synctest_finding_word(finding), where.bytes, cause.bytes);
    }
    ls_html_end(xml);
}

static void write_lint(ls_html *xml, const char *class, const synctest_lint_report *report)
{
    begin_case(xml, class, "lint", 0);
    for (uint32_t i = 0; i < report->count; i++) {
        const synctest_lint_item *item = &report->items[i];
        if (item->is_error) {
            ls_text message = {""};
            ls_text_set(&message, "%s: %s", item->name, item->why);
            write_failure(xml, item->topic, message.bytes, item->instead);
        }
    }
    ls_html_end(xml);
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
    ls_html xml = ls_xml_document(stream);
    ls_html_begin(&xml, "testsuite");
    ls_html_attribute(&xml, "name", class);
    ls_html_number_attribute(&xml, "tests",
                             result->finding_count + has_lint + result->has_reference);
    ls_html_number_attribute(&xml, "failures",
                             result->failed + (result->lint.errors > 0) + is_reference_bad);
    ls_html_number_attribute(&xml, "skipped", skipped);
    if (has_lint) {
        write_lint(&xml, class, &result->lint);
    }
    if (result->has_reference) {
        write_finding(&xml, class, "reference", &result->reference, &result->evidence);
    }
    for (uint32_t i = 0; i < result->finding_count; i++) {
        const synctest_finding *finding = &result->findings[i];
        write_finding(&xml, class, synctest_perturbation_of(finding->perturbation)->name, finding,
                      &result->evidence);
    }
    ls_html_end(&xml);
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
