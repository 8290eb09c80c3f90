#include "lockstep/common/loader/plugin_contents.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/machine.h"

#include <inttypes.h>
#include <string.h>

enum {
    PIECE_BYTES = 4096,
    FILE_BYTES_MAX = 1 << 30,
    DATA_BYTES_MAX = 16 << 20, /* a larger file is not hashed: its size must do */
    DATA_FILES_MAX = 4096,     /* names that are looked for */
    NAME_BYTES_MIN = 3,
    NAME_BYTES_MAX = 256,
};

/* ---- files ---- */

/* A copy, which may be changed. The size is that of the file that was opened: under an emulator
 * the path of this program's own file leads to another one by the second look. */
static bool open_file(const char *path, size_t size_max, ls_plugin_contents *out)
{
    ls_mapped_file file;
    *out = (ls_plugin_contents){NULL, 0};
    if (ls_mapped_file_open(path, &file, NULL) != LS_OK) {
        return false;
    }
    if (file.size > 0 && file.size <= size_max) {
        out->bytes = ls_allocate(ls_allocator_heap(), file.size);
    }
    if (out->bytes) {
        out->size = file.size;
        memcpy(out->bytes, file.bytes, file.size);
    }
    ls_mapped_file_close(&file);
    return out->bytes != NULL;
}

bool ls_plugin_contents_open(const char *path, ls_plugin_contents *out)
{
    return open_file(path, FILE_BYTES_MAX, out);
}

void ls_plugin_contents_close(ls_plugin_contents *file)
{
    ls_release(ls_allocator_heap(), file->bytes);
    *file = (ls_plugin_contents){NULL, 0};
}

uint64_t ls_plugin_contents_hash(const ls_plugin_contents *file)
{
    uint64_t hash = 0;
    for (size_t at = 0; at < file->size; at += PIECE_BYTES) {
        size_t size = LS_MIN(file->size - at, (size_t)PIECE_BYTES);
        hash = ls_hash_pair(hash, ls_hash_bytes(file->bytes + at, size, 0));
    }
    return hash;
}

