#include "lockstep/common/loader/plugin_statics.h"

void ls_plugin_statics_begin(ls_plugin_statics *statics, const char *path,
                             const ls_allocator *allocator)
{
    (void)path;
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

bool ls_plugin_statics_name(const char *path, uint64_t address, ls_plugin_symbol_reader *reader,
                            char *name, size_t capacity)
{
    (void)path;
    (void)address;
    (void)reader;
    (void)name;
    (void)capacity;
    return false;
}
