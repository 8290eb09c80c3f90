/* Plug-in fixture: the plug-in that a suite is about, `loaded` for each of its tests:
 * TestSuite(name, .init = load, .fini = unload_plugin), where `load` names its file. Owns it until
 * then. Called by the tests of plug-ins. */
#ifndef LOCKSTEP_TESTS_SUPPORT_PLUGIN_FIXTURE_H
#define LOCKSTEP_TESTS_SUPPORT_PLUGIN_FIXTURE_H

#include "lockstep/common/loader/plugin_loader.h"
#include "lockstep/tests/support/kept.h"

static ls_loaded_simulation loaded;

static inline void load_plugin(const char *path)
{
    ls_text why = {{0}};
    cr_assert_eq(ls_simulation_load(path, &loaded, &why), LS_OK, "%s", why.bytes);
}

/* After what the test has kept, which may be an instance of it. */
static inline void unload_plugin(void)
{
    destroy_kept();
    ls_simulation_unload(&loaded);
}

#endif
