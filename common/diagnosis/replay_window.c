#include "lockstep/common/diagnosis/replay_window.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/prefetch.h"
#include "lockstep/common/diagnosis/state_history.h"

#include <string.h>

#define EXTRA_BYTES ((size_t)1 << 20)           /* beyond three and a half states, for large ones */
#define SMALL_BYTES_MAX ((size_t)16 << 20)      /* for all states of the time, of small ones */
#define SAVED_BYTES_PER_S (UINT64_C(160) << 20) /* that an engine is asked to save */
#define COMPARED_BYTES_PER_S ((size_t)128 << 20)
#define TICK_BYTES_MIN ((size_t)256 << 10) /* they are in the processor's cache */

enum {
    LATE_TENTHS = 24, /* of a second */
    LEAD_TICKS = 32,  /* that both sides agreed on and that are simulated again as well */
    LEAD_TICKS_OF_LARGE = 8,
    WORD_BYTES = 8,
    WANTED_MAX = 8,
    KEPT_TICKS_MIN = 2 * LEAD_TICKS + 1,
    KEPT_MAX = 8, /* stretches, of as many ticks at which clients differ at one time */
};

/* A stretch for as long as somebody uses it, in memory of its own, which stays for the next one. */
typedef struct kept_stretch {
    uint32_t users; /* 0: there is none */
    ls_replay_stretch stretch;
    uint8_t *snapshot;      /* NULL: the history holds it */
    uint64_t *state_hashes; /* [ring] */
    ls_input_buffer *inputs;
    uint32_t ring; /* ticks that there is room for; a power of two */
} kept_stretch;

struct ls_replay_window {
    const ls_allocator *allocator;
    ls_replay_window_config config;
    ls_state_history *history;
    size_t state_bytes;
    uint32_t lead_ticks;
    uint8_t *canonical;            /* [state_bytes]; NULL where states are images as they lie */
    const ls_sim_instance *engine; /* the match's, when it has no schema; else NULL */
    uint64_t *state_hashes;        /* [window_ticks], by tick */
    bool *has_state;               /* [window_ticks], by tick: whether it was to be had */
    ls_input_buffer *own;          /* NULL when they are borrowed */
    const ls_input_buffer *inputs;
    ls_tick start;
    ls_tick newest;
    ls_tick wanted[WANTED_MAX]; /* 0: none */
    uint32_t next_wanted;
    ls_input_buffer_config kept_inputs; /* but for the ticks */
    kept_stretch kept[KEPT_MAX];
    ls_tick awaited; /* a state from which a stretch may be needed; UINT32_MAX: none */
};

/* ---- size ---- */

static uint32_t power_of_two_from(uint32_t least)
{
    uint32_t power = 1;
    while (power < least) {
        power *= 2;
    }
    return power;
}

uint32_t ls_replay_late_ticks(uint32_t tick_rate_hz)
{
    uint32_t ticks = (tick_rate_hz * LATE_TENTHS + 9) / 10;
    return LS_MAX(ticks, LS_REPLAY_LATE_TICKS_MIN);
}

/* The newest state that both sides agree on may be so much older than the newest one. */
static uint32_t agreed_ticks(uint32_t tick_rate_hz, uint32_t hash_interval_ticks)
{
    return ls_replay_late_ticks(tick_rate_hz) + hash_interval_ticks;
}

uint32_t ls_replay_input_ticks(uint32_t tick_rate_hz, uint32_t hash_interval_ticks)
{
    uint32_t agreed = agreed_ticks(tick_rate_hz, hash_interval_ticks);
    return agreed + power_of_two_from(agreed); /* a snapshot goes when the next one is so old */
}

static ls_state_history_config history_config(const ls_replay_window_config *config,
                                              size_t state_bytes)
{
    return (ls_state_history_config){
        .state_bytes = state_bytes,
        .log_bytes = config->log_bytes,
        .recent_ticks = config->recent_ticks,
        .reach_ticks = config->reach_ticks,
        .snapshots = config->snapshots,
        .tick_bytes = config->tick_bytes,
    };
}

