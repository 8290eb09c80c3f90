#include "lockstep/common/program/frame_trace.h"
#include "lockstep/tests/loopback/hosted.h"

TestSuite(programs_frames, .init = hosted_open, .fini = hosted_close);

Test(programs_frames, a_client_records_how_long_each_frame_lasted)
{
    const char *path = hosted_path("frames.txt");
    hosted_serve(ARENA("1", "60"));
    hosted_join("--bot", "1", "--fps", "100", "--record-frames", path);
    hosted_expect_perfect(60);

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
    cr_assert_geq(hosted_number(hosted_client_summary(0), "players.0.frames"), trace.count);
    ls_frame_trace_release(&trace, ls_allocator_heap());
}

Test(programs_frames, a_file_that_cannot_be_written_is_told_before_the_match)
{
    hosted_expect_refusal(1, LS_TEST_CLIENT, "/nonexistent/frames.txt", NOWHERE, "--record-frames",
                          "/nonexistent/frames.txt");
    hosted_expect_none(&hosted.other, "connect");
}
