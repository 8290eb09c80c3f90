#include "lockstep/server/rooms/match_summary.h"

#include "lockstep/common/loader/plugin_loader.h"
#include "lockstep/common/program/player_name.h"

#include <inttypes.h>
#include <string.h>

enum {
    PLACES_SHOWN = 8 /* all of them are in the summary and in the bundle */
};

/* ---- as the summary object has it ---- */

static void fill_lag(const ls_match *match, uint32_t slot, ls_summary_lag *out)
{
    ls_lag lag = ls_match_lag_of(match, slot);
    *out = (ls_summary_lag){.cause = ls_lag_cause_name(lag.cause),
                            .lost_ms = lag.lost_ms,
                            .late_share = lag.late_ppm / 1e6,
                            .uplink_loss = lag.uplink_loss_ppm / 1e6,
                            .uplink_jitter_ms = lag.uplink_jitter_us / 1e3,
                            .downlink_loss = lag.downlink_loss_ppm / 1e6,
                            .downlink_jitter_ms = lag.downlink_jitter_us / 1e3,
                            .longest_frame_ms = lag.longest_frame_ms,
                            .suggested_input_delay_ticks = lag.suggested_input_delay_ticks};
    ls_match_lag_text(match, &lag, &out->text);
}

static void fill_player(const ls_match *match, uint32_t slot, const ls_transport_traffic *traffic,
                        ls_summary_player *out)
{
    ls_match_slot player = ls_match_slot_of(match, slot);
    const ls_finished *own = &player.finished;
    bool has_left = player.left_why[0] != '\0';
    bool was_here = player.has_played || has_left;
    *out = (ls_summary_player){.slot = slot,
                               .status = was_here ? ls_status_name(player.left_status) : NULL,
                               .why = has_left ? player.left_why : NULL,
                               .has_server_figures = true,
                               .hashes_compared = player.hashes_compared,
                               .inputs_on_time = player.inputs_on_time,
                               .inputs_late = player.inputs_late,
                               .inputs_substituted = player.inputs_substituted,
                               .input_delay_ticks = player.input_delay_ticks,
                               .joined_tick = player.joined_tick,
                               .here_tick = player.here_tick,
                               .rejoins = player.rejoins,
                               .has_client_figures = player.has_finished,
                               .stalled_ticks = own->stalled_ticks,
                               .rtt_ms = own->rtt_us / 1e3,
                               .confirm_latency_p50_ms = own->confirm_latency_p50_us / 1e3,
                               .confirm_latency_p99_ms = own->confirm_latency_p99_us / 1e3,
                               .confirm_latency_max_ms = own->confirm_latency_max_us / 1e3,
                               .frames = own->frames,
                               .bytes_up = traffic->bytes_received,
                               .bytes_down = traffic->bytes_sent};
    memcpy(out->name, player.name, sizeof out->name);
    if (player.has_played) {
        fill_lag(match, slot, &out->lag);
    }
}

static void fill_place(const ls_desync_finding *finding, uint32_t index, ls_summary_place *out)
{
    const ls_difference_text *text = &finding->places[index];
    const ls_field *field = finding->place_fields[index];
    size_t part_bytes = strcspn(field->path, ".[");
    *out = (ls_summary_place){
        .field = text->name, .server_value = text->a, .client_value = text->b, .unit = field->unit};
    if (part_bytes < sizeof out->part) {
        memcpy(out->part, field->path, part_bytes);
    }
}

void ls_desync_finding_summarize(const ls_desync_finding *finding, ls_summary_desync *out)
{
    out->has_cause = true;
    out->first_tick = finding->first_tick;
    out->first_tick_min = finding->first_tick_min;
    out->first_tick_max = finding->first_tick_max;
    out->times = finding->times;
    out->healed = finding->healed;
    out->elements = finding->elements;
    out->is_lower_bound = finding->is_lower_bound;
    out->pass = finding->pass;
    out->values_after_pass = finding->is_after_pass ? finding->pass : NULL;
    out->why = LS_DESYNC_CLASS_OPEN;
    if (!finding->is_open) {
        out->class_word = ls_desync_class_word(finding->verdict.kind);
        out->culprit = ls_desync_culprit_word(finding->verdict.culprit);
        out->why = finding->verdict.why.bytes;
    }
    out->inputs = finding->inputs.bytes;
    out->circumstances = finding->circumstances.bytes;
    out->values_ms = (double)finding->values_ns / 1e6;
    out->found_ms = (double)finding->took_ns / 1e6;
    out->place_count = finding->place_count;
    for (uint32_t i = 0; i < finding->place_count; i++) {
        fill_place(finding, i, &out->places[i]);
    }
}

