#define _GNU_SOURCE
#include "lockstep/tools/synctest/lint.h"

#include "lockstep/common/loader/plugin_contents.h"
#include "lockstep/common/loader/plugin_statics.h"
#include "lockstep/common/program/symbol_name.h"
#include "lockstep/common/system/file.h"
#include "lockstep/tools/schema/debug_types.h"
#include "lockstep/tools/synctest/lint_rules.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the lint ---- */

#define SYNCTEST_LINT_LIBRARY_PATH_BYTES_MAX 1024u

enum {
    CRT_BYTES_MAX = 16, /* what the C runtime itself keeps in .data and .bss */
    OBJECTS_MAX = 32,
    RUN_PATH_BYTES_MAX = 1024,
};

static const char static_why[] =
    "what a step leaves there outlives the match and is neither saved nor hashed";
static const char static_instead[] = "move it into the state, or make it const";

struct object_set;

/* A file that is being read. */
typedef struct elf_object {
    const struct object_set *set;
    Elf *elf;
    ls_mapped_file file;
    GElf_Ehdr header;
    synctest_lint_report *report;
    synctest_lint_code *code;
    char path[SYNCTEST_LINT_LIBRARY_PATH_BYTES_MAX];
    char library[SYNCTEST_LINT_NAME_BYTES_MAX]; /* "": the plug-in itself */
    bool asks_processor;                        /* it has what __builtin_cpu_supports reads */
} elf_object;

typedef struct symbol_table {
    Elf_Data *data;
    size_t count;
    size_t strings; /* the section with its names */
} symbol_table;

/* The plug-in, and what it needs. */
typedef struct object_set {
    elf_object list[OBJECTS_MAX];
    uint32_t count;
} object_set;

static synctest_lint_processor processor_of(const GElf_Ehdr *header)
{
    bool is_little = header->e_ident[EI_DATA] == ELFDATA2LSB;
    switch (header->e_machine) {
    case EM_X86_64:
        return SYNCTEST_PROCESSOR_X86_64;
    case EM_386:
        return SYNCTEST_PROCESSOR_I386;
    case EM_AARCH64:
        return is_little ? SYNCTEST_PROCESSOR_ARM64 : SYNCTEST_PROCESSOR_UNKNOWN;
    case EM_ARM:
        return is_little ? SYNCTEST_PROCESSOR_ARM : SYNCTEST_PROCESSOR_UNKNOWN;
    case EM_PPC64:
        return is_little ? SYNCTEST_PROCESSOR_PPC64 : SYNCTEST_PROCESSOR_UNKNOWN;
    case EM_S390:
        return SYNCTEST_PROCESSOR_S390X;
    default:
        return SYNCTEST_PROCESSOR_UNKNOWN;
    }
}

/* ---- symbols ---- */

/* An item of a library is a warning: no step may ever get there. */
static void add_item(const elf_object *object, synctest_lint_item *item)
{
    ls_name_copy(item->library, sizeof item->library, object->library);
    item->is_error = item->is_error && object->library[0] == '\0';
    synctest_lint_add(object->report, item);
}

