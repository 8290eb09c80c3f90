#include "lockstep/client/link/session_log.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/base/limits.h"

#include "lockstep/tests/unit/session_fixture.h"

/* ==== session_join ==== */

/* A session that comes into a running match, against a server that a test plays. */

TestSuite(session_join, .fini = shut);

static void open_with(const ls_session_config *config, uint32_t ticks)
{
    fake_server_open(&here, config);
    connect_and_offer();
    cr_assert_eq(here.ready_count, 1);
    fake_server_close_ticks(&here, ticks);
}

static void open_late(void)
{
    ls_session_config config = ls_session_config_default();
    open_with(&config, 500);
}

static void check_case_gave_up(const char *what, ls_status status, const char *words)
{
    ls_session_event event;
    cr_assert(fake_server_find_event(&here, LS_SESSION_EVENT_OVER, &event), "%s: state %d", what,
              (int)fake_server_report(&here).state);
    cr_assert_eq(event.status, status, "%s: %s: %s", what, ls_status_name(event.status),
                 event.text.bytes);
    cr_assert_not_null(strstr(event.text.bytes, words), "%s: %s", what, event.text.bytes);
    cr_assert(here.has_goodbye);
    cr_assert_eq(here.goodbye.negated_status, (uint32_t)-status);
    cr_assert_eq(here.disconnections, 1);
}

static void check_gave_up(ls_status status, const char *words)
{
    check_case_gave_up("the session", status, words);
}

/* ---- a snapshot ---- */

Test(session_join, a_snapshot_is_loaded_checked_and_played_from, .init = open_late)
{
    ls_join join = join_by(LS_JOIN_SNAPSHOT);
    check_state(LS_SESSION_JOINING);
    cr_assert_eq(here.inputs.next, 500, "ticks are acknowledged from JOIN on");
    ls_session_report report = fake_server_report(&here);
    cr_assert_eq(report.transfer_bytes, join.blob_bytes);
    send_blob_and_frame(&join);
    cr_assert_eq(here.joined_count, 1);
    cr_assert_eq(here.joined.tick, 500);
    cr_assert_eq(here.joined.state_hash, here.state_hashes[500]);
    cr_assert_geq(here.joined.first_input, 500);
    ls_session_event event;
    cr_assert(fake_server_find_event(&here, LS_SESSION_EVENT_JOINED, &event));
    cr_assert_eq(event.tick, 500);
    cr_assert_eq(event.away_ns, 0);
    cr_assert_str_eq(ls_session_player_name(here.session, 1), "bert");
    check_plays_on(0);
    cr_assert_eq(fake_server_report(&here).joined_tick, 500);
    cr_assert_eq(fake_server_report(&here).rejoins, 0);
    cr_assert_geq(fake_server_report(&here).inputs_made, 90);
}

/* HELLO was sent again and again, or the clock has jumped: that was no round trip. */
Test(session_join, an_offer_that_took_seconds_puts_no_input_seconds_ahead)
{
    ls_session_config config = ls_session_config_default();
    fake_server_open(&here, &config);
    fake_server_connect(&here);
    here.now_ns += 6 * LS_NS_PER_SECOND;
    fake_server_send_offer(&here);
    fake_server_close_ticks(&here, 500);
    here.now_ns += 2 * FAKE_DT_NS;
    join_with_blob(LS_JOIN_SNAPSHOT);
    cr_assert_eq(here.joined_count, 1);
    cr_assert_leq(here.joined.first_input, 510, "plays from %u on", here.joined.first_input);
    check_plays_on(0);
}

Test(session_join, ticks_that_come_while_the_blob_does_are_kept_and_stepped, .init = open_late)
{
    ls_join join = join_by(LS_JOIN_SNAPSHOT);
    fake_server_frame_on(&here, 1500); /* more than a window */
    check_state(LS_SESSION_JOINING);
    cr_assert_eq(fake_server_report(&here).confirmed, 2000);
    cr_assert_eq(fake_server_report(&here).behind_ticks, 1500);
    cr_assert_geq(here.inputs.next, 1990, "and acknowledged");
    cr_assert_eq(here.inputs_carried, 0);
    fake_server_send_blob(&here, &join);
    uint32_t frames = 0;
    while (fake_server_report(&here).state == LS_SESSION_JOINING) {
        fake_server_frame_on(&here, 1);
        cr_assert_lt(++frames, 20);
    }
    cr_assert_gt(frames, 3, "no frame steps everything");
    cr_assert_eq(here.joined.tick, here.closed);
    cr_assert_eq(here.joined.state_hash, here.state_hashes[here.closed]);
    check_plays_on(0);
}

