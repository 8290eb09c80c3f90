#include "lockstep/server/service/service_config.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/program/log_format.h"
#include "lockstep/common/program/option.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/common/system/file.h"
#include "lockstep/server/match/match_config.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum {
    FILE_BYTES_MAX = 1 << 20,
    FARTHEST_MATCH = 3, /* letters by which a word may differ from one that is suggested */
    WORD_BYTES_MAX = 32,
    SHA256_DIGITS = 64,
};

/* A row of the file that is a field of the config. */
typedef struct config_row {
    const char *table;
    const char *key;
    enum {
        LIVE,
        FIXED
    } is_fixed;       /* while the service runs: ports, folders, what workers get once */
    const char *flag; /* that overrides it on the command line; NULL: none */
    size_t offset;
    size_t capacity;   /* of a text, or, if max > 0, of a list; */
    uint32_t min, max; /* ... 0: a uint32_t in this range */
} config_row;

#define TEXT_ROW(table, key, is_fixed, flag, member)                                               \
    {                                                                                              \
        (table), (key), (is_fixed), (flag), offsetof(ls_service_config, member),                   \
            sizeof(((ls_service_config *)0)->member), 0, 0                                         \
    }
/* A list of texts, of which each becomes a line. */
#define LIST_ROW(table, key, is_fixed, member)                                                     \
    {                                                                                              \
        (table), (key), (is_fixed), NULL, offsetof(ls_service_config, member),                     \
            sizeof(((ls_service_config *)0)->member), 0, 1                                         \
    }
#define NUMBER_ROW(table, key, is_fixed, flag, member, min, max)                                   \
    {                                                                                              \
        (table), (key), (is_fixed), (flag), offsetof(ls_service_config, member), 0, (min), (max)   \
    }

static const config_row rows[] = {
    NUMBER_ROW("", "workers", FIXED, "workers", workers, 0, LS_SERVICE_WORKERS_MAX),
    NUMBER_ROW("", "rooms-max", LIVE, "rooms-max", rooms_max, 1, LS_SERVICE_ROOMS_MAX),
    NUMBER_ROW("", "join-timeout", LIVE, NULL, join_timeout_s, 0, LS_ROOM_JOIN_TIMEOUT_S_MAX),
    NUMBER_ROW("", "drain-timeout", LIVE, "drain-timeout", drain_timeout_s, 0,
               LS_SERVICE_DRAIN_S_MAX),
    TEXT_ROW("", "journal", FIXED, "journal", journal_dir),
    TEXT_ROW("", "bundle-dir", FIXED, "bundle-dir", bundle_dir),
    TEXT_ROW("", "plug-ins", FIXED, "plug-ins", plugin_dir),
    LIST_ROW("", "files", FIXED, files),
    LIST_ROW("", "code", FIXED, code),
    TEXT_ROW("", "log-format", FIXED, NULL, log_format),
    TEXT_ROW("http", "bind", FIXED, "http-bind", http_bind),
    NUMBER_ROW("http", "port", FIXED, "http-port", http_port, 0, 65535),
    TEXT_ROW("http", "hosts", LIVE, NULL, http_hosts),
    TEXT_ROW("http", "operators", LIVE, NULL, http_operators),
    TEXT_ROW("http", "tls-certificate", FIXED, NULL, http_certificate),
    TEXT_ROW("http", "tls-key", FIXED, NULL, http_key),
    TEXT_ROW("http", "token-file", LIVE, "http-token-file", http_token_file),
    TEXT_ROW("web", "listen", FIXED, "web", web),
    TEXT_ROW("web", "files", FIXED, "web-files", web_files),
    TEXT_ROW("web", "hosts", FIXED, "web-hosts", web_hosts),
    TEXT_ROW("web", "tls-certificate", FIXED, "web-certificate", web_certificate),
    TEXT_ROW("web", "tls-key", FIXED, "web-key", web_key),
    NUMBER_ROW("web", "broadcast", FIXED, "broadcast", web_broadcast_s, 0, LS_BROADCAST_S_MAX),
    NUMBER_ROW("limits", "address-connections", FIXED, NULL, address_connections, 0, 65535),
    NUMBER_ROW("limits", "address-joins", LIVE, NULL, address_joins, 0, 65535),
    NUMBER_ROW("limits", "address-rooms", LIVE, NULL, address_rooms, 0, LS_SERVICE_ROOMS_MAX),
    TEXT_ROW("metrics", "rooms", LIVE, NULL, metrics_rooms),
    TEXT_ROW("upload", "command", LIVE, NULL, upload_command),
    NUMBER_ROW("upload", "parallel", LIVE, NULL, upload_parallel, 1, LS_SERVICE_UPLOADS_MAX),
    NUMBER_ROW("upload", "time-limit", LIVE, NULL, upload_limit_s, 0, 86400),
    NUMBER_ROW("upload", "keep-mib", LIVE, NULL, journals_keep_mib, 0, UINT32_MAX),
};

