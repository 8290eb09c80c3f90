/* The events of a virtual match: looked up afterwards, as a digest, and as lines of a log. */
#include "lockstep/common/base/hash.h"
#include "lockstep/tests/lab/virtual/virtual_match.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- lookup ---- */

const virtual_event *virtual_match_find_slot(const virtual_match *run, ls_match_event_kind kind,
                                             uint32_t slot)
{
    for (uint32_t i = 0; i < run->event_count; i++) {
        const ls_match_event *event = &run->events[i].event;
        if (event->kind == kind && (slot == LS_PLAYERS_MAX || event->slot == slot)) {
            return &run->events[i];
        }
    }
    return NULL;
}

const virtual_event *virtual_match_find(const virtual_match *run, ls_match_event_kind kind)
{
    return virtual_match_find_slot(run, kind, LS_PLAYERS_MAX);
}

uint32_t virtual_match_count(const virtual_match *run, ls_match_event_kind kind, uint32_t slot)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < run->event_count; i++) {
        const ls_match_event *event = &run->events[i].event;
        count += event->kind == kind && (slot == LS_PLAYERS_MAX || event->slot == slot);
    }
    return count;
}

const virtual_client_event *virtual_client_find(const virtual_client *client,
                                                ls_session_event_kind kind)
{
    for (uint32_t i = 0; i < client->event_count; i++) {
        if (client->events[i].event.kind == kind) {
            return &client->events[i];
        }
    }
    return NULL;
}

const virtual_client_event *virtual_client_find_newest(const virtual_client *client,
                                                       ls_session_event_kind kind)
{
    for (uint32_t i = client->event_count; i-- > 0;) {
        if (client->events[i].event.kind == kind) {
            return &client->events[i];
        }
    }
    return NULL;
}

uint32_t virtual_client_count(const virtual_client *client, ls_session_event_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < client->event_count; i++) {
        count += client->events[i].event.kind == kind;
    }
    return count;
}

virtual_client *virtual_match_client_of(const virtual_match *run, ls_peer_id peer)
{
    if (run->network->operations->client_of) {
        return run->network->operations->client_of(run->network, peer);
    }
    for (uint32_t i = 0; i < run->client_count; i++) {
        if (run->clients[i]->server == peer) {
            return run->clients[i];
        }
    }
    return NULL;
}

/* ---- digest ---- */

static uint64_t digest_text(uint64_t digest, const char *text)
{
    return ls_hash_bytes(text, strlen(text), digest);
}

static uint64_t digest_match_event(uint64_t digest, const virtual_event *taken)
{
    const ls_match_event *event = &taken->event;
    const uint64_t fields[] = {
        taken->at_ns,       (uint64_t)event->kind,   event->slot,           event->peer,
        event->tick,        (uint64_t)event->status, event->slots.words[0], event->waited_ms,
        event->server_hash, event->client_hash};
    return digest_text(ls_hash_bytes(fields, sizeof fields, digest), event->text.bytes);
}

static uint64_t digest_session_event(uint64_t digest, const virtual_client_event *taken)
{
    const ls_session_event *event = &taken->event;
    const uint64_t fields[] = {taken->at_ns,           (uint64_t)event->kind,
                               event->waiting.tick,    event->waiting.slots.words[0],
                               event->desync.slot,     event->desync.tick,
                               event->end.final_tick,  event->end.final_hash,
                               (uint64_t)event->status};
    return digest_text(ls_hash_bytes(fields, sizeof fields, digest), event->text.bytes);
}

static uint64_t digest_session(uint64_t digest, const ls_session *session)
{
    ls_session_report report = ls_session_report_of(session);
    const uint64_t fields[] = {(uint64_t)report.status,
                               report.tick,
                               report.inputs_made,
                               report.inputs_skipped,
                               report.stalled_ticks,
                               report.rtt_ns,
                               (uint64_t)report.slack_ns,
                               report.confirm_latency_p50_ns,
                               report.confirm_latency_max_ns,
                               report.packets_rejected};
    return ls_hash_bytes(fields, sizeof fields, digest);
}

uint64_t virtual_match_digest(const virtual_match *run)
{
    ls_memory_counts counts = run->network->operations->counts(run->network);
    const uint64_t traffic[] = {counts.sent, counts.delivered, counts.lost, counts.duplicated,
                                counts.corrupted};
    uint64_t digest = ls_hash_bytes(traffic, sizeof traffic, ls_match_hash(run->match));
    for (uint32_t i = 0; i < run->event_count; i++) {
        digest = digest_match_event(digest, &run->events[i]);
    }
    for (uint32_t i = 0; i < run->client_count; i++) {
        const virtual_client *client = run->clients[i];
        digest = digest_session(digest, client->session);
        for (uint32_t j = 0; j < client->event_count; j++) {
            digest = digest_session_event(digest, &client->events[j]);
        }
    }
    return digest;
}

