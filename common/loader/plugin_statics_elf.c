#define _GNU_SOURCE
#include "lockstep/common/loader/plugin_statics.h"

#include "lockstep/common/loader/plugin_sections.h"

#include <link.h>
#include <string.h>

/* Between the variables of sanitized code lies ground that sanitized code may not read, and neither
 * may memcmp and memcpy there. */
#define UNCHECKED __attribute__((no_sanitize("address")))

enum {
    WORD_BYTES = 8
};

typedef struct search {
    const char *path;
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
            .words = (const uint64_t *)(uintptr_t)(base + start),
            .word_count = (size_t)((end - start) / WORD_BYTES),
            .address = start,
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
            .words = (const uint64_t *)(start + skipped),
            .word_count = (header->p_memsz - skipped + WORD_BYTES - 1) / WORD_BYTES,
            .address = LS_PLUGIN_STATICS_THREAD_LOCAL | skipped,
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

static int note_object(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    search *wanted = user;
    if (strcmp(info->dlpi_name, wanted->path) != 0) {
        return 0;
    }
    for (uint16_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        ls_plugin_statics *statics = wanted->statics;
        if (header->p_type == PT_LOAD && header->p_flags & PF_W) {
            add_segment(statics, info->dlpi_addr, header->p_vaddr, header->p_memsz);
        } else if (header->p_type == PT_TLS) {
            add_thread_locals(statics, info, header);
        }
    }
    return 1;
}

UNCHECKED static void keep(ls_plugin_statics_segment *segment)
{
    for (size_t i = 0; i < segment->word_count; i++) {
        segment->kept[i] = segment->words[i];
        __asm__ __volatile__("" : : : "memory"); /* no compiler makes memcpy of it */
    }
}

void ls_plugin_statics_begin(ls_plugin_statics *statics, const char *path,
                             const ls_allocator *allocator)
{
    size_t total = 0;
    *statics = (ls_plugin_statics){.allocator = allocator};
    dl_iterate_phdr(note_object, &(search){path, statics});
    for (uint32_t i = 0; i < statics->segment_count; i++) {
        total += statics->segments[i].word_count;
    }
    bool is_watched = total <= LS_PLUGIN_STATICS_BYTES_MAX / WORD_BYTES;
    for (uint32_t i = 0; i < statics->segment_count; i++) {
        ls_plugin_statics_segment *segment = &statics->segments[i];
        segment->kept =
            is_watched ? ls_allocate_array(allocator, segment->word_count, WORD_BYTES) : NULL;
        if (!segment->kept) {
            ls_plugin_statics_end(statics);
            return;
        }
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

bool ls_plugin_statics_name(const char *path, uint64_t address, ls_plugin_symbol_reader *reader,
                            char *name, size_t capacity)
{
    ls_plugin_contents file;
    if (!ls_plugin_contents_open(path, &file)) {
        return false;
    }
    const char *full = ls_plugin_section_variable(&file, address & ~LS_PLUGIN_STATICS_THREAD_LOCAL,
                                                  (address & LS_PLUGIN_STATICS_THREAD_LOCAL) != 0);
    bool is_found = full && copy_name(full, reader, name, capacity);
    ls_plugin_contents_close(&file);
    return is_found;
}