/* Flags of the process, which are rows of the program's own table: those that take a text alone,
 * and the others. */
static const char *const server_texts[] = {
    "bind",      "identity", "invite-file", "invite-host", "token-key", "token-server",
    "port-file", "publish",  "publish-key", "public",      "region"};
static const char *const server_others[] = {"port",         "invite-only",       "insecure",
                                            "bundle-limit", "token-protocol-id", "map-port"};

/* Likewise those of a relay. */
static const char *const relay_texts[] = {
    "bind",      "key-file",        "port-file", "http",          "web",           "web-files",
    "web-hosts", "web-certificate", "web-key",   "web-port-file", "http-port-file"};
static const char *const relay_numbers[] = {
    "port", "hosts", "players", "hosts-per-address", "match-limit", "player-limit", "games"};

static const char *const room_keys[] = {"name",    "open",     "sim",  "sha256",
                                        "private", "rotation", "next", "turn"};

/* The reading of one file. */
typedef struct reading {
    ls_service_config *config;
    ls_service_group *group; /* of the [[rooms]] that is read; NULL: none */
    ls_match_config scratch; /* where values of settings are tried */
    ls_toml_place at;        /* of what is read */
    ls_service_faults *faults;
} reading;

static bool is_before(ls_toml_place a, ls_toml_place b)
{
    return a.line < b.line || (a.line == b.line && a.column < b.column);
}

void ls_service_faults_add(ls_service_faults *faults, ls_toml_place at, const char *sentence)
{
    uint32_t kept = LS_MIN(faults->count, LS_SERVICE_FAULTS_MAX);
    uint32_t index = kept;
    faults->count++;
    while (index > 0 && is_before(at, faults->rows[index - 1].at)) {
        index--;
    }
    if (index == LS_SERVICE_FAULTS_MAX) {
        return;
    }
    uint32_t behind = LS_MIN(kept, LS_SERVICE_FAULTS_MAX - 1) - index;
    struct ls_service_fault *fault = &faults->rows[index];
    memmove(fault + 1, fault, behind * sizeof *fault);
    *fault = (struct ls_service_fault){.at = at};
    if (at.line > 0) {
        ls_text_set(&fault->text, "%s%sline %" PRIu32 ":%" PRIu32 ": ",
                    faults->path ? faults->path : "", faults->path ? ": " : "", at.line, at.column);
    }
    ls_text_add(&fault->text, "%s", sentence);
}

static ls_service_config config_default(void)
{
    return (ls_service_config){.rooms_max = 256,
                               .join_timeout_s = 300,
                               .drain_timeout_s = 30,
                               .http_bind = "127.0.0.1",
                               .http_port = 9300,
                               .metrics_rooms = "summary",
                               .upload_parallel = 4,
                               .upload_limit_s = 600,
                               .address_connections = 64,
                               .address_joins = 120,
                               .address_rooms = 24,
                               .log_format = "text"};
}

const ls_service_group *ls_service_config_group(const ls_service_config *config, const char *name)
{
    for (uint32_t i = 0; i < config->group_count; i++) {
        if (strcmp(config->groups[i].name, name) == 0) {
            return &config->groups[i];
        }
    }
    return NULL;
}

