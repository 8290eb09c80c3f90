#include "lockstep/common/diagnosis/state_difference.h"
#include "lockstep/tools/replay/command.h"

#include <inttypes.h>
#include <string.h>

enum {
    INPUT_BYTES_SHOWN = 24,
};

/* The first difference; UINT32_MAX: there is none. */
typedef struct found {
    ls_tick input_tick; /* the first at which an input differs */
    uint32_t input_slot;
    ls_text inputs[2];
    ls_tick state_tick; /* of the first state whose state hash differs */
    uint64_t state_hashes[2];
    uint64_t compared; /* ticks */
} found;

typedef struct pair {
    replay_run *run;
    replay_playback *sides[2];
    ls_journal *journals[2];
    ls_slot_input slots[2][LS_PLAYERS_MAX];
    ls_tick_inputs inputs[2];
    uint64_t state_hashes[2];
} pair;

/* ---- what is recorded ---- */

static ls_status check_match(const pair *both, ls_text *why)
{
    const ls_journal_header *a = ls_journal_header_of(both->journals[0]);
    const ls_journal_header *b = ls_journal_header_of(both->journals[1]);
    if (strcmp(a->simulation, b->simulation) != 0 ||
        a->simulation_version != b->simulation_version) {
        return ls_fail(LS_SIMULATION_MISMATCH, why,
                       "one journal is of '%s' version %" PRIu32
                       ", the other of '%s' version %" PRIu32,
                       a->simulation, a->simulation_version, b->simulation, b->simulation_version);
    }
    return ls_sim_digests_check(&a->digests, &b->digests, why);
}

static bool is_same_input(const ls_slot_input *a, const ls_slot_input *b)
{
    return a->size == b->size && a->events == b->events &&
           (a->size == 0 || memcmp(a->bytes, b->bytes, a->size) == 0);
}

static void describe_input(const ls_slot_input *input, ls_text *out)
{
    uint32_t shown = LS_MIN(input->size, INPUT_BYTES_SHOWN);
    ls_text_set(out, "%" PRIu32 " bytes ", input->size);
    for (uint32_t i = 0; i < shown; i++) {
        ls_text_add(out, "%02x", input->bytes[i]);
    }
    ls_text_add(out, "%s%s%s", shown < input->size ? "..." : "",
                input->events & LS_EVENT_JOINED ? " joined" : "",
                input->events & LS_EVENT_LEFT ? " left" : "");
}

static void compare_tick(const pair *both, found *out)
{
    ls_tick tick = both->inputs[0].tick;
    uint32_t slots = both->inputs[0].slot_count;
    for (uint32_t slot = 0; out->input_tick == UINT32_MAX && slot < slots; slot++) {
        if (!is_same_input(&both->slots[0][slot], &both->slots[1][slot])) {
            out->input_tick = tick;
            out->input_slot = slot;
            describe_input(&both->slots[0][slot], &out->inputs[0]);
            describe_input(&both->slots[1][slot], &out->inputs[1]);
        }
    }
    if (both->state_hashes[0] != 0 && both->state_hashes[1] != 0 &&
        both->state_hashes[0] != both->state_hashes[1]) {
        out->state_tick = tick + 1;
        memcpy(out->state_hashes, both->state_hashes, sizeof out->state_hashes);
    }
    out->compared++;
}

static bool next_tick(pair *both, uint32_t side)
{
    return ls_journal_next_tick(both->journals[side], both->slots[side], &both->inputs[side],
                                &both->state_hashes[side]) == LS_OK;
}

/* Ticks that only one of them has are passed over. */
static bool next_common(pair *both)
{
    if (!next_tick(both, 0) || !next_tick(both, 1)) {
        return false;
    }
    while (both->inputs[0].tick != both->inputs[1].tick) {
        if (!next_tick(both, both->inputs[0].tick < both->inputs[1].tick ? 0 : 1)) {
            return false;
        }
    }
    return true;
}

static void compare_records(pair *both, found *out)
{
    *out = (found){.input_tick = UINT32_MAX, .state_tick = UINT32_MAX};
    ls_journal_seek(both->journals[0], 0);
    ls_journal_seek(both->journals[1], 0);
    while (out->state_tick == UINT32_MAX && next_common(both)) {
        compare_tick(both, out);
    }
}

/* ---- what follows from it ---- */

