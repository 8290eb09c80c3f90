#include "lockstep/tools/replay/record_view.h"

#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/tools/replay/command.h"

#include <inttypes.h>
#include <string.h>

/* ---- a recorded match ---- */

/* A state that is nearer is stepped to without looking for a snapshot. */
#define NEAR_TICKS 32u

struct replay_record_view {
    const ls_allocator *allocator;
    replay_record_view_config config;
    ls_tick first_tick;
    ls_tick last_tick;
    uint8_t *previous; /* the state before the one that it stands at; NULL: there are no copies */
    ls_tick previous_tick;
    bool has_previous;
    ls_tick wanted;         /* where go_to sent it */
    const ls_view_ear *ear; /* of this go_to; NULL: it is silent */
    bool is_done;           /* it is there, or cannot get there */
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
    bool blends = record->previous && record->wanted > record->first_tick;
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
    return here >= record->first_tick && here < record->wanted &&
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
    hud->first_tick = record->first_tick;
    hud->last_tick = record->last_tick;
    hud->tick_rate_hz = rate_hz;
    hud->is_on_its_way = !record->is_done;
    ls_hud_model_add(hud, "%s, %" PRIu32 " players, %" PRIu32 " Hz", header->simulation,
                     header->config.players, rate_hz);
    ls_hud_model_add(hud, "tick      %-8" PRIu32 " of %" PRIu32 ", minute %" PRIu32 ":%02" PRIu32,
                     hud->tick, record->last_tick, hud->tick / rate_hz / 60,
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
    const ls_journal_info *info = ls_journal_info_of(config->playback->journal);
    record->allocator = allocator;
    record->config = *config;
    record->first_tick = info->first_tick;
    record->last_tick = info->end_tick;
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

uint64_t replay_record_view_differences(const replay_record_view *record)
{
    return record->differences;
}

/* ---- the command ---- */

/* Of a frame; the picture needs the rest. Text has fewer of them. */
#define WINDOW_BUDGET_NS (10 * LS_NS_PER_MS)
#define TEXT_BUDGET_NS (40 * LS_NS_PER_MS)

typedef struct viewing {
    ls_screen *screen;
    ls_event_loop *loop;
    ls_loop_source *alarm; /* for the next frame */
} viewing;

static void on_frame(void *user, uint64_t now_ns)
{
    viewing *work = user;
    uint64_t again_ns = ls_screen_go_on(work->screen, now_ns);
    if (again_ns > 0) {
        ls_loop_alarm_set(work->alarm, again_ns);
        return;
    }
    if (ls_screen_is_closed(work->screen, now_ns) || ls_screen_is_done(work->screen)) {
        ls_event_loop_stop(work->loop);
        return;
    }
    ls_loop_alarm_set(work->alarm, ls_screen_frame(work->screen, now_ns));
}

static void on_stop(void *user, uint64_t now_ns)
{
    viewing *work = user;
    (void)now_ns;
    ls_event_loop_stop(work->loop);
}

/* Until the person leaves. */
static ls_status show(viewing *work)
{
    ls_status status = ls_event_loop_create(ls_allocator_heap(), &work->loop);
    if (status == LS_OK) {
        status = ls_event_loop_add_stop_signals(work->loop, (ls_loop_handler){on_stop, work});
    }
    if (status == LS_OK) {
        status =
            ls_event_loop_add_alarm(work->loop, (ls_loop_handler){on_frame, work}, &work->alarm);
    }
    if (status == LS_OK) {
        ls_loop_alarm_set(work->alarm, 0);
        ls_event_loop_run(work->loop);
    }
    ls_event_loop_destroy(work->loop);
    return status;
}

/* A tick that never comes would leave the window open for ever. */
static ls_status check_ticks(const replay_run *run, ls_text *why)
{
    const replay_config *config = run->config;
    const ls_journal_info *info = ls_journal_info_of(run->playback->journal);
    ls_tick latest = config->from;
    for (uint32_t i = 0; i < config->screen.screenshot_count; i++) {
        ls_tick tick = config->screen.screenshots[i].tick;
        latest = LS_MAX(tick, latest);
    }
    if (latest > info->end_tick) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "tick %" PRIu32 " is behind the journal's last one, %" PRIu32, latest,
                       info->end_tick);
    }
    return LS_OK;
}

static ls_status show_record(replay_run *run, replay_record_view *record, ls_text *why)
{
    viewing work = {0};
    ls_view_source source = replay_record_view_source(record);
    ls_status status = ls_screen_open(&run->config->screen, &source, &run->console->log,
                                      ls_allocator_heap(), &work.screen, why);
    if (status != LS_OK) {
        return status;
    }
    if (ls_sim_instance_simulation(run->playback->instance)->sounds) {
        ls_screen_start_sound(work.screen);
    }
    ls_view *view = ls_screen_view(work.screen);
    ls_view_start_at(view, run->config->from, run->config->speed);
    status = show(&work);
    ls_json_number(run->json, "tick", ls_view_hud(view)->tick);
    ls_json_number(run->json, "differences", (double)replay_record_view_differences(record));
    ls_screen_close(work.screen);
    return status == LS_OK && replay_record_view_differences(record) > 0 ? LS_DESYNCED : status;
}

ls_status replay_view(replay_run *run, ls_text *why)
{
    replay_record_view *record = NULL;
    ls_status status =
        replay_playback_load(run->playback, run->config->simulation, &run->config->files, why);
    LS_THEN(status, check_ticks(run, why));
    if (status == LS_OK) {
        bool is_text = run->config->screen.kind == LS_SCREEN_TEXT;
        replay_record_view_config config = {.playback = run->playback,
                                            .clock = ls_clock_system(),
                                            .budget_ns =
                                                is_text ? TEXT_BUDGET_NS : WINDOW_BUDGET_NS};
        status = replay_record_view_create(&config, ls_allocator_heap(), &record, why);
    }
    LS_THEN(status, show_record(run, record, why));
    replay_record_view_destroy(record);
    return status;
}
