#include "lockstep/common/runtime/rerun/rerun_writes.h"

#include "lockstep/common/loader/plugin_statics.h"
#include "lockstep/common/system/file_writes.h"
#include "lockstep/common/system/memory.h"

#include <string.h>

enum {
    SHAPES_MAX = 4096
};

/* Places that write: passes by their numbers, and functions that may only read. */
enum {
    BY_HASH = LS_PASSES_MAX,
    BY_SAVE,
    BY_BOT,
    BY_CONTROL,
    BY_DRAW,
    BY_DRAW_CONTROL,
    BY_SOUNDS,
    BY_STATUS,
};

static const char *const readers[] = {"hash", "save",         "bot",    "control",
                                      "draw", "draw_control", "sounds", "status"};

typedef struct watched_run {
    ls_plugin_statics statics;
    ls_rerun_writes writes;
    ls_draw_shape *shapes;
    uint8_t *room; /* for the state before, or for what an engine saves */
    size_t room_bytes;
} watched_run;

static bool is_noted(const ls_rerun_writes *writes, uint64_t address, uint32_t place)
{
    for (uint32_t i = 0; i < writes->count; i++) {
        if (writes->list[i].file[0] == '\0' && writes->list[i].address / 8 == address / 8 &&
            writes->list[i].place == place) {
            return true;
        }
    }
    return false;
}

static void note_file(ls_rerun_writes *writes, uint32_t place)
{
    char file[LS_NAME_BYTES_MAX];
    bool is_new = ls_file_writes_next(file, sizeof file) && writes->count < LS_RERUN_WRITES_MAX;
    for (uint32_t i = 0; i < writes->count && is_new; i++) {
        is_new = strcmp(writes->list[i].file, file) != 0;
    }
    if (is_new) {
        ls_name_copy(writes->list[writes->count].file, sizeof file, file);
        writes->list[writes->count++].place = place;
    }
}

static void note_writes(watched_run *watched, uint32_t place)
{
    uint64_t addresses[LS_RERUN_WRITES_MAX];
    ls_rerun_writes *writes = &watched->writes;
    uint32_t count = ls_plugin_statics_changes(&watched->statics, addresses, LS_RERUN_WRITES_MAX);
    for (uint32_t i = 0; i < count && writes->count < LS_RERUN_WRITES_MAX; i++) {
        if (!is_noted(writes, addresses[i], place)) {
            writes->list[writes->count].address = addresses[i];
            writes->list[writes->count++].place = place;
        }
    }
    note_file(writes, place);
}

static void run_watched_pass(void *user, const ls_step *step, const ls_pass *pass, uint32_t index)
{
    pass->run(step);
    note_writes(user, index);
}

static void call_as_a_player(watched_run *watched, const ls_sim_instance *instance, uint32_t slot)
{
    static ls_status_line lines[LS_PLAYERS_MAX + 8];
    static uint8_t bytes[LS_INPUT_BYTES_MAX], memory[LS_CONTROL_MEMORY_BYTES];
    const ls_simulation *simulation = ls_sim_instance_simulation(instance);
    const ls_sim_config *config = ls_sim_instance_config(instance);
    const void *state = ls_sim_instance_view(instance);
    ls_rng rng = ls_rng_make(ls_sim_instance_tick(instance), slot);
    uint32_t pressed = (uint32_t)ls_rng_next(&rng);
    const ls_controls controls = {.held = pressed, .pressed = pressed, .memory = memory};
    ls_draw_list list = {.shapes = watched->shapes, .capacity = SHAPES_MAX};
    if (simulation->bot) {
        (void)simulation->bot(config, state, slot, &rng, bytes);
        note_writes(watched, BY_BOT);
    }
    if (simulation->control) {
        (void)simulation->control(config, state, slot, &controls, bytes);
        note_writes(watched, BY_CONTROL);
    }
    if (simulation->draw_control) {
        simulation->draw_control(config, state, slot, &controls, &list);
        note_writes(watched, BY_DRAW_CONTROL);
    }
    if (simulation->status) {
        ls_status_list status = {.lines = lines, .capacity = config->players + 8};
        simulation->status(config, state, slot, &status);
        note_writes(watched, BY_STATUS);
    }
}

/* As programs that play and show the match call them behind each tick: a picture lies between two
 * states. */
