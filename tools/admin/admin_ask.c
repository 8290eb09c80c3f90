#include "lockstep/tools/admin/admin_ask.h"

#include "lockstep/common/system/private_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ANSWER_TIMEOUT_MS = 60000
};

ls_status admin_read_token(const char *path, admin_service *out, ls_text *why)
{
    size_t size = 0;
    ls_status status =
        ls_private_file_read(path, (uint8_t *)out->token, sizeof out->token - 1, &size, why);
    if (status != LS_OK) {
        return status;
    }
    out->token[size] = '\0';
    size_t length = strcspn(out->token, "\r\n");
    bool has_more = out->token[length + strspn(out->token + length, "\r\n")] != '\0';
    out->token[length] = '\0';
    for (size_t i = 0; i < length; i++) {
        has_more |= out->token[i] <= ' ' || out->token[i] > '~';
    }
    if (length == 0 || has_more || strlen(out->token) != length) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "%s does not hold a token: one word of printable characters", path);
    }
    return LS_OK;
}

ls_http_ask admin_request(const admin_service *service, const char *method, const char *path,
                          char *url)
{
    snprintf(url, ADMIN_URL_BYTES_MAX, "%s/api/v1/%s", service->url, path);
    return (ls_http_ask){
        .method = method,
        .url = url,
        .token = service->token[0] ? service->token : NULL,
        .timeout_ms = ANSWER_TIMEOUT_MS,
    };
}

ls_status admin_refusal(const ls_http_got *got, ls_text *why)
{
    ls_json *json = got->body ? ls_json_parse(got->body, got->size) : NULL;
    const char *error = ls_json_is_object(json) ? ls_json_read_text(json, "error") : NULL;
    if (error) {
        ls_text_set(why, "%s", error);
        ls_text_make_printable(why->bytes, strlen(why->bytes));
    } else {
        ls_text_set(why, "the service answers with HTTP status %u", got->status);
    }
    if (got->status == 401) {
        ls_text_add(why, "; --token-file names the file that it is in");
    }
    ls_json_destroy(json);
    return got->status == 400 ? LS_BAD_ARGUMENT : LS_REFUSED;
}

static ls_status read_answer(const ls_http_got *got, ls_json **out, ls_text *why)
{
    if (got->status < 200 || got->status > 299) {
        return admin_refusal(got, why);
    }
    ls_json *json = got->body ? ls_json_parse(got->body, got->size) : NULL;
    if (!ls_json_is_object(json)) {
        ls_json_destroy(json);
        return ls_fail(LS_MALFORMED, why,
                       "the answer is not of a Lockstep service: is the URL right?");
    }
    *out = json;
    return LS_OK;
}

ls_status admin_ask_fetch(const admin_service *service, const char *method, const char *path,
                          ls_json *body, ls_json **out, ls_text *why)
{
    char url[ADMIN_URL_BYTES_MAX];
    ls_http_ask ask = admin_request(service, method, path, url);
    char *line = body ? ls_json_print_line(body) : NULL;
    ls_http_got got = {0};
    ask.body = line;
    ls_status status = ls_http_client_ask(&ask, &got, why);
    if (status == LS_OK) {
        status = read_answer(&got, out, why);
        ls_http_got_deinit(&got);
    }
    ls_json_destroy(body);
    free(line);
    return status;
}

ls_status admin_print_body(const admin_service *service, const char *path, ls_text *why)
{
    char url[ADMIN_URL_BYTES_MAX];
    const ls_http_ask ask = admin_request(service, "GET", path, url);
    ls_http_got got = {0};
    ls_status status = ls_http_client_ask(&ask, &got, why);
    if (status == LS_OK && got.status != 200) {
        status = admin_refusal(&got, why);
    } else if (status == LS_OK && got.size > 0 &&
               (fwrite(got.body, got.size, 1, stdout) != 1 || fflush(stdout) != 0)) {
        status = ls_fail(LS_IO, why, "standard output cannot be written");
    }
    ls_http_got_deinit(&got);
    return status;
}
