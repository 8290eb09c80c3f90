#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/loader/own_game.h"
#include "lockstep/common/simulation/state_schema.h"
#include "lockstep/common/system/thread.h"
#include "lockstep/tools/liblockstep/handle.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

/* A thread's loop looks at least so often at what the caller did meanwhile. */
#define ROUND_MS 20u

struct lockstep {
    struct lockstep *next;      /* of the handles that are free */
    atomic_int kind;            /* lockstep_kind; 0: closed */
    _Atomic(const void *) user; /* the thread in whose call it is, as `here`; NULL: in none */
    ls_text error;
    lockstep_self self;

    /* A thread of its own works on the part while it has entered the monitor, and lets go of it
     * while its loop waits. Without one the monitor is nobody's. */
    uint64_t added; /* events, as of the newest frame */
    ls_monitor *monitor;
    ls_thread thread;
    bool is_closing;
};

/* ---- handles: a block that was closed is not released but used again, the one that was closed
 * first before all others, so that a call with a closed handle is told so ---- */

static atomic_flag is_listed = ATOMIC_FLAG_INIT; /* somebody works on the list */
static lockstep *oldest_free;
static lockstep *newest_free;

static void enter_list(void)
{
    while (atomic_flag_test_and_set_explicit(&is_listed, memory_order_acquire)) {
    }
}

static void leave_list(void)
{
    atomic_flag_clear_explicit(&is_listed, memory_order_release);
}

#define FREE_MIN 64u /* so many stay closed before one is used again */
static uint32_t free_count;

static lockstep *take_block(void)
{
    lockstep *block = NULL;
    enter_list();
    if (free_count > FREE_MIN) {
        block = oldest_free;
        oldest_free = block->next;
        free_count--;
    }
    leave_list();
    return block ? block : ls_allocate(ls_allocator_heap(), sizeof *block);
}

static void give_block(lockstep *block)
{
    block->next = NULL;
    enter_list();
    if (free_count++ > 0) {
        newest_free->next = block;
    } else {
        oldest_free = block;
    }
    newest_free = block;
    leave_list();
}

/* ---- sentences ---- */

/* The handle that was in use when this thread's newest call came: its own sentence is being
 * written, perhaps, by the call that uses it. */
static _Thread_local const lockstep *busy;

/* Each thread is known by the address of its own. */
static _Thread_local const char here;

static int fail(lockstep *handle, ls_status status, const ls_text *why)
{
    ls_text_set(&handle->error, "%s",
                why && why->bytes[0] != '\0' ? why->bytes : ls_status_text(status));
    return status;
}

static int fail_with(lockstep *handle, ls_status status, const char *sentence)
{
    ls_text_set(&handle->error, "%s", sentence);
    return status;
}

/* A state that never came does not hide why the handle has ended. */
static void note_no_state(lockstep *handle)
{
    if (!handle->self.events.is_over || handle->error.bytes[0] == '\0') {
        ls_text_set(&handle->error, "there is no state yet");
    }
}

static int result_of(lockstep *handle, ls_status status, const ls_text *why)
{
    return status == LS_OK ? LOCKSTEP_OK : fail(handle, status, why);
}

static int kind_of(const lockstep *handle)
{
    return handle ? atomic_load(&((lockstep *)(uintptr_t)handle)->kind) : 0;
}

/* ---- one call at a time ---- */

/* A step of the handle's own makes the call, which would wait for itself. */
static bool is_within(const lockstep *handle)
{
    return atomic_load(&((lockstep *)(uintptr_t)handle)->user) == &here;
}

static bool take(lockstep *handle)
{
    const void *nobody = NULL;
    return atomic_compare_exchange_strong(&handle->user, &nobody, &here);
}

static void enter_monitor(lockstep *handle)
{
    ls_monitor_enter(handle->monitor);
    atomic_store(&handle->user, &here);
}

static void leave_monitor(lockstep *handle)
{
    atomic_store(&handle->user, NULL);
    ls_monitor_leave(handle->monitor);
}