static void call_readers(watched_run *watched, const ls_sim_instance *instance)
{
    static ls_sound sounds[LS_SOUNDS_MAX];
    const ls_simulation *simulation = ls_sim_instance_simulation(instance);
    const ls_sim_config *config = ls_sim_instance_config(instance);
    const void *state = ls_sim_instance_view(instance);
    const void *previous = simulation->hash ? state : watched->room;
    ls_draw_list list = {.shapes = watched->shapes, .capacity = SHAPES_MAX};
    ls_sound_list heard = {.sounds = sounds, .capacity = LS_SOUNDS_MAX};
    if (simulation->hash) {
        (void)simulation->hash(config, state);
        note_writes(watched, BY_HASH);
    }
    if (simulation->save) {
        (void)simulation->save(config, state, watched->room, watched->room_bytes);
        note_writes(watched, BY_SAVE);
    }
    for (uint32_t slot = 0; slot < config->players; slot++) {
        call_as_a_player(watched, instance, slot);
    }
    if (simulation->draw) {
        simulation->draw(config, previous, state, LS_FIXED_ONE / 2, &list);
        note_writes(watched, BY_DRAW);
    }
    if (simulation->sounds) {
        simulation->sounds(config, previous, state, &heard);
        note_writes(watched, BY_SOUNDS);
    }
}

static bool open_run(watched_run *watched, const ls_simulation *simulation,
                     const ls_sim_config *config, ls_sim_instance **out)
{
    const ls_allocator *allocator = ls_allocator_large();
    if (ls_sim_instance_create(simulation, config, allocator, out, NULL) != LS_OK) {
        return false;
    }
    watched->room_bytes =
        LS_MAX(ls_sim_instance_state_bytes(*out), ls_sim_instance_image_bytes(*out));
    watched->room = ls_allocate(allocator, watched->room_bytes);
    watched->shapes = ls_allocate_array(allocator, SHAPES_MAX, sizeof *watched->shapes);
    return watched->room && watched->shapes;
}

bool ls_rerun_writes_find(const ls_simulation *simulation, const ls_rerun_match *match,
                          const ls_replay_stretch *stretch, ls_rerun_writes *out)
{
    static watched_run watched;
    const ls_step_watch passes = {run_watched_pass, &watched};
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    ls_sim_instance *instance = NULL;
    if (!open_run(&watched, simulation, &match->config, &instance) ||
        ls_replay_stretch_load(stretch, instance) != LS_OK) {
        return false;
    }
    ls_file_writes_refuse();
    ls_plugin_statics_begin(&watched.statics, match->simulation, ls_allocator_heap());
    while (ls_sim_instance_tick(instance) < stretch->last &&
           ls_replay_stretch_inputs(stretch, instance, slots, &inputs) == LS_OK) {
        if (!simulation->hash) {
            memcpy(watched.room, ls_sim_instance_view(instance),
                   ls_sim_instance_state_bytes(instance));
        }
        ls_sim_instance_step_watched(instance, &inputs, &passes);
        call_readers(&watched, instance);
    }
    *out = watched.writes;
    return true;
}

/* ---- names ---- */

static ls_plugin_symbol_reader *read_symbol; /* NULL: none */

void ls_rerun_writes_read_symbols_by(ls_plugin_symbol_reader *reader)
{
    read_symbol = reader;
}

static void name_write(const ls_rerun_writes *writes, uint32_t index,
                       const ls_simulation *simulation, const char *plugin,
                       ls_rerun_outcome *outcome)
{
    char variable[LS_NAME_BYTES_MAX] = "without a name";
    uint64_t address = writes->list[index].address;
    uint32_t place = writes->list[index].place;
    bool is_file = writes->list[index].file[0] != '\0';
    bool is_pass = place < simulation->pass_count;
    ls_text *out = is_file ? &outcome->files : &outcome->outside;
    if (!is_pass && (place < BY_HASH || place > BY_STATUS)) {
        return; /* the plug-in has written over it */
    }
    ls_text_add(out, "%s%s%s writes to the ", out->bytes[0] ? ", " : "", is_pass ? "pass " : "",
                is_pass ? simulation->passes[place].name : readers[place - BY_HASH]);
    if (is_file) {
        ls_text_add(out, "file %.*s", (int)LS_NAME_BYTES_MAX - 1, writes->list[index].file);
        return;
    }
    (void)ls_plugin_statics_name(plugin, address, read_symbol, variable, sizeof variable);
    ls_text_add(out, "%svariable %s",
                address & LS_PLUGIN_STATICS_THREAD_LOCAL ? "thread-local " : "", variable);
}

void ls_rerun_writes_name(const ls_rerun_writes *writes, const ls_simulation *simulation,
                          const ls_rerun_match *match, ls_rerun_outcome *outcome)
{
    for (uint32_t i = 0; i < LS_MIN(writes->count, LS_RERUN_WRITES_MAX); i++) {
        name_write(writes, i, simulation, match->simulation, outcome);
    }
}
