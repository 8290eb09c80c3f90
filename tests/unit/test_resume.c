/* Journals made in memory, of matches of arena that were really simulated, and what becomes of them
 * when a server is to go on from there. */
#include "lockstep/common/sims/arena.h"
#include "lockstep/common/sims/units.h"
#include "lockstep/common/tick_chain.h"
#include "lockstep/server/resume.h"
#include "lockstep/tests/support/sim_fixture.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    BLOCK_TICKS = 16,
    SECOND_PLAYER_TICK = 5, /* slot 1 is told JOINED there, and LEFT and JOINED again later */
    CHANGE_TICK = 40,
};

/* What is written down, and what is wrong with it. */
typedef struct plan {
    uint32_t ticks;
    uint32_t snapshot_ticks; /* between snapshots; 0: none */
    ls_tick gap_first;       /* ticks that are left out */
    ls_tick gap_end;
    ls_tick wrong_root_tick; /* of the state behind that tick; 0: none */
    ls_tick wrong_snapshot_tick;
    ls_tick change_tick; /* somebody else sits down on slot 1 then; 0: nobody */
    bool is_turned_away; /* that one, at once */
    bool is_started;
    bool has_ended; /* an event says so ... */
    bool is_closed; /* ... and END */
    ls_journal_header header;
} plan;

static struct {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
    ls_journal_writer *writer;
    sim_fixture *sim;
    uint64_t chain;
    uint64_t root_chain;
    uint64_t final_root;
    ls_match_config config; /* as it was recorded */
    ls_resume *resume;
    ls_match *match;
    ls_text why;
} here;

/* ---- making one ---- */

static void append(const ls_journal_raw *raw)
{
    const uint8_t *bytes = NULL;
    size_t size = 0;
    uint64_t offset = 0;
    cr_assert_eq(ls_journal_writer_frame(here.writer, raw, &bytes, &size, &offset), LS_OK);
    while (offset + size > here.capacity) {
        here.capacity = here.capacity > 0 ? 2 * here.capacity : 1 << 20;
        here.bytes = realloc(here.bytes, here.capacity);
    }
    memcpy(here.bytes + offset, bytes, size);
    here.size = (size_t)offset + size;
    ls_journal_writer_keep(here.writer);
}

static void append_event(ls_journal_event_kind kind, uint32_t slot, ls_tick tick, const char *text)
{
    uint8_t bytes[LS_JOURNAL_EVENT_BYTES_MAX];
    ls_journal_event event = {.kind = kind, .tick = tick, .slot = slot};
    ls_text_set(&event.text, "%s", text);
    ls_byte_stream stream = ls_byte_stream_write(bytes, sizeof bytes);
    ls_journal_event_stream(&stream, &event);
    ls_journal_raw raw = {.kind = LS_JOURNAL_EVENT, .bytes = bytes, .size = stream.at};
    append(&raw);
}

static void append_header(const plan *made)
{
    uint8_t bytes[LS_JOURNAL_HEADER_BYTES_MAX];
    ls_journal_header header = made->header;
    ls_byte_stream stream = ls_byte_stream_write(bytes, sizeof bytes);
    ls_journal_header_stream(&stream, &header);
    ls_journal_raw raw = {.kind = LS_JOURNAL_HEADER, .bytes = bytes, .size = stream.at};
    append(&raw);
}

static void append_snapshot(const plan *made, ls_tick tick)
{
    size_t size = ls_sim_instance_save_bytes(here.sim->instance);
    uint8_t *state = malloc(size);
    cr_assert_eq(ls_sim_instance_save(here.sim->instance, state), LS_OK);
    ls_journal_snapshot head = {.tick = tick,
                                .root = ls_sim_instance_hash(here.sim->instance),
                                .root_chain = here.root_chain,
                                .root_chain_tick = tick,
                                .tick_chain = here.chain,
                                .state_bytes = size};
    head.root ^= tick == made->wrong_snapshot_tick ? 1 : 0;
    ls_journal_raw raw = {.kind = LS_JOURNAL_SNAPSHOT, .tick = tick, .bytes = state, .size = size};
    cr_assert_eq(ls_journal_pieces(size), 1u);
    ls_byte_stream stream = ls_byte_stream_write(raw.head, sizeof raw.head);
    ls_journal_snapshot_stream(&stream, &head);
    raw.head_bytes = (uint32_t)stream.at;
    append(&raw);
    free(state);
}

