#include "lockstep/tools/replay/broadcast_reader.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/program/http_transfer.h"
#include "lockstep/tools/replay/broadcast_index.h"
#include "lockstep/tools/replay/playback.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    URL_BYTES_MAX = 1024,
    AGAIN_MS = 1000,
    REQUEST_MS = 20000,
    SILENT_MAX = 60, /* requests that may fail, one after the other */
};

#define BYTES_MAX ((size_t)1 << 30) /* of all that is kept */

/* Bytes that grow. */
typedef struct bytes_kept {
    uint8_t *bytes;
    size_t size;
} bytes_kept;

struct replay_broadcast {
    char url[URL_BYTES_MAX]; /* of the match */
    replay_playback *playback;
    bytes_kept journal; /* that the playback has */
    uint32_t next;      /* segment to fetch */
    bool is_over;
    uint32_t failures; /* one after the other */
    ls_status status;
    ls_text why;

    /* The job's own while it runs. */
    bytes_kept fetched;
    replay_broadcast_index index;
    ls_status fetch_status;
    ls_text fetch_why;

    const ls_log *log;
    ls_loop_job *job;
    ls_loop_source *timer;
    ls_loop_handler more;
};

bool replay_broadcast_is(const char *path)
{
    return strncmp(path, "http://", 7) == 0 || strncmp(path, "https://", 8) == 0;
}

/* ---- requests ---- */

static ls_status get(const char *url, ls_http_got *out, ls_text *why)
{
    const ls_http_ask ask = {.method = "GET", .url = url, .timeout_ms = REQUEST_MS};
    ls_status status = ls_http_client_ask(&ask, out, why);
    if (status == LS_OK && out->status == 404) {
        status = ls_fail(LS_NOT_FOUND, why,
                         "%s: there is no such broadcast, or nothing of it can "
                         "be seen yet",
                         url);
    } else if (status == LS_OK && (out->status != 200 || !out->body)) {
        status = ls_fail(LS_IO, why, "%s: the answer has status %u", url, out->status);
    }
    if (status != LS_OK) {
        ls_http_got_deinit(out);
    }
    return status;
}

static ls_status get_index(const char *url, replay_broadcast_index *out, ls_text *why)
{
    ls_http_got got = {0};
    ls_status status = get(url, &got, why);
    if (status != LS_OK) {
        return status;
    }
    status = replay_broadcast_index_read(got.body, got.size, out);
    ls_http_got_deinit(&got);
    if (status != LS_OK) {
        ls_text_set(why, "%s: %s", url,
                    status == LS_NOT_FOUND ? "no match can be seen yet" : "this is no broadcast");
    }
    return status;
}

static ls_status add_bytes(bytes_kept *to, const void *bytes, size_t size)
{
    uint8_t *grown =
        size <= BYTES_MAX - to->size ? ls_allocate(ls_allocator_heap(), to->size + size) : NULL;
    if (!grown) {
        return LS_NO_MEMORY;
    }
    memcpy(grown, to->size > 0 ? (const void *)to->bytes : "", to->size);
    memcpy(grown + to->size, bytes, size);
    ls_release(ls_allocator_heap(), to->bytes);
    *to = (bytes_kept){grown, to->size + size};
    return LS_OK;
}

/* Each segment is a journal; of all but the first that is kept the records alone are. */
static ls_status get_segment(replay_broadcast *broadcast, uint32_t number, bool is_first,
                             ls_text *why)
{
    char url[URL_BYTES_MAX + 16];
    ls_http_got got = {0};
    snprintf(url, sizeof url, "%s/%" PRIu32, broadcast->url, number);
    ls_status status = get(url, &got, why);
    if (status != LS_OK) {
        return status;
    }
    size_t head = replay_broadcast_segment_head((const uint8_t *)got.body, got.size);
    size_t skipped = is_first ? 0 : head;
    status = head == 0 ? ls_fail(LS_MALFORMED, why, "%s: this is no segment of a broadcast", url)
             : got.size > skipped
                 ? add_bytes(&broadcast->fetched, got.body + skipped, got.size - skipped)
                 : LS_OK;
    ls_http_got_deinit(&got);
    return status;
}

/* All that can be seen and has not been fetched. */
static ls_status fetch(replay_broadcast *broadcast, ls_text *why)
{
    ls_status status = get_index(broadcast->url, &broadcast->index, why);
    while (status == LS_OK && broadcast->next < broadcast->index.segments) {
        bool is_first = broadcast->journal.size + broadcast->fetched.size == 0;
        status = get_segment(broadcast, broadcast->next, is_first, why);
        broadcast->next += status == LS_OK;
    }
    return status;
}

/* ---- opening ---- */

static bool names_match(const char *url)
{
    const char *last = strrchr(url, '/');
    return last && replay_broadcast_is_id(last + 1);
}

static ls_status find_match(replay_broadcast *broadcast, const char *url, ls_text *why)
{
    replay_broadcast_index found;
    int size = (int)strlen(url);
    while (size > 0 && url[size - 1] == '/') {
        size--;
    }
    int written = snprintf(broadcast->url, sizeof broadcast->url, "%.*s", size, url);
    ls_status status = written >= (int)sizeof broadcast->url - 32
                           ? ls_fail(LS_BAD_ARGUMENT, why, "this URL is too long")
                           : get_index(broadcast->url, &found, why);
    if (status == LS_OK && !names_match(broadcast->url)) {
        snprintf(broadcast->url + written, sizeof broadcast->url - (size_t)written, "/%s",
                 found.match);
    }
    return status;
}

