/* The match of a server that goes on from a journal: where its simulation begins, who sits where,
 * and how it goes on where ticks are missing or the end is torn; journals that are refused. */
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/units/units_state.h"
#include "lockstep/server/journal/resume.h"
#include "lockstep/tests/support/sim_fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Made journal: a journal made in memory, of a match of arena that was really simulated, and the
 * match that goes on from it. Every test has one of its own, `here`. */
enum {
    JOURNAL_BLOCK_TICKS = 16,
    /* Slot 1 is told JOINED then, and LEFT and JOINED again later. */
    JOURNAL_SECOND_PLAYER_TICK = 5,
    JOURNAL_CHANGE_TICK = 40,
};

/* A journal to be written, and its faults. */
typedef struct journal_plan {
    uint32_t ticks;
    uint32_t snapshot_ticks; /* between snapshots; 0: none */
    ls_tick gap_first;       /* ticks that are left out */
    ls_tick gap_end;
    ls_tick wrong_hash_tick; /* of the state behind that tick; 0: none */
    ls_tick wrong_snapshot_tick;
    ls_tick change_tick; /* another player sits down on slot 1 then; 0: never */
    bool is_turned_away; /* that one, at once */
    bool is_started;
    bool has_ended; /* an event says so ... */
    bool is_closed; /* ... and END */
    ls_journal_header header;
} journal_plan;

/* A journal, what really happened in its match, and what goes on from it. */
typedef struct resume_place {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
    ls_journal_writer *writer;
    sim_fixture *sim;
    uint64_t chain;
    uint64_t hash_chain;
    uint64_t final_hash;
    ls_match_config config; /* as it was recorded */
    ls_resume *resume;
    ls_match *match;
    ls_text why;
} resume_place;

static resume_place here;

/* ---- making one ---- */

static void append(const ls_journal_raw *raw)
{
    ls_journal_framed record = ls_journal_writer_frame(here.writer, raw);
    while (record.offset + record.size > here.capacity) {
        here.capacity = here.capacity > 0 ? 2 * here.capacity : 1 << 20;
        here.bytes = realloc(here.bytes, here.capacity);
    }
    memcpy(here.bytes + record.offset, record.bytes, record.size);
    here.size = (size_t)record.offset + record.size;
    ls_journal_writer_keep(here.writer);
}

/* Appends one more. */
static void append_event(ls_journal_event_kind kind, uint32_t slot, ls_tick tick, const char *text)
{
    uint8_t bytes[LS_JOURNAL_EVENT_BYTES_MAX];
    ls_journal_event event = {.kind = kind, .tick = tick, .slot = slot};
    ls_text_set(&event.text, "%s", text);
    ls_journal_raw raw = ls_journal_event_record(&event, bytes);
    append(&raw);
}

static void append_header(const journal_plan *made)
{
    uint8_t bytes[LS_JOURNAL_HEADER_BYTES_MAX];
    ls_journal_raw raw = ls_journal_header_record(&made->header, bytes);
    append(&raw);
}

static void append_snapshot(const journal_plan *made, ls_tick tick)
{
    size_t size = ls_sim_instance_save_bytes(here.sim->instance);
    uint8_t *state = malloc(size);
    cr_assert_eq(ls_sim_instance_save(here.sim->instance, state), LS_OK);
    ls_journal_snapshot head = {.tick = tick,
                                .state_hash = ls_sim_instance_hash(here.sim->instance),
                                .hash_chain = here.hash_chain,
                                .hash_chain_tick = tick,
                                .tick_chain = here.chain,
                                .state_bytes = size};
    head.state_hash ^= tick == made->wrong_snapshot_tick ? 1 : 0;
    ls_journal_raw raw = ls_journal_piece_record(&head, state);
    cr_assert_eq(ls_journal_pieces(size), 1u);
    append(&raw);
    free(state);
}

static uint32_t events_of(ls_tick tick, uint32_t slot)
{
    if (slot == 0) {
        return tick == 0 ? LS_EVENT_JOINED : 0;
    }
    return tick == JOURNAL_SECOND_PLAYER_TICK ? LS_EVENT_JOINED
           : tick == JOURNAL_CHANGE_TICK      ? LS_EVENT_LEFT | LS_EVENT_JOINED
                                              : 0;
}

