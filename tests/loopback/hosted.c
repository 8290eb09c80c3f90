#define _POSIX_C_SOURCE 200809L
#include "lockstep/tests/loopback/hosted.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ARGUMENTS_MAX = 48,
    PATH_BYTES = 128
};

/* ---- the folder ---- */

void ls_hosted_open(ls_hosted *hosted)
{
    memset(hosted, 0, sizeof *hosted);
    snprintf(hosted->folder, sizeof hosted->folder, "/tmp/lockstep-test-XXXXXX");
    cr_assert_not_null(mkdtemp(hosted->folder));
}

static void remove_folder(const char *folder)
{
    DIR *directory = opendir(folder);
    const struct dirent *entry = NULL;
    while (directory && (entry = readdir(directory)) != NULL) {
        char path[PATH_BYTES + sizeof entry->d_name];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.') {
            unlink(path);
        }
    }
    if (directory) {
        closedir(directory);
    }
    rmdir(folder);
}

/* A process that still runs at the end is the reason why a test failed, or knows it. */
static void tell_if_running(ls_process *process, const char *name)
{
    if (!ls_process_has_ended(process)) {
        fprintf(stderr, "%s still ran: %s\n", name, ls_process_errors(process));
    }
}

void ls_hosted_close(ls_hosted *hosted)
{
    tell_if_running(&hosted->server, "the server");
    for (uint32_t i = 0; i < hosted->client_count; i++) {
        tell_if_running(&hosted->clients[i], "a client");
    }
    ls_process_stop(&hosted->server);
    ls_process_stop(&hosted->other);
    ls_process_stop(&hosted->network);
    for (uint32_t i = 0; i < hosted->client_count; i++) {
        ls_process_stop(&hosted->clients[i]);
        cJSON_Delete(hosted->client_summaries[i]);
    }
    cJSON_Delete(hosted->server_summary);
    cJSON_Delete(hosted->network_summary);
    remove_folder(hosted->folder);
}

/* ---- starting ---- */

typedef struct argument_list {
    const char *items[ARGUMENTS_MAX + 1];
    size_t count;
} argument_list;

static void add_arguments(argument_list *list, const char *const *arguments)
{
    for (; *arguments; arguments++) {
        cr_assert_lt(list->count, ARGUMENTS_MAX);
        list->items[list->count++] = *arguments;
    }
    list->items[list->count] = NULL;
}

static void start(const ls_hosted *hosted, ls_process *process, const char *name,
                  const char *program, const char *const *arguments)
{
    char stem[PATH_BYTES];
    snprintf(stem, sizeof stem, "%s/%s", hosted->folder, name);
    ls_process_config config = {.program = program,
                                .arguments = arguments,
                                .output_stem = stem,
                                .terminal_columns = hosted->terminal_columns,
                                .preload = hosted->preload};
    ls_process_start(process, &config);
}

/* 0 until the whole number is there. */
static uint16_t read_port(const char *path)
{
    unsigned port = 0;
    char newline = 0;
    FILE *file = fopen(path, "r");
    if (file && (fscanf(file, "%u%c", &port, &newline) != 2 || newline != '\n')) {
        port = 0;
    }
    if (file) {
        fclose(file);
    }
    return (uint16_t)port;
}

/* Starts a program with its files named after it and waits for its port; 0: any. */
static uint16_t start_listening(ls_hosted *hosted, ls_process *process, const char *name,
                                const char *program, uint16_t wanted, const argument_list *own)
{
    char port_file[PATH_BYTES];
    char json[PATH_BYTES];
    char number[8];
    snprintf(number, sizeof number, "%u", wanted);
    snprintf(port_file, sizeof port_file, "%s/%s.port", hosted->folder, name);
    snprintf(json, sizeof json, "%s/%s.json", hosted->folder, name);
    argument_list list = {.count = 0};
    unlink(port_file);
    add_arguments(&list, LS_ARGUMENTS("--port", number, "--port-file", port_file, "--json", json));
    add_arguments(&list, own->items);
    start(hosted, process, name, program, list.items);
    uint64_t end_ms = ls_process_now_ms() + LS_PROCESS_PATIENCE_MS;
    uint16_t port;
    while ((port = read_port(port_file)) == 0) {
        cr_assert(!ls_process_has_ended(process), "the %s ended: %s", name,
                  ls_process_errors(process));
        cr_assert_lt(ls_process_now_ms(), end_ms, "the %s told no port", name);
        ls_process_pause();
    }
    return port;
}

void ls_hosted_serve(ls_hosted *hosted, const char *const *arguments)
{
    argument_list list = {.count = 0};
    add_arguments(&list, LS_ARGUMENTS("--bind", "127.0.0.1", "--bundle-dir", hosted->folder));
    add_arguments(&list, arguments);
    hosted->port = start_listening(hosted, &hosted->server, "server", LS_TEST_SERVER, 0, &list);
}