Test(session_join, ticks_that_came_before_join_come_again, .init = open_late)
{
    ls_join join = fake_server_make_join(&here, LS_JOIN_SNAPSHOT);
    here.keyframe_tick = join.tick;
    fake_server_close_ticks(&here, 5);
    fake_server_send_ticks_to(&here, 3); /* overtook it */
    cr_assert_eq(fake_server_report(&here).confirmed, 0);
    fake_server_send_join(&here, &join);
    fake_server_send_blob(&here, &join);
    fake_server_send_ticks(&here);
    fake_server_frame(&here);
    check_plays_on(0);
}

Test(session_join, a_long_frame_makes_the_next_one_step_less, .init = open_late)
{
    ls_join join = join_by(LS_JOIN_SNAPSHOT);
    fake_server_frame_on(&here, 2000);
    fake_server_send_blob(&here, &join);
    uint32_t steps[3];
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t before = fake_server_report(&here).steps;
        here.now_ns += i == 2 ? LS_NS_PER_SECOND : 0;
        fake_server_frame(&here);
        steps[i] = (uint32_t)(fake_server_report(&here).steps - before);
    }
    cr_assert_gt(steps[1], steps[0]);
    cr_assert_lt(steps[2], steps[0]);
    cr_assert_geq(steps[2], 5, "but always faster than the match");
}

/* The match goes on meanwhile: a computer that draws five frames a second gets there as well. */
Test(session_join, few_frames_a_second_are_no_hindrance, .init = open_late)
{
    const uint32_t frame_ticks = 20;
    ls_join join = join_by(LS_JOIN_SNAPSHOT);
    fake_server_frame_on(&here, 300);
    fake_server_send_blob(&here, &join);
    for (uint32_t i = 0; i < 200 && fake_server_report(&here).state == LS_SESSION_JOINING; i++) {
        fake_server_close_ticks(&here, frame_ticks);
        fake_server_send_ticks(&here);
        here.now_ns += (frame_ticks - 1) * FAKE_DT_NS;
        fake_server_frame(&here);
    }
    check_state(LS_SESSION_PLAYING);
}

static void join_of_interval(uint32_t interval, ls_tick tick)
{
    ls_session_config config = ls_session_config_default();
    fake_server_open(&here, &config);
    here.offer.hash_interval_ticks = interval;
    connect_and_offer();
    fake_server_close_ticks(&here, tick);
    join_with_blob(LS_JOIN_SNAPSHOT);
}

Test(session_join, with_a_long_hash_interval_joined_says_the_states_own_hash)
{
    join_of_interval(64, 500);
    cr_assert_eq(here.joined_count, 1);
    cr_assert_eq(here.joined.tick, 500);
    cr_assert_eq(here.joined.state_hash, here.state_hashes[500]);
    cr_assert_eq(here.inputs.chain_tick, 448);
    cr_assert_eq(here.inputs.chain, (uint32_t)here.chains[448]);
    fake_server_frame_on(&here, 100);
    cr_assert_eq(here.inputs.chain_tick, 576);
    cr_assert_eq(here.inputs.chain, (uint32_t)here.chains[576]);
}

Test(session_join, with_prediction_guesses_begin_after_the_join)
{
    ls_session_config config = ls_session_config_default();
    config.predict_ticks = 8;
    open_with(&config, 500);
    ls_join join = join_by(LS_JOIN_SNAPSHOT);
    fake_server_frame_on(&here, 30);
    fake_server_send_blob(&here, &join);
    fake_server_frame_on(&here, 1);
    check_plays_on(0);
    ls_session_report report = fake_server_report(&here);
    cr_assert(report.has_prediction);
    cr_assert_gt(report.shown_tick, report.tick);
}