/* False: another call uses the handle, or has closed it. */
static bool enter(lockstep *handle)
{
    bool waits = handle->self.has_thread && !is_within(handle);
    busy = waits || take(handle) ? NULL : handle;
    if (waits) {
        enter_monitor(handle);
    } else if (!busy && kind_of(handle) == 0) {
        atomic_store(&handle->user, NULL);
        return false;
    }
    return !busy;
}

static void leave(lockstep *handle)
{
    if (handle->self.has_thread) {
        leave_monitor(handle);
    } else {
        atomic_store(&handle->user, NULL);
    }
}

/* A call that comes to nothing before it has entered. */
static int refuse(lockstep *handle, const char *sentence)
{
    if (enter(handle)) {
        fail_with(handle, LS_BAD_ARGUMENT, sentence);
        leave(handle);
    }
    return LS_BAD_ARGUMENT;
}

/* ---- what a call needs ---- */

/* Bits of the kinds that a call is for. */
enum {
    CLIENT = 1 << LOCKSTEP_CLIENT,
    HOST = 1 << LOCKSTEP_HOST,
    SIM = 1 << LOCKSTEP_SIM,
};

/* Whether the handle is open, of one of the kinds, and started or not as the call needs it. */
static bool is_right(lockstep *handle, int kinds, bool is_started)
{
    int kind = kind_of(handle);
    if (kind == 0) {
        return false;
    }
    if ((kinds >> kind & 1) == 0) {
        refuse(handle, "this call is for another kind of handle");
        return false;
    }
    if (handle->self.is_started != is_started) {
        refuse(handle, is_started ? "this call comes behind lockstep_start"
                                  : "this call comes before lockstep_start");
        return false;
    }
    return true;
}

static int fail_null(lockstep *handle, const char *what)
{
    ls_text why = {{0}};
    ls_text_set(&why, "%s is NULL", what);
    return refuse(handle, why.bytes);
}

/* A caller's struct whose size was not set. */
static bool is_size(lockstep *handle, size_t size, size_t least, const char *what)
{
    if (size >= least) {
        return true;
    }
    ls_text why = {{0}};
    ls_text_set(&why, "%s.size is not set to sizeof(%s)", what, what);
    return refuse(handle, why.bytes) == LS_OK;
}

static void fill(void *to, size_t to_size, const void *from, size_t from_size)
{
    size_t size = LS_MIN(to_size, from_size);
    memcpy((uint8_t *)to + sizeof(size_t), (const uint8_t *)from + sizeof(size_t),
           size - sizeof(size_t));
}

/* The structs as they were when they had fewer members: a caller that was built then still runs. */
#define BYTES_UP_TO(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))
#define EVENT_BYTES_MIN BYTES_UP_TO(lockstep_event, text)
#define INFO_BYTES_MIN BYTES_UP_TO(lockstep_info, invite)
#define PLAYER_BYTES_MIN BYTES_UP_TO(lockstep_player, name)
#define VIEW_BYTES_MIN BYTES_UP_TO(lockstep_view, alpha)

const char *lockstep_version(void)
{
    return LOCKSTEP_VERSION;
}

const char *lockstep_status_name(int status)
{
    return ls_status_name(status);
}

const char *lockstep_error(const lockstep *handle)
{
    return !handle ? "the handle is NULL: there was no such kind or game, or no memory"
           : kind_of(handle) == 0 ? "the handle was closed"
           : handle != busy       ? handle->error.bytes
           : is_within(handle)    ? "a step of this handle's own cannot use it, or close it"
                                  : "this handle is used by two threads at once";
}

/* ---- a thread of its own ---- */

static void on_wait(void *user, uint64_t now_ns)
{
    (void)now_ns;
    leave_monitor(user);
}

static void on_waited(void *user, uint64_t now_ns)
{
    (void)now_ns;
    enter_monitor(user);
}

static void run(void *user)
{
    lockstep *handle = user;
    enter_monitor(handle);
    while (!handle->is_closing) {
        ls_event_loop_run_until(handle->self.loop,
                                ls_event_loop_now_ns(handle->self.loop) + ROUND_MS * LS_NS_PER_MS);
    }
    leave_monitor(handle);
}

