/* The recorder writes a match down, and leaves something out while a disk is slow or full. */
#include "lockstep/common/base/assert.h"
#include "lockstep/common/journal/journal.h"
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/server/journal/recorder.h"
#include "lockstep/tests/match/match_test.h"
#include "lockstep/tests/support/counting_allocator.h"

#include <stdlib.h>
#include <string.h>

/* Memory store: a recorder's store that keeps the file in memory and writes when it is told to: it
 * can be slow, full, or fail for a while. For tests only. */

typedef struct memory_store {
    ls_journal_writer *writer;
    uint8_t *bytes;
    size_t size;
    size_t capacity;
    bool has_record; /* that waits to be written */
    ls_journal_raw raw;
    bool is_stuck;                /* nothing is written and nothing told */
    bool is_failing;              /* every write fails */
    bool takes_events;            /* though they are small enough to fit on the full disk */
    bool takes_all_but_snapshots; /* likewise, and ticks too */
    uint64_t failures;
    uint64_t submissions;
} memory_store;

static void memory_store_init(memory_store *store, size_t raw_bytes_max)
{
    *store = (memory_store){.capacity = 1 << 16};
    store->bytes = malloc(store->capacity);
    ls_status status =
        ls_journal_writer_create(raw_bytes_max, NULL, ls_allocator_heap(), &store->writer);
    LS_ASSERT(store->bytes && status == LS_OK);
}

static void memory_store_deinit(memory_store *store)
{
    ls_journal_writer_destroy(store->writer);
    free(store->bytes);
}

static bool submit(void *user, const ls_journal_raw *raw)
{
    memory_store *store = user;
    if (store->has_record) {
        return false;
    }
    store->raw = *raw;
    store->has_record = true;
    store->submissions++;
    return true;
}

static ls_journal_store memory_store_of(memory_store *store)
{
    return (ls_journal_store){.submit = submit, .user = store};
}

static uint64_t write_record(memory_store *store)
{
    ls_journal_framed record = ls_journal_writer_frame(store->writer, &store->raw);
    LS_ASSERT(record.offset == store->size);
    while (record.offset + record.size > store->capacity) {
        store->capacity *= 2;
        store->bytes = realloc(store->bytes, store->capacity);
    }
    memcpy(store->bytes + record.offset, record.bytes, record.size);
    store->size += record.size;
    ls_journal_writer_keep(store->writer);
    return record.size;
}

/* Writes what waits, and what the recorder hands on then, and tells it how that went. */
static void memory_store_pump(memory_store *store, ls_recorder *recorder, uint64_t now_ns)
{
    while (store->has_record && !store->is_stuck) {
        ls_journal_completion done = {.status = LS_IO, .why = "the disk is full"};
        ls_journal_kind kind = store->raw.kind;
        bool fits = (store->takes_events && kind == LS_JOURNAL_EVENT) ||
                    (store->takes_all_but_snapshots && kind != LS_JOURNAL_SNAPSHOT);
        if (store->is_failing && !fits) {
            store->failures++;
        } else {
            done = (ls_journal_completion){
                .status = LS_OK, .written_bytes = write_record(store), .why = ""};
        }
        store->has_record = false;
        ls_recorder_complete(recorder, &done, now_ns);
    }
}

enum {
    PULL_MS = 5,
};

typedef struct recording {
    virtual_match *run;
    memory_store store;
    ls_recorder *recorder;
    ls_journal *journal; /* NULL until open_journal */
    uint32_t events;     /* of the run that the recorder has */
    uint64_t after_ns;   /* that have passed since the match was over */
} recording;

static recording here;

static ls_recorder_config quick(void)
{
    ls_recorder_config config = ls_recorder_config_default();
    config.snapshot_ms = 2000;
    config.snapshot_bytes_per_s = UINT32_MAX;
    return config;
}

static void begin(const ls_simulation *simulation, uint32_t ticks, ls_recorder_config config)
{
    virtual_setup setup = virtual_setup_default(simulation, 2, ticks);
    setup.match.match_id = 0xabcdef;
    setup.match.key.bytes[3] = 9;
    here = (recording){.run = checked_match_create(&setup)};
    memory_store_init(&here.store, ls_recorder_raw_bytes_max(&config, here.run->match));
    ls_journal_store store = memory_store_of(&here.store);
    cr_assert_eq(
        ls_recorder_create(&config, here.run->match, &store, ls_allocator_heap(), &here.recorder),
        LS_OK);
}

