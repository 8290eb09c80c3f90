#include "lockstep/tools/desync/machine_code.h"

#include "lockstep/common/program/symbol_name.h"
#include "lockstep/tools/disassembler/disassembler.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- places ---- */

struct explain_code_places {
    Dwfl *dwfl;
};

static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_linux_proc_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
};

explain_code_places *explain_code_places_open(void)
{
    explain_code_places *places = calloc(1, sizeof *places);
    Dwfl *dwfl = dwfl_begin(&callbacks);
    if (!places || !dwfl || dwfl_linux_proc_report(dwfl, getpid()) != 0 ||
        dwfl_report_end(dwfl, NULL, NULL) != 0) {
        dwfl_end(dwfl);
        free(places);
        return NULL;
    }
    places->dwfl = dwfl;
    return places;
}

void explain_code_places_close(explain_code_places *places)
{
    if (places) {
        dwfl_end(places->dwfl);
        free(places);
    }
}

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- debug information ---- */

/* Where an instruction is, as its module's debug information counts. */
typedef struct debug_place {
    Dwarf_Die *unit; /* NULL: there is none */
    Dwarf_Addr address;
} debug_place;

/* Not every compiler writes the table by which a unit is found: then each unit is asked. */
static debug_place find_unit(Dwfl_Module *module, uint64_t address)
{
    Dwarf_Addr bias = 0;
    Dwarf_Die *unit = dwfl_module_addrdie(module, address, &bias);
    if (unit) {
        return (debug_place){unit, address - bias};
    }
    while ((unit = dwfl_module_nextcu(module, unit, &bias)) != NULL) {
        if (dwarf_haspc(unit, address - bias) == 1) {
            return (debug_place){unit, address - bias};
        }
    }
    return (debug_place){NULL, 0};
}

/* A relative path is one from where the unit was compiled. */
static void set_file(const debug_place *place, const char *path, explain_code_level *level)
{
    Dwarf_Attribute attribute;
    const char *folder = dwarf_formstring(dwarf_attr(place->unit, DW_AT_comp_dir, &attribute));
    bool is_whole = path[0] == '/' || !folder;
    snprintf(level->file, sizeof level->file, "%s", file_of(path));
    snprintf(level->path, sizeof level->path, "%s%s%s", is_whole ? "" : folder, is_whole ? "" : "/",
             path);
}

static void set_source(const debug_place *place, explain_code_level *level)
{
    Dwarf_Line *line = dwarf_getsrc_die(place->unit, place->address);
    const char *path = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
    if (path && dwarf_lineno(line, &level->line) == 0) {
        set_file(place, path, level);
    }
}

static Dwarf_Word attribute_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    return dwarf_formudata(dwarf_attr(die, name, &attribute), &value) == 0 ? value : 0;
}

/* Where the function that was put into the next one was called. */
static void set_call(const debug_place *place, Dwarf_Die *inlined, explain_code_level *level)
{
    Dwarf_Files *files = NULL;
    size_t count = 0;
    Dwarf_Word file = attribute_of(inlined, DW_AT_call_file);
    level->line = (int)attribute_of(inlined, DW_AT_call_line);
    if (dwarf_getsrcfiles(place->unit, &files, &count) == 0 && file < count) {
        const char *path = dwarf_filesrc(files, file, NULL, NULL);
        set_file(place, path ? path : "", level);
    }
}

enum {
    SCOPES_MAX = 64,
};

/* The functions and blocks that an instruction is in, from the outside in. */
typedef struct code_scopes {
    uint32_t count;
    Dwarf_Die list[SCOPES_MAX];
} code_scopes;

/* Whether functions may be defined within it that have no address of their own here. */
static bool is_shell(int tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
           tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
           tag == DW_TAG_enumeration_type;
}

