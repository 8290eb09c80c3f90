#include "lockstep/server/journal/recorder.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/encoding/tick_block.h"
#include "lockstep/server/journal/event_rows.h"
#include "lockstep/server/match/match_config.h"

#include <inttypes.h>

enum {
    EVENTS_MAX = 16,             /* that wait to be written */
    BLOCK_BYTES_MIN = 8 << 10,   /* so that a slow disk is waited for in few blocks */
    BLOCK_BYTES_MAX = 128 << 10, /* unless a single tick takes more */
    VARYING_BYTES = 64 << 10,    /* by which saves of an engine of its own may grow, and double */
};

/* The kind of record that the store has been given. */
typedef enum turn {
    TURN_NONE,
    TURN_HEADER,
    TURN_EVENT,
    TURN_BLOCK,
    TURN_PIECE,
    TURN_END,
} turn;

typedef struct block {
    uint8_t *bytes;
    size_t size; /* 0: empty */
    ls_tick first;
    uint32_t count;
} block;

typedef struct event_bytes {
    uint8_t bytes[LS_JOURNAL_EVENT_BYTES_MAX];
    size_t size;
    bool is_pressing;
} event_bytes;

struct ls_recorder {
    ls_recorder_config config;
    ls_match *match;
    ls_journal_store store;
    const ls_allocator *allocator;
    ls_recorder_figures figures;
    bool has_event;
    bool has_snapshot_event;
    turn out;          /* what the store has */
    uint64_t retry_ns; /* nothing is handed on before; 0: at once */
    bool is_over;      /* the match has said its last word */
    bool is_left_open; /* it was stopped before it went on: it can still be resumed */
    bool is_suspended; /* likewise while it ran: what is closed is written, and then no end */
    bool has_ended;    /* its players were told that it is over */
    bool has_header;   /* it is in the file */
    bool has_end;      /* likewise */
    bool has_given_up; /* it cannot be */
    ls_tick written;   /* every tick before it is in the file or left out */

    /* Ticks: one block fills while the other is written. */
    ls_tick next; /* to take from the match */
    size_t block_capacity;
    uint8_t *filling; /* memory of the block that fills */
    block ready;
    ls_tick_block_writer writer;
    uint64_t since_ns; /* when the first tick came into it */
    uint64_t chain;    /* of ticks, behind its last one */

    uint32_t event_first;
    uint32_t event_count;
    event_bytes events[EVENTS_MAX];
    uint8_t header[LS_JOURNAL_HEADER_BYTES_MAX]; /* and in the end END */
    size_t header_bytes;

    /* A snapshot that is being written. */
    uint8_t *state; /* NULL: the simulation cannot save */
    size_t state_capacity;
    bool has_snapshot;
    bool is_snapshot_wanted; /* at the next chance: ticks are missing before it */
    ls_journal_snapshot snapshot;
    bool has_clock;
    uint64_t snapshot_ns; /* when the last one was taken, or when the match began */
};

ls_recorder_config ls_recorder_config_default(void)
{
    return (ls_recorder_config){
        .block_ms = 250, .snapshot_ms = 10000, .snapshot_bytes_per_s = 1u << 20, .retry_ms = 1000};
}

/* ---- life ---- */

static ls_journal_header header_of(const ls_recorder *recorder)
{
    const ls_match_config *settings = ls_match_config_of(recorder->match);
    const ls_sim_instance *instance = ls_match_resting_instance(recorder->match);
    const ls_recorder_config *config = &recorder->config;
    ls_journal_header header = {.match_number = config->match_number,
                                .simulation_version = settings->simulation->version,
                                .digests = ls_sim_instance_digests(instance),
                                .input_bytes_max = settings->simulation->input_bytes_max,
                                .save_bytes = ls_sim_instance_save_bytes(instance)};
    ls_match_config_record(settings, &header);
    ls_name_copy(header.simulation, sizeof header.simulation, settings->simulation->name);
    if (config->print) {
        header.print = *config->print;
    }
    return header;
}

static void write_header(ls_recorder *recorder)
{
    ls_journal_header header = header_of(recorder);
    recorder->header_bytes = ls_journal_header_record(&header, recorder->header).size;
}

