/* As many players as a match may have: all that holds for a few of them holds for the last slots as
 * well, and players who hold still cost the others next to nothing. */
#include "lockstep/tests/match/match_test.h"

#include "lockstep/common/base/byte_io.h"

#include <stdio.h>

enum {
    MOVING = 28, /* slots whose players press something; the others hold still */
    FAR = 100,   /* a slot that no word of 32 or 64 bits has */
    PAD_BYTES = 4,
};

#define DOWNLINK_BYTES_PER_S 10000.0

/* ---- a simulation for so many ---- */

typedef struct crowd_state {
    uint64_t sums[LS_PLAYERS_MAX];
} crowd_state;

static size_t state_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(crowd_state);
}

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {{"sums", "", LS_FIELD_U64, LS_PLAYERS_MAX, 1, 0, 0}};
    return ls_fields_copy(list, 1, out, capacity);
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    ((crowd_state *)state)->sums[0] = config->seed;
    return LS_OK;
}

static void add(const ls_step *step)
{
    crowd_state *state = step->state;
    for (uint32_t slot = 0; slot < step->inputs->slot_count; slot++) {
        const ls_slot_input *input = &step->inputs->slots[slot];
        uint64_t pad = input->size == PAD_BYTES ? ls_load_u32(input->bytes) : 0;
        state->sums[slot] = state->sums[slot] * 31 + pad + input->events;
    }
}

/* A bit in eight of the pad of one who moves flips in a tick. */
static uint32_t bot(const ls_sim_config *config, const void *state, uint32_t slot, ls_rng *rng,
                    uint8_t *bytes)
{
    (void)config;
    (void)state;
    bool is_pressed = slot < MOVING && ls_rng_below(rng, 8) == 0;
    ls_store_u32(bytes, is_pressed ? ls_rng_below(rng, 16) : 1);
    return PAD_BYTES;
}

static const ls_simulation *crowd(void)
{
    static const ls_pass passes[] = {{"add", add}};
    static const ls_simulation simulation = {.abi = LS_SIMULATION_ABI,
                                             .size = sizeof(ls_simulation),
                                             .version = 1,
                                             .name = "crowd",
                                             .summary = "adds up what everybody presses",
                                             .default_tick_rate_hz = 60,
                                             .default_players = LS_PLAYERS_MAX,
                                             .players_max = LS_PLAYERS_MAX,
                                             .input_bytes_max = PAD_BYTES,
                                             .passes = passes,
                                             .pass_count = 1,
                                             .state_bytes = state_bytes,
                                             .fields = fields,
                                             .init = init,
                                             .bot = bot};
    return &simulation;
}

static virtual_setup setup_of(uint32_t ticks)
{
    virtual_setup setup = virtual_setup_default(crowd(), LS_PLAYERS_MAX, ticks);
    setup.match.joiners_max = 4;
    return setup;
}

/* All come at once. */
static virtual_match *match_of(virtual_setup *setup, uint32_t clients, ls_tick tick)
{
    setup->clients = clients;
    virtual_match *run = checked_match_create(setup);
    virtual_match_run_to_tick(run, tick);
    return run;
}

static virtual_client *client_of_slot(const virtual_match *run, uint32_t slot)
{
    return check_of(run)->by_slot[slot]->core;
}

/* ---- tests ---- */

Test(many, all_slots_play_with_loss_and_a_late_player_knows_their_names)
{
    virtual_setup setup = setup_of(240);
    setup.match.start_players = LS_PLAYERS_MAX - 1;
    setup.link.loss_ppm = 20000;
    virtual_match *run = match_of(&setup, LS_PLAYERS_MAX - 1, 60);
    virtual_client_setup late = virtual_client_setup_default(run);
    snprintf(late.session.name, sizeof late.session.name, "Late");
    virtual_client *last = virtual_match_add_client(run, &late);
    play_and_check(run);
    uint32_t slot = report_of(last).slot;
    cr_expect_eq(slot, LS_PLAYERS_MAX - 1);
    cr_expect_gt(slot_of(run, slot).inputs_on_time, 0);
    for (uint32_t other = 0; other < slot; other++) {
        const char *name = slot_of(run, other).name;
        cr_assert_str_eq(ls_session_player_name(last->session, other), name, "slot %u", other);
        cr_assert_str_eq(ls_session_player_name(client_of_slot(run, 0)->session, other), name);
    }
    virtual_match_destroy(run);
}

