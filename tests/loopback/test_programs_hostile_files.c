/* Journals and bundles that another person made, opened by the programs that read them: a state of
 * a script that says it is longer than it is, and so is a text inside. */
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/journal/desync_bundle.h"
#include "lockstep/common/journal/journal.h"
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/tests/loopback/hosted.h"
#include "lockstep/tests/support/plugin_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TICKS = 60,
    TICK_SAVED = 40,
    PLAYERS = 2,
};

#define NEEDLE "a text to be found"
#define TEXT_BYTES 0x0a000000u /* which the text says it has */
#define SAVE_BYTES (UINT64_C(1) << 40)

static const char script[] = "function init() storage = {text = '" NEEDLE "', n = 0} end\n"
                             "function step(tick) storage.n = storage.n + tick end\n";

static ls_sim_instance *instance;
static const char *script_path;
static uint32_t version; /* of the simulation that the files are of */

static void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
}

static void open(void)
{
    hosted_open();
    load_plugin(LS_TEST_LUA);
    ls_sim_config config = ls_sim_config_default(loaded.simulation);
    size_t size = strlen(script);
    config.players = PLAYERS;
    version = loaded.simulation->version;
    config.files[0] = (ls_sim_file){(const uint8_t *)script, size, ls_hash_bytes(script, size, 0)};
    instance = keep_instance(loaded.simulation, &config);
    script_path = hosted_path("script.lua");
    write_file(script_path, script, size);
}

static void close(void)
{
    unload_plugin();
    hosted_close();
}

TestSuite(programs_hostile_files, .init = open, .fini = close);

static ls_tick_inputs step(void)
{
    static ls_slot_input slots[PLAYERS];
    ls_tick tick = ls_sim_instance_tick(instance);
    ls_tick_inputs inputs = {.tick = tick, .slot_count = PLAYERS, .slots = slots};
    slots[0].events = slots[1].events = tick == 0 ? LS_EVENT_JOINED : 0;
    ls_sim_instance_step(instance, &inputs);
    return inputs;
}

/* The state says that it goes on for a terabyte, and the text that it fills much of that. */
static void lie(uint8_t *state, size_t size)
{
    uint8_t *text = NULL;
    for (size_t at = 0; !text && at + strlen(NEEDLE) <= size; at++) {
        text = memcmp(state + at, NEEDLE, strlen(NEEDLE)) == 0 ? state + at : NULL;
    }
    cr_assert(text && ls_load_u32(text - 4) == strlen(NEEDLE));
    ls_store_u32(text - 4, TEXT_BYTES);
    ls_store_u64(state, SAVE_BYTES);
}

/* ---- a journal ---- */

static FILE *journal;
static ls_journal_writer *writer;

static void append(const ls_journal_raw *raw)
{
    ls_journal_framed record = ls_journal_writer_frame(writer, raw);
    cr_assert_eq(fseek(journal, (long)record.offset, SEEK_SET), 0);
    cr_assert_eq(fwrite(record.bytes, 1, record.size, journal), record.size);
    ls_journal_writer_keep(writer);
}

static void append_header(void)
{
    uint8_t bytes[LS_JOURNAL_HEADER_BYTES_MAX];
    ls_journal_header header = {.match_id = 42,
                                .simulation_version = version,
                                .config = *ls_sim_instance_config(instance),
                                .digests = ls_sim_instance_digests(instance),
                                .input_bytes_max = loaded.simulation->input_bytes_max,
                                .save_bytes = ls_sim_instance_save_bytes(instance),
                                .hash_interval_ticks = 1,
                                .timeout_ms = 4000,
                                .wait_limit_ms = 700};
    ls_name_copy(header.simulation, sizeof header.simulation, loaded.simulation->name);
    ls_journal_raw raw = ls_journal_header_record(&header, bytes);
    append(&raw);
}

static void append_block(ls_tick end, uint64_t *chain)
{
    static uint8_t memory[1 << 16];
    ls_tick_block_writer block;
    ls_tick_block_start(&block, memory, sizeof memory, PLAYERS);
    while (ls_sim_instance_tick(instance) < end) {
        ls_tick_inputs inputs = step();
        *chain = ls_tick_chain_next(*chain, &inputs);
        cr_assert(ls_tick_block_add(&block, &inputs, ls_sim_instance_hash(instance)));
    }
    ls_journal_raw raw = {.kind = LS_JOURNAL_TICKS, .tick = block.first, .bytes = memory};
    raw.size = ls_tick_block_finish(&block, *chain);
    append(&raw);
}

static void append_snapshot(uint64_t chain, bool lies)
{
    size_t size = ls_sim_instance_save_bytes(instance);
    uint8_t *state = malloc(size);
    cr_assert_eq(ls_sim_instance_save(instance, state), LS_OK);
    if (lies) {
        lie(state, size);
    }
    ls_journal_snapshot head = {.tick = ls_sim_instance_tick(instance),
                                .state_hash = ls_sim_instance_hash(instance),
                                .hash_chain_tick = ls_sim_instance_tick(instance),
                                .tick_chain = chain,
                                .state_bytes = size};
    ls_journal_raw raw = ls_journal_piece_record(&head, state);
    append(&raw);
    free(state);
}

