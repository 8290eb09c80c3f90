#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, flock */
#define _FILE_OFFSET_BITS 64
#include "lockstep/common/system/file.h"

#include "lockstep/common/system/file_beside.h"
#include "lockstep/common/system/posix/parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__APPLE__)
#define st_mtim st_mtimespec
#define st_ctim st_ctimespec
#endif

static int64_t ns_of(struct timespec time)
{
    return (int64_t)time.tv_sec * 1000000000 + (int64_t)time.tv_nsec;
}

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
                               .changed_ns = ns_of(found.st_mtim),
                               .rights_ns = ns_of(found.st_ctim),
                               .number = (uint64_t)found.st_ino};
    }
    return true;
}

/* ---- beneath a folder ---- */

enum {
    LEVELS_MAX = 32, /* folders within one another */
    LINKS_MAX = 40,  /* on one way, as Linux has it */
    WAY_BYTES_MAX = 4096,
};

/* A way that is gone step by step. */
typedef struct file_way {
    uint32_t level;
    uint32_t links;
    int open[LEVELS_MAX + 1]; /* the folder, and what was opened on the way; the last one is here */
    char rest[WAY_BYTES_MAX];
} file_way;

static int fail_with(int error)
{
    errno = error;
    return -1;
}

static bool has_parent_step(const char *path)
{
    size_t size;
    for (const char *step = path; *step != '\0'; step += size + (step[size] == '/' ? 1 : 0)) {
        size = strcspn(step, "/");
        if (size == 2 && memcmp(step, "..", 2) == 0) {
            return true;
        }
    }
    return false;
}

/* The target of the link is gone to before the rest of the way. */
static int follow_link(file_way *way, const char *step)
{
    char target[WAY_BYTES_MAX];
    char rest[WAY_BYTES_MAX];
    ssize_t size = readlinkat(way->open[way->level], step, target, sizeof target);
    if (size < 0 || way->links++ == LINKS_MAX) {
        return size < 0 ? -1 : fail_with(ELOOP);
    }
    if (size > 0 && target[0] == '/') {
        return fail_with(EXDEV);
    }
    int bytes = snprintf(rest, sizeof rest, "%.*s/%s", (int)size, target, way->rest);
    if (bytes < 0 || (size_t)bytes >= sizeof rest) {
        return fail_with(ENAMETOOLONG);
    }
    memcpy(way->rest, rest, (size_t)bytes + 1);
    return 0;
}

static int go_up(file_way *way)
{
    if (way->level == 0) {
        return fail_with(EXDEV);
    }
    close(way->open[way->level--]);
    return 0;
}

