#define _GNU_SOURCE
#include "lockstep/server/service/http_fetcher.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/program/http_transfer.h"

#include <sys/epoll.h>
#include <unistd.h>

enum {
    EVENTS_MAX = 16, /* at a time */
};

/* One request that is under way. */
typedef struct fetch {
    ls_http_fetcher *fetcher;
    struct fetch *previous, *next;
    ls_http_transfer transfer;
    ls_http_fetched done;
    void *user;
} fetch;

/* libcurl names the sockets that it waits for. They are in an epoll of their own, which the loop
 * sees as one descriptor that can be read when any of them is ready. */
struct ls_http_fetcher {
    ls_event_loop *loop;
    CURLM *multi;
    int sockets; /* the epoll; -1: there is none */
    ls_loop_source *watch, *alarm;
    fetch *first;
};

static int on_socket(CURL *curl, curl_socket_t descriptor, int what, void *user, void *known)
{
    static const int whats[] = {[CURL_POLL_IN] = EPOLLIN,
                                [CURL_POLL_OUT] = EPOLLOUT,
                                [CURL_POLL_INOUT] = EPOLLIN | EPOLLOUT};
    ls_http_fetcher *fetcher = user;
    (void)curl;
    if (what == CURL_POLL_REMOVE) {
        (void)epoll_ctl(fetcher->sockets, EPOLL_CTL_DEL, descriptor, NULL);
        return 0;
    }
    struct epoll_event event = {.events = (uint32_t)whats[what], .data = {.fd = descriptor}};
    if (epoll_ctl(fetcher->sockets, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, descriptor, &event) !=
        0) {
        return -1;
    }
    curl_multi_assign(fetcher->multi, descriptor, fetcher);
    return 0;
}

static int on_time(CURLM *multi, long wait_ms, void *user)
{
    const ls_http_fetcher *fetcher = user;
    (void)multi;
    uint64_t due_ns = UINT64_MAX;
    if (wait_ms >= 0) {
        due_ns = ls_event_loop_now_ns(fetcher->loop) + (uint64_t)wait_ms * LS_NS_PER_MS;
    }
    ls_loop_alarm_set(fetcher->alarm, due_ns);
    return 0;
}

/* ---- the end of a request ---- */

static void forget(fetch *of)
{
    ls_http_fetcher *fetcher = of->fetcher;
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

static void end(fetch *of, CURLcode code)
{
    ls_http_got got = {.status = 0};
    ls_text why = {{0}};
    ls_status status = ls_http_transfer_take(&of->transfer, code, &got, &why);
    ls_http_fetched done = of->done;
    void *user = of->user;
    forget(of);
    done(user, status, &got, &why);
    ls_http_got_deinit(&got);
}

static void end_those_that_are_done(ls_http_fetcher *fetcher)
{
    int left = 0;
    const CURLMsg *message = curl_multi_info_read(fetcher->multi, &left);
    while (message) {
        CURLcode code = message->data.result;
        char *private = NULL;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
        end((fetch *)(void *)private, code);
        message = curl_multi_info_read(fetcher->multi, &left);
    }
}

/* ---- the loop's calls ---- */

static void on_ready(void *user, uint64_t now_ns)
{
    ls_http_fetcher *fetcher = user;
    struct epoll_event events[EVENTS_MAX];
    int running = 0;
    (void)now_ns;
    int count = epoll_wait(fetcher->sockets, events, EVENTS_MAX, 0);
    for (int i = 0; i < count; i++) {
        int mask = (events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                   (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                   (events[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
        curl_multi_socket_action(fetcher->multi, events[i].data.fd, mask, &running);
    }
    end_those_that_are_done(fetcher);
}

static void on_alarm(void *user, uint64_t now_ns)
{
    ls_http_fetcher *fetcher = user;
    int running = 0;
    (void)now_ns;
    curl_multi_socket_action(fetcher->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    end_those_that_are_done(fetcher);
}

/* ---- requests ---- */

ls_status ls_http_fetcher_start(ls_http_fetcher *fetcher, const ls_http_ask *ask,
                                ls_http_fetched done, void *user)
{
    fetch *of = ls_allocate(ls_allocator_heap(), sizeof *of);
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

ls_status ls_http_fetcher_create(ls_event_loop *loop, ls_http_fetcher **out)
{
    ls_http_fetcher *fetcher = ls_allocate(ls_allocator_heap(), sizeof *fetcher);
    if (!fetcher) {
        return LS_NO_MEMORY;
    }
    fetcher->loop = loop;
    fetcher->sockets = epoll_create1(EPOLL_CLOEXEC);
    ls_status status = fetcher->sockets >= 0 ? LS_OK : LS_IO;
    if (status == LS_OK) {
        const ls_loop_handler ready = {on_ready, fetcher};
        status = ls_event_loop_watch(loop, fetcher->sockets, ready, &fetcher->watch);
    }
    if (status == LS_OK) {
        const ls_loop_handler time = {on_alarm, fetcher};
        status = ls_event_loop_add_alarm(loop, time, &fetcher->alarm);
    }
    if (status == LS_OK) {
        fetcher->multi = curl_multi_init();
        status = fetcher->multi ? LS_OK : LS_NO_MEMORY;
    }
    if (status != LS_OK) {
        ls_http_fetcher_destroy(fetcher);
        return status;
    }
    curl_multi_setopt(fetcher->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(fetcher->multi, CURLMOPT_SOCKETDATA, fetcher);
    curl_multi_setopt(fetcher->multi, CURLMOPT_TIMERFUNCTION, on_time);
    curl_multi_setopt(fetcher->multi, CURLMOPT_TIMERDATA, fetcher);
    *out = fetcher;
    return LS_OK;
}

void ls_http_fetcher_destroy(ls_http_fetcher *fetcher)
{
    if (!fetcher) {
        return;
    }
    while (fetcher->first) {
        forget(fetcher->first);
    }
    curl_multi_cleanup(fetcher->multi);
    ls_loop_source_remove(fetcher->alarm);
    ls_loop_source_remove(fetcher->watch);
    if (fetcher->sockets >= 0) {
        close(fetcher->sockets);
    }
    ls_release(ls_allocator_heap(), fetcher);
}