size_t ls_replay_window_bytes(const ls_replay_window_config *config, size_t state_bytes)
{
    ls_state_history_config history = history_config(config, state_bytes);
    return sizeof(ls_replay_window) + ls_state_history_bytes(&history) +
           config->window_ticks * (sizeof(uint64_t) + sizeof(bool)) +
           (ls_schema_is_canonical_here() && !config->is_saved ? 0 : state_bytes);
}

/* Runs begin at one of them, and are shorter the more there are: those of states that are not large
 * take half of the memory that is there beyond three states and a half. */
static uint32_t snapshots_for(size_t state_bytes)
{
    size_t snapshots = EXTRA_BYTES / 2 / state_bytes;
    return (uint32_t)LS_MIN(LS_MAX(snapshots, 2), LS_HISTORY_SNAPSHOTS_MAX);
}

/* The log that there is memory for; `config` has none yet. */
static size_t log_bytes_for(const ls_replay_window_config *config, size_t state_bytes)
{
    size_t whole = ls_state_history_whole_log_bytes(state_bytes, config->recent_ticks);
    if (state_bytes <= LS_REPLAY_SMALL_STATE_BYTES) {
        return LS_MIN(whole, SMALL_BYTES_MAX);
    }
    size_t fixed_bytes = ls_replay_window_bytes(config, state_bytes);
    size_t all_bytes = 3 * state_bytes + state_bytes / 2 + EXTRA_BYTES;
    size_t log_bytes = all_bytes > fixed_bytes ? all_bytes - fixed_bytes : 0;
    return LS_MIN(whole, LS_MAX(log_bytes, LS_REPLAY_SMALL_STATE_BYTES) / WORD_BYTES * WORD_BYTES);
}

/* Saving and comparing takes about 0.3 ms a MiB. */
static uint32_t every_ticks(const ls_replay_needs *needs)
{
    uint64_t bytes_per_s = (uint64_t)needs->state_bytes * needs->tick_rate_hz;
    return needs->is_saved ? (uint32_t)(bytes_per_s / SAVED_BYTES_PER_S) + 1 : 1;
}

ls_replay_window_config ls_replay_window_config_default(const ls_replay_needs *needs)
{
    uint32_t input_ticks = ls_replay_input_ticks(needs->tick_rate_hz, needs->hash_interval_ticks);
    ls_replay_window_config config = {
        .window_ticks = power_of_two_from(LS_MAX(input_ticks + 1, LS_WINDOW_TICKS)),
        .reach_ticks = agreed_ticks(needs->tick_rate_hz, needs->hash_interval_ticks),
        .every_ticks = every_ticks(needs),
        .is_saved = needs->is_saved,
        .tick_bytes = LS_MAX(COMPARED_BYTES_PER_S / needs->tick_rate_hz, TICK_BYTES_MIN),
    };
    config.recent_ticks = config.reach_ticks + LEAD_TICKS;
    config.snapshots = snapshots_for(needs->state_bytes);
    config.log_bytes = log_bytes_for(&config, needs->state_bytes);
    return config;
}

ls_replay_needs ls_replay_needs_of(const ls_sim_instance *instance, uint32_t hash_interval_ticks)
{
    return (ls_replay_needs){
        .state_bytes = ls_sim_instance_image_bytes(instance),
        .tick_rate_hz = ls_sim_instance_config(instance)->tick_rate_hz,
        .hash_interval_ticks = LS_MAX(hash_interval_ticks, ls_sim_instance_whole_ticks(instance)),
        .is_saved = ls_sim_instance_schema(instance) == NULL,
    };
}

/* ---- life ---- */

static bool is_power_of_two(uint32_t number)
{
    return number != 0 && (number & (number - 1)) == 0;
}

static bool is_config_valid(const ls_replay_window_config *config)
{
    return is_power_of_two(config->window_ticks) && config->recent_ticks <= config->window_ticks;
}