static size_t block_bytes(const ls_match_config *settings, uint32_t block_ms)
{
    size_t tick =
        ls_tick_block_tick_bytes(settings->sim.players, settings->simulation->input_bytes_max);
    uint64_t ticks = (uint64_t)settings->sim.tick_rate_hz * block_ms / 1000 + 1;
    uint64_t wanted = ticks * tick;
    wanted = LS_MAX(wanted, BLOCK_BYTES_MIN);
    wanted = LS_MIN(wanted, BLOCK_BYTES_MAX);
    return LS_TICK_BLOCK_HEAD_BYTES + (wanted > tick ? (size_t)wanted : tick);
}

/* A snapshot in memory: what a wrapped engine saves may take more later on. */
static size_t state_room(const ls_recorder_config *config, ls_match *match)
{
    const ls_sim_instance *instance = ls_match_resting_instance(match);
    if (config->snapshot_ms == 0) {
        return 0;
    }
    size_t bytes = ls_sim_instance_save_bytes(instance);
    bool is_varying = bytes > 0 && ls_sim_instance_schema(instance) == NULL;
    return is_varying ? LS_MAX(2 * bytes + VARYING_BYTES, ls_sim_instance_image_bytes(instance))
                      : bytes;
}

size_t ls_recorder_raw_bytes_max(const ls_recorder_config *config, ls_match *match)
{
    size_t state = state_room(config, match);
    size_t ticks = block_bytes(ls_match_config_of(match), config->block_ms);
    size_t piece = LS_MIN(state, LS_JOURNAL_PIECE_BYTES);
    size_t largest = piece + LS_JOURNAL_SNAPSHOT_HEAD_BYTES;
    largest = LS_MAX(ticks, largest);
    return LS_MAX(largest, LS_JOURNAL_HEADER_BYTES_MAX);
}

static ls_status allocate(ls_recorder *recorder)
{
    recorder->block_capacity =
        block_bytes(ls_match_config_of(recorder->match), recorder->config.block_ms);
    recorder->filling = ls_allocate(recorder->allocator, recorder->block_capacity);
    recorder->ready.bytes = ls_allocate(recorder->allocator, recorder->block_capacity);
    recorder->state_capacity = state_room(&recorder->config, recorder->match);
    if (recorder->state_capacity > 0) {
        recorder->state = ls_allocate(recorder->allocator, recorder->state_capacity);
    }
    bool has_all = recorder->filling && recorder->ready.bytes &&
                   (recorder->state || recorder->state_capacity == 0);
    return has_all ? LS_OK : LS_NO_MEMORY;
}

static void start_block(ls_recorder *recorder)
{
    ls_tick_block_start(&recorder->writer, recorder->filling, recorder->block_capacity,
                        ls_match_players(recorder->match));
}

ls_status ls_recorder_create(const ls_recorder_config *config, ls_match *match,
                             const ls_journal_store *store, const ls_allocator *allocator,
                             ls_recorder **out)
{
    LS_ASSERT(config->block_ms > 0 && config->retry_ms > 0 && config->snapshot_bytes_per_s > 0);
    ls_recorder *recorder = ls_allocate(allocator, sizeof *recorder);
    if (!recorder) {
        return LS_NO_MEMORY;
    }
    recorder->config = *config;
    recorder->match = match;
    recorder->store = *store;
    recorder->allocator = allocator;
    if (allocate(recorder) != LS_OK) {
        ls_recorder_destroy(recorder);
        return LS_NO_MEMORY;
    }
    recorder->next = ls_match_tick(match);
    recorder->written = recorder->next;
    recorder->has_header = config->is_continued;
    recorder->is_snapshot_wanted = config->is_continued;
    write_header(recorder);
    if (config->is_continued) {
        ls_journal_event event = {
            .kind = LS_JOURNAL_EVENT_RESTORED, .tick = recorder->next, .slot = LS_JOURNAL_NO_SLOT};
        ls_recorder_note(recorder, &event);
    }
    recorder->config.print = NULL;
    start_block(recorder);
    *out = recorder;
    return LS_OK;
}

void ls_recorder_destroy(ls_recorder *recorder)
{
    if (!recorder) {
        return;
    }
    ls_release(recorder->allocator, recorder->state);
    ls_release(recorder->allocator, recorder->ready.bytes);
    ls_release(recorder->allocator, recorder->filling);
    ls_release(recorder->allocator, recorder);
}

