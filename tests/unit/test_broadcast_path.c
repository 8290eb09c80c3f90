#include "lockstep/server/broadcast/broadcast_path.h"

#include <criterion/criterion.h>

static bool is_read(const char *path)
{
    ls_broadcast_path out;
    return ls_broadcast_path_read(path, &out);
}

Test(broadcast_path, each_path_names_one_thing)
{
    ls_broadcast_path path;
    cr_assert(ls_broadcast_path_read("/broadcast", &path));
    cr_expect_eq(path.kind, LS_BROADCAST_PATH_LIST);
    cr_assert(ls_broadcast_path_read("/broadcast/00ff0123456789ab", &path));
    cr_expect_eq(path.kind, LS_BROADCAST_PATH_INDEX);
    cr_expect_eq(path.match_id, UINT64_C(0x00ff0123456789ab));
    cr_assert(ls_broadcast_path_read("/broadcast/ffffffffffffffff/0", &path));
    cr_expect_eq(path.kind, LS_BROADCAST_PATH_SEGMENT);
    cr_expect_eq(path.match_id, UINT64_MAX);
    cr_expect_eq(path.segment, 0u);
    cr_assert(ls_broadcast_path_read("/broadcast/0000000000000000/99999999", &path));
    cr_expect_eq(path.segment, 99999999u);
}

Test(broadcast_path, another_spelling_is_not_there)
{
    static const char *const odd[] = {
        "",
        "/",
        "/broadcas",
        "/broadcasts",
        "/broadcast/",
        "/broadcast/00ff0123456789a",
        "/broadcast/00ff0123456789abc",
        "/broadcast/00FF0123456789ab",
        "/broadcast/00ff0123456789ab/",
        "/broadcast/00ff0123456789ab/00",
        "/broadcast/00ff0123456789ab/-1",
        "/broadcast/00ff0123456789ab/+1",
        "/broadcast/00ff0123456789ab/1x",
        "/broadcast/00ff0123456789ab/1/",
        "/broadcast/00ff0123456789ab/100000000",
        "/broadcast//0",
        "/broadcast/../play",
    };
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        cr_expect(!is_read(odd[i]), "%s", odd[i]);
    }
}