static ls_status create_inputs(ls_replay_window *window, const ls_sim_instance *instance)
{
    ls_input_buffer_config inputs = {
        .slots = ls_sim_instance_config(instance)->players,
        .input_bytes_max = ls_sim_instance_simulation(instance)->input_bytes_max,
        .window_ticks = window->config.window_ticks,
    };
    ls_status status = LS_OK;
    window->kept_inputs = inputs;
    if (!window->config.inputs) {
        status = ls_input_buffer_create(&inputs, window->allocator, &window->own);
    }
    window->inputs = window->config.inputs ? window->config.inputs : window->own;
    return status;
}

static ls_status create_states(ls_replay_window *window, const ls_sim_instance *instance)
{
    size_t state_bytes = ls_sim_instance_image_bytes(instance);
    const ls_allocator *allocator = window->allocator;
    uint32_t ticks = window->config.window_ticks;
    bool needs_copy = window->engine || !ls_schema_is_canonical_here();
    ls_state_history_config history = history_config(&window->config, state_bytes);
    history.pair = needs_copy ? NULL : ls_sim_instance_block_pair(instance);
    window->state_bytes = state_bytes;
    window->lead_ticks =
        state_bytes <= LS_REPLAY_MEDIUM_STATE_BYTES ? LEAD_TICKS : LEAD_TICKS_OF_LARGE;
    window->canonical = needs_copy ? ls_allocate(allocator, state_bytes) : NULL;
    window->state_hashes = ls_allocate_array(allocator, ticks, sizeof(uint64_t));
    window->has_state = ls_allocate_array(allocator, ticks, sizeof(bool));
    if ((needs_copy && !window->canonical) || !window->state_hashes || !window->has_state) {
        return LS_NO_MEMORY;
    }
    return ls_state_history_create(&history, allocator, &window->history);
}

ls_status ls_replay_window_create(const ls_replay_window_config *config,
                                  const ls_sim_instance *instance, const ls_allocator *allocator,
                                  ls_replay_window **out)
{
    if (!is_config_valid(config)) {
        return LS_BAD_ARGUMENT;
    }
    bool is_engine = !ls_sim_instance_schema(instance);
    if (!ls_sim_instance_image_schema(instance) || is_engine != config->is_saved) {
        return is_engine == config->is_saved ? LS_UNSUPPORTED : LS_BAD_ARGUMENT;
    }
    ls_replay_window *window = ls_allocate(allocator, sizeof *window);
    if (!window) {
        return LS_NO_MEMORY;
    }
    window->allocator = allocator;
    window->config = *config;
    window->engine = is_engine ? instance : NULL;
    ls_status status = create_states(window, instance);
    LS_THEN(status, create_inputs(window, instance));
    if (status != LS_OK) {
        ls_replay_window_destroy(window);
        return status;
    }
    *out = window;
    return LS_OK;
}

static void release_ticks(const ls_replay_window *window, kept_stretch *kept)
{
    ls_input_buffer_destroy(kept->inputs);
    ls_release(window->allocator, kept->state_hashes);
    kept->inputs = NULL;
    kept->state_hashes = NULL;
    kept->ring = 0;
}

void ls_replay_window_destroy(ls_replay_window *window)
{
    if (!window) {
        return;
    }
    for (uint32_t i = 0; i < KEPT_MAX; i++) {
        release_ticks(window, &window->kept[i]);
        ls_release(window->allocator, window->kept[i].snapshot);
    }
    ls_input_buffer_destroy(window->own);
    ls_state_history_destroy(window->history);
    ls_release(window->allocator, window->has_state);
    ls_release(window->allocator, window->state_hashes);
    ls_release(window->allocator, window->canonical);
    ls_release(window->allocator, window);
}

/* ---- recording ---- */

static uint32_t place_of(const ls_replay_window *window, ls_tick tick)
{
    return tick & (window->config.window_ticks - 1);
}

static void note(ls_replay_window *window, ls_tick tick, uint64_t state_hash, bool has_state)
{
    window->newest = tick;
    window->state_hashes[place_of(window, tick)] = state_hash;
    window->has_state[place_of(window, tick)] = has_state;
}

