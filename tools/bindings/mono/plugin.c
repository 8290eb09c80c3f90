/* A game in C# as a plug-in. Compiled to duel.so, it has mono run the only Game of duel.exe, beside
 * it; lockstep-synctest, lockstep-server and lockstep-client play it by --sim ./duel.so. */
#define _GNU_SOURCE
#include <lockstep.h>

#include <dlfcn.h>
#include <mono/jit/jit.h>
#include <mono/metadata/assembly.h>
#include <mono/metadata/mono-config.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const lockstep_game *fail(const char *path, const char *why)
{
    fprintf(stderr, "%s: %s\n", path, why);
    return NULL;
}

static const lockstep_game *game_of(const char *path)
{
    MonoDomain *domain = mono_jit_init(path);
    MonoAssembly *assembly = domain ? mono_domain_assembly_open(domain, path) : NULL;
    if (!assembly) {
        return fail(path, "it is no assembly that mono reads");
    }
    MonoImage *image = mono_assembly_get_image(assembly);
    MonoClass *plugin = mono_class_from_name(image, "Lockstep", "Plugin");
    MonoMethod *table = plugin ? mono_class_get_method_from_name(plugin, "Table", 0) : NULL;
    if (!table) {
        return fail(path, "it was not compiled with the sources of Lockstep's binding for C#");
    }
    MonoObject *thrown = NULL;
    MonoObject *found = mono_runtime_invoke(table, NULL, NULL, &thrown);
    if (thrown) {
        mono_print_unhandled_exception(thrown);
        return NULL;
    }
    return *(const lockstep_game **)mono_object_unbox(found);
}

LOCKSTEP_EXPORT const lockstep_game *lockstep_plugin(void)
{
    Dl_info own;
    char path[4096];
    if (!dladdr((const void *)(uintptr_t)lockstep_plugin, &own)) {
        return fail("a plug-in of C#", "its own file is not found");
    }
    const char *ending = strrchr(own.dli_fname, '.');
    size_t size = ending ? (size_t)(ending - own.dli_fname) : strlen(own.dli_fname);
    snprintf(path, sizeof path, "%.*s.exe", (int)size, own.dli_fname);
    setenv("MONO_DEBUG", "", 1); /* what mono does not know there would end the process */
    setenv("MONO_THREADS_SUSPEND", "preemptive", 1);
    mono_config_parse(NULL);
    return game_of(path);
}
