#include "lockstep/server/service/room_rotation.h"

#include "lockstep/common/base/setting_row.h"
#include "lockstep/common/program/option.h"
#include "lockstep/server/match/match_config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VOTE "/vote"

static bool is_rotation(const char *flag)
{
    return strcmp(flag, "rotation") == 0 || strcmp(flag, "next") == 0 || strcmp(flag, "turn") == 0;
}

static const char *row_of(const ls_room_settings *room, uint32_t turn)
{
    for (uint32_t i = 0; i < room->count; i++) {
        if (strcmp(room->rows[i].flag, "rotation") == 0 && turn-- == 0) {
            return room->rows[i].value;
        }
    }
    return NULL;
}

uint32_t ls_room_rotation_count(const ls_room_settings *room)
{
    uint32_t count = 0;
    while (row_of(room, count)) {
        count++;
    }
    return count;
}

/* Read where it was checked before. */
uint32_t ls_room_rotation_turn(const ls_room_settings *room)
{
    const char *text = ls_room_settings_find(room, "turn");
    uint32_t count = ls_room_rotation_count(room);
    unsigned long turn = text ? strtoul(text, NULL, 10) : 1;
    return turn >= 1 && turn <= count ? (uint32_t)turn - 1 : 0;
}

ls_status ls_room_rotation_set_turn(ls_room_settings *room, uint32_t turn)
{
    char text[16];
    snprintf(text, sizeof text, "%u", turn + 1);
    return ls_room_settings_set(room, "turn", text, NULL);
}

bool ls_room_rotation_is_voted(const ls_room_settings *room)
{
    const char *next = ls_room_settings_find(room, "next");
    return next && strcmp(next, "vote") == 0;
}

const char *ls_room_rotation_words(const ls_room_settings *room, uint32_t turn)
{
    const char *words = row_of(room, turn);
    return words ? words : "";
}

/* ---- the settings of a match ---- */

static bool is_setting(const char *flag)
{
    for (uint32_t i = 0; i < ls_match_settings.count; i++) {
        const char *own = ls_match_settings.rows[i].flag;
        if (own && strcmp(own, flag) == 0) {
            return true;
        }
    }
    return strcmp(flag, "sim") == 0 || strcmp(flag, "sha256") == 0 || strcmp(flag, "param") == 0;
}

/* They are of a room, and not of a match in it. */
static bool is_of_room(const char *flag)
{
    static const char *const flags[] = {"name", "private", "join-timeout", "group", "resume"};
    bool is_found = is_rotation(flag);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        is_found = is_found || strcmp(flags[i], flag) == 0;
    }
    return is_found;
}

static ls_status set_word(ls_room_settings *match, const char *word, ls_text *why)
{
    char flag[sizeof match->rows[0].flag];
    size_t size = strcspn(word, "=");
    if (word[size] != '=' || size == 0) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "a match of a rotation is words like map=canyon or ticks=3600, not '%.48s'",
                       word);
    }
    snprintf(flag, sizeof flag, "%.*s", (int)LS_MIN(size, sizeof flag - 1), word);
    if (is_of_room(flag)) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "'%s' is of a room, and not of a match in its rotation", flag);
    }
    bool is_known = size < sizeof flag && is_setting(flag);
    return ls_room_settings_set(match, is_known ? flag : "param", is_known ? word + size + 1 : word,
                                why);
}

static ls_status copy_room(const ls_room_settings *room, bool has_own_sim, ls_room_settings *match,
                           ls_text *why)
{
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < room->count; i++) {
        const char *flag = room->rows[i].flag;
        bool is_of_sim = strcmp(flag, "param") == 0 || strcmp(flag, "sha256") == 0;
        if (!is_rotation(flag) && !(has_own_sim && is_of_sim)) {
            status = ls_room_settings_set(match, flag, room->rows[i].value, why);
        }
    }
    return status;
}

ls_status ls_room_rotation_settle(const ls_room_settings *room, ls_room_settings *match,
                                  ls_text *why)
{
    char word[sizeof room->rows[0].value];
    const char *row = ls_room_rotation_words(room, ls_room_rotation_turn(room));
    bool has_own_sim = strncmp(row, "sim=", 4) == 0 || strstr(row, " sim=") != NULL;
    match->count = 0;
    ls_status status = copy_room(room, has_own_sim, match, why);
    for (const char *at = row + strspn(row, " "); status == LS_OK && *at != '\0';
         at += strspn(at, " ")) {
        size_t size = strcspn(at, " ");
        snprintf(word, sizeof word, "%.*s", (int)size, at);
        status = set_word(match, word, why);
        at += size;
    }
    return status;
}