const char *ls_match_unknown_why(const ls_match_config *config)
{
    const ls_simulation *simulation = config->simulation;
    if (ls_simulation_only_hashes(simulation)) {
        return LS_DESYNC_OF_HASH_ALONE;
    }
    return config->finds_causes ? NULL : "the server was told not to look: --find-causes off";
}

static void add_desync(ls_match *match, ls_summary *summary, uint32_t slot,
                       const ls_match_slot *player)
{
    const ls_match_config *config = ls_match_config_of(match);
    const ls_desync_finding *finding = ls_match_desync_of(match, slot);
    ls_summary_desync *desync = &summary->desyncs[summary->desync_count++];
    *desync = (ls_summary_desync){.tick = player->desync_tick,
                                  .slot = slot,
                                  .is_spectator = slot == summary->player_count,
                                  .server_hash = player->desync_server_hash,
                                  .client_hash = player->desync_client_hash,
                                  .clients = player->desync_clients,
                                  .since = ls_desync_since(ls_match_instance(match),
                                                           config->hash_interval_ticks,
                                                           player->desync_tick),
                                  .why = ls_match_unknown_why(config)};
    if (finding) {
        ls_desync_finding_summarize(finding, desync);
    }
}

void ls_match_summarize(ls_match *match, const ls_match_config *config,
                        const ls_transport_traffic *traffic, ls_summary *summary)
{
    *summary = (ls_summary){.program = "lockstep-server",
                            .sim = config->simulation->name,
                            .seed = config->sim.seed,
                            .tick_rate_hz = ls_rate_hz(ls_sim_config_rate(&config->sim)),
                            .ticks = config->ticks,
                            .final_tick = ls_match_tick(match),
                            .final_hash = ls_match_hash(match),
                            .has_comparison = true,
                            .packets_rejected = ls_match_packets_rejected(match),
                            .has_spectators = true,
                            .spectators = ls_match_spectating_of(match).ever,
                            .player_count = ls_match_players(match)};
    for (uint32_t slot = 0; slot < summary->player_count; slot++) {
        fill_player(match, slot, &traffic[slot], &summary->players[slot]);
        summary->hashes_compared += summary->players[slot].hashes_compared;
    }
    for (uint32_t slot = 0; slot <= summary->player_count; slot++) {
        ls_match_slot player = ls_match_slot_of(match, slot);
        if (player.is_desynced) {
            add_desync(match, summary, slot, &player);
        }
    }
    summary->status = ls_status_name(summary->desync_count > 0 ? LS_DESYNCED : LS_OK);
}

/* ---- for a person ---- */

/* Before the end, for another reason than that it was over. */
static bool has_left(const ls_summary_player *player)
{
    return player->status && strcmp(player->status, ls_status_name(LS_OK)) != 0;
}

static void log_absent(const ls_summary_player *player, const ls_log *log)
{
    ls_text fate = {"nobody played here"};
    if (player->status) {
        ls_text_set(&fate, has_left(player) ? "left (%s)" : "did not reach the end",
                    player->status);
    }
    ls_log_line(log, LS_LOG_INFO, "%4" PRIu32 "  %-*s %s", player->slot,
                ls_player_name_width(player->name), player->name, fate.bytes);
}

static double seconds_since(const ls_summary *summary, uint32_t tick)
{
    uint32_t ticks = summary->final_tick > tick ? summary->final_tick - tick : 0;
    return ticks > 0 ? (double)ticks / summary->tick_rate_hz : 1;
}

/* Frames and bytes are counted for each connection anew. */
static void log_player(const ls_summary *summary, const ls_summary_player *player,
                       const ls_log *log)
{
    double connected_s = seconds_since(summary, player->here_tick);
    if (!player->has_client_figures) {
        log_absent(player, log);
        return;
    }
    ls_log_line(log, LS_LOG_INFO,
                "%4" PRIu32 "  %-*s %5.0f %7.1f %7.1f %7.1f %8" PRIu64 " %6" PRIu64 " %7" PRIu64
                " %8" PRIu64 " %6.2f %6.2f",
                player->slot, ls_player_name_width(player->name), player->name,
                (double)player->frames / connected_s, player->rtt_ms,
                player->confirm_latency_p50_ms, player->confirm_latency_p99_ms,
                player->inputs_on_time, player->inputs_substituted, player->stalled_ticks,
                player->hashes_compared, (double)player->bytes_up / connected_s / 1e3,
                (double)player->bytes_down / connected_s / 1e3);
}

