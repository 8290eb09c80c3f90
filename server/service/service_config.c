#include "lockstep/server/service/service_config.h"

#include "lockstep/common/program/option.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/common/system/mapped_file.h"
#include "lockstep/server/match/match_config.h"
#include "lockstep/server/service/room_settings.h"
#include "lockstep/server/service/toml_file.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum {
    FILE_BYTES_MAX = 1 << 20,
    FARTHEST_MATCH = 3, /* letters by which a word may differ from one that is suggested */
    WORD_BYTES_MAX = 32,
};

/* A row of the file that is a field of the config. */
typedef struct config_row {
    const char *table;
    const char *key;
    const char *flag; /* that overrides it on the command line; NULL: none */
    size_t offset;
    size_t capacity;   /* of a text; 0: a uint32_t, */
    uint32_t min, max; /* ... in this range */
} config_row;

#define TEXT_ROW(table, key, flag, member)                                                         \
    {                                                                                              \
        (table), (key), (flag), offsetof(ls_service_config, member),                               \
            sizeof(((ls_service_config *)0)->member), 0, 0                                         \
    }
#define NUMBER_ROW(table, key, flag, member, min, max)                                             \
    {                                                                                              \
        (table), (key), (flag), offsetof(ls_service_config, member), 0, (min), (max)               \
    }

static const config_row rows[] = {
    NUMBER_ROW("", "workers", "workers", workers, 0, LS_SERVICE_WORKERS_MAX),
    NUMBER_ROW("", "rooms-max", "rooms-max", rooms_max, 1, LS_SERVICE_ROOMS_MAX),
    NUMBER_ROW("", "drain-timeout", "drain-timeout", drain_timeout_s, 0, LS_SERVICE_DRAIN_S_MAX),
    TEXT_ROW("", "journal", "journal", journal_dir),
    TEXT_ROW("", "bundle-dir", "bundle-dir", bundle_dir),
    TEXT_ROW("", "plug-ins", "plug-ins", plugin_dir),
    TEXT_ROW("", "log-format", NULL, log_format),
    TEXT_ROW("http", "bind", "http-bind", http_bind),
    NUMBER_ROW("http", "port", "http-port", http_port, 0, 65535),
    TEXT_ROW("http", "hosts", NULL, http_hosts),
    TEXT_ROW("http", "token-file", "http-token-file", http_token_file),
    TEXT_ROW("upload", "command", NULL, upload_command),
    NUMBER_ROW("upload", "time-limit", NULL, upload_limit_s, 0, 86400),
    NUMBER_ROW("upload", "keep-mib", NULL, journals_keep_mib, 0, UINT32_MAX),
};

/* Flags of the process, which are rows of the program's own table. */
static const char *const server_keys[] = {
    "bind",     "port",      "identity",     "invite-only",  "invite-file", "invite-host",
    "insecure", "token-key", "token-server", "bundle-limit", "port-file",   "token-protocol-id"};

static const char *const room_keys[] = {"name", "open", "sim", "sha256", "private"};

/* A sentence about a place of the file begins so. */
#define AT "line %" PRIu32 ":%" PRIu32 ": "
#define PLACE(at) (at).line, (at).column

/* The reading of one file. */
typedef struct reading {
    ls_service_config *config;
    ls_service_group *group; /* of the [[rooms]] that is read; NULL: none */
    ls_match_config scratch; /* where values of settings are tried */
} reading;