/* Its work begins when the caller leaves the handle. */
static ls_status start_thread(lockstep *handle, ls_text *why)
{
    if (!handle->self.settings.has_thread || !handle->self.loop) {
        return LS_OK;
    }
    handle->monitor = ls_monitor_create();
    if (!handle->monitor) {
        return LS_NO_MEMORY;
    }
    ls_event_loop_share(handle->self.loop, (ls_loop_handler){on_wait, handle},
                        (ls_loop_handler){on_waited, handle});
    handle->is_closing = false;
    handle->self.has_thread = true;
    ls_monitor_enter(handle->monitor);
    if (!ls_thread_start(&handle->thread, run, handle)) {
        handle->self.has_thread = false;
        ls_monitor_leave(handle->monitor);
        return ls_fail(LS_IO, why, "the system starts no thread");
    }
    return LS_OK;
}

static void sleep_ms(uint32_t time_ms)
{
    struct timespec rest = {.tv_sec = time_ms / 1000, .tv_nsec = time_ms % 1000 * 1000000L};
    (void)nanosleep(&rest, NULL);
}

/* ---- life ---- */

static bool init(lockstep *handle, int kind, const lockstep_game *game)
{
    memset(handle, 0, sizeof *handle);
    lockstep_settings_init(&handle->self.settings);
    if (game) {
        handle->self.game = *game;
        handle->self.has_game = true;
        handle->self.own = ls_own_game_simulation(&handle->self.game);
    }
    /* To a simulation by itself nothing happens. */
    return kind == LOCKSTEP_SIM || lockstep_event_queue_open(&handle->self.events);
}

lockstep *lockstep_create(int kind, const lockstep_game *game)
{
    lockstep_game read;
    if (kind < LOCKSTEP_CLIENT || kind > LOCKSTEP_SIM || (game && !ls_own_game_read(game, &read))) {
        return NULL;
    }
    lockstep *handle = take_block();
    if (!handle) {
        return NULL;
    }
    if (!init(handle, kind, game ? &read : NULL)) {
        lockstep_settings_deinit(&handle->self.settings);
        give_block(handle);
        return NULL;
    }
    atomic_store(&handle->kind, kind);
    return handle;
}

int lockstep_set(lockstep *handle, const char *name, const char *value)
{
    ls_text why = {{0}};
    if (!is_right(handle, CLIENT | HOST | SIM, false)) {
        return LS_BAD_ARGUMENT;
    }
    if (!name || !value) {
        return fail_null(handle, name ? "value" : "name");
    }
    if (handle->self.has_game && strcmp(name, "sim") == 0) {
        return refuse(handle, "\"sim\" is for a handle without a game of the caller's own");
    }
    if (!enter(handle)) {
        return LS_BAD_ARGUMENT;
    }
    ls_status status =
        lockstep_settings_set(&handle->self.settings, kind_of(handle), name, value, &why);
    int result = result_of(handle, status, &why);
    leave(handle);
    return result;
}

static void close_part(lockstep *handle)
{
    int kind = kind_of(handle);
    if (kind == LOCKSTEP_CLIENT) {
        lockstep_client_close(&handle->self);
    } else if (kind == LOCKSTEP_HOST) {
        lockstep_host_close(&handle->self);
    } else {
        lockstep_sim_close(&handle->self);
    }
}

static void stop_thread(lockstep *handle)
{
    if (handle->self.has_thread) {
        enter(handle);
        handle->is_closing = true;
        leave(handle);
        ls_thread_join(&handle->thread);
        handle->self.has_thread = false;
    }
    ls_monitor_destroy(handle->monitor);
    handle->monitor = NULL;
}

int lockstep_close(lockstep *handle)
{
    if (kind_of(handle) == 0) {
        return handle ? LS_BAD_ARGUMENT : LS_OK;
    }
    if (is_within(handle)) {
        busy = handle;
        return LS_BAD_ARGUMENT;
    }
    if (handle->monitor) {
        stop_thread(handle);
    }
    while (!take(handle)) {
        sleep_ms(1); /* until another thread's call has returned */
    }
    close_part(handle);
    lockstep_event_queue_close(&handle->self.events);
    lockstep_settings_deinit(&handle->self.settings);
    atomic_store(&handle->kind, 0);
    atomic_store(&handle->user, NULL);
    give_block(handle);
    return LS_OK;
}

/* ---- start and frame ---- */

