#define _DEFAULT_SOURCE
#include "lockstep/tools/synctest/world_process.h"

#include "lockstep/common/program/exit_code.h"
#include "lockstep/tools/synctest/compare.h"
#include "lockstep/tools/synctest/crash.h"
#include "lockstep/tools/synctest/drive.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool ls_world_process_is_wanted(int argc, char **argv)
{
    return argc == LS_WORLD_PROCESS_ARGUMENTS && strcmp(argv[1], LS_WORLD_PROCESS_ARGUMENT) == 0;
}

static int file_of(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

static bool open_files(ls_player *player)
{
    const ls_exchange *exchange = player->exchange;
    const ls_facts *facts = &exchange->facts;
    bool is_recording = exchange->task == LS_TASK_RECORD;
    bool is_explaining = exchange->task == LS_TASK_EXPLAIN;
    uint32_t ticks = exchange->match.ticks;
    ls_status status =
        is_recording ? ls_tape_create(player->files.tape, ticks, facts->players, &player->tape)
                     : ls_tape_open(player->files.tape, ticks, facts->players, &player->tape);
    if (status == LS_OK && !is_recording) {
        int trace = is_explaining ? player->files.expected_trace : player->files.found_trace;
        status = ls_trace_create(trace, facts->pass_count,
                                 facts->has_schema ? facts->state_bytes : 0, &player->trace);
    }
    if (status != LS_OK) {
        ls_player_fail(player, LS_NO_MEMORY, "no memory to keep a match in");
    }
    return status == LS_OK;
}

/* ---- explaining ---- */

static const char *pass_name(const ls_player *player, uint32_t place)
{
    const ls_outcome *outcome = &player->exchange->outcome;
    if (place == 0) {
        return outcome->is_initial ? "init" : "before the step";
    }
    return player->simulation.passes[place - 1].name;
}

static void describe(ls_player *player, const ls_difference *difference, const ls_trace *found,
                     const ls_schema *schema)
{
    ls_outcome *outcome = &player->exchange->outcome;
    ls_name_copy(outcome->pass, sizeof outcome->pass, pass_name(player, difference->place));
    outcome->elements = difference->elements;
    if (!schema) {
        return;
    }
    const uint8_t *expected_state = ls_trace_state(&player->trace, difference->place);
    const uint8_t *found_state = ls_trace_state(found, difference->place);
    const ls_schema_place *place = &difference->first;
    ls_schema_place_name(place, outcome->field, sizeof outcome->field);
    ls_schema_place_value(place, expected_state, outcome->expected, sizeof outcome->expected);
    ls_schema_place_value(place, found_state, outcome->found, sizeof outcome->found);
    ls_oddity oddity = ls_compare_oddity(place, found_state);
    outcome->oddity = oddity ? oddity : ls_compare_oddity(place, expected_state);
}

/* Plays the reference to the bad tick. False when it comes out another way than it was recorded. */
static bool reach_tick(ls_player *player, ls_sim_instance *instance)
{
    const ls_exchange *exchange = player->exchange;
    if (exchange->outcome.is_initial) {
        ls_trace_set(&player->trace, 0, ls_sim_instance_hash(instance),
                     ls_sim_instance_view(instance));
    }
    while (!exchange->outcome.is_initial && ls_sim_instance_tick(instance) <= exchange->until) {
        ls_tick tick = ls_sim_instance_tick(instance);
        ls_tick_inputs inputs = ls_player_inputs(player, tick);
        ls_player_step(player, instance, &inputs, tick == exchange->until);
    }
    ls_tick reached = ls_sim_instance_tick(instance);
    return ls_player_hash(player, instance) == ls_tape_hash(&player->tape, reached);
}

static void explain(ls_player *player)
{
    ls_exchange *exchange = player->exchange;
    ls_outcome *outcome = &exchange->outcome;
    ls_sim_instance *instance = ls_player_start(player);
    ls_trace found;
    if (!instance || ls_trace_open(player->files.found_trace, exchange->facts.pass_count,
                                   player->trace.state_bytes, &found) != LS_OK) {
        return;
    }
    if (!reach_tick(player, instance)) {
        ls_text_add(&outcome->text, "the reference run itself comes out another way each time");
    }
    const ls_schema *schema = ls_sim_instance_schema(instance);
    uint32_t places = found.places;
    found.places = player->trace.places = outcome->is_initial ? 1 : places;
    ls_difference difference;
    if (ls_compare_traces(schema, &player->trace, &found, &difference)) {
        describe(player, &difference, &found, schema);
    } else {
        ls_name_copy(outcome->pass, sizeof outcome->pass, "unknown");
    }
}

/* ---- the process ---- */

static void work(ls_player *player)
{
    ls_exchange *exchange = player->exchange;
    if (!ls_player_load(player) || !open_files(player)) {
        return;
    }
    switch ((ls_task)exchange->task) {
    case LS_TASK_RECORD:
        ls_drive_record(player);
        break;
    case LS_TASK_PLAY:
        ls_drive_play(player, ls_world_of((ls_world_id)exchange->world)->drive);
        break;
    case LS_TASK_EXPLAIN:
        explain(player);
        break;
    }
}

int ls_world_process_run(char **argv)
{
    static ls_player player;
    player.files = (ls_exchange_files){file_of(argv[2]), file_of(argv[3]), file_of(argv[4]),
                                       file_of(argv[5]), file_of(argv[6])};
    ls_exchange *exchange =
        mmap(NULL, sizeof *exchange, PROT_READ | PROT_WRITE, MAP_SHARED, player.files.exchange, 0);
    if (exchange == MAP_FAILED) {
        return LS_EXIT_ENVIRONMENT;
    }
    player.exchange = exchange;
    bool is_reference = exchange->task != LS_TASK_PLAY;
    player.moves = is_reference ? LS_MOVES_NOTHING : ls_world_of(exchange->world)->moves;
    ls_crash_watch(exchange);
    work(&player);
    _exit(LS_EXIT_CLEAN); /* what a plug-in left to be done at the end is not wanted */
}
