#include "lockstep/server/service/http_routes.h"

#include "lockstep/server/service/http_metrics.h"

#include <string.h>

/* dashboard.html, and what it loads */
extern const char ls_http_dashboard_page[], ls_http_dashboard_script[], ls_http_dashboard_style[];

/* Nothing but our own files, and no script or style within the page. */
static const char dashboard_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

typedef void (*page)(const ls_http_api *api, ls_http_exchange *exchange);

static void answer_healthz(const ls_http_api *api, ls_http_exchange *exchange)
{
    (void)api;
    ls_http_answer_text(exchange, 200, LS_HTTP_PLAIN_TYPE, "ok\n");
}

static void answer_readyz(const ls_http_api *api, ls_http_exchange *exchange)
{
    ls_text why = {{0}};
    if (api->view->is_ready(api->view->user, &why)) {
        ls_http_answer_text(exchange, 200, LS_HTTP_PLAIN_TYPE, "ready\n");
    } else {
        ls_text_add(&why, "%s\n", why.bytes[0] ? "" : "not ready");
        ls_http_answer_text(exchange, 503, LS_HTTP_PLAIN_TYPE, why.bytes);
    }
}

static void answer_metrics(const ls_http_api *api, ls_http_exchange *exchange)
{
    exchange->reply.status = 200;
    exchange->reply.type = LS_HTTP_METRICS_TYPE;
    ls_http_metrics_write(api->view, &exchange->reply.text);
    ls_http_answer_done(exchange);
}

static void answer_dashboard(const ls_http_api *api, ls_http_exchange *exchange)
{
    (void)api;
    exchange->reply.policy = dashboard_policy;
    ls_http_answer_text(exchange, 200, "text/html; charset=utf-8", ls_http_dashboard_page);
}

static void answer_script(const ls_http_api *api, ls_http_exchange *exchange)
{
    (void)api;
    ls_http_answer_text(exchange, 200, "text/javascript; charset=utf-8", ls_http_dashboard_script);
}

static void answer_style(const ls_http_api *api, ls_http_exchange *exchange)
{
    (void)api;
    ls_http_answer_text(exchange, 200, "text/css; charset=utf-8", ls_http_dashboard_style);
}

static const struct {
    const char *path;
    page answer;
} pages[] = {
    {"/", answer_dashboard},          {"/dashboard.js", answer_script},
    {"/dashboard.css", answer_style}, {"/healthz", answer_healthz},
    {"/readyz", answer_readyz},       {"/metrics", answer_metrics},
};

static bool is_reading(const char *method)
{
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

static void answer_page(const ls_http_api *api, const ls_http_request *request,
                        ls_http_exchange *exchange, page answer)
{
    if (is_reading(request->method)) {
        answer(api, exchange);
        return;
    }
    ls_name_copy(exchange->reply.allow, sizeof exchange->reply.allow, "GET, HEAD");
    ls_http_answer_error(exchange, 405, "%s takes GET and HEAD alone", request->path);
}

void ls_http_routes_answer(const ls_http_api *api, const ls_http_request *request,
                           ls_http_exchange *exchange)
{
    if (strncmp(request->path, LS_HTTP_API_PREFIX, strlen(LS_HTTP_API_PREFIX)) == 0) {
        ls_http_api_answer(api, request, exchange);
        return;
    }
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        if (strcmp(request->path, pages[i].path) == 0) {
            answer_page(api, request, exchange, pages[i].answer);
            return;
        }
    }
    ls_http_answer_error(exchange, 404, "there is nothing at this path");
}
