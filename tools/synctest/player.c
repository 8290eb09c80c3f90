#include "lockstep/tools/synctest/player.h"

#include "lockstep/common/base/log.h"
#include "lockstep/common/diagnosis/step_noise.h"
#include "lockstep/common/system/float_mode.h"
#include "lockstep/common/system/library.h"
#include "lockstep/common/system/memory.h"
#include "lockstep/tools/synctest/lint.h"
#include "lockstep/tools/synctest/page_memory.h"
#include "lockstep/tools/synctest/perturbation.h"
#include "lockstep/tools/synctest/process_changes.h"

#include <errno.h>
#include <fenv.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- surroundings: what differs from the reference's process: addresses, rounding, flushing, and
 * what process_changes has ---- */

/* A block that is mapped now takes the addresses that libraries and blocks would have had. */
static void move_addresses(uint32_t variant)
{
    size_t bytes = ((size_t)variant * 5 + 3) << 20;
    ls_heap_leave_hole(bytes);
    for (size_t i = 1; i < 40; i++) {
        void *block = malloc(i * (24 + 40 * variant)); /* kept: the heap begins elsewhere */
        if (block && i % 3 == 0) {
            free(block);
        }
    }
}

/* Before the simulation is loaded. `changes` as in synctest_perturbation. */
static void enter_surroundings(uint32_t changes, uint32_t variant)
{
    synctest_process_changes_enter(changes, variant);
    if (changes & SYNCTEST_CHANGES_ADDRESSES) {
        move_addresses(variant);
    }
    if (changes & SYNCTEST_CHANGES_FLUSH) {
        ls_float_mode_flush();
    }
}

/* Sets errno and the floating-point flags that tell of overflows and the like, or clears them. */
static void set_leftovers(bool is_set)
{
    feclearexcept(FE_ALL_EXCEPT);
    if (is_set) {
        feraiseexcept(FE_ALL_EXCEPT);
    }
    errno = is_set ? ERANGE : 0;
}

/* The simulation's own init, while a watched one takes its place. */
static struct {
    ls_status (*init)(const ls_sim_config *config, void *state, ls_text *why);
    synctest_player *player;
} watched;

/* ---- what the plug-in keeps about the processor ---- */

/* For __builtin_cpu_supports and its kin, as libgcc and compiler-rt have it: __cpu_model. Further
 * features are in __cpu_features2. */
typedef struct cpu_model {
    uint32_t maker;
    uint32_t type;
    uint32_t subtype;
    uint32_t features;
} cpu_model;

enum {
    MAKER_OTHER = 3,
};

/* Takes every feature out of the loaded plug-in's copy, and makes the processor one of no known
 * maker. Nothing happens where it has none, or its names were stripped. */
static void clear_cpu_model(const ls_simulation *simulation, bool is_maker_unknown)
{
    uintptr_t offset = 0;
    uint64_t address = 0, byte_count = 0;
    const char *path = ls_library_of(simulation->name, &offset);
    if (!path || path[0] == '\0') {
        return;
    }
    const uintptr_t base = (uintptr_t)simulation->name - offset;
    if (synctest_lint_variable_named(path, "__cpu_features2", &address, &byte_count)) {
        memset((void *)(base + (uintptr_t)address), 0, (size_t)byte_count);
    }
    if (synctest_lint_variable_named(path, "__cpu_model", &address, &byte_count) &&
        byte_count >= sizeof(cpu_model)) {
        cpu_model *model = (cpu_model *)(base + (uintptr_t)address);
        *model = is_maker_unknown ? (cpu_model){.maker = MAKER_OTHER} : *model;
        model->features = 0;
    }
}

/* ---- phases ---- */

void synctest_player_enter_phase(synctest_player *player, synctest_phase phase)
{
    player->exchange->progress.phase = phase;
}

bool synctest_player_fail(synctest_player *player, ls_status status, const char *words)
{
    synctest_outcome *outcome = &player->exchange->outcome;
    outcome->kind = SYNCTEST_OUTCOME_FAILED;
    outcome->status = (uint32_t)-status;
    ls_text_set(&outcome->text, "%s", words);
    return false;
}

void synctest_player_fault(synctest_player *player, synctest_fault fault, ls_tick tick,
                           const char *pass)
{
    synctest_outcome *outcome = &player->exchange->outcome;
    outcome->kind = SYNCTEST_OUTCOME_FAULT;
    outcome->fault = fault;
    outcome->tick = tick;
    ls_name_copy(outcome->pass, sizeof outcome->pass, pass);
}

static bool is_moved(const synctest_player *player, uint32_t what)
{
    return (player->changes & what) != 0;
}

