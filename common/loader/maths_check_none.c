#include "lockstep/common/loader/maths_check.h"

/* Where plug-ins do not tell what they call (plugin_sections_none.c). */
uint64_t ls_maths_functions_named(const char *import)
{
    (void)import;
    return 0;
}

uint64_t ls_maths_check(uint64_t functions)
{
    (void)functions;
    return 0;
}
