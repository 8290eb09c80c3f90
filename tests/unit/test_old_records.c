/* Files that version 0.1.0 wrote stay readable: tests/samples holds three journals and a bundle,
 * and these tests compare them with what that version printed. Version 1 of the arena, which two of
 * them and the bundle played, is not played any more. */
#include "lockstep/common/base/hash.h"
#include "lockstep/common/journal/desync_bundle.h"
#include "lockstep/common/journal/journal.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/common/system/file.h"

#include <criterion/criterion.h>
#include <string.h>

typedef struct sample {
    ls_mapped_file file;
    ls_journal *journal;
    ls_sim_instance *instance;
} sample;

static sample here;

static void read_sample(const char *name)
{
    ls_text path = {{0}}, why = {{0}};
    ls_text_set(&path, "%s/%s", LS_TEST_SAMPLES, name);
    cr_assert_eq(ls_mapped_file_open(path.bytes, &here.file, &why), LS_OK, "%s", why.bytes);
}

static const ls_journal_info *open_journal(const char *name, ls_journal_trust trust, ls_text *why)
{
    read_sample(name);
    cr_assert_eq(ls_journal_open(here.file.bytes, here.file.size, trust, ls_allocator_heap(),
                                 &here.journal, why),
                 LS_OK, "%s: %s", name, why->bytes);
    return ls_journal_info_of(here.journal);
}

static void make_instance(const char *simulation)
{
    const ls_journal_header *header = ls_journal_header_of(here.journal);
    cr_assert_str_eq(header->simulation, simulation);
    cr_assert_eq(ls_sim_instance_create(ls_builtin_simulation_named(simulation), &header->config,
                                        ls_allocator_heap(), &here.instance, NULL),
                 LS_OK);
}

static void close_sample(void)
{
    ls_sim_instance_destroy(here.instance);
    ls_journal_close(here.journal);
    ls_mapped_file_close(&here.file);
}

TestSuite(old_records, .fini = close_sample);

static void expect_refused(const char *simulation, const char *reason)
{
    ls_text why = {{0}};
    cr_expect_eq(ls_journal_header_check_simulation(ls_journal_header_of(here.journal),
                                                    ls_builtin_simulation_named(simulation), &why),
                 LS_SIMULATION_VERSION_MISMATCH);
    cr_expect_str_eq(why.bytes, reason);
}

#define OLD_ARENA "the journal is of version 1 of 'arena', here is version 2"

/* Reads every recorded tick. If there is an instance it steps, and each state has to have the hash
 * that stands in the journal. Returns the bytes of all inputs. */
static uint64_t read_ticks(ls_tick first, ls_tick end)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    uint64_t state_hash = 0, input_bytes = 0;
    for (ls_tick tick = first; tick < end; tick++) {
        cr_assert_eq(ls_journal_next_tick(here.journal, slots, &inputs, &state_hash), LS_OK);
        cr_assert_eq(inputs.tick, tick);
        if (here.instance) {
            ls_sim_instance_step(here.instance, &inputs);
            cr_assert_eq(ls_sim_instance_hash(here.instance), state_hash, "after tick %u", tick);
        }
        input_bytes += slots[0].size + slots[1].size;
    }
    cr_assert_eq(ls_journal_next_tick(here.journal, slots, &inputs, &state_hash), LS_NOT_FOUND);
    return input_bytes;
}

static void expect_closed(const ls_journal_info *info, const ls_text *why)
{
    cr_expect_str_empty(why->bytes);
    cr_expect(info->is_complete);
    cr_expect_eq(info->end_tick, 120u);
    cr_expect_eq(info->end.final_tick, 120u);
    cr_expect_eq(info->end.final_hash, UINT64_C(0xd1bda2873a9ce58b));
    cr_expect_eq(info->tick_chain, UINT64_C(0x6a77605c7abbed1e));
}

Test(old_records, closed_journal_is_read_record_by_record)
{
    ls_text why = {{0}};
    const ls_journal_info *info = open_journal("closed.journal", LS_JOURNAL_CHECK_ALL, &why);
    static const uint64_t records[] = {0, 1, 5, 7, 0, 1, 1};
    static const uint64_t stored_bytes[] = {0, 436, 2135, 411, 0, 91, 60};
    expect_closed(info, &why);
    cr_expect_eq(memcmp(info->records, records, sizeof records), 0);
    cr_expect_eq(memcmp(info->stored_bytes, stored_bytes, sizeof stored_bytes), 0);
    cr_expect_eq(ls_journal_header_of(here.journal)->match_id, UINT64_C(0x015c26bd8080a371));
    cr_expect_str_eq(ls_journal_header_of(here.journal)->print.items[LS_PRINT_LOCKSTEP], "0.1.0");
    expect_refused("arena", OLD_ARENA);
    cr_expect_eq(read_ticks(0, 120), 480u);
}

