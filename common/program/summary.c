#include "lockstep/common/program/summary.h"

#include "lockstep/common/program/output.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void add_text(cJSON *object, const char *key, const char *text)
{
    cJSON_AddItemToObject(object, key, text ? cJSON_CreateString(text) : cJSON_CreateNull());
}

static void add_number(cJSON *object, const char *key, double number)
{
    cJSON_AddNumberToObject(object, key, number);
}

static void add_known(cJSON *object, const char *key, bool is_known, double number)
{
    cJSON_AddItemToObject(object, key, is_known ? cJSON_CreateNumber(number) : cJSON_CreateNull());
}

static void add_hash(cJSON *object, const char *key, uint64_t hash)
{
    char text[17];
    snprintf(text, sizeof text, "%016" PRIx64, hash);
    cJSON_AddStringToObject(object, key, text);
}

static void add_prediction(cJSON *object, const ls_summary_prediction *prediction)
{
    if (prediction->ticks == 0) {
        cJSON_AddNullToObject(object, "prediction");
        return;
    }
    cJSON *json = cJSON_AddObjectToObject(object, "prediction");
    add_number(json, "ticks", prediction->ticks);
    add_number(json, "rollbacks", (double)prediction->rollbacks);
    add_number(json, "rollbacks_per_s", prediction->rollbacks_per_s);
    cJSON *depth = cJSON_AddObjectToObject(json, "depth_ticks");
    add_number(depth, "mean", prediction->depth_mean);
    add_number(depth, "p99", prediction->depth_p99);
    add_number(depth, "max", prediction->depth_max);
    add_number(json, "resimulated_ticks", (double)prediction->resimulated_ticks);
    add_number(json, "steps_per_tick", prediction->steps_per_tick);
}

static void add_lag(cJSON *player, const ls_summary_lag *lag)
{
    if (!lag->cause) {
        cJSON_AddNullToObject(player, "lag");
        return;
    }
    cJSON *json = cJSON_AddObjectToObject(player, "lag");
    add_text(json, "cause", lag->cause);
    add_text(json, "text", lag->text.bytes);
    add_number(json, "late_share", lag->late_share);
    add_number(json, "uplink_loss", lag->uplink_loss);
    add_number(json, "uplink_jitter_ms", lag->uplink_jitter_ms);
    add_number(json, "downlink_loss", lag->downlink_loss);
    add_number(json, "downlink_jitter_ms", lag->downlink_jitter_ms);
    add_number(json, "longest_frame_ms", lag->longest_frame_ms);
    add_number(json, "mending_delay_ticks", lag->mending_delay_ticks);
}

static cJSON *player_json(const ls_summary_player *player)
{
    cJSON *json = cJSON_CreateObject();
    bool is_server = player->has_server_figures;
    bool is_told = player->has_client_figures;
    add_number(json, "slot", player->slot);
    add_text(json, "name", player->name);
    add_text(json, "status", player->status);
    add_known(json, "hashes_compared", is_server, (double)player->hashes_compared);
    add_known(json, "inputs_on_time", is_server, (double)player->inputs_on_time);
    add_known(json, "inputs_late", is_server, (double)player->inputs_late);
    add_known(json, "inputs_substituted", is_server, (double)player->inputs_substituted);
    add_known(json, "input_delay_ticks", is_server, player->input_delay_ticks);
    add_known(json, "joined_tick", is_server, player->joined_tick);
    add_known(json, "rejoins", is_server, player->rejoins);
    add_lag(json, &player->lag);
    add_known(json, "stalled_ticks", is_told, (double)player->stalled_ticks);
    add_known(json, "rtt_ms", is_told, player->rtt_ms);
    cJSON *latency = cJSON_AddObjectToObject(json, "confirm_latency_ms");
    add_known(latency, "p50", is_told, player->confirm_latency_p50_ms);
    add_known(latency, "p99", is_told, player->confirm_latency_p99_ms);
    add_known(latency, "max", is_told, player->confirm_latency_max_ms);
    add_known(json, "frames", is_told, (double)player->frames);
    add_prediction(json, &player->prediction);
    add_number(json, "bytes_up", (double)player->bytes_up);
    add_number(json, "bytes_down", (double)player->bytes_down);
    return json;
}

static void add_place(cJSON *json, const ls_summary_place *place)
{
    add_text(json, "part", place ? place->part : NULL);
    add_text(json, "field", place ? place->field : NULL);
    add_text(json, "server_value", place ? place->server_value : NULL);
    add_text(json, "client_value", place ? place->client_value : NULL);
    add_text(json, "unit", place ? place->unit : NULL);
}