Test(session_join, a_late_player_reaches_the_end_of_the_match, .init = open_late)
{
    ls_join join = join_by(LS_JOIN_SNAPSHOT);
    fake_server_frame_on(&here, 50);
    say_end(550);
    fake_server_send_blob(&here, &join);
    wait_frames(10);
    check_state(LS_SESSION_FINISHED);
    cr_assert_eq(here.finished_count, 1);
    cr_assert_eq(here.joined_count, 1);
}

/* ---- an engine that saves by itself ---- */

static size_t engine_bytes(const ls_sim_config *config)
{
    return counter_simulation()->state_bytes(config);
}

static uint64_t engine_hash(const ls_sim_config *config, const void *state)
{
    return ls_hash_bytes(state, engine_bytes(config), 0);
}

static size_t engine_save(const ls_sim_config *config, const void *state, uint8_t *bytes,
                          size_t capacity)
{
    if (engine_bytes(config) <= capacity) {
        memcpy(bytes, state, engine_bytes(config));
    }
    return engine_bytes(config);
}

static ls_status engine_load(const ls_sim_config *config, void *state, const uint8_t *bytes,
                             size_t size)
{
    if (size != engine_bytes(config)) {
        return LS_MALFORMED;
    }
    memcpy(state, bytes, size);
    return LS_OK;
}

static void open_engine(bool can_save)
{
    ls_session_config config = ls_session_config_default();
    fake_server_open(&here, &config);
    here.simulation.fields = NULL;
    here.simulation.hash = engine_hash;
    here.simulation.save = can_save ? engine_save : NULL;
    here.simulation.load = can_save ? engine_load : NULL;
    connect_and_offer();
    fake_server_close_ticks(&here, 300);
}

Test(session_join, an_engine_loads_its_own_snapshot)
{
    open_engine(true);
    join_with_blob(LS_JOIN_SNAPSHOT);
    check_plays_on(0);
}

Test(session_join, a_snapshot_that_lies_about_its_size_is_not_loaded)
{
    open_engine(true);
    ls_join join = fake_server_make_join(&here, LS_JOIN_SNAPSHOT);
    here.raw[0]++;
    fake_server_set_blob(&here, &join, here.raw, join.blob_bytes);
    fake_server_send_join(&here, &join);
    send_blob_and_frame(&join);
    check_gave_up(LS_MISBEHAVED, "another size");
}

Test(session_join, an_engine_says_that_it_cannot_load)
{
    open_engine(true);
    ls_join join = fake_server_make_join(&here, LS_JOIN_SNAPSHOT);
    here.raw[0]--;
    fake_server_set_blob(&here, &join, here.raw, join.blob_bytes - 1);
    fake_server_send_join(&here, &join);
    send_blob_and_frame(&join);
    check_gave_up(LS_MALFORMED, "cannot load");
}

Test(session_join, an_engine_that_cannot_save_joins_by_history)
{
    open_engine(false);
    ls_join join = join_by(LS_JOIN_HISTORY);
    fake_server_send_blob(&here, &join);
    fake_server_frame_on(&here, 20);
    check_plays_on(0);
}

Test(session_join, a_snapshot_for_an_engine_that_cannot_load_is_refused)
{
    open_engine(false);
    ls_join join = {.source = LS_JOIN_SNAPSHOT,
                    .tick = 300,
                    .chain_tick = 300,
                    .next_close = 300,
                    .blob_bytes = 500};
    fake_server_send_join(&here, &join);
    check_gave_up(LS_MISBEHAVED, "size");
}

/* ---- a history ---- */

Test(session_join, a_history_is_simulated_from_the_start, .init = open_late)
{
    ls_join join = join_by(LS_JOIN_HISTORY);
    fake_server_send_blob(&here, &join);
    fake_server_frame_on(&here, 40);
    cr_assert_eq(here.joined_count, 1);
    cr_assert_geq(here.joined.tick, 500);
    cr_assert_eq(here.joined.state_hash, here.state_hashes[here.joined.tick]);
    check_plays_on(0);
    cr_assert_geq(fake_server_report(&here).steps, 600, "every tick was stepped");
}

enum {
    LAST_HASH = 0, /* of the first block; a history begins with the block's size in four bytes */
    BLOCK_SIZE = 3,
    FIRST_TICK = 4,
    FIRST_CHAIN = 4 + 16,
};

