#include "lockstep/server/service/agones.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/program/token_key.h"
#include "lockstep/server/service/agones_plan.h"
#include "lockstep/server/service/http_fetcher.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TURN_MS = 50,
    TIMEOUT_MS = 3000,          /* of one request */
    FAILURES_TOLD = 3,          /* in a row, before the log says so */
    FAILURES_LAST = 6,          /* in a row, before a goodbye is given up */
    LINE_BYTES_MAX = 256 << 10, /* of the stream: a game server with all its annotations */
    WATCH_AGAIN_MS = 1000,      /* after the stream has ended */
    URL_BYTES = 128,
};

struct ls_agones {
    ls_agones_config config;
    ls_agones_plan plan;
    ls_http_fetcher *fetcher;
    ls_agones_request request;
    bool is_asking; /* the request is under way */
    ls_agones_opening opening;
    ls_text failure; /* of the request; empty: there was an answer */
    bool is_watching;
    uint64_t watch_again_ns;
    char *line; /* of the stream, so far */
    size_t line_size;
    bool is_absence_told;
    bool has_goodbye; /* it was tried */
};

ls_status ls_agones_find_port(uint16_t *port, ls_text *why)
{
    const char *text = getenv("AGONES_SDK_HTTP_PORT");
    *port = LS_AGONES_PORT;
    if (!text || text[0] == '\0') {
        return LS_OK;
    }
    char *end = NULL;
    unsigned long number = strtoul(text, &end, 10);
    if (*end != '\0' || number == 0 || number > UINT16_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why, "AGONES_SDK_HTTP_PORT is a port, not '%.32s'", text);
    }
    *port = (uint16_t)number;
    return LS_OK;
}

static void on_opened(void *user, const ls_service_result *result)
{
    ls_agones *agones = user;
    ls_agones_plan_opened(&agones->plan, result);
    ls_log_line(agones->config.log, result->status == LS_OK ? LS_LOG_INFO : LS_LOG_ERROR,
                "Agones has allocated this server: %s%s",
                result->status == LS_OK ? "room " : "no room is opened: ", result->text.bytes);
}

/* Workers read the file before they open the room. */
static ls_status take_token_key(ls_agones *agones, ls_text *why)
{
    const ls_agones_opening *opening = &agones->opening;
    if (!opening->has_token_key) {
        return LS_OK;
    }
    if (!agones->config.token_key_path) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "the allocation brings a token key, and this server takes no tokens: its "
                       "configuration needs a token-key");
    }
    return ls_token_key_replace(agones->config.token_key_path, opening->token_key, why);
}

static void open_room(ls_agones *agones)
{
    const ls_service_view *view = agones->config.view;
    ls_service_result failed = {.status = LS_OK};
    failed.status = take_token_key(agones, &failed.text);
    ls_cipher_wipe(agones->opening.token_key, sizeof agones->opening.token_key);
    if (failed.status != LS_OK) {
        on_opened(agones, &failed);
        return;
    }
    ls_service_command command = {.kind = LS_SERVICE_OPEN_ROOM,
                                  .settings = agones->opening.settings};
    memcpy(command.room, agones->opening.name, sizeof command.room);
    view->command(view->user, &command, on_opened, agones);
}

/* Once when it is away, and once when it is there. */
static void tell_absence(ls_agones *agones)
{
    const ls_log *log = agones->config.log;
    if (agones->plan.failures >= FAILURES_TOLD && !agones->is_absence_told) {
        agones->is_absence_told = true;
        ls_log_line(log, LS_LOG_WARNING, "the sidecar of Agones does not take %s %s: %s",
                    agones->request.method, agones->request.path,
                    agones->failure.bytes[0] != '\0' ? agones->failure.bytes : "see its log");
    } else if (agones->plan.failures == 0 && agones->is_absence_told) {
        agones->is_absence_told = false;
        ls_log_line(log, LS_LOG_INFO, "the sidecar of Agones answers");
    }
}

/* Carries out the answer of the plan. */
static void act(ls_agones *agones, ls_status status, const ls_text *why)
{
    if (status != LS_OK) {
        ls_log_line(agones->config.log, LS_LOG_ERROR,
                    "Agones has allocated this server for a room that cannot be: %s", why->bytes);
    }
    if (agones->opening.has_room) {
        open_room(agones);
    }
}

/* ---- the stream of changes ---- */

static void take_line(ls_agones *agones)
{
    ls_text why = {{0}};
    uint64_t now_ns = ls_event_loop_now_ns(agones->config.loop);
    ls_status status = ls_agones_plan_watch(&agones->plan, agones->line, agones->line_size, now_ns,
                                            &agones->opening, &why);
    agones->line_size = 0;
    act(agones, status, &why);
}

static ls_status take_bytes(void *user, const char *bytes, size_t size)
{
    ls_agones *agones = user;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '\n') {
            take_line(agones);
        } else if (agones->line_size == LINE_BYTES_MAX) {
            return LS_FULL;
        } else {
            agones->line[agones->line_size++] = bytes[i];
        }
    }
    return LS_OK;
}

