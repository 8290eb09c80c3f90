#include "lockstep/common/diagnosis/state_history.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/prefetch.h"
#include "lockstep/common/diagnosis/copy_sharing.h"
#include "lockstep/common/diagnosis/word_changes.h"
#include "lockstep/common/simulation/state_hash.h"

#include <stdbool.h>
#include <string.h>

/* ---- changes of chunks ---- */

/* Which chunks of a state differ from those of the state before, and about how much their
 * differences take. By the hashes of the chunks where those are known: reading all of a large
 * state twice would cost more than hashing it. Reads only. */

#define CHUNK_WORDS (LS_HASH_CHUNK_BYTES / sizeof(uint64_t))

typedef struct chunk_changes {
    const uint64_t *before;
    const uint8_t *now;
    const uint8_t *hashes_before; /* of the chunks; NULL here or there: not known */
    const uint8_t *hashes_now;
    size_t bytes; /* of the state */
} chunk_changes;

enum {
    WORD_BYTES = 8,
    HASH_BYTES = 8,
    SAMPLES = 64, /* chunks that are looked into */
};

static size_t chunk_changes_chunks(size_t bytes)
{
    return (bytes + LS_HASH_CHUNK_BYTES - 1) / LS_HASH_CHUNK_BYTES;
}

static size_t size_of_chunk(const chunk_changes *changes, size_t chunk)
{
    return LS_MIN(changes->bytes - chunk * LS_HASH_CHUNK_BYTES, LS_HASH_CHUNK_BYTES);
}

static bool has_hashes(const chunk_changes *changes)
{
    return changes->hashes_before && changes->hashes_now;
}

static bool chunk_changes_is_same(const chunk_changes *changes, size_t chunk)
{
    if (!has_hashes(changes)) {
        return memcmp(changes->before + chunk * CHUNK_WORDS,
                      changes->now + chunk * LS_HASH_CHUNK_BYTES,
                      size_of_chunk(changes, chunk)) == 0;
    }
    return memcmp(changes->hashes_before + chunk * HASH_BYTES,
                  changes->hashes_now + chunk * HASH_BYTES, HASH_BYTES) == 0;
}

/* Copies the chunk as it is now, with zeros behind the state's end; how many words it has. */
static size_t chunk_changes_read(const chunk_changes *changes, size_t chunk,
                                 uint64_t now[CHUNK_WORDS])
{
    size_t size = size_of_chunk(changes, chunk);
    size_t words = (size + WORD_BYTES - 1) / WORD_BYTES;
    now[words - 1] = 0;
    memcpy(now, changes->now + chunk * LS_HASH_CHUNK_BYTES, size);
    return words;
}

/* How many chunks differ; all of them where hashes are not known: they tell more than a sample. */
static size_t chunk_changes_count(const chunk_changes *changes)
{
    size_t chunks = chunk_changes_chunks(changes->bytes);
    size_t count = 0;
    if (!has_hashes(changes)) {
        return chunks;
    }
    for (size_t chunk = 0; chunk < chunks; chunk++) {
        count += !chunk_changes_is_same(changes, chunk);
    }
    return count;
}

static size_t count_words(const chunk_changes *changes, size_t chunk, size_t head_words)
{
    uint64_t now[CHUNK_WORDS];
    const uint64_t *before = changes->before + chunk * CHUNK_WORDS;
    const ls_word_blocks blocks = {before, now, chunk_changes_read(changes, chunk, now)};
    ls_word_figures figures = ls_word_changes_count(&blocks);
    return figures.words + figures.groups * head_words;
}

/* About how many words differ in those, which are `changed` in number, and as many times
 * `head_words` as there are runs of them. Every n-th chunk is looked into. */
static size_t chunk_changes_estimate(const chunk_changes *changes, size_t changed,
                                     size_t head_words)
{
    size_t chunks = chunk_changes_chunks(changes->bytes);
    size_t every = (changed + SAMPLES - 1) / SAMPLES;
    size_t seen = 0;
    size_t words = 0;
    for (size_t chunk = 0; chunk < chunks && seen < changed; chunk++) {
        if (changed < chunks && chunk_changes_is_same(changes, chunk)) {
            continue;
        }
        words += seen % every == 0 ? count_words(changes, chunk, head_words) : 0;
        seen++;
    }
    return words * every;
}

/* ---- the history ---- */

