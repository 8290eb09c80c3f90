#include "lockstep/tools/replay/command.h"

#include "lockstep/common/system/output.h"

#include <stdarg.h>

void replay_say(const replay_run *run, const char *format, ...)
{
    if (run->config->is_quiet) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

ls_status replay_open(const replay_run *run, uint32_t index, ls_journal_trust trust,
                      replay_playback *out, ls_text *why)
{
    const char *path = run->config->paths[index];
    ls_status status = replay_playback_open(path, trust, out, why);
    if (status == LS_OK && out->loss.bytes[0] != '\0') {
        ls_log_line(&run->console->log, LS_LOG_WARNING, "%s: %s", path, out->loss.bytes);
    }
    return status;
}

/* A journal is read while the answer is written. */
static ls_status check_output(const replay_config *config, const char *output, ls_text *why)
{
    for (uint32_t i = 0; output && i < 2 && config->paths[i]; i++) {
        if (ls_output_is_same_file(output, config->paths[i])) {
            return ls_fail(LS_BAD_ARGUMENT, why, "%s is the journal itself: write to another file",
                           output);
        }
    }
    return LS_OK;
}

static ls_status write_summary(const replay_run *run, ls_status status, const ls_text *why,
                               ls_text *failure)
{
    if (!run->config->json_path) {
        return LS_OK;
    }
    ls_json_text(run->json, "status", ls_status_name(status));
    ls_json_text(run->json, "why", why->bytes[0] ? why->bytes : NULL);
    return ls_json_write(run->json, run->config->json_path, failure);
}

ls_exit_code replay_run_command(const replay_config *config, ls_console *console)
{
    replay_playback playback = {0};
    replay_run run = {
        .config = config, .console = console, .playback = &playback, .json = ls_json_create()};
    ls_text why = {{0}};
    ls_text failure = {{0}};
    ls_status status = check_output(config, config->output, &why);
    LS_THEN(status, check_output(config, config->json_path, &why));
    if (status == LS_OK && config->json_path) {
        status = ls_output_check_path(config->json_path, &why);
    }
    if (status != LS_OK) {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s", why.bytes);
        ls_json_destroy(run.json);
        return ls_exit_code_of(status);
    }
    ls_json_text(run.json, "program", "lockstep-replay");
    ls_json_text(run.json, "command", config->command->name);
    status = replay_open(&run, 0, config->command->trust, &playback, &why);
    LS_THEN(status, config->command->work(&run, &why));
    ls_console_clear(console);
    if (status != LS_OK && status != LS_DESYNCED) {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s",
                    why.bytes[0] ? why.bytes : ls_status_text(status));
    }
    ls_exit_code code = ls_exit_code_of(status);
    if (write_summary(&run, status, &why, &failure) != LS_OK) {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s", failure.bytes);
        code = code == LS_EXIT_CLEAN ? LS_EXIT_ENVIRONMENT : code;
    }
    replay_playback_close(&playback);
    ls_json_destroy(run.json);
    return code;
}
