#include "lockstep/server/rooms/room_progress.h"

#include "lockstep/common/program/player_name.h"

#include <inttypes.h>

static const char *const states[] = {"waiting for players", "waiting for players to return",
                                     "running", "ending", "over"};

static void draw_player(ls_console *console, const ls_match *match, uint32_t slot)
{
    ls_match_slot player = ls_match_slot_of(match, slot);
    if (player.peer == 0) {
        ls_console_line(console, "  %2" PRIu32 "  %-*s %s", slot, ls_player_name_width(player.name),
                        player.name,
                        player.has_played ? ls_status_text(player.left_status) : "free");
        return;
    }
    ls_console_line(console,
                    "  %2" PRIu32 "  %-*s rtt %6.1f ms  slack %6.1f ms  behind %3" PRIu32
                    "  late %" PRIu64 "  %s %" PRIu32,
                    slot, ls_player_name_width(player.name), player.name,
                    (double)player.rtt_ns / 1e6, (double)player.slack_ns / 1e6, player.ticks_behind,
                    player.inputs_late, player.is_desynced ? "DESYNC at" : "agrees to",
                    player.is_desynced ? player.desync_tick : player.agreed_tick);
    if (player.lag.cause != LS_LAG_FINE) {
        ls_text lag = {{0}};
        ls_lag_text(&player.lag, &lag);
        ls_console_line(console, "      %s", lag.bytes);
    }
}

static void draw_players(ls_console *console, const ls_match *match)
{
    uint32_t players = ls_match_players(match);
    for (uint32_t slot = 0; slot < players && slot < LS_ROOM_PROGRESS_LINES_MAX; slot++) {
        draw_player(console, match, slot);
    }
    ls_match_spectating spectating = ls_match_spectating_of(match);
    if (spectating.ever > 0) {
        ls_console_line(console,
                        "  spectators %" PRIu32 " of %" PRIu32 ", states compared %" PRIu64
                        ", differed %" PRIu64,
                        spectating.now, ls_match_config_of(match)->spectators_max,
                        spectating.hashes_compared, spectating.desynced);
    }
}

void ls_room_progress_draw(ls_console *console, const ls_match *match)
{
    ls_console_line(console, "tick %" PRIu32 "  %s", ls_match_tick(match),
                    states[ls_match_state_of(match)]);
    draw_players(console, match);
}

void ls_room_progress_draw_short(ls_console *console, const char *title, const ls_match *match)
{
    uint32_t present = 0;
    uint32_t desyncs = 0;
    for (uint32_t slot = 0; slot < ls_match_players(match); slot++) {
        ls_match_slot player = ls_match_slot_of(match, slot);
        present += player.peer != 0 ? 1 : 0;
        desyncs += player.is_desynced ? 1 : 0;
    }
    ls_console_line(console,
                    "%-10s  tick %" PRIu32 "  %s  players %" PRIu32 " of %" PRIu32
                    "  desyncs %" PRIu32,
                    title, ls_match_tick(match), states[ls_match_state_of(match)], present,
                    ls_match_players(match), desyncs);
}
