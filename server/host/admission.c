#include "lockstep/server/host/admission.h"

#include "lockstep/common/program/key_file.h"
#include "lockstep/common/program/server_identity.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/common/system/private_file.h"
#include "lockstep/common/system/tty.h"
#include "lockstep/common/system/udp_socket.h"
#include "lockstep/protocol/sealed/invite.h"
#include "lockstep/protocol/udp/transport_udp.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    USED_TOKENS_MAX = 1 << 16, /* that have not expired: 5 to 10 MiB */
};

static bool is_unpublished(const ls_admission_options *options)
{
    return !options->identity_path && !options->invite_path && !options->invite_host &&
           !options->is_invite_only && !options->is_published;
}

static ls_status read_token_check(const ls_admission_options *options, ls_token_check *check,
                                  ls_text *why)
{
    ls_token_key key;
    ls_token_server_list own = {.count = 0};
    if (options->token_servers) {
        ls_status status =
            ls_token_servers_parse(options->token_servers, "token-server", &own, why);
        if (status != LS_OK) {
            return status;
        }
    }
    ls_status status = ls_token_key_read(options->token_key_path, &key, why);
    if (status == LS_OK) {
        check->protocol_id = options->token_protocol_id;
        check->key_count = key.count;
        memcpy(check->keys, key.keys, sizeof check->keys);
        check->own_count = own.count;
        memcpy(check->own, own.servers, sizeof check->own);
    }
    ls_cipher_wipe(&key, sizeof key);
    return status;
}

static uint64_t wall_clock_s(void)
{
    return (uint64_t)time(NULL);
}

static ls_status open_gate(ls_admission *admission, ls_text *why)
{
    if (!admission->options.token_key_path) {
        return LS_OK;
    }
    ls_token_gate_config config = {.tokens_max = USED_TOKENS_MAX, .now_s = wall_clock_s()};
    (void)ls_private_file_look(admission->options.token_key_path, &admission->key_file);
    ls_status status = read_token_check(&admission->options, &config.check, why);
    if (status == LS_OK) {
        status = ls_cipher_init() == LS_OK
                     ? ls_token_gate_create(&config, ls_allocator_heap(), &admission->gate)
                     : LS_IO;
        ls_text_set(why, "%s", status == LS_OK ? "" : ls_status_text(status));
    }
    ls_cipher_wipe(&config, sizeof config);
    admission->sealed.token_gate = admission->gate;
    return status;
}

static bool allows_invites(const ls_admission_options *options)
{
    return !options->token_key_path || options->is_invite_only;
}

ls_status ls_admission_check(const ls_admission_options *options, ls_text *why)
{
    if (options->is_insecure && options->is_invite_only) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "--invite-only lets nobody in by the address alone, as --insecure does");
    }
    if (options->token_key_path && options->is_insecure) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "--token-key lets nobody in by the address alone, as --insecure does");
    }
    return options->token_servers && !options->token_key_path
               ? ls_fail(LS_BAD_ARGUMENT, why, "--token-server needs --token-key")
               : LS_OK;
}

