#include "lockstep/common/program/frame_trace.h"
#include "lockstep/tests/loopback/hosted.h"

#include <inttypes.h>
#include <stdio.h>

TestSuite(programs_frames, .init = hosted_open, .fini = hosted_close);

Test(programs_frames, a_client_records_how_long_each_frame_lasted)
{
    const char *path = hosted_path("frames.txt");
    hosted_serve(ARENA("1", "0"));
    hosted_join("--bot", "1", "--fps", "100", "--record-frames", path);
    hosted_expect_words(&hosted.clients[0], "the match starts");
    hosted_pause_ms(1000);
    hosted_end_perfectly();

    ls_frame_trace trace = {0};
    ls_text why = {{0}};
    cr_assert_eq(ls_frame_trace_read(path, ls_allocator_heap(), &trace, &why), LS_OK, "%s",
                 why.bytes);
    uint64_t sum_ns = 0;
    for (uint32_t i = 0; i < trace.count; i++) {
        sum_ns += trace.frames_ns[i];
    }
    /* The client has played for a second since it said so, in frames of a hundredth, or longer ones
     * where the machine is busy. */
    cr_assert_gt(sum_ns, UINT64_C(500000000));
    cr_assert_gt(trace.count, 10);
    cr_assert_geq(hosted_number(hosted_client_summary(0), "players.0.frames"), trace.count);
    ls_frame_trace_release(&trace, ls_allocator_heap());
}

enum {
    LOOKS_MAX = 60,
    LOOK_MS = 500,
    TICK_RATE_HZ = 60,
};

/* How often a process has slept until something woke it. */
static uint64_t wakes_of(const ls_process *process)
{
    char line[256];
    uint64_t wakes = 0;
    FILE *status = fopen(hosted_text("/proc/%d/status", (int)process->pid), "r");
    cr_assert_not_null(status);
    while (wakes == 0 && fgets(line, sizeof line, status)) {
        (void)sscanf(line, "voluntary_ctxt_switches: %" SCNu64, &wakes);
    }
    fclose(status);
    return wakes;
}

/* A busy machine makes inputs late, for which a client hurries: the quietest moment counts. With a
 * wake for each packet and each frame it would be two. */
Test(programs_frames, a_client_without_a_view_wakes_once_a_tick)
{
    hosted_serve(ARENA("2", "0"));
    hosted_join_bots(2);
    hosted_expect_words(&hosted.clients[0], "the match starts");
    double least = 100;
    for (int look = 0; look < LOOKS_MAX && least > 1.3; look++) {
        uint64_t begun_ms = ls_process_now_ms();
        uint64_t wakes = wakes_of(&hosted.clients[0]);
        hosted_pause_ms(LOOK_MS);
        wakes = wakes_of(&hosted.clients[0]) - wakes;
        double ticks = (double)(ls_process_now_ms() - begun_ms) * TICK_RATE_HZ / 1000;
        least = (double)wakes / ticks < least ? (double)wakes / ticks : least;
    }
    hosted_end_match();
    hosted_expect_clean_exits();
    cr_assert_leq(least, 1.3, "it wakes %.2f times a tick", least);
    cr_assert_gt(hosted_number(hosted_client_summary(0), "final_tick"), 0);
}

Test(programs_frames, a_file_that_cannot_be_written_is_told_before_the_match)
{
    hosted_expect_refusal(1, LS_TEST_CLIENT, "/nonexistent/frames.txt", NOWHERE, "--record-frames",
                          "/nonexistent/frames.txt");
    hosted_expect_none(&hosted.other, "connect");
}
