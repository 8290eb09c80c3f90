#include "lockstep/tools/replay/command.h"

#include "lockstep/common/base/text.h"
#include "lockstep/common/diagnosis/state_difference.h"
#include "lockstep/common/system/output.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/tools/replay/playback.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

void replay_say(const replay_run *run, const char *format, ...)
{
    if (run->config->is_quiet) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

/* Opens the journal that is the config's path `index`, and warns of what is lost. */
static ls_status open_path(const replay_run *run, uint32_t index, ls_journal_trust trust,
                           replay_playback *out, ls_text *why)
{
    const char *path = run->config->paths[index];
    ls_status status = replay_playback_open(path, trust, out, why);
    if (status == LS_OK && out->loss.bytes[0] != '\0') {
        ls_log_line(&run->console->log, LS_LOG_WARNING, "%s: %s", path, out->loss.bytes);
    }
    return status;
}

/* A journal is read while the answer is written. */
static ls_status check_output(const replay_config *config, const char *output, ls_text *why)
{
    for (uint32_t i = 0; output && i < 2 && config->paths[i]; i++) {
        if (ls_output_is_same_file(output, config->paths[i])) {
            return ls_fail(LS_BAD_ARGUMENT, why, "%s is the journal itself: write to another file",
                           output);
        }
    }
    return LS_OK;
}

static ls_status write_summary(const replay_run *run, ls_status status, const ls_text *why,
                               ls_text *failure)
{
    if (!run->config->json_path) {
        return LS_OK;
    }
    ls_json_text(run->json, "status", ls_status_name(status));
    ls_json_text(run->json, "why", why->bytes[0] ? why->bytes : NULL);
    return ls_json_write(run->json, run->config->json_path, failure);
}

ls_exit_code replay_run_command(const replay_config *config, ls_console *console)
{
    replay_playback playback = {0};
    replay_run run = {
        .config = config, .console = console, .playback = &playback, .json = ls_json_create()};
    ls_text why = {{0}};
    ls_text failure = {{0}};
    ls_status status = check_output(config, config->output, &why);
    LS_THEN(status, check_output(config, config->json_path, &why));
    if (status == LS_OK && config->json_path) {
        status = ls_output_check_path(config->json_path, &why);
    }
    if (status != LS_OK) {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s", why.bytes);
        ls_json_destroy(run.json);
        return ls_exit_code_of(status);
    }
    ls_json_text(run.json, "program", "lockstep-replay");
    ls_json_text(run.json, "command", config->command->name);
    status = replay_broadcast_is(config->paths[0])
                 ? replay_broadcast_open(config->paths[0], config->command->work == replay_verify,
                                         &playback, &run.broadcast, &why)
                 : open_path(&run, 0, config->command->trust, &playback, &why);
    LS_THEN(status, config->command->work(&run, &why));
    ls_console_clear(console);
    if (status != LS_OK && status != LS_DESYNCED) {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s",
                    why.bytes[0] ? why.bytes : ls_status_text(status));
    }
    ls_exit_code code = ls_exit_code_of(status);
    if (write_summary(&run, status, &why, &failure) != LS_OK) {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s", failure.bytes);
        code = code == LS_EXIT_CLEAN ? LS_EXIT_ENVIRONMENT : code;
    }
    replay_playback_close(&playback);
    replay_broadcast_close(run.broadcast);
    ls_json_destroy(run.json);
    return code;
}

/* ---- a state ---- */

static bool show_element(const replay_run *run, ls_json *fields, const ls_schema_place *place,
                         const void *state)
{
    ls_difference_text text = ls_state_difference_text(place, state, state);
    if (strncmp(text.name, run->config->fields, strlen(run->config->fields)) != 0) {
        return false;
    }
    replay_say(run, "%s = %s", text.name, text.a);
    ls_json_text(fields, text.name, text.a);
    return true;
}