#define CHUNK_HASH_BYTES sizeof(uint64_t)

enum {
    HEAD_WORDS = 1,    /* before each frame, and before each run in it */
    LOG_WORDS_MIN = 8, /* what does not fit goes to the snapshots */
    FRAMES_MIN = 4,    /* a log that holds fewer is not worth its differences */
    PREFETCHED_WORDS_MAX = 128,
    TOUCHED_BYTES = 16 << 20, /* memory of larger states is touched before it is needed */
    TOUCHED_WORDS = 512,      /* one of so many: of each page */
};

/* In the log each state has a frame: a head (its tick, and the words behind it) and runs. A run is
 * a head (its first word, and how many) and the words of the state before, each XORed with the one
 * of this state: applied to one of the two states it makes the other. */

/* An older state: itself, or its difference to the next newer one: the snapshot before it in the
 * list, or the oldest state of the log. Differences come before whole ones in the list. */
typedef struct snapshot {
    bool is_there;
    bool is_whole;
    bool is_worn; /* it is not there, and has to be cleared before it can be a difference */
    ls_tick tick;
    uint64_t *words;  /* [words] of the difference or state */
    bool *is_touched; /* [chunks]: of the difference; the others are zeros */
} snapshot;

struct ls_state_history {
    const ls_allocator *allocator;
    ls_state_history_config config;
    size_t words;             /* of a state; the last one may be filled up with zeros */
    uint64_t *state;          /* that of tick `shown` */
    const uint64_t *lent;     /* by the pair, to `state` or a snapshot; NULL: nothing is */
    ls_copy_sharing *sharing; /* of `state` with the live one; NULL: not, or not any more */
    uint8_t *chunk_hashes;    /* of the newest state */
    bool has_chunk_hashes;    /* they are known */
    ls_tick shown;
    ls_tick newest;
    ls_tick oldest; /* of the states that the log leads back to */
    ls_tick whole;  /* the newest that was copied whole */
    ls_tick looked; /* the newest that was found to change too little for that */
    uint64_t *log;  /* a ring of frames */
    size_t log_words;
    size_t tail; /* where the oldest frame begins */
    size_t used; /* words of all frames */
    ls_state_loan loan;
    bool is_holding; /* a state that is not after `held` */
    ls_tick held;
    snapshot snapshots[LS_HISTORY_SNAPSHOTS_MAX]; /* the newest one first */
    size_t untouched; /* words of theirs that the system has not handed out yet */
};

/* ---- size ---- */

static size_t words_of(size_t bytes)
{
    return (bytes + WORD_BYTES - 1) / WORD_BYTES;
}

/* Two runs have two equal words between them, so that heads never add up to more than those. */
static size_t frame_words_max(size_t state_bytes)
{
    return words_of(state_bytes) + chunk_changes_chunks(state_bytes) * HEAD_WORDS + HEAD_WORDS;
}

size_t ls_state_history_whole_log_bytes(size_t state_bytes, uint32_t ticks)
{
    return ticks * frame_words_max(state_bytes) * WORD_BYTES;
}

size_t ls_state_history_bytes(const ls_state_history_config *config)
{
    size_t state_bytes = words_of(config->state_bytes) * WORD_BYTES;
    size_t chunks = chunk_changes_chunks(config->state_bytes);
    return sizeof(ls_state_history) + state_bytes + chunks * CHUNK_HASH_BYTES + config->log_bytes +
           config->snapshots * (state_bytes + chunks * sizeof(bool));
}

/* ---- life ---- */

static bool is_config_valid(const ls_state_history_config *config)
{
    return config->state_bytes > 0 && config->log_bytes % WORD_BYTES == 0 &&
           config->log_bytes / WORD_BYTES >= LOG_WORDS_MIN &&
           config->log_bytes / WORD_BYTES <= UINT32_MAX &&
           config->recent_ticks > config->reach_ticks && config->snapshots >= 2 &&
           config->snapshots <= LS_HISTORY_SNAPSHOTS_MAX;
}

static bool allocate_snapshots(ls_state_history *history)
{
    size_t chunks = chunk_changes_chunks(history->config.state_bytes);
    bool has_all = true;
    for (uint32_t i = 0; i < history->config.snapshots; i++) {
        snapshot *made = &history->snapshots[i];
        made->words = ls_allocate_array(history->allocator, history->words, WORD_BYTES);
        made->is_touched = ls_allocate_array(history->allocator, chunks, sizeof(bool));
        has_all = has_all && made->words && made->is_touched;
    }
    if (history->config.state_bytes > TOUCHED_BYTES) {
        history->untouched = history->config.snapshots * history->words;
    }
    return has_all;
}

