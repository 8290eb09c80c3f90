#include "lockstep/server/rooms/room.h"

#include "lockstep/common/lag/lag_notes.h"
#include "lockstep/server/investigation/desync_finding.h"
#include "lockstep/server/journal/event_rows.h"
#include "lockstep/server/rooms/match_summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    TITLE_BYTES_MAX = 64,
};

/* The desyncs of one slot, for the summary: the match itself keeps the newest alone. */
typedef struct slot_desyncs {
    uint32_t count;
    uint32_t bundles;                            /* that were begun */
    ls_summary_desync first;                     /* tick, slot and hashes */
    ls_desync_finding *first_finding;            /* NULL: not known */
    char first_bundle[LS_BUNDLE_PATH_BYTES_MAX]; /* empty: none */
    char bundle[LS_BUNDLE_PATH_BYTES_MAX];       /* of the newest one; empty: none */
} slot_desyncs;

/* A seat's connection and what it has carried. */
typedef struct room_seat {
    ls_peer_id peer; /* 0: the connection is gone */
    ls_transport_traffic traffic;
} room_seat;

struct ls_room {
    ls_room_ground *ground;
    uint64_t serial; /* no other room of this process ever has it */
    uint32_t number;
    ls_match *match;
    const ls_build_fingerprint *print;
    void *owner;
    uint32_t players;
    char title[TITLE_BYTES_MAX];
    char label[TITLE_BYTES_MAX];
    room_seat *seats;
    slot_desyncs *desyncs;          /* NULL: there was none; else of each slot, then a spectator */
    ls_log_budget *slot_lines;      /* that each slot causes */
    ls_room_journal *journal;       /* NULL: none is written */
    char before[LS_NAME_BYTES_MAX]; /* the subject of the console before our lines */
    ls_wait_notes waits;            /* that lines have said */
    bool has_desync;
    uint32_t refusals; /* bit 0: of a first state there is a bundle; bit 1: of arithmetic */
    bool is_known_done;
};

/* ---- the log's lines of a match ---- */

typedef struct room_lines {
    ls_match *match;
    const ls_log *log;
    const char *bundle; /* path, of the desync that the event is about; NULL: there is none */
} room_lines;

/* "ann (slot 0)", or "slot 0" of a player without a name. */
static ls_text player_of(const room_lines *room, uint32_t slot)
{
    ls_text text = {{0}};
    ls_match_slot player = ls_match_slot_of(room->match, slot);
    if (slot == ls_match_players(room->match)) {
        ls_text_set(&text, "spectator %s", player.name);
    } else if (player.name[0]) {
        ls_text_set(&text, "%s (slot %" PRIu32 ")", player.name, slot);
    } else {
        ls_text_set(&text, "slot %" PRIu32, slot);
    }
    return text;
}

static void log_desync(const room_lines *room, const ls_match_event *event)
{
    const ls_match_config *config = ls_match_config_of(room->match);
    ls_text since =
        ls_desync_since(ls_match_instance(room->match), config->hash_interval_ticks, event->tick);
    if (event->clients > 0) {
        ls_log_line(room->log, LS_LOG_ERROR,
                    "DESYNC: this server differs %s from %" PRIu32
                    " clients which agree: server %016" PRIx64 ", clients %016" PRIx64,
                    since.bytes, event->clients, event->server_hash, event->client_hash);
        return;
    }
    ls_log_line(
        room->log, LS_LOG_ERROR, "DESYNC: %s differs %s: server %016" PRIx64 ", client %016" PRIx64,
        player_of(room, event->slot).bytes, since.bytes, event->server_hash, event->client_hash);
    const char *why = ls_match_unknown_why(config);
    if (why) {
        ls_log_line(room->log, LS_LOG_ERROR, "  nothing more is known of '%s': %s",
                    config->simulation->name, why);
    }
}

/* The machine that the report is about: where the server is the one that differs, the slot stands
 * for those that agree. */
static ls_text differing_of(const room_lines *room, const ls_match_event *event)
{
    ls_text player = player_of(room, event->slot);
    ls_text server = {{0}};
    if (ls_match_slot_of(room->match, event->slot).desync_clients == 0) {
        return player;
    }
    ls_text_set(&server, "this server against %s", player.bytes);
    return server;
}

static void log_cause(const room_lines *room, const ls_match_event *event)
{
    const ls_desync_finding *finding = ls_match_desync_of(room->match, event->slot);
    ls_desync_report_log(finding, differing_of(room, event).bytes, room->bundle,
                         ls_match_config_of(room->match)->simulation, room->log);
}

