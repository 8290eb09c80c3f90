/* Adapters whose engine computes otherwise: the plug-ins themselves, over engines whose step
 * differs in the last bit (tests/plugins/altered_engine.c). */
#include "lockstep/common/loader/plugin_loader.h"
#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/tests/support/kept.h"

#include <stdio.h>
#include <string.h>

static ls_ready ready_of(const char *path, ls_loaded_simulation *loaded)
{
    ls_text why = {{0}};
    cr_assert_eq(ls_simulation_load(path, loaded, &why), LS_OK, "%s", why.bytes);
    ls_sim_config config = ls_sim_config_default(loaded->simulation);
    ls_sim_instance *instance = NULL;
    ls_status status =
        ls_sim_instance_create(loaded->simulation, &config, ls_allocator_heap(), &instance, &why);
    cr_assert_eq(status, LS_OK, "%s", why.bytes);
    ls_ready ready = ls_ready_make(instance);
    ls_sim_instance_destroy(instance);
    return ready;
}

/* The client's plug-in has another engine than the server's. */
static void expect_refused(const char *plugin, const char *altered, const char *engine)
{
    ls_loaded_simulation here;
    ls_loaded_simulation there;
    ls_ready server = ready_of(plugin, &here);
    ls_ready client = ready_of(altered, &there);
    ls_text why = {{0}};
    cr_expect_eq(client.initial_hash, server.initial_hash, "state 0 tells nothing");
    cr_assert_eq(ls_ready_check(here.simulation, &client, &server, &why), LS_CONTENT_MISMATCH);
    char name[16], scenes[2][9], releases[2][16], reason[64];
    int count = sscanf(why.bytes,
                       "engine %15[^:]: client %15s (scene %8[0-9a-f]), server %15s (scene "
                       "%8[0-9a-f]): the same release, but it computes %63[a-z ]",
                       name, releases[0], scenes[0], releases[1], scenes[1], reason);
    cr_assert_eq(count, 6, "%s", why.bytes);
    cr_expect_str_eq(name, engine);
    cr_expect_str_eq(releases[0], releases[1]);
    cr_expect_str_neq(scenes[0], scenes[1]);
    cr_expect(strlen(why.bytes) < sizeof why.bytes - 1, "cut: %s", why.bytes);
    client = ready_of(plugin, &there);
    cr_expect_eq(ls_ready_check(here.simulation, &client, &server, &why), LS_OK);
    client.content_digest += UINT64_C(1) << 32;
    cr_assert_eq(ls_ready_check(here.simulation, &client, &server, &why), LS_CONTENT_MISMATCH);
    cr_expect(strstr(why.bytes, ": another release"), "%s", why.bytes);
}

Test(engine_scene, box2d_that_computes_otherwise_is_refused_with_engine_and_reason)
{
    expect_refused(LS_TEST_BOX2D, LS_TEST_PLUGIN_DIR "/box2d_altered.so", "Box2D");
}

Test(engine_scene, chipmunk_that_computes_otherwise_is_refused_with_engine_and_reason)
{
    expect_refused(LS_TEST_CHIPMUNK, LS_TEST_PLUGIN_DIR "/chipmunk_altered.so", "Chipmunk");
}