static void end(void)
{
    ls_journal_close(here.journal);
    ls_recorder_destroy(here.recorder);
    memory_store_deinit(&here.store);
    virtual_match_destroy(here.run);
}

/* As a driver does it: the match moves on, its events go to the recorder, and it pulls. Time passes
 * although the match is over. */
static void play_on(uint64_t ns)
{
    for (uint64_t passed_ns = 0; passed_ns < ns; passed_ns += PULL_MS * MS) {
        uint64_t before_ns = here.run->now_ns;
        virtual_match_run(here.run, PULL_MS * MS);
        here.after_ns += here.run->now_ns == before_ns ? PULL_MS * MS : 0;
        uint64_t now_ns = virtual_match_server_ns(here.run) + here.after_ns;
        for (; here.events < here.run->event_count; here.events++) {
            ls_recorder_receive_event(here.recorder, &here.run->events[here.events].event);
        }
        ls_recorder_pull(here.recorder, now_ns);
        memory_store_pump(&here.store, here.recorder, now_ns);
    }
}

static void play_to_end(void)
{
    for (uint32_t i = 0; i < 600 && !ls_recorder_is_done(here.recorder); i++) {
        play_on(100 * MS);
    }
    cr_assert(ls_recorder_is_done(here.recorder));
}

/* The journal as it is written by now; good until the next call. */
static ls_journal *open_journal(void)
{
    ls_text why = {{0}};
    ls_journal_close(here.journal);
    here.journal = NULL;
    cr_assert_eq(ls_journal_open(here.store.bytes, here.store.size, LS_JOURNAL_CHECK_ALL,
                                 ls_allocator_heap(), &here.journal, &why),
                 LS_OK, "%s", why.bytes);
    return here.journal;
}

/* Simulates what was recorded from `tick` on, with the state that the instance has, until the
 * journal ends or ticks are missing. Every state hash must be as recorded. Returns the tick
 * reached. */
static ls_tick simulate(ls_journal *journal, ls_sim_instance *instance)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    uint64_t state_hash = 0;
    ls_journal_seek(journal, ls_sim_instance_tick(instance));
    while (ls_journal_next_tick(journal, slots, &inputs, &state_hash) == LS_OK &&
           inputs.tick == ls_sim_instance_tick(instance)) {
        ls_sim_instance_step(instance, &inputs);
        cr_assert_eq(state_hash, ls_sim_instance_hash(instance), "state %u", inputs.tick + 1);
    }
    return ls_sim_instance_tick(instance);
}

static ls_sim_instance *make_instance(const ls_journal *journal, const ls_simulation *simulation)
{
    ls_sim_instance *instance = NULL;
    cr_assert_eq(ls_sim_instance_create(simulation, &ls_journal_header_of(journal)->config,
                                        ls_allocator_heap(), &instance, NULL),
                 LS_OK);
    return instance;
}

static void load_snapshot(ls_journal *journal, ls_sim_instance *instance, ls_tick tick)
{
    ls_journal_snapshot snapshot;
    static uint8_t state[1 << 20];
    cr_assert_eq(ls_journal_next_snapshot(journal, tick, &snapshot), LS_OK);
    cr_assert_eq(snapshot.state_bytes, ls_sim_instance_save_bytes(instance));
    cr_assert_eq(ls_journal_read_snapshot(journal, &snapshot, state), LS_OK);
    cr_assert_eq(ls_sim_instance_load(instance, state, (size_t)snapshot.state_bytes, snapshot.tick),
                 LS_OK);
    cr_assert_eq(ls_sim_instance_hash(instance), snapshot.state_hash);
}

TestSuite(record, .fini = end);

Test(record, a_recorded_match_is_simulated_again_to_the_same_end)
{
    begin(ls_arena_simulation(), 900, quick());
    play_to_end();
    ls_journal *journal = open_journal();
    const ls_journal_info *info = ls_journal_info_of(journal);
    const ls_recorder_figures *figures = ls_recorder_figures_of(here.recorder);
    cr_expect(info->is_complete);
    cr_expect_eq(info->end_tick, 900u);
    cr_expect_eq(info->end.final_hash, ls_match_hash(here.run->match));
    cr_expect_eq(info->tick_chain, ls_match_tick_chain(here.run->match, 900));
    cr_expect_eq(info->ticks_missing, 0u);
    cr_expect_eq(figures->ticks, 900u);
    cr_expect_eq(figures->bytes, here.store.size);
    cr_expect_eq(figures->failures, 0u);
    cr_expect_eq(figures->snapshots, info->snapshots);
    cr_expect_eq(figures->backlog_ticks, 0u);
    ls_sim_instance *instance = make_instance(journal, ls_arena_simulation());
    cr_expect_eq(simulate(journal, instance), 900u);
    ls_sim_instance_destroy(instance);
}

