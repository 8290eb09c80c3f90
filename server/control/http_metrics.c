#include "lockstep/server/control/http_routes.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/server/service/room_register.h"

#include <inttypes.h>
#include <string.h>

/* The whole service, a room, or the rooms that have no lines of their own. */
typedef struct figures {
    const char *room; /* NULL: the whole service */
    uint32_t players, seats, seats_open, spectators, desynced;
    uint64_t backlog_ticks;
    double tick_rate_hz;
    ls_room_counters counters;
} figures;

static const char others_name[] = "_others";

typedef struct writer {
    const ls_service_view *view;
    ls_http_text *text;
    figures all;
    uint32_t own_count; /* rooms with a row of their own */
    uint32_t row_count; /* with the one of the other rooms behind them, if there is one */
    figures rows[LS_HTTP_METRICS_ROOMS_MAX + 1];
    uint32_t states[LS_ROOM_STATE_COUNT];
    uint32_t unrecorded;
    bool is_summary; /* of what is written now: 20 lines a room at most */
} writer;

static void begin_family(ls_http_text *text, const char *name, const char *type, const char *help)
{
    ls_http_text_add(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* ---- counters of rooms, and of the service ---- */

typedef struct counter_row {
    const char *name;  /* without "lockstep_" or "lockstep_room_", and "_total" */
    const char *label; /* with its value; "": none */
    size_t offset;     /* of a uint64_t of ls_room_counters */
    const char *help;
} counter_row;

static const counter_row counter_rows[] = {
#define COUNTER_ROW(member, name, label, help)                                                     \
    {(name), (label), offsetof(ls_room_counters, member), (help)},
    LS_ROOM_COUNTER_MAP(COUNTER_ROW)
#undef COUNTER_ROW
};

/* Others are for a look at one room, which the API gives as well. */
static bool is_in_summary(const char *name)
{
    static const char *const names[] = {
        "ticks",        "inputs",           "player_bytes",
        "players_lost", "journal_failures", "journal_ticks_missing"};
    bool is_there = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        is_there = is_there || strcmp(names[i], name) == 0;
    }
    return is_there;
}

static uint64_t counter_of(const figures *from, size_t offset)
{
    return *(const uint64_t *)(const void *)((const char *)&from->counters + offset);
}

/* The labels of one line in braces, or nothing. */
static void write_labels(ls_http_text *text, const figures *row, const char *label)
{
    bool has_label = label[0] != '\0';
    if (row->room) {
        ls_http_text_add(text, "{room=\"%s\"%s%s}", row->room, has_label ? "," : "", label);
    } else if (has_label) {
        ls_http_text_add(text, "{%s}", label);
    }
}

static void write_counter(ls_http_text *text, const char *scope, const counter_row *counter,
                          const figures *row)
{
    ls_http_text_add(text, "lockstep_%s%s_total", scope, counter->name);
    write_labels(text, row, counter->label);
    ls_http_text_add(text, " %" PRIu64 "\n", counter_of(row, counter->offset));
}

static void write_counters(const writer *from, const char *scope, const figures *rows,
                           uint32_t count)
{
    for (size_t i = 0; i < sizeof counter_rows / sizeof counter_rows[0]; i++) {
        const counter_row *counter = &counter_rows[i];
        if (from->is_summary && !is_in_summary(counter->name)) {
            continue;
        }
        if (counter->help) {
            ls_http_text_add(from->text,
                             "# HELP lockstep_%s%s_total %s\n# TYPE lockstep_%s%s_total counter\n",
                             scope, counter->name, counter->help, scope, counter->name);
        }
        for (uint32_t row = 0; row < count; row++) {
            write_counter(from->text, scope, counter, &rows[row]);
        }
    }
}

static void write_desyncs(const writer *from, const char *scope, const figures *rows,
                          uint32_t count)
{
    ls_http_text *text = from->text;
    ls_http_text_add(text,
                     "# HELP lockstep_%sdesyncs_total Desyncs found, by class.\n"
                     "# TYPE lockstep_%sdesyncs_total counter\n",
                     scope, scope);
    for (uint32_t row = 0; row < count && from->is_summary; row++) {
        uint64_t sum = 0;
        for (uint32_t i = 0; i < LS_DESYNC_CLASS_COUNT; i++) {
            sum += rows[row].counters.desyncs[i];
        }
        ls_http_text_add(text, "lockstep_%sdesyncs_total", scope);
        write_labels(text, &rows[row], "");
        ls_http_text_add(text, " %" PRIu64 "\n", sum);
    }
    for (uint32_t row = 0; row < count && !from->is_summary; row++) {
        for (uint32_t i = 0; i < LS_DESYNC_CLASS_COUNT; i++) {
            char label[64];
            snprintf(label, sizeof label, "class=\"%s\"", ls_desync_class_word((ls_desync_class)i));
            ls_http_text_add(text, "lockstep_%sdesyncs_total", scope);
            write_labels(text, &rows[row], label);
            ls_http_text_add(text, " %" PRIu64 "\n", rows[row].counters.desyncs[i]);
        }
    }
}

/* ---- histograms ---- */

static const double bin_edges_ms[LS_ROOM_BIN_COUNT - 1] = {
#define BIN_EDGE(ms) (ms),
    LS_ROOM_BINS_MAP(BIN_EDGE)
#undef BIN_EDGE
};

/* In a summary without its bins. */
static void write_histogram(const writer *from, const char *name, const figures *row,
                            const ls_room_histogram *histogram)
{
    ls_http_text *text = from->text;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < LS_ROOM_BIN_COUNT; i++) {
        char label[48] = "le=\"+Inf\"";
        if (i + 1 < LS_ROOM_BIN_COUNT) {
            snprintf(label, sizeof label, "le=\"%g\"", bin_edges_ms[i] / 1e3);
        }
        sum += histogram->bins[i];
        if (!from->is_summary) {
            ls_http_text_add(text, "%s_bucket", name);
            write_labels(text, row, label);
            ls_http_text_add(text, " %" PRIu64 "\n", sum);
        }
    }
    ls_http_text_add(text, "%s_sum", name);
    write_labels(text, row, "");
    ls_http_text_add(text, " %.9g\n%s_count", histogram->sum_ms / 1e3, name);
    write_labels(text, row, "");
    ls_http_text_add(text, " %" PRIu64 "\n", sum);
}

