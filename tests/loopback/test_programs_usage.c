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

TestSuite(programs_usage, .init = open_hosted, .fini = close_hosted);

/* No server listens here, and none is asked: these lines are refused before. */
#define NOWHERE "127.0.0.1:9"

static void expect_refused(const char *program, const char *const *arguments, const char *words)
{
    const char *errors = ls_hosted_run(&hosted, program, arguments, 2);
    cr_expect(strstr(errors, words), "no \"%s\" in: %s", words, errors);
    cr_expect_str_empty(ls_process_output(&hosted.other));
}

static void expect_server_refuses(const char *const *arguments, const char *words)
{
    expect_refused(LS_TEST_SERVER, arguments, words);
}

static void expect_client_refuses(const char *const *arguments, const char *words)
{
    expect_refused(LS_TEST_CLIENT, arguments, words);
}

/* ---- numbers ---- */

typedef struct number_flag {
    const char *name;
    const char *min;
    const char *max;
    const char *below; /* NULL: nothing is */
    const char *above;
} number_flag;

static void expect_numbers_checked(const char *program, const char *flag,
                                   const number_flag *expected)
{
    const char *const wrong[] = {"",
                                 "-1",
                                 "+1",
                                 "1x",
                                 "x",
                                 "0x1",
                                 "1.5",
                                 " 1",
                                 "1 ",
                                 "99999999999999999999999",
                                 expected->above,
                                 expected->below};
    char words[160];
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0] && wrong[i]; i++) {
        snprintf(words, sizeof words, "%s takes a number from %s to %s, not '%s'\n", flag,
                 expected->min, expected->max, wrong[i]);
        expect_refused(program, LS_ARGUMENTS(flag, wrong[i]), words);
    }
    /* --help ends the program once everything before it was right. */
    ls_hosted_run(&hosted, program, LS_ARGUMENTS(flag, expected->min, "--help"), 0);
    ls_hosted_run(&hosted, program, LS_ARGUMENTS(flag, expected->max, "--help"), 0);
}

static void expect_flags_checked(const char *program, const number_flag *flags, size_t count)
{
    char flag[32];
    for (size_t i = 0; i < count; i++) {
        snprintf(flag, sizeof flag, "--%s", flags[i].name);
        expect_numbers_checked(program, flag, &flags[i]);
    }
}

Test(programs_usage, the_server_takes_numbers_in_their_range_only)
{
    static const number_flag flags[] = {
        {"players", "1", "32", "0", "33"},
        {"matches", "1", "1024", "0", "1025"},
        {"tick-rate", "1", "1000", "0", "1001"},
        {"seed", "0", "18446744073709551615", NULL, "18446744073709551616"},
        {"ticks", "0", "4294967294", NULL, "4294967295"},
        {"port", "0", "65535", NULL, "65536"},
        {"timeout", "100", "600000", "99", "600001"},
        {"start-players", "1", "32", "0", "33"},
        {"keep-seat", "0", "600", NULL, "601"},
        {"join-rate", "66", "1073741", "65", "1073742"},
        {"wait-limit", "1", "600000", "0", "600001"},
        {"input-delay", "0", "64", NULL, "65"},
        {"hash-interval", "1", "1024", "0", "1025"},
    };
    expect_flags_checked(LS_TEST_SERVER, flags, sizeof flags / sizeof flags[0]);
}

Test(programs_usage, the_client_takes_numbers_in_their_range_only)
{
    static const number_flag flags[] = {
        {"bot", "0", "18446744073709551615", NULL, "18446744073709551616"},
        {"bot-delay", "0", "255", NULL, "256"},
        {"fps", "1", "1000", "0", "1001"},
        {"predict", "0", "32", NULL, "33"},
        {"reconnect", "0", "86400", NULL, "86401"},
        {"ticks", "0", "4294967294", NULL, "4294967295"},
        {"flip-bit", "1", "4294967295", "0", "4294967296"},
    };
    expect_flags_checked(LS_TEST_CLIENT, flags, sizeof flags / sizeof flags[0]);
}

Test(programs_usage, a_bit_to_flip_has_a_tick_and_a_number)
{
    static const char *const wrong[] = {"", ":", ":1", "1:", "1:x", "0:1", "1:-1", "1:2:3", "1,2"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        expect_client_refuses(LS_ARGUMENTS("--flip-bit", wrong[i], NOWHERE),
                              "--flip-bit takes a number from ");
    }
    ls_hosted_run(&hosted, LS_TEST_CLIENT, LS_ARGUMENTS("--flip-bit", "1:2", "--help"), 0);
}

