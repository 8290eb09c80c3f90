#include "lockstep/server/match/match_config.h"

#include "lockstep/protocol/blob/blob_sender.h"
#include "lockstep/server/match/state_handover.h"

#include <inttypes.h>
#include <string.h>

/* Says that a config came from ls_match_config_default, so that no field was forgotten. */
#define CONFIG_COOKIE UINT32_C(0x6c6d6366)

#define FIELD(member) .name = #member, .offset = offsetof(ls_match_config, member)
#define RECORDED(member) .recorded = offsetof(ls_journal_header, member)

enum {
    SECONDS = 1000,
    GAME = LS_MATCH_GROUP_GAME,
    NETWORK = LS_MATCH_GROUP_NETWORK,
    RULES = LS_MATCH_GROUP_RULES,
};

static const char *const late_words[] = {"repeat", "wait", NULL};
static const char *const rate_words[] = {"auto", "half", "tick", "double", "saving", NULL};
static const char *const desync_words[] = {"report", "drop", "stop", "heal", NULL};

_Static_assert(sizeof(ls_late_rule) == sizeof(uint32_t), "a row takes an enumeration for a u32");

static const ls_setting_row rows[] = {
    {LS_SETTING_IS_HEADING, .group = GAME, .help = "The game:"},
    {LS_SETTING_IS_U32, FIELD(sim.players), RECORDED(config.players), .min = 1,
     .max = LS_PLAYERS_MAX, .is_reset_by_hand = true, .flag = "players", .letter = 'n',
     .argument = "N", .group = GAME, .default_text = "the simulation's own",
     .help = "Seats; a match starts when all are taken"},
    {LS_SETTING_IS_RATE, FIELD(sim.tick_rate_hz), RECORDED(config.tick_rate_hz),
     .other_offset = offsetof(ls_match_config, sim.tick_rate), .min = LS_TICK_RATE_MIN_HZ,
     .max = LS_TICK_RATE_MAX_HZ, .is_reset_by_hand = true, .flag = "tick-rate", .argument = "HZ",
     .group = GAME, .default_text = "the simulation's own",
     .help = "Steps per second: 60, 59.7275 or 262144/4389"},
    {LS_SETTING_IS_U64, FIELD(sim.seed), RECORDED(config.seed), .max = UINT64_MAX,
     .is_reset_by_hand = true, .flag = "seed", .argument = "S|random", .other = "random",
     .other_offset = offsetof(ls_match_config, draws_seed), .group = GAME,
     .help = "Seed of the simulation and of what bots do; random: another one for each match"},
    {LS_SETTING_IS_U32, FIELD(ticks), RECORDED(ticks), .max = UINT32_MAX - 1, .flag = "ticks",
     .letter = 't', .argument = "N", .group = GAME,
     .help = "End after N ticks; 0: when stopped or everybody left"},
    {LS_SETTING_IS_U32, FIELD(start_players), .max = LS_PLAYERS_MAX,
     .limit = offsetof(ls_match_config, sim.players), .flag = "start-players", .flag_min = 1,
     .argument = "N", .group = GAME, .default_text = "all seats",
     .help = "Start with so many; the other seats can be taken at any time"},
    {LS_SETTING_IS_SWITCH, FIELD(has_lobby), .flag = "lobby", .group = GAME,
     .help = "Start when all players who are there have said that they are ready, too; bots and "
             "clients without a view are ready at once"},
    {LS_SETTING_IS_ON_OFF, FIELD(has_chat), .initial = true, .flag = "chat", .argument = "on|off",
     .group = GAME, .help = "Pass on what players say to each other"},
    {LS_SETTING_IS_U32, FIELD(spectators_max), .max = LS_SPECTATORS_MAX, .flag = "spectators",
     .argument = "N", .group = GAME, .default_text = "16; with several matches 0",
     .help = "Spectators that a match lets in"},
    {LS_SETTING_IS_U32, FIELD(spectator_delay_ticks), .max = LS_SPECTATOR_DELAY_TICKS_MAX,
     .initial = 60, .flag = "spectator-delay", .argument = "TICKS", .group = GAME,
     .help = "Ticks by which spectators are behind the match"},
    {LS_SETTING_IS_U32, FIELD(spectator_bytes_per_s), .min = 65536, .max = UINT32_C(1) << 30,
     .initial = UINT32_C(8) << 20},

    {LS_SETTING_IS_HEADING, .group = NETWORK, .help = "The network:"},
    {LS_SETTING_IS_U32, FIELD(timeout_ms), RECORDED(timeout_ms), .min = 100,
     .max = LS_TIMEOUT_MS_MAX, .initial = 10000, .flag = "timeout", .argument = "MS",
     .group = NETWORK, .help = "Drop a client that is silent for so long"},
    {LS_SETTING_IS_U32, FIELD(keep_seat_ms), .max = LS_TIMEOUT_MS_MAX, .initial = 30000,
     .flag = "keep-seat", .unit = SECONDS, .argument = "SECONDS", .group = NETWORK,
     .help = "Keep the seat of a player whose link was lost"},
    {LS_SETTING_IS_U32, FIELD(join_bytes_per_s), .min = LS_BLOB_RATE_MIN, .max = LS_BLOB_RATE_MAX,
     .initial = UINT32_C(1) << 20, .flag = "join-rate", .unit = 1000, .argument = "KB/S",
     .group = NETWORK, .help = "Send the state to somebody who joins at most so fast"},
    {LS_SETTING_IS_U32, FIELD(ready_ms), .min = 100, .max = 10000, .initial = 2000},
    {LS_SETTING_IS_U32, FIELD(joiners_max), .max = LS_HANDOVER_STREAMS_MAX, .initial = 4},
    {LS_SETTING_IS_WORD, FIELD(send_rate), RECORDED(send_rate), .words = rate_words,
     .initial = LS_SEND_AUTO, .flag = "send-rate", .argument = "auto|half|tick|double|saving",
     .group = NETWORK,
     .help = "Packets each way: one for two ticks, one a tick, or two; auto: one, and two while "
             "many are lost; saving: as auto, and with --input-delay down to 15 a second. The "
             "clients follow"},

    {LS_SETTING_IS_HEADING, .group = RULES, .help = "Rules:"},
    {LS_SETTING_IS_WORD, FIELD(late_rule), RECORDED(late_rule), .words = late_words,
     .initial = LS_LATE_REPEAT, .flag = "late", .argument = "repeat|wait", .group = RULES,
     .help = "An input that is missing when its tick closes: repeat the last one, or wait for it"},
    {LS_SETTING_IS_U32, FIELD(wait_limit_ms), RECORDED(wait_limit_ms), .min = 1,
     .max = LS_TIMEOUT_MS_MAX, .initial = 2000, .flag = "wait-limit", .argument = "MS",
     .group = RULES, .help = "With --late wait: drop a slot that is waited for so long"},
    {LS_SETTING_IS_U32, FIELD(wait_budget_ms), .max = LS_TIMEOUT_MS_MAX, .initial = 10000,
     .flag = "wait-budget", .argument = "MS", .group = RULES,
     .help = "With --late wait: a slot that has held up the match for so long, and for more than a "
             "tenth of the time, is not waited for; 0: no limit"},
    {LS_SETTING_IS_U32, FIELD(input_delay_ticks), RECORDED(input_delay_ticks),
     .max = LS_INPUT_DELAY_TICKS_MAX, .flag = "input-delay", .argument = "TICKS|auto",
     .other = "auto", .other_offset = offsetof(ls_match_config, adapts_input_delay), .group = RULES,
     .help = "Ticks by which inputs come earlier than the network needs; auto: as many as each "
             "player's own link takes for its inputs to be on time"},
    {LS_SETTING_IS_ON_OFF, FIELD(adapts_input_delay), RECORDED(adapts_input_delay)},
    {LS_SETTING_IS_U32, FIELD(hash_interval_ticks), RECORDED(hash_interval_ticks), .min = 1,
     .max = LS_HASH_INTERVAL_MAX, .initial = 1, .flag = "hash-interval", .argument = "K",
     .group = RULES, .help = "Compare the state of every K-th tick"},
    {LS_SETTING_IS_ON_OFF, FIELD(trusts_writes), .flag = "trust-writes", .argument = "on|off",
     .group = RULES,
     .help = "Hash what a simulation that names its writes has written, and all of its state once "
             "a second: a difference in what it did not name is seen then"},
    {LS_SETTING_IS_WORD, FIELD(on_desync), RECORDED(on_desync), .words = desync_words,
     .initial = LS_ON_DESYNC_REPORT, .flag = "on-desync", .argument = "report|drop|stop|heal",
     .group = RULES,
     .help = "When a client's state differs: report it and go on, drop the client, end the match, "
             "or send the client the values that differ, or the whole state"},
    {LS_SETTING_IS_ON_OFF, FIELD(finds_causes), .initial = true, .flag = "find-causes",
     .argument = "on|off", .group = RULES,
     .help = "Keep the newest states, so that a desync's field, pass and class can be told: "
             "in the memory of 3.5 states and 1 MiB a match, or for states of up to 16 KiB in "
             "up to 17 MiB"},
    {LS_SETTING_IS_U32, FIELD(investigation_timeout_ms), .min = 100, .max = 60000, .initial = 5000,
     .flag = "investigation-timeout", .argument = "MS", .group = RULES,
     .help = "Wait so long for the next answer of a client whose state differs, and four times as "
             "long in all, before what is known until then is reported; of states above 16 MiB "
             "eight times as long"},
    {LS_SETTING_IS_U32, FIELD(start_delay_ms), .max = 60000, .initial = 250},
    {LS_SETTING_IS_U32, FIELD(resume_wait_ms), .max = LS_TIMEOUT_MS_MAX, .initial = 30000,
     .flag = "resume-wait", .unit = SECONDS, .argument = "SECONDS", .group = RULES,
     .help = "With --resume: wait so long for those who played"},
};

