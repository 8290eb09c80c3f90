#include "lockstep/server/control/agones.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/program/http_transfer.h"
#include "lockstep/common/program/key_file.h"
#include "lockstep/server/control/agones_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TURN_MS = 50,
    TIMEOUT_MS = 3000,          /* of one request */
    FAILURES_TOLD = 3,          /* in a row, before the log says so */
    FAILURES_LAST = 6,          /* in a row, before a goodbye is given up */
    LINE_BYTES_MAX = 256 << 10, /* of the stream: a game server with all its annotations */
    WATCH_AGAIN_MS = 1000,      /* after the stream has ended */
    URL_BYTES = 128,
};

/* Several requests at a time, on the event loop: none of them is waited for, no thread is made. */
typedef struct http_fetcher http_fetcher;

/* Status and sentence as those of ls_http_client_ask; `got` is good until the call returns. May
 * start another. */
typedef void (*http_fetched)(void *user, ls_status status, const ls_http_got *got,
                             const ls_text *why);

/* The one who is told what became of the room of a row. */
typedef struct opened_row {
    ls_agones *agones;
    uint32_t row;
} opened_row;

struct ls_agones {
    ls_agones_config config;
    opened_row opened[LS_AGONES_ROOMS_MAX];
    ls_agones_plan plan;
    http_fetcher *fetcher;
    ls_agones_request request;
    bool is_asking; /* the request is under way */
    ls_agones_opening opening;
    ls_text failure; /* of the request; empty: there was an answer */
    bool is_watching;
    uint64_t watch_again_ns;
    char *line; /* of the stream, so far */
    size_t line_size;
    bool is_absence_told;
    bool has_goodbye; /* it was tried */
};

ls_status ls_agones_find_port(uint16_t *port, ls_text *why)
{
    const char *text = getenv("AGONES_SDK_HTTP_PORT");
    *port = LS_AGONES_PORT;
    if (!text || text[0] == '\0') {
        return LS_OK;
    }
    char *end = NULL;
    unsigned long number = strtoul(text, &end, 10);
    if (*end != '\0' || number == 0 || number > UINT16_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why, "AGONES_SDK_HTTP_PORT is a port, not '%.32s'", text);
    }
    *port = (uint16_t)number;
    return LS_OK;
}

/* ---- the fetcher ---- */

/* One request that is under way. */
typedef struct http_fetch {
    http_fetcher *fetcher;
    struct http_fetch *previous, *next;
    ls_http_transfer transfer;
    http_fetched done;
    void *user;
} http_fetch;

/* libcurl names the sockets that it waits for, and looks itself what they are ready for. */
struct http_fetcher {
    ls_event_loop *loop;
    CURLM *multi;
    ls_loop_source *alarm;
    http_fetch *first;
};

typedef struct fetch_socket {
    http_fetcher *fetcher;
    curl_socket_t descriptor;
    ls_loop_source *watch;
} fetch_socket;

static void on_ready(void *user, uint64_t now_ns);

static fetch_socket *watch_socket(http_fetcher *fetcher, curl_socket_t descriptor)
{
    fetch_socket *made = ls_allocate(ls_allocator_heap(), sizeof *made);
    if (!made) {
        return NULL;
    }
    *made = (fetch_socket){.fetcher = fetcher, .descriptor = descriptor};
    const ls_loop_handler ready = {on_ready, made};
    if (ls_event_loop_watch(fetcher->loop, descriptor, ready, &made->watch) != LS_OK) {
        ls_release(ls_allocator_heap(), made);
        return NULL;
    }
    curl_multi_assign(fetcher->multi, descriptor, made);
    return made;
}

static int on_socket(CURL *curl, curl_socket_t descriptor, int what, void *user, void *known)
{
    fetch_socket *of = known;
    (void)curl;
    if (what == CURL_POLL_REMOVE) {
        ls_loop_source_remove(of ? of->watch : NULL);
        ls_release(ls_allocator_heap(), of);
        return 0;
    }
    of = of ? of : watch_socket(user, descriptor);
    if (!of) {
        return -1;
    }
    ls_loop_watch_for(of->watch, what != CURL_POLL_OUT, what != CURL_POLL_IN);
    return 0;
}

static int on_time(CURLM *multi, long wait_ms, void *user)
{
    const http_fetcher *fetcher = user;
    (void)multi;
    uint64_t due_ns = UINT64_MAX;
    if (wait_ms >= 0) {
        due_ns = ls_event_loop_now_ns(fetcher->loop) + (uint64_t)wait_ms * LS_NS_PER_MS;
    }
    ls_loop_alarm_set(fetcher->alarm, due_ns);
    return 0;
}

