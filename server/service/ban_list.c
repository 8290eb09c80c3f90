#include "lockstep/server/service/ban_list.h"

#include "lockstep/common/program/option.h"
#include "lockstep/common/program/player_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

_Static_assert(LS_PLAYER_NAME_BYTES_MAX <= LS_BAN_WHAT_BYTES, "a name is one of what is banned");

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

/* The host is the part before the last colon, or all of it; one of IPv6 is in brackets. */
static bool read_host(const char *address, char host[LS_BAN_WHAT_BYTES])
{
    const char *colon = strrchr(address, ':');
    bool is_bare = colon && strchr(address, ':') != colon && address[0] != '[';
    bool has_port = colon && !is_bare && (address[0] != '[' || colon[-1] == ']');
    int bytes = has_port ? (int)(colon - address) : (int)strlen(address);
    int written = snprintf(host, LS_BAN_WHAT_BYTES, is_bare ? "[%.*s]" : "%.*s", bytes, address);
    size_t open = host[0] == '[' ? 1 : 0;
    size_t inside = strcspn(host + open, "[]");
    bool is_whole = strlen(host + open + inside) == open; /* a bracket at each end, or none */
    return bytes > 0 && written < (int)LS_BAN_WHAT_BYTES && is_whole &&
           strspn(host, "0123456789abcdefABCDEF.:[]%") == strlen(host);
}

static ls_status set_address(ls_ban *ban, const char *what, ls_text *why)
{
    return read_host(what, ban->what)
               ? LS_OK
               : ls_fail(LS_BAD_ARGUMENT, why,
                         "an address is like 192.0.2.7 or 2001:db8::1, not '%.64s'", what);
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
        ban->look = ls_player_name_clean(name);
        ls_name_copy(ban->what, sizeof ban->what, name);
    }
    return status;
}

ls_status ls_ban_set(ls_ban *ban, uint32_t kind, const char *what, ls_text *why)
{
    ban->kind = kind;
    return kind == LS_BAN_ADDRESS   ? set_address(ban, what, why)
           : kind == LS_BAN_ACCOUNT ? set_account(ban, what, why)
                                    : set_name(ban, what, why);
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

/* A name that looked like another one has a number behind it, "Ann (2)". */
static ls_name_look look_of(const char *text)
{
    char name[LS_PLAYER_NAME_BYTES_MAX];
    ls_name_copy(name, sizeof name, text);
    char *open = strrchr(name, '(');
    if (open && open > name && open[-1] == ' ' && open[1] != ')' &&
        strcmp(open + 1 + strspn(open + 1, "0123456789"), ")") == 0) {
        open[-1] = '\0';
    }
    return ls_player_name_clean(name);
}

const ls_ban *ls_ban_list_find(const ls_ban_list *list, const ls_ban_subject *who,
                               uint64_t now_unix_s)
{
    char host[LS_BAN_WHAT_BYTES] = "";
    char account[LS_BAN_WHAT_BYTES] = "";
    ls_name_look look = look_of(who->name);
    const ls_ban *found = NULL;
    (void)read_host(who->address, host);
    if (who->has_account) {
        snprintf(account, sizeof account, "%" PRIu64, who->account);
    }
    for (uint32_t i = 0; i < LS_BANS_MAX; i++) {
        const ls_ban *row = &list->rows[i];
        bool is_named = row->kind == LS_BAN_ADDRESS   ? strcmp(row->what, host) == 0
                        : row->kind == LS_BAN_ACCOUNT ? strcmp(row->what, account) == 0
                                                      : ls_name_look_is_like(&row->look, &look);
        bool counts = row->number != 0 && row->until_unix_s > now_unix_s && is_named;
        found = counts && (!found || row->until_unix_s > found->until_unix_s) ? row : found;
    }
    return found;
}