const ls_setting_table ls_match_settings = {rows, sizeof rows / sizeof rows[0]};

ls_match_config ls_match_config_default(const ls_simulation *simulation)
{
    ls_match_config config = {.cookie = CONFIG_COOKIE,
                              .simulation = simulation,
                              .sim = ls_sim_config_default(simulation),
                              .match_id = 1};
    ls_setting_table_reset(&ls_match_settings, &config);
    return config;
}

ls_status ls_match_config_check(const ls_match_config *config, ls_text *why)
{
    if (config->cookie != CONFIG_COOKIE) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "the config of a match comes from ls_match_config_default");
    }
    if (config->on_desync == LS_ON_DESYNC_HEAL && ls_simulation_only_hashes(config->simulation)) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "--on-desync heal: simulation '%s' has neither a schema nor save and load, "
                       "so its state cannot be sent; take report, drop or stop",
                       config->simulation->name);
    }
    ls_status status = ls_sim_config_check(config->simulation, &config->sim, why);
    return status == LS_OK ? ls_setting_table_check(&ls_match_settings, config, false, why)
                           : status;
}

/* ---- what a journal keeps ---- */

/* Between a config and a journal's header, one of which is `from` and the other `to`. */
static void copy_recorded(const void *from, void *to, bool is_to_journal)
{
    for (uint32_t i = 0; i < ls_match_settings.count; i++) {
        ls_setting_row source = rows[i];
        ls_setting_row destination = rows[i];
        if (rows[i].recorded > 0) {
            (is_to_journal ? &destination : &source)->offset = rows[i].recorded;
            ls_setting_store(&destination, to, ls_setting_value(&source, from));
        }
    }
}

