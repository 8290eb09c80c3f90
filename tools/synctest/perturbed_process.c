#include "lockstep/tools/synctest/perturbed_process.h"

#include "lockstep/common/diagnosis/state_difference.h"
#include "lockstep/common/program/exit_code.h"
#include "lockstep/common/system/child_process.h"
#include "lockstep/common/system/shared_memory.h"
#include "lockstep/tools/synctest/compare.h"
#include "lockstep/tools/synctest/crash.h"
#include "lockstep/tools/synctest/play_mode.h"

#include <stdlib.h>
#include <string.h>

bool synctest_perturbed_process_is_wanted(int argc, char **argv)
{
    return argc == 2 && strcmp(argv[1], SYNCTEST_PERTURBED_ARGUMENT) == 0;
}

static synctest_trace_shape trace_shape(const synctest_facts *facts)
{
    return (synctest_trace_shape){.pass_count = facts->pass_count,
                                  .state_bytes = facts->has_schema ? facts->state_bytes : 0,
                                  .image_bytes = facts->has_schema ? 0 : facts->image_bytes};
}

static bool open_files(synctest_player *player)
{
    const synctest_exchange *exchange = player->exchange;
    const synctest_facts *facts = &exchange->facts;
    bool is_recording = exchange->task == SYNCTEST_TASK_RECORD;
    bool is_explaining = exchange->task == SYNCTEST_TASK_EXPLAIN;
    uint32_t ticks = exchange->match.ticks;
    ls_status status = is_recording ? synctest_tape_create(player->files[SYNCTEST_FILE_TAPE], ticks,
                                                           facts->players, &player->tape)
                                    : synctest_tape_open(player->files[SYNCTEST_FILE_TAPE], ticks,
                                                         facts->players, &player->tape);
    if (status == LS_OK && !is_recording) {
        int trace =
            is_explaining ? ls_shared_memory_make("expected") : player->files[SYNCTEST_FILE_TRACE];
        status = synctest_trace_open(trace, trace_shape(facts), &player->trace);
    }
    if (status != LS_OK) {
        synctest_player_fail(player, LS_NO_MEMORY, "no memory to keep a match in");
    }
    return status == LS_OK;
}

/* ---- explaining ---- */

static const char *pass_name(const synctest_player *player, uint32_t place)
{
    const synctest_outcome *outcome = &player->exchange->outcome;
    if (place == 0) {
        return outcome->is_initial ? "init" : "before the step";
    }
    return player->simulation.passes[place - 1].name;
}

static void describe_values(synctest_outcome *outcome, const synctest_difference *difference,
                            const uint8_t *expected, const uint8_t *found)
{
    const ls_schema_place *place = &difference->first;
    outcome->elements = difference->elements;
    ls_schema_place_name(place, outcome->field, sizeof outcome->field);
    ls_schema_place_value(place, expected, outcome->expected, sizeof outcome->expected);
    ls_schema_place_value(place, found, outcome->found, sizeof outcome->found);
    synctest_oddity oddity = synctest_compare_oddity(place, found);
    outcome->oddity = oddity ? oddity : synctest_compare_oddity(place, expected);
}

/* A state behind a callback: what its save holds after the tick. */
static void describe_saves(synctest_player *player, synctest_difference *difference,
                           const synctest_trace *found, const ls_sim_instance *instance)
{
    synctest_outcome *outcome = &player->exchange->outcome;
    const ls_schema *schema = ls_sim_instance_image_schema(instance);
    synctest_player_keep_image(player, instance);
    const uint8_t *expected_image = synctest_trace_image(&player->trace);
    const uint8_t *found_image = synctest_trace_image(found);
    if (!expected_image || !found_image) {
        return;
    }
    bool is_other = synctest_compare_images(schema, &player->trace, found, difference);
    if (is_other) {
        describe_values(outcome, difference, expected_image, found_image);
    }
    if (!is_other || !ls_simulation_names_saves(&player->simulation)) {
        ls_text words =
            ls_state_difference_of_saves(expected_image, found_image, player->trace.image_bytes);
        ls_text_add(&outcome->text, "%s%s", outcome->text.bytes[0] != '\0' ? "; " : "",
                    words.bytes);
    }
}