/* Refuses a game of the caller's own that would differ from itself on another machine. One that
 * cannot be made with default settings is checked when it is made with those that were given. */
static ls_status check_game(lockstep *handle, ls_text *why)
{
    const ls_simulation *own = &handle->self.own;
    ls_status status = ls_own_game_check(&handle->self.game, why);
    if (status == LS_OK && kind_of(handle) != LOCKSTEP_SIM) {
        ls_match_config config = ls_match_config_default(own);
        ls_status trial = lockstep_trial(own, &config.sim, 0, why);
        status = trial == LS_DESYNCED ? trial : status;
    }
    return status;
}

int lockstep_start(lockstep *handle)
{
    ls_text why = {{0}};
    if (!is_right(handle, CLIENT | HOST | SIM, false) || !enter(handle)) {
        return LS_BAD_ARGUMENT;
    }
    int kind = kind_of(handle);
    ls_status status = handle->self.has_game ? check_game(handle, &why) : LS_OK;
    LS_THEN(status, kind == LOCKSTEP_CLIENT ? lockstep_client_open(&handle->self, &why)
                    : kind == LOCKSTEP_HOST ? lockstep_host_open(&handle->self, &why)
                                            : lockstep_sim_open(&handle->self, &why));
    LS_THEN(status, start_thread(handle, &why));
    if (status != LS_OK) {
        close_part(handle);
        ls_monitor_destroy(handle->monitor);
        handle->monitor = NULL;
    }
    handle->self.is_started = status == LS_OK;
    int result = result_of(handle, status, &why);
    leave(handle);
    return result;
}

/* Shows and steps what is due after up to time_ms. */
static int work(lockstep *handle, uint32_t time_ms, bool *has_event)
{
    ls_text why = {{0}};
    if (handle->self.has_thread && time_ms > 0) {
        sleep_ms(time_ms);
    }
    if (!enter(handle)) {
        return LS_BAD_ARGUMENT;
    }
    int result = kind_of(handle) == LOCKSTEP_CLIENT
                     ? lockstep_client_frame(&handle->self, time_ms, &why)
                     : lockstep_host_frame(&handle->self, time_ms);
    *has_event = handle->self.events.added != handle->added;
    handle->added = handle->self.events.added;
    result = result < 0 ? fail(handle, (ls_status)result, &why) : result;
    leave(handle);
    return result;
}

int lockstep_frame(lockstep *handle, uint32_t wait_ms)
{
    if (!is_right(handle, CLIENT | HOST, true)) {
        return LS_BAD_ARGUMENT;
    }
    bool has_event = false;
    int result = 1;
    uint32_t time_ms = 0;
    wait_ms = wait_ms > INT32_MAX ? 0 : wait_ms; /* less than none is left of the picture's time */
    do {
        time_ms = LS_MIN(wait_ms, ROUND_MS);
        wait_ms -= time_ms;
        result = work(handle, time_ms, &has_event);
    } while (result > 0 && wait_ms > 0 && !has_event);
    return result;
}

int lockstep_end(lockstep *handle, int saves)
{
    if (!is_right(handle, CLIENT | HOST, true) || !enter(handle)) {
        return LS_BAD_ARGUMENT;
    }
    ls_text why = {{0}};
    ls_status status = LS_OK;
    if (kind_of(handle) == LOCKSTEP_CLIENT) {
        lockstep_client_leave(&handle->self);
    } else {
        status = lockstep_host_end(&handle->self, saves != 0, &why);
    }
    int result = result_of(handle, status, &why);
    leave(handle);
    return result;
}

/* ---- what happens ---- */

int lockstep_poll(lockstep *handle, lockstep_event *event)
{
    if (kind_of(handle) == 0) {
        return LS_BAD_ARGUMENT;
    }
    if (!event) {
        return fail_null(handle, "event");
    }
    if (!is_size(handle, event->size, EVENT_BYTES_MIN, "lockstep_event") || !enter(handle)) {
        return LS_BAD_ARGUMENT;
    }
    lockstep_event taken;
    bool is_taken = lockstep_event_queue_take(&handle->self.events, &taken);
    leave(handle);
    if (is_taken) {
        fill(event, event->size, &taken, sizeof taken);
    }
    return is_taken ? 1 : 0;
}

