#include "lockstep/tools/replay/record_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A state that is nearer is stepped to without looking for a snapshot. */
#define NEAR_TICKS 32u

struct replay_record_view {
    const ls_allocator *allocator;
    replay_record_view_config config;
    uint8_t *previous; /* the state before the one that it stands at; NULL: there are no copies */
    ls_tick previous_tick;
    bool has_previous;
    ls_tick wanted;         /* where go_to sent it */
    const ls_view_ear *ear; /* of this go_to; NULL: it is silent */
    bool is_done;           /* it is there, or cannot get there */
    bool is_growing;        /* the journal is not over yet */
    bool has_hash;          /* of the state that it stands at */
    uint64_t state_hash;
    uint64_t differences;
    ls_text problem;
};

/* ---- going ---- */

static ls_sim_instance *instance_of(const replay_record_view *record)
{
    return record->config.playback->instance;
}

static const ls_journal_info *info_of(const replay_record_view *record)
{
    return ls_journal_info_of(record->config.playback->journal);
}

static bool is_behind(const replay_record_view *record, uint64_t deadline_ns)
{
    return ls_clock_now_ns(&record->config.clock) >= deadline_ns;
}

static void give_out_sounds(const replay_record_view *record)
{
    ls_sound sounds[LS_SOUNDS_MAX];
    ls_sound_list list = {.sounds = sounds, .capacity = LS_SOUNDS_MAX};
    ls_sim_instance_sounds(instance_of(record), record->previous, &list);
    for (uint32_t i = 0; i < list.count; i++) {
        record->ear->on_sound(record->ear->user, &sounds[i]);
    }
}

/* One tick; the state before is kept when the next one is the last, or is heard. */
static ls_status step(replay_record_view *record)
{
    ls_sim_instance *instance = instance_of(record);
    ls_tick tick = ls_sim_instance_tick(instance);
    if (record->previous && (record->ear || tick + 1 == record->wanted)) {
        memcpy(record->previous, ls_sim_instance_view(instance),
               ls_sim_instance_state_bytes(instance));
        record->previous_tick = tick;
        record->has_previous = true;
    }
    ls_status status = replay_playback_step(record->config.playback);
    if (record->ear && status == LS_OK) {
        give_out_sounds(record);
    }
    return status;
}

/* Stands where steps lead to `wanted`, and before it, so that there is a state to blend with. */
static ls_status approach(replay_record_view *record)
{
    bool blends = record->previous && record->wanted > info_of(record)->first_tick;
    ls_tick target = blends ? record->wanted - 1 : record->wanted;
    ls_status status = replay_playback_approach(record->config.playback, target, &record->problem);
    /* A cut begins with a snapshot: nothing leads there. */
    return status == LS_NOT_FOUND
               ? replay_playback_approach(record->config.playback, record->wanted, &record->problem)
               : status;
}

static bool is_near(const replay_record_view *record)
{
    ls_tick here = ls_sim_instance_tick(instance_of(record));
    return here >= info_of(record)->first_tick && here < record->wanted &&
           record->wanted - here <= NEAR_TICKS;
}

static ls_status step_on(replay_record_view *record, uint64_t deadline_ns)
{
    while (ls_sim_instance_tick(instance_of(record)) < record->wanted) {
        ls_status status = step(record);
        if (status != LS_OK || is_behind(record, deadline_ns)) {
            return status;
        }
    }
    return LS_OK;
}

/* The next tick is missing: a snapshot behind it will do, or one of the very tick, without a blend.
 * False when there is none. */
static bool leap(replay_record_view *record)
{
    ls_tick gap = ls_sim_instance_tick(instance_of(record));
    if (approach(record) == LS_OK && ls_sim_instance_tick(instance_of(record)) == gap) {
        replay_playback_approach(record->config.playback, record->wanted, &record->problem);
    }
    if (ls_sim_instance_tick(instance_of(record)) == gap) {
        ls_text_set(&record->problem, "The journal lacks ticks from %" PRIu32 " on", gap);
        return false;
    }
    return true;
}

static void arrive(replay_record_view *record)
{
    record->is_done = true;
    uint64_t recorded = record->config.playback->state_hash;
    record->has_hash = recorded != 0 && !record->problem.bytes[0];
    if (record->has_hash) {
        record->state_hash = ls_sim_instance_hash(instance_of(record));
        record->differences += record->state_hash != recorded;
    }
}

static void go_to(void *user, ls_tick tick, const ls_view_ear *ear)
{
    replay_record_view *record = user;
    if (record->is_done && record->wanted == tick) {
        return;
    }
    uint64_t deadline_ns = ls_clock_now_ns(&record->config.clock) + record->config.budget_ns;
    record->wanted = tick;
    record->is_done = false;
    record->has_hash = false;
    record->problem.bytes[0] = '\0';
    record->ear = is_near(record) ? ear : NULL;
    ls_status status = is_near(record) ? LS_OK : approach(record);
    LS_THEN(status, step_on(record, deadline_ns));
    if ((status == LS_NOT_FOUND || status == LS_STALE) && leap(record)) {
        status = step_on(record, deadline_ns);
    }
    if (status != LS_OK && !record->problem.bytes[0]) {
        ls_text_set(&record->problem, "%s", ls_status_text(status));
    }
    if (status != LS_OK || ls_sim_instance_tick(instance_of(record)) == tick) {
        arrive(record);
    }
}

