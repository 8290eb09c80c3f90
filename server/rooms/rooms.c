#include "lockstep/server/rooms/rooms.h"

#include "lockstep/common/base/hash.h"
#include "lockstep/common/program/option.h"
#include "lockstep/common/program/player_name.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/common/system/memory.h"
#include "lockstep/common/system/output.h"
#include "lockstep/server/match/match_config.h"

#include <string.h>

/* ---- hosting ---- */

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

enum {
    PULL_MS = 100, /* for what becomes due while no tick is closed */
    SEED_OF_ID = 0x73656564,
};

struct ls_rooms {
    ls_rooms_config config;
    ls_host *host;
    ls_room_ground ground;
    ls_loop_source *timer;
    ls_room **rows; /* rooms_max of them, by the numbers of their matches; NULL: there is none */
};

static ls_event_loop *loop_of(const ls_rooms *rooms)
{
    return ls_host_loop(rooms->host);
}

uint32_t ls_rooms_count(const ls_rooms *rooms)
{
    return ls_match_table_count(ls_host_table(rooms->host));
}

ls_room *ls_rooms_room(const ls_rooms *rooms, uint32_t number)
{
    return number < rooms->config.host.table.matches_max ? rooms->rows[number] : NULL;
}

ls_host *ls_rooms_host(const ls_rooms *rooms)
{
    return rooms->host;
}

/* ---- what happens ---- */

static bool are_all_done(const ls_rooms *rooms)
{
    for (uint32_t i = 0; i < ls_rooms_count(rooms); i++) {
        if (rooms->rows[i] && !ls_room_is_done(rooms->rows[i])) {
            return false;
        }
    }
    return true;
}

/* Before the first room is opened nothing has ended. */
static bool may_end(void *user)
{
    const ls_rooms *rooms = user;
    return !rooms->config.is_lasting && rooms->ground.serials > 0 && are_all_done(rooms);
}

static void on_journal_closed(void *user)
{
    const ls_rooms *rooms = user;
    if (may_end(user)) {
        ls_event_loop_stop(loop_of(rooms));
    }
}

static void on_event(void *user, const ls_match_table_event *event)
{
    ls_rooms *rooms = user;
    ls_room *room = rooms->rows[event->match];
    if (!room) {
        return; /* it is being opened */
    }
    ls_room_receive_event(room, &event->event);
    if (rooms->config.on_event) {
        rooms->config.on_event(rooms->config.user, room, &event->event);
    }
}

static void on_gone(void *user, uint32_t match, ls_peer_id peer)
{
    const ls_rooms *rooms = user;
    if (rooms->rows[match]) {
        ls_room_on_disconnect(rooms->rows[match], peer);
    }
}

static void on_advanced(void *user, uint32_t number, uint64_t due_ns, uint64_t now_ns)
{
    const ls_rooms *rooms = user;
    ls_room *room = rooms->rows[number];
    if (!room) {
        return;
    }
    ls_room_pull(room, now_ns);
    if (rooms->config.on_advanced) {
        rooms->config.on_advanced(rooms->config.user, room, due_ns, now_ns);
    }
}

static const char *put_off(void *user, const ls_match_asker *asker)
{
    const ls_rooms *rooms = user;
    return rooms->config.put_off(rooms->config.user, asker);
}

static void on_written(void *user, const ls_desync_file *file)
{
    const ls_rooms *rooms = user;
    for (uint32_t i = 0; i < ls_rooms_count(rooms); i++) {
        if (rooms->rows[i]) {
            ls_room_receive_bundle(rooms->rows[i], file);
        }
    }
    if (rooms->config.on_bundle) {
        rooms->config.on_bundle(rooms->config.user, file);
    }
}

static void on_timer(void *user, uint64_t now_ns)
{
    const ls_rooms *rooms = user;
    for (uint32_t i = 0; i < ls_rooms_count(rooms); i++) {
        ls_room *room = rooms->rows[i];
        if (!room) {
            continue;
        }
        ls_room_pull(room, now_ns);
        if (rooms->config.on_done && ls_room_is_done_now(room)) {
            rooms->config.on_done(rooms->config.user, room);
        }
    }
}

/* ---- opening and closing ---- */

ls_status ls_rooms_give_identity(ls_match_config *match, ls_text *why)
{
    if (ls_secret_key_random(&match->key) != LS_OK) {
        return ls_fail(LS_IO, why, "the system has no random numbers to give");
    }
    match->match_id = ls_secret_match_id(&match->key);
    if (match->draws_seed) { /* the id is as random, and no secret */
        match->sim.seed = ls_hash_pair(match->match_id, SEED_OF_ID);
    }
    return LS_OK;
}

static ls_status restore(ls_rooms *rooms, const ls_room_opening *opening, uint32_t number,
                         ls_resume_report *report, ls_text *why)
{
    ls_match *match = ls_match_table_match(ls_host_table(rooms->host), number);
    uint64_t now_ns = ls_event_loop_now_ns(loop_of(rooms));
    ls_status status = ls_resume_restore(opening->resume, match, now_ns, report, why);
    if (status == LS_OK) {
        ls_host_touch(rooms->host, number);
    }
    return status;
}