static uint64_t noise_of(const synctest_player *player, uint32_t what, ls_tick tick, uint32_t place)
{
    return synctest_noise(is_moved(player, what), player->exchange->variant, tick, place);
}

static void surround(synctest_player *player, const void *used, size_t used_bytes)
{
    if (!SYNCTEST_IS_SANITIZED) {
        synctest_page_memory_surround(&player->memory, used, used_bytes);
    }
}

typedef struct init_call {
    const ls_sim_config *config;
    void *state;
    ls_text *why;
    ls_status status;
} init_call;

/* Earlier code of the thread has left something in errno and in the floating-point flags. */
static void leave_behind(const synctest_player *player)
{
    set_leftovers(
        is_moved(player, SYNCTEST_CHANGES_LIBRARY) &&
        synctest_library_part_is_changed(player->exchange->variant, SYNCTEST_LIBRARY_LEFTOVERS));
}

static void call_init(void *user)
{
    init_call *call = user;
    call->status = watched.init(call->config, call->state, call->why);
}

/* Far down once a step: it takes longer than most passes. */
static void run_on_stack(uint64_t noise, bool is_deep, void (*run)(void *user), void *user)
{
    const ls_step_noise filling = {
        .seed = noise, .kind = noise ? LS_NOISE_RANDOM : LS_NOISE_ZERO, .is_deep = is_deep};
    ls_step_noise_run(&filling, run, user);
}

static ls_status watched_init(const ls_sim_config *config, void *state, ls_text *why)
{
    init_call call = {config, state, why, LS_OK};
    uint64_t noise = noise_of(watched.player, SYNCTEST_CHANGES_STACK, 0, LS_PASSES_MAX);
    synctest_player_enter_phase(watched.player, SYNCTEST_PHASE_INIT);
    leave_behind(watched.player);
    run_on_stack(noise, true, call_init, &call);
    synctest_player_enter_phase(watched.player, SYNCTEST_PHASE_HOST);
    return call.status;
}

static ls_status configure(synctest_player *player, ls_text *why)
{
    const synctest_match *match = &player->exchange->match;
    player->config = ls_sim_config_default(&player->simulation);
    player->config.user = player->simulation.user;
    player->config.seed = match->seed;
    player->config.players = match->players ? match->players : player->config.players;
    if (match->tick_rate_hz != 0) {
        player->config.tick_rate_hz = match->tick_rate_hz;
        player->config.tick_rate = match->tick_rate;
    }
    const char *assignments[LS_PARAMS_MAX];
    for (uint32_t i = 0; i < match->assignment_count && i < LS_PARAMS_MAX; i++) {
        assignments[i] = match->assignments[i];
    }
    player->param_files.directory = match->directory;
    ls_status status =
        ls_param_files_decide(&player->param_files, assignments, match->assignment_count,
                              &player->simulation, &player->config, why);
    if (status != LS_OK) {
        return status;
    }
    return ls_sim_config_check(&player->simulation, &player->config, why);
}

/* The strides of its fields, each once. */
static void note_items(const synctest_player *player, synctest_facts *facts)
{
    static ls_field fields[LS_FIELDS_MAX];
    const ls_simulation *simulation = &player->simulation;
    uint32_t count =
        simulation->fields ? simulation->fields(&player->config, fields, LS_FIELDS_MAX) : 0;
    memset(facts->item_bytes, 0, sizeof facts->item_bytes);
    for (uint32_t i = 0; i < LS_MIN(count, LS_FIELDS_MAX); i++) {
        uint32_t at = 0;
        while (at < SYNCTEST_ITEM_SIZES_MAX && facts->item_bytes[at] != 0 &&
               facts->item_bytes[at] != fields[i].stride) {
            at++;
        }
        if (fields[i].count > 1 && at < SYNCTEST_ITEM_SIZES_MAX) {
            facts->item_bytes[at] = fields[i].stride;
        }
    }
}

static synctest_facts facts_of(const synctest_player *player)
{
    synctest_facts made = player->exchange->facts; /* with what the recording said */
    synctest_facts *facts = &made;
    const ls_simulation *simulation = &player->simulation;
    ls_name_copy(facts->name, sizeof facts->name, simulation->name);
    facts->pass_count = simulation->pass_count;
    for (uint32_t i = 0; i < simulation->pass_count; i++) {
        ls_name_copy(facts->pass_names[i], LS_NAME_BYTES_MAX, simulation->passes[i].name);
    }
    facts->players = player->config.players;
    facts->tick_rate_hz = player->config.tick_rate_hz;
    facts->workers_max = simulation->workers_max;
    facts->has_schema = !simulation->hash;
    facts->scratch_bytes =
        simulation->scratch_bytes ? simulation->scratch_bytes(&player->config) : 0;
    facts->state_bytes = simulation->state_bytes(&player->config);
    note_items(player, facts);
    return made;
}