/* ---- log ---- */

void virtual_log(virtual_match *run, const char *format, ...)
{
    if (!run->setup.log) {
        return;
    }
    char line[LS_TEXT_BYTES_MAX + 64];
    int at = snprintf(line, sizeof line, "%10.6f s  tick %4u  ", (double)run->now_ns / 1e9,
                      (unsigned)ls_match_tick(run->match));
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + at, sizeof line - (size_t)at, format, arguments);
    va_end(arguments);
    run->setup.log(run->setup.log_user, line);
}

static const char *const match_events[] = {
    [LS_MATCH_PLAYER_SEATED] = "a player takes a seat",
    [LS_MATCH_PLAYER_RETURNED] = "a player returns",
    [LS_MATCH_PLAYER_READY] = "a player is ready",
    [LS_MATCH_PLAYER_LOST] = "a player is lost",
    [LS_MATCH_PLAYER_JOINING] = "a player joins",
    [LS_MATCH_PLAYER_JOINED] = "a player plays from this tick on",
    [LS_MATCH_PLAYER_LEFT] = "a player has left",
    [LS_MATCH_PLAYER_FINISHED] = "a player has finished",
    [LS_MATCH_PEER_REFUSED] = "a peer is refused",
    [LS_MATCH_STARTED] = "the match starts",
    [LS_MATCH_RESUMED] = "the match resumes",
    [LS_MATCH_STALLED] = "the match waits",
    [LS_MATCH_PAUSED] = "the match is paused",
    [LS_MATCH_UNPAUSED] = "the match goes on after a pause",
    [LS_MATCH_ENDS_SOON] = "the numbers of ticks end soon",
    [LS_MATCH_UNNAMED_WRITE] = "the simulation wrote without naming it",
    [LS_MATCH_CHAT] = "a player says something",
    [LS_MATCH_SUSPENDED] = "the match is saved to go on another time",
    [LS_MATCH_DESYNC] = "a player's state differs",
    [LS_MATCH_DESYNC_VALUES] = "the values that differ are found",
    [LS_MATCH_DESYNC_CAUSE] = "the cause of a difference is found",
    [LS_MATCH_SECRET_PROVEN] = "a player has another secret of its seat",
    [LS_MATCH_HEALING] = "a player is sent the state that heals it",
    [LS_MATCH_HEALED] = "a player's state is healed",
    [LS_MATCH_LAG] = "a player lags",
    [LS_MATCH_DELAYED] = "an input delay changes",
    [LS_MATCH_ENDED] = "the last tick is closed",
    [LS_MATCH_FINISHED] = "the match is over",
    [LS_MATCH_SPECTATOR_CAME] = "a spectator comes",
    [LS_MATCH_SPECTATOR_LEFT] = "a spectator leaves",
};

void virtual_log_match_event(virtual_match *run, const ls_match_event *event)
{
    if (!run->setup.log) {
        return;
    }
    char waiting[64] = "";
    if (event->kind == LS_MATCH_STALLED) {
        snprintf(waiting, sizeof waiting, " for slots %x since %u ms", event->slots.words[0],
                 event->waited_ms);
    }
    virtual_log(run, "server: %s%s (slot %u, peer %u, tick %u) %s %s", match_events[event->kind],
                waiting, event->slot, event->peer, event->tick,
                event->status == LS_OK ? "" : ls_status_name(event->status), event->text.bytes);
}

void virtual_log_session_event(virtual_client *client, const ls_session_event *event)
{
    virtual_match *run = client->run;
    if (!run->setup.log) {
        return;
    }
    ls_session_report report = ls_session_report_of(client->session);
    switch (event->kind) {
    case LS_SESSION_EVENT_SEATED:
        virtual_log(run, "client %u: takes slot %u", client->index, report.slot);
        break;
    case LS_SESSION_EVENT_LOST:
        virtual_log(run, "client %u: has lost its link (%s)", client->index, event->text.bytes);
        break;
    case LS_SESSION_EVENT_WAITING:
        virtual_log(run, "client %u: is told to wait for slots %x at tick %u", client->index,
                    event->waiting.slots.words[0], event->waiting.tick);
        break;
    case LS_SESSION_EVENT_NOTICE:
        virtual_log(run, "client %u: is told %s (kind %u)", client->index, event->notice.text.bytes,
                    event->notice.kind);
        break;
    case LS_SESSION_EVENT_DESYNC:
        virtual_log(run, "client %u: is told that slot %u differs from state %u on", client->index,
                    event->desync.slot, event->desync.tick);
        break;
    case LS_SESSION_EVENT_OVER:
        virtual_log(run, "client %u: is over at tick %u: %s (%s)", client->index, report.tick,
                    ls_status_name(event->status), event->text.bytes);
        break;
    default:
        break;
    }
}
