#include "lockstep/tests/support/diagnosed_match.h"

#include "lockstep/common/system/machine_fingerprint.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    STEPS_AT_ONCE = 7,
    STACK_BYTES = 4096,
};

static void open_machine(diagnosed_machine *machine, const ls_simulation *simulation,
                         const ls_sim_config *config)
{
    ls_text why = {{0}};
    const ls_allocator *heap = ls_allocator_heap();
    *machine = (diagnosed_machine){.instance = NULL};
    cr_assert_eq(ls_sim_instance_create(simulation, config, heap, &machine->instance, &why), LS_OK,
                 "%s", why.bytes);
    const ls_replay_needs needs = {ls_sim_instance_state_bytes(machine->instance),
                                   config->tick_rate_hz, 1, false};
    ls_replay_window_config window = ls_replay_window_config_default(&needs);
    cr_assert_eq(ls_replay_window_create(&window, machine->instance, heap, &machine->window),
                 LS_OK);
    cr_assert_eq(ls_rerun_create(simulation, config, heap, &machine->rerun, &why), LS_OK, "%s",
                 why.bytes);
    ls_replay_window_start(machine->window, machine->instance,
                           ls_sim_instance_hash(machine->instance));
}

void diagnosed_match_open_builds(diagnosed_match *match, const ls_simulation *server,
                                 const ls_simulation *client, const ls_sim_config *config)
{
    *match = (diagnosed_match){.rng = ls_rng_make(config->seed, 7)};
    open_machine(&match->server, server, config);
    open_machine(&match->client, client, config);
}

void diagnosed_match_open(diagnosed_match *match, const ls_simulation *simulation,
                          const ls_sim_config *config)
{
    diagnosed_match_open_builds(match, simulation, simulation, config);
}

static void close_machine(diagnosed_machine *machine)
{
    ls_rerun_destroy(machine->rerun);
    ls_replay_window_destroy(machine->window);
    ls_sim_instance_destroy(machine->instance);
}

void diagnosed_match_close(diagnosed_match *match)
{
    close_machine(&match->client);
    close_machine(&match->server);
    ls_release(ls_allocator_heap(), match->snapshot);
    fault = (fault_knob){0};
}

/* A simulation that reads memory that was not set finds something there. */
__attribute__((noinline)) static void leave_bytes_on_the_stack(void)
{
    volatile uint8_t bytes[STACK_BYTES];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 7 + 1);
    }
}

static uint64_t step_machine(diagnosed_machine *machine, const ls_tick_inputs *inputs)
{
    fault = machine->knob;
    leave_bytes_on_the_stack();
    ls_sim_instance_step(machine->instance, inputs);
    machine->knob = fault;
    uint64_t state_hash = ls_sim_instance_hash(machine->instance);
    ls_replay_window_record(machine->window, inputs, machine->instance, state_hash);
    return state_hash;
}

static ls_tick_inputs make_inputs(diagnosed_match *match, ls_slot_input slots[LS_PLAYERS_MAX])
{
    ls_tick tick = ls_sim_instance_tick(match->server.instance);
    uint32_t players = ls_sim_instance_config(match->server.instance)->players;
    uint32_t bytes_max = ls_sim_instance_simulation(match->server.instance)->input_bytes_max;
    for (uint32_t slot = 0; slot < players; slot++) {
        uint32_t size = bytes_max < 2 ? bytes_max : 2;
        for (uint32_t i = 0; i < size; i++) {
            match->inputs[slot][i] = (uint8_t)ls_rng_next(&match->rng);
        }
        slots[slot] = (ls_slot_input){match->inputs[slot], size, tick == 0 ? LS_EVENT_JOINED : 0};
    }
    return (ls_tick_inputs){tick, players, slots};
}

void diagnosed_match_step(diagnosed_match *match)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs = make_inputs(match, slots);
    uint64_t server_hash = step_machine(&match->server, &inputs);
    uint64_t client_hash = step_machine(&match->client, &inputs);
    if (match->bad == 0 && server_hash != client_hash) {
        match->bad = inputs.tick + 1;
    }
}

void diagnosed_match_run(diagnosed_match *match, uint32_t ticks)
{
    for (uint32_t i = 0; i < ticks; i++) {
        diagnosed_match_step(match);
    }
}

