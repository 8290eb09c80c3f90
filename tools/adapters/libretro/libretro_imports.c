#define _GNU_SOURCE
#include "lockstep/tools/adapters/libretro/libretro_imports.h"

#include "lockstep/common/loader/plugin_contents.h"
#include "lockstep/common/system/library.h"
#include "lockstep/common/system/shared_memory.h"

#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* ---- what runs at the start ---- */

#define START_CHANGES_MAX 4u

typedef struct libretro_change {
    uint64_t place; /* in the file */
    uint32_t number;
} libretro_change;

/* A library runs some functions when it is loaded, such as constructors of C++. Other numbers in
 * the places of its file that say where they are keep the linker from that; and another one keeps
 * it from making the tables of imports read-only. */
typedef struct libretro_start {
    libretro_change changes[START_CHANGES_MAX];
    uint32_t change_count;
    uint64_t addresses[2]; /* of a function, and of an array of them; 0: there is none */
    uint64_t array_bytes;
} libretro_start;

static bool read_at(const uint8_t *file, size_t size, uint64_t place, void *out, size_t bytes)
{
    if (place > size || bytes > size - place) {
        return false;
    }
    memcpy(out, file + place, bytes);
    return true;
}

static void hold(libretro_start *start, uint64_t place, uint32_t number)
{
    if (start->change_count < START_CHANGES_MAX) {
        start->changes[start->change_count++] = (libretro_change){place, number};
    }
}

/* The linker does nothing about DT_DEBUG, and has no use for the upper half of these numbers. */
static void read_entries(const uint8_t *file, size_t size, uint64_t place, libretro_start *start)
{
    ElfW(Dyn) entry;
    for (; read_at(file, size, place, &entry, sizeof entry) && entry.d_tag != DT_NULL;
         place += sizeof entry) {
        if (entry.d_tag == DT_INIT || entry.d_tag == DT_INIT_ARRAY) {
            start->addresses[entry.d_tag == DT_INIT_ARRAY] = entry.d_un.d_ptr;
            hold(start, place, DT_DEBUG);
        } else if (entry.d_tag == DT_INIT_ARRAYSZ) {
            start->array_bytes = entry.d_un.d_val;
        }
    }
}

/* Reads it from a library's file. All zero for one that cannot be read: the linker says why. */
static libretro_start libretro_start_read(const uint8_t *file, size_t size)
{
    libretro_start start = {.array_bytes = 0};
    ElfW(Ehdr) head;
    ElfW(Phdr) segment;
    bool is_good = read_at(file, size, 0, &head, sizeof head) &&
                   memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_phentsize == sizeof segment;
    for (uint32_t i = 0; is_good && i < head.e_phnum; i++) {
        uint64_t place = head.e_phoff + i * sizeof segment;
        if (!read_at(file, size, place, &segment, sizeof segment)) {
            break;
        }
        if (segment.p_type == PT_DYNAMIC) {
            read_entries(file, size, segment.p_offset, &start);
        } else if (segment.p_type == PT_GNU_RELRO) {
            hold(&start, place, PT_NULL);
        }
    }
    return start;
}

typedef void start_function(int count, char **arguments, char **environment);

/* Runs what was held. */
static void libretro_start_run(void *library, const libretro_start *start)
{
    const void *table = NULL;
    const uintptr_t base = ls_library_base(library, &table);
    if (base == 0) {
        return;
    }
    char *none[] = {NULL};
    start_function *function = NULL;
    if (start->addresses[0] != 0) {
        uintptr_t address = base + start->addresses[0];
        memcpy(&function, &address, sizeof function);
        function(0, none, none);
    }
    const uint8_t *array = (const uint8_t *)(base + start->addresses[1]);
    uint64_t bytes = start->addresses[1] != 0 ? start->array_bytes : 0;
    for (uint64_t i = 0; i + sizeof function <= bytes; i += sizeof function) {
        memcpy(&function, array + i, sizeof function);
        function(0, none, none);
    }
}

/* ---- what is imported ---- */

