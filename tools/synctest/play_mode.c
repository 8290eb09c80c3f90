#include "lockstep/tools/synctest/play_mode.h"

#include "lockstep/client/bots.h"
#include "lockstep/common/simulation/plugin_place.h"
#include "lockstep/common/simulation/save_fault.h"
#include "lockstep/common/simulation/state_schema.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/library.h"
#include "lockstep/common/system/shared_memory.h"
#include "lockstep/common/system/signals.h"
#include "lockstep/tools/synctest/random_inputs.h"
#include "lockstep/tools/synctest/tape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- crash ---- */

enum {
    ENDED = 70,
};

typedef struct reader {
    void (*run)(void *user);
    /* The call has touched memory that is closed. True: the outcome says so, and the process is to
     * end; false: it is a crash like any other. */
    bool (*on_write)(void *user, uintptr_t address);
    void *user;
} reader;

static synctest_exchange *told;
static const reader *reading; /* while its function runs */

/* The phases of the process are wider than the calls of the simulation. */
static void note_call(void)
{
    switch (ls_plugin_place_here.call) {
    case LS_PLUGIN_CALL_OPEN:
        told->progress.phase = SYNCTEST_PHASE_OPENING;
        break;
    case LS_PLUGIN_CALL_INIT:
        told->progress.phase = SYNCTEST_PHASE_INIT;
        break;
    case LS_PLUGIN_CALL_LOAD:
        told->progress.phase = SYNCTEST_PHASE_LOADING_SAVE;
        break;
    default:
        break;
    }
}

static void on_crash(const ls_crash *crash)
{
    uintptr_t offset = 0;
    const char *library = ls_library_of(crash->instruction, &offset);
    if (reading && crash->is_access && reading->on_write(reading->user, crash->touched)) {
        _Exit(ENDED);
    }
    if (library && strcmp(library, told->match.sim) == 0) {
        told->outcome.crash_address = offset;
    }
    note_call();
    told->outcome.kind = SYNCTEST_OUTCOME_CRASHED;
    told->outcome.signal = crash->signal_number;
    _Exit(ENDED);
}

void synctest_crash_watch(synctest_exchange *exchange)
{
    told = exchange;
    ls_crash_signal_watch(on_crash, true);
}

static void guard_crash(const reader *call)
{
    reading = call;
    call->run(call->user);
    reading = NULL;
}

/* ---- drawing ---- */

enum {
    SHAPES_MAX = 4096,
};

/* The two newest states, both read-only while the simulation looks at them. */
typedef struct viewing {
    synctest_player *player;
    ls_sim_instance *current;
    ls_sim_instance *previous;
    ls_bot bot;
    synctest_saved before; /* of the state that `previous` gets */
    synctest_saved saved;
    ls_fixed alpha;
    uint32_t slot;
    const char *called; /* the function that looks at them */
} viewing;

static void draw(void *user)
{
    static ls_draw_shape shapes[SHAPES_MAX];
    viewing *viewer = user;
    ls_draw_list list = {.shapes = shapes, .capacity = SHAPES_MAX};
    viewer->player->simulation.draw(&viewer->player->config, ls_sim_instance_view(viewer->previous),
                                    ls_sim_instance_view(viewer->current), viewer->alpha, &list);
}

static void listen(void *user)
{
    static ls_sound sounds[LS_SOUNDS_MAX];
    viewing *viewer = user;
    ls_sound_list list = {.sounds = sounds, .capacity = LS_SOUNDS_MAX};
    viewer->player->simulation.sounds(&viewer->player->config,
                                      ls_sim_instance_view(viewer->previous),
                                      ls_sim_instance_view(viewer->current), &list);
}

static void read_status(void *user)
{
    static ls_status_line lines[LS_PLAYERS_MAX + 8];
    viewing *viewer = user;
    ls_status_list list = {.lines = lines, .capacity = sizeof lines / sizeof lines[0]};
    ls_sim_instance_status(viewer->current, viewer->slot, &list);
}

static void ask_bot(void *user)
{
    static uint8_t bytes[LS_INPUT_BYTES_MAX];
    viewing *viewer = user;
    ls_bot_input(&viewer->bot, viewer->current, viewer->slot, bytes);
}

static void hash(void *user)
{
    viewing *viewer = user;
    (void)ls_sim_instance_hash(viewer->current);
}

static void save(void *user)
{
    viewing *viewer = user;
    (void)synctest_player_save(viewer->player, viewer->current, &viewer->saved);
}