static ls_status allocate_state(ls_state_history *history)
{
    const ls_block_pair *pair = history->config.pair;
    if (pair) {
        history->state = (uint64_t *)(void *)pair->copy;
        history->lent = history->state;
        return ls_copy_sharing_create(pair, history->allocator, &history->sharing);
    }
    history->state = ls_allocate_array(history->allocator, history->words, WORD_BYTES);
    return history->state ? LS_OK : LS_NO_MEMORY;
}

/* The pair may be gone by now. */
static void release_words(const ls_state_history *history, uint64_t *words)
{
    if (words != history->lent) {
        ls_release(history->allocator, words);
    }
}

static ls_status allocate_parts(ls_state_history *history)
{
    const ls_allocator *allocator = history->allocator;
    size_t chunks = chunk_changes_chunks(history->config.state_bytes);
    history->words = words_of(history->config.state_bytes);
    history->log_words = history->config.log_bytes / WORD_BYTES;
    ls_status status = allocate_state(history);
    if (status != LS_OK) {
        return status;
    }
    history->chunk_hashes = ls_allocate_array(allocator, chunks, CHUNK_HASH_BYTES);
    history->log = ls_allocate_array(allocator, history->log_words, WORD_BYTES);
    bool has_all = history->chunk_hashes && history->log;
    return has_all && allocate_snapshots(history) ? LS_OK : LS_NO_MEMORY;
}

ls_status ls_state_history_create(const ls_state_history_config *config,
                                  const ls_allocator *allocator, ls_state_history **out)
{
    if (!is_config_valid(config)) {
        return LS_BAD_ARGUMENT;
    }
    ls_state_history *history = ls_allocate(allocator, sizeof *history);
    if (!history) {
        return LS_NO_MEMORY;
    }
    history->allocator = allocator;
    history->config = *config;
    ls_status status = allocate_parts(history);
    if (status != LS_OK) {
        ls_state_history_destroy(history);
        return status;
    }
    *out = history;
    return LS_OK;
}

void ls_state_history_destroy(ls_state_history *history)
{
    if (!history) {
        return;
    }
    ls_state_loan_end(&history->loan);
    for (uint32_t i = 0; i < history->config.snapshots; i++) {
        ls_release(history->allocator, history->snapshots[i].is_touched);
        release_words(history, history->snapshots[i].words);
    }
    ls_release(history->allocator, history->log);
    ls_release(history->allocator, history->chunk_hashes);
    release_words(history, history->state);
    ls_copy_sharing_destroy(history->sharing);
    ls_release(history->allocator, history);
}

/* ---- differences ---- */

static void xor_words(uint64_t *to, const uint64_t *with, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to[i] ^= with[i];
    }
}

static size_t in_ring(const ls_state_history *history, size_t place)
{
    return place < history->log_words ? place : place - history->log_words;
}

static uint64_t make_head(uint32_t first, size_t words)
{
    return (uint64_t)first << 32 | (uint32_t)words;
}

static uint32_t first_of(uint64_t head)
{
    return (uint32_t)(head >> 32);
}

static uint32_t words_behind(uint64_t head)
{
    return (uint32_t)head;
}

/* Of the state that is shown, which shares memory with the live one; others share none. */
static void before_write(const ls_state_history *history, const uint64_t *to, size_t first,
                         size_t count)
{
    if (history->sharing && to == history->state && count > 0) {
        ls_copy_sharing_before_write(history->sharing, first * WORD_BYTES, count * WORD_BYTES);
    }
}

/* Applies the runs that lie in the ring from `place` on. */
static void apply_runs(const ls_state_history *history, size_t place, size_t words, uint64_t *to)
{
    while (words > 0) {
        uint64_t head = history->log[place];
        uint32_t count = words_behind(head);
        place = in_ring(history, place + HEAD_WORDS);
        size_t before_end = LS_MIN(count, history->log_words - place);
        before_write(history, to, first_of(head), count);
        xor_words(to + first_of(head), history->log + place, before_end);
        xor_words(to + first_of(head) + before_end, history->log, count - before_end);
        place = in_ring(history, place + count);
        words -= HEAD_WORDS + count;
    }
}