static void show_fields(const replay_run *run)
{
    const ls_sim_instance *instance = run->playback->instance;
    const ls_schema *schema = ls_sim_instance_schema(instance);
    ls_json *fields = ls_json_object(run->json, "fields");
    uint64_t shown = 0;
    for (uint32_t i = 0; schema && i < ls_schema_field_count(schema); i++) {
        const ls_field *field = ls_schema_field(schema, i);
        if (field->type == LS_FIELD_PADDING) {
            continue;
        }
        for (uint32_t item = 0; item < field->count; item++) {
            for (uint32_t element = 0; element < field->length; element++) {
                ls_schema_place place = {.field = field,
                                         .item = item,
                                         .element = element,
                                         .offset =
                                             field->offset + item * field->stride +
                                             (size_t)element * ls_field_type_bytes(field->type)};
                shown += show_element(run, fields, &place, ls_sim_instance_view(instance));
            }
        }
    }
    if (!schema) {
        ls_log_line(&run->console->log, LS_LOG_WARNING,
                    "the fields of this simulation's state are not known");
    } else if (shown == 0) {
        ls_log_line(&run->console->log, LS_LOG_WARNING,
                    "no value begins with '%s': --fields alone shows all", run->config->fields);
    }
}

ls_status replay_seek(replay_run *run, ls_text *why)
{
    ls_clock clock = ls_clock_system();
    uint64_t begun_ns = ls_clock_now_ns(&clock);
    ls_status status =
        replay_playback_load(run->playback, run->config->simulation, &run->config->files, why);
    LS_THEN(status, replay_playback_seek(run->playback, run->config->from, why));
    if (status != LS_OK) {
        return status;
    }
    uint64_t recorded = run->playback->state_hash;
    uint64_t here = ls_sim_instance_hash(run->playback->instance);
    double took_ms = (double)(ls_clock_now_ns(&clock) - begun_ns) / 1e6;
    replay_say(run, "state %" PRIu32 " has hash %016" PRIx64 " (%s), found in %.1f ms",
               run->config->from, here,
               recorded == 0      ? "not recorded"
               : recorded == here ? "as recorded"
                                  : "another one was recorded",
               took_ms);
    ls_json_number(run->json, "tick", run->config->from);
    ls_json_hash(run->json, "state_hash", here);
    if (recorded != 0) {
        ls_json_hash(run->json, "journal_root", recorded);
    } else {
        ls_json_null(run->json, "journal_root");
    }
    ls_json_number(run->json, "took_ms", took_ms);
    if (run->config->fields) {
        show_fields(run);
    }
    return recorded == 0 || recorded == here ? LS_OK : LS_DESYNCED;
}

/* ---- verifying ---- */

enum {
    BAR_CELLS = 40,
    LOOK_TICKS = 256, /* how often it looks whether the bar is due */
};

#define BAR_NS (UINT64_C(100) * LS_NS_PER_MS)

typedef struct verifying {
    replay_run *run;
    ls_clock clock;
    uint64_t begun_ns;
    uint64_t drawn_ns;
    replay_verification work;
    ls_event_loop *loop; /* of a broadcast that is followed */
    ls_status status;
    ls_text *why;
} verifying;

static double speed_of(const verifying *work)
{
    const ls_journal *journal = work->run->playback->journal;
    double seconds = (double)(ls_clock_now_ns(&work->clock) - work->begun_ns) / 1e9;
    double played = (double)work->work.ticks /
                    ls_rate_hz(ls_sim_config_rate(&ls_journal_header_of(journal)->config));
    return seconds > 0 ? played / seconds : 0;
}

static void draw_bar(verifying *work)
{
    uint64_t now_ns = ls_clock_now_ns(&work->clock);
    ls_console *console = work->run->console;
    if (!console->is_live || now_ns - work->drawn_ns < BAR_NS) {
        return;
    }
    work->drawn_ns = now_ns;
    replay_playback *playback = work->run->playback;
    const ls_journal_info *info = ls_journal_info_of(playback->journal);
    uint64_t all = info->end_tick - info->first_tick;
    uint64_t done = ls_sim_instance_tick(playback->instance) - info->first_tick;
    uint64_t cells = all > 0 ? done * BAR_CELLS / all : BAR_CELLS;
    char bar[BAR_CELLS + 1];
    memset(bar, '.', BAR_CELLS);
    memset(bar, '#', cells < BAR_CELLS ? (size_t)cells : BAR_CELLS);
    bar[BAR_CELLS] = '\0';
    ls_console_begin(console);
    ls_console_line(console, "[%s] %3u %%  %.0f x real time", bar,
                    (unsigned)(all > 0 ? done * 100 / all : 100), speed_of(work));
    ls_console_end(console);
}