/* ---- showing ---- */

static void add_hash(const replay_record_view *record, ls_hud_model *hud)
{
    uint64_t recorded = record->config.playback->state_hash;
    if (!record->is_done || !record->has_hash) {
        ls_hud_model_add(hud, "hash      %s", record->is_done ? "not recorded" : "...");
    } else if (record->state_hash == recorded) {
        ls_hud_model_add(hud, "hash      %016" PRIx64 ", as recorded", record->state_hash);
    } else {
        ls_hud_model_add(hud, "hash      %016" PRIx64 ", recorded %016" PRIx64, record->state_hash,
                         recorded);
        hud->is_alarm = true;
        ls_text_set(&hud->banner, "State %" PRIu32 " is not the one that was recorded", hud->tick);
    }
}

static void fill_hud(void *user, ls_hud_model *hud)
{
    const replay_record_view *record = user;
    ls_journal *journal = record->config.playback->journal;
    const ls_journal_header *header = ls_journal_header_of(journal);
    uint32_t rate_hz = header->config.tick_rate_hz;
    hud->tick = ls_sim_instance_tick(instance_of(record));
    hud->alpha = LS_FIXED_ONE;
    hud->first_tick = info_of(record)->first_tick;
    hud->last_tick = info_of(record)->end_tick;
    hud->tick_rate_hz = rate_hz;
    hud->is_on_its_way = !record->is_done;
    hud->is_growing = record->is_growing;
    ls_hud_model_add(hud, "%s, %" PRIu32 " players, %" PRIu32 " Hz", header->simulation,
                     header->config.players, rate_hz);
    ls_hud_model_add(hud, "tick      %-8" PRIu32 " of %" PRIu32 ", minute %" PRIu32 ":%02" PRIu32,
                     hud->tick, info_of(record)->end_tick, hud->tick / rate_hz / 60,
                     hud->tick / rate_hz % 60);
    add_hash(record, hud);
    hud->seat_count = header->config.players;
    for (uint32_t slot = 0; slot < hud->seat_count; slot++) {
        snprintf(hud->seats[slot].name, sizeof hud->seats[slot].name, "slot %" PRIu32, slot);
    }
    ls_hud_model_add_status(hud, instance_of(record), header->config.players);
    if (record->problem.bytes[0]) {
        hud->is_alarm = true;
        hud->banner = record->problem;
    }
}

static void draw(void *user, ls_fixed alpha, ls_draw_list *list)
{
    const replay_record_view *record = user;
    const ls_sim_instance *instance = instance_of(record);
    const void *current = ls_sim_instance_view(instance);
    bool has_previous =
        record->has_previous && record->previous_tick + 1 == ls_sim_instance_tick(instance);
    ls_sim_instance_simulation(instance)->draw(ls_sim_instance_config(instance),
                                               has_previous ? record->previous : current, current,
                                               alpha, list);
}

/* ---- life ---- */

ls_status replay_record_view_create(const replay_record_view_config *config,
                                    const ls_allocator *allocator, replay_record_view **out,
                                    ls_text *why)
{
    const ls_sim_instance *instance = config->playback->instance;
    const ls_simulation *simulation = ls_sim_instance_simulation(instance);
    if (!simulation->draw) {
        return ls_fail(LS_UNSUPPORTED, why, "simulation '%s' draws nothing", simulation->name);
    }
    replay_record_view *record = ls_allocate(allocator, sizeof *record);
    bool is_flat = ls_sim_instance_schema(instance) != NULL;
    size_t bytes = ls_sim_instance_state_bytes(instance);
    uint8_t *previous = record && is_flat ? ls_allocate(allocator, bytes) : NULL;
    if (!record || (is_flat && !previous)) {
        ls_release(allocator, record);
        return LS_NO_MEMORY;
    }
    record->allocator = allocator;
    record->config = *config;
    record->previous = previous;
    *out = record;
    return LS_OK;
}

void replay_record_view_destroy(replay_record_view *record)
{
    if (record) {
        ls_release(record->allocator, record->previous);
        ls_release(record->allocator, record);
    }
}

ls_view_source replay_record_view_source(replay_record_view *record)
{
    return (ls_view_source){.user = record, .fill_hud = fill_hud, .draw = draw, .go_to = go_to};
}

void replay_record_view_set_growing(replay_record_view *record, bool is_growing)
{
    record->is_growing = is_growing;
}

uint64_t replay_record_view_differences(const replay_record_view *record)
{
    return record->differences;
}