ls_status ls_service_config_settle(const ls_service_config *config, const ls_service_group *group,
                                   ls_room_settings *out, ls_text *why)
{
    *out = config->match;
    return group ? ls_room_settings_merge(out, &group->settings, why) : LS_OK;
}

/* Behind `size` bytes of `out`, which is NULL for their size alone: returns the new size. */
static size_t add_params(const ls_room_settings *settings, char *out, size_t size)
{
    for (uint32_t i = 0; i < settings->count; i++) {
        const ls_room_setting *row = &settings->rows[i];
        size_t bytes = strlen(row->value);
        bool is_rotation = strcmp(row->flag, "rotation") == 0;
        if (!is_rotation && strcmp(row->flag, "param") != 0) {
            continue;
        }
        if (out) {
            memcpy(out + size, row->value, bytes);
            memcpy(out + size + bytes, "\n", 2);
        }
        for (size_t at = 0; out && is_rotation && at < bytes; at++) { /* a word each */
            out[size + at] = out[size + at] == ' ' ? '\n' : out[size + at];
        }
        size += bytes + 1;
    }
    return size;
}

static size_t add_all_params(const ls_service_config *config, char *out)
{
    size_t size = add_params(&config->match, out, 0);
    for (uint32_t i = 0; i < config->group_count; i++) {
        size = add_params(&config->groups[i].settings, out, size);
    }
    return size;
}

char *ls_service_config_params(const ls_service_config *config)
{
    char *params = ls_allocate(ls_allocator_heap(), add_all_params(config, NULL) + 1);
    if (params) {
        (void)add_all_params(config, params);
    }
    return params;
}

ls_status ls_service_config_override(ls_service_config *config, const char *flag, const void *given,
                                     ls_text *why)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const config_row *row = &rows[i];
        char *field = (char *)config + row->offset;
        const char *text = NULL;
        if (!row->flag || strcmp(row->flag, flag) != 0) {
            continue;
        }
        if (row->capacity == 0) {
            memcpy(field, given, sizeof(uint32_t));
            return LS_OK;
        }
        memcpy(&text, given, sizeof(const char *));
        if (strlen(text) >= row->capacity) {
            return ls_fail(LS_BAD_ARGUMENT, why, "--%s takes at most %zu characters", flag,
                           row->capacity - 1);
        }
        ls_name_copy(field, row->capacity, text);
    }
    return LS_OK;
}

/* ---- a file that is read again ---- */

static void tell_fixed(const char *table, const char *key,
                       void (*tell)(void *user, const char *sentence), void *user)
{
    ls_text text = {{0}};
    ls_text_set(&text, "%s%s%s%s cannot change while the service runs: restart it for that",
                table[0] ? "[" : "", table, table[0] ? "] " : "", key);
    tell(user, text.bytes);
}

/* 0 workers are as many as there are processors, which is settled at the start. */
static bool has_changed(const config_row *row, const char *running, const char *fresh)
{
    uint32_t number = 0;
    size_t size = row->capacity > 0 ? row->capacity : sizeof(uint32_t);
    if (row->capacity > 0) {
        return strcmp(running, fresh) != 0;
    }
    memcpy(&number, fresh, sizeof number);
    return memcmp(running, fresh, size) != 0 && !(number == 0 && strcmp(row->key, "workers") == 0);
}

static void tell_rows(const char *table, const ls_room_settings *rows_of,
                      const ls_room_settings *other, bool both,
                      void (*tell)(void *user, const char *sentence), void *user)
{
    for (uint32_t i = 0; i < rows_of->count; i++) {
        const char *there = ls_room_settings_find(other, rows_of->rows[i].flag);
        if (there ? both && strcmp(there, rows_of->rows[i].value) != 0 : true) {
            tell_fixed(table, rows_of->rows[i].flag, tell, user);
        }
    }
}