static void touch(snapshot *of, size_t first, size_t count)
{
    for (size_t chunk = first / CHUNK_WORDS; chunk <= (first + count - 1) / CHUNK_WORDS; chunk++) {
        of->is_touched[chunk] = true;
    }
}

static void touch_runs(const ls_state_history *history, size_t place, size_t words, snapshot *of)
{
    while (words > 0) {
        uint64_t head = history->log[place];
        touch(of, first_of(head), words_behind(head));
        place = in_ring(history, place + HEAD_WORDS + words_behind(head));
        words -= HEAD_WORDS + words_behind(head);
    }
}

static size_t words_of_chunk(const ls_state_history *history, size_t chunk)
{
    return LS_MIN(history->words - chunk * CHUNK_WORDS, CHUNK_WORDS);
}

static void apply_snapshot(const ls_state_history *history, const snapshot *with, uint64_t *to)
{
    size_t chunks = chunk_changes_chunks(history->config.state_bytes);
    for (size_t chunk = 0; with->is_there && chunk < chunks; chunk++) {
        if (with->is_touched[chunk]) {
            size_t first = chunk * CHUNK_WORDS;
            before_write(history, to, first, words_of_chunk(history, chunk));
            xor_words(to + first, with->words + first, words_of_chunk(history, chunk));
        }
    }
}

/* ---- snapshots ---- */

static void forget_snapshot(const ls_state_history *history, snapshot *gone)
{
    size_t chunks = chunk_changes_chunks(history->config.state_bytes);
    bool is_difference = gone->is_there && !gone->is_whole;
    gone->is_worn = gone->is_worn || (gone->is_there && gone->is_whole);
    for (size_t chunk = 0; is_difference && chunk < chunks; chunk++) {
        if (gone->is_touched[chunk]) {
            memset(gone->words + chunk * CHUNK_WORDS, 0,
                   words_of_chunk(history, chunk) * WORD_BYTES);
            gone->is_touched[chunk] = false;
        }
    }
    gone->is_there = false;
    gone->is_whole = false;
}

static void forget_snapshots(ls_state_history *history)
{
    for (uint32_t i = 0; i < history->config.snapshots; i++) {
        forget_snapshot(history, &history->snapshots[i]);
    }
}

/* The newest snapshot, which takes the log's oldest state once that leaves the log. */
static snapshot *newest_snapshot(ls_state_history *history)
{
    snapshot *newest = &history->snapshots[0];
    if (!newest->is_there) {
        if (newest->is_worn) {
            memset(newest->words, 0, history->words * WORD_BYTES);
        }
        newest->is_worn = false;
        newest->is_there = true;
        newest->tick = history->oldest;
    }
    return newest;
}

/* Behind a whole one the log may begin anywhere. */
static void add_runs(const ls_state_history *history, size_t place, size_t words, snapshot *to)
{
    if (!to->is_whole) {
        touch_runs(history, place, words, to);
        apply_runs(history, place, words, to->words);
    }
}

static bool is_so_old(const ls_state_history *history, ls_tick tick, uint32_t ticks)
{
    return history->newest - tick >= ticks;
}

/* Whether no older state is needed once this one is there. */
static bool is_far_enough(const ls_state_history *history, ls_tick tick, ls_tick now)
{
    return now - tick >= history->config.reach_ticks &&
           (!history->is_holding || tick <= history->held);
}

/* The oldest one makes room once the one before it is old enough. */
static void shift_snapshots(ls_state_history *history)
{
    snapshot *newest = &history->snapshots[0];
    if (!newest->is_there) {
        return;
    }
    uint32_t last = history->config.snapshots - 1;
    uint32_t reach = history->config.reach_ticks;
    const snapshot *next = &history->snapshots[last - 1];
    if (!is_so_old(history, newest->tick, (reach + last - 1) / last) ||
        (next->is_there && !is_far_enough(history, next->tick, history->newest))) {
        return;
    }
    snapshot oldest = history->snapshots[last];
    forget_snapshot(history, &oldest);
    memmove(newest + 1, newest, last * sizeof *newest);
    *newest = oldest;
}

/* ---- the log ---- */

