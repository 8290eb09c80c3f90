#include "lockstep/client/link/client_place.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/system/private_file.h"
#include "lockstep/protocol/relay/relay_packet.h"
#include "lockstep/protocol/sealed/invite.h"

#include <stdio.h>
#include <string.h>

static ls_status read_invite(const char *word, ls_client_place *out, ls_text *why)
{
    ls_invite invite;
    ls_status status = ls_invite_parse(word, &invite, why);
    if (status != LS_OK) {
        return status;
    }
    char place[LS_ENDPOINT_JOINED_BYTES];
    const char *at = strchr(invite.host, '@');
    const char *host = at ? at + 1 : invite.host;
    out->server_count = 1;
    ls_endpoint_join(host, invite.port, place);
    int size = snprintf(out->servers[0], sizeof out->servers[0], "%.*s%s",
                        (int)(host - invite.host), invite.host, place);
    LS_ASSERT(size > 0 && (size_t)size < sizeof out->servers[0]); /* as long as without a code */
    memcpy(out->room, invite.room, sizeof out->room);
    ls_sealed_client_config_set_invite(&out->sealed, &invite);
    ls_cipher_wipe(&invite, sizeof invite);
    return LS_OK;
}

static ls_status read_word(const ls_client_place_source *from, ls_client_place *out, ls_text *why)
{
    if (ls_invite_is_meant(from->word)) {
        return read_invite(from->word, out, why);
    }
    if (ls_relay_code_is_meant(from->word)) {
        ls_relay_code code;
        const char *relay = NULL;
        out->server_count = 1;
        snprintf(out->servers[0], sizeof out->servers[0], "%s", from->word);
        return ls_relay_code_parse(from->word, &code, &relay, why);
    }
    /* A token proves the server as well. */
    bool is_trusted = from->is_insecure || from->token_path;
    ls_endpoint endpoint; /* resolved here only where it decides: the transport does it again */
    ls_status status = is_trusted ? LS_OK : ls_endpoint_parse(from->word, &endpoint, why);
    if (status == LS_OK && !is_trusted && !ls_endpoint_is_loopback(&endpoint)) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "%s is an address, which does not prove who answers there: give the invite "
                       "that the server prints (lockstep://...), or --insecure, on both sides, in "
                       "a network that you trust",
                       from->word);
    }
    out->server_count = 1;
    snprintf(out->servers[0], sizeof out->servers[0], "%s", from->word);
    return status;
}

static void apply_token(const ls_token *token, ls_client_place *out)
{
    ls_sealed_client_config *sealed = &out->sealed;
    sealed->has_secret = false;
    ls_cipher_wipe(sealed->secret, sizeof sealed->secret);
    sealed->has_token = true;
    ls_token_write_envelope(token, sealed->token);
    sealed->token_keys = token->keys;
    if (out->server_count > 0) {
        return;
    }
    out->server_count = token->list.count;
    for (uint32_t i = 0; i < token->list.count; i++) {
        char text[LS_ENDPOINT_NUMERIC_BYTES];
        ls_endpoint_format(&token->list.servers[i], text);
        memcpy(out->servers[i], text, sizeof text);
    }
}

static ls_status read_token(const ls_client_place_source *from, ls_client_place *out, ls_text *why)
{
    uint8_t bytes[LS_TOKEN_BYTES];
    ls_token token;
    size_t size = 0;
    ls_status status = ls_private_file_read(from->token_path, bytes, sizeof bytes, &size, why);
    if (status != LS_OK) {
        return status == LS_NOT_FOUND
                   ? ls_fail(status, why, "there is no token %s", from->token_path)
                   : status;
    }
    ls_token_refusal refusal = ls_token_read(bytes, size, from->now_s, &token);
    if (refusal == LS_TOKEN_REFUSAL_NONE || refusal == LS_TOKEN_REFUSAL_EXPIRED) {
        out->is_token_expired = refusal == LS_TOKEN_REFUSAL_EXPIRED;
        apply_token(&token, out);
        ls_token_wipe(&token, sizeof token);
    } else {
        status = ls_fail(LS_BAD_ARGUMENT, why, "%s: %s", from->token_path,
                         ls_token_refusal_text(refusal));
    }
    ls_token_wipe(bytes, sizeof bytes);
    return status;
}

static void name_servers(ls_client_place *place)
{
    size_t size = 0;
    for (uint32_t i = 0; i < place->server_count && size < sizeof place->name; i++) {
        size += (size_t)snprintf(place->name + size, sizeof place->name - size, "%s%s",
                                 i > 0 ? "," : "", place->servers[i]);
    }
}

/* A server that moves to another address keeps its key, and the seats with it. */
static void identify(ls_client_place *place)
{
    if (!place->sealed.has_server_key) {
        memcpy(place->identity, place->name, sizeof place->identity);
        return;
    }
    char digits[2 * sizeof place->sealed.server_key + 1];
    ls_hex_write(digits, place->sealed.server_key, sizeof place->sealed.server_key);
    snprintf(place->identity, sizeof place->identity, "key %s", digits);
}

ls_status ls_client_place_read(const ls_client_place_source *from, ls_client_place *out,
                               ls_text *why)
{
    *out = (ls_client_place){.avoids_direct = from->avoids_direct};
    ls_status status = from->word ? read_word(from, out, why) : LS_OK;
    if (status == LS_OK && from->token_path) {
        status = read_token(from, out, why);
    }
    name_servers(out);
    identify(out);
    return status;
}

const char *ls_client_refusal_text(ls_sealed_refusal refusal, const ls_sealed_client_config *sealed)
{
    switch (refusal) {
    case LS_SEALED_REFUSAL_FULL:
        return "the server is full: it has no room for another connection, or none for newcomers: "
               "private rooms take connect tokens that name them";
    case LS_SEALED_REFUSAL_CREDENTIAL:
        return "the server lets nobody in without its whole invite or a connect token: ask whoever "
               "runs it";
    case LS_SEALED_REFUSAL_TOO_MANY:
        return "the server has too many connections from your address";
    case LS_SEALED_REFUSAL_KEY_WITHHELD:
        return "the server gives its key to nobody who has only the address: ask for its invite, "
               "or start it with --insecure in a network that you trust";
    case LS_SEALED_REFUSAL_VERSION:
        return "the server speaks another version of sealed datagrams: use programs of the same "
               "version";
    case LS_SEALED_REFUSAL_PATH:
        return "the server is there, but the longer datagrams of the handshake do not get through: "
               "the path has to take packets of 1,228 bytes (IPv6: 1,248), and its MTU, of a VPN "
               "or "
               "a tunnel perhaps, is below that";
    default:
        return sealed->has_token
                   ? "no server answers there, or none takes this token: it may have been used, "
                     "have expired, or be for another server; the server's log says which"
               : sealed->has_server_key
                   ? "no server answers there; check the address, the port and the network, or ask "
                     "for a new invite: a server that was started again may have another key"
                   : "no server answers there; check the address, the port and the network";
    }
}

bool ls_client_refusal_is_final(ls_sealed_refusal refusal)
{
    return refusal == LS_SEALED_REFUSAL_CREDENTIAL || refusal == LS_SEALED_REFUSAL_KEY_WITHHELD ||
           refusal == LS_SEALED_REFUSAL_VERSION;
}