static void set_writable(viewing *viewer, bool is_writable)
{
    synctest_page_memory *memory = &viewer->player->memory;
    synctest_page_memory_set_writable(memory, ls_sim_instance_view(viewer->current), is_writable);
    synctest_page_memory_set_writable(memory, ls_sim_instance_view(viewer->previous), is_writable);
}

/* Whether the address is in the state of the instance, and at which offset. */
static bool offset_in(const ls_sim_instance *instance, uintptr_t address, size_t *offset)
{
    uintptr_t start = (uintptr_t)ls_sim_instance_view(instance);
    *offset = address - start;
    return address >= start && *offset < ls_sim_instance_state_bytes(instance);
}

static bool tell_write(void *user, uintptr_t address)
{
    viewing *viewer = user;
    const ls_schema *schema = ls_sim_instance_schema(viewer->current);
    synctest_outcome *outcome = &viewer->player->exchange->outcome;
    size_t offset = 0;
    if (!offset_in(viewer->current, address, &offset) &&
        !offset_in(viewer->previous, address, &offset)) {
        return false;
    }
    synctest_player_fault(viewer->player, SYNCTEST_FAULT_WRITE,
                          ls_sim_instance_tick(viewer->current), viewer->called);
    ls_text_set(&outcome->text, "%s writes to the state", viewer->called);
    if (schema) {
        ls_schema_place place = ls_schema_at(schema, offset);
        ls_schema_place_name(&place, outcome->field, sizeof outcome->field);
    }
    return true;
}

/* Calls one of the simulation's functions that may only read; where it writes the process ends. */
static void call_reader(viewing *viewer, synctest_phase phase, const char *name,
                        void (*run)(void *user))
{
    viewer->called = name;
    set_writable(viewer, false);
    synctest_player_enter_phase(viewer->player, phase);
    guard_crash(&(reader){run, tell_write, viewer});
    synctest_player_enter_phase(viewer->player, SYNCTEST_PHASE_HOST);
    set_writable(viewer, true);
}

/* At another frame rate each tick: no frame, one, or five. */
static void show(viewing *viewer)
{
    static const uint32_t frames[] = {1, 5, 0};
    ls_tick tick = ls_sim_instance_tick(viewer->current);
    const ls_simulation *simulation = &viewer->player->simulation;
    for (uint32_t i = 0; simulation->draw && i < frames[tick % 3]; i++) {
        viewer->alpha = LS_FIXED_ONE / 5 * (int64_t)(i + tick % 2);
        call_reader(viewer, SYNCTEST_PHASE_DRAW, "draw", draw);
    }
    if (simulation->sounds) {
        call_reader(viewer, SYNCTEST_PHASE_SOUNDS, "sounds", listen);
    }
    viewer->slot = tick % viewer->player->config.players;
    if (simulation->status) {
        call_reader(viewer, SYNCTEST_PHASE_STATUS, "status", read_status);
    }
    if (simulation->bot) {
        call_reader(viewer, SYNCTEST_PHASE_BOT, "bot", ask_bot);
    }
    call_reader(viewer, SYNCTEST_PHASE_HASH, "hash", hash);
    if (viewer->player->exchange->facts.save_bytes > 0) {
        call_reader(viewer, SYNCTEST_PHASE_SAVE, "save", save);
    }
}

/* The previous state is a copy of the one that is about to be stepped. */
static bool keep_previous(viewing *viewer)
{
    if (viewer->previous == viewer->current) {
        return true; /* it cannot be copied: its blend is that of one state */
    }
    ls_tick tick = ls_sim_instance_tick(viewer->current);
    return synctest_player_save(viewer->player, viewer->current, &viewer->before) &&
           synctest_player_load_save(viewer->player, viewer->previous, &viewer->before, tick);
}

static bool play_shown(viewing *viewer)
{
    synctest_player *player = viewer->player;
    while (ls_sim_instance_tick(viewer->current) < player->ticks) {
        if (!keep_previous(viewer)) {
            return false;
        }
        if (!synctest_player_advance(player, viewer->current)) {
            return false;
        }
        show(viewer);
    }
    return true;
}

