#include "lockstep/server/rooms/room_lines.h"

#include "lockstep/server/match/desync_finding.h"
#include "lockstep/server/rooms/match_summary.h"

#include <inttypes.h>

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

static void log_stall(const ls_room_lines *room, const ls_match_event *event)
{
    ls_text names = {{0}};
    for (uint32_t slot = 0; slot < ls_match_players(room->match); slot++) {
        if (event->slot_mask >> slot & 1u) {
            ls_text_add(&names, "%s%s", names.bytes[0] ? ", " : "", player_of(room, slot).bytes);
        }
    }
    ls_log_line(room->log, LS_LOG_WARNING,
                "waiting for %s: no input for tick %" PRIu32 " (%" PRIu32 " ms)", names.bytes,
                event->tick, event->waited_ms);
}

/* How the match as a whole gets on. */
static void log_progress(const ls_room_lines *room, const ls_match_event *event)
{
    const char *text = event->text.bytes;
    const char *colon = text[0] != '\0' ? ": " : "";
    if (event->kind == LS_MATCH_STARTED) {
        ls_log_line(room->log, LS_LOG_INFO, "the match starts");
    } else if (event->kind == LS_MATCH_ENDED) {
        ls_log_line(room->log, LS_LOG_INFO, "the match has ended: its final tick is %" PRIu32,
                    event->tick);
    } else {
        const char *what = event->kind == LS_MATCH_RESUMED     ? "continues"
                           : event->kind == LS_MATCH_PAUSED    ? "is paused"
                           : event->kind == LS_MATCH_SUSPENDED ? "is saved"
                                                               : "goes on";
        ls_log_line(room->log, LS_LOG_INFO, "the match %s at tick %" PRIu32 "%s%s", what,
                    event->tick, colon, text);
    }
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

static void log_player_text(const ls_room_lines *room, const ls_match_event *event)
{
    ls_log_line(room->log, LS_LOG_INFO, "%s: %s", player_of(room, event->slot).bytes,
                event->text.bytes);
}

static void log_ready(const ls_room_lines *room, const ls_match_event *event)
{
    ls_log_line(room->log, event->was_coming ? LS_LOG_INFO : LS_LOG_DEBUG,
                "%s (slot %" PRIu32 ") %s", event->text.bytes, event->slot,
                event->was_coming ? "joined" : "is ready");
}

static void log_left(const ls_room_lines *room, const ls_match_event *event)
{
    bool is_planned = event->status == LS_DISCONNECTED;
    if (event->was_coming) {
        ls_log_line(room->log, is_planned ? LS_LOG_INFO : LS_LOG_WARNING,
                    "a client did not take the seat that it was offered (slot %" PRIu32
                    "): %s (%s)",
                    event->slot, event->text.bytes, ls_status_name(event->status));
        return;
    }
    ls_log_line(room->log, is_planned ? LS_LOG_INFO : LS_LOG_WARNING,
                "%s left at tick %" PRIu32 ": %s (%s)", player_of(room, event->slot).bytes,
                event->tick, event->text.bytes, ls_status_name(event->status));
}

static void log_spectator_left(const ls_room_lines *room, const ls_match_event *event)
{
    bool is_planned = event->status == LS_OK || event->status == LS_DISCONNECTED;
    ls_log_line(room->log, is_planned ? LS_LOG_INFO : LS_LOG_WARNING,
                "spectator %s (%s, at tick %" PRIu32 ")", event->text.bytes,
                ls_status_name(event->status), event->tick);
}

static void log_lost(const ls_room_lines *room, const ls_match_event *event)
{
    ls_log_line(
        room->log, LS_LOG_WARNING,
        "lost the link to %s at tick %" PRIu32 ": %s (%s); its seat is kept for %" PRIu32 " s",
        player_of(room, event->slot).bytes, event->tick, event->text.bytes,
        ls_status_name(event->status), ls_match_config_of(room->match)->keep_seat_ms / 1000);
}

static void log_healing(const ls_room_lines *room, const ls_match_event *event)
{
    const ls_text player = player_of(room, event->slot);
    if (event->kind == LS_MATCH_HEALED) {
        ls_log_line(room->log, LS_LOG_WARNING, "%s was healed and agrees from tick %" PRIu32 " on",
                    player.bytes, event->tick);
        return;
    }
    ls_log_line(room->log, LS_LOG_WARNING,
                "%s is healed %s from tick %" PRIu32
                " on (no more than 3 healings in 10 s, then one in 2 s)",
                player.bytes, event->text.bytes, event->tick);
}

void ls_room_lines_log(const ls_room_lines *room, const ls_match_event *event)
{
    const ls_log *log = room->log;
    switch (event->kind) {
    case LS_MATCH_PLAYER_SEATED:
        ls_log_line(log, LS_LOG_DEBUG, "slot %" PRIu32 " is offered to %s", event->slot,
                    event->text.bytes);
        break;
    case LS_MATCH_PLAYER_RETURNED:
        ls_log_line(log, LS_LOG_INFO, "%s (slot %" PRIu32 ") is back", event->text.bytes,
                    event->slot);
        break;
    case LS_MATCH_PLAYER_READY:
        log_ready(room, event);
        break;
    case LS_MATCH_PLAYER_LOST:
        log_lost(room, event);
        break;
    case LS_MATCH_PLAYER_JOINING:
        ls_log_line(log, LS_LOG_INFO, "slot %" PRIu32 " is joining at tick %" PRIu32 ": %s",
                    event->slot, event->tick, event->text.bytes);
        break;
    case LS_MATCH_PLAYER_JOINED:
        ls_log_line(log, LS_LOG_INFO, "%s plays from tick %" PRIu32 " on",
                    player_of(room, event->slot).bytes, event->tick);
        break;
    case LS_MATCH_PLAYER_LEFT:
        log_left(room, event);
        break;
    case LS_MATCH_PLAYER_FINISHED:
        ls_log_line(log, LS_LOG_DEBUG, "%s has reached the final tick",
                    player_of(room, event->slot).bytes);
        break;
    case LS_MATCH_PEER_REFUSED:
        ls_log_line(log, LS_LOG_WARNING, "refused a client: %s (%s)", event->text.bytes,
                    ls_status_name(event->status));
        break;
    case LS_MATCH_STARTED:
    case LS_MATCH_RESUMED:
    case LS_MATCH_PAUSED:
    case LS_MATCH_UNPAUSED:
    case LS_MATCH_SUSPENDED:
    case LS_MATCH_ENDED:
        log_progress(room, event);
        break;
    case LS_MATCH_STALLED:
        log_stall(room, event);
        break;
    case LS_MATCH_DESYNC:
        log_desync(room, event);
        break;
    case LS_MATCH_DESYNC_VALUES:
        log_values(room, event);
        break;
    case LS_MATCH_DESYNC_CAUSE:
        log_cause(room, event);
        break;
    case LS_MATCH_HEALING:
    case LS_MATCH_HEALED:
        log_healing(room, event);
        break;
    case LS_MATCH_LAG:
    case LS_MATCH_DELAYED:
        log_player_text(room, event);
        break;
    case LS_MATCH_SPECTATOR_CAME:
        ls_log_line(log, LS_LOG_INFO, "spectator %s, is sent the ticks from %" PRIu32 " on",
                    event->text.bytes, event->tick);
        break;
    case LS_MATCH_SPECTATOR_LEFT:
        log_spectator_left(room, event);
        break;
    case LS_MATCH_SECRET_PROVEN:
    case LS_MATCH_FINISHED:
        break;
    }
}
