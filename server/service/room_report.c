#include "lockstep/server/service/room_report.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/program/json.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define OF_REPORT(member) LS_JSON_FIELD(ls_room_report, member)
#define OF_PLAYER(member) LS_JSON_FIELD(ls_room_player, member)

static const ls_json_field report_fields[] = {
    OF_REPORT(name),           OF_REPORT(group),
    OF_REPORT(worker),         OF_REPORT(simulation),
    OF_REPORT(seats),          OF_REPORT(seats_open),
    OF_REPORT(spectators),     OF_REPORT(spectator_places),
    OF_REPORT(tick_rate_hz),   OF_REPORT(tick),
    OF_REPORT(opened_unix_ms), OF_REPORT(journal_backlog_ticks),
};

static const ls_json_field player_fields[] = {
    OF_PLAYER(slot),
    OF_PLAYER(name),
    OF_PLAYER(address),
    OF_PLAYER(is_here),
    OF_PLAYER(is_desynced),
    OF_PLAYER(rtt_ms),
    OF_PLAYER(slack_ms),
    OF_PLAYER(ticks_behind),
    OF_PLAYER(inputs_late),
    OF_PLAYER(bytes_up),
    OF_PLAYER(inputs_substituted),
    OF_PLAYER(bytes_down),
};

static const ls_json_field counter_fields[] = {
#define COUNTER_FIELD(member, name, label, help) LS_JSON_FIELD(ls_room_counters, member),
    LS_ROOM_COUNTER_MAP(COUNTER_FIELD)
#undef COUNTER_FIELD
};

static const char *const state_words[] = {
#define STATE_WORD(name, word) word,
    LS_ROOM_STATE_MAP(STATE_WORD)
#undef STATE_WORD
};

const char *ls_room_state_word(uint32_t state)
{
    return state < LS_ROOM_STATE_COUNT ? state_words[state] : "unknown";
}

/* NULL of none, and when memory is out. */
static ls_room_player *allocate_players(uint32_t count)
{
    return ls_allocate_array(ls_allocator_heap(), count, sizeof(ls_room_player));
}

/* ---- writing ---- */

static void write_histogram(const ls_room_histogram *histogram, ls_json *object, const char *key)
{
    ls_json *json = ls_json_object(object, key);
    ls_json_number(json, "count", (double)histogram->count);
    ls_json_number(json, "sum_ms", histogram->sum_ms);
    ls_json *bins = ls_json_array(json, "bins");
    for (uint32_t i = 0; i < LS_ROOM_BIN_COUNT; i++) {
        ls_json_append_number(bins, (double)histogram->bins[i]);
    }
}

void ls_room_counters_write(const ls_room_counters *counters, ls_json *object)
{
    LS_JSON_ADD(object, counter_fields, counters);
    ls_json *desyncs = ls_json_object(object, "desyncs");
    for (uint32_t i = 0; i < LS_DESYNC_CLASS_COUNT; i++) {
        ls_json_number(desyncs, ls_desync_class_word((ls_desync_class)i),
                       (double)counters->desyncs[i]);
    }
    write_histogram(&counters->lateness, object, "tick_lateness");
    write_histogram(&counters->confirm, object, "confirm_latency");
}

void ls_room_report_write_line(const ls_room_report *report, ls_json *object)
{
    LS_JSON_ADD(object, report_fields, report);
    ls_json_text(object, "state", ls_room_state_word(report->state));
}

void ls_room_report_write(const ls_room_report *report, ls_json *object)
{
    ls_room_report_write_line(report, object);
    ls_json_hash(object, "match_id", report->match_id);
    ls_room_counters_write(&report->counters, ls_json_object(object, "counters"));
    ls_json *players = ls_json_array(object, "players");
    for (uint32_t i = 0; i < report->player_count; i++) {
        ls_json *player = ls_json_append(players);
        LS_JSON_ADD(player, player_fields, &report->players[i]);
        ls_json_text(player, "lag", ls_lag_cause_name((ls_lag_cause)report->players[i].lag));
    }
}

/* ---- reading ---- */

