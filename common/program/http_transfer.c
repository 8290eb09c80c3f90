#include "lockstep/common/program/http_transfer.h"

#include "lockstep/common/base/allocator.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    CONNECT_TIMEOUT_MS = 5000,
    FIRST_CAPACITY = 4096,
};

static ls_status keep(ls_http_transfer *to, const char *bytes, size_t size)
{
    ls_http_got *got = &to->got;
    if (size > LS_HTTP_REPLY_BYTES_MAX - got->size) {
        return LS_FULL;
    }
    size_t capacity = to->capacity ? to->capacity : FIRST_CAPACITY;
    while (capacity < got->size + size + 1) {
        capacity *= 2;
    }
    if (capacity > to->capacity) {
        char *body = ls_allocate(ls_allocator_heap(), capacity);
        if (!body) {
            return LS_NO_MEMORY;
        }
        memcpy(body, got->body ? got->body : "", got->size);
        ls_release(ls_allocator_heap(), got->body);
        got->body = body;
        to->capacity = capacity;
    }
    memcpy(got->body + got->size, bytes, size);
    got->size += size;
    got->body[got->size] = '\0';
    return LS_OK;
}

static size_t receive_bytes(char *bytes, size_t one, size_t size, void *user)
{
    ls_http_transfer *to = user;
    long status = 0;
    (void)one;
    curl_easy_getinfo(to->curl, CURLINFO_RESPONSE_CODE, &status);
    bool is_handed_on = to->ask.receive && status == 200;
    to->status = is_handed_on ? to->ask.receive(to->ask.user, bytes, size) : keep(to, bytes, size);
    return to->status == LS_OK ? size : 0;
}

static bool add_header(ls_http_transfer *to, const char *header)
{
    struct curl_slist *headers = curl_slist_append(to->headers, header);
    to->headers = headers ? headers : to->headers;
    return headers != NULL;
}

static bool add_headers(ls_http_transfer *to)
{
    const ls_http_ask *ask = &to->ask;
    char line[1100];
    bool is_right = true;
    if (ask->token) {
        int size = snprintf(line, sizeof line, "Authorization: Bearer %s", ask->token);
        is_right = size > 0 && (size_t)size < sizeof line && add_header(to, line);
        memset(line, 0, sizeof line);
    }
    if (ask->header) {
        is_right = is_right && add_header(to, ask->header);
    }
    if (ask->body) {
        is_right = is_right && add_header(to, "Content-Type: application/json");
    }
    return is_right && add_header(to, "Expect:");
}

static void set_options(ls_http_transfer *to)
{
    const ls_http_ask *ask = &to->ask;
    CURL *curl = to->curl;
    curl_easy_setopt(curl, CURLOPT_URL, ask->url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, ask->method);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, to->headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive_bytes);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, to);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)ask->timeout_ms);
    if (ask->idle_timeout_s > 0) {
        curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)ask->idle_timeout_s);
    }
    if (ask->ca_file) {
        curl_easy_setopt(curl, CURLOPT_CAINFO, ask->ca_file);
    }
    if (ask->body) {
        curl_easy_setopt(curl, CURLOPT_COPYPOSTFIELDS, ask->body);
    }
}

static ls_status status_of(CURLcode code)
{
    switch (code) {
    case CURLE_OK:
        return LS_OK;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return LS_BAD_ARGUMENT;
    case CURLE_COULDNT_RESOLVE_HOST:
        return LS_NOT_FOUND;
    case CURLE_COULDNT_CONNECT:
        return LS_REFUSED;
    case CURLE_OPERATION_TIMEDOUT:
        return LS_TIMED_OUT;
    case CURLE_OUT_OF_MEMORY:
        return LS_NO_MEMORY;
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_PARTIAL_FILE:
        return LS_DISCONNECTED;
    default:
        return LS_IO;
    }
}

ls_status ls_http_transfer_open(ls_http_transfer *transfer, const ls_http_ask *ask)
{
    *transfer = (ls_http_transfer){.ask = *ask};
    if (curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK) {
        transfer->curl = curl_easy_init();
    }
    if (!transfer->curl || !add_headers(transfer)) {
        return LS_NO_MEMORY;
    }
    set_options(transfer);
    return LS_OK;
}

void ls_http_transfer_close(ls_http_transfer *transfer)
{
    curl_easy_cleanup(transfer->curl);
    curl_slist_free_all(transfer->headers);
    ls_http_got_deinit(&transfer->got);
    transfer->curl = NULL;
    transfer->headers = NULL;
}

ls_status ls_http_transfer_take(ls_http_transfer *transfer, CURLcode code, ls_http_got *out,
                                ls_text *why)
{
    const char *url = NULL;
    long status = 0;
    curl_easy_getinfo(transfer->curl, CURLINFO_EFFECTIVE_URL, &url);
    curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &status);
    if (transfer->status != LS_OK) {
        return ls_fail(transfer->status, why, "the answer of %s: %s", url,
                       ls_status_text(transfer->status));
    }
    if (code != CURLE_OK) {
        return ls_fail(status_of(code), why, "%s: %s", url, curl_easy_strerror(code));
    }
    transfer->got.status = (unsigned)status;
    *out = transfer->got;
    transfer->got = (ls_http_got){.status = 0};
    return LS_OK;
}

void ls_http_got_deinit(ls_http_got *got)
{
    ls_release(ls_allocator_heap(), got->body);
    memset(got, 0, sizeof *got);
}

ls_status ls_http_client_ask(const ls_http_ask *ask, ls_http_got *out, ls_text *why)
{
    ls_http_transfer transfer;
    ls_status status = ls_http_transfer_open(&transfer, ask);
    if (status == LS_OK) {
        status = ls_http_transfer_take(&transfer, curl_easy_perform(transfer.curl), out, why);
    } else {
        ls_text_set(why, "%s", ls_status_text(status));
    }
    ls_http_transfer_close(&transfer);
    return status;
}