static const char *make_journal(bool lies)
{
    const char *path = hosted_path("match.journal");
    uint64_t chain = LS_TICK_CHAIN_START;
    journal = fopen(path, "wb");
    cr_assert_not_null(journal);
    cr_assert_eq(
        ls_journal_writer_create(LS_JOURNAL_RAW_BYTES_MAX, NULL, ls_allocator_heap(), &writer),
        LS_OK);
    append_header();
    append_block(TICK_SAVED, &chain);
    append_snapshot(chain, lies);
    append_block(TICKS, &chain);
    ls_journal_writer_destroy(writer);
    cr_assert_eq(fclose(journal), 0);
    return path;
}

#define REPLAY(exit_code, ...)                                                                     \
    hosted_run(exit_code, LS_TEST_REPLAY, "--sim", LS_TEST_LUA, "--param",                         \
               hosted_text("script=%s", script_path), __VA_ARGS__)

/* The programs read the same from the journal whether its snapshot can be loaded or not. */
static void expect_readable(bool lies)
{
    const char *path = make_journal(lies);
    char hash[32];
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)ls_sim_instance_hash(instance));
    REPLAY(0, "seek", path, "60");
    cr_expect(strstr(ls_process_output(&hosted.other), hash) ||
                  strstr(ls_process_errors(&hosted.other), hash),
              "no %s: %s%s", hash, ls_process_output(&hosted.other),
              ls_process_errors(&hosted.other));
    const char *cut = hosted_path("cut.journal");
    REPLAY(0, "cut", path, "50", "60", "--output", cut);
    REPLAY(0, "seek", cut, "55");
    remove(cut);
}

Test(programs_hostile_files, a_snapshot_that_says_another_size_is_passed_over)
{
    expect_readable(true);
    REPLAY(0, "view", hosted_path("match.journal"), "--view=text", "--from", "50", "--speed", "64");
}

Test(programs_hostile_files, a_snapshot_that_says_its_size_is_loaded)
{
    expect_readable(false);
}

/* ---- a bundle ---- */

static uint8_t *image(bool lies)
{
    size_t size = ls_sim_instance_image_bytes(instance);
    uint8_t *bytes = malloc(size);
    cr_assert_eq(ls_sim_instance_image(instance, bytes), LS_OK);
    if (lies) {
        lie(bytes, size);
    }
    return bytes;
}

static const char *make_bundle(bool lies)
{
    static ls_field fields[LS_FIELDS_MAX];
    const char *path = hosted_path("desync.bundle");
    ls_desync_bundle bundle = {.tick = TICKS, .slot = 1, .player = "Ada"};
    const ls_input_buffer_config inputs = {.slots = PLAYERS,
                                           .input_bytes_max = loaded.simulation->input_bytes_max,
                                           .window_ticks = LS_WINDOW_TICKS};
    ls_input_buffer *buffer = NULL;
    uint8_t *bytes = NULL;
    size_t size = 0;
    cr_assert_eq(ls_input_buffer_create(&inputs, ls_allocator_heap(), &buffer), LS_OK);
    while (ls_sim_instance_tick(instance) < TICK_SAVED) {
        (void)step();
    }
    ls_desync_bundle_describe(&bundle, instance, fields);
    bundle.simulation_version = version;
    bundle.snapshot_tick = TICK_SAVED;
    bundle.snapshot_hash = ls_sim_instance_hash(instance);
    uint8_t *snapshot = image(lies);
    ls_input_buffer_forget_before(buffer, TICK_SAVED);
    for (ls_tick tick = TICK_SAVED; tick < TICKS; tick++) {
        (void)step();
        for (uint32_t slot = 0; slot < PLAYERS; slot++) {
            cr_assert_eq(ls_input_buffer_put(buffer, tick, slot, NULL, 0, 0), LS_OK);
        }
    }
    bundle.snapshot = snapshot;
    bundle.inputs = buffer;
    bundle.server_hash = ls_sim_instance_hash(instance);
    bundle.client_hash = bundle.server_hash ^ 1;
    uint8_t *state = image(lies);
    bundle.server.state = bundle.client.state = state;
    cr_assert_eq(ls_desync_bundle_write(&bundle, ls_allocator_heap(), &bytes, &size), LS_OK);
    write_file(path, bytes, size);
    ls_release(ls_allocator_heap(), bytes);
    ls_input_buffer_destroy(buffer);
    free(snapshot);
    free(state);
    return path;
}

#define EXPLAIN(exit_code, path)                                                                   \
    hosted_run(exit_code, LS_TEST_DESYNC, "--sim", LS_TEST_LUA, "--param",                         \
               hosted_text("script=%s", script_path), "explain", path, "--html",                   \
               hosted_path("page.html"))

Test(programs_hostile_files, a_bundle_whose_states_say_another_size_is_explained_without_them)
{
    EXPLAIN(3, make_bundle(true));
}

Test(programs_hostile_files, a_bundle_that_says_its_sizes_is_explained)
{
    EXPLAIN(3, make_bundle(false));
}

/* Scripts kept their state in all globals then. */
Test(programs_hostile_files, files_of_lua_from_before_storage_are_refused_in_words)
{
    version = 1;
    const char *words = REPLAY(2, "verify", make_journal(false));
    cr_expect(strstr(words, "the journal is of version 1 of 'lua', here is version 2"), "%s",
              words);
    EXPLAIN(3, make_bundle(false));
    cr_expect(strstr(ls_process_output(&hosted.other), "version 1 of 'lua', here is version 2"),
              "%s", ls_process_output(&hosted.other));
}