/* The whole follows, with its bundle. */
static void log_values(const room_lines *room, const ls_match_event *event)
{
    const ls_desync_finding *finding = ls_match_desync_of(room->match, event->slot);
    if (finding->is_open) {
        ls_desync_report_log(finding, differing_of(room, event).bytes, NULL, NULL, room->log);
    }
}

static ls_text players_of(const room_lines *room, ls_slot_set slots)
{
    ls_text names = {{0}};
    uint32_t left = ls_slot_set_count(slots);
    uint32_t named = 0;
    LS_EACH_SLOT (slot, slots) {
        if (named++ == LS_NAMES_PER_LINE) {
            ls_text_add(&names, " and %" PRIu32 " more", left);
            break;
        }
        left--;
        ls_text_add(&names, "%s%s", names.bytes[0] ? ", " : "", player_of(room, slot).bytes);
    }
    return names;
}

static bool is_field(const char *at, const char *name)
{
    size_t length = strlen(name);
    return strncmp(at, name, length) == 0 && at[length] == '}';
}

static void add_field(const room_lines *room, const ls_match_event *event, const char *at,
                      ls_text *line)
{
    const char *text = event->text.bytes;
    const struct {
        const char *name;
        uint32_t value;
    } numbers[] = {{"slot", event->slot},
                   {"tick", event->tick},
                   {"waited_ms", event->waited_ms},
                   {"keep_s", ls_match_config_of(room->match)->keep_seat_ms / 1000}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (is_field(at, numbers[i].name)) {
            ls_text_add(line, "%" PRIu32, numbers[i].value);
        }
    }
    if (is_field(at, "player")) {
        ls_text_add(line, "%s", player_of(room, event->slot).bytes);
    } else if (is_field(at, "waited for")) {
        ls_text_add(line, "%s", players_of(room, event->slots).bytes);
    } else if (is_field(at, "status")) {
        ls_text_add(line, "%s", ls_status_name(event->status));
    } else if (is_field(at, "text") || is_field(at, ": text")) {
        ls_text_add(line, "%s%s", at[0] == ':' && text[0] != '\0' ? ": " : "", text);
    }
}

static void log_sentence(const room_lines *room, const ls_match_event *event,
                         const ls_event_row *row)
{
    bool is_planned = event->status == LS_DISCONNECTED ||
                      (event->status == LS_OK && row->scope == LS_EVENT_OF_PEER);
    ls_log_level level = row->is_mild_when_planned && is_planned ? LS_LOG_INFO : row->level;
    ls_text line = {{0}};
    for (const char *at = row->line; level <= room->log->level && *at != '\0';) {
        size_t length = strcspn(at, "{");
        ls_text_add(&line, "%.*s", (int)length, at);
        at += length;
        if (*at == '{') {
            add_field(room, event, at + 1, &line);
            at += strcspn(at, "}") + 1;
        }
    }
    ls_log_line(room->log, level, "%s", line.bytes);
}

static void log_event(const room_lines *room, const ls_match_event *event)
{
    const ls_event_row *row = ls_event_row_of(event);
    if (row->line) {
        log_sentence(room, event, row);
    } else if (event->kind == LS_MATCH_DESYNC) {
        log_desync(room, event);
    } else if (event->kind == LS_MATCH_DESYNC_VALUES) {
        log_values(room, event);
    } else if (event->kind == LS_MATCH_DESYNC_CAUSE) {
        log_cause(room, event);
    }
}

/* ---- the subject of lines ---- */

/* Lines of the console are about this room from here to the end. */
static void begin_lines(ls_room *room)
{
    ls_console *console = room->ground->console;
    memcpy(room->before, console->subject, sizeof room->before);
    if (room->title[0] != '\0') {
        snprintf(console->subject, sizeof console->subject,
                 "%.*s: ", (int)sizeof console->subject - 3, room->title);
    }
}

static void end_lines(ls_room *room)
{
    memcpy(room->ground->console->subject, room->before, sizeof room->before);
}

/* ---- traffic ---- */

static void note_seated(ls_room *room, const ls_match_event *event)
{
    bool is_newcomer = event->kind == LS_MATCH_PLAYER_READY && event->was_coming;
    if (is_newcomer || event->kind == LS_MATCH_PLAYER_RETURNED) {
        room->seats[event->slot] = (room_seat){.peer = event->peer};
    }
}

void ls_room_on_disconnect(ls_room *room, ls_peer_id peer)
{
    for (uint32_t slot = 0; slot < room->players; slot++) {
        room_seat *seat = &room->seats[slot];
        if (seat->peer == peer) {
            *seat = (room_seat){.traffic = ls_transport_traffic_of(room->ground->transport, peer)};
        }
    }
}