static void show_differences(const replay_run *run, const ls_schema *schema, const void *a,
                             const void *b)
{
    ls_state_difference difference;
    ls_json *list = ls_json_array(run->json, "differences");
    ls_state_difference_find(schema, a, b, &difference);
    replay_say(run, "%" PRIu64 " values in %" PRIu32 " fields differ:", difference.elements,
               difference.fields);
    for (uint32_t i = 0; i < difference.place_count; i++) {
        ls_difference_text text = ls_state_difference_text(&difference.places[i], a, b);
        const char *path = difference.places[i].field->path;
        char part[LS_NAME_BYTES_MAX];
        ls_name_copy(part, sizeof part, path);
        part[strcspn(part, ".")] = '\0';
        replay_say(run, "  %-40s %s | %s", text.name, text.a, text.b);
        ls_json *json = ls_json_append(list);
        ls_json_text(json, "part", part);
        ls_json_text(json, "field", text.name);
        ls_json_text(json, "a", text.a);
        ls_json_text(json, "b", text.b);
    }
}

/* The inputs are the same: both machines were given the same, and this one can be asked as well. */
static void judge_hashes(const pair *both, const found *result)
{
    uint64_t here = ls_sim_instance_hash(both->sides[0]->instance);
    const char *agrees = here == result->state_hashes[0]   ? "a"
                         : here == result->state_hashes[1] ? "b"
                                                           : "neither";
    replay_say(both->run,
               "the inputs before it are the same in both: one was computed wrongly; simulated "
               "here the state hash is %016" PRIx64 ": this machine agrees with %s",
               here, agrees);
    ls_json_hash(both->run->json, "root_here", here);
    ls_json_text(both->run->json, "agrees_with", agrees);
}

/* The state of each side simulated again; those of one side of a match that was computed wrongly
 * are only in its snapshots. */
static ls_status compare_states(pair *both, const found *result, ls_text *why)
{
    const ls_schema *schema = NULL;
    for (uint32_t side = 0; side < 2; side++) {
        ls_status status = replay_playback_load(both->sides[side], both->run->config->simulation,
                                                &both->run->config->files, why);
        LS_THEN(status, replay_playback_seek(both->sides[side], result->state_tick, why));
        if (status != LS_OK) {
            return status;
        }
    }
    schema = ls_sim_instance_schema(both->sides[0]->instance);
    if (result->input_tick >= result->state_tick) {
        judge_hashes(both, result);
    } else if (schema) {
        show_differences(both->run, schema, ls_sim_instance_view(both->sides[0]->instance),
                         ls_sim_instance_view(both->sides[1]->instance));
    }
    return LS_OK;
}

/* ---- the answer ---- */

static void show_input(const replay_run *run, const found *result)
{
    if (result->input_tick == UINT32_MAX) {
        ls_json_null(run->json, "first_input");
        return;
    }
    replay_say(run, "tick %" PRIu32 ": the input of slot %" PRIu32 " differs: %s | %s",
               result->input_tick, result->input_slot, result->inputs[0].bytes,
               result->inputs[1].bytes);
    ls_json *json = ls_json_object(run->json, "first_input");
    ls_json_number(json, "tick", result->input_tick);
    ls_json_number(json, "slot", result->input_slot);
    ls_json_text(json, "a", result->inputs[0].bytes);
    ls_json_text(json, "b", result->inputs[1].bytes);
}

static void show_state(const replay_run *run, const found *result)
{
    if (result->state_tick == UINT32_MAX) {
        ls_json_null(run->json, "first_state");
        return;
    }
    replay_say(run, "state %" PRIu32 " is the first that differs: %016" PRIx64 " | %016" PRIx64,
               result->state_tick, result->state_hashes[0], result->state_hashes[1]);
    ls_json *json = ls_json_object(run->json, "first_state");
    ls_json_number(json, "tick", result->state_tick);
    ls_json_hash(json, "a", result->state_hashes[0]);
    ls_json_hash(json, "b", result->state_hashes[1]);
}

static ls_status compare(pair *both, ls_text *why)
{
    found result;
    ls_status status = check_match(both, why);
    if (status != LS_OK) {
        return status;
    }
    compare_records(both, &result);
    ls_json_number(both->run->json, "ticks", (double)result.compared);
    show_input(both->run, &result);
    show_state(both->run, &result);
    if (result.state_tick != UINT32_MAX) {
        status = compare_states(both, &result, why);
    } else if (result.input_tick == UINT32_MAX) {
        replay_say(both->run, "%" PRIu64 " ticks are in both, and are the same", result.compared);
        return LS_OK;
    }
    return status == LS_OK ? LS_DESYNCED : status;
}

ls_status replay_diff(replay_run *run, ls_text *why)
{
    replay_playback other;
    pair both = {.run = run, .sides = {run->playback, &other}};
    ls_status status = replay_open(run, 1, LS_JOURNAL_CHECK_ALL, &other, why);
    if (status == LS_OK) {
        both.journals[0] = both.sides[0]->journal;
        both.journals[1] = both.sides[1]->journal;
        status = compare(&both, why);
    }
    replay_playback_close(&other);
    return status;
}