/* Whether a table of symbols has the name, as one that it defines or as one that it needs. */
static bool table_names(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, const char *name,
                        bool is_defined)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count = data && header->sh_entsize > 0 ? data->d_size / header->sh_entsize : 0;
    for (size_t i = 1; i < count; i++) {
        GElf_Sym symbol;
        bool fits =
            gelf_getsym(data, (int)i, &symbol) && (symbol.st_shndx != SHN_UNDEF) == is_defined;
        const char *found = fits ? elf_strptr(elf, header->sh_link, symbol.st_name) : NULL;
        if (found && strcmp(found, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool names(Elf *elf, const char *name, bool is_defined)
{
    Elf_Scn *section = elf_nextscn(elf, NULL);
    for (; section; section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNSYM &&
            table_names(elf, section, &header, name, is_defined)) {
            return true;
        }
    }
    return false;
}

/* Whether a file that is read as well has it: what it does is seen there. */
static bool is_defined(const object_set *set, const char *name)
{
    for (uint32_t i = 0; i < set->count; i++) {
        if (names(set->list[i].elf, name, true)) {
            return true;
        }
    }
    return false;
}

/* A plug-in that sets a locale for its own thread may call what depends on it. */
static bool is_excused(const elf_object *object, const synctest_lint_rule *rule)
{
    return strcmp(rule->topic, SYNCTEST_LINT_TOPIC_LOCALE) == 0 &&
           names(object->elf, "uselocale", false);
}

static void lint_call(const elf_object *object, const char *name)
{
    const synctest_lint_rule *rule = synctest_lint_rule_of_function(name);
    bool is_unknown = rule && strcmp(rule->topic, SYNCTEST_LINT_TOPIC_UNKNOWN) == 0;
    if (!rule || (is_unknown && is_defined(object->set, name))) {
        return;
    }
    synctest_lint_item item = {.kind = SYNCTEST_LINT_CALL,
                               .is_error = rule->is_error && !is_excused(object, rule),
                               .topic = rule->topic,
                               .why = rule->why,
                               .instead = rule->instead};
    ls_symbol_name_read(item.name, sizeof item.name, name);
    add_item(object, &item);
}

static void lint_function(elf_object *object, const GElf_Sym *symbol, Elf_Scn *section,
                          const char *name)
{
    GElf_Shdr header;
    Elf_Data *data = elf_getdata(section, NULL);
    if (!object->code || !data || !gelf_getshdr(section, &header) ||
        !(header.sh_flags & SHF_EXECINSTR)) {
        return;
    }
    uint64_t start =
        symbol->st_value & (object->header.e_machine == EM_ARM ? ~UINT64_C(1) : ~UINT64_C(0));
    if (start < header.sh_addr || start - header.sh_addr > data->d_size ||
        symbol->st_size > data->d_size - (start - header.sh_addr)) {
        return; /* a symbol that leads out of its section */
    }
    synctest_lint_code_count counts[SYNCTEST_LINT_CODE_COUNTS_MAX];
    const uint8_t *bytes = (const uint8_t *)data->d_buf + (start - header.sh_addr);
    uint32_t used = synctest_lint_code_read(object->code, bytes, symbol->st_size, start, counts,
                                            &object->report->instructions_read);
    object->report->functions_read++;
    for (uint32_t i = 0; i < used; i++) {
        synctest_lint_item item = {.kind = SYNCTEST_LINT_INSTRUCTION,
                                   .is_error = counts[i].rule->is_error,
                                   .count = counts[i].count,
                                   .topic = counts[i].rule->topic,
                                   .why = counts[i].rule->why,
                                   .instead = counts[i].rule->instead};
        ls_name_copy(item.name, sizeof item.name, counts[i].mnemonic);
        ls_symbol_name_read(item.place, sizeof item.place, name);
        add_item(object, &item);
    }
}

/* Written by the compiler's runtime or by the loader, not by the plug-in. */
static bool is_runtimes_own(const char *name)
{
    static const char *const beginnings[] = {"__",         "_DYNAMIC",  "_GLOBAL_OFFSET_TABLE_",
                                             "completed.", "dtor_idx.", "DW.ref."};
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++) {
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_writable(Elf_Scn *section, const char *section_name)
{
    GElf_Shdr header;
    bool is_data =
        strncmp(section_name, ".data", 5) == 0 || strncmp(section_name, ".bss", 4) == 0 ||
        strncmp(section_name, ".tdata", 6) == 0 || strncmp(section_name, ".tbss", 5) == 0;
    return gelf_getshdr(section, &header) && header.sh_flags & SHF_WRITE && is_data &&
           strncmp(section_name, ".data.rel.ro", 12) != 0;
}

static void add_static(const elf_object *object, const char *name, const char *section,
                       uint64_t size)
{
    synctest_lint_item item = {.kind = SYNCTEST_LINT_STATIC,
                               .count = size,
                               .topic = "static variable",
                               .why = static_why,
                               .instead = static_instead};
    ls_symbol_name_read(item.name, sizeof item.name, name);
    ls_name_copy(item.place, sizeof item.place, section);
    add_item(object, &item);
}

static const char *section_name(const elf_object *object, Elf_Scn *section)
{
    GElf_Shdr header;
    size_t strings = 0;
    if (!gelf_getshdr(section, &header) || elf_getshdrstrndx(object->elf, &strings) != 0) {
        return "";
    }
    const char *name = elf_strptr(object->elf, strings, header.sh_name);
    return name ? name : "";
}

/* The item of a rule under another name than that which the rule knows. */
static void add_choice(const elf_object *object, const char *name, const char *variants)
{
    const synctest_lint_rule *rule = synctest_lint_rule_of_function("__cpu_model");
    synctest_lint_item item = {.kind = SYNCTEST_LINT_CALL,
                               .topic = rule->topic,
                               .why = rule->why,
                               .instead = rule->instead};
    ls_symbol_name_read(item.name, sizeof item.name, name);
    ls_name_copy(item.place, sizeof item.place, variants);
    add_item(object, &item);
}

/* "blend.default, blend.fma of game.c": what the linker chooses from, and the file that stands
 * before the first of them in the table. */
static void lint_choice(const elf_object *object, const symbol_table *table, const char *name)
{
    ls_text variants = {{0}};
    const char *file = "", *newest = "";
    size_t size = strlen(name);
    for (size_t i = 1; i < table->count; i++) {
        GElf_Sym symbol;
        const char *other = gelf_getsym(table->data, (int)i, &symbol)
                                ? elf_strptr(object->elf, table->strings, symbol.st_name)
                                : NULL;
        newest = other && GELF_ST_TYPE(symbol.st_info) == STT_FILE ? other : newest;
        if (other && strncmp(other, name, size) == 0 && other[size] == '.' &&
            strcmp(other + size, ".resolver") != 0) {
            char variant[SYNCTEST_LINT_NAME_BYTES_MAX];
            ls_symbol_name_read(variant, sizeof variant, other);
            ls_text_add(&variants, "%s%s", variants.bytes[0] ? ", " : "", variant);
            file = GELF_ST_BIND(symbol.st_info) == STB_LOCAL ? newest : file;
        }
    }
    if (file[0] != '\0') {
        ls_text_add(&variants, " of %s", file);
    }
    add_choice(object, name, variants.bytes);
}

static void lint_symbol(elf_object *object, const symbol_table *table, const GElf_Sym *symbol,
                        const char *name, bool is_dynamic, bool is_full_table)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    if (symbol->st_shndx == SHN_UNDEF) {
        if (is_dynamic) {
            lint_call(object, name);
        }
        return;
    }
    Elf_Scn *section =
        symbol->st_shndx < SHN_LORESERVE ? elf_getscn(object->elf, symbol->st_shndx) : NULL;
    if (!is_full_table || !section || symbol->st_size == 0) {
        return;
    }
    const char *place = section_name(object, section);
    if (type == STT_GNU_IFUNC) {
        lint_choice(object, table, name);
    } else if (strncmp(name, "__cpu_", strlen("__cpu_")) == 0) {
        object->asks_processor = true;
    } else if (type == STT_FUNC) {
        lint_function(object, symbol, section, name);
    } else if ((type == STT_OBJECT || type == STT_TLS) && is_writable(section, place) &&
               !is_runtimes_own(name)) {
        add_static(object, name, place, symbol->st_size);
    }
}

static void lint_table(elf_object *object, Elf_Scn *section, const GElf_Shdr *header,
                       bool is_full_table)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count = data && header->sh_entsize > 0 ? data->d_size / header->sh_entsize : 0;
    const symbol_table table = {data, count, header->sh_link};
    for (size_t i = 1; i < count; i++) {
        GElf_Sym symbol;
        const char *name = gelf_getsym(data, (int)i, &symbol)
                               ? elf_strptr(object->elf, header->sh_link, symbol.st_name)
                               : NULL;
        if (name && name[0] != '\0') {
            lint_symbol(object, &table, &symbol, name, header->sh_type == SHT_DYNSYM,
                        is_full_table);
        }
    }
}

/* ---- a stripped file ---- */

/* Without a symbol table code and variables have no names, but they are there. */
static void lint_section(elf_object *object, Elf_Scn *section, const GElf_Shdr *header)
{
    const char *name = section_name(object, section);
    if (header->sh_flags & SHF_EXECINSTR && header->sh_type == SHT_PROGBITS) {
        const GElf_Sym all = {.st_value = header->sh_addr, .st_size = header->sh_size};
        lint_function(object, &all, section, name);
    } else if (is_writable(section, name) && header->sh_size > CRT_BYTES_MAX) {
        add_static(object, "variables without names", name, header->sh_size);
    }
}

static bool has_symbol_table(Elf *elf)
{
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section; section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB) {
            return true;
        }
    }
    return false;
}

