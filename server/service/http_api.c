#include "lockstep/server/service/http_api.h"

#include "lockstep/common/base/limits.h"

#include <stdlib.h>
#include <string.h>

static uint32_t players_here(const ls_room_report *room)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < LS_MIN(room->player_count, LS_PLAYERS_MAX); i++) {
        count += room->players[i].is_here;
    }
    return count;
}

static double mean_of(const ls_room_histogram *histogram)
{
    return histogram->count > 0 ? histogram->sum_ms / (double)histogram->count : 0;
}

static void add_invite(const ls_service_view *view, const ls_room_report *room, ls_json *json)
{
    char invite[1024] = "";
    view->invite(view->user, room, invite, sizeof invite);
    ls_json_text(json, "invite", invite);
}

/* A room in the list of all: what a table shows. */
static void write_line(const ls_service_view *view, const ls_room_report *room, ls_json *json)
{
    uint64_t desyncs = 0;
    for (uint32_t i = 0; i < LS_DESYNC_CLASS_COUNT; i++) {
        desyncs += room->counters.desyncs[i];
    }
    ls_room_report_write_line(room, json);
    ls_json_number(json, "players", players_here(room));
    ls_json_number(json, "desyncs", (double)desyncs);
    ls_json_number(json, "lateness_mean_ms", mean_of(&room->counters.lateness));
    ls_json_number(json, "confirm_mean_ms", mean_of(&room->counters.confirm));
    add_invite(view, room, json);
}

void ls_http_get_rooms(const ls_http_call *of)
{
    const ls_service_view *view = of->view;
    ls_json *json = ls_json_create();
    ls_json *rooms = ls_json_array(json, "rooms");
    for (uint32_t i = 0; i < view->room_count(view->user); i++) {
        write_line(view, view->room(view->user, i), ls_json_append(rooms));
    }
    ls_http_answer_json_take(of->exchange, 200, json);
}

void ls_http_get_room(const ls_http_call *of)
{
    const ls_service_view *view = of->view;
    uint32_t low = 0;
    uint32_t high = view->room_count(view->user);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const ls_room_report *room = view->room(view->user, middle);
        int order = strcmp(of->command.room, room->name);
        if (order == 0) {
            ls_json *json = ls_json_create();
            ls_room_report_write(room, json);
            add_invite(view, room, json);
            ls_http_answer_json_take(of->exchange, 200, json);
            return;
        }
        low = order > 0 ? middle + 1 : low;
        high = order < 0 ? middle : high;
    }
    ls_http_answer_error(of->exchange, 404, "there is no room '%s'", of->command.room);
}

#define OF_WORKER(member) LS_JSON_FIELD(ls_worker_report, member)

static const ls_json_field worker_fields[] = {
    OF_WORKER(worker),
    OF_WORKER(pid),
    OF_WORKER(rooms),
    OF_WORKER(players),
    OF_WORKER(starts),
    OF_WORKER(load),
    OF_WORKER(cpu_ms),
    OF_WORKER(memory_bytes),
    OF_WORKER(datagrams_dropped),
    OF_WORKER(clients_denied),
    OF_WORKER(tokens_refused),
};

void ls_http_get_workers(const ls_http_call *of)
{
    const ls_service_view *view = of->view;
    ls_json *json = ls_json_create();
    ls_json *workers = ls_json_array(json, "workers");
    for (uint32_t i = 0; i < view->worker_count(view->user); i++) {
        ls_json *worker = ls_json_append(workers);
        LS_JSON_ADD(worker, worker_fields, view->worker(view->user, i));
    }
    ls_http_answer_json_take(of->exchange, 200, json);
}

void ls_http_get_service(const ls_http_call *of)
{
    const ls_service_view *view = of->view;
    ls_text why = {{0}};
    bool is_ready = view->is_ready(view->user, &why);
    double players = 0;
    double spectators = 0;
    for (uint32_t i = 0; i < view->room_count(view->user); i++) {
        players += players_here(view->room(view->user, i));
        spectators += view->room(view->user, i)->spectators;
    }
    ls_json *json = ls_json_create();
    ls_json_text(json, "version", LS_VERSION);
    ls_json_bool(json, "ready", is_ready);
    ls_json_text(json, "why_not", is_ready ? NULL : why.bytes);
    ls_json_bool(json, "draining", view->is_draining(view->user));
    ls_json_number(json, "rooms", view->room_count(view->user));
    ls_json_number(json, "workers", view->worker_count(view->user));
    ls_json_number(json, "players", players);
    ls_json_number(json, "spectators", spectators);
    ls_json_number(json, "rooms_opened", (double)view->rooms_opened(view->user));
    ls_json_number(json, "rooms_ended", (double)view->rooms_ended(view->user));
    ls_http_answer_json_take(of->exchange, 200, json);
}

/* From behind the last one that the client has; otherwise all that are kept. A number that has not
 * come yet is of an earlier run of the service, whose numbers began at 1 as well. */
void ls_http_get_events(const ls_http_call *of)
{
    const char *last = of->request->last_event_id;
    char *end = NULL;
    uint64_t number = last ? strtoull(last, &end, 10) : 0;
    bool is_number = last && end != last && *end == '\0' && number < UINT64_MAX &&
                     of->view->event(of->view->user, number) != NULL;
    of->exchange->reply.status = 200;
    of->exchange->reply.type = "text/event-stream";
    of->exchange->reply.is_event_stream = true;
    of->exchange->reply.first_event = is_number ? number + 1 : 1;
    ls_http_answer_done(of->exchange);
}
