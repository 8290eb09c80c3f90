#include "lockstep/server/program/service_program.h"

#include "lockstep/common/program/server_identity.h"
#include "lockstep/common/program/setting_value.h"
#include "lockstep/common/program/token_key.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/machine.h"
#include "lockstep/server/host/match_table.h"
#include "lockstep/server/match/match_config.h"
#include "lockstep/server/service/room_loading.h"
#include "lockstep/server/service/supervisor.h"
#include "lockstep/server/service/worker.h"
#include "lockstep/server/service/worker_message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    ARGUMENTS_MAX = 112,
    FLAG_BYTES = 36,
    PATH_BYTES_MAX = 4096,
};

/* The command line of a worker. */
typedef struct worker_line {
    uint32_t count;
    const char *arguments[ARGUMENTS_MAX]; /* NULL last */
    char flags[LS_ROOM_SETTINGS_MAX][FLAG_BYTES];
    char rooms_max[16];
} worker_line;

typedef struct service_program {
    ls_service_config service;
    ls_service_sockets sockets;
    ls_server_identity identity;
    worker_line line;
    char program[PATH_BYTES_MAX];
} service_program;

/* ---- the file under the command line ---- */

/* A row of the file counts where the command line has none of that flag. */
static ls_status take_server_rows(service_program *self, ls_server_options *options, ls_text *why)
{
    ls_setting_target target = {.fields = options};
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < self->service.server.count; i++) {
        ls_room_setting *row = &self->service.server.rows[i];
        const ls_setting_text text = {row->flag, row->value};
        if (!ls_setting_is_given(&ls_server_settings, options->own_given, row->flag)) {
            status = ls_setting_take_text(&ls_server_settings, &target, &text, why);
        }
    }
    return status;
}

/* Lines of the workers look like those of the supervisor. */
static ls_status take_log_format(service_program *self, const ls_server_options *options,
                                 ls_console *console, ls_text *why)
{
    ls_log_format format = options->log_format;
    ls_status status = LS_OK;
    if (!ls_setting_is_given(&ls_server_settings, options->own_given, "log-format")) {
        status = ls_log_format_read(self->service.log_format, &format, why);
    }
    if (status == LS_OK) {
        ls_console_set_format(console, format);
    }
    return status;
}

static bool is_given(const ls_server_options *options, const char *flag)
{
    return ls_setting_is_given(&ls_server_settings, options->own_given, flag);
}

static void take_numbers(service_program *self, const ls_server_options *options)
{
    ls_service_config *service = &self->service;
    const struct {
        const char *flag;
        uint32_t given;
        uint32_t *field;
    } numbers[] = {{"workers", options->workers, &service->workers},
                   {"rooms-max", options->rooms_max, &service->rooms_max},
                   {"drain-timeout", options->drain_timeout, &service->drain_timeout_s},
                   {"http-port", options->http_port, &service->http_port}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (is_given(options, numbers[i].flag)) {
            *numbers[i].field = numbers[i].given;
        }
    }
}

static ls_status take_texts(service_program *self, const ls_server_options *options, ls_text *why)
{
    ls_service_config *service = &self->service;
    const struct {
        const char *flag;
        const char *given;
        char *field;
        size_t capacity;
    } texts[] = {
        {"journal", options->journal_dir, service->journal_dir, sizeof service->journal_dir},
        {"bundle-dir", options->bundle_dir, service->bundle_dir, sizeof service->bundle_dir},
        {"plug-ins", options->plugin_dir, service->plugin_dir, sizeof service->plugin_dir},
        {"http-bind", options->http_bind, service->http_bind, sizeof service->http_bind},
        {"http-token-file", options->http_token_file, service->http_token_file,
         sizeof service->http_token_file}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (!is_given(options, texts[i].flag)) {
            continue;
        }
        if (strlen(texts[i].given) >= texts[i].capacity) {
            return ls_fail(LS_BAD_ARGUMENT, why, "--%s takes at most %zu characters", texts[i].flag,
                           texts[i].capacity - 1);
        }
        ls_name_copy(texts[i].field, texts[i].capacity, texts[i].given);
    }
    return LS_OK;
}

/* A setting of a match on the command line is that of every room. */
static ls_status take_match_rows(service_program *self, const ls_server_options *options,
                                 ls_text *why)
{
    ls_service_config *service = &self->service;
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < ls_match_settings.count; i++) {
        const ls_setting_row *row = &ls_match_settings.rows[i];
        if ((options->given >> i & 1u) == 0) {
            continue;
        }
        ls_text value = {{0}};
        ls_setting_add_value(row, &options->match, &value);
        status = ls_room_settings_set(&service->match, row->flag, value.bytes, why);
        for (uint32_t g = 0; status == LS_OK && g < service->group_count; g++) {
            status =
                ls_room_settings_set(&service->groups[g].settings, row->flag, value.bytes, why);
        }
    }
    return status;
}

/* ---- workers ---- */