static void on_watched(void *user, ls_status status, const ls_http_got *got, const ls_text *why)
{
    ls_agones *agones = user;
    (void)got;
    uint64_t now_ns = ls_event_loop_now_ns(agones->config.loop);
    agones->is_watching = false;
    agones->watch_again_ns = now_ns + WATCH_AGAIN_MS * LS_NS_PER_MS;
    ls_log_line(agones->config.log, LS_LOG_DEBUG, "the sidecar's stream has ended%s%s",
                status == LS_OK ? "" : ": ", why->bytes);
}

static void write_url(const ls_agones *agones, const char *path, char url[URL_BYTES])
{
    snprintf(url, URL_BYTES, "http://127.0.0.1:%u%s", (unsigned)agones->config.port, path);
}

/* Once the sidecar is there. */
static void watch(ls_agones *agones, uint64_t now_ns)
{
    char url[URL_BYTES];
    if (agones->is_watching || !agones->plan.is_ready_told || agones->plan.failures > 0 ||
        agones->plan.is_shutdown_told || now_ns < agones->watch_again_ns) {
        return;
    }
    write_url(agones, "/watch/gameserver", url);
    const ls_http_ask ask = {.method = "GET", .url = url, .take = take_bytes, .user = agones};
    agones->line_size = 0;
    agones->is_watching = ls_http_fetcher_start(agones->fetcher, &ask, on_watched, agones) == LS_OK;
}

/* ---- requests ---- */

static void tell_what_the_fleet_lacks(const ls_agones *agones, bool had_no_counter,
                                      bool had_no_list)
{
    if (agones->plan.has_no_counter && !had_no_counter) {
        ls_log_line(agones->config.log, LS_LOG_INFO, "the fleet has no counter 'rooms'");
    }
    if (agones->plan.has_no_list && !had_no_list) {
        ls_log_line(agones->config.log, LS_LOG_INFO, "the fleet has no list 'players'");
    }
}

static void on_answered(void *user, ls_status status, const ls_http_got *got,
                        const ls_text *failure)
{
    ls_agones *agones = user;
    ls_text why = {{0}};
    bool had_no_counter = agones->plan.has_no_counter;
    bool had_no_list = agones->plan.has_no_list;
    uint64_t now_ns = ls_event_loop_now_ns(agones->config.loop);
    agones->is_asking = false;
    agones->failure = *failure;
    unsigned answer = status == LS_OK ? got->status : 0;
    status = ls_agones_plan_reply(&agones->plan, &agones->request, answer, got->body, got->size,
                                  now_ns, &agones->opening, &why);
    tell_absence(agones);
    act(agones, status, &why);
    tell_what_the_fleet_lacks(agones, had_no_counter, had_no_list);
    if (agones->request.step == LS_AGONES_SHUTDOWN) {
        agones->has_goodbye =
            agones->plan.is_shutdown_told || agones->plan.failures >= FAILURES_LAST;
    }
}

static void ask(ls_agones *agones)
{
    const ls_agones_request *request = &agones->request;
    char url[URL_BYTES];
    write_url(agones, request->path, url);
    const ls_http_ask ask = {.method = request->method,
                             .url = url,
                             .body = request->body[0] != '\0' ? request->body : NULL,
                             .timeout_ms = TIMEOUT_MS};
    agones->is_asking = ls_http_fetcher_start(agones->fetcher, &ask, on_answered, agones) == LS_OK;
}

static void on_turn(void *user, uint64_t now_ns)
{
    ls_agones *agones = user;
    if (!agones->is_asking) {
        ls_agones_plan_next(&agones->plan, agones->config.view, now_ns, &agones->request);
        if (agones->request.step != LS_AGONES_NOTHING) {
            ask(agones);
        }
    }
    watch(agones, now_ns);
}

bool ls_agones_has_said_goodbye(const ls_agones *agones)
{
    return agones->has_goodbye;
}

ls_status ls_agones_create(const ls_agones_config *config, ls_agones **out)
{
    ls_agones *agones = ls_allocate(ls_allocator_heap(), sizeof *agones);
    if (!agones) {
        return LS_NO_MEMORY;
    }
    agones->config = *config;
    agones->line = ls_allocate(ls_allocator_heap(), LINE_BYTES_MAX);
    ls_status status = agones->line ? LS_OK : LS_NO_MEMORY;
    if (status == LS_OK) {
        status = ls_http_fetcher_create(config->loop, &agones->fetcher);
    }
    if (status == LS_OK) {
        status = ls_event_loop_add_timer(config->loop, TURN_MS, (ls_loop_handler){on_turn, agones},
                                         NULL);
    }
    if (status != LS_OK) {
        ls_agones_destroy(agones);
        return status;
    }
    *out = agones;
    return LS_OK;
}

void ls_agones_destroy(ls_agones *agones)
{
    if (agones) {
        ls_http_fetcher_destroy(agones->fetcher);
        ls_release(ls_allocator_heap(), agones->line);
        ls_release(ls_allocator_heap(), agones);
    }
}