static void read_histogram(const ls_json *object, const char *key, ls_room_histogram *out)
{
    const ls_json *json = ls_json_read_object(object, key);
    (void)ls_json_read_u64(json, "count", &out->count);
    (void)ls_json_read_number(json, "sum_ms", &out->sum_ms);
    const ls_json *bin = ls_json_read_members(json, "bins");
    for (uint32_t i = 0; bin && i < LS_ROOM_BIN_COUNT; i++) {
        double count = 0;
        out->bins[i] = ls_json_value_number(bin, &count) && count >= 0 ? (uint64_t)count : 0;
        bin = ls_json_next(bin);
    }
}

static void read_counters(const ls_json *object, ls_room_counters *out)
{
    LS_JSON_TAKE(object, counter_fields, out);
    const ls_json *desyncs = ls_json_read_object(object, "desyncs");
    for (uint32_t i = 0; i < LS_DESYNC_CLASS_COUNT; i++) {
        (void)ls_json_read_u64(desyncs, ls_desync_class_word((ls_desync_class)i), &out->desyncs[i]);
    }
    read_histogram(object, "tick_lateness", &out->lateness);
    read_histogram(object, "confirm_latency", &out->confirm);
}

static uint32_t lag_of(const char *word)
{
    uint32_t cause = 0;
    while (word && cause < LS_LAG_CAUSE_COUNT &&
           strcmp(ls_lag_cause_name((ls_lag_cause)cause), word) != 0) {
        cause++;
    }
    return cause < LS_LAG_CAUSE_COUNT ? cause : LS_LAG_FINE;
}

static ls_status read_players(const ls_json *object, ls_room_report *out)
{
    const ls_json *first = ls_json_read_members(object, "players");
    uint32_t count = 0;
    for (const ls_json *player = first; player; player = ls_json_next(player)) {
        count++;
    }
    count = LS_MIN(count, LS_PLAYERS_MAX);
    out->players = allocate_players(count);
    if (count > 0 && !out->players) {
        return LS_NO_MEMORY;
    }
    for (const ls_json *player = first; out->player_count < count; player = ls_json_next(player)) {
        ls_room_player *to = &out->players[out->player_count++];
        LS_JSON_TAKE(player, player_fields, to);
        to->lag = lag_of(ls_json_read_text(player, "lag"));
    }
    return LS_OK;
}

ls_status ls_room_report_read(const ls_json *object, ls_room_report *out)
{
    const char *state = ls_json_read_text(object, "state");
    if (!ls_json_read_text(object, "name") || !state) {
        return LS_MALFORMED;
    }
    memset(out, 0, sizeof *out);
    LS_JSON_TAKE(object, report_fields, out);
    while (out->state < LS_ROOM_STATE_COUNT && strcmp(state_words[out->state], state) != 0) {
        out->state++;
    }
    (void)ls_json_read_hash(object, "match_id", &out->match_id);
    read_counters(ls_json_read_object(object, "counters"), &out->counters);
    return out->state < LS_ROOM_STATE_COUNT ? read_players(object, out) : LS_MALFORMED;
}

void ls_room_report_copy(ls_room_report *to, const ls_room_report *from)
{
    ls_room_player *players = allocate_players(from->player_count);
    ls_release(ls_allocator_heap(), to->players);
    *to = *from;
    to->players = players;
    to->player_count = players ? from->player_count : 0;
    if (players) {
        memcpy(players, from->players, to->player_count * sizeof *players);
    }
}

void ls_room_report_deinit(ls_room_report *report)
{
    ls_release(ls_allocator_heap(), report->players);
    report->players = NULL;
    report->player_count = 0;
}

/* ---- sums ---- */

static void add_histogram(ls_room_histogram *sum, const ls_room_histogram *from)
{
    sum->count += from->count;
    sum->sum_ms += from->sum_ms;
    for (uint32_t i = 0; i < LS_ROOM_BIN_COUNT; i++) {
        sum->bins[i] += from->bins[i];
    }
}

void ls_room_counters_add(ls_room_counters *sum, const ls_room_counters *from)
{
    for (size_t i = 0; i < sizeof counter_fields / sizeof counter_fields[0]; i++) {
        size_t offset = counter_fields[i].offset;
        *(uint64_t *)(void *)((char *)sum + offset) +=
            *(const uint64_t *)(const void *)((const char *)from + offset);
    }
    for (uint32_t i = 0; i < LS_DESYNC_CLASS_COUNT; i++) {
        sum->desyncs[i] += from->desyncs[i];
    }
    add_histogram(&sum->lateness, &from->lateness);
    add_histogram(&sum->confirm, &from->confirm);
}
