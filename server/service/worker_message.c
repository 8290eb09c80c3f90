#include "lockstep/server/service/worker_message.h"

#include "lockstep/common/base/limits.h"
#include "lockstep/common/program/json.h"

#include <string.h>

/* ---- messages ---- */

enum {
    STATUS_MAX = 255,
};

#define OF_MESSAGE(member) LS_JSON_FIELD(ls_worker_message, member)
#define OF_SEATS(member) LS_JSON_FIELD_AS(#member, ls_worker_message, seats.member)
#define OF_COMMAND(member) LS_JSON_FIELD(ls_service_command, member)
#define OF_BAN(member) LS_JSON_FIELD_AS("ban_" #member, ls_service_command, ban.member)
#define OF_LOAD(member) LS_JSON_FIELD(ls_worker_report, member)
#define OF_EVENT(member) LS_JSON_FIELD(ls_service_event, member)

static const ls_json_field message_fields[] = {
    OF_MESSAGE(id),          OF_MESSAGE(is_open), OF_MESSAGE(is_paused), OF_MESSAGE(room),
    OF_MESSAGE(is_unplayed), OF_MESSAGE(group),   OF_MESSAGE(journal),   OF_MESSAGE(worker),
    OF_SEATS(open),          OF_SEATS(awaited),   OF_SEATS(players),
};

static const ls_json_field command_fields[] = {
    OF_COMMAND(room),
    OF_COMMAND(slot),
    OF_COMMAND(seconds),
    OF_COMMAND(text),
    OF_COMMAND(spares_players),
    OF_BAN(number),
    OF_BAN(kind),
    OF_BAN(what),
    OF_BAN(why),
    OF_BAN(until_unix_s),
};

static const ls_json_field load_fields[] = {
    OF_LOAD(worker),
    OF_LOAD(rooms),
    OF_LOAD(players),
    OF_LOAD(load),
    OF_LOAD(cpu_ms),
    OF_LOAD(memory_bytes),
    OF_LOAD(datagrams_dropped),
    OF_LOAD(clients_denied),
    OF_LOAD(tokens_refused),
};

static const ls_json_field event_fields[] = {
    OF_EVENT(unix_ms),
    OF_EVENT(kind),
    OF_EVENT(room),
    OF_EVENT(text),
};

static const char *const words[] = {
#define MESSAGE_WORD(name, word) word,
    LS_WORKER_MESSAGE_MAP(MESSAGE_WORD)
#undef MESSAGE_WORD
};

/* ---- writing ---- */

static void write_body(const ls_worker_message *message, ls_json *json)
{
    ls_json *body = NULL;
    switch (message->kind) {
    case LS_WORKER_COMMAND:
        body = ls_json_object(json, "command");
        ls_json_number(body, "kind", message->command.kind);
        LS_JSON_ADD(body, command_fields, &message->command);
        ls_room_settings_write(&message->command.settings, ls_json_object(body, "settings"));
        break;
    case LS_WORKER_RESULT:
        ls_json_number(json, "status", -(double)message->result.status);
        ls_json_text(json, "text", message->result.text.bytes);
        if (message->result.body) {
            ls_json_text(json, "body", message->result.body);
        }
        break;
    case LS_WORKER_REPORT:
    case LS_WORKER_GONE:
        ls_room_report_write(&message->report, ls_json_object(json, "report"));
        break;
    case LS_WORKER_LOAD:
        LS_JSON_ADD(ls_json_object(json, "load"), load_fields, &message->load);
        break;
    case LS_WORKER_EVENT:
        body = ls_json_object(json, "event");
        LS_JSON_ADD(body, event_fields, &message->event);
        ls_json_number(body, "slot", message->event.slot);
        break;
    default:
        break;
    }
}

char *ls_worker_message_write(const ls_worker_message *message)
{
    ls_json *json = ls_json_create();
    ls_json_text(json, "kind", words[message->kind]);
    LS_JSON_ADD(json, message_fields, message);
    ls_json_hash(json, "match_id", message->match_id);
    write_body(message, json);
    char *line = ls_json_print_line(json);
    ls_json_destroy(json);
    return line;
}

/* ---- reading ---- */

static ls_status read_command(const ls_json *json, ls_service_command *out)
{
    uint32_t kind = 0;
    if (!ls_json_read_u32(json, "kind", &kind) || kind > LS_SERVICE_DRAIN) {
        return LS_MALFORMED;
    }
    out->kind = (ls_service_command_kind)kind;
    LS_JSON_TAKE(json, command_fields, out);
    ls_status status =
        ls_room_settings_read(ls_json_read_object(json, "settings"), &out->settings, NULL);
    return status == LS_OK ? LS_OK : LS_MALFORMED;
}

static ls_status read_event(const ls_json *json, ls_service_event *out)
{
    double slot = -1;
    LS_JSON_TAKE(json, event_fields, out);
    bool is_good = ls_json_read_number(json, "slot", &slot) && slot >= -1 && slot < LS_PLAYERS_MAX;
    out->slot = is_good ? (int32_t)slot : -1;
    return is_good && out->kind[0] != '\0' ? LS_OK : LS_MALFORMED;
}

