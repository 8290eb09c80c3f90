#include "lockstep/tools/synctest/perturbed_process.h"

#include "lockstep/common/diagnosis/state_difference.h"
#include "lockstep/common/program/console.h"
#include "lockstep/common/system/ability.h"
#include "lockstep/common/system/child_process.h"
#include "lockstep/common/system/machine.h"
#include "lockstep/common/system/shared_memory.h"
#include "lockstep/tools/synctest/play_mode.h"
#include "lockstep/tools/synctest/tape.h"

#include <stdio.h>
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
    uint32_t ticks = player->ticks = exchange->match.ticks;
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
    outcome->repeats.controls = 1;
    outcome->repeats.steady = reach_tick(player, instance);
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

/* ---- one run ---- */

typedef struct run {
    synctest_player *player;
    void (*play)(synctest_player *player);
} run;

static int play_in_copy(const void *user, int channel)
{
    const run *wanted = user;
    (void)channel;
    wanted->play(wanted->player);
    return LS_EXIT_CLEAN;
}

/* In a copy of this process, which has loaded the plug-in and never stepped it: what a run leaves
 * in statics, in the heap and in libraries does not reach the next one, and each has the same
 * addresses. A run that says nothing has died. Without copies it is in this process. */
static void play_apart(synctest_player *player, void (*play)(synctest_player *))
{
    synctest_outcome *outcome = &player->exchange->outcome;
    const run wanted = {player, play};
    const ls_child_process_work job = {.run = play_in_copy, .user = &wanted};
    ls_child_process copy;
    ls_child_process_end end;
    ls_text why = {""};
    if (!player->has_copies) {
        play(player);
        return;
    }
    if (ls_child_process_fork(&job, &copy, NULL, &why) != LS_OK) {
        synctest_player_fail(player, LS_NO_MEMORY, why.bytes);
        return;
    }
    ls_child_process_wait(&copy, LS_CHILD_WAIT_FOREVER, &end);
    if (outcome->kind == SYNCTEST_OUTCOME_NONE) {
        outcome->kind = SYNCTEST_OUTCOME_CRASHED;
        outcome->signal = end.signal;
    }
}

static void play(synctest_player *player)
{
    synctest_play_mode_run(player, synctest_perturbation_of(player->exchange->perturbation)->mode);
}

/* ---- repetitions ---- */

/* The trace of the first run is kept: it is what is looked into. */
static void play_once_more(synctest_player *player)
{
    int trace = ls_shared_memory_make("repeat");
    synctest_trace_shape shape = trace_shape(&player->exchange->facts);
    if (synctest_trace_open(trace, shape, &player->trace) != LS_OK) {
        synctest_player_fail(player, LS_NO_MEMORY, "no memory to keep a tick in");
        return;
    }
    play(player);
}

static void play_control(synctest_player *player)
{
    synctest_play_mode_run(player, SYNCTEST_MODE_ONCE);
}

/* The reference with its bots, on a tape of its own. */
static void record_once_more(synctest_player *player)
{
    synctest_outcome *outcome = &player->exchange->outcome;
    const synctest_tape reference = player->tape;
    int tape = ls_shared_memory_make("tape");
    player->files[SYNCTEST_FILE_SAVES] = ls_shared_memory_make("saves");
    if (synctest_tape_create(tape, reference.ticks, reference.players, &player->tape) != LS_OK) {
        synctest_player_fail(player, LS_NO_MEMORY, "no memory to keep a match in");
        return;
    }
    synctest_play_mode_record(player);
    for (ls_tick tick = 0; tick <= player->ticks; tick++) {
        bool is_same =
            synctest_tape_hash(&player->tape, tick) == synctest_tape_hash(&reference, tick);
        outcome->kind = is_same ? outcome->kind : SYNCTEST_OUTCOME_DIFFERS;
    }
}