int lockstep_get_info(lockstep *handle, lockstep_info *info)
{
    if (!is_right(handle, CLIENT | HOST | SIM, true)) {
        return LS_BAD_ARGUMENT;
    }
    if (!info) {
        return fail_null(handle, "info");
    }
    if (!is_size(handle, info->size, INFO_BYTES_MIN, "lockstep_info") || !enter(handle)) {
        return LS_BAD_ARGUMENT;
    }
    lockstep_info now = {.slot = LOCKSTEP_NO_SLOT, .sim = "", .invite = ""};
    if (kind_of(handle) == LOCKSTEP_CLIENT) {
        lockstep_client_info(&handle->self, &now);
    } else if (kind_of(handle) == LOCKSTEP_HOST) {
        lockstep_host_info(&handle->self, &now);
    } else {
        lockstep_sim_info(&handle->self, &now);
    }
    leave(handle);
    fill(info, info->size, &now, sizeof now);
    return LOCKSTEP_OK;
}

int lockstep_get_player(lockstep *handle, uint32_t slot, lockstep_player *player)
{
    if (!is_right(handle, CLIENT | HOST, true)) {
        return LS_BAD_ARGUMENT;
    }
    if (!player) {
        return fail_null(handle, "player");
    }
    if (!is_size(handle, player->size, PLAYER_BYTES_MIN, "lockstep_player") || !enter(handle)) {
        return LS_BAD_ARGUMENT;
    }
    lockstep_player now = {.name = ""};
    ls_status status = kind_of(handle) == LOCKSTEP_CLIENT
                           ? lockstep_client_player(&handle->self, slot, &now)
                           : lockstep_host_player(&handle->self, slot, &now);
    if (status == LS_OK) {
        fill(player, player->size, &now, sizeof now);
    } else {
        fail_with(handle, status, "there is no such slot, or not yet");
    }
    leave(handle);
    return status;
}

int lockstep_say(lockstep *handle, const char *text)
{
    if (!is_right(handle, CLIENT | HOST, true)) {
        return LS_BAD_ARGUMENT;
    }
    if (!text) {
        return fail_null(handle, "text");
    }
    if (!enter(handle)) {
        return LS_BAD_ARGUMENT;
    }
    ls_status status = kind_of(handle) == LOCKSTEP_CLIENT ? lockstep_client_say(&handle->self, text)
                                                          : lockstep_host_say(&handle->self, text);
    int result = result_of(handle, status, NULL);
    leave(handle);
    return result;
}

/* ---- client and host ---- */

int lockstep_input(lockstep *client, const void *bytes, uint32_t size, int once)
{
    ls_text why = {{0}};
    if (!is_right(client, CLIENT, true)) {
        return LS_BAD_ARGUMENT;
    }
    if (!bytes && size > 0) {
        return fail_null(client, "bytes");
    }
    if (!enter(client)) {
        return LS_BAD_ARGUMENT;
    }
    ls_status status = lockstep_client_input(&client->self, bytes, size, once != 0, &why);
    int result = result_of(client, status, &why);
    leave(client);
    return result;
}

int lockstep_draw(lockstep *client, lockstep_shape *shapes, size_t shape_bytes, uint32_t capacity)
{
    if (!is_right(client, CLIENT, true)) {
        return LS_BAD_ARGUMENT;
    }
    if (!shapes && capacity > 0) {
        return fail_null(client, "shapes");
    }
    if (shape_bytes != sizeof(lockstep_shape)) {
        return refuse(client, "shape_bytes is not sizeof(lockstep_shape) of this library");
    }
    if (!enter(client)) {
        return LS_BAD_ARGUMENT;
    }
    int count = lockstep_client_draw(&client->self, shapes, capacity);
    count = count < 0 ? fail(client, (ls_status)count, NULL) : count;
    leave(client);
    return count;
}

int lockstep_kick(lockstep *host, uint32_t slot, const char *why)
{
    if (!is_right(host, HOST, true) || !enter(host)) {
        return LS_BAD_ARGUMENT;
    }
    ls_status status = lockstep_host_kick(&host->self, slot, why ? why : "");
    if (status != LS_OK) {
        fail_with(host, status, "no player sits on this slot");
    }
    leave(host);
    return status;
}

