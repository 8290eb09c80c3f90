#define _XOPEN_SOURCE 700
#include "lockstep/tools/replay/journal_list.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/maths/stable_sort.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    DEPTH_MAX = 16, /* of folders in folders */
    PATH_BYTES_MAX = 4096,
    FIRST_CAPACITY = 64,
};

bool replay_is_folder(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

static ls_status grow(replay_journal_list *list)
{
    uint32_t capacity = list->capacity == 0 ? FIRST_CAPACITY : 2 * list->capacity;
    char **paths = ls_allocate_array(ls_allocator_heap(), capacity, sizeof *paths);
    if (!paths) {
        return LS_NO_MEMORY;
    }
    memcpy(paths, list->paths ? (const void *)list->paths : "", list->count * sizeof *paths);
    ls_release(ls_allocator_heap(), list->paths);
    list->paths = paths;
    list->capacity = capacity;
    return LS_OK;
}

static ls_status add(replay_journal_list *list, const char *path)
{
    ls_status status = list->count == list->capacity ? grow(list) : LS_OK;
    size_t bytes = strlen(path) + 1;
    char *copy = status == LS_OK ? ls_allocate(ls_allocator_heap(), bytes) : NULL;
    if (!copy) {
        return LS_NO_MEMORY;
    }
    memcpy(copy, path, bytes);
    list->paths[list->count++] = copy;
    return LS_OK;
}

static bool is_journal(const char *name)
{
    static const char ending[] = ".journal";
    size_t size = strlen(name);
    return size >= sizeof ending && strcmp(name + size - sizeof ending + 1, ending) == 0;
}

static ls_status fill(replay_journal_list *list, const char *folder, uint32_t depth, ls_text *why);

static ls_status look_at(replay_journal_list *list, const char *folder, const char *name,
                         uint32_t depth, ls_text *why)
{
    char path[PATH_BYTES_MAX];
    struct stat found;
    int bytes = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (name[0] == '.' || bytes >= (int)sizeof path || lstat(path, &found) != 0) {
        return LS_OK;
    }
    if (S_ISDIR(found.st_mode) && depth < DEPTH_MAX) {
        return fill(list, path, depth + 1, why);
    }
    return is_journal(name) && !replay_is_folder(path) ? add(list, path) : LS_OK;
}

static ls_status fill(replay_journal_list *list, const char *folder, uint32_t depth, ls_text *why)
{
    DIR *directory = opendir(folder);
    if (!directory) {
        return ls_fail(LS_IO, why, "cannot read the folder %s: %s", folder, strerror(errno));
    }
    ls_status status = LS_OK;
    const struct dirent *entry = NULL;
    while (status == LS_OK && (entry = readdir(directory)) != NULL) {
        status = look_at(list, folder, entry->d_name, depth, why);
    }
    closedir(directory);
    return status;
}

static int compare_paths(const void *a, const void *b, const void *user)
{
    (void)user;
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static ls_status sort(replay_journal_list *list)
{
    char **scratch = ls_allocate_array(ls_allocator_heap(), list->count + 1, sizeof *scratch);
    if (!scratch) {
        return LS_NO_MEMORY;
    }
    ls_stable_sort(list->paths, list->count, sizeof *list->paths, scratch, compare_paths, NULL);
    ls_release(ls_allocator_heap(), scratch);
    return LS_OK;
}

ls_status replay_journal_list_fill(replay_journal_list *list, const char *path, ls_text *why)
{
    ls_status status = replay_is_folder(path) ? fill(list, path, 0, why) : add(list, path);
    status = status == LS_OK && list->count > 0 ? sort(list) : status;
    if (status == LS_NO_MEMORY) {
        ls_text_set(why, "%s", ls_status_text(status));
    }
    return status;
}

void replay_journal_list_free(replay_journal_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        ls_release(ls_allocator_heap(), list->paths[i]);
    }
    ls_release(ls_allocator_heap(), list->paths);
    *list = (replay_journal_list){.count = 0};
}
