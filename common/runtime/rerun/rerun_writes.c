#include "lockstep/common/runtime/rerun/rerun_writes.h"

#include "lockstep/common/system/float_mode.h"
#include "lockstep/common/system/foreign_calls.h"
#include "lockstep/common/system/machine.h"
#include "lockstep/common/system/memory.h"

#include <string.h>

enum {
    SHAPES_MAX = 4096,
    VARIABLES_MAX = 8, /* that are named, and files */
    NOTES_MAX = 64,    /* of one look: an array has many that are one variable */
    PROOFS = 2,        /* a race is no proof */
};

/* The time that all runs with variables set back may take. */
#define PROOF_NS_MAX (UINT64_C(500) * 1000 * 1000)

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

typedef struct written {
    uint32_t place;              /* a pass by its number, or one of the functions */
    ls_plugin_variable variable; /* or a file, whose size is 0 */
    bool is_mode;                /* the float mode in place of these */
    bool matters;                /* set back, it changes the result */
} written;

/* Not a static: it would be among those that are watched where the simulation is linked into the
 * program. */
typedef struct watched_run {
    const ls_simulation *simulation;
    const ls_replay_stretch *stretch;
    ls_sim_instance *instance;
    ls_plugin_statics statics;
    ls_float_mode mode; /* that runs begin with */
    bool is_watching;
    uint32_t count;
    written list[VARIABLES_MAX];
    uint32_t passed_over_count;
    uint64_t passed_over[NOTES_MAX]; /* addresses without a name: looking for one takes long */
    ls_draw_shape *shapes;
    ls_status_line lines[LS_PLAYERS_MAX + 8];
    ls_sound sounds[LS_SOUNDS_MAX];
    uint8_t input[LS_INPUT_BYTES_MAX];
    uint8_t controls[LS_CONTROL_MEMORY_BYTES];
    uint8_t *room; /* for the state before, or for what an engine saves */
    size_t room_bytes;
} watched_run;

/* ---- notes ---- */

static ls_plugin_symbol_reader *read_symbol; /* NULL: none */

void ls_rerun_writes_read_symbols_by(ls_plugin_symbol_reader *reader)
{
    read_symbol = reader;
}

static bool is_file(const written *one)
{
    return one->variable.size == 0 && !one->is_mode;
}

static void add(watched_run *watched, const written *one)
{
    for (uint32_t i = 0; i < watched->count; i++) {
        const written *known = &watched->list[i];
        bool is_same = is_file(one)
                           ? is_file(known) && strcmp(one->variable.name, known->variable.name) == 0
                           : one->is_mode == known->is_mode && one->place == known->place &&
                                 one->variable.address == known->variable.address &&
                                 one->variable.size == known->variable.size;
        if (is_same) {
            return;
        }
    }
    if (watched->count < VARIABLES_MAX) {
        watched->list[watched->count++] = *one;
    }
}

/* Memory of the program without a name is the linker's: the program has the names of its own. */
static void note_variable(watched_run *watched, uint64_t address, uint32_t place)
{
    written one = {.place = place};
    const char *path = ls_plugin_statics_path(&watched->statics, address);
    if (!ls_plugin_statics_variable(path, address, read_symbol, &one.variable)) {
        one.variable = (ls_plugin_variable){"without a name", address / 8 * 8, 8};
        if (strcmp(path, LS_PLUGIN_STATICS_PROGRAM) == 0) {
            watched->passed_over[watched->passed_over_count++ % NOTES_MAX] = address;
            return;
        }
    }
    add(watched, &one);
}

static bool is_known(const watched_run *watched, uint64_t address, uint32_t place)
{
    for (uint32_t i = 0; i < watched->count; i++) {
        const written *known = &watched->list[i];
        if (place == known->place && address - known->variable.address < known->variable.size) {
            return true;
        }
    }
    for (uint32_t i = 0; i < LS_MIN(watched->passed_over_count, NOTES_MAX); i++) {
        if (watched->passed_over[i] == address) {
            return true;
        }
    }
    return watched->count == VARIABLES_MAX || watched->passed_over_count >= 2 * NOTES_MAX;
}

/* The program that the simulation may be linked into writes as well: that is not noted. */
static void look_away(watched_run *watched)
{
    uint64_t forgotten = 0;
    if (watched->is_watching) {
        (void)ls_plugin_statics_changes(&watched->statics, &forgotten, 1);
    }
}