static void report_difference(const verifying *work)
{
    const replay_verification *found = &work->work;
    replay_say(work->run,
               "state %" PRIu32 " differs: the journal has hash %016" PRIx64
               ", simulated here it is %016" PRIx64,
               found->differing_tick, found->recorded, found->here);
    ls_json *json = ls_json_object(work->run->json, "difference");
    ls_json_number(json, "tick", found->differing_tick);
    ls_json_hash(json, "journal_root", found->recorded);
    ls_json_hash(json, "root_here", found->here);
}

static void report(const verifying *work)
{
    double speed = speed_of(work);
    ls_sim_instance *instance = work->run->playback->instance;
    replay_say(work->run,
               "%" PRIu64 " ticks simulated, %" PRIu64 " state hashes compared, %.0f x real time",
               work->work.ticks, work->work.state_hashes, speed);
    ls_json_number(work->run->json, "ticks", (double)work->work.ticks);
    ls_json_number(work->run->json, "ticks_skipped", (double)work->work.ticks_skipped);
    ls_json_number(work->run->json, "state_hashes", (double)work->work.state_hashes);
    ls_json_number(work->run->json, "chains", (double)work->work.chains);
    ls_json_number(work->run->json, "speed", speed);
    ls_json_number(work->run->json, "final_tick", ls_sim_instance_tick(instance));
    ls_json_hash(work->run->json, "final_hash", ls_sim_instance_hash(instance));
}

/* All that is there. */
static ls_status go_on(verifying *work, ls_text *why)
{
    ls_status status = LS_OK;
    while (status == LS_OK && !work->work.is_done) {
        status = replay_verification_go_on(&work->work, LOOK_TICKS, why);
        draw_bar(work);
    }
    return status;
}

static void on_more(void *user, uint64_t now_ns)
{
    verifying *work = user;
    (void)now_ns;
    replay_verification_read_on(&work->work);
    work->status = go_on(work, work->why);
    if (work->status != LS_OK || replay_broadcast_is_over(work->run->broadcast)) {
        ls_event_loop_stop(work->loop);
    }
}

/* A match that goes on, until it is over. */
static ls_status follow(verifying *work, ls_text *why)
{
    replay_broadcast *broadcast = work->run->broadcast;
    work->why = why;
    ls_status status = ls_event_loop_create(ls_allocator_heap(), &work->loop);
    LS_THEN(status, replay_broadcast_follow(broadcast, work->loop, &work->run->console->log,
                                            (ls_loop_handler){on_more, work}));
    if (status == LS_OK) {
        ls_event_loop_run(work->loop);
        status = work->status;
    }
    replay_broadcast_leave(broadcast);
    ls_event_loop_destroy(work->loop);
    return status == LS_OK ? replay_broadcast_status(broadcast, why) : status;
}

ls_status replay_verify(replay_run *run, ls_text *why)
{
    verifying work = {.run = run, .clock = ls_clock_system()};
    ls_status status =
        replay_playback_load(run->playback, run->config->simulation, &run->config->files, why);
    if (status != LS_OK) {
        return status;
    }
    work.begun_ns = ls_clock_now_ns(&work.clock);
    status = replay_verification_begin(run->playback, &run->console->log, &work.work, why);
    LS_THEN(status, go_on(&work, why));
    if (status == LS_OK && run->broadcast && !replay_broadcast_is_over(run->broadcast)) {
        status = follow(&work, why);
    }
    ls_console_clear(run->console);
    if (status == LS_DESYNCED) {
        report_difference(&work);
    }
    report(&work);
    return status == LS_OK ? replay_verification_judge(&work.work, why) : status;
}

/* ---- diff ---- */

enum {
    INPUT_BYTES_SHOWN = 24,
};

/* The first difference; UINT32_MAX: there is none. */
typedef struct found {
    ls_tick input_tick; /* the first at which an input differs */
    uint32_t input_slot;
    ls_text inputs[2];
    ls_tick state_tick; /* of the first state whose state hash differs */
    uint64_t state_hashes[2];
    uint64_t compared; /* ticks */
} found;

typedef struct pair {
    replay_run *run;
    replay_playback *sides[2];
    ls_journal *journals[2];
    ls_slot_input slots[2][LS_PLAYERS_MAX];
    ls_tick_inputs inputs[2];
    uint64_t state_hashes[2];
} pair;

/* ---- what is recorded ---- */