void ls_service_config_keep_fixed(const ls_service_config *running, ls_service_config *fresh,
                                  void (*tell)(void *user, const char *sentence), void *user)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *was = (const char *)running + rows[i].offset;
        char *is = (char *)fresh + rows[i].offset;
        if (!rows[i].is_fixed) {
            continue;
        }
        if (has_changed(&rows[i], was, is)) {
            tell_fixed(rows[i].table, rows[i].key, tell, user);
        }
        memcpy(is, was, rows[i].capacity > 0 ? rows[i].capacity : sizeof(uint32_t));
    }
    tell_rows("server", &fresh->server, &running->server, true, tell, user);
    tell_rows("server", &running->server, &fresh->server, false, tell, user);
    tell_rows("relay", &fresh->relay, &running->relay, true, tell, user);
    tell_rows("relay", &running->relay, &fresh->relay, false, tell, user);
    fresh->server = running->server;
    memcpy(fresh->server_at, running->server_at, sizeof fresh->server_at);
    fresh->relay = running->relay;
    memcpy(fresh->relay_at, running->relay_at, sizeof fresh->relay_at);
    fresh->is_relay = running->is_relay;
    if ((running->upload_command[0] == '\0') != (fresh->upload_command[0] == '\0')) {
        tell_fixed("upload", "command", tell, user);
        memcpy(fresh->upload_command, running->upload_command, sizeof fresh->upload_command);
    }
}

/* ---- words that are wrong ---- */

/* How many letters have to be put in, left out or replaced. */
static uint32_t distance(const char *a, const char *b)
{
    uint32_t row[WORD_BYTES_MAX + 1];
    size_t length = strlen(b);
    if (length > WORD_BYTES_MAX || strlen(a) > WORD_BYTES_MAX) {
        return UINT32_MAX;
    }
    for (uint32_t k = 0; k <= length; k++) {
        row[k] = k;
    }
    for (uint32_t i = 0; a[i] != '\0'; i++) {
        uint32_t before = row[0];
        row[0] = i + 1;
        for (uint32_t k = 0; k < length; k++) {
            uint32_t replaced = before + (a[i] == b[k] ? 0 : 1);
            before = row[k + 1];
            row[k + 1] = LS_MIN(replaced, LS_MIN(row[k], before) + 1);
        }
    }
    return row[length];
}

typedef struct suggestion {
    const char *word;
    uint32_t distance;
} suggestion;

static void consider(suggestion *best, const char *wrong, const char *word)
{
    uint32_t steps = distance(wrong, word);
    if (steps <= FARTHEST_MATCH && steps < best->distance) {
        *best = (suggestion){word, steps};
    }
}

static ls_status refuse_key(reading *file, const ls_toml_value *value, const suggestion *best,
                            ls_text *why)
{
    const char *table = value->table;
    const char *open = table[0] == '\0' ? "the top of the file" : value->is_listed ? "[[" : "[";
    const char *close = table[0] == '\0' ? "" : value->is_listed ? "]]" : "]";
    file->at = value->key_at;
    ls_fail(LS_BAD_ARGUMENT, why, "%s%s%s has no '%.48s'", open, table, close, value->key);
    if (best->word) {
        ls_text_add(why, "; did you mean '%s'?", best->word);
    }
    return LS_BAD_ARGUMENT;
}

/* ---- fields ---- */

/* Empty, it would stand for nothing where its writer meant something. */
static ls_status check_filled(const ls_toml_value *value, ls_text *why)
{
    return value->text[strspn(value->text, " \t\r\n")] != '\0'
               ? LS_OK
               : ls_fail(LS_BAD_ARGUMENT, why, "%.32s is empty: leave it out for none", value->key);
}

static ls_status read_text(const config_row *row, const ls_toml_value *value, char *out,
                           ls_text *why)
{
    if (value->type != LS_TOML_TEXT || strlen(value->text) >= row->capacity) {
        return ls_fail(LS_BAD_ARGUMENT, why, "%s takes a text in quotes, of at most %zu characters",
                       row->key, row->capacity - 1);
    }
    ls_status status = check_filled(value, why);
    if (status != LS_OK) {
        return status;
    }
    ls_log_format format;
    if (strcmp(row->key, "log-format") == 0 &&
        ls_log_format_read(value->text, &format, NULL) != LS_OK) {
        return ls_fail(LS_BAD_ARGUMENT, why, "log-format is text, json or journald, not '%s'",
                       value->text);
    }
    if (strcmp(row->table, "metrics") == 0 && strcmp(value->text, "none") != 0 &&
        strcmp(value->text, "summary") != 0 && strcmp(value->text, "all") != 0) {
        return ls_fail(LS_BAD_ARGUMENT, why, "rooms is none, summary or all, not '%s'",
                       value->text);
    }
    ls_name_copy(out, row->capacity, value->text);
    return LS_OK;
}