Test(record, header_says_all_that_is_needed)
{
    begin(ls_arena_simulation(), 30, quick());
    play_to_end();
    ls_journal *journal = open_journal();
    const ls_journal_header *header = ls_journal_header_of(journal);
    ls_sim_digests digests = ls_sim_instance_digests(ls_match_instance(here.run->match));
    cr_expect_eq(header->match_id, 0xabcdefu);
    cr_expect_eq(header->key.bytes[3], 9u);
    cr_expect_str_eq(header->simulation, ls_arena_simulation()->name);
    cr_expect_eq(memcmp(&header->digests, &digests, sizeof digests), 0);
    cr_expect_eq(header->config.players, 2u);
    cr_expect_eq(header->ticks, 30u);
    cr_expect_eq(header->hash_interval_ticks, 1u);
    ls_journal_event event;
    uint64_t offset = 0;
    uint32_t kinds = 0;
    while (ls_journal_next_event(journal, &offset, &event) == LS_OK) {
        kinds |= UINT32_C(1) << event.kind;
    }
    uint32_t expected = UINT32_C(1) << LS_JOURNAL_EVENT_SEATED |
                        UINT32_C(1) << LS_JOURNAL_EVENT_STARTED |
                        UINT32_C(1) << LS_JOURNAL_EVENT_ENDED;
    cr_expect_eq(kinds, expected);
}

Test(record, snapshots_are_as_far_apart_as_asked_for_and_each_can_be_gone_on_from)
{
    begin(ls_arena_simulation(), 900, quick());
    play_to_end();
    ls_journal *journal = open_journal();
    ls_sim_instance *instance = make_instance(journal, ls_arena_simulation());
    uint32_t count = 0;
    ls_journal_snapshot snapshot = {0};
    while (ls_journal_next_snapshot(journal, snapshot.tick + 1, &snapshot) == LS_OK) {
        load_snapshot(journal, instance, snapshot.tick);
        cr_expect_eq(snapshot.hash_chain_tick, snapshot.tick);
        cr_expect_eq(simulate(journal, instance), 900u);
        count++;
    }
    cr_expect_eq(count, 7u, "every 2 s of 15, and not %u", count);
    ls_sim_instance_destroy(instance);
}

Test(record, large_states_are_saved_less_often)
{
    ls_recorder_config config = quick();
    config.snapshot_bytes_per_s = 1000; /* arena has several thousand */
    begin(ls_arena_simulation(), 900, config);
    size_t bytes = ls_sim_instance_save_bytes(ls_match_instance(here.run->match));
    play_to_end();
    ls_journal *journal = open_journal();
    cr_expect_gt(bytes, 5000u);
    cr_expect_leq(ls_journal_info_of(journal)->snapshots, 15000u / bytes + 1);
}

Test(record, a_crash_loses_no_more_than_a_quarter_of_a_second)
{
    begin(ls_arena_simulation(), 0, quick());
    for (uint32_t i = 0; i < 40; i++) {
        play_on(85 * MS);
        ls_tick closed = ls_match_tick(here.run->match);
        if (closed == 0) {
            continue;
        }
        ls_journal *journal = open_journal();
        cr_assert_leq(closed - ls_journal_info_of(journal)->end_tick, 16u);
    }
    cr_expect_gt(ls_match_tick(here.run->match), 100u);
}

Test(record, a_slow_disk_is_waited_for_and_nothing_is_lost)
{
    begin(ls_arena_simulation(), 1500, quick());
    play_on(2 * SECOND);
    here.store.is_stuck = true;
    play_on(10 * SECOND);
    cr_expect_gt(ls_recorder_figures_of(here.recorder)->backlog_ticks, 500u);
    here.store.is_stuck = false;
    play_to_end();
    const ls_recorder_figures *figures = ls_recorder_figures_of(here.recorder);
    cr_expect_eq(figures->ticks_missing, 0u);
    cr_expect_eq(figures->ticks, 1500u);
    cr_expect_gt(figures->backlog_max, 500u);
    cr_expect_eq(ls_journal_info_of(open_journal())->ticks, 1500u);
}

