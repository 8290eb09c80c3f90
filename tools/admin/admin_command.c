#define _GNU_SOURCE
#include "lockstep/tools/admin/admin_command.h"

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/program/command_line.h"
#include "lockstep/common/program/http_transfer.h"
#include "lockstep/common/program/json.h"
#include "lockstep/common/program/option.h"
#include "lockstep/common/system/private_file.h"
#include "lockstep/server/service/room_settings.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- asking the service ---- */

/* One request of lockstep-admin to the API of a service, and what a refusal means to a shell. */

#define URL_BYTES_MAX 1024u

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

/* The request for a path below /api/v1/; `url` has URL_BYTES_MAX and stays as long as it. */
static ls_http_ask admin_request(const admin_service *service, const char *method, const char *path,
                                 char *url)
{
    snprintf(url, URL_BYTES_MAX, "%s/api/v1/%s", service->url, path);
    return (ls_http_ask){
        .method = method,
        .url = url,
        .token = service->token[0] ? service->token : NULL,
        .ca_file = service->ca_file,
        .timeout_ms = ANSWER_TIMEOUT_MS,
    };
}

/* Of a reply that is no success: the sentence in it. */
static ls_status refusal(const ls_http_got *got, ls_text *why)
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
        return refusal(got, why);
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

/* OK and the answer, for ls_json_destroy; or the service's own sentence: BAD_ARGUMENT when the
 * request cannot be right, REFUSED otherwise; or why nothing came. `body` may be NULL, and is
 * destroyed. */
static ls_status ask_fetch(const admin_service *service, const char *method, const char *path,
                           ls_json *body, ls_json **out, ls_text *why)
{
    char url[URL_BYTES_MAX];
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

/* Its first tag is the picture's, behind what says that it is XML. */
static bool is_svg(const char *text, size_t bytes)
{
    static const char xml[] = "?xml ";
    static const char svg[] = "svg ";
    const char *end = text + bytes;
    if (bytes > sizeof xml && text[0] == '<' && memcmp(text + 1, xml, sizeof xml - 1) == 0) {
        const char *line = memchr(text, '\n', bytes);
        text = line ? line : end;
    }
    while (text < end && *text == '\n') {
        text++;
    }
    return (size_t)(end - text) > sizeof svg && text[0] == '<' &&
           memcmp(text + 1, svg, sizeof svg - 1) == 0;
}

/* An SVG, which a terminal is to show as text. */
static ls_status print_svg(ls_http_got *got, ls_text *why)
{
    if (!is_svg(got->body, got->size)) {
        return ls_fail(LS_MALFORMED, why, "the answer is no picture: is the URL right?");
    }
    char *end = got->body + got->size;
    for (char *line = got->body; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t bytes = newline ? (size_t)(newline - line) : (size_t)(end - line);
        ls_text_make_printable(line, bytes);
        line += bytes + 1;
    }
    return fwrite(got->body, got->size, 1, stdout) == 1 && fflush(stdout) == 0
               ? LS_OK
               : ls_fail(LS_IO, why, "standard output cannot be written");
}

static ls_status print_picture(const admin_service *service, const char *path, ls_text *why)
{
    char url[URL_BYTES_MAX];
    const ls_http_ask ask = admin_request(service, "GET", path, url);
    ls_http_got got = {0};
    ls_status status = ls_http_client_ask(&ask, &got, why);
    if (status == LS_OK && got.status != 200) {
        status = refusal(&got, why);
    } else if (status == LS_OK) {
        status = print_svg(&got, why);
    }
    ls_http_got_deinit(&got);
    return status;
}

/* ---- commands ---- */

enum {
    BAN_SECONDS_MAX = 10 * 365 * 86400
};

/* The request that the words of a command make. */
typedef struct request {
    char path[128];
    ls_json *body; /* NULL: none */
} request;

typedef struct command {
    const char *name;
    const char *words; /* behind the name, for --help */
    uint32_t min, max; /* of them */
    bool has_room;     /* the first one is a room's name */
    const char *method;
    const char *path; /* behind that of the room, if it has one */
    /* Adds to the request what the words say; NULL: nothing. */
    ls_status (*fill)(const admin_words *words, request *out, ls_text *why);
    void (*print)(const ls_json *answer); /* NULL: the answer is no JSON */
    const char *help;
} command;

/* ---- text table ---- */

/* Rows of texts with aligned columns, for a terminal. Every cell is made printable: names come from
 * players. */

enum {
    COLUMNS_MAX = 16
};

typedef struct text_table {
    const char *headers[COLUMNS_MAX];
    size_t column_count;
    ls_text *cells;
    size_t cell_count;
    size_t capacity;
} text_table;

/* The headers end with NULL; one that begins with '>' has its column to the right. NULL: memory is
 * out. */
static text_table *text_table_create(const char *const *headers)
{
    text_table *made = calloc(1, sizeof *made);
    while (made && made->column_count < COLUMNS_MAX && headers[made->column_count]) {
        made->headers[made->column_count] = headers[made->column_count];
        made->column_count++;
    }
    return made;
}

static void text_table_destroy(text_table *table)
{
    if (table) {
        free(table->cells);
        free(table);
    }
}

/* Row by row. Cells that find no memory are left out. */
static void text_table_add(text_table *table, const char *format, ...) LS_PRINTF(2, 3);
static void text_table_add(text_table *table, const char *format, ...)
{
    if (table->cell_count == table->capacity) {
        size_t capacity = table->capacity ? 2 * table->capacity : 64;
        ls_text *cells = realloc(table->cells, capacity * sizeof *cells);
        if (!cells) {
            return;
        }
        table->cells = cells;
        table->capacity = capacity;
    }
    ls_text *cell = &table->cells[table->cell_count++];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(cell->bytes, sizeof cell->bytes, format, arguments);
    va_end(arguments);
    ls_text_make_printable(cell->bytes, strlen(cell->bytes));
}

/* Characters of UTF-8. */
static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text; text++) {
        width += ((unsigned char)*text & 0xc0u) != 0x80;
    }
    return width;
}

