#include "lockstep/common/simulations/rope/rope.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/protocol/wire/tick_packet.h"
#include "lockstep/server/investigation/desync_finding.h"
#include "lockstep/tests/lab/faultsim/test_simulation.h"
#include "lockstep/tests/match/match_test.h"

/* ---- untouched ---- */

/* A diagnosis leaves the live simulations alone: with a plug-in that has state outside its state
 * block, every machine makes the same calls of it, in the same order, whether causes are looked for
 * or not. Ticks are run again by the host alone, which here runs nothing. */

enum {
    TICKS = 300,
    DIFFERS_AT = 100,
};

static ls_simulation counting_simulation;
static uint64_t inits; /* statics: part of no state */
static uint64_t steps;
static uint64_t calls_digest; /* of all calls, in their order */

static void note_call(uint64_t what)
{
    calls_digest = (calls_digest ^ what) * UINT64_C(0x9e3779b97f4a7c15);
}

static ls_status counted_init(const ls_sim_config *config, void *state, ls_text *why)
{
    inits++;
    note_call(1);
    return test_simulation()->init(config, state, why);
}

static void count_step(const ls_step *step)
{
    steps++;
    note_call(2 + step->inputs->tick);
}

static const ls_simulation *make_counting_simulation(void)
{
    static ls_pass passes[2] = {{"note", count_step}};
    counting_simulation = *test_simulation();
    cr_assert_eq(counting_simulation.pass_count, 1);
    passes[1] = counting_simulation.passes[0];
    counting_simulation.passes = passes;
    counting_simulation.pass_count = 2;
    counting_simulation.init = counted_init;
    inits = 0;
    steps = 0;
    calls_digest = 0;
    return &counting_simulation;
}

/* A host that takes every request and never comes to an end. */
static ls_status start_nothing(void *context, const ls_rerun_request *request, uint32_t *ticket)
{
    uint32_t *started = context;
    cr_assert_not_null(request->stretch->snapshot);
    *ticket = ++*started;
    return LS_OK;
}

static const ls_rerun_outcome *poll_nothing(void *context, uint32_t ticket, uint64_t now_ns)
{
    (void)context;
    (void)ticket;
    (void)now_ns;
    return NULL;
}

static void release_nothing(void *context, uint32_t ticket)
{
    (void)context;
    (void)ticket;
}

typedef struct played {
    uint64_t inits;
    uint64_t steps;
    uint64_t calls_digest;
    uint64_t state_hashes[TICKS + 1];
    uint32_t desyncs;
    uint32_t causes;
    uint32_t reruns;
} played;

static played play(uint32_t predict_ticks, bool finds_causes)
{
    uint32_t started = 0;
    const ls_rerun_host idle = {&started, start_nothing, poll_nothing, release_nothing};
    virtual_setup setup = virtual_setup_default(make_counting_simulation(), 0, TICKS);
    setup.match.sim.players = 3;
    setup.match.finds_causes = finds_causes;
    setup.match.rerun_host = &idle;
    setup.match.investigation_timeout_ms = 1000;
    setup.runs_nothing_again = true;
    setup.predict_ticks = predict_ticks;
    virtual_match *run = checked_match_create(&setup);
    for (uint32_t i = 0; i < 3; i++) {
        virtual_client_setup client = virtual_client_setup_default(run);
        client.session.finds_causes = finds_causes;
        client.session.rerun_host = &idle;
        virtual_match_add_client(run, &client);
    }
    run->clients[1]->flip.tick = DIFFERS_AT;
    run->clients[1]->flip.byte = offsetof(test_simulation_state, slots[9].sum);
    played all = {0};
    while (!virtual_match_is_over(run)) {
        virtual_match_run(run, 10 * MS);
        ls_tick tick = ls_match_tick(run->match);
        ls_match_hash_of_tick(run->match, tick, &all.state_hashes[tick]);
    }
    check_sound(run);
    all.inits = inits;
    all.steps = steps;
    all.calls_digest = calls_digest;
    all.desyncs = virtual_match_count(run, LS_MATCH_DESYNC, LS_PLAYERS_MAX);
    all.causes = virtual_match_count(run, LS_MATCH_DESYNC_CAUSE, LS_PLAYERS_MAX);
    all.reruns = started;
    virtual_match_destroy(run);
    return all;
}