static void describe(synctest_player *player, synctest_difference *difference,
                     const synctest_trace *found, const ls_sim_instance *instance)
{
    synctest_outcome *outcome = &player->exchange->outcome;
    ls_name_copy(outcome->pass, sizeof outcome->pass, pass_name(player, difference->place));
    if (ls_sim_instance_schema(instance)) {
        describe_values(outcome, difference,
                        synctest_trace_state(&player->trace, difference->place),
                        synctest_trace_state(found, difference->place));
    } else {
        describe_saves(player, difference, found, instance);
    }
}

/* Plays the reference to the bad tick. False when it comes out another way than it was recorded. */
static bool reach_tick(synctest_player *player, ls_sim_instance *instance)
{
    const synctest_exchange *exchange = player->exchange;
    if (exchange->outcome.is_initial) {
        synctest_trace_set(&player->trace, 0, ls_sim_instance_hash(instance),
                           ls_sim_instance_view(instance));
    }
    while (!exchange->outcome.is_initial && ls_sim_instance_tick(instance) <= exchange->until) {
        ls_tick tick = ls_sim_instance_tick(instance);
        ls_tick_inputs inputs = synctest_player_inputs(player, tick);
        synctest_player_step(player, instance, &inputs, tick == exchange->until);
    }
    ls_tick reached = ls_sim_instance_tick(instance);
    return synctest_player_hash(player, instance) == synctest_tape_hash(&player->tape, reached);
}

static void explain(synctest_player *player)
{
    synctest_exchange *exchange = player->exchange;
    synctest_outcome *outcome = &exchange->outcome;
    ls_sim_instance *instance = synctest_player_start(player);
    synctest_trace found;
    if (!instance || synctest_trace_open(player->files[SYNCTEST_FILE_TRACE],
                                         trace_shape(&exchange->facts), &found) != LS_OK) {
        return;
    }
    if (!reach_tick(player, instance)) {
        outcome->is_reference_unsteady = true;
        ls_text_add(&outcome->text, "the reference run itself comes out another way each time");
    }
    const ls_schema *schema = ls_sim_instance_schema(instance);
    uint32_t places = found.places;
    found.places = player->trace.places = outcome->is_initial ? 1 : places;
    synctest_difference difference;
    if (synctest_compare_traces(schema, &player->trace, &found, &difference)) {
        describe(player, &difference, &found, instance);
    } else {
        ls_name_copy(outcome->pass, sizeof outcome->pass, "unknown");
    }
}

/* ---- the process ---- */

static void work(synctest_player *player)
{
    synctest_exchange *exchange = player->exchange;
    if (!synctest_player_load(player) || !open_files(player)) {
        return;
    }
    switch ((synctest_task)exchange->task) {
    case SYNCTEST_TASK_RECORD:
        synctest_play_mode_record(player);
        break;
    case SYNCTEST_TASK_PLAY:
        synctest_play_mode_run(
            player,
            synctest_perturbation_of((synctest_perturbation_id)exchange->perturbation)->mode);
        break;
    case SYNCTEST_TASK_EXPLAIN:
        explain(player);
        break;
    }
}

int synctest_perturbed_process_run(void)
{
    static synctest_player player;
    for (int i = 0; i < SYNCTEST_FILE_COUNT; i++) {
        player.files[i] = LS_CHILD_DESCRIPTOR_FIRST + i;
    }
    synctest_exchange *exchange =
        ls_shared_memory_map(player.files[SYNCTEST_FILE_EXCHANGE], sizeof *exchange);
    if (!exchange) {
        return LS_EXIT_ENVIRONMENT;
    }
    player.exchange = exchange;
    bool is_reference = exchange->task != SYNCTEST_TASK_PLAY;
    player.changes = is_reference ? SYNCTEST_CHANGES_NOTHING
                                  : synctest_perturbation_of(exchange->perturbation)->changes;
    synctest_crash_watch(exchange);
    work(&player);
    _Exit(LS_EXIT_CLEAN); /* what a plug-in left to be done at the end is not wanted */
}