static uint32_t events_of(ls_tick tick, uint32_t slot)
{
    if (slot == 0) {
        return tick == 0 ? LS_EVENT_JOINED : 0;
    }
    return tick == SECOND_PLAYER_TICK ? LS_EVENT_JOINED
           : tick == CHANGE_TICK      ? LS_EVENT_LEFT | LS_EVENT_JOINED
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
    here.root_chain = ls_hash_chain_next(here.root_chain, ls_sim_instance_hash(here.sim->instance));
    return inputs;
}

static ls_tick append_block(const plan *made, ls_tick tick)
{
    static ls_tick_block_writer writer;
    static uint8_t memory[1 << 16];
    ls_tick first = tick;
    ls_tick_block_start(&writer, memory, sizeof memory, here.sim->config.players);
    while (tick < made->ticks && tick < first + BLOCK_TICKS) {
        bool is_left_out = tick >= made->gap_first && tick < made->gap_end;
        ls_tick_inputs inputs = play_tick(tick);
        uint64_t root = ls_sim_instance_hash(here.sim->instance);
        tick++;
        root ^= tick == made->wrong_root_tick ? 1 : 0;
        if (!is_left_out) {
            cr_assert(ls_tick_block_add(&writer, &inputs, root));
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

static void append_end(const plan *made)
{
    ls_journal_end end = {.final_tick = made->ticks,
                          .final_root = here.final_root,
                          .tick_chain = here.chain,
                          .ticks = made->ticks};
    ls_journal_raw raw = {.kind = LS_JOURNAL_END};
    ls_byte_stream stream = ls_byte_stream_write(raw.head, sizeof raw.head);
    ls_journal_end_stream(&stream, &end);
    raw.head_bytes = (uint32_t)stream.at;
    append(&raw);
}

static void append_ticks(const plan *made)
{
    for (ls_tick tick = 0; tick < made->ticks;) {
        tick = append_block(made, tick);
        bool is_in_gap = tick > made->gap_first && tick < made->gap_end;
        if (made->snapshot_ticks > 0 && tick % made->snapshot_ticks == 0 && !is_in_gap) {
            append_snapshot(made, tick);
        }
    }
}

static plan plan_of(uint32_t ticks, uint32_t snapshot_ticks)
{
    here.config = ls_match_config_default(ls_arena_simulation());
    here.config.sim.players = 2;
    here.config.sim.seed = 77;
    here.config.finds_causes = false;
    here.sim = sim_open(here.config.simulation, here.config.sim);
    plan made = {.ticks = ticks, .snapshot_ticks = snapshot_ticks, .is_started = true};
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

static void make(const plan *made)
{
    here.chain = LS_TICK_CHAIN_START;
    here.root_chain = ls_hash_chain_start(ls_sim_instance_hash(here.sim->instance));
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
    here.final_root = ls_sim_instance_hash(here.sim->instance);
    if (made->has_ended) {
        append_event(LS_JOURNAL_EVENT_ENDED, LS_JOURNAL_NO_SLOT, made->ticks, "");
    }
    if (made->is_closed) {
        append_end(made);
    }
}

/* ---- going on with it ---- */

static void forget_match(void)
{
    ls_match_destroy(here.match);
    ls_resume_close(here.resume);
    here.match = NULL;
    here.resume = NULL;
}

static void close_all(void)
{
    forget_match();
    ls_journal_writer_destroy(here.writer);
    sim_close(here.sim);
    free(here.bytes);
}

TestSuite(resume, .fini = close_all);

static void send(void *user, ls_peer_id peer, ls_lane lane, const uint8_t *bytes, size_t size)
{
    (void)user;
    (void)peer;
    (void)lane;
    (void)bytes;
    (void)size;
}

static void disconnect(void *user, ls_peer_id peer)
{
    (void)user;
    (void)peer;
}

static ls_status open_resume(size_t size)
{
    return ls_resume_open(here.bytes, size, ls_allocator_heap(), &here.resume, &here.why);
}

/* Opens so many bytes of it and restores the match. */
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

static ls_resume_report restore_all(void)
{
    ls_resume_report report = {0};
    cr_assert_eq(restore(here.size, &report), LS_OK, "%s", here.why.bytes);
    cr_expect_eq(ls_match_state_of(here.match), LS_MATCH_RESUMING);
    cr_expect_eq(ls_match_root(here.match), here.final_root);
    cr_expect_eq(ls_match_tick(here.match), report.tick);
    cr_expect_eq(ls_match_tick_chain(here.match, report.tick), here.chain);
    ls_tick chain_tick = 0;
    cr_expect_eq(ls_match_root_chain(here.match, &chain_tick), here.root_chain);
    cr_expect_eq(chain_tick, report.tick);
    return report;
}

static void expect_refused(ls_status expected, const char *words)
{
    ls_resume_report report;
    cr_expect_eq(restore(here.size, &report), expected, "%s", here.why.bytes);
    cr_expect(strstr(here.why.bytes, words), "no \"%s\" in: %s", words, here.why.bytes);
}

static bool holds(ls_tick tick)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    return ls_match_closed_tick(here.match, tick, slots, &inputs) == LS_OK;
}

/* ---- where it begins ---- */

Test(resume, a_match_is_rebuilt_from_a_snapshot_that_leaves_every_ring_full)
{
    plan made = plan_of(3000, 600);
    make(&made);
    ls_resume_report report = restore_all();
    cr_expect_eq(report.from_tick, 1800u, "of 1200, 1800, 2400 and 3000 it is the newest so old");
    cr_expect_eq(report.tick, 3000u);
    cr_expect_eq(report.roots, 1201u);
    cr_expect_eq(report.cut_bytes, 0u);
    cr_expect_eq(report.missing_tick, UINT32_MAX);
    cr_expect_eq(report.in_band_mask, 3u);
    cr_expect_str_empty(report.loss.bytes);
    cr_expect(holds(3000 - LS_WINDOW_TICKS));
    cr_expect_not(holds(3000 - LS_WINDOW_TICKS - 1));
}

Test(resume, the_last_snapshot_that_is_old_enough_is_taken)
{
    plan made = plan_of(200 + LS_WINDOW_TICKS, 200);
    make(&made);
    cr_expect_eq(restore_all().from_tick, 200u);
    cr_expect(holds(200));
}

Test(resume, a_young_match_is_rebuilt_from_its_beginning)
{
    plan made = plan_of(199 + LS_WINDOW_TICKS, 200);
    make(&made);
    ls_resume_report report = restore_all();
    cr_expect_eq(report.from_tick, 0u);
    cr_expect_eq(report.roots, 199u + LS_WINDOW_TICKS);
    cr_expect(holds(199));
}

Test(resume, a_match_without_snapshots_is_rebuilt_from_its_beginning)
{
    plan made = plan_of(2500, 0);
    make(&made);
    ls_resume_report report = restore_all();
    cr_expect_eq(report.from_tick, 0u);
    cr_expect_eq(report.roots, 2500u);
}

Test(resume, a_match_that_began_and_has_no_tick_yet_is_waited_for)
{
    plan made = plan_of(0, 0);
    make(&made);
    cr_expect_eq(restore_all().tick, 0u);
    ls_match_advance(here.match, 1000 + UINT64_C(50000000)); /* it waits for 100 ms */
    cr_expect_eq(ls_match_state_of(here.match), LS_MATCH_RESUMING, "its players may know more");
}

Test(resume, who_sits_where_is_known_by_turns_and_newest_names)
{
    plan made = plan_of(100, 0);
    make(&made);
    restore_all();
    cr_expect_eq(ls_resume_seat_of(here.resume, 0)->turns.newest, 1u);
    cr_expect_eq(ls_resume_seat_of(here.resume, 1)->turns.newest, 2u, "a return is no new turn");
    cr_expect_str_eq(ls_resume_seat_of(here.resume, 0)->name, "Ada");
    cr_expect_str_eq(ls_resume_seat_of(here.resume, 1)->name, "Cid");
    cr_expect_str_eq(ls_match_slot_of(here.match, 1).name, "Cid");
}

/* Who sat down after a server came back has none of the turns that it may have forgotten. */
Test(resume, turns_that_a_server_may_have_forgotten_are_left_out)
{
    plan made = plan_of(100, 0);
    make(&made);
    append_event(LS_JOURNAL_EVENT_RESTORED, LS_JOURNAL_NO_SLOT, 100, "");
    append_event(LS_JOURNAL_EVENT_SEATED, 1, 100, "Dan");
    append_event(LS_JOURNAL_EVENT_RESTORED, LS_JOURNAL_NO_SLOT, 100, "");
    restore_all();
    ls_seat_turns first = ls_resume_seat_of(here.resume, 0)->turns;
    ls_seat_turns second = ls_resume_seat_of(here.resume, 1)->turns;
    cr_expect_eq(first.newest, 1u);
    cr_expect_eq(first.forgotten, 3 * LS_FORGOTTEN_TURNS_MAX, "twice before, and now");
    cr_expect_eq(second.newest, 2u + LS_FORGOTTEN_TURNS_MAX + 1u);
    cr_expect_eq(second.forgotten, 2 * LS_FORGOTTEN_TURNS_MAX);
}

static void expect_joined(const plan *made, const char *name, ls_tick tick)
{
    make(made);
    restore_all();
    cr_expect_str_eq(ls_match_slot_of(here.match, 1).name, name);
    cr_expect_eq(ls_match_slot_of(here.match, 1).joined_tick, tick);
    cr_expect_eq(ls_match_slot_of(here.match, 0).joined_tick, 0u);
}

Test(resume, when_a_player_joined_is_known_from_the_ticks_and_not_when_it_came_back)
{
    plan made = plan_of(100, 0);
    expect_joined(&made, "Cid", SECOND_PLAYER_TICK);
}

Test(resume, when_a_player_joined_is_known_behind_a_snapshot_too)
{
    plan made = plan_of(2400, 600);
    expect_joined(&made, "Cid", SECOND_PLAYER_TICK);
}

Test(resume, who_took_a_seat_over_joined_after_that)
{
    plan made = plan_of(100, 0);
    made.change_tick = CHANGE_TICK - 8;
    expect_joined(&made, "Dot", CHANGE_TICK);
}

Test(resume, who_sat_down_and_was_not_heard_of_again_joins_after_the_journal)
{
    plan made = plan_of(100, 0);
    made.change_tick = 99;
    expect_joined(&made, "Dot", 100);
}

Test(resume, who_was_turned_away_has_not_been_there)
{
    plan made = plan_of(100, 0);
    made.change_tick = 50;
    made.is_turned_away = true;
    expect_joined(&made, "Cid", SECOND_PLAYER_TICK);
    cr_expect(ls_resume_seat_of(here.resume, 1)->has_left, "as it had before");
    ls_seat_turns turns = ls_resume_seat_of(here.resume, 1)->turns;
    cr_expect_eq(turns.newest, 2u);
    cr_expect_eq(turns.spent, 1u, "what it was given");
    cr_expect_eq(turns.forgotten, LS_FORGOTTEN_TURNS_MAX);
}

Test(resume, nobody_comes_back_and_the_match_ends_where_it_stood)
{
    plan made = plan_of(100, 0);
    make(&made);
    restore_all();
    for (uint64_t ms = 0; ms < 60000 && ls_match_state_of(here.match) != LS_MATCH_OVER; ms += 50) {
        ls_match_advance(here.match, 1000 + ms * 1000000);
    }
    cr_expect_eq(ls_match_state_of(here.match), LS_MATCH_OVER);
    cr_expect_geq(ls_match_tick(here.match), 100u);
}

/* ---- what is missing ---- */

Test(resume, ticks_that_are_missing_before_a_snapshot_are_told_and_do_no_harm)
{
    plan made = plan_of(3000, 600);
    made.gap_first = 2100;
    made.gap_end = 2150;
    make(&made);
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
    uint64_t root = ls_match_root(here.match);
    forget_match();
    cr_assert_eq(restore(end, &report), LS_OK, "%s", here.why.bytes);
    cr_expect_eq(report.tick, tick);
    cr_expect_eq(report.cut_bytes, 0u);
    cr_expect_not(report.is_cut_at_gap);
    cr_expect_eq(ls_match_root(here.match), root);
}

Test(resume, missing_ticks_with_no_snapshot_behind_them_end_the_journal)
{
    plan made = plan_of(1000, 400);
    made.gap_first = 900;
    made.gap_end = 910;
    make(&made);
    expect_cut_at(900, 0);
}

Test(resume, missing_ticks_of_a_match_without_snapshots_end_the_journal)
{
    plan made = plan_of(300, 0);
    made.gap_first = 100;
    made.gap_end = 101;
    make(&made);
    expect_cut_at(100, 0);
}

Test(resume, a_snapshot_before_the_gap_is_gone_on_from)
{
    plan made = plan_of(500 + LS_WINDOW_TICKS, 400);
    made.gap_first = 450 + LS_WINDOW_TICKS;
    made.gap_end = 460 + LS_WINDOW_TICKS;
    make(&made);
    expect_cut_at(450 + LS_WINDOW_TICKS, 400);
}

/* Bits that flip in a block tear a gap; what stands behind it is no use. */
Test(resume, a_damaged_block_ends_the_journal_wherever_it_is)
{
    plan made = plan_of(300, 0);
    make(&made);
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
        tick += BLOCK_TICKS;
    }
    cr_expect_eq(tick, 288u);
    ls_journal_close(journal);
}

Test(resume, missing_ticks_with_nothing_before_them_are_refused)
{
    plan made = plan_of(300, 0);
    made.is_started = false;
    made.gap_end = 20;
    make(&made);
    expect_refused(LS_NOT_FOUND, "from tick 0 on");
}

Test(resume, a_match_that_is_cut_at_a_gap_ends_where_its_players_were_told)
{
    plan made = plan_of(300, 0);
    made.gap_first = 100;
    made.gap_end = 101;
    made.has_ended = true;
    make(&made);
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
    plan made = plan_of(800, 400);
    made.gap_first = 790;
    made.gap_end = 800;
    make(&made);
    ls_resume_report report = restore_all();
    cr_expect_eq(report.from_tick, 800u);
    cr_expect_eq(report.tick, 800u);
    cr_expect_eq(report.missing_tick, 790u);
}

Test(resume, a_torn_end_is_cut_off_wherever_it_is_torn)
{
    plan made = plan_of(120, 50);
    make(&made);
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
    plan made = plan_of(96, 0);
    make(&made);
    here.bytes[here.size - 3] ^= 0x10;
    ls_resume_report report = {0};
    cr_assert_eq(restore(here.size, &report), LS_OK, "%s", here.why.bytes);
    cr_expect_eq(report.tick, 80u);
    cr_expect_gt(report.cut_bytes, 0u);
    cr_expect(strstr(report.loss.bytes, "80"), "%s", report.loss.bytes);
}

/* ---- what is refused ---- */

Test(resume, a_finished_journal_is_refused)
{
    plan made = plan_of(60, 0);
    made.is_closed = true;
    make(&made);
    expect_refused(LS_ALREADY_OVER, "ended at tick 60");
}

Test(resume, a_match_whose_end_was_told_ends_there_again)
{
    plan made = plan_of(60, 0);
    made.has_ended = true;
    make(&made);
    ls_match_config config;
    restore_all();
    cr_assert_eq(ls_resume_configure(here.resume, here.config.simulation, &config, &here.why),
                 LS_OK);
    cr_expect_eq(config.ticks, 60u);
}

Test(resume, a_match_that_had_not_begun_has_its_lobby_again)
{
    plan made = plan_of(0, 0);
    made.is_started = false;
    make(&made);
    ls_resume_report report;
    cr_assert_eq(restore(here.size, &report), LS_OK, "%s", here.why.bytes);
    cr_expect_not(report.has_begun);
    cr_expect_eq(ls_match_state_of(here.match), LS_MATCH_LOBBY);
    cr_expect_not(ls_match_slot_of(here.match, 0).has_played);
}

Test(resume, a_part_of_another_journal_is_refused)
{
    plan made = plan_of(30, 0);
    made.header.first_tick = 10;
    make(&made);
    expect_refused(LS_UNSUPPORTED, "cut out");
}

Test(resume, a_damaged_header_is_refused)
{
    plan made = plan_of(30, 0);
    make(&made);
    here.bytes[60] ^= 1;
    expect_refused(LS_MALFORMED, "");
    cr_expect(here.why.bytes[0]);
}

Test(resume, no_bytes_at_all_are_refused)
{
    plan made = plan_of(0, 0);
    make(&made);
    here.size = 0;
    expect_refused(LS_MALFORMED, "");
    cr_expect(here.why.bytes[0]);
}

Test(resume, another_simulation_is_refused)
{
    plan made = plan_of(30, 0);
    make(&made);
    here.config.simulation = ls_units_simulation();
    expect_refused(LS_SIMULATION_MISMATCH, "units");
}

Test(resume, another_version_of_the_simulation_is_refused)
{
    plan made = plan_of(30, 0);
    made.header.simulation_version++;
    make(&made);
    expect_refused(LS_SIMULATION_VERSION_MISMATCH, "version");
}

Test(resume, another_schema_is_refused)
{
    plan made = plan_of(30, 0);
    made.header.digests.schema++;
    make(&made);
    expect_refused(LS_SIMULATION_MISMATCH, "schema");
}

static void expect_roots(const char *tick, uint64_t root)
{
    char words[32];
    expect_refused(LS_DESYNCED, tick);
    snprintf(words, sizeof words, "%016llx", (unsigned long long)root);
    cr_expect(strstr(here.why.bytes, words), "no %s in: %s", words, here.why.bytes);
    snprintf(words, sizeof words, "%016llx", (unsigned long long)(root ^ 1));
    cr_expect(strstr(here.why.bytes, words), "no %s in: %s", words, here.why.bytes);
}

Test(resume, a_state_that_is_not_the_recorded_one_is_told_with_both_roots)
{
    plan made = plan_of(64, 0);
    made.wrong_root_tick = 64;
    make(&made);
    expect_roots("state 64", here.final_root);
}

Test(resume, a_snapshot_that_is_not_the_recorded_state_is_told_with_both_roots)
{
    plan made = plan_of(500, 500);
    make(&made);
    uint64_t root = here.final_root;
    close_all();
    memset(&here, 0, sizeof here);
    made = plan_of(500 + LS_WINDOW_TICKS, 500);
    made.wrong_snapshot_tick = 500;
    make(&made);
    expect_roots("tick 500", root);
}

/* ---- flags ---- */

Test(resume, settings_are_as_they_were_recorded)
{
    plan made = plan_of(30, 0);
    made.header.late_rule = LS_LATE_WAIT;
    made.header.ticks = 900;
    made.header.adapts_input_delay = true;
    make(&made);
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
    plan made = plan_of(30, 0);
    make(&made);
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
