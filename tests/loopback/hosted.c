#define _POSIX_C_SOURCE 200809L
#include "lockstep/tests/loopback/hosted.h"

#include <dirent.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ARGUMENTS_MAX = 48,
    TEXT_BYTES_MAX = 1 << 20,
    PATH_BYTES = 128
};

/* Re-runs with sanitizers on a busy machine are slow. */
#define PATIENCE_MS "30000"
/* A client goes back to a server that it has not heard for a fifth of this, and its states of that
 * time are not compared one by one: a busy machine may stop a program for seconds. */
#define TIMEOUT_MS "60000"
/* For a client that a busy machine lets say HELLO too late, so that the server has closed the
 * connection: it asks again. */
#define CONNECT_WAIT_S "60"

/* ---- the folder ---- */

struct hosted hosted;

static char texts[TEXT_BYTES_MAX]; /* of hosted_text */
static size_t text_bytes;

void hosted_open(void)
{
    memset(&hosted, 0, sizeof hosted);
    text_bytes = 0;
    snprintf(hosted.folder, sizeof hosted.folder, "/tmp/lockstep-test-XXXXXX");
    cr_assert_not_null(mkdtemp(hosted.folder));
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

static bool is_running(ls_process *process)
{
    return !ls_process_has_ended(process);
}

static void report_process(ls_process *process, const char *name)
{
    if (is_running(process)) {
        fprintf(stderr, "%s still ran: %s\n", name, ls_process_errors(process));
    } else {
        fprintf(stderr, "%s ended with exit code %d, signal %d: %s\n", name, process->exit_code,
                process->ending_signal, ls_process_errors(process));
    }
}

/* A process that still runs at the end is the reason why a test failed, or knows it; or waits for
 * one that has ended. */
static void report_if_running(void)
{
    bool is_one_running = is_running(&hosted.server);
    for (uint32_t i = 0; i < hosted.client_count; i++) {
        is_one_running = is_one_running || is_running(&hosted.clients[i]);
    }
    if (!is_one_running) {
        return;
    }
    report_process(&hosted.server, "the server");
    for (uint32_t i = 0; i < hosted.client_count; i++) {
        report_process(&hosted.clients[i], "a client");
    }
}

void hosted_close(void)
{
    report_if_running();
    ls_process_stop(&hosted.server);
    ls_process_stop(&hosted.other);
    ls_process_stop(&hosted.network);
    for (uint32_t i = 0; i < hosted.client_count; i++) {
        ls_process_stop(&hosted.clients[i]);
        cJSON_Delete(hosted.client_summaries[i]);
    }
    cJSON_Delete(hosted.server_summary);
    cJSON_Delete(hosted.network_summary);
    remove_folder(hosted.folder);
}

const char *hosted_text(const char *format, ...)
{
    char *text = texts + text_bytes;
    va_list values;
    va_start(values, format);
    int size = vsnprintf(text, sizeof texts - text_bytes, format, values);
    va_end(values);
    text_bytes += (size_t)size + 1;
    cr_assert_leq(text_bytes, sizeof texts);
    return text;
}

const char *hosted_path(const char *name)
{
    return hosted_text("%s/%s", hosted.folder, name);
}

void hosted_reopen(void)
{
    hosted_close();
    hosted_open();
}

void hosted_flip_bits(const char *path, long place, int bits)
{
    FILE *file = fopen(path, "r+b");
    cr_assert_not_null(file, "there is no %s", path);
    fseek(file, place, SEEK_SET);
    int byte = fgetc(file);
    fseek(file, place, SEEK_SET);
    fputc(byte ^ bits, file);
    fclose(file);
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
}

static bool has_argument(const char *const *arguments, const char *argument)
{
    while (*arguments && strcmp(*arguments, argument) != 0) {
        arguments++;
    }
    return *arguments != NULL;
}

static void start(ls_process *process, const char *name, const char *program,
                  const char *const *arguments)
{
    ls_process_config config = {.program = program,
                                .arguments = arguments,
                                .output_stem = hosted_path(name),
                                .terminal_columns = hosted.terminal_columns,
                                .input = hosted.input,
                                .errors = hosted.errors,
                                .preload = hosted.preload};
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
static void start_listening(ls_process *process, const char *name, uint16_t wanted,
                            argument_list *list, const char *const *arguments)
{
    const char *program = process == &hosted.server ? LS_TEST_SERVER : LS_TEST_NETCOND;
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s.port", hosted.folder, name);
    unlink(path);
    add_arguments(list, LS_ARGUMENTS("--port", hosted_text("%u", wanted), "--port-file", path,
                                     "--json", hosted_text("%s/%s.json", hosted.folder, name)));
    add_arguments(list, arguments);
    start(process, name, program, list->items);
    uint64_t end_ms = ls_process_now_ms() + LS_PROCESS_PATIENCE_MS;
    while ((hosted.port = read_port(path)) == 0) {
        cr_assert(!ls_process_has_ended(process), "the %s ended: %s", name,
                  ls_process_errors(process));
        cr_assert_lt(ls_process_now_ms(), end_ms, "the %s told no port", name);
        ls_process_pause();
    }
}

static void serve_on(uint16_t port, const char *const *arguments)
{
    argument_list list = {.count = 0};
    add_arguments(&list, LS_ARGUMENTS("--bind", "127.0.0.1", "--find", "off", "--bundle-dir",
                                      hosted.folder, "--investigation-timeout", PATIENCE_MS));
    if (!has_argument(arguments, "--resume")) { /* a resumed match keeps the one that it had */
        add_arguments(&list, LS_ARGUMENTS("--timeout", TIMEOUT_MS));
    }
    start_listening(&hosted.server, "server", port, &list, arguments);
}

void hosted_serve_with(const char *const *arguments)
{
    serve_on(0, arguments);
}

void hosted_kill(void)
{
    ls_process_signal(&hosted.server, SIGKILL);
    cr_assert(ls_process_wait(&hosted.server, LS_PROCESS_PATIENCE_MS));
    cr_assert_eq(hosted.server.ending_signal, SIGKILL, "it had ended before: %s",
                 ls_process_errors(&hosted.server));
}

void hosted_serve_again_with(const char *const *arguments)
{
    serve_on(hosted.port, arguments);
}

void hosted_condition_with(const char *const *arguments)
{
    argument_list list = {.count = 0};
    add_arguments(&list, LS_ARGUMENTS(hosted_address(), "--listen", "127.0.0.1:0"));
    start_listening(&hosted.network, "network", 0, &list, arguments);
}

void hosted_end_condition(int signal_number)
{
    ls_process_signal(&hosted.network, signal_number);
    hosted_expect_exit(&hosted.network, 0);
}

const char *hosted_address(void)
{
    return hosted_text("127.0.0.1:%u", hosted.port);
}

uint32_t hosted_join_to(const char *place, const char *const *arguments)
{
    uint32_t index = hosted.client_count++;
    cr_assert_lt(index, HOSTED_CLIENTS_MAX);
    const char *name = hosted_text("client%u", index);
    argument_list list = {.count = 0};
    add_arguments(&list, LS_ARGUMENTS(place, "--connect-wait", CONNECT_WAIT_S, "--json",
                                      hosted_text("%s/%s.json", hosted.folder, name)));
    add_arguments(&list, arguments);
    start(&hosted.clients[index], name, LS_TEST_CLIENT, list.items);
    return index;
}

uint32_t hosted_join_with(const char *const *arguments)
{
    return hosted_join_to(hosted_address(), arguments);
}

void hosted_join_bots(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const char *seed = hosted_text("%u", hosted.client_count + 1);
        hosted_join("--bot", seed, "--name", seed);
    }
}

/* A server that is to be refused gets a free port all the same: where another program has its usual
 * one, that would be the reason. */
const char *hosted_run_with(int exit_code, const char *program, const char *const *arguments)
{
    argument_list list = {.count = 0};
    if (strcmp(program, LS_TEST_SERVER) == 0) {
        add_arguments(&list, LS_ARGUMENTS("--port", "0"));
    }
    add_arguments(&list, arguments);
    start(&hosted.other, "other", program, list.items);
    hosted_expect_exit(&hosted.other, exit_code);
    return ls_process_errors(&hosted.other);
}

void hosted_expect_refusal_with(int exit_code, const char *program, const char *words,
                                const char *const *arguments)
{
    hosted_run_with(exit_code, program, arguments);
    hosted_expect_all(&hosted.other, words);
    hosted_expect_none(&hosted.other, "listening");
    cr_expect_str_empty(ls_process_output(&hosted.other));
}

/* ---- ends and words ---- */

void hosted_expect_exit(ls_process *process, int exit_code)
{
    cr_assert(ls_process_wait(process, LS_PROCESS_PATIENCE_MS), "still running: %s",
              ls_process_errors(process));
    cr_assert(process->ending_signal == 0 && process->exit_code == exit_code,
              "exit code %d (signal %d), expected %d: %s", process->exit_code,
              process->ending_signal, exit_code, ls_process_errors(process));
}

static bool have_all_ended(void)
{
    bool have_ended = ls_process_has_ended(&hosted.server);
    for (uint32_t i = 0; i < hosted.client_count; i++) {
        have_ended = ls_process_has_ended(&hosted.clients[i]) && have_ended;
    }
    return have_ended;
}

void hosted_pause_ms(uint64_t duration_ms)
{
    uint64_t end_ms = ls_process_now_ms() + duration_ms;
    while (ls_process_now_ms() < end_ms) {
        ls_process_pause();
    }
}

void hosted_relay_until(ls_relay *relay, ls_process *process, const char *words)
{
    uint64_t end_ms = ls_process_now_ms() + LS_PROCESS_PATIENCE_MS;
    while (!strstr(ls_process_errors(process), words)) {
        cr_assert_lt(ls_process_now_ms(), end_ms, "no \"%s\" in: %s", words,
                     ls_process_errors(process));
        ls_relay_turn(relay);
        ls_process_pause();
    }
}

void hosted_relay(ls_relay *relay)
{
    uint64_t end_ms = ls_process_now_ms() + LS_PROCESS_PATIENCE_MS;
    while (!have_all_ended() && ls_process_now_ms() < end_ms) {
        ls_relay_turn(relay);
        ls_process_pause();
    }
}

void hosted_expect_exits_with(const int *exit_codes, size_t count)
{
    cr_assert_eq(count, hosted.client_count + 1u);
    hosted_expect_exit(&hosted.server, exit_codes[0]);
    for (uint32_t i = 0; i < hosted.client_count; i++) {
        hosted_expect_exit(&hosted.clients[i], exit_codes[1 + i]);
    }
}

void hosted_expect_clean_exits(void)
{
    static const int clean[1 + HOSTED_CLIENTS_MAX];
    hosted_expect_exits_with(clean, hosted.client_count + 1u);
}

void hosted_expect_words(ls_process *process, const char *words)
{
    cr_assert(ls_process_wait_for_words(process, words, LS_PROCESS_PATIENCE_MS), "no \"%s\" in: %s",
              words, ls_process_errors(process));
}

void hosted_end_match(void)
{
    ls_process_signal(&hosted.server, SIGINT);
}

void hosted_end_when_playing(uint32_t index)
{
    hosted_expect_words(&hosted.clients[index], "playing from tick");
    hosted_pause_ms(500);
    hosted_end_match();
}

void hosted_expect_all_with(ls_process *process, const char *const *words)
{
    const char *errors = ls_process_errors(process);
    for (; *words; words++) {
        cr_expect(strstr(errors, *words), "no \"%s\" in: %s", *words, errors);
    }
}

void hosted_expect_none_with(ls_process *process, const char *const *words)
{
    const char *errors = ls_process_errors(process);
    for (; *words; words++) {
        cr_expect(!strstr(errors, *words), "\"%s\" in: %s", *words, errors);
    }
}

/* ---- summaries ---- */

cJSON *hosted_read_json(const char *path)
{
    static char text[1 << 20];
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

static const cJSON *summary_of(cJSON **kept, const char *name)
{
    if (!*kept) {
        *kept = hosted_read_json(hosted_text("%s/%s.json", hosted.folder, name));
    }
    return *kept;
}

const cJSON *hosted_server_summary(void)
{
    return summary_of(&hosted.server_summary, "server");
}

const cJSON *hosted_client_summary(uint32_t index)
{
    return summary_of(&hosted.client_summaries[index], hosted_text("client%u", index));
}

const cJSON *hosted_network_summary(void)
{
    return summary_of(&hosted.network_summary, "network");
}

static const cJSON *find(const cJSON *object, const char *path)
{
    const cJSON *found = object;
    for (const char *rest = path; *rest != '\0';) {
        char key[64];
        size_t size = strcspn(rest, ".");
        snprintf(key, sizeof key, "%.*s", (int)size, rest);
        found = cJSON_IsArray(found) ? cJSON_GetArrayItem(found, (int)strtol(key, NULL, 10))
                                     : cJSON_GetObjectItemCaseSensitive(found, key);
        rest += rest[size] == '.' ? size + 1 : size;
    }
    if (!found) {
        char *text = cJSON_Print(object);
        cr_expect_null(object, "there is no %s in %s", path, text);
        cJSON_free(text);
        cr_assert_fail("an object lacks what is asked for");
    }
    return found;
}

const cJSON *hosted_item(const cJSON *object, const char *format, ...)
{
    char path[64];
    va_list values;
    va_start(values, format);
    vsnprintf(path, sizeof path, format, values);
    va_end(values);
    return find(object, path);
}

bool hosted_is_null(const cJSON *object, const char *path)
{
    return cJSON_IsNull(find(object, path));
}

double hosted_number(const cJSON *object, const char *path)
{
    const cJSON *member = find(object, path);
    cr_assert(cJSON_IsNumber(member), "%s is no number in %s", path,
              cJSON_PrintUnformatted(object));
    return member->valuedouble;
}

const char *hosted_word(const cJSON *object, const char *path)
{
    const cJSON *member = find(object, path);
    cr_assert(cJSON_IsString(member), "%s is no string", path);
    return member->valuestring;
}

int hosted_count(const cJSON *object, const char *path)
{
    const cJSON *member = find(object, path);
    cr_assert(cJSON_IsArray(member), "%s is no array", path);
    return cJSON_GetArraySize(member);
}

double hosted_rollbacks_of(uint32_t client)
{
    return hosted_number(hosted_client_summary(client), "players.0.prediction.rollbacks");
}

const cJSON *hosted_player(const char *name)
{
    const cJSON *server = hosted_server_summary();
    for (int i = 0; i < hosted_count(server, "players"); i++) {
        const cJSON *player = hosted_item(server, "players.%d", i);
        if (strcmp(hosted_word(player, "name"), name) == 0) {
            return player;
        }
    }
    cr_assert_fail("no player %s", name);
    return NULL;
}

void hosted_expect_left(const char *name, const char *status, const char *words)
{
    const cJSON *player = hosted_player(name);
    cr_expect_str_eq(hosted_word(player, "status"), status);
    hosted_expect_all(
        &hosted.server,
        hosted_text(": %s (slot %.0f) left at tick ", name, hosted_number(player, "slot")), words);
}

void hosted_expect_agreement(uint32_t index)
{
    const cJSON *server = hosted_server_summary();
    const cJSON *client = hosted_client_summary(index);
    cr_expect_eq(hosted_number(client, "final_tick"), hosted_number(server, "final_tick"),
                 "client %u", index);
    cr_expect_str_eq(hosted_word(client, "final_hash"), hosted_word(server, "final_hash"),
                     "client %u", index);
}

void hosted_expect_all_agree(void)
{
    for (uint32_t i = 0; i < hosted.client_count; i++) {
        hosted_expect_agreement(i);
    }
}

void hosted_end_perfectly(void)
{
    hosted_end_match();
    hosted_expect_exit(&hosted.server, 0);
    double ticks = hosted_number(hosted_server_summary(), "final_tick");
    hosted_expect_perfect((uint32_t)ticks);
}

void hosted_expect_perfect(uint32_t ticks)
{
    hosted_expect_clean_exits();
    hosted_expect_all_agree();
    const cJSON *server = hosted_server_summary();
    cr_expect_eq(hosted_number(server, "final_tick"), ticks);
    cr_expect_eq(hosted_number(server, "hashes_compared"), hosted.client_count * (ticks + 1.0));
    cr_expect_eq(hosted_count(server, "desyncs"), 0);
    cr_expect_eq(hosted_count(server, "players"), (int)hosted.client_count);
    for (int i = 0; i < hosted_count(server, "players"); i++) {
        const cJSON *player = hosted_item(server, "players.%d", i);
        cr_expect_eq(hosted_number(player, "hashes_compared"), ticks + 1.0,
                     "slot %d: %.0f hashes were compared: %s", i,
                     hosted_number(player, "hashes_compared"), ls_process_errors(&hosted.server));
        cr_expect_str_eq(hosted_word(player, "status"), "OK");
    }
    for (uint32_t i = 0; i < hosted.client_count; i++) {
        cr_expect_eq(hosted_count(hosted_client_summary(i), "desyncs"), 0);
    }
}
