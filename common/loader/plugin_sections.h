/* Plugin sections: the parts of a plug-in's file by their names, as the format of the system has
 * them: plugin_sections_elf.c, or plugin_sections_none.c, where there are none. Called by
 * plugin_contents alone. */
#ifndef LOCKSTEP_COMMON_LOADER_PLUGIN_SECTIONS_H
#define LOCKSTEP_COMMON_LOADER_PLUGIN_SECTIONS_H

#include "lockstep/common/loader/plugin_contents.h"

typedef struct ls_plugin_section {
    const char *bytes; /* NULL: there is none */
    size_t size;
} ls_plugin_section;

/* The first section of this name that lies in the file as it is. */
ls_plugin_section ls_plugin_section_find(const ls_plugin_contents *file, const char *name);

/* The next text of a section that ends with NUL; NULL behind the last one. */
const char *ls_plugin_section_next(const ls_plugin_section *texts, const char *text);

#endif