/* Plays a tick; the slots' bytes stay in the fixture. */
static ls_tick_inputs play_tick(ls_tick tick)
{
    for (uint32_t slot = 0; slot < here.sim->config.players; slot++) {
        uint32_t bytes = ls_rng_next(&here.sim->bots[slot]);
        here.sim->bytes[slot][0] = (uint8_t)(bytes & (tick % 8 == 0 ? 0xffu : 0x0fu));
        here.sim->bytes[slot][1] = (uint8_t)(bytes >> 8);
        here.sim->slots[slot].size = 2;
        here.sim->slots[slot].events = events_of(tick, slot);
    }
    ls_tick_inputs inputs = {
        .tick = tick, .slot_count = here.sim->config.players, .slots = here.sim->slots};
    ls_sim_instance_step(here.sim->instance, &inputs);
    here.chain = ls_tick_chain_next(here.chain, &inputs);
    here.hash_chain = ls_hash_chain_next(here.hash_chain, ls_sim_instance_hash(here.sim->instance));
    return inputs;
}

static ls_tick append_block(const journal_plan *made, ls_tick tick)
{
    static ls_tick_block_writer writer;
    static uint8_t memory[1 << 16];
    ls_tick first = tick;
    ls_tick_block_start(&writer, memory, sizeof memory, here.sim->config.players);
    while (tick < made->ticks && tick < first + JOURNAL_BLOCK_TICKS) {
        bool is_left_out = tick >= made->gap_first && tick < made->gap_end;
        ls_tick_inputs inputs = play_tick(tick);
        uint64_t state_hash = ls_sim_instance_hash(here.sim->instance);
        tick++;
        state_hash ^= tick == made->wrong_hash_tick ? 1 : 0;
        if (!is_left_out) {
            cr_assert(ls_tick_block_add(&writer, &inputs, state_hash));
        }
        bool is_snapshot_next = made->snapshot_ticks > 0 && tick % made->snapshot_ticks == 0;
        if (is_snapshot_next || tick == made->gap_first || tick == made->gap_end) {
            break;
        }
    }
    if (writer.count > 0) {
        ls_journal_raw raw = {.kind = LS_JOURNAL_TICKS, .tick = writer.first, .bytes = memory};
        raw.size = ls_tick_block_finish(&writer, here.chain);
        append(&raw);
    }
    return tick;
}

static void append_end(const journal_plan *made)
{
    ls_journal_end end = {.final_tick = made->ticks,
                          .final_hash = here.final_hash,
                          .tick_chain = here.chain,
                          .ticks = made->ticks};
    ls_journal_raw raw = ls_journal_end_record(&end);
    append(&raw);
}

static void append_ticks(const journal_plan *made)
{
    for (ls_tick tick = 0; tick < made->ticks;) {
        tick = append_block(made, tick);
        bool is_in_gap = tick > made->gap_first && tick < made->gap_end;
        if (made->snapshot_ticks > 0 && tick % made->snapshot_ticks == 0 && !is_in_gap) {
            append_snapshot(made, tick);
        }
    }
}

/* The plan of a whole journal of so many ticks, to be changed; opens its simulation. */
static journal_plan plan_of(uint32_t ticks, uint32_t snapshot_ticks)
{
    here.config = ls_match_config_default(ls_arena_simulation());
    here.config.sim.players = 2;
    here.config.sim.seed = 77;
    here.config.finds_causes = false;
    here.sim = sim_open(here.config.simulation, here.config.sim);
    journal_plan made = {.ticks = ticks, .snapshot_ticks = snapshot_ticks, .is_started = true};
    made.header = (ls_journal_header){.match_id = 42,
                                      .simulation_version = here.config.simulation->version,
                                      .config = here.config.sim,
                                      .digests = ls_sim_instance_digests(here.sim->instance),
                                      .input_bytes_max = here.config.simulation->input_bytes_max,
                                      .save_bytes = ls_sim_instance_save_bytes(here.sim->instance),
                                      .hash_interval_ticks = 1,
                                      .timeout_ms = 4000,
                                      .wait_limit_ms = 700};
    made.header.key.bytes[7] = 9;
    ls_name_copy(made.header.simulation, sizeof made.header.simulation,
                 here.config.simulation->name);
    return made;
}