Test(record, a_full_disk_costs_ticks_is_said_and_is_gone_on_from)
{
    begin(ls_arena_simulation(), 5400, quick());
    play_on(2 * SECOND);
    cr_expect(!ls_recorder_has_event(here.recorder));
    here.store.is_failing = true;
    play_on(60 * SECOND);
    const ls_recorder_figures *figures = ls_recorder_figures_of(here.recorder);
    cr_expect(figures->is_failing && ls_recorder_has_event(here.recorder));
    cr_expect(!ls_recorder_has_event(here.recorder), "said once");
    cr_expect_str_eq(figures->why.bytes, "the disk is full");
    cr_expect_leq(here.store.failures, 61u, "tried once a second");
    cr_expect_geq(here.store.failures, 58u);
    here.store.is_failing = false;
    play_to_end();
    cr_expect(!figures->is_failing && ls_recorder_has_event(here.recorder));
    cr_expect_eq(figures->failures, here.store.failures);
    cr_expect_gt(figures->ticks_missing, 300u);
    cr_expect_eq(figures->ticks + figures->ticks_missing, 5400u);
    check_complete(here.run);

    ls_journal *journal = open_journal();
    const ls_journal_info *info = ls_journal_info_of(journal);
    cr_expect_eq(info->ticks_missing, figures->ticks_missing);
    cr_expect_eq(info->gaps, 1u);
    cr_expect_eq(info->lost_bytes, 0u);
    cr_expect(info->is_complete);
    ls_sim_instance *instance = make_instance(journal, ls_arena_simulation());
    cr_expect_eq(simulate(journal, instance), info->gap_tick);
    load_snapshot(journal, instance, info->gap_tick + 1);
    ls_tick behind = info->gap_tick + (ls_tick)info->ticks_missing;
    cr_expect_leq(ls_sim_instance_tick(instance), behind + LS_WINDOW_TICKS + 60,
                  "a snapshot as soon as it can be");
    cr_expect_eq(simulate(journal, instance), 5400u);
    uint32_t told = 0;
    ls_journal_event event;
    uint64_t offset = 0;
    while (ls_journal_next_event(journal, &offset, &event) == LS_OK) {
        told += event.kind == LS_JOURNAL_EVENT_FAILED ? 1 : 0;
        told += event.kind == LS_JOURNAL_EVENT_GAP && event.tick == info->gap_tick ? 16 : 0;
    }
    cr_expect_eq(told, 17u);
    ls_sim_instance_destroy(instance);
}

Test(record, a_disk_that_has_room_for_words_and_not_for_ticks_is_full)
{
    begin(ls_arena_simulation(), 1800, quick());
    play_on(2 * SECOND);
    here.store.is_failing = true;
    here.store.takes_events = true;
    play_on(10 * SECOND);
    const ls_recorder_figures *figures = ls_recorder_figures_of(here.recorder);
    cr_expect(ls_recorder_has_event(here.recorder) && figures->is_failing);
    play_on(5 * SECOND);
    cr_expect(!ls_recorder_has_event(here.recorder), "not written again, and not full again");
    here.store.is_failing = false;
    play_to_end();
    cr_expect(!figures->is_failing && ls_recorder_has_event(here.recorder));
    check_complete(here.run);
    cr_expect_eq(ls_journal_info_of(open_journal())->ticks, 1800u);
}

Test(record, snapshots_that_do_not_fit_are_told_of_once_and_once_when_they_fit_again)
{
    begin(ls_arena_simulation(), 1800, quick());
    play_on(4 * SECOND);
    here.store.is_failing = true;
    here.store.takes_all_but_snapshots = true;
    const ls_recorder_figures *figures = ls_recorder_figures_of(here.recorder);
    uint32_t told = 0;
    for (uint32_t i = 0; i < 10; i++) {
        play_on(SECOND);
        told += ls_recorder_has_snapshot_event(here.recorder) ? 1 : 0;
        cr_expect(!ls_recorder_has_event(here.recorder), "ticks are written all the time");
    }
    cr_expect(told == 1 && figures->is_leaving_out_snapshots, "told %u times", told);
    uint64_t failed = figures->snapshots_failed;
    cr_expect_geq(failed, 5u);
    cr_expect_eq(failed, here.store.failures);
    here.store.is_failing = false;
    play_on(3 * SECOND);
    cr_expect(ls_recorder_has_snapshot_event(here.recorder) && !figures->is_leaving_out_snapshots);
    play_to_end();
    cr_expect(!ls_recorder_has_snapshot_event(here.recorder) &&
              !ls_recorder_has_event(here.recorder));
    cr_expect_eq(figures->snapshots_failed, failed);
    cr_expect_eq(figures->ticks, 1800u);
}

