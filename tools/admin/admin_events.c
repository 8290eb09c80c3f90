#define _GNU_SOURCE
#include "lockstep/tools/admin/admin_events.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    LINE_BYTES_MAX = 16384,
    IDLE_TIMEOUT_S = 45, /* a comment comes every 10 s */
};

typedef struct follower {
    bool prints_json;
    char line[LINE_BYTES_MAX];
    size_t size;
} follower;

static void print_event(const ls_json *event)
{
    uint64_t unix_ms = 0;
    const char *room = ls_json_read_text(event, "room");
    const char *sentence = ls_json_read_text(event, "text");
    (void)ls_json_read_u64(event, "unix_ms", &unix_ms);
    const time_t seconds = (time_t)(unix_ms / 1000);
    struct tm local;
    char when[32] = "";
    if (localtime_r(&seconds, &local)) {
        strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &local);
    }
    ls_text line;
    ls_text_set(&line, "%s  %s%s%s", when, room ? room : "", room && room[0] ? ": " : "",
                sentence ? sentence : "");
    ls_text_make_printable(line.bytes, strlen(line.bytes));
    puts(line.bytes);
}

static void take_line(follower *to)
{
    static const char start[] = "data: ";
    size_t skip = sizeof start - 1;
    if (to->size <= skip || memcmp(to->line, start, skip) != 0) {
        return;
    }
    ls_json *event = ls_json_parse(to->line + skip, to->size - skip);
    if (ls_json_is_object(event)) {
        if (to->prints_json) {
            (void)ls_json_write_line(event, stdout);
        } else {
            print_event(event);
        }
    }
    ls_json_destroy(event);
}

static ls_status take_bytes(void *user, const char *bytes, size_t size)
{
    follower *to = user;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '\n') {
            take_line(to);
            to->size = 0;
        } else if (to->size == LINE_BYTES_MAX) {
            return LS_MALFORMED;
        } else {
            to->line[to->size++] = bytes[i];
        }
    }
    return fflush(stdout) == 0 ? LS_OK : LS_IO;
}

ls_status admin_follow_events(const admin_service *service, bool prints_json, ls_text *why)
{
    follower to = {.prints_json = prints_json};
    char url[ADMIN_URL_BYTES_MAX];
    ls_http_ask ask = admin_request(service, "GET", "events", url);
    ls_http_got got = {0};
    ask.timeout_ms = 0;
    ask.idle_timeout_s = IDLE_TIMEOUT_S;
    ask.take = take_bytes;
    ask.user = &to;
    ls_status status = ls_http_client_ask(&ask, &got, why);
    if (status == LS_OK && got.status != 200) {
        status = admin_refusal(&got, why);
    }
    ls_http_got_deinit(&got);
    return status;
}