/* ---- words and lines ---- */

Test(programs_usage, the_server_takes_rules_that_exist_only)
{
    expect_server_refuses(LS_ARGUMENTS("--late", "never"),
                          "--late takes repeat or wait, not 'never'");
    expect_server_refuses(LS_ARGUMENTS("--late", ""), "--late takes repeat or wait, not ''");
    expect_server_refuses(LS_ARGUMENTS("--on-desync", "panic"),
                          "--on-desync takes report or drop or stop or heal, not 'panic'");
}

Test(programs_usage, lines_that_make_no_sense_are_refused)
{
    expect_server_refuses(LS_ARGUMENTS("--nonsense"), "unrecognized option '--nonsense'");
    expect_server_refuses(LS_ARGUMENTS("--sim"), "option '--sim' requires an argument");
    expect_server_refuses(LS_ARGUMENTS("surplus"), "unexpected argument 'surplus'");
    expect_client_refuses(LS_ARGUMENTS("--nonsense"), "unrecognized option '--nonsense'");
    expect_client_refuses(LS_ARGUMENTS(NOWHERE, "surplus"), "unexpected argument 'surplus'");
    expect_client_refuses(LS_ARGUMENTS("--fps", "60"), "HOST:PORT is missing");
    expect_client_refuses(LS_ARGUMENTS(NOWHERE, "--bot-delay", "9"), "--bot-delay needs --bot");
    expect_client_refuses(LS_ARGUMENTS(NOWHERE, "--spectate", "--predict", "4"),
                          "--spectate has no inputs of its own");
    expect_client_refuses(LS_ARGUMENTS(NOWHERE, "--name", ""), "--name takes 1 to 31 bytes");
    expect_client_refuses(LS_ARGUMENTS(NOWHERE, "--name", "a234567890123456789012345678901_"),
                          "--name takes 1 to 31 bytes");
    ls_hosted_run(&hosted, LS_TEST_CLIENT,
                  LS_ARGUMENTS("--name", "a234567890123456789012345678901", "--help"), 0);
}