int lockstep_pause(lockstep *host, int is_paused, const char *why)
{
    if (!is_right(host, HOST, true) || !enter(host)) {
        return LS_BAD_ARGUMENT;
    }
    ls_status status = lockstep_host_pause(&host->self, is_paused != 0, why ? why : "");
    if (status != LS_OK) {
        fail_with(host, status, "the match does not run, or is so already");
    }
    leave(host);
    return status;
}

/* ---- states ---- */

static ls_sim_instance *instance_of(lockstep *handle)
{
    return kind_of(handle) == LOCKSTEP_CLIENT ? lockstep_client_instance(&handle->self)
                                              : lockstep_sim_instance(&handle->self);
}

static ls_status sim_view(lockstep *sim, lockstep_view *view)
{
    ls_sim_instance *instance = lockstep_sim_instance(&sim->self);
    if (!ls_sim_instance_schema(instance)) {
        return LS_UNSUPPORTED;
    }
    view->state = view->previous = ls_sim_instance_view(instance);
    view->state_bytes = ls_sim_instance_state_bytes(instance);
    view->tick = ls_sim_instance_tick(instance);
    view->alpha = 1;
    return LS_OK;
}

int lockstep_get_view(lockstep *handle, lockstep_view *view)
{
    if (!is_right(handle, CLIENT | SIM, true)) {
        return LS_BAD_ARGUMENT;
    }
    if (!view) {
        return fail_null(handle, "view");
    }
    if (!is_size(handle, view->size, VIEW_BYTES_MIN, "lockstep_view") || !enter(handle)) {
        return LS_BAD_ARGUMENT;
    }
    lockstep_view now = {.size = sizeof now};
    ls_status status = kind_of(handle) == LOCKSTEP_CLIENT
                           ? lockstep_client_view(&handle->self, &now)
                           : sim_view(handle, &now);
    if (status == LS_OK) {
        fill(view, view->size, &now, sizeof now);
    } else if (status == LS_NOT_FOUND) {
        note_no_state(handle);
    } else {
        fail_with(handle, status, "this engine hides its state");
    }
    leave(handle);
    return status;
}

static const ls_field *find_field(const ls_schema *schema, const char *path, uint32_t number)
{
    uint32_t count = schema ? ls_schema_field_count(schema) : 0;
    for (uint32_t i = 0; path && i < count; i++) {
        if (strcmp(ls_schema_field(schema, i)->path, path) == 0) {
            return ls_schema_field(schema, i);
        }
    }
    return !path && number < count ? ls_schema_field(schema, number) : NULL;
}

int lockstep_find_field(lockstep *handle, const char *path, uint32_t number, lockstep_field *field)
{
    if (!is_right(handle, CLIENT | SIM, true)) {
        return LS_BAD_ARGUMENT;
    }
    if (!field) {
        return fail_null(handle, "field");
    }
    if (!enter(handle)) {
        return LS_BAD_ARGUMENT;
    }
    ls_sim_instance *instance = instance_of(handle);
    const ls_field *found =
        instance ? find_field(ls_sim_instance_schema(instance), path, number) : NULL;
    if (found) {
        *field = (lockstep_field){.path = found->path,
                                  .unit = found->unit,
                                  .type = (uint32_t)found->type,
                                  .length = found->length,
                                  .count = found->count,
                                  .offset = found->offset,
                                  .stride = found->count > 1 ? found->stride : 0};
    } else if (instance) {
        fail_with(handle, LS_NOT_FOUND, "there is no such field");
    } else {
        note_no_state(handle);
    }
    leave(handle);
    return found ? LOCKSTEP_OK : LOCKSTEP_NOT_FOUND;
}

uint64_t lockstep_hash(lockstep *handle)
{
    if (!is_right(handle, CLIENT | HOST | SIM, true) || !enter(handle)) {
        return 0;
    }
    bool is_host = kind_of(handle) == LOCKSTEP_HOST;
    ls_sim_instance *instance = is_host ? NULL : instance_of(handle);
    uint64_t hash = is_host    ? lockstep_host_hash(&handle->self)
                    : instance ? ls_sim_instance_hash(instance)
                               : 0;
    if (!is_host && !instance) {
        note_no_state(handle);
    }
    leave(handle);
    return hash;
}

