#include "lockstep/server/control/operators.h"

#include "lockstep/common/base/cipher.h"
#include "lockstep/common/system/private_file.h"
#include "lockstep/common/system/system_clock.h"

#include <inttypes.h>
#include <string.h>

enum {
    FILE_BYTES_MAX = 32768, /* a longer one is another file */
};

static const char *const role_words[] = {"view", "moderate", "admin"};

const char *ls_operator_role_word(ls_operator_role role)
{
    return role_words[role];
}

/* ---- rows ---- */

static bool is_name(const char *name)
{
    size_t size = strlen(name);
    return size > 0 && size < LS_OPERATOR_NAME_BYTES_MAX &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.@") ==
               size;
}

/* Of printable characters alone. */
static bool is_token(const char *token)
{
    size_t size = strlen(token);
    for (size_t i = 0; i < size; i++) {
        if (token[i] <= ' ' || token[i] > '~') {
            return false;
        }
    }
    return size >= LS_OPERATOR_TOKEN_BYTES_MIN && size < LS_OPERATOR_TOKEN_BYTES_MAX;
}

static bool has_name(const ls_operators *operators, const char *name)
{
    bool is_there = false;
    for (uint32_t i = 0; i < operators->count; i++) {
        is_there = is_there || strcmp(operators->rows[i].name, name) == 0;
    }
    return is_there;
}

ls_status ls_operators_add(ls_operators *operators, const char *name, ls_operator_role role,
                           const char *token, ls_text *why)
{
    if (operators->count == LS_OPERATORS_MAX) {
        return ls_fail(LS_FULL, why, "there are %u operators at most", LS_OPERATORS_MAX);
    }
    if (!is_name(name) || has_name(operators, name)) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "an operator has a name of its own, of 1 to %u letters, digits, '-', '_', "
                       "'.' or '@'",
                       LS_OPERATOR_NAME_BYTES_MAX - 1);
    }
    if (!is_token(token) || ls_operators_find(operators, token)) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "a token is one word of %u to %u printable characters, and nobody else's; "
                       "make one with: openssl rand -hex 32",
                       LS_OPERATOR_TOKEN_BYTES_MIN, LS_OPERATOR_TOKEN_BYTES_MAX - 1);
    }
    ls_operator *row = &operators->rows[operators->count++];
    *row = (ls_operator){.role = role};
    memcpy(row->name, name, strlen(name));
    memcpy(row->token, token, strlen(token));
    return LS_OK;
}

const ls_operator *ls_operators_find(const ls_operators *operators, const char *token)
{
    const ls_operator *found = NULL;
    uint8_t given[LS_OPERATOR_TOKEN_BYTES_MAX] = {0};
    size_t size = strlen(token);
    if (size == 0 || size >= sizeof given) {
        return NULL;
    }
    memcpy(given, token, size);
    for (uint32_t i = 0; i < operators->count; i++) {
        const ls_operator *row = &operators->rows[i];
        found = ls_cipher_is_equal(given, (const uint8_t *)row->token, sizeof given) ? row : found;
    }
    ls_cipher_wipe(given, sizeof given);
    return found;
}

/* ---- the text of a file ---- */

/* The next word of a line of `size` characters from `*at` on; "" when there is none. */
static void take_word(const char *line, size_t size, size_t *at, char *out, size_t capacity)
{
    size_t length = 0;
    while (*at < size && strchr(" \t\r", line[*at])) {
        (*at)++;
    }
    while (*at < size && !strchr(" \t\r", line[*at])) {
        length += length < capacity - 1 ? 1 : 0;
        out[length - 1] = line[(*at)++];
    }
    out[length] = '\0';
}

static ls_status read_line(ls_operators *operators, const char *line, size_t size, ls_text *why)
{
    char name[LS_OPERATOR_NAME_BYTES_MAX + 1];
    char role[16];
    char token[LS_OPERATOR_TOKEN_BYTES_MAX + 1];
    char rest[2];
    size_t at = 0;
    take_word(line, size, &at, name, sizeof name);
    if (name[0] == '\0' || name[0] == '#') {
        return LS_OK;
    }
    take_word(line, size, &at, role, sizeof role);
    take_word(line, size, &at, token, sizeof token);
    take_word(line, size, &at, rest, sizeof rest);
    uint32_t index = 0;
    while (index <= LS_OPERATOR_ADMIN && strcmp(role, role_words[index]) != 0) {
        index++;
    }
    ls_status status =
        index <= LS_OPERATOR_ADMIN && rest[0] == '\0'
            ? ls_operators_add(operators, name, (ls_operator_role)index, token, why)
            : ls_fail(LS_BAD_ARGUMENT, why,
                      "an operator is NAME ROLE TOKEN, with a role of view, moderate or admin");
    ls_cipher_wipe(token, sizeof token);
    return status;
}

ls_status ls_operators_parse(ls_operators *operators, const char *text, const char *path,
                             ls_text *why)
{
    ls_status status = LS_OK;
    uint32_t number = 0;
    while (status == LS_OK && *text != '\0') {
        ls_text reason = {{0}};
        size_t size = strcspn(text, "\n");
        status = read_line(operators, text, size, &reason);
        number++;
        if (status != LS_OK) {
            return ls_fail(status, why, "%s: line %u: %s", path, (unsigned)number, reason.bytes);
        }
        text += size + (text[size] == '\n' ? 1 : 0);
    }
    return status;
}