/* With read-only states, drawn at other rates; true when nothing was found. */
static bool play_mode_draw(synctest_player *player)
{
    static viewing viewer;
    bool can_save = player->exchange->facts.save_bytes > 0;
    viewer.player = player;
    viewer.bot = ls_bot_make(1);
    viewer.current = synctest_player_start_compared(player);
    viewer.previous = can_save && viewer.current ? synctest_player_start(player) : viewer.current;
    if (!viewer.previous || !play_shown(&viewer)) {
        return false;
    }
    if (viewer.previous != viewer.current) {
        synctest_player_end(player, viewer.previous);
    }
    synctest_player_end(player, viewer.current);
    return true;
}

/* ---- playing ---- */

#define OTHER_MATCH UINT64_C(0x5eed)

enum {
    STALE_BYTE = 0xa5, /* what a block holds before a save is loaded into it */
};

/* ---- the reference ---- */

typedef struct recording {
    synctest_script script;
    ls_bot bots[LS_PLAYERS_MAX];
    synctest_random_player players[LS_PLAYERS_MAX];
    uint8_t bytes[LS_PLAYERS_MAX][LS_INPUT_BYTES_MAX];
    synctest_taps taps;
    uint64_t save_end;
    synctest_saved saved;
} recording;

static void make_inputs(synctest_player *player, const ls_sim_instance *instance,
                        recording *recorder)
{
    uint32_t events[LS_PLAYERS_MAX];
    ls_tick tick = ls_sim_instance_tick(instance);
    synctest_script_advance(&recorder->script, tick, events);
    player->exchange->progress.tick = tick;
    synctest_player_enter_phase(player, SYNCTEST_PHASE_BOT);
    bool is_random =
        player->simulation.bot && synctest_inputs_are_random(player->exchange->match.ticks, tick);
    for (uint32_t slot = 0; slot < player->config.players; slot++) {
        uint8_t *bytes = recorder->bytes[slot];
        bool is_present = recorder->script.is_present[slot];
        uint32_t size = is_present ? ls_bot_input(&recorder->bots[slot], instance, slot, bytes) : 0;
        synctest_taps_add(&recorder->taps, slot, is_present ? bytes : NULL, size);
        if (is_random && is_present) {
            size = synctest_random_player_input(&recorder->players[slot], bytes, size,
                                                player->simulation.input_bytes_max);
        }
        player->slots[slot] = (ls_slot_input){recorder->bytes[slot], size, events[slot]};
        player->exchange->facts.inputs_played += size > 0;
    }
    synctest_player_enter_phase(player, SYNCTEST_PHASE_HOST);
}

/* Saves for those who join in mid-match. */
static bool record_saves(synctest_player *player, const ls_sim_instance *instance,
                         recording *recorder)
{
    synctest_exchange *exchange = player->exchange;
    for (uint32_t i = 0; i < SYNCTEST_TRIED_JOINS; i++) {
        if (exchange->join_ticks[i] != ls_sim_instance_tick(instance)) {
            continue;
        }
        if (!synctest_player_save(player, instance, &recorder->saved)) {
            return false;
        }
        if (!ls_shared_memory_write(player->files[SYNCTEST_FILE_SAVES], recorder->saved.bytes,
                                    recorder->saved.size, recorder->save_end)) {
            return synctest_player_fail(player, LS_NO_MEMORY, "no memory for a save");
        }
        exchange->facts.save_starts[i] = recorder->save_end;
        exchange->facts.save_sizes[i] = recorder->saved.size;
        recorder->save_end += recorder->saved.size;
    }
    return true;
}

static bool record_tick(synctest_player *player, ls_sim_instance *instance, recording *recorder)
{
    ls_tick tick = ls_sim_instance_tick(instance);
    if (player->exchange->facts.save_bytes > 0 && !record_saves(player, instance, recorder)) {
        return false;
    }
    make_inputs(player, instance, recorder);
    if (synctest_tape_add(&player->tape, tick, player->slots) != LS_OK) {
        return synctest_player_fail(player, LS_NO_MEMORY, "no memory for the inputs");
    }
    const ls_tick_inputs inputs = {tick, player->config.players, player->slots};
    synctest_player_step(player, instance, &inputs, false);
    synctest_tape_set_hash(&player->tape, tick + 1, synctest_player_hash(player, instance));
    return true;
}

static synctest_tapped find_tapped(const synctest_player *player, const ls_sim_instance *instance,
                                   const synctest_taps *taps)
{
    static uint8_t bytes[2][LS_INPUT_BYTES_MAX];
    const ls_input_bits masks = {bytes[0], bytes[1]};
    ls_sim_instance_input_bits(instance, &masks);
    return synctest_taps_found(taps, &masks, player->simulation.input_bytes_max);
}