/* A history with a byte altered, whose hash is that of what is sent. */
static void join_with_altered_history(size_t at)
{
    ls_join join = fake_server_make_join(&here, LS_JOIN_HISTORY);
    uint32_t block = here.raw[0] | (uint32_t)here.raw[1] << 8;
    here.raw[at == LAST_HASH ? 4 + block - 1 : at] ^= 0x7f;
    fake_server_set_blob(&here, &join, here.raw, join.blob_bytes);
    fake_server_send_join(&here, &join);
    fake_server_send_blob(&here, &join);
    wait_frames(40);
}

Test(session_join, an_altered_history_ends_the_session)
{
    static const struct {
        const char *what;
        size_t at;
        ls_status status;
        const char *words;
    } altered[] = {
        {"another chain", FIRST_CHAIN, LS_MISBEHAVED, "contradicts itself"},
        {"another first tick", FIRST_TICK, LS_MISBEHAVED, "contradicts itself"},
        {"another state hash", LAST_HASH, LS_DESYNCED, "tick 100"},
        {"a block beyond the end", BLOCK_SIZE, LS_MISBEHAVED, "contradicts itself"},
    };
    for (size_t i = 0; i < sizeof altered / sizeof altered[0]; i++) {
        open_late();
        join_with_altered_history(altered[i].at);
        check_case_gave_up(altered[i].what, altered[i].status, altered[i].words);
        cr_assert_eq(here.joined_count, 0, "%s", altered[i].what);
        shut();
    }
}

Test(session_join, a_history_that_ends_early_is_refused, .init = open_late)
{
    ls_join join = fake_server_make_join(&here, LS_JOIN_HISTORY);
    fake_server_close_ticks(&here, 1);
    join.tick = join.next_close = join.chain_tick = 501;
    fake_server_send_join(&here, &join);
    fake_server_send_blob(&here, &join);
    wait_frames(40);
    check_gave_up(LS_MISBEHAVED, "contradicts itself");
}

Test(session_join, a_history_that_does_not_lead_to_joins_chain_is_a_desync, .init = open_late)
{
    ls_join join = fake_server_make_join(&here, LS_JOIN_HISTORY);
    join.chain ^= 1;
    fake_server_send_join(&here, &join);
    fake_server_send_blob(&here, &join);
    wait_frames(40);
    check_gave_up(LS_DESYNCED, "not the server's");
}

/* ---- hostile ---- */

Test(session_join, a_snapshot_of_another_hash_is_a_desync, .init = open_late)
{
    ls_join join = fake_server_make_join(&here, LS_JOIN_SNAPSHOT);
    join.state_hash ^= 1;
    fake_server_send_join(&here, &join);
    send_blob_and_frame(&join);
    check_gave_up(LS_DESYNCED, "tick 500");
    cr_assert_eq(here.joined_count, 0);
}

Test(session_join, a_blob_that_does_not_fit_its_hash_is_refused, .init = open_late)
{
    ls_join join = fake_server_make_join(&here, LS_JOIN_SNAPSHOT);
    join.blob_hash ^= 1;
    fake_server_send_join(&here, &join);
    send_blob_and_frame(&join);
    check_gave_up(LS_MISBEHAVED, "announced");
    cr_assert_eq(here.joined_count, 0);
}

/* A JOIN of state 300 that cannot be: its blob has `bytes` more than the state, or these. */
enum {
    ALL_BYTES = INT32_MAX,
    NO_BYTES = INT32_MIN,
};

typedef struct bad_join {
    const char *what;
    ls_join_source source;
    ls_tick tick;
    ls_tick next_close;
    ls_tick chain_tick;
    int32_t bytes;
    const char *words;
} bad_join;

