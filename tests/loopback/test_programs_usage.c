/* Command lines, terminals and frames of the real programs. */
#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/program/frame_trace.h"
#include "lockstep/tests/loopback/hosted.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ==== programs_usage ==== */

TestSuite(programs_usage, .init = hosted_open, .fini = hosted_close);

/* ---- numbers ---- */

enum {
    FLAGS_MAX = 16
};

typedef struct number_flag {
    const char *name;
    const char *min;
    const char *max;
    const char *below; /* NULL: nothing is */
    const char *above;
} number_flag;

static void expect_number_refused(const char *program, const number_flag *flag, const char *wrong)
{
    hosted_expect_refusal(2, program,
                          hosted_text("%s takes a number from %s to %s, not '%s'\n", flag->name,
                                      flag->min, flag->max, wrong),
                          flag->name, wrong);
}

/* Both ends of the ranges, in two calls: --help ends the program once all before it was right. */
static void expect_ends_taken(const char *program, const number_flag *flags, size_t count)
{
    const char *mins[2 * FLAGS_MAX + 2] = {NULL};
    const char *maxes[2 * FLAGS_MAX + 2] = {NULL};
    cr_assert_leq(count, FLAGS_MAX);
    for (size_t i = 0; i < count; i++) {
        mins[2 * i] = flags[i].name;
        mins[2 * i + 1] = flags[i].min;
        maxes[2 * i] = flags[i].name;
        maxes[2 * i + 1] = flags[i].max;
    }
    mins[2 * count] = "--help";
    maxes[2 * count] = "--help";
    hosted_run_with(0, program, mins);
    hosted_run_with(0, program, maxes);
}

/* One function reads all of them: each kind of text that is no number is tried on one flag. */
static void expect_flags_checked(const char *program, const number_flag *flags, size_t count)
{
    static const char *const wrong[] = {
        "-1", "+1", "1x", "", "0x1", "1.5", "99999999999999999999999", " 1", "1 ", "1."};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        expect_number_refused(program, &flags[0], wrong[i]);
    }
    for (size_t i = 0; i < count; i++) {
        expect_number_refused(program, &flags[i], "x");
        expect_number_refused(program, &flags[i], flags[i].above);
        if (flags[i].below) {
            expect_number_refused(program, &flags[i], flags[i].below);
        }
    }
    expect_ends_taken(program, flags, count);
}

Test(programs_usage, the_server_takes_numbers_in_their_range_only)
{
    static const number_flag flags[] = {
        {"--players", "1", "128", "0", "129"},
        {"--matches", "1", "16384", "0", "16385"},
        {"--seed", "0", "18446744073709551615", NULL, "18446744073709551616"},
        {"--ticks", "0", "4294967294", NULL, "4294967295"},
        {"--port", "0", "65535", NULL, "65536"},
        {"--timeout", "100", "600000", "99", "600001"},
        {"--start-players", "1", "128", "0", "129"},
        {"--keep-seat", "0", "600", NULL, "601"},
        {"--join-rate", "66", "1073741", "65", "1073742"},
        {"--wait-limit", "1", "600000", "0", "600001"},
        {"--input-delay", "0", "64", NULL, "65"},
        {"--hash-interval", "1", "1024", "0", "1025"},
    };
    expect_flags_checked(LS_TEST_SERVER, flags, sizeof flags / sizeof flags[0]);
}

Test(programs_usage, the_client_takes_numbers_in_their_range_only)
{
    static const number_flag flags[] = {
        {"--bot", "0", "18446744073709551615", NULL, "18446744073709551616"},
        {"--bot-delay", "0", "255", NULL, "256"},
        {"--fps", "1", "1000", "0", "1001"},
        {"--predict", "0", "32", NULL, "33"},
        {"--reconnect", "0", "86400", NULL, "86401"},
        {"--ticks", "0", "4294967294", NULL, "4294967295"},
        {"--flip-bit", "1", "4294967295", "0", "4294967296"},
    };
    expect_flags_checked(LS_TEST_CLIENT, flags, sizeof flags / sizeof flags[0]);
}

