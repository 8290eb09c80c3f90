#include "lockstep/tools/synctest/lint.h"

#include <inttypes.h>
#include <string.h>

void synctest_lint_add(synctest_lint_report *report, const synctest_lint_item *item)
{
    report->errors += item->is_error;
    report->warnings += !item->is_error;
    if (report->count == SYNCTEST_LINT_ITEMS_MAX) {
        report->left_out++;
        return;
    }
    report->items[report->count++] = *item;
}

bool synctest_lint_has_topic(const synctest_lint_report *report, const char *topic)
{
    for (uint32_t i = 0; i < report->count; i++) {
        if (strcmp(report->items[i].topic, topic) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- as text ---- */

enum {
    NAMED_CALLS = 3,
};

void synctest_lint_text_item(const synctest_lint_item *item, ls_text *out)
{
    ls_text_set(out, "lint: %s", item->name);
    if (item->kind == SYNCTEST_LINT_INSTRUCTION) {
        ls_text_add(out, " %" PRIu64 " times", item->count);
    } else if (item->kind == SYNCTEST_LINT_STATIC || item->kind == SYNCTEST_LINT_TYPE) {
        ls_text_add(out, ", %" PRIu64 " bytes", item->count);
    }
    if (item->place[0] != '\0') {
        ls_text_add(out, " in %s", item->place);
    }
    if (item->library[0] != '\0') {
        ls_text_add(out, " in the library %s", item->library);
    }
    ls_text_add(out, " [%s]: %s%s%s", item->topic, item->why, item->instead[0] ? "; " : "",
                item->instead);
}

static bool is_call_of(const synctest_lint_item *item, const char *library)
{
    return item->kind == SYNCTEST_LINT_CALL && strcmp(item->library, library) == 0;
}

bool synctest_lint_text_fold(const synctest_lint_report *report, uint32_t index, ls_text *out)
{
    const char *library = report->items[index].library;
    ls_text_set(out, "%s", "");
    if (library[0] == '\0' || !is_call_of(&report->items[index], library)) {
        return false;
    }
    ls_text names = {""};
    uint32_t calls = 0;
    for (uint32_t i = 0; i < report->count; i++) {
        if (!is_call_of(&report->items[i], library)) {
            continue;
        }
        if (i < index) {
            return true; /* told with an earlier one */
        }
        if (calls++ < NAMED_CALLS) {
            ls_text_add(&names, "%s%s", calls > 1 ? ", " : "", report->items[i].name);
        }
    }
    ls_text_set(out, "lint: %s calls %" PRIu32 " function%s not known to be safe%s%s (all: -v)",
                library, calls, calls == 1 ? " that is" : "s that are",
                calls > NAMED_CALLS ? ", such as " : ": ", names.bytes);
    return true;
}