Test(record, a_snapshot_that_does_not_fit_at_the_end_leaves_the_journal_complete)
{
    begin(ls_arena_simulation(), 300, quick());
    play_on(2 * SECOND);
    here.store.is_stuck = true; /* the snapshot that is due meanwhile waits for the disk */
    play_on(10 * SECOND);
    here.store.is_stuck = false;
    here.store.is_failing = true;
    here.store.takes_all_but_snapshots = true;
    play_to_end();
    const ls_recorder_figures *figures = ls_recorder_figures_of(here.recorder);
    cr_expect(figures->is_leaving_out_snapshots && !figures->is_failing);
    ls_journal *journal = open_journal();
    cr_expect(ls_journal_info_of(journal)->is_complete);
    cr_expect_eq(ls_journal_info_of(journal)->ticks, 300u);
}

Test(record, a_disk_that_is_full_at_the_end_is_given_up)
{
    begin(ls_arena_simulation(), 300, quick());
    play_on(2 * SECOND);
    here.store.is_failing = true;
    play_to_end();
    const ls_recorder_figures *figures = ls_recorder_figures_of(here.recorder);
    cr_expect_eq(figures->ticks + figures->ticks_missing, 300u);
    cr_expect_gt(figures->ticks_missing, 100u);
    check_complete(here.run);
    ls_journal *journal = open_journal();
    cr_expect_eq(ls_journal_info_of(journal)->end_tick, figures->ticks);
    cr_expect(!ls_journal_info_of(journal)->is_complete);
}

Test(record, a_match_that_never_began_has_a_journal_without_ticks)
{
    begin(ls_arena_simulation(), 300, quick());
    ls_match_stop(here.run->match, virtual_match_server_ns(here.run));
    play_to_end();
    ls_journal *journal = open_journal();
    cr_expect(ls_journal_info_of(journal)->is_complete);
    cr_expect_eq(ls_journal_info_of(journal)->ticks, 0u);
}

Test(record, the_return_of_a_server_is_written_first_and_synchronised)
{
    begin(ls_arena_simulation(), 0, quick());
    play_on(SECOND);
    ls_recorder_config config = quick();
    config.is_continued = true;
    ls_journal_store store = memory_store_of(&here.store);
    ls_recorder_destroy(here.recorder);
    cr_assert_eq(
        ls_recorder_create(&config, here.run->match, &store, ls_allocator_heap(), &here.recorder),
        LS_OK);
    ls_tick tick = ls_match_tick(here.run->match);
    ls_recorder_pull(here.recorder, virtual_match_server_ns(here.run));
    cr_assert(here.store.has_record);
    cr_assert_eq(here.store.raw.kind, LS_JOURNAL_EVENT);
    cr_assert(here.store.raw.is_pressing);
    memory_store_pump(&here.store, here.recorder, virtual_match_server_ns(here.run));
    ls_journal *journal = open_journal();
    ls_journal_event event = {0};
    uint64_t offset = 0;
    while (event.kind != LS_JOURNAL_EVENT_RESTORED) {
        cr_assert_eq(ls_journal_next_event(journal, &offset, &event), LS_OK);
    }
    cr_assert_eq(event.tick, tick);
}

Test(record, nothing_is_allocated_while_a_match_is_recorded)
{
    begin(test_simulation(), 0, quick());
    play_on(3 * SECOND);
    here.store.is_stuck = true; /* compressing is the store's affair */
    uint64_t calls = 0;
    for (uint32_t i = 0; i < 200; i++) {
        virtual_match_run(here.run, PULL_MS * MS);
        uint64_t before = heap_calls();
        ls_recorder_pull(here.recorder, virtual_match_server_ns(here.run));
        calls += heap_calls() - before;
    }
    cr_expect_eq(calls, 0u);
    cr_expect_gt(ls_recorder_figures_of(here.recorder)->backlog_ticks, 30u);
}
