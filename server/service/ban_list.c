#include "lockstep/server/service/ban_list.h"

#include "lockstep/common/program/option.h"
#include "lockstep/common/program/player_name.h"
#include "lockstep/common/system/endpoint_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

_Static_assert(LS_ENDPOINT_NUMERIC_BYTES <= LS_BAN_WHAT_BYTES, "an address is, ...");
_Static_assert(LS_PLAYER_NAME_BYTES_MAX <= LS_BAN_WHAT_BYTES, "... and a name");

static const char *const words[] = {
#define KIND_WORD(name, word) word,
    LS_BAN_KIND_MAP(KIND_WORD)
#undef KIND_WORD
};

const char *ls_ban_kind_word(uint32_t kind)
{
    return kind < LS_BAN_KIND_COUNT ? words[kind] : "?";
}

bool ls_ban_kind_read(const char *word, uint32_t *kind)
{
    for (uint32_t i = 0; i < LS_BAN_KIND_COUNT; i++) {
        if (strcmp(words[i], word) == 0) {
            *kind = i;
            return true;
        }
    }
    return false;
}

static ls_status set_address(ls_ban *ban, const char *what, ls_text *why)
{
    ls_endpoint address;
    if (!ls_endpoint_read(what, &address)) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "an address is like 192.0.2.7 or 2001:db8::1, not '%.64s'", what);
    }
    ls_endpoint_format(&address, ban->what);
    *strrchr(ban->what, ':') = '\0'; /* every port is meant */
    ban->origin = ls_endpoint_origin(&address);
    return LS_OK;
}

static ls_status set_account(ls_ban *ban, const char *what, ls_text *why)
{
    uint64_t account = 0;
    ls_status status = ls_option_id("account", what, &account, why);
    snprintf(ban->what, sizeof ban->what, "%" PRIu64, account);
    return status;
}

static ls_status set_name(ls_ban *ban, const char *what, ls_text *why)
{
    char name[LS_PLAYER_NAME_BYTES_MAX];
    ls_status status = ls_player_name_read(what, name, why);
    if (status == LS_OK) {
        ban->look = ls_player_name_clean(name, 1);
        ls_name_copy(ban->what, sizeof ban->what, name);
    }
    return status;
}

ls_status ls_ban_set(ls_ban *ban, uint32_t kind, const char *what, ls_text *why)
{
    ban->kind = kind;
    return kind == LS_BAN_ADDRESS   ? set_address(ban, what, why)
           : kind == LS_BAN_ACCOUNT ? set_account(ban, what, why)
           : kind == LS_BAN_NAME    ? set_name(ban, what, why)
                                    : ls_fail(LS_BAD_ARGUMENT, why, "there is no such kind of ban");
}

const ls_ban *ls_ban_list_add(ls_ban_list *list, const ls_ban *ban)
{
    ls_ban *place = &list->rows[0];
    uint64_t until_unix_s = ban->until_unix_s;
    uint64_t number = ban->number;
    for (uint32_t i = 0; i < LS_BANS_MAX; i++) {
        ls_ban *row = &list->rows[i];
        if (row->number != 0 && row->kind == ban->kind && strcmp(row->what, ban->what) == 0) {
            place = row;
            until_unix_s = LS_MAX(until_unix_s, row->until_unix_s);
            number = number == 0 ? row->number : number;
            break;
        }
        place = row->until_unix_s < place->until_unix_s ? row : place;
    }
    *place = *ban;
    place->until_unix_s = until_unix_s;
    place->number = number == 0 ? list->newest + 1 : number;
    list->newest = LS_MAX(list->newest, place->number);
    return place;
}

bool ls_ban_list_lift(ls_ban_list *list, uint64_t number)
{
    for (uint32_t i = 0; i < LS_BANS_MAX && number != 0; i++) {
        if (list->rows[i].number == number) {
            list->rows[i] = (ls_ban){.number = 0};
            return true;
        }
    }
    return false;
}

void ls_ban_list_write(const ls_ban_list *list, uint64_t now_unix_s, ls_json *out)
{
    for (uint32_t i = 0; i < LS_BANS_MAX; i++) {
        const ls_ban *ban = &list->rows[i];
        if (ban->number != 0 && ban->until_unix_s > now_unix_s) {
            ls_json *object = ls_json_append(out);
            ls_json_number(object, "number", (double)ban->number);
            ls_json_text(object, "kind", ls_ban_kind_word(ban->kind));
            ls_json_text(object, "what", ban->what);
            ls_json_text(object, "why", ban->why);
            ls_json_number(object, "until_unix_s", (double)ban->until_unix_s);
        }
    }
}

const ls_ban *ls_ban_list_find(const ls_ban_list *list, const ls_ban_subject *who,
                               uint64_t now_unix_s)
{
    char account[LS_BAN_WHAT_BYTES] = "";
    char name[LS_PLAYER_NAME_BYTES_MAX];
    ls_name_copy(name, sizeof name, who->name);
    const ls_name_look look = ls_player_name_clean(name, 1);
    const ls_ban *found = NULL;
    if (who->has_account) {
        snprintf(account, sizeof account, "%" PRIu64, who->account);
    }
    for (uint32_t i = 0; i < LS_BANS_MAX; i++) {
        const ls_ban *row = &list->rows[i];
        bool is_named = row->kind == LS_BAN_ADDRESS   ? row->origin == who->origin
                        : row->kind == LS_BAN_ACCOUNT ? strcmp(row->what, account) == 0
                                                      : ls_name_look_is_like(&row->look, &look);
        bool counts = row->number != 0 && row->until_unix_s > now_unix_s && is_named;
        found = counts && (!found || row->until_unix_s > found->until_unix_s) ? row : found;
    }
    return found;
}