static ls_status check_match(const pair *both, ls_text *why)
{
    const ls_journal_header *a = ls_journal_header_of(both->journals[0]);
    const ls_journal_header *b = ls_journal_header_of(both->journals[1]);
    if (strcmp(a->simulation, b->simulation) != 0 ||
        a->simulation_version != b->simulation_version) {
        return ls_fail(LS_SIMULATION_MISMATCH, why,
                       "one journal is of '%s' version %" PRIu32
                       ", the other of '%s' version %" PRIu32,
                       a->simulation, a->simulation_version, b->simulation, b->simulation_version);
    }
    return ls_sim_digests_check(&a->digests, &b->digests, why);
}

static bool is_same_input(const ls_slot_input *a, const ls_slot_input *b)
{
    return a->size == b->size && a->events == b->events &&
           (a->size == 0 || memcmp(a->bytes, b->bytes, a->size) == 0);
}

static void describe_input(const ls_slot_input *input, ls_text *out)
{
    uint32_t shown = LS_MIN(input->size, INPUT_BYTES_SHOWN);
    char digits[2 * INPUT_BYTES_SHOWN + 1];
    ls_text_set(out, "%" PRIu32 " bytes ", input->size);
    ls_hex_write(digits, input->bytes, shown);
    ls_text_add(out, "%s%s%s%s", digits, shown < input->size ? "..." : "",
                input->events & LS_EVENT_JOINED ? " joined" : "",
                input->events & LS_EVENT_LEFT ? " left" : "");
}

static void compare_tick(const pair *both, found *out)
{
    ls_tick tick = both->inputs[0].tick;
    uint32_t slots = both->inputs[0].slot_count;
    for (uint32_t slot = 0; out->input_tick == UINT32_MAX && slot < slots; slot++) {
        if (!is_same_input(&both->slots[0][slot], &both->slots[1][slot])) {
            out->input_tick = tick;
            out->input_slot = slot;
            describe_input(&both->slots[0][slot], &out->inputs[0]);
            describe_input(&both->slots[1][slot], &out->inputs[1]);
        }
    }
    if (both->state_hashes[0] != 0 && both->state_hashes[1] != 0 &&
        both->state_hashes[0] != both->state_hashes[1]) {
        out->state_tick = tick + 1;
        memcpy(out->state_hashes, both->state_hashes, sizeof out->state_hashes);
    }
    out->compared++;
}

static bool next_tick(pair *both, uint32_t side)
{
    return ls_journal_next_tick(both->journals[side], both->slots[side], &both->inputs[side],
                                &both->state_hashes[side]) == LS_OK;
}

/* Ticks that only one of them has are passed over. */
static bool next_common(pair *both)
{
    if (!next_tick(both, 0) || !next_tick(both, 1)) {
        return false;
    }
    while (both->inputs[0].tick != both->inputs[1].tick) {
        if (!next_tick(both, both->inputs[0].tick < both->inputs[1].tick ? 0 : 1)) {
            return false;
        }
    }
    return true;
}

static void compare_records(pair *both, found *out)
{
    *out = (found){.input_tick = UINT32_MAX, .state_tick = UINT32_MAX};
    ls_journal_seek(both->journals[0], 0);
    ls_journal_seek(both->journals[1], 0);
    while (out->state_tick == UINT32_MAX && next_common(both)) {
        compare_tick(both, out);
    }
}

/* ---- what follows from it ---- */

static void show_differences(const replay_run *run, const ls_schema *schema, const void *a,
                             const void *b)
{
    ls_state_difference difference;
    ls_json *list = ls_json_array(run->json, "differences");
    ls_state_difference_find(schema, a, b, &difference);
    replay_say(run, "%" PRIu64 " values in %" PRIu32 " fields differ:", difference.elements,
               difference.fields);
    for (uint32_t i = 0; i < difference.place_count; i++) {
        ls_difference_text text = ls_state_difference_text(&difference.places[i], a, b);
        const char *path = difference.places[i].field->path;
        char part[LS_NAME_BYTES_MAX];
        ls_name_copy(part, sizeof part, path);
        part[strcspn(part, ".")] = '\0';
        replay_say(run, "  %-40s %s | %s", text.name, text.a, text.b);
        ls_json *json = ls_json_append(list);
        ls_json_text(json, "part", part);
        ls_json_text(json, "field", text.name);
        ls_json_text(json, "a", text.a);
        ls_json_text(json, "b", text.b);
    }
}

