#include "lockstep/common/loader/plugin_crash.h"

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/system/signals.h"

#include <stdint.h>

enum {
    NAME_BYTES_MAX = 512,
    LINE_BYTES_MAX = 2048,
};

static char watched[NAME_BYTES_MAX]; /* the simulation's name */
static ls_plugin_crash_reporter reporter;

#define CASE_TEXT(name, text) LS_CASE(LS_PLUGIN_CALL_##name, text)

static LS_CASE_FUNCTION(const char *, call_text, ls_plugin_call, LS_PLUGIN_CALL_MAP, CASE_TEXT,
                        "outside of the simulation")

    static void add_place(ls_plain_text *line, const ls_plugin_place *place)
{
    if (place->call == LS_PLUGIN_CALL_PASS) {
        ls_plain_text_add(line, "in pass '");
        ls_plain_text_add_clean(line, place->pass);
        ls_plain_text_add(line, "' of tick ");
        ls_plain_text_add_number(line, place->tick, 1);
    } else {
        ls_plain_text_add(line, call_text(place->call));
    }
}

static void add_sentence(ls_plain_text *line, const char *name, const char *verb, const char *by)
{
    ls_plain_text_add(line, "simulation '");
    ls_plain_text_add(line, name);
    ls_plain_text_add(line, "' ");
    ls_plain_text_add(line, verb);
    ls_plain_text_add(line, " ");
    add_place(line, &ls_plugin_place_here);
    ls_plain_text_add(line, " (");
    ls_plain_text_add(line, by);
    ls_plain_text_add(line, "); lockstep-synctest ");
    ls_plain_text_add(line, name);
    ls_plain_text_add(line, " looks for the cause");
}

/* A crash of our own code has no words but the system's. */
static void report(const char *verb, const char *by)
{
    if (ls_plugin_place_here.call == LS_PLUGIN_CALL_NONE) {
        return;
    }
    char bytes[LINE_BYTES_MAX];
    ls_plain_text line = {.bytes = bytes, .capacity = sizeof bytes};
    const char *name = reporter.name ? reporter.name(reporter.user) : NULL;
    ls_plain_text_add(&line, reporter.report ? "" : "\nerror: ");
    add_sentence(&line, name ? name : watched, verb, by);
    if (reporter.report) {
        reporter.report(reporter.user, bytes);
        return;
    }
    ls_plain_text_add(&line, "\n");
    ls_crash_signal_write(bytes, line.size);
}

static void on_crash(const ls_crash *crash)
{
    report("crashed", ls_crash_signal_text(crash->signal_number));
}

static void on_hang(void)
{
    report("hangs", "a second signal ended the program");
}

void ls_plugin_crash_report_to(const ls_plugin_crash_reporter *by)
{
    reporter = *by;
}

void ls_plugin_crash_watch(const char *name)
{
    ls_name_copy(watched, sizeof watched, name);
    ls_crash_signal_watch(on_crash, false);
    ls_signals_watch_unanswered(on_hang);
}
