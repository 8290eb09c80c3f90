#include "lockstep/server/rooms/room.h"

#include "lockstep/server/host/output_limits.h"
#include "lockstep/server/match/desync_finding.h"
#include "lockstep/server/rooms/match_summary.h"
#include "lockstep/server/rooms/room_lines.h"
#include "lockstep/server/rooms/slot_desyncs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    TITLE_BYTES_MAX = 64,
};

struct ls_room {
    ls_room_config config;
    const ls_room_ground *ground;
    uint32_t players;
    char title[TITLE_BYTES_MAX];
    char label[TITLE_BYTES_MAX];
    ls_slot_desyncs *desyncs;       /* of each slot */
    ls_log_budget *slot_lines;      /* that each slot causes */
    ls_room_journal *journal;       /* NULL: none is written */
    char before[LS_NAME_BYTES_MAX]; /* the subject of the console before our lines */
    bool has_desync;
};

/* ---- lines ---- */

void ls_room_begin_lines(ls_room *room)
{
    ls_console *console = room->ground->console;
    memcpy(room->before, console->subject, sizeof room->before);
    if (room->title[0] != '\0') {
        snprintf(console->subject, sizeof console->subject,
                 "%.*s: ", (int)sizeof console->subject - 3, room->title);
    }
}

void ls_room_end_lines(ls_room *room)
{
    memcpy(room->ground->console->subject, room->before, sizeof room->before);
}

/* ---- bundles ---- */

static void replace_path(char path[LS_BUNDLE_PATH_BYTES_MAX], const ls_desync_file *file)
{
    if (strcmp(path, file->planned) == 0) {
        ls_name_copy(path, LS_BUNDLE_PATH_BYTES_MAX, file->status == LS_OK ? file->path : "");
    }
}

/* The report has told where the bundle is to be. */
void ls_room_take_bundle(ls_room *room, const ls_desync_file *file)
{
    const ls_log *log = &room->ground->console->log;
    ls_slot_desyncs *desyncs = &room->desyncs[file->slot];
    replace_path(desyncs->bundle, file);
    replace_path(desyncs->first_bundle, file);
    ls_room_begin_lines(room);
    if (file->status != LS_OK && file->status != LS_NOT_FOUND) {
        ls_log_line(log, LS_LOG_WARNING, "%s%s",
                    file->why[0] ? "" : "cannot write the bundle of the desync: ",
                    file->why[0] ? file->why : ls_status_text(file->status));
    } else if (file->status == LS_OK && strcmp(file->path, file->planned) != 0) {
        ls_log_line(log, LS_LOG_INFO, "the bundle is %s", file->path);
    }
    ls_room_end_lines(room);
}

static void write_bundle(const ls_room *room, uint32_t slot)
{
    const ls_log *log = &room->ground->console->log;
    ls_slot_desyncs *desyncs = &room->desyncs[slot];
    desyncs->bundle[0] = '\0';
    if (!room->ground->files) {
        return;
    }
    if (!ls_output_limits_take_bundle(&desyncs->bundles)) {
        ls_log_line(log, LS_LOG_WARNING,
                    "no bundle of this desync is written: the slot has %u already",
                    LS_SLOT_BUNDLES_MAX);
        return;
    }
    const ls_desync_file_task task = {.room = room->config.serial,
                                      .label = room->label,
                                      .print = room->config.print,
                                      .match = room->config.match,
                                      .slot = slot};
    ls_status status = ls_desync_files_write(room->ground->files, &task, desyncs->bundle);
    if (status != LS_OK && status != LS_NOT_FOUND) {
        ls_log_line(log, LS_LOG_WARNING, "cannot write the bundle of the desync: %s",
                    status == LS_FULL ? "there are as many as --bundle-limit allows"
                                      : ls_status_text(status));
    }
}

/* ---- events ---- */

/* Keeps what the summary tells of a desync, and has its bundle written. */
static void keep_desync(ls_room *room, const ls_match_event *event)
{
    if (event->kind == LS_MATCH_DESYNC) {
        room->has_desync = true;
        ls_slot_desyncs_notice(&room->desyncs[event->slot], event);
    } else if (event->kind == LS_MATCH_DESYNC_CAUSE) {
        write_bundle(room, event->slot);
        ls_slot_desyncs_cause(&room->desyncs[event->slot],
                              ls_match_desync_of(room->config.match, event->slot));
    }
}

