#include "lockstep/common/loader/plugin_contents.h"

#include <elf.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool read_header(const ls_plugin_contents *file, const ElfW(Ehdr) * elf, size_t index,
                        ElfW(Shdr) * out)
{
    uint64_t at = elf->e_shoff + (uint64_t)index * sizeof *out;
    if (elf->e_shoff > file->size || at > file->size || file->size - at < sizeof *out) {
        return false;
    }
    memcpy(out, file->bytes + at, sizeof *out);
    return out->sh_type == SHT_NOBITS ||
           (out->sh_offset <= file->size && out->sh_size <= file->size - out->sh_offset);
}

ls_plugin_section ls_plugin_section_find(const ls_plugin_contents *file, const char *name)
{
    const ls_plugin_section none = {NULL, 0};
    ElfW(Ehdr) elf;
    ElfW(Shdr) names;
    if (file->size < sizeof elf) {
        return none;
    }
    memcpy(&elf, file->bytes, sizeof elf);
    if (memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_shentsize != sizeof(ElfW(Shdr)) ||
        !read_header(file, &elf, elf.e_shstrndx, &names)) {
        return none;
    }
    for (size_t i = 0; i < elf.e_shnum; i++) {
        ElfW(Shdr) header;
        size_t size = strlen(name) + 1;
        if (read_header(file, &elf, i, &header) && header.sh_name < names.sh_size &&
            names.sh_size - header.sh_name >= size && header.sh_type != SHT_NOBITS &&
            !(header.sh_flags & SHF_COMPRESSED) &&
            memcmp(file->bytes + names.sh_offset + header.sh_name, name, size) == 0) {
            return (ls_plugin_section){(const char *)file->bytes + header.sh_offset,
                                       header.sh_size};
        }
    }
    return none;
}

/* NULL when the text does not end within its section. */
static const char *text_at(const ls_plugin_section *texts, uint64_t at)
{
    bool is_whole = at < texts->size && memchr(texts->bytes + at, '\0', texts->size - at);
    return is_whole ? texts->bytes + at : NULL;
}

const char *ls_plugin_section_next(const ls_plugin_section *texts, const char *text)
{
    size_t at = text ? (size_t)(text - texts->bytes) + strlen(text) + 1 : 0;
    return text_at(texts, at);
}

/* ---- symbols ---- */

typedef struct symbol_walk {
    ls_plugin_section table;
    ls_plugin_section names;
    size_t next;
} symbol_walk;

static symbol_walk walk(const ls_plugin_contents *file, const char *table, const char *names)
{
    return (symbol_walk){ls_plugin_section_find(file, table), ls_plugin_section_find(file, names),
                         0};
}

/* False: there are no more. One without a name has "". */
static bool next_symbol(symbol_walk *walked, ElfW(Sym) * symbol, const char **name)
{
    if (walked->next >= walked->table.size / sizeof *symbol) {
        return false;
    }
    memcpy(symbol, walked->table.bytes + walked->next++ * sizeof *symbol, sizeof *symbol);
    *name = text_at(&walked->names, symbol->st_name);
    *name = *name ? *name : "";
    return true;
}

const char *ls_plugin_section_variable(const ls_plugin_contents *file, uint64_t address,
                                       bool is_thread_local, uint64_t *begin, uint64_t *size)
{
    symbol_walk symbols = walk(file, ".symtab", ".strtab");
    ElfW(Sym) symbol;
    const char *name = NULL;
    while (next_symbol(&symbols, &symbol, &name)) {
        if ((symbol.st_info & 0xfu) == (is_thread_local ? STT_TLS : STT_OBJECT) &&
            address >= symbol.st_value && address - symbol.st_value < symbol.st_size) {
            *begin = symbol.st_value;
            *size = symbol.st_size;
            return name;
        }
    }
    return NULL;
}

/* ---- what it gets from others ---- */

void ls_plugin_contents_imports(const ls_plugin_contents *file, ls_plugin_contents_name *on_name,
                                void *user)
{
    symbol_walk symbols = walk(file, ".dynsym", ".dynstr");
    ElfW(Sym) symbol;
    const char *name = NULL;
    while (next_symbol(&symbols, &symbol, &name)) {
        if (symbol.st_shndx == SHN_UNDEF && name[0] != '\0') {
            on_name(user, name);
        }
    }
}

void ls_plugin_contents_needed(const ls_plugin_contents *file, ls_plugin_contents_name *on_name,
                               void *user)
{
    ls_plugin_section entries = ls_plugin_section_find(file, ".dynamic");
    ls_plugin_section names = ls_plugin_section_find(file, ".dynstr");
    for (size_t i = 0; i < entries.size / sizeof(ElfW(Dyn)); i++) {
        ElfW(Dyn) entry;
        memcpy(&entry, entries.bytes + i * sizeof entry, sizeof entry);
        const char *name = entry.d_tag == DT_NEEDED ? text_at(&names, entry.d_un.d_val) : NULL;
        if (name) {
            on_name(user, name);
        }
    }
}

/* ---- code for one processor or another ---- */

#if defined(__x86_64__)