static void lint_sections(elf_object *object)
{
    bool has_names = has_symbol_table(object->elf);
    for (Elf_Scn *section = elf_nextscn(object->elf, NULL); section;
         section = elf_nextscn(object->elf, section)) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header)) {
            continue;
        }
        if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM) {
            lint_table(object, section, &header, header.sh_type == SHT_SYMTAB);
        } else if (!has_names) {
            lint_section(object, section, &header);
        }
    }
}

/* ---- a file ---- */

static bool is_cut_short(const elf_object *object)
{
    size_t count = 0;
    if (elf_getphdrnum(object->elf, &count) != 0) {
        return true;
    }
    uint64_t size = object->file.size;
    uint64_t table_bytes = (uint64_t)object->header.e_shnum * object->header.e_shentsize;
    if (object->header.e_shoff > size || table_bytes > size - object->header.e_shoff) {
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(object->elf, (int)i, &header) || header.p_offset > size ||
            header.p_filesz > size - header.p_offset) {
            return true;
        }
    }
    return false;
}

static ls_status check_object(elf_object *object, ls_text *why)
{
    if (!object->elf || elf_kind(object->elf) != ELF_K_ELF ||
        !gelf_getehdr(object->elf, &object->header) || object->header.e_type != ET_DYN) {
        return ls_fail(LS_PLUGIN, why, "'%s' is no shared object", object->path);
    }
    if (is_cut_short(object)) {
        return ls_fail(LS_PLUGIN, why, "'%s' is cut short or damaged", object->path);
    }
    return LS_OK;
}