Test(programs_usage, a_tick_rate_is_a_number_or_a_fraction_in_its_range)
{
    static const char *const wrong[] = {"",     "-1",  "+1",  "1x",     "0x1",   "1e1",
                                        " 1",   "1 ",  "0",   "1001",   "0.999", "1000.1",
                                        "60/0", "60/", "1/2", "60.5/2", "59,7"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        hosted_expect_refusal(2, LS_TEST_SERVER,
                              hosted_text("--tick-rate takes 1 to 1000, as in 60, 59.7275 or "
                                          "262144/4389, not '%s'\n",
                                          wrong[i]),
                              "--tick-rate", wrong[i]);
    }
    hosted_run(0, LS_TEST_SERVER, "--tick-rate", "1", "--help");
    hosted_run(0, LS_TEST_SERVER, "--tick-rate", "1000", "--help");
    hosted_run(0, LS_TEST_SERVER, "--tick-rate", "262144/4389", "--help");
}

Test(programs_usage, a_bit_to_flip_has_a_tick_and_a_number)
{
    static const char *const wrong[] = {"", ":", ":1", "1:", "1:x", "0:1", "1:-1", "1:2:3", "1,2"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        hosted_expect_refusal(2, LS_TEST_CLIENT, "--flip-bit takes a number from ", "--flip-bit",
                              wrong[i], NOWHERE);
    }
    hosted_run(0, LS_TEST_CLIENT, "--flip-bit", "1:2", "--help");
}

/* ---- words and lines ---- */

/* Arguments of a program, and the words with which it refuses them. */
typedef struct wrong_line {
    const char *words;
    const char *const arguments[8];
} wrong_line;

static void expect_all_refused(const char *program, const wrong_line *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hosted_expect_refusal_with(2, program, lines[i].words, lines[i].arguments);
    }
}

Test(programs_usage, server_lines_without_sense_are_refused)
{
    static const wrong_line lines[] = {
        {"--late takes repeat or wait, not 'never'", {"--late", "never"}},
        {"--late takes repeat or wait, not ''", {"--late", ""}},
        {"--on-desync takes report or drop or stop or heal, not 'panic'", {"--on-desync", "panic"}},
        {"unrecognized option '--nonsense'", {"--nonsense"}},
        {"option '--sim' requires an argument", {"--sim"}},
        {"unexpected argument 'surplus'", {"surplus"}},
        {"unknown simulation 'chess'; built in are: arena, units, rope, spring, tumble; a plug-in "
         "is named by its file, as in ./game.so",
         {"--sim", "chess"}},
        {"unknown parameter 'colour'; 'arena' has: bodies, boxes, area, speed,",
         {"--sim", "arena", "--param", "colour=1"}},
        {"'bodies' is not of the form name=value", {"--sim", "arena", "--param", "bodies"}},
        {"parameter 'bodies' of 'arena' takes 0..20000, not 20001",
         {"--sim", "arena", "--param", "bodies=20001"}},
        {"'arena' takes 1..16 players, not 17", {"--sim", "arena", "--players", "17"}},
        {"'units' takes 1..8 players, not 9", {"--sim", "units", "--players", "9"}},
        {"missing.so' cannot be opened: ", {"--sim", LS_PLUGIN("missing")}},
        {"incomplete_schema.so' cannot be used: 2 byte ranges are not covered exactly once: ",
         {"--sim", LS_PLUGIN("incomplete_schema")}},
        {"warning: --wait-limit has no effect without --late wait",
         {"--wait-limit", "100", "--matches", "16384"}},
        {"warning: --resume-wait has no effect without --resume",
         {"--resume-wait", "3", "--matches", "16384"}},
        {"--workers needs --config", {"--workers", "2"}},
        {"--http-port needs --config", {"--http-port", "0"}},
        {"--agones needs --config", {"--agones"}},
        {"--workers takes a number from 0 to 16, not '17'", {"--workers", "17"}},
    };
    expect_all_refused(LS_TEST_SERVER, lines, sizeof lines / sizeof lines[0]);
}