static const bad_join bad_joins[] = {
    {"no bytes", LS_JOIN_SNAPSHOT, 300, 300, 300, NO_BYTES, "size"},
    {"a byte more than the state", LS_JOIN_SNAPSHOT, 300, 300, 300, 1, "size"},
    {"all bytes", LS_JOIN_SNAPSHOT, 300, 300, 300, ALL_BYTES, "size"},
    {"a huge history", LS_JOIN_HISTORY, 300, 300, 300, LS_BLOB_BYTES_MAX + 1, "size"},
    {"a history of nothing", LS_JOIN_HISTORY, 0, 300, 0, 0, "size"},
    {"the last tick there is", LS_JOIN_SNAPSHOT, UINT32_MAX, UINT32_MAX, UINT32_MAX, 0,
     "ticks that cannot be"},
    {"behind the last tick of a match", LS_JOIN_SNAPSHOT, LS_MATCH_TICKS_MAX,
     LS_MATCH_TICKS_MAX + 1, LS_MATCH_TICKS_MAX, 0, "ticks that cannot be"},
    {"a closed tick is closed next", LS_JOIN_SNAPSHOT, 300, 299, 300, 0, "ticks that cannot be"},
    {"an older hashed state", LS_JOIN_SNAPSHOT, 300, 300, 298, 0, "hashed state"},
    {"held, but it is not", LS_JOIN_HELD, 300, 300, 300, NO_BYTES, "not held"},
    {"other ticks from the start", LS_JOIN_HELD, 0, 0, 0, NO_BYTES, "not held"},
};

Test(session_join, a_join_that_cannot_be_ends_the_session_and_takes_no_memory)
{
    ls_session_config config = ls_session_config_default();
    for (size_t i = 0; i < sizeof bad_joins / sizeof bad_joins[0]; i++) {
        const bad_join *bad = &bad_joins[i];
        open_with(&config, 300);
        ls_join join = fake_server_make_join(&here, LS_JOIN_SNAPSHOT);
        join.source = bad->source;
        join.tick = bad->tick;
        join.next_close = bad->next_close;
        join.chain_tick = bad->chain_tick;
        join.blob_bytes = bad->bytes == ALL_BYTES  ? UINT32_MAX
                          : bad->bytes == NO_BYTES ? 0
                                                   : join.blob_bytes + (uint32_t)bad->bytes;
        fake_server_send_join(&here, &join);
        check_case_gave_up(bad->what, LS_MISBEHAVED, bad->words);
        fake_server_frame(&here);
        shut();
    }
}

Test(session_join, a_second_join_is_malformed_and_changes_nothing, .init = open_late)
{
    ls_join join = join_by(LS_JOIN_SNAPSHOT);
    fake_server_send_join(&here, &join);
    cr_assert_eq(fake_server_report(&here).packets_rejected, 1);
    send_blob_and_frame(&join);
    check_state(LS_SESSION_PLAYING);
    fake_server_send_join(&here, &join);
    cr_assert_eq(fake_server_report(&here).packets_rejected, 2);
    check_state(LS_SESSION_PLAYING);
}

Test(session_join, a_start_in_place_of_join_and_a_join_in_place_of_start_are_both_taken,
     .init = open_late)
{
    fake_server_send_start(&here); /* what OFFER said is no more than a hint */
    check_state(LS_SESSION_PLAYING);
}

Test(session_join, parts_without_a_blob_are_passed_over, .init = open_late)
{
    ls_join join = fake_server_make_join(&here, LS_JOIN_SNAPSHOT);
    fake_server_send_blob(&here, &join);
    check_state(LS_SESSION_SEATED);
    cr_assert_eq(here.blob_acks, 0);
    cr_assert_eq(fake_server_report(&here).packets_rejected, 0);
}

Test(session_join, the_blob_is_acknowledged_as_it_comes, .init = open_late)
{
    ls_join join = join_by(LS_JOIN_SNAPSHOT);
    here.now_ns += 50 * LS_NS_PER_MS;
    fake_server_send_blob(&here, &join);
    cr_assert_geq(here.blob_acks, 1);
}

/* Inputs of noise, as large as there are: the limit is reached in a few hundred of them, not in
 * hours. */
enum {
    LARGE_TICK_BYTES = FAKE_SLOTS * LS_INPUT_BYTES_MAX,
    LARGE_TICKS = LS_TICK_BACKLOG_BYTES_MAX / LARGE_TICK_BYTES,
};

/* Each tick's sizes differ from those of the one before it, so that it is coded whole. */
static void send_large_tick(ls_tick tick, uint8_t noise[LS_INPUT_BYTES_MAX])
{
    uint32_t size = LS_INPUT_BYTES_MAX - tick % 2;
    ls_slot_input now[FAKE_SLOTS] = {{noise, size, 0}, {noise, size, 0}};
    ls_slot_input before[FAKE_SLOTS] = {{noise, 0, 0}, {noise, 0, 0}};
    fake_server_send_tick_in_parts(&here, tick, before, now);
}