/* Of a digest the digits, as sha256sum prints them. */
static bool is_entry(const config_row *row, const char *entry, size_t size)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    return size > strspn(entry, " \t\r") &&
           (strcmp(row->key, "code") != 0 ||
            (size == SHA256_DIGITS && strspn(entry, digits) == size));
}

static ls_status read_list(const config_row *row, const ls_toml_value *value, char *out,
                           ls_text *why)
{
    size_t size;
    bool is_good = value->type == LS_TOML_LIST && strlen(value->text) < row->capacity;
    for (const char *entry = value->text; is_good && *entry != '\0'; entry += size + 1) {
        size = strcspn(entry, "\n");
        is_good = is_entry(row, entry, size);
    }
    if (!is_good) {
        return ls_fail(LS_BAD_ARGUMENT, why, "%s takes a list of %s in quotes, in brackets",
                       row->key, strcmp(row->key, "code") == 0 ? "SHA-256 digests" : "folders");
    }
    memcpy(out, value->text, strlen(value->text) + 1);
    return LS_OK;
}

static ls_status read_number(const config_row *row, const ls_toml_value *value, uint32_t *out,
                             ls_text *why)
{
    uint64_t number = 0;
    char rest = '\0';
    bool is_good = value->type == LS_TOML_NUMBER && value->text[0] != '-' &&
                   strlen(value->text) <= 10 &&
                   sscanf(value->text, "%" SCNu64 "%c", &number, &rest) == 1 &&
                   number >= row->min && number <= row->max;
    if (!is_good) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "%s takes a number from %" PRIu32 " to %" PRIu32 ", not '%.32s'", row->key,
                       row->min, row->max, value->text);
    }
    *out = (uint32_t)number;
    return LS_OK;
}

static ls_status read_field(reading *file, const ls_toml_value *value, ls_text *why)
{
    suggestion best = {NULL, UINT32_MAX};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        void *field = (char *)file->config + rows[i].offset;
        if (strcmp(rows[i].table, value->table) != 0) {
            continue;
        }
        if (strcmp(rows[i].key, value->key) == 0) {
            return rows[i].capacity == 0 ? read_number(&rows[i], value, field, why)
                   : rows[i].max > 0     ? read_list(&rows[i], value, field, why)
                                         : read_text(&rows[i], value, field, why);
        }
        consider(&best, value->key, rows[i].key);
    }
    return refuse_key(file, value, &best, why);
}

/* ---- settings ---- */

static ls_status check_value(const ls_toml_value *value, ls_text *why)
{
    if (value->type >= LS_TOML_LIST ||
        strlen(value->text) >= sizeof(((ls_room_setting *)0)->value)) {
        return ls_fail(LS_BAD_ARGUMENT, why, "%.32s takes a text, a number, true or false",
                       value->key);
    }
    return LS_OK;
}

/* true is no name of a file. */
static ls_status check_text(const ls_toml_value *value, ls_text *why)
{
    ls_status status =
        value->type == LS_TOML_TEXT
            ? check_value(value, why)
            : ls_fail(LS_BAD_ARGUMENT, why, "%.32s takes a text in quotes", value->key);
    return status == LS_OK ? check_filled(value, why) : status;
}

static bool is_among(const char *word, const char *const *words, size_t count, suggestion *best)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i], word) == 0) {
            return true;
        }
        consider(best, word, words[i]);
    }
    return false;
}