static void make_journal(const journal_plan *made)
{
    here.chain = LS_TICK_CHAIN_START;
    here.hash_chain = ls_hash_chain_start(ls_sim_instance_hash(here.sim->instance));
    cr_assert_eq(
        ls_journal_writer_create(LS_JOURNAL_RAW_BYTES_MAX, NULL, ls_allocator_heap(), &here.writer),
        LS_OK);
    append_header(made);
    append_event(LS_JOURNAL_EVENT_SEATED, 0, 0, "Ada");
    append_event(LS_JOURNAL_EVENT_SEATED, 1, 0, "Bob");
    append_event(LS_JOURNAL_EVENT_LEFT, 1, 0, "bye");
    append_event(LS_JOURNAL_EVENT_SEATED, 1, 0, "Cid");
    append_event(LS_JOURNAL_EVENT_RETURNED, 1, 0, "Cid");
    if (made->is_started) {
        append_event(LS_JOURNAL_EVENT_STARTED, LS_JOURNAL_NO_SLOT, 0, "");
    }
    append_ticks(made);
    if (made->change_tick > 0) {
        append_event(LS_JOURNAL_EVENT_SEATED, 1, made->change_tick, "Dot");
    }
    if (made->is_turned_away) {
        append_event(LS_JOURNAL_EVENT_TURNED_AWAY, 1, made->change_tick, "no such simulation");
    }
    here.final_hash = ls_sim_instance_hash(here.sim->instance);
    if (made->has_ended) {
        append_event(LS_JOURNAL_EVENT_ENDED, LS_JOURNAL_NO_SLOT, made->ticks, "");
    }
    if (made->is_closed) {
        append_end(made);
    }
}

/* ---- going on with it ---- */

/* Then another one can be restored from the same bytes. */
static void forget_match(void)
{
    ls_match_destroy(here.match);
    ls_resume_close(here.resume);
    here.match = NULL;
    here.resume = NULL;
}

/* The end of every test. */
static void close_all(void)
{
    forget_match();
    ls_journal_writer_destroy(here.writer);
    destroy_kept();
    free(here.bytes);
    here = (resume_place){.bytes = NULL}; /* another test may follow in this process */
}

static void send(void *user, ls_peer_id peer, ls_channel channel, const uint8_t *bytes, size_t size)
{
    (void)user;
    (void)peer;
    (void)channel;
    (void)bytes;
    (void)size;
}

static void disconnect(void *user, ls_peer_id peer)
{
    (void)user;
    (void)peer;
}

/* Opens so many bytes of it; restore also makes a match of them. here.why says what is wrong. */
static ls_status open_resume(size_t size)
{
    return ls_resume_open(here.bytes, size, ls_allocator_heap(), &here.resume, &here.why);
}

static ls_status restore(size_t size, ls_resume_report *report)
{
    const ls_packet_sink sink = {.send = send, .disconnect = disconnect};
    ls_match_config config;
    ls_status status = open_resume(size);
    if (status == LS_OK) {
        status = ls_resume_configure(here.resume, here.config.simulation, &config, &here.why);
    }
    if (status != LS_OK) {
        return status;
    }
    config.finds_causes = false;
    config.resume_wait_ms = 100;
    cr_assert_eq(ls_match_create(&config, &sink, ls_allocator_heap(), &here.match, &here.why),
                 LS_OK);
    return ls_resume_restore(here.resume, here.match, 1000, report, &here.why);
}

/* From all its bytes; expects the match that was recorded. */
static ls_resume_report restore_all(void)
{
    ls_resume_report report = {0};
    cr_assert_eq(restore(here.size, &report), LS_OK, "%s", here.why.bytes);
    cr_expect_eq(ls_match_state_of(here.match), LS_MATCH_RESUMING);
    cr_expect_eq(ls_match_hash(here.match), here.final_hash);
    cr_expect_eq(ls_match_tick(here.match), report.tick);
    cr_expect_eq(ls_match_tick_chain(here.match, report.tick), here.chain);
    ls_tick chain_tick = 0;
    cr_expect_eq(ls_match_hash_chain(here.match, &chain_tick), here.hash_chain);
    cr_expect_eq(chain_tick, report.tick);
    return report;
}

/* Restores from all its bytes in vain; `words` are in what it is told. */
static void expect_refused(ls_status expected, const char *words)
{
    ls_resume_report report;
    cr_expect_eq(restore(here.size, &report), expected, "%s", here.why.bytes);
    cr_expect(strstr(here.why.bytes, words), "no \"%s\" in: %s", words, here.why.bytes);
}