Test(programs_usage, a_usage_error_is_one_line_that_names_the_flag)
{
    static const struct {
        const char *const arguments[5];
        const char *line;
    } wrong[] = {
        {{"--players", "99"},
         "lockstep-server: error: --players takes a number from 1 to 32, not '99'\n"},
        {{"--nonsense"}, "lockstep-server: error: unrecognized option '--nonsense'\n"},
        {{"-Y"}, "lockstep-server: error: invalid option -- 'Y'\n"},
        {{"surplus"}, "lockstep-server: error: unexpected argument 'surplus'\n"},
        {{"--sim", "arena", "--start-players", "9"},
         "lockstep-server: error: --start-players takes 1 to 4, not 9\n"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const char *errors = ls_hosted_run(&hosted, LS_TEST_SERVER, wrong[i].arguments, 2);
        cr_expect_str_eq(errors, wrong[i].line);
    }
}

Test(programs_usage, a_setting_without_effect_is_warned_of)
{
    static const struct {
        const char *const arguments[9];
        const char *words;
    } lines[] = {
        {{"--wait-limit", "100", "--bind", "::1"},
         "warning: --wait-limit has no effect without --late wait"},
        {{"--resume-wait", "3", "--bind", "::1"},
         "warning: --resume-wait has no effect without --resume"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        const char *errors = ls_hosted_run(&hosted, LS_TEST_SERVER, lines[i].arguments, 2);
        cr_expect(strstr(errors, lines[i].words), "no \"%s\" in: %s", lines[i].words, errors);
    }
    const char *errors =
        ls_hosted_run(&hosted, LS_TEST_SERVER,
                      LS_ARGUMENTS("--late", "wait", "--wait-limit", "100", "--bind", "::1"), 2);
    cr_expect_null(strstr(errors, "no effect"), "%s", errors);
}

Test(programs_usage, a_server_to_join_is_a_host_and_a_port)
{
    static const struct {
        const char *server;
        const char *words;
    } wrong[] = {
        {"", "'' is not HOST:PORT"},
        {"localhost", "'localhost' is not HOST:PORT"},
        {":7300", "':7300' is not HOST:PORT"},
        {"localhost:", "the port in 'localhost:' is not a number of 1 to 65535"},
        {"localhost:0", "the port in 'localhost:0' is not a number of 1 to 65535"},
        {"localhost:65536", "the port in 'localhost:65536' is not a number of 1 to 65535"},
        {"localhost:-1", "the port in 'localhost:-1' is not a number of 1 to 65535"},
        {"localhost:http", "the port in 'localhost:http' is not a number of 1 to 65535"},
        {"[::1]:7300", "'[::1]:7300' looks like an IPv6 address; only IPv4 is supported"},
        {"::1", "'::1' looks like an IPv6 address; only IPv4 is supported"},
        {"2001:db8::1:7300", "looks like an IPv6 address; only IPv4 is supported"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        expect_client_refuses(LS_ARGUMENTS(wrong[i].server), wrong[i].words);
    }
    expect_server_refuses(LS_ARGUMENTS("--port", "0", "--bind", "::1"),
                          "'::1' looks like an IPv6 address; only IPv4 is supported");
}

/* ---- simulations ---- */

Test(programs_usage, an_unknown_simulation_is_refused_with_the_names_there_are)
{
    const char *const words = "unknown simulation 'chess'; built in are: arena, units, rope, "
                              "spring, tumble; a plug-in "
                              "is named by its file, as in ./game.so";
    expect_server_refuses(LS_ARGUMENTS("--sim", "chess"), words);
    expect_client_refuses(LS_ARGUMENTS("--sim", "chess", NOWHERE), words);
}

Test(programs_usage, parameters_are_checked_by_name_form_and_range)
{
    static const struct {
        const char *assignment;
        const char *words;
    } wrong[] = {
        {"colour=1", "unknown parameter 'colour'; 'arena' has: bodies, boxes, area, speed,"},
        {"=1", "unknown parameter ''; 'arena' has: bodies,"},
        {"bodies", "'bodies' is not of the form name=value"},
        {"", "'' is not of the form name=value"},
        {"bodies=20001", "parameter 'bodies' of 'arena' takes 0..20000, not 20001"},
        {"bodies=-1", "parameter 'bodies' of 'arena' takes 0..20000, not -1"},
        {"bodies=", "takes a whole number 0..20000, not nothing"},
        {"bodies=many", "takes a whole number 0..20000, not many"},
        {"bodies=1.5", "takes a whole number 0..20000, not 1.5"},
        {"bodies=99999999999999999999", "takes 0..20000, not 99999999999999999999"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        expect_server_refuses(LS_ARGUMENTS("--sim", "arena", "--param", wrong[i].assignment),
                              wrong[i].words);
    }
}

Test(programs_usage, more_players_than_the_simulation_has_seats_are_refused)
{
    expect_server_refuses(LS_ARGUMENTS("--sim", "arena", "--players", "17"),
                          "'arena' takes 1..16 players, not 17");
    expect_server_refuses(LS_ARGUMENTS("--sim", "units", "--players", "9"),
                          "'units' takes 1..8 players, not 9");
}

Test(programs_usage, a_plug_in_that_cannot_be_used_is_refused_on_both_sides)
{
    static const struct {
        const char *file;
        const char *words;
    } wrong[] = {
        {LS_PLUGIN("missing"), "missing.so' cannot be opened: "},
        {"./missing", "'./missing' cannot be opened: "},
        {"missing.so", "No such file or directory"},
        {"/dev/null", "plug-in '/dev/null' cannot be opened: "},
        {"/", "plug-in '/' cannot be opened: "},
        {LS_PLUGIN("no_symbol"), "no_symbol.so' does not export lockstep_simulation()"},
        {LS_PLUGIN("no_simulation"), "no_simulation.so' cannot be used: there is no simulation"},
        {LS_PLUGIN("bad_abi"), "the simulation was built for abi 4, this program has abi 3"},
        {LS_PLUGIN("incomplete_schema"),
         "incomplete_schema.so' cannot be used: 2 byte ranges are not covered exactly once: bytes "
         "8..11 (4 bytes) between \"ships.x\" and \"ships.fuel\" are covered by no field, so are "
         "24..27"},
        {LS_PLUGIN("overlapping_schema"),
         "bytes 12..15 (4 bytes) are covered by both \"ships.angle\" and \"ships.fuel\""},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        expect_server_refuses(LS_ARGUMENTS("--sim", wrong[i].file), wrong[i].words);
        expect_client_refuses(LS_ARGUMENTS("--sim", wrong[i].file, NOWHERE), wrong[i].words);
    }
}

/* ---- help ---- */

static void expect_listed(const char *program, const char *const *words)
{
    cr_expect_str_empty(ls_hosted_run(&hosted, program, LS_ARGUMENTS("--help"), 0));
    const char *output = ls_process_output(&hosted.other);
    for (; *words; words++) {
        cr_expect(strstr(output, *words), "no \"%s\" in: %s", *words, output);
    }
}

Test(programs_usage, help_lists_every_option_of_the_server)
{
    expect_listed(LS_TEST_SERVER,
                  LS_ARGUMENTS("Usage: lockstep-server [OPTION...]\n", "--sim=NAME|FILE.so",
                               "--param=NAME=VALUE", "--players=N", "--port=P", "--bind=ADDR",
                               "--tick-rate=HZ", "--seed=S", "--ticks=N", "--late=repeat|wait",
                               "--wait-limit=MS", "--hash-interval=K", "--input-delay=TICKS",
                               "--on-desync=report|drop|stop|heal", "--bundle-dir=DIR|none",
                               "--find-causes=on|off", "--timeout=MS", "--port-file=FILE",
                               "--start-players=N", "--keep-seat=SECONDS", "--join-rate=KB/S",
                               "--json=FILE|-", "--quiet", "--verbose", "--version",
                               "Exit codes:", "\narena: 1 to 16 players (4), 60 Hz\n",
                               "\nunits: 1 to 8 players (4), 30 Hz\n", "  units=1500 (8 to 20000)",
                               "  bodies=200 (0 to 20000)"));
}

Test(programs_usage, help_lists_every_option_of_the_client)
{
    expect_listed(LS_TEST_CLIENT,
                  LS_ARGUMENTS("Usage: lockstep-client [OPTION...] HOST:PORT\n", "--bot=SEED",
                               "--bot-delay=TICKS", "--fps=HZ", "--name=S", "--predict=TICKS",
                               "--reconnect=SECONDS", "--spectate", "--ticks=N",
                               "--sim=NAME|FILE.so", "--flip-bit=TICK[:BIT]", "--json=FILE|-",
                               "--quiet", "--verbose", "--version", "Exit codes:"));
}

Test(programs_usage, short_forms_of_help_give_the_same_as_the_long_one)
{
    static char help[32768];
    ls_hosted_run(&hosted, LS_TEST_SERVER, LS_ARGUMENTS("--help"), 0);
    snprintf(help, sizeof help, "%s", ls_process_output(&hosted.other));
    ls_hosted_run(&hosted, LS_TEST_SERVER,
                  LS_ARGUMENTS("--timeout", "500", "--input-delay", "auto", "--help"), 0);
    cr_expect_str_eq(ls_process_output(&hosted.other), help, "defaults stay defaults");
    ls_hosted_run(&hosted, LS_TEST_SERVER, LS_ARGUMENTS("-h"), 0);
    cr_expect_str_eq(ls_process_output(&hosted.other), help);
    ls_hosted_run(&hosted, LS_TEST_SERVER, LS_ARGUMENTS("-?"), 0);
    cr_expect_str_eq(ls_process_output(&hosted.other), help);
}

Test(programs_usage, programs_tell_their_version)
{
    cr_expect_str_empty(ls_hosted_run(&hosted, LS_TEST_SERVER, LS_ARGUMENTS("--version"), 0));
    cr_expect_str_eq(ls_process_output(&hosted.other), "lockstep-server " LS_TEST_VERSION "\n");
    cr_expect_str_empty(ls_hosted_run(&hosted, LS_TEST_CLIENT, LS_ARGUMENTS("--version"), 0));
    cr_expect_str_eq(ls_process_output(&hosted.other), "lockstep-client " LS_TEST_VERSION "\n");
}

Test(programs_usage, a_closed_standard_stream_is_no_socket)
{
    const char *const arguments[] = {"-c", "exec \"$0\" --port 0 --port-file /nonexistent/port <&-",
                                     LS_TEST_SERVER, NULL};
    const char *errors = ls_hosted_run(&hosted, "/bin/sh", arguments, 1);
    cr_expect(strstr(errors, "cannot write the port"), "%s", errors);
}

Test(programs_usage, an_answer_that_did_not_get_out_is_a_failure)
{
    static const char *const lines[] = {"exec \"$0\" --help >/dev/full",
                                        "exec \"$0\" --version >&-"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        const char *const arguments[] = {"-c", lines[i], LS_TEST_SERVER, NULL};
        const char *errors = ls_hosted_run(&hosted, "/bin/sh", arguments, 1);
        cr_expect(strstr(errors, "lockstep-server: error: cannot write to standard output: "), "%s",
                  errors);
    }
}
