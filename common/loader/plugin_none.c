#include "lockstep/common/loader/maths_check.h"
#include "lockstep/common/loader/plugin_contents.h"
#include "lockstep/common/loader/plugin_statics.h"

/* Plug-ins of this system do not tell what they call. */
uint64_t ls_maths_functions_named(const char *import)
{
    (void)import;
    return 0;
}

uint64_t ls_maths_check(uint64_t functions, void *library)
{
    (void)functions;
    (void)library;
    return 0;
}

/* The linker of this system looks at the size itself. */
ls_status ls_plugin_file_check(const char *path, ls_text *why)
{
    (void)path;
    (void)why;
    return LS_OK;
}

ls_plugin_section ls_plugin_section_find(const ls_plugin_contents *file, const char *name)
{
    (void)file;
    (void)name;
    return (ls_plugin_section){NULL, 0};
}

const char *ls_plugin_section_next(const ls_plugin_section *texts, const char *text)
{
    (void)texts;
    (void)text;
    return NULL;
}

void ls_plugin_contents_imports(const ls_plugin_contents *file, ls_plugin_contents_name *on_name,
                                void *user)
{
    (void)file;
    (void)on_name;
    (void)user;
}

void ls_plugin_contents_needed(const ls_plugin_contents *file, ls_plugin_contents_name *on_name,
                               void *user)
{
    (void)file;
    (void)on_name;
    (void)user;
}

bool ls_plugin_contents_hide_features(ls_plugin_contents *file)
{
    (void)file;
    return false;
}

const char *ls_plugin_contents_open_features(const ls_plugin_contents *file)
{
    (void)file;
    return NULL;
}

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
