#include "lockstep/tools/faultsim/virtual_match.h"

#include "lockstep/common/base/hash.h"

#include <string.h>

/* ---- looking back ---- */

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

uint32_t virtual_client_count(const virtual_client *client, ls_session_event_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < client->event_count; i++) {
        count += client->events[i].event.kind == kind;
    }
    return count;
}

/* ---- a digest of it all ---- */

static uint64_t digest_text(uint64_t digest, const char *text)
{
    return ls_hash_bytes(text, strlen(text), digest);
}

static uint64_t digest_match_event(uint64_t digest, const virtual_event *taken)
{
    const ls_match_event *event = &taken->event;
    const uint64_t fields[] = {taken->at_ns,      (uint64_t)event->kind, event->slot,
                               event->peer,       event->tick,           (uint64_t)event->status,
                               event->slot_mask,  event->waited_ms,      event->server_hash,
                               event->client_hash};
    return digest_text(ls_hash_bytes(fields, sizeof fields, digest), event->text.bytes);
}

static uint64_t digest_session_event(uint64_t digest, const virtual_client_event *taken)
{
    const ls_session_event *event = &taken->event;
    const uint64_t fields[] = {taken->at_ns,           (uint64_t)event->kind,
                               event->waiting.tick,    event->waiting.slot_mask,
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
    ls_memory_counts counts = ls_memory_network_counts(run->network);
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