static void add(worker_line *line, const char *argument)
{
    if (line->count + 1 < ARGUMENTS_MAX) {
        line->arguments[line->count++] = argument;
    }
}

static void add_option(worker_line *line, const char *flag, const char *value)
{
    if (value[0] != '\0') {
        add(line, flag);
        add(line, value);
    }
}

static bool is_of_supervisor(const char *flag)
{
    static const char *const flags[] = {"config", "port",        "port-file", "bind",
                                        "find",   "invite-file", "find-port", "http-port-file"};
    bool is_found = false;
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        is_found = is_found || strcmp(flags[i], flag) == 0;
    }
    return is_found;
}

/* Every worker lets clients in by the same rules as the supervisor says. */
static void add_server_rows(service_program *self, const ls_server_options *options)
{
    worker_line *line = &self->line;
    for (uint32_t i = 0; i < self->service.server.count; i++) {
        const ls_room_setting *text = &self->service.server.rows[i];
        const ls_setting_row *row = ls_setting_find(&ls_server_settings, text->flag);
        bool is_off = row && row->type == LS_SETTING_IS_SWITCH && strcmp(text->value, "on") != 0;
        if (is_of_supervisor(text->flag) || is_off || strcmp(text->flag, "identity") == 0 ||
            is_given(options, text->flag)) {
            continue;
        }
        memcpy(line->flags[i], "--", 3);
        ls_name_copy(line->flags[i] + 2, FLAG_BYTES - 2, text->flag);
        add(line, line->flags[i]);
        if (row && row->type != LS_SETTING_IS_SWITCH) {
            add(line, text->value);
        }
    }
}

/* The options of the command line that are of how clients come in; the others have been put into
 * the rooms' settings, or are of the supervisor. */
static void add_given(service_program *self, const char *const *arguments)
{
    static const char *const switches[] = {"--invite-only", "--insecure", "--quiet",
                                           "--verbose",     "-q",         "-v"};
    static const char *const values[] = {"--token-key",   "--token-server", "--token-protocol-id",
                                         "--invite-host", "--bundle-limit", "--log-format"};
    for (uint32_t i = 0; arguments[i]; i++) {
        for (size_t k = 0; k < sizeof switches / sizeof switches[0]; k++) {
            if (strcmp(arguments[i], switches[k]) == 0) {
                add(&self->line, arguments[i]);
            }
        }
        for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) {
            size_t length = strlen(values[k]);
            if (strncmp(arguments[i], values[k], length) == 0 && arguments[i][length] == '=') {
                add(&self->line, arguments[i]);
            } else if (strcmp(arguments[i], values[k]) == 0 && arguments[i + 1]) {
                add(&self->line, arguments[i]);
                add(&self->line, arguments[i + 1]);
            }
        }
    }
}

static void write_line(service_program *self, const ls_server_options *options,
                       const char *const *arguments)
{
    const ls_service_config *service = &self->service;
    worker_line *line = &self->line;
    uint32_t each = (service->rooms_max + service->workers - 1) / service->workers;
    snprintf(line->rooms_max, sizeof line->rooms_max, "%u", LS_MIN(each * 2, LS_MATCHES_MAX));
    add_option(line, "--log-format", service->log_format); /* one of the command line wins */
    add_server_rows(self, options);
    add_given(self, arguments);
    add_option(line, "--identity", self->identity.path);
    add_option(line, "--journal", service->journal_dir);
    add_option(line, "--bundle-dir", service->bundle_dir[0] ? service->bundle_dir : "none");
    add_option(line, "--plug-ins", service->plugin_dir);
    add_option(line, "--rooms-max", line->rooms_max);
}

/* ---- running ---- */

/* A file that is wrong is so at the start, as far as this is known without a worker. */
static ls_status check_groups(service_program *self, ls_text *why)
{
    const ls_service_config *service = &self->service;
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < service->group_count; i++) {
        char path[LS_WORKER_PATH_BYTES_MAX];
        ls_text reason = {{0}};
        ls_room_settings settings;
        const ls_room_loading loading = {
            .settings = &settings,
            .plugin_dir = service->plugin_dir[0] != '\0' ? service->plugin_dir : NULL,
            .path = path,
            .path_capacity = sizeof path};
        status = ls_service_config_settle(service, &service->groups[i], &settings, &reason);
        if (status == LS_OK) {
            status = ls_room_loading_check(&loading, &reason);
        }
        if (status != LS_OK) {
            ls_text_set(why, "[[rooms]] '%s': %s", service->groups[i].name,
                        reason.bytes[0] ? reason.bytes : ls_status_text(status));
        }
    }
    return status;
}

static ls_status read_config(service_program *self, ls_server_options *options, ls_console *console,
                             ls_text *why)
{
    ls_status status = ls_service_config_read(options->config_path, &self->service, why);
    if (status == LS_OK) {
        status = take_server_rows(self, options, why);
    }
    if (status == LS_OK) {
        status = take_log_format(self, options, console, why);
    }
    if (status == LS_OK) {
        take_numbers(self, options);
        status = take_texts(self, options, why);
    }
    if (status == LS_OK) {
        status = take_match_rows(self, options, why);
    }
    if (status == LS_OK) {
        status = check_groups(self, why);
    }
    return status;
}

