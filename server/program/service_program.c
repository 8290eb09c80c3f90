#include "lockstep/server/program/service_program.h"

#include "lockstep/common/program/key_file.h"
#include "lockstep/common/program/option.h"
#include "lockstep/common/program/server_identity.h"
#include "lockstep/common/system/machine.h"
#include "lockstep/common/system/private_file.h"
#include "lockstep/server/host/match_table.h"
#include "lockstep/server/match/match_config.h"
#include "lockstep/server/program/supervisor.h"
#include "lockstep/server/relay/relay_options.h"
#include "lockstep/server/service/room_loading.h"
#include "lockstep/server/service/worker_message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    PATH_BYTES_MAX = 4096,
};

typedef struct service_program {
    ls_service_config service;
    ls_service_faults faults; /* of its file, and of the options beside it */
    ls_service_sockets sockets;
    ls_server_identity identity;
    ls_worker_settings worker;
    ls_room_files files; /* that parameters of its rooms may name */
    bool runs_plugins;   /* this process only checks: it may run code that a worker would */
    char *params;        /* of the file */
    char program[PATH_BYTES_MAX];
} service_program;

/* ---- the file under the command line ---- */

static bool is_given(const ls_server_options *options, const char *flag)
{
    return ls_setting_is_given(&ls_hosting_settings, options->hosting_given, flag) ||
           ls_setting_is_given(&ls_server_settings, options->own_given, flag);
}

static void note(service_program *self, ls_toml_place at, ls_status status, const ls_text *why)
{
    if (status != LS_OK) {
        ls_service_faults_add(&self->faults, at,
                              why->bytes[0] ? why->bytes : ls_status_text(status));
    }
}

/* A row of the file counts where the command line has none of that flag. */
static void apply_server_rows(service_program *self, ls_server_options *options)
{
    ls_setting_target hosting = {.fields = &options->hosting};
    ls_setting_target own = {.fields = options};
    for (uint32_t i = 0; i < self->service.server.count; i++) {
        ls_room_setting *row = &self->service.server.rows[i];
        const ls_setting_text text = {row->flag, row->value};
        ls_text why = {{0}};
        if (!is_given(options, row->flag)) {
            ls_status status = ls_setting_read_text(&ls_hosting_settings, &hosting, &text, &why);
            if (status == LS_NOT_FOUND) {
                status = ls_setting_read_text(&ls_server_settings, &own, &text, &why);
            }
            note(self, self->service.server_at[i], status, &why);
        }
    }
}

/* Lines of the workers look like those of the supervisor. */
static ls_status apply_log_format(service_program *self, ls_server_options *options,
                                  ls_console *console, ls_text *why)
{
    ls_status status = LS_OK;
    if (!is_given(options, "log-format")) {
        status = ls_log_format_read(self->service.log_format, &options->log_format, why);
    }
    if (status == LS_OK) {
        ls_console_set_format(console, options->log_format);
    }
    return status;
}

static ls_status apply_rows(service_program *self, const ls_setting_table *table, uint64_t given,
                            const void *fields, ls_text *why)
{
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < table->count; i++) {
        const ls_setting_row *row = &table->rows[i];
        if ((given >> i & 1u) != 0) {
            status = ls_service_config_override(&self->service, row->flag,
                                                (const char *)fields + row->offset, why);
        }
    }
    return status;
}

static ls_status apply_own_rows(service_program *self, const ls_server_options *options,
                                ls_text *why)
{
    ls_status status =
        apply_rows(self, &ls_hosting_settings, options->hosting_given, &options->hosting, why);
    return status == LS_OK ? apply_rows(self, &ls_server_settings, options->own_given, options, why)
                           : status;
}