/* The live state's image; NULL: it is not to be had. */
static const uint8_t *state_of(ls_replay_window *window, const ls_sim_instance *instance)
{
    if (!window->canonical) {
        return ls_sim_instance_view(instance);
    }
    return ls_sim_instance_image(instance, window->canonical) == LS_OK ? window->canonical : NULL;
}

void ls_replay_window_start(ls_replay_window *window, const ls_sim_instance *instance,
                            uint64_t state_hash)
{
    ls_tick tick = ls_sim_instance_tick(instance);
    if (window->own) {
        ls_input_buffer_restart(window->own, tick);
    }
    window->start = tick;
    window->awaited = UINT32_MAX;
    for (uint32_t i = 0; i < KEPT_MAX; i++) {
        window->kept[i].users = 0;
    }
    memset(window->wanted, 0, sizeof window->wanted);
    ls_history_state state = {state_of(window, instance), ls_sim_instance_chunk_hashes(instance),
                              false};
    note(window, tick, state_hash, state.bytes != NULL);
    /* One that is not to be had stands there as it came out, and is never given out. */
    state.bytes = state.bytes ? state.bytes : window->canonical;
    ls_state_history_start(window->history, tick, &state);
}

static void put_inputs(ls_replay_window *window, const ls_tick_inputs *inputs)
{
    uint32_t held = window->config.window_ticks;
    if (inputs->tick >= held) {
        ls_input_buffer_forget_before(window->own, inputs->tick - held + 1);
    }
    ls_status status = ls_input_buffer_put_tick(window->own, inputs);
    LS_ASSERT(status == LS_OK);
}

void ls_replay_window_want(ls_replay_window *window, ls_tick tick)
{
    window->wanted[window->next_wanted] = tick;
    window->next_wanted = (window->next_wanted + 1) % WANTED_MAX;
}

static bool is_wanted(const ls_replay_window *window, ls_tick tick)
{
    bool is_found = false;
    for (uint32_t i = 0; i < WANTED_MAX; i++) {
        is_found = is_found || window->wanted[i] == tick;
    }
    return is_found;
}

/* `state` without bytes: it is not to be had. Whether it is kept. */
LS_TICK_CODE static bool record_tick(ls_replay_window *window, const ls_tick_inputs *inputs,
                                     ls_history_state state, uint64_t state_hash)
{
    ls_tick tick = inputs->tick + 1;
    LS_ASSERT(inputs->tick == window->newest);
    if (window->own) {
        put_inputs(window, inputs);
    }
    state.is_wanted = is_wanted(window, tick);
    bool has_state = state.bytes && ls_state_history_add(window->history, tick, state);
    note(window, tick, state_hash, has_state);
    return has_state;
}

/* An engine's save costs time: not all states are kept where they are large. */
static bool is_left_out(const ls_replay_window *window, ls_tick tick)
{
    uint32_t every = window->config.every_ticks;
    return every > 1 && tick % every != 0 && !is_wanted(window, tick);
}

void ls_replay_window_record_saved(ls_replay_window *window, const ls_tick_inputs *inputs,
                                   const ls_saved_state *saved, uint64_t state_hash)
{
    ls_history_state state = {.bytes = saved->bytes, .chunk_hashes = saved->chunk_hashes};
    if (window->engine && saved->bytes) {
        bool is_had =
            !is_left_out(window, inputs->tick + 1) &&
            ls_sim_instance_image_of_save(window->engine, saved->bytes, window->canonical) == LS_OK;
        state.bytes = is_had ? window->canonical : NULL;
    }
    (void)record_tick(window, inputs, state, state_hash);
}

void ls_replay_window_record(ls_replay_window *window, const ls_tick_inputs *inputs,
                             const ls_sim_instance *instance, uint64_t state_hash)
{
    LS_ASSERT(ls_sim_instance_tick(instance) == inputs->tick + 1);
    ls_history_state state = {.chunk_hashes = ls_sim_instance_chunk_hashes(instance)};
    if (!is_left_out(window, inputs->tick + 1)) {
        state.bytes = state_of(window, instance);
    }
    if (record_tick(window, inputs, state, state_hash)) {
        ls_state_history_share(window->history);
    }
}