static ls_status open_first(replay_broadcast *broadcast, bool from_start, ls_text *why)
{
    ls_status status = get_index(broadcast->url, &broadcast->index, why);
    broadcast->next = from_start ? 0 : broadcast->index.key;
    LS_THEN(status, fetch(broadcast, why));
    if (status != LS_OK) {
        return status;
    }
    broadcast->journal = broadcast->fetched;
    broadcast->fetched = (bytes_kept){0};
    broadcast->is_over = broadcast->index.is_over;
    return replay_playback_read(broadcast->journal.bytes, broadcast->journal.size,
                                LS_JOURNAL_CHECK_ALL, broadcast->playback, why);
}

ls_status replay_broadcast_open(const char *url, bool from_start, replay_playback *playback,
                                replay_broadcast **out, ls_text *why)
{
    replay_broadcast *made = ls_allocate(ls_allocator_heap(), sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    made->playback = playback;
    ls_status status = find_match(made, url, why);
    LS_THEN(status, open_first(made, from_start, why));
    if (status != LS_OK) {
        replay_broadcast_close(made);
        return status;
    }
    *out = made;
    return LS_OK;
}

void replay_broadcast_close(replay_broadcast *broadcast)
{
    if (broadcast) {
        ls_release(ls_allocator_heap(), broadcast->journal.bytes);
        ls_release(ls_allocator_heap(), broadcast->fetched.bytes);
        ls_release(ls_allocator_heap(), broadcast);
    }
}

/* ---- following ---- */

static void work(void *user)
{
    replay_broadcast *broadcast = user;
    broadcast->fetch_why.bytes[0] = '\0';
    broadcast->fetch_status = fetch(broadcast, &broadcast->fetch_why);
}

/* The playback reads the longer journal before the shorter one goes. */
static ls_status take_fetched(replay_broadcast *broadcast)
{
    bytes_kept grown = {0};
    bytes_kept *fetched = &broadcast->fetched;
    ls_status status = add_bytes(&grown, broadcast->journal.bytes, broadcast->journal.size);
    LS_THEN(status, add_bytes(&grown, fetched->bytes, fetched->size));
    LS_THEN(status,
            replay_playback_read_on(broadcast->playback, grown.bytes, grown.size, &broadcast->why));
    if (status != LS_OK) {
        ls_release(ls_allocator_heap(), grown.bytes);
        return status;
    }
    ls_release(ls_allocator_heap(), broadcast->journal.bytes);
    ls_release(ls_allocator_heap(), fetched->bytes);
    broadcast->journal = grown;
    *fetched = (bytes_kept){0};
    return LS_OK;
}

static void note_failure(replay_broadcast *broadcast)
{
    if (broadcast->failures++ == 0) {
        ls_log_line(broadcast->log, LS_LOG_WARNING, "%s: trying again",
                    broadcast->fetch_why.bytes[0] ? broadcast->fetch_why.bytes
                                                  : ls_status_text(broadcast->fetch_status));
    }
    if (broadcast->failures >= SILENT_MAX) {
        broadcast->is_over = true;
        broadcast->status = broadcast->fetch_status;
        broadcast->why = broadcast->fetch_why;
    }
}

static void on_fetched(void *user, uint64_t now_ns)
{
    replay_broadcast *broadcast = user;
    bool has_more = broadcast->fetched.size > 0;
    ls_status status = has_more ? take_fetched(broadcast) : LS_OK;
    if (status != LS_OK) {
        broadcast->status = status;
        broadcast->is_over = true;
    } else if (broadcast->fetch_status != LS_OK) {
        note_failure(broadcast);
    } else {
        broadcast->failures = 0;
        broadcast->is_over = broadcast->index.is_over;
    }
    if (has_more || broadcast->is_over) {
        broadcast->more.call(broadcast->more.user, now_ns);
    }
}

static void on_timer(void *user, uint64_t now_ns)
{
    replay_broadcast *broadcast = user;
    (void)now_ns;
    if (!broadcast->is_over && !ls_loop_job_is_running(broadcast->job)) {
        ls_loop_job_start(broadcast->job);
    }
}

ls_status replay_broadcast_follow(replay_broadcast *broadcast, ls_event_loop *loop,
                                  const ls_log *log, ls_loop_handler more)
{
    broadcast->log = log;
    broadcast->more = more;
    ls_status status =
        ls_loop_job_create(loop, work, (ls_loop_handler){on_fetched, broadcast}, &broadcast->job);
    LS_THEN(status, ls_event_loop_add_timer(loop, AGAIN_MS, (ls_loop_handler){on_timer, broadcast},
                                            &broadcast->timer));
    return status;
}

void replay_broadcast_leave(replay_broadcast *broadcast)
{
    ls_loop_source_remove(broadcast->timer);
    ls_loop_job_destroy(broadcast->job);
    broadcast->timer = NULL;
    broadcast->job = NULL;
}

bool replay_broadcast_is_over(const replay_broadcast *broadcast)
{
    return broadcast->is_over;
}

ls_status replay_broadcast_status(const replay_broadcast *broadcast, ls_text *why)
{
    if (broadcast->status != LS_OK) {
        *why = broadcast->why;
    }
    return broadcast->status;
}