static ls_status read_param(const ls_toml_value *value, ls_room_settings *to, ls_text *why)
{
    char text[sizeof to->rows[0].value];
    ls_status status = check_value(value, why);
    int bytes = snprintf(text, sizeof text, "%s=%s", value->key, value->text);
    if (status == LS_OK &&
        (strcmp(value->group, "params") != 0 || bytes < 0 || (size_t)bytes >= sizeof text)) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "there is no table '%.32s' here; parameters of a "
                       "simulation are params = {name = value}",
                       value->group);
    }
    return status == LS_OK ? ls_room_settings_set(to, "param", text, why) : status;
}

/* A setting of a match is tried at once, so that the file is wrong and not a room. */
static ls_status read_match(reading *file, const ls_toml_value *value, ls_room_settings *to,
                            ls_text *why)
{
    suggestion best = {NULL, UINT32_MAX};
    ls_text reason = {{0}};
    char text[sizeof to->rows[0].value];
    if (value->group[0] != '\0') {
        return read_param(value, to, why);
    }
    ls_status status = check_value(value, why);
    if (status != LS_OK) {
        return status;
    }
    ls_name_copy(text, sizeof text, value->text);
    const ls_setting_text setting = {value->key, text};
    ls_setting_target target = {.fields = &file->scratch};
    status = ls_setting_read_text(&ls_match_settings, &target, &setting, &reason);
    if (status == LS_NOT_FOUND) {
        for (uint32_t i = 0; i < ls_match_settings.count; i++) {
            if (ls_match_settings.rows[i].flag) {
                consider(&best, value->key, ls_match_settings.rows[i].flag);
            }
        }
        (void)is_among(value->key, room_keys, sizeof room_keys / sizeof room_keys[0], &best);
        return refuse_key(file, value, &best, why);
    }
    if (status != LS_OK) {
        return ls_fail(status, why, "%s", reason.bytes);
    }
    return ls_room_settings_set(to, value->key, value->text, why);
}

/* Rows that the program reads by a table of its own, later: it needs their places for that. */
typedef struct table_rows {
    const char *const *texts; /* keys that take a text alone, ... */
    size_t text_count;
    const char *const *others; /* ... and the others */
    size_t other_count;
    ls_room_settings *settings;
    ls_toml_place *places;
} table_rows;

static ls_status read_row(reading *file, const table_rows *rows_of, const ls_toml_value *value,
                          ls_text *why)
{
    suggestion best = {NULL, UINT32_MAX};
    bool is_text = is_among(value->key, rows_of->texts, rows_of->text_count, &best);
    if (!is_text && !is_among(value->key, rows_of->others, rows_of->other_count, &best)) {
        return refuse_key(file, value, &best, why);
    }
    rows_of->places[rows_of->settings->count] = value->at;
    ls_status status = is_text ? check_text(value, why) : check_value(value, why);
    return status == LS_OK ? ls_room_settings_set(rows_of->settings, value->key, value->text, why)
                           : status;
}

#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

static ls_status read_server(reading *file, const ls_toml_value *value, ls_text *why)
{
    const table_rows server = {server_texts,          COUNT_OF(server_texts),
                               server_others,         COUNT_OF(server_others),
                               &file->config->server, file->config->server_at};
    return read_row(file, &server, value, why);
}

static ls_status read_relay(reading *file, const ls_toml_value *value, ls_text *why)
{
    const table_rows relay = {relay_texts,          COUNT_OF(relay_texts),
                              relay_numbers,        COUNT_OF(relay_numbers),
                              &file->config->relay, file->config->relay_at};
    return read_row(file, &relay, value, why);
}

/* ---- rooms ---- */

static ls_status begin_group(reading *file, const ls_toml_value *value, ls_text *why)
{
    ls_service_config *config = file->config;
    if (config->group_count == LS_SERVICE_GROUPS_MAX) {
        file->group = NULL;
        return ls_fail(LS_FULL, why, "there are %u [[rooms]] at most", LS_SERVICE_GROUPS_MAX);
    }
    file->group = &config->groups[config->group_count++];
    file->group->at = value->at;
    return LS_OK;
}

