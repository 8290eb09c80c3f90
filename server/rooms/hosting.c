#include "lockstep/server/rooms/hosting.h"

#include "lockstep/common/program/option.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/server/match/match_config.h"

enum {
    GAME = LS_MATCH_GROUP_GAME,
    NETWORK = LS_MATCH_GROUP_NETWORK,
    RULES = LS_MATCH_GROUP_RULES,
};

static ls_status read_token_protocol_id(void *target, char *value, ls_text *why)
{
    return ls_option_id("token-protocol-id", value,
                        &((ls_hosting *)target)->admission.token_protocol_id, why);
}

#define FIELD(member) .offset = offsetof(ls_hosting, member)

static const ls_setting_row rows[] = {
    {LS_SETTING_IS_TEXT, FIELD(sim), .flag = "sim", .letter = 's', .argument = "NAME|FILE.so",
     .group = GAME, .default_text = "units", .help = "Simulation: a built-in or a plug-in's file"},
    {LS_SETTING_IS_TEXT, FIELD(bind_host), .flag = "bind", .argument = "ADDR", .group = NETWORK,
     .default_text = "::, all, of IPv4 too", .help = "Address to listen on, of IPv4 or IPv6"},
    {LS_SETTING_IS_U32, FIELD(port), .max = 65535, .flag = "port", .letter = 'P', .argument = "P",
     .group = NETWORK, .help = "UDP port; 0: chosen by the system"},
    {LS_SETTING_IS_TEXT, FIELD(admission.identity_path), .flag = "identity", .argument = "FILE",
     .group = NETWORK, .default_text = "in lockstep below $XDG_STATE_HOME, or %LOCALAPPDATA%",
     .help = "Keep this server's key in FILE, which is made on first use: players who have the "
             "invite know by it that nobody stands between"},
    {LS_SETTING_IS_SWITCH, FIELD(admission.is_invite_only), .flag = "invite-only", .group = NETWORK,
     .help = "Put a secret into the invite, and let nobody in without it"},
    {LS_SETTING_IS_TEXT, FIELD(admission.invite_path), .flag = "invite-file", .argument = "FILE",
     .group = NETWORK, .help = "Write the invite to FILE once the port is bound"},
    {LS_SETTING_IS_TEXT, FIELD(admission.invite_host), .flag = "invite-host", .argument = "HOST",
     .group = NETWORK, .default_text = "the address of --bind, or this machine's name",
     .help = "Name or address of this server in the invite"},
    {LS_SETTING_IS_SWITCH, FIELD(admission.is_insecure), .flag = "insecure", .group = NETWORK,
     .help = "Let clients in that have only the address and say --insecure too, for a network that "
             "you trust; on this machine they need neither"},
    {LS_SETTING_IS_TEXT, FIELD(admission.token_key_path), .flag = "token-key", .argument = "FILE",
     .group = NETWORK,
     .help =
         "Let nobody in without a connect token that was made with the key in FILE, or with the "
         "old key beside it; with --invite-only the invite lets in as well"},
    {LS_SETTING_IS_TEXT, FIELD(admission.token_servers), .flag = "token-server",
     .argument = "HOST[:PORT],...", .group = NETWORK, .default_text = "tokens for any server",
     .help = "Take tokens alone that name one of these addresses, by which players reach this "
             "server"},
    {LS_SETTING_IS_READ, .read = read_token_protocol_id, .flag = "token-protocol-id",
     .argument = "N", .group = NETWORK, .default_text = "\"LOCKSTEP\" as a number",
     .help = "Your game's number, as in its tokens, in decimal or behind 0x in hexadecimal"},
    {LS_SETTING_IS_TEXT, FIELD(bundle_dir), .flag = "bundle-dir", .argument = "DIR|none",
     .group = RULES, .default_text = "the current directory",
     .help = "Where the bundle of a desync is written, for lockstep-desync"},
    {LS_SETTING_IS_U32, FIELD(bundle_limit), .min = 1, .max = 1u << 20, .flag = "bundle-limit",
     .argument = "MIB", .group = RULES,
     .help = "Room for all bundles; one that does not fit is not written. A slot gets 8 at most"},
    {LS_SETTING_IS_TEXT, FIELD(journal_dir), .flag = "journal", .argument = "DIR", .group = RULES,
     .default_text = "no journal",
     .help = "Write each match down in a file of its own in DIR, for lockstep-replay"},
    {LS_SETTING_IS_TEXT, FIELD(resume_path), .flag = "resume", .argument = "FILE", .group = RULES,
     .help = "Go on with the match of this journal after a crash, with its settings, in the same "
             "file; --sim only names a plug-in's file"},
};

const ls_setting_table ls_hosting_settings = {rows, sizeof rows / sizeof rows[0]};

ls_hosting ls_hosting_default(void)
{
    return (ls_hosting){.bind_host = "::",
                        .port = LS_ENDPOINT_DEFAULT_PORT,
                        .bundle_dir = ".",
                        .bundle_limit = 256,
                        .admission.token_protocol_id = LS_TOKEN_PROTOCOL_ID};
}

static ls_status check_invite(const ls_admission_options *admission, ls_text *why)
{
    bool is_made = admission->invite_path || admission->invite_host;
    if (is_made && admission->token_key_path && !admission->is_invite_only) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "with --token-key an invite lets nobody in unless --invite-only puts a "
                       "secret into it");
    }
    return LS_OK;
}

ls_status ls_hosting_check(const ls_hosting *hosting, ls_text *why)
{
    ls_status status = ls_admission_check(&hosting->admission, why);
    return status == LS_OK ? check_invite(&hosting->admission, why) : status;
}