void ls_hosted_kill(ls_hosted *hosted)
{
    ls_process_signal(&hosted->server, SIGKILL);
    cr_assert(ls_process_wait(&hosted->server, LS_PROCESS_PATIENCE_MS));
    cr_assert_eq(hosted->server.ending_signal, SIGKILL, "it had ended before: %s",
                 ls_process_errors(&hosted->server));
}

void ls_hosted_serve_again(ls_hosted *hosted, const char *const *arguments)
{
    argument_list list = {.count = 0};
    add_arguments(&list, LS_ARGUMENTS("--bind", "127.0.0.1", "--bundle-dir", hosted->folder));
    add_arguments(&list, arguments);
    start_listening(hosted, &hosted->server, "server", LS_TEST_SERVER, hosted->port, &list);
}

void ls_hosted_condition(ls_hosted *hosted, const char *const *arguments)
{
    char server[32];
    snprintf(server, sizeof server, "127.0.0.1:%u", hosted->port);
    argument_list list = {.count = 0};
    add_arguments(&list, LS_ARGUMENTS(server, "--listen", "127.0.0.1:0"));
    add_arguments(&list, arguments);
    hosted->port = start_listening(hosted, &hosted->network, "network", LS_TEST_NETCOND, 0, &list);
}

void ls_hosted_end_condition(ls_hosted *hosted, int signal_number)
{
    ls_process_signal(&hosted->network, signal_number);
    ls_hosted_expect_exit(&hosted->network, 0);
}

uint32_t ls_hosted_join(ls_hosted *hosted, const char *const *arguments)
{
    uint32_t index = hosted->client_count++;
    cr_assert_lt(index, LS_HOSTED_CLIENTS_MAX);
    char name[24];
    char json[PATH_BYTES];
    char server[32];
    snprintf(name, sizeof name, "client%u", index);
    snprintf(json, sizeof json, "%s/%s.json", hosted->folder, name);
    snprintf(server, sizeof server, "127.0.0.1:%u", hosted->port);
    argument_list list = {.count = 0};
    add_arguments(&list, LS_ARGUMENTS(server, "--json", json));
    add_arguments(&list, arguments);
    start(hosted, &hosted->clients[index], name, LS_TEST_CLIENT, list.items);
    return index;
}

const char *ls_hosted_run(ls_hosted *hosted, const char *program, const char *const *arguments,
                          int exit_code)
{
    start(hosted, &hosted->other, "other", program, arguments);
    ls_hosted_expect_exit(&hosted->other, exit_code);
    return ls_process_errors(&hosted->other);
}

/* ---- ends and words ---- */

void ls_hosted_expect_exit(ls_process *process, int exit_code)
{
    cr_assert(ls_process_wait(process, LS_PROCESS_PATIENCE_MS), "still running: %s",
              ls_process_errors(process));
    cr_assert(process->ending_signal == 0 && process->exit_code == exit_code,
              "exit code %d (signal %d), expected %d: %s", process->exit_code,
              process->ending_signal, exit_code, ls_process_errors(process));
}

static bool have_all_ended(ls_hosted *hosted)
{
    bool have_ended = ls_process_has_ended(&hosted->server);
    for (uint32_t i = 0; i < hosted->client_count; i++) {
        have_ended = ls_process_has_ended(&hosted->clients[i]) && have_ended;
    }
    return have_ended;
}

void ls_hosted_relay(ls_hosted *hosted, ls_relay *relay)
{
    uint64_t end_ms = ls_process_now_ms() + LS_PROCESS_PATIENCE_MS;
    while (!have_all_ended(hosted) && ls_process_now_ms() < end_ms) {
        ls_relay_turn(relay);
        ls_process_pause();
    }
}

void ls_hosted_expect_clean_exits(ls_hosted *hosted)
{
    ls_hosted_expect_exit(&hosted->server, 0);
    for (uint32_t i = 0; i < hosted->client_count; i++) {
        ls_hosted_expect_exit(&hosted->clients[i], 0);
    }
}

void ls_hosted_expect_words(ls_process *process, const char *words)
{
    cr_assert(ls_process_wait_for_words(process, words, LS_PROCESS_PATIENCE_MS), "no \"%s\" in: %s",
              words, ls_process_errors(process));
}

void ls_hosted_expect_all(ls_process *process, const char *const *words)
{
    const char *errors = ls_process_errors(process);
    for (; *words; words++) {
        cr_expect(strstr(errors, *words), "no \"%s\" in: %s", *words, errors);
    }
}

void ls_hosted_expect_none(ls_process *process, const char *const *words)
{
    const char *errors = ls_process_errors(process);
    for (; *words; words++) {
        cr_expect(!strstr(errors, *words), "\"%s\" in: %s", *words, errors);
    }
}

/* ---- summaries ---- */