/* ---- the files ---- */

static bool is_given(const char *path)
{
    return path && path[0] != '\0';
}

static ls_status read_token(ls_operators *operators, char *text, const char *path, ls_text *why)
{
    ls_text reason = {{0}};
    text[strcspn(text, "\r\n")] = '\0';
    ls_status status = ls_operators_add(operators, "token", LS_OPERATOR_ADMIN, text, &reason);
    return status == LS_OK ? LS_OK : ls_fail(status, why, "%s: %s", path, reason.bytes);
}

static ls_status read_file(ls_operators *operators, const char *path, bool is_token_alone,
                           ls_text *why)
{
    char text[FILE_BYTES_MAX + 1];
    size_t size = 0;
    ls_status status = ls_private_file_read(path, (uint8_t *)text, FILE_BYTES_MAX, &size, why);
    if (status == LS_OK) {
        text[size] = '\0';
        status = memchr(text, '\0', size) ? ls_fail(LS_BAD_ARGUMENT, why, "%s: it is no text", path)
                 : is_token_alone         ? read_token(operators, text, path, why)
                                          : ls_operators_parse(operators, text, path, why);
    }
    ls_cipher_wipe(text, sizeof text);
    return status;
}

static void look(const ls_operator_files *files, ls_file_facts facts[2])
{
    const char *const paths[2] = {files->token_path, files->operators_path};
    memset(facts, 0, 2 * sizeof facts[0]);
    for (int i = 0; i < 2; i++) {
        if (is_given(paths[i])) {
            (void)ls_private_file_look(paths[i], &facts[i]);
        }
    }
}

ls_status ls_operators_read(ls_operator_files *files, ls_operators *out, ls_text *why)
{
    ls_operators read = {.count = 0};
    ls_status status = LS_OK;
    look(files, files->seen);
    if (is_given(files->token_path)) {
        status = read_file(&read, files->token_path, true, why);
    }
    if (status == LS_OK && is_given(files->operators_path)) {
        status = read_file(&read, files->operators_path, false, why);
    }
    if (status == LS_OK) {
        *out = read;
    }
    ls_cipher_wipe(&read, sizeof read);
    return status;
}

void ls_operators_watch(ls_operator_files *files, ls_operators *operators, const ls_log *log)
{
    ls_file_facts now[2];
    ls_text why = {{0}};
    look(files, now);
    if (ls_file_is_unchanged(&now[0], &files->seen[0]) &&
        ls_file_is_unchanged(&now[1], &files->seen[1])) {
        return;
    }
    if (ls_operators_read(files, operators, &why) == LS_OK) {
        ls_log_line(log, LS_LOG_INFO, "the tokens of %u operators were read anew",
                    (unsigned)operators->count);
    } else {
        ls_log_line(log, LS_LOG_WARNING, "%s: the operators stay as they were", why.bytes);
    }
}

/* ---- audit log ---- */

#define OF_ENTRY(member) LS_JSON_FIELD(ls_audit_entry, member)

static const ls_json_field fields[] = {
    OF_ENTRY(number), OF_ENTRY(unix_ms), OF_ENTRY(name),   OF_ENTRY(role),
    OF_ENTRY(what),   OF_ENTRY(body),    OF_ENTRY(status), OF_ENTRY(result),
};

void ls_audit_log_add(ls_audit_log *audit, const ls_audit_entry *entry)
{
    const ls_audit_entry *last = &audit->entries[(audit->newest - 1) % LS_AUDIT_KEPT];
    bool is_again = audit->newest > 0 && entry->status == 403 && last->status == 403 &&
                    strcmp(entry->name, last->name) == 0;
    audit->newest += is_again ? 0 : 1;
    ls_audit_entry *added = &audit->entries[(audit->newest - 1) % LS_AUDIT_KEPT];
    *added = *entry;
    added->number = audit->newest;
    added->unix_ms = ls_clock_unix_ms();
    ls_text_make_printable(added->what, strlen(added->what));
    ls_text_make_printable(added->body, strlen(added->body));
    ls_text_make_printable(added->result.bytes, strlen(added->result.bytes));
    if (audit->log) {
        ls_log_line(audit->log, LS_LOG_INFO, "operator %s (%s): %s%s%s: %" PRIu32 " %s",
                    added->name, added->role, added->what, added->body[0] ? " " : "", added->body,
                    added->status, added->result.bytes);
    }
}

void ls_audit_log_write(const ls_audit_log *audit, ls_json *object)
{
    ls_json *entries = ls_json_array(object, "entries");
    uint64_t kept = LS_MIN(audit->newest, LS_AUDIT_KEPT);
    for (uint64_t number = audit->newest - kept; number < audit->newest; number++) {
        LS_JSON_ADD(ls_json_append(entries), fields, &audit->entries[number % LS_AUDIT_KEPT]);
    }
}
