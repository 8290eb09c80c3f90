#include "lockstep/client/program/client_place.h"

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
    ls_endpoint_join(invite.host, invite.port, out->server);
    out->sealed.has_server_key = true;
    memcpy(out->sealed.server_key, invite.key, sizeof out->sealed.server_key);
    out->sealed.has_secret = invite.has_secret;
    memcpy(out->sealed.secret, invite.secret, sizeof out->sealed.secret);
    ls_cipher_wipe(&invite, sizeof invite);
    return LS_OK;
}

ls_status ls_client_place_read(const char *word, bool is_insecure, ls_client_place *out,
                               ls_text *why)
{
    *out = (ls_client_place){0};
    if (ls_invite_is_meant(word)) {
        return read_invite(word, out, why);
    }
    ls_endpoint endpoint; /* resolved here only where it decides: the transport does it again */
    ls_status status = is_insecure ? LS_OK : ls_endpoint_parse(word, &endpoint, why);
    if (status == LS_OK && !is_insecure && !ls_endpoint_is_loopback(&endpoint)) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "%s is an address, which does not prove who answers there: give the invite "
                       "that the server prints (lockstep://...), or --insecure, on both sides, in "
                       "a network that you trust",
                       word);
    }
    snprintf(out->server, sizeof out->server, "%s", word);
    return status;
}

const char *ls_client_refusal_text(ls_sealed_refusal refusal)
{
    switch (refusal) {
    case LS_SEALED_REFUSAL_FULL:
        return "the server has no room for another connection; try again later";
    case LS_SEALED_REFUSAL_CREDENTIAL:
        return "the server lets nobody in without its whole invite or a connect token: ask whoever "
               "runs it";
    case LS_SEALED_REFUSAL_TOO_MANY:
        return "the server has too many connections from your address; try again later";
    case LS_SEALED_REFUSAL_KEY_WITHHELD:
        return "the server gives its key to nobody who has only the address: ask for its invite, "
               "or start it with --insecure in a network that you trust";
    case LS_SEALED_REFUSAL_VERSION:
        return "the server speaks another version of sealed datagrams: use programs of the same "
               "version";
    default:
        return "no server answers there; check the address, the port and the network";
    }
}

bool ls_client_refusal_is_final(ls_sealed_refusal refusal)
{
    return refusal == LS_SEALED_REFUSAL_CREDENTIAL || refusal == LS_SEALED_REFUSAL_KEY_WITHHELD ||
           refusal == LS_SEALED_REFUSAL_VERSION;
}