static void print_cell(const char *text, size_t width, bool is_right, bool is_last, FILE *file)
{
    int space = (int)(width - LS_MIN(width, width_of(text)));
    if (is_right) {
        fprintf(file, "%*s%s", space, "", text);
    } else {
        fprintf(file, "%s%*s", text, is_last ? 0 : space, "");
    }
    fputs(is_last ? "\n" : "  ", file);
}

static void text_table_print(const text_table *table, FILE *file)
{
    size_t columns = table->column_count;
    size_t widths[COLUMNS_MAX] = {0};
    for (size_t i = 0; i < columns; i++) {
        widths[i] = width_of(table->headers[i] + (table->headers[i][0] == '>'));
    }
    for (size_t i = 0; i < table->cell_count; i++) {
        widths[i % columns] = LS_MAX(widths[i % columns], width_of(table->cells[i].bytes));
    }
    for (size_t i = 0; i < columns + table->cell_count; i++) {
        size_t column = i % columns;
        const char *header = table->headers[column];
        bool is_right = header[0] == '>';
        const char *text = i < columns ? header + is_right : table->cells[i - columns].bytes;
        print_cell(text, widths[column], is_right, column + 1 == columns, file);
    }
}

/* ---- values ---- */

static double number_of(const ls_json *object, const char *key)
{
    double number = 0;
    (void)ls_json_read_number(object, key, &number);
    return number;
}

static const char *text_of(const ls_json *object, const char *key)
{
    const char *text = ls_json_read_text(object, key);
    return text ? text : "";
}

static void add_text(text_table *table, const ls_json *object, const char *key)
{
    text_table_add(table, "%s", text_of(object, key));
}

static void add_number(text_table *table, const ls_json *object, const char *key)
{
    text_table_add(table, "%.0f", number_of(object, key));
}

static void add_ms(text_table *table, const ls_json *object, const char *key)
{
    text_table_add(table, "%.1f", number_of(object, key));
}

/* A line of text from the service, for a terminal. */
static void print_line(const char *text)
{
    ls_text line;
    ls_text_set(&line, "%s", text);
    ls_text_make_printable(line.bytes, strlen(line.bytes));
    puts(line.bytes);
}

/* Prints the table, whose rows are the members of the list. */
static void print_list(const char *const *headers, const ls_json *list,
                       void (*add_row)(text_table *table, const ls_json *member))
{
    text_table *table = text_table_create(headers);
    if (!table) {
        return;
    }
    for (; list; list = ls_json_next(list)) {
        add_row(table, list);
    }
    text_table_print(table, stdout);
    text_table_destroy(table);
}

/* ---- answers ---- */

