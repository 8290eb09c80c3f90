#define _XOPEN_SOURCE 700
#include "lockstep/common/program/key_file.h"
#include "lockstep/common/program/server_identity.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/lockstep-identity-XXXXXX";

static void enter_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
    unsetenv("STATE_DIRECTORY");
    unsetenv("XDG_STATE_HOME");
    setenv("HOME", folder, 1);
}

static void leave_folder(void)
{
    static const char *const files[] = {"identity", "lockstep/identity",
                                        ".local/state/lockstep/identity", "a:b/identity",
                                        "a/identity"};
    static const char *const folders[] = {"lockstep", ".local/state/lockstep", ".local/state",
                                          ".local", "a"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        remove(files[i]);
    }
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        rmdir(folders[i]);
    }
    cr_expect_eq(rmdir(folder), 0, "something was left in %s", folder);
}

TestSuite(server_identity, .init = enter_folder, .fini = leave_folder);

static void open_identity(const char *path, ls_server_identity *out)
{
    ls_text why = {{0}};
    cr_assert_eq(ls_server_identity_open(path, out, &why), LS_OK, "%s", why.bytes);
}

Test(server_identity, is_made_once_and_stays)
{
    ls_server_identity first, again;
    struct stat found;
    ls_key_pair pair;
    open_identity("identity", &first);
    cr_assert(first.was_made);
    cr_assert_str_eq(first.path, "identity");
    cr_assert_eq(stat("identity", &found), 0);
    cr_assert_eq(found.st_mode & 07777, 0600);
    open_identity("identity", &again);
    cr_assert_not(again.was_made);
    cr_assert_arr_eq(&again.keys, &first.keys, sizeof first.keys);
    cr_assert_arr_eq(again.invite_secret, first.invite_secret, sizeof first.invite_secret);
    ls_key_pair_from_private(first.keys.private_key, &pair);
    cr_assert_arr_eq(pair.public_key, first.keys.public_key, sizeof pair.public_key);
}

Test(server_identity, no_two_servers_have_the_same)
{
    ls_server_identity first, second;
    open_identity("identity", &first);
    remove("identity");
    open_identity("identity", &second);
    cr_assert_neq(memcmp(&first.keys, &second.keys, sizeof first.keys), 0);
    cr_assert_neq(memcmp(first.invite_secret, second.invite_secret, LS_SECRET_BYTES), 0);
}

static void expect_path(const char *expected)
{
    ls_server_identity identity;
    ls_text path = {{0}};
    open_identity(NULL, &identity);
    ls_text_set(&path, "%s/%s", folder, expected);
    cr_expect_str_eq(identity.path, path.bytes);
    cr_expect(identity.was_made);
}

Test(server_identity, is_where_the_system_keeps_such_things)
{
    struct stat found;
    ls_text places = {{0}};
    expect_path(".local/state/lockstep/identity");
    cr_assert_eq(stat(".local/state/lockstep", &found), 0);
    cr_assert_eq(found.st_mode & 07777, 0700);
    setenv("XDG_STATE_HOME", folder, 1);
    expect_path("lockstep/identity");
    ls_text_set(&places, "%s/a:%s/b", folder, folder);
    setenv("STATE_DIRECTORY", places.bytes, 1);
    cr_assert_eq(mkdir("a", 0700), 0);
    expect_path("a/identity");
}

Test(server_identity, a_place_that_is_no_path_from_the_root_is_passed_over)
{
    setenv("XDG_STATE_HOME", "here", 1);
    setenv("STATE_DIRECTORY", "", 1);
    expect_path(".local/state/lockstep/identity");
}

/* Not even root can make a directory there. */
Test(server_identity, at_a_place_that_cannot_be_written_the_option_is_named)
{
    ls_server_identity identity;
    ls_text why = {{0}};
    setenv("HOME", "/proc", 1);
    cr_assert_eq(ls_server_identity_open(NULL, &identity, &why), LS_IO);
    cr_assert(strstr(why.bytes, "cannot"), "%s", why.bytes);
    cr_assert(strstr(why.bytes, "--identity"), "%s", why.bytes);
    cr_assert_eq(ls_server_identity_open("/proc/identity", &identity, &why), LS_IO);
    cr_assert_not(strstr(why.bytes, "--identity"), "it was given: %s", why.bytes);
}

Test(server_identity, without_a_place_the_option_is_named)
{
    ls_server_identity identity;
    ls_text why = {{0}};
    unsetenv("HOME");
    cr_assert_eq(ls_server_identity_open(NULL, &identity, &why), LS_IO);
    cr_assert(strstr(why.bytes, "--identity"), "%s", why.bytes);
}

static void expect_refused(const char *path, ls_status expected, const char *words)
{
    static ls_server_identity identity;
    ls_text why = {{0}};
    identity.was_made = true;
    cr_expect_eq(ls_server_identity_open(path, &identity, &why), expected);
    cr_expect(strstr(why.bytes, words), "%s", why.bytes);
    cr_expect(identity.was_made, "untouched");
}

Test(server_identity, that_others_could_have_read_or_that_is_none_is_refused)
{
    ls_server_identity identity;
    open_identity("identity", &identity);
    cr_assert_eq(chmod("identity", 0644), 0);
    expect_refused("identity", LS_IO, "chmod 600");
    cr_assert_eq(chmod("identity", 0600), 0);
    cr_assert_eq(truncate("identity", 120), 0);
    expect_refused("identity", LS_MALFORMED, "cut short");
    remove("identity");
    cr_assert_eq(ls_token_key_make("identity", NULL, NULL), LS_OK);
    expect_refused("identity", LS_MALFORMED, "no lockstep server identity");
    expect_refused("/nowhere/identity", LS_IO, "No such file or directory");
}

/* As when a machine starts several servers at once. */
Test(server_identity, servers_that_start_together_have_one)
{
    enum {
        SERVERS = 8
    };
    pid_t children[SERVERS];
    int pipes[2];
    cr_assert_eq(pipe(pipes), 0);
    for (uint32_t i = 0; i < SERVERS; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            ls_server_identity own;
            bool is_open = ls_server_identity_open("identity", &own, NULL) == LS_OK;
            ssize_t put = write(pipes[1], own.keys.public_key, LS_CIPHER_KEY_BYTES);
            _exit(is_open && put == LS_CIPHER_KEY_BYTES ? 0 : 1);
        }
    }
    ls_server_identity identity;
    uint8_t key[LS_CIPHER_KEY_BYTES];
    for (uint32_t i = 0; i < SERVERS; i++) {
        int status = 0;
        cr_assert_eq(waitpid(children[i], &status, 0), children[i]);
        cr_assert_eq(status, 0);
    }
    open_identity("identity", &identity);
    for (uint32_t i = 0; i < SERVERS; i++) {
        cr_assert_eq(read(pipes[0], key, sizeof key), (ssize_t)sizeof key);
        cr_assert_arr_eq(key, identity.keys.public_key, sizeof key);
    }
}
