#include "lockstep/common/base/status.h"
#include "lockstep/tools/faultsim/virtual_match.h"

#include <stdarg.h>
#include <stdio.h>

void virtual_log(virtual_match *run, const char *format, ...)
{
    if (!run->setup.log) {
        return;
    }
    char line[LS_TEXT_BYTES_MAX + 64];
    int at = snprintf(line, sizeof line, "%10.6f s  tick %4u  ", (double)run->now_ns / 1e9,
                      (unsigned)run->tick_count);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + at, sizeof line - (size_t)at, format, arguments);
    va_end(arguments);
    run->setup.log(run->setup.log_user, line);
}

void virtual_log_match_event(virtual_match *run, const ls_match_event *event)
{
    if (!run->setup.log) {
        return;
    }
    switch (event->kind) {
    case LS_MATCH_PLAYER_SEATED:
        virtual_log(run, "server: %s takes slot %u", event->text.bytes, event->slot);
        break;
    case LS_MATCH_PLAYER_RETURNED:
        virtual_log(run, "server: %s is back on slot %u", event->text.bytes, event->slot);
        break;
    case LS_MATCH_PLAYER_READY:
        virtual_log(run, "server: slot %u is ready", event->slot);
        break;
    case LS_MATCH_PLAYER_LOST:
        virtual_log(run, "server: slot %u lost: %s (%s)", event->slot,
                    ls_status_name(event->status), event->text.bytes);
        break;
    case LS_MATCH_PLAYER_JOINING:
        virtual_log(run, "server: slot %u joins at tick %u: %s", event->slot, event->tick,
                    event->text.bytes);
        break;
    case LS_MATCH_PLAYER_JOINED:
        virtual_log(run, "server: slot %u plays from tick %u on", event->slot, event->tick);
        break;
    case LS_MATCH_PLAYER_LEFT:
        virtual_log(run, "server: slot %u left: %s (%s)", event->slot,
                    ls_status_name(event->status), event->text.bytes);
        break;
    case LS_MATCH_PLAYER_FINISHED:
        virtual_log(run, "server: slot %u finished at tick %u", event->slot, event->tick);
        break;
    case LS_MATCH_PEER_REFUSED:
        virtual_log(run, "server: peer %u refused: %s (%s)", event->peer,
                    ls_status_name(event->status), event->text.bytes);
        break;
    case LS_MATCH_STARTED:
        virtual_log(run, "server: the match starts");
        break;
    case LS_MATCH_RESUMED:
        virtual_log(run, "server: the match goes on: %s", event->text.bytes);
        break;
    case LS_MATCH_STALLED:
        virtual_log(run, "server: waits for slots %x since %u ms", event->slot_mask,
                    event->waited_ms);
        break;
    case LS_MATCH_DESYNC:
        virtual_log(run, "server: slot %u differs from state %u on", event->slot, event->tick);
        break;
    case LS_MATCH_DESYNC_CAUSE:
        virtual_log(run, "server: slot %u at state %u: %s", event->slot, event->tick,
                    event->text.bytes);
        break;
    case LS_MATCH_HEALED:
        virtual_log(run, "server: slot %u is healed at state %u", event->slot, event->tick);
        break;
    case LS_MATCH_LAG:
        virtual_log(run, "server: slot %u lags: %s", event->slot, event->text.bytes);
        break;
    case LS_MATCH_DELAYED:
        virtual_log(run, "server: slot %u: %s", event->slot, event->text.bytes);
        break;
    case LS_MATCH_ENDED:
        virtual_log(run, "server: the last tick is closed");
        break;
    case LS_MATCH_SPECTATOR_CAME:
        virtual_log(run, "server: spectator %s, from tick %u on", event->text.bytes, event->tick);
        break;
    case LS_MATCH_SPECTATOR_LEFT:
        virtual_log(run, "server: spectator %s (%s)", event->text.bytes,
                    ls_status_name(event->status));
        break;
    case LS_MATCH_FINISHED:
        virtual_log(run, "server: over");
        break;
    default:
        virtual_log(run, "server: event %d of slot %u", (int)event->kind, event->slot);
    }
}

void virtual_log_session_event(virtual_client *client, const ls_session_event *event)
{
    virtual_match *run = client->run;
    if (!run->setup.log) {
        return;
    }
    switch (event->kind) {
    case LS_SESSION_EVENT_SEATED:
        virtual_log(run, "client %u: sits in slot %u", client->index,
                    ls_session_report_of(client->session).slot);
        break;
    case LS_SESSION_EVENT_LOST:
        virtual_log(run, "client %u: has lost its link (%s)", client->index, event->text.bytes);
        break;
    case LS_SESSION_EVENT_WAITING:
        virtual_log(run, "client %u: told to wait for slots %x at tick %u", client->index,
                    event->waiting.slot_mask, event->waiting.tick);
        break;
    case LS_SESSION_EVENT_DESYNC:
        virtual_log(run, "client %u: told that slot %u differs from state %u on", client->index,
                    event->desync.slot, event->desync.tick);
        break;
    case LS_SESSION_EVENT_OVER:
        virtual_log(run, "client %u: over at tick %u: %s (%s)", client->index, client->tick,
                    ls_status_name(event->status), event->text.bytes);
        break;
    default:
        break;
    }
}
