#include "lockstep/tools/desync/code_place.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static void set_source(const debug_place *place, explain_code_level *level)
{
    Dwarf_Line *line = dwarf_getsrc_die(place->unit, place->address);
    const char *path = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
    if (path && dwarf_lineno(line, &level->line) == 0) {
        snprintf(level->file, sizeof level->file, "%s", file_of(path));
    }
}

static Dwarf_Word number_of(Dwarf_Die *die, unsigned name)
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
    Dwarf_Word file = number_of(inlined, DW_AT_call_file);
    level->line = (int)number_of(inlined, DW_AT_call_line);
    if (dwarf_getsrcfiles(place->unit, &files, &count) == 0 && file < count) {
        const char *path = dwarf_filesrc(files, file, NULL, NULL);
        snprintf(level->file, sizeof level->file, "%s", path ? file_of(path) : "");
    }
}

/* The scopes of the innermost block, from the inside out, where they are and not where the inlined
 * ones were written. Free them. */
static int find_scopes(const debug_place *place, Dwarf_Die **out)
{
    Dwarf_Die *scopes = NULL;
    int count = dwarf_getscopes(place->unit, place->address, &scopes);
    if (count <= 0) {
        return 0;
    }
    Dwarf_Die innermost = scopes[0];
    free(scopes);
    count = dwarf_getscopes_die(&innermost, out);
    return count > 0 ? count : 0;
}

static uint32_t read_levels(const debug_place *place, explain_code_level *levels, uint32_t capacity)
{
    uint32_t used = 0;
    Dwarf_Die *scopes = NULL;
    int count = place->unit ? find_scopes(place, &scopes) : 0;
    explain_code_level next = {.line = 0};
    if (count > 0) {
        set_source(place, &next);
    }
    for (int i = 0; i < count && used < capacity; i++) {
        int tag = dwarf_tag(&scopes[i]);
        const char *name = dwarf_diename(&scopes[i]);
        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) {
            continue;
        }
        snprintf(next.function, sizeof next.function, "%s", name ? name : "?");
        next.is_put_into_next = tag == DW_TAG_inlined_subroutine;
        levels[used++] = next;
        if (tag == DW_TAG_subprogram) {
            break;
        }
        next = (explain_code_level){.line = 0};
        set_call(place, &scopes[i], &next);
    }
    free(count > 0 ? scopes : NULL);
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
        snprintf(level->function, sizeof level->function, "%s+0x%" PRIx64, function,
                 (uint64_t)offset);
        return;
    }
    Dwarf_Addr start = 0;
    const char *path = dwfl_module_info(module, NULL, &start, NULL, NULL, NULL, NULL, NULL);
    snprintf(level->function, sizeof level->function, "%s+0x%" PRIx64, path ? file_of(path) : "?",
             address - start);
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

bool explain_code_places_span(const explain_code_places *places, uint64_t instruction,
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