static void expect_untouched(uint32_t predict_ticks)
{
    played with = play(predict_ticks, true);
    played without = play(predict_ticks, false);
    cr_expect_eq(with.causes, 1);
    cr_expect_eq(without.causes, 0);
    cr_expect_eq(with.reruns, 2, "the host was asked on both sides");
    cr_expect_eq(with.desyncs, 1);
    cr_expect_eq(without.desyncs, 1);
    cr_expect_eq(with.inits, without.inits, "%lu and %lu calls of init", (unsigned long)with.inits,
                 (unsigned long)without.inits);
    cr_expect_eq(with.inits, 4, "one for each machine");
    cr_expect_eq(with.steps, without.steps);
    cr_expect_geq(with.steps, 4 * TICKS);
    cr_expect_eq(with.calls_digest, without.calls_digest);
    cr_expect_arr_eq(with.state_hashes, without.state_hashes, sizeof with.state_hashes);
}

Test(untouched, causes_on_and_off_give_the_same_match)
{
    expect_untouched(0);
}

Test(untouched, causes_on_and_off_give_the_same_match_with_prediction)
{
    expect_untouched(12);
}

/* ---- recent_states ---- */

/* The states that a match keeps reach back far enough for its desyncs to be looked into: in fast
 * matches, and in those with large states. */

/* ---- a large state of which little changes ---- */

#define LARGE_STATE_BYTES ((size_t)17 << 20)
#define LARGE_WORDS (LARGE_STATE_BYTES / sizeof(uint64_t))

enum {
    CHANGES = 500, /* words a tick, all over the state */
};

static size_t large_state_bytes(const ls_sim_config *config)
{
    (void)config;
    return LARGE_STATE_BYTES;
}

static uint32_t large_fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    if (capacity > 0) {
        out[0] = (ls_field){"words", "", LS_FIELD_U64, LARGE_WORDS, 1, 0, 0};
    }
    return 1;
}

static ls_status large_init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    memset(state, (int)config->seed, LARGE_STATE_BYTES);
    return LS_OK;
}

static void change_words(const ls_step *step)
{
    uint64_t *words = step->state;
    for (uint32_t i = 0; i < CHANGES; i++) {
        words[(step->inputs->tick + i * 5003) % LARGE_WORDS] += i;
    }
}

static const ls_simulation *large_simulation(void)
{
    static const ls_pass passes[] = {{"change", change_words}};
    static const ls_simulation simulation = {
        .abi = LS_SIMULATION_ABI,
        .size = sizeof(ls_simulation),
        .version = 1,
        .name = "large",
        .summary = "changes some words of a large state",
        .default_tick_rate_hz = 60,
        .default_players = 2,
        .players_max = 2,
        .input_bytes_max = 8,
        .passes = passes,
        .pass_count = 1,
        .state_bytes = large_state_bytes,
        .fields = large_fields,
        .init = large_init,
    };
    return &simulation;
}

/* ---- a state of which all changes ---- */

#define DENSE_STATE_BYTES ((size_t)2 << 20)
#define DENSE_WORDS (DENSE_STATE_BYTES / sizeof(uint64_t))

static size_t dense_state_bytes(const ls_sim_config *config)
{
    (void)config;
    return DENSE_STATE_BYTES;
}

static uint32_t dense_fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    if (capacity > 0) {
        out[0] = (ls_field){"words", "", LS_FIELD_U64, DENSE_WORDS, 1, 0, 0};
    }
    return 1;
}

static ls_status dense_init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)config;
    (void)why;
    memset(state, 0, DENSE_STATE_BYTES);
    return LS_OK;
}

static void change_all(const ls_step *step)
{
    uint64_t *words = step->state;
    for (size_t i = 0; i < DENSE_WORDS; i++) {
        words[i] += step->inputs->tick + i;
    }
}

static const ls_simulation *dense_simulation(void)
{
    static const ls_pass passes[] = {{"change", change_all}};
    static ls_simulation simulation;
    simulation = *large_simulation();
    simulation.name = "dense";
    simulation.summary = "changes every word of its state";
    simulation.passes = passes;
    simulation.state_bytes = dense_state_bytes;
    simulation.fields = dense_fields;
    simulation.init = dense_init;
    return &simulation;
}

