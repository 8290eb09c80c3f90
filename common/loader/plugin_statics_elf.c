#define _GNU_SOURCE
#include "lockstep/common/loader/plugin_statics.h"

#include "lockstep/common/loader/plugin_contents.h"

#include <link.h>
#include <string.h>

/* Between the variables of sanitized code lies ground that sanitized code may not read, and neither
 * may memcmp and memcpy there. */
#define UNCHECKED __attribute__((no_sanitize("address")))

enum {
    WORD_BYTES = 8
};

#define OBJECT_BITS                                                                                \
    ((uint64_t)(LS_PLUGIN_STATICS_OBJECTS_MAX - 1) << LS_PLUGIN_STATICS_OBJECT_SHIFT)

/* Of the object that was found last. */
static uint64_t object_bits(const ls_plugin_statics *statics)
{
    return (uint64_t)(statics->object_count - 1) << LS_PLUGIN_STATICS_OBJECT_SHIFT;
}

typedef struct search {
    uintptr_t code;
    bool with_libraries;
    ls_plugin_statics *statics;
} search;

/* The whole words of it. */
static void add_segment(ls_plugin_statics *statics, uint64_t base, uint64_t address,
                        uint64_t byte_count)
{
    uint64_t start = (address + WORD_BYTES - 1) / WORD_BYTES * WORD_BYTES;
    uint64_t end = (address + byte_count) / WORD_BYTES * WORD_BYTES;
    if (start < end && statics->segment_count < LS_PLUGIN_STATICS_SEGMENTS_MAX) {
        statics->segments[statics->segment_count++] = (ls_plugin_statics_segment){
            .words = (uint64_t *)(uintptr_t)(base + start),
            .word_count = (size_t)((end - start) / WORD_BYTES),
            .address = start | object_bits(statics),
        };
    }
}

#if defined(__x86_64__) || defined(__aarch64__)
typedef struct thread_local_place {
    size_t module;
    size_t offset;
} thread_local_place;

extern void *__tls_get_addr(thread_local_place *place);

/* This thread's, made now if they were not used yet. A last word that is not whole counts as well.
 */
static void add_thread_locals(ls_plugin_statics *statics, const struct dl_phdr_info *info,
                              const ElfW(Phdr) * header)
{
    uintptr_t start = (uintptr_t)__tls_get_addr(&(thread_local_place){info->dlpi_tls_modid, 0});
    size_t skipped = (WORD_BYTES - start % WORD_BYTES) % WORD_BYTES;
    if (header->p_memsz > skipped && statics->segment_count < LS_PLUGIN_STATICS_SEGMENTS_MAX) {
        statics->segments[statics->segment_count++] = (ls_plugin_statics_segment){
            .words = (uint64_t *)(start + skipped),
            .word_count = (header->p_memsz - skipped + WORD_BYTES - 1) / WORD_BYTES,
            .address = LS_PLUGIN_STATICS_THREAD_LOCAL | skipped | object_bits(statics),
        };
    }
}
#else
static void add_thread_locals(ls_plugin_statics *statics, const struct dl_phdr_info *info,
                              const ElfW(Phdr) * header)
{
    (void)statics;
    (void)info;
    (void)header;
}
#endif

static bool holds(const struct dl_phdr_info *info, uintptr_t code)
{
    for (uint16_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD &&
            code - (info->dlpi_addr + header->p_vaddr) < header->p_memsz) {
            return true;
        }
    }
    return false;
}

/* Libraries of the languages have heaps, streams and threads, which are no part of a game. */
static bool is_of_language(const char *path)
{
    static const char *const names[] = {
        "libc.",    "libm.",  "libpthread.", "libdl.",  "ld-",     "libstdc++", "libc++",
        "libgcc_s", "librt.", "libgomp",     "libasan", "libtsan", "libubsan",  "linux-vdso"};
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    bool is_one = name[0] == '\0';
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        is_one = is_one || strncmp(name, names[i], strlen(names[i])) == 0;
    }
    return is_one;
}

/* Objects come in the order in which they were loaded: the libraries of a plug-in that the program
 * had not loaded itself come behind it. */
static int note_object(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    search *wanted = user;
    ls_plugin_statics *statics = wanted->statics;
    bool is_first = statics->object_count == 0;
    if (is_first ? !holds(info, wanted->code) : is_of_language(info->dlpi_name)) {
        return 0;
    }
    if (statics->object_count == LS_PLUGIN_STATICS_OBJECTS_MAX) {
        return 1;
    }
    bool is_program = info->dlpi_name[0] == '\0';
    statics->paths[statics->object_count++] =
        is_program ? LS_PLUGIN_STATICS_PROGRAM : info->dlpi_name;
    for (uint16_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD && header->p_flags & PF_W) {
            add_segment(statics, info->dlpi_addr, header->p_vaddr, header->p_memsz);
        } else if (header->p_type == PT_TLS) {
            add_thread_locals(statics, info, header);
        }
    }
    return !wanted->with_libraries || is_program;
}

UNCHECKED static void keep(ls_plugin_statics_segment *segment)
{
    for (size_t i = 0; i < segment->word_count; i++) {
        segment->first[i] = segment->kept[i] = segment->words[i];
        __asm__ __volatile__("" : : : "memory"); /* no compiler makes memcpy of it */
    }
}