static bool is_code(int tag)
{
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
           tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

/* clang and rustc define functions within their namespaces, where dwarf_getscopes does not look. */
static bool find_scopes(Dwarf_Die *around, Dwarf_Addr address, uint32_t depth, code_scopes *out)
{
    Dwarf_Die die;
    if (depth == SCOPES_MAX || dwarf_child(around, &die) != 0) {
        return false;
    }
    do {
        int tag = dwarf_tag(&die);
        if (is_shell(tag) && find_scopes(&die, address, depth + 1, out)) {
            return true;
        }
        if (is_code(tag) && dwarf_haspc(&die, address) == 1 && out->count < SCOPES_MAX) {
            out->list[out->count++] = die;
            find_scopes(&die, address, depth + 1, out);
            return true;
        }
    } while (dwarf_siblingof(&die, &die) == 0);
    return false;
}

/* "game::think": with what it was declared in. */
static void set_function(Dwarf_Die *function, explain_code_level *level)
{
    Dwarf_Die *scopes = NULL;
    Dwarf_Die declared = *function;
    Dwarf_Attribute attribute;
    const char *name = dwarf_diename(function);
    size_t used = 0;
    static const unsigned origins[] = {DW_AT_abstract_origin, DW_AT_specification};
    for (size_t i = 0; i < sizeof origins / sizeof origins[0]; i++) {
        if (dwarf_attr(&declared, origins[i], &attribute)) {
            dwarf_formref_die(&attribute, &declared);
        }
    }
    int count = dwarf_getscopes_die(&declared, &scopes);
    for (int i = count - 1; i > 0; i--) {
        const char *around = is_shell(dwarf_tag(&scopes[i])) ? dwarf_diename(&scopes[i]) : NULL;
        if (around && used < sizeof level->function) {
            used += (size_t)snprintf(level->function + used, sizeof level->function - used,
                                     "%s::", around);
        }
    }
    if (used < sizeof level->function) {
        snprintf(level->function + used, sizeof level->function - used, "%s", name ? name : "?");
    }
    free(count > 0 ? scopes : NULL);
}

/* ---- loops over unordered containers ---- */

enum {
    TYPES_AROUND_MAX = 16, /* typedefs, references and qualifiers */
};

/* The variable that holds what a `for` of C++ or of Rust goes through. */
static bool is_of_loop(const char *variable)
{
    return variable && (strcmp(variable, "__for_range") == 0 ||
                        strncmp(variable, "__range", 7) == 0 || strcmp(variable, "iter") == 0);
}

/* Rust's iterators have plain names within std::collections::hash. */
static bool is_within_hash(Dwarf_Die *type)
{
    Dwarf_Die *scopes = NULL;
    bool is_within = false;
    int count = dwarf_getscopes_die(type, &scopes);
    for (int i = 1; i < count && !is_within; i++) {
        const char *name = dwarf_diename(&scopes[i]);
        is_within = dwarf_tag(&scopes[i]) == DW_TAG_namespace && name && strcmp(name, "hash") == 0;
    }
    free(count > 0 ? scopes : NULL);
    return is_within;
}

static bool set_container(Dwarf_Die *type, explain_code_level *level)
{
    static const char beginning[] = "unordered_";
    const char *name = dwarf_diename(type);
    bool is_cpp = name && strncmp(name, beginning, sizeof beginning - 1) == 0;
    if (is_cpp) {
        snprintf(level->container, sizeof level->container, "std::%.*s", (int)strcspn(name, "<"),
                 name);
    } else if (is_within_hash(type)) {
        snprintf(level->container, sizeof level->container, "std::collections::hash");
    }
    return level->container[0] != '\0';
}

static bool is_of_container(Dwarf_Die *variable, explain_code_level *level)
{
    Dwarf_Die type = *variable;
    Dwarf_Attribute attribute;
    for (int i = 0; i < TYPES_AROUND_MAX; i++) {
        if (!dwarf_formref_die(dwarf_attr_integrate(&type, DW_AT_type, &attribute), &type)) {
            return false;
        }
        int tag = dwarf_tag(&type);
        if (tag == DW_TAG_structure_type || tag == DW_TAG_class_type) {
            return set_container(&type, level);
        }
    }
    return false;
}

/* Whether the block is a loop over one, by its own variables. */
static void find_container(Dwarf_Die *block, explain_code_level *level)
{
    Dwarf_Die die;
    int more = level->container[0] == '\0' ? dwarf_child(block, &die) : 1;
    for (; more == 0; more = dwarf_siblingof(&die, &die)) {
        if (dwarf_tag(&die) == DW_TAG_variable && is_of_loop(dwarf_diename(&die)) &&
            is_of_container(&die, level)) {
            return;
        }
    }
}

static uint32_t read_levels(const debug_place *place, explain_code_level *levels, uint32_t capacity)
{
    uint32_t used = 0;
    code_scopes scopes = {.count = 0};
    explain_code_level next = {.line = 0};
    if (place->unit && find_scopes(place->unit, place->address, 0, &scopes)) {
        set_source(place, &next);
    }
    for (uint32_t i = scopes.count; i-- > 0 && used < capacity;) {
        int tag = dwarf_tag(&scopes.list[i]);
        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) {
            find_container(&scopes.list[i], &next);
            continue;
        }
        set_function(&scopes.list[i], &next);
        next.is_put_into_next = tag == DW_TAG_inlined_subroutine;
        levels[used++] = next;
        if (tag == DW_TAG_subprogram) {
            break;
        }
        next = (explain_code_level){.line = 0};
        set_call(place, &scopes.list[i], &next);
    }
    return used;
}