static int go_step(file_way *way, const char *step)
{
    struct stat found;
    int here = way->open[way->level];
    if (strcmp(step, "..") == 0) {
        return go_up(way);
    }
    if (fstatat(here, step, &found, AT_SYMLINK_NOFOLLOW) != 0) {
        return -1;
    }
    if (S_ISLNK(found.st_mode)) {
        return follow_link(way, step);
    }
    int next = way->level == LEVELS_MAX
                   ? fail_with(ELOOP)
                   : openat(here, step, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (next >= 0) {
        way->open[++way->level] = next;
    }
    return next < 0 ? -1 : 0;
}

/* Where the system does not know the whole way at once: a link that somebody puts there meanwhile
 * is not followed, since each step is opened as what it was seen to be. */
static int walk_beneath(int folder, const char *path)
{
    file_way way = {.open = {folder}};
    int result = strlen(path) < sizeof way.rest ? 0 : fail_with(ENAMETOOLONG);
    if (result == 0) {
        memcpy(way.rest, path, strlen(path) + 1);
    }
    while (result == 0 && way.rest[0] != '\0') {
        char step[WAY_BYTES_MAX];
        size_t size = strcspn(way.rest, "/");
        size_t skipped = size + strspn(way.rest + size, "/");
        memcpy(step, way.rest, size);
        step[size] = '\0';
        memmove(way.rest, way.rest + skipped, strlen(way.rest + skipped) + 1);
        result = size == 0 || strcmp(step, ".") == 0 ? 0 : go_step(&way, step);
    }
    int found = result == 0 ? fcntl(way.open[way.level], F_DUPFD_CLOEXEC, 0) : -1;
    int error = errno;
    while (way.level > 0) {
        close(way.open[way.level--]);
    }
    errno = error;
    return found;
}

int ls_file_open_beneath(const char *folder, const char *path)
{
    if (path[0] == '/' || has_parent_step(path)) {
        return fail_with(EXDEV);
    }
    int root = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    if (root < 0) {
        return -1;
    }
    int file = ls_file_part_open_beneath(root, path);
    /* An old kernel, a filter of system calls, or a folder that changes meanwhile. */
    if (file < 0 && (errno == ENOSYS || errno == EPERM || errno == EAGAIN)) {
        file = walk_beneath(root, path);
    }
    int error = errno;
    close(root);
    errno = error;
    return file;
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

bool ls_folder_make_temporary(char *path, size_t capacity)
{
    static const char form[] = "/tmp/lockstep-XXXXXX";
    if (capacity < sizeof form) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(path, form, sizeof form);
    return mkdtemp(path) != NULL;
}

bool ls_folder_enter(const char *path)
{
    return chdir(path) == 0;
}

bool ls_folder_current(char *path, size_t capacity)
{
    return getcwd(path, capacity) != NULL;
}

static bool folder_of(const char *variable, const char *below, char *path, size_t capacity)
{
    const char *folder = getenv(variable);
    if (!folder || folder[0] != '/') {
        return false;
    }
    int size = snprintf(path, capacity, "%s%s", folder, below);
    return size > 0 && (size_t)size < capacity;
}

bool ls_folder_of_user(char *path, size_t capacity)
{
    return folder_of("XDG_STATE_HOME", "", path, capacity) ||
           folder_of("HOME", "/.local/state", path, capacity);
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

/* ---- parts of files that are made beside their place ---- */

int ls_file_make(const char *path, int rights)
{
    bool is_for_all = rights == LS_FILE_OF_ALL;
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, is_for_all ? 0666 : 0600);
    if (file >= 0 && !is_for_all && fchmod(file, (mode_t)rights) != 0) {
        int error = errno;
        close(file);
        unlink(path);
        errno = error;
        return -1;
    }
    return file;
}

/* Another file of that name makes link fail, and gives way to rename. */
bool ls_file_give_name(const char *beside, const char *path, bool may_replace)
{
    if (may_replace) {
        return rename(beside, path) == 0;
    }
    if (link(beside, path) != 0) {
        return false;
    }
    (void)unlink(beside);
    return true;
}

bool ls_file_flush(int file)
{
    return fsync(file) == 0;
}

/* ---- mapped file ---- */

static ls_status refuse(const char *path, const char *reason, ls_text *why)
{
    return ls_fail(LS_IO, why, "cannot read %s: %s", path, reason);
}

/* False with errno; 0 where the file is shorter by now. */
static bool fill(int descriptor, uint8_t *bytes, size_t size)
{
    size_t done = 0;
    ssize_t got = 1;
    while (done < size && got != 0) {
        got = pread(descriptor, bytes + done, size - done, (off_t)done);
        if (got < 0 && errno != EINTR) {
            return false;
        }
        done += got > 0 ? (size_t)got : 0;
    }
    errno = 0;
    return done == size;
}

/* MAP_FAILED with errno, likewise. */
static void *map_or_copy(int descriptor, size_t size)
{
    bool is_copy = size <= LS_MAPPED_FILE_COPY_MAX;
    void *bytes =
        mmap(NULL, size, is_copy ? PROT_READ | PROT_WRITE : PROT_READ,
             is_copy ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_PRIVATE, is_copy ? -1 : descriptor, 0);
    if (is_copy && bytes != MAP_FAILED && !fill(descriptor, bytes, size)) {
        int error = errno;
        munmap(bytes, size);
        errno = error;
        return MAP_FAILED;
    }
    return bytes;
}

ls_status ls_mapped_file_of(int descriptor, const char *path, ls_mapped_file *out, ls_text *why)
{
    struct stat info;
    if (fstat(descriptor, &info) != 0) {
        return refuse(path, strerror(errno), why);
    }
    if (!S_ISREG(info.st_mode)) {
        return refuse(path, "it is not a file", why);
    }
    if ((uint64_t)info.st_size > SIZE_MAX) {
        return refuse(path, "it is too large for this machine", why);
    }
    ls_mapped_file file = {.size = (size_t)info.st_size};
    if (file.size > 0) {
        void *bytes = map_or_copy(descriptor, file.size);
        if (bytes == MAP_FAILED) {
            return refuse(path, errno ? strerror(errno) : "it was cut meanwhile", why);
        }
        file.bytes = bytes;
    }
    *out = file;
    return LS_OK;
}

ls_status ls_mapped_file_open(const char *path, ls_mapped_file *out, ls_text *why)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe is not waited for */
    if (descriptor < 0) {
        return refuse(path, strerror(errno), why);
    }
    ls_status status = ls_mapped_file_of(descriptor, path, out, why);
    close(descriptor);
    return status;
}

ls_status ls_mapped_file_open_beneath(const char *folder, const char *path, ls_mapped_file *out,
                                      ls_text *why)
{
    int descriptor = ls_file_open_beneath(folder, path);
    if (descriptor < 0 && errno == EXDEV) {
        return ls_fail(LS_BAD_ARGUMENT, why, "%s leads out of the folder %s", path, folder);
    }
    if (descriptor < 0) {
        ls_status status = errno == ENOENT ? LS_NOT_FOUND : LS_IO;
        return ls_fail(status, why, "cannot read %s in %s: %s", path, folder, strerror(errno));
    }
    ls_status status = ls_mapped_file_of(descriptor, path, out, why);
    close(descriptor);
    return status;
}

void ls_mapped_file_close(ls_mapped_file *file)
{
    if (file->bytes) {
        munmap((void *)(uintptr_t)file->bytes, file->size);
    }
    *file = (ls_mapped_file){0};
}