Test(old_records, closed_journal_is_read_by_its_index)
{
    ls_text why = {{0}};
    expect_closed(open_journal("closed.journal", LS_JOURNAL_TRUST_INDEX, &why), &why);
    cr_expect(!ls_journal_info_of(here.journal)->is_counted);
    static const ls_journal_event_kind kinds[] = {LS_JOURNAL_EVENT_SEATED,  LS_JOURNAL_EVENT_SEATED,
                                                  LS_JOURNAL_EVENT_STARTED, LS_JOURNAL_EVENT_DESYNC,
                                                  LS_JOURNAL_EVENT_CAUSE,   LS_JOURNAL_EVENT_HEALED,
                                                  LS_JOURNAL_EVENT_ENDED};
    uint64_t offset = 0;
    ls_journal_event event;
    for (uint32_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        cr_assert_eq(ls_journal_next_event(here.journal, &offset, &event), LS_OK);
        cr_expect_eq(event.kind, kinds[i]);
    }
    cr_expect_eq(ls_journal_next_event(here.journal, &offset, &event), LS_NOT_FOUND);
}

Test(old_records, journal_of_a_crashed_server_is_read_to_its_last_record)
{
    ls_text why = {{0}};
    const ls_journal_info *info = open_journal("unclosed.journal", LS_JOURNAL_CHECK_ALL, &why);
    cr_expect(!info->is_complete);
    cr_expect_eq(info->lost_bytes, 0u);
    cr_expect_eq(info->append_offset, here.file.size);
    cr_expect_eq(info->tick_chain, UINT64_C(0xecc8069416d73af0));
    make_instance("units");
    cr_expect_gt(read_ticks(0, 372), 0u);
}

Test(old_records, cut_journal_has_its_snapshot_and_the_ticks_behind_it)
{
    ls_text why = {{0}};
    expect_closed(open_journal("cut.journal", LS_JOURNAL_CHECK_ALL, &why), &why);
    ls_journal_snapshot snapshot;
    static uint8_t state[1 << 16];
    cr_assert_eq(ls_journal_find_snapshot(here.journal, 60, &snapshot), LS_OK);
    cr_assert_leq(snapshot.state_bytes, sizeof state);
    cr_assert_eq(ls_journal_read_snapshot(here.journal, &snapshot, state), LS_OK);
    cr_expect_eq(snapshot.tick, 60u);
    cr_expect_eq(ls_hash_bytes(state, snapshot.state_bytes, 0), UINT64_C(0x71feb4810cc07e26));
    cr_expect_gt(read_ticks(60, 120), 0u);
    expect_refused("arena", OLD_ARENA);
}

Test(old_records, bundle_has_its_verdict_values_and_ticks)
{
    ls_text why = {{0}};
    ls_bundle_reading *reading = NULL;
    read_sample("desync.bundle");
    cr_assert_eq(ls_bundle_reading_open(here.file.bytes, here.file.size, ls_allocator_heap(),
                                        &reading, &why),
                 LS_OK, "%s", why.bytes);
    cr_expect_str_empty(why.bytes);
    const ls_desync_bundle *bundle = ls_bundle_reading_bundle(reading);
    cr_expect_str_eq(bundle->player, "two");
    cr_expect_eq(bundle->tick, 60u);
    cr_expect_eq(bundle->server_hash, UINT64_C(0x84b12113368b2c02));
    cr_expect_eq(bundle->client_hash, UINT64_C(0x1cfc75479fd325ce));
    cr_expect_eq(bundle->verdict.kind, LS_DESYNC_CLASS_ONE_OFF);
    cr_expect_eq(bundle->verdict.culprit, LS_DESYNC_CULPRIT_CLIENT);
    cr_expect_str_eq(bundle->passes[8], "spawn");
    cr_expect_eq(bundle->server.passes.state_hashes[6], UINT64_C(0x84b12113368b2c02));
    size_t differing = 0;
    for (size_t i = 0; i < bundle->state_bytes; i++) {
        differing += bundle->server.state[i] != bundle->client.state[i];
    }
    cr_expect_eq(differing, 1u);
    ls_replay_stretch stretch;
    cr_assert_eq(ls_bundle_reading_stretch(reading, &stretch), LS_OK);
    cr_expect_eq(stretch.last - stretch.first, 60u);
    ls_bundle_reading_close(reading);
}
