/* Handle: what the parts of a handle share, and what lockstep.c calls of each. The part of a kind
 * (client, host, simulation) lies in a file of its own; lockstep.c checks what callers hand in. */
#ifndef LOCKSTEP_TOOLS_LIBLOCKSTEP_HANDLE_H
#define LOCKSTEP_TOOLS_LIBLOCKSTEP_HANDLE_H

#include "lockstep/client/session/session.h"
#include "lockstep/common/base/log.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/loader/plugin_loader.h"
#include "lockstep/common/program/command_line.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/server/match/match.h"
#include "lockstep/server/rooms/rooms.h"
#include "lockstep/tools/liblockstep/lockstep.h"

#include <stdbool.h>

/* ---- Event queue: what a handle has to say and was not polled for, with texts of its own; and
 * the log whose lines become the text of the next event ---- */

#define LOCKSTEP_EVENTS_MAX 1024u
#define LOCKSTEP_EVENT_TEXT_BYTES_MAX 4096u /* more lines are left out */

/* Comes zeroed. */
typedef struct lockstep_event_queue {
    lockstep_event *events; /* LOCKSTEP_EVENTS_MAX and one more, for OVER; a ring */
    uint32_t first;
    uint32_t count;
    char *polled;   /* the text that the caller may still read */
    uint64_t added; /* since the start, for who waits for one */
    bool is_over;   /* OVER was added */
    size_t said_bytes;
    char said[LOCKSTEP_EVENT_TEXT_BYTES_MAX]; /* lines since the last event */
} lockstep_event_queue;

/* False: memory is out. */
bool lockstep_event_queue_open(lockstep_event_queue *queue);
void lockstep_event_queue_close(lockstep_event_queue *queue);

/* Lines of this log are the text of the next event that has none of its own. */
ls_log lockstep_event_queue_log(lockstep_event_queue *queue);

/* Adds an event, with the text, or with NULL the lines since the last one. */
void lockstep_event_queue_add(lockstep_event_queue *queue, lockstep_event event, const char *text);

/* Lines that belong to no event become one. */
void lockstep_event_queue_flush(lockstep_event_queue *queue, uint32_t tick);

bool lockstep_event_queue_take(lockstep_event_queue *queue, lockstep_event *event);

/* ---- Settings: what a handle was set to by name, over the tables of the programs (hosting,
 * match and session); and a table of the few that are a client's alone. Owns the texts ---- */

typedef struct lockstep_settings {
    /* Of a client, and of a simulation. */
    const char *server, *token_path, *seat_path, *sim;
    uint32_t connect_wait_ms;
    bool is_insecure;
    bool has_thread; /* of a host, too */
    ls_session_config session;

    ls_hosting hosting;
    ls_match_config match; /* fields of it, ... */
    uint64_t match_given;  /* ... of these rows of ls_match_settings */
    ls_param_options params;

    char **texts; /* that the values are borrowed from */
    uint32_t text_count;
} lockstep_settings;

void lockstep_settings_init(lockstep_settings *settings);
void lockstep_settings_deinit(lockstep_settings *settings);

/* NOT_FOUND, BAD_ARGUMENT, NO_MEMORY, with `why`. */
ls_status lockstep_settings_set(lockstep_settings *settings, int kind, const char *name,
                                const char *value, ls_text *why);

/* ---- handle ---- */

/* The part of a kind works with this. */
typedef struct lockstep_self {
    bool is_started;
    bool has_thread; /* of its own, besides the caller's */
    bool has_game;
    lockstep_game game;
    ls_simulation own; /* the game as a simulation */
    lockstep_settings settings;
    lockstep_event_queue events;
    ls_event_loop *loop; /* the part's; NULL: it has none */
    void *part;          /* of its kind; NULL: not started */
} lockstep_self;

/* ---- the parts: one thread at a time calls them ---- */

ls_status lockstep_client_open(lockstep_self *handle, ls_text *why);
void lockstep_client_close(lockstep_self *handle);
/* As lockstep_frame. */
int lockstep_client_frame(lockstep_self *handle, uint32_t wait_ms, ls_text *why);
void lockstep_client_leave(lockstep_self *handle);
ls_status lockstep_client_say(lockstep_self *handle, const char *text);
ls_status lockstep_client_input(lockstep_self *handle, const void *bytes, uint32_t size,
                                bool is_once, ls_text *why);
void lockstep_client_info(lockstep_self *handle, lockstep_info *info);
ls_status lockstep_client_player(lockstep_self *handle, uint32_t slot, lockstep_player *player);
ls_status lockstep_client_view(lockstep_self *handle, lockstep_view *view);
int lockstep_client_draw(lockstep_self *handle, lockstep_shape *shapes, uint32_t capacity);
ls_sim_instance *lockstep_client_instance(lockstep_self *handle); /* NULL: none yet */

ls_status lockstep_host_open(lockstep_self *handle, ls_text *why);
void lockstep_host_close(lockstep_self *handle);
int lockstep_host_frame(lockstep_self *handle, uint32_t wait_ms);
ls_status lockstep_host_end(lockstep_self *handle, bool saves, ls_text *why);
ls_status lockstep_host_say(lockstep_self *handle, const char *text);
ls_status lockstep_host_kick(lockstep_self *handle, uint32_t slot, const char *why);
ls_status lockstep_host_pause(lockstep_self *handle, bool is_paused, const char *why);
void lockstep_host_info(lockstep_self *handle, lockstep_info *info);
uint64_t lockstep_host_hash(lockstep_self *handle);
ls_status lockstep_host_player(lockstep_self *handle, uint32_t slot, lockstep_player *player);

ls_status lockstep_sim_open(lockstep_self *handle, ls_text *why);
void lockstep_sim_close(lockstep_self *handle);
ls_sim_instance *lockstep_sim_instance(lockstep_self *handle);
uint32_t lockstep_sim_slots(lockstep_self *handle);
size_t lockstep_sim_input_bytes(lockstep_self *handle); /* of all its slots */
void lockstep_sim_info(lockstep_self *handle, lockstep_info *info);
void lockstep_sim_step(lockstep_self *handle, const uint8_t *inputs, const uint32_t *sizes);

/* ---- trial: a game played twice in this process, the second time from saves of the first and with
 * other bytes in memory that is not set; in blocks of its own ---- */

/* Makes state 0 and steps `ticks` ticks of random inputs, each twice. DESYNCED: two results differ,
 * and `why` has the tick, the field, both values, and what may be the cause. Else the status of
 * what fails. */
ls_status lockstep_trial(const ls_simulation *simulation, const ls_sim_config *config,
                         uint32_t ticks, ls_text *why);

#endif
