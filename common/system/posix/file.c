#define _DEFAULT_SOURCE /* flock */
#define _FILE_OFFSET_BITS 64
#include "lockstep/common/system/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

bool ls_file_look(const char *path, ls_file_facts *out)
{
    struct stat link;
    struct stat found;
    if (lstat(path, &link) != 0 || stat(path, &found) != 0) {
        return false;
    }
    if (out) {
        *out = (ls_file_facts){.kind = S_ISREG(found.st_mode)   ? LS_FILE_PLAIN
                                       : S_ISDIR(found.st_mode) ? LS_FILE_FOLDER
                                                                : LS_FILE_OTHER,
                               .is_link = S_ISLNK(link.st_mode),
                               .bytes = (uint64_t)found.st_size,
                               .changed_ns = (int64_t)found.st_mtim.tv_sec * 1000000000 +
                                             (int64_t)found.st_mtim.tv_nsec,
                               .number = (uint64_t)found.st_ino};
    }
    return true;
}

bool ls_file_set_executable(const char *path)
{
    return chmod(path, 0755) == 0;
}

bool ls_file_lock_open(int file)
{
    return flock(file, LOCK_EX | LOCK_NB) == 0;
}

int ls_file_lock(const char *path)
{
    int lock = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (lock >= 0 && !ls_file_lock_open(lock)) {
        int error = errno;
        close(lock);
        errno = error;
        return -1;
    }
    return lock;
}

void ls_file_unlock(int lock)
{
    if (lock >= 0) {
        close(lock);
    }
}

bool ls_folder_make(const char *path, bool is_private)
{
    return mkdir(path, is_private ? 0700 : 0777) == 0;
}

bool ls_folder_enter(const char *path)
{
    return chdir(path) == 0;
}

bool ls_folder_current(char *path, size_t capacity)
{
    return getcwd(path, capacity) != NULL;
}

ls_folder *ls_folder_open(const char *path)
{
    return (ls_folder *)opendir(path);
}

const char *ls_folder_next(ls_folder *folder)
{
    const struct dirent *entry = NULL;
    do {
        entry = readdir((DIR *)folder);
    } while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
    return entry ? entry->d_name : NULL;
}

void ls_folder_close(ls_folder *folder)
{
    if (folder) {
        closedir((DIR *)folder);
    }
}