static LS_TICK_CODE void drop_oldest_frame(ls_state_history *history)
{
    uint64_t head = history->log[history->tail];
    size_t runs = in_ring(history, history->tail + HEAD_WORDS);
    if (is_far_enough(history, first_of(head), history->newest)) {
        forget_snapshots(history);
    } else {
        add_runs(history, runs, words_behind(head), newest_snapshot(history));
    }
    history->oldest = first_of(head);
    history->tail = in_ring(history, runs + words_behind(head));
    history->used -= HEAD_WORDS + words_behind(head);
}

/* The frame of a state that is being added. */
typedef struct frame {
    ls_state_history *history;
    size_t place;     /* of its head */
    size_t words;     /* behind its head, so far */
    snapshot *direct; /* it is larger than the log: what changes goes here; else NULL */
} frame;

/* Without a frame for the newest state the log would lead nowhere. */
static void go_direct(frame *made)
{
    ls_state_history *history = made->history;
    size_t runs = in_ring(history, made->place + HEAD_WORDS);
    made->direct = newest_snapshot(history);
    add_runs(history, runs, made->words, made->direct);
}

LS_TICK_CODE static void reserve(frame *made, size_t words)
{
    ls_state_history *history = made->history;
    while (!made->direct && history->used + HEAD_WORDS + made->words + words > history->log_words) {
        if (history->used > 0) {
            drop_oldest_frame(history);
        } else {
            go_direct(made);
        }
    }
}

static void push_words(frame *made, size_t first, const uint64_t *now, size_t count)
{
    const ls_state_history *history = made->history;
    size_t place = in_ring(history, made->place + HEAD_WORDS + made->words);
    history->log[place] = make_head((uint32_t)first, count);
    place = in_ring(history, place + HEAD_WORDS);
    size_t before_end = LS_MIN(count, history->log_words - place);
    for (size_t i = 0; i < before_end; i++) {
        history->log[place + i] = history->state[first + i] ^ now[i];
    }
    for (size_t i = before_end; i < count; i++) {
        history->log[i - before_end] = history->state[first + i] ^ now[i];
    }
    made->words += HEAD_WORDS + count;
}

/* Words that differ from those of the state before; up to a chunk of them. */
static void add_run(frame *made, size_t first, const uint64_t *now, size_t count)
{
    uint64_t *before = made->history->state + first;
    reserve(made, HEAD_WORDS + count);
    if (!made->direct) {
        push_words(made, first, now, count);
    } else if (!made->direct->is_whole) {
        touch(made->direct, first, count);
        for (size_t i = 0; i < count; i++) {
            made->direct->words[first + i] ^= before[i] ^ now[i];
        }
    }
    before_write(made->history, made->history->state, first, count);
    memcpy(before, now, count * WORD_BYTES);
}

static void end_frame(const frame *made, ls_tick tick)
{
    ls_state_history *history = made->history;
    if (made->direct) {
        history->oldest = tick; /* the log is empty */
        return;
    }
    history->log[made->place] = make_head(tick, made->words);
    history->used += HEAD_WORDS + made->words;
}

/* ---- showing another state ---- */

/* Applies what lies between the newest state and that of `tick`: there and back again. */
static void exchange(ls_state_history *history, ls_tick tick)
{
    size_t place = history->tail;
    for (size_t left = history->used; left > 0;) {
        uint64_t head = history->log[place];
        size_t runs = in_ring(history, place + HEAD_WORDS);
        if (first_of(head) > tick) {
            apply_runs(history, runs, words_behind(head), history->state);
        }
        place = in_ring(history, runs + words_behind(head));
        left -= HEAD_WORDS + words_behind(head);
    }
    for (uint32_t i = 0; i < history->config.snapshots && tick < history->oldest; i++) {
        const snapshot *older = &history->snapshots[i];
        if (older->is_there && older->tick >= tick) {
            apply_snapshot(history, older, history->state);
        }
    }
}

static void show(ls_state_history *history, ls_tick tick)
{
    if (history->shown == tick) {
        return;
    }
    ls_state_loan_end(&history->loan);
    if (history->shown != history->newest) {
        exchange(history, history->shown);
    }
    if (tick != history->newest) {
        exchange(history, tick);
    }
    history->shown = tick;
}

/* ---- adding ---- */

/* `now`: the words of a chunk, from `first` on. */
static LS_TICK_CODE void record_changes(frame *made, size_t first, const uint64_t *now,
                                        size_t count)
{
    const ls_word_blocks blocks = {made->history->state + first, now, count};
    ls_word_run run = {0, 0};
    while (ls_word_changes_next(&blocks, &run)) {
        add_run(made, first + run.first, now + run.first, run.end - run.first);
    }
}

