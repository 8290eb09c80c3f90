#include "lockstep/client/session/prediction.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/simulation/snapshot_ring.h"

#include <string.h>

enum {
    QUIET_LEVEL_MAX = 3
};

/* The source of a tick's guess: the inputs themselves are still in the buffers. */
typedef struct guess {
    ls_tick source;    /* the closed tick that is repeated */
    ls_slot_set quiet; /* but for slots that play nothing now */
    bool has_own;      /* and for this player's own input */
} guess;

struct ls_prediction {
    const ls_allocator *allocator;
    ls_prediction_config config;
    ls_tick first;           /* settled state from which on closed ticks are held */
    ls_tick settled;         /* newest state of closed ticks alone; the live one is not older */
    ls_snapshot_ring *saved; /* of the ticks from `settled` to the one before the live state */
    guess guesses[LS_PREDICT_TICKS_MAX]; /* of the same ticks */
    uint8_t
        quiet_levels[LS_PLAYERS_MAX]; /* 0: holds what it plays .. QUIET_LEVEL_MAX: never does */
    uint64_t depths[LS_PREDICT_TICKS_MAX + 1]; /* rollbacks, by guessed steps thrown away */
};

/* ---- life ---- */

ls_status ls_prediction_create(const ls_prediction_config *config, const ls_allocator *allocator,
                               ls_prediction **out)
{
    LS_ASSERT(config->ticks >= 1 && config->ticks <= LS_PREDICT_TICKS_MAX);
    LS_ASSERT(ls_sim_instance_tick(config->instance) == 0);
    ls_prediction *prediction = ls_allocate(allocator, sizeof *prediction);
    if (!prediction) {
        return LS_NO_MEMORY;
    }
    prediction->allocator = allocator;
    prediction->config = *config;
    ls_status status =
        ls_snapshot_ring_create(config->instance, config->ticks, allocator, &prediction->saved);
    if (status != LS_OK) {
        ls_prediction_destroy(prediction);
        return status;
    }
    *out = prediction;
    return LS_OK;
}

void ls_prediction_restart(ls_prediction *prediction, uint32_t slot)
{
    prediction->config.slot = slot;
    prediction->first = ls_sim_instance_tick(prediction->config.instance);
    prediction->settled = prediction->first;
    memset(prediction->quiet_levels, 0, sizeof prediction->quiet_levels);
    ls_snapshot_ring_clear(prediction->saved);
}

void ls_prediction_destroy(ls_prediction *prediction)
{
    if (!prediction) {
        return;
    }
    ls_snapshot_ring_destroy(prediction->saved);
    ls_release(prediction->allocator, prediction);
}

/* ---- guessing ---- */

static ls_tick live_tick(const ls_prediction *prediction)
{
    return ls_sim_instance_tick(prediction->config.instance);
}

static uint32_t players_of(const ls_prediction *prediction)
{
    return ls_sim_instance_config(prediction->config.instance)->players;
}

static guess *guess_of(ls_prediction *prediction, ls_tick tick)
{
    return &prediction->guesses[tick % LS_PREDICT_TICKS_MAX];
}

static void closed_inputs(const ls_prediction *prediction, ls_tick tick, ls_slot_input *slots)
{
    ls_status held = ls_input_buffer_tick(prediction->config.closed, tick, slots);
    LS_ASSERT(held == LS_OK);
}

/* The inputs that a guess stands for. False when this player's own input is gone, which it is not
 * as long as the server acknowledges only what it has closed. */
static bool guessed_inputs(const ls_prediction *prediction, ls_tick tick, const guess *made,
                           ls_slot_input *slots)
{
    const ls_prediction_config *config = &prediction->config;
    closed_inputs(prediction, made->source, slots);
    for (uint32_t slot = 0; slot < players_of(prediction); slot++) {
        slots[slot].size = ls_slot_set_has(&made->quiet, slot) ? 0 : slots[slot].size;
        slots[slot].events = 0;
    }
    return !made->has_own ||
           ls_input_buffer_get(config->own, tick, 0, &slots[config->slot]) == LS_OK;
}

static bool was_guessed_right(ls_prediction *prediction, ls_tick tick)
{
    ls_slot_input closed[LS_PLAYERS_MAX];
    ls_slot_input guessed[LS_PLAYERS_MAX];
    closed_inputs(prediction, tick, closed);
    if (!guessed_inputs(prediction, tick, guess_of(prediction, tick), guessed)) {
        return false;
    }
    for (uint32_t slot = 0; slot < players_of(prediction); slot++) {
        if (closed[slot].events != 0 || !ls_slot_input_is_same(&closed[slot], &guessed[slot])) {
            return false;
        }
    }
    return true;
}

/* A slot that plays the same as in the tick before holds it; one that plays nothing now gave an
 * order. */
