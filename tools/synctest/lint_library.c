#define _GNU_SOURCE
#include "lockstep/tools/synctest/lint_library.h"

#include <elf.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    INCLUDES_MAX = 4, /* configuration files that name each other */
    LINE_BYTES_MAX = 1024,
};

static const char loader_configuration[] = "/etc/ld.so.conf";
static const char usual_folders[] = "/lib64:/usr/lib64:/lib:/usr/lib:/usr/local/lib";
static const char include_word[] = "include";

/* The part of an object's header that says where it can be loaded. */
typedef struct object_kind {
    uint8_t width;
    uint8_t order;
    uint8_t machine[2];
} object_kind;

typedef struct search {
    const char *name;
    const char *object_path;
    object_kind kind;
    char *path;
} search;

static bool read_kind(const char *path, object_kind *kind)
{
    uint8_t bytes[20];
    FILE *file = fopen(path, "rbe");
    size_t count = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (file) {
        fclose(file);
    }
    if (count < sizeof bytes || memcmp(bytes, ELFMAG, SELFMAG) != 0) {
        return false;
    }
    *kind = (object_kind){bytes[EI_CLASS], bytes[EI_DATA], {bytes[18], bytes[19]}};
    return true;
}

static bool try_path(const search *wanted, const char *path)
{
    object_kind kind;
    if (!read_kind(path, &kind) || memcmp(&kind, &wanted->kind, sizeof kind) != 0) {
        return false;
    }
    snprintf(wanted->path, SYNCTEST_LINT_LIBRARY_PATH_BYTES_MAX, "%s", path);
    return true;
}

/* A folder may begin with the word for the object's own. */
static bool try_folder(const search *wanted, const char *folder, size_t size)
{
    static const char *const origins[] = {"$ORIGIN", "${ORIGIN}"};
    char path[SYNCTEST_LINT_LIBRARY_PATH_BYTES_MAX];
    const char *slash = strrchr(wanted->object_path, '/');
    size_t origin_size = 0;
    for (size_t i = 0; i < sizeof origins / sizeof origins[0]; i++) {
        size_t word_size = strlen(origins[i]);
        if (size >= word_size && memcmp(folder, origins[i], word_size) == 0) {
            origin_size = word_size;
        }
    }
    int parent_size = origin_size > 0 && slash ? (int)(slash - wanted->object_path) : 0;
    const char *parent = origin_size > 0 && !slash ? "." : "";
    int used = snprintf(path, sizeof path, "%.*s%s%.*s/%s", parent_size, wanted->object_path,
                        parent, (int)(size - origin_size), folder + origin_size, wanted->name);
    return size > 0 && used > 0 && (size_t)used < sizeof path && try_path(wanted, path);
}

static bool try_list(const search *wanted, const char *list)
{
    while (list && *list) {
        size_t size = strcspn(list, ":");
        if (try_folder(wanted, list, size)) {
            return true;
        }
        list += size + (list[size] == ':');
    }
    return false;
}

/* Files whose folders are still to be looked into; a file that names others adds them. */
typedef struct file_patterns {
    char list[INCLUDES_MAX][LINE_BYTES_MAX];
    uint32_t count;
} file_patterns;

static void add_pattern(file_patterns *patterns, const char *pattern)
{
    if (patterns->count < INCLUDES_MAX) {
        snprintf(patterns->list[patterns->count++], LINE_BYTES_MAX, "%s", pattern);
    }
}

static bool try_line(const search *wanted, char *line, file_patterns *patterns)
{
    line[strcspn(line, "#\n")] = '\0';
    const char *word = line + strspn(line, " \t");
    size_t include_size = strlen(include_word);
    if (strncmp(word, include_word, include_size) != 0) {
        return try_folder(wanted, word, strcspn(word, " \t"));
    }
    word += include_size;
    add_pattern(patterns, word + strspn(word, " \t"));
    return false;
}

static bool try_file(const search *wanted, const char *path, file_patterns *patterns)
{
    char line[LINE_BYTES_MAX];
    bool is_found = false;
    FILE *file = fopen(path, "re");
    while (file && !is_found && fgets(line, sizeof line, file)) {
        is_found = try_line(wanted, line, patterns);
    }
    if (file) {
        fclose(file);
    }
    return is_found;
}

static bool try_configuration(const search *wanted)
{
    file_patterns patterns = {.count = 0};
    bool is_found = false;
    add_pattern(&patterns, loader_configuration);
    for (uint32_t next = 0; next < patterns.count && !is_found; next++) {
        glob_t files = {0};
        if (glob(patterns.list[next], 0, NULL, &files) != 0) {
            continue;
        }
        for (size_t i = 0; i < files.gl_pathc && !is_found; i++) {
            is_found = try_file(wanted, files.gl_pathv[i], &patterns);
        }
        globfree(&files);
    }
    return is_found;
}

bool synctest_lint_library_find(const char *name, const char *object_path, const char *run_path,
                                char path[SYNCTEST_LINT_LIBRARY_PATH_BYTES_MAX])
{
    search wanted = {.name = name, .object_path = object_path, .path = path};
    if (!read_kind(object_path, &wanted.kind)) {
        return false;
    }
    if (strchr(name, '/')) {
        return try_path(&wanted, name);
    }
    return try_list(&wanted, getenv("LD_LIBRARY_PATH")) || try_list(&wanted, run_path) ||
           try_configuration(&wanted) || try_list(&wanted, usual_folders);
}