static chunk_changes changes_of(const ls_state_history *history, const ls_history_state *state)
{
    return (chunk_changes){
        .before = history->state,
        .now = state->bytes,
        .hashes_before = history->has_chunk_hashes ? history->chunk_hashes : NULL,
        .hashes_now = state->chunk_hashes,
        .bytes = history->config.state_bytes,
    };
}

static void note_chunk_hashes(ls_state_history *history, const uint8_t *chunk_hashes)
{
    history->has_chunk_hashes = chunk_hashes != NULL;
    if (chunk_hashes) {
        memcpy(history->chunk_hashes, chunk_hashes,
               chunk_changes_chunks(history->config.state_bytes) * CHUNK_HASH_BYTES);
    }
}

void ls_state_history_start(ls_state_history *history, ls_tick tick, const ls_history_state *state)
{
    ls_state_loan_end(&history->loan);
    before_write(history, history->state, 0, history->words);
    memcpy(history->state, state->bytes, history->config.state_bytes);
    note_chunk_hashes(history, state->chunk_hashes);
    history->whole = tick;
    history->looked = tick;
    history->is_holding = false;
    history->tail = 0;
    history->used = 0;
    history->shown = tick;
    history->newest = tick;
    history->oldest = tick;
    forget_snapshots(history);
}

LS_TICK_CODE static void add_differences(ls_state_history *history, ls_tick tick,
                                         const ls_history_state *state)
{
    frame made = {.history = history, .place = in_ring(history, history->tail + history->used)};
    const chunk_changes changes = changes_of(history, state);
    size_t chunks = chunk_changes_chunks(history->config.state_bytes);
    uint64_t now[CHUNK_WORDS];
    reserve(&made, 0);
    for (size_t chunk = 0; chunk < chunks; chunk++) {
        if (!chunk_changes_is_same(&changes, chunk)) {
            record_changes(&made, chunk * CHUNK_WORDS, now,
                           chunk_changes_read(&changes, chunk, now));
        }
    }
    end_frame(&made, tick);
}

void ls_state_history_prefetch(const ls_state_history *history)
{
    size_t place = in_ring(history, history->tail + history->used);
    ls_prefetch(history->state, LS_MIN(history->words, PREFETCHED_WORDS_MAX) * WORD_BYTES);
    ls_prefetch(history->chunk_hashes, CHUNK_HASH_BYTES);
    ls_prefetch(history->log + history->tail, HEAD_WORDS * WORD_BYTES);
    ls_prefetch(history->log + place, LS_CACHE_LINE_BYTES);
}

/* ---- states that are copied whole ---- */

/* So many ticks apart the newest state and the snapshots reach back far enough. */
static uint32_t whole_ticks(const ls_state_history *history)
{
    uint32_t count = history->config.snapshots;
    return (history->config.reach_ticks + count - 1) / count;
}

/* The system hands memory out page by page as it is first written to: of a large state that is many
 * ticks' time, which is spread over those before the first snapshot. A match of which little
 * changes takes none. */
static void touch_snapshots(ls_state_history *history)
{
    size_t words =
        history->config.snapshots * history->words / whole_ticks(history) + TOUCHED_WORDS;
    words = LS_MIN(words, history->untouched);
    for (size_t i = 0; i < words; i += TOUCHED_WORDS) {
        size_t at = history->untouched - 1 - i;
        const snapshot *of = &history->snapshots[at / history->words];
        if (!of->is_there && !of->is_worn) {
            of->words[at % history->words] = 0; /* as it is */
        }
    }
    history->untouched -= words;
}

/* States of which most changes go from block to block. */
static void end_sharing(ls_state_history *history)
{
    before_write(history, history->state, 0, history->words);
    ls_copy_sharing_destroy(history->sharing);
    history->sharing = NULL;
}

/* Takes the state that is shown, which becomes the next newer one. */
static void make_whole(ls_state_history *history, uint32_t index)
{
    snapshot *older = &history->snapshots[index];
    for (size_t i = 0; i < history->words; i++) {
        uint64_t difference = older->words[i];
        older->words[i] = history->state[i];
        history->state[i] ^= difference;
    }
    memset(older->is_touched, 0, chunk_changes_chunks(history->config.state_bytes));
    older->is_whole = true;
    bool has_newer = index > 0 && history->snapshots[index - 1].is_there;
    history->shown = has_newer ? history->snapshots[index - 1].tick : history->oldest;
}

