#include "lockstep/common/program/summary.h"

#include "lockstep/common/program/json.h"

#include <string.h>

static void add_prediction(ls_json *object, const ls_summary_prediction *prediction)
{
    if (prediction->ticks == 0) {
        ls_json_null(object, "prediction");
        return;
    }
    ls_json *json = ls_json_object(object, "prediction");
    ls_json_number(json, "ticks", prediction->ticks);
    ls_json_number(json, "rollbacks", (double)prediction->rollbacks);
    ls_json_number(json, "rollbacks_per_s", prediction->rollbacks_per_s);
    ls_json *depth = ls_json_object(json, "depth_ticks");
    ls_json_number(depth, "mean", prediction->depth_mean);
    ls_json_number(depth, "p99", prediction->depth_p99);
    ls_json_number(depth, "max", prediction->depth_max);
    ls_json_number(json, "resimulated_ticks", (double)prediction->resimulated_ticks);
    ls_json_number(json, "steps_per_tick", prediction->steps_per_tick);
}

static void add_lag(ls_json *player, const ls_summary_lag *lag)
{
    if (!lag->cause) {
        ls_json_null(player, "lag");
        return;
    }
    ls_json *json = ls_json_object(player, "lag");
    ls_json_text(json, "cause", lag->cause);
    ls_json_text(json, "text", lag->text.bytes);
    ls_json_number(json, "late_share", lag->late_share);
    ls_json_number(json, "uplink_loss", lag->uplink_loss);
    ls_json_number(json, "uplink_jitter_ms", lag->uplink_jitter_ms);
    ls_json_number(json, "downlink_loss", lag->downlink_loss);
    ls_json_number(json, "downlink_jitter_ms", lag->downlink_jitter_ms);
    ls_json_number(json, "longest_frame_ms", lag->longest_frame_ms);
    ls_json_number(json, "suggested_input_delay_ticks", lag->suggested_input_delay_ticks);
}

static void add_player(ls_json *json, const ls_summary_player *player)
{
    bool is_server = player->has_server_figures;
    bool is_told = player->has_client_figures;
    ls_json_number(json, "slot", player->slot);
    ls_json_text(json, "name", player->name);
    ls_json_text(json, "status", player->status);
    ls_json_known(json, "hashes_compared", is_server, (double)player->hashes_compared);
    ls_json_known(json, "inputs_on_time", is_server, (double)player->inputs_on_time);
    ls_json_known(json, "inputs_late", is_server, (double)player->inputs_late);
    ls_json_known(json, "inputs_substituted", is_server, (double)player->inputs_substituted);
    ls_json_known(json, "input_delay_ticks", is_server, player->input_delay_ticks);
    ls_json_known(json, "joined_tick", is_server, player->joined_tick);
    ls_json_known(json, "rejoins", is_server, player->rejoins);
    add_lag(json, &player->lag);
    ls_json_known(json, "stalled_ticks", is_told, (double)player->stalled_ticks);
    ls_json_known(json, "rtt_ms", is_told, player->rtt_ms);
    ls_json *latency = ls_json_object(json, "confirm_latency_ms");
    ls_json_known(latency, "p50", is_told, player->confirm_latency_p50_ms);
    ls_json_known(latency, "p99", is_told, player->confirm_latency_p99_ms);
    ls_json_known(latency, "max", is_told, player->confirm_latency_max_ms);
    ls_json_known(json, "frames", is_told, (double)player->frames);
    add_prediction(json, &player->prediction);
    ls_json_number(json, "bytes_up", (double)player->bytes_up);
    ls_json_number(json, "bytes_down", (double)player->bytes_down);
}

static void add_place(ls_json *json, const ls_summary_place *place)
{
    ls_json_text(json, "part", place ? place->part : NULL);
    ls_json_text(json, "field", place ? place->field : NULL);
    ls_json_text(json, "server_value", place ? place->server_value : NULL);
    ls_json_text(json, "client_value", place ? place->client_value : NULL);
    ls_json_text(json, "unit", place ? place->unit : NULL);
}

