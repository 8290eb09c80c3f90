#include "lockstep/server/service/room_settings.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/program/option.h"
#include "lockstep/common/system/file.h"
#include "lockstep/server/service/room_report.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

bool ls_room_name_is_valid(const char *name)
{
    size_t size = strlen(name);
    return size > 0 && size < LS_ROOM_NAME_BYTES_MAX &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == size;
}

static bool is_param(const char *flag)
{
    return strcmp(flag, "param") == 0;
}

/* Each of its rows is another match; see room_rotation.h. */
static bool is_rotation(const char *flag)
{
    return strcmp(flag, "rotation") == 0;
}

static bool is_list(const char *flag)
{
    return is_param(flag) || is_rotation(flag);
}

/* Of a parameter its name counts: what stands before the equals sign. */
static bool is_same(const ls_room_setting *row, const char *flag, const char *value)
{
    if (strcmp(row->flag, flag) != 0 || is_rotation(flag)) {
        return false;
    }
    size_t name = strcspn(value, "=");
    return !is_param(flag) ||
           (strcspn(row->value, "=") == name && memcmp(row->value, value, name) == 0);
}

/* The one row whose value counts before the room is opened. A word that is not known is refused:
 * taken for "off" it would let everybody in. */
static ls_status read_private(const char **value, ls_text *why)
{
    static const char *const words[] = {"off", "on", "false", "true"};
    for (uint32_t i = 0; i < 4; i++) {
        if (strcmp(*value, words[i]) == 0) {
            *value = words[i % 2];
            return LS_OK;
        }
    }
    return ls_fail(LS_BAD_ARGUMENT, why, "private takes on or off (true or false), not '%.32s'",
                   *value);
}

ls_status ls_room_settings_set(ls_room_settings *settings, const char *flag, const char *value,
                               ls_text *why)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";
    uint32_t index = 0;
    if (flag[strspn(flag, letters)] != '\0') {
        return ls_fail(LS_BAD_ARGUMENT, why, "there is no setting '%.32s'", flag);
    }
    while (index < settings->count && !is_same(&settings->rows[index], flag, value)) {
        index++;
    }
    if (index == LS_ROOM_SETTINGS_MAX) {
        return ls_fail(LS_FULL, why, "a room takes %u settings at most", LS_ROOM_SETTINGS_MAX);
    }
    ls_status status = strcmp(flag, "private") == 0 ? read_private(&value, why) : LS_OK;
    if (status != LS_OK) {
        return status;
    }
    ls_room_setting *row = &settings->rows[index];
    if (strlen(flag) >= sizeof row->flag || strlen(value) >= sizeof row->value) {
        return ls_fail(LS_BAD_ARGUMENT, why, "the setting '%.32s' is longer than %zu characters",
                       flag, sizeof row->value - 1);
    }
    ls_name_copy(row->flag, sizeof row->flag, flag);
    ls_name_copy(row->value, sizeof row->value, value);
    settings->count = LS_MAX(settings->count, index + 1);
    return LS_OK;
}

/* Another one takes its place as a whole. */
static void drop_rotation(ls_room_settings *settings)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < settings->count; i++) {
        if (!is_rotation(settings->rows[i].flag)) {
            settings->rows[kept++] = settings->rows[i];
        }
    }
    settings->count = kept;
}

ls_status ls_room_settings_merge(ls_room_settings *settings, const ls_room_settings *over,
                                 ls_text *why)
{
    ls_status status = LS_OK;
    if (ls_room_settings_find(over, "rotation")) {
        drop_rotation(settings);
    }
    for (uint32_t i = 0; status == LS_OK && i < over->count; i++) {
        status = ls_room_settings_set(settings, over->rows[i].flag, over->rows[i].value, why);
    }
    return status;
}

ls_status ls_room_settings_join_timeout(const ls_room_settings *settings, uint32_t *seconds,
                                        ls_text *why)
{
    const char *text = ls_room_settings_find(settings, "join-timeout");
    uint64_t number = 0;
    const ls_option_range range = {0, LS_ROOM_JOIN_TIMEOUT_S_MAX};
    ls_status status = text ? ls_option_number("join-timeout", text, range, &number, why) : LS_OK;
    *seconds = (uint32_t)number;
    return status;
}

static size_t used_bytes(const ls_room_settings *settings)
{
    return offsetof(ls_room_settings, rows) + settings->count * sizeof settings->rows[0];
}

void ls_room_settings_copy(ls_room_settings *to, const ls_room_settings *from)
{
    memcpy(to, from, used_bytes(from));
}

ls_room_settings *ls_room_settings_keep(const ls_room_settings *settings)
{
    ls_room_settings *kept = ls_allocate(ls_allocator_heap(), used_bytes(settings));
    if (kept) {
        ls_room_settings_copy(kept, settings);
    }
    return kept;
}

void ls_room_settings_release(const ls_room_settings *kept)
{
    ls_release(ls_allocator_heap(), (void *)(uintptr_t)kept);
}

const char *ls_room_settings_find(const ls_room_settings *settings, const char *flag)
{
    for (uint32_t i = 0; i < settings->count; i++) {
        if (strcmp(settings->rows[i].flag, flag) == 0) {
            return settings->rows[i].value;
        }
    }
    return NULL;
}