static void learn_habits(ls_prediction *prediction, ls_tick tick)
{
    ls_slot_input before[LS_PLAYERS_MAX];
    ls_slot_input now[LS_PLAYERS_MAX];
    if (tick == prediction->first) {
        return;
    }
    closed_inputs(prediction, tick - 1, before);
    closed_inputs(prediction, tick, now);
    for (uint32_t slot = 0; slot < players_of(prediction); slot++) {
        uint8_t *level = &prediction->quiet_levels[slot];
        if (before[slot].size == 0) {
            continue;
        }
        if (now[slot].size == 0) {
            *level = (uint8_t)(*level + (*level < QUIET_LEVEL_MAX));
        } else if (ls_slot_input_is_same(&before[slot], &now[slot])) {
            *level = (uint8_t)(*level - (*level > 0));
        }
    }
}

static ls_slot_set quiet_slots(const ls_prediction *prediction)
{
    ls_slot_set quiet = {{0}};
    for (uint32_t slot = 0; slot < players_of(prediction); slot++) {
        bool is_quiet = prediction->quiet_levels[slot] > QUIET_LEVEL_MAX / 2;
        ls_slot_set_put(&quiet, slot, is_quiet);
    }
    return quiet;
}

/* ---- stepping ---- */

static void step(ls_prediction *prediction, const ls_slot_input *slots)
{
    const ls_prediction_config *config = &prediction->config;
    ls_tick_inputs inputs = {
        .tick = live_tick(prediction), .slot_count = players_of(prediction), .slots = slots};
    config->host.step(config->host.user, &inputs);
    LS_ASSERT(live_tick(prediction) == inputs.tick + 1);
}

static uint64_t hash_of_live_state(const ls_prediction *prediction)
{
    const ls_prediction_config *config = &prediction->config;
    bool is_hashed = live_tick(prediction) % config->hash_interval_ticks == 0;
    return is_hashed ? ls_sim_instance_hash(config->instance) : 0;
}

static void settle(ls_prediction *prediction)
{
    learn_habits(prediction, prediction->settled);
    ls_tick tick = ++prediction->settled;
    uint64_t state_hash = 0;
    if (tick == live_tick(prediction)) {
        state_hash = hash_of_live_state(prediction);
    } else {
        ls_status held = ls_snapshot_ring_hash(prediction->saved, tick, &state_hash);
        LS_ASSERT(held == LS_OK);
    }
    prediction->config.host.settle(prediction->config.host.user, tick, state_hash);
}

/* The guess for the first tick that is not settled was wrong, and with it all that follows. */
static ls_status roll_back(ls_prediction *prediction)
{
    prediction->depths[live_tick(prediction) - prediction->settled]++;
    return ls_prediction_drop_guesses(prediction);
}

static ls_status settle_closed(ls_prediction *prediction, ls_tick end)
{
    uint32_t steps = 0;
    while (prediction->settled < end && steps < LS_PREDICTION_CLOSED_STEPS_MAX) {
        bool is_guessed = prediction->settled < live_tick(prediction);
        if (is_guessed && was_guessed_right(prediction, prediction->settled)) {
            settle(prediction);
            continue;
        }
        ls_status status = is_guessed ? roll_back(prediction) : LS_OK;
        if (status != LS_OK) {
            return status;
        }
        ls_slot_input slots[LS_PLAYERS_MAX];
        closed_inputs(prediction, prediction->settled, slots);
        step(prediction, slots);
        settle(prediction);
        steps++;
    }
    return LS_OK;
}

/* One tick on from the live state; false when that cannot be saved, to come back to. */
static bool guess_tick(ls_prediction *prediction)
{
    ls_tick tick = live_tick(prediction);
    /* The state hash of a settled state has been told already. */
    uint64_t state_hash = tick == prediction->settled ? 0 : hash_of_live_state(prediction);
    if (ls_snapshot_ring_save(prediction->saved, state_hash) != LS_OK) {
        return false;
    }
    ls_slot_input slots[LS_PLAYERS_MAX];
    guess *made = guess_of(prediction, tick);
    *made = (guess){.source = prediction->settled - 1,
                    .quiet = quiet_slots(prediction),
                    .has_own = ls_input_buffer_has(prediction->config.own, tick, 0)};
    guessed_inputs(prediction, tick, made, slots);
    step(prediction, slots);
    return true;
}

ls_status ls_prediction_advance(ls_prediction *prediction, ls_tick closed_end, ls_tick head)
{
    ls_status status = settle_closed(prediction, closed_end);
    bool is_unknown = prediction->settled == prediction->first; /* slots that take part */
    if (status != LS_OK || is_unknown || prediction->settled < closed_end) {
        return status;
    }
    head = head > prediction->settled ? head : prediction->settled;
    if (head < live_tick(prediction)) {
        return ls_snapshot_ring_load(prediction->saved, head);
    }
    while (live_tick(prediction) < head &&
           live_tick(prediction) - prediction->settled < prediction->config.ticks &&
           guess_tick(prediction)) {
    }
    return LS_OK;
}

ls_status ls_prediction_drop_guesses(ls_prediction *prediction)
{
    if (prediction->settled == live_tick(prediction)) {
        return LS_OK;
    }
    return ls_snapshot_ring_load(prediction->saved, prediction->settled);
}

