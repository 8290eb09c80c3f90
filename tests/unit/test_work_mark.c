/* A supervisor reads for which room a worker was at work, whatever that worker wrote. */
#include "lockstep/server/service/work_mark.h"

#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

static ls_work_mark *supervisors;
static ls_work_mark *workers;

static void open_both(void)
{
    cr_assert_eq(ls_work_mark_create(&supervisors), LS_OK);
    cr_assert_eq(ls_work_mark_open(dup(ls_work_mark_descriptor(supervisors)), &workers), LS_OK);
}

static void close_both(void)
{
    ls_work_mark_destroy(workers);
    ls_work_mark_destroy(supervisors);
}

TestSuite(work_mark, .init = open_both, .fini = close_both);

Test(work_mark, supervisor_reads_the_room_that_its_worker_works_on)
{
    char room[LS_ROOM_NAME_BYTES_MAX];
    ls_work_mark_name(workers, 0, "first");
    ls_work_mark_name(workers, LS_WORK_MARK_OPENING, "last");
    cr_expect_not(ls_work_mark_read(supervisors, room));
    *ls_work_mark_place(workers) = 1;
    cr_assert(ls_work_mark_read(supervisors, room));
    cr_expect_str_eq(room, "first");
    *ls_work_mark_place(workers) = LS_WORK_MARK_OPENING + 1;
    cr_assert(ls_work_mark_read(supervisors, room));
    cr_expect_str_eq(room, "last");
    ls_work_mark_clear(supervisors);
    cr_expect_not(ls_work_mark_read(supervisors, room));
}

Test(work_mark, numbers_and_names_that_make_no_sense_are_no_room)
{
    char room[LS_ROOM_NAME_BYTES_MAX];
    char long_name[2 * LS_ROOM_NAME_BYTES_MAX];
    const uint32_t beyond[] = {LS_WORK_MARK_OPENING + 2, UINT32_MAX};
    for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++) {
        *ls_work_mark_place(workers) = beyond[i];
        cr_expect_not(ls_work_mark_read(supervisors, room));
    }
    *ls_work_mark_place(workers) = 3;
    cr_expect_not(ls_work_mark_read(supervisors, room), "a row without a name");
    ls_work_mark_name(workers, 2, "../etc");
    cr_expect_not(ls_work_mark_read(supervisors, room));
    memset(long_name, 'a', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    ls_work_mark_name(workers, 2, long_name);
    ls_work_mark_name(workers, LS_WORK_MARK_OPENING + 1, "beyond");
    cr_assert(ls_work_mark_read(supervisors, room));
    cr_expect_eq(strlen(room), LS_ROOM_NAME_BYTES_MAX - 1);
}