static void close_object(elf_object *object)
{
    if (object->elf) {
        elf_end(object->elf);
    }
    ls_mapped_file_close(&object->file);
}

/* Adds it to the set. */
static ls_status open_object(object_set *set, const char *path, const char *library,
                             synctest_lint_report *report, ls_text *why)
{
    elf_object *object = &set->list[set->count];
    ls_mapped_file file;
    ls_status status = ls_mapped_file_open(path, &file, why);
    if (status != LS_OK) {
        return status;
    }
    *object = (elf_object){.set = set, .file = file, .report = report};
    snprintf(object->path, sizeof object->path, "%s", path);
    ls_name_copy(object->library, sizeof object->library, library);
    object->elf = elf_memory((char *)(uintptr_t)file.bytes, file.size);
    status = check_object(object, why);
    if (status != LS_OK) {
        close_object(object);
        return status;
    }
    set->count++;
    return LS_OK;
}

static ls_status lint_object(elf_object *object, ls_text *why)
{
    ls_status status = synctest_lint_code_open(processor_of(&object->header), &object->code);
    if (status == LS_NO_MEMORY) {
        ls_text_set(why, "%s", ls_status_text(status));
        return status;
    } else if (status == LS_NOT_FOUND) {
        return ls_fail(status, why, "capstone, which reads machine code, is not installed here");
    }
    object->report->is_code_read = status == LS_OK;
    lint_sections(object);
    if (object->asks_processor) {
        add_choice(object, "__cpu_model", "");
    }
    synctest_lint_code_close(object->code);
    return LS_OK;
}

/* ---- where the dynamic loader finds a library ---- */

enum {
    INCLUDES_MAX = 4, /* configuration files that name each other */
    LINE_BYTES_MAX = 1024,
};

static const char loader_configuration[] = "/etc/ld.so.conf";
static const char usual_folders[] = "/lib64:/usr/lib64:/lib:/usr/lib:/usr/local/lib";
static const char include_word[] = "include";

/* The part of an object's header that says where it can be loaded. */
typedef struct object_kind {
    uint8_t width;
    uint8_t order;
    uint8_t machine[2];
} object_kind;

typedef struct search {
    const char *name;
    const char *object_path;
    object_kind kind;
    char *path;
} search;