/* How many of so many runs that can be told came out as the reference. */
static uint32_t count_steady(synctest_player *player, void (*once)(synctest_player *),
                             uint32_t times, uint32_t *played)
{
    uint32_t steady = 0;
    for (uint32_t i = 0; i < times; i++) {
        player->exchange->outcome = (synctest_outcome){.kind = SYNCTEST_OUTCOME_NONE};
        play_apart(player, once);
        *played += player->exchange->outcome.kind != SYNCTEST_OUTCOME_FAILED;
        steady += player->exchange->outcome.kind == SYNCTEST_OUTCOME_SAME;
    }
    return steady;
}

static bool is_alike(const synctest_outcome *a, const synctest_outcome *b)
{
    return a->kind == b->kind && a->fault == b->fault && a->tick == b->tick &&
           a->is_initial == b->is_initial && a->found_hash == b->found_hash;
}

/* Up to the tick that came out otherwise. */
static void repeat(synctest_player *player)
{
    synctest_exchange *exchange = player->exchange;
    synctest_outcome first = exchange->outcome;
    first.repeats = (synctest_repeats){.played = 1, .differing = 1, .alike = 1};
    player->ticks = LS_MIN(first.tick + 1, player->tape.ticks);
    for (uint32_t i = 0; i < SYNCTEST_REPEATS; i++) {
        exchange->outcome = (synctest_outcome){.kind = SYNCTEST_OUTCOME_NONE};
        play_apart(player, play_once_more);
        first.repeats.played += exchange->outcome.kind != SYNCTEST_OUTCOME_FAILED;
        first.repeats.alike += is_alike(&exchange->outcome, &first);
        first.repeats.differing += exchange->outcome.kind != SYNCTEST_OUTCOME_FAILED &&
                                   exchange->outcome.kind != SYNCTEST_OUTCOME_SAME;
    }
    exchange->outcome = first;
}

static void play_repeatedly(synctest_player *player)
{
    play_apart(player, play);
    uint32_t kind = player->exchange->outcome.kind;
    if (player->has_copies &&
        (kind == SYNCTEST_OUTCOME_DIFFERS || kind == SYNCTEST_OUTCOME_FAULT)) {
        repeat(player);
    }
}

/* And is the reference what it was? One control has been played by what explains. */
static void explain_repeatedly(synctest_player *player)
{
    synctest_exchange *exchange = player->exchange;
    play_apart(player, explain);
    synctest_outcome explained = exchange->outcome;
    synctest_repeats *repeats = &explained.repeats;
    player->ticks = LS_MIN(explained.tick + 1, player->tape.ticks);
    if (!player->has_copies) {
        return;
    }
    repeats->steady += count_steady(player, play_control, SYNCTEST_REPEATS - 1, &repeats->controls);
    if (repeats->steady == 0) {
        repeats->recorded_alike =
            count_steady(player, record_once_more, SYNCTEST_REPEATS, &repeats->recordings);
    }
    exchange->outcome = explained;
}

/* ---- the process ---- */

/* A copy has one thread, and would wait for ever for those that a plug-in starts when it is loaded,
 * as the runtimes of Go and .NET do. */
static void work(synctest_player *player)
{
    uint32_t threads = ls_machine_threads();
    if (!synctest_player_load(player) || !open_files(player)) {
        return;
    }
    player->has_copies = ls_ability_is_there(LS_ABILITY_PERTURBED_PROCESSES, NULL) &&
                         ls_machine_threads() == threads;
    switch ((synctest_task)player->exchange->task) {
    case SYNCTEST_TASK_RECORD:
        play_apart(player, synctest_play_mode_record);
        break;
    case SYNCTEST_TASK_PLAY:
        play_repeatedly(player);
        break;
    case SYNCTEST_TASK_EXPLAIN:
        explain_repeatedly(player);
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
    if (!exchange || exchange->bytes != sizeof *exchange) {
        fputs("this lockstep-synctest is of another build than the one that started it\n", stderr);
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