ls_service_config ls_service_config_default(void)
{
    return (ls_service_config){.rooms_max = 256,
                               .drain_timeout_s = 30,
                               .http_bind = "127.0.0.1",
                               .http_port = 9300,
                               .upload_limit_s = 600,
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

static ls_status refuse_key(const ls_toml_value *value, const suggestion *best, ls_text *why)
{
    const char *table = value->table;
    const char *open = table[0] == '\0' ? "the top of the file" : value->is_listed ? "[[" : "[";
    const char *close = table[0] == '\0' ? "" : value->is_listed ? "]]" : "]";
    ls_fail(LS_BAD_ARGUMENT, why, AT "%s%s%s has no '%.48s'", PLACE(value->key_at), open, table,
            close, value->key);
    if (best->word) {
        ls_text_add(why, "; did you mean '%s'?", best->word);
    }
    return LS_BAD_ARGUMENT;
}

/* ---- fields ---- */

static ls_status read_text(const config_row *row, const ls_toml_value *value, char *out,
                           ls_text *why)
{
    if (value->type != LS_TOML_TEXT || strlen(value->text) >= row->capacity) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       AT "%s takes a text in quotes, of at most %zu characters", PLACE(value->at),
                       row->key, row->capacity - 1);
    }
    ls_name_copy(out, row->capacity, value->text);
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
                       AT "%s takes a number from %" PRIu32 " to %" PRIu32 ", not '%.32s'",
                       PLACE(value->at), row->key, row->min, row->max, value->text);
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
            return rows[i].capacity > 0 ? read_text(&rows[i], value, field, why)
                                        : read_number(&rows[i], value, field, why);
        }
        consider(&best, value->key, rows[i].key);
    }
    return refuse_key(value, &best, why);
}

/* ---- settings ---- */

static ls_status check_value(const ls_toml_value *value, ls_text *why)
{
    if (value->type == LS_TOML_OTHER ||
        strlen(value->text) >= sizeof(((ls_room_setting *)0)->value)) {
        return ls_fail(LS_BAD_ARGUMENT, why, AT "%.32s takes a text, a number, true or false",
                       PLACE(value->at), value->key);
    }
    return LS_OK;
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
                       AT "there is no table '%.32s' here; parameters of a "
                          "simulation are params = {name = value}",
                       PLACE(value->at), value->group);
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
        return refuse_key(value, &best, why);
    }
    if (status != LS_OK) {
        return ls_fail(status, why, AT "%s", PLACE(value->at), reason.bytes);
    }
    return ls_room_settings_set(to, value->key, value->text, why);
}

static ls_status read_server(reading *file, const ls_toml_value *value, ls_text *why)
{
    suggestion best = {NULL, UINT32_MAX};
    if (!is_among(value->key, server_keys, sizeof server_keys / sizeof server_keys[0], &best)) {
        return refuse_key(value, &best, why);
    }
    ls_status status = check_value(value, why);
    return status == LS_OK
               ? ls_room_settings_set(&file->config->server, value->key, value->text, why)
               : status;
}

/* ---- rooms ---- */

static ls_status begin_group(reading *file, const ls_toml_value *value, ls_text *why)
{
    ls_service_config *config = file->config;
    if (config->group_count == LS_SERVICE_GROUPS_MAX) {
        return ls_fail(LS_FULL, why, AT "there are %u [[rooms]] at most", PLACE(value->at),
                       LS_SERVICE_GROUPS_MAX);
    }
    file->group = &config->groups[config->group_count++];
    return LS_OK;
}

static ls_status read_name(const reading *file, const ls_toml_value *value, ls_text *why)
{
    size_t length = strlen(value->text);
    /* Room for "-4095" behind it. */
    if (value->type != LS_TOML_TEXT || length > LS_ROOM_NAME_BYTES_MAX - 12 ||
        !ls_room_name_is_valid(value->text)) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       AT "the name of rooms has 1 to %u letters, digits, '-' and "
                          "'_'",
                       PLACE(value->at), LS_ROOM_NAME_BYTES_MAX - 12);
    }
    const ls_service_group *other = ls_service_config_group(file->config, value->text);
    if (other && other != file->group) {
        return ls_fail(LS_BAD_ARGUMENT, why, AT "there are [[rooms]] of the name '%s' already",
                       PLACE(value->at), value->text);
    }
    ls_name_copy(file->group->name, sizeof file->group->name, value->text);
    return LS_OK;
}

