#include "lockstep/tests/unit/made_journal.h"

#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/common/simulation/tick_chain.h"
#include "lockstep/common/simulations/arena/arena.h"

#include <stdlib.h>

resume_place here;

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

void append_event(ls_journal_event_kind kind, uint32_t slot, ls_tick tick, const char *text)
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

journal_plan plan_of(uint32_t ticks, uint32_t snapshot_ticks)
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

void make_journal(const journal_plan *made)
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

void forget_match(void)
{
    ls_match_destroy(here.match);
    ls_resume_close(here.resume);
    here.match = NULL;
    here.resume = NULL;
}

void close_all(void)
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

ls_status open_resume(size_t size)
{
    return ls_resume_open(here.bytes, size, ls_allocator_heap(), &here.resume, &here.why);
}

ls_status restore(size_t size, ls_resume_report *report)
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

ls_resume_report restore_all(void)
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

void expect_refused(ls_status expected, const char *words)
{
    ls_resume_report report;
    cr_expect_eq(restore(here.size, &report), expected, "%s", here.why.bytes);
    cr_expect(strstr(here.why.bytes, words), "no \"%s\" in: %s", words, here.why.bytes);
}
