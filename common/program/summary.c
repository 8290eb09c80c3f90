#include "lockstep/common/program/summary.h"

#include "lockstep/common/program/json.h"

#include <string.h>

static void add_prediction(ls_json *object, const ls_summary_prediction *prediction)
{
#define FIELD(member) LS_JSON_FIELD(ls_summary_prediction, member)
    static const ls_json_field rollbacks[] = {FIELD(ticks), FIELD(rollbacks),
                                              FIELD(rollbacks_per_s)};
    static const ls_json_field steps[] = {FIELD(resimulated_ticks), FIELD(steps_per_tick)};
#undef FIELD
#define FIELD(key, member) LS_JSON_FIELD_AS(key, ls_summary_prediction, member)
    static const ls_json_field depths[] = {FIELD("mean", depth_mean), FIELD("p99", depth_p99),
                                           FIELD("max", depth_max)};
#undef FIELD
    if (prediction->ticks == 0) {
        ls_json_null(object, "prediction");
        return;
    }
    ls_json *json = ls_json_object(object, "prediction");
    LS_JSON_ADD(json, rollbacks, prediction);
    LS_JSON_ADD(ls_json_object(json, "depth_ticks"), depths, prediction);
    LS_JSON_ADD(json, steps, prediction);
}

static void add_lag(ls_json *player, const ls_summary_lag *lag)
{
#define FIELD(member) LS_JSON_FIELD(ls_summary_lag, member)
    static const ls_json_field fields[] = {FIELD(cause),
                                           FIELD(text),
                                           FIELD(lost_ms),
                                           FIELD(late_share),
                                           FIELD(uplink_loss),
                                           FIELD(uplink_jitter_ms),
                                           FIELD(downlink_loss),
                                           FIELD(downlink_jitter_ms),
                                           FIELD(longest_frame_ms),
                                           FIELD(suggested_input_delay_ticks)};
#undef FIELD
    if (!lag->cause) {
        ls_json_null(player, "lag");
        return;
    }
    LS_JSON_ADD(ls_json_object(player, "lag"), fields, lag);
}

#define FIELD(member) LS_JSON_FIELD(ls_summary_player, member)
#define FIELD_AS(key, member) LS_JSON_FIELD_AS(key, ls_summary_player, member)

static void add_player(ls_json *json, const ls_summary_player *player)
{
    static const ls_json_field own[] = {FIELD(name), FIELD(status), FIELD(why)};
    static const ls_json_field from_server[] = {FIELD(hashes_compared),
                                                FIELD(inputs_on_time),
                                                FIELD(inputs_late),
                                                FIELD(inputs_substituted),
                                                FIELD(input_delay_ticks),
                                                FIELD(joined_tick),
                                                FIELD(rejoins)};
    static const ls_json_field from_client[] = {FIELD(stalled_ticks), FIELD(rtt_ms)};
    static const ls_json_field frames[] = {FIELD(frames), FIELD(wakes_per_s)};
    static const ls_json_field latencies[] = {FIELD_AS("p50", confirm_latency_p50_ms),
                                              FIELD_AS("p99", confirm_latency_p99_ms),
                                              FIELD_AS("max", confirm_latency_max_ms)};
    static const ls_json_field traffic[] = {FIELD(bytes_up), FIELD(bytes_down)};
    const ls_summary_player *client = player->has_client_figures ? player : NULL;
    ls_json_known(json, "slot", !player->is_spectator, player->slot);
    LS_JSON_ADD(json, own, player);
    LS_JSON_ADD(json, from_server, player->has_server_figures ? player : NULL);
    add_lag(json, &player->lag);
    LS_JSON_ADD(json, from_client, client);
    LS_JSON_ADD(ls_json_object(json, "confirm_latency_ms"), latencies, client);
    LS_JSON_ADD(json, frames, client);
    add_prediction(json, &player->prediction);
    LS_JSON_ADD(json, traffic, player);
}

#undef FIELD
#undef FIELD_AS

static void add_place(ls_json *json, const ls_summary_place *place)
{
#define FIELD(member) LS_JSON_FIELD(ls_summary_place, member)
    static const ls_json_field fields[] = {FIELD(part), FIELD(field), FIELD(server_value),
                                           FIELD(client_value), FIELD(unit)};
#undef FIELD
    LS_JSON_ADD(json, fields, place);
}

/* The findings: the first value that differs, then all that are listed, then why. */
static void add_cause(ls_json *json, const ls_summary_desync *desync)
{
#define FIELD(member) LS_JSON_FIELD(ls_summary_desync, member)
#define FIELD_AS(key, member) LS_JSON_FIELD_AS(key, ls_summary_desync, member)
    static const ls_json_field extent[] = {FIELD_AS("differing", elements),
                                           FIELD_AS("differing_is_lower_bound", is_lower_bound)};
    static const ls_json_field texts[] = {FIELD(pass),
                                          FIELD(values_after_pass),
                                          FIELD_AS("class", class_word),
                                          FIELD(culprit),
                                          FIELD(why),
                                          FIELD(inputs),
                                          FIELD(circumstances),
                                          FIELD(bundle)};
    static const ls_json_field counts[] = {FIELD(healed)};
#undef FIELD
#undef FIELD_AS
    ls_json_known(json, "first_tick", desync->first_tick > 0, desync->first_tick);
    ls_json_known(json, "first_tick_min", desync->first_tick_max > 0, desync->first_tick_min);
    ls_json_known(json, "first_tick_max", desync->first_tick_max > 0, desync->first_tick_max);
    add_place(json, desync->place_count > 0 ? &desync->places[0] : NULL);
    LS_JSON_ADD(json, extent, desync->has_cause ? desync : NULL);
    ls_json *fields = ls_json_array(json, "fields");
    for (uint32_t i = 0; i < desync->place_count; i++) {
        add_place(ls_json_append(fields), &desync->places[i]);
    }
    LS_JSON_ADD(json, texts, desync);
    if (desync->next.bytes[0]) {
        ls_json_text(json, "next", desync->next.bytes);
    } else {
        ls_json_null(json, "next");
    }
    ls_json_known(json, "values_ms", desync->values_ms > 0, desync->values_ms);
    ls_json_known(json, "found_ms", desync->found_ms > 0, desync->found_ms);
    ls_json_known(json, "times", desync->times > 0, desync->times);
    LS_JSON_ADD(json, counts, desync->has_cause ? desync : NULL);
}

