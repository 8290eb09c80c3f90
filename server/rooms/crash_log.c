#define _POSIX_C_SOURCE 200809L
#include "lockstep/server/rooms/crash_log.h"

#include "lockstep/common/loader/plugin_crash.h"
#include "lockstep/common/system/system_clock.h"

#include <string.h>

enum {
    TITLE_BYTES_MAX = 64,
    SIMULATION_BYTES_MAX = 512,
    MESSAGE_BYTES_MAX = 2048,
    LINE_BYTES_MAX = 3072,
};

typedef struct noted_match {
    char title[TITLE_BYTES_MAX];
    char simulation[SIMULATION_BYTES_MAX]; /* "": the one that was loaded last */
    uint64_t match_id;
} noted_match;

/* A handler is given nothing but the number of its signal. */
static struct {
    const ls_console *console;
    const uint32_t *at_work;
    uint32_t own_place;
    noted_match matches[LS_CRASH_LOG_OPENING + 1];
} noted;

static const noted_match *find_match(void)
{
    uint32_t number = noted.at_work ? *noted.at_work : 0;
    return number > 0 && number <= LS_CRASH_LOG_OPENING + 1 ? &noted.matches[number - 1] : NULL;
}

static const char *name_simulation(void *user)
{
    const noted_match *match = find_match();
    (void)user;
    return match && match->simulation[0] != '\0' ? match->simulation : NULL;
}

static void write_line(const ls_log_entry *entry)
{
    char bytes[LINE_BYTES_MAX];
    ls_plain_text line = {.bytes = bytes, .capacity = sizeof bytes};
    bool is_text = noted.console->format == LS_LOG_FORMAT_TEXT;
    ls_plain_text_add(&line, is_text ? "\n" : ""); /* what is drawn there ends without one */
    ls_log_format_add(noted.console->format, entry, &line);
    ls_nonblocking_writer writer = noted.console->writer; /* a crash waits for no reader either */
    (void)ls_nonblocking_writer_write(&writer, bytes, line.size);
}

static void report(void *user, const char *sentence)
{
    const noted_match *match = find_match();
    char bytes[MESSAGE_BYTES_MAX];
    ls_plain_text message = {.bytes = bytes, .capacity = sizeof bytes};
    (void)user;
    if (match && match->match_id != 0) {
        ls_plain_text_add(&message, "match ");
        ls_plain_text_add_hash(&message, match->match_id);
        ls_plain_text_add(&message, ": ");
    }
    ls_plain_text_add(&message, sentence);
    const ls_log_entry entry = {.unix_ms = ls_clock_unix_ms(),
                                .level = LS_LOG_ERROR,
                                .program = noted.console->program,
                                .subject = match ? match->title : "",
                                .message = bytes};
    write_line(&entry);
}

void ls_crash_log_begin(const ls_console *console)
{
    const ls_plugin_crash_reporter reporter = {.name = name_simulation, .report = report};
    noted.console = console;
    noted.at_work = noted.at_work ? noted.at_work : &noted.own_place;
    ls_plugin_crash_report_to(&reporter);
}

uint32_t *ls_crash_log_place(void)
{
    return &noted.own_place;
}

void ls_crash_log_watch(const uint32_t *at_work)
{
    noted.at_work = at_work;
}

void ls_crash_log_note(uint32_t match, const ls_crash_log_match *about)
{
    if (match > LS_CRASH_LOG_OPENING) {
        return;
    }
    noted_match *row = &noted.matches[match];
    memset(row, 0, sizeof *row);
    if (about) {
        row->match_id = about->match_id;
        ls_name_copy(row->title, sizeof row->title, about->title ? about->title : "");
        ls_name_copy(row->simulation, sizeof row->simulation,
                     about->simulation ? about->simulation : "");
    }
}