/* What was found out: the first value that differs, then all that are listed, then why. */
static void add_cause(cJSON *json, const ls_summary_desync *desync)
{
    add_place(json, desync->place_count > 0 ? &desync->places[0] : NULL);
    add_known(json, "differing", desync->has_cause, (double)desync->elements);
    cJSON_AddItemToObject(json, "differing_is_lower_bound",
                          desync->has_cause ? cJSON_CreateBool(desync->is_lower_bound)
                                            : cJSON_CreateNull());
    cJSON *fields = cJSON_AddArrayToObject(json, "fields");
    for (uint32_t i = 0; i < desync->place_count; i++) {
        cJSON *place = cJSON_CreateObject();
        add_place(place, &desync->places[i]);
        cJSON_AddItemToArray(fields, place);
    }
    add_text(json, "pass", desync->pass);
    add_text(json, "class", desync->class_word);
    add_text(json, "culprit", desync->culprit);
    add_text(json, "why", desync->why);
    add_text(json, "inputs", desync->inputs);
    add_text(json, "bundle", desync->bundle);
    add_known(json, "found_ms", desync->found_ms > 0, desync->found_ms);
    add_known(json, "times", desync->has_cause, desync->times);
    add_known(json, "healed", desync->has_cause, desync->healed);
}

static cJSON *desync_json(const ls_summary_desync *desync)
{
    cJSON *json = cJSON_CreateObject();
    add_number(json, "tick", desync->tick);
    add_number(json, "slot", desync->slot);
    add_hash(json, "server_hash", desync->server_hash);
    add_hash(json, "client_hash", desync->client_hash);
    add_cause(json, desync);
    return json;
}

/* What is known once a match has been joined. */
static void add_match(cJSON *json, const ls_summary *summary)
{
    static const char *const keys[] = {"sim", "seed", "tick_rate_hz", "final_tick", "final_hash"};
    for (size_t i = 0; !summary->sim && i < sizeof keys / sizeof keys[0]; i++) {
        cJSON_AddNullToObject(json, keys[i]);
    }
    if (!summary->sim) {
        return;
    }
    char seed[24];
    snprintf(seed, sizeof seed, "%" PRIu64, summary->seed);
    add_text(json, "sim", summary->sim);
    add_text(json, "seed", seed);
    add_number(json, "tick_rate_hz", summary->tick_rate_hz);
    add_number(json, "final_tick", summary->final_tick);
    add_hash(json, "final_hash", summary->final_hash);
}

static void add_journal(cJSON *object, const ls_summary_journal *journal)
{
    if (!journal->file) {
        cJSON_AddNullToObject(object, "journal");
        return;
    }
    cJSON *json = cJSON_AddObjectToObject(object, "journal");
    add_text(json, "file", journal->file);
    add_number(json, "bytes", (double)journal->bytes);
    add_number(json, "records", (double)journal->records);
    add_number(json, "failures", (double)journal->failures);
    add_number(json, "ticks_missing", (double)journal->ticks_missing);
}

static cJSON *summary_json(const ls_summary *summary)
{
    cJSON *json = cJSON_CreateObject();
    add_text(json, "program", summary->program);
    add_text(json, "status", summary->status);
    add_number(json, "ticks", summary->ticks);
    add_match(json, summary);
    add_known(json, "hashes_compared", summary->has_comparison, (double)summary->hashes_compared);
    add_number(json, "packets_rejected", (double)summary->packets_rejected);
    add_known(json, "spectators", summary->has_spectators, (double)summary->spectators);
    add_journal(json, &summary->journal);
    cJSON *players = cJSON_AddArrayToObject(json, "players");
    for (uint32_t i = 0; i < summary->player_count; i++) {
        cJSON_AddItemToArray(players, player_json(&summary->players[i]));
    }
    cJSON *desyncs = cJSON_AddArrayToObject(json, "desyncs");
    for (uint32_t i = 0; i < summary->desync_count; i++) {
        cJSON_AddItemToArray(desyncs, desync_json(&summary->desyncs[i]));
    }
    return json;
}

static ls_status write_json(cJSON *json, const char *path, ls_text *why)
{
    char *text = cJSON_Print(json);
    cJSON_Delete(json);
    if (!text) {
        ls_text_set(why, "%s", ls_status_text(LS_NO_MEMORY));
        return LS_NO_MEMORY;
    }
    ls_status status = ls_output_write(path, text, why);
    cJSON_free(text);
    return status;
}

ls_status ls_summary_write(const ls_summary *summary, const char *path, ls_text *why)
{
    return write_json(summary_json(summary), path, why);
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

ls_status ls_summary_write_matches(const ls_summary *summaries, uint32_t count, const char *path,
                                   ls_text *why)
{
    cJSON *json = cJSON_CreateObject();
    add_text(json, "program", summaries[0].program);
    add_text(json, "status", status_of_all(summaries, count));
    cJSON *matches = cJSON_AddArrayToObject(json, "matches");
    for (uint32_t i = 0; i < count; i++) {
        cJSON_AddItemToArray(matches, summary_json(&summaries[i]));
    }
    return write_json(json, path, why);
}
