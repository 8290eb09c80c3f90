/* The settings of a match, and peers that mean it harm. */
#include "lockstep/common/base/clock.h"
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/protocol/wire/tick_packet.h"
#include "lockstep/server/match/match.h"
#include "lockstep/server/match/match_config.h"
#include "lockstep/tests/support/counter_simulation.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* ==== match_config ==== */

static ls_match_config right(void)
{
    return ls_match_config_default(counter_simulation());
}

Test(match_config, defaults_are_what_the_header_says)
{
    ls_match_config config = right();
    ls_text why = {{0}};
    cr_expect_eq(ls_match_config_check(&config, &why), LS_OK, "%s", why.bytes);
    cr_expect_eq(config.match_id, 1u);
    cr_expect_eq(config.late_rule, LS_LATE_REPEAT);
    cr_expect_eq(config.send_rate, LS_SEND_AUTO);
    cr_expect_eq(config.on_desync, LS_ON_DESYNC_REPORT);
    cr_expect(config.finds_causes);
    cr_expect_not(config.adapts_input_delay);
    cr_expect_eq(config.hash_interval_ticks, 1u);
    cr_expect_eq(config.timeout_ms, 10000u);
    cr_expect_eq(config.wait_limit_ms, 2000u);
    cr_expect_eq(config.start_delay_ms, 250u);
    cr_expect_eq(config.start_players, 0u);
    cr_expect_eq(config.keep_seat_ms, 30000u);
    cr_expect_eq(config.joiners_max, 4u);
    cr_expect_eq(config.join_bytes_per_s, 1u << 20);
    cr_expect_eq(config.resume_wait_ms, 30000u);
    cr_expect_eq(config.spectators_max, 0u);
    cr_expect_eq(config.spectator_delay_ticks, 60u);
    cr_expect_eq(config.spectator_bytes_per_s, 8u << 20);
}

Test(match_config, a_config_that_is_not_made_by_its_default_is_refused)
{
    ls_match_config config = right();
    ls_text why = {{0}};
    config.cookie = 0;
    cr_expect_eq(ls_match_config_check(&config, &why), LS_BAD_ARGUMENT);
    cr_expect(strstr(why.bytes, "ls_match_config_default"), "%s", why.bytes);
    memset(&config, 0, sizeof config);
    cr_expect_eq(ls_match_config_check(&config, NULL), LS_BAD_ARGUMENT);
}

static void expect_refused(const ls_match_config *config, const ls_setting_row *row)
{
    ls_text why = {{0}};
    cr_expect_eq(ls_match_config_check(config, &why), LS_BAD_ARGUMENT, "%s", row->name);
    /* A simulation has a sentence of its own about its players and tick rate. */
    bool is_of_simulation = strncmp(row->name, "sim.", 4) == 0;
    cr_expect(is_of_simulation || strncmp(why.bytes, row->name, strlen(row->name)) == 0, "%s: %s",
              row->name, why.bytes);
    if (row->flag && !is_of_simulation) {
        char flag[64];
        snprintf(flag, sizeof flag, "--%s takes ", row->flag);
        ls_setting_table_check(&ls_match_settings, config, true, &why);
        cr_expect(strncmp(why.bytes, flag, strlen(flag)) == 0, "%s", why.bytes);
    }
}

Test(match_config, every_row_is_held_to_its_range)
{
    uint32_t checked = 0;
    for (uint32_t i = 0; i < ls_match_settings.count; i++) {
        const ls_setting_row *row = &ls_match_settings.rows[i];
        if (row->type != LS_SETTING_IS_U32) {
            continue;
        }
        ls_match_config config = right();
        uint64_t max = row->limit > 0 ? config.sim.players : row->max;
        ls_setting_store(row, &config, max + 1);
        expect_refused(&config, row);
        if (row->min > 0) {
            ls_setting_store(row, &config, row->min - 1);
            expect_refused(&config, row);
        }
        if (row->flag && strcmp(row->flag, "players") != 0) {
            ls_setting_store(row, &config, max);
            cr_expect_eq(ls_match_config_check(&config, NULL), LS_OK, "%s", row->name);
        }
        checked++;
    }
    cr_expect_gt(checked, 12);
    ls_match_config config = right();
    config.on_desync = (ls_on_desync)4;
    cr_expect_eq(ls_match_config_check(&config, NULL), LS_BAD_ARGUMENT);
}

