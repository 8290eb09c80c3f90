#include "lockstep/common/program/symbol_name.h"

#include "lockstep/common/base/text.h"

#if defined(LS_HAS_LIBIBERTY)

#include <libiberty/demangle.h>
#include <string.h>

/* The parts come one after the other. */
static void add_part(const char *part, size_t size, void *user)
{
    ls_text_add(user, "%.*s", (int)size, part);
}

void ls_symbol_name_read(char *name, size_t capacity, const char *symbol)
{
    ls_text text = {{0}};
    if (!rust_demangle_callback(symbol, DMGL_NO_OPTS, add_part, &text)) {
        const char *variant = strchr(symbol, '.'); /* ".arch_haswell": no name of C++ has a dot */
        text = (ls_text){{0}};
        if (cplus_demangle_v3_callback(symbol, DMGL_NO_OPTS, add_part, &text)) {
            ls_text_add(&text, "%s", variant ? variant : "");
        } else {
            text = (ls_text){{0}};
        }
    }
    /* A variable of a function is set behind its guard: the first write is to that. */
    static const char guard[] = "guard variable for ";
    size_t left_out = strncmp(text.bytes, guard, sizeof guard - 1) == 0 ? sizeof guard - 1 : 0;
    ls_name_copy(name, capacity, text.bytes[0] ? text.bytes + left_out : symbol);
}

#else

void ls_symbol_name_read(char *name, size_t capacity, const char *symbol)
{
    ls_name_copy(name, capacity, symbol);
}

#endif
