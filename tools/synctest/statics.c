#define _GNU_SOURCE
#include "lockstep/tools/synctest/statics.h"

#include <link.h>
#include <string.h>

/* A gap of so many unchanged bytes ends a run: the next variable is another one, as a rule. */
#define RUN_GAP_BYTES 8u

typedef struct search {
    const char *path;
    ls_statics *statics;
} search;

static int note_object(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    search *wanted = user;
    if (strcmp(info->dlpi_name, wanted->path) != 0) {
        return 0;
    }
    for (uint16_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        ls_statics *statics = wanted->statics;
        if (header->p_type == PT_LOAD && header->p_flags & PF_W && header->p_memsz > 0 &&
            statics->segment_count < LS_STATICS_SEGMENTS_MAX) {
            statics->segments[statics->segment_count++] = (ls_statics_segment){
                .bytes = (const uint8_t *)(uintptr_t)(info->dlpi_addr + header->p_vaddr),
                .byte_count = header->p_memsz,
                .address = header->p_vaddr,
            };
        }
    }
    return 1;
}

void ls_statics_begin(ls_statics *statics, const char *path, const ls_allocator *allocator)
{
    size_t total = 0;
    memset(statics, 0, sizeof *statics);
    dl_iterate_phdr(note_object, &(search){path, statics});
    for (uint32_t i = 0; i < statics->segment_count; i++) {
        total += statics->segments[i].byte_count;
    }
    for (uint32_t i = 0; i < statics->segment_count; i++) {
        ls_statics_segment *segment = &statics->segments[i];
        bool is_watched = total <= LS_STATICS_BYTES_MAX;
        segment->kept = is_watched ? ls_allocate(allocator, segment->byte_count) : NULL;
        if (!segment->kept) {
            statics->segment_count = 0;
            return;
        }
        memcpy(segment->kept, segment->bytes, segment->byte_count);
    }
}

/* Where the run that begins at a changed byte ends. */
static size_t end_of_run(const ls_statics_segment *segment, size_t start)
{
    size_t last = start;
    for (size_t i = start; i < segment->byte_count && i - last <= RUN_GAP_BYTES; i++) {
        last = segment->bytes[i] != segment->kept[i] ? i : last;
    }
    return last + 1;
}

static uint32_t changes_in(ls_statics_segment *segment, uint64_t *addresses, uint32_t capacity)
{
    uint32_t count = 0;
    if (memcmp(segment->bytes, segment->kept, segment->byte_count) == 0) {
        return 0;
    }
    for (size_t i = 0; i < segment->byte_count; i++) {
        if (segment->bytes[i] == segment->kept[i]) {
            continue;
        }
        if (count < capacity) {
            addresses[count++] = segment->address + i;
        }
        i = end_of_run(segment, i);
    }
    memcpy(segment->kept, segment->bytes, segment->byte_count);
    return count;
}

uint32_t ls_statics_changes(ls_statics *statics, uint64_t *addresses, uint32_t capacity)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < statics->segment_count; i++) {
        count += changes_in(&statics->segments[i], addresses + count, capacity - count);
    }
    return count;
}