/* Whether a place of this kind holds the address of a function. */
#if defined(__x86_64__)
static bool is_function(uint64_t info)
{
    uint64_t type = ELF64_R_TYPE(info);
    return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_64;
}
#define IS_KNOWN 1
#elif defined(__aarch64__)
static bool is_function(uint64_t info)
{
    uint64_t type = ELF64_R_TYPE(info);
    return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT || type == R_AARCH64_ABS64;
}
#define IS_KNOWN 1
#endif

#if defined(IS_KNOWN)
/* Where things of a loaded library lie. */
typedef struct tables {
    uintptr_t base;
    const ElfW(Sym) * symbols;
    const char *names;
    const ElfW(Rela) * relocations[2]; /* of data, and of calls */
    size_t bytes[2];
} tables;

static const void *at(const tables *t, ElfW(Addr) address)
{
    return (const void *)(address < t->base ? t->base + address : address);
}

static void read_dynamic(tables *t, const ElfW(Dyn) * entry)
{
    for (; entry->d_tag != DT_NULL; entry++) {
        switch (entry->d_tag) {
        case DT_SYMTAB:
            t->symbols = at(t, entry->d_un.d_ptr);
            break;
        case DT_STRTAB:
            t->names = at(t, entry->d_un.d_ptr);
            break;
        case DT_RELA:
            t->relocations[0] = at(t, entry->d_un.d_ptr);
            break;
        case DT_RELASZ:
            t->bytes[0] = entry->d_un.d_val;
            break;
        case DT_JMPREL:
            t->relocations[1] = at(t, entry->d_un.d_ptr);
            break;
        case DT_PLTRELSZ:
            t->bytes[1] = entry->d_un.d_val;
            break;
        default:
            break;
        }
    }
}

static void keep_original(const char *name, const void *place, libretro_originals *originals)
{
    const struct {
        const char *name;
        void *kept;
    } list[] = {
        {"_Znwm", &originals->one},
        {"_Znam", &originals->array},
        {"_ZnwmRKSt9nothrow_t", &originals->one_or_null},
        {"_ZnamRKSt9nothrow_t", &originals->array_or_null},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        if (strcmp(list[i].name, name) == 0) {
            memcpy(list[i].kept, place, sizeof(void *));
        }
    }
}

static void replace(const tables *t, const ElfW(Rela) * relocation, void *(*find)(const char *name),
                    libretro_originals *originals)
{
    size_t symbol = ELF64_R_SYM(relocation->r_info);
    if (symbol == 0 || !is_function(relocation->r_info) || relocation->r_addend != 0) {
        return;
    }
    const char *name = t->names + t->symbols[symbol].st_name;
    void *function = t->symbols[symbol].st_shndx == SHN_UNDEF ? find(name) : NULL;
    if (function) {
        void *place = (void *)(t->base + relocation->r_offset);
        keep_original(name, place, originals);
        memcpy(place, &function, sizeof function);
    }
}

/* Lets `library`, a handle of dlopen, call find(name) in place of every function for which that is
 * not NULL. UNSUPPORTED for a processor whose tables are not known here, IO. */
static ls_status libretro_imports_replace(void *library, void *(*find)(const char *name),
                                          libretro_originals *originals)
{
    const void *table = NULL;
    tables t = {.base = ls_library_base(library, &table)};
    if (t.base == 0) {
        return LS_IO;
    }
    read_dynamic(&t, table);
    if (!t.symbols || !t.names) {
        return LS_IO;
    }
    for (int i = 0; i < 2; i++) {
        size_t count = t.relocations[i] ? t.bytes[i] / sizeof *t.relocations[i] : 0;
        for (size_t place = 0; place < count; place++) {
            replace(&t, &t.relocations[i][place], find, originals);
        }
    }
    return LS_OK;
}
#else
/* Lets `library`, a handle of dlopen, call find(name) in place of every function for which that is
 * not NULL. UNSUPPORTED for a processor whose tables are not known here, IO. */
static ls_status libretro_imports_replace(void *library, void *(*find)(const char *name),
                                          libretro_originals *originals)
{
    (void)library;
    (void)find;
    (void)originals;
    return LS_UNSUPPORTED;
}
#endif

/* ---- the core ---- */

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
