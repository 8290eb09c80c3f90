#include "lockstep/server/service/room_saving.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
    WRITING_MAX_S = 10, /* until a journal that lacks ticks is given up */
};

static const char *words_of(const ls_room_saving *saving)
{
    return saving->words.bytes[0] != '\0' ? saving->words.bytes : "the match is being saved";
}

static bool can_go_on(ls_match_state state)
{
    return state == LS_MATCH_RUNNING || state == LS_MATCH_RESUMING;
}

ls_status ls_room_saving_begin(ls_room_saving *saving, ls_room *room, const char *words,
                               uint64_t now_ns, ls_text *why)
{
    ls_match *match = ls_room_match(room);
    ls_match_state state = ls_match_state_of(match);
    if (saving->state == LS_SAVING_WRITES || saving->state == LS_SAVING_LEFT) {
        return ls_fail(LS_ALREADY_STARTED, why, "the room is being saved already");
    }
    if (!ls_room_journal_of(room)) {
        return ls_fail(LS_UNSUPPORTED, why, "the room has no journal: set `journal` to a folder");
    }
    if (!can_go_on(state)) {
        return ls_fail(LS_REFUSED, why,
                       state == LS_MATCH_LOBBY ? "the match has not begun: there is nothing to save"
                                               : "the match is over");
    }
    *saving = (ls_room_saving){.state = LS_SAVING_WRITES,
                               .was_paused = ls_match_is_paused(match),
                               .began_ns = now_ns,
                               .tick = UINT32_MAX};
    ls_text_set(&saving->words, "%s", words);
    (void)ls_match_pause(match, words_of(saving), now_ns); /* one that resumes stands still */
    return LS_OK;
}

/* The pause takes effect with the next state that is hashed. */
static bool is_written(ls_room_saving *saving, ls_room *room)
{
    ls_tick before = saving->tick;
    saving->tick = ls_match_tick(ls_room_match(room));
    return saving->tick == before && ls_room_journal_backlog(ls_room_journal_of(room)) == 0;
}

static void give_up(ls_room_saving *saving, ls_match *match, const char *why, uint64_t now_ns)
{
    saving->state = LS_SAVING_FAILED;
    saving->status = LS_IO;
    saving->why = why;
    if (!saving->was_paused) {
        (void)ls_match_unpause(match, "it could not be saved", now_ns);
    }
}

void ls_room_saving_end(ls_room_saving *saving)
{
    if (saving->state == LS_SAVING_WRITES) {
        saving->state = LS_SAVING_FAILED;
        saving->status = LS_REFUSED;
        saving->why = "the match has ended before it was saved";
    }
}

ls_saving_state ls_room_saving_look(ls_room_saving *saving, ls_room *room, uint64_t now_ns)
{
    ls_match *match = ls_room_match(room);
    if (saving->state != LS_SAVING_WRITES) {
        return saving->state;
    }
    ls_room_pull(room, now_ns);
    if (!can_go_on(ls_match_state_of(match))) {
        ls_room_saving_end(saving);
    } else if (!is_written(saving, room)) {
        if (now_ns - saving->began_ns >= WRITING_MAX_S * LS_NS_PER_SECOND) {
            give_up(saving, match, "the journal cannot be written: the match goes on", now_ns);
        }
    } else if (!ls_room_journal_is_there(ls_room_journal_of(room))) {
        give_up(saving, match, "the journal was deleted: the match goes on", now_ns);
    } else {
        ls_match_suspend(match, words_of(saving), now_ns);
        saving->state = LS_SAVING_LEFT;
    }
    return saving->state;
}

/* ---- its journal ---- */

/* Of a match that was saved before and has gone on from there. */
static bool is_saved_folder(const char *folder, const char *journal_dir)
{
    char saved[LS_WORKER_PATH_BYTES_MAX + 8];
    snprintf(saved, sizeof saved, "%s/saved", journal_dir);
    return ls_output_is_same_file(folder, saved);
}

bool ls_room_saving_move(const char *path, const char *journal_dir,
                         char moved[LS_WORKER_PATH_BYTES_MAX])
{
    char folder[LS_WORKER_PATH_BYTES_MAX];
    const char *slash = strrchr(path, '/');
    int folder_bytes = slash ? (int)(slash - path) : 0;
    snprintf(folder, sizeof folder, "%.*s", folder_bytes, path);
    if (is_saved_folder(folder, journal_dir)) {
        ls_name_copy(moved, LS_WORKER_PATH_BYTES_MAX, path);
        return true;
    }
    snprintf(folder, sizeof folder, "%.*s/saved", folder_bytes, path);
    int bytes = snprintf(moved, LS_WORKER_PATH_BYTES_MAX, "%.*s/saved%s", folder_bytes, path,
                         slash ? slash : path);
    bool is_there = ls_folder_make(folder, true) || errno == EEXIST;
    bool is_moved =
        is_there && (size_t)bytes < LS_WORKER_PATH_BYTES_MAX && rename(path, moved) == 0;
    if (!is_moved) {
        ls_name_copy(moved, LS_WORKER_PATH_BYTES_MAX, path);
    }
    return is_moved;
}
