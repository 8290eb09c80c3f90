/* There is no debug information that is read here. */
#include "lockstep/tools/synctest/lint_types.h"

void synctest_lint_types(const char *path, size_t state_bytes, const size_t *item_bytes,
                         uint32_t item_sizes, synctest_lint_report *report)
{
    (void)path;
    (void)state_bytes;
    (void)item_bytes;
    (void)item_sizes;
    (void)report;
}