void synctest_play_mode_record(synctest_player *player)
{
    static recording recorder; /* too big for the stack that a plug-in will be given */
    const synctest_match *match = &player->exchange->match;
    ls_sim_instance *instance = synctest_player_start(player);
    if (!instance) {
        return;
    }
    recorder.script = synctest_script_make(match->seed, player->config.players);
    for (uint32_t slot = 0; slot < player->config.players; slot++) {
        recorder.bots[slot] = ls_bot_make(match->seed + slot);
        recorder.players[slot] = synctest_random_player_make(match->seed + slot);
    }
    player->exchange->facts.save_bytes = ls_sim_instance_save_bytes(instance);
    player->exchange->facts.image_bytes =
        player->simulation.hash ? ls_sim_instance_image_bytes(instance) : 0;
    synctest_tape_set_hash(&player->tape, 0, synctest_player_hash(player, instance));
    bool is_going = true;
    while (is_going && ls_sim_instance_tick(instance) < player->ticks) {
        is_going = record_tick(player, instance, &recorder);
    }
    if (is_going) {
        player->exchange->facts.tapped = find_tapped(player, instance, &recorder.taps);
        synctest_player_end(player, instance);
        player->exchange->outcome.kind = SYNCTEST_OUTCOME_SAME;
    }
}

/* ---- once ---- */

/* From the live tick to the end. */
static bool play_on(synctest_player *player, ls_sim_instance *instance)
{
    while (ls_sim_instance_tick(instance) < player->ticks) {
        if (!synctest_player_advance(player, instance)) {
            return false;
        }
    }
    return true;
}

static bool play_once(synctest_player *player)
{
    ls_sim_instance *instance = synctest_player_start_compared(player);
    if (!instance || !play_on(player, instance)) {
        return false;
    }
    synctest_player_end(player, instance);
    return true;
}

/* ---- checked ---- */

/* Whether something is in a state that must not be, what, and where. */
static bool find_fault(const ls_schema *schema, const uint8_t *state, synctest_fault *fault,
                       ls_schema_place *place)
{
    size_t offset = 0;
    if (ls_schema_dirty_padding(schema, state, &offset)) {
        *place = ls_schema_at(schema, offset);
        *fault = SYNCTEST_FAULT_PADDING;
        return true;
    }
    *fault = SYNCTEST_FAULT_NAN;
    return synctest_compare_find_nan(schema, state, place);
}

/* Looks at the state after each pass of the tick that was traced. */
static bool find_no_fault(synctest_player *player, const ls_sim_instance *instance)
{
    synctest_outcome *outcome = &player->exchange->outcome;
    const ls_schema *schema = ls_sim_instance_schema(instance);
    for (uint32_t i = 1; schema && i < player->trace.places; i++) {
        ls_schema_place place;
        synctest_fault fault;
        const uint8_t *state = synctest_trace_state(&player->trace, i);
        if (find_fault(schema, state, &fault, &place)) {
            synctest_player_fault(player, fault, ls_sim_instance_tick(instance) - 1,
                                  player->simulation.passes[i - 1].name);
            ls_schema_place_name(&place, outcome->field, sizeof outcome->field);
            ls_schema_place_value(&place, state, outcome->found, sizeof outcome->found);
            return false;
        }
    }
    return true;
}

static bool follow_names(synctest_player *player, const ls_sim_instance *instance)
{
    size_t bytes = ls_sim_instance_state_bytes(instance);
    size_t count = (bytes + LS_WRITE_CHUNK_BYTES - 1) / LS_WRITE_CHUNK_BYTES;
    if (!player->simulation.names_writes) {
        return true;
    }
    player->named.chunks = ls_allocate(&player->memory.allocator, count);
    player->named.count = player->named.chunks ? count : 0;
    return player->named.chunks ||
           synctest_player_fail(player, LS_NO_MEMORY, "no memory for names");
}

/* Whether a pass changed bytes of a piece that none of this step has named, and where. */
static bool is_changed_unnamed(const synctest_player *player, const uint8_t *before,
                               const uint8_t *after, size_t *offset)
{
    size_t bytes = player->trace.state_bytes;
    for (size_t i = 0; i < player->named.count; i++) {
        size_t at = i * LS_WRITE_CHUNK_BYTES;
        size_t end = LS_MIN(at + LS_WRITE_CHUNK_BYTES, bytes);
        if (!player->named.chunks[i] && memcmp(before + at, after + at, end - at) != 0) {
            while (before[at] == after[at]) {
                at++;
            }
            *offset = at;
            return true;
        }
    }
    return false;
}

