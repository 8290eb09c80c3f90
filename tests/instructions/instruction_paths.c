/* The hot paths, each alone: the work of one is done in ls_counted_path, of which Callgrind counts
 * the instructions (counts.py); of a match those of server and clients alone, without the driver
 * and the network. Nothing in it depends on the clock or on chance. */
#include "lockstep/common/base/clock.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/rope/rope.h"
#include "lockstep/common/simulations/tumble/tumble_state.h"
#include "lockstep/common/simulations/units/units_state.h"
#include "lockstep/tests/lab/bench/memory_match.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/callgrind.h>

enum {
    STATE_BYTES = 256,
    MATCH_FIRST_TICKS = 120, /* the handshake, and the first adjustments */
    MATCH_TICKS = 300,
    SERVER_FIRST_TICKS = 40,
    SERVER_TICKS = 20,
    SIMULATION_FIRST_TICKS = 30,
    SIMULATION_TICKS = 30,
    RTT_MS = 60,

    /* Clients that say they make inputs when they are due have to do so: within half a millisecond,
     * or they spend instructions on telling the server how late they were. */
    STEPS_PER_TICK = 32,
};

typedef struct counted_path {
    const char *name;

    /* A match in memory, of pads or of a simulation, server and clients: */
    uint32_t players;
    bool finds_no_causes;
    uint32_t predict_ticks;
    uint32_t loss_ppm;
    bool is_server; /* the server alone; what one client costs it is the same with 2 and with 128 */

    /* or a simulation alone: */
    const ls_simulation *(*simulation)(void);
    const char *params;

    ls_memory_match *match;
    ls_sim_instance *instance;
} counted_path;

static counted_path paths[] = {
    {.name = "match of 2", .players = 2},
    {.name = "match of 4", .players = 4},
    {.name = "match of 16", .players = 16},
    {.name = "match of 4, 5 % lost", .players = 4, .loss_ppm = 50000},
    {.name = "match of 4, predicted", .players = 4, .predict_ticks = 8},
    {.name = "match of 2, arena", .players = 2, .simulation = ls_arena_simulation},
    {.name = "match of 2, arena, no causes",
     .players = 2,
     .simulation = ls_arena_simulation,
     .finds_no_causes = true},
    {.name = "match of 2, units", .players = 2, .simulation = ls_units_simulation},
    {.name = "match of 2, units, no causes",
     .players = 2,
     .simulation = ls_units_simulation,
     .finds_no_causes = true},
    {.name = "match of 2, tumble", .players = 2, .simulation = ls_tumble_simulation},
    {.name = "match of 2, tumble, no causes",
     .players = 2,
     .simulation = ls_tumble_simulation,
     .finds_no_causes = true},
    {.name = "server of 2", .players = 2, .is_server = true},
    {.name = "server of 128", .players = 128, .is_server = true},
    {.name = "arena", .simulation = ls_arena_simulation, .params = "bodies=200"},
    {.name = "units", .simulation = ls_units_simulation, .params = "units=600"},
    {.name = "tumble", .simulation = ls_tumble_simulation, .params = "bodies=128"},
    {.name = "rope", .simulation = ls_rope_simulation, .params = "particles=80"},
};

static _Noreturn void fail(const char *what, const ls_text *why)
{
    fprintf(stderr, "instruction_paths: %s: %s\n", what, why->bytes);
    exit(1);
}

static void step(counted_path *path, uint32_t ticks)
{
    ls_slot_input nothing[LS_PLAYERS_MAX] = {{0}};
    const ls_sim_config *config = ls_sim_instance_config(path->instance);
    for (uint32_t i = 0; i < ticks; i++) {
        const ls_tick_inputs inputs = {.tick = ls_sim_instance_tick(path->instance),
                                       .slots = nothing,
                                       .slot_count = config->players};
        ls_sim_instance_step(path->instance, &inputs);
    }
}

static bool is_counting;
static virtual_work counted_work;

static void count_cores(void *user, virtual_work work)
{
    (void)user;
    (void)work;
    if (is_counting) {
        CALLGRIND_TOGGLE_COLLECT;
    }
}

static void count_server(void *user, virtual_work work)
{
    (void)user;
    bool is_change = (work == VIRTUAL_WORK_MATCH) != (counted_work == VIRTUAL_WORK_MATCH);
    counted_work = work;
    if (is_counting && is_change) {
        CALLGRIND_TOGGLE_COLLECT;
    }
}

static void set_up_match(counted_path *path)
{
    const bench_memory_match_config config = {
        .players = path->players,
        .state_bytes = STATE_BYTES,
        .simulation = path->simulation ? path->simulation() : NULL,
        .finds_no_causes = path->finds_no_causes,
        .delay_ns = RTT_MS * LS_NS_PER_MS / 2,
        .loss_ppm = path->loss_ppm,
        .predict_ticks = path->predict_ticks,
        .steps_per_tick = STEPS_PER_TICK,
        .on_work = path->is_server ? count_server : count_cores,
        .seed = 1};
    path->match = bench_memory_match_create(&config);
    bench_memory_match_run(path->match, path->is_server ? SERVER_FIRST_TICKS : MATCH_FIRST_TICKS);
}

static void set_up_simulation(counted_path *path)
{
    const ls_simulation *simulation = path->simulation();
    ls_sim_config config = ls_sim_config_default(simulation);
    ls_text why = {{0}};
    if (ls_sim_config_set(simulation, &config, path->params, &why) != LS_OK ||
        ls_sim_instance_create(simulation, &config, ls_allocator_heap(), &path->instance, &why) !=
            LS_OK) {
        fail(path->name, &why);
    }
    step(path, SIMULATION_FIRST_TICKS);
}

/* Not static, so that it keeps its name. */
void ls_counted_path(counted_path *path);

__attribute__((noinline, noclone, used)) void ls_counted_path(counted_path *path)
{
    if (path->match) {
        CALLGRIND_TOGGLE_COLLECT; /* until a core is called */
        is_counting = true;
        bench_memory_match_run(path->match, path->is_server ? SERVER_TICKS : MATCH_TICKS);
        is_counting = false;
        CALLGRIND_TOGGLE_COLLECT;
    } else {
        step(path, SIMULATION_TICKS);
    }
}

static void tear_down(counted_path *path)
{
    ls_text why = {{0}};
    if (path->match && bench_memory_match_check(path->match, &why) != LS_OK) {
        fail(path->name, &why);
    }
    bench_memory_match_destroy(path->match);
    ls_sim_instance_destroy(path->instance);
}

static int count(counted_path *path)
{
    if (path->players > 0) {
        set_up_match(path);
    } else {
        set_up_simulation(path);
    }
    CALLGRIND_START_INSTRUMENTATION; /* what goes before is ten times as fast without */
    ls_counted_path(path);
    CALLGRIND_STOP_INSTRUMENTATION;
    tear_down(path);
    return 0;
}

/* instruction_paths: what the names are. instruction_paths NAME: goes that way once. */
int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        if (argc == 1) {
            printf("%s\n", paths[i].name);
        } else if (strcmp(argv[1], paths[i].name) == 0) {
            return count(&paths[i]);
        }
    }
    return argc == 1 ? 0 : 2;
}
