#include "lockstep/common/loader/plugin_sections.h"

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