ls_transport_traffic ls_room_traffic(const ls_room *room, uint32_t slot)
{
    const room_seat *seat = &room->seats[slot];
    return seat->peer != 0 ? ls_transport_traffic_of(room->ground->transport, seat->peer)
                           : seat->traffic;
}

/* ---- desyncs ---- */

/* NULL: memory is out. */
static slot_desyncs *desyncs_of(ls_room *room, uint32_t slot)
{
    if (!room->desyncs) {
        room->desyncs =
            ls_allocate_array(ls_allocator_heap(), room->players + 1, sizeof *room->desyncs);
    }
    return room->desyncs ? &room->desyncs[slot] : NULL;
}

/* A desync was noticed; then it was looked into, and its bundle was written, or not. */
static void notice_desync(slot_desyncs *desyncs, const ls_match_event *event)
{
    desyncs->count++;
    desyncs->bundle[0] = '\0'; /* which is of an older one */
    if (desyncs->count == 1) {
        desyncs->first = (ls_summary_desync){.tick = event->tick,
                                             .slot = event->slot,
                                             .server_hash = event->server_hash,
                                             .client_hash = event->client_hash,
                                             .clients = event->clients};
    }
}

static void keep_cause(slot_desyncs *desyncs, const ls_desync_finding *finding)
{
    if (desyncs->count != 1 || desyncs->first_finding) {
        return;
    }
    desyncs->first_finding = ls_allocate(ls_allocator_heap(), sizeof *finding);
    if (desyncs->first_finding) {
        *desyncs->first_finding = *finding;
    }
    memcpy(desyncs->first_bundle, desyncs->bundle, sizeof desyncs->first_bundle);
}

static const char *path_or_null(const char *path)
{
    return path[0] != '\0' ? path : NULL;
}

/* Adds to the newest one of the slot what the match does not know, and fills in the first. Their
 * texts are borrowed. */
static void summarize_desyncs(const slot_desyncs *desyncs, const ls_simulation *simulation,
                              ls_summary_desync *newest, ls_summary_desync *first)
{
    newest->times = desyncs->count;
    newest->bundle = path_or_null(desyncs->bundle);
    *first = desyncs->first;
    first->times = 1;
    first->why = newest->has_cause ? NULL : newest->why;
    if (desyncs->first_finding) {
        ls_desync_finding_summarize(desyncs->first_finding, first);
    }
    first->bundle = path_or_null(desyncs->first_bundle);
    newest->next = ls_desync_finding_command(newest->bundle, simulation);
    first->next = ls_desync_finding_command(first->bundle, simulation);
}

/* ---- bundles ---- */

static void replace_path(char path[LS_BUNDLE_PATH_BYTES_MAX], const ls_desync_file *file)
{
    if (strcmp(path, file->planned) == 0) {
        ls_name_copy(path, LS_BUNDLE_PATH_BYTES_MAX, file->status == LS_OK ? file->path : "");
    }
}

/* The report has told where the bundle is to be. */
void ls_room_receive_bundle(ls_room *room, const ls_desync_file *file)
{
    bool is_desync = file->slot != LS_DESYNC_FILES_NO_SLOT;
    if (room->serial != file->room || (is_desync && !room->desyncs)) {
        return;
    }
    const ls_log *log = &room->ground->console->log;
    if (is_desync) {
        replace_path(room->desyncs[file->slot].bundle, file);
        replace_path(room->desyncs[file->slot].first_bundle, file);
    }
    begin_lines(room);
    if (file->status != LS_OK && file->status != LS_NOT_FOUND) {
        ls_log_line(log, LS_LOG_WARNING, "%s%s",
                    file->why[0] ? "" : "cannot write the bundle of the desync: ",
                    file->why[0] ? file->why : ls_status_text(file->status));
    } else if (file->status == LS_OK && strcmp(file->path, file->planned) != 0) {
        ls_log_line(log, LS_LOG_INFO, "the bundle is %s", file->path);
    }
    end_lines(room);
}