/* Answers of the API as tables and lines for a person, on standard output. They are asked for what
 * is expected alone, and every text is made printable: names come from players. */

static void admin_print_service(const ls_json *answer)
{
    bool is_draining = false;
    const char *why_not = text_of(answer, "why_not");
    (void)ls_json_read_bool(answer, "draining", &is_draining);
    ls_text line;
    ls_text_set(&line, "Lockstep %s, %s: %.0f rooms on %.0f workers, %.0f players, %.0f spectators",
                text_of(answer, "version"),
                is_draining  ? "draining"
                : why_not[0] ? why_not
                             : "ready",
                number_of(answer, "rooms"), number_of(answer, "workers"),
                number_of(answer, "players"), number_of(answer, "spectators"));
    print_line(line.bytes);
}

static void add_room(text_table *table, const ls_json *room)
{
    add_text(table, room, "name");
    add_text(table, room, "state");
    add_text(table, room, "simulation");
    add_number(table, room, "worker");
    text_table_add(table, "%.0f/%.0f", number_of(room, "players"), number_of(room, "seats"));
    add_number(table, room, "spectators");
    add_number(table, room, "tick");
    add_ms(table, room, "lateness_mean_ms");
    add_ms(table, room, "confirm_mean_ms");
    add_number(table, room, "desyncs");
    add_text(table, room, "invite");
}

static void admin_print_rooms(const ls_json *answer)
{
    static const char *const headers[] = {"room",        "state",       "simulation", ">worker",
                                          ">players",    ">spectators", ">tick",      ">late ms",
                                          ">confirm ms", ">desyncs",    "invite",     NULL};
    print_list(headers, ls_json_read_members(answer, "rooms"), add_room);
}

static void add_player(text_table *table, const ls_json *player)
{
    bool is_here = false;
    bool is_desynced = false;
    (void)ls_json_read_bool(player, "is_here", &is_here);
    (void)ls_json_read_bool(player, "is_desynced", &is_desynced);
    add_number(table, player, "slot");
    add_text(table, player, "name");
    text_table_add(table, "%s", !is_here ? "away" : is_desynced ? "desynced" : "here");
    add_ms(table, player, "rtt_ms");
    add_ms(table, player, "slack_ms");
    add_number(table, player, "inputs_late");
    add_number(table, player, "inputs_substituted");
    add_text(table, player, "lag");
    add_text(table, player, "address");
}

static void print_desyncs(const ls_json *desyncs)
{
    for (const ls_json *member = ls_json_first(desyncs); member; member = ls_json_next(member)) {
        double count = 0;
        if (ls_json_value_number(member, &count) && count > 0) {
            ls_text line;
            ls_text_set(&line, "desyncs of class %s: %.0f", ls_json_key(member), count);
            print_line(line.bytes);
        }
    }
}

static void admin_print_room(const ls_json *answer)
{
    static const char *const headers[] = {">slot", "name",         "state", ">rtt ms", ">slack ms",
                                          ">late", ">substituted", "lag",   "address", NULL};
    ls_text line;
    ls_text_set(
        &line, "%s: %s, %s, tick %.0f at %.9g Hz, on worker %.0f, %.0f seats, %.0f spectators",
        text_of(answer, "name"), text_of(answer, "simulation"), text_of(answer, "state"),
        number_of(answer, "tick"), number_of(answer, "tick_rate_hz"), number_of(answer, "worker"),
        number_of(answer, "seats"), number_of(answer, "spectators"));
    print_line(line.bytes);
    if (text_of(answer, "invite")[0]) {
        print_line(text_of(answer, "invite"));
    }
    print_desyncs(ls_json_read_object(ls_json_read_object(answer, "counters"), "desyncs"));
    print_list(headers, ls_json_read_members(answer, "players"), add_player);
}

static void add_worker(text_table *table, const ls_json *worker)
{
    add_number(table, worker, "worker");
    add_number(table, worker, "pid");
    add_number(table, worker, "rooms");
    add_number(table, worker, "players");
    text_table_add(table, "%.0f", 100 * number_of(worker, "load"));
    text_table_add(table, "%.1f", number_of(worker, "cpu_ms") / 1e3);
    text_table_add(table, "%.1f", number_of(worker, "memory_bytes") / 1048576);
    add_number(table, worker, "starts");
}

