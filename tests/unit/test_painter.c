#define _XOPEN_SOURCE 700
#include "lockstep/client/window/painter.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

/* With SDL's driver that shows its windows to nobody. NULL: this build has no windows. */
static ls_painter *open_painter(bool is_painted_apart)
{
    static char driver[] = "SDL_VIDEODRIVER=dummy";
    const ls_window_config config = {
        .title = "test", .width = 64, .height = 64, .is_painted_apart = is_painted_apart};
    ls_painter *painter = NULL;
    ls_text why = {{0}};
    cr_assert_eq(putenv(driver), 0);
    ls_status status = ls_painter_open(&config, ls_allocator_heap(), &painter, &why);
    cr_assert(status == LS_OK || status == LS_UNSUPPORTED, "%s", why.bytes);
    return painter;
}

/* Has a picture made, as a file. */
static void put_picture(ls_painter *painter, const char *path)
{
    ls_painter_job *job = ls_painter_take(painter);
    cr_assert_not_null(job);
    job->scene.camera = ls_camera_make();
    job->files[0] = path;
    job->file_count = 1;
    ls_painter_put(painter, job);
}

static void check_written(const ls_painter_job *job, const char *path)
{
    cr_assert_not_null(job);
    cr_expect_eq(job->written, LS_OK, "%s", job->why.bytes);
    cr_expect_eq(access(path, R_OK), 0);
    (void)unlink(path);
}

Test(painter, where_windows_belong_to_the_first_thread_a_call_paints)
{
    char path[] = "/tmp/test_painter.XXXXXX";
    ls_painter *painter = open_painter(false);
    if (!painter) {
        cr_skip_test("this build has no windows");
    }
    cr_assert_geq(mkstemp(path), 0);
    for (int i = 0; i < 5; i++) {
        put_picture(painter, path);
        cr_expect_gt(ls_painter_look(painter).shown_ns, 0u, "it has been shown already");
        const ls_painter_job *job = ls_painter_next_written(painter);
        cr_assert_not_null(job);
        cr_expect_eq(job->written, LS_OK, "%s", job->why.bytes);
    }
    ls_view_event event;
    while (ls_painter_next_event(painter, &event)) {
    }
    put_picture(painter, path);
    ls_painter_stop(painter);
    check_written(ls_painter_next_written(painter), path);
    cr_expect_not(ls_painter_next_event(painter, &event), "there is no window any more");
    ls_painter_close(painter);
}

Test(painter, files_are_written_before_its_thread_ends)
{
    char path[] = "/tmp/test_painter.XXXXXX";
    ls_painter *painter = open_painter(true);
    if (!painter) {
        cr_skip_test("this build has no windows");
    }
    cr_assert_geq(mkstemp(path), 0);
    put_picture(painter, path);
    ls_painter_stop(painter);
    check_written(ls_painter_next_written(painter), path);
    ls_painter_close(painter);
}