/* ---- events ---- */

void ls_recorder_note(ls_recorder *recorder, const ls_journal_event *event)
{
    if (recorder->event_count == EVENTS_MAX) {
        recorder->figures.events_missing++;
        return;
    }
    uint32_t index = (recorder->event_first + recorder->event_count++) % EVENTS_MAX;
    event_bytes *place = &recorder->events[index];
    place->size = ls_journal_event_record(event, place->bytes).size;
    /* A match whose beginning is lost cannot be resumed, whatever its clients hold; where it is not
     * known that a server came back, two players may get the same secret. */
    place->is_pressing =
        event->kind == LS_JOURNAL_EVENT_STARTED || event->kind == LS_JOURNAL_EVENT_RESTORED;
}

static void describe_stall(const ls_match_event *event, ls_text *out)
{
    ls_text_set(out, "for slot");
    LS_EACH_SLOT (slot, event->slots) {
        ls_text_add(out, " %" PRIu32, slot);
    }
    ls_text_add(out, ", since %" PRIu32 " ms", event->waited_ms);
}

static void note_match_event(ls_recorder *recorder, const ls_event_row *row,
                             const ls_match_event *event)
{
    ls_tick closed = ls_match_tick(recorder->match);
    bool is_of_slot =
        row->scope == LS_EVENT_OF_SLOT && event->slot < ls_match_players(recorder->match);
    ls_journal_event kept = {.kind = row->record,
                             .tick = row->is_of_its_tick ? event->tick : closed,
                             .slot = is_of_slot ? event->slot : LS_JOURNAL_NO_SLOT,
                             .text = event->text};
    if (event->kind == LS_MATCH_PLAYER_LEFT || event->kind == LS_MATCH_PLAYER_LOST) {
        ls_text_set(&kept.text, "%s (%s)", event->text.bytes, ls_status_name(event->status));
    } else if (event->kind == LS_MATCH_SECRET_PROVEN) {
        ls_text_set(&kept.text, "%" PRIu32, event->number);
    } else if (event->kind == LS_MATCH_STALLED) {
        describe_stall(event, &kept.text);
    } else if (event->kind == LS_MATCH_DESYNC) {
        ls_text_set(&kept.text, "server %016" PRIx64 ", client %016" PRIx64, event->server_hash,
                    event->client_hash);
    }
    ls_recorder_note(recorder, &kept);
}

void ls_recorder_receive_event(ls_recorder *recorder, const ls_match_event *event)
{
    recorder->has_ended = recorder->has_ended || event->kind == LS_MATCH_ENDED;
    recorder->is_over = recorder->is_over || event->kind == LS_MATCH_FINISHED;
    recorder->is_left_open =
        recorder->is_over && recorder->config.is_continued && !recorder->has_ended;
    recorder->is_suspended = recorder->is_suspended || event->kind == LS_MATCH_SUSPENDED;
    const ls_event_row *row = ls_event_row_of(event);
    if (row->record != 0 && !recorder->is_suspended) {
        note_match_event(recorder, row, event);
    }
}

static void note(ls_recorder *recorder, ls_journal_event_kind kind, ls_tick tick, const char *text)
{
    ls_journal_event event = {.kind = kind, .tick = tick, .slot = LS_JOURNAL_NO_SLOT};
    ls_text_set(&event.text, "%s", text);
    ls_recorder_note(recorder, &event);
}

/* ---- ticks ---- */

/* The block that fills becomes the one that is ready. */
static void seal(ls_recorder *recorder)
{
    ls_tick_block_writer *writer = &recorder->writer;
    LS_ASSERT(recorder->ready.size == 0 && writer->count > 0);
    uint8_t *other = recorder->ready.bytes;
    recorder->ready = (block){.bytes = recorder->filling,
                              .size = ls_tick_block_finish(writer, recorder->chain),
                              .first = writer->first,
                              .count = writer->count};
    recorder->filling = other;
    start_block(recorder);
}

/* Ticks that the match does not hold any more. */
static void leave_out(ls_recorder *recorder, ls_tick to)
{
    ls_text text = {{0}};
    uint32_t count = to - recorder->next;
    ls_text_set(&text, "%" PRIu32 " ticks: the disk did not take them in time", count);
    note(recorder, LS_JOURNAL_EVENT_GAP, recorder->next, text.bytes);
    recorder->figures.ticks_missing += count;
    recorder->next = to;
    recorder->is_snapshot_wanted = true;
}