void diagnosed_match_roll_back(diagnosed_match *match, uint32_t ticks)
{
    static uint8_t saved[1 << 16];
    ls_sim_instance *instance = match->client.instance;
    ls_tick tick = ls_sim_instance_tick(instance);
    cr_assert_leq(ls_sim_instance_save_bytes(instance), sizeof saved);
    cr_assert_eq(ls_sim_instance_save(instance, saved), LS_OK);
    fault = match->client.knob;
    for (uint32_t i = 0; i < ticks; i++) {
        ls_slot_input slots[LS_PLAYERS_MAX] = {{0}};
        ls_tick_inputs inputs = {tick + i, ls_sim_instance_config(instance)->players, slots};
        ls_sim_instance_step(instance, &inputs);
    }
    match->client.knob = fault;
    cr_assert_eq(ls_sim_instance_load(instance, saved, ls_sim_instance_save_bytes(instance), tick),
                 LS_OK);
}

static void rerun_machine(diagnosed_machine *machine, ls_tick bad)
{
    ls_replay_stretch stretch;
    fault = machine->knob;
    cr_assert_eq(ls_replay_window_stretch(machine->window, bad - 1, bad, &stretch), LS_OK);
    ls_rerun_start(machine->rerun, &stretch);
    while (!ls_rerun_advance(machine->rerun, STEPS_AT_ONCE)) {
    }
    machine->knob = fault;
}

void diagnosed_match_diagnose(diagnosed_match *match, ls_desync_verdict *out)
{
    cr_assert_neq(match->bad, 0, "the two never differed");
    rerun_machine(&match->server, match->bad);
    rerun_machine(&match->client, match->bad);
    const ls_desync_evidence server = {*ls_rerun_figures_of(match->server.rerun), NULL};
    const ls_desync_evidence client = {*ls_rerun_figures_of(match->client.rerun), NULL};
    ls_desync_classify(&server, &client, &(ls_desync_circumstances){0}, out);
}

static void describe_side(diagnosed_machine *machine, ls_tick bad, uint64_t *state_hashes,
                          ls_bundle_side *out)
{
    ls_build_fingerprint_here(&out->print);
    out->figures = *ls_rerun_figures_of(machine->rerun);
    out->passes = *ls_rerun_passes(machine->rerun);
    out->state = ls_replay_window_state(machine->window, bad);
    out->state_hashes = state_hashes;
    out->hashes_first = ls_replay_window_oldest(machine->window);
    for (ls_tick tick = out->hashes_first; tick <= ls_replay_window_newest(machine->window);
         tick++) {
        cr_assert_eq(ls_replay_window_hash(machine->window, tick, &state_hashes[out->hash_count++]),
                     LS_OK);
    }
}

/* The window gives one state at a time, and the bundle wants another. */
static const uint8_t *keep_snapshot(diagnosed_match *match, const uint8_t *snapshot)
{
    size_t bytes = ls_sim_instance_state_bytes(match->server.instance);
    ls_release(ls_allocator_heap(), match->snapshot);
    match->snapshot = ls_allocate(ls_allocator_heap(), bytes);
    cr_assert_not_null(match->snapshot);
    memcpy(match->snapshot, snapshot, bytes);
    return match->snapshot;
}

void diagnosed_match_bundle(diagnosed_match *match, diagnosed_memory *memory, ls_desync_bundle *out)
{
    ls_replay_stretch stretch;
    *out = (ls_desync_bundle){.tick = match->bad, .slot = 1, .player = "Ada"};
    diagnosed_match_diagnose(match, &out->verdict);
    cr_assert_eq(
        ls_replay_window_stretch(match->server.window, match->bad - 1, match->bad, &stretch),
        LS_OK);
    ls_desync_bundle_describe(out, match->server.instance, memory->fields);
    out->snapshot_tick = stretch.first;
    out->snapshot_hash = ls_replay_stretch_hash(&stretch, stretch.first);
    out->snapshot = keep_snapshot(match, stretch.snapshot);
    out->inputs = stretch.inputs;
    describe_side(&match->server, match->bad, memory->state_hashes[0], &out->server);
    describe_side(&match->client, match->bad, memory->state_hashes[1], &out->client);
    cr_assert_eq(ls_replay_window_hash(match->server.window, match->bad, &out->server_hash), LS_OK);
    cr_assert_eq(ls_replay_window_hash(match->client.window, match->bad, &out->client_hash), LS_OK);
}