static void admin_print_workers(const ls_json *answer)
{
    static const char *const headers[] = {">worker", ">process", ">rooms",  ">players", ">load %",
                                          ">cpu s",  ">MiB",     ">starts", NULL};
    print_list(headers, ls_json_read_members(answer, "workers"), add_worker);
}

enum {
    WHEN_BYTES_MAX = 32
};

static void tell_second(uint64_t unix_s, char when[WHEN_BYTES_MAX])
{
    const time_t seconds = (time_t)unix_s;
    struct tm local;
    when[0] = '\0';
    if (localtime_r(&seconds, &local)) {
        strftime(when, WHEN_BYTES_MAX, "%Y-%m-%d %H:%M:%S", &local);
    }
}

static void tell_when(const ls_json *of, char when[WHEN_BYTES_MAX])
{
    uint64_t unix_ms = 0;
    (void)ls_json_read_u64(of, "unix_ms", &unix_ms);
    tell_second(unix_ms / 1000, when);
}

static void add_audit(text_table *table, const ls_json *entry)
{
    char when[WHEN_BYTES_MAX];
    tell_when(entry, when);
    text_table_add(table, "%s", when);
    text_table_add(table, "%s (%s)", text_of(entry, "name"), text_of(entry, "role"));
    text_table_add(table, "%s", text_of(entry, "what"));
    text_table_add(table, "%s", text_of(entry, "body"));
    add_number(table, entry, "status");
    text_table_add(table, "%s", text_of(entry, "result"));
}

static void admin_print_audit(const ls_json *answer)
{
    static const char *const headers[] = {"when",    "operator", "what", "with",
                                          ">status", "result",   NULL};
    print_list(headers, ls_json_read_members(answer, "entries"), add_audit);
}

static void add_ban(text_table *table, const ls_json *ban)
{
    uint64_t until_s = 0;
    char when[WHEN_BYTES_MAX];
    (void)ls_json_read_u64(ban, "until_unix_s", &until_s);
    tell_second(until_s, when);
    add_number(table, ban, "number");
    add_text(table, ban, "kind");
    add_text(table, ban, "what");
    text_table_add(table, "%s", when);
    add_text(table, ban, "why");
}

static void admin_print_bans(const ls_json *answer)
{
    static const char *const headers[] = {">number", "kind", "who", "until", "why", NULL};
    print_list(headers, ls_json_read_members(answer, "bans"), add_ban);
}

static void admin_print_ban(const ls_json *answer)
{
    printf("%.0f\n", number_of(answer, "number"));
}

static void admin_print_opened(const ls_json *answer)
{
    print_line(text_of(answer, "name"));
}

static void admin_print_result(const ls_json *answer)
{
    ls_text lacks = {{0}};
    print_line(text_of(answer, "result"));
    if (ls_json_has(answer, "lacks")) {
        ls_text_set(&lacks, "%s", text_of(answer, "lacks"));
        ls_text_make_printable(lacks.bytes, strlen(lacks.bytes));
        fprintf(stderr, "lockstep-admin: warning: %s\n", lacks.bytes);
    }
}

/* ---- events ---- */

/* Follows the events of a service and prints each as a line. */

enum {
    LINE_BYTES_MAX = 16384,
    IDLE_TIMEOUT_S = 45, /* a comment comes every 10 s */
};

typedef struct follower {
    bool prints_json;
    bool has_come;   /* something, in this stream */
    uint64_t newest; /* number; 0: none has come */
    char line[LINE_BYTES_MAX];
    size_t size;
} follower;

/* "player-joined" is "player joined", and of a slot "player joined (slot 2)". */
static void add_kind(const ls_json *event, ls_text *line)
{
    double slot = 0;
    const char *kind = ls_json_read_text(event, "kind");
    for (; kind && *kind != '\0'; kind++) {
        ls_text_add(line, "%c", *kind == '-' ? ' ' : *kind);
    }
    if (ls_json_read_number(event, "slot", &slot)) {
        ls_text_add(line, " (slot %.0f)", slot);
    }
}

static void print_event(const ls_json *event)
{
    const char *room = ls_json_read_text(event, "room");
    const char *sentence = ls_json_read_text(event, "text");
    char when[WHEN_BYTES_MAX];
    ls_text line;
    tell_when(event, when);
    ls_text_set(&line, "%s  %s%s", when, room ? room : "", room && room[0] ? ": " : "");
    add_kind(event, &line);
    if (sentence && sentence[0] != '\0') {
        ls_text_add(&line, ": %s", sentence);
    }
    ls_text_make_printable(line.bytes, strlen(line.bytes));
    puts(line.bytes);
}