static void write_histograms(const writer *from, const char *scope, const figures *rows,
                             uint32_t count)
{
    char name[64];
    snprintf(name, sizeof name, "lockstep_%stick_lateness_seconds", scope);
    const char *type = from->is_summary ? "summary" : "histogram";
    begin_family(from->text, name, type, "From when a tick is due until it is closed.");
    for (uint32_t i = 0; i < count; i++) {
        write_histogram(from, name, &rows[i], &rows[i].counters.lateness);
    }
    snprintf(name, sizeof name, "lockstep_%sconfirm_latency_seconds", scope);
    begin_family(from->text, name, type,
                 "From a player's input until the closed tick is back at the player.");
    for (uint32_t i = 0; i < count; i++) {
        write_histogram(from, name, &rows[i], &rows[i].counters.confirm);
    }
}

/* ---- gauges ---- */

typedef struct gauge_row {
    const char *name;
    size_t offset; /* of a uint32_t of figures */
    const char *help;
} gauge_row;

static const gauge_row gauge_rows[] = {
    {"players", offsetof(figures, players), "Players who are here."},
    {"players_desynced", offsetof(figures, desynced), "Players whose state differs now."},
    {"seats", offsetof(figures, seats), "Seats of rooms."}, /* of a room it never changes */
    {"seats_open", offsetof(figures, seats_open), "Seats that newcomers find."},
    {"spectators", offsetof(figures, spectators), "Spectators who are here."},
};

static void write_gauges(const writer *from, const char *scope, const figures *rows, uint32_t count)
{
    char name[64];
    for (size_t i = 0; i < sizeof gauge_rows / sizeof gauge_rows[0]; i++) {
        if (from->is_summary && gauge_rows[i].offset == offsetof(figures, seats)) {
            continue;
        }
        snprintf(name, sizeof name, "lockstep_%s%s", scope, gauge_rows[i].name);
        begin_family(from->text, name, "gauge", gauge_rows[i].help);
        for (uint32_t row = 0; row < count; row++) {
            const char *at = (const char *)&rows[row] + gauge_rows[i].offset;
            ls_http_text_add(from->text, "%s", name);
            write_labels(from->text, &rows[row], "");
            ls_http_text_add(from->text, " %" PRIu32 "\n", *(const uint32_t *)(const void *)at);
        }
    }
    snprintf(name, sizeof name, "lockstep_%sjournal_backlog_ticks", scope);
    begin_family(from->text, name, "gauge", "Closed ticks that no journal has yet.");
    for (uint32_t row = 0; row < count; row++) {
        ls_http_text_add(from->text, "%s", name);
        write_labels(from->text, &rows[row], "");
        ls_http_text_add(from->text, " %" PRIu64 "\n", rows[row].backlog_ticks);
    }
}

/* Of rooms alone: a sum has no tick rate. */
static void write_tick_rates(const writer *from)
{
    begin_family(from->text, "lockstep_room_tick_rate_hertz", "gauge",
                 "Ticks a second that the room is to close.");
    for (uint32_t i = 0; i < from->own_count; i++) {
        ls_http_text_add(from->text, "lockstep_room_tick_rate_hertz{room=\"%s\"} %.9g\n",
                         from->rows[i].room, from->rows[i].tick_rate_hz);
    }
}