/* ---- symbols ---- */

static void name_by_symbol(Dwfl_Module *module, uint64_t address, explain_code_level *level)
{
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char *function =
        dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL);
    if (function && offset < symbol.st_size) {
        char name[sizeof level->function - sizeof "+0x0123456789abcdef"];
        ls_symbol_name_read(name, sizeof name, function);
        snprintf(level->function, sizeof level->function, "%s+0x%" PRIx64, name, (uint64_t)offset);
        return;
    }
    Dwarf_Addr start = 0;
    const char *path = dwfl_module_info(module, NULL, &start, NULL, NULL, NULL, NULL, NULL);
    snprintf(level->function, sizeof level->function, "%s+0x%" PRIx64, path ? file_of(path) : "?",
             address - start);
}

/* "blend.arch_haswell": of the variants of a function the one that the processor was given. The
 * pieces into which a compiler cuts one function are no variants. */
static void add_variant(Dwfl_Module *module, uint64_t address, explain_code_level *level)
{
    static const char *const pieces[] = {".part", ".isra",     ".constprop",
                                         ".cold", ".lto_priv", ".llvm"};
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char *name = dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL);
    const char *variant = name ? strchr(name, '.') : NULL;
    size_t used = strlen(level->function);
    if (!variant || variant[1] < 'a' || variant[1] > 'z') {
        return;
    }
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        if (strncmp(variant, pieces[i], strlen(pieces[i])) == 0) {
            return;
        }
    }
    snprintf(level->function + used, sizeof level->function - used, "%s", variant);
}

uint32_t explain_code_places_levels(const explain_code_places *places, uint64_t instruction,
                                    bool is_return_address, explain_code_level *levels,
                                    uint32_t capacity)
{
    uint64_t address = instruction - (is_return_address ? 1 : 0);
    Dwfl_Module *module = places ? dwfl_addrmodule(places->dwfl, address) : NULL;
    const debug_place place = module ? find_unit(module, address) : (debug_place){NULL, 0};
    uint32_t used = read_levels(&place, levels, capacity);
    if (used > 0) {
        if (!levels[used - 1].is_put_into_next) {
            add_variant(module, address, &levels[used - 1]);
        }
        return used;
    }
    levels[0] = (explain_code_level){.line = 0};
    if (module) {
        name_by_symbol(module, address, &levels[0]);
    } else {
        snprintf(levels[0].function, sizeof levels[0].function, "0x%" PRIx64, instruction);
    }
    return 1;
}

uint32_t explain_code_places_stack(const explain_code_places *places, uint64_t instruction,
                                   const uint64_t *stack, uint32_t stack_count,
                                   explain_code_level levels[EXPLAIN_LEVELS_MAX])
{
    if (instruction == 0) {
        return 0;
    }
    uint32_t used =
        explain_code_places_levels(places, instruction, false, levels, EXPLAIN_LEVELS_MAX);
    for (uint32_t i = 0; i < stack_count && used < EXPLAIN_LEVELS_MAX; i++) {
        used += explain_code_places_levels(places, stack[i], true, levels + used,
                                           EXPLAIN_LEVELS_MAX - used);
    }
    return used;
}

