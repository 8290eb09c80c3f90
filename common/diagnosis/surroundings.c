#include "lockstep/common/diagnosis/surroundings.h"

uint32_t ls_surroundings_of_item(ls_fingerprint_item item)
{
    switch (item) {
    case LS_PRINT_CPU_FEATURES:
        return LS_SURROUNDING_BIT(LS_SURROUNDING_CPU_FEATURES);
    case LS_PRINT_CORES:
        return LS_SURROUNDING_BIT(LS_SURROUNDING_CORES);
    case LS_PRINT_DIRECTORY:
    case LS_PRINT_FILES: /* those with a relative path are not there any more */
        return LS_SURROUNDING_BIT(LS_SURROUNDING_DIRECTORY);
    case LS_PRINT_VARIABLES: /* some of them set the language, the time zone and CPU features */
        return LS_SURROUNDING_BIT(LS_SURROUNDING_VARIABLES) |
               LS_SURROUNDING_BIT(LS_SURROUNDING_LOCALE) |
               LS_SURROUNDING_BIT(LS_SURROUNDING_CPU_FEATURES);
    case LS_PRINT_LOCALE:
        return LS_SURROUNDING_BIT(LS_SURROUNDING_LOCALE);
    default:
        return 0;
    }
}
