/* Fuzzes bans: what operators ban, and who comes, any texts, a line each, whose first byte says
 * what it is. A ban that was taken keeps those out whom it names, until it ends or is lifted. */
#include "lockstep/common/base/assert.h"
#include "lockstep/server/service/ban_list.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <string.h>

enum {
    LINE_BYTES_MAX = 256,
    NOW_S = 1000,
    UNTIL_S = 2000,
};

static ls_ban_list bans;

static void ask(const char *name)
{
    const ls_ban_subject who = {
        .origin = (uint64_t)name[0], .name = name, .has_account = name[0] == '7', .account = 7};
    const ls_ban *found = ls_ban_list_find(&bans, &who, NOW_S);
    LS_ASSERT(!found || (found->number != 0 && found->kind < LS_BAN_KIND_COUNT));
    LS_ASSERT(!ls_ban_list_find(&bans, &who, UNTIL_S));
}

/* By what it says of itself it names the one who says the same. */
static void ban(uint32_t kind, const char *what)
{
    ls_ban made = {.until_unix_s = UNTIL_S};
    ls_text why = {{0}};
    if (ls_ban_set(&made, kind, what, &why) != LS_OK) {
        LS_ASSERT(why.bytes[0] != '\0');
        return;
    }
    LS_ASSERT(made.kind == kind && memchr(made.what, '\0', sizeof made.what));
    ls_ban again = {.until_unix_s = UNTIL_S};
    LS_ASSERT(ls_ban_set(&again, kind, made.what, NULL) == LS_OK);
    LS_ASSERT(strcmp(again.what, made.what) == 0);
    const ls_ban *kept = ls_ban_list_add(&bans, &made);
    LS_ASSERT(kept && kept->number != 0 && strcmp(kept->what, made.what) == 0);
    if (kind == LS_BAN_NAME) {
        const ls_ban_subject who = {.name = made.what};
        LS_ASSERT(ls_ban_list_find(&bans, &who, NOW_S));
    } else if (kind == LS_BAN_ADDRESS) {
        const ls_ban_subject who = {.origin = again.origin, .name = ""};
        LS_ASSERT(made.origin != 0 && ls_ban_list_find(&bans, &who, NOW_S));
    }
    uint64_t number = kept->number;
    LS_ASSERT(ls_ban_list_lift(&bans, number) && !ls_ban_list_lift(&bans, number));
    (void)ls_ban_list_add(&bans, &made);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_input input = {bytes, size};
    memset(&bans, 0, sizeof bans);
    while (input.size > 0) {
        uint32_t what = fuzz_take_u8(&input) % (LS_BAN_KIND_COUNT + 2);
        char line[LINE_BYTES_MAX] = "";
        size_t used = 0;
        uint8_t byte = '\0';
        while (input.size > 0 && (byte = fuzz_take_u8(&input)) != '\n') {
            if (byte != '\0' && used + 1 < sizeof line) {
                line[used++] = (char)byte;
            }
        }
        if (what <= LS_BAN_KIND_COUNT) { /* one kind that there is not */
            ban(what, line);
        } else {
            ask(line);
        }
    }
    return 0;
}