/* ---- the end of a fetch ---- */

static void forget(http_fetch *of)
{
    http_fetcher *fetcher = of->fetcher;
    if (of->transfer.curl) {
        curl_multi_remove_handle(fetcher->multi, of->transfer.curl);
    }
    if (of->previous) {
        of->previous->next = of->next;
    } else if (fetcher->first == of) {
        fetcher->first = of->next;
    }
    if (of->next) {
        of->next->previous = of->previous;
    }
    ls_http_transfer_close(&of->transfer);
    ls_release(ls_allocator_heap(), of);
}

static void end_fetch(http_fetch *of, CURLcode code)
{
    ls_http_got got = {.status = 0};
    ls_text why = {{0}};
    ls_status status = ls_http_transfer_take(&of->transfer, code, &got, &why);
    http_fetched done = of->done;
    void *user = of->user;
    forget(of);
    done(user, status, &got, &why);
    ls_http_got_deinit(&got);
}

static void end_those_that_are_done(http_fetcher *fetcher)
{
    int left = 0;
    const CURLMsg *message = curl_multi_info_read(fetcher->multi, &left);
    while (message) {
        CURLcode code = message->data.result;
        char *private = NULL;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
        end_fetch((http_fetch *)(void *)private, code);
        message = curl_multi_info_read(fetcher->multi, &left);
    }
}

/* ---- the loop's calls of the fetcher ---- */

static void act_on(http_fetcher *fetcher, curl_socket_t descriptor)
{
    int running = 0;
    curl_multi_socket_action(fetcher->multi, descriptor, 0, &running);
    end_those_that_are_done(fetcher);
}

static void on_ready(void *user, uint64_t now_ns)
{
    const fetch_socket *of = user;
    (void)now_ns;
    act_on(of->fetcher, of->descriptor);
}

static void on_alarm(void *user, uint64_t now_ns)
{
    (void)now_ns;
    act_on(user, CURL_SOCKET_TIMEOUT);
}

/* ---- the life of fetches ---- */

/* `done` is called once, later. The texts of the request are copied. NO_MEMORY. */
static ls_status start_fetch(http_fetcher *fetcher, const ls_http_ask *ask, http_fetched done,
                             void *user)
{
    http_fetch *of = ls_allocate(ls_allocator_heap(), sizeof *of);
    if (!of) {
        return LS_NO_MEMORY;
    }
    of->fetcher = fetcher;
    of->done = done;
    of->user = user;
    of->next = fetcher->first;
    if (of->next) {
        of->next->previous = of;
    }
    fetcher->first = of;
    ls_status status = ls_http_transfer_open(&of->transfer, ask);
    if (status == LS_OK) {
        curl_easy_setopt(of->transfer.curl, CURLOPT_PRIVATE, of);
        CURLMcode code = curl_multi_add_handle(fetcher->multi, of->transfer.curl);
        status = code == CURLM_OK ? LS_OK : LS_NO_MEMORY;
    }
    if (status != LS_OK) {
        forget(of);
        return status;
    }
    return LS_OK;
}

/* Ends what is under way, which nobody is told of. Not from within a call. NULL is allowed. */
static void destroy_fetcher(http_fetcher *fetcher)
{
    if (!fetcher) {
        return;
    }
    while (fetcher->first) {
        forget(fetcher->first);
    }
    curl_multi_cleanup(fetcher->multi);
    ls_loop_source_remove(fetcher->alarm);
    ls_release(ls_allocator_heap(), fetcher);
}