static void receive_line(follower *to)
{
    static const char start[] = "data: ";
    size_t skip = sizeof start - 1;
    if (to->size <= skip || memcmp(to->line, start, skip) != 0) {
        return;
    }
    ls_json *event = ls_json_parse(to->line + skip, to->size - skip);
    if (ls_json_is_object(event)) {
        (void)ls_json_read_u64(event, "number", &to->newest);
        if (to->prints_json) {
            (void)ls_json_write_line(event, stdout);
        } else {
            print_event(event);
        }
    }
    ls_json_destroy(event);
}

static ls_status receive_bytes(void *user, const char *bytes, size_t size)
{
    follower *to = user;
    to->has_come = true;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '\n') {
            receive_line(to);
            to->size = 0;
        } else if (to->size == LINE_BYTES_MAX) {
            return LS_MALFORMED;
        } else {
            to->line[to->size++] = bytes[i];
        }
    }
    return fflush(stdout) == 0 ? LS_OK : LS_IO;
}

/* One stream, to its end. */
static ls_status follow(const admin_service *service, follower *to, ls_text *why)
{
    char url[URL_BYTES_MAX];
    char last[48];
    ls_http_ask ask = admin_request(service, "GET", "events", url);
    ls_http_got got = {0};
    snprintf(last, sizeof last, "Last-Event-ID: %" PRIu64, to->newest);
    ask.header = to->newest > 0 ? last : NULL;
    ask.timeout_ms = 0;
    ask.idle_timeout_s = IDLE_TIMEOUT_S;
    ask.receive = receive_bytes;
    ask.user = to;
    to->size = 0;
    to->has_come = false;
    ls_status status = ls_http_client_ask(&ask, &got, why);
    if (status == LS_OK && got.status != 200) {
        status = refusal(&got, why);
    }
    ls_http_got_deinit(&got);
    return status;
}

/* Whether another try may find a service that is started again. */
static bool is_lost(ls_status status)
{
    return status == LS_OK || status == LS_REFUSED || status == LS_DISCONNECTED ||
           status == LS_TIMED_OUT || status == LS_IO;
}

/* Until the service has ended the stream, or is lost, and is not found again within its `retry_s`.
 * Goes on behind the newest event then. `prints_json`: an object a line. */
static ls_status admin_follow_events(const admin_service *service, bool prints_json, ls_text *why)
{
    const struct timespec pause = {.tv_sec = 1};
    follower to = {.prints_json = prints_json};
    ls_status status = follow(service, &to, why);
    uint32_t lost_s = to.has_come ? 0 : service->retry_s; /* one that was never there is not lost */
    while (is_lost(status) && lost_s < service->retry_s) {
        if (lost_s++ == 0) {
            fprintf(stderr,
                    "lockstep-admin: the service is gone: looking for it for %" PRIu32 " s\n",
                    service->retry_s);
        }
        nanosleep(&pause, NULL);
        ls_text_set(why, "%s", "");
        status = follow(service, &to, why);
        lost_s = to.has_come ? 0 : lost_s;
    }
    return status;
}

/* ---- words ---- */

static const char *word(const admin_words *words, uint32_t index)
{
    return index < words->count ? words->words[index] : NULL;
}

static ls_status check_room(const char *name, ls_text *why)
{
    if (ls_room_name_is_valid(name)) {
        return LS_OK;
    }
    return ls_fail(LS_BAD_ARGUMENT, why,
                   "the name of a room has up to 47 letters, digits, '-' and '_', not '%s'", name);
}

static ls_status set_player_path(const admin_words *words, const char *verb, request *out,
                                 ls_text *why)
{
    uint64_t slot = 0;
    ls_status status = ls_option_number("SLOT", word(words, 2),
                                        (ls_option_range){0, LS_PLAYERS_MAX - 1}, &slot, why);
    snprintf(out->path, sizeof out->path, "rooms/%.60s/players/%" PRIu64 "/%s", word(words, 1),
             slot, verb);
    return status;
}

static void add_why(ls_json *body, const char *why)
{
    if (why) {
        ls_json_text(body, "why", why);
    }
}

static ls_status fill_kick(const admin_words *words, request *out, ls_text *why)
{
    out->body = ls_json_create();
    add_why(out->body, word(words, 3));
    return set_player_path(words, "kick", out, why);
}