/* The findings: the first value that differs, then all that are listed, then why. */
static void add_cause(ls_json *json, const ls_summary_desync *desync)
{
    add_place(json, desync->place_count > 0 ? &desync->places[0] : NULL);
    ls_json_known(json, "differing", desync->has_cause, (double)desync->elements);
    if (desync->has_cause) {
        ls_json_bool(json, "differing_is_lower_bound", desync->is_lower_bound);
    } else {
        ls_json_null(json, "differing_is_lower_bound");
    }
    ls_json *fields = ls_json_array(json, "fields");
    for (uint32_t i = 0; i < desync->place_count; i++) {
        add_place(ls_json_append(fields), &desync->places[i]);
    }
    ls_json_text(json, "pass", desync->pass);
    ls_json_text(json, "class", desync->class_word);
    ls_json_text(json, "culprit", desync->culprit);
    ls_json_text(json, "why", desync->why);
    ls_json_text(json, "inputs", desync->inputs);
    ls_json_text(json, "bundle", desync->bundle);
    ls_json_known(json, "found_ms", desync->found_ms > 0, desync->found_ms);
    ls_json_known(json, "times", desync->has_cause, desync->times);
    ls_json_known(json, "healed", desync->has_cause, desync->healed);
}

static void add_desync(ls_json *json, const ls_summary_desync *desync)
{
    ls_json_number(json, "tick", desync->tick);
    ls_json_number(json, "slot", desync->slot);
    ls_json_hash(json, "server_hash", desync->server_hash);
    ls_json_hash(json, "client_hash", desync->client_hash);
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
    if (!journal->file) {
        ls_json_null(object, "journal");
        return;
    }
    ls_json *json = ls_json_object(object, "journal");
    ls_json_text(json, "file", journal->file);
    ls_json_number(json, "bytes", (double)journal->bytes);
    ls_json_number(json, "records", (double)journal->records);
    ls_json_number(json, "failures", (double)journal->failures);
    ls_json_number(json, "ticks_missing", (double)journal->ticks_missing);
}

static void add_summary(ls_json *json, const ls_summary *summary)
{
    ls_json_text(json, "program", summary->program);
    ls_json_text(json, "status", summary->status);
    ls_json_number(json, "ticks", summary->ticks);
    add_match(json, summary);
    ls_json_known(json, "hashes_compared", summary->has_comparison,
                  (double)summary->hashes_compared);
    ls_json_number(json, "packets_rejected", (double)summary->packets_rejected);
    ls_json_known(json, "spectators", summary->has_spectators, (double)summary->spectators);
    add_journal(json, &summary->journal);
    ls_json *players = ls_json_array(json, "players");
    for (uint32_t i = 0; i < summary->player_count; i++) {
        add_player(ls_json_append(players), &summary->players[i]);
    }
    ls_json *desyncs = ls_json_array(json, "desyncs");
    for (uint32_t i = 0; i < summary->desync_count; i++) {
        add_desync(ls_json_append(desyncs), &summary->desyncs[i]);
    }
}

static ls_status write_and_destroy(ls_json *json, const char *path, ls_text *why)
{
    ls_status status = ls_json_write(json, path, why);
    ls_json_destroy(json);
    return status;
}

ls_status ls_summary_write(const ls_summary *summary, const char *path, ls_text *why)
{
    ls_json *json = ls_json_create();
    add_summary(json, summary);
    return write_and_destroy(json, path, why);
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
    ls_json *json = ls_json_create();
    ls_json_text(json, "program", summaries[0].program);
    ls_json_text(json, "status", status_of_all(summaries, count));
    ls_json *matches = ls_json_array(json, "matches");
    for (uint32_t i = 0; i < count; i++) {
        add_summary(ls_json_append(matches), &summaries[i]);
    }
    return write_and_destroy(json, path, why);
}
