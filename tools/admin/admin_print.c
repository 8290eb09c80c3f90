#include "lockstep/tools/admin/admin_print.h"

#include "lockstep/tools/admin/text_table.h"

#include <stdio.h>
#include <string.h>

/* ---- values ---- */

static double number_of(const ls_json *object, const char *key)
{
    double number = 0;
    (void)ls_json_read_number(object, key, &number);
    return number;
}

static const char *text_of(const ls_json *object, const char *key)
{
    const char *text = ls_json_read_text(object, key);
    return text ? text : "";
}

static void add_text(text_table *table, const ls_json *object, const char *key)
{
    text_table_add(table, "%s", text_of(object, key));
}

static void add_number(text_table *table, const ls_json *object, const char *key)
{
    text_table_add(table, "%.0f", number_of(object, key));
}

static void add_ms(text_table *table, const ls_json *object, const char *key)
{
    text_table_add(table, "%.1f", number_of(object, key));
}

/* A line of text from the service, for a terminal. */
static void print_line(const char *text)
{
    ls_text line;
    ls_text_set(&line, "%s", text);
    ls_text_make_printable(line.bytes, strlen(line.bytes));
    puts(line.bytes);
}

/* Prints the table, whose rows are the members of the list. */
static void print_list(const char *const *headers, const ls_json *list,
                       void (*add_row)(text_table *table, const ls_json *member))
{
    text_table *table = text_table_create(headers);
    if (!table) {
        return;
    }
    for (; list; list = ls_json_next(list)) {
        add_row(table, list);
    }
    text_table_print(table, stdout);
    text_table_destroy(table);
}

/* ---- answers ---- */

void admin_print_service(const ls_json *answer)
{
    bool is_draining = false;
    const char *why_not = text_of(answer, "why_not");
    (void)ls_json_read_bool(answer, "draining", &is_draining);
    ls_text line;
    ls_text_set(&line, "Lockstep %s, %s: %.0f rooms on %.0f workers, %.0f players, %.0f spectators",
                text_of(answer, "version"),
                is_draining  ? "draining"
                : why_not[0] ? why_not
                             : "ready",
                number_of(answer, "rooms"), number_of(answer, "workers"),
                number_of(answer, "players"), number_of(answer, "spectators"));
    print_line(line.bytes);
}

static void add_room(text_table *table, const ls_json *room)
{
    add_text(table, room, "name");
    add_text(table, room, "state");
    add_text(table, room, "simulation");
    add_number(table, room, "worker");
    text_table_add(table, "%.0f/%.0f", number_of(room, "players"), number_of(room, "seats"));
    add_number(table, room, "spectators");
    add_number(table, room, "tick");
    add_ms(table, room, "lateness_mean_ms");
    add_ms(table, room, "confirm_mean_ms");
    add_number(table, room, "desyncs");
    add_text(table, room, "invite");
}

void admin_print_rooms(const ls_json *answer)
{
    static const char *const headers[] = {"room",        "state",       "simulation", ">worker",
                                          ">players",    ">spectators", ">tick",      ">late ms",
                                          ">confirm ms", ">desyncs",    "invite",     NULL};
    print_list(headers, ls_json_read_members(answer, "rooms"), add_room);
}

static void add_player(text_table *table, const ls_json *player)
{
    bool is_here = false;
    bool is_desynced = false;
    (void)ls_json_read_bool(player, "is_here", &is_here);
    (void)ls_json_read_bool(player, "is_desynced", &is_desynced);
    add_number(table, player, "slot");
    add_text(table, player, "name");
    text_table_add(table, "%s", !is_here ? "away" : is_desynced ? "desynced" : "here");
    add_ms(table, player, "rtt_ms");
    add_ms(table, player, "slack_ms");
    add_number(table, player, "inputs_late");
    add_number(table, player, "inputs_substituted");
    add_text(table, player, "lag");
    add_text(table, player, "address");
}

static void print_desyncs(const ls_json *desyncs)
{
    for (const ls_json *member = ls_json_first(desyncs); member; member = ls_json_next(member)) {
        double count = 0;
        if (ls_json_value_number(member, &count) && count > 0) {
            ls_text line;
            ls_text_set(&line, "desyncs of class %s: %.0f", ls_json_key(member), count);
            print_line(line.bytes);
        }
    }
}

void admin_print_room(const ls_json *answer)
{
    static const char *const headers[] = {">slot", "name",         "state", ">rtt ms", ">slack ms",
                                          ">late", ">substituted", "lag",   "address", NULL};
    ls_text line;
    ls_text_set(
        &line, "%s: %s, %s, tick %.0f at %.9g Hz, on worker %.0f, %.0f seats, %.0f spectators",
        text_of(answer, "name"), text_of(answer, "simulation"), text_of(answer, "state"),
        number_of(answer, "tick"), number_of(answer, "tick_rate_hz"), number_of(answer, "worker"),
        number_of(answer, "seats"), number_of(answer, "spectators"));
    print_line(line.bytes);
    if (text_of(answer, "invite")[0]) {
        print_line(text_of(answer, "invite"));
    }
    print_desyncs(ls_json_read_object(ls_json_read_object(answer, "counters"), "desyncs"));
    print_list(headers, ls_json_read_members(answer, "players"), add_player);
}

static void add_worker(text_table *table, const ls_json *worker)
{
    add_number(table, worker, "worker");
    add_number(table, worker, "pid");
    add_number(table, worker, "rooms");
    add_number(table, worker, "players");
    text_table_add(table, "%.0f", 100 * number_of(worker, "load"));
    text_table_add(table, "%.1f", number_of(worker, "cpu_ms") / 1e3);
    text_table_add(table, "%.1f", number_of(worker, "memory_bytes") / 1048576);
    add_number(table, worker, "starts");
}

void admin_print_workers(const ls_json *answer)
{
    static const char *const headers[] = {">worker", ">process", ">rooms",  ">players", ">load %",
                                          ">cpu s",  ">MiB",     ">starts", NULL};
    print_list(headers, ls_json_read_members(answer, "workers"), add_worker);
}

void admin_print_opened(const ls_json *answer)
{
    print_line(text_of(answer, "name"));
}

void admin_print_result(const ls_json *answer)
{
    print_line(text_of(answer, "result"));
}
