/* Ban list: addresses, accounts of connect tokens and names that no room lets in for a while. Fixed
 * size: the ban that ends first gives way. Called by room_keeper, which keeps it in a file, and by
 * worker_rooms. */
#ifndef LOCKSTEP_SERVER_SERVICE_BAN_LIST_H
#define LOCKSTEP_SERVER_SERVICE_BAN_LIST_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/program/json.h"

#include <stdbool.h>
#include <stdint.h>

#define LS_BANS_MAX 1024u
#define LS_BAN_WHAT_BYTES 64u
#define LS_BAN_WHY_BYTES 128u

#define LS_BAN_KIND_MAP(X)                                                                         \
    X(ADDRESS, "address") /* "192.0.2.7", or "[2001:db8::1]" with its /56 */                       \
    X(ACCOUNT, "account") /* the client id of connect tokens, in decimal */                        \
    X(NAME, "name")       /* of a player; those that look alike are banned as well */

typedef enum ls_ban_kind {
#define LS_BAN_KIND_ENUM(name, word) LS_BAN_##name,
    LS_BAN_KIND_MAP(LS_BAN_KIND_ENUM)
#undef LS_BAN_KIND_ENUM
    LS_BAN_KIND_COUNT,
} ls_ban_kind;

typedef struct ls_ban {
    uint64_t number; /* by which it is lifted; 0: the place is free */
    uint32_t kind;   /* ls_ban_kind */
    char what[LS_BAN_WHAT_BYTES];
    char why[LS_BAN_WHY_BYTES]; /* for the one who is banned as well; may be empty */
    uint64_t until_unix_s;
    uint64_t origin;   /* of an address: ls_endpoint_origin's, as limits of an address have it */
    ls_name_look look; /* of a name */
} ls_ban;

/* All zero at first. */
typedef struct ls_ban_list {
    uint64_t newest; /* number so far */
    ls_ban rows[LS_BANS_MAX];
} ls_ban_list;

/* A player or spectator who wants to come in. */
typedef struct ls_ban_subject {
    uint64_t origin; /* 0: not known */
    const char *name;
    bool has_account;
    uint64_t account;
} ls_ban_subject;

const char *ls_ban_kind_word(uint32_t kind);
/* False: there is no such kind. */
bool ls_ban_kind_read(const char *word, uint32_t *kind);

/* Fills in who is banned: an address with or without a port, an account, or a name. BAD_ARGUMENT
 * with `why`. */
ls_status ls_ban_set(ls_ban *ban, uint32_t kind, const char *what, ls_text *why);

/* A ban of number 0 gets the next one. Where there is one already the longer time counts, and the
 * newer reason. Returns the row. */
const ls_ban *ls_ban_list_add(ls_ban_list *list, const ls_ban *ban);

/* False: there is none of this number. */
bool ls_ban_list_lift(ls_ban_list *list, uint64_t number);

/* Those that have not ended, each an object of the list. */
void ls_ban_list_write(const ls_ban_list *list, uint64_t now_unix_s, ls_json *out);

/* The ban that lasts longest of those that name somebody; NULL: none does. */
const ls_ban *ls_ban_list_find(const ls_ban_list *list, const ls_ban_subject *who,
                               uint64_t now_unix_s);

#endif