/* A pass may name what another one writes: the whole step is looked at, pass by pass. */
static bool find_no_unnamed(synctest_player *player, const ls_sim_instance *instance)
{
    synctest_outcome *outcome = &player->exchange->outcome;
    size_t offset = 0;
    for (uint32_t i = 1; player->named.count > 0 && i < player->trace.places; i++) {
        const uint8_t *before = synctest_trace_state(&player->trace, i - 1);
        const uint8_t *after = synctest_trace_state(&player->trace, i);
        if (is_changed_unnamed(player, before, after, &offset)) {
            ls_schema_place place = ls_schema_at(ls_sim_instance_schema(instance), offset);
            synctest_player_fault(player, SYNCTEST_FAULT_UNNAMED,
                                  ls_sim_instance_tick(instance) - 1,
                                  player->simulation.passes[i - 1].name);
            ls_schema_place_name(&place, outcome->field, sizeof outcome->field);
            ls_schema_place_value(&place, after, outcome->found, sizeof outcome->found);
            return false;
        }
    }
    return true;
}

static bool find_no_mode_changed(synctest_player *player, const ls_sim_instance *instance)
{
    if (player->mode_changer) {
        synctest_player_fault(player, SYNCTEST_FAULT_ROUNDING, ls_sim_instance_tick(instance) - 1,
                              player->mode_changer->name);
    }
    return !player->mode_changer;
}

static bool play_checked(synctest_player *player)
{
    ls_sim_instance *instance = synctest_player_start_compared(player);
    if (!instance || !follow_names(player, instance)) {
        return false;
    }
    const ls_pass *pass = ls_sim_instance_simulation(instance)->passes;
    ls_plugin_statics_begin(&player->statics, (const void *)(uintptr_t)pass->run, false,
                            &player->memory.allocator);
    while (ls_sim_instance_tick(instance) < player->ticks) {
        if (!synctest_player_advance(player, instance) || !find_no_fault(player, instance) ||
            !find_no_unnamed(player, instance) || !find_no_mode_changed(player, instance)) {
            return false;
        }
    }
    ls_plugin_statics_end(&player->statics);
    synctest_player_end(player, instance);
    return true;
}

/* ---- again ---- */

/* The first match has another seed: a table that is made once, from the seed, is found as well. */
static bool play_again(synctest_player *player)
{
    player->config.seed ^= OTHER_MATCH;
    ls_sim_instance *first = synctest_player_start(player);
    player->config.seed ^= OTHER_MATCH;
    if (!first) {
        return false;
    }
    while (ls_sim_instance_tick(first) < player->tape.ticks) {
        ls_tick_inputs inputs = synctest_player_inputs(player, ls_sim_instance_tick(first));
        synctest_player_step(player, first, &inputs, false);
    }
    synctest_player_end(player, first);
    return play_once(player);
}

/* ---- save ---- */

/* A state that was saved, loaded and saved again. */
typedef struct round_trip {
    synctest_saved saved;
    synctest_saved again;
    bool is_same_save;
} round_trip;

static bool fail_round_trip(synctest_player *player, const ls_sim_instance *loaded, ls_tick tick,
                            const round_trip *pair)
{
    synctest_player_fault(player, SYNCTEST_FAULT_ROUND_TRIP, tick, "save and load");
    const ls_save_pair saves = {pair->saved.bytes, pair->saved.size, pair->again.bytes,
                                pair->again.size};
    ls_save_fault_describe(loaded, &saves, &player->exchange->outcome.text);
    return false;
}

/* A save that is other the second time is none the less right when every step is. */
static bool make_round_trip(synctest_player *player, const ls_sim_instance *live,
                            ls_sim_instance *next, ls_tick tick, round_trip *pair)
{
    if (!synctest_player_save(player, live, &pair->saved)) {
        return false;
    }
    if (!player->simulation.hash) {
        memset(ls_sim_instance_state(next), STALE_BYTE, ls_sim_instance_state_bytes(next));
    }
    if (!synctest_player_load_save(player, next, &pair->saved, tick) ||
        !synctest_player_save(player, next, &pair->again)) {
        return false;
    }
    pair->is_same_save = pair->saved.size == pair->again.size &&
                         memcmp(pair->saved.bytes, pair->again.bytes, pair->saved.size) == 0;
    bool is_same = synctest_player_hash(player, next) == synctest_tape_hash(&player->tape, tick);
    return is_same || fail_round_trip(player, next, tick, pair);
}

