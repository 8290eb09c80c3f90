#include "lockstep/server/rooms/room_lines.h"

#include "lockstep/server/journal/event_rows.h"
#include "lockstep/server/match/desync_finding.h"
#include "lockstep/server/rooms/match_summary.h"

#include <inttypes.h>
#include <string.h>

/* "ann (slot 0)", or "slot 0" of a player without a name. */
static ls_text player_of(const ls_room_lines *room, uint32_t slot)
{
    ls_text text = {{0}};
    ls_match_slot player = ls_match_slot_of(room->match, slot);
    if (player.name[0]) {
        ls_text_set(&text, "%s (slot %" PRIu32 ")", player.name, slot);
    } else {
        ls_text_set(&text, "slot %" PRIu32, slot);
    }
    return text;
}

static void log_desync(const ls_room_lines *room, const ls_match_event *event)
{
    if (event->clients > 0) {
        ls_log_line(room->log, LS_LOG_ERROR,
                    "DESYNC: this server differs from tick %" PRIu32 " on from %" PRIu32
                    " clients which agree: server %016" PRIx64 ", clients %016" PRIx64,
                    event->tick, event->clients, event->server_hash, event->client_hash);
        return;
    }
    ls_log_line(
        room->log, LS_LOG_ERROR,
        "DESYNC: %s differs from tick %" PRIu32 " on: server %016" PRIx64 ", client %016" PRIx64,
        player_of(room, event->slot).bytes, event->tick, event->server_hash, event->client_hash);
    const char *why = ls_match_unknown_why(ls_match_config_of(room->match));
    if (why) {
        ls_log_line(room->log, LS_LOG_ERROR, "  nothing more is known of '%s': %s",
                    ls_match_config_of(room->match)->simulation->name, why);
    }
}

/* The machine that the report is about: where the server is the one that differs, the slot stands
 * for those that agree. */
static ls_text differing_of(const ls_room_lines *room, const ls_match_event *event)
{
    ls_text player = player_of(room, event->slot);
    ls_text server = {{0}};
    if (ls_match_slot_of(room->match, event->slot).desync_clients == 0) {
        return player;
    }
    ls_text_set(&server, "this server against %s", player.bytes);
    return server;
}

static void log_cause(const ls_room_lines *room, const ls_match_event *event)
{
    const ls_desync_finding *finding = ls_match_desync_of(room->match, event->slot);
    ls_desync_report_log(finding, differing_of(room, event).bytes, room->bundle, room->log);
}

/* The whole follows, with its bundle. */
static void log_values(const ls_room_lines *room, const ls_match_event *event)
{
    const ls_desync_finding *finding = ls_match_desync_of(room->match, event->slot);
    if (finding->is_open) {
        ls_desync_report_log(finding, differing_of(room, event).bytes, NULL, room->log);
    }
}

/* ---- lines of one sentence ---- */

static ls_text waited_for(const ls_room_lines *room, const ls_match_event *event)
{
    ls_text names = {{0}};
    for (uint32_t slot = 0; slot < ls_match_players(room->match); slot++) {
        if (event->slot_mask >> slot & 1u) {
            ls_text_add(&names, "%s%s", names.bytes[0] ? ", " : "", player_of(room, slot).bytes);
        }
    }
    return names;
}

static bool is_field(const char *at, const char *name)
{
    size_t length = strlen(name);
    return strncmp(at, name, length) == 0 && at[length] == '}';
}

static void add_field(const ls_room_lines *room, const ls_match_event *event, const char *at,
                      ls_text *line)
{
    const char *text = event->text.bytes;
    const struct {
        const char *name;
        uint32_t value;
    } numbers[] = {{"slot", event->slot},
                   {"tick", event->tick},
                   {"waited_ms", event->waited_ms},
                   {"keep_s", ls_match_config_of(room->match)->keep_seat_ms / 1000}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (is_field(at, numbers[i].name)) {
            ls_text_add(line, "%" PRIu32, numbers[i].value);
        }
    }
    if (is_field(at, "player")) {
        ls_text_add(line, "%s", player_of(room, event->slot).bytes);
    } else if (is_field(at, "waited for")) {
        ls_text_add(line, "%s", waited_for(room, event).bytes);
    } else if (is_field(at, "status")) {
        ls_text_add(line, "%s", ls_status_name(event->status));
    } else if (is_field(at, "text") || is_field(at, ": text")) {
        ls_text_add(line, "%s%s", at[0] == ':' && text[0] != '\0' ? ": " : "", text);
    }
}

static void log_sentence(const ls_room_lines *room, const ls_match_event *event,
                         const ls_event_row *row)
{
    bool is_planned = event->status == LS_DISCONNECTED ||
                      (event->status == LS_OK && row->scope == LS_EVENT_OF_PEER);
    ls_log_level level = row->is_mild_when_planned && is_planned ? LS_LOG_INFO : row->level;
    ls_text line = {{0}};
    for (const char *at = row->line; level <= room->log->level && *at != '\0';) {
        size_t length = strcspn(at, "{");
        ls_text_add(&line, "%.*s", (int)length, at);
        at += length;
        if (*at == '{') {
            add_field(room, event, at + 1, &line);
            at += strcspn(at, "}") + 1;
        }
    }
    ls_log_line(room->log, level, "%s", line.bytes);
}

void ls_room_lines_log(const ls_room_lines *room, const ls_match_event *event)
{
    const ls_event_row *row = ls_event_row_of(event);
    if (row->line) {
        log_sentence(room, event, row);
    } else if (event->kind == LS_MATCH_DESYNC) {
        log_desync(room, event);
    } else if (event->kind == LS_MATCH_DESYNC_VALUES) {
        log_values(room, event);
    } else if (event->kind == LS_MATCH_DESYNC_CAUSE) {
        log_cause(room, event);
    }
}