ls_status ls_rooms_open(ls_rooms *rooms, const ls_room_opening *opening, ls_room **out,
                        ls_resume_report *report, ls_text *why)
{
    ls_match_config config = opening->match;
    config.clean_name = ls_player_name_clean;
    const ls_match_opening match = {.match = &config,
                                    .name = opening->name,
                                    .is_for_invited = opening->is_for_invited,
                                    .held = opening->held};
    uint32_t number = 0;
    ls_status status = ls_host_open_match(rooms->host, &match, &number, why);
    if (status != LS_OK) {
        return status;
    }
    if (opening->resume) {
        status = restore(rooms, opening, number, report, why);
    }
    LS_THEN(status, ls_room_create(opening, number,
                                   ls_match_table_match(ls_host_table(rooms->host), number),
                                   &rooms->ground, &rooms->rows[number], why));
    if (status != LS_OK) {
        ls_host_close_match(rooms->host, number);
        return status;
    }
    if (opening->journal_dir || opening->resume) {
        ls_loop_source_set_active(rooms->timer, true);
    }
    *out = rooms->rows[number];
    return LS_OK;
}

void ls_rooms_close(ls_rooms *rooms, ls_room *room)
{
    uint32_t number = ls_room_number(room);
    ls_room_destroy(room);
    rooms->rows[number] = NULL;
    ls_host_close_match(rooms->host, number);
}

/* ---- life ---- */

static ls_status create_host(ls_rooms *rooms, ls_text *why)
{
    ls_host_config *host = &rooms->config.host;
    host->on_event = on_event;
    host->on_gone = on_gone;
    host->may_end = may_end;
    host->table.on_advanced = on_advanced;
    host->table.put_off = rooms->config.put_off ? put_off : NULL;
    host->table.user = rooms;
    ls_status status = ls_host_create(host, ls_allocator_paired(), &rooms->host, why);
    ls_cipher_wipe(&host->sealed, sizeof host->sealed);
    return status;
}

/* A match without bundles is still a match: the operator is warned before the match begins. */
static ls_status create_files(ls_rooms *rooms)
{
    ls_text why = {{0}};
    const char *directory = rooms->config.bundle_dir;
    if (!directory) {
        return LS_OK;
    }
    if (ls_output_check_directory(directory, "bundles of desyncs", &why) != LS_OK) {
        ls_log_line(&rooms->config.console->log, LS_LOG_WARNING, "%s", why.bytes);
    }
    const ls_desync_files_config files = {.directory = directory,
                                          .bytes_max = (uint64_t)rooms->config.bundle_mib_max << 20,
                                          .loop = loop_of(rooms),
                                          .on_written = on_written,
                                          .user = rooms};
    return ls_desync_files_create(&files, &rooms->ground.files);
}

static ls_status create_parts(ls_rooms *rooms, ls_text *why)
{
    rooms->rows = ls_allocate_array(ls_allocator_heap(), rooms->config.host.table.matches_max,
                                    sizeof *rooms->rows);
    ls_status status = rooms->rows ? create_host(rooms, why) : LS_NO_MEMORY;
    if (status == LS_OK) {
        rooms->ground.loop = loop_of(rooms);
        rooms->ground.transport = ls_host_transport(rooms->host);
        status = create_files(rooms);
    }
    ls_loop_handler timer = {on_timer, rooms};
    LS_THEN(status, ls_event_loop_add_timer(loop_of(rooms), PULL_MS, timer, &rooms->timer));
    if (status == LS_OK) {
        ls_loop_source_set_active(rooms->timer, rooms->config.on_done != NULL);
    }
    return status;
}

ls_status ls_rooms_create(const ls_rooms_config *config, ls_rooms **out, ls_text *why)
{
    ls_rooms *rooms = ls_allocate(ls_allocator_heap(), sizeof *rooms);
    if (!rooms) {
        return LS_NO_MEMORY;
    }
    rooms->config = *config;
    rooms->ground.console = config->console;
    rooms->ground.on_closed = on_journal_closed;
    rooms->ground.user = rooms;
    ls_status status = create_parts(rooms, why);
    if (status != LS_OK) {
        ls_rooms_destroy(rooms);
        return status;
    }
    *out = rooms;
    return LS_OK;
}

void ls_rooms_set_resting(ls_rooms *rooms, bool are_resting)
{
    ls_loop_source_set_active(rooms->timer, !are_resting);
}

void ls_rooms_finish_bundles(ls_rooms *rooms)
{
    ls_desync_files_destroy(rooms->ground.files);
    rooms->ground.files = NULL;
}

void ls_rooms_destroy(ls_rooms *rooms)
{
    if (!rooms) {
        return;
    }
    if (rooms->host) {
        ls_rooms_finish_bundles(rooms);
        ls_loop_source_remove(rooms->timer);
    }
    for (uint32_t i = 0; rooms->rows && i < rooms->config.host.table.matches_max; i++) {
        ls_room_destroy(rooms->rows[i]);
    }
    ls_host_destroy(rooms->host);
    ls_release(ls_allocator_heap(), rooms->rows);
    ls_release(ls_allocator_heap(), rooms);
}