/* False when no room is left, for now. */
static bool record_tick(ls_recorder *recorder, uint64_t now_ns)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    uint64_t state_hash = 0;
    ls_status held = ls_match_closed_tick(recorder->match, recorder->next, slots, &inputs);
    LS_ASSERT(held == LS_OK);
    ls_match_hash_of_tick(recorder->match, recorder->next + 1, &state_hash);
    while (!ls_tick_block_add(&recorder->writer, &inputs, state_hash)) {
        LS_ASSERT(recorder->writer.count > 0);
        if (recorder->ready.size > 0) {
            return false;
        }
        seal(recorder);
    }
    recorder->since_ns = recorder->writer.count == 1 ? now_ns : recorder->since_ns;
    recorder->next++;
    recorder->chain = ls_match_tick_chain(recorder->match, recorder->next);
    return true;
}

static void gather(ls_recorder *recorder, uint64_t now_ns)
{
    ls_tick closed = ls_match_tick(recorder->match);
    ls_tick oldest = closed > LS_WINDOW_TICKS ? closed - LS_WINDOW_TICKS : 0;
    if (recorder->next < oldest) {
        if (recorder->writer.count > 0) {
            if (recorder->ready.size > 0) {
                return; /* there is no room for what comes after the gap */
            }
            seal(recorder);
        }
        leave_out(recorder, oldest);
    }
    while (recorder->next < closed && record_tick(recorder, now_ns)) {
        /* until all is taken, or the blocks are full */
    }
}

/* ---- snapshots ---- */

static uint64_t snapshot_interval_ns(const ls_recorder *recorder)
{
    const ls_recorder_config *config = &recorder->config;
    uint64_t share_ns = recorder->state_capacity * LS_NS_PER_SECOND / config->snapshot_bytes_per_s;
    uint64_t asked_ns = config->snapshot_ms * LS_NS_PER_MS;
    return LS_MAX(asked_ns, share_ns);
}

static bool is_snapshot_due(const ls_recorder *recorder, uint64_t now_ns)
{
    bool is_possible = recorder->state && !recorder->has_snapshot &&
                       recorder->next == ls_match_tick(recorder->match) &&
                       ls_match_state_of(recorder->match) == LS_MATCH_RUNNING &&
                       recorder->retry_ns == 0;
    return is_possible && (recorder->is_snapshot_wanted ||
                           now_ns - recorder->snapshot_ns >= snapshot_interval_ns(recorder));
}

static void save_snapshot(ls_recorder *recorder, uint64_t now_ns)
{
    ls_match *match = recorder->match;
    const ls_sim_instance *instance = ls_match_instance(match);
    size_t bytes = ls_sim_instance_save_bytes(instance);
    ls_journal_snapshot *head = &recorder->snapshot;
    recorder->snapshot_ns = now_ns;
    recorder->is_snapshot_wanted = false;
    if (bytes > recorder->state_capacity ||
        ls_sim_instance_save(instance, recorder->state) != LS_OK) {
        return; /* the journal can be replayed from an earlier one */
    }
    *head = (ls_journal_snapshot){.tick = recorder->next, .state_bytes = bytes};
    if (!ls_match_hash_of_tick(match, head->tick, &head->state_hash)) {
        head->state_hash = ls_match_hash(match);
    }
    head->hash_chain = ls_match_hash_chain(match, &head->hash_chain_tick);
    head->tick_chain = ls_match_tick_chain(match, head->tick);
    recorder->has_snapshot = true;
}

/* ---- what goes to the store ---- */

static bool is_block_due(const ls_recorder *recorder, uint64_t now_ns)
{
    bool is_waited_for = recorder->has_snapshot && recorder->snapshot.piece == 0;
    return is_waited_for || ls_match_state_of(recorder->match) >= LS_MATCH_ENDING ||
           now_ns - recorder->since_ns >= recorder->config.block_ms * LS_NS_PER_MS;
}

/* Those that are closed are in the file, or about to be. */
static bool has_all_ticks(const ls_recorder *recorder)
{
    return recorder->next == ls_match_tick(recorder->match) && recorder->writer.count == 0;
}