TestSuite(resume, .fini = close_all);

static bool holds(ls_tick tick)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    return ls_match_closed_tick(here.match, tick, slots, &inputs) == LS_OK;
}

static void make_plain_journal(uint32_t ticks, uint32_t snapshot_ticks)
{
    journal_plan made = plan_of(ticks, snapshot_ticks);
    make_journal(&made);
}

/* Without the ticks from `first` up to `end`. */
static void make_journal_with_gap(journal_plan made, ls_tick first, ls_tick end)
{
    made.gap_first = first;
    made.gap_end = end;
    make_journal(&made);
}

/* ---- where it begins ---- */

Test(resume, a_match_is_rebuilt_from_a_snapshot_that_leaves_every_ring_full)
{
    make_plain_journal(3000, 600);
    ls_resume_report report = restore_all();
    cr_expect_eq(report.from_tick, 1800u, "of 1200, 1800, 2400 and 3000 it is the newest so old");
    cr_expect_eq(report.tick, 3000u);
    cr_expect_eq(report.state_hashes, 1201u);
    cr_expect_eq(report.cut_bytes, 0u);
    cr_expect_eq(report.missing_tick, UINT32_MAX);
    cr_expect_eq(report.in_band.words[0], 3u);
    cr_expect_str_empty(report.loss.bytes);
    cr_expect(holds(3000 - LS_WINDOW_TICKS));
    cr_expect_not(holds(3000 - LS_WINDOW_TICKS - 1));
}

Test(resume, the_last_snapshot_that_is_old_enough_is_taken)
{
    make_plain_journal(200 + LS_WINDOW_TICKS, 200);
    cr_expect_eq(restore_all().from_tick, 200u);
    cr_expect(holds(200));
}

Test(resume, a_young_match_is_rebuilt_from_its_beginning)
{
    make_plain_journal(199 + LS_WINDOW_TICKS, 200);
    ls_resume_report report = restore_all();
    cr_expect_eq(report.from_tick, 0u);
    cr_expect_eq(report.state_hashes, 199u + LS_WINDOW_TICKS);
    cr_expect(holds(199));
}

Test(resume, a_match_without_snapshots_is_rebuilt_from_its_beginning)
{
    make_plain_journal(2500, 0);
    ls_resume_report report = restore_all();
    cr_expect_eq(report.from_tick, 0u);
    cr_expect_eq(report.state_hashes, 2500u);
}

Test(resume, a_match_that_began_and_has_no_tick_yet_is_waited_for)
{
    make_plain_journal(0, 0);
    cr_expect_eq(restore_all().tick, 0u);
    ls_match_advance(here.match, 1000 + UINT64_C(50000000)); /* it waits for 100 ms */
    cr_expect_eq(ls_match_state_of(here.match), LS_MATCH_RESUMING, "its players may know more");
}

Test(resume, players_are_known_by_seat_generations_and_newest_names)
{
    make_plain_journal(100, 0);
    restore_all();
    cr_expect_eq(ls_resume_seat_of(here.resume, 0)->generations.newest, 1u);
    cr_expect_eq(ls_resume_seat_of(here.resume, 1)->generations.newest, 2u,
                 "a return is no new turn");
    cr_expect_str_eq(ls_resume_seat_of(here.resume, 0)->name, "Ada");
    cr_expect_str_eq(ls_resume_seat_of(here.resume, 1)->name, "Cid");
    cr_expect_str_eq(ls_match_slot_of(here.match, 1).name, "Cid");
}

/* A player who sat down after a server came back has no turn that it may have forgotten. */
Test(resume, turns_that_a_server_may_have_forgotten_are_left_out)
{
    make_plain_journal(100, 0);
    append_event(LS_JOURNAL_EVENT_RESTORED, LS_JOURNAL_NO_SLOT, 100, "");
    append_event(LS_JOURNAL_EVENT_SEATED, 1, 100, "Dan");
    append_event(LS_JOURNAL_EVENT_RESTORED, LS_JOURNAL_NO_SLOT, 100, "");
    restore_all();
    ls_seat_generations first = ls_resume_seat_of(here.resume, 0)->generations;
    ls_seat_generations second = ls_resume_seat_of(here.resume, 1)->generations;
    cr_expect_eq(first.newest, 1u);
    cr_expect_eq(first.forgotten, 3 * LS_FORGOTTEN_GENERATIONS_MAX, "twice before, and now");
    cr_expect_eq(second.newest, 2u + LS_FORGOTTEN_GENERATIONS_MAX + 1u);
    cr_expect_eq(second.forgotten, 2 * LS_FORGOTTEN_GENERATIONS_MAX);
}