void ls_replay_window_prefetch(const ls_replay_window *window)
{
    ls_prefetch(window, sizeof *window);
}

void ls_replay_window_prefetch_more(const ls_replay_window *window)
{
    uint32_t place = place_of(window, window->newest + 1);
    ls_prefetch(&window->state_hashes[place], sizeof window->state_hashes[0]);
    ls_prefetch(&window->has_state[place], sizeof window->has_state[0]);
    ls_state_history_prefetch(window->history);
}

/* ---- questions ---- */

ls_tick ls_replay_window_newest(const ls_replay_window *window)
{
    return window->newest;
}

ls_tick ls_replay_window_oldest(const ls_replay_window *window)
{
    uint32_t held = window->config.window_ticks;
    ls_tick first = window->newest >= held ? window->newest - held + 1 : 0;
    return LS_MAX(first, window->start);
}

static bool is_held(const ls_replay_window *window, ls_tick tick)
{
    return tick >= ls_replay_window_oldest(window) && tick <= window->newest;
}

ls_status ls_replay_window_hash(const ls_replay_window *window, ls_tick tick, uint64_t *out)
{
    if (!is_held(window, tick)) {
        return LS_NOT_FOUND;
    }
    *out = window->state_hashes[place_of(window, tick)];
    return LS_OK;
}

static bool was_had(const ls_replay_window *window, ls_tick tick)
{
    return is_held(window, tick) && window->has_state[place_of(window, tick)];
}

bool ls_replay_window_has_state(const ls_replay_window *window, ls_tick tick)
{
    ls_tick found = 0;
    return was_had(window, tick) && ls_state_history_newest_until(window->history, tick, &found) &&
           found == tick;
}

const uint8_t *ls_replay_window_state(const ls_replay_window *window, ls_tick tick)
{
    return was_had(window, tick) ? ls_state_history_state(window->history, tick) : NULL;
}

/* The state to begin with: some ticks before the one agreed on, or as many as there are, but not
 * many more than that. */
static bool find_first(const ls_replay_window *window, ls_tick agreed, ls_tick *out)
{
    ls_tick first = ls_replay_window_oldest(window);
    first = LS_MAX(first, ls_input_buffer_first(window->inputs));
    ls_tick wanted = agreed > window->lead_ticks ? agreed - window->lead_ticks : 0;
    if (!ls_state_history_newest_until(window->history, wanted, out)) {
        *out = ls_state_history_oldest(window->history);
    }
    bool is_found = *out >= first && *out <= agreed && agreed - *out <= 2 * LEAD_TICKS;
    return is_found ||
           (ls_state_history_newest_until(window->history, agreed, out) && *out >= first);
}

static bool is_covered(const kept_stretch *kept, ls_tick agreed, ls_tick last)
{
    return kept->users > 0 && kept->stretch.first <= agreed && kept->stretch.last >= last;
}

/* The newest stretch that was kept of these ticks. */
static ls_status find_kept(const ls_replay_window *window, ls_tick agreed, ls_tick last,
                           ls_replay_stretch *out)
{
    const kept_stretch *found = NULL;
    for (uint32_t i = 0; i < KEPT_MAX; i++) {
        const kept_stretch *kept = &window->kept[i];
        bool is_newer = !found || kept->stretch.first > found->stretch.first;
        found = is_covered(kept, agreed, last) && is_newer ? kept : found;
    }
    if (!found) {
        return LS_NOT_FOUND;
    }
    const uint8_t *snapshot = found->snapshot;
    snapshot = snapshot ? snapshot : ls_state_history_state(window->history, found->stretch.first);
    if (!snapshot) {
        return LS_NOT_FOUND;
    }
    *out = found->stretch;
    out->agreed = agreed;
    out->last = last;
    out->snapshot = snapshot;
    return LS_OK;
}