/* Events that tell of a gap stand before the block behind it, as they were noted. */
static turn choose(ls_recorder *recorder, uint64_t now_ns)
{
    if (recorder->has_end || recorder->is_left_open) {
        return TURN_NONE;
    }
    if (!recorder->has_header) {
        return TURN_HEADER;
    }
    if (recorder->event_count > 0) {
        return TURN_EVENT;
    }
    if (recorder->ready.size == 0 && recorder->writer.count > 0 && is_block_due(recorder, now_ns)) {
        seal(recorder);
    }
    if (recorder->ready.size > 0) {
        return TURN_BLOCK;
    }
    if (recorder->has_snapshot && recorder->written >= recorder->snapshot.tick) {
        return TURN_PIECE;
    }
    bool is_ended = recorder->is_over && !recorder->is_suspended;
    return is_ended && has_all_ticks(recorder) ? TURN_END : TURN_NONE;
}

static ls_journal_raw raw_end(const ls_recorder *recorder)
{
    ls_tick tick = ls_match_tick(recorder->match);
    ls_journal_end end = {.final_tick = tick,
                          .final_hash = ls_match_hash(recorder->match),
                          .tick_chain = ls_match_tick_chain(recorder->match, tick),
                          .ticks = recorder->figures.ticks};
    ls_journal_raw raw = ls_journal_end_record(&end);
    raw.is_pressing = true;
    return raw;
}

static ls_journal_raw raw_of(const ls_recorder *recorder, turn what)
{
    const event_bytes *event = &recorder->events[recorder->event_first];
    const block *ready = &recorder->ready;
    switch (what) {
    case TURN_HEADER:
        return (ls_journal_raw){
            .kind = LS_JOURNAL_HEADER, .bytes = recorder->header, .size = recorder->header_bytes};
    case TURN_EVENT:
        return (ls_journal_raw){.kind = LS_JOURNAL_EVENT,
                                .is_pressing = event->is_pressing,
                                .bytes = event->bytes,
                                .size = event->size};
    case TURN_BLOCK:
        return (ls_journal_raw){.kind = LS_JOURNAL_TICKS,
                                .tick = ready->first,
                                .bytes = ready->bytes,
                                .size = ready->size};
    case TURN_PIECE:
        return ls_journal_piece_record(&recorder->snapshot, recorder->state);
    default:
        return raw_end(recorder);
    }
}

static void hand_on(ls_recorder *recorder, uint64_t now_ns)
{
    if (recorder->out != TURN_NONE || recorder->has_given_up || now_ns < recorder->retry_ns) {
        return;
    }
    turn what = choose(recorder, now_ns);
    if (what == TURN_NONE) {
        return;
    }
    ls_journal_raw raw = raw_of(recorder, what);
    if (recorder->store.submit(recorder->store.user, &raw)) {
        recorder->out = what;
    }
}

void ls_recorder_pull(ls_recorder *recorder, uint64_t now_ns)
{
    ls_recorder_figures *figures = &recorder->figures;
    if (!recorder->has_clock && ls_match_state_of(recorder->match) == LS_MATCH_RUNNING) {
        recorder->has_clock = true;
        recorder->snapshot_ns = now_ns;
    }
    gather(recorder, now_ns);
    if (is_snapshot_due(recorder, now_ns)) {
        save_snapshot(recorder, now_ns);
    }
    hand_on(recorder, now_ns);
    figures->backlog_ticks = ls_match_tick(recorder->match) - recorder->written;
    if (figures->backlog_ticks > figures->backlog_max) {
        figures->backlog_max = figures->backlog_ticks;
    }
}

/* ---- how it fared ---- */

static void block_is_written(ls_recorder *recorder)
{
    block *ready = &recorder->ready;
    recorder->figures.ticks += ready->count;
    recorder->written = ready->first + ready->count;
    ready->size = 0;
}

static void piece_is_written(ls_recorder *recorder)
{
    ls_journal_snapshot *head = &recorder->snapshot;
    head->piece++;
    if (head->piece == ls_journal_pieces(head->state_bytes)) {
        recorder->has_snapshot = false;
        recorder->figures.snapshots++;
        recorder->has_snapshot_event =
            recorder->has_snapshot_event || recorder->figures.is_leaving_out_snapshots;
        recorder->figures.is_leaving_out_snapshots = false;
    }
}