/* Before the log is given up: the older states have to do without it. Where there is no snapshot
 * yet its oldest state becomes one. */
static void make_snapshots_whole(ls_state_history *history)
{
    snapshot *newest = &history->snapshots[0];
    bool has_any = false;
    for (uint32_t i = history->config.snapshots; i-- > 0;) {
        const snapshot *older = &history->snapshots[i];
        has_any = has_any || older->is_there;
        if (older->is_there && !older->is_whole) {
            show(history, older->tick);
            make_whole(history, i);
        }
    }
    if (!has_any && history->used > 0) {
        show(history, history->oldest);
        memcpy(newest->words, history->state, history->words * WORD_BYTES);
        newest->is_there = true;
        newest->is_whole = true;
        newest->tick = history->oldest;
    }
    show(history, history->newest);
}

/* The first snapshot that is not there, or else the oldest. */
static uint32_t next_to_go(const ls_state_history *history)
{
    uint32_t index = 0;
    while (index + 1 < history->config.snapshots && history->snapshots[index].is_there) {
        index++;
    }
    return index;
}

/* Whether the newest state can become a snapshot: it is not too near to the one before, and what
 * makes room for it is not needed. */
static bool is_kept(const ls_state_history *history, ls_tick tick)
{
    const snapshot *newest = &history->snapshots[0];
    uint32_t gone = next_to_go(history);
    bool is_apart = !newest->is_there || tick - newest->tick > whole_ticks(history);
    return is_apart && (!history->snapshots[gone].is_there ||
                        is_far_enough(history, history->snapshots[gone - 1].tick, tick));
}

/* The newest state's block goes to the snapshots, and another one comes back. */
static void push_newest(ls_state_history *history)
{
    snapshot *snapshots = history->snapshots;
    uint32_t gone = next_to_go(history);
    snapshot made = snapshots[gone];
    forget_snapshot(history, &made);
    memmove(snapshots + 1, snapshots, gone * sizeof *snapshots);
    uint64_t *block = made.words;
    made.words = history->state;
    made.tick = history->newest;
    made.is_there = true;
    made.is_whole = true;
    snapshots[0] = made;
    history->state = block;
}

static void add_whole(ls_state_history *history, ls_tick tick, const ls_history_state *state)
{
    end_sharing(history);
    make_snapshots_whole(history);
    if (is_kept(history, tick)) {
        push_newest(history);
    }
    history->state[history->words - 1] = 0;
    memcpy(history->state, state->bytes, history->config.state_bytes);
    history->tail = 0;
    history->used = 0;
    history->oldest = tick;
    history->whole = tick;
}

/* ---- what adding costs ---- */

typedef enum adding {
    ADDING_NOT, /* it is left out */
    ADDING_DIFFERENCES,
    ADDING_WHOLE,
} adding;

/* Such states are some ticks apart, at the same ticks on every machine: what is found to differ can
 * be compared in the next one that both have. */
static bool is_dear(const ls_state_history *history, ls_tick tick, size_t bytes)
{
    size_t tick_bytes = history->config.tick_bytes;
    size_t ticks = tick_bytes > 0 ? (bytes + tick_bytes - 1) / tick_bytes : 0;
    return ticks > 1 && tick / ticks == history->newest / ticks;
}

static bool is_whole_due(const ls_state_history *history, ls_tick tick, bool is_too_dear)
{
    uint32_t ticks = whole_ticks(history);
    bool is_looked_at = is_too_dear && tick - history->looked < ticks;
    return tick - history->whole >= ticks && !is_looked_at;
}

