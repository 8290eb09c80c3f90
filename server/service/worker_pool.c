#include "lockstep/server/service/worker_pool.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/runtime/line_channel.h"
#include "lockstep/common/system/child_process.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/server/service/work_mark.h"

#include <inttypes.h>
#include <string.h>

enum {
    WATCH_MS = 1000,
    WATCH_CLOSELY_MS = 100, /* while a worker is to be started again or killed */
    HALTED_MS = 3000,       /* the alarm is so late: this process, or the machine, was halted */
    AGAIN_MS_MIN = 100,     /* until a worker is started again; doubled while it ends at once */
    AGAIN_MS_MAX = 5000,
    LASTED_MS = 10000, /* then it did not end at once */
};

typedef struct pool_worker {
    ls_worker_pool *pool;
    uint32_t number;
    ls_child_process process; /* none: it is to be started again */
    ls_loop_source *ending;
    ls_line_channel *channel; /* NULL: likewise, or it is broken */
    ls_work_mark *mark;
    bool is_broken; /* the channel is, and the worker is killed */
    bool is_ready;
    uint64_t started_ns;
    uint64_t heard_ns;
    uint64_t again_ns; /* when it is started again */
    uint32_t again_ms;
    ls_worker_report report;
} pool_worker;

struct ls_worker_pool {
    ls_worker_pool_config config;
    ls_loop_source *alarm;
    bool is_leaving;
    uint64_t watched_ns; /* when the alarm came last */
    pool_worker workers[LS_SERVICE_WORKERS_MAX];
    ls_worker_message message; /* working memory */
};

static uint64_t now_of(const ls_worker_pool *pool)
{
    return ls_event_loop_now_ns(pool->config.loop);
}

/* ---- what a worker says ---- */

static void receive_message(pool_worker *worker, const ls_worker_message *message)
{
    const ls_worker_pool_config *config = &worker->pool->config;
    if (message->kind == LS_WORKER_READY) {
        worker->is_ready = true;
        config->on_ready(config->user, worker->number);
    } else if (message->kind == LS_WORKER_LOAD) {
        uint32_t starts = worker->report.starts;
        worker->report = message->load;
        worker->report.worker = worker->number;
        worker->report.starts = starts;
        worker->report.pid = (uint32_t)worker->process.id;
    } else {
        config->on_message(config->user, worker->number, message);
    }
}

static void on_line(void *user, char *line, size_t size)
{
    pool_worker *worker = user;
    ls_worker_message *message = &worker->pool->message;
    worker->heard_ns = now_of(worker->pool);
    if (ls_worker_message_read(line, size, message) == LS_OK) {
        receive_message(worker, message);
        ls_worker_message_deinit(message);
    } else {
        ls_log_line(worker->pool->config.log, LS_LOG_ERROR,
                    "worker %" PRIu32 " said something that is not understood", worker->number);
    }
}

static void watch_in(const ls_worker_pool *pool, uint64_t ms)
{
    ls_loop_alarm_set(pool->alarm, now_of(pool) + ms * LS_NS_PER_MS);
}

/* The alarm destroys it, since a channel may not be destroyed within. */
static void on_broken(void *user)
{
    pool_worker *worker = user;
    worker->is_broken = true;
    watch_in(worker->pool, WATCH_CLOSELY_MS);
}

/* ---- starting ---- */

static void forget(pool_worker *worker)
{
    ls_line_channel_destroy(worker->channel);
    ls_loop_source_remove(worker->ending);
    ls_child_process_kill(&worker->process);
    worker->channel = NULL;
    worker->ending = NULL;
    worker->is_ready = false;
    worker->is_broken = false;
    worker->report.pid = 0;
}

static void on_end(void *user, uint64_t now_ns)
{
    pool_worker *worker = user;
    ls_worker_pool *pool = worker->pool;
    ls_child_process_end end;
    if (!ls_child_process_wait(&worker->process, 0, &end)) {
        return;
    }
    char room[LS_ROOM_NAME_BYTES_MAX];
    bool was_at_work = ls_work_mark_read(worker->mark, room);
    bool has_lasted = now_ns - worker->started_ns > LASTED_MS * LS_NS_PER_MS;
    worker->again_ms = has_lasted ? AGAIN_MS_MIN : LS_MIN(worker->again_ms * 2, AGAIN_MS_MAX);
    worker->again_ns = now_ns + worker->again_ms * LS_NS_PER_MS;
    if (!pool->is_leaving && end.signal != 0) {
        ls_log_line(pool->config.log, LS_LOG_ERROR,
                    "worker %" PRIu32 " was ended by signal %d: it is started again in %" PRIu32
                    " ms, and its rooms go on from their journals",
                    worker->number, end.signal, worker->again_ms);
    } else if (!pool->is_leaving) {
        ls_log_line(pool->config.log, LS_LOG_ERROR,
                    "worker %" PRIu32 " ended with exit code %" PRId64
                    ": it is started again in %" PRIu32 " ms",
                    worker->number, end.exit_code, worker->again_ms);
    }
    forget(worker);
    watch_in(pool, WATCH_CLOSELY_MS);
    pool->config.on_lost(pool->config.user, worker->number, was_at_work ? room : NULL);
}