/* ---- the simulation alone ---- */

/* Whether all can be stepped, so that none is where another is not. */
static int check_steps(lockstep *const *sims, size_t count, const void *inputs,
                       const uint32_t *sizes)
{
    for (size_t i = 0; i < count; i++) {
        if (!is_right(sims[i], SIM, true)) {
            return LS_BAD_ARGUMENT;
        }
        uint32_t slots = lockstep_sim_slots(&sims[i]->self);
        size_t bytes = lockstep_sim_input_bytes(&sims[i]->self);
        if (!inputs && bytes > 0) {
            return fail_null(sims[i], "inputs");
        }
        for (uint32_t slot = 0; sizes && slot < slots; slot++) {
            if (sizes[slot] > bytes / slots) {
                return refuse(sims[i], "a size is larger than this game's inputs are");
            }
        }
        sizes = sizes ? sizes + slots : NULL;
    }
    return LOCKSTEP_OK;
}

/* How many of the first ones are this call's now. */
static size_t enter_all(lockstep *const *sims, size_t count)
{
    size_t entered = 0;
    while (entered < count && enter(sims[entered])) {
        entered++;
    }
    return entered;
}

int lockstep_step(lockstep *const *sims, size_t count, const void *inputs, const uint32_t *sizes)
{
    int status = sims || count == 0 ? check_steps(sims, count, inputs, sizes) : LS_BAD_ARGUMENT;
    const uint8_t *bytes = inputs;
    size_t entered = status == LOCKSTEP_OK ? enter_all(sims, count) : 0;
    for (size_t i = 0; entered == count && i < count; i++) {
        lockstep_sim_step(&sims[i]->self, bytes, sizes);
        bytes = bytes ? bytes + lockstep_sim_input_bytes(&sims[i]->self) : NULL;
        sizes = sizes ? sizes + lockstep_sim_slots(&sims[i]->self) : NULL;
    }
    for (size_t i = 0; i < entered; i++) {
        leave(sims[i]);
    }
    return entered == count ? status : LS_BAD_ARGUMENT;
}

int64_t lockstep_save(lockstep *sim, void *bytes, size_t capacity)
{
    if (!is_right(sim, SIM, true) || !enter(sim)) {
        return LS_BAD_ARGUMENT;
    }
    ls_sim_instance *instance = lockstep_sim_instance(&sim->self);
    size_t size = ls_sim_instance_save_bytes(instance);
    ls_status status = size == 0 ? LS_UNSUPPORTED : LS_OK;
    if (size == 0) {
        fail_with(sim, status, "this engine cannot save its state");
    } else if (bytes && capacity >= size) {
        status = (ls_status)result_of(sim, ls_sim_instance_save(instance, bytes), NULL);
    }
    leave(sim);
    return status == LS_OK ? (int64_t)size : status;
}

int lockstep_load(lockstep *sim, const void *bytes, size_t size, uint32_t tick)
{
    if (!is_right(sim, SIM, true)) {
        return LS_BAD_ARGUMENT;
    }
    if (!bytes && size > 0) {
        return fail_null(sim, "bytes");
    }
    if (!enter(sim)) {
        return LS_BAD_ARGUMENT;
    }
    ls_sim_instance *instance = lockstep_sim_instance(&sim->self);
    ls_status status = bytes ? ls_sim_instance_load(instance, bytes, size, tick)
                             : ls_sim_instance_restart(instance);
    if (status != LS_OK) {
        fail_with(sim, status, "this is no save of this simulation");
    }
    leave(sim);
    return status;
}

int lockstep_check_steps(lockstep *sim, uint32_t ticks)
{
    if (!is_right(sim, SIM, true) || !enter(sim)) {
        return LS_BAD_ARGUMENT;
    }
    ls_text why = {{0}};
    const ls_sim_instance *instance = lockstep_sim_instance(&sim->self);
    ls_status status = lockstep_trial(ls_sim_instance_simulation(instance),
                                      ls_sim_instance_config(instance), ticks, &why);
    int result = result_of(sim, status, &why);
    leave(sim);
    return result;
}
