#define _GNU_SOURCE
#include "lockstep/tools/admin/admin_events.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    LINE_BYTES_MAX = 16384,
    IDLE_TIMEOUT_S = 45, /* a comment comes every 10 s */
};

typedef struct follower {
    bool prints_json;
    bool has_come;   /* something, in this stream */
    uint64_t newest; /* number; 0: none has come */
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
        (void)ls_json_read_u64(event, "number", &to->newest);
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
    to->has_come = true;
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

/* One stream, to its end. */
static ls_status follow(const admin_service *service, follower *to, ls_text *why)
{
    char url[ADMIN_URL_BYTES_MAX];
    char last[48];
    ls_http_ask ask = admin_request(service, "GET", "events", url);
    ls_http_got got = {0};
    snprintf(last, sizeof last, "Last-Event-ID: %" PRIu64, to->newest);
    ask.header = to->newest > 0 ? last : NULL;
    ask.timeout_ms = 0;
    ask.idle_timeout_s = IDLE_TIMEOUT_S;
    ask.take = take_bytes;
    ask.user = to;
    to->size = 0;
    to->has_come = false;
    ls_status status = ls_http_client_ask(&ask, &got, why);
    if (status == LS_OK && got.status != 200) {
        status = admin_refusal(&got, why);
    }
    ls_http_got_deinit(&got);
    return status;
}

/* Whether another try may find a service that is started again. */
static bool is_lost(ls_status status)
{
    return status == LS_OK || status == LS_REFUSED || status == LS_DISCONNECTED ||
           status == LS_TIMED_OUT || status == LS_IO;
}

ls_status admin_follow_events(const admin_service *service, bool prints_json, ls_text *why)
{
    const struct timespec pause = {.tv_sec = 1};
    follower to = {.prints_json = prints_json};
    ls_status status = follow(service, &to, why);
    uint32_t lost_s = to.has_come ? 0 : service->retry_s; /* one that was never there is not lost */
    while (is_lost(status) && lost_s < service->retry_s) {
        if (lost_s++ == 0) {
            fprintf(stderr,
                    "lockstep-admin: the service is gone: looking for it for %" PRIu32 " s\n",
                    service->retry_s);
        }
        nanosleep(&pause, NULL);
        ls_text_set(why, "%s", "");
        status = follow(service, &to, why);
        lost_s = to.has_come ? 0 : lost_s;
    }
    return status;
}
