#include "lockstep/server/service/agones.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/program/http_client.h"
#include "lockstep/server/service/agones_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TURN_MS = 50,
    TIMEOUT_MS = 3000, /* of one request */
    FAILURES_TOLD = 3, /* in a row, before the log says so */
    FAILURES_LAST = 6, /* in a row, before a goodbye is given up */
};

struct ls_agones {
    ls_agones_config config;
    ls_agones_plan plan;
    ls_loop_job *job;
    ls_agones_request request; /* that the job has */
    ls_agones_opening opening;
    ls_http_got got;
    ls_text failure; /* of the request; empty: there was an answer */
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

/* In a thread of the pool. */
static void work(void *user)
{
    ls_agones *agones = user;
    const ls_agones_request *request = &agones->request;
    char url[128];
    snprintf(url, sizeof url, "http://127.0.0.1:%u%s", (unsigned)agones->config.port,
             request->path);
    const ls_http_ask ask = {.method = request->method,
                             .url = url,
                             .body = request->body[0] != '\0' ? request->body : NULL,
                             .timeout_ms = TIMEOUT_MS};
    agones->got = (ls_http_got){.status = 0};
    agones->failure = (ls_text){{0}};
    (void)ls_http_client_ask(&ask, &agones->got, &agones->failure);
}

static void on_opened(void *user, const ls_service_result *result)
{
    ls_agones *agones = user;
    ls_agones_plan_opened(&agones->plan, result);
    ls_log_line(agones->config.log, result->status == LS_OK ? LS_LOG_INFO : LS_LOG_ERROR,
                "Agones has allocated this server: %s%s",
                result->status == LS_OK ? "room " : "no room is opened: ", result->text.bytes);
}

static void open_room(ls_agones *agones)
{
    const ls_service_view *view = agones->config.view;
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

static void on_answered(void *user, uint64_t now_ns)
{
    ls_agones *agones = user;
    ls_text why = {{0}};
    bool had_no_counter = agones->plan.has_no_counter;
    bool had_no_list = agones->plan.has_no_list;
    ls_status status =
        ls_agones_plan_reply(&agones->plan, &agones->request, agones->got.status, agones->got.body,
                             agones->got.size, now_ns, &agones->opening, &why);
    tell_absence(agones);
    if (status != LS_OK) {
        ls_log_line(agones->config.log, LS_LOG_ERROR,
                    "Agones has allocated this server for a room that cannot be: %s", why.bytes);
    }
    if (agones->opening.has_room) {
        open_room(agones);
    }
    if (agones->plan.has_no_counter && !had_no_counter) {
        ls_log_line(agones->config.log, LS_LOG_INFO, "the fleet has no counter 'rooms'");
    }
    if (agones->plan.has_no_list && !had_no_list) {
        ls_log_line(agones->config.log, LS_LOG_INFO, "the fleet has no list 'players'");
    }
    if (agones->request.step == LS_AGONES_SHUTDOWN) {
        agones->has_goodbye =
            agones->plan.is_shutdown_told || agones->plan.failures >= FAILURES_LAST;
    }
    ls_http_got_deinit(&agones->got);
}

static void on_turn(void *user, uint64_t now_ns)
{
    ls_agones *agones = user;
    if (ls_loop_job_is_running(agones->job)) {
        return;
    }
    ls_agones_plan_next(&agones->plan, agones->config.view, now_ns, &agones->request);
    if (agones->request.step != LS_AGONES_NOTHING) {
        ls_loop_job_start(agones->job);
    }
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
    ls_loop_handler answered = {on_answered, agones};
    ls_status status = ls_loop_job_create(config->loop, work, answered, &agones->job);
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
        ls_loop_job_destroy(agones->job);
        ls_http_got_deinit(&agones->got);
        ls_release(ls_allocator_heap(), agones);
    }
}
