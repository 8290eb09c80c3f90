#define _XOPEN_SOURCE 700
#include "lockstep/server/control/operators.h"

#include "lockstep/server/control/audit_log.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ANN "ann admin 0123456789abcdef\n"
#define BOB "bob moderate fedcba9876543210\n"

static ls_operators operators;
static ls_text why;
static char folder[] = "/tmp/lockstep-operators-XXXXXX";
static char file[64], token[64];

static void start(void)
{
    memset(&operators, 0, sizeof operators);
    cr_assert_not_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/operators", folder);
    snprintf(token, sizeof token, "%s/token", folder);
}

static void end(void)
{
    remove(file);
    remove(token);
    rmdir(folder);
}

TestSuite(operators, .init = start, .fini = end);

static void expect_role(const char *of, const char *name, ls_operator_role role)
{
    const ls_operator *found = ls_operators_find(&operators, of);
    cr_assert(found, "nobody has %s", of);
    cr_expect_str_eq(found->name, name);
    cr_expect_eq(found->role, role);
}

static void expect_refused(const char *text, const char *words)
{
    memset(&operators, 0, sizeof operators);
    cr_expect_eq(ls_operators_parse(&operators, text, "FILE", &why), LS_BAD_ARGUMENT, "%s", text);
    cr_expect(strstr(why.bytes, words), "no \"%s\" in: %s", words, why.bytes);
}

Test(operators, each_has_a_role_by_a_token_of_its_own)
{
    cr_assert_eq(ls_operators_parse(&operators,
                                    "# who\n\n" ANN BOB "\t eve@home.example  view \t"
                                    "eve-eve-eve-eve-eve\r\n",
                                    "FILE", &why),
                 LS_OK, "%s", why.bytes);
    expect_role("0123456789abcdef", "ann", LS_OPERATOR_ADMIN);
    expect_role("fedcba9876543210", "bob", LS_OPERATOR_MODERATE);
    expect_role("eve-eve-eve-eve-eve", "eve@home.example", LS_OPERATOR_VIEW);
    cr_expect_null(ls_operators_find(&operators, "0123456789abcde"));
    cr_expect_null(ls_operators_find(&operators, "0123456789abcdef0"));
    cr_expect_null(ls_operators_find(&operators, "0123456789abcdef0123456789abcdef"));
    cr_expect_null(ls_operators_find(&operators, ""));
}

Test(operators, line_that_is_none_is_refused_by_its_number_and_not_quoted)
{
    expect_refused("ann\n", "FILE: line 1: an operator is NAME ROLE TOKEN");
    expect_refused(ANN "bob root fedcba9876543210\n", "line 2: an operator is");
    expect_refused("bob view fedcba9876543210 more\n", "line 1: an operator is");
    expect_refused("bob view short\n", "line 1: a token is one word");
    expect_refused("b/b view fedcba9876543210\n", "line 1: an operator has a name");
    expect_refused("a-name-that-is-longer-than-it-may-be view fedcba9876543210\n", "has a name");
    expect_refused(ANN "ann view fedcba9876543210\n", "line 2: an operator has a name of its own");
    expect_refused(ANN "bob view 0123456789abcdef\n", "line 2: a token is one word");
    cr_expect_null(strstr(why.bytes, "0123456789abcdef"), "%s", why.bytes);
    char longest[400] = "bob view ";
    memset(longest + 9, 'x', 255);
    cr_expect_eq(ls_operators_parse(&operators, longest, "FILE", &why), LS_OK, "%s", why.bytes);
    memset(longest + 9, 'y', 256);
    expect_refused(longest, "a token is one word");
    memset(longest + 9, 'y', 300);
    expect_refused(longest, "a token is one word");
}

Test(operators, there_are_so_many_and_no_more)
{
    for (unsigned i = 0; i < LS_OPERATORS_MAX; i++) {
        char name[8];
        char secret[32];
        snprintf(name, sizeof name, "n%u", i);
        snprintf(secret, sizeof secret, "token-of-nobody-%u", i);
        cr_assert_eq(ls_operators_add(&operators, name, LS_OPERATOR_VIEW, secret, &why), LS_OK);
    }
    cr_expect_eq(ls_operators_add(&operators, "one", LS_OPERATOR_VIEW, "0123456789abcdef", &why),
                 LS_FULL);
}

static void write_file(const char *path, const char *text, mode_t mode)
{
    remove(path);
    FILE *out = fopen(path, "w");
    cr_assert(out && fputs(text, out) >= 0 && fclose(out) == 0);
    cr_assert_eq(chmod(path, mode), 0);
}

static uint32_t lines;

static void count_line(void *user, ls_log_level level, const char *line)
{
    (void)user;
    (void)level;
    (void)line;
    lines++;
}

Test(operators, files_are_read_again_when_they_change)
{
    const ls_log log = {.level = LS_LOG_INFO, .write = count_line};
    ls_operator_files files = {.token_path = token, .operators_path = file};
    write_file(token, "the-token-of-the-service\n", 0600);
    write_file(file, ANN, 0644);
    cr_expect_eq(ls_operators_read(&files, &operators, &why), LS_IO, "others may read it");
    cr_expect_eq(operators.count, 0);
    write_file(file, ANN, 0600);
    cr_assert_eq(ls_operators_read(&files, &operators, &why), LS_OK, "%s", why.bytes);
    expect_role("the-token-of-the-service", "token", LS_OPERATOR_ADMIN);
    expect_role("0123456789abcdef", "ann", LS_OPERATOR_ADMIN);
    ls_operators_watch(&files, &operators, &log);
    cr_expect_eq(lines, 0);
    write_file(file, BOB "#\n", 0600);
    ls_operators_watch(&files, &operators, &log);
    cr_expect_eq(lines, 1);
    expect_role("fedcba9876543210", "bob", LS_OPERATOR_MODERATE);
    cr_expect_null(ls_operators_find(&operators, "0123456789abcdef"), "ann is gone");
    write_file(file, "bob view\n###\n", 0600);
    ls_operators_watch(&files, &operators, &log);
    ls_operators_watch(&files, &operators, &log);
    cr_expect_eq(lines, 2, "once");
    expect_role("fedcba9876543210", "bob", LS_OPERATOR_MODERATE);
    const ls_operator_files none = {.token_path = ""};
    files = none;
    cr_assert_eq(ls_operators_read(&files, &operators, &why), LS_OK);
    cr_expect_eq(operators.count, 0);
}

Test(operators, audit_keeps_the_newest_and_shows_what_can_be_shown)
{
    static ls_audit_log audit;
    for (uint32_t i = 0; i < LS_AUDIT_KEPT + 3; i++) {
        ls_audit_entry entry = {.name = "ann", .what = "POST drain\x1b[2J", .status = i};
        ls_audit_log_add(&audit, &entry);
    }
    ls_json *json = ls_json_create();
    ls_audit_log_write(&audit, json);
    uint32_t count = 0;
    for (const ls_json *entry = ls_json_read_members(json, "entries"); entry;
         entry = ls_json_next(entry)) {
        double number = 0;
        cr_assert(ls_json_read_number(entry, "number", &number));
        cr_assert_eq(number, 4 + count++);
        cr_assert_str_eq(ls_json_read_text(entry, "what"), "POST drain?[2J");
    }
    cr_expect_eq(count, LS_AUDIT_KEPT);
    ls_json_destroy(json);
}