Test(match_config, a_flag_is_checked_in_its_own_unit)
{
    ls_match_config config = right();
    ls_text why = {{0}};
    config.keep_seat_ms = 601000;
    ls_setting_table_check(&ls_match_settings, &config, true, &why);
    cr_expect_str_eq(why.bytes, "--keep-seat takes 0 to 600, not 601");
    ls_match_config_check(&config, &why);
    cr_expect_str_eq(why.bytes, "keep_seat_ms takes 0 to 600000, not 601000");
    config = right();
    config.start_players = config.sim.players + 1;
    ls_setting_table_check(&ls_match_settings, &config, true, &why);
    cr_expect_str_eq(why.bytes, "--start-players takes 1 to 2, not 3");
}

/* Every setting another one than the default, then through a header and back. */
Test(match_config, a_header_gives_back_what_its_rows_keep)
{
    ls_match_config config = right();
    ls_match_config copy = right();
    ls_journal_header header = {0};
    uint32_t recorded = 0;
    config.match_id = 42;
    config.key.bytes[5] = 7;
    for (uint32_t i = 0; i < ls_match_settings.count; i++) {
        const ls_setting_row *row = &ls_match_settings.rows[i];
        if (row->recorded > 0) {
            ls_setting_store(row, &config, ls_setting_value(row, &config) == 1 ? 2 : 1);
            recorded++;
        }
    }
    cr_expect_eq(recorded, 12u);
    ls_match_config_record(&config, &header);
    ls_match_config_recall(&copy, &header);
    cr_expect_eq(copy.match_id, 42u);
    cr_expect_eq(copy.key.bytes[5], 7);
    for (uint32_t i = 0; i < ls_match_settings.count; i++) {
        const ls_setting_row *row = &ls_match_settings.rows[i];
        if (row->recorded > 0) {
            cr_expect_eq(ls_setting_value(row, &copy), ls_setting_value(row, &config), "%s",
                         row->name);
        }
    }
    cr_expect_eq(header.timeout_ms, 1u);
    cr_expect_eq(header.config.players, 1u);
    cr_expect(header.adapts_input_delay);
    cr_expect_eq(ls_match_config_compare(&config, &copy, NULL), LS_OK);
}

static uint64_t hash_nothing(const ls_sim_config *config, const void *state)
{
    (void)config;
    (void)state;
    return 1;
}

Test(match_config, values_of_an_engine_without_a_schema_cannot_be_healed)
{
    static ls_simulation engine;
    engine = *counter_simulation();
    engine.fields = NULL;
    engine.hash = hash_nothing;
    ls_match_config config = ls_match_config_default(&engine);
    ls_text why = {{0}};
    cr_expect_eq(ls_match_config_check(&config, &why), LS_OK, "%s", why.bytes);
    config.on_desync = LS_ON_DESYNC_HEAL;
    cr_expect_eq(ls_match_config_check(&config, &why), LS_BAD_ARGUMENT);
    cr_expect(strstr(why.bytes, "has neither a schema nor save and load"), "%s", why.bytes);
}

/* ==== match_hostile ==== */

/* Players who break the rules, told in words; fuzz_match tries everything else. */

enum {
    ADA = 11,
    BO = 22,
    PEERS = BO + 1 + 66, /* two pending connections more than a match keeps at its door */
    STEP_MS = 10,
};

/* A match of two, whose players exist as packets alone. */
typedef struct stage {
    ls_match *match;
    uint64_t now_ns;
    uint32_t disconnects[PEERS];
    uint32_t sequences[PEERS]; /* of the next INPUTS of each peer */
    ls_hash_request asked;     /* what Bo was asked for last; count 0: nothing */
    ls_desync_notice told;     /* what Ada was told last */
    uint32_t ends;             /* how often Ada was told that it ends, and when */
    ls_tick end_tick;
} stage;

static stage here;

static void on_send(void *user, ls_peer_id peer, ls_channel channel, const uint8_t *bytes,
                    size_t size)
{
    ls_message message;
    (void)user;
    if (channel == LS_CHANNEL_UNRELIABLE) {
        return;
    }
    cr_assert_eq(ls_message_read(bytes, size, 2, &message), LS_OK);
    if (message.kind == LS_MESSAGE_HASH_REQUEST && peer == BO) {
        here.asked = message.body.hash_request;
    } else if (message.kind == LS_MESSAGE_DESYNC && peer == ADA) {
        here.told = message.body.desync;
    } else if (message.kind == LS_MESSAGE_END && peer == ADA) {
        here.ends++;
        here.end_tick = message.body.end.final_tick;
    }
}

static void on_disconnect(void *user, ls_peer_id peer)
{
    (void)user;
    here.disconnects[peer]++;
}