/* Whether states and passes can be compared with the reference's at all. */
static bool report_facts(synctest_player *player)
{
    synctest_facts *known = &player->exchange->facts;
    synctest_player_enter_phase(player, SYNCTEST_PHASE_LAYOUT);
    synctest_facts facts = facts_of(player);
    synctest_player_enter_phase(player, SYNCTEST_PHASE_HOST);
    bool is_first = player->exchange->task == SYNCTEST_TASK_RECORD;
    if (!is_first &&
        (facts.pass_count != known->pass_count || facts.players != known->players ||
         facts.state_bytes != known->state_bytes || facts.has_schema != known->has_schema)) {
        synctest_player_fault(player, SYNCTEST_FAULT_LAYOUT, 0, "init");
        return false;
    }
    *known = facts;
    return true;
}

static synctest_inputs_layout inputs_layout(const synctest_player *player)
{
    if (!is_moved(player, SYNCTEST_CHANGES_BOUNDS)) {
        return SYNCTEST_INPUTS_BEFORE_ZEROES;
    }
    bool is_first = player->exchange->variant == 0;
    return is_first ? SYNCTEST_INPUTS_BEFORE_FENCE : SYNCTEST_INPUTS_BEFORE_NOISE;
}

bool synctest_player_load(synctest_player *player)
{
    ls_text why = {""};
    uint32_t variant = player->exchange->variant;
    enter_surroundings(player->changes, variant);
    uint32_t layout = is_moved(player, SYNCTEST_CHANGES_ADDRESSES) ? variant + 1 : 0;
    if (is_moved(player, SYNCTEST_CHANGES_BOUNDS)) {
        layout = variant == 0 ? SYNCTEST_PAGE_LAYOUT_END : SYNCTEST_PAGE_LAYOUT_BEGINNING;
    }
    synctest_page_memory_init(&player->memory, layout);
    if (synctest_laid_inputs_init(&player->laid_inputs, inputs_layout(player)) != LS_OK) {
        return synctest_player_fail(player, LS_NO_MEMORY, "no memory for the inputs of a tick");
    }
    synctest_player_enter_phase(player, SYNCTEST_PHASE_LOAD);
    ls_status status = ls_simulation_load(player->exchange->match.sim, &player->loaded, &why);
    if (status != LS_OK) {
        return synctest_player_fail(player, status, why.bytes);
    }
    synctest_process_changes_fill_heap(player->changes, variant);
    if (is_moved(player, SYNCTEST_CHANGES_CPU)) {
        clear_cpu_model(player->loaded.simulation, variant > 0);
    }
    player->simulation = *player->loaded.simulation;
    watched.init = player->simulation.init;
    watched.player = player;
    player->simulation.init = watched_init;
    status = configure(player, &why);
    if (status != LS_OK) {
        return synctest_player_fail(player, status, why.bytes);
    }
    synctest_player_enter_phase(player, SYNCTEST_PHASE_HOST);
    return report_facts(player);
}

ls_sim_instance *synctest_player_start(synctest_player *player)
{
    ls_text why = {""};
    ls_sim_instance *instance = NULL;
    synctest_player_enter_phase(player, SYNCTEST_PHASE_LAYOUT); /* then init says that it runs */
    ls_status status = ls_sim_instance_create(&player->simulation, &player->config,
                                              &player->memory.allocator, &instance, &why);
    synctest_player_enter_phase(player, SYNCTEST_PHASE_HOST);
    if (status != LS_OK) {
        synctest_player_fail(player, status, why.bytes);
        return NULL;
    }
    surround(player, ls_sim_instance_view(instance), ls_sim_instance_state_bytes(instance));
    player->exchange->progress.beats++;
    return instance;
}

void synctest_player_end(synctest_player *player, ls_sim_instance *instance)
{
    synctest_player_enter_phase(player, SYNCTEST_PHASE_DEINIT);
    ls_sim_instance_destroy(instance);
    synctest_player_enter_phase(player, SYNCTEST_PHASE_HOST);
}

ls_tick_inputs synctest_player_inputs(synctest_player *player, ls_tick tick)
{
    synctest_tape_inputs(&player->tape, tick, player->slots);
    return (ls_tick_inputs){tick, player->config.players, player->slots};
}

/* ---- one step ---- */

static uint64_t hash_of_state(const synctest_player *player, const void *state)
{
    return player->simulation.hash ? player->simulation.hash(&player->config, state) : 0;
}