/* A socket that systemd has opened is a worker's. */
static ls_status count_workers(service_program *self, const ls_console *console, ls_text *why)
{
    ls_service_config *service = &self->service;
    ls_status status = ls_service_sockets_take(&self->sockets, why);
    uint32_t sockets = self->sockets.datagram_count;
    if (sockets > 0 && service->workers > 0 && service->workers != sockets) {
        ls_log_line(&console->log, LS_LOG_WARNING,
                    "workers = %" PRIu32 " does not count: systemd has opened %" PRIu32
                    " UDP sockets, each of which gets a worker",
                    service->workers, sockets);
    }
    if (sockets > 0) {
        service->workers = sockets;
    } else if (service->workers == 0) {
        service->workers = ls_machine_processors();
    }
    service->workers = LS_MIN(service->workers, LS_SERVICE_WORKERS_MAX);
    return status;
}

/* A server of a fleet may get the key of its tokens with each allocation: until the first one there
 * is a key that nobody knows. */
static ls_status prepare_token_key(const ls_server_options *options, ls_text *why)
{
    const char *path = options->admission.token_key_path;
    bool is_missing = options->is_on_agones && path && !ls_file_look(path, NULL) && errno == ENOENT;
    return is_missing ? ls_token_key_make(path, NULL, why) : LS_OK;
}

/* All workers need one identity, so it is kept in a file whoever needs to know it. */
static ls_status prepare(service_program *self, ls_server_options *options, ls_text *why)
{
    ls_status status =
        ls_server_identity_open(options->admission.identity_path, &self->identity, why);
    bool is_known = ls_machine_program_path(self->program, sizeof self->program);
    options->admission.identity_path = self->identity.path;
    if (status == LS_OK) {
        status = prepare_token_key(options, why);
    }
    if (status == LS_OK && !is_known) {
        status = ls_fail(LS_IO, why, "the system does not say where this program is");
    }
    return status;
}

static ls_exit_code supervise(service_program *self, const ls_server_options *options,
                              ls_console *console)
{
    ls_text why = {{0}};
    ls_admission admission;
    const ls_supervisor_config config = {.service = &self->service,
                                         .bind_host = options->bind_host,
                                         .port = (uint16_t)options->port,
                                         .port_file = options->port_file,
                                         .http_port_file = options->http_port_file,
                                         .is_on_agones = options->is_on_agones,
                                         .json_path = options->output.json_path,
                                         .program = self->program,
                                         .arguments = self->line.arguments,
                                         .admission = &admission,
                                         .sockets = &self->sockets};
    ls_status status = ls_admission_open(&options->admission, options->bind_host, &admission, &why);
    if (status != LS_OK) {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s", why.bytes);
        return ls_exit_code_of(status);
    }
    ls_exit_code code = ls_supervisor_run(&config, console);
    ls_admission_wipe(&admission);
    return code;
}

ls_exit_code ls_service_program_run(ls_server_options *options, const char *const *line,
                                    ls_console *console)
{
    service_program *self = ls_allocate(ls_allocator_heap(), sizeof *self);
    ls_text why = {{0}};
    if (!self) {
        return LS_EXIT_ENVIRONMENT;
    }
    ls_status status = read_config(self, options, console, &why);
    if (status == LS_OK) {
        status = count_workers(self, console, &why);
    }
    ls_exit_code code = LS_EXIT_USAGE;
    if (status == LS_OK) {
        status = prepare(self, options, &why);
        code = ls_exit_code_of(status);
    }
    if (status == LS_OK) {
        write_line(self, options, line);
        code = supervise(self, options, console);
    } else {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s",
                    why.bytes[0] ? why.bytes : ls_status_text(status));
    }
    ls_server_identity_wipe(&self->identity);
    ls_release(ls_allocator_heap(), self);
    return code;
}

ls_exit_code ls_service_worker_run(const ls_server_options *options, ls_console *console)
{
    bool has_bundles = strcmp(options->bundle_dir, "none") != 0;
    ls_admission admission;
    ls_text why = {{0}};
    ls_worker_config config = {.rooms_max = options->rooms_max,
                               .admission = &admission,
                               .bundle_dir = has_bundles ? options->bundle_dir : NULL,
                               .bundle_mib_max = options->bundle_limit,
                               .journal_dir = options->journal_dir,
                               .plugin_dir = options->plugin_dir};
    ls_status status = ls_worker_read_share(options->worker, &config);
    if (status == LS_OK) {
        status = ls_admission_open(&options->admission, options->bind_host, &admission, &why);
    }
    if (status != LS_OK) {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s",
                    why.bytes[0] ? why.bytes : ls_status_text(status));
        return ls_exit_code_of(status);
    }
    ls_exit_code code = ls_worker_run(&config, console);
    ls_admission_wipe(&admission);
    return code;
}
