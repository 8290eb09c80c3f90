/* lockstep-admin: reads the command line, and asks the API of a service. */
#include "lockstep/common/base/log.h"
#include "lockstep/common/program/command_line.h"
#include "lockstep/common/program/console.h"
#include "lockstep/tools/admin/admin_command.h"

#include <string.h>

typedef struct arguments {
    const char *url;
    const char *token_path;
    const char *ca_path;
    bool prints_json;
    uint32_t retry_s;
    admin_words words;
    admin_service service;
} arguments;

#define FIELD(member) .offset = offsetof(arguments, member)

static const ls_setting_row rows[] = {
    {LS_SETTING_IS_TEXT, FIELD(url), .flag = "url", .letter = 'u', .argument = "URL",
     .help = "The service's address for operators"},
    {LS_SETTING_IS_TEXT, FIELD(token_path), .flag = "token-file", .letter = 't', .argument = "FILE",
     .help = "The file with the service's token, which its owner alone can read"},
    {LS_SETTING_IS_TEXT, FIELD(ca_path), .flag = "ca-file", .argument = "FILE",
     .help = "Trust certificates of HTTPS that those in FILE have issued"},
    {LS_SETTING_IS_SWITCH, FIELD(prints_json), .flag = "json",
     .help = "Print the service's answers as JSON, an object a line"},
    {LS_SETTING_IS_U32, FIELD(retry_s), .max = 86400, .flag = "retry", .argument = "SECONDS",
     .help = "How long `events` looks for a service that has gone; 0: not at all"},
};

static const ls_setting_table table = {rows, sizeof rows / sizeof rows[0]};

static ls_status read_word(void *user, char *word, ls_text *why)
{
    admin_words *words = &((arguments *)user)->words;
    if (words->count == ADMIN_WORDS_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why, "unexpected argument '%s'", word);
    }
    words->words[words->count++] = word;
    return LS_OK;
}

static ls_status check(void *user, ls_text *why)
{
    arguments *args = user;
    const char *url = args->url;
    size_t size = strlen(url);
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "--url takes HTTP or HTTPS, for instance http://localhost:9300, not '%s'",
                       url);
    }
    if (size > 512 || url[size - 1] == '/') {
        return ls_fail(LS_BAD_ARGUMENT, why, "--url takes an address without a slash at its end");
    }
    return admin_check_words(&args->words, why);
}

int main(int argc, char **argv)
{
    arguments args = {.url = ADMIN_URL, .retry_s = 60};
    const ls_command_line line = {
        .summary = "Shows and steers the rooms of a Lockstep service.",
        .words = "COMMAND [WORD...]",
        .print_lists = admin_print_commands,
        .ending = "Exit codes: 0 done, 1 the service cannot be reached or says no, 2 usage, or the "
                  "service finds a word wrong, 4 internal.",
        .parts = {{&table, &args, NULL}},
        .read_word = read_word,
        .check = check,
        .user = &args,
    };
    ls_command_line_read(&line, argc, argv);

    const ls_log log = ls_log_stderr("lockstep-admin", LS_LOG_INFO);
    ls_text why = {{0}};
    ls_status status = LS_OK;
    args.service.url = args.url;
    args.service.ca_file = args.ca_path;
    args.service.retry_s = args.retry_s;
    if (args.token_path) {
        status = admin_read_token(args.token_path, &args.service, &why);
    }
    LS_THEN(status, admin_run(&args.service, &args.words, args.prints_json, &why));
    return ls_exit_report(&log, status, &why);
}