static void before_step(synctest_player *player, const ls_step *step)
{
    size_t bytes = player->exchange->facts.scratch_bytes;
    if (step->scratch && bytes > 0) {
        surround(player, step->scratch, bytes);
        synctest_noise_fill(step->scratch, bytes,
                            noise_of(player, SYNCTEST_CHANGES_SCRATCH, step->inputs->tick, 0));
    }
    if (player->is_traced) {
        synctest_trace_set(&player->trace, 0, hash_of_state(player, step->state), step->state);
    }
    if (player->named.count > 0) {
        memset(player->named.chunks, 0, player->named.count);
    }
    player->outer_mode = ls_float_mode_now();
    if (is_moved(player, SYNCTEST_CHANGES_ROUNDING)) {
        ls_float_mode_set(ls_float_mode_moved(step->inputs->tick));
    }
    synctest_process_changes_begin_tick(step->inputs->tick);
    leave_behind(player);
}

static bool is_noted(const synctest_static_writes *writes, uint64_t address, uint32_t pass)
{
    for (uint32_t i = 0; i < writes->count; i++) {
        if (writes->list[i].address / 8 == address / 8 && writes->list[i].pass == pass) {
            return true;
        }
    }
    return false;
}

static void note_static_writes(synctest_player *player, ls_tick tick, uint32_t pass)
{
    uint64_t addresses[SYNCTEST_STATIC_WRITES_MAX];
    synctest_static_writes *writes = &player->exchange->static_writes;
    uint32_t count =
        ls_plugin_statics_changes(&player->statics, addresses, SYNCTEST_STATIC_WRITES_MAX);
    for (uint32_t i = 0; i < count && writes->count < SYNCTEST_STATIC_WRITES_MAX; i++) {
        if (!is_noted(writes, addresses[i], pass)) {
            writes->list[writes->count++] = (synctest_static_write){addresses[i], tick, pass};
        }
    }
}

typedef struct pass_call {
    const ls_pass *pass;
    const ls_step *step;
    uint64_t noise;
} pass_call;

static void call_pass(void *user)
{
    const pass_call *call = user;
    ls_step_noise_call(call->noise, call->step, call->pass);
}

static void run_pass(void *user, const ls_step *step, const ls_pass *pass, uint32_t index)
{
    synctest_player *player = user;
    ls_tick tick = step->inputs->tick;
    if (index == 0) {
        before_step(player, step);
    }
    player->exchange->progress.pass = index;
    synctest_player_enter_phase(player, SYNCTEST_PHASE_PASS);
    ls_float_mode kept = ls_float_mode_now();
    uint64_t noise = noise_of(player, SYNCTEST_CHANGES_STACK, tick, index);
    ls_step told = *step;
    told.written = player->named.count > 0 ? &player->named : NULL;
    run_on_stack(noise, index == 0, call_pass, &(pass_call){pass, &told, noise});
    if (!player->mode_changer && !ls_float_mode_equal(kept, ls_float_mode_now())) {
        player->mode_changer = pass;
    }
    if (is_moved(player, SYNCTEST_CHANGES_ROUNDING) && index + 1 == player->simulation.pass_count) {
        ls_float_mode_set(player->outer_mode); /* a step sets its own mode once, or never */
    }
    synctest_player_enter_phase(player, SYNCTEST_PHASE_HOST);
    note_static_writes(player, tick, index);
    if (player->is_traced) {
        synctest_trace_set(&player->trace, index + 1, hash_of_state(player, step->state),
                           step->state);
    }
}

static ls_sim_tuning tuning_of(const synctest_player *player, ls_tick tick)
{
    ls_sim_tuning tuning = {.workers = 1, .log_level = LS_LOG_WARNING};
    uint32_t workers = player->simulation.workers_max;
    workers = LS_MIN(workers, SYNCTEST_TRIED_WORKERS);
    if (is_moved(player, SYNCTEST_CHANGES_WORKERS) && workers > 1) {
        tuning.workers = 1 + tick % workers;
    }
    if (is_moved(player, SYNCTEST_CHANGES_LOG)) {
        tuning.log_level = tick % (LS_LOG_DEBUG + 1);
    }
    return tuning;
}

void synctest_player_step(synctest_player *player, ls_sim_instance *instance,
                          const ls_tick_inputs *inputs, bool is_traced)
{
    const ls_step_watch watch = {run_pass, player};
    player->exchange->progress.tick = inputs->tick;
    player->exchange->progress.beats++;
    player->is_traced = is_traced;
    ls_sim_instance_tune(instance, tuning_of(player, inputs->tick));
    const ls_tick_inputs laid = synctest_laid_inputs_set(&player->laid_inputs, inputs);
    ls_sim_instance_step_watched(instance, &laid, &watch);
}