/* A file of no bytes, and one that fills a page without the end of a line. */
Test(programs_usage, file_without_a_token_of_the_service_is_refused)
{
    const char *config = hosted_path("lockstep.toml");
    const char *token = hosted_path("token");
    FILE *file = fopen(config, "w");
    cr_assert_not_null(file);
    fprintf(file, "workers = 1\n[server]\nbind = \"127.0.0.1\"\nport = 0\nidentity = \"%s\"\n",
            hosted_path("identity"));
    fprintf(file, "[http]\nport = 0\n");
    cr_assert_eq(fclose(file), 0);
    for (int bytes = 0; bytes <= 4096; bytes += 4096) {
        file = fopen(token, "w");
        cr_assert_not_null(file);
        for (int i = 0; i < bytes; i++) {
            fputc('a', file);
        }
        cr_assert_eq(fclose(file), 0);
        cr_assert_eq(chmod(token, 0600), 0);
        hosted_expect_refusal(2, LS_TEST_SERVER,
                              ": a token is one word of 16 to 255 printable characters", "--config",
                              config, "--http-port-file", hosted_path("http"), "--http-token-file",
                              token);
    }
}

Test(programs_usage, client_lines_without_sense_are_refused)
{
    static const wrong_line lines[] = {
        {"unrecognized option '--nonsense'", {"--nonsense"}},
        {"unexpected argument 'surplus'", {NOWHERE, "surplus"}},
        {"HOST[:PORT] is missing", {"--fps", "60"}},
        {"--find looks for servers: without " NOWHERE, {"--find", NOWHERE}},
        {"--find-port takes a number from 1 to 65535, not '0'", {"--find", "--find-port", "0"}},
        {"':7300' is not HOST[:PORT]", {":7300"}},
        {"the port in 'localhost:0' is not a number of 1 to 65535", {"localhost:0"}},
        {"'::1:7300': an IPv6 address stands in brackets: [ADDRESS]:PORT", {"::1:7300"}},
        {"--bot-delay needs --bot", {NOWHERE, "--bot-delay", "9"}},
        {"--spectate has no inputs of its own", {NOWHERE, "--spectate", "--predict", "4"}},
        {"--name takes a name, not blanks", {NOWHERE, "--name", "  "}},
        {"--name takes up to 31 bytes of UTF-8",
         {NOWHERE, "--name", "a234567890123456789012345678901_"}},
        {"unknown simulation 'chess'; built in are: arena,", {"--sim", "chess", NOWHERE}},
        {"missing.so' cannot be opened: ", {"--sim", LS_PLUGIN("missing"), NOWHERE}},
        {"incomplete_schema.so' cannot be used: 2 byte ranges are not covered exactly once: ",
         {"--sim", LS_PLUGIN("incomplete_schema"), NOWHERE}},
    };
    expect_all_refused(LS_TEST_CLIENT, lines, sizeof lines / sizeof lines[0]);
    hosted_run(0, LS_TEST_CLIENT, "--name", "a234567890123456789012345678901", "--help");
}

#define INVITE_SECRET "8PHy8_T19vf4-fr7_P3-_w"
#define INVITE_FRAGMENT "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8." INVITE_SECRET ".gWVS"
#define INVITE "lockstep://a/#" INVITE_FRAGMENT
#define INVITE_SHOWN "lockstep://a/#..."

/* People show errors to others. */
Test(programs_usage, no_error_shows_the_secret_of_an_invite)
{
    static const struct {
        int exit_code;
        wrong_line line;
    } wrong[] = {
        {2, {"begins with lockstep://", {"host.example:7300/#" INVITE_FRAGMENT}}},
        {2, {"begins with lockstep://", {"lockstep:/host.example:7300/#" INVITE_FRAGMENT}}},
        {2, {"'host.example:7300' is not HOST[:PORT]", {"host.example:7300/" INVITE_FRAGMENT}}},
        {1, {"cannot find the host '...'", {INVITE_FRAGMENT}}},
        {2, {"something too much", {" LOCKSTEP://[::1]:7300/#" INVITE_FRAGMENT "x"}}},
        {2, {"unexpected argument '" INVITE_SHOWN "'", {NOWHERE, INVITE}}},
        {2, {"without " INVITE_SHOWN, {"--find", INVITE}}},
        {1, {"no token " INVITE_SHOWN, {"--token", INVITE}}},
        {2, {"not '" INVITE_SHOWN "'", {"--fps", INVITE}}},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const wrong_line *line = &wrong[i].line;
        const char *errors = hosted_run_with(wrong[i].exit_code, LS_TEST_CLIENT, line->arguments);
        cr_assert(strstr(errors, line->words), "%s", errors);
        cr_assert_not(strstr(errors, INVITE_SECRET), "%s", errors);
    }
}