/* No peer can fill the log. */
static void log_bounded(ls_room *room, const ls_match_event *event)
{
    ls_log *log = &room->ground->console->log;
    ls_log_budget *lines =
        ls_output_limits_lines(room->slot_lines, room->ground->peer_lines, event);
    uint64_t now_ns = ls_event_loop_now_ns(room->ground->loop);
    const ls_log before = lines ? ls_log_budget_begin(lines, log, now_ns) : *log;
    keep_desync(room, event);
    const char *bundle =
        event->kind == LS_MATCH_DESYNC_CAUSE ? room->desyncs[event->slot].bundle : "";
    const ls_room_lines about = {
        .match = room->config.match, .log = log, .bundle = bundle[0] != '\0' ? bundle : NULL};
    ls_room_lines_log(&about, event);
    *log = before;
}

void ls_room_take_event(ls_room *room, const ls_match_event *event)
{
    if (!event->is_for_another) {
        ls_room_begin_lines(room);
    }
    log_bounded(room, event);
    if (!event->is_for_another) {
        ls_room_end_lines(room);
    }
    if (room->journal) {
        ls_room_journal_take_event(room->journal, event);
    }
}

void ls_room_pull(ls_room *room, uint64_t now_ns)
{
    if (room->journal) {
        ls_room_journal_pull(room->journal, now_ns);
    }
}

/* ---- what is known ---- */

uint64_t ls_room_serial(const ls_room *room)
{
    return room->config.serial;
}

ls_match *ls_room_match(const ls_room *room)
{
    return room->config.match;
}

const char *ls_room_title(const ls_room *room)
{
    return room->title;
}

bool ls_room_has_desync(const ls_room *room)
{
    return room->has_desync;
}

bool ls_room_is_done(const ls_room *room)
{
    return ls_match_state_of(room->config.match) == LS_MATCH_OVER &&
           (!room->journal || ls_room_journal_is_closed(room->journal));
}

const ls_room_journal *ls_room_journal_of(const ls_room *room)
{
    return room->journal;
}

void ls_room_summarize(ls_room *room, const ls_transport_traffic *traffic, ls_summary *summary)
{
    ls_match *match = room->config.match;
    ls_match_summarize(match, ls_match_config_of(match), traffic, summary);
    if (room->journal) {
        ls_room_journal_summarize(room->journal, &summary->journal);
    }
    for (uint32_t i = 0; i < summary->desync_count; i++) {
        ls_slot_desyncs_summarize(&room->desyncs[summary->desyncs[i].slot], &summary->desyncs[i],
                                  &summary->firsts[i]);
    }
    ls_room_begin_lines(room);
    ls_match_summary_log(summary, &room->ground->console->log);
    ls_room_end_lines(room);
}

/* ---- life ---- */

static ls_status begin_journal(ls_room *room, ls_text *why)
{
    const ls_room_config *config = &room->config;
    if (!config->journal_dir && !config->continued) {
        return LS_OK;
    }
    const ls_room_journal_config journal = {.directory = config->journal_dir,
                                            .continued_path = config->continued_path,
                                            .continued = config->continued,
                                            .title =
                                                room->title[0] != '\0' ? room->title : "match 0",
                                            .label = room->label,
                                            .number = config->number,
                                            .match = config->match,
                                            .print = config->print,
                                            .log = &room->ground->console->log,
                                            .loop = room->ground->loop,
                                            .on_closed = config->on_closed,
                                            .user = config->user};
    return ls_room_journal_create(&journal, ls_allocator_heap(), &room->journal, why);
}

static ls_status create_parts(ls_room *room, ls_text *why)
{
    const ls_allocator *heap = ls_allocator_heap();
    room->desyncs = ls_allocate_array(heap, room->players, sizeof *room->desyncs);
    room->slot_lines = ls_allocate_array(heap, room->players, sizeof *room->slot_lines);
    return room->desyncs && room->slot_lines ? begin_journal(room, why) : LS_NO_MEMORY;
}

ls_status ls_room_create(const ls_room_config *config, const ls_room_ground *ground, ls_room **out,
                         ls_text *why)
{
    ls_room *room = ls_allocate(ls_allocator_heap(), sizeof *room);
    if (!room) {
        return LS_NO_MEMORY;
    }
    room->config = *config;
    room->ground = ground;
    room->players = ls_match_players(config->match);
    ls_name_copy(room->title, sizeof room->title, config->title ? config->title : "");
    ls_name_copy(room->label, sizeof room->label, config->label ? config->label : "");
    ls_status status = create_parts(room, why);
    if (status != LS_OK) {
        ls_room_destroy(room);
        return status;
    }
    room->config.continued = NULL;
    *out = room;
    return LS_OK;
}

void ls_room_destroy(ls_room *room)
{
    if (!room) {
        return;
    }
    ls_room_journal_destroy(room->journal);
    for (uint32_t slot = 0; room->desyncs && slot < room->players; slot++) {
        ls_slot_desyncs_deinit(&room->desyncs[slot]);
    }
    ls_release(ls_allocator_heap(), room->desyncs);
    ls_release(ls_allocator_heap(), room->slot_lines);
    ls_release(ls_allocator_heap(), room);
}