static ls_status check_values(ls_room_settings *match, ls_text *why)
{
    ls_match_config scratch;
    ls_setting_target target = {.fields = &scratch};
    ls_status status = LS_OK;
    ls_setting_table_reset(&ls_match_settings, &scratch);
    for (uint32_t i = 0; status == LS_OK && i < match->count; i++) {
        const ls_setting_text text = {match->rows[i].flag, match->rows[i].value};
        status = ls_setting_read_text(&ls_match_settings, &target, &text, why);
        status = status == LS_NOT_FOUND ? LS_OK : status; /* no setting of a match */
    }
    return status;
}

static ls_status check_words(const ls_room_settings *room, ls_text *why)
{
    const char *next = ls_room_settings_find(room, "next");
    const char *turn = ls_room_settings_find(room, "turn");
    uint32_t count = ls_room_rotation_count(room);
    uint64_t number = 0;
    if (next && strcmp(next, "in-turn") != 0 && strcmp(next, "vote") != 0) {
        return ls_fail(LS_BAD_ARGUMENT, why, "next takes in-turn or vote, not '%.32s'", next);
    }
    if ((next || turn) && count == 0) {
        return ls_fail(LS_BAD_ARGUMENT, why, "%s is without effect: there is no rotation",
                       next ? "next" : "turn");
    }
    if (count > LS_ROTATION_MATCHES_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why, "a rotation has %u matches at most, not %u",
                       LS_ROTATION_MATCHES_MAX, count);
    }
    return turn ? ls_option_number("turn", turn, (ls_option_range){1, count}, &number, why) : LS_OK;
}

static ls_status check_match(const ls_room_settings *of_turn, ls_room_match_check more,
                             ls_text *why)
{
    ls_room_settings match;
    ls_status status = ls_room_rotation_settle(of_turn, &match, why);
    LS_THEN(status, check_values(&match, why));
    return status == LS_OK && more.check ? more.check(more.user, &match, why) : status;
}

ls_status ls_room_rotation_check(const ls_room_settings *room, ls_room_match_check more,
                                 ls_text *why)
{
    ls_room_settings of_turn;
    uint32_t count = ls_room_rotation_count(room);
    uint32_t turn = 0;
    ls_text reason = {{0}};
    ls_status status = check_words(room, why);
    if (status != LS_OK || count == 0) {
        return status == LS_OK ? check_match(room, more, why) : status;
    }
    ls_room_settings_copy(&of_turn, room);
    for (; status == LS_OK && turn < count; turn++) {
        status = ls_room_rotation_set_turn(&of_turn, turn);
        LS_THEN(status, check_match(&of_turn, more, &reason));
    }
    return status == LS_OK ? LS_OK
                           : ls_fail(status, why, "match %" PRIu32 " of the rotation, '%.48s': %s",
                                     turn, ls_room_rotation_words(room, turn - 1),
                                     reason.bytes[0] ? reason.bytes : ls_status_text(status));
}

/* ---- votes ---- */

bool ls_room_votes_receive(ls_room_votes *votes, const ls_room_settings *room, uint32_t slot,
                           const char *line)
{
    char *end = NULL;
    if (!ls_room_rotation_is_voted(room) || strncmp(line, VOTE " ", sizeof VOTE) != 0) {
        return false;
    }
    unsigned long number = strtoul(line + sizeof VOTE, &end, 10);
    if (*end != '\0' || number < 1 || number > ls_room_rotation_count(room)) {
        return false;
    }
    votes->choices[slot] = (uint8_t)number;
    return true;
}

static uint32_t count_votes(const ls_room_votes *votes, uint32_t turn)
{
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < LS_PLAYERS_MAX; slot++) {
        count += votes->choices[slot] == turn + 1 ? 1 : 0;
    }
    return count;
}

uint32_t ls_room_votes_next(const ls_room_votes *votes, const ls_room_settings *room)
{
    uint32_t count = ls_room_rotation_count(room);
    uint32_t best = (ls_room_rotation_turn(room) + 1) % count;
    for (uint32_t i = 1; i <= count; i++) {
        uint32_t turn = (ls_room_rotation_turn(room) + i) % count;
        best = count_votes(votes, turn) > count_votes(votes, best) ? turn : best;
    }
    return best;
}

void ls_room_votes_write(const ls_room_votes *votes, const ls_room_settings *room, ls_text *out)
{
    ls_text_set(out, "say " VOTE " and a number for the next match:");
    for (uint32_t turn = 0; turn < ls_room_rotation_count(room); turn++) {
        ls_text_add(out, "%s %u %s", turn > 0 ? "," : "", turn + 1,
                    ls_room_rotation_words(room, turn));
        uint32_t votes_of = count_votes(votes, turn);
        if (votes_of > 0) {
            ls_text_add(out, " (%u vote%s)", votes_of, votes_of == 1 ? "" : "s");
        }
    }
}