ls_status ls_room_settings_pop_name(ls_room_settings *settings, char out[LS_ROOM_NAME_BYTES_MAX],
                                    ls_text *why)
{
    for (uint32_t i = 0; i < settings->count; i++) {
        if (strcmp(settings->rows[i].flag, "name") != 0) {
            continue;
        }
        if (!ls_room_name_is_valid(settings->rows[i].value)) {
            return ls_fail(LS_BAD_ARGUMENT, why,
                           "the name of a room has 1 to %u letters, digits, '-' or '_'",
                           LS_ROOM_NAME_BYTES_MAX - 1);
        }
        ls_name_copy(out, LS_ROOM_NAME_BYTES_MAX, settings->rows[i].value);
        memmove(&settings->rows[i], &settings->rows[i + 1],
                (--settings->count - i) * sizeof settings->rows[i]);
        return LS_OK;
    }
    return LS_OK;
}

/* ---- JSON ---- */

void ls_room_settings_write(const ls_room_settings *settings, ls_json *object)
{
    ls_json *lists[2] = {NULL, NULL};
    for (uint32_t i = 0; i < settings->count; i++) {
        const ls_room_setting *row = &settings->rows[i];
        if (is_list(row->flag)) {
            ls_json **list = &lists[is_param(row->flag) ? 0 : 1];
            *list = *list ? *list : ls_json_array(object, row->flag);
            ls_json_append_text(*list, row->value);
        } else {
            ls_json_text(object, row->flag, row->value);
        }
    }
}

static ls_status read_value(const ls_json *member, const char *flag, ls_room_settings *out,
                            ls_text *why)
{
    char value[sizeof out->rows[0].value];
    if (!ls_json_value_text(member, value, sizeof value)) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "the setting '%.32s' takes a text, a number, true or false, of at most %zu "
                       "characters; a whole number beyond 2^53 - 1 is given as a text",
                       flag, sizeof value - 1);
    }
    return ls_room_settings_set(out, flag, value, why);
}

ls_status ls_room_settings_read(const ls_json *object, ls_room_settings *out, ls_text *why)
{
    ls_room_settings settings = {.count = 0};
    ls_status status = LS_OK;
    if (!ls_json_is_object(object)) {
        return ls_fail(LS_BAD_ARGUMENT, why, "settings are an object of flags and their values");
    }
    for (const ls_json *member = ls_json_first(object); status == LS_OK && member;
         member = ls_json_next(member)) {
        const char *flag = ls_json_key(member);
        const ls_json *value = is_list(flag) ? ls_json_first(member) : NULL;
        if (!value) {
            status = read_value(member, flag, &settings, why);
        }
        for (; status == LS_OK && value; value = ls_json_next(value)) {
            status = read_value(value, flag, &settings, why);
        }
    }
    if (status == LS_OK) {
        *out = settings;
    }
    return status;
}

/* ---- plugin choice ---- */

enum {
    DIGITS = 2 * LS_CIPHER_SHA256_BYTES,
};

static ls_status check_digest(const char *path, const char *name, const char *sha256, ls_text *why)
{
    uint8_t digest[LS_CIPHER_SHA256_BYTES];
    char digits[DIGITS + 1];
    ls_mapped_file file;
    if (ls_mapped_file_open(path, &file, why) != LS_OK) {
        return LS_BAD_ARGUMENT;
    }
    ls_cipher_sha256(file.bytes, file.size, digest);
    ls_mapped_file_close(&file);
    ls_hex_write(digits, digest, sizeof digest);
    return strcasecmp(digits, sha256) == 0
               ? LS_OK
               : ls_fail(LS_BAD_ARGUMENT, why,
                         "the plug-in %s is not the one that the room asks for: its SHA-256 is %s",
                         name, digits);
}

bool ls_plugin_choice_is_file(const char *name)
{
    return strstr(name, ".so") != NULL || strchr(name, '/') != NULL;
}

ls_status ls_plugin_choice_find(const ls_plugin_choice *choice, char *path, size_t capacity,
                                ls_text *why)
{
    const char *name = choice->name ? choice->name : "";
    bool is_file = ls_plugin_choice_is_file(name);
    if (choice->sha256 && (!is_file || strlen(choice->sha256) != DIGITS ||
                           strspn(choice->sha256, "0123456789abcdefABCDEF") != DIGITS)) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "sha256 has the %d digits that sha256sum prints of a plug-in, beside its "
                       "name as sim",
                       DIGITS);
    }
    if (is_file && (!choice->directory || strchr(name, '/'))) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "the simulation '%s' is no file of the directory of plug-ins", name);
    }
    int bytes = snprintf(path, capacity, "%s%s%s", is_file ? choice->directory : "",
                         is_file ? "/" : "", name);
    if (bytes < 0 || (size_t)bytes >= capacity) {
        return ls_fail(LS_BAD_ARGUMENT, why, "the path of the simulation '%s' is too long", name);
    }
    return choice->sha256 ? check_digest(path, name, choice->sha256, why) : LS_OK;
}