Test(resume, the_newest_secret_of_a_player_is_known)
{
    make_plain_journal(100, 0);
    append_event(LS_JOURNAL_EVENT_SECRET_PROVEN, 1, 100, "7");
    restore_all();
    cr_expect_eq(ls_resume_seat_of(here.resume, 0)->generations.secret, 0u);
    cr_expect_eq(ls_resume_seat_of(here.resume, 1)->generations.secret, 7u);
}

Test(resume, another_player_begins_with_another_first_secret)
{
    make_plain_journal(100, 0);
    append_event(LS_JOURNAL_EVENT_SECRET_PROVEN, 1, 100, "7");
    append_event(LS_JOURNAL_EVENT_SEATED, 1, 100, "Dan");
    restore_all();
    cr_expect_eq(ls_resume_seat_of(here.resume, 1)->generations.newest, 3u);
    cr_expect_eq(ls_resume_seat_of(here.resume, 1)->generations.secret, 0u);
}

static void expect_joined(journal_plan made, const char *name, ls_tick tick)
{
    make_journal(&made);
    restore_all();
    cr_expect_str_eq(ls_match_slot_of(here.match, 1).name, name);
    cr_expect_eq(ls_match_slot_of(here.match, 1).joined_tick, tick);
    cr_expect_eq(ls_match_slot_of(here.match, 0).joined_tick, 0u);
}

Test(resume, when_a_player_joined_is_known_from_the_ticks_and_not_when_it_came_back)
{
    expect_joined(plan_of(100, 0), "Cid", JOURNAL_SECOND_PLAYER_TICK);
}

Test(resume, when_a_player_joined_is_known_behind_a_snapshot_too)
{
    expect_joined(plan_of(2400, 600), "Cid", JOURNAL_SECOND_PLAYER_TICK);
}

Test(resume, a_player_that_took_a_seat_over_joined_after_that)
{
    journal_plan made = plan_of(100, 0);
    made.change_tick = JOURNAL_CHANGE_TICK - 8;
    expect_joined(made, "Dot", JOURNAL_CHANGE_TICK);
}

Test(resume, a_player_not_heard_of_after_sitting_down_joins_after_the_journal)
{
    journal_plan made = plan_of(100, 0);
    made.change_tick = 99;
    expect_joined(made, "Dot", 100);
}

Test(resume, a_player_turned_away_has_not_been_there)
{
    journal_plan made = plan_of(100, 0);
    made.change_tick = 50;
    made.is_turned_away = true;
    expect_joined(made, "Cid", JOURNAL_SECOND_PLAYER_TICK);
    cr_expect(ls_resume_seat_of(here.resume, 1)->has_left, "as it had before");
    ls_seat_generations generations = ls_resume_seat_of(here.resume, 1)->generations;
    cr_expect_eq(generations.newest, 2u);
    cr_expect_eq(generations.spent, 1u, "what it was given");
    cr_expect_eq(generations.forgotten, LS_FORGOTTEN_GENERATIONS_MAX);
}

Test(resume, nobody_comes_back_and_the_match_ends_where_it_stood)
{
    make_plain_journal(100, 0);
    restore_all();
    for (uint64_t ms = 0; ms < 60000 && ls_match_state_of(here.match) != LS_MATCH_OVER; ms += 50) {
        ls_match_advance(here.match, 1000 + ms * 1000000);
    }
    cr_expect_eq(ls_match_state_of(here.match), LS_MATCH_OVER);
    cr_expect_geq(ls_match_tick(here.match), 100u);
}

Test(resume, a_match_whose_end_was_told_ends_there_again)
{
    journal_plan made = plan_of(60, 0);
    made.has_ended = true;
    make_journal(&made);
    ls_match_config config;
    restore_all();
    cr_assert_eq(ls_resume_configure(here.resume, here.config.simulation, &config, &here.why),
                 LS_OK);
    cr_expect_eq(config.ticks, 60u);
}