static ls_status read_result(const ls_json *json, ls_service_result *out)
{
    uint32_t negated = 0;
    const char *text = ls_json_read_text(json, "text");
    if (!ls_json_read_u32(json, "status", &negated) || negated > STATUS_MAX || !text) {
        return LS_MALFORMED;
    }
    out->status = (ls_status) - (int32_t)negated;
    ls_text_set(&out->text, "%s", text);
    const char *body = ls_json_read_text(json, "body");
    if (body) {
        out->body = ls_allocate(ls_allocator_heap(), strlen(body) + 1);
    }
    if (out->body) {
        memcpy(out->body, body, strlen(body) + 1);
    }
    return body && !out->body ? LS_NO_MEMORY : LS_OK;
}

static ls_status read_body(const ls_json *json, ls_worker_message *out)
{
    switch (out->kind) {
    case LS_WORKER_COMMAND:
        return read_command(ls_json_read_object(json, "command"), &out->command);
    case LS_WORKER_RESULT:
        return read_result(json, &out->result);
    case LS_WORKER_REPORT:
    case LS_WORKER_GONE:
        return ls_room_report_read(ls_json_read_object(json, "report"), &out->report);
    case LS_WORKER_LOAD:
        LS_JSON_TAKE(ls_json_read_object(json, "load"), load_fields, &out->load);
        return LS_OK;
    case LS_WORKER_EVENT:
        return read_event(ls_json_read_object(json, "event"), &out->event);
    default:
        return LS_OK;
    }
}

static ls_status read_message(const ls_json *json, ls_worker_message *out)
{
    const char *word = ls_json_read_text(json, "kind");
    uint32_t kind = 0;
    while (word && kind < LS_WORKER_MESSAGE_COUNT && strcmp(words[kind], word) != 0) {
        kind++;
    }
    if (!word || kind == LS_WORKER_MESSAGE_COUNT) {
        return LS_MALFORMED;
    }
    memset(out, 0, sizeof *out);
    out->kind = (ls_worker_message_kind)kind;
    LS_JSON_TAKE(json, message_fields, out);
    (void)ls_json_read_hash(json, "match_id", &out->match_id);
    return read_body(json, out);
}

ls_status ls_worker_message_read(const char *line, size_t size, ls_worker_message *out)
{
    ls_json *json = ls_json_parse(line, size);
    ls_status status = json ? read_message(json, out) : LS_MALFORMED;
    ls_json_destroy(json);
    return status;
}

void ls_worker_message_deinit(ls_worker_message *message)
{
    ls_room_report_deinit(&message->report);
    ls_release(ls_allocator_heap(), message->result.body);
    message->result.body = NULL;
}

/* ---- settings ---- */

#define OF_WORKER(member) LS_JSON_FIELD_AS(#member, ls_worker_settings, member)

static const ls_json_field fields[] = {
    OF_WORKER(worker),
    OF_WORKER(workers),
    OF_WORKER(rooms_max),
    OF_WORKER(log_level),
    OF_WORKER(log_format),
    OF_WORKER(bind_host),
    OF_WORKER(admission.identity_path),
    OF_WORKER(admission.invite_host),
    OF_WORKER(admission.is_insecure),
    OF_WORKER(admission.is_invite_only),
    OF_WORKER(admission.token_key_path),
    OF_WORKER(admission.token_servers),
    OF_WORKER(relay),
    OF_WORKER(relay_key),
    OF_WORKER(public_name),
    OF_WORKER(region),
    OF_WORKER(page),
    OF_WORKER(bundle_dir),
    OF_WORKER(bundle_mib_max),
    OF_WORKER(journal_dir),
    OF_WORKER(has_broadcast),
    OF_WORKER(plugin_dir),
    OF_WORKER(files.folders),
    OF_WORKER(files.named),
    OF_WORKER(files.code),
    OF_WORKER(address_connections),
    OF_WORKER(door),
};

/* 64 bits, which a number of JSON does not hold. */
#define TOKEN_PROTOCOL_ID "admission.token_protocol_id"

char *ls_worker_settings_write(const ls_worker_settings *settings)
{
    ls_json *json = ls_json_create();
    LS_JSON_ADD(json, fields, settings);
    ls_json_hash(json, TOKEN_PROTOCOL_ID, settings->admission.token_protocol_id);
    char *line = ls_json_print_line(json);
    ls_json_destroy(json);
    return line;
}

ls_status ls_worker_settings_read(const char *line, size_t size, ls_worker_settings *out,
                                  ls_json **texts)
{
    ls_worker_settings settings = {.worker = 0};
    ls_json *json = ls_json_parse(line, size);
    bool is_whole =
        LS_JSON_TAKE(json, fields, &settings) &&
        ls_json_read_hash(json, TOKEN_PROTOCOL_ID, &settings.admission.token_protocol_id) &&
        settings.worker < settings.workers;
    if (!is_whole) {
        ls_json_destroy(json);
        return LS_MALFORMED;
    }
    *out = settings;
    *texts = json;
    return LS_OK;
}
