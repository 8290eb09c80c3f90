#include "lockstep/protocol/wire/handshake.h"

#include "lockstep/common/base/hash.h"
#include "lockstep/common/simulation/arithmetic_check.h"

#include <inttypes.h>
#include <string.h>

ls_hello ls_hello_make(const char *player_name)
{
    ls_hello hello = {.magic = LS_PROTOCOL_MAGIC,
                      .protocol_version = LS_PROTOCOL_VERSION,
                      .arithmetic = ls_arithmetic_check()};
    ls_name_copy(hello.name, sizeof hello.name, player_name);
    return hello;
}

void ls_hello_player_name(const ls_hello *hello, char name[LS_PLAYER_NAME_BYTES_MAX])
{
    const char *begin = hello->name + strspn(hello->name, " ");
    ls_name_copy(name, LS_PLAYER_NAME_BYTES_MAX, begin[0] != '\0' ? begin : "player");
    for (size_t size = strlen(name); name[size - 1] == ' '; size--) {
        name[size - 1] = '\0';
    }
}

static uint64_t cover_maths(uint64_t arithmetic, uint64_t maths_check)
{
    return maths_check == 0 ? arithmetic : ls_hash_pair(arithmetic, maths_check);
}

void ls_hello_cover_maths(ls_hello *hello, uint64_t maths_check)
{
    hello->arithmetic = cover_maths(hello->arithmetic, maths_check);
}

ls_status ls_hello_check(const ls_hello *hello, uint64_t maths_check, ls_text *why)
{
    if (hello->magic != LS_PROTOCOL_MAGIC) {
        return ls_fail(LS_MALFORMED, why,
                       "this is not a Lockstep client: magic %08" PRIx32 ", expected %08" PRIx32,
                       hello->magic, LS_PROTOCOL_MAGIC);
    }
    if (hello->protocol_version != LS_PROTOCOL_VERSION) {
        return ls_fail(LS_PROTOCOL_MISMATCH, why, "protocol version: client %" PRIu32 ", server %u",
                       hello->protocol_version, LS_PROTOCOL_VERSION);
    }
    uint64_t plain = ls_arithmetic_check();
    uint64_t expected = cover_maths(plain, maths_check);
    /* A client without the simulation, or with one that calls no maths functions, is told what it
     * lacks when it has been offered a match, and compared then. */
    if (hello->arithmetic != expected && hello->arithmetic != plain) {
        return ls_fail(LS_ARITHMETIC_MISMATCH, why,
                       "arithmetic check: client %016" PRIx64 ", server %016" PRIx64
                       "; the two builds or machines do not compute the same numbers%s",
                       hello->arithmetic, expected,
                       maths_check == 0 ? ", or the client has another simulation"
                                        : ", perhaps in the C library's maths functions, some of "
                                          "which the simulation calls");
    }
    return LS_OK;
}

ls_ready ls_ready_make(const ls_sim_instance *instance)
{
    ls_sim_digests digests = ls_sim_instance_digests(instance);
    return (ls_ready){.simulation_version = ls_sim_instance_simulation(instance)->version,
                      .parameter_digest = digests.parameters,
                      .schema_digest = digests.schema,
                      .content_digest = digests.content,
                      .initial_hash = digests.initial};
}

ls_status ls_ready_check(const ls_simulation *simulation, const ls_ready *client,
                         const ls_ready *server, ls_text *why)
{
    if (client->simulation_version != server->simulation_version) {
        return ls_fail(LS_SIMULATION_VERSION_MISMATCH, why,
                       "simulation version: client %" PRIu32 ", server %" PRIu32,
                       client->simulation_version, server->simulation_version);
    }
    const struct {
        ls_status status;
        const char *item;
        uint64_t client, server;
    } items[] = {
        {LS_PARAMETER_MISMATCH, "parameter digest", client->parameter_digest,
         server->parameter_digest},
        {LS_SCHEMA_MISMATCH, "state schema digest", client->schema_digest, server->schema_digest},
        {LS_CONTENT_MISMATCH, "content digest", client->content_digest, server->content_digest},
        {LS_INITIAL_STATE_MISMATCH, "initial state", client->initial_hash, server->initial_hash},
    };
    for (size_t i = 0; i < sizeof items / sizeof items[0]; i++) {
        if (items[i].client != items[i].server) {
            if (items[i].status == LS_CONTENT_MISMATCH && simulation->explain_content) {
                simulation->explain_content(items[i].client, items[i].server, why);
                return items[i].status;
            }
            (void)ls_fail(items[i].status, why, "%s: client %016" PRIx64 ", server %016" PRIx64,
                          items[i].item, items[i].client, items[i].server);
            if (items[i].status == LS_INITIAL_STATE_MISMATCH) {
                ls_text_add(why, "; `lockstep-synctest A.so --against B.so` names the field; with "
                                 "one file on both machines look at what init reads: files, the "
                                 "environment, the time");
            }
            return items[i].status;
        }
    }
    return LS_OK;
}