/* Systems, compilers and Lockstep's package put their headers there; the C library's own functions
 * have no file where their debug information is not installed. */
bool explain_code_level_is_of_library(const explain_code_level *level)
{
    static const char *const beginnings[] = {"/usr/include/", "/usr/lib/", "/rustc/", "./"};
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++) {
        if (strncmp(level->path, beginnings[i], strlen(beginnings[i])) == 0) {
            return true;
        }
    }
    return level->file[0] == '\0' || strstr(level->path, "/include/lockstep/");
}

void explain_code_level_text(const explain_code_level *level, char *text, size_t capacity)
{
    if (level->file[0] != '\0') {
        snprintf(text, capacity, "%s (%s:%d)", level->function, level->file, level->line);
    } else {
        snprintf(text, capacity, "%s", level->function);
    }
}

bool explain_code_places_file(const explain_code_places *places, uint64_t instruction,
                              explain_code_span *out)
{
    Dwfl_Module *module = places ? dwfl_addrmodule(places->dwfl, instruction) : NULL;
    *out = (explain_code_span){.is_function = false};
    if (module) {
        dwfl_module_info(module, NULL, &out->begin, &out->end, NULL, NULL, NULL, NULL);
    }
    return module != NULL;
}

static bool explain_code_places_span(const explain_code_places *places, uint64_t instruction,
                                     explain_code_span *out)
{
    GElf_Off offset = 0;
    GElf_Sym symbol;
    if (!explain_code_places_file(places, instruction, out)) {
        return false;
    }
    Dwfl_Module *module = dwfl_addrmodule(places->dwfl, instruction);
    if (dwfl_module_addrinfo(module, instruction, &offset, &symbol, NULL, NULL, NULL) &&
        offset < symbol.st_size) {
        *out =
            (explain_code_span){instruction - offset, instruction - offset + symbol.st_size, true};
    }
    return true;
}

/* ---- instructions ---- */

enum {
    INSTRUCTION_BYTES_MAX = 15,
    BYTES_BEFORE = 96, /* read where no symbol says where a function begins */
    PAGE = 4096,
};

struct explain_machine_code {
    disassembler reader;
    uint64_t registers[X86_REG_ENDING]; /* the set that each belongs to; 0: none */
};

/* ---- registers ---- */

enum {
    VECTOR_FIRST = 16, /* of the bits in a set */
    VECTOR_COUNT = 32,
    FLAGS = 48,
    OTHER_FIRST = 49, /* x87, MMX and masks */
    OTHER_COUNT = 15,
    STACK_POINTER = 4,
};

static uint64_t general_register(const char *name)
{
    static const char *const names[8] = {"a", "c", "d", "b", "sp", "bp", "si", "di"};
    char *end = NULL;
    if (name[0] == 'r' && name[1] >= '0' && name[1] <= '9') {
        return UINT64_C(1) << strtoul(name + 1, &end, 10);
    }
    name += (name[0] == 'r' || name[0] == 'e') && name[1] != '\0' ? 1 : 0;
    for (unsigned i = 0; i < 8; i++) {
        size_t size = strlen(names[i]);
        const char *rest = name + size;
        if (strncmp(name, names[i], size) == 0 && (*rest == '\0' || strchr("xhl", *rest))) {
            return i == STACK_POINTER ? 0 : UINT64_C(1) << i;
        }
    }
    return 0;
}

static uint64_t set_of(const char *name)
{
    if (strlen(name) > 3 && strncmp(name + 1, "mm", 2) == 0) {
        return UINT64_C(1) << (VECTOR_FIRST + strtoul(name + 3, NULL, 10) % VECTOR_COUNT);
    }
    if (strstr(name, "flags")) {
        return UINT64_C(1) << FLAGS;
    }
    const char *number = name + strcspn(name, "0123456789");
    if (name[0] == 'k' || strncmp(name, "st", 2) == 0 || strncmp(name, "mm", 2) == 0 ||
        strncmp(name, "fp", 2) == 0) {
        return UINT64_C(1) << (OTHER_FIRST + strtoul(number, NULL, 10) % OTHER_COUNT);
    }
    return general_register(name);
}

