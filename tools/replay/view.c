#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/tools/replay/command.h"
#include "lockstep/tools/replay/record_view.h"

#include <inttypes.h>

/* Of a frame; the picture needs the rest. Text has fewer of them. */
#define WINDOW_BUDGET_NS (10 * LS_NS_PER_MS)
#define TEXT_BUDGET_NS (40 * LS_NS_PER_MS)

typedef struct viewing {
    ls_screen *screen;
    ls_event_loop *loop;
    ls_loop_source *alarm;       /* for the next frame */
    replay_broadcast *broadcast; /* NULL: a file */
    replay_record_view *record;
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

/* The record has more ticks, which it finds in its journal. */
static void on_more(void *user, uint64_t now_ns)
{
    const viewing *work = user;
    (void)now_ns;
    replay_record_view_set_growing(work->record, !replay_broadcast_is_over(work->broadcast));
}

static ls_status follow(viewing *work, const ls_log *log)
{
    bool is_growing = work->broadcast && !replay_broadcast_is_over(work->broadcast);
    replay_record_view_set_growing(work->record, is_growing);
    return is_growing ? replay_broadcast_follow(work->broadcast, work->loop, log,
                                                (ls_loop_handler){on_more, work})
                      : LS_OK;
}

/* Until the person leaves. */
static ls_status show(viewing *work, const ls_log *log)
{
    ls_status status = ls_event_loop_create(ls_allocator_heap(), &work->loop);
    LS_THEN(status, ls_event_loop_add_stop_signals(work->loop, (ls_loop_handler){on_stop, work}));
    LS_THEN(status,
            ls_event_loop_add_alarm(work->loop, (ls_loop_handler){on_frame, work}, &work->alarm));
    LS_THEN(status, follow(work, log));
    if (status == LS_OK) {
        ls_loop_alarm_set(work->alarm, 0);
        ls_event_loop_run(work->loop);
    }
    if (work->broadcast) {
        replay_broadcast_leave(work->broadcast);
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
    if (latest > info->end_tick && !run->broadcast) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "tick %" PRIu32 " is behind the journal's last one, %" PRIu32, latest,
                       info->end_tick);
    }
    return LS_OK;
}

static ls_status show_record(replay_run *run, replay_record_view *record, ls_text *why)
{
    viewing work = {.broadcast = run->broadcast, .record = record};
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
    status = show(&work, &run->console->log);
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