Test(many, who_holds_still_costs_the_others_next_to_nothing)
{
    enum {
        SECONDS = 3
    };
    virtual_setup setup = setup_of(0);
    virtual_match *run = match_of(&setup, LS_PLAYERS_MAX, 120);
    ls_peer_id peer = slot_of(run, FAR).peer;
    ls_transport_traffic before = ls_transport_traffic_of(run->network->server, peer);
    virtual_match_run(run, SECONDS * SECOND);
    ls_transport_traffic after = ls_transport_traffic_of(run->network->server, peer);
    double bytes_per_s = (double)(after.bytes_sent - before.bytes_sent) / SECONDS;
    cr_expect_leq(bytes_per_s, DOWNLINK_BYTES_PER_S);
    cr_expect_gt(after.packets_sent - before.packets_sent, 50u * SECONDS);
    printf("%u players, %u of them still: %.0f B/s down\n", LS_PLAYERS_MAX, LS_PLAYERS_MAX - MOVING,
           bytes_per_s);
    close_run(run);
}

Test(many, a_desync_of_a_far_slot_is_named_to_all)
{
    virtual_setup setup = setup_of(150);
    setup.match.on_desync = LS_ON_DESYNC_REPORT;
    virtual_match *run = match_of(&setup, LS_PLAYERS_MAX, 20);
    virtual_client *bad = client_of_slot(run, FAR);
    flip_bit(bad, 60, 8 * FAR);
    virtual_match_run_to_end(run);
    check_sound(run);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_DESYNC, LS_PLAYERS_MAX), 1);
    const ls_match_event *event = &virtual_match_find(run, LS_MATCH_DESYNC)->event;
    cr_expect_eq(event->slot, FAR);
    cr_expect_eq(event->tick, 60);
    for (uint32_t i = 0; i < run->client_count; i++) {
        const virtual_client_event *told =
            virtual_client_find(run->clients[i], LS_SESSION_EVENT_DESYNC);
        cr_assert_not_null(told, "client %u", i);
        cr_expect_eq(told->event.desync.slot, FAR);
    }
    check_others_played(run, bad);
    virtual_match_destroy(run);
}

Test(many, a_far_slot_that_is_waited_for_is_named_to_all)
{
    virtual_setup setup = setup_of(200);
    setup.match.late_rule = LS_LATE_WAIT;
    virtual_match *run = match_of(&setup, LS_PLAYERS_MAX, 60);
    client_of_slot(run, FAR)->is_paused = true;
    virtual_match_run(run, 700 * MS);
    const virtual_client *other = client_of_slot(run, 0);
    const virtual_client_event *told = virtual_client_find(other, LS_SESSION_EVENT_WAITING);
    cr_assert_not_null(told);
    cr_expect(ls_slot_set_is_same(told->event.waiting.slots, ls_slot_set_of(FAR)));
    ls_text names = {{0}};
    ls_session_add_names(other->session, told->event.waiting.slots, &names);
    cr_expect_not_null(strstr(names.bytes, "slot 100"), "%s", names.bytes);
    client_of_slot(run, FAR)->is_paused = false;
    play_out(run);
}

Test(many, a_line_names_some_of_many_players_and_counts_the_others)
{
    virtual_setup setup = setup_of(60);
    virtual_match *run = match_of(&setup, LS_PLAYERS_MAX, 20);
    ls_text names = {{0}};
    ls_session_add_names(run->clients[0]->session, ls_slot_set_first(LS_PLAYERS_MAX), &names);
    cr_expect_not_null(strstr(names.bytes, "slot 11"), "%s", names.bytes);
    cr_expect_null(strstr(names.bytes, "slot 12"), "%s", names.bytes);
    cr_expect_not_null(strstr(names.bytes, " and 116 more"), "%s", names.bytes);
    play_out(run);
}