static void name_registers(explain_machine_code *code)
{
    for (unsigned i = X86_REG_INVALID + 1; i < X86_REG_ENDING; i++) {
        const char *name = disassembler_register(&code->reader, i);
        code->registers[i] = name ? set_of(name) : 0;
    }
}

static bool is_x86_64(void)
{
#if defined(__x86_64__)
    return true;
#else
    return false;
#endif
}

explain_machine_code *explain_machine_code_open(void)
{
    explain_machine_code *code = is_x86_64() ? calloc(1, sizeof *code) : NULL;
    if (!code ||
        disassembler_open(&code->reader, CS_ARCH_X86, CS_MODE_64, CS_OPT_DETAIL) != LS_OK) {
        free(code);
        return NULL;
    }
    name_registers(code);
    return code;
}

void explain_machine_code_close(explain_machine_code *code)
{
    if (code) {
        disassembler_close(&code->reader);
        free(code);
    }
}

/* ---- as text ---- */

typedef struct decoding {
    const uint8_t *bytes;
    size_t size;
    uint64_t address;
} decoding;

static decoding decode_from(uint64_t begin, uint64_t end)
{
    return (decoding){(const uint8_t *)(uintptr_t)begin, (size_t)(end - begin), begin};
}

static bool decode_next(const explain_machine_code *code, decoding *at)
{
    return disassembler_next(&code->reader, &at->bytes, &at->size, &at->address);
}

static bool leads_to(const explain_machine_code *code, uint64_t begin, uint64_t instruction)
{
    decoding at = decode_from(begin, instruction + INSTRUCTION_BYTES_MAX);
    while (at.address < instruction && decode_next(code, &at)) {
    }
    return at.address == instruction;
}

/* Where to begin so that the instruction is met: wherever one begins within a function, after a few
 * instructions the right ones come out. */
static uint64_t find_begin(const explain_machine_code *code, const explain_code_span *span,
                           uint64_t instruction)
{
    if (span->is_function && leads_to(code, span->begin, instruction)) {
        return span->begin;
    }
    uint64_t begin =
        instruction - span->begin > BYTES_BEFORE ? instruction - BYTES_BEFORE : span->begin;
    while (begin < instruction && !leads_to(code, begin, instruction)) {
        begin++;
    }
    return begin;
}

static void add_instruction(explain_listing *out, const cs_insn *from, uint64_t wanted)
{
    if (from->address <= wanted && out->count == EXPLAIN_LISTING_BEFORE + 1) {
        memmove(out->list, out->list + 1, EXPLAIN_LISTING_BEFORE * sizeof out->list[0]);
        out->count--;
    }
    explain_instruction *made = &out->list[out->count++];
    *made = (explain_instruction){.address = from->address, .is_wanted = from->address == wanted};
    snprintf(made->mnemonic, sizeof made->mnemonic, "%s", from->mnemonic);
    snprintf(made->operands, sizeof made->operands, "%.120s", from->op_str);
}

void explain_machine_code_list(const explain_machine_code *code, const explain_code_places *places,
                               uint64_t instruction, explain_listing *out)
{
    explain_code_span span;
    uint32_t after = 0;
    *out = (explain_listing){.count = 0};
    if (!code || !explain_code_places_span(places, instruction, &span)) {
        return;
    }
    /* the file's last page may end before its code is said to */
    uint64_t end = span.is_function ? span.end : (instruction / PAGE + 1) * PAGE;
    decoding at =
        decode_from(find_begin(code, &span, instruction), end < span.end ? end : span.end);
    out->function = span.is_function ? span.begin : 0;
    while (after <= EXPLAIN_LISTING_AFTER && decode_next(code, &at)) {
        after += code->reader.instruction->address >= instruction ? 1 : 0;
        add_instruction(out, code->reader.instruction, instruction);
    }
}