bool ls_plugin_contents_is_of_language(const char *library)
{
    static const char *const beginnings[] = {
        "libc.so",     "libm.so",  "libmvec.so", "libgcc_s.so", "libstdc++.so", "libc++.so",
        "libc++abi",   "libdl.so", "librt.so",   "libpthread.", "ld-linux",     "ld64.so",
        "liblockstep", "libasan.", "libubsan.",  "libtsan.",    "liblsan.",     "linux-vdso"};
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++) {
        if (strncmp(library, beginnings[i], strlen(beginnings[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- how it was made ---- */

static bool has_word(const char *list, const char *word, size_t size)
{
    for (const char *at = list; (at = strstr(at, "-")); at++) {
        if ((at == list || at[-1] == ' ') && strncmp(at, word, size) == 0 &&
            (at[size] == ' ' || at[size] == '\0')) {
            return true;
        }
    }
    return false;
}

void ls_plugin_contents_compiler(const ls_plugin_contents *file, ls_text *out)
{
    ls_plugin_section comment = ls_plugin_section_find(file, ".comment");
    ls_text_set(out, "%s", "");
    for (const char *text = NULL; (text = ls_plugin_section_next(&comment, text));) {
        if (text[0] != '\0' && !strstr(out->bytes, text)) {
            ls_text_add(out, "%s%s", out->bytes[0] != '\0' ? ", " : "", text);
        }
    }
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Flags that change what is computed, and that not every plug-in has. */
static bool is_notable(const char *flag, size_t size)
{
    static const char *const usual[] = {
        "-fPIC",          "-fpic",           "-mtune=",        "-fvisibility", "-fstack",
        "-fasynchronous", "-fcf-protection", "-march=x86-64 ", "-fdebug",      "-ffile-prefix",
        "-fmacro",        "-fdiagnostics",   "-fno-plt",       "-ffunction-s", "-fdata-s"};
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        if (starts_with(flag, usual[i])) {
            return false;
        }
    }
    return size > 2 && flag[0] == '-' && strchr("Omf", flag[1]);
}

static void add_flags(ls_text *out, const char *text)
{
    for (const char *flag = text; *flag != '\0';) {
        size_t size = strcspn(flag, " ");
        if (is_notable(flag, size) && !has_word(out->bytes, flag, size)) {
            ls_text_add(out, "%s%.*s", out->bytes[0] != '\0' ? " " : "", (int)size, flag);
        }
        flag += size + strspn(flag + size, " ");
    }
}

void ls_plugin_contents_flags(const ls_plugin_contents *file, ls_text *out)
{
    ls_plugin_section producers = ls_plugin_section_find(file, ".debug_str");
    ls_plugin_section command = ls_plugin_section_find(file, ".GCC.command.line");
    ls_text_set(out, "%s", "");
    for (const char *text = NULL; (text = ls_plugin_section_next(&command, text));) {
        add_flags(out, text);
    }
    for (const char *text = NULL; (text = ls_plugin_section_next(&producers, text));) {
        bool is_producer = starts_with(text, "GNU C") || starts_with(text, "GNU GIMPLE") ||
                           strstr(text, "clang version");
        if (is_producer) {
            add_flags(out, text);
        }
    }
}

/* ---- what it reads beside the state ---- */

static bool is_of_name(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' ||
           (byte >= '0' && byte <= '9');
}

/* From `at` on; NULL behind the last one. */
static const uint8_t *find_bytes(const uint8_t *at, const uint8_t *end, const char *text,
                                 size_t size)
{
    while ((size_t)(end - at) >= size &&
           (at = memchr(at, text[0], (size_t)(end - at) - size + 1))) {
        if (memcmp(at, text, size) == 0) {
            return at;
        }
        at++;
    }
    return NULL;
}

/* Whether the file has this text, ending with NUL, and not as the end of a longer name. */
static bool has_text(const ls_plugin_contents *file, const char *text, size_t size)
{
    const uint8_t *at = file->bytes;
    const uint8_t *end = file->bytes + file->size;
    while ((at = find_bytes(at, end, text, size))) {
        if (at > file->bytes && !is_of_name((char)at[-1]) && at + size < end && at[size] == '\0') {
            return true;
        }
        at++;
    }
    return false;
}

static void add_hash(ls_text *out, const char *name, size_t name_bytes, uint64_t hash)
{
    ls_text_add(out, "%s%.*s %08" PRIx32, out->bytes[0] != '\0' ? ", " : "", (int)name_bytes, name,
                (uint32_t)hash);
}

/* setlocale asks for these itself. */
static bool is_of_locale(const char *name, size_t size)
{
    return (size == 4 && memcmp(name, "LANG", 4) == 0) || (size > 3 && memcmp(name, "LC_", 3) == 0);
}

void ls_plugin_contents_variables(const ls_plugin_contents *file, ls_text *out)
{
    bool sets_locale = has_text(file, "setlocale", strlen("setlocale"));
    ls_text_set(out, "%s", "");
    for (const char *const *entry = ls_machine_variables(); *entry; entry++) {
        size_t size = strcspn(*entry, "=");
        const char *value = *entry + size;
        if (size >= 2 &&
            (has_text(file, *entry, size) || (sets_locale && is_of_locale(*entry, size)))) {
            add_hash(out, *entry, size, ls_hash_bytes(value, strlen(value), 0));
        }
    }
    if (out->bytes[0] == '\0') {
        ls_text_set(out, "none");
    }
}

/* Names of files, as texts have them: no formats, no sentences, no sources of the plug-in itself,
 * nothing that the system makes up. */
static bool may_be_file(const char *text, size_t size)
{
    static const char *const others[] = {".c", ".h", ".cc", ".cpp", ".hpp", ".rs", ".so"};
    const char *dot = strrchr(text, '.');
    if (size < NAME_BYTES_MIN || size > NAME_BYTES_MAX || strpbrk(text, "%\n\t") ||
        (!dot && !strchr(text, '/')) || starts_with(text, "/proc/") || starts_with(text, "/sys/") ||
        starts_with(text, "/dev/")) {
        return false;
    }
    for (size_t i = 0; dot && i < sizeof others / sizeof others[0]; i++) {
        if (strcmp(dot, others[i]) == 0) {
            return false;
        }
    }
    return true;
}

static void add_data_file(ls_text *out, const char *path)
{
    ls_plugin_contents data;
    ls_file_facts facts;
    if (ls_file_look(path, &facts) && facts.kind == LS_FILE_PLAIN) {
        const char *slash = strrchr(path, '/');
        const char *name = slash ? slash + 1 : path;
        uint64_t hash = facts.bytes;
        if (open_file(path, DATA_BYTES_MAX, &data)) {
            hash = ls_plugin_contents_hash(&data);
            ls_plugin_contents_close(&data);
        }
        add_hash(out, name, strlen(name), hash);
    }
}

void ls_plugin_contents_data(const ls_plugin_contents *file, ls_text *out)
{
    ls_plugin_section constants = ls_plugin_section_find(file, ".rodata");
    uint32_t looked_for = 0;
    ls_text_set(out, "%s", "");
    for (const char *text = NULL; (text = ls_plugin_section_next(&constants, text));) {
        if (may_be_file(text, strlen(text)) && looked_for++ < DATA_FILES_MAX) {
            add_data_file(out, text);
        }
    }
    if (out->bytes[0] == '\0') {
        ls_text_set(out, "none");
    }
}