Test(programs_usage, a_usage_error_is_one_line_that_names_the_flag)
{
    static const wrong_line lines[] = {
        {"lockstep-server: error: --players takes a number from 1 to 128, not '999'\n",
         {"--players", "999"}},
        {"lockstep-server: error: invalid option -- 'Y'\n", {"-Y"}},
        {"lockstep-server: error: unexpected argument 'surplus'\n", {"surplus"}},
        {"lockstep-server: error: --start-players takes 1 to 4, not 9\n",
         {"--sim", "arena", "--start-players", "9"}},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        const char *errors = hosted_run_with(2, LS_TEST_SERVER, lines[i].arguments);
        cr_expect_str_eq(errors, lines[i].words);
    }
}

/* It once hosted a match on every interface of the machine. */
Test(programs_usage, a_server_without_arguments_says_how_to_host)
{
    /* By a shell: what starts the server for tests gives it a port. */
    const char *errors = hosted_run(2, "/bin/sh", "-c", "exec \"$0\"", LS_TEST_SERVER);
    cr_expect(strstr(errors, "Usage: lockstep-server [OPTION...]\n"), "%s", errors);
    cr_expect(strstr(errors, "  lockstep-server --sim arena --players 2\n"), "%s", errors);
    cr_expect(strstr(errors, "  lockstep-server --config "), "%s", errors);
    cr_expect_not(strstr(errors, "listening"), "%s", errors);
}

/* A beginning that means one flag today means another one when a flag is added. */
Test(programs_usage, a_flag_is_spelled_out)
{
    static const wrong_line server[] = {
        {"there is no --token-k; is --token-key meant?\n", {"--token-k", "key"}},
        {"there is no --token-k; is --token-key meant?\n", {"-q", "--token-k=key"}},
        {"there is no --invite-on; is --invite-only meant?\n", {"--bind", "::", "--invite-on"}},
        {"error: is --ticks meant?\n", {"--tiks", "3"}},
        {"error: is --invite-host meant?\n", {"--invitehost=x"}},
    };
    static const wrong_line client[] = {
        {"there is no --spec; is --spectate meant?\n", {"--spec"}},
    };
    expect_all_refused(LS_TEST_SERVER, server, sizeof server / sizeof server[0]);
    expect_all_refused(LS_TEST_CLIENT, client, sizeof client / sizeof client[0]);
}

Test(programs_usage, a_setting_with_an_effect_is_not_warned_of)
{
    hosted_run(2, LS_TEST_SERVER, "--late", "wait", "--wait-limit", "100", "--matches", "16384");
    hosted_expect_none(&hosted.other, "no effect");
}

/* ---- help ---- */

Test(programs_usage, short_forms_of_help_give_the_same_as_the_long_one)
{
    static char help[32768];
    hosted_run(0, LS_TEST_SERVER, "--help");
    snprintf(help, sizeof help, "%s", ls_process_output(&hosted.other));
    hosted_run(0, LS_TEST_SERVER, "--timeout", "500", "--input-delay", "auto", "--help");
    cr_expect_str_eq(ls_process_output(&hosted.other), help, "defaults stay defaults");
    hosted_run(0, LS_TEST_SERVER, "-h");
    cr_expect_str_eq(ls_process_output(&hosted.other), help);
    hosted_run(0, LS_TEST_SERVER, "-?");
    cr_expect_str_eq(ls_process_output(&hosted.other), help);
}

