#include "lockstep/protocol/wire/handshake.h"

#include "lockstep/common/base/hash.h"
#include "lockstep/common/base/text.h"
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

void ls_hello_cover_maths(ls_hello *hello, uint64_t maths_check)
{
    hello->arithmetic = ls_arithmetic_check_with(maths_check);
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
    uint64_t expected = ls_arithmetic_check_with(maths_check);
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
                                 "environment, the time, an address, memory that is not set");
            }
            return items[i].status;
        }
    }
    return LS_OK;
}

/* ---- which field it is ---- */

#define PARTS_WORD " fields "
#define ELEMENTS_MAX 65536u /* of a field that are looked at: a state may have millions */

static uint64_t hash_of_field(const ls_field *field)
{
    uint64_t hash = ls_hash_pair(ls_hash_bytes(field->path, strlen(field->path), 0),
                                 ls_hash_bytes(field->unit, strlen(field->unit), 0));
    hash = ls_hash_pair(hash, ls_hash_pair(field->type, field->length));
    return ls_hash_pair(hash,
                        ls_hash_pair(field->count, ls_hash_pair(field->offset, field->stride)));
}

static uint64_t hash_of_content(const ls_field *field, const uint8_t *state)
{
    size_t bytes = ls_field_type_bytes(field->type) * field->length;
    uint64_t hash = 0;
    for (uint32_t item = 0; item < LS_MIN(field->count, ELEMENTS_MAX); item++) {
        hash = ls_hash_pair(hash,
                            ls_hash_bytes(state + field->offset + item * field->stride, bytes, 0));
    }
    return hash;
}

static uint32_t fields_of_part(uint32_t field_count)
{
    return (field_count + LS_READY_PARTS_MAX - 1) / LS_READY_PARTS_MAX;
}

static uint32_t part_count(uint32_t field_count)
{
    uint32_t each = fields_of_part(field_count);
    return each > 0 ? (field_count + each - 1) / each : 0;
}

ls_ready_parts ls_ready_parts_make(const ls_sim_instance *instance)
{
    ls_ready_parts parts = {0};
    const ls_schema *schema = ls_sim_instance_schema(instance);
    if (!schema || !ls_schema_is_canonical_here()) {
        return parts;
    }
    parts.field_count = ls_schema_field_count(schema);
    for (uint32_t i = 0; i < parts.field_count; i++) {
        const ls_field *field = ls_schema_field(schema, i);
        uint32_t part = i / fields_of_part(parts.field_count);
        uint64_t content = hash_of_content(field, ls_sim_instance_view(instance));
        parts.schema[part] = (uint16_t)ls_hash_pair(parts.schema[part], hash_of_field(field));
        parts.initial[part] = (uint16_t)ls_hash_pair(parts.initial[part], content);
    }
    return parts;
}

static const uint16_t *parts_of(const ls_ready_parts *parts, ls_status status)
{
    return status == LS_SCHEMA_MISMATCH          ? parts->schema
           : status == LS_INITIAL_STATE_MISMATCH ? parts->initial
                                                 : NULL;
}

ls_text ls_ready_parts_with(const ls_ready_parts *server, ls_status status, const char *why)
{
    ls_text text = {{0}};
    const uint16_t *hashes = parts_of(server, status);
    uint32_t count = hashes ? part_count(server->field_count) : 0;
    ls_text_set(&text, "%s", why);
    if (count > 0) {
        ls_text_add(&text, PARTS_WORD "%" PRIu32 ":", server->field_count);
    }
    for (uint32_t i = 0; i < count; i++) {
        ls_text_add(&text, "%04x", hashes[i]);
    }
    return text;
}

/* The number of the first part that differs; false: none, or they cannot be compared. */
static bool find_part(const char *hex, const uint16_t *own, uint32_t count, uint32_t *part)
{
    uint64_t hash = 0;
    for (*part = 0; *part < count && ls_hex_read_number(hex + (size_t)4 * *part, 4, &hash);
         (*part)++) {
        if (hash != own[*part]) {
            return true;
        }
    }
    return false;
}

void ls_ready_parts_name(const ls_sim_instance *client, ls_status status, ls_text *text)
{
    const ls_ready_parts own = ls_ready_parts_make(client);
    const uint16_t *hashes = parts_of(&own, status);
    char *word = hashes ? strstr(text->bytes, PARTS_WORD) : NULL;
    if (!word) {
        return;
    }
    const ls_text received = *text;
    uint32_t server_fields = 0, part = 0;
    const char *digit = strstr(received.bytes, PARTS_WORD) + strlen(PARTS_WORD);
    for (; *digit >= '0' && *digit <= '9' && server_fields < LS_FIELDS_MAX; digit++) {
        server_fields = server_fields * 10 + (uint32_t)(*digit - '0');
    }
    word[0] = '\0';
    uint32_t each = fields_of_part(own.field_count);
    uint32_t shared = LS_MIN(part_count(own.field_count), part_count(server_fields));
    bool is_found = each == fields_of_part(server_fields) &&
                    find_part(digit + (*digit == ':'), hashes, shared, &part);
    if (is_found) {
        const ls_schema *schema = ls_sim_instance_schema(client);
        ls_text_add(text, "; the first field that differs is %s%s here",
                    ls_schema_field(schema, part * each)->path,
                    each > 1 ? ", or one of those behind it," : "");
    } else if (own.field_count != server_fields) {
        ls_text_add(text, "; the server has %" PRIu32 " fields, and %" PRIu32 " are here",
                    server_fields, own.field_count);
    }
}