/* ---- tests ---- */

static virtual_setup setup_at_100_ms(const ls_simulation *simulation, uint32_t ticks)
{
    virtual_setup setup = virtual_setup_default(simulation, 2, ticks);
    setup.link.delay_ns = 50 * MS;
    setup.link.loss_ppm = 50000;
    return setup;
}

/* Plays until it is known why this client differs, or to the end: what comes later shows nothing of
 * that, and each tick of a large state costs. */
static const ls_desync_finding *find_out(virtual_match *run, const virtual_client *client)
{
    const ls_desync_finding *finding = NULL;
    while (!virtual_match_is_over(run) &&
           (!finding || finding->verdict.kind == LS_DESYNC_CLASS_UNKNOWN)) {
        virtual_match_run(run, 50 * MS);
        finding = ls_match_desync_of(run->match, ls_session_report_of(client->session).slot);
    }
    cr_assert_not_null(finding, "nothing was found out");
    return finding;
}

/* A bit of the second client's state is flipped. */
static virtual_match *open_flipped(const virtual_setup *setup, ls_tick tick, size_t byte)
{
    virtual_match *run = checked_match_create(setup);
    flip_bit(run->clients[1], tick, byte);
    return run;
}

Test(recent_states, a_match_at_1000_hz_tells_the_field_that_differs)
{
    virtual_setup setup = setup_at_100_ms(ls_rope_simulation(), 5500);
    setup.match.sim.tick_rate_hz = 1000;
    virtual_match *run = open_flipped(&setup, 2500, 100);
    const ls_desync_finding *finding = find_out(run, run->clients[1]);
    cr_assert_eq(finding->tick, 2500);
    cr_assert_geq(finding->place_count, 1);
    cr_assert_eq(finding->elements, 1);
    cr_assert_eq(finding->verdict.kind, LS_DESYNC_CLASS_ONE_OFF, "%s", finding->verdict.why.bytes);
    cr_assert_leq(finding->took_ns, 2 * SECOND, "%lu ms", (unsigned long)(finding->took_ns / MS));
    virtual_match_destroy(run);
}

Test(recent_states, a_match_of_large_states_tells_the_field_that_differs)
{
    virtual_setup setup = setup_at_100_ms(large_simulation(), 240);
    size_t word = 3 * LARGE_WORDS / 4;
    virtual_match *run = open_flipped(&setup, 130, word * sizeof(uint64_t));
    const ls_desync_finding *finding = find_out(run, run->clients[1]);
    cr_assert_eq(finding->tick, 130);
    cr_assert_eq(finding->elements, 1);
    cr_assert_str_eq(finding->places[0].name, "words[1671168]");
    cr_assert_eq(finding->verdict.kind, LS_DESYNC_CLASS_ONE_OFF, "%s", finding->verdict.why.bytes);
    virtual_match_destroy(run);
}

static void check_dense(uint32_t predict_ticks)
{
    virtual_setup setup = setup_at_100_ms(dense_simulation(), 240);
    setup.predict_ticks = predict_ticks;
    virtual_match *run = open_flipped(&setup, 130, 4321 * sizeof(uint64_t));
    const ls_desync_finding *finding = find_out(run, run->clients[1]);
    cr_assert_eq(finding->tick, 130);
    cr_assert_eq(finding->elements, 1);
    cr_assert_str_eq(finding->places[0].name, "words[4321]");
    cr_assert_gt(finding->values_tick, 130, "state 130 is kept nowhere");
    cr_assert_eq(finding->verdict.kind, LS_DESYNC_CLASS_ONE_OFF, "%s", finding->verdict.why.bytes);
    cr_assert_leq(finding->took_ns, 2 * SECOND, "%lu ms", (unsigned long)(finding->took_ns / MS));
    virtual_match_destroy(run);
}

Test(recent_states, a_match_in_which_all_changes_tells_the_field_by_a_state_to_come)
{
    check_dense(0);
    check_dense(8);
}

enum {
    OTHER_TICK = 111,
};

static void change_otherwise(const ls_step *step)
{
    uint64_t *words = step->state;
    change_all(step);
    words[99] += step->inputs->tick == OTHER_TICK;
}