static cJSON *read_summary(const ls_hosted *hosted, const char *name)
{
    static char text[256 << 10];
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s.json", hosted->folder, name);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "there is no %s", path);
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = '\0';
    const char *end = NULL;
    cJSON *json = cJSON_ParseWithOpts(text, &end, false);
    cr_assert_not_null(json, "no JSON: %s", text);
    cr_assert_str_eq(end, "\n", "more than one object and a newline: %s", text);
    return json;
}

const cJSON *ls_hosted_server_summary(ls_hosted *hosted)
{
    if (!hosted->server_summary) {
        hosted->server_summary = read_summary(hosted, "server");
    }
    return hosted->server_summary;
}

const cJSON *ls_hosted_client_summary(ls_hosted *hosted, uint32_t index)
{
    char name[24];
    snprintf(name, sizeof name, "client%u", index);
    if (!hosted->client_summaries[index]) {
        hosted->client_summaries[index] = read_summary(hosted, name);
    }
    return hosted->client_summaries[index];
}

const cJSON *ls_hosted_network_summary(ls_hosted *hosted)
{
    if (!hosted->network_summary) {
        hosted->network_summary = read_summary(hosted, "network");
    }
    return hosted->network_summary;
}

const cJSON *ls_hosted_object(const cJSON *object, const char *key)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, key);
    cr_assert(cJSON_IsObject(member), "%s is no object", key);
    return member;
}

double ls_hosted_number(const cJSON *object, const char *key)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, key);
    cr_assert(cJSON_IsNumber(member), "%s is no number", key);
    return member->valuedouble;
}

const char *ls_hosted_word(const cJSON *object, const char *key)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, key);
    cr_assert(cJSON_IsString(member), "%s is no string", key);
    return member->valuestring;
}

int ls_hosted_count(const cJSON *object, const char *key)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, key);
    cr_assert(cJSON_IsArray(member), "%s is no array", key);
    return cJSON_GetArraySize(member);
}

const cJSON *ls_hosted_item(const cJSON *object, const char *key, int index)
{
    cr_assert_lt(index, ls_hosted_count(object, key));
    return cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(object, key), index);
}

const cJSON *ls_hosted_player(ls_hosted *hosted, const char *name)
{
    const cJSON *summary = ls_hosted_server_summary(hosted);
    for (int i = 0; i < ls_hosted_count(summary, "players"); i++) {
        const cJSON *player = ls_hosted_item(summary, "players", i);
        if (strcmp(ls_hosted_word(player, "name"), name) == 0) {
            return player;
        }
    }
    cr_assert_fail("no player %s", name);
    return NULL;
}

void ls_hosted_expect_left(ls_hosted *hosted, const char *name, const char *status,
                           const char *words)
{
    const cJSON *player = ls_hosted_player(hosted, name);
    char left[128];
    snprintf(left, sizeof left, ": %s (slot %.0f) left at tick ", name,
             ls_hosted_number(player, "slot"));
    cr_expect_str_eq(ls_hosted_word(player, "status"), status);
    ls_hosted_expect_all(&hosted->server, LS_ARGUMENTS(left, words));
}

void ls_hosted_expect_agreement(ls_hosted *hosted, uint32_t index)
{
    const cJSON *server = ls_hosted_server_summary(hosted);
    const cJSON *client = ls_hosted_client_summary(hosted, index);
    cr_expect_eq(ls_hosted_number(client, "final_tick"), ls_hosted_number(server, "final_tick"),
                 "client %u", index);
    cr_expect_str_eq(ls_hosted_word(client, "final_hash"), ls_hosted_word(server, "final_hash"),
                     "client %u", index);
}

void ls_hosted_expect_perfect(ls_hosted *hosted, uint32_t ticks)
{
    ls_hosted_expect_clean_exits(hosted);
    const cJSON *server = ls_hosted_server_summary(hosted);
    cr_expect_eq(ls_hosted_number(server, "final_tick"), ticks);
    cr_expect_eq(ls_hosted_number(server, "hashes_compared"), hosted->client_count * (ticks + 1.0));
    cr_expect_eq(ls_hosted_count(server, "desyncs"), 0);
    cr_expect_eq(ls_hosted_count(server, "players"), (int)hosted->client_count);
    for (int i = 0; i < ls_hosted_count(server, "players"); i++) {
        const cJSON *player = ls_hosted_item(server, "players", i);
        cr_expect_eq(ls_hosted_number(player, "hashes_compared"), ticks + 1.0);
        cr_expect_str_eq(ls_hosted_word(player, "status"), "OK");
    }
    for (uint32_t i = 0; i < hosted->client_count; i++) {
        ls_hosted_expect_agreement(hosted, i);
        cr_expect_eq(ls_hosted_count(ls_hosted_client_summary(hosted, i), "desyncs"), 0);
    }
}