static void log_lag(const ls_summary_player *player, const ls_log *log)
{
    if (!player->lag.cause) {
        return;
    }
    bool is_fine = strcmp(player->lag.cause, ls_lag_cause_name(LS_LAG_FINE)) == 0;
    if (is_fine && has_left(player)) {
        ls_log_line(log, LS_LOG_INFO, "%s (slot %" PRIu32 "): left (%s)", player->name,
                    player->slot, player->status);
        return;
    }
    ls_text delay = {{0}};
    if (player->input_delay_ticks > 0) {
        ls_text_set(&delay, " (input delay %" PRIu32 ")", player->input_delay_ticks);
    }
    ls_log_line(log, LS_LOG_INFO, "%s (slot %" PRIu32 "): %s%s", player->name, player->slot,
                player->lag.text.bytes, delay.bytes);
}

void ls_match_summary_log(const ls_summary *summary, const ls_log *log)
{
    ls_log_line(log, LS_LOG_INFO,
                "slot  name               fps  rtt ms  p50 ms  p99 ms  on time  subst stalled   "
                "hashes  kB/s^  kB/s v");
    for (uint32_t i = 0; i < summary->player_count; i++) {
        log_player(summary, &summary->players[i], log);
    }
    for (uint32_t i = 0; i < summary->player_count; i++) {
        log_lag(&summary->players[i], log);
    }
    for (uint32_t i = 0; i < summary->desync_count; i++) {
        const ls_summary_desync *desync = &summary->desyncs[i];
        if (desync->clients > 0) {
            ls_log_line(log, LS_LOG_WARNING,
                        "this server differs %s from %" PRIu32
                        " clients which agree: server %016" PRIx64 ", clients %016" PRIx64,
                        desync->since.bytes, desync->clients, desync->server_hash,
                        desync->client_hash);
            continue;
        }
        ls_log_line(log, LS_LOG_WARNING,
                    "%s (slot %" PRIu32 ") differs %s: server %016" PRIx64 ", client %016" PRIx64,
                    summary->players[desync->slot].name, desync->slot, desync->since.bytes,
                    desync->server_hash, desync->client_hash);
    }
    if (summary->spectators > 0) {
        ls_log_line(log, LS_LOG_INFO, "%" PRIu64 " spectator%s", summary->spectators,
                    summary->spectators == 1 ? "" : "s");
    }
    ls_log_line(log, LS_LOG_INFO,
                "%" PRIu32 " ticks, %" PRIu64 " hashes compared, %" PRIu32
                " difference%s, final hash %016" PRIx64,
                summary->final_tick, summary->hashes_compared, summary->desync_count,
                summary->desync_count == 1 ? "" : "s", summary->final_hash);
}

static void log_places(const ls_desync_finding *finding, const ls_log *log)
{
    uint32_t shown = LS_MIN(finding->place_count, PLACES_SHOWN);
    for (uint32_t i = 0; i < shown; i++) {
        const ls_difference_text *place = &finding->places[i];
        ls_log_line(log, LS_LOG_ERROR, "  %s: server %s, client %s", place->name, place->a,
                    place->b);
    }
    if (finding->elements > shown) {
        ls_log_line(log, LS_LOG_ERROR, "  and %s%" PRIu64 " more",
                    finding->is_lower_bound ? "at least " : "", finding->elements - shown);
    }
}

static void describe_values(const ls_desync_finding *finding, ls_text *out)
{
    if (finding->is_after_pass) {
        ls_text_set(out, "the values are those after it");
    } else if (finding->values_tick == ls_desync_finding_step(finding) + 1) {
        ls_text_set(out, "the values are those at the end of the tick");
    } else {
        ls_text_set(out, "the values are those of state %" PRIu32, finding->values_tick);
    }
}