Test(resume, a_match_that_had_not_begun_has_its_lobby_again)
{
    journal_plan made = plan_of(0, 0);
    made.is_started = false;
    make_journal(&made);
    ls_resume_report report;
    cr_assert_eq(restore(here.size, &report), LS_OK, "%s", here.why.bytes);
    cr_expect_not(report.has_begun);
    cr_expect_eq(ls_match_state_of(here.match), LS_MATCH_LOBBY);
    cr_expect_not(ls_match_slot_of(here.match, 0).has_played);
}

/* ---- what is missing ---- */

Test(resume, ticks_that_are_missing_before_a_snapshot_are_told_and_do_no_harm)
{
    make_journal_with_gap(plan_of(3000, 600), 2100, 2150);
    ls_resume_report report = restore_all();
    cr_expect_eq(report.from_tick, 2400u, "the oldest behind the gap");
    cr_expect_eq(report.missing_tick, 2100u);
    cr_expect(holds(2400));
    cr_expect_not(holds(2149));
}

/* The match stands before the gap, and the journal is gone on with where a file ends that was cut
 * there. */
static void expect_cut_at(ls_tick tick, ls_tick from_tick)
{
    ls_resume_report report = {0};
    cr_assert_eq(restore(here.size, &report), LS_OK, "%s", here.why.bytes);
    const ls_journal_info *info = ls_journal_info_of(ls_resume_journal(here.resume));
    size_t end = (size_t)info->append_offset;
    cr_expect_eq(report.tick, tick);
    cr_expect_eq(ls_match_tick(here.match), tick);
    cr_expect_eq(report.from_tick, from_tick);
    cr_expect(report.is_cut_at_gap);
    cr_expect_eq(report.missing_tick, UINT32_MAX, "none is missing before");
    cr_expect_lt(end, here.size);
    cr_expect_eq(report.cut_bytes, here.size - end);
    uint64_t state_hash = ls_match_hash(here.match);
    forget_match();
    cr_assert_eq(restore(end, &report), LS_OK, "%s", here.why.bytes);
    cr_expect_eq(report.tick, tick);
    cr_expect_eq(report.cut_bytes, 0u);
    cr_expect_not(report.is_cut_at_gap);
    cr_expect_eq(ls_match_hash(here.match), state_hash);
}

Test(resume, missing_ticks_with_no_snapshot_behind_them_end_the_journal)
{
    make_journal_with_gap(plan_of(1000, 400), 900, 910);
    expect_cut_at(900, 0);
}

Test(resume, missing_ticks_of_a_match_without_snapshots_end_the_journal)
{
    make_journal_with_gap(plan_of(300, 0), 100, 101);
    expect_cut_at(100, 0);
}

Test(resume, a_snapshot_before_the_gap_is_gone_on_from)
{
    make_journal_with_gap(plan_of(500 + LS_WINDOW_TICKS, 400), 450 + LS_WINDOW_TICKS,
                          460 + LS_WINDOW_TICKS);
    expect_cut_at(450 + LS_WINDOW_TICKS, 400);
}

/* Bits that flip in a block tear a gap; what stands behind it is no use. */
Test(resume, a_damaged_block_ends_the_journal_wherever_it_is)
{
    make_plain_journal(300, 0);
    uint64_t offset = 0;
    ls_journal_record record;
    ls_journal *journal = NULL;
    cr_assert_eq(ls_journal_open(here.bytes, here.size, LS_JOURNAL_CHECK_ALL, ls_allocator_heap(),
                                 &journal, &here.why),
                 LS_OK);
    ls_tick tick = 0;
    while (ls_journal_next_record(journal, &offset, &record) == LS_OK) {
        if (record.kind != LS_JOURNAL_TICKS || offset == here.size) {
            continue;
        }
        uint8_t *byte = &here.bytes[record.offset + record.stored_bytes / 2];
        *byte ^= 0x24;
        expect_cut_at(tick, 0);
        cr_expect_eq(ls_journal_info_of(ls_resume_journal(here.resume))->append_offset,
                     record.offset);
        forget_match();
        *byte ^= 0x24;
        tick += JOURNAL_BLOCK_TICKS;
    }
    cr_expect_eq(tick, 288u);
    ls_journal_close(journal);
}

