#define _POSIX_C_SOURCE 200809L
#include "lockstep/tests/loopback/hosted.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

TestSuite(programs_admission, .init = hosted_open, .fini = hosted_close);

static const char *read_line(const char *name)
{
    char line[512] = "";
    FILE *file = fopen(hosted_path(name), "r");
    cr_assert_not_null(file);
    cr_assert_not_null(fgets(line, sizeof line, file));
    fclose(file);
    line[strcspn(line, "\n")] = '\0';
    return hosted_text("%s", line);
}

static void expect_private(const char *name)
{
    struct stat status;
    cr_assert_eq(stat(hosted_path(name), &status), 0);
    cr_expect_eq(status.st_mode & 077, 0, "%s can be read by others", name);
}

static void serve_invited_only(void)
{
    hosted_serve(ARENA("1", "20"), "--identity", hosted_path("identity"), "--invite-only",
                 "--invite-file", hosted_path("invite"));
}

Test(programs_admission, the_invited_play_and_nobody_else)
{
    serve_invited_only();
    expect_private("identity");
    expect_private("invite");
    const char *errors = hosted_run(1, LS_TEST_CLIENT, hosted_address());
    cr_expect(strstr(errors, "without its whole invite"), "%s", errors);
    const char *invite = read_line("invite");
    hosted_expect_words(&hosted.server,
                        hosted_text("lockstep-client - <%s", hosted_path("invite")));
    hosted_run(0, LS_TEST_CLIENT, invite, "--bot", "1");
    hosted_expect_exit(&hosted.server, 0);
    const char *secret = strchr(invite, '#');
    cr_assert_not_null(secret);
    cr_expect_null(strstr(ls_process_errors(&hosted.server), secret), "a secret in the log");
}

Test(programs_admission, an_invite_is_read_from_standard_input)
{
    serve_invited_only();
    const char *errors = hosted_run(2, LS_TEST_CLIENT, "-");
    cr_expect(strstr(errors, "standard input has no line"), "%s", errors);
    hosted.input = hosted_path("invite");
    hosted_run(0, LS_TEST_CLIENT, "-", "--bot", "1");
    hosted_expect_exit(&hosted.server, 0);
}

/* The identity stays, and so does the invite but for the port. */
Test(programs_admission, an_invite_is_good_for_the_next_run_too)
{
    serve_invited_only();
    const char *invite = read_line("invite");
    hosted_kill();
    hosted_serve_again_with(
        LS_ARGUMENTS(ARENA("1", "20"), "--identity", hosted_path("identity"), "--invite-only"));
    hosted_run(0, LS_TEST_CLIENT, invite, "--bot", "1");
    hosted_expect_exit(&hosted.server, 0);
}

/* A server that listens where another one did is not taken for that one. */
Test(programs_admission, another_server_at_the_address_is_not_believed)
{
    serve_invited_only();
    const char *invite = read_line("invite");
    hosted_kill();
    hosted_serve_again_with(LS_ARGUMENTS(ARENA("1", "20"), "--identity", hosted_path("other"),
                                         "--invite-file", hosted_path("right")));
    hosted_run(1, LS_TEST_CLIENT, invite, "--connect-wait", "0");
    hosted_run(0, LS_TEST_CLIENT, read_line("right"), "--bot", "1");
    hosted_expect_exit(&hosted.server, 0);
}

/* Documentation's address, which is nobody's: nothing is sent there. */
Test(programs_admission, an_address_elsewhere_alone_is_refused_before_anything_is_sent)
{
    hosted_expect_refusal(2, LS_TEST_CLIENT, "does not prove who answers there", "192.0.2.1:7300");
    hosted_expect_refusal(2, LS_TEST_CLIENT, "the invite is cut short",
                          "lockstep://192.0.2.1:7300/#abc");
    hosted_expect_refusal(2, LS_TEST_SERVER, "--invite-only lets nobody in by the address",
                          "--invite-only", "--insecure");
}

Test(programs_admission, a_server_without_loopbacks_protection_warns_of_insecure)
{
    hosted_serve(ARENA("1", "20"), "--bind", "0.0.0.0", "--insecure");
    hosted_expect_words(&hosted.server, "warning: --insecure: ");
    hosted_run(0, LS_TEST_CLIENT, hosted_address(), "--insecure", "--bot", "1");
    hosted_expect_exit(&hosted.server, 0);
}

static bool has_ipv6(void)
{
    FILE *file = fopen("/proc/net/if_inet6", "r");
    bool has_line = file && fgetc(file) != EOF;
    if (file) {
        fclose(file);
    }
    return has_line;
}

Test(programs_admission, one_port_is_for_both_families)
{
    if (!has_ipv6()) {
        cr_skip_test("this machine has no IPv6");
    }
    hosted_serve(ARENA("2", "20"), "--bind", "::", "--insecure");
    hosted_join("--bot", "1");
    hosted_run(0, LS_TEST_CLIENT, hosted_text("[::1]:%u", (unsigned)hosted.port), "--bot", "2");
    hosted_expect_clean_exits();
}