void ls_plugin_statics_begin(ls_plugin_statics *statics, const void *code, bool with_libraries,
                             const ls_allocator *allocator)
{
    size_t total = 0;
    *statics = (ls_plugin_statics){.allocator = allocator};
    dl_iterate_phdr(note_object, &(search){(uintptr_t)code, with_libraries, statics});
    for (uint32_t i = 0; i < statics->segment_count; i++) {
        total += statics->segments[i].word_count;
    }
    bool is_watched = total <= LS_PLUGIN_STATICS_BYTES_MAX / WORD_BYTES;
    for (uint32_t i = 0; i < statics->segment_count; i++) {
        ls_plugin_statics_segment *segment = &statics->segments[i];
        segment->kept =
            is_watched ? ls_allocate_array(allocator, 2 * segment->word_count, WORD_BYTES) : NULL;
        if (!segment->kept) {
            ls_plugin_statics_end(statics);
            return;
        }
        segment->first = segment->kept + segment->word_count;
        keep(segment);
    }
}

void ls_plugin_statics_end(ls_plugin_statics *statics)
{
    for (uint32_t i = 0; i < statics->segment_count; i++) {
        if (statics->segments[i].kept) {
            ls_release(statics->allocator, statics->segments[i].kept);
        }
    }
    statics->segment_count = 0;
}

UNCHECKED void ls_plugin_statics_reset(const ls_plugin_statics *statics, uint64_t address,
                                       uint64_t size)
{
    for (uint32_t i = 0; i < statics->segment_count; i++) {
        const ls_plugin_statics_segment *segment = &statics->segments[i];
        uint64_t from = address - segment->address;
        for (uint64_t word = from / WORD_BYTES;
             from < segment->word_count * WORD_BYTES && word < segment->word_count &&
             word * WORD_BYTES < from + size;
             word++) {
            segment->words[word] = segment->first[word];
            __asm__ __volatile__("" : : : "memory"); /* no compiler makes memcpy of it */
        }
    }
}

/* The first byte in which two words differ. */
static uint64_t differing_byte(uint64_t a, uint64_t b)
{
    uint8_t bytes_a[WORD_BYTES], bytes_b[WORD_BYTES];
    memcpy(bytes_a, &a, sizeof a);
    memcpy(bytes_b, &b, sizeof b);
    uint64_t byte = 0;
    while (byte + 1 < WORD_BYTES && bytes_a[byte] == bytes_b[byte]) {
        byte++;
    }
    return byte;
}

/* Neighbouring words are one run: as a rule one variable. */
UNCHECKED static uint32_t changes_in(ls_plugin_statics_segment *segment, uint64_t *addresses,
                                     uint32_t capacity)
{
    uint32_t count = 0;
    bool is_run = false;
    for (size_t i = 0; i < segment->word_count; i++) {
        uint64_t word = segment->words[i], kept = segment->kept[i];
        if (word != kept && !is_run && count < capacity) {
            addresses[count++] = segment->address + i * WORD_BYTES + differing_byte(word, kept);
        }
        is_run = word != kept;
        segment->kept[i] = word;
    }
    return count;
}

uint32_t ls_plugin_statics_changes(ls_plugin_statics *statics, uint64_t *addresses,
                                   uint32_t capacity)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < statics->segment_count; i++) {
        count += changes_in(&statics->segments[i], addresses + count, capacity - count);
    }
    return count;
}

/* ---- names ---- */

static void copy_plain_name(const char *symbol, char *name, size_t capacity)
{
    ls_name_copy(name, capacity, symbol);
    char *dot = strrchr(name, '.');
    if (dot && dot[1 + strspn(dot + 1, "0123456789")] == '\0') {
        *dot = '\0'; /* gcc's: last.2, or last.lto_priv.0 */
    }
    dot = strstr(name, ".lto_priv");
    if (dot) {
        *dot = '\0';
    }
    dot = strrchr(name, '.');
    if (dot) {
        memmove(name, dot + 1, strlen(dot)); /* clang's: function.last */
    }
}

static bool copy_name(const char *symbol, ls_plugin_symbol_reader *reader, char *name,
                      size_t capacity)
{
    if (strncmp(symbol, "_Z", 2) != 0 && strncmp(symbol, "_R", 2) != 0) {
        copy_plain_name(symbol, name, capacity);
    } else if (reader) {
        reader(name, capacity, symbol);
    } else {
        ls_name_copy(name, capacity, symbol);
    }
    return name[0] != '\0';
}

bool ls_plugin_statics_variable(const char *path, uint64_t address, ls_plugin_symbol_reader *reader,
                                ls_plugin_variable *out)
{
    const uint64_t bits = LS_PLUGIN_STATICS_THREAD_LOCAL | OBJECT_BITS;
    ls_plugin_contents file;
    if (!ls_plugin_contents_open(path, &file)) {
        return false;
    }
    bool is_thread_local = (address & LS_PLUGIN_STATICS_THREAD_LOCAL) != 0;
    const char *full = ls_plugin_section_variable(&file, address & ~bits, is_thread_local,
                                                  &out->address, &out->size);
    bool is_found = full && copy_name(full, reader, out->name, sizeof out->name);
    out->address |= address & bits;
    ls_plugin_contents_close(&file);
    return is_found;
}

const char *ls_plugin_statics_path(const ls_plugin_statics *statics, uint64_t address)
{
    return statics->paths[(address & OBJECT_BITS) >> LS_PLUGIN_STATICS_OBJECT_SHIFT];
}