void ls_match_config_record(const ls_match_config *config, ls_journal_header *header)
{
    header->match_id = config->match_id;
    header->key = config->key;
    header->config = config->sim;
    copy_recorded(config, header, true);
}

void ls_match_config_recall(ls_match_config *config, const ls_journal_header *header)
{
    config->match_id = header->match_id;
    config->key = header->key;
    config->sim = header->config;
    copy_recorded(header, config, false);
}

static ls_status compare_params(const ls_match_config *config, const ls_match_config *recorded,
                                ls_text *why)
{
    for (uint32_t i = 0; i < recorded->sim.param_count; i++) {
        if (config->sim.params[i] != recorded->sim.params[i]) {
            return ls_fail(
                LS_BAD_ARGUMENT, why,
                "--param %s=%" PRId64 " contradicts the journal that is resumed, where it "
                "is %" PRId64,
                config->simulation->params[i].name, config->sim.params[i], recorded->sim.params[i]);
        }
    }
    for (uint32_t i = 0; i < recorded->sim.string_count; i++) {
        if (strcmp(config->sim.strings[i], recorded->sim.strings[i]) != 0) {
            return ls_fail(LS_BAD_ARGUMENT, why,
                           "the string \"%s\" contradicts the journal that is resumed, where it is "
                           "\"%s\"",
                           config->sim.strings[i], recorded->sim.strings[i]);
        }
    }
    return LS_OK;
}

ls_status ls_match_config_compare(const ls_match_config *config, const ls_match_config *recorded,
                                  ls_text *why)
{
    for (uint32_t i = 0; i < ls_match_settings.count; i++) {
        const ls_setting_row *row = &rows[i];
        ls_text given = {{0}};
        ls_text kept = {{0}};
        if (row->recorded == 0 || !row->flag) {
            continue;
        }
        ls_setting_add_value(row, config, &given);
        ls_setting_add_value(row, recorded, &kept);
        if (strcmp(given.bytes, kept.bytes) != 0) {
            return ls_fail(LS_BAD_ARGUMENT, why,
                           "--%s %s contradicts the journal that is resumed, where it is %s",
                           row->flag, given.bytes, kept.bytes);
        }
    }
    return compare_params(config, recorded, why);
}

ls_name_look ls_match_config_look(const ls_match_config *config, const char *name)
{
    char cleaned[LS_PLAYER_NAME_BYTES_MAX];
    ls_name_copy(cleaned, sizeof cleaned, name);
    return config->clean_name && cleaned[0] != '\0' ? config->clean_name(cleaned, LS_NAME_AS_GIVEN)
                                                    : (ls_name_look){{0}};
}