Test(resume, a_match_that_is_cut_at_a_gap_ends_where_its_players_were_told)
{
    journal_plan made = plan_of(300, 0);
    made.gap_first = 100;
    made.gap_end = 101;
    made.has_ended = true;
    make_journal(&made);
    expect_cut_at(100, 0);
    forget_match();
    ls_match_config config;
    cr_assert_eq(open_resume(here.size), LS_OK);
    cr_assert_eq(ls_resume_configure(here.resume, here.config.simulation, &config, &here.why),
                 LS_OK);
    cr_expect_eq(config.ticks, 300u);
}

Test(resume, a_snapshot_behind_the_last_tick_is_gone_on_from)
{
    make_journal_with_gap(plan_of(800, 400), 790, 800);
    ls_resume_report report = restore_all();
    cr_expect_eq(report.from_tick, 800u);
    cr_expect_eq(report.tick, 800u);
    cr_expect_eq(report.missing_tick, 790u);
}

Test(resume, a_torn_end_is_cut_off_wherever_it_is_torn)
{
    make_plain_journal(120, 50);
    uint32_t opened = 0;
    ls_tick tick = 0;
    for (size_t size = here.size - 4000; size < here.size; size += 37) {
        ls_resume_report report = {0};
        cr_assert_eq(restore(size, &report), LS_OK, "%s", here.why.bytes);
        cr_expect_geq(report.tick, tick);
        cr_expect_lt(report.tick, 120u);
        cr_expect_eq(report.cut_bytes > 0, report.loss.bytes[0] != 0);
        tick = report.tick;
        opened++;
        forget_match();
    }
    cr_expect_gt(opened, 100u);
    cr_expect_eq(restore_all().tick, 120u);
}

Test(resume, a_damaged_last_block_is_left_out)
{
    make_plain_journal(96, 0);
    here.bytes[here.size - 3] ^= 0x10;
    ls_resume_report report = {0};
    cr_assert_eq(restore(here.size, &report), LS_OK, "%s", here.why.bytes);
    cr_expect_eq(report.tick, 80u);
    cr_expect_gt(report.cut_bytes, 0u);
    cr_expect(strstr(report.loss.bytes, "80"), "%s", report.loss.bytes);
}

/* ---- journals that are refused ---- */

/* Journals that no server goes on from, and the sentence that says why; the settings that a journal
 * brings along, and flags that contradict them. */

Test(resume, missing_ticks_with_nothing_before_them_are_refused)
{
    journal_plan made = plan_of(300, 0);
    made.is_started = false;
    made.gap_end = 20;
    make_journal(&made);
    expect_refused(LS_NOT_FOUND, "from tick 0 on");
}

Test(resume, a_finished_journal_is_refused)
{
    journal_plan made = plan_of(60, 0);
    made.is_closed = true;
    make_journal(&made);
    expect_refused(LS_ALREADY_OVER, "ended at tick 60");
}

Test(resume, a_part_of_another_journal_is_refused)
{
    journal_plan made = plan_of(30, 0);
    made.header.first_tick = 10;
    make_journal(&made);
    expect_refused(LS_UNSUPPORTED, "cut out");
}

Test(resume, a_damaged_header_is_refused)
{
    journal_plan made = plan_of(30, 0);
    make_journal(&made);
    here.bytes[60] ^= 1;
    expect_refused(LS_MALFORMED, "");
    cr_expect(here.why.bytes[0]);
}

Test(resume, no_bytes_at_all_are_refused)
{
    journal_plan made = plan_of(0, 0);
    make_journal(&made);
    here.size = 0;
    expect_refused(LS_MALFORMED, "");
    cr_expect(here.why.bytes[0]);
}

Test(resume, another_simulation_is_refused)
{
    journal_plan made = plan_of(30, 0);
    make_journal(&made);
    here.config.simulation = ls_units_simulation();
    expect_refused(LS_SIMULATION_MISMATCH, "units");
}

Test(resume, another_version_of_the_simulation_is_refused)
{
    journal_plan made = plan_of(30, 0);
    made.header.simulation_version++;
    make_journal(&made);
    expect_refused(LS_SIMULATION_VERSION_MISMATCH, "version");
}

Test(resume, another_schema_is_refused)
{
    journal_plan made = plan_of(30, 0);
    made.header.digests.schema++;
    make_journal(&made);
    expect_refused(LS_SIMULATION_MISMATCH, "schema");
}