static void note_writes(watched_run *watched, uint32_t place)
{
    uint64_t addresses[NOTES_MAX];
    if (!watched->is_watching) {
        return;
    }
    uint32_t count = ls_plugin_statics_changes(&watched->statics, addresses, NOTES_MAX);
    for (uint32_t i = 0; i < count; i++) {
        if (!is_known(watched, addresses[i], place)) {
            note_variable(watched, addresses[i], place);
        }
    }
    if (!ls_float_mode_equal(ls_float_mode_now(), watched->mode)) {
        ls_float_mode_set(watched->mode); /* so that each one that changes it is named */
        add(watched, &(written){.place = place, .is_mode = true});
    }
    written file = {.place = place};
    if (ls_file_writes_next(file.variable.name, sizeof file.variable.name)) {
        add(watched, &file);
    }
    if (count > 0) { /* names have been looked for */
        look_away(watched);
    }
}

/* ---- a run ---- */

static void run_watched_pass(void *user, const ls_step *step, const ls_pass *pass, uint32_t index)
{
    look_away(user);
    pass->run(step);
    note_writes(user, index);
}

static void call_as_a_player(watched_run *watched, uint32_t slot)
{
    const ls_sim_instance *instance = watched->instance;
    const ls_simulation *simulation = watched->simulation;
    const ls_sim_config *config = ls_sim_instance_config(instance);
    const void *state = ls_sim_instance_view(instance);
    ls_rng rng = ls_rng_make(ls_sim_instance_tick(instance), slot);
    uint32_t pressed = (uint32_t)ls_rng_next(&rng);
    const ls_controls controls = {.held = pressed, .pressed = pressed, .memory = watched->controls};
    ls_draw_list list = {.shapes = watched->shapes, .capacity = SHAPES_MAX};
    if (simulation->bot) {
        (void)simulation->bot(config, state, slot, &rng, watched->input);
        note_writes(watched, BY_BOT);
    }
    if (simulation->control) {
        (void)simulation->control(config, state, slot, &controls, watched->input);
        note_writes(watched, BY_CONTROL);
    }
    if (simulation->draw_control) {
        simulation->draw_control(config, state, slot, &controls, &list);
        note_writes(watched, BY_DRAW_CONTROL);
    }
    if (simulation->status) {
        ls_status_list status = {.lines = watched->lines, .capacity = config->players + 8};
        simulation->status(config, state, slot, &status);
        note_writes(watched, BY_STATUS);
    }
}

/* As programs that play and show the match call them behind each tick: a picture lies between two
 * states. */
