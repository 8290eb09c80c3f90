/* Fuzzes requests to the HTTP interface of a service, behind the library that reads HTTP.
 *
 *   "METHOD PATH\nTOKEN\nLAST-EVENT-ID\nBODY"; an empty line is a header that is not there
 */
#include "lockstep/common/base/assert.h"
#include "lockstep/common/program/json.h"
#include "lockstep/server/control/http_routes.h"
#include "lockstep/server/service/room_settings.h"
#include "lockstep/tests/fuzz/fuzz_input.h"
#include "lockstep/tests/support/fake_service.h"

#include <string.h>

#define TOKEN "secret"

enum {
    FIELD_BYTES_MAX = 512
};

typedef struct fields {
    char method[FIELD_BYTES_MAX], path[FIELD_BYTES_MAX], token[FIELD_BYTES_MAX],
        last_event_id[FIELD_BYTES_MAX];
} fields;

static void check_reply(const ls_http_exchange *exchange)
{
    const ls_http_reply *reply = &exchange->reply;
    LS_ASSERT(reply->status >= 200 && reply->status < 600 && reply->type);
    LS_ASSERT(!reply->text.is_cut);
    LS_ASSERT((reply->status == 405) == (reply->allow[0] != '\0'));
    LS_ASSERT((reply->status == 201) == (reply->location[0] != '\0'));
    if (strcmp(reply->type, LS_HTTP_JSON_TYPE) == 0) {
        ls_json *json = ls_json_parse(reply->text.bytes, reply->text.size);
        LS_ASSERT(ls_json_is_object(json));
        LS_ASSERT(reply->status < 300 || ls_json_read_text(json, "error"));
        ls_json_destroy(json);
    }
}

static void check_command(const fake_service *fake, bool has_token)
{
    if (fake_service_command_count(fake) == 0) {
        return;
    }
    const ls_service_command *command = fake_service_last_command(fake);
    LS_ASSERT(has_token);
    LS_ASSERT(command->room[0] == '\0' || ls_room_name_is_valid(command->room));
    LS_ASSERT(command->slot < LS_PLAYERS_MAX && command->settings.count <= LS_ROOM_SETTINGS_MAX);
    for (const char *at = command->text.bytes; *at; at++) {
        LS_ASSERT((unsigned char)*at >= ' ' && *at != 0x7f);
    }
}

static void ask(fake_service *fake, const ls_http_request *request)
{
    static const ls_operators operators = {1, {{"token", LS_OPERATOR_ADMIN, TOKEN}}};
    static ls_audit_log audit;
    ls_http_api api = {.view = fake_service_view(fake), .operators = &operators, .audit = &audit};
    ls_http_exchange *exchange = ls_http_exchange_create();
    LS_ASSERT(exchange);
    ls_http_routes_answer(&api, request, exchange);
    fake_service_answer(fake);
    LS_ASSERT(exchange->is_answered && exchange->holders == 1);
    check_reply(exchange);
    ls_http_exchange_release(exchange);
    ls_http_text_deinit(&api.metrics);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_input input = {bytes, size};
    fields read;
    fuzz_take_text(&input, ' ', read.method, sizeof read.method);
    fuzz_take_text(&input, '\n', read.path, sizeof read.path);
    fuzz_take_text(&input, '\n', read.token, sizeof read.token);
    fuzz_take_text(&input, '\n', read.last_event_id, sizeof read.last_event_id);
    const ls_http_request request = {
        .method = read.method,
        .path = read.path,
        .authorization = read.token[0] ? read.token : NULL,
        .last_event_id = read.last_event_id[0] ? read.last_event_id : NULL,
        .body = (const char *)input.bytes,
        .body_bytes = LS_MIN(input.size, LS_HTTP_BODY_BYTES_MAX),
    };
    fake_service *fake = fake_service_create();
    ask(fake, &request);
    check_command(fake, strcmp(read.token, "Bearer " TOKEN) == 0);
    fake_service_destroy(fake);
    return 0;
}
