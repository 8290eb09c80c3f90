#include "lockstep/server/program/admission.h"

#include "lockstep/common/program/private_file.h"
#include "lockstep/common/program/server_identity.h"
#include "lockstep/protocol/sealed/invite.h"
#include "lockstep/protocol/transport/endpoint.h"
#include "lockstep/protocol/udp/udp_socket.h"

#include <stdio.h>
#include <string.h>

static bool is_told_nothing(const ls_admission_options *options)
{
    return !options->identity_path && !options->invite_path && !options->invite_host &&
           !options->is_invite_only;
}

ls_status ls_admission_open(const ls_admission_options *options, const char *bind_host,
                            ls_admission *out, ls_text *why)
{
    *out = (ls_admission){
        .options = *options, .bind_host = bind_host, .sealed = {.gives_key = options->is_insecure}};
    /* A host that is not found is told by the transport, which cannot listen there. */
    (void)ls_endpoint_resolve(bind_host, 0, &out->bound, NULL);
    if (is_told_nothing(options) &&
        (options->is_insecure || ls_endpoint_is_loopback(&out->bound))) {
        return LS_OK; /* an identity that nobody is told need not be kept */
    }
    ls_server_identity identity;
    ls_status status = ls_server_identity_open(options->identity_path, &identity, why);
    if (status == LS_OK) {
        out->has_invite = true;
        out->sealed.identity = identity.keys;
        out->sealed.needs_secret = options->is_invite_only;
        memcpy(out->sealed.secret, identity.invite_secret, sizeof out->sealed.secret);
        ls_server_identity_wipe(&identity);
    }
    return status;
}

void ls_admission_wipe(ls_admission *admission)
{
    ls_cipher_wipe(&admission->sealed, sizeof admission->sealed);
}

/* The host that others reach this machine by, as far as it knows itself. */
static void choose_host(const ls_admission *admission, ls_invite *invite)
{
    const char *told = admission->options.invite_host;
    ls_endpoint own;
    if (!told && !ls_endpoint_is_any(&admission->bound)) {
        told = admission->bind_host;
    }
    if (told) {
        strncpy(invite->host, told, sizeof invite->host - 1);
    } else if (ls_udp_own_address(&own)) {
        char text[LS_ENDPOINT_NUMERIC_BYTES];
        ls_endpoint_format(&own, text);
        memcpy(invite->host, text, strcspn(text, ":")); /* one of IPv4 */
    } else {
        strncpy(invite->host, "localhost", sizeof invite->host - 1);
    }
}

static void make_invite(const ls_admission *admission, uint16_t port,
                        char text[LS_INVITE_TEXT_BYTES_MAX])
{
    ls_invite invite = {.port = port, .has_secret = admission->sealed.needs_secret};
    choose_host(admission, &invite);
    memcpy(invite.key, admission->sealed.identity.public_key, sizeof invite.key);
    memcpy(invite.secret, admission->sealed.secret, sizeof invite.secret);
    ls_invite_format(&invite, text);
    ls_cipher_wipe(&invite, sizeof invite);
}

ls_status ls_admission_write_invite(const ls_admission *admission, uint16_t port, ls_text *why)
{
    if (!admission->options.invite_path) {
        return LS_OK;
    }
    char text[LS_INVITE_TEXT_BYTES_MAX + 1];
    const char *path = admission->options.invite_path;
    make_invite(admission, port, text);
    size_t size = strlen(text);
    text[size] = '\n';
    (void)remove(path); /* one of an earlier run */
    ls_status status = ls_private_file_make(path, "invite", (const uint8_t *)text, size + 1, why);
    ls_cipher_wipe(text, sizeof text);
    return status;
}

void ls_admission_log(const ls_admission *admission, uint16_t port, const ls_log *log)
{
    if (admission->has_invite) {
        char text[LS_INVITE_TEXT_BYTES_MAX + 1];
        make_invite(admission, port, text);
        ls_log_line(log, LS_LOG_INFO, "join with: lockstep-client '%s'", text);
    }
    if (admission->options.is_insecure && !ls_endpoint_is_loopback(&admission->bound)) {
        ls_log_line(log, LS_LOG_WARNING,
                    "--insecure: a client that has only the address comes in, and somebody between "
                    "it and this server can read and change what it sends; give players the "
                    "invite instead, outside a network that you trust");
    }
}
