/* A tap is one tap, whenever its input comes, and if it does not: a game says which bits of an
 * input are edges and which are buttons. */
#include "lockstep/protocol/wire/tick_packet.h"
#include "lockstep/tests/match/match_test.h"

enum {
    TICKS = 600,
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
    virtual_setup setup = virtual_setup_default(simulation, 2, TICKS);
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
    while (ls_match_tick(run->match) < TICKS - 50) {
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
    cr_expect_gt(all->substituted, 20 * TICKS * 3 / 10, "%lu late: fewer than meant",
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