/* NO_MEMORY, IO. The loop must outlive it. */
static ls_status create_fetcher(ls_event_loop *loop, http_fetcher **out)
{
    http_fetcher *fetcher = ls_allocate(ls_allocator_heap(), sizeof *fetcher);
    if (!fetcher) {
        return LS_NO_MEMORY;
    }
    fetcher->loop = loop;
    const ls_loop_handler time = {on_alarm, fetcher};
    ls_status status = ls_event_loop_add_alarm(loop, time, &fetcher->alarm);
    if (status == LS_OK) {
        fetcher->multi = curl_multi_init();
        status = fetcher->multi ? LS_OK : LS_NO_MEMORY;
    }
    if (status != LS_OK) {
        destroy_fetcher(fetcher);
        return status;
    }
    curl_multi_setopt(fetcher->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(fetcher->multi, CURLMOPT_SOCKETDATA, fetcher);
    curl_multi_setopt(fetcher->multi, CURLMOPT_TIMERFUNCTION, on_time);
    curl_multi_setopt(fetcher->multi, CURLMOPT_TIMERDATA, fetcher);
    *out = fetcher;
    return LS_OK;
}

/* ---- an allocation ---- */

static void on_opened(void *user, const ls_service_result *result)
{
    const opened_row *of = user;
    ls_agones *agones = of->agones;
    ls_agones_plan_opened(&agones->plan, of->row, result);
    ls_log_line(agones->config.log, result->status == LS_OK ? LS_LOG_INFO : LS_LOG_ERROR,
                "Agones has allocated this server: %s%s",
                result->status == LS_OK ? "room " : "no room is opened: ", result->text.bytes);
}

/* Workers read the file before they open the room. */
static ls_status write_token_key(ls_agones *agones, ls_text *why)
{
    const ls_agones_opening *opening = &agones->opening;
    if (!opening->has_token_key) {
        return LS_OK;
    }
    if (!agones->config.token_key_path) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "the allocation brings a token key, and this server takes no tokens: its "
                       "configuration needs a token-key");
    }
    return ls_token_key_replace(agones->config.token_key_path, opening->token_key, why);
}

static void open_room(ls_agones *agones)
{
    const ls_service_view *view = agones->config.view;
    ls_service_result failed = {.status = LS_OK};
    failed.status = write_token_key(agones, &failed.text);
    ls_cipher_wipe(agones->opening.token_key, sizeof agones->opening.token_key);
    if (failed.status != LS_OK) {
        on_opened(&agones->opened[agones->opening.row], &failed);
        return;
    }
    ls_service_command command = {.kind = LS_SERVICE_OPEN_ROOM,
                                  .settings = agones->opening.settings};
    memcpy(command.room, agones->opening.name, sizeof command.room);
    view->command(view->user, &command, on_opened, &agones->opened[agones->opening.row]);
}

/* Once when it is away, and once when it is there. */
static void report_absence(ls_agones *agones)
{
    const ls_log *log = agones->config.log;
    if (agones->plan.failures >= FAILURES_TOLD && !agones->is_absence_told) {
        agones->is_absence_told = true;
        ls_log_line(log, LS_LOG_WARNING, "the sidecar of Agones does not take %s %s: %s",
                    agones->request.method, agones->request.path,
                    agones->failure.bytes[0] != '\0' ? agones->failure.bytes : "see its log");
    } else if (agones->plan.failures == 0 && agones->is_absence_told) {
        agones->is_absence_told = false;
        ls_log_line(log, LS_LOG_INFO, "the sidecar of Agones answers");
    }
}

/* Carries out the answer of the plan. */
static void act(ls_agones *agones, ls_status status, const ls_text *why)
{
    if (status != LS_OK) {
        ls_log_line(agones->config.log, LS_LOG_ERROR,
                    "Agones has allocated this server for a room that cannot be: %s", why->bytes);
    }
    if (agones->opening.has_room) {
        open_room(agones);
    }
}

/* ---- the stream of changes ---- */

static void receive_line(ls_agones *agones)
{
    ls_text why = {{0}};
    uint64_t now_ns = ls_event_loop_now_ns(agones->config.loop);
    ls_status status = ls_agones_plan_watch(&agones->plan, agones->line, agones->line_size, now_ns,
                                            &agones->opening, &why);
    agones->line_size = 0;
    act(agones, status, &why);
}

static ls_status receive_bytes(void *user, const char *bytes, size_t size)
{
    ls_agones *agones = user;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '\n') {
            receive_line(agones);
        } else if (agones->line_size == LINE_BYTES_MAX) {
            return LS_FULL;
        } else {
            agones->line[agones->line_size++] = bytes[i];
        }
    }
    return LS_OK;
}

static void on_watched(void *user, ls_status status, const ls_http_got *got, const ls_text *why)
{
    ls_agones *agones = user;
    (void)got;
    uint64_t now_ns = ls_event_loop_now_ns(agones->config.loop);
    agones->is_watching = false;
    agones->watch_again_ns = now_ns + WATCH_AGAIN_MS * LS_NS_PER_MS;
    ls_log_line(agones->config.log, LS_LOG_DEBUG, "the sidecar's stream has ended%s%s",
                status == LS_OK ? "" : ": ", why->bytes);
}