static void send_message(ls_peer_id peer, const ls_message *message)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    size_t size = ls_message_write(message, bytes);
    ls_match_receive(here.match, peer, LS_CHANNEL_RELIABLE, bytes, size, here.now_ns);
}

static void greet(ls_peer_id peer, const char *name)
{
    ls_message message = {.kind = LS_MESSAGE_HELLO};
    ls_match_peer_connected(here.match, peer, here.now_ns);
    message.body.hello = ls_hello_make(name);
    send_message(peer, &message);
}

static void get_ready(ls_peer_id peer)
{
    ls_message message = {.kind = LS_MESSAGE_READY};
    message.body.ready = ls_ready_make(ls_match_instance(here.match));
    send_message(peer, &message);
}

/* Ada is ready. */
static void open_lobby_of(ls_late_rule late_rule, ls_on_desync on_desync)
{
    ls_match_config config = ls_match_config_default(counter_simulation());
    config.sim.tick_rate_hz = 1000 / STEP_MS;
    config.sim.players = 2;
    config.start_delay_ms = 0;
    config.timeout_ms = 5000; /* in less than 10 s nobody has to hash a further state */
    config.late_rule = late_rule;
    config.on_desync = on_desync;
    ls_packet_sink sink = {on_send, on_disconnect, NULL};
    here = (stage){.now_ns = LS_NS_PER_SECOND};
    cr_assert_eq(ls_match_create(&config, &sink, ls_allocator_heap(), &here.match, NULL), LS_OK);
    greet(ADA, "Ada");
    get_ready(ADA);
}

static void open_lobby(void)
{
    open_lobby_of(LS_LATE_REPEAT, LS_ON_DESYNC_REPORT);
}

static void start_match(void)
{
    greet(BO, "Bo");
    get_ready(BO);
    cr_assert_eq(ls_match_state_of(here.match), LS_MATCH_RUNNING);
}

static void open_match(void)
{
    open_lobby();
    start_match();
}

static void close_match(void)
{
    ls_match_destroy(here.match);
}

TestSuite(match_hostile, .fini = close_match);

/* INPUTS of a player who has every tick and whose state 0 had this state hash: with an empty input
 * for the next tick from Ada, with none from Bo. */
static void send_inputs(ls_peer_id peer, uint64_t state_hash)
{
    static const ls_slot_input empty;
    ls_tick tick = ls_match_tick(here.match);
    ls_inputs_header header = {.sequence = here.sequences[peer]++,
                               .next = tick,
                               .hold = LS_HOLD_NONE,
                               .chain_tick = 0,
                               .chain = (uint32_t)ls_hash_chain_start(state_hash),
                               .first = tick};
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
    ls_inputs_header_bits(&stream, &header, 0);
    if (peer == ADA) {
        cr_assert(ls_inputs_write_tick(&stream, &empty, &empty));
    }
    ls_tick_packet_write_end(&stream);
    ls_match_receive(here.match, peer, LS_CHANNEL_UNRELIABLE, bytes, ls_bits_size_bytes(&stream),
                     here.now_ns);
}

static uint64_t hash_of_state_0(void)
{
    return ls_sim_instance_digests(ls_match_instance(here.match)).initial;
}

/* Lets the match run while both give signs of life; Bo's state 0 is another one. */
static void run_with_liar(uint32_t ms)
{
    for (uint32_t past = 0; past < ms; past += STEP_MS) {
        here.now_ns += STEP_MS * LS_NS_PER_MS;
        send_inputs(ADA, hash_of_state_0());
        send_inputs(BO, hash_of_state_0() + 1);
        ls_match_advance(here.match, here.now_ns);
    }
}

static void expect_unanswered_desync(ls_status left_status)
{
    ls_match_slot bo = ls_match_slot_of(here.match, 1);
    cr_assert(bo.is_desynced);
    cr_assert_eq(bo.desync_tick, 0);
    cr_assert_eq(bo.desync_server_hash, hash_of_state_0());
    cr_assert_eq(bo.desync_client_hash, 0, "it never said");
    cr_assert_not(bo.is_playing);
    cr_assert_eq(bo.left_status, left_status);
    cr_assert_eq(here.told.slot, 1);
    cr_assert_eq(here.told.server_hash, hash_of_state_0());
    cr_assert(ls_match_slot_of(here.match, 0).is_playing);
    cr_assert_not(ls_match_slot_of(here.match, 0).is_desynced);
}