Test(session_join, more_ticks_than_can_be_kept_end_the_session)
{
    static uint8_t noise[LS_INPUT_BYTES_MAX];
    ls_session_config config = ls_session_config_default();
    fake_server_open(&here, &config);
    here.simulation.input_bytes_max = LS_INPUT_BYTES_MAX;
    connect_and_offer();
    fake_server_close_ticks(&here, 1);
    join_by(LS_JOIN_SNAPSHOT);
    ls_tick tick = 1;
    for (; fake_server_report(&here).state == LS_SESSION_JOINING; tick++) {
        cr_assert_lt(tick, LARGE_TICKS + 2000);
        memset(noise, (int)tick, sizeof noise);
        send_large_tick(tick, noise);
    }
    check_gave_up(LS_FELL_BEHIND, "more ticks");
    cr_assert_gt(tick, LARGE_TICKS - 2000);
}

/* ==== client_chat ==== */

static void open_session(void)
{
    ls_session_config config = ls_session_config_default();
    fake_server_open(&here, &config);
}

TestSuite(client_chat, .init = open_session, .fini = shut);

static ls_client_chat chat;
static ls_text answer;

static void play(void)
{
    ls_message start = {.kind = LS_MESSAGE_START, .body.start = {.names = {"Ann", "Bob B."}}};
    here.offer.is_running = false;
    connect_and_offer();
    fake_server_send(&here, &start);
}

static const char *type(const char *text)
{
    answer = (ls_text){{0}};
    ls_client_chat_type(&chat, here.session, text, &answer);
    return answer.bytes;
}

/* Whether a line of the player is shown. */
static bool hears(uint32_t slot, const char *name)
{
    ls_text line = {{0}};
    ls_chat said = {.slot = slot, .text = "hi"};
    ls_name_copy(said.name, sizeof said.name, name);
    return ls_client_chat_write(&chat, &said, &line);
}

Test(client_chat, a_line_begins_with_the_seat_and_the_name)
{
    ls_text line = {{0}};
    const ls_chat said = {.slot = 1, .name = "-- Ann", .text = "-- the match has ended"};
    cr_expect(ls_client_chat_write(&chat, &said, &line));
    cr_expect_str_eq(line.bytes, "[2] -- Ann: -- the match has ended");
}

Test(client_chat, who_is_muted_is_not_shown_until_unmuted)
{
    play();
    const char *name = ls_session_player_name(here.session, 1);
    cr_assert_neq(name[0], '\0');
    ls_text command = {{0}};
    ls_text_set(&command, "/mute %s", name);
    cr_expect(strncmp(type(command.bytes), "-- ", 3) == 0);
    cr_expect_not(hears(1, name));
    cr_expect(hears(0, ls_session_player_name(here.session, 0)));
    type("/unmute 2");
    cr_expect(hears(1, name));
}

Test(client_chat, another_player_on_the_seat_is_heard)
{
    play();
    type("/mute 2");
    cr_expect_not(hears(1, ls_session_player_name(here.session, 1)));
    cr_expect(hears(1, "somebody else"));
}

Test(client_chat, commands_are_answered_and_not_sent)
{
    play();
    uint32_t packets = here.packets;
    cr_expect(strstr(type("/help"), "/mute"));
    cr_expect(strstr(type("/help"), "well played"));
    cr_expect(strstr(type("/mute nobody"), "no player 'nobody'"));
    cr_expect(strstr(type("/dance"), "no command"));
    cr_expect_eq(here.packets, packets);
}

Test(client_chat, lines_and_quick_lines_are_sent)
{
    play();
    uint32_t packets = here.packets;
    cr_expect_str_eq(type("  hello "), "");
    cr_expect_str_eq(here.chat.text, "hello");
    cr_expect_str_eq(type("/8"), "");
    cr_expect_eq(here.chat.quick_line, 8);
    cr_expect_eq(here.packets, packets + 2);
}

Test(client_chat, nobody_hears_a_line_without_a_match)
{
    fake_server_connect(&here);
    cr_expect(strstr(type("hello?"), "nobody can hear you"));
}