static void add_desync(ls_json *json, const ls_summary_desync *desync)
{
    ls_json_number(json, "tick", desync->tick);
    ls_json_known(json, "slot", !desync->is_spectator, desync->slot);
    ls_json_hash(json, "server_hash", desync->server_hash);
    ls_json_hash(json, "client_hash", desync->client_hash);
    ls_json_number(json, "clients_against_server", desync->clients);
    add_cause(json, desync);
}

/* Keys that have values once a match has been joined. */
static void add_match(ls_json *json, const ls_summary *summary)
{
    static const char *const keys[] = {"sim", "seed", "tick_rate_hz", "final_tick", "final_hash"};
    for (size_t i = 0; !summary->sim && i < sizeof keys / sizeof keys[0]; i++) {
        ls_json_null(json, keys[i]);
    }
    if (!summary->sim) {
        return;
    }
    ls_json_text(json, "sim", summary->sim);
    ls_json_decimal(json, "seed", summary->seed);
    ls_json_number(json, "tick_rate_hz", summary->tick_rate_hz);
    ls_json_number(json, "final_tick", summary->final_tick);
    ls_json_hash(json, "final_hash", summary->final_hash);
}

static void add_journal(ls_json *object, const ls_summary_journal *journal)
{
#define FIELD(member) LS_JSON_FIELD(ls_summary_journal, member)
    static const ls_json_field fields[] = {FIELD(file), FIELD(bytes), FIELD(records),
                                           FIELD(failures), FIELD(ticks_missing)};
#undef FIELD
    if (!journal->file) {
        ls_json_null(object, "journal");
        return;
    }
    LS_JSON_ADD(ls_json_object(object, "journal"), fields, journal);
}

static void add_counts(ls_json *object, const char *name, const ls_summary_counts *counts)
{
    ls_json *numbers = ls_json_object(object, name);
    for (uint32_t i = 0; i < counts->count; i++) {
        ls_json_number(numbers, counts->rows[i].name, (double)counts->rows[i].number);
    }
}

static void add_network(ls_json *json, const ls_summary_network *network)
{
    if (!network) {
        ls_json_null(json, "network");
        return;
    }
    ls_json *object = ls_json_object(json, "network");
    add_counts(object, "datagrams_dropped", &network->dropped);
    add_counts(object, "clients_refused", &network->clients_refused);
    if (network->has_tokens) {
        add_counts(object, "tokens_refused", &network->tokens_refused);
    } else {
        ls_json_null(object, "tokens_refused");
    }
}

static void add_summary(ls_json *json, const void *report)
{
    const ls_summary *summary = report;
    ls_json_text(json, "program", summary->program);
    ls_json_text(json, "status", summary->status);
    ls_json_number(json, "ticks", summary->ticks);
    add_match(json, summary);
    ls_json_known(json, "hashes_compared", summary->has_comparison,
                  (double)summary->hashes_compared);
    ls_json_number(json, "packets_rejected", (double)summary->packets_rejected);
    ls_json_known(json, "spectators", summary->has_spectators, (double)summary->spectators);
    add_journal(json, &summary->journal);
    add_network(json, summary->network);
    ls_json *players = ls_json_array(json, "players");
    for (uint32_t i = 0; i < summary->player_count; i++) {
        add_player(ls_json_append(players), &summary->players[i]);
    }
    ls_json *desyncs = ls_json_array(json, "desyncs");
    for (uint32_t i = 0; i < summary->desync_count; i++) {
        ls_json *desync = ls_json_append(desyncs);
        add_desync(desync, &summary->desyncs[i]);
        if (summary->desyncs[i].times > 1) {
            add_desync(ls_json_object(desync, "first"), &summary->firsts[i]);
        } else {
            ls_json_null(desync, "first");
        }
    }
}

ls_status ls_summary_write(const ls_summary *summary, const char *path, ls_text *why)
{
    return ls_json_save(add_summary, summary, path, why);
}

static const char *status_of_all(const ls_summary *summaries, uint32_t count)
{
    const char *fine = ls_status_name(LS_OK);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(summaries[i].status, fine) != 0) {
            return summaries[i].status;
        }
    }
    return fine;
}

ls_status ls_summary_write_matches(const ls_summary *summaries, uint32_t count,
                                   const ls_summary_network *network, const char *path,
                                   ls_text *why)
{
    ls_json *json = ls_json_create();
    ls_json_text(json, "program", summaries[0].program);
    ls_json_text(json, "status", status_of_all(summaries, count));
    add_network(json, network);
    ls_json *matches = ls_json_array(json, "matches");
    for (uint32_t i = 0; i < count; i++) {
        add_summary(ls_json_append(matches), &summaries[i]);
    }
    ls_status status = ls_json_write(json, path, why);
    ls_json_destroy(json);
    return status;
}