Test(programs_usage, programs_tell_their_version)
{
    cr_expect_str_empty(hosted_run(0, LS_TEST_SERVER, "--version"));
    cr_expect_str_eq(ls_process_output(&hosted.other), "lockstep-server " LS_TEST_VERSION "\n");
    cr_expect_str_empty(hosted_run(0, LS_TEST_CLIENT, "--version"));
    cr_expect_str_eq(ls_process_output(&hosted.other), "lockstep-client " LS_TEST_VERSION "\n");
}

/* Runs the server in a shell. */
static void expect_in_shell(const char *line, const char *words)
{
    hosted_expect_refusal(1, "/bin/sh", words, "-c", line, LS_TEST_SERVER);
}

Test(programs_usage, a_closed_standard_stream_is_no_socket)
{
    expect_in_shell("exec \"$0\" --port 0 --port-file /nonexistent/port <&-",
                    "cannot write the port");
}

Test(programs_usage, an_answer_that_did_not_get_out_is_a_failure)
{
    static const char words[] = "lockstep-server: error: cannot write to standard output: ";
    expect_in_shell("exec \"$0\" --help >/dev/full", words);
    expect_in_shell("exec \"$0\" --version >&-", words);
}

/* ==== programs_frames ==== */

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

/* ==== programs_terminal ==== */

static void open_hosted(void)
{
    hosted_open();
    setenv("TERM", "xterm", 1);
}

TestSuite(programs_terminal, .init = open_hosted, .fini = hosted_close);

/* ---- what a terminal makes of it ---- */

enum {
    ROWS_MAX = 256,
    COLUMNS_MAX = 128
};

typedef struct screen {
    char rows[ROWS_MAX][COLUMNS_MAX + 1];
    uint32_t columns;
    uint32_t row;
    uint32_t column;
} screen;

static void erase_below(screen *shown)
{
    memset(&shown->rows[shown->row][shown->column], 0, COLUMNS_MAX - shown->column);
    for (uint32_t row = shown->row + 1; row < ROWS_MAX; row++) {
        memset(shown->rows[row], 0, sizeof shown->rows[row]);
    }
}

static void put(screen *shown, char byte)
{
    if (shown->column == shown->columns) {
        shown->row++; /* too long a line goes on below */
        shown->column = 0;
    }
    cr_assert_lt(shown->row, ROWS_MAX);
    shown->rows[shown->row][shown->column++] = byte;
}

/* The two sequences that a console uses: up, and erase all below. Returns what follows. */
static const char *read_escape(screen *shown, const char *next)
{
    unsigned rows = 0;
    int size = 0;
    char kind = 0;
    if (sscanf(next, "\033[%u%c%n", &rows, &kind, &size) == 2 && kind == 'A') {
        shown->row -= rows < shown->row ? rows : shown->row;
        return next + size;
    }
    cr_assert(strncmp(next, "\033[J", 3) == 0, "an unknown sequence: %.10s", next + 1);
    erase_below(shown);
    return next + 3;
}

static const screen *show(const char *text, const char *end)
{
    static screen shown;
    memset(&shown, 0, sizeof shown);
    shown.columns = hosted.terminal_columns;
    while (text < end) {
        if (*text == '\033') {
            text = read_escape(&shown, text);
            continue;
        }
        if (*text == '\r') {
            shown.column = 0;
        } else if (*text == '\n') {
            cr_assert_lt(++shown.row, ROWS_MAX);
        } else {
            put(&shown, *text);
        }
        text++;
    }
    return &shown;
}

static bool is_shown(const screen *shown, const char *words)
{
    for (uint32_t row = 0; row < ROWS_MAX; row++) {
        if (strstr(shown->rows[row], words)) {
            return true;
        }
    }
    return false;
}

/* The screen just before the live block was taken off for the last time. */
static const screen *show_last_block(const char *text)
{
    const char *end = NULL;
    for (const char *next = text; (next = strstr(next, "\033[")); next++) {
        end = next[2] == 'J' ? end : next;
    }
    cr_assert(end, "no live block in: %s", text);
    return show(text, end);
}

static void expect_shown(const screen *shown, const char *const *words)
{
    for (; *words; words++) {
        cr_expect(is_shown(shown, *words), "\"%s\" is not on the screen", *words);
    }
}

/* ---- matches ---- */

