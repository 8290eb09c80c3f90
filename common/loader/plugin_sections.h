/* Plugin sections: the parts of a plug-in's file by their names, as the format of the system has
 * them: plugin_sections_elf.c, or plugin_none.c, where there are none. Called by
 * plugin_contents and plugin_statics. */
#ifndef LOCKSTEP_COMMON_LOADER_PLUGIN_SECTIONS_H
#define LOCKSTEP_COMMON_LOADER_PLUGIN_SECTIONS_H

#include "lockstep/common/loader/plugin_contents.h"

typedef struct ls_plugin_section {
    const char *bytes; /* NULL: there is none */
    size_t size;
} ls_plugin_section;

/* The first section of this name that lies in the file as it is. */
ls_plugin_section ls_plugin_section_find(const ls_plugin_contents *file, const char *name);

/* The name of the variable at this address, of a thread-local one counted from the beginning of
 * these, and where it begins and how long it is, as the file's symbols have it; NULL: they do not
 * say. */
const char *ls_plugin_section_variable(const ls_plugin_contents *file, uint64_t address,
                                       bool is_thread_local, uint64_t *begin, uint64_t *size);

/* The next text of a section that ends with NUL; NULL behind the last one. */
const char *ls_plugin_section_next(const ls_plugin_section *texts, const char *text);

#endif