static ls_status read_name(const reading *file, const ls_toml_value *value, ls_text *why)
{
    size_t length = strlen(value->text);
    ls_name_copy(file->group->name, sizeof file->group->name, "?"); /* until one is right */
    /* Room for "-4095" behind it. */
    if (value->type != LS_TOML_TEXT || length > LS_ROOM_NAME_BYTES_MAX - 12 ||
        !ls_room_name_is_valid(value->text)) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "the name of rooms has 1 to %u letters, digits, '-' and "
                       "'_'",
                       LS_ROOM_NAME_BYTES_MAX - 12);
    }
    if (ls_service_config_group(file->config, value->text)) {
        return ls_fail(LS_BAD_ARGUMENT, why, "there are [[rooms]] of the name '%s' already",
                       value->text);
    }
    ls_name_copy(file->group->name, sizeof file->group->name, value->text);
    return LS_OK;
}

static ls_status check_private(const ls_toml_value *value, ls_text *why)
{
    return value->type == LS_TOML_BOOL
               ? LS_OK
               : ls_fail(LS_BAD_ARGUMENT, why,
                         "private takes true or false, without quotes, not '%.32s'", value->text);
}

/* A line each in the value's text. */
static ls_status read_rotation(const ls_toml_value *value, ls_room_settings *settings, ls_text *why)
{
    char row[sizeof settings->rows[0].value];
    ls_status status = value->type == LS_TOML_LIST ? LS_OK : LS_BAD_ARGUMENT;
    size_t size = 0;
    for (const char *at = value->text; status == LS_OK && *at != '\0'; at += size + 1) {
        size = strcspn(at, "\n");
        status = size < sizeof row ? LS_OK : LS_BAD_ARGUMENT;
        snprintf(row, sizeof row, "%.*s", (int)LS_MIN(size, sizeof row - 1), at);
        LS_THEN(status, ls_room_settings_set(settings, "rotation", row, why));
    }
    return status == LS_OK || why->bytes[0] != '\0'
               ? status
               : ls_fail(status, why,
                         "rotation takes a list of matches in quotes, in brackets, such as "
                         "'map=plain ticks=3600'");
}

static ls_status read_room(reading *file, const ls_toml_value *value, ls_text *why)
{
    static const config_row open = {.key = "open", .max = LS_SERVICE_ROOMS_MAX};
    if (!file->group) {
        return LS_OK; /* refused as a whole */
    }
    ls_room_settings *settings = &file->group->settings;
    if (value->group[0] != '\0') {
        return read_param(value, settings, why);
    }
    if (strcmp(value->key, "name") == 0) {
        return read_name(file, value, why);
    }
    if (strcmp(value->key, "open") == 0) {
        return read_number(&open, value, &file->group->open, why);
    }
    if (strcmp(value->key, "rotation") == 0) {
        return read_rotation(value, settings, why);
    }
    if (strcmp(value->key, "next") == 0 || strcmp(value->key, "turn") == 0) {
        ls_status status = check_value(value, why);
        LS_THEN(status, ls_room_settings_set(settings, value->key, value->text, why));
        return status;
    }
    bool is_private = strcmp(value->key, "private") == 0;
    if (is_private || strcmp(value->key, "sim") == 0 || strcmp(value->key, "sha256") == 0) {
        ls_status status = is_private ? check_private(value, why) : check_text(value, why);
        return status == LS_OK ? ls_room_settings_set(settings, value->key, value->text, why)
                               : status;
    }
    return read_match(file, value, settings, why);
}

/* ---- the file ---- */

static ls_status refuse_table(const ls_toml_value *value, ls_text *why)
{
    static const char *const tables[] = {"server", "http",  "limits", "match", "metrics",
                                         "relay",  "rooms", "upload", "web"};
    suggestion best = {NULL, UINT32_MAX};
    if (is_among(value->table, tables, sizeof tables / sizeof tables[0], &best)) {
        best.word = value->table; /* with other brackets */
    }
    ls_fail(LS_BAD_ARGUMENT, why, "there is no table %s%.48s%s", value->is_listed ? "[[" : "[",
            value->table, value->is_listed ? "]]" : "]");
    if (best.word) {
        bool is_rooms = strcmp(best.word, "rooms") == 0;
        ls_text_add(why, "; did you mean %s%s%s?", is_rooms ? "[[" : "[", best.word,
                    is_rooms ? "]]" : "]");
    }
    return LS_BAD_ARGUMENT;
}

