#include "lockstep/server/control/http_guard.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/system/endpoint_text.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#define GAP_MAX ((uintptr_t)1 << 14) /* of parts of one head */
#define LINE_PERIOD_NS (60 * LS_NS_PER_SECOND)

/* ---- hosts ---- */

static bool is_word(const char *text, size_t size, const char *word, size_t word_size)
{
    return size == word_size && strncasecmp(text, word, size) == 0;
}

static bool is_named(const char *host, size_t size, const char *names)
{
    static const char parts[] = ", \t";
    for (names += strspn(names, parts); *names; names += strspn(names, parts)) {
        size_t name_size = strcspn(names, parts);
        if (is_word(host, size, names, name_size)) {
            return true;
        }
        names += name_size;
    }
    return false;
}

/* No name of the DNS is of this form: its last part is no number, and it has no colon. */
static bool is_address(const char *host, size_t size)
{
    if (host[0] == '[') {
        return size > 2 && host[size - 1] == ']' &&
               strspn(host + 1, "0123456789abcdefABCDEF:.") == size - 2;
    }
    uint32_t dots = 0;
    for (size_t i = 0; i < size; i++) {
        dots += host[i] == '.';
    }
    return dots == 3 && strspn(host, "0123456789.") >= size && host[size - 1] != '.';
}

bool ls_http_host_is_known(const char *host, const char *names)
{
    size_t size = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    if (size == 0 || size > strlen(host)) {
        return false;
    }
    const char *port = host + size;
    if (*port == ':' ? port[1 + strspn(port + 1, "0123456789")] != '\0' : *port != '\0') {
        return false;
    }
    static const char local[] = "localhost";
    return is_address(host, size) || is_word(host, size, local, sizeof local - 1) ||
           is_named(host, size, names ? names : "");
}

/* ---- heads ---- */

static bool is_gap_odd(const char *end, const char *next, uintptr_t right)
{
    uintptr_t gap = (uintptr_t)next - (uintptr_t)end;
    return gap != right && gap <= GAP_MAX;
}

/* A target that names a host would count before the Host header. */
ls_http_head ls_http_head_of(const char *target)
{
    return (ls_http_head){.target = target,
                          .end = target + strlen(target),
                          .is_odd = target[0] != '/' || target[strcspn(target, "%?")] == '%' ||
                                    strstr(target, "%00") || strchr(target, '\r')};
}

void ls_http_head_begin(ls_http_head *head, const char *method, const char *version)
{
    head->is_odd |=
        is_gap_odd(method + strlen(method), head->target, 1) || is_gap_odd(head->end, version, 1);
    head->is_old = strcmp(version, "HTTP/1.0") == 0;
    head->end = version + strlen(version);
}

/* Headers of which one reader takes the first and another one the last: all that we read. */
static uint32_t bit_of(const char *name)
{
    static const char *const single[] = {
        "Host",          "Authorization",     "Content-Type",  "Last-Event-ID",
        "Origin",        "Sec-WebSocket-Key", "If-None-Match", "Sec-WebSocket-Version",
        "Content-Length"};
    for (uint32_t i = 0; i < sizeof single / sizeof single[0]; i++) {
        if (strcasecmp(name, single[i]) == 0) {
            return 1u << i;
        }
    }
    return 0;
}

/* No body of ours is compressed: a proxy that unpacks one sees another request. */
void ls_http_head_add(ls_http_head *head, const char *name, size_t name_size, const char *value,
                      size_t value_size)
{
    uint32_t bit = bit_of(name);
    head->lengths += strcasecmp(name, "Content-Length") == 0;
    head->encodings += strcasecmp(name, "Transfer-Encoding") == 0;
    head->is_odd |= is_gap_odd(head->end, name, 2) || strcspn(name, " \t\r") != name_size ||
                    strcspn(value, "\r") != value_size || (head->seen & bit) != 0 ||
                    strcasecmp(name, "Content-Encoding") == 0;
    head->seen |= bit;
    head->end = value + value_size;
}

bool ls_http_head_is_ambiguous(const ls_http_head *head, const char *end)
{
    return head->is_odd || is_gap_odd(head->end, end, 4) || head->lengths + head->encodings > 1 ||
           (head->is_old && head->encodings > 0);
}

/* ---- wrong tokens ---- */

static const ls_rate_limit WRONG_LIMIT = {.period_ns = LS_NS_PER_SECOND, .at_once = 10};

bool ls_http_guard_count(ls_http_guard *guard, const ls_endpoint *address, uint64_t now_ns)
{
    uint64_t origin = ls_endpoint_origin(address);
    uint32_t at = 0;
    for (uint32_t i = 0; i < LS_HTTP_GUARD_ADDRESSES && guard->addresses[at].origin != origin;
         i++) {
        bool is_older =
            guard->addresses[i].use.spent_until_ns < guard->addresses[at].use.spent_until_ns;
        at = is_older || guard->addresses[i].origin == origin ? i : at;
    }
    if (guard->addresses[at].origin != origin) {
        guard->addresses[at].origin = origin;
        guard->addresses[at].use = (ls_rate_use){0};
    }
    guard->count++;
    guard->last = *address;
    return ls_rate_use_spend(&guard->addresses[at].use, &WRONG_LIMIT, now_ns);
}

void ls_http_guard_log(ls_http_guard *guard, const ls_log *log, uint64_t now_ns)
{
    if (guard->count == 0 || !log ||
        (guard->line_ns > 0 && now_ns - guard->line_ns < LINE_PERIOD_NS)) {
        return;
    }
    char last[LS_ENDPOINT_NUMERIC_BYTES];
    ls_endpoint_format(&guard->last, last);
    ls_log_line(log, LS_LOG_WARNING, "HTTP: %" PRIu64 " wrong tokens, the last one from %s",
                guard->count, last);
    guard->count = 0;
    guard->line_ns = now_ns;
}