LS_TICK_CODE static adding choose(ls_state_history *history, ls_tick tick,
                                  const ls_history_state *state)
{
    const chunk_changes changes = changes_of(history, state);
    size_t changed = chunk_changes_count(&changes);
    size_t bytes = LS_MIN(changed * LS_HASH_CHUNK_BYTES, history->config.state_bytes);
    bool is_too_dear = !state->is_wanted && is_dear(history, tick, bytes);
    bool may_be_dense = changed * (CHUNK_WORDS + HEAD_WORDS) * FRAMES_MIN > history->log_words;
    if (history->untouched > 0 && (may_be_dense || history->used > history->log_words / 2)) {
        touch_snapshots(history);
    }
    bool may_be_whole =
        may_be_dense && (state->is_wanted || is_whole_due(history, tick, is_too_dear));
    if (is_too_dear && !may_be_whole) {
        return ADDING_NOT;
    }
    if (may_be_dense &&
        chunk_changes_estimate(&changes, changed, HEAD_WORDS) * FRAMES_MIN > history->log_words) {
        return may_be_whole ? ADDING_WHOLE : ADDING_NOT;
    }
    history->looked = tick;
    return is_too_dear ? ADDING_NOT : ADDING_DIFFERENCES;
}

static bool has_lapsed(const ls_state_history *history)
{
    return history->newest > history->held &&
           is_so_old(history, history->held,
                     LS_HISTORY_HELD_REACHES_MAX * history->config.reach_ticks + 1);
}

LS_TICK_CODE bool ls_state_history_add(ls_state_history *history, ls_tick tick,
                                       ls_history_state state)
{
    LS_ASSERT(tick > history->newest);
    if (!state.is_wanted && ls_state_loan_is_on(&history->loan)) {
        return false;
    }
    ls_state_loan_end(&history->loan);
    show(history, history->newest);
    adding how = choose(history, tick, &state);
    if (how == ADDING_NOT) {
        return false;
    }
    if (how == ADDING_WHOLE) {
        add_whole(history, tick, &state);
    } else {
        add_differences(history, tick, &state);
    }
    note_chunk_hashes(history, state.chunk_hashes);
    history->newest = tick;
    history->shown = tick;
    history->is_holding = history->is_holding && !has_lapsed(history);
    while (history->used > 0 && tick - history->oldest > history->config.recent_ticks &&
           is_far_enough(history, first_of(history->log[history->tail]), tick)) {
        drop_oldest_frame(history);
    }
    if (how == ADDING_DIFFERENCES) {
        shift_snapshots(history);
    }

    return true;
}

void ls_state_history_share(ls_state_history *history)
{
    if (history->sharing) {
        ls_copy_sharing_turn(history->sharing);
    }
}

/* ---- questions ---- */

ls_tick ls_state_history_oldest(const ls_state_history *history)
{
    ls_tick oldest = history->oldest;
    for (uint32_t i = 0; i < history->config.snapshots; i++) {
        const snapshot *older = &history->snapshots[i];
        oldest = older->is_there ? older->tick : oldest;
    }
    return oldest;
}

bool ls_state_history_newest_until(const ls_state_history *history, ls_tick tick, ls_tick *out)
{
    size_t place = history->tail;
    bool is_found = history->oldest <= tick;
    ls_tick found = history->oldest;
    for (size_t left = history->used; left > 0 && first_of(history->log[place]) <= tick;) {
        size_t words = HEAD_WORDS + words_behind(history->log[place]);
        found = first_of(history->log[place]);
        place = in_ring(history, place + words);
        left -= words;
    }
    for (uint32_t i = 0; i < history->config.snapshots && !is_found; i++) {
        const snapshot *older = &history->snapshots[i];
        is_found = older->is_there && older->tick <= tick;
        found = older->tick;
    }
    if (is_found) {
        *out = found;
    }
    return is_found;
}

const uint8_t *ls_state_history_state(ls_state_history *history, ls_tick tick)
{
    ls_tick found = 0;
    if (!ls_state_history_newest_until(history, tick, &found) || found != tick) {
        return NULL;
    }
    for (uint32_t i = 0; i < history->config.snapshots; i++) {
        const snapshot *older = &history->snapshots[i];
        if (older->is_there && older->is_whole && older->tick == tick) {
            return (const uint8_t *)older->words;
        }
    }
    show(history, tick);
    return (const uint8_t *)history->state;
}

void ls_state_history_lend(ls_state_history *history, const ls_state_loan *loan)
{
    ls_state_loan_end(&history->loan);
    history->loan = *loan;
}

void ls_state_history_reclaim(ls_state_history *history)
{
    ls_state_loan_end(&history->loan);
}

void ls_state_history_hold(ls_state_history *history, ls_tick tick)
{
    history->held = tick;
    history->is_holding = true;
}

void ls_state_history_let_go(ls_state_history *history)
{
    history->is_holding = false;
}
