#include "lockstep/tools/disassembler/symbol_name.h"

#include "lockstep/common/base/text.h"

#if defined(LS_HAS_LIBIBERTY)

#include <libiberty/demangle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void symbol_name_read(char *name, size_t capacity, const char *symbol)
{
    char text[512];
    const char *variant = "";
    char *read = rust_demangle(symbol, DMGL_NO_OPTS);
    if (!read) {
        read = cplus_demangle_v3(symbol, DMGL_NO_OPTS);
        variant = strchr(symbol, '.'); /* ".arch_haswell": no name of C++ has a dot */
    }
    snprintf(text, sizeof text, "%s%s", read ? read : symbol, read && variant ? variant : "");
    ls_name_copy(name, capacity, text);
    free(read);
}

#else

void symbol_name_read(char *name, size_t capacity, const char *symbol)
{
    ls_name_copy(name, capacity, symbol);
}

#endif