/* Whether both do the same, with other registers or in the other form of the same instruction. */
static bool is_same_operation(const explain_instruction *a, const explain_instruction *b)
{
    const char *first = a->mnemonic + (a->mnemonic[0] == 'v' ? 1 : 0);
    const char *second = b->mnemonic + (b->mnemonic[0] == 'v' ? 1 : 0);
    return strcmp(first, second) == 0;
}

/* The longest common sequence, from the end on: what is left of both is what differs. Where one
 * list begins before the other nothing is known of the other. */
void explain_listing_compare(explain_listing *a, explain_listing *b)
{
    uint32_t longest[EXPLAIN_LISTING_MAX + 1][EXPLAIN_LISTING_MAX + 1] = {{0}};
    for (uint32_t i = 1; i <= a->count; i++) {
        for (uint32_t j = 1; j <= b->count; j++) {
            uint32_t without =
                longest[i - 1][j] > longest[i][j - 1] ? longest[i - 1][j] : longest[i][j - 1];
            bool is_same = is_same_operation(&a->list[i - 1], &b->list[j - 1]);
            longest[i][j] = is_same ? longest[i - 1][j - 1] + 1 : without;
        }
    }
    uint32_t i = a->count;
    uint32_t j = b->count;
    while (i > 0 && j > 0) {
        if (is_same_operation(&a->list[i - 1], &b->list[j - 1])) {
            i--;
            j--;
        } else if (longest[i - 1][j] >= longest[i][j - 1]) {
            a->list[--i].differs = true;
        } else {
            b->list[--j].differs = true;
        }
    }
}

/* ---- as what it reads and writes ---- */

static uint8_t number_of(const explain_machine_code *code, x86_reg name)
{
    uint64_t set = name == X86_REG_RSP ? UINT64_C(1) << STACK_POINTER : code->registers[name];
    uint8_t number = 0;
    if (name == X86_REG_RIP) {
        return EXPLAIN_BASE_IS_INSTRUCTION;
    }
    while (number < VECTOR_FIRST && set != UINT64_C(1) << number) {
        number++;
    }
    return number < VECTOR_FIRST ? number : EXPLAIN_BASE_IS_NONE;
}

static void add_use(explain_effect *out, const explain_memory_use *use)
{
    if (out->use_count < EXPLAIN_USES_MAX) {
        out->uses[out->use_count++] = *use;
    }
}

/* An instruction that pushes or pops uses memory that is no operand. */
static void add_stack_use(explain_effect *out, const char *mnemonic)
{
    explain_memory_use use = {
        .base = STACK_POINTER, .index = EXPLAIN_BASE_IS_NONE, .bytes = sizeof(uint64_t)};
    if (strncmp(mnemonic, "push", 4) == 0) {
        use.displacement = -(int64_t)sizeof(uint64_t);
        use.is_written = true;
    } else if (strcmp(mnemonic, "pop") == 0) {
        use.is_read = true;
    } else if (strcmp(mnemonic, "leave") == 0) {
        use.base = STACK_POINTER + 1; /* rbp */
        use.is_read = true;
    } else {
        return;
    }
    add_use(out, &use);
}

/* Access that capstone does not know, as of many instructions on vectors, or knows wrongly, as of
 * moves of vectors to memory: the first operand is written, and read as well where an instruction
 * adds to it. */
static uint8_t access_of(const cs_insn *instruction, uint8_t index)
{
    const cs_x86 *x86 = &instruction->detail->x86;
    const char *name = instruction->mnemonic + (instruction->mnemonic[0] == 'v' ? 1 : 0);
    bool is_move = strncmp(name, "mov", 3) == 0;
    bool adds_to_it = strncmp(name, "fm", 2) == 0 || strncmp(name, "fnm", 3) == 0;
    uint8_t access = x86->operands[index].access;
    if (is_move && x86->operands[index].type == X86_OP_MEM) {
        return index == 0 ? CS_AC_WRITE : CS_AC_READ;
    }
    if (access != CS_AC_INVALID || index > 0) {
        return access != CS_AC_INVALID ? access : CS_AC_READ;
    }
    return adds_to_it || (x86->op_count <= 2 && !is_move) ? CS_AC_READ | CS_AC_WRITE : CS_AC_WRITE;
}