ls_status ls_replay_window_stretch(const ls_replay_window *window, ls_tick agreed, ls_tick last,
                                   ls_replay_stretch *out)
{
    ls_tick first = 0;
    if (agreed >= last || last > window->newest || !find_first(window, agreed, &first) ||
        !window->has_state[place_of(window, first)]) {
        return agreed < last ? find_kept(window, agreed, last, out) : LS_NOT_FOUND;
    }
    *out = (ls_replay_stretch){
        .first = first,
        .agreed = agreed,
        .last = last,
        .snapshot = ls_state_history_state(window->history, first),
        .snapshot_bytes = window->state_bytes,
        .state_hashes = window->state_hashes,
        .hashes_mask = window->config.window_ticks - 1,
        .inputs = window->inputs,
    };
    return LS_OK;
}

ls_status ls_replay_window_steps(const ls_replay_window *window, ls_tick last, uint32_t steps,
                                 ls_replay_stretch *out)
{
    ls_replay_stretch stretch;
    const uint8_t *state = NULL;
    if (last == 0 || ls_replay_window_stretch(window, last - 1, last, &stretch) != LS_OK) {
        return LS_NOT_FOUND;
    }
    ls_tick first = last > steps ? last - steps : 0;
    first = LS_MAX(first, stretch.first);
    while (first < last && !(state = ls_replay_window_state(window, first))) {
        first++;
    }
    if (!state) {
        return ls_replay_window_stretch(window, last - 1, last, out);
    }
    stretch.first = first;
    stretch.snapshot = state;
    *out = stretch;
    return LS_OK;
}

void ls_replay_window_lend(const ls_replay_window *window, const ls_state_loan *loan)
{
    ls_state_history_lend(window->history, loan);
}

void ls_replay_window_reclaim(const ls_replay_window *window)
{
    ls_state_history_reclaim(window->history);
}

/* ---- what is kept for longer ---- */

/* The history holds the state that is needed for longest. */
static void hold_oldest(const ls_replay_window *window)
{
    ls_tick oldest = window->awaited;
    for (uint32_t i = 0; i < KEPT_MAX; i++) {
        const kept_stretch *kept = &window->kept[i];
        bool is_held = kept->users > 0 && !kept->snapshot;
        oldest = is_held ? LS_MIN(oldest, kept->stretch.first) : oldest;
    }
    if (oldest != UINT32_MAX) {
        ls_state_history_hold(window->history, oldest);
    } else {
        ls_state_history_let_go(window->history);
    }
}

void ls_replay_window_await(ls_replay_window *window, ls_tick agreed)
{
    ls_tick first = agreed > window->lead_ticks ? agreed - window->lead_ticks : 0;
    ls_tick oldest = LS_MAX(ls_replay_window_oldest(window), ls_input_buffer_first(window->inputs));
    bool is_held = agreed != UINT32_MAX && agreed >= oldest;
    window->awaited = is_held ? LS_MAX(first, oldest) : UINT32_MAX;
    hold_oldest(window);
}

static ls_status make_room(const ls_replay_window *window, kept_stretch *kept)
{
    uint32_t ticks = LS_MAX(kept->stretch.last - kept->stretch.first + 1, KEPT_TICKS_MIN);
    if (ticks <= kept->ring) {
        return LS_OK;
    }
    release_ticks(window, kept);
    ls_input_buffer_config inputs = window->kept_inputs;
    inputs.window_ticks = power_of_two_from(ticks);
    kept->state_hashes =
        ls_allocate_array(window->allocator, inputs.window_ticks, sizeof *kept->state_hashes);
    ls_status status = kept->state_hashes
                           ? ls_input_buffer_create(&inputs, window->allocator, &kept->inputs)
                           : LS_NO_MEMORY;
    kept->ring = status == LS_OK ? inputs.window_ticks : 0;
    return status;
}

static ls_status copy_ticks(const ls_replay_window *window, kept_stretch *kept)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_replay_stretch *stretch = &kept->stretch;
    ls_status status = LS_OK;
    ls_input_buffer_restart(kept->inputs, stretch->first);
    for (ls_tick tick = stretch->first; tick <= stretch->last; tick++) {
        kept->state_hashes[tick & (kept->ring - 1)] = ls_replay_stretch_hash(stretch, tick);
    }
    for (ls_tick tick = stretch->first; status == LS_OK && tick < stretch->last; tick++) {
        status = ls_input_buffer_tick(stretch->inputs, tick, slots);
        LS_THEN(status,
                ls_input_buffer_put_tick(
                    kept->inputs, &(ls_tick_inputs){tick, window->kept_inputs.slots, slots}));
    }
    stretch->inputs = kept->inputs;
    stretch->state_hashes = kept->state_hashes;
    stretch->hashes_mask = kept->ring - 1;
    return status;
}