static void note_success(ls_recorder *recorder, turn what)
{
    switch (what) {
    case TURN_HEADER:
        recorder->has_header = true;
        return;
    case TURN_EVENT:
        recorder->event_first = (recorder->event_first + 1) % EVENTS_MAX;
        recorder->event_count--;
        return;
    case TURN_BLOCK:
        block_is_written(recorder);
        return;
    case TURN_PIECE:
        piece_is_written(recorder);
        return;
    default:
        recorder->has_end = true;
        return;
    }
}

/* Once the match is over the recorder does not wait for the disk. */
static void give_up(ls_recorder *recorder)
{
    ls_tick untaken = ls_match_tick(recorder->match) - recorder->next;
    uint32_t ready = recorder->ready.size > 0 ? recorder->ready.count : 0;
    recorder->figures.ticks_missing += untaken + recorder->writer.count + ready;
    recorder->has_given_up = true;
}

/* It is given up for a newer one. Ticks are small: the disk may still have room for them, and they
 * alone say whether the match can be written down. */
static void lose_snapshot(ls_recorder *recorder, const char *why)
{
    ls_recorder_figures *figures = &recorder->figures;
    recorder->has_snapshot = false;
    recorder->is_snapshot_wanted = true;
    figures->snapshots_failed++;
    if (!figures->is_leaving_out_snapshots) {
        figures->is_leaving_out_snapshots = true;
        recorder->has_snapshot_event = true;
        note(recorder, LS_JOURNAL_EVENT_FAILED, recorder->snapshot.tick, why);
    }
}

/* A failed write is tried again after a pause. */
static void note_failure(ls_recorder *recorder, turn what, const char *why, uint64_t now_ns)
{
    ls_recorder_figures *figures = &recorder->figures;
    figures->failures++;
    ls_text_set(&figures->why, "%s", why);
    recorder->retry_ns = now_ns + recorder->config.retry_ms * LS_NS_PER_MS;
    if (what == TURN_PIECE) {
        lose_snapshot(recorder, why);
        return;
    }
    if (!figures->is_failing) {
        figures->is_failing = true;
        recorder->has_event = true;
        note(recorder, LS_JOURNAL_EVENT_FAILED, recorder->written, why);
    }
    if (recorder->is_over) {
        give_up(recorder);
    }
}

void ls_recorder_complete(ls_recorder *recorder, const ls_journal_completion *completion,
                          uint64_t now_ns)
{
    turn what = recorder->out;
    LS_ASSERT(what != TURN_NONE);
    recorder->out = TURN_NONE;
    if (completion->status != LS_OK) {
        note_failure(recorder, what, completion->why, now_ns);
        return;
    }
    recorder->figures.records++;
    recorder->figures.bytes += completion->written_bytes;
    recorder->retry_ns = 0;
    note_success(recorder, what);
    bool is_word =
        what == TURN_EVENT && recorder->ready.size > 0; /* small: the ticks may not fit */
    recorder->has_event = recorder->has_event || (recorder->figures.is_failing && !is_word);
    recorder->figures.is_failing = recorder->figures.is_failing && is_word;
    ls_recorder_pull(recorder, now_ns);
}

/* ---- what can be seen from outside ---- */

bool ls_recorder_is_done(const ls_recorder *recorder)
{
    bool is_written = recorder->is_suspended && has_all_ticks(recorder) &&
                      recorder->ready.size == 0 && recorder->event_count == 0 &&
                      !recorder->has_snapshot;
    bool is_left = (recorder->is_left_open || is_written) && recorder->out == TURN_NONE;
    return recorder->is_over && (recorder->has_end || recorder->has_given_up || is_left);
}

const ls_recorder_figures *ls_recorder_figures_of(const ls_recorder *recorder)
{
    return &recorder->figures;
}

bool ls_recorder_has_event(ls_recorder *recorder)
{
    bool has_event = recorder->has_event;
    recorder->has_event = false;
    return has_event;
}

bool ls_recorder_has_snapshot_event(ls_recorder *recorder)
{
    bool has_event = recorder->has_snapshot_event;
    recorder->has_snapshot_event = false;
    return has_event;
}