static bool is_table(const ls_toml_value *value, const char *name)
{
    return !value->is_listed && strcmp(value->table, name) == 0;
}

static ls_status read_value(reading *file, const ls_toml_value *value, ls_text *why)
{
    bool begins = value->type == LS_TOML_TABLE;
    bool is_known = value->table[0] == '\0' || is_table(value, "http") || is_table(value, "web") ||
                    is_table(value, "limits") || is_table(value, "metrics") ||
                    is_table(value, "upload");
    if (value->is_listed && strcmp(value->table, "rooms") == 0) {
        return begins ? begin_group(file, value, why) : read_room(file, value, why);
    }
    bool is_relay = is_table(value, "relay");
    file->config->is_relay = file->config->is_relay || is_relay;
    if (!is_known && !is_relay && !is_table(value, "match") && !is_table(value, "server")) {
        return begins ? refuse_table(value, why) : LS_OK; /* once */
    }
    if (begins) {
        return LS_OK;
    }
    return is_known                   ? read_field(file, value, why)
           : is_relay                 ? read_relay(file, value, why)
           : is_table(value, "match") ? read_match(file, value, &file->config->match, why)
                                      : read_server(file, value, why);
}

static void on_value(void *user, const ls_toml_value *value)
{
    reading *file = user;
    ls_text why = {{0}};
    file->at = value->at;
    if (read_value(file, value, &why) != LS_OK) {
        ls_service_faults_add(file->faults, file->at, why.bytes);
    }
}

static void check_whole(const ls_service_config *config, ls_service_faults *faults)
{
    if ((config->http_certificate[0] == '\0') != (config->http_key[0] == '\0')) {
        ls_service_faults_add(faults, (ls_toml_place){0, 0},
                              "[http] has tls-certificate and tls-key, or none of them");
    }
    if ((config->web_certificate[0] == '\0') != (config->web_key[0] == '\0')) {
        ls_service_faults_add(faults, (ls_toml_place){0, 0},
                              "[web] has tls-certificate and tls-key, or none of them");
    }
    for (uint32_t i = 0; i < config->group_count; i++) {
        if (config->groups[i].name[0] == '\0') {
            ls_service_faults_add(faults, config->groups[i].at,
                                  "[[rooms]] need a name: name = \"arena\"");
        }
    }
}

void ls_service_config_parse(const char *bytes, size_t size, ls_service_config *out,
                             ls_service_faults *faults)
{
    *out = config_default();
    reading file = {.config = out,
                    .scratch = ls_match_config_default(ls_builtin_simulation(0)),
                    .faults = faults};
    const ls_toml_reader reader = {on_value, &file};
    ls_toml_place at = {0, 0};
    ls_text why = {{0}};
    ls_status status = ls_toml_file_read(bytes, size, &reader, &at, &why);
    if (status != LS_OK) {
        ls_service_faults_add(faults, at, why.bytes[0] ? why.bytes : ls_status_text(status));
    }
    check_whole(out, faults);
}

void ls_service_config_read(const char *path, ls_service_config *out, ls_service_faults *faults)
{
    ls_mapped_file file = {NULL, 0};
    ls_text why = {{0}};
    ls_status status = ls_mapped_file_open(path, &file, &why);
    *out = config_default();
    faults->path = path;
    if (status == LS_OK && file.size > FILE_BYTES_MAX) {
        status =
            ls_fail(LS_BAD_ARGUMENT, &why, "%s: it has more than %u bytes", path, FILE_BYTES_MAX);
    }
    if (status == LS_OK) {
        ls_service_config_parse((const char *)file.bytes, file.size, out, faults);
    } else {
        ls_service_faults_add(faults, (ls_toml_place){0, 0}, why.bytes);
    }
    ls_mapped_file_close(&file);
}
