#include "lockstep/client/session/sound_schedule.h"

#include "lockstep/common/base/assert.h"

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