Test(match_hostile, a_player_that_does_not_say_which_state_differs_is_reported_and_dropped,
     .init = open_match)
{
    run_with_liar(4000);
    cr_assert_eq(here.asked.count, 1);
    cr_assert(ls_match_slot_of(here.match, 1).is_playing, "there is time for an answer");
    run_with_liar(2000);
    expect_unanswered_desync(LS_MISBEHAVED);
    cr_assert_eq(here.disconnects[BO], 1);
    cr_assert_eq(ls_match_state_of(here.match), LS_MATCH_RUNNING);
}

Test(match_hostile, a_player_leaving_rather_than_say_which_state_differs_is_reported,
     .init = open_match)
{
    run_with_liar(100);
    cr_assert_eq(here.asked.count, 1);
    ls_match_peer_disconnected(here.match, BO, LS_DISCONNECTED, here.now_ns);
    expect_unanswered_desync(LS_DISCONNECTED);
}

Test(match_hostile, a_player_saying_at_the_end_that_all_is_well_is_asked_all_the_same,
     .init = open_match)
{
    run_with_liar(100);
    ls_match_stop(here.match, here.now_ns);
    ls_message message = {.kind = LS_MESSAGE_FINISHED};
    message.body.finished.tick = ls_match_tick(here.match);
    message.body.finished.state_hash = ls_match_hash(here.match);
    message.body.finished.chain = (uint32_t)ls_hash_chain_start(hash_of_state_0());
    send_message(ADA, &message);
    send_message(BO, &message);
    for (uint32_t past = 0; past < 6000; past += STEP_MS) {
        here.now_ns += STEP_MS * LS_NS_PER_MS;
        ls_match_advance(here.match, here.now_ns);
    }
    cr_assert_eq(ls_match_state_of(here.match), LS_MATCH_OVER);
    cr_assert(ls_match_slot_of(here.match, 1).is_desynced);
    cr_assert_not(ls_match_slot_of(here.match, 0).is_desynced);
}

Test(match_hostile, a_goodbye_without_a_reason_is_a_disconnection, .init = open_match)
{
    ls_message message = {.kind = LS_MESSAGE_GOODBYE};
    send_message(BO, &message);
    ls_match_slot bo = ls_match_slot_of(here.match, 1);
    cr_assert_not(bo.is_playing);
    cr_assert_eq(bo.left_status, LS_DISCONNECTED, "OK would mean that it has not left");
}

Test(match_hostile, a_player_that_never_gets_ready_loses_the_seat, .init = open_lobby)
{
    greet(BO, "Bo");
    for (uint32_t past = 0; past < 11000; past += 100) {
        here.now_ns += 100 * LS_NS_PER_MS;
        send_inputs(ADA, 0);
        send_inputs(BO, 0);
        ls_match_advance(here.match, here.now_ns);
    }
    cr_assert_eq(here.disconnects[BO], 1);
    cr_assert_eq(ls_match_slot_of(here.match, 0).peer, ADA, "who is ready may wait");
    cr_assert_eq(ls_match_slot_of(here.match, 1).peer, 0);
    greet(BO + 1, "Cy");
    get_ready(BO + 1);
    cr_assert_eq(ls_match_state_of(here.match), LS_MATCH_RUNNING);
}

Test(match_hostile, silent_pending_keep_nobody_out, .init = open_lobby)
{
    for (ls_peer_id peer = BO + 1; peer < PEERS; peer++) {
        here.now_ns += LS_NS_PER_MS;
        ls_match_peer_connected(here.match, peer, here.now_ns);
        cr_assert_eq(here.disconnects[BO + 1], peer >= BO + 1 + 64 ? 1 : 0, "newcomer %u",
                     (unsigned)(peer - BO));
    }
    cr_assert_eq(here.disconnects[BO + 2], 1);
    cr_assert_eq(here.disconnects[PEERS - 1], 0);
    start_match();
}

Test(match_hostile, a_match_that_a_desync_stops_closes_no_tick_any_more)
{
    open_lobby_of(LS_LATE_WAIT, LS_ON_DESYNC_STOP);
    start_match();
    run_with_liar(100);
    cr_assert_eq(ls_match_tick(here.match), 0, "it waits for Bo");
    /* Bo is dropped for the waiting; that brings out the desync, which ends the match. */
    run_with_liar(2000);
    cr_assert_eq(ls_match_slot_of(here.match, 1).left_status, LS_TIMED_OUT);
    cr_assert(ls_match_slot_of(here.match, 1).is_desynced);
    cr_assert_eq(ls_match_state_of(here.match), LS_MATCH_ENDING);
    cr_assert_eq(here.ends, 1);
    cr_assert_eq(ls_match_tick(here.match), here.end_tick);
}
