/* Handle: what the parts of a handle share, and what lockstep.c calls of each. The part of a kind
 * (client, host, simulation) lies in a file of its own; lockstep.c checks what callers hand in. */
#ifndef LOCKSTEP_TOOLS_LIBLOCKSTEP_HANDLE_H
#define LOCKSTEP_TOOLS_LIBLOCKSTEP_HANDLE_H

#include "lockstep/common/base/text.h"
#include "lockstep/common/loader/plugin_loader.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/tools/liblockstep/event_queue.h"
#include "lockstep/tools/liblockstep/lockstep.h"
#include "lockstep/tools/liblockstep/settings.h"

#include <stdbool.h>

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
void lockstep_host_end(lockstep_self *handle, bool saves);
ls_status lockstep_host_say(lockstep_self *handle, const char *text);
ls_status lockstep_host_kick(lockstep_self *handle, uint32_t slot, const char *why);
ls_status lockstep_host_pause(lockstep_self *handle, bool is_paused, const char *why);
void lockstep_host_info(lockstep_self *handle, lockstep_info *info);
ls_status lockstep_host_player(lockstep_self *handle, uint32_t slot, lockstep_player *player);

ls_status lockstep_sim_open(lockstep_self *handle, ls_text *why);
void lockstep_sim_close(lockstep_self *handle);
ls_sim_instance *lockstep_sim_instance(lockstep_self *handle);
uint32_t lockstep_sim_slots(lockstep_self *handle);
size_t lockstep_sim_input_bytes(lockstep_self *handle); /* of all its slots */
void lockstep_sim_info(lockstep_self *handle, lockstep_info *info);
void lockstep_sim_step(lockstep_self *handle, const uint8_t *inputs, const uint32_t *sizes);

#endif
