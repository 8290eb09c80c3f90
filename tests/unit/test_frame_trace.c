#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/program/frame_trace.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static ls_frame_trace trace;
static ls_text why;

static ls_status parse(const char *text)
{
    why = (ls_text){{0}};
    trace = (ls_frame_trace){0};
    return ls_frame_trace_parse(text, strlen(text), "frames.txt", ls_allocator_heap(), &trace,
                                &why);
}

static void release(void)
{
    ls_frame_trace_release(&trace, ls_allocator_heap());
    cr_assert(trace.frames_ns == NULL && trace.count == 0);
}

TestSuite(frame_trace, .fini = release);

Test(frame_trace, a_line_is_a_frame)
{
    cr_assert_eq(parse("16666667\n1\n33333333\n"), LS_OK);
    cr_assert_eq(trace.count, 3);
    cr_assert_eq(trace.frames_ns[0], 16666667);
    cr_assert_eq(trace.frames_ns[1], 1);
    cr_assert_eq(trace.frames_ns[2], 33333333);
}

Test(frame_trace, comments_blanks_and_empty_lines_say_nothing)
{
    cr_assert_eq(parse("# frames\r\n\r\n  10 \t# the first\r\n\n#5\n20"), LS_OK);
    cr_assert_eq(trace.count, 2);
    cr_assert(trace.frames_ns[0] == 10 && trace.frames_ns[1] == 20);
}

Test(frame_trace, a_frame_lasts_an_hour_at_most)
{
    cr_assert_eq(parse("3600000000000\n"), LS_OK);
    cr_assert_eq(trace.frames_ns[0], LS_FRAME_TRACE_FRAME_MAX_NS);
    release();
    cr_assert_eq(parse("3600000000001\n"), LS_BAD_ARGUMENT);
}

Test(frame_trace, a_line_that_is_no_frame_is_refused_with_its_number)
{
    static const char *const bad[] = {"0",  "-1",       "+1",  "1.5",  "1 2",
                                      "x",  "0x10",     "1e3", "16ms", "18446744073709551617",
                                      "1,", "1\x80\xff"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "# head\n5\n%s\n7\n", bad[i]);
        cr_expect_eq(parse(text), LS_BAD_ARGUMENT, "%s", bad[i]);
        cr_expect(strstr(why.bytes, "frames.txt, line 3:"), "%s", why.bytes);
        cr_expect(trace.frames_ns == NULL, "nothing is left behind");
    }
}

Test(frame_trace, no_frames_at_all_are_refused)
{
    static const char *const bad[] = {"", "\n", "# nothing\n\n", "   "};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_expect_eq(parse(bad[i]), LS_BAD_ARGUMENT, "%zu", i);
        cr_expect(strstr(why.bytes, "holds no frames"), "%s", why.bytes);
    }
    static const char zeros[8] = {0};
    cr_assert_eq(
        ls_frame_trace_parse(zeros, sizeof zeros, "zeros", ls_allocator_heap(), &trace, &why),
        LS_BAD_ARGUMENT);
}

Test(frame_trace, a_recorded_trace_can_be_read)
{
    char path[] = "/tmp/lockstep-frames-XXXXXX";
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    close(file);
    ls_frame_recorder recorder = {0};
    cr_assert_eq(ls_frame_recorder_open(&recorder, path, &why), LS_OK);
    uint64_t now_ns = 5;
    for (uint32_t i = 0; i <= 20000; i++) {
        ls_frame_recorder_begin_frame(&recorder, now_ns);
        now_ns += 1 + i;
    }
    ls_frame_recorder_begin_frame(&recorder, now_ns - 20001); /* no time has passed: no frame */
    cr_assert_eq(ls_frame_recorder_close(&recorder, &why), LS_OK);
    cr_assert_eq(ls_frame_trace_read(path, ls_allocator_heap(), &trace, &why), LS_OK);
    cr_assert_eq(trace.count, 20000);
    for (uint32_t i = 0; i < trace.count; i++) {
        cr_assert_eq(trace.frames_ns[i], 1 + i);
    }
    unlink(path);
}

Test(frame_trace, a_recorder_that_is_not_open_does_nothing)
{
    ls_frame_recorder recorder = {0};
    ls_frame_recorder_begin_frame(&recorder, 1);
    ls_frame_recorder_begin_frame(&recorder, 2);
    cr_assert_eq(ls_frame_recorder_close(&recorder, &why), LS_OK);
}

Test(frame_trace, a_file_that_cannot_be_is_named)
{
    ls_frame_recorder recorder = {0};
    cr_assert_eq(ls_frame_recorder_open(&recorder, "/nonexistent/frames", &why), LS_IO);
    cr_assert(strstr(why.bytes, "/nonexistent/frames"));
    cr_assert_eq(ls_frame_trace_read("/nonexistent/frames", ls_allocator_heap(), &trace, &why),
                 LS_IO);
    cr_assert(strstr(why.bytes, "/nonexistent/frames"));
}

Test(frame_trace, a_file_beyond_the_limit_is_refused_with_its_size)
{
    char path[] = "/tmp/lockstep-frames-XXXXXX";
    int file = mkstemp(path);
    cr_assert_eq(ftruncate(file, (off_t)LS_FRAME_TRACE_BYTES_MAX + 1), 0);
    close(file);
    cr_expect_eq(ls_frame_trace_read(path, ls_allocator_heap(), &trace, &why), LS_FULL);
    cr_expect(strstr(why.bytes, "67108865 bytes, more than 67108864"), "%s", why.bytes);
    unlink(path);
}

#ifndef _WIN32
/* Frames are recorded while a match runs, which a reader that is slow must not stop. */
Test(frame_trace, a_pipe_is_not_waited_for)
{
    char path[] = "/tmp/lockstep-frames-XXXXXX";
    ls_frame_recorder recorder = {0};
    cr_assert(mkdtemp(path));
    char pipe[sizeof path + 8];
    snprintf(pipe, sizeof pipe, "%s/pipe", path);
    cr_assert_eq(mkfifo(pipe, 0600), 0);
    cr_expect_eq(ls_frame_recorder_open(&recorder, pipe, &why), LS_IO);
    int reader = open(pipe, O_RDONLY | O_NONBLOCK);
    cr_assert_eq(ls_frame_recorder_open(&recorder, pipe, &why), LS_OK);
    for (uint64_t now_ns = 1; now_ns < 200000; now_ns++) { /* more than any pipe holds */
        ls_frame_recorder_begin_frame(&recorder, now_ns * 1000000);
    }
    cr_expect_eq(ls_frame_recorder_close(&recorder, &why), LS_IO);
    cr_expect(strstr(why.bytes, pipe), "%s", why.bytes);
    close(reader);
    unlink(pipe);
    rmdir(path);
}

Test(frame_trace, a_full_disk_is_told)
{
    ls_frame_recorder recorder = {0};
    cr_assert_eq(ls_frame_recorder_open(&recorder, "/dev/full", &why), LS_OK);
    for (uint64_t now_ns = 1; now_ns < 10000; now_ns++) {
        ls_frame_recorder_begin_frame(&recorder, now_ns);
    }
    cr_assert_eq(ls_frame_recorder_close(&recorder, &why), LS_IO);
    cr_assert(strstr(why.bytes, "/dev/full"));
}
#endif
