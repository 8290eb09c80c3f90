#include "lockstep/common/loader/plugin_statics.h"

void ls_plugin_statics_begin(ls_plugin_statics *statics, const void *code, bool with_libraries,
                             const ls_allocator *allocator)
{
    (void)code;
    (void)with_libraries;
    *statics = (ls_plugin_statics){.allocator = allocator};
}

void ls_plugin_statics_end(ls_plugin_statics *statics)
{
    statics->segment_count = 0;
}

uint32_t ls_plugin_statics_changes(ls_plugin_statics *statics, uint64_t *addresses,
                                   uint32_t capacity)
{
    (void)statics;
    (void)addresses;
    (void)capacity;
    return 0;
}

void ls_plugin_statics_reset(const ls_plugin_statics *statics, uint64_t address, uint64_t size)
{
    (void)statics;
    (void)address;
    (void)size;
}

bool ls_plugin_statics_variable(const char *path, uint64_t address, ls_plugin_symbol_reader *reader,
                                ls_plugin_variable *out)
{
    (void)path;
    (void)address;
    (void)reader;
    (void)out;
    return false;
}

const char *ls_plugin_statics_path(const ls_plugin_statics *statics, uint64_t address)
{
    (void)statics;
    (void)address;
    return "";
}
