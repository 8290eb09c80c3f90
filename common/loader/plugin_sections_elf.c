#include "lockstep/common/loader/plugin_sections.h"

#include <link.h>
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
                                       bool is_thread_local)
{
    symbol_walk symbols = walk(file, ".symtab", ".strtab");
    ElfW(Sym) symbol;
    const char *name = NULL;
    while (next_symbol(&symbols, &symbol, &name)) {
        if ((symbol.st_info & 0xfu) == (is_thread_local ? STT_TLS : STT_OBJECT) &&
            address >= symbol.st_value && address - symbol.st_value < symbol.st_size) {
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

bool ls_plugin_contents_hide_features(ls_plugin_contents *file)
{
    static const uint8_t nothing[] = {0x31, 0xc0, 0xc3}; /* xor eax, eax; ret */
    symbol_walk symbols = walk(file, ".symtab", ".strtab");
    ElfW(Sym) symbol;
    const char *name = NULL;
    size_t place = 0;
    bool has_choice = false;
    while (next_symbol(&symbols, &symbol, &name)) {
        has_choice = has_choice || ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC;
        if (symbol.st_size >= sizeof nothing && strcmp(name, "__cpu_indicator_init") == 0) {
            place = place_of(file, symbol.st_value, sizeof nothing);
        }
    }
    if (has_choice && place > 0) {
        memcpy(file->bytes + place, nothing, sizeof nothing);
    }
    return has_choice && place > 0;
}

#else

bool ls_plugin_contents_hide_features(ls_plugin_contents *file)
{
    (void)file;
    return false;
}

#endif
