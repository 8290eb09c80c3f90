#include "lockstep/tools/desync/code_place.h"

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

void explain_code_places_name(const explain_code_places *places, uint64_t instruction, char *text,
                              size_t capacity)
{
    snprintf(text, capacity, "0x%" PRIx64, instruction);
    Dwfl_Module *module = places ? dwfl_addrmodule(places->dwfl, instruction) : NULL;
    if (!module) {
        return;
    }
    GElf_Off offset = 0;
    GElf_Sym symbol;
    int line = 0;
    const char *function =
        dwfl_module_addrinfo(module, instruction, &offset, &symbol, NULL, NULL, NULL);
    Dwfl_Line *source = dwfl_module_getsrc(module, instruction);
    const char *path = source ? dwfl_lineinfo(source, NULL, &line, NULL, NULL, NULL) : NULL;
    if (function && path) {
        snprintf(text, capacity, "%s (%s:%d)", function, file_of(path), line);
    } else if (function) {
        snprintf(text, capacity, "%s+0x%" PRIx64, function, (uint64_t)offset);
    }
}