static void write_url(const ls_agones *agones, const char *path, char url[URL_BYTES])
{
    snprintf(url, URL_BYTES, "http://127.0.0.1:%u%s", (unsigned)agones->config.port, path);
}

/* Once the sidecar is there. */
static void watch(ls_agones *agones, uint64_t now_ns)
{
    char url[URL_BYTES];
    if (agones->is_watching || !agones->plan.has_begun || agones->plan.failures > 0 ||
        agones->plan.is_shutdown_told || now_ns < agones->watch_again_ns) {
        return;
    }
    write_url(agones, "/watch/gameserver", url);
    const ls_http_ask ask = {.method = "GET", .url = url, .receive = receive_bytes, .user = agones};
    agones->line_size = 0;
    agones->is_watching = start_fetch(agones->fetcher, &ask, on_watched, agones) == LS_OK;
}

/* ---- requests ---- */

static void report_fleet_lacks(const ls_agones *agones, bool had_no_counter, bool had_no_list)
{
    if (agones->plan.has_no_counter && !had_no_counter) {
        ls_log_line(agones->config.log, LS_LOG_INFO, "the fleet has no counter 'rooms'");
    }
    if (agones->plan.has_no_list && !had_no_list) {
        ls_log_line(agones->config.log, LS_LOG_INFO, "the fleet has no list 'players'");
    }
}

static void on_answered(void *user, ls_status status, const ls_http_got *got,
                        const ls_text *failure)
{
    ls_agones *agones = user;
    ls_text why = {{0}};
    bool had_no_counter = agones->plan.has_no_counter;
    bool had_no_list = agones->plan.has_no_list;
    uint64_t now_ns = ls_event_loop_now_ns(agones->config.loop);
    agones->is_asking = false;
    agones->failure = *failure;
    unsigned answer = status == LS_OK ? got->status : 0;
    status = ls_agones_plan_reply(&agones->plan, &agones->request, answer, got->body, got->size,
                                  now_ns, &agones->opening, &why);
    report_absence(agones);
    act(agones, status, &why);
    report_fleet_lacks(agones, had_no_counter, had_no_list);
    if (agones->request.step == LS_AGONES_SHUTDOWN) {
        agones->has_goodbye =
            agones->plan.is_shutdown_told || agones->plan.failures >= FAILURES_LAST;
    }
}

static void ask(ls_agones *agones)
{
    const ls_agones_request *request = &agones->request;
    char url[URL_BYTES];
    write_url(agones, request->path, url);
    const ls_http_ask ask = {.method = request->method,
                             .url = url,
                             .body = request->body[0] != '\0' ? request->body : NULL,
                             .timeout_ms = TIMEOUT_MS};
    agones->is_asking = start_fetch(agones->fetcher, &ask, on_answered, agones) == LS_OK;
}

static void on_turn(void *user, uint64_t now_ns)
{
    ls_agones *agones = user;
    if (!agones->is_asking) {
        ls_agones_plan_next(&agones->plan, agones->config.view, now_ns, &agones->request);
        if (agones->request.step != LS_AGONES_NOTHING) {
            ask(agones);
        }
    }
    watch(agones, now_ns);
}

bool ls_agones_has_said_goodbye(const ls_agones *agones)
{
    return agones->has_goodbye;
}

ls_status ls_agones_create(const ls_agones_config *config, ls_agones **out)
{
    ls_agones *agones = ls_allocate(ls_allocator_heap(), sizeof *agones);
    if (!agones) {
        return LS_NO_MEMORY;
    }
    agones->config = *config;
    agones->plan.join_timeout_s = config->join_timeout_s;
    for (uint32_t i = 0; i < LS_AGONES_ROOMS_MAX; i++) {
        agones->opened[i] = (opened_row){agones, i};
    }
    agones->line = ls_allocate(ls_allocator_heap(), LINE_BYTES_MAX);
    ls_status status = agones->line ? LS_OK : LS_NO_MEMORY;
    LS_THEN(status, create_fetcher(config->loop, &agones->fetcher));
    if (status == LS_OK) {
        status = ls_event_loop_add_timer(config->loop, TURN_MS, (ls_loop_handler){on_turn, agones},
                                         NULL);
    }
    if (status != LS_OK) {
        ls_agones_destroy(agones);
        return status;
    }
    *out = agones;
    return LS_OK;
}

void ls_agones_destroy(ls_agones *agones)
{
    if (agones) {
        destroy_fetcher(agones->fetcher);
        ls_release(ls_allocator_heap(), agones->line);
        ls_release(ls_allocator_heap(), agones);
    }
}