static bool read_kind(const char *path, object_kind *kind)
{
    uint8_t bytes[20];
    FILE *file = fopen(path, "rbe");
    size_t count = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (file) {
        fclose(file);
    }
    if (count < sizeof bytes || memcmp(bytes, ELFMAG, SELFMAG) != 0) {
        return false;
    }
    *kind = (object_kind){bytes[EI_CLASS], bytes[EI_DATA], {bytes[18], bytes[19]}};
    return true;
}

static bool try_path(const search *wanted, const char *path)
{
    object_kind kind;
    if (!read_kind(path, &kind) || memcmp(&kind, &wanted->kind, sizeof kind) != 0) {
        return false;
    }
    snprintf(wanted->path, SYNCTEST_LINT_LIBRARY_PATH_BYTES_MAX, "%s", path);
    return true;
}

/* A folder may begin with the word for the object's own. */
static bool try_folder(const search *wanted, const char *folder, size_t size)
{
    static const char *const origins[] = {"$ORIGIN", "${ORIGIN}"};
    char path[SYNCTEST_LINT_LIBRARY_PATH_BYTES_MAX];
    const char *slash = strrchr(wanted->object_path, '/');
    size_t origin_size = 0;
    for (size_t i = 0; i < sizeof origins / sizeof origins[0]; i++) {
        size_t word_size = strlen(origins[i]);
        if (size >= word_size && memcmp(folder, origins[i], word_size) == 0) {
            origin_size = word_size;
        }
    }
    int parent_size = origin_size > 0 && slash ? (int)(slash - wanted->object_path) : 0;
    const char *parent = origin_size > 0 && !slash ? "." : "";
    int used = snprintf(path, sizeof path, "%.*s%s%.*s/%s", parent_size, wanted->object_path,
                        parent, (int)(size - origin_size), folder + origin_size, wanted->name);
    return size > 0 && used > 0 && (size_t)used < sizeof path && try_path(wanted, path);
}

static bool try_list(const search *wanted, const char *list)
{
    while (list && *list) {
        size_t size = strcspn(list, ":");
        if (try_folder(wanted, list, size)) {
            return true;
        }
        list += size + (list[size] == ':');
    }
    return false;
}

/* Files whose folders are still to be looked into; a file that names others adds them. */
typedef struct file_patterns {
    char list[INCLUDES_MAX][LINE_BYTES_MAX];
    uint32_t count;
} file_patterns;

static void add_pattern(file_patterns *patterns, const char *pattern)
{
    if (patterns->count < INCLUDES_MAX) {
        snprintf(patterns->list[patterns->count++], LINE_BYTES_MAX, "%s", pattern);
    }
}

static bool try_line(const search *wanted, char *line, file_patterns *patterns)
{
    line[strcspn(line, "#\n")] = '\0';
    const char *word = line + strspn(line, " \t");
    size_t include_size = strlen(include_word);
    if (strncmp(word, include_word, include_size) != 0) {
        return try_folder(wanted, word, strcspn(word, " \t"));
    }
    word += include_size;
    add_pattern(patterns, word + strspn(word, " \t"));
    return false;
}

static bool try_file(const search *wanted, const char *path, file_patterns *patterns)
{
    char line[LINE_BYTES_MAX];
    bool is_found = false;
    FILE *file = fopen(path, "re");
    while (file && !is_found && fgets(line, sizeof line, file)) {
        is_found = try_line(wanted, line, patterns);
    }
    if (file) {
        fclose(file);
    }
    return is_found;
}

static bool try_configuration(const search *wanted)
{
    file_patterns patterns = {.count = 0};
    bool is_found = false;
    add_pattern(&patterns, loader_configuration);
    for (uint32_t next = 0; next < patterns.count && !is_found; next++) {
        glob_t files = {0};
        if (glob(patterns.list[next], 0, NULL, &files) != 0) {
            continue;
        }
        for (size_t i = 0; i < files.gl_pathc && !is_found; i++) {
            is_found = try_file(wanted, files.gl_pathv[i], &patterns);
        }
        globfree(&files);
    }
    return is_found;
}

/* Where a library is that the object at `object_path` needs, built for the same processor.
 * `run_path` is the object's own list of folders, "" for none. */