static void add_operands(const explain_machine_code *code, explain_effect *out)
{
    const cs_x86 *x86 = &code->reader.instruction->detail->x86;
    for (uint8_t i = 0; i < x86->op_count; i++) {
        const cs_x86_op *operand = &x86->operands[i];
        uint8_t access = access_of(code->reader.instruction, i);
        if (operand->type == X86_OP_REG && operand->access == CS_AC_INVALID) {
            out->reads |= access & CS_AC_READ ? code->registers[operand->reg] : 0;
            out->writes |= access & CS_AC_WRITE ? code->registers[operand->reg] : 0;
        }
        bool has_segment = operand->type == X86_OP_MEM && (operand->mem.segment == X86_REG_FS ||
                                                           operand->mem.segment == X86_REG_GS);
        if (operand->type == X86_OP_MEM && !has_segment) {
            add_use(out, &(explain_memory_use){.base = number_of(code, operand->mem.base),
                                               .index = number_of(code, operand->mem.index),
                                               .scale = (uint8_t)operand->mem.scale,
                                               .bytes = operand->size,
                                               .is_read = access & CS_AC_READ,
                                               .is_written = access & CS_AC_WRITE,
                                               .displacement = operand->mem.disp});
        }
    }
}

static bool begins_with(const char *text, const char *const *beginnings)
{
    for (; *beginnings; beginnings++) {
        if (strncmp(text, *beginnings, strlen(*beginnings)) == 0) {
            return true;
        }
    }
    return false;
}

/* Where capstone's word is not the whole truth: a register combined with itself is zero, and a
 * number that is converted keeps only the upper half of what was there, which nobody looks at. */
static void drop_false_reads(const explain_machine_code *code, explain_effect *out)
{
    static const char *const cleared[] = {"xor", "pxor", "sub", "psub", NULL};
    static const char *const converted[] = {"cvt", "sqrts", "rounds", "rsqrts", "rcps", NULL};
    const cs_insn *instruction = code->reader.instruction;
    const cs_x86 *x86 = &instruction->detail->x86;
    const char *name = instruction->mnemonic + (instruction->mnemonic[0] == 'v' ? 1 : 0);
    uint8_t last = x86->op_count;
    while (last > 0 && x86->operands[last - 1].type == X86_OP_IMM) {
        last--;
    }
    if (last < 2 || x86->operands[last - 1].type != X86_OP_REG) {
        return;
    }
    uint64_t source = code->registers[x86->operands[last - 1].reg];
    if (begins_with(name, cleared) && x86->operands[last - 2].type == X86_OP_REG &&
        x86->operands[last - 2].reg == x86->operands[last - 1].reg) {
        out->reads = 0;
    } else if (begins_with(name, converted)) {
        out->reads = source;
    }
}

void explain_machine_code_effect(const explain_machine_code *code, uint64_t instruction,
                                 explain_effect *out)
{
    static const char *const none[] = {"nop", "lea", "prefetch", "endbr", NULL};
    cs_regs reads, writes;
    uint8_t read_count = 0;
    uint8_t write_count = 0;
    decoding at = decode_from(instruction, instruction + INSTRUCTION_BYTES_MAX);
    *out = (explain_effect){.instruction = instruction};
    if (!decode_next(code, &at)) {
        return;
    }
    const cs_insn *decoded = code->reader.instruction;
    out->bytes = (uint8_t)decoded->size;
    out->is_branch = decoded->mnemonic[0] == 'j' && strcmp(decoded->mnemonic, "jmp") != 0;
    if (!disassembler_registers(&code->reader, reads, &read_count, writes, &write_count)) {
        return;
    }
    for (uint8_t i = 0; i < read_count; i++) {
        out->reads |= code->registers[reads[i]];
    }
    for (uint8_t i = 0; i < write_count; i++) {
        out->writes |= code->registers[writes[i]];
    }
    if (!begins_with(decoded->mnemonic, none)) {
        add_operands(code, out);
        add_stack_use(out, decoded->mnemonic);
    }
    drop_false_reads(code, out);
}
