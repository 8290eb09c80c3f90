#include "lockstep/common/simulation/state_schema.h"
#include "lockstep/tools/synctest/play_mode.h"

#include "lockstep/client/bots.h"
#include "lockstep/tools/synctest/crash.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

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

static void name_written_field(viewing *viewer, size_t offset)
{
    const ls_schema *schema = ls_sim_instance_schema(viewer->current);
    synctest_outcome *outcome = &viewer->player->exchange->outcome;
    if (schema) {
        ls_schema_place place = ls_schema_at(schema, offset);
        ls_schema_place_name(&place, outcome->field, sizeof outcome->field);
    }
}

/* Calls one of the simulation's functions that may only read. */
static bool call_reader(viewing *viewer, synctest_phase phase, const char *name,
                        void (*run)(void *user))
{
    synctest_player *player = viewer->player;
    uintptr_t address = 0;
    set_writable(viewer, false);
    synctest_player_enter_phase(player, phase);
    bool is_well = synctest_crash_guard(run, viewer, &address);
    set_writable(viewer, true);
    if (!is_well) {
        size_t offset = 0;
        if (!offset_in(viewer->current, address, &offset) &&
            !offset_in(viewer->previous, address, &offset)) {
            synctest_crash_end(SIGSEGV);
        }
        synctest_player_fault(player, SYNCTEST_FAULT_WRITE, ls_sim_instance_tick(viewer->current),
                              name);
        ls_text_set(&player->exchange->outcome.text, "%s writes to the state", name);
        name_written_field(viewer, offset);
    }
    synctest_player_enter_phase(player, SYNCTEST_PHASE_HOST);
    return is_well;
}

/* At another frame rate each tick: no frame, one, or five. */
static bool show(viewing *viewer)
{
    static const uint32_t frames[] = {1, 5, 0};
    ls_tick tick = ls_sim_instance_tick(viewer->current);
    const ls_simulation *simulation = &viewer->player->simulation;
    for (uint32_t i = 0; simulation->draw && i < frames[tick % 3]; i++) {
        viewer->alpha = LS_FIXED_ONE / 5 * (int64_t)(i + tick % 2);
        if (!call_reader(viewer, SYNCTEST_PHASE_DRAW, "draw", draw)) {
            return false;
        }
    }
    if (simulation->sounds && !call_reader(viewer, SYNCTEST_PHASE_SOUNDS, "sounds", listen)) {
        return false;
    }
    viewer->slot = tick % viewer->player->config.players;
    bool can_save = viewer->player->exchange->facts.save_bytes > 0;
    return (!simulation->bot || call_reader(viewer, SYNCTEST_PHASE_BOT, "bot", ask_bot)) &&
           call_reader(viewer, SYNCTEST_PHASE_HASH, "hash", hash) &&
           (!can_save || call_reader(viewer, SYNCTEST_PHASE_SAVE, "save", save));
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
    while (ls_sim_instance_tick(viewer->current) < player->tape.ticks) {
        if (!keep_previous(viewer)) {
            return false;
        }
        if (!synctest_player_advance(player, viewer->current) || !show(viewer)) {
            return false;
        }
    }
    return true;
}

bool synctest_play_mode_draw(synctest_player *player)
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