/* ---- the service and its workers ---- */

static void write_one(ls_http_text *text, const char *name, const char *type, const char *help,
                      uint64_t value)
{
    begin_family(text, name, type, help);
    ls_http_text_add(text, "%s %" PRIu64 "\n", name, value);
}

static void write_service(const writer *from)
{
    const ls_service_view *view = from->view;
    ls_http_text *text = from->text;
    begin_family(text, "lockstep_build_info", "gauge", "1; the version is in the label.");
    ls_http_text_add(text, "lockstep_build_info{version=\"%s\"} 1\n", LS_VERSION);
    write_one(text, "lockstep_ready", "gauge", "1: takes rooms and players.",
              view->is_ready(view->user, NULL));
    write_one(text, "lockstep_draining", "gauge", "1: ends when its last room is over.",
              view->is_draining);
    write_one(text, "lockstep_rooms_opened_total", "counter", "Rooms ever opened.",
              ls_room_register_opened(view->rooms));
    write_one(text, "lockstep_rooms_ended_total", "counter", "Rooms that have ended.",
              ls_room_register_ended(view->rooms));
    begin_family(text, "lockstep_rooms", "gauge", "Rooms that are there, by state.");
    for (uint32_t i = 0; i < LS_ROOM_STATE_COUNT; i++) {
        ls_http_text_add(text, "lockstep_rooms{state=\"%s\"} %" PRIu32 "\n", ls_room_state_word(i),
                         from->states[i]);
    }
}

static void write_storage(const writer *from)
{
    const ls_storage_report *storage = from->view->storage;
    if (!storage) {
        return;
    }
    write_one(from->text, "lockstep_journal_disk_free_bytes", "gauge",
              "Free bytes of the disk of the journals.", storage->free_bytes);
    write_one(from->text, "lockstep_journal_disk_bytes", "gauge",
              "Bytes of the disk of the journals.", storage->bytes);
    write_one(from->text, "lockstep_rooms_unrecorded", "gauge",
              "Rooms that are open and whose journal is not there.", from->unrecorded);
}

static void write_uploads(const writer *from)
{
    const ls_upload_report *uploads = from->view->uploads;
    if (!uploads) {
        return;
    }
    uint64_t now_ms = ls_clock_unix_ms();
    bool is_old = uploads->oldest_unix_ms > 0 && now_ms > uploads->oldest_unix_ms;
    write_one(from->text, "lockstep_uploads_total", "counter", "Journals uploaded.",
              uploads->uploaded);
    write_one(from->text, "lockstep_upload_failures_total", "counter",
              "Commands of [upload] that failed.", uploads->failures);
    write_one(from->text, "lockstep_uploads_waiting", "gauge",
              "Closed journals that have not been uploaded.", uploads->waiting);
    write_one(from->text, "lockstep_uploads_oldest_seconds", "gauge",
              "Since the oldest of them was closed.",
              is_old ? (now_ms - uploads->oldest_unix_ms) / 1000 : 0);
}

static void write_door(const writer *from)
{
    const ls_door_report *door = from->view->door;
    if (!door) {
        return;
    }
    write_one(from->text, "lockstep_door_players", "gauge",
              "Players who come by the door for pages.", door->players);
    write_one(from->text, "lockstep_door_connections_total", "counter",
              "WebSockets and data channels of players.", door->opened);
    write_one(from->text, "lockstep_door_refused_total", "counter",
              "Handshakes and offers of pages that were refused.", door->refused);
    write_one(from->text, "lockstep_door_wrong_total", "counter",
              "WebSockets that were closed for what came by them.", door->wrong);
    write_one(from->text, "lockstep_door_received_total", "counter",
              "Datagrams of pages that were forwarded.", door->received);
    write_one(from->text, "lockstep_door_dropped_total", "counter",
              "Datagrams of pages that were too many, or too long.", door->dropped);
    write_one(from->text, "lockstep_door_sent_total", "counter", "Datagrams for pages.",
              door->sent);
    write_one(from->text, "lockstep_door_stale_total", "counter",
              "Datagrams for pages that were dropped for newer ones.", door->stale);
}

#define OF_WORKER(member) LS_JSON_FIELD(ls_worker_report, member)