static ls_status start_process(pool_worker *worker, int channel, ls_text *why)
{
    ls_work_mark_clear(worker->mark);
    const ls_worker_pool_config *config = &worker->pool->config;
    const char *const arguments[] = {config->program, "--worker", NULL};
    const ls_child_process_config process = {
        .program = LS_CHILD_THIS_PROGRAM, /* also when another one lies at its path by now */
        .arguments = arguments,
        .streams = {0, LS_CHILD_OUR_OUTPUT, LS_CHILD_OUR_ERRORS},
        .descriptors = {config->sockets[worker->number], channel,
                        ls_work_mark_descriptor(worker->mark), config->shared},
        .descriptor_count = 4,
        .has_large_pages = true}; /* each tick finds its room's memory in no cache */
    ls_status status = ls_child_process_start(&process, &worker->process, why);
    return status == LS_OK ? ls_event_loop_watch(config->loop, worker->process.ended,
                                                 (ls_loop_handler){on_end, worker}, &worker->ending)
                           : status;
}

/* Before all else, and again each time that it is started. */
static ls_status send_settings(pool_worker *worker)
{
    const ls_worker_pool_config *config = &worker->pool->config;
    ls_worker_settings settings = *config->settings;
    settings.worker = worker->number;
    settings.workers = config->workers;
    char *line = ls_worker_settings_write(&settings);
    bool is_sent = line && ls_line_channel_send(worker->channel, line, strlen(line));
    ls_json_release_line(line);
    return is_sent ? LS_OK : LS_NO_MEMORY;
}

static ls_status start(pool_worker *worker, ls_text *why)
{
    int sockets[2];
    if (ls_socket_pair(sockets) != LS_OK) {
        return ls_fail(LS_IO, why, "the system gives no sockets to talk to a worker");
    }
    const ls_line_channel_config channel = {
        .descriptor = sockets[0], .on_line = on_line, .on_broken = on_broken, .user = worker};
    ls_event_loop *loop = worker->pool->config.loop;
    ls_status status =
        ls_line_channel_create(&channel, loop, ls_allocator_heap(), &worker->channel);
    LS_THEN(status, send_settings(worker));
    LS_THEN(status, start_process(worker, sockets[1], why));
    ls_socket_close(sockets[1]);
    worker->started_ns = now_of(worker->pool);
    worker->heard_ns = worker->started_ns;
    worker->report.starts++;
    if (status != LS_OK) {
        forget(worker);
    }
    return status;
}

/* A worker that hangs, or that does not take what it is told, is of no use to its rooms. */
static void watch(pool_worker *worker, uint64_t now_ns)
{
    const ls_log *log = worker->pool->config.log;
    bool hangs = now_ns - worker->heard_ns > LS_WORKER_HANGS_MS * LS_NS_PER_MS;
    if (!worker->is_broken && !hangs) {
        return;
    }
    if (hangs) {
        ls_log_line(log, LS_LOG_ERROR,
                    "worker %" PRIu32 " has said nothing for %u ms: it is killed", worker->number,
                    LS_WORKER_HANGS_MS);
        worker->heard_ns = now_ns;
    }
    if (!worker->pool->is_leaving || hangs) {
        ls_child_process_strike(&worker->process);
    }
}

/* The pool has not read yet what workers said while this process was kept from running. */
static void leave_out_own_halt(ls_worker_pool *pool, uint64_t now_ns)
{
    uint64_t past_ns = now_ns - pool->watched_ns;
    uint64_t halted_ns = past_ns > HALTED_MS * LS_NS_PER_MS ? past_ns : 0;
    for (uint32_t i = 0; i < pool->config.workers; i++) {
        pool->workers[i].heard_ns = LS_MIN(pool->workers[i].heard_ns + halted_ns, now_ns);
    }
    pool->watched_ns = now_ns;
}