/* A setting of a match on the command line is that of every room. */
static ls_status apply_match_rows(service_program *self, const ls_server_options *options,
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

static const char *text_or_null(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

/* Every worker lets clients in by the same rules as the supervisor says. */
static void settle_workers(service_program *self, const ls_server_options *options)
{
    const ls_service_config *service = &self->service;
    bool has_bundles = strcmp(service->bundle_dir, "none") != 0;
    uint32_t each = (service->rooms_max + service->workers - 1) / service->workers;
    self->worker =
        (ls_worker_settings){.rooms_max = LS_MIN(each * 2, LS_MATCHES_MAX),
                             .log_level = options->output.level,
                             .log_format = options->log_format,
                             .bind_host = options->hosting.bind_host,
                             .admission = options->hosting.admission,
                             .relay = options->publish,
                             .relay_key = options->publish_key_path,
                             .public_name = options->public_name,
                             .region = options->region,
                             .bundle_dir = has_bundles ? text_or_null(service->bundle_dir) : NULL,
                             .bundle_mib_max = options->hosting.bundle_limit,
                             .journal_dir = text_or_null(service->journal_dir),
                             .has_broadcast = service->web_broadcast_s > 0,
                             .plugin_dir = text_or_null(service->plugin_dir),
                             .files = self->files,
                             .address_connections = service->address_connections};
}

/* ---- running ---- */

/* A file that is wrong is so at the start, as far as this is known without a worker. */
static void check_groups(service_program *self)
{
    const ls_service_config *service = &self->service;
    char path[LS_WORKER_PATH_BYTES_MAX];
    const ls_room_loading loading = {.plugin_dir = text_or_null(service->plugin_dir),
                                     .files = &self->files,
                                     .path = path,
                                     .path_capacity = sizeof path};
    for (uint32_t i = 0; i < service->group_count; i++) {
        ls_text reason = {{0}};
        ls_room_settings settings;
        ls_status status =
            ls_service_config_settle(service, &service->groups[i], &settings, &reason);
        LS_THEN(status, ls_room_loading_check(&loading, &settings, self->runs_plugins, &reason));
        ls_text why = {{0}};
        ls_text_set(&why, "[[rooms]] '%s': %s", service->groups[i].name,
                    reason.bytes[0] ? reason.bytes : ls_status_text(status));
        note(self, service->groups[i].at, status, &why);
    }
}

/* The operator, who has written the file, may name any other one. */
static ls_status settle_files(service_program *self)
{
    self->params = ls_service_config_params(&self->service);
    self->files = (ls_room_files){
        .folders = self->service.files, .named = self->params, .code = self->service.code};
    return self->params ? LS_OK : LS_NO_MEMORY;
}

/* As of a server without a file. */
static ls_status check_broadcast(const service_program *self, const ls_server_options *options,
                                 ls_text *why)
{
    ls_server_options whole = *options;
    whole.web = text_or_null(self->service.web);
    whole.hosting.journal_dir = text_or_null(self->service.journal_dir);
    whole.broadcast_delay_s = self->service.web_broadcast_s;
    return ls_server_options_check_broadcast(&whole, why);
}

/* By the table of lockstep-relay, which is started with these rows. */
static void check_relay(service_program *self)
{
    ls_relay_program_config relay = ls_relay_options_default();
    ls_setting_target target = {.fields = &relay};
    ls_text why = {{0}};
    for (uint32_t i = 0; i < self->service.relay.count; i++) {
        ls_room_setting *row = &self->service.relay.rows[i];
        const ls_setting_text text = {row->flag, row->value};
        ls_status status = ls_setting_read_text(&ls_relay_settings, &target, &text, &why);
        note(self, self->service.relay_at[i], status, &why);
    }
    note(self, (ls_toml_place){0, 0}, ls_relay_options_check(&relay, &why), &why);
}

/* Every step is taken, so that a check finds all faults at once. */
static void read_config(service_program *self, ls_server_options *options, ls_console *console)
{
    const ls_toml_place nowhere = {0, 0};
    ls_text why = {{0}};
    ls_service_config_read(options->config_path, &self->service, &self->faults);
    apply_server_rows(self, options);
    if (!options->is_check) { /* its lines are for people, not for the service's log */
        note(self, nowhere, apply_log_format(self, options, console, &why), &why);
    }
    note(self, nowhere, apply_own_rows(self, options, &why), &why);
    note(self, nowhere, apply_match_rows(self, options, &why), &why);
    note(self, nowhere, ls_admission_check(&options->hosting.admission, &why), &why);
    note(self, nowhere, ls_server_options_check_relay(options, &why), &why);
    note(self, nowhere, check_broadcast(self, options, &why), &why);
    check_relay(self);
    note(self, nowhere, settle_files(self), &why);
    check_groups(self);
}

/* A start that fails says so in one line, a check in one for each fault. */
static ls_exit_code report_faults(service_program *self, bool is_check, const ls_console *console)
{
    const ls_service_faults *faults = &self->faults;
    uint32_t shown = LS_MIN(faults->count, is_check ? LS_SERVICE_FAULTS_MAX : 1);
    char more[64] = "";
    if (faults->count > shown) {
        snprintf(more, sizeof more, " (and %" PRIu32 " more%s)", faults->count - shown,
                 is_check ? "" : ": see --check");
    }
    for (uint32_t i = 0; i < shown; i++) {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s%s", faults->rows[i].text.bytes,
                    i + 1 == shown ? more : "");
    }
    if (shown == 0) {
        ls_log_line(&console->log, LS_LOG_INFO, "%s: no faults", faults->path);
    }
    return shown > 0 ? LS_EXIT_USAGE : LS_EXIT_CLEAN;
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
    const char *path = options->hosting.admission.token_key_path;
    bool is_missing =
        options->is_on_agones && path && !ls_private_file_look(path, NULL) && errno == ENOENT;
    return is_missing ? ls_token_key_make(path, NULL, why) : LS_OK;
}

/* All workers need one identity, so it is kept in a file whoever needs to know it. */
static ls_status prepare(service_program *self, ls_server_options *options, ls_text *why)
{
    ls_status status =
        ls_server_identity_open(options->hosting.admission.identity_path, &self->identity, why);
    bool is_known = ls_machine_program_path(self->program, sizeof self->program);
    options->hosting.admission.identity_path = self->identity.path;
    LS_THEN(status, prepare_token_key(options, why));
    if (status == LS_OK && !is_known) {
        status = ls_fail(LS_IO, why, "the system does not say where this program is");
    }
    return status;
}

/* The file is read again while the service runs. */
typedef struct rereading {
    service_program *self;
    const ls_server_options *given; /* the command line alone */
    ls_console *console;
} rereading;

/* Rows of the file that are of the process are compared as they stand there. */
static ls_status read_again(void *user, ls_service_config *out)
{
    const rereading *of = user;
    service_program *fresh = ls_allocate(ls_allocator_heap(), sizeof *fresh);
    if (!fresh) {
        return LS_NO_MEMORY;
    }
    ls_server_options options = *of->given;
    options.is_check = true;
    read_config(fresh, &options, of->console);
    ls_status status = fresh->faults.count > 0 ? LS_BAD_ARGUMENT : LS_OK;
    if (status == LS_OK) {
        *out = fresh->service;
    } else {
        (void)report_faults(fresh, true, of->console);
    }
    ls_release(ls_allocator_heap(), fresh->params);
    ls_release(ls_allocator_heap(), fresh);
    return status;
}

static ls_exit_code supervise(service_program *self, const ls_server_options *options,
                              const rereading *again, ls_port_keeper *ports, ls_console *console)
{
    ls_text why = {{0}};
    ls_admission admission;
    const ls_supervisor_config config = {.service = &self->service,
                                         .read_again = read_again,
                                         .user = (void *)(uintptr_t)again,
                                         .bind_host = options->hosting.bind_host,
                                         .port = (uint16_t)options->hosting.port,
                                         .port_file = options->port_file,
                                         .web_port_file = options->web_port_file,
                                         .http_port_file = options->http_port_file,
                                         .is_on_agones = options->is_on_agones,
                                         .json_path = options->output.json_path,
                                         .program = self->program,
                                         .worker = &self->worker,
                                         .admission = &admission,
                                         .sockets = &self->sockets,
                                         .ports = ports};
    ls_status status = ls_admission_open(&options->hosting.admission, options->hosting.bind_host,
                                         &admission, &why);
    if (status != LS_OK) {
        ls_port_keeper_destroy(ports);
        return ls_exit_report(&console->log, status, &why);
    }
    ls_exit_code code = ls_supervisor_run(&config, console);
    ls_admission_wipe(&admission);
    return code;
}

static ls_exit_code start(service_program *self, ls_server_options *options,
                          const ls_server_options *given, ls_console *console)
{
    ls_text why = {{0}};
    const rereading again = {self, given, console};
    ls_status status = count_workers(self, console, &why);
    ls_exit_code code = LS_EXIT_USAGE;
    ls_port_keeper *ports = NULL;
    if (status == LS_OK) { /* the process that asks knows no key yet */
        ports =
            ls_server_options_may_map(options) ? ls_port_keeper_make(&console->log, true) : NULL;
        status = prepare(self, options, &why);
        code = ls_exit_code_of(status);
    }
    if (status == LS_OK) {
        settle_workers(self, options);
        code = supervise(self, options, &again, ports, console);
    } else {
        ls_port_keeper_destroy(ports);
        ls_log_line(&console->log, LS_LOG_ERROR, "%s",
                    why.bytes[0] ? why.bytes : ls_status_text(status));
    }
    ls_server_identity_wipe(&self->identity);
    return code;
}

ls_exit_code ls_service_program_run(ls_server_options *options, ls_console *console)
{
    service_program *self = ls_allocate(ls_allocator_heap(), sizeof *self);
    if (!self) {
        return LS_EXIT_ENVIRONMENT;
    }
    const ls_server_options given = *options;
    self->runs_plugins = options->is_check;
    read_config(self, options, console);
    ls_exit_code code = self->faults.count > 0 || options->is_check
                            ? report_faults(self, options->is_check, console)
                            : start(self, options, &given, console);
    ls_release(ls_allocator_heap(), self->params);
    ls_release(ls_allocator_heap(), self);
    return code;
}
