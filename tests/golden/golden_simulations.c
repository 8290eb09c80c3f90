/* Whole matches of bots: every simulation that comes with Lockstep. */
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/tests/golden/golden.h"

#include "lockstep/common/base/hash.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/common/simulations/rope/rope.h"
#include "lockstep/common/simulations/spring/spring.h"

#include <stdlib.h>

enum {
    TICKS_FIRST = 100,
    TICKS_SAVED = 300,
    TICKS_LAST = 600,
    STREAM_FROM_START = 1, /* of the bots */
    STREAM_FROM_SAVE = 2,
    SHAPES_MAX = 4096,
};

typedef struct match {
    const ls_simulation *simulation;
    ls_sim_instance *instance;
    ls_rng bots[LS_PLAYERS_MAX];
    uint64_t chain; /* over the roots of all ticks */
} match;

static match open_match_with(const ls_simulation *simulation, const ls_sim_config *config,
                             uint64_t bot_stream)
{
    match m = {.simulation = simulation};
    ls_text why = {{0}};
    if (ls_sim_instance_create(simulation, config, ls_allocator_heap(), &m.instance, &why) !=
        LS_OK) {
        golden_fail(simulation->name, why.bytes);
    }
    for (uint32_t slot = 0; slot < LS_PLAYERS_MAX; slot++) {
        m.bots[slot] = ls_rng_make(slot, bot_stream);
    }
    m.chain = ls_hash_chain_start(ls_sim_instance_hash(m.instance));
    return m;
}

static match open_match(const ls_simulation *simulation, uint64_t bot_stream)
{
    ls_sim_config config = ls_sim_config_default(simulation);
    return open_match_with(simulation, &config, bot_stream);
}

static void play_tick(match *m)
{
    static uint8_t bytes[LS_PLAYERS_MAX][LS_INPUT_BYTES_MAX];
    const ls_sim_config *config = ls_sim_instance_config(m->instance);
    ls_tick tick = ls_sim_instance_tick(m->instance);
    ls_slot_input slots[LS_PLAYERS_MAX];
    for (uint32_t slot = 0; slot < config->players; slot++) {
        uint32_t size = m->simulation->bot(config, ls_sim_instance_view(m->instance), slot,
                                           &m->bots[slot], bytes[slot]);
        slots[slot] = (ls_slot_input){bytes[slot], size, tick == 0 ? LS_EVENT_JOINED : 0};
    }
    ls_sim_instance_step(m->instance, &(ls_tick_inputs){tick, config->players, slots});
    m->chain = ls_hash_chain_next(m->chain, ls_sim_instance_hash(m->instance));
}

static void play_to(match *m, ls_tick end)
{
    while (ls_sim_instance_tick(m->instance) < end) {
        play_tick(m);
    }
}

static void root_line(const match *m, const char *what)
{
    golden_line_of(m->simulation->name, what, ls_sim_instance_hash(m->instance));
}

static uint8_t *save_memory(const match *m, size_t *size)
{
    *size = ls_sim_instance_save_bytes(m->instance);
    uint8_t *bytes = malloc(*size);
    if (bytes == NULL) {
        golden_fail(m->simulation->name, "out of memory");
    }
    return bytes;
}

static uint8_t *save_of(const match *m, size_t *size)
{
    uint8_t *bytes = save_memory(m, size);
    if (ls_sim_instance_save(m->instance, bytes) != LS_OK) {
        golden_fail(m->simulation->name, "cannot be saved");
    }
    return bytes;
}

/* Goes on from a save in the middle, with other bots. */
static void resume(const ls_simulation *simulation, const uint8_t *bytes, size_t size)
{
    match m = open_match(simulation, STREAM_FROM_SAVE);
    if (ls_sim_instance_load(m.instance, bytes, size, TICKS_SAVED) != LS_OK) {
        golden_fail(simulation->name, "its save cannot be loaded");
    }
    root_line(&m, "loaded");
    play_to(&m, TICKS_LAST);
    root_line(&m, "resumed");
    ls_sim_instance_destroy(m.instance);
}

