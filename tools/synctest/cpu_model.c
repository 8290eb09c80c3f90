#define _GNU_SOURCE
#include "lockstep/tools/synctest/cpu_model.h"

#include "lockstep/tools/synctest/lint.h"

#include <link.h>
#include <stdint.h>
#include <string.h>

/* As libgcc and compiler-rt have it: __cpu_model. Further features are in __cpu_features2. */
typedef struct cpu_model {
    uint32_t maker;
    uint32_t type;
    uint32_t subtype;
    uint32_t features;
} cpu_model;

enum {
    MAKER_OTHER = 3,
};

typedef struct plugin_base {
    const char *path;
    uintptr_t address;
} plugin_base;

static int note_base(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    plugin_base *wanted = user;
    bool is_wanted = strcmp(info->dlpi_name, wanted->path) == 0;
    wanted->address = is_wanted ? (uintptr_t)info->dlpi_addr : 0;
    return is_wanted;
}

void synctest_cpu_model_clear(const char *path, bool is_maker_unknown)
{
    plugin_base base = {path, 0};
    uint64_t address = 0, byte_count = 0;
    dl_iterate_phdr(note_base, &base);
    if (base.address == 0) {
        return;
    }
    if (synctest_lint_variable_named(path, "__cpu_features2", &address, &byte_count)) {
        memset((void *)(base.address + (uintptr_t)address), 0, (size_t)byte_count);
    }
    if (synctest_lint_variable_named(path, "__cpu_model", &address, &byte_count) &&
        byte_count >= sizeof(cpu_model)) {
        cpu_model *model = (cpu_model *)(base.address + (uintptr_t)address);
        *model = is_maker_unknown ? (cpu_model){.maker = MAKER_OTHER} : *model;
        model->features = 0;
    }
}