ls_status ls_admission_open(const ls_admission_options *options, const char *bind_host,
                            ls_admission *out, ls_text *why)
{
    *out = (ls_admission){
        .options = *options, .bind_host = bind_host, .sealed = {.gives_key = options->is_insecure}};
    /* A host that is not found is told by the transport, which cannot listen there. */
    (void)ls_endpoint_resolve(bind_host, 0, &out->bound, NULL);
    ls_status status = open_gate(out, why);
    bool is_known_to_nobody =
        !allows_invites(options) || options->is_insecure || ls_endpoint_is_loopback(&out->bound);
    if (status != LS_OK || (is_unpublished(options) && is_known_to_nobody)) {
        return status; /* an identity that nobody is told need not be kept */
    }
    ls_server_identity identity;
    status = ls_server_identity_open(options->identity_path, &identity, why);
    if (status == LS_OK) {
        out->has_invite = allows_invites(options);
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
    ls_token_gate_destroy(admission->gate);
    admission->gate = NULL;
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

/* `to` has the port, and perhaps a room. */
static void make_invite(const ls_admission *admission, const ls_invite *to,
                        char text[LS_INVITE_TEXT_BYTES_MAX])
{
    ls_invite invite = *to;
    invite.has_secret = admission->sealed.needs_secret;
    if (admission->published.port != 0) {
        memcpy(invite.host, admission->published.host, sizeof invite.host);
        invite.port = admission->published.port;
    } else {
        choose_host(admission, &invite);
    }
    memcpy(invite.key, admission->sealed.identity.public_key, sizeof invite.key);
    memcpy(invite.secret, admission->sealed.secret, sizeof invite.secret);
    ls_invite_format(&invite, text);
    ls_cipher_wipe(&invite, sizeof invite);
}

void ls_admission_invite(const ls_admission *admission, const ls_invite *to, char *out,
                         size_t capacity)
{
    char text[LS_INVITE_TEXT_BYTES_MAX + 1] = "";
    if (admission->has_invite) {
        make_invite(admission, to, text);
    }
    ls_name_copy(out, capacity, text);
    ls_cipher_wipe(text, sizeof text);
}

ls_status ls_admission_write_invite(const ls_admission *admission, uint16_t port, ls_text *why)
{
    if (!admission->options.invite_path) {
        return LS_OK;
    }
    char text[LS_INVITE_TEXT_BYTES_MAX + 1];
    const char *path = admission->options.invite_path;
    make_invite(admission, &(ls_invite){.port = port}, text);
    size_t size = strlen(text);
    text[size] = '\n';
    (void)remove(path); /* one of an earlier run */
    ls_status status = ls_private_file_make(path, "invite", (const uint8_t *)text, size + 1, why);
    ls_cipher_wipe(text, sizeof text);
    return status;
}

void ls_admission_publish(ls_admission *admission, const char *host, uint16_t port)
{
    ls_name_copy(admission->published.host, sizeof admission->published.host, host);
    admission->published.port = port;
}

/* With a secret in it, it is for the person at the terminal and for no log. */
static void log_invite(const ls_admission *admission, uint16_t port, const ls_log *log)
{
    char text[LS_INVITE_TEXT_BYTES_MAX + 1];
    if (!admission->sealed.needs_secret || ls_tty_is(LS_TTY_ERRORS)) {
        make_invite(admission, &(ls_invite){.port = port}, text);
        ls_log_line(log, LS_LOG_INFO, "join with: lockstep-client '%s'", text);
        ls_cipher_wipe(text, sizeof text);
    } else if (admission->options.invite_path) {
        ls_log_line(log, LS_LOG_INFO, "join with: lockstep-client - <%s",
                    admission->options.invite_path);
    } else {
        ls_log_line(log, LS_LOG_INFO,
                    "join with the invite: it has a secret, which --invite-file FILE writes to a "
                    "file, and which is not in this log");
    }
}

void ls_admission_log(const ls_admission *admission, uint16_t port, const ls_log *log)
{
    if (admission->gate) {
        ls_log_line(log, LS_LOG_INFO, "join with: lockstep-client --token FILE%s",
                    admission->has_invite ? ", or with the invite" : "");
    }
    if (admission->has_invite) {
        log_invite(admission, port, log);
    }
    if (admission->options.is_insecure && !ls_endpoint_is_loopback(&admission->bound)) {
        ls_log_line(log, LS_LOG_WARNING,
                    "--insecure: a client that has only the address comes in, and somebody between "
                    "it and this server can read and change what it sends; give players the "
                    "invite instead, outside a network that you trust");
    }
}

void ls_admission_map(ls_admission *admission, const ls_endpoint *outside, uint16_t own_port,
                      const ls_log *log)
{
    char place[LS_ENDPOINT_NUMERIC_BYTES];
    ls_text why = {{0}};
    if (admission->options.invite_host) {
        return; /* the operator knows better */
    }
    ls_endpoint_format(outside, place);
    place[strcspn(place, ":")] = '\0'; /* one of IPv4 */
    ls_admission_publish(admission, place, outside->port);
    if (ls_admission_write_invite(admission, own_port, &why) != LS_OK) {
        ls_log_line(log, LS_LOG_WARNING, "%s", why.bytes);
    }
    ls_admission_log(admission, own_port, log);
}

/* ---- who was kept out ---- */

#define DENIAL_TEXT(name, text) text,
static const char *const denial_texts[LS_DENIAL_END] = {"", LS_DENIAL_MAP(DENIAL_TEXT)};

/* The operator has put another file there: its keys count from now on. */
static void reread_key_file(ls_admission *admission, const ls_log *log)
{
    ls_file_facts now = {.number = 0};
    (void)ls_private_file_look(admission->options.token_key_path, &now);
    if (ls_file_is_unchanged(&now, &admission->key_file)) {
        return;
    }
    admission->key_file = now;
    ls_token_check check = {.key_count = 0};
    ls_text why = {{0}};
    ls_status status = read_token_check(&admission->options, &check, &why);
    LS_THEN(status, ls_token_gate_set_keys(admission->gate, &check));
    ls_cipher_wipe(&check, sizeof check);
    if (status == LS_OK) {
        ls_log_line(log, LS_LOG_INFO, "%s has changed: tokens are taken by its keys from now on",
                    admission->options.token_key_path);
    } else {
        ls_log_line(log, LS_LOG_WARNING, "%s: the keys stay as they were",
                    why.bytes[0] ? why.bytes : ls_status_text(status));
    }
}

static void log_growth(ls_admission *admission, ls_log *log, uint64_t now_ns, uint64_t count,
                       uint64_t *logged, const char *what, const char *why)
{
    if (count == *logged) {
        return;
    }
    const ls_log before = ls_log_budget_begin(&admission->lines, log, now_ns);
    ls_log_line(log, LS_LOG_WARNING, "refused %s: %s (%" PRIu64 " in all)", what, why, count);
    *log = before;
    *logged = count;
}

void ls_admission_watch(ls_admission *admission, const ls_transport *transport, ls_log *log,
                        uint64_t now_ns)
{
    if (admission->gate) {
        ls_token_gate_set_time(admission->gate, wall_clock_s());
        reread_key_file(admission, log);
        for (uint32_t i = LS_TOKEN_REFUSAL_NONE + 1; i < LS_TOKEN_REFUSAL_COUNT; i++) {
            log_growth(admission, log, now_ns,
                       ls_token_gate_count(admission->gate, (ls_token_refusal)i),
                       &admission->logged_refusals[i], "a connect token",
                       ls_token_refusal_text((ls_token_refusal)i));
        }
    }
    for (uint32_t i = LS_DENIAL_NONE + 1; i < LS_DENIAL_END; i++) {
        if (i != LS_DENIAL_REDIRECTED) { /* those came in */
            log_growth(admission, log, now_ns, ls_transport_udp_denials(transport, (ls_denial)i),
                       &admission->logged_denials[i], "a client", denial_texts[i]);
        }
    }
}

uint64_t ls_admission_tokens_refused(const ls_admission *admission)
{
    uint64_t sum = 0;
    for (int i = LS_TOKEN_REFUSAL_NONE + 1; admission->gate && i < LS_TOKEN_REFUSAL_COUNT; i++) {
        sum += ls_token_gate_count(admission->gate, (ls_token_refusal)i);
    }
    return sum;
}