static uint64_t picture_sum(const match *m, const uint8_t *earlier, size_t size)
{
    static ls_draw_shape shapes[SHAPES_MAX];
    ls_draw_list list = {.shapes = shapes, .capacity = SHAPES_MAX};
    match before = open_match(m->simulation, STREAM_FROM_START);
    if (ls_sim_instance_load(before.instance, earlier, size, TICKS_SAVED) != LS_OK) {
        golden_fail(m->simulation->name, "its save cannot be loaded");
    }
    m->simulation->draw(ls_sim_instance_config(m->instance), ls_sim_instance_view(before.instance),
                        ls_sim_instance_view(m->instance), LS_FIXED_ONE / 3, &list);
    uint64_t sum = GOLDEN_START;
    for (uint32_t i = 0; i < list.count; i++) {
        sum = golden_fold(sum, (uint64_t)shapes[i].x);
        sum = golden_fold(sum, (uint64_t)shapes[i].y);
        sum = golden_fold(sum, shapes[i].angle);
    }
    ls_sim_instance_destroy(before.instance);
    return sum;
}

static uint64_t digests_sum(const match *m)
{
    ls_sim_digests digests = ls_sim_instance_digests(m->instance);
    uint64_t sum = golden_fold(GOLDEN_START, digests.parameters);
    sum = golden_fold(sum, digests.schema);
    return golden_fold(sum, digests.content);
}

static void play_match(const ls_simulation *simulation)
{
    match m = open_match(simulation, STREAM_FROM_START);
    golden_line_of(simulation->name, "digests", digests_sum(&m));
    root_line(&m, "0");
    play_to(&m, TICKS_FIRST);
    root_line(&m, "100");
    play_to(&m, TICKS_SAVED);
    size_t size = 0;
    uint8_t *save = save_of(&m, &size);
    golden_line_of(simulation->name, "save", ls_hash_bytes(save, size, 0));
    play_tick(&m);
    if (simulation->draw != NULL) {
        golden_line_of(simulation->name, "picture", picture_sum(&m, save, size));
    }
    play_to(&m, TICKS_LAST);
    root_line(&m, "600");
    golden_line_of(simulation->name, "chain", m.chain);
    resume(simulation, save, size);
    free(save);
    ls_sim_instance_destroy(m.instance);
}

/* One simulation with one parameter that is not as it comes. */
static void play_variant(const ls_simulation *simulation, const char *assignment)
{
    ls_sim_config config = ls_sim_config_default(simulation);
    ls_text why = {{0}};
    if (ls_sim_config_set(simulation, &config, assignment, &why) != LS_OK) {
        golden_fail(simulation->name, why.bytes);
    }
    match m = open_match_with(simulation, &config, STREAM_FROM_START);
    play_to(&m, TICKS_SAVED);
    root_line(&m, assignment);
    ls_sim_instance_destroy(m.instance);
}

void golden_simulations(void)
{
    for (uint32_t i = 0; ls_builtin_simulation(i) != NULL; i++) {
        play_match(ls_builtin_simulation(i));
    }
    play_variant(ls_rope_simulation(), "integrator=0");
    play_variant(ls_rope_simulation(), "integrator=2");
    play_variant(ls_spring_simulation(), "integrator=0");
    play_variant(ls_spring_simulation(), "integrator=2");
}

void golden_save(FILE *file)
{
    for (uint32_t i = 0; ls_builtin_simulation(i) != NULL; i++) {
        match m = open_match(ls_builtin_simulation(i), STREAM_FROM_START);
        play_to(&m, TICKS_SAVED);
        size_t size = 0;
        uint8_t *save = save_of(&m, &size);
        if (fwrite(save, 1, size, file) != size) {
            golden_fail(m.simulation->name, "its save cannot be written");
        }
        free(save);
        ls_sim_instance_destroy(m.instance);
    }
}

void golden_load(FILE *file)
{
    for (uint32_t i = 0; ls_builtin_simulation(i) != NULL; i++) {
        match m = open_match(ls_builtin_simulation(i), STREAM_FROM_SAVE);
        size_t size = 0;
        uint8_t *save = save_memory(&m, &size);
        if (fread(save, 1, size, file) != size) {
            golden_fail(m.simulation->name, "its save is cut off");
        }
        resume(m.simulation, save, size);
        free(save);
        ls_sim_instance_destroy(m.instance);
    }
}