/* ---- what it gave ---- */

uint64_t synctest_player_hash(synctest_player *player, ls_sim_instance *instance)
{
    synctest_player_enter_phase(player, SYNCTEST_PHASE_HASH);
    uint64_t state_hash = ls_sim_instance_hash(instance);
    synctest_player_enter_phase(player, SYNCTEST_PHASE_HOST);
    return state_hash;
}

/* Once a difference is found, and never between passes: only a whole step leaves a state that an
 * engine can save. Another build may save another number of bytes. */
void synctest_player_keep_image(synctest_player *player, const ls_sim_instance *instance)
{
    synctest_trace *trace = &player->trace;
    if (trace->image_bytes == 0 || ls_sim_instance_image_bytes(instance) != trace->image_bytes) {
        return;
    }
    synctest_player_enter_phase(player, SYNCTEST_PHASE_SAVE);
    if (ls_sim_instance_image(instance, synctest_trace_image_room(trace)) == LS_OK) {
        synctest_trace_note_image(trace);
    }
    synctest_player_enter_phase(player, SYNCTEST_PHASE_HOST);
}

bool synctest_player_compare(synctest_player *player, ls_sim_instance *instance)
{
    synctest_outcome *outcome = &player->exchange->outcome;
    ls_tick tick = ls_sim_instance_tick(instance);
    uint64_t state_hash = synctest_player_hash(player, instance);
    outcome->hashes_compared++;
    if (state_hash == synctest_tape_hash(&player->tape, tick)) {
        return true;
    }
    outcome->kind = SYNCTEST_OUTCOME_DIFFERS;
    outcome->is_initial = tick == 0;
    outcome->found_hash = state_hash;
    outcome->tick = tick == 0 ? 0 : tick - 1;
    if (tick == 0) {
        synctest_trace_set(&player->trace, 0, state_hash, ls_sim_instance_view(instance));
    }
    synctest_player_keep_image(player, instance);
    return false;
}

ls_sim_instance *synctest_player_start_compared(synctest_player *player)
{
    ls_sim_instance *instance = synctest_player_start(player);
    return instance && synctest_player_compare(player, instance) ? instance : NULL;
}

bool synctest_player_advance(synctest_player *player, ls_sim_instance *instance)
{
    ls_tick_inputs inputs = synctest_player_inputs(player, ls_sim_instance_tick(instance));
    synctest_player_step(player, instance, &inputs, true);
    return synctest_player_compare(player, instance);
}

static bool save_fault(synctest_player *player, const ls_sim_instance *instance,
                       const char *function, ls_status status)
{
    synctest_outcome *outcome = &player->exchange->outcome;
    synctest_player_enter_phase(player, SYNCTEST_PHASE_HOST);
    synctest_player_fault(player, SYNCTEST_FAULT_SAVE, ls_sim_instance_tick(instance), function);
    ls_text_set(&outcome->text, "%s", ls_status_text(status));
    return false;
}

/* Saves of a callback differ in size from tick to tick. */
static bool make_room(synctest_player *player, size_t size, synctest_saved *saved)
{
    if (size > saved->capacity) {
        ls_release(&player->memory.allocator, saved->bytes);
        saved->capacity = size + size / 4;
        saved->bytes = ls_allocate(&player->memory.allocator, saved->capacity);
    }
    saved->size = size;
    return saved->bytes != NULL;
}

bool synctest_player_save(synctest_player *player, const ls_sim_instance *instance,
                          synctest_saved *saved)
{
    synctest_player_enter_phase(player, SYNCTEST_PHASE_SAVE);
    ls_status status = make_room(player, ls_sim_instance_save_bytes(instance), saved)
                           ? ls_sim_instance_save(instance, saved->bytes)
                           : LS_NO_MEMORY;
    if (status != LS_OK) {
        return save_fault(player, instance, "save", status);
    }
    synctest_player_enter_phase(player, SYNCTEST_PHASE_HOST);
    return true;
}

bool synctest_player_load_save(synctest_player *player, ls_sim_instance *instance,
                               const synctest_saved *saved, ls_tick tick)
{
    synctest_player_enter_phase(player, SYNCTEST_PHASE_SAVE);
    ls_status status = ls_sim_instance_load(instance, saved->bytes, saved->size, tick);
    if (status != LS_OK) {
        return save_fault(player, instance, "load", status);
    }
    synctest_player_enter_phase(player, SYNCTEST_PHASE_HOST);
    return true;
}