/* The inputs are the same: both machines were given the same, and this one can be asked as well. */
static void judge_hashes(const pair *both, const found *result)
{
    uint64_t here = ls_sim_instance_hash(both->sides[0]->instance);
    const char *agrees = here == result->state_hashes[0]   ? "a"
                         : here == result->state_hashes[1] ? "b"
                                                           : "neither";
    replay_say(both->run,
               "the inputs before it are the same in both: one was computed wrongly; simulated "
               "here the state hash is %016" PRIx64 ": this machine agrees with %s",
               here, agrees);
    ls_json_hash(both->run->json, "root_here", here);
    ls_json_text(both->run->json, "agrees_with", agrees);
}

/* The state of each side simulated again; those of one side of a match that was computed wrongly
 * are only in its snapshots. */
static ls_status compare_states(pair *both, const found *result, ls_text *why)
{
    const ls_schema *schema = NULL;
    for (uint32_t side = 0; side < 2; side++) {
        ls_status status = replay_playback_load(both->sides[side], both->run->config->simulation,
                                                &both->run->config->files, why);
        LS_THEN(status, replay_playback_seek(both->sides[side], result->state_tick, why));
        if (status != LS_OK) {
            return status;
        }
    }
    schema = ls_sim_instance_schema(both->sides[0]->instance);
    if (result->input_tick >= result->state_tick) {
        judge_hashes(both, result);
    } else if (schema) {
        show_differences(both->run, schema, ls_sim_instance_view(both->sides[0]->instance),
                         ls_sim_instance_view(both->sides[1]->instance));
    }
    return LS_OK;
}

/* ---- the answer ---- */

static void show_input(const replay_run *run, const found *result)
{
    if (result->input_tick == UINT32_MAX) {
        ls_json_null(run->json, "first_input");
        return;
    }
    replay_say(run, "tick %" PRIu32 ": the input of slot %" PRIu32 " differs: %s | %s",
               result->input_tick, result->input_slot, result->inputs[0].bytes,
               result->inputs[1].bytes);
    ls_json *json = ls_json_object(run->json, "first_input");
    ls_json_number(json, "tick", result->input_tick);
    ls_json_number(json, "slot", result->input_slot);
    ls_json_text(json, "a", result->inputs[0].bytes);
    ls_json_text(json, "b", result->inputs[1].bytes);
}

static void show_state(const replay_run *run, const found *result)
{
    if (result->state_tick == UINT32_MAX) {
        ls_json_null(run->json, "first_state");
        return;
    }
    replay_say(run, "state %" PRIu32 " is the first that differs: %016" PRIx64 " | %016" PRIx64,
               result->state_tick, result->state_hashes[0], result->state_hashes[1]);
    ls_json *json = ls_json_object(run->json, "first_state");
    ls_json_number(json, "tick", result->state_tick);
    ls_json_hash(json, "a", result->state_hashes[0]);
    ls_json_hash(json, "b", result->state_hashes[1]);
}

static ls_status compare(pair *both, ls_text *why)
{
    found result;
    ls_status status = check_match(both, why);
    if (status != LS_OK) {
        return status;
    }
    compare_records(both, &result);
    ls_json_number(both->run->json, "ticks", (double)result.compared);
    show_input(both->run, &result);
    show_state(both->run, &result);
    if (result.state_tick != UINT32_MAX) {
        status = compare_states(both, &result, why);
    } else if (result.input_tick == UINT32_MAX) {
        replay_say(both->run, "%" PRIu64 " ticks are in both, and are the same", result.compared);
        return LS_OK;
    }
    return status == LS_OK ? LS_DESYNCED : status;
}

ls_status replay_diff(replay_run *run, ls_text *why)
{
    replay_playback other;
    pair both = {.run = run, .sides = {run->playback, &other}};
    ls_status status = open_path(run, 1, LS_JOURNAL_CHECK_ALL, &other, why);
    if (status == LS_OK) {
        both.journals[0] = both.sides[0]->journal;
        both.journals[1] = both.sides[1]->journal;
        status = compare(&both, why);
    }
    replay_playback_close(&other);
    return status;
}

/* ---- cut ---- */

enum {
    BLOCK_BYTES = 64 << 10,
};

