/* Match config: the settings of a match as one table. A setting is its row here, its field in
 * ls_match_config, its use and its test. */
#ifndef LOCKSTEP_SERVER_MATCH_MATCH_CONFIG_H
#define LOCKSTEP_SERVER_MATCH_MATCH_CONFIG_H

#include "lockstep/common/base/setting_row.h"
#include "lockstep/common/encoding/journal_record.h"
#include "lockstep/server/match/match.h"

/* Their headings in --help. */
enum ls_match_setting_group {
    LS_MATCH_GROUP_GAME = 1,
    LS_MATCH_GROUP_NETWORK,
    LS_MATCH_GROUP_RULES,
};

/* The fields of ls_match_config that are numbers, words and switches. */
extern const ls_setting_table ls_match_settings;

/* Between a match and the settings that its journal's header keeps. */
void ls_match_config_record(const ls_match_config *config, ls_journal_header *header);
void ls_match_config_recall(ls_match_config *config, const ls_journal_header *header);

/* The look of a name to others in the match; like no other where there is no name, or where nothing
 * cleans names. */
ls_name_look ls_match_config_look(const ls_match_config *config, const char *name);

/* BAD_ARGUMENT when a setting that a journal keeps is not what was recorded: `why` names its flag.
 */
ls_status ls_match_config_compare(const ls_match_config *config, const ls_match_config *recorded,
                                  ls_text *why);

#endif