static const struct {
    const char *name, *type, *help;
    ls_json_field field;
    double unit; /* so many of the field are one; 0: whether there is any */
} worker_rows[] = {
    {"up", "gauge", "0: the worker is being started again.", OF_WORKER(pid), 0},
    {"starts_total", "counter", "How often the worker was started.", OF_WORKER(starts), 1},
    {"rooms", "gauge", "Rooms on the worker.", OF_WORKER(rooms), 1},
    {"players", "gauge", "Players on the worker.", OF_WORKER(players), 1},
    {"load_ratio", "gauge",
     "Share of the last second in which the worker's loop worked or blocked; or its processor "
     "time, where that is more.",
     OF_WORKER(load), 1},
    {"cpu_seconds_total", "counter", "Processor time of the worker's process, from its start on.",
     OF_WORKER(cpu_ms), 1e3},
    {"resident_memory_bytes", "gauge", "Memory of the worker's process.", OF_WORKER(memory_bytes),
     1},
    {"datagrams_dropped_total", "counter", "Datagrams dropped before they belonged to a client.",
     OF_WORKER(datagrams_dropped), 1},
    {"clients_denied_total", "counter",
     "Clients denied a connection: full, no invite, too many of an address.",
     OF_WORKER(clients_denied), 1},
    {"tokens_refused_total", "counter",
     "Connect tokens refused: expired, used, altered, of another server.",
     OF_WORKER(tokens_refused), 1},
};

static void write_workers(const writer *from)
{
    const ls_service_view *view = from->view;
    uint32_t count = view->worker_count;
    for (size_t row = 0; row < sizeof worker_rows / sizeof worker_rows[0]; row++) {
        char name[64];
        snprintf(name, sizeof name, "lockstep_worker_%s", worker_rows[row].name);
        begin_family(from->text, name, worker_rows[row].type, worker_rows[row].help);
        for (uint32_t i = 0; i < count; i++) {
            const ls_worker_report *worker = view->worker(view->user, i);
            double figure = ls_json_field_number(&worker_rows[row].field, worker);
            double unit = worker_rows[row].unit;
            ls_http_text_add(from->text, "%s{worker=\"%" PRIu32 "\"} %.15g\n", name, worker->worker,
                             unit > 0 ? figure / unit : figure != 0);
        }
    }
}

/* ---- sums ---- */

static void add_room(figures *sum, const ls_room_report *report)
{
    for (uint32_t i = 0; i < report->player_count; i++) {
        sum->players += report->players[i].is_here;
        sum->desynced += report->players[i].is_here && report->players[i].is_desynced;
    }
    sum->seats += report->seats;
    sum->seats_open += report->seats_open;
    sum->spectators += report->spectators;
    sum->backlog_ticks += report->journal_backlog_ticks;
    ls_room_counters_add(&sum->counters, &report->counters);
}

/* The row that a room is counted in. A room may have the name of the others' row: it is one of
 * them, since no series may be there twice. */
static figures *row_of(writer *to, figures *others, const ls_room_report *report)
{
    if (to->own_count == LS_HTTP_METRICS_ROOMS_MAX || strcmp(report->name, others_name) == 0) {
        others->room = others_name;
        return others;
    }
    figures *row = &to->rows[to->own_count++];
    row->room = report->name;
    row->tick_rate_hz = report->tick_rate_hz;
    return row;
}

static void gather(writer *to)
{
    const ls_service_view *view = to->view;
    uint32_t count = ls_room_register_count(view->rooms);
    figures others = {.room = NULL};
    ls_room_counters_add(&to->all.counters, ls_room_register_gone(view->rooms));
    for (uint32_t i = 0; i < count; i++) {
        const ls_registered_room *room = ls_room_register_at(view->rooms, i);
        const ls_room_report *report = &room->report;
        to->unrecorded += room->is_unrecorded ? 1 : 0;
        add_room(row_of(to, &others, report), report);
        add_room(&to->all, report);
        if (report->state < LS_ROOM_STATE_COUNT) {
            to->states[report->state]++;
        }
    }
    to->row_count = to->own_count;
    if (others.room) {
        to->rows[to->row_count++] = others;
    }
}

static void write_rooms(writer *from)
{
    const char *choice = from->view->room_metrics ? from->view->room_metrics : "";
    if (strcmp(choice, "none") == 0) {
        return;
    }
    from->is_summary = strcmp(choice, "all") != 0;
    write_gauges(from, "room_", from->rows, from->row_count);
    write_tick_rates(from);
    write_counters(from, "room_", from->rows, from->row_count);
    write_desyncs(from, "room_", from->rows, from->row_count);
    write_histograms(from, "room_", from->rows, from->row_count);
}

void ls_http_metrics_write(const ls_service_view *view, ls_http_text *text)
{
    writer *from = ls_allocate(ls_allocator_heap(), sizeof *from);
    if (!from) {
        text->is_cut = true;
        return;
    }
    from->view = view;
    from->text = text;
    gather(from);
    write_service(from);
    write_storage(from);
    write_uploads(from);
    write_door(from);
    write_workers(from);
    write_gauges(from, "", &from->all, 1);
    write_counters(from, "", &from->all, 1);
    write_desyncs(from, "", &from->all, 1);
    write_histograms(from, "", &from->all, 1);
    write_rooms(from);
    ls_release(ls_allocator_heap(), from);
}