static bool synctest_lint_library_find(const char *name, const char *object_path,
                                       const char *run_path,
                                       char path[SYNCTEST_LINT_LIBRARY_PATH_BYTES_MAX])
{
    search wanted = {.name = name, .object_path = object_path, .path = path};
    if (!read_kind(object_path, &wanted.kind)) {
        return false;
    }
    if (strchr(name, '/')) {
        return try_path(&wanted, name);
    }
    return try_list(&wanted, getenv("LD_LIBRARY_PATH")) || try_list(&wanted, run_path) ||
           try_configuration(&wanted) || try_list(&wanted, usual_folders);
}

/* ---- what it needs ---- */

static bool is_in(const object_set *set, const char *path)
{
    for (uint32_t i = 0; i < set->count; i++) {
        if (strcmp(set->list[i].path, path) == 0) {
            return true;
        }
    }
    return false;
}

static void add_needed(object_set *set, const elf_object *object, const char *name,
                       const char *run_path)
{
    char path[SYNCTEST_LINT_LIBRARY_PATH_BYTES_MAX];
    if (ls_plugin_contents_is_of_language(name)) {
        return;
    }
    bool is_found = synctest_lint_library_find(name, object->path, run_path, path);
    if (is_found && is_in(set, path)) {
        return;
    }
    if (is_found && set->count < OBJECTS_MAX &&
        open_object(set, path, name, object->report, NULL) == LS_OK) {
        object->report->libraries_read++;
        return;
    }
    synctest_lint_item item = {.kind = SYNCTEST_LINT_LIBRARY,
                               .topic = "needed library",
                               .why = "the library is not found, so nobody knows what it calls",
                               .instead = "set LD_LIBRARY_PATH"};
    ls_name_copy(item.name, sizeof item.name, name);
    add_item(object, &item);
}

/* The entries with one tag, a name each; returns the last one, or "". */
static const char *visit_entries(const elf_object *object, int64_t tag, object_set *set,
                                 const char *run_path)
{
    const char *last = "";
    Elf_Scn *section = elf_nextscn(object->elf, NULL);
    for (; section; section = elf_nextscn(object->elf, section)) {
        GElf_Shdr header;
        Elf_Data *data = NULL;
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNAMIC) {
            data = elf_getdata(section, NULL);
        }
        size_t count = data && header.sh_entsize > 0 ? data->d_size / header.sh_entsize : 0;
        for (size_t i = 0; i < count; i++) {
            GElf_Dyn entry;
            const char *name = gelf_getdyn(data, (int)i, &entry) && entry.d_tag == tag
                                   ? elf_strptr(object->elf, header.sh_link, entry.d_un.d_val)
                                   : NULL;
            last = name ? name : last;
            if (name && set) {
                add_needed(set, object, name, run_path);
            }
        }
    }
    return last;
}

/* And what those need. */
static void open_needed(object_set *set)
{
    for (uint32_t i = 0; i < set->count; i++) {
        char run_path[RUN_PATH_BYTES_MAX];
        const elf_object *object = &set->list[i];
        snprintf(run_path, sizeof run_path, "%s:%s", visit_entries(object, DT_RUNPATH, NULL, NULL),
                 visit_entries(object, DT_RPATH, NULL, NULL));
        visit_entries(object, DT_NEEDED, set, run_path);
    }
}

/* The processor that the perturbation cpu shows is not the one that such code finds. */
static void lint_features(const elf_object *plugin, const ls_plugin_contents *contents)
{
    const char *why = ls_plugin_contents_open_features(contents);
    synctest_lint_item item = {.kind = SYNCTEST_LINT_CALL,
                               .name = "cpuid",
                               .topic = "environment",
                               .why = why,
                               .instead = "the perturbation cpu cannot hide that: do the same on "
                                          "every processor, and keep the names (no -s)"};
    if (why) {
        add_item(plugin, &item);
    }
}

