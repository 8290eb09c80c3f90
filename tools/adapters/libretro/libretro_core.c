#include "lockstep/tools/adapters/libretro/libretro_core.h"

#include "lockstep/common/loader/plugin_file.h"
#include "lockstep/common/system/library.h"
#include "lockstep/common/system/shared_memory.h"

#include <errno.h>
#include <string.h>

static ls_status fail_by_error(ls_text *why, const char *what)
{
    return ls_fail(LS_IO, why, "core: %s (error %d)", what, errno);
}

static void *look_up(const libretro_core *core, const char *name, const char **missing)
{
    void *symbol = ls_library_find(core->library, name);
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
        if (!ls_shared_memory_write(file, &change->number, sizeof change->number, change->place)) {
            return false;
        }
    }
    return true;
}

static ls_status load(libretro_core *core, const ls_sim_file *bytes, const libretro_start *start,
                      ls_text *why)
{
    char path[LS_LIBRARY_COPY_BYTES];
    if (core->file < 0 ||
        !ls_shared_memory_write(core->file, bytes->bytes, (size_t)bytes->size, 0) ||
        !hold_start(core->file, start)) {
        return fail_by_error(why, "it cannot be copied");
    }
    core->file = ls_library_copy_name(core->file, path);
    if (core->file < 0) {
        return fail_by_error(why, "its copy cannot be named");
    }
    ls_text fault = {""};
    if (ls_plugin_file_check(path, &fault) != LS_OK) {
        return ls_fail(LS_PLUGIN, why, "core: %s", fault.bytes);
    }
    const char *words = NULL;
    core->library = ls_library_open(path, &words);
    if (!core->library) {
        return ls_fail(LS_PLUGIN, why, "core: it cannot be loaded: %s", words);
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
    libretro_core core = {.file = ls_shared_memory_make("libretro-core")};
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
    ls_library_close(core->library);
    ls_shared_memory_close(core->file);
    *core = (libretro_core){.file = -1};
}