static ls_status copy_snapshot(const ls_replay_window *window, kept_stretch *kept)
{
    if (window->state_bytes > EXTRA_BYTES) {
        return LS_OK;
    }
    if (!kept->snapshot) {
        kept->snapshot = ls_allocate(window->allocator, window->state_bytes);
    }
    if (!kept->snapshot) {
        return LS_NO_MEMORY;
    }
    memcpy(kept->snapshot, kept->stretch.snapshot, window->state_bytes);
    return LS_OK;
}

static kept_stretch *find_place(ls_replay_window *window, ls_tick agreed, ls_tick last)
{
    kept_stretch *unused = NULL;
    for (uint32_t i = 0; i < KEPT_MAX; i++) {
        kept_stretch *kept = &window->kept[i];
        if (kept->users > 0 && kept->stretch.agreed == agreed && kept->stretch.last >= last) {
            return kept;
        }
        bool is_better = kept->users == 0 && (!unused || unused->ring == 0); /* it has memory */
        unused = is_better ? kept : unused;
    }
    return unused;
}

void ls_replay_window_keep(ls_replay_window *window, ls_tick agreed, ls_tick last)
{
    kept_stretch *kept = find_place(window, agreed, last);
    if (kept && kept->users == 0) {
        ls_status status = ls_replay_window_stretch(window, agreed, last, &kept->stretch);
        LS_THEN(status, make_room(window, kept));
        LS_THEN(status, copy_ticks(window, kept));
        LS_THEN(status, copy_snapshot(window, kept));
        kept = status == LS_OK ? kept : NULL;
    }
    if (kept) {
        kept->users++;
        hold_oldest(window);
    }
}

void ls_replay_window_let_go(ls_replay_window *window, ls_tick agreed)
{
    for (uint32_t i = 0; i < KEPT_MAX; i++) {
        kept_stretch *kept = &window->kept[i];
        if (kept->users > 0 && kept->stretch.agreed == agreed) {
            kept->users--;
            break;
        }
    }
    hold_oldest(window);
}

/* ---- simulating a stretch ---- */

uint64_t ls_replay_stretch_hash(const ls_replay_stretch *stretch, ls_tick tick)
{
    LS_ASSERT(tick >= stretch->first && tick <= stretch->last);
    return stretch->state_hashes[tick & stretch->hashes_mask];
}

ls_status ls_replay_stretch_load(const ls_replay_stretch *stretch, ls_sim_instance *instance)
{
    return ls_sim_instance_load(instance, stretch->snapshot, stretch->snapshot_bytes,
                                stretch->first);
}

ls_status ls_replay_stretch_inputs(const ls_replay_stretch *stretch,
                                   const ls_sim_instance *instance,
                                   ls_slot_input slots[LS_PLAYERS_MAX], ls_tick_inputs *out)
{
    ls_tick tick = ls_sim_instance_tick(instance);
    ls_status status = ls_input_buffer_tick(stretch->inputs, tick, slots);
    if (status == LS_OK) {
        *out = (ls_tick_inputs){tick, ls_sim_instance_config(instance)->players, slots};
    }
    return status;
}

ls_status ls_replay_stretch_run(const ls_replay_stretch *stretch, ls_sim_instance *instance,
                                ls_tick tick)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    LS_ASSERT(tick <= stretch->last);
    while (ls_sim_instance_tick(instance) < tick) {
        ls_status status = ls_replay_stretch_inputs(stretch, instance, slots, &inputs);
        if (status != LS_OK) {
            return status;
        }
        ls_sim_instance_step(instance, &inputs);
    }
    return LS_OK;
}