static void call_readers(watched_run *watched)
{
    const ls_sim_instance *instance = watched->instance;
    const ls_simulation *simulation = watched->simulation;
    const ls_sim_config *config = ls_sim_instance_config(instance);
    const void *state = ls_sim_instance_view(instance);
    const void *previous = simulation->hash ? state : watched->room;
    ls_draw_list list = {.shapes = watched->shapes, .capacity = SHAPES_MAX};
    ls_sound_list heard = {.sounds = watched->sounds, .capacity = LS_SOUNDS_MAX};
    look_away(watched);
    if (simulation->hash) {
        (void)simulation->hash(config, state);
        note_writes(watched, BY_HASH);
    }
    if (simulation->save) {
        (void)simulation->save(config, state, watched->room, watched->room_bytes);
        note_writes(watched, BY_SAVE);
    }
    for (uint32_t slot = 0; slot < config->players; slot++) {
        call_as_a_player(watched, slot);
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

static bool open_run(watched_run *watched, const ls_sim_config *config)
{
    const ls_allocator *allocator = ls_allocator_large();
    if (ls_sim_instance_create(watched->simulation, config, allocator, &watched->instance, NULL) !=
        LS_OK) {
        return false;
    }
    watched->room_bytes = LS_MAX(ls_sim_instance_state_bytes(watched->instance),
                                 ls_sim_instance_image_bytes(watched->instance));
    watched->room = ls_allocate(allocator, watched->room_bytes);
    watched->shapes = ls_allocate_array(allocator, SHAPES_MAX, sizeof *watched->shapes);
    return watched->room && watched->shapes;
}

/* Sets all variables back but `left`. */
static void reset(const watched_run *watched, const written *left)
{
    if (!left || !left->is_mode) {
        ls_float_mode_set(watched->mode);
    }
    for (uint32_t i = 0; i < watched->count; i++) {
        const ls_plugin_variable *variable = &watched->list[i].variable;
        bool is_left = left && variable->address == left->variable.address;
        if (variable->size > 0 && !is_left) {
            ls_plugin_statics_reset(&watched->statics, variable->address, variable->size);
        }
    }
}

/* The stretch, with all variables set back before each tick, but `left`. Zero: it cannot be run. */
static uint64_t run_stretch(watched_run *watched, const written *left, bool calls_readers)
{
    const ls_step_watch passes = {run_watched_pass, watched};
    ls_sim_instance *instance = watched->instance;
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    if (ls_replay_stretch_load(watched->stretch, instance) != LS_OK) {
        return 0;
    }
    while (ls_sim_instance_tick(instance) < watched->stretch->last &&
           ls_replay_stretch_inputs(watched->stretch, instance, slots, &inputs) == LS_OK) {
        if (calls_readers && !watched->simulation->hash) {
            memcpy(watched->room, ls_sim_instance_view(instance),
                   ls_sim_instance_state_bytes(instance));
        }
        if (!watched->is_watching) {
            reset(watched, left);
        }
        ls_sim_instance_step_watched(instance, &inputs, &passes);
        if (calls_readers) {
            call_readers(watched);
        }
    }
    return ls_sim_instance_hash(instance);
}

/* ---- what matters ---- */

/* Whether a run gives another result with it: it goes on from one run to the next, so that a cache
 * is warm in the second one. */
static bool changes(watched_run *watched, const written *left, uint64_t base)
{
    bool is_reader = left->place >= BY_HASH;
    uint64_t cold = run_stretch(watched, left, is_reader);
    return run_stretch(watched, left, is_reader) != base || cold != base;
}

/* A run with everything set back lies between any two: where those differ, so does chance, or
 * something that is not on the list, and nothing is proved. */
static bool prove(watched_run *watched, written *one, uint64_t base)
{
    uint32_t others = 0;
    for (uint32_t i = 0; i < PROOFS; i++) {
        others += changes(watched, one, base);
        if (run_stretch(watched, NULL, false) != base) {
            return false;
        }
    }
    one->matters = others == PROOFS;
    return true;
}

static void find_what_matters(watched_run *watched)
{
    uint64_t end_ns = ls_machine_cpu_ns() + PROOF_NS_MAX;
    uint64_t base = run_stretch(watched, NULL, false);
    for (uint32_t i = 0; i < watched->count && ls_machine_cpu_ns() < end_ns; i++) {
        if (!is_file(&watched->list[i]) && !prove(watched, &watched->list[i], base)) {
            return;
        }
    }
}

/* ---- words ---- */

static void name_write(const watched_run *watched, const written *one, ls_rerun_writes *out)
{
    ls_text *text = one->matters ? &out->outside : &out->harmless;
    bool is_pass = one->place < BY_HASH;
    bool is_of_thread = one->variable.address & LS_PLUGIN_STATICS_THREAD_LOCAL;
    ls_text_add(text, "%s%s%s ", text->bytes[0] ? ", " : "", is_pass ? "pass " : "",
                is_pass ? watched->simulation->passes[one->place].name
                        : readers[one->place - BY_HASH]);
    if (one->is_mode) {
        ls_text_add(text, "changes the floating-point environment (rounding, denormals)");
    } else {
        ls_text_add(text, "writes to the %s %s",
                    is_file(one)   ? "file"
                    : is_of_thread ? "thread-local variable"
                                   : "variable",
                    one->variable.name);
    }
}

static ls_rerun_writes name_writes(const watched_run *watched)
{
    ls_rerun_writes out = {.outside = {{0}}, .harmless = {{0}}};
    for (uint32_t i = 0; i < watched->count; i++) {
        name_write(watched, &watched->list[i], &out);
    }
    return out;
}

static bool find_writes(watched_run *watched, bool (*hand_on)(const ls_rerun_writes *writes))
{
    const void *code = (const void *)(uintptr_t)watched->simulation->passes[0].run;
    ls_file_writes_refuse();
    ls_plugin_statics_begin(&watched->statics, code, true, ls_allocator_heap());
    watched->is_watching = true;
    if (run_stretch(watched, NULL, true) == 0) {
        return false;
    }
    ls_rerun_writes writes = name_writes(watched);
    if (!hand_on(&writes)) {
        return false;
    }
    watched->is_watching = false;
    find_what_matters(watched);
    writes = name_writes(watched);
    return hand_on(&writes);
}

bool ls_rerun_writes_find(const ls_simulation *simulation, const ls_rerun_match *match,
                          const ls_replay_stretch *stretch,
                          bool (*hand_on)(const ls_rerun_writes *writes))
{
    const ls_allocator *large = ls_allocator_large();
    watched_run *watched = ls_allocate(ls_allocator_heap(), sizeof *watched);
    if (!watched) {
        return false;
    }
    *watched =
        (watched_run){.simulation = simulation, .stretch = stretch, .mode = ls_float_mode_now()};
    bool is_found = open_run(watched, &match->config) && find_writes(watched, hand_on);
    ls_plugin_statics_end(&watched->statics);
    ls_sim_instance_destroy(watched->instance);
    ls_release(large, watched->shapes);
    ls_release(large, watched->room);
    ls_release(ls_allocator_heap(), watched);
    return is_found;
}
