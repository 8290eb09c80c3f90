/* Replays files through a fuzz target without libFuzzer: each argument is a file or a directory of
 * files. Exit code 0 when there was at least one file and the target survived them all. */
#define _DEFAULT_SOURCE
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    FILE_BYTES_MAX = 1 << 20,
    PATH_BYTES_MAX = 4096,
};

static bool replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *buffer = malloc(FILE_BYTES_MAX);
    if (!file || !buffer) {
        perror(path);
        free(buffer);
        return false;
    }
    size_t size = fread(buffer, 1, FILE_BYTES_MAX, file);
    fclose(file);
    /* A copy of its own size, so that a read past its end is found. */
    uint8_t *bytes = malloc(size > 0 ? size : 1);
    if (bytes) {
        memcpy(bytes, buffer, size);
        LLVMFuzzerTestOneInput(bytes, size);
    }
    free(buffer);
    free(bytes);
    return bytes != NULL;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Replays every file of a directory in the order of their names; returns how many, -1 when one
 * could not be read. */
static int replay_directory(const char *path)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, is_visible, by_name);
    bool is_whole = count >= 0;
    for (int i = 0; i < count; i++) {
        char file[PATH_BYTES_MAX];
        snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name);
        is_whole = is_whole && replay_file(file);
        free(entries[i]);
    }
    free(entries);
    return is_whole ? count : -1;
}

int main(int argc, char **argv)
{
    int files = 0;
    for (int i = 1; i < argc; i++) {
        struct stat info;
        if (stat(argv[i], &info) != 0) {
            perror(argv[i]);
            return 1;
        }
        int more = S_ISDIR(info.st_mode)  ? replay_directory(argv[i])
                   : replay_file(argv[i]) ? 1
                                          : -1;
        if (more < 0) {
            return 1;
        }
        files += more;
    }
    printf("%d files replayed\n", files);
    return files > 0 ? 0 : 1;
}
