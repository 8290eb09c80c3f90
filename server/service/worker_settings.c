#include "lockstep/server/service/worker_settings.h"

#include "lockstep/common/program/json_read.h"

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
    OF_WORKER(bundle_dir),
    OF_WORKER(bundle_mib_max),
    OF_WORKER(journal_dir),
    OF_WORKER(plugin_dir),
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
