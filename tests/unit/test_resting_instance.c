/* An instance that gives the memory of its first state back, and makes it again. */
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/tests/support/counter_simulation.h"
#include "lockstep/tests/support/counting_allocator.h"
#include "lockstep/tests/support/kept.h"

#include <criterion/criterion.h>

TestSuite(resting_instance, .fini = destroy_kept);

static void step_many(ls_sim_instance *instance, uint32_t ticks)
{
    for (ls_tick tick = 0; tick < ticks; tick++) {
        static const uint8_t byte = 7;
        ls_slot_input slots[COUNTER_PLAYERS_MAX];
        uint32_t players = ls_sim_instance_config(instance)->players;
        for (uint32_t slot = 0; slot < players; slot++) {
            slots[slot] = (ls_slot_input){&byte, 1, tick == 0 ? LS_EVENT_JOINED : 0};
        }
        ls_sim_instance_step(instance, &(ls_tick_inputs){tick, players, slots});
    }
}

Test(resting_instance, resting_instance_holds_no_state_and_wakes_with_the_first_one)
{
    counting_allocator counting;
    counting_allocator_init(&counting);
    ls_sim_config config = ls_sim_config_default(counter_simulation());
    ls_sim_instance *instance = NULL;
    cr_assert_eq(
        ls_sim_instance_create(counter_simulation(), &config, &counting.allocator, &instance, NULL),
        LS_OK);
    uint64_t awake_bytes = counting.live_bytes;
    ls_sim_instance_rest(instance);
    cr_assert_leq(counting.live_bytes + ls_sim_instance_state_bytes(instance), awake_bytes);
    cr_assert_null(ls_sim_instance_chunk_hashes(instance));
    counting.allowed = 0;
    cr_assert_eq(ls_sim_instance_wake(instance), LS_NO_MEMORY);
    counting.allowed = 1; /* the state, and nothing to compute in */
    cr_assert_eq(ls_sim_instance_wake(instance), LS_NO_MEMORY);
    counting.allowed = UINT64_MAX;
    cr_assert_eq(ls_sim_instance_wake(instance), LS_OK);
    cr_assert_eq(ls_sim_instance_hash(instance), ls_sim_instance_digests(instance).initial);
    step_many(instance, 5);
    uint64_t hash_5 = ls_sim_instance_hash(instance);
    cr_assert_eq(ls_sim_instance_wake(instance), LS_OK, "it is awake");
    cr_assert_eq(ls_sim_instance_hash(instance), hash_5);
    ls_sim_instance_destroy(instance);
    cr_assert_eq(counting.live_blocks, 0);
    ls_sim_instance *never_used = keep_instance(counter_simulation(), NULL);
    step_many(never_used, 5);
    cr_assert_eq(ls_sim_instance_hash(never_used), hash_5);
}

/* It counts its calls outside the state. */
static ls_status init_differently(const ls_sim_config *config, void *state, ls_text *why)
{
    static uint32_t calls;
    ls_status status = counter_simulation()->init(config, state, why);
    ((counter_state *)state)->steps = ++calls;
    return status;
}

Test(resting_instance, resting_instance_does_not_wake_with_another_state)
{
    ls_simulation simulation = *counter_simulation();
    simulation.init = init_differently;
    ls_sim_instance *instance = keep_instance(&simulation, NULL);
    ls_sim_instance_rest(instance);
    cr_assert_eq(ls_sim_instance_wake(instance), LS_PLUGIN);
    cr_assert_eq(ls_sim_instance_wake(instance), LS_PLUGIN);
    destroy_kept();
}

static uint64_t hash_cells(const ls_sim_config *config, const void *state)
{
    (void)config;
    return ((const counter_state *)state)->steps + 17;
}

Test(resting_instance, engine_never_rests)
{
    ls_simulation simulation = *counter_simulation();
    simulation.fields = NULL;
    simulation.hash = hash_cells;
    ls_sim_instance *instance = keep_instance(&simulation, NULL);
    const void *state = ls_sim_instance_view(instance);
    ls_sim_instance_rest(instance);
    cr_assert_eq(ls_sim_instance_view(instance), state);
    cr_assert_eq(ls_sim_instance_hash(instance), 17);
}

Test(resting_instance, instance_whose_writes_are_trusted_does_not_rest)
{
    ls_sim_instance *instance = keep_instance(counter_simulation(), NULL);
    cr_assert_eq(ls_sim_instance_trust_writes(instance), LS_OK);
    const void *state = ls_sim_instance_view(instance);
    ls_sim_instance_rest(instance);
    bool is_trusted = ls_sim_instance_whole_ticks(instance) > 1;
    cr_assert_eq(ls_sim_instance_view(instance) == state, is_trusted);
    cr_assert_eq(ls_sim_instance_wake(instance), LS_OK);
}