/* Both sides get their own state again, and compare those. */
Test(recent_states, a_match_in_which_all_changes_tells_what_another_build_makes_of_the_bad_tick)
{
    static const ls_pass passes[] = {{"change", change_otherwise}};
    virtual_setup setup = setup_at_100_ms(dense_simulation(), 240);
    setup.clients = 1;
    virtual_match *run = checked_match_create(&setup);
    ls_simulation other = *dense_simulation();
    other.passes = passes;
    virtual_client_setup client = virtual_client_setup_default(run);
    client.simulation = &other;
    const virtual_client *bad = virtual_match_add_client(run, &client);
    const ls_desync_finding *finding = find_out(run, bad);
    cr_assert_eq(finding->first_tick, OTHER_TICK + 1);
    cr_assert_eq(finding->values_tick, OTHER_TICK + 1);
    cr_assert_eq(finding->elements, 1);
    cr_assert_str_eq(finding->places[0].name, "words[99]");
    cr_assert_str_eq(finding->pass, "change");
    cr_assert_eq(finding->verdict.kind, LS_DESYNC_CLASS_BUILD, "%s", finding->verdict.why.bytes);
    virtual_match_destroy(run);
}

Test(recent_states, a_fast_match_is_healed)
{
    virtual_setup setup = setup_at_100_ms(ls_rope_simulation(), 5500);
    setup.match.sim.tick_rate_hz = 1000;
    setup.match.on_desync = LS_ON_DESYNC_HEAL;
    const virtual_client *bad = play_flipped(&setup, 2500, 100);
    cr_assert_eq(ls_session_report_of(bad->session).healed, 1);
    check_played_to_the_end(bad->run, bad);
    virtual_match_destroy(bad->run);
}

Test(recent_states, a_match_of_large_states_is_healed)
{
    virtual_setup setup = setup_at_100_ms(large_simulation(), 240);
    setup.match.on_desync = LS_ON_DESYNC_HEAL;
    const virtual_client *bad = play_flipped(&setup, 130, LARGE_STATE_BYTES / 2);
    cr_assert_eq(ls_session_report_of(bad->session).healed, 1);
    check_played_to_the_end(bad->run, bad);
    virtual_match_destroy(bad->run);
}

/* ---- taps ---- */

/* A tap is one tap, whenever its input comes, and if it does not: a game says which bits of an
 * input are edges and which are buttons. */

enum {
    TAPS_TICKS = 600,
    TAPS = 5,
    TAP_FIRST = 60,
    TAP_APART = 50,
    TAP_TICKS = 2, /* that the button is held */
    INPUT_BYTES = 2,
    ORDER_BYTES = 3,
};

/* ---- a game that counts taps ---- */

typedef struct tapped {
    uint32_t moves;   /* ticks with the edge */
    uint32_t presses; /* the button went down */
    uint8_t was_down;
    uint8_t padding[3];
} tapped;

static size_t state_bytes(const ls_sim_config *config)
{
    return config->players * sizeof(tapped);
}

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    uint32_t players = config->players;
    const ls_field list[] = {
        LS_FIELD_EACH("slots", 0, players, tapped, moves, LS_FIELD_U32, ""),
        LS_FIELD_EACH("slots", 0, players, tapped, presses, LS_FIELD_U32, ""),
        LS_FIELD_EACH("slots", 0, players, tapped, was_down, LS_FIELD_U8, ""),
        ls_field_long(LS_FIELD_EACH("slots", 0, players, tapped, padding, LS_FIELD_PADDING, ""), 3),
    };
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)config;
    (void)state;
    (void)why;
    return LS_OK;
}

static void count(const ls_step *step)
{
    tapped *slots = step->state;
    for (uint32_t i = 0; i < step->config->players; i++) {
        const ls_slot_input *input = &step->inputs->slots[i];
        uint8_t is_down = input->size > 1 ? input->bytes[1] & 1u : 0;
        slots[i].moves += input->size > 0 ? input->bytes[0] & 1u : 0;
        slots[i].presses += is_down > slots[i].was_down;
        slots[i].was_down = is_down;
    }
}

static void input_bits(const ls_sim_config *config, const void *state, const ls_input_bits *bits)
{
    (void)config;
    (void)state;
    bits->edges[0] = 1;
    bits->buttons[1] = 1;
}

