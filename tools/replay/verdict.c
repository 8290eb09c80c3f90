#include "lockstep/tools/replay/verdict.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/program/html.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint32_t count_of(const replay_verdict *verdicts, uint32_t count, replay_verdict_kind kind)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        found += verdicts[i].kind == kind ? 1 : 0;
    }
    return found;
}

ls_exit_code replay_verdicts_exit(const replay_verdict *verdicts, uint32_t count)
{
    if (count_of(verdicts, count, REPLAY_DIFFERS) > 0) {
        return LS_EXIT_DESYNC;
    }
    return count_of(verdicts, count, REPLAY_UNVERIFIED) > 0 ? LS_EXIT_ENVIRONMENT : LS_EXIT_CLEAN;
}

void replay_verdicts_sum(const replay_verdict *verdicts, uint32_t count, ls_text *out)
{
    ls_text_set(out,
                "%" PRIu32 " journals: %" PRIu32 " right, %" PRIu32 " different, %" PRIu32
                " could not be verified",
                count, count_of(verdicts, count, REPLAY_RIGHT),
                count_of(verdicts, count, REPLAY_DIFFERS),
                count_of(verdicts, count, REPLAY_UNVERIFIED));
}

void replay_verdicts_json(const replay_verdict *verdicts, uint32_t count, ls_json *json)
{
    static const char *const words[] = {"right", "different", "unverified"};
    ls_json *list = ls_json_array(json, "journals");
    for (uint32_t i = 0; i < count; i++) {
        const replay_verdict *verdict = &verdicts[i];
        ls_json *item = ls_json_append(list);
        ls_json_text(item, "file", verdict->path);
        ls_json_text(item, "verdict", words[verdict->kind]);
        ls_json_text(item, "status", verdict->status);
        ls_json_text(item, "why", verdict->why.bytes[0] != '\0' ? verdict->why.bytes : NULL);
        ls_json_number(item, "ticks", (double)verdict->ticks);
        ls_json_number(item, "state_hashes", (double)verdict->state_hashes);
        ls_json_ms(item, "took_ms", verdict->took_ns);
    }
}

/* ---- JUnit ---- */

static void time_attribute(ls_html *xml, uint64_t ns)
{
    char text[32];
    snprintf(text, sizeof text, "%.3f", (double)ns / 1e9);
    ls_html_attribute(xml, "time", text);
}

static void counts(ls_html *xml, const replay_verdict *verdicts, uint32_t count, uint64_t took_ns)
{
    ls_html_attribute(xml, "name", "lockstep-replay verify");
    ls_html_number_attribute(xml, "tests", count);
    ls_html_number_attribute(xml, "failures", count_of(verdicts, count, REPLAY_DIFFERS));
    ls_html_number_attribute(xml, "errors", count_of(verdicts, count, REPLAY_UNVERIFIED));
    time_attribute(xml, took_ns);
}

static void write_case(ls_html *xml, const replay_verdict *verdict)
{
    ls_html_begin(xml, "testcase");
    ls_html_attribute(xml, "classname", "lockstep.journal");
    ls_html_attribute(xml, "name", verdict->path);
    time_attribute(xml, verdict->took_ns);
    if (verdict->kind == REPLAY_RIGHT) {
        ls_html_end(xml);
        return;
    }
    ls_html_begin(xml, verdict->kind == REPLAY_DIFFERS ? "failure" : "error");
    ls_html_attribute(xml, "type", verdict->status);
    ls_html_attribute(xml, "message", verdict->why.bytes);
    ls_html_text(xml, verdict->why.bytes);
    ls_html_end(xml);
    ls_html_end(xml);
}

static void write_cases(FILE *file, const replay_verdict *verdicts, uint32_t count,
                        uint64_t took_ns)
{
    ls_html xml = ls_xml_document(file);
    ls_html_begin(&xml, "testsuites");
    counts(&xml, verdicts, count, took_ns);
    ls_html_begin(&xml, "testsuite");
    counts(&xml, verdicts, count, took_ns);
    for (uint32_t i = 0; i < count; i++) {
        write_case(&xml, &verdicts[i]);
    }
    ls_html_end(&xml);
    ls_html_end(&xml);
    fputc('\n', file);
}

ls_status replay_verdicts_junit(const replay_verdict *verdicts, uint32_t count, uint64_t took_ns,
                                const char *path, ls_text *why)
{
    bool is_output = strcmp(path, "-") == 0;
    FILE *file = is_output ? stdout : fopen(path, "w");
    if (!file) {
        return ls_fail(LS_IO, why, "cannot write %s: %s", path, strerror(errno));
    }
    write_cases(file, verdicts, count, took_ns);
    bool is_written = fflush(file) == 0 && !ferror(file);
    if (!is_output) {
        is_written = fclose(file) == 0 && is_written;
    }
    return is_written ? LS_OK : ls_fail(LS_IO, why, "cannot write %s: %s", path, strerror(errno));
}