static ls_status fill_why(const admin_words *words, request *out, ls_text *why)
{
    (void)why;
    out->body = ls_json_create();
    add_why(out->body, word(words, 2));
    return LS_OK;
}

static ls_status fill_seconds(const admin_words *words, request *out, ls_text *why)
{
    uint64_t seconds = 0;
    ls_status status = ls_option_number("SECONDS", word(words, 3),
                                        (ls_option_range){1, BAN_SECONDS_MAX}, &seconds, why);
    out->body = ls_json_create();
    ls_json_number(out->body, "seconds", (double)seconds);
    add_why(out->body, word(words, 4));
    return status;
}

static ls_status fill_ban(const admin_words *words, request *out, ls_text *why)
{
    ls_status status = fill_seconds(words, out, why);
    if (word(words, 5)) {
        ls_json_text(out->body, "by", word(words, 5));
    }
    return status == LS_OK ? set_player_path(words, "ban", out, why) : status;
}

static ls_status fill_add_ban(const admin_words *words, request *out, ls_text *why)
{
    ls_status status = fill_seconds(words, out, why);
    ls_json_text(out->body, "kind", word(words, 1));
    ls_json_text(out->body, "what", word(words, 2));
    return status;
}

static ls_status fill_unban(const admin_words *words, request *out, ls_text *why)
{
    uint64_t number = 0;
    ls_status status =
        ls_option_number("NUMBER", word(words, 1), (ls_option_range){1, UINT32_MAX}, &number, why);
    snprintf(out->path, sizeof out->path, "bans/%" PRIu64, number);
    return status;
}

static ls_status fill_message(const admin_words *words, request *out, ls_text *why)
{
    bool is_for_room = words->count > 2;
    ls_status status = is_for_room ? check_room(word(words, 1), why) : LS_OK;
    if (is_for_room) {
        snprintf(out->path, sizeof out->path, "rooms/%.60s/message", word(words, 1));
    }
    out->body = ls_json_create();
    ls_json_text(out->body, "text", word(words, is_for_room ? 2 : 1));
    return status;
}

static ls_status add_setting(ls_room_settings *settings, const char *text, ls_text *why)
{
    char flag[sizeof settings->rows[0].flag];
    const char *equals = strchr(text, '=');
    size_t size = equals ? (size_t)(equals - text) : 0;
    if (size == 0 || size >= sizeof flag) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "create takes flags as FLAG=VALUE, for instance players=4, not '%s'", text);
    }
    memcpy(flag, text, size);
    flag[size] = '\0';
    return ls_room_settings_set(settings, flag, equals + 1, why);
}

static ls_status fill_create(const admin_words *words, request *out, ls_text *why)
{
    ls_room_settings settings = {.count = 0};
    ls_status status = LS_OK;
    for (uint32_t i = 1; status == LS_OK && i < words->count; i++) {
        status = add_setting(&settings, word(words, i), why);
    }
    out->body = ls_json_create();
    ls_room_settings_write(&settings, out->body);
    return status;
}

/* ---- the table ---- */