/* Orders: an input is one, or nothing; each has a number, and their order counts. */
static void obey(const ls_step *step)
{
    tapped *slots = step->state;
    for (uint32_t i = 0; i < step->config->players; i++) {
        const ls_slot_input *input = &step->inputs->slots[i];
        if (input->size == ORDER_BYTES) {
            slots[i].moves++;
            slots[i].presses = slots[i].presses * 10 + input->bytes[1];
        }
    }
}

static void order_bits(const ls_sim_config *config, const void *state, const ls_input_bits *bits)
{
    (void)config;
    (void)state;
    memset(bits->edges, 0xFF, ORDER_BYTES);
}

static bool has_edges;

static void edge_bits(const ls_sim_config *config, const void *state, const ls_input_bits *bits)
{
    (void)config;
    (void)state;
    bits->edges[0] = has_edges;
}

static const ls_pass count_passes[] = {{"count", count}};
static const ls_pass obey_passes[] = {{"obey", obey}};

static ls_simulation game_of(const ls_pass *passes, uint32_t input_bytes_max)
{
    return (ls_simulation){.abi = LS_SIMULATION_ABI,
                           .size = sizeof(ls_simulation),
                           .version = 1,
                           .name = "taps",
                           .summary = "counts taps",
                           .default_tick_rate_hz = 60,
                           .default_players = 2,
                           .players_max = 2,
                           .input_bytes_max = input_bytes_max,
                           .passes = passes,
                           .pass_count = 1,
                           .state_bytes = state_bytes,
                           .fields = fields,
                           .init = init};
}

/* ---- a player who taps ---- */

typedef struct tapper {
    uint32_t inputs;
    bool is_tapping;
    bool gives_orders;
    bool is_busy; /* it presses half of the time */
} tapper;

static uint32_t make_input(void *user, const ls_sim_instance *instance, uint32_t slot,
                           uint8_t *bytes)
{
    tapper *player = user;
    (void)instance;
    (void)slot;
    uint32_t input = player->inputs++;
    if (player->is_busy) {
        bytes[0] = (uint8_t)(input / 16 << 1 | (input % 4 < 2));
        return 1;
    }
    uint32_t since = (input - TAP_FIRST) % TAP_APART;
    bool is_within =
        player->is_tapping && input >= TAP_FIRST && input < TAP_FIRST + TAPS * TAP_APART;
    if (player->gives_orders) {
        const uint8_t order[ORDER_BYTES] = {0, (uint8_t)(1 + (input - TAP_FIRST) / TAP_APART), 0};
        memcpy(bytes, order, ORDER_BYTES);
        return is_within && since == 0 ? ORDER_BYTES : 0;
    }
    bytes[0] = (uint8_t)(0x80u | (is_within && since == 0));
    bytes[1] = is_within && since < TAP_TICKS;
    return INPUT_BYTES;
}

/* The player's inputs get lost for a while, again and again, and come with the next that do not. */
typedef struct gaps {
    uint64_t apart_ns;
    uint64_t gap_ns;
    uint64_t delay_ns; /* of each way */
} gaps;

/* Packets of one match whose inputs are coded against nothing. */
static uint32_t packets_without_base;

static void count_packets(void *user, const ls_transport_event *event)
{
    const virtual_match *run = user;
    ls_tick now = ls_match_tick(run->match);
    ls_inputs_header header = {0};
    ls_bit_stream stream = ls_bit_reader(event->bytes, event->size);
    if (event->kind == LS_TRANSPORT_RECEIVED && event->channel == LS_CHANNEL_UNRELIABLE) {
        ls_inputs_header_bits(&stream, &header, now);
        packets_without_base += !header.has_base;
    }
}