static bool play_saved(synctest_player *player)
{
    ls_sim_instance *live = synctest_player_start_compared(player);
    ls_sim_instance *next = live ? synctest_player_start(player) : NULL;
    round_trip pair = {.is_same_save = true};
    if (!next) {
        return false;
    }
    for (ls_tick tick = 0; tick < player->ticks; tick++) {
        /* The second steps after the first, and finds all that the first leaves outside its state.
         */
        if (!make_round_trip(player, live, next, tick, &pair) ||
            !synctest_player_advance(player, live)) {
            return false;
        }
        if (!synctest_player_advance(player, next)) {
            return pair.is_same_save ? false : fail_round_trip(player, next, tick, &pair);
        }
        ls_sim_instance *stepped = live;
        live = next;
        next = stepped;
    }
    synctest_player_end(player, live);
    synctest_player_end(player, next);
    return true;
}

/* ---- join ---- */

static bool play_joined(synctest_player *player)
{
    const synctest_exchange *exchange = player->exchange;
    ls_sim_instance *instance = synctest_player_start(player);
    ls_mapped_file saves;
    if (!instance) {
        return false;
    }
    if (ls_mapped_file_of(player->files[SYNCTEST_FILE_SAVES], "saves", &saves, NULL) != LS_OK) {
        return synctest_player_fail(player, LS_NO_MEMORY, "no memory for the saves");
    }
    const synctest_saved save = {.bytes = (uint8_t *)(uintptr_t)saves.bytes +
                                          exchange->facts.save_starts[exchange->variant],
                                 .size = (size_t)exchange->facts.save_sizes[exchange->variant]};
    if (!synctest_player_load_save(player, instance, &save,
                                   exchange->join_ticks[exchange->variant]) ||
        !synctest_player_compare(player, instance) || !play_on(player, instance)) {
        return false;
    }
    synctest_player_end(player, instance);
    return true;
}

/* ---- rollback ---- */

/* Plays ahead on what a machine would guess: that everybody goes on as before. */
static void guess_ahead(synctest_player *player, ls_sim_instance *instance)
{
    ls_tick start = ls_sim_instance_tick(instance);
    uint32_t depth = 1 + start % SYNCTEST_TRIED_ROLLBACK_TICKS;
    ls_tick_inputs inputs = synctest_player_inputs(player, start > 0 ? start - 1 : 0);
    for (uint32_t slot = 0; slot < inputs.slot_count; slot++) {
        player->slots[slot].events = 0;
        player->slots[slot].size = start > 0 ? player->slots[slot].size : 0;
    }
    for (uint32_t i = 0; i < depth; i++) {
        inputs.tick = start + i;
        synctest_player_step(player, instance, &inputs, false);
    }
}

static bool play_rolled_back(synctest_player *player)
{
    ls_sim_instance *instance = synctest_player_start_compared(player);
    synctest_saved saved = {NULL, 0, 0};
    if (!instance) {
        return false;
    }
    for (ls_tick tick = 0; tick < player->ticks; tick++) {
        if (!synctest_player_save(player, instance, &saved)) {
            return false;
        }
        guess_ahead(player, instance);
        if (!synctest_player_load_save(player, instance, &saved, tick) ||
            !synctest_player_advance(player, instance)) {
            return false;
        }
    }
    synctest_player_end(player, instance);
    return true;
}

void synctest_play_mode_run(synctest_player *player, synctest_play_mode mode)
{
    static bool (*const ways[])(synctest_player *) = {
        [SYNCTEST_MODE_ONCE] = play_once,      [SYNCTEST_MODE_CHECKED] = play_checked,
        [SYNCTEST_MODE_AGAIN] = play_again,    [SYNCTEST_MODE_SAVE] = play_saved,
        [SYNCTEST_MODE_JOIN] = play_joined,    [SYNCTEST_MODE_ROLLBACK] = play_rolled_back,
        [SYNCTEST_MODE_DRAW] = play_mode_draw,
    };
    if (ways[mode](player)) {
        player->exchange->outcome.kind = SYNCTEST_OUTCOME_SAME;
    }
}
