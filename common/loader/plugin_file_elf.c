#include "lockstep/common/loader/plugin_file.h"

#include <elf.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#if UINTPTR_MAX > UINT32_MAX
typedef Elf64_Ehdr file_head;
typedef Elf64_Phdr segment;
#define NATIVE_CLASS ELFCLASS64
#else
typedef Elf32_Ehdr file_head;
typedef Elf32_Phdr segment;
#define NATIVE_CLASS ELFCLASS32
#endif

static uint64_t file_bytes(FILE *file)
{
    long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    return size < 0 ? 0 : (uint64_t)size;
}

static bool read_at(FILE *file, uint64_t offset, void *out, size_t size)
{
    return offset <= LONG_MAX && fseek(file, (long)offset, SEEK_SET) == 0 &&
           fread(out, 1, size, file) == size;
}

/* The bytes up to the end of whatever the linker will map, as far as that can be read. */
static uint64_t needed_bytes(FILE *file, const file_head *head)
{
    uint64_t needed = head->e_phoff + (uint64_t)head->e_phnum * sizeof(segment);
    for (uint32_t i = 0; i < head->e_phnum; i++) {
        segment mapped;
        if (!read_at(file, head->e_phoff + i * sizeof mapped, &mapped, sizeof mapped)) {
            break;
        }
        uint64_t end = mapped.p_offset + mapped.p_filesz;
        if (mapped.p_type == PT_LOAD && end > needed) {
            needed = end;
        }
    }
    return needed;
}

static ls_status check(FILE *file, ls_text *why)
{
    file_head head;
    bool is_ours = read_at(file, 0, &head, sizeof head) &&
                   memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
                   head.e_ident[EI_CLASS] == NATIVE_CLASS && head.e_phentsize == sizeof(segment);
    if (!is_ours) {
        return LS_OK;
    }
    uint64_t there = file_bytes(file);
    uint64_t needed = needed_bytes(file, &head);
    if (there < needed) {
        return ls_fail(LS_PLUGIN, why, "it is cut off: %" PRIu64 " bytes of %" PRIu64, there,
                       needed);
    }
    return LS_OK;
}

ls_status ls_plugin_file_check(const char *path, ls_text *why)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        return LS_OK;
    }
    ls_status status = check(file, why);
    fclose(file);
    return status;
}