static virtual_match *tapped_match(const ls_simulation *simulation, gaps every)
{
    const ls_link_config good = {.delay_ns = every.delay_ns};
    static const ls_link_config cut = {.is_cut = true};
    bool gives_orders = simulation->passes == obey_passes;
    tapper players[2] = {{.is_tapping = true,
                          .gives_orders = gives_orders,
                          .is_busy = simulation->input_bits == edge_bits},
                         {.gives_orders = gives_orders}};
    virtual_setup setup = virtual_setup_default(simulation, 2, TAPS_TICKS);
    setup.clients = 0;
    virtual_match *run = checked_match_create(&setup);
    for (uint32_t i = 0; i < 2; i++) {
        virtual_client_setup client = virtual_client_setup_default(run);
        client.up = good;
        client.down = good;
        client.make_input = make_input;
        client.player = &players[i];
        virtual_match_add_client(run, &client);
    }
    const virtual_observer counter = {.user = run, .match_receives = count_packets};
    virtual_match_observe(run, &counter);
    packets_without_base = 0;
    virtual_match_run_to_tick(run, TAP_FIRST / 2);
    while (ls_match_tick(run->match) < TAPS_TICKS - 50) {
        virtual_client_set_ways(run->clients[0], &cut, &good);
        virtual_match_run(run, every.gap_ns);
        virtual_client_set_ways(run->clients[0], &good, &good);
        virtual_match_run(run, every.apart_ns);
    }
    virtual_match_run_to_end(run);
    check_complete(run);
    return run;
}

/* Of 20 matches. */
typedef struct counted {
    uint64_t substituted;
    uint32_t other_moves; /* matches in which they are not as many as the taps */
    uint32_t other_presses;
} counted;

static counted count_in_matches(const ls_simulation *simulation, uint32_t moves, uint32_t presses)
{
    counted all = {0};
    for (uint32_t i = 0; i < 20; i++) {
        gaps every = {(60 + 3 * i) * MS, (190 + 8 * i) * MS, 10 * MS};
        virtual_match *run = tapped_match(simulation, every);
        uint32_t slot = ls_session_report_of(run->clients[0]->session).slot;
        const tapped *slots = ls_sim_instance_view(ls_match_instance(run->match));
        all.substituted += slot_of(run, slot).inputs_substituted;
        all.other_moves += slots[slot].moves != moves;
        all.other_presses += slots[slot].presses != presses;
        virtual_match_destroy(run);
    }
    return all;
}

static void expect_a_third_is_late(const counted *all)
{
    cr_expect_gt(all->substituted, 20 * TAPS_TICKS * 3 / 10, "%lu late: fewer than meant",
                 (unsigned long)all->substituted);
}

Test(taps, edges_and_buttons_act_once_where_a_third_of_the_inputs_is_late)
{
    ls_simulation game = game_of(count_passes, INPUT_BYTES);
    game.input_bits = input_bits;
    counted all = count_in_matches(&game, TAPS, TAPS);
    cr_expect_eq(all.other_moves, 0, "in %u matches", all.other_moves);
    cr_expect_eq(all.other_presses, 0, "in %u matches", all.other_presses);
    expect_a_third_is_late(&all);
}

Test(taps, orders_are_given_once_and_in_their_order)
{
    ls_simulation game = game_of(obey_passes, ORDER_BYTES);
    game.input_bits = order_bits;
    counted all = count_in_matches(&game, TAPS, 12345);
    cr_expect_eq(all.other_moves, 0, "in %u matches", all.other_moves);
    cr_expect_eq(all.other_presses, 0, "in %u matches", all.other_presses);
    expect_a_third_is_late(&all);
}

/* So the game's word makes the difference. */
Test(taps, of_a_game_that_says_nothing_are_lost_or_repeated)
{
    ls_simulation game = game_of(count_passes, INPUT_BYTES);
    counted all = count_in_matches(&game, TAPS, TAPS);
    cr_expect_gt(all.other_moves, 10, "in %u matches", all.other_moves);
    cr_expect_gt(all.other_presses, 0, "in %u matches", all.other_presses);
}

/* An input that is repeated without its edge is what the server was sent: those that follow stay
 * coded against it. */
Test(taps, edges_that_a_repeat_leaves_out_do_not_look_altered)
{
    const gaps every = {500 * MS, 60 * MS, 60 * MS};
    ls_simulation game = game_of(count_passes, INPUT_BYTES);
    game.input_bits = edge_bits;
    virtual_match_destroy(tapped_match(&game, every));
    uint32_t without_edges = packets_without_base;
    has_edges = true;
    virtual_match_destroy(tapped_match(&game, every));
    cr_expect_gt(without_edges, 0); /* the first ones */
    /* Some more, as an input that lost its edge was late, and what is late moves the lead. */
    cr_expect_leq(packets_without_base, without_edges * 3 / 2, "%u, %u", packets_without_base,
                  without_edges);
}
