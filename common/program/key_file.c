#include "lockstep/common/program/key_file.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/system/private_file.h"

#include <stdio.h>
#include <string.h>

enum {
    FILE_BYTES_MAX = 1024,
};

/* ---- reading ---- */

bool ls_key_file_read_hex(const char *text, uint8_t *bytes, size_t size)
{
    return strlen(text) == 2 * size && ls_hex_read(text, bytes, size);
}

/* A line "NAME HEX" of `size` characters. */
static ls_status read_secret(const char *path, const ls_key_file *file, const char *line,
                             size_t size, ls_text *why)
{
    for (uint32_t i = 0; i < file->count; i++) {
        ls_key_file_secret *secret = &file->secrets[i];
        size_t name = strlen(secret->name);
        if (size <= name || memcmp(line, secret->name, name) != 0 || line[name] != ' ') {
            continue;
        }
        size_t had = size - name - 1;
        if (had < 2 * secret->size) {
            return ls_fail(LS_MALFORMED, why, "%s is cut short: its %s has %zu of %zu digits", path,
                           secret->name, had, 2 * secret->size);
        }
        if (had > 2 * secret->size || secret->is_there ||
            !ls_hex_read(line + name + 1, secret->bytes, secret->size)) {
            break;
        }
        secret->is_there = true;
        return LS_OK;
    }
    return line[size] == '\0'
               ? ls_fail(LS_MALFORMED, why, "%s is cut short: its last line is not whole", path)
               : ls_fail(LS_MALFORMED, why, "%s has a line that is not understood", path);
}

/* Returns the first line's end behind its newline, or NULL when the file is of another kind. */
static const char *skip_head(const char *text, const ls_key_file *file)
{
    size_t kind = strlen(file->kind);
    bool is_kind = strncmp(text, file->kind, kind) == 0 && strncmp(text + kind, " 1\n", 3) == 0;
    return is_kind ? text + kind + 3 : NULL;
}

static ls_status parse(const char *path, const ls_key_file *file, const char *text, ls_text *why)
{
    const char *line = skip_head(text, file);
    if (!line) {
        return ls_fail(LS_MALFORMED, why, "%s is no %s: its first line is not '%s 1'", path,
                       file->kind, file->kind);
    }
    while (*line != '\0') {
        size_t size = strcspn(line, "\n");
        if (size > 0 && line[0] != '#') {
            ls_status status = read_secret(path, file, line, size, why);
            if (status != LS_OK) {
                return status;
            }
        }
        line += size + (line[size] == '\n' ? 1 : 0);
    }
    for (uint32_t i = 0; i < file->count; i++) {
        if (!file->secrets[i].is_there && !file->secrets[i].is_optional) {
            return ls_fail(LS_MALFORMED, why, "%s is cut short: its %s is missing", path,
                           file->secrets[i].name);
        }
    }
    return LS_OK;
}

ls_status ls_key_file_read(const char *path, const ls_key_file *file, ls_text *why)
{
    char text[FILE_BYTES_MAX + 1];
    for (uint32_t i = 0; i < file->count; i++) {
        file->secrets[i].is_there = false;
    }
    size_t size = 0;
    ls_status status = ls_private_file_read(path, (uint8_t *)text, FILE_BYTES_MAX, &size, why);
    if (status == LS_OK) {
        text[size] = '\0';
        status = parse(path, file, text, why);
    }
    ls_cipher_wipe(text, sizeof text);
    return status;
}

/* ---- making ---- */

/* Returns the size. */
static size_t compose(const ls_key_file *file, char text[FILE_BYTES_MAX])
{
    int head = snprintf(text, FILE_BYTES_MAX, "%s 1\n# %s\n", file->kind, file->warning);
    size_t size = (size_t)head;
    for (uint32_t i = 0; i < file->count; i++) {
        const ls_key_file_secret *secret = &file->secrets[i];
        if (secret->is_optional && !secret->is_there) {
            continue;
        }
        size_t name = strlen(secret->name);
        LS_ASSERT(size + name + 2 * secret->size + 2 < FILE_BYTES_MAX);
        memcpy(text + size, secret->name, name);
        size += name;
        text[size++] = ' ';
        ls_hex_write(text + size, secret->bytes, secret->size);
        size += 2 * secret->size;
        text[size++] = '\n';
    }
    return size;
}

typedef ls_status write_file(const char *path, const char *what, const uint8_t *bytes, size_t size,
                             ls_text *why);

static ls_status write_by(write_file *write, const char *path, const ls_key_file *file,
                          ls_text *why)
{
    char text[FILE_BYTES_MAX];
    size_t size = compose(file, text);
    ls_status status = write(path, file->kind, (const uint8_t *)text, size, why);
    ls_cipher_wipe(text, sizeof text);
    return status;
}

ls_status ls_key_file_make(const char *path, const ls_key_file *file, ls_text *why)
{
    return write_by(ls_private_file_make, path, file, why);
}

/* The same in place of a file that may be there. IO. */
static ls_status key_file_replace(const char *path, const ls_key_file *file, ls_text *why)
{
    return write_by(ls_private_file_replace, path, file, why);
}

#define KIND "lockstep token key"
#define WARNING "Whoever has this file can let anybody in. Your back end and your servers have it."

ls_status ls_token_key_read(const char *path, ls_token_key *out, ls_text *why)
{
    ls_token_key read;
    memset(&read, 0, sizeof read);
    ls_key_file_secret secrets[] = {
        {.name = "key", .bytes = read.keys[0], .size = LS_CIPHER_KEY_BYTES},
        {.name = "old-key",
         .bytes = read.keys[1],
         .size = LS_CIPHER_KEY_BYTES,
         .is_optional = true},
    };
    const ls_key_file file = {KIND, WARNING, secrets, 2};
    ls_status status = ls_key_file_read(path, &file, why);
    if (status == LS_OK) {
        read.count = secrets[1].is_there ? 2 : 1;
        *out = read;
    }
    ls_cipher_wipe(&read, sizeof read);
    return status;
}

ls_status ls_token_key_make(const char *path, const ls_token_key *old, ls_text *why)
{
    uint8_t keys[2][LS_CIPHER_KEY_BYTES] = {{0}};
    ls_key_file_secret secrets[] = {
        {.name = "key", .bytes = keys[0], .size = LS_CIPHER_KEY_BYTES},
        {.name = "old-key",
         .bytes = keys[1],
         .size = LS_CIPHER_KEY_BYTES,
         .is_optional = true,
         .is_there = old != NULL},
    };
    if (ls_cipher_init() != LS_OK) {
        return ls_fail(LS_IO, why, "the system has no random bytes to give");
    }
    ls_cipher_random(keys[0], LS_CIPHER_KEY_BYTES);
    if (old) {
        memcpy(keys[1], old->keys[0], LS_CIPHER_KEY_BYTES);
    }
    const ls_key_file file = {KIND, WARNING, secrets, 2};
    ls_status status = ls_key_file_make(path, &file, why);
    ls_cipher_wipe(keys, sizeof keys);
    return status;
}

ls_status ls_token_key_replace(const char *path, const uint8_t key[LS_CIPHER_KEY_BYTES],
                               ls_text *why)
{
    uint8_t bytes[LS_CIPHER_KEY_BYTES];
    memcpy(bytes, key, sizeof bytes);
    ls_key_file_secret secret = {.name = "key", .bytes = bytes, .size = sizeof bytes};
    const ls_key_file file = {KIND, WARNING, &secret, 1};
    ls_status status = key_file_replace(path, &file, why);
    ls_cipher_wipe(bytes, sizeof bytes);
    return status;
}