/* ---- what can be seen from outside ---- */

ls_tick ls_prediction_settled_tick(const ls_prediction *prediction)
{
    return prediction->settled;
}

ls_saved_state ls_prediction_saved(const ls_prediction *prediction, ls_tick tick)
{
    return ls_snapshot_ring_get(prediction->saved, tick);
}

ls_prediction_figures ls_prediction_figures_of(const ls_prediction *prediction)
{
    ls_prediction_figures figures = {0};
    for (uint32_t depth = 1; depth <= LS_PREDICT_TICKS_MAX; depth++) {
        uint64_t count = prediction->depths[depth];
        figures.rollbacks += count;
        figures.rollback_ticks += count * depth;
        figures.rollback_depth_max = count > 0 ? depth : figures.rollback_depth_max;
    }
    uint64_t wanted = (figures.rollbacks * 99 + 99) / 100;
    for (uint64_t below = 0; below < wanted;) {
        below += prediction->depths[++figures.rollback_depth_p99];
    }
    return figures;
}

/* ---- sound schedule ---- */

/* The cues of one id and owner; all samples are one kind. */
typedef struct sound_kind {
    uint32_t kind;
    uint32_t id;
    uint32_t owner;
    uint32_t given;   /* times, in all the steps of the tick */
    uint32_t counted; /* times, in the newest of them */
} sound_kind;

typedef struct tick_sounds {
    ls_tick tick;
    uint32_t count;
    sound_kind kinds[LS_SOUNDS_MAX];
} tick_sounds;

struct ls_sound_schedule {
    const ls_allocator *allocator;
    ls_tick now;
    uint32_t late_ticks_max;
    tick_sounds ticks[LS_SOUND_SCHEDULE_TICKS]; /* tick t at t % LS_SOUND_SCHEDULE_TICKS */
};

ls_status ls_sound_schedule_create(uint64_t late_ns, uint64_t dt_ns, const ls_allocator *allocator,
                                   ls_sound_schedule **out)
{
    ls_sound_schedule *schedule = ls_allocate(allocator, sizeof *schedule);
    if (!schedule) {
        return LS_NO_MEMORY;
    }
    uint64_t late_ticks = LS_MAX(late_ns / dt_ns, 1);
    schedule->allocator = allocator;
    schedule->late_ticks_max = (uint32_t)LS_MIN(late_ticks, LS_SOUND_SCHEDULE_TICKS - 1);
    *out = schedule;
    return LS_OK;
}

void ls_sound_schedule_destroy(ls_sound_schedule *schedule)
{
    if (schedule) {
        ls_release(schedule->allocator, schedule);
    }
}

void ls_sound_schedule_set_now(ls_sound_schedule *schedule, ls_tick tick)
{
    schedule->now = tick;
}

bool ls_sound_schedule_is_due(const ls_sound_schedule *schedule, ls_tick tick)
{
    return tick >= schedule->now || schedule->now - tick <= schedule->late_ticks_max;
}

static tick_sounds *sounds_of(ls_sound_schedule *schedule, ls_tick tick)
{
    tick_sounds *sounds = &schedule->ticks[tick % LS_SOUND_SCHEDULE_TICKS];
    if (sounds->tick != tick) {
        sounds->tick = tick;
        sounds->count = 0;
    }
    for (uint32_t i = 0; i < sounds->count; i++) {
        sounds->kinds[i].counted = 0;
    }
    return sounds;
}

/* NULL: there is no room for one more. */
static sound_kind *kind_of(tick_sounds *sounds, const ls_sound *sound)
{
    bool is_cue = sound->kind == LS_SOUND_CUE;
    sound_kind wanted = {
        .kind = sound->kind, .id = is_cue ? sound->id : 0, .owner = is_cue ? sound->owner : 0};
    for (uint32_t i = 0; i < sounds->count; i++) {
        sound_kind *kind = &sounds->kinds[i];
        if (kind->kind == wanted.kind && kind->id == wanted.id && kind->owner == wanted.owner) {
            return kind;
        }
    }
    if (sounds->count == LS_SOUNDS_MAX) {
        return NULL;
    }
    sounds->kinds[sounds->count] = wanted;
    return &sounds->kinds[sounds->count++];
}

static bool is_fresh(tick_sounds *sounds, const ls_sound *sound)
{
    if (sound->kind != LS_SOUND_CUE && !ls_sound_is_samples(sound)) {
        return false;
    }
    sound_kind *kind = kind_of(sounds, sound);
    if (!kind || ++kind->counted <= kind->given) {
        return false;
    }
    kind->given++;
    return true;
}

void ls_sound_schedule_filter(ls_sound_schedule *schedule, ls_tick tick, ls_sound_list *list)
{
    LS_ASSERT(ls_sound_schedule_is_due(schedule, tick));
    tick_sounds *sounds = sounds_of(schedule, tick);
    uint32_t count = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        if (is_fresh(sounds, &list->sounds[i])) {
            list->sounds[count++] = list->sounds[i];
        }
    }
    list->count = count;
}