typedef struct cutting {
    replay_run *run;
    replay_playback *playback;
    ls_journal_writer *writer;
    FILE *file;
    uint64_t bytes;
    ls_tick_block_writer block;
    uint8_t *block_bytes;
    size_t block_capacity;
    uint64_t ticks;
} cutting;

static ls_status write_record(cutting *cut, ls_journal_raw raw)
{
    ls_journal_framed record = ls_journal_writer_frame(cut->writer, &raw);
    if (fwrite(record.bytes, 1, record.size, cut->file) != record.size) {
        return LS_IO;
    }
    ls_journal_writer_keep(cut->writer);
    cut->bytes += record.size;
    return LS_OK;
}

/* No player can come back to a match that is over: its key stays where it is. */
static ls_status write_header(cutting *cut)
{
    uint8_t bytes[LS_JOURNAL_HEADER_BYTES_MAX];
    ls_journal_header header = *ls_journal_header_of(cut->playback->journal);
    header.first_tick = cut->run->config->from;
    memset(&header.key, 0, sizeof header.key);
    return write_record(cut, ls_journal_header_record(&header, bytes));
}

/* The state that the playback stands at. */
static ls_status write_snapshot(cutting *cut)
{
    ls_sim_instance *instance = cut->playback->instance;
    size_t size = ls_sim_instance_save_bytes(instance);
    ls_journal_snapshot head = {.tick = ls_sim_instance_tick(instance),
                                .state_hash = ls_sim_instance_hash(instance),
                                .hash_chain = cut->playback->hash_chain,
                                .hash_chain_tick = cut->playback->hash_chain_tick,
                                .tick_chain = cut->playback->tick_chain,
                                .state_bytes = size};
    uint8_t *state = ls_allocate(ls_allocator_heap(), size);
    if (!state) {
        return LS_NO_MEMORY;
    }
    ls_status status = ls_sim_instance_save(instance, state);
    for (; status == LS_OK && head.piece < ls_journal_pieces(size); head.piece++) {
        status = write_record(cut, ls_journal_piece_record(&head, state));
    }
    ls_release(ls_allocator_heap(), state);
    return status;
}

/* ---- ticks ---- */

static void start_block(cutting *cut)
{
    const ls_journal_header *header = ls_journal_header_of(cut->playback->journal);
    ls_tick_block_start(&cut->block, cut->block_bytes, cut->block_capacity, header->config.players);
}

static ls_status write_block(cutting *cut, uint64_t chain)
{
    ls_journal_raw raw = {.kind = LS_JOURNAL_TICKS, .tick = cut->block.first};
    if (cut->block.count == 0) {
        return LS_OK;
    }
    raw.size = ls_tick_block_finish(&cut->block, chain);
    raw.bytes = cut->block_bytes;
    ls_status status = write_record(cut, raw);
    start_block(cut);
    return status;
}

/* The tick that was stepped last. */
static ls_status add_tick(cutting *cut, uint64_t chain_before)
{
    const replay_playback *playback = cut->playback;
    if (ls_tick_block_add(&cut->block, &playback->inputs, playback->state_hash)) {
        return LS_OK;
    }
    ls_status status = write_block(cut, chain_before);
    /* An empty block holds any tick. */
    ls_tick_block_add(&cut->block, &playback->inputs, playback->state_hash);
    return status;
}

static ls_status write_ticks(cutting *cut, ls_text *why)
{
    ls_sim_instance *instance = cut->playback->instance;
    start_block(cut);
    while (ls_sim_instance_tick(instance) < cut->run->config->to) {
        uint64_t before = cut->playback->tick_chain;
        ls_status status = replay_playback_step(cut->playback);
        if (status != LS_OK) {
            return ls_fail(LS_NOT_FOUND, why, "tick %" PRIu32 " is not in the journal",
                           ls_sim_instance_tick(instance));
        }
        cut->ticks++;
        status = add_tick(cut, before);
        if (status != LS_OK) {
            return status;
        }
    }
    return write_block(cut, cut->playback->tick_chain);
}

/* ---- the rest ---- */

static ls_status write_events(cutting *cut)
{
    ls_journal *journal = cut->playback->journal;
    ls_journal_event event;
    uint64_t offset = 0;
    ls_status status = LS_OK;
    while (status == LS_OK && ls_journal_next_event(journal, &offset, &event) == LS_OK) {
        uint8_t bytes[LS_JOURNAL_EVENT_BYTES_MAX];
        if (event.tick < cut->run->config->from || event.tick > cut->run->config->to) {
            continue;
        }
        status = write_record(cut, ls_journal_event_record(&event, bytes));
    }
    return status;
}

