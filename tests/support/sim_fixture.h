/* Sim fixture: any simulation in a test: bots or given inputs play it, and it is drawn. Stops the
 * test when something cannot be made. Called by the tests of simulations. */
#ifndef LOCKSTEP_TESTS_SUPPORT_SIM_FIXTURE_H
#define LOCKSTEP_TESTS_SUPPORT_SIM_FIXTURE_H

#include "lockstep/tests/support/kept.h"

#include <string.h>

#define SIM_SHAPES 8192u
#define SIM_BOT_STREAM 1u

typedef struct sim_fixture {
    const ls_simulation *simulation;
    ls_sim_config config;
    ls_sim_instance *instance;
    ls_rng bots[LS_PLAYERS_MAX];
    uint8_t bytes[LS_PLAYERS_MAX][LS_INPUT_BYTES_MAX];
    ls_slot_input slots[LS_PLAYERS_MAX]; /* of the next step */
} sim_fixture;

static inline void sim_set(ls_sim_config *config, const ls_simulation *simulation,
                           const char *assignment)
{
    ls_text why = {{0}};
    cr_assert_eq(ls_sim_config_set(simulation, config, assignment, &why), LS_OK, "%s", why.bytes);
}

static inline void release_sim(void *sim)
{
    ls_release(ls_allocator_heap(), sim);
}

/* It goes with the test. */
static inline sim_fixture *sim_open(const ls_simulation *simulation, ls_sim_config config)
{
    sim_fixture *sim = ls_allocate(ls_allocator_heap(), sizeof *sim);
    cr_assert_not_null(sim);
    memset(keep_until_end(sim, release_sim), 0, sizeof *sim);
    sim->simulation = simulation;
    sim->config = config;
    sim->instance = keep_instance(simulation, &config);
    for (uint32_t slot = 0; slot < LS_PLAYERS_MAX; slot++) {
        sim->bots[slot] = ls_rng_make(slot, SIM_BOT_STREAM);
        sim->slots[slot].bytes = sim->bytes[slot];
    }
    return sim;
}

static inline void *sim_state(const sim_fixture *sim)
{
    return ls_sim_instance_state(sim->instance);
}

/* Its content is none of a step's business. */
static inline void sim_fill_scratch(const sim_fixture *sim, uint8_t byte)
{
    size_t bytes = 0;
    uint8_t *scratch = ls_sim_instance_scratch(sim->instance, &bytes);
    for (size_t i = 0; i < bytes; i++) {
        scratch[i] = byte;
    }
}

static inline void sim_set_input(sim_fixture *sim, uint32_t slot, const uint8_t *bytes,
                                 uint32_t size)
{
    memcpy(sim->bytes[slot], bytes, size);
    sim->slots[slot].size = size;
}

/* Ticks on the slots' inputs as they stand; their events come once. */
static inline void sim_step(sim_fixture *sim, uint32_t ticks)
{
    for (uint32_t i = 0; i < ticks; i++) {
        ls_tick_inputs inputs = {
            .tick = ls_sim_instance_tick(sim->instance),
            .slot_count = sim->config.players,
            .slots = sim->slots,
        };
        ls_sim_instance_step(sim->instance, &inputs);
        for (uint32_t slot = 0; slot < LS_PLAYERS_MAX; slot++) {
            sim->slots[slot].events = 0;
        }
    }
}

static inline void sim_join(sim_fixture *sim)
{
    for (uint32_t slot = 0; slot < sim->config.players; slot++) {
        sim->slots[slot].events = LS_EVENT_JOINED;
    }
}

/* Everybody joins in the first tick. */
static inline void sim_run_bots(sim_fixture *sim, uint32_t ticks)
{
    for (uint32_t i = 0; i < ticks; i++) {
        if (ls_sim_instance_tick(sim->instance) == 0) {
            sim_join(sim);
        }
        for (uint32_t slot = 0; slot < sim->config.players; slot++) {
            sim->slots[slot].size = sim->simulation->bot(&sim->config, sim_state(sim), slot,
                                                         &sim->bots[slot], sim->bytes[slot]);
        }
        sim_step(sim, 1);
    }
}

/* The picture from `previous` to now; good until the next. */
static inline ls_draw_list sim_draw(const sim_fixture *sim, const void *previous, ls_fixed alpha)
{
    static ls_draw_shape shapes[SIM_SHAPES];
    ls_draw_list list = {.shapes = shapes, .capacity = SIM_SHAPES};
    sim->simulation->draw(&sim->config, previous, sim_state(sim), alpha, &list);
    return list;
}

static inline const ls_draw_shape *sim_shape(const ls_draw_list *list, uint32_t id)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->shapes[i].id == id) {
            return &list->shapes[i];
        }
    }
    cr_assert_fail("no shape has this id");
    return NULL;
}

/* The status line of this kind for the person in `slot`, of SEAT that of the player `seat`; NULL:
 * there is none. Good until the next. */
static inline const char *sim_status(const ls_sim_instance *instance, uint32_t slot,
                                     ls_status_kind kind, uint32_t seat)
{
    static ls_status_line lines[LS_PLAYERS_MAX + 8];
    ls_status_list list = {.lines = lines, .capacity = sizeof lines / sizeof lines[0]};
    ls_sim_instance_status(instance, slot, &list);
    for (uint32_t i = 0; i < list.count; i++) {
        bool is_seat = kind != LS_STATUS_SEAT || lines[i].owner == seat + 1;
        if (lines[i].kind == (uint32_t)kind && is_seat) {
            return lines[i].text.bytes;
        }
    }
    return NULL;
}

/* A person is told the keys, and a spectator, to whom the seats are named alike, is not. */
static inline void sim_expect_keys(const sim_fixture *sim, const char *keys)
{
    uint32_t nobody = sim->config.players;
    const char *told = sim_status(sim->instance, 0, LS_STATUS_KEYS, 0);
    cr_expect(told && strstr(told, keys), "%s", told ? told : "nothing");
    cr_expect_null(sim_status(sim->instance, nobody, LS_STATUS_KEYS, 0));
}

#endif