static ls_status read_room(reading *file, const ls_toml_value *value, ls_text *why)
{
    static const config_row open = {"rooms", "open", NULL, 0, 0, 0, LS_SERVICE_ROOMS_MAX};
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
    if (strcmp(value->key, "sim") == 0 || strcmp(value->key, "sha256") == 0 ||
        strcmp(value->key, "private") == 0) {
        ls_status status = check_value(value, why);
        return status == LS_OK ? ls_room_settings_set(settings, value->key, value->text, why)
                               : status;
    }
    return read_match(file, value, settings, why);
}

/* ---- the file ---- */

static ls_status refuse_table(const ls_toml_value *value, ls_text *why)
{
    static const char *const tables[] = {"server", "http", "match", "rooms", "upload"};
    suggestion best = {NULL, UINT32_MAX};
    if (is_among(value->table, tables, sizeof tables / sizeof tables[0], &best)) {
        best.word = value->table; /* with other brackets */
    }
    ls_fail(LS_BAD_ARGUMENT, why, AT "there is no table %s%.48s%s", PLACE(value->at),
            value->is_listed ? "[[" : "[", value->table, value->is_listed ? "]]" : "]");
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

static ls_status read_value(void *user, const ls_toml_value *value, ls_text *why)
{
    reading *file = user;
    bool begins = value->type == LS_TOML_TABLE;
    bool is_known = value->table[0] == '\0' || is_table(value, "http") || is_table(value, "upload");
    if (value->is_listed && strcmp(value->table, "rooms") == 0) {
        return begins ? begin_group(file, value, why) : read_room(file, value, why);
    }
    if (is_table(value, "match")) {
        return begins ? LS_OK : read_match(file, value, &file->config->match, why);
    }
    if (is_table(value, "server")) {
        return begins ? LS_OK : read_server(file, value, why);
    }
    if (!is_known) {
        return refuse_table(value, why);
    }
    return begins ? LS_OK : read_field(file, value, why);
}

static ls_status check_whole(const ls_service_config *config, ls_text *why)
{
    for (uint32_t i = 0; i < config->group_count; i++) {
        if (config->groups[i].name[0] == '\0') {
            return ls_fail(LS_BAD_ARGUMENT, why, "[[rooms]] need a name: name = \"arena\"");
        }
    }
    if (strcmp(config->log_format, "text") != 0 && strcmp(config->log_format, "json") != 0 &&
        strcmp(config->log_format, "journald") != 0) {
        return ls_fail(LS_BAD_ARGUMENT, why, "log-format is text, json or journald, not '%s'",
                       config->log_format);
    }
    return LS_OK;
}

ls_status ls_service_config_parse(const char *bytes, size_t size, ls_service_config *out,
                                  ls_text *why)
{
    *out = ls_service_config_default();
    reading file = {.config = out, .scratch = ls_match_config_default(ls_builtin_simulation(0))};
    const ls_toml_reader reader = {read_value, &file};
    ls_status status = ls_toml_file_read(bytes, size, &reader, why);
    return status == LS_OK ? check_whole(out, why) : status;
}

ls_status ls_service_config_read(const char *path, ls_service_config *out, ls_text *why)
{
    ls_mapped_file file = {NULL, 0};
    ls_status status = ls_mapped_file_open(path, &file, why);
    if (status != LS_OK) {
        return status;
    }
    ls_text reason = {{0}};
    status = file.size <= FILE_BYTES_MAX
                 ? ls_service_config_parse((const char *)file.bytes, file.size, out, &reason)
                 : ls_fail(LS_BAD_ARGUMENT, &reason, "it has more than %u bytes", FILE_BYTES_MAX);
    ls_mapped_file_close(&file);
    return status == LS_OK ? LS_OK
                           : ls_fail(status, why, "%s: %s", path,
                                     reason.bytes[0] ? reason.bytes : ls_status_text(status));
}