/* A terminal that nobody reads stops who writes to it. */
static void watch_to_the_end(void)
{
    uint64_t end_ms = ls_process_now_ms() + LS_PROCESS_PATIENCE_MS;
    while (!ls_process_has_ended(&hosted.server) && ls_process_now_ms() < end_ms) {
        ls_process_errors(&hosted.server);
        for (uint32_t i = 0; i < hosted.client_count; i++) {
            ls_process_errors(&hosted.clients[i]);
        }
        ls_process_pause();
    }
}

static void play(const char *level)
{
    hosted_serve(ARENA("2", "90"), level);
    hosted_join("--bot", "1", "--name", "ann");
    hosted_join("--bot", "2", "--name", "bob");
    watch_to_the_end();
    hosted_expect_perfect(90);
}

Test(programs_terminal, progress_is_live_on_a_terminal)
{
    hosted.terminal_columns = 120;
    play("--verbose");
    const char *text = ls_process_errors(&hosted.server);
    expect_shown(show_last_block(text), LS_ARGUMENTS("tick ", "  ann  ", "  bob  ", "rtt ", " ms",
                                                     "slack ", "behind ", "late ", "agrees to "));
    cr_expect(strstr(text, "  running"));
    text = ls_process_errors(&hosted.clients[0]);
    expect_shown(show_last_block(text),
                 LS_ARGUMENTS("tick ", "rtt ", "slack ", "stalled ", "desyncs 0"));
    cr_expect(strstr(text, "  playing"));
}

Test(programs_terminal, the_log_alone_is_left_in_the_end)
{
    hosted.terminal_columns = 120;
    play("--verbose");
    const char *text = ls_process_errors(&hosted.server);
    cr_assert(is_shown(show_last_block(text), "agrees to "));
    const screen *shown = show(text, text + strlen(text));
    cr_expect(is_shown(shown, "lockstep-server: 90 ticks, 182 hashes compared, 0 differences"));
    for (uint32_t row = 0; row < ROWS_MAX && shown->rows[row][0] != '\0'; row++) {
        cr_expect(strncmp(shown->rows[row], "lockstep-server: ", 17) == 0, "left over: %s",
                  shown->rows[row]);
    }
}

/* A line that went on below would not be taken off. */
Test(programs_terminal, live_lines_fit_a_narrow_terminal)
{
    hosted.terminal_columns = 40;
    play("--verbose");
    const char *text = ls_process_errors(&hosted.server);
    cr_assert(is_shown(show_last_block(text), "  ann              "));
    const screen *shown = show(text, text + strlen(text));
    cr_expect(!is_shown(shown, "running"));
    cr_expect(!is_shown(shown, "slack"));
    cr_expect(!is_shown(shown, "agrees"));
}

static void expect_no_escapes(void)
{
    ls_process *const all[] = {&hosted.server, &hosted.clients[0], &hosted.clients[1]};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        hosted_expect_none(all[i], "\033", "agrees to");
    }
}

Test(programs_terminal, without_a_terminal_there_are_lines_only)
{
    play("--verbose");
    expect_no_escapes();
    hosted_expect_all(&hosted.server, "0 differences");
}

Test(programs_terminal, a_terminal_that_cannot_redraw_gets_lines_only)
{
    hosted.terminal_columns = 120;
    setenv("TERM", "dumb", 1);
    play("--verbose");
    expect_no_escapes();
    unsetenv("TERM");
    hosted_reopen();
    hosted.terminal_columns = 120;
    play("--verbose");
    expect_no_escapes();
}

Test(programs_terminal, quiet_is_quiet_on_a_terminal_too)
{
    hosted.terminal_columns = 120;
    play("--quiet");
    cr_expect_str_empty(ls_process_errors(&hosted.server));
}

Test(programs_terminal, a_desync_shows_in_the_live_block)
{
    hosted.terminal_columns = 120;
    hosted_serve(ARENA("1", "90"));
    hosted_join("--bot", "1", "--flip-bit", "10:64");
    watch_to_the_end();
    hosted_expect_exit(&hosted.server, 3);
    expect_shown(show_last_block(ls_process_errors(&hosted.server)), LS_ARGUMENTS("DESYNC at 10"));
}
