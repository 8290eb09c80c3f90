#include "lockstep/common/program/frame_trace.h"
#include "lockstep/tests/loopback/hosted.h"

#include <stdio.h>
#include <string.h>

static ls_hosted hosted;

static void open_hosted(void)
{
    ls_hosted_open(&hosted);
}

static void close_hosted(void)
{
    ls_hosted_close(&hosted);
}

TestSuite(programs_frames, .init = open_hosted, .fini = close_hosted);

Test(programs_frames, a_client_records_how_long_each_frame_lasted)
{
    char path[128];
    snprintf(path, sizeof path, "%s/frames.txt", hosted.folder);
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", "arena", "--players", "1", "--ticks", "60"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "1", "--fps", "100", "--record-frames", path));
    ls_hosted_expect_perfect(&hosted, 60);

    ls_frame_trace trace = {0};
    ls_text why = {{0}};
    cr_assert_eq(ls_frame_trace_read(path, ls_allocator_heap(), &trace, &why), LS_OK, "%s",
                 why.bytes);
    uint64_t sum_ns = 0;
    for (uint32_t i = 0; i < trace.count; i++) {
        sum_ns += trace.frames_ns[i];
    }
    /* The match alone lasts a second, and a frame is about a hundredth, unless the machine is busy.
     */
    cr_assert_gt(sum_ns, UINT64_C(900000000));
    cr_assert_gt(trace.count, 10);
    cr_assert_geq(ls_hosted_number(
                      ls_hosted_item(ls_hosted_client_summary(&hosted, 0), "players", 0), "frames"),
                  trace.count);
    ls_frame_trace_release(&trace, ls_allocator_heap());
    remove(path);
}

Test(programs_frames, a_file_that_cannot_be_written_is_told_before_the_match)
{
    const char *errors =
        ls_hosted_run(&hosted, LS_TEST_CLIENT,
                      LS_ARGUMENTS("127.0.0.1:9", "--record-frames", "/nonexistent/frames.txt"), 1);
    cr_assert(strstr(errors, "/nonexistent/frames.txt"), "%s", errors);
    cr_assert(!strstr(errors, "connect"), "%s", errors);
}