static void log_pass(const ls_desync_finding *finding, const ls_log *log)
{
    ls_text values;
    describe_values(finding, &values);
    switch (finding->differing_pass) {
    case LS_PASS_AT:
        ls_log_line(log, LS_LOG_ERROR, "  first pass that differs, in tick %" PRIu32 ": %s; %s",
                    ls_desync_finding_step(finding), finding->pass ? finding->pass : "unknown",
                    values.bytes);
        return;
    case LS_PASS_UNSTABLE:
        ls_log_line(log, LS_LOG_ERROR,
                    "  simulated again here, tick %" PRIu32
                    " comes out in different ways from one state; they part in: %s",
                    ls_desync_finding_step(finding), finding->pass);
        return;
    case LS_PASS_WRITES:
        ls_log_line(log, LS_LOG_ERROR,
                    "  simulated again, tick %" PRIu32
                    " does not show in which pass the sides part; the first pass that writes any "
                    "of these values: %s%s",
                    ls_desync_finding_step(finding), finding->pass,
                    finding->do_later_passes_write ? ", and later ones write them too" : "");
        return;
    case LS_PASS_NONE:
        ls_log_line(log, LS_LOG_ERROR,
                    "  simulated again, every pass of tick %" PRIu32
                    " gives the same on both sides",
                    ls_desync_finding_step(finding));
        return;
    case LS_PASS_BEFORE:
        ls_log_line(log, LS_LOG_ERROR,
                    "  no pass can be named: simulated again, the states differ before the first "
                    "pass of tick %" PRIu32,
                    ls_desync_finding_step(finding));
        return;
    case LS_PASS_UNKNOWN:
        return;
    }
}

/* Where the line of the pass does not say it. */
static void log_values_state(const ls_desync_finding *finding, const ls_log *log)
{
    bool is_said = !finding->is_open && finding->differing_pass == LS_PASS_AT;
    bool is_other =
        !finding->is_after_pass && finding->values_tick != ls_desync_finding_step(finding) + 1;
    if (finding->place_count > 0 && is_other && !is_said) {
        ls_log_line(log, LS_LOG_ERROR, "  the values are those of state %" PRIu32,
                    finding->values_tick);
    }
}

static void log_open(const ls_desync_finding *finding, const char *player, const ls_log *log)
{
    ls_tick made = ls_desync_finding_step(finding) + 1;
    ls_text extent =
        ls_state_difference_extent(finding->elements, finding->fields, finding->is_lower_bound);
    ls_log_line(log, LS_LOG_ERROR, "DESYNC of %s at tick %" PRIu32 ": %s; %s", player, made,
                extent.bytes, LS_DESYNC_CLASS_OPEN);
    log_places(finding, log);
    log_values_state(finding, log);
}

ls_text ls_desync_finding_command(const char *bundle, const ls_simulation *simulation)
{
    const ls_text none = {{0}};
    return bundle ? ls_desync_command(bundle, ls_simulation_file(simulation), simulation) : none;
}

/* First what explains this one, then what its class asks for. */
static void log_next(const ls_desync_finding *finding, const char *bundle,
                     const ls_simulation *simulation, const ls_log *log)
{
    ls_text command = ls_desync_finding_command(bundle, simulation);
    if (command.bytes[0]) {
        const char *advice = ls_simulation_file_advice(ls_simulation_file(simulation));
        ls_log_line(log, LS_LOG_ERROR, "  next: %s", command.bytes);
        if (advice) {
            ls_log_line(log, LS_LOG_ERROR, "  %s", advice);
        }
    }
    ls_log_line(log, LS_LOG_ERROR, "  %s: %s", command.bytes[0] ? "then" : "next",
                ls_desync_class_next(finding->verdict.kind));
}

void ls_desync_report_log(const ls_desync_finding *finding, const char *player, const char *bundle,
                          const ls_simulation *simulation, const ls_log *log)
{
    if (finding->is_open) {
        log_open(finding, player, log);
        return;
    }
    ls_text extent =
        ls_state_difference_extent(finding->elements, finding->fields, finding->is_lower_bound);
    ls_log_line(log, LS_LOG_ERROR, "DESYNC of %s at tick %" PRIu32 ": %s; class %s, at fault: %s",
                player, ls_desync_finding_step(finding) + 1, extent.bytes,
                ls_desync_class_word(finding->verdict.kind),
                ls_desync_culprit_word(finding->verdict.culprit));
    log_places(finding, log);
    log_values_state(finding, log);
    log_pass(finding, log);
    if (finding->inputs.bytes[0]) {
        ls_log_line(log, LS_LOG_ERROR, "  inputs of tick %" PRIu32 ": %s",
                    ls_desync_finding_step(finding), finding->inputs.bytes);
    }
    if (finding->circumstances.bytes[0]) {
        ls_log_line(log, LS_LOG_ERROR, "  %s", finding->circumstances.bytes);
    }
    ls_log_line(log, LS_LOG_ERROR, "  %s", finding->verdict.why.bytes);
    log_next(finding, bundle, simulation, log);
    if (bundle) {
        ls_log_line(log, LS_LOG_ERROR, "  bundle: %s", bundle);
    }
}