static void on_alarm(void *user, uint64_t now_ns)
{
    ls_worker_pool *pool = user;
    bool is_close = false;
    leave_out_own_halt(pool, now_ns);
    for (uint32_t i = 0; i < pool->config.workers; i++) {
        pool_worker *worker = &pool->workers[i];
        if (worker->process.id != 0) {
            watch(worker, now_ns);
        } else if (!pool->is_leaving && now_ns >= worker->again_ns) {
            ls_text why = {{0}};
            if (start(worker, &why) != LS_OK) {
                worker->again_ns = now_ns + AGAIN_MS_MAX * LS_NS_PER_MS;
                ls_log_line(pool->config.log, LS_LOG_ERROR, "%s", why.bytes);
            }
        }
        is_close = is_close || worker->process.id == 0 || worker->is_broken;
    }
    watch_in(pool, is_close ? WATCH_CLOSELY_MS : WATCH_MS);
}

/* ---- what a worker is told ---- */

static bool send_line(ls_worker_pool *pool, uint32_t worker, const char *line)
{
    ls_line_channel *channel = pool->workers[worker].channel;
    return channel && ls_line_channel_send(channel, line, strlen(line));
}

bool ls_worker_pool_send(ls_worker_pool *pool, uint32_t worker, const ls_worker_message *message)
{
    char *line = ls_worker_message_write(message);
    bool is_sent = line && send_line(pool, worker, line);
    ls_json_release_line(line);
    return is_sent;
}

void ls_worker_pool_send_all(ls_worker_pool *pool, const ls_worker_message *message)
{
    char *line = ls_worker_message_write(message);
    for (uint32_t i = 0; line && i < pool->config.workers; i++) {
        (void)send_line(pool, i, line);
    }
    ls_json_release_line(line);
}

void ls_worker_pool_leave(ls_worker_pool *pool)
{
    static const ls_worker_message leave = {.kind = LS_WORKER_LEAVE};
    pool->is_leaving = true;
    ls_worker_pool_send_all(pool, &leave);
}

/* ---- what is known ---- */

bool ls_worker_pool_is_started(const ls_worker_pool *pool, uint32_t worker)
{
    return pool->workers[worker].channel && !pool->workers[worker].is_broken;
}

bool ls_worker_pool_is_ready(const ls_worker_pool *pool, uint32_t worker)
{
    return pool->workers[worker].is_ready;
}

uint32_t ls_worker_pool_running(const ls_worker_pool *pool)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < pool->config.workers; i++) {
        count += pool->workers[i].process.id != 0 ? 1 : 0;
    }
    return count;
}

const ls_worker_report *ls_worker_pool_report(const ls_worker_pool *pool, uint32_t worker)
{
    return &pool->workers[worker].report;
}

/* ---- life ---- */

ls_status ls_worker_pool_create(const ls_worker_pool_config *config, ls_worker_pool **out,
                                ls_text *why)
{
    ls_worker_pool *pool = ls_allocate(ls_allocator_heap(), sizeof *pool);
    if (!pool) {
        return LS_NO_MEMORY;
    }
    pool->config = *config;
    pool->watched_ns = now_of(pool);
    ls_loop_handler alarm = {on_alarm, pool};
    ls_status status = ls_event_loop_add_alarm(config->loop, alarm, &pool->alarm);
    if (status == LS_OK) {
        watch_in(pool, WATCH_CLOSELY_MS);
    }
    for (uint32_t i = 0; status == LS_OK && i < config->workers; i++) {
        pool_worker *worker = &pool->workers[i];
        worker->pool = pool;
        worker->number = i;
        worker->report.worker = i;
        worker->again_ms = AGAIN_MS_MIN / 2;
        status = ls_work_mark_create(&worker->mark);
        LS_THEN(status, start(worker, why));
    }
    if (status != LS_OK) {
        ls_worker_pool_destroy(pool);
        return status;
    }
    *out = pool;
    return LS_OK;
}

void ls_worker_pool_destroy(ls_worker_pool *pool)
{
    if (!pool) {
        return;
    }
    ls_loop_source_remove(pool->alarm);
    for (uint32_t i = 0; i < pool->config.workers; i++) {
        forget(&pool->workers[i]);
        ls_work_mark_destroy(pool->workers[i].mark);
    }
    ls_release(ls_allocator_heap(), pool);
}