static void write_bundle(const ls_room *room, uint32_t slot, slot_desyncs *desyncs)
{
    const ls_log *log = &room->ground->console->log;
    desyncs->bundle[0] = '\0';
    if (!room->ground->files) {
        return;
    }
    if (!ls_output_limits_reserve_bundle(&desyncs->bundles)) {
        ls_log_line(log, LS_LOG_WARNING,
                    "no bundle of this desync is written: the slot has %u already",
                    LS_SLOT_BUNDLES_MAX);
        return;
    }
    const ls_desync_file_task task = {.room = room->serial,
                                      .label = room->label,
                                      .print = room->print,
                                      .match = room->match,
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
    bool is_found = event->kind == LS_MATCH_DESYNC;
    bool is_explained = event->kind == LS_MATCH_DESYNC_CAUSE;
    room->has_desync = room->has_desync || is_found;
    slot_desyncs *desyncs = is_found || is_explained ? desyncs_of(room, event->slot) : NULL;
    if (desyncs && is_found) {
        notice_desync(desyncs, event);
    } else if (desyncs) {
        write_bundle(room, event->slot, desyncs);
        keep_cause(desyncs, ls_match_desync_of(room->match, event->slot));
    }
}

/* The first of a kind: the others will be of the same, and each costs a first state. */
static void write_refusal(ls_room *room, const ls_match_event *event)
{
    char path[LS_BUNDLE_PATH_BYTES_MAX];
    const ls_log *log = &room->ground->console->log;
    bool is_one = ls_match_is_of_refusal(event->status) &&
                  (event->kind == LS_MATCH_PLAYER_LEFT || event->kind == LS_MATCH_PEER_REFUSED) &&
                  ls_match_refusal_of(room->match)->status == event->status;
    uint32_t bit = event->status == LS_INITIAL_STATE_MISMATCH ? 1 : 2;
    if (!is_one || (room->refusals & bit) || !room->ground->files) {
        return;
    }
    room->refusals |= bit;
    const ls_desync_file_task task = {.room = room->serial,
                                      .label = room->label,
                                      .print = room->print,
                                      .match = room->match,
                                      .slot = LS_DESYNC_FILES_NO_SLOT,
                                      .why = event->text.bytes};
    if (ls_desync_files_write(room->ground->files, &task, path) == LS_OK) {
        ls_text command =
            ls_desync_finding_command(path, ls_match_config_of(room->match)->simulation);
        ls_log_line(log, LS_LOG_WARNING, "  next: %s", command.bytes);
        ls_log_line(log, LS_LOG_WARNING,
                    "  on the client's machine, or with its plug-in, it shows %s",
                    bit == 1 ? "both sides' values" : "what both have");
    }
}

/* No peer can fill the log. */
static void log_bounded(ls_room *room, const ls_match_event *event)
{
    ls_log *log = &room->ground->console->log;
    ls_log_budget *lines =
        ls_output_limits_lines(room->slot_lines, &room->ground->peer_lines, event);
    uint64_t now_ns = ls_event_loop_now_ns(room->ground->loop);
    const ls_log before = lines ? ls_log_budget_begin(lines, log, now_ns) : *log;
    bool is_said =
        event->kind != LS_MATCH_STALLED ||
        ls_wait_notes_add(&room->waits, event->slots, event->tick, event->waited_ms, now_ns);
    keep_desync(room, event);
    const char *bundle = event->kind == LS_MATCH_DESYNC_CAUSE && room->desyncs
                             ? room->desyncs[event->slot].bundle
                             : "";
    const room_lines about = {
        .match = room->match, .log = log, .bundle = bundle[0] != '\0' ? bundle : NULL};
    if (is_said) {
        log_event(&about, event);
        write_refusal(room, event);
    }
    *log = before;
}

void ls_room_receive_event(ls_room *room, const ls_match_event *event)
{
    note_seated(room, event);
    if (!event->is_for_another) {
        begin_lines(room);
    }
    log_bounded(room, event);
    if (!event->is_for_another) {
        end_lines(room);
    }
    if (room->journal) {
        ls_room_journal_receive_event(room->journal, event);
    }
}

static void log_waits_over(ls_room *room)
{
    const room_lines about = {.match = room->match, .log = &room->ground->console->log};
    ls_text words = {{0}};
    ls_wait_notes_text(&room->waits, &words);
    begin_lines(room);
    ls_log_line(about.log, LS_LOG_INFO, "the match does not wait any more for %s: %s",
                players_of(&about, room->waits.slots).bytes, words.bytes);
    end_lines(room);
    room->waits = (ls_wait_notes){0};
}

void ls_room_pull(ls_room *room, uint64_t now_ns)
{
    if (ls_wait_notes_is_over(&room->waits, now_ns)) {
        log_waits_over(room);
    }
    if (room->journal) {
        ls_room_journal_pull(room->journal, now_ns);
    }
}

/* ---- what is known ---- */

uint32_t ls_room_number(const ls_room *room)
{
    return room->number;
}

void *ls_room_owner(const ls_room *room)
{
    return room->owner;
}

ls_match *ls_room_match(const ls_room *room)
{
    return room->match;
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
    return ls_match_state_of(room->match) == LS_MATCH_OVER &&
           (!room->journal || ls_room_journal_is_closed(room->journal));
}

bool ls_room_is_done_now(ls_room *room)
{
    bool is_new = !room->is_known_done && ls_room_is_done(room);
    room->is_known_done = room->is_known_done || is_new;
    return is_new;
}

const ls_room_journal *ls_room_journal_of(const ls_room *room)
{
    return room->journal;
}

void ls_room_summarize(ls_room *room, ls_summary *summary)
{
    ls_match *match = room->match;
    ls_transport_traffic traffic[LS_PLAYERS_MAX];
    for (uint32_t slot = 0; slot < room->players; slot++) {
        traffic[slot] = ls_room_traffic(room, slot);
    }
    ls_match_summarize(match, ls_match_config_of(match), traffic, summary);
    if (room->journal) {
        ls_room_journal_summarize(room->journal, &summary->journal);
    }
    for (uint32_t i = 0; room->desyncs && i < summary->desync_count; i++) {
        summarize_desyncs(&room->desyncs[summary->desyncs[i].slot],
                          ls_match_config_of(room->match)->simulation, &summary->desyncs[i],
                          &summary->firsts[i]);
    }
    begin_lines(room);
    ls_match_summary_log(summary, &room->ground->console->log);
    end_lines(room);
}

/* ---- life ---- */

static ls_status begin_journal(ls_room *room, const ls_room_opening *opening, ls_text *why)
{
    ls_room_ground *ground = room->ground;
    ls_resume *resume = opening->resume;
    if (!opening->journal_dir && !resume) {
        return LS_OK;
    }
    const ls_room_journal_config journal = {.directory = opening->journal_dir,
                                            .continued_path = resume ? opening->resume_path : NULL,
                                            .continued = resume ? ls_resume_journal(resume) : NULL,
                                            .title =
                                                room->title[0] != '\0' ? room->title : "match 0",
                                            .label = room->label,
                                            .is_public = opening->is_public,
                                            .number = room->number,
                                            .match = room->match,
                                            .print = room->print,
                                            .log = &ground->console->log,
                                            .loop = ground->loop,
                                            .on_closed = ground->on_closed,
                                            .user = ground->user};
    return ls_room_journal_create(&journal, ls_allocator_heap(), &room->journal, why);
}

static ls_status create_parts(ls_room *room, const ls_room_opening *opening, ls_text *why)
{
    const ls_allocator *heap = ls_allocator_heap();
    room->seats = ls_allocate_array(heap, room->players, sizeof *room->seats);
    room->slot_lines = ls_allocate_array(heap, room->players + 1, sizeof *room->slot_lines);
    bool are_there = room->seats && room->slot_lines;
    return are_there ? begin_journal(room, opening, why) : LS_NO_MEMORY;
}

ls_status ls_room_create(const ls_room_opening *opening, uint32_t number, ls_match *match,
                         ls_room_ground *ground, ls_room **out, ls_text *why)
{
    ls_room *room = ls_allocate(ls_allocator_heap(), sizeof *room);
    if (!room) {
        return LS_NO_MEMORY;
    }
    room->ground = ground;
    room->serial = ++ground->serials;
    room->number = number;
    room->match = match;
    room->print = opening->match.print;
    room->owner = opening->owner;
    room->players = ls_match_players(match);
    ls_name_copy(room->title, sizeof room->title, opening->title ? opening->title : "");
    ls_name_copy(room->label, sizeof room->label, opening->label ? opening->label : "");
    ls_status status = create_parts(room, opening, why);
    if (status != LS_OK) {
        ls_room_destroy(room);
        return status;
    }
    if (opening->match.draws_seed) {
        begin_lines(room);
        ls_log_line(&ground->console->log, LS_LOG_INFO, "the seed is %" PRIu64,
                    opening->match.sim.seed);
        end_lines(room);
    }
    *out = room;
    return LS_OK;
}

void ls_room_destroy(ls_room *room)
{
    if (!room) {
        return;
    }
    ls_room_journal_destroy(room->journal);
    for (uint32_t slot = 0; room->desyncs && slot <= room->players; slot++) {
        ls_release(ls_allocator_heap(), room->desyncs[slot].first_finding);
    }
    ls_release(ls_allocator_heap(), room->seats);
    ls_release(ls_allocator_heap(), room->desyncs);
    ls_release(ls_allocator_heap(), room->slot_lines);
    ls_release(ls_allocator_heap(), room);
}
