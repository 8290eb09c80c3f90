#define _GNU_SOURCE
#include "lockstep/tools/adapters/libretro/libretro_core.h"

#include "lockstep/common/loader/plugin_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    PATH_BYTES_MAX = 64,
};

static ls_status fail_by_error(ls_text *why, const char *what)
{
    return ls_fail(LS_IO, why, "core: %s (error %d)", what, errno);
}

static bool write_all(int file, const ls_sim_file *bytes)
{
    uint64_t written = 0;
    while (written < bytes->size) {
        ssize_t count =
            pwrite(file, bytes->bytes + written, (size_t)(bytes->size - written), (off_t)written);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return false;
        }
        written += (uint64_t)count;
    }
    return true;
}

/* The linker tells libraries apart by name and by inode. A file in memory has an inode of its own.
 * Its name is its number, which a copy that could not be unloaded may have had: such numbers are
 * passed over. Returns the file under its new number, or -1. */
static int find_free_name(int file, char path[PATH_BYTES_MAX])
{
    while (file >= 0) {
        snprintf(path, PATH_BYTES_MAX, "/proc/self/fd/%d", file);
        void *earlier = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
        if (!earlier) {
            return file;
        }
        dlclose(earlier);
        int next = fcntl(file, F_DUPFD_CLOEXEC, file + 1);
        close(file);
        file = next;
    }
    return file;
}

static void *look_up(const libretro_core *core, const char *name, const char **missing)
{
    void *symbol = dlsym(core->library, name);
    if (!symbol) {
        *missing = name;
    }
    return symbol;
}

static ls_status find_functions(libretro_core *core, ls_text *why)
{
    const char *missing = NULL;
    void *symbol = NULL;
    /* ISO C has no conversion from object to function pointers; POSIX promises equal bits. */
#define LIBRETRO_FIND(result, name, arguments)                                                     \
    symbol = look_up(core, "retro_" #name, &missing);                                              \
    memcpy(&core->call.name, &symbol, sizeof symbol);
    LIBRETRO_FUNCTIONS(LIBRETRO_FIND)
#undef LIBRETRO_FIND
    if (missing) {
        return ls_fail(LS_PLUGIN, why, "core: it has no %s, so it is no libretro core", missing);
    }
    unsigned version = core->call.api_version();
    if (version != LIBRETRO_API_VERSION) {
        return ls_fail(LS_PLUGIN, why, "core: it is for version %u of libretro; this host has %u",
                       version, LIBRETRO_API_VERSION);
    }
    return LS_OK;
}

static bool hold_start(int file, const libretro_start *start)
{
    for (uint32_t i = 0; i < start->change_count; i++) {
        const libretro_change *change = &start->changes[i];
        if (pwrite(file, &change->number, sizeof change->number, (off_t)change->place) !=
            (ssize_t)sizeof change->number) {
            return false;
        }
    }
    return true;
}

static ls_status load(libretro_core *core, const ls_sim_file *bytes, const libretro_start *start,
                      ls_text *why)
{
    char path[PATH_BYTES_MAX];
    if (core->file < 0 || !write_all(core->file, bytes) || !hold_start(core->file, start)) {
        return fail_by_error(why, "it cannot be copied");
    }
    core->file = find_free_name(core->file, path);
    if (core->file < 0) {
        return fail_by_error(why, "its copy cannot be named");
    }
    ls_text fault = {""};
    if (ls_plugin_file_check(path, &fault) != LS_OK) {
        return ls_fail(LS_PLUGIN, why, "core: %s", fault.bytes);
    }
    core->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!core->library) {
        const char *words = dlerror();
        return ls_fail(LS_PLUGIN, why, "core: it cannot be loaded: %s", words ? words : path);
    }
    return LS_OK;
}

static ls_status open_core(libretro_core *core, const ls_sim_file *bytes,
                           void *(*find)(const char *name), libretro_originals *originals,
                           ls_text *why)
{
    const libretro_start start = libretro_start_read(bytes->bytes, (size_t)bytes->size);
    ls_status status = load(core, bytes, &start, why);
    if (status != LS_OK) {
        return status;
    }
    status = libretro_imports_replace(core->library, find, originals);
    if (status != LS_OK) {
        return ls_fail(status, why, "core: what it calls of this machine cannot be replaced");
    }
    libretro_start_run(core->library, &start);
    return find_functions(core, why);
}

ls_status libretro_core_open(const ls_sim_file *bytes, void *(*find)(const char *name),
                             libretro_originals *originals, libretro_core *out, ls_text *why)
{
    libretro_core core = {.file = memfd_create("libretro-core", MFD_CLOEXEC)};
    ls_status status = open_core(&core, bytes, find, originals, why);
    if (status != LS_OK) {
        libretro_core_close(&core);
        return status;
    }
    *out = core;
    return LS_OK;
}

void libretro_core_close(libretro_core *core)
{
    if (core->library) {
        dlclose(core->library);
    }
    if (core->file >= 0) {
        close(core->file);
    }
    *core = (libretro_core){.file = -1};
}