static void expect_hashes(const char *tick, uint64_t state_hash)
{
    char words[32];
    expect_refused(LS_DESYNCED, tick);
    snprintf(words, sizeof words, "%016llx", (unsigned long long)state_hash);
    cr_expect(strstr(here.why.bytes, words), "no %s in: %s", words, here.why.bytes);
    snprintf(words, sizeof words, "%016llx", (unsigned long long)(state_hash ^ 1));
    cr_expect(strstr(here.why.bytes, words), "no %s in: %s", words, here.why.bytes);
}

Test(resume, a_state_that_is_not_the_recorded_one_is_told_with_both_hashes)
{
    journal_plan made = plan_of(64, 0);
    made.wrong_hash_tick = 64;
    make_journal(&made);
    expect_hashes("state 64", here.final_hash);
}

Test(resume, a_snapshot_that_is_not_the_recorded_state_is_told_with_both_hashes)
{
    journal_plan made = plan_of(500, 500);
    make_journal(&made);
    uint64_t state_hash = here.final_hash;
    close_all();
    memset(&here, 0, sizeof here);
    made = plan_of(500 + LS_WINDOW_TICKS, 500);
    made.wrong_snapshot_tick = 500;
    make_journal(&made);
    expect_hashes("tick 500", state_hash);
}

/* ---- settings ---- */

Test(resume, settings_are_as_they_were_recorded)
{
    journal_plan made = plan_of(30, 0);
    made.header.late_rule = LS_LATE_WAIT;
    made.header.ticks = 900;
    made.header.adapts_input_delay = true;
    make_journal(&made);
    ls_match_config config;
    cr_assert_eq(open_resume(here.size), LS_OK);
    cr_assert_eq(ls_resume_configure(here.resume, here.config.simulation, &config, &here.why),
                 LS_OK);
    cr_expect_str_eq(ls_resume_simulation(here.resume), "arena");
    cr_expect_eq(config.match_id, 42u);
    cr_expect_eq(config.key.bytes[7], 9u);
    cr_expect_eq(config.sim.seed, 77u);
    cr_expect_eq(config.sim.players, 2u);
    cr_expect_eq(config.late_rule, LS_LATE_WAIT);
    cr_expect_eq(config.ticks, 900u);
    cr_expect_eq(config.timeout_ms, 4000u);
    cr_expect_eq(config.wait_limit_ms, 700u);
    cr_expect(config.adapts_input_delay);
    cr_expect_eq(ls_match_config_check(&config, &here.why), LS_OK, "%s", here.why.bytes);
    cr_expect_eq(ls_resume_check(here.resume, &config, &here.why), LS_OK, "%s", here.why.bytes);
}

static void expect_contradiction(const ls_match_config *config, const char *flag)
{
    ls_text why = {{0}};
    cr_expect_eq(ls_resume_check(here.resume, config, &why), LS_BAD_ARGUMENT);
    cr_expect(strstr(why.bytes, flag), "no %s in: %s", flag, why.bytes);
}

Test(resume, flags_that_contradict_the_journal_are_refused_by_name)
{
    journal_plan made = plan_of(30, 0);
    make_journal(&made);
    ls_match_config recorded;
    cr_assert_eq(open_resume(here.size), LS_OK);
    cr_assert_eq(ls_resume_configure(here.resume, here.config.simulation, &recorded, &here.why),
                 LS_OK);
    ls_match_config changed[13];
    for (size_t i = 0; i < 13; i++) {
        changed[i] = recorded;
    }
    changed[0].sim.players++;
    changed[1].sim.tick_rate_hz++;
    changed[2].sim.seed++;
    changed[3].ticks++;
    changed[4].timeout_ms++;
    changed[5].send_rate = LS_SEND_DOUBLE;
    changed[6].late_rule = LS_LATE_WAIT;
    changed[7].wait_limit_ms++;
    changed[8].adapts_input_delay = true;
    changed[9].input_delay_ticks++;
    changed[10].hash_interval_ticks++;
    changed[11].on_desync = LS_ON_DESYNC_STOP;
    changed[12].sim.params[0]++;
    const char *const flags[13] = {
        "--players 3",     "--tick-rate", "--seed 78",    "--ticks 1",     "--timeout 4001",
        "--send-rate",     "--late",      "--wait-limit", "--input-delay", "--input-delay 1",
        "--hash-interval", "--on-desync", "--param "};
    for (size_t i = 0; i < 13; i++) {
        expect_contradiction(&changed[i], flags[i]);
    }
}