static ls_status write_end(cutting *cut)
{
    ls_sim_instance *instance = cut->playback->instance;
    ls_journal_end end = {.final_tick = ls_sim_instance_tick(instance),
                          .final_hash = ls_sim_instance_hash(instance),
                          .tick_chain = cut->playback->tick_chain,
                          .ticks = cut->ticks};
    return write_record(cut, ls_journal_end_record(&end));
}

static ls_status write_all(cutting *cut, ls_text *why)
{
    ls_status status = write_header(cut);
    if (status == LS_OK && cut->run->config->from > 0) {
        status = write_snapshot(cut);
    }
    status = status == LS_OK ? write_events(cut) : status;
    if (status == LS_OK) {
        /* The events were read from the same journal. */
        status = replay_playback_seek(cut->playback, cut->run->config->from, why);
    }
    status = status == LS_OK ? write_ticks(cut, why) : status;
    return status == LS_OK ? write_end(cut) : status;
}

static ls_status create_parts(cutting *cut)
{
    const ls_journal_header *header = ls_journal_header_of(cut->playback->journal);
    size_t tick = ls_tick_block_tick_bytes(header->config.players, header->input_bytes_max);
    cut->block_capacity = LS_TICK_BLOCK_HEAD_BYTES + (LS_MAX(tick, BLOCK_BYTES));
    cut->block_bytes = ls_allocate(ls_allocator_heap(), cut->block_capacity);
    return cut->block_bytes ? ls_journal_writer_create(LS_JOURNAL_RAW_BYTES_MAX, NULL,
                                                       ls_allocator_heap(), &cut->writer)
                            : LS_NO_MEMORY;
}

static ls_status write_file(cutting *cut, ls_text *why)
{
    const char *path = cut->run->config->output;
    cut->file = fopen(path, "wbx"); /* never over the journal that is cut */
    ls_status status = cut->file ? write_all(cut, why) : LS_IO;
    if (cut->file && fclose(cut->file) != 0) {
        status = LS_IO;
    }
    if (status == LS_IO) {
        ls_text_set(why, "cannot write to %s: %s", path, strerror(errno));
    }
    if (status != LS_OK && cut->file) {
        remove(path); /* the beginning of a journal, which nobody asked for */
    }
    return status;
}

static ls_status check_range(const replay_run *run, ls_text *why)
{
    const replay_config *config = run->config;
    const ls_journal_info *info = ls_journal_info_of(run->playback->journal);
    if (config->from < config->to && config->from >= info->first_tick &&
        config->to <= info->end_tick) {
        return LS_OK;
    }
    return ls_fail(LS_BAD_ARGUMENT, why,
                   "cut takes two ticks from %" PRIu32 " to %" PRIu32 ", the first one smaller",
                   info->first_tick, info->end_tick);
}

ls_status replay_cut(replay_run *run, ls_text *why)
{
    cutting cut = {.run = run, .playback = run->playback};
    ls_status status = check_range(run, why);
    LS_THEN(status,
            replay_playback_load(run->playback, run->config->simulation, &run->config->files, why));
    if (status == LS_OK && run->config->from > 0 &&
        ls_sim_instance_save_bytes(run->playback->instance) == 0) {
        ls_text_set(why, "this simulation cannot save: its journal can only be cut from tick 0 on");
        status = LS_UNSUPPORTED;
    }
    LS_THEN(status, replay_playback_seek(run->playback, run->config->from, why));
    LS_THEN(status, create_parts(&cut));
    LS_THEN(status, write_file(&cut, why));
    if (status == LS_OK) {
        replay_say(run, "%s: ticks %" PRIu32 " to %" PRIu32 ", %" PRIu64 " bytes",
                   run->config->output, run->config->from, run->config->to - 1, cut.bytes);
        ls_json_text(run->json, "file", run->config->output);
        ls_json_number(run->json, "ticks", (double)cut.ticks);
        ls_json_number(run->json, "bytes", (double)cut.bytes);
    }
    ls_journal_writer_destroy(cut.writer);
    ls_release(ls_allocator_heap(), cut.block_bytes);
    return status;
}