/* Those that the file tells of, which it does with debug information. */
static void lint_flags(const elf_object *plugin, const ls_plugin_contents *contents)
{
    ls_text flags = {{0}};
    ls_plugin_contents_flags(contents, &flags);
    char *rest = NULL;
    for (char *flag = strtok_r(flags.bytes, " ", &rest); flag; flag = strtok_r(NULL, " ", &rest)) {
        const synctest_lint_rule *rule = synctest_lint_rule_of_flag(flag);
        if (rule) {
            synctest_lint_item item = {.kind = SYNCTEST_LINT_FLAG,
                                       .is_error = rule->is_error,
                                       .topic = rule->topic,
                                       .why = rule->why,
                                       .instead = rule->instead};
            ls_name_copy(item.name, sizeof item.name, flag);
            add_item(plugin, &item);
        }
    }
}

static void lint_contents(const elf_object *plugin)
{
    ls_plugin_contents contents;
    if (ls_plugin_contents_open(plugin->path, &contents)) {
        lint_flags(plugin, &contents);
        lint_features(plugin, &contents);
        ls_plugin_contents_close(&contents);
    }
}

ls_status synctest_lint_file(const char *path, synctest_lint_report *report, ls_text *why)
{
    object_set *set = calloc(1, sizeof *set);
    if (!set) {
        return ls_fail(LS_NO_MEMORY, why, "%s", ls_status_text(LS_NO_MEMORY));
    }
    memset(report, 0, sizeof *report);
    elf_version(EV_CURRENT);
    ls_status status = open_object(set, path, "", report, why);
    if (status == LS_OK) {
        open_needed(set);
        lint_contents(&set->list[0]);
    }
    for (uint32_t i = 0; i < set->count && status == LS_OK; i++) {
        status = lint_object(&set->list[i], why);
    }
    for (uint32_t i = 0; i < set->count; i++) {
        close_object(&set->list[i]);
    }
    free(set);
    return status;
}

/* ---- names ---- */

/* A symbol by its type and an address in it, or by its name where there is one. */
typedef struct symbol_query {
    unsigned type;
    uint64_t address;
    const char *name; /* NULL: any */
} symbol_query;

static bool is_wanted(const symbol_query *query, const GElf_Sym *symbol, const char *name)
{
    if (!name || GELF_ST_TYPE(symbol->st_info) != query->type) {
        return false;
    }
    return query->name ? symbol->st_shndx != SHN_UNDEF && strcmp(name, query->name) == 0
                       : query->address >= symbol->st_value &&
                             query->address - symbol->st_value < symbol->st_size;
}

static bool find_symbol(Elf *elf, Elf_Scn *section, const symbol_query *query, GElf_Sym *out,
                        char *name, size_t capacity)
{
    GElf_Shdr header;
    Elf_Data *data = elf_getdata(section, NULL);
    if (!data || !gelf_getshdr(section, &header) || header.sh_entsize == 0 ||
        (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM)) {
        return false;
    }
    for (size_t i = 1; i < data->d_size / header.sh_entsize; i++) {
        const char *found =
            gelf_getsym(data, (int)i, out) ? elf_strptr(elf, header.sh_link, out->st_name) : NULL;
        if (is_wanted(query, out, found)) {
            ls_symbol_name_read(name, capacity, found);
            return true;
        }
    }
    return false;
}

static bool find_in_file(const char *path, const symbol_query *query, GElf_Sym *out, char *name,
                         size_t capacity)
{
    bool is_found = false;
    ls_mapped_file file = {NULL, 0};
    elf_version(EV_CURRENT);
    Elf *elf = ls_mapped_file_open(path, &file, NULL) == LS_OK
                   ? elf_memory((char *)(uintptr_t)file.bytes, file.size)
                   : NULL;
    Elf_Scn *section = elf ? elf_nextscn(elf, NULL) : NULL;
    for (; section && !is_found; section = elf_nextscn(elf, section)) {
        is_found = find_symbol(elf, section, query, out, name, capacity);
    }
    if (elf) {
        elf_end(elf);
    }
    ls_mapped_file_close(&file);
    return is_found;
}

bool synctest_lint_variable_at(const char *path, uint64_t address, char *name, size_t capacity)
{
    bool is_threads = address & LS_PLUGIN_STATICS_THREAD_LOCAL;
    const symbol_query query = {.type = is_threads ? STT_TLS : STT_OBJECT,
                                .address = address & ~LS_PLUGIN_STATICS_THREAD_LOCAL};
    GElf_Sym symbol;
    return find_in_file(path, &query, &symbol, name, capacity);
}

