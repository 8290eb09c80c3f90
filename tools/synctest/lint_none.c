/* Where files of this system's plug-ins are not looked into. */
#include "lockstep/common/system/ability.h"
#include "lockstep/tools/synctest/lint.h"

ls_status synctest_lint_file(const char *path, synctest_lint_report *report, ls_text *why)
{
    (void)path;
    (void)report;
    (void)ls_ability_is_there(LS_ABILITY_PERTURBED_PROCESSES, why);
    return LS_IO;
}

bool synctest_lint_variable_at(const char *path, uint64_t address, char *name, size_t capacity)
{
    (void)path;
    (void)address;
    (void)name;
    (void)capacity;
    return false;
}

bool synctest_lint_function_at(const char *path, uint64_t address, char *name, size_t capacity)
{
    (void)path;
    (void)address;
    (void)name;
    (void)capacity;
    return false;
}

bool synctest_lint_variable_named(const char *path, const char *name, uint64_t *address,
                                  uint64_t *byte_count)
{
    (void)path;
    (void)name;
    (void)address;
    (void)byte_count;
    return false;
}

/* There is no debug information that is read here. */
void synctest_lint_types(const char *path, size_t state_bytes, const size_t *item_bytes,
                         uint32_t item_sizes, synctest_lint_report *report)
{
    (void)path;
    (void)state_bytes;
    (void)item_bytes;
    (void)item_sizes;
    (void)report;
}
