#include "lockstep/common/diagnosis/state_difference.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/tools/replay/command.h"
#include "lockstep/tools/replay/verification.h"

#include <inttypes.h>
#include <string.h>

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
    replay_say(work->run,
               "%" PRIu64 " ticks simulated, %" PRIu64 " state hashes compared, %.0f x real time",
               work->work.ticks, work->work.state_hashes, speed);
    ls_json_number(work->run->json, "ticks", (double)work->work.ticks);
    ls_json_number(work->run->json, "ticks_skipped", (double)work->work.ticks_skipped);
    ls_json_number(work->run->json, "state_hashes", (double)work->work.state_hashes);
    ls_json_number(work->run->json, "chains", (double)work->work.chains);
    ls_json_number(work->run->json, "speed", speed);
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
    while (status == LS_OK && !work.work.is_done) {
        status = replay_verification_go_on(&work.work, LOOK_TICKS, why);
        draw_bar(&work);
    }
    ls_console_clear(run->console);
    if (status == LS_DESYNCED) {
        report_difference(&work);
    }
    report(&work);
    return status == LS_OK ? replay_verification_judge(&work.work, why) : status;
}