static const command commands[] = {
    {"service", "", 0, 0, false, "GET", "service", NULL, admin_print_service,
     "the service as a whole"},
    {"rooms", "", 0, 0, false, "GET", "rooms", NULL, admin_print_rooms, "all rooms"},
    {"room", " NAME", 1, 1, true, "GET", "", NULL, admin_print_room, "one room and its players"},
    {"workers", "", 0, 0, false, "GET", "workers", NULL, admin_print_workers,
     "the worker processes"},
    {"audit", "", 0, 0, false, "GET", "audit", NULL, admin_print_audit,
     "what operators have asked, and what came of it"},
    {"events", "", 0, 0, false, "GET", "events", NULL, NULL, "events as they happen"},
    {"picture", " NAME", 1, 1, true, "GET", "/picture", NULL, NULL,
     "prints what the room looks like, as an SVG"},
    {"create", " [FLAG=VALUE...]", 0, ADMIN_WORDS_MAX - 1, false, "POST", "rooms", fill_create,
     admin_print_opened,
     "opens a room and prints its name: name=NAME, flags of lockstep-server without dashes, "
     "param=map=plain, and rotation='map=canyon ticks=3600' for each match that it plays in turn"},
    {"end", " NAME", 1, 1, true, "DELETE", "", NULL, admin_print_result, "ends a room"},
    {"pause", " NAME [WHY]", 1, 2, true, "POST", "/pause", fill_why, admin_print_result,
     "halts a room; its players read why"},
    {"unpause", " NAME [WHY]", 1, 2, true, "POST", "/unpause", fill_why, admin_print_result,
     "lets it go on"},
    {"save", " NAME [WHY]", 1, 2, true, "POST", "/save", fill_why, admin_print_result,
     "leaves a room in its journal, to go on another time; prints the file"},
    {"kick", " NAME SLOT [WHY]", 2, 3, true, "POST", "", fill_kick, admin_print_result,
     "sends a player away"},
    {"ban", " NAME SLOT SECONDS [WHY [BY]]", 3, 5, true, "POST", "", fill_ban, admin_print_result,
     "sends a player away and refuses it in every room, by its address, or by BY: account or "
     "name"},
    {"bans", "", 0, 0, false, "GET", "bans", NULL, admin_print_bans,
     "who is banned, and until when"},
    {"add-ban", " address|account|name WHO SECONDS [WHY]", 3, 4, false, "POST", "bans",
     fill_add_ban, admin_print_ban, "sends somebody away, now and later; prints the ban's number"},
    {"unban", " NUMBER", 1, 1, false, "DELETE", "", fill_unban, admin_print_result, "lifts a ban"},
    {"message", " [NAME] TEXT", 1, 2, false, "POST", "message", fill_message, admin_print_result,
     "says TEXT to the players of one room, or of all"},
    {"drain", "", 0, 0, false, "POST", "drain", NULL, admin_print_result,
     "opens no more rooms; the service ends when the last one is over"},
};

enum {
    COMMAND_COUNT = sizeof commands / sizeof commands[0],
    HELP_COLUMN = 6,
};

static const command *find(const char *name)
{
    for (uint32_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

void admin_print_commands(FILE *file)
{
    fprintf(file, "Commands:\n");
    for (uint32_t i = 0; i < COMMAND_COUNT; i++) {
        ls_text head = {{0}};
        ls_text_set(&head, "  %s%s: ", commands[i].name, commands[i].words);
        ls_command_line_print_row(file, head.bytes, commands[i].help, HELP_COLUMN);
    }
}

static ls_status make_request(const command *of, const admin_words *words, request *out,
                              ls_text *why)
{
    ls_status status = of->has_room ? check_room(word(words, 1), why) : LS_OK;
    if (of->has_room) {
        snprintf(out->path, sizeof out->path, "rooms/%.60s%s", word(words, 1), of->path);
    } else {
        snprintf(out->path, sizeof out->path, "%s", of->path);
    }
    if (status == LS_OK && of->fill) {
        status = of->fill(words, out, why);
    }
    return status;
}

ls_status admin_check_words(const admin_words *words, ls_text *why)
{
    if (words->count == 0) {
        return ls_fail(LS_BAD_ARGUMENT, why, "the command is missing: rooms, room, create, ...");
    }
    const command *of = find(words->words[0]);
    if (!of) {
        return ls_fail(LS_BAD_ARGUMENT, why, "'%s' is no command: --help lists them",
                       words->words[0]);
    }
    if (words->count - 1 < of->min || words->count - 1 > of->max) {
        return ls_fail(LS_BAD_ARGUMENT, why, "%s takes%s", of->name,
                       of->words[0] ? of->words : " no words");
    }
    request made = {.body = NULL};
    ls_status status = make_request(of, words, &made, why);
    ls_json_destroy(made.body);
    return status;
}

ls_status admin_run(const admin_service *service, const admin_words *words, bool prints_json,
                    ls_text *why)
{
    const command *of = find(words->words[0]);
    if (strcmp(of->name, "events") == 0) {
        return admin_follow_events(service, prints_json, why);
    }
    request made = {.body = NULL};
    ls_json *answer = NULL;
    ls_status status = make_request(of, words, &made, why);
    if (status != LS_OK) {
        ls_json_destroy(made.body);
        return status;
    }
    if (!of->print) {
        return print_picture(service, made.path, why);
    }
    status = ask_fetch(service, of->method, made.path, made.body, &answer, why);
    if (status == LS_OK && prints_json) {
        status = ls_json_write_line(answer, stdout);
    } else if (status == LS_OK) {
        of->print(answer);
    }
    ls_json_destroy(answer);
    return status;
}