/* Where the address of the code stands in the file; 0: it does not. */
static size_t place_of(const ls_plugin_contents *file, uint64_t address, size_t size)
{
    ElfW(Ehdr) elf;
    memcpy(&elf, file->bytes, sizeof elf);
    for (size_t i = 0; i < elf.e_shnum; i++) {
        ElfW(Shdr) header;
        if (read_header(file, &elf, i, &header) && header.sh_type == SHT_PROGBITS &&
            address >= header.sh_addr && address - header.sh_addr <= header.sh_size &&
            header.sh_size - (address - header.sh_addr) >= size) {
            return (size_t)(header.sh_offset + (address - header.sh_addr));
        }
    }
    return 0;
}

enum {
    QUESTIONS_MAX = 8,
};

/* Where a file asks which features there are: the functions that compilers put in for it. */
typedef struct feature_question {
    size_t place; /* in the file; 0: it has none, or its name was stripped */
    size_t size;
} feature_question;

typedef struct feature_questions {
    feature_question first; /* which calls the others */
    feature_question parts[QUESTIONS_MAX];
    uint32_t part_count;
} feature_questions;

static bool is_part(const char *name)
{
    return strncmp(name, "get_available_features", 22) == 0 || /* of libgcc */
           strncmp(name, "getAvailableFeatures", 20) == 0;     /* of compiler-rt */
}

static feature_questions find_questions(const ls_plugin_contents *file)
{
    feature_questions found = {.part_count = 0};
    symbol_walk symbols = walk(file, ".symtab", ".strtab");
    ElfW(Sym) symbol;
    const char *name = NULL;
    while (next_symbol(&symbols, &symbol, &name)) {
        size_t size = (size_t)symbol.st_size;
        const feature_question here = {place_of(file, symbol.st_value, size), size};
        if (symbol.st_shndx == SHN_UNDEF) {
            continue;
        }
        if (strcmp(name, "__cpu_indicator_init") == 0) {
            found.first = here;
        } else if (is_part(name) && found.part_count < QUESTIONS_MAX) {
            found.parts[found.part_count++] = here;
        }
    }
    return found;
}

bool ls_plugin_contents_hide_features(ls_plugin_contents *file)
{
    static const uint8_t nothing[] = {0x31, 0xc0, 0xc3}; /* xor eax, eax; ret */
    feature_question first = find_questions(file).first;
    if (first.place == 0 || first.size < sizeof nothing) {
        return false;
    }
    memcpy(file->bytes + first.place, nothing, sizeof nothing);
    return true;
}

/* Whether the dynamic linker asks code of the file which function to take. */
static bool has_variants(const ls_plugin_contents *file)
{
    static const char *const sections[] = {".rela.dyn", ".rela.plt"};
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        ls_plugin_section entries = ls_plugin_section_find(file, sections[i]);
        for (size_t k = 0; k < entries.size / sizeof(ElfW(Rela)); k++) {
            ElfW(Rela) entry;
            memcpy(&entry, entries.bytes + k * sizeof entry, sizeof entry);
            if (ELF64_R_TYPE(entry.r_info) == R_X86_64_IRELATIVE) {
                return true;
            }
        }
    }
    return false;
}

static bool is_within(const feature_question *question, size_t place)
{
    return place >= question->place && place - question->place < question->size;
}

static bool is_known(const feature_questions *questions, size_t place)
{
    bool is_there = is_within(&questions->first, place);
    for (uint32_t i = 0; i < questions->part_count; i++) {
        is_there = is_there || is_within(&questions->parts[i], place);
    }
    return is_there;
}

/* The bytes of `cpuid` in its code: others that look so come once in a million. */
static bool asks_elsewhere(const ls_plugin_contents *file, const feature_questions *questions)
{
    static const char *const sections[] = {".text", ".init"};
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        ls_plugin_section code = ls_plugin_section_find(file, sections[i]);
        const uint8_t *bytes = (const uint8_t *)code.bytes;
        for (size_t k = 0; k + 1 < code.size; k++) {
            if (bytes[k] == 0x0f && bytes[k + 1] == 0xa2 &&
                !is_known(questions, (size_t)(bytes - file->bytes) + k)) {
                return true;
            }
        }
    }
    return false;
}

const char *ls_plugin_contents_open_features(const ls_plugin_contents *file)
{
    feature_questions questions = find_questions(file);
    bool has_names = ls_plugin_section_find(file, ".symtab").bytes != NULL;
    bool asks = asks_elsewhere(file, &questions);
    if (!has_names && (asks || has_variants(file))) {
        return "its code goes by the processor, and its names were stripped";
    }
    if (asks) {
        return "its code asks the processor itself (cpuid)";
    }
    return questions.first.place == 0 && has_variants(file)
               ? "its functions come in variants, of which its own code chooses"
               : NULL;
}
#else
bool ls_plugin_contents_hide_features(ls_plugin_contents *file)
{
    (void)file;
    return false;
}

const char *ls_plugin_contents_open_features(const ls_plugin_contents *file)
{
    (void)file;
    return NULL;
}
#endif

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
