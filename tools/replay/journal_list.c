#include "lockstep/tools/replay/journal_list.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/maths/stable_sort.h"
#include "lockstep/common/system/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
    DEPTH_MAX = 16, /* of folders in folders */
    PATH_BYTES_MAX = 4096,
    FIRST_CAPACITY = 64,
};

bool replay_is_folder(const char *path)
{
    ls_file_facts found;
    return ls_file_look(path, &found) && found.kind == LS_FILE_FOLDER;
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
    ls_file_facts found;
    int bytes = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (name[0] == '.' || bytes >= (int)sizeof path) {
        return LS_OK;
    }
    bool is_folder = ls_file_look(path, &found) && found.kind == LS_FILE_FOLDER;
    if (is_folder && !found.is_link && depth < DEPTH_MAX) {
        return fill(list, path, depth + 1, why);
    }
    return is_journal(name) && !is_folder ? add(list, path) : LS_OK;
}

static ls_status fill(replay_journal_list *list, const char *folder, uint32_t depth, ls_text *why)
{
    ls_folder *directory = ls_folder_open(folder);
    if (!directory) {
        return ls_fail(LS_IO, why, "cannot read the folder %s: %s", folder, strerror(errno));
    }
    ls_status status = LS_OK;
    const char *name = NULL;
    while (status == LS_OK && (name = ls_folder_next(directory)) != NULL) {
        status = look_at(list, folder, name, depth, why);
    }
    ls_folder_close(directory);
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