bool synctest_lint_function_at(const char *path, uint64_t address, char *name, size_t capacity)
{
    const symbol_query query = {.type = STT_FUNC, .address = address};
    GElf_Sym symbol;
    return find_in_file(path, &query, &symbol, name, capacity);
}

bool synctest_lint_variable_named(const char *path, const char *name, uint64_t *address,
                                  uint64_t *byte_count)
{
    GElf_Sym symbol;
    char found[SYNCTEST_LINT_NAME_BYTES_MAX];
    const symbol_query query = {.type = STT_OBJECT, .name = name};
    if (!find_in_file(path, &query, &symbol, found, sizeof found)) {
        return false;
    }
    *address = symbol.st_value;
    *byte_count = symbol.st_size;
    return true;
}

/* ---- lint types ---- */

enum {
    STATES_MAX = 32,
};

/* A struct without a name counts as its owner. */
static const char *owner_of(const schema_debug_type *type, const char *around)
{
    const char *name = type->spelling;
    name += strncmp(name, "struct ", 7) == 0 ? 7 : 0;
    return name[0] != '\0' ? name : around;
}

/* Two structs of a state may hold the same one. */
static bool is_there(const synctest_lint_report *report, const synctest_lint_item *item)
{
    for (uint32_t i = 0; i < report->count; i++) {
        const synctest_lint_item *other = &report->items[i];
        if (other->kind == item->kind && strcmp(other->name, item->name) == 0 &&
            strcmp(other->place, item->place) == 0) {
            return true;
        }
    }
    return false;
}

static const char *words_for(const schema_debug_member *member)
{
    const schema_debug_type *type = member->type;
    while (type->kind == SCHEMA_DEBUG_ARRAY) {
        type = type->element;
    }
    return member->is_bit_field                 ? "a bit-field"
           : type->kind == SCHEMA_DEBUG_POINTER ? "a pointer"
                                                : type->spelling;
}

static void add_member(synctest_lint_report *report, const char *owner,
                       const schema_debug_member *member, const schema_debug_doubt *doubt)
{
    synctest_lint_item item = {.kind = SYNCTEST_LINT_TYPE,
                               .count = member->type->bytes,
                               .topic = "type of the state",
                               .why = doubt->why,
                               .instead = doubt->instead};
    snprintf(item.name, sizeof item.name, "%s.%s (%s)", owner, member->name, words_for(member));
    snprintf(item.place, sizeof item.place, "%s:%d", member->file, member->line);
    if (!is_there(report, &item)) {
        synctest_lint_add(report, &item);
    }
}

static void lint_struct(synctest_lint_report *report, const schema_debug_type *type,
                        const char *around)
{
    const char *owner = owner_of(type, around);
    for (uint32_t i = 0; i < type->member_count; i++) {
        const schema_debug_member *member = &type->members[i];
        const schema_debug_doubt *doubt = schema_debug_doubt_of(member);
        const schema_debug_type *inner = member->type;
        while (inner->kind == SCHEMA_DEBUG_ARRAY) {
            inner = inner->element;
        }
        if (doubt) {
            add_member(report, owner, member, doubt);
        } else {
            lint_struct(report, inner, owner);
        }
    }
}

void synctest_lint_types(const char *path, size_t state_bytes, const size_t *item_bytes,
                         uint32_t item_sizes, synctest_lint_report *report)
{
    schema_debug_file *file = NULL;
    const schema_debug_type *states[STATES_MAX];
    ls_text why = {{0}};
    if (schema_debug_open(path, &file, &why) != LS_OK) {
        return;
    }
    uint32_t count =
        schema_debug_states(file, &state_bytes, 1, SCHEMA_DEBUG_GIVEN_AS_VOID, states, STATES_MAX);
    if (count == 0) {
        count = schema_debug_states(file, item_bytes, item_sizes, SCHEMA_DEBUG_GIVEN_IN_STEP,
                                    states, STATES_MAX);
    }
    for (uint32_t i = 0; i < count; i++) {
        lint_struct(report, states[i], "");
    }
    schema_debug_close(file);
}
